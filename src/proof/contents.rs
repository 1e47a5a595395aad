//! Contents for the buffers and push constants of a shader that nobody made inputs for, by the types that it declares:
//! floats of modest size, small integers, any bytes.

use super::random::Random;
use crate::emu::inputs::{Binding, Bound, Bytes, Inputs};
use crate::error::{Error, Result};
use crate::ir::interp::encode;
use crate::ir::{Bits, ResourceKind, Shader};
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass};
use std::collections::BTreeMap;

/// Bytes of a storage buffer, and the most that a uniform buffer gets.
const STORAGE: usize = 1 << 16;
const UNIFORM: usize = 1 << 14;

/// What a module declares.
pub struct Declared {
    types: BTreeMap<u32, Instruction>,
    variables: Vec<(u32, u32, StorageClass)>,
    decorations: BTreeMap<(u32, Decoration), u32>,
    members: BTreeMap<(u32, u32), u32>,
}

impl Declared {
    /// Reads a module.
    ///
    /// # Errors
    /// Malformed: declarations that cannot be read.
    pub fn new(module: &[u8]) -> Result<Self> {
        let module = dr::load_bytes(declarations(module)).map_err(|e| Error::malformed(e.to_string()))?;
        let mut decorations = BTreeMap::new();
        let mut members = BTreeMap::new();
        for inst in &module.annotations {
            match (inst.class.opcode, inst.operands.as_slice()) {
                (Op::Decorate, [Operand::IdRef(id), Operand::Decoration(d), Operand::LiteralBit32(n)]) => {
                    decorations.insert((*id, *d), *n);
                }
                (
                    Op::MemberDecorate,
                    [
                        Operand::IdRef(id),
                        Operand::LiteralBit32(member),
                        Operand::Decoration(Decoration::Offset),
                        Operand::LiteralBit32(n),
                    ],
                ) => {
                    members.insert((*id, *member), *n);
                }
                _ => {}
            }
        }
        let values = &module.types_global_values;
        let variable = |inst: &Instruction| match (inst.class.opcode, inst.operands.first()) {
            (Op::Variable, Some(Operand::StorageClass(class))) => Some((inst.result_id?, inst.result_type?, *class)),
            _ => None,
        };
        let variables = values.iter().filter_map(variable).collect();
        let types = values.iter().filter_map(|inst| Some((inst.result_id?, inst.clone()))).collect();
        Ok(Self { types, variables, decorations, members })
    }

    /// Inputs for a shader of it, from a seed; `numbers` are what integers in push constants may be.
    ///
    /// # Errors
    /// Unsupported: a kind of resource without contents.
    pub fn inputs(&self, ir: &Shader, seed: u64, numbers: &[u32], grid: [u32; 3]) -> Result<Inputs> {
        let mut random = Random::new(seed);
        let mut inputs = Inputs { grid, ..Default::default() };
        for r in &ir.resources {
            let (bytes, uniform) = match r.kind {
                ResourceKind::StorageBuffer => (STORAGE, false),
                ResourceKind::UniformBuffer => (UNIFORM, true),
                other => return Err(Error::unsupported("contents", format!("{other:?}"))),
            };
            let declared = |&&(id, ..): &&(u32, u32, StorageClass)| {
                let decoration = |d| self.decorations.get(&(id, d)).copied();
                decoration(Decoration::DescriptorSet) == Some(r.set)
                    && decoration(Decoration::Binding) == Some(r.binding)
            };
            let (_, pointer, _) =
                self.variables.iter().find(declared).ok_or_else(|| Error::bug("a resource without a variable"))?;
            for element in 0..r.count.unwrap_or(1) {
                let mut data = vec![0; bytes];
                self.fill(&mut data, self.pointee(*pointer), &mut random, None);
                let data = Bytes(data);
                let bound = if uniform { Bound::UniformBuffer(data) } else { Bound::StorageBuffer(data) };
                inputs.bindings.push(Binding { set: r.set, binding: r.binding, element, bound });
            }
        }
        if let Some((_, pointer, _)) = self.variables.iter().find(|v| v.2 == StorageClass::PushConstant) {
            let mut data = vec![0; ir.push_constant_bytes as usize];
            self.fill(&mut data, self.pointee(*pointer), &mut random, Some(numbers));
            inputs.push_constants = Bytes(data);
        }
        Ok(inputs)
    }

    fn operand(&self, ty: u32, n: usize) -> u32 {
        match self.types.get(&ty).and_then(|inst| inst.operands.get(n)) {
            Some(Operand::IdRef(x) | Operand::LiteralBit32(x)) => *x,
            _ => 0,
        }
    }

    /// What a pointer points to; of an array of descriptors, one of them.
    fn pointee(&self, pointer: u32) -> u32 {
        let mut ty = self.operand(pointer, 1);
        while matches!(self.opcode(ty), Op::TypeArray | Op::TypeRuntimeArray)
            && !self.decorations.contains_key(&(ty, Decoration::ArrayStride))
        {
            ty = self.operand(ty, 0);
        }
        ty
    }

    fn opcode(&self, ty: u32) -> Op {
        self.types.get(&ty).map_or(Op::Nop, |inst| inst.class.opcode)
    }

    /// Fills as much of a value as there is room for; gives its bytes.
    fn fill(&self, to: &mut [u8], ty: u32, random: &mut Random, numbers: Option<&[u32]>) -> usize {
        let mut put = |value: u64, bytes: usize| {
            to.iter_mut().zip(value.to_le_bytes()).take(bytes).for_each(|(to, from)| *to = from);
            bytes
        };
        match self.opcode(ty) {
            Op::TypeFloat => {
                // Push constants are scales and limits.
                let low = if numbers.is_some() { 0.25 } else { -1.0 };
                let bits = match self.operand(ty, 0) {
                    16 => Bits::B16,
                    64 => Bits::B64,
                    _ => Bits::B32,
                };
                put(encode(random.between(low, 1.0), bits), bits.bytes() as usize)
            }
            Op::TypeInt => {
                let bytes = self.operand(ty, 0) as usize / 8;
                let any = random.bits();
                let value = match (numbers, bytes) {
                    (Some(numbers), _) => u64::from(numbers[any as usize % numbers.len()]),
                    (None, 1 | 2) => any,
                    (None, _) => any % 16,
                };
                put(value, bytes)
            }
            Op::TypeVector | Op::TypeMatrix => {
                let mut at = 0;
                for _ in 0..self.operand(ty, 1) {
                    at += self.fill(to.get_mut(at..).unwrap_or_default(), self.operand(ty, 0), random, numbers);
                }
                at
            }
            op @ (Op::TypeArray | Op::TypeRuntimeArray) => {
                let element = self.operand(ty, 0);
                let stride = self.decorations.get(&(ty, Decoration::ArrayStride)).map_or(1, |n| *n as usize).max(1);
                let count =
                    if op == Op::TypeArray { self.operand(self.operand(ty, 1), 0) as usize } else { usize::MAX };
                let starts = (0..to.len()).step_by(stride).take(count);
                for at in starts {
                    self.fill(&mut to[at..], element, random, numbers);
                }
                stride.saturating_mul(count)
            }
            Op::TypeStruct => {
                let count = self.types.get(&ty).map_or(0, |inst| inst.operands.len());
                let mut end = 0;
                for n in 0..count {
                    let at = self.members.get(&(ty, n as u32)).map_or(end, |n| *n as usize);
                    end = at.saturating_add(self.fill(
                        to.get_mut(at..).unwrap_or_default(),
                        self.operand(ty, n),
                        random,
                        numbers,
                    ));
                }
                end
            }
            _ => 0,
        }
    }
}

/// A module without capabilities and functions, whose words may be newer than the reader.
fn declarations(module: &[u8]) -> Vec<u8> {
    let (words, _) = module.as_chunks::<4>();
    let mut out = words.get(..5).unwrap_or_default().to_vec();
    let mut at = 5;
    while let Some(word) = words.get(at).map(|b| u32::from_le_bytes(*b)) {
        let end = at + (word >> 16).max(1) as usize;
        match word & 0xffff {
            op if op == Op::Function as u32 => break,
            // The reader knows it inside of functions only.
            op if op == Op::Capability as u32 || op == Op::ExecutionModeId as u32 => {}
            _ => out.extend(words.get(at..end).unwrap_or_default()),
        }
        at = end;
    }
    out.concat()
}
