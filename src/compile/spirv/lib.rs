//! Translates SPIR-V to upper-level IR: parses, checks, and translates one entry point with every call inlined.
//!
//! `words` frames and `decode` decodes instructions, [`parse`] sorts them into sections, `usage` finds what the entry
//! point reaches, `globals` declares types, constants and variables, `function` walks blocks and inlines calls, and
//! per-opcode modules translate single instructions over [`cx::Cx`]. Errors for bad input name the word and the
//! instruction.
//!
//! To add an instruction, add an arm to the module of its family; a new family is one line in `inst`.

mod access;
mod addresses;
mod arith;
mod atomic;
mod bases;
mod beyond;
mod bfloat;
mod builtins;
mod capabilities;
mod cfg;
mod composite;
mod constants;
mod contents;
mod control;
mod convert;
pub mod cx;
mod decode;
mod dot;
mod finish;
mod float;
mod flows;
mod fold;
mod fold_convert;
mod fold_scalar;
mod function;
mod globals;
mod glsl;
mod image;
mod inst;
mod instruction;
mod interface;
mod join;
mod late;
mod layout;
mod matrix;
mod memory;
mod modes;
mod moved;
mod non_uniform;
mod operands;
mod parse;
mod pointers;
mod reflect;
mod subgroup;
mod sync;
mod types;
mod usage;
mod variable_pointers;
mod words;
mod zeroed;

#[cfg(test)]
mod evaluate;

pub use constants::Specialization;
pub use instruction::NOT_TRANSLATED;
pub use reflect::{EntryPointInfo, ModuleInfo, SpecConstantInfo, reflect};

use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_compile::request::Module;
use dovetail_ir::{Shader, Terminator, structure};

/// Translates one entry point to upper-level IR with specialization values (sorted by id); constants without a value
/// have their defaults.
///
/// # Errors
/// Malformed or unsupported SPIR-V; no such entry point.
pub fn translate(module: &Module, entry: &str, stage: Stage, values: &[(u32, u64)]) -> Result<Shader> {
    translate_with(module, entry, stage, Specialization { values, late: &[] })
}

/// As [`translate`], for a judge who has to know what is undefined: each index into an array, a matrix or a vector of
/// the shader's own is marked with its bound ([`Op::Within`](dovetail_ir::Op::Within)).
///
/// # Errors
/// As [`translate`].
pub fn translate_judged(module: &Module, entry: &str, stage: Stage, values: &[(u32, u64)]) -> Result<Shader> {
    translated(module, entry, stage, Specialization { values, late: &[] }, true)
}

/// [`translate`] with constants that stay relocations.
///
/// # Errors
/// As [`translate`].
pub fn translate_with(module: &Module, entry: &str, stage: Stage, spec: Specialization<'_>) -> Result<Shader> {
    translated(module, entry, stage, spec, false)
}

fn translated(module: &Module, entry: &str, stage: Stage, spec: Specialization<'_>, judged: bool) -> Result<Shader> {
    let decoded = decode::decode(module.bytes())?;
    let parsed = parse::parse(&decoded)?;
    parsed.capabilities.iter().try_for_each(|c| capabilities::check(*c))?;
    let Some(point) = parsed.entry_points().find(|e| e.name == entry && reflect::stage(e.model) == Some(stage)) else {
        return Err(Error::malformed(format!("no {} entry point `{entry}`", stage.name())));
    };
    let usage = usage::Usage::of(&parsed, &point)?;
    let mut shader = Shader::new(entry, stage);
    let mut cx = cx::Cx::new(&parsed, &mut shader);
    cx.constants.specialize(spec);
    cx.judged = judged;
    variable_pointers::prepare(&mut cx);
    modes::floats(&mut cx, point.function)?;
    globals::declare(&mut cx, &usage)?;
    variable_pointers::follow(&mut cx)?;
    modes::apply(&mut cx, point.function)?;
    zeroed::write(&mut cx);
    function::entry(&mut cx, &usage, point.function)?;
    let exit = cx.exit;
    cx.b.switch_to(exit);
    cx.contents.enter_exit();
    cx.store_outputs()?;
    cx.b.terminate(Terminator::Return(&[]));
    cx.b.shader.modes.spec = cx.constants.used();
    cx.b.shader.modes.spec_operands = std::mem::take(&mut cx.constants.operands);
    drop(cx);
    finish::drop_unreachable(&mut shader, exit);
    structure::drop_untrue(&mut shader);
    finish::note_written(&mut shader);
    Ok(shader)
}
