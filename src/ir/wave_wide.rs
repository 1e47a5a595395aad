//! Values that are the same for the wave by how they are made: of registers at entry, constants, memory that nothing writes, and
//! what was read from single lanes.
//!
//! Unlike [`Uniformity`](super::uniform::Uniformity) it follows no control flow, so no change of jumps makes a value another one: a
//! block's parameter is never such a value. What was read from a lane is another value in each iteration, and is the same for the
//! wave only inside all loops around the block that read it.

use super::cfg::Cfg;
use super::lanes::AmdOp;
use super::op::Op;
use super::shader::{BlockId, RegClass, Shader, Value};
use crate::workspace::{List, filled};
use std::sync::Arc;

/// The result for one shader in its current state.
#[derive(Debug)]
pub struct WaveWide {
    cfg: Arc<Cfg>,
    /// By value: the block inside the most loops in which a lane was read for it; `None`: it may differ between lanes.
    read_in: List<Option<BlockId>>,
}

impl WaveWide {
    /// Looks at every value that can be reached.
    pub fn new(shader: &Shader) -> Self {
        let cfg = shader.cfg();
        let mut this = Self { read_in: filled(shader.values.len(), None), cfg: Arc::clone(&cfg) };
        let args = shader.lower.iter().flat_map(|lower| &lower.args);
        for (arg, param) in args.zip(&shader.block(Shader::ENTRY).params) {
            this.read_in[param.index()] = (arg.class == RegClass::Sgpr).then_some(Shader::ENTRY);
        }
        for &block in &cfg.order {
            for inst in &shader.block(block).insts {
                let inst = shader.inst(*inst);
                let Some(result) = inst.result else { continue };
                this.read_in[result.index()] = match inst.op {
                    Op::Amd(AmdOp::ReadFirstLane | AmdOp::ReadLane | AmdOp::Ballot) => Some(block),
                    ref op if is_of_wave(op) => this.of_operands(&inst.args, block),
                    _ => None,
                };
            }
        }
        this
    }

    /// Whether the value is the same for all lanes that are in this block together.
    pub fn holds(&self, v: Value, block: BlockId) -> bool {
        let loops = self.cfg.loops();
        self.read_in[v.index()].is_some_and(|read| match loops.are_all() {
            true => loops.around(block).starts_with(loops.around(read)),
            // Some cycles are no loops.
            false => read == block || read == Shader::ENTRY,
        })
    }

    /// Where lanes were read for something that is made of these.
    fn of_operands(&self, args: &[Value], block: BlockId) -> Option<BlockId> {
        let depth = |b: &BlockId| (self.cfg.loops().around(*b).len(), *b != Shader::ENTRY);
        let read = |v: &Value| self.read_in[v.index()].filter(|_| self.holds(*v, block));
        args.iter().try_fold(Shader::ENTRY, |deepest, v| [deepest, read(v)?].into_iter().max_by_key(depth))
    }
}

/// Whether the result is the same for the wave if the operands are, whichever lanes run it.
pub fn is_of_wave(op: &Op) -> bool {
    match op {
        Op::Const(_) | Op::Undef | Op::Reloc(_) | Op::AddressHigh => true,
        Op::Alu(..) | Op::Compose | Op::Extract(_) | Op::Bitcast | Op::Opaque => true,
        Op::ConstLoad { .. } | Op::TableLoad { .. } => true,
        Op::BufferLoad { kind, access, .. } => access.is_unwritten(*kind) && !access.volatile,
        _ => false,
    }
}
