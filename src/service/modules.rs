//! The modules in memory: those that jobs need, and those used most recently.

use dovetail_compile::request::{Module, ModuleDigest};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

/// Bytes of modules that no job needs: the next request for one needs neither the disk nor a client.
const RECENT: usize = 8 << 20;

/// Modules by their digests.
#[derive(Default)]
pub(super) struct Modules {
    known: BTreeMap<ModuleDigest, Weak<Module>>,
    recent: VecDeque<Arc<Module>>,
    /// Total of `recent`.
    bytes: usize,
}

impl Modules {
    /// A module, if it is in memory.
    pub(super) fn get(&self, digest: &ModuleDigest) -> Option<Arc<Module>> {
        self.known.get(digest)?.upgrade()
    }

    /// Adds a module, unless an equal one is in memory.
    pub(super) fn add(&mut self, module: Module) -> Arc<Module> {
        if let Some(known) = self.get(&module.digest()) {
            return known;
        }
        let module = Arc::new(module);
        self.known.insert(module.digest(), Arc::downgrade(&module));
        self.bytes += module.bytes().len();
        self.recent.push_back(module.clone());
        while self.bytes > RECENT
            && let Some(oldest) = self.recent.pop_front()
        {
            self.bytes -= oldest.bytes().len();
        }
        module
    }

    /// Forgets the names of modules that are no longer in memory.
    pub(super) fn tidy(&mut self) {
        self.known.retain(|_, module| module.strong_count() > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_nobody_needs_have_a_limit() {
        let module = |n: u32| {
            let mut bytes = [0x0723_0203, n].map(u32::to_le_bytes).concat();
            bytes.resize(1 << 20, 0);
            Module::new(bytes).unwrap()
        };
        let digests: Vec<ModuleDigest> = (0..20).map(|n| module(n).digest()).collect();
        let mut modules = Modules::default();
        let needed = modules.add(module(0));
        (1..20).for_each(|n| drop(modules.add(module(n))));
        let known: Vec<usize> = (0..20).filter(|&n| modules.get(&digests[n]).is_some()).collect();
        assert_eq!(known, [0, 12, 13, 14, 15, 16, 17, 18, 19]);
        assert!(Arc::ptr_eq(&needed, &modules.add(module(0))));
        drop(needed);
        modules.tidy();
        assert_eq!((modules.get(&digests[0]).is_none(), modules.known.len()), (true, 8));
    }
}
