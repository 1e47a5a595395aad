//! The callers' side of the service: threads post orders here and return, or wait if they must.

use super::super::events::{Event, EventKind, Events};
use super::super::signals::without_signals;
use super::job::ServiceJob;
use super::modules::Modules;
use dovetail_base::error::{Context as _, Error, Result};
use dovetail_wire::{Connection, Hello};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Stack size of the thread in bytes.
const STACK: usize = 512 << 10;

/// Number of orders from which on those for dropped jobs are removed.
const MANY: usize = 1024;

/// An order from a caller's thread.
pub(crate) enum Order {
    /// Start this job, and advance it as far as possible.
    Start(Weak<dyn ServiceJob>),
    /// A thread started or stopped waiting for the request with this id, or its priority changed.
    Urgency(u64),
    /// The request with this id is no longer needed: found by other means, or cancelled.
    Settled(u64),
}

/// State of the connection to the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The context has no service.
    None,
    /// No connection was needed yet.
    Idle,
    /// Connecting or reconnecting; requests are queued.
    Connecting,
    /// Connected. The reason why answers carry their ELFs, if the client cannot read the service's cache.
    Connected(Option<String>),
    /// Unreachable, for this reason; retried periodically. Missing parts count as not cached meanwhile.
    Away(Error),
}

/// Counters since the context was created.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) asked: AtomicU64,
    pub(crate) answered: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) optimized: AtomicU64,
}

/// The callers' side of a service.
pub(crate) struct Desk {
    socket: Option<PathBuf>,
    /// An existing connection given by the caller, until it is used.
    given: Mutex<Option<UnixStream>>,
    app: String,
    pub(crate) modules: Modules,
    pub(crate) counters: Counters,
    next_id: AtomicU64,
    orders: Mutex<Vec<Order>>,
    /// Wakes the thread. Created before the thread.
    wake: OnceLock<OwnedFd>,
    thread: Mutex<Option<JoinHandle<()>>>,
    closing: AtomicBool,
    reach: Mutex<Reach>,
    /// Whether `reach` is `Away`.
    away: AtomicBool,
    /// Signalled when a job completes or `reach` changes.
    changed: Condvar,
}

/// Locks, even a poisoned mutex: the data is changed by single operations, and consistent after any panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    /// A service that listens at `socket`, or is already connected, or both.
    pub(crate) fn new(socket: Option<PathBuf>, given: Option<UnixStream>, app: String) -> Self {
        Self {
            socket,
            given: Mutex::new(given),
            app,
            modules: Modules::default(),
            counters: Counters::default(),
            next_id: AtomicU64::new(1),
            orders: Mutex::default(),
            wake: OnceLock::new(),
            thread: Mutex::default(),
            closing: AtomicBool::new(false),
            reach: Mutex::new(Reach::Idle),
            away: AtomicBool::new(false),
            changed: Condvar::new(),
        }
    }

    /// A unique id for a request.
    pub(crate) fn id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Posts an order. Starts the thread, which runs `thread`, if there is none; if that fails, the service counts as
    /// away.
    pub(crate) fn post(&self, order: Order, events: &Events, thread: impl FnOnce() + Send + 'static) {
        if let Err(e) = self.start(thread) {
            self.set_reach(events, Reach::Away(e));
        }
        self.push(order);
    }

    /// Posts an order that only matters if the thread was started.
    pub(crate) fn post_if_started(&self, order: Order) {
        if lock(&self.thread).is_some() {
            self.push(order);
        }
    }

    fn push(&self, order: Order) {
        if self.is_closing() {
            return;
        }
        let mut orders = lock(&self.orders);
        if orders.len() >= MANY && orders.len().is_power_of_two() {
            // If the thread cannot be started, they would grow without end.
            orders.retain(|order| !matches!(order, Order::Start(job) if job.strong_count() == 0));
        }
        orders.push(order);
        if orders.len() == 1 {
            self.raise();
        }
    }

    fn start(&self, thread: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut running = lock(&self.thread);
        if running.is_some() {
            return Ok(());
        }
        if self.wake.get().is_none() {
            let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(std::io::Error::from);
            let _ = self.wake.set(made.at(|| "eventfd")?);
        }
        let builder = Builder::new().name("dvt-io".to_owned()).stack_size(STACK);
        *running = Some(without_signals(|| builder.spawn(thread)).at(|| "thread dvt-io")?);
        Ok(())
    }

    /// Wakes the thread. A full counter wakes it too, so a failed write makes no difference.
    fn raise(&self) {
        if let Some(wake) = self.wake.get() {
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
        }
    }

    /// Stops the thread and joins it; `alive` says whether the thread belongs to this process.
    pub(crate) fn close(&self, alive: bool) {
        if !alive {
            // The handle belongs to a thread that does not exist here, so it must not even be detached.
            if let Ok(mut thread) = self.thread.try_lock() {
                std::mem::forget(thread.take());
            }
            return;
        }
        self.closing.store(true, Ordering::Release);
        self.raise();
        // Not joined under the lock: the thread may be about to post an order, for an object that only it still holds.
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // A panic in the thread was caught there.
            let _ = thread.join();
        }
    }

    /// Takes no more orders: the thread has ended by itself.
    pub(super) fn take_no_more(&self) {
        self.closing.store(true, Ordering::Release);
        lock(&self.orders).clear();
    }

    /// The orders since the last call; `None` if the thread is to end. The descriptor is read first, so that what comes
    /// later raises it again.
    pub(super) fn orders(&self) -> Option<Vec<Order>> {
        if let Some(wake) = self.wake.get() {
            let _ = rustix::io::read(wake, &mut [0; 8]);
        }
        (!self.is_closing()).then(|| std::mem::take(&mut *lock(&self.orders)))
    }

    /// Whether the thread is to end.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// State of the connection.
    pub(crate) fn reach(&self) -> Reach {
        lock(&self.reach).clone()
    }

    /// Whether the service is away.
    pub(crate) fn is_away(&self) -> bool {
        self.away.load(Ordering::Acquire)
    }

    /// Sets the state; adds an event if the service became reachable or unreachable.
    pub(super) fn set_reach(&self, events: &Events, reach: Reach) {
        let mut was = lock(&self.reach);
        let event = |failure: Option<Error>| {
            let generation = u32::from(failure.is_none());
            events.push(Event { kind: EventKind::Service, user: 0, generation, failure, not_cached: false });
        };
        match (&*was, &reach) {
            (Reach::Connected(_), Reach::Connected(_)) | (Reach::Away(_), Reach::Away(_)) => {}
            (_, Reach::Connected(_)) => event(None),
            (_, Reach::Away(why)) => event(Some(why.clone())),
            _ => {}
        }
        self.away.store(matches!(reach, Reach::Away(_)), Ordering::Release);
        *was = reach;
        self.changed.notify_all();
    }

    /// Signals that a job has completed.
    pub(crate) fn notify(&self) {
        // Under the lock, so that no waiter misses it between its check and its sleep.
        let _reach = lock(&self.reach);
        self.changed.notify_all();
    }

    /// Waits until `done` returns true, the service is away, or the timeout expires. `done` must not call
    /// [`Self::reach`].
    pub(crate) fn wait(&self, timeout: Duration, done: impl Fn() -> bool) {
        // No end time means no timeout.
        let until = Instant::now().checked_add(timeout);
        let mut reach = lock(&self.reach);
        while !done() && !self.is_away() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            reach = match left {
                Some(Duration::ZERO) => return,
                Some(left) => self.changed.wait_timeout(reach, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(reach).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    pub(super) fn count_ask(&self) {
        self.counters.asked.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_answer(&self, failed: bool) {
        let counter = if failed { &self.counters.failed } else { &self.counters.answered };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The application's name for the service.
    pub(super) fn app(&self) -> &str {
        &self.app
    }

    /// Connects; the first time over the given connection, if there is one.
    ///
    /// # Errors
    /// As [`Connection::open`]; Environment: the given connection has been used, and there is no socket.
    pub(super) fn connect(&self, hello: &Hello, patience: Duration) -> Result<Connection> {
        if let Some(stream) = lock(&self.given).take() {
            let place = || "the connection that was given";
            // The caller may have set it to non-blocking.
            stream.set_nonblocking(false).at(place)?;
            return Connection::over(stream, hello, patience).at(place);
        }
        match &self.socket {
            Some(socket) => Connection::open(socket, hello, patience),
            None => {
                Err(Error::environment("the connection that was given is gone, and no socket is named to make another"))
            }
        }
    }

    /// Whether connecting is possible.
    pub(super) fn can_connect(&self) -> bool {
        self.socket.is_some() || lock(&self.given).is_some()
    }

    /// The descriptor that wakes the thread.
    pub(super) fn wake(&self) -> Option<&OwnedFd> {
        self.wake.get()
    }
}
