//! The pipeline hash of the metadata: identifies a pipeline to people and tools.
//!
//! PAL and the driver write it to traces, dumps and profiles; tools that replace shaders look for the stable half. No
//! cache uses it as a key: our cache keys are 256 bits of BLAKE3 (`keys`). So the hash has to avoid accidental
//! collisions, not deliberate ones, which would only mix up their author's own pipelines. XXH3 over the parts' XXH3
//! and everything that the link adds is enough (of registers: those of the parts bound to the layout, and each word
//! that the link sets): among a million pipelines, the probability that two have the same 64 bits is about 1 in 40
//! million.

use super::attach::Unit;
use super::resolve::Resolved;
use crate::metadata::finalize::FinalNotes;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Returns the stable hash, of the shaders alone, and the unique hash, of all code with its values and of the
/// registers, which depend on the whole state.
pub(super) fn pipeline_hash(unit: &Unit<'_>, resolved: &[Resolved], notes: &FinalNotes<'_>) -> [u64; 2] {
    // Each hash is the seed of the next, so each depends on all before it.
    let (mut stable, mut unique) = (0, 0);
    for (stage, values) in unit.stages().zip(resolved) {
        let [low, high] = stage.object.hash.map(u64::to_le_bytes);
        stable = xxh3_64_with_seed([low, high].as_flattened(), stable);
        for piece in stage.glue() {
            unique = xxh3_64_with_seed(&piece.code, unique);
        }
        unique = xxh3_64_with_seed(&stage.bound.hash.to_le_bytes(), unique);
        if !values.is_empty() {
            unique = xxh3_64_with_seed(values.as_flattened(), unique);
        }
    }
    [stable, xxh3_64_with_seed(&notes.registers.changes().to_le_bytes(), unique ^ stable)]
}
