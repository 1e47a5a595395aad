//! Merges accesses to adjacent memory: loads, and stores, of a buffer, of workgroup memory, and by address.
//!
//! Only within a block. The merged load is at the place of the first one, the merged store at that of the last, and
//! nothing between them may conflict. Merged accesses move whole dwords.
//!
//! Buffer accesses check the bounds of every dword, so a wide one drops exactly what the narrow ones would drop, if no
//! offset between them wraps. For workgroup memory and addresses, an access out of bounds has no meaning that would have
//! to be kept.

mod loads;
mod pieces;
mod stores;

use super::names::ValueNames;
use super::purity::{Memory, same};
use dovetail_base::error::Result;
use dovetail_base::workspace::List;
use dovetail_compile::request::TuningOptions;
use dovetail_ir::bounds::{low_zeros, stays_in_range};
use dovetail_ir::{Align, AluOp, Bits, FpFlags, Inst, InstArgs, InstId, Op, Shader, Type, Value};

/// Size of the largest access, a scalar load.
const MAX_BYTES: u64 = 64;

/// Merges accesses.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    let mut names = ValueNames::default();
    for block in shader.block_ids() {
        for merge in [loads::merge, stores::merge] {
            let mut replaced = Replaced::default();
            merge(shader, block, &mut replaced, &mut names);
            replaced.apply(&mut shader.block_mut(block).insts);
        }
    }
    names.apply(shader);
    Ok(())
}

/// What an access is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Base {
    memory: Memory,
    /// Of a buffer.
    descriptor: Option<Value>,
    /// What is added to the constant part of the offset or address.
    base: Option<Value>,
}

/// An access at a constant distance from a base.
#[derive(Clone, Copy, Debug)]
struct Place {
    base: Base,
    /// Bytes from the base, of as many bits as the offset has.
    start: u64,
    ty: Type,
    align: Align,
}

impl Place {
    fn end(&self) -> u64 {
        self.start + u64::from(self.ty.bytes())
    }

    /// Whether both are relative to the same base, and no byte is in both.
    fn is_apart(&self, other: &Self) -> bool {
        self.base == other.base && (self.end() <= other.start || other.end() <= self.start)
    }
}

/// The place of a load or store that may be merged. Its value is the result or the last operand.
fn place(shader: &Shader, inst: &Inst) -> Option<Place> {
    let (memory, align, access, operands) = match inst.op {
        Op::BufferLoad { align, access, .. } | Op::BufferStore { align, access } => (Memory::Buffers, align, access, 2),
        Op::GlobalLoad { align, access } | Op::GlobalStore { align, access } => (Memory::Buffers, align, access, 1),
        Op::SharedLoad { align, access } | Op::SharedStore { align, access } => (Memory::Shared, align, access, 1),
        _ => return None,
    };
    let value = inst.result.or_else(|| inst.args.get(operands).copied())?;
    let ty = shader.ty(value);
    let descriptor = (operands == 2).then(|| inst.args[0]);
    // The bounds of a buffer are checked for each dword.
    let narrow = descriptor.is_some() && (ty.bits() != Bits::B32 || align < Align::A4);
    if access.volatile || access.coherent || ty.bits() == Bits::B1 || narrow {
        return None;
    }
    let offset = inst.args[operands - 1];
    let (base, start) = split(shader, offset);
    // Places that wrap cannot be compared.
    let end = start.checked_add(256).map(|_| start + u64::from(ty.bytes()))?;
    if end - 1 > shader.ty(offset).bits().mask() {
        return None;
    }
    Some(Place { base: Base { memory, descriptor, base }, start, ty, align })
}

/// An offset or address as a base and a constant.
fn split(shader: &Shader, offset: Value) -> (Option<Value>, u64) {
    if let Some(bits) = shader.as_const(offset) {
        return (None, bits);
    }
    match shader.def(offset) {
        Some(Inst { op: Op::Alu(AluOp::IAdd, _), args, .. }) => match shader.as_const(args[1]) {
            Some(bits) => (Some(args[0]), bits),
            None => (Some(offset), 0),
        },
        _ => (Some(offset), 0),
    }
}

/// Whether two operations access memory in the same way, whatever their alignment.
fn alike(a: &Op, b: &Op) -> bool {
    match (a, b) {
        (Op::BufferStore { access, .. }, Op::BufferStore { access: access2, .. })
        | (Op::SharedStore { access, .. }, Op::SharedStore { access: access2, .. })
        | (Op::GlobalStore { access, .. }, Op::GlobalStore { access: access2, .. }) => access == access2,
        _ => same(a, b) && scalar(a) == scalar(b),
    }
}

fn scalar(op: &Op) -> bool {
    matches!(op, Op::BufferLoad { kind, access, .. } if access.is_scalar(*kind))
}

/// What is known about the alignment of a group of accesses: an aligned distance from the base.
#[derive(Clone, Copy)]
struct Alignment {
    align: Align,
    at: u64,
}

impl Alignment {
    fn of(shader: &Shader, base: Option<Value>, places: impl Iterator<Item = Place>) -> Self {
        // Without a base the distance is the address.
        let zeros = match base {
            None => 4,
            Some(base) if shader.ty(base) == Type::B32 => low_zeros(shader, base).min(4),
            Some(_) => 0,
        };
        let itself = Self { align: Align::of_offset(1 << zeros), at: 0 };
        let best = places.map(|place| Self { align: place.align, at: place.start }).max_by_key(|known| known.align);
        best.filter(|best| best.align > itself.align).unwrap_or(itself)
    }

    /// The alignment at a distance from the base.
    fn at(self, start: u64) -> Align {
        match start.wrapping_sub(self.at) as u32 {
            0 => self.align,
            apart => self.align.min(Align::of_offset(apart)),
        }
    }
}

/// The number of dwords of one access to these bytes, if there is one.
fn width(shader: &Shader, op: &Op, base: Base, start: u64, bytes: u64, align: Align) -> Option<u32> {
    let dwords = if scalar(op) {
        // It may read up to a quarter more than is used.
        let whole = bytes.next_multiple_of(4).next_power_of_two();
        (whole <= 64 && 4 * bytes >= 3 * whole).then_some(whole as u32 / 4)?
    } else {
        let fits = match base.memory {
            // Pairs of dwords, aligned by dword, are two offsets of one instruction; so are pairs of pairs.
            Memory::Shared => matches!((bytes, align.bytes()), (4 | 8, 4..) | (16, 8..)),
            _ => align >= Align::A4 && bytes <= 16,
        };
        (fits && bytes.is_multiple_of(4)).then_some(bytes as u32 / 4)?
    };
    let in_range = base.descriptor.is_none() || stays_in_range(shader, base.base, start as u32, 4 * dwords);
    in_range.then_some(dwords)
}

/// The longest run of places, sorted by their start, that one access covers: how many places, how many dwords, and the
/// access's alignment. `joins`: whether a place belongs to the run of the first one, which ends at this distance.
fn longest_run(
    shader: &Shader,
    op: &Op,
    alignment: Alignment,
    mut places: impl Iterator<Item = Place>,
    joins: impl Fn(&Place, u64, &Place) -> bool,
) -> Option<(usize, u32, Align)> {
    let first = places.next()?;
    let align = alignment.at(first.start);
    let (mut longest, mut end) = (None, first.end());
    for (n, next) in (2..).zip(places) {
        if next.start - first.start >= MAX_BYTES || !joins(&first, end, &next) {
            break;
        }
        end = end.max(next.end());
        if let Some(dwords) = width(shader, op, first.base, first.start, end - first.start, align) {
            longest = Some((n, dwords, align));
        }
    }
    longest
}

/// Instructions that take the place of others, by index in the block.
#[derive(Default)]
struct Replaced {
    gone: List<usize>,
    made: List<(usize, InstId)>,
}

impl Replaced {
    /// Adds an instruction before one of the block.
    fn make(&mut self, shader: &mut Shader, at: usize, op: Op, args: &[Value], ty: Option<Type>) -> Option<Value> {
        let id = shader.add_inst(op, InstArgs::from_slice(args), ty);
        self.made.push((at, id));
        shader.inst(id).result
    }

    /// The offset or address of a place, from an instruction that has a base in reach.
    fn offset(&mut self, shader: &mut Shader, at: usize, base: Base, start: u64, wide: bool) -> Option<Value> {
        let ty = if wide { Type::B64 } else { Type::B32 };
        let constant = |this: &mut Self, shader: &mut Shader| this.make(shader, at, Op::Const(start), &[], Some(ty));
        match base.base {
            Some(base) if start == 0 => Some(base),
            Some(base) => {
                let constant = constant(self, shader)?;
                self.make(shader, at, Op::Alu(AluOp::IAdd, FpFlags::NONE), &[base, constant], Some(ty))
            }
            None => constant(self, shader),
        }
    }

    fn apply(mut self, insts: &mut Vec<InstId>) {
        if self.gone.is_empty() {
            return;
        }
        self.gone.sort_unstable();
        // Stable: those of one place keep their order.
        self.made.sort_by_key(|(at, _)| *at);
        let old: List<InstId> = insts.drain(..).collect();
        let (mut gone, mut made) = (self.gone.iter().peekable(), self.made.iter().peekable());
        for (at, &id) in old.iter().enumerate() {
            while let Some((_, new)) = made.next_if(|(place, _)| *place == at) {
                insts.push(*new);
            }
            if gone.next_if(|gone| **gone == at).is_none() {
                insts.push(id);
            }
        }
    }
}

/// The same operation with another alignment.
fn aligned(op: &Op, to: Align) -> Op {
    let mut op = op.clone();
    match &mut op {
        Op::BufferLoad { align, .. }
        | Op::BufferStore { align, .. }
        | Op::SharedLoad { align, .. }
        | Op::SharedStore { align, .. }
        | Op::GlobalLoad { align, .. }
        | Op::GlobalStore { align, .. } => *align = to,
        _ => {}
    }
    op
}
