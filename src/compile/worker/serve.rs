//! The worker's side: reads requests from standard input and writes answers to standard output, one at a time.

use super::protocol::{MAX_FRAME, PROTOCOL, Request, Response, WorkerHello};
use dovetail_base::error::{Error, Result};
use dovetail_base::frame;
use dovetail_base::frame::{Bytes, frame};
use dovetail_base::target::Gpu;
use dovetail_compile::request::{Module, StageRequest};
use dovetail_compile::{Compiler, StageElf};
use std::io::{BufReader, Read};
use std::str::FromStr;

/// Bytes read at a time: most requests in one read.
const CHUNK: usize = 64 << 10;

/// A failure on demand, to test the parent's handling: `KIND:ENTRY_POINT`.
#[derive(Clone, Debug)]
pub struct Fault {
    kind: FaultKind,
    entry_point: String,
}

#[derive(Clone, Copy, Debug)]
enum FaultKind {
    Abort,
    Hang,
    Sleep,
    Hoard,
    HoardInLlvm,
    Babble,
}

impl FromStr for Fault {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        let wrong = || {
            Error::malformed(format!(
                "fault `{s}`: abort, hang, sleep, hoard, hoard-in-llvm or babble, a colon, an entry point"
            ))
        };
        let (kind, entry_point) = s.split_once(':').ok_or_else(wrong)?;
        let kind = match kind {
            "abort" => FaultKind::Abort,
            "hang" => FaultKind::Hang,
            "sleep" => FaultKind::Sleep,
            "hoard" => FaultKind::Hoard,
            "hoard-in-llvm" => FaultKind::HoardInLlvm,
            "babble" => FaultKind::Babble,
            _ => return Err(wrong()),
        };
        Ok(Self { kind, entry_point: entry_point.to_owned() })
    }
}

/// Serves requests until standard input ends. `sandbox` tells people which rights the process has given up.
///
/// # Errors
/// Environment: the pipes break. Malformed: the parent violates the protocol.
pub fn serve(compiler: &dyn Compiler, sandbox: &str, fault: Option<&Fault>) -> Result<()> {
    let mut input = BufReader::with_capacity(CHUNK, std::io::stdin().lock());
    say(&frame(
        &WorkerHello { protocol: PROTOCOL, compiler: compiler.id().clone(), sandbox: sandbox.into() },
        MAX_FRAME,
    )?)?;
    loop {
        let mut head = [0; frame::HEAD];
        match input.read_exact(&mut head) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(e) => return Err(e.into()),
        }
        let mut body = vec![0; frame::body_length(head, MAX_FRAME)?];
        input.read_exact(&mut body)?;
        let Request { id, module, request, also } = frame::parse(&body)?;
        if let Some(fault) = fault.filter(|f| f.entry_point == request.entry_point) {
            match fault.kind {
                FaultKind::Abort => std::process::abort(),
                FaultKind::Hang => hang(),
                FaultKind::Sleep => std::thread::sleep(std::time::Duration::from_secs(3600)),
                FaultKind::Hoard => hoard(),
                FaultKind::HoardInLlvm => hoard_in_llvm(),
                FaultKind::Babble => say(b"\xff\xff\xff\xffno frame")?,
            }
        }
        let response = respond(compiler, id, Module::new(module.0), &request, &also);
        say(&frame(&response, MAX_FRAME)?)?;
    }
}

fn respond(compiler: &dyn Compiler, id: u64, module: Result<Module>, request: &StageRequest, also: &[Gpu]) -> Response {
    let bytes = |made: Result<StageElf>| made.map(|StageElf(elf)| Bytes(elf));
    let made = match &module {
        Ok(module) if also.is_empty() => vec![compiler.compile(module, request)],
        Ok(module) => compiler.compile_for(module, request, &[&[request.target], also].concat()),
        Err(e) => vec![Err(e.clone()); 1 + also.len()],
    };
    let mut made = made.into_iter().map(bytes);
    let result = made.next().unwrap_or_else(|| Err(Error::bug("a compiler without a result")));
    Response { id, result, also: made.collect() }
}

/// Writes to standard output at once. Its own lock would look for line feeds, and write what is after the last one later.
fn say(bytes: &[u8]) -> Result<()> {
    let (output, mut rest) = (std::io::stdout(), bytes);
    while !rest.is_empty() {
        match rustix::io::write(&output, rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(std::io::Error::from(e).into()),
        }
    }
    Ok(())
}

/// Computes forever, as a hanging compiler does.
fn hang() {
    loop {
        std::hint::spin_loop();
    }
}

/// Makes LLVM allocate until the address-space limit stops it: in C++, which throws where Rust aborts.
#[cfg(feature = "llvm")]
fn hoard_in_llvm() {
    dovetail_llvm::hoard();
}

#[cfg(not(feature = "llvm"))]
fn hoard_in_llvm() {
    hoard();
}

/// Allocates until the address-space limit stops it.
fn hoard() {
    let mut held: Vec<Vec<u8>> = Vec::new();
    loop {
        held.push(vec![1; 64 << 20]);
    }
}
