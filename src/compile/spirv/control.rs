//! Terminators and phis: a jump passes the incoming values of the target's phis.
//!
//! Phis become block parameters, made before the function is translated. A phi of pointers that are no values becomes a
//! parameter for the offset when the first jump to its block is translated: the storage must be the same on every edge.

use super::cfg;
use super::cx::{Cx, Def, LeafValues, SpirvInst};
use super::function::Frame;
use super::join::{at_offset, check, joinable};
use super::sync;
use super::types::LeafTypes;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_ir::{BlockCall, BlockId, Op as Ir, Terminator, Type, Value};
use smallvec::SmallVec;
use spirv::Op;

/// Whether an instruction ends a block.
pub fn is_terminator(op: Op) -> bool {
    rspirv::grammar::reflect::is_block_terminator(op)
}

/// Translates a terminator.
///
/// # Errors
/// Malformed or unsupported operands.
pub(super) fn translate(cx: &mut Cx<'_>, frame: &mut Frame<'_>, at: &SpirvInst<'_>) -> Result<()> {
    match at.op() {
        Op::Branch => {
            let to = Edge::new(cx, frame, at.id(0)?)?;
            cx.b.terminate(Terminator::Jump(to.call()));
        }
        Op::BranchConditional => {
            let cond = cx.value(at.id(0)?)?;
            if cx.b.ty(cond) != Type::B1 {
                return Err(at.malformed("the condition is not a boolean"));
            }
            let (then, els) = (Edge::new(cx, frame, at.id(1)?)?, Edge::new(cx, frame, at.id(2)?)?);
            cx.b.terminate(Terminator::Branch { cond, then: then.call(), els: els.call() });
        }
        Op::Switch => {
            let value = cx.value(at.id(0)?)?;
            let ty = cx.b.ty(value);
            if !ty.is_scalar() || ty == Type::B1 {
                return Err(at.malformed("the selector is not an integer"));
            }
            let default = Edge::new(cx, frame, at.id(1)?)?;
            let mut cases = List::<(u64, Edge)>::default();
            for n in (2..at.len()).step_by(2) {
                let literal = cfg::case(at, n)? & ty.bits().mask();
                cases.push((literal, Edge::new(cx, frame, at.id(n + 1)?)?));
            }
            let mut literals: List<u64> = cases.iter().map(|c| c.0).collect();
            literals.sort_unstable();
            if literals.windows(2).any(|w| matches!(w, [a, b] if a == b)) {
                return Err(at.malformed("two cases of one literal"));
            }
            cx.b.switch(value, cases.iter().map(|(literal, to)| (*literal, to.call())), default.call());
        }
        Op::Return | Op::ReturnValue => frame.ret.emit(cx, at)?,
        Op::Kill | Op::TerminateInvocation => {
            sync::helpers(cx, at)?;
            let always = cx.b.cbool(true);
            cx.b.effect(Ir::DemoteIf, &[always]);
            cx.contents.leave();
            cx.b.jump(cx.exit, &[]);
        }
        Op::Unreachable => cx.b.terminate(Terminator::Unreachable),
        _ => return Err(at.not_translated()),
    }
    Ok(())
}

/// A jump from the current block to a label, with the values of its phis.
struct Edge {
    to: BlockId,
    args: LeafValues,
}

impl Edge {
    fn call(&self) -> BlockCall<'_> {
        BlockCall { block: self.to, args: &self.args }
    }

    fn new(cx: &mut Cx<'_>, frame: &Frame<'_>, label: u32) -> Result<Self> {
        let to = frame.cfg.target(label)?;
        let (Some(Some(start)), Some(block)) = (frame.starts.get(to).copied(), frame.function.blocks.get(to)) else {
            return Err(Error::bug("a block was not prepared"));
        };
        let from = frame.function.blocks.get(frame.current).map_or(0, |b| b.label);
        let mut args = LeafValues::new();
        let mut offsets = SmallVec::<[Value; 4]>::new();
        for phi in frame.function.insts_of(block).iter().take_while(|i| i.op() == Op::Phi) {
            let value = frame.cfg.incoming(&phi, from)?;
            if !cx.is_known_pointer(cx.result_type(&phi)?) {
                args.extend(cx.values(value).map_err(|e| e.at(phi.place()))?);
                continue;
            }
            let pointer = cx.pointer(value)?;
            let result = phi.result()?;
            let first = match cx.known(result) {
                Some(Def::Pointer(known)) if joinable(cx.pointer_at(*known)?, &pointer) => false,
                Some(_) => return Err(phi.unsupported("of pointers into different variables")),
                None => true,
            };
            if first {
                let param = cx.b.shader.add_param(start, Type::B32);
                let joined = at_offset(cx, &pointer, param);
                cx.set_pointer(result, joined);
                cx.mark_non_uniform(result)?;
            }
            offsets.push(cx.byte_offset(&pointer, 0));
        }
        let params = frame.params.get(to).map_or(0, |n| *n as usize);
        let params = cx.b.shader.block(start).params.iter().take(params);
        let types: LeafTypes = params.map(|p| cx.b.ty(*p)).collect();
        check(cx, &args, &types)?;
        args.extend(offsets);
        cx.spend(args.len())?;
        Ok(Self { to: start, args })
    }
}
