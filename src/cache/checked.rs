//! Reads and checks all parts of a file that LMDB will read in one transaction, before LMDB does.
//!
//! A put reads the meta pages, the path from the root to the leaf of each key, the first page of a replaced value, and
//! the tree of free pages; nothing else (`docs/cache-format.md` explains why). These pages are checked for everything
//! that LMDB assumes, and kept in memory, so that LMDB reads these bytes instead of the file.

use super::page::{Damage, Held, Level, Meta, Page, Tree, is_overflow, overflow_pages, u64_at};
use super::reader::Reader;
use std::collections::BTreeMap;

/// Checked pages, by number.
pub struct Checked {
    /// Bytes per page.
    pub page_size: usize,
    /// Number of pages in the file, by its meta page.
    pub pages: u64,
    /// Pages that a transaction reads.
    pub read: BTreeMap<u64, Vec<u8>>,
}

impl Checked {
    /// Pages read by a transaction that puts entries under these keys.
    ///
    /// # Errors
    /// The first damage found in them.
    pub fn new<'a>(reader: &Reader, keys: impl Iterator<Item = &'a [u8]>) -> Result<Self, Damage> {
        let meta = reader.meta_for_writing()?;
        let page_size = reader.page_size();
        let (read, trees) = (BTreeMap::new(), BTreeMap::new());
        let mut walk = Walk { reader, meta, read, trees, values: Vec::new(), freed: 0, free: Vec::new() };
        for number in 0..2 {
            walk.read.insert(number, reader.read(number, 0, page_size)?);
        }
        walk.free_pages(meta.free.root, meta.free)?;
        walk.free.sort_unstable();
        if let Some(twice) = walk.free.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Damage::new(twice[0], "is twice among the free pages"));
        }
        for key in keys {
            walk.path(key)?;
        }
        walk.apart()?;
        let mut read = walk.read;
        read.extend(walk.trees.into_iter().map(|(number, page)| (number, page.into_bytes())));
        Ok(Self { page_size, pages: meta.pages, read })
    }
}

struct Walk<'a> {
    reader: &'a Reader,
    meta: Meta,
    /// Meta pages and overflow pages.
    read: BTreeMap<u64, Vec<u8>>,
    /// Pages of the two trees; one may be on the paths of several keys.
    trees: BTreeMap<u64, Page>,
    /// Overflow pages that the transaction frees.
    values: Vec<std::ops::Range<u64>>,
    /// The transaction whose free pages were read last.
    freed: u64,
    free: Vec<u64>,
}

impl Walk<'_> {
    fn within(&self, page: u64, count: u64) -> Result<(), Damage> {
        let inside = page >= 2 && page.checked_add(count).is_some_and(|end| end <= self.meta.pages);
        if inside { Ok(()) } else { Err(Damage::new(page, "is not one of the file's pages, and is used")) }
    }

    fn page(&self, number: u64, level: Level, key_size: usize) -> Result<Page, Damage> {
        self.within(number, 1)?;
        let page = self.reader.page(number, level)?;
        page.check(key_size)?;
        Ok(page)
    }

    /// The branches and the leaf of a key, and the head of its old value.
    fn path(&mut self, key: &[u8]) -> Result<(), Damage> {
        let Tree { depth, root } = self.meta.main;
        let mut number = root;
        for level in (0..depth).rev() {
            let level = if level == 0 { Level::Leaf } else { Level::Branch };
            if self.trees.get(&number).is_none_or(|page| page.level() != level) {
                self.trees.insert(number, self.page(number, level, key.len())?);
            }
            let page = &self.trees[&number];
            let found = page.search(key)?;
            let next = found.map(|node| if level == Level::Leaf { node.held() } else { None });
            let child = found.map_or(number, |node| node.child());
            if let Some(Some(Held::Overflow { page, size })) = next {
                let count = overflow_pages(size, self.reader.page_size());
                self.overflow(page, count, 1)?;
            }
            number = child;
        }
        Ok(())
    }

    /// Keeps the first `kept` overflow pages of a value.
    fn overflow(&mut self, first: u64, count: u64, kept: u64) -> Result<(), Damage> {
        self.within(first, count)?;
        self.values.push(first..first + count);
        for number in first..first + kept {
            let bytes = self.reader.read(number, 0, self.reader.page_size())?;
            if number == first && !is_overflow(&bytes, first, count) {
                return Err(Damage::new(first, "is not an overflow page of this value"));
            }
            self.read.insert(number, bytes);
        }
        Ok(())
    }

    /// The whole tree of free pages: lists of page numbers by the transaction that freed them.
    fn free_pages(&mut self, number: u64, tree: Tree) -> Result<(), Damage> {
        match tree.depth {
            0 => Ok(()),
            1 => {
                let leaf = self.page(number, Level::Leaf, 8)?;
                for index in 0..leaf.len() {
                    let node = leaf.node(index)?;
                    let transaction = u64_at(node.key, 0).unwrap_or_default();
                    if transaction <= self.freed || transaction > self.meta.transaction {
                        return Err(Damage::new(number, "has free pages of a transaction out of order"));
                    }
                    self.freed = transaction;
                    match node.held() {
                        Some(Held::Here(list)) => self.list(number, list)?,
                        Some(Held::Overflow { page, size }) => {
                            let count = overflow_pages(size, self.reader.page_size());
                            self.overflow(page, count, count)?;
                            self.list(page, &self.reader.read(page, super::page::PAGE_HEADER, size)?)?;
                        }
                        None => return Err(Damage::new(number, "has no list of free pages")),
                    }
                }
                self.trees.insert(number, leaf);
                Ok(())
            }
            depth => {
                let branch = self.page(number, Level::Branch, 8)?;
                for index in 0..branch.len() {
                    self.free_pages(branch.node(index)?.child(), Tree { depth: depth - 1, ..tree })?;
                }
                self.trees.insert(number, branch);
                Ok(())
            }
        }
    }

    /// A count, and as many page numbers, descending; there may be space after them.
    fn list(&mut self, at: u64, list: &[u8]) -> Result<(), Damage> {
        let wrong = || Damage::new(at, "has a broken list of free pages");
        let count = u64_at(list, 0).and_then(|n| usize::try_from(n).ok()).ok_or_else(wrong)?;
        if !list.len().is_multiple_of(8) || count >= list.len() / 8 {
            return Err(wrong());
        }
        let mut above = self.meta.pages;
        for index in 1..=count {
            let page = u64_at(list, 8 * index).filter(|&page| page >= 2 && page < above).ok_or_else(wrong)?;
            self.free.push(page);
            above = page;
        }
        Ok(())
    }

    /// Checks that no page is both used and free, and that the file has the right length: up to its last page, or its
    /// last used page, because LMDB does not rewrite freed pages.
    fn apart(&self) -> Result<(), Damage> {
        let is_free = |page: &u64| self.free.binary_search(page).is_ok();
        let mut used = self.read.keys().chain(self.trees.keys()).copied().chain(self.values.iter().cloned().flatten());
        if let Some(page) = used.find(is_free) {
            return Err(Damage::new(page, "is both used and free"));
        }
        let whole = self.reader.size()? / self.reader.page_size() as u64;
        let last_used = (whole..self.meta.pages).find(|page| !is_free(page));
        last_used.map_or(Ok(()), |page| Err(Damage::new(page, "is beyond the end of the file")))
    }
}
