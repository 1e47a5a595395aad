//! Memory for the copies of a dispatch or draw: the commands that fill it, and reading from it.

use super::reason::Reason;
use super::region::{Region, Source};
use crate::functions::Functions;
use ash::vk;

/// The functions and properties of a device that copies need.
#[derive(Clone)]
pub struct Gpu {
    pub functions: Functions,
    pub device: vk::Device,
    pub memory: vk::PhysicalDeviceMemoryProperties,
}

/// A buffer that the host can read, with its own memory.
pub struct Staging {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    size: u64,
}

impl Gpu {
    /// Creates a buffer of this size.
    ///
    /// # Errors
    /// There is no memory for it.
    ///
    /// # Safety
    /// The device is alive.
    pub unsafe fn stage(&self, size: u64) -> Result<Staging, Reason> {
        let f = &self.functions;
        let (Some(create), Some(needs), Some(allocate), Some(bind)) =
            (f.create_buffer, f.get_buffer_memory_requirements, f.allocate_memory, f.bind_buffer_memory)
        else {
            return Err(Reason::Memory);
        };
        let mut staging = Staging { buffer: vk::Buffer::null(), memory: vk::DeviceMemory::null(), size };
        let info = vk::BufferCreateInfo::default().size(size.max(1)).usage(vk::BufferUsageFlags::TRANSFER_DST);
        let done = |result: vk::Result| if result == vk::Result::SUCCESS { Ok(()) } else { Err(Reason::Memory) };
        // SAFETY: infos outlive their calls, the buffer was created here, and the memory is as large as it needs.
        let made = unsafe {
            done(create(self.device, &info, std::ptr::null(), &mut staging.buffer)).and_then(|()| {
                let mut requirements = vk::MemoryRequirements::default();
                needs(self.device, staging.buffer, &mut requirements);
                let info = vk::MemoryAllocateInfo::default()
                    .allocation_size(requirements.size)
                    .memory_type_index(self.readable(requirements.memory_type_bits).ok_or(Reason::Memory)?);
                done(allocate(self.device, &info, std::ptr::null(), &mut staging.memory))?;
                done(bind(self.device, staging.buffer, staging.memory, 0))
            })
        };
        match made {
            Ok(()) => Ok(staging),
            Err(reason) => {
                // SAFETY: nothing uses it.
                unsafe { self.free(staging) };
                Err(reason)
            }
        }
    }

    /// A memory type that needs no invalidation, if possible one that is fast to read.
    fn readable(&self, allowed: u32) -> Option<u32> {
        use vk::MemoryPropertyFlags as P;
        let plain = P::HOST_VISIBLE | P::HOST_COHERENT;
        [plain | P::HOST_CACHED, plain].into_iter().find_map(|wanted| {
            (0..self.memory.memory_type_count.min(32)).find(|n| {
                let kind = self.memory.memory_types[*n as usize].property_flags;
                allowed & (1 << n) != 0 && kind.contains(wanted) && !kind.contains(P::PROTECTED)
            })
        })
    }

    /// # Safety
    /// No unfinished submission uses it, and none will.
    pub unsafe fn free(&self, staging: Staging) {
        // SAFETY: as the caller says; Vulkan accepts null handles.
        unsafe {
            if let Some(destroy) = self.functions.destroy_buffer {
                destroy(self.device, staging.buffer, std::ptr::null());
            }
            if let Some(free) = self.functions.free_memory {
                free(self.device, staging.memory, std::ptr::null());
            }
        }
    }

    /// Reads the copies.
    ///
    /// # Errors
    /// It cannot be mapped.
    ///
    /// # Safety
    /// The copies are finished.
    pub unsafe fn read(&self, staging: &Staging) -> Result<Vec<u8>, Reason> {
        let (Some(map), Some(unmap)) = (self.functions.map_memory, self.functions.unmap_memory) else {
            return Err(Reason::Memory);
        };
        let (mut mapped, all) = (std::ptr::null_mut(), vk::WHOLE_SIZE);
        // SAFETY: the memory is ours, mapped nowhere else, readable by the host without invalidation, and has this
        // size.
        unsafe {
            if map(self.device, staging.memory, 0, all, vk::MemoryMapFlags::empty(), &mut mapped) != vk::Result::SUCCESS
            {
                return Err(Reason::Memory);
            }
            let bytes = std::slice::from_raw_parts(mapped.cast::<u8>(), staging.size as usize).to_vec();
            unmap(self.device, staging.memory);
            Ok(bytes)
        }
    }

    /// A fence that signals when everything submitted to a queue so far has finished.
    ///
    /// # Safety
    /// The caller may submit to the queue.
    pub unsafe fn fence_after(&self, queue: vk::Queue) -> Option<vk::Fence> {
        let (create, submit) = self.functions.create_fence.zip(self.functions.queue_submit)?;
        let (info, mut fence) = (vk::FenceCreateInfo::default(), vk::Fence::null());
        // SAFETY: the info outlives the call; only the fence is submitted.
        unsafe {
            if create(self.device, &info, std::ptr::null(), &mut fence) != vk::Result::SUCCESS {
                return None;
            }
            if submit(queue, 0, std::ptr::null(), fence) != vk::Result::SUCCESS {
                self.destroy_fence(fence);
                return None;
            }
        }
        Some(fence)
    }

    /// # Errors
    /// Any other result of the driver: the device is lost.
    ///
    /// # Safety
    /// The fence comes from [`Self::fence_after`].
    pub unsafe fn is_signalled(&self, fence: vk::Fence) -> Result<bool, vk::Result> {
        let status = self.functions.get_fence_status.ok_or(vk::Result::ERROR_UNKNOWN)?;
        // SAFETY: as the caller says.
        match unsafe { status(self.device, fence) } {
            vk::Result::SUCCESS => Ok(true),
            vk::Result::NOT_READY => Ok(false),
            other => Err(other),
        }
    }

    /// Waits for a fence, but not forever.
    ///
    /// # Safety
    /// The fence comes from [`Self::fence_after`].
    pub unsafe fn wait(&self, fence: vk::Fence) {
        const NANOSECONDS: u64 = 10_000_000_000;
        if let Some(wait) = self.functions.wait_for_fences {
            // SAFETY: as the caller says. The fence's status is queried afterwards.
            let _ = unsafe { wait(self.device, 1, &fence, vk::TRUE, NANOSECONDS) };
        }
    }

    /// # Safety
    /// The fence comes from [`Self::fence_after`], and has signalled or never will.
    pub unsafe fn destroy_fence(&self, fence: vk::Fence) {
        if let Some(destroy) = self.functions.destroy_fence {
            // SAFETY: as the caller says.
            unsafe { destroy(self.device, fence, std::ptr::null()) };
        }
    }

    /// Whether the commands that copies need are available.
    pub fn can_copy(&self) -> bool {
        let f = &self.functions;
        f.cmd_pipeline_barrier.is_some() && f.cmd_copy_buffer.is_some() && f.cmd_copy_image_to_buffer.is_some()
    }

    /// Records the copies before or after the dispatch or draw.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside a render pass, and the regions' resources can be copied.
    pub unsafe fn copy(&self, commands: vk::CommandBuffer, regions: &[Region], staging: &Staging, after: bool) {
        let f = &self.functions;
        let (Some(barrier), Some(copy), Some(copy_image)) =
            (f.cmd_pipeline_barrier, f.cmd_copy_buffer, f.cmd_copy_image_to_buffer)
        else {
            return;
        };
        use vk::AccessFlags as A;
        use vk::PipelineStageFlags as S;
        // SAFETY: as the caller says; arrays outlive their calls. No command of the application overlaps the copies, so
        // the order of its own commands stays the same.
        unsafe {
            let memory = |from: (S, A), to: (S, A), images: &[vk::ImageMemoryBarrier<'_>]| {
                let all = [vk::MemoryBarrier::default().src_access_mask(from.1).dst_access_mask(to.1)];
                let (none, count) = (std::ptr::null(), images.len() as u32);
                let flags = vk::DependencyFlags::empty();
                barrier(commands, from.0, to.0, flags, 1, all.as_ptr(), 0, none, count, images.as_ptr());
            };
            let before = (S::ALL_COMMANDS, A::MEMORY_WRITE);
            let copying = (S::TRANSFER, A::TRANSFER_READ | A::TRANSFER_WRITE);
            let rest = (S::ALL_COMMANDS | S::HOST, A::MEMORY_READ | A::MEMORY_WRITE | A::HOST_READ);
            memory(before, copying, &[]);
            for region in regions {
                let Some(at) = (if after { region.after } else { Some(region.at) }) else { continue };
                match region.source {
                    Source::Buffer { buffer, offset, .. } => {
                        let range = vk::BufferCopy { src_offset: offset, dst_offset: at, size: region.bytes };
                        copy(commands, buffer, staging.buffer, 1, &range);
                    }
                    Source::Image { image, layout, layers, extent, .. } => {
                        let there = [transition(region, layout, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)];
                        let back = [transition(region, vk::ImageLayout::TRANSFER_SRC_OPTIMAL, layout)];
                        let stays = matches!(layout, vk::ImageLayout::GENERAL | vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
                        let copied = if stays { layout } else { vk::ImageLayout::TRANSFER_SRC_OPTIMAL };
                        if !stays {
                            memory(before, copying, &there);
                        }
                        let range = vk::BufferImageCopy::default()
                            .buffer_offset(at)
                            .image_subresource(layers)
                            .image_extent(extent);
                        copy_image(commands, image, copied, staging.buffer, 1, &range);
                        if !stays {
                            memory(copying, rest, &back);
                        }
                    }
                }
            }
            memory(copying, rest, &[]);
        }
    }
}

/// The barrier that changes the layout of a region's part of its image.
fn transition<'a>(region: &Region, from: vk::ImageLayout, to: vk::ImageLayout) -> vk::ImageMemoryBarrier<'a> {
    let Source::Image { image, layers, whole, .. } = region.source else { return vk::ImageMemoryBarrier::default() };
    let range = vk::ImageSubresourceRange {
        aspect_mask: whole,
        base_mip_level: layers.mip_level,
        level_count: 1,
        base_array_layer: layers.base_array_layer,
        layer_count: layers.layer_count,
    };
    vk::ImageMemoryBarrier::default()
        .old_layout(from)
        .new_layout(to)
        .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
        .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
        .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
        .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
        .image(image)
        .subresource_range(range)
}
