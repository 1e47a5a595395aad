//! Memory that is copied: which part of a buffer or an image, and where its copies are.

use ash::vk;

/// Bytes that are copied together.
pub struct Region {
    pub source: Source,
    /// Where the copy before is.
    pub at: u64,
    /// Where the copy after is, of what the dispatch or draw may write.
    pub after: Option<u64>,
    pub bytes: u64,
}

/// Where they come from.
#[derive(Clone, Copy)]
pub enum Source {
    Buffer {
        buffer: vk::Buffer,
        offset: u64,
        /// The buffer's memory and offset, if it was seen being bound.
        memory: Option<(vk::DeviceMemory, u64)>,
    },
    Image {
        image: vk::Image,
        layout: vk::ImageLayout,
        layers: vk::ImageSubresourceLayers,
        extent: vk::Extent3D,
        /// All aspects of the image.
        whole: vk::ImageAspectFlags,
    },
}
