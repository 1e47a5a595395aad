//! Rules for code: file sizes, unsafe blocks, panics, output, allowed lints, instruction names.

use crate::tree::{assert_none, code_lines, is_word, product_lines, rust, tests_only, texts, word_positions};

/// Files that may be longer than [`MAX_LINES`], because they are tables.
const TABLES: &[&str] = &["src/isa/tables/gfx10.rs", "src/isa/tables/gfx11.rs", "src/isa/tables/gfx12.rs"];
const MAX_LINES: usize = 600;

/// The only files with `unsafe`: the interface to LLVM, mapped memory, a thread's signal mask, what a worker inherits, the
/// C interface, the layer's interface to Vulkan, and a test that forks; some entries are folders.
const UNSAFE: &[&str] = &[
    "src/compile/llvm/ffi.rs",
    "src/cache/lmdb.rs",
    "src/cache/mmap.rs",
    "src/link/out.rs",
    "src/capi/raw.rs",
    "src/capi/raw/objects.rs",
    "src/capi/raw/pipelines.rs",
    "src/runtime/signals.rs",
    "src/compile/worker/sandbox/inherited.rs",
    "layer/src/chain.rs",
    "layer/src/dispatch.rs",
    "layer/src/functions.rs",
    "layer/src/entry.rs",
    "layer/src/exit.rs",
    "layer/src/hook.rs",
    "layer/src/late.rs",
    "layer/src/read/",
    "layer/src/shadow/copies.rs",
    "layer/src/shadow/descriptors.rs",
    "layer/src/shadow/hooks/",
    "layer/src/shadow/passes.rs",
    "layer/src/shadow/tracker.rs",
    "layer/src/shadow/unroll.rs",
    "tests/capi/service/forks.rs",
    "tests/layer/application.rs",
    "tests/layer/conversions.rs",
    "tests/layer/depth_stencil.rs",
    "tests/layer/dispatches.rs",
    "tests/layer/draw_application.rs",
    "tests/layer/dynamic_states.rs",
    "tests/layer/easel.rs",
    "tests/layer/samplers.rs",
    "tests/layer/secondaries.rs",
    "tests/layer/swizzles.rs",
    "tests/support/vulkan.rs",
    "tests/support/vulkan/draw.rs",
    "tests/support/vulkan/picture.rs",
    "tests/support/alloc.rs",
    "benches/support/raw_lmdb.rs",
    "benches/radv/src/device.rs",
    "benches/radv/src/layout.rs",
    "benches/radv/src/links.rs",
    "benches/radv/src/pipeline.rs",
];

#[test]
fn files_are_of_readable_size() {
    let texts = texts();
    let written = rust(&texts).chain(texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).filter(|(n, _)| *n == "dev"));
    let long = written.filter(|(name, text)| text.lines().count() > MAX_LINES && !TABLES.contains(name));
    let long: Vec<_> = long.map(|(name, text)| format!("{name}: {} lines", text.lines().count())).collect();
    assert_none(&long, "over 600 lines: split by idea, or list the table in tests/tidy/code.rs");
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
                broken.push(format!("{name}:{number}: not in the list of tests/tidy/code.rs"));
            }
            let above = &lines[number.saturating_sub(9)..number];
            if !above.iter().any(|line| line.contains("SAFETY:") || line.contains("# Safety")) {
                broken.push(format!("{name}:{number}: no SAFETY comment"));
            }
        }
    }
    assert_none(&broken, "unsafe code");
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
    // `files::write` and `out.rs` ensure that a full disk or a closed pipe is an error with an exit code, and that no
    // file is partially written.
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

/// Mnemonics are only text: an instruction's properties are in its row and its `Op`.
#[test]
fn nothing_is_decided_by_the_names_of_instructions() {
    // Exceptions: the table itself, the text of another disassembler, and the IR, which has its own table.
    const TEXT: [&str; 3] = ["src/isa/tables/", "src/bin/dovetail/inspect.rs", "src/ir/text.rs"];
    let prefixes =
        ["s", "v", "ds", "buffer", "tbuffer", "image", "flat", "global", "scratch"].map(|kind| format!("\"{kind}_"));
    let texts = texts();
    let product = rust(&texts).filter(|(name, _)| name.starts_with("src/") && !tests_only(name, &texts));
    let mut broken = Vec::new();
    for (name, text) in product.filter(|(name, _)| !TEXT.iter().any(|text| name.starts_with(text))) {
        for (number, code) in product_lines(text) {
            let named = prefixes.iter().any(|prefix| code.contains(prefix.as_str()));
            let compared =
                code.contains("mnemonic ==") || code.contains("match mnemonic") || code.contains("mnemonic.");
            broken.extend((named || compared).then(|| format!("{name}:{number}: {}", code.trim())));
        }
    }
    assert_none(&broken, "names of instructions in code: compare their `Op`, or add a trait to the table");
}

/// A GPU or a family of GPUs is a row in a table: code asks the table, not for the name.
#[test]
fn nothing_is_decided_by_the_names_of_gpus() {
    const TABLES: [&str; 2] = ["src/base/target/", "src/isa/"];
    let texts = texts();
    let product = rust(&texts).filter(|(name, _)| name.starts_with("src/") || name.starts_with("layer/src/"));
    let product = product.filter(|(name, _)| !TABLES.iter().any(|table| name.starts_with(table)));
    let mut broken = Vec::new();
    for (name, text) in product.filter(|(name, _)| !tests_only(name, &texts)) {
        let named = |code: &str| code.contains("Gpu::Gfx") || code.contains("Family::Gfx");
        let lines = product_lines(text).filter(|(_, code)| named(code));
        broken.extend(lines.map(|(number, code)| format!("{name}:{number}: {}", code.trim())));
    }
    assert_none(
        &broken,
        "names of GPUs in code: add a fact to src/base/target/facts.rs, or a row to a table of src/isa",
    );
}
