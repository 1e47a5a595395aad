//! One transaction of LMDB through heed, on checked copies of its pages.
//!
//! LMDB trusts its file, but the file may be damaged, or truncated at any moment. So LMDB does not read it: all pages
//! that the transaction will read are read and checked first ([`Checked`]), and replace LMDB's map ([`mmap::replace`]).
//! LMDB writes by `pwrite`, as always. `docs/cache-format.md` gives the argument.

use super::checked::Checked;
use super::key::Key;
use super::mmap;
use super::page::{Damage, overflow_pages};
use super::reader::Reader;
use dovetail_base::error::Error;
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError};
use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// One environment at a time in this process: heed has a table of them, and [`mmap::replace`] looks for its map.
static ENVIRONMENT: Mutex<()> = Mutex::new(());

/// Reason why nothing was written.
pub enum Failure {
    /// The file is not as LMDB wrote it.
    Damage(Damage),
    /// The file or the disk is full, or a system call failed.
    Other(Error),
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

/// errno(3): input or output error.
const EIO: i32 = 5;

impl From<heed::Error> for Failure {
    fn from(e: heed::Error) -> Self {
        use MdbError::{Corrupted, CursorFull, Invalid, PageFull, PageNotFound, Panic, Problem, VersionMismatch};
        match e {
            heed::Error::Mdb(MdbError::MapFull) => Self::Other(full()),
            heed::Error::Mdb(
                Corrupted | CursorFull | Invalid | PageFull | PageNotFound | Panic | Problem | VersionMismatch,
            ) => Self::Damage(Damage::new(0, format!("or others are not usable ({e})"))),
            // LMDB reports so that the system wrote only a part.
            heed::Error::Io(e) if e.raw_os_error() == Some(EIO) => Self::Other(Error::environment(
                "LMDB store: a write was cut short: no space on the disk, or the disk is faulty",
            )),
            e => Self::Other(Error::environment(format!("LMDB store: {e}"))),
        }
    }
}

fn full() -> Error {
    Error::environment(
        "LMDB store is full: it has reached its size limit; use another cache directory, or delete this one",
    )
}

fn system(what: &str, e: impl std::fmt::Display) -> Failure {
    Failure::Other(Error::environment(format!("LMDB store: {what}: {e}")))
}

/// Puts entries into the file of a folder, all or none, and creates the file if needed. The caller holds the lock that
/// excludes other writers. The file may grow to `limit` bytes.
pub fn write(dir: &Path, limit: usize, entries: &BTreeMap<Key, &[u8]>) -> Result<(), Failure> {
    // A panic under the lock at worst leaves an environment open, and the next one is refused by name.
    let _one = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = dir.canonicalize().map_err(|e| system("folder", e))?;
    let file = dir.join("data.mdb");
    let reader = match Reader::open(&file)? {
        Some(reader) => reader,
        None => {
            create(&file)?;
            // LMDB fills an empty file with two meta pages.
            drop(environment(&dir, 1 << 20)?);
            Reader::open(&file)?.ok_or_else(|| Damage::new(0, "does not exist, although LMDB has just created it"))?
        }
    };
    let checked = Checked::new(&reader, entries.keys().map(|key| &key.0[..]))?;
    let length = map_length(&checked, limit, entries).ok_or_else(|| Failure::Other(full()))?;
    let env = environment(&dir, length)?;
    // SAFETY: this is the map of the environment that was just opened with this length, the only one of this file
    // because the lock above is held. No transaction has begun, so there are no references into the map; LMDB does not
    // write to it without MDB_WRITEMAP.
    unsafe { mmap::replace(&file, length, &checked) }.map_err(|e| system("map", e))?;
    let database = database(&env)?;
    let mut transaction = env.write_txn()?;
    for (key, bytes) in entries {
        database.put(&mut transaction, &key.0, bytes)?;
    }
    Ok(transaction.commit()?)
}

/// Creates the empty file with the rights of the user's file mode mask: LMDB would let its owner read it only, but others
/// may be meant to read what this user compiles.
fn create(file: &Path) -> Result<(), Failure> {
    let created = std::fs::File::options().write(true).create_new(true).mode(0o666).open(file);
    match created {
        Ok(_) => Ok(()),
        // LMDB would follow the link and write to another file.
        Err(_) if std::fs::symlink_metadata(file).is_ok_and(|there| there.is_symlink()) => {
            Err(Failure::Damage(Damage::new(0, "cannot be in a link")))
        }
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(system("file", e)),
    }
}

fn environment(dir: &Path, length: usize) -> Result<Env, heed::Error> {
    let mut options = EnvOpenOptions::new();
    options.map_size(length);
    // SAFETY: NO_META_SYNC only risks the last transactions in a machine (not process) crash, never the file's
    // consistency. NO_LOCK requires a single writer, which the caller's lock ensures, and no LMDB reader: the reader of
    // this crate does not use LMDB and needs no protection from writers. The map is replaced before it is read.
    unsafe {
        options.flags(EnvFlags::NO_META_SYNC | EnvFlags::NO_LOCK);
        options.open(dir)
    }
}

fn database(env: &Env) -> Result<Database<'_, Bytes, Bytes>, Failure> {
    let made = env.create_databases_and_commit(env.write_txn()?, |open, transaction| {
        open.create_database::<Bytes, Bytes>(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
    })?;
    match made {
        CommitOrAbort::Commit(database) => Ok(database),
        CommitOrAbort::Abort(()) => Err(Failure::Other(Error::bug("LMDB's database was not opened"))),
    }
}

/// Map size for all pages, the new entries, and the tree pages that change: LMDB copies each page on the path to a leaf
/// and may split it. No more than that, because the map uses address space, which may be limited.
fn map_length(checked: &Checked, limit: usize, entries: &BTreeMap<Key, &[u8]>) -> Option<usize> {
    const TREE_PAGES: u64 = 64;
    let page_size = checked.page_size as u64;
    let values: u64 = entries.values().map(|bytes| overflow_pages(bytes.len(), checked.page_size)).sum();
    let wanted = (checked.pages + values + TREE_PAGES * (entries.len() as u64 + 4)).checked_mul(page_size)?;
    let length = wanted.min(limit as u64).next_multiple_of(1 << 16);
    usize::try_from(length).ok().filter(|_| length > checked.pages * page_size)
}
