//! Limits for one input file: memory, bytes, members and steps, over all the containers in it together.
//!
//! Invariant: memory that [`Budget::hold`] allocates is subtracted from `memory` until it is released, so the sum over
//! every level of nesting is bounded, not each level. Bytes that decoders read count as well as bytes that they write,
//! because a stream can consume a whole file and yield nothing. Omissions are recorded and reported with the file,
//! never silent.

use std::cell::Cell;
use std::fmt;
use std::io::{BufRead, Read, Seek, SeekFrom};

/// Largest window or dictionary of a decoder, in bytes: the default of the `zstd` program.
pub const MAX_WINDOW: u64 = 128 << 20;

/// Default memory for one input file and everything unpacked from it, in bytes.
pub const DEFAULT_MEMORY: u64 = 512 << 20;

/// Remaining budget of one input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes that may still be held at the same time.
    pub memory: u64,
    /// Total bytes that may still be unpacked, which bounds the time.
    pub unpacked: u64,
    /// Total bytes that decoders may still read, for the same reason.
    pub packed: u64,
    /// Streams and members that may still be tried.
    pub members: u32,
    /// Instructions that may still be walked in the search for modules.
    pub steps: u64,
    /// Positions that may still be tried in the search for the arrays of Qt resources.
    pub positions: u64,
    /// Steps allowed so far.
    pub(super) searched: u64,
    pub(super) memory_limit: u64,
    pub(super) left_out: Option<LeftOut>,
}

/// Reason for an omission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Too many bytes at the same time; the limit.
    Memory(u64),
    /// Too many bytes unpacked in total.
    Unpacked,
    /// Too many bytes read by decoders in total.
    Packed,
    /// Too many streams and members.
    Members,
    /// Too many nested containers; the limit.
    Depth(usize),
    /// Too many instructions in false starts of modules.
    Steps,
    /// Too many places where the arrays of a Qt resource could be.
    Positions,
    /// An archive's member that cannot be read: damaged, encrypted, or of an unknown method.
    Archive(String),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(bytes) => {
                write!(f, "it needs more than {} MiB of memory (--input-memory)", bytes.div_ceil(1 << 20))
            }
            Self::Unpacked => write!(f, "more than {} GiB unpacked", Budget::UNPACKED >> 30),
            Self::Packed => write!(f, "more than {} GiB of packed streams to read", Budget::PACKED >> 30),
            Self::Members => write!(f, "more than {} members and streams", Budget::MEMBERS),
            Self::Depth(depth) => write!(f, "more than {depth} containers inside each other"),
            Self::Steps => write!(
                f,
                "overlapping candidate modules: more than {} instructions to scan per byte, or {} in total",
                Budget::STEPS_PER_BYTE,
                Budget::STEPS
            ),
            Self::Positions => write!(f, "more than {} places to try for Qt resources", Budget::POSITIONS),
            Self::Archive(why) => f.write_str(why),
        }
    }
}

/// Omissions: the first, and how many more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    first: Limit,
    more: u64,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        if self.more > 0 { write!(f, ", and {} times more", self.more) } else { Ok(()) }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(DEFAULT_MEMORY)
    }
}

impl Budget {
    const UNPACKED: u64 = 4 << 30;
    /// Streams in streams are read once for each level.
    const PACKED: u64 = 8 << 30;
    const MEMBERS: u32 = 1_000_000;
    /// Real binaries need a tenth.
    const POSITIONS: u64 = 1 << 28;
    /// Steps per byte searched. Modules one after the other need a quarter.
    const STEPS_PER_BYTE: u64 = 16;
    /// Steps for the first bytes, so that a file without any still has some.
    const FIRST_STEPS: u64 = 1 << 10;
    /// Steps in total.
    const STEPS: u64 = 1 << 30;

    /// The budget of one file, with this many bytes of memory.
    pub fn new(memory: u64) -> Self {
        Self {
            memory,
            unpacked: Self::UNPACKED,
            packed: Self::PACKED,
            members: Self::MEMBERS,
            steps: Self::FIRST_STEPS,
            positions: Self::POSITIONS,
            searched: 0,
            memory_limit: memory,
            left_out: None,
        }
    }

    /// Adds the steps for a search of so many bytes: the time for a file is proportional to its contents.
    pub fn search(&mut self, bytes: usize) {
        let before = self.searched;
        self.searched = before.saturating_add(size(bytes).saturating_mul(Self::STEPS_PER_BYTE)).min(Self::STEPS);
        self.steps = self.steps.saturating_add(self.searched.saturating_sub(before));
    }

    /// Omissions, if any.
    pub fn left_out(&self) -> Option<&LeftOut> {
        self.left_out.as_ref()
    }

    /// Records an omission.
    pub fn leave_out(&mut self, why: Limit) {
        match &mut self.left_out {
            Some(left_out) => left_out.more = left_out.more.saturating_add(1),
            None => self.left_out = Some(LeftOut { first: why, more: 0 }),
        }
    }

    /// Takes memory that is not given back during this file. False if there is too little.
    pub fn take(&mut self, bytes: usize) -> bool {
        match self.memory.checked_sub(size(bytes)) {
            Some(left) => {
                self.memory = left;
                true
            }
            None => {
                self.leave_out(Limit::Memory(self.memory_limit));
                false
            }
        }
    }

    /// Gives taken memory back.
    pub fn give(&mut self, bytes: usize) {
        self.memory = self.memory.saturating_add(size(bytes));
    }

    /// Takes positions for a search. False if there are too few: then there are none any more.
    pub fn try_positions(&mut self, count: usize) -> bool {
        match self.positions.checked_sub(size(count)) {
            Some(left) if left > 0 => {
                self.positions = left;
                true
            }
            _ => {
                if self.positions > 0 {
                    self.leave_out(Limit::Positions);
                }
                self.positions = 0;
                false
            }
        }
    }

    /// Calls `decode` with memory set aside for a decoder's window or dictionary: half of the rest, and at most
    /// [`MAX_WINDOW`]. The memory is given back afterwards.
    pub fn with_window<T>(&mut self, decode: impl FnOnce(&mut Self, u64) -> T) -> T {
        let window = (self.memory / 2).min(MAX_WINDOW);
        self.memory = self.memory.saturating_sub(window);
        let decoded = decode(self, window);
        self.memory = self.memory.saturating_add(window);
        decoded
    }

    /// As [`Self::hold`], for a decoder of a [`Source`] that counts in `read`.
    pub fn decode(&mut self, read: &Cell<u64>, decoder: impl Read) -> Option<Vec<u8>> {
        if self.packed == 0 {
            self.leave_out(Limit::Packed);
            return None;
        }
        let out = self.hold(decoder);
        let read = read.take();
        if read > self.packed {
            self.leave_out(Limit::Packed);
        }
        self.packed = self.packed.saturating_sub(read);
        out
    }

    /// All output of `from`, for [`Self::release`] later. `None` if it is damaged or too large.
    pub fn hold(&mut self, from: impl Read) -> Option<Vec<u8>> {
        let Some(members) = self.members.checked_sub(1) else {
            self.leave_out(Limit::Members);
            return None;
        };
        self.members = members;
        let mut out = Vec::new();
        let allowed = self.unpacked.min(self.memory);
        let read = from.take(allowed.saturating_add(1)).read_to_end(&mut out);
        let len = size(out.len());
        let in_all = len > self.unpacked;
        // The output of a broken stream before the error was unpacked too.
        self.unpacked = self.unpacked.saturating_sub(len);
        if in_all {
            self.leave_out(Limit::Unpacked);
            return None;
        }
        match read {
            Ok(_) => self.take(out.len()).then_some(out),
            Err(e) => {
                if needs_memory(&e) {
                    self.leave_out(Limit::Memory(self.memory_limit));
                }
                None
            }
        }
    }

    /// Frees what was held.
    pub fn release(&mut self, held: Vec<u8>) {
        self.give(held.len());
    }
}

/// The packed bytes that a decoder reads, counted.
pub struct Source<'a> {
    bytes: &'a [u8],
    at: u64,
    /// Bytes read since the last [`Budget::decode`].
    read: &'a Cell<u64>,
}

impl<'a> Source<'a> {
    /// From the first byte.
    pub fn new(bytes: &'a [u8], read: &'a Cell<u64>) -> Self {
        Self { bytes, at: 0, read }
    }

    /// Where the next byte is read.
    pub fn position(&self) -> u64 {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        usize::try_from(self.at).ok().and_then(|at| self.bytes.get(at..)).unwrap_or_default()
    }
}

impl Read for Source<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.rest().read(out)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Source<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        Ok(self.rest())
    }

    fn consume(&mut self, count: usize) {
        self.at = self.at.saturating_add(size(count));
        self.read.set(self.read.get().saturating_add(size(count)));
    }
}

impl Seek for Source<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => size(self.bytes.len()).checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Whether a decoder stopped because its window or dictionary is too large: xz tells by error kind, zstd by message.
fn needs_memory(e: &std::io::Error) -> bool {
    e.kind() == std::io::ErrorKind::OutOfMemory || e.to_string().contains("too much memory")
}
