//! Writes a program as SPIR-V: blocks, with what the headers declare, in any order that SPIR-V allows.

use super::blocks::{Block, arranged};
use super::program::{Case, Cond, DEPTH, ELEMENTS, Expr, Index, LoopKind, Math, Program, Stmt, Tangled, VARS, WORDS};
use spirv::{BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, GroupOperation, Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// How a program is written and run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Form {
    /// A fragment shader.
    pub fragment: bool,
    /// Invocations of the workgroup, or fragments.
    pub count: u32,
    /// Declares `MaximallyReconvergesKHR`.
    pub maximal: bool,
    /// Buffers that are read are `NonWritable`.
    pub read_only: bool,
    /// Seed of the order of blocks; 0: as they are made.
    pub order: u64,
}

/// Bindings of set 0.
pub const OUT: u32 = 0;
pub const INPUT: u32 = 1;
pub const DATA: u32 = 2;
pub const SUMS: u32 = 3;
pub const BUFFERS: u32 = 4;
pub const TEXTURES: u32 = 5;

fn op(to: &mut Vec<u32>, op: Op, operands: &[u32]) {
    to.push((operands.len() as u32 + 1) << 16 | op as u32);
    to.extend_from_slice(operands);
}

/// A string as operands.
fn words(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

/// Ids of types and variables.
#[derive(Default)]
struct Ids {
    void: u32,
    bool: u32,
    u32: u32,
    u32x4: u32,
    f32x4: u32,
    s32x2: u32,
    origin: u32,
    level: u32,
    image: u32,
    to_image: u32,
    to_word: u32,
    to_local: u32,
    /// The lane's index.
    lane: u32,
    digest: u32,
    bindings: [u32; 6],
    yes: u32,
}

struct Writer<'a> {
    program: &'a Program,
    form: Form,
    next: u32,
    ids: Ids,
    notes: Vec<u32>,
    globals: Vec<u32>,
    consts: BTreeMap<u32, u32>,
    functions: Vec<u32>,
    /// Ids of the functions that are called.
    callees: Vec<u32>,
    /// Of the current function.
    blocks: Vec<Block>,
    reached: BTreeSet<u32>,
    vars: [u32; VARS],
    counts: [u32; DEPTH],
    data: [u32; DEPTH],
}

/// What is around a statement.
#[derive(Clone, Copy, Default)]
struct Around {
    break_to: u32,
    continue_to: u32,
    depth: usize,
    main: bool,
}

/// The module's bytes.
pub fn module(program: &Program, form: Form) -> Vec<u8> {
    let mut w = Writer {
        program,
        form,
        next: 1,
        ids: Ids::default(),
        notes: Vec::new(),
        globals: Vec::new(),
        consts: BTreeMap::new(),
        functions: Vec::new(),
        callees: Vec::new(),
        blocks: Vec::new(),
        reached: BTreeSet::new(),
        vars: [0; VARS],
        counts: [0; DEPTH],
        data: [0; DEPTH],
    };
    let main = w.id();
    w.declare();
    w.callees = program.functions.iter().map(|_| w.id()).collect();
    let (void, word) = (w.ids.void, w.ids.u32);
    let main_type = w.global(Op::TypeFunction, &[void]);
    let callee_type = w.global(Op::TypeFunction, &[word, word]);
    w.function(None, main, main_type);
    for n in 0..program.functions.len() {
        w.function(Some(n), w.callees[n], callee_type);
    }
    w.finish(main)
}

impl Writer<'_> {
    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn global(&mut self, code: Op, operands: &[u32]) -> u32 {
        let id = self.id();
        op(&mut self.globals, code, &[&[id], operands].concat());
        id
    }

    fn typed(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        op(&mut self.globals, code, &[&[ty, id], operands].concat());
        id
    }

    fn int(&mut self, n: u32) -> u32 {
        if let Some(&id) = self.consts.get(&n) {
            return id;
        }
        let id = self.typed(Op::Constant, self.ids.u32, &[n]);
        self.consts.insert(n, id);
        id
    }

    fn decorate(&mut self, id: u32, decoration: Decoration, operands: &[u32]) {
        op(&mut self.notes, Op::Decorate, &[&[id, decoration as u32], operands].concat());
    }

    fn binding(&mut self, n: u32, class: StorageClass, ty: u32) {
        let to = self.global(Op::TypePointer, &[class as u32, ty]);
        let variable = self.typed(Op::Variable, to, &[class as u32]);
        self.decorate(variable, Decoration::DescriptorSet, &[0]);
        self.decorate(variable, Decoration::Binding, &[n]);
        if self.form.read_only && [INPUT, DATA, BUFFERS].contains(&n) {
            self.decorate(variable, Decoration::NonWritable, &[]);
        }
        self.ids.bindings[n as usize] = variable;
    }

    fn declare(&mut self) {
        self.ids.void = self.global(Op::TypeVoid, &[]);
        self.ids.bool = self.global(Op::TypeBool, &[]);
        self.ids.u32 = self.global(Op::TypeInt, &[32, 0]);
        self.ids.u32x4 = self.global(Op::TypeVector, &[self.ids.u32, 4]);
        self.ids.yes = self.typed(Op::ConstantTrue, self.ids.bool, &[]);
        let (word, f32) = (self.ids.u32, self.global(Op::TypeFloat, &[32]));
        self.ids.f32x4 = self.global(Op::TypeVector, &[f32, 4]);
        let s32 = self.global(Op::TypeInt, &[32, 1]);
        self.ids.s32x2 = self.global(Op::TypeVector, &[s32, 2]);
        self.ids.level = self.typed(Op::Constant, s32, &[0]);
        self.ids.origin = self.typed(Op::ConstantComposite, self.ids.s32x2, &[self.ids.level; 2]);
        let list = self.global(Op::TypeRuntimeArray, &[word]);
        self.decorate(list, Decoration::ArrayStride, &[4]);
        let block = self.global(Op::TypeStruct, &[list]);
        self.decorate(block, Decoration::Block, &[]);
        op(&mut self.notes, Op::MemberDecorate, &[block, 0, Decoration::Offset as u32, 0]);
        for n in [OUT, INPUT, DATA, SUMS] {
            self.binding(n, StorageClass::StorageBuffer, block);
        }
        let elements = self.int(ELEMENTS);
        let array = self.global(Op::TypeArray, &[block, elements]);
        self.binding(BUFFERS, StorageClass::StorageBuffer, array);
        // 2D, neither depth nor array nor multisampled, sampled, of unknown format.
        self.ids.image = self.global(Op::TypeImage, &[f32, 1, 0, 0, 0, 1, 0]);
        let images = self.global(Op::TypeArray, &[self.ids.image, elements]);
        self.binding(TEXTURES, StorageClass::UniformConstant, images);
        let pointer = |class: StorageClass, ty| [class as u32, ty];
        self.ids.to_image = self.global(Op::TypePointer, &pointer(StorageClass::UniformConstant, self.ids.image));
        self.ids.to_word = self.global(Op::TypePointer, &pointer(StorageClass::StorageBuffer, word));
        self.ids.to_local = self.global(Op::TypePointer, &pointer(StorageClass::Function, word));
        let to_private = self.global(Op::TypePointer, &pointer(StorageClass::Private, word));
        let to_input = self.global(Op::TypePointer, &pointer(StorageClass::Input, word));
        self.ids.lane = self.typed(Op::Variable, to_input, &[StorageClass::Input as u32]);
        let zero = self.int(0);
        self.ids.digest = self.typed(Op::Variable, to_private, &[StorageClass::Private as u32, zero]);
        let builtin = match self.form.fragment {
            true => BuiltIn::SubgroupLocalInvocationId,
            false => BuiltIn::LocalInvocationIndex,
        };
        self.decorate(self.ids.lane, Decoration::BuiltIn, &[builtin as u32]);
        if self.form.fragment {
            self.decorate(self.ids.lane, Decoration::Flat, &[]);
        }
    }

    fn finish(self, main: u32) -> Vec<u8> {
        let mut out = vec![0x0723_0203, 0x0001_0300, 0, self.next, 0];
        let capabilities = [
            Capability::Shader,
            Capability::GroupNonUniform,
            Capability::GroupNonUniformVote,
            Capability::GroupNonUniformArithmetic,
            Capability::GroupNonUniformBallot,
            Capability::StorageBufferArrayDynamicIndexing,
            Capability::SampledImageArrayDynamicIndexing,
        ];
        capabilities.into_iter().for_each(|c| op(&mut out, Op::Capability, &[c as u32]));
        if self.form.fragment {
            op(&mut out, Op::Capability, &[Capability::DemoteToHelperInvocation as u32]);
            op(&mut out, Op::Extension, &words("SPV_EXT_demote_to_helper_invocation"));
            op(&mut out, Op::Extension, &words("SPV_KHR_terminate_invocation"));
        }
        if self.form.maximal {
            op(&mut out, Op::Extension, &words("SPV_KHR_maximal_reconvergence"));
        }
        op(&mut out, Op::MemoryModel, &[0, 1]);
        let model = if self.form.fragment { ExecutionModel::Fragment } else { ExecutionModel::GLCompute };
        op(&mut out, Op::EntryPoint, &[&[model as u32, main], &words("main")[..], &[self.ids.lane]].concat());
        let mode = match self.form.fragment {
            true => vec![main, ExecutionMode::OriginUpperLeft as u32],
            false => vec![main, ExecutionMode::LocalSize as u32, self.form.count, 1, 1],
        };
        op(&mut out, Op::ExecutionMode, &mode);
        if self.form.maximal {
            op(&mut out, Op::ExecutionMode, &[main, ExecutionMode::MaximallyReconvergesKHR as u32]);
        }
        out.extend(self.notes);
        out.extend(self.globals);
        out.extend(self.functions);
        out.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// Writes the main function, or one that is called.
    fn function(&mut self, callee: Option<usize>, id: u32, ty: u32) {
        let program = self.program;
        let (word, void) = (self.ids.u32, self.ids.void);
        op(&mut self.functions, Op::Function, &[if callee.is_some() { word } else { void }, id, 0, ty]);
        let arg = self.id();
        if callee.is_some() {
            op(&mut self.functions, Op::FunctionParameter, &[word, arg]);
        }
        let start = self.id();
        self.label(start);
        let mut variable =
            |this: &mut Self| this.value(Op::Variable, this.ids.to_local, &[StorageClass::Function as u32]);
        self.vars = [0; VARS].map(|_| variable(self));
        self.counts = [0; DEPTH].map(|_| variable(self));
        self.data = [0; DEPTH].map(|_| variable(self));
        let first = if callee.is_some() { arg } else { self.load(self.ids.lane) };
        let zero = self.int(0);
        for (n, var) in self.vars.into_iter().enumerate() {
            self.effect(Op::Store, &[var, if n == 0 { first } else { zero }]);
        }
        let around = Around { main: callee.is_none(), ..Around::default() };
        let body = callee.map_or(&program.main, |n| &program.functions[n].body);
        if self.list(body, around) {
            match callee {
                Some(n) => {
                    let result = self.expr(&program.functions[n].result, around);
                    self.effect(Op::ReturnValue, &[result]);
                }
                None => {
                    self.leave();
                    self.effect(Op::Return, &[]);
                }
            }
        }
        for block in arranged(std::mem::take(&mut self.blocks), self.form.order) {
            self.functions.extend(block.code);
        }
        op(&mut self.functions, Op::FunctionEnd, &[]);
    }

    fn effect(&mut self, code: Op, operands: &[u32]) {
        let block = self.blocks.last_mut().expect("a block");
        op(&mut block.code, code, operands);
    }

    fn value(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        self.effect(code, &[&[ty, id], operands].concat());
        id
    }

    fn label(&mut self, id: u32) {
        self.blocks.push(Block { label: id, code: Vec::new(), ways: Vec::new(), ends: Vec::new() });
        self.effect(Op::Label, &[id]);
    }

    /// Declares what the current block begins; not followed as a jump.
    fn declared(&mut self, code: Op, operands: &[u32], ends: &[u32]) {
        self.effect(code, operands);
        self.blocks.last_mut().expect("a block").ends.extend_from_slice(ends);
    }

    /// Ends the block with jumps to these labels.
    fn end(&mut self, code: Op, operands: &[u32], to: &[u32]) {
        self.effect(code, operands);
        self.blocks.last_mut().expect("a block").ways.extend_from_slice(to);
        self.reached.extend(to);
    }

    fn jump(&mut self, to: u32) {
        self.end(Op::Branch, &[to], &[to]);
    }

    fn branch(&mut self, cond: u32, then: u32, els: u32) {
        self.end(Op::BranchConditional, &[cond, then, els], &[then, els]);
    }

    /// Goes on with a merge block; whether anything reaches it.
    fn merge(&mut self, label: u32) -> bool {
        self.label(label);
        let reached = self.reached.contains(&label);
        if !reached {
            self.effect(Op::Unreachable, &[]);
        }
        reached
    }

    fn load(&mut self, from: u32) -> u32 {
        self.value(Op::Load, self.ids.u32, &[from])
    }

    /// A pointer to a word of a buffer.
    fn word(&mut self, binding: u32, element: Option<u32>, at: u32) -> u32 {
        let zero = self.int(0);
        let path: Vec<u32> =
            [Some(self.ids.bindings[binding as usize]), element, Some(zero), Some(at)].into_iter().flatten().collect();
        self.value(Op::AccessChain, self.ids.to_word, &path)
    }

    fn and(&mut self, v: u32, mask: u32) -> u32 {
        let mask = self.int(mask);
        self.value(Op::BitwiseAnd, self.ids.u32, &[v, mask])
    }

    /// Stores the digest.
    fn leave(&mut self) {
        let (lane, digest) = (self.load(self.ids.lane), self.load(self.ids.digest));
        let word = self.word(OUT, None, lane);
        self.effect(Op::Store, &[word, digest]);
    }

    fn expr(&mut self, e: &Expr, around: Around) -> u32 {
        let inner = |n: &u8| usize::from(*n) < around.depth;
        match e {
            Expr::Lane => self.load(self.ids.lane),
            Expr::Const(n) => self.int(*n),
            Expr::Var(v) => self.load(self.vars[usize::from(*v) % VARS]),
            Expr::Count(d) if inner(d) => self.load(self.counts[usize::from(*d)]),
            Expr::Data(d) if inner(d) => self.load(self.data[usize::from(*d)]),
            Expr::Count(_) | Expr::Data(_) => self.int(0),
            Expr::In(e) => {
                let at = self.expr(e, around);
                let at = self.and(at, WORDS - 1);
                let word = self.word(INPUT, None, at);
                self.load(word)
            }
            Expr::Two(math, a, b) => {
                let (a, mut b) = (self.expr(a, around), self.expr(b, around));
                let code = match math {
                    Math::Add => Op::IAdd,
                    Math::Mul => Op::IMul,
                    Math::And => Op::BitwiseAnd,
                    Math::Xor => Op::BitwiseXor,
                    Math::Shr => {
                        b = self.and(b, 31);
                        Op::ShiftRightLogical
                    }
                };
                self.value(code, self.ids.u32, &[a, b])
            }
        }
    }

    /// An operation of the subgroup.
    fn subgroup(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let scope = self.int(spirv::Scope::Subgroup as u32);
        self.value(code, ty, &[&[scope], operands].concat())
    }

    fn cond(&mut self, c: &Cond, around: Around) -> u32 {
        let bool = self.ids.bool;
        match c {
            Cond::Less(a, b) | Cond::Same(a, b) => {
                let (a, b) = (self.expr(a, around), self.expr(b, around));
                let code = if matches!(c, Cond::Less(..)) { Op::ULessThan } else { Op::IEqual };
                self.value(code, bool, &[a, b])
            }
            Cond::Odd(e) => {
                let e = self.expr(e, around);
                let (low, zero) = (self.and(e, 1), self.int(0));
                self.value(Op::INotEqual, bool, &[low, zero])
            }
            Cond::Not(c) => {
                let c = self.cond(c, around);
                self.value(Op::LogicalNot, bool, &[c])
            }
            Cond::Both(a, b) => {
                let (a, b) = (self.cond(a, around), self.cond(b, around));
                self.value(Op::LogicalAnd, bool, &[a, b])
            }
            Cond::Elect => self.subgroup(Op::GroupNonUniformElect, bool, &[]),
            Cond::Any(inner) | Cond::All(inner) => {
                let inner = self.cond(inner, around);
                let any = matches!(c, Cond::Any(_));
                self.subgroup(if any { Op::GroupNonUniformAny } else { Op::GroupNonUniformAll }, bool, &[inner])
            }
        }
    }

    fn tangled(&mut self, t: &Tangled, around: Around) -> u32 {
        let (word, bool, four) = (self.ids.u32, self.ids.bool, self.ids.u32x4);
        let (reduce, before) = (GroupOperation::Reduce as u32, GroupOperation::ExclusiveScan as u32);
        let code = match t {
            Tangled::Sum(_) | Tangled::Before(_) => Op::GroupNonUniformIAdd,
            Tangled::Min(_) => Op::GroupNonUniformUMin,
            _ => Op::GroupNonUniformUMax,
        };
        match t {
            Tangled::Ballot(c) => {
                let c = self.cond(c, around);
                let ballot = self.subgroup(Op::GroupNonUniformBallot, four, &[c]);
                let [low, high] = [0, 1].map(|n| self.value(Op::CompositeExtract, word, &[ballot, n]));
                let factor = self.int(0x9e37_79b9);
                let high = self.value(Op::IMul, word, &[high, factor]);
                self.value(Op::BitwiseXor, word, &[low, high])
            }
            Tangled::BallotCount(c) | Tangled::BallotRank(c) => {
                let c = self.cond(c, around);
                let ballot = self.subgroup(Op::GroupNonUniformBallot, four, &[c]);
                let how = if matches!(t, Tangled::BallotCount(_)) { reduce } else { before };
                self.subgroup(Op::GroupNonUniformBallotBitCount, word, &[how, ballot])
            }
            Tangled::Vote(c) => {
                let c = self.cond(c, around);
                self.chosen(c)
            }
            Tangled::AllEqual(e) => {
                let e = self.expr(e, around);
                let equal = self.subgroup(Op::GroupNonUniformAllEqual, bool, &[e]);
                self.chosen(equal)
            }
            Tangled::Sum(e) | Tangled::Min(e) | Tangled::Max(e) => {
                let e = self.expr(e, around);
                self.subgroup(code, word, &[reduce, e])
            }
            Tangled::Before(e) => {
                let e = self.expr(e, around);
                self.subgroup(code, word, &[before, e])
            }
            Tangled::First(e) => {
                let e = self.expr(e, around);
                self.subgroup(Op::GroupNonUniformBroadcastFirst, word, &[e])
            }
        }
    }

    /// 1 or 0.
    fn chosen(&mut self, cond: u32) -> u32 {
        let (one, zero) = (self.int(1), self.int(0));
        self.value(Op::Select, self.ids.u32, &[cond, one, zero])
    }

    fn index(&mut self, index: &Index, around: Around) -> u32 {
        let n = match index {
            Index::Count(d) => self.expr(&Expr::Count(*d), around),
            Index::First(e) => self.tangled(&Tangled::First(e.clone()), around),
        };
        self.and(n, ELEMENTS - 1)
    }

    fn note(&mut self, var: u8, value: u32) {
        let word = self.ids.u32;
        self.effect(Op::Store, &[self.vars[usize::from(var)], value]);
        let (digest, factor) = (self.load(self.ids.digest), self.int(31));
        let product = self.value(Op::IMul, word, &[digest, factor]);
        let sum = self.value(Op::IAdd, word, &[product, value]);
        self.effect(Op::Store, &[self.ids.digest, sum]);
    }

    /// Writes statements; whether control goes on behind them. What nothing reaches is left out.
    fn list(&mut self, list: &[Stmt], around: Around) -> bool {
        list.iter().all(|s| self.stmt(s, around))
    }

    fn stmt(&mut self, stmt: &Stmt, around: Around) -> bool {
        match stmt {
            Stmt::Set(v, e) => {
                let e = self.expr(e, around);
                self.effect(Op::Store, &[self.vars[usize::from(*v)], e]);
            }
            Stmt::Tangled(v, t) => {
                let value = self.tangled(t, around);
                self.note(*v, value);
            }
            Stmt::Read(v, index, at) => {
                let index = self.index(index, around);
                let at = self.expr(at, around);
                let at = self.and(at, ELEMENTS - 1);
                let word = self.word(BUFFERS, Some(index), at);
                let value = self.load(word);
                self.note(*v, value);
            }
            Stmt::Fetch(v, index) => {
                let index = self.index(index, around);
                let ids = &self.ids;
                let (texture, to_image, image, four, word) =
                    (ids.bindings[TEXTURES as usize], ids.to_image, ids.image, ids.f32x4, ids.u32);
                let (origin, level) = (ids.origin, ids.level);
                let pointer = self.value(Op::AccessChain, to_image, &[texture, index]);
                let image = self.value(Op::Load, image, &[pointer]);
                // Operand 2: the level.
                let texel = self.value(Op::ImageFetch, four, &[image, origin, 2, level]);
                let all = self.value(Op::Bitcast, self.ids.u32x4, &[texel]);
                let value = self.value(Op::CompositeExtract, word, &[all, 0]);
                self.note(*v, value);
            }
            Stmt::Add(at, addend) => {
                let (at, addend) = (self.expr(at, around), self.expr(addend, around));
                let at = self.and(at, WORDS - 1);
                let word = self.word(SUMS, None, at);
                let (scope, none) = (self.int(spirv::Scope::Device as u32), self.int(0));
                self.value(Op::AtomicIAdd, self.ids.u32, &[word, scope, none, addend]);
            }
            Stmt::If { cond, then, els, bare } => return self.selection(cond, [then, els], *bare, around),
            Stmt::Loop { kind, body, next } => return self.repeat(kind, body, next, around),
            Stmt::Switch { on, cases } => return self.switch(on, cases, around),
            Stmt::Break => {
                self.jump(around.break_to);
                return false;
            }
            Stmt::Continue => {
                self.jump(around.continue_to);
                return false;
            }
            Stmt::Return(e) => {
                if around.main {
                    self.leave();
                    self.effect(Op::Return, &[]);
                } else {
                    let e = self.expr(e, around);
                    self.effect(Op::ReturnValue, &[e]);
                }
                return false;
            }
            Stmt::Kill { terminate } => {
                self.leave();
                self.effect(if *terminate { Op::TerminateInvocation } else { Op::Kill }, &[]);
                return false;
            }
            Stmt::Demote => {
                self.leave();
                self.effect(Op::DemoteToHelperInvocation, &[]);
                self.effect(Op::Return, &[]);
                return false;
            }
            Stmt::Call(v, f, e) => {
                let e = self.expr(e, around);
                let result = self.value(Op::FunctionCall, self.ids.u32, &[self.callees[usize::from(*f)], e]);
                self.effect(Op::Store, &[self.vars[usize::from(*v)], result]);
            }
        }
        true
    }

    fn selection(&mut self, cond: &Cond, [then, els]: [&[Stmt]; 2], bare: bool, around: Around) -> bool {
        let cond = self.cond(cond, around);
        let (yes, no, merge) = (self.id(), self.id(), self.id());
        if bare
            && els.is_empty()
            && let [Stmt::Break | Stmt::Continue] = then
        {
            let away = if then == [Stmt::Break] { around.break_to } else { around.continue_to };
            self.branch(cond, away, no);
            self.label(no);
            return true;
        }
        self.declared(Op::SelectionMerge, &[merge, 0], &[merge]);
        self.branch(cond, yes, if els.is_empty() { merge } else { no });
        for (label, arm) in [(yes, then), (no, els)] {
            if label == yes || !arm.is_empty() {
                self.label(label);
                if self.list(arm, around) {
                    self.jump(merge);
                }
            }
        }
        self.merge(merge)
    }

    fn repeat(&mut self, kind: &LoopKind, body: &[Stmt], next: &[Stmt], around: Around) -> bool {
        let (header, first, again, merge) = (self.id(), self.id(), self.id(), self.id());
        let (count, data) = (self.counts[around.depth], self.data[around.depth]);
        let inner = Around { break_to: merge, continue_to: again, depth: around.depth + 1, ..around };
        let zero = self.int(0);
        self.effect(Op::Store, &[count, zero]);
        self.effect(Op::Store, &[data, zero]);
        self.jump(header);
        self.label(header);
        let declare = |this: &mut Self| this.declared(Op::LoopMerge, &[merge, again, 0], &[merge, again]);
        match kind {
            LoopKind::Head { limit, apart } => {
                if *apart {
                    declare(self);
                    let test = self.id();
                    self.jump(test);
                    self.label(test);
                }
                let on = self.goes_on(limit, count, inner);
                if !*apart {
                    declare(self);
                }
                self.branch(on, first, merge);
                self.label(first);
            }
            LoopKind::Tail { .. } => {
                declare(self);
                self.jump(first);
                self.label(first);
            }
            LoopKind::Data { from } => {
                declare(self);
                self.jump(first);
                self.label(first);
                let from = self.expr(from, inner);
                let (from, count) = (self.and(from, 15), self.load(count));
                let at = self.value(Op::IAdd, self.ids.u32, &[from, count]);
                let at = self.and(at, WORDS - 1);
                let word = self.word(DATA, None, at);
                let read = self.load(word);
                self.effect(Op::Store, &[data, read]);
            }
        }
        if self.list(body, inner) {
            self.jump(again);
        }
        self.label(again);
        if self.reached.contains(&again) {
            self.list(next, inner);
            let (before, one) = (self.load(count), self.int(1));
            let after = self.value(Op::IAdd, self.ids.u32, &[before, one]);
            self.effect(Op::Store, &[count, after]);
            if let LoopKind::Tail { limit } = kind {
                let on = self.goes_on(limit, count, inner);
                self.branch(on, header, merge);
            } else {
                self.jump(header);
            }
        } else {
            self.jump(header);
        }
        self.merge(merge)
    }

    fn goes_on(&mut self, limit: &Expr, count: u32, around: Around) -> u32 {
        let limit = self.expr(limit, around);
        let (limit, count) = (self.and(limit, 7), self.load(count));
        self.value(Op::ULessThan, self.ids.bool, &[count, limit])
    }

    fn switch(&mut self, on: &Expr, cases: &[Case], around: Around) -> bool {
        let on = self.expr(on, around);
        let (on, merge) = (self.and(on, 7), self.id());
        let labels: Vec<u32> = cases.iter().map(|_| self.id()).collect();
        let default = cases.iter().position(|c| c.default).map_or(merge, |n| labels[n]);
        let mut operands = vec![on, default];
        for (case, label) in cases.iter().zip(&labels) {
            operands.extend(case.labels.iter().flat_map(|literal| [*literal, *label]));
        }
        self.declared(Op::SelectionMerge, &[merge, 0], &[merge]);
        let to: Vec<u32> = labels.iter().copied().chain([default]).collect();
        self.end(Op::Switch, &operands, &to);
        let inner = Around { break_to: merge, ..around };
        for (n, case) in cases.iter().enumerate() {
            self.label(labels[n]);
            if self.list(&case.body, inner) {
                let next = labels.get(n + 1).filter(|_| case.falls);
                self.jump(next.copied().unwrap_or(merge));
            }
        }
        self.merge(merge)
    }
}
