//! The system calls that compiling makes. All others are refused.
//!
//! The list was measured: both code generators, over the corpora, with the C library's allocator in small and in large
//! allocations, after crashes and when memory ends (`tests/service/sandbox.rs` repeats it with [`Refusal::Kill`]). A
//! worker has one thread. `clone` would make another, whose processor time nobody measures, or a process that outlives
//! the service, so neither is allowed.
//!
//! A refused call answers ENOSYS. A C library that knows a newer call takes this kernel for an older one and makes the
//! call that it made before, so an update of the system does not kill workers.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;

/// Consequence of a call that is not in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It fails with ENOSYS.
    Fail,
    /// It kills the process (SIGSYS), so that a test notices every call that the list lacks.
    Kill,
}

/// Calls allowed whatever their arguments.
#[rustfmt::skip]
const ALLOWED: &[libc::c_long] = &[
    // Its pipes: no other descriptor is open, and no call here opens one.
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_lseek, libc::SYS_fstat, libc::SYS_close,
    // Its memory, of which the address-space limit is the end.
    libc::SYS_brk, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_madvise,
    // Locks, which without another thread never wait, and time.
    libc::SYS_futex, libc::SYS_sched_yield, libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_nanosleep,
    // Its own signals: Rust and LLVM have handlers that say why they end. The kernel itself restarts interrupted calls.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Facts without secrets: the C library's allocator asks for random bytes and, of a second arena, for processors, and its
    // sorting, which LLVM calls, for the size of the memory.
    libc::SYS_getpid, libc::SYS_gettid, libc::SYS_getrandom, libc::SYS_sched_getaffinity, libc::SYS_sysinfo,
    // Its end.
    libc::SYS_exit, libc::SYS_exit_group,
];

/// Allows the calls of the list only.
pub(super) fn restrict(refusal: Refusal) -> Result<(), Box<dyn std::error::Error>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
    let equal = |argument, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value);
    // Memory never becomes code.
    let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let data = SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(executable), 0)?;
        rules.insert(call, vec![SeccompRule::new(vec![data])?]);
    }
    // `abort` and `raise` signal the process itself.
    let own = u64::from(std::process::id());
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        rules.insert(call, vec![SeccompRule::new(vec![equal(0, own)?])?]);
    }
    // Reads its own limits. The pointer to new ones is null.
    let reads = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![equal(0, 0)?, reads])?]);

    let refuse = match refusal {
        Refusal::Fail => SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
        Refusal::Kill => SeccompAction::KillProcess,
    };
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}
