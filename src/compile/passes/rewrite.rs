//! Replaces instructions by others, one walk over the shader.
//!
//! Blocks are rebuilt in order, so what a rule emits stands where its instruction stood. Uses of replaced values are
//! changed once, at the end: a rule sees the operands as they were. Values that several places share go into a
//! [`Prelude`] at the top of the entry block, which dominates everything.

use crate::error::Result;
use crate::ir::{Builder, Inst, InstId, Op, Shader, Type, Value};
use smallvec::SmallVec;

/// What becomes of an instruction.
pub(super) enum Rewrite {
    /// It stays.
    Keep,
    /// Its uses take this value, and it goes.
    Value(Value),
}

/// Applies `rule` to every instruction of every block.
pub(super) fn each(
    shader: &mut Shader,
    mut rule: impl FnMut(&mut Builder<'_>, &Inst) -> Result<Rewrite>,
) -> Result<()> {
    let mut replaced: Vec<Option<Value>> = Vec::new();
    for block in shader.block_ids() {
        let old = std::mem::take(&mut shader.block_mut(block).insts);
        let mut b = Builder::new(shader, block);
        for id in old {
            let inst = b.shader.inst(id).clone();
            match rule(&mut b, &inst)? {
                Rewrite::Keep => b.shader.block_mut(block).insts.push(id),
                Rewrite::Value(v) => {
                    if let Some(result) = inst.result {
                        replaced.resize(replaced.len().max(result.index() + 1), None);
                        replaced[result.index()] = Some(v);
                    }
                }
            }
        }
    }
    substitute(shader, &replaced);
    Ok(())
}

/// Changes every use of a replaced value.
fn substitute(shader: &mut Shader, replaced: &[Option<Value>]) {
    let last = |mut v: Value| {
        while let Some(Some(next)) = replaced.get(v.index()) {
            v = *next;
        }
        v
    };
    for inst in &mut shader.insts {
        for arg in &mut inst.args {
            *arg = last(*arg);
        }
    }
    for block in &mut shader.blocks {
        for v in block.term.iter_mut().flat_map(|t| t.values_mut()) {
            *v = last(*v);
        }
    }
}

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
