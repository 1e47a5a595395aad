//! Makes an object from a shader: translation, our pass pipeline, LLVM's code generator.
//!
//! LLVM reports a failure in one of three ways: it returns an error, it emits a diagnostic while emission "succeeds",
//! or it ends the process. The module verifier and the translation's checks prevent the last. Any diagnostic of
//! severity Error fails the compile, whatever emission returns.

use super::ffi::Diagnosed;
use super::function;
use super::{chains, effort, iterations};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Gpu;
use dovetail_compile::request::TuningOptions;
use dovetail_ir::Shader;
use dovetail_ir::watch::{Made, Unwatched, Watch};
use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, InitializationConfig, Target, TargetMachine, TargetMachineOptions, TargetTriple};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Once;

/// A relocatable AMDGPU object.
#[derive(Debug)]
pub(super) struct Object {
    /// The ELF.
    pub bytes: Vec<u8>,
    /// Why the code is simpler than requested; `None`: it is not.
    pub simplified: Option<String>,
}

/// Compiles lower-level IR to a relocatable AMDGPU object. Its phases are `llvm` and `llvm-opt`; `asm` ends with the
/// call.
///
/// # Errors
/// `NeedsFullCompile`: more values than registers can hold. Unsupported features. LLVM's errors are bugs of ours.
pub(super) fn emit_object(
    shader: &Shader,
    target: Gpu,
    options: &TuningOptions,
    watch: &mut dyn Watch,
) -> Result<Object> {
    generate(shader, target, options, FileType::Object, watch)
}

/// LLVM's assembly of a shader, for people.
///
/// # Errors
/// As [`emit_object`].
pub(super) fn emit_assembly(shader: &Shader, target: Gpu, options: &TuningOptions) -> Result<String> {
    let assembly = generate(shader, target, options, FileType::Assembly, &mut Unwatched)?;
    Ok(String::from_utf8_lossy(&assembly.bytes).into_owned())
}

fn generate(
    shader: &Shader,
    target: Gpu,
    options: &TuningOptions,
    kind: FileType,
    watch: &mut dyn Watch,
) -> Result<Object> {
    iterations::check(shader)?;
    let asked = options.llvm.opt_level;
    let mut simplified = effort::too_large(shader).filter(|_| asked > 0);
    let level = if simplified.is_some() { 0 } else { asked };
    let machine = machine(target, level.max(1))?;
    let diagnosed = Diagnosed::new();
    let module = function::build(diagnosed.context(), &machine, shader, options)?;
    module.verify().map_err(|e| Error::bug(format!("LLVM's verifier: {}", e.to_string().trim_end())))?;
    let text = || Ok(module.print_to_string().to_string());
    watch.done("llvm", Made::Text(&text))?;
    if level > 0 {
        run(&module, &machine, &pipeline(shader, options))?;
    }
    watch.done("llvm-opt", Made::Text(&text))?;
    if level > 0 {
        simplified = effort::too_many_accesses(&module);
    }
    if level == 0 || simplified.is_some() {
        run(&module, &machine, effort::SIMPLE)?;
        effort::do_not_optimize(&module);
    }
    let chain = chains::break_long(&module)?;
    let bytes = write(&module, &machine, kind)?;
    let simplified = simplified.or(chain);
    match diagnosed.take_errors().as_slice() {
        [] => Ok(Object { bytes, simplified }),
        errors => Err(refused(&errors.join("; "))),
    }
}

/// The error for what LLVM's code generator reported: a shader may need more than the GPU has, or than the options allow.
fn refused(errors: &str) -> Error {
    if ["ran out of registers", "exceeds limit"].iter().any(|limit| errors.contains(limit)) {
        return Error::unsupported(
            "more registers or memory than the GPU has or the options allow",
            format!("LLVM: {errors}"),
        );
    }
    Error::bug(format!("LLVM's code generator: {errors}"))
}

fn write(module: &Module<'_>, machine: &TargetMachine, kind: FileType) -> Result<Vec<u8>> {
    let buffer =
        machine.write_to_memory_buffer(module, kind).map_err(|e| Error::bug(format!("LLVM's code generator: {e}")))?;
    Ok(buffer.as_slice().to_vec())
}

fn run(module: &Module<'_>, machine: &TargetMachine, passes: &str) -> Result<()> {
    module
        .run_passes(passes, machine, PassBuilderOptions::create())
        .map_err(|e| Error::bug(format!("LLVM passes `{passes}`: {e}")))
}

/// The pipeline is short on purpose: `default<O2>` takes three times as long for the same code, because the code
/// generator repeats most of it. Loop passes run only if there are loops.
fn pipeline(shader: &Shader, options: &TuningOptions) -> String {
    let clean = "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg";
    let loops = !shader.cfg().loops().is_empty();
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

/// The target machine, one per thread: making it takes longer than compiling a small shader.
fn machine(target: Gpu, opt_level: u8) -> Result<Rc<TargetMachine>> {
    thread_local! {
        static MACHINES: RefCell<BTreeMap<(Gpu, u8), Rc<TargetMachine>>> = const { RefCell::new(BTreeMap::new()) };
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

/// The first GPU that executes the same code: LLVM 19 does not know all of them.
pub(super) fn processor(target: Gpu) -> Gpu {
    Gpu::all().find(|gpu| gpu.instructions() == target.instructions()).unwrap_or(target)
}

fn new_machine(target: Gpu, opt_level: u8) -> Result<TargetMachine> {
    static INIT: Once = Once::new();
    INIT.call_once(|| Target::initialize_amd_gpu(&InitializationConfig::default()));
    let triple = TargetTriple::create("amdgcn--amdpal");
    let level = match opt_level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    let options = TargetMachineOptions::new().set_cpu(processor(target).name()).set_level(level);
    Target::from_triple(&triple)
        .map_err(|e| Error::environment(format!("this LLVM has no AMDGPU target: {e}")))?
        .create_target_machine_from_options(&triple, options)
        .ok_or_else(|| Error::environment(format!("this LLVM does not know {target}")))
}
