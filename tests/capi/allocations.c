/* How often a link without a handle asks for memory, once its thread has linked the like before: never. For the static
 * library, with malloc and its like wrapped by the linker. Argument: the folder. */

#define _POSIX_C_SOURCE 200809L

#include "common.h"

static unsigned long calls;

#ifdef __cplusplus
extern "C" {
#endif

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
    calls++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    calls++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    calls++;
    return __real_realloc(old, size);
}

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    calls++;
    return __real_posix_memalign(out, align, size);
}

#ifdef __cplusplus
}
#endif

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
        /* The first link makes plans, so the count counts. */
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
    destroy_info(&p);
    dvt_context_destroy(context);
    free(out);
    free(expect.at);
    return 0;
}
