//! Sequences of instructions that the hardware does not interlock, by family.
//!
//! A row says what must not follow what, and what makes it harmless. The generator keeps its code apart by them
//! (`compile/native/hazards.rs`), glue by [`HazardWatch`](super::HazardWatch), and the checker finds code that is not, in its own way
//! (`check/hazards.rs`).
//!
//! Sources: LLVM, `GCNHazardRecognizer.cpp` (each row's name is that of its function there, `fix…` or `check…`); Mesa,
//! `aco_insert_NOPs.cpp`. Where they differ, the row is the stricter one.

mod event;
mod registers;

pub use event::HazardEvent;
pub(super) use registers::{GFX11 as REGISTERS_GFX11, GFX12 as REGISTERS_GFX12, GFX115 as REGISTERS_GFX115};
pub use registers::{RegisterHazard, depctr};

use super::{Counter, Op};
use HazardEvent as Event;

/// An instruction that must not come too soon after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// LLVM's name of it.
    pub name: &'static str,
    /// The earlier instruction.
    pub first: HazardEvent,
    /// What has to come after it for the later one to be harmful, if anything.
    pub through: Option<HazardEvent>,
    /// The later instruction.
    pub second: HazardEvent,
    /// Whether it is harmful only if it writes a scalar register that the earlier one reads.
    pub overwrites: bool,
    /// Wait states after which it is harmless: an instruction is one, `s_nop n` is n + 1. `None`: it stays harmful.
    pub states: Option<u8>,
    /// Instructions between them that make it harmless.
    pub ended: &'static [HazardEvent],
    /// What is put before the later instruction.
    pub remedy: Remedy,
}

/// What makes a later instruction harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// As many wait states as are missing.
    States,
    /// An instruction of program control with its constant.
    Program(Op, u16),
    /// A wait for all operations of a counter.
    Wait(Counter),
    /// A scalar move to nowhere.
    ScalarMove,
    /// A vector move of the later instruction's first source to itself.
    VectorMove,
}

/// `s_waitcnt_depctr` with one field at 0: the registers that vector memory reads are read.
const SOURCES_READ: u16 = !depctr::MEMORY_SOURCES;
/// The same for scalar registers that scalar instructions write.
const SCALARS_WRITTEN: u16 = !depctr::SCALARS;

/// A scalar instruction writes registers that a memory access has yet to read.
const fn vector_memory(first: Event, ended: &'static [Event]) -> Hazard {
    Hazard {
        name: "VMEMtoScalarWriteHazards",
        first,
        through: None,
        second: Event::Scalar,
        overwrites: true,
        states: None,
        ended,
        remedy: Remedy::Program(Op::SWaitcntDepctr, SOURCES_READ),
    }
}

/// Vector memory and LDS on both sides of a branch.
const fn across_a_branch(first: Event, second: Event) -> Hazard {
    Hazard {
        name: "LdsBranchVmemWARHazard",
        first,
        through: Some(Event::Branch),
        second,
        overwrites: false,
        states: None,
        ended: &[Event::Drains(Counter::Store)],
        remedy: Remedy::Wait(Counter::Store),
    }
}

/// Directly one after the other.
const fn adjacent(name: &'static str, first: Event, second: Event) -> Hazard {
    Hazard {
        name,
        first,
        through: None,
        second,
        overwrites: false,
        states: Some(1),
        ended: &[],
        remedy: Remedy::States,
    }
}

const DENORM_MODE: Hazard = Hazard {
    name: "FPAtomicToDenormModeHazard",
    first: Event::FloatAtomic,
    through: None,
    second: Event::Is(Op::SDenormMode),
    overwrites: false,
    states: Some(3),
    ended: &[Event::Vector, Event::AnyWait],
    remedy: Remedy::States,
};

/// Lanes are moved by the old EXEC.
const PERMLANE: Hazard = Hazard {
    name: "VcmpxPermlaneHazards",
    first: Event::VectorWritesExec,
    through: None,
    second: Event::Permlane,
    overwrites: false,
    states: None,
    ended: &[Event::VectorOtherThanNop],
    remedy: Remedy::VectorMove,
};

/// gfx10.1.
pub(super) const GFX101: &[Hazard] = &[
    DENORM_MODE,
    PERMLANE,
    vector_memory(Event::VectorLoad, &[Event::Vector, Event::Drains(Counter::Vector), Event::Clears(!SOURCES_READ)]),
    vector_memory(Event::VectorStore, &[Event::Vector, Event::Drains(Counter::Store), Event::Clears(!SOURCES_READ)]),
    vector_memory(Event::Lds, &[Event::Vector, Event::Drains(Counter::Scalar), Event::Clears(!SOURCES_READ)]),
    Hazard {
        name: "SMEMtoVectorWriteHazards",
        first: Event::ScalarMemory,
        through: None,
        second: Event::Vector,
        overwrites: true,
        states: None,
        ended: &[Event::ScalarResult, Event::Drains(Counter::Scalar)],
        remedy: Remedy::ScalarMove,
    },
    Hazard {
        name: "VcmpxExecWARHazard",
        first: Event::ReadsExecOutsideVector,
        through: None,
        second: Event::VectorWritesExec,
        overwrites: false,
        states: None,
        ended: &[Event::VectorWritesScalar, Event::Clears(!SCALARS_WRITTEN)],
        remedy: Remedy::Program(Op::SWaitcntDepctr, SCALARS_WRITTEN),
    },
    across_a_branch(Event::VectorMemory, Event::Lds),
    across_a_branch(Event::Lds, Event::VectorMemory),
    adjacent("NSAToVMEMHazard", Event::LongImage, Event::MisalignedBuffer),
    // Mesa, `handle_instruction_gfx10`: an image access with separate addresses after a lane is written.
    adjacent("WritelaneToNSA", Event::Is(Op::VWritelaneB32), Event::SeparateAddresses),
];

/// gfx10.3: the other hazards in LLVM's and Mesa's lists are of gfx10.1 or of gfx11 and later.
pub(super) const GFX103: &[Hazard] = &[DENORM_MODE];

/// gfx11 and gfx11.5; those that depend on vector registers are in `registers.rs`. Of instructions that no code generator
/// makes for these GPUs yet there is none: the priority of exports of gfx11.5.
pub(super) const GFX11: &[Hazard] = &[PERMLANE];

/// The most rows of a family.
pub(super) const MOST: usize = longest(&[GFX101, GFX103, GFX11, GFX12]);

/// gfx12; those that depend on registers are in `registers.rs`. LLVM: `fixGetRegWaitIdle`.
pub(super) const GFX12: &[Hazard] = &[PERMLANE];

const fn longest(families: &[&[Hazard]]) -> usize {
    match families {
        [] => 0,
        [first, rest @ ..] => {
            let rest = longest(rest);
            if first.len() > rest { first.len() } else { rest }
        }
    }
}
