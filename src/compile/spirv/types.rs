//! SPIR-V types as an arena, their numbers of leaf values, and the leaves' memory layout.
//!
//! A value of any type is a flat list of *leaves*: scalars in the order of struct members, array elements, matrix
//! columns and vector components. There are two memory layouts: that of the decorations `Offset`, `ArrayStride` and
//! `MatrixStride` ([`MemoryLayout::explicit`]), and a tightly packed one with booleans as 32 bits, for memory that only
//! the shader sees. Sizes of nested types are summed when a type is declared: structs nested so that each contains two
//! of the next have 2^depth parts, so only walks bounded by [`Types::leaf_count`] may visit all parts.
//!
//! To add a type, add a variant of [`Ty`], its leaves in [`Types::add`], and its layout in [`Types::walk`] (`layout`).

use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_ir::{Bits, Type};
use smallvec::SmallVec;

/// Limit of type nesting, since walks over types are recursive.
const MAX_DEPTH: u32 = 64;
/// Limit of leaves of a type that is split into values.
pub(super) const MAX_LEAVES: u32 = 1 << 14;

/// A type of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// A type.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are SPIR-V's own")]
pub enum Ty {
    Void,
    Bool,
    Int {
        bits: Bits,
        signed: bool,
    },
    Float {
        bits: Bits,
    },
    /// Not an IEEE half: see `bfloat`.
    BFloat16,
    Vector {
        elem: TypeId,
        count: u32,
    },
    Matrix {
        column: TypeId,
        count: u32,
    },
    /// `stride` is 0 if it is not decorated.
    Array {
        elem: TypeId,
        len: u32,
        stride: u32,
    },
    RuntimeArray {
        elem: TypeId,
        stride: u32,
    },
    Struct {
        members: Members,
        /// Decorated `Block` or `BufferBlock`.
        block: bool,
        /// Decorated `BufferBlock`: the old form of a storage buffer.
        buffer_block: bool,
    },
    /// `stride` is that of `OpPtrAccessChain`, 0 if it is not decorated.
    Pointer {
        class: spirv::StorageClass,
        pointee: TypeId,
        stride: u32,
    },
    Image {
        sampled_type: TypeId,
        dim: spirv::Dim,
        depth: u32,
        arrayed: bool,
        ms: bool,
        sampled: u32,
        format: spirv::ImageFormat,
    },
    Sampler,
    SampledImage {
        image: TypeId,
    },
    Function,
}

/// The members of a struct, in the list of all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Members {
    first: u32,
    len: u32,
}

impl Members {
    fn range(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }
}

/// A member of a struct.
#[derive(Clone, Copy, Debug)]
pub struct StructMember {
    /// Its type.
    pub ty: TypeId,
    /// `Offset`; 0 if not decorated.
    pub offset: u32,
    /// `MatrixStride`; 0 if not decorated.
    pub matrix_stride: u32,
    /// `RowMajor`.
    pub row_major: bool,
    /// `NonWritable`.
    pub non_writable: bool,
    /// `Coherent`.
    pub coherent: bool,
    /// `Volatile`.
    pub volatile: bool,
}

#[derive(Clone, Copy, Debug)]
struct TyData {
    ty: Ty,
    /// Number of leaves, saturating.
    leaves: u32,
    /// Bytes in the tightly packed layout, saturating.
    packed: u32,
    /// Natural alignment in the packed layout: that of the widest scalar.
    align: u32,
    depth: u32,
    /// The members of a struct that have leaves, in [`Types::filled`].
    filled: Members,
    /// Explicit size of a struct in bytes, saturating. Enclosing types do not change it.
    explicit: u32,
    /// Whether the type is a bfloat16, or has a part that is one.
    bfloat: bool,
    /// Whether the type is a variable pointer, has a part that is one, or is a pointer to such a type.
    pointers: bool,
}

/// Offset of a member of a struct.
#[derive(Clone, Copy, Debug, Default)]
struct MemberOffset {
    /// Bytes before it in the packed layout, saturating.
    packed: u32,
    /// Leaves before it, saturating.
    leaves: u32,
}

/// Layout rule for the parts of a value, with the matrix decorations of the enclosing member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryLayout {
    /// Laid out by decorations; otherwise tightly packed.
    pub explicit: bool,
    /// `MatrixStride` of the enclosing member.
    pub matrix_stride: u32,
    /// `RowMajor` of the enclosing member.
    pub row_major: bool,
    /// Bytes between the components of a vector, 0 if they are adjacent (a column of a row-major matrix has a stride).
    pub component_stride: u32,
}

impl MemoryLayout {
    /// Tightly packed.
    pub const PACKED: Self = Self { explicit: false, matrix_stride: 0, row_major: false, component_stride: 0 };
    /// By decorations.
    pub const EXPLICIT: Self = Self { explicit: true, ..Self::PACKED };
}

/// IR types of the leaves of a value; most have no more than a matrix.
pub type LeafTypes = SmallVec<[Type; 32]>;

/// The arena of types.
#[derive(Debug, Default)]
pub struct Types {
    list: List<TyData>,
    members: List<StructMember>,
    /// Offsets of the members.
    parts: List<MemberOffset>,
    /// Indices of members that have leaves: visiting others would cost time for each value of the type.
    filled: List<u32>,
    has_bfloat: bool,
    /// Whether pointers to storage buffers and to workgroup memory are values: see `variable_pointers`.
    pub(super) variable_pointers: bool,
}

/// The data of a type without parts.
const VOID: TyData = TyData {
    ty: Ty::Void,
    leaves: 0,
    packed: 0,
    align: 1,
    depth: 0,
    filled: Members { first: 0, len: 0 },
    explicit: 0,
    bfloat: false,
    pointers: false,
};

impl Types {
    /// The type with an id.
    pub fn get(&self, id: TypeId) -> &Ty {
        self.list.get(id.0 as usize).map_or(&Ty::Void, |d| &d.ty)
    }

    /// A new type.
    ///
    /// # Errors
    /// Unsupported: nested too deeply.
    pub fn add(&mut self, ty: Ty) -> Result<TypeId> {
        let data = |leaves, packed, align, depth| TyData { leaves, packed, align, depth, ..VOID };
        let scalar = |bits: Bits| data(1, bits.bytes(), bits.bytes(), 0);
        let times = |elem: TypeId, n: u32| {
            let e = self.data(elem);
            let made = data(e.leaves.saturating_mul(n), e.packed.saturating_mul(n), e.align, e.depth + 1);
            TyData { bfloat: e.bfloat, pointers: e.pointers, ..made }
        };
        let made = match &ty {
            Ty::Void | Ty::Function => data(0, 0, 1, 0),
            // A boolean is stored as 32 bits.
            Ty::Bool => scalar(Bits::B32),
            Ty::Int { bits, .. } | Ty::Float { bits } => scalar(*bits),
            Ty::BFloat16 => TyData { bfloat: true, ..scalar(Bits::B16) },
            Ty::Vector { elem, count } | Ty::Matrix { column: elem, count } => times(*elem, *count),
            Ty::Array { elem, len, .. } => times(*elem, *len),
            Ty::RuntimeArray { elem, .. } => {
                let e = self.data(*elem);
                TyData { bfloat: e.bfloat, ..data(u32::MAX, u32::MAX, 1, e.depth + 1) }
            }
            Ty::Struct { members, .. } => self.structure(*members),
            Ty::Pointer { class: spirv::StorageClass::PhysicalStorageBuffer, .. } => scalar(Bits::B64),
            Ty::Pointer { class, .. } if self.variable_pointers && is_variable(*class) => {
                TyData { pointers: true, ..data(2, 8, 4, 0) }
            }
            Ty::Pointer { pointee, .. } => TyData { pointers: self.data(*pointee).pointers, ..data(0, 0, 1, 0) },
            Ty::Image { .. } | Ty::Sampler => data(1, 0, 1, 0),
            Ty::SampledImage { .. } => data(2, 0, 1, 0),
        };
        if made.depth > MAX_DEPTH {
            return Err(Error::unsupported("type nesting", format!("types over {MAX_DEPTH} deep in each other")));
        }
        self.has_bfloat |= made.bfloat;
        self.list.push(TyData { ty, ..made });
        Ok(TypeId(self.list.len() as u32 - 1))
    }

    /// Adds a member to those of the struct type that is declared next.
    pub fn add_member(&mut self, to: &mut Members, member: StructMember) {
        if to.len == 0 {
            to.first = self.members.len() as u32;
        }
        self.members.push(member);
        to.len += 1;
    }

    /// The members of a struct.
    pub fn members(&self, members: Members) -> &[StructMember] {
        self.members.get(members.range()).unwrap_or(&[])
    }

    /// The members of a struct, to be decorated before the type is declared.
    pub fn members_mut(&mut self, members: Members) -> &mut [StructMember] {
        self.members.get_mut(members.range()).unwrap_or(&mut [])
    }

    fn structure(&mut self, members: Members) -> TyData {
        let (mut leaves, mut end, mut depth, mut align, mut explicit) = (0u32, 0u32, 0, 1, 0);
        let (mut bfloat, mut pointers) = (false, false);
        let first_filled = self.filled.len() as u32;
        self.parts.resize(self.members.len(), MemberOffset::default());
        for n in 0..members.len {
            let Some(&m) = self.members(members).get(n as usize) else { break };
            let e = *self.data(m.ty);
            self.filled.extend((e.leaves > 0).then_some(n));
            let packed = align_up(end, e.align);
            if let Some(part) = self.parts.get_mut((members.first + n) as usize) {
                *part = MemberOffset { packed, leaves };
            }
            leaves = leaves.saturating_add(e.leaves);
            end = packed.saturating_add(e.packed);
            depth = depth.max(e.depth + 1);
            align = align.max(e.align);
            bfloat |= e.bfloat;
            pointers |= e.pointers;
            let size = self.size(m.ty, member_layout(&m, MemoryLayout::EXPLICIT));
            explicit = explicit.max(m.offset.saturating_add(size));
        }
        // Padded to align the members of every array element.
        let packed = align_up(end, align);
        let filled = Members { first: first_filled, len: self.filled.len() as u32 - first_filled };
        TyData { leaves, packed, align, depth, filled, explicit, bfloat, pointers, ..VOID }
    }

    fn part(&self, members: Members, index: usize) -> Option<MemberOffset> {
        self.parts.get(members.range())?.get(index).copied()
    }

    /// Sets the pointee of a forward-declared pointer.
    pub fn set_pointee(&mut self, pointer: TypeId, to: TypeId, array_stride: u32) {
        if let Some(TyData { ty: Ty::Pointer { pointee, stride, .. }, .. }) = self.list.get_mut(pointer.0 as usize) {
            *pointee = to;
            *stride = array_stride;
        }
    }

    /// Bytes in the tightly packed layout.
    pub(super) fn packed(&self, id: TypeId) -> u32 {
        self.data(id).packed
    }

    fn data(&self, id: TypeId) -> &TyData {
        self.list.get(id.0 as usize).unwrap_or(&VOID)
    }

    /// The IR type of a scalar; for a pointer to physical memory, of its address.
    pub fn scalar(&self, id: TypeId) -> Option<Type> {
        Some(match self.get(id) {
            Ty::Bool => Type::B1,
            Ty::Int { bits, .. } | Ty::Float { bits } => Type::scalar(*bits),
            Ty::BFloat16 => Type::B16,
            Ty::Pointer { class: spirv::StorageClass::PhysicalStorageBuffer, .. } => Type::B64,
            _ => return None,
        })
    }

    /// Element type and number of components of a scalar (1) or vector.
    pub fn vector(&self, id: TypeId) -> Option<(TypeId, u32)> {
        match self.get(id) {
            Ty::Vector { elem, count } => Some((*elem, *count)),
            _ => self.scalar(id).map(|_| (id, 1)),
        }
    }

    /// The IR type of a scalar's or of each vector component's leaf.
    pub fn component(&self, id: TypeId) -> Option<Type> {
        self.vector(id).and_then(|(elem, _)| self.scalar(elem))
    }

    /// Whether a scalar, or a vector's component, is a signed integer.
    pub fn is_signed(&self, id: TypeId) -> bool {
        matches!(self.get(self.element_of(id)), Ty::Int { signed: true, .. })
    }

    /// A vector's component type; any other type itself.
    pub fn element_of(&self, id: TypeId) -> TypeId {
        self.vector(id).map_or(id, |(elem, _)| elem)
    }

    /// Whether a scalar, or a vector's component, is an IEEE float.
    pub fn is_float(&self, id: TypeId) -> bool {
        matches!(self.get(self.element_of(id)), Ty::Float { .. })
    }

    /// Whether a scalar, or a vector's component, is a bfloat16.
    pub fn is_bfloat(&self, id: TypeId) -> bool {
        matches!(self.get(self.element_of(id)), Ty::BFloat16)
    }

    /// Whether any type is or has a bfloat16.
    pub fn has_bfloat(&self) -> bool {
        self.has_bfloat
    }

    /// Whether values of a type, or what they point to, are or have a bfloat16.
    pub fn reaches_bfloat(&self, id: TypeId) -> bool {
        match self.get(id) {
            Ty::Pointer { pointee, .. } => self.data(*pointee).bfloat,
            _ => self.data(id).bfloat,
        }
    }

    /// Whether a value is an image, a sampler or both.
    pub fn is_handle(&self, id: TypeId) -> bool {
        matches!(self.get(id), Ty::Image { .. } | Ty::Sampler | Ty::SampledImage { .. })
    }

    /// Whether it is a logical pointer that is a value of two leaves.
    pub fn is_variable_pointer(&self, id: TypeId) -> bool {
        matches!(self.get(id), Ty::Pointer { class, .. } if self.variable_pointers && is_variable(*class))
    }

    /// Whether values of a type are, have or point to variable pointers.
    pub fn reaches_pointers(&self, id: TypeId) -> bool {
        self.data(id).pointers
    }

    /// The members of a struct that have leaves, by index.
    pub fn filled_members(&self, id: TypeId) -> impl Iterator<Item = (usize, &StructMember)> {
        let members = match self.get(id) {
            Ty::Struct { members, .. } => self.members(*members),
            _ => &[],
        };
        let filled = self.filled.get(self.data(id).filled.range()).unwrap_or(&[]);
        filled.iter().filter_map(|&n| Some((n as usize, members.get(n as usize)?)))
    }

    /// Number of leaves.
    ///
    /// # Errors
    /// Unsupported: too many to be split into values.
    pub fn leaf_count(&self, id: TypeId) -> Result<usize> {
        match self.data(id).leaves {
            n if n > MAX_LEAVES => {
                Err(Error::unsupported("huge value", format!("a value of over {MAX_LEAVES} scalars")))
            }
            n => Ok(n as usize),
        }
    }

    /// IR types of the leaves, in order.
    ///
    /// # Errors
    /// As [`Types::leaf_count`].
    pub fn leaf_types(&self, id: TypeId) -> Result<LeafTypes> {
        let mut out = LeafTypes::with_capacity(self.leaf_count(id)?);
        self.push_leaf_types(id, &mut out);
        Ok(out)
    }

    fn push_leaf_types(&self, id: TypeId, out: &mut LeafTypes) {
        if self.data(id).leaves == 0 {
            return;
        }
        let mut repeat = |elem: TypeId, n: u32| {
            let start = out.len();
            self.push_leaf_types(elem, out);
            let one = out.len() - start;
            for i in 0..one * n.saturating_sub(1) as usize {
                let ty = out[start + i % one];
                out.push(ty);
            }
            if n == 0 {
                out.truncate(start);
            }
        };
        match self.get(id) {
            Ty::Void | Ty::Function | Ty::RuntimeArray { .. } => {}
            Ty::Vector { elem, count } | Ty::Matrix { column: elem, count } => repeat(*elem, *count),
            Ty::Array { elem, len, .. } => repeat(*elem, *len),
            Ty::Struct { .. } => self.filled_members(id).for_each(|(_, m)| self.push_leaf_types(m.ty, out)),
            Ty::Image { dim: spirv::Dim::DimBuffer, .. } | Ty::Sampler => out.push(Type::DESC4),
            Ty::Image { .. } => out.push(Type::DESC8),
            Ty::SampledImage { image } => {
                self.push_leaf_types(*image, out);
                out.push(Type::DESC4);
            }
            Ty::Pointer { .. } if self.is_variable_pointer(id) => out.extend([Type::B32; 2]),
            Ty::Bool | Ty::Int { .. } | Ty::Float { .. } | Ty::BFloat16 | Ty::Pointer { .. } => {
                out.extend(self.scalar(id));
            }
        }
    }

    /// Natural alignment in the packed layout: that of the widest scalar.
    pub fn packed_align(&self, id: TypeId) -> u32 {
        self.data(id).align
    }

    /// Size in bytes.
    pub fn size(&self, id: TypeId, layout: MemoryLayout) -> u32 {
        if !layout.explicit {
            return self.data(id).packed;
        }
        match self.get(id) {
            Ty::Vector { elem, count } => match layout.component_stride {
                0 => self.data(id).packed,
                stride => (count - 1).saturating_mul(stride).saturating_add(self.data(*elem).packed),
            },
            Ty::Matrix { column, count } => {
                let (elem, rows) = self.vector(*column).unwrap_or((*column, 1));
                let (n, one) = if layout.row_major {
                    (rows, self.data(elem).packed.saturating_mul(*count))
                } else {
                    (*count, self.data(*column).packed)
                };
                (n - 1).saturating_mul(layout.matrix_stride).saturating_add(one)
            }
            Ty::Array { elem, len, .. } => self.stride(id, *elem, layout).saturating_mul(*len),
            Ty::Struct { .. } => self.data(id).explicit,
            Ty::RuntimeArray { .. } => 0,
            _ => self.data(id).packed,
        }
    }

    /// Bytes between the elements of an array.
    pub fn stride(&self, array: TypeId, elem: TypeId, layout: MemoryLayout) -> u32 {
        match self.get(array) {
            Ty::Array { stride, .. } | Ty::RuntimeArray { stride, .. } if layout.explicit && *stride != 0 => *stride,
            _ => self.size(elem, layout),
        }
    }

    /// Offset of a struct's member, and the layout within it.
    pub fn member(&self, structure: TypeId, index: usize, layout: MemoryLayout) -> Option<(u32, MemoryLayout)> {
        let Ty::Struct { members, .. } = self.get(structure) else { return None };
        let m = self.members(*members).get(index)?;
        if layout.explicit {
            return Some((m.offset, member_layout(m, layout)));
        }
        Some((self.part(*members, index)?.packed, layout))
    }

    /// Leaves before element `index` of a composite, and the element's type.
    pub fn element(&self, id: TypeId, index: u32) -> Option<(usize, TypeId)> {
        let leaves = |t: TypeId| self.data(t).leaves as usize;
        match self.get(id) {
            Ty::Vector { elem, count } | Ty::Matrix { column: elem, count } => {
                (index < *count).then(|| (index as usize * leaves(*elem), *elem))
            }
            Ty::Array { elem, len, .. } => {
                (index < *len).then(|| ((index as usize).saturating_mul(leaves(*elem)), *elem))
            }
            Ty::Struct { members, .. } => {
                let before = self.part(*members, index as usize)?.leaves as usize;
                Some((before, self.members(*members).get(index as usize)?.ty))
            }
            _ => None,
        }
    }
}

/// Whether variable pointers may point into memory of a class.
fn is_variable(class: spirv::StorageClass) -> bool {
    matches!(class, spirv::StorageClass::StorageBuffer | spirv::StorageClass::Workgroup)
}

/// The layout inside a member: its own matrix decorations, if any.
fn member_layout(m: &StructMember, outer: MemoryLayout) -> MemoryLayout {
    MemoryLayout { matrix_stride: m.matrix_stride, row_major: m.row_major, component_stride: 0, ..outer }
}

/// `n` rounded up to a multiple of a power of two; saturating.
fn align_up(n: u32, align: u32) -> u32 {
    n.checked_next_multiple_of(align.max(1)).unwrap_or(u32::MAX)
}
