//! State bound by commands for later dispatches and draws: pipelines, sets, push constants, vertex and index buffers.

use super::objects::{Objects, Set};
use super::program::Known;
use ash::vk;
use dovetail_capture::{Hash, LateState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of push constants that are kept; no driver has more.
const PUSH_CONSTANTS: usize = 4096;

/// The bound state of dispatches, or of draws.
#[derive(Default)]
pub struct BindPoint {
    pub pipeline: Option<Arc<Known>>,
    /// The pipeline's name, if it waits for state that commands set.
    pub waiting: Option<Hash>,
    /// The state with which the bound pipeline is already complete.
    pub completed: Option<LateState>,
    pub sets: BTreeMap<u32, BoundSet>,
    pub push_constants: Vec<u8>,
}

/// Vertex and index buffers.
#[derive(Default)]
pub struct Vertices {
    pub buffers: BTreeMap<u32, VertexBuffer>,
    pub indices: Option<IndexBuffer>,
}

/// A vertex buffer, with its size if it was given.
#[derive(Clone, Copy)]
pub struct VertexBuffer {
    pub buffer: vk::Buffer,
    pub offset: u64,
    pub size: Option<u64>,
}

/// An index buffer.
#[derive(Clone, Copy)]
pub struct IndexBuffer {
    pub buffer: vk::Buffer,
    pub offset: u64,
    pub size: u64,
    pub kind: vk::IndexType,
}

/// A set that is bound.
pub enum BoundSet {
    /// The set and its dynamic offsets.
    Set(vk::DescriptorSet, Vec<u32>),
    Pushed(Set),
}

impl BindPoint {
    /// Binds consecutive sets.
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

    /// The bound set, or the pushed descriptors that replace it.
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
