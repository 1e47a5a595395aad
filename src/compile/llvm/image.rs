//! Image instructions: `llvm.amdgcn.image.*`.
//!
//! An intrinsic's name consists of operation, modifiers and shape. Its operands are in the IR's order, except that the
//! descriptors follow the address. LLVM ends the process if a result has fewer lanes than the channel mask, and reads
//! unrelated registers if stored data have fewer, so both are checked.

use super::atomic::AtomicPlace;
use super::buffer::{load_policy, store_policy};
use super::values::{Cx, Llvm};
use crate::values::Built;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Access, AtomicOp, Bits, LodMode, MimgDim, MimgInst, MimgOp, Type, Value};
use inkwell::types::BasicTypeEnum;

/// Operands taken in sequence.
struct Operands<'a> {
    rest: &'a [Value],
}

impl<'a> Operands<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [Value]> {
        let (head, tail) =
            self.rest.split_at_checked(n).ok_or_else(|| Error::bug("an image operation lacks operands"))?;
        self.rest = tail;
        Ok(head)
    }

    fn one(&mut self) -> Result<Value> {
        Cx::arg(self.take(1)?, 0)
    }
}

impl<'c> Cx<'_, 'c> {
    /// Translates one image instruction. `ty` is its result's type, if it has one.
    pub fn mimg(&self, inst: &MimgInst, args: &[Value], ty: Option<Type>) -> Result<Option<Llvm<'c>>> {
        if args.len() != inst.operands() {
            let what = format!("{} operands for an image operation that takes {}", args.len(), inst.operands());
            return Err(Error::bug(what));
        }
        let mut operands = Operands { rest: args };
        match inst.op {
            MimgOp::Sample | MimgOp::Gather4 | MimgOp::GetLod => self.sample(inst, &mut operands, ty).map(Some),
            MimgOp::Load | MimgOp::LoadMip => self.image_load(inst, &mut operands, ty).map(Some),
            MimgOp::Store | MimgOp::StoreMip => self.image_store(inst, &mut operands).map(|()| None),
            MimgOp::Atomic(op) => self.image_atomic(inst, op, &mut operands).map(Some),
            MimgOp::GetResinfo => self.resinfo(inst, &mut operands, ty).map(Some),
        }
    }

    fn sample(&self, inst: &MimgInst, operands: &mut Operands<'_>, ty: Option<Type>) -> Result<Llvm<'c>> {
        let (image, sampler) = (self.int(operands.one()?)?, self.int(operands.one()?)?);
        let mut name = String::from("llvm.amdgcn.image.");
        name += match inst.op {
            MimgOp::Gather4 => "gather4",
            MimgOp::GetLod => "getlod",
            _ => "sample",
        };
        for (present, suffix) in [
            (inst.compare, ".c"),
            (inst.lod == LodMode::Bias, ".b"),
            (inst.lod == LodMode::Explicit, ".l"),
            (inst.lod == LodMode::Zero, ".lz"),
            (inst.lod == LodMode::Gradient, ".d"),
            (inst.clamp, ".cl"),
            (inst.offset, ".o"),
        ] {
            if present {
                name += suffix;
            }
        }
        // A level query of an array takes no layer, and uses the shape without layers.
        let dim = match (inst.op, inst.dim) {
            (MimgOp::GetLod, MimgDim::D1Array) => MimgDim::D1,
            (MimgOp::GetLod, MimgDim::D2Array) => MimgDim::D2,
            (_, dim) => dim,
        };
        name = format!("{name}.{}", spelled(dim));

        let data = self.image_data(inst, ty)?;
        let mut overloads = vec![data];
        let mut out: Vec<Llvm<'c>> = vec![self.c32(u32::from(inst.dmask)).into()];
        if inst.offset {
            out.push(self.int(operands.one()?)?);
        }
        if inst.lod == LodMode::Bias {
            let bias = self.float(operands.one()?)?;
            overloads.push(bias.get_type());
            out.push(bias);
        }
        if inst.compare {
            out.push(self.float(operands.one()?)?);
        }
        if inst.lod == LodMode::Gradient {
            let gradients = self.floats(operands.take(2 * inst.dim.gradients())?)?;
            overloads.extend(gradients.first().map(|g| g.get_type()));
            out.extend(gradients);
        }
        let coords = self.floats(operands.take(dim.coords())?)?;
        overloads.extend(coords.first().map(|c| c.get_type()));
        out.extend(coords);
        if inst.lod == LodMode::Explicit || inst.clamp {
            out.push(self.float(operands.one()?)?);
        }
        let policy = self.c32(load_policy(inst.access)).into();
        let fail = self.c32(u32::from(inst.tfe)).into();
        out.extend([image, sampler, self.cbool(inst.unnormalized).into(), fail, policy]);
        self.call(&name, &overloads, &out).and_then(|v| self.image_result(v, ty))
    }

    fn image_load(&self, inst: &MimgInst, operands: &mut Operands<'_>, ty: Option<Type>) -> Result<Llvm<'c>> {
        let image = self.int(operands.one()?)?;
        let mip = inst.op == MimgOp::LoadMip;
        let name = format!("llvm.amdgcn.image.load.{}{}", if mip { "mip." } else { "" }, spelled(inst.dim));
        let data = self.image_data(inst, ty)?;
        let coords = self.ints(operands.take(inst.dim.coords() + usize::from(mip))?)?;
        let v = self.image_read(&name, data, inst.dmask, &coords, image, inst.access)?;
        self.image_result(v, ty)
    }

    /// A read; if `data` is a structure, it returns the texel and its residency status.
    fn image_read(
        &self,
        name: &str,
        data: BasicTypeEnum<'c>,
        dmask: u8,
        coords: &[Llvm<'c>],
        image: Llvm<'c>,
        access: Access,
    ) -> Result<Llvm<'c>> {
        let mut out: Vec<Llvm<'c>> = vec![self.c32(u32::from(dmask)).into()];
        out.extend(coords);
        let fail = u32::from(data.is_struct_type());
        out.extend([image, self.c32(fail).into(), self.c32(load_policy(access)).into()]);
        self.call(name, &[data, first_type(coords)?], &out)
    }

    fn image_store(&self, inst: &MimgInst, operands: &mut Operands<'_>) -> Result<()> {
        let image = self.int(operands.one()?)?;
        let value = operands.one()?;
        let mip = inst.op == MimgOp::StoreMip;
        let name = format!("llvm.amdgcn.image.store.{}{}", if mip { "mip." } else { "" }, spelled(inst.dim));
        // Stores take only floats, whatever the bits mean.
        let data = self.cast(self.value(value)?, self.image_data(inst, Some(self.shader.ty(value)))?)?;
        let coords = self.ints(operands.take(inst.dim.coords() + usize::from(mip))?)?;
        let overloads = [data.get_type(), first_type(&coords)?];
        let mut out = vec![data, self.c32(u32::from(inst.dmask)).into()];
        out.extend(&coords);
        out.extend([image, self.c32(0).into(), self.c32(store_policy(inst.access)).into()]);
        self.call_void(&name, &overloads, &out)
    }

    fn image_atomic(&self, inst: &MimgInst, op: AtomicOp, operands: &mut Operands<'_>) -> Result<Llvm<'c>> {
        let image = self.int(operands.one()?)?;
        let data = operands.take(if op == AtomicOp::CompareExchange { 2 } else { 1 })?;
        let bits = self.shader.ty(Self::arg(data, 0)?).bits();
        let coords = self.ints(operands.take(inst.dim.coords())?)?;
        let place = ImagePlace { image, coords, dim: inst.dim, access: inst.access };
        self.atomic_at(&place, op, data, bits)
    }

    fn resinfo(&self, inst: &MimgInst, operands: &mut Operands<'_>, ty: Option<Type>) -> Result<Llvm<'c>> {
        let image = self.int(operands.one()?)?;
        let mip = self.ints(operands.take(1)?)?;
        let name = format!("llvm.amdgcn.image.getresinfo.{}", spelled(inst.dim));
        let data = self.image_data(inst, ty)?;
        let v = self.image_read(&name, data, inst.dmask, &mip, image, Access::default())?;
        self.image_result(v, ty)
    }

    /// LLVM's type of the data: one float per channel in the mask. 64-bit texels are two dwords.
    fn image_data(&self, inst: &MimgInst, ty: Option<Type>) -> Result<BasicTypeEnum<'c>> {
        let ty = ty.ok_or_else(|| Error::bug("an image operation without a result"))?;
        let lanes = if ty.bits() == Bits::B64 { 2 * ty.lanes() } else { ty.lanes() };
        let channels = if inst.op == MimgOp::Gather4 { 4 } else { inst.dmask.count_ones() };
        if lanes != channels + u32::from(inst.tfe) || channels == 0 {
            return Err(Error::bug(format!("image data of type {ty} with channel mask {:#x}", inst.dmask)));
        }
        if inst.tfe {
            let fields = [self.f32_vector(channels), self.i32_type().into()];
            return Ok(self.ctx.struct_type(&fields, false).into());
        }
        match ty.bits() {
            Bits::B16 => self.float_type(ty),
            Bits::B32 | Bits::B64 => Ok(self.f32_vector(lanes)),
            Bits::B1 | Bits::B8 => Err(Error::bug(format!("image data of type {ty}"))),
        }
    }

    fn image_result(&self, v: Llvm<'c>, ty: Option<Type>) -> Result<Llvm<'c>> {
        match ty {
            Some(ty) if ty.bits() == Bits::B64 => self.cast(v, self.int_type(ty)?),
            _ => match v {
                // Texel and status as one vector.
                Llvm::StructValue(both) => {
                    let mut lanes = self.lanes(self.b.build_extract_value(both, 0, "").built()?)?;
                    lanes.push(self.cast(self.b.build_extract_value(both, 1, "").built()?, self.f32_type().into())?);
                    self.gather(&lanes)
                }
                v => Ok(v),
            },
        }
    }

    fn floats(&self, values: &[Value]) -> Result<Vec<Llvm<'c>>> {
        values.iter().map(|&v| self.float(v)).collect()
    }

    fn ints(&self, values: &[Value]) -> Result<Vec<Llvm<'c>>> {
        values.iter().map(|&v| self.int(v)).collect()
    }
}

fn first_type<'c>(values: &[Llvm<'c>]) -> Result<BasicTypeEnum<'c>> {
    values.first().map(|v| v.get_type()).ok_or_else(|| Error::bug("an image operation without coordinates"))
}

/// A shape as spelled in intrinsic names.
const fn spelled(dim: MimgDim) -> &'static str {
    match dim {
        MimgDim::D1 => "1d",
        MimgDim::D2 => "2d",
        MimgDim::D3 => "3d",
        MimgDim::Cube => "cube",
        MimgDim::D1Array => "1darray",
        MimgDim::D2Array => "2darray",
        MimgDim::D2Msaa => "2dmsaa",
        MimgDim::D2ArrayMsaa => "2darraymsaa",
    }
}

/// A texel of an image.
struct ImagePlace<'c> {
    image: Llvm<'c>,
    coords: Vec<Llvm<'c>>,
    dim: MimgDim,
    access: Access,
}

impl<'c> AtomicPlace<'c> for ImagePlace<'c> {
    fn operate(&self, cx: &Cx<'_, 'c>, name: &str, data: &[Llvm<'c>]) -> Result<Llvm<'c>> {
        let name = format!("llvm.amdgcn.image.atomic.{name}.{}", spelled(self.dim));
        let overloads = [first_type(data)?, first_type(&self.coords)?];
        let mut out = data.to_vec();
        out.extend(&self.coords);
        out.extend([self.image, cx.c32(0).into(), cx.c32(store_policy(self.access)).into()]);
        cx.call(&name, &overloads, &out)
    }

    fn read(&self, cx: &Cx<'_, 'c>, bits: u32) -> Result<Llvm<'c>> {
        let name = format!("llvm.amdgcn.image.load.{}", spelled(self.dim));
        let access = Access { coherent: true, ..self.access };
        let (data, dmask) = (cx.f32_vector(bits / 32), if bits == 64 { 3 } else { 1 });
        let v = cx.image_read(&name, data, dmask, &self.coords, self.image, access)?;
        cx.cast(v, cx.int_bits(bits)?.into())
    }
}
