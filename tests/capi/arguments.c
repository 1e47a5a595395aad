/* Invalid arguments return DVT_E_ARGUMENT with a text, and change nothing. */

#include "common.h"

static int refused(int32_t result, const char *says)
{
    char text[512];
    dvt_last_error(text, sizeof text);
    if (result == DVT_E_ARGUMENT && strstr(text, says) != NULL)
        return 1;
    fprintf(stderr, "result %d, \"%s\" without \"%s\"\n", (int)result, text, says);
    return 0;
}

/* A misaligned copy of a pointer. */
#define OFF(type, at) ((type)(void *)((char *)(at) + 1))

static void contexts(void)
{
    dvt_context_info info;
    dvt_context *context = (dvt_context *)&info;
    char path[3];
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.target = DVT_TARGET_GFX1030;
    CHECK(refused(dvt_context_create(NULL, &context), "`info` is NULL") && context == NULL);
    CHECK(refused(dvt_context_create(&info, NULL), "`out` is NULL"));
    CHECK(refused(dvt_context_create(OFF(dvt_context_info *, &info), &context), "`info` is not aligned"));
    info.size = 0;
    CHECK(refused(dvt_context_create(&info, &context), "`info->size` is 0"));
    info.size = sizeof info - 1;
    CHECK(refused(dvt_context_create(&info, &context), "`info->size`"));
    info.size = UINT32_MAX;
    CHECK(refused(dvt_context_create(&info, &context), "`info->size`"));
    info.size = sizeof info;
    info.flags = 4;
    CHECK(refused(dvt_context_create(&info, &context), "flags 0x4 is unknown"));
    info.flags = 0;
    info.socket_fd = 1;
    CHECK(refused(dvt_context_create(&info, &context), "`socket_fd` is 1 without its flag"));
    info.flags = DVT_CONTEXT_SOCKET_FD;
    info.socket_fd = -1;
    CHECK(refused(dvt_context_create(&info, &context), "`socket_fd` is below 0"));
    info.socket_fd = 987654;
    CHECK(dvt_context_create(&info, &context) == DVT_E_ENVIRONMENT && context == NULL);
    info.flags = 0;
    info.socket_fd = 0;
    info.reserved = 1;
    CHECK(refused(dvt_context_create(&info, &context), "`reserved`"));
    info.reserved = 0;
    info.target = 7;
    CHECK(refused(dvt_context_create(&info, &context), "target 0x7"));
    info.target = DVT_TARGET_GFX1030;
    info.cache_dir_bytes = 1;
    CHECK(refused(dvt_context_create(&info, &context), "`cache_dir` is NULL"));
    info.cache_dir = (const uint8_t *)path;
    info.cache_dir_bytes = SIZE_MAX;
    CHECK(refused(dvt_context_create(&info, &context), "items in `cache_dir`"));
    memset(path, 0, sizeof path);
    info.cache_dir_bytes = sizeof path;
    CHECK(refused(dvt_context_create(&info, &context), "a 0 in `cache_dir`"));
    info.cache_dir_bytes = 0;
    info.socket_bytes = 1;
    CHECK(refused(dvt_context_create(&info, &context), "`socket` is NULL"));
    info.socket = (const uint8_t *)path;
    CHECK(refused(dvt_context_create(&info, &context), "a 0 in `cache_dir` or `socket`"));
    info.socket_bytes = 0;
    path[0] = (char)0xff;
    info.app = (const uint8_t *)path;
    info.app_bytes = 1;
    CHECK(refused(dvt_context_create(&info, &context), "`app` is not UTF-8"));
    CHECK(dvt_context_service(NULL, path, sizeof path) == 0 && path[0] == 0);
    CHECK(refused(dvt_context_stats(NULL, NULL), "`context` is NULL"));
    CHECK(refused(dvt_context_event_fd(NULL), "`context` is NULL"));
    CHECK(refused(dvt_context_key(NULL, NULL), "`context` is NULL"));
    dvt_context_destroy(NULL);
}

/* A caller compiled with a later header. */
static void later_structs(const char *dir)
{
    struct {
        dvt_layout_info info;
        uint64_t more;
    } later;
    dvt_context *context = make_context(dir);
    dvt_layout *layout = NULL;
    union {
        dvt_stats stats;
        unsigned char bytes[sizeof(dvt_stats) + 8];
    } out;
    memset(&later, 0, sizeof later);
    later.info.size = sizeof later;
    CHECK(dvt_layout_create(&later.info, &layout) == DVT_OK && layout != NULL);
    dvt_layout_destroy(layout);
    later.more = 1;
    CHECK(refused(dvt_layout_create(&later.info, &layout), "of a later version") && layout == NULL);
    memset(&out, 0xee, sizeof out);
    out.stats.size = sizeof out;
    CHECK(dvt_context_stats(context, &out.stats) == DVT_OK);
    CHECK(out.stats.size == sizeof out && out.stats.flags == 0 && out.bytes[sizeof(dvt_stats)] == 0xee);
    out.stats.size = 4;
    CHECK(refused(dvt_context_stats(context, &out.stats), "`out->size` is 4"));
    dvt_context_destroy(context);
}

/* A cache that cannot be read is not an error: the text says so. */
static void unreadable(const char *dir)
{
    struct bytes code = read_file(dir, "vertex.spv");
    char path[4096], text[512];
    dvt_context_info info;
    dvt_shader_info of;
    dvt_context *context = NULL;
    dvt_shader *shader = NULL;
    sprintf(path, "%.2000s/vertex.spv", dir);
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.target = DVT_TARGET_GFX1030;
    info.cache_dir = (const uint8_t *)path;
    info.cache_dir_bytes = strlen(path);
    CHECK(dvt_context_create(&info, &context) == DVT_OK);
    CHECK(dvt_last_error(text, sizeof text) > 0 && strstr(text, "the cache cannot be read") != NULL);
    shader_info(&of, &code, 1);
    CHECK(dvt_shader_create(NULL, &of, &shader) == DVT_E_ARGUMENT);
    CHECK(dvt_shader_create(context, &of, &shader) == DVT_NOT_CACHED);
    CHECK(dvt_last_error(text, sizeof text) > 0 && strstr(text, "not in the cache: the cache cannot be read") != NULL);
    CHECK(dvt_shader_create(NULL, &of, NULL) == DVT_E_ARGUMENT);
    CHECK(dvt_shader_wait(shader, 0) == DVT_NOT_CACHED);
    CHECK(dvt_last_error(text, sizeof text) > 0 && strstr(text, "not in the cache: the cache cannot be read") != NULL);
    dvt_shader_destroy(shader);
    dvt_context_destroy(context);
    context = make_context(dir);
    CHECK(dvt_last_error(text, sizeof text) == 0);
    dvt_context_destroy(context);
    free(code.at);
}

/* A layout of set 0 with a combined image and sampler in binding 0. */
static void samplers(dvt_layout_info *info)
{
    dvt_layout *layout = NULL;
    dvt_sampler sampler;
    memset(&sampler, 0, sizeof sampler);
    info->sampler_count = 1;
    CHECK(refused(dvt_layout_create(info, &layout), "`samplers` is NULL"));
    /* A caller compiled with an earlier header has none. */
    info->size = offsetof(dvt_layout_info, samplers);
    CHECK(dvt_layout_create(info, &layout) == DVT_OK);
    dvt_layout_destroy(layout);
    info->size = sizeof *info;
    info->samplers = &sampler;
    sampler.format = 1000156003;
    sampler.model = 2;
    CHECK(dvt_layout_create(info, &layout) == DVT_OK);
    dvt_layout_destroy(layout);
    sampler.range = 2;
    CHECK(refused(dvt_layout_create(info, &layout), "`range` 2 of a sampler"));
    sampler.range = 0;
    sampler.binding = 9;
    CHECK(refused(dvt_layout_create(info, &layout), "a sampler for set 0 binding 9, which does not exist"));
    sampler.binding = 0;
    sampler.format = 1;
    CHECK(dvt_layout_create(info, &layout) == DVT_E_UNSUPPORTED);
}

static void layouts(void)
{
    dvt_layout_info info;
    dvt_layout *layout = NULL;
    dvt_set sets[2];
    dvt_binding binding;
    memset(&info, 0, sizeof info);
    memset(sets, 0, sizeof sets);
    memset(&binding, 0, sizeof binding);
    info.size = sizeof info;
    info.push_constant_root = sets[0].root = sets[1].root = binding.offset = DVT_AUTO;
    info.set_count = 1;
    CHECK(refused(dvt_layout_create(&info, &layout), "`sets` is NULL"));
    info.sets = OFF(dvt_set *, sets);
    CHECK(refused(dvt_layout_create(&info, &layout), "`sets` is not aligned"));
    info.sets = sets;
    info.set_count = UINT32_MAX;
    CHECK(refused(dvt_layout_create(&info, &layout), "4294967295 items in `sets`, 4096 at most"));
    info.set_count = 2;
    /* Set 0 twice: a valid argument, but an invalid layout. */
    CHECK(dvt_layout_create(&info, &layout) == DVT_E_MALFORMED && layout == NULL);
    info.set_count = 1;
    sets[0].bindings = &binding;
    sets[0].binding_count = 1;
    binding.count = 1;
    binding.reserved = 1;
    CHECK(refused(dvt_layout_create(&info, &layout), "`reserved` of a binding"));
    binding.reserved = 0;
    binding.descriptor_type = 1000138000;
    CHECK(dvt_layout_create(&info, &layout) == DVT_E_UNSUPPORTED);
    binding.descriptor_type = 1000351000;
    binding.mutable_count = 1;
    CHECK(refused(dvt_layout_create(&info, &layout), "`mutable_types` is NULL"));
    dvt_layout_destroy(NULL);
    binding.mutable_count = 0;
    binding.descriptor_type = 1;
    samplers(&info);
}

static void shaders(dvt_context *context, const char *dir)
{
    struct bytes code = read_file(dir, "vertex.spv");
    dvt_shader_info info;
    dvt_shader *shader = NULL;
    dvt_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.reserved = 1;
    shader_info(&info, &code, 1);
    CHECK(refused(dvt_shader_create(NULL, &info, &shader), "`context` is NULL"));
    CHECK(refused(dvt_shader_create(context, NULL, &shader), "`info` is NULL"));
    info.code = OFF(const uint32_t *, code.at);
    CHECK(refused(dvt_shader_create(context, &info, &shader), "`code` is not aligned to 4 bytes"));
    shader_info(&info, &code, 1);
    info.code_bytes = code.size - 1;
    CHECK(refused(dvt_shader_create(context, &info, &shader), "`code_bytes`"));
    info.code_bytes = SIZE_MAX - 3;
    CHECK(refused(dvt_shader_create(context, &info, &shader), "items in `code`"));
    info.code = NULL;
    info.code_bytes = 1000;
    CHECK(refused(dvt_shader_create(context, &info, &shader), "`code` is NULL"));
    shader_info(&info, &code, 1);
    info.code_bytes = 0;
    CHECK(dvt_shader_create(context, &info, &shader) == DVT_E_MALFORMED && shader == NULL);
    shader_info(&info, &code, 1);
    info.flags = 6;
    CHECK(refused(dvt_shader_create(context, &info, &shader), "flags 0x4 is unknown"));
    shader_info(&info, &code, 3);
    CHECK(refused(dvt_shader_create(context, &info, &shader), "stage 0x3"));
    shader_info(&info, &code, 8);
    CHECK(dvt_shader_create(context, &info, &shader) == DVT_E_UNSUPPORTED);
    shader_info(&info, &code, 1);
    info.wave = 48;
    CHECK(refused(dvt_shader_create(context, &info, &shader), "wave size 48"));
    shader_info(&info, &code, 1);
    info.entry = (const uint8_t *)"\xff";
    info.entry_bytes = 1;
    CHECK(refused(dvt_shader_create(context, &info, &shader), "`entry` is not UTF-8"));
    info.entry = NULL;
    info.entry_bytes = 3;
    CHECK(refused(dvt_shader_create(context, &info, &shader), "`entry` is NULL"));
    shader_info(&info, &code, 1);
    info.spec_count = 1;
    CHECK(refused(dvt_shader_create(context, &info, &shader), "`spec` is NULL"));
    info.spec = &spec;
    CHECK(refused(dvt_shader_create(context, &info, &shader), "`reserved` of a specialization value"));
    CHECK(refused(dvt_shader_wait(NULL, 0), "`shader` is NULL"));
    CHECK(refused(dvt_shader_status(NULL, NULL), "`shader` is NULL"));
    dvt_shader_destroy(NULL);
    CHECK(shader == NULL);
    free(code.at);
}

static void pipelines(dvt_context *context, const char *dir)
{
    struct pipeline p;
    struct pipeline q;
    dvt_pipeline *pipeline = NULL;
    dvt_event event;
    size_t size = 0;
    unsigned char byte = 0xee;
    make_info(&p, context, dir);
    q = p;
#define REFUSED(change, says)                                                                \
    q.info = p.info;                                                                         \
    change;                                                                                  \
    CHECK(refused(dvt_pipeline_create(context, &q.info, &pipeline), says));                  \
    CHECK(refused(dvt_pipeline_link_into(context, &q.info, &byte, &size), says));            \
    CHECK(pipeline == NULL && size == 0 && byte == 0xee)
    REFUSED(q.info.size = 8, "`info->size` is 8");
    REFUSED(q.info.flags = 128, "flags 0x80 are unknown");
    REFUSED(q.info.shaders = NULL, "`shaders` is NULL");
    REFUSED(q.info.shader_count = UINT32_MAX, "items in `shaders`");
    REFUSED(q.info.layout = OFF(dvt_layout *, p.layout), "`layout` is not aligned");
    REFUSED(q.info.vertex_bindings = NULL, "`vertex_bindings` is NULL");
    REFUSED(q.info.vertex_attributes = NULL, "`vertex_attributes` is NULL");
    REFUSED(q.info.attachment_count = 5000, "5000 items in `attachments`");
    REFUSED(q.info.color_flags = 16, "`color_flags` 0x10 is unknown");
    REFUSED(q.info.raster_flags = 32, "`raster_flags` 0x20 is unknown");
    REFUSED(q.info.raster_flags = DVT_RASTER_POINTS | DVT_RASTER_LINES, "`raster_flags` 0xc: points and lines");
    REFUSED(q.info.clip_plane_mask = 256, "`clip_plane_mask` 0x100 is unknown: bits of 0x3f are allowed");
    REFUSED(q.info.clip_plane_mask = 64, "`clip_plane_mask` 0x40 is unknown");
    REFUSED(q.info.placement = 2, "placement 2");
    p.buffer.rate = 2;
    REFUSED((void)0, "rate 2 of vertex binding 0");
    p.buffer.rate = 0;
    p.buffer.divisor = 2;
    REFUSED((void)0, "divisor 2 of vertex binding 0: 1 if the rate is 0");
    p.buffer.divisor = 1;
    p.attachment.write_mask = 16;
    REFUSED((void)0, "`write_mask` 0x10 is unknown");
    p.attachment.write_mask = 15;
    p.attachment.flags = 4;
    REFUSED((void)0, "`flags` of an attachment 0x4 is unknown");
    p.attachment.flags = 0;
    q.shaders[0] = NULL;
    q.info.shaders = q.shaders;
    CHECK(refused(dvt_pipeline_create(context, &q.info, &pipeline), "`shaders[n]` is NULL"));
    q.info = p.info;
    size = SIZE_MAX;
    CHECK(refused(dvt_pipeline_link_into(context, &q.info, &byte, &size), "`*size` is 18446744073709551615"));
    CHECK(dvt_pipeline_link_into(context, &q.info, NULL, &size) == DVT_INCOMPLETE && size > 0 && size < 1 << 20);
    CHECK(refused(dvt_pipeline_link_into(context, &q.info, &byte, NULL), "`size` is NULL"));
    CHECK(refused(dvt_pipeline_link_into(context, &q.info, &byte, OFF(size_t *, &size)), "`size` is not aligned"));
    /* A format that vertices cannot have is malformed input, reported by a handle. */
    p.attribute.format = 126;
    CHECK(dvt_pipeline_create(context, &p.info, &pipeline) == DVT_E_MALFORMED && pipeline != NULL);
    dvt_pipeline_destroy(pipeline);
    p.attribute.format = UINT32_MAX;
    size = 0;
    CHECK(dvt_pipeline_link_into(context, &p.info, NULL, &size) == DVT_E_MALFORMED);
    p.attribute.format = 109;
    q.info.shader_count = 0;
    pipeline = NULL;
    CHECK(dvt_pipeline_create(context, &q.info, &pipeline) == DVT_E_MALFORMED && pipeline == NULL);
    CHECK(dvt_pipeline_generation(NULL) == 0 && dvt_pipeline_reason(NULL, NULL, 0) == 0);
    dvt_pipeline_used(NULL, 1);
    dvt_pipeline_set_priority(NULL, 1);
    dvt_pipeline_destroy(NULL);
    CHECK(refused(dvt_pipeline_status(NULL, NULL), "`pipeline` is NULL"));
    CHECK(refused(dvt_pipeline_read(NULL, NULL, NULL, NULL), "`pipeline` is NULL"));
    CHECK(refused(dvt_pipeline_wait(NULL, 1, 0), "`pipeline` is NULL"));
    CHECK(refused(dvt_pipeline_key(NULL, NULL), "`out` is NULL") || refused(dvt_pipeline_key(NULL, NULL), "`pipeline` is NULL"));
    memset(&event, 0, sizeof event);
    CHECK(refused(dvt_context_next_event(context, &event), "`out->size` is 0"));
    /* The thread has reused its state many times and still links. */
    {
        struct bytes expect = read_file(dir, "expected.elf");
        link_and_compare(context, &p, &expect);
        free(expect.at);
    }
    destroy_info(&p);
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : ".";
    dvt_context *context = make_context(dir);
    char text[8];
    CHECK(dvt_last_error(NULL, 0) == 0);
    contexts();
    CHECK(dvt_last_error(text, sizeof text) > 7 && strlen(text) == 7);
    CHECK(dvt_last_error(NULL, 100) > 7);
    unreadable(dir);
    later_structs(dir);
    layouts();
    shaders(context, dir);
    pipelines(context, dir);
    dvt_context_destroy(context);
    return 0;
}
