//! Whether an instruction does what a hazard asks.

use crate::hazards::HazardEvent as Event;
use crate::instruction::Fields;
use crate::{CountedAccess, Effects, Format, Instruction, Isa, Op, Traits};
use dovetail_base::target::WaveSize;
use std::cell::OnceCell;

/// An instruction, with its effects once something asks for them.
pub struct Seen<'a> {
    isa: &'static Isa,
    wave: WaveSize,
    /// The instruction.
    pub inst: &'a Instruction,
    effects: OnceCell<Effects>,
}

impl<'a> Seen<'a> {
    /// An instruction of a wave of this size.
    pub const fn new(isa: &'static Isa, wave: WaveSize, inst: &'a Instruction) -> Self {
        Self { isa, wave, inst, effects: OnceCell::new() }
    }

    /// With effects that are known already.
    #[must_use]
    pub fn with_effects(self, effects: &Effects) -> Self {
        Self { effects: OnceCell::from(*effects), ..self }
    }

    /// Its effects.
    pub fn effects(&self) -> &Effects {
        self.effects.get_or_init(|| self.inst.effects(self.wave))
    }

    /// Whether an event is one of it.
    pub fn is(&self, event: Event) -> bool {
        let (entry, fields) = (self.inst.entry, &self.inst.fields);
        // Without dual instructions, which so end nothing: stricter than LLVM.
        let vector = matches!(fields, Fields::Vector(_) | Fields::Interp(_));
        match event {
            Event::Is(op) => entry.op == op,
            Event::FloatAtomic => entry.is(Traits::FLOAT_ATOMIC),
            Event::Vector => vector,
            Event::VectorOtherThanNop => vector && entry.op != Op::VNop,
            Event::VectorWritesScalar => vector && self.effects().writes.scalar_bits() != 0,
            Event::VectorWritesExec => vector && self.effects().writes.has_exec(),
            Event::ReadsExecOutsideVector => !vector && self.effects().reads.has_exec(),
            Event::Permlane => {
                matches!(entry.op, Op::VPermlane16B32 | Op::VPermlanex16B32 | Op::VPermlane64B32)
            }
            Event::Scalar => matches!(fields, Fields::Scalar(_) | Fields::Smem(_)),
            // A wait has a register, and no result. A result that goes nowhere is one too.
            Event::ScalarResult => match fields {
                Fields::Scalar(f) if entry.format != Format::Sopp && !entry.is(Traits::WAITS) => {
                    f.dst.is_some() || !self.effects().writes.is_empty()
                }
                _ => false,
            },
            Event::ScalarMemory => matches!(fields, Fields::Smem(_)),
            Event::VectorLoad => {
                matches!(self.effects().access, CountedAccess::VectorLoad(_) | CountedAccess::FlatLoad)
            }
            Event::VectorStore => {
                matches!(self.effects().access, CountedAccess::VectorStore | CountedAccess::FlatStore)
            }
            Event::VectorMemory => matches!(fields, Fields::Buffer(_) | Fields::Image(_) | Fields::Flat(_)),
            Event::Lds => matches!(fields, Fields::Ds(_)) || entry.format == Format::Flat,
            Event::LongImage => self.is(Event::SeparateAddresses) && self.inst.dwords() >= 4,
            Event::SeparateAddresses => matches!(fields, Fields::Image(f) if f.nsa),
            Event::MisalignedBuffer => matches!(fields, Fields::Buffer(f) if f.offset & 6 != 0),
            Event::Branch => entry.is(Traits::BRANCH.or(Traits::JUMPS)),
            Event::AnyWait => entry.is(Traits::WAITS),
            Event::Drains(counter) => self.isa.waited(self.inst).is_some_and(|counts| counts.get(counter) == 0),
            Event::Clears(bits) => self.inst.clears(bits),
        }
    }
}
