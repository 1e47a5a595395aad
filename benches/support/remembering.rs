//! Glue that is written once and remembered, as a driver would keep it.

use dovetail::error::Result;
use dovetail::glue::{self, GlueKey, GluePiece};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A source of glue for one thread.
pub fn remembering() -> impl Fn(&GlueKey) -> Result<Arc<GluePiece>> {
    let pieces: RefCell<BTreeMap<GlueKey, Arc<GluePiece>>> = RefCell::default();
    move |key: &GlueKey| {
        if let Some(piece) = pieces.borrow().get(key) {
            return Ok(Arc::clone(piece));
        }
        let piece = Arc::new(glue::emit(key)?);
        pieces.borrow_mut().insert(key.clone(), Arc::clone(&piece));
        Ok(piece)
    }
}
