//! A client's connection: reads its frames, and sends it messages.
//!
//! A client must send its hello within two seconds, in at most 64 KiB, and each other frame within ten from its first byte
//! on. A frame that is too long or unfinished, an invalid message, or unread answers above the limit close its connection
//! and affect nobody else. Reading waits for the broker, so if a
//! client sends requests faster than they are served, its own socket slows it down. Pings are answered here.

use super::broker::LIMITS;
use super::door::Place;
use super::events::BrokerEvent;
use super::jobs::ClientId;
use super::locked::lock;
use super::outbox::Outbox;
use super::wake::Message;
use dovetail_base::error::{Error, Result};
use dovetail_base::frame;
use dovetail_base::frame::HEAD;
use dovetail_compile::request::{CompilerId, Module};
use dovetail_wire::{Ask, Cached, Hello, MAX_FRAME, MAX_HELLO, Numbered, PROTOCOLS, REQUEST_SCHEMA, Tell, Welcome};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Time in which a client must send its hello.
const HELLO_PATIENCE: Duration = Duration::from_secs(2);
/// Time in which a client must send a frame that it has begun, however it trickles.
const FRAME_PATIENCE: Duration = Duration::from_secs(10);
/// Time for a client that gets only the service's status.
const STATUS_PATIENCE: Duration = Duration::from_secs(10);
/// Free bytes in the buffer for each read.
const CHUNK: usize = 64 << 10;
/// Modules with more bytes are hashed on another thread.
const LARGE_MODULE: usize = 256 << 10;

/// What the service tells each client about itself.
pub struct Greeting {
    /// The compiler whose code the service serves.
    pub compiler: CompilerId,
    /// Its cache; `None` if it has no identity that clients could compare. Another one if it was deleted and made anew.
    pub cache: Mutex<Option<Cached>>,
}

/// The identity of a cache's directory.
pub fn identity(cache: &Path) -> Option<Cached> {
    let data = std::fs::metadata(cache).ok()?;
    Some(Cached { device: data.dev(), inode: data.ino() })
}

impl Greeting {
    /// The answer to a hello.
    ///
    /// # Errors
    /// Unsupported: there is no common version of the protocol.
    pub fn welcome(&self, hello: &Hello) -> Result<Welcome> {
        let (first, last) = hello.protocols;
        let protocol = last.min(PROTOCOLS.1);
        if protocol < first.max(PROTOCOLS.0) {
            let ours = format!("the service speaks {} to {}", PROTOCOLS.0, PROTOCOLS.1);
            return Err(Error::unsupported(format!("protocol {first} to {last}"), ours));
        }
        Ok(Welcome {
            protocol,
            compiler: self.compiler.clone(),
            schema: REQUEST_SCHEMA.into(),
            inline_because: self.inline_because(hello),
            limits: LIMITS,
        })
    }

    fn inline_because(&self, hello: &Hello) -> Option<String> {
        if hello.schema != REQUEST_SCHEMA {
            return Some("client and service are of different versions, and may name one request by two keys".into());
        }
        match hello.cache {
            None => Some("the client reads no cache".into()),
            theirs if theirs == *lock(&self.cache) => None,
            Some(_) => Some("the client reads another folder than the service's cache".into()),
        }
    }
}

/// Splits a stream of bytes into frames.
#[derive(Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Start of the first frame that was not taken.
    start: usize,
}

impl Frames {
    /// Size in bytes that the buffer will have when there is room for more; the bytes of frames that were taken go.
    pub fn make_ready(&mut self) -> usize {
        if self.start > 0 && self.start == self.bytes.len() {
            // The buffer of a large frame does not stay.
            if self.bytes.capacity() > 2 * CHUNK {
                self.bytes = Vec::new()
            } else {
                self.bytes.clear()
            }
            self.start = 0;
        } else if self.start >= CHUNK {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.capacity().max(self.bytes.len() + self.growth())
    }

    /// Bytes to add: by half, so that a large frame is not copied often.
    fn growth(&self) -> usize {
        if self.bytes.capacity() - self.bytes.len() >= CHUNK { 0 } else { CHUNK.max(self.bytes.len() / 2) }
    }

    /// The buffer to read into: new bytes go after the present ones.
    ///
    /// # Errors
    /// Memory: there is none for it.
    pub fn room(&mut self) -> Result<&mut Vec<u8>> {
        self.make_ready();
        let growth = self.growth();
        let ready = self.bytes.try_reserve_exact(growth);
        ready.map_err(|_| Error::memory(format!("a message of {} bytes", self.bytes.len() + growth)))?;
        Ok(&mut self.bytes)
    }

    /// Whether a part of a frame has arrived.
    fn is_begun(&self) -> bool {
        self.start < self.bytes.len()
    }

    /// The body of the next frame, if it is complete.
    ///
    /// # Errors
    /// Malformed: longer than `limit`.
    pub fn next(&mut self, limit: u32) -> Result<Option<&[u8]>> {
        Ok(self.next_place(limit)?.and_then(|place| self.bytes.get(place)))
    }

    fn next_place(&mut self, limit: u32) -> Result<Option<Range<usize>>> {
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        let Some((head, rest)) = rest.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = frame::body_length(*head, limit)?;
        if rest.len() < length {
            return Ok(None);
        }
        let from = self.start + HEAD;
        self.start = from + length;
        Ok(Some(from..from + length))
    }
}

/// Tells a client that it is not served.
pub fn refuse(stream: &UnixStream, why: &Error) {
    if let Ok(bytes) = frame::frame(&Tell::Refused(why.clone()), MAX_FRAME) {
        // The client may be gone.
        let _ = stream.try_write(&bytes);
    }
}

/// Serves a client until it leaves or violates the protocol, of which it is told.
pub async fn run(
    stream: UnixStream,
    client: ClientId,
    mut place: Place,
    greeting: Arc<Greeting>,
    to: mpsc::Sender<Message>,
) {
    let stream = Arc::new(stream);
    let outbox = Outbox::new(stream.clone());
    let writer = outbox.clone();
    // Dropping the set ends its task, also when the session is cut off.
    let mut writing = tokio::task::JoinSet::new();
    writing.spawn(async move { writer.run().await });
    let only_status = place.only_status();
    let talking = talk(&stream, client, &mut place, &greeting, &outbox, &to);
    let ended = if only_status {
        let late = || Error::environment(format!("there are many others, so it had {STATUS_PATIENCE:?}"));
        tokio::time::timeout(STATUS_PATIENCE, talking).await.unwrap_or_else(|_| Err(late()))
    } else {
        talking.await
    };
    if let Err(why) = &ended {
        // The client may be gone.
        let _ = outbox.tell(&Tell::Refused(why.clone()));
    }
    // Sending fails only if the service has ended.
    let _ = to.send(Message::Gone(client, ended.err())).await;
}

async fn talk(
    stream: &UnixStream,
    client: ClientId,
    place: &mut Place,
    greeting: &Greeting,
    outbox: &Arc<Outbox>,
    to: &mpsc::Sender<Message>,
) -> Result<()> {
    let mut frames = Frames::default();
    let first = tokio::time::timeout(HELLO_PATIENCE, next_body(stream, &mut frames, place, MAX_HELLO)).await;
    let first = first.map_err(|_| Error::environment(format!("no hello within {HELLO_PATIENCE:?}")))??;
    let hello = match first.map(frame::parse).transpose()? {
        Some(Ask::Hello(hello)) => hello,
        Some(_) => return Err(Error::malformed("protocol: something before the hello")),
        None => return Ok(()),
    };
    let welcome = greeting.welcome(&hello)?;
    let inline = welcome.inline_because.is_some();
    let skewed = hello.schema != REQUEST_SCHEMA;
    outbox.tell(&Tell::Welcome(welcome))?;
    let gone = |_| Error::environment("the service ends");
    to.send(Message::Joined(client, inline, outbox.clone())).await.map_err(gone)?;
    while let Some(body) = next_body(stream, &mut frames, place, MAX_FRAME).await? {
        let ask = match frame::parse(body) {
            Err(why) if skewed => {
                let (id, error) = Numbered::failure(body, why)?;
                outbox.tell(&Tell::Failed { id, error })?;
                continue;
            }
            ask => ask?,
        };
        if place.only_status() && !matches!(ask, Ask::Status | Ask::Ping { .. } | Ask::Bye) {
            return Err(Error::environment("the service has so many connections that this one gets only its status"));
        }
        let event = match ask {
            Ask::Ping { token } => {
                outbox.tell(&Tell::Pong { token })?;
                continue;
            }
            Ask::Bye => break,
            Ask::Module { module } if module.len() > LARGE_MODULE => {
                let hashed = tokio::task::spawn_blocking(move || Module::new(module.0)).await;
                BrokerEvent::Module(
                    client,
                    hashed.unwrap_or_else(|_| Err(Error::bug("panic while a module was hashed"))),
                )
            }
            Ask::Module { module } => BrokerEvent::Module(client, Module::new(module.0)),
            ask => BrokerEvent::Asked(client, Box::new(ask)),
        };
        to.send(Message::Event(event)).await.map_err(gone)?;
    }
    Ok(())
}

/// The next message; `None` after the client has closed the connection.
async fn next_body<'f>(
    stream: &UnixStream,
    frames: &'f mut Frames,
    place: &mut Place,
    limit: u32,
) -> Result<Option<&'f [u8]>> {
    let mut end = None;
    loop {
        if let Some(found) = frames.next_place(limit)? {
            return Ok(frames.bytes.get(found));
        }
        if frames.is_begun() {
            let end = *end.get_or_insert_with(|| Instant::now() + FRAME_PATIENCE);
            let late = |_| Error::environment(format!("a message that is not complete after {FRAME_PATIENCE:?}"));
            tokio::time::timeout_at(end, stream.readable()).await.map_err(late)??;
        } else {
            stream.readable().await?;
        }
        place.hold(frames.make_ready())?;
        match stream.try_read_buf(frames.room()?) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_whole_however_they_came_in() {
        let sent: Vec<Vec<u8>> = (0..50u8).map(|n| vec![n; 1 + 3000 * usize::from(n % 7)]).collect();
        let framed = |body: &Vec<u8>| [&(body.len() as u32).to_le_bytes()[..], body].concat();
        let bytes: Vec<u8> = sent.iter().flat_map(framed).collect();
        for piece in [1, 7, 4096, bytes.len()] {
            let (mut frames, mut received) = (Frames::default(), Vec::new());
            for part in bytes.chunks(piece) {
                frames.room().unwrap().extend_from_slice(part);
                while let Some(body) = frames.next(1 << 20).unwrap() {
                    received.push(body.to_vec());
                }
            }
            assert_eq!(received, sent);
        }
        let mut frames = Frames::default();
        frames.room().unwrap().extend_from_slice(&1001u32.to_le_bytes());
        assert!(frames.next(1000).is_err(), "a length is refused before its bytes have come");
    }

    #[test]
    fn a_client_reads_the_cache_only_if_it_is_the_same_one_by_the_same_keys() {
        let dir = tempfile::tempdir().unwrap();
        let ours = identity(dir.path()).unwrap();
        let compiler = CompilerId { sources: String::new(), backend: String::new() };
        let greeting = Greeting { compiler, cache: Mutex::new(Some(ours)) };
        let hello =
            Hello { protocols: PROTOCOLS, schema: REQUEST_SCHEMA.into(), app: String::new(), cache: Some(ours) };
        let why = |hello: Hello| greeting.welcome(&hello).unwrap().inline_because.unwrap_or_default();
        assert_eq!(why(hello.clone()), "");
        assert!(why(Hello { cache: None, ..hello.clone() }).contains("no cache"));
        let other = Cached { inode: ours.inode + 1, ..ours };
        assert!(why(Hello { cache: Some(other), ..hello.clone() }).contains("another folder"));
        assert!(why(Hello { schema: "other".into(), ..hello.clone() }).contains("versions"));
        let newer = Hello { protocols: (PROTOCOLS.0, PROTOCOLS.1 + 5), ..hello.clone() };
        assert_eq!(greeting.welcome(&newer).unwrap().protocol, PROTOCOLS.1);
        let refused = greeting.welcome(&Hello { protocols: (PROTOCOLS.1 + 1, PROTOCOLS.1 + 2), ..hello }).unwrap_err();
        assert!(refused.to_string().contains("the service speaks 1 to 1"), "{refused}");
    }
}
