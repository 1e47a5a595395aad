//! The machine IR: instructions of the target over an unlimited number of registers.
//!
//! ```text
//! Lowered ──select──> Function (values) ──control──> EXEC explicit ──allocate──> Allocation ──emit──> MachineCode
//! ```
//!
//! A [`Val`] is one 32-bit register, scalar or vector. Wider values are a *run* of operands that the instruction needs
//! in consecutive registers; a lane mask is a run of one value in wave32 and of two in wave64. Values are in SSA form:
//! one definition, which dominates every use along logical edges; blocks have parameters. The exception are *variables*
//! ([`MachineValue::variable`]), which `control` uses for lane masks: several definitions, and one register for their
//! whole life.
//!
//! Blocks are stored in layout order. A block has two kinds of successors:
//!
//! * **logical** edges ([`MachineBlock::edges`]): where lanes go. Vector registers are live along them, and they pass
//!   the arguments of block parameters.
//! * **linear** edges ([`MachineBlock::term`]): where the wave goes. Scalar registers are live along them. A wave that
//!   runs through `then` into `else` overwrites scalar registers for all lanes, but vector registers only in its active
//!   lanes.
//!
//! The instructions of a block from [`MachineBlock::tail`] on change EXEC for the successors: copies for its edges are
//! inserted before them.

pub mod classes;
pub mod dominators;
mod inst;
mod operand;
pub mod preds;
mod print;
pub mod sources;
pub mod verify;

pub use inst::{Extra, LinkedDescriptor, MachineInst, Opcode, Pseudo};
pub use operand::{Operand, OperandValue, PhysReg, RegisterClass, Val};

use dovetail_base::target::{Stage, WaveSize};
use dovetail_base::workspace::List;
use dovetail_isa::{Isa, Op};
use smallvec::SmallVec;
use std::ops::Range;

/// A block, by its position in the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

impl BlockId {
    /// Index in [`MachineFunction::blocks`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Properties of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineValue {
    /// Register file.
    pub class: RegisterClass,
    /// It may be defined several times, and keeps one register from its first definition in layout order to its last
    /// use.
    pub variable: bool,
}

/// A logical edge: the target, and the arguments for its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Target.
    pub to: BlockId,
    /// One operand (of run 1) per parameter: a value, constant, relocation or undefined.
    pub args: Range<u32>,
}

/// Condition of a branch of the wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cond {
    /// SCC is 1. The last instruction before the tail that writes SCC sets it.
    Scc1,
    /// SCC is 0.
    Scc0,
    /// No lane is active.
    Execz,
    /// A lane is active.
    Execnz,
    /// VCC is 0: after allocation only.
    Vccz,
    /// VCC is not 0: after allocation only.
    Vccnz,
}

impl Cond {
    /// The branch that is taken if it holds.
    pub const fn op(self) -> Op {
        match self {
            Self::Scc1 => Op::SCbranchScc1,
            Self::Scc0 => Op::SCbranchScc0,
            Self::Execz => Op::SCbranchExecz,
            Self::Execnz => Op::SCbranchExecnz,
            Self::Vccz => Op::SCbranchVccz,
            Self::Vccnz => Op::SCbranchVccnz,
        }
    }
}

/// Where the wave continues at the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// A jump to this block; no instruction if it is the next one.
    Jump(BlockId),
    /// A branch to one of two blocks.
    Branch {
        /// The condition under which it goes to `then`.
        when: Cond,
        /// Target if the condition holds.
        then: BlockId,
        /// Target otherwise.
        els: BlockId,
    },
    /// The program ends: `s_endpgm`.
    End,
    /// The body ends and the epilog follows. There is at most one such block, the last one.
    Joint,
}

/// A block.
#[derive(Clone, Debug)]
pub struct MachineBlock {
    /// Parameters: indices into [`MachineFunction::params`].
    pub params: Range<u32>,
    /// Instructions: indices into [`MachineFunction::insts`].
    pub insts: Range<u32>,
    /// First instruction of the tail, in `insts`.
    pub tail: u32,
    /// Logical successors: at most two.
    pub edges: SmallVec<[Edge; 2]>,
    /// Linear successors.
    pub term: Term,
    /// Number of loops around it.
    pub depth: u8,
}

/// Registers that are filled when the code starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryValue {
    /// The value; `None` if the code does not use the register.
    pub val: Option<Val>,
    /// Its register.
    pub reg: PhysReg,
}

/// The code of one stage, on its way to machine code.
#[derive(Clone, Debug)]
pub struct MachineFunction {
    /// Generation.
    pub isa: &'static Isa,
    /// Stage.
    pub stage: Stage,
    /// Lanes of a wave.
    pub wave: WaveSize,
    /// Blocks in layout order; the first one is the entry.
    pub blocks: List<MachineBlock>,
    /// Instructions of all blocks.
    pub insts: List<MachineInst>,
    /// Operands of all instructions and edges.
    pub operands: List<Operand>,
    /// Block parameters.
    pub params: List<Val>,
    /// Values.
    pub values: List<MachineValue>,
    /// Entry registers, all of them in their order, used or not.
    pub entry: List<EntryValue>,
    /// The entry value with the high half of the code's address, if a prolog leaves it.
    pub address_high: Option<Val>,
    /// Bytes of scratch memory per lane.
    pub scratch_bytes: u32,
    /// Descriptors of [`Extra::Descriptors`].
    pub descriptors: List<LinkedDescriptor>,
}

impl MachineFunction {
    /// The results of a body with an epilog: the uses of [`Pseudo::Return`].
    pub fn results(&self) -> &[Operand] {
        let is_return = |inst: &&MachineInst| inst.op == Opcode::Pseudo(Pseudo::Return);
        self.insts.iter().find(is_return).map_or(&[], |inst| self.uses(inst))
    }

    /// An empty function.
    pub fn new(isa: &'static Isa, stage: Stage, wave: WaveSize) -> Self {
        Self {
            isa,
            stage,
            wave,
            blocks: List::default(),
            insts: List::default(),
            operands: List::default(),
            params: List::default(),
            values: List::default(),
            entry: List::default(),
            address_high: None,
            scratch_bytes: 0,
            descriptors: List::default(),
        }
    }

    /// The same function without blocks, their parameters, instructions and operands.
    pub fn without_code(&self) -> Self {
        Self {
            values: self.values.clone(),
            entry: self.entry.clone(),
            address_high: self.address_high,
            scratch_bytes: self.scratch_bytes,
            descriptors: self.descriptors.clone(),
            ..Self::new(self.isa, self.stage, self.wave)
        }
    }

    /// A new value.
    pub fn value(&mut self, class: RegisterClass) -> Val {
        self.values.push(MachineValue { class, variable: false });
        Val(self.values.len() as u32 - 1)
    }

    /// The class of a value.
    pub fn class(&self, val: Val) -> RegisterClass {
        self.values[val.index()].class
    }

    /// A block.
    pub fn block(&self, id: BlockId) -> &MachineBlock {
        &self.blocks[id.index()]
    }

    /// All blocks, in layout order.
    pub fn block_ids(&self) -> impl DoubleEndedIterator<Item = BlockId> + Clone + use<> {
        (0..self.blocks.len() as u32).map(BlockId)
    }

    /// The parameters of a block.
    pub fn params_of(&self, block: &MachineBlock) -> &[Val] {
        &self.params[block.params.start as usize..block.params.end as usize]
    }

    /// The instructions of a block.
    pub fn insts_of(&self, block: &MachineBlock) -> &[MachineInst] {
        &self.insts[block.insts.start as usize..block.insts.end as usize]
    }

    /// The instruction before which all lanes that a block runs with are active: after the scalar code at its start
    /// that restores lanes or activates helper lanes. Registers with masks, which are fixed, count as scalar.
    pub fn arrival(&self, block: &MachineBlock) -> u32 {
        let is_vector = |one: &Operand| one.as_val().is_some_and(|val| self.class(val) == RegisterClass::Vector);
        let mut arrival = block.insts.start;
        for n in block.insts.start..block.tail {
            let inst = &self.insts[n as usize];
            if inst.turns_all_lanes_on() || self.defs(inst).iter().chain(self.uses(inst)).any(is_vector) {
                break;
            }
            if self.defs(inst).iter().any(|one| one.what == OperandValue::Fixed(PhysReg::EXEC)) {
                arrival = n + 1;
            }
        }
        arrival
    }

    /// The operands that an instruction defines.
    pub fn defs(&self, inst: &MachineInst) -> &[Operand] {
        let start = inst.operands as usize;
        &self.operands[start..start + usize::from(inst.defs)]
    }

    /// The operands that it uses.
    pub fn uses(&self, inst: &MachineInst) -> &[Operand] {
        &self.operands[inst.use_places()]
    }

    /// The arguments of an edge.
    pub fn args(&self, edge: &Edge) -> &[Operand] {
        &self.operands[edge.args.start as usize..edge.args.end as usize]
    }
}

impl Term {
    /// Blocks that the wave may go to.
    pub fn targets(&self) -> impl Iterator<Item = BlockId> + Clone + use<> {
        let (a, b) = match *self {
            Self::Jump(to) => (Some(to), None),
            Self::Branch { then, els, .. } => (Some(then), Some(els)),
            Self::End | Self::Joint => (None, None),
        };
        a.into_iter().chain(b)
    }
}

/// One run of operands.
pub fn run_of(words: impl ExactSizeIterator<Item = OperandValue>) -> impl Iterator<Item = Operand> {
    let count = words.len() as u8;
    words.enumerate().map(move |(n, what)| Operand { what, run: if n == 0 { count } else { 0 } })
}

/// The runs of a list of operands: each is a slice of consecutive registers.
pub fn runs(mut operands: &[Operand]) -> impl Iterator<Item = &[Operand]> {
    std::iter::from_fn(move || {
        let count = usize::from(operands.first()?.run.max(1)).min(operands.len());
        let (run, rest) = operands.split_at(count);
        operands = rest;
        Some(run)
    })
}
