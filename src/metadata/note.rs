//! ELF notes: reads the records of a `.note` section, and writes them.
//!
//! Name and descriptor are each padded to four bytes (pal-abi 3.2). PAL takes the first note of type 32 and does not look
//! at its name; we look at both.

use crate::error::{Error, Result};
use crate::target::GfxIp;

/// `n_type` of the metadata note.
pub const NT_AMDGPU_METADATA: u32 = 32;
/// `n_type` of the note that names the instruction set.
pub const NT_AMD_HSA_ISA_NAME: u32 = 11;

const METADATA_NAME: &str = "AMDGPU";
const ISA_NAME: &str = "AMD";

/// One record of a note section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// Owner, without the closing zero byte.
    pub name: &'a [u8],
    /// Type, meaningful to the owner only.
    pub kind: u32,
    /// Content.
    pub desc: &'a [u8],
}

impl Note<'_> {
    /// Whether this is the note with the metadata document.
    pub fn is_metadata(&self) -> bool {
        self.kind == NT_AMDGPU_METADATA && self.name == METADATA_NAME.as_bytes()
    }

    /// Whether this is the note that names the instruction set.
    pub fn is_isa_name(&self) -> bool {
        self.kind == NT_AMD_HSA_ISA_NAME && self.name == ISA_NAME.as_bytes()
    }
}

/// What the instruction-set note says for a target.
pub fn isa_name(target: GfxIp) -> String {
    format!("amdgcn--amdpal--{target}")
}

/// Reads all records of a note section.
///
/// # Errors
/// Malformed: a record that leaves the section.
pub fn read_notes(section: &[u8]) -> Result<Vec<Note<'_>>> {
    let mut notes = Vec::new();
    let mut rest = section;
    while !rest.is_empty() {
        let at = section.len() - rest.len();
        let torn = || Error::malformed(format!("note at byte {at} leaves its section of {} bytes", section.len()));
        let name_len = take_u32(&mut rest).ok_or_else(torn)?;
        let desc_len = take_u32(&mut rest).ok_or_else(torn)?;
        let kind = take_u32(&mut rest).ok_or_else(torn)?;
        let name = take_padded(&mut rest, name_len).ok_or_else(torn)?;
        let desc = take_padded(&mut rest, desc_len).ok_or_else(torn)?;
        notes.push(Note { name: name.strip_suffix(b"\0").unwrap_or(name), kind, desc });
    }
    Ok(notes)
}

/// The metadata document among the notes of a section.
///
/// # Errors
/// Malformed: a torn section, or one without a metadata note.
pub fn metadata(section: &[u8]) -> Result<&[u8]> {
    read_notes(section)?
        .iter()
        .find(|n| n.is_metadata())
        .map(|n| n.desc)
        .ok_or_else(|| Error::malformed("no AMDGPU metadata note (type 32)"))
}

/// Appends one record.
pub fn write_note(out: &mut Vec<u8>, name: &str, kind: u32, desc: &[u8]) {
    // Lengths are those of buffers that we made: a name literal and a document far below 4 GiB.
    let word = |n: usize| (n as u32).to_le_bytes();
    out.extend_from_slice(&word(name.len() + 1));
    out.extend_from_slice(&word(desc.len()));
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    pad(out);
    out.extend_from_slice(desc);
    pad(out);
}

/// The whole `.note` section of one of our ELFs: instruction set, then metadata.
pub fn write_section(target: GfxIp, metadata: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(metadata.len() + 64);
    // LLVM leaves the closing zero of the descriptor away here, and so do we.
    write_note(&mut out, ISA_NAME, NT_AMD_HSA_ISA_NAME, isa_name(target).as_bytes());
    write_note(&mut out, METADATA_NAME, NT_AMDGPU_METADATA, metadata);
    out
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (word, tail) = rest.split_first_chunk::<4>()?;
    *rest = tail;
    Some(u32::from_le_bytes(*word))
}

fn take_padded<'a>(rest: &mut &'a [u8], len: u32) -> Option<&'a [u8]> {
    let len = usize::try_from(len).ok()?;
    let (bytes, tail) = rest.split_at_checked(len)?;
    // The padding of the last record may be cut off.
    let padding = (len.next_multiple_of(4) - len).min(tail.len());
    *rest = tail.get(padding..)?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_reads_back() {
        let section = write_section(GfxIp::Gfx1030, b"hello");
        let notes = read_notes(&section).unwrap();
        assert_eq!(notes.len(), 2);
        assert!(notes[0].is_isa_name());
        assert_eq!(notes[0].desc, b"amdgcn--amdpal--gfx1030");
        assert!(notes[1].is_metadata());
        assert_eq!(metadata(&section).unwrap(), b"hello");
        assert_eq!(section.len() % 4, 0);
    }

    #[test]
    fn a_torn_section_is_refused_at_every_cut_but_the_padding() {
        let section = write_section(GfxIp::Gfx1030, b"hello");
        for cut in 1..section.len() {
            let whole_notes = read_notes(&section[..cut]).map(|n| n.len());
            let ends_between = cut == 12 + 4 + 24 || cut == 12 + 4 + 23;
            let only_padding_cut = cut >= section.len() - 3;
            assert_eq!(whole_notes.is_ok(), ends_between || only_padding_cut, "cut at {cut}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = read_notes(&bytes);
        }

        #[test]
        fn any_note_reads_back(name in "[a-zA-Z]{0,9}", kind: u32, desc in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
            let mut section = Vec::new();
            write_note(&mut section, &name, kind, &desc);
            let notes = read_notes(&section).unwrap();
            proptest::prop_assert_eq!(notes, vec![Note { name: name.as_bytes(), kind, desc: &desc }]);
        }
    }
}
