//! [`Notes`]: what the metadata of an unlinked ELF says besides the interface, as numbers by key and register, ready to be merged.

use super::document::{Map, get};
pub use super::fields::MetadataFields;
use super::interface_io;
use super::registers::RegisterWords;
use super::schema::{MetadataKey, Owner};
use dovetail_base::target::Family;

/// The notes of one part as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notes {
    /// Pipeline level.
    pub pipeline: MetadataFields,
    /// Its hardware stage.
    pub stage: MetadataFields,
    /// Register words.
    pub registers: RegisterWords,
}

impl Notes {
    /// Nothing of a part for this family.
    pub fn new(family: Family) -> Self {
        Self { pipeline: MetadataFields::new(), stage: MetadataFields::new(), registers: RegisterWords::new(family) }
    }
}

/// The first key of a pipeline map that only unlinked ELFs have, if any.
pub fn unlinked_key(pipeline: &Map) -> Option<String> {
    let ours = pipeline.iter().filter_map(|(k, _)| k.as_str()).find(|k| k.starts_with(interface_io::PREFIX));
    let llpc = MetadataKey::all().filter(|k| k.owner() == Owner::Unlinked).find(|k| get(pipeline, k.name()).is_some());
    ours.map(str::to_owned).or_else(|| llpc.map(|k| k.name().to_owned()))
}
