//! Extracts the named files of Qt resources from a binary.
//!
//! `rcc` writes three arrays into the program without any reference to them: a tree of 22-byte nodes, a table of names,
//! and the data. All numbers are big-endian.
//!
//! ```text
//! node    name offset u32, flags u16, then  directory: child count u32, first child u32
//!                                           file:      territory u16, language u16, data offset u32;  8 bytes of time
//! name    length u16, hash u32, UTF-16 characters
//! data    length u32, bytes (flag 1: u32 and zlib, flag 4: zstd)
//! ```
//!
//! Each array can be checked: the tree by counting its own nodes, the names by their hashes, the data by lengths that
//! lead from file to file. So the search finds a root, then nearby names that fit all its nodes, then data that fits
//! all its files. Everything else is left to the search for streams, which finds the same modules without names.

use super::budget::Budget;
use super::names::clip;
use super::unpack::Stream;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

const NODE: usize = 22;
const FLAG_ZLIB: u16 = 1;
const FLAG_DIRECTORY: u16 = 2;
const FLAG_ZSTD: u16 = 4;
/// Bytes around the tree in which names and data are searched.
const REACH: usize = 8 << 20;
/// Largest array alignment by compilers, bytes.
const ALIGN: usize = 64;
/// Bytes that can be compared sequentially in the time of trying one position.
const SCANNED: usize = 64;
/// Longest path of a directory in the tree, in bytes; longer ones are abbreviated.
const MAX_PATH: usize = 1024;

/// Calls `visit` with every file of every resource tree in `bytes`: its path in the tree without the leading slash, and
/// its unpacked contents. Returns the ranges of the stored forms.
pub fn resources(
    bytes: &[u8],
    budget: &mut Budget,
    visit: &mut dyn FnMut(&str, &[u8], &mut Budget),
) -> Vec<Range<usize>> {
    let trees = trees(bytes);
    let names = if trees.is_empty() { Vec::new() } else { name_positions(bytes) };
    let mut found = Vec::new();
    for tree in trees {
        let Some(name_base) = locate_names(bytes, &tree, &names, budget) else { continue };
        let Some(data_base) = locate_data(bytes, &tree, name_base, budget) else { continue };
        tree.each_file(bytes, name_base, budget, &mut |path, file, budget| {
            let range = data_base.checked_add(file.data).and_then(|at| stored(bytes, at));
            let Some((range, stored)) = range.and_then(|range| Some((range.clone(), bytes.get(range)?))) else {
                return;
            };
            if let Some(data) = unpacked(stored, file.flags, budget) {
                visit(path, &data, budget);
                budget.release(data);
                found.push(range);
            }
        });
    }
    found
}

struct Tree {
    range: Range<usize>,
    nodes: Vec<Node>,
}

struct Node {
    name: usize,
    what: What,
}

enum What {
    Directory(Range<usize>),
    File(File),
}

#[derive(Clone, Copy)]
struct File {
    flags: u16,
    data: usize,
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn size32(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(be32(bytes, at)?).ok()
}

fn trees(bytes: &[u8]) -> Vec<Tree> {
    let mut found: Vec<Tree> = Vec::new();
    for (at, root) in bytes.windows(14).enumerate() {
        // The root: no name, a directory, a child count, and its first child directly after it.
        if root.starts_with(&[0, 0, 0, 0, 0, 2]) && root.ends_with(&[0, 0, 0, 1]) {
            let inside = found.last().is_some_and(|tree| tree.range.contains(&at));
            found.extend((!inside).then(|| Tree::parse(bytes, at)).flatten());
        }
    }
    found
}

impl Tree {
    /// The tree whose root is at `start`: nodes in breadth-first order, each directory's children after the last's.
    fn parse(bytes: &[u8], start: usize) -> Option<Self> {
        let mut nodes = Vec::new();
        let mut announced = 1;
        let mut at = start;
        while nodes.len() < announced {
            let name = size32(bytes, at)?;
            let flags = be16(bytes, at.checked_add(4)?)?;
            let body = at.checked_add(6)?;
            let what = match flags {
                FLAG_DIRECTORY => {
                    let first = size32(bytes, body.checked_add(4)?)?;
                    let end = first.checked_add(size32(bytes, body)?)?;
                    // At most as many nodes as fit into the bytes, so that counts are bounded.
                    if first != announced || end == first || end > bytes.len() / NODE {
                        return None;
                    }
                    announced = end;
                    What::Directory(first..end)
                }
                0 | FLAG_ZLIB | FLAG_ZSTD => What::File(File { flags, data: size32(bytes, body.checked_add(4)?)? }),
                _ => return None,
            };
            nodes.push(Node { name, what });
            at = at.checked_add(NODE)?;
        }
        let tree = Self { range: start..at, nodes };
        (tree.files().next().is_some() && at <= bytes.len()).then_some(tree)
    }

    fn files(&self) -> impl Iterator<Item = &File> {
        self.nodes.iter().filter_map(|node| match &node.what {
            What::File(file) => Some(file),
            What::Directory(_) => None,
        })
    }

    /// Offsets of all names but the root's, which has none.
    fn name_offsets(&self) -> BTreeSet<usize> {
        self.nodes.iter().skip(1).map(|node| node.name).collect()
    }

    /// Calls `visit` with each file and its path. Only the paths of directories whose children are still to come are
    /// held, one for all children, as memory of the budget.
    fn each_file(
        &self,
        bytes: &[u8],
        name_base: usize,
        budget: &mut Budget,
        visit: &mut dyn FnMut(&str, File, &mut Budget),
    ) {
        let mut directories: VecDeque<(Range<usize>, String)> = VecDeque::new();
        for (index, node) in self.nodes.iter().enumerate() {
            while let Some((_, path)) = directories.pop_front_if(|(children, _)| children.end <= index) {
                budget.give(path.len());
            }
            let name = match index {
                0 => String::new(),
                _ => name_base.checked_add(node.name).and_then(|at| name_at(bytes, at)).unwrap_or_default().0,
            };
            let path = match directories.front() {
                Some((_, parent)) if !parent.is_empty() => format!("{parent}/{name}"),
                _ => name,
            };
            match &node.what {
                What::File(file) => visit(&path, *file, budget),
                What::Directory(children) => {
                    let path = clip(&path, MAX_PATH);
                    if !budget.take(path.len()) {
                        break;
                    }
                    directories.push_back((children.clone(), path));
                }
            }
        }
        directories.into_iter().for_each(|(_, path)| budget.give(path.len()));
    }
}

/// The name at a position and its end, if the hash is right and it is a legal file name.
fn name_at(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let length = usize::from(be16(bytes, at)?);
    let hash = be32(bytes, at.checked_add(2)?)?;
    let start = at.checked_add(6)?;
    let end = start.checked_add(length.checked_mul(2)?)?;
    let units: Vec<u16> = bytes.get(start..end)?.chunks_exact(2).map(|u| u16::from_be_bytes([u[0], u[1]])).collect();
    let legal = !units.is_empty() && units.iter().all(|&u| u >= 0x20) && name_hash(&units) == hash;
    legal.then(|| Some((String::from_utf16(&units).ok()?, end)))?
}

/// Qt's hash of resource names, the ELF hash over UTF-16 units.
fn name_hash(units: &[u16]) -> u32 {
    units.iter().fold(0u32, |hash, &unit| {
        let hash = (hash << 4).wrapping_add(u32::from(unit));
        (hash ^ (hash & 0xf000_0000) >> 23) & 0x0fff_ffff
    })
}

/// Positions of names in `bytes`, in order.
fn name_positions(bytes: &[u8]) -> Vec<usize> {
    let plausible = |w: &[u8]| w[0] == 0 && w[1] != 0 && w[2] < 0x10;
    let candidates = bytes.windows(8).enumerate().filter(|(_, w)| plausible(w));
    candidates.filter(|&(at, _)| name_at(bytes, at).is_some()).map(|(at, _)| at).collect()
}

/// The base nearest to the tree at which all of its names are.
fn locate_names(bytes: &[u8], tree: &Tree, positions: &[usize], budget: &mut Budget) -> Option<usize> {
    let offsets = tree.name_offsets();
    let first = *offsets.first()?;
    let from = positions.partition_point(|&p| p < tree.range.start.saturating_sub(REACH));
    let to = positions.partition_point(|&p| p < tree.range.end.saturating_add(REACH));
    let nearby = positions.get(from..to)?;
    // Nearly every base fails at one of its first names.
    let mut fits = |base: &usize| {
        let is_name = |offset| base.checked_add(offset).is_some_and(|at| positions.binary_search(&at).is_ok());
        offsets.iter().all(|offset| budget.try_positions(1) && is_name(*offset))
    };
    let bases = nearby.iter().filter_map(|p| p.checked_sub(first)).filter(|base| fits(base));
    let base = bases.min_by_key(|base| base.abs_diff(tree.range.start))?;
    name_at(bytes, base.checked_add(*offsets.last()?)?).map(|_| base)
}

/// The range of the bytes after the length at `at`.
fn stored(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_add(4)?;
    let end = start.checked_add(size32(bytes, at)?)?;
    (end <= bytes.len()).then_some(start..end)
}

fn locate_data(bytes: &[u8], tree: &Tree, name_base: usize, budget: &mut Budget) -> Option<usize> {
    let offsets: Vec<usize> = tree.files().map(|file| file.data).collect::<BTreeSet<_>>().into_iter().collect();
    match offsets.as_slice() {
        [] => None,
        [only] => {
            let names_end = tree.name_offsets().last().and_then(|o| name_at(bytes, name_base.checked_add(*o)?))?.1;
            // Compilers keep the order of the source, data first, or reverse it.
            let base = if tree.range.start < name_base {
                first_after(bytes, names_end)
            } else {
                last_before(bytes, name_base, budget)
            };
            base?.checked_sub(*only)
        }
        [first, second, ..] => {
            let length = u32::try_from(second.checked_sub(*first)?.checked_sub(4)?).ok()?.to_be_bytes();
            let from = tree.range.start.saturating_sub(REACH);
            let to = tree.range.end.saturating_add(REACH).min(bytes.len());
            budget.try_positions(to.saturating_sub(from) / SCANNED).then_some(())?;
            let hits = bytes.get(from..to)?.windows(4).enumerate().filter(|(_, window)| *window == length);
            let bases = hits.filter_map(|(at, _)| from.checked_add(at)?.checked_sub(*first));
            bases.filter(|&base| leads_on(bytes, base, &offsets)).min_by_key(|base| base.abs_diff(tree.range.start))
        }
    }
}

/// Whether each length leads to the offset of the next file.
fn leads_on(bytes: &[u8], base: usize, offsets: &[usize]) -> bool {
    offsets.iter().enumerate().all(|(index, offset)| {
        let Some(range) = base.checked_add(*offset).and_then(|at| stored(bytes, at)) else { return false };
        offsets.get(index.saturating_add(1)).is_none_or(|next| range.end.checked_sub(base) == Some(*next))
    })
}

/// The data of a tree with one file has no chain to follow, but is next to the names. Data after the names.
fn first_after(bytes: &[u8], names_end: usize) -> Option<usize> {
    let filled = |at: &usize| stored(bytes, *at).is_some_and(|range| !range.is_empty());
    (names_end..names_end.saturating_add(ALIGN)).filter(|at| at % 16 == 0).find(filled)
}

/// Data before the names.
fn last_before(bytes: &[u8], names: usize, budget: &mut Budget) -> Option<usize> {
    let from = names.saturating_sub(REACH);
    budget.try_positions(names.saturating_sub(from) / SCANNED).then_some(())?;
    let ends_at_names = |at: &usize| {
        stored(bytes, *at).is_some_and(|r| !r.is_empty() && r.end <= names && names.abs_diff(r.end) < ALIGN)
    };
    (from..names).rev().filter(|at| at % 16 == 0).find(ends_at_names)
}

fn unpacked(stored: &[u8], flags: u16, budget: &mut Budget) -> Option<Vec<u8>> {
    match flags {
        // `qCompress` writes the size first.
        FLAG_ZLIB => Stream::Zlib.inflate(stored.get(4..)?, budget).map(|(data, _)| data),
        FLAG_ZSTD => Stream::Zstd.inflate(stored, budget).map(|(data, _)| data),
        _ => budget.hold(stored),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unpack::tests::zlib;
    use proptest::prelude::*;

    /// The three arrays for `dir/<file>…`, as `rcc` writes them.
    fn arrays(files: &[(&str, u16, &[u8])]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let (mut tree, mut names, mut data) = (Vec::new(), Vec::new(), Vec::new());
        let mut node = |name: usize, flags: u16, a: u32, b: u32| {
            tree.extend(u32::try_from(name).unwrap().to_be_bytes());
            tree.extend(flags.to_be_bytes());
            tree.extend(a.to_be_bytes());
            tree.extend(b.to_be_bytes());
            tree.extend([0; 8]);
        };
        let mut name = |text: &str| {
            let at = names.len();
            let units: Vec<u16> = text.encode_utf16().collect();
            names.extend(u16::try_from(units.len()).unwrap().to_be_bytes());
            names.extend(name_hash(&units).to_be_bytes());
            names.extend(units.iter().flat_map(|u| u.to_be_bytes()));
            at
        };
        node(0, 2, 1, 1);
        node(name("dir"), 2, files.len().try_into().unwrap(), 2);
        for (text, flags, bytes) in files {
            node(name(text), *flags, 0x0000_0001, data.len().try_into().unwrap());
            data.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
            data.extend(*bytes);
        }
        (tree, names, data)
    }

    /// A binary with the arrays in one of the two orders of compilers.
    fn binary(order: [usize; 3], arrays: (Vec<u8>, Vec<u8>, Vec<u8>)) -> Vec<u8> {
        let arrays = [arrays.0, arrays.1, arrays.2];
        let mut file = vec![0xcc; 96];
        for index in order {
            file.extend(&arrays[index]);
            file.resize(file.len().next_multiple_of(32), 0);
        }
        file
    }

    fn found(file: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        resources(file, &mut Budget::default(), &mut |path, data, _| found.push((path.to_owned(), data.to_vec())));
        found
    }

    #[test]
    fn both_orders_and_both_counts() {
        let mut packed = vec![0, 0, 0, 60];
        packed.extend(zlib(&[7; 60]));
        for order in [[0, 1, 2], [2, 1, 0]] {
            let one = [("a.vert.qsb", 0, &b"vertex stage"[..])];
            assert_eq!(found(&binary(order, arrays(&one))), [("dir/a.vert.qsb".into(), b"vertex stage".to_vec())]);
            let two = [("a.vert.qsb", 0, &b"vertex"[..]), ("a.frag.qsb", 1, &packed)];
            let expected = [("dir/a.vert.qsb".into(), b"vertex".to_vec()), ("dir/a.frag.qsb".into(), vec![7; 60])];
            assert_eq!(found(&binary(order, arrays(&two))), expected);
        }
    }

    /// Directories inside each other with names of 255 characters, and a thousand files in the last.
    #[test]
    fn long_paths_are_abbreviated_and_given_back() {
        let name = |text: &str| {
            let units: Vec<u16> = text.encode_utf16().collect();
            let head =
                [u16::try_from(units.len()).unwrap().to_be_bytes().to_vec(), name_hash(&units).to_be_bytes().into()];
            [head.concat(), units.iter().flat_map(|u| u.to_be_bytes()).collect()].concat()
        };
        let names = [name(&"d".repeat(255)), name("f")].concat();
        let node = |name: usize, flags: u16, a: u32, b: u32| {
            let body = [flags.to_be_bytes().to_vec(), a.to_be_bytes().into(), b.to_be_bytes().into(), vec![0; 8]];
            [u32::try_from(name).unwrap().to_be_bytes().to_vec(), body.concat()].concat()
        };
        let (depth, files) = (200, 1000);
        let mut tree = node(0, FLAG_DIRECTORY, 1, 1);
        (2..=depth).for_each(|first| tree.extend(node(0, FLAG_DIRECTORY, 1, first)));
        tree.extend(node(0, FLAG_DIRECTORY, files, depth + 1));
        (0..files).for_each(|_| tree.extend(node(names.len() - 8, 0, 1, 0)));
        let file = binary([0, 1, 2], (tree, names, b"\0\0\0\x08contents".to_vec()));
        let mut budget = Budget { memory: 1 << 16, ..Budget::default() };
        let mut paths = Vec::new();
        resources(&file, &mut budget, &mut |path, data, _| {
            assert_eq!(data, b"contents");
            paths.push(path.to_owned());
        });
        assert_eq!((paths.len(), budget.memory, budget.left_out()), (1000, 1 << 16, None));
        assert!(paths.iter().all(|path| path.len() < MAX_PATH + 300 && path.ends_with("/f")));
    }

    #[test]
    fn a_wrong_hash_is_no_name() {
        let (tree, mut names, data) = arrays(&[("a.qsb", 0, b"contents")]);
        names[3] ^= 1;
        assert_eq!(found(&binary([0, 1, 2], (tree, names, data))), []);
    }

    proptest! {
        #[test]
        fn damage_is_survived(at in 0usize..400, with in any::<u8>()) {
            let mut file = binary([2, 1, 0], arrays(&[("a.qsb", 0, b"contents"), ("b.qsb", 1, b"no zlib here")]));
            let at = at % file.len();
            file[at] = with;
            found(&file);
        }
    }
}
