//! Unrolls secondary command buffers that continue a render pass: if a draw in one is sampled, its commands are recorded
//! into the primary instead of executing it.

use super::Shadow;
use super::commands::Commands;
use super::log::{Command, Log};
use super::plan::Kind;
use super::reason::Reason;
use super::tracker::{State, Tracker};
use ash::vk;

impl Tracker {
    /// Called before a secondary command buffer is executed in the primary `handle`. If one of its draws is sampled,
    /// returns the commands to record instead; the render pass then has inline contents until [`Self::rolled`].
    ///
    /// # Safety
    /// The application executes the secondary in this command buffer.
    pub unsafe fn unroll(
        &self,
        shadow: &Shadow,
        state: &mut State,
        handle: vk::CommandBuffer,
        secondary: vk::CommandBuffer,
    ) -> Option<Vec<Command>> {
        let found = state.commands.get(&secondary).and_then(|secondary| secondary.log.as_ref());
        let Some(log) = found else {
            // Outside of render passes a secondary contains its own copies.
            state.commands.entry(handle).and_modify(|commands| commands.executed.push(secondary));
            return None;
        };
        let mut reason = Reason::Pipeline;
        if shadow.wants(&log.draws) {
            match self.can_unroll(state, handle, log) {
                Ok(()) => {
                    let commands = log.commands.clone();
                    let primary = state.commands.get_mut(&handle)?;
                    // SAFETY: as the caller says; the pass can be interrupted.
                    unsafe { self.contents(handle, primary, true) };
                    return Some(commands);
                }
                Err(why) => reason = why,
            }
        }
        for pipeline in &log.draws {
            if shadow.samples(Kind::Draw, pipeline.as_deref()) {
                shadow.refuse(Kind::Draw, &reason);
            }
        }
        None
    }

    /// Called after a secondary command buffer was executed or unrolled; all bindings are undefined then.
    ///
    /// # Safety
    /// The secondary was executed, or the commands of [`Self::unroll`] were recorded.
    pub unsafe fn rolled(&self, state: &mut State, handle: vk::CommandBuffer, unrolled: bool) {
        let Some(primary) = state.commands.get_mut(&handle) else { return };
        if unrolled {
            // SAFETY: as the caller says; `unroll` has interrupted the same pass.
            unsafe { self.contents(handle, primary, false) };
        }
        primary.unbind();
    }

    fn can_unroll(&self, state: &State, handle: vk::CommandBuffer, log: &Log) -> Result<(), Reason> {
        let primary = state.commands.get(&handle).ok_or(Reason::Commands)?;
        if primary.conditional {
            return Err(Reason::Conditional);
        }
        log.whole()?;
        if let Some(name) = &state.unseen {
            return Err(Reason::Secondary(format!("that may have {name}")));
        }
        self.interruptible(primary).map(drop)
    }

    /// Begins a pass again, for inline commands or for secondary command buffers.
    ///
    /// # Safety
    /// The command buffer is in its pass, which can be interrupted.
    unsafe fn contents(&self, handle: vk::CommandBuffer, commands: &mut Commands, unrolled: bool) {
        commands.unbind();
        let Ok((_, resume)) = self.interruptible(commands) else { return };
        let Some(pass) = &mut commands.pass else { return };
        pass.unrolled = unrolled;
        // SAFETY: as the caller says.
        unsafe {
            self.gpu.interrupt(handle, resume);
            self.gpu.resume(handle, pass, resume);
        }
    }
}
