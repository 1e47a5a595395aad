//! Features of fragment shaders only.

use super::{compiles, has, params, shader};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_ir::{AmdOp, Bits, Builder, ExportTarget, Op, RegClass, Shader, Terminator, Type, Value};

/// The sixteen hardware inputs, after user data and the primitive mask in s2.
fn fragment(wave: WaveSize, returns: &[RegClass], body: impl FnOnce(&mut Builder<'_>, &[Value])) -> Shader {
    let vector = |n| Type::vector(Bits::B32, n).unwrap();
    let mut args = vec![(RegClass::Sgpr, Type::B32); 3];
    for n in [2, 2, 2, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1] {
        args.push((RegClass::Vgpr, vector(n)));
    }
    let mut shader = shader(Stage::Fragment, wave, &args, returns);
    let p = params(&shader);
    body(&mut Builder::new(&mut shader, Shader::ENTRY), &p);
    shader
}

#[test]
fn attributes_are_interpolated() {
    for wave in [WaveSize::W32, WaveSize::W64] {
        let shader = fragment(wave, &[RegClass::Vgpr; 2], |b, p| {
            let (i, j) = (b.extract(p[4], 0), b.extract(p[4], 1));
            let smooth = b.value(Op::Target(AmdOp::Interp { attr: 3, channel: 1 }), &[i, j, p[2]], Type::B32);
            let flat = b.value(Op::Target(AmdOp::InterpMov { attr: 2, channel: 0, vertex: 2 }), &[p[2]], Type::B32);
            b.terminate(Terminator::Return(&[smooth, flat]));
        });
        let text = compiles(&shader);
        has(&text, &["v_interp_p1_f32", "v_interp_p2_f32_e32 v0, v1, attr3.y", "v_interp_mov_f32_e32 v1, p0, attr2.x"]);
    }
}

#[test]
fn discarded_pixels_leave_and_helpers_know_it() {
    let shader = fragment(WaveSize::W64, &[RegClass::Vgpr], |b, p| {
        let zero = b.c32(0);
        let dark = b.alu(dovetail_ir::AluOp::FOLt, &[p[11], zero]);
        b.effect(Op::DemoteIf, &[dark]);
        let helper = b.value(Op::IsHelper, &[], Type::B1);
        let n = b.convert(dovetail_ir::AluOp::ZExt, helper, Type::B32);
        b.terminate(Terminator::Return(&[n]));
    });
    has(&compiles(&shader), &["s_andn2_b64", "exp null off, off, off, off done vm"]);
}

#[test]
fn every_export_target() {
    let targets = [ExportTarget::Mrt(7), ExportTarget::MrtZ, ExportTarget::Null];
    for target in targets {
        for compressed in [false, true] {
            let shader = fragment(WaveSize::W64, &[], |b, p| {
                let v = [p[11], p[12], p[13], p[14]];
                let enable = 0xf;
                b.effect(Op::Target(AmdOp::Export { target, enable, compressed, done: true, valid_mask: true }), &v);
                b.terminate(Terminator::Return(&[]));
            });
            let text = compiles(&shader);
            has(&text, &["done", "vm", "s_endpgm"]);
            assert_eq!(text.contains("compr"), compressed, "{text}");
            assert!(!text.contains("invalid_target"), "{text}");
        }
    }
}

#[test]
fn returned_shapes_fill_registers_in_order() {
    let shader = fragment(WaveSize::W64, &[RegClass::Vgpr; 4], |b, p| {
        let half = b.convert(dovetail_ir::AluOp::FConv, p[11], Type::B16);
        let pair = b.compose(&[p[12], p[13]]);
        let wide = b.bitcast(pair, Type::B64);
        let truth = b.alu(dovetail_ir::AluOp::IEq, &[p[15], p[16]]);
        b.terminate(Terminator::Return(&[p[10], half, wide, truth]));
    });
    let text = compiles(&shader);
    has(&text, &["v_cvt_f16_f32", "v_cndmask_b32_e64 v4, 0, 1"]);
    assert!(!text.contains("s_endpgm") && !text.contains("0xffff"), "{text}");
}
