//! A hit and a write in each store, by size; and the overhead of a hit: the same read without the digest check, and by
//! LMDB's own code through its map. Writes of eight threads share transactions.

#[path = "support/raw_lmdb.rs"]
mod raw_lmdb;
#[path = "support/times.rs"]
mod times;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dovetail::cache::{Cache, DEFAULT_MAP_BYTES, Key, LmdbStore, Store, StoreKind, entry};
use raw_lmdb::RawLmdb;
use times::{Times, head, measuring};

const STORES: [(&str, StoreKind); 3] =
    [("lmdb", StoreKind::Lmdb), ("sled", StoreKind::Sled), ("memory", StoreKind::Memory)];
/// A small, a typical and a large shader.
const SIZES: [usize; 3] = [2 << 10, 8 << 10, 64 << 10];

/// Entries in the store: the depth of its tree matters more than their contents.
fn entries() -> u32 {
    if measuring() { 1000 } else { 20 }
}

fn key(n: u32) -> Key {
    Key(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

/// Incompressible bytes that differ by entry, as code does.
fn payload(n: u32, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&n.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// A different entry each time, so that no read repeats the last one.
fn next(n: &mut u32) -> Key {
    *n = (*n + 389) % entries();
    key(*n)
}

fn get(c: &mut Criterion) {
    let mut group = c.benchmark_group("cache/get");
    for size in SIZES {
        let mut rows = Vec::new();
        for (name, kind) in STORES {
            let dir = tempfile::tempdir().expect("a temporary folder");
            let cache = Cache::open(dir.path(), kind).expect("a store");
            (0..entries()).for_each(|n| cache.put(&key(n), &payload(n, size)).expect("put"));
            let mut n = 0;
            let mut hit = || cache.get(&next(&mut n)).expect("a hit");
            group.bench_function(BenchmarkId::new(name, size), |b| b.iter(&mut hit));
            rows.push((name.to_owned(), Times::of(20_000, hit)));
            assert_eq!(cache.stats().misses, 0);
        }
        let dir = tempfile::tempdir().expect("a temporary folder");
        let store = LmdbStore::open(&dir.path().join("lmdb"), DEFAULT_MAP_BYTES);
        (0..entries()).for_each(|n| {
            store.put(&key(n), &entry::encode(&key(n), &payload(n, size)).expect("memory")).expect("put")
        });
        let mut n = 0;
        let mut hit = || store.get(&next(&mut n)).expect("get").expect("a hit");
        group.bench_function(BenchmarkId::new("lmdb, no digest check", size), |b| b.iter(&mut hit));
        rows.push(("lmdb, no digest check".to_owned(), Times::of(20_000, hit)));
        let raw = RawLmdb::open(&dir.path().join("lmdb"));
        let mut n = 0;
        let mut hit = || raw.get(&next(&mut n).0);
        group.bench_function(BenchmarkId::new("LMDB's own read", size), |b| b.iter(&mut hit));
        rows.push(("LMDB's own read".to_owned(), Times::of(20_000, hit)));

        head(&format!("hit of {size} bytes among {}", entries()));
        rows.iter().for_each(|(name, times)| times.row(name));
    }
    group.finish();
}

fn put(c: &mut Criterion) {
    let mut group = c.benchmark_group("cache/put");
    group.sample_size(10);
    let size = SIZES[1];
    let mut rows = Vec::new();
    for (name, kind) in STORES {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::open(dir.path(), kind).expect("a store");
        let bytes = payload(0, size);
        let mut n = 0;
        let mut write = || cache.put(&next(&mut n), &bytes).expect("put");
        group.bench_function(BenchmarkId::new(name, size), |b| b.iter(&mut write));
        rows.push((name, Times::of(1_000, write)));
        if kind == StoreKind::Lmdb {
            let (cache, bytes) = (&cache, &bytes);
            let mut round = 0u32;
            let eight = || {
                round += 1;
                std::thread::scope(|scope| {
                    for thread in 0..8 {
                        let key = key(8 * round + thread);
                        scope.spawn(move || cache.put(&key, bytes).expect("put"));
                    }
                });
            };
            rows.push(("lmdb, eight threads one each", Times::of(if measuring() { 200 } else { 2 }, eight)));
        }
    }
    head(&format!("write of {size} bytes"));
    rows.iter().for_each(|(name, times)| times.row(name));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = get, put
}
criterion_main!(benches);
