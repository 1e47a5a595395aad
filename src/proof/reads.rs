//! Sources of a shader's values: attributes, and bytes of blocks, found backwards from the uses.

use crate::ir::{Inst, Op, OutputSlot, Shader, Terminator, Value, ValueDef};
use std::collections::{BTreeMap, BTreeSet};

/// Sources of some values.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Locations of attributes.
    pub attributes: BTreeSet<u32>,
    /// Push constants.
    pub push_constants: Extent,
    /// Buffers, by set and binding.
    pub buffers: BTreeMap<(u32, u32), Extent>,
    /// Some memory is read by address.
    pub addresses: bool,
}

/// Bytes that are read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Constant offsets.
    bytes: BTreeSet<u64>,
    /// Other offsets too, which may be any.
    any: bool,
}

impl Extent {
    /// Whether a byte may be read.
    pub fn has(&self, byte: usize) -> bool {
        self.any || self.bytes.contains(&(byte as u64))
    }

    fn add(&mut self, offset: Option<u64>, bytes: u32) {
        match offset {
            Some(offset) => self.bytes.extend(offset..offset.saturating_add(bytes.into())),
            None => self.any = true,
        }
    }
}

impl Reads {
    /// Sources of a vertex shader's positions, clip distances and point sizes.
    pub fn of_position(ir: &Shader) -> Self {
        use OutputSlot as O;
        let place = |slot| matches!(slot, O::Position(_) | O::PointSize | O::ClipDistance(_) | O::CullDistance(_));
        Self::of(ir, |op| matches!(*op, Op::StoreOutput { slot, .. } if place(slot)))
    }

    /// Sources of descriptor indices.
    pub fn of_indices(ir: &Shader) -> Self {
        Self::of(ir, |op| matches!(op, Op::Descriptor { .. }))
    }

    /// Sources of the operands of some instructions.
    fn of(ir: &Shader, root: impl Fn(&Op) -> bool) -> Self {
        let roots = ir.live_insts().filter(|inst| root(&inst.op));
        let mut waiting: Vec<Value> = roots.flat_map(|inst| inst.args.iter().copied()).collect();
        let (mut out, mut seen, mut branches) = (Self::default(), BTreeSet::new(), false);
        while let Some(value) = waiting.pop() {
            if !seen.insert(value.index()) {
                continue;
            }
            match ir.values.get(value.index()).map(|v| v.def) {
                Some(ValueDef::Inst(id)) => {
                    let inst = ir.inst(id);
                    out.add(ir, inst);
                    waiting.extend(inst.args.iter().copied());
                    if let Op::LocalLoad { local, .. } = inst.op {
                        let here = |op: &Op| matches!(op, Op::LocalStore { local: other, .. } if *other == local);
                        waiting.extend(ir.live_insts().filter(|i| here(&i.op)).flat_map(|i| i.args.iter().copied()));
                    }
                }
                Some(ValueDef::Param(block, n)) => {
                    let terms = || ir.blocks.iter().filter_map(|b| b.term.as_ref());
                    let calls = terms().flat_map(|term| term.calls()).filter(|call| call.block == block);
                    waiting.extend(calls.filter_map(|call| call.args.get(n as usize).copied()));
                    // Branches select one of several values.
                    if !std::mem::replace(&mut branches, true) {
                        waiting.extend(terms().filter_map(decided_by));
                    }
                }
                None => {}
            }
        }
        out
    }

    fn add(&mut self, ir: &Shader, inst: &Inst) {
        let constant = |n: usize| inst.args.get(n).and_then(|v| ir.as_const(*v));
        let bytes = inst.result.map_or(0, |v| ir.ty(v).bytes());
        match inst.op {
            Op::LoadInput { location, .. } => {
                self.attributes.insert(location);
            }
            Op::PushConstant { .. } => self.push_constants.add(constant(0), bytes),
            Op::GlobalLoad { .. } => self.addresses = true,
            Op::BufferLoad { .. } => {
                let descriptor = inst.args.first().and_then(|v| ir.def(*v)).map(|inst| &inst.op);
                let Some(Op::Descriptor { resource, .. }) = descriptor else { return };
                if let Some(r) = ir.resources.get(resource.index()) {
                    self.buffers.entry((r.set, r.binding)).or_default().add(constant(1), bytes);
                }
            }
            _ => {}
        }
    }
}

fn decided_by(term: &Terminator) -> Option<Value> {
    match term {
        Terminator::Branch { cond, .. } => Some(*cond),
        Terminator::Switch { value, .. } => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    #[test]
    fn only_what_the_position_is_made_of_is_read() {
        let ir = parse(
            "shader upper vertex \"t\"\nmodes 0 0 0 any any any any rte rte rte\nblock0:\n\
             v0: b32 = const 0x10\n v1: b32 = push_constant[align4] v0\n v2: b32 = const 0x20\n\
             v3: b32 = push_constant[align4] v2\n v4: b32 = fadd v1, v1\n\
             store_output[position 0 float] v4\n store_output[location 0 component0 index0 float] v3\n return\n",
        );
        let ir = ir.expect("a shader");
        let reads = Reads::of_position(&ir);
        assert!(reads.push_constants.has(16) && reads.push_constants.has(19));
        assert!(!reads.push_constants.has(20) && !reads.push_constants.has(32) && reads.attributes.is_empty());
    }
}
