//! Reads the notes of an unlinked ELF, numbers by key and register, straight from msgpack: a driver does this once per
//! part, while a game waits.

use super::document::unique_keys;
use super::fields::MetadataFields;
use super::notes::Notes;
use super::registers::{HardwareRegister, RegisterWords};
use super::schema::{KeyScope, MetadataKey, Owner, ValueType};
use crate::error::{Error, Result};
use crate::target::Stage;
use rmpv::Value;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

type Read<T, E> = std::result::Result<T, E>;

/// Makes a visitor the seed of its value.
macro_rules! seed {
    ($visitor:ty: $value:ty, $method:ident) => {
        impl<'de> DeserializeSeed<'de> for $visitor {
            type Value = $value;
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<$value, D::Error> {
                deserializer.$method(self)
            }
        }
    };
}
pub(super) use seed;

/// A pipeline map while its notes are being read. Its entries come in any order.
#[derive(Default)]
pub(super) struct NotesReading {
    pipeline: Fields,
    registers: RegisterWords,
    /// Registers that the link gives, and the part has as 0.
    ignored: RegisterWords,
    stage: Option<(Stage, MetadataFields)>,
    /// Why reading ended, if the decoder's errors cannot say it.
    refused: Option<Error>,
}

impl NotesReading {
    /// Reads the value of one key.
    pub(super) fn entry<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Read<(), A::Error> {
        match self.pipeline.key(KeyScope::Pipeline, name)? {
            MetadataKey::HardwareStages => map.next_value_seed(Stages(self)),
            MetadataKey::Registers => map.next_value_seed(Registers(self)),
            key => self.pipeline.value(key, map),
        }
    }

    /// Why reading ended, if the decoder's error does not say it.
    pub(super) fn refusal(&mut self) -> Result<()> {
        self.refused.take().map_or(Ok(()), Err)
    }

    /// The notes of a part of this stage.
    ///
    /// # Errors
    /// Malformed: not this stage's metadata, or not all of it.
    pub(super) fn finish(self, stage: Stage) -> Result<Notes> {
        let Some((of, own)) = self.stage else {
            return Err(Error::malformed(format!("metadata has no hardware stage {}", stage.hardware_name())));
        };
        if of != stage {
            return Err(Error::malformed(format!("metadata: hardware stage {} in a {stage} ELF", of.hardware_name())));
        }
        // Without these the shader would seem to need no registers at all.
        for key in [MetadataKey::SgprCount, MetadataKey::VgprCount] {
            if !own.contains(key) {
                return Err(Error::malformed(format!("metadata: {} has no {key}", stage.hardware_name())));
            }
        }
        Ok(Notes { pipeline: self.pipeline.numbers, stage: own, registers: self.registers })
    }

    /// A register that the code gives; a 0 in one that the link gives is ignored.
    fn register(&mut self, register: HardwareRegister, word: u32) -> Result<()> {
        let Some(info) = register.info() else {
            return Err(Error::unsupported(register.name(), "in the metadata of an unlinked ELF"));
        };
        if self.registers.get(register).or_else(|| self.ignored.get(register)).is_some() {
            return Err(Error::malformed(format!("metadata has {} twice", register.name())));
        }
        match info.owner {
            Owner::Code => self.registers.set(register, word),
            Owner::Link if word != 0 => {
                return Err(Error::malformed(format!("metadata: {} is the link's to give", register.name())));
            }
            Owner::Link | Owner::Unlinked => self.ignored.set(register, word),
        }
        Ok(())
    }
}

/// The numbers of one map.
#[derive(Default)]
struct Fields {
    numbers: MetadataFields,
    /// Bit n: the key with number n has been read.
    seen: u32,
}

impl Fields {
    /// The key with this name, which has not been read before.
    fn key<E: de::Error>(&mut self, place: KeyScope, name: &str) -> Read<MetadataKey, E> {
        let key = MetadataKey::parse(place, name);
        let key = key.ok_or_else(|| E::custom(format!("an unknown key {name}")))?;
        let bit = 1 << key as u32;
        if self.seen & bit != 0 {
            return Err(E::custom(format!("the key {key} twice")));
        }
        self.seen |= bit;
        Ok(key)
    }

    fn value<'de, A: MapAccess<'de>>(&mut self, key: MetadataKey, map: &mut A) -> Read<(), A::Error> {
        let number = match key.ty() {
            ValueType::Other => map.next_value_seed(Skipped).map(|()| None),
            ValueType::Uint => map.next_value().map(Some),
            ValueType::Bool => map.next_value().map(|value: bool| Some(u32::from(value))),
        };
        let number = number.map_err(|e| de::Error::custom(format!("{key}: {e}")))?;
        match key.owner() {
            Owner::Link if number != Some(0) => Err(de::Error::custom(format!("{key} is the link's to give"))),
            Owner::Code => {
                number.into_iter().for_each(|number| self.numbers.insert(key, number));
                Ok(())
            }
            Owner::Link | Owner::Unlinked => Ok(()),
        }
    }
}

/// The map with one hardware stage.
struct Stages<'r>(&'r mut NotesReading);

seed!(Stages<'_>: (), deserialize_map);

impl<'de> Visitor<'de> for Stages<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, a map", MetadataKey::HardwareStages)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Read<(), A::Error> {
        while let Some(name) = map.next_key::<&str>()? {
            let stage = [Stage::Vertex, Stage::Fragment, Stage::Compute].into_iter();
            let stage = stage.into_iter().find(|stage| stage.hardware_name() == name);
            let stage = stage.ok_or_else(|| de::Error::custom(format!("an unknown hardware stage {name}")))?;
            let own = map.next_value_seed(OfStage).map_err(|e| de::Error::custom(format!("{name}: {e}")))?;
            if self.0.stage.replace((stage, own)).is_some() {
                return Err(de::Error::custom("several hardware stages"));
            }
        }
        Ok(())
    }
}

/// The map of one hardware stage.
struct OfStage;

seed!(OfStage: MetadataFields, deserialize_map);

impl<'de> Visitor<'de> for OfStage {
    type Value = MetadataFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hardware stage's map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Read<MetadataFields, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = map.next_key::<&str>()? {
            let key = fields.key(KeyScope::Stage, name)?;
            fields.value(key, &mut map)?;
        }
        Ok(fields.numbers)
    }
}

/// The map of register words.
struct Registers<'r>(&'r mut NotesReading);

seed!(Registers<'_>: (), deserialize_map);

impl<'de> Visitor<'de> for Registers<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, a map", MetadataKey::Registers)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Read<(), A::Error> {
        while let Some((number, word)) = map.next_entry::<u32, u32>()? {
            self.0.register(HardwareRegister(number), word).map_err(|error| {
                let text = de::Error::custom(&error);
                self.0.refused = Some(error);
                text
            })?;
        }
        Ok(())
    }
}

/// A value that is not read; no map in it has a key twice.
struct Skipped;

seed!(Skipped: (), deserialize_any);

impl<'de> Visitor<'de> for Skipped {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, _: &str) -> Read<(), E> {
        Ok(())
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Read<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Read<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Read<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Read<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Read<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Read<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Read<(), E> {
        Ok(())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Read<(), D::Error> {
        Value::deserialize(deserializer).map(drop)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Read<(), A::Error> {
        while list.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Read<(), A::Error> {
        let value = Value::deserialize(de::value::MapAccessDeserializer::new(map))?;
        unique_keys(&value).map_err(de::Error::custom)
    }
}
