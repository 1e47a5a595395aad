//! Loads, stores and copies of values of any type, through pointers to any memory.
//!
//! A value is split into leaves by the pointer's layout; adjacent leaves of one width are merged into one wide access
//! of up to 16 bytes. Booleans are stored as 32 bits. Inputs have no bytes: see `interface`.

use super::addresses::PointerMemory;
use super::cx::{Cx, Index, LeafValues, MemoryLayout, Pointer, SpirvInst, Storage, TexelPointer, Ty, TypeId};
use super::join::check;
use super::layout::Leaf;
use super::moved;
use super::operands::saturated;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};
use dovetail_ir::{Access, Align, AluOp, Bits, DescriptorPart, LocalId, Op as Ir, ResourceKind, Type, Value};
use rspirv::dr::Operand;
use smallvec::SmallVec;
use spirv::{MemoryAccess, Op};

/// Most leaves of an access for which the contents of a variable are remembered. Larger values are mostly arrays that
/// are copied whole.
const MOST_HELD: usize = 64;

/// Memory operands of one access.
#[derive(Clone, Copy, Debug, Default)]
pub struct Operands {
    /// `Volatile`, `Nontemporal` and coherence.
    pub access: Access,
    /// The alignment that `Aligned` states.
    pub align: Option<Align>,
}

/// Translates a memory instruction; false if it is not one.
///
/// # Errors
/// Malformed or unsupported operands.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    match inst.op() {
        Op::Load => {
            let mut pointer = cx.pointer(inst.id(0)?)?;
            let result = inst.result()?;
            pointer.access.non_uniform |= cx.non_uniform(result) || cx.non_uniform(inst.id(0)?);
            let operands = operands(cx, inst, 1)?.0;
            let ty = cx.result_type(inst)?;
            if cx.is_known_pointer(ty) {
                return Err(inst.unsupported("of a pointer"));
            }
            let values = cx.load(&pointer, operands)?;
            cx.set(result, values);
        }
        Op::Store => {
            let mut pointer = cx.pointer(inst.id(0)?)?;
            pointer.access.non_uniform |= cx.non_uniform(inst.id(0)?);
            let operands = operands(cx, inst, 2)?.0;
            // A table already has its constant.
            if !matches!(pointer.place, Storage::Table(_)) && !moved::store(cx, &pointer, inst.id(1)?)? {
                let values = cx.values(inst.id(1)?)?;
                cx.store(&pointer, &values, operands)?;
            }
        }
        Op::CopyMemory => {
            let (to, from) = (cx.pointer(inst.id(0)?)?, cx.pointer(inst.id(1)?)?);
            let (target, next) = operands(cx, inst, 2)?;
            let source = if next < inst.len() { operands(cx, inst, next)?.0 } else { target };
            let values = cx.load(&from, source)?;
            cx.store(&to, &values, target)?;
        }
        Op::ArrayLength => array_length(cx, inst)?,
        Op::ImageTexelPointer => texel_pointer(cx, inst)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Memory operands from operand `at` on, and the position after them.
fn operands(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, at: usize) -> Result<(Operands, usize)> {
    let mut out = Operands::default();
    let Some(Operand::MemoryAccess(mask)) = inst.operands.get(at) else { return Ok((out, at)) };
    let mut next = at + 1;
    if mask.contains(MemoryAccess::ALIGNED) {
        let align = inst.literal(next)?;
        // Compilers write 0 for members whose alignment they do not know (glslang, in Mesa's own kernels), and strides
        // that are no power of two: then the largest power of two that divides the stride holds.
        out.align = Align::from_bytes((align & align.wrapping_neg()).min(256));
        next += 1;
    }
    out.access.volatile = mask.contains(MemoryAccess::VOLATILE);
    out.access.nontemporal = mask.contains(MemoryAccess::NONTEMPORAL);
    for flag in [MemoryAccess::MAKE_POINTER_AVAILABLE, MemoryAccess::MAKE_POINTER_VISIBLE] {
        if mask.contains(flag) {
            // The scope of the workgroup needs coherence too: a workgroup's waves may run on two compute units.
            let scope = cx.const_u32(inst.id(next)?)?;
            out.access.coherent |= scope != spirv::Scope::Invocation as u32 && scope != spirv::Scope::Subgroup as u32;
            next += 1;
        }
    }
    Ok((out, next))
}

/// The union of two accesses' flags.
fn both(a: Access, b: Access) -> Access {
    Access {
        coherent: a.coherent || b.coherent,
        volatile: a.volatile || b.volatile,
        nontemporal: a.nontemporal || b.nontemporal,
        non_uniform: a.non_uniform || b.non_uniform,
        divergent: a.divergent || b.divergent,
        live_only: a.live_only || b.live_only,
        read_only: (a.read_only || b.read_only) && !a.volatile && !b.volatile,
    }
}

/// Leaves that one access moves: their indices, by offset, and the type of the access.
struct Group {
    offset: u32,
    leaves: SmallVec<[usize; 4]>,
    ty: Type,
}

/// Runs of adjacent leaves of one width. A row-major matrix's leaves are not in memory order.
fn groups(leaves: &[Leaf]) -> List<Group> {
    let stored = |ty: Type| if ty == Type::B1 { Bits::B32 } else { ty.bits() };
    let mut order: List<usize> = (0..leaves.len()).collect();
    if !leaves.is_sorted_by_key(|l| l.offset) {
        order.sort_by_key(|n| leaves.get(*n).map(|l| l.offset));
    }
    let at = |n: usize| order.get(n).and_then(|l| leaves.get(*l));
    let mut out = List::default();
    let mut next = 0;
    while let Some(first) = at(next) {
        let bits = stored(first.ty);
        let most = if bits == Bits::B64 { 2 } else { 4 };
        let follows = |n: usize| {
            at(next + n)
                .is_some_and(|l| stored(l.ty) == bits && l.offset == first.offset.wrapping_add(n as u32 * bits.bytes()))
        };
        let mut n = 1;
        while n < most && follows(n) {
            n += 1;
        }
        // Three narrow lanes have no access of their own.
        if n == 3 && matches!(bits, Bits::B8 | Bits::B16) {
            n = 2;
        }
        let ty = Type::vector(bits, n as u32).unwrap_or(Type::scalar(bits));
        out.push(Group { offset: first.offset, leaves: order.iter().skip(next).take(n).copied().collect(), ty });
        next += n;
    }
    out
}

/// Offsets of the lanes of an access.
fn lane_offsets(ty: Type) -> impl ExactSizeIterator<Item = u32> + Clone {
    (0..ty.lanes()).map(move |lane| lane * ty.bits().bytes())
}

impl Cx<'_> {
    /// Loads the pointee.
    ///
    /// # Errors
    /// Unsupported: a pointee that cannot be a value.
    pub fn load(&mut self, pointer: &Pointer, operands: Operands) -> Result<LeafValues> {
        match pointer.place {
            Storage::Resource { .. } => return self.load_opaque(pointer),
            Storage::Handle { local, once } => return self.held_handle(local, once, pointer.ty),
            Storage::Input(input) => {
                if pointer.dynamic.is_none() {
                    return self.load_input(input, pointer, operands.access.volatile);
                }
                let local = self.input_local(input)?;
                return self.load(&Pointer { place: Storage::Local(local), ..pointer.clone() }, operands);
            }
            Storage::Output(output) => {
                let local = self.output_local(output);
                return self.load(&Pointer { place: Storage::Local(local), ..pointer.clone() }, operands);
            }
            Storage::Texel(_) => return Err(Error::malformed("a load through a texel pointer")),
            _ => {}
        }
        if let Some(ty) = self.types.one_access(pointer.ty, pointer.layout) {
            let offsets = lane_offsets(ty);
            if let Some(held) = self.held(pointer, operands, offsets.clone().map(|offset| (offset, ty.element()))) {
                return Ok(held);
            }
            let wide = self.load_at(pointer, 0, ty, operands)?;
            let out: LeafValues = (0..ty.lanes()).map(|lane| self.b.extract(wide, lane)).collect();
            self.hold(pointer, operands, offsets.zip(out.iter().copied()));
            return Ok(out);
        }
        let leaves = self.types.walk(pointer.ty, pointer.layout)?;
        if let Some(held) = self.held(pointer, operands, leaves.iter().map(|leaf| (leaf.offset, leaf.ty))) {
            return Ok(held);
        }
        let mut out = filled::<Option<Value>>(leaves.len(), None);
        for group in &groups(&leaves) {
            let wide = self.load_at(pointer, group.offset, group.ty, operands)?;
            for (lane, &leaf) in (0..).zip(&group.leaves) {
                let v = self.b.extract(wide, lane);
                let is_bool = leaves.get(leaf).is_some_and(|l| l.ty == Type::B1);
                if let Some(slot) = out.get_mut(leaf) {
                    *slot = Some(if is_bool { self.truth(v) } else { v });
                }
            }
        }
        let out: LeafValues = out.iter().flatten().copied().collect();
        self.hold(pointer, operands, leaves.iter().map(|leaf| leaf.offset).zip(out.iter().copied()));
        Ok(out)
    }

    /// Stores to the pointee.
    ///
    /// # Errors
    /// Malformed: read-only memory, or values of another shape.
    pub fn store(&mut self, pointer: &Pointer, values: &[Value], operands: Operands) -> Result<()> {
        if let Storage::Output(output) = pointer.place {
            self.note_output(output, pointer);
            let local = self.output_local(output);
            return self.store(&Pointer { place: Storage::Local(local), ..pointer.clone() }, values, operands);
        }
        if let Storage::Handle { local, .. } = pointer.place {
            check(self, values, &self.types.leaf_types(pointer.ty)?)?;
            (0..).zip(values).for_each(|(n, v)| self.contents.note(local, n, *v));
            return Ok(());
        }
        if let Some(ty) = self.types.one_access(pointer.ty, pointer.layout)
            && values.len() == ty.lanes() as usize
            && values.iter().all(|v| self.b.ty(*v) == ty.element())
        {
            let wide = self.stored(values);
            self.store_at(pointer, 0, wide, operands)?;
            self.wrote(pointer, operands, lane_offsets(ty).zip(values.iter().copied()));
            return Ok(());
        }
        let leaves = self.types.walk(pointer.ty, pointer.layout)?;
        let same = leaves.len() == values.len() && leaves.iter().zip(values).all(|(l, v)| l.ty == self.b.ty(*v));
        if !same {
            return Err(Error::malformed("the value does not have the type that the pointer points to"));
        }
        for group in &groups(&leaves) {
            let parts: LeafValues = group.leaves.iter().filter_map(|leaf| values.get(*leaf).copied()).collect();
            let wide = self.stored(&parts);
            self.store_at(pointer, group.offset, wide, operands)?;
        }
        self.wrote(pointer, operands, leaves.iter().map(|leaf| leaf.offset).zip(values.iter().copied()));
        Ok(())
    }

    /// The local variable that an access reads or writes, if its leaves are at known offsets and few enough to be
    /// remembered, and it is not volatile.
    fn tracked(&self, pointer: &Pointer, operands: Operands, leaves: usize) -> Option<LocalId> {
        match pointer.place {
            Storage::Local(local) if pointer.dynamic.is_none() && leaves <= MOST_HELD => {
                (!pointer.access.volatile && !operands.access.volatile).then_some(local)
            }
            _ => None,
        }
    }

    /// The values that a load gives, if those of all its leaves are known. `leaves` has their offsets from the pointer,
    /// and their types.
    fn held(
        &self,
        pointer: &Pointer,
        operands: Operands,
        leaves: impl ExactSizeIterator<Item = (u32, Type)>,
    ) -> Option<LeafValues> {
        let local = self.tracked(pointer, operands, leaves.len())?;
        let mut held = LeafValues::with_capacity(leaves.len());
        for (offset, ty) in leaves {
            let value = self.contents.leaf(local, pointer.constant.wrapping_add(offset));
            held.push(value.filter(|v| self.b.ty(*v) == ty)?);
        }
        Some(held)
    }

    /// What a variable for an image, a sampler or both holds.
    fn held_handle(&self, local: LocalId, once: bool, ty: TypeId) -> Result<LeafValues> {
        let held = |n| if once { self.contents.only(local, n) } else { self.contents.leaf(local, n) };
        let all: Option<LeafValues> = (0..self.types.leaf_count(ty)? as u32).map(held).collect();
        let what = "one of several images or samplers, or none, at this place";
        all.ok_or_else(|| Error::unsupported("image or sampler in a variable", what))
    }

    /// Notes the values that an access loaded or stored, each with the offset of its leaf from the pointer.
    fn hold(&mut self, pointer: &Pointer, operands: Operands, leaves: impl ExactSizeIterator<Item = (u32, Value)>) {
        if let Some(local) = self.tracked(pointer, operands, leaves.len()) {
            leaves.for_each(|(offset, v)| self.contents.note(local, pointer.constant.wrapping_add(offset), v));
        }
    }

    /// Notes the values that a store wrote. If it is not known which leaves these are, the whole variable is forgotten.
    fn wrote(&mut self, pointer: &Pointer, operands: Operands, leaves: impl ExactSizeIterator<Item = (u32, Value)>) {
        match pointer.place {
            Storage::Local(local) if self.tracked(pointer, operands, leaves.len()).is_none() => {
                self.contents.forget(local);
            }
            _ => self.hold(pointer, operands, leaves),
        }
    }

    /// The value that one access stores for its leaves: booleans become 32 bits; components taken from one vector, in
    /// order, become that vector again.
    fn stored(&mut self, parts: &[Value]) -> Value {
        let whole = parts.first().and_then(|v| self.b.shader.def(*v)).and_then(|d| d.args.first().copied());
        if let Some(whole) = whole
            && self.b.ty(whole).lanes() as usize == parts.len()
            && parts.iter().zip(0..).all(|(v, lane)| {
                self.b.shader.def(*v).is_some_and(|d| d.op == Ir::Extract(lane) && d.args.first() == Some(&whole))
            })
        {
            return whole;
        }
        let bits = |cx: &mut Self, v: Value| match cx.b.ty(v) {
            Type::B1 => cx.b.convert(AluOp::ZExt, v, Type::B32),
            _ => v,
        };
        let parts: LeafValues = parts.iter().map(|v| bits(self, *v)).collect();
        self.b.compose(&parts)
    }

    /// A boolean from its 32 bits in memory.
    pub fn truth(&mut self, v: Value) -> Value {
        let zero = self.b.c32(0);
        self.b.alu(AluOp::INe, &[v, zero])
    }

    fn align_at(&self, pointer: &Pointer, extra: u32, operands: Operands) -> Align {
        // A local has only the alignment it was given; buffers and push constants have that of the offset.
        let base = match pointer.place {
            Storage::Local(local) => self.b.shader.locals.get(local.index()).map_or(Align::A1, |l| l.align),
            Storage::Table(_) | Storage::Shared => Align::A16,
            _ => Align::of_offset(0),
        };
        let known = match operands.align {
            Some(a) => pointer.align(extra).max(a.min(Align::of_offset(extra))),
            None if matches!(pointer.place, Storage::Global(_)) => {
                let natural = self.types.packed_align(pointer.ty).min(8);
                let natural = Align::from_bytes(natural).unwrap_or(Align::A1);
                pointer.align(extra).max(natural.min(Align::of_offset(extra)))
            }
            None => pointer.align(extra),
        };
        known.min(base)
    }

    fn load_at(&mut self, pointer: &Pointer, extra: u32, ty: Type, operands: Operands) -> Result<Value> {
        let align = self.align_at(pointer, extra, operands);
        let access = both(pointer.access, operands.access);
        match pointer.place {
            Storage::Table(table) => {
                let offset = self.byte_offset(pointer, extra);
                return Ok(self.b.value(Ir::ConstLoad { table, align }, &[offset], ty));
            }
            Storage::PushConstant => {
                let offset = self.byte_offset(pointer, extra);
                return Ok(self.b.value(Ir::PushConstant { align }, &[offset], ty));
            }
            _ => {}
        }
        Ok(match self.memory(pointer, extra)? {
            PointerMemory::Local(local, offset) => self.b.value(Ir::LocalLoad { local, align }, &[offset], ty),
            PointerMemory::Shared(offset) => self.b.value(Ir::SharedLoad { align, access }, &[offset], ty),
            PointerMemory::Buffer { descriptor, offset, kind } => {
                let access = Access { read_only: access.is_unwritten(kind), ..access };
                self.b.value(Ir::BufferLoad { kind, align, access }, &[descriptor, offset], ty)
            }
            PointerMemory::Global(address) => self.b.value(Ir::GlobalLoad { align, access }, &[address], ty),
        })
    }

    fn store_at(&mut self, pointer: &Pointer, extra: u32, value: Value, operands: Operands) -> Result<()> {
        let align = self.align_at(pointer, extra, operands);
        let access = Access { read_only: false, ..both(pointer.access, operands.access) };
        if let Storage::Buffer { resource, .. } = pointer.place
            && self.resource_kind(resource) == Some(ResourceKind::UniformBuffer)
        {
            return Err(Error::malformed("a store to a uniform buffer"));
        }
        match self.memory(pointer, extra)? {
            PointerMemory::Local(local, offset) => self.b.effect(Ir::LocalStore { local, align }, &[offset, value]),
            PointerMemory::Shared(offset) => self.b.effect(Ir::SharedStore { align, access }, &[offset, value]),
            PointerMemory::Buffer { descriptor, offset, .. } => {
                self.b.effect(Ir::BufferStore { align, access }, &[descriptor, offset, value]);
            }
            PointerMemory::Global(address) => self.b.effect(Ir::GlobalStore { align, access }, &[address, value]),
        }
        Ok(())
    }

    /// Descriptors of an image, sampler or both; of an array, those of all its elements.
    fn load_opaque(&mut self, pointer: &Pointer) -> Result<LeafValues> {
        let Storage::Resource { resource, index } = pointer.place else {
            return Err(Error::malformed("an image or a sampler that is no resource"));
        };
        let (mut elements, mut ty) = (1u32, pointer.ty);
        while let Ty::Array { elem, len, .. } = *self.types.get(ty) {
            elements = elements.saturating_mul(len);
            ty = elem;
        }
        let parts: &[DescriptorPart] = match *self.types.get(ty) {
            Ty::Image { dim: spirv::Dim::DimBuffer, .. } => &[DescriptorPart::TexelBuffer],
            Ty::Image { .. } => &[DescriptorPart::Image],
            Ty::Sampler => &[DescriptorPart::Sampler],
            Ty::SampledImage { .. } => &[DescriptorPart::Image, DescriptorPart::Sampler],
            _ => return Err(Error::unsupported("run-time array of resources as a value", "")),
        };
        let non_uniform = pointer.access.non_uniform;
        let mut out = LeafValues::with_capacity(self.types.leaf_count(pointer.ty)?);
        for n in 0..elements {
            let at = match index {
                Index::Const(first) => Index::Const(first.wrapping_add(n)),
                Index::Dynamic(first) if n > 0 => {
                    let n = self.b.c32(n);
                    Index::Dynamic(self.b.iadd(first, n))
                }
                first => first,
            };
            out.extend(parts.iter().map(|&part| self.descriptor(resource, at, part, non_uniform)));
        }
        Ok(out)
    }
}

fn array_length(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let pointer = cx.pointer(inst.id(0)?)?;
    let member = inst.literal(1)?;
    let Ty::Struct { members, .. } = cx.types.get(pointer.ty) else { return Err(inst.malformed("not of a struct")) };
    let Some((offset, layout)) = cx.types.member(pointer.ty, member as usize, MemoryLayout::EXPLICIT) else {
        return Err(inst.malformed("no such member"));
    };
    let array = cx.types.members(*members).get(member as usize).map_or(pointer.ty, |m| m.ty);
    let Ty::RuntimeArray { elem, .. } = *cx.types.get(array) else {
        return Err(inst.malformed("not a run-time array"));
    };
    let stride = cx.types.stride(array, elem, layout).max(1);
    let PointerMemory::Buffer { descriptor, .. } = cx.memory(&pointer, 0)? else {
        return Err(inst.unsupported("of what is not a buffer"));
    };
    let size = cx.b.value(Ir::BufferSize, &[descriptor], Type::B32);
    // A buffer range smaller than the fixed part must not wrap to a huge length.
    let fixed = cx.b.c32(offset);
    let rest = cx.b.alu(AluOp::USubSat, &[size, fixed]);
    let stride = cx.b.c32(stride);
    let length = cx.b.alu(AluOp::UDiv, &[rest, stride]);
    cx.set(inst.result()?, [length].as_slice());
    Ok(())
}

fn texel_pointer(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let mut image = cx.pointer(inst.id(0)?)?;
    image.access.non_uniform |= cx.non_uniform(inst.id(0)?) || cx.non_uniform(inst.result()?);
    let Ty::Image { ms, .. } = *cx.types.get(image.ty) else { return Err(inst.malformed("not of an image")) };
    let Ty::Pointer { pointee, .. } = *cx.types.get(cx.result_type(inst)?) else {
        return Err(inst.malformed("the result is no pointer"));
    };
    let [descriptor] = *cx.load_opaque(&image)?.as_slice() else { return Err(inst.malformed("not of an image")) };
    let coords = SmallVec::from_slice(&saturated(cx, inst.id(1)?)?);
    let sample = if ms { saturated(cx, inst.id(2)?)?.first().copied() } else { None };
    let texel = TexelPointer { image: descriptor, image_type: image.ty, coords, sample };
    let mut pointer = Pointer::new(Storage::Texel(texel), pointee, MemoryLayout::PACKED);
    pointer.access = image.access;
    cx.set_pointer(inst.result()?, pointer);
    Ok(())
}
