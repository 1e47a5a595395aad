//! SMOL-V into SPIR-V: the encoding of Aras Pranckevičius (public domain), in which engines ship shaders.
//!
//! A header of six words: magic, version, generator, bound, schema, and the size of the decoded module. The version's
//! upper byte is that of the encoding: 0, or 1 with shapes for the subgroup operations. Then instructions of bytes:
//!
//! ```text
//! varint     opcode and length, their bits shuffled so that common ones fit in one byte
//! varint     type id, if it has one
//! varint     result id, as the signed distance from the result before
//! varint...  operands that are ids, as signed distances from the result, as many as the opcode has
//! rest       operands as varints or plain words, depending on the opcode
//! ```
//!
//! A varint holds seven bits per byte, low ones first; a signed one has its sign in the lowest bit. Decorations count
//! from the target of the previous decoration, member decorations of one type come as one instruction, and a shuffle of
//! at most four components of the first four has them in one byte. The encoding of each opcode is [`Shape::of`].

use super::budget::Budget;
use super::scan::MAGIC;
use std::ops::Range;

/// The first bytes of an encoded module.
const SMOLV: [u8; 4] = *b"LOMS";
const HEADER_BYTES: usize = 24;
const OP_DECORATE: u32 = 71;
const OP_MEMBER_DECORATE: u32 = 72;
const OP_VECTOR_SHUFFLE: u32 = 79;
/// A number that SPIR-V does not use, for shuffles in short form.
const OP_SHORT_SHUFFLE: u32 = 13;
const DECORATION_OFFSET: u32 = 35;

/// Called with a module: its range, the SPIR-V, little-endian, and the remaining budget.
pub type VisitModule<'a> = dyn FnMut(Range<usize>, Vec<u8>, &mut Budget) + 'a;

/// Calls `visit` with every encoded module in `bytes`.
pub fn modules(bytes: &[u8], budget: &mut Budget, visit: &mut VisitModule<'_>) {
    let mut from = 0;
    while let Some(at) = bytes.get(from..).and_then(|rest| rest.windows(4).position(|w| w == SMOLV)) {
        let start = from.saturating_add(at);
        from = start.saturating_add(1);
        let Some(size) = bytes.get(start..).and_then(decoded_size) else { continue };
        if !budget.take(size) {
            continue;
        }
        if let Some((module, used)) = decode(&bytes[start..], size, &mut budget.steps) {
            from = start.saturating_add(used);
            visit(start..from, module, budget);
        }
        budget.give(size);
    }
}

/// The size of the SPIR-V, if a plausible header is here. No byte becomes more than two instructions of five words.
fn decoded_size(bytes: &[u8]) -> Option<usize> {
    let header: Vec<u32> = bytes.get(..HEADER_BYTES)?.chunks_exact(4).map(word).collect();
    let [_, version, _, bound, schema, size] = header[..] else { return None };
    let size = usize::try_from(size).ok()?;
    let spirv = version & 0x00ff_ffff;
    let legal = version >> 24 <= 1 && spirv & 0xff == 0 && (0x0001_0000..=0x0001_0600).contains(&spirv);
    let plausible = size.is_multiple_of(4) && size > 20 && size / 64 <= bytes.len();
    (legal && plausible && bound != 0 && schema == 0).then_some(size)
}

fn word(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

/// The module of `size` bytes, and its encoded size in bytes.
fn decode(bytes: &[u8], size: usize, steps: &mut u64) -> Option<(Vec<u8>, usize)> {
    let mut from = Reader { bytes, at: 4 };
    let mut out = Writer { bytes: Vec::with_capacity(size), size };
    let version = from.word()?;
    let known = if version >> 24 == 0 { 331 } else { 367 };
    out.words(&[MAGIC, version & 0x00ff_ffff, from.word()?, from.word()?, from.word()?])?;
    from.word()?;
    let (mut result, mut target) = (0u32, 0u32);
    while out.bytes.len() < size {
        let (op, length) = from.instruction()?;
        // By words, since one instruction has up to 65,535.
        *steps = steps.checked_sub(length.into())?;
        if op == OP_MEMBER_DECORATE {
            target = target.wrapping_add(from.signed()?);
            member_decorations(&mut from, &mut out, target)?;
            continue;
        }
        let shape = Shape::of(op, known);
        let written = if op == OP_SHORT_SHUFFLE { OP_VECTOR_SHUFFLE } else { op };
        out.words(&[length << 16 | written])?;
        let mut left = length.checked_sub(1)?;
        if shape.typed {
            out.words(&[from.varint()?])?;
            left = left.checked_sub(1)?;
        }
        if shape.result {
            result = result.wrapping_add(from.signed()?);
            out.words(&[result])?;
            left = left.checked_sub(1)?;
        }
        if op == OP_DECORATE {
            target = target.wrapping_add(from.signed()?);
            out.words(&[target])?;
            left = left.checked_sub(1)?;
        }
        let ids = left.min(shape.ids);
        for _ in 0..ids {
            out.words(&[result.wrapping_sub(from.signed()?)])?;
        }
        left = left.saturating_sub(ids);
        if op == OP_SHORT_SHUFFLE {
            let components = u32::from(from.byte()?);
            for n in 0..left {
                // Two bits each, the first component in the highest.
                out.words(&[components >> 6u32.checked_sub(2u32.checked_mul(n)?)? & 3])?;
            }
        } else {
            for _ in 0..left {
                out.words(&[if shape.varints { from.varint()? } else { from.word()? }])?;
            }
        }
    }
    Some((out.bytes, from.at))
}

/// The decorations of one type's members, with member and offset as differences to the previous one.
fn member_decorations(from: &mut Reader<'_>, out: &mut Writer, target: u32) -> Option<()> {
    let (mut member, mut offset) = (0u32, 0u32);
    for _ in 0..from.byte()? {
        member = member.wrapping_add(from.varint()?);
        let decoration = from.varint()?;
        let literals = match decoration {
            0 | 2..=5 => 0,
            29..=37 => 1,
            _ => from.varint()?,
        };
        out.words(&[instruction_word(literals.checked_add(4)?, OP_MEMBER_DECORATE)?, target, member, decoration])?;
        if decoration == DECORATION_OFFSET {
            offset = offset.wrapping_add(from.varint()?);
            out.words(&[offset])?;
        } else {
            for _ in 0..literals {
                out.words(&[from.varint()?])?;
            }
        }
    }
    Some(())
}

fn instruction_word(length: u32, op: u32) -> Option<u32> {
    (length <= 0xffff && op <= 0xffff).then_some(length << 16 | op)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at = self.at.checked_add(1)?;
        Some(byte)
    }

    fn word(&mut self) -> Option<u32> {
        let end = self.at.checked_add(4)?;
        let word = word(self.bytes.get(self.at..end)?);
        self.at = end;
        Some(word)
    }

    fn varint(&mut self) -> Option<u32> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<u32> {
        let value = self.varint()?;
        Some(value >> 1 ^ 0u32.wrapping_sub(value & 1))
    }

    /// Opcode and length in words. Bits of the varint, from the low end: 4 of the opcode, 4 of the length, 12 of the
    /// opcode, 12 of the length, which is reduced by the opcode's minimum.
    fn instruction(&mut self) -> Option<(u32, u32)> {
        let bits = self.varint()?;
        let op = swapped(bits >> 4 & 0xfff0 | bits & 0xf);
        let least = match op {
            OP_VECTOR_SHUFFLE | OP_SHORT_SHUFFLE => 5,
            OP_DECORATE => 3,
            61 | 65 => 4,
            _ => 1,
        };
        let length = (bits >> 20 << 4 | bits >> 4 & 0xf).checked_add(least)?;
        instruction_word(length, op).map(|_| (op, length))
    }
}

/// Frequent opcodes are swapped with rare ones of small numbers.
fn swapped(op: u32) -> u32 {
    const PAIRS: [(u32, u32); 12] = [
        (0, OP_DECORATE),
        (1, 61),
        (2, 62),
        (3, 65),
        (4, OP_VECTOR_SHUFFLE),
        (7, OP_MEMBER_DECORATE),
        (8, 248),
        (9, 59),
        (10, 133),
        (11, 129),
        (14, 32),
        (15, 127),
    ];
    let other = |&(a, b): &(u32, u32)| if op == a { Some(b) } else { (op == b).then_some(a) };
    PAIRS.iter().find_map(other).unwrap_or(op)
}

/// A module limited to its announced size.
struct Writer {
    bytes: Vec<u8>,
    size: usize,
}

impl Writer {
    fn words(&mut self, words: &[u32]) -> Option<()> {
        let end = self.bytes.len().checked_add(words.len().checked_mul(4)?)?;
        if end > self.size {
            return None;
        }
        words.iter().for_each(|word| self.bytes.extend(word.to_le_bytes()));
        Some(())
    }
}

/// Encoding of an opcode's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    typed: bool,
    result: bool,
    /// Number of operands after type and result that are distances from the result.
    ids: u32,
    /// Whether the others are varints, or plain words.
    varints: bool,
}

impl Shape {
    /// The shape of an opcode below `known`; operands of opcodes unknown to the encoder are all plain words.
    fn of(op: u32, known: u32) -> Self {
        if op >= known {
            return Self { typed: false, result: false, ids: 0, varints: false };
        }
        let bare = matches!(op,
            0 | 2..=8 | 10 | 14..=17 | 39 | 56 | 62..=64 | 71 | 72 | 74 | 75 | 99 | 218..=221 | 224 | 225 | 228 | 246
            | 247 | 249..=257 | 260 | 280 | 281 | 287 | 288 | 297 | 298 | 301 | 317 | 319 | 329 | 331 | 332);
        let untyped = matches!(op, 11 | 19..=38 | 73 | 248);
        let ids = match op {
            // As many as there are, up to nine.
            44 | 51 | 57 | 80 => 9,
            201 => 4,
            89 | 90 | 93 | 94 | 96 | 97 | 99 | 169 | 202 | 203 | 224 | 250 | 307 | 308 | 311 | 312 | 314 | 315 => 3,
            13
            | 62
            | 78
            | 79
            | 82
            | 87
            | 88
            | 91
            | 92
            | 95
            | 98
            | 103
            | 105
            | 128..=152
            | 161..=167
            | 170..=191
            | 194..=199
            | 225
            | 246
            | 305
            | 306
            | 309
            | 310
            | 313
            | 329 => 2,
            61
            | 77
            | 81
            | 83
            | 100..=102
            | 104
            | 106
            | 107
            | 109..=124
            | 126
            | 127
            | 154..=160
            | 168
            | 200
            | 204
            | 205
            | 247
            | 249
            | 316
            | 333..=366 => 1,
            _ => 0,
        };
        let varints = matches!(op,
            3 | 8 | 12..=17 | 19..=39 | 45 | 54 | 59 | 61 | 62 | 65 | 71 | 72 | 77..=79 | 81 | 82 | 87..=99 | 123 | 246
            | 247 | 250 | 305..=315 | 328 | 329 | 331..=366);
        Self { typed: !bare && !untyped, result: !bare, ids, varints }
    }
}

#[cfg(test)]
pub(crate) mod tests;
