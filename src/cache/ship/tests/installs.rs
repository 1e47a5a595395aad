//! Which packs are accepted.

use super::{Contents, Signer, contents, has, key, write};
use crate::install::{Terms, add, add_to_system, leave_out, remove};
use crate::transport::compress;
use crate::trust::{Trust, signature_path};
use dovetail_base::error::Result;
use dovetail_cache::StoreKind;
use dovetail_pack::{Layers, Pack, PackList, PackStanding, Root, packs_dir};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A cache, a trusted folder with one key, and a place for packs.
struct Setting {
    dir: tempfile::TempDir,
    signer: Signer,
}

impl Setting {
    fn new() -> Self {
        let (dir, signer) = (tempfile::tempdir().unwrap(), Signer::new());
        fs::create_dir(dir.path().join("trust")).unwrap();
        signer.publish(&dir.path().join("trust/farm.pub"));
        Self { dir, signer }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn trust(&self) -> Trust {
        Trust::read(&[self.at("trust"), self.at("no such folder")]).unwrap()
    }

    /// A signed pack of `game`.
    fn pack(&self, version: u64, contents: &Contents) -> (PathBuf, Root) {
        let path = self.at(&format!("game-{version}.pack"));
        let root = write(&path, "game", version, contents);
        self.signer.sign(&path);
        (path, root)
    }

    fn add(&self, pack: &Path, terms: &Terms) -> Result<crate::install::Added> {
        add(pack, &self.at("cache"), &self.trust(), terms, &mut || ())
    }

    /// Adding must fail with this exit code and text, and leave the cache as it was.
    fn refused(&self, pack: &Path, terms: &Terms, code: u8, why: &str) {
        let files = || {
            let found = fs::read_dir(packs_dir(&self.at("cache"))).into_iter().flatten();
            let mut names: Vec<_> = found.map(|found| found.unwrap().file_name()).collect();
            names.retain(|name| name != "list.lock");
            names.sort();
            names
        };
        let before = (PackList::read(&self.at("cache")).unwrap(), files());
        let e = self.add(pack, terms).expect_err(why);
        assert!(e.exit_code() == code && e.to_string().contains(why), "{e}, not {why}");
        assert_eq!((PackList::read(&self.at("cache")).unwrap(), files()), before, "{why}");
    }

    fn finds(&self, n: u32) -> bool {
        let cache = self.at("cache");
        let store = StoreKind::Lmdb.open(&cache).unwrap();
        dovetail_cache::Cache::new(Box::new(Layers::new(&cache, store, None))).get(&key(n)).is_some()
    }
}

#[test]
fn a_signed_pack_is_added_and_a_newer_one_replaces_it() {
    let here = Setting::new();
    let (one, _) = here.pack(1, &contents(10));
    let added = here.add(&one, &Terms::default()).unwrap();
    assert_eq!((added.replaces, added.comment.as_deref()), (None, Some("by a test")));
    assert!(has(&Pack::open(&added.path).unwrap(), &contents(10)) && here.finds(5) && !here.finds(15));
    // Again is the same.
    assert_eq!(here.add(&one, &Terms::default()).unwrap().listed, added.listed);
    let (two, _) = here.pack(2, &contents(20));
    // On its way it may be compressed; its signature is that of the pack.
    compress(&two, &here.at("game-2.pack.zst"), 3, &mut || ()).unwrap();
    let newer = here.add(&here.at("game-2.pack.zst"), &Terms::default()).unwrap();
    assert_eq!(newer.replaces, Some(1));
    assert!(here.finds(15) && !added.path.exists());
    assert_eq!(PackList::read(&here.at("cache")).unwrap().0, [newer.listed]);
}

#[test]
fn who_signed_it_decides() {
    let here = Setting::new();
    let terms = Terms::default();
    let (pack, _) = here.pack(1, &contents(10));
    let signature = signature_path(&pack);
    let good = fs::read(&signature).unwrap();
    // Nobody.
    fs::remove_file(&signature).unwrap();
    here.refused(&pack, &terms, 5, "not signed");
    // Somebody else.
    let other = Signer::new();
    other.sign(&pack);
    here.refused(&pack, &terms, 5, "not trusted");
    // The right key, but another pack.
    let (wrong, _) = here.pack(9, &contents(11));
    fs::copy(signature_path(&wrong), &signature).unwrap();
    here.refused(&pack, &terms, 2, "not the signature of this file");
    // Every bit of the signature and of the signed comment.
    for at in 0..good.len() {
        let line = good[..at].iter().filter(|byte| **byte == b'\n').count();
        // The first line is a comment that nobody signs.
        if line == 0 {
            continue;
        }
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            fs::write(&signature, bad).unwrap();
            let checked = here.trust().check(&pack, &signature, &mut || ());
            // The end of a line, or of the file, may have other forms.
            let same = checked.as_ref().is_ok_and(|signed| signed.comment == "by a test" && good[at] == b'\n');
            assert!(checked.is_err() || same, "byte {at} bit {bit}");
        }
    }
    // Elsewhere.
    fs::remove_file(&signature).unwrap();
    fs::write(here.at("signature"), &good).unwrap();
    here.add(&pack, &Terms { signature: Some(here.at("signature")), ..Terms::default() }).unwrap();
    // Accepted without one by who says so.
    let (mine, _) = here.pack(2, &contents(12));
    fs::remove_file(signature_path(&mine)).unwrap();
    let added = here.add(&mine, &Terms { unsigned: true, ..Terms::default() }).unwrap();
    assert_eq!(added.listed.signer, None);
}

#[test]
fn a_damaged_pack_is_refused_even_if_its_signature_is_right() {
    let here = Setting::new();
    let (pack, _) = here.pack(1, &contents(10));
    let good = fs::read(&pack).unwrap();
    for at in [0, 40, 100, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&pack, &bad).unwrap();
        here.signer.sign(&pack);
        here.refused(&pack, &Terms::default(), 2, "game-1.pack");
        here.refused(&pack, &Terms { unsigned: true, ..Terms::default() }, 2, "game-1.pack");
    }
    fs::write(&pack, &good[..good.len() - 1]).unwrap();
    here.refused(&pack, &Terms::default(), 2, "copy it again");
}

#[test]
fn older_versions_are_refused_also_after_a_removal() {
    let here = Setting::new();
    let ([one, two], terms) = ([1, 2].map(|version| here.pack(version, &contents(10)).0), Terms::default());
    here.add(&two, &terms).unwrap();
    here.refused(&one, &terms, 5, "version 1 of `game` is older");
    let removed = remove(&here.at("cache"), "game").unwrap();
    assert!(removed.version == 2 && !here.finds(5));
    assert!(remove(&here.at("cache"), "game").is_err() && remove(&here.at("cache"), "other").is_err());
    here.refused(&one, &terms, 5, "version 2 is or was here");
    // Another pack under the same version.
    let (other, _) = here.pack(2, &contents(11));
    here.refused(&other, &terms, 5, "another pack of the same version");
    here.add(&one, &Terms { downgrade: true, ..Terms::default() }).unwrap();
    assert!(here.finds(5));
    // Of another name.
    let path = here.at("other.pack");
    write(&path, "other", 1, &contents(30));
    here.signer.sign(&path);
    here.add(&path, &terms).unwrap();
    let names: Vec<String> = PackList::read(&here.at("cache")).unwrap().0.into_iter().map(|line| line.name).collect();
    assert_eq!(names, ["other", "game"]);
}

#[test]
fn what_its_signer_has_withdrawn_is_left_out_and_refused() {
    let here = Setting::new();
    let (pack, root) = here.pack(1, &contents(10));
    here.add(&pack, &Terms::default()).unwrap();
    let list = here.at("trust/farm.withdrawn.toml");
    let withdraw = |by: &Signer, text: &str| {
        fs::write(&list, text).unwrap();
        by.sign(&list);
    };
    let left_out = || leave_out(&here.at("cache"), &here.trust());
    // Another's packs cannot be withdrawn, whether the other is trusted or not.
    let other = Signer::new();
    for trusted in [false, true] {
        if trusted {
            other.publish(&here.at("trust/other.pub"));
        }
        withdraw(&other, &format!("key = true\nroots = [\"{root}\"]"));
        assert_eq!(left_out().unwrap(), Vec::<String>::new());
    }
    withdraw(&here.signer, "roots = []");
    assert_eq!(left_out().unwrap(), Vec::<String>::new());
    assert!(here.finds(5));
    withdraw(&here.signer, &format!("roots = [\"{root}\"]"));
    let told = left_out().unwrap();
    assert!(told.len() == 1 && told[0].contains("pack game 1"), "{told:?}");
    assert!(!here.finds(5) && left_out().unwrap().is_empty());
    assert_eq!(PackList::read(&here.at("cache")).unwrap().0[0].standing, PackStanding::Withdrawn);
    here.refused(&pack, &Terms::default(), 5, "withdrawn");
    // The next version is not.
    let (next, _) = here.pack(2, &contents(11));
    here.add(&next, &Terms::default()).unwrap();
    assert!(here.finds(5));
    // But the key.
    withdraw(&here.signer, "key = true");
    assert_eq!(left_out().unwrap().len(), 1);
    let (last, _) = here.pack(3, &contents(12));
    here.refused(&last, &Terms::default(), 5, "which its owner has withdrawn");
    // A list whose signature is wrong is not passed over.
    fs::write(&list, "key = false").unwrap();
    let refused = Trust::read(&[here.at("trust")]).unwrap_err();
    assert!(refused.exit_code() == 2 && refused.to_string().contains("farm.withdrawn.toml"), "{refused}");
}

#[test]
fn folders_of_keys_are_read_completely_or_not_at_all() {
    let here = Setting::new();
    fs::write(here.at("trust/broken.pub"), "no key").unwrap();
    assert_eq!(Trust::read(&[here.at("trust")]).unwrap_err().exit_code(), 2);
    fs::remove_file(here.at("trust/broken.pub")).unwrap();
    fs::set_permissions(here.at("trust"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Trust::read(&[here.at("trust")]).unwrap_err().to_string().contains("every user may write"));
}

#[test]
fn a_pack_for_every_user_replaces_its_older_version() {
    let here = Setting::new();
    let system = here.at("system");
    let add = |pack: &Path| add_to_system(pack, &system, &here.trust(), &Terms::default(), &mut || ());
    let ([one, two], _) = ([1, 2].map(|version| here.pack(version, &contents(10)).0), ());
    if std::os::unix::fs::MetadataExt::uid(&fs::metadata(here.dir.path()).unwrap()) != 0 {
        assert!(add(&one).is_ok() && add(&two).is_err(), "a folder of a user");
        return;
    }
    add(&one).unwrap();
    assert_eq!(add(&two).unwrap().replaces, Some(1));
    assert!(add(&one).unwrap_err().to_string().contains("is older"));
    let cache = here.at("cache");
    let layers = Layers::new(&cache, StoreKind::Lmdb.open(&cache).unwrap(), Some(system.clone()));
    assert!(dovetail_cache::Cache::new(Box::new(layers)).get(&key(5)).is_some());
    assert_eq!(fs::read_dir(&system).unwrap().count(), 1);
}
