//! Decodes the metadata document of an unlinked ELF into [`Notes`]: numbers by key and register, ready to be merged.
//!
//! Invariant: they contain only keys and registers of the tables, and only 0 in those that belong to the link. Linking
//! does not decode them again.

use super::document::{Document, Map, get, submap};
pub use super::fields::MetadataFields;
use super::interface_io;
use super::registers::{HardwareRegister, RegisterWords};
use super::schema::{KeyScope, MetadataKey, Owner, ValueType};
use crate::error::{Context, Error, Result};
use crate::target::Stage;
use rmpv::Value;
use std::collections::BTreeMap;

/// The notes of one part, or of merged parts, as numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Pipeline level.
    pub pipeline: MetadataFields,
    /// Hardware stages.
    pub stages: BTreeMap<Stage, MetadataFields>,
    /// Register words.
    pub registers: RegisterWords,
}

impl Notes {
    /// Decodes the document of an unlinked ELF of this stage.
    ///
    /// # Errors
    /// Malformed: an unknown key or register, a value of another type, another stage's metadata, or a value that only
    /// the link may set.
    pub fn from_unlinked(document: &Document, stage: Stage) -> Result<Self> {
        let pipeline = &document.pipeline;
        let mut out = Self { pipeline: fields(pipeline, KeyScope::Pipeline)?, ..Self::default() };
        let stages = submap(pipeline, MetadataKey::HardwareStages.name())?
            .ok_or_else(|| Error::malformed("metadata has no .hardware_stages"))?;
        for (name, value) in stages {
            let Value::Map(own) = value else {
                return Err(Error::malformed(format!("metadata: hardware stage {name} is not a map")));
            };
            if name.as_str() != Some(stage.hardware_name()) {
                return Err(Error::malformed(format!("metadata: hardware stage {name} in a {stage} ELF")));
            }
            out.stages.insert(stage, fields(own, KeyScope::Stage).at(|| stage.hardware_name())?);
        }
        if let Some(own) = out.stages.get(&stage) {
            // Without these the shader would seem to need no registers at all.
            for key in [MetadataKey::SgprCount, MetadataKey::VgprCount] {
                if !own.contains(key) {
                    return Err(Error::malformed(format!("metadata: {} has no {key}", stage.hardware_name())));
                }
            }
        } else {
            return Err(Error::malformed(format!("metadata has no hardware stage {}", stage.hardware_name())));
        }
        for (number, word) in submap(pipeline, MetadataKey::Registers.name())?.into_iter().flatten() {
            if let Some((register, word)) = register(number, word)? {
                out.registers.set(register, word);
            }
        }
        Ok(out)
    }
}

/// The numeric values of a map's keys.
fn fields(map: &Map, place: KeyScope) -> Result<MetadataFields> {
    let mut out = MetadataFields::new();
    for (name, value) in map {
        let text = name.as_str().unwrap_or_default();
        if place == KeyScope::Pipeline && text.starts_with(interface_io::PREFIX) {
            continue;
        }
        let key = MetadataKey::parse(place, text)
            .ok_or_else(|| Error::malformed(format!("metadata has an unknown key {name}")))?;
        let number = match key.ty() {
            ValueType::Other => None,
            ValueType::Uint => {
                Some(uint(value).ok_or_else(|| Error::malformed(format!("metadata: {key} is {value}")))?)
            }
            ValueType::Bool => match value {
                Value::Boolean(b) => Some(u32::from(*b)),
                _ => return Err(Error::malformed(format!("metadata: {key} is {value}, not a boolean"))),
            },
        };
        if key.owner() == Owner::Link && number != Some(0) {
            return Err(Error::malformed(format!("metadata: {key} is the link's to give")));
        }
        if let Some(number) = number.filter(|_| key.owner() == Owner::Code) {
            out.insert(key, number);
        }
    }
    Ok(out)
}

/// A register owned by the code; a 0 in one owned by the link is ignored.
fn register(number: &Value, word: &Value) -> Result<Option<(HardwareRegister, u32)>> {
    let (Some(n), Some(w)) = (uint(number), uint(word)) else {
        return Err(Error::malformed(format!("metadata: register {number} = {word}")));
    };
    let register = HardwareRegister(n);
    match register.info() {
        None => Err(Error::unsupported(format!("register {n:#x}"), "in the metadata of an unlinked ELF")),
        Some(info) if info.owner == Owner::Link && w != 0 => {
            Err(Error::malformed(format!("metadata: {} is the link's to give", register.name())))
        }
        Some(info) => Ok((info.owner == Owner::Code).then_some((register, w))),
    }
}

fn uint(value: &Value) -> Option<u32> {
    value.as_u64()?.try_into().ok()
}

/// The first key of a pipeline map that only unlinked ELFs have, if any.
pub fn unlinked_key(pipeline: &Map) -> Option<String> {
    let ours = pipeline.iter().filter_map(|(k, _)| k.as_str()).find(|k| k.starts_with(interface_io::PREFIX));
    let llpc = MetadataKey::all().filter(|k| k.owner() == Owner::Unlinked).find(|k| get(pipeline, k.name()).is_some());
    ours.map(str::to_owned).or_else(|| llpc.map(|k| k.name().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::document::set;

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
        Notes::from_unlinked(&doc, Stage::Fragment).unwrap_err().to_string()
    }

    #[test]
    fn what_llvm_writes_is_read() {
        let notes = Notes::from_unlinked(&document(), Stage::Fragment).unwrap();
        assert_eq!(notes.stages[&Stage::Fragment][&MetadataKey::SgprCount], 3);
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
        assert!(Notes::from_unlinked(&document(), Stage::Compute).is_err());
    }
}
