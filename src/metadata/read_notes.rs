//! Reads the notes of an unlinked ELF, numbers by key and register, straight from msgpack: a driver does this once per
//! part, while a game waits.

use super::fields::MetadataFields;
use super::msgpack_read::Reader;
use super::notes::Notes;
use super::register_words::RegisterSet;
use super::registers::{HardwareRegister, RegisterWords};
use super::schema::{KeyScope, MetadataKey, Owner, ValueType};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::{Family, HardwareStage, Stage};

/// A pipeline map while its notes are being read. Its entries come in any order.
pub(super) struct NotesReading {
    family: Family,
    pipeline: Fields,
    registers: RegisterWords,
    /// Registers that have been read.
    seen: RegisterSet,
    stage: Option<(HardwareStage, MetadataFields)>,
}

impl NotesReading {
    /// Nothing of the notes of a part for this family.
    pub(super) fn new(family: Family) -> Self {
        Self {
            family,
            pipeline: Fields::default(),
            registers: RegisterWords::new(family),
            seen: RegisterSet::default(),
            stage: None,
        }
    }

    /// Reads the value of one key.
    pub(super) fn entry(&mut self, name: &[u8], from: &mut Reader<'_>) -> Result<()> {
        match self.pipeline.key(KeyScope::Pipeline, name)? {
            MetadataKey::HardwareStages => self.stages(from),
            MetadataKey::Registers => self.words(from),
            key => self.pipeline.value(key, from),
        }
    }

    /// The notes of a part of this stage.
    ///
    /// # Errors
    /// Malformed: not this stage's metadata, or not all of it.
    pub(super) fn finish(self, stage: Stage) -> Result<Notes> {
        let key = self.family.hardware_stage(stage).key();
        let Some((of, own)) = self.stage else {
            return Err(Error::malformed(format!("metadata has no hardware stage {key}")));
        };
        if of.key() != key {
            return Err(Error::malformed(format!("metadata: hardware stage {} in a {stage} ELF", of.key())));
        }
        // Without these the shader would seem to need no registers at all.
        for count in [MetadataKey::SgprCount, MetadataKey::VgprCount] {
            if !own.contains(count) {
                return Err(Error::malformed(format!("metadata: {key} has no {count}")));
            }
        }
        Ok(Notes { pipeline: self.pipeline.numbers, stage: own, registers: self.registers })
    }

    /// The map with one hardware stage.
    fn stages(&mut self, from: &mut Reader<'_>) -> Result<()> {
        for _ in 0..from.map()? {
            let name = from.name()?;
            let mut stages = self.family.hardware_stages().map(|stage| stage.hardware);
            let stage = stages.find(|stage| stage.key().as_bytes() == name);
            let stage = stage.ok_or_else(|| unknown("hardware stage", name))?;
            let own = Fields::read(KeyScope::Stage, from).at(|| format!("hardware stage {}", stage.key()))?;
            if self.stage.replace((stage, own)).is_some() {
                return Err(Error::malformed("metadata: several hardware stages"));
            }
        }
        Ok(())
    }

    /// The map of register words.
    fn words(&mut self, from: &mut Reader<'_>) -> Result<()> {
        for _ in 0..from.map()? {
            let (number, word) = (from.uint()?, from.uint()?);
            self.register(number, word)?;
        }
        Ok(())
    }

    /// Takes over the word of a register that the code gives. A 0 in a register that the link gives is ignored.
    fn register(&mut self, number: u32, word: u32) -> Result<()> {
        let register = HardwareRegister::of_number(self.family, number);
        let Some((register, info)) = register.and_then(|register| Some((register, register.info()?))) else {
            return Err(Error::unsupported(format!("register {number:#x}"), "in the metadata of an unlinked ELF"));
        };
        if !self.seen.insert(register) {
            return Err(Error::malformed(format!("metadata has {} twice", register.name())));
        }
        match info.owner {
            Owner::Code => self.registers.set(register, word)?,
            Owner::Link if word != 0 => {
                return Err(Error::malformed(format!("metadata: {} is the link's to give", register.name())));
            }
            Owner::Link | Owner::Unlinked => {}
        }
        Ok(())
    }
}

#[cold]
fn unknown(what: &str, name: &[u8]) -> Error {
    Error::malformed(format!("metadata: an unknown {what} {}", String::from_utf8_lossy(name)))
}

/// The numbers of one map.
#[derive(Default)]
struct Fields {
    numbers: MetadataFields,
    /// Bit n: the key with number n has been read.
    seen: u32,
    /// The last key that has been read.
    last: Option<MetadataKey>,
}

impl Fields {
    /// Reads a map whose keys have this scope.
    fn read(place: KeyScope, from: &mut Reader<'_>) -> Result<MetadataFields> {
        let mut fields = Self::default();
        for _ in 0..from.map()? {
            let key = fields.key(place, from.name()?)?;
            fields.value(key, from)?;
        }
        Ok(fields.numbers)
    }

    /// The key with this name, which has not been read before.
    fn key(&mut self, place: KeyScope, name: &[u8]) -> Result<MetadataKey> {
        let key = MetadataKey::parse(place, name, self.last);
        let key = key.ok_or_else(|| unknown("key", name))?;
        let bit = 1 << key as u32;
        if self.seen & bit != 0 {
            return Err(Error::malformed(format!("metadata: the key {key} twice")));
        }
        self.seen |= bit;
        self.last = Some(key);
        Ok(key)
    }

    fn value(&mut self, key: MetadataKey, from: &mut Reader<'_>) -> Result<()> {
        let number = match key.ty() {
            ValueType::Other => from.skip().map(|()| None),
            ValueType::Uint => from.uint().map(Some),
            ValueType::Bool => from.bool().map(|value| Some(u32::from(value))),
        };
        let number = number.at(|| key.to_string())?;
        match (key.owner(), number) {
            (Owner::Link, Some(0)) | (Owner::Unlinked, _) | (Owner::Code, None) => {}
            (Owner::Link, _) => return Err(Error::malformed(format!("metadata: {key} is the link's to give"))),
            (Owner::Code, Some(number)) => self.numbers.insert(key, number),
        }
        Ok(())
    }
}
