//! Where the translation looks up what a pipeline refers to.

use super::model::{GraphicsPipeline, Hash, PipelineLayout, RenderPass, Sampler, SetLayout};
use dovetail_base::error::Result;
use std::sync::Arc;

/// Definitions by name: an archive, or the layer's tables.
///
/// # Errors
/// Of each function: malformed if the definition does not exist or is damaged.
#[allow(missing_docs, reason = "the names say it")]
pub trait DefinitionSource {
    fn sampler(&self, name: Hash) -> Result<Arc<Sampler>>;
    fn set_layout(&self, name: Hash) -> Result<Arc<SetLayout>>;
    fn pipeline_layout(&self, name: Hash) -> Result<Arc<PipelineLayout>>;
    fn render_pass(&self, name: Hash) -> Result<Arc<RenderPass>>;
    /// A pipeline library.
    fn graphics(&self, name: Hash) -> Result<Arc<GraphicsPipeline>>;
}
