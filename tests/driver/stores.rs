//! Conformance tests for every cache backend.

use dovetail::cache::{Cache, Key, Store, StoreKind};
use std::path::Path;

fn key(n: u32) -> Key {
    Key(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

fn keeps_replaces_and_misses(store: &dyn Store) {
    assert_eq!(store.get(&key(0)).unwrap(), None);
    for n in 0..50 {
        store.put(&key(n), &vec![n as u8; n as usize * 1000]).unwrap();
    }
    store.put(&key(3), b"replaced").unwrap();
    assert_eq!(store.get(&key(3)).unwrap().unwrap(), b"replaced");
    assert_eq!(store.get(&key(0)).unwrap().unwrap(), b"");
    assert_eq!(store.get(&key(49)).unwrap().unwrap().len(), 49_000);
    assert_eq!(store.get(&key(50)).unwrap(), None);
}

fn serves_many_threads(store: &dyn Store) {
    std::thread::scope(|scope| {
        for t in 0..4u32 {
            scope.spawn(move || {
                for n in 0..25 {
                    let k = key(1000 + t * 100 + n);
                    store.put(&k, &k.0).unwrap();
                    assert_eq!(store.get(&k).unwrap().unwrap(), k.0);
                }
            });
        }
    });
}

fn survives_reopening(kind: StoreKind, dir: &Path) {
    kind.open(dir).unwrap().put(&key(7), b"kept").unwrap();
    assert_eq!(kind.open(dir).unwrap().get(&key(7)).unwrap().unwrap(), b"kept");
}

fn broken_entries_are_counted_misses(kind: StoreKind, dir: &Path) {
    let store = kind.open(dir).unwrap();
    store.put(&key(1), b"not an envelope").unwrap();
    let cache = Cache::new(store);
    assert_eq!(cache.get(&key(1)), None);
    assert_eq!(cache.get(&key(2)), None);
    cache.put(&key(1), b"right").unwrap();
    assert_eq!(cache.get(&key(1)).unwrap(), b"right");
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses, stats.bad), (1, 2, 1));
}

fn conforms(kind: StoreKind) {
    let dir = tempfile::tempdir().unwrap();
    keeps_replaces_and_misses(&*kind.open(&dir.path().join("a")).unwrap());
    serves_many_threads(&*kind.open(&dir.path().join("b")).unwrap());
    if kind != StoreKind::Memory {
        survives_reopening(kind, &dir.path().join("c"));
    }
    broken_entries_are_counted_misses(kind, &dir.path().join("d"));
}

#[test]
fn lmdb_conforms() {
    conforms(StoreKind::Lmdb);
}

#[test]
fn sled_conforms() {
    conforms(StoreKind::Sled);
}

#[test]
fn memory_conforms() {
    conforms(StoreKind::Memory);
}

#[test]
fn a_stopped_writer_holds_up_nobody_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let store = StoreKind::Lmdb.open(dir.path()).unwrap();
    store.put(&key(1), b"before").unwrap();
    let lock = std::fs::File::options().write(true).open(dir.path().join("lmdb.lock")).unwrap();
    lock.lock().unwrap();
    let started = std::time::Instant::now();
    let refused = store.put(&key(2), b"later").unwrap_err();
    assert!(refused.exit_code() == 5 && refused.to_string().contains("may be stopped"), "{refused}");
    // Only the first put waits.
    assert!((0..100).all(|n| store.put(&key(n), b"later").is_err()));
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    assert_eq!(store.get(&key(1)).unwrap().unwrap(), b"before");
    drop(lock);
    store.put(&key(2), b"later").unwrap();
    assert_eq!(store.get(&key(2)).unwrap().unwrap(), b"later");
}
