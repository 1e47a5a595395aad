//! Instruction selection: turns lower-level IR into machine IR, block by block in layout order.
//!
//! A value of the IR is a list of dwords, each a machine value, a constant, a relocation or undefined, so vectors, bit
//! casts, extracts and constants cost nothing. Uniform integers are scalar values, everything else vector values;
//! `Selector::scalar` and `Selector::vector` move a dword to the other file if an instruction needs it there. A
//! condition keeps the form in which it was computed ([`bools::Bool`]) and is converted for its user: SCC, a lane mask,
//! 0 or 1.

mod bools;
mod clock;
mod compare;
mod descriptors;
mod ends;
mod float;
mod fragment;
mod half;
mod image;
mod integer;
mod interpolate;
mod lanes;
mod locals;
mod memory;
mod narrow;
mod packed;
mod shared;
mod values;
mod whole_wave;
mod wide;

use super::layout::BlockLayout;
use super::mir::sources::PLAIN;
use super::mir::{
    BlockId, Edge, Extra, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue, PhysReg, Pseudo,
    RegisterClass, Term, Val,
};
use super::plan::{Landing, MaskId, Plan, WavePaths};
use bools::Bool;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_ir as ir;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::uniform::Uniformity;
use dovetail_ir::{AmdOp, ConstTableId, InstId, Op as IrOp, Shader, Value, WorkgroupWord};
use dovetail_isa::Isa;
use dovetail_isa::Op;
use dovetail_metadata::interface::StageInterface;
use dovetail_passes::entry_facts::EntryFacts;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// Operands of an instruction, most often few.
type Operands = SmallVec<[Operand; 24]>;
/// The dwords of a value.
type Dwords = SmallVec<[OperandValue; 16]>;

/// The machine IR's form of an IR value.
#[derive(Clone, Copy, Debug, Default)]
enum Made {
    /// Not selected yet.
    #[default]
    None,
    /// Dwords: a range of [`Selector::dwords`].
    Dwords(u32, u32),
    /// A condition.
    Bool(Bool),
}

struct Selector<'a> {
    shader: &'a Shader,
    cfg: Arc<Cfg>,
    isa: &'static Isa,
    wave: WaveSize,
    layout: &'a BlockLayout,
    plan: &'a Plan,
    uniformity: &'a Uniformity,
    f: MachineFunction,
    made: List<Made>,
    dwords: List<OperandValue>,
    /// By IR value of 16 bits, a half of a dword that it also is, and the position of the block that knows it.
    halves: List<Option<(half::Half, u32)>>,
    /// Lane masks of the plan.
    masks: List<[Val; 2]>,
    /// By IR value: it is used where lanes see values of several iterations of a loop.
    escapes: List<bool>,
    /// By machine value: the same in the other register file, made in this block.
    other: List<Option<(Val, u32)>>,
    /// Literals that this block has put into scalar registers.
    literals: List<(OperandValue, Val)>,
    /// Addresses of constant tables that this block has made.
    tables: List<(ConstTableId, [Val; 2])>,
    /// The last masks that this block made, with these lanes on, of conditions that are the same for the wave.
    wave_masks: Kept<VecDeque<(Bool, [Val; 2])>>,
    /// Position of the block that is being filled.
    here: u32,
    /// By position: the blocks of landing and body.
    blocks: List<[BlockId; 2]>,
    /// By position of a divergent branch: its condition.
    conditions: List<Option<[Val; 2]>>,
    /// Offsets of scratch variables, and bytes of all.
    locals: List<u32>,
    locals_bytes: u32,
    /// The mask of live pixels.
    live: Option<[Val; 2]>,
    /// By IR value: it is computed with all lanes on.
    whole: List<bool>,
    /// All lanes are on; the mask that EXEC goes back to.
    all_on: Option<[Val; 2]>,
    /// Only live pixels are on from here to the end of the block.
    exact: bool,
    /// A prolog runs before the code.
    prolog: bool,
}

/// Selects instructions for a shader that `shape` has prepared.
///
/// # Errors
/// Unsupported: an operation that is not selected yet, by name. Bugs.
pub fn select(
    shader: &Shader,
    entry: &EntryFacts,
    interface: &StageInterface,
    layout: &BlockLayout,
    plan: &Plan,
    uniformity: &Uniformity,
) -> Result<MachineFunction> {
    let info = shader.lower.as_ref().ok_or_else(|| Error::bug("native: an upper-level shader"))?;
    let isa = Isa::of(interface.target);
    let f = MachineFunction::new(isa, shader.stage, info.wave);
    let mut selector = Selector {
        shader,
        cfg: shader.cfg(),
        isa,
        wave: info.wave,
        layout,
        plan,
        uniformity,
        f,
        prolog: interface.prolog,
        made: filled(shader.values.len(), Made::None),
        dwords: List::default(),
        halves: filled(shader.values.len(), None),
        masks: List::default(),
        escapes: escaping(shader, layout, plan, uniformity),
        other: List::default(),
        literals: List::default(),
        tables: List::default(),
        wave_masks: Kept::default(),
        here: 0,
        blocks: List::default(),
        conditions: filled(layout.order.len(), None),
        locals: List::default(),
        locals_bytes: 0,
        whole: whole_wave::values(shader, layout),
        all_on: None,
        live: None,
        exact: false,
    };
    for _ in 0..plan.masks {
        let mask = selector.new_mask();
        for val in mask {
            selector.f.values[val.index()].variable = true;
        }
        selector.masks.push(mask);
    }
    selector.place_locals();
    selector.number_blocks();
    selector.entry(info, entry);
    for position in 0..layout.order.len() as u32 {
        selector.here = position;
        selector.literals.clear();
        selector.tables.clear();
        selector.wave_masks.clear();
        selector.landing(position);
        // The landing has turned other lanes on.
        selector.wave_masks.clear();
        let id = layout.order[position as usize];
        selector.block(position).at(|| format!("{id}"))?;
        if selector.ends_early(position) {
            selector.dead_end(info);
        }
    }
    Ok(selector.f)
}

/// Values that are used after a loop that lanes leave in different iterations, or where the wave may come to without having
/// been where they are made.
fn escaping(shader: &Shader, layout: &BlockLayout, plan: &Plan, uniformity: &Uniformity) -> List<bool> {
    let wave = WavePaths::new(plan);
    let cfg = shader.cfg();
    let mut home = filled(shader.values.len(), 0);
    for (position, &id) in (0..).zip(&layout.order) {
        let block = shader.block(id);
        let results = block.insts.iter().filter_map(|i| shader.inst(*i).result);
        results.chain(block.params.iter().copied()).for_each(|v| home[v.index()] = position);
    }
    let mut escapes = filled(shader.values.len(), false);
    for &id in &layout.order {
        let block = shader.block(id);
        let mut see_one = |v: Value, at: ir::BlockId| {
            let passed = || wave.passes(home[v.index()], layout.position[at.index()]);
            if shader.as_const(v).is_none() && (uniformity.leaves_apart(v, at) || !passed()) {
                escapes[v.index()] = true;
            }
        };
        let mut see = |v: Value, at: ir::BlockId| {
            see_one(v, at);
            // An access uses the sum's operands instead.
            if let Some(inst) = shader.def(v).filter(|inst| matches!(inst.op, IrOp::Alu(ir::AluOp::IAdd, _))) {
                inst.args.iter().for_each(|v| see_one(*v, at));
            }
        };
        block.insts.iter().for_each(|i| shader.inst(*i).args.iter().for_each(|v| see(*v, id)));
        // An argument on an edge out of the loop is used in the loop.
        block.end.values().iter().for_each(|v| see(*v, id));
        for call in block.calls().filter(|call| is_alias(&cfg, call.block)) {
            // A block with one predecessor needs no copies: its parameters are the arguments themselves.
            call.args.iter().for_each(|v| see(*v, call.block));
        }
    }
    // A scalar parameter takes its value where the wave comes from. After a landing, the lanes may come from elsewhere.
    for (position, &id) in (0..).zip(&layout.order).filter(|(_, id)| cfg.preds(**id).len() != 1) {
        let preds = cfg.preds(id).iter().map(|pred| layout.position[pred.index()]);
        let landing = plan.landings[position as usize] != Landing::default();
        if landing || !wave.comes_from(position, preds) {
            shader.block(id).params.iter().for_each(|param| escapes[param.index()] = true);
        }
    }
    // A value that has another name in a later block escapes under that name too.
    for &id in layout.order.iter().rev() {
        for call in shader.block(id).calls().filter(|call| is_alias(&cfg, call.block)) {
            for (param, arg) in shader.block(call.block).params.iter().zip(call.args) {
                escapes[arg.index()] |= escapes[param.index()];
            }
        }
    }
    escapes
}

/// Whether a block's parameters are other names of the arguments of its only predecessor.
fn is_alias(cfg: &Cfg, block: ir::BlockId) -> bool {
    cfg.preds(block).len() == 1
}

impl Selector<'_> {
    fn number_blocks(&mut self) {
        let mut next = 0;
        for (position, landing) in (0..).zip(&self.plan.landings) {
            let needed = *landing != super::plan::Landing::default();
            let body = next + u32::from(needed);
            self.blocks.push([BlockId(next), BlockId(body)]);
            next = body + 1 + u32::from(self.ends_early(position));
        }
    }

    /// Adds an instruction.
    fn push(&mut self, op: Opcode, defs: &[Operand], uses: &[Operand], extra: Extra, tied: bool) {
        let operands = self.f.operands.len() as u32;
        self.f.operands.extend_from_slice(defs);
        self.f.operands.extend_from_slice(uses);
        self.f.insts.push(MachineInst { op, operands, defs: defs.len() as u8, uses: uses.len() as u8, tied, extra });
    }

    fn isa(&mut self, op: Op, defs: &[Operand], uses: &[Operand], extra: Extra) {
        self.push(Opcode::Isa(op), defs, uses, extra, false);
    }

    /// Begins a block; `close` ends it.
    fn open(&self) -> u32 {
        self.f.insts.len() as u32
    }

    fn close(&mut self, start: u32, tail: u32, params: std::ops::Range<u32>, edges: SmallVec<[Edge; 2]>, term: Term) {
        let depth = self.cfg.loops().around(self.layout.order[self.here as usize]).len();
        let insts = start..self.f.insts.len() as u32;
        let depth = u8::try_from(depth).unwrap_or(u8::MAX);
        self.f.blocks.push(MachineBlock { params, insts, tail, edges, term, depth });
    }

    fn block(&mut self, position: u32) -> Result<()> {
        let shader = self.shader;
        let id = self.layout.order[position as usize];
        let start = self.open();
        let params = self.params(id)?;
        self.exact = false;
        if id == Shader::ENTRY {
            self.enter_quads();
        }
        // The address of the code comes first: the low halves of tables can then use the register of its low half,
        // which is next to the high half that all of them share.
        let insts = &shader.block(id).insts;
        let is_address = |inst: &&InstId| matches!(shader.inst(**inst).op, IrOp::Target(AmdOp::AddressHigh));
        for &inst in insts.iter().filter(is_address).chain(insts.iter().filter(|inst| !is_address(inst))) {
            self.switch_lanes(shader.inst(inst).result);
            self.inst(inst).at(|| format!("{inst}"))?;
        }
        self.switch_lanes(None);
        self.end(position, start, params)
    }

    /// Creates the parameters of a block.
    fn params(&mut self, id: ir::BlockId) -> Result<std::ops::Range<u32>> {
        let start = self.f.params.len() as u32;
        if id != Shader::ENTRY && !is_alias(&self.cfg, id) {
            for &param in &self.shader.block(id).params {
                let ty = self.shader.ty(param);
                let class = if self.is_scalar_param(param) { RegisterClass::Scalar } else { RegisterClass::Vector };
                let count = if ty == ir::Type::B1 { 1 } else { ty.total_bits().div_ceil(32) };
                let vals: SmallVec<[Val; 4]> = (0..count).map(|_| self.f.value(class)).collect();
                self.f.params.extend_from_slice(&vals);
                if ty == ir::Type::B1 {
                    self.made[param.index()] = Made::Bool(match class {
                        RegisterClass::Scalar => Bool::Flag(vals[0]),
                        RegisterClass::Vector => Bool::Lanes(vals[0]),
                    });
                } else {
                    let words: Dwords = vals.iter().map(|v| OperandValue::Val(*v)).collect();
                    self.set(param, &words);
                }
            }
        }
        Ok(start..self.f.params.len() as u32)
    }

    /// Whether a parameter is uniform, and so are the blocks that pass it.
    fn is_scalar_param(&self, param: Value) -> bool {
        self.uniformity.is_uniform(param) && !self.escapes[param.index()]
    }

    fn inst(&mut self, id: InstId) -> Result<()> {
        let inst = self.shader.inst(id);
        let args = &inst.args[..];
        let Some(result) = inst.result else { return self.effect(inst) };
        let ty = self.shader.ty(result);
        match &inst.op {
            IrOp::Const(bits) => self.constant(result, *bits, ty),
            IrOp::Undef if ty == ir::Type::B1 => self.made[result.index()] = Made::Bool(Bool::Const(false)),
            IrOp::Undef | IrOp::LoopToken => {
                let words: Dwords = (0..ty.total_bits().div_ceil(32)).map(|_| OperandValue::Undef).collect();
                self.set(result, &words);
            }
            IrOp::Reloc(symbol) => self.set(result, &[OperandValue::Reloc(*symbol)]),
            IrOp::Target(AmdOp::AddressHigh) => {
                let high = match self.f.address_high {
                    Some(high) => high,
                    None => {
                        let pair = self.scalars(2);
                        self.isa(Op::SGetpcB64, &run_of(&pair), &[], Extra::None);
                        pair[1]
                    }
                };
                self.set(result, &[OperandValue::Val(high)]);
            }
            IrOp::Target(AmdOp::WorkgroupIds(word)) => {
                let from = match word {
                    WorkgroupWord::X => PhysReg::WORKGROUP_X,
                    WorkgroupWord::Yz => PhysReg::WORKGROUP_YZ,
                };
                let val = self.scalars(1)[0];
                self.isa(Op::SMovB32, &[Operand::val(val)], &[Operand::one(OperandValue::Fixed(from))], Extra::None);
                self.set(result, &[OperandValue::Val(val)]);
            }
            IrOp::Opaque => self.made[result.index()] = self.made[args[0].index()],
            IrOp::Alu(op, flags) => self.alu(*op, *flags, inst, result)?,
            IrOp::Compose => self.compose(args, result)?,
            IrOp::Extract(lane) => self.extract(args[0], u32::from(*lane), result)?,
            IrOp::Bitcast => {
                let words = self.words(args[0])?;
                self.set(result, &words);
            }
            op => self.load(op, args, result)?,
        }
        if self.escapes[result.index()] {
            self.keep_for_lanes(result)?;
        }
        Ok(())
    }

    /// Keeps a value that lanes see from several iterations in vector registers.
    fn keep_for_lanes(&mut self, v: Value) -> Result<()> {
        match self.made[v.index()] {
            Made::Bool(Bool::Const(_)) => {}
            Made::Bool(made) => {
                let lanes = self.as_lanes(made)?;
                self.made[v.index()] = Made::Bool(Bool::Lanes(lanes));
            }
            Made::Dwords(..) => {
                let words = self.words(v)?;
                let mut kept = Dwords::new();
                for word in words {
                    kept.push(match word {
                        OperandValue::Val(val) if self.f.class(val) == RegisterClass::Scalar => {
                            OperandValue::Val(self.copy_to_vector(word))
                        }
                        other => other,
                    });
                }
                self.set(v, &kept);
            }
            Made::None => {}
        }
        Ok(())
    }
}

/// One run of operands.
fn run_of(vals: &[Val]) -> Operands {
    crate::mir::run_of(vals.iter().map(|val| OperandValue::Val(*val))).collect()
}

fn run_of_words(words: &[OperandValue]) -> Operands {
    crate::mir::run_of(words.iter().copied()).collect()
}

/// A mask of the plan, as a run.
fn mask_run(wave: WaveSize, mask: [Val; 2]) -> Operands {
    match wave {
        WaveSize::W32 => run_of(&mask[..1]),
        WaveSize::W64 => run_of(&mask),
    }
}

impl Selector<'_> {
    /// The mask of the plan.
    fn mask_of(&self, id: MaskId) -> [Val; 2] {
        self.masks[id.0 as usize]
    }

    fn pseudo(&mut self, pseudo: Pseudo, defs: &[Operand], uses: &[Operand], extra: Extra) {
        self.push(Opcode::Pseudo(pseudo), defs, uses, extra, false);
    }
}
