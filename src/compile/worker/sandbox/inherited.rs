//! What a process has from whoever started it: open descriptors, a user, capabilities.

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use std::io;

/// The first descriptor after standard input, output and error.
const FIRST: libc::c_uint = 3;

/// Closes all descriptors but standard input, output and error. The parent closes its own when it starts a program;
/// others may have been left open by the shell, the build system or the daemon that started it.
pub(super) fn close_descriptors() -> io::Result<()> {
    // SAFETY: no object of this process owns a descriptor yet, because a worker has only its three pipes.
    match unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Moves to a user namespace of its own, in which it is nobody: what it is allowed there has no effect outside. Many
/// systems forbid this.
pub(super) fn leave_user_namespace() -> Result<(), Errno> {
    // SAFETY: only the user namespace is left; descriptors are not unshared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }
}

/// Drops every capability, also of programs that would be executed. Matters for the processes of root, in a container
/// too, and for the new user namespace, in which a process begins with all of them.
pub(super) fn drop_capabilities() -> Result<(), Errno> {
    let held = rustix::thread::capabilities(None)?;
    if held.permitted.contains(CapabilitySet::SETPCAP) {
        // The kernel answers EINVAL to the first number that it does not know.
        for number in 0..u64::BITS {
            if rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number))
                .is_err()
            {
                break;
            }
        }
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    rustix::thread::set_no_new_privs(true)
}
