//! The source of glue: the linker requests pieces by key, and does not know whether they are generated or cached.

use super::held::held;
use dovetail_base::error::Result;
use dovetail_base::table::{SharedTable, hash};
use dovetail_glue as glue;
use dovetail_glue::{GlueKey, GluePiece};
use std::sync::Arc;

/// Makes or finds pieces of glue: a cache, [`SharedGlue`] or [`EmitGlue`].
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

/// Makes every piece once in a process, for the first thousand: drivers likewise share prologs and epilogs by device.
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedGlue;

/// Number of pieces that the process keeps; further ones are made each time.
const MOST_SHARED: usize = 1016;

impl GlueSource for SharedGlue {
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        static SHARED: SharedTable<GlueKey, Arc<GluePiece>, MOST_SHARED> = SharedTable::new();
        let piece = held(&SHARED, hash(key), |kept| kept == key, || key.clone(), || EmitGlue.piece(key))?;
        Ok(Arc::clone(piece.arc()))
    }
}

impl<F: Fn(&GlueKey) -> Result<Arc<GluePiece>>> GlueSource for F {
    fn piece(&self, key: &GlueKey) -> Result<Arc<GluePiece>> {
        self(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::target::Gpu;
    use dovetail_glue::PieceKey;

    #[test]
    fn a_shared_piece_is_made_once_and_is_the_one_that_would_be_made() {
        let key = GlueKey { target: Gpu::Gfx1030, piece: PieceKey::NullFragment };
        let [one, other] = [(); 2].map(|()| SharedGlue.piece(&key).unwrap());
        assert!(Arc::ptr_eq(&one, &other));
        assert_eq!(*one, *EmitGlue.piece(&key).unwrap());
    }
}
