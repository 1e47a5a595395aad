//! Specialization constants of modules. Programs create many shaders of one module that differ only in values, so what
//! the module's words tell of its constants is kept.

use super::scan::{Scan, scan};
use dovetail_base::error::Result;
use dovetail_base::table::{SharedTable, hash};
use dovetail_compile::operand_ids;
use dovetail_compile::request::ModuleDigest;
use std::sync::Arc;

/// Number of modules that are kept.
const MODULES: usize = 4096;
/// Number of constants of the largest module that is kept.
const CONSTANTS: usize = 256;

/// Constants of a module that can be specialized.
pub(super) struct Constants {
    pub(super) scan: Scan,
    /// `SpecId`s of those that are only operands, sorted.
    pub(super) operands: Vec<u32>,
}

/// Constants by module.
#[derive(Default)]
pub(super) struct KnownConstants(SharedTable<ModuleDigest, Arc<Constants>, MODULES>);

impl KnownConstants {
    /// The constants of a module that is kept.
    pub(super) fn known(&self, digest: ModuleDigest) -> Option<&Arc<Constants>> {
        self.0.find(hash(digest), |of| *of == digest)
    }

    /// The constants of a module.
    ///
    /// # Errors
    /// Malformed: the module.
    pub(super) fn of(&self, digest: ModuleDigest, code: &[u8]) -> Result<Arc<Constants>> {
        if let Some(known) = self.known(digest) {
            return Ok(known.clone());
        }
        let scan = scan(code)?;
        let operands = if scan.spec_ids.is_empty() { Vec::new() } else { operand_ids(code) };
        let found = Arc::new(Constants { scan, operands });
        if found.scan.spec_ids.len() <= CONSTANTS {
            _ = self.0.keep(hash(digest), digest, found.clone());
        }
        Ok(found)
    }
}
