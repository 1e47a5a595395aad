//! A service double: a thread that speaks `wire` and sends whatever a test wants, without compiling.
#![allow(dead_code, reason = "the benchmark uses a part of it")]

use dovetail::compile::request::CompilerId;
use dovetail::frame::{self, HEAD};
use dovetail::wire::{Ask, ClientLimits, Hello, MAX_FRAME, REQUEST_SCHEMA, Tell, Welcome};
use serde::Serialize;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longer than any expected event takes.
const LONG: Duration = Duration::from_secs(20);

/// Reaction to a client's message.
pub enum Reply {
    Tell(Tell),
    /// Bytes that are not a message.
    Raw(Vec<u8>),
    /// Closes the connection.
    Close,
}

type Answers = dyn Fn(&Ask) -> Vec<Reply> + Send + Sync;
type Greeting = dyn Fn(&Hello) -> Welcome + Send + Sync;

struct State {
    greeting: Box<Greeting>,
    answers: Box<Answers>,
    heard: Mutex<Vec<Arc<Ask>>>,
    more: Condvar,
    connections: Mutex<Vec<UnixStream>>,
    over: AtomicBool,
}

/// A running service. Dropping it acts like killing it.
pub struct Double {
    state: Arc<State>,
    socket: PathBuf,
    thread: Option<JoinHandle<()>>,
}

/// The welcome of an honest service. Its `inline` reason is not tied to a path, so no test depends on its text.
pub fn welcome(compiler: CompilerId) -> Welcome {
    Welcome {
        protocol: 1,
        compiler,
        schema: REQUEST_SCHEMA.to_owned(),
        inline_because: Some("this is a test".to_owned()),
        limits: ClientLimits { requests: 4096, module_bytes: 1 << 20 },
    }
}

impl Double {
    /// Listens at `socket`, and answers everything after the hello with `answers`; answers pings itself.
    pub fn start(
        socket: &Path,
        welcome: Welcome,
        answers: impl Fn(&Ask) -> Vec<Reply> + Send + Sync + 'static,
    ) -> Self {
        Self::greeting(socket, move |_| welcome.clone(), answers)
    }

    /// The same, with a welcome that depends on the hello.
    pub fn greeting(
        socket: &Path,
        greeting: impl Fn(&Hello) -> Welcome + Send + Sync + 'static,
        answers: impl Fn(&Ask) -> Vec<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = UnixListener::bind(socket).expect("a socket");
        let state = Arc::new(State {
            greeting: Box::new(greeting),
            answers: Box::new(answers),
            heard: Mutex::default(),
            more: Condvar::new(),
            connections: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let of_thread = state.clone();
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.over.load(Ordering::Acquire) {
                    return;
                }
                let (state, stream) = (of_thread.clone(), stream.expect("a connection"));
                state.connections.lock().unwrap().push(stream.try_clone().expect("a copy"));
                thread::spawn(move || serve(&state, stream));
            }
        });
        Self { state, socket: socket.to_owned(), thread: Some(thread) }
    }

    /// All messages received.
    pub fn heard(&self) -> Vec<Arc<Ask>> {
        self.state.heard.lock().unwrap().clone()
    }

    /// Number of matching messages received.
    pub fn count(&self, like: impl Fn(&Ask) -> bool) -> usize {
        self.heard().iter().filter(|ask| like(ask)).count()
    }

    /// Waits until `count` matching messages were received, and returns the last.
    pub fn until(&self, count: usize, like: impl Fn(&Ask) -> bool) -> Arc<Ask> {
        let until = Instant::now() + LONG;
        let mut heard = self.state.heard.lock().unwrap();
        loop {
            if let Some(ask) = heard.iter().filter(|ask| like(ask)).nth(count - 1) {
                return ask.clone();
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it was not said {count} times; what was: {heard:?}");
            heard = self.state.more.wait_timeout(heard, left).unwrap().0;
        }
    }

    /// Sends a message to every client.
    pub fn tell(&self, tell: &Tell) {
        let bytes = frame::frame(tell, MAX_FRAME).expect("a frame");
        for mut connection in self.state.connections.lock().unwrap().iter() {
            // A disconnected client misses it.
            let _ = connection.write_all(&bytes);
        }
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Release);
        // Wakes the thread that accepts.
        drop(UnixStream::connect(&self.socket));
        self.thread.take().map(JoinHandle::join);
        let _ = std::fs::remove_file(&self.socket);
        for connection in self.state.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn receive(stream: &mut UnixStream) -> Option<Ask> {
    let mut head = [0; HEAD];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; frame::body_length(head, MAX_FRAME).expect("a frame of a client")];
    stream.read_exact(&mut body).ok()?;
    Some(frame::parse(&body).expect("a message of a client"))
}

fn send(stream: &mut UnixStream, tell: &impl Serialize) {
    let _ = stream.write_all(&frame::frame(tell, MAX_FRAME).expect("a frame"));
}

fn serve(state: &State, mut stream: UnixStream) {
    while let Some(ask) = receive(&mut stream) {
        let replies = match &ask {
            Ask::Hello(hello) => vec![Reply::Tell(Tell::Welcome((state.greeting)(hello)))],
            _ => (state.answers)(&ask),
        };
        // Recorded before it is answered, so that whoever has the answer finds the request.
        state.heard.lock().unwrap().push(Arc::new(ask));
        state.more.notify_all();
        for reply in replies {
            match reply {
                Reply::Tell(tell) => send(&mut stream, &tell),
                Reply::Raw(bytes) => _ = stream.write_all(&bytes),
                Reply::Close => return drop(stream.shutdown(std::net::Shutdown::Both)),
            }
        }
    }
}
