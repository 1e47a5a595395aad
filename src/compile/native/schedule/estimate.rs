//! The time that units take in an order: one wave alone, cycles of the latency classes.

use super::graph::Graph;
use super::units::{LoadKind, Units};
use crate::isa::Latency;
use crate::target::WaveSize;
use crate::workspace::{List, filled};

/// Time, while units are put one after the other.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    pub(super) now: u32,
    /// By unit, when it was issued; none: not yet.
    issued: List<u32>,
    /// Cycle at which all scalar loads so far are done: they arrive in any order, so that each is waited for with all
    /// others.
    scalar_loads: u32,
    /// Cycles at which the last vector load and the last access of workgroup memory are done: those arrive in order.
    in_order: [u32; 2],
    wave: WaveSize,
}

impl Clock {
    pub(super) fn new(count: usize, wave: WaveSize) -> Self {
        Self { now: 0, issued: filled(count, 0), scalar_loads: 0, in_order: [0; 2], wave }
    }

    /// The cycle at which a unit can be issued, after all that it depends on.
    pub(super) fn start(&self, units: Units<'_>, graph: &Graph, unit: usize) -> u32 {
        let mut start = self.now;
        for edge in graph.before(unit) {
            let from = edge.unit as usize;
            let there = self.issued[from] + edge.latency;
            let scalar = units.get(from).load.is_some_and(|load| load.kind == LoadKind::Scalar);
            let there = if scalar && edge.latency > 0 && there > self.now { self.scalar_loads } else { there };
            start = start.max(there);
        }
        start
    }

    /// Issues it; when its result is there.
    pub(super) fn issue(&mut self, units: Units<'_>, unit: usize, start: u32) -> u32 {
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
        // Dependencies name the latency of the class: what the queue adds is as if the issue were later.
        self.issued[unit] = done - latency.result();
        self.now = start + latency.issue(self.wave) + more;
        done
    }
}

/// Cycles of units in an order. What is used after them is waited for in the end.
pub(super) fn estimate(
    units: Units<'_>,
    graph: &Graph,
    order: impl Iterator<Item = usize>,
    wave: WaveSize,
    stays: &[bool],
) -> u32 {
    let mut clock = Clock::new(units.len(), wave);
    let mut end = 0;
    for unit in order {
        let start = clock.start(units, graph, unit);
        let done = clock.issue(units, unit, start);
        if stays[unit] && units.get(unit).latency != Latency::None {
            end = end.max(done);
        }
    }
    clock.now.max(end)
}
