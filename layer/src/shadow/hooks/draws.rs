//! Draws: vertex and index buffers, and the copies before and after.

use super::dispatches::around_first;
use super::{of, records, watch};
use crate::dispatch::{self, key};
use crate::functions::Functions;
use crate::read::list;
use crate::shadow::Kind;
use crate::shadow::bound::{IndexBuffer, VertexBuffer};
use crate::shadow::commands::Commands;
use crate::shadow::drawing::{Call, Counts};
use crate::shadow::log::first;
use crate::shadow::reason::Reason;
use crate::shadow::tracker::Asked;
use ash::vk;

fn bind_vertices(commands: &mut Commands, first: u32, given: impl Iterator<Item = VertexBuffer>) {
    commands.vertices.buffers.extend((first..).zip(given));
}

records! {
    cmd_bind_vertex_buffers(
        commands: vk::CommandBuffer,
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize
    ) keep buffers = list(buffers, count), offsets = list(offsets, count);
    |watch| {
        let given = list(buffers, count).iter().zip(list(offsets, count));
        let given = given.map(|(&buffer, &offset)| VertexBuffer { buffer, offset, size: None });
        of(watch, commands, |commands| bind_vertices(commands, first, given));
    };
    cmd_bind_vertex_buffers2(
        commands: vk::CommandBuffer,
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
        sizes: *const vk::DeviceSize,
        strides: *const vk::DeviceSize
    )
    keep buffers = list(buffers, count),
        offsets = list(offsets, count),
        sizes = list(sizes, count),
        strides = list(strides, count);
    |watch| {
        let [sizes, strides] = [sizes, strides].map(|first| list(first, count));
        let given = list(buffers, count).iter().zip(list(offsets, count)).enumerate();
        let given = given.map(|(n, (&buffer, &offset))| {
            VertexBuffer { buffer, offset, size: sizes.get(n).copied() }
        });
        of(watch, commands, |commands| {
            bind_vertices(commands, first, given);
            commands.dynamic.strides.extend((first..).zip(strides.iter().copied()));
        });
    };
    cmd_bind_index_buffer(
        commands: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        kind: vk::IndexType
    );
    |watch| of(watch, commands, |commands| {
        commands.vertices.indices = Some(IndexBuffer { buffer, offset, size: vk::WHOLE_SIZE, kind });
    });
    cmd_bind_index_buffer2(
        commands: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        size: vk::DeviceSize,
        kind: vk::IndexType
    );
    |watch| of(watch, commands, |commands| {
        commands.vertices.indices = Some(IndexBuffer { buffer, offset, size, kind });
    });
}

/// Handles a draw; `again` records it another time.
///
/// # Safety
/// As [`around_first`].
unsafe fn drawn(
    commands: vk::CommandBuffer,
    call: Result<Call, Reason>,
    again: impl Fn(vk::CommandBuffer) + Send + Sync + 'static,
    pass_on: impl FnOnce(&Functions),
) {
    // SAFETY: as the caller says.
    unsafe { drawn_first(commands, call.map(Asked::Draw), again, |below, _| pass_on(below), |_| {}) }
}

/// Handles a call with several draws; `pass_on` is told whether to record only the first, before `rest`.
///
/// # Safety
/// As [`around_first`].
unsafe fn drawn_first(
    commands: vk::CommandBuffer,
    asked: Result<Asked, Reason>,
    again: impl Fn(vk::CommandBuffer) + Send + Sync + 'static,
    pass_on: impl FnOnce(&Functions, bool),
    rest: impl FnOnce(&Functions),
) {
    // SAFETY: a command buffer of the caller's.
    let Some(device) = dispatch::device(unsafe { key(commands) }) else { return };
    let kept = watch(&device, |watch| {
        let Some(commands) = watch.state.commands.get_mut(&commands) else { return false };
        let (graphics, late) = (&mut commands.graphics, &commands.dynamic.late);
        if let Some(waiting) = graphics.waiting.filter(|_| graphics.completed.as_ref() != Some(late)) {
            // Without all values it stays what the application created, which is refused.
            let name = watch.session.complete(waiting, late).unwrap_or(waiting);
            graphics.pipeline = watch.shadow.pipeline(name);
            graphics.completed = Some(late.clone());
        }
        commands.keep_draw(again)
    });
    if kept == Some(true) {
        return pass_on(&device.functions, false);
    }
    // SAFETY: as the caller says.
    unsafe { around_first(commands, Kind::Draw, asked, pass_on, rest) }
}

pub(super) unsafe extern "system" fn cmd_draw(
    commands: vk::CommandBuffer,
    count: u32,
    instances: u32,
    vertex: u32,
    instance: u32,
) {
    let call = Call::Given(Counts { index: None, count, instances, vertex, instance });
    // SAFETY: the same arguments go below.
    unsafe {
        let again = move |commands| cmd_draw(commands, count, instances, vertex, instance);
        drawn(commands, Ok(call), again, |below| {
            below.cmd_draw.iter().for_each(|below| below(commands, count, instances, vertex, instance));
        });
    }
}

pub(super) unsafe extern "system" fn cmd_draw_indexed(
    commands: vk::CommandBuffer,
    count: u32,
    instances: u32,
    index: u32,
    vertex: i32,
    instance: u32,
) {
    let counts = Counts { index: Some(index), count, instances, vertex: vertex.cast_unsigned(), instance };
    // SAFETY: the same arguments go below.
    unsafe {
        let again = move |commands| cmd_draw_indexed(commands, count, instances, index, vertex, instance);
        drawn(commands, Ok(Call::Given(counts)), again, |below| {
            let below = below.cmd_draw_indexed.iter();
            below.for_each(|below| below(commands, count, instances, index, vertex, instance));
        });
    }
}

/// Hooks of indirect draws, whose counts are in memory.
macro_rules! indirect {
    ($($hook:ident: $indexed:literal;)*) => {$(
        pub(super) unsafe extern "system" fn $hook(
            commands: vk::CommandBuffer,
            buffer: vk::Buffer,
            offset: vk::DeviceSize,
            count: u32,
            stride: u32,
        ) {
            let one = Call::Indirect { indexed: $indexed, buffer, offset };
            // SAFETY: the same arguments go below, in one call or in two.
            unsafe {
                let again = move |commands| $hook(commands, buffer, offset, count, stride);
                drawn_first(commands, asked(count, Some(one)), again, |below, alone| {
                    let count = if alone { count.min(1) } else { count };
                    below.$hook.iter().for_each(|below| below(commands, buffer, offset, count, stride));
                }, |below| {
                    let (offset, left) = (offset.saturating_add(stride.into()), count.saturating_sub(1));
                    let below = below.$hook.iter().filter(|_| left > 0);
                    below.for_each(|below| below(commands, buffer, offset, left, stride));
                });
            }
        }
    )*};
}

indirect! {
    cmd_draw_indirect: false;
    cmd_draw_indexed_indirect: true;
}

/// A call with so many draws, whose first is given.
fn asked(count: u32, one: Option<Call>) -> Result<Asked, Reason> {
    match (count, one) {
        (1, Some(one)) => Ok(Asked::Draw(one)),
        (2.., Some(one)) => Ok(Asked::First(one)),
        _ => Err(Reason::Calls),
    }
}

/// Hooks of draws whose number or vertices are in memory.
macro_rules! counted {
    ($($hook:ident($($arg:ident: $ty:ty),*): $reason:expr;)*) => {$(
        pub(super) unsafe extern "system" fn $hook(commands: vk::CommandBuffer $(, $arg: $ty)*) {
            // SAFETY: the same arguments go below.
            unsafe {
                let again = move |commands| $hook(commands $(, $arg)*);
                drawn(commands, Err($reason), again, |below| {
                    below.$hook.iter().for_each(|below| below(commands $(, $arg)*));
                });
            }
        }
    )*};
}

counted! {
    cmd_draw_indirect_byte_count(
        instances: u32, instance: u32, counter: vk::Buffer, at: vk::DeviceSize, offset: u32, stride: u32
    ): Reason::ByteCount;
    cmd_draw_indirect_count(
        buffer: vk::Buffer, offset: vk::DeviceSize, counts: vk::Buffer, count: vk::DeviceSize, most: u32, stride: u32
    ): Reason::DrawCount;
    cmd_draw_indexed_indirect_count(
        buffer: vk::Buffer, offset: vk::DeviceSize, counts: vk::Buffer, count: vk::DeviceSize, most: u32, stride: u32
    ): Reason::DrawCount;
}

/// Bytes of a list whose elements are `stride` apart; one element may have any stride.
fn spread<T>(count: u32, stride: u32) -> u32 {
    count.checked_sub(1).map_or(0, |gaps| gaps.saturating_mul(stride).saturating_add(size_of::<T>() as u32))
}

/// The element that follows in a list whose elements are `stride` apart.
fn following<T>(first: *const T, stride: u32) -> *const T {
    first.cast::<u8>().wrapping_add(stride as usize).cast()
}

pub(super) unsafe extern "system" fn cmd_draw_multi(
    commands: vk::CommandBuffer,
    count: u32,
    infos: *const vk::MultiDrawInfoEXT,
    instances: u32,
    instance: u32,
    stride: u32,
) {
    // SAFETY: the same arguments go below, in one call or in two; lists that are kept have all elements.
    unsafe {
        let one = list(infos, count.min(1)).first().map(|one| {
            let (count, vertex) = (one.vertex_count, one.first_vertex);
            Call::Given(Counts { index: None, count, instances, vertex, instance })
        });
        let kept = list(infos.cast::<u8>(), spread::<vk::MultiDrawInfoEXT>(count, stride)).to_vec();
        let again = move |commands| cmd_draw_multi(commands, count, first(&kept).cast(), instances, instance, stride);
        let record = |below: &Functions, infos, count| {
            let below = below.cmd_draw_multi.iter();
            below.for_each(|below| below(commands, count, infos, instances, instance, stride));
        };
        let whole = |below: &Functions, alone| record(below, infos, if alone { count.min(1) } else { count });
        let rest = |below: &Functions| match count {
            0 | 1 => {}
            _ => record(below, following(infos, stride), count - 1),
        };
        drawn_first(commands, asked(count, one), again, whole, rest);
    }
}

pub(super) unsafe extern "system" fn cmd_draw_multi_indexed(
    commands: vk::CommandBuffer,
    count: u32,
    infos: *const vk::MultiDrawIndexedInfoEXT,
    instances: u32,
    instance: u32,
    stride: u32,
    vertex: *const i32,
) {
    // SAFETY: as for draws without indices.
    unsafe {
        let one = list(infos, count.min(1)).first().map(|one| {
            let vertex = list(vertex, 1).first().unwrap_or(&one.vertex_offset).cast_unsigned();
            let (index, count) = (Some(one.first_index), one.index_count);
            Call::Given(Counts { index, count, instances, vertex, instance })
        });
        let kept = list(infos.cast::<u8>(), spread::<vk::MultiDrawIndexedInfoEXT>(count, stride)).to_vec();
        let offsets = list(vertex, 1).to_vec();
        let again = move |commands| {
            let (infos, vertex) = (first(&kept).cast(), first(&offsets));
            cmd_draw_multi_indexed(commands, count, infos, instances, instance, stride, vertex);
        };
        let record = |below: &Functions, infos, count| {
            let below = below.cmd_draw_multi_indexed.iter();
            below.for_each(|below| below(commands, count, infos, instances, instance, stride, vertex));
        };
        let whole = |below: &Functions, alone| record(below, infos, if alone { count.min(1) } else { count });
        let rest = |below: &Functions| match count {
            0 | 1 => {}
            _ => record(below, following(infos, stride), count - 1),
        };
        drawn_first(commands, asked(count, one), again, whole, rest);
    }
}
