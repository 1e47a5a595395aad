//! Names of modules: from the path to them, from the names on that path, and unique.
//!
//! Names come from untrusted files. Each is bounded in length where it is kept, so that one long name before a million
//! small modules costs no memory, and every file name is a legal one.

use super::describe::Description;
use std::collections::{BTreeMap, BTreeSet};

/// Longest file name without extension, in bytes; file systems allow 255.
const MAX_NAME: usize = 200;
/// Longest step of an origin, and longest name for pairing, in bytes.
const MAX_STEP: usize = 1024;

/// A module's own name without the stage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Called {
    /// The folder or container of the name, with the path to it.
    pub folder: String,
    /// The name: `a.vert` and `a.frag` both give `a`.
    pub name: String,
}

/// Path to a file in containers, and the names on it.
pub struct ArchivePath {
    pub origin: String,
    /// Path to the folder of the innermost name.
    folder: String,
    /// The innermost name, and the name of its container.
    name: String,
    holder: Option<String>,
}

impl ArchivePath {
    pub fn file(path: &str) -> Self {
        Self { origin: clip(path, MAX_STEP), folder: clip(folder(path), MAX_STEP), name: path.to_owned(), holder: None }
    }

    pub fn step(&self, step: &str) -> Self {
        let origin = format!("{}!{}", self.origin, clip(step, MAX_STEP));
        Self { origin, folder: self.folder.clone(), name: self.name.clone(), holder: self.holder.clone() }
    }

    pub fn member(&self, how: &str, name: &str) -> Self {
        let folder = format!("{}!{how}:{}", self.origin, clip(folder(name), MAX_STEP));
        let origin = format!("{}!{how}:{}", self.origin, clip(name, MAX_STEP));
        Self { origin, folder, name: name.to_owned(), holder: Some(self.name.clone()) }
    }

    /// The name of the container, the innermost name, and the stage as extension. If the innermost name has the stage
    /// itself, also that name without it.
    pub fn name(&self, description: &Description) -> (String, Option<Called>) {
        let name = match &self.holder {
            Some(holder) => format!("{}.{}", legal(stem(base_name(holder))), legal(strip_endings(&self.name))),
            None => legal(stem(base_name(&self.name))),
        };
        let ending = match description.stage() {
            Some("vertex") => "vert",
            Some("fragment") => "frag",
            Some("compute") => "comp",
            Some(other) => other,
            None => return (clip(&name, MAX_NAME), None),
        };
        let mut parts: Vec<&str> = name.split('.').collect();
        match parts.iter().rposition(|part| *part == ending) {
            Some(stage) => {
                parts.remove(stage);
                let called = Called { folder: self.folder.clone(), name: clip(&parts.join("."), MAX_STEP) };
                (clip(&name, MAX_NAME), Some(called))
            }
            None => (clip(&format!("{name}.{ending}"), MAX_NAME), None),
        }
    }
}

/// Names in use, each once.
#[derive(Default)]
pub struct Names {
    taken: BTreeSet<String>,
    /// Next number to try for a name that is taken.
    next: BTreeMap<String, u32>,
}

impl Names {
    /// `wanted`, or with the first number that makes it unique.
    pub fn unique(&mut self, wanted: String) -> String {
        let mut name = wanted.clone();
        while self.taken.contains(&name) {
            let next = self.next.entry(wanted.clone()).or_insert(1);
            name = format!("{wanted}.{next}");
            *next = next.saturating_add(1);
        }
        self.taken.insert(name.clone());
        name
    }
}

/// The text, or its beginning, a digest of all of it, and its end.
pub(super) fn clip(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(max / 2), text.ceil_char_boundary(text.len() - max / 4));
    let digest = blake3::hash(text.as_bytes()).to_hex();
    format!("{}+{}+{}", &text[..head], &digest[..16], &text[tail..])
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A file's name without extensions for its type: `libQt6Quick.so.6` gives `libQt6Quick`.
fn stem(name: &str) -> &str {
    let known = [".so", ".node", ".wz", ".zip", ".whl", ".tgz", ".tar", ".spv", ".qsb"];
    known.iter().filter_map(|ending| name.find(ending)).filter(|&at| at > 0).min().map_or(name, |at| &name[..at])
}

/// The name without extensions of files and of arrays made from them.
fn strip_endings(name: &str) -> &str {
    let name = name.strip_suffix(".qsb").or(name.strip_suffix(".spv")).unwrap_or(name);
    name.strip_suffix("_data").or(name.strip_suffix("_spv")).unwrap_or(name)
}

fn legal(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || "._-+".contains(c) { c } else { '_' };
    name.trim_start_matches('/').chars().map(legal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_names_are_numbered_without_a_search_from_the_start() {
        let mut names = Names::default();
        assert_eq!(names.unique("x.1".into()), "x.1");
        let all: BTreeSet<String> = (0..50_000).map(|_| names.unique("x".into())).collect();
        assert_eq!(all.len(), 50_000);
        assert!(all.contains("x") && all.contains("x.2") && !all.contains("x.1"));
    }

    #[test]
    fn a_long_name_keeps_its_ends_and_stays_its_own() {
        let long = |c: &str| format!("begin{}{c}{}.vert", "a".repeat(2000), "b".repeat(2000));
        let (one, two) = (clip(&long("1"), MAX_NAME), clip(&long("2"), MAX_NAME));
        assert!(one.starts_with("begina") && one.ends_with("b.vert") && one.len() <= MAX_NAME && one != two, "{one}");
    }

    proptest! {
        #[test]
        fn any_name_becomes_a_legal_one(path in ".{0,1500}", member in ".{0,1500}") {
            let place = ArchivePath::file(&path).member("in", &member).step("@0x0");
            let (name, _) = place.name(&Description::default());
            prop_assert!(name.len() <= MAX_NAME + 16 && name.chars().all(|c| c.is_ascii_graphic() && c != '/'));
            prop_assert!(place.origin.len() <= 3 * MAX_STEP);
        }
    }
}
