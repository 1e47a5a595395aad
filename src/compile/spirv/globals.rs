//! Declares everything outside functions: types, constants, and the variables that the entry point uses.
//!
//! It walks the globals once in file order, because array lengths are constants and constants have types. A variable
//! becomes a pointer: to a binding, an input or output, workgroup memory, push constants, or a local.

use super::bfloat;
use super::constants::ConstantLeaves;
use super::cx::{Cx, Def, Index, Pointer, Storage};
use super::instruction::SpirvInst;
use super::types::{Members, MemoryLayout, StructMember, Ty, TypeId};
use super::usage::Usage;
use super::zeroed::UNIT;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::List;
use dovetail_ir::{Align, Bits, BufferKind, Local, LocalId, Resource, ResourceId, ResourceKind};
use rspirv::dr::Operand;
use spirv::{Capability, Decoration, FPEncoding, Op, StorageClass};

/// Limit of bytes of one local variable; a shader above it is refused.
const MAX_LOCAL: u32 = 1 << 20;

/// Declares all globals; variables only if `usage` contains them.
///
/// # Errors
/// Malformed or unsupported declarations.
pub fn declare(cx: &mut Cx<'_>, usage: &Usage) -> Result<()> {
    for (n, import) in cx.module.imports().enumerate() {
        cx.define(import.result()?, Def::Import(n as u32));
    }
    for (n, f) in cx.module.functions().enumerate() {
        cx.define(f.def.result()?, Def::Function(n as u32));
    }
    let module = cx.module;
    let mut variables = List::<u32>::default();
    for (at, inst) in module.globals().enumerate() {
        let inst = &inst;
        match inst.op() {
            Op::Variable => {
                let id = inst.result()?;
                note_access(cx, id);
                if usage.is_used(id) || usage.is_initialized(id) && is_block(cx, inst)? {
                    let pointer = variable(cx, inst, usage).map_err(|e| e.at(format!("variable %{id}")))?;
                    cx.set_pointer(id, pointer);
                    variables.push(id);
                }
            }
            Op::TypeForwardPointer => forward_pointer(cx, inst)?,
            op if op.is_type() && inst.result_id.is_some() => declare_type(cx, inst).map_err(|e| e.at(inst.place()))?,
            Op::ExtInst => {} // non-semantic information
            _ => {
                bfloat::check(cx, inst)?;
                let c = cx.declare_constant(at, inst).map_err(|e| e.at(inst.place()))?;
                cx.define(inst.result()?, Def::Constant(c));
            }
        }
    }
    doubt_read_only(cx, &variables)
}

/// Records the access decorations of a binding's variable, used or not.
fn note_access(cx: &mut Cx<'_>, id: u32) {
    let number = |d| cx.module.decoration(id, d);
    if let (Some(set), Some(binding)) = (number(Decoration::DescriptorSet), number(Decoration::Binding)) {
        let is = |d| cx.module.is_decorated(id, d);
        let (coherent, volatile) = (is(Decoration::Coherent), is(Decoration::Volatile));
        let noted = cx.shared_access.entry((set, binding)).or_default();
        *noted = (noted.0 || coherent, noted.1 || volatile);
    }
}

/// Clears `read_only` of storage buffers if the shader may write the same memory through another variable.
///
/// `NonWritable` means that nothing is written through this variable. Whether a load may move across a store through
/// another variable depends on aliasing. By SPIR-V 2.18.2, under Vulkan's memory models, two variables may be assumed
/// not to alias unless both are `Aliased`, and `Restrict` adds nothing. But compilers decorate buffers of GLSL's
/// `readonly` in the same way whether another binding aliases them or not, and programs that work in place rely on it.
/// And two variables of one binding are the same descriptors, whatever their decorations. So these variables count as
/// never written (`Access::read_only`, which allows the scalar cache and moving loads across stores):
///
/// | variable | never written |
/// | --- | --- |
/// | `Aliased`, `Coherent`, `Volatile` | not known |
/// | uniform block | yes: it is read-only, and a writable alias would require it to be `Aliased` |
/// | `NonWritable`, and another variable of its binding is written | not known |
/// | `NonWritable`, `Restrict` | yes |
/// | `NonWritable` | where the shader writes no buffer at all, and has no addresses of buffers |
fn doubt_read_only(cx: &mut Cx<'_>, variables: &[u32]) -> Result<()> {
    use ResourceKind::{StorageBuffer, StorageTexelBuffer};
    let physical = cx.module.capabilities.contains(&spirv::Capability::PhysicalStorageBufferAddresses);
    let of = |r: &Resource| (r.set, r.binding);
    let written = |r: &&Resource| r.written && matches!(r.kind, StorageBuffer | StorageTexelBuffer);
    let written: List<(u32, u32)> = cx.b.shader.resources.iter().filter(written).map(of).collect();
    for &id in variables.iter().filter(|_| physical || !written.is_empty()) {
        let mut pointer = cx.pointer(id)?;
        let Storage::Buffer { resource, kind: BufferKind::Storage, .. } = pointer.place else { continue };
        let here = cx.b.shader.resources.get(resource.index()).is_some_and(|r| written.contains(&of(r)));
        if here || !cx.module.is_decorated(id, Decoration::Restrict) {
            pointer.access.read_only = false;
            cx.set_pointer(id, pointer);
        }
    }
    Ok(())
}

fn forward_pointer(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    if !matches!(inst.operand(1)?, Operand::StorageClass(StorageClass::PhysicalStorageBuffer)) {
        return Err(inst.unsupported("to anything but physical memory"));
    }
    let stride = 0;
    let ty =
        cx.types.add(Ty::Pointer { class: StorageClass::PhysicalStorageBuffer, pointee: TypeId(u32::MAX), stride })?;
    cx.define(inst.id(0)?, Def::Type(ty));
    Ok(())
}

fn declare_type(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<()> {
    let id = inst.result()?;
    let stride = cx.module.decoration(id, Decoration::ArrayStride).unwrap_or(0);
    let bits = |n: usize| -> Result<Bits> {
        let count = inst.literal(n)?;
        Bits::from_count(count)
            .filter(|b| *b != Bits::B1)
            .ok_or_else(|| Error::unsupported("scalar type", format!("of {count} bits")))
    };
    let ty = match inst.op() {
        Op::TypeVoid => Ty::Void,
        Op::TypeBool => Ty::Bool,
        Op::TypeInt => Ty::Int { bits: bits(0)?, signed: inst.literal(1)? != 0 },
        Op::TypeFloat => match (bits(0)?, inst.operands.get(1)) {
            (bits, None) if bits != Bits::B8 => Ty::Float { bits },
            (Bits::B16, Some(Operand::FPEncoding(FPEncoding::BFloat16KHR))) => {
                let declared = [Capability::BFloat16TypeKHR, Capability::BFloat16DotProductKHR];
                if !declared.iter().any(|c| cx.module.capabilities.contains(c)) {
                    return Err(inst.malformed("a bfloat16 without the capability BFloat16TypeKHR"));
                }
                Ty::BFloat16
            }
            _ => return Err(Error::unsupported("float encoding", format!("{:?}", inst.operands))),
        },
        Op::TypeVector => {
            let (elem, count) = (cx.named_type(inst.id(0)?)?, inst.literal(1)?);
            if cx.types.scalar(elem).is_none() || !(2..=16).contains(&count) {
                return Err(inst.malformed("a vector of a non-scalar type, or of a wrong size"));
            }
            Ty::Vector { elem, count }
        }
        Op::TypeMatrix => {
            let (column, count) = (cx.named_type(inst.id(0)?)?, inst.literal(1)?);
            if !matches!(cx.types.get(column), Ty::Vector { .. }) || !(2..=4).contains(&count) {
                return Err(inst.malformed("a matrix of a non-vector type, or of a wrong size"));
            }
            Ty::Matrix { column, count }
        }
        Op::TypeArray => {
            let elem = cx.named_type(inst.id(0)?)?;
            let len = cx.const_u32(inst.id(1)?)?;
            if len == 0 {
                return Err(inst.malformed("an array of length 0"));
            }
            Ty::Array { elem, len, stride }
        }
        Op::TypeRuntimeArray => Ty::RuntimeArray { elem: cx.named_type(inst.id(0)?)?, stride },
        Op::TypeStruct => {
            let members = members(cx, inst, id)?;
            let buffer_block = cx.module.is_decorated(id, Decoration::BufferBlock);
            let block = buffer_block || cx.module.is_decorated(id, Decoration::Block);
            Ty::Struct { members, block, buffer_block }
        }
        Op::TypePointer => {
            let Operand::StorageClass(class) = *inst.operand(0)? else { return Err(inst.malformed("no class")) };
            let pointee = cx.named_type(inst.id(1)?)?;
            if let Some(Def::Type(forward)) = cx.known(id) {
                let forward = *forward;
                cx.types.set_pointee(forward, pointee, stride);
                return Ok(());
            }
            Ty::Pointer { class, pointee, stride }
        }
        Op::TypeImage => image(cx, inst)?,
        Op::TypeSampler => Ty::Sampler,
        Op::TypeSampledImage => {
            let image = cx.named_type(inst.id(0)?)?;
            match cx.types.get(image) {
                // A texel buffer is never sampled, so it needs no sampler.
                buffer @ Ty::Image { dim: spirv::Dim::DimBuffer, .. } => *buffer,
                Ty::Image { .. } => Ty::SampledImage { image },
                _ => return Err(inst.malformed("a sampled image of a type that is not an image")),
            }
        }
        Op::TypeFunction => Ty::Function,
        _ => return Err(inst.not_translated()),
    };
    let ty = cx.types.add(ty)?;
    cx.define(id, Def::Type(ty));
    Ok(())
}

fn image(cx: &Cx<'_>, inst: &SpirvInst<'_>) -> Result<Ty> {
    match (inst.operand(1)?, inst.operand(6)?) {
        _ if cx.types.is_bfloat(cx.named_type(inst.id(0)?)?) => Err(inst.malformed("an image of bfloat16")),
        (Operand::Dim(dim), Operand::ImageFormat(format)) => Ok(Ty::Image {
            sampled_type: cx.named_type(inst.id(0)?)?,
            dim: *dim,
            depth: inst.literal(2)?,
            arrayed: inst.literal(3)? != 0,
            ms: inst.literal(4)? != 0,
            sampled: inst.literal(5)?,
            format: *format,
        }),
        _ => Err(inst.malformed("not an image type")),
    }
}

fn members(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, id: u32) -> Result<Members> {
    let mut members = Members::default();
    for n in 0..inst.len() {
        let ty = cx.named_type(inst.id(n)?)?;
        let member = StructMember {
            ty,
            offset: 0,
            matrix_stride: 0,
            row_major: false,
            non_writable: false,
            coherent: false,
            volatile: false,
        };
        cx.types.add_member(&mut members, member);
    }
    for d in cx.module.decorations(id) {
        let Some(m) = d.member.and_then(|n| cx.types.members_mut(members).get_mut(n as usize)) else { continue };
        let value = d.value.unwrap_or(0);
        match d.decoration {
            Decoration::Offset => m.offset = value,
            Decoration::MatrixStride => m.matrix_stride = value,
            Decoration::RowMajor => m.row_major = true,
            Decoration::NonWritable => m.non_writable = true,
            Decoration::Coherent => m.coherent = true,
            Decoration::Volatile => m.volatile = true,
            _ => {}
        }
    }
    Ok(members)
}

/// The pointer of a global variable.
fn variable(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, usage: &Usage) -> Result<Pointer> {
    let id = inst.result()?;
    let Ty::Pointer { class, pointee, .. } = *cx.types.get(cx.result_type(inst)?) else {
        return Err(inst.malformed("the type of a variable is not a pointer"));
    };
    if cx.types.reaches_pointers(pointee) && class != StorageClass::Private {
        return Err(inst.malformed("pointers in memory that is not of one invocation"));
    }
    match class {
        StorageClass::Input => {
            Ok(Pointer::new(Storage::Input(cx.declare_input(id, pointee)?), pointee, MemoryLayout::PACKED))
        }
        StorageClass::Output => {
            let output = cx.declare_output(id, pointee)?;
            let pointer = Pointer::new(Storage::Output(output), pointee, MemoryLayout::PACKED);
            initialize(cx, inst, &pointer)?;
            Ok(pointer)
        }
        StorageClass::Private => {
            if let Some(table) = usage.constant_table(cx, id)? {
                return Ok(Pointer::new(Storage::Table(table), pointee, MemoryLayout::PACKED));
            }
            let local = cx.new_local(id, pointee)?;
            // Not `once`: a function that stores to the variable may be called several times, with other values.
            let handle = Storage::Handle { local, once: false };
            let place = if cx.types.is_handle(pointee) { handle } else { Storage::Local(local) };
            let pointer = Pointer::new(place, pointee, MemoryLayout::PACKED);
            initialize(cx, inst, &pointer)?;
            Ok(pointer)
        }
        StorageClass::Workgroup => shared(cx, inst, pointee),
        StorageClass::PushConstant => {
            let end = cx.types.size(pointee, MemoryLayout::EXPLICIT);
            let bytes = &mut cx.b.shader.push_constant_bytes;
            *bytes = (*bytes).max(end);
            Ok(Pointer::new(Storage::PushConstant, pointee, MemoryLayout::EXPLICIT))
        }
        StorageClass::Uniform | StorageClass::StorageBuffer => buffer(cx, id, class, pointee),
        StorageClass::UniformConstant => opaque(cx, id, pointee),
        _ => Err(Error::unsupported(format!("storage class {class:?}"), "")),
    }
}

/// The initializer of a variable, and what it consists of if it is a constant; `None` if there is none, or an undefined one.
fn initializer<'c>(cx: &'c Cx<'_>, inst: &SpirvInst<'_>) -> Result<Option<(u32, Option<&'c ConstantLeaves>)>> {
    let Some(value) = inst.opt_id(1)? else { return Ok(None) };
    let leaves = match *cx.def(value)? {
        Def::Constant(c) => cx.constants.get(c).map(|c| &c.leaves),
        _ => None,
    };
    Ok(Some((value, leaves)).filter(|_| !matches!(leaves, Some(ConstantLeaves::Undef))))
}

fn initialize(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, pointer: &Pointer) -> Result<()> {
    let Some((value, _)) = initializer(cx, inst)? else { return Ok(()) };
    let values = cx.values(value)?;
    cx.store(pointer, &values, Default::default())
}

/// Whether the pointee of a variable is a block, whose memory other blocks of workgroup memory share.
fn is_block(cx: &Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    let Ty::Pointer { pointee, .. } = *cx.types.get(cx.result_type(inst)?) else { return Ok(false) };
    Ok(matches!(cx.types.get(pointee), Ty::Struct { block: true, .. }))
}

/// Workgroup variables are placed one after the other at multiples of 16 bytes; explicitly laid out blocks all start at
/// 0.
fn shared(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, pointee: TypeId) -> Result<Pointer> {
    let zeroed = match initializer(cx, inst)? {
        None => false,
        Some((_, Some(ConstantLeaves::Null))) => true,
        Some((_, Some(_))) => return Err(Error::unsupported("initializer of workgroup memory other than zero", "")),
        Some((_, None)) => return Err(inst.malformed("the initializer is no constant")),
    };
    let explicit = is_block(cx, inst)?;
    let layout = if explicit { MemoryLayout::EXPLICIT } else { MemoryLayout::PACKED };
    let size = cx.types.size(pointee, layout);
    let start = if explicit { 0 } else { cx.b.shader.shared_bytes.next_multiple_of(16) };
    let end = start.saturating_add(if zeroed { size.saturating_add(UNIT - 1) / UNIT * UNIT } else { size });
    if end > 1 << 16 {
        return Err(Error::unsupported("workgroup memory", format!("{end} bytes")));
    }
    cx.b.shader.shared_bytes = cx.b.shader.shared_bytes.max(end);
    cx.b.shader.shared_variables.push(start..end);
    if zeroed && start < end {
        cx.zeroed.push(start..end);
    }
    let mut pointer = Pointer::new(Storage::Shared, pointee, layout);
    pointer.constant = start;
    Ok(pointer)
}

/// Number of descriptors (`None`: run-time array) and the type of one.
fn descriptors(cx: &Cx<'_>, mut ty: TypeId) -> (Option<u32>, TypeId) {
    let mut count = Some(1u32);
    loop {
        match *cx.types.get(ty) {
            Ty::Array { elem, len, .. } => {
                count = count.map(|n| n.saturating_mul(len));
                ty = elem;
            }
            Ty::RuntimeArray { elem, .. } => {
                count = None;
                ty = elem;
            }
            _ => return (count, ty),
        }
    }
}

fn resource(cx: &mut Cx<'_>, id: u32, kind: ResourceKind, count: Option<u32>, read_only: bool) -> Result<ResourceId> {
    let binding = cx.module.decoration(id, Decoration::Binding);
    let (Some(set), Some(binding)) = (cx.module.decoration(id, Decoration::DescriptorSet), binding) else {
        return Err(Error::malformed("a resource without a descriptor set and binding"));
    };
    use ResourceKind::{StorageBuffer, StorageImage, StorageTexelBuffer};
    let written = matches!(kind, StorageBuffer | StorageImage | StorageTexelBuffer) && !read_only;
    if let Some(&known) = cx.bindings.get(&(set, binding, kind, count)) {
        if let Some(r) = cx.b.shader.resources.get_mut(known.index()) {
            r.written |= written;
        }
        return Ok(known);
    }
    let name = cx.module.name(id);
    let id = ResourceId(cx.b.shader.resources.len() as u32);
    cx.b.shader.resources.push(Resource { name, set, binding, kind, count, written });
    cx.bindings.insert((set, binding, kind, count), id);
    Ok(id)
}

fn buffer(cx: &mut Cx<'_>, id: u32, class: StorageClass, pointee: TypeId) -> Result<Pointer> {
    let (count, block) = descriptors(cx, pointee);
    let Ty::Struct { members, buffer_block, .. } = cx.types.get(block) else {
        return Err(Error::malformed("a buffer of a type that is not a struct"));
    };
    let members = cx.types.members(*members);
    let read_only = !members.is_empty() && members.iter().all(|m| m.non_writable);
    let read_only = read_only || cx.module.is_decorated(id, Decoration::NonWritable);
    let aliased = cx.module.is_decorated(id, Decoration::Aliased);
    let uniform = class == StorageClass::Uniform && !buffer_block;
    let kind = if uniform { ResourceKind::UniformBuffer } else { ResourceKind::StorageBuffer };
    // The rules of uniform buffers hold only for memory that nothing writes.
    let buffer = if uniform && !aliased { BufferKind::Uniform } else { BufferKind::Storage };
    let resource = resource(cx, id, kind, count, read_only)?;
    let place = Storage::Buffer { resource, index: Index::Const(0), kind: buffer };
    let mut pointer = Pointer::new(place, pointee, MemoryLayout::EXPLICIT);
    pointer.access.coherent = cx.module.is_decorated(id, Decoration::Coherent);
    pointer.access.volatile = cx.module.is_decorated(id, Decoration::Volatile);
    let plain = !aliased && !pointer.access.coherent && !pointer.access.volatile;
    pointer.access.read_only = buffer == BufferKind::Uniform || read_only && plain;
    Ok(pointer)
}

fn opaque(cx: &mut Cx<'_>, id: u32, pointee: TypeId) -> Result<Pointer> {
    use ResourceKind as K;
    let (count, ty) = descriptors(cx, pointee);
    let kind = match cx.types.get(ty) {
        Ty::Sampler => K::Sampler,
        Ty::SampledImage { .. } => K::CombinedImageSampler,
        Ty::Image { dim: spirv::Dim::DimSubpassData, .. } => K::InputAttachment,
        Ty::Image { dim: spirv::Dim::DimBuffer, sampled: 1, .. } => K::UniformTexelBuffer,
        Ty::Image { dim: spirv::Dim::DimBuffer, sampled: 2, .. } => K::StorageTexelBuffer,
        Ty::Image { sampled: 1, .. } => K::SampledImage,
        Ty::Image { sampled: 2, .. } => K::StorageImage,
        Ty::Struct { .. } => {
            let why = "images and samplers in a struct: Vulkan has no descriptor for it, declare each as a variable";
            return Err(Error::malformed(why));
        }
        _ => return Err(Error::unsupported("resource type", format!("{:?}", cx.types.get(ty)))),
    };
    let read_only = cx.module.is_decorated(id, Decoration::NonWritable);
    let resource = resource(cx, id, kind, count, read_only)?;
    let mut pointer =
        Pointer::new(Storage::Resource { resource, index: Index::Const(0) }, pointee, MemoryLayout::EXPLICIT);
    pointer.access.coherent = cx.module.is_decorated(id, Decoration::Coherent);
    pointer.access.volatile = cx.module.is_decorated(id, Decoration::Volatile);
    Ok(pointer)
}

impl Cx<'_> {
    /// A new local variable for values of a type, with the id's name.
    pub(super) fn new_local(&mut self, id: u32, ty: TypeId) -> Result<LocalId> {
        // A structure without members takes no memory, and nothing is ever read there.
        let bytes = self.types.size(ty, MemoryLayout::PACKED).max(1);
        if bytes > MAX_LOCAL {
            return Err(Error::unsupported("local variable", format!("%{id} of {bytes} bytes")));
        }
        let align = if bytes >= 16 { Align::A16 } else { Align::A8 };
        Ok(self.b.shader.add_local(Local { name: self.module.name(id), bytes, align }))
    }
}
