//! Interpolation: parameters of a table on gfx10, loaded to registers on gfx11.

use super::*;
use crate::fixed_function::{InterpolationPlane, Parameters};
use crate::mode::{Round, from_f16, to_f16};
use crate::wave::POISON;
use std::sync::Arc;

const NAME: &str = "interp";
/// Quads from the sixth on are of the second primitive.
const SECOND_FROM_QUAD_5: u32 = 1 << (16 + 4);

/// A channel of the only attribute, of two primitives.
fn set_parameters(test: &mut Test, channel: usize, planes: [InterpolationPlane; 2]) {
    let of = |plane| {
        let mut channels = [[POISON; 3]; 4];
        channels[channel] = plane;
        vec![channels]
    };
    test.wave.parameters = Some(Arc::new(Parameters { primitives: planes.map(of).to_vec() }));
    test.wave.set_scalar(Scalar::M0, SECOND_FROM_QUAD_5);
}

fn planes(seed: u32) -> [InterpolationPlane; 2] {
    let mut numbers = numbers(seed);
    [(); 2].map(|()| [(); 3].map(|()| numbers.next().expect("endless")))
}

/// The plane of a lane.
fn plane(planes: &[InterpolationPlane; 2], lane: usize) -> InterpolationPlane {
    planes[usize::from(lane >= 20)]
}

#[test]
fn a_load_writes_whole_quads_and_no_others() {
    for size in [WaveSize::W32, WaveSize::W64] {
        let Some(mut test) = Test::on_gfx11(NAME, size, "lds_param_load v3, attr0.y wait_vdst:0\ns_waitcnt expcnt(0)")
        else {
            return;
        };
        let planes = planes(7);
        set_parameters(&mut test, 1, planes);
        test.v(3, |lane| 1000 + lane as u32);
        // The last lane of a quad, and the first of another one.
        test.wave.set_exec(1 << 3 | 1 << 20);
        test.run();
        for (lane, got) in test.row(3).into_iter().enumerate() {
            let expected = match lane / 4 {
                0 | 5 => plane(&planes, lane).get(lane % 4).copied().unwrap_or(POISON),
                _ => 1000 + lane as u32,
            };
            assert_eq!(got, expected, "lane {lane}");
        }
    }
}

#[test]
fn steps_from_registers_give_what_steps_from_the_table_give() {
    let old = "v_interp_p1_f32 v8, v0, attr0.z\nv_interp_p2_f32 v8, v1, attr0.z\nv_interp_mov_f32 v9, p20, attr0.z";
    let new = "lds_param_load v3, attr0.z wait_vdst:0
        v_interp_p10_f32 v8, v3, v0, v3 wait_exp:0
        v_interp_p2_f32 v8, v3, v1, v8 wait_exp:7
        v_mov_b32_dpp v9, v3 quad_perm:[2,2,2,2] row_mask:0xf bank_mask:0xf";
    for (seed, mode) in (1..30).flat_map(|seed| [SHADER, KEEP, Mode(0x1f3), Mode(0x1c1)].map(|mode| (seed, mode))) {
        let run = |test: Option<Test>| {
            let mut test = test?;
            set_parameters(&mut test, 2, planes(seed));
            let mut weights = numbers(seed + 100);
            let weights = [(); 128].map(|()| weights.next().expect("endless"));
            (0..2).for_each(|n| test.v(n, |lane| weights[64 * usize::from(n) + lane]));
            test.wave.mode = mode;
            test.run();
            Some([test.row(8), test.row(9)])
        };
        let Some(theirs) = run(Test::new(NAME, WaveSize::W32, old)) else { return };
        let Some(ours) = run(Test::on_gfx11(NAME, WaveSize::W32, new)) else { return };
        assert_eq!(ours, theirs, "{seed} {mode:?}");
    }
}

#[test]
fn steps_read_lanes_that_are_not_active_and_write_those_that_are() {
    let text = "lds_param_load v3, attr0.x wait_vdst:0
        s_mov_b32 exec_lo, 0x8080
        v_interp_p10_f32 v8, v3, v0, -v3 wait_exp:0
        v_interp_p2_f32 v9, -v3, v1, v8 clamp wait_exp:0";
    let Some(mut test) = Test::on_gfx11(NAME, WaveSize::W32, text) else { return };
    let plane = [0.25f32, 3.0, 5.0].map(f32::to_bits);
    set_parameters(&mut test, 0, [plane; 2]);
    test.v(0, |_| 2f32.to_bits());
    test.v(1, |lane| if lane == 7 { 1f32.to_bits() } else { 4f32.to_bits() });
    test.run();
    for lane in 0..32 {
        // 2 × 3 - 0.25, and that less 5 or 20, in the range of 0 to 1.
        let expected = match lane {
            7 => [5.75, 0.75],
            15 => [5.75, 0.0],
            _ => [0.0, 0.0],
        };
        assert_eq!([8, 9].map(|n| f32::from_bits(test.vgpr(n, lane))), expected, "lane {lane}");
    }
}

#[test]
fn halves_are_widened_and_rounded_once() {
    let half = |bits: u32, high: bool| from_f16((if high { bits >> 16 } else { bits }) as u16);
    // Small enough for the sums to be exact.
    let word = |lane: usize, n: usize| {
        let x = (lane * 37 + n * 11) % 64;
        u32::from(to_f16(x as f64 / 8.0 - 4.0, Round::Nearest)) | u32::from(to_f16(x as f64, Round::Nearest)) << 16
    };
    let weight = |lane: usize| (lane as f32 + 0.37) * 0.61;
    let run = |text: &str| {
        let mut test = Test::on_gfx11(NAME, WaveSize::W32, text)?;
        test.v(0, |lane| word(lane, 0));
        test.v(1, |lane| weight(lane).to_bits());
        test.v(2, |lane| word(lane, 2));
        test.v(3, |lane| (lane as f32 * 0.123).to_bits());
        test.v(8, |_| 0xaaaa_5555);
        test.run();
        Some(test.row(8))
    };
    for (rtz, round) in [("", Round::Nearest), ("rtz_", Round::Zero)] {
        let Some(low) = run(&format!("v_interp_p10_{rtz}f16_f32 v8, v0, v1, v2 op_sel:[0,0,1,0]")) else { return };
        let Some(high) = run(&format!("v_interp_p2_{rtz}f16_f32 v8, v0, v1, v3 op_sel:[1,0,0,1]")) else { return };
        for lane in 0..32 {
            let quad = lane & !3;
            let weight = f64::from(weight(lane));
            let first = half(word(quad + 1, 0), false) * weight + half(word(quad, 2), true);
            assert_eq!(low[lane], crate::mode::to_f32(first, round).to_bits(), "{rtz} lane {lane}");
            let second = half(word(quad + 2, 0), true) * weight + f64::from(lane as f32 * 0.123);
            assert_eq!(high[lane], u32::from(to_f16(second, round)) << 16 | 0x5555, "{rtz} lane {lane}");
        }
    }
}

#[test]
fn a_load_is_waited_for_by_the_step_that_needs_it() {
    let run = |text: &str| {
        let loads = "lds_param_load v3, attr0.x wait_vdst:0\nlds_param_load v4, attr0.x wait_vdst:0";
        let mut test = Test::on_gfx11(NAME, WaveSize::W32, &format!("{loads}\n{text}"))?;
        set_parameters(&mut test, 0, [[0; 3]; 2]);
        Some(test.try_run().err().map(|error| error.to_string()))
    };
    let refused = |text: &str, why: &str| {
        let Some(said) = run(text) else { return };
        assert!(said.as_ref().is_some_and(|said| said.contains(why)), "{text}: {said:?}");
    };
    let runs = |text: &str| {
        let Some(said) = run(text) else { return };
        assert_eq!(said, None, "{text}");
    };
    runs("v_interp_p10_f32 v8, v3, v0, v3 wait_exp:1\nv_interp_p10_f32 v8, v4, v0, v4 wait_exp:0");
    runs("s_waitcnt expcnt(0)\nv_mov_b32 v8, v4");
    // EXEC is read when the load begins.
    runs("s_mov_b32 exec_lo, 1");
    refused("v_interp_p10_f32 v8, v3, v0, v3 wait_exp:2", "v3 is read before lds_param_load");
    refused("v_interp_p10_f32 v8, v4, v0, v4 wait_exp:1", "v4 is read before lds_param_load");
    refused("v_interp_p10_f32 v8, v3, v0, v3 wait_exp:7", "(expcnt)");
    refused("v_interp_p10_f32 v4, v3, v0, v3 wait_exp:1", "v4 is overwritten before lds_param_load");
    refused("s_waitcnt expcnt(1)\nv_mov_b32 v8, v4", "v4 is read before lds_param_load");
    // Exports and loads are not in order with each other.
    refused("exp mrt0 v0, off, off, off\nv_interp_p10_f32 v8, v3, v0, v3 wait_exp:2", "v3 is read before");
}
