//! Handles the service's messages.

use super::io::Io;
use super::job::JobOutcome;
use dovetail_base::error::{Context as _, Error, Result};
use dovetail_base::fallible;
use dovetail_base::frame::Bytes;
use dovetail_cache::Key;
use dovetail_link::Object;
use dovetail_wire::{Ask, MAX_MODULE, PartAnswer, Tell, Verdict};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of messages handled before the next orders.
const AT_ONCE: usize = 64;

impl Io {
    /// Handles messages that have arrived. Returns whether there may be more: orders are not kept waiting by a service
    /// that sends without end.
    pub(super) fn hear(&mut self) -> bool {
        for _ in 0..AT_ONCE {
            let Some(session) = &mut self.session else { return false };
            let taken = match session.receive() {
                Ok(Some(tell)) => self.take(tell),
                Ok(None) => return false,
                Err(e) => Err(e),
            };
            if let Err(e) = taken {
                // A service that cannot be understood will not be understood next time.
                if let Some(session) = self.session.as_mut().filter(|_| !e.may_pass()) {
                    session.served = false;
                }
                self.lost(e);
            }
        }
        true
    }

    /// Handles one message.
    ///
    /// # Errors
    /// Malformed: the message is invalid in this state. The connection is then closed.
    fn take(&mut self, tell: Tell) -> Result<()> {
        match tell {
            Tell::Stage { id, part } => {
                let part = part.ok_or_else(|| Error::malformed("no part, and no word of why"))?;
                let key = self.session.as_ref().is_some_and(|session| session.same_keys()).then_some(part.key);
                self.answer(id, vec![part], |objects| part_of(key, objects))?;
            }
            Tell::Pipeline { id, verdict: Verdict::Keep(why), .. } => {
                self.end(id, JobOutcome::Pipeline(Verdict::Keep(why), Vec::new()))?;
            }
            Tell::Pipeline { id, verdict, parts } => {
                self.answer(id, parts, |objects| JobOutcome::Pipeline(verdict, objects))?;
            }
            Tell::Failed { id, error } => self.end(id, JobOutcome::Failed(error))?,
            Tell::NeedModule { digest } => {
                let module = self.desk.modules.get(&digest).filter(|module| module.len() <= MAX_MODULE);
                self.send(&match module {
                    Some(module) => Ask::Module { module: Bytes(fallible::copy(&module)?) },
                    None => Ask::NoModule { digest },
                });
            }
            Tell::Busy { id, retry_ms, limit: _ } => {
                self.requests.postpone(id, Instant::now() + Duration::from_millis(retry_ms.into()));
                self.leaves_window(id);
            }
            Tell::Refused(why) => return Err(why),
            Tell::Welcome(_) => return Err(Error::malformed("a second welcome")),
            // The connection will close, and then all requests are repeated.
            Tell::Draining => {}
            Tell::Queued { .. } | Tell::Pong { .. } | Tell::Status(_) => {}
        }
        Ok(())
    }

    /// Handles an answer with parts. If the service's cache entry cannot be read here, for any reason, the ELF is
    /// requested inline.
    fn answer(
        &mut self,
        id: u64,
        parts: Vec<PartAnswer>,
        outcome: impl FnOnce(Vec<Arc<Object>>) -> JobOutcome,
    ) -> Result<()> {
        // Messages about cancelled requests are ignored.
        if self.requests.job(id).is_none() {
            return Ok(());
        }
        let found = parts.into_iter().map(|part| self.shared.answered(part).at(|| "the service's part"));
        match found.collect::<Result<Option<Vec<Arc<Object>>>>>() {
            Ok(Some(objects)) => self.end(id, outcome(objects)),
            Ok(None) if self.requests.want_inline(id) => {
                self.ask(id);
                Ok(())
            }
            Ok(None) => Err(Error::malformed("an answer without its ELF, which was asked for")),
            Err(e) => self.end(id, JobOutcome::Failed(e)),
        }
    }

    /// Completes a request.
    fn end(&mut self, id: u64, outcome: JobOutcome) -> Result<()> {
        let Some(job) = self.requests.job(id) else { return Ok(()) };
        let failed = matches!(outcome, JobOutcome::Failed(_));
        job.take(outcome)?;
        self.desk.count_answer(failed);
        self.requests.remove(id);
        self.leaves_window(id);
        self.ended(id);
        Ok(())
    }
}

fn part_of(key: Option<Key>, objects: Vec<Arc<Object>>) -> JobOutcome {
    match objects.into_iter().next() {
        Some(object) => JobOutcome::Part(key, object),
        None => JobOutcome::Failed(Error::bug("one part became none")),
    }
}
