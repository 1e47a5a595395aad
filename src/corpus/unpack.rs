//! Unpacks compressed streams and archives.
//!
//! No size is trusted: every stream is read through a [`Budget`], so that a small file that unpacks into a large one
//! ends in a recorded omission, not in exhausted memory. A damaged container gives its readable part or nothing. A new
//! kind of stream gets a line in [`Stream::ALL`] and an arm in [`Stream::inflate`].

use super::budget::{Budget, Limit, Source};
use flate2::bufread::{GzDecoder, ZlibDecoder};
use std::cell::Cell;
use std::io::Read;
use std::ops::Range;

/// A compressed stream that can be read without name or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// RFC 1950, such as Qt's `qCompress`.
    Zlib,
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// The .xz file format 1.2.
    Xz,
}

impl Stream {
    const ALL: [Self; 4] = [Self::Zlib, Self::Gzip, Self::Zstd, Self::Xz];

    fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        }
    }

    fn begins(self, bytes: &[u8]) -> bool {
        match (self, bytes) {
            // The four levels of a stream with the full window and no dictionary, the default of every encoder. Smaller
            // windows are legal, but `48 89` is one, and common in x86-64 code.
            (Self::Zlib, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]) => true,
            (Self::Gzip, [0x1f, 0x8b, 8, flags, ..]) => flags & 0xe0 == 0,
            (Self::Zstd, [0x28, 0xb5, 0x2f, 0xfd, ..]) => true,
            (Self::Xz, [0xfd, b'7', b'z', b'X', b'Z', 0, ..]) => true,
            _ => false,
        }
    }

    /// The contents, which the caller releases, and the length of the stream in `bytes`.
    pub fn inflate(self, bytes: &[u8], budget: &mut Budget) -> Option<(Vec<u8>, usize)> {
        let read = Cell::new(0);
        let mut source = Source::new(bytes, &read);
        let out = match self {
            Self::Zlib => budget.decode(&read, ZlibDecoder::new(&mut source)),
            Self::Gzip => budget.decode(&read, GzDecoder::new(&mut source)),
            Self::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(&mut source).ok()?.single_frame();
                budget.with_window(|budget, window| {
                    decoder.window_log_max(window.max(1).ilog2().max(MIN_WINDOW_LOG)).ok()?;
                    budget.decode(&read, decoder)
                })
            }
            Self::Xz => budget.with_window(|budget, window| {
                let kib = u32::try_from(window >> 10).unwrap_or(u32::MAX);
                budget.decode(&read, lzma_rust2::XzReader::new_mem_limit(&mut source, false, kib))
            }),
        }?;
        Some((out, usize::try_from(source.position()).ok()?))
    }
}

/// The smallest window of zstd's format, which every decoder must be able to hold.
const MIN_WINDOW_LOG: u32 = 10;
/// Memory per entry of a zip's index, in bytes, besides the names. The crate takes some 400.
const ZIP_ENTRY: usize = 512;

/// The smallest useful content: a header of a module and one instruction.
const MIN_CONTENT: usize = 28;

/// Called with a member: its name, its contents, and the remaining budget.
pub type VisitMember<'a> = dyn FnMut(&str, &[u8], &mut Budget) + 'a;

/// Calls `visit` with every stream that begins in `range`, outside previous streams. Its name is kind and offset.
pub fn streams(bytes: &[u8], range: Range<usize>, budget: &mut Budget, visit: &mut VisitMember<'_>) {
    let mut at = range.start;
    while let Some(rest) = bytes.get(at..range.end).filter(|rest| !rest.is_empty()) {
        let stream = Stream::ALL.into_iter().find(|s| s.begins(rest));
        let opened = stream.and_then(|s| Some((s, s.inflate(rest, budget)?)));
        at = match opened {
            Some((stream, (out, used))) => {
                let real = out.len() >= MIN_CONTENT;
                if real {
                    visit(&format!("{}@{at:#x}", stream.name()), &out, budget);
                }
                budget.release(out);
                at.saturating_add(if real { used.max(1) } else { 1 })
            }
            None => at.saturating_add(1),
        };
    }
}

/// Calls `visit` with every member of a zip or tar archive, in order. False if the bytes are no archive.
pub fn archive(bytes: &[u8], budget: &mut Budget, visit: &mut VisitMember<'_>) -> bool {
    if bytes.starts_with(b"PK\x03\x04") {
        return zip_members(bytes, budget, visit).is_some();
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return tar_members(bytes, budget, visit).is_some();
    }
    false
}

fn zip_members(bytes: &[u8], budget: &mut Budget, visit: &mut VisitMember<'_>) -> Option<()> {
    // The crate reads the whole index at once: as many entries as have a head, and their names.
    let heads = bytes.windows(4).filter(|window| window == b"PK\x01\x02").count();
    let index = heads.saturating_mul(ZIP_ENTRY).saturating_add(bytes.len());
    if !budget.take(index) {
        return Some(());
    }
    let members = read_zip(bytes, budget, visit);
    budget.give(index);
    members
}

fn read_zip(bytes: &[u8], budget: &mut Budget, visit: &mut VisitMember<'_>) -> Option<()> {
    let read = Cell::new(0);
    let mut zip = zip::ZipArchive::new(Source::new(bytes, &read)).ok()?;
    for index in 0..zip.len() {
        let file = match zip.by_index(index) {
            Ok(file) => file,
            Err(e) => {
                budget.leave_out(Limit::Archive(format!("zip member {index}: {e}")));
                continue;
            }
        };
        let name = String::from_utf8_lossy(file.name_raw()).into_owned();
        member(&name, &read, file, budget, visit);
    }
    Some(())
}

fn tar_members(bytes: &[u8], budget: &mut Budget, visit: &mut VisitMember<'_>) -> Option<()> {
    let read = Cell::new(0);
    let mut tar = tar::Archive::new(Source::new(bytes, &read));
    for (index, entry) in tar.entries().ok()?.enumerate() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(_) if index == 0 => return None,
            Err(e) => {
                budget.leave_out(Limit::Archive(format!("tar after {index} members: {e}")));
                break;
            }
        };
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        member(&name, &read, entry, budget, visit);
    }
    Some(())
}

fn member(name: &str, read: &Cell<u64>, from: impl Read, budget: &mut Budget, visit: &mut VisitMember<'_>) {
    if let Some(data) = budget.decode(read, from) {
        visit(name, &data, budget);
        budget.release(data);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Cursor, Write};

    fn all_streams(file: &[u8], budget: &mut Budget) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        streams(file, 0..file.len(), budget, &mut |name, data, _| found.push((name.to_owned(), data.to_vec())));
        found
    }

    pub(crate) fn zlib(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(data: &[u8]) -> Vec<u8> {
        let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_read_is_free_again_afterwards() {
        let file: Vec<u8> = (0..5).flat_map(|n| zlib(&[n; 1000])).collect();
        let mut budget = Budget { memory: 1500, ..Budget::default() };
        assert_eq!(all_streams(&file, &mut budget).len(), 5);
        assert_eq!((budget.memory, budget.left_out()), (1500, None));
    }

    #[test]
    fn a_dictionary_larger_than_the_memory_is_left_out_and_named() {
        let file = xz(&[7; 1000]);
        let mut budget = Budget { memory: 1 << 20, ..Budget::default() };
        assert_eq!(all_streams(&file, &mut budget), [], "the default dictionary is of 8 MiB");
        assert!(budget.left_out().is_some());
    }

    #[test]
    fn a_bomb_is_cut_by_the_budget() {
        let bomb = zlib(&vec![0; 1 << 22]);
        let mut budget = Budget { unpacked: 1 << 16, ..Budget::default() };
        assert_eq!(all_streams(&bomb, &mut budget), []);
        assert!(budget.left_out().is_some());
    }

    #[test]
    fn members_are_counted() {
        let file: Vec<u8> = (0..5).flat_map(|n| zlib(&[n; 100])).collect();
        let mut budget = Budget { members: 3, ..Budget::default() };
        assert_eq!(all_streams(&file, &mut budget).len(), 3);
        assert!(budget.left_out().is_some());
    }

    #[test]
    fn a_stream_that_reads_much_and_gives_nothing_counts() {
        // Each gzip header's name goes on to the end of the file.
        let file = [0x1f, 0x8b, 8, 8, 1, 1, 1, 1, 1, 1].repeat(1000);
        let mut budget = Budget { packed: 1_000_000, ..Budget::default() };
        assert_eq!(all_streams(&file, &mut budget), []);
        assert_eq!((budget.packed, budget.unpacked), (0, Budget::default().unpacked));
        assert!(budget.left_out().unwrap().to_string().contains("to read"), "{:?}", budget.left_out());
        // Ten thousand members of a zip that are the same empty blocks.
        let file = zip_of_one_body(10_000, &[0, 0, 0, 0xff, 0xff].repeat(1000));
        let mut budget = Budget { packed: 1_000_000, ..Budget::default() };
        assert!(archive(&file, &mut budget, &mut |_, _, _| {}));
        assert_eq!(budget.packed, 0);
        assert!(budget.left_out().is_some());
    }

    /// A zip whose members all have the same deflated bytes, stored once.
    fn zip_of_one_body(members: u16, body: &[u8]) -> Vec<u8> {
        let size = u32::try_from(body.len()).unwrap().to_le_bytes();
        // Version, flags, deflate, time, checksum, sizes, length of the name, none of extra fields.
        let common = [&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &size, &[0; 4], &[4, 0, 0, 0]].concat();
        let mut file = [&b"PK\x03\x04"[..], &common, b"name", body].concat();
        let index = file.len();
        for n in 0..members {
            let name = format!("{n:04x}");
            file.extend([&b"PK\x01\x02\x14\0"[..], &common, &[0; 14], name.as_bytes()].concat());
        }
        let length = u32::try_from(file.len() - index).unwrap();
        file.extend([&b"PK\x05\x06\0\0\0\0"[..], &members.to_le_bytes(), &members.to_le_bytes()].concat());
        file.extend([length.to_le_bytes(), u32::try_from(index).unwrap().to_le_bytes()].concat());
        file.extend([0, 0]);
        file
    }

    #[test]
    fn the_index_of_a_zip_is_in_the_budget() {
        let file = zip_of_one_body(10_000, &[3, 0]);
        let mut budget = Budget { memory: 1 << 20, ..Budget::default() };
        assert!(archive(&file, &mut budget, &mut |_, _, _| {}));
        assert!(budget.left_out().unwrap().to_string().contains("--input-memory"), "{:?}", budget.left_out());
        assert_eq!(budget.memory, 1 << 20);
    }

    #[test]
    fn a_window_is_memory_too() {
        let mut budget = Budget { memory: 1000, ..Budget::default() };
        let rest = budget.with_window(|budget, window| (budget.memory, window));
        assert_eq!((rest, budget.memory), ((500, 500), 1000));
    }

    #[test]
    fn archives_give_their_members() {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("a/b.spv", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(b"contents").unwrap();
        let zip = zip.finish().unwrap().into_inner();
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_ustar();
        header.set_size(8);
        header.set_cksum();
        tar.append_data(&mut header, "a/b.spv", &b"contents"[..]).unwrap();
        let tar = tar.into_inner().unwrap();
        for bytes in [zip, tar] {
            let mut got = Vec::new();
            let is_archive = archive(&bytes, &mut Budget::default(), &mut |name, data, _| {
                got.push((name.to_owned(), data.to_vec()));
            });
            assert!(is_archive);
            assert_eq!(got, [("a/b.spv".to_owned(), b"contents".to_vec())]);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(start in 0usize..6, bytes in proptest::collection::vec(any::<u8>(), 0..1024)) {
            let starts: [&[u8]; 6] =
                [&[], b"PK\x03\x04", &[0x78, 0x9c], &[0x1f, 0x8b, 8, 0], &[0x28, 0xb5, 0x2f, 0xfd], b"\xfd7zXZ\0"];
            let file: Vec<u8> = starts[start].iter().chain(&bytes).copied().collect();
            let mut budget = Budget { unpacked: 1 << 20, ..Budget::default() };
            all_streams(&file, &mut budget);
            archive(&file, &mut budget, &mut |_, _, _| {});
        }

        #[test]
        fn streams_are_found_between_anything(
            parts in proptest::collection::vec((0usize..50, 0usize..4, proptest::collection::vec(any::<u8>(), 40..300)), 1..5),
        ) {
            let mut file = Vec::new();
            let mut expected = Vec::new();
            for (filler, kind, data) in parts {
                file.extend(std::iter::repeat_n(0xffu8, filler));
                let (stream, packed) = match kind {
                    0 => (Stream::Zlib, zlib(&data)),
                    1 => (Stream::Gzip, gzip(&data)),
                    2 => (Stream::Zstd, zstd::encode_all(&data[..], 1).unwrap()),
                    _ => (Stream::Xz, xz(&data)),
                };
                expected.push((format!("{}@{:#x}", stream.name(), file.len()), data));
                file.extend(packed);
            }
            prop_assert_eq!(all_streams(&file, &mut Budget::default()), expected);
        }
    }
}
