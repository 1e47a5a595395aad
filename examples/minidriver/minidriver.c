/* A frame loop from a driver's point of view: some work each frame, and new pipelines while it runs.
 *
 *     minidriver first|cold|warm --shaders DIR --cache DIR [--socket PATH] [--pipelines N] [--frames N]
 *                [--csv FILE] [--dump DIR] [--runs N]
 *
 * first  A frame that needs a pipeline waits until its shaders are compiled, like a game without a cache.
 * cold   Also an empty cache, but shaders are requested while the level loads and nothing waits; a pipeline is used from the
 *        first frame at which it is ready.
 * warm   Everything is in the cache. Shaders and pipelines are created in the frame that needs them, without a service.
 *
 * A frame is 1/60 second; it sleeps for the time left after its work. The frame time is the wall-clock time of the work.
 * --runs plays the level several times, each time with a new context (only for warm). A frame does the same work in each,
 * so the shortest of its times is the one that other programs on the machine have disturbed least.
 * ./dev minidriver runs all three modes and plots them. */

#define _POSIX_C_SOURCE 200809L

#include <dovetail.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_PIPELINES 320
#define FRAME_NS 16666667
/* The rooms of the level: each is entered at a certain frame and needs its pipelines from then on. */
#define ROOMS 40
/* Work of a frame without new pipelines: 5 ms. */
#define WORK_NS 5000000
#define ELF_BYTES (256 << 10)

enum mode { FIRST, COLD, WARM };

/* One pipeline of the level. */
struct draw {
    dvt_shader *vertex, *fragment;
    dvt_pipeline *pipeline;
    uint32_t uploaded;    /* generation on the GPU */
    unsigned wanted, got; /* frames */
};

struct game {
    enum mode mode;
    dvt_context *context;
    dvt_layout *layout;
    uint32_t *vertex_code, *fragment_code;
    size_t vertex_bytes, fragment_bytes;
    struct draw draws[MAX_PIPELINES];
    unsigned pipelines, frames;
    unsigned char *elf, *gpu;
    unsigned long steps, work;
    uint64_t *took, *shortest; /* of each frame: in this run, and in all; nanoseconds */
};

static void die(const char *what)
{
    char text[512];
    dvt_last_error(text, sizeof text);
    fprintf(stderr, "minidriver: %s %s\n", what, text);
    exit(1);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t until)
{
    struct timespec time;
    time.tv_sec = (time_t)(until / 1000000000u);
    time.tv_nsec = (long)(until % 1000000000u);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
        ;
}

/* The game's other work: arithmetic that the compiler cannot remove, because its result is used. */
static unsigned long work(unsigned long value, unsigned long steps)
{
    while (steps-- > 0) {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    return value;
}

/* Number of steps that take this long on this machine: from the fastest of several tries. */
static unsigned long calibrate(uint64_t nanoseconds)
{
    const unsigned long steps = 1000000;
    uint64_t best = UINT64_MAX;
    unsigned long value = 1;
    int n;
    for (n = 0; n < 20; n++) {
        uint64_t start = now(), took;
        value = work(value, steps);
        took = now() - start + (value == 0);
        if (took < best)
            best = took;
    }
    return (unsigned long)((double)steps * (double)nanoseconds / (double)best);
}

static uint32_t *read_words(const char *dir, const char *name, size_t *bytes)
{
    char path[4096];
    uint32_t *words = malloc(1 << 20);
    FILE *file;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "rb");
    if (file == NULL || words == NULL)
        die(path);
    *bytes = fread(words, 1, 1 << 20, file);
    fclose(file);
    return words;
}

static dvt_shader *make_shader(struct game *game, uint32_t stage, const dvt_spec *spec, uint32_t count)
{
    dvt_shader_info info = { .size = sizeof info, .stage = stage, .spec = spec, .spec_count = count };
    dvt_shader *shader = NULL;
    int result;
    info.code = stage == 1 ? game->vertex_code : game->fragment_code;
    info.code_bytes = stage == 1 ? game->vertex_bytes : game->fragment_bytes;
    /* If everything is cached, or the frame waits, no shader may stay missing. */
    result = dvt_shader_create(game->context, &info, &shader);
    if (shader == NULL || result < 0 || (game->mode == WARM && result != DVT_OK))
        die("a shader cannot be had:");
    return shader;
}

/* The shaders of pipeline n, of 8 vertex and 160 fragment shaders; no two pipelines have the same pair. */
static void make_shaders(struct game *game, unsigned n)
{
    unsigned vertex = n / 40 % 8, fragment = n % 160;
    dvt_spec of_vertex[2] = { { .id = 0, .value = vertex % 4 }, { .id = 1, .value = vertex / 4 } };
    dvt_spec of_fragment[3] = { { .id = 0, .value = 1 + fragment % 5 },
                                { .id = 1, .value = 1 + fragment / 5 % 8 },
                                { .id = 2, .value = fragment / 40 } };
    game->draws[n].vertex = make_shader(game, 1, of_vertex, 2);
    game->draws[n].fragment = make_shader(game, 16, of_fragment, 3);
}

/* The state of pipeline n: formats of the target and of texture coordinates, and blending. The first has those of state.toml. */
static void make_pipeline(struct game *game, unsigned n)
{
    /* R8G8B8A8_UNORM, B8G8R8A8_UNORM, R8G8B8A8_SRGB, R16G16B16A16_SFLOAT, A2B10G10R10_UNORM_PACK32 */
    static const uint32_t targets[5] = { 37, 44, 43, 97, 64 };
    /* R32G32_SFLOAT, R16G16_UNORM */
    static const uint32_t coordinates[2] = { 103, 77 };
    dvt_vertex_binding buffer = { .binding = 0, .stride = 32, .divisor = 1 };
    dvt_vertex_attribute attributes[3] = { { .location = 0, .format = 106, .offset = 0 }, /* R32G32B32_SFLOAT */
                                           { .location = 1, .format = 106, .offset = 12 },
                                           { .location = 2, .offset = 24 } };
    dvt_color_attachment target = { .location = 0, .write_mask = 15 };
    dvt_pipeline_info info = { .size = sizeof info, .layout = game->layout, .user = n };
    const dvt_shader *shaders[2] = { game->draws[n].vertex, game->draws[n].fragment };
    attributes[2].format = coordinates[n / 20 % 2];
    target.format = targets[n % 5];
    target.flags = n / 5 % 2 != 0 ? DVT_ATTACHMENT_BLEND | DVT_ATTACHMENT_BLEND_SOURCE_ALPHA : 0;
    /* Only the cold mode lets the service optimize in the background. */
    info.flags = game->mode == COLD ? 0 : DVT_PIPELINE_NO_OPTIMIZE;
    info.shaders = shaders;
    info.shader_count = 2;
    info.vertex_bindings = &buffer;
    info.vertex_binding_count = 1;
    info.vertex_attributes = attributes;
    info.vertex_attribute_count = 3;
    info.attachments = &target;
    info.attachment_count = 1;
    if (dvt_pipeline_create(game->context, &info, &game->draws[n].pipeline) < 0)
        die("a pipeline cannot be made:");
    if (game->mode == FIRST && dvt_pipeline_wait(game->draws[n].pipeline, 1, UINT64_MAX) != DVT_OK)
        die("a pipeline was waited for in vain:");
}

/* Copies the ELF to where the GPU would execute it. */
static void upload(struct game *game, struct draw *draw)
{
    size_t size = ELF_BYTES;
    if (dvt_pipeline_read(draw->pipeline, &draw->uploaded, game->elf, &size) != DVT_OK)
        die("a pipeline cannot be read:");
    memcpy(game->gpu, game->elf, size);
}

/* The frame that needs pipeline n: rooms are entered at regular intervals. */
static unsigned wanted(const struct game *game, unsigned n)
{
    unsigned room = n * ROOMS / game->pipelines;
    return (1 + room) * game->frames / (ROOMS + 1);
}

/* Runs one frame; returns how many of its pipelines are missing. */
static unsigned frame(struct game *game, unsigned number)
{
    unsigned n, missing = 0;
    game->work = work(game->work, game->steps);
    for (n = 0; n < game->pipelines; n++) {
        struct draw *draw = &game->draws[n];
        if (number < draw->wanted)
            break;
        if (draw->pipeline == NULL) {
            if (game->mode != COLD)
                make_shaders(game, n);
            make_pipeline(game, n);
        }
        if (dvt_pipeline_generation(draw->pipeline) != draw->uploaded) {
            if (draw->uploaded == 0)
                draw->got = number;
            upload(game, draw);
        }
        if (draw->uploaded != 0)
            dvt_pipeline_used(draw->pipeline, 1);
        else
            missing++;
    }
    return missing;
}

static void dump(struct game *game, const char *dir, unsigned n, uint32_t generation)
{
    static const char *names[] = { "first", "cold", "warm" };
    char path[4096];
    size_t size = ELF_BYTES;
    uint32_t of = 0;
    FILE *file;
    if (dvt_pipeline_read(game->draws[n].pipeline, &of, game->elf, &size) != DVT_OK || of != generation)
        return;
    snprintf(path, sizeof path, "%s/%u-%s-%u.elf", dir, n, names[game->mode], (unsigned)generation);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(game->elf, 1, size, file) != size || fclose(file) != 0)
        die(path);
}

/* Dumps pipelines to draw on the emulator: those with the state of the first and different shaders. */
static int is_drawn(unsigned n)
{
    return n % 120 == 0;
}

static void play(struct game *game, FILE *csv, const char *dumps)
{
    unsigned number, n;
    uint64_t begin = now();
    if (game->mode == COLD) {
        uint64_t start = now();
        for (n = 0; n < game->pipelines; n++)
            make_shaders(game, n);
        printf("loading: %.2f ms for %u shaders\n", (double)(now() - start) / 1e6, 2 * game->pipelines);
        begin = now();
    }
    if (csv != NULL)
        fprintf(csv, "frame,microseconds,missing\n");
    for (number = 0; number < game->frames; number++) {
        uint64_t start = now(), took;
        unsigned missing = frame(game, number);
        took = now() - start;
        game->took[number] = took;
        if (took < game->shortest[number])
            game->shortest[number] = took;
        if (csv != NULL)
            fprintf(csv, "%u,%llu,%u\n", number, (unsigned long long)(took / 1000), missing);
        for (n = 0; dumps != NULL && n < game->pipelines; n++)
            if (is_drawn(n) && game->draws[n].uploaded != 0 && game->draws[n].got == number)
                dump(game, dumps, n, 1);
        /* The next frame begins at the next vertical blank; missed ones are skipped. */
        while (begin + FRAME_NS < now())
            begin += FRAME_NS;
        begin += FRAME_NS;
        sleep_until(begin);
    }
    for (n = 0; dumps != NULL && game->mode == COLD && n < game->pipelines; n++)
        if (is_drawn(n) && dvt_pipeline_wait(game->draws[n].pipeline, 2, 20000000000u) == DVT_OK)
            dump(game, dumps, n, 2);
}

static int by_time(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* The longest frame as a multiple of the median. Sorts the times. */
static double longest(uint64_t *times, unsigned frames)
{
    qsort(times, frames, sizeof *times, by_time);
    return (double)times[frames - 1] / (double)times[frames / 2];
}

static void report(struct game *game)
{
    unsigned n, late = 0, most = 0, sum = 0;
    dvt_stats stats = { .size = sizeof stats };
    char service[256];
    for (n = 0; n < game->pipelines; n++) {
        struct draw *draw = &game->draws[n];
        unsigned by = draw->uploaded == 0 ? game->frames : draw->got - draw->wanted;
        late += by > 0;
        sum += by;
        most = by > most ? by : most;
    }
    dvt_context_stats(game->context, &stats);
    dvt_context_service(game->context, service, sizeof service);
    printf("%u pipelines; %u late, by %u frames together, by %u at most; linked %llu, generation 2: %llu; service: %s\n",
           game->pipelines, late, sum, most, (unsigned long long)stats.links, (unsigned long long)stats.optimized, service);
    printf("longest frame: %.2f times the median\n", longest(game->took, game->frames));
    if (game->work == 0)
        printf("no work was done\n");
}

int main(int argc, char **argv)
{
    static struct game game;
    dvt_context_info info = { .size = sizeof info, .target = DVT_TARGET_GFX1030 };
    dvt_binding scene = { .binding = 0, .descriptor_type = 6, .count = 1, .offset = DVT_AUTO };
    dvt_set set = { .set = 0, .root = DVT_AUTO, .bindings = &scene, .binding_count = 1 };
    dvt_layout_info layout = { .size = sizeof layout, .sets = &set, .set_count = 1, .push_constant_bytes = 16 };
    const char *shaders = NULL, *dumps = NULL, *csv_path = NULL;
    FILE *csv = NULL;
    unsigned n, runs = 1, run;
    int at;
    if (argc < 2)
        return 2;
    game.mode = strcmp(argv[1], "first") == 0 ? FIRST : strcmp(argv[1], "cold") == 0 ? COLD : WARM;
    game.pipelines = MAX_PIPELINES;
    game.frames = 600;
    for (at = 2; at + 1 < argc; at += 2) {
        const char *name = argv[at], *value = argv[at + 1];
        if (strcmp(name, "--shaders") == 0) {
            shaders = value;
        } else if (strcmp(name, "--cache") == 0) {
            info.cache_dir = (const uint8_t *)value;
            info.cache_dir_bytes = strlen(value);
        } else if (strcmp(name, "--socket") == 0) {
            info.socket = (const uint8_t *)value;
            info.socket_bytes = strlen(value);
        } else if (strcmp(name, "--csv") == 0) {
            csv_path = value;
        } else if (strcmp(name, "--dump") == 0) {
            dumps = value;
        } else if (strcmp(name, "--pipelines") == 0) {
            game.pipelines = (unsigned)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--frames") == 0) {
            game.frames = (unsigned)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--runs") == 0) {
            runs = (unsigned)strtoul(value, NULL, 10);
        } else {
            return 2;
        }
    }
    if (shaders == NULL || game.pipelines == 0 || game.pipelines > MAX_PIPELINES || game.frames == 0 || runs == 0 ||
        (runs > 1 && game.mode != WARM))
        return 2;
    info.app = (const uint8_t *)"minidriver";
    info.app_bytes = 10;
    layout.push_constant_root = DVT_AUTO;
    game.vertex_code = read_words(shaders, "scene.vert.spv", &game.vertex_bytes);
    game.fragment_code = read_words(shaders, "scene.frag.spv", &game.fragment_bytes);
    game.elf = malloc(ELF_BYTES);
    game.gpu = malloc(ELF_BYTES);
    game.took = malloc(game.frames * sizeof *game.took);
    game.shortest = malloc(game.frames * sizeof *game.shortest);
    if (game.elf == NULL || game.gpu == NULL || game.took == NULL || game.shortest == NULL ||
        dvt_layout_create(&layout, &game.layout) != DVT_OK)
        die("no memory:");
    for (n = 0; n < game.frames; n++)
        game.shortest[n] = UINT64_MAX;
    game.work = 1;
    game.steps = calibrate(WORK_NS);
    for (run = 0; run < runs; run++) {
        if (dvt_context_create(&info, &game.context) != DVT_OK)
            die("no context:");
        memset(game.draws, 0, sizeof game.draws);
        for (n = 0; n < game.pipelines; n++)
            game.draws[n].wanted = wanted(&game, n);
        if (csv_path != NULL && run == 0 && (csv = fopen(csv_path, "w")) == NULL)
            die(csv_path);
        play(&game, csv, dumps);
        report(&game);
        if (csv != NULL)
            fclose(csv);
        csv = NULL;
        for (n = 0; n < game.pipelines; n++) {
            dvt_pipeline_destroy(game.draws[n].pipeline);
            dvt_shader_destroy(game.draws[n].vertex);
            dvt_shader_destroy(game.draws[n].fragment);
        }
        dvt_context_destroy(game.context);
    }
    if (runs > 1)
        printf("of each frame's shortest time in %u runs: %.2f times\n", runs, longest(game.shortest, game.frames));
    dvt_layout_destroy(game.layout);
    free(game.took);
    free(game.shortest);
    free(game.vertex_code);
    free(game.fragment_code);
    free(game.elf);
    free(game.gpu);
    return 0;
}
