/* dovetail.h: pipelines linked from cached shaders, for AMD GPUs. docs/capi.md is the manual.
 *
 * Every info struct begins with its `size` (sizeof at the caller) and its `flags`; flags that the library does not know are
 * DVT_E_ARGUMENT, and so are null and misaligned pointers and sizes that cannot be. Formats, stages, rates and descriptor types
 * are Vulkan's numbers. Any thread may call anything; nothing here waits for anything but the disk, unless
 * its name says so. */

#ifndef DOVETAIL_H
#define DOVETAIL_H

#include <stddef.h>
#include <stdint.h>

// The version of this interface: of what is here, not of the library. Nothing that is here changes its meaning while this
// number is the same; structs grow at their ends, and `size` says how long the caller's are.
#define DVT_ABI_VERSION 1

// Done.
#define DVT_OK 0

// On its way from the service; or not in memory, and the flags forbid to look on the disk.
#define DVT_PENDING 1

// Not in the cache, and no service can be reached that compiles. Use your own compiler.
#define DVT_NOT_CACHED 2

// The parts cannot be linked with this state, the cache has not the pipeline whole, and no service can be reached that makes it
// so. Use your own compiler.
#define DVT_NEEDS_FULL_COMPILE 3

// The time is over, and what was waited for is still on its way.
#define DVT_TIMEOUT 4

// The memory is too small; `*size` says what is needed, nothing was written.
#define DVT_INCOMPLETE 5

// No event.
#define DVT_EMPTY 6

// The input breaks the rules of its format.
#define DVT_E_MALFORMED -2

// The input is right, and this library does not do it.
#define DVT_E_UNSUPPORTED -3

// The world outside: files, or a context that was made before a fork.
#define DVT_E_ENVIRONMENT -5

// Null, misaligned, of a size that cannot be, or a flag that this library does not know.
#define DVT_E_ARGUMENT -6

// The allocator gave nothing for something large. For something small it ends the process.
#define DVT_E_MEMORY -7

// A mistake in the library. The object is of no use any more; everything else goes on.
#define DVT_E_BUG -70

// A compiler process of the service died of this shader.
#define DVT_E_QUARANTINED -71

// `target`: gfx1030, by the machine number in the flags of its ELFs.
#define DVT_TARGET_GFX1030 54

// `root`, `offset`, `push_constant_root`: the library chooses (docs/state.md says how).
#define DVT_AUTO 4294967295

// Flag of a context: `socket_fd` is given.
#define DVT_CONTEXT_SOCKET_FD 1

// Flag of a context: parts can be exported. It takes as much memory again as they do.
#define DVT_CONTEXT_EXPORT 2

// Flag of a shader: look in memory only; a service's thread looks on the disk.
#define DVT_SHADER_NO_DISK 1

// Flag of a shader: never have it compiled.
#define DVT_SHADER_FAIL_ON_COMPILE 2

// Flag of a pipeline: never have anything compiled for it.
#define DVT_PIPELINE_FAIL_ON_COMPILE 1

// Flag of a pipeline: look in memory only; a service's thread looks on the disk.
#define DVT_PIPELINE_NO_DISK 2

// Flag of a pipeline: whole, if the cache has it so; else linked.
#define DVT_PIPELINE_PREFER_OPTIMIZED 4

// Flag of a pipeline: no background compile. Without a service there is none.
#define DVT_PIPELINE_NO_OPTIMIZE 8

// Flag of a pipeline: whole, or not at all.
#define DVT_PIPELINE_LINK_TIME_OPTIMIZATION 16

// Flag of a pipeline: metadata 3.0, register fields by name, in place of 2.6.
#define DVT_PIPELINE_NAMED_METADATA 32

// Flag of a pipeline: each generation's ELF is read once; `dvt_pipeline_read` gives it away, and the caller's copy is the only one.
#define DVT_PIPELINE_READ_ONCE 64

// `color_flags`: alpha of location 0 decides coverage.
#define DVT_COLOR_ALPHA_TO_COVERAGE 1

// `color_flags`: blending reads a second colour.
#define DVT_COLOR_DUAL_SOURCE 2

// `color_flags`: every sample is shaded by itself.
#define DVT_COLOR_SAMPLE_SHADING 4

// `color_flags`: alpha is 1, whatever the shader writes. Not together with `DVT_COLOR_ALPHA_TO_COVERAGE`.
#define DVT_COLOR_ALPHA_TO_ONE 8

// `flags` of an attachment: blending is on.
#define DVT_ATTACHMENT_BLEND 1

// `flags` of an attachment: a colour's blend factor reads the source's alpha.
#define DVT_ATTACHMENT_BLEND_SOURCE_ALPHA 2

// `raster_flags`: nothing is rasterized.
#define DVT_RASTER_DISCARD 1

// `raster_flags`: coverage means fully covered.
#define DVT_RASTER_INNER_COVERAGE 2

// `placement`: parts that run one after the other stand one after the other.
#define DVT_PLACEMENT_ADJACENT 0

// `placement`: parts are joined by branches.
#define DVT_PLACEMENT_CHAINED 1

// `state` of a shader or pipeline: not looked for on the disk yet, or on its way from the service.
#define DVT_STATE_PENDING 0

// `state`: a part is not in the cache, and no service can be reached.
#define DVT_STATE_NOT_CACHED 1

// `state` of a pipeline: it needs a whole compile; `reason` says why.
#define DVT_STATE_NEEDS_FULL_COMPILE 2

// `state`: ready.
#define DVT_STATE_READY 3

// `state`: it will never be; `error` and `dvt_pipeline_reason` say why.
#define DVT_STATE_FAILED 4

// `route`: there is no ELF.
#define DVT_ROUTE_NONE 0

// `route`: linked.
#define DVT_ROUTE_LINKED 1

// `route`: compiled whole by whoever filled the cache, or by the service.
#define DVT_ROUTE_WHOLE 2

// `route`: linked at first, and then replaced by what the service has compiled whole.
#define DVT_ROUTE_OPTIMIZED 3

// `optimization`: the service was not asked for better code.
#define DVT_OPTIMIZATION_NONE 0

// `optimization`: the service decides by the pipeline's use when it is compiled whole.
#define DVT_OPTIMIZATION_OFFERED 1

// `optimization`: the code is better, and is generation 2.
#define DVT_OPTIMIZATION_TAKEN 2

// `optimization`: the linked pipeline is as good.
#define DVT_OPTIMIZATION_KEPT 3

// `optimization`: it could not be compiled whole. The linked pipeline stays.
#define DVT_OPTIMIZATION_FAILED 4

// `service`: the context has none.
#define DVT_SERVICE_NONE 0

// `service`: nothing had to be asked yet.
#define DVT_SERVICE_IDLE 1

// `service`: not yet, or not any more. What was asked waits for it.
#define DVT_SERVICE_CONNECTING 2

// `service`: connected.
#define DVT_SERVICE_CONNECTED 3

// `service`: it cannot be reached; it is tried again from time to time.
#define DVT_SERVICE_AWAY 4

// `reason`: linking does it, or was not tried.
#define DVT_REASON_NONE 0

// `reason`: a specialization constant shaped the code and has another value.
#define DVT_REASON_SPECIALIZATION 1

// `reason`: more values pass between parts than registers hold.
#define DVT_REASON_TOO_MANY_VALUES 2

// `reason`: a descriptor stands where the part's code cannot reach it.
#define DVT_REASON_RESOURCE_LAYOUT 3

// `reason`: a state item has no linkable form.
#define DVT_REASON_STATE 4

// `reason`: the parts do not fit together.
#define DVT_REASON_MISMATCH 5

// `kind` of an event: a shader's part was found, or has failed.
#define DVT_EVENT_SHADER 0

// `kind` of an event: a pipeline has a new generation, or has failed.
#define DVT_EVENT_PIPELINE 1

// `kind` of an event: the service was reached, or cannot be any more.
#define DVT_EVENT_SERVICE 2

// Tables, cache, events. Any thread.
typedef struct dvt_context dvt_context;

// Descriptor sets and push constants. Any thread; of no context.
typedef struct dvt_layout dvt_layout;

// A pipeline. Any thread.
typedef struct dvt_pipeline dvt_pipeline;

// A shader. Any thread.
typedef struct dvt_shader dvt_shader;

// For `dvt_context_create`.
typedef struct dvt_context_info {
  // `sizeof` at the caller.
  uint32_t size;
  // `DVT_CONTEXT_…`.
  uint32_t flags;
  // Folder of a cache; it is only read, and need not be there yet. NULL: memory alone. Any bytes but 0.
  const uint8_t *cache_dir;
  // Bytes of it.
  size_t cache_dir_bytes;
  // `DVT_TARGET_…`.
  uint32_t target;
  // MiB of parts in memory past which those that no shader holds are dropped. 0: 64.
  uint32_t max_memory_mib;
  // Socket of a service that compiles what is missing; it need not be there yet. NULL: none. Any bytes but 0.
  const uint8_t *socket;
  // Bytes of it.
  size_t socket_bytes;
  // A name for people, such as the game's, UTF-8; the service shows it.
  const uint8_t *app;
  // Bytes of it.
  size_t app_bytes;
  // With `DVT_CONTEXT_SOCKET_FD`: a Unix stream socket that is connected to a service, for a process that cannot reach `socket`. It
  // is duplicated; the connection is the context's from then on. `socket`, if given, is tried when it breaks.
  int32_t socket_fd;
  // 0.
  uint32_t reserved;
} dvt_context_info;

// 256 bits.
typedef struct dvt_key {
  // The bytes.
  uint8_t b[32];
} dvt_key;

// Counters since the context was made.
typedef struct dvt_stats {
  // `sizeof` at the caller.
  uint32_t size;
  // 0.
  uint32_t flags;
  // Pipelines linked.
  uint64_t links;
  // Pipelines taken whole.
  uint64_t wholes;
  // Links that asked for a whole compile which the cache has not.
  uint64_t needs_full_compile;
  // Parts found in memory.
  uint64_t memory_hits;
  // Parts found on the disk.
  uint64_t disk_hits;
  // Parts found nowhere, each time they were looked for.
  uint64_t misses;
  // Entries on the disk that were damaged.
  uint64_t bad;
  // Bytes of ELFs whose parts are in memory.
  uint64_t memory_bytes;
  // Parts and pipelines that the service was asked for.
  uint64_t asked;
  // Requests that the service answered.
  uint64_t answered;
  // Requests that the service will not answer.
  uint64_t failed;
  // Pipelines that were replaced by better ones.
  uint64_t optimized;
  // `DVT_SERVICE_…`; `dvt_context_service` has it in words.
  uint32_t service;
  // 0.
  uint32_t reserved;
  // Parts taken by `dvt_context_import`.
  uint64_t imported;
  // Parts of imports for which `max_memory_mib` had no room.
  uint64_t left_out;
  // Imports that were refused.
  uint64_t imports_refused;
} dvt_stats;

// An event.
typedef struct dvt_event {
  // `sizeof` at the caller.
  uint32_t size;
  // `DVT_EVENT_…`.
  uint32_t kind;
  // `user` of the object.
  uint64_t user;
  // The pipeline's generation; 1 for a service that was reached.
  uint32_t generation;
  // `DVT_OK`, or why it failed or cannot be reached.
  int32_t result;
} dvt_event;

// One binding of a set.
typedef struct dvt_binding {
  // Binding number.
  uint32_t binding;
  // `VkDescriptorType`. The dynamic ones stand in the root table.
  uint32_t descriptor_type;
  // Array length.
  uint32_t count;
  // Byte offset in the set's table (root dword for a dynamic buffer), or `DVT_AUTO`.
  uint32_t offset;
  // For `VK_DESCRIPTOR_TYPE_MUTABLE_EXT`, the types it may be of.
  const uint32_t *mutable_types;
  // How many.
  uint32_t mutable_count;
  // 0.
  uint32_t reserved;
} dvt_binding;

// One descriptor set.
typedef struct dvt_set {
  // Set number.
  uint32_t set;
  // Root dword of the pointer to its table, or `DVT_AUTO`.
  uint32_t root;
  // Its bindings, in any order.
  const struct dvt_binding *bindings;
  // How many.
  uint32_t binding_count;
  // 0.
  uint32_t reserved;
} dvt_set;

// A sampler that the layout fixes, with the conversion from Y'CBCR that it asks for.
typedef struct dvt_sampler {
  // Set number.
  uint32_t set;
  // Binding number.
  uint32_t binding;
  // Array element.
  uint32_t element;
  // The descriptor.
  uint32_t words[4];
  // `VkFormat` of the conversion; 0: it converts nothing, and what follows is 0.
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
  // 0.
  uint32_t reserved;
} dvt_sampler;

// For `dvt_layout_create`.
typedef struct dvt_layout_info {
  // `sizeof` at the caller.
  uint32_t size;
  // 0.
  uint32_t flags;
  // Sets, in any order.
  const struct dvt_set *sets;
  // How many.
  uint32_t set_count;
  // Bytes of push constants.
  uint32_t push_constant_bytes;
  // Root dword where they start, or `DVT_AUTO`.
  uint32_t push_constant_root;
  // 0.
  uint32_t reserved;
  // Immutable samplers, in any order: of a binding that has any, one for each element.
  const struct dvt_sampler *samplers;
  // How many.
  uint32_t sampler_count;
  // 0.
  uint32_t samplers_reserved;
} dvt_layout_info;

// A specialization value.
typedef struct dvt_spec {
  // `SpecId`.
  uint32_t id;
  // 0.
  uint32_t reserved;
  // Bits: integers in two's complement, floats as IEEE bits, booleans 0 or 1.
  uint64_t value;
} dvt_spec;

// For `dvt_shader_create`.
typedef struct dvt_shader_info {
  // `sizeof` at the caller.
  uint32_t size;
  // `DVT_SHADER_…`.
  uint32_t flags;
  // SPIR-V; it is copied only where there is a service. NULL: `digest` stands for it.
  const uint32_t *code;
  // Bytes of it.
  size_t code_bytes;
  // BLAKE3 of the SPIR-V's bytes, where `code` is NULL. Then `spec` may only have ids that the module has, and `wave` has to
  // be given for a module that looks at its subgroup.
  struct dvt_key digest;
  // Name of the entry point, UTF-8. NULL: `main`.
  const uint8_t *entry;
  // Bytes of it.
  size_t entry_bytes;
  // Specialization values. Ids that the module has not are left out.
  const struct dvt_spec *spec;
  // How many.
  uint32_t spec_count;
  // `VkShaderStageFlagBits`: 1, 16 or 32.
  uint32_t stage;
  // Lanes of a wave, 32 or 64; 0: as `dovetail populate` chooses.
  uint32_t wave;
  // How soon a service should compile it. 0: before it is needed; more: as if a thread waited for it.
  uint32_t priority;
  // Yours: events have it.
  uint64_t user;
} dvt_shader_info;

// Where a shader stands.
typedef struct dvt_shader_status_t {
  // `sizeof` at the caller.
  uint32_t size;
  // `DVT_STATE_…`.
  uint32_t state;
  // Why it failed, or `DVT_OK`.
  int32_t error;
  // 0.
  uint32_t reserved;
} dvt_shader_status_t;

// A vertex buffer.
typedef struct dvt_vertex_binding {
  // Binding number.
  uint32_t binding;
  // Bytes from one element to the next.
  uint32_t stride;
  // `VkVertexInputRate`: 0 per vertex, 1 per instance.
  uint32_t rate;
  // Instances per element, 0: the first element for all; 1 where `rate` is 0.
  uint32_t divisor;
} dvt_vertex_binding;

// A vertex attribute.
typedef struct dvt_vertex_attribute {
  // Location in the shader.
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
  // Channels written: 1 r, 2 g, 4 b, 8 a.
  uint32_t write_mask;
  // `DVT_ATTACHMENT_…`.
  uint32_t flags;
} dvt_color_attachment;

// For `dvt_pipeline_create` and `dvt_pipeline_link_into`.
typedef struct dvt_pipeline_info {
  // `sizeof` at the caller.
  uint32_t size;
  // `DVT_PIPELINE_…`.
  uint32_t flags;
  // Vertex, or vertex and fragment, or compute.
  const struct dvt_shader *const *shaders;
  // Descriptors and push constants. NULL: none.
  const struct dvt_layout *layout;
  // Vertex buffers.
  const struct dvt_vertex_binding *vertex_bindings;
  // Vertex attributes.
  const struct dvt_vertex_attribute *vertex_attributes;
  // Colour attachments.
  const struct dvt_color_attachment *attachments;
  // How many shaders.
  uint32_t shader_count;
  // How many vertex buffers.
  uint32_t vertex_binding_count;
  // How many attributes.
  uint32_t vertex_attribute_count;
  // How many attachments.
  uint32_t attachment_count;
  // Samples of the attachments, 0: 1.
  uint32_t samples;
  // `DVT_COLOR_…`.
  uint32_t color_flags;
  // `DVT_RASTER_…`.
  uint32_t raster_flags;
  // User clip planes, bits 0 to 5.
  uint32_t clip_plane_mask;
  // Views (multiview), 0: none.
  uint32_t view_mask;
  // Index of the device in a group.
  uint32_t device_index;
  // `DVT_PLACEMENT_…`.
  uint32_t placement;
  // How soon a service should compile what is missing, as of a shader.
  uint32_t priority;
  // Yours: events have it.
  uint64_t user;
} dvt_pipeline_info;

// Where a pipeline stands.
typedef struct dvt_pipeline_status_t {
  // `sizeof` at the caller.
  uint32_t size;
  // `DVT_STATE_…`.
  uint32_t state;
  // 0 no ELF, 1 linked or whole, 2 replaced by better code.
  uint32_t generation;
  // `DVT_ROUTE_…`.
  uint32_t route;
  // `DVT_REASON_…`: why it needs a whole compile, or was taken whole.
  uint32_t reason;
  // Why it failed, or `DVT_OK`.
  int32_t error;
  // Bytes of the ELF.
  uint64_t bytes;
  // Draws that `dvt_pipeline_used` has told of.
  uint64_t used;
  // `DVT_OPTIMIZATION_…`.
  uint32_t optimization;
  // 0.
  uint32_t reserved;
} dvt_pipeline_status_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// `DVT_ABI_VERSION` of the library.
uint32_t dvt_abi_version(void);

// What the last call of this thread that failed says: UTF-8, ended by 0, cut where `size` is too small. Gives its whole length
// without the 0; `buf` may be NULL where `size` is 0.
size_t dvt_last_error(char *buf,
                      size_t size);

// Makes a context. The cache is opened for reading: nothing is written, locked or mapped. A service is not asked yet: a thread of
// the context's own does so, which is started when something is missing.
int32_t dvt_context_create(const struct dvt_context_info *info,
                           struct dvt_context **out);

// Ends a context. Handles that were made with it stay good; it is gone with the last of them, and its thread, if it has one, has
// ended before that call returns.
void dvt_context_destroy(struct dvt_context *context);

// Key of everything that decides code besides shaders and state: `VK_KHR_pipeline_binary`'s global key.
int32_t dvt_context_key(const struct dvt_context *context, struct dvt_key *out);

// Counters so far.
int32_t dvt_context_stats(const struct dvt_context *context, struct dvt_stats *out);

// Whether there is a service, in words, and if not, why. As `dvt_last_error`; 0 where there is no context.
size_t dvt_context_service(const struct dvt_context *context, char *buf, size_t size);

// Writes the parts that are in memory, for `dvt_context_import`: the answer of `vkGetPipelineCacheData`. `*size` is the memory's
// size, and becomes what is needed; with `DVT_INCOMPLETE` nothing is written. `DVT_E_UNSUPPORTED` without `DVT_CONTEXT_EXPORT`.
int32_t dvt_context_export(const struct dvt_context *context,
                           void *out,
                           size_t *size);

// Takes the parts that `dvt_context_export` has written, in whatever process: `pInitialData`, `vkMergePipelineCaches`. They are
// copied. Damaged bytes are `DVT_E_MALFORMED`, those of another version, GPU or compiler `DVT_E_UNSUPPORTED`; nothing is taken
// then, and everything goes on without.
int32_t dvt_context_import(const struct dvt_context *context,
                           const void *data,
                           size_t size);

// A descriptor for `poll` that is readable while there are events. It is the context's: do not close or read it. Or a result
// code below 0.
int dvt_context_event_fd(const struct dvt_context *context);

// The next event, or `DVT_EMPTY`. Never blocks.
int32_t dvt_context_next_event(const struct dvt_context *context, struct dvt_event *out);

// Resolves a layout.
int32_t dvt_layout_create(const struct dvt_layout_info *info, struct dvt_layout **out);

// Ends a layout. Pipelines that were made with it go on.
void dvt_layout_destroy(struct dvt_layout *layout);

// Makes a shader and looks for its part; a service is asked for one that is missing, and not waited for. `DVT_OK`, `DVT_PENDING`
// and `DVT_NOT_CACHED` give a handle; so does a part that is in the cache and of no use, with the result code of why. Every later
// use of a shader that is not cached looks again.
int32_t dvt_shader_create(const struct dvt_context *context,
                          const struct dvt_shader_info *info,
                          struct dvt_shader **out);

// Where a shader stands, without looking for its part.
int32_t dvt_shader_status(const struct dvt_shader *shader, struct dvt_shader_status_t *out);

// Waits for a shader's part, until it is there, has failed, the service cannot be reached, or the time is over: `DVT_TIMEOUT`.
// Answers as `dvt_shader_create`. Where there is no service, it looks on the disk, and returns at once. `UINT64_MAX` is for ever.
int32_t dvt_shader_wait(const struct dvt_shader *shader,
                        uint64_t timeout_ns);

// Ends a shader. Pipelines that were made with it go on.
void dvt_shader_destroy(struct dvt_shader *shader);

// Links into the caller's memory, without a handle. `*size` is its size, and becomes the ELF's; with `DVT_INCOMPLETE` nothing is
// written. The memory of the link itself is given back before it returns.
int32_t dvt_pipeline_link_into(const struct dvt_context *context,
                               const struct dvt_pipeline_info *info,
                               void *out,
                               size_t *size);

// Makes a pipeline, and links it if its parts are at hand; else a service's thread does when they are. `DVT_OK`, `DVT_PENDING`, `DVT_NOT_CACHED` and `DVT_NEEDS_FULL_COMPILE`
// give a handle; so does a link that failed, with the result code of why. Without a handle `*out` is NULL.
int32_t dvt_pipeline_create(const struct dvt_context *context,
                            const struct dvt_pipeline_info *info,
                            struct dvt_pipeline **out);

// 0: no ELF yet; 1: linked, or whole; 2: replaced by better code. One relaxed load: for every bind. A handle that is NULL has none.
uint32_t dvt_pipeline_generation(const struct dvt_pipeline *pipeline);

// Where the generation is kept, as long as the pipeline lives: a relaxed atomic load of it is all that
// `dvt_pipeline_generation` does, without the call. NULL where there is no pipeline. It is not to be written.
const uint32_t *dvt_pipeline_generation_at(const struct dvt_pipeline *pipeline);

// Where a pipeline stands.
int32_t dvt_pipeline_status(const struct dvt_pipeline *pipeline, struct dvt_pipeline_status_t *out);

// The same for people: route, missing part, or what is wrong. As `dvt_last_error`; 0 where there is no pipeline.
size_t dvt_pipeline_reason(const struct dvt_pipeline *pipeline, char *buf, size_t size);

// Copies the ELF. `*size` is the memory's size, and becomes the ELF's; with `DVT_INCOMPLETE` nothing is written. `generation` may be
// NULL. `DVT_PENDING` where there is no ELF.
int32_t dvt_pipeline_read(const struct dvt_pipeline *pipeline,
                          uint32_t *generation,
                          void *out,
                          size_t *size);

// Waits until a pipeline is of this generation, it is certain that it will not be, the service cannot be reached, or the time is
// over: `DVT_TIMEOUT`. Answers as `dvt_pipeline_create`; `DVT_NOT_CACHED` for a generation that nobody makes. Where there is no
// service, it looks on the disk, and returns at once. `UINT64_MAX` is for ever.
int32_t dvt_pipeline_wait(const struct dvt_pipeline *pipeline,
                          uint32_t generation,
                          uint64_t timeout_ns);

// 256 bits over all that decides the ELF: fits `VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR`.
int32_t dvt_pipeline_key(const struct dvt_pipeline *pipeline, struct dvt_key *out);

// Tells of draws. One relaxed addition; NULL is nothing to do.
void dvt_pipeline_used(const struct dvt_pipeline *pipeline, uint32_t draws);

// Another priority. NULL is nothing to do.
void dvt_pipeline_set_priority(const struct dvt_pipeline *pipeline, uint32_t priority);

// Ends a pipeline. What a GPU may still run is the driver's own copy.
void dvt_pipeline_destroy(struct dvt_pipeline *pipeline);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DOVETAIL_H */
