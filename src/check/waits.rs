//! Tracks the operations outstanding at each instruction, counter by counter, and reports uses that come too early
//! (isa-gfx10 7.1).
//!
//! For each register that a load will still write, or an export will still read, the facts hold its *age*: how many
//! later operations use the same counter. If the counter is in order at that point, a wait for `n` settles everything
//! of age `n` and more; otherwise only a wait for 0 settles anything. At a join the youngest age wins, which is the
//! worst case.

use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use super::solve::{Flow, forwards};
use dovetail_isa::{CountedAccess, Counter, ExportKind, Isa, Op, Register, RegisterSet, Traits, VectorPath};

const SETTLED: u8 = u8::MAX;
/// Kinds of operations on a counter, as bits.
mod kind {
    pub const PLAIN: u8 = 1;
    pub const SAMPLER: u8 = 2;
    pub const RAY: u8 = 4;
    pub const FLAT: u8 = 8;
    /// A result that comes by one of two ways, so that it is in order with no other.
    pub const EITHER: u8 = 32;
    pub const SCALAR: u8 = 1;
    pub const LDS: u8 = 2;
    pub const GDS: u8 = 4;
    pub const MESSAGE: u8 = 16;
    pub const PIXEL: u8 = 1;
    pub const POSITION: u8 = 2;
    pub const PARAMETER: u8 = 8;
    pub const LOADED_PARAMETER: u8 = 16;
}

/// The operations of a counter.
#[derive(Clone)]
struct Queue {
    /// Age by register code.
    age: Box<[u8; Register::COUNT]>,
    /// The outstanding instruction of each register, for the report.
    issued: Box<[u32; Register::COUNT]>,
    /// Kinds that may be outstanding.
    kinds: u8,
    /// The last operation, for the report.
    last: u32,
    /// Largest age: waiting for the maximum count is no wait, so older operations need no distinction.
    oldest: u8,
}

impl Queue {
    fn new(most: u8) -> Self {
        Self {
            age: Box::new([SETTLED; Register::COUNT]),
            issued: Box::new([0; Register::COUNT]),
            kinds: 0,
            last: 0,
            oldest: most - 1,
        }
    }

    fn issue(&mut self, at: u32, kind: u8, registers: &RegisterSet) {
        let oldest = self.oldest;
        self.age.iter_mut().filter(|age| **age < oldest).for_each(|age| *age += 1);
        for register in registers.iter() {
            let code = usize::from(register.index());
            self.age[code] = 0;
            self.issued[code] = at;
        }
        self.kinds |= kind;
        self.last = at;
    }

    /// Waits until at most `count` operations are outstanding.
    fn wait(&mut self, count: u8, in_order: bool) {
        if count == 0 {
            self.age.fill(SETTLED);
            self.kinds = 0;
        } else if in_order {
            self.age.iter_mut().filter(|age| **age >= count).for_each(|age| *age = SETTLED);
        }
    }

    /// Settles the registers used, whose early use has been reported: one finding is enough.
    fn settle(&mut self, registers: &RegisterSet) {
        if self.kinds != 0 {
            registers.iter().for_each(|r| self.age[usize::from(r.index())] = SETTLED);
        }
    }

    fn pending(&self, register: Register) -> Option<u32> {
        let code = usize::from(register.index());
        (self.age[code] != SETTLED).then(|| self.issued[code])
    }

    fn join(&mut self, other: &Self) -> bool {
        let mut changed = self.kinds | other.kinds != self.kinds;
        if changed {
            self.last = other.last;
        }
        self.kinds |= other.kinds;
        if other.kinds == 0 {
            return changed;
        }
        for ((age, issued), (their_age, their_issued)) in
            self.age.iter_mut().zip(self.issued.iter_mut()).zip(other.age.iter().zip(other.issued.iter()))
        {
            if their_age < age {
                (*age, *issued) = (*their_age, *their_issued);
                changed = true;
            }
        }
        changed
    }
}

/// Operations that may be outstanding before an instruction.
#[derive(Clone)]
pub(super) struct Outstanding {
    isa: &'static Isa,
    vm: Queue,
    lgkm: Queue,
    exp: Queue,
    /// Of the registers outstanding in `exp`, those that are written: by parameter loads. The others are read.
    direct: RegisterSet,
    /// Memory paths of the loads outstanding per VGPR: results of one path arrive in order.
    ways: Box<[u8; 256]>,
}

impl Outstanding {
    fn nothing(isa: &'static Isa) -> Self {
        let [vm, lgkm, exp] =
            [Counter::Vector, Counter::Scalar, Counter::Export].map(|one| Queue::new(isa.waits.most(one)));
        Self { isa, vm, lgkm, exp, direct: RegisterSet::EMPTY, ways: Box::new([0; 256]) }
    }

    fn wait_vm(&mut self, count: u8) {
        let in_order = self.vm.kinds & kind::FLAT == 0;
        self.vm.wait(count, in_order);
    }

    fn wait_lgkm(&mut self, count: u8) {
        let in_order = self.lgkm.kinds & kind::SCALAR == 0 && self.lgkm.kinds.count_ones() < 2;
        self.lgkm.wait(count, in_order);
    }

    fn wait_exp(&mut self, count: u8) {
        let in_order = self.exp.kinds.count_ones() < 2;
        self.exp.wait(count, in_order);
        let mut left = RegisterSet::EMPTY;
        let pending = self.direct.iter().filter(|register| self.exp.pending(*register).is_some());
        pending.for_each(|register| left.insert(register));
        self.direct = left;
    }

    /// The parameter load that will write a register.
    fn parameter(&self, register: Register) -> Option<u32> {
        if self.direct.contains(register) { self.exp.pending(register) } else { None }
    }

    fn waits(&mut self, step: &Step) {
        if step.op() == Op::SWaitIdle {
            *self = Self::nothing(self.isa);
        }
        // A count in a register is at least the instruction's constant, and not known to be less.
        let counts = self.isa.done_before(&step.inst);
        self.wait_vm(counts.get(Counter::Vector));
        self.wait_exp(counts.get(Counter::Export));
        self.wait_lgkm(counts.get(Counter::Scalar));
    }

    fn loads(&mut self, step: &Step, way: u8) {
        let writes = &step.effects.writes;
        writes.iter().filter_map(Register::as_vgpr).for_each(|v| self.ways[usize::from(v)] = way);
        self.vm.issue(step.at, way, writes);
    }
}

const fn way_of(path: VectorPath) -> u8 {
    match path {
        VectorPath::Plain => kind::PLAIN,
        VectorPath::Sampler => kind::SAMPLER,
        VectorPath::Ray => kind::RAY,
        VectorPath::Either => kind::EITHER,
    }
}

impl Flow for Outstanding {
    fn step(&mut self, step: &Step) {
        self.waits(step);
        let effects = &step.effects;
        self.exp.settle(&effects.writes.union(&effects.reads.intersection(&self.direct)));
        self.direct = self.direct.without(&effects.reads.union(&effects.writes));
        let used = effects.reads.union(&effects.writes);
        self.lgkm.settle(&used);
        self.vm.settle(&used);
        let none = RegisterSet::EMPTY;
        match effects.access {
            // A store reads its data when it is issued: no register waits for vscnt.
            CountedAccess::None | CountedAccess::VectorStore => {}
            CountedAccess::ScalarMemory => self.lgkm.issue(step.at, kind::SCALAR, &effects.writes),
            CountedAccess::VectorLoad(path) => self.loads(step, way_of(path)),
            CountedAccess::FlatLoad => {
                self.loads(step, kind::FLAT);
                self.lgkm.issue(step.at, kind::FLAT, &effects.writes);
            }
            CountedAccess::FlatStore => self.lgkm.issue(step.at, kind::FLAT, &none),
            CountedAccess::Lds => self.lgkm.issue(step.at, kind::LDS, &effects.writes),
            CountedAccess::LdsDirect => {
                // It has read EXEC when the next instruction begins, so what may still read it is an earlier one.
                let last = self.exp.last;
                self.exp.issue(step.at, kind::LOADED_PARAMETER, &effects.writes);
                self.exp.last = last;
                self.direct = self.direct.union(&effects.writes);
            }
            CountedAccess::Gds => {
                self.lgkm.issue(step.at, kind::GDS, &effects.writes);
                self.exp.issue(step.at, kind::GDS, &effects.reads.vector_part());
            }
            CountedAccess::Message => self.lgkm.issue(step.at, kind::MESSAGE, &effects.writes),
            CountedAccess::Export(which) => {
                let kind = match which {
                    ExportKind::Pixel => kind::PIXEL,
                    ExportKind::Position => kind::POSITION,
                    ExportKind::Parameter => kind::PARAMETER,
                };
                self.exp.issue(step.at, kind, &effects.reads.vector_part());
            }
        }
    }

    fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for v in (0..=u8::MAX).filter(|_| other.vm.kinds != 0) {
            let at = usize::from(v);
            let [mine, theirs] = [&*self, other].map(|of| of.vm.pending(Register::vgpr(v)).map_or(0, |_| of.ways[at]));
            changed |= mine | theirs != mine;
            self.ways[at] = mine | theirs;
        }
        let direct = self.direct.union(&other.direct);
        changed |= direct != self.direct;
        self.direct = direct;
        changed | self.vm.join(&other.vm) | self.lgkm.join(&other.lgkm) | self.exp.join(&other.exp)
    }
}

/// Reports every use of a register that may be outstanding.
pub(super) fn check(graph: &Graph, reporter: &mut Reporter<'_>) {
    forwards(graph, Outstanding::nothing(graph.isa), |before, step| uses(before, step, reporter));
}

fn uses(before: &Outstanding, step: &Step, reporter: &mut Reporter<'_>) {
    let effects = &step.effects;
    // Interpolation waits before it reads.
    let mut waited = None;
    if step.inst.export_wait().is_some() && before.exp.kinds != 0 {
        waited.insert(before.clone()).waits(step);
    }
    let before = waited.as_ref().unwrap_or(before);
    for register in effects.reads.iter() {
        let loaded = before.vm.pending(register).or_else(|| before.lgkm.pending(register));
        let loaded = loaded.or_else(|| before.parameter(register));
        if let Some(at) = loaded {
            reporter.early(CodeRule::Wait, step, Some(register), Some(at), "is read while it is still loaded by");
        }
    }
    let way = match effects.access {
        CountedAccess::VectorLoad(path) => way_of(path),
        _ => 0,
    };
    for register in effects.writes.iter() {
        let of_vm = before.vm.pending(register).filter(|_| {
            // Results of one path arrive in order, so the later load wins.
            let ways = register.as_vgpr().map_or(0, |v| before.ways[usize::from(v)]);
            way == 0 || way == kind::EITHER || ways & !way != 0
        });
        let loaded = of_vm.or_else(|| before.lgkm.pending(register)).or_else(|| before.parameter(register));
        if let Some(at) = loaded {
            reporter.early(
                CodeRule::Wait,
                step,
                Some(register),
                Some(at),
                "is overwritten while it is still loaded by",
            );
        }
        if let Some(at) = before.exp.pending(register).filter(|_| !before.direct.contains(register)) {
            reporter.early(
                CodeRule::Wait,
                step,
                Some(register),
                Some(at),
                "is overwritten while it may still be read by",
            );
        }
    }
    if before.exp.kinds & !kind::LOADED_PARAMETER != 0 && effects.writes.contains(Register::EXEC) {
        let last = Some(before.exp.last);
        reporter.early(
            CodeRule::ExecWhileExport,
            step,
            Some(Register::EXEC),
            last,
            "is written while it may still be read by",
        );
    }
    if step.is(Traits::BARRIER) && before.lgkm.kinds & kind::LDS != 0 {
        let last = Some(before.lgkm.last);
        reporter.early(CodeRule::Wait, step, None, last, "the barrier does not wait for");
    }
    if matches!(step.op(), Op::BufferGl0Inv | Op::BufferGl1Inv) && before.vm.kinds != 0 {
        let last = Some(before.vm.last);
        reporter.early(CodeRule::Wait, step, None, last, "the cache is invalidated before the answer of");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_hand::{gfx11, places};
    use dovetail_base::target::WaveSize;
    use dovetail_isa::instruction::Instruction;
    use dovetail_isa::{ExpSources, ExpTarget, Scalar, Src, Vgpr, WaitCounts};

    fn one(v: u8) -> RegisterSet {
        let mut set = RegisterSet::EMPTY;
        set.vgprs(Vgpr(v), 1);
        set
    }

    fn pending(counter: &Queue) -> Vec<u8> {
        (0..=u8::MAX).filter(|v| counter.pending(Register::vgpr(*v)).is_some()).collect()
    }

    #[test]
    fn a_count_settles_what_is_older() {
        let mut vm = Queue::new(63);
        (0..4).for_each(|v| vm.issue(u32::from(v), kind::PLAIN, &one(v)));
        vm.wait(4, true);
        assert_eq!(pending(&vm), [0, 1, 2, 3]);
        vm.wait(2, true);
        assert_eq!(pending(&vm), [2, 3]);
        vm.wait(1, false);
        assert_eq!(pending(&vm), [2, 3]);
        assert_eq!(vm.pending(Register::vgpr(3)), Some(3));
        vm.wait(0, false);
        assert!(pending(&vm).is_empty() && vm.kinds == 0);
    }

    #[test]
    fn ages_end_at_what_a_wait_can_name() {
        let mut exp = Queue::new(7);
        (0..20).for_each(|v| exp.issue(0, kind::PIXEL, &one(v)));
        exp.wait(7, true);
        assert_eq!(pending(&exp).len(), 20);
        exp.wait(6, true);
        assert_eq!(pending(&exp), [14, 15, 16, 17, 18, 19]);
    }

    #[test]
    fn the_youngest_of_two_paths_counts() {
        let [mut long, mut short] = [Queue::new(63), Queue::new(63)];
        long.issue(1, kind::PLAIN, &one(0));
        long.issue(2, kind::PLAIN, &one(1));
        short.issue(3, kind::SAMPLER, &one(0));
        assert!(long.join(&short) && !long.join(&short));
        assert_eq!(long.kinds, kind::PLAIN | kind::SAMPLER);
        assert_eq!(long.pending(Register::vgpr(0)), Some(3));
        long.wait(1, true);
        assert_eq!(pending(&long), [0, 1]);
    }

    /// The places of instructions that come too early after parameters are loaded to v1 and v2.
    fn early(after: &[Instruction]) -> Vec<usize> {
        let isa = gfx11();
        let loads = [1, 2].map(|v| Instruction::parameter_load(isa, Vgpr(v), 0, 0, 0));
        let code: Vec<Instruction> = loads.iter().chain(after).copied().collect();
        places(isa, WaveSize::W32, &code, check).into_iter().map(|n| n - loads.len()).collect()
    }

    #[test]
    fn a_parameter_is_there_when_a_step_has_waited_for_it() {
        let isa = gfx11();
        let step = |dst, v, wait| {
            let srcs = [v, 0, v].map(Vgpr);
            Instruction::interpolation(isa, Op::VInterpP10F32, Vgpr(dst), srcs, wait)
        };
        let read = |v| Instruction::vector(isa, Op::VMovB32, Vgpr(9), &[Src::Vgpr(Vgpr(v))]);
        let overwrite = Instruction::vector(isa, Op::VMovB32, Vgpr(2), &[Src::Int(0)]);
        let all = isa.wait(WaitCounts::all(Counter::Export)).next().expect("a wait");
        assert!(early(&[step(8, 1, 1), step(9, 2, 0), read(1), read(2)]).is_empty());
        assert!(early(&[step(8, 1, 1), step(9, 1, 7), all, read(2)]).is_empty());
        assert_eq!(early(&[step(8, 1, 2), step(9, 2, 1), read(1)]), [0, 1]);
        assert_eq!(early(&[step(8, 1, 1), read(2), read(2)]), [1]);
        assert_eq!(early(&[step(2, 1, 1)]), [0]);
        assert_eq!(early(&[overwrite]), [0]);
        // EXEC was read when the load began.
        let exec = Instruction::scalar(isa, Op::SMovB32, Some(Scalar::ExecLo), &[Src::Int(1)]);
        assert!(early(&[exec]).is_empty());
        // Exports and loads are not in order with each other.
        let sources = ExpSources::Full([Some(Vgpr(3)), None, None, None]);
        let export = Instruction::export(isa, ExpTarget::Mrt(0), sources, false, false).expect("a target");
        assert_eq!(early(&[export, step(8, 1, 2)]), [1]);
        assert!(early(&[export, step(8, 1, 0), read(3)]).is_empty());
    }
}
