//! Cross-lane operations, in both wave sizes.

use super::{compiles, compute, has, params, shader};
use dovetail_base::target::{Stage, WaveSize};
use dovetail_ir::{AmdOp, Bits, Builder, LaneOp, Op, RegClass, Shader, Terminator, Type};

const WAVES: [WaveSize; 2] = [WaveSize::W32, WaveSize::W64];
const DPP: LaneOp = LaneOp::Dpp { ctrl: 0x111, row_mask: 15, bank_mask: 15, bound_zero: false };

#[test]
fn every_lane_primitive_compiles_in_both_wave_sizes() {
    let b32 = Type::B32;
    let permlane = LaneOp::PermlaneX16 { low: u32::MAX, high: u32::MAX, fetch_inactive: true };
    let cases: [(LaneOp, &[Type], Type); 11] = [
        (LaneOp::ReadLane, &[b32, b32], b32),
        (LaneOp::WriteLane, &[b32, b32, b32], b32),
        (DPP, &[b32, b32], b32),
        (permlane, &[b32, b32], b32),
        (LaneOp::BPermute, &[b32, b32], b32),
        (LaneOp::SetInactive, &[b32, b32], b32),
        (LaneOp::StrictWwm, &[b32], b32),
        (LaneOp::CubeId, &[b32, b32, b32], b32),
        (LaneOp::CubeS, &[b32, b32, b32], b32),
        (LaneOp::CubeT, &[b32, b32, b32], b32),
        (LaneOp::CubeMa, &[b32, b32, b32], b32),
    ];
    for wave in WAVES {
        let mask = if wave == WaveSize::W32 { Type::B32 } else { Type::B64 };
        let masks: [(LaneOp, &[Type], Type); 2] =
            [(LaneOp::Ballot, &[Type::B1], mask), (LaneOp::MaskBitCount, &[mask], b32)];
        for (op, args, ty) in cases.into_iter().chain(masks) {
            compiles(&compute(wave, args, |b, _, v| {
                // Uniform operands where the primitive needs them.
                let v: Vec<_> = match op {
                    LaneOp::ReadLane => vec![v[0], b.c32(3)],
                    LaneOp::WriteLane => vec![b.c32(7), b.c32(3), v[2]],
                    _ => v.to_vec(),
                };
                vec![b.value(Op::Target(AmdOp::Lane(op)), &v, ty)]
            }));
        }
    }
}

#[test]
fn first_lane_of_every_type() {
    for bits in [Bits::B1, Bits::B8, Bits::B16, Bits::B32, Bits::B64] {
        for lanes in [1, 4] {
            let ty = Type::vector(bits, lanes).unwrap();
            if bits == Bits::B1 && lanes > 1 {
                continue;
            }
            let text = compiles(&compute(WaveSize::W64, &[ty], |b, _, v| {
                vec![b.value(Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane)), v, ty)]
            }));
            has(&text, &["v_readfirstlane_b32"]);
        }
    }
}

#[test]
fn derivatives_run_with_helper_lanes() {
    let mut shader = shader(
        Stage::Fragment,
        WaveSize::W64,
        &[(RegClass::Sgpr, Type::B32), (RegClass::Vgpr, Type::vector(Bits::B32, 2).unwrap())],
        &[RegClass::Vgpr],
    );
    let p = params(&shader);
    let mut b = Builder::new(&mut shader, Shader::ENTRY);
    let x = b.extract(p[1], 0);
    let quad = |ctrl| Op::Target(AmdOp::Lane(LaneOp::Dpp { ctrl, row_mask: 15, bank_mask: 15, bound_zero: true }));
    let right = b.value(quad(0x55), &[x, x], Type::B32);
    let left = b.value(quad(0), &[x, x], Type::B32);
    let d = b.alu(dovetail_ir::AluOp::FSub, &[right, left]);
    let d = b.value(Op::Target(AmdOp::Lane(LaneOp::Wqm)), &[d], Type::B32);
    b.terminate(Terminator::Return(&[d]));
    has(&compiles(&shader), &["s_wqm_b64", "quad_perm:[1,1,1,1]"]);
}
