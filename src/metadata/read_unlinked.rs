//! Reads the metadata document of an unlinked ELF in one pass: the stage's interface, and the notes. A driver does this
//! once per part, while a game waits.
//!
//! [`super::document`], used by tools, reads the same bytes into a tree.

use super::document::{Document, PIPELINES, VERSION, encode};
use super::interface::StageInterface;
use super::interface_io::{PREFIX, Reading};
use super::msgpack_read::Reader;
use super::notes::Notes;
use super::read_notes::NotesReading;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Gpu, Stage};
use rmpv::Value;

/// The interface of a stage, and its notes; `gpu` is the GPU of the ELF.
///
/// # Errors
/// Malformed: not msgpack, a duplicate key, not exactly one pipeline; a field is missing, unknown or of another type; a
/// value that only the link may set. Unsupported: an unknown register. `NeedsFullCompile`: another generation of the
/// format.
pub fn read(document: &[u8], gpu: Gpu) -> Result<(StageInterface, Notes)> {
    let mut from = Reader::new(document);
    let mut both = Both::new(gpu);
    root(&mut from, &mut both)?;
    from.end()?;
    let interface = both.interface.finish()?;
    let notes = both.notes.finish(interface.stage)?;
    Ok((interface, notes))
}

/// The interface in the document of an ELF for this GPU.
///
/// # Errors
/// As [`read`].
pub fn interface_of(document: &Document, gpu: Gpu) -> Result<StageInterface> {
    read_pipeline(document, gpu)?.interface.finish()
}

/// The notes in the document of a part of this stage, also of one without an interface, as LLVM writes it.
///
/// # Errors
/// As [`read`].
pub fn notes_of(document: &Document, gpu: Gpu, stage: Stage) -> Result<Notes> {
    read_pipeline(document, gpu)?.notes.finish(stage)
}

fn read_pipeline(document: &Document, gpu: Gpu) -> Result<Both> {
    let mut both = Both::new(gpu);
    pipeline(&mut Reader::new(&encode(&Value::Map(document.pipeline.clone()))), &mut both)?;
    Ok(both)
}

/// The two parts of a pipeline map, while they are being read.
struct Both {
    interface: Reading,
    notes: NotesReading,
}

impl Both {
    fn new(gpu: Gpu) -> Self {
        Self { interface: Reading::default(), notes: NotesReading::new(gpu.family()) }
    }
}

/// Reads the whole document.
fn root(from: &mut Reader<'_>, both: &mut Both) -> Result<()> {
    let (mut versioned, mut found) = (false, false);
    for _ in 0..from.map()? {
        match from.str()? {
            VERSION if !versioned => {
                if from.array()? != 2 {
                    return Err(Error::malformed(format!("metadata: {VERSION} is not two numbers")));
                }
                from.uint()?;
                from.uint()?;
                versioned = true;
            }
            PIPELINES if !found => {
                if from.array()? != 1 {
                    return Err(Error::malformed(format!("metadata: {PIPELINES} is not an array of one")));
                }
                pipeline(from, both)?;
                found = true;
            }
            key => return Err(Error::malformed(format!("metadata: the key {key} twice, or unknown"))),
        }
    }
    if found { Ok(()) } else { Err(Error::malformed(format!("metadata: no {PIPELINES}"))) }
}

/// Reads the pipeline's map.
fn pipeline(from: &mut Reader<'_>, both: &mut Both) -> Result<()> {
    for _ in 0..from.map()? {
        let key = from.name()?;
        if key.starts_with(PREFIX.as_bytes()) {
            both.interface.entry(key, from)?;
        } else {
            both.notes.entry(key, from)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Map, set};
    use crate::schema::MetadataKey;

    /// A document like llc-19's for a fragment shader.
    fn document() -> Document {
        let mut own = Map::new();
        set(&mut own, ".entry_point", "_amdgpu_ps_main".into());
        set(&mut own, ".sgpr_count", 3.into());
        set(&mut own, ".vgpr_count", 2.into());
        let registers = vec![(11274.into(), 0x022f_0000.into()), (11275.into(), 0.into())];
        let mut pipeline = Map::new();
        set(&mut pipeline, ".hardware_stages", Value::Map(vec![(".ps".into(), Value::Map(own))]));
        set(&mut pipeline, ".registers", Value::Map(registers));
        Document { version: None, pipeline }
    }

    fn refusal(change: impl FnOnce(&mut Map)) -> String {
        let mut doc = document();
        change(&mut doc.pipeline);
        notes_of(&doc, Gpu::default(), Stage::Fragment).unwrap_err().to_string()
    }

    #[test]
    fn what_llvm_writes_is_read() {
        let notes = notes_of(&document(), Gpu::default(), Stage::Fragment).unwrap();
        assert_eq!(notes.stage[&MetadataKey::SgprCount], 3);
        assert_eq!(notes.registers.len(), 2);
    }

    #[test]
    fn what_is_not_the_parts_to_say_is_refused() {
        let registers = |number: u32, word: u32| Value::Map(vec![(number.into(), word.into())]);
        assert!(refusal(|p| set(p, ".registers", registers(0xA08F, 1))).contains("CB_SHADER_MASK is the link's"));
        assert!(refusal(|p| set(p, ".registers", registers(0x1234, 1))).contains("0x1234"));
        assert!(refusal(|p| set(p, ".type", "VsPs".into())).contains(".type is the link's"));
        assert!(refusal(|p| set(p, ".colour", 1.into())).contains("unknown key"));
        assert!(refusal(|p| set(p, ".spill_threshold", "x".into())).contains(".spill_threshold"));
        assert!(notes_of(&document(), Gpu::default(), Stage::Compute).is_err());
        assert!(refusal(|p| p.push((".hardware_stages".into(), Value::Map(vec![])))).contains("twice"));
        let twice = Value::Map(vec![(11275.into(), 0.into()), (11275.into(), 0.into())]);
        assert!(refusal(|p| set(p, ".registers", twice)).contains("twice"));
        let in_a_skipped = Value::Array(vec![Value::Map(vec![(1.into(), 2.into()), (1.into(), 2.into())])]);
        assert!(refusal(|p| set(p, ".vertexInputs", in_a_skipped)).contains("twice"));
        let deep = (0..40).fold(Value::Nil, |inside, _| Value::Array(vec![inside]));
        assert!(refusal(|p| set(p, ".vertexInputs", deep)).contains(".vertexInputs"));
    }
}
