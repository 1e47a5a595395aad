//! The service's limits on the machine's resources: processor time of background jobs, and memory of workers.

use super::jobs::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// The period over which processor time is counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Share of all processors, in percent, that background jobs may use.
const SHARE: u32 = 25;

/// Processor time of background jobs in the last minute.
pub struct BackgroundBudget {
    allowed: Duration,
    spent: VecDeque<(Time, Duration)>,
}

impl BackgroundBudget {
    /// The budget on a machine with this number of processors.
    pub fn new(processors: usize) -> Self {
        let processors = u32::try_from(processors).unwrap_or(u32::MAX);
        Self { allowed: (WINDOW * SHARE / 100).saturating_mul(processors), spent: VecDeque::new() }
    }

    /// Adds the processor time of a background job.
    pub fn spend(&mut self, cost: Duration, now: Time) {
        self.spent.push_back((now, cost));
    }

    /// Why no background job should be started; `None` if the budget allows it.
    pub fn reason(&mut self, now: Time) -> Option<String> {
        while self.spent.front().is_some_and(|(when, _)| now.saturating_sub(*when) > WINDOW) {
            self.spent.pop_front();
        }
        let spent: Duration = self.spent.iter().map(|(_, cost)| *cost).sum();
        let (spent, allowed) = (spent.as_secs_f64(), self.allowed.as_secs_f64());
        (spent > allowed).then(|| format!("{spent:.1} s of processor time within a minute, at most {allowed:.1} s"))
    }
}

/// The number of workers that may use `each_mib` at once: the number asked for, but at most as many as half of the
/// available memory allows.
pub fn workers_that_fit(asked: usize, each_mib: u64) -> usize {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    that_fit(asked, each_mib, available_mib(&meminfo))
}

fn that_fit(asked: usize, each_mib: u64, available_mib: Option<u64>) -> usize {
    let fit = available_mib.map_or(u64::MAX, |available| available / 2 / each_mib.max(1));
    asked.min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1)
}

/// Available memory, from proc(5) `meminfo`.
fn available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_a_minute_and_no_more() {
        let at = Duration::from_secs;
        let mut budget = BackgroundBudget::new(2);
        (0..30).for_each(|n| budget.spend(at(1), at(n)));
        assert_eq!(budget.reason(at(30)), None);
        budget.spend(at(1), at(30));
        let why = budget.reason(at(30)).unwrap();
        assert_eq!(why, "31.0 s of processor time within a minute, at most 30.0 s");
        assert_eq!(budget.reason(at(61)), None, "what is older than a minute does not count");
    }

    #[test]
    fn workers_leave_half_of_the_memory() {
        assert_eq!(available_mib("MemTotal: 9 kB\nMemAvailable:    4194304 kB\n"), Some(4096));
        assert_eq!(that_fit(8, 512, Some(4096)), 4);
        assert_eq!(that_fit(8, 512, Some(100)), 1, "one is always there");
        assert_eq!(that_fit(3, 512, None), 3);
    }
}
