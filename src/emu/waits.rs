//! Tracks the operations that a wave has issued and not waited for (isa-gfx10 7.1). The emulator accesses memory at
//! once, so a missing wait would not change any result.
//!
//! Each counter has a queue. A wait removes the operations at its front that must have completed: results of one kind
//! complete in order; results of several kinds, and scalar loads, complete in any order, so only a wait for 0 removes
//! them. A register with an outstanding result must be neither read nor written; a register that an export still reads
//! must not be written, and neither must EXEC. An instruction's registers are not known in advance, so
//! [`Wave`](super::wave::Wave) asks here at each access. Not checked: the order of one wave's memory accesses.

use super::watch::Stored;
use dovetail_isa::{Counter, Scalar, Vgpr, WaitLayout};

/// Kinds of operations; operations of one kind complete in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Scalar loads: they complete in any order.
    Smem,
    /// Local data share.
    Lds,
    /// Messages.
    Message,
    /// Access by flat address: LDS or memory.
    Flat,
    /// `Flat` without result.
    FlatStore,
    /// Vector memory without a sampler.
    Load,
    /// An image access with a sampler: counts in order with `Load`, but may write its registers earlier.
    Sample,
    /// Vector memory without result.
    Store,
    /// Exports of colour, depth, null and primitives.
    Color,
    /// Exports of positions.
    Position,
    /// Exports of parameters.
    Parameter,
    /// Loads of parameters.
    ParameterLoad,
}

impl OperationKind {
    /// What counts it, where everything has a counter of its own.
    fn counters(self) -> &'static [Counter] {
        match self {
            Self::Smem | Self::Message => &[Counter::Scalar],
            Self::Lds => &[Counter::Lds],
            Self::Flat => &[Counter::Vector, Counter::Lds],
            Self::FlatStore => &[Counter::Store, Counter::Lds],
            Self::Load => &[Counter::Vector],
            Self::Sample => &[Counter::Sample],
            Self::Store => &[Counter::Store],
            Self::Color | Self::Position | Self::Parameter | Self::ParameterLoad => &[Counter::Export],
        }
    }

    /// Whether the counter counts operations of these two kinds in order.
    fn in_order(self, other: Self) -> bool {
        match self {
            Self::Smem | Self::Flat | Self::FlatStore => false,
            Self::Load | Self::Sample => matches!(other, Self::Load | Self::Sample),
            _ => self == other,
        }
    }
}

/// A set of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackedRegisters {
    vgprs: [u64; 4],
    scalars: u128,
}

impl TrackedRegisters {
    /// Groups of consecutive vector registers.
    pub fn vector(groups: impl IntoIterator<Item = (Vgpr, u8)>) -> Self {
        let mut set = Self::default();
        for (first, count) in groups {
            for n in usize::from(first.0)..usize::from(first.0) + usize::from(count) {
                if let Some(word) = set.vgprs.get_mut(n / 64) {
                    *word |= 1 << (n % 64);
                }
            }
        }
        set
    }

    /// A group of consecutive scalar registers.
    pub fn scalar(first: Scalar, count: u8) -> Self {
        let all = if first == Scalar::Null { 0 } else { (1 << count.min(127)) - 1 };
        Self { scalars: all << (first.index() & 127), ..Self::default() }
    }

    /// Whether it contains a vector register.
    pub fn has_vector(&self, n: usize) -> bool {
        self.vgprs.get(n / 64).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }

    /// Whether it contains a scalar register.
    pub fn has_scalar(&self, code: usize) -> bool {
        code < 128 && self.scalars >> code & 1 == 1
    }

    /// Adds the registers of another set.
    pub fn add(&mut self, other: &Self) {
        self.vgprs.iter_mut().zip(other.vgprs).for_each(|(to, from)| *to |= from);
        self.scalars |= other.scalars;
    }

    fn has(&self, register: TrackedRegister) -> bool {
        match register {
            TrackedRegister::Vector(n) => self.has_vector(n),
            TrackedRegister::Scalar(n) => self.has_scalar(n),
        }
    }
}

/// A register by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedRegister {
    /// A vector register.
    Vector(usize),
    /// A scalar register, by its code.
    Scalar(usize),
}

impl std::fmt::Display for TrackedRegister {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vector(n) => write!(f, "v{n}"),
            Self::Scalar(n) => match u8::try_from(*n).ok().and_then(Scalar::at) {
                Some(s) => write!(f, "{s}"),
                None => write!(f, "scalar register {n}"),
            },
        }
    }
}

/// Outstanding work of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The kind, which decides the order of completion.
    pub kind: OperationKind,
    /// Registers that it will write.
    pub results: TrackedRegisters,
    /// Registers that it will read.
    pub sources: TrackedRegisters,
}

/// An outstanding operation.
#[derive(Clone, Debug)]
pub struct Outstanding {
    issue: Issue,
    /// The instruction's name and address.
    pub mnemonic: &'static str,
    /// See `mnemonic`.
    pub at: u64,
    /// Bytes stored in memory and in LDS; recorded only if the workgroup has several waves.
    pub stored: [Vec<Stored>; 2],
}

/// Operations that a wave has not waited for.
#[derive(Clone, Debug)]
pub struct Waits {
    counters: &'static WaitLayout,
    /// By counter.
    queues: [Vec<Outstanding>; Counter::ALL.len()],
    /// Registers with outstanding writes.
    unreadable: TrackedRegisters,
    /// `unreadable`, and registers with outstanding reads.
    unwritable: TrackedRegisters,
}

impl Waits {
    /// Nothing outstanding.
    pub fn new(counters: &'static WaitLayout) -> Self {
        let (queues, unreadable, unwritable) = Default::default();
        Self { counters, queues, unreadable, unwritable }
    }

    /// Registers that must not be read.
    pub fn unreadable(&self) -> &TrackedRegisters {
        &self.unreadable
    }

    /// Registers that must not be written.
    pub fn unwritable(&self) -> &TrackedRegisters {
        &self.unwritable
    }

    /// Called before an instruction executes. Vector memory of one kind writes registers in order, so a second load may
    /// have the same destination as the first.
    pub fn begin(&mut self, issue: &Issue) {
        if matches!(issue.kind, OperationKind::Load | OperationKind::Sample)
            && self.counters.ordered_results
            && !self.queues[Counter::Vector as usize].is_empty()
        {
            self.collect(Some(issue.kind));
        }
    }

    /// Called after the instruction has executed.
    pub fn issue(&mut self, issue: &Issue, mnemonic: &'static str, at: u64, stored: [Vec<Stored>; 2]) {
        for counter in issue.kind.counters().iter().map(|counter| self.counters.of(*counter)) {
            let most = self.counters.most(counter).into();
            let queue = &mut self.queues[counter as usize];
            queue.push(Outstanding { issue: *issue, mnemonic, at, stored: stored.clone() });
            if queue.len() > most {
                self.wait(counter, most);
            }
        }
        self.collect(None);
    }

    /// Waits until a counter is at most `most`.
    pub fn wait(&mut self, counter: Counter, most: usize) {
        let queue = &mut self.queues[counter as usize];
        let Some(done) = queue.len().checked_sub(most).filter(|done| *done != 0) else { return };
        let in_order = queue.first().is_some_and(|first| {
            let kind = first.issue.kind;
            queue.iter().all(|other| kind.in_order(other.issue.kind))
        });
        if most == 0 || in_order {
            queue.drain(..done);
            self.collect(None);
        }
    }

    /// Recomputes the register sets from all queues; `but` leaves the results of one kind out of `unwritable`.
    fn collect(&mut self, but: Option<OperationKind>) {
        self.unreadable = TrackedRegisters::default();
        self.unwritable = TrackedRegisters::default();
        for outstanding in self.queues.iter().flatten() {
            let issue = &outstanding.issue;
            self.unreadable.add(&issue.results);
            if but != Some(issue.kind) {
                self.unwritable.add(&issue.results);
            }
            self.unwritable.add(&issue.sources);
        }
    }

    /// Why a register must not be accessed.
    pub fn reason(&self, register: TrackedRegister, written: bool) -> String {
        let done = if written { "overwritten" } else { "read" };
        for (counter, queue) in Counter::ALL.into_iter().zip(&self.queues) {
            let holds = |o: &&Outstanding| o.issue.results.has(register) || written && o.issue.sources.has(register);
            if let Some(Outstanding { mnemonic, at, .. }) = queue.iter().rfind(holds) {
                return format!(
                    "{register} is {done} before {mnemonic} at {at:#x} was waited for ({})",
                    self.counters.name(counter)
                );
            }
        }
        format!("{register} is {done} too early")
    }

    /// All outstanding operations, each with its counter.
    pub fn outstanding(&self) -> impl Iterator<Item = (Counter, &Outstanding)> {
        let all = Counter::ALL.into_iter().zip(&self.queues);
        all.flat_map(|(counter, queue)| queue.iter().map(move |o| (counter, o)))
    }
}
