//! Specialization constants of modules. Programs create many shaders of one module that differ only in values, so what
//! the module's words tell of its constants is kept.

use super::scan::scan;
use crate::compile::operand_ids;
use crate::compile::request::ModuleDigest;
use crate::error::Result;
use crate::table::{SharedTable, hash};
use std::sync::Arc;

/// Number of modules that are kept.
const MODULES: usize = 4096;
/// Number of constants of the largest module that is kept.
const CONSTANTS: usize = 256;

/// Constants of a module that can be specialized.
pub(super) struct Constants {
    /// `SpecId`s of all of them, sorted.
    pub(super) all: Vec<u32>,
    /// `SpecId`s of those that are only operands, sorted.
    pub(super) operands: Vec<u32>,
    /// Whether the module depends on the subgroup.
    pub(super) uses_subgroups: bool,
}

/// Constants by module.
#[derive(Default)]
pub(super) struct KnownConstants(SharedTable<ModuleDigest, Arc<Constants>, MODULES>);

impl KnownConstants {
    /// The constants of a module that is kept.
    pub(super) fn known(&self, digest: ModuleDigest) -> Option<&Constants> {
        self.0.find(hash(digest), |of| *of == digest).map(|known| &**known)
    }

    /// The constants of a module.
    ///
    /// # Errors
    /// Malformed: the module.
    pub(super) fn of(&self, digest: ModuleDigest, code: &[u8]) -> Result<Arc<Constants>> {
        let hash = hash(digest);
        if let Some(known) = self.0.find(hash, |of| *of == digest) {
            return Ok(known.clone());
        }
        let scan = scan(code)?;
        let operands = if scan.spec_ids.is_empty() { Vec::new() } else { operand_ids(code) };
        let found = Arc::new(Constants { all: scan.spec_ids, operands, uses_subgroups: scan.uses_subgroups });
        if found.all.len() <= CONSTANTS {
            self.0.keep(hash, digest, found.clone());
        }
        Ok(found)
    }
}
