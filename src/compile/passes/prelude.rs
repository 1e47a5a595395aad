//! Values that several places share: instructions at the top of the entry block, which dominates everything.

use crate::ir::{InstId, Op, Shader, Type, Value};
use smallvec::SmallVec;

/// Instructions for the top of the entry block, of entry parameters and of each other only.
#[derive(Default)]
pub(super) struct Prelude {
    insts: Vec<InstId>,
}

impl Prelude {
    /// An instruction with a result. Equal ones are made once.
    pub(super) fn value(&mut self, shader: &mut Shader, op: Op, args: &[Value], ty: Type) -> Value {
        let same = |shader: &Shader, id: InstId| {
            let inst = shader.inst(id);
            let same = inst.op == op && inst.args.as_slice() == args && inst.result.is_some_and(|v| shader.ty(v) == ty);
            inst.result.filter(|_| same)
        };
        if let Some(v) = self.insts.iter().find_map(|&id| same(shader, id)) {
            return v;
        }
        let v = Value(shader.values.len() as u32);
        let id = shader.add_inst(op, SmallVec::from_slice(args), Some(ty));
        self.insts.push(id);
        v
    }

    /// Puts the instructions where they belong.
    pub(super) fn place(self, shader: &mut Shader) {
        shader.block_mut(Shader::ENTRY).insts.splice(0..0, self.insts);
    }
}
