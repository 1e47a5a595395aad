//! The glue that a part was first linked with, kept in the part: most parts are always linked with the same state. A table
//! costs several cache misses that wait for each other; these begin with the part's own, before a link needs them.

use crate::abi::params::ParamExport;
use crate::glue::GluePiece;
use crate::metadata::interface::ExportedFormats;
use crate::state::{ColorState, VertexInputState};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Identifies the plans that links share, in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlansId(u64);

impl Default for PlansId {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Exports of a fragment part's results.
pub(super) struct ColorEpilog {
    pub formats: ExportedFormats,
    /// `None`: the body has its own exports.
    pub piece: Option<Arc<GluePiece>>,
}

/// A value with its key, for links that share the plans of the first one.
pub(super) struct First<K, V>(OnceLock<Entry<K, V>>);

struct Entry<K, V> {
    plans: PlansId,
    key: K,
    value: Arc<V>,
}

impl<K, V> First<K, V> {
    /// The value if these plans and this key were the first.
    pub(super) fn get(&self, plans: PlansId, is: impl FnOnce(&K) -> bool) -> Option<&V> {
        self.0.get().filter(|first| first.plans == plans && is(&first.key)).map(|first| &*first.value)
    }

    /// Keeps a value unless there is one.
    pub(super) fn keep(&self, plans: PlansId, key: impl FnOnce() -> K, value: &Arc<V>) {
        self.0.get_or_init(|| Entry { plans, key: key(), value: Arc::clone(value) });
    }

    fn touched(&self, of: impl FnOnce(&K, &V) -> u32) -> u32 {
        self.0.get().map_or(0, |first| of(&first.key, &first.value))
    }
}

/// The glue of one part.
#[derive(Default)]
pub(super) struct FirstGlue {
    pub prolog: First<VertexInputState, GluePiece>,
    pub params: First<Vec<ParamExport>, GluePiece>,
    pub colors: First<ColorState, ColorEpilog>,
}

impl FirstGlue {
    /// A combination of what the lists begin with.
    pub(super) fn touched(&self) -> u32 {
        let code = |piece: &GluePiece| piece.code.first().map_or(0, |byte| u32::from(*byte));
        let prolog = self.prolog.touched(|key, piece| {
            let binding = key.bindings.first().map_or(0, |binding| binding.binding);
            binding ^ key.attributes.first().map_or(0, |attribute| attribute.location) ^ code(piece)
        });
        let params = self.params.touched(|key, piece| u32::from(key.is_empty()) ^ code(piece));
        let colors = self.colors.touched(|key, epilog| {
            let location = key.attachments.first().map_or(0, |attachment| attachment.location);
            location ^ epilog.piece.as_deref().map_or(0, code)
        });
        prolog ^ params ^ colors
    }
}

impl<K, V> Default for First<K, V> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

/// A copy of a part starts without any.
impl Clone for FirstGlue {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for FirstGlue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FirstGlue")
    }
}
