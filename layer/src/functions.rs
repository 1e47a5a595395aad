//! The functions of a device that the layer calls or replaces: their names and types.

use ash::vk;

/// Declares [`Functions`], and [`function`] for hooks, from field, type and the names that the function has had.
macro_rules! functions {
    ($($field:ident: $ty:ident = $($name:literal)|+;)*) => {
        /// The functions of a device that the layer uses. `None`: the driver does not have it.
        #[derive(Clone, Copy, Default)]
        #[allow(missing_docs, reason = "the names are Vulkan's own")]
        pub struct Functions {
            $(pub $field: Option<function::$field::Type>,)*
        }

        /// By field: the function's name and type.
        #[allow(missing_docs, reason = "the names are Vulkan's own")]
        pub mod function {
            $(pub mod $field {
                pub type Type = ash::vk::$ty;
                pub const NAMES: &[&std::ffi::CStr] = &[$($name),+];
            })*
        }

        impl Functions {
            /// Loads the functions through `find`; the first name that it knows is used.
            ///
            /// # Safety
            /// `find` returns the function of the given name, or null.
            pub unsafe fn load(find: &dyn Fn(&std::ffi::CStr) -> vk::PFN_vkVoidFunction) -> Self {
                Self {
                    $($field: function::$field::NAMES.iter().copied().find_map(find).map(|function| {
                        // SAFETY: a function of this name has this type.
                        unsafe { std::mem::transmute::<unsafe extern "system" fn(), function::$field::Type>(function) }
                    }),)*
                }
            }
        }
    };
}

functions! {
    destroy_device: PFN_vkDestroyDevice = c"vkDestroyDevice";
    create_sampler: PFN_vkCreateSampler = c"vkCreateSampler";
    destroy_sampler: PFN_vkDestroySampler = c"vkDestroySampler";
    create_conversion: PFN_vkCreateSamplerYcbcrConversion =
        c"vkCreateSamplerYcbcrConversion" | c"vkCreateSamplerYcbcrConversionKHR";
    destroy_conversion: PFN_vkDestroySamplerYcbcrConversion =
        c"vkDestroySamplerYcbcrConversion" | c"vkDestroySamplerYcbcrConversionKHR";
    create_set_layout: PFN_vkCreateDescriptorSetLayout = c"vkCreateDescriptorSetLayout";
    destroy_set_layout: PFN_vkDestroyDescriptorSetLayout = c"vkDestroyDescriptorSetLayout";
    create_pipeline_layout: PFN_vkCreatePipelineLayout = c"vkCreatePipelineLayout";
    destroy_pipeline_layout: PFN_vkDestroyPipelineLayout = c"vkDestroyPipelineLayout";
    create_render_pass: PFN_vkCreateRenderPass = c"vkCreateRenderPass";
    create_render_pass2: PFN_vkCreateRenderPass2 = c"vkCreateRenderPass2" | c"vkCreateRenderPass2KHR";
    destroy_render_pass: PFN_vkDestroyRenderPass = c"vkDestroyRenderPass";
    create_shader_module: PFN_vkCreateShaderModule = c"vkCreateShaderModule";
    destroy_shader_module: PFN_vkDestroyShaderModule = c"vkDestroyShaderModule";
    create_graphics_pipelines: PFN_vkCreateGraphicsPipelines = c"vkCreateGraphicsPipelines";
    create_compute_pipelines: PFN_vkCreateComputePipelines = c"vkCreateComputePipelines";
    destroy_pipeline: PFN_vkDestroyPipeline = c"vkDestroyPipeline";
    create_buffer: PFN_vkCreateBuffer = c"vkCreateBuffer";
    destroy_buffer: PFN_vkDestroyBuffer = c"vkDestroyBuffer";
    get_buffer_memory_requirements: PFN_vkGetBufferMemoryRequirements = c"vkGetBufferMemoryRequirements";
    get_device_buffer_memory_requirements: PFN_vkGetDeviceBufferMemoryRequirements =
        c"vkGetDeviceBufferMemoryRequirements" | c"vkGetDeviceBufferMemoryRequirementsKHR";
    bind_buffer_memory: PFN_vkBindBufferMemory = c"vkBindBufferMemory";
    bind_buffer_memory2: PFN_vkBindBufferMemory2 = c"vkBindBufferMemory2" | c"vkBindBufferMemory2KHR";
    create_buffer_view: PFN_vkCreateBufferView = c"vkCreateBufferView";
    destroy_buffer_view: PFN_vkDestroyBufferView = c"vkDestroyBufferView";
    create_image: PFN_vkCreateImage = c"vkCreateImage";
    destroy_image: PFN_vkDestroyImage = c"vkDestroyImage";
    get_device_image_memory_requirements: PFN_vkGetDeviceImageMemoryRequirements =
        c"vkGetDeviceImageMemoryRequirements" | c"vkGetDeviceImageMemoryRequirementsKHR";
    create_swapchain: PFN_vkCreateSwapchainKHR = c"vkCreateSwapchainKHR";
    get_swapchain_images: PFN_vkGetSwapchainImagesKHR = c"vkGetSwapchainImagesKHR";
    destroy_swapchain: PFN_vkDestroySwapchainKHR = c"vkDestroySwapchainKHR";
    create_image_view: PFN_vkCreateImageView = c"vkCreateImageView";
    destroy_image_view: PFN_vkDestroyImageView = c"vkDestroyImageView";
    allocate_memory: PFN_vkAllocateMemory = c"vkAllocateMemory";
    free_memory: PFN_vkFreeMemory = c"vkFreeMemory";
    map_memory: PFN_vkMapMemory = c"vkMapMemory";
    unmap_memory: PFN_vkUnmapMemory = c"vkUnmapMemory";
    allocate_descriptor_sets: PFN_vkAllocateDescriptorSets = c"vkAllocateDescriptorSets";
    free_descriptor_sets: PFN_vkFreeDescriptorSets = c"vkFreeDescriptorSets";
    reset_descriptor_pool: PFN_vkResetDescriptorPool = c"vkResetDescriptorPool";
    destroy_descriptor_pool: PFN_vkDestroyDescriptorPool = c"vkDestroyDescriptorPool";
    update_descriptor_sets: PFN_vkUpdateDescriptorSets = c"vkUpdateDescriptorSets";
    create_template: PFN_vkCreateDescriptorUpdateTemplate =
        c"vkCreateDescriptorUpdateTemplate" | c"vkCreateDescriptorUpdateTemplateKHR";
    destroy_template: PFN_vkDestroyDescriptorUpdateTemplate =
        c"vkDestroyDescriptorUpdateTemplate" | c"vkDestroyDescriptorUpdateTemplateKHR";
    update_template: PFN_vkUpdateDescriptorSetWithTemplate =
        c"vkUpdateDescriptorSetWithTemplate" | c"vkUpdateDescriptorSetWithTemplateKHR";
    allocate_command_buffers: PFN_vkAllocateCommandBuffers = c"vkAllocateCommandBuffers";
    free_command_buffers: PFN_vkFreeCommandBuffers = c"vkFreeCommandBuffers";
    reset_command_pool: PFN_vkResetCommandPool = c"vkResetCommandPool";
    destroy_command_pool: PFN_vkDestroyCommandPool = c"vkDestroyCommandPool";
    begin_command_buffer: PFN_vkBeginCommandBuffer = c"vkBeginCommandBuffer";
    reset_command_buffer: PFN_vkResetCommandBuffer = c"vkResetCommandBuffer";
    cmd_bind_pipeline: PFN_vkCmdBindPipeline = c"vkCmdBindPipeline";
    cmd_bind_shaders: PFN_vkCmdBindShadersEXT = c"vkCmdBindShadersEXT";
    cmd_bind_descriptor_sets: PFN_vkCmdBindDescriptorSets = c"vkCmdBindDescriptorSets";
    cmd_bind_descriptor_sets2: PFN_vkCmdBindDescriptorSets2KHR =
        c"vkCmdBindDescriptorSets2" | c"vkCmdBindDescriptorSets2KHR";
    cmd_push_constants: PFN_vkCmdPushConstants = c"vkCmdPushConstants";
    cmd_push_constants2: PFN_vkCmdPushConstants2KHR = c"vkCmdPushConstants2" | c"vkCmdPushConstants2KHR";
    cmd_push_descriptor_set: PFN_vkCmdPushDescriptorSetKHR = c"vkCmdPushDescriptorSet" | c"vkCmdPushDescriptorSetKHR";
    cmd_push_descriptor_set2: PFN_vkCmdPushDescriptorSet2KHR =
        c"vkCmdPushDescriptorSet2" | c"vkCmdPushDescriptorSet2KHR";
    cmd_push_template: PFN_vkCmdPushDescriptorSetWithTemplateKHR =
        c"vkCmdPushDescriptorSetWithTemplate" | c"vkCmdPushDescriptorSetWithTemplateKHR";
    cmd_push_template2: PFN_vkCmdPushDescriptorSetWithTemplate2KHR =
        c"vkCmdPushDescriptorSetWithTemplate2" | c"vkCmdPushDescriptorSetWithTemplate2KHR";
    cmd_set_descriptor_buffer_offsets: PFN_vkCmdSetDescriptorBufferOffsetsEXT = c"vkCmdSetDescriptorBufferOffsetsEXT";
    cmd_set_descriptor_buffer_offsets2: PFN_vkCmdSetDescriptorBufferOffsets2EXT =
        c"vkCmdSetDescriptorBufferOffsets2EXT";
    cmd_begin_conditional_rendering: PFN_vkCmdBeginConditionalRenderingEXT = c"vkCmdBeginConditionalRenderingEXT";
    cmd_end_conditional_rendering: PFN_vkCmdEndConditionalRenderingEXT = c"vkCmdEndConditionalRenderingEXT";
    cmd_dispatch: PFN_vkCmdDispatch = c"vkCmdDispatch";
    cmd_dispatch_base: PFN_vkCmdDispatchBase = c"vkCmdDispatchBase" | c"vkCmdDispatchBaseKHR";
    cmd_dispatch_indirect: PFN_vkCmdDispatchIndirect = c"vkCmdDispatchIndirect";
    create_framebuffer: PFN_vkCreateFramebuffer = c"vkCreateFramebuffer";
    destroy_framebuffer: PFN_vkDestroyFramebuffer = c"vkDestroyFramebuffer";
    cmd_begin_render_pass: PFN_vkCmdBeginRenderPass = c"vkCmdBeginRenderPass";
    cmd_begin_render_pass2: PFN_vkCmdBeginRenderPass2 = c"vkCmdBeginRenderPass2" | c"vkCmdBeginRenderPass2KHR";
    cmd_end_render_pass: PFN_vkCmdEndRenderPass = c"vkCmdEndRenderPass";
    cmd_end_render_pass2: PFN_vkCmdEndRenderPass2 = c"vkCmdEndRenderPass2" | c"vkCmdEndRenderPass2KHR";
    cmd_begin_rendering: PFN_vkCmdBeginRendering = c"vkCmdBeginRendering" | c"vkCmdBeginRenderingKHR";
    cmd_end_rendering: PFN_vkCmdEndRendering = c"vkCmdEndRendering" | c"vkCmdEndRenderingKHR";
    cmd_begin_query: PFN_vkCmdBeginQuery = c"vkCmdBeginQuery";
    cmd_end_query: PFN_vkCmdEndQuery = c"vkCmdEndQuery";
    cmd_begin_query_indexed: PFN_vkCmdBeginQueryIndexedEXT = c"vkCmdBeginQueryIndexedEXT";
    cmd_end_query_indexed: PFN_vkCmdEndQueryIndexedEXT = c"vkCmdEndQueryIndexedEXT";
    cmd_begin_transform_feedback: PFN_vkCmdBeginTransformFeedbackEXT = c"vkCmdBeginTransformFeedbackEXT";
    cmd_end_transform_feedback: PFN_vkCmdEndTransformFeedbackEXT = c"vkCmdEndTransformFeedbackEXT";
    cmd_bind_vertex_buffers: PFN_vkCmdBindVertexBuffers = c"vkCmdBindVertexBuffers";
    cmd_bind_vertex_buffers2: PFN_vkCmdBindVertexBuffers2 =
        c"vkCmdBindVertexBuffers2" | c"vkCmdBindVertexBuffers2EXT";
    cmd_bind_index_buffer: PFN_vkCmdBindIndexBuffer = c"vkCmdBindIndexBuffer";
    cmd_bind_index_buffer2: PFN_vkCmdBindIndexBuffer2KHR = c"vkCmdBindIndexBuffer2" | c"vkCmdBindIndexBuffer2KHR";
    cmd_set_viewport: PFN_vkCmdSetViewport = c"vkCmdSetViewport";
    cmd_set_scissor: PFN_vkCmdSetScissor = c"vkCmdSetScissor";
    cmd_set_line_width: PFN_vkCmdSetLineWidth = c"vkCmdSetLineWidth";
    cmd_set_blend_constants: PFN_vkCmdSetBlendConstants = c"vkCmdSetBlendConstants";
    cmd_set_stencil_compare_mask: PFN_vkCmdSetStencilCompareMask = c"vkCmdSetStencilCompareMask";
    cmd_set_stencil_write_mask: PFN_vkCmdSetStencilWriteMask = c"vkCmdSetStencilWriteMask";
    cmd_set_stencil_reference: PFN_vkCmdSetStencilReference = c"vkCmdSetStencilReference";
    cmd_set_cull_mode: PFN_vkCmdSetCullMode = c"vkCmdSetCullMode" | c"vkCmdSetCullModeEXT";
    cmd_set_front_face: PFN_vkCmdSetFrontFace = c"vkCmdSetFrontFace" | c"vkCmdSetFrontFaceEXT";
    cmd_set_primitive_topology: PFN_vkCmdSetPrimitiveTopology =
        c"vkCmdSetPrimitiveTopology" | c"vkCmdSetPrimitiveTopologyEXT";
    cmd_set_viewport_with_count: PFN_vkCmdSetViewportWithCount =
        c"vkCmdSetViewportWithCount" | c"vkCmdSetViewportWithCountEXT";
    cmd_set_scissor_with_count: PFN_vkCmdSetScissorWithCount =
        c"vkCmdSetScissorWithCount" | c"vkCmdSetScissorWithCountEXT";
    cmd_set_depth_test_enable: PFN_vkCmdSetDepthTestEnable =
        c"vkCmdSetDepthTestEnable" | c"vkCmdSetDepthTestEnableEXT";
    cmd_set_depth_write_enable: PFN_vkCmdSetDepthWriteEnable =
        c"vkCmdSetDepthWriteEnable" | c"vkCmdSetDepthWriteEnableEXT";
    cmd_set_depth_compare_op: PFN_vkCmdSetDepthCompareOp = c"vkCmdSetDepthCompareOp" | c"vkCmdSetDepthCompareOpEXT";
    cmd_set_depth_bounds_test_enable: PFN_vkCmdSetDepthBoundsTestEnable =
        c"vkCmdSetDepthBoundsTestEnable" | c"vkCmdSetDepthBoundsTestEnableEXT";
    cmd_set_stencil_test_enable: PFN_vkCmdSetStencilTestEnable =
        c"vkCmdSetStencilTestEnable" | c"vkCmdSetStencilTestEnableEXT";
    cmd_set_stencil_op: PFN_vkCmdSetStencilOp = c"vkCmdSetStencilOp" | c"vkCmdSetStencilOpEXT";
    cmd_set_depth_bias_enable: PFN_vkCmdSetDepthBiasEnable =
        c"vkCmdSetDepthBiasEnable" | c"vkCmdSetDepthBiasEnableEXT";
    cmd_set_primitive_restart_enable: PFN_vkCmdSetPrimitiveRestartEnable =
        c"vkCmdSetPrimitiveRestartEnable" | c"vkCmdSetPrimitiveRestartEnableEXT";
    cmd_draw: PFN_vkCmdDraw = c"vkCmdDraw";
    cmd_draw_indexed: PFN_vkCmdDrawIndexed = c"vkCmdDrawIndexed";
    cmd_draw_indirect: PFN_vkCmdDrawIndirect = c"vkCmdDrawIndirect";
    cmd_draw_indexed_indirect: PFN_vkCmdDrawIndexedIndirect = c"vkCmdDrawIndexedIndirect";
    cmd_draw_indirect_count: PFN_vkCmdDrawIndirectCount =
        c"vkCmdDrawIndirectCount" | c"vkCmdDrawIndirectCountKHR" | c"vkCmdDrawIndirectCountAMD";
    cmd_draw_indexed_indirect_count: PFN_vkCmdDrawIndexedIndirectCount =
        c"vkCmdDrawIndexedIndirectCount" | c"vkCmdDrawIndexedIndirectCountKHR" | c"vkCmdDrawIndexedIndirectCountAMD";
    cmd_draw_multi: PFN_vkCmdDrawMultiEXT = c"vkCmdDrawMultiEXT";
    cmd_draw_multi_indexed: PFN_vkCmdDrawMultiIndexedEXT = c"vkCmdDrawMultiIndexedEXT";
    cmd_execute_commands: PFN_vkCmdExecuteCommands = c"vkCmdExecuteCommands";
    cmd_pipeline_barrier2: PFN_vkCmdPipelineBarrier2 = c"vkCmdPipelineBarrier2" | c"vkCmdPipelineBarrier2KHR";
    cmd_wait_events: PFN_vkCmdWaitEvents = c"vkCmdWaitEvents";
    cmd_wait_events2: PFN_vkCmdWaitEvents2 = c"vkCmdWaitEvents2" | c"vkCmdWaitEvents2KHR";
    cmd_set_device_mask: PFN_vkCmdSetDeviceMask = c"vkCmdSetDeviceMask" | c"vkCmdSetDeviceMaskKHR";
    cmd_set_depth_bias: PFN_vkCmdSetDepthBias = c"vkCmdSetDepthBias";
    cmd_set_depth_bias2: PFN_vkCmdSetDepthBias2EXT = c"vkCmdSetDepthBias2EXT";
    cmd_set_depth_bounds: PFN_vkCmdSetDepthBounds = c"vkCmdSetDepthBounds";
    cmd_clear_attachments: PFN_vkCmdClearAttachments = c"vkCmdClearAttachments";
    cmd_write_timestamp: PFN_vkCmdWriteTimestamp = c"vkCmdWriteTimestamp";
    cmd_write_timestamp2: PFN_vkCmdWriteTimestamp2 = c"vkCmdWriteTimestamp2" | c"vkCmdWriteTimestamp2KHR";
    cmd_set_rasterizer_discard_enable: PFN_vkCmdSetRasterizerDiscardEnable =
        c"vkCmdSetRasterizerDiscardEnable" | c"vkCmdSetRasterizerDiscardEnableEXT";
    cmd_set_line_stipple: PFN_vkCmdSetLineStippleKHR =
        c"vkCmdSetLineStipple" | c"vkCmdSetLineStippleKHR" | c"vkCmdSetLineStippleEXT";
    cmd_set_fragment_shading_rate: PFN_vkCmdSetFragmentShadingRateKHR = c"vkCmdSetFragmentShadingRateKHR";
    cmd_set_patch_control_points: PFN_vkCmdSetPatchControlPointsEXT = c"vkCmdSetPatchControlPointsEXT";
    cmd_set_logic_op: PFN_vkCmdSetLogicOpEXT = c"vkCmdSetLogicOpEXT";
    cmd_set_tessellation_domain_origin: PFN_vkCmdSetTessellationDomainOriginEXT =
        c"vkCmdSetTessellationDomainOriginEXT";
    cmd_set_depth_clamp_enable: PFN_vkCmdSetDepthClampEnableEXT = c"vkCmdSetDepthClampEnableEXT";
    cmd_set_polygon_mode: PFN_vkCmdSetPolygonModeEXT = c"vkCmdSetPolygonModeEXT";
    cmd_set_rasterization_samples: PFN_vkCmdSetRasterizationSamplesEXT = c"vkCmdSetRasterizationSamplesEXT";
    cmd_set_sample_mask: PFN_vkCmdSetSampleMaskEXT = c"vkCmdSetSampleMaskEXT";
    cmd_set_alpha_to_coverage_enable: PFN_vkCmdSetAlphaToCoverageEnableEXT = c"vkCmdSetAlphaToCoverageEnableEXT";
    cmd_set_alpha_to_one_enable: PFN_vkCmdSetAlphaToOneEnableEXT = c"vkCmdSetAlphaToOneEnableEXT";
    cmd_set_logic_op_enable: PFN_vkCmdSetLogicOpEnableEXT = c"vkCmdSetLogicOpEnableEXT";
    cmd_set_color_blend_enable: PFN_vkCmdSetColorBlendEnableEXT = c"vkCmdSetColorBlendEnableEXT";
    cmd_set_color_blend_equation: PFN_vkCmdSetColorBlendEquationEXT = c"vkCmdSetColorBlendEquationEXT";
    cmd_set_color_blend_advanced: PFN_vkCmdSetColorBlendAdvancedEXT = c"vkCmdSetColorBlendAdvancedEXT";
    cmd_set_color_write_mask: PFN_vkCmdSetColorWriteMaskEXT = c"vkCmdSetColorWriteMaskEXT";
    cmd_set_color_write_enable: PFN_vkCmdSetColorWriteEnableEXT = c"vkCmdSetColorWriteEnableEXT";
    cmd_set_rasterization_stream: PFN_vkCmdSetRasterizationStreamEXT = c"vkCmdSetRasterizationStreamEXT";
    cmd_set_conservative_rasterization_mode: PFN_vkCmdSetConservativeRasterizationModeEXT =
        c"vkCmdSetConservativeRasterizationModeEXT";
    cmd_set_extra_primitive_overestimation_size: PFN_vkCmdSetExtraPrimitiveOverestimationSizeEXT =
        c"vkCmdSetExtraPrimitiveOverestimationSizeEXT";
    cmd_set_depth_clip_enable: PFN_vkCmdSetDepthClipEnableEXT = c"vkCmdSetDepthClipEnableEXT";
    cmd_set_depth_clip_negative_one_to_one: PFN_vkCmdSetDepthClipNegativeOneToOneEXT =
        c"vkCmdSetDepthClipNegativeOneToOneEXT";
    cmd_set_sample_locations_enable: PFN_vkCmdSetSampleLocationsEnableEXT = c"vkCmdSetSampleLocationsEnableEXT";
    cmd_set_provoking_vertex_mode: PFN_vkCmdSetProvokingVertexModeEXT = c"vkCmdSetProvokingVertexModeEXT";
    cmd_set_line_rasterization_mode: PFN_vkCmdSetLineRasterizationModeEXT = c"vkCmdSetLineRasterizationModeEXT";
    cmd_set_line_stipple_enable: PFN_vkCmdSetLineStippleEnableEXT = c"vkCmdSetLineStippleEnableEXT";
    cmd_set_attachment_feedback_loop_enable: PFN_vkCmdSetAttachmentFeedbackLoopEnableEXT =
        c"vkCmdSetAttachmentFeedbackLoopEnableEXT";
    cmd_set_discard_rectangle: PFN_vkCmdSetDiscardRectangleEXT = c"vkCmdSetDiscardRectangleEXT";
    cmd_set_discard_rectangle_enable: PFN_vkCmdSetDiscardRectangleEnableEXT = c"vkCmdSetDiscardRectangleEnableEXT";
    cmd_set_discard_rectangle_mode: PFN_vkCmdSetDiscardRectangleModeEXT = c"vkCmdSetDiscardRectangleModeEXT";
    cmd_set_vertex_input: PFN_vkCmdSetVertexInputEXT = c"vkCmdSetVertexInputEXT";
    cmd_bind_transform_feedback_buffers: PFN_vkCmdBindTransformFeedbackBuffersEXT =
        c"vkCmdBindTransformFeedbackBuffersEXT";
    cmd_draw_indirect_byte_count: PFN_vkCmdDrawIndirectByteCountEXT = c"vkCmdDrawIndirectByteCountEXT";
    cmd_draw_mesh_tasks: PFN_vkCmdDrawMeshTasksEXT = c"vkCmdDrawMeshTasksEXT";
    cmd_draw_mesh_tasks_indirect: PFN_vkCmdDrawMeshTasksIndirectEXT = c"vkCmdDrawMeshTasksIndirectEXT";
    cmd_draw_mesh_tasks_indirect_count: PFN_vkCmdDrawMeshTasksIndirectCountEXT =
        c"vkCmdDrawMeshTasksIndirectCountEXT";
    cmd_pipeline_barrier: PFN_vkCmdPipelineBarrier = c"vkCmdPipelineBarrier";
    cmd_copy_buffer: PFN_vkCmdCopyBuffer = c"vkCmdCopyBuffer";
    cmd_copy_image_to_buffer: PFN_vkCmdCopyImageToBuffer = c"vkCmdCopyImageToBuffer";
    queue_submit: PFN_vkQueueSubmit = c"vkQueueSubmit";
    queue_submit2: PFN_vkQueueSubmit2 = c"vkQueueSubmit2" | c"vkQueueSubmit2KHR";
    queue_wait_idle: PFN_vkQueueWaitIdle = c"vkQueueWaitIdle";
    device_wait_idle: PFN_vkDeviceWaitIdle = c"vkDeviceWaitIdle";
    create_fence: PFN_vkCreateFence = c"vkCreateFence";
    destroy_fence: PFN_vkDestroyFence = c"vkDestroyFence";
    wait_for_fences: PFN_vkWaitForFences = c"vkWaitForFences";
    get_fence_status: PFN_vkGetFenceStatus = c"vkGetFenceStatus";
    wait_semaphores: PFN_vkWaitSemaphores = c"vkWaitSemaphores" | c"vkWaitSemaphoresKHR";
    get_semaphore_counter_value: PFN_vkGetSemaphoreCounterValue =
        c"vkGetSemaphoreCounterValue" | c"vkGetSemaphoreCounterValueKHR";
}
