//! LLVM's objects, read into machine code.

use super::{compute, store};
use crate::emit::emit_object;
use crate::object::read;
use dovetail_base::error::{ErrorKind, Result};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::watch::Unwatched;
use dovetail_ir::{Align, AluOp, ConstTable, ConstTableId, Local, Op, Shader, Terminator, Type};
use dovetail_metadata::interface::{ComputeInterface, StageInterface, StageKind, VertexInterface};
use dovetail_metadata::schema::MetadataKey;
use dovetail_passes::backend::{MachineCode, PatchTarget};
use dovetail_reloc::kind::RelocKind;
use dovetail_reloc::symbol::LinkSymbol;

fn interface(stage: Stage) -> StageInterface {
    StageInterface {
        target: Gpu::Gfx1030,
        stage,
        wave: WaveSize::W32,
        entry_point: "main".into(),
        prolog: stage.fetches_attributes(),
        epilog: false,
        user_data: vec![],
        entry_sgprs: 1,
        spill_threshold: None,
        resources: vec![],
        push_constant_bytes: 0,
        specialization: vec![],
        spec_operands: vec![],
        writes_memory: true,
        kind: match stage {
            Stage::Vertex => StageKind::Vertex(VertexInterface::default()),
            _ => StageKind::Compute(ComputeInterface::default()),
        },
    }
}

/// Adds a relocated value to one from a table.
fn object() -> Vec<u8> {
    let mut shader: Shader = compute(WaveSize::W32, &[Type::B32], |_, _, v| v.to_vec());
    let symbol = shader.symbol("doff_0_3_b");
    shader.tables.push(ConstTable { bytes: (0..64).collect(), align: Align::A4 });
    let params = shader.block(Shader::ENTRY).params.clone();
    shader.blocks[0].insts.clear();
    shader.blocks[0].end.clear();
    let mut b = dovetail_ir::Builder::new(&mut shader, Shader::ENTRY);
    let reloc = b.value(Op::Reloc(symbol), &[], Type::B32);
    let value = b.value(Op::ConstLoad { table: ConstTableId(0), align: Align::A4 }, &[params[1]], Type::B32);
    let sum = b.alu(AluOp::IAdd, &[reloc, value]);
    store(&mut b, params[0], 0, sum);
    b.terminate(Terminator::Return(&[]));
    emit_object(&shader, Gpu::Gfx1030, &TuningOptions::default(), &mut Unwatched).unwrap().bytes
}

fn parsed(object: &[u8]) -> Result<MachineCode> {
    read(object, &interface(Stage::Compute))
}

#[test]
fn an_object_becomes_code_data_and_patches() {
    let code = parsed(&object()).unwrap();
    let body = &code.functions[0];
    assert_eq!((body.symbol.as_str(), body.start, body.size as usize), ("_amdgpu_cs_main", 0, code.code.len()));
    // s_endpgm is last: the padding is gone.
    assert_eq!(code.code[code.code.len() - 4..], 0xbf81_0000u32.to_le_bytes());
    assert_eq!(code.constants[0].bytes, (0..64).collect::<Vec<u8>>());
    let table = code.tables.iter().position(|t| t.name.to_string() == "table0").unwrap();
    assert_eq!((code.tables[table].section, code.tables[table].start, code.tables[table].size), (0, 0, 64));
    let (link, data): (Vec<_>, Vec<_>) = code.patches.iter().partition(|p| matches!(p.target, PatchTarget::Link(_)));
    let symbol = PatchTarget::Link(LinkSymbol::parse("doff_0_3_b"));
    assert!(link.iter().all(|p| p.kind == RelocKind::Abs32Lo && p.target == symbol) && link.len() == 1);
    assert!(
        data.iter().all(|p| matches!(p.target, PatchTarget::Table(t) if code.tables[t].section == 0))
            && !data.is_empty()
    );
    assert!(code.counts[&MetadataKey::VgprCount] > 0 && !code.registers.is_empty());
}

#[test]
fn what_is_no_object_of_ours_is_our_bug() {
    let object = object();
    for cut in (0..object.len()).step_by(37) {
        // Some cuts only affect the end of a string table; none may panic.
        let _ = parsed(&object[..cut]);
    }
    let refused = |object: &[u8], stage: Stage, what: &str| {
        let kind = read(object, &interface(stage)).expect_err(what).kind().clone();
        assert!(matches!(kind, ErrorKind::Bug(_)), "{what}: {kind:?}");
    };
    refused(&object[..40], Stage::Compute, "cut");
    for (at, byte, what) in [(7, 0, "ABI"), (18, 62, "machine"), (48, 0x41, "target")] {
        let mut wrong = object.clone();
        wrong[at] = byte;
        refused(&wrong, Stage::Compute, what);
    }
    refused(&object, Stage::Vertex, "another stage's body");
}

/// LLVM promotes these locals to registers, so its scheduler sees no accesses.
#[test]
fn locals_are_no_memory_accesses() {
    let chain = |stored: bool| {
        let shader = compute(WaveSize::W32, &[Type::B32], |b, descriptor, v| {
            let local = b.shader.add_local(Local { name: "a".into(), bytes: 4, align: Align::A4 });
            let at = b.c32(0);
            let mut last = v[0];
            for n in 0..1_200 {
                b.effect(Op::LocalStore { local, align: Align::A4 }, &[at, last]);
                let read = b.value(Op::LocalLoad { local, align: Align::A4 }, &[at], Type::B32);
                last = b.alu(AluOp::IXor, &[read, v[0]]);
                if stored {
                    store(b, descriptor, 4 * n, last);
                }
            }
            vec![last]
        });
        emit_object(&shader, Gpu::Gfx1030, &TuningOptions::default(), &mut Unwatched).unwrap().simplified
    };
    assert_eq!(chain(false), None);
    assert!(chain(true).is_some_and(|why| why.contains("memory accesses")));
}
