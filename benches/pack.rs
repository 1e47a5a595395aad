//! A pack of 100,000 objects beside LMDB with the same objects, in one run: opening, hits and misses at random keys, and sizes.
//!
//! `cargo bench --bench pack`; as a test it makes a hundred.

#[path = "support/raw_lmdb.rs"]
mod raw_lmdb;
#[path = "support/times.rs"]
mod times;

use dovetail::cache::{Cache, DEFAULT_MAP_BYTES, Key, LmdbStore, MemoryStore, Payload, Store, StoreKind, entry};
use dovetail::pack::{Layers, Pack, PackMeta, PackWriter};
use raw_lmdb::RawLmdb;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;
use times::{Times, head, measuring, ratio_in_turn};

/// Objects in the pack, in a measurement.
const OBJECTS: u32 = 100_000;
/// Reads of each kind.
const READS: usize = 200_000;

fn objects() -> u32 {
    if measuring() { OBJECTS } else { 100 }
}

fn key(n: u32) -> Key {
    Key(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

/// Sizes as those of unlinked ELFs: half are below 1.5 KB, the mean is 2.8 KB.
fn size(n: u32) -> usize {
    let step = n.wrapping_mul(0x9e37_79b9) >> 16;
    500 + (step as usize % 2_000) + if step.is_multiple_of(10) { 13_000 } else { 0 }
}

/// Incompressible bytes that differ by object.
fn payload(n: u32) -> Vec<u8> {
    let mut bytes = vec![0; size(n)];
    blake3::Hasher::new().update(&n.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Another object each time, in no order.
struct Turn(u32);

impl Turn {
    fn next(&mut self) -> u32 {
        self.0 = (self.0 + 38_903) % objects();
        self.0
    }

    fn key(&mut self) -> Key {
        key(self.next())
    }

    fn missing(&mut self) -> Key {
        key(self.next() + 1_000_000)
    }
}

/// Keys known before the measurement: making one takes as long as a miss.
struct Keys(Vec<Key>, usize);

impl Keys {
    fn of(mut next: impl FnMut(&mut Turn) -> Key) -> Self {
        let mut turn = Turn(0);
        Self((0..objects()).map(|_| next(&mut turn)).collect(), 0)
    }

    fn next(&mut self) -> &Key {
        self.1 = (self.1 + 1) % self.0.len();
        &self.0[self.1]
    }
}

fn write_pack(path: &Path) -> f64 {
    let sorted: BTreeMap<Key, u32> = (0..objects()).map(|n| (key(n), n)).collect();
    let payloads: Vec<(Key, Payload)> = sorted.iter().map(|(key, n)| (*key, Payload::of(payload(*n)))).collect();
    let started = Instant::now();
    let mut writer = PackWriter::create(path).expect("a file");
    payloads.iter().for_each(|(key, payload)| writer.add(key, payload).expect("a key"));
    writer.finish(&PackMeta { name: "bench".into(), ..PackMeta::default() }).expect("a pack");
    started.elapsed().as_secs_f64()
}

fn write_lmdb(dir: &Path) -> f64 {
    let store = LmdbStore::open(&dir.join("lmdb"), DEFAULT_MAP_BYTES);
    let started = Instant::now();
    let all: Vec<u32> = (0..objects()).collect();
    for some in all.chunks(4000) {
        let entry = |n: &u32| (key(*n), entry::encode(&key(*n), &payload(*n)).expect("memory"));
        store.put_all(some.iter().map(entry).collect()).expect("a put");
    }
    started.elapsed().as_secs_f64()
}

fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("bench.pack");
    let (packing, filling) = (write_pack(&path), write_lmdb(dir.path()));
    let payload_bytes: u64 = (0..objects()).map(|n| size(n) as u64).sum();
    let bytes = |path: &Path| std::fs::metadata(path).expect("a file").len();

    let (hits, misses) = (|| Keys::of(Turn::key), || Keys::of(Turn::missing));
    let pack = Pack::open(&path).expect("a pack");
    let raw = RawLmdb::open(&dir.path().join("lmdb"));
    let lmdb = Cache::open(dir.path(), StoreKind::Lmdb).expect("a store");
    let layered = Layers::new(&dir.path().join("layered"), Box::new(MemoryStore::default()), None);
    let checked = |key: &Key| pack.get(key).expect("a pack").expect("a hit");
    let unchecked = |key: &Key| {
        let place = pack.locate(key).expect("a pack").expect("a hit");
        pack.unchecked(&place).expect("a pack")
    };
    let hashed = |key: &Key| {
        let value = raw.get(&key.0);
        (blake3::hash(&value), value)
    };
    let mut rows: Vec<(&str, Times)> = Vec::new();
    let mut row = |name, times| rows.push((name, times));
    row("pack: open", Times::of(2_000, || Pack::open(&path).expect("a pack")));
    let mut keys = hits();
    row("pack: hit without digest", Times::of(READS, || unchecked(keys.next())));
    row("pack: hit", Times::of(READS, || checked(keys.next())));
    let mut gone = misses();
    row("pack: miss", Times::of(READS, || pack.get(gone.next()).expect("a pack")));
    row("LMDB's own read: hit", Times::of(READS, || raw.get(&keys.next().0)));
    row("LMDB's own read with BLAKE3: hit", Times::of(READS, || hashed(keys.next())));
    row("our LMDB reader: hit", Times::of(READS, || lmdb.get_digested(keys.next()).expect("a hit")));
    row("our LMDB reader: miss", Times::of(READS, || lmdb.get_digested(gone.next())));
    row("layers without packs: miss", Times::of(READS, || layered.get_checked(gone.next()).expect("a store")));
    assert_eq!((pack.damaged(), lmdb.stats().bad), (0, 0));
    head(&format!("{} objects of {payload_bytes} bytes", objects()));
    rows.iter().for_each(|(name, times)| times.row(name));

    let turns = if measuring() { 400 } else { 2 };
    let (mut one, mut other) = (hits(), hits());
    let with = ratio_in_turn(turns, || checked(one.next()), || hashed(other.next()));
    let without = ratio_in_turn(turns, || unchecked(one.next()), || raw.get(&other.next().0));
    println!("\nTime of a hit to LMDB's own, in turn: {with:.2} with BLAKE3, {without:.2} without.");
    let over = bytes(&path) - payload_bytes;
    println!(
        "File to payloads: pack {:.3} ({:.1} bytes an object more), LMDB {:.3}.",
        bytes(&path) as f64 / payload_bytes as f64,
        over as f64 / f64::from(objects()),
        bytes(&dir.path().join("lmdb/data.mdb")) as f64 / payload_bytes as f64,
    );
    let rate = |seconds: f64| payload_bytes as f64 / seconds / 1e6;
    println!("Writing: pack {:.0} MB/s, LMDB {:.0} MB/s.", rate(packing), rate(filling));
}
