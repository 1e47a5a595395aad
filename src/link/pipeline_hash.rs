//! The pipeline hash of the metadata: names by which people and tools find a pipeline again.
//!
//! PAL and the driver write it into traces, dumps and profiles; a tool that replaces shaders looks for the stable half. No
//! cache is addressed by it, ours goes by 256 bits of BLAKE3 (`keys`). So it has to differ where pipelines differ by
//! accident, not where somebody tries to make two alike: who does that mixes up the names of his own pipelines. XXH3 over
//! the parts' BLAKE3 digests and all that a link adds to them is enough for that: among a million pipelines two have the
//! same 64 bits once in some forty million times.

use super::attach::Unit;
use super::resolve::Resolved;
use crate::metadata::finalize::FinalNotes;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The stable hash, of the shaders alone, and the unique one, of all the code with its values and of the registers, which
/// follow from all the state there is.
pub(super) fn pipeline_hash(unit: &Unit<'_>, resolved: &[Resolved], notes: &FinalNotes<'_>) -> [u64; 2] {
    // In an order that a seed carries on: each hash is of something, and of all before it.
    let (mut stable, mut unique) = (0, 0);
    for (stage, values) in unit.stages().zip(resolved) {
        stable = xxh3_64_with_seed(&stage.object.digest, stable);
        for piece in stage.glue() {
            unique = xxh3_64_with_seed(&piece.code, unique);
        }
        unique = xxh3_64_with_seed(values.values.as_flattened(), unique);
    }
    let (present, words) = notes.registers.bytes();
    unique = xxh3_64_with_seed(present.as_flattened(), unique ^ stable);
    [stable, xxh3_64(words.as_flattened()) ^ unique]
}
