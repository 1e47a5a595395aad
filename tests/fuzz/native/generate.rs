//! State of the shader generator: the shader so far, the values in scope, the variables.
//!
//! A value is in scope where its block dominates. So values of loops are used after the loop (by lanes of different
//! iterations), and values of a branch are used after it if the other side left. A variable models a mutable variable
//! in SSA: it has a current value, and becomes a parameter of blocks where several values meet.

use super::super::random::Random;
use super::fragment::Fragment;
use super::inputs;
use super::setup::Setup;
use dovetail::ir::{
    Align, AluOp, Bits, BlockId, BuiltIn, ConstTable, FpFlags, InstArgs, Local, LocalId, Op, Shader, Terminator, Type,
    Value,
};
use dovetail::target::Stage;
use std::collections::BTreeMap;

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer, a boolean, or a vector of integers.
    Bits(Type),
    /// A float that is an integer of at most this many bits, plus a sign.
    Float(Bits, u8),
    /// The descriptor of a buffer in which each lane has bytes to itself.
    Own,
}

impl Kind {
    pub const INT: Self = Self::Bits(Type::B32);
    pub const TRUTH: Self = Self::Bits(Type::B1);

    pub fn ty(self) -> Type {
        match self {
            Self::Bits(ty) => ty,
            Self::Float(bits, _) => Type::scalar(bits),
            Self::Own => Type::DESC4,
        }
    }

    /// Whether a value of this kind can be used where `wanted` is needed.
    fn serves(self, wanted: Self) -> bool {
        match (self, wanted) {
            (Self::Float(a, n), Self::Float(b, most)) => a == b && n <= most,
            _ => self == wanted,
        }
    }
}

/// Sets of lanes that are certain to have the same value, or to take the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Same {
    /// None for certain.
    Lane,
    /// The lanes of a quad; only in fragment shaders.
    Quad,
    /// The lanes of a wave.
    Wave,
    /// The lanes of a workgroup.
    Group,
}

/// A value in scope.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub value: Value,
    pub kind: Kind,
    pub same: Same,
    block: BlockId,
}

/// A variable.
#[derive(Clone, Copy, Debug)]
pub struct Var {
    pub kind: Kind,
    /// Lanes in which its value is equal: assigned values and paths must be as uniform.
    pub same: Same,
    pub now: Value,
}

/// Number of dwords of a large private array.
const LARGE_ARRAY: u32 = 160;

/// A private array.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    pub local: LocalId,
    /// Offset in bytes of the elements that are used.
    pub base: u32,
    /// Number of these dwords.
    pub dwords: u32,
}

pub struct Gen<'r> {
    pub random: &'r mut Random,
    pub shader: Shader,
    /// `None`: the code that follows is unreachable.
    pub block: Option<BlockId>,
    pub scope: Vec<Known>,
    all: Vec<Known>,
    idom: BTreeMap<BlockId, BlockId>,
    constants: BTreeMap<(Type, u64), Value>,
    pub vars: Vec<Var>,
    pub arrays: Vec<Array>,
    /// Lanes that take the same path here.
    pub same: Same,
    /// Number of statements that may still be generated.
    pub budget: i32,
    pub depth: u32,
    /// Enclosing loops and switches, the innermost last.
    pub ways: Vec<super::control::Way>,
    pub lane: Value,
    pub group_lanes: u32,
    pub wave_lanes: u32,
    /// State of a fragment shader.
    pub fragment: Option<Fragment>,
}

/// Generates a shader.
pub fn shader(random: &mut Random, setup: &Setup) -> Shader {
    let fragment = setup.scene.as_ref().map(|scene| Fragment::new(random, scene, setup.seed));
    let mut shader = Shader::new("main", if fragment.is_some() { Stage::Fragment } else { Stage::Compute });
    let lanes = setup.wave.lanes();
    let group_lanes = *random.pick(&[lanes, lanes, lanes, lanes - 11, 2 * lanes]);
    if fragment.is_none() {
        shader.modes.local_size = [group_lanes, 1, 1];
    }
    inputs::declare(&mut shader);
    let budget = 8 + random.below(30) as i32 + if random.once_in(8) { 60 } else { 0 };
    let mut it = Gen {
        random,
        shader,
        block: Some(Shader::ENTRY),
        scope: Vec::new(),
        all: Vec::new(),
        idom: BTreeMap::new(),
        constants: BTreeMap::new(),
        vars: Vec::new(),
        arrays: Vec::new(),
        same: Same::Group,
        budget,
        depth: 0,
        ways: Vec::new(),
        lane: Value(0),
        group_lanes,
        wave_lanes: lanes,
        fragment,
    };
    it.whole();
    it.shader
}

impl Gen<'_> {
    fn whole(&mut self) {
        if self.fragment.is_some() {
            self.begin_fragment();
        } else {
            self.begin_compute();
        }
        self.body();
    }

    fn begin_compute(&mut self) {
        let index = self.push(Op::load_builtin(BuiltIn::LocalInvocationIndex, 0), &[], Type::B32);
        self.see(index, Kind::INT, Same::Lane);
        let group = self.push(Op::load_builtin(BuiltIn::WorkgroupId, 0), &[], Type::B32);
        self.see(group, Kind::INT, Same::Group);
        let size = self.c32(self.group_lanes);
        let first = self.alu(AluOp::IMul, &[group, size]);
        self.lane = self.alu(AluOp::IAdd, &[first, index]);
        self.see(self.lane, Kind::INT, Same::Lane);
        self.shared_memory(index);
    }

    fn body(&mut self) {
        for _ in 0..self.random.below(3) {
            self.array();
        }
        for _ in 0..2 {
            self.load_something();
        }
        let held = self.pressure();
        for n in 0..2 + self.random.below(6) {
            let kind = if n == 0 { Kind::INT } else { self.any_kind() };
            let same = if n > 0 && self.random.once_in(3) { Same::Group } else { Same::Lane };
            let now = self.operand_of(kind, same);
            self.vars.push(Var { kind, same, now });
        }
        self.statements();
        while self.budget > 0 && self.block.is_some() {
            self.statements();
        }
        if self.block.is_none() {
            return;
        }
        for value in held {
            self.mix(value, Kind::INT);
        }
        for n in 1..self.vars.len() {
            let Var { now, kind, .. } = self.vars[n];
            self.mix(now, kind);
        }
        for _ in 0..4 {
            let known = *self.random.pick(&self.scope);
            self.mix(known.value, known.kind);
        }
        self.large_arrays();
        self.shared_results();
        self.leave();
    }

    /// Loads values that live from start to end, in vector and in scalar registers, for register pressure.
    fn pressure(&mut self) -> Vec<Value> {
        let mut out = Vec::new();
        if self.random.once_in(3) {
            for _ in 0..1 + self.random.below(12) {
                let wide = self.load_wide(Same::Lane);
                out.extend(self.parts(wide));
            }
        }
        if self.random.once_in(4) {
            for _ in 0..1 + self.random.below(24) {
                let wide = self.load_wide(Same::Group);
                out.extend(self.parts(wide));
            }
        }
        out
    }

    fn parts(&mut self, vector: Value) -> Vec<Value> {
        let ty = self.shader.ty(vector);
        (0..ty.lanes()).map(|n| self.push(Op::Extract(n as u8), &[vector], ty.element())).collect()
    }

    /// Ends the invocation after storing results.
    pub fn leave(&mut self) {
        let shown = self.vars[0].now;
        self.store_out(0, shown);
        for n in 1..3.min(self.vars.len()) {
            let Var { now, kind, .. } = self.vars[n];
            let word = self.word(now, kind);
            self.store_out(n as u32, word);
        }
        if self.fragment.is_some() {
            return self.end_fragment();
        }
        self.end(Terminator::Return(&[]));
    }

    // ---- values in sight

    /// Adds an instruction with a result, which is not in scope yet.
    pub fn push(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let id = self.shader.add_inst(op, InstArgs::from_slice(args), Some(ty));
        let block = self.block.unwrap_or(Shader::ENTRY);
        self.shader.block_mut(block).insts.push(id);
        self.shader.inst(id).result.unwrap_or(Value(0))
    }

    pub fn effect(&mut self, op: Op, args: &[Value]) {
        let id = self.shader.add_inst(op, InstArgs::from_slice(args), None);
        let block = self.block.unwrap_or(Shader::ENTRY);
        self.shader.block_mut(block).insts.push(id);
    }

    /// Adds a value to the scope.
    pub fn see(&mut self, value: Value, kind: Kind, same: Same) {
        let known = Known { value, kind, same, block: self.block.unwrap_or(Shader::ENTRY) };
        self.all.push(known);
        self.scope.push(known);
    }

    pub fn c32(&mut self, bits: u32) -> Value {
        self.constant(Type::B32, u64::from(bits))
    }

    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        let bits = bits & ty.bits().mask();
        if let Some(value) = self.constants.get(&(ty, bits)) {
            return *value;
        }
        let id = self.shader.add_inst(Op::Const(bits), InstArgs::new(), Some(ty));
        // At the start of the entry block, so that it is in scope everywhere.
        self.shader.block_mut(Shader::ENTRY).insts.insert(0, id);
        let value = self.shader.inst(id).result.unwrap_or(Value(0));
        self.constants.insert((ty, bits), value);
        value
    }

    /// Adds arithmetic whose result type follows from its operands.
    pub fn alu(&mut self, op: AluOp, args: &[Value]) -> Value {
        let types: Vec<Type> = args.iter().map(|v| self.shader.ty(*v)).collect();
        let ty = op.result_type(&types, types[0]).unwrap_or(types[0]);
        self.push(Op::Alu(op, FpFlags::NONE), args, ty)
    }

    pub fn convert(&mut self, op: AluOp, value: Value, ty: Type) -> Value {
        if self.shader.ty(value) == ty {
            return value;
        }
        self.push(Op::Alu(op, FpFlags::NONE), &[value], ty)
    }

    /// An operand of this kind: a value in scope or a constant.
    pub fn operand(&mut self, kind: Kind) -> Value {
        self.operand_of(kind, Same::Lane)
    }

    /// One that is equal in these lanes.
    pub fn operand_of(&mut self, kind: Kind, same: Same) -> Value {
        self.known_of(kind, same).value
    }

    pub fn known_of(&mut self, kind: Kind, same: Same) -> Known {
        let fits = |k: &Known| k.kind.serves(kind) && k.same >= same;
        let fitting: Vec<Known> = self.scope.iter().filter(|k| fits(k)).copied().collect();
        let vars: Vec<Known> = self
            .vars
            .iter()
            .map(|var| Known { value: var.now, kind: var.kind, same: var.same, block: Shader::ENTRY })
            .filter(|k| fits(k))
            .collect();
        if !vars.is_empty() && self.random.once_in(3) {
            return *self.random.pick(&vars);
        }
        if fitting.is_empty() || self.random.once_in(6) {
            let value = self.some_constant(kind);
            return Known { value, kind, same: Same::Group, block: Shader::ENTRY };
        }
        // Prefer recent ones.
        let recent = fitting.len().min(6);
        if self.random.once_in(3) {
            *self.random.pick(&fitting)
        } else {
            *self.random.pick(&fitting[fitting.len() - recent..])
        }
    }

    fn some_constant(&mut self, kind: Kind) -> Value {
        match kind {
            Kind::Bits(ty) if ty.is_scalar() => {
                let any = self.random.next();
                let top = 1u64 << (ty.bits().count() - 1);
                let bits = *self.random.pick(&[0, 1, 2, 3, 5, 64, u64::MAX, top, top - 1, any & 0xffff, any, any & 31]);
                self.constant(ty, bits)
            }
            Kind::Bits(ty) => {
                // Equal in all lanes, like every constant.
                let element = Kind::Bits(ty.element());
                let parts: Vec<Value> = (0..ty.lanes()).map(|_| self.operand_of(element, Same::Group)).collect();
                self.push(Op::Compose, &parts, ty)
            }
            Kind::Own => self.descriptor(inputs::PRIVATE),
            Kind::Float(bits, most) => {
                let n = self.random.below(1 << most.min(5)) as f64;
                let n = if self.random.once_in(3) { -n } else { n };
                self.constant(Type::scalar(bits), dovetail::ir::number::encode(n, bits))
            }
        }
    }

    // ---- blocks

    pub fn new_block(&mut self) -> BlockId {
        self.shader.add_block()
    }

    /// Ends the current block.
    pub fn end(&mut self, term: Terminator<'_>) {
        if let Some(block) = self.block.take() {
            self.shader.block_mut(block).end.set(term);
        }
    }

    /// Continues in a block with these predecessors.
    pub fn enter(&mut self, block: BlockId, preds: &[BlockId]) {
        let mut over = preds[0];
        for pred in &preds[1..] {
            over = self.meeting(over, *pred);
        }
        self.idom.insert(block, over);
        self.block = Some(block);
        let mut above = std::collections::BTreeSet::from([block]);
        let mut at = over;
        above.insert(at);
        while let Some(up) = self.idom.get(&at) {
            at = *up;
            above.insert(at);
        }
        self.scope = self.all.iter().filter(|known| above.contains(&known.block)).copied().collect();
    }

    fn meeting(&self, a: BlockId, b: BlockId) -> BlockId {
        let chain = |mut at: BlockId| {
            let mut out = vec![at];
            while let Some(up) = self.idom.get(&at) {
                at = *up;
                out.push(at);
            }
            out
        };
        let of_b = chain(b);
        chain(a).into_iter().find(|block| of_b.contains(block)).unwrap_or(Shader::ENTRY)
    }

    // ---- arrays and tables

    fn array(&mut self) {
        let dwords = *self.random.pick(&[4, 8, 16, 40]);
        // An instruction reaches 4 KiB from its address. Sometimes the elements lie beyond, sometimes only what is spilled
        // does: then elements are where it would be if its offset were that of all lanes together.
        let (base, dwords, rest) = match self.random.below(20) {
            0 => (16 * (200 + self.random.below(400) as u32), dwords, 0),
            1 => (0, LARGE_ARRAY, 4096 - 64 - 4 * LARGE_ARRAY + 16 * self.random.below(20) as u32),
            _ => (0, dwords, 0),
        };
        let name = format!("a{}", self.arrays.len());
        let bytes = base + 4 * dwords + rest;
        let local = self.shader.add_local(Local { name: name.as_str().into(), bytes, align: Align::A16 });
        for n in 0..dwords / 4 {
            let ty = Type::DESC4;
            let value = self.some_constant(Kind::Bits(ty));
            let at = self.c32(base + 16 * n);
            self.effect(Op::LocalStore { local, align: Align::A16 }, &[at, value]);
        }
        self.arrays.push(Array { local, base, dwords });
    }

    /// Mixes in all elements of large arrays, which nothing else may have changed.
    fn large_arrays(&mut self) {
        for Array { local, base, .. } in self.arrays.clone().into_iter().filter(|array| array.dwords == LARGE_ARRAY) {
            for n in 0..LARGE_ARRAY / 4 {
                let at = self.c32(base + 16 * n);
                let value = self.push(Op::LocalLoad { local, align: Align::A16 }, &[at], Type::DESC4);
                self.mix(value, Kind::Bits(Type::DESC4));
            }
        }
    }

    /// Adds a constant table of 64 dwords.
    pub fn table(&mut self) -> dovetail::ir::ConstTableId {
        if self.shader.tables.is_empty() {
            let bytes = (0..64).flat_map(|_| (self.random.next() as u32).to_le_bytes()).collect();
            self.shader.tables.push(ConstTable { bytes, align: Align::A16 });
        }
        dovetail::ir::ConstTableId(0)
    }
}
