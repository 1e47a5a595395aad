//! Reads the metadata document of an unlinked ELF in one pass: the stage's interface, and the notes. A driver does this
//! once per part, while a game waits.
//!
//! [`super::document`], used by tools, reads the same bytes into a tree.

use super::document::{Document, MAX_DEPTH, PIPELINES, VERSION, encode, version};
use super::interface::StageInterface;
use super::interface_io::{PREFIX, Reading};
use super::notes::Notes;
use super::read_notes::{NotesReading, seed};
use crate::error::{Error, Result};
use crate::target::Stage;
use rmp_serde::decode;
use rmpv::Value;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::ErrorKind;

/// The interface of a stage, and its notes.
///
/// # Errors
/// Malformed: not msgpack, a duplicate key, not exactly one pipeline; a field is missing, unknown or of another type; a
/// value that only the link may set. Unsupported: an unknown register. `NeedsFullCompile`: another generation of the
/// format.
pub fn read(document: &[u8]) -> Result<(StageInterface, Notes)> {
    let both = read_by(document, |deserializer, both| Root(both).deserialize(deserializer))?;
    let interface = both.interface.finish()?;
    let notes = both.notes.finish(interface.stage)?;
    Ok((interface, notes))
}

/// The interface in a document.
///
/// # Errors
/// As [`read`].
pub fn interface_of(document: &Document) -> Result<StageInterface> {
    read_pipeline(document)?.interface.finish()
}

/// The notes in the document of a part of this stage, also of one without an interface, as LLVM writes it.
///
/// # Errors
/// As [`read`].
pub fn notes_of(document: &Document, stage: Stage) -> Result<Notes> {
    read_pipeline(document)?.notes.finish(stage)
}

fn read_pipeline(document: &Document) -> Result<Both> {
    let map = encode(&Value::Map(document.pipeline.clone()));
    read_by(&map, |deserializer, both| Pipeline(both).deserialize(deserializer))
}

/// A pipeline map while it is being read.
struct Both {
    interface: Reading,
    notes: NotesReading,
}

type Decoder<'d, 'de> = &'d mut rmp_serde::Deserializer<decode::ReadRefReader<'de, [u8]>>;

fn read_by<'de>(
    bytes: &'de [u8],
    run: impl FnOnce(Decoder<'_, 'de>, &mut Both) -> std::result::Result<(), decode::Error>,
) -> Result<Both> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
    deserializer.set_max_depth(MAX_DEPTH);
    let mut both = Both { interface: Reading::new(), notes: NotesReading::default() };
    let done = run(&mut deserializer, &mut both);
    // A document of another generation may have any contents.
    both.interface.check_generation()?;
    both.notes.refusal()?;
    done.map_err(|e| Error::malformed(format!("metadata: {e}")))?;
    // The decoder does not tell its position; at the end of the input it fails to read the next value's first byte.
    match IgnoredAny::deserialize(&mut deserializer) {
        Err(decode::Error::InvalidMarkerRead(e)) if e.kind() == ErrorKind::UnexpectedEof => Ok(both),
        _ => Err(Error::malformed("bytes after the metadata document")),
    }
}

/// The whole document.
struct Root<'r>(&'r mut Both);
/// Its list with one pipeline.
struct Pipelines<'r>(&'r mut Both);
/// The pipeline's map.
struct Pipeline<'r>(&'r mut Both);

seed!(Root<'_>: (), deserialize_map);

impl<'de> Visitor<'de> for Root<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let (mut versions, mut pipelines) = (0, 0);
        while let Some(key) = map.next_key::<&str>()? {
            match key {
                VERSION => {
                    version(&map.next_value()?).map_err(de::Error::custom)?;
                    versions += 1;
                }
                PIPELINES => {
                    map.next_value_seed(Pipelines(self.0))?;
                    pipelines += 1;
                }
                _ => return Err(de::Error::custom(format!("unknown key {key}"))),
            }
        }
        match (versions, pipelines) {
            (0 | 1, 1) => Ok(()),
            (_, 0) => Err(de::Error::custom(format!("no {PIPELINES}"))),
            _ => Err(de::Error::custom("a key twice")),
        }
    }
}

seed!(Pipelines<'_>: (), deserialize_seq);

impl<'de> Visitor<'de> for Pipelines<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PIPELINES}, an array of one")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let one = list.next_element_seed(Pipeline(self.0))?;
        if one.is_none() || list.next_element::<Value>()?.is_some() {
            return Err(de::Error::custom(format!("{PIPELINES} is not an array of one")));
        }
        Ok(())
    }
}

seed!(Pipeline<'_>: (), deserialize_map);

impl<'de> Visitor<'de> for Pipeline<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pipeline's map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<&str>()? {
            match key.strip_prefix(PREFIX) {
                Some(field) => self.0.interface.entry(key, field, &mut map)?,
                None => self.0.notes.entry(key, &mut map)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::document::{Map, set};
    use crate::metadata::schema::MetadataKey;

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
        notes_of(&doc, Stage::Fragment).unwrap_err().to_string()
    }

    #[test]
    fn what_llvm_writes_is_read() {
        let notes = notes_of(&document(), Stage::Fragment).unwrap();
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
        assert!(notes_of(&document(), Stage::Compute).is_err());
        assert!(refusal(|p| p.push((".hardware_stages".into(), Value::Map(vec![])))).contains("twice"));
        let twice = Value::Map(vec![(11275.into(), 0.into()), (11275.into(), 0.into())]);
        assert!(refusal(|p| set(p, ".registers", twice)).contains("twice"));
        let in_a_skipped = Value::Array(vec![Value::Map(vec![(1.into(), 2.into()), (1.into(), 2.into())])]);
        assert!(refusal(|p| set(p, ".vertexInputs", in_a_skipped)).contains("twice"));
    }
}
