//! Builder of SPIR-V modules, instruction by instruction: a shader with one storage buffer of words.

#![allow(dead_code, reason = "each program uses its own part of this")]

use spirv::{Decoration, ExecutionModel, Op, StorageClass};
use std::collections::BTreeMap;

/// A module under construction: a storage buffer of words, and a main function.
pub struct Module {
    pub notes: Vec<u32>,
    pub globals: Vec<u32>,
    pub code: Vec<u32>,
    pub entry: Vec<u32>,
    pub next: u32,
    pub ints: BTreeMap<u32, u32>,
    pub void: u32,
    pub function: u32,
    pub bool: u32,
    pub u32: u32,
    pub f32: u32,
    pub to_u32: u32,
    pub out: u32,
    pub main: u32,
    pub model: ExecutionModel,
    /// Invocations of a compute shader's workgroup.
    pub lanes: u32,
    /// The type of four floats, if there is one.
    pub vector: u32,
}

pub fn op(to: &mut Vec<u32>, op: Op, operands: &[u32]) {
    to.push((operands.len() as u32 + 1) << 16 | op as u32);
    to.extend_from_slice(operands);
}

impl Module {
    pub fn new() -> Self {
        let mut m = Self {
            notes: Vec::new(),
            globals: Vec::new(),
            code: Vec::new(),
            entry: Vec::new(),
            next: 1,
            ints: BTreeMap::new(),
            void: 0,
            function: 0,
            bool: 0,
            u32: 0,
            f32: 0,
            to_u32: 0,
            out: 0,
            main: 0,
            model: ExecutionModel::GLCompute,
            lanes: 1,
            vector: 0,
        };
        m.main = m.id();
        m.void = m.global(Op::TypeVoid, &[]);
        m.function = m.global(Op::TypeFunction, &[m.void]);
        m.bool = m.global(Op::TypeBool, &[]);
        m.u32 = m.global(Op::TypeInt, &[32, 0]);
        m.f32 = m.global(Op::TypeFloat, &[32]);
        let words = m.global(Op::TypeRuntimeArray, &[m.u32]);
        m.decorate(words, Decoration::ArrayStride, &[4]);
        let block = m.block(&[words]);
        m.to_u32 = m.pointer(StorageClass::StorageBuffer, m.u32);
        m.out = m.buffer(block, 0);
        m
    }

    pub fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    pub fn decorate(&mut self, id: u32, decoration: Decoration, operands: &[u32]) {
        op(&mut self.notes, Op::Decorate, &[&[id, decoration as u32], operands].concat());
    }

    pub fn decorate_member(&mut self, id: u32, n: u32, decoration: Decoration, operands: &[u32]) {
        op(&mut self.notes, Op::MemberDecorate, &[&[id, n, decoration as u32], operands].concat());
    }

    /// Adds a type.
    pub fn global(&mut self, code: Op, operands: &[u32]) -> u32 {
        let id = self.id();
        op(&mut self.globals, code, &[&[id], operands].concat());
        id
    }

    /// Adds a constant or variable.
    pub fn typed(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        op(&mut self.globals, code, &[&[ty, id], operands].concat());
        id
    }

    pub fn pointer(&mut self, class: StorageClass, to: u32) -> u32 {
        self.global(Op::TypePointer, &[class as u32, to])
    }

    /// Adds a block of members of 4 bytes each.
    pub fn block(&mut self, members: &[u32]) -> u32 {
        let block = self.global(Op::TypeStruct, members);
        self.decorate(block, Decoration::Block, &[]);
        for n in 0..members.len() as u32 {
            self.decorate_member(block, n, Decoration::Offset, &[4 * n]);
        }
        block
    }

    /// The type of four floats.
    pub fn four_floats(&mut self) -> u32 {
        if self.vector == 0 {
            self.vector = self.global(Op::TypeVector, &[self.f32, 4]);
        }
        self.vector
    }

    pub fn buffer(&mut self, block: u32, binding: u32) -> u32 {
        let to_block = self.pointer(StorageClass::StorageBuffer, block);
        self.buffer_of(to_block, binding)
    }

    pub fn buffer_of(&mut self, to_block: u32, binding: u32) -> u32 {
        let class = StorageClass::StorageBuffer;
        let variable = self.typed(Op::Variable, to_block, &[class as u32]);
        self.decorate(variable, Decoration::DescriptorSet, &[0]);
        self.decorate(variable, Decoration::Binding, &[binding]);
        self.entry.push(variable);
        variable
    }

    pub fn int(&mut self, n: u32) -> u32 {
        if let Some(&id) = self.ints.get(&n) {
            return id;
        }
        let id = self.typed(Op::Constant, self.u32, &[n]);
        self.ints.insert(n, id);
        id
    }

    /// Turns it into a vertex shader with an output of one word at location 0.
    pub fn vertex_output(&mut self) -> u32 {
        self.model = ExecutionModel::Vertex;
        let class = StorageClass::Output;
        let to_output = self.pointer(class, self.u32);
        let variable = self.typed(Op::Variable, to_output, &[class as u32]);
        self.decorate(variable, Decoration::Location, &[0]);
        self.entry.push(variable);
        variable
    }

    pub fn effect(&mut self, code: Op, operands: &[u32]) {
        op(&mut self.code, code, operands);
    }

    pub fn value(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        self.effect(code, &[&[ty, id], operands].concat());
        id
    }

    pub fn label(&mut self, id: u32) {
        self.effect(Op::Label, &[id]);
    }

    pub fn begin(&mut self) {
        let (void, main, function) = (self.void, self.main, self.function);
        self.begin_function(void, main, function);
    }

    pub fn begin_function(&mut self, result: u32, id: u32, ty: u32) {
        self.effect(Op::Function, &[result, id, 0, ty]);
        let label = self.id();
        self.label(label);
    }

    pub fn end(&mut self) {
        self.effect(Op::Return, &[]);
        self.effect(Op::FunctionEnd, &[]);
    }

    /// A pointer to a word of the buffer.
    pub fn word(&mut self, n: u32) -> u32 {
        let (zero, n) = (self.int(0), self.int(n));
        self.value(Op::AccessChain, self.to_u32, &[self.out, zero, n])
    }

    pub fn load(&mut self, n: u32) -> u32 {
        let word = self.word(n);
        self.value(Op::Load, self.u32, &[word])
    }

    pub fn store(&mut self, n: u32, value: u32) {
        let word = self.word(n);
        self.effect(Op::Store, &[word, value]);
    }

    /// Opens a selection: if the value equals this number, control goes to the block `then`, which this opens. Returns
    /// the number, `then`, and the merge block.
    pub fn when(&mut self, value: u32, n: u32) -> (u32, u32, u32) {
        let (then, merge) = (self.id(), self.id());
        let number = self.int(n);
        let condition = self.value(Op::IEqual, self.bool, &[value, number]);
        self.effect(Op::SelectionMerge, &[merge, 0]);
        self.effect(Op::BranchConditional, &[condition, then, merge]);
        self.label(then);
        (number, then, merge)
    }

    /// Tests whether a word of the buffer equals this number.
    pub fn word_is(&mut self, word: u32, n: u32) -> u32 {
        let (loaded, n) = (self.load(word), self.int(n));
        self.value(Op::IEqual, self.bool, &[loaded, n])
    }

    pub fn finish(self) -> Vec<u8> {
        let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0400, 0, self.next, 0];
        op(&mut words, Op::Capability, &[spirv::Capability::Shader as u32]);
        op(&mut words, Op::MemoryModel, &[0, 1]);
        let main = u32::from_le_bytes(*b"main");
        op(&mut words, Op::EntryPoint, &[&[self.model as u32, self.main, main, 0], self.entry.as_slice()].concat());
        let mode: &[u32] = match self.model {
            ExecutionModel::GLCompute => &[spirv::ExecutionMode::LocalSize as u32, self.lanes, 1, 1],
            ExecutionModel::Fragment => &[spirv::ExecutionMode::OriginUpperLeft as u32],
            _ => &[],
        };
        if !mode.is_empty() {
            op(&mut words, Op::ExecutionMode, &[&[self.main], mode].concat());
        }
        words.extend(self.notes);
        words.extend(self.globals);
        words.extend(self.code);
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }
}

/// A loop that counts to a word of the buffer; its body is open.
pub struct Loop {
    pub header: u32,
    pub next: u32,
    pub merge: u32,
    pub counter: u32,
    pub after: u32,
}

impl Module {
    pub fn open_loop(&mut self) -> Loop {
        let [before, header, body, next, merge, counter, after] = std::array::from_fn(|_| self.id());
        self.effect(Op::Branch, &[before]);
        self.label(before);
        let (zero, limit) = (self.int(0), self.load(0));
        self.effect(Op::Branch, &[header]);
        self.label(header);
        self.effect(Op::Phi, &[self.u32, counter, zero, before, after, next]);
        let go = self.value(Op::ULessThan, self.bool, &[counter, limit]);
        self.effect(Op::LoopMerge, &[merge, next, 0]);
        self.effect(Op::BranchConditional, &[go, body, merge]);
        self.label(body);
        Loop { header, next, merge, counter, after }
    }

    pub fn close_loop(&mut self, l: &Loop) {
        self.effect(Op::Branch, &[l.next]);
        self.label(l.next);
        let one = self.int(1);
        self.effect(Op::IAdd, &[self.u32, l.after, l.counter, one]);
        self.effect(Op::Branch, &[l.header]);
        self.label(l.merge);
    }
}
