//! Durations of requests, jobs and compiles, by class.

use super::histogram::Histogram;
use super::jobs::{Jobs, Time};
use dovetail_wire::{ClassStatus, Priority, Times};
use std::time::Duration;

/// The recorded durations.
#[derive(Default)]
pub struct Latencies {
    classes: [OfClass; 4],
    /// Processor time.
    compile: Histogram,
}

#[derive(Default)]
struct OfClass {
    /// Requests that a compile has answered.
    done: u64,
    /// Time from request to answer.
    answer: Histogram,
    /// Time from when a job was ready to when a worker took it.
    queue: Histogram,
}

impl Latencies {
    fn of(&mut self, class: Priority) -> &mut OfClass {
        let [waits, soon, optimize, populate] = &mut self.classes;
        match class {
            Priority::Waits => waits,
            Priority::Soon => soon,
            Priority::Optimize => optimize,
            Priority::Populate => populate,
        }
    }

    /// A request that came at `since` is answered.
    pub fn answered(&mut self, class: Priority, since: Time, now: Time) {
        self.of(class).answer.add(now.saturating_sub(since));
    }

    /// A worker took a job that was ready at `since`.
    pub fn begun(&mut self, class: Priority, since: Time, now: Time) {
        self.of(class).queue.add(now.saturating_sub(since));
    }

    /// A compile has ended and answered requests of these classes.
    pub fn compiled(&mut self, cost: Duration, classes: impl Iterator<Item = Priority>) {
        self.compile.add(cost);
        classes.for_each(|class| self.of(class).done += 1);
    }

    /// Processor time of compiles.
    pub fn compile(&self) -> Times {
        self.compile.times()
    }

    /// The summaries of the classes.
    pub fn classes(&self, jobs: &Jobs) -> Vec<ClassStatus> {
        let running = |class| jobs.running().filter(|(_, of, _)| *of == class).count();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let classes = Priority::ALL.iter().zip(&self.classes).map(|(&class, of)| ClassStatus {
            class,
            queued: count(jobs.queued(class)),
            running: count(running(class)),
            done: of.done,
            answer: of.answer.times(),
            queue: of.queue.times(),
        });
        classes.collect()
    }
}
