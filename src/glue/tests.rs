//! Runs every case of `testdata/glue`: state and interfaces (`.toml`), and the pieces that they give (`.txt`, written
//! with `DOVETAIL_BLESS=1`). The text is this crate's disassembly, and LLVM's disassembler must agree with it.

use super::*;
use dovetail_abi::params::ParamVectors;
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_isa as isa;
use dovetail_isa::instruction::{Fields, VectorDst};
use dovetail_isa::{Instruction, Isa};
use dovetail_metadata::interface::{
    ColorOutput, ComponentType, FetchInterface, FragmentInput, FragmentInterface, ParamSource,
    PreRasterizationInterface, ResultSource, Semantic, StageKind, UserData, VertexInput, VertexInterface, VertexParam,
};
use dovetail_state::{ColorState, VertexInputState};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A case: the parts of interfaces and state that glue uses.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Case {
    entry_sgprs: Option<u32>,
    inputs: Vec<CaseInput>,
    awaits_inputs: bool,
    takes_address_high: bool,
    vertex: VertexInputState,
    params: Vec<CaseParam>,
    fragment_inputs: Vec<CaseFragmentInput>,
    colors: Vec<CaseColor>,
    depth: Option<u32>,
    stencil: Option<u32>,
    sample_mask: Option<u32>,
    kills: bool,
    no_fragment: bool,
    color: ColorState,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseInput {
    location: u32,
    #[serde(default)]
    component: u8,
    count: u8,
    ty: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseParam {
    semantic: Semantic,
    component: u8,
    source: ParamSource,
    ty: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFragmentInput {
    semantic: Semantic,
    channels: u8,
    #[serde(default)]
    flat: bool,
    #[serde(default)]
    per_vertex: bool,
    ty: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseColor {
    location: u32,
    #[serde(default)]
    index: u8,
    ty: String,
    /// Registers of the components, red first; -1: not written, -2: the next of the constants.
    vgprs: Vec<i64>,
    #[serde(default)]
    constants: Vec<u32>,
}

pub(super) fn component_type(text: &str) -> ComponentType {
    let (kind, bits) = text.split_at(1);
    let kind = match kind {
        "f" => dovetail_base::kinds::NumericKind::Float,
        "i" => dovetail_base::kinds::NumericKind::Sint,
        "u" => dovetail_base::kinds::NumericKind::Uint,
        other => panic!("type {other}"),
    };
    ComponentType { kind, bits: bits.parse().expect("width") }
}

fn stage(stage: Stage, kind: StageKind) -> StageInterface {
    let vertex = stage.fetches_attributes();
    let user_data = [UserData::GlobalTable, UserData::PerShaderTable, UserData::DescriptorSet(0)];
    let special = [UserData::VertexBufferTable, UserData::BaseVertex, UserData::BaseInstance];
    StageInterface {
        target: Gpu::Gfx1030,
        stage,
        wave: WaveSize::W64,
        entry_point: "main".into(),
        prolog: vertex,
        epilog: true,
        user_data: user_data.into_iter().chain(special).collect(),
        entry_sgprs: 6,
        resources: Vec::new(),
        push_constant_bytes: 0,
        spill_threshold: None,
        specialization: Vec::new(),
        spec_operands: Vec::new(),
        writes_memory: false,
        kind,
    }
}

/// The glue before, between and after a pipeline's stages.
struct Planned {
    /// In code order.
    keys: Vec<GlueKey>,
    params: ParamPlan,
    formats: ExportedFormats,
}

fn case_plan(case: Case) -> Result<Planned> {
    let inputs = case.inputs.into_iter().map(|i| {
        let ty = component_type(&i.ty);
        VertexInput { location: i.location, component: i.component, count: i.count, ty }
    });
    let params = case.params.into_iter().map(|p| {
        let ty = component_type(&p.ty);
        VertexParam { semantic: p.semantic, component: p.component, ty, source: p.source }
    });
    let vertex = VertexInterface {
        fetch: FetchInterface {
            inputs: inputs.collect(),
            awaits_inputs: case.awaits_inputs,
            takes_address_high: case.takes_address_high,
        },
        pre_rasterization: PreRasterizationInterface { params: params.collect(), ..Default::default() },
        ..Default::default()
    };
    let colors = case.colors.into_iter().map(|c| {
        let (mut values, mut constants) = ([None; 4], c.constants.into_iter());
        for (value, given) in values.iter_mut().zip(&c.vgprs) {
            *value = match given {
                -2 => Some(ResultSource::Constant(constants.next().expect("a constant"))),
                register => u32::try_from(*register).ok().map(ResultSource::Vgpr),
            };
        }
        let channels = values.iter().enumerate().map(|(i, v)| u8::from(v.is_some()) << i).sum();
        ColorOutput { location: c.location, index: c.index, channels, ty: component_type(&c.ty), values }
    });
    let inputs = case.fragment_inputs.into_iter().map(|i| FragmentInput {
        semantic: i.semantic,
        channels: i.channels,
        flat: i.flat,
        per_vertex: i.per_vertex,
        ty: component_type(&i.ty),
    });
    let fragment = FragmentInterface {
        inputs: inputs.collect(),
        colors: colors.collect(),
        depth: case.depth.map(ResultSource::Vgpr),
        stencil: case.stencil.map(ResultSource::Vgpr),
        sample_mask: case.sample_mask.map(ResultSource::Vgpr),
        writes_depth: case.depth.is_some(),
        writes_stencil: case.stencil.is_some(),
        writes_sample_mask: case.sample_mask.is_some(),
        kills: case.kills,
        ..Default::default()
    };
    let mut vertex = stage(Stage::Vertex, StageKind::Vertex(vertex));
    vertex.entry_sgprs = case.entry_sgprs.unwrap_or(vertex.entry_sgprs);
    let fragment = (!case.no_fragment).then(|| stage(Stage::Fragment, StageKind::Fragment(fragment)));
    let mut keys = vec![fetch_key(&vertex, &case.vertex)?];
    let interface = |stage: &StageInterface| stage.kind.fragment().map_or(Vec::new(), |f| f.inputs.clone());
    let last = vertex.kind.pre_rasterization().expect("a vertex stage");
    let vectors = ParamVectors::new(&last.params)?;
    let params =
        ParamPlan::new(vertex.target.facts().parameters, &fragment.as_ref().map_or(Vec::new(), interface), &vectors)?;
    keys.push(param_export_key(&vertex, &vectors, &params));
    let formats = match &fragment {
        Some(fragment) => {
            let (formats, key) = color_export_key(fragment, &case.color)?;
            keys.extend(key);
            formats
        }
        None => {
            keys.push(GlueKey { target: vertex.target, piece: PieceKey::NullFragment });
            ExportedFormats::default()
        }
    };
    Ok(Planned { keys, params, formats })
}

/// The instructions of a piece.
pub(super) fn instructions(code: &[u8]) -> Vec<Instruction> {
    instructions_of(Isa::of(Gpu::Gfx1030), code)
}

/// The instructions of a piece for another GPU.
pub(super) fn instructions_of(isa: &'static Isa, code: &[u8]) -> Vec<Instruction> {
    let dwords: Vec<u32> = code.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let mut rest = dwords.as_slice();
    let mut insts = Vec::new();
    while !rest.is_empty() {
        let inst = isa::disassemble(isa, rest).expect("our own code");
        insts.push(inst);
        rest = &rest[usize::from(inst.dwords())..];
    }
    insts
}

fn show(plan: &Planned) -> String {
    let mut text = String::new();
    for key in &plan.keys {
        let piece = emit(key).expect("emits");
        assert_eq!(emit(key).as_ref(), Ok(&piece), "equal keys give equal bytes");
        let lines: Vec<String> =
            instructions(&piece.code).iter().map(|inst| inst.text(Isa::of(Gpu::Gfx1030), WaveSize::W64)).collect();
        if let Some(theirs) = dovetail_testing::disassemble("pieces_are_as_written_down", 64, &piece.code) {
            assert_eq!(lines, theirs);
        }
        check_end(&piece, &lines);
        let GluePiece { symbol, attach, sgprs, vgprs, .. } = &piece;
        let _ = writeln!(text, "{symbol}: {attach:?}, {sgprs} SGPRs, {vgprs} VGPRs");
        for line in lines {
            let _ = writeln!(text, "    {line}");
        }
    }
    let words: Vec<String> = plan.params.control_words().iter().map(|w| format!("{w:#x}")).collect();
    let _ = writeln!(text, "SPI_PS_INPUT_CNTL {}; {} slots", words.join(" "), plan.params.slots);
    let formats = plan.formats;
    let (col, mask, z) = (formats.col_format, formats.cb_mask, formats.z_format);
    let _ = writeln!(text, "SPI_SHADER_COL_FORMAT {col:#x}, CB_SHADER_MASK {mask:#x}, SPI_SHADER_Z_FORMAT {z}");
    text
}

/// A prolog falls through; other pieces end the program, and only with their last instruction.
fn check_end(piece: &GluePiece, lines: &[String]) {
    let ends: Vec<usize> = lines.iter().enumerate().filter(|(_, l)| *l == "s_endpgm").map(|(i, _)| i).collect();
    match piece.attach {
        Attach::Before => assert!(ends.is_empty()),
        Attach::After | Attach::Alone => assert_eq!(ends, [lines.len() - 1]),
    }
    let done = lines.iter().filter(|l| l.contains(" done"));
    assert!(done.count() <= 1);
}

fn cases() -> Vec<PathBuf> {
    let folder = dovetail_testing::root().join("testdata/glue");
    let files = std::fs::read_dir(folder).expect("testdata/glue").map(|entry| entry.expect("entry").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).expect("readable");
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn pieces_are_as_written_down() {
    let bless = std::env::var_os("DOVETAIL_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in cases() {
        let shown = match case_plan(read(&path)) {
            Ok(plan) => show(&plan),
            Err(e) => format!("{e}\n"),
        };
        let golden = path.with_extension("txt");
        if bless {
            std::fs::write(&golden, &shown).expect("writable");
        }
        if std::fs::read_to_string(&golden).unwrap_or_default() != shown {
            wrong.push(format!("{}:\n{shown}", golden.display()));
        }
    }
    assert!(wrong.is_empty(), "DOVETAIL_BLESS=1 rewrites these:\n{}", wrong.join("\n"));
}

#[test]
fn keys_survive_serialization() {
    for path in cases() {
        let Ok(plan) = case_plan(read(&path)) else { continue };
        for key in &plan.keys {
            let bytes = rmp_serde::to_vec_named(key).expect("writes");
            assert_eq!(rmp_serde::from_slice::<GlueKey>(&bytes).as_ref().ok(), Some(key), "{}", path.display());
        }
    }
}

/// No prolog changes the entry registers or v0 to v3.
#[test]
fn prologs_write_above_the_entry_state() {
    for path in cases() {
        let Ok(plan) = case_plan(read(&path)) else { continue };
        let Some((key, PieceKey::Fetch(fetch))) = plan.keys.first().map(|key| (key, &key.piece)) else {
            panic!("no prolog first")
        };
        for inst in instructions(&emit(key).expect("emits").code) {
            let text = inst.text(Isa::of(Gpu::Gfx1030), WaveSize::W64);
            let (scalar, vector) = match inst.fields {
                Fields::Scalar(f) => (f.dst.map(|dst| u32::from(dst.index())), None),
                Fields::Smem(f) => (Some(u32::from(f.data.index())), None),
                Fields::Vector(f) => match f.dst {
                    Some(VectorDst::Vgpr(dst)) => (None, Some(dst)),
                    other => panic!("{other:?} in a prolog"),
                },
                Fields::Buffer(f) => (None, Some(f.data)),
                _ => panic!("{text} in a prolog"),
            };
            assert!(scalar.is_none_or(|s| s >= fetch.entry_sgprs && s < 104), "{text} in {}", path.display());
            assert!(vector.is_none_or(|v| v.number() >= 4), "{text} in {}", path.display());
        }
    }
}

#[test]
fn damaged_keys_are_refused() {
    let load = dovetail_abi::fetch::FetchLoad {
        binding: 0,
        index: dovetail_abi::fetch::VertexIndex::Vertex,
        skip: 0,
        offset: 0,
        format: 22,
        components: 1,
        half: false,
    };
    let dword = dovetail_abi::fetch::FetchedDword::Loaded { load: 0, component: 0, bits: 32 };
    let good = FetchKey {
        plan: FetchPlan { loads: vec![load], dwords: vec![dword] },
        vertex_buffer_table: Some(2),
        base_vertex: Some(3),
        base_instance: None,
        entry_sgprs: 5,
        awaited: false,
        address_high: false,
    };
    let piece = |key: FetchKey| emit(&GlueKey { target: Gpu::Gfx1030, piece: PieceKey::Fetch(key) });
    assert!(piece(good.clone()).is_ok());
    let damage: [fn(&mut FetchKey); 9] = [
        |key| key.entry_sgprs = u32::MAX,
        |key| key.vertex_buffer_table = Some(106),
        |key| key.base_vertex = None,
        |key| key.plan.loads[0].components = 5,
        |key| key.plan.loads[0].components = 0,
        |key| key.plan.loads[0].format = 128,
        |key| key.plan.loads[0].binding = u32::MAX,
        |key| key.plan.dwords = vec![key.plan.dwords[0]; 300],
        |key| key.plan.loads.clear(),
    ];
    for (i, damage) in damage.iter().enumerate() {
        let mut key = good.clone();
        damage(&mut key);
        assert!(piece(key).is_err(), "damage {i}");
    }
}

/// Numbers as a damaged store may hold them: near the limits, or random.
fn number() -> impl proptest::strategy::Strategy<Value = u32> {
    use proptest::prelude::*;
    prop_oneof![0u32..8, 96u32..110, 250u32..260, 4090u32..4100, any::<u32>(), Just(u32::MAX)]
}

proptest::proptest! {
    #[test]
    fn damaged_keys_are_nobodys_bug(
        loads in proptest::collection::vec((number(), number(), number(), number(), proptest::num::u8::ANY), 0..6),
        dwords in proptest::collection::vec((number(), proptest::num::u8::ANY, 0u8..4), 0..20),
        registers in [number(), number(), number(), number(), number()],
        target in proptest::num::u8::ANY,
    ) {
        use dovetail_abi::fetch::{FetchLoad, FetchedDword, VertexIndex};
        use dovetail_abi::params::ParamExport;
        let loads = loads.into_iter().map(|(binding, divisor, skip, offset, byte)| FetchLoad {
            binding,
            index: if byte & 1 == 0 { VertexIndex::Vertex } else { VertexIndex::Instance { divisor } },
            skip,
            offset,
            format: byte >> 1,
            components: if byte & 2 == 0 { byte % 5 } else { byte },
            half: byte & 4 == 0,
        });
        let dwords = dwords.into_iter().map(|(load, byte, kind)| match kind {
            0 => FetchedDword::Constant(load),
            1 => FetchedDword::Loaded { load, component: byte % 4, bits: 32 },
            _ => FetchedDword::Loaded { load: load % 6, component: byte % 4, bits: byte },
        });
        let [a, b, c, d, e] = registers;
        let fetch = FetchKey {
            plan: FetchPlan { loads: loads.collect(), dwords: dwords.collect() },
            vertex_buffer_table: Some(a),
            base_vertex: Some(b),
            base_instance: Some(c),
            entry_sgprs: d,
            awaited: false,
            address_high: a % 2 == 0,
        };
        let channels = [Some(ParamSource::Vgpr(a)), Some(ParamSource::Constant(b)), None, Some(ParamSource::Exported)];
        let params = ParamExportKey { exports: vec![ParamExport { slot: target, channels }] };
        let format = dovetail_abi::exports::ExportFormat::Fp16;
        let (vgpr, constant) = (ResultSource::Vgpr, ResultSource::Constant);
        let ty = ComponentType { kind: dovetail_base::kinds::NumericKind::Sint, bits: target };
        let colors = vec![ColorValue { target, format, ty, values: [Some(vgpr(a)), Some(vgpr(b)), Some(constant(c)), Some(vgpr(e))] }];
        let depth = DepthValues { depth: Some(vgpr(d)), stencil: Some(constant(b)), sample_mask: None, alpha: None };
        let color = ColorExportKey { depth, colors, swap: None, dummy: false };
        let swapped = ColorExportKey { swap: Some(WaveSize::W32), ..color.clone() };
        let ring = RingExportKey {
            wave: WaveSize::W32,
            positions: vec![[Some(ParamSource::Vgpr(c)), None, Some(ParamSource::Constant(d)), None]],
            params: params.exports.iter().chain(&[ParamExport { slot: 0, channels: [a, b, c, d].map(|v| Some(ParamSource::Vgpr(v))) }]).cloned().collect(),
            primitive_id: (e % 2 == 0).then_some(target),
            writes_memory: b % 2 == 0,
        };
        let gfx10 = [PieceKey::Fetch(fetch.clone()), PieceKey::ParamExport(params), PieceKey::ColorExport(color.clone())];
        let gfx11 = [PieceKey::Fetch(fetch), PieceKey::RingExport(ring), PieceKey::ColorExport(color), PieceKey::ColorExport(swapped)];
        let of = |target: Gpu, pieces: &[PieceKey]| pieces.iter().map(|piece| GlueKey { target, piece: piece.clone() }).collect::<Vec<_>>();
        for key in [of(Gpu::Gfx1030, &gfx10), of(Gpu::Gfx1100, &gfx11), of(Gpu::Gfx1150, &gfx11)].concat() {
            if let Err(e) = emit(&key) {
                proptest::prop_assert!(matches!(e.kind(), dovetail_base::error::ErrorKind::Malformed(_)), "{}", e);
            }
        }
    }
}
