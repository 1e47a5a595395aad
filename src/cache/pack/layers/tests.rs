use crate::format::Root;
use crate::layers::{Layers, open};
use crate::list::{Listed, PackList, PackStanding, packs_dir};
use crate::testing::{Contents, contents, key, write};
use dovetail_cache::{Cache, MemoryStore, Store, StoreKind};
use proptest::prelude::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Adds a pack to a cache, on top of the others.
fn add(cache: &Path, name: &str, contents: &Contents) -> Root {
    fs::create_dir_all(packs_dir(cache)).unwrap();
    let path = format!("{name}.pack");
    let root = write(&packs_dir(cache).join(&path), contents);
    let standing = PackStanding::Accepted;
    let line = Listed { standing, root, version: 1, name: name.into(), signer: None, path: path.into() };
    PackList::change(cache, |list| {
        list.0.insert(0, line);
        Ok(())
    })
    .unwrap();
    root
}

fn layers(cache: &Path) -> Layers {
    Layers::new(cache, StoreKind::Lmdb.open(cache).unwrap(), None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Results in a store above packs are found as if one store had them all, put one after the other.
    #[test]
    fn layers_are_as_one_store(puts in proptest::collection::vec((0u32..60, any::<u8>(), 0usize..4), 0..200)) {
        let dir = tempfile::tempdir().unwrap();
        let mut layer = vec![Contents::new(); 4];
        puts.iter().for_each(|(n, value, at)| drop(layer[*at].insert(key(*n), vec![*value; *value as usize])));
        let one = Cache::new(Box::new(MemoryStore::default()));
        for (number, contents) in layer.iter().enumerate() {
            contents.iter().for_each(|(key, bytes)| one.put(key, bytes).unwrap());
            if number < 3 {
                add(dir.path(), &number.to_string(), contents);
            }
        }
        let several = Cache::new(Box::new(layers(dir.path())));
        layer[3].iter().for_each(|(key, bytes)| several.put(key, bytes).unwrap());
        for n in 0..80 {
            let (found, wanted) = (several.get_digested(&key(n)), one.get_digested(&key(n)));
            prop_assert_eq!(found.as_ref().map(|one| one.digest()), wanted.as_ref().map(|one| one.digest()));
            prop_assert_eq!(found.as_deref(), wanted.as_deref());
            prop_assert_eq!(several.get_each(&key(n)).first().map(|one| one.to_vec()), wanted.map(|one| one.to_vec()));
        }
        prop_assert_eq!(several.stats(), one.stats());
        prop_assert_eq!(several.notices(), Vec::<String>::new());
        // The store's own keys only.
        let mut own = Vec::new();
        while let Some(more) = Some(several.keys_after(own.last()).unwrap()).filter(|more| !more.is_empty()) {
            own.extend(more);
        }
        prop_assert!(own.iter().eq(layer[3].keys()));
    }
}

#[test]
fn a_damaged_pack_hides_none_and_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path();
    add(cache, "below", &contents(100));
    add(cache, "above", &contents(200));
    let above = packs_dir(cache).join("above.pack");
    let mut bytes = fs::read(&above).unwrap();
    let data = bytes.len() / 4;
    bytes[64..data].fill(0x77);
    fs::write(&above, &bytes).unwrap();
    let cache = Cache::new(Box::new(layers(cache)));
    for (key, bytes) in contents(100) {
        assert_eq!(cache.get(&key), Some(bytes));
    }
    let found = (100..200).filter(|n| cache.get(&key(*n)).is_some()).count() as u64;
    assert!(found < 100);
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses, stats.bad), (100 + found, 100 - found, 100 - found));
    let notices = cache.notices();
    assert!(notices.len() == 1 && notices[0].contains("above.pack") && notices[0].contains("damaged"), "{notices:?}");
}

#[test]
fn a_pack_that_is_not_the_one_that_was_added_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path();
    add(cache, "good", &contents(10));
    let root = add(cache, "other", &contents(20));
    assert!(layers(cache).get_checked(&key(15)).unwrap().is_some());
    // Complete in itself, but another's.
    assert_ne!(write(&packs_dir(cache).join("other.pack"), &contents(21)), root);
    let opened = open(cache, StoreKind::Lmdb).unwrap();
    assert!(opened.get(&key(5)).is_some() && opened.get(&key(15)).is_none());
    assert_eq!(opened.stats().bad, 1);
    assert!(opened.unread().is_some_and(|why| why.to_string().contains("not the pack that was added")));
    let notices = opened.notices();
    assert!(notices.len() == 1 && notices[0].contains("other.pack"), "{notices:?}");
    // Withdrawn or removed by the user is no damage.
    for standing in [PackStanding::Withdrawn, PackStanding::Removed] {
        PackList::change(cache, |list| {
            list.0[0].standing = standing;
            Ok(())
        })
        .unwrap();
        let opened = open(cache, StoreKind::Lmdb).unwrap();
        assert!(opened.get(&key(15)).is_none() && opened.stats().bad == 0 && opened.notices().is_empty());
    }
    fs::write(PackList::path(cache), "anything").unwrap();
    let opened = open(cache, StoreKind::Lmdb).unwrap();
    assert!(opened.get(&key(5)).is_none() && opened.stats().bad == 1);
    opened.put(&key(5), b"compiled again").unwrap();
    assert!(opened.get(&key(5)).is_some());
}

#[test]
fn packs_that_come_and_go_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let layers = layers(dir.path());
    let due = || layers.looked.store(0, Ordering::Relaxed);
    assert!(layers.get_checked(&key(15)).unwrap().is_none());
    add(dir.path(), "new", &contents(20));
    std::thread::sleep(std::time::Duration::from_millis(1001));
    assert!(layers.get_checked(&key(15)).unwrap().is_some());
    let before = layers.packs().packs[0].clone();
    add(dir.path(), "newer", &contents(30));
    due();
    assert!(layers.get_checked(&key(25)).unwrap().is_some());
    assert!(std::sync::Arc::ptr_eq(&before, &layers.packs().packs[1]), "it was opened again");
    // A pack in the place of a damaged one.
    let path = packs_dir(dir.path()).join("newer.pack");
    fs::rename(&path, dir.path().join("moved")).unwrap();
    fs::copy(dir.path().join("moved"), &path).unwrap();
    due();
    assert!(layers.has_changed() && !std::sync::Arc::ptr_eq(&layers.packs().packs[0], &before));
    assert!(
        layers.packs().packs.iter().all(|pack| pack.is_in_place()) && layers.get_checked(&key(25)).unwrap().is_some()
    );
    PackList::change(dir.path(), |list| {
        list.0.clear();
        Ok(())
    })
    .unwrap();
    layers.reopen();
    assert!(layers.get_checked(&key(15)).unwrap().is_none());
}

#[test]
fn the_systems_packs_are_trusted_by_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, system) = (dir.path().join("cache"), dir.path().join("system"));
    fs::create_dir(&system).unwrap();
    let root = write(&system.join("a.pack"), &contents(10));
    fs::write(system.join("notes.txt"), "no pack").unwrap();
    let open =
        || Cache::new(Box::new(Layers::new(&cache, StoreKind::Lmdb.open(&cache).unwrap(), Some(system.clone()))));
    if std::os::unix::fs::MetadataExt::uid(&fs::metadata(&system).unwrap()) != 0 {
        assert!(open().get(&key(5)).is_none(), "a folder of a user");
        return;
    }
    fs::set_permissions(system.join("a.pack"), Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(&system, Permissions::from_mode(0o755)).unwrap();
    assert!(open().get(&key(5)).is_some());
    // What was withdrawn for this cache is not read from there either.
    let (standing, name, path) = (PackStanding::Withdrawn, "test".to_owned(), "-".into());
    let line = Listed { standing, root, version: 1, name, signer: None, path };
    PackList::change(&cache, |list| {
        list.0.push(line);
        Ok(())
    })
    .unwrap();
    assert!(open().get(&key(5)).is_none());
    PackList::change(&cache, |list| {
        list.0.clear();
        Ok(())
    })
    .unwrap();
    for open_to_all in [system.clone(), system.join("a.pack")] {
        let mode = fs::metadata(&open_to_all).unwrap().permissions();
        fs::set_permissions(&open_to_all, Permissions::from_mode(0o777)).unwrap();
        let cache = open();
        assert!(cache.get(&key(5)).is_none() && cache.notices().concat().contains("must belong to root"));
        fs::set_permissions(&open_to_all, mode).unwrap();
    }
    assert!(open().get(&key(5)).is_some());
}
