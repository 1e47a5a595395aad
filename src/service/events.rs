//! Events that the broker handles, and the effects that it returns.

use super::comparison::Comparison;
use super::jobs::ClientId;
use super::records::Batch;
use dovetail_base::error::{Error, Result};
use dovetail_cache::Key;
use dovetail_compile::StageElf;
use dovetail_compile::request::{CompilerId, Module, ModuleDigest, StageRequest};
use dovetail_wire::{Ask, PartAnswer, Priority, ServiceStatus, Tell, Verdict};
use std::sync::Arc;
use std::time::Duration;

/// An event for the broker.
pub enum BrokerEvent {
    /// A client has joined; the flag: every answer to it must contain the ELF.
    Joined(ClientId, bool),
    /// A client sent a message. Modules arrive as [`BrokerEvent::Module`], already hashed.
    Asked(ClientId, Box<Ask>),
    /// A client sent a module, or something that is not a module.
    Module(ClientId, Result<Module>),
    /// A client has disconnected.
    Left(ClientId),
    /// Whether the record that a request kills workers still exists.
    Rechecked(Key, bool),
    /// Whether such a record was written.
    Condemned(Key, bool),
    /// The result of a lookup.
    Looked(Key, Lookup),
    /// The result of a compile.
    Compiled(Key, Compiled),
    /// Whether results were stored in the cache.
    Kept(Vec<Key>, bool),
    /// The verdict on a pipeline that was compiled as a whole.
    Compared(Key, Result<Verdict>),
    /// Time has passed; the state of the machine.
    Tick(HostMachine),
    /// Start no new jobs from now on.
    Drain,
}

/// What a lookup has found on the disk.
pub enum Lookup {
    /// The part.
    Part(StageElf),
    /// Not the part, but its module, which was sent earlier.
    Module(Module),
    /// Neither.
    Nothing,
}

/// Result of a compile.
pub struct Compiled {
    /// A checked ELF, or the error.
    pub result: Result<StageElf>,
    /// Processor time.
    pub cost: Duration,
    /// Number of workers that the compile killed.
    pub deaths: u32,
}

/// State of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostMachine {
    /// Resident memory of all workers, in bytes.
    pub worker_memory: u64,
    /// Why background jobs should not be started.
    pub pressure: Vec<String>,
    /// Why no results are stored in the cache, or what storing them waits for.
    pub not_kept_because: Option<String>,
    /// Why the cache is not read.
    pub not_read_because: Option<String>,
}

/// An action that the broker's caller must carry out.
pub enum Effect {
    /// Send a message to a client.
    Tell(ClientId, Tell),
    /// Close the connection of a client that violated the protocol, with this error.
    Close(ClientId, Error),
    /// Check whether the record that a request kills workers still exists.
    Recheck(Key),
    /// Write such a record.
    Condemn(Key, Vec<u8>),
    /// Look in the cache; if the part is not there, load this module, which may have been sent earlier.
    Look(Key, Option<ModuleDigest>),
    /// Store a module, so that it can be loaded later.
    Save(Arc<Module>),
    /// Compile.
    Compile {
        /// The job.
        key: Key,
        /// Its request.
        request: Box<StageRequest>,
        /// Its module.
        module: Arc<Module>,
        /// The job's class.
        class: Priority,
    },
    /// Abandon a compile; the job runs again later.
    Stop(Key),
    /// Store a result in the cache.
    Keep(Key, Arc<StageElf>),
    /// Compare two versions of a pipeline.
    Compare(Box<Comparison>),
    /// Write rows of the journal.
    Remember(Batch),
    /// Log a line for people.
    Log(String),
}

/// Configuration of a broker.
pub struct BrokerConfig {
    /// The compiler whose code the service serves.
    pub compiler: CompilerId,
    /// Number of compiles that run at once.
    pub workers: usize,
    /// The fixed part of every status.
    pub status: ServiceStatus,
}

/// A part as it is sent to a client.
pub(super) fn part(key: Key, elf: &StageElf, sent: bool) -> PartAnswer {
    PartAnswer { key, elf: sent.then(|| dovetail_base::frame::Bytes(elf.0.clone())) }
}
