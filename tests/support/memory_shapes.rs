//! Module shapes with many variables, members, decorations or pointers.

use super::shape_module::Module;
use spirv::{Decoration, Op, StorageClass};

/// A block of `n` members, whose last member is loaded `n` times.
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

/// A struct with one member that has a value and `n` that have none, loaded and stored `n` times.
pub fn empty_members(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let empty = m.global(Op::TypeStruct, &[]);
    let ty = m.global(Op::TypeStruct, &[&vec![empty; n as usize][..], &[m.u32]].concat());
    let to_struct = m.pointer(StorageClass::Workgroup, ty);
    let variable = m.typed(Op::Variable, to_struct, &[StorageClass::Workgroup as u32]);
    m.entry.push(variable);
    m.begin();
    for _ in 0..n {
        let loaded = m.value(Op::Load, ty, &[variable]);
        m.effect(Op::Store, &[variable, loaded]);
    }
    m.end();
    m.finish()
}

/// A sum with `n` decorations, in a function that is called 64 times.
pub fn decorated_sums(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let ty = m.global(Op::TypeFunction, &[m.u32]);
    let function = m.id();
    m.begin();
    for i in 0..64 {
        let value = m.value(Op::FunctionCall, m.u32, &[function]);
        m.store(i, value);
    }
    m.end();
    m.begin_function(m.u32, function, ty);
    let loaded = m.load(0);
    let mut sum = loaded;
    for _ in 0..64 {
        sum = m.value(Op::IAdd, m.u32, &[sum, loaded]);
        (0..n / 64).for_each(|_| m.decorate(sum, Decoration::NoContraction, &[]));
    }
    m.effect(Op::ReturnValue, &[sum]);
    m.effect(Op::FunctionEnd, &[]);
    m.finish()
}

/// `n` bindings, each stored to.
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

/// `n` private arrays of constants, each indexed at run time.
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

/// One pointer, decorated `n` times and used `n` times.
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

/// `n` private variables, each stored to and loaded.
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

/// `n` built-in blocks, each with the maximal number of leaves of a value.
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

/// A variable that no Vulkan shader may use: an input without a built-in in a compute shader.
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

/// `n` pointers, each a copy of the previous one.
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

/// A large array, with `n` replacements of single elements.
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
