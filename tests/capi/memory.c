/* Without memory for what the caller's sizes ask for, calls fail with DVT_E_MEMORY or work without, and nothing aborts.
 * Uses the static library, with malloc and its relatives wrapped by the linker. Argument: the folder. */

#define _POSIX_C_SOURCE 200809L

#include "common.h"

/* Requests of this size and more fail. */
static size_t most = (size_t)-1;
static unsigned long refused;

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
    if (size < most)
        return __real_malloc(size);
    refused++;
    return NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    if (size == 0 || count < most / size)
        return __real_calloc(count, size);
    refused++;
    return NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    if (size < most)
        return __real_realloc(old, size);
    refused++;
    return NULL;
}

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    if (size < most)
        return __real_posix_memalign(out, align, size);
    refused++;
    return 12;
}

#ifdef __cplusplus
}
#endif

/* A context with a service that is not there. */
static dvt_context *make_context_of_service(const char *dir)
{
    static char socket[4096];
    dvt_context_info info;
    dvt_context *context = NULL;
    sprintf(socket, "%.4000s/nobody.sock", dir);
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.socket = (const uint8_t *)socket;
    info.socket_bytes = strlen(socket);
    info.target = DVT_TARGET_GFX1030;
    CHECK(dvt_context_create(&info, &context) == DVT_OK);
    return context;
}

/* A module of 64 MiB, which a context with a service copies. */
static void a_large_module(const char *dir)
{
    dvt_context *context = make_context_of_service(dir);
    struct bytes small = read_file(dir, "vertex.spv"), large;
    dvt_shader_info info;
    dvt_shader *shader = NULL;
    size_t at;
    char text[256];
    large.size = 64u << 20;
    large.at = (unsigned char *)malloc(large.size);
    CHECK(large.at != NULL);
    memcpy(large.at, small.at, small.size);
    /* OpNop up to the end. */
    for (at = small.size; at < large.size; at += 4)
        memcpy(large.at + at, "\0\0\1\0", 4);
    shader_info(&info, &large, 1);
    most = 32u << 20;
    CHECK(dvt_shader_create(context, &info, &shader) == DVT_E_MEMORY && shader == NULL && refused == 1);
    dvt_last_error(text, sizeof text);
    CHECK(strstr(text, "out of memory") != NULL);
    most = (size_t)-1;
    /* The context is still good. */
    shader_info(&info, &small, 1);
    CHECK(dvt_shader_create(context, &info, &shader) >= DVT_OK);
    dvt_shader_destroy(shader);
    dvt_context_destroy(context);
    free(large.at);
    free(small.at);
}

/* Everything that links, with less and less memory for large things. */
static void links(const char *dir, size_t limit)
{
    dvt_context *context = make_context_with(dir, DVT_CONTEXT_EXPORT);
    dvt_layout *layout = make_layout();
    struct bytes vs = read_file(dir, "vertex.spv");
    dvt_shader_info info;
    dvt_shader *shader = NULL;
    uint8_t *copy;
    size_t size = 0;
    int32_t result;
    shader_info(&info, &vs, 1);
    most = limit;
    result = dvt_shader_create(context, &info, &shader);
    most = (size_t)-1;
    CHECK(result == DVT_OK || result == DVT_NOT_CACHED || result == DVT_E_MEMORY);
    CHECK(dvt_context_export(context, NULL, &size) == DVT_INCOMPLETE);
    copy = (uint8_t *)malloc(size);
    CHECK(copy != NULL && dvt_context_export(context, copy, &size) == DVT_OK);
    most = limit;
    result = dvt_context_import(context, copy, size);
    most = (size_t)-1;
    CHECK(result == DVT_OK || result == DVT_E_MEMORY);
    dvt_shader_destroy(shader);
    dvt_layout_destroy(layout);
    dvt_context_destroy(context);
    free(copy);
    free(vs.at);
}

int main(int argc, char **argv)
{
    size_t limit;
    CHECK(argc == 2);
    a_large_module(argv[1]);
    for (limit = 1u << 20; limit >= 1u << 15; limit /= 2)
        links(argv[1], limit);
    return 0;
}
