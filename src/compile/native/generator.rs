//! Our code generator as a [`Generator`]: its phases in order.

use super::allocate::{Limits, allocate};
use super::check_alloc::check;
use super::code::Code;
use super::entry::{EntryLayout, lower_info, used_args};
use super::layout::Layout;
use super::mir::Function;
use super::mir::verify::verify;
use super::plan::Plan;
use super::select::select;
use super::{emit, opt, shape, waits};
use crate::compile::backend::{Generator, MachineCode};
use crate::compile::passes::Lowered;
use crate::compile::request::TuningOptions;
use crate::compile::watch::{Made, Watch};
use crate::error::Result;
use crate::ir::Shader;
use crate::ir::uniform::Uniformity;

/// Version of this generator, for people; its sources' digest is in every key besides.
const VERSION: u32 = 1;

/// The native code generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Generator for Native {
    fn name(&self) -> String {
        format!("native {VERSION}")
    }

    fn generate(&self, lowered: &Lowered, options: &TuningOptions, watch: &mut dyn Watch) -> Result<MachineCode> {
        let shader = &prepared(lowered, options, watch)?;
        let info = lower_info(shader)?;
        let entry = EntryLayout::new(shader.stage, &info.args, &used_args(shader))?;
        let function = physical(shader, lowered, options, watch)?;
        let mut code = emit::translate(&function, shader, &entry)?;
        shown(watch, "translate", &code)?;
        waits::insert(&mut code)?;
        shown(watch, "waits", &code)?;
        let out = emit::assemble(&code, &function, shader, info, &entry, options)?;
        watch.done("emit", Made::Bytes)?;
        Ok(out)
    }
}

/// The optimised shader, in a graph that can be laid out.
fn prepared(lowered: &Lowered, options: &TuningOptions, watch: &mut dyn Watch) -> Result<Shader> {
    let mut shader = lowered.shader().clone();
    opt::run(&mut shader, options)?;
    watch.done("optimise", Made::Shader(&shader))?;
    shape::run(&mut shader)?;
    watch.done("shape", Made::Shader(&shader))?;
    Ok(shader)
}

/// Instruction selection, control flow and allocation.
fn physical(shader: &Shader, lowered: &Lowered, options: &TuningOptions, watch: &mut dyn Watch) -> Result<Function> {
    let uniformity = Uniformity::new(shader);
    let layout = Layout::new(shader)?;
    let plan = Plan::new(shader, &layout, &uniformity)?;
    let function = select(shader, lowered, &layout, &plan, &uniformity)?;
    let text = || Ok(function.to_string());
    watch.done("select", Made::Text(&text))?;
    let limit = if options.vgpr_limit == 0 { u32::MAX } else { options.vgpr_limit };
    let limits = Limits::new(function.gfx, limit.min(256) as u16);
    if cfg!(debug_assertions) {
        verify(&function)?;
    }
    let allocated = allocate(&function, limits)?;
    if cfg!(debug_assertions) {
        check(&function, &allocated, limits)?;
    }
    let text = || Ok(allocated.function.to_string());
    watch.done("allocate", Made::Text(&text))?;
    Ok(allocated.function)
}

fn shown(watch: &mut dyn Watch, phase: &'static str, code: &Code) -> Result<()> {
    let text = || Ok(code.to_string());
    watch.done(phase, Made::Text(&text))
}
