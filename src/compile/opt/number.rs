//! Global value numbering: one walk that merges equal values, folds constants, and applies the rules.
//!
//! Blocks are walked down the dominator tree, so operands have their last names before an instruction is looked at, and
//! what a rule builds is itself simplified and looked up. Loads of memory that may change are equal while its version
//! is; a block whose only predecessor dominates it starts with the versions that it left.

use super::blocks::empty_unreachable;
use super::known::{Key, Known, Version};
use super::names::ValueNames;
use super::purity::{Changes, Depends, Memory, changes, depends};
use dovetail_base::error::Result;
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::wave_wide::is_of_wave;
use dovetail_ir::{AluOp, BlockId, DenormMode, FpFlags, Inst, InstArgs, InstId, Op, Shader, Type, Value, ValueDef};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Instructions before in a block among which [`Numbering::made_here`] looks.
const NEAR: usize = 64;

/// Numbers the values of a shader.
///
/// # Errors
/// None but bugs.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    walk(shader, false);
    Ok(())
}

/// [`run`] that also fuses products with sums if both allow it; it runs last, because a fused operation hides its
/// product.
///
/// # Errors
/// None but bugs.
pub(super) fn contract(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    walk(shader, true);
    Ok(())
}

fn walk(shader: &mut Shader, contracts: bool) {
    // Unreachable code would use removed values.
    empty_unreachable(shader);
    let cfg = shader.cfg();
    let count = shader.blocks.iter().map(|b| b.insts.len()).sum();
    let mut walk = Numbering {
        contracts,
        fold_floats: shader.modes.rounds_to_nearest(),
        known: Known::new(count),
        names: ValueNames::default(),
        consts: Kept::default(),
        front: List::default(),
        out: List::default(),
        block: Shader::ENTRY,
        uniform: List::default(),
        versions: [0; Memory::COUNT],
        lanes: 0,
        last: 0,
        cfg,
        shader,
    };
    walk.run();
}

/// State of the walk.
pub(super) struct Numbering<'a> {
    pub shader: &'a mut Shader,
    cfg: Arc<Cfg>,
    known: Known,
    names: ValueNames,
    consts: Kept<FxHashMap<(Type, u64), Value>>,
    /// Constants, for the start of the entry block.
    front: List<InstId>,
    /// Instructions of the current block so far.
    out: List<InstId>,
    block: BlockId,
    /// By value, whether it depends only on scalar registers and memory, without control flow: it is the same in all
    /// lanes.
    uniform: List<bool>,
    versions: [Version; Memory::COUNT],
    lanes: Version,
    /// The last version given out.
    last: Version,
    /// Every float operation rounds to nearest.
    fold_floats: bool,
    /// Whether rules that contract apply.
    pub(super) contracts: bool,
}

impl Numbering<'_> {
    fn run(&mut self) {
        let cfg = Arc::clone(&self.cfg);
        self.start();
        let mut order = filled(cfg.order.len(), BlockId::ENTRY);
        for &block in cfg.order.iter() {
            if let Some((number, _)) = cfg.dom.span(block) {
                order[number as usize] = block;
            }
        }
        // By block, the versions at its end.
        let mut ends = filled(self.shader.blocks.len(), [0; Memory::COUNT]);
        let mut old = List::<InstId>::default();
        for &block in &order {
            self.block = block;
            self.lanes = self.next_version();
            match cfg.preds(block) {
                &[from] => self.versions = ends[from.index()],
                _ => self.versions = std::array::from_fn(|_| self.next_version()),
            }
            old.clear();
            old.append(&mut self.shader.block_mut(block).insts);
            for &id in &old {
                self.visit(id);
            }
            let Self { shader, names, out, .. } = self;
            let end = shader.block_mut(block);
            end.end.values_mut().iter_mut().for_each(|v| *v = names.of(*v));
            end.insts.append(out);
            ends[block.index()] = self.versions;
        }
        self.shader.block_mut(Shader::ENTRY).insts.splice(0..0, self.front.drain(..));
    }

    /// Marks the values of scalar registers.
    fn start(&mut self) {
        self.uniform.resize(self.shader.values.len(), false);
        self.shader.scalar_params().for_each(|param| self.uniform[param.index()] = true);
    }

    fn next_version(&mut self) -> Version {
        self.last += 1;
        self.last
    }

    fn visit(&mut self, id: InstId) {
        let inst = self.shader.inst_mut(id);
        let Some(result) = inst.result else {
            inst.args.iter_mut().for_each(|v| *v = self.names.of(*v));
            self.out.push(id);
            return self.effect(id);
        };
        // A placeholder of the same size as the operation, without heap memory.
        let op = std::mem::replace(&mut inst.op, Op::Undef);
        let mut args = std::mem::take(&mut inst.args);
        args.iter_mut().for_each(|v| *v = self.names.of(*v));
        let ty = self.shader.ty(result);
        let v = match op {
            Op::Const(bits) => self.constant_at(ty, bits, Some(id)),
            Op::Alu(op, flags) => self.alu_at(op, flags, args, ty, Some(id)),
            op => match self.whole(&op, &args, ty) {
                Some(v) => v,
                None => self.place(op, args, ty, Some(id)),
            },
        };
        if v != result {
            self.names.set(result, v);
        }
    }

    /// An operation with side effects.
    fn effect(&mut self, id: InstId) {
        match changes(&self.shader.inst(id).op) {
            Changes::Nothing => {}
            Changes::Memory(memory) => {
                self.versions[memory as usize] = self.next_version();
                self.forward(id);
            }
            Changes::Everything => {
                for memory in [Memory::Buffers, Memory::Images, Memory::Shared] {
                    self.versions[memory as usize] = self.next_version();
                }
                self.lanes = self.next_version();
            }
        }
    }

    /// A load after a store of the same bytes gives the stored value, if no bounds are checked.
    fn forward(&mut self, id: InstId) {
        let inst = self.shader.inst(id);
        let (load, memory) = match inst.op {
            Op::LocalStore { local, align } => (Op::LocalLoad { local, align }, Memory::Locals),
            Op::SharedStore { align, access } if !access.volatile && !access.coherent => {
                (Op::SharedLoad { align, access }, Memory::Shared)
            }
            _ => return,
        };
        let (args, value): (InstArgs, Value) = (InstArgs::from_slice(&inst.args[..1]), inst.args[1]);
        let (ty, version) = (self.shader.ty(value), self.versions[memory as usize]);
        let key = Key { op: &load, args: &args, ty, version };
        if let Err(slot) = self.known.find(self.shader, &self.cfg, self.block, key) {
            // An instruction that is in no block, for comparisons only.
            let id = self.shader.add_inst(load, args, None);
            self.known.insert(slot, version, self.block, id, value);
        }
    }

    /// A constant.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.constant_at(ty, bits & ty.bits().mask(), None)
    }

    fn constant_at(&mut self, ty: Type, bits: u64, id: Option<InstId>) -> Value {
        if let Some(v) = self.consts.get(&(ty, bits)) {
            return *v;
        }
        let (id, v) = self.write(Op::Const(bits), InstArgs::new(), ty, id);
        self.front.push(id);
        self.uniform[v.index()] = true;
        self.consts.insert((ty, bits), v);
        v
    }

    /// Simplified arithmetic, whose result type follows from the operands, except for a conversion to `ty`.
    pub fn alu(&mut self, op: AluOp, flags: FpFlags, args: &[Value], ty: Type) -> Value {
        self.alu_at(op, flags, InstArgs::from_slice(args), ty, None)
    }

    fn alu_at(&mut self, op: AluOp, flags: FpFlags, args: InstArgs, ty: Type, id: Option<InstId>) -> Value {
        match self.simplify(op, flags, args, ty) {
            Ok(v) => v,
            Err((op, flags, args)) => self.place(Op::Alu(op, flags), args, ty, id),
        }
    }

    /// Any other pure operation, simplified.
    pub fn value(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        match self.whole(&op, args, ty) {
            Some(v) => v,
            None => self.place(op, InstArgs::from_slice(args), ty, None),
        }
    }

    /// The value of an equal instruction, or of a new one here.
    fn place(&mut self, op: Op, args: InstArgs, ty: Type, id: Option<InstId>) -> Value {
        let version = match depends(&op) {
            Depends::Nothing => 0,
            Depends::Memory(memory) => self.versions[memory as usize],
            Depends::Lanes => self.lanes,
            Depends::Anything => {
                let (id, v) = self.write(op, args, ty, id);
                self.out.push(id);
                self.effect(id);
                return v;
            }
        };
        let key = Key { op: &op, args: &args, ty, version };
        match self.known.find(self.shader, &self.cfg, self.block, key) {
            Ok(v) => v,
            Err(slot) => {
                let uniform = self.made_uniform(&op, &args);
                let (id, v) = self.write(op, args, ty, id);
                self.out.push(id);
                self.uniform[v.index()] = uniform;
                self.known.insert(slot, version, self.block, id, v);
                v
            }
        }
    }

    /// Writes an instruction in place of an old one, or as a new one.
    fn write(&mut self, op: Op, args: InstArgs, ty: Type, id: Option<InstId>) -> (InstId, Value) {
        if let Some(id) = id
            && let Some(v) = self.shader.inst(id).result
        {
            let inst = self.shader.inst_mut(id);
            (inst.op, inst.args) = (op, args);
            return (id, v);
        }
        let v = Value(self.shader.values.len() as u32);
        let id = self.shader.add_inst(op, args, Some(ty));
        self.uniform.push(false);
        (id, v)
    }

    fn made_uniform(&self, op: &Op, args: &[Value]) -> bool {
        is_of_wave(op) && args.iter().all(|v| self.is_uniform(*v))
    }

    /// Whether a value is certainly the same in all lanes, whichever lanes run.
    pub fn is_uniform(&self, v: Value) -> bool {
        self.uniform.get(v.index()).copied().unwrap_or(false)
    }

    /// The instruction that makes a value, if it is a little before in the current block: what it gives to all lanes may
    /// differ elsewhere, between lanes that have left a loop in different iterations.
    pub fn made_here(&self, v: Value) -> Option<&Inst> {
        let ValueDef::Inst(id) = self.shader.values[v.index()].def else { return None };
        self.out.iter().rev().take(NEAR).any(|near| *near == id).then(|| self.shader.inst(id))
    }

    /// Whether float constants may be folded.
    pub fn folds_floats(&self) -> bool {
        self.fold_floats
    }

    /// Whether the shader requires denormals of a float type to become zero.
    pub fn flushes(&self, ty: Type) -> bool {
        let [d16, d32, d64] = self.shader.modes.denorm;
        let mode = match ty.total_bits() {
            16 => d16,
            64 => d64,
            _ => d32,
        };
        mode == DenormMode::Flush
    }
}
