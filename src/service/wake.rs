//! Messages from the service's tasks to its loop.

use super::events::{BrokerEvent, Compiled, Lookup};
use super::jobs::ClientId;
use super::outbox::Outbox;
use dovetail_base::error::{Error, Result};
use dovetail_cache::Key;
use dovetail_worker::Worker;
use std::sync::Arc;

/// A message to the loop.
pub enum Message {
    /// An event for the broker.
    Event(BrokerEvent),
    /// A client has joined: whether every answer must contain the ELF, and its outbox.
    Joined(ClientId, bool, Arc<Outbox>),
    /// A connection was not admitted.
    Refused(Error),
    /// A client's session has ended; with an error if the client did not end it itself.
    Gone(ClientId, Option<Error>),
    /// A compile has finished, and may have left an idle worker.
    Compiled(Key, Compiled, Option<Box<Idle>>),
    /// The outcome of storing results in the cache.
    Kept(Vec<Key>, Result<()>),
    /// What was gathered is to be stored.
    Flush,
    /// The cache's directory was looked at: what was done about it, if it was gone.
    CacheSeen(Option<String>),
    /// The result of a lookup.
    Looked(Key, Lookup),
    /// A line for the log.
    Log(String),
    /// Time has passed.
    Tick,
    /// The process was told to exit.
    Stop,
}

/// A worker without a job.
pub struct Idle {
    /// The worker.
    pub worker: Worker,
    /// It runs at the lowest priority, which it cannot raise again.
    pub background: bool,
}
