//! Small lower-level shaders for every class of operation, compiled to an object that LLVM's own tools accept.

mod alu;
mod control;
mod fragment;
mod image;
mod lanes;
mod memory;
mod object;

use super::emit::{emit_assembly, emit_object};
use dovetail_base::error::Result;
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::watch::Unwatched;
use dovetail_ir::{
    Access, Align, AluOp, ArgRole, Builder, EntryArg, LowerInfo, Op, RegClass, Shader, ShaderLevel, Terminator, Type,
    Value,
};
use dovetail_passes as passes;
use dovetail_testing::llvm_tool;

/// A shader to be filled: user data in s0 to s3, then the test's own arguments.
pub(super) fn shader(stage: Stage, wave: WaveSize, args: &[(RegClass, Type)], returns: &[RegClass]) -> Shader {
    let mut shader = Shader::new("main", stage);
    shader.level = ShaderLevel::Lower;
    shader.modes.local_size = [64, 1, 1];
    let args = args
        .iter()
        .map(|&(class, ty)| {
            shader.add_param(Shader::ENTRY, ty);
            EntryArg { class, ty, role: ArgRole::System("test") }
        })
        .collect();
    shader.lower = Some(LowerInfo {
        wave,
        args,
        returns: returns.iter().copied().collect(),
        epilog: !returns.is_empty(),
        symbol: Gpu::default().hardware_stage(stage).unlinked_symbol().into(),
        color_export: stage.shades_pixels(),
        depth_export: false,
    });
    shader
}

/// The entry block's parameters.
pub(super) fn params(shader: &Shader) -> Vec<Value> {
    shader.block(Shader::ENTRY).params.clone()
}

/// A compute shader with a uniform buffer descriptor and these values in VGPRs; what `body` returns is stored.
pub(super) fn compute(
    wave: WaveSize,
    inputs: &[Type],
    body: impl FnOnce(&mut Builder<'_>, Value, &[Value]) -> Vec<Value>,
) -> Shader {
    let mut args = vec![(RegClass::Sgpr, Type::DESC4)];
    args.extend(inputs.iter().map(|&t| (RegClass::Vgpr, t)));
    let mut shader = shader(Stage::Compute, wave, &args, &[]);
    let params = params(&shader);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let results = body(&mut b, params[0], &params[1..]);
    for (i, v) in results.into_iter().enumerate() {
        store(&mut b, params[0], i as u32 * 64, v);
    }
    b.terminate(Terminator::Return(&[]));
    shader
}

/// Stores a value to a buffer, so that it is used. A boolean has no memory representation and is stored as a number.
pub(super) fn store(b: &mut Builder<'_>, descriptor: Value, offset: u32, v: Value) {
    let v = if b.ty(v) == Type::B1 { b.convert(AluOp::ZExt, v, Type::B32) } else { v };
    let offset = b.c32(offset);
    b.effect(Op::BufferStore { align: Align::A4, access: Access::default() }, &[descriptor, offset, v]);
}

/// Runs the lower-level passes that a code generator relies on.
fn lowered(shader: &Shader) -> Result<Shader> {
    let mut shader = shader.clone();
    let wave = shader.lower.as_ref().map_or(WaveSize::W32, |l| l.wave);
    let gpu = Gpu::Gfx1030.facts();
    passes::lower_barriers::run(&mut shader, wave)?;
    passes::lower_helpers::run(&mut shader, gpu)?;
    passes::lower_waterfalls::run(&mut shader, wave)?;
    passes::lower_atomics::run(&mut shader, gpu)?;
    for pass in [passes::legalize_memory::run, passes::lower_arithmetic::run, passes::limits::run] {
        pass(&mut shader, wave)?;
    }
    Ok(shader)
}

/// The assembly. Also makes the object, which must not fail if the assembly did not.
pub(super) fn assembly(shader: &Shader) -> Result<String> {
    let (shader, options) = (lowered(shader)?, TuningOptions::default());
    emit_object(&shader, Gpu::Gfx1030, &options, &mut Unwatched)?;
    emit_assembly(&shader, Gpu::Gfx1030, &options)
}

/// The assembly of a shader that must compile.
#[track_caller]
pub(super) fn compiles(shader: &Shader) -> String {
    match assembly(shader) {
        Ok(text) => text,
        Err(e) => panic!("{e}\n{:?}", shader.insts),
    }
}

/// Asserts that each line appears.
#[track_caller]
pub(super) fn has(text: &str, wanted: &[&str]) {
    for w in wanted {
        assert!(text.contains(w), "no `{w}` in\n{text}");
    }
}
