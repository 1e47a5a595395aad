//! Attachments: convert exports, test, blend and write.

use super::blend::{Color, blend};
use crate::fixed_function::Export;
use crate::inputs;
use crate::inputs::{Compare, LogicOp};
use crate::mode::from_f16;
use crate::named_format::NamedFormat;
use dovetail_abi::exports::ExportFormat;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::FamilyFacts;

/// A colour attachment.
#[derive(Clone, Debug)]
pub struct ColorTarget {
    /// Its format.
    pub format: NamedFormat,
    /// Width and height.
    pub extent: [u32; 2],
    /// Texels, row by row.
    pub data: Vec<u8>,
    /// Its description in the draw.
    pub state: inputs::TargetAttachment,
    /// The draw's blend constants.
    pub constants: [f32; 4],
    /// The draw's logic operation.
    pub logic_op: Option<LogicOp>,
}

impl ColorTarget {
    /// An attachment, cleared.
    ///
    /// # Errors
    /// Malformed: not a colour format. Unsupported: a colour format that the emulator lacks.
    pub fn new(state: &inputs::TargetAttachment, extent: [u32; 2]) -> Result<Self> {
        let format = NamedFormat::new(&state.format)?;
        let clear = match format.format.is_integer() {
            true => state.clear.map(|x| if x < 0.0 { (x as i32).cast_unsigned() } else { x as u32 }),
            false => state.clear.map(f32::to_bits),
        };
        let texel = format.encode(clear)?;
        let texels = u64::from(extent[0]) * u64::from(extent[1]);
        let texels = usize::try_from(texels).ok().filter(|n| *n <= 1 << 26);
        let texels = texels.ok_or_else(|| Error::malformed(format!("an attachment of {extent:?} pixels")))?;
        Ok(Self {
            format,
            extent,
            data: texel.repeat(texels),
            state: state.clone(),
            constants: [0.0; 4],
            logic_op: None,
        })
    }

    fn texel(&mut self, [x, y]: [u32; 2]) -> Option<&mut [u8]> {
        let bytes = self.format.format.bytes();
        let at = (y as usize * self.extent[0] as usize + x as usize) * bytes;
        self.data.get_mut(at..at + bytes)
    }

    /// Writes a colour whose components have the attachment's number type; `channels` are the exported channels.
    /// `second` is the second colour of a dual-source output.
    pub fn write(&mut self, at: [u32; 2], [color, second]: [[u32; 4]; 2], channels: u8) -> Result<()> {
        let format = self.format.clone();
        let (state_blend, logic_op) = (self.state.blend, self.logic_op);
        let constants = self.constants.map(|x| format.limited(x));
        let mask = channels & self.state.write_mask;
        let Some(texel) = self.texel(at) else { return Ok(()) };
        let there = format.decode(texel);
        let mut new = color;
        if let Some(how) = state_blend.filter(|_| !format.format.is_integer() && logic_op.is_none()) {
            // Sources are clamped to the attachment's range first.
            let sources = [color, second].map(|color| color.map(|x| format.limited(f32::from_bits(x))));
            let result: Color = blend(&how, sources, there.map(f32::from_bits), constants);
            new = result.map(f32::to_bits);
        }
        let mixed: [u32; 4] = std::array::from_fn(|n| if mask >> n & 1 == 1 { new[n] } else { there[n] });
        let old = texel.to_vec();
        let mut encoded = format.encode(mixed)?;
        if let Some(op) = logic_op.filter(|_| format.takes_logic()) {
            encoded.iter_mut().zip(&old).for_each(|(s, d)| *s = op.of((*s).into(), (*d).into()) as u8);
        }
        texel.copy_from_slice(&format.keep(mask, &encoded, &old));
        Ok(())
    }

    /// Resolves multisampling: averages the samples; integers keep sample 0.
    ///
    /// # Errors
    /// A bug: texels that the format cannot encode.
    pub fn resolve(&mut self, samples: u32, height: u32) -> Result<()> {
        if samples == 1 {
            return Ok(());
        }
        let format = self.format.clone();
        let texel = format.format.bytes();
        let plane = self.extent[0] as usize * height as usize * texel;
        let mut data = Vec::with_capacity(self.data.len() / samples as usize);
        for layer in self.data.chunks_exact((plane * samples as usize).max(1)) {
            for at in (0..plane).step_by(texel) {
                let planes = layer.chunks_exact(plane).map(|p| format.decode(&p[at..at + texel]));
                let planes: Vec<[u32; 4]> = planes.collect();
                let mean = |n: usize| {
                    let sum: f64 = planes.iter().map(|texel| f64::from(f32::from_bits(texel[n]))).sum();
                    ((sum / f64::from(samples)) as f32).to_bits()
                };
                let mixed = if format.format.is_integer() { planes[0] } else { std::array::from_fn(mean) };
                data.extend(format.encode(mixed)?);
            }
        }
        (self.data, self.extent[1]) = (data, self.extent[1] / samples);
        Ok(())
    }

    /// The image as four bytes per pixel, sRGB-encoded if the format is; `None` for integers.
    pub fn picture(&self) -> Option<Vec<u8>> {
        let curve = self.state.format.contains("SRGB");
        let shown = NamedFormat::new(if curve { "R8G8B8A8_SRGB" } else { "R8G8B8A8_UNORM" }).ok()?;
        let texels = self.data.chunks_exact(self.format.format.bytes().max(1));
        let pixels = texels.map(|texel| shown.encode(self.format.decode(texel)));
        if self.format.format.is_integer() { None } else { pixels.collect::<Result<Vec<_>>>().ok().map(|p| p.concat()) }
    }

    /// The components of a pixel, as bits of the attachment's number type.
    pub fn read(&self, [x, y]: [u32; 2]) -> Option<[u32; 4]> {
        let bytes = self.format.format.bytes();
        let at = (y as usize * self.extent[0] as usize + x as usize) * bytes;
        self.data.get(at..at + bytes).map(|texel| self.format.decode(texel))
    }
}

/// The depth attachment, of 32-bit floats.
#[derive(Clone, Debug)]
pub struct DepthTarget {
    /// Width.
    pub width: u32,
    /// Depths, row by row.
    pub data: Vec<f32>,
    /// Its description in the draw.
    pub state: inputs::Depth,
    /// The range that depths are clamped to.
    pub range: [f32; 2],
    /// Width in bits of the integers that it stores; `None` if it stores floats.
    pub bits: Option<u8>,
}

impl DepthTarget {
    /// An attachment, cleared.
    pub fn new(state: inputs::Depth, extent: [u32; 2]) -> Self {
        let data = vec![state.clear; extent[0] as usize * extent[1] as usize];
        Self { width: extent[0], data, state, range: [0.0, 1.0], bits: None }
    }

    /// Keeps sample 0 of each pixel, layer by layer.
    pub fn resolve(&mut self, samples: u32, height: u32) {
        self.data = first_samples(&self.data, self.width as usize * height as usize, samples);
    }

    /// A depth rounded to the attachment's format.
    fn held(&self, depth: f32) -> f32 {
        let depth = if depth.is_nan() { depth } else { depth.max(self.range[0]).min(self.range[1]) };
        let Some(bits) = self.bits else { return depth };
        let most = f64::from(u32::MAX >> (32 - u32::from(bits.clamp(1, 32))));
        ((f64::from(depth) * most).round_ties_even() / most) as f32
    }

    /// Depth test; writes the depth of a fragment that passes.
    pub fn test(&mut self, [x, y]: [u32; 2], depth: f32) -> bool {
        let at = y as usize * self.width as usize + x as usize;
        let depth = self.held(depth);
        let Some(there) = self.data.get_mut(at) else { return false };
        let passes = passes(self.state.compare, depth, *there);
        if passes && self.state.write {
            *there = depth;
        }
        passes
    }
}

/// The stencil attachment, of bytes.
#[derive(Clone, Debug)]
pub struct StencilTarget {
    /// Width.
    pub width: u32,
    /// Values, row by row.
    pub data: Vec<u8>,
    /// Its description in the draw.
    pub state: inputs::Stencil,
}

impl StencilTarget {
    /// An attachment, cleared.
    pub fn new(state: inputs::Stencil, extent: [u32; 2]) -> Self {
        Self { width: extent[0], data: vec![state.clear; extent[0] as usize * extent[1] as usize], state }
    }

    /// Keeps sample 0 of each pixel, layer by layer.
    pub fn resolve(&mut self, samples: u32, height: u32) {
        self.data = first_samples(&self.data, self.width as usize * height as usize, samples);
    }

    /// The value of a texel.
    pub fn texel(&mut self, [x, y]: [u32; 2]) -> Option<&mut u8> {
        self.data.get_mut(y as usize * self.width as usize + x as usize)
    }

    /// Writes the stencil reference of the shader, or that of the draw if the shader exports none.
    pub fn replace(&mut self, at: [u32; 2], reference: Option<u8>) {
        let reference = reference.unwrap_or(self.state.reference);
        if let Some(there) = self.texel(at) {
            *there = reference;
        }
    }
}

/// Sample 0 of each layer; a layer has one plane of `plane` texels per sample.
fn first_samples<T: Copy>(data: &[T], plane: usize, samples: u32) -> Vec<T> {
    let layers = data.chunks_exact((plane * samples as usize).max(1));
    layers.flat_map(|layer| layer.iter().take(plane)).copied().collect()
}

/// Whether a comparison holds.
pub fn passes(compare: Compare, depth: f32, there: f32) -> bool {
    match compare {
        Compare::Never => false,
        Compare::Less => depth < there,
        Compare::Equal => depth == there,
        Compare::LessOrEqual => depth <= there,
        Compare::Greater => depth > there,
        Compare::NotEqual => depth != there,
        Compare::GreaterOrEqual => depth >= there,
        Compare::Always => true,
    }
}

/// The export format with this number in `SPI_SHADER_COL_FORMAT`.
pub fn export_format(number: u32) -> Option<ExportFormat> {
    use ExportFormat::{Abgr32, Ar32, Fp16, Gr32, R32, Sint16, Snorm16, Uint16, Unorm16};
    [R32, Gr32, Ar32, Fp16, Unorm16, Snorm16, Uint16, Sint16, Abgr32].into_iter().find(|f| *f as u32 == number)
}

/// Checks that an export has its values where the format has them.
///
/// # Errors
/// Malformed: 16-bit values where the format has dwords, or vice versa.
pub fn fits(format: ExportFormat, export: &Export, facts: &FamilyFacts) -> Result<()> {
    let narrow = matches!(
        format,
        ExportFormat::Fp16
            | ExportFormat::Unorm16
            | ExportFormat::Snorm16
            | ExportFormat::Uint16
            | ExportFormat::Sint16
    );
    let (compressed, enabled) = (export.compr, export.enabled);
    // Two channels in each dword, so there are two dwords at most.
    let fits = if facts.compressed_exports { narrow == compressed } else { !narrow || enabled & 0b1100 == 0 };
    if fits {
        return Ok(());
    }
    let said = format!("a colour export of format {format:?} with compr = {compressed}, enabled = {enabled:#x}");
    Err(Error::malformed(said))
}

/// Exported registers as 32-bit components.
pub fn converted(format: ExportFormat, registers: [u32; 4]) -> [u32; 4] {
    let [r0, r1, ..] = registers;
    let halves = [r0 & 0xffff, r0 >> 16, r1 & 0xffff, r1 >> 16].map(|half| half as u16);
    let one = 1f32.to_bits();
    match format {
        ExportFormat::R32 => [registers[0], 0, 0, one],
        ExportFormat::Gr32 => [registers[0], registers[1], 0, one],
        ExportFormat::Ar32 => [registers[0], 0, 0, registers[1]],
        ExportFormat::Abgr32 => registers,
        ExportFormat::Fp16 => halves.map(|half| (from_f16(half) as f32).to_bits()),
        ExportFormat::Unorm16 => halves.map(|half| (f32::from(half) / 65535.0).to_bits()),
        ExportFormat::Snorm16 => halves.map(|half| (f32::from(half.cast_signed()) / 32767.0).max(-1.0).to_bits()),
        ExportFormat::Uint16 => halves.map(u32::from),
        ExportFormat::Sint16 => halves.map(|half| i32::from(half.cast_signed()).cast_unsigned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::target::Gpu;

    fn target(format: &str, write_mask: u8) -> ColorTarget {
        let state = inputs::TargetAttachment {
            location: 0,
            format: format.to_owned(),
            clear: [0.0, 1.0, 0.0, 1.0],
            write_mask,
            blend: None,
        };
        ColorTarget::new(&state, [2, 2]).expect("a target")
    }

    /// A colour without a second source.
    fn alone(color: [u32; 4]) -> [[u32; 4]; 2] {
        [color, [0; 4]]
    }

    #[test]
    fn exports_are_converted() {
        let f = |x: [u32; 4]| x.map(f32::from_bits);
        let pair = |a: u16, b: u16| u32::from(a) | u32::from(b) << 16;
        let fp16 = converted(ExportFormat::Fp16, [pair(0x3c00, 0x3800), pair(0xc000, 0), 0, 0]);
        assert_eq!(f(fp16), [1.0, 0.5, -2.0, 0.0]);
        let unorm = converted(ExportFormat::Unorm16, [pair(0xffff, 0), pair(0x3333, 0xcccc), 0, 0]);
        assert_eq!(f(unorm), [1.0, 0.0, 0.2, 0.8]);
        let snorm = converted(ExportFormat::Snorm16, [pair(0x7fff, 0x8000), pair(0x8001, 0), 0, 0]);
        assert_eq!(f(snorm), [1.0, -1.0, -1.0, 0.0]);
        let registers = [pair(1, 0xffff), pair(0x8000, 7), 0, 0];
        assert_eq!(converted(ExportFormat::Uint16, registers), [1, 0xffff, 0x8000, 7]);
        assert_eq!(converted(ExportFormat::Sint16, registers), [1, u32::MAX, 0xffff_8000, 7]);
        assert_eq!(converted(ExportFormat::Ar32, [3, 4, 9, 9])[3], 4);
    }

    #[test]
    fn narrow_values_are_where_the_family_has_them() {
        let fits = |name: &str, format, compr, enabled| {
            let values = Box::new([[0; crate::wave::LANES]; 4]);
            let export = Export { target: 0, enabled, compr, done: true, vm: true, exec: 1, values };
            super::fits(format, &export, name.parse::<Gpu>().expect("known").facts()).is_ok()
        };
        let [wide, narrow] = [ExportFormat::Ar32, ExportFormat::Fp16];
        assert_eq!([false, true].map(|compr| fits("gfx1030", wide, compr, 15)), [true, false]);
        assert_eq!([false, true].map(|compr| fits("gfx1030", narrow, compr, 15)), [false, true]);
        assert_eq!([3, 15].map(|enabled| fits("gfx1100", narrow, false, enabled)), [true, false]);
        assert!(fits("gfx1100", ExportFormat::Abgr32, false, 15));
    }

    #[test]
    fn attachments_take_channels_by_format_and_mask() {
        let mut t = target("B8G8R8A8_UNORM", 0b1011);
        t.write([1, 0], alone([0.2, 0.4, 1.5, 0.0].map(f32::to_bits)), 15).unwrap();
        assert_eq!(t.data[..8], [0, 255, 0, 255, 0, 102, 51, 0]);
        t.write([1, 1], alone([1.0, 0.0, 0.0, 0.0].map(f32::to_bits)), 1).unwrap();
        assert_eq!(t.data[12..], [0, 255, 255, 255]);
        let mut t = target("R16G16_SINT", 15);
        t.write([0, 0], alone([(-3i32).cast_unsigned(), 70_000, 0, 0]), 15).unwrap();
        assert_eq!(t.data[..4], [0xfd, 0xff, 0xff, 0x7f]);
        let mut t = target("R8G8B8A8_SRGB", 15);
        t.write([0, 0], alone([0.5, 0.0, 1.0, 0.5].map(f32::to_bits)), 15).unwrap();
        assert_eq!(t.data[..4], [188, 0, 255, 128]);
        // A pixel outside the attachment is not written.
        t.write([0, 2], alone([0; 4]), 15).unwrap();
        assert_eq!(t.read([0, 2]), None);
    }

    #[test]
    fn logic_operations_combine_bits_and_replace_blending() {
        let mut t = target("R5G6B5_UNORM_PACK16", 0b011);
        (t.logic_op, t.state.blend) = (Some(LogicOp::Xor), Some(inputs::Blend::PRODUCT));
        let texel = |r: u16, g: u16, b: u16| (r << 11 | g << 5 | b).to_le_bytes();
        t.data[..2].copy_from_slice(&texel(0b10101, 0b11_0011, 0b01010));
        t.write([0, 0], alone([1.0, 1.0, 1.0, 1.0].map(f32::to_bits)), 15).unwrap();
        assert_eq!(t.data[..2], texel(0b01010, 0b00_1100, 0b01010), "blue is masked");
        // Floats and sRGB have none, but are not blended either.
        let mut t = target("R8G8B8A8_SRGB", 15);
        (t.logic_op, t.state.blend) = (Some(LogicOp::Invert), Some(inputs::Blend::PRODUCT));
        t.write([0, 0], alone([0.0, 1.0, 1.0, 0.2].map(f32::to_bits)), 15).unwrap();
        assert_eq!(t.data[..4], [0, 255, 255, 51]);
    }

    #[test]
    fn depth_is_tested_and_written() {
        let mut depth = DepthTarget::new(inputs::Depth { clear: 0.5, compare: Compare::Less, write: true }, [2, 1]);
        assert_eq!([0.6, 0.5, 0.4, 0.4, 0.3].map(|z| depth.test([1, 0], z)), [false, false, true, false, true]);
        assert_eq!(depth.data, [0.5, 0.3]);
        assert!(!depth.test([0, 1], 0.0));
        // With 8 bits, depths are multiples of 1/255.
        (depth.bits, depth.state.compare) = (Some(8), Compare::Equal);
        depth.data[0] = 51.0 / 255.0;
        assert_eq!([0.2, 0.2019, 0.202].map(|z| depth.test([0, 0], z)), [true, true, false]);
    }

    #[test]
    fn stencil_is_replaced() {
        let mut stencil = StencilTarget::new(inputs::Stencil { clear: 7, reference: 9 }, [2, 2]);
        stencil.replace([1, 0], None);
        stencil.replace([0, 1], Some(200));
        stencil.replace([0, 2], Some(1));
        assert_eq!(stencil.data, [7, 9, 200, 7]);
        // Resolving two samples per pixel keeps the first.
        stencil.resolve(2, 1);
        assert_eq!(stencil.data, [7, 9]);
    }
}
