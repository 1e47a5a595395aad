//! A running service as the compiler of this program: many threads, one connection.

use crate::service::connect;
use dovetail::compile::StageElf;
use dovetail::compile::request::{Module, ModuleDigest, StageRequest};
use dovetail::error::{Error, Result};
use dovetail::frame::Bytes;
use dovetail::toolchain::Fetched;
use dovetail::wire::{Ask, Connection, PartAnswer, Priority, Sender, StageAsk, Tell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

/// Interval at which the service is polled for held-back work.
const ROUND: Duration = Duration::from_secs(2);
/// Threads that send requests: more than the service has workers, so that these are never idle.
pub const ASKERS: usize = 32;

/// A connection to a service.
pub struct Remote(Arc<Shared>);

struct Shared {
    sender: Mutex<Sender>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    /// Receivers of answers, by request id.
    waiting: BTreeMap<u64, mpsc::Sender<Tell>>,
    /// Modules that the service may request, with the number of requests that use each.
    modules: BTreeMap<ModuleDigest, (Arc<Module>, usize)>,
    /// Why there will be no more answers.
    over: Option<Error>,
}

/// Locks, even a poisoned mutex: the data is consistent after any panic between two operations on it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Remote {
    /// Connects to the service at this path, or at the default one.
    pub fn connect(socket: Option<&PathBuf>) -> Result<Self> {
        let Connection { sender, mut receiver, .. } = connect(socket, "dovetail populate", None)?;
        let shared = Arc::new(Shared { sender: Mutex::new(sender), state: Mutex::default() });
        let reader = shared.clone();
        std::thread::spawn(move || {
            let over = loop {
                match receiver.receive() {
                    Ok(Some(tell)) => {
                        if let Err(why) = reader.told(tell) {
                            break why;
                        }
                    }
                    Ok(None) => break Error::environment("the service has ended"),
                    Err(why) => break why,
                }
            };
            let mut state = lock(&reader.state);
            // Waiting threads find their sender gone, and the reason here.
            state.waiting.clear();
            state.over = Some(over);
        });
        let asking = Arc::downgrade(&shared);
        std::thread::spawn(move || {
            while asking.upgrade().is_some_and(|shared| lock(&shared.sender).send(&Ask::Status).is_ok()) {
                std::thread::sleep(ROUND);
            }
        });
        Ok(Self(shared))
    }

    /// One stage, from the service's cache or just compiled.
    pub fn stage(&self, module: &Arc<Module>, request: &StageRequest) -> Result<Fetched> {
        if let Some(elf) = self.ask(module, request, true)? {
            return Ok(Fetched::Hit(elf));
        }
        Ok(self.ask(module, request, false)?.map_or(Fetched::NotCached, Fetched::Compiled))
    }

    fn ask(&self, module: &Arc<Module>, request: &StageRequest, cached_only: bool) -> Result<Option<StageElf>> {
        let Shared { sender, state } = &*self.0;
        lock(state).modules.entry(module.digest()).or_insert_with(|| (module.clone(), 0)).1 += 1;
        let answer = loop {
            let (answer, told) = mpsc::channel();
            let id = {
                let mut state = lock(state);
                if let Some(why) = &state.over {
                    break Err(why.clone());
                }
                state.last += 1;
                let id = state.last;
                state.waiting.insert(id, answer);
                id
            };
            let (request, class, inline) = (request.clone(), Priority::Populate, true);
            if let Err(why) = lock(sender).send(&Ask::Stage(StageAsk { id, request, class, inline, cached_only })) {
                break Err(why);
            }
            match told.recv() {
                Ok(Tell::Stage { part, .. }) => break Ok(part.and_then(|PartAnswer { elf, .. }| elf)),
                Ok(Tell::Failed { error, .. }) => break Err(error),
                Ok(Tell::Busy { retry_ms, .. }) => std::thread::sleep(Duration::from_millis(retry_ms.into())),
                Ok(_) => break Err(Error::malformed("the service sent an answer of the wrong kind")),
                Err(_) => {
                    break Err(lock(state).over.clone().unwrap_or_else(|| Error::environment("the service has ended")));
                }
            }
        };
        if let std::collections::btree_map::Entry::Occupied(mut place) = lock(state).modules.entry(module.digest()) {
            place.get_mut().1 -= 1;
            if place.get().1 == 0 {
                place.remove();
            }
        }
        Ok(answer?.map(|Bytes(elf)| StageElf(elf)))
    }
}

impl Shared {
    fn told(&self, tell: Tell) -> Result<()> {
        match tell {
            Tell::NeedModule { digest } => {
                let module = lock(&self.state).modules.get(&digest).map(|(module, _)| module.clone());
                let ask = module
                    .map_or(Ask::NoModule { digest }, |module| Ask::Module { module: Bytes(module.bytes().to_vec()) });
                lock(&self.sender).send(&ask)
            }
            Tell::Stage { id, .. } | Tell::Failed { id, .. } | Tell::Busy { id, .. } => {
                let waiting = lock(&self.state).waiting.remove(&id);
                // The receiver may have given up.
                waiting.map_or(Ok(()), |answer| answer.send(tell).or(Ok(())))
            }
            Tell::Status(status) => {
                status
                    .paused_because
                    .iter()
                    .for_each(|why| eprintln!("dovetail: the service holds this work back: {why}"));
                Ok(())
            }
            Tell::Refused(why) => Err(why),
            _ => Ok(()),
        }
    }
}
