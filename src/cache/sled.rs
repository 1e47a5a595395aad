//! sled: a log-structured tree, one process at a time.
//!
//! sled reports damage of its files by errors and by panics. Both are caught here; a database that cannot be opened is
//! set aside. Failures that cannot be caught, such as running out of memory over a damaged length, end the process:
//! `docs/dependencies.md` says what this store is for.

use super::aside::{WriteLock, held, set_aside};
use super::key::Key;
use super::store::Store;
use dovetail_base::error::{Error, Result};
use std::cell::Cell;
use std::io::ErrorKind::{InvalidData, NotADirectory, Other, UnexpectedEof};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Time to wait for a database to be closed: sled's threads may hold it a little longer than its handle lives.
const PATIENCE: Duration = Duration::from_secs(2);

thread_local! {
    /// Whether the current panic of this thread is sled's and will be caught, so that no message should be printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// A sled database. Every put is flushed before it returns: sled loses unflushed puts when the process is killed.
pub struct SledStore {
    dir: PathBuf,
    db: Mutex<Option<sled::Db>>,
    notices: Mutex<Vec<String>>,
}

/// Failure of a sled operation.
enum Failure {
    /// Its files are damaged, according to an error or a panic.
    Damage(String),
    /// A system call failed.
    Other(Error),
    /// The database is open in another process.
    Held(Error),
}

/// Runs an operation of sled, which may panic.
fn guarded<T>(operation: impl FnOnce() -> sled::Result<T>) -> Result<T, Failure> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                others(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    let done = catch_unwind(AssertUnwindSafe(operation));
    QUIET.set(before);
    match done {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(failed(e)),
        Err(_) => Err(Failure::Damage("it panicked".into())),
    }
}

fn failed(e: sled::Error) -> Failure {
    let environment = |e| Error::environment(format!("sled store: {e}"));
    match e {
        sled::Error::Io(e) if e.to_string().contains("could not acquire lock") => Failure::Held(environment(e)),
        sled::Error::Io(e) if !matches!(e.kind(), InvalidData | NotADirectory | Other | UnexpectedEof) => {
            Failure::Other(environment(e))
        }
        e => Failure::Damage(e.to_string()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SledStore {
    /// Opens or creates the database in a directory. One that sled cannot open is set aside.
    ///
    /// # Errors
    /// Environment: another process holds it, or it cannot be created or read.
    pub fn open(dir: &Path) -> Result<Self> {
        let store = Self { dir: dir.to_owned(), db: Mutex::default(), notices: Mutex::default() };
        store.database()?;
        Ok(store)
    }

    fn place(&self, e: Error) -> Error {
        e.at(self.dir.display().to_string())
    }

    /// The open database.
    fn database(&self) -> Result<sled::Db> {
        let mut db = lock(&self.db);
        if let Some(db) = &*db {
            return Ok(db.clone());
        }
        let started = Instant::now();
        let open = || loop {
            match guarded(|| sled::Config::new().path(&self.dir).open()) {
                Err(Failure::Held(_)) if started.elapsed() < PATIENCE => std::thread::sleep(PATIENCE / 100),
                opened => break opened,
            }
        };
        let opened = match open() {
            Err(Failure::Damage(why)) => {
                let _lock = WriteLock::take(&self.dir, super::aside::PATIENCE)?.ok_or_else(held)?;
                lock(&self.notices).push(set_aside(&self.dir, &why)?);
                open()
            }
            opened => opened,
        };
        match opened {
            Ok(opened) => Ok(db.insert(opened).clone()),
            Err(Failure::Other(e) | Failure::Held(e)) => Err(self.place(e)),
            Err(Failure::Damage(why)) => Err(self.place(Error::environment(format!("sled store: {why}")))),
        }
    }

    /// Closes a database that failed while open; the next operation opens a new one.
    fn give_up(&self, why: &str) -> Result<()> {
        let mut db = lock(&self.db);
        let broken = db.take();
        // Closing it writes, and may panic too.
        let _ = guarded(|| {
            drop(broken);
            Ok(())
        });
        let _lock = WriteLock::take(&self.dir, super::aside::PATIENCE)?.ok_or_else(held)?;
        lock(&self.notices).push(set_aside(&self.dir, &why)?);
        Ok(())
    }
}

impl Store for SledStore {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let db = self.database()?;
        match guarded(|| db.get(key.0)) {
            Ok(found) => Ok(found.map(|value| value.to_vec())),
            Err(Failure::Other(e) | Failure::Held(e)) => Err(self.place(e)),
            Err(Failure::Damage(why)) => Err(self.place(Error::environment(format!("sled store is damaged: {why}")))),
        }
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        let put = || {
            let db = self.database().map_err(Failure::Other)?;
            guarded(|| {
                db.insert(key.0, bytes)?;
                db.flush().map(drop)
            })
        };
        let again = match put() {
            Err(Failure::Damage(why)) => {
                self.give_up(&why)?;
                put()
            }
            done => done,
        };
        again.map_err(|failure| match failure {
            Failure::Other(e) | Failure::Held(e) => self.place(e),
            Failure::Damage(why) => self.place(Error::environment(format!("sled store: {why}"))),
        })
    }

    fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notices))
    }
}

impl Drop for SledStore {
    fn drop(&mut self) {
        let db = lock(&self.db).take();
        let _ = guarded(|| {
            drop(db);
            Ok(())
        });
    }
}
