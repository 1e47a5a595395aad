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

/// The counters of loads to vector registers, and those of scalar memory and LDS. A GPU that has fewer counts all of a kind by
/// the first.
const LOADS: [Counter; 3] = [Counter::Vector, Counter::Sample, Counter::Ray];
const SCALARS: [Counter; 2] = [Counter::Scalar, Counter::Lds];

/// The place of a counter in one of these lists, on this GPU.
fn place(isa: &Isa, list: &[Counter], counter: Counter) -> usize {
    let counter = isa.waits.of(counter);
    list.iter().position(|one| *one == counter).unwrap_or(0)
}

/// Operations that may be outstanding before an instruction.
#[derive(Clone)]
pub(super) struct Outstanding {
    isa: &'static Isa,
    /// Loads to vector registers, by the order of [`LOADS`].
    loads: [Queue; 3],
    /// Scalar memory and LDS, by the order of [`SCALARS`].
    scalars: [Queue; 2],
    exp: Queue,
    /// Of the registers outstanding in `exp`, those that are written: by parameter loads. The others are read.
    direct: RegisterSet,
    /// Memory paths of the loads outstanding per VGPR: results of one path arrive in order.
    ways: Box<[u8; 256]>,
}

impl Outstanding {
    fn nothing(isa: &'static Isa) -> Self {
        let queue = |counter| Queue::new(isa.waits.most(counter));
        let (loads, scalars, exp) = (LOADS.map(queue), SCALARS.map(queue), queue(Counter::Export));
        Self { isa, loads, scalars, exp, direct: RegisterSet::EMPTY, ways: Box::new([0; 256]) }
    }

    /// The load that will write a register.
    fn load_of(&self, register: Register) -> Option<u32> {
        self.loads.iter().find_map(|queue| queue.pending(register))
    }

    /// The same of scalar memory and LDS.
    fn scalar_of(&self, register: Register) -> Option<u32> {
        self.scalars.iter().find_map(|queue| queue.pending(register))
    }

    fn scalar(&mut self, counter: Counter, at: u32, kind: u8, registers: &RegisterSet) {
        let place = place(self.isa, &SCALARS, counter);
        self.scalars[place].issue(at, kind, registers);
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
        for (queue, counter) in self.loads.iter_mut().zip(LOADS) {
            queue.wait(counts.get(counter), queue.kinds & kind::FLAT == 0);
        }
        self.wait_exp(counts.get(Counter::Export));
        for (queue, counter) in self.scalars.iter_mut().zip(SCALARS) {
            queue.wait(counts.get(counter), queue.kinds & kind::SCALAR == 0 && queue.kinds.count_ones() < 2);
        }
    }

    fn load(&mut self, step: &Step, counter: Counter, way: u8) {
        let writes = &step.effects.writes;
        writes.iter().filter_map(Register::as_vgpr).for_each(|v| self.ways[usize::from(v)] = way);
        let place = place(self.isa, &LOADS, counter);
        self.loads[place].issue(step.at, way, writes);
    }
}

const fn counter_of(path: VectorPath) -> Counter {
    match path {
        VectorPath::Plain | VectorPath::Either => Counter::Vector,
        VectorPath::Sampler => Counter::Sample,
        VectorPath::Ray => Counter::Ray,
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
        self.scalars.iter_mut().chain(&mut self.loads).for_each(|queue| queue.settle(&used));
        let none = RegisterSet::EMPTY;
        match effects.access {
            // A store reads its data when it is issued: no register waits for vscnt.
            CountedAccess::None | CountedAccess::VectorStore => {}
            CountedAccess::ScalarMemory => self.scalar(Counter::Scalar, step.at, kind::SCALAR, &effects.writes),
            CountedAccess::VectorLoad(path) => self.load(step, counter_of(path), way_of(path)),
            CountedAccess::FlatLoad => {
                self.load(step, Counter::Vector, kind::FLAT);
                self.scalar(Counter::Lds, step.at, kind::FLAT, &effects.writes);
            }
            CountedAccess::FlatStore => self.scalar(Counter::Lds, step.at, kind::FLAT, &none),
            CountedAccess::Lds => self.scalar(Counter::Lds, step.at, kind::LDS, &effects.writes),
            CountedAccess::LdsDirect => {
                // It has read EXEC when the next instruction begins, so what may still read it is an earlier one.
                let last = self.exp.last;
                self.exp.issue(step.at, kind::LOADED_PARAMETER, &effects.writes);
                self.exp.last = last;
                self.direct = self.direct.union(&effects.writes);
            }
            CountedAccess::Gds => {
                self.scalar(Counter::Lds, step.at, kind::GDS, &effects.writes);
                self.exp.issue(step.at, kind::GDS, &effects.reads.vector_part());
            }
            CountedAccess::Message => self.scalar(Counter::Scalar, step.at, kind::MESSAGE, &effects.writes),
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
        let loads = other.loads.iter().any(|queue| queue.kinds != 0);
        for v in (0..=u8::MAX).filter(|_| loads) {
            let at = usize::from(v);
            let [mine, theirs] = [&*self, other].map(|of| of.load_of(Register::vgpr(v)).map_or(0, |_| of.ways[at]));
            changed |= mine | theirs != mine;
            self.ways[at] = mine | theirs;
        }
        let direct = self.direct.union(&other.direct);
        changed |= direct != self.direct;
        self.direct = direct;
        let queues = self.loads.iter_mut().chain(&mut self.scalars);
        let joined = queues.zip(other.loads.iter().chain(&other.scalars)).fold(false, |any, (a, b)| a.join(b) | any);
        changed | joined | self.exp.join(&other.exp)
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
        let loaded = before.load_of(register).or_else(|| before.scalar_of(register));
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
        let of_vm = before.load_of(register).filter(|_| {
            // Where results of one path arrive in order, the later load wins.
            let ways = register.as_vgpr().map_or(0, |v| before.ways[usize::from(v)]);
            way == 0 || way == kind::EITHER || ways & !way != 0 || !before.isa.waits.ordered_results
        });
        let loaded = of_vm.or_else(|| before.scalar_of(register)).or_else(|| before.parameter(register));
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
    let lds = &before.scalars[place(before.isa, &SCALARS, Counter::Lds)];
    if step.is(Traits::BARRIER) && lds.kinds & kind::LDS != 0 {
        let last = Some(lds.last);
        reporter.early(CodeRule::Wait, step, None, last, "the barrier does not wait for");
    }
    let invalidates = matches!(step.op(), Op::BufferGl0Inv | Op::BufferGl1Inv | Op::GlobalInv);
    if let Some(outstanding) = before.loads.iter().find(|queue| invalidates && queue.kinds != 0) {
        let last = Some(outstanding.last);
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
