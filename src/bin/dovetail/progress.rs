//! Progress of a long command: a bar on a terminal, otherwise a line every few seconds.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(5);

/// Counts finished items; prints nothing in the first two seconds.
pub struct Progress {
    bar: Option<ProgressBar>,
    total: AtomicU64,
    started: Instant,
    plain: Mutex<(u64, Instant)>,
}

impl Progress {
    pub fn new(total: usize, what: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total as u64);
            if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {per_sec}, ETA {eta}") {
                bar.set_style(style);
            }
            bar.set_message(what.to_owned());
            bar
        });
        let now = Instant::now();
        Self { bar, total: AtomicU64::new(total as u64), started: now, plain: Mutex::new((0, now)) }
    }

    /// Adds items to the total.
    pub fn found(&self, more: usize) {
        let total = self.total.fetch_add(more as u64, Ordering::Relaxed).saturating_add(more as u64);
        if let Some(bar) = &self.bar {
            bar.set_length(total);
        }
    }

    pub fn tick(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
            return;
        }
        let Ok(mut plain) = self.plain.lock() else { return };
        plain.0 += 1;
        let total = self.total.load(Ordering::Relaxed);
        if plain.1.elapsed() >= EVERY && plain.0 < total {
            plain.1 = Instant::now();
            let rate = plain.0 as f64 / self.started.elapsed().as_secs_f64();
            let eta = (total - plain.0) as f64 / rate;
            eprintln!("{}/{}, {rate:.0}/s, ETA {eta:.0} s", plain.0, total);
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
