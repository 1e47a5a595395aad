//! Tests of this crate: packs and keys for them, and what happens to packs on their way.

mod deltas;
mod forms;
mod installs;

use dovetail_cache::{Key, Payload};
use dovetail_pack::{Pack, PackMeta, PackWriter, Root};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

/// Contents of a pack.
type Contents = BTreeMap<Key, Vec<u8>>;

fn key(n: u32) -> Key {
    let mut key = [0; 32];
    key[..4].copy_from_slice(&n.wrapping_mul(0x9e37_79b9).to_be_bytes());
    key[28..].copy_from_slice(&n.to_be_bytes());
    Key(key)
}

/// So many keys, of which every third has the payload of another.
fn contents(count: u32) -> Contents {
    let payload = |n: u32| n.to_le_bytes().repeat(n as usize % 20);
    (0..count).map(|n| (key(n), payload(if n % 3 == 2 { n - 1 } else { n }))).collect()
}

fn write(path: &Path, name: &str, version: u64, contents: &Contents) -> Root {
    let mut writer = PackWriter::create(path).expect("a file");
    contents.iter().for_each(|(key, bytes)| writer.add(key, &Payload::of(bytes.clone())).expect("a key"));
    let meta = PackMeta { name: name.into(), version, ..PackMeta::default() };
    writer.finish(&meta).expect("a pack")
}

fn has(pack: &Pack, contents: &Contents) -> bool {
    contents.iter().all(|(key, bytes)| pack.get(key).unwrap().is_some_and(|found| *found == bytes[..]))
        && pack.head().keys == contents.len() as u64
}

/// A key of another implementation of minisign than the one that checks it.
struct Signer(minisign::KeyPair);

impl Signer {
    fn new() -> Self {
        Self(minisign::KeyPair::generate_unencrypted_keypair().expect("a key"))
    }

    /// Writes the public key.
    fn publish(&self, path: &Path) {
        fs::write(path, format!("{}\n", self.0.pk.to_box().expect("a key").into_string())).expect("a file");
    }

    /// Signs a file, beside it.
    fn sign(&self, file: &Path) {
        let bytes = File::open(file).expect("a file");
        let signature =
            minisign::sign(Some(&self.0.pk), &self.0.sk, bytes, Some("by a test"), None).expect("a signature");
        fs::write(crate::trust::signature_path(file), signature.into_string()).expect("a file");
    }
}
