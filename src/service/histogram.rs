//! Histograms of durations. All have the same bounds, so that the histograms of several services can be added.

use dovetail_wire::Times;
use std::time::Duration;

/// Upper bounds in microseconds: three per decade, from less than a round trip to more than any deadline.
const BOUNDS: [u64; 20] = [
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
];

/// A histogram.
#[derive(Clone, Copy, Default)]
pub struct Histogram {
    /// Counts by bound; the last is of times beyond all bounds.
    counts: [u64; BOUNDS.len() + 1],
    sum: Duration,
    longest: Duration,
}

impl Histogram {
    /// Adds a duration.
    pub fn add(&mut self, time: Duration) {
        let bound = BOUNDS.partition_point(|bound| u128::from(*bound) < time.as_micros());
        if let Some(count) = self.counts.get_mut(bound) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(time);
        self.longest = self.longest.max(time);
    }

    /// Its summary.
    pub fn times(&self) -> Times {
        let mut sum = 0;
        let buckets: Vec<(u64, u64)> = BOUNDS
            .iter()
            .zip(&self.counts)
            .map(|(bound, count)| {
                sum += count;
                (*bound, sum)
            })
            .collect();
        let percentile = |share| self.percentile(share);
        Times {
            count: self.counts.iter().sum(),
            sum_us: micros(self.sum),
            p50_us: percentile(50),
            p95_us: percentile(95),
            p99_us: percentile(99),
            buckets,
        }
    }

    /// The time that this percentage of the durations does not exceed, if durations are evenly spread between two
    /// bounds.
    fn percentile(&self, percent: u64) -> u64 {
        let all: u64 = self.counts.iter().sum();
        // The rank, rounded up; ranks begin with 1.
        let mut rank = (u128::from(all) * u128::from(percent)).div_ceil(100) as u64;
        let longest = micros(self.longest);
        let mut below = 0;
        for (bound, count) in BOUNDS.iter().chain([&u64::MAX]).zip(&self.counts) {
            // No duration exceeds the longest.
            let bound = longest.min(*bound);
            if rank > 0 && rank <= *count {
                let wide = u128::from(bound.saturating_sub(below));
                return below + (wide * u128::from(rank) / u128::from(*count)) as u64;
            }
            (rank, below) = (rank - count.min(&rank), bound);
        }
        0
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = u64>) -> Times {
        let mut histogram = Histogram::default();
        times.into_iter().for_each(|us| histogram.add(Duration::from_micros(us)));
        histogram.times()
    }

    #[test]
    fn percentiles_lie_between_the_right_bounds() {
        let even = of(1..=10_000);
        assert_eq!((even.count, even.sum_us), (10_000, 50_005_000));
        assert_eq!((even.p50_us, even.p95_us, even.p99_us), (5_000, 9_500, 9_900));
        // One in fifty is slow: it shows in the highest percentiles, not in the median.
        let slow = of((0..1000).map(|n| if n % 50 == 0 { 700_000 } else { 150 }));
        assert!((100..=200).contains(&slow.p50_us) && (100..=200).contains(&slow.p95_us), "{slow:?}");
        assert!((500_000..=700_000).contains(&slow.p99_us), "{slow:?}");
    }

    #[test]
    fn nothing_and_extremes_are_counted() {
        assert_eq!(of([]).p99_us, 0);
        let one = of([30]);
        assert_eq!((one.p50_us, one.p99_us), (30, 30));
        let extremes = of([0, u64::MAX]);
        assert_eq!((extremes.count, extremes.buckets[0], extremes.buckets[19]), (2, (50, 1), (100_000_000, 1)));
        assert_eq!(extremes.p99_us, u64::MAX);
        // A time equal to a bound counts below it.
        assert_eq!(of([50, 51]).buckets[..2], [(50, 1), (100, 2)]);
        let buckets = of(1..5000).buckets;
        assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{buckets:?}");
    }
}
