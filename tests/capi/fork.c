/* A child of a fork: inherited handles return DVT_E_ENVIRONMENT and can be destroyed, and a new context works. The parent
 * is not affected. */

#define _POSIX_C_SOURCE 200809L

#include "common.h"

#include <sys/wait.h>
#include <unistd.h>

static int child(const char *dir, dvt_context *context, struct pipeline *p, dvt_pipeline *pipeline, const struct bytes *expect)
{
    struct pipeline own;
    dvt_pipeline *made = NULL;
    dvt_pipeline_status_t status;
    dvt_context *fresh;
    dvt_layout *layout = p->layout;
    size_t size = 0;
    char text[256];
    status.size = sizeof status;
    CHECK(dvt_pipeline_link_into(context, &p->info, NULL, &size) == DVT_E_ENVIRONMENT);
    CHECK(dvt_last_error(text, sizeof text) > 0 && strstr(text, "before the fork") != NULL);
    CHECK(dvt_pipeline_create(context, &p->info, &made) == DVT_E_ENVIRONMENT && made == NULL);
    CHECK(dvt_pipeline_status(pipeline, &status) == DVT_E_ENVIRONMENT);
    CHECK(dvt_context_event_fd(context) == DVT_E_ENVIRONMENT);
    CHECK(dvt_shader_wait(p->shaders[0], 0) == DVT_E_ENVIRONMENT);
    size = 0;
    CHECK(dvt_context_export(context, NULL, &size) == DVT_E_ENVIRONMENT && size == 0);
    CHECK(dvt_context_import(context, "DVX", 3) == DVT_E_ENVIRONMENT);
    CHECK(dvt_pipeline_reason(pipeline, text, sizeof text) == 0 && dvt_context_service(context, text, sizeof text) == 0);
    CHECK(dvt_pipeline_generation(pipeline) == 1 && *dvt_pipeline_generation_at(pipeline) == 1);
    dvt_pipeline_used(pipeline, 1);
    dvt_pipeline_set_priority(pipeline, 1);
    dvt_pipeline_destroy(pipeline);
    dvt_shader_destroy((dvt_shader *)p->shaders[0]);
    dvt_shader_destroy((dvt_shader *)p->shaders[1]);
    dvt_context_destroy(context);
    fresh = make_context(dir);
    make_info(&own, fresh, dir);
    own.info.layout = layout;
    link_and_compare(fresh, &own, expect);
    dvt_layout_destroy(layout);
    destroy_info(&own);
    dvt_context_destroy(fresh);
    return 0;
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : ".";
    struct bytes expect = read_file(dir, "expected.elf");
    dvt_context *context = make_context(dir);
    struct pipeline p;
    dvt_pipeline *pipeline = NULL;
    int status = -1;
    pid_t pid;
    make_info(&p, context, dir);
    CHECK(dvt_pipeline_create(context, &p.info, &pipeline) == DVT_OK);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        return child(dir, context, &p, pipeline, &expect);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    link_and_compare(context, &p, &expect);
    dvt_pipeline_destroy(pipeline);
    destroy_info(&p);
    dvt_context_destroy(context);
    free(expect.at);
    return 0;
}
