//! The msgpack tree of a metadata note, for everything that is not on the hot path: unlinked ELFs, inspection,
//! verification.
//!
//! A document is one map: `amdpal.version` and `amdpal.pipelines`, an array of one map (pal-abi 5). Maps are lists in
//! file order, so that reading and writing gives the same bytes.

use dovetail_base::error::{Error, Result};
use rmpv::Value;

/// Nesting limit. A real note nests ten deep; a hostile one must not exhaust the stack.
pub(super) const MAX_DEPTH: usize = 32;

/// A msgpack map, in order.
pub type Map = Vec<(Value, Value)>;

pub(super) const VERSION: &str = "amdpal.version";
pub(super) const PIPELINES: &str = "amdpal.pipelines";

/// The content of one metadata note.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// `amdpal.version`, major and minor, if given. (LLVM's objects have none.)
    pub version: Option<(u32, u32)>,
    /// `amdpal.pipelines[0]`.
    pub pipeline: Map,
}

impl Document {
    /// Decodes a note's content.
    ///
    /// # Errors
    /// Malformed: not msgpack, a duplicate key, or not exactly one pipeline.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let Value::Map(root) = tree(bytes)? else { return Err(Error::malformed("metadata is not a map")) };
        let mut out = Self::default();
        let mut pipelines = None;
        for (key, value) in root {
            match key.as_str() {
                Some(VERSION) => out.version = Some(version(&value)?),
                Some(PIPELINES) => pipelines = Some(value),
                _ => return Err(Error::malformed(format!("metadata has an unknown key {key}"))),
            }
        }
        match pipelines {
            Some(Value::Array(mut list)) if list.len() == 1 => match list.pop() {
                Some(Value::Map(pipeline)) => out.pipeline = pipeline,
                _ => return Err(Error::malformed(format!("{PIPELINES}[0] is not a map"))),
            },
            _ => return Err(Error::malformed(format!("{PIPELINES} is not an array of one"))),
        }
        Ok(out)
    }

    /// Encodes a note's content.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut root = Map::new();
        if let Some((major, minor)) = self.version {
            // First: PAL scans the map for it.
            set(&mut root, VERSION, Value::Array(vec![major.into(), minor.into()]));
        }
        set(&mut root, PIPELINES, Value::Array(vec![Value::Map(self.pipeline.clone())]));
        encode(&Value::Map(root))
    }
}

/// The value of a key, if any.
pub fn get<'a>(map: &'a Map, key: &str) -> Option<&'a Value> {
    map.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
}

/// Sets a key in place, or at the end.
pub fn set(map: &mut Map, key: &str, value: Value) {
    match map.iter_mut().find(|(k, _)| k.as_str() == Some(key)) {
        Some((_, v)) => *v = value,
        None => map.push((key.into(), value)),
    }
}

/// The map under a key, if there is one.
///
/// # Errors
/// Malformed: the value is not a map.
pub fn submap<'a>(map: &'a Map, key: &str) -> Result<Option<&'a Map>> {
    match get(map, key) {
        None => Ok(None),
        Some(Value::Map(m)) => Ok(Some(m)),
        Some(_) => Err(Error::malformed(format!("metadata: {key} is not a map"))),
    }
}

/// Decodes one value; no map in it may have a key twice.
pub(super) fn tree(bytes: &[u8]) -> Result<Value> {
    let mut rest = bytes;
    let value = rmpv::decode::read_value_with_max_depth(&mut rest, MAX_DEPTH)
        .map_err(|e| Error::malformed(format!("metadata is not msgpack: {e}")))?;
    if !rest.is_empty() {
        return Err(Error::malformed(format!("{} bytes after the metadata document", rest.len())));
    }
    unique_keys(&value)?;
    Ok(value)
}

/// Encodes one value.
pub(super) fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing into memory cannot fail.
    let _ = rmpv::encode::write_value(&mut out, value);
    out
}

fn version(value: &Value) -> Result<(u32, u32)> {
    let part = |i: usize| value.as_array()?.get(i)?.as_u64()?.try_into().ok();
    let pair = part(0).zip(part(1)).filter(|_| value.as_array().is_some_and(|a| a.len() == 2));
    pair.ok_or_else(|| Error::malformed(format!("{VERSION} is {value}, not two numbers")))
}

/// Rejects duplicate keys: PAL asserts that there are none, and two readers could take different values.
fn unique_keys(value: &Value) -> Result<()> {
    match value {
        Value::Array(list) => list.iter().try_for_each(unique_keys),
        Value::Map(map) => {
            let mut keys: Vec<(Identity<'_>, &Value)> = map.iter().map(|(key, _)| (Identity::of(key), key)).collect();
            keys.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            let twice = keys.windows(2).find(|pair| matches!(pair, [(a, _), (b, _)] if a == b));
            if let Some([(_, key), ..]) = twice {
                return Err(Error::malformed(format!("metadata has the key {key} twice")));
            }
            for (key, value) in map {
                unique_keys(key)?;
                unique_keys(value)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Identity of a key; for common types without encoding it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identity<'a> {
    Text(&'a str),
    Number(u64),
    Other(Vec<u8>),
}

impl<'a> Identity<'a> {
    fn of(key: &'a Value) -> Self {
        match (key.as_str(), key.as_u64()) {
            (Some(text), _) => Self::Text(text),
            (_, Some(number)) => Self::Number(number),
            _ => Self::Other(encode(key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let mut doc = Document { version: Some((2, 6)), pipeline: Map::new() };
        set(&mut doc.pipeline, ".type", "VsPs".into());
        set(&mut doc.pipeline, ".registers", Value::Map(vec![(11338u32.into(), 7u32.into())]));
        assert_eq!(Document::parse(&doc.to_bytes()).unwrap(), doc);
    }

    #[test]
    fn refuses_what_is_no_single_pipeline() {
        let parse = |v: Value| Document::parse(&encode(&v));
        assert!(parse(Value::Nil).is_err());
        assert!(parse(Value::Map(vec![])).is_err());
        assert!(parse(Value::Map(vec![(PIPELINES.into(), Value::Array(vec![]))])).is_err());
        let twice = Value::Map(vec![(".a".into(), 1.into()), (".a".into(), 1.into())]);
        let err = parse(Value::Map(vec![(PIPELINES.into(), Value::Array(vec![twice]))])).unwrap_err();
        assert!(err.to_string().contains("twice"), "{err}");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            let _ = Document::parse(&bytes);
        }
    }
}
