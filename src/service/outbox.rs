//! What waits to be sent to a client.

use super::locked::lock;
use dovetail_base::error::{Error, Result};
use dovetail_base::frame;
use dovetail_wire::{MAX_FRAME, Tell};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::net::UnixStream;
use tokio::sync::Notify;

/// Largest number of answer bytes that a client has not read when there is another answer; a client with more is
/// disconnected.
const MAX_UNSENT: usize = 8 << 20;

/// Messages to a client: sent immediately if the socket accepts them, otherwise stored until it does.
pub struct Outbox {
    stream: Arc<UnixStream>,
    unsent: Mutex<VecDeque<u8>>,
    more: Notify,
}

impl Outbox {
    /// Without messages yet.
    pub fn new(stream: Arc<UnixStream>) -> Arc<Self> {
        Arc::new(Self { stream, unsent: Mutex::default(), more: Notify::new() })
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Environment: the client has disconnected, or does not read its answers. Unsupported: the message is longer than
    /// a frame.
    pub fn tell(&self, tell: &Tell) -> Result<()> {
        let bytes = frame::frame(tell, MAX_FRAME)?;
        let mut unsent = self.unsent();
        if unsent.len() > MAX_UNSENT {
            return Err(Error::environment(format!("{} bytes of answers that it does not take", unsent.len())));
        }
        let sent = if unsent.is_empty() { taken(self.stream.try_write(&bytes))? } else { 0 };
        unsent.extend(bytes.get(sent..).unwrap_or_default());
        if !unsent.is_empty() {
            self.more.notify_one();
        }
        Ok(())
    }

    /// Sends the stored messages, until the connection fails.
    ///
    /// # Errors
    /// Environment: the connection fails.
    pub async fn run(&self) -> Result<()> {
        loop {
            self.more.notified().await;
            while !self.unsent().is_empty() {
                self.stream.writable().await?;
                let mut unsent = self.unsent();
                let sent = taken(self.stream.try_write(unsent.as_slices().0))?;
                unsent.drain(..sent);
            }
        }
    }

    fn unsent(&self) -> MutexGuard<'_, VecDeque<u8>> {
        lock(&self.unsent)
    }
}

fn taken(sent: io::Result<usize>) -> Result<usize> {
    match sent {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(0),
        sent => Ok(sent?),
    }
}
