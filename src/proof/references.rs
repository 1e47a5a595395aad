//! Buffers for the addresses that a module declares among its inputs: where one stands follows from types, or from the
//! numbers that the shader makes addresses of.
//!
//! Each address in the push constants gets a buffer of its own, all of one type within one buffer share theirs, and so do
//! all of one type within such buffers: lists end, for they lead to themselves.

use super::declared::Declared;
use crate::emu::inputs::{Binding, Bound, Bytes, Inputs, Pointer, Slot};
use crate::ir::{AluOp, Op, Shader, Type, Value, ValueDef};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a buffer that has addresses in it.
const LINKED: usize = 1 << 10;

/// An address among the inputs: where, and the type that it points to.
struct Reference {
    within: Option<Slot>,
    byte: usize,
    pointee: u32,
}

impl Declared {
    /// Adds buffers, of so many bytes as a rule, and the pointers to them.
    pub(super) fn add_references(
        &self,
        ir: &Shader,
        inputs: &mut Inputs,
        bytes: usize,
        mut fill: impl FnMut(u32, &mut [u8]),
    ) {
        let mut waiting = self.in_push_constants(ir, inputs.push_constants.0.len());
        for binding in &inputs.bindings {
            let here = |r: &&crate::ir::Resource| (r.set, r.binding) == (binding.set, binding.binding);
            let types = ir.resources.iter().find(here).map_or(Vec::new(), |r| self.bound_at(r));
            let held = binding.bound.buffer().map_or(0, |data| data.0.len());
            waiting.extend(types.into_iter().flat_map(|ty| self.references(ty, Some(binding.slot()), held)));
        }
        // No descriptor has this set.
        let set = inputs.bindings.iter().map(|b| b.set + 1).max().unwrap_or(0);
        let mut made: BTreeMap<(Option<Slot>, Option<usize>, u32), Slot> = BTreeMap::new();
        while let Some(Reference { within, byte, pointee }) = waiting.pop() {
            let bound = within.filter(|slot| slot.set != set);
            let key = (bound, within.is_none().then_some(byte), pointee);
            let count = made.len() as u32;
            let to = *made.entry(key).or_insert_with(|| {
                let slot = Slot { set, binding: count, element: 0 };
                let inner = self.references(pointee, Some(slot), LINKED);
                let mut data = vec![0; if inner.is_empty() { bytes } else { LINKED }];
                // References are counted on and down, as if an array were there.
                let step = self.bytes(pointee, data.len()).max(4);
                data.chunks_mut(step).for_each(|one| fill(pointee, one));
                waiting.extend(inner);
                let bound = Bound::PhysicalStorageBuffer(Bytes(data));
                inputs.bindings.push(Binding { set, binding: slot.binding, element: 0, bound });
                slot
            });
            inputs.pointers.push(Pointer { within, byte: byte as u32, to, offset: 0 });
        }
    }

    /// Addresses in push constants: pointers by their type, and what the shader makes one of.
    fn in_push_constants(&self, ir: &Shader, bytes: usize) -> Vec<Reference> {
        let mut out = self.push_constants().map_or(Vec::new(), |block| self.references(block, None, bytes));
        let Some(pointee) = self.converted().max_by_key(|ty| self.bytes(*ty, LINKED)) else { return out };
        for byte in addresses_in_push_constants(ir) {
            if byte + 8 <= bytes && !out.iter().any(|r| r.byte == byte) {
                out.push(Reference { within: None, byte, pointee });
            }
        }
        out
    }

    /// Pointers in a block of so many bytes.
    fn references(&self, ty: u32, within: Option<Slot>, bytes: usize) -> Vec<Reference> {
        let leaves = self.leaves(ty, bytes).into_iter();
        leaves.filter_map(|leaf| Some(Reference { within, byte: leaf.at, pointee: leaf.pointee? })).collect()
    }
}

/// Bytes of push constants that become addresses, as they are or with something added.
fn addresses_in_push_constants(ir: &Shader) -> BTreeSet<usize> {
    let accesses = |op: &Op| matches!(op, Op::GlobalLoad { .. } | Op::GlobalStore { .. } | Op::GlobalAtomic { .. });
    let mut waiting: Vec<Value> =
        ir.insts.iter().filter(|inst| accesses(&inst.op)).filter_map(|inst| inst.args.first().copied()).collect();
    let (mut seen, mut out) = (BTreeSet::new(), BTreeSet::new());
    while let Some(v) = waiting.pop() {
        if !seen.insert(v.index()) {
            continue;
        }
        match ir.values.get(v.index()).map(|v| v.def) {
            Some(ValueDef::Inst(id)) => {
                let inst = ir.inst(id);
                match inst.op {
                    Op::Alu(AluOp::IAdd | AluOp::ISub | AluOp::Select, _) | Op::Bitcast => {
                        waiting.extend(inst.args.iter().filter(|v| ir.ty(**v).bytes() == Type::B64.bytes()));
                    }
                    Op::PushConstant { .. } => out.extend(inst.args.first().and_then(|v| constant(ir, *v))),
                    _ => {}
                }
            }
            Some(ValueDef::Param(block, n)) => {
                let calls = ir.blocks.iter().filter_map(|b| b.term.as_ref()).flat_map(|term| term.calls());
                waiting.extend(calls.filter(|call| call.block == block).filter_map(|call| call.args.get(n as usize)));
            }
            None => {}
        }
    }
    out
}

fn constant(ir: &Shader, v: Value) -> Option<usize> {
    match ir.values.get(v.index())?.def {
        ValueDef::Inst(id) => match ir.inst(id).op {
            Op::Const(bits) => usize::try_from(bits).ok(),
            _ => None,
        },
        ValueDef::Param(..) => None,
    }
}
