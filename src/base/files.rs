//! Writes files atomically, and reads regular files up to a size limit.

use crate::error::{Context, Error, Result};
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Largest handwritten text that is read, in bytes: a state, a manifest, a list.
pub const MAX_TEXT: u64 = 64 << 20;

/// Whether a file is synced to the disk after writing: some file systems report a full disk only then.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    Yes,
    No,
}

/// Writes a temporary file next to the path and renames it, so that a full disk or a kill leaves the old contents. A
/// path that is not a regular file, such as a device or a pipe, is written directly. The contents are synced to the
/// disk.
///
/// # Errors
/// Environment, with the path: it cannot be created or completely written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_or_sync(path, bytes, Sync::Yes)
}

/// Like [`write()`], for contents that can be regenerated: they may be lost in a power failure, and late disk errors
/// are not detected.
///
/// # Errors
/// As [`write()`].
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<()> {
    write_or_sync(path, bytes, Sync::No)
}

/// The contents of a file of at most `limit` bytes.
///
/// # Errors
/// Environment: it cannot be read, or is a pipe, a device, a socket or a directory. Unsupported: it is larger.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    read_open(path, file, length, limit, "")
}

/// As [`read`], of text.
///
/// # Errors
/// As [`read`]; malformed: it is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String> {
    text(path, read(path, limit)?)
}

/// As [`read`], of a file that the user names, which may be a pipe or a device too: a shell's `<(…)`, `/dev/stdin`.
///
/// # Errors
/// As [`read`]; environment only if it cannot be read or is a directory.
pub fn read_named(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let place = || path.display().to_string();
    let file = File::open(path).at(place)?;
    let about = file.metadata().at(place)?;
    // A pipe has no length.
    let length = if about.is_file() { about.len() } else { 0 };
    read_open(path, file, length, limit, "")
}

/// As [`read_named`], of text.
///
/// # Errors
/// As [`read_named`]; malformed: it is not UTF-8.
pub fn read_named_text(path: &Path, limit: u64) -> Result<String> {
    text(path, read_named(path, limit)?)
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|e| Error::malformed(format!("no UTF-8 text: {e}")).at(path.display().to_string()))
}

/// Opens a regular file; returns its length too. The file type is checked first, because opening a pipe waits for a
/// writer.
pub fn open(path: &Path) -> Result<(File, u64)> {
    let place = || path.display().to_string();
    if !fs::metadata(path).at(place)?.is_file() {
        return Err(not_a_file(path));
    }
    let file = File::open(path).at(place)?;
    let length = file.metadata().at(place)?.len();
    Ok((file, length))
}

/// The error of a path that is no ordinary file.
pub fn not_a_file(path: &Path) -> Error {
    Error::environment("not an ordinary file (a pipe, device, socket or folder)").at(path.display().to_string())
}

/// Reads the rest of an open file of `length` bytes; `option` names the option that sets the limit, for the error.
pub fn read_open(path: &Path, file: impl Read, length: u64, limit: u64, option: &str) -> Result<Vec<u8>> {
    let place = || path.display().to_string();
    let too_large = |length| {
        Error::unsupported("file of this size", format!("it has {length} bytes, the limit is {limit}{option}"))
            .at(place())
    };
    if length > limit {
        return Err(too_large(length));
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).at(place)?;
    // It may have grown meanwhile.
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if length > limit { Err(too_large(length)) } else { Ok(bytes) }
}

fn write_or_sync(path: &Path, bytes: &[u8], sync: Sync) -> Result<()> {
    let place = || path.display().to_string();
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            let mut file = File::options().write(true).open(path).at(place)?;
            file.write_all(bytes).at(place)
        }
        Ok(there) => {
            // Links are followed, and the old file's permissions are kept.
            let path = path.canonicalize().at(place)?;
            replace(&path, bytes, Some(there.permissions()), sync).at(place)
        }
        Err(_) => replace(path, bytes, None, sync).at(place),
    }
}

/// A name for a file beside this one, which is renamed when it is complete. Nobody can foresee it and put a link there. It does not
/// contain the file's own name, which may already have the maximal length.
pub fn unfinished(path: &Path) -> PathBuf {
    let number = std::hash::RandomState::new().hash_one(std::process::id());
    path.with_file_name(format!(".dovetail-{number:016x}.part"))
}

fn replace(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>, sync: Sync) -> Result<()> {
    // A link in its place is not followed.
    let part = unfinished(path);
    let written = File::create_new(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
        if sync == Sync::Yes { file.sync_data() } else { Ok(()) }
    });
    let renamed = written.and_then(|()| fs::rename(&part, path));
    if renamed.is_err() {
        // Fails if it does not exist.
        let _ = fs::remove_file(&part);
    }
    Ok(renamed?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    fn names(dir: &Path) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_where_a_link_leads_and_keeps_its_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        write(&file, b"one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        write(&link, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(dir.path()), ["file", "link"]);
    }

    #[test]
    fn a_name_may_be_as_long_as_names_can_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n".repeat(255));
        write(&path, b"one").unwrap();
        write_unsynced(&path, b"two").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"two");
    }

    #[test]
    fn only_ordinary_files_of_a_bounded_size_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [0xff; 100]).unwrap();
        assert_eq!(read(&path, 99).unwrap_err().exit_code(), 3);
        assert_eq!(read_text(&path, 100).unwrap_err().exit_code(), 2);
        for other in [dir.path(), Path::new("/dev/zero"), &dir.path().join("none")] {
            let why = read(other, 100).unwrap_err();
            assert_eq!((why.exit_code(), why.place()), (5, other.to_str()), "{why}");
        }
    }

    #[test]
    fn a_file_that_is_named_may_be_a_device_but_stays_bounded() {
        assert_eq!(read_named_text(Path::new("/dev/null"), 9).unwrap(), "");
        assert_eq!(read_named(Path::new("/dev/zero"), 1000).unwrap_err().exit_code(), 3);
        let dir = tempfile::tempdir().unwrap();
        let refused = read_named(dir.path(), 9).unwrap_err();
        assert_eq!((refused.exit_code(), refused.place()), (5, dir.path().to_str()), "{refused}");
    }

    #[test]
    fn a_device_stays_one_and_a_folder_is_refused_by_name() {
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let full = write(Path::new("/dev/full"), b"no room").unwrap_err();
        assert!(full.to_string().starts_with("/dev/full: "), "{full}");
        let dir = tempfile::tempdir().unwrap();
        let refused = write(dir.path(), b"x").unwrap_err().to_string();
        assert!(refused.starts_with(dir.path().to_str().unwrap()), "{refused}");
        assert!(write(&dir.path().join("no/file"), b"x").is_err() && names(dir.path()).is_empty());
    }

    #[test]
    fn a_link_in_the_place_of_an_unfinished_file_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("other");
        for serial in 0..4096 {
            symlink(&other, dir.path().join(format!(".dovetail-{}-{serial}.part", std::process::id()))).unwrap();
        }
        for _ in 0..4 {
            write(&dir.path().join("file"), b"contents").unwrap();
        }
        assert!(!other.exists() && fs::read(dir.path().join("file")).unwrap() == b"contents");
    }
}
