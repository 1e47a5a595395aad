/* A program with a service: a miss is pending, an event reports the part, a whole-pipeline compile and better code arrive
 * by themselves, and a fork does not affect the parent's service. The service is the test's: it answers for vertex.spv and
 * fragment.spv, and offers better code. The cache is empty. Argument: the folder. */

#define _POSIX_C_SOURCE 200809L

#include "common.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static dvt_shader *ask(dvt_context *context, const char *dir, const char *name, uint32_t stage)
{
    struct bytes code = read_file(dir, name);
    dvt_shader_info info;
    dvt_shader *shader = NULL;
    int result;
    shader_info(&info, &code, stage);
    info.user = stage;
    result = dvt_shader_create(context, &info, &shader);
    /* With a fast service. */
    CHECK((result == DVT_PENDING || result == DVT_OK) && shader != NULL);
    free(code.at);
    return shader;
}

static dvt_event await_event(dvt_context *context, uint32_t kind)
{
    dvt_event event;
    struct pollfd polled;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    polled.fd = dvt_context_event_fd(context);
    polled.events = POLLIN;
    CHECK(polled.fd >= 0);
    do {
        CHECK(poll(&polled, 1, 20000) == 1);
        CHECK(dvt_context_next_event(context, &event) == DVT_OK);
    } while (event.kind != kind);
    return event;
}

static int child(dvt_context *context, struct pipeline *p, dvt_pipeline *pipeline)
{
    dvt_stats stats;
    stats.size = sizeof stats;
    CHECK(dvt_context_stats(context, &stats) == DVT_E_ENVIRONMENT);
    CHECK(dvt_shader_wait(p->shaders[0], 0) == DVT_E_ENVIRONMENT);
    CHECK(dvt_pipeline_wait(pipeline, 2, 0) == DVT_E_ENVIRONMENT);
    dvt_pipeline_destroy(pipeline);
    destroy_info(p);
    dvt_context_destroy(context);
    return 0;
}

/* A process that cannot connect gets a connection from one that can, as a descriptor that it keeps. */
static void inherited(const char *dir, const char *path)
{
    struct sockaddr_un address;
    dvt_context_info info;
    dvt_context *context = NULL;
    dvt_shader *shader;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    CHECK(strlen(path) < sizeof address.sun_path);
    strcpy(address.sun_path, path);
    CHECK(fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)&address, sizeof address) == 0);
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.flags = DVT_CONTEXT_SOCKET_FD;
    info.target = DVT_TARGET_GFX1030;
    info.socket_fd = fd;
    CHECK(dvt_context_create(&info, &context) == DVT_OK);
    CHECK(close(fd) == 0);
    shader = ask(context, dir, "vertex.spv", 1);
    CHECK(dvt_shader_wait(shader, 20000000000u) == DVT_OK);
    dvt_shader_destroy(shader);
    dvt_context_destroy(context);
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : ".";
    struct bytes expect = read_file(dir, "expected.elf");
    char cache[4096], path[4096], text[256];
    dvt_context_info info;
    dvt_context *context = NULL;
    dvt_pipeline *pipeline = NULL;
    dvt_pipeline_status_t status;
    dvt_event event;
    dvt_stats stats;
    struct pipeline p;
    uint32_t generation = 0;
    size_t size = 0;
    int result, exited = -1;
    uint8_t *elf;
    pid_t pid;
    sprintf(cache, "%.4000s/empty", dir);
    sprintf(path, "%.4000s/socket", dir);
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.target = DVT_TARGET_GFX1030;
    info.cache_dir = (const uint8_t *)cache;
    info.cache_dir_bytes = strlen(cache);
    info.socket = (const uint8_t *)path;
    info.socket_bytes = strlen(path);
    info.app = (const uint8_t *)"service.c";
    info.app_bytes = 9;
    CHECK(dvt_context_create(&info, &context) == DVT_OK);
    CHECK(dvt_context_service(context, text, sizeof text) > 0 && strcmp(text, "nothing was requested yet") == 0);
    pipeline_info(&p, ask(context, dir, "vertex.spv", 1), ask(context, dir, "fragment.spv", 16));
    result = dvt_pipeline_create(context, &p.info, &pipeline);
    CHECK((result == DVT_PENDING || result == DVT_OK) && pipeline != NULL);
    CHECK(dvt_pipeline_wait(pipeline, 1, 20000000000u) == DVT_OK);
    CHECK(await_event(context, DVT_EVENT_SERVICE).generation == 1);
    CHECK(await_event(context, DVT_EVENT_SHADER).result == DVT_OK);
    /* The second generation, observed only by events. */
    do {
        event = await_event(context, DVT_EVENT_PIPELINE);
        CHECK(event.user == 42 && event.result == DVT_OK && event.generation > generation);
        generation = event.generation;
    } while (generation < 2);
    CHECK(dvt_pipeline_generation(pipeline) == 2 && *dvt_pipeline_generation_at(pipeline) == 2);
    CHECK(dvt_pipeline_read(pipeline, &generation, NULL, &size) == DVT_INCOMPLETE && generation == 2);
    elf = (uint8_t *)malloc(size);
    CHECK(elf != NULL && dvt_pipeline_read(pipeline, &generation, elf, &size) == DVT_OK);
    CHECK(size != expect.size || memcmp(elf, expect.at, size) != 0);
    free(elf);
    memset(&status, 0, sizeof status);
    status.size = sizeof status;
    CHECK(dvt_pipeline_status(pipeline, &status) == DVT_OK);
    CHECK(status.route == DVT_ROUTE_OPTIMIZED && status.optimization == DVT_OPTIMIZATION_TAKEN);
    CHECK(dvt_pipeline_reason(pipeline, text, sizeof text) > 0 && strstr(text, "in a test") != NULL);
    memset(&stats, 0, sizeof stats);
    stats.size = sizeof stats;
    CHECK(dvt_context_stats(context, &stats) == DVT_OK);
    CHECK(stats.asked == 3 && stats.failed == 0 && stats.optimized == 1);
    CHECK(stats.service == DVT_SERVICE_CONNECTED);
    /* A caller of version 1 has no space for later fields. */
    stats.size = (uint32_t)((char *)&stats.asked - (char *)&stats);
    stats.asked = 77;
    CHECK(dvt_context_stats(context, &stats) == DVT_OK && stats.asked == 77);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        return child(context, &p, pipeline);
    CHECK(waitpid(pid, &exited, 0) == pid && WIFEXITED(exited) && WEXITSTATUS(exited) == 0);
    CHECK(dvt_pipeline_wait(pipeline, 2, 0) == DVT_OK);
    dvt_pipeline_destroy(pipeline);
    destroy_info(&p);
    dvt_context_destroy(context);
    inherited(dir, path);
    free(expect.at);
    return 0;
}
