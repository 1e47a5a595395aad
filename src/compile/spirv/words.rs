//! The words of a module, framed into instructions. Nothing is decoded yet.

use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_ir::Name;
use smallvec::SmallVec;

/// Words before the first instruction.
pub(super) const HEADER: usize = 5;

/// The words of a module in either byte order.
///
/// # Errors
/// Malformed: not SPIR-V, or shorter than a header.
pub(super) fn words(bytes: &[u8]) -> Result<List<u32>> {
    let swap = match bytes.first_chunk::<4>().map(|b| u32::from_le_bytes(*b)) {
        Some(spirv::MAGIC_NUMBER) => false,
        Some(m) if m.swap_bytes() == spirv::MAGIC_NUMBER => true,
        _ => return Err(Error::malformed("no SPIR-V magic number").at("word 0")),
    };
    let word = |b: &[u8; 4]| if swap { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) };
    let words: List<u32> = bytes.as_chunks::<4>().0.iter().map(word).collect();
    if words.len() < HEADER { Err(Error::malformed("the header is cut off")) } else { Ok(words) }
}

/// The words of the instruction at an index; `None` at the end.
///
/// # Errors
/// Malformed: its length exceeds the module.
pub(super) fn instruction(words: &[u32], at: usize) -> Result<Option<&[u32]>> {
    let Some(&first) = words.get(at) else { return Ok(None) };
    let len = (first >> 16) as usize;
    let inst = if len == 0 { None } else { words.get(at..at + len) };
    inst.map(Some)
        .ok_or_else(|| Error::malformed(format!("an instruction of {len} words does not fit")).at(format!("word {at}")))
}

/// The literal string at the start of these words.
pub(super) fn string(words: &[u32]) -> String {
    match String::from_utf8(text(words)) {
        Ok(text) => text,
        Err(e) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
    }
}

/// The literal string at the start of these words as a name.
pub(super) fn name(words: &[u32]) -> Name {
    let text: SmallVec<[u8; 64]> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    match std::str::from_utf8(&text) {
        Ok(text) => text.into(),
        Err(_) => string(words).into(),
    }
}

/// The literal string at the start of these words; `None` if it is not UTF-8.
pub(super) fn utf8(words: &[u32]) -> Option<String> {
    String::from_utf8(text(words)).ok()
}

/// The bytes before the first zero.
fn text(words: &[u32]) -> Vec<u8> {
    let len = words.iter().position(|w| w.to_le_bytes().contains(&0)).unwrap_or(words.len());
    let mut text = Vec::with_capacity(4 * (len + 1));
    text.extend(words.iter().take(len + 1).flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0));
    text
}
