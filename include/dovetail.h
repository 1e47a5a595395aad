/* dovetail.h: links pipelines of cached shaders for AMD GPUs. Manual: docs/capi.md.
 *
 * Every info struct begins with `size` (set it to sizeof) and `flags`. Unknown flags, NULL or misaligned pointers and impossible
 * sizes return DVT_E_ARGUMENT. Formats, stages, rates and descriptor types are Vulkan's enumerants. All functions are
 * thread-safe, but destroying a handle must be its last use. No function blocks on anything but the disk, except those with
 * `wait` in their name.
 *
 * A part is a shader compiled to an unlinked ELF, as the cache keeps it. Compiled as a whole means that the compiler knew all
 * stages and the complete pipeline state. */

#ifndef DOVETAIL_H
#define DOVETAIL_H

#include <stddef.h>
#include <stdint.h>

// Version of this interface, not of the library. While it is unchanged, no declared name changes its meaning. Structs only grow
// at their end; the `size` that the caller sets says which fields it knows.
#define DVT_ABI_VERSION 1

// Success.
#define DVT_OK 0

// The result is not available yet: a service is working on it, or it is not in memory and the flags forbid the disk.
#define DVT_PENDING 1

// A part is not in the cache, and no service that may compile it can be reached; or nothing will produce the awaited generation.
// Fall back to the driver's own compiler, or to what there is.
#define DVT_NOT_CACHED 2

// The parts cannot be linked with this state, the cache does not hold the pipeline compiled as a whole, and no service that may
// compile it can be reached. Fall back to the driver's own compiler.
#define DVT_NEEDS_FULL_COMPILE 3

// The wait timed out; the object is still pending.
#define DVT_TIMEOUT 4

// The caller's buffer is too small. `*size` is the required size; nothing was written.
#define DVT_INCOMPLETE 5

// The event queue is empty.
#define DVT_EMPTY 6

// The input violates its format.
#define DVT_E_MALFORMED -2

// The input is valid, but this library does not support it.
#define DVT_E_UNSUPPORTED -3

// A file or system call failed, or the context was created before a fork.
#define DVT_E_ENVIRONMENT -5

// An argument is invalid: NULL, misaligned, an impossible size, or an unknown flag.
#define DVT_E_ARGUMENT -6

// A large allocation failed. (A failed small allocation aborts the process.)
#define DVT_E_MEMORY -7

// Internal error of the library. The object is unusable; all others keep working.
#define DVT_E_BUG -70

// A compiler process of the service crashed on this shader.
#define DVT_E_QUARANTINED -71

// `target`: the GPU, here gfx1010. The value is EF_AMDGPU_MACH in the `e_flags` of its ELFs. `dvt_target` gives it for a
// version of the graphics core.
#define DVT_TARGET_GFX1010 51

// The same for gfx1011.
#define DVT_TARGET_GFX1011 52

// The same for gfx1012.
#define DVT_TARGET_GFX1012 53

// The same for gfx1013.
#define DVT_TARGET_GFX1013 66

// The same for gfx1030.
#define DVT_TARGET_GFX1030 54

// The same for gfx1031.
#define DVT_TARGET_GFX1031 55

// The same for gfx1032.
#define DVT_TARGET_GFX1032 56

// The same for gfx1033.
#define DVT_TARGET_GFX1033 57

// The same for gfx1034.
#define DVT_TARGET_GFX1034 62

// The same for gfx1035.
#define DVT_TARGET_GFX1035 61

// The same for gfx1036.
#define DVT_TARGET_GFX1036 69

// The same for gfx1100.
#define DVT_TARGET_GFX1100 65

// The same for gfx1101.
#define DVT_TARGET_GFX1101 70

// The same for gfx1102.
#define DVT_TARGET_GFX1102 71

// The same for gfx1103.
#define DVT_TARGET_GFX1103 68

// The same for gfx1150.
#define DVT_TARGET_GFX1150 67

// The same for gfx1151.
#define DVT_TARGET_GFX1151 74

// The same for gfx1152.
#define DVT_TARGET_GFX1152 85

// The same for gfx1153.
#define DVT_TARGET_GFX1153 88

// The same for gfx1200.
#define DVT_TARGET_GFX1200 72

// The same for gfx1201.
#define DVT_TARGET_GFX1201 78

// `root`, `offset`, `push_constant_root`: the library chooses, by the rules in docs/state.md.
#define DVT_AUTO 4294967295

// Context flag: `socket_fd` is valid.
#define DVT_CONTEXT_SOCKET_FD 1

// Context flag: parts can be exported. The context keeps their ELFs, which doubles the memory for parts.
#define DVT_CONTEXT_EXPORT 2

// Shader flag: the call looks in memory only. With a service, the context's thread looks on the disk.
#define DVT_SHADER_NO_DISK 1

// Shader flag: never compile this shader.
#define DVT_SHADER_FAIL_ON_COMPILE 2

// Pipeline flag: never compile anything for this pipeline.
#define DVT_PIPELINE_FAIL_ON_COMPILE 1

// Pipeline flag: the call looks in memory only. With a service, the context's thread looks on the disk.
#define DVT_PIPELINE_NO_DISK 2

// Pipeline flag: use the pipeline compiled as a whole if the cache has it, else link.
#define DVT_PIPELINE_PREFER_OPTIMIZED 4

// Pipeline flag: no compile in the background. Without a service there is none anyway.
#define DVT_PIPELINE_NO_OPTIMIZE 8

// Pipeline flag: only accept the pipeline compiled as a whole; do not link.
#define DVT_PIPELINE_LINK_TIME_OPTIMIZATION 16

// Pipeline flag: write metadata 3.0 (register fields by name) instead of 2.6. Drivers of gfx1100 and later GPUs read
// 3.0; GPUs from gfx12 on get it without this flag.
#define DVT_PIPELINE_NAMED_METADATA 32

// Pipeline flag: `dvt_pipeline_read` returns the ELF of each generation once and drops the library's copy.
#define DVT_PIPELINE_READ_ONCE 64

// `color_flags`: alpha to coverage, from the alpha of location 0.
#define DVT_COLOR_ALPHA_TO_COVERAGE 1

// `color_flags`: dual-source blending.
#define DVT_COLOR_DUAL_SOURCE 2

// `color_flags`: sample shading; the fragment shader runs once per sample.
#define DVT_COLOR_SAMPLE_SHADING 4

// `color_flags`: alpha to one. Invalid together with `DVT_COLOR_ALPHA_TO_COVERAGE`.
#define DVT_COLOR_ALPHA_TO_ONE 8

// `flags` of an attachment: blending is enabled.
#define DVT_ATTACHMENT_BLEND 1

// `flags` of an attachment: a colour blend factor uses the source alpha.
#define DVT_ATTACHMENT_BLEND_SOURCE_ALPHA 2

// `raster_flags`: rasterizer discard.
#define DVT_RASTER_DISCARD 1

// `raster_flags`: the coverage passed to the fragment shader is inner coverage (pixel fully covered).
#define DVT_RASTER_INNER_COVERAGE 2

// `raster_flags`: the topology is points. Without this and `DVT_RASTER_LINES` it is triangles.
#define DVT_RASTER_POINTS 4

// `raster_flags`: the topology is lines. Only barycentric coordinates depend on it.
#define DVT_RASTER_LINES 8

// `raster_flags`: the vertex shader runs as a primitive shader (NGG), if it does not read the primitive id.
#define DVT_RASTER_NGG 16

// `placement`: parts that execute in sequence are laid out in sequence.
#define DVT_PLACEMENT_ADJACENT 0

// `placement`: branches connect the parts.
#define DVT_PLACEMENT_CHAINED 1

// `state`: not looked up on the disk yet, or requested from the service.
#define DVT_STATE_PENDING 0

// `state`: a part is not in the cache and no service can be reached.
#define DVT_STATE_NOT_CACHED 1

// `state` of a pipeline: it must be compiled as a whole; `reason` says why.
#define DVT_STATE_NEEDS_FULL_COMPILE 2

// `state`: ready.
#define DVT_STATE_READY 3

// `state`: failed for good; `error` and `dvt_pipeline_reason` say why.
#define DVT_STATE_FAILED 4

// `route`: no ELF.
#define DVT_ROUTE_NONE 0

// `route`: linked.
#define DVT_ROUTE_LINKED 1

// `route`: compiled as a whole, by the program that filled the cache or by the service.
#define DVT_ROUTE_WHOLE 2

// `route`: linked first, then replaced by the pipeline that the service compiled as a whole.
#define DVT_ROUTE_OPTIMIZED 3

// `optimization`: no better code was requested from the service.
#define DVT_OPTIMIZATION_NONE 0

// `optimization`: requested; the service schedules the compile by how much the pipeline is used.
#define DVT_OPTIMIZATION_OFFERED 1

// `optimization`: better code was found and is generation 2.
#define DVT_OPTIMIZATION_TAKEN 2

// `optimization`: the linked pipeline is as good and stays.
#define DVT_OPTIMIZATION_KEPT 3

// `optimization`: the compile failed; the linked pipeline stays.
#define DVT_OPTIMIZATION_FAILED 4

// `service`: the context has no service.
#define DVT_SERVICE_NONE 0

// `service`: nothing was requested yet.
#define DVT_SERVICE_IDLE 1

// `service`: connecting or reconnecting. Requests are queued.
#define DVT_SERVICE_CONNECTING 2

// `service`: connected.
#define DVT_SERVICE_CONNECTED 3

// `service`: unreachable; the context retries periodically.
#define DVT_SERVICE_AWAY 4

// `reason`: the pipeline can be linked, or linking was not tried.
#define DVT_REASON_NONE 0

// `reason`: a specialization constant that was compiled into the code has another value.
#define DVT_REASON_SPECIALIZATION 1

// `reason`: more values pass between the parts than registers can hold.
#define DVT_REASON_TOO_MANY_VALUES 2

// `reason`: a descriptor is placed where the compiled code cannot reach it.
#define DVT_REASON_RESOURCE_LAYOUT 3

// `reason`: the pipeline state has an item that linking does not support.
#define DVT_REASON_STATE 4

// `reason`: the interfaces of the parts do not match.
#define DVT_REASON_MISMATCH 5

// `kind` of an event: a shader's part was found or failed, or nobody will compile it.
#define DVT_EVENT_SHADER 0

// `kind` of an event: a pipeline has a new generation or failed, or nobody will compile it.
#define DVT_EVENT_PIPELINE 1

// `kind` of an event: the service became reachable or unreachable.
#define DVT_EVENT_SERVICE 2

// Context: part tables, cache, events. Thread-safe.
typedef struct dvt_context dvt_context;

// Layout: descriptor sets and push constants. Thread-safe; not tied to a context.
typedef struct dvt_layout dvt_layout;

// Pipeline. Thread-safe.
typedef struct dvt_pipeline dvt_pipeline;

// Shader. Its part is the cached unlinked ELF of one entry point. Thread-safe.
typedef struct dvt_shader dvt_shader;

// Parameters of `dvt_context_create`.
typedef struct dvt_context_info {
  // Set to `sizeof`.
  uint32_t size;
  // `DVT_CONTEXT_…`.
  uint32_t flags;
  // Cache directory, a path without NUL bytes. It is only read and need not exist yet. A relative path is that of the moment
  // of the call. NULL: no cache on disk.
  const uint8_t *cache_dir;
  // Length of `cache_dir` in bytes.
  size_t cache_dir_bytes;
  // `DVT_TARGET_…`.
  uint32_t target;
  // Limit in MiB for parts kept in memory; above it, parts that no shader holds are dropped. 0: 64.
  uint32_t max_memory_mib;
  // Path of the socket of a compile service, without NUL bytes. The service need not run yet. NULL: no service.
  const uint8_t *socket;
  // Length of `socket` in bytes.
  size_t socket_bytes;
  // Application name in UTF-8, displayed by the service.
  const uint8_t *app;
  // Length of `app` in bytes.
  size_t app_bytes;
  // With `DVT_CONTEXT_SOCKET_FD`: a Unix stream socket already connected to a service, for a process that cannot open
  // `socket`. The library duplicates the descriptor and then owns the connection. If the connection breaks, the context
  // connects to `socket` if it is set.
  int32_t socket_fd;
  // Must be 0.
  uint32_t reserved;
} dvt_context_info;

// A 256-bit key.
typedef struct dvt_key {
  // Bytes of the key.
  uint8_t b[32];
} dvt_key;

// Counters since the context was created.
typedef struct dvt_stats {
  // Set to `sizeof`.
  uint32_t size;
  // 0.
  uint32_t flags;
  // Pipelines linked.
  uint64_t links;
  // Pipelines taken from the cache, compiled as a whole.
  uint64_t wholes;
  // Links that needed a whole-pipeline compile that was not in the cache.
  uint64_t needs_full_compile;
  // Parts found in memory.
  uint64_t memory_hits;
  // Parts found on the disk.
  uint64_t disk_hits;
  // Failed lookups of parts.
  uint64_t misses;
  // Damaged cache entries found on the disk, and lookups that could not read the cache at all.
  uint64_t bad;
  // Bytes of ELFs whose parts are in memory.
  uint64_t memory_bytes;
  // Parts and pipelines requested from the service.
  uint64_t asked;
  // Requests the service answered.
  uint64_t answered;
  // Requests that failed for good.
  uint64_t failed;
  // Pipelines replaced by better code.
  uint64_t optimized;
  // `DVT_SERVICE_…`; see also `dvt_context_service`.
  uint32_t service;
  // 0.
  uint32_t reserved;
  // Parts imported by `dvt_context_import`.
  uint64_t imported;
  // Parts left out of imports because of `max_memory_mib`.
  uint64_t left_out;
  // Rejected imports.
  uint64_t imports_refused;
  // Events that were dropped because more than 65,536 were not taken.
  uint64_t events_dropped;
} dvt_stats;

// An event.
typedef struct dvt_event {
  // Set to `sizeof`.
  uint32_t size;
  // `DVT_EVENT_…`.
  uint32_t kind;
  // `user` of the object.
  uint64_t user;
  // Generation of the pipeline; for a service event, 1 if it is reachable, else 0.
  uint32_t generation;
  // `DVT_OK`; the error of the shader, the pipeline or the connection; or `DVT_NOT_CACHED` or `DVT_NEEDS_FULL_COMPILE`: it
  // was pending and no longer is.
  int32_t result;
} dvt_event;

// One binding of a descriptor set.
typedef struct dvt_binding {
  // Binding number.
  uint32_t binding;
  // `VkDescriptorType`. Descriptors of dynamic buffers are placed in the root table.
  uint32_t descriptor_type;
  // Array length.
  uint32_t count;
  // Byte offset in the set's table (for a dynamic buffer, root dword), or `DVT_AUTO`.
  uint32_t offset;
  // Allowed types of a `VK_DESCRIPTOR_TYPE_MUTABLE_EXT` binding.
  const uint32_t *mutable_types;
  // Number of `mutable_types`.
  uint32_t mutable_count;
  // Must be 0.
  uint32_t reserved;
} dvt_binding;

// One descriptor set.
typedef struct dvt_set {
  // Set number.
  uint32_t set;
  // Root dword that holds the pointer to the set's table, or `DVT_AUTO`.
  uint32_t root;
  // Bindings, in any order.
  const struct dvt_binding *bindings;
  // Number of `bindings`.
  uint32_t binding_count;
  // Must be 0.
  uint32_t reserved;
} dvt_set;

// An immutable sampler, with its Y'CBCR conversion if it has one.
typedef struct dvt_sampler {
  // Set number.
  uint32_t set;
  // Binding number.
  uint32_t binding;
  // Array element.
  uint32_t element;
  // Sampler descriptor.
  uint32_t words[4];
  // `VkFormat` of the conversion. 0: no conversion; the fields below must be 0.
  uint32_t format;
  // `VkSamplerYcbcrModelConversion`.
  uint32_t model;
  // `VkSamplerYcbcrRange`.
  uint32_t range;
  // `VkComponentSwizzle` of red, green, blue and alpha.
  uint32_t components[4];
  // `VkChromaLocation` in x.
  uint32_t x_chroma_offset;
  // `VkChromaLocation` in y.
  uint32_t y_chroma_offset;
  // `VkFilter`.
  uint32_t chroma_filter;
  // `VkBool32`.
  uint32_t explicit_reconstruction;
  // Must be 0.
  uint32_t reserved;
} dvt_sampler;

// Parameters of `dvt_layout_create`.
typedef struct dvt_layout_info {
  // Set to `sizeof`.
  uint32_t size;
  // Must be 0.
  uint32_t flags;
  // Descriptor sets, in any order.
  const struct dvt_set *sets;
  // Number of `sets`.
  uint32_t set_count;
  // Size of the push constants in bytes.
  uint32_t push_constant_bytes;
  // Root dword where the push constants start, or `DVT_AUTO`.
  uint32_t push_constant_root;
  // Must be 0.
  uint32_t reserved;
  // Immutable samplers, in any order. A binding that has any needs one for each array element.
  const struct dvt_sampler *samplers;
  // Number of `samplers`.
  uint32_t sampler_count;
  // Must be 0.
  uint32_t samplers_reserved;
} dvt_layout_info;

// A specialization constant's value.
typedef struct dvt_spec {
  // `SpecId`.
  uint32_t id;
  // Must be 0.
  uint32_t reserved;
  // Value: integers in two's complement, floats as IEEE bits, booleans as 0 or 1. No bit beyond the constant's width may be
  // set: -1 of 32 bits is `0xffffffff`.
  uint64_t value;
} dvt_spec;

// Parameters of `dvt_shader_create`.
typedef struct dvt_shader_info {
  // Set to `sizeof`.
  uint32_t size;
  // `DVT_SHADER_…`.
  uint32_t flags;
  // SPIR-V module. Copied only if the context has a service. NULL: `digest` identifies the module.
  const uint32_t *code;
  // Size of `code` in bytes; 0 if it is NULL.
  size_t code_bytes;
  // If `code` is NULL: BLAKE3 of the SPIR-V bytes. Then every id in `spec` must exist in the module, and `wave` must be set if
  // the module uses subgroup operations or built-ins.
  struct dvt_key digest;
  // Name of the entry point, UTF-8. NULL: `main`.
  const uint8_t *entry;
  // Length of `entry` in bytes; 0 if it is NULL.
  size_t entry_bytes;
  // Specialization values. Ids that are not in the module are ignored.
  const struct dvt_spec *spec;
  // Number of `spec` values.
  uint32_t spec_count;
  // `VkShaderStageFlagBits`: 1 (vertex), 16 (fragment) or 32 (compute).
  uint32_t stage;
  // Lanes per wave, 32 or 64. 0: the choice of `dovetail populate`.
  uint32_t wave;
  // Compile priority at the service. 0: needed soon; above 0: as urgent as if a thread were waiting.
  uint32_t priority;
  // User data, returned in events.
  uint64_t user;
} dvt_shader_info;

// Status of a shader.
typedef struct dvt_shader_status_t {
  // Set to `sizeof`.
  uint32_t size;
  // `DVT_STATE_…`.
  uint32_t state;
  // Error code if it failed, else `DVT_OK`.
  int32_t error;
  // 0.
  uint32_t reserved;
} dvt_shader_status_t;

// A vertex buffer binding.
typedef struct dvt_vertex_binding {
  // Binding number.
  uint32_t binding;
  // Stride in bytes.
  uint32_t stride;
  // `VkVertexInputRate`: 0 per vertex, 1 per instance.
  uint32_t rate;
  // Instances per element; 0: all instances read the first element. Must be 1 if `rate` is 0.
  uint32_t divisor;
} dvt_vertex_binding;

// A vertex attribute.
typedef struct dvt_vertex_attribute {
  // Shader location.
  uint32_t location;
  // Binding it is read from.
  uint32_t binding;
  // `VkFormat`.
  uint32_t format;
  // Byte offset in the element.
  uint32_t offset;
} dvt_vertex_attribute;

// A colour attachment.
typedef struct dvt_color_attachment {
  // Location of the fragment output.
  uint32_t location;
  // `VkFormat`.
  uint32_t format;
  // Channels written: 1 R, 2 G, 4 B, 8 A.
  uint32_t write_mask;
  // `DVT_ATTACHMENT_…`.
  uint32_t flags;
} dvt_color_attachment;

// Parameters of `dvt_pipeline_create` and `dvt_pipeline_link_into`.
typedef struct dvt_pipeline_info {
  // Set to `sizeof`.
  uint32_t size;
  // `DVT_PIPELINE_…`.
  uint32_t flags;
  // A vertex shader, a vertex and a fragment shader, or a compute shader.
  const struct dvt_shader *const *shaders;
  // Descriptor sets and push constants. NULL: none.
  const struct dvt_layout *layout;
  // Vertex buffers.
  const struct dvt_vertex_binding *vertex_bindings;
  // Vertex attributes.
  const struct dvt_vertex_attribute *vertex_attributes;
  // Colour attachments.
  const struct dvt_color_attachment *attachments;
  // Number of `shaders`.
  uint32_t shader_count;
  // Number of `vertex_bindings`.
  uint32_t vertex_binding_count;
  // Number of `vertex_attributes`.
  uint32_t vertex_attribute_count;
  // Number of `attachments`.
  uint32_t attachment_count;
  // Samples per pixel of the attachments. 0: 1.
  uint32_t samples;
  // `DVT_COLOR_…`.
  uint32_t color_flags;
  // `DVT_RASTER_…`.
  uint32_t raster_flags;
  // Enabled user clip planes, bits 0 to 5.
  uint32_t clip_plane_mask;
  // Multiview view mask. 0: no multiview.
  uint32_t view_mask;
  // Device index in a device group.
  uint32_t device_index;
  // `DVT_PLACEMENT_…`.
  uint32_t placement;
  // Compile priority at the service, as in `dvt_shader_info`.
  uint32_t priority;
  // User data, returned in events.
  uint64_t user;
} dvt_pipeline_info;

// Status of a pipeline.
typedef struct dvt_pipeline_status_t {
  // Set to `sizeof`.
  uint32_t size;
  // `DVT_STATE_…`.
  uint32_t state;
  // 0: no ELF; 1: linked, or compiled as a whole; 2: replaced by better code.
  uint32_t generation;
  // `DVT_ROUTE_…`.
  uint32_t route;
  // `DVT_REASON_…`: why the pipeline needs, or got, a whole-pipeline compile.
  uint32_t reason;
  // Error code if it failed, else `DVT_OK`.
  int32_t error;
  // Size of the ELF in bytes.
  uint64_t bytes;
  // Draws reported by `dvt_pipeline_used`.
  uint64_t used;
  // `DVT_OPTIMIZATION_…`.
  uint32_t optimization;
  // 0.
  uint32_t reserved;
} dvt_pipeline_status_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the `DVT_ABI_VERSION` that the library was built with.
uint32_t dvt_abi_version(void);

// The `target` of a GPU, by the version of its graphics core as the kernel reports it: 10, 3, 0 is gfx1030. 0 if Dovetail has
// no code for it.
uint32_t dvt_target(uint32_t major,
                    uint32_t minor,
                    uint32_t stepping);

// The `target` of a GPU by its PCI device, if the kernel does not say the version of its graphics core: 0x1002 and 0x73bf are
// a gfx1030. 0 if Dovetail has no code for it, or does not know the device.
uint32_t dvt_target_of_pci(uint32_t vendor,
                           uint32_t device);

// Copies the text of the calling thread's last failure to `buf`: UTF-8, NUL-terminated, truncated to `size`. Returns the full
// length without the NUL. `buf` may be NULL if `size` is 0.
size_t dvt_last_error(char *buf,
                      size_t size);

// Creates a context. The cache is opened for reading; it is not written, locked or mapped. If it cannot be read, the context
// works without it, and `dvt_last_error` says why; otherwise that text is empty. The service is not contacted here:
// the context starts a thread for that when a part is missing.
int32_t dvt_context_create(const struct dvt_context_info *info,
                           struct dvt_context **out);

// Destroys a context. Other handles created from it stay valid and keep it alive; the call that destroys the last of them also
// joins the context's thread, if it has one.
void dvt_context_destroy(struct dvt_context *context);

// Returns the key of everything besides shaders and state that affects code: the global key of `VK_KHR_pipeline_binary`.
int32_t dvt_context_key(const struct dvt_context *context,
                        struct dvt_key *out);

// Returns the counters.
int32_t dvt_context_stats(const struct dvt_context *context, struct dvt_stats *out);

// Copies a text about the service to `buf`: its state, and why it cannot be reached. As `dvt_last_error`; returns 0 without a
// context.
size_t dvt_context_service(const struct dvt_context *context,
                           char *buf,
                           size_t size);

// Writes the parts that are in memory, for `vkGetPipelineCacheData`. On input `*size` is the size of `out`, on return the size
// required. On `DVT_INCOMPLETE` nothing is written. `DVT_E_UNSUPPORTED` without `DVT_CONTEXT_EXPORT`.
int32_t dvt_context_export(const struct dvt_context *context,
                           void *out,
                           size_t *size);

// Copies the parts of a `dvt_context_export` from any process into the context, for `pInitialData` and `vkMergePipelineCaches`.
// Damaged data is `DVT_E_MALFORMED`; data of another version, GPU or compiler is `DVT_E_UNSUPPORTED`. In both cases nothing is
// imported and the context keeps working.
int32_t dvt_context_import(const struct dvt_context *context,
                           const void *data,
                           size_t size);

// Returns a file descriptor that is readable while events are queued, for `poll`; or a negative result code. The context owns
// the descriptor: do not read or close it.
int dvt_context_event_fd(const struct dvt_context *context);

// Takes the next event. Returns `DVT_EMPTY` if there is none. Never blocks.
int32_t dvt_context_next_event(const struct dvt_context *context, struct dvt_event *out);

// Creates a layout.
int32_t dvt_layout_create(const struct dvt_layout_info *info, struct dvt_layout **out);

// Destroys a layout. Pipelines created with it stay valid.
void dvt_layout_destroy(struct dvt_layout *layout);

// Creates a shader and looks up its part. If the part is missing, it is requested from the service without waiting. Creates a
// handle on `DVT_OK`, `DVT_PENDING`, `DVT_NOT_CACHED`, and on the error of a part that is in the cache but unusable. While the
// shader is not cached, each later use repeats the lookup.
int32_t dvt_shader_create(const struct dvt_context *context,
                          const struct dvt_shader_info *info,
                          struct dvt_shader **out);

// Returns the status of a shader without a lookup.
int32_t dvt_shader_status(const struct dvt_shader *shader, struct dvt_shader_status_t *out);

// Waits until the shader's part is available, has failed, or the service is unreachable, for `timeout_ns` nanoseconds at most;
// `UINT64_MAX` waits without limit. Returns as `dvt_shader_create`, or `DVT_TIMEOUT`. Without a service it looks on the disk and
// returns at once.
int32_t dvt_shader_wait(const struct dvt_shader *shader,
                        uint64_t timeout_ns);

// Destroys a shader. Pipelines created with it stay valid.
void dvt_shader_destroy(struct dvt_shader *shader);

// Links into the caller's memory without creating a handle. On input `*size` is the size of `out`, on return that of the ELF. On
// `DVT_INCOMPLETE` nothing is written. The link's temporary memory is freed before the call returns.
int32_t dvt_pipeline_link_into(const struct dvt_context *context,
                               const struct dvt_pipeline_info *info,
                               void *out,
                               size_t *size);

// Creates a pipeline and links it if its parts are in memory or the cache; otherwise the context's thread links it when the
// service has compiled them. Creates a handle on `DVT_OK`, `DVT_PENDING`, `DVT_NOT_CACHED`, `DVT_NEEDS_FULL_COMPILE`, and on the
// error of a failed link. Without a handle `*out` is NULL.
int32_t dvt_pipeline_create(const struct dvt_context *context,
                            const struct dvt_pipeline_info *info,
                            struct dvt_pipeline **out);

// Returns the generation: 0: no ELF; 1: linked, or compiled as a whole; 2: replaced by better code. One relaxed load, cheap
// enough for each bind. NULL: 0.
uint32_t dvt_pipeline_generation(const struct dvt_pipeline *pipeline);

// Returns the address of the generation, valid as long as the pipeline. A relaxed atomic load from it is equivalent to
// `dvt_pipeline_generation`. Do not write it. NULL for a NULL pipeline.
const uint32_t *dvt_pipeline_generation_at(const struct dvt_pipeline *pipeline);

// Returns the status of a pipeline.
int32_t dvt_pipeline_status(const struct dvt_pipeline *pipeline, struct dvt_pipeline_status_t *out);

// Copies a text about the status to `buf`: route, missing part, or error. As `dvt_last_error`; returns 0 without a pipeline.
size_t dvt_pipeline_reason(const struct dvt_pipeline *pipeline,
                           char *buf,
                           size_t size);

// Copies the ELF. On input `*size` is the size of `out`, on return that of the ELF. On `DVT_INCOMPLETE` nothing is written.
// `generation` may be NULL. `DVT_PENDING` if there is no ELF.
int32_t dvt_pipeline_read(const struct dvt_pipeline *pipeline,
                          uint32_t *generation,
                          void *out,
                          size_t *size);

// Waits until the pipeline has reached `generation`, can no longer reach it, or the service is unreachable, for `timeout_ns`
// nanoseconds at most; `UINT64_MAX` waits without limit. Returns `DVT_OK` if it has that generation, as every pipeline has
// generation 0; `DVT_TIMEOUT`; `DVT_NOT_CACHED` if nothing will produce that generation, or nothing can while the service is
// unreachable; else as `dvt_pipeline_create`. Without a service it looks on the disk and returns at once.
int32_t dvt_pipeline_wait(const struct dvt_pipeline *pipeline,
                          uint32_t generation,
                          uint64_t timeout_ns);

// Returns a 256-bit key of what the pipeline was made of: shaders, state, placement, compiler. Its linked and its whole ELF, and
// all generations, have the same key. It fits `VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR`.
int32_t dvt_pipeline_key(const struct dvt_pipeline *pipeline,
                         struct dvt_key *out);

// Reports draws. One relaxed addition. NULL is ignored.
void dvt_pipeline_used(const struct dvt_pipeline *pipeline, uint32_t draws);

// Changes the compile priority. NULL is ignored, and so is a handle from before a fork.
void dvt_pipeline_set_priority(const struct dvt_pipeline *pipeline, uint32_t priority);

// Destroys a pipeline. The GPU must execute the driver's own copy of the ELF, not the library's.
void dvt_pipeline_destroy(struct dvt_pipeline *pipeline);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DOVETAIL_H */
