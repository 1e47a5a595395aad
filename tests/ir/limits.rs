//! Time and stack of a module in the parent and in the native generator: linear in its size, whatever its shape.
//!
//! Every shape goes through reflection, translation, all passes and the native generator on a thread with 2 MiB of
//! stack, the smallest of any Dovetail thread, within a deadline that a quadratic walk exceeds by far.

use crate::shapes::{SHAPES, Shape};
use dovetail::compile::backend::Generator;
use dovetail::compile::native::Native;
use dovetail::compile::passes;
use dovetail::compile::request::{KnownState, Module, StageRequest, TuningOptions};
use dovetail::compile::spirv::{reflect, translate};
use dovetail::error::{Error, ErrorKind};
use dovetail::ir::watch::Unwatched;
use dovetail::target::{Gpu, Stage, WaveSize};
use std::sync::mpsc;
use std::time::Duration;

/// A shape whose time measures the machine: machines differ by more than a factor of two.
const MEASURE: &str = "multiplies in a row";
/// Limit of CPU time per shape, in times of [`MEASURE`]. The slowest shape takes 11, a quadratic walk hundreds.
const MOST: u32 = 20;
/// Time after which a shape counts as endless.
const DEADLINE: Duration = Duration::from_secs(240);
const STACK: usize = 2 << 20;

fn compile_without_llvm(bytes: Vec<u8>) -> Result<(), Error> {
    let module = Module::new(bytes)?;
    let info = reflect(&module)?;
    let specialization = info.specialization(&[(3, 7)]);
    let stage = info.entry_points.first().and_then(|entry| entry.stage).expect("an entry point");
    let request = StageRequest { stage, ..request(&module, specialization) };
    let shader = translate(&module, "main", stage, &request.specialization)?;
    let passes::Lowered { shader, interface } = passes::lower(shader, &request)?;
    Native.generate(shader, &interface, &request.options, &mut Unwatched)?;
    Ok(())
}

/// A request for the compute shader `main`.
pub fn request(module: &Module, specialization: Vec<(u32, u64)>) -> StageRequest {
    StageRequest {
        target: Gpu::Gfx1030,
        stage: Stage::Compute,
        module: module.digest(),
        entry_point: "main".into(),
        specialization,
        wave: WaveSize::W32,
        options: TuningOptions::default(),
        known: KnownState::default(),
    }
}

/// The result of compiling a shape, and its CPU time; `None` if it was not ready in time.
fn outcome(&(_, size, make): &Shape) -> Option<(Result<(), Error>, Duration)> {
    let (done, wait) = mpsc::channel();
    let run = move || {
        let module = make(size);
        let start = thread_time();
        let outcome = compile_without_llvm(module);
        // The receiver is gone if this took too long.
        let _ = done.send((outcome, thread_time() - start));
    };
    std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
    wait.recv_timeout(DEADLINE).ok()
}

/// Limit of CPU time per shape on this machine.
fn most() -> Duration {
    let shape = SHAPES.iter().find(|shape| shape.0 == MEASURE).expect("the shape");
    let (outcome, took) = outcome(shape).expect("an answer in time");
    outcome.expect("code");
    MOST * took
}

fn thread_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[test]
fn every_shape_is_compiled_or_refused_by_name_in_linear_time() {
    let only = std::env::var("DOVETAIL_SHAPE").unwrap_or_default();
    let (most, mut broken) = (most(), Vec::new());
    for shape in SHAPES.iter().filter(|s| s.0.contains(&only)) {
        let Some((outcome, took)) = outcome(shape) else {
            // The thread keeps running and would slow down the following shapes.
            broken.push(format!("{}: not in {DEADLINE:?}, and those after it were not tried", shape.0));
            break;
        };
        let what = outcome.as_ref().map_or_else(Error::to_string, |()| "compiled".to_owned());
        eprintln!("{took:>10.2?}  {}: {what}", shape.0);
        let named = outcome.map_or_else(|e| matches!(e.kind(), ErrorKind::Unsupported { .. }), |()| true);
        if took > most || !named {
            broken.push(format!("{}: {what}, {took:?}", shape.0));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Materials of MaterialX (glTF's, OpenPBR's) are 300,000 instructions with all calls inlined, before anything is
/// simplified.
#[test]
fn what_inlines_to_hundreds_of_thousands_of_instructions_compiles() {
    let shape: Shape = ("calls in calls, twice each", 19, crate::shapes::doubling_calls);
    let (outcome, took) = outcome(&shape).expect("an answer in time");
    outcome.expect("code");
    assert!(took < 3 * most(), "{took:?}");
}

/// A shader that LLVM would take minutes for gets unoptimized code, and the ELF says so. The limits depend on the
/// shader, not on time.
#[cfg(feature = "llvm")]
#[test]
fn what_is_too_much_for_llvm_gets_simple_code() {
    use crate::shapes::{cyclic_phis, memory_in_turn, multiplies, products_and_sums, switch};
    use dovetail::compile::Compiler;
    use dovetail::compile::generators::LlvmCompiler;
    use dovetail::compile::unlinked::Remarks;
    let compile = |bytes: Vec<u8>| {
        let module = Module::new(bytes).expect("a module");
        let elf = LlvmCompiler::new().compile(&module, &request(&module, Vec::new())).expect("code");
        Remarks::of(&elf).expect("an unlinked ELF").simplified
    };
    assert_eq!(compile(memory_in_turn(8)), None);
    let most = 3 * most();
    for (name, large, why) in [
        ("accesses", memory_in_turn(800), "memory accesses in one block"),
        ("blocks", switch(2_500), "blocks"),
        ("phis", cyclic_phis(1_500), "values that meet"),
        ("products", multiplies(2_000), "integer operations"),
        ("products and sums", products_and_sums(2_000), "integer operations"),
    ] {
        let start = thread_time();
        let said = compile(large).unwrap_or_default();
        assert!(said.contains(why), "{name}: {said}");
        let took = thread_time() - start;
        assert!(took < most, "{name}: {took:?}");
    }
}

/// Texts and trees nested this deep, in every syntax of their formats.
fn deep(levels: usize) -> (Vec<String>, Vec<Vec<u8>>) {
    let path = vec!["a"; levels].join(".");
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    let texts = vec![
        format!("{path} = 1"),
        format!("[{path}]\nb = 1"),
        format!("[[{path}]]\nb = 1"),
        format!("a = {open}{close}"),
        format!("a = {open}"),
        format!("a = {}1{}", "{a=".repeat(levels), "}".repeat(levels)),
        open,
        "(".repeat(levels),
        "{".repeat(levels),
        "-".repeat(levels),
    ];
    // MessagePack: arrays of one item; maps of one pair whose value, or whose key, is the next level.
    let trees = [&[0x91][..], &[0x81, 0xa1, b'a'], &[0x81], &[0xdd, 0, 0, 0, 1], &[0xc7, 1, 1]];
    (texts, trees.map(|level| level.repeat(levels)).to_vec())
}

#[test]
fn what_lies_deep_in_a_file_is_read_or_refused() {
    use dovetail::compile::worker::protocol::{Request, Response, WorkerHello};
    use dovetail::frame;
    use dovetail::metadata::document::Document;
    use dovetail::state::PipelineState;
    let read = || {
        for levels in [10, 1_000, 200_000] {
            let (texts, trees) = deep(levels);
            for text in texts {
                let state = toml::from_str::<PipelineState>(&text);
                let inputs = toml::from_str::<dovetail::emu::inputs::Inputs>(&text);
                assert!(state.is_err() && inputs.is_err(), "none has such fields");
                assert!(dovetail::ir::parse::parse(&text).is_err());
                assert!(dovetail::corpus::spec::SpecFile::parse(&text).is_err());
            }
            for tree in trees {
                assert!(Document::parse(&tree).is_err());
                assert!(frame::parse::<WorkerHello>(&tree).is_err());
                assert!(frame::parse::<Request>(&tree).is_err());
                assert!(frame::parse::<Response>(&tree).is_err());
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(read).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A module with these declarations before its functions, and functions that cannot be parsed.
fn with_broken_functions(declarations: &[u32], words: usize) -> Vec<u8> {
    let mut module = vec![0x0723_0203, 0x0001_0400, 0, 100, 0];
    module.extend(declarations);
    // OpFunction, then an unknown opcode.
    module.extend([5 << 16 | 54, 1, 2, 0, 3]);
    module.extend(std::iter::repeat_n(1 << 16 | 0xfff, words));
    module.iter().flat_map(|w| w.to_le_bytes()).collect()
}

#[test]
fn the_parent_reads_what_stands_before_functions_only() {
    let main = u32::from_le_bytes(*b"main");
    let declared = [
        [2 << 16 | 17, 1].as_slice(),
        &[5 << 16 | 15, 5, 2, main, 0],
        // A constant with a name, decorated twice: the first counts.
        &[3 << 16 | 5, 9, u32::from_le_bytes(*b"wid\0")],
        &[4 << 16 | 71, 9, 1, 7, 4 << 16 | 71, 9, 1, 8],
        &[4 << 16 | 21, 3, 64, 0, 5 << 16 | 50, 3, 9, 5, 1],
    ]
    .concat();
    let module = Module::new(with_broken_functions(&declared, 1 << 20)).expect("a module");
    let info = reflect(&module).expect("what is declared");
    assert_eq!(info.entry_points.len(), 1);
    let constant = &info.spec_constants[0];
    assert_eq!((constant.id, constant.default, constant.bits, constant.name.as_str()), (7, 5 | 1 << 32, 64, "wid"));
    assert!(translate(&module, "main", Stage::Compute, &[]).is_err());

    let many = [5 << 16 | 15, 5, 2, main, 0].repeat(5000);
    let refused = reflect(&Module::new(with_broken_functions(&many, 1)).expect("a module")).expect_err("too many");
    assert!(matches!(refused.kind(), ErrorKind::Unsupported { feature, .. } if feature.contains("entry points")));
}

#[test]
fn an_input_that_nothing_feeds_is_malformed() {
    let refused = compile_without_llvm(crate::shapes::located_input()).expect_err("no value for it");
    assert_eq!(refused.exit_code(), 2, "{refused}");
    assert!(refused.to_string().contains("an input without a built-in"), "{refused}");
}
