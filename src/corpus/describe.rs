//! Describes a module for a corpus index and for pairing: entry points, capabilities, the locations of its interface,
//! its specialization constants and its workgroup size.
//!
//! Only the part before the first function is read. Invalid words are skipped: the front end validates modules. To
//! learn another fact, add a field and the opcode that carries it to [`Facts::read`].

use super::scan::{ByteOrder, HEADER_WORDS, OP_FUNCTION, Words, instruction};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

const CAPABILITIES_COOPERATIVE_MATRIX: [u32; 3] = [5357, 5430, 6022];
const DECORATION_SPEC_ID: u32 = 1;
const DECORATION_BUILTIN: u32 = 11;
const DECORATION_LOCATION: u32 = 30;
const BUILTIN_WORKGROUP_SIZE: u32 = 25;
const MODE_LOCAL_SIZE: u32 = 17;
const MODE_LOCAL_SIZE_ID: u32 = 38;
const STORAGE_INPUT: u32 = 1;
const STORAGE_OUTPUT: u32 = 3;

/// An entry point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its stage, `vertex` to `mesh`.
    pub stage: &'static str,
}

/// One dimension of the workgroup: its default, and the constant that specializes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// Invocations, with all constants at their defaults.
    pub default: u32,
    /// `SpecId` of that constant.
    pub spec_id: Option<u32>,
}

/// A scalar specialization constant; several may share a `SpecId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SpecConstant {
    /// Its `SpecId`.
    pub id: u32,
    /// Its default; 0 or 1 for a boolean, the low word for 64 bits.
    pub default: u32,
    /// Whether it is a boolean, and so no size.
    pub boolean: bool,
}

/// Description of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Entry points, in their order.
    pub entries: Vec<Entry>,
    /// Whether it needs cooperative matrices (KHR or NV).
    pub cooperative_matrix: bool,
    /// Workgroup size, if it has one.
    pub workgroup: Option<[Extent; 3]>,
    /// Specialization constants, by declaration.
    pub constants: Vec<SpecConstant>,
    /// Locations of `Input` variables.
    pub inputs: BTreeSet<u32>,
    /// Locations of `Output` variables.
    pub outputs: BTreeSet<u32>,
}

impl Description {
    /// Memory for its lists, in bytes, by generous sizes of their nodes.
    pub fn held_bytes(&self) -> usize {
        let names: usize = self.entries.iter().map(|entry| entry.name.len()).sum();
        names + self.entries.len() * 64 + self.constants.len() * 16 + (self.inputs.len() + self.outputs.len()) * 16
    }

    /// The stage of the first entry point.
    pub fn stage(&self) -> Option<&'static str> {
        self.entries.first().map(|entry| entry.stage)
    }
}

/// Describes a little-endian module, such as [`super::scan::Found::module`] gives.
pub fn describe(module: &[u8]) -> Description {
    let words = Words { bytes: module, order: ByteOrder::Little };
    let mut facts = Facts::default();
    let mut at = HEADER_WORDS;
    while let Some((op, count)) = instruction(&words, at) {
        if op == OP_FUNCTION {
            break;
        }
        let operands: Vec<u32> = (1..count).filter_map(|n| words.get(at.checked_add(n)?)).collect();
        facts.read(op, &operands);
        at = at.saturating_add(count);
    }
    facts.conclude()
}

/// Declarations read so far; decorations come before their targets.
#[derive(Default)]
struct Facts {
    description: Description,
    spec_ids: BTreeMap<u32, u32>,
    locations: BTreeMap<u32, u32>,
    values: BTreeMap<u32, u32>,
    composites: BTreeMap<u32, Vec<u32>>,
    workgroup_builtin: Option<u32>,
    local_size: Option<Vec<u32>>,
    local_size_ids: Option<Vec<u32>>,
}

impl Facts {
    fn read(&mut self, op: u16, operands: &[u32]) {
        match (op, operands) {
            (17, [capability]) if CAPABILITIES_COOPERATIVE_MATRIX.contains(capability) => {
                self.description.cooperative_matrix = true;
            }
            (15, [model, _, name @ ..]) => {
                self.description.entries.push(Entry { name: literal(name), stage: stage_name(*model) });
            }
            (16 | 331, [_, MODE_LOCAL_SIZE, size @ ..]) => self.local_size = Some(size.to_vec()),
            (16 | 331, [_, MODE_LOCAL_SIZE_ID, ids @ ..]) => self.local_size_ids = Some(ids.to_vec()),
            (71, [target, DECORATION_SPEC_ID, id]) => {
                self.spec_ids.insert(*target, *id);
            }
            (71, [target, DECORATION_LOCATION, location]) => {
                self.locations.insert(*target, *location);
            }
            (71, [target, DECORATION_BUILTIN, BUILTIN_WORKGROUP_SIZE]) => self.workgroup_builtin = Some(*target),
            (43 | 50, [_, result, value, ..]) => self.scalar(*result, *value, false),
            (48 | 49, [_, result]) => self.scalar(*result, u32::from(op == 48), true),
            (44 | 51, [_, result, parts @ ..]) => {
                self.composites.insert(*result, parts.to_vec());
            }
            (59, [_, result, class, ..]) => {
                let to = match *class {
                    STORAGE_INPUT => &mut self.description.inputs,
                    STORAGE_OUTPUT => &mut self.description.outputs,
                    _ => return,
                };
                to.extend(self.locations.get(result));
            }
            _ => {}
        }
    }

    fn scalar(&mut self, result: u32, default: u32, boolean: bool) {
        self.values.insert(result, default);
        if let Some(&id) = self.spec_ids.get(&result) {
            self.description.constants.push(SpecConstant { id, default, boolean });
        }
    }

    fn conclude(mut self) -> Description {
        // The built-in overrides the execution mode, as in Vulkan.
        let ids = self.workgroup_builtin.and_then(|id| self.composites.get(&id)).or(self.local_size_ids.as_ref());
        let extents: Option<Vec<Extent>> = match (ids, &self.local_size) {
            (Some(ids), _) => ids.iter().map(|id| self.extent(*id)).collect(),
            (None, Some(size)) => Some(size.iter().map(|&default| Extent { default, spec_id: None }).collect()),
            (None, None) => None,
        };
        self.description.workgroup = extents.and_then(|e| e.try_into().ok());
        self.description
    }

    fn extent(&self, id: u32) -> Option<Extent> {
        Some(Extent { default: *self.values.get(&id)?, spec_id: self.spec_ids.get(&id).copied() })
    }
}

fn literal(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|&b| b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn stage_name(model: u32) -> &'static str {
    match model {
        0 => "vertex",
        1 => "tessellation-control",
        2 => "tessellation-evaluation",
        3 => "geometry",
        4 => "fragment",
        5 => "compute",
        5267 | 5364 => "task",
        5268 | 5365 => "mesh",
        5313..=5318 => "ray-tracing",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::tests::{stored, tiny};
    use proptest::prelude::*;

    #[test]
    fn workgroup_size_by_a_specialization_constant() {
        let mut words = tiny(0);
        let before_functions = words.len() - 9;
        let annotations = [4 << 16 | 71, 6, 1, 9, 4 << 16 | 71, 7, 11, 25];
        let constants = [4 << 16 | 50, 1, 6, 4, 6 << 16 | 51, 1, 7, 6, 6, 6];
        words.splice(before_functions..before_functions, annotations.into_iter().chain(constants));
        let got = describe(&stored(&words, ByteOrder::Little));
        let extent = Extent { default: 4, spec_id: Some(9) };
        assert_eq!(got.workgroup, Some([extent; 3]));
        assert_eq!(got.constants, [SpecConstant { id: 9, default: 4, boolean: false }]);
    }

    #[test]
    fn entry_points_and_locations() {
        let mut words = tiny(0);
        let before_functions = words.len() - 9;
        let entry = [5 << 16 | 15, 4, 4, u32::from_le_bytes(*b"main"), 0];
        let variable = [4 << 16 | 71, 6, 30, 3, 4 << 16 | 59, 1, 6, 1];
        words.splice(before_functions..before_functions, entry.into_iter().chain(variable));
        let got = describe(&stored(&words, ByteOrder::Little));
        assert_eq!(got.entries, [Entry { name: "main".into(), stage: "fragment" }]);
        assert_eq!(got.inputs, BTreeSet::from([3]));
        assert_eq!(got.outputs, BTreeSet::new());
    }

    proptest! {
        #[test]
        fn any_words_are_survived(words in proptest::collection::vec(
            prop_oneof![any::<u32>(), (0u32..9, 0u32..80).prop_map(|(count, op)| count << 16 | op)], 0..300)) {
            describe(&stored(&words, ByteOrder::Little));
        }
    }
}
