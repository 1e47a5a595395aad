/* The library with dlopen: two copies at the same time, and opened and closed a thousand times. Arguments: the folder, the
 * library, a copy of it. */

#define _POSIX_C_SOURCE 200809L

#include "dovetail.h"

/* The functions of the current library, by name. */
struct table {
    void *library;
    void *functions[16];
};

static struct table *now;

typedef size_t (*last_error_fn)(char *, size_t);
typedef int32_t (*context_create_fn)(const dvt_context_info *, dvt_context **);
typedef void (*context_destroy_fn)(dvt_context *);
typedef int32_t (*layout_create_fn)(const dvt_layout_info *, dvt_layout **);
typedef void (*layout_destroy_fn)(dvt_layout *);
typedef int32_t (*shader_create_fn)(const dvt_context *, const dvt_shader_info *, dvt_shader **);
typedef void (*shader_destroy_fn)(dvt_shader *);
typedef int32_t (*pipeline_link_into_fn)(const dvt_context *, const dvt_pipeline_info *, void *, size_t *);

enum { F_last_error, F_context_create, F_context_destroy, F_layout_create, F_layout_destroy, F_shader_create,
       F_shader_destroy, F_pipeline_link_into, F_COUNT };

static const char *const names[F_COUNT] = { "dvt_last_error", "dvt_context_create", "dvt_context_destroy",
    "dvt_layout_create", "dvt_layout_destroy", "dvt_shader_create", "dvt_shader_destroy", "dvt_pipeline_link_into" };

#include <string.h>

/* Converts an object pointer to a function pointer, as POSIX prescribes for dlsym. */
#define DEFINE(f)                                                                \
    static f##_fn get_##f(void)                                                  \
    {                                                                            \
        f##_fn function;                                                         \
        memcpy(&function, &now->functions[F_##f], sizeof function);              \
        return function;                                                         \
    }

DEFINE(last_error)
DEFINE(context_create)
DEFINE(context_destroy)
DEFINE(layout_create)
DEFINE(layout_destroy)
DEFINE(shader_create)
DEFINE(shader_destroy)
DEFINE(pipeline_link_into)

#define DVT(f) get_##f()
#include "common.h"

#include <dlfcn.h>

static struct table open_library(const char *path)
{
    struct table table;
    int n;
    memset(&table, 0, sizeof table);
    table.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (table.library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    for (n = 0; n < F_COUNT; n++) {
        table.functions[n] = dlsym(table.library, names[n]);
        if (table.functions[n] == NULL) {
            fprintf(stderr, "%s: no %s\n", path, names[n]);
            exit(1);
        }
    }
    return table;
}

static void once(struct table *table, const char *dir, const struct bytes *expect)
{
    struct pipeline p;
    dvt_context *context;
    now = table;
    context = make_context(dir);
    make_info(&p, context, dir);
    link_and_compare(context, &p, expect);
    destroy_info(&p);
    DVT(context_destroy)(context);
}

int main(int argc, char **argv)
{
    struct bytes expect;
    struct table one, two;
    struct pipeline p, q;
    dvt_context *first, *second;
    char text[16];
    int n;
    if (argc != 4)
        return 2;
    expect = read_file(argv[1], "expected.elf");

    /* Two copies, each with a context on the same cache at the same time. */
    one = open_library(argv[2]);
    two = open_library(argv[3]);
    if (one.functions[0] == two.functions[0])
        return 3;
    now = &one;
    first = make_context(argv[1]);
    make_info(&p, first, argv[1]);
    now = &two;
    second = make_context(argv[1]);
    make_info(&q, second, argv[1]);
    now = &one;
    link_and_compare(first, &p, &expect);
    /* Each copy has its own error text. */
    CHECK(DVT(pipeline_link_into)(first, NULL, NULL, NULL) == DVT_E_ARGUMENT && DVT(last_error)(text, sizeof text) > 0);
    now = &two;
    CHECK(DVT(last_error)(text, sizeof text) == 0);
    link_and_compare(second, &q, &expect);
    destroy_info(&q);
    DVT(context_destroy)(second);
    now = &one;
    link_and_compare(first, &p, &expect);
    destroy_info(&p);
    DVT(context_destroy)(first);
    CHECK(dlclose(two.library) == 0 && dlclose(one.library) == 0);

    for (n = 0; n < 1000; n++) {
        one = open_library(argv[2]);
        once(&one, argv[1], &expect);
        if (dlclose(one.library) != 0)
            return 4;
    }
    free(expect.at);
    return 0;
}
