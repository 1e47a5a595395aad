//! Payloads: the JSON of one object under its hash; a shader module also has its words, as variable-length numbers
//! after a NUL.

use crate::model::{Definition, Hash, Key};
use dovetail_base::error::{Error, Result};
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// Largest JSON of a definition, in bytes; real ones have some kilobytes.
pub const MAX_TEXT: u64 = 1 << 20;

/// The version in payloads.
const VERSION: u32 = 6;

/// Makes the payload of a definition.
///
/// # Errors
/// Bug: the definition cannot be represented in JSON.
pub fn definition(key: Key, hash: Hash, definition: &impl Serialize) -> Result<Vec<u8>> {
    let value = serde_json::to_value(definition).map_err(|e| Error::bug(format!("JSON of a definition: {e}")))?;
    json(key.name(), BTreeMap::from([(hash.to_string(), value)]).into_iter().collect())
}

/// Makes the payload that names the application.
///
/// # Errors
/// Bug: it cannot be represented in JSON.
pub fn application(name: &str, engine: &str, versions: [u32; 3]) -> Result<Vec<u8>> {
    let [application, engine_version, api] = versions;
    json(
        "applicationInfo",
        serde_json::json!({
            "applicationName": name, "engineName": engine,
            "applicationVersion": application, "engineVersion": engine_version, "apiVersion": api,
        }),
    )
}

fn json(key: &str, value: Value) -> Result<Vec<u8>> {
    let mut root = serde_json::Map::new();
    root.insert("version".into(), VERSION.into());
    root.insert(key.into(), value);
    serde_json::to_vec(&root).map_err(|e| Error::bug(format!("JSON of a definition: {e}")))
}

/// Makes the payload of a shader module. `code` is its SPIR-V.
///
/// # Errors
/// Malformed: the size is not a multiple of four.
pub fn module(hash: Hash, code: &[u8]) -> Result<Vec<u8>> {
    let (words, []) = code.as_chunks::<4>() else {
        return Err(Error::malformed(format!("{} bytes are not a whole number of SPIR-V words", code.len())));
    };
    let mut packed = Vec::with_capacity(code.len());
    for word in words {
        let mut left = u32::from_le_bytes(*word);
        while left >= 0x80 {
            packed.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        packed.push(left as u8);
    }
    let about = serde_json::json!({
        hash.to_string(): { "varintOffset": 0, "varintSize": packed.len(), "codeSize": code.len(), "flags": 0 }
    });
    let mut payload = json(Key::ShaderModules.name(), about)?;
    payload.push(0);
    payload.extend_from_slice(&packed);
    Ok(payload)
}

/// Reads the definition in a payload: the object under this hash, or the only object.
///
/// # Errors
/// Malformed: not JSON, or not of this kind of definition.
pub fn read<T: DeserializeOwned>(payload: &[u8], keys: &[Key], hash: Hash) -> Result<(Key, T)> {
    let (text, _) = split(payload);
    let mut json = serde_json::Deserializer::from_slice(text);
    let found = Root { keys, hash, of: PhantomData }.deserialize(&mut json);
    let found = found.and_then(|found| json.end().map(|()| found));
    let (key, found) = found
        .map_err(|e| Error::malformed(format!("JSON: {e}")))?
        .ok_or_else(|| Error::malformed(format!("no object `{}`", keys.first().map_or("", |key| key.name()))))?;
    Ok((key, found.ok_or_else(|| Error::malformed(format!("`{}` is empty", key.name())))?))
}

/// Reads the root of a payload and skips everything except one object: a tree of all JSON would take many times the
/// size of the text.
struct Root<'a, T> {
    keys: &'a [Key],
    hash: Hash,
    of: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Root<'_, T> {
    type Value = Option<(Key, Option<T>)>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Root<'_, T> {
    type Value = Option<(Key, Option<T>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<String>()? {
            match self.keys.iter().find(|key| key.name() == name) {
                Some(key) if found.is_none() => {
                    found = Some((*key, map.next_value_seed(Objects { hash: self.hash, of: PhantomData })?));
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(found)
    }
}

/// Reads the object under a hash, or the first object if there is none.
struct Objects<T> {
    hash: Hash,
    of: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Objects<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Objects<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let wanted = self.hash.to_string();
        let (mut found, mut is_wanted) = (None, false);
        while let Some(name) = map.next_key::<String>()? {
            if found.is_none() || name == wanted && !is_wanted {
                found = Some(map.next_value::<T>()?);
                is_wanted = name == wanted;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Reads the SPIR-V in a payload.
///
/// # Errors
/// Malformed: the JSON, or the numbers after it.
pub fn read_module(payload: &[u8], hash: Hash) -> Result<Vec<u8>> {
    let (_, about) = read::<ModuleText>(payload, &[Key::ShaderModules], hash)?;
    let ModuleText { varint_offset, varint_size, code_size, code } = about;
    let code = match (code, varint_offset, varint_size) {
        (Some(text), _, _) => super::super::model::base64_bytes(&text)?,
        (None, Some(offset), Some(size)) => {
            let (_, tail) = split(payload);
            let range = offset..offset.saturating_add(size);
            let packed = usize_range(range).and_then(|range| tail.get(range));
            unpack(packed.ok_or_else(|| Error::malformed("the words of a module are not where they should be"))?)?
        }
        _ => return Err(Error::malformed("a module without words")),
    };
    if code.len() as u64 != code_size {
        return Err(Error::malformed(format!("a module of {} bytes with a stated size of {code_size}", code.len())));
    }
    Ok(code)
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModuleText {
    varint_offset: Option<u64>,
    varint_size: Option<u64>,
    code_size: u64,
    code: Option<String>,
}

fn usize_range(range: std::ops::Range<u64>) -> Option<std::ops::Range<usize>> {
    Some(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

/// Splits a payload into its JSON and what follows the NUL.
fn split(payload: &[u8]) -> (&[u8], &[u8]) {
    match payload.iter().position(|byte| *byte == 0) {
        Some(at) => (&payload[..at], &payload[at + 1..]),
        None => (payload, &[]),
    }
}

/// Words in bytes of 7 bits each, least significant first; the high bit means that the word continues.
fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let mut code = Vec::new();
    let (mut word, mut shift) = (0u32, 0u32);
    for byte in packed {
        let bits = u32::from(byte & 0x7f);
        if shift > 28 || bits.checked_shl(shift).is_none_or(|moved| moved >> shift != bits) {
            return Err(Error::malformed("a word of a module has more than 32 bits"));
        }
        word |= bits << shift;
        if byte & 0x80 == 0 {
            code.extend_from_slice(&word.to_le_bytes());
            (word, shift) = (0, 0);
        } else {
            shift += 7;
        }
    }
    if shift != 0 {
        return Err(Error::malformed("a module ends in the middle of a word"));
    }
    Ok(code)
}

/// Makes the payload of any definition.
///
/// # Errors
/// As [`definition`] and [`module`].
pub fn of(hash: Hash, what: &Definition<'_>) -> Result<Vec<u8>> {
    match what {
        Definition::Sampler(sampler) => definition(Key::Samplers, hash, sampler),
        Definition::SetLayout(layout) => definition(Key::SetLayouts, hash, layout),
        Definition::PipelineLayout(layout) => definition(Key::PipelineLayouts, hash, layout),
        Definition::RenderPass(pass) => {
            definition(if pass.second { Key::RenderPasses2 } else { Key::RenderPasses }, hash, pass)
        }
        Definition::Graphics(pipeline) => definition(Key::GraphicsPipelines, hash, pipeline),
        Definition::Compute(pipeline) => definition(Key::ComputePipelines, hash, pipeline),
        Definition::Module(code) => module(hash, code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_packed_as_fossilize_does() {
        let payload = module(Hash(0xab), &0x0723_0203u32.to_le_bytes()).unwrap();
        let (text, tail) = split(&payload);
        assert_eq!(tail, [0x83, 0x84, 0x8c, 0x39]);
        let text = std::str::from_utf8(text).unwrap();
        assert!(text.contains(r#""shaderModules":{"00000000000000ab":{"#), "{text}");
        assert!(text.contains(r#""codeSize":4"#) && text.contains(r#""varintSize":4"#), "{text}");
    }

    #[test]
    fn the_object_under_the_hash_is_read_and_nothing_else_is_kept() {
        let object = |size: u32| format!(r#"{{"flags":0,"codeSize":{size},"code":"AwIjBw=="}}"#);
        let objects = format!(r#"{{"00000000000000cd":{},"00000000000000ab":{}}}"#, object(3), object(4));
        let many = "[],".repeat(1000);
        let text = format!(r#"{{"other":[{many}0],"shaderModules":{objects},"version":5}}"#);
        assert_eq!(read_module(text.as_bytes(), Hash(0xab)).unwrap(), 0x0723_0203u32.to_le_bytes());
        // If the hash is missing, the first object is taken.
        let why = read_module(text.as_bytes(), Hash(0xef)).unwrap_err().to_string();
        assert!(why.contains("stated size of 3"), "{why}");
        for (text, said) in [(&b"{}"[..], "no object"), (br#"{"shaderModules":{}}"#, "is empty"), (b"[]", "JSON")] {
            let why = read_module(text, Hash(1)).unwrap_err().to_string();
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn the_older_form_is_read_too() {
        let text = br#"{"version":5,"shaderModules":{"00000000000000ab":{"flags":0,"codeSize":4,"code":"AwIjBw=="}}}"#;
        assert_eq!(read_module(text, Hash(0xab)).unwrap(), 0x0723_0203u32.to_le_bytes());
    }

    #[test]
    fn broken_words_are_malformed() {
        for bad in [&[0x80][..], &[0x80, 0x80, 0x80, 0x80, 0x10], &[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]] {
            assert_eq!(unpack(bad).unwrap_err().exit_code(), 2, "{bad:x?}");
        }
        assert_eq!(unpack(&[0xff, 0xff, 0xff, 0xff, 0x0f]).unwrap(), [0xff; 4]);
    }

    proptest! {
        #[test]
        fn modules_read_back(words in proptest::collection::vec(any::<u32>(), 0..50)) {
            let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let payload = module(Hash(1), &code).unwrap();
            prop_assert_eq!(read_module(&payload, Hash(1)).unwrap(), code);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_module(&bytes, Hash(1));
            let _ = unpack(&bytes);
        }
    }
}
