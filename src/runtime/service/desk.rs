//! Where callers' threads leave word of what they want, and go on; and where they wait, if they have to.

use super::super::events::{Event, EventKind, Events};
use super::super::signals::without_signals;
use super::job::ServiceJob;
use super::modules::Modules;
use crate::error::{Context as _, Error, Result};
use crate::wire::{Connection, Hello};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Bytes of the thread's stack.
const STACK: usize = 512 << 10;

/// A request of a caller's thread.
pub(crate) enum Order {
    /// Start this job, and take it as far as it comes.
    Start(Weak<dyn ServiceJob>),
    /// Somebody began or ceased to wait for the request with this id, or its priority is another one.
    Urgency(u64),
    /// The request with this id has come to its end by itself: found otherwise, or given up.
    Settled(u64),
}

/// Whether the service can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The context has no service.
    None,
    /// No connection was needed yet.
    Idle,
    /// Not yet, or not any more; what was asked waits for it.
    Connecting,
    /// Yes. Why answers are sent whole, if the client cannot read the service's cache.
    Connected(Option<String>),
    /// No, for this reason; it is tried again from time to time. What is missing is not cached for now.
    Away(Error),
}

/// Counters since the context was made.
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
    /// A connection that somebody else has made, until it is used.
    given: Mutex<Option<UnixStream>>,
    app: String,
    pub(crate) modules: Modules,
    pub(crate) counters: Counters,
    next_id: AtomicU64,
    orders: Mutex<Vec<Order>>,
    /// Wakes the thread. There before the thread is.
    wake: OnceLock<OwnedFd>,
    thread: Mutex<Option<JoinHandle<()>>>,
    closing: AtomicBool,
    reach: Mutex<Reach>,
    /// `reach` says that the service is away.
    away: AtomicBool,
    /// Signalled when a job has come to its end, or `reach` has changed.
    changed: Condvar,
}

/// Locks, a poisoned mutex too: the guarded data is changed by single operations, and consistent after any panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    /// A service that listens at `socket`, or has been connected with already, or both.
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

    /// A name for a request, used once.
    pub(crate) fn id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Leaves word for the thread, which is started if there is none: to do `thread`. Where it cannot be, the service is away.
    pub(crate) fn post(&self, order: Order, events: &Events, thread: impl FnOnce() + Send + 'static) {
        if let Err(e) = self.start(thread) {
            self.set_reach(events, Reach::Away(e));
        }
        self.push(order);
    }

    /// Leaves word of what is of no interest to a thread that was never started.
    pub(crate) fn post_if_started(&self, order: Order) {
        if lock(&self.thread).is_some() {
            self.push(order);
        }
    }

    fn push(&self, order: Order) {
        let mut orders = lock(&self.orders);
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

    /// Wakes the thread. A full counter wakes too, so a failed write changes nothing.
    fn raise(&self) {
        if let Some(wake) = self.wake.get() {
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
        }
    }

    /// Ends the thread and waits for it; `alive` says whether it is a thread of this process.
    pub(crate) fn close(&self, alive: bool) {
        if !alive {
            // Its handle is of no thread that is here: not even to be detached from.
            if let Ok(mut thread) = self.thread.try_lock() {
                std::mem::forget(thread.take());
            }
            return;
        }
        self.closing.store(true, Ordering::Release);
        self.raise();
        // Not joined under the lock: the thread may be about to leave word, as of an object that only it has left.
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // A panic in it was caught there.
            let _ = thread.join();
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// The orders since the last call. The descriptor is read first: whatever is left later raises it again.
    pub(super) fn orders(&self) -> Vec<Order> {
        if let Some(wake) = self.wake.get() {
            let _ = rustix::io::read(wake, &mut [0; 8]);
        }
        std::mem::take(&mut *lock(&self.orders))
    }

    /// Whether the service can be reached.
    pub(crate) fn reach(&self) -> Reach {
        lock(&self.reach).clone()
    }

    /// Whether it cannot be, for now.
    pub(crate) fn is_away(&self) -> bool {
        self.away.load(Ordering::Acquire)
    }

    /// Sets it; an event tells of a service that has come or gone.
    pub(super) fn set_reach(&self, events: &Events, reach: Reach) {
        let mut was = lock(&self.reach);
        let event = |failure: Option<Error>| {
            let generation = u32::from(failure.is_none());
            events.push(Event { kind: EventKind::Service, user: 0, generation, failure });
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

    /// Signals that a job has come to its end.
    pub(crate) fn notify(&self) {
        // Under the lock, so that nobody has looked and does not sleep yet.
        let _reach = lock(&self.reach);
        self.changed.notify_all();
    }

    /// Waits until something is done, the service is away, or the time is over. `done` must not ask for [`Self::reach`].
    pub(crate) fn wait(&self, timeout: Duration, done: impl Fn() -> bool) {
        // No point in time: for ever.
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

    /// The name that the service is told.
    pub(super) fn app(&self) -> &str {
        &self.app
    }

    /// Connects: over what was given, the first time.
    ///
    /// # Errors
    /// As [`Connection::open`]; Environment: there is no other way than what was given, and that is used up.
    pub(super) fn connect(&self, hello: &Hello, patience: Duration) -> Result<Connection> {
        if let Some(stream) = lock(&self.given).take() {
            let place = || "the connection that was given";
            // Whoever has made it may have had another use of it in mind.
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

    /// Whether it is of any use to connect.
    pub(super) fn can_connect(&self) -> bool {
        self.socket.is_some() || lock(&self.given).is_some()
    }

    /// The descriptor that wakes the thread.
    pub(super) fn wake(&self) -> Option<&OwnedFd> {
        self.wake.get()
    }
}
