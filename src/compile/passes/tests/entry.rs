//! Entry registers, vertex inputs, and what holds of a shader as a whole.

use super::*;

#[test]
fn a_compute_entry_declares_every_register_the_hardware_loads() {
    let c = unknown(Stage::Compute, |b| builtin(b, BuiltIn::WorkgroupId, 1));
    let info = c.shader.lower.as_ref().unwrap();
    let sgprs = info.args.iter().filter(|a| a.class == RegClass::Sgpr).count();
    assert_eq!((sgprs, c.interface.entry_sgprs), (6, 6));
    assert_eq!(info.args.len(), 9);
    assert_eq!(c.kept_text(), ["workgroup_y"]);
    assert_eq!(c.param(c.kept()[0]), Some(3));
    assert_eq!(info.symbol, "_amdgpu_cs_main");
    assert!(info.returns.is_empty() && !c.interface.prolog && !c.interface.epilog);
    assert_eq!(c.shader.level, Level::Lower);
}

#[test]
fn a_fragment_entry_has_the_sixteen_inputs_in_order() {
    let c = unknown(Stage::Fragment, |b| builtin(b, BuiltIn::FrontFacing, 0));
    let info = c.shader.lower.as_ref().unwrap();
    let vgprs: Vec<u32> = info.args.iter().filter(|a| a.class == RegClass::Vgpr).map(|a| a.ty.lanes()).collect();
    assert_eq!(vgprs, [2, 2, 2, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(c.interface.entry_sgprs, 3);
    assert_eq!(c.kept_text(), ["zext(ine(front_face, 0))"]);
}

#[test]
fn a_vertex_body_takes_what_the_prolog_fetched() {
    let c = unknown(Stage::Vertex, |b| {
        input(b, 3, 1, F32, Interp::Flat, Type::B32);
        input(b, 1, 2, NumericKind::Sint, Interp::Flat, Type::B16);
        input(b, 3, 0, F32, Interp::Flat, Type::B32);
        input(b, 5, 0, F32, Interp::Flat, Type::B64);
    });
    let ty = |kind, bits| ComponentType { kind, bits };
    assert_eq!(
        c.vertex().inputs,
        [
            VertexInput { location: 1, component: 2, count: 1, ty: ty(NumericKind::Sint, 16) },
            VertexInput { location: 3, component: 0, count: 2, ty: ty(F32, 32) },
            VertexInput { location: 5, component: 0, count: 1, ty: ty(F32, 64) },
        ]
    );
    assert_eq!(c.kept_text(), ["in3.1", "trunc(in1.2)", "in3.0", "in5.0:in5.0"]);
    // Four system VGPRs come first.
    let info = c.shader.lower.as_ref().unwrap();
    let first = info.args.iter().position(|a| matches!(a.role, ArgRole::VertexInput { .. })).unwrap();
    assert_eq!(info.args[..first].iter().filter(|a| a.class == RegClass::Vgpr).count(), 4);
    assert_eq!(info.args.len() - first, 5);
    assert_eq!(info.symbol, "_amdgpu_vs_main_fetchless");
    assert!(c.interface.prolog);
    let wanted = [UserData::VertexBufferTable, UserData::BaseVertex, UserData::BaseInstance];
    assert_eq!(c.interface.user_data[2..], wanted);
}

#[test]
fn a_vertex_body_without_inputs_needs_no_prolog() {
    let c = unknown(Stage::Vertex, |b| {
        builtin(b, BuiltIn::VertexIndex, 0);
        builtin(b, BuiltIn::InstanceIndex, 0);
    });
    assert!(!c.interface.prolog);
    assert_eq!(c.shader.lower.as_ref().unwrap().symbol, "_amdgpu_vs_main");
    assert_eq!(c.kept_text(), ["iadd(vertex_id, BaseVertex)", "iadd(instance_id, BaseInstance)"]);
    assert_eq!(c.vertex().vgpr_comp_cnt, 3);
}

#[test]
fn too_many_values_at_a_joint_ask_for_a_whole_compile() {
    let too_many = |e: crate::error::Error| match e.full_compile() {
        Some(FullCompile::TooManyValues { what, count }) => (what.clone(), *count),
        other => panic!("{other:?}"),
    };
    let inputs = |locations: u32| {
        try_case(Stage::Vertex, KnownState::default(), move |b| {
            for n in 0..locations * 4 {
                input(b, n / 4, (n % 4) as u8, F32, Interp::Flat, Type::B32);
            }
        })
    };
    assert!(inputs(33).is_ok());
    assert_eq!(too_many(inputs(34).err().unwrap()), ("vertex inputs".into(), 140));
    let params = |locations: u32| {
        try_case(Stage::Vertex, KnownState::default(), move |b| {
            let v = opaque(b, Type::B32);
            for n in 0..locations * 4 {
                output(b, location(n / 4, (n % 4) as u8), F32, v);
            }
        })
    };
    assert!(params(34).is_ok());
    assert_eq!(too_many(params(35).err().unwrap()), ("vertex parameters".into(), 140));
}

#[test]
fn a_known_vertex_state_is_fetched_in_the_body() {
    let binding = |binding, rate, divisor| VertexBinding { binding, stride: 32, rate, divisor };
    let attribute = |location, binding, format: &str, offset| VertexAttribute {
        location,
        binding,
        format: format.to_owned(),
        offset,
    };
    let state = VertexInputState {
        bindings: vec![binding(2, VertexRate::Vertex, 1), binding(0, VertexRate::Instance, 3)],
        attributes: vec![attribute(0, 2, "R32G32_SFLOAT", 8), attribute(1, 0, "R8G8B8A8_UNORM", 36)],
    };
    let known = KnownState { vertex: Known::Known(state), ..KnownState::default() };
    let c = case(Stage::Vertex, known, |b| {
        for (l, n, ty) in
            [(0, 0, Type::B32), (0, 1, Type::B32), (0, 3, Type::B32), (1, 2, Type::B16), (7, 3, Type::B32)]
        {
            input(b, l, n, F32, Interp::Flat, ty);
        }
    });
    let position = "TypedLoad { format: 64, offset: 8 }(table(VertexBufferTable:pc, 32), iadd(vertex_id, BaseVertex))";
    let index = "iadd(iadd(udiv(instance_id, 3), BaseInstance), 1)";
    let texts = c.kept_text();
    assert_eq!(texts[0], format!("{position}[0]"));
    assert_eq!(texts[1], format!("{position}[1]"));
    assert_eq!(texts[2], "1065353216");
    let color = format!("TypedLoad {{ format: 1, offset: 6 }}(table(VertexBufferTable:pc, 0), {index})");
    assert_eq!(texts[3], format!("fconv({color})"));
    assert_eq!(texts[4], "1065353216");
    assert!(!c.interface.prolog && c.vertex().inputs.is_empty());
    assert_eq!(c.vertex().vgpr_comp_cnt, 3);
    let info = c.shader.lower.as_ref().unwrap();
    assert_eq!(info.symbol, "_amdgpu_vs_main");
    assert!(!info.args.iter().any(|a| matches!(a.role, ArgRole::VertexInput { .. })));
}

#[test]
fn memory_writes_are_seen() {
    let writes = |store: bool| {
        unknown(Stage::Compute, move |b| {
            let r = buffer(b, 0, 0, ResourceKind::StorageBuffer);
            let zero = b.c32(0);
            let d = descriptor(b, r, DescriptorPart::Buffer, zero, false);
            if store {
                b.effect(Op::BufferStore { align: Align::A4, access: Access::default() }, &[d, zero, zero]);
            } else {
                let op = AtomicOp::Load;
                let v = b.value(Op::BufferAtomic { op, access: Access::default() }, &[d, zero], Type::B32);
                keep(b, v);
            }
        })
        .interface
        .writes_memory
    };
    assert!(writes(true));
    assert!(!writes(false));
}
