//! Finds the SPIR-V modules in arbitrary bytes.
//!
//! A module has no length field: it begins with a magic word and ends where the instruction stream becomes invalid. So
//! each occurrence of the magic, at any offset and in either byte order, is walked by the word counts of its
//! instructions, and checked against the specification's layout (section 2.4). A module is found if at least one
//! function was closed; it ends after the last one. One that breaks off inside a function is not reported.
//!
//! Invariant: a reported module has a legal header, a legal layout and no trailing bytes; modules never overlap.
//! A new instruction before the functions gets its rank in [`Rank::of`]; others need nothing.

use std::ops::Range;

/// The first word of every module.
pub const MAGIC: u32 = 0x0723_0203;
/// Words of the header: magic, version, generator, bound, schema.
pub(super) const HEADER_WORDS: usize = 5;
/// The specification's universal limit on ids (section 2.17).
const MAX_BOUND: u32 = 0x3f_ffff;

pub(super) const OP_FUNCTION: u16 = 54;
const OP_FUNCTION_END: u16 = 56;
const OP_LABEL: u16 = 248;

/// Byte order of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Low byte first, the usual case.
    Little,
    /// High byte first.
    Big,
}

impl ByteOrder {
    fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// A module inside other bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its range.
    pub range: Range<usize>,
    /// Byte order of its words.
    pub order: ByteOrder,
}

impl Found {
    /// The module itself, converted to little-endian. `bytes` are those that were scanned.
    pub fn module(&self, bytes: &[u8]) -> Vec<u8> {
        let stored = bytes.get(self.range.clone()).unwrap_or_default();
        match self.order {
            ByteOrder::Little => stored.to_vec(),
            ByteOrder::Big => stored.chunks_exact(4).flat_map(|w| w.iter().rev().copied()).collect(),
        }
    }
}

/// Every module in `bytes`, in order. Instructions walked come off `steps`: false starts may lead through each other's
/// bytes, each to the end. `steps` is 0 if the search was cut short.
pub fn modules<'a>(bytes: &'a [u8], steps: &'a mut u64) -> impl Iterator<Item = Found> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some((start, order)) = next_magic(bytes, from).filter(|_| *steps > 0) {
            match walk(bytes, start, order, steps) {
                Some(end) => {
                    from = end;
                    return Some(Found { range: start..end, order });
                }
                None => from = start.saturating_add(1),
            }
        }
        None
    })
}

/// Whether the bytes begin like a module, which identifies a file whatever its name.
pub fn starts_with_magic(bytes: &[u8]) -> bool {
    next_magic(bytes.get(..4).unwrap_or_default(), 0).is_some()
}

fn next_magic(bytes: &[u8], from: usize) -> Option<(usize, ByteOrder)> {
    let rest = bytes.get(from..)?;
    rest.windows(4).enumerate().find_map(|(at, window)| {
        let order = match *window {
            [0x03, 0x02, 0x23, 0x07] => ByteOrder::Little,
            [0x07, 0x23, 0x02, 0x03] => ByteOrder::Big,
            _ => return None,
        };
        Some((from.saturating_add(at), order))
    })
}

/// The words of a module by index, whatever its byte order and alignment.
pub(super) struct Words<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: ByteOrder,
}

impl Words<'_> {
    pub(super) fn get(&self, index: usize) -> Option<u32> {
        let at = index.checked_mul(4)?;
        let word = self.bytes.get(at..at.checked_add(4)?)?;
        Some(self.order.word(word.try_into().ok()?))
    }
}

/// End of the module that starts at `start`, if it is one.
fn walk(bytes: &[u8], start: usize, order: ByteOrder, steps: &mut u64) -> Option<usize> {
    let words = Words { bytes: bytes.get(start..)?, order };
    let bound = check_header(&words)?;
    let mut at = HEADER_WORDS;
    let mut rank = Rank::Capability;
    let mut in_function = false;
    let mut end = None;
    while let Some((op, count)) = instruction(&words, at) {
        *steps = steps.checked_sub(1)?;
        let next = at.checked_add(count)?;
        let id = |operand: usize| words.get(at.saturating_add(operand)).is_some_and(|id| id != 0 && id < bound);
        if in_function {
            match op {
                OP_FUNCTION => return None,
                OP_LABEL if count != 2 || !id(1) => return None,
                OP_FUNCTION_END if count != 1 => return None,
                OP_FUNCTION_END => {
                    in_function = false;
                    end = Some(next);
                }
                _ => {}
            }
        } else if op == OP_FUNCTION {
            if count != 5 || !id(1) || !id(2) {
                break;
            }
            in_function = true;
            rank = Rank::Function;
        } else {
            let Some(this) = Rank::of(op).filter(|&this| this >= rank || this == Rank::Anywhere) else { break };
            // Capabilities come first in every module: only they can follow the header.
            if at == HEADER_WORDS && this != Rank::Capability {
                return None;
            }
            if this != Rank::Anywhere {
                rank = this;
            }
        }
        at = next;
    }
    if in_function {
        return None;
    }
    start.checked_add(end?.checked_mul(4)?)
}

/// The id bound, if the header is valid for Vulkan.
fn check_header(words: &Words<'_>) -> Option<u32> {
    let version = words.get(1)?;
    let bound = words.get(3)?;
    let legal_version = version & 0xff00_00ff == 0 && version >> 16 == 1 && version >> 8 & 0xff <= 6;
    let legal = words.get(0)? == MAGIC && legal_version && (1..=MAX_BOUND).contains(&bound) && words.get(4)? == 0;
    legal.then_some(bound)
}

/// Opcode and word count of the instruction at `at`, if all of its words are there.
pub(super) fn instruction(words: &Words<'_>, at: usize) -> Option<(u16, usize)> {
    let first = words.get(at)?;
    let count = usize::try_from(first >> 16).ok()?;
    words.get(at.checked_add(count.checked_sub(1)?)?)?;
    Some((u16::try_from(first & 0xffff).ok()?, count))
}

/// Sections of the layout, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Capability,
    Extension,
    Import,
    MemoryModel,
    EntryPoint,
    ExecutionMode,
    Source,
    Name,
    Processed,
    Annotation,
    Global,
    Function,
    /// Line information and non-semantic instructions, allowed from the sources on.
    Anywhere,
}

impl Rank {
    /// The section of an instruction outside functions; `None` if it is only allowed inside one.
    fn of(op: u16) -> Option<Self> {
        Some(match op {
            17 => Self::Capability,
            10 => Self::Extension,
            11 => Self::Import,
            14 => Self::MemoryModel,
            15 => Self::EntryPoint,
            16 | 331 => Self::ExecutionMode,
            2 | 3 | 4 | 7 => Self::Source,
            5 | 6 => Self::Name,
            330 => Self::Processed,
            71..=75 | 332 | 5632 | 5633 => Self::Annotation,
            8 | 12 | 317 => Self::Anywhere,
            // OpUndef, types, constants, OpVariable; vendors' types have numbers of their own.
            1 | 19..=39 | 41..=52 | 59 | 322 | 327 | 4163 | 4417 | 4456 | 5281 | 5337 | 5341 | 5358 | 6086 => {
                Self::Global
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The smallest module that the layout allows: one capability, a memory model, one empty function.
    pub(crate) fn tiny(extra_names: u32) -> Vec<u32> {
        let mut words = vec![MAGIC, 0x0001_0300, 0, 8, 0];
        words.extend([2 << 16 | 17, 1]);
        words.extend([3 << 16 | 14, 0, 1]);
        words.extend((0..extra_names).flat_map(|_| [3 << 16 | 5, 4, 0]));
        words.extend([2 << 16 | 19, 1, 3 << 16 | 33, 2, 1]);
        words.extend([5 << 16 | 54, 1, 4, 0, 2, 2 << 16 | 248, 5, 1 << 16 | 253, 1 << 16 | 56]);
        words
    }

    pub(crate) fn stored(words: &[u32], order: ByteOrder) -> Vec<u8> {
        words
            .iter()
            .flat_map(|w| match order {
                ByteOrder::Little => w.to_le_bytes(),
                ByteOrder::Big => w.to_be_bytes(),
            })
            .collect()
    }

    fn all(bytes: &[u8]) -> Vec<Found> {
        modules(bytes, &mut u64::MAX.clone()).collect()
    }

    /// False starts that each open a function; one instruction of it jumps over the starts that follow, to a tail of
    /// single words without an end.
    pub(crate) fn leading_through_each_other(count: u32, tail: u32) -> Vec<u32> {
        let open = [MAGIC, 0x0001_0300, 0, 8, 0, 2 << 16 | 17, 1, 5 << 16 | 54, 1, 4, 0, 2, 2 << 16 | 248, 5];
        let mut words = Vec::new();
        for left in (0..count).rev() {
            words.extend(open);
            words.push((left * 15 + 1) << 16);
        }
        words.extend(std::iter::repeat_n(1 << 16, tail as usize));
        words
    }

    #[test]
    fn beginnings_that_lead_through_each_other_are_broken_off() {
        let (count, tail) = (1000, 200_000);
        let words = leading_through_each_other(count, tail);
        let mut steps = 1_000_000;
        assert_eq!(modules(&stored(&words, ByteOrder::Little), &mut steps).count(), 0);
        assert_eq!(steps, 0, "without a bound it would be {count} times {tail} instructions");
    }

    #[test]
    fn a_module_ends_before_what_is_no_instruction() {
        let module = stored(&tiny(0), ByteOrder::Little);
        let mut file = module.clone();
        file.extend([0xff; 64]);
        assert_eq!(all(&file), [Found { range: 0..module.len(), order: ByteOrder::Little }]);
    }

    #[test]
    fn a_torn_module_is_none() {
        let module = stored(&tiny(0), ByteOrder::Little);
        for cut in 0..module.len() {
            assert!(all(&module[..cut]).is_empty(), "cut at {cut}");
        }
    }

    #[test]
    fn layout_out_of_order_is_none() {
        let mut words = tiny(0);
        words.splice(5..10, [3 << 16 | 14, 0, 1, 2 << 16 | 17, 1]);
        assert!(all(&stored(&words, ByteOrder::Little)).is_empty());
    }

    #[test]
    fn bad_headers_are_none() {
        for (at, bad) in [(1, 0x0002_0000), (1, 0x0001_0701), (3, 0), (3, MAX_BOUND + 1), (4, 1)] {
            let mut words = tiny(0);
            words[at] = bad;
            assert!(all(&stored(&words, ByteOrder::Little)).is_empty(), "word {at} = {bad:#x}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2048)) {
            all(&bytes);
        }

        #[test]
        fn any_words_behind_a_header_are_survived(
            body in proptest::collection::vec((0u32..12, prop_oneof![0u32..80, 240u32..340]), 0..400),
        ) {
            let mut words = tiny(0);
            words.extend(body.iter().map(|(count, op)| count << 16 | op));
            for found in all(&stored(&words, ByteOrder::Little)) {
                prop_assert!(found.range.end <= words.len() * 4);
            }
        }

        #[test]
        fn what_is_embedded_is_found(
            parts in proptest::collection::vec((proptest::collection::vec(0x80u8..=0xff, 1..40), 0u32..20, any::<bool>()), 1..6),
        ) {
            let mut file = Vec::new();
            let mut expected = Vec::new();
            for (filler, names, big) in &parts {
                // A filler of high bytes is no legal continuation, and contains no magic.
                file.extend(filler);
                let order = if *big { ByteOrder::Big } else { ByteOrder::Little };
                file.extend(stored(&tiny(*names), order));
                expected.push(stored(&tiny(*names), ByteOrder::Little));
            }
            let got: Vec<_> = all(&file).iter().map(|f| f.module(&file)).collect();
            prop_assert_eq!(got, expected);
        }
    }
}
