//! Colours and depth.

use super::*;

#[test]
fn unknown_colours_are_returned() {
    let c = unknown(Stage::Fragment, |b| {
        let v = opaque(b, Type::B32);
        let h = opaque(b, Type::B16);
        output(b, OutputSlot::SampleMask, NumericKind::Uint, v);
        output(b, OutputSlot::FragDepth, F32, v);
        output(b, location(3, 2), F32, h);
        output(b, location(1, 3), F32, v);
        output(b, location(1, 0), F32, v);
        output(b, OutputSlot::Location { location: 1, component: 1, index: 1 }, F32, v);
        let yes = b.cbool(true);
        b.effect(Op::DemoteIf, &[yes]);
    });
    let v = "x";
    assert_eq!(c.returned(), [v, v, v, "zext(x)", v, v]);
    let f = c.fragment();
    let color = |location, index, channels, bits, vgprs| ColorOutput {
        location,
        index,
        channels,
        ty: ComponentType { kind: F32, bits },
        vgprs,
    };
    assert_eq!(
        f.colors,
        [
            color(1, 0, 0b1001, 32, [Some(0), None, None, Some(1)]),
            color(1, 1, 0b0010, 32, [None, Some(2), None, None]),
            color(3, 0, 0b0100, 16, [None, None, Some(3), None]),
        ]
    );
    assert_eq!((f.depth, f.stencil, f.sample_mask), (Some(4), None, Some(5)));
    assert!(f.writes_depth && !f.writes_stencil && f.writes_sample_mask && f.kills);
    assert!(c.interface.epilog);
}

#[test]
fn a_fragment_shader_without_outputs_falls_through_for_its_epilog() {
    let c = unknown(Stage::Fragment, |_| {});
    assert_eq!(c.returned(), ["GlobalTable"]);
    assert!(c.interface.epilog && !c.fragment().kills);
    assert!(c.shader.lower.as_ref().unwrap().color_export);
}

fn colors(formats: &[&str]) -> KnownState {
    let attachment = |(location, format): (u32, &&str)| ColorAttachment {
        location,
        format: (*format).to_owned(),
        write_mask: 15,
        blend: false,
        blend_source_alpha: false,
    };
    let attachments = (0..).zip(formats).map(attachment).collect();
    KnownState { colors: Known::Known(ColorState { attachments, ..ColorState::default() }), ..KnownState::default() }
}

#[test]
fn known_colours_are_converted_and_exported() {
    let rows = [
        ("R32G32B32A32_SFLOAT", F32, 32, 15, vec!["x", "x", "x", "x"]),
        ("R32_SFLOAT", F32, 32, 1, vec!["x"]),
        ("R32G32_SINT", NumericKind::Sint, 16, 3, vec!["sext(x)", "sext(x)"]),
        ("R8G8B8A8_UNORM", F32, 32, 15, vec!["pack_half_rtz(x, x)"; 2]),
        ("R16G16B16A16_SFLOAT", F32, 16, 15, vec!["x:x", "x:x"]),
        ("R16G16B16A16_UNORM", F32, 32, 15, vec!["pack_unorm16(x, x)", "pack_unorm16(x, x)"]),
        ("R16G16B16A16_SNORM", F32, 16, 15, vec!["pack_snorm16(fconv(x), fconv(x))"; 2]),
        ("R8G8B8A8_UINT", NumericKind::Uint, 32, 15, vec!["trunc(umin(x, 65535)):trunc(umin(x, 65535))"; 2]),
    ];
    for (format, kind, bits, enable, want) in rows {
        let c = case(Stage::Fragment, colors(&[format]), |b| {
            let v = opaque(b, Type::scalar(Bits::from_count(bits).unwrap()));
            for n in 0..4 {
                output(b, location(0, n), kind, v);
            }
        });
        let exports = c.find(|op| matches!(op, Op::Export { .. }));
        let [export] = exports.as_slice() else { panic!("{format}: {exports:?}") };
        let packed = want.len() == 2 && enable == 15;
        let target = ExportTarget::Mrt(0);
        let op = Op::Export { target, enable, compressed: packed, done: true, valid_mask: true };
        assert_eq!(export.op, op, "{format}");
        let got: Vec<String> = export.args[..want.len()].iter().map(|&v| c.text(v)).collect();
        assert_eq!(got, want, "{format}");
        assert!(c.returned().is_empty() && !c.interface.epilog);
        assert!(c.fragment().exported.is_some_and(|e| e.cb_mask == 15));
    }
}

#[test]
fn depth_goes_first_and_the_last_export_is_done() {
    let c = case(Stage::Fragment, colors(&["R8G8B8A8_UNORM", "R32_SFLOAT"]), |b| {
        let v = opaque(b, Type::B32);
        output(b, location(1, 0), F32, v);
        output(b, location(0, 2), F32, v);
        output(b, OutputSlot::FragDepth, F32, v);
        output(b, OutputSlot::SampleMask, NumericKind::Uint, v);
    });
    let shape: Vec<_> = c.exports().iter().map(|(t, en, done, _)| (*t, *en, *done)).collect();
    // Blue alone: only its pair is sent.
    let want = [(ExportTarget::MrtZ, 5, false), (ExportTarget::Mrt(0), 12, false), (ExportTarget::Mrt(1), 1, true)];
    assert_eq!(shape, want);
    let info = c.shader.lower.as_ref().unwrap();
    assert!(info.color_export && info.depth_export);
}

#[test]
fn a_shader_that_kills_exports_something() {
    let kill = |kill: bool| {
        case(Stage::Fragment, colors(&[]), move |b| {
            let yes = opaque(b, Type::B1);
            if kill {
                b.effect(Op::DemoteIf, &[yes]);
            }
        })
    };
    let c = kill(true);
    assert_eq!(c.exports(), [(ExportTarget::Mrt(0), 1, true, vec!["0".to_owned()])]);
    let c = kill(false);
    assert!(c.exports().is_empty() && !c.shader.lower.as_ref().unwrap().color_export);
}
