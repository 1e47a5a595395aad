//! Finds the specialization constants of a module that are only operands. A compile without the pipeline's state makes
//! them relocations, so that one part serves all their values. The others shape code, so their values are part of the
//! key.
//!
//! | a use of a constant, or of an `OpSpecConstantOp` on it | the constant |
//! |---|---|
//! | arithmetic, conversions, vectors, selects, float comparisons; stored, passed, returned; an operand of GLSL.std.450 | is an operand |
//! | `OpSpecConstantOp` of these on at most [`MAX_TREE`] constants | is an operand: code computes the result from the relocation |
//! | array length, workgroup size (also that of `LocalSizeId`), initializer, composite that is not a vector | shapes code: a type or memory depends on it |
//! | branch, switch, integer comparison (as a loop bound) | shapes code: known values remove code and unroll loops |
//! | integer divisor, index | shapes code: a known divisor becomes a multiplication, a known index a register |
//! | anything else (scopes, image operands, atomics, …) | shapes code: instructions have it as an immediate |
//!
//! Everyone who computes a key needs this answer, with or without a compiler, so it is read from the words alone, in
//! one walk. An invalid module gives some answer; translating it gives the error.

use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Words before the first instruction.
const HEADER: usize = 5;
/// Largest number of constants, with repetitions, in one expression, which is computed again at every use.
const MAX_TREE: u32 = 16;

mod op {
    pub const EXT_INST_IMPORT: u32 = 11;
    pub const EXT_INST: u32 = 12;
    pub const TYPE_VECTOR: u32 = 23;
    pub const TYPE_ARRAY: u32 = 28;
    pub const CONSTANT_COMPOSITE: u32 = 44;
    pub const SPEC_CONSTANT_TRUE: u32 = 48;
    pub const SPEC_CONSTANT_FALSE: u32 = 49;
    pub const SPEC_CONSTANT: u32 = 50;
    pub const SPEC_CONSTANT_COMPOSITE: u32 = 51;
    pub const SPEC_CONSTANT_OP: u32 = 52;
    pub const FUNCTION: u32 = 54;
    pub const VARIABLE: u32 = 59;
    pub const DECORATE: u32 = 71;
    pub const EXECUTION_MODE_ID: u32 = 331;
    pub const DECORATE_ID: u32 = 332;
}

const DECORATION_SPEC_ID: u32 = 1;
const DECORATION_BUILT_IN: u32 = 11;

/// `SpecId`s of the constants of a module that are only operands, sorted.
pub fn operand_ids(bytes: &[u8]) -> Vec<u32> {
    let Some(words) = Words::new(bytes) else { return Vec::new() };
    let mut found = Uses::default();
    let mut at = HEADER;
    let mut in_functions = false;
    let mut inst: SmallVec<[u32; 32]> = SmallVec::new();
    while let Some(head) = words.get(at) {
        let length = (head >> 16) as usize;
        if length == 0 || length > words.len() - at {
            return Vec::new();
        }
        inst.clear();
        inst.extend((at..at + length).filter_map(|n| words.get(n)));
        let opcode = head & 0xffff;
        if opcode == op::FUNCTION && !in_functions {
            in_functions = true;
            if found.nodes.is_empty() {
                return Vec::new();
            }
        }
        if in_functions {
            found.body(opcode, &inst)
        } else {
            found.declaration(opcode, &inst)
        }
        at += length;
    }
    found.operands()
}

struct Words<'a> {
    bytes: &'a [[u8; 4]],
    swapped: bool,
}

impl<'a> Words<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        const MAGIC: u32 = 0x0723_0203;
        let (bytes, rest) = bytes.as_chunks::<4>();
        let magic = u32::from_le_bytes(*bytes.first()?);
        let swapped = magic == MAGIC.swap_bytes();
        (rest.is_empty() && (swapped || magic == MAGIC)).then_some(Self { bytes, swapped })
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn get(&self, at: usize) -> Option<u32> {
        let bytes = *self.bytes.get(at)?;
        Some(if self.swapped { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }
}

/// A constant that depends on specialization.
#[derive(Default)]
struct Node {
    /// Its own `SpecId`.
    spec: Option<u32>,
    /// Indices of the operands that depend on specialization too.
    parts: SmallVec<[usize; 4]>,
    /// Number of constants that it is computed from, with repetitions.
    size: u32,
    shapes: bool,
}

#[derive(Default)]
struct Uses {
    /// `SpecId` by the constant's id.
    spec_ids: BTreeMap<u32, u32>,
    /// Constants that have a meaning by their `BuiltIn` decoration.
    built_in: BTreeSet<u32>,
    /// The last constant declared for each `SpecId`.
    declared: BTreeMap<u32, u32>,
    vectors: BTreeSet<u32>,
    /// Imports of GLSL.std.450, and of instruction sets without effect on code.
    glsl: BTreeSet<u32>,
    silent: BTreeSet<u32>,
    /// What execution modes and decorations refer to: they come before the constants.
    ahead: BTreeSet<u32>,
    by_id: BTreeMap<u32, usize>,
    nodes: Vec<Node>,
}

impl Uses {
    fn declaration(&mut self, opcode: u32, inst: &[u32]) {
        match (opcode, inst) {
            (op::EXT_INST_IMPORT, [_, id, name @ ..]) => {
                if literal(name)[..] == b"GLSL.std.450"[..] {
                    self.glsl.insert(*id);
                } else if is_silent(name) {
                    self.silent.insert(*id);
                }
            }
            (op::DECORATE, [_, id, DECORATION_SPEC_ID, value]) => _ = self.spec_ids.insert(*id, *value),
            (op::DECORATE, [_, id, DECORATION_BUILT_IN, _]) => _ = self.built_in.insert(*id),
            (op::EXECUTION_MODE_ID | op::DECORATE_ID, [_, _, _, ids @ ..]) => self.ahead.extend(ids),
            (op::TYPE_VECTOR, [_, id, ..]) => _ = self.vectors.insert(*id),
            (op::SPEC_CONSTANT | op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE, [_, _, id, ..]) => {
                if let Some(&spec) = self.spec_ids.get(id) {
                    // Two constants of one id may have different types, so that a value means different things.
                    let twice = self.declared.insert(spec, *id);
                    self.add(*id, Node { spec: Some(spec), size: 1, shapes: twice.is_some(), ..Node::default() });
                    twice.into_iter().for_each(|other| self.shape(other));
                }
            }
            (op::SPEC_CONSTANT_COMPOSITE, [_, ty, id, parts @ ..]) => {
                let vector = self.vectors.contains(ty) && !self.built_in.contains(id);
                self.computed(*id, parts, vector);
            }
            (op::SPEC_CONSTANT_OP, [_, _, id, operation, operands @ ..]) => {
                let count = constant_operands(*operation, operands.len());
                let (ids, _) = operands.split_at_checked(count.unwrap_or(operands.len())).unwrap_or((operands, &[]));
                self.computed(*id, ids, count.is_some());
            }
            (op::EXT_INST, [_, _, _, set, ..]) if self.silent.contains(set) => {}
            // Result, element, length.
            (op::TYPE_ARRAY, [_, _, _, length]) => self.shape(*length),
            (op::VARIABLE, [_, _, _, _, initializer, ..]) => self.shape(*initializer),
            (op::CONSTANT_COMPOSITE, [_, _, _, rest @ ..]) => rest.iter().for_each(|id| self.shape(*id)),
            _ if !is_plain_declaration(opcode) => inst.iter().skip(1).for_each(|word| self.shape(*word)),
            _ => {}
        }
    }

    fn add(&mut self, id: u32, node: Node) {
        self.by_id.insert(id, self.nodes.len());
        self.nodes.push(node);
        if self.ahead.contains(&id) {
            self.shape(id);
        }
    }

    /// A constant computed from others; `in_code`: code can compute it.
    fn computed(&mut self, id: u32, operands: &[u32], in_code: bool) {
        let parts: SmallVec<[usize; 4]> = operands.iter().filter_map(|id| self.by_id.get(id).copied()).collect();
        if parts.is_empty() {
            return;
        }
        let of = |n: &usize| self.nodes.get(*n).map_or(0, |node| node.size);
        let size = parts.iter().map(of).fold(1u32, u32::saturating_add);
        self.add(id, Node { spec: None, parts, size, shapes: false });
        if !in_code || size > MAX_TREE {
            self.shape(id);
        }
    }

    /// A use that needs the value; ids of other kinds are ignored.
    fn shape(&mut self, id: u32) {
        let Some(&first) = self.by_id.get(&id) else { return };
        let mut todo: SmallVec<[usize; 16]> = SmallVec::from_slice(&[first]);
        while let Some(n) = todo.pop() {
            // A constant already marked as a shape needs no visit: all its operands are marked.
            if let Some(node) = self.nodes.get_mut(n).filter(|node| !node.shapes) {
                node.shapes = true;
                todo.extend(node.parts.iter().copied());
            }
        }
    }

    fn shape_all(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.shape(*word));
    }

    /// An instruction of a function, with its first word.
    fn body(&mut self, opcode: u32, inst: &[u32]) {
        match (opcode, inst) {
            (op::EXT_INST, [_, _, _, set, _, ..]) if self.silent.contains(set) => {}
            // Interpolation functions: the sample number is an operand of another kind.
            (op::EXT_INST, [_, _, _, set, number, ..]) if self.glsl.contains(set) && !(76..=78).contains(number) => {}
            (op::VARIABLE, [_, _, _, _, rest @ ..]) => self.shape_all(rest),
            // Pointer, and for a store the object; then the access: a mask and, by bits 3 and 4, scopes.
            (61, [_, _, _, _, access @ ..]) | (62, [_, _, _, access @ ..]) => {
                if access.first().is_some_and(|mask| mask & 0x18 != 0) {
                    self.shape_all(access);
                }
            }
            // Condition or selector; then literals and labels.
            (250 | 251, [_, condition, ..]) => self.shape(*condition),
            // Vector, index; vector, component, index.
            (77, [_, _, _, _, index]) | (78, [_, _, _, _, _, index]) => self.shape(*index),
            // Integer divisors.
            (134 | 135 | 137..=139, [_, _, _, _, divisor]) => self.shape(*divisor),
            _ if is_plain_use(opcode) => {}
            _ => self.shape_all(inst.get(1..).unwrap_or(&[])),
        }
    }

    fn operands(&self) -> Vec<u32> {
        let open = |node: &Node| node.spec.filter(|_| !node.shapes);
        let mut ids: Vec<u32> = self.nodes.iter().filter_map(open).collect();
        ids.sort_unstable();
        ids
    }
}

/// The bytes of a literal string.
fn literal(words: &[u32]) -> SmallVec<[u8; 64]> {
    words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0).collect()
}

/// Whether the instruction set of this name has no effect on code: its instructions describe the source or are made for
/// tools, and may be anywhere, also before the phis of a block and between functions.
pub fn is_silent(name: &[u32]) -> bool {
    let name = literal(name);
    name.starts_with(b"NonSemantic.") || [&b"DebugInfo"[..], b"OpenCL.DebugInfo.100"].contains(&&name[..])
}

/// How many words of an `OpSpecConstantOp` are ids of constants from which code can compute it; `None` if its value
/// must be known. A division by a run-time value costs some thirty instructions, so the operands of divisions stay
/// constants.
fn constant_operands(operation: u32, words: usize) -> Option<usize> {
    match operation {
        // Shuffle and insert: two constants; extract: one; then literals.
        79 | 82 => Some(2),
        81 => Some(1),
        134 | 135 | 137..=139 => None,
        113..=115 | 124 | 126 | 128 | 130 | 132 | 164..=179 | 194..=200 => Some(words),
        _ => None,
    }
}

/// Declarations without operands that could be specialization constants: strings, names, types, modes, plain constants.
fn is_plain_declaration(opcode: u32) -> bool {
    matches!(opcode, 1..=10 | 14..=17 | 19..=27 | 29..=39 | 41..=43 | 45 | 46 | 71..=75 | 317 | 330 | 5632 | 5633)
}

/// Instructions in functions that use a constant like any other value, or that have only labels and literals.
fn is_plain_use(opcode: u32) -> bool {
    matches!(opcode,
        // Lines, functions, parameters, calls.
        8 | 317 | 54..=57
        // Vectors and composites; phi, labels, merges, branches, returns.
        | 79..=82 | 245..=249 | 252..=255
        // Conversions, arithmetic.
        | 109..=115 | 124 | 126..=133 | 136 | 140..=152
        // Any, all, classes of floats, logic, select; float comparisons; shifts and bits.
        | 154..=157 | 164..=169 | 180..=191 | 194..=205)
}
