//! A hit and a write in each store, by size; and what of a hit is ours: the same read of LMDB without the digest check.

#[path = "support/times.rs"]
mod times;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dovetail::cache::{Cache, DEFAULT_MAP_BYTES, Key, LmdbStore, Store, StoreKind, entry};
use times::{Times, head, measuring};

const STORES: [(&str, StoreKind); 3] =
    [("lmdb", StoreKind::Lmdb), ("sled", StoreKind::Sled), ("memory", StoreKind::Memory)];
/// A small shader, one of usual size, a large one.
const SIZES: [usize; 3] = [2 << 10, 8 << 10, 64 << 10];

/// Entries in the store: the depth of its tree matters more than what they hold.
fn entries() -> u32 {
    if measuring() { 1000 } else { 20 }
}

fn key(n: u32) -> Key {
    Key(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

/// Bytes that do not compress and differ by entry, as code does.
fn payload(n: u32, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&n.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Another entry each time, so that no read is of what was read last.
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
        let raw = LmdbStore::open(dir.path(), DEFAULT_MAP_BYTES).expect("a store");
        (0..entries()).for_each(|n| raw.put(&key(n), &entry::encode(&key(n), &payload(n, size))).expect("put"));
        let mut n = 0;
        let mut hit = || raw.get(&next(&mut n)).expect("get").expect("a hit");
        group.bench_function(BenchmarkId::new("lmdb, no digest check", size), |b| b.iter(&mut hit));
        rows.push(("lmdb, no digest check".to_owned(), Times::of(20_000, hit)));

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
