//! Files that import each other in a circle: one cannot be read, or changed, without the others.

use super::{assert_none, is_word, joined, rust, texts, top_level_names};
use std::collections::{BTreeMap, BTreeSet};

/// Circles of files that are larger than [`MAX_CIRCLE`], by a file of each and the number of files: to become fewer, never more.
const KNOWN_CIRCLES: &[(&str, usize)] = &[("emu/wave.rs", 19), ("ir/interp/exec.rs", 9)];
/// Files that may import each other in a circle: a type and the two halves of what it does.
const MAX_CIRCLE: usize = 3;

/// The file that a path of an import is in: the longest beginning of it that is a module.
fn file_of(modules: &BTreeMap<Vec<String>, String>, path: &[String]) -> Option<String> {
    (0..=path.len()).rev().find_map(|n| modules.get(&path[..n])).cloned()
}

/// The paths of one `use`, its braces resolved.
fn use_paths(text: &str) -> Vec<String> {
    let Some((prefix, list)) = text.split_once('{') else {
        return vec![text.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    top_level_names(list).into_iter().flat_map(use_paths).map(|name| format!("{}{name}", prefix.trim())).collect()
}

/// The paths from `crate` or `super` in a line of other code.
fn inline_paths(line: &str) -> Vec<String> {
    let starts = ["crate::", "super::"].into_iter().flat_map(|start| line.match_indices(start));
    let whole = |at: usize| line[at..].chars().take_while(|&c| is_word(c) || c == ':').collect();
    // A `super` within a path is part of the one that it begins with.
    starts.filter(|(at, _)| !line[..*at].ends_with(':')).map(|(at, _)| whole(at)).collect()
}

#[test]
fn files_do_not_import_each_other_in_large_circles() {
    let texts = texts();
    let product: Vec<(&str, &str)> =
        rust(&texts).filter_map(|(name, text)| Some((name.strip_prefix("src/")?, text))).collect();
    let module_of = |file: &str| -> Vec<String> {
        let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
        if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
    };
    let modules: BTreeMap<Vec<String>, String> =
        product.iter().filter(|(f, _)| !f.starts_with("bin/")).map(|(f, _)| (module_of(f), (*f).to_owned())).collect();
    let mut imports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (module, file) in &modules {
        let text = product.iter().find(|(f, _)| f == file).map_or("", |(_, t)| *t);
        let code = text.split("#[cfg(test)]\nmod").next().unwrap_or_default();
        for (_, line) in joined(code) {
            let line = line.trim().trim_start_matches("pub ").trim_start_matches("pub(super) ");
            let paths = match line.strip_prefix("use ") {
                Some(used) => use_paths(used.trim_end_matches(';')),
                None => inline_paths(line),
            };
            for path in paths {
                let mut parts: Vec<String> = path.split("::").map(|p| p.trim().to_owned()).collect();
                let mut base = module.clone();
                match parts[0].as_str() {
                    "crate" => base.clear(),
                    "self" => {}
                    "super" => {
                        base.pop();
                    }
                    child if modules.contains_key(&[module.as_slice(), &[child.to_owned()]].concat()) => {
                        parts.insert(0, String::new());
                    }
                    _ => continue,
                }
                parts.remove(0);
                while parts.first().is_some_and(|p| p == "super") {
                    base.pop();
                    parts.remove(0);
                }
                base.extend(parts);
                let to = file_of(&modules, &base).filter(|to| to != file && to != "lib.rs");
                imports.entry(file.clone()).or_default().extend(to);
            }
        }
    }
    let reachable = |from: &str| {
        let (mut seen, mut work) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(file) = work.pop() {
            for to in imports.get(&file).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    work.push(to.clone());
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<String>> = modules.values().map(|f| (f, reachable(f))).collect();
    let mut circles: Vec<Vec<&String>> = Vec::new();
    for (file, to) in &reach {
        let circle: Vec<&String> =
            reach.iter().filter(|(f, back)| to.contains(**f) && back.contains(*file)).map(|(f, _)| *f).collect();
        if circle.len() > MAX_CIRCLE && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    let known = |circle: &Vec<&String>| {
        KNOWN_CIRCLES.iter().any(|(file, most)| circle.iter().any(|f| f == file) && circle.len() <= *most)
    };
    let broken: Vec<String> =
        circles.iter().filter(|c| !known(c)).map(|c| format!("{} files: {c:?}", c.len())).collect();
    assert_none(&broken, "files that import each other in a circle");
    assert!(imports.len() > 200, "the imports of {} files only were read", imports.len());
}
