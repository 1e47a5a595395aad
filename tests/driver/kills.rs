//! kill -9 at random moments while two processes write: committed entries must exist afterwards, and be correct.

use dovetail::cache::{Cache, Key, StoreKind};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn key(writer: u64, n: u64) -> Key {
    Key(*blake3::hash(&[writer.to_le_bytes(), n.to_le_bytes()].concat()).as_bytes())
}

fn value(writer: u64, n: u64) -> Vec<u8> {
    let mut bytes = vec![0; (n * 2671 % 20_000) as usize];
    blake3::Hasher::new().update(&key(writer, n).0).finalize_xof().fill(&mut bytes);
    bytes
}

fn log(dir: &Path, writer: u64) -> std::path::PathBuf {
    dir.join(format!("committed-{writer}"))
}

/// Environment variable that gives a writer its folder and number, set by the test that starts it.
const TASK: &str = "DOVETAIL_TEST_WRITER";

/// Not a test by itself: the process that is killed. It stores entries, and records each once its put has returned.
#[test]
#[ignore = "started by the tests of this file"]
fn writer() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (writer, dir) = task.split_once(' ').unwrap();
    let (writer, dir): (u64, &Path) = (writer.parse().unwrap(), Path::new(dir));
    let cache = Cache::open(dir, StoreKind::Lmdb).unwrap();
    let mut committed = fs::File::options().append(true).create(true).open(log(dir, writer)).unwrap();
    for n in 0.. {
        cache.put(&key(writer, n), &value(writer, n)).unwrap();
        writeln!(committed, "{n}").unwrap();
    }
}

fn start(dir: &Path, writer: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::writer", "--ignored", "--nocapture"])
        .env(TASK, format!("{writer} {}", dir.display()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The entries that a writer had recorded when it was killed. A truncated line does not count.
fn committed(dir: &Path, writer: u64) -> u64 {
    let text = fs::read_to_string(log(dir, writer)).unwrap_or_default();
    text.matches('\n').count() as u64
}

fn survives_kills(rounds: u64) {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    // The moments must differ between runs.
    let mut moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos() as u64;
    let mut writers = Vec::new();
    let mut all = 0;
    for round in 0..rounds {
        let pair = [2 * round, 2 * round + 1];
        let mut children = pair.map(|writer| (writer, start(dir, writer)));
        while pair.iter().any(|&writer| committed(dir, writer) == 0) {
            std::thread::sleep(Duration::from_millis(1));
        }
        for (_, child) in &mut children {
            moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(Duration::from_micros((moment >> 33) % 15_000));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        writers.extend(pair);
        let cache = Cache::open(dir, StoreKind::Lmdb).unwrap();
        all = 0;
        // Check all of the last writers, and at the end those of all rounds again.
        let looked_at = if round + 1 == rounds { &writers[..] } else { &pair[..] };
        for &writer in looked_at {
            let noted = committed(dir, writer);
            all += noted;
            for n in 0..noted {
                let found = cache.get(&key(writer, n));
                assert!(found.is_some_and(|v| v == value(writer, n)), "round {round}: {writer} had committed {n}");
            }
            // The entry being written is complete, or missing.
            let next = cache.get(&key(writer, noted));
            assert!(next.is_none_or(|v| v == value(writer, noted)));
        }
        assert_eq!((cache.stats().bad, cache.notices()), (0, Vec::new()), "round {round}");
    }
    assert!(all >= 2 * rounds, "{all} entries in {rounds} rounds");
    // The kill left nothing else: there is only this store, and it accepts more.
    let store = StoreKind::Lmdb.open(dir).unwrap();
    store.put(&key(u64::MAX, 0), b"more").unwrap();
    assert!(store.notices().is_empty() && !dir.join("lmdb.bad-1").exists());
}

#[test]
fn nothing_committed_is_lost_in_twenty_kills() {
    survives_kills(10);
}

#[test]
#[ignore = "two minutes: `./dev test --full`"]
fn nothing_committed_is_lost_in_four_hundred_kills() {
    survives_kills(200);
}
