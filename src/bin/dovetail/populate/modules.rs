//! The modules of an archive: each is read and described once, as long as memory allows, however many pipelines use it.

use dovetail::capture::{Hash, Recording};
use dovetail::compile::request::Module;
use dovetail::compile::spirv::{ModuleInfo, reflect};
use dovetail::error::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Limit of bytes unpacked for one archive. The largest games have some gigabytes; only an archive whose pipelines
/// alternate between large modules exceeds this.
const MAX_UNPACKED: u64 = 64 << 30;
/// Memory for a description and its table entry, in bytes.
const DESCRIPTION: u64 = 1024;

/// A module and its description.
pub struct Described {
    pub module: Arc<Module>,
    pub info: ModuleInfo,
}

pub struct Modules<'a> {
    recording: &'a Recording,
    /// Memory left for keeping modules, in bytes.
    room: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    modules: BTreeMap<Hash, Result<Arc<Described>>>,
    bytes: u64,
    unpacked: u64,
}

impl<'a> Modules<'a> {
    pub fn new(recording: &'a Recording, room: u64) -> Self {
        Self { recording, room, kept: Mutex::default() }
    }

    /// A module by its name in the archive.
    pub fn get(&self, name: Hash) -> Result<Arc<Described>> {
        {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = kept.modules.get(&name) {
                return found.clone();
            }
            if kept.unpacked > MAX_UNPACKED {
                let limit = format!("more than {} GiB of them, read in turns", MAX_UNPACKED >> 30);
                return Err(Error::unsupported("archive of this many modules", limit));
            }
        }
        let found = self.read(name);
        let unpacked = found.as_ref().map_or(0, |found| found.module.bytes().len() as u64);
        // Names and constants of the description are at most about as large as the module.
        let bytes = 2 * unpacked + DESCRIPTION;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.unpacked += unpacked;
        if kept.bytes + bytes > self.room {
            *kept = Kept { unpacked: kept.unpacked, ..Kept::default() };
        }
        if kept.modules.insert(name, found.clone()).is_none() {
            kept.bytes += bytes;
        }
        found
    }

    fn read(&self, name: Hash) -> Result<Arc<Described>> {
        let module = Module::new(self.recording.module(name)?)?;
        let info = reflect(&module)?;
        Ok(Arc::new(Described { module: Arc::new(module), info }))
    }
}
