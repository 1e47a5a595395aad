//! Reads an LMDB file by `pread` into owned memory, without a map or a lock, and without writing.
//!
//! Truncating a mapped file ends the process that maps it, and a damaged file misleads LMDB; a short or wrong result of
//! `pread` is an ordinary error. The reader does not wait for writers either: LMDB writes a transaction to pages that
//! neither the newest nor the second-newest state uses, so what was read under one state is correct if that state is
//! still the newest afterwards. If not, the reader starts again. For the same reason tree pages are cached while their
//! state is the newest: a hit reads only its value and one meta page.

use super::entry::LARGEST_ENTRY;
use super::page::{Damage, Held, Level, Meta, PAGE_HEADER, Page, Tree};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Limit of restarts because of writers. Each restart means that a writer has committed within the microseconds of a
/// lookup, and a commit takes a hundred of them.
const ATTEMPTS: usize = 64;

/// Number of tree pages kept, 16 MiB with the usual page size: all of some 9,000 entries of 3 KB. Beyond, all are dropped: with
/// 100,000 entries, keeping branches apart and dropping leaves one by one made hits no faster (`benches/pack.rs`).
const KEPT_PAGES: usize = 4096;

/// Limit of pages read for one step through the keys: twice the path to a leaf.
const STEP_PAGES: usize = 64;

/// Size up to which bytes are read without checking the file length first.
const SMALL: usize = 64 << 10;

/// An open LMDB file.
pub struct Reader {
    file: File,
    page_size: usize,
    state: RwLock<Option<Arc<State>>>,
    /// Device and inode: another file may replace this one.
    identity: (u64, u64),
}

/// The two meta pages as in the file.
struct Metas([[u8; Meta::BYTES]; 2]);

/// The newest state of the file, and pages of its trees.
struct State {
    meta: Meta,
    /// The meta page that the next transaction will overwrite, with its current contents.
    next: [u8; Meta::BYTES],
    pages: Mutex<BTreeMap<u64, Arc<Page>>>,
}

impl Metas {
    /// Chooses like LMDB: of two with the same transaction number, page 0.
    fn newest(&self) -> Result<Meta, Damage> {
        let metas = self.0.iter().rev().filter_map(|bytes| Meta::parse(bytes));
        metas.max_by_key(|meta| meta.transaction).ok_or_else(|| Damage::new(0, "and page 1 are not meta pages"))
    }
}

/// Index of the meta page that the next transaction writes.
fn next_page(meta: &Meta) -> usize {
    usize::from(meta.transaction.is_multiple_of(2))
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl Reader {
    /// Opens the file of a store; `None` if there is none yet.
    ///
    /// # Errors
    /// The file is not an LMDB file.
    pub fn open(path: &Path) -> Result<Option<Self>, Damage> {
        let unreadable = |e: io::Error| Damage::unread(0, &e);
        // The file type is checked before opening, because opening a FIFO would wait for a writer.
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => metadata,
            Ok(_) => return Err(Damage::new(0, "cannot be read (not a regular file)")),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(unreadable(e)),
        };
        if metadata.len() == 0 {
            // Just created, possibly by a process that was killed at that moment.
            return Ok(None);
        }
        let file = File::open(path).map_err(unreadable)?;
        let identity = identity(&file.metadata().map_err(unreadable)?);
        let mut reader = Self { file, page_size: 0, state: RwLock::default(), identity };
        // Page 1 is at offset page size, which is unknown without a valid page 0, but nearly always this.
        reader.page_size = Meta::parse(&reader.read(0, 0, Meta::BYTES)?).map_or(4096, |meta| meta.page_size);
        reader.metas()?.newest()?;
        Ok(Some(reader))
    }

    /// Whether the path now names another file, or none.
    pub fn is_replaced(&self, path: &Path) -> bool {
        match std::fs::metadata(path) {
            Ok(metadata) => identity(&metadata) != self.identity,
            Err(e) => e.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Bytes per page.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Size of the file in bytes.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn size(&self) -> Result<u64, Damage> {
        self.file.metadata().map(|m| m.len()).map_err(|e| Damage::unread(0, &e))
    }

    /// `size` bytes from offset `at` of a page, possibly into the pages after it.
    ///
    /// # Errors
    /// The file ends before, or the device fails.
    pub fn read(&self, page: u64, at: usize, size: usize) -> Result<Vec<u8>, Damage> {
        // A damaged size must not become an allocation: a large value must be within the file.
        if size > SMALL
            && self.place(page, at)?.checked_add(size as u64).is_none_or(|end| end > self.size().unwrap_or(0))
        {
            return Err(Damage::new(page, "is beyond the end of the file"));
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| Damage::unread(page, &io::Error::from_raw_os_error(libc::ENOMEM)))?;
        bytes.resize(size, 0);
        self.read_into(&mut bytes, page, at)?;
        Ok(bytes)
    }

    fn place(&self, page: u64, at: usize) -> Result<u64, Damage> {
        let start = page.checked_mul(self.page_size as u64).and_then(|start| start.checked_add(at as u64));
        start.ok_or_else(|| Damage::new(page, "is beyond any file"))
    }

    fn read_into(&self, bytes: &mut [u8], page: u64, at: usize) -> Result<(), Damage> {
        self.file.read_exact_at(bytes, self.place(page, at)?).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => Damage::new(page, "is beyond the end of the file"),
            _ => Damage::unread(page, &e),
        })
    }

    /// A branch or leaf page.
    ///
    /// # Errors
    /// It cannot be read, or is no such page.
    pub fn page(&self, number: u64, level: Level) -> Result<Page, Damage> {
        Page::parse(self.read(number, 0, self.page_size)?, number, level)
    }

    fn meta_page(&self, number: usize) -> Result<[u8; Meta::BYTES], Damage> {
        let mut bytes = [0; Meta::BYTES];
        self.read_into(&mut bytes, number as u64, 0)?;
        Ok(bytes)
    }

    fn metas(&self) -> Result<Metas, Damage> {
        Ok(Metas([self.meta_page(0)?, self.meta_page(1)?]))
    }

    /// The newest state.
    ///
    /// # Errors
    /// The meta pages are not as LMDB assumes: complete, and each in the page to which it writes such a transaction (a new
    /// file has transaction 0 in both).
    pub fn meta_for_writing(&self) -> Result<Meta, Damage> {
        let metas = self.metas()?;
        for (number, bytes) in metas.0.iter().enumerate() {
            let meta = Meta::parse(bytes).filter(|meta| meta.page_size == self.page_size);
            if meta.is_none_or(|meta| meta.transaction != 0 && next_page(&meta) == number) {
                return Err(Damage::new(0, "or page 1 is not a meta page"));
            }
        }
        metas.newest()
    }

    /// The value under a key.
    ///
    /// # Errors
    /// A page on the path is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Damage> {
        self.in_newest_state(|state| self.find(state, key))
    }

    /// What is read from a state that is still the newest afterwards.
    fn in_newest_state<T>(&self, read: impl Fn(&State) -> Result<T, Damage>) -> Result<T, Damage> {
        for _ in 0..ATTEMPTS {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(state) = state {
                let found = read(&state);
                if self.meta_page(next_page(&state.meta))? == state.next {
                    return found;
                }
            }
            let metas = self.metas()?;
            let meta = metas.newest()?;
            let state = State { meta, next: metas.0[next_page(&meta)], pages: Mutex::default() };
            *self.state.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(state));
        }
        Err(Damage::new(0, "changes faster than it can be read"))
    }

    /// The keys of the leaf after a key, in order; none after the last one.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn keys_after(&self, last: Option<&[u8]>) -> Result<Vec<Vec<u8>>, Damage> {
        self.in_newest_state(|state| {
            let Tree { root, depth } = state.meta.main;
            match depth.checked_sub(1) {
                Some(level) => self.next_keys(root, level, last.unwrap_or_default(), &mut { STEP_PAGES }),
                None => Ok(Vec::new()),
            }
        })
    }

    /// The keys after one in the first leaf below a page that has such keys.
    fn next_keys(&self, number: u64, level: u16, last: &[u8], left: &mut usize) -> Result<Vec<Vec<u8>>, Damage> {
        *left = left.checked_sub(1).ok_or_else(|| Damage::new(number, "is on a path that leads nowhere"))?;
        let page = self.page(number, if level == 0 { Level::Leaf } else { Level::Branch })?;
        let mut nodes = (0..page.len()).map(|index| page.node(index)).collect::<Result<Vec<_>, _>>()?;
        let Some(below) = level.checked_sub(1) else {
            nodes.retain(|node| node.key > last);
            return Ok(nodes.iter().map(|node| node.key.to_vec()).collect());
        };
        // The first node covers everything before the second.
        let first = nodes.iter().skip(1).take_while(|node| node.key <= last).count();
        for node in nodes.iter().skip(first) {
            let keys = self.next_keys(node.child(), below, last, left)?;
            if !keys.is_empty() {
                return Ok(keys);
            }
        }
        Ok(Vec::new())
    }

    fn find(&self, state: &State, key: &[u8]) -> Result<Option<Vec<u8>>, Damage> {
        let mut number = state.meta.main.root;
        for level in (0..state.meta.main.depth).rev() {
            let level = if level == 0 { Level::Leaf } else { Level::Branch };
            let page = self.kept_page(state, number, level)?;
            let Some(node) = page.search(key)? else { return Ok(None) };
            if level == Level::Branch {
                number = node.child();
                continue;
            }
            return match node.held() {
                Some(Held::Here(value)) => Ok(Some(value.to_vec())),
                // Checked before allocating memory in the process of a game: no store has such an entry.
                Some(Held::Overflow { page, size }) if size > LARGEST_ENTRY => {
                    Err(Damage::new(page, format!("has an entry of {size} bytes: at most {LARGEST_ENTRY}")))
                }
                Some(Held::Overflow { page, size }) => self.read(page, PAGE_HEADER, size).map(Some),
                None => Err(Damage::new(number, "has an invalid cache entry")),
            };
        }
        Ok(None)
    }

    fn kept_page(&self, state: &State, number: u64, level: Level) -> Result<Arc<Page>, Damage> {
        let kept = || state.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = kept().get(&number).filter(|page| page.level() == level) {
            return Ok(page.clone());
        }
        let page = Arc::new(self.page(number, level)?);
        let mut pages = kept();
        if pages.len() >= KEPT_PAGES {
            pages.clear();
        }
        pages.insert(number, page.clone());
        Ok(page)
    }
}
