//! Unlinked ELFs of small shaders, judged by LLVM's tools and read back.
#![cfg(feature = "llvm")]

use super::{S_BRANCH, write};
use crate::compile::llvm::emit_object;
use crate::compile::request::TuningOptions;
use crate::ir::{
    Align, ArgRole, Builder, ConstTable, ConstTableId, DepthMode, EntryArg, Level, LowerInfo, Op, RegClass, Shader,
    Terminator, Type,
};
use crate::metadata::document::Document;
use crate::metadata::interface::{
    ComponentType, ComputeInterface, FragmentInterface, StageInterface, StageKind, VertexInput, VertexInterface,
};
use crate::metadata::notes::Notes;
use crate::metadata::{interface_io, note};
use crate::reloc::symbol::LinkSymbol;
use crate::target::{GfxIp, Stage, WaveSize};

/// A shader that returns (or, for compute, stores nothing) a relocated value out of a table.
fn shader(stage: Stage, epilog: bool) -> Shader {
    let mut shader = Shader::new("main", stage);
    shader.level = Level::Lower;
    shader.modes.local_size = [64, 1, 1];
    let args = [RegClass::Sgpr, RegClass::Vgpr]
        .into_iter()
        .map(|class| {
            shader.add_param(Shader::ENTRY, Type::B32);
            EntryArg { class, ty: Type::B32, role: ArgRole::System("test") }
        })
        .collect();
    shader.lower = Some(LowerInfo {
        wave: WaveSize::W64,
        args,
        returns: if epilog { vec![RegClass::Vgpr] } else { vec![] },
        symbol: stage.unlinked_symbol().to_owned(),
        color_export: stage == Stage::Fragment,
        depth_export: false,
    });
    shader.tables.push(ConstTable { bytes: (0..64).collect(), align: Align::A4 });
    let symbol = shader.symbol("doff_0_3_b");
    let p = shader.block(Shader::ENTRY).params.clone();
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let reloc = b.value(Op::Reloc(symbol), &[], Type::B32);
    let at = b.alu(crate::ir::AluOp::IAnd, &[p[1], reloc]);
    let v = b.value(Op::ConstLoad { table: ConstTableId(0), align: Align::A4 }, &[at], Type::B32);
    if epilog {
        b.terminate(Terminator::Return(vec![v]));
    } else {
        let high = b.value(Op::AddressHigh, &[], Type::B32);
        let pair = b.compose(&[p[0], high]);
        let address = b.bitcast(pair, Type::B64);
        b.effect(Op::GlobalStore { align: Align::A4, access: Default::default() }, &[address, v]);
        b.terminate(Terminator::Return(vec![]));
    }
    shader
}

fn interface(stage: Stage, epilog: bool) -> StageInterface {
    let input = VertexInput { location: 2, component: 0, count: 3, ty: ComponentType::F32 };
    let kind = match stage {
        Stage::Vertex => StageKind::Vertex(VertexInterface { inputs: vec![input], ..Default::default() }),
        Stage::Fragment => StageKind::Fragment(FragmentInterface { depth_mode: DepthMode::Less, ..Default::default() }),
        Stage::Compute => StageKind::Compute(ComputeInterface { local_size: [64, 1, 1], ..Default::default() }),
    };
    StageInterface {
        target: GfxIp::Gfx1030,
        stage,
        wave: WaveSize::W64,
        entry_point: "main".into(),
        prolog: stage == Stage::Vertex,
        epilog,
        user_data: vec![],
        entry_sgprs: 1,
        spill_threshold: None,
        resources: vec![],
        push_constant_bytes: 0,
        specialization: vec![crate::ir::SpecValue { id: 3, value: 7, default: 7 }],
        writes_memory: false,
        kind,
    }
}

fn object(stage: Stage, epilog: bool) -> Vec<u8> {
    emit_object(&shader(stage, epilog), GfxIp::Gfx1030, &TuningOptions::default()).unwrap().bytes
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
        let elf = write(&object(stage, epilog), &interface(stage, epilog)).unwrap().0;
        let headers = tool("llvm-readelf-19", &["-a"], &elf);
        for wanted in
            ["AMDGPU - PAL", "gfx1030", stage.unlinked_symbol(), "doff_0_3_b", "NT_AMDGPU_METADATA", ".rodata"]
        {
            assert!(headers.contains(wanted), "no `{wanted}` in\n{headers}");
        }
        assert!(!headers.contains("GNU-stack"), "{headers}");
        assert_eq!(headers.contains("R_AMDGPU_REL16"), epilog, "{headers}");
        let code = tool("llvm-objdump-19", &["-d", "-r"], &elf);
        assert!(code.contains("R_AMDGPU_ABS32_LO\tdoff_0_3_b"), "{code}");
        assert!(!code.contains("s_code_end"), "{code}");
        let last = code.lines().rev().find(|l| l.contains("//")).unwrap();
        assert_eq!(last.contains("s_branch"), epilog, "{code}");
        assert_eq!(last.contains("s_endpgm"), !epilog, "{code}");
        assert_eq!(code.contains("R_AMDGPU_REL16\tdovetail.next"), epilog, "{code}");
    }
}

#[test]
fn the_branch_is_behind_the_body_s_symbol() {
    let (stage, epilog) = (Stage::Fragment, true);
    let elf = write(&object(stage, epilog), &interface(stage, epilog)).unwrap().0;
    let file = super::ObjectFile::read(&elf, GfxIp::Gfx1030).unwrap();
    let text = &file.sections[file.section(".text").unwrap()];
    let body = file.symbols.iter().find(|s| s.name == stage.unlinked_symbol()).unwrap();
    assert_eq!(body.size + 4, text.data.len() as u64);
    assert_eq!(text.data[body.size as usize..], S_BRANCH.to_le_bytes());
    assert_eq!(LinkSymbol::parse(super::NEXT), LinkSymbol::Next);
    let joint = text.relocs.iter().find(|r| r.kind == 14).unwrap();
    assert_eq!((joint.offset, file.symbols[joint.symbol].name), (body.size, "dovetail.next"));
}

#[test]
fn a_body_without_instructions_gets_one() {
    let mut shader = shader(Stage::Fragment, true);
    let p = shader.block(Shader::ENTRY).params.clone();
    shader.blocks[0].insts.clear();
    shader.blocks[0].term = Some(Terminator::Return(vec![p[0]]));
    if let Some(info) = &mut shader.lower {
        info.returns = vec![RegClass::Sgpr];
    }
    let object = emit_object(&shader, GfxIp::Gfx1030, &TuningOptions::default()).unwrap().bytes;
    let elf = write(&object, &interface(Stage::Fragment, true)).unwrap().0;
    let code = tool("llvm-objdump-19", &["-d"], &elf);
    let lines: Vec<_> = code.lines().filter(|l| l.contains("//")).collect();
    assert!(lines.len() == 2 && lines[0].contains("s_nop") && lines[1].contains("s_branch"), "{code}");
}

#[test]
fn the_note_carries_interface_and_registers() {
    let interface = interface(Stage::Vertex, true);
    let elf = write(&object(Stage::Vertex, true), &interface).unwrap().0;
    let file = super::ObjectFile::read(&elf, GfxIp::Gfx1030).unwrap();
    let document = Document::parse(note::metadata(&file.note).unwrap()).unwrap();
    assert_eq!(interface_io::extract(&document.pipeline).unwrap(), interface);
    let notes = Notes::from_unlinked(&document, Stage::Vertex).unwrap();
    // SPI_SHADER_PGM_RSRC1_VS, denormals of 32 bits flushed.
    let rsrc1 = notes.registers.iter().find(|(r, _)| r.0 == 0x2c4a).unwrap().1;
    assert_eq!(rsrc1 & 0x0fff_0000, 0x082c_0000);
}

#[test]
fn same_object_same_bytes_and_writing_again_changes_nothing_but_the_joint() {
    let (object, interface) = (object(Stage::Compute, false), interface(Stage::Compute, false));
    let once = write(&object, &interface).unwrap().0;
    assert_eq!(once, write(&object, &interface).unwrap().0);
    assert_eq!(once, write(&once, &interface).unwrap().0);
}

#[test]
fn what_is_no_object_of_ours_is_refused() {
    let (object, interface) = (object(Stage::Compute, false), interface(Stage::Compute, false));
    for cut in (0..object.len()).step_by(37) {
        // Some cuts only take the end of a string table; none may panic.
        let _ = write(&object[..cut], &interface);
    }
    assert!(write(&object[..40], &interface).is_err());
    for (at, byte) in [(7, 0), (18, 62), (48, 0x41)] {
        let mut wrong = object.clone();
        wrong[at] = byte;
        assert!(write(&wrong, &interface).is_err(), "byte {at}");
    }
    // Another stage's body.
    assert!(write(&object, &self::interface(Stage::Vertex, true)).is_err());
}
