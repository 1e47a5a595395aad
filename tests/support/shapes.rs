//! Module shapes that grow without bound, to find compiler walks that are not linear.
//!
//! Each function takes a size and returns a valid module. To add a shape: a function (of variables and types: in
//! `memory_shapes.rs`), and a line in [`SHAPES`].

#![allow(dead_code, reason = "each program uses its own part of this")]

#[path = "mask_shapes.rs"]
mod mask_shapes;
#[path = "memory_shapes.rs"]
mod memory_shapes;
#[path = "shape_module.rs"]
mod shape_module;

pub use mask_shapes::*;
pub use memory_shapes::*;

use shape_module::{Loop, Module};
use spirv::{Decoration, Op, StorageClass};

/// Name of a shape, the size at which its limits are tested, and its module.
pub type Shape = (&'static str, u32, fn(u32) -> Vec<u8>);

/// Every shape.
pub const SHAPES: &[Shape] = &[
    ("structs nested with two members each", 200, nested_structs),
    ("specialization constants", 60_000, spec_constants),
    ("a chain of sums of specialization constants", 30_000, spec_sums),
    ("loads, multiplies and stores in turn", 512, memory_in_turn),
    ("multiplies in a row", 100_000, multiplies),
    ("products and sums in a row", 10_000, products_and_sums),
    ("a switch", 30_000, switch),
    ("a switch whose cases meet in a phi", 16_000, switch_phi),
    ("a switch of one target with phis", 5_000, switch_one_target),
    ("cyclic phis", 30_000, cyclic_phis),
    ("more cyclic phis than registers", 1_000, cyclic_phis),
    ("ifs in a row", 50_000, ifs),
    ("breaks out of one loop", 5_000, breaks),
    ("loops in a row", 4_000, loops),
    ("nested loops", 2_000, nested_loops),
    ("nested ifs", 30_000, nested_ifs),
    ("nested ifs, diverging", 250, diverging_ifs),
    ("nested ifs with else, diverging", 250, diverging_if_elses),
    ("else-ifs, diverging", 250, diverging_else_ifs),
    ("breaks, diverging", 250, diverging_breaks),
    ("breaks with code, diverging", 250, diverging_breaks_with_code),
    ("nested loops, diverging", 100, diverging_loops),
    ("nested switches, diverging", 250, diverging_switches),
    ("ifs in loops, diverging", 250, diverging_ifs_in_loops),
    ("blocks in a row", 50_000, jumps),
    ("calls in calls", 90, calls),
    ("calls in calls, twice each", 60, doubling_calls),
    ("accesses to a struct of many members", 16_000, members),
    ("storage buffers", 10_000, resources),
    ("constant tables", 2_000, tables),
    ("members without values", 30_000, empty_members),
    ("decorations of one id", 30_000, decorations),
    ("decorations of arithmetic", 30_000, decorated_sums),
    ("private variables", 30_000, privates),
    ("input blocks", 4_000, inputs),
    ("pointers of pointers", 60_000, chains),
    ("a composite built up", 1_500, inserts),
    ("an output through phis", 30_000, output_of_phis),
    ("ends whose output was kept in a variable", 20_000, ends_of_kept_output),
];

/// Nested structs, two in each: 2^depth leaves. Only a pointer to it is used.
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

/// `n` specialization constants, all used.
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

/// Each constant is the sum of the previous one and a specialization constant.
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

/// Alternating loads and stores that may alias, with a multiplication between them.
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

/// A chain of multiplications.
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

/// Two chains; each value is a product with the previous one of its chain and a sum with the other.
pub fn products_and_sums(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let (a, b) = (m.load(0), m.load(1));
    let (mut x, mut y) = (m.load(2), m.load(3));
    for _ in 0..n {
        let product = m.value(Op::IMul, m.u32, &[x, a]);
        x = m.value(Op::IAdd, m.u32, &[product, y]);
        let product = m.value(Op::IMul, m.u32, &[y, b]);
        y = m.value(Op::IAdd, m.u32, &[product, x]);
    }
    m.store(0, y);
    m.end();
    m.finish()
}

/// A switch in which each case stores.
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

/// A switch in which each case is an input of one phi.
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

/// A switch whose cases all go to one block with as many phis.
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

/// A loop in which each phi takes the next one's value.
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

/// A sequence of ifs, each with its own condition.
pub fn ifs(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    m.begin();
    let x = m.load(0);
    for i in 0..n {
        let (number, _, merge) = m.when(x, i);
        m.store(1, number);
        m.effect(Op::Branch, &[merge]);
        m.label(merge);
    }
    m.end();
    m.finish()
}

/// A vertex output that is undefined on as many paths, which join one after the other.
pub fn output_of_phis(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let output = m.vertex_output();
    m.begin();
    let mut from = m.id();
    m.effect(Op::Branch, &[from]);
    m.label(from);
    let x = m.load(0);
    let mut value = m.value(Op::Undef, m.u32, &[]);
    for i in 0..n {
        let other = m.value(Op::Undef, m.u32, &[]);
        let (_, then, merge) = m.when(x, i);
        m.effect(Op::Branch, &[merge]);
        m.label(merge);
        value = m.value(Op::Phi, m.u32, &[value, from, other, then]);
        m.effect(Op::Store, &[output, value]);
        from = merge;
    }
    m.end();
    m.finish()
}

/// A vertex shader that keeps its output in a variable, and ends at as many places.
pub fn ends_of_kept_output(n: u32) -> Vec<u8> {
    let mut m = Module::new();
    let output = m.vertex_output();
    let to_word = m.pointer(StorageClass::Private, m.u32);
    let kept = m.typed(Op::Variable, to_word, &[StorageClass::Private as u32]);
    m.entry.push(kept);
    m.begin();
    let x = m.load(0);
    for i in 0..n {
        let (number, _, merge) = m.when(x, i);
        m.effect(Op::Store, &[kept, number]);
        let last = m.value(Op::Load, m.u32, &[kept]);
        m.effect(Op::Store, &[output, last]);
        m.effect(Op::Return, &[]);
        m.label(merge);
    }
    m.end();
    m.finish()
}

/// One loop with as many exits.
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
        let (number, _, on) = m.when(x, i);
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

/// Consecutive loops.
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

/// Nested loops.
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

/// Nested ifs.
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

/// A chain of jumps.
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
