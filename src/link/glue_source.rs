//! The source of glue: the linker requests pieces by key, and does not know whether they are generated or cached.

use crate::error::Result;
use crate::glue::{self, GlueKey, GluePiece};
use std::sync::Arc;

/// Makes or finds pieces of glue: a cache, or [`EmitGlue`].
pub trait GlueSource {
    /// The piece of this key.
    ///
    /// # Errors
    /// Any error that prevents making or fetching it.
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>>;
}

/// Makes every piece anew.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmitGlue;

impl GlueSource for EmitGlue {
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        glue::emit(key).map(Arc::new)
    }
}

impl<F: Fn(&GlueKey) -> Result<Arc<GluePiece>>> GlueSource for F {
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        self(key)
    }
}
