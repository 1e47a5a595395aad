//! Replacements of values: a pass collects them, then applies them to the whole shader at once.

use dovetail_base::workspace::List;
use dovetail_ir::{Shader, Value};

/// By value, its replacement. Values without an entry stay.
#[derive(Debug, Default)]
pub struct ValueNames(List<Value>);

impl ValueNames {
    /// The final replacement of a value.
    pub fn of(&mut self, mut v: Value) -> Value {
        loop {
            let Some(&next) = self.0.get(v.index()) else { return v };
            if next == v {
                return v;
            }
            // Halves the path, so that a long chain is walked only once.
            if let Some(&after) = self.0.get(next.index()) {
                self.0[v.index()] = after;
            }
            v = next;
        }
    }

    /// Replaces a value that has no replacement yet; `new` must not lead back to it.
    pub fn set(&mut self, old: Value, new: Value) {
        let len = self.0.len() as u32;
        self.0.extend((len..=old.0).map(Value));
        self.0[old.index()] = new;
    }

    /// Whether nothing is replaced.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Renames every use in the shader.
    pub fn apply(mut self, shader: &mut Shader) {
        if self.is_empty() {
            return;
        }
        let Shader { blocks, insts, .. } = shader;
        for block in &mut *blocks {
            for &id in &block.insts {
                insts[id.index()].args.iter_mut().for_each(|v| *v = self.of(*v));
            }
            block.end.values_mut().iter_mut().for_each(|v| *v = self.of(*v));
        }
    }
}
