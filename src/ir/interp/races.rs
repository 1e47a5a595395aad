//! Finds data races of a compute shader: two invocations access a byte, one of them writes it, and neither atomics nor
//! a barrier order them. Vulkan leaves the result of such a shader open.
//!
//! A write of the value that is already there is no race here, because the result is the same. A shader with a fence beyond
//! the workgroup may order accesses of several workgroups by it; there only accesses of one workgroup are compared.

use super::world::WriterInvocation;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Bytes that are followed; after these nothing is.
const MOST: usize = 1 << 20;

/// A data race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Race {
    /// Descriptor set, binding and array element; `None`: memory of the workgroup.
    pub place: Option<(u32, u32, u32)>,
    /// Byte offset in it.
    pub byte: u64,
    /// The earlier and the later invocation.
    pub invocations: [WriterInvocation; 2],
    /// Whether each of them writes.
    pub writes: [bool; 2],
}

/// How an invocation accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    Write,
    /// Reads and writes are one.
    Atomic,
}

/// An access of an invocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Toucher {
    pub invocation: WriterInvocation,
    /// Number of barriers before it.
    pub phase: u32,
    pub touch: Touch,
}

/// The last accesses to a byte.
#[derive(Clone, Debug, Default)]
struct Touched {
    writer: Option<Toucher>,
    /// Two readers, of different invocations: at least one of them is not a later writer itself.
    readers: [Option<Toucher>; 2],
    /// Its last known value.
    value: Option<u8>,
}

/// The accesses of a run, and its first race.
#[derive(Clone, Debug, Default)]
pub struct Races {
    /// Only accesses of one workgroup are compared.
    pub(super) within: bool,
    buffers: BTreeMap<((u32, u32, u32), u64), Touched>,
    /// Of the current workgroup.
    shared: BTreeMap<u64, Touched>,
    /// The first race.
    pub found: Option<Race>,
}

impl Toucher {
    fn is_unordered(&self, other: &Self, within: bool) -> bool {
        let (one, two) = (self.invocation, other.invocation);
        let atomic = self.touch == Touch::Atomic && other.touch == Touch::Atomic;
        let ordered = if one.workgroup == two.workgroup { self.phase != other.phase } else { within };
        one != two && !atomic && !ordered
    }
}

impl Races {
    /// Forgets accesses to the memory of the last workgroup.
    pub(super) fn start_group(&mut self) {
        self.shared.clear();
    }

    /// Adds an access to a byte, with the value that it has afterwards.
    pub(super) fn touch(&mut self, place: Option<(u32, u32, u32)>, byte: u64, by: Toucher, value: u8) {
        if self.found.is_some() || self.buffers.len() + self.shared.len() >= MOST {
            return;
        }
        let touched = match place {
            Some(place) => self.buffers.entry((place, byte)).or_default(),
            None => self.shared.entry(byte).or_default(),
        };
        let writes = by.touch != Touch::Read;
        // Whoever reads or writes before sees the same value as afterwards.
        let same = by.touch == Touch::Write && touched.value == Some(value);
        let readers = touched.readers.iter().filter(|_| writes);
        let mut before = touched.writer.iter().chain(readers.flatten()).filter(|_| !same);
        if let Some(before) = before.find(|before| before.is_unordered(&by, self.within)) {
            let writes = [before.touch != Touch::Read, writes];
            self.found = Some(Race { place, byte, invocations: [before.invocation, by.invocation], writes });
        }
        touched.value = Some(value);
        if writes {
            touched.writer = Some(by);
        } else {
            let other = |one: &Option<Toucher>| one.is_none_or(|one| one.invocation == by.invocation);
            let n = touched.readers.iter().position(other).unwrap_or(1);
            touched.readers[n] = Some(by);
        }
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |writes: bool| if writes { "written" } else { "read" };
        match self.place {
            Some((set, binding, 0)) => write!(f, "set {set}, binding {binding}, ")?,
            Some((set, binding, element)) => write!(f, "set {set}, binding {binding}, element {element}, ")?,
            None => f.write_str("workgroup memory, ")?,
        }
        write!(f, "byte {} is ", self.byte)?;
        for (n, (one, writes)) in self.invocations.iter().zip(self.writes).enumerate() {
            let WriterInvocation { workgroup, local } = one;
            let and = if n == 0 { "" } else { " and " };
            write!(f, "{and}{} by invocation {local:?} of workgroup {workgroup:?}", name(writes))?;
        }
        f.write_str(" without an order")
    }
}
