/* Preloaded into a service: when a worker reads its first request, with its sandbox in force, this tries what code that
   has taken over the worker would try. It says on standard error what was not refused, and ends the worker. */

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than the numbers that a kernel has. */
#define CALLS 1024

static int is_worker;
static pid_t parent;
static char report[4096];

__attribute__((constructor)) static void begin(int argc, char **argv)
{
    is_worker = argc > 1 && strcmp(argv[1], "worker") == 0;
    /* What whoever starts the service may leave open. */
    if (argc > 1 && strcmp(argv[1], "serve") == 0)
        fcntl(open("/dev/null", O_RDONLY), F_DUPFD, 9);
    parent = getppid();
}

static void found(const char *what)
{
    size_t length = strlen(report);
    snprintf(report + length, sizeof report - length, "%s%s", length > 0 ? ", " : "", what);
}

/* Refused is what the filter answers, and nothing that the kernel itself says of the arguments. */
static int refused(long result)
{
    return result == -1 && errno == ENOSYS;
}

#define TRY(what, ...)                \
    do {                              \
        if (!refused(syscall(__VA_ARGS__))) \
            found(what);              \
    } while (0)

/* Made by a call that could have started a process: the child ends at once. */
static void try_process(const char *what, long result)
{
    if (result == 0)
        _exit(0);
    if (!refused(result))
        found(what);
}

static void by_name(void)
{
    static const char own[] = "/proc/self/status", file[] = "/tmp/dovetail-escape";
    static char stack[1 << 16];
    struct timespec times[2] = { { 0, 0 }, { 0, 0 } };
    struct rlimit limit = { 1, 1 };
    unsigned long mask = 1;
    struct { unsigned long long words[11]; } arguments = { { 0 } };
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    TRY("open a file", SYS_openat, AT_FDCWD, own, O_RDONLY);
    TRY("make a file", SYS_openat, AT_FDCWD, file, O_CREAT | O_RDWR, 0600);
    TRY("see a file", SYS_newfstatat, AT_FDCWD, own, stack, 0);
    TRY("fchmodat2", 452, AT_FDCWD, file, 0600, 0);
    TRY("fchmod of a pipe", SYS_fchmod, 1, 0600);
    TRY("fchownat", SYS_fchownat, AT_FDCWD, file, -1, -1, 0);
    TRY("utimensat", SYS_utimensat, AT_FDCWD, file, times, 0);
    TRY("setxattr", SYS_setxattr, file, "user.x", "", 0, 0);
    TRY("removexattr", SYS_removexattr, file, "user.x");
    TRY("inotify", SYS_inotify_init1, 0);
    TRY("make a file in memory", SYS_memfd_create, "x", 0);
    TRY("duplicate a descriptor", SYS_dup, 1);
    TRY("fcntl", SYS_fcntl, 1, F_GETFL);
    TRY("ioctl", SYS_ioctl, 1, 0, 0);
    TRY("shmget", SYS_shmget, 77, 4096, 0600);
    TRY("shmat", SYS_shmat, 0, NULL, 0);
    TRY("msgget", SYS_msgget, 77, 0600);
    TRY("semget", SYS_semget, 77, 1, 0600);
    TRY("mq_open", SYS_mq_open, "x", O_RDONLY);
    TRY("open a socket", SYS_socket, 1, 1, 0);
    TRY("make a pair of sockets", SYS_socketpair, 1, 1, 0, stack);
    TRY("run a program", SYS_execve, "/bin/true", NULL, NULL);
    TRY("signal its parent", SYS_kill, parent, 0);
    TRY("signal everybody", SYS_kill, -1, 0);
    TRY("signal its parent's thread", SYS_tgkill, parent, parent, 0);
    TRY("tkill", SYS_tkill, parent, 0);
    TRY("queue a signal", SYS_rt_sigqueueinfo, parent, 0, stack);
    TRY("read its parent's limits", SYS_prlimit64, parent, RLIMIT_NOFILE, NULL, stack);
    TRY("set its own limits", SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
    TRY("ptrace", SYS_ptrace, 0, 0, 0, 0);
    TRY("read its parent's memory", SYS_process_vm_readv, parent, NULL, 0, NULL, 0, 0);
    TRY("sched_setscheduler", SYS_sched_setscheduler, parent, 0, stack);
    TRY("sched_setaffinity", SYS_sched_setaffinity, parent, sizeof mask, &mask);
    TRY("sched_setattr", SYS_sched_setattr, parent, stack, 0);
    TRY("ioprio_set", SYS_ioprio_set, 1, parent, 0);
    TRY("setpriority", SYS_setpriority, PRIO_PROCESS, parent, 0);
    TRY("sethostname", SYS_sethostname, NULL, -1L);
    TRY("fsopen", SYS_fsopen, "tmpfs", 0);
    TRY("mount", SYS_mount, "x", "/tmp", "tmpfs", 0, NULL);
    TRY("unshare", SYS_unshare, CLONE_NEWNS);
    TRY("setresuid", SYS_setresuid, 0, 0, 0);
    TRY("setgroups", SYS_setgroups, 0, NULL);
    TRY("capset", SYS_capset, NULL, NULL);
    TRY("prctl", SYS_prctl, 3, 0, 0, 0, 0);
    TRY("keyctl", SYS_keyctl, 0, 0, 0, 0, 0);
    TRY("bpf", SYS_bpf, 0, NULL, 0);
    TRY("io_uring", SYS_io_uring_setup, 1, stack);
    TRY("userfaultfd", SYS_userfaultfd, 0);
    TRY("perf_event_open", SYS_perf_event_open, NULL, 0, -1, -1, 0);
    TRY("setsid", SYS_setsid);
    TRY("umask", SYS_umask, 022);
    TRY("map code", SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TRY("turn memory into code", SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC);
    TRY("pkey_mprotect", SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1);

    try_process("fork", syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
    try_process("fork without a signal", syscall(SYS_clone, CLONE_PARENT, NULL, NULL, NULL, NULL));
    try_process("start a thread", syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, stack + sizeof stack, 0, 0, 0));
    try_process("clone3", syscall(SYS_clone3, &arguments, sizeof arguments));
#ifdef SYS_fork
    try_process("fork of old", syscall(SYS_fork));
    TRY("lchown", SYS_lchown, file, -1, -1);
    TRY("chmod", SYS_chmod, file, 0600);
    TRY("open a file as of old", SYS_open, own, O_RDONLY);
    TRY("inotify as of old", SYS_inotify_init);
    TRY("another architecture's numbers", 0x40000000 | SYS_getpid);
#endif
}

/* Calls that compiling makes, as in src/compile/worker/sandbox/calls.rs, and those tried above with real arguments. */
static int is_allowed(long call)
{
    static const long allowed[] = {
        SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_lseek, SYS_fstat, SYS_close, SYS_brk, SYS_mmap, SYS_munmap,
        SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_clock_nanosleep,
        SYS_nanosleep, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
        SYS_kill, SYS_tgkill, SYS_getpid, SYS_gettid, SYS_getrandom, SYS_sched_getaffinity, SYS_sysinfo, SYS_prlimit64,
        SYS_exit, SYS_exit_group,
    };
#ifdef __x86_64__
    /* uretprobe and uprobe: the kernel makes these calls itself, lets them pass the filter, and ends with SIGILL whoever
       makes them elsewhere. */
    if (call == 335 || call == 336)
        return 1;
#endif
    for (size_t n = 0; n < sizeof allowed / sizeof *allowed; n++)
        if (allowed[n] == call)
            return 1;
    return 0;
}

/* Every other number, with arguments that are wrong everywhere. */
static void by_number(void)
{
    char text[32];
    for (long call = 0; call < CALLS; call++) {
        if (is_allowed(call))
            continue;
        snprintf(text, sizeof text, "call %ld", call);
        try_process(text, syscall(call, -1L, -1L, -1L, -1L, -1L, -1L));
    }
}

static void by_descriptor(void)
{
    char text[32], byte;
    for (int file = 3; file < 1024; file++) {
        if (syscall(SYS_read, file, &byte, 1) == -1 && errno == EBADF)
            continue;
        snprintf(text, sizeof text, "read descriptor %d", file);
        found(text);
    }
}

ssize_t read(int file, void *to, size_t size)
{
    if (is_worker && file == 0) {
        by_descriptor();
        by_name();
        if (report[0] == 0)
            by_number();
        dprintf(2, "escape: the worker could %s\n", report[0] == 0 ? "do nothing" : report);
        _exit(1);
    }
    return syscall(SYS_read, file, to, size);
}
