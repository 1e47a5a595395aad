//! What a command buffer has bound so far, and the dispatches in it that are copied.

use super::copies::Staging;
use super::objects::{Objects, Set};
use super::plan::Plan;
use super::program::Known;
use ash::vk;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Push constants that are kept: no driver has more.
const PUSH_CONSTANTS: usize = 4096;

/// A command buffer.
pub struct Commands {
    pub pool: vk::CommandPool,
    pub secondary: bool,
    pub pipeline: Option<Arc<Known>>,
    pub sets: BTreeMap<u32, BoundSet>,
    pub push_constants: Vec<u8>,
    pub conditional: bool,
    pub samples: Vec<Sample>,
}

/// A set as it is bound for compute.
pub enum BoundSet {
    /// With its dynamic offsets.
    Set(vk::DescriptorSet, Vec<u32>),
    Pushed(Set),
}

/// A dispatch that is copied.
pub struct Sample {
    pub known: Arc<Known>,
    /// Which dispatch of its pipeline it is.
    pub number: u64,
    pub plan: Plan,
    pub staging: Staging,
    pub stage: SampleStage,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleStage {
    Recorded,
    /// With the flight of this number.
    Submitted(u64),
    /// Read, or given up: its copies may run again, but nobody looks.
    Done,
}

impl Commands {
    pub fn new(pool: vk::CommandPool, secondary: bool) -> Self {
        Self {
            pool,
            secondary,
            pipeline: None,
            sets: BTreeMap::new(),
            push_constants: Vec::new(),
            conditional: false,
            samples: Vec::new(),
        }
    }

    /// Binds sets for compute, one after the other.
    pub fn bind(&mut self, objects: &Objects, first: u32, sets: &[vk::DescriptorSet], mut offsets: &[u32]) {
        for (number, handle) in (first..).zip(sets) {
            let set = objects.sets.get(handle);
            let dynamic = set.map(Set::dynamic).unwrap_or_default();
            let count: usize = dynamic.iter().map(|(_, count)| *count as usize).sum();
            let (own, rest) = offsets.split_at(count.min(offsets.len()));
            offsets = rest;
            self.sets.insert(number, BoundSet::Set(*handle, own.to_vec()));
        }
    }

    /// The set that is bound, or what was pushed in place of it.
    pub fn set<'a>(&'a self, objects: &'a Objects, number: u32) -> Option<&'a Set> {
        match self.sets.get(&number)? {
            BoundSet::Set(handle, _) => objects.sets.get(handle),
            BoundSet::Pushed(set) => Some(set),
        }
    }

    /// Its dynamic offsets.
    pub fn offsets(&self, number: u32) -> &[u32] {
        match self.sets.get(&number) {
            Some(BoundSet::Set(_, offsets)) => offsets,
            Some(BoundSet::Pushed(_)) | None => &[],
        }
    }

    /// Sets push constants.
    pub fn push(&mut self, offset: u32, bytes: &[u8]) {
        let start = offset as usize;
        let end = start.saturating_add(bytes.len());
        if end > PUSH_CONSTANTS {
            return;
        }
        if self.push_constants.len() < end {
            self.push_constants.resize(end, 0);
        }
        self.push_constants[start..end].copy_from_slice(bytes);
    }
}
