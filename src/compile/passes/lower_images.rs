//! Turns SPIR-V's image operations into instructions on explicit descriptors.
//!
//! This decides the instruction's shape, the order of address components, the source of the level of detail, and the
//! descriptor fields that a query reads. Texel buffers become typed buffer accesses. Texels stay bits: the descriptor
//! decides whether a format is integer or float. To add an operation, add an arm to `ImageLowering::run`.

use super::cube;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{
    AluOp, AmdOp, AtomicOp, Bits, Builder, Dim, ImageInst, ImageOp, ImageOperand, Inst, LodMode, MimgDim, MimgInst,
    MimgOp, Op, Shader, Type, Value,
};
use smallvec::{SmallVec, smallvec};

/// Lowers every image operation.
///
/// # Errors
/// Forms that the hardware does not have.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    if !shader.has(|op| matches!(op, Op::Image(_))) {
        return Ok(());
    }
    let derivatives = shader.has_derivatives();
    rewrite(shader, |b, inst| match inst.op {
        Op::Image(image) => match (ImageLowering { b, image, inst, derivatives }).run()? {
            Some(v) => Ok(Rewrite::Value(v)),
            None => Ok(Rewrite::Remove),
        },
        _ => Ok(Rewrite::Keep),
    })
}

/// Operands of an image instruction.
type Values = SmallVec<[Value; 16]>;

struct ImageLowering<'a, 'b> {
    b: &'a mut Builder<'b>,
    image: ImageInst,
    inst: &'a Inst,
    derivatives: bool,
}

/// LOD of a sampling instruction: mode, operands before the coordinates (bias, gradients), and after.
struct Level {
    mode: LodMode,
    before: Values,
    after: Option<Value>,
    clamp: bool,
}

impl ImageLowering<'_, '_> {
    fn run(&mut self) -> Result<Option<Value>> {
        if self.image.dim == Dim::Buffer {
            return self.texel_buffer();
        }
        match self.image.op {
            ImageOp::Sample | ImageOp::Gather(_) | ImageOp::QueryLod => self.sample().map(Some),
            ImageOp::Fetch | ImageOp::Load => self.load(self.image).map(Some),
            ImageOp::Store => self.store(self.image).map(|()| None),
            ImageOp::Atomic(op) => self.atomic(op),
            ImageOp::QuerySize => self.size().map(Some),
            ImageOp::QueryLevels | ImageOp::QuerySamples => self.descriptor_query().map(Some),
        }
    }

    fn operand(&self, wanted: ImageOperand) -> Option<Value> {
        let i = self.image.operands().iter().position(|o| *o == wanted)?;
        self.inst.args.get(i).copied()
    }

    fn need(&self, wanted: ImageOperand) -> Result<Value> {
        self.operand(wanted).ok_or_else(|| Error::bug(format!("image operation without {wanted:?}")))
    }

    /// Operands numbered by coordinate.
    fn each(&self, wanted: impl Fn(u8) -> ImageOperand) -> Values {
        (0..3).map_while(|n| self.operand(wanted(n))).collect()
    }

    fn result_type(&self) -> Result<Type> {
        let v = self.inst.result.ok_or_else(|| Error::bug("image operation without a result"))?;
        Ok(self.b.ty(v))
    }

    fn dim(&self, layers: bool) -> Result<MimgDim> {
        let arrayed = self.image.arrayed && layers;
        Ok(match (self.image.dim, arrayed, self.image.multisampled) {
            (Dim::D1, false, false) => MimgDim::D1,
            (Dim::D1, true, false) => MimgDim::D1Array,
            (Dim::D2 | Dim::Rect | Dim::SubpassData, false, false) => MimgDim::D2,
            (Dim::D2 | Dim::Rect | Dim::SubpassData, true, false) => MimgDim::D2Array,
            (Dim::D2 | Dim::Rect | Dim::SubpassData, false, true) => MimgDim::D2Msaa,
            (Dim::D2 | Dim::Rect | Dim::SubpassData, true, true) => MimgDim::D2ArrayMsaa,
            (Dim::D3, _, false) => MimgDim::D3,
            (Dim::Cube, _, false) => MimgDim::Cube,
            (dim, ..) => return Err(Error::unsupported(format!("multisampled {dim:?} image"), "")),
        })
    }

    fn mimg(&mut self, op: MimgOp, dim: MimgDim, dmask: u8) -> MimgInst {
        MimgInst {
            op,
            dim,
            dmask,
            unnormalized: false,
            compare: false,
            lod: LodMode::Zero,
            clamp: false,
            offset: false,
            tfe: self.image.sparse,
            access: self.image.access,
        }
    }

    // ---- sampling

    fn sample(&mut self) -> Result<Value> {
        let image = self.image;
        let query = image.op == ImageOp::QueryLod;
        let dim = self.dim(!query)?;
        let ty = self.result_type()?;
        let (op, dmask) = match image.op {
            ImageOp::Gather(component) if !image.compare => (MimgOp::Gather4, 1 << component),
            ImageOp::Gather(_) => (MimgOp::Gather4, 1),
            ImageOp::QueryLod => (MimgOp::GetLod, 3),
            _ if image.compare => (MimgOp::Sample, 1),
            _ => (MimgOp::Sample, 15),
        };
        let mut coords = self.each(ImageOperand::Coord);
        let layer = self.operand(ImageOperand::Layer);
        // A fractional layer is rounded to nearest, which the instruction does not do.
        let layer = layer.map(|l| self.b.alu(AluOp::FRoundEven, &[l]));
        let face = match coords[..] {
            [x, y, z] if image.dim == Dim::Cube => Some(cube::project(self.b, [x, y, z])),
            _ => None,
        };
        match (&face, layer) {
            (Some(face), layer) => coords = SmallVec::from_slice(&face.coords(self.b, layer)),
            (None, layer) => coords.extend(layer),
        }
        let level = if query { Level::implicit() } else { self.level(face.as_ref())? };

        let mut args: Values = smallvec![self.need(ImageOperand::Image)?, self.need(ImageOperand::Sampler)?];
        let offsets = self.each(ImageOperand::Offset);
        if !offsets.is_empty() {
            args.push(self.packed_offset(&offsets));
        }
        let bias = level.mode == LodMode::Bias;
        args.extend(level.before.iter().copied().filter(|_| bias));
        args.extend(self.operand(ImageOperand::Compare));
        args.extend(level.before.iter().copied().filter(|_| !bias));
        args.extend(coords);
        args.extend(level.after);
        let inst = MimgInst {
            unnormalized: image.dim == Dim::Rect,
            compare: image.compare,
            lod: level.mode,
            clamp: level.clamp,
            offset: !offsets.is_empty(),
            ..self.mimg(op, dim, dmask)
        };
        Ok(self.b.value(Op::Target(AmdOp::Mimg(inst)), &args, ty))
    }

    /// Without derivatives the implicit LOD is 0, so a bias becomes the LOD.
    fn level(&mut self, face: Option<&cube::Face>) -> Result<Level> {
        let derivatives = self.derivatives;
        let lod = self.operand(ImageOperand::Lod);
        let min_lod = self.operand(ImageOperand::MinLod);
        let level = |mode, before, after: Option<Value>| Level { mode, before, after, clamp: after.is_some() };
        Ok(match self.image.lod {
            LodMode::Gradient => {
                let (dx, dy) = (self.each(ImageOperand::GradX), self.each(ImageOperand::GradY));
                let gradients = match (face, &dx[..], &dy[..]) {
                    (Some(face), &[x, y, z], &[u, v, w]) => {
                        let mut g = Values::from_slice(&face.gradient(self.b, [x, y, z]));
                        g.extend(face.gradient(self.b, [u, v, w]));
                        g
                    }
                    _ => dx.into_iter().chain(dy).collect(),
                };
                level(LodMode::Gradient, gradients, min_lod)
            }
            LodMode::Implicit if derivatives => level(LodMode::Implicit, Values::new(), min_lod),
            LodMode::Bias if derivatives => level(LodMode::Bias, lod.into_iter().collect(), min_lod),
            LodMode::Zero | LodMode::Implicit | LodMode::Explicit | LodMode::Bias => {
                let known_zero = |v: Value| self.b.shader.as_const(v) == Some(0);
                let lod = lod.filter(|&v| !known_zero(v));
                let lod = match (lod, min_lod) {
                    (lod, None) => lod,
                    (lod, Some(min)) => {
                        let lod = lod.unwrap_or_else(|| self.b.c32(0));
                        Some(self.b.alu(AluOp::FMax, &[lod, min]))
                    }
                };
                match lod {
                    None => Level::zero(),
                    Some(lod) => {
                        Level { mode: LodMode::Explicit, before: Values::new(), after: Some(lod), clamp: false }
                    }
                }
            }
        })
    }

    /// Packs offsets into six bits per dimension, one byte apart.
    fn packed_offset(&mut self, offsets: &[Value]) -> Value {
        let b = &mut *self.b;
        let known: Option<SmallVec<[u64; 4]>> = offsets.iter().map(|&o| b.shader.as_const(o)).collect();
        if let Some(known) = known {
            let packed = known.iter().enumerate().map(|(i, o)| ((o & 63) as u32) << (8 * i)).sum();
            return b.c32(packed);
        }
        let mask = b.c32(63);
        let mut packed = b.alu(AluOp::IAnd, &[offsets[0], mask]);
        for (i, &o) in offsets.iter().enumerate().skip(1) {
            let shift = b.c32(8 * i as u32);
            let field = b.alu(AluOp::IAnd, &[o, mask]);
            let field = b.alu(AluOp::Shl, &[field, shift]);
            packed = b.alu(AluOp::IOr, &[packed, field]);
        }
        packed
    }

    // ---- texels by integer coordinates

    /// Coordinates, layer, sample, in the order of `MimgInst::operands` in `ir/image.rs`. Texel offsets are added to
    /// the coordinates, because loads and stores have no operand for them.
    fn texel_address(&mut self) -> Values {
        let mut address = self.each(ImageOperand::Coord);
        for (c, o) in address.iter_mut().zip(self.each(ImageOperand::Offset)) {
            *c = self.b.iadd(*c, o);
        }
        address.extend(self.operand(ImageOperand::Layer));
        address.extend(self.operand(ImageOperand::SampleIndex));
        address
    }

    /// The level; `None` if it is certainly the base level.
    fn mip(&self) -> Option<Value> {
        let level = self.operand(ImageOperand::Lod).filter(|_| self.image.lod == LodMode::Explicit);
        level.filter(|&l| !self.image.multisampled && self.b.shader.as_const(l) != Some(0))
    }

    fn load(&mut self, image: ImageInst) -> Result<Value> {
        let ty = self.result_type()?;
        let mip = self.mip();
        let op = if mip.is_some() { MimgOp::LoadMip } else { MimgOp::Load };
        let (dmask, loaded) = loaded_as(ty, self.image.sparse);
        let mut inst = self.mimg(op, self.dim(true)?, dmask);
        inst.access = image.access;
        let mut args: Values = smallvec![self.need(ImageOperand::Image)?];
        args.extend(self.texel_address());
        args.extend(mip);
        let v = self.b.value(Op::Target(AmdOp::Mimg(inst)), &args, loaded);
        Ok(self.widened(v, ty))
    }

    fn store(&mut self, image: ImageInst) -> Result<()> {
        let data = self.stored_as()?;
        let mip = self.mip();
        let op = if mip.is_some() { MimgOp::StoreMip } else { MimgOp::Store };
        let dmask = (1u8 << self.b.ty(data).lanes()) - 1;
        let mut inst = self.mimg(op, self.dim(true)?, dmask);
        inst.access = image.access;
        let mut args: Values = smallvec![self.need(ImageOperand::Image)?, data];
        args.extend(self.texel_address());
        args.extend(mip);
        self.b.effect(Op::Target(AmdOp::Mimg(inst)), &args);
        Ok(())
    }

    fn atomic(&mut self, op: AtomicOp) -> Result<Option<Value>> {
        // A plain read or write of one texel is atomic if no cache holds an older value.
        let mut coherent = self.image;
        coherent.access.coherent = true;
        match op {
            AtomicOp::Load => return self.load(coherent).map(Some),
            AtomicOp::Store => return self.store(coherent).map(|()| None),
            _ => {}
        }
        let data = self.need(ImageOperand::Data)?;
        let ty = self.b.ty(data);
        let inst = self.mimg(MimgOp::Atomic(op), self.dim(true)?, if ty == Type::B64 { 3 } else { 1 });
        let mut args: Values = smallvec![self.need(ImageOperand::Image)?, data];
        args.extend(self.operand(ImageOperand::AtomicCompare));
        args.extend(self.texel_address());
        Ok(Some(self.b.value(Op::Target(AmdOp::Mimg(inst)), &args, ty)))
    }

    /// Data to store: 64-bit texels have one component, of two dwords.
    fn stored_as(&mut self) -> Result<Value> {
        let data = self.need(ImageOperand::Data)?;
        if self.b.ty(data).bits() != Bits::B64 {
            return Ok(data);
        }
        let first = self.b.extract(data, 0);
        Ok(self.b.bitcast(first, pair()))
    }

    /// Converts to the result type: a 64-bit texel gets the defaults 0, 0, 1 for its other components.
    fn widened(&mut self, v: Value, ty: Type) -> Value {
        if ty.bits() != Bits::B64 {
            return v;
        }
        let x = self.b.bitcast(v, Type::B64);
        let (zero, one) = (self.b.iconst(Type::B64, 0), self.b.iconst(Type::B64, 1));
        self.b.compose(&[x, zero, zero, one][..ty.lanes() as usize])
    }

    fn texel_buffer(&mut self) -> Result<Option<Value>> {
        let descriptor = self.need(ImageOperand::Image)?;
        if self.image.op == ImageOp::QuerySize {
            let size = self.b.extract(descriptor, 2);
            let rest = self.b.undef(Type::B32);
            return Ok(Some(self.b.compose(&[size, rest, rest, rest])));
        }
        let address = self.texel_address();
        let &[index] = &address[..] else { return Err(Error::bug("a texel buffer has one coordinate")) };
        let mut access = self.image.access;
        let coherent = matches!(self.image.op, ImageOp::Atomic(AtomicOp::Load | AtomicOp::Store));
        access.coherent |= coherent;
        match self.image.op {
            ImageOp::Fetch | ImageOp::Load | ImageOp::Atomic(AtomicOp::Load) => {
                let ty = self.result_type()?;
                if ty.bits() == Bits::B16 {
                    return Err(Error::unsupported("16-bit texel buffer result", ""));
                }
                let sparse = self.image.sparse;
                let (_, loaded) = loaded_as(ty, sparse);
                let v = self.b.value(Op::Target(AmdOp::TexelLoad { sparse, access }), &[descriptor, index], loaded);
                Ok(Some(self.widened(v, ty)))
            }
            ImageOp::Store | ImageOp::Atomic(AtomicOp::Store) => {
                let data = self.stored_as()?;
                self.b.effect(Op::Target(AmdOp::TexelStore { access }), &[descriptor, index, data]);
                Ok(None)
            }
            ImageOp::Atomic(op) => {
                let data = self.need(ImageOperand::Data)?;
                let mut args: Values = smallvec![descriptor, index, data];
                args.extend(self.operand(ImageOperand::AtomicCompare));
                let ty = self.b.ty(data);
                Ok(Some(self.b.value(Op::Target(AmdOp::TexelAtomic { op, access }), &args, ty)))
            }
            op => Err(Error::unsupported(format!("{op:?} of a texel buffer"), "")),
        }
    }

    // ---- queries

    fn size(&mut self) -> Result<Value> {
        let dim = self.dim(true)?;
        let mip = match self.operand(ImageOperand::Lod) {
            Some(lod) => lod,
            None => self.b.c32(0),
        };
        let inst = self.mimg(MimgOp::GetResinfo, dim, 15);
        let image = self.need(ImageOperand::Image)?;
        let info = self.b.value(Op::Target(AmdOp::Mimg(inst)), &[image, mip], Type::DESC4);
        match (self.image.dim, self.image.arrayed) {
            (Dim::Cube, true) => {
                let (w, h) = (self.b.extract(info, 0), self.b.extract(info, 1));
                let (faces, six) = (self.b.extract(info, 2), self.b.c32(6));
                let cubes = self.b.alu(AluOp::UDiv, &[faces, six]);
                let rest = self.b.undef(Type::B32);
                Ok(self.b.compose(&[w, h, cubes, rest]))
            }
            // resinfo returns layers third for every shape; the query of a 1D array needs them second.
            (Dim::D1, true) => {
                let (w, layers) = (self.b.extract(info, 0), self.b.extract(info, 2));
                let rest = self.b.undef(Type::B32);
                Ok(self.b.compose(&[w, layers, layers, rest]))
            }
            _ => Ok(info),
        }
    }

    /// Levels and samples share a field of dword 3; the type in its top bits tells which it is. A null descriptor has
    /// neither.
    fn descriptor_query(&mut self) -> Result<Value> {
        let image = self.need(ImageOperand::Image)?;
        let b = &mut *self.b;
        let word = b.extract(image, 3);
        let (zero, one, four) = (b.c32(0), b.c32(1), b.c32(4));
        let (at_12, at_16, at_28) = (b.c32(12), b.c32(16), b.c32(28));
        let last = b.alu(AluOp::UBitExtract, &[word, at_16, four]);
        let count = if self.image.op == ImageOp::QueryLevels {
            let base = b.alu(AluOp::UBitExtract, &[word, at_12, four]);
            let levels = b.alu(AluOp::ISub, &[last, base]);
            b.alu(AluOp::IAdd, &[levels, one])
        } else {
            let (kind, msaa) = (b.alu(AluOp::LShr, &[word, at_28]), b.c32(14));
            let multisampled = b.alu(AluOp::UGe, &[kind, msaa]);
            let samples = b.alu(AluOp::Shl, &[one, last]);
            b.select(multisampled, samples, one)
        };
        let null = b.alu(AluOp::IEq, &[word, zero]);
        Ok(b.select(null, zero, count))
    }
}

impl Level {
    fn zero() -> Self {
        Self { mode: LodMode::Zero, before: Values::new(), after: None, clamp: false }
    }

    fn implicit() -> Self {
        Self { mode: LodMode::Implicit, ..Self::zero() }
    }
}

/// A pair of dwords.
fn pair() -> Type {
    Type::vector(Bits::B32, 2).unwrap_or(Type::B64)
}

/// Channel mask and type of the load for a result of type `ty`, of which the last lane may be a residency code.
fn loaded_as(ty: Type, sparse: bool) -> (u8, Type) {
    let lanes = ty.lanes() - u32::from(sparse);
    if ty.bits() == Bits::B64 { (3, pair()) } else { ((1u8 << lanes.min(4)) - 1, ty) }
}
