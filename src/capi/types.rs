//! What the header declares besides functions. The order here is the header's.

use crate::runtime;

/// The version of this interface: of what is here, not of the library. Nothing that is here changes its meaning while this
/// number is the same; structs grow at their ends, and `size` says how long the caller's are.
pub const DVT_ABI_VERSION: u32 = 1;

/// Done.
pub const DVT_OK: i32 = 0;
/// On its way from the service; or not in memory, and the flags forbid to look on the disk.
pub const DVT_PENDING: i32 = 1;
/// Not in the cache, and no service can be reached that compiles. Use your own compiler.
pub const DVT_NOT_CACHED: i32 = 2;
/// The parts cannot be linked with this state, the cache has not the pipeline whole, and no service can be reached that makes it
/// so. Use your own compiler.
pub const DVT_NEEDS_FULL_COMPILE: i32 = 3;
/// The time is over, and what was waited for is still on its way.
pub const DVT_TIMEOUT: i32 = 4;
/// The memory is too small; `*size` says what is needed, nothing was written.
pub const DVT_INCOMPLETE: i32 = 5;
/// No event.
pub const DVT_EMPTY: i32 = 6;
/// The input breaks the rules of its format.
pub const DVT_E_MALFORMED: i32 = -2;
/// The input is right, and this library does not do it.
pub const DVT_E_UNSUPPORTED: i32 = -3;
/// The world outside: files, or a context that was made before a fork.
pub const DVT_E_ENVIRONMENT: i32 = -5;
/// Null, misaligned, of a size that cannot be, or a flag that this library does not know.
pub const DVT_E_ARGUMENT: i32 = -6;
/// The allocator gave nothing for something large. For something small it ends the process.
pub const DVT_E_MEMORY: i32 = -7;
/// A mistake in the library. The object is of no use any more; everything else goes on.
pub const DVT_E_BUG: i32 = -70;
/// A compiler process of the service died of this shader.
pub const DVT_E_QUARANTINED: i32 = -71;

/// `target`: gfx1030, by the machine number in the flags of its ELFs.
pub const DVT_TARGET_GFX1030: u32 = 0x36;

/// `root`, `offset`, `push_constant_root`: the library chooses (docs/state.md says how).
pub const DVT_AUTO: u32 = 0xffff_ffff;

/// Flag of a context: `socket_fd` is given.
pub const DVT_CONTEXT_SOCKET_FD: u32 = 1;
/// Flag of a context: parts can be exported. It takes as much memory again as they do.
pub const DVT_CONTEXT_EXPORT: u32 = 2;

/// Flag of a shader: look in memory only; a service's thread looks on the disk.
pub const DVT_SHADER_NO_DISK: u32 = 1;
/// Flag of a shader: never have it compiled.
pub const DVT_SHADER_FAIL_ON_COMPILE: u32 = 2;

/// Flag of a pipeline: never have anything compiled for it.
pub const DVT_PIPELINE_FAIL_ON_COMPILE: u32 = 1;
/// Flag of a pipeline: look in memory only; a service's thread looks on the disk.
pub const DVT_PIPELINE_NO_DISK: u32 = 2;
/// Flag of a pipeline: whole, if the cache has it so; else linked.
pub const DVT_PIPELINE_PREFER_OPTIMIZED: u32 = 4;
/// Flag of a pipeline: no background compile. Without a service there is none.
pub const DVT_PIPELINE_NO_OPTIMIZE: u32 = 8;
/// Flag of a pipeline: whole, or not at all.
pub const DVT_PIPELINE_LINK_TIME_OPTIMIZATION: u32 = 16;
/// Flag of a pipeline: metadata 3.0, register fields by name, in place of 2.6.
pub const DVT_PIPELINE_NAMED_METADATA: u32 = 32;
/// Flag of a pipeline: each generation's ELF is read once; `dvt_pipeline_read` gives it away, and the caller's copy is the only one.
pub const DVT_PIPELINE_READ_ONCE: u32 = 64;

/// `color_flags`: alpha of location 0 decides coverage.
pub const DVT_COLOR_ALPHA_TO_COVERAGE: u32 = 1;
/// `color_flags`: blending reads a second colour.
pub const DVT_COLOR_DUAL_SOURCE: u32 = 2;
/// `color_flags`: every sample is shaded by itself.
pub const DVT_COLOR_SAMPLE_SHADING: u32 = 4;
/// `color_flags`: alpha is 1, whatever the shader writes. Not together with `DVT_COLOR_ALPHA_TO_COVERAGE`.
pub const DVT_COLOR_ALPHA_TO_ONE: u32 = 8;

/// `flags` of an attachment: blending is on.
pub const DVT_ATTACHMENT_BLEND: u32 = 1;
/// `flags` of an attachment: a colour's blend factor reads the source's alpha.
pub const DVT_ATTACHMENT_BLEND_SOURCE_ALPHA: u32 = 2;

/// `raster_flags`: nothing is rasterized.
pub const DVT_RASTER_DISCARD: u32 = 1;
/// `raster_flags`: coverage means fully covered.
pub const DVT_RASTER_INNER_COVERAGE: u32 = 2;

/// `placement`: parts that run one after the other stand one after the other.
pub const DVT_PLACEMENT_ADJACENT: u32 = 0;
/// `placement`: parts are joined by branches.
pub const DVT_PLACEMENT_CHAINED: u32 = 1;

/// `state` of a shader or pipeline: not looked for on the disk yet, or on its way from the service.
pub const DVT_STATE_PENDING: u32 = 0;
/// `state`: a part is not in the cache, and no service can be reached.
pub const DVT_STATE_NOT_CACHED: u32 = 1;
/// `state` of a pipeline: it needs a whole compile; `reason` says why.
pub const DVT_STATE_NEEDS_FULL_COMPILE: u32 = 2;
/// `state`: ready.
pub const DVT_STATE_READY: u32 = 3;
/// `state`: it will never be; `error` and `dvt_pipeline_reason` say why.
pub const DVT_STATE_FAILED: u32 = 4;

/// `route`: there is no ELF.
pub const DVT_ROUTE_NONE: u32 = 0;
/// `route`: linked.
pub const DVT_ROUTE_LINKED: u32 = 1;
/// `route`: compiled whole by whoever filled the cache, or by the service.
pub const DVT_ROUTE_WHOLE: u32 = 2;
/// `route`: linked at first, and then replaced by what the service has compiled whole.
pub const DVT_ROUTE_OPTIMIZED: u32 = 3;

/// `optimization`: the service was not asked for better code.
pub const DVT_OPTIMIZATION_NONE: u32 = 0;
/// `optimization`: the service decides by the pipeline's use when it is compiled whole.
pub const DVT_OPTIMIZATION_OFFERED: u32 = 1;
/// `optimization`: the code is better, and is generation 2.
pub const DVT_OPTIMIZATION_TAKEN: u32 = 2;
/// `optimization`: the linked pipeline is as good.
pub const DVT_OPTIMIZATION_KEPT: u32 = 3;
/// `optimization`: it could not be compiled whole. The linked pipeline stays.
pub const DVT_OPTIMIZATION_FAILED: u32 = 4;

/// `service`: the context has none.
pub const DVT_SERVICE_NONE: u32 = 0;
/// `service`: nothing had to be asked yet.
pub const DVT_SERVICE_IDLE: u32 = 1;
/// `service`: not yet, or not any more. What was asked waits for it.
pub const DVT_SERVICE_CONNECTING: u32 = 2;
/// `service`: connected.
pub const DVT_SERVICE_CONNECTED: u32 = 3;
/// `service`: it cannot be reached; it is tried again from time to time.
pub const DVT_SERVICE_AWAY: u32 = 4;

/// `reason`: linking does it, or was not tried.
pub const DVT_REASON_NONE: u32 = 0;
/// `reason`: a specialization constant shaped the code and has another value.
pub const DVT_REASON_SPECIALIZATION: u32 = 1;
/// `reason`: more values pass between parts than registers hold.
pub const DVT_REASON_TOO_MANY_VALUES: u32 = 2;
/// `reason`: a descriptor stands where the part's code cannot reach it.
pub const DVT_REASON_RESOURCE_LAYOUT: u32 = 3;
/// `reason`: a state item has no linkable form.
pub const DVT_REASON_STATE: u32 = 4;
/// `reason`: the parts do not fit together.
pub const DVT_REASON_MISMATCH: u32 = 5;

/// `kind` of an event: a shader's part was found, or has failed.
pub const DVT_EVENT_SHADER: u32 = 0;
/// `kind` of an event: a pipeline has a new generation, or has failed.
pub const DVT_EVENT_PIPELINE: u32 = 1;
/// `kind` of an event: the service was reached, or cannot be any more.
pub const DVT_EVENT_SERVICE: u32 = 2;

/// Tables, cache, events. Any thread.
pub struct ContextHandle(pub(super) runtime::Context);
/// Descriptor sets and push constants. Any thread; of no context.
pub struct LayoutHandle(pub(super) runtime::Layout);
/// A shader. Any thread.
pub struct ShaderHandle(pub(super) runtime::Shader);
/// A pipeline. Any thread.
pub struct PipelineHandle(pub(super) runtime::Pipeline);

/// 256 bits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Key {
    /// The bytes.
    pub b: [u8; 32],
}

/// For `dvt_context_create`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ContextInfo {
    /// `sizeof` at the caller.
    pub size: u32,
    /// `DVT_CONTEXT_…`.
    pub flags: u32,
    /// Folder of a cache; it is only read, and need not be there yet. NULL: memory alone. Any bytes but 0.
    pub cache_dir: *const u8,
    /// Bytes of it.
    pub cache_dir_bytes: usize,
    /// `DVT_TARGET_…`.
    pub target: u32,
    /// MiB of parts in memory past which those that no shader holds are dropped. 0: 64.
    pub max_memory_mib: u32,
    /// Socket of a service that compiles what is missing; it need not be there yet. NULL: none. Any bytes but 0.
    pub socket: *const u8,
    /// Bytes of it.
    pub socket_bytes: usize,
    /// A name for people, such as the game's, UTF-8; the service shows it.
    pub app: *const u8,
    /// Bytes of it.
    pub app_bytes: usize,
    /// With `DVT_CONTEXT_SOCKET_FD`: a Unix stream socket that is connected to a service, for a process that cannot reach `socket`. It
    /// is duplicated; the connection is the context's from then on. `socket`, if given, is tried when it breaks.
    pub socket_fd: i32,
    /// 0.
    pub reserved: u32,
}

/// Counters since the context was made.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Stats {
    /// `sizeof` at the caller.
    pub size: u32,
    /// 0.
    pub flags: u32,
    /// Pipelines linked.
    pub links: u64,
    /// Pipelines taken whole.
    pub wholes: u64,
    /// Links that asked for a whole compile which the cache has not.
    pub needs_full_compile: u64,
    /// Parts found in memory.
    pub memory_hits: u64,
    /// Parts found on the disk.
    pub disk_hits: u64,
    /// Parts found nowhere, each time they were looked for.
    pub misses: u64,
    /// Entries on the disk that were damaged.
    pub bad: u64,
    /// Bytes of ELFs whose parts are in memory.
    pub memory_bytes: u64,
    /// Parts and pipelines that the service was asked for.
    pub asked: u64,
    /// Requests that the service answered.
    pub answered: u64,
    /// Requests that the service will not answer.
    pub failed: u64,
    /// Pipelines that were replaced by better ones.
    pub optimized: u64,
    /// `DVT_SERVICE_…`; `dvt_context_service` has it in words.
    pub service: u32,
    /// 0.
    pub reserved: u32,
    /// Parts taken by `dvt_context_import`.
    pub imported: u64,
    /// Parts of imports for which `max_memory_mib` had no room.
    pub left_out: u64,
    /// Imports that were refused.
    pub imports_refused: u64,
}

/// An event.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    /// `sizeof` at the caller.
    pub size: u32,
    /// `DVT_EVENT_…`.
    pub kind: u32,
    /// `user` of the object.
    pub user: u64,
    /// The pipeline's generation; 1 for a service that was reached.
    pub generation: u32,
    /// `DVT_OK`, or why it failed or cannot be reached.
    pub result: i32,
}

/// One binding of a set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Binding {
    /// Binding number.
    pub binding: u32,
    /// `VkDescriptorType`. The dynamic ones stand in the root table.
    pub descriptor_type: u32,
    /// Array length.
    pub count: u32,
    /// Byte offset in the set's table (root dword for a dynamic buffer), or `DVT_AUTO`.
    pub offset: u32,
    /// For `VK_DESCRIPTOR_TYPE_MUTABLE_EXT`, the types it may be of.
    pub mutable_types: *const u32,
    /// How many.
    pub mutable_count: u32,
    /// 0.
    pub reserved: u32,
}

/// One descriptor set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Set {
    /// Set number.
    pub set: u32,
    /// Root dword of the pointer to its table, or `DVT_AUTO`.
    pub root: u32,
    /// Its bindings, in any order.
    pub bindings: *const Binding,
    /// How many.
    pub binding_count: u32,
    /// 0.
    pub reserved: u32,
}

/// A sampler that the layout fixes, with the conversion from Y'CBCR that it asks for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sampler {
    /// Set number.
    pub set: u32,
    /// Binding number.
    pub binding: u32,
    /// Array element.
    pub element: u32,
    /// The descriptor.
    pub words: [u32; 4],
    /// `VkFormat` of the conversion; 0: it converts nothing, and what follows is 0.
    pub format: u32,
    /// `VkSamplerYcbcrModelConversion`.
    pub model: u32,
    /// `VkSamplerYcbcrRange`.
    pub range: u32,
    /// `VkComponentSwizzle` of red, green, blue and alpha.
    pub components: [u32; 4],
    /// `VkChromaLocation` in x.
    pub x_chroma_offset: u32,
    /// `VkChromaLocation` in y.
    pub y_chroma_offset: u32,
    /// `VkFilter`.
    pub chroma_filter: u32,
    /// `VkBool32`.
    pub explicit_reconstruction: u32,
    /// 0.
    pub reserved: u32,
}

/// For `dvt_layout_create`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LayoutInfo {
    /// `sizeof` at the caller.
    pub size: u32,
    /// 0.
    pub flags: u32,
    /// Sets, in any order.
    pub sets: *const Set,
    /// How many.
    pub set_count: u32,
    /// Bytes of push constants.
    pub push_constant_bytes: u32,
    /// Root dword where they start, or `DVT_AUTO`.
    pub push_constant_root: u32,
    /// 0.
    pub reserved: u32,
    /// Immutable samplers, in any order: of a binding that has any, one for each element.
    pub samplers: *const Sampler,
    /// How many.
    pub sampler_count: u32,
    /// 0.
    pub samplers_reserved: u32,
}

/// A specialization value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Spec {
    /// `SpecId`.
    pub id: u32,
    /// 0.
    pub reserved: u32,
    /// Bits: integers in two's complement, floats as IEEE bits, booleans 0 or 1.
    pub value: u64,
}

/// For `dvt_shader_create`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ShaderInfo {
    /// `sizeof` at the caller.
    pub size: u32,
    /// `DVT_SHADER_…`.
    pub flags: u32,
    /// SPIR-V; it is copied only where there is a service. NULL: `digest` stands for it.
    pub code: *const u32,
    /// Bytes of it.
    pub code_bytes: usize,
    /// BLAKE3 of the SPIR-V's bytes, where `code` is NULL. Then `spec` may only have ids that the module has, and `wave` has to
    /// be given for a module that looks at its subgroup.
    pub digest: Key,
    /// Name of the entry point, UTF-8. NULL: `main`.
    pub entry: *const u8,
    /// Bytes of it.
    pub entry_bytes: usize,
    /// Specialization values. Ids that the module has not are left out.
    pub spec: *const Spec,
    /// How many.
    pub spec_count: u32,
    /// `VkShaderStageFlagBits`: 1, 16 or 32.
    pub stage: u32,
    /// Lanes of a wave, 32 or 64; 0: as `dovetail populate` chooses.
    pub wave: u32,
    /// How soon a service should compile it. 0: before it is needed; more: as if a thread waited for it.
    pub priority: u32,
    /// Yours: events have it.
    pub user: u64,
}

/// Where a shader stands.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ShaderStatus {
    /// `sizeof` at the caller.
    pub size: u32,
    /// `DVT_STATE_…`.
    pub state: u32,
    /// Why it failed, or `DVT_OK`.
    pub error: i32,
    /// 0.
    pub reserved: u32,
}

/// A vertex buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct VertexBinding {
    /// Binding number.
    pub binding: u32,
    /// Bytes from one element to the next.
    pub stride: u32,
    /// `VkVertexInputRate`: 0 per vertex, 1 per instance.
    pub rate: u32,
    /// Instances per element, 0: the first element for all; 1 where `rate` is 0.
    pub divisor: u32,
}

/// A vertex attribute.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct VertexAttribute {
    /// Location in the shader.
    pub location: u32,
    /// Binding it is read from.
    pub binding: u32,
    /// `VkFormat`.
    pub format: u32,
    /// Byte offset in the element.
    pub offset: u32,
}

/// A colour attachment.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ColorAttachment {
    /// Location of the fragment output.
    pub location: u32,
    /// `VkFormat`.
    pub format: u32,
    /// Channels written: 1 r, 2 g, 4 b, 8 a.
    pub write_mask: u32,
    /// `DVT_ATTACHMENT_…`.
    pub flags: u32,
}

/// For `dvt_pipeline_create` and `dvt_pipeline_link_into`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PipelineInfo {
    /// `sizeof` at the caller.
    pub size: u32,
    /// `DVT_PIPELINE_…`.
    pub flags: u32,
    /// Vertex, or vertex and fragment, or compute.
    pub shaders: *const *const ShaderHandle,
    /// Descriptors and push constants. NULL: none.
    pub layout: *const LayoutHandle,
    /// Vertex buffers.
    pub vertex_bindings: *const VertexBinding,
    /// Vertex attributes.
    pub vertex_attributes: *const VertexAttribute,
    /// Colour attachments.
    pub attachments: *const ColorAttachment,
    /// How many shaders.
    pub shader_count: u32,
    /// How many vertex buffers.
    pub vertex_binding_count: u32,
    /// How many attributes.
    pub vertex_attribute_count: u32,
    /// How many attachments.
    pub attachment_count: u32,
    /// Samples of the attachments, 0: 1.
    pub samples: u32,
    /// `DVT_COLOR_…`.
    pub color_flags: u32,
    /// `DVT_RASTER_…`.
    pub raster_flags: u32,
    /// User clip planes, bits 0 to 5.
    pub clip_plane_mask: u32,
    /// Views (multiview), 0: none.
    pub view_mask: u32,
    /// Index of the device in a group.
    pub device_index: u32,
    /// `DVT_PLACEMENT_…`.
    pub placement: u32,
    /// How soon a service should compile what is missing, as of a shader.
    pub priority: u32,
    /// Yours: events have it.
    pub user: u64,
}

/// Where a pipeline stands.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PipelineStatus {
    /// `sizeof` at the caller.
    pub size: u32,
    /// `DVT_STATE_…`.
    pub state: u32,
    /// 0 no ELF, 1 linked or whole, 2 replaced by better code.
    pub generation: u32,
    /// `DVT_ROUTE_…`.
    pub route: u32,
    /// `DVT_REASON_…`: why it needs a whole compile, or was taken whole.
    pub reason: u32,
    /// Why it failed, or `DVT_OK`.
    pub error: i32,
    /// Bytes of the ELF.
    pub bytes: u64,
    /// Draws that `dvt_pipeline_used` has told of.
    pub used: u64,
    /// `DVT_OPTIMIZATION_…`.
    pub optimization: u32,
    /// 0.
    pub reserved: u32,
}
