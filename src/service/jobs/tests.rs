//! The order of jobs, case by case, and its invariants under any sequence of events.

use super::*;
use proptest::prelude::*;

const NOW: Time = Duration::ZERO;

fn key(n: u8) -> Key {
    Key([n; 32])
}

fn waiter(client: u64, id: u64) -> Waiter {
    Waiter { client: ClientId(client), id }
}

impl Jobs {
    fn add(&mut self, n: u8, who: Waiter, class: Priority) -> bool {
        let new = self.join(key(n), who, class, NOW);
        self.ready(key(n), NOW);
        new
    }

    fn add_many(&mut self, numbers: std::ops::RangeInclusive<u8>, client: u64) {
        for n in numbers {
            self.add(n, waiter(client, n.into()), Priority::Soon);
        }
    }

    /// The order in which the remaining jobs run, if each costs this many milliseconds.
    fn order(&mut self, cost: impl Fn(u8) -> u64) -> Vec<u8> {
        let mut order = Vec::new();
        while let Some((next, _)) = self.next(true, NOW) {
            self.finish(&next, Duration::from_millis(cost(next.0[0])));
            order.push(next.0[0]);
        }
        order
    }
}

#[test]
fn all_who_ask_for_the_same_get_one_job() {
    let mut jobs = Jobs::default();
    assert!(jobs.add(1, waiter(1, 1), Priority::Soon));
    for client in 2..=64 {
        assert!(!jobs.add(1, waiter(client, 1), Priority::Soon));
    }
    assert_eq!(jobs.next(true, NOW), Some((key(1), Priority::Soon)));
    assert_eq!(jobs.next(true, NOW), None);
    // A waiter that comes while the job runs joins it too.
    assert!(!jobs.add(1, waiter(65, 1), Priority::Waits));
    assert_eq!(jobs.finish(&key(1), ESTIMATE).len(), 65);
    assert!(jobs.is_empty());
}

#[test]
fn the_most_urgent_class_comes_first_and_background_waits_if_it_has_to() {
    let mut jobs = Jobs::default();
    for (n, class) in [(4, Priority::Populate), (3, Priority::Optimize), (2, Priority::Soon), (1, Priority::Waits)] {
        jobs.add(n, waiter(1, u64::from(n)), class);
    }
    assert_eq!(jobs.next(false, NOW), Some((key(1), Priority::Waits)));
    assert_eq!(jobs.next(false, NOW), Some((key(2), Priority::Soon)));
    assert_eq!(jobs.next(false, NOW), None);
    assert_eq!(jobs.order(|_| 1), [3, 4]);
}

#[test]
fn a_job_has_the_best_class_of_those_who_wait_for_it() {
    let mut jobs = Jobs::default();
    jobs.add(1, waiter(1, 1), Priority::Soon);
    jobs.add(2, waiter(1, 2), Priority::Populate);
    jobs.add(2, waiter(2, 1), Priority::Waits);
    assert_eq!(jobs.next(true, NOW), Some((key(2), Priority::Waits)));
    jobs.finish(&key(2), ESTIMATE);
    // The job loses the class when that waiter leaves, or changes its class.
    jobs.add(3, waiter(1, 3), Priority::Populate);
    jobs.add(3, waiter(2, 2), Priority::Waits);
    jobs.leave(waiter(2, 2));
    assert_eq!(jobs.next(true, NOW), Some((key(1), Priority::Soon)));
    jobs.reclass(waiter(1, 3), Priority::Waits, NOW);
    assert_eq!(jobs.next(true, NOW), Some((key(3), Priority::Waits)));
}

#[test]
fn clients_get_shares_by_what_was_computed_for_them() {
    // One client asks for a hundred jobs, another later for three: the second does not wait for the hundred.
    let mut jobs = Jobs::default();
    jobs.add_many(1..=100, 1);
    jobs.add_many(101..=103, 2);
    let order = jobs.order(|_| 15);
    assert_eq!(order[..6], [1, 101, 2, 102, 3, 103]);

    // A client whose jobs cost ten times as much gets a tenth as many.
    jobs.add_many(1..=60, 3);
    jobs.add_many(101..=106, 4);
    let order = jobs.order(|n| if n > 100 { 100 } else { 10 });
    let dear = |order: &[u8]| order.iter().filter(|n| **n > 100).count();
    assert!((3..=5).contains(&dear(&order[..34])), "{order:?}");
}

#[test]
fn idleness_is_not_saved_up() {
    let mut jobs = Jobs::default();
    jobs.add_many(1..=50, 1);
    jobs.order(|_| 15);
    // Client 2 comes after client 1 has used nearly a second: from here on they share.
    jobs.add_many(1..=6, 1);
    jobs.add_many(11..=16, 2);
    let first: Vec<u8> = jobs.order(|_| 15).into_iter().take(6).collect();
    assert_eq!(first.iter().filter(|n| **n > 10).count(), 3, "{first:?}");
}

#[test]
fn what_waits_for_a_minute_moves_up() {
    let mut jobs = Jobs::default();
    jobs.add(1, waiter(1, 1), Priority::Populate);
    jobs.join(key(2), waiter(2, 1), Priority::Optimize, AGEING);
    jobs.ready(key(2), AGEING);
    assert_eq!(jobs.next(true, AGEING).map(|(key, _)| key), Some(key(1)));

    let mut jobs = Jobs::default();
    jobs.add(1, waiter(1, 1), Priority::Populate);
    jobs.join(key(2), waiter(2, 1), Priority::Optimize, NOW);
    jobs.ready(key(2), NOW);
    assert_eq!(jobs.next(true, NOW), Some((key(2), Priority::Optimize)));
}

#[test]
fn a_job_that_nobody_wants_is_dropped_unless_a_worker_has_it() {
    let mut jobs = Jobs::default();
    jobs.add(1, waiter(1, 1), Priority::Soon);
    jobs.add(2, waiter(1, 2), Priority::Soon);
    assert!(jobs.leave(waiter(1, 2)) && jobs.len() == 1);
    let (running, _) = jobs.next(true, NOW).unwrap();
    assert!(!jobs.leave(waiter(1, 1)) && jobs.len() == 1);
    // Another client may still join it.
    assert!(!jobs.add(1, waiter(2, 1), Priority::Soon));
    assert_eq!(jobs.finish(&running, ESTIMATE).len(), 1);
    // An abandoned job without waiters is dropped.
    jobs.add(3, waiter(1, 3), Priority::Populate);
    jobs.next(true, NOW);
    jobs.leave(waiter(1, 3));
    assert!(!jobs.again(key(3), NOW) && jobs.is_empty());
}

#[test]
fn a_job_that_had_to_be_left_comes_again_in_its_old_place() {
    let mut jobs = Jobs::default();
    jobs.add(1, waiter(1, 1), Priority::Populate);
    jobs.add(2, waiter(1, 2), Priority::Populate);
    assert_eq!(jobs.next(true, NOW).map(|(key, _)| key), Some(key(1)));
    assert!(jobs.again(key(1), NOW));
    assert_eq!(jobs.order(|_| 1), [1, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Under any sequence of events, every waiter that joined and did not leave is served once, and nothing is left
    /// over.
    #[test]
    fn everybody_is_served_once(steps in proptest::collection::vec((0u8..6, 0u8..8, 1u64..5, 0u64..6), 0..120)) {
        let mut jobs = Jobs::default();
        let mut expected: BTreeMap<Waiter, Key> = BTreeMap::new();
        let mut served: Vec<Waiter> = Vec::new();
        let mut now = NOW;
        let mut done = |jobs: &mut Jobs, key: &Key, expected: &mut BTreeMap<Waiter, Key>| {
            for one in jobs.finish(key, ESTIMATE) {
                assert_eq!(expected.remove(&one.waiter), Some(*key), "served and did not wait");
                served.push(one.waiter);
            }
        };
        for (step, n, client, id) in steps {
            now += Duration::from_secs(7);
            let (who, class) = (waiter(client, id), Priority::ALL[usize::from(n) % 4]);
            match step {
                0 | 1 => {
                    jobs.join(key(n), who, class, now);
                    jobs.ready(key(n), now);
                    expected.insert(who, key(n));
                }
                2 => {
                    jobs.leave(who);
                    expected.remove(&who);
                }
                3 => jobs.reclass(who, class, now),
                4 => _ = jobs.next(n % 2 == 0, now),
                _ => {
                    let first = jobs.running().next();
                    match first {
                        Some((key, ..)) if n % 2 == 0 => _ = jobs.again(key, now),
                        Some((key, ..)) => done(&mut jobs, &key, &mut expected),
                        None => {}
                    }
                }
            }
            let queued: usize = Priority::ALL.iter().map(|class| jobs.queued(*class)).sum();
            prop_assert!(queued <= jobs.waiting.len());
            let with_workers = jobs.jobs.iter().filter(|(_, job)| matches!(job.state, JobState::Running(..)));
            prop_assert!(with_workers.map(|(key, _)| key).eq(&jobs.running));
        }
        for (key, ..) in jobs.running().collect::<Vec<_>>() {
            done(&mut jobs, &key, &mut expected);
        }
        while let Some((key, _)) = jobs.next(true, now) {
            done(&mut jobs, &key, &mut expected);
        }
        prop_assert!(expected.is_empty(), "not served: {expected:?}");
        prop_assert!(jobs.is_empty() && jobs.waiting.is_empty() && jobs.running.is_empty());
        prop_assert!(jobs.queues.iter().all(BTreeMap::is_empty));
    }
}
