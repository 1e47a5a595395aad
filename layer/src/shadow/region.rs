//! Memory to copy: a part of a buffer or image, and the place of its copies.

use ash::vk;

/// Bytes that are copied together.
pub struct Region {
    pub source: Source,
    /// Offset of the copy made before.
    pub at: u64,
    /// Offset of the copy made after, if the dispatch or draw may write the bytes.
    pub after: Option<u64>,
    pub bytes: u64,
}

/// The source of the bytes.
#[derive(Clone, Copy)]
pub enum Source {
    Buffer {
        buffer: vk::Buffer,
        offset: u64,
        /// The buffer's memory and offset, if the layer saw it being bound.
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
