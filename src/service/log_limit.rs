//! A limit for log lines that clients cause, so that no client can fill the log.

use std::time::Duration;

/// Number of lines in each interval.
const MOST: u32 = 30;
/// Length of an interval.
const INTERVAL: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct LogLimit {
    began: Duration,
    lines: u32,
    dropped: u32,
}

impl LogLimit {
    /// What is to be logged at this time for this line: nothing beyond the limit, and after it how many lines were dropped.
    pub(super) fn pass(&mut self, now: Duration, line: String) -> Vec<String> {
        let mut out = Vec::new();
        if now >= self.began + INTERVAL {
            if self.dropped > 0 {
                out.push(format!("{} more lines about clients were dropped: over {MOST} a minute", self.dropped));
            }
            *self = Self { began: now, ..Self::default() };
        }
        if self.lines < MOST {
            self.lines += 1;
            out.push(line);
        } else {
            self.dropped += 1;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_counted() {
        let mut limit = LogLimit::default();
        let logged = |limit: &mut LogLimit, second, lines: u32| -> Vec<String> {
            let now = Duration::from_secs(second);
            (0..lines).flat_map(|n| limit.pass(now, n.to_string())).collect()
        };
        assert_eq!(logged(&mut limit, 1, MOST + 7).len(), MOST as usize);
        assert!(logged(&mut limit, 59, 1).is_empty());
        let next = logged(&mut limit, 60, 2);
        assert!(
            matches!(&next[..], [dropped, a, b] if dropped.starts_with("8 more") && (&**a, &**b) == ("0", "1")),
            "{next:?}"
        );
        assert_eq!(logged(&mut limit, 200, 1), ["0"], "none was dropped");
    }
}
