//! The state of a translation: the definition of each SPIR-V id, and the builder that IR is appended to.
//!
//! An id is a type, a constant, a flat list of leaf values, a pointer, a variable or a function. Constants become
//! values in the block that uses them. Per-opcode modules take `&mut Cx` and one [`SpirvInst`]: they read operands with
//! [`Cx::values`], [`Cx::value`], [`Cx::pointer`], and set their result with [`Cx::set`] or [`Cx::set_pointer`].

pub use super::instruction::SpirvInst;
pub use super::types::{MemoryLayout, Ty, TypeId};

use super::bases::VariablePointers;
use super::constants::Constants;
use super::contents::Contents;
use super::interface::Interface;
use super::parse::Parsed;
use super::types::Types;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{Kept, List, filled, take};
use dovetail_ir::{
    Access, Align, BlockId, BufferKind, Builder, ConstTableId, DescriptorPart, LocalId, Op, ResourceId, ResourceKind,
    Shader, Value,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;

/// Leaf values of a SPIR-V value: a matrix has 16.
pub type LeafValues = SmallVec<[Value; 32]>;

/// Leaf values in the list of a translation.
#[derive(Clone, Copy, Debug)]
pub struct ValueRange {
    first: u32,
    len: u32,
}

/// Definition of an id.
#[derive(Clone, Copy, Debug)]
pub enum Def {
    /// A type.
    Type(TypeId),
    /// A constant, by its index in [`Constants`].
    Constant(u32),
    /// A value, by its leaves.
    Values(ValueRange),
    /// A logical pointer (an address in physical memory is a value), by its index in the list of pointers.
    Pointer(PointerId),
    /// A large value that is only moved, by the pointer that it is still at: see `moved`.
    Moved(PointerId),
    /// A function, by its index in the module.
    Function(u32),
    /// An imported instruction set, by its index in the module.
    Import(u32),
}

/// Index into an array of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// A constant index.
    Const(u32),
    /// A dynamic index.
    Dynamic(Value),
}

/// A pointer of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerId(u32);

/// Storage that a pointer points into.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// A local variable.
    Local(LocalId),
    /// A local variable that holds an image, a sampler or both. It has no memory: what it holds must be known.
    Handle {
        /// The variable.
        local: LocalId,
        /// Whether only one value is ever stored to it.
        once: bool,
    },
    /// A constant table.
    Table(ConstTableId),
    /// Workgroup memory.
    Shared,
    /// A buffer of a binding.
    Buffer {
        /// The binding.
        resource: ResourceId,
        /// Index in its array.
        index: Index,
        /// Uniform or storage.
        kind: BufferKind,
    },
    /// One of the storage buffers that pointers of a class may point into, by its code: see `variable_pointers`.
    Chosen {
        /// The code.
        code: Value,
        /// The class.
        class: u32,
    },
    /// Physical memory at this 64-bit address.
    Global(Value),
    /// The push constants.
    PushConstant,
    /// An input variable, by its index in the interface.
    Input(usize),
    /// An output variable, by its index in the interface.
    Output(usize),
    /// An image, sampler, or array of them, loaded as an opaque object.
    Resource {
        /// The binding.
        resource: ResourceId,
        /// Index in its array.
        index: Index,
    },
    /// A texel of an image, for atomics.
    Texel(TexelPointer),
}

/// Result of `OpImageTexelPointer`.
#[derive(Clone, Debug, PartialEq)]
pub struct TexelPointer {
    /// Image descriptor.
    pub image: Value,
    /// Type of the image: a [`Ty::Image`].
    pub image_type: TypeId,
    /// Components of the coordinate, layer included, b32.
    pub coords: SmallVec<[Value; 4]>,
    /// Sample index, for multisampled images, b32.
    pub sample: Option<Value>,
}

/// A pointer: its storage, a byte offset in it, and the pointee.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointer {
    /// The storage.
    pub place: Storage,
    /// Pointee type.
    pub ty: TypeId,
    /// Memory layout of the pointee.
    pub layout: MemoryLayout,
    /// Run-time part of the byte offset, b32 (for [`Storage::Global`] b64).
    pub dynamic: Option<Value>,
    /// Known divisor of the run-time part (and of the base address of [`Storage::Global`]).
    pub dynamic_align: Align,
    /// Byte range of the storage in which the pointer stays whatever the run-time part is: that of the outermost array
    /// that it indexes. `None` if the range is not known.
    pub reach: Option<Range<u32>>,
    /// Constant part of the byte offset.
    pub constant: u32,
    /// Access flags from decorations along the access chain.
    pub access: Access,
}

impl Pointer {
    /// A pointer to the start of a storage.
    pub fn new(place: Storage, ty: TypeId, layout: MemoryLayout) -> Self {
        Self {
            place,
            ty,
            layout,
            dynamic: None,
            dynamic_align: Align::of_offset(0),
            reach: None,
            constant: 0,
            access: Access::default(),
        }
    }

    /// Known alignment of the pointer plus `extra` bytes.
    pub fn align(&self, extra: u32) -> Align {
        self.dynamic_align.min(Align::of_offset(self.constant.wrapping_add(extra)))
    }
}

/// Limit of [`Cx::work`]: copying composites and calling empty functions cost work but no instruction.
const MAX_WORK: usize = 1 << 24;

/// Set, binding, kind and number of descriptors.
type Binding = (u32, u32, ResourceKind, Option<u32>);

/// An ongoing translation.
#[derive(Debug)]
pub struct Cx<'a> {
    /// The module.
    pub module: &'a Parsed<'a>,
    /// Its types.
    pub types: Types,
    /// Builder to which IR is appended.
    pub b: Builder<'a>,
    /// Its constants.
    pub(super) constants: Constants,
    /// Stage inputs and outputs.
    pub(super) interface: Interface,
    /// Pointers as values.
    pub(super) variable_pointers: VariablePointers,
    /// What local variables hold.
    pub(super) contents: Contents,
    /// The only block that returns.
    pub(super) exit: BlockId,
    /// Whether indices are marked with their bounds, for a judge.
    pub(super) judged: bool,
    /// Byte ranges of workgroup memory that are zero at the start.
    pub(super) zeroed: List<Range<u32>>,
    /// Values read, defined and passed by jumps so far, and calls: a measure of work that the number of instructions
    /// does not bound.
    work: usize,
    /// Index in `defs` plus one, by id.
    slots: List<u32>,
    defs: List<Def>,
    /// Leaves of the defined values.
    leaves: List<Value>,
    pointers: List<Pointer>,
    /// Bindings declared so far.
    pub(super) bindings: Kept<FxHashMap<Binding, ResourceId>>,
    /// By set and binding, whether a variable there is coherent or volatile.
    pub(super) shared_access: Kept<FxHashMap<(u32, u32), (bool, bool)>>,
    /// The IR block in which the values of `descriptors` were made.
    pub(super) descriptor_block: BlockId,
    /// Descriptors loaded in this block.
    pub(super) descriptors: Kept<FxHashMap<(ResourceId, u32, DescriptorPart), Value>>,
}

impl<'a> Cx<'a> {
    /// A new translation, at the start of the shader's entry block.
    pub fn new(module: &'a Parsed<'a>, shader: &'a mut Shader) -> Self {
        let exit = shader.add_block();
        Self {
            module,
            types: Types::default(),
            b: Builder::new(shader, Shader::ENTRY),
            constants: Constants::default(),
            interface: Interface::default(),
            variable_pointers: VariablePointers::default(),
            contents: Contents::new(),
            exit,
            judged: false,
            zeroed: List::default(),
            work: 0,
            slots: filled(module.bound as usize, 0),
            defs: List::default(),
            leaves: List::default(),
            pointers: List::default(),
            bindings: take(),
            shared_access: take(),
            descriptor_block: Shader::ENTRY,
            descriptors: take(),
        }
    }

    /// Counts work and values to be made, before memory is allocated for them.
    ///
    /// # Errors
    /// Unsupported: too much in total.
    pub(super) fn spend(&mut self, work: usize) -> Result<()> {
        self.work = self.work.saturating_add(work);
        if self.work <= MAX_WORK {
            return Ok(());
        }
        Err(Error::unsupported("shader size", format!("over {MAX_WORK} values after inlining")))
    }

    /// The definition of an id.
    ///
    /// # Errors
    /// Malformed: it has none, or none yet.
    pub fn def(&self, id: u32) -> Result<&Def> {
        self.known(id).ok_or_else(|| Error::malformed(format!("%{id} is not defined here")))
    }

    /// The definition of an id; `None` if it has none yet.
    pub(super) fn known(&self, id: u32) -> Option<&Def> {
        let slot = self.slots.get(id as usize).copied().unwrap_or(0) as usize;
        self.defs.get(slot.checked_sub(1)?)
    }

    /// Sets the definition of an id, replacing an earlier one.
    pub fn define(&mut self, id: u32, def: Def) {
        if let Def::Values(values) = &def {
            self.work += values.len as usize;
        }
        if let Some(slot) = self.slots.get_mut(id as usize) {
            if let Some(old) = (*slot as usize).checked_sub(1).and_then(|i| self.defs.get_mut(i)) {
                *old = def;
            } else {
                self.defs.push(def);
                *slot = self.defs.len() as u32;
            }
        }
    }

    /// Removes the definition of an id.
    pub(super) fn forget(&mut self, id: u32) {
        if let Some(slot) = self.slots.get_mut(id as usize) {
            *slot = 0;
        }
    }

    /// The type that an id names.
    ///
    /// # Errors
    /// Malformed: it is not a type.
    pub fn named_type(&self, id: u32) -> Result<TypeId> {
        match self.def(id)? {
            Def::Type(t) => Ok(*t),
            _ => Err(Error::malformed(format!("%{id} is not a type"))),
        }
    }

    /// The type of a value (or pointer).
    ///
    /// # Errors
    /// Malformed: it has none.
    pub fn type_id(&self, id: u32) -> Result<TypeId> {
        match self.module.result_types.get(id as usize) {
            Some(&ty) if ty != 0 => self.named_type(ty),
            _ => Err(Error::malformed(format!("%{id} is not a value"))),
        }
    }

    /// The result type of an instruction.
    ///
    /// # Errors
    /// Malformed: it has none.
    pub fn result_type(&self, inst: &SpirvInst<'_>) -> Result<TypeId> {
        self.named_type(inst.result_type()?)
    }

    /// The leaves of a value.
    ///
    /// # Errors
    /// Malformed: not a value. Unsupported: a pointer that cannot be a value.
    pub fn values(&mut self, id: u32) -> Result<LeafValues> {
        match *self.def(id)? {
            Def::Values(range) => {
                self.spend(range.len as usize)?;
                Ok(LeafValues::from_slice(self.leaves(range)))
            }
            Def::Constant(c) => {
                let values = self.constant_values(c)?;
                self.spend(values.len())?;
                Ok(values)
            }
            Def::Moved(p) => {
                let pointer = self.pointer_at(p)?.clone();
                self.load(&pointer, Default::default())
            }
            Def::Pointer(p) => match self.pointers.get(p.0 as usize).cloned() {
                Some(p) if matches!(p.place, Storage::Global(_)) => Ok(SmallVec::from_slice(&[self.address(&p, 0)])),
                Some(p) => self.pointer_values(id, &p),
                None => Err(Error::bug("pointer out of range")),
            },
            _ => Err(Error::malformed(format!("%{id} is not a value"))),
        }
    }

    /// The only leaf of a scalar, image or sampler.
    ///
    /// # Errors
    /// Malformed: not exactly one leaf.
    pub fn value(&mut self, id: u32) -> Result<Value> {
        if let Def::Values(range) = *self.def(id)?
            && let &[one] = self.leaves(range)
        {
            self.spend(1)?;
            return Ok(one);
        }
        match self.values(id)?.as_slice() {
            [one] => Ok(*one),
            many => Err(Error::malformed(format!("%{id} has {} components where one is needed", many.len()))),
        }
    }

    /// The leaves of a value, which must have `n` of them.
    ///
    /// # Errors
    /// Malformed: it has another number.
    pub fn values_n(&mut self, id: u32, n: usize) -> Result<LeafValues> {
        let v = self.values(id)?;
        if v.len() == n { Ok(v) } else { Err(Error::malformed(format!("%{id} has {} components, not {n}", v.len()))) }
    }

    /// Some of the leaves of a value, by their range; fewer where it has fewer.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub(super) fn part(&mut self, id: u32, at: usize, len: usize) -> Result<LeafValues> {
        let part = |all: &[Value]| LeafValues::from_slice(all.get(at..at.saturating_add(len)).unwrap_or(&[]));
        match *self.def(id)? {
            Def::Values(range) => {
                self.spend(len)?;
                Ok(part(self.leaves(range)))
            }
            _ => Ok(part(&self.values(id)?)),
        }
    }

    fn leaves(&self, range: ValueRange) -> &[Value] {
        let first = range.first as usize;
        self.leaves.get(first..first + range.len as usize).unwrap_or(&[])
    }

    /// The definition of a value with these leaves.
    pub(super) fn values_def(&mut self, values: &[Value]) -> Def {
        let range = ValueRange { first: self.leaves.len() as u32, len: values.len() as u32 };
        self.leaves.extend_from_slice(values);
        Def::Values(range)
    }

    /// Sets the result of an instruction. The leaves must have the types of the result type's leaves.
    pub fn set(&mut self, id: u32, values: impl AsRef<[Value]>) {
        let def = self.values_def(values.as_ref());
        self.define(id, def);
    }

    /// The definition of a pointer.
    pub(super) fn pointer_def(&mut self, pointer: Pointer) -> Def {
        self.pointers.push(pointer);
        Def::Pointer(PointerId(self.pointers.len() as u32 - 1))
    }

    /// Sets a pointer result.
    pub fn set_pointer(&mut self, id: u32, pointer: Pointer) {
        let def = self.pointer_def(pointer);
        self.define(id, def);
    }

    /// The pointer that a definition names.
    pub(super) fn pointer_at(&self, at: PointerId) -> Result<&Pointer> {
        self.pointers.get(at.0 as usize).ok_or_else(|| Error::bug("pointer out of range"))
    }

    /// The pointer of an id.
    ///
    /// # Errors
    /// Malformed: it has none.
    pub fn pointer(&mut self, id: u32) -> Result<Pointer> {
        match self.def(id)? {
            Def::Pointer(p) => self.pointer_at(*p).cloned(),
            Def::Values(_) | Def::Constant(_) if self.types.is_variable_pointer(self.type_id(id)?) => {
                self.pointer_of_value(id)
            }
            Def::Values(_) | Def::Constant(_) => {
                let Ty::Pointer { class: spirv::StorageClass::PhysicalStorageBuffer, pointee, .. } =
                    *self.types.get(self.type_id(id)?)
                else {
                    return Err(Error::malformed(format!("%{id} is not a pointer")));
                };
                let address = self.value(id)?;
                // Only the `Aligned` operand of an access tells the alignment of an address.
                let mut p = Pointer::new(Storage::Global(address), pointee, MemoryLayout::EXPLICIT);
                p.dynamic_align = Align::A1;
                Ok(p)
            }
            _ => Err(Error::malformed(format!("%{id} is not a pointer"))),
        }
    }

    /// A constant integer's bits.
    ///
    /// # Errors
    /// Malformed: not a scalar constant. Unsupported: more than 32 bits.
    pub fn const_u32(&mut self, id: u32) -> Result<u32> {
        let found = self.const_bits(id)?;
        let bits = found.ok_or_else(|| Error::malformed(format!("%{id} is not a constant integer")))?;
        u32::try_from(bits)
            .map_err(|_| Error::unsupported("a length, index or scope beyond 32 bits", format!("{bits}")))
    }

    /// A constant scalar's bits; `None` if the id is another value.
    ///
    /// # Errors
    /// Malformed: undefined.
    pub fn const_bits(&mut self, id: u32) -> Result<Option<u64>> {
        match self.def(id)? {
            Def::Constant(c) => {
                let c = *c;
                if self.constants.is_late(c) {
                    return Err(self.needs_known(c));
                }
                self.constants.mark_used(c);
                Ok(self.constants.scalar(c))
            }
            _ => Ok(None),
        }
    }

    /// An unsupported feature, named by the instruction's opcode.
    pub fn unsupported(&self, inst: &SpirvInst<'_>, detail: impl Into<String>) -> Error {
        inst.unsupported(detail)
    }

    /// The name of an imported instruction set, as an `OpExtInst` names it.
    ///
    /// # Errors
    /// Malformed: no such import.
    pub fn import(&self, id: u32) -> Result<&str> {
        match self.def(id)? {
            Def::Import(n) => Ok(self.module.import(*n as usize).unwrap_or("")),
            _ => Err(Error::malformed(format!("%{id} is not an instruction set"))),
        }
    }

    /// An index with its bound, where a judge wants to know it.
    pub fn bounded(&mut self, index: Value, bound: usize) -> Value {
        if !self.judged {
            return index;
        }
        let ty = self.b.ty(index);
        self.b.value(Op::Within(u32::try_from(bound).unwrap_or(u32::MAX)), &[index], ty)
    }

    /// Kind of a binding.
    pub fn resource_kind(&self, resource: ResourceId) -> Option<ResourceKind> {
        self.b.shader.resources.get(resource.index()).map(|r| r.kind)
    }
}
