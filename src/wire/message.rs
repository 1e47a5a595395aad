//! The messages. Unknown message fields are ignored, except in `state` and tuning options, which refuse them.

use super::status::ServiceStatus;
use crate::cache::Key;
use crate::compile::request::{CompilerId, ModuleDigest, StageRequest};
use crate::error::Error;
use crate::frame::Bytes;
use crate::link::Placement;
use crate::state::PipelineState;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Priority of a request. A job has the best priority of those who wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// A thread is blocked until it is there.
    Waits,
    /// It will be on the screen as soon as it is there.
    #[default]
    Soon,
    /// It is there already and could be better.
    Optimize,
    /// Nobody needs it yet.
    Populate,
}

impl Priority {
    /// All of them, the most urgent first.
    pub const ALL: [Self; 4] = [Self::Waits, Self::Soon, Self::Optimize, Self::Populate];
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Waits => "waits",
            Self::Soon => "soon",
            Self::Optimize => "optimize",
            Self::Populate => "populate",
        })
    }
}

/// A client's message.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    /// First of all.
    Hello(Hello),
    /// A stage's part.
    Stage(StageAsk),
    /// A pipeline compiled whole.
    Pipeline(PipelineAsk),
    /// SPIR-V that was asked for by [`Tell::NeedModule`].
    Module {
        /// The module's bytes; the service computes their digest.
        module: Bytes,
    },
    /// The client has no such module any more: what needs it fails.
    NoModule {
        /// The module that was asked for.
        digest: ModuleDigest,
    },
    /// Draws since this was said last, of pipelines that were asked for by these ids with [`Priority::Optimize`].
    Used {
        /// Ids and draws.
        draws: Vec<(u64, u64)>,
    },
    /// Another class for a request.
    Class {
        /// Of the request.
        id: u64,
        /// Its new priority.
        class: Priority,
    },
    /// Cancels a request: nobody waits for it any more.
    Cancel {
        /// Of the request.
        id: u64,
    },
    /// Asks for the state of the service.
    Status,
    /// Comes back as [`Tell::Pong`].
    Ping {
        /// Any number.
        token: u64,
    },
    /// The client is about to close the connection.
    Bye,
}

/// A client's greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// First and last version of the protocol that the client speaks.
    pub protocols: (u32, u32),
    /// Its [`super::REQUEST_SCHEMA`].
    pub schema: String,
    /// A name for people, such as the game's.
    pub app: String,
    /// The cache that it reads, if it reads one.
    pub cache: Option<Cached>,
}

/// A folder, whatever path leads to it: in a container it may be another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cached {
    /// Device of the folder.
    pub device: u64,
    /// Inode of the folder.
    pub inode: u64,
}

/// A request for a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageAsk {
    /// Chosen by the client, used once.
    pub id: u64,
    /// All that decides the code.
    pub request: StageRequest,
    /// Its priority.
    pub class: Priority,
    /// Send the ELF even if the client could read it in the cache.
    pub inline: bool,
    /// Look, and compile nothing.
    pub cached_only: bool,
}

/// A request for a pipeline that knows everything. With [`Priority::Optimize`] it is linked already: the service decides by use
/// when it is compiled, and whether the result is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PipelineAsk {
    /// Chosen by the client, used once.
    pub id: u64,
    /// Its stages' early requests, in the order of [`crate::target::Stage`].
    pub stages: Vec<StageRequest>,
    /// State; the layout is in it.
    pub state: PipelineState,
    /// Placement of the parts.
    pub placement: Placement,
    /// Its priority.
    pub class: Priority,
    /// Draws so far.
    pub uses: u64,
    /// Send the ELFs even if the client could read them in the cache.
    pub inline: bool,
}

/// A message of the service.
#[derive(Debug, Serialize, Deserialize)]
pub enum Tell {
    /// The answer to [`Ask::Hello`].
    Welcome(Welcome),
    /// To somebody who cannot be served, or who does not keep to the protocol; the connection is closed.
    Refused(Error),
    /// This module has to be sent before a request that names it can be compiled.
    NeedModule {
        /// The digest of its bytes.
        digest: ModuleDigest,
    },
    /// The request waits for a worker.
    Queued {
        /// Of the request.
        id: u64,
        /// Jobs before it.
        position: u32,
    },
    /// The request was not taken: ask again later.
    Busy {
        /// Of the request.
        id: u64,
        /// Time until then, in milliseconds.
        retry_ms: u32,
        /// The limit that was reached.
        limit: String,
    },
    /// The answer to [`Ask::Stage`].
    Stage {
        /// Of the request.
        id: u64,
        /// The part; none: it is not in the cache, and it was asked for with `cached_only`.
        part: Option<PartAnswer>,
    },
    /// The answer to [`Ask::Pipeline`].
    Pipeline {
        /// Of the request.
        id: u64,
        /// Whether to take it.
        verdict: Verdict,
        /// Its parts in the order of [`crate::target::Stage`]; empty where the verdict is to keep what there is.
        parts: Vec<PartAnswer>,
    },
    /// There will be no part, no pipeline.
    Failed {
        /// Of the request.
        id: u64,
        /// The error.
        error: Error,
    },
    /// The answer to [`Ask::Status`].
    Status(Box<ServiceStatus>),
    /// The answer to [`Ask::Ping`].
    Pong {
        /// As it was sent.
        token: u64,
    },
    /// The service ends; what is not answered when the connection closes has to be asked for again.
    Draining,
}

/// The service's greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version of the protocol that both speak from now on.
    pub protocol: u32,
    /// The compiler of the answers' code.
    pub compiler: CompilerId,
    /// Its [`super::REQUEST_SCHEMA`].
    pub schema: String,
    /// Why the client cannot read the service's cache, and is sent every ELF; none if it can.
    pub inline_because: Option<String>,
    /// The limits of one client.
    pub limits: ClientLimits,
}

/// Limits of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientLimits {
    /// Requests without an answer.
    pub requests: u32,
    /// Bytes of modules that belong to them.
    pub module_bytes: u64,
}

/// An ELF, or where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartAnswer {
    /// Its key in the service's cache.
    pub key: Key,
    /// The ELF, if it was to be sent, or is not in the cache (yet): results are sent before they are kept.
    pub elf: Option<Bytes>,
}

/// Value of a whole compile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Take it. Why, in words: what is better, or why there was no other way.
    Take(String),
    /// The linked pipeline is as good. Why, in words.
    Keep(String),
}
