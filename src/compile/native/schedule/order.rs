//! Chooses the next unit again and again, among the first so many that are left.

use super::estimate::Clock;
use super::graph::Graph;
use super::pressure::{Counts, Pressure};
use super::units::Units;
use crate::target::WaveSize;
use crate::workspace::{List, filled};

/// Units that are looked at at once.
const WINDOW: usize = 64;

/// Registers that loads leave to what follows them: of `limit`, one in so many.
const RESERVE: u32 = 16;

/// Heights that differ by less than this many cycles count as equal; then the source order decides, which needs fewer
/// registers.
const COARSE: u32 = 32;

/// The goal of an order.
pub(super) struct Goal<'a> {
    pub(super) limit: Counts,
    pub(super) wave: WaveSize,
    /// By unit, whether its result is used after the block.
    pub(super) stays: &'a [bool],
}

/// The first units that are left, and how much each still waits for.
struct Window {
    /// In source order.
    open: List<usize>,
    next: usize,
    waits: List<u32>,
}

impl Window {
    fn new(graph: &Graph) -> Self {
        let waits = (0..graph.len()).map(|unit| graph.before(unit).len() as u32).collect();
        let mut it = Self { open: List::default(), next: 0, waits };
        it.fill();
        it
    }

    fn fill(&mut self) {
        while self.open.len() < WINDOW && self.next < self.waits.len() {
            self.open.push(self.next);
            self.next += 1;
        }
    }

    /// The units that wait for nothing, by their place in the window. The first remaining unit is always one of them.
    fn ready(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.open.iter().copied().enumerate().filter(|(_, unit)| self.waits[*unit] == 0)
    }

    fn take(&mut self, graph: &Graph, place: usize) -> usize {
        let unit = self.open.remove(place);
        graph.after(unit).iter().for_each(|edge| self.waits[edge.unit as usize] -= 1);
        self.fill();
        unit
    }
}

/// Any order that keeps the dependencies: for tests.
pub(super) fn random(graph: &Graph, seed: u64, steps: &mut u64) -> List<usize> {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut window = Window::new(graph);
    let mut out = List::default();
    while out.len() < graph.len() {
        let ready: List<usize> = window.ready().map(|(place, _)| place).collect();
        *steps += window.open.len() as u64;
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let place = ready[(state >> 33) as usize % ready.len()];
        out.push(window.take(graph, place));
    }
    out
}

/// An order in which loads are early and nothing waits long, within the registers of the goal.
pub(super) fn order(
    units: Units<'_>,
    graph: &Graph,
    pressure: &mut Pressure,
    goal: &Goal<'_>,
    steps: &mut u64,
) -> List<usize> {
    let heights = heights(units, graph, goal);
    let mut clock = Clock::new(units.len(), goal.wave);
    let mut window = Window::new(graph);
    let mut out = List::default();
    let mut last = None;
    while out.len() < graph.len() {
        *steps += window.open.len() as u64;
        let judged = window.ready().map(|(place, unit)| {
            let load = units.get(unit).load;
            let [after, within] = pressure.with(unit);
            let reserve = |count: u32| if load.is_some() { count / RESERVE } else { 0 };
            let spare = Counts { scalars: reserve(goal.limit.scalars), vectors: reserve(goal.limit.vectors) };
            let above = within.plus(spare).above(&goal.limit);
            let growth = if above > 0 { after.scalars + after.vectors } else { 0 };
            let stall = clock.start(unit) - clock.now;
            // First the next load of the same clause, then other loads, then everything else.
            let turn = match load {
                Some(_) if load == last => 0,
                Some(load) if last.is_some_and(|last: super::units::Load| last.kind == load.kind) => 1,
                Some(_) => 2,
                None => 3,
            };
            let height = u32::MAX - heights[unit] / COARSE;
            ((above, growth, stall, turn, height, place), unit)
        });
        let Some(((.., place), unit)) = judged.min() else { break };
        let start = clock.start(unit);
        clock.issue(units, graph, unit, start);
        pressure.pass(unit);
        last = units.get(unit).load;
        out.push(window.take(graph, place));
    }
    out
}

/// By unit, the cycles from its issue to the end of what depends on it.
fn heights(units: Units<'_>, graph: &Graph, goal: &Goal<'_>) -> List<u32> {
    let mut heights = filled(graph.len(), 0);
    for unit in (0..graph.len()).rev() {
        let own = if goal.stays[unit] { units.get(unit).latency.result() } else { 0 };
        let after = graph.after(unit).iter().map(|edge| edge.latency + heights[edge.unit as usize]).max();
        heights[unit] = own.max(after.unwrap_or(0));
    }
    heights
}
