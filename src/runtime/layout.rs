//! Descriptor sets and push constants, resolved once for all pipelines that use them.

use crate::abi::layout::ResolvedLayout;
use crate::error::{Context as _, Result};
use crate::state::ResourceLayout;
use std::sync::Arc;

/// A pipeline layout. It belongs to no context, and may be dropped before the pipelines created with it.
#[derive(Clone, Debug)]
pub struct Layout(pub(super) Arc<Resolved>);

/// The layout as given, for keys and whole-pipeline compiles, and with resolved offsets, for links.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) given: ResourceLayout,
    pub(super) places: ResolvedLayout,
}

impl Layout {
    /// Resolves all offsets.
    ///
    /// # Errors
    /// Malformed: a duplicate set or binding, offsets that overlap or exceed the root table, misaligned offsets.
    pub fn new(layout: &ResourceLayout) -> Result<Self> {
        let places = ResolvedLayout::new(layout).at(|| "resource layout")?;
        Ok(Self(Arc::new(Resolved { given: layout.clone(), places })))
    }

    /// Size of the root table in dwords.
    pub fn root_dwords(&self) -> u32 {
        self.0.places.root_dwords()
    }
}
