//! Scalar arithmetic, control flow, and errors.

use super::*;

#[test]
fn results_and_conditions() {
    // Operation; operands; result and SCC.
    let cases: &[(&str, u32, u32, u32, bool)] = &[
        ("s_add_u32", 0xffff_ffff, 2, 1, true),
        ("s_add_i32", 0xffff_ffff, 2, 1, false),
        ("s_add_i32", 0x7fff_ffff, 1, 0x8000_0000, true),
        ("s_sub_u32", 1, 2, 0xffff_ffff, true),
        ("s_sub_i32", 0x8000_0000, 1, 0x7fff_ffff, true),
        ("s_and_b32", 6, 9, 0, false),
        ("s_andn2_b32", 7, 2, 5, true),
        ("s_nor_b32", 0xffff_ffff, 0, 0, false),
        ("s_lshl_b32", 1, 33, 2, true),
        ("s_ashr_i32", 0x8000_0000, 31, 0xffff_ffff, true),
        ("s_bfe_u32", 0xabcd_1234, 8 | 8 << 16, 0x12, true),
        ("s_bfe_u32", 0xabcd_1234, 28 | 32 << 16, 0xa, true),
        ("s_bfe_i32", 0xabcd_1234, 16 | 16 << 16, 0xffff_abcd, true),
        ("s_bfe_u32", 0xabcd_1234, 8, 0, false),
        ("s_min_i32", 0xffff_ffff, 1, 0xffff_ffff, true),
        ("s_max_u32", 1, 2, 2, false),
        ("s_lshl2_add_u32", 0x4000_0000, 3, 3, true),
        ("s_absdiff_i32", 3, 5, 2, true),
        ("s_pack_lh_b32_b16", 0x1111_2222, 0x3333_4444, 0x3333_2222, false),
        ("s_mul_hi_i32", 0xffff_ffff, 2, 0xffff_ffff, false),
        ("s_bfm_b32", 4, 8, 0xf00, false),
    ];
    for (op, a, b, result, scc) in cases {
        let text = format!("s_cmp_lg_u32 0, 0\n{op} s2, s0, s1");
        let Some(mut test) = Test::new("results_and_conditions", WaveSize::W32, &text) else { return };
        test.s(0, *a);
        test.s(1, *b);
        test.run();
        assert_eq!((test.sgpr(2), test.wave.scc), (*result, *scc), "{op} {a:#x}, {b:#x}");
    }
    let unary: &[(&str, u32, u32)] = &[
        ("s_ff1_i32_b32", 0, 0xffff_ffff),
        ("s_ff1_i32_b32", 0x50, 4),
        ("s_flbit_i32_b32", 0x50, 25),
        ("s_flbit_i32", 0xffff_ffff, 0xffff_ffff),
        ("s_flbit_i32", 0xffff_fff0, 28),
        ("s_wqm_b32", 0x0001_0040, 0x000f_00f0),
        ("s_quadmask_b32", 0x8000_0010, 0x82),
        ("s_abs_i32", 0x8000_0000, 0x8000_0000),
        ("s_sext_i32_i8", 0x80, 0xffff_ff80),
        ("s_brev_b32", 1, 0x8000_0000),
        ("s_bcnt1_i32_b32", 0xf0f0, 8),
        ("s_bitset1_b32", 3, 0x7dad_beef | 8),
    ];
    for (op, a, result) in unary {
        let Some(mut test) = Test::new("results_and_conditions", WaveSize::W32, &format!("{op} s2, s0")) else {
            return;
        };
        test.s(0, *a);
        test.run();
        assert_eq!(test.sgpr(2), *result, "{op} {a:#x}");
    }
}

#[test]
fn pairs_and_constants() {
    let text = "s_mov_b64 s[0:1], -1
        s_lshr_b64 s[2:3], s[0:1], 4
        s_add_u32 s4, s2, 1
        s_addc_u32 s5, s3, 0
        s_movk_i32 s6, 0x8000
        s_cmpk_eq_u32 s6, 0x8000
        s_cselect_b32 s7, 1, 2
        s_mov_b64 s[8:9], 1.0
        s_mulk_i32 s6, 2";
    let Some(mut test) = Test::new("pairs_and_constants", WaveSize::W64, text) else { return };
    test.run();
    assert_eq!([2, 3, 4, 5].map(|n| test.sgpr(n)), [0xffff_ffff, 0x0fff_ffff, 0, 0x1000_0000]);
    assert_eq!([6, 7, 8, 9].map(|n| test.sgpr(n)), [0xffff_0000, 2, 0, 0x3ff0_0000]);
}

#[test]
fn a_divergent_loop_counts_each_lane() {
    for size in [WaveSize::W32, WaveSize::W64] {
        let (b, exec, vcc, s) = match size {
            WaveSize::W32 => ("b32", "exec_lo", "vcc_lo", "s4"),
            WaveSize::W64 => ("b64", "exec", "vcc", "s[4:5]"),
        };
        let text = format!(
            "v_mov_b32 v1, 0
            s_mov_{b} {s}, 0
            loop:
            v_add_nc_u32 v1, v1, v0
            v_add_nc_u32 v2, 1, v2
            v_cmp_ge_u32 {vcc}, v2, v0
            s_or_{b} {s}, {vcc}, {s}
            s_andn2_{b} {exec}, {exec}, {s}
            s_cbranch_execnz loop
            s_or_{b} {exec}, {exec}, {s}"
        );
        let text = text.replace("loop:", "").replace("s_cbranch_execnz loop", "s_cbranch_execnz 65529");
        let Some(mut test) = Test::new("a_divergent_loop", size, &text) else { return };
        test.v(0, |lane| lane as u32 + 1);
        test.run();
        for lane in 0..test.wave.lanes() {
            assert_eq!(test.vgpr(1, lane) as usize, (lane + 1) * (lane + 1), "{size:?} lane {lane}");
        }
    }
}

#[test]
fn saved_masks() {
    let text = "s_and_saveexec_b32 s0, 0xff\nv_mov_b32 v0, 1\ns_xor_b32 exec_lo, exec_lo, s0\nv_mov_b32 v0, 2\ns_mov_b32 exec_lo, s0\nv_cmpx_eq_u32 2, v0\nv_mov_b32 v1, 3";
    let Some(mut test) = Test::new("saved_masks", WaveSize::W32, text) else { return };
    test.run();
    for lane in 0..32 {
        assert_eq!(test.vgpr(0, lane), if lane < 8 { 1 } else { 2 });
        assert_eq!(test.vgpr(1, lane), if lane < 8 { 0 } else { 3 });
    }
    assert_eq!(test.wave.exec(), 0xffff_ff00);
}

#[test]
fn calls_return() {
    let text = "s_getpc_b64 s[0:1]\ns_add_u32 s0, s0, 20\ns_addc_u32 s1, s1, 0\ns_swappc_b64 s[2:3], s[0:1]\ns_mov_b32 s4, 7\ns_endpgm\ns_mov_b32 s5, 8\ns_setpc_b64 s[2:3]";
    let Some(mut test) = Test::new("calls_return", WaveSize::W32, text) else { return };
    test.run();
    assert_eq!([test.sgpr(4), test.sgpr(5)], [7, 8]);
}

#[test]
fn errors_name_the_instruction() {
    let message =
        |text: &str| Some(Test::new("errors", WaveSize::W32, text)?.try_run().expect_err("stops").to_string());
    let Some(trap) = message("s_nop 0\ns_trap 2") else { return };
    assert!(trap.contains("s_trap") && trap.contains("0x7f12"), "{trap}");
    let outside = message("s_mov_b64 s[0:1], 0x1000\ns_load_dword s0, s[0:1], 0x10").expect("assembled");
    assert!(outside.contains("s_load_dword") && outside.contains("0x1010"), "{outside}");
    let endless = message("s_branch 65535").expect("assembled");
    assert!(endless.contains(INSTRUCTION_LIMIT), "{endless}");
    let off = message("s_mov_b64 s[0:1], 0x1000\ns_setpc_b64 s[0:1]").expect("assembled");
    assert!(off.contains("no code"), "{off}");
    let beyond = |text: &str| {
        let mut test = Test::new("errors", WaveSize::W32, text).expect("assembled");
        test.wave.limit_vgprs(8);
        test.try_run().expect_err("stops").to_string()
    };
    for text in ["v_mov_b32 v8, 0", "v_add_f32 v0, v9, v0", "ds_read_b32 v8, v0", "ds_write_b64 v0, v[7:8]"] {
        let message = beyond(text);
        assert!(message.contains("beyond the registers"), "{text}: {message}");
    }
    let unfit = message("v_interp_p1_f32 v0, v1, attr0.x").expect("assembled");
    assert!(unfit.contains("v_interp_p1_f32"), "{unfit}");
}
