//! Secondary command buffers that go on with a render pass: where a draw in one is sampled, its commands stand in its place.

use super::Shadow;
use super::commands::Commands;
use super::log::{Command, Log};
use super::plan::Kind;
use super::reason::Reason;
use super::tracker::{State, Tracker};
use ash::vk;

impl Tracker {
    /// Before a secondary command buffer is executed in this one: the commands to be recorded in its place, if there is a draw in it
    /// to be copied. The render pass takes them until [`Self::rolled`].
    ///
    /// # Safety
    /// The application executes it in this command buffer.
    pub unsafe fn unroll(
        &self,
        shadow: &Shadow,
        state: &mut State,
        handle: vk::CommandBuffer,
        secondary: vk::CommandBuffer,
    ) -> Option<Vec<Command>> {
        let found = state.commands.get(&secondary).and_then(|secondary| secondary.log.as_ref());
        let Some(log) = found else {
            // Outside of render passes its copies are in itself.
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

    /// After a secondary command buffer's commands: nothing that was bound before is bound any more.
    ///
    /// # Safety
    /// It was executed, or what [`Self::unroll`] returned was recorded.
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

    /// Begins a pass again, for commands or for secondary command buffers.
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
