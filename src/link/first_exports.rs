//! The exports that a vertex part was first linked with, and their epilog, kept in the part: most parts are always linked
//! with the same. A table costs several cache misses that wait for each other.

use super::held::PlansId;
use crate::abi::params::{ParamExport, ParamPlan};
use crate::glue::GluePiece;
use std::fmt;
use std::sync::{Arc, OnceLock};

#[derive(Default)]
pub(super) struct FirstExports(OnceLock<Entry>);

struct Entry {
    /// Those of the link, since the epilog is of their source.
    plans: PlansId,
    exports: Vec<ParamExport>,
    epilog: Arc<GluePiece>,
}

impl FirstExports {
    /// The epilog if these plans and exports were the first.
    pub(super) fn get(&self, plans: PlansId, plan: &ParamPlan) -> Option<&GluePiece> {
        let first = self.0.get().filter(|first| first.plans == plans)?;
        first.exports.iter().eq(plan.epilog_exports()).then_some(&*first.epilog)
    }

    /// Keeps an epilog unless there is one.
    pub(super) fn keep(&self, plans: PlansId, plan: &ParamPlan, epilog: &Arc<GluePiece>) {
        self.0.get_or_init(|| {
            let exports = plan.epilog_exports().cloned().collect();
            Entry { plans, exports, epilog: Arc::clone(epilog) }
        });
    }
}

/// A copy of a part starts without any.
impl Clone for FirstExports {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for FirstExports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FirstExports")
    }
}
