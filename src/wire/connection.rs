//! A client's end of the socket, with blocking calls: no runtime, so that a driver can have one.

use super::message::{Ask, Hello, Tell, Welcome};
use super::{MAX_FRAME, PROTOCOLS};
use crate::error::{Context as _, Error, Result};
use crate::frame::{self, HEAD};
use rustix::net::{SendFlags, send};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A connection on which both have introduced themselves.
pub struct Connection {
    /// What the service said of itself.
    pub welcome: Welcome,
    /// The half that asks.
    pub sender: Sender,
    /// The half that listens.
    pub receiver: Receiver,
}

/// The half that asks.
pub struct Sender(UnixStream);

/// The half that listens.
pub struct Receiver(UnixStream);

impl Connection {
    /// Connects to the service at a path; `patience` is for each of its answers until it has said welcome.
    ///
    /// # Errors
    /// Environment: nobody listens, it does not answer, or it is of another user who is not root. Unsupported: it refuses us,
    /// or speaks no version that we speak.
    pub fn open(socket: &Path, hello: &Hello, patience: Duration) -> Result<Self> {
        let place = || format!("service {}", socket.display());
        let stream = UnixStream::connect(socket).map_err(Error::from).at(place)?;
        Self::over(stream, hello, patience).at(place)
    }

    /// The same over a stream that is connected already.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn over(stream: UnixStream, hello: &Hello, patience: Duration) -> Result<Self> {
        check_peer(&stream)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let (mut sender, mut receiver) = (Sender(stream.try_clone()?), Receiver(stream));
        sender.send(&Ask::Hello(hello.clone()))?;
        let welcome = match receiver.receive()? {
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
        receiver.0.set_read_timeout(None)?;
        Ok(Self { welcome, sender, receiver })
    }
}

/// Whoever bound the path first is not trusted for that: it has to be this user or root.
fn check_peer(stream: &UnixStream) -> Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(stream).map_err(std::io::Error::from)?.uid;
    if peer == rustix::process::geteuid() || peer.is_root() {
        return Ok(());
    }
    Err(Error::environment(format!("the service runs as user {}, which is neither this one nor root", peer.as_raw())))
}

impl Sender {
    /// Sends a message whole.
    ///
    /// # Errors
    /// Environment: the connection is gone, or the service takes nothing for the patience it was given. Unsupported: the
    /// message is too long for a frame.
    pub fn send(&mut self, ask: &Ask) -> Result<()> {
        let bytes = frame::frame(ask, MAX_FRAME)?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            // Without the flag a closed connection would end the process that we are a guest in.
            match send(&self.0, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(std::io::Error::from(e).into()),
            }
        }
        Ok(())
    }
}

impl Receiver {
    /// The next message; none once the service has closed the connection.
    ///
    /// # Errors
    /// Environment: the connection fails, or its timeout is over. Malformed: what comes is no message.
    pub fn receive(&mut self) -> Result<Option<Tell>> {
        let mut head = [0; HEAD];
        match self.0.read_exact(&mut head) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(e) => return Err(e.into()),
        }
        let length = frame::body_length(head, MAX_FRAME)?;
        let mut body = Vec::new();
        if (&self.0).take(length as u64).read_to_end(&mut body)? != length {
            return Err(Error::environment("the service's answer is cut short"));
        }
        frame::parse(&body).map(Some)
    }

    /// The socket, to poll it or to give it a timeout.
    pub fn stream(&self) -> &UnixStream {
        &self.0
    }
}
