//! Values that are uniform for the wave because of their operands: entry registers, constants, read-only memory, and values
//! read from a single lane.
//!
//! Unlike [`Uniformity`](super::uniform::Uniformity) the analysis ignores control flow, so changes to branches cannot
//! invalidate it: block parameters never count as wave-wide. A value read from a lane differs between iterations, so it is
//! wave-wide only inside all loops around the block that read it.

use super::amd::AmdOp;
use super::cfg::Cfg;
use super::lanes::LaneOp;
use super::op::Op;
use super::shader::{BlockId, Shader, Value};
use dovetail_base::workspace::{List, filled};
use std::sync::Arc;

/// The result for one shader in its current state.
#[derive(Debug)]
pub struct WaveWide {
    cfg: Arc<Cfg>,
    /// By value: the most deeply nested block in which a lane was read for it; `None`: it may differ between lanes.
    read_in: List<Option<BlockId>>,
}

impl WaveWide {
    /// Analyses every reachable value.
    pub fn new(shader: &Shader) -> Self {
        let cfg = shader.cfg();
        let mut this = Self { read_in: filled(shader.values.len(), None), cfg: Arc::clone(&cfg) };
        shader.scalar_params().for_each(|param| this.read_in[param.index()] = Some(Shader::ENTRY));
        for &block in &cfg.order {
            for inst in &shader.block(block).insts {
                let inst = shader.inst(*inst);
                let Some(result) = inst.result else { continue };
                this.read_in[result.index()] = match inst.op {
                    Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane | LaneOp::ReadLane | LaneOp::Ballot)) => Some(block),
                    ref op if is_of_wave(op) => this.of_operands(&inst.args, block),
                    _ => None,
                };
            }
        }
        this
    }

    /// Whether the value is the same for all lanes that execute this block together.
    pub fn holds(&self, v: Value, block: BlockId) -> bool {
        let loops = self.cfg.loops();
        self.read_in[v.index()].is_some_and(|read| {
            // The entry is in no loop. With irreducible cycles, which are not among the loops, nothing else is certain.
            let at_once = read == Shader::ENTRY || read == block;
            at_once || loops.are_all() && loops.around(block).starts_with(loops.around(read))
        })
    }

    /// The block in which lanes were read for a value with these operands.
    fn of_operands(&self, args: &[Value], block: BlockId) -> Option<BlockId> {
        let depth = |b: &BlockId| (self.cfg.loops().around(*b).len(), *b != Shader::ENTRY);
        let read = |v: &Value| self.read_in[v.index()].filter(|_| self.holds(*v, block));
        args.iter().try_fold(Shader::ENTRY, |deepest, v| match read(v)? {
            read if read == deepest || read == Shader::ENTRY => Some(deepest),
            read => [deepest, read].into_iter().max_by_key(depth),
        })
    }
}

/// Whether the result is wave-wide if the operands are, whichever lanes execute it.
pub fn is_of_wave(op: &Op) -> bool {
    match op {
        Op::Const(_) | Op::Undef | Op::Reloc(_) | Op::Target(AmdOp::AddressHigh | AmdOp::WorkgroupIds(_)) => true,
        Op::Alu(..) | Op::Compose | Op::Extract(_) | Op::Bitcast | Op::Opaque => true,
        Op::ConstLoad { .. } | Op::Target(AmdOp::TableLoad { .. }) => true,
        Op::BufferLoad { kind, access, .. } => access.is_unwritten(*kind) && !access.volatile,
        _ => false,
    }
}
