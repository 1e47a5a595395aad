//! Limits a worker's time: its own processor time counts, so that a busy machine makes no shader fail.

use std::fs::File;
use std::future::Future;
use std::os::unix::fs::FileExt;
use std::pin::pin;
use std::time::{Duration, Instant};

/// A worker that waits may take this many times its deadline in real time, since a compiler has nothing to wait for.
const WAIT_FACTOR: u32 = 10;
/// Interval at which a worker's time is read.
const LOOK: Duration = Duration::from_millis(50);

/// The limit on waiting for a given deadline.
pub fn wait_limit(deadline: Duration) -> Duration {
    deadline.saturating_mul(WAIT_FACTOR)
}

/// Waits for the answer of process `pid` until it has used `deadline` of processor time, or has waited for
/// [`wait_limit`]. A runnable process that gets no processor does not count as waiting. What it uses before the first
/// look does not count either: most answers come before it, and reading a process's time costs as much as a small part of
/// a compile.
///
/// # Errors
/// Which of the two limits was reached, in words.
pub async fn watch<T>(pid: Option<u32>, deadline: Duration, answer: impl Future<Output = T>) -> Result<T, String> {
    let mut answer = pin!(answer);
    let mut before = None;
    let mut waited = Duration::ZERO;
    loop {
        let looked = Instant::now();
        if let Ok(answer) = tokio::time::timeout(LOOK, &mut answer).await {
            return Ok(answer);
        }
        // If the system does not tell, the wall clock remains.
        let now = pid.and_then(Spent::of);
        let now = now.unwrap_or(Spent { processor: before.unwrap_or_default(), runs: false });
        let used = now.processor.saturating_sub(*before.get_or_insert(now.processor));
        if used >= deadline {
            return Err(format!("no answer in {:.1} s of processor time", used.as_secs_f64()));
        }
        if !now.runs {
            waited = waited.saturating_add(looked.elapsed());
        }
        if waited >= wait_limit(deadline) {
            let (waited, used) = (waited.as_secs_f64(), used.as_secs_f64());
            return Err(format!("no answer: it has waited for {waited:.1} s, and computed for {used:.1} s"));
        }
    }
}

/// A process's state.
struct Spent {
    /// Time of it and its threads so far, in user and kernel mode.
    processor: Duration,
    /// Whether it runs, or is runnable.
    runs: bool,
}

impl Spent {
    /// Reads proc(5) `stat`, fields 3, 14 and 15.
    fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name in parentheses, which may contain any bytes.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let runs = fields.next()? == "R";
        let mut times = fields.skip(10).map(|field| field.parse::<u64>().ok());
        let ticks = times.next()??.checked_add(times.next()??)?;
        let milliseconds = ticks.checked_mul(1000)?.checked_div(rustix::param::clock_ticks_per_second())?;
        Some(Self { processor: Duration::from_millis(milliseconds), runs })
    }
}

/// What a process uses, from files of proc(5) that stay open: opening one costs more than reading it.
#[derive(Default)]
pub struct ProcessUsage {
    schedstat: Option<File>,
    statm: Option<File>,
}

impl ProcessUsage {
    /// The usage of a running process.
    pub fn of(pid: u32) -> Self {
        let open = |name: &str| File::open(format!("/proc/{pid}/{name}")).ok();
        Self { schedstat: open("schedstat"), statm: open("statm") }
    }

    /// Processor time of a process with one thread, in nanoseconds where the kernel keeps them; `None` after its end.
    pub fn processor_time(&self) -> Option<Duration> {
        number(self.schedstat.as_ref()?, 0).map(Duration::from_nanos)
    }

    /// Resident memory in bytes; `None` after its end.
    pub fn resident(&self) -> Option<u64> {
        Some(number(self.statm.as_ref()?, 1)?.saturating_mul(rustix::param::page_size() as u64))
    }
}

/// A number of a file that has one line of them.
fn number(file: &File, index: usize) -> Option<u64> {
    let mut line = [0; 256];
    let length = file.read_at(&mut line, 0).ok()?;
    let line = std::str::from_utf8(line.get(..length)?).ok()?;
    line.split_ascii_whitespace().nth(index)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_others_use_is_not_counted() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // A sleeping process is ended at ten times its deadline.
        let mut sleeper = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let begun = Instant::now();
        let never = std::future::pending::<()>();
        let why = runtime.block_on(watch(Some(sleeper.id()), Duration::from_millis(200), never)).unwrap_err();
        assert!(begun.elapsed() >= Duration::from_secs(2) && why.contains("and computed for 0.0 s"), "{why}");
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();

        // A computing process is ended by its processor time.
        let mut busy = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let never = std::future::pending::<()>();
        let why = runtime.block_on(watch(Some(busy.id()), Duration::from_millis(200), never)).unwrap_err();
        assert!(why.ends_with("s of processor time"), "{why}");
        busy.kill().unwrap();
        busy.wait().unwrap();
    }
}
