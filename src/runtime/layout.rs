//! Descriptor sets and push constants, resolved once for all pipelines that use them.

use dovetail_abi::layout::PreparedLayout;
use dovetail_base::error::Result;
use dovetail_state::ResourceLayout;
use std::sync::Arc;

/// A pipeline layout. It belongs to no context, and may be dropped before the pipelines created with it.
#[derive(Clone, Debug)]
pub struct Layout(pub(super) Arc<PreparedLayout>);

impl Layout {
    /// Resolves all offsets.
    ///
    /// # Errors
    /// As [`dovetail_abi::layout::ResolvedLayout::new`].
    pub fn new(layout: &ResourceLayout) -> Result<Self> {
        PreparedLayout::new(layout.clone()).map(|prepared| Self(Arc::new(prepared)))
    }

    /// Size of the root table in dwords.
    pub fn root_dwords(&self) -> u32 {
        self.0.resolved().root_dwords()
    }
}
