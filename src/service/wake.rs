//! Messages that wake the service: from its tasks to its one loop.

use super::broker::{BrokerEvent, Compiled};
use super::jobs::ClientId;
use super::session::Outbox;
use crate::cache::Key;
use crate::compile::worker::Worker;
use crate::error::{Error, Result};
use std::sync::Arc;

/// A message to the loop.
pub enum Message {
    /// For the broker as it is.
    Event(BrokerEvent),
    /// A client was welcomed; whether every answer has to carry its ELF, and where it is told things.
    Joined(ClientId, bool, Arc<Outbox>),
    /// A client's session has ended, for this reason if it was not its own wish.
    Gone(ClientId, Option<Error>),
    /// A compile is done, and left a worker.
    Compiled(Key, Compiled, Option<Box<Idle>>),
    /// A result of so many bytes is in the cache, or is not.
    Kept(Key, usize, Result<()>),
    /// Time has passed.
    Tick,
    /// The process was asked to end.
    Stop,
}

/// A worker without a job.
pub struct Idle {
    /// The worker.
    pub worker: Worker,
    /// It runs with the lowest priority, which it cannot leave again.
    pub background: bool,
}
