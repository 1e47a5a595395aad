//! ELF notes: reads the records of a `.note` section, and writes them.
//!
//! Name and descriptor are each padded to four bytes (pal-abi 3.2). PAL takes the first note of type 32 and ignores its
//! name; Dovetail checks both.

use dovetail_base::error::{Error, Result};
use dovetail_base::fixed::FixedWriter;
use dovetail_base::target::Gpu;

/// `n_type` of the metadata note.
pub const NT_AMDGPU_METADATA: u32 = 32;
/// `n_type` of the note that names the instruction set.
pub const NT_AMD_HSA_ISA_NAME: u32 = 11;

const METADATA_NAME: &str = "AMDGPU";
const ISA_NAME: &str = "AMD";

/// One record of a note section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// Owner, without the terminating zero byte.
    pub name: &'a [u8],
    /// Type, defined by the owner.
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

/// The text of the instruction-set note, up to the name of the target.
const ISA_PREFIX: &str = "amdgcn--amdpal--";
/// Bytes of a record before its name: the lengths of name and content, the type.
const RECORD_HEAD: usize = 12;

/// The text of the instruction-set note for a target.
pub fn isa_name(target: Gpu) -> String {
    format!("{ISA_PREFIX}{target}")
}

/// Reads all records of a note section.
///
/// # Errors
/// Malformed: a record extends beyond the section.
pub fn read_notes(section: &[u8]) -> Result<Vec<Note<'_>>> {
    notes(section).collect()
}

/// The records of a note section; the last item may be an error.
fn notes(section: &[u8]) -> impl Iterator<Item = Result<Note<'_>>> {
    let mut rest = section;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = section.len() - rest.len();
        let note = take_note(&mut rest);
        if note.is_none() {
            rest = &[];
        }
        let torn = || Error::malformed(format!("note at byte {at} leaves its section of {} bytes", section.len()));
        Some(note.ok_or_else(torn))
    })
}

fn take_note<'a>(rest: &mut &'a [u8]) -> Option<Note<'a>> {
    let (name_len, desc_len, kind) = (take_u32(rest)?, take_u32(rest)?, take_u32(rest)?);
    let (name, desc) = (take_padded(rest, name_len)?, take_padded(rest, desc_len)?);
    Some(Note { name: name.strip_suffix(b"\0").unwrap_or(name), kind, desc })
}

/// The metadata document among the notes of a section.
///
/// # Errors
/// Malformed: a truncated section, or one without a metadata note.
pub fn metadata(section: &[u8]) -> Result<&[u8]> {
    let mut found = None;
    for note in notes(section) {
        let note = note?;
        if note.is_metadata() && found.is_none() {
            found = Some(note.desc);
        }
    }
    found.ok_or_else(|| Error::malformed("no AMDGPU metadata note (type 32)"))
}

/// Size in bytes of the `.note` section of one of our ELFs, given the size of the metadata document.
pub fn section_size(target: Gpu, document: usize) -> usize {
    let record = |name: &str, content: usize| RECORD_HEAD + padded(name.len() + 1) + padded(content);
    record(ISA_NAME, ISA_PREFIX.len() + target.name().len()) + record(METADATA_NAME, document)
}

/// Writes the whole `.note` section of one of our ELFs: instruction set, then metadata. `write` writes the document.
pub fn write_section_into(
    out: &mut FixedWriter<'_>,
    target: Gpu,
    document: usize,
    write: impl FnOnce(&mut FixedWriter<'_>),
) {
    // LLVM omits the terminating zero of the name here, and so do we.
    head(out, ISA_NAME, ISA_PREFIX.len() + target.name().len(), NT_AMD_HSA_ISA_NAME);
    out.put(ISA_PREFIX.as_bytes());
    out.put(target.name().as_bytes());
    pad(out);
    head(out, METADATA_NAME, document, NT_AMDGPU_METADATA);
    write(out);
    pad(out);
}

/// The whole `.note` section of one of our ELFs, in newly allocated memory.
pub fn write_section(target: Gpu, document: &[u8]) -> Vec<u8> {
    let mut section = vec![0; section_size(target, document.len())];
    write_section_into(&mut FixedWriter::new(&mut section), target, document.len(), |out| out.put(document));
    section
}

/// Writes a record up to its content.
fn head(out: &mut FixedWriter<'_>, name: &str, content: usize, kind: u32) {
    // These lengths are small: a string literal, and a document far below 4 GiB.
    out.words([name.len() as u32 + 1, content as u32, kind]);
    out.put(name.as_bytes());
    out.put(&[0]);
    pad(out);
}

fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}

fn pad(out: &mut FixedWriter<'_>) {
    out.zeros_to(padded(out.at()));
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (word, tail) = rest.split_first_chunk::<4>()?;
    *rest = tail;
    Some(u32::from_le_bytes(*word))
}

fn take_padded<'a>(rest: &mut &'a [u8], len: u32) -> Option<&'a [u8]> {
    let len = usize::try_from(len).ok()?;
    let (bytes, tail) = rest.split_at_checked(len)?;
    // The padding of the last record may be missing.
    let padding = (len.next_multiple_of(4) - len).min(tail.len());
    *rest = tail.get(padding..)?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_reads_back() {
        let section = write_section(Gpu::Gfx1030, b"hello");
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
        let section = write_section(Gpu::Gfx1030, b"hello");
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
        fn any_document_reads_back(document in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
            let section = write_section(Gpu::Gfx1030, &document);
            proptest::prop_assert_eq!(metadata(&section).unwrap(), document);
        }
    }
}
