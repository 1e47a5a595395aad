//! Image instructions in every form.

use super::{assembly, compiles, has, params, shader, store};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_ir::{
    Access, AmdOp, AtomicOp, Bits, Builder, LodMode, MimgDim, MimgInst, MimgOp, Op, RegClass, Shader, Terminator, Type,
    Value,
};

const DIMS: [MimgDim; 8] = [
    MimgDim::D1,
    MimgDim::D2,
    MimgDim::D3,
    MimgDim::Cube,
    MimgDim::D1Array,
    MimgDim::D2Array,
    MimgDim::D2Msaa,
    MimgDim::D2ArrayMsaa,
];

fn plain(op: MimgOp, dim: MimgDim, dmask: u8) -> MimgInst {
    let lod = LodMode::Implicit;
    let (access, unnormalized) = (Access::default(), false);
    MimgInst { op, dim, dmask, unnormalized, compare: false, lod, clamp: false, offset: false, tfe: false, access }
}

fn sampling(op: MimgOp) -> bool {
    matches!(op, MimgOp::Sample | MimgOp::Gather4 | MimgOp::GetLod)
}

/// A fragment shader around one image operation; descriptors come from a table, as usual.
fn around(inst: MimgInst, data: &[Type], ty: Option<Type>) -> Shader {
    let args = [
        (RegClass::Sgpr, Type::DESC8),
        (RegClass::Sgpr, Type::DESC4),
        (RegClass::Sgpr, Type::DESC4),
        (RegClass::Vgpr, Type::DESC4),
    ];
    let mut shader = shader(Stage::Fragment, WaveSize::W64, &args, &[]);
    let p = params(&shader);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let coord = b.extract(p[3], 0);
    let mut operands = vec![p[0]];
    if sampling(inst.op) {
        operands.push(p[1]);
    }
    operands.extend(data.iter().map(|&t| datum(&mut b, p[3], t)));
    operands.resize(inst.operands(), coord);
    if let Some(ty) = ty {
        let v = b.value(Op::Target(AmdOp::Mimg(inst)), &operands, ty);
        store(&mut b, p[2], 0, v);
    } else {
        b.effect(Op::Target(AmdOp::Mimg(inst)), &operands);
    }
    b.terminate(Terminator::Return(&[]));
    shader
}

fn datum(b: &mut Builder<'_>, v: Value, ty: Type) -> Value {
    let lane = b.extract(v, 1);
    match ty.bits() {
        Bits::B64 => {
            let pair = b.compose(&[lane, lane]);
            b.bitcast(pair, ty)
        }
        _ if ty.is_scalar() => lane,
        _ => b.compose(&vec![lane; ty.lanes() as usize]),
    }
}

fn lanes(n: u32) -> Option<Type> {
    Type::vector(Bits::B32, n)
}

#[test]
fn sampling_in_every_form() {
    for dim in DIMS.into_iter().filter(|d| !matches!(d, MimgDim::D2Msaa | MimgDim::D2ArrayMsaa)) {
        for lod in [LodMode::Implicit, LodMode::Bias, LodMode::Explicit, LodMode::Zero, LodMode::Gradient] {
            for flags in 0..8 {
                let (compare, clamp, offset) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
                if clamp && matches!(lod, LodMode::Explicit | LodMode::Zero) {
                    continue;
                }
                let dmask = if compare { 1 } else { 15 };
                let inst = MimgInst { lod, compare, clamp, offset, ..plain(MimgOp::Sample, dim, dmask) };
                compiles(&around(inst, &[], lanes(dmask.count_ones())));
                let gathers = matches!(dim, MimgDim::D2 | MimgDim::Cube | MimgDim::D2Array);
                if gathers && lod != LodMode::Gradient {
                    let inst = MimgInst { op: MimgOp::Gather4, dmask: 2, ..inst };
                    compiles(&around(inst, &[], lanes(4)));
                }
            }
        }
        compiles(&around(plain(MimgOp::GetLod, dim, 3), &[], lanes(2)));
    }
    let zero = MimgInst { lod: LodMode::Zero, offset: true, compare: true, ..plain(MimgOp::Sample, MimgDim::D2, 1) };
    has(&compiles(&around(zero, &[], lanes(1))), &["image_sample_c_lz_o"]);
    let partial = plain(MimgOp::Sample, MimgDim::D2, 0b0101);
    has(&compiles(&around(partial, &[], lanes(2))), &["image_sample ", "dmask:0x5"]);
}

#[test]
fn reads_tell_of_residency() {
    for dim in DIMS {
        for (op, dmask, texel) in [
            (MimgOp::Sample, 15u8, 4),
            (MimgOp::Sample, 1, 1),
            (MimgOp::Gather4, 2, 4),
            (MimgOp::Load, 15, 4),
            (MimgOp::LoadMip, 15, 4),
        ] {
            let multisampled = matches!(dim, MimgDim::D2Msaa | MimgDim::D2ArrayMsaa);
            let gathered = matches!(dim, MimgDim::D2 | MimgDim::Cube | MimgDim::D2Array);
            if op == MimgOp::Gather4 && !gathered || multisampled && op != MimgOp::Load {
                continue;
            }
            let inst = MimgInst { tfe: true, ..plain(op, dim, dmask) };
            has(&compiles(&around(inst, &[], lanes(texel + 1))), &["tfe"]);
        }
    }
}

#[test]
fn loads_stores_and_sizes() {
    for dim in DIMS {
        for dmask in [1, 3, 7, 15u8] {
            let ty = lanes(dmask.count_ones());
            compiles(&around(plain(MimgOp::Load, dim, dmask), &[], ty));
            compiles(&around(plain(MimgOp::Store, dim, dmask), &[ty.unwrap()], None));
            if !matches!(dim, MimgDim::D2Msaa | MimgDim::D2ArrayMsaa) {
                compiles(&around(plain(MimgOp::LoadMip, dim, dmask), &[], ty));
                compiles(&around(plain(MimgOp::StoreMip, dim, dmask), &[ty.unwrap()], None));
            }
        }
        compiles(&around(plain(MimgOp::GetResinfo, dim, 15), &[], lanes(4)));
    }
    let coherent = Access { coherent: true, ..Access::default() };
    let inst = MimgInst { access: coherent, ..plain(MimgOp::Load, MimgDim::D2, 15) };
    has(&compiles(&around(inst, &[], lanes(4))), &["glc", "dlc"]);
    let wide = plain(MimgOp::Load, MimgDim::D2, 3);
    has(&compiles(&around(wide, &[], Some(Type::B64))), &["image_load", "dmask:0x3"]);
}

#[test]
fn atomics_in_every_form() {
    let ops = [
        AtomicOp::Store,
        AtomicOp::Exchange,
        AtomicOp::CompareExchange,
        AtomicOp::IAdd,
        AtomicOp::ISub,
        AtomicOp::SMin,
        AtomicOp::UMin,
        AtomicOp::SMax,
        AtomicOp::UMax,
        AtomicOp::And,
        AtomicOp::Or,
        AtomicOp::Xor,
        AtomicOp::FAdd,
        AtomicOp::FMin,
        AtomicOp::FMax,
    ];
    for dim in DIMS {
        for op in ops {
            for ty in [Type::B32, Type::B64] {
                let float = matches!(op, AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax);
                if float && ty == Type::B64 {
                    continue;
                }
                let data = vec![ty; if op == AtomicOp::CompareExchange { 2 } else { 1 }];
                let dmask = if ty == Type::B64 { 3 } else { 1 };
                compiles(&around(plain(MimgOp::Atomic(op), dim, dmask), &data, Some(ty)));
            }
        }
    }
}

#[test]
fn data_that_does_not_fit_the_mask_is_refused() {
    for (op, data, ty) in [
        (MimgOp::Load, vec![], lanes(2)),
        (MimgOp::Store, vec![lanes(2).unwrap()], None),
        (MimgOp::Sample, vec![], lanes(3)),
    ] {
        let e = assembly(&around(plain(op, MimgDim::D2, 15), &data, ty)).unwrap_err();
        assert!(e.to_string().contains("channel mask"), "{e}");
    }
}
