//! Prevents side effects of helper invocations in fragment shaders.
//!
//! | operation | in a fragment shader | elsewhere |
//! | --- | --- | --- |
//! | store or atomic by address | in live pixels only; a helper's atomic gives 0 | stays |
//! | atomic that becomes a loop (`lower_atomics`) | likewise: a helper would never see its swap succeed | stays |
//! | other store or atomic through a descriptor | [`Access::live_only`](dovetail_ir::Access): only live pixels do it; a helper's atomic returns an undefined value | unchanged |
//! | `IsHelper` | the live mask, inverted | false |
//!
//! The flag is not a branch, because code generators can disable helpers for single instructions, which exports need anyway.
//! The verifier requires it.

use super::lower_atomics;
use dovetail_base::error::Result;
use dovetail_base::target::FamilyFacts;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{AluOp, AmdOp, BlockCall, Builder, Inst, LaneOp, Merge, Op, Shader, Terminator, Type, Value};

/// Adds the branches and the flags.
///
/// # Errors
/// None but bugs.
pub fn run(shader: &mut Shader, gpu: &FamilyFacts) -> Result<()> {
    let helpers = shader.stage.shades_pixels();
    if helpers && shader.has(Op::writes_by_descriptor) {
        for inst in shader.insts.iter_mut().filter(|inst| inst.op.writes_by_descriptor()) {
            inst.op.descriptor_access_mut().into_iter().for_each(|access| access.live_only = true);
        }
    }
    let by_address = |op: &Op| matches!(op, Op::GlobalStore { .. } | Op::GlobalAtomic { .. });
    if !shader.has(|op| matches!(op, Op::IsHelper) || by_address(op) || lower_atomics::is_atomic(op)) {
        return Ok(());
    }
    rewrite(shader, |b, inst| {
        Ok(match &inst.op {
            Op::IsHelper if helpers => {
                let live = live(b);
                Rewrite::Value(b.alu(AluOp::INot, &[live]))
            }
            Op::IsHelper => Rewrite::Value(b.cbool(false)),
            op if helpers && (by_address(op) || lower_atomics::becomes_loop(b.shader, inst, gpu)) => {
                in_real_pixels(b, inst)
            }
            _ => Rewrite::Keep,
        })
    })
}

fn live(b: &mut Builder<'_>) -> Value {
    b.value(Op::Target(AmdOp::Lane(LaneOp::LiveMask)), &[], Type::B1)
}

/// Branches around the instruction in helper lanes, where its result is 0.
fn in_real_pixels(b: &mut Builder<'_>, inst: &Inst) -> Rewrite {
    // A block declares only one merge: in a loop header the branch gets a block of its own.
    if let Merge::Loop { .. } = b.shader.block(b.block()).merge {
        let branch = b.new_block();
        b.jump(branch, &[]);
        b.switch_to(branch);
    }
    let live = live(b);
    let (real, all) = (b.new_block(), b.new_block());
    let ty = inst.result.map(|v| b.ty(v));
    let nothing = ty.map(|ty| b.iconst(ty, 0));
    b.set_merge(Merge::Selection(all));
    let els = BlockCall { block: all, args: nothing.as_slice() };
    b.terminate(Terminator::Branch { cond: live, then: BlockCall::to(real), els });

    b.switch_to(real);
    let made = b.push(inst.op.clone(), inst.args.clone(), ty);
    let made = b.shader.inst(made).result;
    b.jump(all, made.as_slice());

    b.switch_to(all);
    match ty {
        Some(ty) => Rewrite::Value(b.shader.add_param(all, ty)),
        None => Rewrite::Remove,
    }
}
