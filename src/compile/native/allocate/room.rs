//! Makes room for runs: moves values before an instruction if there are no consecutive free registers.

use super::copies::CopySource;
use super::registers::{RegSet, base};
use super::walk::{LIVES_ON, Walk};
use crate::mir::classes::alignment;
use crate::mir::{BlockId, Operand, PhysReg, RegisterClass, Val};
use dovetail_base::error::{Error, ErrorKind};
use dovetail_base::workspace::List;
use smallvec::SmallVec;

/// The run of registers that an instruction needs and that is not free.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) class: RegisterClass,
    pub(super) count: usize,
    /// Values that the run is to hold, in this order; if there are none, its registers only have to be free.
    pub(super) members: SmallVec<[Operand; 16]>,
    /// Registers that count as free, as the instruction reads them for the last time.
    pub(super) dying: RegSet,
}

/// Why an instruction's operands have no registers.
pub(super) enum Stop {
    /// There are no consecutive free registers for the run [`Walk::need`]; moving values may make room for it.
    Needs,
    /// There are too few registers. Spilling may help, so the error is made only after the last attempt.
    Starved {
        what: &'static str,
        count: usize,
    },
    Failed(Error),
}

impl Stop {
    /// Whether allocation may succeed after spilling.
    pub(super) fn lacks_registers(&self) -> bool {
        match self {
            Self::Needs => false,
            Self::Starved { .. } => true,
            Self::Failed(error) => matches!(error.kind(), ErrorKind::Unsupported { .. }),
        }
    }

    /// The error to report if neither moves nor spilling help.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Needs => Error::bug("an instruction lacks registers, and none are named"),
            Self::Starved { what, count } => Error::unsupported(what, format!("a run of {count}")),
            Self::Failed(error) => error,
        }
    }
}

/// The result of a step of the walk.
pub(super) type Result<T> = std::result::Result<T, Stop>;

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A value and its new register.
type Step = (Val, PhysReg);

impl Walk<'_> {
    /// Makes the room that instruction `n` needs, by moves before it.
    pub(super) fn make_room(&mut self, id: BlockId, n: u32, need: &Need) -> Result<()> {
        // Moves of vector values affect only active lanes, so EXEC must stay the same until they are moved back.
        let fixed = need.class == RegisterClass::Vector && self.exec_until > n;
        let found = if fixed || n >= self.f.block(id).tail { None } else { self.window(need) };
        let steps = found.and_then(|first| Some((first, self.steps(first, need)?)));
        let Some((first, steps)) = steps else {
            let free = self.usable.without(&self.occupied);
            return Err(self.no_register(need.class, need.count, &free));
        };
        for (val, to) in &steps {
            let from = self.at(*val)?;
            self.moves.add(*to, CopySource::Reg(from));
            self.occupied.remove(from);
        }
        for (val, to) in steps.iter().copied() {
            self.loc[val.index()] = Some(to);
            self.occupy(val, to);
            if self.end[val.index()] == LIVES_ON {
                self.displaced.push(val);
            }
        }
        self.held.insert_run(first, need.count as u16);
        self.flush(id, n)
    }

    /// Records the run that is missing.
    pub(super) fn lacks(&mut self, need: Need) -> Stop {
        self.need = Some(need);
        Stop::Needs
    }

    /// The first register of the window, a run of usable registers, that needs the fewest moves.
    fn window(&self, need: &Need) -> Option<PhysReg> {
        let open = self.usable.without(&self.held);
        let step = alignment(need.class, need.count);
        let first = base(need.class);
        let windows = (0..256).step_by(usize::from(step)).map(|number| first.nth(number));
        let fits = windows.filter(|window| open.has_run(*window, need.count as u16));
        fits.filter_map(|window| Some((self.cost(window, need)?, window))).min().map(|(_, window)| window)
    }

    /// The number of values to be moved out of a window; one that lives on counts twice, as it moves back later. `None`
    /// if something in the window cannot be moved.
    fn cost(&self, window: PhysReg, need: &Need) -> Option<u32> {
        let mut cost = 0;
        for k in 0..need.count {
            let reg = window.nth(k as u16);
            if !self.occupied.has(reg) || need.dying.has(reg) {
                continue;
            }
            let val = self.holder(reg)?;
            if need.members.get(k).and_then(|one| one.as_val()) != Some(val) {
                cost += if self.end[val.index()] == LIVES_ON { 2 } else { 1 };
            }
        }
        Some(cost)
    }

    /// The value in an occupied register.
    fn holder(&self, reg: PhysReg) -> Option<Val> {
        self.owner[usize::from(reg.0)].filter(|val| self.loc[val.index()] == Some(reg))
    }

    /// The moves: members into the window, others out of it.
    fn steps(&mut self, first: PhysReg, need: &Need) -> Option<List<Step>> {
        let mut steps = List::<Step>::default();
        let mut window = RegSet::default();
        window.insert_run(first, need.count as u16);
        let mut free = self.usable.without(&self.occupied).without(&window).without(&self.held);
        let members = (0..).zip(&need.members).filter_map(|(k, one)| Some((one.as_val()?, first.nth(k))));
        for (val, to) in members {
            let from = self.loc[val.index()]?;
            if from != to {
                steps.push((val, to));
                if !window.has(from) && self.usable.has(from) {
                    free.insert(from);
                }
            }
        }
        let moved = steps.len();
        for k in 0..need.count {
            let reg = first.nth(k as u16);
            if !self.occupied.has(reg) || need.dying.has(reg) {
                continue;
            }
            let val = self.holder(reg)?;
            let is_member = need.members.iter().any(|one| one.as_val() == Some(val));
            if is_member || steps[..moved].iter().any(|(member, _)| *member == val) {
                continue;
            }
            let home = self.home[val.index()].filter(|home| self.end[val.index()] == LIVES_ON && free.has(*home));
            let to = home.or_else(|| free.lowest(need.class, 1, 1))?;
            free.remove(to);
            steps.push((val, to));
        }
        Some(steps)
    }
}
