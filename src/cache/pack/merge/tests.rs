use crate::merge::{Merged, PackSource, Resolve, merge};
use crate::read::Pack;
use crate::testing::{Contents, contents, has, key, meta, write};
use crate::write::PackWriter;
use dovetail_base::error::Result;
use dovetail_cache::{Cache, Key, MemoryStore, Payload, StoreKind};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// Keeps the first of several payloads, and everything.
struct First;

impl Resolve for First {
    fn resolve(&self, _: &Key, _: &[Payload]) -> Result<Option<Payload>> {
        Ok(None)
    }

    fn wants(&self, _: &Key, _: &Payload) -> bool {
        true
    }
}

fn merged(sources: &[&dyn PackSource], to: &Path) -> (Merged, Vec<u8>) {
    let mut writer = PackWriter::create(to).unwrap();
    let merged = merge(sources, &First, &mut writer, |_, _| ()).unwrap();
    writer.finish(&meta("test", 1)).unwrap();
    (merged, fs::read(to).unwrap())
}

fn packs(dir: &Path, parts: &[Contents]) -> Vec<Pack> {
    let pack = |(number, part): (usize, &Contents)| {
        let path = dir.join(format!("{number}.pack"));
        write(&path, part);
        Pack::open(&path).unwrap()
    };
    parts.iter().enumerate().map(pack).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// However results were spread over packs, and in whatever order these are, they are one pack.
    #[test]
    fn packs_of_equal_contents_are_equal(
        owners in proptest::collection::vec(1u8..16, 0..300),
        order in Just([0usize, 1, 2, 3]).prop_shuffle(),
    ) {
        let all = contents(owners.len() as u32);
        let mut parts = vec![Contents::new(); 4];
        for ((key, bytes), owners) in all.iter().zip(&owners) {
            (0..4).filter(|part| owners >> part & 1 == 1).for_each(|part| drop(parts[part].insert(*key, bytes.clone())));
        }
        let dir = tempfile::tempdir().unwrap();
        let packs = packs(dir.path(), &parts);
        let sources: Vec<&dyn PackSource> = order.iter().map(|part| &packs[*part] as &dyn PackSource).collect();
        let (report, bytes) = merged(&sources, &dir.path().join("merged"));
        write(&dir.path().join("whole"), &all);
        prop_assert_eq!(&fs::read(dir.path().join("whole")).unwrap(), &bytes);
        let doubles = owners.iter().filter(|owners| owners.count_ones() > 1).count() as u64;
        prop_assert_eq!((report.keys, report.doubles, report.differing), (all.len() as u64, doubles, 0));
        // Of packs that were merged before.
        let halves = [&sources[..2], &sources[2..]].map(|half| {
            let path = dir.path().join(format!("half{}", half.len()));
            merged(half, &path);
            Pack::open(&path).unwrap()
        });
        prop_assert_eq!(merged(&[&halves[1], &halves[0]], &dir.path().join("again")).1, bytes);
    }
}

#[test]
fn differences_are_counted_and_one_is_kept_whatever_the_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = contents(100);
    for n in 0..30 {
        other.insert(key(n), b"other".to_vec());
    }
    let packs = packs(dir.path(), &[contents(100), other]);
    let (one, forward) = merged(&[&packs[0], &packs[1]], &dir.path().join("a"));
    let (two, backward) = merged(&[&packs[1], &packs[0]], &dir.path().join("b"));
    assert_eq!((&one, forward), (&two, backward));
    assert_eq!((one.keys, one.doubles, one.differing, one.examples.len()), (100, 100, 30, 20));
}

#[test]
fn a_damaged_pack_is_refused_and_nothing_is_left_of_the_output() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.pack");
    write(&path, &contents(100));
    let mut bytes = fs::read(&path).unwrap();
    bytes[70] ^= 1;
    fs::write(&path, bytes).unwrap();
    let mut writer = PackWriter::create(&dir.path().join("out")).unwrap();
    let refused = merge(&[&Pack::open(&path).unwrap()], &First, &mut writer, |_, _| ()).unwrap_err();
    assert!(refused.to_string().contains("broken.pack") && refused.exit_code() == 2, "{refused}");
    drop(writer);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn the_pack_of_a_cache_is_that_of_its_entries_and_damaged_ones_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let all = contents(3000);
    write(&dir.path().join("whole"), &all);
    let whole = fs::read(dir.path().join("whole")).unwrap();
    let lmdb = Cache::open(dir.path(), StoreKind::Lmdb).unwrap();
    for cache in [Cache::new(Box::new(MemoryStore::default())), lmdb] {
        let entries: Vec<(Key, &[u8])> = all.iter().rev().map(|(key, bytes)| (*key, &bytes[..])).collect();
        entries.chunks(500).for_each(|some| cache.put_all(some).unwrap());
        assert_eq!(merged(&[&cache], &dir.path().join("packed")).1, whole);
    }
    let store = StoreKind::Lmdb.open(dir.path()).unwrap();
    store.put(&key(7), b"no entry").unwrap();
    let (report, _) = merged(&[&Cache::new(store)], &dir.path().join("packed"));
    assert_eq!((report.keys, report.lost), (2999, 1));
    let mut less = all;
    less.remove(&key(7));
    assert!(has(&Pack::open(&dir.path().join("packed")).unwrap(), &less));
}
