//! Properties of a SPIR-V module that a request needs, from one pass over the instruction headers: the constants that
//! can be specialized, and whether it depends on the subgroup. It parses nothing else, because the compiler is not part
//! of the runtime.
//!
//! The results must equal those of `compile::spirv::reflect`, which produced the keys of the cache; a test compares the
//! capabilities. Unlike reflection, this scan counts every `SpecId`, whatever it decorates; for valid modules the
//! results are equal.

use dovetail_base::error::{Error, Result};

const HEADER_WORDS: usize = 5;
const MAGIC: u32 = 0x0723_0203;
const OP_CAPABILITY: u32 = 17;
const OP_FUNCTION: u32 = 54;
const OP_DECORATE: u32 = 71;
const DECORATION_SPEC_ID: u32 = 1;

/// Result of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// `SpecId`s, sorted, without duplicates.
    pub spec_ids: Vec<u32>,
    /// Whether it depends on the subgroup, so that the wave size must be the advertised one.
    pub uses_subgroups: bool,
}

/// Scans a module up to its first function.
///
/// # Errors
/// Malformed: not SPIR-V, or instructions that exceed the file.
pub fn scan(bytes: &[u8]) -> Result<Scan> {
    let (words, rest) = bytes.as_chunks::<4>();
    let swapped = match words.first().map(|word| u32::from_le_bytes(*word)) {
        Some(MAGIC) => false,
        Some(word) if word == MAGIC.swap_bytes() => true,
        _ => return Err(Error::malformed("word 0: no SPIR-V magic number")),
    };
    if !rest.is_empty() {
        return Err(Error::malformed(format!("{} bytes are not a whole number of SPIR-V words", bytes.len())));
    }
    let word = |at: usize| {
        let bytes = *words.get(at)?;
        Some(if swapped { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let mut found = Scan::default();
    let mut at = HEADER_WORDS;
    while let Some(head) = word(at) {
        let length = (head >> 16) as usize;
        if length == 0 || length > words.len() - at {
            return Err(Error::malformed(format!("word {at}: an instruction of {length} words")));
        }
        match (head & 0xffff, length) {
            (OP_FUNCTION, _) => break,
            (OP_CAPABILITY, 2) => found.uses_subgroups |= word(at + 1).is_some_and(of_subgroups),
            (OP_DECORATE, 4) if word(at + 2) == Some(DECORATION_SPEC_ID) => found.spec_ids.extend(word(at + 3)),
            _ => {}
        }
        at += length;
    }
    found.spec_ids.sort_unstable();
    found.spec_ids.dedup();
    Ok(found)
}

/// SPIR-V capabilities whose names begin with `GroupNonUniform` or `Subgroup`, and `Groups`.
fn of_subgroups(capability: u32) -> bool {
    matches!(
        capability,
        18 | 58
            | 61..=68
            | 4423
            | 4431
            | 5297
            | 5568..=5570
            | 5579
            | 5696..=5698
            | 6026
            | 6220
            | 6228..=6230
            | 6236
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    const HEADER: [u32; 5] = [MAGIC, 0x0001_0300, 0, 10, 0];

    #[test]
    fn constants_and_subgroups_are_found_in_either_byte_order() {
        let mut words = HEADER.to_vec();
        words.extend([2 << 16 | OP_CAPABILITY, 61]);
        words.extend([4 << 16 | OP_DECORATE, 5, DECORATION_SPEC_ID, 9]);
        words.extend([4 << 16 | OP_DECORATE, 5, 30, 77]);
        words.extend([4 << 16 | OP_DECORATE, 6, DECORATION_SPEC_ID, 2]);
        words.extend([5 << 16 | OP_FUNCTION, 1, 2, 0, 3]);
        // Everything after the first function is ignored.
        words.extend([4 << 16 | OP_DECORATE, 6, DECORATION_SPEC_ID, 3, 0]);
        let expect = Scan { spec_ids: vec![2, 9], uses_subgroups: true };
        assert_eq!(scan(&bytes(&words)).unwrap(), expect);
        let big: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(scan(&big).unwrap(), expect);
        assert_eq!(scan(&bytes(&HEADER)).unwrap(), Scan::default());
    }

    #[test]
    fn broken_modules_are_refused() {
        let with = |words: &[u32]| bytes(&[&HEADER[..], words].concat());
        for (module, says) in [
            (vec![], "no SPIR-V magic"),
            (bytes(&[1, 2, 3]), "no SPIR-V magic"),
            (with(&[0]), "word 5: an instruction of 0 words"),
            (with(&[3 << 16 | OP_CAPABILITY, 1]), "word 5: an instruction of 3 words"),
            ([bytes(&HEADER), vec![1]].concat(), "21 bytes"),
        ] {
            let why = scan(&module).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
    }

    #[test]
    fn capabilities_are_those_that_reflection_takes_for_subgroups() {
        let named = |n: u32| spirv::Capability::from_u32(n).map(|c| format!("{c:?}")).unwrap_or_default();
        for number in 0..8000 {
            let name = named(number);
            let expect = name.starts_with("GroupNonUniform") || name.starts_with("Subgroup") || name == "Groups";
            assert_eq!(of_subgroups(number), expect, "{number} {name}");
        }
    }
}
