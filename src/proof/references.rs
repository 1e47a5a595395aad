//! Makes buffers for the addresses that a module declares in its inputs. Types give the offsets of addresses, or the
//! integers that the shader converts to addresses.
//!
//! Each address in the push constants gets a buffer of its own. All addresses of one type inside one buffer share a
//! buffer, and so do all of one type inside those buffers: so linked lists end, because they point to themselves.

use super::declared::Declared;
use dovetail_emu::inputs::{BindingElement, Bound, InputBytes, Inputs, Slot, StoredPointer};
use dovetail_ir::{AluOp, Op, Shader, Type, Value, ValueDef};
use std::collections::{BTreeMap, BTreeSet};

/// Size in bytes of a buffer that contains addresses.
const LINKED: usize = 1 << 10;

/// An address in the inputs: its offset, and its pointee type.
struct Reference {
    within: Option<Slot>,
    byte: usize,
    pointee: u32,
}

impl Declared {
    /// Adds the buffers, usually of `bytes` bytes, and the pointers to them.
    pub(super) fn add_references(
        &self,
        ir: &Shader,
        inputs: &mut Inputs,
        bytes: usize,
        mut fill: impl FnMut(u32, &mut [u8]),
    ) {
        let mut waiting = self.of_numbers(ir, inputs);
        for binding in &inputs.bindings {
            let here = |r: &&dovetail_ir::Resource| {
                (r.set, r.binding) == (binding.set, binding.binding)
                    && binding.bound.kind().is_some_and(|kind| kind.serves(r.kind))
            };
            let types = ir.resources.iter().find(here).map_or(Vec::new(), |r| self.made_as(r));
            let held = binding.bound.buffer().map_or(0, |data| data.0.len());
            waiting.extend(types.into_iter().flat_map(|ty| self.references(ty, Some(binding.slot()), held)));
        }
        // Another shader of the pipeline may already have added the pointer.
        waiting.retain(|r| !inputs.pointers.iter().any(|p| (p.within, p.byte as usize) == (r.within, r.byte)));
        // A set that no descriptor uses.
        let set = inputs.bindings.iter().map(|b| b.set + 1).max().unwrap_or(0);
        let mut made: BTreeMap<(Option<Slot>, Option<usize>, u32), Slot> = BTreeMap::new();
        while let Some(Reference { within, byte, pointee }) = waiting.pop() {
            let bound = within.filter(|slot| slot.set != set);
            let key = (bound, within.is_none().then_some(byte), pointee);
            let count = made.len() as u32;
            let to = *made.entry(key).or_insert_with(|| {
                let slot = Slot { set, binding: count, element: 0 };
                let linked = !self.references(pointee, Some(slot), LINKED).is_empty();
                let mut data = vec![0; if linked { LINKED } else { bytes }];
                // Shaders index pointees in both directions, like arrays.
                let align = if linked { 8 } else { 1 };
                let step = self.bytes(pointee, data.len()).max(1).next_multiple_of(align);
                for (n, one) in data.chunks_mut(step).enumerate() {
                    fill(pointee, one);
                    let inner = self.references(pointee, Some(slot), one.len()).into_iter();
                    waiting.extend(inner.map(|r| Reference { byte: r.byte + n * step, ..r }));
                }
                let bound = Bound::PhysicalStorageBuffer(InputBytes(data));
                inputs.bindings.push(BindingElement { set, binding: slot.binding, element: 0, bound });
                slot
            });
            inputs.pointers.push(StoredPointer { within, byte: byte as u32, to, offset: 0 });
        }
    }

    /// Addresses in push constants: pointers by type; and integers in push constants and buffers that become addresses.
    fn of_numbers(&self, ir: &Shader, inputs: &Inputs) -> Vec<Reference> {
        let held = inputs.push_constants.0.len();
        let mut out = self.push_constants().map_or(Vec::new(), |block| self.references(block, None, held));
        let Some(pointee) = self.converted().max_by_key(|ty| self.bytes(*ty, LINKED)) else { return out };
        for (place, byte) in numbers_as_addresses(ir) {
            let here = |b: &&BindingElement| place == Some((b.set, b.binding)) && b.bound.buffer().is_some();
            let bound = inputs
                .bindings
                .iter()
                .filter(here)
                .map(|b| (Some(b.slot()), b.bound.buffer().map_or(0, |b| b.0.len())));
            let push = place.is_none().then_some((None, held));
            for (within, bytes) in bound.chain(push) {
                if byte + 8 <= bytes && !out.iter().any(|r| (r.within, r.byte) == (within, byte)) {
                    out.push(Reference { within, byte, pointee });
                }
            }
        }
        out
    }

    /// The pointers in a block of `bytes` bytes.
    fn references(&self, ty: u32, within: Option<Slot>, bytes: usize) -> Vec<Reference> {
        let leaves = self.leaves(ty, bytes).into_iter();
        leaves.filter_map(|leaf| Some(Reference { within, byte: leaf.at, pointee: leaf.pointee? })).collect()
    }
}

/// Offsets of integers that become addresses, in push constants or in the buffer of a set and binding: used unchanged,
/// combined from two halves, or with an offset added.
fn numbers_as_addresses(ir: &Shader) -> BTreeSet<(Option<(u32, u32)>, usize)> {
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
                    // The low half comes first.
                    Op::Alu(AluOp::IOr, _) => {
                        let halves = inst.args.iter().filter_map(|v| ir.def(*v));
                        let low = halves.filter(|half| matches!(half.op, Op::Alu(AluOp::ZExt, _)));
                        out.extend(low.filter_map(|half| half.args.first()).filter_map(|v| loaded_from(ir, *v)));
                    }
                    Op::LocalLoad { local, .. } => {
                        let here = |op: &Op| matches!(op, Op::LocalStore { local: other, .. } if *other == local);
                        let stored = ir.insts.iter().filter(|inst| here(&inst.op)).filter_map(|inst| inst.args.get(1));
                        waiting.extend(stored.filter(|v| ir.ty(**v).bytes() == Type::B64.bytes()));
                    }
                    Op::Compose => out.extend(inst.args.first().and_then(|v| loaded_from(ir, *v))),
                    _ => out.extend(loaded_from(ir, v)),
                }
            }
            Some(ValueDef::Param(block, n)) => {
                let calls = ir.blocks.iter().flat_map(|b| b.calls());
                waiting.extend(calls.filter(|call| call.block == block).filter_map(|call| call.args.get(n as usize)));
            }
            None => {}
        }
    }
    out
}

/// Where a value was loaded from, or the vector that it is a component of.
pub(super) fn loaded_from(ir: &Shader, v: Value) -> Option<(Option<(u32, u32)>, usize)> {
    let inst = ir.def(v)?;
    match inst.op {
        Op::PushConstant { .. } => Some((None, constant(ir, *inst.args.first()?)?)),
        Op::BufferLoad { .. } => {
            let Op::Descriptor { resource, .. } = ir.def(*inst.args.first()?)?.op else { return None };
            let r = ir.resources.get(resource.index())?;
            Some((Some((r.set, r.binding)), constant(ir, *inst.args.get(1)?)?))
        }
        Op::Bitcast => loaded_from(ir, *inst.args.first()?),
        Op::Extract(n) => {
            let (place, at) = loaded_from(ir, *inst.args.first()?)?;
            Some((place, at + usize::from(n) * ir.ty(v).bytes() as usize))
        }
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_ir::parse::parse;
    use rspirv::binary::Assemble;
    use rspirv::dr::{Builder, Operand};
    use rspirv::spirv::{Decoration, FunctionControl, StorageClass};

    /// Push constants with two nodes and two integers; a function converts one integer to the address of a float. A
    /// node is a pointer to a node, and a float.
    fn module() -> Vec<u8> {
        let mut b = Builder::new();
        let (void, float, number) = (b.type_void(), b.type_float(32, None), b.type_int(64, 0));
        let address = b.id();
        let node = b.type_struct([address, float]);
        b.type_pointer(Some(address), StorageClass::PhysicalStorageBuffer, node);
        let plain = b.type_struct([float]);
        let to_plain = b.type_pointer(None, StorageClass::PhysicalStorageBuffer, plain);
        let block = b.type_struct([address, address, number, number]);
        for (ty, members) in [(node, 2), (plain, 1), (block, 4)] {
            for n in 0..members {
                b.member_decorate(ty, n, Decoration::Offset, [Operand::LiteralBit32(8 * n)]);
            }
        }
        let pointer = b.type_pointer(None, StorageClass::PushConstant, block);
        b.variable(pointer, None, StorageClass::PushConstant, None);
        let zero = b.constant_bit64(number, 0);
        let function = b.type_function(void, []);
        b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
        b.begin_block(None).unwrap();
        b.convert_u_to_ptr(to_plain, None, zero).unwrap();
        b.ret().unwrap();
        b.end_function().unwrap();
        b.module().assemble().iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// The address at byte 24 is advanced in a loop and stored to.
    const LOOP: &str = "shader upper compute \"t\"\nmodes 1 1 1 any any any any rte rte rte\nblock0:\n\
        v0: b32 = const 0x18\n v1: b64 = push_constant[align8] v0\n v2: b32 = const 0x10\n\
        v3: b64 = push_constant[align8] v2\n v4: b64 = imul v3, v3\n v5: b64 = iadd v1, v4\n jump block1(v5)\n\
        block1(v6: b64): merge block3 continue block2\n v7: b1 = ieq v6, v4\n branch v7, block3, block2\n\
        block2:\n global_store[align4] v6, v2\n v8: b64 = iadd v6, v4\n jump block1(v8)\n\
        block3:\n return\n";

    /// Addresses from push constants and from a uniform buffer, combined from halves; an index is not an address.
    const HALVES: &str = "shader upper compute \"t\"\nmodes 1 1 1 any any any any rte rte rte\n\
        res0 \"block\" set1 binding2 uniform_buffer count1\nblock0:\n\
        v0: b32 = const 0x10\n v1: b32x4 = push_constant[align4] v0\n v2: b32 = extract[2] v1\n\
        v3: b32 = extract[3] v1\n v4: b32x2 = compose v2, v3\n v5: b64 = bitcast v4\n\
        v6: b32 = const 0x0\n v7: b32x4 = descriptor[res0 buffer] v6\n v8: b32 = buffer_load[uniform align4] v7, v0\n\
        v9: b32 = const 0x14\n v10: b32 = buffer_load[uniform align4] v7, v9\n v11: b64 = zext v8\n v12: b64 = zext v10\n\
        v13: b32 = const 0x20\n v14: b64 = shl v12, v13\n v15: b64 = ior v11, v14\n v16: b32 = push_constant[align4] v6\n\
        v17: b64 = zext v16\n v18: b64 = iadd v15, v17\n v19: b32 = global_load[align4] v18\n\
        global_store[align4] v5, v19\n return\n";

    #[test]
    fn addresses_are_found_in_halves_and_in_buffers() {
        let found = numbers_as_addresses(&parse(HALVES).unwrap());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(None, 24), (Some((1, 2)), 16)]);
    }

    #[test]
    fn every_address_gets_a_buffer_and_lists_lead_to_themselves() {
        let (declared, ir) = (Declared::new(&module()).unwrap(), parse(LOOP).unwrap());
        let mut inputs = Inputs { push_constants: InputBytes(vec![0; 32]), ..Default::default() };
        let mut filled = 0;
        declared.add_references(&ir, &mut inputs, 64, |_, to| {
            to.fill(1);
            filled += to.len();
        });
        let within = |slot: Option<Slot>| inputs.pointers.iter().filter(move |p| p.within == slot);
        let mut outer: Vec<_> = within(None).map(|p| (p.byte, p.to.binding)).collect();
        outer.sort_unstable();
        assert_eq!(outer.iter().map(|p| p.0).collect::<Vec<_>>(), [0, 8, 24], "byte 16 is no address");
        assert_eq!(outer.iter().map(|p| p.1).collect::<BTreeSet<_>>().len(), 3);
        // Two nodes, their targets, and the float.
        let sizes: Vec<usize> = inputs.bindings.iter().map(|b| b.bound.storage_buffer().unwrap().0.len()).collect();
        assert_eq!((sizes.len(), sizes.iter().filter(|n| **n == 64).count()), (4, 1));
        assert_eq!(sizes.iter().sum::<usize>(), filled);
        let inner: BTreeSet<Slot> = inputs.pointers.iter().filter(|p| p.within.is_some()).map(|p| p.to).collect();
        let [last] = inner.iter().copied().collect::<Vec<_>>()[..] else { panic!("{inner:?}") };
        assert!(within(Some(last)).count() > 50 && within(Some(last)).all(|p| p.to == last));
        assert!(dovetail_emu::pointers::StoredAddresses::new(&inputs, |_| 0).is_ok());
    }
}
