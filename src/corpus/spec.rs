//! Specialization values for modules: their file, and a guess where there is none.
//!
//! Many compute shaders leave their workgroup size to a specialization constant whose default is 1; compiled with that,
//! they are not the shaders that an application runs. The file gives real values by module name:
//!
//! ```toml
//! [[module]]
//! name = "matmul_*"          # the module's name without `.spv`; `*` is any text, `?` any character
//! [module.values]            # SpecId = value: an integer, a boolean, or a float (its 32 bits)
//! 0 = 128
//! ```
//!
//! All matching entries apply, later ones over earlier ones. An id that the module lacks has no effect, as in Vulkan.
//! Files can be joined with `cat`.

use super::describe::Description;
use dovetail_base::error::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Values by `SpecId`, each with the 32 bits of the constant.
pub type Values = BTreeMap<u32, u32>;

/// Least invocations of a real workgroup: a smaller one would leave half a wave empty.
const MIN_INVOCATIONS: u64 = 64;
/// Default extent of an axis.
const USUAL_EXTENT: u32 = 64;
/// The smallest limit on an axis in drivers for AMD; a guess stays within it.
const MAX_EXTENT: u32 = 1024;

/// A file of specialization values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecFile {
    rules: Vec<(String, Values)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    module: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: String,
    #[serde(default)]
    values: BTreeMap<String, toml::Value>,
}

impl SpecFile {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self> {
        let raw: RawFile = toml::from_str(text).map_err(|e| Error::malformed(e.to_string()))?;
        let rule = |raw: RawRule| {
            let values: Result<Values> = raw.values.iter().map(|(id, value)| pair(id, value)).collect();
            let values = values.map_err(|e| e.at(format!("module `{}`", raw.name)))?;
            Ok((raw.name, values))
        };
        Ok(Self { rules: raw.module.into_iter().map(rule).collect::<Result<_>>()? })
    }

    /// The values for the module of this name.
    pub fn values(&self, name: &str) -> Values {
        let matching = self.rules.iter().filter(|(pattern, _)| matches(pattern.as_bytes(), name.as_bytes()));
        matching.flat_map(|(_, values)| values).map(|(&id, &value)| (id, value)).collect()
    }

    /// Adds an entry after the others.
    pub fn push(&mut self, name: impl Into<String>, values: Values) {
        self.rules.push((name.into(), values));
    }

    /// The file's text. Values are written as integers.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        for (name, values) in &self.rules {
            let items: Vec<String> = values.iter().map(|(id, value)| format!("{id} = {value}")).collect();
            let _ = write!(out, "[[module]]\nname = {name:?}\nvalues = {{ {} }}\n\n", items.join(", "));
        }
        out
    }
}

fn pair(id: &str, value: &toml::Value) -> Result<(u32, u32)> {
    let id = id.parse().map_err(|_| Error::malformed(format!("`{id}` is not a SpecId")))?;
    let out_of_range = || Error::malformed(format!("constant {id}: {value} does not fit 32 bits"));
    let bits = match value {
        toml::Value::Integer(n) => {
            let signed = i32::try_from(*n).map(i32::cast_unsigned);
            signed.or_else(|_| u32::try_from(*n)).map_err(|_| out_of_range())?
        }
        toml::Value::Boolean(b) => u32::from(*b),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the constant has 32 bits, and the value is rounded to them"
        )]
        toml::Value::Float(f) => (*f as f32).to_bits(),
        _ => return Err(Error::malformed(format!("constant {id}: {value} is not an integer, boolean or float"))),
    };
    Ok((id, bits))
}

/// Whether a name matches a pattern of `*`, `?` and plain characters. Only the last star is ever retried.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while let Some(&c) = name.get(n) {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p = p.saturating_add(1);
            }
            Some(&q) if q == b'?' || q == c => {
                p = p.saturating_add(1);
                n = n.saturating_add(1);
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken.saturating_add(1)));
                (p, n) = (at.saturating_add(1), taken.saturating_add(1));
            }
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|&q| q == b'*'))
}

/// Values for a realistic workgroup, from the module itself: a size constant usually shares its `SpecId` with one that
/// the shader's arithmetic uses, and that one's default is the intended value. The first axis with a constant is then
/// widened to 64 invocations. Empty if the workgroup does not depend on constants.
pub fn suggest(module: &Description) -> Values {
    let mut values = Values::new();
    let Some(workgroup) = module.workgroup else { return values };
    let mut extents = workgroup.map(|extent| extent.default);
    for (extent, size) in workgroup.iter().zip(&mut extents) {
        let Some(id) = extent.spec_id else { continue };
        let twins = module.constants.iter().filter(|c| c.id == id && !c.boolean).map(|c| c.default);
        *size = twins.max().unwrap_or(extent.default).clamp(1, MAX_EXTENT);
        values.insert(id, *size);
    }
    let invocations: u64 = extents.iter().map(|&e| u64::from(e)).product();
    let axis = workgroup.iter().zip(extents).find_map(|(extent, size)| Some((extent.spec_id?, size)));
    if let Some((id, size)) = axis.filter(|_| invocations < MIN_INVOCATIONS) {
        values.insert(id, size.max(USUAL_EXTENT));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::{Extent, SpecConstant};
    use proptest::prelude::*;

    #[test]
    fn values_of_all_kinds_and_later_over_earlier() {
        let text = "[[module]]\nname = \"mat*\"\n[module.values]\n0 = 128\n1 = true\n2 = -1\n3 = 1.0\n\
                    [[module]]\nname = \"matmul_?16\"\nvalues = { 0 = 256 }\n";
        let file = SpecFile::parse(text).unwrap();
        assert_eq!(file.values("matvec"), Values::from([(0, 128), (1, 1), (2, u32::MAX), (3, 0x3f80_0000)]));
        assert_eq!(file.values("matmul_f16")[&0], 256);
        assert_eq!(file.values("other"), Values::new());
    }

    #[test]
    fn bad_files_are_malformed() {
        for text in [
            "[[module]]",
            "[[module]]\nname = \"x\"\nvalues = { a = 1 }",
            "[[module]]\nname = \"x\"\nvalues = { 0 = 4294967296 }",
            "name = 1",
        ] {
            assert_eq!(SpecFile::parse(text).unwrap_err().exit_code(), 2, "{text}");
        }
    }

    #[test]
    fn a_suggestion_takes_the_twin_and_fills_a_wave() {
        let chosen = Extent { default: 1, spec_id: Some(0) };
        let one = Extent { default: 1, spec_id: None };
        let constant = |default, boolean| SpecConstant { id: 0, default, boolean };
        let mut module = Description { workgroup: Some([chosen, one, one]), ..Description::default() };
        assert_eq!(suggest(&module), Values::from([(0, 64)]));
        module.constants = vec![constant(1, false), constant(256, false)];
        assert_eq!(suggest(&module), Values::from([(0, 256)]));
        module.constants = vec![constant(1, false), constant(32, false)];
        assert_eq!(suggest(&module), Values::from([(0, 64)]));
        module.workgroup = Some([one; 3]);
        assert_eq!(suggest(&module), Values::new());
    }

    proptest! {
        #[test]
        fn the_text_reads_back(rules in proptest::collection::vec(
            ("[a-z*?_.]{1,12}", proptest::collection::btree_map(any::<u32>(), any::<u32>(), 0..5)), 0..6)) {
            let file = SpecFile { rules };
            prop_assert_eq!(SpecFile::parse(&file.to_toml()).unwrap(), file);
        }

        #[test]
        fn a_star_stands_for_any_text(a in "[ab]{0,5}", b in "[ab]{0,5}", c in "[ab]{0,5}") {
            let pattern = format!("{a}*{c}");
            let name = format!("{a}{b}{c}");
            prop_assert!(matches(pattern.as_bytes(), name.as_bytes()));
        }

        #[test]
        fn any_text_is_survived(text in ".{0,200}") {
            let _ = SpecFile::parse(&text);
        }
    }
}
