//! Extracts the distinct SPIR-V modules from files, with names and origins.
//!
//! A file is opened from the outside in: archive members, Qt resources, then in the rest plain modules and compressed
//! streams, each of which is opened in turn. Memory, depth and unpacked size are bounded per file ([`Budget`]);
//! omissions are reported, never silent. Each module is passed on when it is found, and not kept.
//!
//! Invariant: two modules of an [`Extraction`] differ in their bytes and in their names, and the same files in the same
//! order give the same extraction. A module that occurs again under another name keeps both: shaders are paired by
//! name, and one vertex shader goes with several fragment shaders.

use super::budget::{Budget, LeftOut, Limit};
use super::describe::{Description, describe};
use super::names::{ArchivePath, Called, Names};
use super::unpack::{archive, streams};
use super::{rcc, scan, smolv, symbols};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Largest nesting depth of containers.
const MAX_DEPTH: usize = 8;
/// Bytes kept per module besides its names: digest, description, entries of tables.
const KEPT_BYTES: usize = 1024;

/// A module, and its origin.
#[derive(Clone, Debug)]
pub struct CorpusModule {
    /// Unique in the extraction, and a legal file name: `libQt6Quick.scenegraph_shaders_rounded.vert`.
    pub name: String,
    /// Size of the little-endian SPIR-V, in bytes.
    pub bytes: usize,
    /// The path to it: file, then each container's step, such as `libQt6Quick.so.6!rcc:a/b.vert.qsb!zlib@4!@0x84`.
    pub origin: String,
    /// BLAKE3 of the SPIR-V.
    pub digest: blake3::Hash,
    /// Its description.
    pub description: Description,
    /// Its own names without the stage, from every occurrence of the same bytes: `a.vert` and `a.frag` both give `a`.
    /// Empty if its name is generated.
    pub called: BTreeSet<Called>,
}

/// Modules found in the files given to an [`Extractor`].
#[derive(Debug, Default)]
pub struct Extraction {
    /// Distinct modules, in the order in which they were found.
    pub modules: Vec<CorpusModule>,
    /// Files with omissions, and the reason.
    pub incomplete: Vec<(String, LeftOut)>,
}

/// Collects modules over any number of files.
pub struct Extractor<'a> {
    /// Called with each distinct module and its little-endian SPIR-V.
    found: &'a mut dyn FnMut(&CorpusModule, Vec<u8>),
    by_digest: BTreeMap<[u8; 32], usize>,
    names: Names,
    extraction: Extraction,
}

impl<'a> Extractor<'a> {
    /// An extractor that calls `found` at the first occurrence of each distinct module.
    pub fn new(found: &'a mut dyn FnMut(&CorpusModule, Vec<u8>)) -> Self {
        let (by_digest, names, extraction) = Default::default();
        Self { found, by_digest, names, extraction }
    }

    /// Searches one file. `name` is for names and origins, with the folders that the caller wants in them; the file is
    /// not opened. `memory` is the limit, in bytes, for the file and everything unpacked from it at the same time.
    pub fn add(&mut self, name: &str, bytes: &[u8], memory: u64) {
        let mut budget = Budget::new(memory);
        if budget.take(bytes.len()) {
            self.open(&ArchivePath::file(name), bytes, MAX_DEPTH, &mut budget);
        }
        self.extraction.incomplete.extend(budget.left_out().map(|why| (name.to_owned(), why.clone())));
    }

    /// The result.
    pub fn finish(self) -> Extraction {
        self.extraction
    }

    fn open(&mut self, place: &ArchivePath, bytes: &[u8], depth: usize, budget: &mut Budget) {
        let Some(depth) = depth.checked_sub(1) else {
            budget.leave_out(Limit::Depth(MAX_DEPTH));
            return;
        };
        let mut member = |name: &str, data: &[u8], budget: &mut Budget| {
            self.open(&place.member("in", name), data, depth, budget);
        };
        if archive(bytes, budget, &mut member) {
            return;
        }
        let mut covered = rcc::resources(bytes, budget, &mut |path, data, budget| {
            self.open(&place.member("rcc", path), data, depth, budget);
        });
        budget.search(bytes.len());
        // Resources have been searched already.
        let outside = gaps(covered.clone(), bytes.len());
        let mut steps = budget.steps;
        let mut symbols = None;
        for found in scan::modules(bytes, &mut steps) {
            if within(&outside, found.range.start) {
                let symbols = symbols.get_or_insert_with(|| symbols::by_offset(bytes));
                let place = match symbols.get(&found.range.start) {
                    Some(symbol) => place.member("symbol", symbol),
                    None => place.step(&format!("@{:#x}", found.range.start)),
                };
                if budget.take(found.range.len()) {
                    self.keep(&place, found.module(bytes), budget);
                    budget.give(found.range.len());
                }
            }
            covered.push(found.range);
        }
        budget.steps = steps;
        let outside = gaps(covered.clone(), bytes.len());
        smolv::modules(bytes, budget, &mut |range, module, budget| {
            // It is a module if the decoded bytes are exactly one.
            let whole =
                scan::modules(&module, &mut budget.steps).next().is_some_and(|found| found.range == (0..module.len()));
            if whole && within(&outside, range.start) {
                self.keep(&place.step(&format!("smolv@{:#x}", range.start)), module, budget);
                covered.push(range);
            }
        });
        if budget.steps == 0 {
            budget.leave_out(Limit::Steps);
        }
        for gap in gaps(covered, bytes.len()) {
            streams(bytes, gap, budget, &mut |step, data, budget| self.open(&place.step(step), data, depth, budget));
        }
    }

    fn keep(&mut self, place: &ArchivePath, bytes: Vec<u8>, budget: &mut Budget) {
        let digest = blake3::hash(&bytes);
        let description = describe(&bytes);
        let (wanted, called) = place.name(&description);
        let known = self.by_digest.get(digest.as_bytes()).and_then(|&at| self.extraction.modules.get_mut(at));
        if let Some(module) = known {
            if let Some(called) = called.filter(|called| !module.called.contains(called))
                && budget.take(called.folder.len() + called.name.len())
            {
                module.called.insert(called);
            }
            return;
        }
        let kept = KEPT_BYTES + 3 * wanted.len() + 2 * place.origin.len() + description.held_bytes();
        if !budget.take(kept) {
            return;
        }
        let name = self.names.unique(wanted);
        let called = called.into_iter().collect();
        let module =
            CorpusModule { name, bytes: bytes.len(), origin: place.origin.clone(), digest, description, called };
        (self.found)(&module, bytes);
        self.by_digest.insert(*digest.as_bytes(), self.extraction.modules.len());
        self.extraction.modules.push(module);
    }
}

/// The ranges of `0..len` that `covered` leaves free.
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

/// Whether a position is in one of the ranges of [`gaps`].
fn within(gaps: &[Range<usize>], at: usize) -> bool {
    let before = gaps.partition_point(|gap| gap.end <= at);
    gaps.get(before).is_some_and(|gap| gap.contains(&at))
}

/// Vertex and fragment modules that belong together.
#[derive(Debug, Default)]
pub struct Pairs<'a> {
    /// Common name, vertex module, fragment module; sorted by the modules' names.
    pub found: Vec<(&'a str, &'a CorpusModule, &'a CorpusModule)>,
    /// Combinations that were skipped, because too many modules of one folder have the same name.
    pub left_out: usize,
}

/// Largest number of combinations per folder and name. Real ones have a handful; the full product is useless.
const MAX_COMBINATIONS: usize = 4096;

/// Pairs modules of the same name if every fragment input location is a vertex output location. Names are matched
/// within a folder first: only a name without a partner in its own folder is looked up elsewhere, and only if exactly
/// one folder has it.
pub fn pairs(modules: &[CorpusModule]) -> Pairs<'_> {
    let mut places: BTreeMap<(&str, &str), [Vec<&CorpusModule>; 2]> = BTreeMap::new();
    for module in modules {
        let stage = match module.description.stage() {
            Some("vertex") => 0,
            Some("fragment") => 1,
            _ => continue,
        };
        for called in &module.called {
            places.entry((&called.name, &called.folder)).or_default()[stage].push(module);
        }
    }
    let mut alone: BTreeMap<&str, [Vec<&Vec<&CorpusModule>>; 2]> = BTreeMap::new();
    let mut candidates = Vec::new();
    for ((name, _), [vertices, fragments]) in &places {
        match (vertices.is_empty(), fragments.is_empty()) {
            (false, false) => candidates.push((*name, vertices, fragments)),
            (false, true) => alone.entry(name).or_default()[0].push(vertices),
            (true, _) => alone.entry(name).or_default()[1].push(fragments),
        }
    }
    for (name, [vertices, fragments]) in alone {
        if let ([vertices], [fragments]) = (&vertices[..], &fragments[..]) {
            candidates.push((name, vertices, fragments));
        }
    }
    let mut pairs = Pairs::default();
    let mut joined = BTreeMap::new();
    for (name, vertices, fragments) in candidates {
        let all = vertices.iter().flat_map(|v| fragments.iter().map(move |f| (*v, *f)));
        pairs.left_out += (vertices.len() * fragments.len()).saturating_sub(MAX_COMBINATIONS);
        for (vertex, fragment) in all.take(MAX_COMBINATIONS) {
            if fragment.description.inputs.is_subset(&vertex.description.outputs) {
                joined.entry((&vertex.name, &fragment.name)).or_insert((name, vertex, fragment));
            }
        }
    }
    pairs.found = joined.into_values().collect();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::ByteOrder;
    use crate::scan::tests::{leading_through_each_other, stored, tiny};
    use crate::unpack::tests::zlib;
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
        let mut ignored = |_: &CorpusModule, _| {};
        let mut extractor = Extractor::new(&mut ignored);
        for (name, bytes) in files {
            extractor.add(name, bytes, 1 << 24);
        }
        extractor.finish()
    }

    fn contents(file: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut keep = |_: &CorpusModule, bytes| found.push(bytes);
        let mut extractor = Extractor::new(&mut keep);
        extractor.add("x", file, 1 << 24);
        drop(extractor);
        found
    }

    fn paired(got: &Extraction) -> Vec<(&str, &str, &str)> {
        pairs(&got.modules).found.iter().map(|(b, v, f)| (*b, v.name.as_str(), f.name.as_str())).collect()
    }

    #[test]
    fn streams_in_streams_are_opened() {
        let inner = zlib(&[&b"head"[..], &module(3)].concat());
        let got = extracted(&[("lib/libx.so.1", &[&[0xff; 8][..], &zlib(&inner)].concat())]);
        let origins: Vec<_> = got.modules.iter().map(|m| (m.name.as_str(), m.origin.as_str())).collect();
        assert_eq!(origins, [("libx", "lib/libx.so.1!zlib@0x8!zlib@0x0!@0x4")]);
        assert_eq!(contents(&[&[0xff; 8][..], &zlib(&inner)].concat()), [module(3)]);
    }

    #[test]
    fn depth_is_bounded_and_reported() {
        let deep = (0..MAX_DEPTH).fold(module(0), |inner, _| zlib(&inner));
        let got = extracted(&[("x", &deep)]);
        assert!(got.modules.is_empty());
        assert_eq!(got.incomplete[0].0, "x");
        assert!(got.incomplete[0].1.to_string().contains("containers inside each other"));
    }

    #[test]
    fn memory_is_one_budget_over_all_levels() {
        // Each level fits, but not all of them together; one level less does.
        let level = |inner: &[u8]| zlib(&[inner, &vec![0; 3 << 20]].concat());
        let nested = |levels| (0..levels).fold(module(0), |inner, _| level(&inner));
        for (levels, fits) in [(5, true), (6, false)] {
            let got = extracted(&[("x", &nested(levels))]);
            assert_eq!(got.modules.len(), usize::from(fits), "{levels} levels of 3 MiB in 16 MiB");
            assert_eq!(got.incomplete.is_empty(), fits);
        }
    }

    #[test]
    fn the_search_takes_time_in_proportion_to_the_file() {
        let leading = |count| stored(&leading_through_each_other(count, 200 * count), ByteOrder::Little);
        for count in [100, 1000] {
            // A module before it is found; one after it may be.
            let file = [module(1), leading(count)].concat();
            let mut budget = Budget::new(1 << 24);
            let mut ignored = |_: &CorpusModule, _| {};
            let mut extractor = Extractor::new(&mut ignored);
            extractor.open(&ArchivePath::file("x"), &file, MAX_DEPTH, &mut budget);
            assert_eq!(extractor.finish().modules.len(), 1);
            assert_eq!(budget.steps, 0, "{count} walks through {} instructions each", 200 * count);
            let said = budget.left_out().map(ToString::to_string).unwrap_or_default();
            assert!(said.contains("overlapping candidate modules"), "{said}");
        }
    }

    #[test]
    fn what_is_kept_of_modules_is_in_the_budget() {
        let numbered = |n: u32| {
            let mut words = tiny(1);
            words[12] = n;
            stored(&words, ByteOrder::Little)
        };
        let all = |count: u32| (0..count).flat_map(numbered).collect::<Vec<u8>>();
        let got = extracted(&[("x", &all(10_000))]);
        assert_eq!((got.modules.len(), got.incomplete.len()), (10_000, 0));
        let got = extracted(&[("x", &all(20_000))]);
        assert!(
            got.modules.len() < 20_000 && got.incomplete.len() == 1,
            "a description takes a kilobyte, and there are 16 MiB"
        );
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
        assert_eq!(paired(&got), [("a", "a.vert", "a.frag")]);
    }

    /// The same interface in other bytes.
    fn nth(n: u32, model: u32, class: u32, location: u32) -> Vec<u8> {
        let mut bytes = stage(model, class, location);
        bytes[8..12].copy_from_slice(&n.to_le_bytes());
        bytes
    }

    #[test]
    fn a_name_is_looked_for_in_its_own_folder_first() {
        let (vertex, fragment) = (|n| nth(n, 0, 3, 1), |n| nth(n, 4, 1, 1));
        let got = extracted(&[
            ("fog/main.vert.spv", &vertex(1)),
            ("fog/main.frag.spv", &fragment(1)),
            ("sky/main.vert.spv", &vertex(2)),
            ("sky/main.frag.spv", &fragment(2)),
            // The same bytes in a third folder pair with the shader there.
            ("sun/main.vert.spv", &vertex(1)),
            ("sun/main.frag.spv", &fragment(3)),
            // A pair in two folders; and three modules with ambiguous partners.
            ("vs/glow.vert.spv", &vertex(4)),
            ("fs/glow.frag.spv", &fragment(4)),
            ("a/lost.vert.spv", &vertex(5)),
            ("b/lost.vert.spv", &vertex(6)),
            ("c/lost.frag.spv", &fragment(5)),
        ]);
        let expected = [
            ("glow", "glow.vert", "glow.frag"),
            ("main", "main.vert", "main.frag"),
            ("main", "main.vert", "main.frag.2"),
            ("main", "main.vert.1", "main.frag.1"),
        ];
        assert_eq!(paired(&got), expected);
    }

    #[test]
    fn the_product_of_equal_names_is_bounded_and_named() {
        let files: Vec<Vec<u8>> = (0..100).map(|n| nth(n, 0, 3, 1)).chain((0..100).map(|n| nth(n, 4, 1, 1))).collect();
        let name = |n: usize| if n < 100 { "a.vert.spv" } else { "a.frag.spv" };
        let files: Vec<_> = files.iter().enumerate().map(|(n, bytes)| (name(n), bytes.as_slice())).collect();
        let got = extracted(&files);
        let pairs = pairs(&got.modules);
        assert_eq!((pairs.found.len(), pairs.left_out), (MAX_COMBINATIONS, 10_000 - MAX_COMBINATIONS));
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
            let mut got = contents(&file);
            let mut expected = modules;
            got.sort();
            expected.sort();
            prop_assert_eq!(got, expected);
        }
    }
}
