//! Digests of the sources that decide the contents of cache entries: a build that might generate different code has
//! different keys, without a version number to maintain. `build/sources.rs` lists these sources.

#[path = "build/sources.rs"]
mod sources;

use sources::{COMPILER, GLUE, REQUEST, Sources};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    for watched in ["src", "build", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files)?;
    files.sort();
    let locked = fs::read_to_string(root.join("Cargo.lock"))?;
    let digests = [
        ("DOVETAIL_COMPILER_SOURCES", COMPILER),
        ("DOVETAIL_GLUE_SOURCES", GLUE),
        ("DOVETAIL_REQUEST_SOURCES", REQUEST),
    ];
    for (name, sources) in digests {
        println!("cargo::rustc-env={name}={}", digest(&root.join("src"), &files, &locked, &sources)?);
    }
    Ok(())
}

/// First half of the BLAKE3 of files and crate versions, each framed by its length.
fn digest(src: &Path, files: &[PathBuf], locked: &str, sources: &Sources) -> io::Result<String> {
    let mut hash = blake3::Hasher::new();
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part);
    };
    for file in files {
        let name = file.strip_prefix(src).map_err(io::Error::other)?.to_string_lossy().replace('\\', "/");
        if sources.contains(&name) {
            add(name.as_bytes());
            add(&fs::read(file)?);
        }
    }
    for name in sources.crates {
        let heading = format!("name = \"{name}\"\n");
        let found = locked.split("[[package]]\n").find(|package| package.starts_with(&heading));
        add(found.ok_or_else(|| io::Error::other(format!("Cargo.lock has no {name}")))?.as_bytes());
    }
    Ok(hash.finalize().to_hex()[..32].to_owned())
}

/// Collects every file below a folder.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}
