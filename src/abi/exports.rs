//! Plans the exports of a fragment shader: value and format of each target, and the registers that describe it (pal-abi
//! 7).
//!
//! Targets are compacted: the n-th exported location is target n. `SPI_SHADER_COL_FORMAT` is indexed by target,
//! `CB_SHADER_MASK` by location. Depth, stencil and sample mask are exported first. Invariant: exports are listed in
//! code order, so the last one has `done` set.

use super::formats::{Format, Number};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::kinds::NumericKind;
use dovetail_base::target::Gpu;
use dovetail_metadata::interface::{ColorOutput, ComponentType, ExportedFormats, FragmentInterface};
use dovetail_state::{ColorAttachment, ColorState};
use serde::{Deserialize, Serialize};

/// Number of colour locations and targets.
pub const MAX_TARGETS: u32 = 8;

/// Export format of a colour target, with its number in `SPI_SHADER_COL_FORMAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// Red, 32 bits.
    R32 = 1,
    /// Red and green, 32 bits.
    Gr32 = 2,
    /// Red and alpha, 32 bits.
    Ar32 = 3,
    /// Four f16.
    Fp16 = 4,
    /// Four unsigned 16-bit values for 0..1.
    Unorm16 = 5,
    /// Four signed 16-bit values for -1..1.
    Snorm16 = 6,
    /// Four unsigned 16-bit integers.
    Uint16 = 7,
    /// Four signed 16-bit integers.
    Sint16 = 8,
    /// Four 32-bit values.
    Abgr32 = 9,
}

impl ExportFormat {
    /// The component that each source of the export sends.
    pub const fn components(self) -> [Option<u8>; 4] {
        match self {
            Self::R32 => [Some(0), None, None, None],
            Self::Gr32 => [Some(0), Some(1), None, None],
            Self::Ar32 => [Some(0), Some(3), None, None],
            _ => [Some(0), Some(1), Some(2), Some(3)],
        }
    }

    /// How a component of this type is converted before the export.
    pub fn packing(self, ty: ComponentType) -> Packing {
        match self {
            Self::R32 | Self::Gr32 | Self::Ar32 | Self::Abgr32 => Packing::Wide,
            Self::Fp16 if ty.kind == NumericKind::Float && ty.bits == 16 => Packing::Halves,
            Self::Fp16 => Packing::RoundedHalves,
            Self::Unorm16 => Packing::Unorm16,
            Self::Snorm16 => Packing::Snorm16,
            Self::Uint16 => Packing::Uint16,
            Self::Sint16 => Packing::Sint16,
        }
    }

    fn sends_any_of(self, channels: u8) -> bool {
        self.components().into_iter().flatten().any(|component| channels >> component & 1 == 1)
    }
}

/// Conversion of components to the registers of an export. If the value's type does not match the attachment's, that is
/// an application error, and the bits are exported unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// One component per register, widened to 32 bits.
    Wide,
    /// Two f16, unchanged.
    Halves,
    /// Two f32, rounded towards zero to f16.
    RoundedHalves,
    /// Two floats, converted to 16 bits for 0..1.
    Unorm16,
    /// Two floats, converted to 16 bits for -1..1.
    Snorm16,
    /// Two integers, clamped to unsigned 16 bits.
    Uint16,
    /// Two integers, clamped to signed 16 bits.
    Sint16,
}

/// Exports of a fragment shader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColorExportPlan {
    /// Depth, stencil or sample mask is exported.
    pub mrtz: bool,
    /// Colour exports in order.
    pub colors: Vec<ColorExport>,
    /// The two colours of a blend are swapped between lanes.
    pub swapped: bool,
    /// The output whose alpha is exported beside depth too: its index in [`FragmentInterface::colors`]. Coverage comes from there.
    pub coverage: Option<usize>,
    /// A shader that kills pixels and exports nothing else has an empty export, which reports the live pixels.
    pub dummy: bool,
    /// Resulting register words.
    pub formats: ExportedFormats,
}

/// One colour export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColorExport {
    /// Hardware target.
    pub target: u8,
    /// Index in [`FragmentInterface::colors`].
    pub output: usize,
    /// Its export format.
    pub format: ExportFormat,
    /// Alpha is 1 instead of the shader's value.
    pub alpha_is_one: bool,
}

impl ColorExportPlan {
    /// Plans the exports of `fragment` to the attachments of `state`.
    ///
    /// # Errors
    /// Malformed: a location beyond 7 or given twice, a format that colours cannot have, an output of 64 bits.
    /// Unsupported: alpha-to-coverage together with alpha-to-one.
    pub fn new(gfx: Gpu, fragment: &FragmentInterface, state: &ColorState) -> Result<Self> {
        if let Some(formats) = fragment.exported {
            return Ok(Self { formats, ..Self::default() });
        }
        check(fragment, state)?;
        if state.alpha_to_one && state.alpha_to_coverage {
            let why = "gfx10.3 takes coverage from the exported alpha";
            return Err(Error::unsupported("alpha_to_one with alpha_to_coverage", why));
        }
        let mut plan = Self {
            mrtz: fragment.writes_depth || fragment.writes_stencil || fragment.writes_sample_mask,
            ..Self::default()
        };
        plan.formats.z_format = z_format(fragment);
        if needs_epilog(gfx, fragment, state) {
            plan.coverage =
                output(fragment, 0, 0).map(|(output, _)| output).filter(|_| state.alpha_to_coverage && plan.mrtz);
            if plan.coverage.is_some() {
                // Alpha is the fourth channel.
                plan.formats.z_format = ExportFormat::Abgr32 as u32;
            }
        }
        // Dual-source blending has one attachment.
        for location in 0..if state.dual_source { 1 } else { MAX_TARGETS } {
            let attachment = state.attachments.iter().find(|a| a.location == location);
            if let Some((output, color)) = output(fragment, location, 0) {
                plan.location(gfx, fragment, state, attachment, (output, color))
                    .at(|| format!("location {location}"))?;
            }
        }
        // Its format is one of target 0, but `CB_SHADER_MASK` stays 0: no colour is written. So do LLPC
        // (`LowerFragColorExport::addDummyExport`) and RADV.
        if !plan.mrtz && plan.colors.is_empty() && fragment.kills {
            plan.dummy = true;
            plan.formats.col_format = ExportFormat::R32 as u32;
        }
        Ok(plan)
    }

    fn location(
        &mut self,
        gfx: Gpu,
        fragment: &FragmentInterface,
        state: &ColorState,
        attachment: Option<&ColorAttachment>,
        (output_index, color): (usize, &ColorOutput),
    ) -> Result<()> {
        let coverage = state.alpha_to_coverage && color.location == 0;
        let written = attachment.filter(|a| a.write_mask & 0xf != 0 || coverage);
        let alpha_is_one = state.alpha_to_one && written.is_some_and(|a| Format::of(a.format).is_ok_and(has_a_one));
        let channels = |color: &ColorOutput| color.channels | if alpha_is_one { ALPHA } else { 0 };
        // Dual-source blending waits for the second colour. If the shader has none, its value is undefined, but it must be
        // exported.
        let second =
            (state.dual_source && color.location == 0).then(|| output(fragment, 0, 1).unwrap_or((output_index, color)));
        // Where lanes swap the colours, each export has both: their format has the channels of both.
        let swapped = second.filter(|_| !gfx.facts().plain_dual_source);
        let shared = swapped.map_or(0, |(_, second)| channels(color) | channels(second));
        let choose = |color| export_format(gfx, written, channels(color) | shared, coverage);
        let Some((format, mask)) = choose(color)? else { return Ok(()) };
        if !format.sends_any_of(channels(color) | shared) {
            return Ok(());
        }
        self.swapped = swapped.is_some();
        self.push(output_index, format, alpha_is_one, (color.location, mask));
        if let Some((second, color)) = second {
            let format = choose(color)?.map_or(format, |(format, _)| format);
            self.push(second, format, alpha_is_one, (1, mask));
        }
        Ok(())
    }

    fn push(&mut self, output: usize, format: ExportFormat, alpha_is_one: bool, (location, mask): (u32, u32)) {
        let target = self.colors.len();
        self.formats.col_format |= (format as u32) << (4 * target);
        self.formats.cb_mask |= mask << (4 * location);
        let target = u8::try_from(target).unwrap_or(u8::MAX);
        self.colors.push(ColorExport { target, output, format, alpha_is_one });
    }
}

/// Whether only an epilog makes the exports that this state wants, and no body: those that swap colours between lanes, or have
/// alpha beside depth (pal-abi 7).
pub fn needs_epilog(gpu: Gpu, fragment: &FragmentInterface, state: &ColorState) -> bool {
    let depth = fragment.writes_depth || fragment.writes_stencil || fragment.writes_sample_mask;
    !gpu.facts().plain_dual_source && (state.dual_source || state.alpha_to_coverage && depth)
}

fn output(fragment: &FragmentInterface, location: u32, index: u8) -> Option<(usize, &ColorOutput)> {
    fragment.colors.iter().enumerate().find(|(_, c)| c.location == location && c.index == index)
}

fn check(fragment: &FragmentInterface, state: &ColorState) -> Result<()> {
    let mut outputs: Vec<(u32, u8)> = fragment.colors.iter().map(|c| (c.location, c.index)).collect();
    let mut locations: Vec<(u32, u8)> = state.attachments.iter().map(|a| (a.location, 0)).collect();
    for (what, list) in [("fragment output", &mut outputs), ("colour attachment", &mut locations)] {
        list.sort_unstable();
        if let Some((location, _)) = list.iter().find(|(location, _)| *location >= MAX_TARGETS) {
            return Err(Error::malformed(format!("{what} location {location}: there are {MAX_TARGETS}")));
        }
        if let Some([(location, _), ..]) = list.windows(2).find(|pair| pair.first() == pair.last()) {
            return Err(Error::malformed(format!("{what} location {location} is given twice")));
        }
    }
    state.sample_count()?;
    match fragment.colors.iter().find(|c| !matches!(c.ty.bits, 8 | 16 | 32)) {
        Some(c) => Err(Error::malformed(format!("fragment output location {}: {} bits", c.location, c.ty.bits))),
        None => Ok(()),
    }
}

fn z_format(fragment: &FragmentInterface) -> u32 {
    let format = if fragment.writes_sample_mask {
        ExportFormat::Abgr32
    } else if fragment.writes_stencil {
        ExportFormat::Gr32
    } else if fragment.writes_depth {
        ExportFormat::R32
    } else {
        return 0;
    };
    format as u32
}

/// Bit of alpha in a channel mask.
const ALPHA: u8 = 8;

/// Whether alpha can be replaced by 1 in this format: integers are left unchanged.
fn has_a_one(format: Format) -> bool {
    !matches!(format.number, Number::Uint | Number::Sint)
}

/// Export format and channel mask of a colour, or `None` if there is nothing to export.
fn export_format(
    gfx: Gpu,
    attachment: Option<&ColorAttachment>,
    channels_sent: u8,
    coverage: bool,
) -> Result<Option<(ExportFormat, u32)>> {
    let Some(attachment) = attachment else {
        // Only alpha is used; its export format also sends red.
        return Ok(coverage.then_some((ExportFormat::Ar32, 0x9)));
    };
    let format = Format::of(attachment.format)?;
    if !format.is_color() {
        return Err(Error::malformed(format!("`{}` is not a colour format", attachment.format)));
    }
    let narrow_in_16 = gfx.facts().narrow_exports;
    let bits = format.max_bits();
    let alpha = channels_sent & ALPHA != 0 && (format.has_alpha() || attachment.blend_source_alpha || coverage);
    let channels = format.channels.len();
    let number = format.number;
    let norm16 = matches!(number, Number::Unorm | Number::Snorm) && bits > 10;
    let integer = matches!(number, Number::Uint | Number::Sint);
    let half = match number {
        Number::Unorm | Number::Snorm => bits <= 10,
        Number::Float => bits <= 16,
        Number::Srgb => true,
        _ => false,
    };
    let chosen = if channels == 1 && !alpha && number != Number::Srgb && (!narrow_in_16 || bits == 32) {
        ExportFormat::R32
    } else if half {
        ExportFormat::Fp16
    } else if integer && bits <= 16 && !coverage {
        if number == Number::Sint { ExportFormat::Sint16 } else { ExportFormat::Uint16 }
    } else if norm16 && !attachment.blend {
        if number == Number::Snorm { ExportFormat::Snorm16 } else { ExportFormat::Unorm16 }
    } else if channels == 1 {
        ExportFormat::Ar32
    } else if channels == 2 && !alpha {
        ExportFormat::Gr32
    } else {
        ExportFormat::Abgr32
    };
    Ok(Some((chosen, 0xf)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::kinds::NumericKind;
    use dovetail_metadata::interface::ComponentType;

    fn attachment(location: u32, format: &str) -> ColorAttachment {
        let format = format.parse().expect("a format");
        ColorAttachment { location, format, write_mask: 0xf, blend: false, blend_source_alpha: false }
    }

    fn color(location: u32, channels: u8) -> ColorOutput {
        ColorOutput { location, index: 0, channels, ty: ComponentType::F32, values: [None; 4] }
    }

    fn plan(colors: Vec<ColorOutput>, state: &ColorState) -> Result<ColorExportPlan> {
        let fragment = FragmentInterface { colors, ..Default::default() };
        ColorExportPlan::new(Gpu::Gfx1030, &fragment, state)
    }

    fn chosen(format: &str, channels: u8, blend: bool, source_alpha: bool, alpha_to_coverage: bool) -> u32 {
        let attachment = ColorAttachment { blend, blend_source_alpha: source_alpha, ..attachment(0, format) };
        let state = ColorState { attachments: vec![attachment], alpha_to_coverage, ..Default::default() };
        plan(vec![color(0, channels)], &state).expect(format).formats.col_format
    }

    #[test]
    fn swapped_colours_travel_in_one_format() {
        let blended = ColorAttachment { blend: true, blend_source_alpha: true, ..attachment(0, "R32_SFLOAT") };
        let state = ColorState { attachments: vec![blended], dual_source: true, ..Default::default() };
        let colors = vec![color(0, 1), ColorOutput { index: 1, ..color(0, 0xf) }];
        let fragment = FragmentInterface { colors, ..Default::default() };
        let of = |gpu| ColorExportPlan::new(gpu, &fragment, &state).expect("a plan");
        let (apart, swapped) = (of(Gpu::Gfx1030), of(Gpu::Gfx1100));
        let formats = |plan: &ColorExportPlan| [0, 4].map(|shift| plan.formats.col_format >> shift & 15);
        let [red, with_alpha] = [ExportFormat::R32 as u32, ExportFormat::Ar32 as u32];
        assert_eq!((formats(&apart), apart.swapped), ([red, with_alpha], false));
        assert_eq!((formats(&swapped), swapped.swapped), ([with_alpha; 2], true));
        // What is not exported is not swapped.
        let nothing = ColorState { attachments: Vec::new(), ..state.clone() };
        assert!(!ColorExportPlan::new(Gpu::Gfx1100, &fragment, &nothing).expect("a plan").swapped);
    }

    #[test]
    fn every_format_travels_in_the_cheapest_way_that_is_exact() {
        // Format, then its export format number for: all channels; blending; blending with source alpha; coverage;
        // alpha not written.
        let rows: [(&str, [u32; 5]); 26] = [
            ("R8_UNORM", [4, 4, 4, 4, 4]),
            ("R8G8B8A8_UNORM", [4, 4, 4, 4, 4]),
            ("B8G8R8A8_SRGB", [4, 4, 4, 4, 4]),
            ("R8_SRGB", [4, 4, 4, 4, 4]),
            ("R8G8B8A8_SNORM", [4, 4, 4, 4, 4]),
            ("R8G8B8A8_UINT", [7, 7, 7, 9, 7]),
            ("R8_SINT", [8, 8, 8, 3, 8]),
            ("A2B10G10R10_UNORM_PACK32", [4, 4, 4, 4, 4]),
            ("A2B10G10R10_UINT_PACK32", [7, 7, 7, 9, 7]),
            ("B10G11R11_UFLOAT_PACK32", [4, 4, 4, 4, 4]),
            ("E5B9G9R9_UFLOAT_PACK32", [4, 4, 4, 4, 4]),
            ("R5G6B5_UNORM_PACK16", [4, 4, 4, 4, 4]),
            ("R16_UNORM", [5, 3, 3, 5, 5]),
            ("R16G16_UNORM", [5, 2, 9, 5, 5]),
            ("R16G16B16A16_UNORM", [5, 9, 9, 5, 5]),
            ("R16G16_SNORM", [6, 2, 9, 6, 6]),
            ("R16G16B16A16_SFLOAT", [4, 4, 4, 4, 4]),
            ("R16_UINT", [7, 7, 7, 3, 7]),
            ("R16G16_SINT", [8, 8, 8, 9, 8]),
            ("R32_SFLOAT", [1, 1, 3, 3, 1]),
            ("R32_UINT", [1, 1, 3, 3, 1]),
            ("R32G32_SFLOAT", [2, 2, 9, 9, 2]),
            ("R32G32_SINT", [2, 2, 9, 9, 2]),
            ("R32G32B32A32_SFLOAT", [9, 9, 9, 9, 9]),
            ("R32G32B32A32_UINT", [9, 9, 9, 9, 9]),
            ("A8_UNORM", [4, 4, 4, 4, 4]),
        ];
        for (format, wanted) in rows {
            let got = [
                chosen(format, 15, false, false, false),
                chosen(format, 15, true, false, false),
                chosen(format, 15, true, true, false),
                chosen(format, 15, false, false, true),
                chosen(format, 7, false, false, false),
            ];
            assert_eq!(got, wanted, "{format}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let state = |attachments| ColorState { attachments, ..Default::default() };
        let rgba = || attachment(0, "R8G8B8A8_UNORM");
        assert!(plan(vec![color(8, 15)], &state(vec![])).is_err());
        assert!(plan(vec![color(0, 15), color(0, 1)], &state(vec![])).is_err());
        assert!(plan(vec![], &state(vec![rgba(), rgba()])).is_err());
        assert!(plan(vec![color(0, 15)], &state(vec![attachment(0, "R64_SFLOAT")])).is_err());
        assert!(plan(vec![color(0, 15)], &state(vec![attachment(0, "R8G8B8A8_USCALED")])).is_err());
        assert!(plan(vec![color(0, 15)], &state(vec![attachment(0, "D32_SFLOAT")])).is_err());
        let wide = ComponentType { kind: NumericKind::Float, bits: 64 };
        assert!(plan(vec![ColorOutput { ty: wide, ..color(0, 15) }], &state(vec![rgba()])).is_err());
    }

    #[test]
    fn alpha_may_be_one() {
        let planned = |format, channels, alpha_to_coverage| {
            let attachments = vec![attachment(0, format)];
            let state = ColorState { attachments, alpha_to_one: true, alpha_to_coverage, ..Default::default() };
            plan(vec![color(0, channels)], &state)
        };
        // Alpha is sent although the shader does not write it; formats without alpha, and integers, are exported as
        // before.
        for (format, channels, sent, is_one) in [
            ("R8G8B8A8_UNORM", 7, ExportFormat::Fp16, true),
            ("R32G32B32A32_SFLOAT", 1, ExportFormat::Abgr32, true),
            ("R16G16_UNORM", 15, ExportFormat::Unorm16, true),
            ("R32_SFLOAT", 15, ExportFormat::R32, true),
            ("R32G32B32A32_UINT", 7, ExportFormat::Abgr32, false),
        ] {
            let plan = planned(format, channels, false).expect(format);
            assert_eq!(plan.colors, [ColorExport { target: 0, output: 0, format: sent, alpha_is_one: is_one }]);
        }
        let refused = planned("R8G8B8A8_UNORM", 15, true).expect_err("both need the alpha that is exported");
        assert!(refused.to_string().starts_with("unsupported: alpha_to_one with alpha_to_coverage"), "{refused}");
    }

    #[test]
    fn a_body_that_exports_is_left_alone() {
        let exported = ExportedFormats { col_format: 0x94, cb_mask: 0xff, z_format: 1 };
        let fragment = FragmentInterface { exported: Some(exported), kills: true, ..Default::default() };
        let plan = ColorExportPlan::new(Gpu::Gfx1030, &fragment, &ColorState::default()).expect("plan");
        assert_eq!(plan, ColorExportPlan { formats: exported, ..Default::default() });
    }
}
