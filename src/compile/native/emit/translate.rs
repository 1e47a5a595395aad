//! Turns a physical function into instructions: each machine IR instruction becomes one of the target's, or a few.

use super::operands::{Operands, wrong_extra};
use super::{arithmetic, memory};
use crate::code::{Code, CodeBlock, Item, Open};
use crate::mir::{Extra, MachineFunction, MachineInst, Opcode, OperandValue, Pseudo};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::workspace::List;
use dovetail_isa::instruction::Instruction;
use dovetail_isa::{Format, Op, Scalar, Src};

/// The instructions of a function whose operands all have registers.
///
/// # Errors
/// A bug: an operand without register, or one that the encoding does not take.
pub(super) fn translate(function: &MachineFunction) -> Result<Code> {
    let (mut items, mut blocks) = (List::default(), List::default());
    for (id, block) in function.block_ids().zip(&function.blocks) {
        let first = items.len();
        for inst in function.insts_of(block) {
            push(function, inst, &mut items).at(|| format!("b{}: {}", id.0, function.text_of(inst)))?;
        }
        blocks.push(CodeBlock { items: first..items.len(), term: block.term });
    }
    Ok(Code { isa: function.isa, wave: function.wave, blocks, items })
}

fn push(function: &MachineFunction, inst: &MachineInst, items: &mut List<Item>) -> Result<()> {
    match inst.op {
        Opcode::Isa(_) if stays(function, inst) => {}
        Opcode::Isa(op) => match inst.extra {
            Extra::Descriptors { first, count } => {
                let range = first as usize..first as usize + usize::from(count);
                let descriptors = function.descriptors.get(range).ok_or_else(|| wrong_extra(inst))?;
                memory::descriptors(function, inst, descriptors, items)?;
            }
            _ => items.push(instruction(function, op, inst)?),
        },
        Opcode::Pseudo(Pseudo::Fence | Pseudo::Return) => {}
        Opcode::Pseudo(Pseudo::TableAddress) => table_address(function, inst, items)?,
        Opcode::Pseudo(Pseudo::Choose) => items.push(choice(function, inst)?),
        Opcode::Pseudo(Pseudo::Copy) => return Err(Error::bug("a copy that allocation left")),
    }
    Ok(())
}

fn instruction(function: &MachineFunction, op: Op, inst: &MachineInst) -> Result<Item> {
    let entry = function.isa.row(op);
    let mut operands = Operands::new(inst, function.defs(inst), function.uses(inst), function.wave);
    let made = match entry.format {
        _ if arithmetic::interpolates(entry) => arithmetic::interp(entry, inst, &mut operands),
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => {
            arithmetic::scalar(entry, inst, &mut operands)
        }
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3p => {
            arithmetic::vector(function.isa, op, inst, &mut operands)
        }
        Format::Smem => memory::smem(entry, inst, &mut operands),
        Format::Ds => memory::ds(entry, inst, &mut operands),
        Format::Flat | Format::Global | Format::Scratch => memory::flat(entry, inst, &mut operands),
        Format::Mubuf | Format::Mtbuf => memory::buffer(function, entry, inst, &mut operands),
        Format::Mimg | Format::Vsample => memory::image(function, entry, inst, &mut operands),
        Format::Exp => memory::export(entry, inst, &mut operands),
        Format::Vintrp => arithmetic::interp(entry, inst, &mut operands),
        Format::Ldsdir => arithmetic::parameter_load(function.isa, inst, &mut operands),
        Format::Vinterp => arithmetic::interpolation(function.isa, op, inst, &mut operands),
        Format::Vopd => {
            Err(Error::unsupported(entry.mnemonic, format!("no code is made in the format {}", entry.format)))
        }
    }?;
    let open = if inst.extra == Extra::ForRootBuffers { Some(Open::ForRootBuffers) } else { operands.open };
    operands.finish()?;
    Ok(Item { inst: made, open })
}

/// Whether an instruction moves a value to the register that it is in already.
fn stays(function: &MachineFunction, inst: &MachineInst) -> bool {
    let same = || match (function.defs(inst), function.uses(inst)) {
        ([to], [from]) => matches!(to.what, OperandValue::Fixed(_)) && to.what == from.what,
        _ => false,
    };
    inst.isa() == Some(Op::SMovB32) && same()
}

/// An `s_cselect_b32` that the linker turns into a move.
fn choice(function: &MachineFunction, inst: &MachineInst) -> Result<Item> {
    let Extra::Choice(symbol) = inst.extra else { return Err(wrong_extra(inst)) };
    let mut operands = Operands::new(inst, function.defs(inst), function.uses(inst), function.wave);
    let (to, srcs) = (operands.def_scalar()?, [operands.scalar()?, operands.scalar()?].map(Src::Scalar));
    operands.finish()?;
    let inst = Instruction::scalar(function.isa, Op::SCselectB32, Some(to), &srcs);
    Ok(Item { inst, open: Some(Open::Choice(symbol)) })
}

/// Two moves of the halves of a constant table's address, which the loader fills in.
fn table_address(function: &MachineFunction, inst: &MachineInst, items: &mut List<Item>) -> Result<()> {
    let Extra::Table(table) = inst.extra else { return Err(wrong_extra(inst)) };
    let first = function.defs(inst).first().map(|def| def.what);
    let Some(OperandValue::Fixed(low)) = first else { return Err(Error::bug("an address without register")) };
    for (reg, open) in [(low, Open::TableLow(table)), (low.nth(1), Open::TableHigh(table))] {
        let reg = u8::try_from(reg.0).ok().and_then(Scalar::at);
        let reg = reg.ok_or_else(|| Error::bug("an address outside of the scalar registers"))?;
        let inst = Instruction::scalar(function.isa, Op::SMovB32, Some(reg), &[Src::Literal(0)]);
        items.push(Item { inst, open: Some(open) });
    }
    Ok(())
}
