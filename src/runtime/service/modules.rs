//! Modules by digest, for a service that requests one: kept as long as a shader needs it, once for all shaders.

use dovetail_base::error::Result;
use dovetail_base::fallible;
use dovetail_compile::request::ModuleDigest;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Number of entries below which unused ones are not searched for.
const SWEEP_FROM: usize = 64;

#[derive(Default)]
pub(crate) struct Modules(Mutex<Table>);

#[derive(Default)]
struct Table {
    modules: BTreeMap<ModuleDigest, Weak<Vec<u8>>>,
    /// Number of entries at which unused ones are dropped next.
    sweep_at: usize,
}

impl Modules {
    /// The module, copied unless another shader already holds it.
    ///
    /// # Errors
    /// Memory: none for the copy.
    pub(crate) fn keep(&self, digest: ModuleDigest, code: &[u8]) -> Result<Arc<Vec<u8>>> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = table.modules.get(&digest).and_then(Weak::upgrade) {
            return Ok(kept);
        }
        let kept = Arc::new(fallible::copy(code)?);
        table.modules.insert(digest, Arc::downgrade(&kept));
        if table.modules.len() > table.sweep_at.max(SWEEP_FROM) {
            table.modules.retain(|_, module| module.strong_count() > 0);
            table.sweep_at = 2 * table.modules.len();
        }
        Ok(kept)
    }

    /// The module, if a shader holds it.
    pub(super) fn get(&self, digest: &ModuleDigest) -> Option<Arc<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).modules.get(digest).and_then(Weak::upgrade)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_kept_once_and_as_long_as_somebody_has_it() {
        let modules = Modules::default();
        let digest = |n: u32| ModuleDigest(*blake3::hash(&n.to_le_bytes()).as_bytes());
        let keep = |n, code: &[u8]| modules.keep(digest(n), code).unwrap();
        let first = keep(0, b"code");
        assert!(Arc::ptr_eq(&first, &keep(0, b"code")));
        (1..1000).for_each(|n| drop(keep(n, b"other")));
        assert!(modules.0.lock().unwrap().modules.len() <= SWEEP_FROM + 1);
        assert_eq!(modules.get(&digest(0)).unwrap()[..], b"code"[..]);
        drop(first);
        assert_eq!(modules.get(&digest(0)), None);
    }
}
