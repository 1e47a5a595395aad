//! Paths into the modules that `populate` works through.
//!
//! Invariant: the order is that of the paths given, and by name inside a directory, whatever the file system says; links to
//! directories are not followed, so a walk ends. Files that do not begin like a module are passed over, unless they are to be
//! searched as well.

use super::extract::Extractor;
use super::scan;
use crate::error::{Context, Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A module to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Path below what was given, without `.spv`: what reports and specialization files call it.
    pub name: String,
    /// Little-endian SPIR-V as it was found; nothing but its magic has been checked.
    pub bytes: Vec<u8>,
}

/// What to do with a file that is no plain module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Pass over it.
    Skip,
    /// Look for modules in it, as `corpus extract` does.
    Search,
}

/// Reads every module under `paths`.
pub fn gather(paths: &[PathBuf], others: Others) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        for file in files(path)? {
            read(path, &file, others, &mut inputs)?;
        }
    }
    Ok(inputs)
}

/// The file itself, or every file under a directory, in order.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let metadata = fs::metadata(path).at(|| path.display().to_string())?;
    let mut found = Vec::new();
    if metadata.is_dir() {
        walk(path, &mut found)?
    } else {
        found.push(path.to_owned())
    }
    Ok(found)
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let place = || directory.display().to_string();
    let entries: std::io::Result<Vec<_>> = fs::read_dir(directory).at(place)?.collect();
    let mut entries = entries.at(place)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type().at(|| path.display().to_string())?;
        if kind.is_dir() {
            walk(&path, found)?;
        } else if kind.is_file() || kind.is_symlink() && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

fn read(root: &Path, file: &Path, others: Others, inputs: &mut Vec<Input>) -> Result<()> {
    let bytes = fs::read(file).at(|| file.display().to_string())?;
    let name = name_of(root, file);
    if scan::starts_with_magic(&bytes) {
        inputs.push(Input { name, bytes: little_endian(bytes) });
    } else if file.extension().is_some_and(|extension| extension == "spv") {
        return Err(Error::malformed("no SPIR-V magic").at(file.display().to_string()));
    } else if others == Others::Search {
        let mut extractor = Extractor::default();
        extractor.add(&name, &bytes);
        inputs.extend(extractor.finish().modules.into_iter().map(|m| Input { name: m.name, bytes: m.bytes }));
    }
    Ok(())
}

fn name_of(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
    let name = below.or(file.file_name().map(Path::new)).unwrap_or(file).display().to_string();
    name.strip_suffix(".spv").map(str::to_owned).unwrap_or(name)
}

fn little_endian(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(&scan::MAGIC.to_be_bytes()) {
        bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::scan::ByteOrder;
    use crate::corpus::scan::tests::{stored, tiny};

    #[test]
    fn directories_are_read_in_order_and_other_files_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("b")).unwrap();
        let little = stored(&tiny(1), ByteOrder::Little);
        fs::write(dir.path().join("b/two.spv"), stored(&tiny(1), ByteOrder::Big)).unwrap();
        fs::write(dir.path().join("c"), &little).unwrap();
        fs::write(dir.path().join("a.spv"), &little).unwrap();
        fs::write(dir.path().join("z.bin"), [&[0xff; 4][..], &stored(&tiny(2), ByteOrder::Little)].concat()).unwrap();
        let paths = [dir.path().to_owned()];
        let names = |others| gather(&paths, others).unwrap().into_iter().map(|i| i.name).collect::<Vec<_>>();
        assert_eq!(names(Others::Skip), ["a", "b/two", "c"]);
        assert_eq!(names(Others::Search), ["a", "b/two", "c", "z.bin"]);
        assert!(gather(&paths, Others::Skip).unwrap().iter().all(|i| i.bytes == little));
    }

    #[test]
    fn a_missing_path_and_a_false_module_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let missing = gather(&[dir.path().join("none")], Others::Skip).unwrap_err();
        assert_eq!(missing.exit_code(), 5);
        fs::write(dir.path().join("x.spv"), b"text").unwrap();
        assert_eq!(gather(&[dir.path().to_owned()], Others::Skip).unwrap_err().exit_code(), 2);
    }
}
