//! Constants, result codes, handles and structs of the C header, in the header's order.

use dovetail_runtime as runtime;

/// Version of this interface, not of the library. While it is unchanged, no declared name changes its meaning. Structs only grow
/// at their end; the `size` that the caller sets says which fields it knows.
pub const DVT_ABI_VERSION: u32 = 1;

/// Success.
pub const DVT_OK: i32 = 0;
/// The result is not available yet: a service is working on it, or it is not in memory and the flags forbid the disk.
pub const DVT_PENDING: i32 = 1;
/// A part is not in the cache, and no service that may compile it can be reached; or nothing will produce the awaited generation.
/// Fall back to the driver's own compiler, or to what there is.
pub const DVT_NOT_CACHED: i32 = 2;
/// The parts cannot be linked with this state, the cache does not hold the pipeline compiled as a whole, and no service that may
/// compile it can be reached. Fall back to the driver's own compiler.
pub const DVT_NEEDS_FULL_COMPILE: i32 = 3;
/// The wait timed out; the object is still pending.
pub const DVT_TIMEOUT: i32 = 4;
/// The caller's buffer is too small. `*size` is the required size; nothing was written.
pub const DVT_INCOMPLETE: i32 = 5;
/// The event queue is empty.
pub const DVT_EMPTY: i32 = 6;
/// The input violates its format.
pub const DVT_E_MALFORMED: i32 = -2;
/// The input is valid, but this library does not support it.
pub const DVT_E_UNSUPPORTED: i32 = -3;
/// A file or system call failed, or the context was created before a fork.
pub const DVT_E_ENVIRONMENT: i32 = -5;
/// An argument is invalid: NULL, misaligned, an impossible size, or an unknown flag.
pub const DVT_E_ARGUMENT: i32 = -6;
/// A large allocation failed. (A failed small allocation aborts the process.)
pub const DVT_E_MEMORY: i32 = -7;
/// Internal error of the library. The object is unusable; all others keep working.
pub const DVT_E_BUG: i32 = -70;
/// A compiler process of the service crashed on this shader.
pub const DVT_E_QUARANTINED: i32 = -71;

/// `target`: the GPU, here gfx1010. The value is EF_AMDGPU_MACH in the `e_flags` of its ELFs. `dvt_target` gives it for a
/// version of the graphics core.
pub const DVT_TARGET_GFX1010: u32 = 0x33;
/// The same for gfx1011.
pub const DVT_TARGET_GFX1011: u32 = 0x34;
/// The same for gfx1012.
pub const DVT_TARGET_GFX1012: u32 = 0x35;
/// The same for gfx1013.
pub const DVT_TARGET_GFX1013: u32 = 0x42;
/// The same for gfx1030.
pub const DVT_TARGET_GFX1030: u32 = 0x36;
/// The same for gfx1031.
pub const DVT_TARGET_GFX1031: u32 = 0x37;
/// The same for gfx1032.
pub const DVT_TARGET_GFX1032: u32 = 0x38;
/// The same for gfx1033.
pub const DVT_TARGET_GFX1033: u32 = 0x39;
/// The same for gfx1034.
pub const DVT_TARGET_GFX1034: u32 = 0x3e;
/// The same for gfx1035.
pub const DVT_TARGET_GFX1035: u32 = 0x3d;
/// The same for gfx1036.
pub const DVT_TARGET_GFX1036: u32 = 0x45;
/// The same for gfx1100.
pub const DVT_TARGET_GFX1100: u32 = 0x41;
/// The same for gfx1101.
pub const DVT_TARGET_GFX1101: u32 = 0x46;
/// The same for gfx1102.
pub const DVT_TARGET_GFX1102: u32 = 0x47;
/// The same for gfx1103.
pub const DVT_TARGET_GFX1103: u32 = 0x44;
/// The same for gfx1150.
pub const DVT_TARGET_GFX1150: u32 = 0x43;
/// The same for gfx1151.
pub const DVT_TARGET_GFX1151: u32 = 0x4a;
/// The same for gfx1152.
pub const DVT_TARGET_GFX1152: u32 = 0x55;
/// The same for gfx1153.
pub const DVT_TARGET_GFX1153: u32 = 0x58;
/// The same for gfx1200.
pub const DVT_TARGET_GFX1200: u32 = 0x48;
/// The same for gfx1201.
pub const DVT_TARGET_GFX1201: u32 = 0x4e;

/// `root`, `offset`, `push_constant_root`: the library chooses, by the rules in docs/state.md.
pub const DVT_AUTO: u32 = 0xffff_ffff;

/// Context flag: `socket_fd` is valid.
pub const DVT_CONTEXT_SOCKET_FD: u32 = 1;
/// Context flag: parts can be exported. The context keeps their ELFs, which doubles the memory for parts.
pub const DVT_CONTEXT_EXPORT: u32 = 2;

/// Shader flag: the call looks in memory only. With a service, the context's thread looks on the disk.
pub const DVT_SHADER_NO_DISK: u32 = 1;
/// Shader flag: never compile this shader.
pub const DVT_SHADER_FAIL_ON_COMPILE: u32 = 2;

/// Pipeline flag: never compile anything for this pipeline.
pub const DVT_PIPELINE_FAIL_ON_COMPILE: u32 = 1;
/// Pipeline flag: the call looks in memory only. With a service, the context's thread looks on the disk.
pub const DVT_PIPELINE_NO_DISK: u32 = 2;
/// Pipeline flag: use the pipeline compiled as a whole if the cache has it, else link.
pub const DVT_PIPELINE_PREFER_OPTIMIZED: u32 = 4;
/// Pipeline flag: no compile in the background. Without a service there is none anyway.
pub const DVT_PIPELINE_NO_OPTIMIZE: u32 = 8;
/// Pipeline flag: only accept the pipeline compiled as a whole; do not link.
pub const DVT_PIPELINE_LINK_TIME_OPTIMIZATION: u32 = 16;
/// Pipeline flag: write metadata 3.0 (register fields by name) instead of 2.6. Drivers of gfx1100 and later GPUs read
/// 3.0; GPUs from gfx12 on get it without this flag.
pub const DVT_PIPELINE_NAMED_METADATA: u32 = 32;
/// Pipeline flag: `dvt_pipeline_read` returns the ELF of each generation once and drops the library's copy.
pub const DVT_PIPELINE_READ_ONCE: u32 = 64;

/// `color_flags`: alpha to coverage, from the alpha of location 0.
pub const DVT_COLOR_ALPHA_TO_COVERAGE: u32 = 1;
/// `color_flags`: dual-source blending.
pub const DVT_COLOR_DUAL_SOURCE: u32 = 2;
/// `color_flags`: sample shading; the fragment shader runs once per sample.
pub const DVT_COLOR_SAMPLE_SHADING: u32 = 4;
/// `color_flags`: alpha to one. Invalid together with `DVT_COLOR_ALPHA_TO_COVERAGE`.
pub const DVT_COLOR_ALPHA_TO_ONE: u32 = 8;

/// `flags` of an attachment: blending is enabled.
pub const DVT_ATTACHMENT_BLEND: u32 = 1;
/// `flags` of an attachment: a colour blend factor uses the source alpha.
pub const DVT_ATTACHMENT_BLEND_SOURCE_ALPHA: u32 = 2;

/// `raster_flags`: rasterizer discard.
pub const DVT_RASTER_DISCARD: u32 = 1;
/// `raster_flags`: the coverage passed to the fragment shader is inner coverage (pixel fully covered).
pub const DVT_RASTER_INNER_COVERAGE: u32 = 2;
/// `raster_flags`: the topology is points. Without this and `DVT_RASTER_LINES` it is triangles.
pub const DVT_RASTER_POINTS: u32 = 4;
/// `raster_flags`: the topology is lines. Only barycentric coordinates depend on it.
pub const DVT_RASTER_LINES: u32 = 8;
/// `raster_flags`: the vertex shader runs as a primitive shader (NGG), if it does not read the primitive id.
pub const DVT_RASTER_NGG: u32 = 16;

/// `placement`: parts that execute in sequence are laid out in sequence.
pub const DVT_PLACEMENT_ADJACENT: u32 = 0;
/// `placement`: branches connect the parts.
pub const DVT_PLACEMENT_CHAINED: u32 = 1;

/// `state`: not looked up on the disk yet, or requested from the service.
pub const DVT_STATE_PENDING: u32 = 0;
/// `state`: a part is not in the cache and no service can be reached.
pub const DVT_STATE_NOT_CACHED: u32 = 1;
/// `state` of a pipeline: it must be compiled as a whole; `reason` says why.
pub const DVT_STATE_NEEDS_FULL_COMPILE: u32 = 2;
/// `state`: ready.
pub const DVT_STATE_READY: u32 = 3;
/// `state`: failed for good; `error` and `dvt_pipeline_reason` say why.
pub const DVT_STATE_FAILED: u32 = 4;

/// `route`: no ELF.
pub const DVT_ROUTE_NONE: u32 = 0;
/// `route`: linked.
pub const DVT_ROUTE_LINKED: u32 = 1;
/// `route`: compiled as a whole, by the program that filled the cache or by the service.
pub const DVT_ROUTE_WHOLE: u32 = 2;
/// `route`: linked first, then replaced by the pipeline that the service compiled as a whole.
pub const DVT_ROUTE_OPTIMIZED: u32 = 3;

/// `optimization`: no better code was requested from the service.
pub const DVT_OPTIMIZATION_NONE: u32 = 0;
/// `optimization`: requested; the service schedules the compile by how much the pipeline is used.
pub const DVT_OPTIMIZATION_OFFERED: u32 = 1;
/// `optimization`: better code was found and is generation 2.
pub const DVT_OPTIMIZATION_TAKEN: u32 = 2;
/// `optimization`: the linked pipeline is as good and stays.
pub const DVT_OPTIMIZATION_KEPT: u32 = 3;
/// `optimization`: the compile failed; the linked pipeline stays.
pub const DVT_OPTIMIZATION_FAILED: u32 = 4;

/// `service`: the context has no service.
pub const DVT_SERVICE_NONE: u32 = 0;
/// `service`: nothing was requested yet.
pub const DVT_SERVICE_IDLE: u32 = 1;
/// `service`: connecting or reconnecting. Requests are queued.
pub const DVT_SERVICE_CONNECTING: u32 = 2;
/// `service`: connected.
pub const DVT_SERVICE_CONNECTED: u32 = 3;
/// `service`: unreachable; the context retries periodically.
pub const DVT_SERVICE_AWAY: u32 = 4;

/// `reason`: the pipeline can be linked, or linking was not tried.
pub const DVT_REASON_NONE: u32 = 0;
/// `reason`: a specialization constant that was compiled into the code has another value.
pub const DVT_REASON_SPECIALIZATION: u32 = 1;
/// `reason`: more values pass between the parts than registers can hold.
pub const DVT_REASON_TOO_MANY_VALUES: u32 = 2;
/// `reason`: a descriptor is placed where the compiled code cannot reach it.
pub const DVT_REASON_RESOURCE_LAYOUT: u32 = 3;
/// `reason`: the pipeline state has an item that linking does not support.
pub const DVT_REASON_STATE: u32 = 4;
/// `reason`: the interfaces of the parts do not match.
pub const DVT_REASON_MISMATCH: u32 = 5;

/// `kind` of an event: a shader's part was found or failed, or nobody will compile it.
pub const DVT_EVENT_SHADER: u32 = 0;
/// `kind` of an event: a pipeline has a new generation or failed, or nobody will compile it.
pub const DVT_EVENT_PIPELINE: u32 = 1;
/// `kind` of an event: the service became reachable or unreachable.
pub const DVT_EVENT_SERVICE: u32 = 2;

/// Context: part tables, cache, events. Thread-safe.
pub struct ContextHandle(pub(super) runtime::Context);
/// Layout: descriptor sets and push constants. Thread-safe; not tied to a context.
pub struct LayoutHandle(pub(super) runtime::Layout);
/// Shader. Its part is the cached unlinked ELF of one entry point. Thread-safe.
pub struct ShaderHandle(pub(super) runtime::Shader);
/// Pipeline. Thread-safe.
pub struct PipelineHandle(pub(super) runtime::Pipeline);

/// A 256-bit key.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Key {
    /// Bytes of the key.
    pub b: [u8; 32],
}

/// Parameters of `dvt_context_create`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ContextInfo {
    /// Set to `sizeof`.
    pub size: u32,
    /// `DVT_CONTEXT_…`.
    pub flags: u32,
    /// Cache directory, a path without NUL bytes. It is only read and need not exist yet. A relative path is that of the moment
    /// of the call. NULL: no cache on disk.
    pub cache_dir: *const u8,
    /// Length of `cache_dir` in bytes.
    pub cache_dir_bytes: usize,
    /// `DVT_TARGET_…`.
    pub target: u32,
    /// Limit in MiB for parts kept in memory; above it, parts that no shader holds are dropped. 0: 64.
    pub max_memory_mib: u32,
    /// Path of the socket of a compile service, without NUL bytes. The service need not run yet. NULL: no service.
    pub socket: *const u8,
    /// Length of `socket` in bytes.
    pub socket_bytes: usize,
    /// Application name in UTF-8, displayed by the service.
    pub app: *const u8,
    /// Length of `app` in bytes.
    pub app_bytes: usize,
    /// With `DVT_CONTEXT_SOCKET_FD`: a Unix stream socket already connected to a service, for a process that cannot open
    /// `socket`. The library duplicates the descriptor and then owns the connection. If the connection breaks, the context
    /// connects to `socket` if it is set.
    pub socket_fd: i32,
    /// Must be 0.
    pub reserved: u32,
}

/// Counters since the context was created.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Stats {
    /// Set to `sizeof`.
    pub size: u32,
    /// 0.
    pub flags: u32,
    /// Pipelines linked.
    pub links: u64,
    /// Pipelines taken from the cache, compiled as a whole.
    pub wholes: u64,
    /// Links that needed a whole-pipeline compile that was not in the cache.
    pub needs_full_compile: u64,
    /// Parts found in memory.
    pub memory_hits: u64,
    /// Parts found on the disk.
    pub disk_hits: u64,
    /// Failed lookups of parts.
    pub misses: u64,
    /// Damaged cache entries found on the disk, and lookups that could not read the cache at all.
    pub bad: u64,
    /// Bytes of ELFs whose parts are in memory.
    pub memory_bytes: u64,
    /// Parts and pipelines requested from the service.
    pub asked: u64,
    /// Requests the service answered.
    pub answered: u64,
    /// Requests that failed for good.
    pub failed: u64,
    /// Pipelines replaced by better code.
    pub optimized: u64,
    /// `DVT_SERVICE_…`; see also `dvt_context_service`.
    pub service: u32,
    /// 0.
    pub reserved: u32,
    /// Parts imported by `dvt_context_import`.
    pub imported: u64,
    /// Parts left out of imports because of `max_memory_mib`.
    pub left_out: u64,
    /// Rejected imports.
    pub imports_refused: u64,
    /// Events that were dropped because more than 65,536 were not taken.
    pub events_dropped: u64,
}

/// An event.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    /// Set to `sizeof`.
    pub size: u32,
    /// `DVT_EVENT_…`.
    pub kind: u32,
    /// `user` of the object.
    pub user: u64,
    /// Generation of the pipeline; for a service event, 1 if it is reachable, else 0.
    pub generation: u32,
    /// `DVT_OK`; the error of the shader, the pipeline or the connection; or `DVT_NOT_CACHED` or `DVT_NEEDS_FULL_COMPILE`: it
    /// was pending and no longer is.
    pub result: i32,
}

/// One binding of a descriptor set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Binding {
    /// Binding number.
    pub binding: u32,
    /// `VkDescriptorType`. Descriptors of dynamic buffers are placed in the root table.
    pub descriptor_type: u32,
    /// Array length.
    pub count: u32,
    /// Byte offset in the set's table (for a dynamic buffer, root dword), or `DVT_AUTO`.
    pub offset: u32,
    /// Allowed types of a `VK_DESCRIPTOR_TYPE_MUTABLE_EXT` binding.
    pub mutable_types: *const u32,
    /// Number of `mutable_types`.
    pub mutable_count: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// One descriptor set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Set {
    /// Set number.
    pub set: u32,
    /// Root dword that holds the pointer to the set's table, or `DVT_AUTO`.
    pub root: u32,
    /// Bindings, in any order.
    pub bindings: *const Binding,
    /// Number of `bindings`.
    pub binding_count: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// An immutable sampler, with its Y'CBCR conversion if it has one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sampler {
    /// Set number.
    pub set: u32,
    /// Binding number.
    pub binding: u32,
    /// Array element.
    pub element: u32,
    /// Sampler descriptor.
    pub words: [u32; 4],
    /// `VkFormat` of the conversion. 0: no conversion; the fields below must be 0.
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
    /// Must be 0.
    pub reserved: u32,
}

/// Parameters of `dvt_layout_create`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LayoutInfo {
    /// Set to `sizeof`.
    pub size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Descriptor sets, in any order.
    pub sets: *const Set,
    /// Number of `sets`.
    pub set_count: u32,
    /// Size of the push constants in bytes.
    pub push_constant_bytes: u32,
    /// Root dword where the push constants start, or `DVT_AUTO`.
    pub push_constant_root: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Immutable samplers, in any order. A binding that has any needs one for each array element.
    pub samplers: *const Sampler,
    /// Number of `samplers`.
    pub sampler_count: u32,
    /// Must be 0.
    pub samplers_reserved: u32,
}

/// A specialization constant's value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Spec {
    /// `SpecId`.
    pub id: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Value: integers in two's complement, floats as IEEE bits, booleans as 0 or 1. No bit beyond the constant's width may be
    /// set: -1 of 32 bits is `0xffffffff`.
    pub value: u64,
}

/// Parameters of `dvt_shader_create`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ShaderInfo {
    /// Set to `sizeof`.
    pub size: u32,
    /// `DVT_SHADER_…`.
    pub flags: u32,
    /// SPIR-V module. Copied only if the context has a service. NULL: `digest` identifies the module.
    pub code: *const u32,
    /// Size of `code` in bytes; 0 if it is NULL.
    pub code_bytes: usize,
    /// If `code` is NULL: BLAKE3 of the SPIR-V bytes. Then every id in `spec` must exist in the module, and `wave` must be set if
    /// the module uses subgroup operations or built-ins.
    pub digest: Key,
    /// Name of the entry point, UTF-8. NULL: `main`.
    pub entry: *const u8,
    /// Length of `entry` in bytes; 0 if it is NULL.
    pub entry_bytes: usize,
    /// Specialization values. Ids that are not in the module are ignored.
    pub spec: *const Spec,
    /// Number of `spec` values.
    pub spec_count: u32,
    /// `VkShaderStageFlagBits`: 1 (vertex), 16 (fragment) or 32 (compute).
    pub stage: u32,
    /// Lanes per wave, 32 or 64. 0: the choice of `dovetail populate`.
    pub wave: u32,
    /// Compile priority at the service. 0: needed soon; above 0: as urgent as if a thread were waiting.
    pub priority: u32,
    /// User data, returned in events.
    pub user: u64,
}

/// Status of a shader.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ShaderStatus {
    /// Set to `sizeof`.
    pub size: u32,
    /// `DVT_STATE_…`.
    pub state: u32,
    /// Error code if it failed, else `DVT_OK`.
    pub error: i32,
    /// 0.
    pub reserved: u32,
}

/// A vertex buffer binding.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct VertexBinding {
    /// Binding number.
    pub binding: u32,
    /// Stride in bytes.
    pub stride: u32,
    /// `VkVertexInputRate`: 0 per vertex, 1 per instance.
    pub rate: u32,
    /// Instances per element; 0: all instances read the first element. Must be 1 if `rate` is 0.
    pub divisor: u32,
}

/// A vertex attribute.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct VertexAttribute {
    /// Shader location.
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
    /// Channels written: 1 R, 2 G, 4 B, 8 A.
    pub write_mask: u32,
    /// `DVT_ATTACHMENT_…`.
    pub flags: u32,
}

/// Parameters of `dvt_pipeline_create` and `dvt_pipeline_link_into`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PipelineInfo {
    /// Set to `sizeof`.
    pub size: u32,
    /// `DVT_PIPELINE_…`.
    pub flags: u32,
    /// A vertex shader, a vertex and a fragment shader, or a compute shader.
    pub shaders: *const *const ShaderHandle,
    /// Descriptor sets and push constants. NULL: none.
    pub layout: *const LayoutHandle,
    /// Vertex buffers.
    pub vertex_bindings: *const VertexBinding,
    /// Vertex attributes.
    pub vertex_attributes: *const VertexAttribute,
    /// Colour attachments.
    pub attachments: *const ColorAttachment,
    /// Number of `shaders`.
    pub shader_count: u32,
    /// Number of `vertex_bindings`.
    pub vertex_binding_count: u32,
    /// Number of `vertex_attributes`.
    pub vertex_attribute_count: u32,
    /// Number of `attachments`.
    pub attachment_count: u32,
    /// Samples per pixel of the attachments. 0: 1.
    pub samples: u32,
    /// `DVT_COLOR_…`.
    pub color_flags: u32,
    /// `DVT_RASTER_…`.
    pub raster_flags: u32,
    /// Enabled user clip planes, bits 0 to 5.
    pub clip_plane_mask: u32,
    /// Multiview view mask. 0: no multiview.
    pub view_mask: u32,
    /// Device index in a device group.
    pub device_index: u32,
    /// `DVT_PLACEMENT_…`.
    pub placement: u32,
    /// Compile priority at the service, as in `dvt_shader_info`.
    pub priority: u32,
    /// User data, returned in events.
    pub user: u64,
}

/// Status of a pipeline.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PipelineStatus {
    /// Set to `sizeof`.
    pub size: u32,
    /// `DVT_STATE_…`.
    pub state: u32,
    /// 0: no ELF; 1: linked, or compiled as a whole; 2: replaced by better code.
    pub generation: u32,
    /// `DVT_ROUTE_…`.
    pub route: u32,
    /// `DVT_REASON_…`: why the pipeline needs, or got, a whole-pipeline compile.
    pub reason: u32,
    /// Error code if it failed, else `DVT_OK`.
    pub error: i32,
    /// Size of the ELF in bytes.
    pub bytes: u64,
    /// Draws reported by `dvt_pipeline_used`.
    pub used: u64,
    /// `DVT_OPTIMIZATION_…`.
    pub optimization: u32,
    /// 0.
    pub reserved: u32,
}
