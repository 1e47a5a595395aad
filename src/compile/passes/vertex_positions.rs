//! Position vectors of a vertex shader: exported at the end of its body, or returned where the epilog exports them.
//!
//! Vectors, in order: position; if used, point size, shading rate, layer and viewport; clip, then cull distances, 4 per
//! vector. The last has `done` set. A shader without a position exports (0, 0, 0, 1), because the hardware waits for
//! one.

use super::outputs::push_export;
use super::outputs::{BySlot, Outputs, stored};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Gpu;
use dovetail_ir::{AluOp, Builder, ExportTarget, OutputSlot, Type, Value};
use dovetail_metadata::interface::PositionExports;

/// The position of a shader that writes none.
const NOWHERE: [f32; 4] = [0.0, 0.0, 0.0, 1.0];
/// Limit of clip and cull distances together in hardware.
const MAX_DISTANCES: usize = 8;

/// A component of a position vector that is returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionComponent {
    /// Number of the vector.
    pub(super) vector: u8,
    pub(super) component: u8,
    /// Its bits, if they are the same at every return.
    pub(super) constant: Option<u32>,
}

/// The position vectors of a shader.
pub(super) struct Positions {
    pub(super) summary: PositionExports,
    misc: bool,
    distances: Vec<OutputSlot>,
    /// [`FamilyFacts::masked_positions`](dovetail_base::target::FamilyFacts::masked_positions).
    first_is_masked: bool,
}

/// The vectors that a shader exports.
pub(super) fn plan(outputs: &Outputs, gpu: Gpu) -> Result<Positions> {
    let count = |slot: fn(u8) -> OutputSlot| (0..8).rev().find(|&n| outputs.has(slot(n))).map_or(0, |n| n + 1);
    let (clip, cull) = (count(OutputSlot::ClipDistance), count(OutputSlot::CullDistance));
    let clips = (0..clip).map(OutputSlot::ClipDistance);
    let distances: Vec<OutputSlot> = clips.chain((0..cull).map(OutputSlot::CullDistance)).collect();
    if distances.len() > MAX_DISTANCES {
        let detail = format!("{clip} clip and {cull} cull distances, the hardware has {MAX_DISTANCES}");
        return Err(Error::unsupported("clip and cull distances", detail));
    }
    let mut summary = PositionExports {
        count: 0,
        point_size: outputs.has(OutputSlot::PointSize),
        layer: outputs.has(OutputSlot::Layer),
        viewport_index: outputs.has(OutputSlot::ViewportIndex),
        shading_rate: outputs.has(OutputSlot::ShadingRate),
        clip_distances: clip,
        cull_distances: cull,
    };
    let misc = summary.has_misc();
    summary.count = 1 + u32::from(misc) + distances.len().div_ceil(4) as u32;
    Ok(Positions { summary, misc, distances, first_is_masked: gpu.facts().masked_positions })
}

impl Positions {
    /// Exports the vectors at the end of a block.
    pub(super) fn export(&self, b: &mut Builder<'_>, outputs: &Outputs, stores: &BySlot<Value>) {
        let vectors = self.vectors(b, outputs, stores);
        let last = vectors.len() - 1;
        for (n, (enable, values)) in vectors.into_iter().enumerate() {
            push_export(b, ExportTarget::Pos(n as u8), enable, values, (n == last, n == 0 && self.first_is_masked));
        }
    }

    /// The components of all vectors, in order.
    pub(super) fn components(&self, outputs: &Outputs) -> Vec<PositionComponent> {
        let mut all = Vec::new();
        let mut add = |vector: usize, component: usize, constant| {
            all.push(PositionComponent { vector: vector as u8, component: component as u8, constant });
        };
        let constant = |slot| outputs.constant(slot).map(|bits| bits as u32);
        for n in 0..4u8 {
            let slot = OutputSlot::Position(n);
            match self.is_placed(outputs) {
                true if outputs.has(slot) => add(0, n.into(), constant(slot)),
                true => {}
                false => add(0, n.into(), Some(NOWHERE[usize::from(n)].to_bits())),
            }
        }
        if self.misc {
            (0..4).filter(|n| self.misc_enable() >> n & 1 == 1).for_each(|n| add(1, n, None));
        }
        let first = 1 + usize::from(self.misc);
        for (n, slot) in self.distances.iter().enumerate() {
            add(first + n / 4, n % 4, constant(*slot));
        }
        all
    }

    /// The vectors at the end of a block, with the components that are sent.
    pub(super) fn vectors(
        &self,
        b: &mut Builder<'_>,
        outputs: &Outputs,
        stores: &BySlot<Value>,
    ) -> Vec<(u8, [Value; 4])> {
        let mut vectors = vec![(0xf, self.position(b, outputs, stores))];
        if self.misc {
            vectors.push(self.misc(b, stores));
        }
        for four in self.distances.chunks(4) {
            let undef = b.undef(Type::B32);
            let mut values = [undef; 4];
            for (v, &slot) in values.iter_mut().zip(four) {
                *v = stored(b, stores, slot, Type::B32);
            }
            // Disabled distances are ignored, so unused lanes may hold anything. Vectors are exported as a whole.
            vectors.push((0xf, values));
        }
        vectors
    }

    /// Whether the shader writes a position.
    fn is_placed(&self, outputs: &Outputs) -> bool {
        (0..4).any(|n| outputs.has(OutputSlot::Position(n)))
    }

    fn position(&self, b: &mut Builder<'_>, outputs: &Outputs, stores: &BySlot<Value>) -> [Value; 4] {
        if !self.is_placed(outputs) {
            return NOWHERE.map(|v| b.c32(v.to_bits()));
        }
        [0, 1, 2, 3].map(|n| stored(b, stores, OutputSlot::Position(n), Type::B32))
    }

    /// x point size, y shading rate, z layer in the low and viewport in the high 16 bits.
    fn misc(&self, b: &mut Builder<'_>, stores: &BySlot<Value>) -> (u8, [Value; 4]) {
        let undef = b.undef(Type::B32);
        let mut values = [undef; 4];
        if self.summary.point_size {
            values[0] = stored(b, stores, OutputSlot::PointSize, Type::B32);
        }
        if self.summary.shading_rate {
            let flags = stored(b, stores, OutputSlot::ShadingRate, Type::B32);
            values[1] = shading_rate(b, flags);
        }
        if self.summary.layer {
            values[2] = stored(b, stores, OutputSlot::Layer, Type::B32);
        }
        if self.summary.viewport_index {
            let viewport = stored(b, stores, OutputSlot::ViewportIndex, Type::B32);
            let sixteen = b.c32(16);
            let high = b.alu(AluOp::Shl, &[viewport, sixteen]);
            values[2] = if self.summary.layer { b.alu(AluOp::IOr, &[values[2], high]) } else { high };
        }
        (self.misc_enable(), values)
    }

    fn misc_enable(&self) -> u8 {
        let all = &self.summary;
        [all.point_size, all.shading_rate, all.layer || all.viewport_index]
            .into_iter()
            .enumerate()
            .fold(0, |enable, (n, sent)| enable | u8::from(sent) << n)
    }
}

/// The hardware's rate from Vulkan's flags: log2 of the width in bits 2 and 3, of the height in bits 4 and 5. Sizes
/// above two pixels become two, the maximum.
fn shading_rate(b: &mut Builder<'_>, flags: Value) -> Value {
    let zero = b.c32(0);
    let mut side = |flag: u32, to: u32| {
        let mask = b.c32(flag);
        let own = b.alu(AluOp::IAnd, &[flags, mask]);
        let large = b.alu(AluOp::INe, &[own, zero]);
        let rate = b.c32(1 << to);
        b.select(large, rate, zero)
    };
    let (width, height) = (side(0b1100, 2), side(0b0011, 4));
    b.alu(AluOp::IOr, &[width, height])
}
