//! Reads a scratch variable that is a copy of constants, or of a buffer that nothing writes, from where it was copied.
//!
//! An array that is passed to a function by value is copied first. Indexed by a value that is known only at run time, the
//! copy would have to be in scratch memory, with a store of every element in each lane.
//!
//! | every store to the variable is, at a known offset, | a load of it becomes |
//! |---|---|
//! | a constant | a load from a constant table |
//! | dword `n` of the variable, from dword `first + scale * n` of one buffer that nothing writes | a load from the buffer |
//!
//! Such memory never changes, and a load before the store is undefined; so it does not matter when the copy is made.
//! Variables that are only accessed at known offsets stay: they become values.

use dovetail_base::error::Result;
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{List, filled};
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{
    Access, Align, Bits, BufferKind, Builder, ConstTable, ConstTableId, DescriptorPart, Inst, LocalId, Op, ResourceId,
    Shader, Type, Value,
};

/// Limit of copies of copies.
const ROUNDS: usize = 4;
/// Limit of steps from a stored value to where it was loaded.
const STEPS: usize = 8;

/// Replaces loads of copies.
///
/// # Errors
/// Only bugs.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    if shader.locals.is_empty() {
        return Ok(());
    }
    for _ in 0..ROUNDS {
        let copies = find(shader);
        if copies.iter().all(Option::is_none) {
            break;
        }
        rewrite(shader, |b, inst| {
            Ok(match inst.op {
                Op::LocalLoad { local, align } => match (copies[local.index()], inst.result) {
                    (Some(copy), Some(result)) => {
                        let ty = b.ty(result);
                        Rewrite::Value(copy.load(b, inst.args[0], align, ty))
                    }
                    _ => Rewrite::Keep,
                },
                Op::LocalStore { local, .. } if copies[local.index()].is_some() => Rewrite::Remove,
                _ => Rewrite::Keep,
            })
        })?;
    }
    Ok(())
}

/// The original of a variable.
#[derive(Clone, Copy)]
enum Copied {
    Table(ConstTableId),
    /// The variable's dword `n` is the buffer's `first / 4 + scale * n`.
    Buffer {
        buffer: Buffer,
        first: u32,
        scale: u32,
    },
}

/// A buffer that nothing writes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Buffer {
    resource: ResourceId,
    part: DescriptorPart,
    index: u64,
    kind: BufferKind,
    access: Access,
}

/// The source of a dword.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Constant(u32),
    /// An offset in bytes.
    Buffer(Buffer, u32),
}

/// A dword of a variable, and where its value is from.
type Dword = (LocalId, u32, Source);

impl Copied {
    fn load(self, b: &mut Builder<'_>, offset: Value, align: Align, ty: Type) -> Value {
        match self {
            Self::Table(table) => {
                // What is read beyond the variable is undefined, but memory beyond the table need not exist.
                let bytes = b.shader.tables.get(table.index()).map_or(0, |table| table.bytes.len() as u64);
                let last = bytes.saturating_sub(ty.bytes().into()) / align.bytes() as u64 * align.bytes() as u64;
                let offset = b.at_most(offset, last);
                b.value(Op::ConstLoad { table, align }, &[offset], ty)
            }
            Self::Buffer { buffer: Buffer { resource, part, index, kind, access }, first, scale } => {
                let index = b.iconst(Type::B32, index);
                let descriptor = Op::Descriptor { resource, part, non_uniform: false };
                let descriptor = b.value(descriptor, &[index], Type::DESC4);
                let offset = match b.shader.as_const(offset) {
                    Some(known) => b.c32(first.wrapping_add((known as u32).wrapping_mul(scale))),
                    None => {
                        let scaled = b.imul_const(offset, scale.into());
                        let first = b.c32(first);
                        b.iadd(scaled, first)
                    }
                };
                let align = if scale == 1 { align.min(Align::of_offset(first)) } else { Align::A4 };
                b.value(Op::BufferLoad { kind, align, access }, &[descriptor, offset], ty)
            }
        }
    }
}

/// How a variable is used.
#[derive(Clone, Copy, Default)]
struct Use {
    /// Loaded at an offset that is not known.
    indexed: bool,
    /// Loaded otherwise than by single dwords.
    wide: bool,
    /// Stored at an offset that is not known.
    scattered: bool,
}

/// By variable, its original.
fn find(shader: &mut Shader) -> List<Option<Copied>> {
    let mut uses = filled(shader.locals.len(), Use::default());
    for inst in shader.live_insts() {
        let Some(local) = inst.op.local() else { continue };
        let known = inst.args.first().is_some_and(|offset| shader.as_const(*offset).is_some());
        let used = &mut uses[local.index()];
        match inst.op {
            Op::LocalLoad { align, .. } => {
                used.indexed |= !known;
                used.wide |= align < Align::A4 || inst.result.is_none_or(|v| shader.ty(v) != Type::B32);
            }
            _ => used.scattered |= !known,
        }
    }
    let mut copies = filled(shader.locals.len(), None);
    if !uses.iter().any(|used| used.indexed && !used.scattered) {
        return copies;
    }
    let mut known: List<bool> = uses.iter().map(|used| used.indexed && !used.scattered).collect();
    let mut dwords = List::default();
    for inst in shader.live_insts() {
        let Op::LocalStore { local, .. } = inst.op else { continue };
        if known[local.index()] {
            known[local.index()] = stored(shader, inst, local, &mut dwords);
        }
    }
    dwords.sort_unstable_by_key(|(local, n, _)| (*local, *n));
    for of_one in dwords.chunk_by(|(local, ..), (other, ..)| local == other) {
        let n = of_one[0].0.index();
        if known[n] {
            copies[n] = original(shader, of_one, uses[n].wide);
        }
    }
    copies
}

/// Adds the sources of the dwords that a store writes; false if one is not known.
fn stored(shader: &Shader, inst: &Inst, local: LocalId, dwords: &mut List<Dword>) -> bool {
    let (Some(&at), Some(&value)) = (inst.args.first(), inst.args.get(1)) else { return false };
    let (Some(at), bytes) = (shader.as_const(at), shader.ty(value).bytes()) else { return false };
    if at % 4 != 0 || bytes % 4 != 0 {
        return false;
    }
    (0..bytes / 4).all(|n| {
        let source = source(shader, value, n);
        dwords.extend(source.map(|source| (local, at as u32 / 4 + n, source)));
        source.is_some()
    })
}

/// The source of a value's dword.
fn source(shader: &Shader, mut value: Value, mut dword: u32) -> Option<Source> {
    for _ in 0..STEPS {
        let inst = shader.def(value)?;
        let lane_dwords = |v: Value| (shader.ty(v).bits() >= Bits::B32).then(|| shader.ty(v).bits().count() / 32);
        match inst.op {
            Op::Const(bits) => {
                lane_dwords(value)?;
                return Some(Source::Constant((bits >> (32 * dword)) as u32));
            }
            Op::BufferLoad { kind, access, .. } if access.is_unwritten(kind) && !access.volatile => {
                let [descriptor, offset] = inst.args[..] else { return None };
                let offset = u32::try_from(shader.as_const(offset)?).ok()?;
                let descriptor = shader.def(descriptor)?;
                let Op::Descriptor { resource, part, .. } = descriptor.op else { return None };
                let index = shader.as_const(*descriptor.args.first()?)?;
                let buffer = Buffer { resource, part, index, kind, access };
                return Some(Source::Buffer(buffer, offset.checked_add(4 * dword)?));
            }
            Op::Compose => {
                let part = shader.ty(*inst.args.first()?).bytes() / 4;
                lane_dwords(value)?;
                value = *inst.args.get(dword.checked_div(part)? as usize)?;
                dword %= part;
            }
            Op::Extract(lane) => {
                value = *inst.args.first()?;
                dword += u32::from(lane) * lane_dwords(value)?;
            }
            Op::Bitcast => value = *inst.args.first()?,
            _ => return None,
        }
    }
    None
}

/// The original of a variable with these dwords.
fn original(shader: &mut Shader, dwords: &[Dword], wide: bool) -> Option<Copied> {
    if dwords.windows(2).any(|pair| pair[0].1 == pair[1].1 && pair[0].2 != pair[1].2) {
        return None;
    }
    let (local, at, from) = *dwords.first()?;
    let Source::Buffer(buffer, from) = from else { return constants(shader, local, dwords) };
    let next = dwords.iter().find(|(_, n, _)| *n != at);
    let scale = match next {
        Some((_, n, Source::Buffer(_, offset))) => {
            let (step, dwords) = (offset.checked_sub(from)?, 4 * (n - at));
            (step > 0 && step % dwords == 0).then_some(step / dwords)?
        }
        Some((.., Source::Constant(_))) => return None,
        None => 1,
    };
    let first = from.checked_sub(4 * scale * at)?;
    let alike = dwords.iter().all(|(_, n, source)| {
        let offset = n.checked_mul(4 * scale).and_then(|offset| offset.checked_add(first));
        offset.is_some_and(|offset| *source == Source::Buffer(buffer, offset))
    });
    (alike && (scale == 1 || !wide)).then_some(Copied::Buffer { buffer, first, scale })
}

/// A new table with the constants of a variable; what is never stored is 0.
fn constants(shader: &mut Shader, local: LocalId, dwords: &[Dword]) -> Option<Copied> {
    let variable = shader.locals.get(local.index())?;
    let mut bytes = filled(variable.bytes.next_multiple_of(4) as usize, 0);
    for (_, n, source) in dwords {
        let Source::Constant(bits) = source else { return None };
        bytes.get_mut(4 * *n as usize..)?.first_chunk_mut::<4>()?.copy_from_slice(&bits.to_le_bytes());
    }
    let table = ConstTable { bytes, align: variable.align };
    let same = shader.tables.iter().position(|other| *other == table);
    let number = same.unwrap_or_else(|| {
        shader.tables.push(table);
        shader.tables.len() - 1
    });
    Some(Copied::Table(ConstTableId(number as u32)))
}
