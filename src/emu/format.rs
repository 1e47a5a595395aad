//! Texels and buffer elements: bytes to components and back (isa-gfx10 4.3).
//!
//! A component of a float, normalised or scaled format is an f32 as bits; a component of an integer format is the
//! integer. Stores clamp and round to nearest even (K).

use super::block::{self, Compression};
use super::mode::{Round, from_f16, power, to_f16};
use dovetail_abi::formats::Number;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{BufferLayout, Gpu};
use dovetail_isa::BufferFormat;

/// A data format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFormat {
    /// Bits of each component, X first, from the least significant.
    widths: Vec<u8>,
    number: Number,
    /// Its elements are blocks of texels with these components.
    compression: Option<Compression>,
}

impl DataFormat {
    /// Image format number of 16-bit depth.
    pub const DEPTH_16: u16 = 7;
    /// Image format number of 24-bit depth, below 8 bits of something else.
    pub const DEPTH_24: u16 = 141;

    /// The format of a number in a typed buffer instruction, of a GPU with these layouts.
    pub fn of_instruction(format: BufferFormat, layouts: &[BufferLayout]) -> Option<Self> {
        let (layout, number) = format.names(layouts)?;
        Self::parse(&layout, number)
    }

    /// The format of a number in a buffer descriptor. The emulator makes descriptors itself, with the numbers of gfx10 on
    /// every GPU: no code depends on them.
    pub fn of_buffer(format: BufferFormat) -> Option<Self> {
        Self::of_instruction(format, Gpu::default().facts().buffer_layouts)
    }

    /// The format of an image format number: a buffer format, or an image-only one.
    pub fn of_image(number: u16) -> Option<Self> {
        match number {
            0..128 => Self::of_buffer(BufferFormat::new(u8::try_from(number).ok()?)?),
            128 => Self::parse("8", "SRGB"),
            129 => Self::parse("8_8", "SRGB"),
            130 => Self::parse("8_8_8_8", "SRGB"),
            133 => Self::parse("5_6_5", "UNORM"),
            134 => Self::parse("1_5_5_5", "UNORM"),
            135 => Self::parse("5_5_5_1", "UNORM"),
            136 => Self::parse("4_4_4_4", "UNORM"),
            137 => Self::parse("4_4", "UNORM"),
            Self::DEPTH_24 => Self::parse("8_24", "UNORM"),
            block::FIRST.. => {
                let (compression, number) = block::ROWS.get(usize::from(number - block::FIRST))?;
                let widths = compression.widths();
                Some(Self { compression: Some(*compression), ..Self::new(widths, *number) })
            }
            _ => None,
        }
    }

    /// Components of these widths, X first.
    pub fn new(widths: &[u8], number: Number) -> Self {
        Self { widths: widths.to_vec(), number, compression: None }
    }

    fn parse(layout: &str, number: &str) -> Option<Self> {
        // The name starts with the most significant component.
        let widths = layout.split('_').rev().map(|width| width.parse().ok()).collect::<Option<Vec<u8>>>()?;
        let number = match number {
            "UNORM" => Number::Unorm,
            "SNORM" => Number::Snorm,
            "USCALED" => Number::Uscaled,
            "SSCALED" => Number::Sscaled,
            "UINT" => Number::Uint,
            "SINT" => Number::Sint,
            "FLOAT" => Number::Float,
            "SRGB" => Number::Srgb,
            _ => return None,
        };
        Some(Self { widths, number, compression: None })
    }

    /// Bytes per element.
    pub fn bytes(&self) -> usize {
        if let Some(compression) = self.compression {
            return compression.bytes();
        }
        self.widths.iter().map(|width| usize::from(*width)).sum::<usize>() / 8
    }

    /// Width and height of an element in texels.
    pub fn block(&self) -> [u32; 2] {
        if self.compression.is_some() { [block::EDGE; 2] } else { [1; 2] }
    }

    /// Elements in a row of texels, and rows of elements.
    pub fn elements(&self, [width, height]: [u32; 2]) -> [u32; 2] {
        let [across, down] = self.block();
        [width.div_ceil(across), height.div_ceil(down)]
    }

    /// How far another correct decoder may be from [`Self::decode_at`] in a component.
    pub fn slack(&self, component: usize) -> f64 {
        let steps = self.compression.map_or(0.0, |compression| compression.slack(component));
        match self.number {
            Number::Snorm => steps / 127.0,
            // The slope of the curve is at most 2.4 times that of a line.
            Number::Srgb if component < 3 => steps * 2.4 / 255.0,
            _ => steps / 255.0,
        }
    }

    /// Whether components are integers.
    pub fn is_integer(&self) -> bool {
        matches!(self.number, Number::Uint | Number::Sint)
    }

    fn one(&self) -> u32 {
        if self.is_integer() { 1 } else { 1f32.to_bits() }
    }

    /// The components; missing ones are those of (0, 0, 0, 1).
    pub fn decode(&self, bytes: &[u8]) -> [u32; 4] {
        if self.compression.is_some() {
            return self.decode_at(bytes, [0; 2]);
        }
        let raw = bytes.iter().rev().fold(0u128, |all, byte| all << 8 | u128::from(*byte));
        let mut components = [0, 0, 0, self.one()];
        let mut at = 0;
        for (n, (component, &width)) in components.iter_mut().zip(&self.widths).enumerate() {
            let bits = (raw >> at & ((1u128 << width) - 1)) as u32;
            *component = self.component(bits, u32::from(width), n == 3);
            at += width;
        }
        components
    }

    /// The components of a texel in an element.
    pub fn decode_at(&self, element: &[u8], [x, y]: [u32; 2]) -> [u32; 4] {
        let Some(compression) = self.compression else { return self.decode(element) };
        let texels = compression.decode(self.number, element);
        texels.get((y * block::EDGE + x) as usize).copied().unwrap_or_default()
    }

    /// The components of the texels of an image's slice, row by row, as far as there are bytes.
    pub fn decode_slice(&self, bytes: &[u8], extent: [u32; 2]) -> Vec<[u32; 4]> {
        let elements = bytes.chunks_exact(self.bytes().max(1));
        let Some(compression) = self.compression else { return elements.map(|texel| self.decode(texel)).collect() };
        let [width, height] = extent.map(|n| n as usize);
        let (across, edge) = (self.elements(extent)[0] as usize, block::EDGE as usize);
        let mut out = vec![[0; 4]; width * height];
        for (n, element) in elements.enumerate() {
            for (k, texel) in compression.decode(self.number, element).into_iter().enumerate() {
                let [x, y] = [n % across * edge + k % edge, n / across * edge + k / edge];
                if let Some(to) = out.get_mut(y * width + x).filter(|_| x < width) {
                    *to = texel;
                }
            }
        }
        out
    }

    fn component(&self, bits: u32, width: u32, alpha: bool) -> u32 {
        let signed = (bits << (32 - width)).cast_signed() >> (32 - width);
        let most = f64::from(u32::MAX >> (32 - width));
        let value = match self.number {
            Number::Uint => return bits,
            Number::Sint => return signed.cast_unsigned(),
            Number::Unorm => f64::from(bits) / most,
            Number::Snorm => (f64::from(signed) / (most / 2.0).floor()).max(-1.0),
            Number::Uscaled => f64::from(bits),
            Number::Sscaled => f64::from(signed),
            Number::Srgb if alpha => f64::from(bits) / most,
            Number::Srgb => from_srgb(f64::from(bits) / most),
            Number::Float => match width {
                32 => return bits,
                16 => from_f16(bits as u16),
                // Unsigned floats of 11 and 10 bits are f16 without sign and low mantissa bits.
                11 => from_f16((bits << 4) as u16),
                _ => from_f16((bits << 5) as u16),
            },
        };
        (value as f32).to_bits()
    }

    /// The bytes of components.
    ///
    /// # Errors
    /// Unsupported: a float width without an encoder here, compressed blocks.
    pub fn encode(&self, components: [u32; 4]) -> Result<Vec<u8>> {
        if self.compression.is_some() {
            return Err(Error::unsupported("format", "writing compressed blocks"));
        }
        let (mut raw, mut at) = (0u128, 0);
        for (n, (component, &width)) in components.into_iter().zip(&self.widths).enumerate() {
            let bits = self.bits(component, u32::from(width), n == 3)?;
            raw |= u128::from(bits) << at;
            at += width;
        }
        Ok(raw.to_le_bytes()[..self.bytes()].to_vec())
    }

    fn bits(&self, component: u32, width: u32, alpha: bool) -> Result<u32> {
        let all = u32::MAX >> (32 - width);
        let most = f64::from(all);
        let half = (most / 2.0).floor();
        let x = f64::from(f32::from_bits(component));
        // A cast turns NaN into 0.
        let signed = |x: f64| (x.round_ties_even() as i32).cast_unsigned() & all;
        Ok(match self.number {
            Number::Uint => component.min(all),
            Number::Sint => {
                let most = (all >> 1).cast_signed();
                component.cast_signed().clamp(-most - 1, most).cast_unsigned() & all
            }
            Number::Unorm => (x.clamp(0.0, 1.0) * most).round_ties_even() as u32,
            Number::Srgb => {
                let x = x.clamp(0.0, 1.0);
                ((if alpha { x } else { to_srgb(x) }) * most).round_ties_even() as u32
            }
            Number::Snorm => signed(x.clamp(-1.0, 1.0) * half),
            Number::Uscaled => x.clamp(0.0, most).round_ties_even() as u32,
            Number::Sscaled => signed(x.clamp(-half - 1.0, half)),
            Number::Float => match width {
                32 => component,
                16 => u32::from(to_f16(x, Round::Nearest)),
                10 | 11 => small_float(x, width - 5),
                _ => return Err(Error::unsupported("format", format!("a float of {width} bits"))),
            },
        })
    }

    /// Picks a component by a descriptor's selector.
    pub fn select(&self, components: [u32; 4], select: u8) -> u32 {
        match select {
            1 => self.one(),
            4..=7 => components.get(usize::from(select - 4)).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// A component in 16 bits.
    pub fn narrow(&self, component: u32) -> u32 {
        if self.is_integer() {
            return component & 0xffff;
        }
        u32::from(to_f16(f64::from(f32::from_bits(component)), Round::Nearest))
    }

    /// A component from 16 bits.
    pub fn widen(&self, half: u32) -> u32 {
        match self.number {
            Number::Uint => half,
            Number::Sint => i32::from(half as i16).cast_unsigned(),
            _ => (from_f16(half as u16) as f32).to_bits(),
        }
    }
}

/// An unsigned float with a 5-bit exponent: negative numbers become 0.
fn small_float(x: f64, mantissa: u32) -> u32 {
    let top = 31 << mantissa;
    if x.is_nan() {
        return top | 1;
    }
    if x <= 0.0 {
        return 0;
    }
    if x.is_infinite() {
        return top;
    }
    let exponent = ((x.to_bits() >> 52) as i32 - 1023).clamp(-14, 15);
    let whole = (x * power(mantissa.cast_signed() - exponent)).round_ties_even();
    let biased = f64::from(exponent + 14) * f64::from(1 << mantissa) + whole;
    (biased as u32).min(top)
}

fn from_srgb(x: f64) -> f64 {
    if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
}

fn to_srgb(x: f64) -> f64 {
    if x <= 0.003_130_8 { x * 12.92 } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = (u16, DataFormat)> {
        let formats = (0..256).filter_map(|number| Some((number, DataFormat::of_image(number)?)));
        formats.filter(|(_, format)| format.compression.is_none())
    }

    #[test]
    fn what_is_decoded_encodes_back() {
        proptest::proptest!(|(bytes: [u8; 16])| {
            for (number, format) in all() {
                let bytes = &bytes[..format.bytes()];
                let components = format.decode(bytes);
                if !format.is_integer() && components.iter().any(|c| f32::from_bits(*c).is_nan()) {
                    continue;
                }
                let again = format.encode(components).expect("encodes");
                // The lowest signed normalised value decodes to the same number as the next one.
                proptest::prop_assert_eq!(format.decode(&again), components, "format {}", number);
                if format.number != Number::Snorm {
                    proptest::prop_assert_eq!(&again[..], bytes, "format {}", number);
                }
            }
        });
    }

    #[test]
    fn known_texels() {
        let decode = |number, bytes: &[u8]| {
            let format = DataFormat::of_image(number).expect("a format");
            format.decode(bytes).map(|c| if format.is_integer() { c as f32 } else { f32::from_bits(c) })
        };
        assert_eq!(decode(56, &[255, 0, 51, 255]), [1.0, 0.0, 0.2, 1.0]);
        assert_eq!(decode(50, &0xc00f_fc00u32.to_le_bytes()), [0.0, 1.0, 0.0, 1.0]);
        // B10G11R11: 1.0 is exponent 15.
        assert_eq!(decode(36, &(15u32 << 6 | 15 << 27).to_le_bytes()), [1.0, 0.0, 1.0, 1.0]);
        assert_eq!(decode(22, &2.5f32.to_le_bytes()), [2.5, 0.0, 0.0, 1.0]);
        assert_eq!(decode(6, &[0xfe]), [4_294_967_294.0, 0.0, 0.0, 1.0]);
        assert_eq!(decode(2, &[0x80]), [-1.0, 0.0, 0.0, 1.0]);
        assert_eq!(decode(130, &[255, 0, 0, 51]), [1.0, 0.0, 0.0, 0.2]);
    }
}
