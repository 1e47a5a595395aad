//! A planned draw: its call, and which regions of the plan hold its vertices, indices and attachments.

use ash::vk;
use dovetail_emu::inputs::Draw;
use dovetail_state::{VertexInputState, VertexRate};

/// Bytes of the largest attribute: four channels of 64 bits.
const LARGEST_ATTRIBUTE: u64 = 32;

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

impl Counts {
    /// Bytes of a vertex buffer that a draw can reach; `None` if that depends on its last vertex, which is unknown.
    pub fn reach(&self, last: Option<u32>, vertex: &VertexInputState, buffer: u32, stride: u32) -> Option<u64> {
        let binding = vertex.bindings.iter().find(|binding| binding.binding == buffer);
        let last = match binding.map(|binding| (binding.rate, binding.divisor)) {
            Some((VertexRate::Instance, divisor)) => {
                self.instance.saturating_add(self.instances.saturating_sub(1) / divisor.max(1))
            }
            _ => last?,
        };
        let of_buffer = vertex.attributes.iter().filter(|attribute| attribute.binding == buffer);
        let end = of_buffer.map(|attribute| u64::from(attribute.offset)).max().unwrap_or(0) + LARGEST_ATTRIBUTE;
        Some((u64::from(last) * u64::from(stride)).saturating_add(end))
    }
}

impl Call {
    /// Bytes of a vertex buffer that the draw can reach, if known beforehand.
    pub fn reach(&self, vertex: &VertexInputState, buffer: u32, stride: u32) -> Option<u64> {
        let Self::Given(counts) = self else { return None };
        let last = counts.vertex.wrapping_add(counts.count.saturating_sub(1));
        counts.reach(counts.index.is_none().then_some(last), vertex, buffer, stride)
    }

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
