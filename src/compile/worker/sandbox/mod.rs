//! The rights that a worker gives up before it reads the first byte of a shader: files, sockets, other programs, other
//! processes, and what it inherited.
//!
//! SPIR-V may come from a web page, and goes through LLVM, which was not written for hostile input. Code that takes
//! over a worker has only its pipes, its memory and processor time. There are four barriers. [`inherited`] closes the
//! descriptors of whoever started the service, leaves the user namespace and drops all capabilities; Landlock controls
//! access to files and ports; [`calls`] lists the system calls that are left. A kernel without one of them, or a system
//! that forbids it, is no failure; [`enter`] reports it.

mod calls;
mod inherited;

pub use calls::Refusal;

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus};

/// Gives up all rights that compiling does not need. Returns a line that says what is in force. The process has one
/// thread, and no open descriptor that it needs but standard input, output and error.
pub fn enter(refusal: Refusal) -> String {
    let descriptors = inherited::close_descriptors();
    let namespace = inherited::leave_user_namespace();
    let capabilities = inherited::drop_capabilities();
    // Both forget the signal at the parent's death (prctl(2)), and afterwards the call is refused.
    let orphan = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let files = match landlock() {
        Ok(RulesetStatus::FullyEnforced) => "landlock".to_owned(),
        Ok(RulesetStatus::PartiallyEnforced) => "landlock (in part: an older kernel)".to_owned(),
        Ok(RulesetStatus::NotEnforced) => "no landlock (not in this kernel)".to_owned(),
        Err(e) => format!("no landlock ({e})"),
    };
    let calls = in_force("seccomp", calls::restrict(refusal));
    let namespace = in_force("user namespace", namespace);
    let mut said = vec![files, calls, namespace];
    said.extend(descriptors.err().map(|e| format!("inherited descriptors are open ({e})")));
    said.extend(orphan.err().map(|e| format!("it outlives its parent ({e})")));
    said.extend(capabilities.err().map(|e| format!("capabilities are kept ({e})")));
    said.join(", ")
}

fn in_force<E: std::fmt::Display>(what: &str, result: Result<(), E>) -> String {
    result.map_or_else(|e| format!("no {what} ({e})"), |()| what.to_owned())
}

/// Denies access to all files and ports.
fn landlock() -> Result<RulesetStatus, landlock::RulesetError> {
    let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let rules = rules.handle_access(AccessFs::from_all(ABI::V5))?.handle_access(AccessNet::from_all(ABI::V5))?;
    Ok(rules.create()?.restrict_self()?.ruleset)
}
