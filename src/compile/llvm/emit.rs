//! A shader to an object: translation, our pass pipeline, LLVM's code generator.
//!
//! LLVM reports what it cannot do in three ways: an error return, a diagnostic while emission "succeeds", or the end of
//! the process. The module verifier and the checks of the translation keep the last away; any diagnostic of severity
//! Error fails the compile, whatever emission says.

use super::effort;
use super::ffi::Diagnosed;
use super::function;
use crate::compile::request::TuningOptions;
use crate::error::{Error, Result};
use crate::ir::{Merge, Shader};
use crate::target::GfxIp;
use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, InitializationConfig, Target, TargetMachine, TargetMachineOptions, TargetTriple};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Once;
use std::time::{Duration, Instant};

/// A relocatable AMDGPU object.
#[derive(Clone, Debug)]
pub struct Object {
    /// The ELF.
    pub bytes: Vec<u8>,
    /// What it took.
    pub timings: Timings,
}

/// Time spent in each phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Our IR to LLVM's, verified.
    pub translate: Duration,
    /// Our pass pipeline.
    pub optimize: Duration,
    /// LLVM's code generator and object writer.
    pub codegen: Duration,
}

/// How far [`dump_ir`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpStage {
    /// As translated.
    Translated,
    /// After our pass pipeline.
    Optimized,
    /// The assembly.
    Assembly,
}

/// Lower-level IR to an object.
///
/// # Errors
/// `NeedsFullCompile` for more values than registers can carry; unsupported features; what LLVM reports is a bug of ours.
pub fn emit_object(shader: &Shader, target: GfxIp, options: &TuningOptions) -> Result<Object> {
    with_module(shader, target, options, |module, machine, diagnosed, mut timings| {
        timings.optimize = timed(|| optimize(module, machine, shader, options))?;
        let mut bytes = Vec::new();
        timings.codegen = timed(|| {
            bytes = write(module, machine, FileType::Object)?;
            Ok(())
        })?;
        check(diagnosed)?;
        Ok(Object { bytes, timings })
    })
}

/// LLVM's view of a shader as text, for people.
///
/// # Errors
/// As [`emit_object`].
pub fn dump_ir(shader: &Shader, target: GfxIp, options: &TuningOptions, stage: DumpStage) -> Result<String> {
    with_module(shader, target, options, |module, machine, diagnosed, _| {
        if stage != DumpStage::Translated {
            optimize(module, machine, shader, options)?;
        }
        let text = if stage == DumpStage::Assembly {
            String::from_utf8_lossy(&write(module, machine, FileType::Assembly)?).into_owned()
        } else {
            module.print_to_string().to_string()
        };
        check(diagnosed)?;
        Ok(text)
    })
}

fn with_module<T>(
    shader: &Shader,
    target: GfxIp,
    options: &TuningOptions,
    use_it: impl FnOnce(&Module<'_>, &TargetMachine, &Diagnosed, Timings) -> Result<T>,
) -> Result<T> {
    let machine = machine(target, options.opt_level)?;
    let diagnosed = Diagnosed::new();
    let start = Instant::now();
    let module = function::build(diagnosed.context(), &machine, shader, options)?;
    module.verify().map_err(|e| Error::bug(format!("LLVM's verifier: {}", e.to_string().trim_end())))?;
    let timings = Timings { translate: start.elapsed(), ..Timings::default() };
    use_it(&module, &machine, &diagnosed, timings)
}

fn timed(f: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    f()?;
    Ok(start.elapsed())
}

fn write(module: &Module<'_>, machine: &TargetMachine, kind: FileType) -> Result<Vec<u8>> {
    let buffer =
        machine.write_to_memory_buffer(module, kind).map_err(|e| Error::bug(format!("LLVM's code generator: {e}")))?;
    Ok(buffer.as_slice().to_vec())
}

fn check(diagnosed: &Diagnosed) -> Result<()> {
    match diagnosed.take_errors().as_slice() {
        [] => Ok(()),
        errors => Err(Error::bug(format!("LLVM's code generator: {}", errors.join("; ")))),
    }
}

fn optimize(module: &Module<'_>, machine: &TargetMachine, shader: &Shader, options: &TuningOptions) -> Result<()> {
    let pipeline = match options.opt_level {
        // Even the fastest register allocator copies each of the values that meet past all others.
        0 if effort::many_params(shader) => "function(reg2mem)".to_owned(),
        0 => return Ok(()),
        _ => pipeline(shader, options),
    };
    module
        .run_passes(&pipeline, machine, PassBuilderOptions::create())
        .map_err(|e| Error::bug(format!("LLVM passes `{pipeline}`: {e}")))
}

/// Short on purpose: `default<O2>` takes three times as long for the same code, as the code generator repeats most of it.
/// Loop passes only where there are loops.
fn pipeline(shader: &Shader, options: &TuningOptions) -> String {
    let clean = "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg";
    let loops = shader.blocks.iter().any(|b| matches!(b.merge, Merge::Loop { .. }));
    let mut passes = vec!["sroa<modify-cfg>", clean];
    if loops {
        passes.push("loop-simplify,lcssa");
        passes.push(if options.licm { "loop-mssa(loop-rotate,licm)" } else { "loop(loop-rotate)" });
        passes.push("instcombine<no-verify-fixpoint>,loop(indvars)");
        if options.unroll {
            passes.push("loop(loop-unroll-full)");
            passes.push("sroa<modify-cfg>");
            passes.push(clean);
        }
    }
    passes.push("gvn,instcombine<no-verify-fixpoint>,adce,simplifycfg");
    format!("function({})", passes.join(","))
}

/// The target machine, one a thread: making it takes longer than a small shader.
fn machine(target: GfxIp, opt_level: u8) -> Result<Rc<TargetMachine>> {
    thread_local! {
        static MACHINES: RefCell<BTreeMap<(GfxIp, u8), Rc<TargetMachine>>> = const { RefCell::new(BTreeMap::new()) };
    }
    MACHINES.with_borrow_mut(|machines| {
        if let Some(machine) = machines.get(&(target, opt_level)) {
            return Ok(Rc::clone(machine));
        }
        let machine = Rc::new(new_machine(target, opt_level)?);
        machines.insert((target, opt_level), Rc::clone(&machine));
        Ok(machine)
    })
}

fn new_machine(target: GfxIp, opt_level: u8) -> Result<TargetMachine> {
    static INIT: Once = Once::new();
    INIT.call_once(|| Target::initialize_amd_gpu(&InitializationConfig::default()));
    let triple = TargetTriple::create("amdgcn--amdpal");
    let level = match opt_level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    let options = TargetMachineOptions::new().set_cpu(target.name()).set_level(level);
    Target::from_triple(&triple)
        .map_err(|e| Error::environment(format!("this LLVM has no AMDGPU target: {e}")))?
        .create_target_machine_from_options(&triple, options)
        .ok_or_else(|| Error::environment(format!("this LLVM does not know {target}")))
}
