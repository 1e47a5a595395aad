//! Copies a shader without the leftovers of passes in its arenas.
//!
//! Remaining items keep their order, so that decisions based on the order of numbers stay the same.

use super::ids::InstId;
use super::kept::Remembered;
use super::shader::{Inst, InstArgs, Shader, Value, ValueData, ValueDef};
use crate::workspace::{List, filled};

/// New number of a removed item.
const NONE: u32 = u32::MAX;

impl Shader {
    /// A copy with only the instructions in blocks, their results and the parameters of blocks.
    #[must_use]
    pub fn compacted(&self) -> Self {
        // A shader that uses values defined in no block is copied as it is.
        self.without_rest().unwrap_or_else(|| self.clone())
    }

    fn without_rest(&self) -> Option<Self> {
        let (insts, values) = self.numbers();
        let value = |v: Value| values.get(v.index()).filter(|n| **n != NONE).map(|n| Value(*n));
        let inst = |id: InstId| InstId(insts[id.index()]);
        let mut new_insts = List::default();
        for (old, _) in self.insts.iter().zip(&insts).filter(|(_, n)| **n != NONE) {
            let args: Option<InstArgs> = old.args.iter().map(|v| value(*v)).collect();
            let result = old.result.and_then(value);
            new_insts.push(Inst { op: old.op.clone(), args: args?, result });
        }
        let mut new_values = List::default();
        for (old, _) in self.values.iter().zip(&values).filter(|(_, n)| **n != NONE) {
            let def = match old.def {
                ValueDef::Inst(id) => ValueDef::Inst(inst(id)),
                param @ ValueDef::Param(..) => param,
            };
            new_values.push(ValueData { ty: old.ty, def });
        }
        let mut blocks = self.blocks.clone();
        for block in &mut blocks {
            for v in block.params.iter_mut().chain(block.end.values_mut()) {
                *v = value(*v)?;
            }
            block.insts.iter_mut().for_each(|id| *id = inst(*id));
        }
        Some(Self {
            name: self.name.clone(),
            stage: self.stage,
            level: self.level,
            blocks,
            insts: new_insts.into(),
            values: new_values,
            locals: self.locals.clone(),
            tables: self.tables.clone(),
            shared_bytes: self.shared_bytes,
            shared_variables: self.shared_variables.clone(),
            resources: self.resources.clone(),
            push_constant_bytes: self.push_constant_bytes,
            symbols: self.symbols.clone(),
            modes: self.modes.clone(),
            lower: self.lower.clone(),
            cfg: self.cfg.clone(),
            uniformity: Remembered::default(),
        })
    }

    /// New numbers of the instructions in blocks, and of the values defined there.
    fn numbers(&self) -> (List<u32>, List<u32>) {
        let mut insts = filled(self.insts.len(), NONE);
        let mut values = filled(self.values.len(), NONE);
        for block in &self.blocks {
            block.params.iter().for_each(|v| values[v.index()] = 0);
            for id in &block.insts {
                insts[id.index()] = 0;
                self.inst(*id).results().iter().for_each(|v| values[v.index()] = 0);
            }
        }
        for numbers in [&mut insts, &mut values] {
            for (number, next) in numbers.iter_mut().filter(|number| **number != NONE).zip(0..) {
                *number = next;
            }
        }
        (insts, values)
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::parse::parse;
    use crate::ir::{InstId, Value};

    #[test]
    fn what_no_block_has_goes_and_the_rest_keeps_its_order() {
        let text = "shader upper compute \"t\"\nblock0:\n v0: b32 = const 1\n v1: b32 = const 2\n v2: b1 = const 1\n branch v2, block1, block2\nblock1:\n v3: b32 = iadd v0, v0\n return\nblock2:\n return";
        let mut shader = parse(text).expect("test text");
        assert_eq!(shader.compacted().to_string(), shader.to_string());
        shader.blocks[0].insts.remove(1);
        let compact = shader.compacted();
        assert_eq!((compact.insts.len(), compact.values.len()), (3, 3));
        assert_eq!(compact.inst(InstId(2)).args[..], [Value(0), Value(0)]);
        assert_eq!(compact.def(Value(2)).map(|inst| inst.result), Some(Some(Value(2))));
    }

    #[test]
    fn a_shader_that_uses_what_no_block_has_is_copied_as_it_is() {
        let text = "shader upper compute \"t\"\nblock0:\n v0: b32 = const 1\n v1: b32 = iadd v0, v0\n return";
        let mut shader = parse(text).expect("test text");
        shader.blocks[0].insts.remove(0);
        assert_eq!(shader.compacted().insts.len(), 2);
    }
}
