//! One entry point: its blocks, values, variables, resources and modes.
//!
//! Arenas with typed indices; nothing is removed from an arena, only from the blocks that list instructions. A value is
//! an instruction's result or a block's parameter. The entry block is block 0; it has no predecessors and, at the upper
//! level, no parameters. At the lower level its parameters are the hardware's registers, one per [`EntryArg`].

use super::args::InstArgs;
use super::block::{BasicBlock, BlockCall, Blocks, Merge, Terminator, reserve};
use super::cfg::Cfg;
use super::graph::Graph;
use super::kept::Remembered;
use super::name::Name;
use super::op::Op;
use super::symbols::Symbols;
use super::tracked::Tracked;
use super::types::{Align, Type};
use dovetail_base::kinds::{DepthMode, ResourceKind, SpecOperand, SpecValue};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_base::workspace::{Kept, List, take};
use std::fmt;
use std::sync::Arc;

pub use super::ids::{BlockId, ConstTableId, InstId, LocalId, ResourceId, SymbolId, Value};

/// Level of a shader: the operations that may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShaderLevel {
    /// From the front end.
    Upper,
    /// For a code generator.
    Lower,
}

/// One entry point, every call inlined.
#[derive(Clone, Debug)]
pub struct Shader {
    /// Entry point name.
    pub name: Name,
    /// Stage.
    pub stage: Stage,
    /// Level: the operations that may occur.
    pub level: ShaderLevel,
    /// Blocks; 0 is the entry.
    pub blocks: Tracked<Kept<Blocks>>,
    /// Instructions, in order of creation.
    pub insts: Tracked<List<Inst>>,
    /// Values.
    pub values: List<ValueData>,
    /// Scratch variables.
    pub locals: List<Local>,
    /// Constant tables.
    pub tables: List<ConstTable>,
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Byte ranges of its variables; the text form omits them, since only the interpreter needs them.
    pub shared_variables: List<std::ops::Range<u32>>,
    /// Resource bindings the entry point uses.
    pub resources: List<Resource>,
    /// Bytes of push constants declared (end of the block), 0 if none.
    pub push_constant_bytes: u32,
    /// Symbols that relocations name.
    pub symbols: Symbols,
    /// Execution modes.
    pub modes: Modes,
    /// Data that only a lower-level shader has.
    pub lower: Option<LowerInfo>,
    /// An [`Op::StayInLoop`] was added.
    stays_in_loops: bool,
    /// Blocks are in the iterations in which the declared structure has them; later passes need not keep declarations.
    pub keeps_iterations: bool,
    pub(super) cfg: Remembered,
    pub(super) uniformity: Remembered,
}

/// Type and origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Its definition.
    pub def: ValueDef,
}

/// Definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// Result of an instruction.
    Inst(InstId),
    /// Parameter of a block, by position.
    Param(BlockId, u32),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Operation.
    pub op: Op,
    /// Operands.
    pub args: InstArgs,
    /// Its result, if it has one.
    pub result: Option<Value>,
}

impl Inst {
    /// Placeholder for an instruction that is temporarily taken out.
    pub(super) fn none() -> Self {
        Self { op: Op::Undef, args: InstArgs::new(), result: None }
    }

    /// Its results: none or one, for every operation at present.
    pub fn results(&self) -> &[Value] {
        self.result.as_slice()
    }
}

/// A scratch variable, byte-addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Debug name.
    pub name: Name,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment.
    pub align: Align,
}

/// Constant bytes that are indexed at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstTable {
    /// Little-endian contents.
    pub bytes: List<u8>,
    /// Alignment.
    pub align: Align,
}

/// A resource binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Debug name.
    pub name: Name,
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Kind of the descriptor.
    pub kind: ResourceKind,
    /// Array length; `None` is a run-time array.
    pub count: Option<u32>,
    /// Whether the shader writes it.
    pub written: bool,
}

/// Treatment of denormals at one width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DenormMode {
    /// Unspecified by the shader.
    #[default]
    Any,
    /// Flushed, sign kept.
    Flush,
    /// Kept.
    Preserve,
}

/// Rounding mode that the shader requires at one width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RoundMode {
    /// To nearest even, or unspecified.
    #[default]
    NearestEven,
    /// Towards zero.
    TowardZero,
}

/// Invocations of a workgroup that form a quad, for derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DerivativeGroup {
    /// None.
    #[default]
    None,
    /// Two by two neighbours in x and y.
    Quads,
    /// Four consecutive linear indices.
    Linear,
}

/// Execution modes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Workgroup size, compute only.
    pub local_size: [u32; 3],
    /// Depth and stencil tests run before the shader.
    pub early_fragment_tests: bool,
    /// Promise about depth.
    pub depth: DepthMode,
    /// The sample mask input contains only samples that pass the early tests.
    pub post_depth_coverage: bool,
    /// Pixel centres at integers.
    pub pixel_center_integer: bool,
    /// Denormals by width: 16, 32, 64 bits.
    pub denorm: [DenormMode; 3],
    /// Rounding by width: 16, 32, 64 bits.
    pub round: [RoundMode; 3],
    /// Per-sample shading is required (SampleId, SamplePosition, sample interpolation).
    pub per_sample: bool,
    /// Quads of a workgroup, compute only.
    pub derivatives: DerivativeGroup,
    /// Every specialization constant that shaped the translation, sorted by id.
    pub spec: List<SpecValue>,
    /// Every specialization constant that is an [`Op::Reloc`], sorted by id.
    pub spec_operands: List<SpecOperand>,
}

impl Modes {
    /// Whether denormals are preserved: at 32 bits, and at 16 and 64 bits, for which the hardware has one mode.
    ///
    /// 32-bit denormals are flushed unless the shader preserves them; Vulkan allows this, and it is fast on the
    /// hardware. The others are preserved unless one width is flushed and the other is unspecified.
    pub fn keeps_denormals(&self) -> [bool; 2] {
        let [d16, d32, d64] = self.denorm;
        let flush = [d16, d64].contains(&DenormMode::Flush) && ![d16, d64].contains(&DenormMode::Preserve);
        [d32 == DenormMode::Preserve, !flush]
    }

    /// Whether float operations of every width round to nearest.
    pub fn rounds_to_nearest(&self) -> bool {
        self.round.iter().all(|mode| *mode == RoundMode::NearestEven)
    }

    /// Whether to round towards zero: at 32 bits, and at 16 and 64 bits, for which the hardware has one mode.
    pub fn rounds_toward_zero(&self) -> [bool; 2] {
        let [r16, r32, r64] = self.round.map(|r| r == RoundMode::TowardZero);
        [r32, r16 || r64]
    }

    /// The local id of the n-th invocation in lane order: along x, y and z; with two-by-two quads, the four of a quad
    /// are consecutive, and the quads are in the same order.
    pub fn local_id(&self, n: u32) -> [u32; 3] {
        let [x, y, _] = self.local_size.map(|n| n.max(1));
        if self.derivatives != DerivativeGroup::Quads {
            return [n % x, n / x % y, n / x / y];
        }
        let (quad, [wide, high]) = (n / 4, [x / 2, y / 2].map(|n| n.max(1)));
        [quad % wide * 2 + n % 2, quad / wide % high * 2 + n / 2 % 2, quad / wide / high]
    }
}

/// Scalar or vector register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegClass {
    /// One value per wave.
    Sgpr,
    /// One value per lane.
    Vgpr,
}

/// One register (or run of registers) that the hardware or a prolog fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryArg {
    /// Register file.
    pub class: RegClass,
    /// Type: one register per dword.
    pub ty: Type,
    /// Contents.
    pub role: ArgRole,
}

/// Contents of an entry register; for debugging and tests, the position decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgRole {
    /// User data, by its meaning (text of `metadata::UserData`).
    UserData(Name),
    /// A system value of the hardware, by name.
    System(&'static str),
    /// A fetched vertex attribute component.
    VertexInput {
        /// Location.
        location: u32,
        /// Component.
        component: u8,
    },
}

/// Data that only a lower-level shader has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowerInfo {
    /// Lanes per wave.
    pub wave: WaveSize,
    /// One for each parameter of the entry block, in order.
    pub args: List<EntryArg>,
    /// One for each value of a `Return`.
    pub returns: List<RegClass>,
    /// Whether a return falls through into an epilog, with or without values.
    pub epilog: bool,
    /// Symbol of the function.
    pub symbol: Name,
    /// Whether a colour may be exported (affects the early exit).
    pub color_export: bool,
    /// Whether depth, stencil or sample mask may be exported.
    pub depth_export: bool,
}

impl Shader {
    /// Whether invocations have neighbours for derivatives and implicit LOD.
    pub fn has_derivatives(&self) -> bool {
        self.stage.shades_pixels() || self.modes.derivatives != DerivativeGroup::None
    }

    /// Removes all blocks, instructions and values, and frees their memory.
    pub fn remove_code(&mut self) {
        (self.blocks, self.insts, self.values) = Default::default();
        (self.cfg, self.uniformity) = Default::default();
    }

    /// An empty shader with an entry block.
    pub fn new(name: impl Into<Name>, stage: Stage) -> Self {
        let mut shader = Self {
            name: name.into(),
            stage,
            level: ShaderLevel::Upper,
            blocks: Tracked::default(),
            insts: Tracked::default(),
            values: List::default(),
            locals: List::default(),
            tables: List::default(),
            shared_bytes: 0,
            shared_variables: List::default(),
            resources: List::default(),
            push_constant_bytes: 0,
            symbols: Symbols::default(),
            modes: Modes::default(),
            lower: None,
            stays_in_loops: false,
            keeps_iterations: false,
            cfg: Remembered::default(),
            uniformity: Remembered::default(),
        };
        shader.add_block();
        shader
    }

    /// The entry block.
    pub const ENTRY: BlockId = BlockId::ENTRY;

    /// Parameters of the entry block that arrive in scalar registers; none at the upper level.
    pub fn scalar_params(&self) -> impl Iterator<Item = Value> + '_ {
        let args = self.lower.iter().flat_map(|lower| &lower.args);
        let params = args.zip(&self.block(Self::ENTRY).params);
        params.filter(|(arg, _)| arg.class == RegClass::Sgpr).map(|(_, param)| *param)
    }

    /// A new empty block.
    pub fn add_block(&mut self) -> BlockId {
        self.blocks.add();
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// Ends a block after its first `count` instructions and moves the rest into a new block, to which it jumps. The declared
    /// selection goes with the branch; a loop stays with the target of its back edge.
    pub fn split_block(&mut self, block: BlockId, count: usize) -> BlockId {
        let rest = self.add_block();
        let first = self.block_mut(block);
        let insts = first.insts.split_off(count);
        let end = std::mem::take(&mut first.end);
        first.end.set(Terminator::Jump(BlockCall::to(rest)));
        let merge = match first.merge {
            Merge::Selection(_) => std::mem::take(&mut first.merge),
            Merge::None | Merge::Loop { .. } => Merge::None,
        };
        let second = self.block_mut(rest);
        (second.insts, second.end, second.merge) = (insts, end, merge);
        rest
    }

    /// A new parameter at the end of a block's list.
    pub fn add_param(&mut self, block: BlockId, ty: Type) -> Value {
        let v = Value(self.values.len() as u32);
        let n = self.blocks[block.index()].params.len() as u32;
        self.values.push(ValueData { ty, def: ValueDef::Param(block, n) });
        let params = &mut self.blocks[block.index()].params;
        reserve(params, 1);
        params.push(v);
        v
    }

    /// Has each parameter of a block know its place again, after some were removed or the block got another number.
    pub fn place_params(&mut self, block: BlockId) {
        for (v, n) in self.blocks[block.index()].params.iter().zip(0..) {
            self.values[v.index()].def = ValueDef::Param(block, n);
        }
    }

    /// A new instruction, in no block yet.
    pub fn add_inst(&mut self, op: Op, args: InstArgs, ty: Option<Type>) -> InstId {
        let id = InstId(self.insts.len() as u32);
        let result = ty.map(|ty| {
            let v = Value(self.values.len() as u32);
            self.values.push(ValueData { ty, def: ValueDef::Inst(id) });
            v
        });
        self.stays_in_loops |= op == Op::StayInLoop;
        self.insts.push(Inst { op, args, result });
        id
    }

    /// Instructions that are in a block, in block order.
    pub fn live_insts(&self) -> impl Iterator<Item = &Inst> {
        self.blocks.iter().flat_map(|b| &b.insts).map(|&id| self.inst(id))
    }

    /// Whether a matching operation occurs: checking is cheaper than a rewrite that changes nothing.
    pub fn has(&self, wanted: impl Fn(&Op) -> bool) -> bool {
        self.live_insts().any(|inst| wanted(&inst.op))
    }

    /// A new scratch variable.
    pub fn add_local(&mut self, local: Local) -> LocalId {
        self.locals.push(local);
        LocalId(self.locals.len() as u32 - 1)
    }

    /// The id of a symbol, interned.
    pub fn symbol(&mut self, name: impl fmt::Display) -> SymbolId {
        self.symbols.intern(name)
    }

    /// A block.
    pub fn block(&self, id: BlockId) -> &BasicBlock {
        &self.blocks[id.index()]
    }

    /// A block, to change.
    pub fn block_mut(&mut self, id: BlockId) -> &mut BasicBlock {
        &mut self.blocks[id.index()]
    }

    /// An instruction.
    pub fn inst(&self, id: InstId) -> &Inst {
        &self.insts[id.index()]
    }

    /// An instruction, to change.
    pub fn inst_mut(&mut self, id: InstId) -> &mut Inst {
        &mut self.insts[id.index()]
    }

    /// Type of a value.
    pub fn ty(&self, v: Value) -> Type {
        self.values[v.index()].ty
    }

    /// The instruction that defines a value; `None` for a parameter.
    pub fn def(&self, v: Value) -> Option<&Inst> {
        match self.values[v.index()].def {
            ValueDef::Inst(i) => Some(self.inst(i)),
            ValueDef::Param(..) => None,
        }
    }

    /// The instruction that defines a value, to be changed; `None` for a block parameter.
    pub fn def_mut(&mut self, v: Value) -> Option<&mut Inst> {
        match self.values[v.index()].def {
            ValueDef::Inst(i) => Some(self.inst_mut(i)),
            ValueDef::Param(..) => None,
        }
    }

    /// The bits of a constant.
    pub fn as_const(&self, v: Value) -> Option<u64> {
        match self.def(v)?.op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// The CFG. Rebuilt only if a jump has changed since the last call.
    pub fn cfg(&self) -> Arc<Cfg> {
        let is_of = |cfg: &Cfg| {
            let same = |b: BlockId| self.targets(b).eq(cfg.succs(b).iter().copied());
            let stays = self.stays_in_loops || !cfg.stays().is_empty();
            cfg.block_count() == self.blocks.len()
                && self.block_ids().all(same)
                && (!stays || *cfg.stays() == *self.stays())
        };
        self.cfg.get([self.blocks.stamp(), 0, 0, 0], is_of, || {
            let mut succs = take::<Graph>();
            self.block_ids().for_each(|b| succs.push(self.targets(b)));
            Cfg::new(succs, self.stays())
        })
    }

    /// Whether a block stays in a loop that it leaves, by [`Op::StayInLoop`].
    pub fn stays_in_loop(&self, b: BlockId) -> bool {
        self.stays_in_loops && self.block(b).insts.iter().any(|id| self.inst(*id).op == Op::StayInLoop)
    }

    /// The header of the loop that a token names; `None` if there is no such loop any more.
    pub fn loop_of(&self, token: Value) -> Option<BlockId> {
        let made = |b: &BlockId| self.block(*b).insts.iter().any(|id| self.inst(*id).result == Some(token));
        let home = self.block_ids().find(made)?;
        let cfg = self.cfg();
        let loops = cfg.loops();
        loops.around(home).last().map(|l| loops.header(*l))
    }

    /// Blocks that stay in a loop, each with a block of which that is the innermost loop.
    fn stays(&self) -> List<(BlockId, BlockId)> {
        if !self.stays_in_loops {
            return List::default();
        }
        let all = || self.block_ids().flat_map(|b| self.block(b).insts.iter().map(move |id| (b, self.inst(*id))));
        let tokens: List<(BlockId, Option<Value>)> =
            all().filter(|(_, inst)| inst.op == Op::LoopToken).map(|(b, inst)| (b, inst.result)).collect();
        let stays = all().filter(|(_, inst)| inst.op == Op::StayInLoop);
        let of = |inst: &Inst| tokens.iter().find(|(_, token)| *token == inst.args.first().copied());
        stays.filter_map(|(b, inst)| Some((b, of(inst)?.0))).collect()
    }

    /// Jump targets of a block that exist.
    fn targets(&self, b: BlockId) -> impl Iterator<Item = BlockId> {
        self.block(b).calls().map(|call| call.block).filter(|to| to.index() < self.blocks.len())
    }

    /// Ids of all blocks.
    pub fn block_ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.blocks.len() as u32).map(BlockId)
    }
}
