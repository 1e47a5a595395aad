//! The leaves of a value in memory, and the accesses that move them.

use super::types::{MemoryLayout, Ty, TypeId, Types};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_ir::{Bits, Type};

/// A scalar of a value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Bytes from the start of the value.
    pub offset: u32,
    /// Its type as a value; `B1` is stored as 32 bits.
    pub ty: Type,
}

/// Leaves of a value in memory.
pub type Leaves = List<Leaf>;

impl Types {
    /// Offset between the columns of a matrix, and the layout within one.
    pub fn column(&self, column: TypeId, layout: MemoryLayout) -> (u32, MemoryLayout) {
        let elem = self.vector(column).map_or(column, |(e, _)| e);
        match (layout.explicit, layout.row_major) {
            (false, _) => (self.packed(column), layout),
            (true, false) => (layout.matrix_stride, MemoryLayout { component_stride: 0, ..layout }),
            (true, true) => (self.packed(elem), MemoryLayout { component_stride: layout.matrix_stride, ..layout }),
        }
    }

    /// The leaves of a value in memory, in value order.
    ///
    /// # Errors
    /// As [`Types::leaf_count`]; unsupported for types without a memory layout.
    pub fn walk(&self, id: TypeId, layout: MemoryLayout) -> Result<Leaves> {
        let mut out = Leaves::default();
        out.reserve(self.leaf_count(id)?);
        self.walk_into(id, layout, 0, &mut out)?;
        Ok(out)
    }

    /// The type of the one access that moves a whole value, if this is simple: a scalar or vector without booleans.
    pub fn one_access(&self, id: TypeId, layout: MemoryLayout) -> Option<Type> {
        let (scalar, count) = match self.get(id) {
            Ty::Vector { elem, count } => {
                let scalar = self.scalar(*elem)?;
                let dense = layout.component_stride == 0 && self.packed(*elem) == scalar.bytes()
                    || layout.component_stride == scalar.bytes();
                (dense.then_some(scalar)?, *count)
            }
            _ => (self.scalar(id)?, 1),
        };
        let most = match scalar.bits() {
            Bits::B1 => return None,
            Bits::B64 => 2,
            Bits::B8 | Bits::B16 if count == 3 => return None,
            _ => 4,
        };
        match count {
            1 => Some(scalar),
            _ if count <= most => Type::vector(scalar.bits(), count),
            _ => None,
        }
    }

    fn walk_into(&self, id: TypeId, layout: MemoryLayout, at: u32, out: &mut Leaves) -> Result<()> {
        if self.leaf_count(id)? == 0 {
            return Ok(());
        }
        match self.get(id) {
            Ty::Vector { elem, count } => {
                let step = if layout.component_stride != 0 { layout.component_stride } else { self.packed(*elem) };
                for i in 0..*count {
                    self.walk_into(*elem, layout, at.saturating_add(i.saturating_mul(step)), out)?;
                }
            }
            Ty::Matrix { column, count } => {
                let (step, inner) = self.column(*column, layout);
                for i in 0..*count {
                    self.walk_into(*column, inner, at.saturating_add(i.saturating_mul(step)), out)?;
                }
            }
            Ty::Array { elem, len, .. } => {
                let step = self.stride(id, *elem, layout);
                for i in 0..*len {
                    self.walk_into(*elem, layout, at.saturating_add(i.saturating_mul(step)), out)?;
                }
            }
            Ty::Struct { .. } => {
                for (n, m) in self.filled_members(id) {
                    let (offset, inner) = self.member(id, n, layout).unwrap_or((0, layout));
                    self.walk_into(m.ty, inner, at.saturating_add(offset), out)?;
                }
            }
            _ => match self.scalar(id) {
                Some(ty) => out.push(Leaf { offset: at, ty }),
                None if self.is_variable_pointer(id) && !layout.explicit => {
                    out.extend([0, 4].map(|part| Leaf { offset: at.saturating_add(part), ty: Type::B32 }));
                }
                None => return Err(Error::unsupported("opaque type in memory", "")),
            },
        }
        Ok(())
    }
}
