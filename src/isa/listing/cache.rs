//! Text of what an access wants of the caches.

use super::Listing;
use crate::{CachePolicy, Traits};
use std::fmt::Write;

/// The device, and all that can see its memory.
const DEVICE: u8 = 2;
const SYSTEM: u8 = 3;

impl Listing<'_> {
    pub(super) fn cache(&mut self, cache: CachePolicy) {
        self.tail(&[(cache.glc, "glc"), (cache.slc, "slc"), (cache.dlc, "dlc")]);
        if cache.hint != 0 {
            let text = self.hint(cache);
            let _ = write!(self.tail, " th:{text}");
        }
        let scopes = [(1, "SE"), (DEVICE, "DEV"), (SYSTEM, "SYS")];
        if let Some((_, scope)) = scopes.iter().find(|(scope, _)| *scope == cache.scope) {
            let _ = write!(self.tail, " scope:SCOPE_{scope}");
        }
    }

    fn hint(&self, CachePolicy { scope, hint, .. }: CachePolicy) -> String {
        let entry = self.inst.entry;
        if entry.is(Traits::ATOMIC) {
            return match (hint & 4 != 0, hint & 2 != 0, hint & 1 != 0) {
                (true, _, _) if scope < DEVICE => format!("TH_ATOMIC_{hint:#x}"),
                (true, unused, _) => format!("TH_ATOMIC_CASCADE_{}", if unused { "NT" } else { "RT" }),
                (false, true, returns) => format!("TH_ATOMIC_NT{}", if returns { "_RETURN" } else { "" }),
                (false, false, _) => "TH_ATOMIC_RETURN".to_owned(),
            };
        }
        let store = entry.is(Traits::STORES) && !entry.is(Traits::LOADS);
        let name = match (hint, store) {
            (1, _) => "NT",
            (2, _) => "HT",
            (3, _) if scope == SYSTEM => "BYPASS",
            (3, true) => "WB",
            (3, false) => "LU",
            (4, _) => "NT_RT",
            (5, _) => "RT_NT",
            (6, _) => "NT_HT",
            (_, true) => "NT_WB",
            (_, false) => return format!("{hint:#x}"),
        };
        format!("TH_{}_{name}", if store { "STORE" } else { "LOAD" })
    }
}
