//! Whatever damage its files have, a store opens, serves no wrong byte, and keeps what is stored next.
//!
//! In a debug build LMDB faults on any page that was not checked before, so these tests also verify that all of them
//! are.

use dovetail::cache::{Cache, Key, StoreKind};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const ENTRIES: u32 = 160;

/// Deterministic random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

fn key(n: u32) -> Key {
    Key(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

/// A value in the leaf, in one overflow page, or in several.
fn value(n: u32) -> Vec<u8> {
    vec![n as u8; [10, 900, 3000, 9000][n as usize % 4] + n as usize]
}

/// The missing entries; all others must be correct.
fn missing(cache: &Cache, what: &str) -> Vec<u32> {
    let is_missing = |n: &u32| match cache.get(&key(*n)) {
        Some(found) => {
            assert!(found == value(*n), "{what}: entry {n} is wrong");
            false
        }
        None => true,
    };
    (0..ENTRIES).filter(is_missing).collect()
}

/// Stores entries from many threads; waiting ones are combined into one transaction.
fn put(cache: &Cache, entries: &[u32], what: &str) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16.min(entries.len()) {
            scope.spawn(|| {
                while let Some(&n) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
                    cache.put(&key(n), &value(n)).unwrap_or_else(|e| panic!("{what}: entry {n}: {e}"));
                }
            });
        }
    });
}

/// Checks that every entry is correct or missing, and that missing ones can be stored; returns how many were missing.
fn recovers(dir: &Path, kind: StoreKind, what: &str) -> usize {
    let cache = Cache::open(dir, kind).unwrap_or_else(|e| panic!("{what}: {e}"));
    let first = missing(&cache, what);
    put(&cache, &first, what);
    // If a put sets a store aside, its intact entries are missing in the new one. A put detects damage only on its own
    // path, so that may be the second put of an entry that the damage hides.
    for _ in 0..2 {
        put(&cache, &missing(&cache, what), what);
    }
    let notices = cache.notices();
    let aside = fs::read_dir(dir).unwrap().any(|e| e.unwrap().file_name().to_string_lossy().contains(".bad-"));
    assert!(aside == notices.iter().any(|line| line.contains("set aside")), "{what}: {notices:?}");
    drop(cache);
    let again = missing(&Cache::open(dir, kind).unwrap(), what);
    assert!(again.is_empty(), "{what}: not kept: {again:?}");
    first.len()
}

/// A folder in a memory file system if there is one: these tests store a hundred thousand entries.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn filled(kind: StoreKind) -> tempfile::TempDir {
    let dir = folder();
    put(&Cache::open(dir.path(), kind).unwrap(), &(0..ENTRIES).collect::<Vec<_>>(), "new");
    dir
}

fn copied(from: &Path) -> tempfile::TempDir {
    let dir = folder();
    let done = Command::new("cp").arg("-r").arg(from.join(".")).arg(dir.path()).status().unwrap();
    assert!(done.success());
    dir
}

fn cut(file: &Path, size: u64) {
    fs::File::options().write(true).open(file).unwrap().set_len(size).unwrap();
}

#[test]
fn a_cut_lmdb_file_costs_what_was_cut() {
    let whole = filled(StoreKind::Lmdb);
    let size = fs::metadata(whole.path().join("lmdb/data.mdb")).unwrap().len();
    for to in [0, 1, 152, 4095, 4096, 8191, 8192, 12288, size / 2, size - 4096, size - 1] {
        let dir = copied(whole.path());
        cut(&dir.path().join("lmdb/data.mdb"), to);
        let missing = recovers(dir.path(), StoreKind::Lmdb, &format!("cut to {to} of {size}"));
        assert!(missing > 0 || to > size / 2, "cut to {to}: nothing was lost");
    }
}

/// Offsets of a file's pages of one kind.
fn pages(file: &Path, kind: &str) -> Vec<u64> {
    let bytes = fs::read(file).unwrap();
    let headed = |page: &[u8], number: usize| u64::from_le_bytes(page[..8].try_into().unwrap()) == number as u64;
    let of = |(number, page): (usize, &[u8])| {
        let flags = if headed(page, number) { u16::from_le_bytes(page[10..12].try_into().unwrap()) } else { 0 };
        let found = match flags {
            1 => "branch",
            2 => "leaf",
            4 => "overflow",
            8 => "meta",
            _ => "other",
        };
        (found == kind).then_some(number as u64)
    };
    bytes.chunks(4096).enumerate().filter_map(of).collect()
}

#[test]
fn damaged_pages_of_lmdb_are_missing_entries_or_a_fresh_store() {
    let whole = filled(StoreKind::Lmdb);
    let mut random = Random(1);
    let mut lost = 0;
    for round in 0..200 {
        let dir = copied(whole.path());
        let path = dir.path().join("lmdb/data.mdb");
        let kind = ["meta", "branch", "leaf", "overflow", "other"][round % 5];
        let all = pages(&path, kind);
        let page = all[random.below(all.len() as u64) as usize];
        let file = fs::File::options().read(true).write(true).open(&path).unwrap();
        // Half of the damage goes to page headers and node offsets, because these are followed.
        let range = if random.below(2) == 0 { 152 } else { 4096 };
        let what = match random.below(4) {
            0 => {
                let bytes: Vec<u8> = (0..512).map(|_| random.below(256) as u8).collect();
                file.write_all_at(&bytes, 4096 * page + 512 * random.below(8)).unwrap();
                "512 random bytes"
            }
            1 => {
                file.write_all_at(&[0; 4096], 4096 * page).unwrap();
                "zeros"
            }
            _ => {
                for _ in 0..=random.below(3) {
                    let at = 4096 * page + random.below(range);
                    let mut byte = [0];
                    file.read_exact_at(&mut byte, at).unwrap();
                    file.write_all_at(&[byte[0] ^ (1 << random.below(8))], at).unwrap();
                }
                "flipped bits"
            }
        };
        lost += recovers(dir.path(), StoreKind::Lmdb, &format!("round {round}: {what} in {kind} page {page}"));
    }
    assert!(lost > 0, "200 damages did none");
}

#[test]
fn pages_in_the_place_of_others_lead_nowhere() {
    let whole = filled(StoreKind::Lmdb);
    let mut random = Random(2);
    for round in 0..60 {
        let dir = copied(whole.path());
        let path = dir.path().join("lmdb/data.mdb");
        let bytes = fs::read(&path).unwrap();
        let pages = bytes.len() as u64 / 4096;
        let (from, to) = (random.below(pages), random.below(pages));
        let mut page = bytes[4096 * from as usize..][..4096].to_vec();
        if round % 2 == 0 {
            // The page may even claim its new number: two paths then lead to the same nodes.
            page[..8].copy_from_slice(&to.to_le_bytes());
        }
        fs::File::options().write(true).open(&path).unwrap().write_all_at(&page, 4096 * to).unwrap();
        recovers(dir.path(), StoreKind::Lmdb, &format!("page {from} in the place of {to}"));
    }
}

#[test]
fn what_is_no_lmdb_file_is_set_aside() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 8] = [
        ("a folder for data.mdb", |dir| {
            fs::remove_file(dir.join("lmdb/data.mdb")).unwrap();
            fs::create_dir(dir.join("lmdb/data.mdb")).unwrap();
        }),
        ("a FIFO for data.mdb", |dir| {
            fs::remove_file(dir.join("lmdb/data.mdb")).unwrap();
            assert!(Command::new("mkfifo").arg(dir.join("lmdb/data.mdb")).status().unwrap().success());
        }),
        ("a text for data.mdb", |dir| fs::write(dir.join("lmdb/data.mdb"), "text\n".repeat(9000)).unwrap()),
        ("a file for the folder", |dir| {
            fs::remove_dir_all(dir.join("lmdb")).unwrap();
            fs::write(dir.join("lmdb"), "text").unwrap();
        }),
        ("no folder", |dir| fs::remove_dir_all(dir.join("lmdb")).unwrap()),
        ("a broken lock file", |dir| fs::write(dir.join("lmdb.lock"), "text").unwrap()),
        ("a lock of LMDB's", |dir| fs::write(dir.join("lmdb/lock.mdb"), [0xa5; 8192]).unwrap()),
        ("no lock file", |dir| fs::remove_file(dir.join("lmdb.lock")).unwrap()),
    ];
    let whole = filled(StoreKind::Lmdb);
    for (what, damage) in damages {
        let dir = copied(whole.path());
        damage(dir.path());
        let missing = recovers(dir.path(), StoreKind::Lmdb, what);
        assert_eq!(missing, if what.contains("lock") { 0 } else { ENTRIES as usize }, "{what}");
    }
}

#[test]
fn what_describes_a_cache_is_also_in_the_store_that_replaces_a_damaged_one() {
    let dir = filled(StoreKind::Lmdb);
    let open = || Cache::open(dir.path(), StoreKind::Lmdb).unwrap();
    let (cache, described) = (open(), key(ENTRIES));
    cache.put_lasting(&described, b"made by").unwrap();
    let mut before = cache.identity();
    // Replaced by this process, by another one, and by this one when it stores a result.
    for (n, replacing) in [&cache, &open(), &cache].into_iter().enumerate() {
        fs::write(dir.path().join("lmdb/data.mdb"), "text\n".repeat(9000)).unwrap();
        replacing.put(&key(0), &value(0)).unwrap();
        assert_ne!(cache.identity(), before, "replacement {n}");
        before = cache.identity();
        cache.keep(&key(1), &value(1));
        assert_eq!(open().get(&described).as_deref(), Some(&b"made by"[..]), "replacement {n}");
        assert_eq!(cache.identity(), before, "replacement {n}");
    }
}

#[test]
fn damage_while_a_store_is_open_costs_entries_only() {
    let whole = filled(StoreKind::Lmdb);
    let size = fs::metadata(whole.path().join("lmdb/data.mdb")).unwrap().len();
    let dir = copied(whole.path());
    let path = dir.path().join("lmdb/data.mdb");
    let cache = Cache::open(dir.path(), StoreKind::Lmdb).unwrap();
    let (mut random, stop) = (Random(3), AtomicBool::new(false));
    let mut damages = 0;
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (cache, stop) = (&cache, &stop);
            scope.spawn(move || {
                let mut random = Random(thread);
                while !stop.load(Ordering::Relaxed) {
                    let n = random.below(u64::from(ENTRIES)) as u32;
                    match cache.get(&key(n)) {
                        Some(found) => assert!(found == value(n), "entry {n} is wrong"),
                        // After repeated truncation, a new store may be damaged before it is written to.
                        None => drop(cache.put(&key(n), &value(n))),
                    }
                }
            });
        }
        for _ in 0..200 {
            std::thread::sleep(std::time::Duration::from_micros(random.below(10_000)));
            let Ok(file) = fs::File::options().write(true).open(&path) else { continue };
            damages += 1;
            match random.below(3) {
                0 => file.set_len(random.below(size)).unwrap(),
                1 => file.write_all_at(&[0xff; 4096], 4096 * (2 + random.below(40))).unwrap(),
                _ => file.set_len(4096 * random.below(4)).unwrap(),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(cache);
    assert!(damages > 100, "{damages}");
    let aside =
        fs::read_dir(dir.path()).unwrap().filter(|e| e.as_ref().unwrap().path().to_string_lossy().contains(".bad-"));
    assert!(aside.count() > 10, "the file was hardly ever damaged when it was written to");
    let fresh = copied(dir.path());
    for old in fs::read_dir(fresh.path()).unwrap().map(|e| e.unwrap().path()) {
        if old.to_string_lossy().contains(".bad-") {
            fs::remove_dir_all(old).unwrap();
        }
    }
    recovers(fresh.path(), StoreKind::Lmdb, "what was left");
}

/// Files of a folder, largest first.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() { found.extend(files(&entry)) } else { found.push(entry) }
    }
    found.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).unwrap().len()));
    found
}

#[test]
fn a_size_that_is_a_lie_is_not_allocated() {
    let dir = tempfile::tempdir().expect("a folder");
    let (key, value) = (key(1), vec![7; 9000]);
    Cache::open(dir.path(), StoreKind::Lmdb).expect("a cache").put(&key, &value).expect("an entry");
    // A leaf node: size, flags, key length, key. The value is in pages of its own, and the file is extended to its new
    // size as a sparse file.
    let file = dir.path().join("lmdb/data.mdb");
    let mut bytes = fs::read(&file).expect("the file");
    let at = bytes.windows(32).rposition(|window| window == key.0).expect("the key");
    assert_ne!(bytes[at - 4] & 1, 0, "its value is elsewhere");
    bytes[at - 8..at - 4].copy_from_slice(&(1u32 << 30).to_le_bytes());
    fs::write(&file, bytes).expect("the file");
    fs::File::options().write(true).open(&file).expect("the file").set_len(3 << 30).expect("a sparse file");
    let cache = Cache::open(dir.path(), StoreKind::Lmdb).expect("a cache");
    let (largest, found) = crate::alloc::largest(|| cache.get(&key));
    assert_eq!(found, None);
    assert!(largest < 1 << 20, "{largest} bytes");
}

#[test]
fn a_folder_may_have_any_name() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().expect("a folder");
    for name in [&b"\xff\xfe no utf-8"[..], b"two\nlines", b"ends in a blank ", b"(deleted)"] {
        let cache = Cache::open(&dir.path().join(std::ffi::OsStr::from_bytes(name)), StoreKind::Lmdb).expect("a cache");
        cache.put(&key(1), b"kept").unwrap_or_else(|e| panic!("{name:?}: {e}"));
        assert_eq!(cache.get(&key(1)).as_deref(), Some(&b"kept"[..]), "{name:?}");
    }
}

#[test]
fn damaged_sled_files_are_missing_entries_or_a_fresh_store() {
    let whole = filled(StoreKind::Sled);
    let mut random = Random(4);
    for round in 0..60 {
        let dir = copied(whole.path());
        let all = files(&dir.path().join("sled"));
        let path = &all[random.below(all.len() as u64) as usize];
        let size = fs::metadata(path).unwrap().len();
        let what = match round % 4 {
            0 => {
                cut(path, 0);
                "emptied"
            }
            1 => {
                cut(path, random.below(size + 1));
                "cut"
            }
            _ if size == 0 => "left",
            _ => {
                let mut bytes = fs::read(path).unwrap();
                for _ in 0..=random.below(3) {
                    bytes[random.below(size) as usize] ^= 1 << random.below(8);
                }
                fs::write(path, bytes).unwrap();
                "flipped bits"
            }
        };
        let name = path.file_name().unwrap().display();
        recovers(dir.path(), StoreKind::Sled, &format!("round {round}: {name} {what}"));
    }
}
