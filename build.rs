//! Digests of the sources that decide what a cache entry holds: a build that might write other code has other keys, and
//! nobody has to remember a version number.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What decides a stage's ELF besides its request and LLVM.
const COMPILER: &[&str] = &["abi", "compile", "ir", "metadata", "reloc", "state", "state.rs", "target.rs"];
/// What decides a piece of glue besides its key.
const GLUE: &[&str] = &["abi", "glue", "isa", "target.rs"];

fn main() -> io::Result<()> {
    let src = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("src");
    for (name, sources) in [("DOVETAIL_COMPILER_SOURCES", COMPILER), ("DOVETAIL_GLUE_SOURCES", GLUE)] {
        let mut files = Vec::new();
        for source in sources {
            println!("cargo::rerun-if-changed=src/{source}");
            collect(&src.join(source), &mut files)?;
        }
        files.sort();
        let mut hash = blake3::Hasher::new();
        for file in files {
            let text = fs::read(&file)?;
            let name = file.strip_prefix(&src).map_err(io::Error::other)?.to_string_lossy().replace('\\', "/");
            for part in [name.as_bytes(), &text] {
                hash.update(&(part.len() as u64).to_le_bytes()).update(part);
            }
        }
        println!("cargo::rustc-env={name}={}", &hash.finalize().to_hex()[..32]);
    }
    Ok(())
}

/// Every file below; tests are none of what decides.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.ends_with("tests") || path.ends_with("tests.rs") {
        return Ok(());
    }
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}
