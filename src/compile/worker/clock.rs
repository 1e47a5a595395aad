//! How long a worker may take: by its own processor time, so that a busy machine costs no shader.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

/// How much longer than the deadline a worker may take by the clock on the wall, which ends one that sleeps.
const WALL_FACTOR: u32 = 10;
/// How often a worker's time is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The limit on the wall that goes with a deadline.
pub fn wall_limit(deadline: Duration) -> Duration {
    deadline.saturating_mul(WALL_FACTOR)
}

/// Waits for the answer of process `pid` until it has spent `deadline` of processor time on it, or [`wall_limit`] has passed.
///
/// # Errors
/// Which of the two was reached, in words.
pub async fn watch<T>(pid: Option<u32>, deadline: Duration, answer: impl Future<Output = T>) -> Result<T, String> {
    let mut answer = pin!(answer);
    let begun = Instant::now();
    let before = pid.and_then(processor_time);
    loop {
        if let Ok(answer) = tokio::time::timeout(LOOK, &mut answer).await {
            return Ok(answer);
        }
        let passed = begun.elapsed();
        // A system that does not tell leaves the clock on the wall.
        let used = pid.and_then(processor_time).zip(before).map_or(passed, |(now, before)| now.saturating_sub(before));
        if used >= deadline {
            return Err(format!("no answer in {:.1} s of processor time", used.as_secs_f64()));
        }
        if passed >= wall_limit(deadline) {
            let (passed, used) = (passed.as_secs_f64(), used.as_secs_f64());
            return Err(format!("no answer in {passed:.1} s, of which it computed {used:.1} s"));
        }
    }
}

/// What a process and its threads have spent so far, in user and kernel mode (proc(5): `stat`, fields 14 and 15).
fn processor_time(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()?.checked_add(fields.next()?.parse().ok()?)?;
    Some(Duration::from_millis(ticks.checked_mul(1000)?.checked_div(rustix::param::clock_ticks_per_second())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_others_use_is_not_counted() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // A process that sleeps: only the wall ends it, ten times later than its deadline would.
        let mut sleeper = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let begun = Instant::now();
        let never = std::future::pending::<()>();
        let why = runtime.block_on(watch(Some(sleeper.id()), Duration::from_millis(200), never)).unwrap_err();
        assert!(begun.elapsed() >= Duration::from_secs(2) && why.contains("of which it computed 0.0 s"), "{why}");
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();

        // One that computes is ended by what it computed.
        let mut busy = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let never = std::future::pending::<()>();
        let why = runtime.block_on(watch(Some(busy.id()), Duration::from_millis(200), never)).unwrap_err();
        assert!(why.ends_with("s of processor time"), "{why}");
        busy.kill().unwrap();
        busy.wait().unwrap();
    }
}
