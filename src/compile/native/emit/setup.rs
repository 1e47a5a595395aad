//! Code that a stage needs around its body: the descriptor of scratch memory, and the rounding mode.

use super::scratch::has_descriptor;
use crate::code::{Code, CodeBlock, Item};
use crate::mir::{MachineFunction, PhysReg, Term};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_ir::Modes;
use dovetail_isa::{Instruction, Isa, Op, Scalar, Sgpr, Src};
use dovetail_passes::entry_facts::EntryFacts;
use smallvec::{SmallVec, smallvec};

/// Byte offset of the scratch descriptor in the global table, whose address's low half is in s0 (isa-gfx10 6).
const COMPUTE_RING: i32 = 0x10;
const GRAPHICS_RING: i32 = 0;
/// Number of the bit in the descriptor's last dword that makes rows of 64 lanes; without it they have 32.
const ROW_OF_64: u32 = 21;
/// `s_round_mode`: towards zero, for 32-bit floats and for the others.
const TOWARD_ZERO: [u16; 2] = [0b11, 0b1100];
const TO_NEAREST: u16 = 0;

/// Adds the code that the function needs: at the start of its first block, and before a joint.
///
/// # Errors
/// A bug: registers that do not exist.
pub(super) fn add(function: &MachineFunction, entry: &EntryFacts, modes: &Modes, code: &mut Code) -> Result<()> {
    let rounding = modes.rounds_toward_zero().into_iter().zip(TOWARD_ZERO);
    let rounding = rounding.filter(|(on, _)| *on).fold(0, |mode, (_, bits)| mode | bits);
    let mut head = SmallVec::<[Instruction; 8]>::new();
    if has_descriptor(function) {
        head.extend(scratch(function, entry)?);
    }
    let round = |mode| Instruction::program(code.isa, Op::SRoundMode, mode);
    if rounding != TO_NEAREST {
        head.push(round(rounding));
        // The epilog expects the mode with which the stage began.
        let ends = Item::new(round(TO_NEAREST));
        if let Some(n) = code.blocks.iter().position(|block| block.term == Term::Joint) {
            let at = code.blocks[n].items.end;
            insert(code, n, at, &[ends]);
        }
    }
    let head: SmallVec<[Item; 8]> = head.into_iter().map(Item::new).collect();
    if !head.is_empty() {
        // The code gets a block of its own: the first block may be a loop's header.
        code.blocks.insert(0, CodeBlock { items: 0..0, term: Term::Jump(crate::mir::BlockId(1)) });
        code.blocks.iter_mut().skip(1).for_each(|block| block.term = shifted(block.term));
        insert(code, 0, 0, &head);
    }
    Ok(())
}

/// Shifts targets after a block was inserted at the front.
fn shifted(term: Term) -> Term {
    use crate::mir::BlockId;
    let next = |id: BlockId| BlockId(id.0 + 1);
    match term {
        Term::Jump(to) => Term::Jump(next(to)),
        Term::Branch { when, then, els } => Term::Branch { when, then: next(then), els: next(els) },
        Term::End | Term::Joint => term,
    }
}

/// Inserts items into block `n`, before item `at`.
fn insert(code: &mut Code, n: usize, at: usize, items: &[Item]) {
    code.items.splice(at..at, items.iter().copied());
    for (m, block) in code.blocks.iter_mut().enumerate().skip(n) {
        if m > n {
            block.items.start += items.len();
        }
        block.items.end += items.len();
    }
}

/// Loads the scratch descriptor, and adds the wave's offset to its address.
fn scratch(function: &MachineFunction, entry: &EntryFacts) -> Result<SmallVec<[Instruction; 8]>> {
    let isa: &'static Isa = function.isa;
    let reg = |number: u16| {
        let sgpr = u8::try_from(number).ok().and_then(Sgpr::new);
        sgpr.ok_or_else(|| Error::bug(format!("no SGPR {number} for scratch memory")))
    };
    let first = PhysReg::SCRATCH.0;
    let [low, high, _, last] = [reg(first)?, reg(first + 1)?, reg(first + 2)?, reg(first + 3)?];
    let wave = Src::from(reg(entry.sgprs)?);
    let ring = if function.stage == Stage::Compute { COMPUTE_RING } else { GRAPHICS_RING };
    let scalar = |op, dst: Sgpr, srcs: &[Src]| Instruction::scalar(isa, op, Some(Scalar::Sgpr(dst)), srcs);
    let mut out = smallvec![
        scalar(Op::SGetpcB64, low, &[]),
        scalar(Op::SMovB32, low, &[reg(0)?.into()]),
        Instruction::scalar_load(isa, Op::SLoadDwordx4, low, low, ring),
        scalar(Op::SAddU32, low, &[low.into(), wave]),
        scalar(Op::SAddcU32, high, &[high.into(), Src::Int(0)]),
    ];
    if function.wave == WaveSize::W32 {
        out.push(scalar(Op::SBitset0B32, last, &[Src::from_bits(ROW_OF_64)]));
    }
    Ok(out)
}
