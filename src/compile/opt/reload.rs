//! Loads descriptors and uniform data again near their uses, where more of them live at once than scalar registers hold.
//!
//! Equal loads were merged, so that a descriptor or a constant lives from its first to its last use. Of many, most would leave
//! the registers by a lane of a vector register for each dword, while the memory that they come from does not change: to
//! load them again costs one instruction. Each block keeps those in registers that are used soonest; another one is loaded
//! when it is used, and replaces the one whose next use is farthest. The scheduler decides how early it is issued.

use dovetail_base::error::Result;
use dovetail_base::workspace::{List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::uniform::Uniformity;
use dovetail_ir::{AmdOp, BlockId, Inst, InstId, Op, Shader, Value};
use smallvec::SmallVec;

/// Dwords of loads used in a block from which on it keeps a part of them, and the size of that part: other values need the
/// rest of some hundred scalar registers.
const MOST_USED: u32 = 88;
const KEPT: u32 = 72;

const NONE: u32 = u32::MAX;

/// Loads again where it helps.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    if shader.lower.is_none() {
        return Ok(());
    }
    let dwords = |inst: &Inst| inst.result.map_or(0, |v| shader.ty(v).bytes().div_ceil(4));
    let all: u32 = shader.live_insts().filter(|inst| is_constant_load(inst)).map(dwords).sum();
    if all <= MOST_USED {
        return Ok(());
    }
    let mut loads = Loads::new(shader);
    for block in shader.block_ids() {
        let used = loads.uses(shader, block);
        if used > MOST_USED {
            loads.block(shader, block);
        }
        loads.forget();
    }
    Ok(())
}

/// Whether a load always gives the same for the same operands.
fn is_constant_load(inst: &Inst) -> bool {
    match inst.op {
        Op::Target(AmdOp::TableLoad { .. }) => true,
        Op::BufferLoad { kind, access, .. } => access.is_unwritten(kind) && !access.volatile && !access.coherent,
        _ => false,
    }
}

/// The result of a load in registers.
struct Loaded {
    whole: Value,
    /// Lanes taken from it.
    lanes: SmallVec<[(u8, Value); 4]>,
}

/// A load of the shader.
struct Load {
    inst: InstId,
    dwords: u32,
    /// Positions in the block at hand of the instructions that use it, ascending.
    uses: SmallVec<[u32; 4]>,
    /// `None`: its result is in no registers.
    now: Option<Loaded>,
}

struct Loads {
    all: List<Load>,
    /// By value, the load that it is the result of, or a lane of.
    load_of: List<u32>,
    /// Loads that the block at hand uses.
    touched: List<u32>,
    /// Loads whose value is in registers, and their dwords.
    kept: List<u32>,
    size: u32,
}

impl Loads {
    fn new(shader: &Shader) -> Self {
        let mut all = List::default();
        let mut load_of = filled(shader.values.len(), NONE);
        let uniformity = Uniformity::of(shader);
        for block in &shader.blocks {
            for &id in &block.insts {
                let inst = shader.inst(id);
                let Some(result) = inst.result else { continue };
                if is_constant_load(inst) && uniformity.is_uniform(result) {
                    load_of[result.index()] = all.len() as u32;
                    let dwords = shader.ty(result).bytes().div_ceil(4);
                    all.push(Load { inst: id, dwords, uses: SmallVec::new(), now: None });
                }
            }
        }
        for inst in shader.live_insts() {
            if let (Op::Extract(_), Some(result), Some(from)) = (&inst.op, inst.result, inst.args.first()) {
                load_of[result.index()] = load_of[from.index()];
            }
        }
        Self { all, load_of, touched: List::default(), kept: List::default(), size: 0 }
    }

    /// The load that an operand comes from.
    fn of(&self, v: Value) -> Option<u32> {
        self.load_of.get(v.index()).copied().filter(|n| *n != NONE)
    }

    /// Whether an instruction is a load or takes a lane of one: it stays, and is removed if nothing else uses it.
    fn is_part(&self, inst: &Inst) -> bool {
        inst.result.is_some_and(|v| self.of(v).is_some())
    }

    /// Finds the uses in a block; returns the dwords of the loads that it uses.
    fn uses(&mut self, shader: &Shader, block: BlockId) -> u32 {
        for (at, id) in (0..).zip(&shader.block(block).insts) {
            let inst = shader.inst(*id);
            if self.is_part(inst) {
                continue;
            }
            for v in &inst.args {
                let Some(n) = self.of(*v) else { continue };
                self.touch(n, at);
                // A load may need another one: that of its descriptor.
                for needed in &shader.inst(self.all[n as usize].inst).args {
                    if let Some(m) = self.of(*needed) {
                        self.touch(m, at);
                    }
                }
            }
        }
        self.touched.iter().map(|n| self.all[*n as usize].dwords).sum()
    }

    fn touch(&mut self, n: u32, at: u32) {
        let load = &mut self.all[n as usize];
        if load.uses.is_empty() {
            self.touched.push(n);
        }
        if load.uses.last() != Some(&at) {
            load.uses.push(at);
        }
    }

    /// Forgets what was found in a block.
    fn forget(&mut self) {
        for n in self.touched.drain(..) {
            let load = &mut self.all[n as usize];
            load.uses.clear();
            load.now = None;
        }
        self.kept.clear();
        self.size = 0;
    }

    /// Rewrites a block.
    fn block(&mut self, shader: &mut Shader, block: BlockId) {
        let insts = std::mem::take(&mut shader.block_mut(block).insts);
        let mut out = List::<InstId>::default();
        for (at, &id) in (0..).zip(&insts) {
            if !self.is_part(shader.inst(id)) {
                for n in 0..shader.inst(id).args.len() {
                    let v = shader.inst(id).args[n];
                    if self.of(v).is_some() {
                        let new = self.value(shader, v, at, &mut out);
                        shader.inst_mut(id).args[n] = new;
                    }
                }
            }
            out.push(id);
        }
        shader.block_mut(block).insts.extend(out.iter().copied());
    }

    /// A value in registers that equals this result or lane of a load.
    fn value(&mut self, shader: &mut Shader, v: Value, at: u32, out: &mut List<InstId>) -> Value {
        let Some(n) = self.of(v) else { return v };
        let lane = match shader.def(v).map(|inst| &inst.op) {
            Some(Op::Extract(lane)) => Some(*lane),
            _ => None,
        };
        if self.all[n as usize].now.is_none() {
            self.load(shader, n, at, out);
        }
        let ty = shader.ty(v);
        let Some(Loaded { whole, lanes }) = &mut self.all[n as usize].now else { return v };
        let Some(lane) = lane else { return *whole };
        if let Some((_, known)) = lanes.iter().find(|(known, _)| *known == lane) {
            return *known;
        }
        let id = shader.add_inst(Op::Extract(lane), [*whole].as_slice().into(), Some(ty));
        out.push(id);
        let Some(new) = shader.inst(id).result else { return v };
        lanes.push((lane, new));
        new
    }

    /// Loads again, after other loads have left the registers if there is no room.
    fn load(&mut self, shader: &mut Shader, n: u32, at: u32, out: &mut List<InstId>) {
        let Inst { op, args, result } = shader.inst(self.all[n as usize].inst).clone();
        let args = args.iter().map(|v| self.value(shader, *v, at, out)).collect();
        let id = shader.add_inst(op, args, result.map(|v| shader.ty(v)));
        out.push(id);
        let Some(new) = shader.inst(id).result else { return };
        let dwords = self.all[n as usize].dwords;
        while self.size + dwords > KEPT {
            let next = |n: &u32| {
                let uses = &self.all[*n as usize].uses;
                uses.get(uses.partition_point(|use_at| *use_at < at)).copied().unwrap_or(NONE)
            };
            // What this instruction uses stays.
            let farthest = (0..self.kept.len()).max_by_key(|k| next(&self.kept[*k]));
            let Some(k) = farthest.filter(|k| next(&self.kept[*k]) > at) else { break };
            let gone = self.kept.swap_remove(k);
            let load = &mut self.all[gone as usize];
            load.now = None;
            self.size -= load.dwords;
        }
        self.all[n as usize].now = Some(Loaded { whole: new, lanes: SmallVec::new() });
        self.kept.push(n);
        self.size += dwords;
    }
}
