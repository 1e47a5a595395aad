/* For benches/runtime.rs: times in nanoseconds, one per line. Arguments: the folder and the number of links. */

#define _POSIX_C_SOURCE 200809L

#include "common.h"

#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *what, double *times, size_t count)
{
    qsort(times, count, sizeof *times, compare);
    printf("%s\t%.0f\t%.0f\n", what, times[count / 2], times[count * 99 / 100]);
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : ".";
    size_t runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000, n;
    struct bytes expect = read_file(dir, "expected.elf");
    dvt_context *context = make_context(dir);
    double *times = (double *)malloc(runs * sizeof *times), start;
    unsigned char *out = (unsigned char *)malloc(expect.size);
    struct pipeline p;
    dvt_pipeline *pipeline = NULL;
    uint32_t plain = 1, sum = 0;
    const uint32_t *at;
    CHECK(times != NULL && out != NULL && runs > 0);
    make_info(&p, context, dir);
    link_and_compare(context, &p, &expect);
    for (n = 0; n < runs; n++) {
        size_t size = expect.size;
        start = now();
        CHECK(dvt_pipeline_link_into(context, &p.info, out, &size) == DVT_OK);
        times[n] = now() - start;
    }
    print("dvt_pipeline_link_into", times, runs);
    for (n = 0; n < runs; n++) {
        start = now();
        CHECK(dvt_pipeline_create(context, &p.info, &pipeline) == DVT_OK);
        times[n] = now() - start;
        dvt_pipeline_destroy(pipeline);
    }
    print("dvt_pipeline_create", times, runs);
    CHECK(dvt_pipeline_create(context, &p.info, &pipeline) == DVT_OK);
    start = now();
    for (n = 0; n < 1000 * runs; n++)
        sum += dvt_pipeline_generation(pipeline);
    printf("dvt_pipeline_generation\t%.2f\n", (now() - start) / (double)(1000 * runs));
    at = dvt_pipeline_generation_at(pipeline);
    start = now();
    for (n = 0; n < 1000 * runs; n++)
        sum += __atomic_load_n(at, __ATOMIC_RELAXED);
    printf("a load from dvt_pipeline_generation_at\t%.2f\n", (now() - start) / (double)(1000 * runs));
    start = now();
    for (n = 0; n < 1000 * runs; n++)
        sum += dvt_abi_version();
    printf("a call that does nothing\t%.2f\n", (now() - start) / (double)(1000 * runs));
    start = now();
    for (n = 0; n < 1000 * runs; n++)
        sum += __atomic_load_n(&plain, __ATOMIC_RELAXED);
    printf("a relaxed load\t%.2f\n", (now() - start) / (double)(1000 * runs));
    CHECK(sum == (uint32_t)(4000 * runs));
    dvt_pipeline_destroy(pipeline);
    destroy_info(&p);
    dvt_context_destroy(context);
    free(times);
    free(out);
    free(expect.at);
    return 0;
}
