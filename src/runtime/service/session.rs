//! One connection, from the welcome to its end.

use super::super::context::Shared;
use super::desk::Desk;
use dovetail_base::error::{Error, Result};
use dovetail_wire::{Arrival, Ask, Cached, Connection, Hello, PROTOCOLS, REQUEST_SCHEMA, Tell};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Time limit of the service's welcome, and of each message to it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Silence after which a service with outstanding answers is pinged.
const QUIET: Duration = Duration::from_secs(2);
/// Silence after the ping until the service counts as dead.
const DEAD: Duration = Duration::from_secs(5);

/// Number of messages among which a refusal is looked for.
const MOST_UNHEARD: usize = 1000;

pub(super) struct Session {
    connection: Connection,
    heard: Instant,
    pinged: Option<Instant>,
    /// Whether it has sent anything useful besides its welcome.
    pub(super) served: bool,
}

impl Session {
    /// Connects, and compares the service's properties with the context's.
    ///
    /// # Errors
    /// Environment: nobody listens, or its compiler is not the one of the context's cache. Unsupported: it refuses the
    /// client.
    pub(super) fn open(shared: &Shared, desk: &Desk) -> Result<Self> {
        let cache = || {
            let folder = std::fs::metadata(shared.cache_dir.as_ref()?).ok()?;
            Some(Cached { device: folder.dev(), inode: folder.ino() })
        };
        let app = desk.app().to_owned();
        let mut hello = Hello { protocols: PROTOCOLS, schema: REQUEST_SCHEMA.to_owned(), app, cache: cache() };
        let mut connection = desk.connect(&hello, PATIENCE)?;
        // A service that this connection has started made its cache after the hello. It must be greeted again to know
        // that the client reads that cache; if that fails, it sends every ELF.
        let said = std::mem::replace(&mut hello.cache, cache());
        if hello.cache != said
            && !desk.is_closing()
            && let Ok(again) = desk.connect(&hello, PATIENCE)
        {
            connection = again;
        }
        let (theirs, ours) = (&connection.welcome.compiler, shared.compiler_or(&connection.welcome.compiler)?);
        if theirs != ours {
            let why = format!(
                "the service's compiler ({}, sources {}) is not the one that this context knows from its cache ({}, sources \
                 {}): make another context",
                theirs.backend, theirs.sources, ours.backend, ours.sources
            );
            // The connection is closed in any case.
            let _ = connection.sender.send(&Ask::Bye);
            return Err(Error::environment(why));
        }
        Ok(Self { connection, heard: Instant::now(), pinged: None, served: false })
    }

    /// Why answers must carry their ELFs, if they must.
    pub(super) fn inline_because(&self) -> Option<&str> {
        self.connection.welcome.inline_because.as_deref()
    }

    /// Number of unanswered requests that the service admits.
    pub(super) fn most_requests(&self) -> u32 {
        self.connection.welcome.limits.requests
    }

    /// Whether the service computes the same keys.
    pub(super) fn same_keys(&self) -> bool {
        self.connection.welcome.schema == REQUEST_SCHEMA
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The connection is gone; if the service has said why, this is what it said.
    pub(super) fn send(&mut self, ask: &Ask) -> Result<()> {
        let sent = self.connection.sender.send(ask);
        if sent.is_err() {
            // A service that sends without end is not listened to for the reason.
            for _ in 0..MOST_UNHEARD {
                match self.receive() {
                    Ok(Some(Tell::Refused(why))) => return Err(why),
                    Ok(Some(_)) => {}
                    _ => break,
                }
            }
        }
        sent
    }

    /// The next message, if a complete one has arrived.
    pub(super) fn receive(&mut self) -> Result<Option<Tell>> {
        match self.connection.receiver.arrived()? {
            Arrival::Message(tell) => {
                (self.heard, self.pinged) = (Instant::now(), None);
                // A service that refuses this client will do it again.
                self.served = !matches!(tell, Tell::Refused(_));
                Ok(Some(tell))
            }
            Arrival::Nothing => Ok(None),
            Arrival::Closed => Err(Error::environment("the service closed the connection")),
        }
    }

    /// Pings a silent service, and returns when to check again; `None` if no answer is outstanding.
    ///
    /// # Errors
    /// Environment: it does not answer.
    pub(super) fn check(&mut self, owes: bool, now: Instant) -> Result<Option<Instant>> {
        if let Some(pinged) = self.pinged {
            let dead = pinged + DEAD;
            return match now >= dead {
                true => Err(Error::environment(format!("the service has said nothing for {} seconds", DEAD.as_secs()))),
                false => Ok(Some(dead)),
            };
        }
        if !owes {
            return Ok(None);
        }
        let quiet = self.heard + QUIET;
        if now < quiet {
            return Ok(Some(quiet));
        }
        self.send(&Ask::Ping { token: 0 })?;
        self.pinged = Some(now);
        Ok(Some(now + DEAD))
    }

    /// Says goodbye and closes.
    pub(super) fn end(mut self) {
        // If this cannot be sent at once, the closed socket has the same effect.
        let _ = self.connection.sender.send_until(&Ask::Bye, Instant::now());
    }

    pub(super) fn stream(&self) -> &UnixStream {
        self.connection.receiver.stream()
    }
}
