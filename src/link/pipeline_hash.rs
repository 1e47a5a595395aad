//! The pipeline hash of the metadata: identifies a pipeline to people and tools.
//!
//! PAL and the driver write it to traces, dumps and profiles; tools that replace shaders look for the stable half. No
//! cache uses it as a key: our cache keys are 256 bits of BLAKE3 (`keys`). So the hash has to avoid accidental
//! collisions, not deliberate ones, which would only mix up their author's own pipelines. XXH3 over the parts' XXH3
//! and everything that the link adds is enough (of registers: those of the ready parts, and each word that the link
//! sets): among a million pipelines, the probability that two have the same 64 bits is about 1 in 40 million.

use super::attach::Unit;
use super::resolve::Resolved;
use dovetail_base::target::MOST_HARDWARE_STAGES;
use dovetail_metadata::finalize::FinalNotes;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Returns the stable hash, of the shaders alone, and the unique hash, of all code with its values and of the
/// registers, which depend on the whole state.
pub(super) fn pipeline_hash(unit: &Unit<'_>, resolved: &[Resolved], notes: &FinalNotes<'_>) -> [u64; 2] {
    const STAGES: usize = MOST_HARDWARE_STAGES;
    let (mut shaders, mut ready) = ([0; 2 * STAGES], [0; STAGES]);
    // Each hash is the seed of the next, so each depends on all before it.
    let mut unique = 0;
    let (of_shaders, _) = shaders.as_chunks_mut::<2>();
    let of_stages = of_shaders.iter_mut().zip(&mut ready);
    for ((stage, values), (shader, ready)) in unit.stages().zip(resolved).zip(of_stages) {
        (*shader, *ready) = (stage.object.hash, stage.ready.hash);
        if let Some(epilog) = stage.epilog() {
            unique = xxh3_64_with_seed(&epilog.code, unique);
        }
        if !values.is_empty() {
            unique = xxh3_64_with_seed(values.as_flattened(), unique);
        }
    }
    let stable = hash(shaders);
    let mut all = [0; STAGES + 3];
    let [of_shaders, of_ready @ .., of_glue, changes] = &mut all;
    of_ready.copy_from_slice(&ready);
    (*of_shaders, *of_glue, *changes) = (stable, unique, notes.registers.changes());
    [stable, hash(all)]
}

fn hash<const N: usize>(words: [u64; N]) -> u64 {
    xxh3_64_with_seed(words.map(u64::to_le_bytes).as_flattened(), 0)
}
