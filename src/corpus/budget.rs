//! How much one input file may cost: memory, bytes, members and steps, over all the containers in it together.
//!
//! Invariant: what [`Budget::hold`] hands out comes off `memory` until it is released, so the sum over every level of
//! nesting is bounded, not each level. What did not fit is noted and reported with the file, never silently missing.

use std::fmt;
use std::io::Read;

/// Memory for one input file and what is unpacked from it, in bytes, unless the command line says otherwise.
pub const DEFAULT_MEMORY: u64 = 512 << 20;

/// What may still be spent on one input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes that may still be held at the same time.
    pub memory: u64,
    /// Bytes that may still be unpacked in all, which bounds the time.
    pub unpacked: u64,
    /// Streams and members that may still be tried.
    pub members: u32,
    /// Instructions that may still be walked in search for modules.
    pub steps: u64,
    /// Steps that were allowed so far.
    pub(super) searched: u64,
    pub(super) memory_limit: u64,
    pub(super) left_out: Option<LeftOut>,
}

/// Why something was not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// More bytes at the same time than this.
    Memory(u64),
    /// More bytes unpacked in all.
    Unpacked,
    /// More streams and members.
    Members,
    /// More containers inside containers than this.
    Depth(usize),
    /// More instructions in beginnings of modules that came to nothing.
    Steps,
    /// An archive's member that cannot be read: damaged, encrypted, or of a method that we do not have.
    Archive(String),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(bytes) => {
                write!(f, "it needs more than {} MiB of memory (--input-memory)", bytes.div_ceil(1 << 20))
            }
            Self::Unpacked => write!(f, "more than {} GiB unpacked", Budget::UNPACKED >> 30),
            Self::Members => write!(f, "more than {} members and streams", Budget::MEMBERS),
            Self::Depth(depth) => write!(f, "more than {depth} containers inside each other"),
            Self::Steps => write!(
                f,
                "beginnings of modules that lead through each other: more than {} instructions to try for each byte, or {} in all",
                Budget::STEPS_PER_BYTE,
                Budget::STEPS
            ),
            Self::Archive(why) => f.write_str(why),
        }
    }
}

/// What was left out: the first, and how many more.
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
    const MEMBERS: u32 = 1_000_000;
    /// Instructions that may be walked for each byte that is searched. Modules one after the other need a quarter.
    const STEPS_PER_BYTE: u64 = 16;
    /// For the first bytes, so that a file without any has not used up what it may.
    const FIRST_STEPS: u64 = 1 << 10;
    /// In all.
    const STEPS: u64 = 1 << 30;

    /// For one file, with this many bytes of memory.
    pub fn new(memory: u64) -> Self {
        let (unpacked, members) = (Self::UNPACKED, Self::MEMBERS);
        Self { memory, unpacked, members, steps: Self::FIRST_STEPS, searched: 0, memory_limit: memory, left_out: None }
    }

    /// Allows as many steps as the search of so many bytes may take: the time for a file is in proportion to what is in it.
    pub fn search(&mut self, bytes: usize) {
        let before = self.searched;
        self.searched = before.saturating_add(size(bytes).saturating_mul(Self::STEPS_PER_BYTE)).min(Self::STEPS);
        self.steps = self.steps.saturating_add(self.searched.saturating_sub(before));
    }

    /// What was left out, if anything was.
    pub fn left_out(&self) -> Option<&LeftOut> {
        self.left_out.as_ref()
    }

    /// Notes that something was not looked at.
    pub fn leave_out(&mut self, why: Limit) {
        match &mut self.left_out {
            Some(left_out) => left_out.more = left_out.more.saturating_add(1),
            None => self.left_out = Some(LeftOut { first: why, more: 0 }),
        }
    }

    /// Takes memory that is never given back while this file is looked at. False if there is not so much.
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

    /// All that `from` gives; to be handed to [`Self::release`]. None if it is damaged or too much.
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
        // What a broken stream gave before it broke was unpacked too.
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

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Whether a decoder stopped because its window or dictionary is larger than it may be: xz says it by kind, zstd by words.
fn needs_memory(e: &std::io::Error) -> bool {
    e.kind() == std::io::ErrorKind::OutOfMemory || e.to_string().contains("too much memory")
}
