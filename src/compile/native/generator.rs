//! Our code generator as a [`Generator`]: its phases in order.

use super::allocate::{Allocated, MaskPlaces, RegSet, RegisterLimits, allocate};
use super::layout::BlockLayout;
use super::mir::verify::verify;
use super::mir::{MachineBlock, MachineFunction, Operand, OperandValue, PhysReg};
use super::plan::{Plan, PlanText};
use super::select::select;
use super::{
    check_alloc, clauses, combine, crowded, dead, delays, emit, entry, exports, finish, graph, hazards, schedule,
    shape, waits,
};
use dovetail_base::error::{Context, Error, ErrorKind, Result};
use dovetail_base::target::Stage;
use dovetail_base::workspace::{NothingKept, filled};
use dovetail_compile::phases::{OPTIMISE, Phase};
use dovetail_compile::request::{Scheduling, TuningOptions};
use dovetail_ir::Shader;
use dovetail_ir::uniform::Uniformity;
use dovetail_ir::watch::{Made, Watch};
use dovetail_isa::Isa;
use dovetail_isa::RegisterSet;
use dovetail_metadata::interface::StageInterface;
use dovetail_opt as opt;
use dovetail_passes::LoweredShader;
use dovetail_passes::backend::{Generator, MachineCode};
use dovetail_passes::entry_facts::{EntryFacts, lower_info};
use std::fmt::Display;

/// The phases after those of [`opt`].
const PHASES: [&str; 11] =
    [OPTIMISE, "shape", "select", "dead", "combine", "schedule", "allocate", "translate", "finish", "waits", "clauses"];

/// Version of this generator, for people; the digest of its sources is in every key too.
const VERSION: u32 = 1;

/// Most orders of a function that are tried.
const MOST_ORDERS: u32 = 5;

/// Number of instructions of a lowered shader from which on tables are freed as soon as a phase is done with them: few shaders
/// are larger, and nothing else would use that memory. Below, the tables of all phases take less than 64 MiB.
const LARGE_SHADER: usize = 15_000;

/// The native code generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Generator for Native {
    fn name(&self) -> String {
        format!("native {VERSION}")
    }

    fn phases(&self) -> Vec<&'static str> {
        opt::PASSES.iter().map(|(phase, _)| phase.name()).chain(PHASES).collect()
    }

    fn generate(
        &self,
        shader: LoweredShader,
        interface: &StageInterface,
        options: &TuningOptions,
        watch: &mut dyn Watch,
    ) -> Result<MachineCode> {
        let _nothing_kept = (shader.insts.len() >= LARGE_SHADER).then(NothingKept::begin);
        let mut shader = prepared(shader, interface, options, watch)?;
        let info = lower_info(&shader)?.clone();
        let facts = EntryFacts::of(&shader, interface.target)?;
        let function = selected(&shader, &facts, interface, options, watch)?;
        // Allocation needs the most memory, and from here on only symbols, tables and modes of the shader are used.
        shader.remove_code();
        let function = physical(function, options, watch)?;
        let epilog_is_for_primitives = entry::kept(&function) != RegSet::default();
        let mut code = emit::translate(&function, &shader, &facts)?;
        shown(watch, "translate", &code)?;
        if options.native.runs(Phase::Combine) {
            finish::run(&mut code);
            shown(watch, "finish", &code)?;
        }
        let prolog = interface.prolog;
        let awaited = if prolog { entry::fetched(interface.target, &facts) } else { RegisterSet::EMPTY };
        waits::insert(&mut code, &awaited)?;
        hazards::separate(&mut code, &awaited);
        exports::keep_priority(&mut code, function.stage == Stage::Fragment);
        shown(watch, "waits", &code)?;
        if options.native.runs(Phase::Clauses) {
            clauses::form(&mut code);
            shown(watch, "clauses", &code)?;
        }
        if epilog_is_for_primitives {
            code.skip_if_no_lanes();
        }
        delays::insert(&mut code);
        let mut out = emit::assemble(&code, &function, &shader, &info, &facts, options)?;
        out.awaits_inputs = !awaited.is_empty();
        watch.done("emit", Made::Bytes)?;
        Ok(out)
    }

    fn fallbacks(&self, options: &TuningOptions) -> Vec<TuningOptions> {
        // Unrolled loops may need more masks than there are registers.
        let rolled = options.unroll.then(|| TuningOptions { unroll: false, ..options.clone() });
        rolled.into_iter().collect()
    }
}

/// The optimized shader, in a graph that can be laid out.
fn prepared(
    shader: LoweredShader,
    interface: &StageInterface,
    options: &TuningOptions,
    watch: &mut dyn Watch,
) -> Result<Shader> {
    let mut shader = shader.into_inner();
    shader.compact();
    opt::run(&mut shader, options, watch)?;
    watch.done(OPTIMISE, Made::Group(&shader))?;
    shape::run(&mut shader)?;
    crowded::run(&mut shader, RegisterLimits::new(Isa::of(interface.target), most_vgprs(options)));
    watch.done("shape", Made::Shader(&shader))?;
    Ok(shader)
}

/// Instruction selection and control flow.
pub(super) fn selected(
    shader: &Shader,
    facts: &EntryFacts,
    interface: &StageInterface,
    options: &TuningOptions,
    watch: &mut dyn Watch,
) -> Result<MachineFunction> {
    let uniformity = Uniformity::of(shader);
    let layout = BlockLayout::new(shader);
    let plan = Plan::new(shader, &layout, &uniformity)?;
    shown(watch, "plan", &PlanText { plan: &plan, layout: &layout })?;
    plan.verify()?;
    let mut function = select(shader, facts, interface, &layout, &plan, &uniformity)?;
    scratch_fits(&function)?;
    shown(watch, "select", &function)?;
    dead::run(&mut function);
    shown(watch, "dead", &function)?;
    if options.native.runs(Phase::Combine) {
        combine::run(&mut function);
        dead::run(&mut function);
        shown(watch, "combine", &function)?;
    }
    checked(watch, "verify", &|| verify(&function))?;
    Ok(function)
}

/// Scheduling and allocation.
pub(super) fn physical(
    function: MachineFunction,
    options: &TuningOptions,
    watch: &mut dyn Watch,
) -> Result<MachineFunction> {
    let limits = limits(&function, options);
    let (function, allocated) = scheduled(function, limits, options, watch)?;
    scratch_fits(&allocated.function)?;
    shown(watch, "allocate", &allocated.function)?;
    watch.done("graph", Made::Picture(&|| graph::svg(&allocated.function)))?;
    checked(watch, "check", &|| check_alloc::check(&function, &allocated, limits))?;
    Ok(allocated.function)
}

fn scratch_fits(f: &MachineFunction) -> Result<()> {
    let most = f.isa.facts().wave_scratch;
    if u64::from(f.scratch_bytes) * u64::from(f.wave.lanes()) <= most {
        return Ok(());
    }
    let most = most / u64::from(f.wave.lanes());
    Err(Error::unsupported("scratch memory", format!("{} bytes for each lane; the limit is {most}", f.scratch_bytes)))
}

/// The function in a better order with its registers; in source order if the better one costs waves or memory, since
/// consecutive registers may be harder to find.
fn scheduled(
    mut function: MachineFunction,
    limits: RegisterLimits,
    options: &TuningOptions,
    watch: &mut dyn Watch,
) -> Result<(MachineFunction, Allocated)> {
    if !options.native.runs(Phase::Schedule) {
        let allocated = allocate(&function, limits)?;
        return Ok((function, allocated));
    }
    let random = matches!(options.native.schedule, Scheduling::Random(_));
    // Scheduling changes only the order of instructions.
    let source = function.insts.clone();
    let mut scheduler = schedule::Scheduler::new(&function, options.native.schedule, limits);
    let mut worse = None;
    let mut spare = filled(function.blocks.len(), Some(0));
    for _ in 0..MOST_ORDERS {
        let stats = scheduler.run(&mut function, &spare);
        shown(watch, "schedule", &function)?;
        checked(watch, "verify", &|| verify(&function))?;
        if stats.changed == 0 {
            break;
        }
        let allocated = match allocate(&function, limits) {
            Ok(allocated) if random || allocated.masks_left || is_worth(&stats, &allocated) => {
                return Ok((function, allocated));
            }
            Ok(allocated) => Some(allocated),
            Err(error) if !matches!(error.kind(), ErrorKind::Unsupported { .. }) => return Err(error),
            Err(_) => None,
        };
        let most = function.isa.facts().vgprs_for(stats.waves, function.wave);
        if !leave_more(&mut spare, allocated.as_ref(), most) {
            break;
        }
        worse = worse.or_else(|| Some((function.insts.clone(), allocated?)));
    }
    function.insts.copy_from_slice(&source);
    let plain = allocate(&function, limits)?;
    Ok(match worse {
        Some((better, allocated))
            if plain.spilled >= allocated.spilled && waves(&plain.function) <= waves(&allocated.function) =>
        {
            function.insts = better;
            (function, allocated)
        }
        _ => (function, plain),
    })
}

/// Leaves more vector registers free, by block, where instructions use more than `most`, or everywhere if values left the
/// registers or nothing was allocated; the last step is the source order. Whether there is such a block.
fn leave_more(spare: &mut [Option<u32>], made: Option<&Allocated>, most: u32) -> bool {
    let uses_more = |block: &MachineBlock, f: &MachineFunction| {
        let operands = f.insts_of(block).iter().flat_map(|inst| f.defs(inst).iter().chain(f.uses(inst)));
        operands.filter_map(vgpr).any(|number| number >= most)
    };
    let mut changed = false;
    for (n, spare) in spare.iter_mut().enumerate().filter(|(_, spare)| spare.is_some()) {
        let more = made.filter(|made| !made.spilled).map(|made| &made.function);
        if more.is_none_or(|f| uses_more(&f.blocks[n], f)) {
            *spare = match spare {
                Some(0) => Some(3),
                Some(3) => Some(8),
                _ => None,
            };
            changed = true;
        }
    }
    changed
}

/// Whether a new order costs no waves, or at most an eighth of them for a quarter of the cycles.
fn is_worth(stats: &schedule::ScheduleStats, made: &Allocated) -> bool {
    let (waves, [before, after]) = (waves(&made.function), stats.cycles);
    !made.spilled && (waves >= stats.waves || 8 * waves >= 7 * stats.waves && 4 * after <= 3 * before)
}

/// Waves per SIMD that a physical function's registers allow.
fn waves(f: &MachineFunction) -> u32 {
    f.isa.facts().waves(f.operands.iter().filter_map(vgpr).max().map_or(0, |last| last + 1), f.wave)
}

/// The number of the vector register that an operand is.
fn vgpr(one: &Operand) -> Option<u32> {
    if let OperandValue::Fixed(reg) = one.what { reg.as_vgpr().map(u32::from) } else { None }
}

/// The limit of VGPRs that a request sets.
fn most_vgprs(options: &TuningOptions) -> u16 {
    match options.vgpr_limit {
        0 => u16::MAX,
        limit => u16::try_from(limit).unwrap_or(u16::MAX),
    }
}

/// Registers that values may have.
fn limits(function: &MachineFunction, options: &TuningOptions) -> RegisterLimits {
    let mut limits = RegisterLimits::new(function.isa, most_vgprs(options));
    limits.kept = entry::kept(function);
    if !options.native.runs(Phase::Masks) {
        limits.masks = MaskPlaces::Lanes;
    }
    if function.scratch_bytes > 0 {
        limits.sgprs = limits.sgprs.min(PhysReg::SCRATCH.0);
    }
    limits
}

/// Runs a check in debug builds, and offers it to an observer.
fn checked(watch: &mut dyn Watch, phase: &'static str, check: &dyn Fn() -> Result<()>) -> Result<()> {
    if cfg!(debug_assertions) {
        check().at(|| phase)?;
    }
    watch.done(phase, Made::Check(check))
}

fn shown(watch: &mut dyn Watch, phase: &'static str, made: &dyn Display) -> Result<()> {
    let text = || Ok(made.to_string());
    watch.done(phase, Made::Text(&text))
}
