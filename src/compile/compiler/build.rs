//! The digest of the sources that decide a stage's ELF, for its keys.

fn main() -> std::io::Result<()> {
    dovetail_build::set("DOVETAIL_COMPILER_SOURCES", &dovetail_build::sources::COMPILER)
}
