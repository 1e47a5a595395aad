//! Files into the distinct SPIR-V modules in them, with names and origins.
//!
//! A file is opened from the outside in: archive members, Qt resources, then in all that is left plain modules and
//! compressed streams, each of which is opened again. Depth and unpacked size are bounded per file ([`Budget`]); what was
//! left out is reported, never silently missing.
//!
//! Invariant: two modules of an [`Extraction`] differ in their bytes and in their names, and the same files in the same order
//! give the same extraction. A module that occurs again under another name keeps what that name says: shaders are
//! paired by name, and the same vertex shader goes with several fragment shaders.

use super::describe::{Description, describe};
use super::unpack::{Budget, archive, streams};
use super::{rcc, scan, symbols};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Containers inside containers, at most.
const MAX_DEPTH: usize = 8;

/// A module, and where it was found.
#[derive(Clone, Debug)]
pub struct Module {
    /// Unique in the extraction, and a legal file name: `libQt6Quick.scenegraph_shaders_rounded.vert`.
    pub name: String,
    /// Little-endian SPIR-V.
    pub bytes: Vec<u8>,
    /// The way to it: file, then each container's step, such as `libQt6Quick.so.6!rcc:a/b.vert.qsb!zlib@4!@0x84`.
    pub origin: String,
    /// BLAKE3 of the bytes.
    pub digest: blake3::Hash,
    /// What it says about itself.
    pub description: Description,
    /// What its own names, here and where the same bytes occurred again, say besides the stage: `a.vert` and `a.frag` are
    /// both called `a`. Empty if its name is ours.
    pub called: Vec<String>,
}

/// All that was found in the files given to an [`Extractor`].
#[derive(Debug, Default)]
pub struct Extraction {
    /// Distinct modules, in the order in which they were found.
    pub modules: Vec<Module>,
    /// Files that exceeded a limit, so that something in them was not looked at.
    pub incomplete: Vec<String>,
}

/// Collects modules over any number of files.
#[derive(Default)]
pub struct Extractor {
    by_digest: BTreeMap<[u8; 32], usize>,
    names: BTreeSet<String>,
    extraction: Extraction,
}

impl Extractor {
    /// Adds what is in one file. `name` is for names and origins; the file itself is not opened.
    pub fn add(&mut self, name: &str, bytes: &[u8]) {
        let mut budget = Budget::DEFAULT;
        let place = Place { origin: base_name(name).to_owned(), named: vec![name.to_owned()] };
        self.open(&place, bytes, MAX_DEPTH, &mut budget);
        if budget.exceeded {
            self.extraction.incomplete.push(name.to_owned());
        }
    }

    /// What was found.
    pub fn finish(self) -> Extraction {
        self.extraction
    }

    fn open(&mut self, place: &Place, bytes: &[u8], depth: usize, budget: &mut Budget) {
        let Some(depth) = depth.checked_sub(1) else {
            budget.exceeded = true;
            return;
        };
        let mut member = |name: &str, data: &[u8], budget: &mut Budget| {
            self.open(&place.member("in", name), data, depth, budget);
        };
        if archive(bytes, budget, &mut member) {
            return;
        }
        let mut covered = Vec::new();
        for resource in rcc::resources(bytes, budget) {
            covered.push(resource.range);
            self.open(&place.member("rcc", &resource.path), &resource.data, depth, budget);
        }
        let found = scan::modules(bytes);
        let symbols = if found.is_empty() { BTreeMap::new() } else { symbols::by_offset(bytes) };
        for found in found {
            // What a resource holds was found in it already.
            if !covered.iter().any(|range| range.contains(&found.range.start)) {
                let place = match symbols.get(&found.range.start) {
                    Some(symbol) => place.member("symbol", symbol),
                    None => place.step(&format!("@{:#x}", found.range.start)),
                };
                self.keep(&place, found.module(bytes));
            }
            covered.push(found.range);
        }
        for gap in gaps(covered, bytes.len()) {
            streams(bytes, gap, budget, &mut |step, data, budget| self.open(&place.step(step), data, depth, budget));
        }
    }

    fn keep(&mut self, place: &Place, bytes: Vec<u8>) {
        let digest = blake3::hash(&bytes);
        let description = describe(&bytes);
        let (wanted, called) = place.name(&description);
        if let Some(module) = self.by_digest.get(digest.as_bytes()).and_then(|&at| self.extraction.modules.get_mut(at))
        {
            module.called.extend(called.filter(|called| !module.called.contains(called)));
            return;
        }
        let name = self.unique(wanted);
        let called = called.into_iter().collect();
        self.by_digest.insert(*digest.as_bytes(), self.extraction.modules.len());
        self.extraction.modules.push(Module { name, bytes, origin: place.origin.clone(), digest, description, called });
    }

    /// `wanted`, or with the first number behind it that makes it unique.
    fn unique(&mut self, wanted: String) -> String {
        let numbered = (1u32..).map(|n| format!("{wanted}.{n}"));
        let name = std::iter::once(wanted.clone()).chain(numbered).find(|name| !self.names.contains(name));
        let name = name.unwrap_or(wanted);
        self.names.insert(name.clone());
        name
    }
}

/// The ranges of `0..len` that `covered` leaves.
fn gaps(mut covered: Vec<Range<usize>>, len: usize) -> Vec<Range<usize>> {
    covered.sort_by_key(|range| range.start);
    let mut gaps = Vec::new();
    let mut from = 0;
    for range in covered {
        gaps.extend((from < range.start).then_some(from..range.start));
        from = from.max(range.end);
    }
    gaps.extend((from < len).then_some(from..len));
    gaps
}

/// Where something is: the way to it, and the names met on that way.
struct Place {
    origin: String,
    named: Vec<String>,
}

impl Place {
    fn step(&self, step: &str) -> Self {
        Self { origin: format!("{}!{step}", self.origin), named: self.named.clone() }
    }

    fn member(&self, how: &str, name: &str) -> Self {
        let mut place = self.step(&format!("{how}:{name}"));
        place.named.push(name.to_owned());
        place
    }

    /// The innermost name behind the name of what holds it, with the stage as ending. If it names the stage itself, also
    /// what it says besides.
    fn name(&self, description: &Description) -> (String, Option<String>) {
        let parts: Vec<String> = match self.named.as_slice() {
            [.., holder, last] => vec![stem(base_name(holder)).to_owned(), legal(strip_endings(last))],
            [only] => vec![legal(stem(base_name(only)))],
            [] => Vec::new(),
        };
        let name = parts.join(".");
        let ending = match description.stage() {
            Some("vertex") => "vert",
            Some("fragment") => "frag",
            Some("compute") => "comp",
            Some(other) => other,
            None => return (name, None),
        };
        let mut parts: Vec<&str> = name.split('.').collect();
        match parts.iter().rposition(|part| *part == ending) {
            Some(stage) => {
                parts.remove(stage);
                let called = parts.join(".");
                (name, Some(called))
            }
            None => (format!("{name}.{ending}"), None),
        }
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A file's name up to what says only which kind it is: `libQt6Quick.so.6` is `libQt6Quick`.
fn stem(name: &str) -> &str {
    let known = [".so", ".node", ".wz", ".zip", ".whl", ".tgz", ".tar", ".spv", ".qsb"];
    known.iter().filter_map(|ending| name.find(ending)).filter(|&at| at > 0).min().map_or(name, |at| &name[..at])
}

/// Endings of files and of the arrays that they were turned into.
fn strip_endings(name: &str) -> &str {
    let name = name.strip_suffix(".qsb").or(name.strip_suffix(".spv")).unwrap_or(name);
    name.strip_suffix("_data").or(name.strip_suffix("_spv")).unwrap_or(name)
}

fn legal(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || "._-+".contains(c) { c } else { '_' };
    name.trim_start_matches('/').chars().map(legal).collect()
}

/// Vertex and fragment modules that belong together: called the same, and no input of the fragment shader at a location that
/// the vertex shader does not write. Gives what they are called, and both modules.
pub fn pairs(modules: &[Module]) -> Vec<(&str, &Module, &Module)> {
    let called_with_stage = |stage: &'static str| {
        let of_stage = modules.iter().filter(move |m| m.description.stage() == Some(stage));
        of_stage.flat_map(|m| m.called.iter().map(move |called| (called.as_str(), m)))
    };
    let mut fragments: BTreeMap<&str, Vec<&Module>> = BTreeMap::new();
    for (called, fragment) in called_with_stage("fragment") {
        fragments.entry(called).or_default().push(fragment);
    }
    let mut pairs = BTreeMap::new();
    for (called, vertex) in called_with_stage("vertex") {
        for fragment in fragments.get(called).into_iter().flatten() {
            if fragment.description.inputs.is_subset(&vertex.description.outputs) {
                pairs.entry((&vertex.name, &fragment.name)).or_insert((called, vertex, *fragment));
            }
        }
    }
    pairs.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::scan::ByteOrder;
    use crate::corpus::scan::tests::{stored, tiny};
    use crate::corpus::unpack::tests::zlib;
    use proptest::prelude::*;

    fn module(names: u32) -> Vec<u8> {
        stored(&tiny(names), ByteOrder::Little)
    }

    /// A module with one entry point of this stage and one interface variable.
    fn stage(model: u32, class: u32, location: u32) -> Vec<u8> {
        let mut words = tiny(0);
        let functions = words.len() - 9;
        words.splice(functions..functions, [4 << 16 | 59, 1, 6, class]);
        let entry = [5 << 16 | 15, model, 4, u32::from_le_bytes(*b"main"), 0];
        words.splice(10..10, entry.into_iter().chain([4 << 16 | 71, 6, 30, location]));
        stored(&words, ByteOrder::Little)
    }

    fn extracted(files: &[(&str, &[u8])]) -> Extraction {
        let mut extractor = Extractor::default();
        for (name, bytes) in files {
            extractor.add(name, bytes);
        }
        extractor.finish()
    }

    #[test]
    fn streams_in_streams_are_opened() {
        let inner = zlib(&[&b"head"[..], &module(3)].concat());
        let got = extracted(&[("lib/libx.so.1", &[&[0xff; 8][..], &zlib(&inner)].concat())]);
        let origins: Vec<_> = got.modules.iter().map(|m| (m.name.as_str(), m.origin.as_str())).collect();
        assert_eq!(origins, [("libx", "libx.so.1!zlib@0x8!zlib@0x0!@0x4")]);
        assert_eq!(got.modules[0].bytes, module(3));
    }

    #[test]
    fn depth_is_bounded_and_reported() {
        let deep = (0..MAX_DEPTH).fold(module(0), |inner, _| zlib(&inner));
        let got = extracted(&[("x", &deep)]);
        assert!(got.modules.is_empty());
        assert_eq!(got.incomplete, ["x"]);
    }

    #[test]
    fn the_same_bytes_are_one_module() {
        let twice = [module(1), module(2), module(1)].concat();
        let got = extracted(&[("x", &twice), ("y", &module(2))]);
        let names: Vec<_> = got.modules.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["x", "x.1"]);
    }

    #[test]
    fn pairs_go_by_name_and_interface() {
        let (writes_1, writes_2, reads_1) = (stage(0, 3, 1), stage(0, 3, 2), stage(4, 1, 1));
        let got = extracted(&[
            ("a.vert.spv", &writes_1),
            ("b.vert.spv", &writes_2),
            ("a.frag.spv", &reads_1),
            ("b.frag.spv", &reads_1),
        ]);
        let pairs: Vec<_> =
            pairs(&got.modules).iter().map(|(b, v, f)| (*b, v.name.as_str(), f.name.as_str())).collect();
        assert_eq!(pairs, [("a", "a.vert", "a.frag")]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2048)) {
            extracted(&[("x", &bytes)]);
        }

        #[test]
        fn embedded_modules_come_back(names in proptest::collection::btree_set(0u32..40, 1..8), packed in any::<u8>()) {
            let modules: Vec<_> = names.iter().map(|&n| module(n)).collect();
            let stored = modules.iter().enumerate();
            let file: Vec<u8> = stored.flat_map(|(i, m)| if packed >> (i % 8) & 1 == 1 { zlib(m) } else { m.clone() }).collect();
            let mut got: Vec<_> = extracted(&[("x", &file)]).modules.into_iter().map(|m| m.bytes).collect();
            let mut expected = modules;
            got.sort();
            expected.sort();
            prop_assert_eq!(got, expected);
        }
    }
}
