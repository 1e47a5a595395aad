//! Every row of the passes' decision tables, on shaders of a few instructions.

mod entry;
mod fragment_outputs;
mod inputs;
mod resources;
mod vertex_outputs;

use super::{lower, lower_with};
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
