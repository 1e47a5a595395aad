//! The commands of a secondary command buffer that goes on with its primary's render pass, so kept that they can be recorded again.
//!
//! Such a one can neither copy nor end the pass. Where one of its draws is sampled, its commands are recorded into the primary command
//! buffer in its place (`unroll`), each by the hook that has seen it: to the tracker it is as if the application had drawn there.

use super::program::Known;
use super::reason::Reason;
use ash::vk;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A command, which is recorded into the command buffer that it is given.
pub type Command = Arc<dyn Fn(vk::CommandBuffer) + Send + Sync>;

/// What a secondary command buffer has recorded.
#[derive(Default)]
pub struct Log {
    pub commands: Vec<Command>,
    /// The pipeline of each draw.
    pub draws: Vec<Option<Arc<Known>>>,
    /// Pipeline layouts that commands name. Vulkan lets them be destroyed before the commands run.
    pub layouts: BTreeSet<vk::PipelineLayout>,
    /// Why the commands are not all that the command buffer does.
    lost: Option<Reason>,
}

impl Log {
    /// Adds a command.
    pub fn push(&mut self, command: impl Fn(vk::CommandBuffer) + Send + Sync + 'static) {
        self.commands.push(Arc::new(command));
    }

    /// The log lacks something; the first reason stays.
    pub fn lose(&mut self, why: &str) {
        self.lost.get_or_insert_with(|| Reason::Secondary(why.into()));
    }

    /// # Errors
    /// Why it cannot be recorded again.
    pub fn whole(&self) -> Result<(), Reason> {
        self.lost.clone().map_or(Ok(()), Err)
    }
}

/// The first of what was kept of a list, as Vulkan takes it: null if there is none.
pub fn first<T>(kept: &[T]) -> *const T {
    if kept.is_empty() { std::ptr::null() } else { kept.as_ptr() }
}
