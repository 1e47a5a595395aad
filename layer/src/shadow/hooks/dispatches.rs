//! Hooks of dispatches, and the copies before and after dispatches and draws.

use super::watch;
use crate::dispatch::{self, Device, key};
use crate::functions::Functions;
use crate::shadow::Kind;
use crate::shadow::plan::{Grid, Samplers};
use crate::shadow::reason::Reason;
use crate::shadow::tracker::Asked;
use ash::vk;
use dovetail_capture::DefinitionSource;

/// Passes on a dispatch or draw, between its copies if it is sampled.
///
/// # Safety
/// The application records it to this command buffer, and `call` does so.
pub(super) unsafe fn around(
    commands: vk::CommandBuffer,
    kind: Kind,
    asked: Result<Asked, Reason>,
    call: impl FnOnce(&Functions),
) {
    // SAFETY: as the caller says.
    unsafe { around_first(commands, kind, asked, |below, _| call(below), |_| {}) }
}

/// Passes on a dispatch or draw, with what follows it in the same call. If it is sampled, its copies are between them:
/// `call` is told so, and then records only the first.
///
/// # Safety
/// As [`around`]; `rest` records what `call` has left out.
pub(super) unsafe fn around_first(
    commands: vk::CommandBuffer,
    kind: Kind,
    asked: Result<Asked, Reason>,
    call: impl FnOnce(&Functions, bool),
    rest: impl FnOnce(&Functions),
) {
    // SAFETY: the caller's command buffer.
    let Some(device) = dispatch::device(unsafe { key(commands) }) else { return };
    // SAFETY: as the caller says.
    let copied = unsafe { begin(&device, commands, kind, asked) };
    call(&device.functions, copied);
    if copied {
        // SAFETY: the first copies and the command itself have just been recorded.
        watch(&device, |watch| unsafe { watch.tracker.end(watch.state, commands) });
        rest(&device.functions);
    }
}

/// Whether copies were recorded.
///
/// # Safety
/// As [`around`].
unsafe fn begin(device: &Device, commands: vk::CommandBuffer, kind: Kind, asked: Result<Asked, Reason>) -> bool {
    let begun = watch(device, |watch| {
        let recorded = watch.state.commands.get(&commands);
        let known = recorded.and_then(|commands| commands.bound(kind == Kind::Draw).pipeline.clone());
        if !watch.shadow.samples(kind, known.as_deref()) {
            return false;
        }
        let samplers = Samplers {
            name: &|sampler| watch.device.with(|handles| handles.samplers.of(sampler)),
            definition: &|name| DefinitionSource::sampler(watch.session, name).ok(),
        };
        // SAFETY: as the caller says.
        let begun = unsafe { watch.tracker.begin(watch.shadow, watch.state, commands, asked, &samplers) };
        begun.map_err(|reason| watch.shadow.refuse(kind, &reason)).is_ok()
    });
    begun.unwrap_or(false)
}

pub(super) unsafe extern "system" fn cmd_dispatch(commands: vk::CommandBuffer, x: u32, y: u32, z: u32) {
    // SAFETY: the call passes on the same arguments.
    unsafe {
        around(commands, Kind::Dispatch, Ok(Asked::Dispatch(Grid::Given([x, y, z]))), |below| {
            below.cmd_dispatch.iter().for_each(|below| below(commands, x, y, z));
        });
    }
}

pub(super) unsafe extern "system" fn cmd_dispatch_base(
    commands: vk::CommandBuffer,
    base_x: u32,
    base_y: u32,
    base_z: u32,
    x: u32,
    y: u32,
    z: u32,
) {
    let whole = [base_x, base_y, base_z] == [0; 3];
    let asked = if whole { Ok(Asked::Dispatch(Grid::Given([x, y, z]))) } else { Err(Reason::Base) };
    // SAFETY: the call passes on the same arguments.
    unsafe {
        around(commands, Kind::Dispatch, asked, |below| {
            below.cmd_dispatch_base.iter().for_each(|below| below(commands, base_x, base_y, base_z, x, y, z));
        });
    }
}

pub(super) unsafe extern "system" fn cmd_dispatch_indirect(
    commands: vk::CommandBuffer,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
) {
    // SAFETY: the call passes on the same arguments.
    unsafe {
        around(commands, Kind::Dispatch, Ok(Asked::Dispatch(Grid::Indirect(buffer, offset))), |below| {
            below.cmd_dispatch_indirect.iter().for_each(|below| below(commands, buffer, offset));
        });
    }
}
