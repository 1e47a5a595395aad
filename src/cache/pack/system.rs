//! Packs that the system has installed for every user. They are trusted by their place: only the superuser can put them there.

use dovetail_base::error::{Context, Error, Result};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder of the system's packs.
pub const SYSTEM_PACKS: &str = "/usr/share/dovetail/packs";

/// The folder of the system's packs: [`SYSTEM_PACKS`], or what `$DOVETAIL_PACKS` says.
pub fn system_folder() -> PathBuf {
    std::env::var_os("DOVETAIL_PACKS").map_or_else(|| SYSTEM_PACKS.into(), PathBuf::from)
}

/// Whether only the superuser can change it.
fn is_of_system(about: &Metadata) -> bool {
    const OF_GROUP_OR_OTHERS: u32 = 0o022;
    about.uid() == 0 && about.mode() & OF_GROUP_OR_OTHERS == 0
}

/// The `*.pack` files of a folder of the system, in the order of their names; none if there is no such folder.
///
/// # Errors
/// Environment: the folder cannot be read, or others than the superuser may write it or a pack in it.
pub fn system_packs(dir: &Path) -> Result<Vec<PathBuf>> {
    let place = || dir.display().to_string();
    let Ok(about) = std::fs::metadata(dir) else { return Ok(Vec::new()) };
    let refused = |path: &Path| {
        let why =
            "it must belong to root, who alone may write it (chown root, chmod go-w): its packs are trusted for that";
        Error::environment(why).at(path.display().to_string())
    };
    if !is_of_system(&about) {
        return Err(refused(dir));
    }
    let mut packs = Vec::new();
    for found in std::fs::read_dir(dir).at(place)? {
        let path = found.at(place)?.path();
        if path.extension().is_none_or(|extension| extension != "pack") {
            continue;
        }
        if !is_of_system(&std::fs::metadata(&path).at(|| path.display().to_string())?) {
            return Err(refused(&path));
        }
        packs.push(path);
    }
    packs.sort();
    Ok(packs)
}
