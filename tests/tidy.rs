//! The source tree itself under test: what the compiler and clippy do not hold.
//!
//! Each rule gives the places that break it; the tables at the top are the only exceptions. A new module gets a line in
//! [`USES`], which is the project's map: a module may use those named, never the reverse.

#[path = "support/circles.rs"]
mod circles;
#[path = "../build/sources.rs"]
mod sources;
mod support;

use sources::Sources;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::root;

/// A module of `src`, and those it may use. The order is from the leaves up; nothing may use what stands below it.
const USES: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("elf", &["error"]),
    ("fixed", &["error"]),
    ("frame", &["error"]),
    ("target", &["error"]),
    ("kinds", &[]),
    ("table", &[]),
    ("ir", &["error", "target", "kinds"]),
    ("state", &["error", "target", "kinds"]),
    ("isa", &["error", "target", "state"]),
    ("metadata", &["error", "fixed", "target", "kinds", "state"]),
    ("reloc", &["error", "target", "state", "isa"]),
    ("abi", &["error", "target", "kinds", "state", "metadata", "reloc"]),
    // Glue and compile do not know each other.
    ("glue", &["error", "target", "kinds", "state", "isa", "abi", "metadata", "reloc"]),
    ("compile", &["error", "elf", "frame", "target", "kinds", "state", "ir", "isa", "abi", "metadata", "reloc"]),
    // The linker is what a driver loads: no compiler in it.
    ("link", &["error", "elf", "fixed", "table", "target", "state", "isa", "abi", "metadata", "reloc", "glue"]),
    // The proof. Nothing in the product's path uses it.
    ("check", &["error", "elf", "target", "isa", "metadata", "link"]),
    ("emu", &["error", "target", "kinds", "state", "isa", "abi", "metadata", "reloc"]),
    ("files", &["error"]),
    // Bytes and keys only.
    ("cache", &["error"]),
    ("corpus", &["error", "target"]),
    ("keys", &["error", "target", "state", "abi", "metadata", "reloc", "glue", "compile", "link", "cache"]),
    ("template", &["error", "target", "state", "ir"]),
    ("toolchain", &["error", "table", "target", "state", "abi", "glue", "compile", "link", "cache", "keys"]),
    ("pipeline", &["error", "target", "state", "metadata", "glue", "compile", "link", "cache", "keys", "toolchain"]),
    // What a service and those who ask it say to each other.
    ("wire", &["error", "frame", "target", "state", "compile", "link", "cache"]),
    // What a driver calls: no compiler. The rules of whole pipelines are taken from `pipeline`.
    (
        "runtime",
        &[
            "error",
            "fixed",
            "frame",
            "target",
            "state",
            "abi",
            "metadata",
            "glue",
            "compile",
            "link",
            "cache",
            "keys",
            "toolchain",
            "pipeline",
            "wire",
        ],
    ),
    // Who asks it, and by which library, it does not know.
    (
        "service",
        &[
            "error",
            "elf",
            "files",
            "frame",
            "target",
            "state",
            "isa",
            "metadata",
            "compile",
            "link",
            "cache",
            "keys",
            "toolchain",
            "pipeline",
            "wire",
        ],
    ),
    (
        "proof",
        &["error", "target", "state", "ir", "template", "compile", "link", "cache", "toolchain", "pipeline", "emu"],
    ),
    ("capture", &["error", "target", "kinds", "state"]),
    ("capi", &["error", "target", "kinds", "state", "compile", "link", "cache", "runtime"]),
];

/// Files that may be longer than [`MAX_LINES`], because they are tables.
const TABLES: &[&str] = &["src/isa/tables/gfx1030.rs"];
const MAX_LINES: usize = 600;

/// The only files with `unsafe`: the edge to LLVM, mapped memory, a thread's signal mask, the C interface, and the layer's edge to
/// Vulkan, of which whole folders are meant.
const UNSAFE: &[&str] = &[
    "src/compile/llvm/ffi.rs",
    "src/cache/lmdb.rs",
    "src/cache/mmap.rs",
    "src/link/out.rs",
    "src/capi/raw.rs",
    "src/capi/raw/objects.rs",
    "src/capi/raw/pipelines.rs",
    "src/runtime/signals.rs",
    "layer/src/chain.rs",
    "layer/src/dispatch.rs",
    "layer/src/entry.rs",
    "layer/src/exit.rs",
    "layer/src/read/",
    "layer/src/shadow/copies.rs",
    "layer/src/shadow/descriptors.rs",
    "layer/src/shadow/hooks/",
    "layer/src/shadow/passes.rs",
    "layer/src/shadow/tracker.rs",
    "tests/layer/application.rs",
    "tests/layer/dispatches.rs",
    "tests/layer/draw_application.rs",
    "tests/layer/easel.rs",
    "tests/support/vulkan.rs",
    "tests/support/vulkan/draw.rs",
    "tests/support/vulkan/picture.rs",
    "tests/support/alloc.rs",
    "benches/support/raw_lmdb.rs",
    "benches/radv/src/device.rs",
    "benches/radv/src/pipeline.rs",
];

/// Folders that are made, not written.
const MADE: &[&str] = &[".git", "target", "corpus", "demo-out"];

/// Every text file of the repository by its path in it.
fn texts() -> Vec<(String, String)> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            // Only at the top: `src/corpus` is written.
            if dir == root() && MADE.iter().any(|made| path.ends_with(made)) {
                continue;
            }
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let mut paths = Vec::new();
    walk(root(), &mut paths);
    paths.sort();
    let texts = paths.iter().filter_map(|path| {
        let name = path.strip_prefix(root()).expect("under the root").to_str()?.to_owned();
        Some((name, fs::read_to_string(path).ok()?))
    });
    texts.collect()
}

fn rust(texts: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).filter(|(name, _)| name.ends_with(".rs"))
}

/// The line without a comment, and numbered from 1.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, line)| (n + 1, line.split("//").next().unwrap_or_default()))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where `word` stands as a whole word.
fn word_positions<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    line.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = line[..*at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// First segments of the paths after `crate::` in a line, the braces of a list included.
fn crate_modules(line: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for (at, prefix) in line.match_indices("crate::") {
        if line[..at].ends_with('$') {
            continue;
        }
        let rest = &line[at + prefix.len()..];
        let names = match rest.strip_prefix('{') {
            Some(list) => top_level_names(list),
            None => vec![rest],
        };
        modules.extend(names.into_iter().map(|n| n.trim().chars().take_while(|&c| is_word(c)).collect::<String>()));
    }
    modules
}

/// The items of `a::b, c::{d, e}, f}`, up to the brace that ends them.
fn top_level_names(list: &str) -> Vec<&str> {
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

/// Statements over several lines become one, so that a `use` list is seen whole.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in code_lines(text) {
        match lines.last_mut().filter(|_| open) {
            Some((_, whole)) => whole.push_str(line.trim()),
            None => {
                open = line.trim_start().trim_start_matches("pub ").starts_with("use ");
                lines.push((number, line.to_owned()));
            }
        }
        open = open && !line.contains(';');
    }
    lines
}

fn assert_none(broken: &[String], rule: &str) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

#[test]
fn imports_run_one_way() {
    let uses: BTreeMap<_, _> = USES.iter().copied().collect();
    let mut broken = Vec::new();
    for (name, text) in rust(&texts()) {
        let Some(module) = name.strip_prefix("src/").and_then(|n| n.split(['/', '.']).next()) else { continue };
        if matches!(module, "lib" | "bin") {
            continue;
        }
        let Some(allowed) = uses.get(module) else {
            broken.push(format!("{name}: module `{module}` has no line in tests/tidy.rs"));
            continue;
        };
        // The tests inside a file may look further.
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (line, code) in joined(product) {
            let others = crate_modules(&code).into_iter().filter(|used| used != module);
            let bad = others.filter(|used| uses.contains_key(used.as_str()) && !allowed.contains(&used.as_str()));
            broken.extend(bad.map(|used| format!("{name}:{line}: `{module}` may not use `{used}`")));
        }
    }
    assert_none(&broken, "imports against the order of tests/tidy.rs");
}

#[test]
fn the_order_of_modules_is_an_order() {
    for (index, (module, uses)) in USES.iter().enumerate() {
        for used in *uses {
            assert!(
                USES[..index].iter().any(|(earlier, _)| earlier == used),
                "`{module}` uses `{used}` from further up"
            );
        }
    }
}

/// The file below `src` that a path of an import means: `crate::a::b::C` is `a/b.rs` if there is such a file, and otherwise
/// the file that `a/mod.rs` takes `b` from. `from` is the importing file.
fn imported_file(from: &str, path: &str, files: &BTreeMap<&str, &str>) -> Option<String> {
    let mut at: Vec<&str> = from.trim_end_matches(".rs").split('/').filter(|part| *part != "mod").collect();
    let mut names = path.split("::").map(str::trim).peekable();
    while let Some(step) = names.next_if(|name| matches!(*name, "crate" | "super" | "self")) {
        match step {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            _ => {}
        }
    }
    let existing = |at: &[&str]| {
        let path = at.join("/");
        [format!("{path}.rs"), format!("{path}/mod.rs")].into_iter().find(|file| files.contains_key(file.as_str()))
    };
    let mut found = existing(&at);
    for name in names {
        at.push(name);
        match existing(&at) {
            Some(file) => found = Some(file),
            None => {
                let list = found.as_deref().and_then(|file| files.get(file)).copied().unwrap_or_default();
                let statements = joined(list);
                let exports = statements.iter().filter_map(|(_, line)| line.trim().strip_prefix("pub use "));
                let source = exports
                    .filter_map(|rest| rest.split_once("::"))
                    .find(|(_, items)| word_positions(items, name).next().is_some());
                let (source, _) = source?;
                at.pop();
                at.push(source);
                return existing(&at);
            }
        }
    }
    found
}

/// The paths of a line that begin at the crate, a parent or the module itself, lists taken apart.
fn import_paths(line: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for prefix in ["crate::", "super::", "self::"] {
        for at in word_positions(line, prefix.trim_end_matches(':')).collect::<Vec<_>>() {
            let Some(rest) = line[at..].strip_prefix(prefix) else { continue };
            // `super::super::x` is one path, from its first word.
            if line[..at].ends_with("::") {
                continue;
            }
            let head: String = rest.chars().take_while(|c| is_word(*c) || *c == ':').collect();
            let stem = head.trim_end_matches(':');
            match rest[head.len()..].strip_prefix('{') {
                Some(list) => paths.extend(top_level_names(list).into_iter().map(|name| {
                    let name: String = name.trim().chars().take_while(|c| is_word(*c) || *c == ':').collect();
                    format!("{prefix}{stem}::{name}").replace("::::", "::")
                })),
                None => paths.push(format!("{prefix}{stem}")),
            }
        }
    }
    paths
}

/// What decides an entry of the cache is in its key: nothing that is hashed takes code from what is not.
#[test]
fn keys_know_every_source() {
    let texts = texts();
    let files: BTreeMap<&str, &str> =
        rust(&texts).filter_map(|(name, text)| Some((name.strip_prefix("src/")?, text))).collect();
    let mut broken = Vec::new();
    for (what, sources) in [("stage", sources::COMPILER), ("glue", sources::GLUE), ("request", sources::REQUEST)] {
        let Sources { hashed, left_out, harmless, crates: _ } = sources;
        for path in hashed.iter().chain(left_out).chain(harmless) {
            if !root().join("src").join(path).exists() {
                broken.push(format!("{what}: {path} is not there"));
            }
        }
        for (name, text) in files.iter().filter(|(name, _)| sources.contains(name)) {
            let product: Vec<String> = product_lines(text).map(|(_, line)| line.to_owned()).collect();
            for (number, line) in joined(&product.join("\n")) {
                // A list of modules declares files, which are hashed by their place.
                for path in import_paths(&line) {
                    let Some(file) = imported_file(name, &path, &files) else { continue };
                    let known = sources.contains(&file)
                        || harmless.iter().any(|h| file == *h || file.starts_with(&format!("{h}/")));
                    if !known && !file.ends_with("mod.rs") {
                        broken.push(format!("{what}: {name}:{number} takes `{path}` from {file}"));
                    }
                }
            }
        }
    }
    assert_none(&broken, "build/sources.rs does not hash what decides");
}

#[test]
fn files_are_of_readable_size() {
    let texts = texts();
    let written = rust(&texts).chain(texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).filter(|(n, _)| *n == "dev"));
    let long = written.filter(|(name, text)| text.lines().count() > MAX_LINES && !TABLES.contains(name));
    let long: Vec<_> = long.map(|(name, text)| format!("{name}: {} lines", text.lines().count())).collect();
    assert_none(&long, "over 600 lines: split by idea, or list the table in tests/tidy.rs");
}

#[test]
fn unsafe_is_where_it_is_expected_and_justified() {
    let mut broken = Vec::new();
    for (name, text) in rust(&texts()) {
        let lines: Vec<&str> = text.lines().collect();
        for (number, code) in code_lines(text) {
            let real = word_positions(code, "unsafe").any(|at| {
                let next = code[at + "unsafe".len()..].trim_start();
                next.is_empty() || ["{", "fn", "impl", "extern", "trait"].iter().any(|form| next.starts_with(form))
            });
            if !real || code.contains('"') {
                continue;
            }
            if !UNSAFE.iter().any(|listed| name == *listed || listed.ends_with('/') && name.starts_with(listed)) {
                broken.push(format!("{name}:{number}: not in the list of tests/tidy.rs"));
            }
            let above = &lines[number.saturating_sub(9)..number];
            if !above.iter().any(|line| line.contains("SAFETY:") || line.contains("# Safety")) {
                broken.push(format!("{name}:{number}: no SAFETY comment"));
            }
        }
    }
    assert_none(&broken, "unsafe code");
}

/// Whether a file of `src` is there for tests only: so declared by a parent, or called so.
fn tests_only(name: &str, texts: &[(String, String)]) -> bool {
    Path::new(name).with_extension("").ancestors().any(|path| {
        let (Some(folder), Some(module)) = (path.parent(), path.file_name()) else { return false };
        let declaration = format!("mod {};", module.display());
        let declared = |text: &str| {
            let mut after = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| rest.lines().next());
            after.any(|line| line.ends_with(&declaration))
        };
        let parents = [folder.join("mod.rs"), folder.join("lib.rs"), folder.with_extension("rs")];
        texts.iter().any(|(name, text)| parents.iter().any(|p| p == Path::new(name)) && declared(text))
    })
}

/// The lines of code that are not within a `#[cfg(test)]` item.
fn product_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut skipped = None;
    code_lines(text).filter(move |(_, line)| {
        let indent = line.len() - line.trim_start().len();
        if skipped.is_none() && line.trim() == "#[cfg(test)]" {
            skipped = Some(indent);
            return false;
        }
        let inside = skipped.is_some();
        // Formatted code ends an item where it began it.
        if skipped == Some(indent) && line.trim_end().ends_with([';', '}']) {
            skipped = None;
        }
        !inside
    })
}

#[test]
fn the_product_does_not_panic() {
    const CALLS: [&str; 9] = [
        ".unwrap()",
        ".expect(",
        "panic!(",
        "unreachable!(",
        "todo!(",
        "unimplemented!(",
        "assert!(",
        "assert_eq!(",
        "assert_ne!(",
    ];
    let texts = texts();
    let mut broken = Vec::new();
    for (name, text) in rust(&texts).filter(|(name, _)| name.starts_with("src/") && !tests_only(name, &texts)) {
        for (number, code) in product_lines(text) {
            let calls = CALLS.iter().any(|call| {
                let mut at = code.match_indices(call).map(|(at, _)| at);
                at.any(|at| call.starts_with('.') || !code[..at].chars().next_back().is_some_and(is_word))
            });
            if calls {
                broken.push(format!("{name}:{number}: {}", code.trim()));
            }
        }
    }
    assert_none(&broken, "panics in the product: give an error, if need be `Error::bug`");
}

#[test]
fn the_program_writes_and_prints_in_one_way() {
    // `files::write` and `out.rs`: a full disk or a closed pipe is an error with an exit code, and no file is half written.
    const OTHER_WAYS: [&str; 8] = [
        "fs::write(",
        "fs::copy(",
        "File::create",
        "File::options",
        "OpenOptions",
        "stdout()",
        "stderr().",
        "std::print",
    ];
    let texts = texts();
    let mut broken = Vec::new();
    for (name, text) in rust(&texts) {
        if !name.starts_with("src/bin/") || name == "src/bin/dovetail/out.rs" {
            continue;
        }
        for (number, code) in product_lines(text).filter(|(_, code)| OTHER_WAYS.iter().any(|way| code.contains(way))) {
            let asks = code.contains("is_terminal()");
            broken.extend((!asks).then(|| format!("{name}:{number}: {}", code.trim())));
        }
    }
    assert_none(&broken, "output past `files::write` and src/bin/dovetail/out.rs");
    let main = &texts.iter().find(|(name, _)| name == "src/bin/dovetail/main.rs").expect("the program").1;
    let mut modules = main.lines().filter(|line| line.starts_with("mod "));
    assert_eq!(modules.next(), Some("mod out;"), "its macros hold for the modules after it only");
    assert!(main.contains("#[macro_use]\nmod out;"));
}

#[test]
fn every_allowed_lint_has_a_reason() {
    let mut broken = Vec::new();
    for (name, text) in rust(&texts()) {
        for (at, _) in text.match_indices("#[allow(").chain(text.match_indices("#![allow(")) {
            let start_of_line = text[..at].rfind('\n').map_or(0, |n| n + 1);
            let in_attribute = text[start_of_line..at].trim().is_empty();
            let attribute = text[at..].split(")]").next().unwrap_or_default();
            if in_attribute && !attribute.contains("reason = \"") {
                broken.push(format!("{name}:{}", text[..at].lines().count() + 1));
            }
        }
    }
    assert_none(&broken, "lints allowed without a reason");
}

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

#[test]
fn no_machine_is_named() {
    // In pieces, so that this file passes its own rule.
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
fn the_rules_see_what_they_are_for() {
    assert_eq!(crate_modules("use crate::{a::b, c::{d, e}, f};"), ["a", "c", "f"]);
    assert_eq!(crate_modules("let x = crate::link::plan($crate::glue::X, crate::abi::Y);"), ["link", "abi"]);
    assert_eq!(joined("use crate::{\n    a,\n    b,\n};\nfn f() {}")[0], (1, "use crate::{a,b,};".to_owned()));
    assert_eq!(import_paths("use super::super::{a::B, C};"), ["super::super::a::B", "super::super::C"]);
    let files = BTreeMap::from([("a/mod.rs", "pub use b::{C, D};\nmod b;"), ("a/b.rs", ""), ("e.rs", "")]);
    let file = |from, path| imported_file(from, path, &files);
    assert_eq!(file("e.rs", "crate::a::C").as_deref(), Some("a/b.rs"));
    assert_eq!(file("a/b.rs", "super::D").as_deref(), Some("a/b.rs"));
    assert_eq!(file("a/b.rs", "super::super::e").as_deref(), Some("e.rs"));
    assert_eq!(word_positions("unsafe_op unsafe { }", "unsafe").collect::<Vec<_>>(), [10]);
    let text = "a\n#[cfg(test)]\nmod t;\nb\n#[cfg(test)]\nmod u {\n    fn f() {\n    }\n    use x;\n}\nc";
    assert_eq!(product_lines(text).map(|(n, _)| n).collect::<Vec<_>>(), [1, 4, 11]);
    let parent = [("src/a/mod.rs".to_owned(), "mod b;\n#[cfg(test)]\npub(crate) mod t;\n".to_owned())];
    let of = |name| tests_only(name, &parent);
    assert_eq!(["src/a/t.rs", "src/a/t/u.rs", "src/a/b.rs", "src/a/mod.rs"].map(of), [true, true, false, false]);
}

#[test]
fn every_dependency_is_explained() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("a file of this repository");
    let manifest: toml::Table = read("Cargo.toml").parse().expect("a manifest");
    let why = read("docs/dependencies.md");
    let tables = ["dependencies", "dev-dependencies"].into_iter().filter_map(|key| manifest.get(key)?.as_table());
    let named: Vec<&str> = tables.flat_map(|table| table.keys()).map(String::as_str).collect();
    let missing = named.iter().filter(|name| !why.contains(&format!("`{name}`"))).map(|name| (*name).to_owned());
    let explained = why.lines().filter(|line| line.starts_with("| `")).flat_map(|line| {
        let cell = line.split('|').nth(1).unwrap_or_default();
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    });
    let gone = explained.filter(|name| !named.contains(&name.as_str()));
    assert_none(&missing.chain(gone).collect::<Vec<_>>(), "docs/dependencies.md and Cargo.toml differ");
}
