//! Modules import each other in one direction only.

use crate::imports::{crate_modules, statements};
use crate::tree::{assert_none, product_lines, rust, texts};
use std::collections::BTreeMap;

/// Each module of `src` with the modules it may use, from the leaves up: a module may only use modules listed before
/// it.
pub const USES: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("elf", &["error"]),
    ("fixed", &["error"]),
    ("fallible", &["error"]),
    ("frame", &["error", "fallible"]),
    ("target", &["error"]),
    ("kinds", &[]),
    ("table", &[]),
    ("near_table", &["table"]),
    ("rows", &[]),
    ("workspace", &["rows"]),
    ("ir", &["error", "target", "kinds", "rows", "workspace"]),
    ("state", &["error", "target", "kinds"]),
    ("isa", &["error", "target", "state", "workspace"]),
    ("metadata", &["error", "fixed", "target", "kinds", "state"]),
    ("reloc", &["error", "target", "state", "isa"]),
    ("abi", &["error", "target", "kinds", "state", "metadata", "reloc"]),
    // Glue and compile do not depend on each other.
    ("glue", &["error", "target", "kinds", "state", "isa", "abi", "metadata", "reloc"]),
    (
        "compile",
        &[
            "error",
            "elf",
            "frame",
            "target",
            "kinds",
            "rows",
            "workspace",
            "state",
            "ir",
            "isa",
            "abi",
            "metadata",
            "reloc",
        ],
    ),
    // A driver loads the linker, so it contains no compiler.
    (
        "link",
        &[
            "error",
            "elf",
            "fallible",
            "fixed",
            "table",
            "near_table",
            "target",
            "state",
            "isa",
            "abi",
            "metadata",
            "reloc",
            "glue",
        ],
    ),
    // The checkers. Nothing in the compilation path uses them.
    ("check", &["error", "elf", "target", "isa", "metadata", "link"]),
    ("emu", &["error", "target", "kinds", "state", "isa", "abi", "metadata", "reloc"]),
    ("files", &["error"]),
    // Only bytes and keys.
    ("cache", &["error", "fallible"]),
    ("corpus", &["error", "target", "files"]),
    ("keys", &["error", "target", "state", "abi", "metadata", "reloc", "glue", "compile", "link", "cache"]),
    ("template", &["error", "target", "state", "ir"]),
    (
        "toolchain",
        &["error", "table", "near_table", "target", "state", "abi", "glue", "compile", "link", "cache", "keys"],
    ),
    (
        "pipeline",
        &[
            "error",
            "table",
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
        ],
    ),
    // Messages between the service and its clients.
    ("wire", &["error", "frame", "target", "state", "compile", "link", "cache"]),
    // The driver interface, without a compiler. It takes the rules for whole pipelines from `pipeline`.
    (
        "runtime",
        &[
            "error",
            "fixed",
            "fallible",
            "frame",
            "table",
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
    // The service does not depend on its clients or their library.
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
        &[
            "error",
            "files",
            "target",
            "state",
            "ir",
            "template",
            "compile",
            "link",
            "cache",
            "toolchain",
            "pipeline",
            "emu",
        ],
    ),
    ("capture", &["error", "target", "kinds", "state"]),
    ("capi", &["error", "target", "kinds", "state", "compile", "link", "cache", "runtime"]),
];

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
            broken.push(format!("{name}: module `{module}` has no line in tests/tidy/order.rs"));
            continue;
        };
        // Tests inside a file may use more.
        for (line, code) in statements(product_lines(text)) {
            let others = crate_modules(&code).into_iter().filter(|used| used != module);
            let bad = others.filter(|used| uses.contains_key(used.as_str()) && !allowed.contains(&used.as_str()));
            broken.extend(bad.map(|used| format!("{name}:{line}: `{module}` may not use `{used}`")));
        }
    }
    assert_none(&broken, "imports against the order of tests/tidy/order.rs");
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
