//! The decoration `NonUniform`. Vulkan wants it on the operand through which an instruction accesses a resource: a pointer, an
//! image, a sampled image, or a texel pointer ("Descriptor Indexing", and the description of the decoration in SPIR-V). Compilers
//! also write it on indices, on loads and on whatever lies between. Wherever it stands, the descriptors that the id was made from
//! may differ between lanes, including a descriptor whose own instruction is not decorated.

use super::cx::{Cx, Def, Storage};
use dovetail_base::error::Result;
use dovetail_ir::{Inst, InstId, Op, Value, ValueDef};
use spirv::Decoration;

impl Cx<'_> {
    /// Whether an id is decorated `NonUniform`.
    pub fn non_uniform(&self, id: u32) -> bool {
        self.module.is_decorated(id, Decoration::NonUniform)
    }

    /// Marks the descriptors of an id that is decorated `NonUniform`, once the id is defined.
    ///
    /// # Errors
    /// Only our bugs.
    pub(super) fn mark_non_uniform(&mut self, id: u32) -> Result<()> {
        if !self.non_uniform(id) {
            return Ok(());
        }
        match self.known(id) {
            Some(Def::Values(_)) => {
                for leaf in self.values(id)? {
                    self.mark_descriptor(leaf);
                }
            }
            Some(Def::Pointer(at)) => {
                let mut pointer = self.pointer_at(*at)?.clone();
                pointer.access.non_uniform = true;
                if let Storage::Texel(texel) = &pointer.place {
                    self.mark_descriptor(texel.image);
                }
                self.set_pointer(id, pointer);
            }
            _ => {}
        }
        Ok(())
    }

    /// Marks a descriptor, and the other one of a combined image and sampler: both have the index, and one instruction made
    /// both.
    fn mark_descriptor(&mut self, v: Value) {
        let shader = &mut self.b.shader;
        let ValueDef::Inst(InstId(n)) = shader.values[v.index()].def else { return };
        let known = |inst: &Inst| match inst.op {
            Op::Descriptor { resource, .. } => Some((resource, inst.args.first().copied())),
            _ => None,
        };
        let Some(own) = shader.insts.get(n as usize).and_then(known) else { return };
        let first = (n as usize).saturating_sub(1);
        for inst in shader.insts.iter_mut().skip(first).take(n as usize + 2 - first) {
            if known(inst) == Some(own)
                && let Op::Descriptor { non_uniform, .. } = &mut inst.op
            {
                *non_uniform = true;
            }
        }
    }
}
