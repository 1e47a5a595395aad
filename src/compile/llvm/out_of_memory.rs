//! Makes a process that runs out of memory report it before it aborts.
//!
//! C++ throws when an allocation fails. LLVM is built without exceptions, so the exception unwinds through it into
//! Rust, which aborts with a message about foreign exceptions. A handler for failed allocations prevents that.

use super::ffi;
use inkwell::context::Context;
use std::fs::File;
use std::io::{Read, Write};

/// Makes a failed C++ allocation end the process with a message, as a failed Rust allocation does.
pub fn abort_out_of_memory() {
    ffi::on_failed_allocation(abort);
}

/// Must not allocate.
extern "C" fn abort() {
    let mut text = [0; 2048];
    let length = File::open("/proc/self/status").and_then(|mut file| file.read(&mut text)).unwrap_or_default();
    // A line such as `VmSize:\t  250000 kB`.
    let status = std::str::from_utf8(&text[..length]).unwrap_or_default();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap_or(" unknown").trim();
    let mut to = std::io::stderr();
    for part in ["out of memory in LLVM, address space in use, with the program itself: ", size, "\n"] {
        // A failure to write cannot be reported.
        let _ = to.write_all(part.as_bytes());
    }
    std::process::abort()
}

/// Makes LLVM allocate without end, to test the process that supervises this one.
pub fn hoard() {
    let context = Context::create();
    let int = context.i32_type();
    let mut values = vec![int.const_zero().into(); 1 << 20];
    for n in 0.. {
        // The constants all differ, and LLVM keeps them all.
        values[0] = int.const_int(n, false).into();
        context.const_struct(&values, false);
    }
}
