//! Digests of the sources that decide the contents of cache entries: a build that might generate different code has
//! different keys, without a version number to maintain. [`sources`] lists these sources; the build scripts of the crates
//! that make keys of them call [`set`].

pub mod sources;

use sources::Sources;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Sets an environment variable of the crate that is being built to the digest of sources, and has it built again when one
/// of them changes.
///
/// # Errors
/// A source, or `Cargo.lock`, cannot be read; a crate has no version there.
pub fn set(variable: &str, sources: &Sources) -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let (src, lock) = (root.join("src"), root.join("Cargo.lock"));
    let mut files = Vec::new();
    for part in sources.hashed {
        println!("cargo::rerun-if-changed={}", src.join(part).display());
        collect(&src.join(part), &mut files)?;
    }
    println!("cargo::rerun-if-changed={}", lock.display());
    files.sort();
    files.dedup();
    println!("cargo::rustc-env={variable}={}", digest(&src, &files, &fs::read_to_string(lock)?, sources)?);
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

/// Collects every file below a folder, or the file itself.
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
