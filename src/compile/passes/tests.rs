//! Every row of the passes' decision tables, on shaders of a few instructions.

use super::lower;
use crate::compile::request::{KnownState, ModuleDigest, StageRequest, TuningOptions};
use crate::error::{FullCompile, Result};
use crate::ir::*;
use crate::metadata::interface::{
    ColorOutput, ComponentType, FragmentInput, FragmentInterface, ParamSource, Semantic, StageInterface, StageKind,
    UserData, VertexInput, VertexInterface,
};
use crate::state::{
    BindingLayout, ColorAttachment, ColorState, Known, ResourceLayout, SetLayout, VertexAttribute, VertexBinding,
    VertexInputState, VertexRate,
};
use crate::target::{GfxIp, Stage, WaveSize};

const F32: NumericKind = NumericKind::Float;
const CENTER: Interp = Interp::At { perspective: true, place: InterpPlace::Center };

fn request(stage: Stage, known: KnownState) -> StageRequest {
    StageRequest {
        target: GfxIp::Gfx1030,
        stage,
        module: ModuleDigest([0; 32]),
        entry_point: "main".into(),
        specialization: Vec::new(),
        wave: WaveSize::W32,
        options: TuningOptions::default(),
        known,
    }
}

/// A shader of one block, lowered.
struct Case {
    shader: Shader,
    interface: StageInterface,
}

fn try_case(stage: Stage, known: KnownState, build: impl FnOnce(&mut Builder<'_>)) -> Result<Case> {
    let mut shader = Shader::new("main", stage);
    shader.modes.local_size = [8, 4, 1];
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    build(&mut b);
    b.terminate(Terminator::Return(Vec::new()));
    let lowered = lower(shader, &request(stage, known))?;
    Ok(Case { shader: lowered.shader, interface: lowered.interface })
}

fn case(stage: Stage, known: KnownState, build: impl FnOnce(&mut Builder<'_>)) -> Case {
    try_case(stage, known, build).unwrap()
}

fn unknown(stage: Stage, build: impl FnOnce(&mut Builder<'_>)) -> Case {
    case(stage, KnownState::default(), build)
}

fn buffer(b: &mut Builder<'_>, set: u32, binding: u32, kind: ResourceKind) -> ResourceId {
    let r = Resource { name: String::new(), set, binding, kind, count: Some(4), written: false };
    b.shader.resources.push(r);
    ResourceId(b.shader.resources.len() as u32 - 1)
}

fn descriptor(
    b: &mut Builder<'_>,
    resource: ResourceId,
    part: DescriptorPart,
    index: Value,
    non_uniform: bool,
) -> Value {
    let ty = if part == DescriptorPart::Image { Type::DESC8 } else { Type::DESC4 };
    b.value(Op::Descriptor { resource, part, non_uniform }, &[index], ty)
}

/// Keeps a value alive and findable: stores it to scratch.
fn keep(b: &mut Builder<'_>, v: Value) {
    let local = b.shader.add_local(Local { name: "kept".into(), bytes: 64, align: Align::A16 });
    let zero = b.c32(0);
    // Truth values have no form in memory.
    let v = if b.ty(v) == Type::B1 { b.convert(AluOp::ZExt, v, Type::B32) } else { v };
    b.effect(Op::LocalStore { local, align: Align::A4 }, &[zero, v]);
}

fn builtin(b: &mut Builder<'_>, builtin: BuiltIn, component: u8) {
    let ty = if matches!(builtin, BuiltIn::FrontFacing | BuiltIn::HelperInvocation) { Type::B1 } else { Type::B32 };
    let v = b.value(Op::LoadBuiltIn { builtin, component }, &[], ty);
    keep(b, v);
}

fn push(b: &mut Builder<'_>, offset: Value, ty: Type) {
    let v = b.value(Op::PushConstant { align: Align::A4 }, &[offset], ty);
    keep(b, v);
}

fn input(b: &mut Builder<'_>, location: u32, component: u8, kind: NumericKind, interp: Interp, ty: Type) {
    let args: Vec<Value> = match interp {
        Interp::At { place: InterpPlace::AtOffset, .. } => vec![b.fconst(Type::B32, 0.25), b.fconst(Type::B32, 0.5)],
        Interp::At { place: InterpPlace::AtSample, .. } => vec![b.c32(2)],
        _ => vec![],
    };
    let v = b.value(Op::LoadInput { location, component, kind, interp }, &args, ty);
    keep(b, v);
}

fn output(b: &mut Builder<'_>, slot: OutputSlot, kind: NumericKind, v: Value) {
    b.effect(Op::StoreOutput { slot, kind }, &[v]);
}

fn location(location: u32, component: u8) -> OutputSlot {
    OutputSlot::Location { location, component, index: 0 }
}

/// A value that is no constant, `x` in texts.
fn opaque(b: &mut Builder<'_>, ty: Type) -> Value {
    let local = b.shader.add_local(Local { name: "x".into(), bytes: 16, align: Align::A16 });
    let zero = b.c32(0);
    let load = |b: &mut Builder<'_>, ty| b.value(Op::LocalLoad { local, align: Align::A16 }, &[zero], ty);
    if ty == Type::B1 {
        let v = load(b, Type::B32);
        return b.alu(AluOp::INe, &[v, zero]);
    }
    load(b, ty)
}

impl Case {
    fn insts(&self) -> Vec<&Inst> {
        self.shader.blocks.iter().flat_map(|b| &b.insts).map(|&i| self.shader.inst(i)).collect()
    }

    fn find(&self, what: impl Fn(&Op) -> bool) -> Vec<&Inst> {
        self.insts().into_iter().filter(|i| what(&i.op)).collect()
    }

    /// The values given to `keep`, in order.
    fn kept(&self) -> Vec<Value> {
        self.find(|op| matches!(op, Op::LocalStore { .. })).iter().map(|i| i.args[1]).collect()
    }

    /// Position among the entry parameters.
    fn param(&self, v: Value) -> Option<usize> {
        self.shader.block(Shader::ENTRY).params.iter().position(|&p| p == v)
    }

    /// A value as text: parameters by their role, the rest as an expression.
    fn text(&self, v: Value) -> String {
        if let Some(n) = self.param(v) {
            let info = self.shader.lower.as_ref().unwrap();
            return match &info.args[n].role {
                ArgRole::UserData(s) => s.clone(),
                ArgRole::System(s) => (*s).to_owned(),
                ArgRole::VertexInput { location, component } => format!("in{location}.{component}"),
            };
        }
        let inst = self.shader.def(v).unwrap();
        let args: Vec<String> = inst.args.iter().map(|&a| self.text(a)).collect();
        let head = match &inst.op {
            Op::Const(bits) => return bits.to_string(),
            Op::Reloc(s) => return self.shader.symbols[s.index()].clone(),
            Op::AddressHigh => return "pc".into(),
            Op::LocalLoad { .. } => return "x".into(),
            Op::Undef => return "undef".into(),
            Op::Bitcast => return args[0].clone(),
            Op::Compose => return args.join(":"),
            Op::Extract(n) => return format!("{}[{n}]", args[0]),
            Op::Alu(op, _) => op.name().to_owned(),
            Op::TableLoad { .. } => "table".into(),
            Op::BufferLoad { .. } => "buffer".into(),
            Op::Amd(op) => format!("{op:?}").to_lowercase(),
            Op::Interp { attr, channel } => format!("interp{attr}.{channel}"),
            Op::InterpMov { attr, channel, vertex } => format!("mov{vertex}_{attr}.{channel}"),
            Op::Derivative(d) => if d.vertical { "ddy" } else { "ddx" }.to_owned(),
            other => format!("{other:?}"),
        };
        format!("{head}({})", args.join(", "))
    }

    fn kept_text(&self) -> Vec<String> {
        self.kept().into_iter().map(|v| self.text(v)).collect()
    }

    fn returned(&self) -> Vec<String> {
        match &self.shader.blocks[0].term {
            Some(Terminator::Return(v)) => v.iter().map(|&v| self.text(v)).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Exports as target, enable mask, done, values where enabled.
    fn exports(&self) -> Vec<(ExportTarget, u8, bool, Vec<String>)> {
        let one = |i: &&Inst| match i.op {
            Op::Export { target, enable, done, .. } => {
                let values = (0..4).filter(|n| enable >> n & 1 != 0).map(|n| self.text(i.args[n])).collect();
                Some((target, enable, done, values))
            }
            _ => None,
        };
        self.insts().iter().filter_map(one).collect()
    }

    fn vertex(&self) -> &VertexInterface {
        match &self.interface.kind {
            StageKind::Vertex(v) => v,
            other => panic!("{other:?}"),
        }
    }

    fn fragment(&self) -> &FragmentInterface {
        match &self.interface.kind {
            StageKind::Fragment(f) => f,
            other => panic!("{other:?}"),
        }
    }
}

// ---- entry

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

// ---- descriptors and push constants

#[test]
fn an_unknown_layout_gives_relocations() {
    let c = unknown(Stage::Compute, |b| {
        let image = buffer(b, 1, 2, ResourceKind::CombinedImageSampler);
        let (zero, two) = (b.c32(0), b.c32(2));
        for (part, index) in [(DescriptorPart::Image, zero), (DescriptorPart::Sampler, two)] {
            let d = descriptor(b, image, part, index, false);
            keep(b, d);
        }
    });
    assert_eq!(
        c.kept_text(),
        [
            "table(DescriptorSet(1):pc, doff_1_2_r)",
            "table(DescriptorSet(1):pc, iadd(doff_1_2_s, imul(2, dstride_1_2)))",
        ]
    );
    assert_eq!(c.shader.ty(c.kept()[0]), Type::DESC8);
    assert_eq!(c.interface.user_data[2..], [UserData::DescriptorSet(1)]);
    assert_eq!(c.interface.resources.len(), 1);
    assert_eq!(c.interface.spill_threshold, None);
}

#[test]
fn a_buffer_of_an_unknown_layout_may_stand_in_the_root_table() {
    let c = unknown(Stage::Compute, |b| {
        let r = buffer(b, 0, 7, ResourceKind::StorageBuffer);
        let zero = b.c32(0);
        let d = descriptor(b, r, DescriptorPart::Buffer, zero, false);
        keep(b, d);
        let size = b.value(Op::BufferSize, &[d], Type::B32);
        keep(b, size);
    });
    let desc = "table(select(ine(dusespill_0_7, 0), SpillTable, DescriptorSet(0)):pc, doff_0_7_b)";
    assert_eq!(c.kept_text(), [desc.to_owned(), format!("{desc}[2]")]);
}

#[test]
fn an_index_is_made_uniform_unless_the_shader_says_otherwise() {
    let index = |non_uniform| {
        unknown(Stage::Compute, move |b| {
            let r = buffer(b, 0, 0, ResourceKind::SampledImage);
            let i = b.value(Op::LoadBuiltIn { builtin: BuiltIn::LocalInvocationId, component: 0 }, &[], Type::B32);
            let d = descriptor(b, r, DescriptorPart::Image, i, non_uniform);
            keep(b, d);
        })
        .kept_text()
        .remove(0)
    };
    assert_eq!(index(true), "table(DescriptorSet(0):pc, iadd(doff_0_0_r, imul(local_x, dstride_0_0)))");
    assert_eq!(index(false), "table(DescriptorSet(0):pc, iadd(doff_0_0_r, imul(readfirstlane(local_x), dstride_0_0)))");
}

#[test]
fn a_set_without_a_register_is_found_through_the_spill_table() {
    let c = unknown(Stage::Compute, |b| {
        for set in 0..15 {
            let r = buffer(b, set, 0, ResourceKind::SampledImage);
            let zero = b.c32(0);
            let d = descriptor(b, r, DescriptorPart::Image, zero, false);
            keep(b, d);
        }
    });
    let texts = c.kept_text();
    // Fourteen would fit, but the spill table for the others takes a register.
    assert_eq!(texts[12], "table(DescriptorSet(12):pc, doff_12_0_r)");
    assert_eq!(texts[13], "table(table(SpillTable:pc, descset_13):pc, doff_13_0_r)");
}

fn layout() -> KnownState {
    let binding = |binding, kind, dynamic| BindingLayout { binding, kind, count: 4, dynamic, offset: None };
    let bindings = vec![
        binding(0, ResourceKind::StorageBuffer, false),
        binding(1, ResourceKind::CombinedImageSampler, false),
        binding(2, ResourceKind::UniformBuffer, true),
    ];
    let layout = ResourceLayout {
        sets: vec![SetLayout { set: 0, root: Some(3), bindings }],
        push_constant_bytes: 16,
        push_constant_root: None,
    };
    KnownState { layout: Known::Known(layout), ..KnownState::default() }
}

#[test]
fn a_known_layout_gives_constants() {
    let c = case(Stage::Compute, layout(), |b| {
        let buf = buffer(b, 0, 0, ResourceKind::StorageBuffer);
        let tex = buffer(b, 0, 1, ResourceKind::CombinedImageSampler);
        let root = buffer(b, 0, 2, ResourceKind::UniformBuffer);
        let i = b.value(Op::LoadBuiltIn { builtin: BuiltIn::LocalInvocationId, component: 0 }, &[], Type::B32);
        let one = b.c32(1);
        for (r, part, index) in
            [(buf, DescriptorPart::Buffer, one), (tex, DescriptorPart::Sampler, i), (root, DescriptorPart::Buffer, one)]
        {
            let d = descriptor(b, r, part, index, true);
            keep(b, d);
        }
    });
    assert_eq!(
        c.kept_text(),
        [
            "table(DescriptorSet(0):pc, 16)",
            "table(DescriptorSet(0):pc, iadd(imul(local_x, 48), 96))",
            "table(SpillTable:pc, 32)",
        ]
    );
    assert_eq!(c.interface.user_data[2..], [UserData::Root(3), UserData::SpillTable]);
    assert_eq!(c.interface.spill_threshold, Some(4));
    assert!(c.shader.symbols.is_empty());
}

#[test]
fn a_binding_that_the_known_layout_has_not_is_the_layouts_fault() {
    for (binding, part) in [(9, DescriptorPart::Buffer), (0, DescriptorPart::Image)] {
        let e = try_case(Stage::Compute, layout(), |b| {
            let r = buffer(b, 0, binding, ResourceKind::StorageBuffer);
            let zero = b.c32(0);
            let d = descriptor(b, r, part, zero, false);
            keep(b, d);
        });
        let e = e.err().unwrap();
        assert_eq!(e.exit_code(), 2, "{e}");
        assert!(e.to_string().contains(&format!("set 0 binding {binding}")), "{e}");
    }
}

#[test]
fn push_constants_come_in_registers_where_the_offset_is_constant() {
    let build = |b: &mut Builder<'_>| {
        let (four, six) = (b.c32(4), b.c32(6));
        push(b, four, Type::B32);
        push(b, six, Type::B16);
        push(b, four, Type::B64);
        let i = b.value(Op::LoadBuiltIn { builtin: BuiltIn::LocalInvocationId, component: 0 }, &[], Type::B32);
        push(b, i, Type::B32);
    };
    let c = unknown(Stage::Compute, build);
    let mut want = [
        "PushConstant(1)",
        "trunc(lshr(PushConstant(1), 16))",
        "PushConstant(1):PushConstant(2)",
        "table(SpillTable:pc, iadd(pushconst, local_x))",
    ];
    assert_eq!(c.kept_text(), want);
    assert_eq!(
        c.interface.user_data[2..],
        [UserData::PushConstant(1), UserData::PushConstant(2), UserData::SpillTable]
    );
    let c = case(Stage::Compute, layout(), build);
    // Set 0 at dword 3, the dynamic buffers at 4 to 19, push constants from 20.
    want[3] = "table(SpillTable:pc, iadd(80, local_x))";
    assert_eq!(c.kept_text(), want);
    assert_eq!(c.interface.user_data[2..], [UserData::Root(21), UserData::Root(22), UserData::SpillTable]);
    assert_eq!(c.interface.spill_threshold, Some(20));
}

#[test]
fn push_constants_that_do_not_fit_are_loaded() {
    let c = unknown(Stage::Compute, |b| {
        let zero = b.c32(0);
        push(b, zero, Type::vector(Bits::B32, 15).unwrap());
    });
    assert_eq!(c.kept_text(), ["table(SpillTable:pc, pushconst)"]);
}

// ---- built-ins

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

// ---- fragment inputs

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
            "interp5.1(linear_center[0], linear_center[1], prim_mask)".into(),
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

// ---- vertex outputs

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

// ---- fragment outputs

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
        ("R8G8B8A8_UNORM", F32, 32, 15, vec!["fconv_rtz(x):fconv_rtz(x)", "fconv_rtz(x):fconv_rtz(x)"]),
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
    super::lower_with(shader, &request, &mut |name, s| phases.push((name.to_owned(), s.clone()))).unwrap();
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
