//! Chooses the next unit again and again, among the first so many that are left.

use super::estimate::Clock;
use super::graph::Graph;
use super::pressure::{Counts, Pressure};
use super::units::Units;
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{List, filled};

/// Heights that differ by less than this many cycles count as equal; then the source order decides, which needs fewer
/// registers.
const COARSE: u32 = 32;

/// How far an order may be from the source order.
#[derive(Clone, Copy)]
struct Reach {
    /// Length of the window of units among which the next one is chosen.
    window: usize,
    /// The part of the register limit that a load leaves free for the units after it: one register in this many.
    reserve: u32,
}

/// Tried in turn until an order fits the registers: the nearer to the source order, the fewer it needs. The last is the
/// source order.
const REACHES: [Reach; 4] = [
    Reach { window: 64, reserve: 16 },
    Reach { window: 24, reserve: 8 },
    Reach { window: 12, reserve: 4 },
    Reach { window: 1, reserve: 1 },
];

/// Length of a stretch in units.
const STRETCH: usize = 64;

/// Consecutive units of a block. Units do not move between stretches, so the order within one does not change how many
/// registers are live in another.
struct Stretch {
    /// Index of the first unit after the stretch.
    end: usize,
    /// Index in [`REACHES`].
    reach: usize,
    /// Most registers that are live at once.
    peak: Counts,
}

/// The stretches of a block.
pub(super) struct Stretches(List<Stretch>);

impl Stretches {
    /// The whole block.
    pub(super) fn one(units: usize) -> Self {
        Self([Stretch { end: units, reach: 0, peak: Counts::default() }].into_iter().collect())
    }

    /// Stretches of equal length.
    fn cut(units: usize) -> Self {
        let ends = (STRETCH..units).step_by(STRETCH).chain([units]);
        Self(ends.map(|end| Stretch { end, reach: 0, peak: Counts::default() }).collect())
    }

    /// Brings the stretches that need too many registers nearer to the source order, after cutting a long block into
    /// stretches; returns whether any stretch changed.
    pub(super) fn narrow(&mut self, limit: &Counts) -> bool {
        if let [whole] = &self.0[..]
            && whole.end > STRETCH
            && whole.peak.above(limit) > 0
        {
            *self = Self::cut(whole.end);
            return true;
        }
        let mut narrowed = false;
        for stretch in self.0.iter_mut().filter(|stretch| stretch.peak.above(limit) > 0) {
            if stretch.reach + 1 < REACHES.len() {
                (stretch.reach, narrowed) = (stretch.reach + 1, true);
            }
        }
        narrowed
    }
}

/// The goal of an order.
pub(super) struct Goal<'a> {
    pub(super) limit: Counts,
    pub(super) wave: WaveSize,
    /// By unit, whether its result is used after the block.
    pub(super) stays: &'a [bool],
}

/// An order, with the registers and cycles that it needs.
pub(super) struct Ordered {
    pub(super) units: List<usize>,
    /// Most registers that are live at once.
    pub(super) peak: Counts,
    pub(super) cycles: u32,
}

/// The units of a stretch's window that depend on no unit that is still to be taken. The window begins with the first
/// unit that is left.
struct Ready {
    /// Their indices, in no particular order.
    units: List<usize>,
    /// By unit: the number of its dependencies on units that are still to be taken.
    waits: List<u32>,
    /// The first unit after the window.
    next: usize,
    /// Number of units taken.
    taken: usize,
}

impl Ready {
    fn new(graph: &Graph, stretch: &Stretch) -> Self {
        let waits: List<u32> = (0..graph.len()).map(|unit| graph.before(unit).len() as u32).collect();
        let mut out = Self { units: List::default(), waits, next: 0, taken: 0 };
        out.look(stretch);
        out
    }

    /// Moves the window forward.
    fn look(&mut self, stretch: &Stretch) {
        let end = stretch.end.min(self.taken + REACHES[stretch.reach].window);
        for unit in self.next..end {
            if self.waits[unit] == 0 {
                self.units.push(unit);
            }
        }
        self.next = self.next.max(end);
    }

    /// Takes a ready unit. The first unit that is left waits for nothing, so one is ready until all are taken.
    fn take(&mut self, graph: &Graph, place: usize) -> usize {
        let unit = self.units.swap_remove(place);
        for edge in graph.after(unit) {
            let after = edge.unit as usize;
            self.waits[after] -= 1;
            if self.waits[after] == 0 && after < self.next {
                self.units.push(after);
            }
        }
        self.taken += 1;
        unit
    }
}

/// Any order that keeps the dependencies: for tests.
pub(super) fn random(graph: &Graph, seed: u64, steps: &mut u64) -> List<usize> {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let whole = &Stretches::one(graph.len()).0[0];
    let mut ready = Ready::new(graph, whole);
    let mut out = List::default();
    while out.len() < graph.len() {
        *steps += ready.units.len() as u64;
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        out.push(ready.take(graph, (state >> 33) as usize % ready.units.len()));
        ready.look(whole);
    }
    out
}

/// An order in which loads are early and nothing waits long, within the registers of the goal.
pub(super) fn order(
    units: Units<'_>,
    graph: &Graph,
    pressure: &mut Pressure,
    goal: &Goal<'_>,
    stretches: &mut Stretches,
    steps: &mut u64,
) -> Ordered {
    let heights = heights(units, graph, goal);
    let mut clock = Clock::new(units.len(), goal.wave);
    let mut out = Ordered { units: List::default(), peak: pressure.live(), cycles: 0 };
    let mut rest = stretches.0.iter_mut();
    let Some(mut stretch) = rest.next() else { return out };
    stretch.peak = pressure.live();
    let mut ready = Ready::new(graph, stretch);
    let mut last = None;
    while out.units.len() < graph.len() {
        if out.units.len() == stretch.end
            && let Some(next) = rest.next()
        {
            stretch = next;
            stretch.peak = pressure.live();
            ready.look(stretch);
        }
        let reach = REACHES[stretch.reach];
        *steps += ready.units.len() as u64;
        let judged = ready.units.iter().enumerate().map(|(place, &unit)| {
            let load = units.get(unit).load;
            let reserve = |count: u32| if load.is_some() { count / reach.reserve } else { 0 };
            let spare = Counts { scalars: reserve(goal.limit.scalars), vectors: reserve(goal.limit.vectors) };
            let (above, growth) = pressure.excess(unit, spare, &goal.limit);
            let stall = clock.start(unit) - clock.now;
            // First the next load of the same clause, then other loads, then everything else.
            let turn = match load {
                Some(_) if load == last => 0,
                Some(load) if last.is_some_and(|last: super::units::Load| last.kind == load.kind) => 1,
                Some(_) => 2,
                None => 3,
            };
            let height = u32::MAX - heights[unit] / COARSE;
            ((above, growth, stall, turn, height, unit), place)
        });
        let Some((_, place)) = judged.min() else { break };
        let unit = ready.take(graph, place);
        ready.look(stretch);
        clock.issue(units, graph, unit, goal.stays[unit]);
        stretch.peak = stretch.peak.most(pressure.pass(unit));
        out.peak = out.peak.most(stretch.peak);
        last = units.get(unit).load;
        out.units.push(unit);
    }
    out.cycles = clock.end();
    out
}

/// By unit: the cycles from its issue until the longest chain of units that depend on it is done.
fn heights(units: Units<'_>, graph: &Graph, goal: &Goal<'_>) -> List<u32> {
    let mut heights = filled(graph.len(), 0);
    for unit in (0..graph.len()).rev() {
        let own = if goal.stays[unit] { units.get(unit).latency.result() } else { 0 };
        let after = graph.after(unit).iter().map(|edge| edge.latency + heights[edge.unit as usize]).max();
        heights[unit] = own.max(after.unwrap_or(0));
    }
    heights
}
