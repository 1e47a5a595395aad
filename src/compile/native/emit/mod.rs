//! Emission: turns a physical function into machine code with its register words and counts.
//!
//! ```text
//! Function (all operands in registers) ──translate──> Code ──setup──> ──waits──> ──layout──> dwords ──> MachineCode
//! ```
//!
//! `operands` reads the machine IR's operands, `arithmetic` and `memory` make instructions from them by format.
//! Anything that the target's encoder rejects is reported as a bug of an earlier phase. To support another format, add
//! an arm to `translate`.

mod arithmetic;
mod islands;
mod layout;
mod memory;
mod operands;
mod pieces;
mod scratch;
mod setup;
mod translate;
mod words;

#[cfg(test)]
mod tests;

use super::code::{Code, Merging, Open};
use super::mir::{MachineFunction, Operand, OperandValue};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_compile::request::TuningOptions;
use dovetail_ir::{LowerInfo, Shader, SymbolId};
use dovetail_isa::{Assembled, Register, RegisterSet};
use dovetail_metadata::interface::ResultSource;
use dovetail_passes::backend::{
    ConstantData, DataAddress, DataName, FunctionSymbol as Body, MachineCode, Patch, PatchTarget, Results,
};
use dovetail_passes::entry_facts::EntryFacts;
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;

/// Smallest alignment of a constant table in bytes: tables are read by dwords.
const TABLE_ALIGN: u32 = 4;

/// The instructions of a physical function, with the code that its stage needs around it; without waits.
///
/// # Errors
/// A bug: an operand without register, or one that the encoding does not take.
pub fn translate(function: &MachineFunction, shader: &Shader, entry: &EntryFacts) -> Result<Code> {
    let mut code = translate::translate(function)?;
    setup::add(function, entry, &shader.modes, &mut code)?;
    Ok(code)
}

/// Assembles the code of a stage.
///
/// # Errors
/// A bug: an instruction or operand that has no encoding.
pub fn assemble(
    code: &Code,
    function: &MachineFunction,
    shader: &Shader,
    info: &LowerInfo,
    entry: &EntryFacts,
    options: &TuningOptions,
) -> Result<MachineCode> {
    let assembled = layout::assemble(code)?;
    let (used, written) = registers(code, function, entry);
    // With room for a branch to an epilog.
    let mut bytes = Vec::with_capacity((assembled.dwords.len() + 1) * 4);
    bytes.extend(assembled.dwords.iter().flat_map(|dword| dword.to_le_bytes()));
    let size = u32::try_from(bytes.len()).map_err(|_| Error::unsupported("code size", "4 GiB"))?;
    let mut out = MachineCode {
        code: bytes,
        functions: vec![Body { symbol: String::from(&*info.symbol), start: 0, size }],
        counts: words::counts(function, used),
        registers: words::registers(function, used, entry, options)?,
        takes_address_high: function.address_high.is_some(),
        results: Results::Placed(results(function, written.as_ref())?),
        ..MachineCode::new(function.isa.family())
    };
    add_patches(&assembled, shader, &mut out)?;
    Ok(out)
}

/// Counts of the registers that the code uses; and the registers that may hold something at its end, because the code
/// writes them or starts with them: `None` if it writes registers that are not known.
fn registers(code: &Code, function: &MachineFunction, entry: &EntryFacts) -> (words::Used, Option<RegisterSet>) {
    let mut written = RegisterSet::EMPTY;
    let mut indirect = false;
    for v in function.entry.iter().filter_map(|e| e.reg.as_vgpr()) {
        written.insert(Register::vgpr(v.min(255) as u8));
    }
    let mut used = written;
    for item in &code.items {
        let effects = item.inst.effects(code.wave);
        written = written.union(&effects.writes);
        used = used.union(&effects.reads).union(&effects.writes);
        indirect |= effects.indirect;
    }
    let mut counts = words::Used { sgprs: entry.sgprs.into(), vgprs: entry.vgprs.into() };
    let mut vcc = 0;
    for register in used.iter() {
        if let Some(v) = register.as_vgpr() {
            counts.vgprs = counts.vgprs.max(u32::from(v) + 1);
        } else if let Some(s) = register.as_sgpr() {
            counts.sgprs = counts.sgprs.max(u32::from(s) + 1);
        } else if register == Register::VCC {
            vcc = 2;
        }
    }
    if function.scratch_bytes > 0 {
        counts.sgprs = counts.sgprs.max(u32::from(entry.sgprs) + 1);
    }
    counts.sgprs += vcc;
    (counts, (!indirect).then_some(written))
}

/// Where the results are; `None` for one that is undefined, or whose register nothing has written.
fn results(function: &MachineFunction, written: Option<&RegisterSet>) -> Result<Vec<Option<ResultSource>>> {
    let is_written =
        |number: u16| written.is_none_or(|written| written.contains(Register::vgpr(number.min(255) as u8)));
    let source = |one: &Operand| match one.what {
        OperandValue::Fixed(reg) => {
            let number = reg.as_vgpr().ok_or_else(|| Error::bug(format!("a result in {reg}")))?;
            Ok(is_written(number).then_some(ResultSource::Vgpr(number.into())))
        }
        OperandValue::Const(bits) => Ok(Some(ResultSource::Constant(bits))),
        OperandValue::Undef => Ok(None),
        other => Err(Error::bug(format!("a result is {other:?}"))),
    };
    function.results().iter().map(source).collect()
}

/// The patches for open literals, and the constant tables that they need.
fn add_patches(assembled: &Assembled<Open>, shader: &Shader, out: &mut MachineCode) -> Result<()> {
    let relocations = &assembled.relocations;
    let mut tables = List::<u32>::default();
    // One more for the epilog.
    out.patches.reserve(relocations.len() + 1);
    // Instructions that the linker may remove.
    let mut removable = List::default();
    let mut before = None;
    for relocation in relocations {
        let (kind, target) = match relocation.symbol {
            Open::Symbol(symbol) => (RelocKind::Abs32Lo, link_symbol(shader, symbol)?),
            Open::Offset(symbol) => (RelocKind::SmemOffset, link_symbol(shader, symbol)?),
            Open::Choice(symbol) => (RelocKind::Choice, link_symbol(shader, symbol)?),
            Open::ForRootBuffers => {
                removable.push(relocation.offset);
                (RelocKind::Optional, PatchTarget::Link(LinkSymbol::RootBuffers))
            }
            Open::Descriptor { offset, in_root, merging } => {
                let start = relocation.offset - 4;
                let target = link_symbol(shader, offset)?;
                if let Some(symbol) = in_root {
                    let target = link_symbol(shader, symbol)?;
                    out.patches.push(Patch { offset: start, kind: RelocKind::Table, target });
                }
                // A wait may have come between them.
                if merging == Merging::Next && before == Some(start) {
                    out.patches.push(Patch { offset: start, kind: RelocKind::Join, target: target.clone() });
                    removable.push(start);
                }
                before = Some(start + 8);
                (RelocKind::SmemOffset, target)
            }
            Open::TableLow(table) => (RelocKind::Abs32Lo, PatchTarget::Table(position(&mut tables, table))),
            Open::TableHigh(table) => (RelocKind::Abs32Hi, PatchTarget::Table(position(&mut tables, table))),
        };
        out.patches.push(Patch { offset: relocation.offset, kind, target });
    }
    for &[from, to] in assembled.branches.iter().filter(|_| !removable.is_empty()) {
        let first = removable.partition_point(|at| *at < from.min(to));
        if removable.get(first).is_some_and(|at| *at < from.max(to)) {
            out.patches.push(Patch { offset: from, kind: RelocKind::Distance, target: PatchTarget::Function(0) });
        }
    }
    out.patches.sort_by_key(|patch| patch.offset);
    add_tables(&tables, shader, out)
}

fn link_symbol(shader: &Shader, symbol: SymbolId) -> Result<PatchTarget> {
    let name = shader.symbols.get(symbol.index()).ok_or_else(|| Error::bug(format!("there is no {symbol}")))?;
    Ok(PatchTarget::Link(LinkSymbol::parse(name)))
}

/// The constant tables in use, all in one section.
fn add_tables(numbers: &[u32], shader: &Shader, out: &mut MachineCode) -> Result<()> {
    let (mut bytes, mut most) = (Vec::new(), TABLE_ALIGN);
    let used = || numbers.iter().filter_map(|number| shader.tables.get(*number as usize));
    bytes.reserve(used().map(|table| table.bytes.len() + table.align.bytes() as usize).sum());
    out.tables.reserve(numbers.len());
    for number in numbers {
        let table = shader.tables.get(*number as usize);
        let table = table.ok_or_else(|| Error::bug(format!("there is no constant table {number}")))?;
        let align = table.align.bytes().max(TABLE_ALIGN);
        most = most.max(align);
        bytes.resize(bytes.len().next_multiple_of(align as usize), 0);
        let word = |n: usize| u32::try_from(n).map_err(|_| Error::unsupported("constant tables", "4 GiB"));
        let (start, size) = (word(bytes.len())?, word(table.bytes.len())?);
        bytes.extend_from_slice(&table.bytes);
        out.tables.push(DataAddress { name: DataName::Table(*number), section: 0, start, size });
    }
    if !bytes.is_empty() {
        out.constants.push(ConstantData { bytes, align: most, entry: None });
    }
    Ok(())
}

/// The index of a table among those in use.
fn position(tables: &mut List<u32>, table: u32) -> usize {
    tables.iter().position(|known| *known == table).unwrap_or_else(|| {
        tables.push(table);
        tables.len() - 1
    })
}
