/* Preloaded into a service: reads, or writes, of files in a folder `cache` do not return while a file with that name
   exists in the folder that SLOW_DISK names. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *folder;

/* Workers, which may not open files, have another command. */
__attribute__((constructor)) static void begin(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "serve") == 0)
        folder = getenv("SLOW_DISK");
}

static void wait_while(const char *what)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, what);
    while (access(path, F_OK) == 0)
        usleep(2000);
}

static void hold_path(const char *path, const char *what)
{
    int before = errno;
    if (folder != NULL && strstr(path, "/cache/") != NULL)
        wait_while(what);
    errno = before;
}

static void hold(int file, const char *what)
{
    char link[64], path[4096];
    int before = errno;
    ssize_t length;
    if (folder == NULL)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        hold_path(path, what);
    }
    errno = before;
}

/* Defines a function that waits and then calls the next one of this name. */
#define HELD(type, name, parameters, arguments, wait) \
    type name parameters                              \
    {                                                 \
        static type(*next) parameters;                \
        if (next == NULL)                             \
            *(void **)&next = dlsym(RTLD_NEXT, #name); \
        wait;                                         \
        return next arguments;                        \
    }

HELD(ssize_t, read, (int file, void *to, size_t size), (file, to, size), hold(file, "reads"))
HELD(ssize_t, pread, (int file, void *to, size_t size, off_t at), (file, to, size, at), hold(file, "reads"))
HELD(ssize_t, pread64, (int file, void *to, size_t size, off64_t at), (file, to, size, at), hold(file, "reads"))
HELD(ssize_t, write, (int file, const void *of, size_t size), (file, of, size), hold(file, "writes"))
HELD(ssize_t, pwrite, (int file, const void *of, size_t size, off_t at), (file, of, size, at), hold(file, "writes"))
HELD(ssize_t, pwrite64, (int file, const void *of, size_t size, off64_t at), (file, of, size, at), hold(file, "writes"))
HELD(ssize_t, writev, (int file, const struct iovec *of, int count), (file, of, count), hold(file, "writes"))
HELD(ssize_t, pwritev, (int file, const struct iovec *of, int count, off_t at), (file, of, count, at), hold(file, "writes"))
HELD(int, fsync, (int file), (file), hold(file, "writes"))
HELD(int, fdatasync, (int file), (file), hold(file, "writes"))

int open64(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list arguments;
    int mode;
    va_start(arguments, flags);
    mode = va_arg(arguments, int);
    va_end(arguments);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "open64");
    hold_path(path, (flags & O_ACCMODE) == O_RDONLY ? "reads" : "writes");
    return next(path, flags, mode);
}
