//! Anything that the hardware could not execute as intended is an error that names the operand, and emits nothing.

use super::GFX;
use crate::instruction::*;
use crate::*;
use dovetail_base::target::WaveSize;

fn refused(inst: &Instruction) -> String {
    let mut out = vec![7];
    let said = encode(GFX, WaveSize::W64, inst, &mut out).map_or_else(|e| e.to_string(), |()| String::new());
    assert!(said.is_empty() || out == [7], "a refused instruction leaves nothing behind");
    said
}

fn s(n: u8) -> Scalar {
    Scalar::Sgpr(Sgpr::new(n).expect("in range"))
}

fn vector(op: Op, srcs: &[Src]) -> Instruction {
    Instruction::vector(GFX, op, Vgpr(0), srcs)
}

/// An instruction with another value in a field of its operands.
macro_rules! with {
    ($inst:expr, $kind:ident, $($field:ident).+ = $value:expr) => {{
        let mut inst = $inst;
        let Fields::$kind(f) = &mut inst.fields else { panic!("{}", inst.text(GFX, WaveSize::W64)) };
        f.$($field).+ = $value;
        inst
    }};
}

#[test]
fn what_cannot_be_executed_is_refused_by_name() {
    let v: Src = Vgpr(1).into();
    let reg = |n| Src::Scalar(s(n));
    let lit = Src::Literal;
    let load = |data, base, offset| {
        let base = Sgpr::new(base).expect("in range");
        Instruction::scalar_load(GFX, Op::SLoadDwordx4, Sgpr::new(data).expect("in range"), base, offset)
    };
    let add = vector(Op::VAddF32, &[v, v]);
    let sdwa = Sdwa { dst_sel: 6, dst_unused: 0, src_sel: [6; 2], sext: [false; 2] };
    let sources = ExpSources::Full([Some(Vgpr(0)), None, None, None]);
    let export = Instruction::export(GFX, ExpTarget::Mrt(0), sources, true, true).expect("a target");
    let move_ = |dst, src| Instruction::scalar(GFX, Op::SMovB64, Some(dst), &[src]);
    let cases = [
        // Operands.
        (vector(Op::VAddNcU32, &[lit(100), lit(200)]), "source 1, 0xc8: a second literal"),
        (vector(Op::VBfeU32, &[reg(1), reg(2), reg(3)]), "3 scalar values, 2 can be read"),
        (vector(Op::VLshlrevB64, &[reg(1), reg(2)]), "2 scalar values, 1 can be read"),
        (vector(Op::VAddF32, &[v]), "source 1: one too many or too few"),
        (vector(Op::VAddF32, &[v, v, v]), "source 2: one too many or too few"),
        (vector(Op::VFmaF64, &[Vgpr(255).into(), v, v]), "no group of 2 registers begins at v255"),
        (vector(Op::VReadfirstlaneB32, &[v]), "result: another kind"),
        (with!(add, Vector, form = VectorForm::Dpp8 { lanes: 1 << 24, fi: false }), "lanes: 16777216"),
        (
            with!(with!(add, Vector, srcs = [Some(v), Some(reg(3)), None]), Vector, form = VectorForm::Short),
            "source 1: s3",
        ),
        (
            with!(with!(add, Vector, srcs = [Some(lit(77)), Some(v), None]), Vector, form = VectorForm::Sdwa(sdwa)),
            "source 0: 0x4d",
        ),
        (with!(add, Vector, form = VectorForm::Sdwa(Sdwa { dst_sel: 7, ..sdwa })), "dst_sel: no part 7"),
        (with!(vector(Op::VNotB32, &[v]), Vector, form = VectorForm::Sdwa(sdwa)), "src_sel: there is no source 1"),
        (vector(Op::VReadlaneB32, &[v, lit(77)]), "result: another kind"),
        (move_(s(1), Src::Int(0)), "no group of 2 registers begins at s1"),
        (move_(s(0), v), "source 0: v1 has no place here"),
        (move_(Scalar::M0, Src::Int(0)), "no group of 2 registers begins at m0"),
        (move_(s(0), Src::Int(65)), "source 0, 65: no inline constant"),
        (load(0, 1, 0), "base: no group of 2"),
        (load(104, 0, 0), "data: no group of 4"),
        (load(2, 0, 0), "data: no group of 4"),
        (load(0, 0, 1 << 20), "offset: 1048576 does not fit 21 bits"),
        // Modifiers and forms.
        (with!(add, Vector, mods.clamp = true), "modifier clamp"),
        (with!(vector(Op::VAddNcU32, &[v, v]), Vector, mods.neg = 1), "modifier neg"),
        (
            with!(with!(vector(Op::VAddNcU32, &[v, v]), Vector, form = VectorForm::Long), Vector, mods.abs = 2),
            "modifier abs",
        ),
        (
            with!(vector(Op::VFmacF32, &[v, v]), Vector, form = VectorForm::Sdwa(sdwa)),
            "form: v_fmac_f32 has no such one",
        ),
        (with!(vector(Op::VFmaF32, &[v, v, v]), Vector, form = VectorForm::Short), "form: v_fma_f32"),
        (with!(vector(Op::VAddCoCiU32, &[v, v]), Vector, mask = Some(s(4))), "mask: VCC in this form"),
        // The rest.
        (with!(export, Export, target = 10), "target: no export target 10"),
        (with!(export, Export, enabled = 16), "components: 16 does not fit 4 bits"),
        (Instruction { entry: GFX.row(Op::VAddF32), ..export }, "operands of another format than VOP2"),
    ];
    for (inst, why) in cases {
        let said = refused(&inst);
        assert!(said.contains(why), "{}: `{said}`, not `{why}`", inst.text(GFX, WaveSize::W64));
    }
    assert_eq!(refused(&vector(Op::VBfeU32, &[reg(1), reg(2), reg(1)])), "", "the same twice is one");
    assert!(Instruction::export(GFX, ExpTarget::Mrt(8), sources, true, true).is_err());
}

#[test]
fn a_mask_of_64_lanes_is_a_pair() {
    let v: Src = Vgpr(2).into();
    let masked = |s| Instruction::vector(GFX, Op::VCndmaskB32, Vgpr(1), &[Src::Int(0), v, Src::Scalar(s)]);
    assert_eq!(masked(s(4)).text(GFX, WaveSize::W64), "v_cndmask_b32_e64 v1, 0, v2, s[4:5]");
    assert_eq!(masked(Scalar::VccLo).text(GFX, WaveSize::W64), "v_cndmask_b32_e32 v1, 0, v2, vcc");
    let odd = masked(s(5));
    assert!(encode(GFX, WaveSize::W32, &odd, &mut Vec::new()).is_ok());
    assert!(refused(&odd).contains("no group of 2 registers begins at s5"));
}

/// An instruction of gfx11, and what is said of it.
fn refused_by_gfx11(gpu: &str, wave: WaveSize, inst: &Instruction) -> String {
    let isa = Isa::of(gpu.parse().expect("known"));
    encode(isa, wave, inst, &mut Vec::new()).map_or_else(|e| e.to_string(), |()| String::new())
}

#[test]
fn what_gfx11_cannot_execute_is_refused_by_name() {
    let isa = Isa::of("gfx1100".parse().expect("known"));
    let v: Src = Vgpr(1).into();
    let half = Instruction::vector(isa, Op::VAddF16, Vgpr(0), &[v, v]);
    let add = Instruction::vector(isa, Op::VAddF32, Vgpr(0), &[v, v]);
    let lanes = VectorForm::LongDpp8 { lanes: 0, fi: false };
    let sources = ExpSources::Full([Some(Vgpr(0)), None, None, None]);
    let export = |target| Instruction::export(isa, target, sources, true, false).expect("a target");
    let ray = Addresses::new(&[Vgpr(0); 11]);
    let mut image = ImageFields {
        data: Vgpr(0),
        addresses: ray,
        nsa: true,
        resource: s(0),
        sampler: s(0),
        dim: 0,
        dmask: 15,
        unorm: true,
        r128: true,
        a16: false,
        d16: false,
        tfe: false,
        lwe: false,
        cache: CachePolicy::default(),
    };
    let scattered = Instruction::new(isa, Op::ImageBvhIntersectRay, Fields::Image(image));
    image.addresses = Addresses::grouped(&[(Vgpr(0), 1), (Vgpr(9), 1), (Vgpr(20), 3), (Vgpr(30), 3), (Vgpr(40), 3)]);
    let grouped = Instruction::new(isa, Op::ImageBvhIntersectRay, Fields::Image(image));
    let scalar = |src| Instruction::scalar(isa, Op::SMovB32, Some(s(0)), &[src]);
    let wide = with!(add, Vector, form = lanes);
    let beside = with!(wide, Vector, srcs = [Some(v), Some(Src::Scalar(s(3))), None]);
    let cases = [
        (with!(half, Vector, dst = Some(VectorDst::Vgpr(Vgpr(128)))), "result: v128 has no place"),
        (with!(half, Vector, srcs = [Some(Vgpr(128).into()), Some(v), None]), "source 0: v128 has no place"),
        (
            with!(with!(half, Vector, mods.op_sel = 1), Vector, srcs = [Some(Src::Int(1)), Some(v), None]),
            "source 0 is no",
        ),
        (with!(half, Vector, mods.op_sel = 4), "modifier op_sel"),
        (with!(add, Vector, mods.op_sel = 1), "modifier op_sel"),
        (beside, "source 1: a VGPR beside"),
        (
            with!(
                add,
                Vector,
                form = VectorForm::Sdwa(Sdwa { dst_sel: 6, dst_unused: 0, src_sel: [6; 2], sext: [false; 2] })
            ),
            "no such one",
        ),
        (export(ExpTarget::Null), "no export target 9"),
        (export(ExpTarget::Param(0)), "no export target 32"),
        (with!(export(ExpTarget::Mrt(0)), Export, compr = true), "compr"),
        (scattered, "have to follow one another"),
        (scalar(Src::Special(Special::Vccz)), "no inline constant"),
        (Instruction { entry: isa.row(Op::SAddF32), ..scalar(v) }, "no such operation"),
        (Instruction { entry: isa.row(Op::SMemtime), ..add }, "no such operation"),
    ];
    for (inst, why) in cases {
        let said = refused_by_gfx11("gfx1100", WaveSize::W64, &inst);
        assert!(said.contains(why), "{}: `{said}`, not `{why}`", inst.text(isa, WaveSize::W64));
    }
    for good in [half, wide, export(ExpTarget::DualSource(1)), grouped] {
        assert_eq!(refused_by_gfx11("gfx1100", WaveSize::W64, &good), "");
    }
    // gfx11.5 reads a scalar register beside a source from other lanes.
    assert_eq!(refused_by_gfx11("gfx1150", WaveSize::W64, &beside), "");
}
