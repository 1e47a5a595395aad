//! Shapes whose lanes diverge at every step, so that the wave needs as many lane masks as there are steps, in each stage.
//!
//! An invocation takes word `index` of the buffer, follows its own way, and leaves what it computed on it in word `index +
//! LANES`. The index is that of the invocation, the vertex or the pixel.

#![allow(dead_code, reason = "each program uses its own part of this")]

use super::shape_module::Module;
use spirv::{BuiltIn, Decoration, ExecutionModel, Op, StorageClass};

/// Invocations of a shape: lanes of a workgroup, vertices, or pixels of a square.
pub const LANES: u32 = 64;
/// Width of the square.
pub const WIDTH: u32 = 8;

/// A shape: its name, and the code of that many steps.
pub type MaskShape = (&'static str, fn(&mut Body, u32));

/// Every shape.
pub const MASK_SHAPES: &[MaskShape] = &[
    ("nested ifs", nested_ifs),
    ("nested ifs with else", nested_if_elses),
    ("a chain of else-ifs", else_ifs),
    ("breaks out of one loop", breaks),
    ("code before each break out of one loop", breaks_with_code),
    ("nested loops with breaks", nested_loops),
    ("nested switches", nested_switches),
    ("ifs and loops in each other, with values across", ifs_in_loops),
];

/// The module of a shape for a stage.
pub fn module(stage: ExecutionModel, steps: fn(&mut Body, u32), n: u32) -> Vec<u8> {
    let mut body = Body::new(stage);
    steps(&mut body, n);
    body.finish()
}

/// The compute shaders for the test of limits.
macro_rules! compute_shapes {
    ($($name:ident $steps:ident;)*) => {
        $(
            #[doc = "A shape as a compute shader."]
            pub fn $name(n: u32) -> Vec<u8> {
                module(ExecutionModel::GLCompute, $steps, n)
            }
        )*
    };
}

compute_shapes! {
    diverging_ifs nested_ifs;
    diverging_if_elses nested_if_elses;
    diverging_else_ifs else_ifs;
    diverging_breaks breaks;
    diverging_breaks_with_code breaks_with_code;
    diverging_loops nested_loops;
    diverging_switches nested_switches;
    diverging_ifs_in_loops ifs_in_loops;
}

/// A vertex shader whose triangle covers the square.
pub fn covering_triangle() -> Vec<u8> {
    let mut m = Module::new();
    m.model = ExecutionModel::Vertex;
    let word = m.u32;
    let vertex = input(&mut m, BuiltIn::VertexIndex, word);
    let place = position(&mut m);
    let [low, high, zero, one] = [-1f32, 3.0, 0.0, 1.0].map(|x| m.typed(Op::Constant, m.f32, &[x.to_bits()]));
    m.begin();
    let index = m.value(Op::Load, m.u32, &[vertex]);
    let coordinate = |m: &mut Module, of: u32| {
        let of = m.int(of);
        let is = m.value(Op::IEqual, m.bool, &[index, of]);
        m.value(Op::Select, m.f32, &[is, high, low])
    };
    let (x, y) = (coordinate(&mut m, 1), coordinate(&mut m, 2));
    place.store(&mut m, [x, y, zero, one]);
    m.end();
    m.finish()
}

/// The position that a vertex shader writes.
struct Position {
    vector: u32,
    variable: u32,
}

impl Position {
    fn store(&self, m: &mut Module, coordinates: [u32; 4]) {
        let value = m.value(Op::CompositeConstruct, self.vector, &coordinates);
        m.effect(Op::Store, &[self.variable, value]);
    }
}

fn position(m: &mut Module) -> Position {
    let vector = m.four_floats();
    let to_vector = m.pointer(StorageClass::Output, vector);
    let variable = m.typed(Op::Variable, to_vector, &[StorageClass::Output as u32]);
    m.decorate(variable, Decoration::BuiltIn, &[BuiltIn::Position as u32]);
    m.entry.push(variable);
    Position { vector, variable }
}

fn input(m: &mut Module, built_in: BuiltIn, ty: u32) -> u32 {
    let to_input = m.pointer(StorageClass::Input, ty);
    let variable = m.typed(Op::Variable, to_input, &[StorageClass::Input as u32]);
    m.decorate(variable, Decoration::BuiltIn, &[built_in as u32]);
    m.entry.push(variable);
    variable
}

/// A shader under construction: what one invocation does.
pub struct Body {
    m: Module,
    index: u32,
    /// What the invocation decides by.
    a: u32,
    /// The variable that it computes.
    sum: u32,
    /// The variable with the iterations that all loops together may have.
    fuel: u32,
}

impl Body {
    fn new(stage: ExecutionModel) -> Self {
        let mut m = Module::new();
        m.model = stage;
        let word = m.u32;
        let to_local = m.pointer(StorageClass::Function, word);
        let place = (stage == ExecutionModel::Vertex).then(|| position(&mut m));
        let given = match stage {
            ExecutionModel::Vertex => input(&mut m, BuiltIn::VertexIndex, word),
            ExecutionModel::Fragment => {
                let vector = m.four_floats();
                input(&mut m, BuiltIn::FragCoord, vector)
            }
            _ => {
                m.lanes = LANES;
                input(&mut m, BuiltIn::LocalInvocationIndex, word)
            }
        };
        let [far, one] = [2f32, 1.0].map(|x| m.typed(Op::Constant, m.f32, &[x.to_bits()]));
        m.begin();
        let mut local = || m.value(Op::Variable, to_local, &[StorageClass::Function as u32]);
        let (sum, fuel) = (local(), local());
        if let Some(place) = place {
            // Beyond the clip volume: no pixel is drawn.
            place.store(&mut m, [far, far, far, one]);
        }
        let index = match stage {
            ExecutionModel::Fragment => {
                let at = m.value(Op::Load, m.vector, &[given]);
                let [x, y] = [0, 1].map(|n| {
                    let along = m.value(Op::CompositeExtract, m.f32, &[at, n]);
                    m.value(Op::ConvertFToU, m.u32, &[along])
                });
                let width = m.int(WIDTH);
                let row = m.value(Op::IMul, m.u32, &[y, width]);
                m.value(Op::IAdd, m.u32, &[row, x])
            }
            _ => m.value(Op::Load, m.u32, &[given]),
        };
        let mut body = Self { m, index, a: 0, sum, fuel };
        let word = body.word_at(0);
        body.a = body.m.value(Op::Load, body.m.u32, &[word]);
        body.set(body.a);
        let five = body.int(5);
        let fuel = body.word(Op::UMod, body.a, five);
        body.m.effect(Op::Store, &[body.fuel, fuel]);
        body
    }

    fn finish(mut self) -> Vec<u8> {
        let (word, sum) = (self.word_at(LANES), self.get());
        self.m.effect(Op::Store, &[word, sum]);
        self.m.end();
        self.m.finish()
    }

    /// A pointer to the invocation's word after so many others.
    fn word_at(&mut self, first: u32) -> u32 {
        let (zero, first) = (self.int(0), self.int(first));
        let at = self.word(Op::IAdd, self.index, first);
        self.m.value(Op::AccessChain, self.m.to_u32, &[self.m.out, zero, at])
    }

    fn int(&mut self, n: u32) -> u32 {
        self.m.int(n)
    }

    fn word(&mut self, op: Op, a: u32, b: u32) -> u32 {
        self.m.value(op, self.m.u32, &[a, b])
    }

    fn is(&mut self, op: Op, a: u32, b: u32) -> u32 {
        self.m.value(op, self.m.bool, &[a, b])
    }

    fn get(&mut self) -> u32 {
        self.m.value(Op::Load, self.m.u32, &[self.sum])
    }

    fn set(&mut self, value: u32) {
        self.m.effect(Op::Store, &[self.sum, value]);
    }

    /// Changes the sum by an operation with a number.
    fn change(&mut self, op: Op, n: u32) {
        let (sum, n) = (self.get(), self.int(n));
        let sum = self.word(op, sum, n);
        self.set(sum);
    }

    /// Makes the sum depend on all that it was before.
    fn step(&mut self, n: u32) {
        self.change(Op::IMul, 3);
        self.change(Op::IAdd, n);
    }

    fn branch(&mut self, to: u32) {
        self.m.effect(Op::Branch, &[to]);
    }

    /// Branches by a condition to the first block, which this opens, or to the second; they meet at the third.
    fn select(&mut self, condition: u32, then: u32, els: u32, merge: u32) {
        self.m.effect(Op::SelectionMerge, &[merge, 0]);
        self.m.effect(Op::BranchConditional, &[condition, then, els]);
        self.m.label(then);
    }

    /// Opens a loop without a test.
    fn repeat(&mut self) -> Repeat {
        let [header, body, next, merge] = std::array::from_fn(|_| self.m.id());
        self.branch(header);
        self.m.label(header);
        self.m.effect(Op::LoopMerge, &[merge, next, 0]);
        self.branch(body);
        self.m.label(body);
        Repeat { header, next, merge }
    }

    fn again(&mut self, repeat: &Repeat) {
        self.branch(repeat.next);
        self.m.label(repeat.next);
        self.branch(repeat.header);
        self.m.label(repeat.merge);
    }

    /// Leaves a loop if the condition holds.
    fn leave_if(&mut self, condition: u32, repeat: &Repeat) {
        let [leave, on] = std::array::from_fn(|_| self.m.id());
        self.select(condition, leave, on, on);
        self.branch(repeat.merge);
        self.m.label(on);
    }

    /// Leaves a loop if no fuel is left, and uses some.
    fn burn(&mut self, repeat: &Repeat) {
        let left = self.m.value(Op::Load, self.m.u32, &[self.fuel]);
        let (zero, one) = (self.int(0), self.int(1));
        let empty = self.is(Op::IEqual, left, zero);
        self.leave_if(empty, repeat);
        let less = self.word(Op::ISub, left, one);
        self.m.effect(Op::Store, &[self.fuel, less]);
    }

    /// Whether a bit of what the invocation decides by is set.
    fn bit(&mut self, n: u32) -> u32 {
        let (zero, mask) = (self.int(0), self.int(1 << n));
        let bit = self.word(Op::BitwiseAnd, self.a, mask);
        self.is(Op::INotEqual, bit, zero)
    }
}

/// A loop without a test.
struct Repeat {
    header: u32,
    next: u32,
    merge: u32,
}

fn nested_ifs(b: &mut Body, n: u32) {
    let mut merges = Vec::new();
    for i in 0..n {
        let [then, merge] = std::array::from_fn(|_| b.m.id());
        let limit = b.int(i);
        let more = b.is(Op::UGreaterThan, b.a, limit);
        b.select(more, then, merge, merge);
        b.step(i);
        merges.push(merge);
    }
    for (merge, i) in merges.into_iter().zip(0..n).rev() {
        b.change(Op::BitwiseXor, 7 * i + 1);
        b.branch(merge);
        b.m.label(merge);
    }
}

fn nested_if_elses(b: &mut Body, n: u32) {
    let mut ends = Vec::new();
    for i in 0..n {
        let [then, els, merge] = std::array::from_fn(|_| b.m.id());
        let number = b.int(i);
        let other = b.is(Op::INotEqual, b.a, number);
        b.select(other, then, els, merge);
        b.step(i);
        ends.push((els, merge));
    }
    for ((els, merge), i) in ends.into_iter().zip(0..n).rev() {
        b.change(Op::BitwiseXor, 7 * i + 1);
        b.branch(merge);
        b.m.label(els);
        b.change(Op::IAdd, 5 * i);
        b.branch(merge);
        b.m.label(merge);
    }
}

fn else_ifs(b: &mut Body, n: u32) {
    let mut merges = Vec::new();
    for i in 0..n {
        let [then, els, merge] = std::array::from_fn(|_| b.m.id());
        let number = b.int(3 * i % n);
        let this = b.is(Op::IEqual, b.a, number);
        b.select(this, then, els, merge);
        b.step(i);
        b.branch(merge);
        b.m.label(els);
        merges.push(merge);
    }
    for merge in merges.into_iter().rev() {
        b.branch(merge);
        b.m.label(merge);
    }
}

fn breaks(b: &mut Body, n: u32) {
    breaks_that_do(b, n, |_, _| {});
}

fn breaks_with_code(b: &mut Body, n: u32) {
    breaks_that_do(b, n, |b, i| b.change(Op::IMul, 2 * i + 1));
}

fn breaks_that_do(b: &mut Body, n: u32, code: fn(&mut Body, u32)) {
    let repeat = b.repeat();
    for i in 0..n {
        let [leave, on] = std::array::from_fn(|_| b.m.id());
        let (sum, number) = (b.get(), b.int(64 + 61 * i));
        let this = b.word(Op::UMod, sum, number);
        let five = b.int(5);
        let this = b.is(Op::IEqual, this, five);
        b.select(this, leave, on, on);
        code(b, i);
        b.branch(repeat.merge);
        b.m.label(on);
        b.step(i);
    }
    b.burn(&repeat);
    b.again(&repeat);
}

fn nested_loops(b: &mut Body, n: u32) {
    let mut open = Vec::new();
    for i in 0..n {
        open.push(b.repeat());
        b.step(i);
    }
    for (repeat, i) in open.iter().zip(0..n).rev() {
        b.change(Op::BitwiseXor, i);
        b.burn(repeat);
        let bit = b.bit(i % 6);
        b.leave_if(bit, repeat);
        b.again(repeat);
    }
}

fn nested_switches(b: &mut Body, n: u32) {
    let mut merges = Vec::new();
    for i in 0..n {
        let [default, first, second, third, merge] = std::array::from_fn(|_| b.m.id());
        let size = b.int(i % 5 + 3);
        let selector = b.word(Op::UMod, b.a, size);
        b.m.effect(Op::SelectionMerge, &[merge, 0]);
        b.m.effect(Op::Switch, &[selector, default, 0, first, 1, second, 2, third]);
        b.m.label(default);
        b.change(Op::ISub, i);
        b.branch(merge);
        b.m.label(first);
        b.change(Op::IAdd, i);
        b.branch(merge);
        b.m.label(second);
        b.change(Op::IMul, 3);
        b.branch(third);
        b.m.label(third);
        b.change(Op::BitwiseXor, i);
        merges.push(merge);
    }
    for merge in merges.into_iter().rev() {
        b.step(1);
        b.branch(merge);
        b.m.label(merge);
    }
}

fn ifs_in_loops(b: &mut Body, n: u32) {
    let mut open = Vec::new();
    for i in 0..n {
        b.change(Op::IMul, 2 * i + 3);
        let across = b.get();
        if i % 2 == 0 {
            let [then, merge] = std::array::from_fn(|_| b.m.id());
            let (bit, limit) = (b.bit(i % 7), b.int(1 << 30));
            let small = b.is(Op::ULessThan, across, limit);
            let both = b.m.value(Op::LogicalAnd, b.m.bool, &[bit, small]);
            let other = b.m.value(Op::LogicalNot, b.m.bool, &[both]);
            b.select(other, then, merge, merge);
            open.push((across, Err(merge)));
        } else {
            open.push((across, Ok(b.repeat())));
        }
        b.step(i);
    }
    for (across, opened) in open.into_iter().rev() {
        let sum = b.get();
        let sum = b.word(Op::BitwiseXor, sum, across);
        b.set(sum);
        match opened {
            Err(merge) => {
                b.branch(merge);
                b.m.label(merge);
            }
            Ok(repeat) => {
                b.burn(&repeat);
                b.again(&repeat);
            }
        }
    }
}
