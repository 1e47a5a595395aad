//! The interface declarations of a module: types, variables and their bindings; functions are ignored.

use dovetail_base::error::{Error, Result};
use dovetail_ir::Resource;
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{Decoration, Dim, ImageFormat, Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// Declarations of a module.
pub struct Declared {
    types: BTreeMap<u32, Instruction>,
    variables: Vec<Variable>,
    decorations: BTreeMap<(u32, Decoration), u32>,
    members: BTreeMap<(u32, u32), u32>,
    names: BTreeMap<(u32, u32), String>,
    /// Matrix stride of a structure's member, in bytes.
    strides: BTreeMap<(u32, u32), u32>,
    /// Members with row-major matrices.
    rows: BTreeSet<(u32, u32)>,
    /// Variables declared `Restrict`.
    restrict: BTreeSet<u32>,
    /// Pointer types to which functions convert integers.
    converted: BTreeSet<u32>,
}

/// A variable outside functions.
#[derive(Clone, Copy, Debug)]
struct Variable {
    id: u32,
    pointer: u32,
    class: StorageClass,
}

/// An image type.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageType {
    /// Component type of a texel.
    pub sampled: u32,
    pub dim: Dim,
    pub depth: bool,
    pub arrayed: bool,
    pub multisampled: bool,
    pub format: ImageFormat,
}

impl ImageType {
    /// Samples per texel that an image of this type gets.
    pub fn samples(self) -> u32 {
        if self.multisampled { 4 } else { 1 }
    }
}

impl Declared {
    /// Reads a module.
    ///
    /// # Errors
    /// Malformed: unreadable declarations.
    pub fn new(module: &[u8]) -> Result<Self> {
        // Of the casts, only those to pointers matter.
        let makes_pointers = [Op::ConvertUToPtr, Op::Bitcast].map(|op| op as u32);
        let converted = instructions(module).filter(|words| makes_pointers.contains(&opcode(words)));
        let converted = converted.filter_map(|words| words.get(1).copied()).collect();
        let module = dr::load_bytes(declarations(module)).map_err(|e| Error::malformed(e.to_string()))?;
        let (mut decorations, mut members, mut names) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (mut strides, mut rows, mut restrict) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
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
                (
                    Op::MemberDecorate,
                    [
                        Operand::IdRef(id),
                        Operand::LiteralBit32(member),
                        Operand::Decoration(Decoration::MatrixStride),
                        Operand::LiteralBit32(n),
                    ],
                ) => {
                    strides.insert((*id, *member), *n);
                }
                (
                    Op::MemberDecorate,
                    [Operand::IdRef(id), Operand::LiteralBit32(member), Operand::Decoration(Decoration::RowMajor)],
                ) => {
                    rows.insert((*id, *member));
                }
                (Op::Decorate, [Operand::IdRef(id), Operand::Decoration(Decoration::Restrict)]) => {
                    restrict.insert(*id);
                }
                _ => {}
            }
        }
        // A group's decorations are those of each of its members.
        for inst in module.annotations.iter().filter(|inst| inst.class.opcode == Op::GroupDecorate) {
            let Some((Operand::IdRef(group), members)) = inst.operands.split_first() else { continue };
            let of_group: Vec<(Decoration, u32)> =
                decorations.iter().filter(|((id, _), _)| id == group).map(|((_, d), n)| (*d, *n)).collect();
            for member in members {
                let Operand::IdRef(id) = member else { continue };
                decorations.extend(of_group.iter().map(|(d, n)| ((*id, *d), *n)));
                if restrict.contains(group) {
                    restrict.insert(*id);
                }
            }
        }
        for inst in &module.debug_names {
            if let [Operand::IdRef(id), Operand::LiteralBit32(member), Operand::LiteralString(name)] =
                inst.operands.as_slice()
            {
                names.insert((*id, *member), name.clone());
            }
        }
        let values = &module.types_global_values;
        let variable = |inst: &Instruction| match (inst.class.opcode, inst.operands.first()) {
            (Op::Variable, Some(Operand::StorageClass(class))) => {
                Some(Variable { id: inst.result_id?, pointer: inst.result_type?, class: *class })
            }
            _ => None,
        };
        let variables = values.iter().filter_map(variable).collect();
        let types = values.iter().filter_map(|inst| Some((inst.result_id?, inst.clone()))).collect();
        Ok(Self { types, variables, decorations, members, names, strides, rows, restrict, converted })
    }

    /// Pointees of the variables at a resource's binding; for an array of descriptors, its element.
    pub(super) fn bound_at(&self, resource: &Resource) -> Vec<u32> {
        let here = |v: &&Variable| {
            let decoration = |d| self.decorations.get(&(v.id, d)).copied();
            decoration(Decoration::DescriptorSet) == Some(resource.set)
                && decoration(Decoration::Binding) == Some(resource.binding)
        };
        self.variables.iter().filter(here).map(|v| self.pointee(v.pointer)).collect()
    }

    /// Sets and bindings that have several variables, one of them declared `Restrict`.
    pub(super) fn restricted(&self) -> BTreeSet<(u32, u32)> {
        let place = |v: &Variable| {
            let decoration = |d| self.decorations.get(&(v.id, d)).copied();
            Some((decoration(Decoration::DescriptorSet)?, decoration(Decoration::Binding)?))
        };
        let at = |place_of| self.variables.iter().filter(move |v| place(v) == Some(place_of));
        let alone = self.variables.iter().filter(|v| self.restrict.contains(&v.id)).filter_map(place);
        alone.filter(|place| at(*place).count() > 1).collect()
    }

    /// The block of push constants.
    pub(super) fn push_constants(&self) -> Option<u32> {
        let block = self.variables.iter().find(|v| v.class == StorageClass::PushConstant)?;
        Some(self.pointee(block.pointer))
    }

    /// Pointees of pointers to which functions convert integers.
    pub(super) fn converted(&self) -> impl Iterator<Item = u32> {
        self.converted.iter().filter(|ty| self.opcode(**ty) == Op::TypePointer).map(|ty| self.operand(*ty, 1))
    }

    /// An operand of a type's declaration, an id or a number; 0 if missing.
    pub(super) fn operand(&self, ty: u32, n: usize) -> u32 {
        match self.types.get(&ty).and_then(|inst| inst.operands.get(n)) {
            Some(Operand::IdRef(x) | Operand::LiteralBit32(x)) => *x,
            _ => 0,
        }
    }

    /// Number of operands; for a structure, of members.
    pub(super) fn operands(&self, ty: u32) -> usize {
        self.types.get(&ty).map_or(0, |inst| inst.operands.len())
    }

    /// Opcode of its declaration.
    pub(super) fn opcode(&self, ty: u32) -> Op {
        self.types.get(&ty).map_or(Op::Nop, |inst| inst.class.opcode)
    }

    /// Whether a float type is a bfloat16: the only encoding that is translated.
    pub(super) fn is_bfloat(&self, ty: u32) -> bool {
        self.opcode(ty) == Op::TypeFloat && self.operands(ty) > 1
    }

    /// Bytes from one element of an array to the next.
    pub(super) fn stride(&self, ty: u32) -> Option<usize> {
        self.decorations.get(&(ty, Decoration::ArrayStride)).map(|n| (*n as usize).max(1))
    }

    /// Offset of a structure's member.
    pub(super) fn offset(&self, ty: u32, member: u32) -> Option<usize> {
        self.members.get(&(ty, member)).map(|n| *n as usize)
    }

    /// Stride of the matrices in a structure's member, and whether they are row-major.
    pub(super) fn matrix_layout(&self, ty: u32, member: u32) -> (Option<usize>, bool) {
        (self.strides.get(&(ty, member)).map(|n| *n as usize), self.rows.contains(&(ty, member)))
    }

    /// Debug name of a structure's member.
    pub(super) fn member_name(&self, ty: u32, member: u32) -> Option<&str> {
        self.names.get(&(ty, member)).map(String::as_str)
    }

    /// The image type that a type is or contains.
    pub(super) fn image(&self, ty: u32) -> Option<ImageType> {
        let inst = self.types.get(&ty)?;
        match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::TypeSampledImage, [Operand::IdRef(image), ..]) => self.image(*image),
            (
                Op::TypeImage,
                [
                    Operand::IdRef(sampled),
                    Operand::Dim(dim),
                    Operand::LiteralBit32(depth),
                    Operand::LiteralBit32(arrayed),
                    Operand::LiteralBit32(multisampled),
                    Operand::LiteralBit32(_),
                    Operand::ImageFormat(format),
                    ..,
                ],
            ) => Some(ImageType {
                sampled: *sampled,
                dim: *dim,
                depth: *depth == 1,
                arrayed: *arrayed == 1,
                multisampled: *multisampled == 1,
                format: *format,
            }),
            _ => None,
        }
    }

    /// The type of a resource. Arrays around it are arrays of descriptors, also those that Mesa's Zink gives a stride.
    fn pointee(&self, pointer: u32) -> u32 {
        let mut ty = self.operand(pointer, 1);
        while matches!(self.opcode(ty), Op::TypeArray | Op::TypeRuntimeArray) {
            ty = self.operand(ty, 0);
        }
        ty
    }
}

/// The instructions of a module, as words.
pub(super) fn instructions(module: &[u8]) -> impl Iterator<Item = Vec<u32>> {
    let words = |bytes: &[u8]| bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect::<Vec<_>>();
    let mut rest = module.get(20..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = 4 * (u32::from_le_bytes(*rest.first_chunk()?) >> 16).max(1) as usize;
        let (inst, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        rest = after;
        Some(words(inst))
    })
}

/// The opcode of an instruction.
pub(super) fn opcode(words: &[u32]) -> u32 {
    words.first().map_or(0, |word| word & 0xffff)
}

/// What the reader must not see: capabilities, which may be of newer versions; `ExecutionModeId` and extended
/// instructions, which it accepts only inside functions; and descriptions of the source, whose text may be in any
/// encoding.
const UNREAD: [Op; 8] = [
    Op::Capability,
    Op::ExecutionModeId,
    Op::ExtInst,
    Op::Source,
    Op::SourceContinued,
    Op::SourceExtension,
    Op::String,
    Op::ModuleProcessed,
];

/// The module without functions and without [`UNREAD`] instructions. Operations on specialization constants are undefined
/// values in it: nothing here evaluates them, and the reader fails on those with several literals.
fn declarations(module: &[u8]) -> Vec<u8> {
    let kept = instructions(module)
        .take_while(|words| opcode(words) != Op::Function as u32)
        .filter(|words| !UNREAD.iter().any(|op| opcode(words) == *op as u32));
    let head = module.get(..20).unwrap_or_default().to_vec();
    kept.fold(head, |mut out, words| {
        let undefined = match *words {
            [_, ty, id, ..] if opcode(&words) == Op::SpecConstantOp as u32 => {
                Some([3 << 16 | Op::Undef as u32, ty, id])
            }
            _ => None,
        };
        let words = undefined.as_ref().map_or(&words[..], |words| &words[..]);
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of an instruction.
    fn word(op: Op, operands: &[u32]) -> Vec<u32> {
        [&[(operands.len() as u32 + 1) << 16 | op as u32], operands].concat()
    }

    #[test]
    fn what_describes_the_source_is_not_read() {
        let header = [0x0723_0203, 0x0001_0600, 0, 9, 0];
        let text = [3 << 16 | Op::String as u32, 1, 0x00ff_feff];
        let void = [2 << 16 | Op::TypeVoid as u32, 2];
        let debug = [5 << 16 | Op::ExtInst as u32, 2, 3, 4, 34];
        let number = [4 << 16 | Op::TypeInt as u32, 5, 32, 0];
        let words = [&header[..], &text, &void, &debug, &number].concat();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(Declared::new(&bytes).expect("declarations").opcode(5), Op::TypeInt);
    }

    /// The reader takes one literal of an operation on specialization constants; a shuffle has one per component.
    #[test]
    fn an_operation_on_specialization_constants_may_have_any_literals() {
        let words = [
            vec![0x0723_0203, 0x0001_0600, 0, 9, 0],
            word(Op::TypeInt, &[1, 32, 0]),
            word(Op::TypeVector, &[2, 1, 3]),
            word(Op::SpecConstant, &[1, 3, 7]),
            word(Op::SpecConstantComposite, &[2, 4, 3, 3, 3]),
            word(Op::SpecConstantOp, &[2, 5, Op::VectorShuffle as u32, 4, 4, 2, 1, 0]),
            word(Op::TypeFloat, &[6, 32]),
        ];
        let bytes: Vec<u8> = words.concat().iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(Declared::new(&bytes).expect("declarations").opcode(6), Op::TypeFloat);
    }

    /// Zink decorates an array of samplers with a stride.
    #[test]
    fn an_array_of_resources_may_have_a_stride() {
        let (class, array, variable) = (StorageClass::UniformConstant as u32, 5, 7);
        let words = [
            vec![0x0723_0203, 0x0001_0000, 0, 9, 0],
            word(Op::Decorate, &[array, Decoration::ArrayStride as u32, 8]),
            word(Op::Decorate, &[variable, Decoration::DescriptorSet as u32, 2]),
            word(Op::Decorate, &[variable, Decoration::Binding as u32, 3]),
            word(Op::TypeFloat, &[1, 32]),
            word(Op::TypeImage, &[2, 1, Dim::Dim2D as u32, 0, 0, 0, 1, ImageFormat::Unknown as u32]),
            word(Op::TypeInt, &[3, 32, 0]),
            word(Op::Constant, &[3, 4, 2]),
            word(Op::TypeArray, &[array, 2, 4]),
            word(Op::TypePointer, &[6, class, array]),
            word(Op::Variable, &[6, variable, class]),
        ];
        let bytes: Vec<u8> = words.concat().iter().flat_map(|word| word.to_le_bytes()).collect();
        let shader = "shader upper compute \"t\"\nmodes 1 1 1 any any any any rte rte rte\n\
            res0 \"maps\" set2 binding3 sampled_image count2\nblock0:\n return\n";
        let shader = dovetail_ir::parse::parse(shader).expect("a shader");
        assert_eq!(Declared::new(&bytes).expect("declarations").bound_at(&shader.resources[0]), [2]);
    }
}
