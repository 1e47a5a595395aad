//! Splits buffer accesses into widths that one instruction moves; it runs last, at the lower level.
//!
//! Buffer instructions have no alignment and no code generator splits them, so each is split here by its known
//! alignment:
//!
//! | operands and memory | alignment | becomes |
//! | --- | --- | --- |
//! | uniform, never written (scalar cache) | 4 or more | 1, 2, 4, 8 or 16 dwords, rounded up to whole ones |
//! | the same | 1, 2 | the dword around each piece, shifted |
//! | divergent, never written | 4 or more | 1 to 4 dwords, rounded up to whole ones |
//! | any other load, stores | 4 or more, whole dwords | 1 to 4 dwords |
//! | the same | otherwise | single bytes or pairs of bytes |
//!
//! [`Uniformity`] finds uniform operands; a load that would use the scalar cache but must not is marked `divergent`.
//!
//! Afterwards a buffer access has type `b32`, a vector of it, `b16` or `b8`. Accesses through pointers are left alone:
//! the code generator gets their alignment.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::uniform::Uniformity;
use dovetail_ir::{Access, Align, AluOp, Bits, BufferKind, Builder, Op, Shader, Type, Value};
use smallvec::SmallVec;

/// Limit on blocks for finding uniform values, whose time is up to quadratic in them. In larger shaders every operand
/// counts as divergent.
const MAX_BLOCKS: usize = 1 << 9;

/// Splits every buffer access into legal widths.
///
/// # Errors
/// Only bugs.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    mark_divergent(shader);
    rewrite(shader, |b, inst| match inst.op {
        Op::BufferLoad { kind, align, access } => {
            let ty = inst.result.map(|v| b.ty(v)).ok_or_else(|| Error::bug("a load without a result"))?;
            let one = if access.is_scalar(kind) { matches!(ty.lanes(), 1 | 2 | 4) } else { ty.lanes() <= 4 };
            if ty.bits() == Bits::B32 && one && align >= Align::A4 {
                return Ok(Rewrite::Keep);
            }
            Load { kind, align, access, descriptor: inst.args[0], offset: inst.args[1] }.run(b, ty).map(Rewrite::Value)
        }
        Op::BufferStore { align, access } => {
            let value = inst.args[2];
            let ty = b.ty(value);
            if ty.bits() == Bits::B32 && matches!(ty.lanes(), 1..=4) && align >= Align::A4 {
                return Ok(Rewrite::Keep);
            }
            let unit = unit(align, ty.bytes());
            let parts = taken_apart(b, value, unit);
            for (start, len) in runs(parts.len() as u32, vector_lengths(unit)) {
                let part = b.compose(&parts[start as usize..(start + len) as usize]);
                let offset = at(b, inst.args[1], start * unit.bytes());
                let align = piece_align(align, start * unit.bytes());
                b.effect(Op::BufferStore { align, access }, &[inst.args[0], offset, part]);
            }
            Ok(Rewrite::Remove)
        }
        _ => Ok(Rewrite::Keep),
    })
}

/// Keeps loads with a divergent descriptor or offset away from the scalar cache.
fn mark_divergent(shader: &mut Shader) {
    let scalar = |op: &Op| matches!(op, Op::BufferLoad { kind, access, .. } if access.is_scalar(*kind));
    if !shader.has(scalar) {
        return;
    }
    let uniformity = (shader.blocks.len() <= MAX_BLOCKS).then(|| Uniformity::of(shader));
    for block in shader.block_ids() {
        for n in 0..shader.block(block).insts.len() {
            let id = shader.block(block).insts[n];
            let inst = shader.inst_mut(id);
            let differs = |&v: &Value| !uniformity.as_ref().is_some_and(|u| u.is_uniform_in(v, block));
            if scalar(&inst.op)
                && inst.args.iter().any(differs)
                && let Op::BufferLoad { access, .. } = &mut inst.op
            {
                access.divergent = true;
            }
        }
    }
}

/// The units or elements of a value.
type Parts = SmallVec<[Value; 16]>;

struct Load {
    kind: BufferKind,
    align: Align,
    access: Access,
    descriptor: Value,
    offset: Value,
}

impl Load {
    fn run(&self, b: &mut Builder<'_>, ty: Type) -> Result<Value> {
        let scalar = self.access.is_scalar(self.kind);
        let (unit, parts) = match (scalar, self.align >= Align::A4) {
            (_, true) if self.access.may_be_scalar(self.kind) => {
                let lengths = if scalar { &[16, 8, 4, 2, 1] } else { vector_lengths(Bits::B32) };
                (Bits::B32, self.pieces(b, Bits::B32, ty.bytes().div_ceil(4), lengths))
            }
            (true, _) => {
                let unit = unit(self.align, ty.bytes());
                let parts = (0..ty.bytes() / unit.bytes()).map(|i| self.shifted(b, unit, i * unit.bytes())).collect();
                (unit, parts)
            }
            _ => {
                let unit = unit(self.align, ty.bytes());
                (unit, self.pieces(b, unit, ty.bytes() / unit.bytes(), vector_lengths(unit)))
            }
        };
        put_together(b, &parts, unit, ty)
    }

    fn load(&self, b: &mut Builder<'_>, ty: Type, offset: Value, align: Align) -> Value {
        let op = Op::BufferLoad { kind: self.kind, align, access: self.access };
        b.value(op, &[self.descriptor, offset], ty)
    }

    /// Loads `count` consecutive units, in loads of the longest lengths that fit.
    fn pieces(&self, b: &mut Builder<'_>, unit: Bits, count: u32, lengths: &[u32]) -> Parts {
        let mut parts = Parts::new();
        for (start, len) in runs(count, lengths) {
            let offset = at(b, self.offset, start * unit.bytes());
            let ty = Type::vector(unit, len).unwrap_or(Type::scalar(unit));
            let piece = self.load(b, ty, offset, piece_align(self.align, start * unit.bytes()));
            parts.extend(b.split(piece));
        }
        parts
    }

    /// Extracts a byte or a pair of bytes from its dword: the scalar cache reads nothing smaller.
    fn shifted(&self, b: &mut Builder<'_>, unit: Bits, add: u32) -> Value {
        let offset = at(b, self.offset, add);
        let (start, shift) = match b.shader.as_const(offset) {
            Some(n) => (b.c32(n as u32 & !3), b.c32((n as u32 & 3) * 8)),
            None => {
                let (whole, inside, three) = (b.c32(!3), b.c32(3), b.c32(3));
                let byte = b.alu(AluOp::IAnd, &[offset, inside]);
                (b.alu(AluOp::IAnd, &[offset, whole]), b.alu(AluOp::Shl, &[byte, three]))
            }
        };
        let dword = self.load(b, Type::B32, start, Align::A4);
        let low = b.alu(AluOp::LShr, &[dword, shift]);
        b.convert(AluOp::Trunc, low, Type::scalar(unit))
    }
}

fn at(b: &mut Builder<'_>, offset: Value, add: u32) -> Value {
    let add = b.c32(add);
    b.iadd(offset, add)
}

/// The alignment `add` bytes after an aligned address.
fn piece_align(align: Align, add: u32) -> Align {
    if add == 0 { align } else { align.min(Align::of_offset(add)) }
}

/// The widest of 1, 2 and 4 bytes that the alignment allows and that divides the size.
fn unit(align: Align, bytes: u32) -> Bits {
    match align.min(Align::of_offset(bytes)).bytes() {
        1 => Bits::B8,
        2 => Bits::B16,
        _ => Bits::B32,
    }
}

const fn vector_lengths(unit: Bits) -> &'static [u32] {
    match unit {
        Bits::B32 => &[4, 3, 2, 1],
        _ => &[1],
    }
}

/// Start and length of each run; the longest lengths first.
fn runs(count: u32, lengths: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = count - start;
        let len = lengths.iter().copied().find(|&len| len <= rest).unwrap_or(1).min(rest);
        let from = start;
        start += len;
        (len > 0).then_some((from, len))
    })
}

/// Combines units in memory order into a value; units beyond its end are dropped.
fn put_together(b: &mut Builder<'_>, parts: &[Value], unit: Bits, ty: Type) -> Result<Value> {
    let element = ty.element();
    let mut elements: Parts = if element.bytes() > unit.bytes() {
        let group = (element.bytes() / unit.bytes()) as usize;
        parts
            .chunks(group)
            .map(|part| {
                let whole = b.compose(part);
                b.bitcast(whole, element)
            })
            .collect()
    } else {
        let inner = Type::vector(ty.bits(), unit.bytes() / element.bytes()).unwrap_or(element);
        parts
            .iter()
            .flat_map(|&part| {
                let whole = b.bitcast(part, inner);
                b.split(whole)
            })
            .collect()
    };
    elements.truncate(ty.lanes() as usize);
    if elements.len() == ty.lanes() as usize {
        Ok(b.compose(&elements))
    } else {
        Err(Error::bug(format!("{} pieces do not make {ty}", parts.len())))
    }
}

/// Splits a value into units in memory order. Its size is a multiple of the unit's.
fn taken_apart(b: &mut Builder<'_>, value: Value, unit: Bits) -> Parts {
    let elements = b.split(value);
    let element = b.ty(value).element();
    let unit_type = Type::scalar(unit);
    if element.bytes() > unit.bytes() {
        let inner = Type::vector(unit, element.bytes() / unit.bytes()).unwrap_or(unit_type);
        return elements
            .iter()
            .flat_map(|&e| {
                let parts = b.bitcast(e, inner);
                b.split(parts)
            })
            .collect();
    }
    elements
        .chunks((unit.bytes() / element.bytes()) as usize)
        .map(|group| {
            let whole = b.compose(group);
            b.bitcast(whole, unit_type)
        })
        .collect()
}
