//! Modules of a shape that grows without bound: what makes a compiler slow when one of its walks is not linear.
//!
//! Each function takes a size and gives a valid compute module. To add a shape: a function, a line in [`SHAPES`].

#![allow(dead_code, reason = "each program uses its own part of this")]

use spirv::{Decoration, Op, StorageClass};
use std::collections::BTreeMap;

/// A shape by name, the size at which its limits are tested, and its module.
pub type Shape = (&'static str, u32, fn(u32) -> Vec<u8>);

/// Every shape.
pub const SHAPES: &[Shape] = &[
    ("structs nested with two members each", 200, nested_structs),
    ("specialization constants", 60_000, spec_constants),
    ("a chain of sums of specialization constants", 30_000, spec_sums),
    ("loads, multiplies and stores in turn", 512, memory_in_turn),
    ("multiplies in a row", 50_000, multiplies),
    ("a switch", 10_000, switch),
    ("a switch whose cases meet in a phi", 16_000, switch_phi),
    ("a switch of one target with phis", 5_000, switch_one_target),
    ("cyclic phis", 30_000, cyclic_phis),
    ("ifs in a row", 20_000, ifs),
    ("breaks out of one loop", 10_000, breaks),
    ("loops in a row", 4_000, loops),
    ("nested loops", 2_000, nested_loops),
    ("nested ifs", 30_000, nested_ifs),
    ("blocks in a row", 50_000, jumps),
    ("calls in calls", 90, calls),
    ("calls in calls, twice each", 60, doubling_calls),
    ("accesses to a struct of many members", 16_000, members),
    ("storage buffers", 10_000, resources),
    ("constant tables", 2_000, tables),
    ("decorations of one id", 30_000, decorations),
    ("private variables", 30_000, privates),
    ("input blocks", 4_000, inputs),
    ("pointers of pointers", 60_000, chains),
    ("a composite built up", 16_000, inserts),
];

/// A module under construction: a storage buffer of words, and a main function.
struct Module {
    notes: Vec<u32>,
    globals: Vec<u32>,
    code: Vec<u32>,
    entry: Vec<u32>,
    next: u32,
    ints: BTreeMap<u32, u32>,
    void: u32,
    function: u32,
    bool: u32,
    u32: u32,
    f32: u32,
    to_u32: u32,
    out: u32,
    main: u32,
}

fn op(to: &mut Vec<u32>, op: Op, operands: &[u32]) {
    to.push((operands.len() as u32 + 1) << 16 | op as u32);
    to.extend_from_slice(operands);
}

impl Module {
    fn new() -> Self {
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

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn decorate(&mut self, id: u32, decoration: Decoration, operands: &[u32]) {
        op(&mut self.notes, Op::Decorate, &[&[id, decoration as u32], operands].concat());
    }

    fn decorate_member(&mut self, id: u32, n: u32, decoration: Decoration, operands: &[u32]) {
        op(&mut self.notes, Op::MemberDecorate, &[&[id, n, decoration as u32], operands].concat());
    }

    /// A type.
    fn global(&mut self, code: Op, operands: &[u32]) -> u32 {
        let id = self.id();
        op(&mut self.globals, code, &[&[id], operands].concat());
        id
    }

    /// A constant or variable.
    fn typed(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        op(&mut self.globals, code, &[&[ty, id], operands].concat());
        id
    }

    fn pointer(&mut self, class: StorageClass, to: u32) -> u32 {
        self.global(Op::TypePointer, &[class as u32, to])
    }

    /// A block of members of 4 bytes each.
    fn block(&mut self, members: &[u32]) -> u32 {
        let block = self.global(Op::TypeStruct, members);
        self.decorate(block, Decoration::Block, &[]);
        for n in 0..members.len() as u32 {
            self.decorate_member(block, n, Decoration::Offset, &[4 * n]);
        }
        block
    }

    fn buffer(&mut self, block: u32, binding: u32) -> u32 {
        let to_block = self.pointer(StorageClass::StorageBuffer, block);
        self.buffer_of(to_block, binding)
    }

    fn buffer_of(&mut self, to_block: u32, binding: u32) -> u32 {
        let class = StorageClass::StorageBuffer;
        let variable = self.typed(Op::Variable, to_block, &[class as u32]);
        self.decorate(variable, Decoration::DescriptorSet, &[0]);
        self.decorate(variable, Decoration::Binding, &[binding]);
        self.entry.push(variable);
        variable
    }

    fn int(&mut self, n: u32) -> u32 {
        if let Some(&id) = self.ints.get(&n) {
            return id;
        }
        let id = self.typed(Op::Constant, self.u32, &[n]);
        self.ints.insert(n, id);
        id
    }

    fn effect(&mut self, code: Op, operands: &[u32]) {
        op(&mut self.code, code, operands);
    }

    fn value(&mut self, code: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        self.effect(code, &[&[ty, id], operands].concat());
        id
    }

    fn label(&mut self, id: u32) {
        self.effect(Op::Label, &[id]);
    }

    fn begin(&mut self) {
        let (void, main, function) = (self.void, self.main, self.function);
        self.begin_function(void, main, function);
    }

    fn begin_function(&mut self, result: u32, id: u32, ty: u32) {
        self.effect(Op::Function, &[result, id, 0, ty]);
        let label = self.id();
        self.label(label);
    }

    fn end(&mut self) {
        self.effect(Op::Return, &[]);
        self.effect(Op::FunctionEnd, &[]);
    }

    /// A pointer to a word of the buffer.
    fn word(&mut self, n: u32) -> u32 {
        let (zero, n) = (self.int(0), self.int(n));
        self.value(Op::AccessChain, self.to_u32, &[self.out, zero, n])
    }

    fn load(&mut self, n: u32) -> u32 {
        let word = self.word(n);
        self.value(Op::Load, self.u32, &[word])
    }

    fn store(&mut self, n: u32, value: u32) {
        let word = self.word(n);
        self.effect(Op::Store, &[word, value]);
    }

    /// Whether a word of the buffer is this number.
    fn word_is(&mut self, word: u32, n: u32) -> u32 {
        let (loaded, n) = (self.load(word), self.int(n));
        self.value(Op::IEqual, self.bool, &[loaded, n])
    }

    fn finish(self) -> Vec<u8> {
        let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0400, 0, self.next, 0];
        op(&mut words, Op::Capability, &[spirv::Capability::Shader as u32]);
        op(&mut words, Op::MemoryModel, &[0, 1]);
        let main = u32::from_le_bytes(*b"main");
        op(&mut words, Op::EntryPoint, &[&[5, self.main, main, 0], self.entry.as_slice()].concat());
        op(&mut words, Op::ExecutionMode, &[self.main, spirv::ExecutionMode::LocalSize as u32, 1, 1, 1]);
        words.extend(self.notes);
        words.extend(self.globals);
        words.extend(self.code);
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }
}

/// Struct in struct, twice each: 2^depth leaves. Only a pointer to it is used.
pub fn nested_structs(depth: u32) -> Vec<u8> {
    let mut m = Module::new();
    let mut ty = m.u32;
    for _ in 0..depth {
        ty = m.global(Op::TypeStruct, &[ty, ty]);
    }
    m.pointer(StorageClass::Private, ty);
    m.begin();
    m.end();
    m.finish()
}

/// As many specialization constants, all used.
pub fn spec_constants(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let ids: Vec<u32> = (0..n).map(|i| m.typed(Op::SpecConstant, m.u32, &[i])).collect();
    ids.iter().zip(0..).for_each(|(id, i)| m.decorate(*id, Decoration::SpecId, &[i]));
    m.begin();
    let mut sum = m.int(0);
    for id in ids {
        sum = m.value(Op::IAdd, m.u32, &[sum, id]);
    }
    m.store(0, sum);
    m.end();
    m.finish()
}

/// Each constant the sum of the last one and a specialization constant: the last stands on all.
pub fn spec_sums(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let mut sum = m.int(0);
    for i in 0..n {
        let id = m.typed(Op::SpecConstant, m.u32, &[i]);
        m.decorate(id, Decoration::SpecId, &[i]);
        sum = m.typed(Op::SpecConstantOp, m.u32, &[Op::IAdd as u32, sum, id]);
    }
    m.begin();
    m.store(0, sum);
    m.end();
    m.finish()
}

/// Each multiply between a load and a store that may alias the next load.
pub fn memory_in_turn(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    for i in 0..n {
        let a = m.load(i);
        let b = m.load(i + 1);
        let product = m.value(Op::IMul, m.u32, &[a, b]);
        m.store(i + 2, product);
    }
    m.end();
    m.finish()
}

/// Each of the last one's result.
pub fn multiplies(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let (first, mut x) = (m.load(0), m.load(1));
    for _ in 0..n {
        x = m.value(Op::IMul, m.u32, &[x, first]);
    }
    m.store(0, x);
    m.end();
    m.finish()
}

/// Each case stores.
pub fn switch(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let selector = m.load(0);
    let (merge, labels): (u32, Vec<u32>) = (m.id(), (0..n).map(|_| m.id()).collect());
    m.effect(Op::SelectionMerge, &[merge, 0]);
    let cases: Vec<u32> = labels.iter().zip(0..).flat_map(|(label, i)| [i, *label]).collect();
    m.effect(Op::Switch, &[&[selector, merge], cases.as_slice()].concat());
    for (label, i) in labels.into_iter().zip(0..) {
        m.label(label);
        let value = m.int(i ^ 0x5a);
        m.store(1, value);
        m.effect(Op::Branch, &[merge]);
    }
    m.label(merge);
    m.end();
    m.finish()
}

/// Each case is a value of one phi.
pub fn switch_phi(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let selector = m.load(0);
    let (merge, default): (u32, u32) = (m.id(), m.id());
    let labels: Vec<u32> = (0..n).map(|_| m.id()).collect();
    m.effect(Op::SelectionMerge, &[merge, 0]);
    let cases: Vec<u32> = labels.iter().zip(0..).flat_map(|(label, i)| [i, *label]).collect();
    m.effect(Op::Switch, &[&[selector, default], cases.as_slice()].concat());
    let mut incoming = Vec::new();
    for (label, i) in labels.into_iter().chain([default]).zip(0..) {
        m.label(label);
        incoming.extend([m.int(i ^ 0x5a), label]);
        m.effect(Op::Branch, &[merge]);
    }
    m.label(merge);
    let phi = m.value(Op::Phi, m.u32, &incoming);
    m.store(1, phi);
    m.end();
    m.finish()
}

/// Every case goes to one block, which has as many phis.
pub fn switch_one_target(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let from = m.id();
    m.effect(Op::Branch, &[from]);
    m.label(from);
    let selector = m.load(0);
    let (merge, target): (u32, u32) = (m.id(), m.id());
    m.effect(Op::SelectionMerge, &[merge, 0]);
    let cases: Vec<u32> = (0..n).flat_map(|i| [i, target]).collect();
    m.effect(Op::Switch, &[&[selector, merge], cases.as_slice()].concat());
    m.label(target);
    for _ in 0..n {
        m.value(Op::Phi, m.u32, &[selector, from]);
    }
    m.effect(Op::Branch, &[merge]);
    m.label(merge);
    m.end();
    m.finish()
}

/// In a loop, each phi takes the next one's value.
pub fn cyclic_phis(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let [entry, header, body, next, merge] = std::array::from_fn(|_| m.id());
    m.effect(Op::Branch, &[entry]);
    m.label(entry);
    let initial: Vec<u32> = (0..n).map(|i| if i < 16 { m.load(i) } else { m.int(i) }).collect();
    m.effect(Op::Branch, &[header]);
    m.label(header);
    let phis: Vec<u32> = (0..n).map(|_| m.id()).collect();
    for (i, phi) in phis.iter().enumerate() {
        let after = phis[(i + 1) % phis.len()];
        m.effect(Op::Phi, &[m.u32, *phi, initial[i], entry, after, next]);
    }
    m.effect(Op::LoopMerge, &[merge, next, 0]);
    m.effect(Op::Branch, &[body]);
    m.label(body);
    let zero = m.int(0);
    let again = m.value(Op::IEqual, m.bool, &[phis[0], zero]);
    m.effect(Op::BranchConditional, &[again, next, merge]);
    m.label(next);
    m.effect(Op::Branch, &[header]);
    m.label(merge);
    m.store(0, phis[n as usize / 2]);
    m.end();
    m.finish()
}

/// Each of its own condition.
pub fn ifs(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let x = m.load(0);
    for i in 0..n {
        let (then, merge) = (m.id(), m.id());
        let number = m.int(i);
        let condition = m.value(Op::IEqual, m.bool, &[x, number]);
        m.effect(Op::SelectionMerge, &[merge, 0]);
        m.effect(Op::BranchConditional, &[condition, then, merge]);
        m.label(then);
        m.store(1, number);
        m.effect(Op::Branch, &[merge]);
        m.label(merge);
    }
    m.end();
    m.finish()
}

/// One loop with as many ways out.
pub fn breaks(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let x = m.load(0);
    let [header, body, next, merge] = std::array::from_fn(|_| m.id());
    m.effect(Op::Branch, &[header]);
    m.label(header);
    m.effect(Op::LoopMerge, &[merge, next, 0]);
    m.effect(Op::Branch, &[body]);
    m.label(body);
    for i in 0..n {
        let (out, on) = (m.id(), m.id());
        let number = m.int(i);
        let condition = m.value(Op::IEqual, m.bool, &[x, number]);
        m.effect(Op::SelectionMerge, &[on, 0]);
        m.effect(Op::BranchConditional, &[condition, out, on]);
        m.label(out);
        m.store(1, number);
        m.effect(Op::Branch, &[merge]);
        m.label(on);
    }
    m.effect(Op::Branch, &[next]);
    m.label(next);
    m.effect(Op::Branch, &[header]);
    m.label(merge);
    m.end();
    m.finish()
}

/// One after the other.
pub fn loops(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    for _ in 0..n {
        let opened = m.open_loop();
        m.store(1, opened.counter);
        m.close_loop(&opened);
    }
    m.end();
    m.finish()
}

/// One in the other.
pub fn nested_loops(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let opened: Vec<Loop> = (0..n).map(|_| m.open_loop()).collect();
    let value = m.int(7);
    m.store(1, value);
    opened.iter().rev().for_each(|l| m.close_loop(l));
    m.end();
    m.finish()
}

/// One in the other.
pub fn nested_ifs(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let x = m.load(0);
    let mut merges = Vec::new();
    for i in 0..n {
        let (then, merge) = (m.id(), m.id());
        let number = m.int(i);
        let condition = m.value(Op::UGreaterThan, m.bool, &[x, number]);
        m.effect(Op::SelectionMerge, &[merge, 0]);
        m.effect(Op::BranchConditional, &[condition, then, merge]);
        m.label(then);
        merges.push(merge);
    }
    m.store(1, x);
    for merge in merges.into_iter().rev() {
        m.effect(Op::Branch, &[merge]);
        m.label(merge);
    }
    m.end();
    m.finish()
}

/// Each jumps to the next.
pub fn jumps(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    for _ in 0..n {
        let next = m.id();
        m.effect(Op::Branch, &[next]);
        m.label(next);
    }
    m.end();
    m.finish()
}

/// Each function calls the next.
pub fn calls(n: u32) -> Vec<u8> {
    call_tree(n, 1)
}

/// Each function calls the next twice: 2^n copies.
pub fn doubling_calls(n: u32) -> Vec<u8> {
    call_tree(n, 2)
}

fn call_tree(n: u32, times: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let mut callee = m.id();
    m.value(Op::FunctionCall, m.void, &[callee]);
    m.end();
    for i in 0..n {
        let (void, function) = (m.void, m.function);
        m.begin_function(void, callee, function);
        callee = m.id();
        if i + 1 < n {
            (0..times).for_each(|_| _ = m.value(Op::FunctionCall, void, &[callee]));
        } else {
            let value = m.int(7);
            m.store(0, value);
        }
        m.end();
    }
    m.finish()
}

/// The last member of a block of as many, loaded as many times.
pub fn members(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let ty = m.global(Op::TypeStruct, &vec![m.u32; n as usize]);
    let to_struct = m.pointer(StorageClass::Workgroup, ty);
    let to_member = m.pointer(StorageClass::Workgroup, m.u32);
    let variable = m.typed(Op::Variable, to_struct, &[StorageClass::Workgroup as u32]);
    m.entry.push(variable);
    m.begin();
    for i in 0..n {
        let index = m.int(n - 1 - i % 7);
        let pointer = m.value(Op::AccessChain, to_member, &[variable, index]);
        let loaded = m.value(Op::Load, m.u32, &[pointer]);
        m.effect(Op::Store, &[pointer, loaded]);
    }
    m.end();
    m.finish()
}

/// As many bindings, each stored to.
pub fn resources(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let block = m.block(&[m.u32]);
    let to_block = m.pointer(StorageClass::StorageBuffer, block);
    let variables: Vec<u32> = (0..n).map(|i| m.buffer_of(to_block, i + 1)).collect();
    m.begin();
    let (zero, to_u32) = (m.int(0), m.to_u32);
    for variable in variables {
        let pointer = m.value(Op::AccessChain, to_u32, &[variable, zero]);
        m.effect(Op::Store, &[pointer, zero]);
    }
    m.end();
    m.finish()
}

/// Private arrays of constants, each indexed at run time.
pub fn tables(n: u32) -> Vec<u8> {
    const LENGTH: u32 = 64;
    let mut m = Module::new();
    let length = m.int(LENGTH);
    let array = m.global(Op::TypeArray, &[m.u32, length]);
    let to_array = m.pointer(StorageClass::Private, array);
    let to_word = m.pointer(StorageClass::Private, m.u32);
    let variables: Vec<u32> = (0..n)
        .map(|i| {
            let words: Vec<u32> = (0..LENGTH).map(|k| if k + 1 < LENGTH { m.int(k) } else { m.int(i) }).collect();
            let constant = m.typed(Op::ConstantComposite, array, &words);
            m.typed(Op::Variable, to_array, &[StorageClass::Private as u32, constant])
        })
        .collect();
    m.entry.extend(&variables);
    m.begin();
    let index = m.load(0);
    for variable in variables {
        let pointer = m.value(Op::AccessChain, to_word, &[variable, index]);
        let loaded = m.value(Op::Load, m.u32, &[pointer]);
        m.store(1, loaded);
    }
    m.end();
    m.finish()
}

/// One pointer decorated as often, and used as often.
pub fn decorations(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let zero = m.int(0);
    for _ in 0..n {
        let (out, to_u32) = (m.out, m.to_u32);
        m.decorate(out, Decoration::Aliased, &[]);
        let pointer = m.value(Op::AccessChain, to_u32, &[out, zero, zero]);
        m.effect(Op::Store, &[pointer, zero]);
    }
    m.end();
    m.finish()
}

/// Each stored to and loaded.
pub fn privates(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let to_word = m.pointer(StorageClass::Private, m.u32);
    let variables: Vec<u32> = (0..n).map(|_| m.typed(Op::Variable, to_word, &[StorageClass::Private as u32])).collect();
    m.entry.extend(&variables);
    m.begin();
    let mut x = m.load(0);
    for variable in variables {
        m.effect(Op::Store, &[variable, x]);
        x = m.value(Op::Load, m.u32, &[variable]);
    }
    m.store(0, x);
    m.end();
    m.finish()
}

/// As many built-in blocks, each of as many members as a value may have leaves.
pub fn inputs(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let length = m.int(1 << 14);
    let array = m.global(Op::TypeArray, &[m.u32, length]);
    let to_array = m.pointer(StorageClass::Input, array);
    let to_word = m.pointer(StorageClass::Input, m.u32);
    let variables: Vec<u32> = (0..n).map(|_| m.typed(Op::Variable, to_array, &[StorageClass::Input as u32])).collect();
    for variable in &variables {
        m.decorate(*variable, Decoration::BuiltIn, &[spirv::BuiltIn::SubgroupEqMask as u32]);
    }
    m.entry.extend(&variables);
    m.begin();
    for variable in variables {
        let zero = m.int(0);
        let pointer = m.value(Op::AccessChain, to_word, &[variable, zero]);
        let loaded = m.value(Op::Load, m.u32, &[pointer]);
        m.store(0, loaded);
    }
    m.end();
    m.finish()
}

/// A variable that SPIR-V allows and nothing in Vulkan feeds: no built-in, in a compute shader.
pub fn located_input() -> Vec<u8> {
    let mut m = Module::new();
    let to_word = m.pointer(StorageClass::Input, m.u32);
    let variable = m.typed(Op::Variable, to_word, &[StorageClass::Input as u32]);
    m.decorate(variable, Decoration::Location, &[0]);
    m.entry.push(variable);
    m.begin();
    let loaded = m.value(Op::Load, m.u32, &[variable]);
    m.store(0, loaded);
    m.end();
    m.finish()
}

/// Each pointer a copy of the last one.
pub fn chains(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let mut pointer = m.word(0);
    for _ in 0..n {
        pointer = m.value(Op::CopyObject, m.to_u32, &[pointer]);
    }
    let zero = m.int(0);
    m.effect(Op::Store, &[pointer, zero]);
    m.end();
    m.finish()
}

/// A large array, one element replaced at a time.
pub fn inserts(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let length = m.int(n);
    let array = m.global(Op::TypeArray, &[m.u32, length]);
    let mut all = m.typed(Op::ConstantNull, array, &[]);
    m.begin();
    let x = m.load(0);
    for i in 0..n {
        all = m.value(Op::CompositeInsert, array, &[x, all, i]);
    }
    let last = m.value(Op::CompositeExtract, m.u32, &[all, n / 2]);
    m.store(0, last);
    m.end();
    m.finish()
}

/// A loop that counts to a word of the buffer, its body open.
struct Loop {
    header: u32,
    next: u32,
    merge: u32,
    counter: u32,
    after: u32,
}

impl Module {
    fn open_loop(&mut self) -> Loop {
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

    fn close_loop(&mut self, l: &Loop) {
        self.effect(Op::Branch, &[l.next]);
        self.label(l.next);
        let one = self.int(1);
        self.effect(Op::IAdd, &[self.u32, l.after, l.counter, one]);
        self.effect(Op::Branch, &[l.header]);
        self.label(l.merge);
    }
}
