/* A context's parts are imported by another one, with the manual's function for drivers; damaged exports are rejected.
 * Argument: the folder. */

#include "common.h"

/* From docs/capi.md. */
#include "manual.h"

static dvt_context *empty_context(void)
{
    dvt_context_info info;
    dvt_context *context = NULL;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.target = DVT_TARGET_GFX1030;
    CHECK(dvt_context_create(&info, &context) == DVT_OK);
    return context;
}

static dvt_stats stats_of(const dvt_context *context)
{
    dvt_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.size = sizeof stats;
    CHECK(dvt_context_stats(context, &stats) == DVT_OK);
    return stats;
}

static void arguments(const dvt_context *context, unsigned char *data, size_t size)
{
    size_t room = size;
    CHECK(dvt_context_export(NULL, data, &room) == DVT_E_ARGUMENT);
    CHECK(dvt_context_export(context, data, NULL) == DVT_E_ARGUMENT);
    CHECK(dvt_context_export(context, data, (size_t *)(void *)((char *)&room + 1)) == DVT_E_ARGUMENT);
    room = SIZE_MAX;
    CHECK(dvt_context_export(context, data, &room) == DVT_E_ARGUMENT);
    CHECK(dvt_context_import(NULL, data, size) == DVT_E_ARGUMENT);
    CHECK(dvt_context_import(context, NULL, size) == DVT_E_ARGUMENT);
    CHECK(dvt_context_import(context, data, SIZE_MAX) == DVT_E_ARGUMENT);
    CHECK(dvt_context_import(context, NULL, 0) == DVT_E_MALFORMED);
}

int main(int argc, char **argv)
{
    static const uint8_t header[32] = {32, 0, 0, 0, 1, 0, 0, 0};
    const char *dir = argc > 1 ? argv[1] : ".";
    dvt_context *context = make_context_with(dir, DVT_CONTEXT_EXPORT), *other = empty_context();
    struct bytes expect = read_file(dir, "expected.elf");
    struct pipeline p;
    unsigned char *data;
    size_t size = 0, room, n;
    make_info(&p, context, dir);

    /* As an application calls vkGetPipelineCacheData. */
    CHECK(get_cache_data(context, header, NULL, &size) == DVT_OK && size > 32 + 2 * 1000);
    data = (unsigned char *)malloc(size + 1);
    CHECK(data != NULL);
    for (n = 0; n < size; n += n < 64 ? 1 : 97) {
        memset(data, 0xee, size);
        room = n;
        CHECK(get_cache_data(context, header, data, &room) == DVT_INCOMPLETE && room == 0 && data[0] == 0xee);
    }
    room = size;
    CHECK(get_cache_data(context, header, data, &room) == DVT_OK && room == size);
    CHECK(memcmp(data, header, 32) == 0);
    arguments(other, data + 32, size - 32);

    /* A damaged export has no effect. */
    for (n = 32; n < size; n += 53) {
        data[n] ^= 4;
        CHECK(dvt_context_import(other, data + 32, size - 32) < 0);
        data[n] ^= 4;
        CHECK(dvt_context_import(other, data + 32, n - 32) == DVT_E_MALFORMED);
    }
    CHECK(stats_of(other).imported == 0 && stats_of(other).imports_refused > 60);

    /* A process without a cache. */
    CHECK(dvt_context_import(other, data + 32, size - 32) == DVT_OK);
    CHECK(stats_of(other).imported == 2 && stats_of(other).left_out == 0);
    destroy_info(&p);
    dvt_context_destroy(context);
    make_info(&p, other, dir);
    link_and_compare(other, &p, &expect);
    CHECK(stats_of(other).memory_hits == 2 && stats_of(other).disk_hits == 0);
    CHECK(get_cache_data(other, header, NULL, &room) == DVT_E_UNSUPPORTED);
    /* At any address. */
    memmove(data + 1, data, size);
    CHECK(dvt_context_import(other, data + 33, size - 32) == DVT_OK && stats_of(other).imported == 2);
    destroy_info(&p);
    dvt_context_destroy(other);
    free(data);
    free(expect.at);
    return 0;
}
