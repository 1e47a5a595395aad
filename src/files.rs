//! Writes files so that they appear complete or not at all.

use crate::error::{Context, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes a temporary file beside the path and renames it, so that a full disk or a kill leaves the old contents. A
/// path to something other than a regular file, such as a device or a pipe, is written directly.
///
/// # Errors
/// Environment, with the path: it cannot be created or completely written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let place = || path.display().to_string();
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            let mut file = File::options().write(true).open(path).at(place)?;
            file.write_all(bytes).at(place)
        }
        Ok(there) => {
            // Links are followed, and the old file's permissions are kept.
            let path = path.canonicalize().at(place)?;
            replace(&path, bytes, Some(there.permissions())).at(place)
        }
        Err(_) => replace(path, bytes, None).at(place),
    }
}

fn replace(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> Result<()> {
    /// Makes names unique within a process.
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{serial}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))
    });
    let renamed = written.and_then(|()| fs::rename(&part, path));
    if renamed.is_err() {
        // Whether or not it exists.
        let _ = fs::remove_file(&part);
    }
    Ok(renamed?)
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
