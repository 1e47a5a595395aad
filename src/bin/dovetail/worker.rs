//! `dovetail worker`: the process in which `populate` and `link` compile. Not for direct use.

use dovetail::compile::worker::Fault;
use dovetail::compile::worker::sandbox::{self, Refusal};
use dovetail::error::{Error, Result};
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use std::process::ExitCode;

/// Compile requests from standard input (started by other subcommands).
#[derive(clap::Args)]
pub struct Args {
    /// Address space that it may use beyond what it has at its start, in MiB.
    #[arg(long)]
    memory_mib: Option<u64>,
    /// Misbehave on one entry point: abort, hang, sleep, hoard, hoard-in-llvm or babble, a colon, and its name. For testing
    /// the parent.
    #[arg(long)]
    fault: Option<Fault>,
    /// A system call that the sandbox refuses kills the worker. For testing the sandbox.
    #[arg(long)]
    kill_on_refused_call: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(mib) = args.memory_mib {
        let bytes = mib.checked_mul(1 << 20).and_then(|bytes| bytes.checked_add(address_space()));
        let bytes = bytes.ok_or_else(|| Error::malformed(format!("--memory-mib {mib} is too much")))?;
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        setrlimit(Resource::As, limit).map_err(|e| Error::environment(format!("address-space limit: {e}")))?;
    }
    // Once the parent was killed, nobody waits for the answer.
    let no_orphan = set_parent_process_death_signal(Some(Signal::KILL));
    no_orphan.map_err(|e| Error::environment(format!("signal at the parent's death: {e}")))?;
    // Core files of crashes would fill the disk of a build farm.
    let no_core = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, no_core).map_err(|e| Error::environment(format!("core limit: {e}")))?;
    serve(args)?;
    Ok(ExitCode::SUCCESS)
}

/// Address space mapped by this process, in bytes: the program and its libraries, which the shader does not influence
/// (proc(5): `statm`).
fn address_space() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().next().and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default();
    pages.saturating_mul(rustix::param::page_size() as u64)
}

fn serve(args: &Args) -> Result<()> {
    #[cfg(feature = "llvm")]
    dovetail::compile::llvm::abort_out_of_memory();
    let compiler = dovetail::compile::generators::BuiltInCompiler::new();
    // After loading LLVM and its libraries, before reading the first foreign byte.
    let sandbox = sandbox::enter(if args.kill_on_refused_call { Refusal::Kill } else { Refusal::Fail });
    dovetail::compile::worker::serve(&compiler, &sandbox, args.fault.as_ref())
}
