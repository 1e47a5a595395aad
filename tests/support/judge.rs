//! The judgement on a run: what the emulator left against what the judge left, by what the interpreter knows of each value.

use crate::cases::{encoded, world};
use dovetail::emu::inputs::{Binding, Bound, Inputs};
use dovetail::ir::Shader;
use dovetail::ir::interp::{Memory, Options, Verdict, dispatch};

/// What the interpreter makes of every binding that can be written; none for the others.
pub fn interpreted(ir: &Shader, inputs: &Inputs, lanes: u32, limit: u64) -> Result<Vec<Option<Memory>>, String> {
    let mut world = world(inputs);
    let options = Options { subgroup_size: lanes, limit, shadow: true };
    dispatch(ir, &mut world, inputs.grid, options).map_err(|e| format!("interpreter: {e}"))?;
    let memory = |b: &Binding| {
        let place = (b.set, b.binding, b.element);
        match &b.bound {
            Bound::StorageBuffer(_) => world.buffers.get(&place).cloned(),
            Bound::StorageImage(image) => Some(encoded(&image.format, &world.textures[&place])),
            Bound::StorageTexelBuffer(t) => Some(encoded(&t.format, &world.textures[&place])),
            _ => None,
        }
    };
    Ok(inputs.bindings.iter().map(memory).collect())
}

/// Compares what the emulator left with what the judge left, in every binding that can be written.
pub fn judge(
    floor: f64,
    inputs: &Inputs,
    known: &[Option<Memory>],
    ours: &[Vec<u8>],
    theirs: &[Vec<u8>],
) -> Result<Verdict, String> {
    let mut sum = Verdict::default();
    for (((binding, known), ours), theirs) in inputs.bindings.iter().zip(known).zip(ours).zip(theirs) {
        let Some(known) = known else { continue };
        let verdict = known.judge_between(ours, theirs, floor);
        if let Some(d) = verdict.wrong.first() {
            let word = |bytes: &[u8]| {
                bytes.get(d.at & !3..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
            };
            return Err(format!(
                "{} values differ, the first in binding {} at byte {}: {} (word {:#x}), expected {} (word {:#x}) ± {:e}",
                verdict.wrong.len(),
                binding.binding,
                d.at,
                d.ours,
                word(ours),
                d.theirs,
                word(theirs),
                d.limit
            ));
        }
        sum.exact += verdict.exact;
        sum.floats += verdict.floats;
        sum.loose += verdict.loose;
        sum.uncertain += verdict.uncertain;
        sum.not_finite += verdict.not_finite;
        sum.written += verdict.written;
    }
    Ok(sum)
}

/// Why a comparison could not have failed, if so.
pub fn proves_nothing(verdict: &Verdict, results: &[Vec<Vec<u8>>]) -> Option<String> {
    let Verdict { floats, loose, uncertain, not_finite, written, .. } = *verdict;
    if written == 0 {
        return Some("writes nothing".into());
    }
    if results[0] == results[1] {
        return Some("two seeds give the same".into());
    }
    let judged = (floats + uncertain + not_finite).max(written);
    (not_finite * 20 > written || (uncertain + loose) * 10 > judged).then(|| {
        format!("proves too little: {loose} loose, {uncertain} uncertain, {not_finite} not finite of {judged}")
    })
}
