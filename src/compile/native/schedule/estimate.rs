//! Estimates the cycles that units take in an order: for one wave alone, by the latency classes of the instructions.

use super::graph::Graph;
use super::units::{LoadKind, Units};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{List, filled};
use dovetail_isa::Latency;

/// The clock of a wave, while units are issued one after the other.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    pub(super) now: u32,
    /// By unit: the cycles at which the results arrive that it needs from the units issued so far.
    there: List<There>,
    /// Cycle at which all scalar loads so far are done: they arrive in any order, so that each is waited for with all
    /// others.
    scalar_loads: u32,
    /// Cycles at which the last vector load and the last access of workgroup memory are done: those arrive in order.
    in_order: [u32; 2],
    /// Cycle at which all results arrive that are used after the block's units.
    used: u32,
    wave: WaveSize,
}

/// The cycles at which the last result of scalar loads, and of other units, arrives.
#[derive(Clone, Copy, Debug, Default)]
struct There {
    scalar_loads: u32,
    others: u32,
}

impl Clock {
    pub(super) fn new(count: usize, wave: WaveSize) -> Self {
        Self { now: 0, there: filled(count, There::default()), scalar_loads: 0, in_order: [0; 2], used: 0, wave }
    }

    /// The cycle at which a unit can be issued, after all that it depends on.
    pub(super) fn start(&self, unit: usize) -> u32 {
        let There { scalar_loads, others } = self.there[unit];
        let all_scalar_loads = if scalar_loads > self.now { self.scalar_loads } else { 0 };
        self.now.max(others).max(all_scalar_loads)
    }

    /// Issues a unit. `stays` says whether its result is used after the units.
    pub(super) fn issue(&mut self, units: Units<'_>, graph: &Graph, unit: usize, stays: bool) {
        let start = self.start(unit);
        let latency = units.get(unit).latency;
        let more = units.range(unit).len() as u32 - 1;
        let mut done = start + latency.result();
        let queue = match units.get(unit).load.map(|load| load.kind) {
            Some(LoadKind::Scalar) => {
                self.scalar_loads = self.scalar_loads.max(done);
                None
            }
            Some(LoadKind::Vector) => Some(0),
            Some(LoadKind::Shared) => Some(1),
            None => None,
        };
        if let Some(queue) = queue {
            done = done.max(self.in_order[queue]);
            self.in_order[queue] = done;
        }
        // The latency of an edge is that of the unit's class alone. Waiting for earlier loads of the queue counts as if
        // the unit had been issued later.
        let issued = done - latency.result();
        let scalar = units.get(unit).load.is_some_and(|load| load.kind == LoadKind::Scalar);
        for edge in graph.after(unit) {
            let There { scalar_loads, others } = &mut self.there[edge.unit as usize];
            let there = if scalar && edge.latency > 0 { scalar_loads } else { others };
            *there = (*there).max(issued + edge.latency);
        }
        self.now = start + latency.issue(self.wave) + more;
        if stays && latency != Latency::None {
            self.used = self.used.max(done);
        }
    }

    /// The cycle at which all units so far are issued and the results used after them have arrived.
    pub(super) fn end(&self) -> u32 {
        self.now.max(self.used)
    }
}

/// Estimated cycles of units in their present order, until the results used after them have arrived.
pub(super) fn estimate(units: Units<'_>, graph: &Graph, wave: WaveSize, stays: &[bool]) -> u32 {
    let mut clock = Clock::new(units.len(), wave);
    (0..units.len()).for_each(|unit| clock.issue(units, graph, unit, stays[unit]));
    clock.end()
}
