//! Packs for tests.

use crate::format::{HEAD, Head, LINE, PAGE, PackMeta, RECORDS, Record, Root, prefix};
use crate::read::Pack;
use crate::write::PackWriter;
use dovetail_cache::{Key, Payload};
use std::collections::BTreeMap;
use std::path::Path;

/// Contents of a pack.
pub type Contents = BTreeMap<Key, Vec<u8>>;

/// A key that looks like one.
pub fn key(n: u32) -> Key {
    Key(*blake3::hash(&n.to_le_bytes()).as_bytes())
}

/// So many keys, of which every third has the payload of another.
pub fn contents(count: u32) -> Contents {
    let payload = |n: u32| vec![n as u8; (n as usize * 7) % 50];
    (0..count).map(|n| (key(n), payload(if n % 3 == 2 { n - 1 } else { n }))).collect()
}

/// What a pack of this name and version says about itself.
pub fn meta(name: &str, version: u64) -> PackMeta {
    let lists = [vec!["gpu".to_owned()], vec!["compiler".to_owned()]];
    let [targets, compilers] = lists;
    PackMeta { name: name.into(), version, targets, compilers }
}

/// Writes a pack.
pub fn write(path: &Path, contents: &Contents) -> Root {
    let mut writer = PackWriter::create(path).expect("a file");
    contents.iter().for_each(|(key, bytes)| writer.add(key, &Payload::of(bytes.clone())).expect("a key"));
    writer.finish(&meta("test", 1)).expect("a pack")
}

/// Whether a pack has exactly this.
pub fn has(pack: &Pack, contents: &Contents) -> bool {
    contents.iter().all(|(key, bytes)| pack.get(key).unwrap().is_some_and(|found| *found == bytes[..]))
        && (1_000_000..1_000_100).all(|n| pack.get(&key(n)).unwrap().is_none())
}

/// A pack with any index, whose digests are right: what an accepted but wrong writer could write.
pub fn forged(data: &[u8], records: &[Record], change: impl FnOnce(&mut Head, &mut Vec<u8>)) -> Vec<u8> {
    let (mut index, mut directory) = (Vec::new(), Vec::new());
    for records in records.chunks(RECORDS) {
        let mut page = Vec::new();
        records.iter().for_each(|record| record.encode(&mut page));
        page.resize(PAGE, 0);
        directory.extend(prefix(&records[0].key.0).to_be_bytes());
        directory.extend(blake3::hash(&page).as_bytes());
        index.extend(page);
    }
    assert_eq!(directory.len() % LINE, 0);
    let mut meta = meta("test", 1).encode().unwrap();
    let (keys, data_bytes) = (records.len() as u64, data.len() as u64);
    let mut head = Head { meta: meta.len() as u32, keys, data: data_bytes, payloads: keys };
    change(&mut head, &mut meta);
    let root = Root::of(&head, &directory, &meta);
    let bytes = [&head.encode(&root)[..], data, &index, &directory, &meta].concat();
    assert!(bytes.len() >= HEAD as usize);
    bytes
}
