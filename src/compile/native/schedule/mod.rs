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
use crate::compile::request::Scheduling;
use crate::isa::loop_weight;
use crate::workspace::List;
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
    /// Units considered when choosing one, and dependencies.
    pub steps: u64,
    /// Blocks with a new order.
    pub changed: u32,
    /// Waves per SIMD that the source order allows.
    pub waves: u32,
    /// Estimated cycles of one wave before and after; code in a loop counts eightfold.
    pub cycles: [u64; 2],
}

/// Puts the instructions of each block in a better order. The function must be verified.
///
/// `spare`: by block, how many vector registers of those that the waves allow are left free, as allocation may need more
/// than values do; `None` keeps the source order.
pub fn run(f: &mut MachineFunction, how: Scheduling, limits: RegisterLimits, spare: &[Option<u32>]) -> ScheduleStats {
    let mut stats = ScheduleStats::default();
    let live = Liveness::new(f);
    let mut pressure = Pressure::new(f);
    let blocks = AllUnits::new(f);
    let peaks: List<Counts> = f
        .block_ids()
        .map(|id| {
            pressure.begin(f, &live, id, blocks.of(id));
            pressure.walk(blocks.of(id).len())
        })
        .collect();
    let most = peaks.iter().map(|peak| peak.vectors).max().unwrap_or(0);
    stats.waves = f.gfx.waves(most, f.wave);
    let vectors = f.gfx.vgprs_for(stats.waves, f.wave).min(limits.vgprs.into());
    let (mut graph, mut past) = (Graph::default(), Past::default());
    for (n, id) in f.block_ids().enumerate() {
        let units = blocks.of(id);
        let Some(spare) = spare[n].filter(|_| units.len() >= FEWEST) else { continue };
        let limit = Counts {
            vectors: vectors.saturating_sub(spare).max(peaks[n].vectors),
            scalars: SCALARS.max(peaks[n].scalars),
        };
        graph.find(f, units, &mut past);
        stats.steps += graph.edges() as u64;
        pressure.begin(f, &live, id, units);
        let stays = pressure.stays(f, units);
        let before = estimate(units, &graph, f.wave, &stays);
        let weight = loop_weight(f.block(id).depth.into());
        stats.cycles = stats.cycles.map(|sum| sum + weight * u64::from(before));
        let chosen = match how {
            Scheduling::Random(seed) => order::random(&graph, seed ^ u64::from(id.0), &mut stats.steps),
            _ => {
                let goal = Goal { limit, wave: f.wave, stays: &stays };
                let mut stretches = Stretches::one(units.len());
                let chosen = loop {
                    let chosen = order::order(units, &graph, &mut pressure, &goal, &mut stretches, &mut stats.steps);
                    if !stretches.narrow(&limit) {
                        break chosen;
                    }
                    pressure.begin(f, &live, id, units);
                };
                if chosen.peak.above(&limit) > 0 || chosen.cycles >= before {
                    continue;
                }
                stats.cycles[1] -= weight * u64::from(before - chosen.cycles);
                chosen.units
            }
        };
        stats.changed += u32::from(chosen.iter().enumerate().any(|(n, unit)| n != *unit));
        rewrite(f, id, units, &chosen);
    }
    stats
}

/// Writes the units of a block in another order.
fn rewrite(f: &mut MachineFunction, id: BlockId, units: Units<'_>, order: &[usize]) {
    let start = f.block(id).insts.start as usize;
    let insts: List<MachineInst> =
        order.iter().flat_map(|unit| units.range(*unit)).map(|n| f.insts[n as usize]).collect();
    f.insts[start..start + insts.len()].copy_from_slice(&insts);
}
