//! What a command buffer has bound so far, and the dispatches and draws in it that are copied.

use super::copies::Staging;
use super::dynamic::Dynamic;
use super::objects::{Objects, Set};
use super::passes::Pass;
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
    pub compute: BindPoint,
    pub graphics: BindPoint,
    pub vertices: Vertices,
    pub dynamic: Dynamic,
    /// The render pass that it is in.
    pub pass: Option<Pass>,
    /// Queries that were begun in that.
    pub queries: u32,
    pub feedback: bool,
    pub conditional: bool,
    pub samples: Vec<Sample>,
}

/// What is bound for dispatches, or for draws.
#[derive(Default)]
pub struct BindPoint {
    pub pipeline: Option<Arc<Known>>,
    pub sets: BTreeMap<u32, BoundSet>,
    pub push_constants: Vec<u8>,
}

/// Vertex and index buffers.
#[derive(Default)]
pub struct Vertices {
    pub buffers: BTreeMap<u32, VertexBuffer>,
    pub indices: Option<IndexBuffer>,
}

/// A vertex buffer; size and stride where they were given.
#[derive(Clone, Copy)]
pub struct VertexBuffer {
    pub buffer: vk::Buffer,
    pub offset: u64,
    pub size: Option<u64>,
    pub stride: Option<u64>,
}

/// An index buffer.
#[derive(Clone, Copy)]
pub struct IndexBuffer {
    pub buffer: vk::Buffer,
    pub offset: u64,
    pub size: u64,
    pub kind: vk::IndexType,
}

/// A set as it is bound.
pub enum BoundSet {
    /// With its dynamic offsets.
    Set(vk::DescriptorSet, Vec<u32>),
    Pushed(Set),
}

/// A dispatch or a draw that is copied.
pub struct Sample {
    pub known: Arc<Known>,
    /// Which one of its pipeline it is.
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
            compute: BindPoint::default(),
            graphics: BindPoint::default(),
            vertices: Vertices::default(),
            dynamic: Dynamic::default(),
            pass: None,
            queries: 0,
            feedback: false,
            conditional: false,
            samples: Vec::new(),
        }
    }

    /// What is bound for draws, or for dispatches.
    pub fn bound(&self, draws: bool) -> &BindPoint {
        if draws { &self.graphics } else { &self.compute }
    }

    /// What is bound for this; none if it is neither dispatches nor draws.
    pub fn at(&mut self, point: vk::PipelineBindPoint) -> Option<&mut BindPoint> {
        match point {
            vk::PipelineBindPoint::COMPUTE => Some(&mut self.compute),
            vk::PipelineBindPoint::GRAPHICS => Some(&mut self.graphics),
            _ => None,
        }
    }

    /// What is bound for these stages.
    pub fn of(&mut self, stages: vk::ShaderStageFlags) -> impl Iterator<Item = &mut BindPoint> {
        let compute = stages.contains(vk::ShaderStageFlags::COMPUTE).then_some(&mut self.compute);
        let graphics = stages.intersects(vk::ShaderStageFlags::ALL_GRAPHICS).then_some(&mut self.graphics);
        compute.into_iter().chain(graphics)
    }
}

impl BindPoint {
    /// Binds sets, one after the other.
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
