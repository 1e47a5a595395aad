//! Simulates epilogs symbolically: however values share registers, each export must send the values of its key.
//!
//! A register holds the expression that produced it, so the exported expressions show a conversion that overwrites a
//! value still needed.

use super::tests::{component_type, instructions};
use super::*;
use dovetail_abi::exports::ExportFormat;
use dovetail_abi::params::ParamExport;
use dovetail_base::target::Gpu;
use dovetail_isa::instruction::{Fields, VectorDst};
use dovetail_isa::{Counter, ExpSources, ExpTarget, Isa, Op, OperandKind, Src, Vgpr, WaitCounts};
use dovetail_metadata::interface::{ParamSource, ResultSource};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Eq)]
struct Export {
    target: String,
    sources: Vec<Option<String>>,
    packed: bool,
}

#[derive(Default)]
struct Lane {
    registers: BTreeMap<Vgpr, String>,
    exports: Vec<Export>,
    done: Vec<bool>,
    top: u32,
    /// Exports of the body may still read registers.
    exporting: bool,
}

impl Lane {
    fn source(&mut self, src: Src) -> String {
        match src {
            Src::Vgpr(v) => {
                self.top = self.top.max(u32::from(v.number()) + 1);
                self.registers.get(&v).cloned().unwrap_or_else(|| v.to_string())
            }
            other => other.to_string(),
        }
    }

    fn compute(&mut self, op: Op, dst: Vgpr, srcs: &[Src]) {
        assert!(!self.exporting, "{dst} is written while an export of the body may read it");
        let srcs: Vec<String> = srcs.iter().map(|src| self.source(*src)).collect();
        let name = Isa::of(Gpu::Gfx1030).row(op).mnemonic;
        let value = if op == Op::VMovB32 { srcs.concat() } else { format!("{name}({})", srcs.join(",")) };
        self.top = self.top.max(u32::from(dst.number()) + 1);
        self.registers.insert(dst, value);
    }

    /// Runs an epilog. Only vertex bodies, whose exports have no valid mask, have exported anything before.
    fn run(piece: &GluePiece, valid_mask: bool) -> Self {
        let mut lane = Self { exporting: !valid_mask, ..Self::default() };
        for inst in instructions(&piece.code) {
            let op = inst.entry.op;
            match inst.fields {
                Fields::Vector(f) => {
                    let Some(VectorDst::Vgpr(dst)) = f.dst else { panic!("{op:?}") };
                    let srcs: Vec<Src> = f.srcs.into_iter().flatten().collect();
                    lane.compute(op, dst, &srcs);
                }
                Fields::Export(f) => {
                    assert_eq!(f.vm, valid_mask);
                    let target = ExpTarget::from_number(f.target).expect("a target");
                    let (list, packed) = match f.sources() {
                        ExpSources::Full(list) => (list.to_vec(), false),
                        ExpSources::Packed(list) => (list.to_vec(), true),
                    };
                    let sources = list.into_iter().map(|v| v.map(|v| lane.source(v.into()))).collect();
                    lane.exports.push(Export { target: target.to_string(), sources, packed });
                    lane.done.push(f.done);
                }
                Fields::Scalar(_) if op == Op::SEndpgm => {}
                Fields::Scalar(f) if op == Op::SWaitcnt => {
                    assert_eq!(Isa::of(Gpu::Gfx1030).waits.of_constant(f.imm), WaitCounts::all(Counter::Export));
                    lane.exporting = false;
                }
                _ => panic!("{op:?}"),
            }
        }
        assert!(lane.top <= piece.vgprs, "{} VGPRs are named, {} declared", lane.top, piece.vgprs);
        lane
    }
}

fn name(value: ResultSource) -> String {
    match value {
        ResultSource::Vgpr(register) => format!("v{register}"),
        ResultSource::Constant(bits) => Src::from_bits(bits).to_string(),
    }
}

/// Expected export of a colour.
fn expected(color: &ColorValue) -> Export {
    let bits = color.ty.bits;
    let half = color.ty == component_type("f16");
    let wide = |value: ResultSource| match (color.ty.kind, bits, name(value)) {
        (_, 32, name) => name,
        (dovetail_base::kinds::NumericKind::Float, _, name) => format!("v_cvt_f32_f16({name})"),
        (dovetail_base::kinds::NumericKind::Sint, _, name) => format!("v_bfe_i32({name},0,{bits})"),
        (dovetail_base::kinds::NumericKind::Uint, _, name) => format!("v_bfe_u32({name},0,{bits})"),
    };
    let op = match color.format {
        ExportFormat::Fp16 if half => "v_pack_b32_f16",
        ExportFormat::Fp16 => "v_cvt_pkrtz_f16_f32",
        ExportFormat::Unorm16 => "v_cvt_pknorm_u16_f32",
        ExportFormat::Snorm16 => "v_cvt_pknorm_i16_f32",
        ExportFormat::Uint16 => "v_cvt_pk_u16_u32",
        ExportFormat::Sint16 => "v_cvt_pk_i16_i32",
        _ => "",
    };
    let target = ExpTarget::Mrt(color.target).to_string();
    if op.is_empty() {
        let sources = color.values.iter().map(|value| value.map(wide)).collect();
        return Export { target, sources, packed: false };
    }
    let value = |value: Option<ResultSource>| match value {
        None => "0".to_owned(),
        Some(ResultSource::Constant(bits)) if op == "v_pack_b32_f16" => {
            Src::constant(OperandKind::F16, u64::from(bits & 0xffff)).map_or_else(String::new, |src| src.to_string())
        }
        Some(value) if op == "v_pack_b32_f16" => name(value),
        Some(value) => wide(value),
    };
    let pair = |pair: &[Option<ResultSource>]| {
        let values: Vec<String> = pair.iter().map(|one| value(*one)).collect();
        pair.iter().any(Option::is_some).then(|| format!("{op}({})", values.join(",")))
    };
    Export { target, sources: color.values.chunks(2).map(pair).collect(), packed: true }
}

fn register() -> impl Strategy<Value = Option<u32>> {
    proptest::option::of(0u32..12)
}

fn result() -> impl Strategy<Value = Option<ResultSource>> {
    let constant = prop::sample::select(vec![0, 1, 0x3c00, 0x3f80_0000, 0x4049_0fdb, 0x1234]);
    let some = prop_oneof![
        3 => (0u32..12).prop_map(ResultSource::Vgpr),
        1 => constant.prop_map(ResultSource::Constant),
    ];
    proptest::option::of(some)
}

/// A colour without a target.
fn color() -> impl Strategy<Value = ColorValue> {
    use ExportFormat::{Abgr32, Ar32, Fp16, Gr32, R32, Sint16, Snorm16, Uint16, Unorm16};
    let formats = prop::sample::select(vec![R32, Gr32, Ar32, Abgr32, Fp16, Unorm16, Snorm16, Uint16, Sint16]);
    let types = prop::sample::select(vec!["f32", "f16", "i32", "u32", "i16", "u16", "i8", "u8"]);
    let values = [result(), result(), result(), result()];
    (formats, types.prop_map(component_type), values).prop_map(|(format, ty, values)| ColorValue {
        target: 0,
        format,
        ty,
        values,
    })
}

proptest! {
    #[test]
    fn colour_epilogs_send_what_the_key_says(
        colors in prop::collection::vec(color(), 0..=8),
        depth in result(),
        stencil in result(),
        sample_mask in result(),
    ) {
        let colors = (0u8..).zip(colors);
        let colors = colors.map(|(target, color)| ColorValue { target, ..color }).collect();
        let key = ColorExportKey { depth: DepthValues { depth, stencil, sample_mask, alpha: None }, colors, swap: None, dummy: false };
        let piece = PieceKey::ColorExport(key.clone());
        let lane = Lane::run(&emit(&GlueKey { target: Gpu::Gfx1030, piece }).expect("emits"), true);
        let mut wanted: Vec<Export> = Vec::new();
        if depth.or(stencil).or(sample_mask).is_some() {
            let sources = vec![depth.map(name), stencil.map(name), sample_mask.map(name), None];
            wanted.push(Export { target: "mrtz".into(), sources, packed: false });
        }
        wanted.extend(key.colors.iter().map(expected));
        let done: Vec<bool> = (1..=wanted.len()).map(|i| i == wanted.len()).collect();
        prop_assert_eq!((lane.exports, lane.done), (wanted, done));
    }

    #[test]
    fn parameter_epilogs_send_what_the_key_says(
        vectors in prop::collection::vec([register(), register(), register(), register()], 0..=32),
        constants in 0u32..16,
    ) {
        // Some values are constants instead of registers.
        let source = |register: u32| match register % 4 {
            0 => ParamSource::Constant(register * 0x1000 * constants),
            _ => ParamSource::Vgpr(register),
        };
        let vectors = (0u8..).zip(vectors);
        let exports: Vec<ParamExport> = vectors
            .map(|(slot, channels)| ParamExport { slot, channels: channels.map(|channel| channel.map(source)) })
            .collect();
        let key = PieceKey::ParamExport(ParamExportKey { exports: exports.clone() });
        let lane = Lane::run(&emit(&GlueKey { target: Gpu::Gfx1030, piece: key }).expect("emits"), false);
        let text = |source: ParamSource| match source {
            ParamSource::Vgpr(register) => format!("v{register}"),
            ParamSource::Constant(bits) => Src::from_bits(bits).to_string(),
            ParamSource::Exported => "exported".to_owned(),
        };
        let wanted: Vec<Export> = exports
            .iter()
            .map(|export| Export {
                target: format!("param{}", export.slot),
                sources: export.channels.iter().map(|channel| channel.map(text)).collect(),
                packed: false,
            })
            .collect();
        prop_assert_eq!(lane.exports, wanted);
        prop_assert!(lane.done.iter().all(|done| !done));
    }
}
