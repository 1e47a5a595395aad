//! The interpreter's colour attachments: blending and write masks, with bounds for any precision that is at least the
//! attachment's.
//!
//! Vulkan allows blending at the attachment's precision or any higher one: sources may be rounded to the format before
//! it, and products after it. A fragment drawn over another one reads that one's result, including its bounds. With a
//! logic operation, [`logic`] lists the results.

use super::crossing::number;
use super::logic::{self, Allowed};
use dovetail_base::error::Result;
use dovetail_emu::NamedFormat;
use dovetail_emu::draw::blend;
use dovetail_emu::inputs::{Blend, BlendFactor, BlendOp, Draw, LogicOp, TargetAttachment};
use dovetail_interp::{Shadow, ShadowedTexel};

/// A colour attachment of a draw.
pub(super) struct Attachment<'a> {
    pub state: &'a TargetAttachment,
    pub format: NamedFormat,
    /// The clear colour, as bits: the components of a texel that no fragment reaches.
    pub clear: [u32; 4],
    /// Previous texels; empty if the attachment was cleared.
    before: &'a [u8],
    width: usize,
    constants: [f32; 4],
    alpha_to_one: bool,
    logic_op: Option<LogicOp>,
}

/// A pixel of an attachment.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub texel: ShadowedTexel,
    /// After a logic operation: the stored bits that each channel may have. They include those of the uncertain
    /// channels of `texel`.
    pub allowed: Allowed,
}

impl<'a> Attachment<'a> {
    /// The attachments of a draw.
    ///
    /// # Errors
    /// An unknown format.
    pub fn of(draw: &'a Draw) -> Result<Vec<Self>> {
        let one = |(n, state): (usize, &'a TargetAttachment)| {
            let format = NamedFormat::new(&state.format)?;
            let integer = format.format.is_integer();
            Ok(Self {
                state,
                clear: state.clear.map(|x| if integer { x as u32 } else { x.to_bits() }),
                before: draw.fixed.before.targets.get(n).map_or(&[], |before| &before.0),
                width: draw.extent[0] as usize,
                constants: draw.fixed.blend_constants.map(|x| format.limited(x)),
                alpha_to_one: draw.alpha_to_one && !integer,
                logic_op: draw.fixed.logic_op,
                format,
            })
        };
        draw.targets.iter().enumerate().map(one).collect()
    }

    /// The contents of a pixel before the draw; `None`: the clear colour.
    pub fn before(&self, [x, y]: [u32; 2]) -> Option<ShadowedTexel> {
        let bytes = self.format.format.bytes();
        let at = (y as usize * self.width + x as usize) * bytes;
        self.before.get(at..at + bytes).map(|texel| (self.format.decode(texel), [Shadow::NONE; 4]))
    }

    /// The contents of a pixel after a fragment. `there`: the result of earlier fragments of the draw.
    ///
    /// # Errors
    /// A colour that the format cannot hold.
    pub fn after(
        &self,
        at: [u32; 2],
        there: Option<&Content>,
        [mut source, second]: [ShadowedTexel; 2],
    ) -> Result<Content> {
        if self.alpha_to_one {
            (source.0[3], source.1[3]) = (1f32.to_bits(), Shadow::NONE);
        }
        let plain = |texel| Content { texel, allowed: Allowed::default() };
        let all = self.format.channels().all(|channel| self.state.write_mask >> channel & 1 == 1);
        let logic_op = self.logic_op.filter(|_| self.format.takes_logic());
        let how = self.state.blend.filter(|_| !self.format.format.is_integer() && self.logic_op.is_none());
        if all && how.is_none() && logic_op.is_none() {
            return Ok(plain(source));
        }
        let texel = match there.map(|there| there.texel).or_else(|| self.before(at)) {
            Some(texel) => texel,
            None => (self.format.decode(&self.format.encode(self.clear)?), [Shadow::NONE; 4]),
        };
        let fresh = match (logic_op, how) {
            (Some(op), _) => self.combined(op, source, texel, there)?,
            (None, Some(how)) => plain(self.blended(&how, [source, second], texel)?),
            (None, None) => plain(source),
        };
        let mut out = there.cloned().unwrap_or(plain(texel));
        for channel in (0..4).filter(|channel| self.state.write_mask >> channel & 1 == 1) {
            (out.texel.0[channel], out.texel.1[channel]) = (fresh.texel.0[channel], fresh.texel.1[channel]);
            out.allowed[channel].clone_from(&fresh.allowed[channel]);
        }
        Ok(out)
    }

    fn combined(
        &self,
        op: LogicOp,
        source: ShadowedTexel,
        texel: ShadowedTexel,
        there: Option<&Content>,
    ) -> Result<Content> {
        let format = &self.format;
        let mut before = logic::allowed(format, &texel)?;
        for (before, there) in before.iter_mut().zip(there.iter().flat_map(|there| &there.allowed)) {
            *before = before.take().or_else(|| there.clone());
        }
        let allowed = logic::after(op, format, &logic::allowed(format, &source)?, &before);
        let (mut bits, mut shadows) = ([0; 4], [Shadow::UNCERTAIN; 4]);
        for channel in format.channels() {
            let own = op.of(format.stored(channel, source.0[channel])?, format.stored(channel, texel.0[channel])?);
            bits[channel] = format.value(channel, own);
            if let Some([only]) = allowed[channel].as_deref() {
                (bits[channel], shadows[channel]) = (format.value(channel, *only), Shadow::NONE);
            }
        }
        Ok(Content { texel: (bits, shadows), allowed })
    }

    fn blended(&self, how: &Blend, sources: [ShadowedTexel; 2], there: ShadowedTexel) -> Result<ShadowedTexel> {
        let limited = |x: f32| self.format.limited(x);
        let [source, second] = sources.map(|(color, _)| color.map(|bits| limited(f32::from_bits(bits))));
        let own = blend(how, [source, second], there.0.map(f32::from_bits), self.constants);
        // Rounded as it is stored, so that the next fragment reads what it reads on the emulator.
        let own = self.format.decode(&self.format.encode(own.map(f32::to_bits))?);
        let step = |channel: usize, x: f64| f64::from(f32::EPSILON).max(self.format.step(channel, x as f32));
        // A source may be rounded to the format first.
        let rounded = |value: f64, off: f64, channel| Bounded {
            value: f64::from(limited(value as f32)),
            off: off + step(channel, value) / 2.0,
        };
        let [source, second] = sources.map(|(color, shadows)| {
            std::array::from_fn(|n| {
                let (value, off) = number((color[n].into(), shadows[n]));
                rounded(value, off, n)
            })
        });
        let operands = Operands {
            source,
            second,
            constants: std::array::from_fn(|n| rounded(self.constants[n].into(), 0.0, n)),
            there: std::array::from_fn(|n| {
                let (value, off) = number((there.0[n].into(), there.1[n]));
                Bounded { value, off }
            }),
        };
        let mut shadows = [Shadow::UNCERTAIN; 4];
        for (n, shadow) in shadows.iter_mut().enumerate() {
            let (equation, s, d) = (if n == 3 { how.alpha } else { how.color }, operands.source[n], operands.there[n]);
            let product =
                |x: Bounded, factor| operands.factor(factor, n).map_or(Bounded::ZERO, |factor| x.times(factor));
            let (from, to) = (product(s, equation.source), product(d, equation.destination));
            let result = match equation.op {
                BlendOp::Add => from.plus(to),
                BlendOp::Subtract => from.plus(to.negative()),
                BlendOp::ReverseSubtract => to.plus(from.negative()),
                BlendOp::Min => Bounded { value: s.value.min(d.value), off: s.off.max(d.off) },
                BlendOp::Max => Bounded { value: s.value.max(d.value), off: s.off.max(d.off) },
            };
            // The two products, their sum and the stored result are rounded.
            let off = result.off + 1.5 * step(n, from.value.abs().max(to.value.abs()));
            if off.is_finite() {
                *shadow = Shadow { value: f64::from(limited(result.value as f32)), bound: off };
            }
        }
        Ok((own, shadows))
    }
}

/// A value, and its largest error.
#[derive(Clone, Copy)]
struct Bounded {
    value: f64,
    off: f64,
}

impl Bounded {
    const ZERO: Self = Self { value: 0.0, off: 0.0 };

    fn times(self, other: Self) -> Self {
        let off = self.value.abs() * other.off + other.value.abs() * self.off + self.off * other.off;
        Self { value: self.value * other.value, off }
    }

    fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, off: self.off + other.off }
    }

    fn negative(self) -> Self {
        Self { value: -self.value, ..self }
    }

    fn rest(self) -> Self {
        Self { value: 1.0 - self.value, ..self }
    }
}

/// The operands of blending, by channel.
struct Operands {
    source: [Bounded; 4],
    second: [Bounded; 4],
    constants: [Bounded; 4],
    there: [Bounded; 4],
}

impl Operands {
    /// The factor of a channel; `None`: the product is zero, even with infinity or NaN.
    fn factor(&self, factor: BlendFactor, n: usize) -> Option<Bounded> {
        use BlendFactor as F;
        let Self { source, second, constants, there } = self;
        Some(match factor {
            F::Zero => return None,
            F::One => Bounded { value: 1.0, off: 0.0 },
            F::SrcColor => source[n],
            F::OneMinusSrcColor => source[n].rest(),
            F::DstColor => there[n],
            F::OneMinusDstColor => there[n].rest(),
            F::SrcAlpha => source[3],
            F::OneMinusSrcAlpha => source[3].rest(),
            F::DstAlpha => there[3],
            F::OneMinusDstAlpha => there[3].rest(),
            F::Src1Color => second[n],
            F::OneMinusSrc1Color => second[n].rest(),
            F::Src1Alpha => second[3],
            F::OneMinusSrc1Alpha => second[3].rest(),
            F::ConstantColor => constants[n],
            F::OneMinusConstantColor => constants[n].rest(),
            F::ConstantAlpha => constants[3],
            F::OneMinusConstantAlpha => constants[3].rest(),
            F::SrcAlphaSaturate if n == 3 => Bounded { value: 1.0, off: 0.0 },
            F::SrcAlphaSaturate => {
                let rest = there[3].rest();
                Bounded { value: source[3].value.min(rest.value), off: source[3].off.max(rest.off) }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_emu::inputs::{BlendEquation, InputBytes, Topology};

    const OVER: BlendEquation =
        BlendEquation { source: BlendFactor::SrcAlpha, destination: BlendFactor::OneMinusSrcAlpha, op: BlendOp::Add };

    fn draw(format: &str, blend: Option<Blend>, write_mask: u8) -> Draw {
        let mut draw = Draw::new(Topology::TriangleList, 3, [2, 1]);
        draw.targets.push(TargetAttachment { blend, write_mask, ..TargetAttachment::new(0, format.to_owned()) });
        draw.fixed.before.targets.push(InputBytes(vec![0, 0, 0, 0, 102, 51, 255, 204]));
        draw
    }

    fn exact(color: [f32; 4]) -> ShadowedTexel {
        (color.map(f32::to_bits), [Shadow::NONE; 4])
    }

    #[test]
    fn a_fragment_is_blended_with_what_is_there() {
        let draw = draw("R8G8B8A8_UNORM", Some(Blend { color: OVER, alpha: OVER }), 15);
        let [attachment] = &Attachment::of(&draw).unwrap()[..] else { panic!() };
        let after = |there: Option<ShadowedTexel>, source| {
            let there = there.map(|texel| Content { texel, allowed: Allowed::default() });
            attachment.after([1, 0], there.as_ref(), [source, exact([0.0; 4])]).unwrap().texel
        };
        let once = after(None, exact([1.0, 0.5, 0.25, 0.5]));
        for (n, wanted) in [0.7, 0.35, 0.625, 0.65].into_iter().enumerate() {
            assert!((once.1[n].value - wanted).abs() < 1e-6 && f64::from(f32::from_bits(once.0[n])) - wanted < 0.003);
            // Half a step for each source and one and a half for the results: less than the plain bound allows besides the store.
            assert!(once.1[n].bound > 1.5 / 255.0 && once.1[n].bound < 2.6 / 255.0, "{:?}", once.1[n]);
        }
        let twice = after(Some(once), exact([0.0, 0.0, 0.0, 0.5]));
        assert!((twice.1[0].value - 0.35).abs() < 1e-6 && twice.1[0].bound > once.1[0].bound / 2.0);
        // An uncertain alpha leaves nothing certain; an uncertain colour leaves the alpha.
        let mut vague = exact([1.0, 0.5, 0.25, 0.5]);
        vague.1[0] = Shadow::UNCERTAIN;
        assert_eq!(after(None, vague).1.map(Shadow::is_uncertain), [true, false, false, false]);
        vague.1[3] = Shadow::UNCERTAIN;
        assert_eq!(after(None, vague).1.map(Shadow::is_uncertain), [true; 4]);
    }

    #[test]
    fn channels_that_are_not_written_stay() {
        let draw = draw("R8G8B8A8_UNORM", None, 0b0101);
        let [attachment] = &Attachment::of(&draw).unwrap()[..] else { panic!() };
        let (bits, shadows) = attachment.after([1, 0], None, [exact([1.0; 4]), exact([0.0; 4])]).unwrap().texel;
        assert_eq!(bits.map(f32::from_bits), [1.0, 0.2, 1.0, 0.8]);
        assert_eq!(shadows, [Shadow::NONE; 4]);
    }

    #[test]
    fn a_logic_operation_lists_its_results() {
        let mut draw = draw("R8G8B8A8_UNORM", Some(Blend { color: OVER, alpha: OVER }), 0b0111);
        draw.fixed.logic_op = Some(LogicOp::Xor);
        let [attachment] = &Attachment::of(&draw).unwrap()[..] else { panic!() };
        let after = |there, source| attachment.after([1, 0], there, [source, exact([0.0; 4])]).unwrap();
        let mut source = exact([1.0, 0.5, 0.0, 0.0]);
        source.1[1] = Shadow { value: 0.5, bound: 1e-4 };
        let once = after(None, source);
        let stored = |n: u32| (f64::from(n) / 255.0) as f32;
        assert_eq!((f32::from_bits(once.texel.0[0]), once.texel.1[0]), (stored(153), Shadow::NONE), "102 ^ 255");
        assert!(once.texel.1[1].is_uncertain() && once.texel.1[2..] == [Shadow::NONE; 2]);
        assert_eq!(once.allowed[1], Some(vec![51 ^ 128, 51 ^ 127].into_iter().rev().collect()), "51 was there");
        assert_eq!(f32::from_bits(once.texel.0[3]), stored(204), "alpha is masked");
        let twice = after(Some(&once), exact([0.0, 1.0, 0.0, 0.0]));
        assert_eq!(twice.allowed[1].as_ref().map(Vec::len), Some(2));
        assert_eq!(twice.texel.0[0], once.texel.0[0]);
    }

    #[test]
    fn factors_are_those_of_the_emulator() {
        use BlendFactor as F;
        let all = [
            F::Zero,
            F::One,
            F::SrcColor,
            F::OneMinusSrcColor,
            F::DstColor,
            F::OneMinusDstColor,
            F::SrcAlpha,
            F::OneMinusSrcAlpha,
            F::DstAlpha,
            F::OneMinusDstAlpha,
            F::Src1Color,
            F::OneMinusSrc1Color,
            F::Src1Alpha,
            F::OneMinusSrc1Alpha,
            F::ConstantColor,
            F::OneMinusConstantColor,
            F::ConstantAlpha,
            F::OneMinusConstantAlpha,
            F::SrcAlphaSaturate,
        ];
        for (op, source, destination) in
            [BlendOp::Add, BlendOp::Subtract, BlendOp::ReverseSubtract, BlendOp::Min, BlendOp::Max]
                .into_iter()
                .flat_map(|op| all.into_iter().flat_map(move |s| all.into_iter().map(move |d| (op, s, d))))
        {
            let equation = BlendEquation { source, destination, op };
            let mut draw = draw("R32G32B32A32_SFLOAT", Some(Blend { color: equation, alpha: equation }), 15);
            draw.fixed.before.targets[0].0 =
                [[0.0f32; 4], [0.3, 0.9, 0.4, 0.7]].as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
            draw.fixed.blend_constants = [0.1, 0.6, 0.2, 0.8];
            let [attachment] = &Attachment::of(&draw).unwrap()[..] else { panic!() };
            let sources = [exact([0.5, 0.15, 0.85, 0.35]), exact([0.45, 0.55, 0.65, 0.95])];
            let (bits, shadows) = attachment.after([1, 0], None, sources).unwrap().texel;
            for (bits, shadow) in bits.into_iter().zip(shadows) {
                let off = (f64::from(f32::from_bits(bits)) - shadow.value).abs();
                assert!(off <= shadow.bound && shadow.bound < 1e-5, "{equation:?}: {off} of {}", shadow.bound);
            }
        }
    }
}
