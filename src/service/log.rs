//! The service's log. Clients cannot fill it: lines that they cause are limited in number, and all lines in length.

use dovetail_base::error::printable;
use std::time::Duration;

/// Number of lines that clients may cause in each interval.
const MOST: u32 = 30;
/// Length of an interval.
const INTERVAL: Duration = Duration::from_secs(60);
/// Length of the longest line in bytes; real ones have a few hundred.
const LONGEST: usize = 2000;

pub(super) struct Log<'a> {
    write: &'a dyn Fn(&str),
    /// Start of the interval.
    began: Duration,
    lines: u32,
    dropped: u32,
}

impl<'a> Log<'a> {
    pub(super) fn new(write: &'a dyn Fn(&str)) -> Self {
        Self { write, began: Duration::ZERO, lines: 0, dropped: 0 }
    }

    /// Logs a line.
    pub(super) fn say(&self, line: &str) {
        let line = printable(line);
        let end = line.floor_char_boundary(LONGEST);
        let more = if end < line.len() { " …" } else { "" };
        (self.write)(&format!("{}{more}", &line[..end]));
    }

    /// Logs a line that a client has caused, unless there were too many.
    pub(super) fn say_of_client(&mut self, now: Duration, line: &str) {
        self.tick(now);
        if self.lines < MOST {
            self.lines += 1;
            self.say(line);
        } else {
            self.dropped += 1;
        }
    }

    /// Begins a new interval if it is time for one.
    pub(super) fn tick(&mut self, now: Duration) {
        if now >= self.began + INTERVAL {
            self.say_dropped();
            (self.began, self.lines) = (now, 0);
        }
    }

    /// Logs how many lines were dropped since this was last said.
    pub(super) fn say_dropped(&mut self) {
        if self.dropped > 0 {
            self.say(&format!("{} more lines about clients were dropped: over {MOST} a minute", self.dropped));
            self.dropped = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn lines_beyond_the_limit_are_counted() {
        let lines = RefCell::new(Vec::new());
        let write = |line: &str| lines.borrow_mut().push(line.to_owned());
        let mut log = Log::new(&write);
        let mut of_client = |second, count: u32| {
            (0..count).for_each(|n| log.say_of_client(Duration::from_secs(second), &n.to_string()));
            if count == 0 {
                log.say_dropped();
            }
            lines.take()
        };
        assert_eq!(of_client(1, MOST + 7).len(), MOST as usize);
        assert!(of_client(59, 1).is_empty());
        let next = of_client(60, 2);
        assert!(next[0].starts_with("8 more") && next[1..] == ["0", "1"], "{next:?}");
        assert_eq!(of_client(200, MOST + 1).len(), MOST as usize, "none was dropped before");
        assert!(of_client(201, 0)[0].starts_with("1 more"));
        assert!(of_client(202, 0).is_empty());
    }

    #[test]
    fn a_line_stays_one_line_of_limited_length() {
        let lines = RefCell::new(Vec::new());
        let write = |line: &str| lines.borrow_mut().push(line.to_owned());
        Log::new(&write).say(&format!("client: x\nlistens on {}", "ü".repeat(5000)));
        let line = lines.take().concat();
        assert!(line.starts_with("client: x\\nlistens on ü") && line.ends_with("ü …"), "{line}");
        assert!(line.len() <= LONGEST + 5 && !line.contains('\n'));
    }
}
