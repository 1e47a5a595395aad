//! Positions and parameters.

use super::*;

#[test]
fn positions_are_exported_and_parameters_returned() {
    let c = unknown(Stage::Vertex, |b| {
        let (x, y) = (b.fconst(Type::B32, 1.0), opaque(b, Type::B32));
        for n in 0..4 {
            output(b, OutputSlot::Position(n), F32, if n == 3 { x } else { y });
        }
        output(b, location(2, 1), F32, y);
        output(b, location(0, 3), F32, x);
        let half = opaque(b, Type::B16);
        output(b, location(0, 0), F32, half);
        output(b, location(0, 1), NumericKind::Uint, half);
        let undef = b.undef(Type::B32);
        output(b, OutputSlot::PointSize, F32, undef);
    });
    let v = "x";
    let one = "1065353216";
    assert_eq!(c.exports(), [(ExportTarget::Pos(0), 15, true, [v, v, v, one].map(String::from).to_vec())]);
    assert_eq!(c.returned(), ["fconv(x)", "zext(x)", v]);
    let params: Vec<_> =
        c.vertex().params.iter().map(|p| (p.semantic, p.component, p.ty.kind, p.ty.bits, p.source)).collect();
    let at = Semantic::Location;
    assert_eq!(
        params,
        [
            (at(0), 0, F32, 32, ParamSource::Vgpr(0)),
            (at(0), 1, NumericKind::Uint, 32, ParamSource::Vgpr(1)),
            (at(0), 3, F32, 32, ParamSource::Constant(0x3f80_0000)),
            (at(2), 1, F32, 32, ParamSource::Vgpr(2)),
        ]
    );
    assert_eq!(c.shader.lower.as_ref().unwrap().returns, [RegClass::Vgpr; 3]);
    assert!(c.interface.epilog);
    assert_eq!(c.vertex().positions.count, 1);
    assert!(!c.vertex().positions.point_size);
}

#[test]
fn only_constants_to_export_still_fall_through() {
    let c = unknown(Stage::Vertex, |b| {
        let one = b.fconst(Type::B32, 1.0);
        output(b, location(0, 0), F32, one);
    });
    assert_eq!(c.returned(), ["GlobalTable"]);
    assert_eq!(c.shader.lower.as_ref().unwrap().returns, [RegClass::Sgpr]);
    assert!(c.interface.epilog);
    // Without a position the hardware still waits for one.
    assert_eq!(c.exports().len(), 1);
    // Nothing at all to export: the program ends.
    let c = unknown(Stage::Vertex, |_| {});
    assert!(c.returned().is_empty() && !c.interface.epilog);
}

#[test]
fn position_vectors_are_packed_and_the_last_is_done() {
    let c = unknown(Stage::Vertex, |b| {
        let v = opaque(b, Type::B32);
        for slot in [
            OutputSlot::Position(0),
            OutputSlot::PointSize,
            OutputSlot::Layer,
            OutputSlot::ViewportIndex,
            OutputSlot::ClipDistance(0),
            OutputSlot::ClipDistance(2),
            OutputSlot::CullDistance(1),
        ] {
            let kind = if slot == OutputSlot::Layer { NumericKind::Sint } else { F32 };
            output(b, slot, kind, v);
        }
    });
    let v = "x";
    let exports = c.exports();
    let shape: Vec<_> = exports.iter().map(|(t, en, done, _)| (*t, *en, *done)).collect();
    use ExportTarget::Pos;
    assert_eq!(shape, [(Pos(0), 15, false), (Pos(1), 5, false), (Pos(2), 15, false), (Pos(3), 15, true)]);
    assert_eq!(exports[1].3, [v.to_owned(), format!("ior({v}, shl({v}, 16))")]);
    // Three clip distances, then the cull distances behind them.
    assert_eq!(exports[2].3[0], v);
    assert_eq!(exports[3].3[0], v);
    let p = c.vertex().positions;
    assert_eq!((p.count, p.clip_distances, p.cull_distances), (4, 3, 2));
    assert!(p.point_size && p.layer && p.viewport_index);
    let semantics: Vec<_> = c.vertex().params.iter().map(|p| (p.semantic, p.component)).collect();
    assert_eq!(
        semantics,
        [
            (Semantic::ClipDistance(0), 0),
            (Semantic::ClipDistance(0), 2),
            (Semantic::CullDistance(0), 1),
            (Semantic::Layer, 0),
            (Semantic::ViewportIndex, 0),
        ]
    );
}

#[test]
fn known_fragment_inputs_are_exported_and_nothing_else() {
    let input = |semantic, channels| FragmentInput {
        semantic,
        channels,
        flat: false,
        per_vertex: false,
        ty: ComponentType::F32,
    };
    let at = Semantic::Location;
    let params = vec![input(at(7), 15), input(at(1), 0b0101), input(Semantic::PrimitiveId, 1)];
    let known = KnownState { params: Known::Known(params), ..KnownState::default() };
    let c = case(Stage::Vertex, known, |b| {
        let v = opaque(b, Type::B32);
        for (l, n) in [(1, 0), (1, 1), (1, 2), (4, 0)] {
            output(b, location(l, n), F32, v);
        }
    });
    let v = "x".to_owned();
    assert_eq!(
        c.exports()[1..],
        [
            (ExportTarget::Param(1), 0b0101, false, vec![v.clone(), v]),
            (ExportTarget::Param(2), 1, false, vec!["primitive_id".into()]),
        ]
    );
    assert!(c.returned().is_empty() && !c.interface.epilog);
    let k = c.vertex();
    assert_eq!(k.exported_params, 3);
    assert!(k.uses_primitive_id);
    assert_eq!(k.vgpr_comp_cnt, 2);
    assert!(k.params.iter().all(|p| p.source == ParamSource::Exported));
    assert_eq!(k.params.len(), 3);
}

#[test]
fn every_end_returns_the_same_slots() {
    let mut shader = Shader::new("main", Stage::Vertex);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let (one, two) = (b.new_block(), b.new_block());
    let cond = opaque(&mut b, Type::B1);
    b.branch(cond, one, two);
    for (block, slots) in [(one, &[(0, 5u32), (1, 6)][..]), (two, &[(0, 5), (2, 7)])] {
        b.switch_to(block);
        for &(n, bits) in slots {
            let v = b.c32(bits);
            output(&mut b, location(n, 0), F32, v);
        }
        b.terminate(Terminator::Return(Vec::new()));
    }
    let l = lower(shader, &request(Stage::Vertex, KnownState::default())).unwrap();
    let c = Case { shader: l.shader, interface: l.interface };
    let ends: Vec<Vec<String>> = [one, two]
        .iter()
        .map(|&e| match &c.shader.block(e).term {
            Some(Terminator::Return(v)) => v.iter().map(|&v| c.text(v)).collect(),
            other => panic!("{other:?}"),
        })
        .collect();
    // Location 0 is the same constant at both ends, the others are each undefined at one.
    assert_eq!(ends, [["6", "undef"], ["undef", "7"]]);
    assert_eq!(c.vertex().params[0].source, ParamSource::Constant(5));
    assert_eq!(c.vertex().params[2].source, ParamSource::Vgpr(1));
}

#[test]
fn constants_that_the_rasterizer_has_are_not_exported() {
    let input = |l, channels| FragmentInput {
        semantic: Semantic::Location(l),
        channels,
        flat: false,
        per_vertex: false,
        ty: ComponentType::F32,
    };
    let known = KnownState { params: Known::Known(vec![input(0, 3), input(1, 3)]), ..KnownState::default() };
    let c = case(Stage::Vertex, known, |b| {
        let (one, two) = (b.fconst(Type::B32, 1.0), b.fconst(Type::B32, 2.0));
        for (l, n, v) in [(0, 0, one), (0, 1, one), (1, 0, one), (1, 1, two)] {
            output(b, location(l, n), F32, v);
        }
    });
    let (one, two) = ("1065353216".to_owned(), "1073741824".to_owned());
    // (1, 1) is there already, (1, 2) is not.
    assert_eq!(c.exports()[1..], [(ExportTarget::Param(1), 3, false, vec![one, two])]);
    let one = ParamSource::Constant(0x3f80_0000);
    let sources: Vec<_> = c.vertex().params.iter().map(|p| p.source).collect();
    assert_eq!(sources, [one, one, ParamSource::Exported, ParamSource::Exported]);
    assert_eq!(c.vertex().exported_params, 2);
}

#[test]
fn constants_are_found_in_the_locals_that_outputs_are_collected_in() {
    // Four components: constant, stored twice alike, stored twice differently, not constant.
    let c = unknown(Stage::Vertex, |b| {
        let local = b.shader.add_local(Local { name: "out".into(), bytes: 16, align: Align::A16 });
        let (one, two, x) = (b.c32(1), b.c32(2), opaque(b, Type::B32));
        let whole = b.compose(&[one, two, one, x]);
        let zero = b.c32(0);
        b.effect(Op::LocalStore { local, align: Align::A16 }, &[zero, whole]);
        for (offset, v) in [(4, two), (8, two)] {
            let at = b.c32(offset);
            b.effect(Op::LocalStore { local, align: Align::A4 }, &[at, v]);
        }
        for n in 0..4u8 {
            let at = b.c32(u32::from(n) * 4);
            let v = b.value(Op::LocalLoad { local, align: Align::A4 }, &[at], Type::B32);
            output(b, location(0, n), NumericKind::Uint, v);
        }
    });
    let sources: Vec<_> = c.vertex().params.iter().map(|p| p.source).collect();
    let want = [ParamSource::Constant(1), ParamSource::Constant(2), ParamSource::Vgpr(0), ParamSource::Vgpr(1)];
    assert_eq!(sources, want);
    // A store at a place that only the running shader knows may hit any component.
    let c = unknown(Stage::Vertex, |b| {
        let local = b.shader.add_local(Local { name: "out".into(), bytes: 16, align: Align::A16 });
        let (zero, one, x) = (b.c32(0), b.c32(1), opaque(b, Type::B32));
        b.effect(Op::LocalStore { local, align: Align::A4 }, &[zero, one]);
        b.effect(Op::LocalStore { local, align: Align::A4 }, &[x, one]);
        let v = b.value(Op::LocalLoad { local, align: Align::A4 }, &[zero], Type::B32);
        output(b, location(0, 0), NumericKind::Uint, v);
    });
    assert_eq!(c.vertex().params[0].source, ParamSource::Vgpr(0));
}
