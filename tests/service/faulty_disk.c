/* Preloaded into a program: after each lock of a store, as many reads of its file fail as FAULTY_READS says. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

static long left;

int flock(int file, int operation)
{
    int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
    int result = next(file, operation);
    const char *faults = getenv("FAULTY_READS");
    if (result == 0 && (operation & LOCK_EX) && faults != NULL)
        left = atol(faults);
    return result;
}

static int fails(int file)
{
    char link[64], path[4096];
    ssize_t length;
    if (left <= 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    if (strstr(path, "data.mdb") == NULL)
        return 0;
    left--;
    errno = EIO;
    return 1;
}

ssize_t pread(int file, void *to, size_t size, off_t at)
{
    ssize_t (*next)(int, void *, size_t, off_t) = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    return fails(file) ? -1 : next(file, to, size, at);
}

ssize_t pread64(int file, void *to, size_t size, off64_t at)
{
    ssize_t (*next)(int, void *, size_t, off64_t) =
        (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    return fails(file) ? -1 : next(file, to, size, at);
}
