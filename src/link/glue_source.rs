//! The source of glue: the linker asks it for pieces by key, and does not know whether they are made or cached.

use crate::error::Result;
use crate::glue::{self, GlueKey, GluePiece};
use std::sync::Arc;

/// Where pieces of glue come from: a cache, or [`EmitGlue`].
pub trait GlueSource {
    /// The piece of this key.
    ///
    /// # Errors
    /// Whatever keeps it from being written or fetched.
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>>;
}

/// Writes every piece anew.
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
