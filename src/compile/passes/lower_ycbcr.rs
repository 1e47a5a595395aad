//! Samples through a sampler that converts from Y'CBCR (Vulkan, "Sampler Y'CBCR Conversion"): one sample of each image
//! descriptor of the format ([`Planes`]), then one weighted sum per channel ([`Matrix`]).
//!
//! | layout | a sample |
//! |---|---|
//! | unknown | stays; linking rejects a layout that converts there |
//! | known, the element's sampler converts | is converted |
//! | known, otherwise | stays |
//!
//! | chroma of half the size | coordinates of chroma |
//! |---|---|
//! | implicit, midpoint | those of luma |
//! | implicit, cosited | half a luma texel further |
//! | explicit | the centres of the luma texels that the sampler's filter reads; chroma is filtered there, then the filter's weights are applied |
//!
//! In all cases chroma has its own filter. Range and model are linear, so they may follow all filtering. A converted
//! image has one level, with or without layers, and Vulkan clamps its coordinates to the edge. Vulkan forbids
//! operations other than samples and queries, offsets, comparisons, and indices that are not constant; these are
//! errors.

use super::context::{PassContext, resource};
use super::ycbcr_matrix::{Matrix, unpadded};
use dovetail_abi::layout::ResolvedLayout;
use dovetail_abi::samplers::planes;
use dovetail_base::error::{Error, Result};
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{
    AluOp, Bits, Builder, DescriptorPart, Dim, ImageInst, ImageOp, ImageOperand, Inst, LodMode, Op, ResourceId, Shader,
    Type, Value,
};
use dovetail_state::{ChromaFilter, ChromaLocation, ImmutableSampler, Planes, Swizzle, YcbcrConversion};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// The descriptor's origin.
#[derive(Clone, Copy)]
struct Source {
    resource: ResourceId,
    set: u32,
    binding: u32,
    /// The element; `None` if it is not known.
    element: Option<u64>,
    index: Value,
}

/// Converts the samples that the known layout says convert.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    let Some(layout) = &cx.layout else { return Ok(()) };
    let converts = |set, binding| layout.binding(set, binding).is_some_and(|place| place.converts());
    if !shader.resources.iter().any(|r| converts(r.set, r.binding)) {
        return Ok(());
    }
    let mut sources = BTreeMap::new();
    for inst in shader.live_insts() {
        let (Op::Descriptor { resource: id, .. }, Some(v), &[index]) = (&inst.op, inst.result, &inst.args[..]) else {
            continue;
        };
        let r = resource(shader, *id)?;
        let element = shader.as_const(index);
        sources.insert(v, Source { resource: *id, set: r.set, binding: r.binding, element, index });
    }
    rewrite(shader, |b, inst| match inst.op {
        Op::Image(image) => converted(b, layout, &sources, image, inst),
        _ => Ok(Rewrite::Keep),
    })
}

fn converted(
    b: &mut Builder<'_>,
    layout: &ResolvedLayout,
    sources: &BTreeMap<Value, Source>,
    image: ImageInst,
    inst: &Inst,
) -> Result<Rewrite> {
    let argument = |wanted| {
        let at = image.operands().iter().position(|operand| *operand == wanted)?;
        sources.get(inst.args.get(at)?).copied()
    };
    let (from, through) = (argument(ImageOperand::Image), argument(ImageOperand::Sampler));
    let of_image = from.map(|source| sampler(layout, source)).transpose()?.flatten();
    let of_sampler = through.map(|source| sampler(layout, source)).transpose()?.flatten();
    let query = matches!(image.op, ImageOp::QuerySize | ImageOp::QueryLevels | ImageOp::QuerySamples);
    let (sampler, source) = match (of_image, of_sampler, from, through) {
        (None, None, ..) => return Ok(Rewrite::Keep),
        _ if query => return Ok(Rewrite::Keep),
        (Some(sampler), Some(_), Some(from), Some(through)) if from.same(through) => (sampler, from),
        _ => return Err(refused("an image and a sampler that do not belong together")),
    };
    let Some(conversion) = &sampler.conversion else { return Err(Error::bug("a conversion that is none")) };
    check(&image)?;
    let ty = inst.result.map_or(Type::DESC4, |v| b.ty(v));
    let planes = planes(conversion)?;
    let args = &inst.args;
    let texel = Conversion { b, image, args, source, sampler, conversion, planes }.texel(ty)?;
    Ok(Rewrite::Value(texel))
}

impl Source {
    fn same(self, other: Self) -> bool {
        (self.set, self.binding, self.element) == (other.set, other.binding, other.element)
    }
}

fn refused(detail: &str) -> Error {
    Error::unsupported("use of a sampler that converts from Y'CBCR", detail)
}

/// The sampler of a descriptor, if it converts.
fn sampler(layout: &ResolvedLayout, source: Source) -> Result<Option<ImmutableSampler>> {
    let place = layout.binding(source.set, source.binding).filter(|place| place.converts());
    let Some(place) = place else { return Ok(None) };
    let element = source.element.ok_or_else(|| refused("an index that is no constant"))?;
    let found = usize::try_from(element).ok().and_then(|n| place.samplers.get(n)).copied();
    let (set, binding) = (source.set, source.binding);
    let beyond = || Error::malformed(format!("set {set} binding {binding} has no element {element}"));
    Ok(Some(found.ok_or_else(beyond)?).filter(|sampler| sampler.conversion.is_some()))
}

/// Rejects uses of a converting sampler that Vulkan forbids.
fn check(image: &ImageInst) -> Result<()> {
    let refusals = [
        (image.op != ImageOp::Sample, "another operation than a sample or a query"),
        (image.dim != Dim::D2 || image.multisampled, "an image that is not 2D"),
        (image.offset, "a texel offset"),
        (image.compare, "a depth comparison"),
        (image.sparse, "a residency code"),
    ];
    match refusals.iter().find(|(refused, _)| *refused) {
        Some((_, why)) => Err(refused(why)),
        None => Ok(()),
    }
}

struct Conversion<'a, 'b> {
    b: &'a mut Builder<'b>,
    image: ImageInst,
    args: &'a [Value],
    source: Source,
    sampler: ImmutableSampler,
    conversion: &'a YcbcrConversion,
    planes: Planes,
}

/// A coordinate and its weight, `None` for 1.
type Weighted = (Value, Option<Value>);

impl Conversion<'_, '_> {
    fn texel(&mut self, ty: Type) -> Result<Value> {
        let read = self.read()?;
        let swizzled: SmallVec<[Value; 4]> = (0..4).map(|n| self.swizzled(&read, n)).collect::<Result<_>>()?;
        let mut out = swizzled.clone();
        if let Some(matrix) = Matrix::new(self.conversion, &self.planes) {
            for (out, (weights, added)) in out.iter_mut().zip(matrix.weights.iter().zip(matrix.added)) {
                *out = self.f32(added);
                for (weight, v) in weights.iter().zip(&swizzled).filter(|(weight, _)| **weight != 0.0) {
                    let weight = self.f32(*weight);
                    *out = self.b.alu(AluOp::FFma, &[*v, weight, *out]);
                }
            }
        }
        if ty.bits() == Bits::B16 {
            out.iter_mut().for_each(|v| *v = self.b.convert(AluOp::FConv, *v, Type::B16));
        }
        Ok(self.b.compose(&out))
    }

    fn f32(&mut self, x: f64) -> Value {
        self.b.fconst(Type::B32, x)
    }

    fn operand(&self, wanted: ImageOperand) -> Result<Value> {
        let at = self.image.operands().iter().position(|operand| *operand == wanted);
        let found = at.and_then(|at| self.args.get(at)).copied();
        found.ok_or_else(|| Error::bug(format!("a sample without {wanted:?}")))
    }

    /// Red, green, blue, alpha as read from the planes.
    fn read(&mut self) -> Result<[Value; 4]> {
        let luma = [self.operand(ImageOperand::Coord(0))?, self.operand(ImageOperand::Coord(1))?];
        let own = self.operand(ImageOperand::Sampler)?;
        let mut images: SmallVec<[Value; 3]> = SmallVec::new();
        for (n, view) in self.planes.views.clone().into_iter().enumerate() {
            let texel = if view.half == [false, false] {
                self.sample(n, own, luma, self.image)?
            } else if self.conversion.explicit_reconstruction {
                self.explicit(n, luma)?
            } else {
                self.implicit(n, luma, view.half)?
            };
            images.push(texel);
        }
        let factor = unpadded(&self.planes);
        let mut out = [self.f32(1.0); 4];
        for (out, channel) in out.iter_mut().zip(self.planes.channels) {
            let Some(channel) = channel else { continue };
            let image = images.get(usize::from(channel.image)).copied();
            let image = image.ok_or_else(|| Error::bug("a channel of a plane that is none"))?;
            *out = self.b.extract(image, channel.component.into());
            if factor != 1.0 {
                let factor = self.f32(factor);
                *out = self.b.alu(AluOp::FMul, &[*out, factor]);
            }
        }
        Ok(out)
    }

    fn swizzled(&mut self, read: &[Value; 4], channel: usize) -> Result<Value> {
        let from = match self.conversion.components.get(channel).copied().unwrap_or_default() {
            Swizzle::Zero => return Ok(self.f32(0.0)),
            Swizzle::One => return Ok(self.f32(1.0)),
            Swizzle::Identity => channel,
            Swizzle::R => 0,
            Swizzle::G => 1,
            Swizzle::B => 2,
            Swizzle::A => 3,
        };
        read.get(from).copied().ok_or_else(|| Error::bug("a colour has four channels"))
    }

    /// A sample of one image descriptor.
    fn sample(&mut self, image: usize, sampler: Value, at: [Value; 2], how: ImageInst) -> Result<Value> {
        let descriptor = self.descriptor(image)?;
        let mut args: SmallVec<[Value; 16]> = SmallVec::new();
        for operand in how.operands() {
            args.push(match operand {
                ImageOperand::Image => descriptor,
                ImageOperand::Sampler => sampler,
                ImageOperand::Coord(0) => at[0],
                ImageOperand::Coord(1) => at[1],
                other => self.operand(other)?,
            });
        }
        Ok(self.b.value(Op::Image(how), &args, Type::DESC4))
    }

    fn descriptor(&mut self, image: usize) -> Result<Value> {
        let part = DescriptorPart::IMAGES.get(image).copied();
        let part = part.filter(|part| *part != DescriptorPart::Image);
        // This is the image itself, whose descriptor exists already.
        let Some(part) = part else { return self.operand(ImageOperand::Image) };
        let op = Op::Descriptor { resource: self.source.resource, part, non_uniform: false };
        Ok(self.b.value(op, &[self.source.index], Type::DESC8))
    }

    /// The sampler with the chroma filter.
    fn chroma_sampler(&mut self) -> Result<Value> {
        let filter = self.conversion.chroma_filter;
        if self.sampler.words.filters() == [Some(filter); 2] {
            return self.operand(ImageOperand::Sampler);
        }
        let words = self.sampler.words.filtered(filter).0.map(|word| self.b.c32(word));
        Ok(self.b.compose(&words))
    }

    fn cosited(&self) -> [bool; 2] {
        [self.conversion.x_chroma_offset, self.conversion.y_chroma_offset].map(|at| at == ChromaLocation::CositedEven)
    }

    /// Width and height of the luma image.
    fn extent(&mut self) -> Result<[Value; 2]> {
        let how = ImageInst { op: ImageOp::QuerySize, lod: LodMode::Zero, offset: false, min_lod: false, ..self.image };
        let image = self.operand(ImageOperand::Image)?;
        let size = self.b.value(Op::Image(how), &[image], Type::DESC4);
        Ok([0, 1].map(|n| {
            let texels = self.b.extract(size, n);
            self.b.convert(AluOp::U2F, texels, Type::B32)
        }))
    }

    /// Samples chroma with the image's own filter; if the first samples of chroma and luma are at the same position,
    /// the coordinates are moved by half a luma texel.
    fn implicit(&mut self, image: usize, luma: [Value; 2], half: [bool; 2]) -> Result<Value> {
        let cosited = self.cosited();
        let moved = [0, 1].map(|n| half[n] && cosited[n]);
        let mut at = luma;
        if moved != [false, false] {
            let extent = self.extent()?;
            let one_half = self.f32(0.5);
            for n in [0, 1].into_iter().filter(|n| moved[*n]) {
                let step = self.b.alu(AluOp::FDiv, &[one_half, extent[n]]);
                at[n] = self.b.alu(AluOp::FAdd, &[at[n], step]);
            }
        }
        let sampler = self.chroma_sampler()?;
        self.sample(image, sampler, at, self.image)
    }

    /// Samples chroma at each luma texel that the sampler would filter, with the filter's weights.
    fn explicit(&mut self, image: usize, luma: [Value; 2]) -> Result<Value> {
        let filter = match self.sampler.words.filters() {
            [Some(mag), Some(min)] if mag == min => mag,
            _ => return Err(refused("explicit reconstruction with two filters, or an anisotropic one")),
        };
        let (extent, cosited) = (self.extent()?, self.cosited());
        // The nearest chroma sample is the one with half the index, wherever it lies.
        let linear = self.conversion.chroma_filter == ChromaFilter::Linear;
        let view = self.planes.views.get(image).map_or([false; 2], |view| view.half);
        let [across, down] = [0, 1].map(|n| {
            let centre = if linear && cosited[n] && view[n] { 1.0 } else { 0.5 };
            self.positions(luma[n], extent[n], filter, centre)
        });
        let how = ImageInst { lod: LodMode::Zero, min_lod: false, ..self.image };
        let sampler = self.chroma_sampler()?;
        let mut sum: Option<SmallVec<[Value; 4]>> = None;
        for (y, in_y) in &down {
            for (x, in_x) in &across {
                let texel = self.sample(image, sampler, [*x, *y], how)?;
                let mut texel = self.b.split(texel);
                if let (Some(in_x), Some(in_y)) = (in_x, in_y) {
                    let weight = self.b.alu(AluOp::FMul, &[*in_x, *in_y]);
                    texel.iter_mut().for_each(|v| *v = self.b.alu(AluOp::FMul, &[*v, weight]));
                }
                sum = Some(match sum {
                    None => texel,
                    Some(sum) => sum.iter().zip(&texel).map(|(a, v)| self.b.alu(AluOp::FAdd, &[*a, *v])).collect(),
                });
            }
        }
        let sum = sum.ok_or_else(|| Error::bug("a filter that reads no texel"))?;
        Ok(self.b.compose(&sum))
    }

    /// Chroma coordinates of each luma texel in one direction. `centre` is the position of the chroma sample in the
    /// luma texel.
    fn positions(&mut self, at: Value, extent: Value, filter: ChromaFilter, centre: f64) -> SmallVec<[Weighted; 2]> {
        let texels = self.b.alu(AluOp::FMul, &[at, extent]);
        if filter == ChromaFilter::Nearest {
            let first = self.b.alu(AluOp::FFloor, &[texels]);
            return smallvec![(self.coordinate(first, extent, centre), None)];
        }
        let (minus_half, one) = (self.f32(-0.5), self.f32(1.0));
        let texels = self.b.alu(AluOp::FAdd, &[texels, minus_half]);
        let first = self.b.alu(AluOp::FFloor, &[texels]);
        let second = self.b.alu(AluOp::FAdd, &[first, one]);
        let of_second = self.b.alu(AluOp::FSub, &[texels, first]);
        let of_first = self.b.alu(AluOp::FSub, &[one, of_second]);
        let [first, second] = [first, second].map(|texel| self.coordinate(texel, extent, centre));
        smallvec![(first, Some(of_first)), (second, Some(of_second))]
    }

    /// The coordinate of a position in a texel; texels beyond the edge are clamped to the last.
    fn coordinate(&mut self, texel: Value, extent: Value, centre: f64) -> Value {
        let (zero, minus_one, centre) = (self.f32(0.0), self.f32(-1.0), self.f32(centre));
        let last = self.b.alu(AluOp::FAdd, &[extent, minus_one]);
        let texel = self.b.alu(AluOp::FMax, &[texel, zero]);
        let texel = self.b.alu(AluOp::FMin, &[texel, last]);
        let place = self.b.alu(AluOp::FAdd, &[texel, centre]);
        self.b.alu(AluOp::FDiv, &[place, extent])
    }
}
