//! Finds the sources of a shader's values, attributes and bytes of blocks, by following values back from their uses.

use dovetail_ir::{Inst, LocalId, Op, OutputSlot, Shader, Terminator, Value, ValueDef};
use std::collections::{BTreeMap, BTreeSet};

/// The inputs that some values depend on.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Locations of attributes.
    pub attributes: BTreeSet<u32>,
    /// Push constants.
    pub push_constants: Extent,
    /// Buffers, by set and binding.
    pub buffers: BTreeMap<(u32, u32), Extent>,
    /// Images, by set and binding.
    pub images: BTreeSet<(u32, u32)>,
    /// Whether the values depend on memory read by address.
    pub addresses: bool,
}

/// Bytes of a block that are read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Constant offsets.
    bytes: BTreeSet<u64>,
    /// Whether there are reads at other offsets, which may be any.
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

    /// Sources of the indices of descriptors.
    pub fn of_descriptor_indices(ir: &Shader) -> Self {
        Self::of(ir, |op| matches!(op, Op::Descriptor { .. }))
    }

    /// Sources of the indices of the shader's own arrays and vectors, by the bound that they have.
    pub fn of_indices_within(ir: &Shader) -> BTreeMap<u32, Self> {
        let bounds =
            ir.live_insts().filter_map(|inst| if let Op::Within(bound) = inst.op { Some(bound) } else { None });
        let bounds: BTreeSet<u32> = bounds.collect();
        let within = |bound| Self::of(ir, |op| matches!(op, Op::Within(other) if *other == bound));
        bounds.into_iter().map(|bound| (bound, within(bound))).collect()
    }

    /// Sources of the operands of some instructions.
    fn of(ir: &Shader, root: impl Fn(&Op) -> bool) -> Self {
        let roots = ir.live_insts().filter(|inst| root(&inst.op)).flat_map(|inst| inst.args.iter().copied());
        let mut out = Self::default();
        for inst in sources(ir, roots.collect()) {
            out.add(ir, inst);
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
                if let Some(place) = bound(ir, inst) {
                    self.buffers.entry(place).or_default().add(constant(1), bytes);
                }
            }
            Op::Image(_) => self.images.extend(bound(ir, inst)),
            _ => {}
        }
    }
}

/// Set and binding of the descriptor that is an instruction's first operand.
pub(super) fn bound(ir: &Shader, inst: &Inst) -> Option<(u32, u32)> {
    let Op::Descriptor { resource, .. } = ir.def(*inst.args.first()?)?.op else { return None };
    ir.resources.get(resource.index()).map(|r| (r.set, r.binding))
}

/// The instructions that some values depend on, through variables and block parameters, in no particular order.
pub(super) fn sources(ir: &Shader, roots: Vec<Value>) -> Vec<&Inst> {
    let (mut waiting, mut out, mut seen, mut branches) = (roots, Vec::new(), BTreeSet::new(), false);
    let mut stores = Stores::of(ir);
    let mut calls = vec![Vec::new(); ir.blocks.len()];
    for call in ir.blocks.iter().flat_map(|b| b.calls()) {
        calls[call.block.index()].push(call.args);
    }
    while let Some(value) = waiting.pop() {
        if !seen.insert(value.index()) {
            continue;
        }
        match ir.values.get(value.index()).map(|v| v.def) {
            Some(ValueDef::Inst(id)) => {
                let inst = ir.inst(id);
                out.push(inst);
                waiting.extend(inst.args.iter().copied());
                match inst.op {
                    Op::LocalLoad { local, .. } => waiting.extend(stores.locals.remove(&local).unwrap_or_default()),
                    Op::SharedLoad { .. } | Op::SharedAtomic(_) => waiting.append(&mut stores.shared),
                    _ => {}
                }
            }
            Some(ValueDef::Param(block, n)) => {
                waiting.extend(calls[block.index()].iter().filter_map(|args| args.get(n as usize).copied()));
                // Branches decide which of several values is taken.
                if !std::mem::replace(&mut branches, true) {
                    waiting.extend(decisions(ir));
                }
            }
            None => {}
        }
    }
    out
}

/// Operands of the stores that a load may read. Following the first load takes them out, since each is followed once.
#[derive(Default)]
struct Stores {
    locals: BTreeMap<LocalId, Vec<Value>>,
    shared: Vec<Value>,
}

impl Stores {
    fn of(ir: &Shader) -> Self {
        let mut out = Self::default();
        for inst in ir.live_insts() {
            match inst.op {
                Op::LocalStore { local, .. } => out.locals.entry(local).or_default().extend(&inst.args),
                Op::SharedStore { .. } | Op::SharedAtomic(_) => out.shared.extend(&inst.args),
                _ => {}
            }
        }
        out
    }
}

/// The values that branches depend on.
pub(super) fn decisions(ir: &Shader) -> impl Iterator<Item = Value> {
    ir.blocks.iter().filter_map(|b| b.term()).filter_map(decided_by)
}

fn decided_by(term: Terminator<'_>) -> Option<Value> {
    match term {
        Terminator::Branch { cond, .. } => Some(cond),
        Terminator::Switch { value, .. } => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_ir::parse::parse;

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
