//! Deltas give the newer pack bit for bit, or nothing.

use super::{Contents, contents, key, write};
use crate::delta::{apply, diff, roots};
use dovetail_pack::Pack;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn packs(dir: &Path, old: &Contents, new: &Contents) -> [Pack; 2] {
    write(&dir.join("old"), "game", 1, old);
    write(&dir.join("new"), "game", 2, new);
    ["old", "new"].map(|name| Pack::open(&dir.join(name)).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_delta_gives_the_newer_pack_bit_for_bit(
        old in 0u32..200,
        changes in proptest::collection::vec((0u32..300, 0u8..4, any::<u8>()), 0..100),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let before = contents(old);
        let mut after = before.clone();
        for (n, kind, byte) in changes {
            match kind {
                0 => drop(after.remove(&key(n))),
                // With a payload that the older pack may have, or an earlier change.
                1 => drop(after.insert(key(n), contents(u32::from(byte) + 1)[&key(u32::from(byte))].clone())),
                _ => drop(after.insert(key(n), vec![byte; usize::from(byte)])),
            }
        }
        let [old, new] = packs(dir.path(), &before, &after);
        let (delta, again) = (dir.path().join("delta"), dir.path().join("again"));
        let difference = diff(&old, &new, &delta, 3, &mut || ()).unwrap();
        prop_assert_eq!(roots(&delta).unwrap(), [old.root(), new.root()]);
        prop_assert_eq!(apply(&old, &delta, &again, &mut || ()).unwrap(), new.root());
        prop_assert_eq!(fs::read(&again).unwrap(), fs::read(new.path()).unwrap());
        prop_assert_eq!(difference.kept + difference.dropped, before.len() as u64);
        prop_assert_eq!(difference.kept + difference.added, after.len() as u64);
    }
}

#[test]
fn new_keys_of_old_payloads_cost_no_payload() {
    let dir = tempfile::tempdir().unwrap();
    let before = contents(1000);
    // As after an update of the compiler that changes no code.
    let after: Contents = before.values().zip(5000..).map(|(bytes, n)| (key(n), bytes.clone())).collect();
    let [old, new] = packs(dir.path(), &before, &after);
    let difference = diff(&old, &new, &dir.path().join("delta"), 3, &mut || ()).unwrap();
    assert_eq!((difference.kept, difference.added, difference.payload_bytes), (0, 1000, 0));
    assert!(fs::metadata(dir.path().join("delta")).unwrap().len() < 40 * 1000);
}

#[test]
fn every_broken_bit_and_every_cut_of_a_delta_is_refused_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let before = contents(40);
    let mut after = contents(60);
    after.remove(&key(3));
    after.insert(key(5), b"another".to_vec());
    let [old, new] = packs(dir.path(), &before, &after);
    let (delta, again) = (dir.path().join("delta"), dir.path().join("again"));
    diff(&old, &new, &delta, 3, &mut || ()).unwrap();
    let good = fs::read(&delta).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        fs::write(&delta, bytes).unwrap();
        match apply(&old, &delta, &again, &mut || ()) {
            // A bit of zstd's that says nothing about the contents, such as the size of the window.
            Ok(root) => {
                assert!(root == new.root() && fs::read(&again).unwrap() == fs::read(new.path()).unwrap(), "{what}")
            }
            Err(e) => assert!([2, 3].contains(&e.exit_code()), "{what}: {e}"),
        }
        let succeeded = again.exists();
        if succeeded {
            fs::remove_file(&again).unwrap();
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "{what}");
        !succeeded
    };
    let mut harmless = 0;
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            harmless += usize::from(!refused(&bad, &format!("byte {at} bit {bit}")));
        }
        assert!(refused(&good[..at], &format!("cut at {at}")));
    }
    assert!(harmless < 20, "{harmless} bits change nothing");
    // For another pack.
    fs::write(&delta, &good).unwrap();
    let other = apply(&new, &delta, &again, &mut || ()).unwrap_err();
    assert!(other.exit_code() == 2 && other.to_string().contains("this delta is for the pack with root"), "{other}");
}
