//! Built-ins and fragment inputs.

use super::*;

#[test]
fn compute_built_ins() {
    let c = unknown(Stage::Compute, |b| {
        builtin(b, BuiltIn::LocalInvocationId, 2);
        builtin(b, BuiltIn::LocalInvocationIndex, 0);
        builtin(b, BuiltIn::NumWorkgroups, 2);
        builtin(b, BuiltIn::SubgroupId, 0);
        builtin(b, BuiltIn::NumSubgroups, 0);
        builtin(b, BuiltIn::DeviceIndex, 0);
    });
    assert_eq!(
        c.kept_text(),
        [
            "0",
            "iadd(local_x, imul(local_y, 8))",
            "table(WorkgroupCountLow:WorkgroupCountHigh, 8)",
            "readfirstlane(lshr(iadd(local_x, imul(local_y, 8)), 5))",
            "1",
            "$deviceIdx",
        ]
    );
    let StageKind::Compute(k) = &c.interface.kind else { panic!() };
    assert_eq!((k.local_size, k.tidig_comp_cnt), ([8, 4, 1], 1));
}

#[test]
fn fragment_built_ins() {
    let c = unknown(Stage::Fragment, |b| {
        builtin(b, BuiltIn::FragCoord, 1);
        builtin(b, BuiltIn::FragCoord, 3);
        builtin(b, BuiltIn::SampleMaskIn, 0);
        builtin(b, BuiltIn::HelperInvocation, 0);
        builtin(b, BuiltIn::BaryCoord, 0);
        builtin(b, BuiltIn::BaryCoordNoPersp, 2);
        builtin(b, BuiltIn::ViewIndex, 0);
    });
    assert_eq!(
        c.kept_text(),
        [
            "pos_y",
            "frcp(pos_w)",
            "sample_coverage",
            "zext(inot(livemask()))",
            "fsub(fsub(1065353216, persp_center[0]), persp_center[1])",
            "linear_center[1]",
            "ViewId",
        ]
    );
    assert!(!c.fragment().per_sample);
    // The mask of live lanes is taken before anything else happens.
    let first = c.shader.inst(c.shader.blocks[0].insts[0]);
    assert_eq!(first.op, Op::Amd(AmdOp::LiveMask));
}

#[test]
fn samples() {
    let c = unknown(Stage::Fragment, |b| {
        builtin(b, BuiltIn::SampleId, 0);
        builtin(b, BuiltIn::SampleMaskIn, 0);
        builtin(b, BuiltIn::SamplePosition, 1);
    });
    let id = "ubit_extract(ancillary, 8, 4)";
    let entry = format!("select(ugt($numsamples, {id}), iadd($samplePatternIdx, {id}), 0)");
    assert_eq!(
        c.kept_text(),
        [
            id.to_owned(),
            format!("iand(sample_coverage, shl(1, {id}))"),
            format!("fadd(buffer(table(GlobalTable:pc, 192), shl({entry}, 4))[1], 1056964608)"),
        ]
    );
    assert!(c.fragment().per_sample);
}

#[test]
fn attributes_are_numbered_densely() {
    let c = unknown(Stage::Fragment, |b| {
        input(b, 9, 3, F32, CENTER, Type::B32);
        input(b, 4, 0, NumericKind::Uint, Interp::Flat, Type::B32);
        input(b, 9, 1, F32, CENTER, Type::B16);
        input(b, 12, 0, F32, Interp::Vertex(1), Type::B32);
        builtin(b, BuiltIn::PrimitiveId, 0);
        builtin(b, BuiltIn::PointCoord, 1);
        builtin(b, BuiltIn::ClipDistance, 5);
        input(b, 5, 3, F32, Interp::Flat, Type::B64);
    });
    let uint = ComponentType { kind: NumericKind::Uint, bits: 32 };
    let row = |semantic, channels, flat, per_vertex, ty| FragmentInput { semantic, channels, flat, per_vertex, ty };
    assert_eq!(
        c.fragment().inputs,
        [
            row(Semantic::Location(4), 1, true, false, uint),
            row(Semantic::Location(5), 8, true, false, uint),
            row(Semantic::Location(6), 1, true, false, uint),
            row(Semantic::Location(9), 0b1010, false, false, ComponentType::F32),
            row(Semantic::Location(12), 1, false, true, ComponentType::F32),
            row(Semantic::ClipDistance(1), 2, false, false, ComponentType::F32),
            row(Semantic::PrimitiveId, 1, true, false, uint),
            row(Semantic::PointCoord, 2, false, false, ComponentType::F32),
        ]
    );
    let ij = "(persp_center[0], persp_center[1], prim_mask)";
    assert_eq!(
        c.kept_text(),
        [
            format!("interp3.3{ij}"),
            "mov2_0.0(prim_mask)".into(),
            format!("fconv(interp3.1{ij})"),
            "mov0_4.0(prim_mask)".into(),
            "mov2_6.0(prim_mask)".into(),
            format!("interp7.1{ij}"),
            format!("interp5.1{ij}"),
            "mov2_1.3(prim_mask):mov2_2.0(prim_mask)".into(),
        ]
    );
}

#[test]
fn barycentric_pairs_follow_the_place() {
    let at = |perspective, place| Interp::At { perspective, place };
    let c = unknown(Stage::Fragment, |b| {
        input(b, 0, 0, F32, at(true, InterpPlace::Sample), Type::B32);
        input(b, 0, 0, F32, at(false, InterpPlace::Centroid), Type::B32);
        input(b, 0, 0, F32, at(true, InterpPlace::Centroid), Type::B32);
        input(b, 0, 0, F32, CENTER, Type::B32);
    });
    let chosen = |n| format!("select(slt(prim_mask, 0), persp_center[{n}], persp_centroid[{n}])");
    assert_eq!(
        c.kept_text(),
        [
            "interp0.0(persp_sample[0], persp_sample[1], prim_mask)".into(),
            // The linear centre is not in use, so the hardware has no reason to leave the centroid out.
            "interp0.0(linear_centroid[0], linear_centroid[1], prim_mask)".into(),
            format!("interp0.0({}, {}, prim_mask)", chosen(0), chosen(1)),
            "interp0.0(persp_center[0], persp_center[1], prim_mask)".to_owned(),
        ]
    );
}

#[test]
fn barycentric_coordinates_are_a_use_of_the_centre() {
    let centroid = Interp::At { perspective: true, place: InterpPlace::Centroid };
    let c = unknown(Stage::Fragment, |b| {
        builtin(b, BuiltIn::BaryCoord, 1);
        input(b, 0, 0, F32, centroid, Type::B32);
    });
    let chosen = |n| format!("select(slt(prim_mask, 0), persp_center[{n}], persp_centroid[{n}])");
    assert_eq!(c.kept_text()[1], format!("interp0.0({}, {}, prim_mask)", chosen(0), chosen(1)));
    let c = unknown(Stage::Fragment, |b| input(b, 0, 0, F32, centroid, Type::B32));
    assert_eq!(c.kept_text(), ["interp0.0(persp_centroid[0], persp_centroid[1], prim_mask)"]);
}

#[test]
fn inputs_at_another_place_move_the_pair_by_its_slope() {
    let at = |perspective, place| Interp::At { perspective, place };
    let mut phases = Vec::new();
    let mut shader = Shader::new("main", Stage::Fragment);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    input(&mut b, 0, 0, F32, at(false, InterpPlace::AtOffset), Type::B32);
    input(&mut b, 0, 0, F32, at(true, InterpPlace::AtOffset), Type::B32);
    input(&mut b, 0, 0, F32, at(false, InterpPlace::AtSample), Type::B32);
    b.terminate(Terminator::Return(Vec::new()));
    let request = request(Stage::Fragment, KnownState::default());
    lower_with(shader, &request, &mut |name, s| phases.push((name.to_owned(), s.clone()))).unwrap();
    let (_, shader) = phases.iter().find(|(name, _)| name == "lower_inputs").unwrap();
    let c = Case { shader: shader.clone(), interface: unknown(Stage::Fragment, |_| {}).interface };
    let (x, y) = ("1048576000", "1056964608");
    let moved = |v: &str, x: &str, y: &str| format!("ffma({y}, ddy({v}), ffma({x}, ddx({v}), {v}))");
    let linear = |x: &str, y: &str| {
        let [i, j] = [0, 1].map(|n| moved(&format!("linear_center[{n}]"), x, y));
        format!("interp0.0({i}, {j}, prim_mask)")
    };
    let [i, j, w] = [0, 1, 2].map(|n| moved(&format!("persp_pull_model[{n}]"), x, y));
    let place = "select(ugt($numsamples, 2), iadd($samplePatternIdx, 2), 0)";
    let sample = format!("buffer(table(GlobalTable:pc, 192), shl({place}, 4))");
    assert_eq!(
        c.kept_text(),
        [
            linear(x, y),
            format!("interp0.0(fmul({i}, frcp({w})), fmul({j}, frcp({w})), prim_mask)"),
            linear(&format!("{sample}[0]"), &format!("{sample}[1]")),
        ]
    );
    // Slopes are taken where all pixels of the quad are: at the top, before anything else.
    let first_other = c.insts().iter().position(|i| matches!(i.op, Op::Interp { .. })).unwrap();
    let last_slope = c.insts().iter().rposition(|i| matches!(i.op, Op::Derivative(_))).unwrap();
    assert!(last_slope < first_other);
}
