//! `dovetail worker`: what `populate` and `link` start to compile in. Not meant for people.

use dovetail::compile::worker::Fault;
use dovetail::error::{Error, Result};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::process::ExitCode;

/// Compile requests from standard input (started by other subcommands).
#[derive(clap::Args)]
pub struct Args {
    /// Address-space limit in MiB.
    #[arg(long)]
    memory_mib: Option<u64>,
    /// Misbehave on one entry point: abort, hang, hoard or babble, a colon, its name. For tests of the parent.
    #[arg(long)]
    fault: Option<Fault>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(mib) = args.memory_mib {
        let bytes =
            mib.checked_mul(1 << 20).ok_or_else(|| Error::malformed(format!("--memory-mib {mib} is too much")))?;
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        setrlimit(Resource::As, limit).map_err(|e| Error::environment(format!("address-space limit: {e}")))?;
    }
    // A core file for each crash would fill the disk of a build farm.
    let no_core = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, no_core).map_err(|e| Error::environment(format!("core limit: {e}")))?;
    serve(args.fault.as_ref())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "llvm")]
fn serve(fault: Option<&Fault>) -> Result<()> {
    dovetail::compile::worker::serve(&dovetail::compile::llvm::LlvmCompiler::new(), fault)
}

#[cfg(not(feature = "llvm"))]
fn serve(_: Option<&Fault>) -> Result<()> {
    Err(Error::environment("this dovetail was built without a compiler (feature `llvm`)"))
}
