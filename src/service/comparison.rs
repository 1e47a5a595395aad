//! Compares the costs of two versions of a pipeline: linked from parts, and compiled as a whole.

use super::journal::Row;
use super::measure::Cost;
use dovetail_base::error::{Error, Result};
use dovetail_cache::Key;
use dovetail_compile::StageElf;
use dovetail_link::{EmitGlue, Object, link_objects, verify};
use dovetail_wire::Verdict;
use std::sync::Arc;

/// Two versions of a pipeline, compared on another thread.
pub struct Comparison {
    pub(super) name: Key,
    pub(super) row: Row,
    pub(super) whole: Vec<Arc<StageElf>>,
    pub(super) linked: Vec<Arc<StageElf>>,
}

impl Comparison {
    /// Links both versions and compares their costs. Returns the verdict with the pipeline's name.
    pub fn run(&self) -> (Key, Result<Verdict>) {
        (self.name, self.verdict().map_err(Error::of_whole_compile))
    }

    fn verdict(&self) -> Result<Verdict> {
        let whole = self.cost(&self.whole)?;
        let linked = self.cost(&self.linked)?;
        Ok(match whole.better_than(&linked) {
            Ok(why) => Verdict::Take(why),
            Err(why) => Verdict::Keep(why),
        })
    }

    fn cost(&self, parts: &[Arc<StageElf>]) -> Result<Cost> {
        let objects = parts.iter().map(|elf| Object::parse(&elf.0)).collect::<Result<Vec<_>>>()?;
        let objects: Vec<&Object> = objects.iter().collect();
        let elf = link_objects(&objects, &self.row.state, self.row.placement, &EmitGlue)?.elf;
        let report = verify(&elf)?;
        if let Some(violation) = report.violations.first() {
            return Err(Error::bug(format!("a linked pipeline breaks a rule: {violation}")));
        }
        let target = self.row.stages.first().map(|stage| stage.target);
        Cost::of(&elf, target.ok_or_else(|| Error::bug("a pipeline without stages"))?)
    }
}
