//! Reading an LMDB file by `pread` into owned memory: no map, no lock, nothing written.
//!
//! A mapped file that is cut short takes its process down, and a damaged one leads LMDB anywhere; a short or wrong answer of
//! `pread` is an error like any other. Writers are not waited for either: LMDB writes a transaction to pages that neither the
//! newest nor the second newest state uses, so what was read under one state is right if that state is still the newest
//! afterwards. If not, the reader begins again.

use super::page::{Damage, Held, Level, Meta, PAGE_HEADER, Page};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// How often a reader begins again because of writers. Each time a writer has committed within the microseconds of a look-up,
/// and a commit takes a hundred of them.
const ATTEMPTS: usize = 64;

/// An open LMDB file.
pub struct Reader {
    file: File,
    page_size: usize,
    /// Device and inode: another file may take this one's place.
    identity: (u64, u64),
}

/// The two meta pages as they are in the file.
#[derive(Clone, PartialEq, Eq)]
struct Metas([Vec<u8>; 2]);

impl Metas {
    fn newest(&self) -> Result<Meta, Damage> {
        let metas = self.0.iter().filter_map(|bytes| Meta::parse(bytes));
        metas.max_by_key(|meta| meta.transaction).ok_or_else(|| Damage::new(0, "and page 1 are no meta pages"))
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl Reader {
    /// Opens the file of a store; none if there is none yet.
    ///
    /// # Errors
    /// What is there is not an LMDB file.
    pub fn open(path: &Path) -> Result<Option<Self>, Damage> {
        let unreadable = |e: io::Error| Damage::new(0, format!("cannot be read ({e})"));
        // Asked before it is opened: opening a FIFO would wait for a writer.
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => metadata,
            Ok(_) => return Err(Damage::new(0, "cannot be read (not a regular file)")),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(unreadable(e)),
        };
        if metadata.len() == 0 {
            // Made a moment ago, or by a process that was killed then.
            return Ok(None);
        }
        let file = File::open(path).map_err(unreadable)?;
        let identity = identity(&file.metadata().map_err(unreadable)?);
        let mut reader = Self { file, page_size: 0, identity };
        // Page 1 is where the page size says; without a right page 0 it is not known, but it is nearly always this.
        let sizes = [Meta::parse(&reader.read(0, 0, Meta::BYTES)?).map_or(4096, |meta| meta.page_size), 4096];
        reader.page_size = sizes[0];
        reader.metas()?.newest()?;
        Ok(Some(reader))
    }

    /// Whether the file of this path is another one by now.
    pub fn is_replaced(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|metadata| identity(&metadata) != self.identity)
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Bytes of the file.
    ///
    /// # Errors
    /// The system's.
    pub fn size(&self) -> Result<u64, Damage> {
        self.file.metadata().map(|m| m.len()).map_err(|e| Damage::new(0, format!("cannot be read ({e})")))
    }

    /// `size` bytes from `at` on in a page, or from there on through pages after it.
    ///
    /// # Errors
    /// The file ends before, or the device fails.
    pub fn read(&self, page: u64, at: usize, size: usize) -> Result<Vec<u8>, Damage> {
        let damaged = |what: String| Damage::new(page, what);
        let start = page.checked_mul(self.page_size as u64).and_then(|start| start.checked_add(at as u64));
        let start = start.ok_or_else(|| damaged("is beyond any file".into()))?;
        // A damaged size must not become an allocation: what is not small has to be in the file.
        if size > self.page_size && start.checked_add(size as u64).is_none_or(|end| end > self.size().unwrap_or(0)) {
            return Err(damaged("is beyond the end of the file".into()));
        }
        let mut bytes = vec![0; size];
        match self.file.read_exact_at(&mut bytes, start) {
            Ok(()) => Ok(bytes),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(damaged("is beyond the end of the file".into())),
            Err(e) => Err(damaged(format!("cannot be read ({e})"))),
        }
    }

    /// A branch or leaf page.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn page(&self, number: u64, level: Level) -> Result<Page, Damage> {
        Page::parse(self.read(number, 0, self.page_size)?, number, level)
    }

    fn metas(&self) -> Result<Metas, Damage> {
        let first = self.read(0, 0, Meta::BYTES)?;
        Ok(Metas([first, self.read(1, 0, Meta::BYTES)?]))
    }

    /// The newest state. `None` unless both meta pages are whole, as LMDB wants them.
    pub fn meta_for_writing(&self) -> Option<Meta> {
        let metas = self.metas().ok()?;
        let both = metas.0.each_ref().map(|bytes| Meta::parse(bytes));
        both.iter().all(|meta| meta.is_some_and(|meta| meta.page_size == self.page_size)).then_some(())?;
        metas.newest().ok()
    }

    /// The value under a key.
    ///
    /// # Errors
    /// A page on the way is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Damage> {
        let mut before = self.metas()?;
        for _ in 0..ATTEMPTS {
            let found = before.newest().and_then(|meta| self.find(&meta, key));
            let after = self.metas()?;
            if after == before {
                return found;
            }
            before = after;
        }
        Err(Damage::new(0, "changes faster than it can be read"))
    }

    fn find(&self, meta: &Meta, key: &[u8]) -> Result<Option<Vec<u8>>, Damage> {
        let Some(leaf) = self.descend(meta, key, |_| ())? else { return Ok(None) };
        let Some(node) = leaf.search(key)? else { return Ok(None) };
        match node.held() {
            Some(Held::Here(value)) => Ok(Some(value.to_vec())),
            Some(Held::Overflow { page, size }) => self.read(page, PAGE_HEADER, size).map(Some),
            None => Err(Damage::new(meta.main.root, "leads to an entry that is none of a cache")),
        }
    }

    /// The leaf that would hold a key, and to `visit` each branch above it; none in an empty tree.
    ///
    /// # Errors
    /// A page on the way is damaged.
    pub fn descend(&self, meta: &Meta, key: &[u8], mut visit: impl FnMut(Page)) -> Result<Option<Page>, Damage> {
        if meta.main.depth == 0 {
            return Ok(None);
        }
        let mut number = meta.main.root;
        for _ in 1..meta.main.depth {
            let branch = self.page(number, Level::Branch)?;
            number = branch.search(key)?.map_or(number, |node| node.child());
            visit(branch);
        }
        self.page(number, Level::Leaf).map(Some)
    }
}
