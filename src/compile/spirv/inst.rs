//! Dispatches each instruction to the module that translates it.

use super::cx::{Cx, SpirvInst};
use super::{access, arith, atomic, composite, convert, dot, glsl, image, matrix, memory, pointers, subgroup, sync};
use dovetail_base::error::Result;
use dovetail_ir::FpFlags;
use spirv::{Decoration, FPFastMathMode, Op};

/// Translates one instruction; not terminators, calls, variables or phis.
///
/// # Errors
/// Malformed operands; unsupported opcodes, by name.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    /// Translates an instruction if it belongs to the module; returns whether it does.
    type Module = fn(&mut Cx<'_>, &SpirvInst<'_>) -> Result<bool>;
    const MODULES: [Module; 13] = [
        access::translate,
        pointers::translate,
        memory::translate,
        arith::translate,
        composite::translate,
        convert::translate,
        glsl::translate,
        matrix::translate,
        image::translate,
        subgroup::translate,
        atomic::translate,
        sync::translate,
        dot::translate,
    ];
    cx.b.fp = inst.result_id.map_or(FpFlags::NONE, |id| fp_flags(cx, id));
    for module in MODULES {
        if module(cx, inst)? {
            return Ok(());
        }
    }
    match inst.op() {
        Op::AssumeTrueKHR => Ok(()),
        _ => Err(inst.not_translated()),
    }
}

fn fp_flags(cx: &Cx<'_>, id: u32) -> FpFlags {
    let mut flags = FpFlags::NONE;
    for d in cx.module.decorations(id) {
        match d.decoration {
            Decoration::NoContraction => flags = flags.with(FpFlags::NO_CONTRACT),
            Decoration::FPFastMathMode => {
                let mode = FPFastMathMode::from_bits_truncate(d.value.unwrap_or(0));
                for (has, flag) in [
                    (FPFastMathMode::NOT_NAN, FpFlags::NOT_NAN),
                    (FPFastMathMode::NOT_INF, FpFlags::NOT_INF),
                    (FPFastMathMode::NSZ, FpFlags::NO_SIGNED_ZERO),
                    (FPFastMathMode::ALLOW_RECIP, FpFlags::ALLOW_RECIPROCAL),
                    (FPFastMathMode::ALLOW_REASSOC, FpFlags::REASSOC),
                ] {
                    if mode.contains(has) {
                        flags = flags.with(flag);
                    }
                }
            }
            _ => {}
        }
    }
    flags
}
