//! Access chains: pointers into a part of another pointer's pointee.
//!
//! Constant indices add up in the pointer; a dynamic index becomes a multiplication and an addition. The first indices
//! into an array of bindings select the descriptor.

use super::cx::{Cx, Def, Index, MemoryLayout, Pointer, SpirvInst, Storage, Ty, TypeId};
use dovetail_base::error::Result;
use dovetail_ir::{Align, AluOp, Type, Value};
use spirv::Op;

/// Translates an access chain; false if it is not one.
///
/// # Errors
/// Malformed or unsupported operands.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    match inst.op() {
        Op::AccessChain | Op::InBoundsAccessChain => {
            let base = cx.pointer(inst.id(0)?)?;
            chain(cx, inst, base, 1)?;
        }
        Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
            let mut base = cx.pointer(inst.id(0)?)?;
            let stride = cx.element_stride(inst.id(0)?, &base)?;
            step(cx, inst, &mut base, inst.id(1)?, (stride, None))?;
            chain(cx, inst, base, 2)?;
        }
        Op::CopyObject if let Def::Pointer(_) = cx.def(inst.id(0)?)? => {
            let p = *cx.def(inst.id(0)?)?;
            cx.define(inst.result()?, p);
        }
        Op::ConvertUToPtr | Op::ConvertPtrToU => {
            let v = cx.value(inst.id(0)?)?;
            let to = cx.types.scalar(cx.result_type(inst)?).ok_or_else(|| inst.malformed("no scalar result"))?;
            let v = cx.b.zext_or_trunc(v, to);
            cx.set(inst.result()?, [v].as_slice());
        }
        _ => return Ok(false),
    }
    Ok(true)
}

impl Cx<'_> {
    /// Whether pointers of a type are no values but known in translation: all but variable pointers and those to physical
    /// memory.
    pub fn is_known_pointer(&self, ty: TypeId) -> bool {
        matches!(self.types.get(ty), Ty::Pointer { .. })
            && self.types.scalar(ty).is_none()
            && !self.types.is_variable_pointer(ty)
    }

    /// Bytes from the pointee of a pointer to the next element of the array that it is in.
    pub fn element_stride(&self, id: u32, pointer: &Pointer) -> Result<u32> {
        Ok(match *self.types.get(self.type_id(id)?) {
            Ty::Pointer { stride, .. } if stride != 0 => stride,
            _ => self.types.size(pointer.ty, pointer.layout),
        })
    }

    /// A constant index; `None` if the id is another value.
    fn const_index(&mut self, id: u32) -> Result<Option<i64>> {
        let Some(bits) = self.const_bits(id)? else { return Ok(None) };
        let ty = self.type_id(id)?;
        let unused = 64 - self.types.component(ty).map_or(32, |ty| ty.bits().count());
        Ok(Some(if self.types.is_signed(ty) { ((bits << unused) as i64) >> unused } else { bits as i64 }))
    }

    /// Moves a pointer by a number of bytes. The constant part of an address is signed and has 32 bits.
    fn advance(&mut self, p: &mut Pointer, bytes: i64) {
        let before = i64::from(p.constant as i32);
        if !matches!(p.place, Storage::Global(_)) || i32::try_from(before.saturating_add(bytes)).is_ok() {
            p.constant = p.constant.wrapping_add(bytes as u32);
            return;
        }
        let bytes = self.b.iconst(Type::B64, bytes as u64);
        p.dynamic = Some(match p.dynamic {
            Some(before) => self.b.iadd(before, bytes),
            None => bytes,
        });
        p.dynamic_align = p.dynamic_align.min(Align::of_offset(self.b.shader.as_const(bytes).unwrap_or(0) as u32));
    }

    /// An index as a value of this type, sign-extended if its own type is signed.
    fn index_value(&mut self, id: u32, to: Type) -> Result<Value> {
        let ty = self.type_id(id)?;
        let v = self.value(id)?;
        let op = match (self.b.ty(v).bits() < to.bits(), self.types.is_signed(ty)) {
            (false, _) => AluOp::Trunc,
            (true, true) => AluOp::SExt,
            (true, false) => AluOp::ZExt,
        };
        Ok(self.b.convert(op, v, to))
    }
}

/// Moves a pointer by an index times a stride in bytes. `bound` is the number of elements, if there is one.
fn step(
    cx: &mut Cx<'_>,
    inst: &SpirvInst<'_>,
    p: &mut Pointer,
    index: u32,
    (stride, bound): (u32, Option<usize>),
) -> Result<()> {
    let last = bound.and_then(|bound| bound.checked_sub(1)).map(|last| last as u64);
    // Memory after a constant table need not exist, and a fault there would end the process that owns the queue. A
    // judge gets the index as it is, to know that the result is undefined.
    let in_table = last.filter(|_| matches!(p.place, Storage::Table(_)) && !cx.judged);
    if let Some(index) = cx.const_index(index)? {
        let index = in_table.map_or(index, |last| index.clamp(0, last as i64));
        cx.advance(p, index.wrapping_mul(stride.into()));
        return Ok(());
    }
    let wide = if matches!(p.place, Storage::Global(_)) { Type::B64 } else { Type::B32 };
    let mut index = cx.index_value(index, wide).map_err(|e| e.at(inst.place()))?;
    // Beyond an array in a buffer is other memory of the buffer, or an access that is robust: no bound is marked there.
    let own = matches!(
        p.place,
        Storage::Local(_) | Storage::Table(_) | Storage::Shared | Storage::Input(_) | Storage::Output(_)
    );
    if let Some(bound) = bound.filter(|_| own) {
        index = cx.bounded(index, bound);
    }
    if let Some(last) = in_table {
        index = cx.b.at_most(index, last);
    }
    if p.dynamic.is_none() {
        p.reach = bound.map(|count| p.constant..p.constant.saturating_add(stride.saturating_mul(count as u32)));
    }
    let offset = cx.b.imul_const(index, u64::from(stride));
    p.dynamic = Some(match p.dynamic {
        Some(before) => cx.b.iadd(before, offset),
        None => offset,
    });
    p.dynamic_align = p.dynamic_align.min(Align::of_offset(stride));
    Ok(())
}

fn chain(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, mut p: Pointer, first: usize) -> Result<()> {
    let result = inst.result()?;
    p.access.non_uniform |= cx.non_uniform(result) || cx.non_uniform(inst.id(0)?);
    for n in first..inst.len() {
        let id = inst.id(n)?;
        p.access.non_uniform |=
            matches!(p.place, Storage::Buffer { .. } | Storage::Resource { .. }) && cx.non_uniform(id);
        let of_bindings = is_array_of_bindings(cx, &p);
        match cx.types.get(p.ty) {
            kind @ (Ty::Array { elem, .. } | Ty::RuntimeArray { elem, .. }) => {
                let bound = if let Ty::Array { len, .. } = kind { Some(*len as usize) } else { None };
                let (array, elem) = (p.ty, *elem);
                if of_bindings {
                    choose_binding(cx, &mut p, elem, id)?;
                } else {
                    let stride = cx.types.stride(array, elem, p.layout);
                    step(cx, inst, &mut p, id, (stride, bound))?;
                }
                p.ty = elem;
            }
            Ty::Matrix { column, count } => {
                let (column, columns) = (*column, *count as usize);
                let (stride, layout) = cx.types.column(column, p.layout);
                step(cx, inst, &mut p, id, (stride, Some(columns)))?;
                p.ty = column;
                p.layout = layout;
            }
            Ty::Vector { elem, count } => {
                let (elem, lanes) = (*elem, *count as usize);
                let stride = match p.layout.component_stride {
                    0 => cx.types.size(elem, MemoryLayout::PACKED),
                    stride => stride,
                };
                step(cx, inst, &mut p, id, (stride, Some(lanes)))?;
                p.ty = elem;
                p.layout.component_stride = 0;
            }
            Ty::Struct { .. } => {
                let index = cx.const_u32(id)? as usize;
                let Some((offset, layout)) = cx.types.member(p.ty, index, p.layout) else {
                    return Err(inst.malformed(format!("no member {index}")));
                };
                let Ty::Struct { members, .. } = cx.types.get(p.ty) else { break };
                let Some(m) = cx.types.members(*members).get(index) else {
                    return Err(inst.malformed(format!("no member {index}")));
                };
                p.access.coherent |= m.coherent;
                p.access.volatile |= m.volatile;
                let ty = m.ty;
                cx.advance(&mut p, offset.into());
                p.layout = layout;
                p.ty = ty;
            }
            _ => return Err(inst.malformed("an index into a type that is not composite")),
        }
    }
    // If the pointee differed from the type's, later accesses could read out of bounds.
    let Ty::Pointer { pointee, .. } = *cx.types.get(cx.result_type(inst)?) else {
        return Err(inst.malformed("the result is not a pointer"));
    };
    if cx.types.component(pointee) != cx.types.component(p.ty) {
        return Err(inst.malformed("the result type does not fit the indices"));
    }
    cx.set_pointer(result, p);
    Ok(())
}

/// Whether the pointer still points to an array of descriptors, outside any block.
pub(super) fn is_array_of_bindings(cx: &Cx<'_>, p: &Pointer) -> bool {
    match p.place {
        Storage::Resource { .. } => true,
        Storage::Buffer { .. } => {
            let mut ty = p.ty;
            while let Ty::Array { elem, .. } | Ty::RuntimeArray { elem, .. } = *cx.types.get(ty) {
                ty = elem;
            }
            matches!(cx.types.get(ty), Ty::Struct { block: true, .. })
        }
        _ => false,
    }
}

/// Adds an index to the descriptor selection; inner arrays vary fastest.
fn choose_binding(cx: &mut Cx<'_>, p: &mut Pointer, elem: TypeId, id: u32) -> Result<()> {
    let mut inner = 1u32;
    let mut ty = elem;
    while let Ty::Array { elem, len, .. } = *cx.types.get(ty) {
        inner = inner.saturating_mul(len);
        ty = elem;
    }
    let constant = cx.const_index(id)?;
    let (Storage::Buffer { index, .. } | Storage::Resource { index, .. }) = &mut p.place else { return Ok(()) };
    *index = match (*index, constant) {
        (Index::Const(n), Some(at)) => Index::Const(n.wrapping_add((at as u32).wrapping_mul(inner))),
        (before, _) => {
            let v = cx.index_value(id, Type::B32)?;
            let v = cx.b.imul_const(v, u64::from(inner));
            let before = cx.binding_index(before);
            Index::Dynamic(cx.b.iadd(before, v))
        }
    };
    Ok(())
}
