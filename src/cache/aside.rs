//! The lock that admits one writer at a time, and the renaming of damaged stores.

use dovetail_base::error::{Context, Error, Result};
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time that a writer waits for another. One transaction takes milliseconds, on a slow disk perhaps a second.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The right to write into the folder of a store. The system releases it when the process ends in any way; the contents
/// of the lock file do not matter.
pub struct WriteLock(#[expect(dead_code, reason = "it is held, not used")] File);

fn beside(dir: &Path, suffix: &str) -> PathBuf {
    let mut name = dir.file_name().map_or_else(|| OsString::from("store"), OsString::from);
    name.push(suffix);
    dir.with_file_name(name)
}

impl WriteLock {
    /// Waits for the lock of a folder, creating the folder and its parents. `None` if another process holds it longer
    /// than `patience`.
    ///
    /// # Errors
    /// Environment: the folder is not writable.
    pub fn take(dir: &Path, patience: Duration) -> Result<Option<Self>> {
        let path = beside(dir, ".lock");
        let place = || path.display().to_string();
        let parent = dir.parent().unwrap_or(dir);
        fs::create_dir_all(parent).at(|| parent.display().to_string())?;
        for folder in [parent, dir] {
            refuse_open_to_all(folder)?;
        }
        let started = Instant::now();
        loop {
            let file = lock_file(&path, parent).at(place)?;
            match file.try_lock() {
                // The file may have been deleted meanwhile, and then this is not the lock that others see.
                Ok(()) if is_at(&file, &path) => return Ok(Some(Self(file))),
                Ok(()) | Err(TryLockError::WouldBlock) if started.elapsed() > patience => return Ok(None),
                Ok(()) | Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(200)),
                Err(TryLockError::Error(e)) => return Err(Error::from(e).at(place())),
            }
        }
    }
}

/// Opens a lock file. Whoever can open it can lock out all writers, so only those may who can write into the folder.
fn lock_file(path: &Path, folder: &Path) -> std::io::Result<File> {
    const OF_GROUP: u32 = 0o020;
    let of_group = fs::metadata(folder).is_ok_and(|folder| folder.mode() & OF_GROUP != 0);
    let mode = if of_group { 0o660 } else { 0o600 };
    let mut options = File::options();
    // A pipe would wait for its other end.
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.write(true).create(true).truncate(false).mode(mode).open(path)?;
    if file.metadata()?.mode() & 0o777 != mode {
        // Of an earlier version, or changed by the mask. Fails if it is another user's.
        let _ = file.set_permissions(fs::Permissions::from_mode(mode));
    }
    Ok(file)
}

/// Refuses a folder into which every user may write: its contents could be anybody's.
///
/// # Errors
/// Environment: every user may.
pub fn refuse_open_to_all(folder: &Path) -> Result<()> {
    const OF_OTHERS: u32 = 0o002;
    let is_open = fs::metadata(folder).is_ok_and(|there| there.is_dir() && there.mode() & OF_OTHERS != 0);
    if is_open {
        let why = "every user may write into this folder, so the code in it could be anybody's: \
            remove that right (chmod o-w), or use another cache directory";
        return Err(Error::environment(why).at(folder.display().to_string()));
    }
    Ok(())
}

/// Error for a lock that was not released in time.
pub fn held() -> Error {
    Error::environment(format!(
        "another process has been writing for {} seconds and may be stopped: end it, or use another cache directory",
        PATIENCE.as_secs()
    ))
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().ok().map(identity) == fs::metadata(path).ok().map(identity)
}

/// Renames a store to the first free `<name>.bad-N`, and returns a notice. The caller holds the lock.
///
/// # Errors
/// Environment: it cannot be renamed.
pub fn set_aside(dir: &Path, why: &dyn std::fmt::Display) -> Result<String> {
    let place = || dir.display().to_string();
    let free = (1u32..).map(|n| beside(dir, &format!(".bad-{n}"))).find(|path| fs::symlink_metadata(path).is_err());
    let to = free.ok_or_else(|| Error::environment("too many damaged stores next to it: delete some").at(place()))?;
    fs::rename(dir, &to).at(|| format!("{}: damaged ({why}), and cannot be set aside", place()))?;
    Ok(format!(
        "{}: damaged ({why}); set aside as {}, which may be deleted, and replaced by a new one",
        place(),
        to.file_name().unwrap_or_default().display()
    ))
}
