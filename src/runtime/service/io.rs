//! The thread `dvt-io`: carries out orders, maintains the connection, and waits for the next order, answer or deadline.

use super::super::context::Shared;
use super::desk::{Desk, Order, Reach};
use super::job::{JobStep, ServiceJob};
use super::requests::Requests;
use super::session::Session;
use super::waiting::Waiting;
use super::window::Window;
use dovetail_base::error::Error;
use dovetail_wire::{Ask, Priority};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Delay from a lost connection to the next attempt, and the longest delay after several failures.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Interval between messages about draws.
const DRAWS: Duration = Duration::from_secs(1);

/// Posts an order to the thread of a context that has a service.
pub(crate) fn post(shared: &Arc<Shared>, order: Order) {
    if let Some(desk) = &shared.service {
        let (of_thread, at) = (shared.clone(), desk.clone());
        desk.post(order, &shared.events, move || run(of_thread, at));
    }
}

/// Runs until the context is closed.
fn run(shared: Arc<Shared>, desk: Arc<Desk>) {
    let now = Instant::now();
    let mut io = Io {
        shared,
        desk,
        requests: Requests::default(),
        waiting: Waiting::default(),
        window: Window::new(now),
        session: None,
        unheard: false,
        try_at: Some(now),
        backoff: BACKOFF.0,
        draws_at: now,
    };
    let ended = catch_unwind(AssertUnwindSafe(|| {
        while let Some(orders) = io.desk.orders() {
            io.turn(orders);
        }
        io.session.take().into_iter().for_each(Session::end);
    }));
    if ended.is_err() {
        io.desk.set_reach(&io.shared.events, Reach::Away(Error::bug("the thread dvt-io panicked")));
        io.desk.take_no_more();
    }
}

pub(super) struct Io {
    pub(super) shared: Arc<Shared>,
    pub(super) desk: Arc<Desk>,
    pub(super) requests: Requests,
    /// Jobs to resume when another job completes.
    waiting: Waiting,
    pub(super) window: Window,
    pub(super) session: Option<Session>,
    /// Whether the session may hold messages that no poll reports.
    unheard: bool,
    /// Time of the next connection attempt; `None` if connecting is not possible.
    try_at: Option<Instant>,
    backoff: Duration,
    /// Time of the next message about draws.
    draws_at: Instant,
}

impl Io {
    fn turn(&mut self, orders: Vec<Order>) {
        for order in orders {
            if self.desk.is_closing() {
                return;
            }
            match order {
                Order::Start(job) => job.upgrade().iter().for_each(|job| self.advance(job)),
                Order::Urgency(id) if self.window.holds(id) => self.ask(id),
                Order::Urgency(id) => {
                    if let Some(ask) = self.requests.class(id) {
                        self.send(&ask);
                    }
                }
                Order::Settled(id) => {
                    let was_sent = !self.window.holds(id);
                    let (was_open, was_drawn) = (self.requests.remove(id), self.requests.forget_draws(id));
                    if (was_open || was_drawn) && was_sent {
                        self.send(&Ask::Cancel { id });
                    }
                    self.leaves_window(id);
                    self.waiting.remove(id);
                    self.ended(id);
                }
            }
        }
        let now = Instant::now();
        self.connect(now);
        while let Some(id) = self.requests.due(now) {
            self.ask(id);
        }
        self.tell_draws(now);
        let checked = self.session.as_mut().map_or(Ok(None), |session| session.check(!self.requests.is_empty(), now));
        match checked {
            Ok(check_at) => self.sleep(check_at),
            Err(e) => self.lost(e),
        }
    }

    /// Advances a job as far as possible.
    fn advance(&mut self, job: &Arc<dyn ServiceJob>) {
        let id = job.id();
        match job.step() {
            JobStep::Nothing => {
                self.requests.remove(id);
                return self.ended(id);
            }
            JobStep::After(other) => {
                self.requests.remove(id);
                self.waiting.add(other, job);
            }
            JobStep::Ask => {
                if self.requests.add(job) {
                    self.desk.count_ask();
                }
                self.ask(id);
            }
        }
        // Waiters must check again: the pipeline may never reach the awaited generation, or reach another one.
        self.desk.notify();
    }

    /// Resumes the jobs that waited for this one.
    pub(super) fn ended(&mut self, id: u64) {
        for job in self.waiting.take(id).iter().filter_map(Weak::upgrade) {
            self.advance(&job);
        }
        self.desk.notify();
    }

    /// Sends a request, or queues it until there is a connection, and room for its answer.
    pub(super) fn ask(&mut self, id: u64) {
        let Some(session) = &self.session else { return };
        let inline = session.inline_because().is_some() || self.shared.cache_dir.is_none();
        match self.requests.job(id).map(|job| job.class()) {
            Some(Priority::Optimize) => {
                let until = if inline { self.window.offer(Instant::now()) } else { None };
                if let Some(until) = until {
                    return self.requests.postpone(id, until);
                }
            }
            Some(class) if !self.window.admit(id, class) => return,
            Some(_) | None => {}
        }
        match self.requests.ask(id, inline) {
            Some(ask) => self.send(&ask),
            None => {
                self.requests.remove(id);
                self.window.forget(id);
            }
        }
    }

    /// A request is not outstanding any more, so others may be sent.
    pub(super) fn leaves_window(&mut self, id: u64) {
        self.window.forget(id);
        while let Some(next) = self.window.next() {
            self.resume(next);
        }
    }

    /// Sends a request that was held back, unless it has become superfluous: another request may have had the same answer.
    fn resume(&mut self, id: u64) {
        match self.requests.job(id) {
            Some(job) => self.advance(&job),
            None => _ = self.requests.remove(id),
        }
    }

    /// Sends a message if there is a connection and the context is not being closed: a message takes up to two seconds if
    /// the service does not read it.
    pub(super) fn send(&mut self, ask: &Ask) {
        let Some(session) = self.session.as_mut().filter(|_| !self.desk.is_closing()) else { return };
        if let Err(e) = session.send(ask) {
            self.lost(e);
        }
    }

    /// Connects if the delay has passed and there is anything to request.
    fn connect(&mut self, now: Instant) {
        if self.session.is_some()
            || self.desk.is_closing()
            || self.requests.is_empty()
            || self.try_at.is_none_or(|at| now < at)
        {
            return;
        }
        if self.desk.reach() == Reach::Idle {
            self.desk.set_reach(&self.shared.events, Reach::Connecting);
        }
        match Session::open(&self.shared, &self.desk) {
            Ok(session) => {
                let why = session.inline_because().map(str::to_owned);
                self.window.connected(session.most_requests(), why.is_some() || self.shared.cache_dir.is_none());
                self.shared.read_disk(why.is_none());
                self.session = Some(session);
                self.desk.set_reach(&self.shared.events, Reach::Connected(why));
                for id in self.requests.ids() {
                    self.resume(id);
                }
            }
            Err(e) => self.lost(e),
        }
    }

    /// Handles a lost or failed connection. One that answered requests is retried at once.
    pub(super) fn lost(&mut self, why: Error) {
        let served = self.session.take().is_some_and(|session| session.served);
        if served {
            self.backoff = BACKOFF.0;
        }
        self.shared.read_disk(true);
        self.requests.disconnected();
        self.window.disconnected();
        self.try_at = self.desk.can_connect().then(|| Instant::now() + self.backoff);
        self.backoff = (2 * self.backoff).min(BACKOFF.1);
        let reach = if served && self.try_at.is_some() { Reach::Connecting } else { Reach::Away(why) };
        self.desk.set_reach(&self.shared.events, reach);
    }

    /// Sends draws, at most once a second.
    fn tell_draws(&mut self, now: Instant) {
        if self.session.is_some() && now >= self.draws_at {
            self.draws_at = now + DRAWS;
            let draws = self.requests.draws();
            if !draws.is_empty() {
                self.send(&Ask::Used { draws });
            }
        }
    }

    /// Sleeps until there is work, and handles the service's messages.
    fn sleep(&mut self, check_at: Option<Instant>) {
        let times = match &self.session {
            Some(_) if self.unheard => [Some(Instant::now()), None, None],
            Some(_) => [check_at, self.requests.next_due(), self.requests.counts_draws().then_some(self.draws_at)],
            None => [self.try_at.filter(|_| !self.requests.is_empty()), None, None],
        };
        let left = times.into_iter().flatten().min().map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let Some(wake) = self.desk.wake() else { return };
        let mut polled = vec![PollFd::new(wake, PollFlags::IN)];
        polled.extend(self.session.as_ref().map(|session| PollFd::new(session.stream(), PollFlags::IN)));
        let woken = poll(&mut polled, timeout.as_ref());
        let heard = polled.get(1).is_some_and(|socket| !socket.revents().is_empty());
        match woken {
            Ok(_) if heard || self.unheard => self.unheard = self.hear(),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // If polling fails, all that is left is to retry, with a delay.
            Err(_) => std::thread::sleep(BACKOFF.0),
        }
    }
}
