//! The rights that a worker gives up before it reads the first byte of a shader: files, sockets, other programs, other
//! processes.
//!
//! SPIR-V may come from a web page, and goes through LLVM, which was not written for hostile input. Code that takes
//! over a worker has only its pipes and processor time. There are two barriers: Landlock, with which the kernel
//! controls access to files, and a filter of system calls (seccomp), which also covers processes and sockets. A kernel
//! without one of them is no failure; [`enter`] reports it.
//!
//! The filter refuses calls by name and allows the rest. Which calls an allocator or LLVM makes differs between
//! versions of the C library, so a list of allowed calls would kill workers after a system update.

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;

/// Calls refused with EPERM, whatever their arguments.
#[rustfmt::skip]
const REFUSED: &[libc::c_long] = &[
    // Files: those already open stay usable.
    libc::SYS_openat, libc::SYS_openat2, libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at, libc::SYS_unlinkat,
    libc::SYS_renameat2, libc::SYS_linkat, libc::SYS_symlinkat, libc::SYS_mkdirat, libc::SYS_mknodat, libc::SYS_fchmodat,
    libc::SYS_fchownat, libc::SYS_truncate, libc::SYS_memfd_create,
    // Sockets.
    libc::SYS_socket, libc::SYS_socketpair, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept,
    libc::SYS_accept4, libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg,
    // Programs and other processes.
    libc::SYS_execve, libc::SYS_execveat, libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open, libc::SYS_pidfd_getfd, libc::SYS_pidfd_send_signal, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo, libc::SYS_setpriority,
    // The system.
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_setns, libc::SYS_unshare,
    libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_io_uring_setup, libc::SYS_userfaultfd, libc::SYS_keyctl,
    libc::SYS_add_key, libc::SYS_request_key, libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_kexec_load,
    libc::SYS_reboot, libc::SYS_setuid, libc::SYS_setgid, libc::SYS_capset,
];

/// Calls of older architectures; newer ones have only the forms above.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_open, libc::SYS_creat, libc::SYS_unlink, libc::SYS_rename, libc::SYS_renameat, libc::SYS_link,
    libc::SYS_symlink, libc::SYS_mkdir, libc::SYS_rmdir, libc::SYS_mknod, libc::SYS_chmod, libc::SYS_chown, libc::SYS_fork,
    libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// Gives up all rights that compiling does not need, for this thread and threads that it starts later. Returns a line
/// that says what is in force.
pub fn enter() -> String {
    let files = match landlock() {
        Ok(RulesetStatus::FullyEnforced) => "landlock".to_owned(),
        Ok(RulesetStatus::PartiallyEnforced) => "landlock (in part: an older kernel)".to_owned(),
        Ok(RulesetStatus::NotEnforced) => "no landlock (not in this kernel)".to_owned(),
        Err(e) => format!("no landlock ({e})"),
    };
    let calls = match seccomp() {
        Ok(()) => "seccomp".to_owned(),
        Err(e) => format!("no seccomp ({e})"),
    };
    format!("{files}, {calls}")
}

/// Denies access to all files and ports.
fn landlock() -> Result<RulesetStatus, landlock::RulesetError> {
    let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let rules = rules.handle_access(AccessFs::from_all(ABI::V5))?.handle_access(AccessNet::from_all(ABI::V5))?;
    Ok(rules.create()?.restrict_self()?.ruleset)
}

fn seccomp() -> Result<(), Box<dyn std::error::Error>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(REFUSED_HERE).map(|&call| (call, Vec::new())).collect();
    // Signals to itself stay allowed, since `abort` sends one, and so do its own limits, which the C library reads.
    let own = u64::from(std::process::id());
    for (call, itself) in [(libc::SYS_kill, own), (libc::SYS_tgkill, own), (libc::SYS_prlimit64, 0)] {
        let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, itself)?;
        rules.insert(call, vec![SeccompRule::new(vec![other])?]);
    }
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into()?)?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}
