use crate::format::{Head, PAGE, RECORDS, Record};
use crate::read::{Pack, PayloadPlace};
use crate::testing::{Contents, contents, forged, has, key, write};
use dovetail_base::error::Error;
use dovetail_cache::Key;
use dovetail_cache::entry::LARGEST_ENTRY;
use proptest::prelude::*;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("test.pack");
    (dir, path)
}

#[test]
fn a_pack_has_what_was_written_and_nothing_else() {
    let (_dir, path) = folder();
    for count in [0, 1, 2, RECORDS as u32 - 1, RECORDS as u32, RECORDS as u32 + 1, 1000] {
        let contents = contents(count);
        let root = write(&path, &contents);
        let pack = Pack::open(&path).unwrap();
        assert!(has(&pack, &contents), "{count}");
        assert_eq!((pack.root(), pack.damaged(), pack.head().keys), (root, 0, u64::from(count)));
        let checks = pack.check(|| ());
        assert_eq!(
            (checks.keys, checks.payloads, &checks.damage[..]),
            (u64::from(count), pack.head().payloads, &[][..])
        );
        let mut listed = Vec::new();
        while let Some(more) = Some(pack.keys_after(listed.last()).unwrap()).filter(|more| !more.is_empty()) {
            listed.extend(more);
        }
        assert!(listed.iter().eq(contents.keys()), "{count}");
        // Equal payloads are in it once.
        let distinct: std::collections::BTreeSet<_> = contents.values().collect();
        assert_eq!(pack.head().payloads, distinct.len() as u64);
        assert_eq!(pack.head().data, distinct.iter().map(|bytes| bytes.len() as u64).sum::<u64>());
        assert_eq!(pack.head().file_bytes(), fs::metadata(&path).unwrap().len());
    }
}

#[test]
fn keys_that_begin_alike_are_found_on_every_page() {
    let (_dir, path) = folder();
    let alike = |n: u16, begins: u8| {
        let mut key = [begins; 32];
        key[30..].copy_from_slice(&n.to_be_bytes());
        Key(key)
    };
    let mut contents: Contents = (0..500).map(|n| (alike(n, 7), n.to_le_bytes().to_vec())).collect();
    contents.extend((0..10).flat_map(|n| [(alike(n, 6), vec![6]), (alike(n, 8), vec![8])]));
    write(&path, &contents);
    let pack = Pack::open(&path).unwrap();
    assert!(has(&pack, &contents));
    assert!(pack.get(&alike(500, 7)).unwrap().is_none() && pack.get(&alike(99, 6)).unwrap().is_none());
    let mut listed = Vec::new();
    while let Some(more) = Some(pack.keys_after(listed.last()).unwrap()).filter(|more| !more.is_empty()) {
        listed.extend(more);
    }
    assert!(listed.iter().eq(contents.keys()));
}

/// Opens a damaged pack; every key must be right or an error, and the damage must be found.
fn damage_is_found(path: &Path, contents: &Contents, what: &str) {
    let Ok(pack) = Pack::open(path) else { return };
    let mut refused = 0;
    for (key, bytes) in contents {
        match pack.get(key) {
            Ok(found) => assert!(found.is_some_and(|found| *found == bytes[..]), "{what}: wrong or missing"),
            Err(e) => {
                refused += 1;
                assert!(e.exit_code() == 2 && e.to_string().contains("test.pack"), "{what}: {e}");
            }
        }
    }
    assert!(refused > 0, "{what}: not seen");
    assert_eq!(pack.damaged(), refused, "{what}");
    assert!(!pack.check(|| ()).damage.is_empty(), "{what}");
}

#[test]
fn every_broken_bit_and_every_cut_is_seen() {
    let (_dir, path) = folder();
    // The empty payload has no byte that could be broken.
    let contents = contents(9);
    write(&path, &contents);
    let good = fs::read(&path).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    for (at, byte) in good.iter().enumerate() {
        for bit in 0..8 {
            file.write_all_at(&[byte ^ 1 << bit], at as u64).unwrap();
            damage_is_found(&path, &contents, &format!("byte {at} bit {bit}"));
        }
        file.write_all_at(&[*byte], at as u64).unwrap();
    }
    assert!(has(&Pack::open(&path).unwrap(), &contents));
    for cut in (0..good.len()).rev() {
        file.set_len(cut as u64).unwrap();
        let refused = Pack::open(&path).err().unwrap_or_else(|| panic!("cut at {cut}"));
        assert_eq!(refused.exit_code(), 2, "{refused}");
    }
    fs::write(&path, [&good[..], b"x"].concat()).unwrap();
    assert!(Pack::open(&path).is_err(), "a byte more");
}

#[test]
fn what_happens_to_an_open_file_is_a_counted_error() {
    let (dir, path) = folder();
    let contents = contents(300);
    write(&path, &contents);
    let good = fs::read(&path).unwrap();
    let open = || {
        fs::write(&path, &good).unwrap();
        let pack = Pack::open(&path).unwrap();
        pack.get(&key(0)).unwrap().unwrap();
        pack
    };
    let each = |pack: &Pack, what: &str| {
        let results: Vec<Result<bool, Error>> = contents
            .iter()
            .map(|(key, bytes)| pack.get(key).map(|found| found.is_some_and(|found| *found == bytes[..])))
            .collect();
        assert!(results.iter().all(|result| !matches!(result, Ok(false))), "{what}");
        let errors = results.iter().filter(|result| result.is_err()).count() as u64;
        assert_eq!(pack.damaged(), errors, "{what}");
        errors
    };
    let file = || File::options().write(true).open(&path).unwrap();
    let pack = open();
    file().set_len(0).unwrap();
    assert!(each(&pack, "emptied") > 250);
    let pack = open();
    file().write_all_at(&vec![0x55; good.len()], 0).unwrap();
    assert!(each(&pack, "overwritten") > 250);
    let pack = open();
    fs::remove_file(&path).unwrap();
    assert_eq!(each(&pack, "deleted"), 0);
    for wrong in [dir.path(), Path::new("/dev/null"), &dir.path().join("none")] {
        assert_eq!(Pack::open(wrong).err().map(|e| e.exit_code()), Some(5), "{}", wrong.display());
    }
}

fn record(n: u32, offset: u64, size: u32) -> Record {
    Record { key: key(n), digest: *blake3::hash(b"data").as_bytes(), offset, size }
}

/// A root that was accepted says nothing about whether the pack makes sense.
#[test]
fn an_accepted_pack_with_wrong_numbers_harms_nobody() {
    let (_dir, path) = folder();
    let open = |bytes: Vec<u8>| {
        fs::write(&path, bytes).unwrap();
        Pack::open(&path)
    };
    for (offset, size) in
        [(1, 4), (u64::MAX, 4), (u64::MAX - 3, 4), (4, 1), (0, u32::MAX), (0, LARGEST_ENTRY as u32 + 1)]
    {
        let pack = open(forged(b"data", &[record(1, offset, size)], |_, _| ())).unwrap();
        assert!(pack.get(&key(1)).is_err() && pack.damaged() == 1, "{offset} {size}");
        assert!(!pack.check(|| ()).damage.is_empty(), "{offset} {size}");
    }
    let mut records: Vec<Record> = (0..200).map(|n| record(n, 0, 4)).collect();
    let unsorted = open(forged(b"data", &records, |_, _| ()));
    assert!(unsorted.is_err_and(|e| e.to_string().contains("not in order")));
    records.sort_by_key(|record| record.key);
    records[3..10].reverse();
    let pack = open(forged(b"data", &records, |_, _| ())).unwrap();
    assert!(pack.check(|| ()).damage[0].contains("out of order"));
    let gap = open(forged(b"data and more", &[record(1, 0, 4)], |_, _| ())).unwrap();
    assert!(gap.check(|| ()).damage[0].contains("gaps") && gap.get(&key(1)).unwrap().is_some());
    type Change = fn(&mut Head, &mut Vec<u8>);
    let changes: [Change; 7] = [
        |head, _| head.keys = u64::MAX,
        |head, _| head.keys = 0,
        |head, _| head.data = u64::MAX,
        |head, _| head.meta = u32::MAX,
        |head, _| head.payloads = 2,
        |_, meta| meta[5] ^= 1,
        |head, meta| {
            *meta = b"\x84\xa4name".to_vec();
            head.meta = meta.len() as u32;
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert!(open(forged(b"data", &[record(1, 0, 4)], change)).is_err(), "{number}");
    }
    let other = open([b"DVP\x02".to_vec(), vec![0; 100]].concat()).err().unwrap();
    assert_eq!(other.exit_code(), 3, "{other}");
}

#[test]
fn more_pages_than_are_kept_are_read_again() {
    let (_dir, path) = folder();
    let contents = contents(600);
    write(&path, &contents);
    let mut pack = Pack::open(&path).unwrap();
    assert!(pack.pages() > 8);
    pack.kept.truncate(3);
    for _ in 0..2 {
        assert!(has(&pack, &contents));
    }
    assert_eq!(pack.damaged.load(Ordering::Relaxed), 0);
}

proptest! {
    #[test]
    fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), begins in any::<bool>()) {
        let (_dir, path) = folder();
        let bytes = if begins { [b"DVP\x01", &bytes[..]].concat() } else { bytes };
        fs::write(&path, bytes).unwrap();
        prop_assert!(Pack::open(&path).is_err());
    }

    /// Any index under right digests, and any place, is read without harm.
    #[test]
    fn any_index_is_read(
        places in proptest::collection::vec((any::<u64>(), any::<u32>(), 0u8..4), 1..120),
        keys in any::<u64>(),
    ) {
        let (_dir, path) = folder();
        let place = |(offset, size, kind): (u64, u32, u8)| match kind {
            0 => (offset, size),
            1 => (offset % 20, size % 20),
            _ => (0, 4),
        };
        let mut records: Vec<Record> =
            places.into_iter().zip(0..).map(|(given, n)| { let (offset, size) = place(given); record(n, offset, size) }).collect();
        records.sort_by_key(|record| record.key);
        let count = records.len() as u64;
        fs::write(&path, forged(b"data of this pack", &records, |head, _| if keys % 2 == 0 { head.keys = keys })).unwrap();
        if let Ok(pack) = Pack::open(&path) {
            prop_assert_eq!(pack.head().keys.div_ceil(RECORDS as u64), count.div_ceil(RECORDS as u64));
            for record in &records {
                let place = PayloadPlace { digest: record.digest, offset: record.offset, size: record.size };
                let found = pack.payload(&place);
                prop_assert_eq!(found.is_ok(), (record.offset, record.size) == (0, 4));
                if let Ok(Some(found)) = pack.get(&record.key) {
                    prop_assert_eq!(&*found, b"data");
                }
            }
            let _ = pack.check(|| ());
        }
    }
}

#[test]
fn the_size_is_that_of_the_payloads_and_a_record_for_each_key() {
    let (_dir, path) = folder();
    let contents: Contents =
        (0..10_000).map(|n| (key(n), blake3::hash(&n.to_be_bytes()).as_bytes().repeat(8))).collect();
    write(&path, &contents);
    let payloads: u64 = contents.values().map(|bytes| bytes.len() as u64).sum();
    let size = fs::metadata(&path).unwrap().len();
    assert!(size - payloads < 80 * 10_000 && PAGE == 4096, "{} bytes a key", (size - payloads) as f64 / 1e4);
}
