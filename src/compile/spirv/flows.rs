//! Follows pointers that are values through the module, to find the buffers that each may point into.

use super::bases::Bases;
use super::cx::{Cx, Def, SpirvInst, Storage};
use super::parse::SpirvFunction;
use dovetail_base::error::Result;
use rspirv::dr::Operand;
use spirv::Op;

/// Follows all pointers of a module whose types, constants and global variables are declared.
///
/// # Errors
/// Malformed instructions.
pub fn follow(cx: &Cx<'_>) -> Result<Bases> {
    let mut bases = Bases::new(cx.module.bound);
    for variable in cx.module.globals().filter(|inst| inst.op() == Op::Variable) {
        to_result(cx, &mut bases, &variable);
    }
    for f in cx.module.functions() {
        function(cx, &mut bases, &f)?;
    }
    bases.finish();
    Ok(bases)
}

fn function(cx: &Cx<'_>, bases: &mut Bases, function: &SpirvFunction<'_>) -> Result<()> {
    for inst in function.insts() {
        let inst = &inst;
        match inst.op() {
            Op::Store | Op::CopyMemory => flow(cx, bases, inst.id(0)?, inst.id(1)?),
            Op::ReturnValue => flow(cx, bases, function.def.result()?, inst.id(0)?),
            Op::FunctionCall => {
                to_result(cx, bases, inst);
                let Some(Def::Function(n)) = cx.known(inst.id(0)?) else { continue };
                let Some(callee) = cx.module.function(*n as usize) else { continue };
                for (param, arg) in callee.params.iter().zip(inst.ids_from(1)) {
                    flow(cx, bases, param.result()?, arg?);
                }
            }
            _ => to_result(cx, bases, inst),
        }
    }
    Ok(())
}

/// Records that pointers flow from all operands of an instruction to its result. Of a call, only the function does: its
/// id stands for the pointers that it returns. The arguments flow to the parameters.
fn to_result(cx: &Cx<'_>, bases: &mut Bases, inst: &SpirvInst<'_>) {
    let Some(result) = inst.result_id.filter(|id| reaches_pointers(cx, *id)) else { return };
    let from = if inst.op() == Op::FunctionCall { inst.operands.get(..1) } else { Some(inst.operands) };
    for operand in from.unwrap_or_default() {
        if let Operand::IdRef(id) = operand {
            flow(cx, bases, result, *id);
        }
    }
}

fn flow(cx: &Cx<'_>, bases: &mut Bases, to: u32, from: u32) {
    if !reaches_pointers(cx, from) {
        return;
    }
    match cx.known(from) {
        // A null pointer is one constant for all uses: through it, unrelated pointers would come into one class.
        Some(Def::Constant(_)) => {}
        Some(Def::Pointer(p)) if cx.pointer_at(*p).is_ok_and(|p| matches!(p.place, Storage::Buffer { .. })) => {
            bases.take(to, from);
        }
        _ => bases.join(to, from),
    }
}

fn reaches_pointers(cx: &Cx<'_>, id: u32) -> bool {
    cx.type_id(id).is_ok_and(|ty| cx.types.reaches_pointers(ty))
}
