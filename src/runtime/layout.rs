//! Descriptor sets and push constants, resolved once for all pipelines that use them.

use crate::abi::layout::ResolvedLayout;
use crate::error::{Context as _, Result};
use crate::state::ResourceLayout;
use std::sync::Arc;

/// A pipeline layout. It belongs to no context, and may be dropped while pipelines made with it go on.
#[derive(Clone, Debug)]
pub struct Layout(pub(super) Arc<Resolved>);

/// The layout as given, for keys and whole pipelines, and its places, for links.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) given: ResourceLayout,
    pub(super) places: ResolvedLayout,
}

impl Layout {
    /// Fixes every place.
    ///
    /// # Errors
    /// Malformed: a set or binding given twice, places that overlap or leave the root table, misaligned offsets.
    pub fn new(layout: &ResourceLayout) -> Result<Self> {
        let places = ResolvedLayout::new(layout).at(|| "resource layout")?;
        Ok(Self(Arc::new(Resolved { given: layout.clone(), places })))
    }

    /// Dwords of the root table.
    pub fn root_dwords(&self) -> u32 {
        self.0.places.root_dwords()
    }
}
