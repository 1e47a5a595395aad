//! The sources that decide the content of a cache entry. `build.rs` hashes them into every key; `tests/tidy` holds that
//! none of
//! them imports a file of this crate that is neither hashed nor named as harmless.

/// The sources that decide one kind of entry. Paths are below `src`; a folder stands for all files in it.
pub struct Sources {
    /// Files and folders that are hashed.
    pub hashed: &'static [&'static str],
    /// Files and folders among them that are not: they cannot change a byte of the entry.
    pub left_out: &'static [&'static str],
    /// Files that are imported and need no hash: error texts, and data that reaches the result through the key alone.
    #[allow(dead_code, reason = "the build hashes, and the test looks at what it does not")]
    pub harmless: &'static [&'static str],
    /// Crates whose version (of `Cargo.lock`) is hashed too.
    #[allow(dead_code, reason = "as above")]
    pub crates: &'static [&'static str],
}

/// The sources that decide a stage's ELF, besides its request and the version of LLVM.
pub const COMPILER: Sources = Sources {
    hashed: &[
        "abi",
        "compile",
        "elf.rs",
        "fixed.rs",
        "ir",
        "isa",
        "kinds.rs",
        "metadata",
        "reloc",
        "state",
        "state.rs",
        "target.rs",
    ],
    left_out: &[
        // Checks, pictures and text of the native generator's work: a check ends a compile with an error, and changes nothing.
        "compile/native/check_alloc",
        "compile/native/graph",
        "compile/native/mir/print.rs",
        "compile/native/mir/verify.rs",
        // Only in tests.
        "compile/native/opt/rules_proof.rs",
        // Observers see what each phase has made, and cannot change it.
        "compile/watch.rs",
        // How requests travel to a compiler process.
        "compile/worker",
        // The judge of the front end.
        "ir/interp",
        // The text form of the IR, for tests and people.
        "ir/parse.rs",
        "ir/print.rs",
        // Text of instructions, for people.
        "isa/listing",
        // What only the link does.
        "metadata/finalize.rs",
        "metadata/graphics.rs",
        "metadata/named.rs",
        "metadata/part_notes.rs",
        "metadata/stage_text.rs",
        "metadata/write_v2.rs",
        "reloc/apply.rs",
    ],
    harmless: &[
        "compile/native/check_alloc",
        "compile/native/graph",
        "compile/native/mir/verify.rs",
        "compile/watch.rs",
        "error.rs",
    ],
    crates: &["inkwell", "llvm-sys", "object", "rmp-serde", "rmpv", "rspirv", "serde", "spirv"],
};

/// The sources that decide a piece of glue, besides its key.
pub const GLUE: Sources = Sources {
    hashed: &["abi", "glue", "isa", "target.rs"],
    left_out: &[
        // Judges and people read code with these; nothing is written by them.
        "isa/assemble.rs",
        "isa/decode",
        "isa/effects.rs",
        "isa/listing",
        "isa/register_set.rs",
        // The plans of resources and user data, which glue does not see.
        "abi/layout.rs",
        "abi/user_data.rs",
    ],
    harmless: &["error.rs", "kinds.rs", "metadata", "reloc", "state", "state.rs"],
    crates: &[],
};

/// The sources that decide the form of a request, and so its key: two programs with other digests may name the same request
/// by other keys.
pub const REQUEST: Sources = Sources {
    hashed: &[
        "cache/key.rs",
        "compile/operands.rs",
        "compile/phases.rs",
        "compile/request.rs",
        "compile/variant.rs",
        "keys.rs",
        "kinds.rs",
        "link/layout.rs",
        "metadata/interface.rs",
        "state",
        "state.rs",
        "target.rs",
    ],
    left_out: &[],
    // Glue has keys of its own, and is asked of nobody; where code ends in a line of the instruction cache is no part of a request.
    harmless: &["error.rs", "glue", "isa/words.rs", "link/attach.rs", "link/input.rs"],
    crates: &["rmp-serde", "serde"],
};

impl Sources {
    /// Whether a file, by its path below `src` with `/`, is hashed. Of two entries that fit the longer one decides.
    pub fn contains(&self, file: &str) -> bool {
        let fits =
            |entry: &&&str| file == **entry || file.strip_prefix(**entry).is_some_and(|rest| rest.starts_with('/'));
        let longest = |entries: &[&str]| entries.iter().filter(fits).map(|e| e.len()).max();
        !is_test(file) && longest(self.hashed) > longest(self.left_out)
    }
}

/// Whether a file holds tests only, by its name.
pub fn is_test(file: &str) -> bool {
    const NAMES: [&str; 4] = ["tests", "oracle", "effects_oracle", "simulate"];
    file.split('/').any(|part| {
        let stem = part.trim_end_matches(".rs");
        NAMES.contains(&stem) || stem.starts_with("simulate_")
    })
}
