//! The messages. Unknown message fields are ignored, except in `state` and tuning options, where they are errors.

use super::status::ServiceStatus;
use dovetail_base::error::{Error, Result};
use dovetail_base::frame;
use dovetail_base::frame::Bytes;
use dovetail_cache::Key;
use dovetail_compile::request::{CompilerId, ModuleDigest, StageRequest};
use dovetail_link::Placement;
use dovetail_state::PipelineState;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Priority of a request. A job has the highest priority of the requests that wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// A thread is blocked until it is ready.
    Waits,
    /// It will be on screen as soon as it is ready.
    #[default]
    Soon,
    /// It exists already and could be better.
    Optimize,
    /// It is not needed yet.
    Populate,
}

impl Priority {
    /// All priorities, the most urgent first.
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
    /// The first message.
    Hello(Hello),
    /// A stage's part.
    Stage(StageAsk),
    /// A pipeline to be compiled as a whole.
    Pipeline(PipelineAsk),
    /// SPIR-V that was requested by [`Tell::NeedModule`].
    Module {
        /// The module's bytes; the service computes their digest.
        module: Bytes,
    },
    /// The client no longer has the module; requests that need it fail.
    NoModule {
        /// The module that was asked for.
        digest: ModuleDigest,
    },
    /// Draws since the last such message, by the ids of pipelines requested with [`Priority::Optimize`].
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
    /// Cancels a request.
    Cancel {
        /// Of the request.
        id: u64,
    },
    /// Requests the state of the service.
    Status,
    /// Answered by [`Tell::Pong`].
    Ping {
        /// Any number.
        token: u64,
    },
    /// The client is about to close the connection.
    Bye,
}

/// The part of a request or an answer that every version can read: its number. What another version has sent, and this
/// one cannot read, is the failure of one request, not of the connection.
#[derive(Debug, Deserialize)]
pub enum Numbered {
    /// [`Ask::Stage`] or [`Tell::Stage`].
    Stage(RequestNumber),
    /// [`Ask::Pipeline`] or [`Tell::Pipeline`].
    Pipeline(RequestNumber),
    /// [`Tell::Failed`].
    Failed(RequestNumber),
}

/// The number of a request.
#[derive(Debug, Deserialize)]
pub struct RequestNumber {
    id: u64,
}

impl Numbered {
    /// The request of a message that could not be read because of `why`, and the error for it.
    ///
    /// # Errors
    /// `why`: the message concerns no request.
    pub fn failure(body: &[u8], why: Error) -> Result<(u64, Error)> {
        let Ok(
            Self::Stage(RequestNumber { id })
            | Self::Pipeline(RequestNumber { id })
            | Self::Failed(RequestNumber { id }),
        ) = frame::parse(body)
        else {
            return Err(why);
        };
        Ok((id, Error::unsupported("a request of another version", format!("client and service differ: {why}"))))
    }
}

/// A client's greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// First and last version of the protocol that the client speaks.
    pub protocols: (u32, u32),
    /// Its [`super::REQUEST_SCHEMA`].
    pub schema: String,
    /// Display name, such as the game's.
    pub app: String,
    /// The cache that it reads, if any.
    pub cache: Option<Cached>,
}

/// Identity of a folder, independent of its path, which may differ in a container.
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
    /// Everything that decides the code.
    pub request: StageRequest,
    /// Its priority.
    pub class: Priority,
    /// Send the ELF even if the client could read it from the cache.
    pub inline: bool,
    /// Only look in the cache; compile nothing.
    pub cached_only: bool,
}

/// A request for a pipeline with everything known. With [`Priority::Optimize`] it is already linked; the service
/// decides by its use when to compile it, and whether the result is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PipelineAsk {
    /// Chosen by the client, used once.
    pub id: u64,
    /// Its stages' requests without known state, in the order of [`dovetail_base::target::Stage`].
    pub stages: Vec<StageRequest>,
    /// State, including the layout.
    pub state: PipelineState,
    /// Placement of the parts.
    pub placement: Placement,
    /// Its priority.
    pub class: Priority,
    /// Draws so far.
    pub uses: u64,
    /// Send the ELFs even if the client could read them from the cache.
    pub inline: bool,
}

/// A message of the service.
#[derive(Debug, Serialize, Deserialize)]
pub enum Tell {
    /// The answer to [`Ask::Hello`].
    Welcome(Welcome),
    /// The client cannot be served or violates the protocol; the connection is closed.
    Refused(Error),
    /// This module must be sent before a request that uses it can be compiled.
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
    /// The request was not accepted; try again later.
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
        /// The part; `None`: it is not in the cache, and the request was `cached_only`.
        part: Option<PartAnswer>,
    },
    /// The answer to [`Ask::Pipeline`].
    Pipeline {
        /// Of the request.
        id: u64,
        /// Whether to take it.
        verdict: Verdict,
        /// Its parts in the order of [`dovetail_base::target::Stage`]; empty if the verdict is to keep the linked pipeline.
        parts: Vec<PartAnswer>,
    },
    /// The request failed; there will be no part or pipeline.
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
        /// As sent.
        token: u64,
    },
    /// The service is shutting down; requests that are unanswered when the connection closes must be repeated.
    Draining,
}

/// The service's greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The protocol version used from now on.
    pub protocol: u32,
    /// The compiler that generates the code of the answers.
    pub compiler: CompilerId,
    /// Its [`super::REQUEST_SCHEMA`].
    pub schema: String,
    /// Why the client cannot read the service's cache and is sent every ELF; `None` if it can.
    pub inline_because: Option<String>,
    /// The limits of one client.
    pub limits: ClientLimits,
}

/// Limits of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientLimits {
    /// Unanswered requests.
    pub requests: u32,
    /// Bytes of the modules of these requests.
    pub module_bytes: u64,
}

/// An ELF, or its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartAnswer {
    /// Its key in the service's cache.
    pub key: Key,
    /// The ELF, if it was requested inline or is not in the cache yet: results are sent before they are stored.
    pub elf: Option<Bytes>,
}

/// Verdict about a pipeline compiled as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Use it. The text says what is better, or why there was no alternative.
    Take(String),
    /// The linked pipeline is as good. The text says why.
    Keep(String),
}
