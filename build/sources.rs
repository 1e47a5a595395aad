//! The sources that decide the contents of cache entries, which are hashed into every key; `tests/tidy` checks
//! that none of them imports a file of `src` that is neither hashed nor listed as harmless.

/// The sources that decide one kind of entry. Paths are relative to `src`; a folder stands for all files in it.
pub struct Sources {
    /// Files and folders that are hashed.
    pub hashed: &'static [&'static str],
    /// Exceptions among them: files and folders that cannot change a byte of the entry.
    pub left_out: &'static [&'static str],
    /// Imported files that need no hash: error texts, and data that affects the result only through the key.
    pub harmless: &'static [&'static str],
    /// Crates whose version in `Cargo.lock` is hashed too.
    pub crates: &'static [&'static str],
}

/// The sources that decide a stage's ELF, besides its request and the version of LLVM.
pub const COMPILER: Sources = Sources {
    hashed: &[
        "abi",
        "compile",
        "base/elf.rs",
        "base/fixed.rs",
        "ir",
        "isa",
        "base/kinds.rs",
        "metadata",
        "reloc",
        "base/rows.rs",
        "state",
        "base/target",
        "base/workspace.rs",
    ],
    left_out: &[
        // Checks, drawings and text output of the native generator: a failing check ends the compile with an error, and
        // changes nothing else.
        "compile/native/check_alloc",
        "compile/native/graph",
        "compile/native/mir/print.rs",
        "compile/native/mir/verify.rs",
        // Only in tests.
        "compile/opt/rules_proof.rs",
        // Observers see the output of each phase, and cannot change it.
        "ir/watch.rs",
        // Transport of requests to a compiler process.
        "compile/worker",
        // The reference for the front end.
        "ir/interp",
        // The text form of the IR, for tests and people.
        "ir/parse.rs",
        "ir/print.rs",
        // Text of instructions, for people.
        "isa/listing",
        // Used only by the linker.
        "metadata/facts.rs",
        "metadata/finalize.rs",
        "metadata/graphics.rs",
        "metadata/named.rs",
        "metadata/named_fields.rs",
        "metadata/ngg.rs",
        "metadata/part_notes.rs",
        "metadata/ready_notes.rs",
        "metadata/stage_text.rs",
        "metadata/write_v2.rs",
        "reloc/apply.rs",
    ],
    harmless: &[
        "compile/native/check_alloc",
        "compile/native/graph",
        "compile/native/mir/verify.rs",
        "ir/watch.rs",
        "base/error.rs",
    ],
    crates: &["inkwell", "llvm-sys", "object", "rmp-serde", "rmpv", "rspirv", "serde", "spirv"],
};

/// The sources that decide a piece of glue, besides its key.
pub const GLUE: Sources = Sources {
    hashed: &["abi", "glue", "isa", "base/target"],
    left_out: &[
        // Used by checkers and disassembly; nothing is written with these.
        "isa/assemble.rs",
        "isa/decode",
        "isa/listing",
        // Plans of resources and user data, which glue does not use.
        "abi/layout.rs",
        "abi/user_data.rs",
    ],
    harmless: &["base/error.rs", "base/kinds.rs", "metadata", "reloc", "state"],
    crates: &[],
};

/// The sources that decide the form of a request, and so its key: two programs with different digests may give the same
/// request different keys.
pub const REQUEST: Sources = Sources {
    hashed: &[
        "cache/key.rs",
        "compile/operands.rs",
        "compile/phases.rs",
        "compile/request.rs",
        "compile/variant.rs",
        "pipeline/keys.rs",
        "base/kinds.rs",
        "link/layout.rs",
        "metadata/interface.rs",
        "metadata/stage_kind.rs",
        "state",
        "base/target",
    ],
    left_out: &[],
    // Glue has its own keys and is never requested; the placement of code in instruction-cache lines is not part of a
    // request.
    harmless: &["base/error.rs", "glue", "link/attach.rs", "link/places.rs", "link/ready.rs"],
    crates: &["rmp-serde", "serde"],
};

impl Sources {
    /// Whether a file, by its path below `src` with `/`, is hashed. If two entries match, the longer one decides.
    pub fn contains(&self, file: &str) -> bool {
        let fits =
            |entry: &&&str| file == **entry || file.strip_prefix(**entry).is_some_and(|rest| rest.starts_with('/'));
        let longest = |entries: &[&str]| entries.iter().filter(fits).map(|e| e.len()).max();
        !is_test(file) && longest(self.hashed) > longest(self.left_out)
    }
}

/// Whether a file contains only tests, by its name.
pub fn is_test(file: &str) -> bool {
    const NAMES: [&str; 4] = ["tests", "oracle", "effects_oracle", "simulate"];
    file.split('/').any(|part| {
        let stem = part.trim_end_matches(".rs");
        NAMES.contains(&stem) || stem.starts_with("simulate_")
    })
}
