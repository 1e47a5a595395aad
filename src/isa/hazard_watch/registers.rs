//! Goes along code and says what has to be put before an instruction, because of the registers that it touches
//! ([`RegisterHazard`](crate::RegisterHazard)), or changed in it.

use super::ages::Ages;
use super::lds_direct::BeforeLdsDirect;
use super::pairs::PairWrites;
use crate::hazards::RegisterHazard as Hazard;
use crate::hazards::depctr::{MEMORY_SOURCES, SCALARS, SCALARS_OF_VECTOR, VCC_OF_VECTOR, VECTOR_RESULTS};
use crate::instruction::{Fields, Instruction};
use crate::{Effects, Isa, Op, Register, RegisterSet};
use dovetail_base::target::WaveSize;

/// SGPRs and VCC, by code.
pub(super) const NAMED: u128 = (1 << 108) - 1;
/// VCC, by code.
pub(super) const VCC: u128 = 0b11 << 106;

/// Follows code of a wave of this size.
#[derive(Clone)]
pub struct RegisterWatch {
    isa: &'static Isa,
    wave: WaveSize,
    /// The kinds that it looks for, as bits.
    wanted: u8,
    /// Vector instructions, and transcendentals, since a transcendental wrote a register.
    trans: [Ages; 2],
    /// By writes of EXEC since, of which two count as many: vector instructions since one wrote a register.
    written: [Ages; 3],
    /// Scalar registers that vector arithmetic read as masks.
    masks: u128,
    /// Of these, the ones that scalar instructions wrote then, and those that vector instructions wrote.
    changed: [u128; 2],
    direct: BeforeLdsDirect,
    pairs: PairWrites,
}

impl RegisterWatch {
    /// At a place with nothing before it; `None` if there is nothing to look for.
    pub fn new(isa: &'static Isa, wave: WaveSize) -> Option<Self> {
        Self::looking_for(isa, wave, |_| true)
    }

    /// The same, for code of these instructions alone.
    pub fn of_code<'a>(isa: &'static Isa, wave: WaveSize, code: impl Iterator<Item = &'a Instruction>) -> Option<Self> {
        let (mut transcendental, mut lds_direct) = (false, false);
        for inst in code {
            transcendental |= inst.entry.latency.is_transcendental();
            lds_direct |= matches!(inst.fields, Fields::LdsDirect(_));
        }
        Self::looking_for(isa, wave, |hazard| match hazard {
            Hazard::TransUse => transcendental,
            Hazard::LdsDirectAfterVector | Hazard::LdsDirectAfterMemory => lds_direct,
            Hazard::PartialForwarding | Hazard::MaskWrite | Hazard::PairWrite => true,
        })
    }

    fn looking_for(isa: &'static Isa, wave: WaveSize, wanted: impl Fn(Hazard) -> bool) -> Option<Self> {
        let hazards = isa.register_hazards.iter().filter(|hazard| hazard.concerns(wave) && wanted(**hazard));
        let wanted = hazards.fold(0, |all, hazard| all | bit(*hazard));
        let (trans, written) = ([Ages::NOTHING; 2], [Ages::NOTHING; 3]);
        let direct = BeforeLdsDirect::NOTHING;
        let pairs = PairWrites::NOTHING;
        (wanted != 0).then_some(Self { isa, wave, wanted, trans, written, masks: 0, changed: [0; 2], direct, pairs })
    }

    /// Vector arithmetic that is not known, such as a prolog's, may just have written these registers.
    pub fn follows(&mut self, registers: &RegisterSet) {
        registers.iter().filter_map(Register::as_vgpr).for_each(|v| self.written[0].happens(usize::from(v)));
        if !registers.is_empty() {
            self.follows_code();
        }
    }

    /// Vector arithmetic that is not known may have read any scalar register.
    pub const fn follows_code(&mut self) {
        self.pairs.follows_code();
    }

    /// Ends what instructions that are not known could still trip over, with one instruction that goes to `out`.
    pub fn settle(&mut self, out: &mut impl FnMut(Instruction)) {
        let mut fields = 0;
        let [valus, transcendentals] = &self.trans;
        let trans = |(valus, transcendentals): (&u8, &u8)| {
            *valus < Hazard::VALUS_AFTER_TRANS && *transcendentals < Hazard::TRANS_AFTER_TRANS
        };
        let written = || self.written.iter().flat_map(Ages::all).any(|age| *age <= Hazard::VALUS_AFTER_FIRST);
        if self.has(Hazard::TransUse) && valus.all().iter().zip(transcendentals.all()).any(trans)
            || self.has(Hazard::PartialForwarding) && written()
        {
            fields |= VECTOR_RESULTS;
        }
        let [by_scalar, by_vector] = self.changed;
        for (open, field) in
            [(self.masks | by_scalar, SCALARS), (by_vector & VCC, VCC_OF_VECTOR), (by_vector & !VCC, SCALARS_OF_VECTOR)]
        {
            if open != 0 {
                fields |= field;
            }
        }
        if self.has(Hazard::PairWrite) {
            fields |= self.pairs.open();
        }
        if fields != 0 {
            self.cleared(fields);
            out(Instruction::program(self.isa, Op::SWaitcntDepctr, !fields));
        }
    }

    /// Adds what may have happened on another way to the same place; returns true if that changed this one.
    pub fn join(&mut self, other: &Self) -> bool {
        let mut changed = self.direct.join(&other.direct) | self.pairs.join(&other.pairs);
        let theirs = other.trans.iter().chain(&other.written);
        for (mine, theirs) in self.trans.iter_mut().chain(&mut self.written).zip(theirs) {
            changed |= mine.join(theirs);
        }
        for (mine, theirs) in
            [(&mut self.masks, other.masks)].into_iter().chain(self.changed.iter_mut().zip(other.changed))
        {
            changed |= theirs & !*mine != 0;
            *mine |= theirs;
        }
        changed
    }

    /// Passes an instruction, and what has to be put before it, which goes to `out`. An instruction that can wait itself gets
    /// the wait that it needs instead.
    pub fn pass(&mut self, inst: &mut Instruction, out: &mut impl FnMut(Instruction)) {
        let effects = inst.effects(self.wave);
        if let Fields::LdsDirect(f) = &mut inst.fields
            && self.has(Hazard::LdsDirectAfterVector)
        {
            f.wait = f.wait.min(self.direct.most_outstanding(f.dst));
        }
        let fields = self.fields(inst, &effects);
        if fields != 0 {
            self.cleared(fields);
            out(Instruction::program(self.isa, Op::SWaitcntDepctr, !fields));
        }
        self.step(inst, &effects);
    }

    /// The fields of `s_waitcnt_depctr` that have to be 0 before an instruction.
    fn fields(&self, inst: &Instruction, effects: &Effects) -> u16 {
        let mut fields = 0;
        if inst.is_vector() {
            let read = || effects.reads.iter().filter_map(Register::as_vgpr).map(usize::from);
            let [valus, transcendentals] = &self.trans;
            let trans = |v: usize| {
                valus.get(v) < Hazard::VALUS_AFTER_TRANS && transcendentals.get(v) < Hazard::TRANS_AFTER_TRANS
            };
            if self.has(Hazard::TransUse) && read().any(trans) {
                fields |= VECTOR_RESULTS;
            }
            let ages = |v: usize| self.written.each_ref().map(|ages| ages.get(v));
            if self.has(Hazard::PartialForwarding) && read().any(|a| read().any(|b| a != b && apart(ages(a), ages(b))))
            {
                fields |= VECTOR_RESULTS;
            }
        }
        if let Fields::LdsDirect(f) = &inst.fields
            && self.has(Hazard::LdsDirectAfterMemory)
            && self.direct.is_used(f.dst)
        {
            fields |= MEMORY_SOURCES;
        }
        if self.has(Hazard::PairWrite) {
            fields |= self.pairs.fields(inst, effects);
        }
        let read = effects.reads.scalar_bits();
        let [by_scalar, by_vector] = self.changed;
        for (changed, field) in
            [(by_scalar, SCALARS), (by_vector & VCC, VCC_OF_VECTOR), (by_vector & !VCC, SCALARS_OF_VECTOR)]
        {
            if read & changed != 0 {
                fields |= field;
            }
        }
        fields
    }

    const fn has(&self, hazard: Hazard) -> bool {
        self.wanted & bit(hazard) != 0
    }

    /// These fields are waited for.
    fn cleared(&mut self, fields: u16) {
        if fields & VECTOR_RESULTS == VECTOR_RESULTS {
            (self.trans, self.written) = ([Ages::NOTHING; 2], [Ages::NOTHING; 3]);
        }
        if fields & MEMORY_SOURCES == MEMORY_SOURCES {
            self.direct.memory_done();
        }
        self.pairs.cleared(fields);
        let [by_scalar, by_vector] = &mut self.changed;
        if fields & SCALARS == SCALARS {
            (*by_scalar, self.masks) = (0, 0);
        }
        if fields & VCC_OF_VECTOR == VCC_OF_VECTOR {
            *by_vector &= !VCC;
        }
        if fields & SCALARS_OF_VECTOR == SCALARS_OF_VECTOR {
            *by_vector &= VCC;
        }
    }

    fn step(&mut self, inst: &Instruction, effects: &Effects) {
        if self.has(Hazard::LdsDirectAfterVector) || self.has(Hazard::LdsDirectAfterMemory) {
            self.direct.step(self.isa, inst, effects);
        }
        if self.has(Hazard::PairWrite) {
            self.pairs.step(inst, effects);
        }
        match &inst.fields {
            Fields::Scalar(f) if inst.entry.op == Op::SWaitcntDepctr => self.cleared(!f.imm),
            Fields::Scalar(_) => self.scalar(effects),
            _ if inst.clears(VECTOR_RESULTS) => self.cleared(VECTOR_RESULTS),
            _ if inst.is_vector() => self.vector(inst, effects),
            _ => {}
        }
    }

    fn scalar(&mut self, effects: &Effects) {
        self.changed[0] |= effects.writes.scalar_bits() & self.masks;
        if effects.writes.has_exec() {
            let [none, one, more] = &mut self.written;
            more.join(one);
            *one = std::mem::replace(none, Ages::NOTHING);
        }
    }

    fn vector(&mut self, inst: &Instruction, effects: &Effects) {
        let written = || effects.writes.iter().filter_map(Register::as_vgpr).map(usize::from);
        if self.has(Hazard::TransUse) {
            let [valus, transcendentals] = &mut self.trans;
            valus.grow();
            // Another write does not undo that of a transcendental: LLVM and Mesa look for it in spite of that.
            if inst.entry.latency.is_transcendental() {
                transcendentals.grow();
                written().for_each(|v| {
                    valus.happens(v);
                    transcendentals.happens(v);
                });
            }
        }
        if self.has(Hazard::PartialForwarding) {
            self.written.iter_mut().for_each(Ages::grow);
            let [none, one, more] = &mut self.written;
            written().for_each(|v| {
                none.happens(v);
                one.forget(v);
                more.forget(v);
            });
        }
        if self.has(Hazard::MaskWrite) {
            self.changed[1] |= effects.writes.scalar_bits() & self.masks;
            self.masks |= inst.masks(self.wave).scalar_bits() & NAMED;
        }
    }
}

const fn bit(hazard: Hazard) -> u8 {
    1 << hazard as u8
}

/// Whether one was written before the last write of EXEC after which the other was.
fn apart(first: [u8; 3], second: [u8; 3]) -> bool {
    let recent = |ages: [u8; 3], n: usize, most: u8| ages[n] <= most;
    (0..3).any(|later| {
        recent(second, later, Hazard::VALUS_AFTER_SECOND)
            // Of two writes with many of EXEC since, it is not known how many are between.
            && ((later + 1).min(2)..3).any(|earlier| recent(first, earlier, Hazard::VALUS_AFTER_FIRST))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scalar, Src, Vgpr};

    /// What is put where unknown instructions follow these.
    fn settled(wave: WaveSize, code: &[Instruction]) -> Vec<String> {
        let isa = Isa::of("gfx1100".parse().expect("a GPU"));
        let mut watch = RegisterWatch::new(isa, wave).expect("hazards");
        let mut out = Vec::new();
        for inst in code {
            watch.pass(&mut inst.clone(), &mut |_| {});
        }
        watch.settle(&mut |inst| out.push(inst.text(isa, wave)));
        watch.settle(&mut |inst| panic!("{inst:?} twice"));
        out
    }

    #[test]
    fn what_an_epilog_could_trip_over_is_ended_once() {
        let isa = Isa::of("gfx1100".parse().expect("a GPU"));
        let vector = |op, dst, srcs: &[Src]| Instruction::vector(isa, op, Vgpr(dst), srcs);
        let moved = vector(Op::VMovB32, 1, &[Src::Int(0)]);
        let trans = vector(Op::VExpF32, 2, &[Vgpr(1).into()]);
        let chosen = vector(Op::VCndmaskB32, 3, &[Vgpr(1).into(), Vgpr(2).into(), Src::Scalar(Scalar::VccLo)]);
        assert!(settled(WaveSize::W32, &[moved]).is_empty());
        assert_eq!(settled(WaveSize::W32, &[trans]), ["s_waitcnt_depctr 0xfff"]);
        let mut later = vec![trans];
        later.extend([moved; 6]);
        assert!(settled(WaveSize::W32, &later).is_empty());
        assert_eq!(settled(WaveSize::W64, &[moved]), ["s_waitcnt_depctr 0xfff"]);
        assert_eq!(settled(WaveSize::W64, &[chosen]), ["s_waitcnt_depctr 0xffe"]);
    }
}
