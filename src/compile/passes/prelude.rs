//! Instructions at the top of the entry block, which dominates everything: values that several users share.

use dovetail_base::workspace::List;
use dovetail_ir::{Inst, InstArgs, InstId, Op, Shader, Type, Value};

/// Instructions for the top of the entry block, whose operands are entry parameters or each other's results.
#[derive(Default)]
pub(super) struct Prelude {
    insts: List<InstId>,
}

impl Prelude {
    /// Adds an instruction with a result. Equal instructions are shared; there are few enough for a linear search.
    pub(super) fn value(&mut self, shader: &mut Shader, op: Op, args: &[Value], ty: Type) -> Value {
        let same = |i: &&Inst| i.op == op && i.args.as_slice() == args && i.result.is_some_and(|v| shader.ty(v) == ty);
        let made = self.insts.iter().map(|&id| shader.inst(id)).find(same);
        if let Some(v) = made.and_then(|i| i.result) {
            return v;
        }
        let v = Value(shader.values.len() as u32);
        self.insts.push(shader.add_inst(op, InstArgs::from_slice(args), Some(ty)));
        v
    }

    /// Inserts the instructions at the top.
    pub(super) fn place(mut self, shader: &mut Shader) {
        shader.block_mut(Shader::ENTRY).insts.splice(0..0, self.insts.drain(..));
    }
}
