//! The compressed form of packs.

use super::{contents, has, write};
use crate::transport::{compress, open, unpack};
use std::fs;

#[test]
fn a_compressed_pack_is_the_same_pack() {
    let dir = tempfile::tempdir().unwrap();
    let [raw, small, again] = ["raw", "small.zst", "again"].map(|name| dir.path().join(name));
    let root = write(&raw, "game", 1, &contents(2000));
    compress(&raw, &small, 3, &mut || ()).unwrap();
    unpack(&small, &again, &mut || ()).unwrap();
    assert_eq!(fs::read(&raw).unwrap(), fs::read(&again).unwrap());
    for path in [&raw, &small] {
        let pack = open(path).unwrap();
        assert!(pack.root() == root && has(&pack, &contents(2000)));
    }
}

#[test]
fn broken_bits_and_cuts_are_refused_and_bombs_do_not_explode() {
    let dir = tempfile::tempdir().unwrap();
    let [raw, small, again] = ["raw", "small.zst", "again"].map(|name| dir.path().join(name));
    let root = write(&raw, "game", 1, &contents(20));
    compress(&raw, &small, 3, &mut || ()).unwrap();
    let good = fs::read(&small).unwrap();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            fs::write(&small, bad).unwrap();
            // A bit that says nothing about the contents may change nothing.
            assert!(
                open(&small).is_ok_and(|pack| pack.root() == root && has(&pack, &contents(20)))
                    || open(&small).is_err()
            );
        }
        fs::write(&small, &good[..at]).unwrap();
        assert!(open(&small).is_err(), "cut at {at}");
    }
    // A head that promises much, and zeros.
    let mut bomb = fs::read(&raw).unwrap()[..64].to_vec();
    bomb[16..24].copy_from_slice(&(1u64 << 40).to_le_bytes());
    bomb.resize(64 << 20, 0);
    fs::write(&small, zstd::encode_all(&bomb[..], 3).unwrap()).unwrap();
    assert_eq!(unpack(&small, &again, &mut || ()).unwrap_err().exit_code(), 3);
    // More than the head promises is not written.
    let bomb = [&fs::read(&raw).unwrap()[..], &vec![0; 64 << 20]].concat();
    fs::write(&small, zstd::encode_all(&bomb[..], 3).unwrap()).unwrap();
    unpack(&small, &again, &mut || ()).unwrap();
    assert_eq!(fs::metadata(&again).unwrap().len(), fs::metadata(&raw).unwrap().len() + 1);
    assert!(open(&small).is_err());
}
