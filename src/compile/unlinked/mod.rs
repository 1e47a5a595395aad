//! An object of the code generator to an unlinked ELF: what the cache holds and the linker takes.
//!
//! Three things change. The padding behind the code goes, so that the section ends where the code does. A body that
//! continues in an epilog gets a branch to `dovetail.next` there, outside of its symbol: the linker leaves it away where
//! the epilog follows directly. The metadata note gets the stage's interface, less what the code does not make after all.
//! `docs/unlinked-elf.md` has the layout.

mod made;
mod object_file;

use super::StageElf;
use crate::error::{Context, Error, Result};
use crate::metadata::document::{Document, get, set};
use crate::metadata::interface::StageInterface;
use crate::metadata::{interface_io, note};
use crate::target::GfxIp;
use object_file::{ObjectFile, Reloc, Symbol};

const TEXT: &str = ".text";
/// `s_branch 0`: its low half is the distance that R_AMDGPU_REL16 fills in.
const S_BRANCH: u32 = 0xbf82_0000;
/// `s_nop 0`.
const S_NOP: u32 = 0xbf80_0000;
/// `s_code_end`, with which LLVM pads.
const S_CODE_END: u32 = 0xbf9f_0000;
const R_AMDGPU_REL16: u32 = 14;

/// Adds the joint and the interface to an object.
///
/// # Errors
/// A bug: the object is not what our code generators make (another machine, no body at the start of `.text`, code behind
/// it), or its metadata cannot be read.
pub fn write(object: &[u8], interface: &StageInterface) -> Result<StageElf> {
    write_simplified(object, interface, None)
}

/// As [`write`], with a note of why the code is simpler than asked for.
///
/// # Errors
/// See [`write`].
pub fn write_simplified(object: &[u8], interface: &StageInterface, why: Option<&str>) -> Result<StageElf> {
    let made = || -> Result<Vec<u8>> {
        let mut file = ObjectFile::read(object, interface.target)?;
        let end = cut_padding(&mut file, interface)?;
        if interface.epilog {
            add_branch(&mut file, end)?;
        }
        file.note = note::write_section(interface.target, &metadata(&file, interface, why)?);
        file.write()
    };
    made().map(StageElf).at(|| format!("unlinked ELF of `{}`", interface.entry_point))
}

/// The metadata document with the interface in it.
fn metadata(file: &ObjectFile<'_>, interface: &StageInterface, simplified: Option<&str>) -> Result<Vec<u8>> {
    let mut document = Document::parse(note::metadata(&file.note)?)?;
    if interface.epilog {
        let text = file.sections.get(file.section(TEXT)?).ok_or_else(|| Error::bug("no .text"))?;
        let made = made::without_unmade(interface, &text.data, &document.pipeline)?;
        interface_io::embed(&made, &mut document.pipeline)?;
    } else {
        interface_io::embed(interface, &mut document.pipeline)?;
    }
    if let Some(why) = simplified {
        set(&mut document.pipeline, interface_io::SIMPLIFIED_KEY, why.into());
    }
    Ok(document.to_bytes())
}

/// Why the code of an unlinked ELF is simpler than asked for; none: it is not.
///
/// # Errors
/// No unlinked ELF for this target.
pub fn simplified(elf: &StageElf, target: GfxIp) -> Result<Option<String>> {
    let file = ObjectFile::read(&elf.0, target)?;
    let document = Document::parse(note::metadata(&file.note)?)?;
    Ok(get(&document.pipeline, interface_io::SIMPLIFIED_KEY).and_then(|why| why.as_str().map(str::to_owned)))
}

/// Cuts `.text` where the body's symbol ends, and returns that offset.
fn cut_padding(file: &mut ObjectFile<'_>, interface: &StageInterface) -> Result<u64> {
    // Only a body that waits for a prolog has a name of its own.
    let stage = interface.stage;
    let name = if interface.prolog { stage.unlinked_symbol() } else { stage.entry_symbol() };
    let index = file.section(TEXT)?;
    let body = file
        .symbols
        .iter_mut()
        .find(|s| s.section == Some(index) && s.name == name)
        .ok_or_else(|| Error::bug(format!("the object does not define {name}")))?;
    let (start, end) = (body.value, body.value.saturating_add(body.size));
    if start != 0 || !end.is_multiple_of(4) {
        return Err(Error::bug(format!("the body is at {start:#x}..{end:#x} of {TEXT}, not at its start")));
    }
    let text = file.sections.get_mut(index).ok_or_else(|| Error::bug("no .text"))?;
    let padding = usize::try_from(end).ok().and_then(|end| text.data.get(end..));
    let padding = padding.ok_or_else(|| Error::bug(format!("the body ends at {end:#x}, behind {TEXT}")))?;
    if !padding.chunks(4).all(|word| word == S_CODE_END.to_le_bytes()) {
        return Err(Error::bug("something else than padding follows the body"));
    }
    let kept = text.data.len() - padding.len();
    text.data.to_mut().truncate(kept);
    if text.relocs.iter().any(|r| r.offset.saturating_add(4) > end) {
        return Err(Error::bug("a relocation of .text is outside of the body"));
    }
    if end == 0 {
        // A body whose results are where they were passed. No part of a pipeline is empty: one instruction is.
        text.data.to_mut().extend_from_slice(&S_NOP.to_le_bytes());
        body.size = 4;
    }
    Ok(body.size)
}

/// The joint: a branch behind the body, and the symbol it goes to.
fn add_branch(file: &mut ObjectFile<'_>, end: u64) -> Result<()> {
    let index = file.section(TEXT)?;
    let symbol = file.add_symbol(Symbol::undefined(NEXT));
    let text = file.sections.get_mut(index).ok_or_else(|| Error::bug("no .text"))?;
    text.data.to_mut().extend_from_slice(&S_BRANCH.to_le_bytes());
    text.relocs.push(Reloc { offset: end, kind: R_AMDGPU_REL16, symbol });
    Ok(())
}

/// The name of [`crate::reloc::symbol::LinkSymbol::Next`].
const NEXT: &str = "dovetail.next";

#[cfg(test)]
mod tests;
