//! The difference of two packs: with the older one, it gives the newer one bit for bit.
//!
//! ```text
//! 0   4  "DVD\x01"
//! 4  32  root of the older pack
//! 36 32  root of the newer pack
//! 68  …  one zstd frame:
//!          4  bytes of the newer pack's meta, then the meta
//!          8  keys of the older pack, then a bit for each, in order: whether the newer pack has it with the same payload
//!          8  number of new payloads, then the size of each: 4
//!          8  number of added keys, then for each, in order: key 32, number of its payload: 4
//!          …  the new payloads
//! ```
//!
//! Payload N is that of the older pack's key N, or from the number of older keys on a new one. New payloads are in the order of
//! the first keys that have them. A pack's bytes follow from its contents and its meta, so the newer pack is simply written again; if its root is another, it is
//! refused.

use crate::transport::{decoder, encoder, undecodable, write_new};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::fallible::zeros;
use dovetail_base::files;
use dovetail_cache::entry::LARGEST_ENTRY;
use dovetail_cache::{Key, Payload};
use dovetail_pack::format::{MAX_KEYS, MAX_META, Record};
use dovetail_pack::{Pack, PackMeta, PackWriter, PayloadPlace, Root};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: [u8; 4] = *b"DVD\x01";
/// What a delta has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PackDifference {
    /// Keys that stay.
    pub kept: u64,
    /// Keys of the older pack that the newer one lacks, or has with another payload.
    pub dropped: u64,
    /// Keys that are added, or have another payload.
    pub added: u64,
    /// Payloads in the delta, in bytes.
    pub payload_bytes: u64,
}

fn records(pack: &Pack) -> Result<Vec<Record>> {
    let mut all = Vec::new();
    for page in 0..pack.pages() {
        all.append(&mut pack.records(page)?);
    }
    Ok(all)
}

fn place(record: &Record) -> PayloadPlace {
    PayloadPlace { digest: record.digest, offset: record.offset, size: record.size }
}

/// Numbers of payloads, by digest: those of older keys, then new ones.
struct Numbers<'a> {
    by_digest: BTreeMap<&'a [u8; 32], u32>,
    /// Number of older keys.
    old: u32,
    /// The first record of each new payload.
    new: Vec<&'a Record>,
}

impl<'a> Numbers<'a> {
    fn of(before: &'a [Record]) -> Self {
        let by_digest = before.iter().zip(0..).map(|(record, number)| (&record.digest, number)).collect();
        Self { by_digest, old: before.len() as u32, new: Vec::new() }
    }

    fn number(&mut self, record: &'a Record) -> u32 {
        let next = self.old + self.new.len() as u32;
        let number = *self.by_digest.entry(&record.digest).or_insert(next);
        if number == next {
            self.new.push(record);
        }
        number
    }
}

/// Writes the delta from one pack to another; `done` is told of each new payload.
///
/// # Errors
/// Malformed: a pack is damaged. Environment: a file cannot be read or written.
pub fn diff(old: &Pack, new: &Pack, to: &Path, level: i32, done: &mut dyn FnMut()) -> Result<PackDifference> {
    let (before, after) = (records(old)?, records(new)?);
    let newer: BTreeMap<&Key, &[u8; 32]> = after.iter().map(|record| (&record.key, &record.digest)).collect();
    let stays: Vec<bool> = before.iter().map(|record| newer.get(&record.key) == Some(&&record.digest)).collect();
    let kept: BTreeSet<&Key> =
        before.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(record, _)| &record.key).collect();
    let mut numbers = Numbers::of(&before);
    let added: Vec<(&Key, u32)> = after
        .iter()
        .filter(|record| !kept.contains(&record.key))
        .map(|record| (&record.key, numbers.number(record)))
        .collect();
    let difference = PackDifference {
        kept: kept.len() as u64,
        dropped: (before.len() - kept.len()) as u64,
        added: added.len() as u64,
        payload_bytes: numbers.new.iter().map(|record| u64::from(record.size)).sum(),
    };
    let meta = new.meta().encode()?;
    write_new(to, |file| {
        let place_of = || to.display().to_string();
        let mut file = BufWriter::new(file);
        for bytes in [&MAGIC[..], &old.root().0, &new.root().0] {
            file.write_all(bytes).at(place_of)?;
        }
        let mut out = encoder(file, level).at(place_of)?;
        let mut put = |bytes: &[u8]| out.write_all(bytes).at(place_of);
        put(&(meta.len() as u32).to_le_bytes())?;
        put(&meta)?;
        put(&(before.len() as u64).to_le_bytes())?;
        let byte = |bits: &[bool]| bits.iter().rev().fold(0u8, |byte, bit| byte << 1 | u8::from(*bit));
        put(&stays.chunks(8).map(byte).collect::<Vec<u8>>())?;
        put(&(numbers.new.len() as u64).to_le_bytes())?;
        numbers.new.iter().try_for_each(|record| put(&record.size.to_le_bytes()))?;
        put(&(added.len() as u64).to_le_bytes())?;
        for (key, number) in &added {
            put(&key.0)?;
            put(&number.to_le_bytes())?;
        }
        for record in &numbers.new {
            put(&new.payload(&place(record)).at(|| new.path().display().to_string())?)?;
            done();
        }
        out.finish().and_then(|mut file| file.flush()).at(place_of)
    })?;
    Ok(difference)
}

/// The contents of a delta's frame, read in their order.
struct Body<R>(R);

impl<R: Read> Body<R> {
    fn bytes(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = zeros(count)?;
        self.0.read_exact(&mut bytes).map_err(|e| undecodable(&e))?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(self.bytes(4)?.first_chunk().map_or(0, |four| u32::from_le_bytes(*four)))
    }

    /// A number of things of which a pack has at most so many.
    fn count(&mut self, most: u64) -> Result<usize> {
        let count = self.bytes(8)?.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        let count = usize::try_from(count).ok().filter(|_| count <= most);
        count.ok_or_else(|| Error::malformed("the delta has more than a pack can have"))
    }

    /// So many items of `size` bytes, with memory for those that are there and not for those that are claimed.
    fn items<const N: usize>(&mut self, count: usize) -> Result<Vec<[u8; N]>> {
        let mut items = Vec::new();
        for _ in 0..count {
            let mut item = [0; N];
            self.0.read_exact(&mut item).map_err(|e| undecodable(&e))?;
            items.push(item);
        }
        Ok(items)
    }
}

/// The roots of the packs between which a delta leads, older first.
///
/// # Errors
/// Malformed: it is no delta. Unsupported: another version's. Environment: it cannot be read.
pub fn roots(delta: &Path) -> Result<[Root; 2]> {
    open(delta).map(|(roots, _)| roots).at(|| delta.display().to_string())
}

fn open(delta: &Path) -> Result<([Root; 2], impl Read)> {
    let (file, _) = files::open(delta)?;
    let mut file = BufReader::new(file);
    let mut head = [[0; 32]; 2];
    let mut magic = [0; 4];
    file.read_exact(&mut magic).map_err(|e| undecodable(&e))?;
    if magic[..3] != MAGIC[..3] {
        return Err(Error::malformed("not a delta: it does not begin with `DVD`"));
    }
    if magic != MAGIC {
        return Err(Error::unsupported(
            format!("delta format {}", magic[3]),
            format!("this program reads format {}", MAGIC[3]),
        ));
    }
    head.iter_mut().try_for_each(|root| file.read_exact(root)).map_err(|e| undecodable(&e))?;
    Ok((head.map(Root), file))
}

/// Writes the newer pack from the older one and a delta; `done` is told of each key.
///
/// # Errors
/// Malformed: the delta leads from another pack, or it or the pack is damaged. Environment: a file cannot be read or written.
pub fn apply(old: &Pack, delta: &Path, to: &Path, done: &mut dyn FnMut()) -> Result<Root> {
    apply_here(old, delta, to, done).at(|| delta.display().to_string())
}

fn apply_here(old: &Pack, delta: &Path, to: &Path, done: &mut dyn FnMut()) -> Result<Root> {
    let ([from, wanted], file) = open(delta)?;
    if from != old.root() {
        let (path, root) = (old.path().display(), old.root());
        return Err(Error::malformed(format!(
            "this delta is for the pack with root {from}, and {path} has root {root}"
        )));
    }
    let before = records(old)?;
    let mut body = Body(decoder(file).map_err(|e| undecodable(&e))?);
    let meta = body.u32()?.min(MAX_META);
    let meta = PackMeta::decode(&body.bytes(meta as usize)?)?;
    if body.count(MAX_KEYS)? != before.len() {
        return Err(Error::malformed("the delta is for a pack with another number of keys"));
    }
    let stays = body.bytes(before.len().div_ceil(8))?;
    let stays = |number: usize| stays.get(number / 8).is_some_and(|byte| byte >> (number % 8) & 1 == 1);
    let sizes = body.count(MAX_KEYS)?;
    let sizes = body.items::<4>(sizes)?;
    let added = body.count(MAX_KEYS)?;
    let added = body.items::<36>(added)?;
    let mut out = PackWriter::create(to)?;
    // The digests of the new payloads read so far.
    let mut new: Vec<[u8; 32]> = Vec::new();
    let mut kept = before.iter().enumerate().filter(|(number, _)| stays(*number)).map(|(_, record)| record).peekable();
    let mut add = |out: &mut PackWriter, key: &Key, number: usize| {
        if let Some(record) = before.get(number) {
            return out.add(key, &old.payload(&place(record))?);
        }
        let index = number - before.len();
        if index == new.len() {
            let size = sizes.get(index).map_or(0, |size| u32::from_le_bytes(*size)) as usize;
            if size > LARGEST_ENTRY {
                return Err(Error::malformed("the delta has a payload that is too large"));
            }
            let payload = Payload::of(body.bytes(size)?);
            new.push(*payload.digest());
            return out.add(key, &payload);
        }
        let digest = new.get(index).ok_or_else(|| Error::malformed("the delta has payloads out of order"))?;
        out.add_again(key, digest)
    };
    for item in &added {
        let (key, number) = item.split_first_chunk::<32>().map_or(([0; 32], &[][..]), |(key, number)| (*key, number));
        let number = number.first_chunk().map_or(0, |four| u32::from_le_bytes(*four)) as usize;
        while let Some(record) = kept.next_if(|record| record.key.0 < key) {
            out.add(&record.key, &old.payload(&place(record))?)?;
            done();
        }
        add(&mut out, &Key(key), number)?;
        done();
    }
    for record in kept {
        out.add(&record.key, &old.payload(&place(record))?)?;
        done();
    }
    // Also checks what follows the last payload: nothing, and the frame's checksum.
    let rest = body.0.read(&mut [0]).map_err(|e| undecodable(&e))?;
    if rest != 0 || new.len() != sizes.len() {
        return Err(Error::malformed("the delta has more than it needs"));
    }
    let root = out.finish_as(&meta, Some(wanted))?;
    Ok(root)
}
