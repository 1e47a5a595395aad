//! The paths that lines of code import.

use crate::tree::is_word;

/// The items of `a::b, c::{d, e}, f}`, up to the closing brace.
pub fn top_level_names(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut names) = (0usize, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(&list[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// Joins statements over several lines, so that a `use` list is seen as a whole.
pub fn statements<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<(usize, String)> {
    let mut statements: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in lines {
        match statements.last_mut().filter(|_| open) {
            Some((_, whole)) => whole.push_str(line.trim()),
            None => {
                open = used(line).is_some();
                statements.push((number, line.to_owned()));
            }
        }
        open = open && !line.contains(';');
    }
    statements
}

/// A line without its `pub` or `pub(…)`.
pub fn without_visibility(line: &str) -> &str {
    let line = line.trim_start();
    let Some(rest) = line.strip_prefix("pub") else { return line };
    match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or(line, |(_, rest)| rest.trim_start()),
        None => rest.strip_prefix(' ').unwrap_or(line),
    }
}

/// The text after the `use` keyword, with any visibility.
fn used(line: &str) -> Option<&str> {
    Some(without_visibility(line).strip_prefix("use ")?.trim_end().trim_end_matches(';'))
}

/// A name that a `use` imports; `None`: all names of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The path; its last segment is the imported name.
    pub path: Vec<String>,
    pub name: Option<String>,
}

/// The imports of a statement.
pub fn imports(statement: &str) -> Vec<Import> {
    used(statement).map(import_list).unwrap_or_default()
}

fn import_list(text: &str) -> Vec<Import> {
    if let Some((prefix, list)) = text.split_once('{') {
        let begun = path(prefix.trim().trim_end_matches("::"));
        let whole = |mut inner: Import| {
            inner.path = [begun.clone(), inner.path].concat();
            if inner.path.last().is_some_and(|last| last == "self") {
                inner.path.pop();
                inner.name = inner.path.last().cloned();
            }
            inner
        };
        let names = top_level_names(list).into_iter().filter(|name| !name.trim().is_empty());
        return names.flat_map(import_list).map(whole).collect();
    }
    let (full, alias) =
        text.split_once(" as ").map_or((text, None), |(full, alias)| (full, Some(alias.trim().to_owned())));
    let mut full = path(full.trim());
    let glob = full.last().is_some_and(|last| last == "*");
    if glob {
        full.pop();
    }
    let name = alias.or_else(|| full.last().cloned()).filter(|_| !glob);
    vec![Import { path: full, name }]
}

fn path(text: &str) -> Vec<String> {
    text.split("::").filter(|name| !name.is_empty()).map(|name| name.trim().to_owned()).collect()
}

/// The qualified paths in a line that imports nothing.
pub fn inline_paths(line: &str) -> Vec<Vec<String>> {
    let in_path = |c: char| is_word(c) || c == ':';
    let paths = line.split(|c: char| !in_path(c)).filter(|text| text.contains("::") && !text.starts_with(':'));
    paths.map(path).filter(|path| path.len() > 1).collect()
}

#[test]
fn imports_are_read_as_rust_reads_them() {
    let lines = "pub(in a) use crate::{\n    a,\n    b,\n};\nfn f() {}";
    let read = statements(lines.lines().enumerate());
    assert_eq!(read, [(0, "pub(in a) use crate::{a,b,};".to_owned()), (4, "fn f() {}".to_owned())]);
    let read = imports("pub(super) use super::{a::{self, B as C}, d::*};");
    let import = |path: &str, name: Option<&str>| Import { path: self::path(path), name: name.map(str::to_owned) };
    assert_eq!(read, [import("super::a", Some("a")), import("super::a::B", Some("C")), import("super::d", None)]);
    assert_eq!(inline_paths("let x: a::B = super::f(c, D::new());"), [["a", "B"], ["super", "f"], ["D", "new"]]);
}
