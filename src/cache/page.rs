//! Pages of LMDB's file format, version 1, as shown in `docs/cache-format.md`, in owned memory.
//!
//! The bytes come from a file that may be damaged: every number is range-checked before use. [`Page::node`] suffices
//! for safe reading; [`Page::check`] checks everything that LMDB itself assumes about a page.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// Bytes before the nodes of a page, and before the value in an overflow page.
pub const PAGE_HEADER: usize = 16;
const NODE_HEADER: usize = 8;
const LARGEST_PAGE: usize = 1 << 15;
/// Depth limit of a tree: with two nodes per page it would hold a million entries, and LMDB's pages hold fifty nodes.
const DEEPEST: u16 = 20;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
const META: u16 = 0x08;

/// Deviation of a file from LMDB's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Page number.
    pub page: u64,
    /// Description.
    pub what: Cow<'static, str>,
    /// Error number of the system if the page could not be read. The file itself may be intact.
    pub unread: Option<i32>,
}

impl Damage {
    /// Damage of a page.
    pub fn new(page: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self { page, what: what.into(), unread: None }
    }

    /// A page that the system did not read.
    pub fn unread(page: u64, e: &io::Error) -> Self {
        Self { unread: e.raw_os_error(), ..Self::new(page, format!("cannot be read ({e})")) }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {} {}", self.page, self.what)
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    field(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    field(bytes, at).map(u32::from_le_bytes)
}

/// Eight bytes as LMDB writes page numbers and transaction ids.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    field(bytes, at).map(u64::from_le_bytes)
}

/// Overflow pages for a value of this size that does not fit into a leaf.
pub fn overflow_pages(size: usize, page_size: usize) -> u64 {
    (PAGE_HEADER + size).div_ceil(page_size).max(1) as u64
}

/// Root of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Levels; 0 in an empty tree.
    pub depth: u16,
    /// The topmost page.
    pub root: u64,
}

impl Tree {
    /// Parses a record of 48 bytes. `pages` is the page count of the file, by its meta page.
    fn parse(bytes: &[u8], at: usize, flags: u16, pages: u64) -> Option<Self> {
        let tree = Self { depth: u16_at(bytes, at + 6)?, root: u64_at(bytes, at + 40)? };
        let empty = tree.depth == 0 && tree.root == u64::MAX;
        let real = (1..=DEEPEST).contains(&tree.depth) && (2..pages).contains(&tree.root);
        (u16_at(bytes, at + 4)? == flags && (empty || real)).then_some(tree)
    }
}

/// A meta page: the state after one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Bytes per page.
    pub page_size: usize,
    /// The tree of free pages.
    pub free: Tree,
    /// The tree of entries.
    pub main: Tree,
    /// Number of pages, the two meta pages included.
    pub pages: u64,
    /// The transaction.
    pub transaction: u64,
}

impl Meta {
    /// Bytes of a meta page that are used.
    pub const BYTES: usize = 152;

    /// Parses the beginning of page 0 or 1.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        /// Keys of the tree of free pages are integers.
        const INTEGER_KEY: u16 = 0x08;
        let right = u16_at(bytes, 10)? & META != 0 && u32_at(bytes, 16)? == 0xBEEF_C0DE && u32_at(bytes, 20)? == 1;
        let page_size = usize::try_from(u32_at(bytes, 40)?).ok()?;
        let pages = u64_at(bytes, 136)?.checked_add(1)?;
        let sized = page_size.is_power_of_two() && (512..=LARGEST_PAGE).contains(&page_size) && pages >= 2;
        if !right || !sized || pages > u64::MAX / LARGEST_PAGE as u64 {
            return None;
        }
        let free = Tree::parse(bytes, 40, INTEGER_KEY, pages)?;
        let main = Tree::parse(bytes, 88, 0, pages)?;
        Some(Self { page_size, free, main, pages, transaction: u64_at(bytes, 144)? })
    }
}

/// Level of a page in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Its nodes point to other pages.
    Branch,
    /// Its nodes hold entries.
    Leaf,
}

/// A branch or leaf page.
pub struct Page {
    number: u64,
    level: Level,
    bytes: Vec<u8>,
}

/// One node of a page: a key, and its data.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    offset: usize,
    size: u32,
    flags: u16,
    /// The key.
    pub key: &'a [u8],
    rest: &'a [u8],
}

/// Data of a leaf's node.
pub enum Held<'a> {
    /// The value itself.
    Here(&'a [u8]),
    /// The value is in overflow pages.
    Overflow {
        /// The first of them.
        page: u64,
        /// Bytes of the value.
        size: usize,
    },
}

impl<'a> Node<'a> {
    /// The page that a branch's node points to.
    pub fn child(&self) -> u64 {
        u64::from(self.size) | u64::from(self.flags) << 32
    }

    /// Data of a leaf's node; `None` for a kind of node that caches do not have.
    pub fn held(&self) -> Option<Held<'a>> {
        let size = usize::try_from(self.size).ok()?;
        match self.flags {
            0 => self.rest.get(..size).map(Held::Here),
            1 => Some(Held::Overflow { page: u64_at(self.rest, 0)?, size }),
            _ => None,
        }
    }
}

impl Page {
    /// Parses the bytes of one page.
    ///
    /// # Errors
    /// The header is not that of this page at this level.
    pub fn parse(bytes: Vec<u8>, number: u64, level: Level) -> Result<Self, Damage> {
        let flags = if level == Level::Branch { BRANCH } else { LEAF };
        let lower = u16_at(&bytes, 12).map_or(0, usize::from);
        if u64_at(&bytes, 0) != Some(number) || u16_at(&bytes, 10) != Some(flags) {
            return Err(Damage::new(number, format!("is not a {level:?} page").to_lowercase()));
        }
        if lower < PAGE_HEADER || lower > bytes.len() || !lower.is_multiple_of(2) {
            return Err(Damage::new(number, "has a number of nodes that does not fit"));
        }
        Ok(Self { number, level, bytes })
    }

    /// Level in its tree.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        (u16_at(&self.bytes, 12).map_or(0, usize::from).saturating_sub(PAGE_HEADER)) / 2
    }

    /// A node by its index in key order.
    ///
    /// # Errors
    /// It is not inside the page.
    pub fn node(&self, index: usize) -> Result<Node<'_>, Damage> {
        self.find_node(index).ok_or_else(|| Damage::new(self.number, "has a node that does not lie within it"))
    }

    fn find_node(&self, index: usize) -> Option<Node<'_>> {
        let offset = usize::from(u16_at(&self.bytes, PAGE_HEADER + 2 * index)?);
        let node = self.bytes.get(offset..).filter(|_| index < self.len())?;
        let key_size = usize::from(u16_at(node, 6)?);
        let key = node.get(NODE_HEADER..NODE_HEADER + key_size)?;
        let rest = node.get(NODE_HEADER + key_size..)?;
        Some(Node { offset, size: u32_at(node, 0)?, flags: u16_at(node, 4)?, key, rest })
    }

    /// The node with this key, in a leaf; the one whose child would hold it, in a branch.
    ///
    /// # Errors
    /// A node on the path is not inside the page.
    pub fn search(&self, key: &[u8]) -> Result<Option<Node<'_>>, Damage> {
        // The first node of a branch covers all keys less than the second; its own key is ignored.
        let (mut low, mut high) = (usize::from(self.level == Level::Branch), self.len());
        while low < high {
            let middle = low.midpoint(high);
            let node = self.node(middle)?;
            match node.key.cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(Some(node)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        match self.level {
            Level::Leaf => Ok(None),
            Level::Branch => self.node(low.saturating_sub(1)).map(Some),
        }
    }

    /// Checks everything that LMDB assumes about a page whose keys have `key_size` bytes: all nodes have valid sizes,
    /// fill the end of the page without gap or overlap, and are in order.
    ///
    /// # Errors
    /// The violated rule.
    pub fn check(&self, key_size: usize) -> Result<(), Damage> {
        let wrong = |what| Err(Damage::new(self.number, what));
        let (leaf, count) = (self.level == Level::Leaf, self.len());
        if count < if leaf { 1 } else { 2 } {
            return wrong("has too few nodes");
        }
        // LMDB keeps at least two nodes per page; larger ones go to overflow pages.
        let largest = (((self.bytes.len() - PAGE_HEADER) / 2) & !1) - 2;
        let mut extents = Vec::with_capacity(count);
        let mut last: Option<&[u8]> = None;
        for index in 0..count {
            let node = self.node(index)?;
            let unnamed = !leaf && index == 0;
            if node.key.len() != key_size && !(unnamed && node.key.is_empty()) {
                return wrong("has a key of the wrong size");
            }
            // Integers are compared by value, so little-endian bytes must be compared in reverse.
            let ordered = |key: &[u8], other: &[u8]| match key_size {
                8 => key.iter().rev().lt(other.iter().rev()),
                _ => key < other,
            };
            if last.is_some_and(|last| !ordered(last, node.key)) {
                return wrong("has keys out of order");
            }
            last = (!unnamed).then_some(node.key);
            let held = match (leaf, node.held()) {
                (false, _) => 0,
                (true, Some(Held::Here(value))) => value.len(),
                (true, Some(Held::Overflow { .. })) => 8,
                (true, None) => return wrong("has an invalid cache entry"),
            };
            let size = (NODE_HEADER + node.key.len() + held).next_multiple_of(2);
            if size > largest {
                return wrong("has an entry that exceeds the page");
            }
            extents.push((node.offset, size));
        }
        extents.sort_unstable();
        let start = u16_at(&self.bytes, 14).map(usize::from);
        let end = extents.iter().try_fold(extents[0].0, |at, &(offset, size)| (offset == at).then_some(at + size));
        let room = start.is_some_and(|start| start >= PAGE_HEADER + 2 * count && start == extents[0].0);
        if !room || end != Some(self.bytes.len()) {
            return wrong("has nodes that overlap or leave gaps");
        }
        Ok(())
    }
}

/// Whether the first overflow page of a value has a valid header.
pub fn is_overflow(bytes: &[u8], number: u64, pages: u64) -> bool {
    u64_at(bytes, 0) == Some(number)
        && u16_at(bytes, 10) == Some(OVERFLOW)
        && u32_at(bytes, 12).map(u64::from) == Some(pages)
}
