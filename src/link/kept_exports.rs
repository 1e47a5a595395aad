//! The exports that a vertex part has been linked with, each with their epilog, kept in the part: in the table of the
//! [plans](super::plans), which all parts share, a lookup costs several cache misses that wait for each other.

use super::held::{Held, PlansId};
use super::touch::Touched;
use crate::abi::params::{ParamExport, ParamPlan};
use crate::error::Result;
use crate::glue::GluePiece;
use crate::near_table::{NearTable, Tag};
use std::sync::Arc;

/// Number of epilogs that a part keeps in its table; further ones are found in that of the plans at each link.
const MOST_EXPORTS: usize = 56;

#[derive(Clone, Debug, Default)]
pub(super) struct KeptExports(NearTable<ExportsKey, Arc<GluePiece>, MOST_EXPORTS>);

/// The epilog is of the source of these plans.
#[derive(PartialEq)]
struct ExportsKey {
    plans: PlansId,
    exports: Vec<ParamExport>,
}

impl KeptExports {
    /// Reads the first, most often the only one.
    #[inline(always)]
    pub(super) fn touch(&self, read: &mut Touched) {
        if let Some((key, epilog)) = self.0.first() {
            read.value(key.exports.len() ^ epilog.sgprs as usize);
            read.run(&epilog.code);
        }
    }

    /// The epilog for a plan's exports, which have this hash, kept or made.
    pub(super) fn get(
        &self,
        plans: PlansId,
        (plan, hash): (&ParamPlan, u64),
        make: impl FnOnce() -> Result<Arc<GluePiece>>,
    ) -> Result<Held<'_, GluePiece>> {
        let tag = Tag::new(hash);
        let is = |key: &ExportsKey| key.plans == plans && key.exports.iter().eq(plan.epilog_exports());
        if let Some(kept) = self.0.find(tag, || hash, is) {
            return Ok(Held::Kept(kept));
        }
        let key = ExportsKey { plans, exports: plan.epilog_exports().cloned().collect() };
        let kept = self.0.keep(tag, hash, key, make()?);
        Ok(kept.map_or_else(Held::Made, |kept| Held::Kept(kept)))
    }
}
