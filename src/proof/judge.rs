//! Compares two outputs of a run, by what the interpreter knows about each value.

use super::plain::Alike;
use super::world::{KnownContents, known, world};
use dovetail_base::error::{Context, Result};
use dovetail_emu::inputs::Inputs;
use dovetail_interp::{Difference, MemoryVerdict, Options, World, dispatch};
use dovetail_ir::Shader;
use std::collections::BTreeSet;
use std::fmt;

/// The interpreter's result for each binding that a compute shader may write; `None` for the others.
///
/// # Errors
/// A feature that the interpreter lacks, its instruction limit, or invalid inputs.
pub fn interpreted(ir: &Shader, inputs: &Inputs, options: Options) -> Result<Vec<Option<KnownContents>>> {
    interpreted_where(ir, inputs, &BTreeSet::new(), options)
}

/// [`interpreted`], given the sets and bindings that have several variables, one of them declared `Restrict`.
///
/// # Errors
/// As [`interpreted`].
pub(super) fn interpreted_where(
    ir: &Shader,
    inputs: &Inputs,
    restricted: &BTreeSet<(u32, u32)>,
    options: Options,
) -> Result<Vec<Option<KnownContents>>> {
    let run = |conflicts| -> Result<World> {
        let mut world = World { restricted: restricted.clone(), conflicts, ..world(inputs)? };
        dispatch(ir, &mut world, inputs.grid, options).at(|| "interpreter")?;
        Ok(world)
    };
    let mut done = run(BTreeSet::new())?;
    let conflicts = done.contradicted();
    if !conflicts.is_empty() {
        done = run(conflicts)?;
    }
    known(inputs, &done)
}

/// A difference between the outputs of two implementations.
#[derive(Clone, Debug, PartialEq)]
pub struct Disagreement {
    /// Set, binding, element.
    pub place: (u32, u32, u32),
    /// Number of values that differ.
    pub count: usize,
    /// The first value that differs.
    pub first: Difference,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Difference { at, ours, theirs, limit }, (set, binding, element)) = (self.first, self.place);
        write!(
            f,
            "{} values differ, the first in set {set}, binding {binding}, element {element} at byte {at}: \
             {ours}, expected {theirs} ± {limit:e}",
            self.count,
        )
    }
}

/// The bytes of each interpreted binding; empty for one that cannot be written.
///
/// # Errors
/// A value that its format cannot hold.
pub fn bytes_of(known: &[Option<KnownContents>]) -> Result<Vec<Vec<u8>>> {
    known.iter().map(|k| k.as_ref().map_or(Ok(Vec::new()), KnownContents::bytes)).collect()
}

/// Compares two outputs in every binding that can be written.
///
/// # Errors
/// The first binding where they differ by more than the bounds.
pub fn judge(
    floor_ulps: f64,
    inputs: &Inputs,
    known: &[Option<KnownContents>],
    ours: &[Vec<u8>],
    theirs: &[Vec<u8>],
) -> std::result::Result<MemoryVerdict, Disagreement> {
    let mut sum = MemoryVerdict::default();
    for (((binding, known), ours), theirs) in inputs.bindings.iter().zip(known).zip(ours).zip(theirs) {
        let Some(known) = known else { continue };
        let verdict = known.judge_between(ours, theirs, floor_ulps);
        if let Some(first) = verdict.wrong.first() {
            let place = (binding.set, binding.binding, binding.element);
            return Err(Disagreement { place, count: verdict.wrong.len(), first: *first });
        }
        sum.add(&verdict);
    }
    Ok(sum)
}

/// Why a comparison could not have failed, if so. `results` are the outputs per seed.
pub fn proves_nothing<T: PartialEq>(verdict: &MemoryVerdict, results: &[T]) -> Option<String> {
    if verdict.written == 0 {
        return Some("writes nothing".into());
    }
    if results.windows(2).all(|pair| pair[0] == pair[1]) {
        return Some("two seeds give the same".into());
    }
    too_vague(verdict)
}

/// Why too few of the compared values are known exactly enough, if so.
pub(super) fn too_vague(verdict: &MemoryVerdict) -> Option<String> {
    let MemoryVerdict { floats, loose, uncertain, not_finite, written, .. } = *verdict;
    let judged = (floats + uncertain + not_finite).max(written);
    (not_finite * 20 > written || (uncertain + loose) * 10 > judged).then(|| {
        format!("proves too little: {loose} loose, {uncertain} uncertain, {not_finite} not finite of {judged}")
    })
}

/// A verdict without its loose and uncertain values, as if all bounds were narrow enough.
pub(super) fn certain(verdict: &MemoryVerdict) -> MemoryVerdict {
    MemoryVerdict { loose: 0, uncertain: 0, ..verdict.clone() }
}

/// How many values of some results agree by a plain bound.
pub(super) fn alike(known: &[Option<KnownContents>], ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> Alike {
    let known = known.iter().zip(ours.iter().zip(theirs)).filter_map(|(known, both)| Some((known.as_ref()?, both)));
    known.map(|(known, (ours, theirs))| known.alike(ours, theirs)).sum()
}
