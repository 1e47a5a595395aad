//! Resolves a path to its file: through modules, and through re-exports to the file that declares the item.

use crate::imports::{Import, imports, inline_paths, statements, without_visibility};
use crate::tree::{is_word, product_lines, rust, tests_only};
use std::collections::{BTreeMap, BTreeSet};

/// The non-test files of the crates below a folder, by module path: the first segment names the crate, if the folder has
/// several.
pub struct Crates {
    modules: BTreeMap<Vec<String>, Module>,
}

/// A file.
#[derive(Default)]
struct Module {
    /// Path in the repository.
    file: String,
    /// Names that it declares.
    items: BTreeSet<String>,
    imports: Vec<(usize, Import)>,
    /// Lines of imports that are visible to other modules.
    passed_on: BTreeSet<usize>,
    /// Paths in its code.
    paths: Vec<(usize, Vec<String>)>,
}

/// A use of one file by another.
pub struct Use<'a> {
    pub from: &'a str,
    pub line: usize,
    /// The import is re-exported, and in a file that is only a list of exports it is not used otherwise.
    pub passed_on: bool,
    pub path: String,
    pub to: &'a str,
}

impl Crates {
    /// The crates below this folder, or the one whose root is `lib.rs` or `main.rs` there.
    pub fn in_folder(folder: &str, texts: &[(String, String)]) -> Self {
        let mut modules = BTreeMap::new();
        // The folder of each crate, and its name as Rust writes it.
        let manifests = texts.iter().filter_map(|(name, text)| {
            let crate_folder = name.strip_prefix(folder)?.strip_suffix("Cargo.toml")?;
            let package = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))?;
            Some((crate_folder, package.replace('-', "_")))
        });
        let manifests: Vec<_> = manifests.collect();
        for (name, text) in rust(texts).filter(|(name, _)| !tests_only(name, texts)) {
            let Some(path) = name.strip_prefix(folder).filter(|path| !path.starts_with("bin/")) else { continue };
            let home = manifests.iter().filter(|(home, _)| path.starts_with(home)).max_by_key(|(home, _)| home.len());
            let path = home.map_or(path, |(home, _)| &path[home.len()..]);
            let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
            let below = path.split('/').filter(|_| !matches!(path, "lib" | "main")).map(str::to_owned);
            modules.insert(
                home.map(|(_, name)| name.clone()).into_iter().chain(below).collect(),
                Module::read(name, text),
            );
        }
        Self { modules }
    }

    /// All uses between files, except those of the root.
    pub fn uses(&self) -> Vec<Use<'_>> {
        let mut uses = Vec::new();
        for (module, here) in &self.modules {
            let imported = here.imports.iter().map(|(line, import)| (*line, &import.path));
            // `b::C` after `use super::b` resolves further than the import itself.
            let named = here.paths.iter().filter(|(_, path)| {
                let first = path[0].as_str();
                let imported = || here.imports.iter().any(|(_, import)| import.name.as_deref() == Some(first));
                matches!(first, "crate" | "super" | "self")
                    || self.child(&[], first).is_some()
                    || self.child(module, first).is_some()
                    || imported()
            });
            for (line, path) in imported.chain(named.map(|(line, path)| (*line, path))) {
                let to = self.resolve(module, path, 16).filter(|to| !to.is_empty() && to != module);
                let to = to.and_then(|to| self.modules.get(&to));
                let passed_on = here.passed_on.contains(&line);
                uses.extend(to.map(|to| Use {
                    from: &here.file,
                    line,
                    passed_on,
                    path: path.join("::"),
                    to: &to.file,
                }));
            }
        }
        uses
    }

    fn child(&self, module: &[String], name: &str) -> Option<Vec<String>> {
        let child = [module, &[name.to_owned()]].concat();
        self.modules.contains_key(&child).then_some(child)
    }

    /// The module whose file declares the target of a path in `module`; `None` for another crate.
    fn resolve(&self, module: &[String], path: &[String], depth: u32) -> Option<Vec<String>> {
        let depth = depth.checked_sub(1)?;
        let mut at = module.to_vec();
        let mut rest = path;
        // A path starts at the root, at an enclosing module, or with a name of this file.
        let mut anywhere = false;
        while let [first, after @ ..] = rest {
            match first.as_str() {
                // The crate's own root, if the folder has several.
                "crate" => at.truncate(usize::from(at.first().is_some_and(|root| root.starts_with("dovetail_")))),
                other if !anywhere && other.starts_with("dovetail_") && self.child(&[], other).is_some() => {
                    at = vec![other.to_owned()];
                }
                "self" => {}
                "super" => drop(at.pop()?),
                _ => break,
            }
            (anywhere, rest) = (true, after);
        }
        while let [name, after @ ..] = rest {
            let here = self.modules.get(&at)?;
            if here.items.contains(name) {
                return Some(at);
            }
            if let Some(child) = self.child(&at, name) {
                (at, rest, anywhere) = (child, after, true);
                continue;
            }
            let named = here.imports.iter().find(|(_, import)| import.name.as_ref() == Some(name));
            if let Some((_, import)) = named {
                return self.resolve(&at, &[&import.path, after].concat(), depth);
            }
            let globs = here.imports.iter().filter(|(_, import)| import.name.is_none());
            let mut declared = globs.filter_map(|(_, import)| self.resolve(&at, &import.path, depth));
            let declared = declared.find(|from| self.modules.get(from).is_some_and(|m| m.items.contains(name)));
            // Items declared by macros are not visible here; the file reached declares them.
            return declared.or_else(|| anywhere.then_some(at));
        }
        Some(at)
    }
}

impl Module {
    fn read(file: &str, text: &str) -> Self {
        let mut module = Self { file: file.to_owned(), ..Self::default() };
        for (number, statement) in statements(product_lines(text)) {
            module.items.extend(declared(&statement));
            let found = imports(&statement);
            if found.is_empty() {
                module.paths.extend(inline_paths(&statement).into_iter().map(|path| (number, path)));
            }
            if !found.is_empty() && statement.trim_start().starts_with("pub") {
                module.passed_on.insert(number);
            }
            module.imports.extend(found.into_iter().map(|import| (number, import)));
        }
        module
    }
}

/// The name that a line declares in its module.
pub fn declared(line: &str) -> Option<String> {
    const KINDS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules!"];
    const BEFORE: [&str; 4] = ["const", "unsafe", "async", "extern"];
    if line.starts_with(' ') {
        return None;
    }
    let mut words = without_visibility(line).split_whitespace().peekable();
    let mut kind = words.next()?;
    while BEFORE.contains(&kind) && words.peek().is_some_and(|next| KINDS.contains(next) || next.starts_with('"')) {
        kind = words.next()?;
        if kind.starts_with('"') {
            kind = words.next()?;
        }
    }
    let name: String = words.next()?.chars().take_while(|c| is_word(*c)).collect();
    (KINDS.contains(&kind) && !name.is_empty()).then_some(name)
}

#[test]
fn paths_lead_through_re_exports_to_declarations() {
    let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut texts = [
        text("src/lib.rs", "pub mod a;\nmod e;"),
        text(
            "src/a/mod.rs",
            "pub use b::{C, D as E};\npub use c::*;\nmod b;\nmod c;\n#[cfg(test)]\nmod t;\npub struct H;",
        ),
        text("src/a/b.rs", "pub struct C;\npub(crate) const fn f() {}\nmade!();"),
        text("src/a/c.rs", "use super::H;\npub enum F { G }"),
        text("src/a/t.rs", "use crate::e::x;"),
        text("src/e.rs", "use crate::a::{C, F::G, b::f};\npub(crate) use crate::a::E;\nfn x() {\n    crate::a::H;\n}"),
    ];
    texts.sort();
    let tree = Crates::in_folder("src/", &texts);
    let uses = tree.uses();
    let of = |from: &str| uses.iter().filter(|one| one.from == from).map(|one| one.to).collect::<Vec<_>>();
    assert_eq!(of("src/e.rs"), ["src/a/b.rs", "src/a/c.rs", "src/a/b.rs", "src/a/b.rs", "src/a/mod.rs"]);
    assert_eq!(of("src/a/mod.rs"), ["src/a/b.rs", "src/a/b.rs", "src/a/c.rs"]);
    assert_eq!(of("src/a/c.rs"), ["src/a/mod.rs"]);
    assert!(of("src/a/t.rs").is_empty());
    let names =
        ["pub(super) unsafe fn f<T>() {", "const X: u32 = 1;", "macro_rules! m {", "    fn g() {}", "impl A {}"];
    assert_eq!(names.map(declared).map(|name| name.unwrap_or_default()), ["f", "X", "m", "", ""]);
}
