/* Shared by the C programs: checks that print their line, files, and the pipeline of tests/support/link_support.rs.
 * DVT(f) calls a function of the library: directly, or through a table if it was loaded. */

#ifndef COMMON_H
#define COMMON_H

#include "dovetail.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DVT
#define DVT(f) dvt_##f
#endif

static void fail(const char *file, int line, const char *what)
{
    char text[512];
    text[0] = 0;
    DVT(last_error)(text, sizeof text);
    fprintf(stderr, "%s:%d: %s\n  last error: %s\n", file, line, what, text);
    exit(1);
}

#define CHECK(what) ((what) ? (void)0 : fail(__FILE__, __LINE__, #what))

struct bytes {
    unsigned char *at;
    size_t size;
};

static struct bytes read_file(const char *dir, const char *name)
{
    char path[4096];
    struct bytes out;
    FILE *file;
    long size;
    sprintf(path, "%.2000s/%.2000s", dir, name);
    file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    out.size = (size_t)size;
    out.at = (unsigned char *)malloc(out.size + 1);
    if (out.at == NULL || fread(out.at, 1, out.size, file) != out.size) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return out;
}

static dvt_context *make_context_with(const char *dir, uint32_t flags)
{
    char cache[4096];
    dvt_context_info info;
    dvt_context *context = NULL;
    sprintf(cache, "%.4000s/cache", dir);
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.flags = flags;
    info.cache_dir = (const uint8_t *)cache;
    info.cache_dir_bytes = strlen(cache);
    info.target = DVT_TARGET_GFX1030;
    CHECK(DVT(context_create)(&info, &context) == DVT_OK);
    return context;
}

static dvt_context *make_context(const char *dir)
{
    return make_context_with(dir, 0);
}

/* The layout of link_support::state(). */
static dvt_layout *make_layout(void)
{
    static const uint32_t types[4] = {6, 1, 9, 5};
    dvt_binding bindings[4];
    dvt_set sets[2];
    dvt_layout_info info;
    dvt_layout *layout = NULL;
    uint32_t n;
    memset(bindings, 0, sizeof bindings);
    memset(sets, 0, sizeof sets);
    memset(&info, 0, sizeof info);
    for (n = 0; n < 4; n++) {
        bindings[n].binding = n;
        bindings[n].descriptor_type = types[n];
        bindings[n].count = 2;
        bindings[n].offset = DVT_AUTO;
    }
    sets[0].root = sets[1].root = DVT_AUTO;
    sets[0].bindings = bindings;
    sets[0].binding_count = 4;
    sets[1].set = 1;
    info.size = sizeof info;
    info.sets = sets;
    info.set_count = 2;
    info.push_constant_bytes = 16;
    info.push_constant_root = DVT_AUTO;
    CHECK(DVT(layout_create)(&info, &layout) == DVT_OK);
    return layout;
}

static void shader_info(dvt_shader_info *info, const struct bytes *code, uint32_t stage)
{
    memset(info, 0, sizeof *info);
    info->size = sizeof *info;
    /* malloc aligns for any type. */
    info->code = (const uint32_t *)(const void *)code->at;
    info->code_bytes = code->size;
    info->stage = stage;
}

static dvt_shader *make_shader(dvt_context *context, const char *dir, const char *name, uint32_t stage)
{
    struct bytes code = read_file(dir, name);
    dvt_shader_info info;
    dvt_shader *shader = NULL;
    shader_info(&info, &code, stage);
    CHECK(DVT(shader_create)(context, &info, &shader) == DVT_OK);
    free(code.at);
    return shader;
}

/* The pipeline of link_support::state(), and what it points to. */
struct pipeline {
    const dvt_shader *shaders[2];
    dvt_vertex_binding buffer;
    dvt_vertex_attribute attribute;
    dvt_color_attachment attachment;
    dvt_layout *layout;
    dvt_pipeline_info info;
};

static void pipeline_info(struct pipeline *p, const dvt_shader *vertex, const dvt_shader *fragment)
{
    memset(p, 0, sizeof *p);
    p->shaders[0] = vertex;
    p->shaders[1] = fragment;
    p->buffer.stride = 16;
    p->buffer.divisor = 1;
    p->attribute.format = 109; /* VK_FORMAT_R32G32B32A32_SFLOAT */
    p->attachment.format = 37; /* VK_FORMAT_R8G8B8A8_UNORM */
    p->attachment.write_mask = 15;
    p->layout = make_layout();
    p->info.size = sizeof p->info;
    p->info.shaders = p->shaders;
    p->info.shader_count = 2;
    p->info.layout = p->layout;
    p->info.vertex_bindings = &p->buffer;
    p->info.vertex_binding_count = 1;
    p->info.vertex_attributes = &p->attribute;
    p->info.vertex_attribute_count = 1;
    p->info.attachments = &p->attachment;
    p->info.attachment_count = 1;
    p->info.samples = 4;
    p->info.device_index = 3;
    p->info.user = 42;
}

static void make_info(struct pipeline *p, dvt_context *context, const char *dir)
{
    dvt_shader *vertex = make_shader(context, dir, "vertex.spv", 1);
    pipeline_info(p, vertex, make_shader(context, dir, "fragment.spv", 16));
}

static void destroy_info(struct pipeline *p)
{
    DVT(shader_destroy)((dvt_shader *)p->shaders[0]);
    DVT(shader_destroy)((dvt_shader *)p->shaders[1]);
    DVT(layout_destroy)(p->layout);
}

/* Links without a handle, and compares the bytes with those of the Rust link. */
static void link_and_compare(dvt_context *context, const struct pipeline *p, const struct bytes *expect)
{
    size_t size = expect->size + 64;
    unsigned char *out = (unsigned char *)malloc(size);
    CHECK(out != NULL);
    CHECK(DVT(pipeline_link_into)(context, &p->info, out, &size) == DVT_OK);
    CHECK(size == expect->size);
    CHECK(memcmp(out, expect->at, size) == 0);
    free(out);
}

#endif
