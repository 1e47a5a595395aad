//! Documents and comments: links and cited files exist, dependencies are explained, no machine is named.

use crate::support::root;
use crate::tree::{assert_none, is_word, texts};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn links_in_documents_lead_somewhere() {
    let texts = texts();
    let mut broken = Vec::new();
    for (name, text) in texts.iter().filter(|(name, _)| name.ends_with(".md")) {
        let folder = root().join(name);
        let folder = folder.parent().expect("a file is in a folder");
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            in_code ^= line.trim_start().starts_with("```");
            for (_, rest) in line.match_indices("](").map(|(at, _)| line.split_at(at + 2)).filter(|_| !in_code) {
                let target = rest.split([')', '#', ' ']).next().unwrap_or_default();
                let outside = target.contains("://") || target.starts_with("mailto:") || target.is_empty();
                if !outside && !folder.join(target).exists() {
                    broken.push(format!("{name}:{}: {target}", number + 1));
                }
            }
        }
    }
    assert_none(&broken, "links to files that are not there");
}

/// Top-level folders whose files are cited by path.
const TOP: [&str; 10] =
    ["src/", "docs/", "tests/", "testdata/", "benches/", "layer/", "examples/", "build/", "include/", "dist/"];
/// Sources of Mesa and PAL, which documents also cite.
const OTHERS: [&str; 2] = ["src/amd/", "src/core/"];

/// The paths in a line, with their positions; of a pattern (`a/{b,c}.rs`, `a/NAME`) only the part before it.
fn paths(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let in_path = |c: char| is_word(c) || "./-".contains(c);
    let (mut at, mut found) = (0, Vec::new());
    for word in line.split(|c: char| !in_path(c)) {
        let end = at + word.len();
        let plain = word.trim_end_matches(['.', '/', '-']);
        let pattern = line[end..].starts_with(['{', '*', '<', '$']) || plain.ends_with(char::is_uppercase);
        let sure = if pattern { plain.rsplit_once('/').map_or("", |(folder, _)| folder) } else { plain };
        // After a colon it is a URL.
        if !sure.is_empty() && !line[..at].ends_with(':') {
            found.push((at, sure));
        }
        at = end + line[end..].chars().next().map_or(0, char::len_utf8);
    }
    found.into_iter()
}

/// Whether a cited file exists: relative to the top, to `src` or the layer, to the citing file, or to a folder around
/// that.
fn is_there(from: &str, cited: &str) -> bool {
    let beside = Path::new(from)
        .ancestors()
        .skip(1)
        .chain([Path::new(from).with_extension("").as_path()])
        .any(|folder| root().join(folder).join(cited).exists());
    beside || ["src", "layer", "layer/src"].iter().any(|folder| root().join(folder).join(cited).exists())
}

#[test]
fn files_that_documents_and_comments_cite_are_there() {
    let texts = texts();
    let names: BTreeSet<&str> = texts.iter().filter_map(|(name, _)| name.rsplit('/').next()).collect();
    let mut broken = Vec::new();
    for (name, text) in texts.iter().filter(|(name, _)| name.ends_with(".md") || name.ends_with(".rs")) {
        for (number, line) in text.lines().enumerate() {
            let Some(text) =
                (if name.ends_with(".md") { Some(line) } else { line.split_once("//").map(|(_, rest)| rest) })
            else {
                continue;
            };
            for (at, cited) in paths(text) {
                let from_top = cited.contains('/') && TOP.iter().any(|top| cited.starts_with(top));
                let in_code = text[..at].ends_with('`') && cited.ends_with(".rs");
                if !from_top && !in_code || OTHERS.iter().any(|other| cited.starts_with(other)) {
                    continue;
                }
                // A bare file name is located by the text around it.
                let known = if cited.contains('/') { is_there(name, cited) } else { names.contains(cited) };
                broken.extend((!known).then(|| format!("{name}:{}: {cited}", number + 1)));
            }
        }
    }
    assert_none(&broken, "files that are cited and not there");
}

#[test]
fn paths_are_found_in_text() {
    let found =
        |line| paths(line).map(|(_, path)| path.to_owned()).filter(|path| path.contains('/')).collect::<Vec<_>>();
    assert_eq!(
        found("see `src/a.rs`, docs/b.md; src/{c,d}.rs, tests/e/NAME. https://x.org/src/f.rs"),
        ["src/a.rs", "docs/b.md", "tests/e"]
    );
}

#[test]
fn no_machine_is_named() {
    // Split, so that this file passes its own rule.
    let folders = [["/", "root"], ["/", "home"], ["/", "work"]].map(|parts| parts.concat());
    let mut broken = Vec::new();
    for (name, text) in &texts() {
        for (number, line) in text.lines().enumerate() {
            for folder in &folders {
                let absolute = line.match_indices(folder.as_str()).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    let after = line[at + folder.len()..].chars().next();
                    !before.is_some_and(|c| is_word(c) || ".-/})*:".contains(c)) && after == Some('/')
                });
                broken.extend(absolute.then(|| format!("{name}:{}: {folder}", number + 1)));
            }
        }
    }
    assert_none(&broken, "absolute paths of some machine");
}

#[test]
fn every_dependency_is_explained() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("a file of this repository");
    let manifest: toml::Table = read("Cargo.toml").parse().expect("a manifest");
    let why = read("docs/dependencies.md");
    let workspace = manifest.get("workspace").and_then(|it| it.as_table()).expect("a workspace");
    let tables = [(workspace, "dependencies"), (&manifest, "dependencies"), (&manifest, "dev-dependencies")];
    let tables = tables.into_iter().filter_map(|(of, key)| of.get(key)?.as_table());
    let named: Vec<&str> = tables.flat_map(|table| table.keys()).map(String::as_str).collect();
    let named: Vec<&str> = named.into_iter().filter(|name| !name.starts_with("dovetail-")).collect();
    let missing = named.iter().filter(|name| !why.contains(&format!("`{name}`"))).map(|name| (*name).to_owned());
    let explained = why.lines().filter(|line| line.starts_with("| `")).flat_map(|line| {
        let cell = line.split('|').nth(1).unwrap_or_default();
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    });
    let gone = explained.filter(|name| !named.contains(&name.as_str()));
    assert_none(&missing.chain(gone).collect::<Vec<_>>(), "docs/dependencies.md and Cargo.toml differ");
}
