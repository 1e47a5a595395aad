//! Pointers as values (the capabilities `VariablePointers` and `VariablePointersStorageBuffer`): two leaves, a code for what
//! it points into and the byte offset in that. Both are 0 for a null pointer.
//!
//! | code | points into |
//! | --- | --- |
//! | 0 | nothing |
//! | 1 | workgroup memory |
//! | the number of a resource, plus one, and above these bits the index in its array | a storage buffer |
//!
//! A pointer is only a value where it has to be: an access chain and an access through it know the buffer. Where a value
//! becomes a pointer again, its code matters only if there is a choice, since the storage class and the buffers that may have
//! flowed to its id ([`super::bases`]) leave one place mostly; the code is then dead. Otherwise the code selects between the
//! words of the descriptors. Nothing has to be the same in all lanes: such an access is marked as non-uniform.
//!
//! The type of a pointer does not tell the strides of a matrix, or of a vector that is a column of a row-major one. SPIR-V
//! forbids such variable pointers ("Universal Validation Rules"), but compilers make them, and a comparison takes any pointer.
//! So the strides belong to the pointers of a class that have one type: those of the first that becomes a value, or none if a
//! value becomes a pointer before. A pointer with other strides is refused.

use super::access::is_array_of_bindings;
use super::cx::{Cx, Def, Index, LeafValues, Pointer, Storage};
use super::flows;
use super::join::at_offset;
use super::types::{MemoryLayout, Ty, TypeId};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_ir::{Access, AluOp, BufferKind, DescriptorPart, ResourceId, ResourceKind, Value};
use smallvec::smallvec;
use spirv::{Capability, Decoration, Op, StorageClass};

/// Prepares for pointers as values if the module declares them, before anything is declared.
pub fn prepare(cx: &mut Cx<'_>) {
    let capabilities = [Capability::VariablePointers, Capability::VariablePointersStorageBuffer];
    if !capabilities.iter().any(|c| cx.module.capabilities.contains(c)) {
        return;
    }
    cx.types.variable_pointers = true;
    let variables = cx.module.globals().filter(|inst| inst.op() == Op::Variable).count();
    cx.variable_pointers.bits = usize::BITS - (variables + 1).leading_zeros();
}

/// Finds where pointers flow, after everything outside functions is declared.
///
/// # Errors
/// Malformed instructions.
pub fn follow(cx: &mut Cx<'_>) -> Result<()> {
    if !cx.types.variable_pointers {
        return Ok(());
    }
    let has = |flag| cx.module.decorations.iter().any(|d| d.member.is_some() && d.decoration == flag);
    let access =
        Access { coherent: has(Decoration::Coherent), volatile: has(Decoration::Volatile), ..Access::default() };
    cx.variable_pointers.bases = flows::follow(cx)?;
    cx.variable_pointers.access = access;
    Ok(())
}

/// A buffer that a pointer may point into.
#[derive(Clone, Copy, PartialEq)]
struct Candidate {
    resource: ResourceId,
    /// Whether the binding is one descriptor, not an array of them.
    single: bool,
}

impl Cx<'_> {
    /// The leaves of a pointer.
    ///
    /// # Errors
    /// Unsupported: it points into memory in which pointers cannot be values.
    pub(super) fn pointer_values(&mut self, id: u32, pointer: &Pointer) -> Result<LeafValues> {
        let unsupported = || Error::unsupported("pointer as a value", format!("%{id}"));
        let ty = self.type_id(id)?;
        let Ty::Pointer { class, pointee, .. } = *self.types.get(ty) else { return Err(unsupported()) };
        let array = matches!(self.types.get(pointee), Ty::Array { .. } | Ty::RuntimeArray { .. });
        if !self.types.is_variable_pointer(ty) || array && is_array_of_bindings(self, pointer) {
            return Err(unsupported());
        }
        let code = match pointer.place {
            Storage::Shared if class == StorageClass::Workgroup => self.b.c32(1),
            Storage::Buffer { resource, index, .. }
                if class == StorageClass::StorageBuffer && self.candidate(resource).is_some() =>
            {
                let own = resource.0 + 1;
                let bits = self.variable_pointers.bits;
                match index {
                    Index::Const(n) => self.b.c32(n.wrapping_shl(bits).wrapping_add(own)),
                    Index::Dynamic(v) => {
                        let (above, own) = (self.b.imul_const(v, 1 << bits), self.b.c32(own));
                        self.b.iadd(above, own)
                    }
                }
            }
            Storage::Chosen { code, .. } if class == StorageClass::StorageBuffer => code,
            _ => return Err(unsupported()),
        };
        if pointee != pointer.ty {
            return Err(Error::malformed(format!("%{id} points to another type than its own says")));
        }
        let own = self.strides(pointee, pointer.layout);
        if own != self.strided_layout(id, (class, pointee), own) {
            return Err(Error::unsupported("pointer as a value", format!("%{id}, to a part of a matrix")));
        }
        let offset = self.byte_offset(pointer, 0);
        Ok(smallvec![code, offset])
    }

    /// The pointer of an id that is a value.
    ///
    /// # Errors
    /// Malformed: it is not the value of a pointer.
    pub(super) fn pointer_of_value(&mut self, id: u32) -> Result<Pointer> {
        let ty = self.type_id(id)?;
        let Ty::Pointer { class, pointee, .. } = *self.types.get(ty) else {
            return Err(Error::malformed(format!("%{id} is not a pointer")));
        };
        let values = self.values_n(id, 2)?;
        let &[code, offset] = values.as_slice() else { return Err(Error::bug("two leaves")) };
        let layout = self.strided_layout(id, (class, pointee), self.value_layout(class));
        let mut pointer = Pointer::new(Storage::Shared, pointee, layout);
        pointer.access = self.variable_pointers.access;
        if class == StorageClass::Workgroup {
            // The pointer may point into any workgroup variable, so accesses are not told apart by variable any more.
            self.b.shader.shared_variables.clear();
        } else {
            (pointer.place, pointer.access) = self.place_of_code(code, id)?;
        }
        Ok(at_offset(self, &pointer, offset))
    }

    /// The buffer that a code stands for, and the flags of its accesses.
    fn place_of_code(&mut self, code: Value, id: u32) -> Result<(Storage, Access)> {
        let class = self.variable_pointers.bases.class(id);
        let mut access = Access { read_only: true, ..self.variable_pointers.access };
        for variable in self.variable_pointers.bases.variables(class) {
            let Some(Def::Pointer(at)) = self.known(variable) else { continue };
            let of = self.pointer_at(*at)?.access;
            access.coherent |= of.coherent;
            access.volatile |= of.volatile;
            access.read_only &= of.read_only;
        }
        let candidates = self.candidates(class);
        let (kind, bits) = (BufferKind::Storage, self.variable_pointers.bits);
        if let Some(known) = self.b.shader.as_const(code) {
            let (own, index) = (known as u32 & ((1 << bits) - 1), Index::Const((known as u32) >> bits));
            let resource = own.checked_sub(1).map(ResourceId);
            if let Some(candidate) = resource.and_then(|r| self.candidate(r)) {
                return Ok((Storage::Buffer { resource: candidate.resource, index, kind }, access));
            }
        }
        let place = match candidates[..] {
            [Candidate { resource, single: true }] => Storage::Buffer { resource, index: Index::Const(0), kind },
            [Candidate { resource, .. }] => {
                access.non_uniform = true;
                Storage::Buffer { resource, index: Index::Dynamic(self.code_index(code)), kind }
            }
            _ => {
                access.non_uniform = true;
                Storage::Chosen { code, class }
            }
        };
        Ok((place, access))
    }

    /// The words of the descriptor that a code stands for, of the buffers of a class. A class without buffers has only null
    /// pointers, and its descriptor has no memory.
    pub(super) fn chosen_descriptor(&mut self, code: Value, class: u32) -> Value {
        let candidates = self.candidates(class);
        let names = self.b.c32((1 << self.variable_pointers.bits) - 1);
        let own = self.b.alu(AluOp::IAnd, &[code, names]);
        let mut chosen: Option<LeafValues> = None;
        for candidate in &candidates {
            let number = self.b.c32(candidate.resource.0 + 1);
            let is_this = self.b.alu(AluOp::IEq, &[own, number]);
            let index = if candidate.single {
                Index::Const(0)
            } else {
                let (index, first) = (self.code_index(code), self.b.c32(0));
                Index::Dynamic(self.b.select(is_this, index, first))
            };
            let descriptor = self.descriptor(candidate.resource, index, DescriptorPart::Buffer, true);
            let words = self.b.split(descriptor);
            chosen = Some(match chosen {
                None => words.into_iter().collect(),
                Some(others) => {
                    let both = words.into_iter().zip(others);
                    both.map(|(word, other)| self.b.select(is_this, word, other)).collect()
                }
            });
        }
        let words = chosen.unwrap_or_else(|| smallvec![self.b.c32(0); 4]);
        self.b.compose(&words)
    }

    /// The index in an array of buffers that a code names.
    fn code_index(&mut self, code: Value) -> Value {
        let bits = self.b.c32(self.variable_pointers.bits);
        self.b.alu(AluOp::LShr, &[code, bits])
    }

    fn candidate(&self, resource: ResourceId) -> Option<Candidate> {
        let r = self.b.shader.resources.get(resource.index())?;
        (r.kind == ResourceKind::StorageBuffer).then_some(Candidate { resource, single: r.count == Some(1) })
    }

    /// The buffers that pointers of a class may point into, each once.
    fn candidates(&self, class: u32) -> List<Candidate> {
        let mut out = List::<Candidate>::default();
        for variable in self.variable_pointers.bases.variables(class) {
            if let Some(Def::Pointer(at)) = self.known(variable)
                && let Ok(Pointer { place: Storage::Buffer { resource, .. }, .. }) = self.pointer_at(*at)
                && let Some(candidate) = self.candidate(*resource)
            {
                out.push(candidate);
            }
        }
        out.sort_unstable_by_key(|c| c.resource.0);
        out.dedup();
        out
    }

    /// The memory layout of the pointee of pointers into memory of a class. Workgroup memory has either blocks or other
    /// variables.
    fn value_layout(&self, class: StorageClass) -> MemoryLayout {
        let blocks = self.module.capabilities.contains(&Capability::WorkgroupMemoryExplicitLayoutKHR);
        match class {
            StorageClass::Workgroup if !blocks => MemoryLayout::PACKED,
            _ => MemoryLayout::EXPLICIT,
        }
    }

    /// The memory layout of the pointee that all pointers of an id's class and type have; it becomes `first` if none of
    /// them has been a value before.
    fn strided_layout(
        &mut self,
        id: u32,
        (class, pointee): (StorageClass, TypeId),
        first: MemoryLayout,
    ) -> MemoryLayout {
        if !matches!(self.types.get(self.innermost(pointee)), Ty::Matrix { .. } | Ty::Vector { .. }) {
            return self.value_layout(class);
        }
        let key = (self.variable_pointers.bases.class(id), pointee);
        *self.variable_pointers.layouts.entry(key).or_insert(first)
    }

    /// The part of a layout that says where a value of a type is in memory.
    fn strides(&self, ty: TypeId, layout: MemoryLayout) -> MemoryLayout {
        let none = MemoryLayout { explicit: layout.explicit, ..MemoryLayout::PACKED };
        match self.types.get(self.innermost(ty)) {
            Ty::Matrix { .. } if layout.explicit => layout,
            Ty::Vector { .. } => MemoryLayout { component_stride: layout.component_stride, ..none },
            _ => none,
        }
    }

    /// The type of the elements of arrays in each other.
    fn innermost(&self, mut ty: TypeId) -> TypeId {
        while let Ty::Array { elem, .. } | Ty::RuntimeArray { elem, .. } = *self.types.get(ty) {
            ty = elem;
        }
        ty
    }
}
