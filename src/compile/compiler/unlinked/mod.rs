//! Writes machine code and the stage's interface as an unlinked ELF, which the cache stores and the linker reads.
//!
//! A body that continues in an epilog gets a branch to `dovetail.next` after its last instruction, outside its symbol;
//! the linker omits the branch if the epilog follows directly. The metadata note contains the generator's register
//! words and counts, and the interface with the results where the code leaves them. `docs/unlinked-elf.md`
//! describes the layout.

mod file;
mod results;
mod strings;

use dovetail_base::elf::Elf;
use dovetail_base::error::{Context, Error, Result};
use dovetail_compile::StageElf;
use dovetail_isa::{Isa, LinkWords};
use dovetail_metadata::document::{Document, get};
use dovetail_metadata::interface::StageInterface;
use dovetail_metadata::{interface_io, note, write_unlinked};
use dovetail_passes::backend::{MachineCode, Patch, PatchTarget};
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;

/// Writes the unlinked ELF of a stage.
///
/// # Errors
/// Bug: the code has no function at its start, its parts contradict each other, or it exceeds 4 GiB.
pub fn write(mut code: MachineCode, mut interface: StageInterface) -> Result<StageElf> {
    let mut run = || -> Result<Vec<u8>> {
        let words = &Isa::of(interface.target).words;
        end_body(words, &mut code)?;
        if interface.prolog
            && let Some(fetch) = interface.kind.fetch_mut()
        {
            (fetch.awaits_inputs, fetch.takes_address_high) = (code.awaits_inputs, code.takes_address_high);
        }
        if interface.epilog {
            add_joint(words, &mut code)?;
            results::place(&mut interface, &code.results)?;
        }
        let body = code.functions.first().ok_or_else(|| Error::bug("machine code without a function"))?;
        let remarks = [
            (interface_io::SIMPLIFIED_KEY, code.simplified.as_deref()),
            (interface_io::FALLBACK_KEY, code.fallback.as_deref()),
        ];
        let remarks: Vec<_> = remarks.into_iter().filter_map(|(key, text)| Some((key, text?))).collect();
        let metadata = write_unlinked::document(&body.symbol, &code.counts, &code.registers, &interface, &remarks)?;
        file::write(&code, interface.target, &note::write_section(interface.target, &metadata))
    };
    run().map(StageElf).at(|| format!("unlinked ELF of `{}`", interface.entry_point))
}

/// What the compiler remarked about an unlinked ELF.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Why the code is simpler than requested; `None`: it is not.
    pub simplified: Option<String>,
    /// The feature because of which another code generator than the requested one made it; `None`: the requested one
    /// made it.
    pub fallback: Option<String>,
}

impl Remarks {
    /// Reads them.
    ///
    /// # Errors
    /// Malformed: not an unlinked ELF.
    pub fn of(elf: &StageElf) -> Result<Self> {
        let file = Elf::parse(&elf.0)?;
        let (_, note) = file.section(file::NOTE).ok_or_else(|| Error::malformed("no section .note"))?;
        let document = Document::parse(note::metadata(note.data)?)?;
        let text = |key| get(&document.pipeline, key).and_then(|why| why.as_str().map(str::to_owned));
        Ok(Self { simplified: text(interface_io::SIMPLIFIED_KEY), fallback: text(interface_io::FALLBACK_KEY) })
    }
}

/// Adds a no-op to a body without instructions: its results are where they were passed, but a part must not be empty.
fn end_body(words: &LinkWords, code: &mut MachineCode) -> Result<()> {
    let starts = code.functions.first().is_some_and(|body| body.start == 0);
    if !starts || !code.code.len().is_multiple_of(4) {
        return Err(Error::bug(
            "machine code that does not start with the stage's body, or ends within an instruction",
        ));
    }
    if let [body] = code.functions.as_mut_slice()
        && body.size == 0
        && code.code.is_empty()
    {
        code.code.extend_from_slice(&words.nop.to_le_bytes());
        body.size = 4;
    }
    Ok(())
}

/// Adds a branch after the body to the part that the link will put there.
fn add_joint(words: &LinkWords, code: &mut MachineCode) -> Result<()> {
    let branch = words.branch.to_le_bytes();
    let [body, further @ ..] = code.functions.as_mut_slice() else {
        return Err(Error::bug("machine code without a function"));
    };
    // Right after the body, before the functions that follow it.
    let (offset, size) = (body.size, branch.len() as u32);
    if offset as usize > code.code.len() || further.iter().any(|function| function.start < offset) {
        return Err(Error::bug("a function within the body"));
    }
    code.code.splice(offset as usize..offset as usize, branch);
    further.iter_mut().for_each(|function| function.start += size);
    let before = code.patches.iter().take_while(|patch| patch.offset < offset).count();
    code.patches.iter_mut().skip(before).for_each(|patch| patch.offset += size);
    let joint = Patch { offset, kind: RelocKind::Rel16, target: PatchTarget::Link(LinkSymbol::Next) };
    code.patches.insert(before, joint);
    Ok(())
}

#[cfg(test)]
mod tests;
