//! The order of instructions within blocks, before registers are allocated.
//!
//! ```text
//! block ──units──> what stays together ──graph (memory)──> what must come before what
//!       ──order (pressure)──> a new order, kept only if it is estimated to be faster and needs no more registers
//! ```
//!
//! The limit on vector registers is the largest number that allows as many waves per SIMD as before, so scheduling
//! never costs occupancy by its own count; the generator checks the result of allocation. Everything is linear in the
//! number of instructions: in a block longer than the window, only the first remaining units are considered. Where an
//! order exceeds the limit, only stretches of the block come nearer to the source order, as far as they have to.

mod estimate;
mod graph;
mod memory;
mod order;
mod pressure;
mod units;

#[cfg(test)]
mod tests;

use super::allocate::RegisterLimits;
use super::liveness::Liveness;
use super::mir::{BlockId, MachineFunction, MachineInst};
use dovetail_base::workspace::{List, filled};
use dovetail_compile::request::Scheduling;
use dovetail_isa::loop_weight;
use estimate::estimate;
use graph::{Graph, Past};
use order::{Goal, Stretches};
use pressure::{Counts, Pressure};
use units::{AllUnits, Units};

/// Scalar registers that scheduling may fill where the code had fewer: more would leave little room for the aligned runs
/// of descriptors. On gfx10 their number does not decide how many waves fit.
const SCALARS: u32 = 72;

/// Blocks with fewer units stay as they are.
const FEWEST: usize = 3;

/// Counters, to test the cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleStats {
    /// The work done: units considered in all choices of a next unit, and dependencies.
    pub steps: u64,
    /// Blocks with a new order.
    pub changed: u32,
    /// Waves per SIMD that the source order allows.
    pub waves: u32,
    /// Estimated cycles of one wave before and after; code in a loop counts eightfold.
    pub cycles: [u64; 2],
}

/// Orders the blocks of a function, again with more registers left free if allocation needs them.
pub struct Scheduler {
    how: Scheduling,
    limits: RegisterLimits,
    live: Liveness,
    pressure: Pressure,
    units: AllUnits,
    /// By block: the most registers that are live at once in source order.
    peaks: List<Counts>,
    /// By block: the order that was found last.
    found: List<Found>,
    /// The instructions in source order.
    source: List<MachineInst>,
}

/// The order of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// The spare registers for which the order was found, as [`Scheduler::run`] takes them; `None` before the first
    /// run.
    spare: Option<Option<u32>>,
    /// Whether it differs from the source order.
    changed: bool,
    /// Estimated cycles of the source order and of this one; code in a loop counts eightfold.
    cycles: [u64; 2],
}

impl Scheduler {
    /// A scheduler for a verified function.
    pub fn new(f: &MachineFunction, how: Scheduling, limits: RegisterLimits) -> Self {
        let live = Liveness::new(f);
        let mut pressure = Pressure::new(f);
        let units = AllUnits::new(f);
        let peaks = f.block_ids().map(|id| {
            pressure.begin(f, &live, id, units.of(id));
            pressure.walk(units.of(id).len())
        });
        let peaks = peaks.collect();
        let (found, source) = (filled(f.blocks.len(), Found::default()), f.insts.clone());
        Self { how, limits, live, pressure, units, peaks, found, source }
    }

    /// Puts the instructions of each block in a better order.
    ///
    /// `spare`: by block, how many vector registers of those that the waves allow are left free, as allocation may need
    /// more than values do; `None` keeps the source order. A block whose `spare` is that of the last run keeps its
    /// order.
    pub fn run(&mut self, f: &mut MachineFunction, spare: &[Option<u32>]) -> ScheduleStats {
        let mut stats = ScheduleStats::default();
        let most = self.peaks.iter().map(|peak| peak.vectors).max().unwrap_or(0);
        stats.waves = f.isa.facts().waves(most, f.wave);
        let vectors = f.isa.facts().vgprs_for(stats.waves, f.wave).min(self.limits.vgprs.into());
        let (mut graph, mut past) = (Graph::default(), Past::default());
        for (n, id) in f.block_ids().enumerate() {
            if self.found[n].spare != Some(spare[n]) {
                let insts = f.block(id).insts.start as usize..f.block(id).insts.end as usize;
                f.insts[insts.clone()].copy_from_slice(&self.source[insts]);
                self.found[n] = self.block(f, id, spare[n], vectors, (&mut graph, &mut past), &mut stats.steps);
            }
            let Found { changed, cycles, .. } = self.found[n];
            stats.changed += u32::from(changed);
            stats.cycles = [stats.cycles[0] + cycles[0], stats.cycles[1] + cycles[1]];
        }
        stats
    }

    /// Orders a block, which is in source order.
    fn block(
        &mut self,
        f: &mut MachineFunction,
        id: BlockId,
        spare: Option<u32>,
        vectors: u32,
        (graph, past): (&mut Graph, &mut Past),
        steps: &mut u64,
    ) -> Found {
        let (units, peak) = (self.units.of(id), self.peaks[id.index()]);
        let unchanged = Found { spare: Some(spare), ..Found::default() };
        let Some(spare) = spare.filter(|_| units.len() >= FEWEST) else { return unchanged };
        let limit =
            Counts { vectors: vectors.saturating_sub(spare).max(peak.vectors), scalars: SCALARS.max(peak.scalars) };
        graph.find(f, units, past);
        *steps += graph.edges() as u64;
        self.pressure.begin(f, &self.live, id, units);
        let stays = self.pressure.stays(f, units);
        let before = estimate(units, graph, f.wave, &stays);
        let weight = loop_weight(f.block(id).depth.into());
        let cycles = |after: u32| [weight * u64::from(before), weight * u64::from(after)];
        let (chosen, after) = match self.how {
            Scheduling::Random(seed) => (order::random(graph, seed ^ u64::from(id.0), steps), before),
            _ => {
                let goal = Goal { limit, wave: f.wave, stays: &stays };
                let mut stretches = Stretches::one(units.len());
                let chosen = loop {
                    let chosen = order::order(units, graph, &mut self.pressure, &goal, &mut stretches, steps);
                    if !stretches.narrow(&limit) {
                        break chosen;
                    }
                    self.pressure.begin(f, &self.live, id, units);
                };
                if chosen.peak.above(&limit) > 0 || chosen.cycles >= before {
                    return Found { cycles: cycles(before), ..unchanged };
                }
                (chosen.units, chosen.cycles)
            }
        };
        let changed = chosen.iter().enumerate().any(|(n, unit)| n != *unit);
        rewrite(f, id, units, &chosen);
        Found { changed, cycles: cycles(after), ..unchanged }
    }
}

/// Writes the units of a block in another order.
fn rewrite(f: &mut MachineFunction, id: BlockId, units: Units<'_>, order: &[usize]) {
    let start = f.block(id).insts.start as usize;
    let insts: List<MachineInst> =
        order.iter().flat_map(|unit| units.range(*unit)).map(|n| f.insts[n as usize]).collect();
    f.insts[start..start + insts.len()].copy_from_slice(&insts);
}
