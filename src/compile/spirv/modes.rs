//! Translates execution modes of the entry point: workgroup size, float modes, depth, early tests.

use super::cx::{Cx, SpirvInst};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_ir::{DenormMode, DepthMode, DerivativeGroup, RoundMode};
use rspirv::dr::Operand;
use spirv::{BuiltIn, Decoration, ExecutionMode as M, FPRoundingMode, Op};

/// Applies the modes of a function, and the `WorkgroupSize` constant, to the shader.
///
/// # Errors
/// Unsupported modes, by name; a compute shader without a size.
pub fn apply(cx: &mut Cx<'_>, function: u32) -> Result<()> {
    let module = cx.module;
    let mut origin_upper_left = false;
    for inst in module.modes().filter(|i| i.id(0) == Ok(function)) {
        one(cx, &inst, &mut origin_upper_left).map_err(|e| e.at(inst.place()))?;
    }
    match cx.b.shader.stage {
        Stage::Fragment if !origin_upper_left => {
            let why = "a fragment shader without OriginUpperLeft, which Vulkan requires: add the execution mode \
                (a compiler may write it only for modules that it validates for Vulkan)";
            return Err(Error::malformed(why));
        }
        Stage::Compute => workgroup_size(cx)?,
        Stage::Vertex | Stage::Fragment => {}
    }
    Ok(())
}

/// The rounding that an instruction's own decoration requires, if it has one.
///
/// # Errors
/// Unsupported: rounding up or down.
pub fn own_rounding(cx: &Cx<'_>, inst: &SpirvInst<'_>) -> Result<Option<RoundMode>> {
    match cx.module.decoration(inst.result()?, Decoration::FPRoundingMode) {
        None => Ok(None),
        Some(mode) if mode == FPRoundingMode::RTZ as u32 => Ok(Some(RoundMode::TowardZero)),
        Some(mode) if mode == FPRoundingMode::RTE as u32 => Ok(Some(RoundMode::NearestEven)),
        Some(_) => Err(inst.unsupported("rounding up or down")),
    }
}

/// Applies the float modes of a function. They come first, because constants are folded by them.
///
/// # Errors
/// Malformed: a mode for another width.
pub fn floats(cx: &mut Cx<'_>, function: u32) -> Result<()> {
    let module = cx.module;
    for inst in module.modes().filter(|i| i.id(0) == Ok(function)) {
        float(cx, &inst).map_err(|e| e.at(inst.place()))?;
    }
    Ok(())
}

fn float(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let Operand::ExecutionMode(mode) = *inst.operand(1)? else { return Err(inst.malformed("no mode")) };
    // Index of a width in the tables of modes.
    let width = || match inst.literal(2)? {
        16 => Ok(0usize),
        32 => Ok(1),
        64 => Ok(2),
        n => Err(inst.malformed(format!("a mode for {n} bits"))),
    };
    let modes = &mut cx.b.shader.modes;
    match mode {
        M::DenormFlushToZero => modes.denorm[width()?] = DenormMode::Flush,
        M::DenormPreserve => modes.denorm[width()?] = DenormMode::Preserve,
        M::RoundingModeRTZ => modes.round[width()?] = RoundMode::TowardZero,
        M::RoundingModeRTE => modes.round[width()?] = RoundMode::NearestEven,
        _ => {}
    }
    Ok(())
}

fn one(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, origin_upper_left: &mut bool) -> Result<()> {
    let Operand::ExecutionMode(mode) = *inst.operand(1)? else { return Err(inst.malformed("no mode")) };
    match mode {
        M::LocalSize => {
            let size = [inst.literal(2)?, inst.literal(3)?, inst.literal(4)?];
            cx.b.shader.modes.local_size = size;
        }
        M::LocalSizeId => {
            let size = [cx.const_u32(inst.id(2)?)?, cx.const_u32(inst.id(3)?)?, cx.const_u32(inst.id(4)?)?];
            cx.b.shader.modes.local_size = size;
        }
        M::EarlyFragmentTests => cx.b.shader.modes.early_fragment_tests = true,
        M::DerivativeGroupQuadsKHR => cx.b.shader.modes.derivatives = DerivativeGroup::Quads,
        M::DerivativeGroupLinearKHR => cx.b.shader.modes.derivatives = DerivativeGroup::Linear,
        M::DepthGreater => cx.b.shader.modes.depth = DepthMode::Greater,
        M::DepthLess => cx.b.shader.modes.depth = DepthMode::Less,
        M::DepthUnchanged => cx.b.shader.modes.depth = DepthMode::Unchanged,
        M::PostDepthCoverage => cx.b.shader.modes.post_depth_coverage = true,
        M::PixelCenterInteger => cx.b.shader.modes.pixel_center_integer = true,
        M::OriginUpperLeft => *origin_upper_left = true,
        // Nothing is assumed about NaN, Inf or the sign of zero beyond the operations' own flags; subgroups are always
        // full and have the size that the pipeline requires; quads hold by construction, and every module reconverges
        // maximally (`passes::keep_iterations`).
        // Denormals and rounding are applied by [`floats`]. Tests before the shader besides those after it are a permission
        // (SPV_AMD_shader_early_and_late_fragment_tests): a shader that writes no memory has them anyway, and one that does
        // is tested after it, as without the mode.
        M::DenormFlushToZero
        | M::DenormPreserve
        | M::RoundingModeRTZ
        | M::RoundingModeRTE
        | M::SignedZeroInfNanPreserve
        | M::DepthReplacing
        | M::StencilRefReplacingEXT
        | M::EarlyAndLateFragmentTestsAMD
        | M::StencilRefUnchangedFrontAMD
        | M::StencilRefGreaterFrontAMD
        | M::StencilRefLessFrontAMD
        | M::StencilRefUnchangedBackAMD
        | M::StencilRefGreaterBackAMD
        | M::StencilRefLessBackAMD
        | M::SubgroupUniformControlFlowKHR
        | M::MaximallyReconvergesKHR
        | M::RequireFullQuadsKHR => {}
        _ => return Err(Error::unsupported(format!("execution mode {mode:?}"), "")),
    }
    Ok(())
}

/// A constant decorated `WorkgroupSize` overrides the mode.
fn workgroup_size(cx: &mut Cx<'_>) -> Result<()> {
    let module = cx.module;
    for inst in module.globals() {
        let composite = matches!(inst.op(), Op::ConstantComposite | Op::SpecConstantComposite);
        if composite && module.builtin(inst.result()?) == Some(BuiltIn::WorkgroupSize) {
            let super::cx::Def::Constant(c) = *cx.def(inst.result()?)? else { continue };
            cx.constants.mark_used(c);
            if let [x, y, z] = *cx.constant_bits(c)? {
                cx.b.shader.modes.local_size = [x as u32, y as u32, z as u32];
            }
        }
    }
    let size = cx.b.shader.modes.local_size;
    let total = size.iter().try_fold(1u32, |n, s| n.checked_mul(*s));
    let whole = match cx.b.shader.modes.derivatives {
        DerivativeGroup::None => true,
        DerivativeGroup::Quads => size[0].is_multiple_of(2) && size[1].is_multiple_of(2),
        DerivativeGroup::Linear => total.is_none_or(|n| n.is_multiple_of(4)),
    };
    if !whole {
        return Err(Error::malformed(format!("a workgroup of {size:?} is not made of whole quads")));
    }
    match total {
        Some(1..=1024) => Ok(()),
        Some(0) => Err(Error::malformed("a workgroup of no invocations")),
        _ => Err(Error::unsupported("workgroup size", format!("{size:?}"))),
    }
}
