//! Reads the metadata document of an unlinked ELF in one pass: the stage's interface into its struct, everything else
//! into a tree for [`super::notes`]. A driver does this once per part, while a game waits.
//!
//! [`super::document`], used by tools, reads the same bytes.

use super::document::{MAX_DEPTH, Map, PIPELINES, VERSION, unique_keys, version};
use super::interface::StageInterface;
use super::interface_io::Reading;
use crate::error::{Error, Result};
use rmp_serde::decode;
use rmpv::Value;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::ErrorKind;

/// The interface of a stage, and the entries of the pipeline map that are not part of it.
///
/// # Errors
/// Malformed: not msgpack, a duplicate key, not exactly one pipeline; a field is missing, unknown or of another type.
/// `NeedsFullCompile`: another generation of the format.
pub fn read(document: &[u8]) -> Result<(StageInterface, Map)> {
    read_by(document, |deserializer, reading| Root(reading).deserialize(deserializer))
}

/// The same from the bytes of a pipeline map.
pub(super) fn read_pipeline(map: &[u8]) -> Result<(StageInterface, Map)> {
    read_by(map, |deserializer, reading| Pipeline(reading).deserialize(deserializer))
}

type Decoder<'d, 'de> = &'d mut rmp_serde::Deserializer<decode::ReadRefReader<'de, [u8]>>;

fn read_by<'de>(
    bytes: &'de [u8],
    run: impl FnOnce(Decoder<'_, 'de>, &mut Reading) -> std::result::Result<(), decode::Error>,
) -> Result<(StageInterface, Map)> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
    deserializer.set_max_depth(MAX_DEPTH);
    let mut reading = Reading::new();
    let done = run(&mut deserializer, &mut reading);
    // A document of another generation may have any contents.
    reading.check_generation()?;
    done.map_err(|e| Error::malformed(format!("metadata: {e}")))?;
    // The decoder does not tell its position; at the end of the input it fails to read the next value's first byte.
    match IgnoredAny::deserialize(&mut deserializer) {
        Err(decode::Error::InvalidMarkerRead(e)) if e.kind() == ErrorKind::UnexpectedEof => {}
        _ => return Err(Error::malformed("bytes after the metadata document")),
    }
    let (interface, rest) = reading.finish()?;
    let rest = Value::Map(rest);
    unique_keys(&rest)?;
    match rest {
        Value::Map(rest) => Ok((interface, rest)),
        _ => Err(Error::bug("the rest of a map is not a map")),
    }
}

/// The whole document.
struct Root<'r>(&'r mut Reading);
/// Its list with one pipeline.
struct Pipelines<'r>(&'r mut Reading);
/// The pipeline's map.
struct Pipeline<'r>(&'r mut Reading);

impl<'de> DeserializeSeed<'de> for Root<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

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

impl<'de> DeserializeSeed<'de> for Pipelines<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

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

impl<'de> DeserializeSeed<'de> for Pipeline<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Pipeline<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pipeline's map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<&str>()? {
            self.0.entry(key, &mut map)?;
        }
        Ok(())
    }
}
