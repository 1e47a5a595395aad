/* Threads with 64 KiB of stack create shaders and link concurrently; signal settings stay, and no signal is sent. */

#define _POSIX_C_SOURCE 200809L

#include "common.h"

#include <pthread.h>
#include <signal.h>

#define THREADS 8

static const char *folder;
static struct bytes expected;
static dvt_context *shared;

static void *links(void *unused)
{
    struct pipeline p;
    dvt_pipeline *pipeline = NULL;
    dvt_context *own = make_context(folder);
    char text[64];
    int n;
    (void)unused;
    for (n = 0; n < 50; n++) {
        dvt_context *context = n % 5 == 0 ? own : shared;
        make_info(&p, context, folder);
        link_and_compare(context, &p, &expected);
        CHECK(dvt_pipeline_create(context, &p.info, &pipeline) == DVT_OK);
        destroy_info(&p);
        CHECK(dvt_pipeline_wait(pipeline, 1, 0) == DVT_OK);
        dvt_pipeline_destroy(pipeline);
    }
    dvt_context_destroy(own);
    /* Each thread has its own text. */
    CHECK(dvt_pipeline_wait(NULL, 1, 0) == DVT_E_ARGUMENT && dvt_last_error(text, sizeof text) > 0);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t threads[THREADS];
    struct sigaction action;
    sigset_t blocked;
    int n;
    folder = argc > 1 ? argv[1] : ".";
    expected = read_file(folder, "expected.elf");
    shared = make_context(folder);
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
    for (n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], &attributes, links, NULL) == 0);
    for (n = 0; n < THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    CHECK(dvt_last_error(NULL, 0) == 0);
    CHECK(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGBUS, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 && sigismember(&blocked, SIGPIPE) == 0);
    dvt_context_destroy(shared);
    free(expected.at);
    return 0;
}
