/* A pipeline from a cache: without and with a handle, its status, events and keys; the same bytes as the Rust link. */

#include "common.h"

static void without_a_handle(dvt_context *context, struct pipeline *p, const struct bytes *expect)
{
    unsigned char small[16];
    size_t size = sizeof small, n;
    link_and_compare(context, p, expect);
    memset(small, 0xee, sizeof small);
    CHECK(dvt_pipeline_link_into(context, &p->info, small, &size) == DVT_INCOMPLETE);
    CHECK(size == expect->size);
    for (n = 0; n < sizeof small; n++)
        CHECK(small[n] == 0xee);
    size = 0;
    CHECK(dvt_pipeline_link_into(context, &p->info, NULL, &size) == DVT_INCOMPLETE && size == expect->size);
    /* NULL has no space, whatever the size. */
    size = expect->size + 1;
    CHECK(dvt_pipeline_link_into(context, &p->info, NULL, &size) == DVT_INCOMPLETE && size == expect->size);
}

static void with_a_handle(dvt_context *context, struct pipeline *p, const struct bytes *expect)
{
    dvt_pipeline *pipeline = NULL, *again = NULL;
    dvt_pipeline_status_t status;
    dvt_key key, other;
    dvt_event event;
    unsigned char *out = (unsigned char *)malloc(expect->size);
    size_t size = expect->size;
    uint32_t generation = 0;
    char text[64];
    CHECK(out != NULL);
    CHECK(dvt_pipeline_create(context, &p->info, &pipeline) == DVT_OK && pipeline != NULL);
    CHECK(dvt_pipeline_generation(pipeline) == 1);
    CHECK(dvt_pipeline_generation_at(NULL) == NULL && *dvt_pipeline_generation_at(pipeline) == 1);
    CHECK(dvt_pipeline_read(pipeline, &generation, out, &size) == DVT_OK);
    CHECK(generation == 1 && size == expect->size && memcmp(out, expect->at, size) == 0);
    size = expect->size - 1;
    CHECK(dvt_pipeline_read(pipeline, NULL, out, &size) == DVT_INCOMPLETE && size == expect->size);
    dvt_pipeline_used(pipeline, 5);
    dvt_pipeline_used(pipeline, 6);
    dvt_pipeline_set_priority(pipeline, 2);
    memset(&status, 0xff, sizeof status);
    status.size = sizeof status;
    CHECK(dvt_pipeline_status(pipeline, &status) == DVT_OK);
    CHECK(status.size == sizeof status && status.state == DVT_STATE_READY && status.route == DVT_ROUTE_LINKED);
    CHECK(status.generation == 1 && status.reason == DVT_REASON_NONE && status.error == DVT_OK);
    CHECK(status.bytes == expect->size && status.used == 11);
    CHECK(dvt_pipeline_reason(pipeline, text, sizeof text) == 6 && strcmp(text, "linked") == 0);
    CHECK(dvt_pipeline_reason(pipeline, text, 4) == 6 && strcmp(text, "lin") == 0);
    CHECK(dvt_pipeline_wait(pipeline, 1, 0) == DVT_OK);
    CHECK(dvt_pipeline_wait(pipeline, 2, UINT64_MAX) == DVT_NOT_CACHED);
    CHECK(dvt_pipeline_key(pipeline, &key) == DVT_OK);
    /* Another state has another key. */
    p->info.device_index = 2;
    CHECK(dvt_pipeline_create(context, &p->info, &again) == DVT_OK);
    p->info.device_index = 3;
    CHECK(dvt_pipeline_key(again, &other) == DVT_OK && memcmp(&key, &other, sizeof key) != 0);
    dvt_pipeline_destroy(again);
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    CHECK(dvt_context_next_event(context, &event) == DVT_EMPTY);
    dvt_pipeline_destroy(pipeline);
    free(out);
}

/* A pipeline that needs a whole-pipeline compile: a constant shaped the code of unlinkable.spv, which the Rust side made. */
static void what_cannot_be_linked(dvt_context *context, struct pipeline *p, const char *dir)
{
    const dvt_shader *linkable = p->shaders[0];
    dvt_pipeline *pipeline = NULL;
    dvt_pipeline_status_t status;
    char text[256];
    size_t size = 0;
    p->shaders[0] = make_shader(context, dir, "unlinkable.spv", 1);
    CHECK(dvt_pipeline_link_into(context, &p->info, NULL, &size) == DVT_NEEDS_FULL_COMPILE);
    CHECK(dvt_last_error(text, sizeof text) > 0 && strstr(text, "specialization constant 7") != NULL);
    CHECK(dvt_pipeline_create(context, &p->info, &pipeline) == DVT_NEEDS_FULL_COMPILE && pipeline != NULL);
    status.size = sizeof status;
    CHECK(dvt_pipeline_status(pipeline, &status) == DVT_OK);
    CHECK(status.state == DVT_STATE_NEEDS_FULL_COMPILE && status.route == DVT_ROUTE_NONE);
    CHECK(status.reason == DVT_REASON_SPECIALIZATION && status.generation == 0 && status.error == DVT_OK);
    CHECK(dvt_pipeline_generation(pipeline) == 0 && *dvt_pipeline_generation_at(pipeline) == 0);
    CHECK(dvt_pipeline_read(pipeline, NULL, NULL, &size) == DVT_PENDING && size == 0);
    dvt_pipeline_destroy(pipeline);
    dvt_shader_destroy((dvt_shader *)p->shaders[0]);
    p->shaders[0] = linkable;
}

static void what_is_missing(dvt_context *context, struct pipeline *p, const char *dir)
{
    const dvt_shader *there = p->shaders[0];
    struct bytes code = read_file(dir, "vertex.spv");
    dvt_shader_info info;
    dvt_shader *missing = NULL, *cold = NULL;
    dvt_shader_status_t status;
    size_t size = 0;
    shader_info(&info, &code, 1);
    info.entry = (const uint8_t *)"other";
    info.entry_bytes = 5;
    CHECK(dvt_shader_create(context, &info, &missing) == DVT_NOT_CACHED && missing != NULL);
    CHECK(dvt_shader_wait(missing, 0) == DVT_NOT_CACHED);
    p->shaders[0] = missing;
    CHECK(dvt_pipeline_link_into(context, &p->info, NULL, &size) == DVT_NOT_CACHED);
    shader_info(&info, &code, 1);
    info.flags = DVT_SHADER_NO_DISK;
    /* The same request is in memory. */
    CHECK(dvt_shader_create(context, &info, &cold) == DVT_OK);
    status.size = sizeof status;
    CHECK(dvt_shader_status(cold, &status) == DVT_OK && status.state == DVT_STATE_READY && status.error == DVT_OK);
    CHECK(dvt_shader_status(missing, &status) == DVT_OK && status.state == DVT_STATE_NOT_CACHED);
    dvt_shader_destroy(cold);
    dvt_shader_destroy(missing);
    p->shaders[0] = there;
    free(code.at);
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : ".";
    struct bytes expect = read_file(dir, "expected.elf");
    dvt_context *context = make_context(dir);
    struct pipeline p;
    dvt_stats stats;
    dvt_key key, zero;
    dvt_pipeline *last = NULL;
    CHECK(dvt_abi_version() == DVT_ABI_VERSION);
    CHECK(dvt_target(10, 3, 3) == DVT_TARGET_GFX1033 && dvt_target(9, 0, 10) == 0);
    CHECK(dvt_target_of_pci(0x1002, 0x163f) == DVT_TARGET_GFX1033 && dvt_target_of_pci(0x1002, 0x687f) == 0);
    make_info(&p, context, dir);
    without_a_handle(context, &p, &expect);
    with_a_handle(context, &p, &expect);
    what_cannot_be_linked(context, &p, dir);
    what_is_missing(context, &p, dir);
    memset(&zero, 0, sizeof zero);
    CHECK(dvt_context_key(context, &key) == DVT_OK && memcmp(&key, &zero, sizeof key) != 0);
    CHECK(dvt_context_event_fd(context) >= 0);
    stats.size = sizeof stats;
    CHECK(dvt_context_stats(context, &stats) == DVT_OK);
    CHECK(stats.links >= 6 && stats.disk_hits == 3 && stats.bad == 0 && stats.needs_full_compile == 2);
    /* In any order of destruction, objects in use stay alive. */
    CHECK(dvt_pipeline_create(context, &p.info, &last) == DVT_OK);
    dvt_context_destroy(context);
    destroy_info(&p);
    CHECK(dvt_pipeline_generation(last) == 1 && dvt_pipeline_wait(last, 1, 0) == DVT_OK);
    dvt_pipeline_destroy(last);
    free(expect.at);
    return 0;
}
