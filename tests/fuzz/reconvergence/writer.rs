//! A module under construction: ids, types, bindings, blocks and instructions.

use super::super::random::Random;
use super::blocks::Block;
use super::program::{DEPTH, ELEMENTS, Program, VARS};
use spirv::{BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};
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
    /// Seed of the ways in which constructs are declared; 0: each in the usual one.
    pub rewritten: u64,
}

/// Bindings of set 0.
pub const OUT: u32 = 0;
pub const INPUT: u32 = 1;
pub const DATA: u32 = 2;
pub const SUMS: u32 = 3;
pub const BUFFERS: u32 = 4;
pub const TEXTURES: u32 = 5;

/// Appends an instruction.
pub fn op(to: &mut Vec<u32>, op: Op, operands: &[u32]) {
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
pub struct Ids {
    pub void: u32,
    pub bool: u32,
    pub u32: u32,
    pub u32x4: u32,
    pub f32x4: u32,
    pub s32x2: u32,
    pub origin: u32,
    pub level: u32,
    pub image: u32,
    pub to_image: u32,
    pub to_word: u32,
    pub to_local: u32,
    /// The lane's index.
    pub lane: u32,
    pub digest: u32,
    pub bindings: [u32; 6],
    pub yes: u32,
}

/// The module of a program.
pub struct Writer<'a> {
    pub program: &'a Program,
    pub form: Form,
    pub next: u32,
    pub ids: Ids,
    pub notes: Vec<u32>,
    pub globals: Vec<u32>,
    pub consts: BTreeMap<u32, u32>,
    pub functions: Vec<u32>,
    /// Ids of the functions that are called.
    pub callees: Vec<u32>,
    /// Of the current function.
    pub blocks: Vec<Block>,
    pub reached: BTreeSet<u32>,
    pub vars: [u32; VARS],
    pub counts: [u32; DEPTH],
    pub data: [u32; DEPTH],
    /// For [`Form::rewritten`].
    random: Random,
}

impl<'a> Writer<'a> {
    /// An empty module.
    pub fn new(program: &'a Program, form: Form) -> Self {
        Self {
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
            random: Random::new(form.rewritten, 0x3e),
        }
    }

    /// Whether a construct is declared in another than the usual way.
    pub fn rewritten(&mut self, once_in: usize) -> bool {
        self.form.rewritten != 0 && self.random.once_in(once_in)
    }

    /// A hint of a merge declaration, of which the first does not.
    pub fn hint(&mut self) -> u32 {
        if self.rewritten(3) { 1 + self.random.below(2) as u32 } else { 0 }
    }

    pub fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    pub fn global(&mut self, code: Op, operands: &[u32]) -> u32 {
        let id = self.id();
        op(&mut self.globals, code, &[&[id], operands].concat());
        id
    }

    pub fn typed(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        op(&mut self.globals, code, &[&[ty, id], operands].concat());
        id
    }

    pub fn int(&mut self, n: u32) -> u32 {
        if let Some(&id) = self.consts.get(&n) {
            return id;
        }
        let id = self.typed(Op::Constant, self.ids.u32, &[n]);
        self.consts.insert(n, id);
        id
    }

    pub fn decorate(&mut self, id: u32, decoration: Decoration, operands: &[u32]) {
        op(&mut self.notes, Op::Decorate, &[&[id, decoration as u32], operands].concat());
    }

    pub fn binding(&mut self, n: u32, class: StorageClass, ty: u32) {
        let to = self.global(Op::TypePointer, &[class as u32, ty]);
        let variable = self.typed(Op::Variable, to, &[class as u32]);
        self.decorate(variable, Decoration::DescriptorSet, &[0]);
        self.decorate(variable, Decoration::Binding, &[n]);
        if self.form.read_only && [INPUT, DATA, BUFFERS].contains(&n) {
            self.decorate(variable, Decoration::NonWritable, &[]);
        }
        self.ids.bindings[n as usize] = variable;
    }

    pub fn declare(&mut self) {
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

    pub fn finish(self, main: u32) -> Vec<u8> {
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

    pub fn effect(&mut self, code: Op, operands: &[u32]) {
        let block = self.blocks.last_mut().expect("a block");
        op(&mut block.code, code, operands);
    }

    pub fn value(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        self.effect(code, &[&[ty, id], operands].concat());
        id
    }

    pub fn label(&mut self, id: u32) {
        self.blocks.push(Block { label: id, code: Vec::new(), ways: Vec::new(), ends: Vec::new() });
        self.effect(Op::Label, &[id]);
    }

    /// Declares what the current block begins; not followed as a jump.
    pub fn declared(&mut self, code: Op, operands: &[u32], ends: &[u32]) {
        self.effect(code, operands);
        self.blocks.last_mut().expect("a block").ends.extend_from_slice(ends);
    }

    /// Ends the block with jumps to these labels.
    pub fn end(&mut self, code: Op, operands: &[u32], to: &[u32]) {
        self.effect(code, operands);
        self.blocks.last_mut().expect("a block").ways.extend_from_slice(to);
        self.reached.extend(to);
    }

    pub fn jump(&mut self, to: u32) {
        self.end(Op::Branch, &[to], &[to]);
    }

    pub fn branch(&mut self, cond: u32, then: u32, els: u32) {
        self.end(Op::BranchConditional, &[cond, then, els], &[then, els]);
    }

    /// Goes on with a merge block; whether anything reaches it.
    pub fn merge(&mut self, label: u32) -> bool {
        self.label(label);
        let reached = self.reached.contains(&label);
        if !reached {
            self.effect(Op::Unreachable, &[]);
        }
        reached
    }

    pub fn load(&mut self, from: u32) -> u32 {
        self.value(Op::Load, self.ids.u32, &[from])
    }

    /// A pointer to a word of a buffer.
    pub fn word(&mut self, binding: u32, element: Option<u32>, at: u32) -> u32 {
        let zero = self.int(0);
        let path: Vec<u32> =
            [Some(self.ids.bindings[binding as usize]), element, Some(zero), Some(at)].into_iter().flatten().collect();
        self.value(Op::AccessChain, self.ids.to_word, &path)
    }

    pub fn and(&mut self, v: u32, mask: u32) -> u32 {
        let mask = self.int(mask);
        self.value(Op::BitwiseAnd, self.ids.u32, &[v, mask])
    }

    /// Stores the digest.
    pub fn leave(&mut self) {
        let (lane, digest) = (self.load(self.ids.lane), self.load(self.ids.digest));
        let word = self.word(OUT, None, lane);
        self.effect(Op::Store, &[word, digest]);
    }
}
