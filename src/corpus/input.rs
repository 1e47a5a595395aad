//! Enumerates the modules under paths for `populate`, one at a time.
//!
//! Invariant: the order is that of the paths given, and by name inside a directory, on any file system; links to
//! directories are not followed, so a walk ends. Files that do not begin like a module are skipped, unless they are to
//! be searched too. An unreadable file affects only itself: it is passed on as an error with its name. A file's size is
//! checked before it is read, and only one file is in memory at a time.

use super::budget;
use super::extract::{CorpusModule, Extractor};
use super::scan;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files::{not_a_file, open, read_open};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A module to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Path below the given one, without `.spv`, as in reports and specialization files.
    pub name: String,
    /// Little-endian SPIR-V as found; only its magic has been checked.
    pub bytes: Vec<u8>,
}

/// Handling of files that are no plain modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Skip them.
    Skip,
    /// Look for modules in them, as `corpus extract` does.
    Search,
}

/// Settings for reading inputs.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Handling of files that are no plain modules.
    pub others: Others,
    /// Limit, in bytes, for a file and everything unpacked from it at the same time.
    pub memory: u64,
}

impl Default for Reading {
    fn default() -> Self {
        Self { others: Others::Skip, memory: budget::DEFAULT_MEMORY }
    }
}

/// Calls `visit` with every module under `paths`, and an error for each file, folder or path with none or omissions.
pub fn modules(paths: &[PathBuf], reading: Reading, visit: &mut dyn FnMut(Result<Input>)) {
    for path in paths {
        let mut met = false;
        let mut note = |input: Result<Input>| {
            met = true;
            visit(input);
        };
        each_file(path, &mut |file| match file {
            Ok(file) => read(path, &file, reading, &mut note),
            Err(e) => note(Err(e)),
        });
        if !met {
            let hint = if reading.others == Others::Skip { "; --search looks inside of other files" } else { "" };
            visit(Err(Error::malformed(format!("no SPIR-V module in it{hint}")).at(path.display().to_string())));
        }
    }
}

/// Calls `visit` with the file itself, or every file under a directory, in order, and an error for unreadable ones.
pub fn each_file(path: &Path, visit: &mut dyn FnMut(Result<PathBuf>)) {
    let place = || path.display().to_string();
    match fs::metadata(path).at(place) {
        Ok(metadata) if metadata.is_dir() => walk(path, visit),
        Ok(metadata) if metadata.is_file() => visit(Ok(path.to_owned())),
        Ok(_) => visit(Err(not_a_file(path))),
        Err(e) => visit(Err(e)),
    }
}

/// The file itself, or every file under a directory, in order.
///
/// # Errors
/// Environment: something there cannot be read.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    each_file(path, &mut |file| found.push(file));
    found.into_iter().collect()
}

/// Without recursion: a path may have two thousand folders.
fn walk(directory: &Path, visit: &mut dyn FnMut(Result<PathBuf>)) {
    let mut levels = vec![listed(directory, visit)];
    while let Some(level) = levels.last_mut() {
        let Some((path, kind)) = level.next() else {
            levels.pop();
            continue;
        };
        match kind.at(|| path.display().to_string()) {
            Ok(kind) if kind.is_dir() => levels.push(listed(&path, visit)),
            Ok(kind) if kind.is_file() || kind.is_symlink() && path.is_file() => visit(Ok(path)),
            // Sockets, pipes, dangling links and links to directories are common in directories, and are not shaders,
            // unless they are named like one.
            Ok(_) if path.extension().is_none_or(|extension| extension != "spv") => {}
            Ok(_) => match fs::metadata(&path).at(|| path.display().to_string()) {
                Ok(_) => visit(Err(not_a_file(&path))),
                Err(e) => visit(Err(e)),
            },
            Err(e) => visit(Err(e)),
        }
    }
}

/// What is in a directory, by name. The directory is closed again: each open one counts against the limit of the process.
fn listed(
    directory: &Path,
    visit: &mut dyn FnMut(Result<PathBuf>),
) -> std::vec::IntoIter<(PathBuf, io::Result<fs::FileType>)> {
    let place = || directory.display().to_string();
    let mut entries = Vec::new();
    match fs::read_dir(directory).at(place) {
        Ok(all) => {
            for entry in all {
                match entry.at(place) {
                    Ok(entry) => entries.push((entry.path(), entry.file_type())),
                    Err(e) => visit(Err(e)),
                }
            }
        }
        Err(e) => visit(Err(e)),
    }
    entries.sort_by(|(a, _), (b, _)| a.file_name().cmp(&b.file_name()));
    entries.into_iter()
}

/// The whole of an input of at most `memory` bytes, a limit that the user sets.
///
/// # Errors
/// As [`dovetail_base::files::read`].
pub fn read_input(path: &Path, memory: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    read_open(path, file, length, memory, MEMORY_OPTION)
}

const MEMORY_OPTION: &str = " (--input-memory)";

fn read(root: &Path, path: &Path, reading: Reading, visit: &mut dyn FnMut(Result<Input>)) {
    if let Err(e) = try_read(root, path, reading, visit) {
        visit(Err(e));
    }
}

fn try_read(root: &Path, path: &Path, reading: Reading, visit: &mut dyn FnMut(Result<Input>)) -> Result<()> {
    let place = || path.display().to_string();
    let (mut file, length) = open(path)?;
    let mut begin = Vec::new();
    Read::by_ref(&mut file).take(4).read_to_end(&mut begin).at(place)?;
    let module = scan::starts_with_magic(&begin);
    if !module && path.extension().is_some_and(|extension| extension == "spv") {
        return Err(Error::malformed("no SPIR-V magic").at(place()));
    }
    if !module && reading.others == Others::Skip {
        return Ok(());
    }
    let bytes = read_open(path, begin.chain(file), length, reading.memory, MEMORY_OPTION)?;
    let name = name_of(root, path);
    if module {
        visit(Ok(Input { name, bytes: little_endian(bytes) }));
        return Ok(());
    }
    let mut found = |module: &CorpusModule, bytes| visit(Ok(Input { name: module.name.clone(), bytes }));
    let mut extractor = Extractor::new(&mut found);
    extractor.add(&name, &bytes, reading.memory);
    match extractor.finish().incomplete.into_iter().next() {
        Some((_, why)) => Err(Error::unsupported("file not searched to its end", why.to_string()).at(place())),
        None => Ok(()),
    }
}

/// The path below `root`, as in reports: without `.spv`.
fn name_of(root: &Path, file: &Path) -> String {
    let name = below(root, file);
    name.strip_suffix(".spv").map(str::to_owned).unwrap_or(name)
}

/// The path below `root`, or the file's own name if it was given itself.
pub fn below(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
    below.or(file.file_name().map(Path::new)).unwrap_or(file).display().to_string()
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
    use crate::scan::ByteOrder;
    use crate::scan::tests::{stored, tiny};

    fn names(paths: &[PathBuf], reading: Reading) -> (Vec<String>, Vec<Error>) {
        let (mut names, mut errors) = (Vec::new(), Vec::new());
        modules(paths, reading, &mut |input| match input {
            Ok(input) => names.push(input.name),
            Err(e) => errors.push(e),
        });
        (names, errors)
    }

    const SEARCH: Reading = Reading { others: Others::Search, memory: 1 << 20 };

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
        assert_eq!(names(&paths, Reading::default()).0, ["a", "b/two", "c"]);
        assert_eq!(names(&paths, SEARCH).0, ["a", "b/two", "c", "z.bin"]);
        modules(&paths, Reading::default(), &mut |input| assert_eq!(input.unwrap().bytes, little));
    }

    /// As deep as paths can be, on the smallest stack that a thread of ours has.
    #[test]
    fn folders_are_walked_to_any_depth_that_a_path_has() {
        let dir = tempfile::tempdir().unwrap();
        let mut deepest = dir.path().to_owned();
        while deepest.as_os_str().len() < 4080 {
            deepest.push("d");
        }
        fs::create_dir_all(&deepest).unwrap();
        fs::write(deepest.join("a.spv"), stored(&tiny(1), ByteOrder::Little)).unwrap();
        let paths = [dir.path().to_owned()];
        let walk = std::thread::Builder::new().stack_size(2 << 20).spawn(move || names(&paths, SEARCH)).unwrap();
        let (names, errors) = walk.join().unwrap();
        assert_eq!((names.len(), errors), (1, vec![]));
    }

    #[test]
    fn what_cannot_be_read_costs_itself_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for folder in ["empty", "mixed"] {
            fs::create_dir(path(folder)).unwrap();
        }
        fs::write(path("mixed/a.spv"), b"").unwrap();
        fs::write(path("mixed/b.spv"), b"text").unwrap();
        fs::write(path("mixed/c.spv"), stored(&tiny(1), ByteOrder::Little)).unwrap();
        fs::write(path("other.txt"), b"text").unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let sparse = fs::File::create(path("sparse.spv")).unwrap();
        std::io::Write::write_all(&mut &sparse, &scan::MAGIC.to_le_bytes()).unwrap();
        sparse.set_len(3 << 30).unwrap();
        let given = ["none", "empty", "mixed", "other.txt", "socket", "/dev/zero", "sparse.spv"].map(path);
        let (names, errors) = names(&given, Reading::default());
        assert_eq!(names, ["c"]);
        let whose = ["none", "empty", "mixed/a.spv", "mixed/b.spv", "other.txt", "socket", "/dev/zero", "sparse.spv"];
        assert_eq!(errors.len(), whose.len(), "{errors:?}");
        for ((error, whose), code) in errors.iter().zip(whose).zip([5, 2, 2, 2, 2, 5, 5, 3]) {
            assert_eq!((error.exit_code(), error.to_string().contains(whose)), (code, true), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_searched_to_its_end_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("bomb"), crate::unpack::tests::zlib(&vec![0; 2 << 20])).unwrap();
        let (found, errors) = names(&[dir.path().join("bomb")], SEARCH);
        assert_eq!(found.len(), 0);
        assert!(errors[0].to_string().contains("bomb: unsupported: file not searched to its end"), "{errors:?}");
    }
}
