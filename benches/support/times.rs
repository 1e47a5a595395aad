//! Percentiles, and detection of real measurements.

#![allow(dead_code, reason = "each benchmark uses its part")]

use std::time::Instant;

/// Whether this is a measurement, and not a test run of the benchmark or a profiler run, which print no tables.
pub fn measuring() -> bool {
    let given = |what| std::env::args().any(|a| a == what);
    given("--bench") && !given("--profile-time")
}

/// Whether the tables of a group are wanted: `cargo bench --bench NAME -- GROUP`.
pub fn chosen(group: &str) -> bool {
    let mut names = std::env::args().skip(1).filter(|a| !a.starts_with('-')).peekable();
    names.peek().is_none() || names.any(|name| name == group)
}

/// Nanoseconds of each of many runs, sorted.
pub struct Times(Vec<u64>);

impl Times {
    /// Measures `f`, after a warm-up.
    pub fn of<T>(runs: usize, mut f: impl FnMut() -> T) -> Self {
        let runs = if measuring() { runs } else { 2 };
        (0..runs / 10).for_each(|_| drop(std::hint::black_box(f())));
        let times: Vec<u64> = (0..runs)
            .map(|_| {
                let start = Instant::now();
                let out = std::hint::black_box(f());
                let took = start.elapsed();
                drop(out);
                u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
            })
            .collect();
        Self::taken(times)
    }

    /// From times measured elsewhere.
    pub fn taken(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The value that `percent` of the runs do not exceed.
    pub fn percentile(&self, percent: usize) -> u64 {
        self.0.get((self.0.len() * percent / 100).min(self.0.len().saturating_sub(1))).copied().unwrap_or(0)
    }

    /// A row of a table in Markdown.
    pub fn row(&self, name: &str) {
        println!("| {name} | {} | {} | {} |", self.percentile(50), self.percentile(95), self.percentile(99));
    }
}

/// Time of `one` to that of `other`, which run in turn, a hundred times each: the median turn, because the machine's speed
/// changes within a measurement.
pub fn ratio_in_turn<T, U>(turns: usize, mut one: impl FnMut() -> T, mut other: impl FnMut() -> U) -> f64 {
    fn turn<T>(mut f: impl FnMut() -> T) -> f64 {
        let start = Instant::now();
        (0..100).for_each(|_| drop(std::hint::black_box(f())));
        start.elapsed().as_secs_f64()
    }
    let mut ratios: Vec<f64> = (0..turns).map(|_| turn(&mut one) / turn(&mut other)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The header of a table whose rows are [`Times::row`].
pub fn head(what: &str) {
    println!("\n| {what} | p50 ns | p95 ns | p99 ns |\n| --- | ---: | ---: | ---: |");
}
