//! Import cycles: a file in a cycle cannot be read or changed without the others.

use crate::resolve::Crates;
use crate::tree::{assert_none, texts};
use std::collections::{BTreeMap, BTreeSet};

/// Largest import cycle allowed: a type and the two halves of its implementation.
const MAX_CIRCLE: usize = 3;

/// The files reachable by imports.
fn reachable<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut seen, mut work) = (BTreeSet::new(), vec![from]);
    while let Some(file) = work.pop() {
        work.extend(imports.get(file).into_iter().flatten().filter(|to| seen.insert(**to)));
    }
    seen
}

#[test]
fn files_do_not_import_each_other_in_large_circles() {
    let texts = texts();
    let mut broken = Vec::new();
    for (folder, least) in [("src/", 2000), ("src/bin/dovetail/", 50), ("layer/src/", 50)] {
        let tree = Crates::in_folder(folder, &texts);
        let uses = tree.uses();
        assert!(uses.len() > least, "{} imports only were read in {folder}", uses.len());
        let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for one in &uses {
            imports.entry(one.from).or_default().insert(one.to);
        }
        let reach: BTreeMap<&str, BTreeSet<&str>> = imports.keys().map(|f| (*f, reachable(&imports, f))).collect();
        let circle = |file: &str| -> Vec<&str> {
            let meets = |(other, back): &(&&str, &BTreeSet<&str>)| reach[file].contains(**other) && back.contains(file);
            reach.iter().filter(meets).map(|(other, _)| *other).collect()
        };
        let circles: BTreeSet<Vec<&str>> = imports.keys().map(|file| circle(file)).collect();
        let large = circles.iter().filter(|circle| circle.len() > MAX_CIRCLE);
        broken.extend(large.map(|circle| format!("{} files: {circle:?}", circle.len())));
    }
    assert_none(&broken, "files that import each other in a circle");
}
