//! The bound state of a command buffer, and the dispatches and draws in it that are copied.

use super::bound::{BindPoint, Vertices};
use super::copies::Staging;
use super::dynamic::Dynamic;
use super::log::Log;
use super::passes::Pass;
use super::plan::Plan;
use super::program::Known;
use ash::vk;
use std::sync::Arc;

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
    /// The commands of a secondary command buffer that continues a render pass.
    pub log: Option<Log>,
    /// Executed secondary command buffers that contain their own copies.
    pub executed: Vec<vk::CommandBuffer>,
    pub samples: Vec<Sample>,
}

/// A dispatch or a draw that is copied.
pub struct Sample {
    pub known: Arc<Known>,
    /// Its number among its pipeline's dispatches or draws.
    pub number: u64,
    pub plan: Plan,
    pub staging: Staging,
    pub stage: SampleStage,
}

/// The progress of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleStage {
    Recorded,
    /// Submitted, in the flight with this number.
    Submitted(u64),
    /// Read or abandoned: its copies may run again, but are ignored.
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
            log: None,
            executed: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Clears bindings and dynamic state.
    pub fn unbind(&mut self) {
        self.compute = BindPoint::default();
        self.graphics = BindPoint::default();
        self.vertices = Vertices::default();
        self.dynamic = Dynamic::default();
    }

    /// Adds a draw to the log of a secondary command buffer that continues a render pass. False: it has no log.
    pub fn keep_draw(&mut self, again: impl Fn(vk::CommandBuffer) + Send + Sync + 'static) -> bool {
        let Some(log) = &mut self.log else { return false };
        log.draws.push(self.graphics.pipeline.clone());
        log.push(again);
        true
    }

    /// The bound state of draws, or of dispatches.
    pub fn bound(&self, draws: bool) -> &BindPoint {
        if draws { &self.graphics } else { &self.compute }
    }

    /// The bound state of a bind point; `None` if it is neither for dispatches nor for draws.
    pub fn at(&mut self, point: vk::PipelineBindPoint) -> Option<&mut BindPoint> {
        match point {
            vk::PipelineBindPoint::COMPUTE => Some(&mut self.compute),
            vk::PipelineBindPoint::GRAPHICS => Some(&mut self.graphics),
            _ => None,
        }
    }

    /// The bound states for these stages.
    pub fn of(&mut self, stages: vk::ShaderStageFlags) -> impl Iterator<Item = &mut BindPoint> {
        let compute = stages.contains(vk::ShaderStageFlags::COMPUTE).then_some(&mut self.compute);
        let graphics = stages.intersects(vk::ShaderStageFlags::ALL_GRAPHICS).then_some(&mut self.graphics);
        compute.into_iter().chain(graphics)
    }
}
