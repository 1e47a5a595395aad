//! Follows the samples of a device's command buffers from recording until they are read.
//!
//! Copies are read after the fence behind their submission has signalled. The fence is checked whenever the application
//! submits or waits, and at the latest when the application resets or frees the command buffer, which it may do only
//! when the buffer is not running. The copies' memory stays until then, because a command buffer may be submitted
//! again.

use super::Shadow;
use super::commands::{Commands, Sample, SampleStage};
use super::copies::{Gpu, Staging};
use super::drawing::Call;
use super::objects::Objects;
use super::passes::{Pass, Resume};
use super::plan::{Grid, Plan, Samplers, Sight, Work};
use super::reason::Reason;
use super::scene;
use crate::complain::complain;
use ash::vk;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// One device.
pub struct Tracker {
    pub gpu: Gpu,
    pub physical: vk::PhysicalDevice,
    pub image_formats: Option<vk::PFN_vkGetPhysicalDeviceImageFormatProperties>,
    pub surface: Option<vk::PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR>,
    /// The driver's subgroup size.
    pub lanes: u32,
    /// `VkPhysicalDeviceLimits::strictLines`.
    pub strict_lines: bool,
    /// The driver's name.
    pub judge: String,
    pub state: Mutex<State>,
}

/// The part that is locked.
#[derive(Default)]
pub struct State {
    pub objects: Objects,
    pub commands: BTreeMap<vk::CommandBuffer, Commands>,
    /// A command that the application can record and that has no hook.
    pub unseen: Option<String>,
    flights: Vec<Flight>,
    flown: u64,
}

/// The dispatch or draw that the application records.
#[derive(Clone, Copy)]
pub enum Asked {
    Dispatch(Grid),
    Draw(Call),
    /// The first draw of a call with several.
    First(Call),
}

/// A submission with copies, and the fence after it.
struct Flight {
    number: u64,
    fence: vk::Fence,
    commands: Vec<vk::CommandBuffer>,
}

impl Tracker {
    /// Decides whether to copy a dispatch or draw, and records the copies before it.
    ///
    /// # Errors
    /// Why it is not copied, although it is sampled.
    ///
    /// # Safety
    /// The application records it to this command buffer.
    pub unsafe fn begin(
        &self,
        shadow: &Shadow,
        state: &mut State,
        handle: vk::CommandBuffer,
        asked: Result<Asked, Reason>,
        samplers: &Samplers<'_>,
    ) -> Result<(), Reason> {
        let commands = state.commands.get(&handle).ok_or(Reason::Commands)?;
        if commands.conditional {
            return Err(Reason::Conditional);
        }
        let asked = asked?;
        let bound = commands.bound(!matches!(asked, Asked::Dispatch(_)));
        let known = bound.pipeline.clone().ok_or(Reason::Pipeline)?;
        let program = known.program(self.lanes)?;
        let sight = Sight { objects: &state.objects, bound, samplers, strict_lines: self.strict_lines };
        let (plan, pass) = match asked {
            Asked::Dispatch(grid) => (Plan::dispatch(program, grid, &sight)?, None),
            // In a call of their own, the other draws would have other numbers.
            Asked::First(_) if program.reads.draw_index => return Err(Reason::Calls),
            Asked::Draw(call) | Asked::First(call) => {
                let (pass, resume) = self.interruptible(commands)?;
                let plan = Plan::draw((&known, program), call, (commands, pass), &sight)?;
                (plan, Some((pass, resume)))
            }
        };
        if !self.gpu.can_copy() {
            return Err(Reason::Memory);
        }
        if !shadow.allows(plan.bytes) {
            return Err(Reason::Bytes);
        }
        // SAFETY: the device is that of the command buffer, which is being recorded.
        let staging = unsafe { self.gpu.stage(plan.bytes) }?;
        // SAFETY: as before; everything in the plan can be copied.
        unsafe { self.copy(handle, pass, &plan, &staging, false) };
        shadow.take(plan.work.kind(), plan.bytes);
        let sample = Sample { number: known.take(), known, plan, staging, stage: SampleStage::Recorded };
        state.commands.entry(handle).and_modify(|commands| commands.samples.push(sample));
        Ok(())
    }

    /// The render pass that a command buffer is in, if it can be ended and begun again here.
    pub fn interruptible<'a>(&self, commands: &'a Commands) -> Result<(&'a Pass, Resume), Reason> {
        let pass = commands.pass.as_ref().ok_or(Reason::Outside)?;
        let resume = pass.resume.clone()?;
        match () {
            () if commands.queries != 0 => Err(Reason::Query),
            () if commands.feedback => Err(Reason::Feedback),
            () if !self.gpu.can_interrupt(resume) => Err(Reason::Pass),
            () => Ok((pass, resume)),
        }
    }

    /// Records copies outside the render pass.
    ///
    /// # Safety
    /// The command buffer is in this pass, or in none; everything in the plan can be copied.
    unsafe fn copy(
        &self,
        handle: vk::CommandBuffer,
        pass: Option<(&Pass, Resume)>,
        plan: &Plan,
        staging: &Staging,
        after: bool,
    ) {
        // SAFETY: as the caller says; copies leave attachments in their layouts.
        unsafe {
            if let Some((_, resume)) = pass {
                self.gpu.interrupt(handle, resume);
            }
            self.gpu.copy(handle, &plan.regions, staging, after);
            if let Some((pass, resume)) = pass {
                self.gpu.resume(handle, pass, resume);
            }
        }
    }

    /// Records the copies after the dispatch or draw.
    ///
    /// # Safety
    /// [`Self::begin`] has recorded the copies before it, and only the command itself was recorded since.
    pub unsafe fn end(&self, state: &State, handle: vk::CommandBuffer) {
        let Some(commands) = state.commands.get(&handle) else { return };
        let Some(sample) = commands.samples.last() else { return };
        let pass = match sample.plan.work {
            Work::Dispatch(_) => None,
            Work::Draw(_) => self.interruptible(commands).ok(),
        };
        // SAFETY: as the caller says.
        unsafe { self.copy(handle, pass, &sample.plan, &sample.staging, true) };
    }

    /// Before these command buffers are submitted: what is in flight and not read now is lost.
    ///
    /// # Safety
    /// The device is alive.
    pub unsafe fn before_submission(&self, shadow: &Shadow, state: &mut State, submitted: &[vk::CommandBuffer]) {
        // SAFETY: as the caller says.
        unsafe { self.poll(shadow, state) };
        shadow.keep();
        for commands in state.with_executed(submitted) {
            for sample in state.samples(commands).filter(|s| matches!(s.stage, SampleStage::Submitted(_))) {
                sample.stage = SampleStage::Done;
                shadow.finish(sample.plan.work.kind(), Err(Reason::Resubmitted));
            }
        }
    }

    /// Called after these command buffers were submitted: adds a fence if they have copies.
    ///
    /// # Safety
    /// The caller may submit to the queue.
    pub unsafe fn after_submission(
        &self,
        shadow: &Shadow,
        state: &mut State,
        queue: vk::Queue,
        submitted: &[vk::CommandBuffer],
    ) {
        let number = state.flown;
        let mut any = false;
        let submitted = state.with_executed(submitted);
        for commands in submitted.iter().copied() {
            for sample in state.samples(commands).filter(|s| s.stage != SampleStage::Done) {
                if matches!(sample.stage, SampleStage::Submitted(_)) {
                    sample.stage = SampleStage::Done;
                    shadow.finish(sample.plan.work.kind(), Err(Reason::Resubmitted));
                } else {
                    sample.stage = SampleStage::Submitted(number);
                    any = true;
                }
            }
        }
        if !any {
            return;
        }
        state.flown += 1;
        // SAFETY: as the caller says.
        let fence = unsafe { self.gpu.fence_after(queue) };
        // Without a fence they are read when the application takes the command buffers back.
        if let Some(fence) = fence {
            state.flights.push(Flight { number, fence, commands: submitted });
        }
    }

    /// Reads what is finished.
    ///
    /// # Safety
    /// The device is alive.
    pub unsafe fn poll(&self, shadow: &Shadow, state: &mut State) {
        for flight in std::mem::take(&mut state.flights) {
            // SAFETY: the fence is ours, and the copies before it have finished if it has signalled.
            unsafe {
                match self.gpu.is_signalled(flight.fence) {
                    Ok(true) => {
                        for commands in &flight.commands {
                            self.collect(shadow, state, *commands, Some(flight.number));
                        }
                        self.gpu.destroy_fence(flight.fence);
                    }
                    Ok(false) => state.flights.push(flight),
                    Err(_) => {
                        for commands in &flight.commands {
                            state.give_up(shadow, *commands, flight.number);
                        }
                        self.gpu.destroy_fence(flight.fence);
                    }
                }
            }
        }
    }

    /// Reads a command buffer's copies, of one submission or of all.
    ///
    /// # Safety
    /// The copies have finished.
    unsafe fn collect(&self, shadow: &Shadow, state: &mut State, commands: vk::CommandBuffer, flight: Option<u64>) {
        for sample in state.samples(commands) {
            let SampleStage::Submitted(number) = sample.stage else { continue };
            if flight.is_none_or(|flight| flight == number) {
                sample.stage = SampleStage::Done;
                // SAFETY: as the caller says.
                let copies = unsafe { self.gpu.read(&sample.staging) };
                shadow.finish(sample.plan.work.kind(), copies.and_then(|copies| self.save(shadow, sample, &copies)));
            }
        }
    }

    fn save(&self, shadow: &Shadow, sample: &Sample, copies: &[u8]) -> Result<(), Reason> {
        let bundle = scene::bundle(sample, &shadow.program, &self.judge, self.lanes, copies)?;
        bundle.save(&shadow.folder).map(drop).map_err(|e| {
            complain(&e.to_string());
            Reason::File
        })
    }

    /// The application resets or frees a command buffer, which is therefore not running.
    ///
    /// # Safety
    /// It is not running.
    pub unsafe fn retire(&self, shadow: &Shadow, state: &mut State, handle: vk::CommandBuffer) {
        // SAFETY: as the caller says.
        unsafe {
            self.collect(shadow, state, handle, None);
            let Some(commands) = state.commands.get_mut(&handle) else { return };
            let (pool, secondary) = (commands.pool, commands.secondary);
            for sample in std::mem::replace(commands, Commands::new(pool, secondary)).samples {
                if sample.stage == SampleStage::Recorded {
                    shadow.finish(sample.plan.work.kind(), Err(Reason::NotSubmitted));
                }
                self.gpu.free(sample.staging);
            }
        }
    }

    /// All command buffers of a pool are reset; `forget`: they are freed.
    ///
    /// # Safety
    /// As [`Self::retire`].
    pub unsafe fn retire_pool(&self, shadow: &Shadow, state: &mut State, pool: vk::CommandPool, forget: bool) {
        let of_pool: Vec<_> =
            state.commands.iter().filter(|(_, c)| c.pool == pool).map(|(handle, _)| *handle).collect();
        for handle in of_pool {
            // SAFETY: as the caller says.
            unsafe { self.retire(shadow, state, handle) };
            if forget {
                state.commands.remove(&handle);
            }
        }
    }

    /// The device is being destroyed: everything submitted has finished or is lost.
    ///
    /// # Safety
    /// Nothing runs on the device.
    pub unsafe fn close(&self, shadow: &Shadow, state: &mut State) {
        // SAFETY: as the caller says.
        unsafe {
            // The application has waited for its own work, but not for our fences behind it.
            state.flights.iter().for_each(|flight| self.gpu.wait(flight.fence));
            self.poll(shadow, state);
            for flight in std::mem::take(&mut state.flights) {
                flight.commands.iter().for_each(|commands| state.give_up(shadow, *commands, flight.number));
                self.gpu.destroy_fence(flight.fence);
            }
            for handle in state.commands.keys().copied().collect::<Vec<_>>() {
                self.retire(shadow, state, handle);
            }
            for variants in std::mem::take(&mut state.objects.passes).into_values().flatten() {
                [variants.first, variants.rest].into_iter().for_each(|one| self.gpu.destroy_pass(one));
            }
        }
    }
}

impl State {
    /// The given command buffers and all secondary ones executed in them.
    fn with_executed(&self, submitted: &[vk::CommandBuffer]) -> Vec<vk::CommandBuffer> {
        let executed = |one| self.commands.get(one).map(|commands| commands.executed.as_slice()).unwrap_or_default();
        submitted.iter().flat_map(|one| std::iter::once(one).chain(executed(one))).copied().collect()
    }

    fn samples(&mut self, commands: vk::CommandBuffer) -> impl Iterator<Item = &mut Sample> {
        self.commands.get_mut(&commands).into_iter().flat_map(|commands| &mut commands.samples)
    }

    fn give_up(&mut self, shadow: &Shadow, commands: vk::CommandBuffer, flight: u64) {
        for sample in self.samples(commands).filter(|s| s.stage == SampleStage::Submitted(flight)) {
            sample.stage = SampleStage::Done;
            shadow.finish(sample.plan.work.kind(), Err(Reason::Unfinished));
        }
    }
}
