//! Program control: branches, the program counter, MODE, barriers, and instructions that change no value.

use super::fixed_function::WaveMessage;
use super::mode::Mode;
use super::wave::{Wave, WaveState};
use dovetail_base::error::{Error, Result};
use dovetail_isa::Op;
use dovetail_isa::instruction::ScalarFields;
use dovetail_isa::{ASKS_REAL_TIME, Counter, OperandKind, SHADER_CYCLES, SHADER_CYCLES_HI, Scalar, Src};

/// Operation of a control instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The wave ends.
    End,
    /// Sends a message to the fixed functions.
    Message,
    /// Waits for the workgroup.
    Barrier,
    /// Says to the workgroup that it has come to a barrier.
    Signal,
    /// Waits until all of the workgroup have said so.
    AfterSignal,
    /// Branches if the condition holds.
    Branch(Condition),
    /// Reads the address of the next instruction.
    GetPc,
    /// Jumps to an address.
    SetPc,
    /// Jumps to an address, and saves the next one.
    SwapPc,
    /// Branches, and saves the next address.
    Call,
    /// Sets bits of MODE, from this one up.
    Mode(u32),
    /// Reads a hardware register.
    GetReg,
    /// Writes part of a hardware register.
    SetReg,
    /// Waits for outstanding operations.
    Wait(Wait),
    /// Asks for the time, which is constant, because results that depend on it could not be compared.
    Clock,
    /// A hint to the hardware: no effect here.
    Nothing,
}

/// Counters that a wait instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// One or several counters, by the constant of this operation.
    Counts(Op),
    /// One counter, by register and constant.
    One(Counter),
    /// All counters.
    All,
}

/// Condition of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Always.
    Always,
    /// SCC has this value.
    Scc(bool),
    /// VCC is zero (true) or not.
    Vccz(bool),
    /// EXEC is zero (true) or not.
    Execz(bool),
}

/// Control instruction of an opcode.
pub fn resolve(op: Op) -> Option<Control> {
    Some(match op {
        Op::SEndpgm | Op::SEndpgmOrderedPsDone => Control::End,
        Op::SBarrier => Control::Barrier,
        Op::SBarrierSignal => Control::Signal,
        Op::SBarrierWait => Control::AfterSignal,
        Op::SBranch => Control::Branch(Condition::Always),
        Op::SCbranchScc0 => Control::Branch(Condition::Scc(false)),
        Op::SCbranchScc1 => Control::Branch(Condition::Scc(true)),
        Op::SCbranchVccz => Control::Branch(Condition::Vccz(true)),
        Op::SCbranchVccnz => Control::Branch(Condition::Vccz(false)),
        Op::SCbranchExecz => Control::Branch(Condition::Execz(true)),
        Op::SCbranchExecnz => Control::Branch(Condition::Execz(false)),
        Op::SGetpcB64 => Control::GetPc,
        Op::SSetpcB64 => Control::SetPc,
        Op::SSwappcB64 => Control::SwapPc,
        Op::SCallB64 => Control::Call,
        Op::SRoundMode => Control::Mode(0),
        Op::SDenormMode => Control::Mode(4),
        Op::SGetregB32 => Control::GetReg,
        Op::SSetregB32 | Op::SSetregImm32B32 => Control::SetReg,
        Op::SWaitcnt
        | Op::SWaitLoadcnt
        | Op::SWaitStorecnt
        | Op::SWaitSamplecnt
        | Op::SWaitBvhcnt
        | Op::SWaitExpcnt
        | Op::SWaitDscnt
        | Op::SWaitKmcnt
        | Op::SWaitLoadcntDscnt
        | Op::SWaitStorecntDscnt => Control::Wait(Wait::Counts(op)),
        Op::SWaitcntVscnt => Control::Wait(Wait::One(Counter::Store)),
        Op::SWaitcntVmcnt => Control::Wait(Wait::One(Counter::Vector)),
        Op::SWaitcntExpcnt => Control::Wait(Wait::One(Counter::Export)),
        Op::SWaitcntLgkmcnt => Control::Wait(Wait::One(Counter::Scalar)),
        Op::SSendmsg => Control::Message,
        Op::SSendmsgRtnB64 => Control::Clock,
        Op::SWaitIdle => Control::Wait(Wait::All),
        Op::SNop
        | Op::SWaitcntDepctr
        | Op::SInstPrefetch
        | Op::SClause
        | Op::SDelayAlu
        | Op::SSleep
        | Op::SSetprio
        | Op::SIcacheInv
        | Op::SWakeup
        | Op::STtracedata
        | Op::STtracedataImm
        | Op::SIncperflevel
        | Op::SDecperflevel => Control::Nothing,
        _ => return None,
    })
}

/// Executes one instruction; `wave.pc` already points to the next one.
pub fn execute(op: Control, fields: &ScalarFields, wave: &mut Wave) -> Result<()> {
    let dst = fields.dst.unwrap_or(Scalar::Null);
    let source = |wave: &Wave, kind| fields.srcs[0].map_or(Ok(0), |src| wave.uniform(src, kind));
    match op {
        Control::Nothing => {}
        Control::Wait(Wait::All) => Counter::ALL.into_iter().for_each(|counter| wave.waits.wait(counter, 0)),
        Control::Wait(Wait::One(counter)) => {
            let most = source(wave, OperandKind::B32)?.saturating_add(u64::from(fields.imm));
            wave.waits.wait(counter, usize::try_from(most).unwrap_or(usize::MAX));
        }
        Control::Wait(Wait::Counts(op)) => {
            let counts = wave.isa.waits.waited(op, fields.imm);
            let counts = counts.ok_or_else(|| Error::malformed("a wait for counters that this GPU does not have"))?;
            Counter::ALL.into_iter().for_each(|counter| wave.waits.wait(counter, counts.get(counter).into()));
        }
        Control::Message => {
            let value = wave.uniform(Src::Scalar(Scalar::M0), OperandKind::B32)? as u32;
            wave.messages.push(WaveMessage { number: fields.imm, value, after: wave.exports.len() });
        }
        Control::Clock if fields.imm == ASKS_REAL_TIME => wave.set_scalar64(dst, 0),
        Control::Clock => return Err(Error::unsupported("question to the hardware", format!("number {}", fields.imm))),
        Control::End => wave.state = WaveState::Ended,
        Control::Barrier => wave.state = WaveState::Barrier,
        Control::Signal => {
            let barrier = fields.srcs[0];
            if barrier != Some(Src::Int(-1)) || wave.signalled {
                return Err(Error::malformed("another barrier than the workgroup's, or a second signal to it"));
            }
            wave.signalled = true;
        }
        Control::AfterSignal => {
            if fields.imm != u16::MAX || !std::mem::take(&mut wave.signalled) {
                return Err(Error::malformed("a wait for another barrier than the workgroup's, or without a signal"));
            }
            wave.state = WaveState::Barrier;
        }
        Control::Branch(condition) => {
            let taken = match condition {
                Condition::Always => true,
                Condition::Scc(value) => wave.scc == value,
                Condition::Vccz(value) => wave.vccz() == value,
                Condition::Execz(value) => (wave.exec() == 0) == value,
            };
            if wave.exec() != 0 {
                wave.idle = None;
            }
            if taken {
                branch(wave, fields.imm);
                if fields.imm.cast_signed() < 0 {
                    goes_back(wave)?;
                }
            }
        }
        Control::GetPc => wave.set_scalar64(dst, wave.pc),
        Control::SetPc => wave.pc = source(wave, OperandKind::B64)?,
        Control::SwapPc => {
            let target = source(wave, OperandKind::B64)?;
            wave.set_scalar64(dst, wave.pc);
            wave.pc = target;
        }
        Control::Call => {
            wave.set_scalar64(dst, wave.pc);
            branch(wave, fields.imm);
        }
        Control::Mode(shift) => {
            let value = u32::from(fields.imm & 15) << shift;
            wave.mode = Mode(wave.mode.0 & !(15 << shift) | value);
        }
        Control::GetReg => {
            let (register, offset, mask) = hardware_register(fields.imm);
            let value = read_register(wave, register)? >> offset & mask;
            wave.set_scalar(dst, value);
        }
        Control::SetReg => {
            let (register, offset, mask) = hardware_register(fields.imm);
            let value = source(wave, OperandKind::B32)? as u32 & mask;
            let old = read_register(wave, register)?;
            write_register(wave, register, old & !(mask << offset) | value << offset);
        }
    }
    Ok(())
}

/// A wave that goes back twice without a lane, and had none at a branch in between, never leaves the loop: only lanes change what
/// its branches test. Once is allowed: the code may just be laid out so.
fn goes_back(wave: &mut Wave) -> Result<()> {
    let idle = (wave.exec() == 0).then_some(wave.pc);
    if idle.is_some() && wave.idle == idle {
        return Err(Error::malformed("the wave goes around a loop without an active lane (EXEC = 0)"));
    }
    wave.idle = idle;
    Ok(())
}

fn branch(wave: &mut Wave, dwords: u16) {
    wave.pc = wave.pc.wrapping_add_signed(4 * i64::from(dwords.cast_signed()));
}

const MODE: u16 = 1;
const FLAT_SCR_LO: u16 = 20;
const FLAT_SCR_HI: u16 = 21;

/// Register, lowest bit, and mask of the selected bits.
fn hardware_register(imm: u16) -> (u16, u32, u32) {
    let bits = u32::from(imm >> 11) + 1;
    (imm & 0x3f, u32::from(imm >> 6 & 0x1f), u32::MAX >> (32 - bits))
}

fn read_register(wave: &Wave, register: u16) -> Result<u32> {
    match register {
        MODE => Ok(wave.mode.0),
        SHADER_CYCLES | SHADER_CYCLES_HI => Ok(0),
        FLAT_SCR_LO => Ok(wave.flat_scratch as u32),
        FLAT_SCR_HI => Ok((wave.flat_scratch >> 32) as u32),
        _ => Err(Error::unsupported("hardware register", format!("number {register}"))),
    }
}

fn write_register(wave: &mut Wave, register: u16, value: u32) {
    let low = wave.flat_scratch & 0xffff_ffff;
    match register {
        MODE => wave.mode = Mode(value),
        FLAT_SCR_LO => wave.flat_scratch = wave.flat_scratch >> 32 << 32 | u64::from(value),
        FLAT_SCR_HI => wave.flat_scratch = u64::from(value) << 32 | low,
        _ => {}
    }
}
