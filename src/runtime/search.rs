//! Obtains what the recipe of a pipeline ([`dovetail_pipeline::recipe`]) needs from memory and, if that is allowed, from the disk.

use super::answer::{Answer, PipelineRoute};
use super::context::{Shared, count};
use super::shader::ShaderPart;
use dovetail_base::error::{Context as _, Error, Result};
use dovetail_compile::request::KnownState;
use dovetail_link::{Job, Object};
use dovetail_metadata::interface::StageInterface;
use dovetail_pipeline::keys;
use dovetail_pipeline::recipe::{Need, Recipe, whole_request};
use smallvec::SmallVec;
use std::sync::Arc;

/// A part of a pipeline: held by its shader, or found for this link.
#[derive(Clone)]
pub(super) enum LinkPart<'a> {
    Shader(&'a Object),
    Found(Arc<Object>),
}

impl LinkPart<'_> {
    fn object(&self) -> &Object {
        match self {
            Self::Shader(object) => object,
            Self::Found(object) => object,
        }
    }
}

impl AsRef<StageInterface> for LinkPart<'_> {
    fn as_ref(&self) -> &StageInterface {
        self.object().interface()
    }
}

pub(super) type PartsRecipe<'a> = Recipe<'a, &'a ShaderPart, LinkPart<'a>>;

/// A search for the parts of a pipeline.
pub(super) struct Search<'a> {
    pub(super) shared: &'a Shared,
    /// The link, without parts.
    pub(super) job: Job<'a>,
    /// Whether the disk may be read.
    pub(super) disk: bool,
}

impl<'a> Search<'a> {
    /// Follows a recipe. If its link was refused and the whole-pipeline compile is not in the cache either, the error is the
    /// link's.
    pub(super) fn run<T>(
        &self,
        mut recipe: PartsRecipe<'a>,
        finish: impl FnMut(&Job<'_>) -> Result<T>,
    ) -> Result<Answer<(T, PipelineRoute)>> {
        let answer = self.drive(&mut recipe, finish);
        match (answer, recipe.into_refusal()) {
            (Ok(Answer::NotCached(_)) | Err(_), Some(refusal)) => {
                count(&self.shared.counters.needs_whole);
                Err(refusal)
            }
            // If the answer is pending, the disk may have the whole-pipeline compile, or the variant without which the parts
            // cannot be linked.
            (answer, _) => answer,
        }
    }

    fn drive<T>(
        &self,
        recipe: &mut PartsRecipe<'a>,
        mut finish: impl FnMut(&Job<'_>) -> Result<T>,
    ) -> Result<Answer<(T, PipelineRoute)>> {
        let counters = &self.shared.counters;
        loop {
            match recipe.next() {
                Need::Part(&part) => match part.object(self.disk)? {
                    Answer::Ready(object) => _ = recipe.give(Some(LinkPart::Shader(object))),
                    Answer::Pending(stage) => return Ok(Answer::Pending(stage)),
                    Answer::NotCached(stage) => return Ok(Answer::NotCached(stage)),
                },
                Need::Variant(&part, known) => {
                    _ = recipe.give(part.variant(known).available(self.disk).map(LinkPart::Shader))
                }
                Need::Pair { parts: [vertex, fragment], .. } => {
                    let pair = self.shared.pair([vertex.object(), fragment.object()], self.disk)?;
                    let pair = pair.map(|found| {
                        let fragment = found.fragment.map_or_else(|| fragment.clone(), LinkPart::Found);
                        [LinkPart::Found(found.vertex), fragment]
                    });
                    recipe.give_pair(pair)
                }
                Need::Link(parts) => match self.linked(parts, &mut finish) {
                    Ok(linked) => {
                        count(&counters.links);
                        return Ok(Answer::Ready((linked, PipelineRoute::Linked)));
                    }
                    Err(e) => recipe.refuse(e)?,
                },
                // It was looked for just now, as a part or because only a whole-pipeline compile is wanted.
                Need::Constants(&part) => _ = recipe.give(part.in_memory().map(LinkPart::Shader)),
                Need::Whole(&part, known) => match self.whole_part(part, known)? {
                    Answer::Ready(object) => _ = recipe.give(Some(LinkPart::Found(object))),
                    Answer::Pending(stage) => return Ok(Answer::Pending(stage)),
                    Answer::NotCached(stage) => return Ok(Answer::NotCached(stage)),
                },
                Need::LinkWhole(parts) => match self.linked(parts, &mut finish) {
                    Ok(linked) => {
                        count(&counters.wholes);
                        let reason = recipe.refusal().and_then(Error::full_compile).cloned();
                        return Ok(Answer::Ready((linked, PipelineRoute::Whole(reason))));
                    }
                    Err(e) => recipe.refuse(e)?,
                },
            }
        }
    }

    fn linked<T>(&self, parts: &[LinkPart<'_>], finish: impl FnOnce(&Job<'_>) -> Result<T>) -> Result<T> {
        let objects: SmallVec<[&Object; 2]> = parts.iter().map(LinkPart::object).collect();
        finish(&Job { objects: &objects, ..self.job })
    }

    /// The part of a shader in a whole-pipeline compile, if the cache has it.
    fn whole_part(&self, part: &ShaderPart, known: KnownState) -> Result<Answer<Arc<Object>>> {
        let (stage, disk) = (part.stage(), self.disk);
        let request = whole_request(part.request(), known, part.operands().to_vec());
        let found = match self.shared.compiler(disk)? {
            Some(compiler) => {
                self.shared.part(&keys::stage(&request, compiler)?, disk).at(|| format!("{stage} shader"))?
            }
            None => None,
        };
        Ok(match found {
            Some(object) => Answer::Ready(object),
            None if disk => Answer::NotCached(stage),
            None => Answer::Pending(stage),
        })
    }
}
