//! What an access wants of the caches, and the bits that say so.

use super::{CachePolicy, Isa};

/// Whose accesses an access has to see, and who has to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheScope {
    /// The wave's own.
    Wave,
    /// Those of every wave of the GPU.
    Device,
}

/// Whose stores are seen after caches have forgotten what they had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheReach {
    /// Those of the workgroup, whose waves may be on several compute units.
    Workgroup,
    /// Those of every wave of the GPU.
    Device,
}

/// Kind of an access, as far as caches are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheAccess {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Both, at the cache that all waves share.
    Atomic {
        /// The old value is returned.
        returns: bool,
    },
}

/// The bits for each wish, by family.
#[derive(Debug)]
pub(super) struct CacheRules {
    /// A load that sees the stores of other waves.
    pub(super) device_load: CachePolicy,
    /// A store or an atomic that other waves see.
    pub(super) device_store: CachePolicy,
    /// Data that is not used again soon.
    pub(super) stream: CachePolicy,
    /// An atomic on such data.
    pub(super) stream_atomic: CachePolicy,
    /// An atomic that returns the old value.
    pub(super) returns: CachePolicy,
    /// A store to the attribute ring, which processors other than its own read.
    pub(super) ring: CachePolicy,
}

const NONE: CachePolicy = CachePolicy { glc: false, slc: false, dlc: false, scope: 0, hint: 0 };

/// gfx10.3 (LLVM, "User Guide for AMDGPU Backend", memory model of gfx10): a load misses the caches of its own work-group
/// processor; stores and atomics reach the cache that all share in any case.
pub(super) static GFX10: CacheRules = CacheRules {
    device_load: CachePolicy { glc: true, dlc: true, ..NONE },
    device_store: NONE,
    stream: CachePolicy { slc: true, ..NONE },
    stream_atomic: CachePolicy { slc: true, ..NONE },
    returns: CachePolicy { glc: true, ..NONE },
    ring: NONE,
};

/// gfx11 (LLVM, the same guide): `glc` alone misses those caches, and `dlc` asks for something else.
pub(super) static GFX11: CacheRules = CacheRules {
    device_load: CachePolicy { glc: true, ..NONE },
    device_store: NONE,
    stream: GFX10.stream,
    stream_atomic: GFX10.stream,
    returns: GFX10.returns,
    ring: CachePolicy { glc: true, ..NONE },
};

/// gfx12 (LLVM, the same guide, memory model of gfx12): the scope says which caches an access passes by.
pub(super) static GFX12: CacheRules = CacheRules {
    device_load: CachePolicy { scope: 2, ..NONE },
    device_store: CachePolicy { scope: 2, ..NONE },
    stream: CachePolicy { hint: 1, ..NONE },
    stream_atomic: CachePolicy { hint: 2, ..NONE },
    returns: CachePolicy { hint: 1, ..NONE },
    // PAL and LLPC (`exportAttributes`): kept until they are read, at the device.
    ring: CachePolicy { scope: 2, hint: 7, ..NONE },
};

impl Isa {
    /// The policy of `global_inv` (LLVM, memory model of gfx12).
    pub const fn invalidation(&self, reach: CacheReach) -> CachePolicy {
        let scope = match reach {
            CacheReach::Workgroup => 1,
            CacheReach::Device => 2,
        };
        CachePolicy { scope, ..NONE }
    }

    /// The policy of a store to the attribute ring.
    pub const fn ring_policy(&self) -> CachePolicy {
        self.cache.ring
    }

    /// The policy of an access: `stream` for data that is not used again soon.
    pub fn cache_policy(&self, access: CacheAccess, scope: CacheScope, stream: bool) -> CachePolicy {
        let rules = self.cache;
        let atomic = matches!(access, CacheAccess::Atomic { .. });
        let wishes = [
            (access == CacheAccess::Load && scope == CacheScope::Device, rules.device_load),
            (access != CacheAccess::Load && scope == CacheScope::Device, rules.device_store),
            (stream && !atomic, rules.stream),
            (stream && atomic, rules.stream_atomic),
            (access == CacheAccess::Atomic { returns: true }, rules.returns),
        ];
        let granted = wishes.into_iter().filter(|(wanted, _)| *wanted);
        granted.fold(CachePolicy::default(), |all, (_, one)| CachePolicy {
            glc: all.glc | one.glc,
            slc: all.slc | one.slc,
            dlc: all.dlc | one.dlc,
            scope: all.scope | one.scope,
            hint: all.hint | one.hint,
        })
    }
}
