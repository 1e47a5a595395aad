//! Files that import each other in a circle: one cannot be read, or changed, without the others.

use super::{assert_none, is_word, joined, rust, texts, top_level_names};
use std::collections::{BTreeMap, BTreeSet};

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

/// Files of the product by their modules' paths.
type Modules = BTreeMap<Vec<String>, String>;

/// The file that a path names when it stands in `module`; none: one of another crate, or the root.
fn imported(modules: &Modules, module: &[String], path: &str) -> Option<String> {
    let mut parts = path.split("::").map(|part| part.trim().to_owned()).peekable();
    let mut base = module.to_vec();
    match parts.peek()?.as_str() {
        "crate" => base.clear(),
        "self" | "super" => {}
        child if modules.contains_key(&[module, &[child.to_owned()]].concat()) => {}
        _ => return None,
    }
    parts.next_if(|part| part == "crate" || part == "self");
    while parts.next_if(|part| part == "super").is_some() {
        base.pop();
    }
    base.extend(parts);
    file_of(modules, &base).filter(|file| file != "lib.rs")
}

/// What each file imports, its tests left out.
fn imports(modules: &Modules, texts: &BTreeMap<&str, &str>) -> BTreeMap<String, BTreeSet<String>> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, file) in modules {
        let product = texts[file.as_str()].split("#[cfg(test)]\nmod").next().unwrap_or_default();
        for (_, line) in joined(product) {
            let line = line.trim().trim_start_matches("pub ").trim_start_matches("pub(super) ");
            let paths = match line.strip_prefix("use ") {
                Some(used) => use_paths(used.trim_end_matches(';')),
                None => inline_paths(line),
            };
            let files = paths.iter().filter_map(|path| imported(modules, module, path)).filter(|to| to != file);
            imports.entry(file.clone()).or_default().extend(files);
        }
    }
    imports
}

/// The files that imports lead to.
fn reachable(imports: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let (mut seen, mut work) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(file) = work.pop() {
        work.extend(imports.get(&file).into_iter().flatten().filter(|to| seen.insert((*to).clone())).cloned());
    }
    seen
}

#[test]
fn files_do_not_import_each_other_in_large_circles() {
    let texts = texts();
    let texts: BTreeMap<&str, &str> =
        rust(&texts).filter_map(|(name, text)| Some((name.strip_prefix("src/")?, text))).collect();
    let module_of = |file: &str| -> Vec<String> {
        let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
        if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
    };
    let library = texts.keys().filter(|file| !file.starts_with("bin/"));
    let modules: Modules = library.map(|file| (module_of(file), (*file).to_owned())).collect();
    let imports = imports(&modules, &texts);
    assert!(imports.len() > 200, "the imports of {} files only were read", imports.len());
    let reach: BTreeMap<&String, BTreeSet<String>> = imports.keys().map(|f| (f, reachable(&imports, f))).collect();
    let circle = |file: &String| -> Vec<&String> {
        reach.iter().filter(|(f, back)| reach[file].contains(**f) && back.contains(file)).map(|(f, _)| *f).collect()
    };
    let circles: BTreeSet<Vec<&String>> = imports.keys().map(circle).filter(|c| c.len() > MAX_CIRCLE).collect();
    let broken: Vec<String> = circles.iter().map(|c| format!("{} files: {c:?}", c.len())).collect();
    assert_none(&broken, "files that import each other in a circle");
}
