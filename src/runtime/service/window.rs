//! Limits outstanding requests: a service refuses more than its limit for a while, and disconnects a client that leaves
//! too many bytes of answers unread. What does not fit is held back; the most urgent is sent first, and what a thread
//! waits for at once.

use dovetail_wire::Priority;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Most outstanding requests whose answers carry their ELFs: with 128 KiB each they stay below the service's limit of
/// 8 MiB.
const MOST_INLINE: usize = 64;
/// Most offers in each interval whose answers carry ELFs. Offers do not count as outstanding, since the answer may take
/// hours; but if the service knows its verdict, it sends the parts at once.
const OFFERS: usize = 16;
const INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct Window {
    /// Half of the requests that the service admits; the other half is for what threads wait for.
    half: usize,
    /// Most outstanding requests if answers carry their ELFs: fewer after a connection was lost, in case that was the
    /// reason.
    most_inline: usize,
    /// Whether they do on this connection.
    is_inline: bool,
    outstanding: BTreeSet<u64>,
    held: BTreeSet<(Priority, u64)>,
    /// The priorities under which they are held back.
    classes: BTreeMap<u64, Priority>,
    /// Start of the interval, and the offers in it.
    offers: (Instant, usize),
}

impl Window {
    pub(super) fn new(now: Instant) -> Self {
        let (outstanding, held, classes) = Default::default();
        let (half, most_inline) = (MOST_INLINE, MOST_INLINE);
        Self { half, most_inline, is_inline: true, outstanding, held, classes, offers: (now, 0) }
    }

    /// Begins a connection to a service that admits so many requests; `is_inline`: answers carry their ELFs.
    pub(super) fn connected(&mut self, limit: u32, is_inline: bool) {
        (self.half, self.is_inline) = ((limit as usize / 2).max(1), is_inline);
    }

    fn is_full(&self) -> bool {
        let most = if self.is_inline { self.most_inline.min(self.half) } else { self.half };
        self.outstanding.len() >= most
    }

    /// Whether a request may be sent now; if not, it is held back.
    pub(super) fn admit(&mut self, id: u64, class: Priority) -> bool {
        self.release(id);
        let fits = class == Priority::Waits || !self.is_full();
        if fits {
            self.outstanding.insert(id);
        } else {
            self.held.insert((class, id));
            self.classes.insert(id, class);
        }
        fits
    }

    /// Whether it is held back.
    pub(super) fn holds(&self, id: u64) -> bool {
        self.classes.contains_key(&id)
    }

    fn release(&mut self, id: u64) {
        if let Some(class) = self.classes.remove(&id) {
            self.held.remove(&(class, id));
        }
    }

    /// Counts an offer; the time at which it may be sent, if that is not now.
    pub(super) fn offer(&mut self, now: Instant) -> Option<Instant> {
        let (start, count) = self.offers;
        if now >= start + INTERVAL {
            self.offers = (now, 1);
            return None;
        }
        self.offers.1 += 1;
        // Later offers are spread over later intervals.
        let later = u32::try_from(count / OFFERS).unwrap_or(u32::MAX);
        (later > 0).then(|| start + INTERVAL.saturating_mul(later))
    }

    /// Forgets a request that was answered, postponed or cancelled.
    pub(super) fn forget(&mut self, id: u64) {
        if self.outstanding.remove(&id) && self.is_inline {
            self.most_inline = (self.most_inline + 1).min(MOST_INLINE);
        }
        self.release(id);
    }

    /// Takes a request that was held back, and fits now.
    pub(super) fn next(&mut self) -> Option<u64> {
        let (_, id) = self.held.first().copied().filter(|_| !self.is_full())?;
        self.release(id);
        Some(id)
    }

    /// Handles a lost connection, after which all requests are repeated.
    pub(super) fn disconnected(&mut self) {
        if self.is_inline && self.is_full() {
            self.most_inline = (self.most_inline / 2).max(1);
        }
        self.outstanding.clear();
        self.held.clear();
        self.classes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inline() -> Window {
        let mut window = Window::new(Instant::now());
        window.connected(4096, true);
        window
    }

    #[test]
    fn the_most_urgent_go_first_and_those_waited_for_at_once() {
        let mut window = inline();
        let most = MOST_INLINE as u64;
        assert!((0..most).all(|id| window.admit(id, Priority::Soon)));
        assert!(!window.admit(most, Priority::Populate) && !window.admit(most + 1, Priority::Soon));
        assert!(window.admit(most + 2, Priority::Waits));
        assert_eq!(window.next(), None);
        window.forget(0);
        assert_eq!(window.next(), None, "the one that was waited for took the place");
        window.forget(1);
        assert_eq!(window.next(), Some(most + 1));
        assert!(window.admit(most + 1, Priority::Soon));
        assert_eq!(window.next(), None);
        window.forget(most);
        window.forget(2);
        assert_eq!(window.next(), None, "it was cancelled while it was held back");
    }

    #[test]
    fn a_lost_connection_that_was_full_makes_it_smaller_for_a_while() {
        let mut window = inline();
        let admitted = |window: &mut Window| {
            window.connected(4096, true);
            (0..100).filter(|id| window.admit(*id, Priority::Soon)).count()
        };
        assert_eq!(admitted(&mut window), MOST_INLINE);
        window.disconnected();
        assert_eq!(admitted(&mut window), MOST_INLINE / 2);
        (0..10).for_each(|id| window.forget(id));
        window.disconnected();
        assert_eq!(admitted(&mut window), MOST_INLINE / 2 + 10, "it was not full");
        for _ in 0..20 {
            window.disconnected();
            admitted(&mut window);
        }
        window.disconnected();
        assert_eq!(admitted(&mut window), 1);
    }

    #[test]
    fn without_elfs_half_of_the_services_limit_is_used() {
        let mut window = inline();
        window.connected(1000, false);
        assert_eq!((0..2000).filter(|id| window.admit(*id, Priority::Soon)).count(), 500);
        window.disconnected();
        window.connected(1000, true);
        assert_eq!((0..2000).filter(|id| window.admit(*id, Priority::Soon)).count(), MOST_INLINE);
    }

    #[test]
    fn offers_are_spread() {
        let now = Instant::now();
        let mut window = Window::new(now);
        let times: Vec<_> = (0..2 * OFFERS + 1).map(|_| window.offer(now)).collect();
        assert!(times[..OFFERS].iter().all(Option::is_none));
        assert!(times[OFFERS..2 * OFFERS].iter().all(|at| *at == Some(now + INTERVAL)));
        assert_eq!(times[2 * OFFERS], Some(now + 2 * INTERVAL));
        assert_eq!(window.offer(now + INTERVAL), None);
    }
}
