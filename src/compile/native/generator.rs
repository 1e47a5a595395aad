//! Our code generator as a [`Generator`]: its phases in order.

use super::code::Code;
use super::entry::{EntryLayout, lower_info, used_args};
use super::mir::Function;
use super::{emit, waits};
use crate::compile::backend::{Generator, MachineCode};
use crate::compile::passes::Lowered;
use crate::compile::request::TuningOptions;
use crate::compile::watch::{Made, Watch};
use crate::error::{Error, Result};

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
        let shader = lowered.shader();
        let info = lower_info(shader)?;
        let entry = EntryLayout::new(shader.stage, &info.args, &used_args(shader))?;
        let function = physical(lowered, options, watch)?;
        let mut code = emit::translate(&function, shader, &entry)?;
        shown(watch, "translate", &code)?;
        waits::insert(&mut code)?;
        shown(watch, "waits", &code)?;
        let out = emit::assemble(&code, &function, shader, info, &entry, options)?;
        watch.done("emit", Made::Bytes)?;
        Ok(out)
    }
}

/// Selection, control flow and allocation.
fn physical(lowered: &Lowered, _: &TuningOptions, _: &mut dyn Watch) -> Result<Function> {
    let what = lowered.shader().stage.name();
    Err(Error::unsupported("native instruction selection", format!("a {what} shader")))
}

fn shown(watch: &mut dyn Watch, phase: &'static str, code: &Code) -> Result<()> {
    let text = || Ok(code.to_string());
    watch.done(phase, Made::Text(&text))
}
