//! Removes the leftovers of passes from a shader's arenas.
//!
//! Remaining items keep their order, so that decisions based on the order of numbers stay the same.

use super::block::BasicBlock;
use super::shader::{Shader, Value, ValueDef};
use dovetail_base::workspace::{List, filled};

/// New number of a removed item.
const NONE: u32 = u32::MAX;

impl Shader {
    /// Removes everything but the instructions in blocks, their results and the parameters of blocks. A shader that uses
    /// values defined in no block stays as it is.
    pub fn compact(&mut self) {
        let (insts, values) = self.numbers();
        let known = |v: &Value| values.get(v.index()).is_some_and(|n| *n != NONE);
        let whole = |block: &BasicBlock| {
            let used = block.insts.iter().flat_map(|id| &self.inst(*id).args);
            used.chain(block.end.values()).all(known)
        };
        if !self.blocks.iter().all(whole) {
            return;
        }
        let renumber = |v: &mut Value| *v = Value(values[v.index()]);
        let mut numbers = insts.iter();
        self.insts.retain_mut(|inst| {
            let kept = numbers.next().is_some_and(|n| *n != NONE);
            if kept {
                inst.args.iter_mut().chain(&mut inst.result).for_each(renumber);
            }
            kept
        });
        let mut numbers = values.iter();
        self.values.retain_mut(|value| {
            if let ValueDef::Inst(id) = &mut value.def {
                id.0 = insts[id.index()];
            }
            numbers.next().is_some_and(|n| *n != NONE)
        });
        for block in &mut self.blocks {
            block.params.iter_mut().chain(block.end.values_mut()).for_each(renumber);
            block.insts.iter_mut().for_each(|id| id.0 = insts[id.index()]);
        }
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
    use crate::parse::parse;
    use crate::{InstId, Value};

    #[test]
    fn what_no_block_has_goes_and_the_rest_keeps_its_order() {
        let text = "shader upper compute \"t\"\nblock0:\n v0: b32 = const 1\n v1: b32 = const 2\n v2: b1 = const 1\n branch v2, block1, block2\nblock1:\n v3: b32 = iadd v0, v0\n return\nblock2:\n return";
        let mut shader = parse(text).expect("test text");
        shader.compact();
        assert_eq!(shader.to_string(), parse(text).expect("test text").to_string());
        shader.blocks[0].insts.remove(1);
        shader.compact();
        assert_eq!((shader.insts.len(), shader.values.len()), (3, 3));
        assert_eq!(shader.inst(InstId(2)).args[..], [Value(0), Value(0)]);
        assert_eq!(shader.def(Value(2)).map(|inst| inst.result), Some(Some(Value(2))));
    }

    #[test]
    fn a_shader_that_uses_what_no_block_has_stays_as_it_is() {
        let text = "shader upper compute \"t\"\nblock0:\n v0: b32 = const 1\n v1: b32 = iadd v0, v0\n return";
        let mut shader = parse(text).expect("test text");
        shader.blocks[0].insts.remove(0);
        shader.compact();
        assert_eq!(shader.insts.len(), 2);
    }
}
