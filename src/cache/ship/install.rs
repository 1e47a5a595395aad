//! Adds packs to a cache or to the system, removes them, and leaves out those that were withdrawn.

use crate::transport::{has_compressed_name, unpack};
use crate::trust::{Trust, signature_path};
use dovetail_base::error::{Context, Error, Result};
use dovetail_cache::refuse_open_to_all;
use dovetail_pack::{Listed, Pack, PackList, PackMeta, PackStanding, Root, packs_dir, system_packs};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What is accepted, and how a pack is added.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The signature; by default beside the pack, with `.minisig` at the end of its name.
    pub signature: Option<PathBuf>,
    /// Accept a pack without a signature.
    pub unsigned: bool,
    /// Accept an older version than the one that is or was there, or another pack of the same version.
    pub downgrade: bool,
}

/// A pack that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Its line in the list.
    pub listed: Listed,
    /// What it says about itself.
    pub meta: PackMeta,
    /// Version of the pack that it replaces.
    pub replaces: Option<u64>,
    /// What the signer says about it.
    pub comment: Option<String>,
    /// Its file.
    pub path: PathBuf,
}

/// A copy of a pack, which was checked completely. It is deleted unless it is given a name.
struct Checked {
    path: PathBuf,
    pack: Pack,
    signer: Option<String>,
    comment: Option<String>,
}

impl Drop for Checked {
    fn drop(&mut self) {
        // Fails if it was renamed.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Checked {
    /// Copies a pack, compressed or not, into a folder, and checks the copy: the original may change meanwhile.
    fn new(from: &Path, folder: &Path, terms: &Terms, trust: &Trust, done: &mut dyn FnMut()) -> Result<Self> {
        let place = || from.display().to_string();
        let path = dovetail_base::files::unfinished(&folder.join("pack"));
        unpack(from, &path, done)?;
        let opened = Pack::open(&path).map_err(|e| strip(e, &path)).at(place);
        let pack = opened.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        let mut checked = Self { path, pack, signer: None, comment: None };
        if let Some(damage) = checked.pack.check(&mut *done).damage.into_iter().next() {
            return Err(Error::malformed(damage).at(place()));
        }
        let beside = [signature_path(from), signature_path(&from.with_extension(""))];
        let beside = beside.into_iter().take(if has_compressed_name(from) { 2 } else { 1 }).find(|path| path.exists());
        match terms.signature.clone().or(beside) {
            Some(signature) => {
                let signed = trust.check(&checked.path, &signature, done)?;
                (checked.signer, checked.comment) = (Some(signed.by.to_string()), Some(signed.comment));
            }
            None if terms.unsigned => {}
            None => {
                let name = signature_path(from).display().to_string();
                let why = format!(
                    "it is not signed ({name} does not exist): ask for its signature, or add it with --unsigned"
                );
                return Err(Error::environment(why).at(place()));
            }
        }
        if let Some(why) = trust.withdrawn(checked.pack.root(), checked.signer.as_deref()) {
            return Err(Error::environment(why).at(place()));
        }
        Ok(checked)
    }

    fn listed(&self, path: &str) -> Listed {
        let PackMeta { name, version, .. } = self.pack.meta().clone();
        let (root, signer) = (self.pack.root(), self.signer.clone());
        Listed { standing: PackStanding::Accepted, root, version, name, signer, path: path.into() }
    }

    fn added(&self, listed: Listed, replaces: Option<u64>, path: PathBuf) -> Added {
        Added { listed, meta: self.pack.meta().clone(), replaces, comment: self.comment.clone(), path }
    }

    /// Gives it its name.
    fn rename(&self, to: &Path) -> Result<()> {
        std::fs::rename(&self.path, to).at(|| to.display().to_string())
    }
}

/// The error without the name of a temporary file.
fn strip(error: Error, path: &Path) -> Error {
    let text = error.to_string().replace(&format!("{}: ", path.display()), "");
    if error.exit_code() == 2 { Error::malformed(text) } else { error }
}

/// Refuses a version that is not newer than one of the same name.
fn refuse_older(meta: &PackMeta, root: Root, known: u64, known_root: Root, terms: &Terms) -> Result<()> {
    let PackMeta { name, version, .. } = meta;
    if terms.downgrade || *version > known || root == known_root {
        return Ok(());
    }
    let what = if *version < known { "is older" } else { "is another pack of the same version" };
    let why = format!("version {version} of `{name}` {what}: version {known} is or was here; --downgrade accepts it");
    Err(Error::environment(why))
}

/// Adds a pack to a cache, above the packs that it has, in the place of another version. `done` is told of its progress.
///
/// # Errors
/// Malformed: the pack or its signature is damaged. Environment: it is not signed, or by no trusted key, it is withdrawn or older
/// than the one that is there; a file cannot be read or written.
pub fn add(from: &Path, cache: &Path, trust: &Trust, terms: &Terms, done: &mut dyn FnMut()) -> Result<Added> {
    let dir = packs_dir(cache);
    std::fs::create_dir_all(&dir).at(|| dir.display().to_string())?;
    refuse_open_to_all(&dir)?;
    let checked = Checked::new(from, &dir, terms, trust, done)?;
    let (meta, root) = (checked.pack.meta().clone(), checked.pack.root());
    let begins: String = root.to_string().chars().take(8).collect();
    let listed = checked.listed(&format!("{}-{}-{begins}.pack", meta.name, meta.version));
    let path = dir.join(&listed.path);
    let (replaced, dropped) = PackList::change(cache, |list| {
        let same = |line: &&Listed| line.name == meta.name;
        for line in list.0.iter().filter(same) {
            refuse_older(&meta, root, line.version, line.root, terms).at(|| from.display().to_string())?;
        }
        let replaced = list.accepted().filter(same).map(|line| line.version).max();
        let dropped: Vec<PathBuf> = list.accepted().filter(same).map(|line| dir.join(&line.path)).collect();
        list.0.retain(|line| line.name != meta.name);
        list.0.insert(0, listed.clone());
        // Under the lock, so that the list never names a file that is not there.
        checked.rename(&path)?;
        Ok((replaced, dropped))
    })?;
    delete(&dropped, &path);
    Ok(checked.added(listed, replaced.filter(|version| *version != meta.version), path))
}

/// Deletes the files of packs that are not listed any longer. Readers keep what they have open.
fn delete(dropped: &[PathBuf], but: &Path) {
    for path in dropped.iter().filter(|path| *path != but) {
        // What stays takes only room.
        let _ = std::fs::remove_file(path);
    }
}

/// Installs a pack for every user, into a folder of the system; readers trust it by its place.
///
/// # Errors
/// As [`add`].
pub fn add_to_system(
    from: &Path,
    folder: &Path,
    trust: &Trust,
    terms: &Terms,
    done: &mut dyn FnMut(),
) -> Result<Added> {
    std::fs::create_dir_all(folder).at(|| folder.display().to_string())?;
    let there = system_packs(folder)?;
    let checked = Checked::new(from, folder, terms, trust, done)?;
    let meta = checked.pack.meta().clone();
    let mut replaced = Vec::new();
    for path in there {
        // One that is damaged is replaced.
        let Ok(old) = Pack::open(&path) else { continue };
        if old.meta().name == meta.name {
            let root = checked.pack.root();
            refuse_older(&meta, root, old.meta().version, old.root(), terms).at(|| from.display().to_string())?;
            replaced.push((old.meta().version, path));
        }
    }
    let name = format!("{}.pack", meta.name);
    let path = folder.join(&name);
    std::fs::set_permissions(&checked.path, Permissions::from_mode(0o644)).at(|| path.display().to_string())?;
    checked.rename(&path)?;
    let version = replaced.iter().map(|(version, _)| *version).max().filter(|version| *version != meta.version);
    delete(&replaced.into_iter().map(|(_, path)| path).collect::<Vec<_>>(), &path);
    Ok(checked.added(checked.listed(&name), version, path))
}

/// Removes a pack from a cache by its name. Its version is remembered, so that an older one is not taken for a new one.
///
/// # Errors
/// Environment: there is none of this name, or the list cannot be written.
pub fn remove(cache: &Path, name: &str) -> Result<Listed> {
    let removed = PackList::change(cache, |list| {
        let line = list.0.iter_mut().find(|line| line.name == name && line.standing == PackStanding::Accepted);
        let line = line.ok_or_else(|| Error::environment(format!("no pack `{name}` is in this cache")))?;
        line.standing = PackStanding::Removed;
        Ok(line.clone())
    })?;
    delete(&[packs_dir(cache).join(&removed.path)], Path::new(""));
    Ok(removed)
}

/// Marks the packs of a cache that their signers have withdrawn, by the standard folders of trust, so that nobody reads them any
/// longer, drivers included. Gives a line for each.
///
/// # Errors
/// Environment: a withdrawn pack cannot be marked. As [`Trust::read`].
pub fn leave_out_withdrawn(cache: &Path) -> Result<Vec<String>> {
    // Whoever reads the cache tells that its list cannot be read.
    let signed = PackList::read(cache).is_ok_and(|list| list.accepted().any(|line| line.signer.is_some()));
    if signed { leave_out(cache, &Trust::standard()?) } else { Ok(Vec::new()) }
}

/// The same, by other folders.
///
/// # Errors
/// As [`leave_out_withdrawn`].
pub fn leave_out(cache: &Path, trust: &Trust) -> Result<Vec<String>> {
    let withdrawn = |line: &Listed| trust.withdrawn(line.root, line.signer.as_deref());
    if !PackList::read(cache)?.accepted().any(|line| withdrawn(line).is_some()) {
        return Ok(Vec::new());
    }
    PackList::change(cache, |list| {
        let mut told = Vec::new();
        for line in list.0.iter_mut().filter(|line| line.standing == PackStanding::Accepted) {
            if let Some(why) = withdrawn(line) {
                line.standing = PackStanding::Withdrawn;
                told.push(format!("pack {} {}: {why}; it is not read any longer", line.name, line.version));
            }
        }
        Ok(told)
    })
    .at(|| "a pack is withdrawn, and cannot be left out")
}
