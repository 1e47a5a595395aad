/* A link without a handle allocates nothing once its thread has made similar links; and the heap memory that a handle
 * occupies. Uses the static library, with malloc and its relatives wrapped by the linker. Argument: the folder. */

#define _POSIX_C_SOURCE 200809L

#include "common.h"

#include <malloc.h>

static unsigned long calls;
static long held;

/* Adds this number of bytes to the total; may be negative. */
static void *holds(void *at)
{
    held += (long)malloc_usable_size(at);
    return at;
}

#ifdef __cplusplus
extern "C" {
#endif

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void __real_free(void *at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);
void __wrap_free(void *at);

void *__wrap_malloc(size_t size)
{
    calls++;
    return holds(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    calls++;
    return holds(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    calls++;
    held -= (long)malloc_usable_size(old);
    return holds(__real_realloc(old, size));
}

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    calls++;
    {
        int failed = __real_posix_memalign(out, align, size);
        if (!failed)
            holds(*out);
        return failed;
    }
}

void __wrap_free(void *at)
{
    held -= (long)malloc_usable_size(at);
    __real_free(at);
}

#ifdef __cplusplus
}
#endif

#define HANDLES 100

/* Bytes per handle of one kind, without parts: these are shared, and counted in the statistics. */
static void what_handles_hold(dvt_context *context, const char *dir, struct pipeline *p, const struct bytes *expect)
{
    static dvt_pipeline *pipelines[HANDLES];
    static dvt_shader *shaders[HANDLES];
    dvt_context *cold = make_context(dir);
    dvt_stats stats;
    unsigned char *out = (unsigned char *)malloc(expect->size);
    long before, part, shader, kept, given;
    size_t size;
    int n;
    CHECK(out != NULL);
    memset(&stats, 0, sizeof stats);
    stats.size = sizeof stats;
    before = held;
    shaders[0] = make_shader(cold, dir, "vertex.spv", 1);
    part = held - before;
    CHECK(dvt_context_stats(cold, &stats) == DVT_OK);
    dvt_shader_destroy(shaders[0]);
    dvt_context_destroy(cold);
    before = held;
    for (n = 0; n < HANDLES; n++)
        shaders[n] = make_shader(context, dir, "vertex.spv", 1);
    shader = (held - before) / HANDLES;
    before = held;
    for (n = 0; n < HANDLES; n++)
        CHECK(dvt_pipeline_create(context, &p->info, &pipelines[n]) == DVT_OK);
    kept = (held - before) / HANDLES;
    for (n = 0; n < HANDLES; n++)
        dvt_pipeline_destroy(pipelines[n]);
    CHECK(held == before);
    p->info.flags = DVT_PIPELINE_READ_ONCE;
    for (n = 0; n < HANDLES; n++) {
        dvt_pipeline_status_t status;
        memset(&status, 0, sizeof status);
        status.size = sizeof status;
        CHECK(dvt_pipeline_create(context, &p->info, &pipelines[n]) == DVT_OK);
        size = expect->size - 1;
        CHECK(dvt_pipeline_read(pipelines[n], NULL, out, &size) == DVT_INCOMPLETE && size == expect->size);
        memset(out, 0, size);
        CHECK(dvt_pipeline_read(pipelines[n], NULL, out, &size) == DVT_OK && memcmp(out, expect->at, size) == 0);
        CHECK(dvt_pipeline_read(pipelines[n], NULL, out, &size) == DVT_PENDING);
        CHECK(dvt_pipeline_status(pipelines[n], &status) == DVT_OK);
        CHECK(status.state == DVT_STATE_READY && status.generation == 1 && status.bytes == 0);
    }
    given = (held - before) / HANDLES;
    p->info.flags = 0;
    printf("bytes of a shader %ld, of a pipeline %ld with an ELF of %lu, %ld without, of a part of %lu %ld\n", shader, kept,
           (unsigned long)expect->size, given, (unsigned long)stats.memory_bytes, part - shader);
    CHECK(shader < 1024 && given < 2048 && kept >= given + (long)expect->size);
    for (n = 0; n < HANDLES; n++) {
        dvt_pipeline_destroy(pipelines[n]);
        dvt_shader_destroy(shaders[n]);
    }
    free(out);
}

int main(int argc, char **argv)
{
    struct bytes expect;
    dvt_context *context;
    dvt_pipeline *pipeline = NULL;
    struct pipeline p;
    unsigned char *out;
    size_t size;
    int n;
    if (argc != 2)
        return 2;
    expect = read_file(argv[1], "expected.elf");
    context = make_context(argv[1]);
    make_info(&p, context, argv[1]);
    out = (unsigned char *)malloc(expect.size);
    CHECK(out != NULL);
    for (n = 0; n < 3; n++) {
        size = expect.size;
        calls = 0;
        CHECK(dvt_pipeline_link_into(context, &p.info, out, &size) == DVT_OK);
        /* The first link creates plans, so counting must work here. */
        CHECK(n == 0 ? calls > 0 : calls == 0);
    }
    CHECK(dvt_pipeline_create(context, &p.info, &pipeline) == DVT_OK);
    calls = 0;
    for (n = 0; n < 1000; n++) {
        CHECK(dvt_pipeline_generation(pipeline) == 1);
        dvt_pipeline_used(pipeline, 1);
        size = expect.size;
        CHECK(dvt_pipeline_read(pipeline, NULL, out, &size) == DVT_OK);
    }
    CHECK(calls == 0);
    dvt_pipeline_destroy(pipeline);
    what_handles_hold(context, argv[1], &p, &expect);
    destroy_info(&p);
    dvt_context_destroy(context);
    free(out);
    free(expect.at);
    return 0;
}
