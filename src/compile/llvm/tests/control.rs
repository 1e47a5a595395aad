//! Control flow, order, modes, and errors for bad shaders.

use super::{assembly, compiles, compute, has, llvm_tool, params, shader, store};
use crate::emit::emit_object;
use dovetail_base::error::{ErrorKind, FullCompile};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::watch::Unwatched;
use dovetail_ir::{
    Access, Align, AluOp, AmdOp, BlockCall, BufferKind, Builder, DenormMode, FenceOrder, LaneOp, Local, MemoryClasses,
    Merge, Op, RegClass, RoundMode, Scope, Shader, Terminator, Type,
};

#[test]
fn a_loop_carries_values() {
    let mut shader = compute(WaveSize::W32, &[Type::B32; 2], |_, _, _| vec![]);
    shader.blocks[0].end.clear();
    let p = params(&shader);
    let (head, body, done) = (shader.add_block(), shader.add_block(), shader.add_block());
    let i = shader.add_param(head, Type::B32);
    let sum = shader.add_param(head, Type::B32);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let (zero, fzero) = (b.c32(0), b.undef(Type::B32));
    b.jump(head, &[zero, fzero]);
    b.switch_to(head);
    b.set_merge(Merge::Loop { merge: done, continue_to: body });
    let more = b.alu(AluOp::ULt, &[i, p[1]]);
    b.branch(more, body, done);
    b.switch_to(body);
    let one = b.c32(1);
    let next = b.iadd(i, one);
    let total = b.alu(AluOp::FAdd, &[sum, p[2]]);
    b.jump(head, &[next, total]);
    b.switch_to(done);
    store(&mut b, p[0], 0, sum);
    b.terminate(Terminator::Return(&[]));
    has(&compiles(&shader), &["v_add_f32", "s_cbranch"]);
}

#[test]
fn one_target_may_be_named_twice_with_different_values() {
    for switch in [false, true] {
        let mut shader = compute(WaveSize::W32, &[Type::B32; 3], |_, _, _| vec![]);
        shader.blocks[0].end.clear();
        let p = params(&shader);
        let join = shader.add_block();
        let x = shader.add_param(join, Type::B32);
        let mut b = Builder::new(&mut shader, Shader::ENTRY);
        let cond = b.alu(AluOp::IEq, &[p[1], p[2]]);
        let to = |n: usize| BlockCall { block: join, args: &p[n..=n] };
        if switch {
            b.switch(p[1], [(1, to(2)), (7, to(3))].into_iter(), to(1));
        } else {
            b.terminate(Terminator::Branch { cond, then: to(2), els: to(3) });
        }
        b.switch_to(join);
        store(&mut b, p[0], 0, x);
        b.terminate(Terminator::Return(&[]));
        compiles(&shader);
    }
}

#[test]
fn a_shader_that_never_returns_still_ends() {
    let mut dead = compute(WaveSize::W32, &[], |_, _, _| vec![]);
    dead.blocks[0].end.set(Terminator::Unreachable);
    has(&compiles(&dead), &["s_endpgm"]);
    let mut endless = compute(WaveSize::W32, &[], |_, _, _| vec![]);
    let block = endless.add_block();
    endless.blocks[0].end.set(Terminator::Jump(BlockCall::to(block)));
    endless.blocks[1].end.set(Terminator::Jump(BlockCall::to(block)));
    compiles(&endless);
}

#[test]
fn barriers_wait_for_memory() {
    let all = [Scope::Invocation, Scope::Subgroup, Scope::Workgroup, Scope::Device, Scope::System];
    for scope in all {
        for order in [FenceOrder::None, FenceOrder::Acquire, FenceOrder::Release, FenceOrder::AcqRel] {
            for bits in 0..8 {
                let classes = MemoryClasses { buffer: bits & 1 != 0, image: bits & 2 != 0, shared: bits & 4 != 0 };
                compiles(&compute(WaveSize::W32, &[Type::B32], |b, d, v| {
                    store(b, d, 0, v[0]);
                    b.effect(Op::Fence { scope, order, classes }, &[]);
                    b.effect(Op::Barrier { exec: Scope::Workgroup, memory: scope, order, classes }, &[]);
                    let access = Access::default();
                    vec![b.value(
                        Op::BufferLoad { kind: BufferKind::Storage, align: Align::A4, access },
                        &[d, v[0]],
                        Type::B32,
                    )]
                }));
            }
        }
    }
    let classes = MemoryClasses { shared: true, ..MemoryClasses::default() };
    let mut shader = compute(WaveSize::W32, &[Type::B32; 2], |b, _, v| {
        let access = Access::default();
        b.effect(Op::SharedStore { align: Align::A4, access }, &[v[0], v[1]]);
        let (exec, memory) = (Scope::Workgroup, Scope::Workgroup);
        b.effect(Op::Barrier { exec, memory, order: FenceOrder::AcqRel, classes }, &[]);
        vec![b.value(Op::SharedLoad { align: Align::A4, access }, &[v[1]], Type::B32)]
    });
    shader.shared_bytes = 256;
    let text = compiles(&shader);
    let (wait, barrier) = (text.find("s_waitcnt lgkmcnt(0)").unwrap(), text.find("s_barrier").unwrap());
    assert!(wait < barrier && !text.contains("buffer_gl0_inv"), "{text}");
}

#[test]
fn modes_become_attributes_and_registers() {
    let plain = compute(WaveSize::W32, &[Type::B32; 2], |b, _, v| vec![b.alu(AluOp::FAdd, v)]);
    has(&compiles(&plain), &["(COMPUTE_PGM_RSRC1)': 0x602c0000"]);
    let mut kept = plain.clone();
    kept.modes.denorm[1] = DenormMode::Preserve;
    has(&compiles(&kept), &["(COMPUTE_PGM_RSRC1)': 0x602f0000"]);
    let mut flushed = plain.clone();
    flushed.modes.denorm = [DenormMode::Flush; 3];
    has(&compiles(&flushed), &["(COMPUTE_PGM_RSRC1)': 0x60200000"]);
    // The mode must not reach the epilog.
    let (near, zero) = (RoundMode::NearestEven, RoundMode::TowardZero);
    for (round, set, unset) in [
        ([zero; 3], "s_round_mode 0xf", "s_round_mode 0x0"),
        ([near, zero, near], "hwreg(HW_REG_MODE, 0, 2), 3", "hwreg(HW_REG_MODE, 0, 2), 0"),
        ([zero, near, near], "hwreg(HW_REG_MODE, 2, 2), 3", "hwreg(HW_REG_MODE, 2, 2), 0"),
    ] {
        let args = [(RegClass::Vgpr, Type::B32); 2];
        let mut shader = shader(Stage::Fragment, WaveSize::W32, &args, &[RegClass::Vgpr]);
        shader.modes.round = round;
        let p = params(&shader);
        let mut b = Builder::new(&mut shader, Shader::ENTRY);
        let sum = b.alu(AluOp::FAdd, &p);
        b.terminate(Terminator::Return(&[sum]));
        let text = compiles(&shader);
        let at = |s: &str| text.find(s).unwrap_or_else(|| panic!("no `{s}` in\n{text}"));
        assert!(at(set) < at("v_add_f32") && at("v_add_f32") < at(unset), "{text}");
    }
}

#[test]
fn clocks() {
    let text = compiles(&compute(WaveSize::W32, &[], |b, _, _| {
        vec![
            b.value(Op::ReadClock(Scope::Subgroup), &[], Type::B64),
            b.value(Op::ReadClock(Scope::Device), &[], Type::B64),
        ]
    }));
    has(&text, &["s_memtime", "s_memrealtime"]);
}

#[test]
fn a_vertex_body_exports_and_returns() {
    use dovetail_ir::ExportTarget;
    let mut args = vec![(RegClass::Sgpr, Type::B32); 4];
    args.extend(vec![(RegClass::Vgpr, Type::B32); 8]);
    let mut shader = shader(Stage::Vertex, WaveSize::W64, &args, &[RegClass::Vgpr; 3]);
    let p = params(&shader);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let none = b.undef(Type::B32);
    let export = Op::Target(AmdOp::Export {
        target: ExportTarget::Pos(0),
        enable: 7,
        compressed: false,
        done: true,
        valid_mask: false,
    });
    b.effect(export, &[p[8], p[9], p[10], none]);
    let short = b.convert(AluOp::Trunc, p[5], Type::B16);
    b.terminate(Terminator::Return(&[p[11], none, short]));
    let text = compiles(&shader);
    has(&text, &["exp pos0 v4, v5, v6, off done", "v_mov_b32_e32 v0, v7"]);
    assert!(!text.contains("s_endpgm"), "{text}");
}

#[test]
fn scalar_returns_are_scalar_registers() {
    let args = [(RegClass::Sgpr, Type::B32), (RegClass::Vgpr, Type::B32)];
    let mut shader = shader(Stage::Fragment, WaveSize::W32, &args, &[RegClass::Sgpr]);
    let p = params(&shader);
    shader.blocks[0].end.set(Terminator::Return(&[p[0]]));
    let text = compiles(&shader);
    assert!(!text.contains("s_endpgm") && !text.contains("v_readfirstlane"), "{text}");
}

#[test]
fn a_divergent_scalar_return_is_the_first_lane_s() {
    let args = [(RegClass::Sgpr, Type::B32), (RegClass::Vgpr, Type::B32)];
    let mut shader = shader(Stage::Fragment, WaveSize::W32, &args, &[RegClass::Sgpr]);
    let p = params(&shader);
    shader.blocks[0].end.set(Terminator::Return(&[p[1]]));
    has(&compiles(&shader), &["v_readfirstlane_b32 s0, v"]);
}

#[test]
fn too_many_values_are_refused_before_llvm() {
    for (args, returns) in [(137, 0), (1, 137)] {
        let args = vec![(RegClass::Vgpr, Type::B32); args];
        let mut shader = shader(Stage::Vertex, WaveSize::W64, &args, &vec![RegClass::Vgpr; returns]);
        let p = params(&shader);
        shader.blocks[0].end.set(Terminator::Return(&vec![p[0]; returns]));
        let e = assembly(&shader).unwrap_err();
        let want = Some(137);
        let got = e.full_compile().and_then(|f| match f {
            FullCompile::TooManyValues { count, .. } => Some(*count),
            _ => None,
        });
        assert_eq!(got, want, "{e}");
    }
    let mut most = shader(Stage::Vertex, WaveSize::W64, &[(RegClass::Vgpr, Type::B32)], &[RegClass::Vgpr; 136]);
    let p = params(&most);
    most.blocks[0].end.set(Terminator::Return(&[p[0]; 136]));
    compiles(&most);
}

#[test]
fn bad_shaders_give_errors_and_the_process_lives() {
    let mut upper = Shader::new("main", Stage::Compute);
    upper.modes.local_size = [1; 3];
    assert!(matches!(assembly(&upper).unwrap_err().kind(), ErrorKind::Bug(_)));

    // LLVM reports too much scratch by a diagnostic, but still writes an object.
    let mut deep = compute(WaveSize::W32, &[Type::B32], |_, _, _| vec![]);
    let p = params(&deep);
    let local = deep.add_local(Local { name: "deep".into(), bytes: 1 << 24, align: Align::A4 });
    deep.blocks[0].end.clear();
    let mut b = Builder::new(&mut deep, Shader::ENTRY);
    b.effect(Op::LocalStore { local, align: Align::A4 }, &[p[1], p[1]]);
    let at = b.c32(64);
    let v = b.value(Op::LocalLoad { local, align: Align::A4 }, &[at], Type::B32);
    store(&mut b, p[0], 0, v);
    b.terminate(Terminator::Return(&[]));
    let e = assembly(&deep).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Unsupported { .. }) && e.to_string().contains("exceeds limit"), "{e}");

    let options = TuningOptions { vgpr_limit: 1, ..TuningOptions::default() };
    assert!(matches!(
        emit_object(&deep, Gpu::Gfx1030, &options, &mut Unwatched).unwrap_err().kind(),
        ErrorKind::Malformed(_)
    ));

    let mut large = compute(WaveSize::W32, &[], |_, _, _| vec![]);
    large.shared_bytes = 65537;
    assert!(matches!(assembly(&large).unwrap_err().kind(), ErrorKind::Unsupported { .. }));

    let mut crowd = compute(WaveSize::W32, &[], |_, _, _| vec![]);
    for size in [[0, 1, 1], [1025, 1, 1], [u32::MAX, u32::MAX, 1]] {
        crowd.modes.local_size = size;
        assert!(matches!(assembly(&crowd).unwrap_err().kind(), ErrorKind::Unsupported { .. }));
    }

    // A use without a definition that dominates it.
    let mut undefined = compute(WaveSize::W32, &[Type::B32], |b, _, v| vec![b.alu(AluOp::INot, v)]);
    undefined.blocks[0].insts.remove(0);
    assert!(assembly(&undefined).unwrap_err().to_string().contains("v2 is used"));

    compiles(&compute(WaveSize::W32, &[Type::B32], |b, _, v| {
        vec![b.value(Op::Target(AmdOp::Lane(LaneOp::StrictWwm)), v, Type::B32)]
    }));
}

#[test]
fn objects_are_deterministic_and_disassemble() {
    let make = || {
        let shader = compute(WaveSize::W32, &[Type::B32; 2], |b, _, v| vec![b.alu(AluOp::FRcp, &v[..1])]);
        emit_object(&shader, Gpu::Gfx1030, &TuningOptions::default(), &mut Unwatched).unwrap().bytes
    };
    let object = make();
    assert_eq!(object, make());
    let other = std::thread::spawn(make).join().unwrap();
    assert_eq!(object, other);
    let text = llvm_tool("llvm-objdump-19", &["-d", "-r"], &object);
    has(&text, &["<_amdgpu_cs_main>:", "v_rcp_f32", "s_endpgm"]);
    has(&llvm_tool("llvm-readelf-19", &["-a"], &object), &["EM_AMDGPU", "gfx1030", "amdpal.pipelines"]);
}
