//! The commands of a secondary command buffer that continues its primary's render pass, kept to be recorded again.
//!
//! Such a command buffer can neither copy nor end the pass. If one of its draws is sampled, its commands are recorded
//! into the primary instead of executing it (`unroll`), each through its hook, so the tracker sees draws of the primary.

use super::program::Known;
use super::reason::Reason;
use ash::vk;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Records one command into the given command buffer.
pub type Command = Arc<dyn Fn(vk::CommandBuffer) + Send + Sync>;

/// The recorded commands of a secondary command buffer.
#[derive(Default)]
pub struct Log {
    pub commands: Vec<Command>,
    /// The pipeline of each draw.
    pub draws: Vec<Option<Arc<Known>>>,
    /// Pipeline layouts that commands use. Vulkan allows destroying them before the commands run.
    pub layouts: BTreeSet<vk::PipelineLayout>,
    /// Why the log is incomplete.
    lost: Option<Reason>,
}

impl Log {
    /// Adds a command.
    pub fn push(&mut self, command: impl Fn(vk::CommandBuffer) + Send + Sync + 'static) {
        self.commands.push(Arc::new(command));
    }

    /// Marks the log as incomplete; the first reason is kept.
    pub fn lose(&mut self, why: &str) {
        self.lost.get_or_insert_with(|| Reason::Secondary(why.into()));
    }

    /// Whether all commands are kept.
    ///
    /// # Errors
    /// Why the commands cannot be recorded again.
    pub fn whole(&self) -> Result<(), Reason> {
        self.lost.clone().map_or(Ok(()), Err)
    }
}

/// Pointer to a copied list as Vulkan expects it: null if the list is empty.
pub fn first<T>(kept: &[T]) -> *const T {
    if kept.is_empty() { std::ptr::null() } else { kept.as_ptr() }
}
