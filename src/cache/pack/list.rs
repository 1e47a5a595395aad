//! The packs of a cache: `packs/list` in its folder, which says which packs are read, in which order, and what they must be.
//!
//! ```text
//! dovetail packs 1
//! accepted ROOT VERSION NAME SIGNER PATH
//! removed ROOT VERSION NAME SIGNER -
//! ```
//!
//! A pack is read only if it has the root of its line, so a reader checks no signature: whoever added the pack did. Lines of packs
//! that are not read any longer stay, so that an older version is not taken for a new one. A path is relative to the folder of
//! the list.

use crate::format::{PackMeta, Root};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files;
use dovetail_cache::refuse_open_to_all;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

/// First line of the list.
const HEAD: &str = "dovetail packs 1";
/// Largest list that is read, in bytes.
const MAX_LIST: u64 = 1 << 20;
/// Most packs that are read at once: each costs a miss up to a microsecond.
const MOST_PACKS: usize = 64;

/// What a line says about its pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PackStanding {
    /// It is read.
    Accepted,
    /// Its signer has withdrawn it.
    Withdrawn,
    /// The user has removed it.
    Removed,
}

impl PackStanding {
    const ALL: [Self; 3] = [Self::Accepted, Self::Withdrawn, Self::Removed];
}

impl fmt::Display for PackStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted",
            Self::Withdrawn => "withdrawn",
            Self::Removed => "removed",
        })
    }
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Whether the pack is read.
    pub standing: PackStanding,
    /// The root that it must have.
    pub root: Root,
    /// Its version.
    pub version: u64,
    /// Its name.
    pub name: String,
    /// Id of the key that signed it; `None` if nobody did.
    pub signer: Option<String>,
    /// Its file, relative to the folder of the list.
    pub path: PathBuf,
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { standing, root, version, name, signer, path } = self;
        let signer = signer.as_deref().unwrap_or("-");
        write!(f, "{standing} {root} {version} {name} {signer} {}", path.display())
    }
}

impl Listed {
    fn parse(line: &str) -> Result<Self> {
        let mut words = line.splitn(6, ' ');
        let mut word = |what: &str| words.next().ok_or_else(|| Error::malformed(format!("no {what}")));
        let standing = word("standing")?;
        let known = PackStanding::ALL.into_iter().find(|one| one.to_string() == standing);
        let standing =
            known.ok_or_else(|| Error::malformed(format!("`{standing}`: accepted, withdrawn or removed")))?;
        let root = word("root")?.parse()?;
        let version = word("version")?;
        let version = version.parse().map_err(|_| Error::malformed(format!("`{version}` is not a version")))?;
        let name = word("name")?.to_owned();
        PackMeta { name: name.clone(), ..PackMeta::default() }.check()?;
        let signer = Some(word("signer")?.to_owned()).filter(|signer| signer != "-");
        Ok(Self { standing, root, version, name, signer, path: PathBuf::from(word("path")?) })
    }
}

/// The list, in the order in which packs are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackList(pub Vec<Listed>);

/// The folder of a cache's packs, and of their list.
pub fn packs_dir(cache: &Path) -> PathBuf {
    cache.join("packs")
}

impl PackList {
    /// Path of the list in a cache's folder.
    pub fn path(cache: &Path) -> PathBuf {
        packs_dir(cache).join("list")
    }

    /// Reads the list of a cache; empty if there is none.
    ///
    /// # Errors
    /// Malformed: the line that is wrong. Environment: it cannot be read, or every user may write it.
    pub fn read(cache: &Path) -> Result<Self> {
        let (dir, path) = (packs_dir(cache), Self::path(cache));
        if !path.exists() {
            return Ok(Self::default());
        }
        refuse_open_to_all(&dir)?;
        Self::parse(&files::read_text(&path, MAX_LIST)?).at(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines().enumerate();
        if lines.next().is_none_or(|(_, line)| line != HEAD) {
            return Err(Error::malformed(format!(
                "it does not begin with `{HEAD}`: it is another version's, or damaged"
            )));
        }
        let lines = lines.filter(|(_, line)| !line.is_empty());
        let list = lines.map(|(number, line)| Listed::parse(line).at(|| format!("line {}", number + 1)));
        let list = Self(list.collect::<Result<_>>()?);
        let count = list.accepted().count();
        if count > MOST_PACKS {
            let what = format!("{count} packs: at most {MOST_PACKS} are read; merge some (`dovetail pack merge`)");
            return Err(Error::unsupported("that many packs", what));
        }
        Ok(list)
    }

    fn text(&self) -> String {
        let lines = self.0.iter().map(|line| format!("{line}\n"));
        std::iter::once(format!("{HEAD}\n")).chain(lines).collect()
    }

    /// The packs that are read.
    pub fn accepted(&self) -> impl Iterator<Item = &Listed> {
        self.0.iter().filter(|line| line.standing == PackStanding::Accepted)
    }

    /// Changes the list of a cache, while no other process does.
    ///
    /// # Errors
    /// Those of the change, which is then not made; as [`Self::read`]; environment: it cannot be written. Malformed: a path with a
    /// line break.
    pub fn change<T>(cache: &Path, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let dir = packs_dir(cache);
        let place = || dir.display().to_string();
        std::fs::create_dir_all(&dir).at(place)?;
        refuse_open_to_all(&dir)?;
        let lock = File::options().write(true).create(true).truncate(false).open(dir.join("list.lock")).at(place)?;
        lock.lock().at(place)?;
        let mut list = Self::read(cache)?;
        let before = list.clone();
        let changed = change(&mut list)?;
        if list != before {
            let text = list.text();
            // What is written can be read.
            if Self::parse(&text)? != list {
                return Err(Error::malformed("the path of a pack has a line break, or is no UTF-8: rename it"));
            }
            files::write(&Self::path(cache), text.as_bytes())?;
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn listed(name: &str, version: u64, standing: PackStanding) -> Listed {
        let path = PathBuf::from(format!("{name} of a game.pack"));
        Listed { standing, root: Root([version as u8; 32]), version, name: name.into(), signer: None, path }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(PackList::read(dir.path()).unwrap(), PackList::default());
        let signed = Listed { signer: Some("0123456789ABCDEF".into()), ..listed("b", 2, PackStanding::Removed) };
        let list = vec![listed("a", 1, PackStanding::Accepted), signed, listed("c.d-e", 3, PackStanding::Withdrawn)];
        PackList::change(dir.path(), |to| {
            to.0.clone_from(&list);
            Ok(())
        })
        .unwrap();
        assert_eq!(PackList::read(dir.path()).unwrap().0, list);
        assert_eq!(PackList::read(dir.path()).unwrap().accepted().count(), 1);
    }

    #[test]
    fn what_is_wrong_is_refused_by_its_line() {
        let root = Root([7; 32]);
        for (text, why) in [
            (String::new(), "begin with"),
            ("dovetail packs 2\n".into(), "begin with"),
            (format!("{HEAD}\naccepted {root} 1 a -"), "line 2: malformed input: no path"),
            (format!("{HEAD}\n\nwanted {root} 1 a - p"), "line 3: malformed input: `wanted`"),
            (format!("{HEAD}\naccepted {root}0 1 a - p"), "64 hexadecimal digits"),
            (format!("{HEAD}\naccepted {root} one a - p"), "not a version"),
            (format!("{HEAD}\naccepted {root} 1 ../a - p"), "pack name"),
            (format!("{HEAD}\n{}", format!("accepted {root} 1 a - p\n").repeat(65)), "at most 64"),
        ] {
            let refused = PackList::parse(&text).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
        let dir = tempfile::tempdir().unwrap();
        let broken = Listed { path: "a\nb".into(), ..listed("a", 1, PackStanding::Accepted) };
        assert!(
            PackList::change(dir.path(), |list| {
                list.0.push(broken);
                Ok(())
            })
            .is_err()
        );
        assert!(!PackList::path(dir.path()).exists());
    }

    #[test]
    fn a_list_into_which_every_user_may_write_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        PackList::change(dir.path(), |list| {
            list.0.push(listed("a", 1, PackStanding::Accepted));
            Ok(())
        })
        .unwrap();
        std::fs::set_permissions(packs_dir(dir.path()), Permissions::from_mode(0o777)).unwrap();
        assert!(PackList::read(dir.path()).unwrap_err().to_string().contains("every user may write"));
    }
}
