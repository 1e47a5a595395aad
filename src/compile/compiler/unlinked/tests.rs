//! Unlinked ELFs of handwritten code, checked with LLVM's tools and read back.

use crate::unlinked::{Remarks, write};
use dovetail_base::elf::{Elf, Home};
use dovetail_base::error::ErrorKind;
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_ir::DepthMode;
use dovetail_isa as isa;
use dovetail_isa::Isa;
use dovetail_isa::RegisterSet;
use dovetail_metadata::document::{Document, get};
use dovetail_metadata::interface::{
    ColorOutput, ComponentType, ComputeInterface, FetchInterface, FragmentInterface, ResultSource, StageInterface,
    StageKind, VertexInput, VertexInterface,
};
use dovetail_metadata::registers::{RegisterWords, SPI_SHADER_PGM_RSRC1_VS};
use dovetail_metadata::schema::MetadataKey;
use dovetail_metadata::{note, read_unlinked};
use dovetail_passes::backend::{
    ConstantData, DataAddress, DataName, FunctionSymbol, MachineCode, Patch, PatchTarget, Results,
};
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;

fn interface(stage: Stage, epilog: bool) -> StageInterface {
    let input = VertexInput { location: 2, component: 0, count: 3, ty: ComponentType::F32 };
    let kind = match stage {
        Stage::Vertex => StageKind::Vertex(VertexInterface {
            fetch: FetchInterface { inputs: vec![input], ..Default::default() },
            ..Default::default()
        }),
        Stage::Fragment => StageKind::Fragment(FragmentInterface { depth_mode: DepthMode::Less, ..Default::default() }),
        Stage::Compute => StageKind::Compute(ComputeInterface { local_size: [64, 1, 1], ..Default::default() }),
    };
    StageInterface {
        target: Gpu::Gfx1030,
        stage,
        wave: WaveSize::W64,
        entry_point: "main".into(),
        prolog: stage.fetches_attributes(),
        epilog,
        user_data: vec![],
        entry_sgprs: 1,
        spill_threshold: None,
        resources: vec![],
        push_constant_bytes: 0,
        specialization: vec![dovetail_ir::SpecValue { id: 3, value: 7, default: 7 }],
        spec_operands: Vec::new(),
        writes_memory: false,
        kind,
    }
}

/// Symbol of a body before a joint.
fn body_symbol(stage: Stage) -> &'static str {
    Gpu::default().hardware_stage(stage).unlinked_symbol()
}

/// Four instructions that load a relocated value and the address of a table; with an epilog the body ends at its start.
fn code(stage: Stage, epilog: bool) -> MachineCode {
    let mut words = vec![
        // s_mov_b32 s4, doff_0_3_b; s_add_u32 s2, s2, table0@rel32@lo+4
        0xbe84_03ff,
        0,
        0x8002_ff02,
        4,
    ];
    if !epilog {
        words.push(0xbf81_0000);
    }
    let size = 4 * words.len() as u32;
    let symbol = LinkSymbol::parse("doff_0_3_b");
    MachineCode {
        align: 0,
        code: words.iter().flat_map(|w: &u32| w.to_le_bytes()).collect(),
        functions: vec![FunctionSymbol { symbol: body_symbol(stage).into(), start: 0, size }],
        constants: vec![
            ConstantData { bytes: (0..64).collect(), align: 16, entry: None },
            ConstantData { bytes: vec![7; 32], align: 8, entry: Some(8) },
        ],
        tables: vec![
            DataAddress { name: DataName::Section, section: 1, start: 8, size: 8 },
            DataAddress { name: DataName::Table(0), section: 0, start: 0, size: 64 },
        ],
        patches: vec![
            Patch { offset: 4, kind: RelocKind::Abs32Lo, target: PatchTarget::Link(symbol) },
            Patch { offset: 12, kind: RelocKind::Rel32Lo, target: PatchTarget::Table(1) },
        ],
        counts: [(MetadataKey::VgprCount, 6), (MetadataKey::SgprCount, 9), (MetadataKey::ScratchMemorySize, 0)].into(),
        registers: RegisterWords::new(Gpu::default().family()),
        awaits_inputs: false,
        takes_address_high: false,
        results: Results::InOrder,
        simplified: None,
        fallback: None,
    }
}

fn tool(tool: &str, args: &[&str], bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let out = std::process::Command::new(tool).args(args).arg(file.path()).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && errors.is_empty(), "{tool}: {errors}\n{text}");
    text.into_owned()
}

#[test]
fn llvm_s_tools_accept_every_stage() {
    for (stage, epilog) in [(Stage::Vertex, true), (Stage::Fragment, true), (Stage::Compute, false)] {
        let elf = write(code(stage, epilog), interface(stage, epilog)).unwrap().0;
        let headers = tool("llvm-readelf-19", &["-a"], &elf);
        for wanted in [
            "AMDGPU - PAL",
            "gfx1030",
            body_symbol(stage),
            "doff_0_3_b",
            "NT_AMDGPU_METADATA",
            ".rodata.cst8",
            "R_AMDGPU_REL32_LO      0000000000000000 table0",
        ] {
            assert!(headers.contains(wanted), "no `{wanted}` in\n{headers}");
        }
        assert_eq!(headers.contains("R_AMDGPU_REL16"), epilog, "{headers}");
        let listing = tool("llvm-objdump-19", &["-d", "-r"], &elf);
        assert!(listing.contains("R_AMDGPU_ABS32_LO\tdoff_0_3_b"), "{listing}");
        let last = listing.lines().rev().find(|l| l.contains("//")).unwrap();
        assert_eq!(last.contains("s_branch"), epilog, "{listing}");
        assert_eq!(last.contains("s_endpgm"), !epilog, "{listing}");
        assert_eq!(listing.contains("R_AMDGPU_REL16\tdovetail.next"), epilog, "{listing}");
    }
}

#[test]
fn what_is_written_is_what_is_read() {
    let (stage, epilog) = (Stage::Fragment, true);
    let elf = write(code(stage, epilog), interface(stage, epilog)).unwrap().0;
    let file = Elf::parse(&elf).unwrap();
    let (_, text) = file.section(".text").unwrap();
    let body = file.symbols.iter().find(|s| s.name == body_symbol(stage)).unwrap();
    // The branch is after the body's symbol.
    assert_eq!(body.size + 4, text.data.len() as u64);
    assert_eq!(text.data[body.size as usize..], Isa::of(Gpu::Gfx1030).words.branch.to_le_bytes());
    let relocations: Vec<_> = file.section(".rel.text").unwrap().1.rels().unwrap().collect();
    let against: Vec<_> = relocations.iter().map(|r| (r.offset, file.symbol(r.symbol).unwrap().name)).collect();
    assert_eq!(against, [(4, "doff_0_3_b"), (12, "table0"), (16, "dovetail.next")]);
    let (rodata, _) = file.section(".rodata").unwrap();
    let table = file.symbols.iter().find(|s| s.name == "table0").unwrap();
    assert_eq!((table.home, table.value, table.size, table.local), (Home::Section(rodata), 0, 64, true));
    assert_eq!(file.section(".rodata.cst8").unwrap().1.data, [7; 32]);
}

#[test]
fn several_functions_are_several_symbols() {
    let mut two = code(Stage::Compute, false);
    two.functions[0].size = 8;
    two.functions.push(FunctionSymbol { symbol: "helper".into(), start: 8, size: 12 });
    two.patches.push(Patch { offset: 16, kind: RelocKind::Rel32, target: PatchTarget::Function(1) });
    let elf = write(two, interface(Stage::Compute, false)).unwrap().0;
    let file = Elf::parse(&elf).unwrap();
    let helper = file.symbols.iter().find(|s| s.name == "helper").unwrap();
    assert_eq!((helper.value, helper.size, helper.local), (8, 12, false));
    let relocations = file.section(".rel.text").unwrap().1.rels().unwrap();
    assert_eq!(file.symbol(relocations.last().unwrap().symbol).unwrap().name, "helper");
}

#[test]
fn a_body_without_instructions_gets_one() {
    let symbol = body_symbol(Stage::Fragment).into();
    let empty = MachineCode {
        functions: vec![FunctionSymbol { symbol, start: 0, size: 0 }],
        ..MachineCode::new(Gpu::default().family())
    };
    let elf = write(empty, interface(Stage::Fragment, true)).unwrap().0;
    let listing = tool("llvm-objdump-19", &["-d"], &elf);
    let lines: Vec<_> = listing.lines().filter(|l| l.contains("//")).collect();
    assert!(lines.len() == 2 && lines[0].contains("s_nop") && lines[1].contains("s_branch"), "{listing}");
}

#[test]
fn the_note_carries_interface_counts_and_registers() {
    let interface = interface(Stage::Vertex, true);
    let mut code = code(Stage::Vertex, true);
    code.registers.set(SPI_SHADER_PGM_RSRC1_VS, 0x082c_0000).unwrap();
    code.simplified = Some("too long".into());
    code.fallback = Some("a feature".into());
    let elf = write(code, interface.clone()).unwrap();
    let remarks = Remarks { simplified: Some("too long".into()), fallback: Some("a feature".into()) };
    assert_eq!(Remarks::of(&elf).unwrap(), remarks);
    let file = Elf::parse(&elf.0).unwrap();
    let document = Document::parse(note::metadata(file.section(".note").unwrap().1.data).unwrap()).unwrap();
    assert_eq!(read_unlinked::interface_of(&document, Gpu::default()).unwrap(), interface);
    let notes = read_unlinked::notes_of(&document, Gpu::default(), Stage::Vertex).unwrap();
    assert_eq!(notes.registers.numbered().collect::<Vec<_>>(), [(0x2c4a, 0x082c_0000)]);
    assert_eq!(notes.stage[&MetadataKey::SgprCount], 9);
    // Keys in the order of LLVM's writer.
    let stages = get(&document.pipeline, ".hardware_stages").unwrap().to_string();
    let places = [".entry_point", ".scratch_memory_size", ".sgpr_count", ".vgpr_count"].map(|key| stages.find(key));
    assert!(places.is_sorted() && places[0].is_some(), "{stages}");
}

#[test]
fn results_are_listed_where_the_code_leaves_them() {
    let vgpr = ResultSource::Vgpr;
    let mut interface = interface(Stage::Fragment, true);
    let StageKind::Fragment(fragment) = &mut interface.kind else { panic!("no fragment shader") };
    fragment.colors = vec![ColorOutput {
        location: 0,
        index: 0,
        channels: 0b1111,
        ty: ComponentType::F32,
        values: [0, 1, 2, 3].map(|number| Some(vgpr(number))),
    }];
    (fragment.depth, fragment.writes_depth) = (Some(vgpr(4)), true);
    let mut written = RegisterSet::EMPTY;
    [0, 2, 3].into_iter().for_each(|n| written.insert(isa::Register::vgpr(n)));
    let one = Some(ResultSource::Constant(1));
    let cases = [
        (Results::Written(written), [Some(vgpr(0)), None, Some(vgpr(2)), Some(vgpr(3))], None),
        (
            Results::Placed(vec![Some(vgpr(9)), None, one, Some(vgpr(9)), one]),
            [Some(vgpr(9)), None, one, Some(vgpr(9))],
            one,
        ),
        (Results::InOrder, [0, 1, 2, 3].map(|number| Some(vgpr(number))), Some(vgpr(4))),
    ];
    for (results, colors, depth) in cases {
        let code = MachineCode { results, ..code(Stage::Fragment, true) };
        let elf = write(code, interface.clone()).unwrap().0;
        let file = Elf::parse(&elf).unwrap();
        let document = Document::parse(note::metadata(file.section(".note").unwrap().1.data).unwrap()).unwrap();
        let StageKind::Fragment(read) = read_unlinked::interface_of(&document, Gpu::default()).unwrap().kind else {
            panic!()
        };
        let channels = if colors[1].is_some() { 0b1111 } else { 0b1101 };
        assert_eq!((read.colors[0].channels, read.colors[0].values), (channels, colors));
        assert_eq!((read.depth, read.writes_depth), (depth, depth.is_some()));
    }
}

#[test]
fn same_code_same_bytes_and_contradictions_are_refused() {
    let interface = interface(Stage::Compute, false);
    let make = || code(Stage::Compute, false);
    assert_eq!(write(make(), interface.clone()).unwrap(), write(make(), interface.clone()).unwrap());
    let refused = |change: &dyn Fn(&mut MachineCode)| {
        let mut wrong = make();
        change(&mut wrong);
        assert!(matches!(write(wrong, interface.clone()).unwrap_err().kind(), ErrorKind::Bug(_)));
    };
    refused(&|c| c.functions.clear());
    refused(&|c| c.functions[0].start = 4);
    refused(&|c| c.code.truncate(7));
    refused(&|c| c.patches[0].target = PatchTarget::Table(2));
    refused(&|c| c.patches[0].target = PatchTarget::Function(1));
}
