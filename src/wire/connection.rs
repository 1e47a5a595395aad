//! A client's end of the socket, with blocking calls and no async runtime, so that a driver can use it.

use super::message::{Ask, Hello, Numbered, Tell, Welcome};
use super::{MAX_FRAME, PROTOCOLS, REQUEST_SCHEMA};
use dovetail_base::error::{Context as _, Error, Result};
use dovetail_base::frame;
use dovetail_base::frame::HEAD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send, socket_with,
};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// An established connection, after both greetings.
pub struct Connection {
    /// The service's description of itself.
    pub welcome: Welcome,
    /// The sending half.
    pub sender: Sender,
    /// The receiving half.
    pub receiver: Receiver,
}

/// The sending half of a connection.
pub struct Sender {
    stream: UnixStream,
    /// Time limit of a message.
    patience: Duration,
}

/// The receiving half of a connection.
pub struct Receiver {
    stream: UnixStream,
    /// Received bytes that are not consumed yet: part of a message, or several.
    come: Vec<u8>,
    /// The service is of another version.
    skewed: bool,
}

/// Result of polling for messages.
#[derive(Debug)]
pub enum Arrival {
    /// A message.
    Message(Tell),
    /// No complete message yet.
    Nothing,
    /// The service has closed the connection.
    Closed,
}

/// Bytes requested from the system at a time.
const STEP: usize = 64 << 10;

impl Connection {
    /// Connects to the service at a path; `patience` is the time limit of the welcome, and of each message sent.
    ///
    /// # Errors
    /// Environment: nobody listens, there is no answer, or the service belongs to another user who is not root.
    /// Unsupported: it refuses the client, or there is no common protocol version.
    pub fn open(socket: &Path, hello: &Hello, patience: Duration) -> Result<Self> {
        let place = || format!("service {}", socket.display());
        Self::over(connected(socket).at(place)?, hello, patience).at(place)
    }

    /// The same over an existing stream.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn over(stream: UnixStream, hello: &Hello, patience: Duration) -> Result<Self> {
        check_peer(&stream)?;
        // The caller's stream may have a timeout.
        stream.set_read_timeout(None)?;
        let (mut sender, mut receiver) = (Sender { stream: stream.try_clone()?, patience }, Receiver::new(stream));
        let until = Instant::now() + patience;
        sender.send_until(&Ask::Hello(hello.clone()), until)?;
        let welcome = match receiver.receive_until(until)? {
            Some(Tell::Welcome(welcome)) => welcome,
            Some(Tell::Refused(why)) => return Err(why),
            Some(_) => return Err(Error::malformed("the service did not begin with a welcome")),
            None => return Err(Error::environment("the service closed the connection")),
        };
        let (first, last) = PROTOCOLS;
        if !(first..=last).contains(&welcome.protocol) {
            let ours = format!("this program speaks {first} to {last}");
            return Err(Error::unsupported(format!("service protocol {}", welcome.protocol), ours));
        }
        receiver.skewed = welcome.schema != REQUEST_SCHEMA;
        Ok(Self { welcome, sender, receiver })
    }
}

/// Connects a stream to the listener at a path. Fails if the listen queue is so full that connecting would block,
/// because the wait has no bound.
fn connected(socket: &Path) -> Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let made = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(std::io::Error::from)?;
    let address = SocketAddrUnix::new(socket).map_err(std::io::Error::from)?;
    connect(&made, &address).map_err(|e| match e {
        rustix::io::Errno::AGAIN => {
            Error::environment("it accepts no connection, and as many as it allows are waiting")
        }
        e => std::io::Error::from(e).into(),
    })?;
    let stream = UnixStream::from(made);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Checks the peer's user, which must be this user or root: a process of another user could have bound the path first.
fn check_peer(stream: &UnixStream) -> Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(stream).map_err(std::io::Error::from)?.uid;
    if peer == rustix::process::geteuid() || peer.is_root() {
        return Ok(());
    }
    Err(Error::environment(format!("the service runs as user {}, which is neither this one nor root", peer.as_raw())))
}

/// Waits until the stream can be read or written, or has failed; false if that has not happened by `until`.
fn can(stream: &UnixStream, what: PollFlags, until: Instant) -> Result<bool> {
    let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
    match poll(&mut [PollFd::new(stream, what)], left.as_ref()) {
        Ok(0) => Ok(false),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(true),
        Err(e) => Err(std::io::Error::from(e).into()),
    }
}

impl Sender {
    /// Sends a whole message.
    ///
    /// # Errors
    /// Environment: the connection is gone, or the service has not read the message within the time limit. Unsupported:
    /// the message is too long for a frame.
    pub fn send(&mut self, ask: &Ask) -> Result<()> {
        self.send_until(ask, Instant::now() + self.patience)
    }

    /// The same with an end instead of the time limit. The system's own timeout would start again with each byte that
    /// the service reads.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_until(&mut self, ask: &Ask, until: Instant) -> Result<()> {
        let bytes = frame::frame(ask, MAX_FRAME)?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            // Without the first flag, a closed connection would kill the host process by SIGPIPE.
            match send(&self.stream, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    if !can(&self.stream, PollFlags::OUT, until)? {
                        let seconds = self.patience.as_secs();
                        let why = format!("the service has not read a message within {seconds} seconds");
                        return Err(Error::environment(why));
                    }
                }
                Err(e) => return Err(std::io::Error::from(e).into()),
            }
        }
        Ok(())
    }
}

fn silent(time: Duration) -> Error {
    // What is left of a limit after the message was sent is a little shorter.
    let seconds = time.as_secs_f64().round();
    Error::environment(format!("the service has sent no answer for {seconds} seconds"))
}

impl Receiver {
    fn new(stream: UnixStream) -> Self {
        Self { stream, come: Vec::new(), skewed: false }
    }

    /// The next message; `None` once the service has closed the connection.
    ///
    /// # Errors
    /// Environment: the connection fails or times out. Malformed: the bytes are not a message.
    pub fn receive(&mut self) -> Result<Option<Tell>> {
        loop {
            match self.next(RecvFlags::empty())? {
                Arrival::Message(tell) => return Ok(Some(tell)),
                Arrival::Nothing => {}
                Arrival::Closed => return Ok(None),
            }
        }
    }

    /// The same up to a time, however slowly the bytes of the message come.
    ///
    /// # Errors
    /// As [`Self::receive`].
    fn receive_until(&mut self, until: Instant) -> Result<Option<Tell>> {
        let begun = Instant::now();
        loop {
            match self.arrived()? {
                Arrival::Message(tell) => return Ok(Some(tell)),
                Arrival::Closed => return Ok(None),
                Arrival::Nothing if Instant::now() < until && can(&self.stream, PollFlags::IN, until)? => {}
                Arrival::Nothing => return Err(silent(begun.elapsed())),
            }
        }
    }

    /// A message that has arrived, without waiting for more.
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub fn arrived(&mut self) -> Result<Arrival> {
        self.next(RecvFlags::DONTWAIT)
    }

    /// A message that is already buffered, or available after one more read.
    fn next(&mut self, flags: RecvFlags) -> Result<Arrival> {
        if let Some(tell) = self.take()? {
            return Ok(Arrival::Message(tell));
        }
        let start = self.come.len();
        // Grows with what has come, not with what is announced.
        self.come.try_reserve(STEP).map_err(|_| Error::memory(format!("{start} bytes of an answer, and more")))?;
        match recv(&self.stream, rustix::buffer::spare_capacity(&mut self.come), flags) {
            Ok((0, _)) if start == 0 => Ok(Arrival::Closed),
            Ok((0, _)) => Err(Error::environment("the service's answer is cut short")),
            Ok(_) => Ok(self.take()?.map_or(Arrival::Nothing, Arrival::Message)),
            Err(rustix::io::Errno::INTR) => Ok(Arrival::Nothing),
            Err(rustix::io::Errno::AGAIN) if flags.contains(RecvFlags::DONTWAIT) => Ok(Arrival::Nothing),
            Err(rustix::io::Errno::AGAIN) => Err(silent(self.stream.read_timeout()?.unwrap_or_default())),
            Err(e) => Err(std::io::Error::from(e).into()),
        }
    }

    /// Takes a message out of the received bytes, if it is complete.
    fn take(&mut self) -> Result<Option<Tell>> {
        let Some((head, rest)) = self.come.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = frame::body_length(*head, MAX_FRAME)?;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let tell = match frame::parse(body) {
            Err(why) if self.skewed => {
                let (id, error) = Numbered::failure(body, why)?;
                Tell::Failed { id, error }
            }
            tell => tell?,
        };
        self.come.drain(..HEAD + length);
        Ok(Some(tell))
    }

    /// The socket, to poll it or to set a timeout. A message may already be buffered: call [`Self::arrived`] until it
    /// returns nothing.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }
}
