//! Values that several places share: instructions at the top of the entry block, which dominates everything.

use crate::ir::{InstId, Op, Shader, Type, Value};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Instructions for the top of the entry block, of entry parameters and of each other only.
#[derive(Default)]
pub(super) struct Prelude {
    insts: Vec<InstId>,
    /// Each by what it is: operation, operands, type.
    made: BTreeMap<(String, SmallVec<[Value; 4]>, Type), Value>,
}

impl Prelude {
    /// An instruction with a result. Equal ones are made once.
    pub(super) fn value(&mut self, shader: &mut Shader, op: Op, args: &[Value], ty: Type) -> Value {
        let args = SmallVec::from_slice(args);
        let what = (format!("{op:?}"), args.clone(), ty);
        if let Some(&v) = self.made.get(&what) {
            return v;
        }
        let v = Value(shader.values.len() as u32);
        let id = shader.add_inst(op, args, Some(ty));
        self.insts.push(id);
        self.made.insert(what, v);
        v
    }

    /// Puts the instructions where they belong.
    pub(super) fn place(self, shader: &mut Shader) {
        shader.block_mut(Shader::ENTRY).insts.splice(0..0, self.insts);
    }
}
