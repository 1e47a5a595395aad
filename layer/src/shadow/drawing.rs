//! A planned draw: its call, and which regions of the plan hold its vertices, indices and attachments.

use ash::vk;
use dovetail::emu::inputs::Draw;

/// A draw, and the regions of its plan that hold its contents.
pub struct Drawing {
    pub call: Call,
    /// The draw without contents; also without counts, if they are in memory.
    pub draw: Draw,
    pub indices: Option<Indices>,
    /// The regions of the draw's vertex buffers, in order.
    pub vertices: Vec<usize>,
    /// The regions of the draw's targets, in order.
    pub targets: Vec<usize>,
    pub depth: Option<(usize, vk::Format)>,
    pub stencil: Option<usize>,
}

/// The draw command.
#[derive(Clone, Copy)]
pub enum Call {
    Given(Counts),
    /// The first region holds the counts.
    Indirect {
        indexed: bool,
        buffer: vk::Buffer,
        offset: u64,
    },
}

/// Parameters of a draw command.
#[derive(Clone, Copy)]
pub struct Counts {
    /// The first index; `None`: the draw is not indexed.
    pub index: Option<u32>,
    /// Number of vertices or indices.
    pub count: u32,
    pub instances: u32,
    /// The first vertex, or the value added to each index.
    pub vertex: u32,
    pub instance: u32,
}

/// The place of the indices.
pub struct Indices {
    pub region: usize,
    pub kind: vk::IndexType,
    /// The largest number ends a primitive.
    pub restart: bool,
}

impl Call {
    pub fn is_indexed(&self) -> bool {
        match self {
            Self::Given(counts) => counts.index.is_some(),
            Self::Indirect { indexed, .. } => *indexed,
        }
    }
}

/// Size of an index in bytes.
pub fn index_bytes(kind: vk::IndexType) -> Option<u64> {
    match kind {
        vk::IndexType::UINT8_EXT => Some(1),
        vk::IndexType::UINT16 => Some(2),
        vk::IndexType::UINT32 => Some(4),
        _ => None,
    }
}
