//! The files of the repository, and the lines that each rule checks.

use crate::support::root;
use std::fs;
use std::path::{Path, PathBuf};

/// Generated folders.
pub const MADE: &[&str] = &[".git", "target", "corpus", "demo-out"];

/// Every text file of the repository with its path, sorted.
pub fn texts() -> Vec<(String, String)> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            // Only at the top: `src/corpus` is source code.
            if dir == root() && MADE.iter().any(|made| path.ends_with(made)) {
                continue;
            }
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let mut paths = Vec::new();
    walk(root(), &mut paths);
    let texts = paths.iter().filter_map(|path| {
        let name = path.strip_prefix(root()).expect("under the root").to_str()?.to_owned();
        Some((name, fs::read_to_string(path).ok()?))
    });
    let mut texts: Vec<_> = texts.collect();
    texts.sort();
    texts
}

pub fn rust(texts: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).filter(|(name, _)| name.ends_with(".rs"))
}

/// Numbered lines without comments.
pub fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, line)| (n + 1, line.split("//").next().unwrap_or_default()))
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Positions where `word` occurs as a whole word.
pub fn word_positions<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    line.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = line[..*at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

pub fn assert_none(broken: &[String], rule: &str) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

/// Whether a file of `src` is test-only: declared so by its parent, or named so.
pub fn tests_only(name: &str, texts: &[(String, String)]) -> bool {
    Path::new(name).with_extension("").ancestors().any(|path| {
        let (Some(folder), Some(module)) = (path.parent(), path.file_name()) else { return false };
        let declaration = format!("mod {};", module.display());
        let declared = |text: &str| {
            let mut after = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| rest.lines().next());
            after.any(|line| line.ends_with(&declaration))
        };
        let parents = [folder.join("mod.rs"), folder.join("lib.rs"), folder.with_extension("rs")];
        let text_of =
            |parent: &Path| texts.binary_search_by(|(name, _)| name.as_str().cmp(parent.to_str().unwrap_or_default()));
        parents.iter().filter_map(|parent| text_of(parent).ok()).any(|n| declared(&texts[n].1))
    })
}

/// Lines of code outside of `#[cfg(test)]` items.
pub fn product_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut skipped = None;
    code_lines(text).filter(move |(_, line)| {
        let indent = line.len() - line.trim_start().len();
        if skipped.is_none() && line.trim().starts_with("#[cfg(test)]") {
            skipped = Some(indent);
            return false;
        }
        let inside = skipped.is_some();
        // Formatted code ends an item at the indentation where it began.
        if skipped == Some(indent) && line.trim_end().ends_with([';', '}']) {
            skipped = None;
        }
        !inside
    })
}

#[test]
fn lines_of_tests_are_told_from_the_product() {
    assert_eq!(word_positions("unsafe_op unsafe { }", "unsafe").collect::<Vec<_>>(), [10]);
    let text = "a\n#[cfg(test)]\nmod t;\nb\n#[cfg(test)]\nmod u {\n    fn f() {\n    }\n    use x;\n}\nc";
    assert_eq!(product_lines(text).map(|(n, _)| n).collect::<Vec<_>>(), [1, 4, 11]);
    let parent = [("src/a/mod.rs".to_owned(), "mod b;\n#[cfg(test)]\npub(crate) mod t;\n".to_owned())];
    let of = |name| tests_only(name, &parent);
    assert_eq!(["src/a/t.rs", "src/a/t/u.rs", "src/a/b.rs", "src/a/mod.rs"].map(of), [true, true, false, false]);
}
