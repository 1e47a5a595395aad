//! Vector arithmetic.

use super::*;

/// Runs `text` on random v0, v1, v2 and compares v3 with a formula.
fn check(text: &str, mode: Mode, formula: impl Fn(u32, u32, u32) -> u32) {
    compare(text, mode, formula, |a, b| a == b);
}

fn both_nan(a: u32, b: u32) -> bool {
    a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
}

fn compare(text: &str, mode: Mode, formula: impl Fn(u32, u32, u32) -> u32, same: impl Fn(u32, u32) -> bool) {
    let Some(code) = assemble("vector", WaveSize::W64, &format!("{text}\ns_endpgm")) else { return };
    for seed in 1..20 {
        let mut test = Test::of(&code, WaveSize::W64);
        test.wave.mode = mode;
        let mut numbers = numbers(seed);
        let inputs: Vec<[u32; 3]> = (0..64).map(|_| [0; 3].map(|_| numbers.next().expect("endless"))).collect();
        (0..3).for_each(|n| test.v(n, |lane| inputs[lane][usize::from(n)]));
        test.v(3, |_| 0xaaaa_5555);
        test.run();
        for (lane, [a, b, c]) in inputs.iter().enumerate() {
            let (got, wanted) = (test.vgpr(3, lane), formula(*a, *b, *c));
            assert!(same(got, wanted), "{text}: {a:#x}, {b:#x}, {c:#x} gives {got:#x}, not {wanted:#x}");
        }
    }
}

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[test]
fn integers() {
    check("v_add_nc_u32 v3, v0, v1", SHADER, |a, b, _| a.wrapping_add(b));
    check("v_subrev_nc_u32 v3, v0, v1", SHADER, |a, b, _| b.wrapping_sub(a));
    check("v_add_nc_u32 v3, v0, v1 clamp", SHADER, |a, b, _| a.saturating_add(b));
    check("v_sub_nc_i32 v3, v0, v1 clamp", SHADER, |a, b, _| {
        a.cast_signed().saturating_sub(b.cast_signed()).cast_unsigned()
    });
    check("v_mul_lo_u32 v3, v0, v1", SHADER, |a, b, _| a.wrapping_mul(b));
    check("v_mul_hi_i32 v3, v0, v1", SHADER, |a, b, _| {
        ((i64::from(a.cast_signed()) * i64::from(b.cast_signed())) >> 32) as u32
    });
    check("v_mad_i32_i24 v3, v0, v1, v2", SHADER, |a, b, c| {
        let low = |x: u32| (x << 8).cast_signed() >> 8;
        low(a).wrapping_mul(low(b)).cast_unsigned().wrapping_add(c)
    });
    check("v_lshlrev_b32 v3, v0, v1", SHADER, |a, b, _| b.wrapping_shl(a));
    check("v_ashrrev_i32 v3, v0, v1", SHADER, |a, b, _| b.cast_signed().wrapping_shr(a).cast_unsigned());
    check("v_med3_i32 v3, v0, v1, v2", SHADER, |a, b, c| {
        let mut all = [a, b, c].map(u32::cast_signed);
        all.sort_unstable();
        all[1].cast_unsigned()
    });
    check("v_alignbit_b32 v3, v0, v1, v2", SHADER, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32);
    check("v_perm_b32 v3, v0, v1, 0x5040100", SHADER, |a, b, _| a << 16 | b & 0xffff);
    check("v_bfi_b32 v3, v0, v1, v2", SHADER, |a, b, c| c ^ (a & (b ^ c)));
    check("v_ffbh_i32 v3, v0", SHADER, |a, _, _| {
        let other = (0..32).find(|n| a >> (31 - n) & 1 != a >> 31);
        other.unwrap_or(u32::MAX)
    });
    check("s_mov_b64 vcc, 0\nv_cndmask_b32 v3, v0, -v1, vcc", SHADER, |a, _, _| a);
    check("s_mov_b64 vcc, -1\nv_cndmask_b32 v3, v0, -v1, vcc", SHADER, |_, b, _| b ^ 0x8000_0000);
    check("v_mov_b32 v3, 0.5", SHADER, |_, _, _| 0x3f00_0000);
    check("v_xad_u32 v3, v0, v1, v2", SHADER, |a, b, c| (a ^ b).wrapping_add(c));
    check("v_bfm_b32 v3, v0, v1", SHADER, |a, b, _| (((1u64 << (a & 31)) - 1) << (b & 31)) as u32);
    check("v_cvt_pk_i16_i32 v3, v0, v1", SHADER, |a, b, _| {
        let half = |x: u32| u32::from((x.cast_signed().clamp(-32768, 32767) as i16).cast_unsigned());
        half(a) | half(b) << 16
    });
}

#[test]
fn bit_fields_end_at_the_word() {
    check("v_bfe_u32 v3, -1, 4, 32", SHADER, |_, _, _| 0);
    check("v_bfe_u32 v3, -1, 28, 8", SHADER, |_, _, _| 15);
    check("v_bfe_i32 v3, v0, 28, 8", SHADER, |a, _, _| (a.cast_signed() >> 28).cast_unsigned());
    check("v_bfe_i32 v3, v0, 3, 5", SHADER, |a, _, _| (a.cast_signed() << 24 >> 27).cast_unsigned());
}

#[test]
fn wide_integers() {
    check("v_mad_u64_u32 v[4:5], s[0:1], v0, v1, v[1:2]\nv_xor_b32 v3, v4, v5", SHADER, |a, b, c| {
        let sum = (u64::from(a) * u64::from(b)).wrapping_add(u64::from(b) | u64::from(c) << 32);
        sum as u32 ^ (sum >> 32) as u32
    });
    check("v_lshlrev_b64 v[4:5], v2, v[0:1]\nv_xor_b32 v3, v4, v5", SHADER, |a, b, c| {
        let shifted = (u64::from(a) | u64::from(b) << 32) << (c & 63);
        shifted as u32 ^ (shifted >> 32) as u32
    });
    let sum = "v_add_co_u32 v4, vcc, v0, v1\nv_add_co_ci_u32 v3, vcc, v1, v2, vcc";
    check(sum, SHADER, |a, b, c| b.wrapping_add(c).wrapping_add(u32::from(a.checked_add(b).is_none())));
    let difference = "v_sub_co_u32 v4, vcc, v0, v1\nv_sub_co_ci_u32 v3, vcc, v1, v2, vcc";
    check(difference, SHADER, |a, b, c| b.wrapping_sub(c).wrapping_sub(u32::from(a < b)));
}

#[test]
fn single_floats() {
    let float = |text, formula: fn(f32, f32, f32) -> f32| {
        compare(text, KEEP, |a, b, c| formula(f(a), f(b), f(c)).to_bits(), both_nan);
    };
    float("v_add_f32 v3, v0, v1", |a, b, _| a + b);
    float("v_sub_f32 v3, |v0|, -v1", |a, b, _| a.abs() + b);
    float("v_mul_f32 v3, v0, v1", |a, b, _| a * b);
    float("v_fma_f32 v3, v0, -|v1|, v2", |a, b, c| a.mul_add(-b.abs(), c));
    float("v_fmaak_f32 v3, v0, v1, 0x40490fdb", |a, b, _| a.mul_add(b, std::f32::consts::PI));
    float("v_fmamk_f32 v3, v0, 0x40490fdb, v1", |a, b, _| a.mul_add(std::f32::consts::PI, b));
    float("v_mov_b32 v3, v2\nv_fmac_f32 v3, v0, v1", |a, b, c| a.mul_add(b, c));
    float("v_mul_f32 v3, v0, v1 clamp", |a, b, _| if (a * b).is_nan() { 0.0 } else { (a * b).clamp(0.0, 1.0) });
    float("v_floor_f32 v3, v0", |a, _, _| a.floor());
    float("v_rndne_f32 v3, v0", |a, _, _| a.round_ties_even());
    float("v_fract_f32 v3, v0", |a, _, _| {
        (a - a.floor()).min(f32::from_bits(0x3f7f_ffff)) + if a.is_finite() { 0.0 } else { f32::NAN }
    });
    float("v_max_f32 v3, v0, v1", |a, b, _| a.max(b));
    float("v_ldexp_f32 v3, v0, 3", |a, _, _| a * 8.0);
    float("v_cvt_f32_i32 v3, v0", |a, _, _| a.to_bits().cast_signed() as f32);
    float("v_cvt_f32_u32 v3, v0", |a, _, _| a.to_bits() as f32);
    float("v_cvt_f32_ubyte2 v3, v0", |a, _, _| (a.to_bits() >> 16 & 0xff) as f32);
}

#[test]
fn floats_in_pieces() {
    let pieces = "v_frexp_exp_i32_f32 v4, v0\nv_frexp_mant_f32 v5, v0\nv_ldexp_f32 v3, v5, v4";
    compare(pieces, KEEP, |a, _, _| a, both_nan);
    let wide = "v_cvt_f64_f32 v[4:5], v0\nv_frexp_exp_i32_f64 v6, v[4:5]\nv_frexp_mant_f64 v[8:9], v[4:5]\n\
                v_ldexp_f64 v[4:5], v[8:9], v6\nv_cvt_f32_f64 v3, v[4:5]";
    compare(wide, KEEP, |a, _, _| a, both_nan);
}

#[test]
fn denormals_are_flushed_by_mode_and_never_by_moves() {
    let flush = |x: u32| if f(x).is_subnormal() { x & 0x8000_0000 } else { x };
    compare("v_mul_f32 v3, 1.0, v0", SHADER, |a, _, _| flush(a), both_nan);
    compare("v_max_f32 v3, v0, v0", SHADER, |a, _, _| flush(a), both_nan);
    check("v_mov_b32 v3, v0", SHADER, |a, _, _| a);
    compare("s_denorm_mode 15\nv_mul_f32 v3, 1.0, v0\ns_denorm_mode 12", SHADER, |a, _, _| a, both_nan);
    check("v_cmp_class_f32 vcc, v0, 0x90\nv_cndmask_b32 v3, 0, 1, vcc", SHADER, |a, _, _| {
        u32::from(f(a).is_subnormal())
    });
}

#[test]
fn output_modifiers_need_flushed_denormals() {
    let flush = |x: u32| if f(x).is_subnormal() { x & 0x8000_0000 } else { x };
    let text = "v_mul_f32 v3, 1.0, v0 mul:4";
    compare(text, SHADER, |a, _, _| flush((f(flush(a)) * 4.0).to_bits()), both_nan);
    compare(text, KEEP, |a, _, _| a, both_nan);
}

#[test]
fn division() {
    // The compiler's f32 division; each step has its own denormal mode.
    let text = "v_div_scale_f32 v4, s[0:1], v1, v1, v0
        v_rcp_f32 v5, v4
        v_div_scale_f32 v6, vcc, v0, v1, v0
        s_denorm_mode 15
        v_fma_f32 v7, -v4, v5, 1.0
        v_fmac_f32 v5, v7, v5
        v_mul_f32 v7, v6, v5
        v_fma_f32 v8, -v4, v7, v6
        v_fmac_f32 v7, v8, v5
        v_fma_f32 v4, -v4, v7, v6
        s_denorm_mode 12
        v_div_fmas_f32 v4, v4, v5, v7
        v_div_fixup_f32 v3, v4, v1, v0";
    for mode in [SHADER, KEEP] {
        let text = if mode == KEEP { text.replace("s_denorm_mode 12", "s_denorm_mode 15") } else { text.to_owned() };
        let keeps = mode == KEEP;
        let quotient = move |a: u32, b: u32, _| {
            let flush = |x: f32| if x.is_subnormal() && !keeps { 0f32.copysign(x) } else { x };
            flush(flush(f(a)) / flush(f(b))).to_bits()
        };
        // If denormals are flushed, a quotient near them may lose its last bit.
        let close =
            |a: u32, b: u32| both_nan(a, b) || !keeps && a.abs_diff(b) <= 1 || (a | b) & 0x7fff_ffff <= 0x0080_0000;
        compare(&text, mode, quotient, close);
    }
}

#[test]
fn unsigned_division_as_the_compiler_writes_it() {
    let text = "v_cvt_f32_u32 v4, v1
        v_sub_nc_u32 v5, 0, v1
        v_rcp_iflag_f32 v4, v4
        v_mul_f32 v4, 0x4f7ffffe, v4
        v_cvt_u32_f32 v4, v4
        v_mul_lo_u32 v5, v5, v4
        v_mul_hi_u32 v5, v4, v5
        v_add_nc_u32 v4, v4, v5
        v_mul_hi_u32 v4, v0, v4
        v_mul_lo_u32 v5, v4, v1
        v_sub_nc_u32 v0, v0, v5
        v_add_nc_u32 v5, 1, v4
        v_sub_nc_u32 v6, v0, v1
        v_cmp_ge_u32 vcc, v0, v1
        v_cndmask_b32 v4, v4, v5, vcc
        v_cndmask_b32 v0, v0, v6, vcc
        v_add_nc_u32 v5, 1, v4
        v_cmp_ge_u32 vcc, v0, v1
        v_cndmask_b32 v3, v4, v5, vcc";
    let quotient = |a: u32, b: u32, _| a.checked_div(b).unwrap_or(u32::MAX);
    compare(text, SHADER, quotient, |got, wanted| got == wanted || wanted == u32::MAX);
}

#[test]
fn comparisons() {
    let bit = |name: &str| format!("{name} vcc, v0, v1\nv_cndmask_b32 v3, 0, 1, vcc");
    check(&bit("v_cmp_lt_i32"), KEEP, |a, b, _| u32::from(a.cast_signed() < b.cast_signed()));
    check(&bit("v_cmp_ge_u32"), KEEP, |a, b, _| u32::from(a >= b));
    check(&bit("v_cmp_gt_f32"), KEEP, |a, b, _| u32::from(f(a) > f(b)));
    check(&bit("v_cmp_nlt_f32"), KEEP, |a, b, _| {
        u32::from(!matches!(f(a).partial_cmp(&f(b)), Some(std::cmp::Ordering::Less)))
    });
    check(&bit("v_cmp_lg_f32"), KEEP, |a, b, _| u32::from(f(a) < f(b) || f(a) > f(b)));
    check(&bit("v_cmp_neq_f32"), KEEP, |a, b, _| u32::from(f(a) != f(b)));
    check(&bit("v_cmp_u_f32"), KEEP, |a, b, _| u32::from(f(a).is_nan() || f(b).is_nan()));
    check(&bit("v_cmp_le_u16"), KEEP, |a, b, _| u32::from(a & 0xffff <= b & 0xffff));
}

#[test]
fn class_bits_tell_every_kind_of_number_apart() {
    let numbers =
        [0x7f80_0001, 0x7fc0_0000, 0xff80_0000, 0xbf80_0000, 0x8000_0001, 0x8000_0000, 0, 1, 0x3f80_0000, 0x7f80_0000];
    for (bit, number) in numbers.into_iter().enumerate() {
        let text =
            format!("v_mov_b32 v4, {:#x}\nv_cmp_class_f32 vcc_lo, v0, v4\nv_cndmask_b32 v3, 0, 1, vcc_lo", 1 << bit);
        let Some(mut test) = Test::new("class", WaveSize::W32, &text) else { return };
        test.v(0, |lane| numbers[lane % 10]);
        test.run();
        for lane in 0..10 {
            assert_eq!(test.vgpr(3, lane), u32::from(lane == bit), "{number:#x}, lane {lane}");
        }
    }
}

#[test]
fn halves_leave_the_other_half() {
    let half = |x: f64| u32::from(super::super::mode::to_f16(x, super::super::mode::Round::Nearest));
    let low = |x: u32| super::super::mode::from_f16(x as u16);
    let same = |a: u32, b: u32| {
        let same_half = |a: u32, b: u32| a & 0xffff == b & 0xffff || low(a).is_nan() && low(b).is_nan();
        same_half(a, b) && same_half(a >> 16, b >> 16)
    };
    let run = |text: &str, formula: &dyn Fn(u32, u32, u32) -> u32| compare(text, KEEP, formula, same);
    run("v_add_f16 v3, v0, v1", &|a, b, _| 0xaaaa_0000 | half(low(a) + low(b)));
    run("v_fma_f16 v3, v0, 1.0, v1 op_sel:[1,0,0,1]", &|a, b, _| 0x5555 | half(low(a >> 16) + low(b)) << 16);
    run("v_mul_f16 v3, -v0, |v1|", &|a, b, _| 0xaaaa_0000 | half(-low(a) * low(b).abs()));
    run("v_cvt_f16_f32 v3, v0", &|a, _, _| 0xaaaa_0000 | half(f64::from(f(a))));
    run("v_pk_add_f16 v3, v0, v1", &|a, b, _| half(low(a) + low(b)) | half(low(a >> 16) + low(b >> 16)) << 16);
    run("v_pk_mul_f16 v3, v0, v1 op_sel:[1,0] op_sel_hi:[0,0] neg_hi:[1,0]", &|a, b, _| {
        half(low(a >> 16) * low(b)) | half(-low(a) * low(b)) << 16
    });
    run("v_pk_add_u16 v3, v0, v1", &|a, b, _| {
        a.wrapping_add(b) & 0xffff | (a & 0xffff_0000).wrapping_add(b & 0xffff_0000)
    });
    run("v_pk_add_u16 v3, v0, -1", &|a, _, _| a.wrapping_sub(1) & 0xffff | (a >> 16).wrapping_sub(1) << 16);
    run("v_pk_mul_f16 v3, v0, 2.0", &|a, _, _| half(low(a) * 2.0) | half(0.0 * low(a >> 16)) << 16);
    run("v_pk_mul_f16 v3, v0, 2.0 op_sel_hi:[1,0]", &|a, _, _| half(low(a) * 2.0) | half(low(a >> 16) * 2.0) << 16);
    run("v_sub_nc_u16 v3, v0, v1", &|a, b, _| 0xaaaa_0000 | a.wrapping_sub(b) & 0xffff);
    run("v_pack_b32_f16 v3, v0, v1 op_sel:[1,0]", &|a, b, _| a >> 16 | b << 16);
    run("v_fma_mixlo_f16 v3, v0, 2.0, 0 op_sel_hi:[1,0,0]", &|a, _, _| 0xaaaa_0000 | half(low(a) * 2.0 + 0.0));
    run("v_fma_mixhi_f16 v3, v0, 2.0, 0 op_sel:[1,0,0] op_sel_hi:[1,0,0]", &|a, _, _| {
        0x5555 | half(low(a >> 16) * 2.0 + 0.0) << 16
    });
    compare(
        "v_fma_mix_f32 v3, v0, v1, v2 op_sel:[0,1,0] op_sel_hi:[1,1,0]",
        KEEP,
        |a, b, c| ((low(a) * low(b >> 16) + f64::from(f(c))) as f32).to_bits(),
        |a, b| both_nan(a, b) || a.abs_diff(b) <= 1,
    );
}

#[test]
fn doubles() {
    let text = "v_cvt_f64_f32 v[4:5], v0\nv_cvt_f64_f32 v[6:7], v1\nv_cvt_f64_f32 v[8:9], v2\n";
    let run = |op: &str, formula: fn(f64, f64, f64) -> f64| {
        let text = format!("{text}{op}\nv_cvt_f32_f64 v3, v[10:11]");
        let wide = |x: u32| f64::from(f(x));
        compare(&text, KEEP, |a, b, c| (formula(wide(a), wide(b), wide(c)) as f32).to_bits(), both_nan);
    };
    run("v_add_f64 v[10:11], v[4:5], -v[6:7]", |a, b, _| a - b);
    run("v_mul_f64 v[10:11], |v[4:5]|, v[6:7]", |a, b, _| a.abs() * b);
    run("v_fma_f64 v[10:11], v[4:5], v[6:7], v[8:9]", f64::mul_add);
    run("v_mul_f64 v[10:11], 0x3ff80000, v[4:5]", |a, _, _| 1.5 * a);
    run("v_mul_f64 v[10:11], 0.15915494309189532, v[4:5]", |a, _, _| a * 0.15915494309189532);
    run("v_floor_f64 v[10:11], v[4:5]", |a, _, _| a.floor());
    run("v_sqrt_f64 v[10:11], v[4:5]", |a, _, _| a.sqrt());
}

#[test]
fn approximations_are_within_a_unit() {
    let close = |a: u32, b: u32| both_nan(a, b) || f(a) == f(b) || a.abs_diff(b) <= 1;
    let flush = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
    let run = |op: &str, formula: fn(f32) -> f32| {
        compare(&format!("{op} v3, v0"), SHADER, |a, _, _| flush(formula(flush(f(a)))).to_bits(), close);
    };
    run("v_rcp_f32", |x| 1.0 / x);
    run("v_sqrt_f32", f32::sqrt);
    run("v_rsq_f32", |x| (1.0 / f64::from(x).sqrt()) as f32);
    run("v_exp_f32", f32::exp2);
    run("v_log_f32", f32::log2);
    let Some(mut test) = Test::new("trigonometry", WaveSize::W32, "v_sin_f32 v3, v0\nv_cos_f32 v4, v0") else { return };
    test.v(0, |lane| (lane as f32 / 4.0).to_bits());
    test.run();
    for lane in 0..32 {
        assert_eq!(f(test.vgpr(3, lane)), [0.0, 1.0, 0.0, -1.0][lane % 4]);
        assert_eq!(f(test.vgpr(4, lane)), [1.0, 0.0, -1.0, 0.0][lane % 4]);
    }
}

#[test]
fn cube_coordinates() {
    let text = "v_cubeid_f32 v3, v0, v1, v2\nv_cubesc_f32 v4, v0, v1, v2\nv_cubetc_f32 v5, v0, v1, v2\nv_cubema_f32 v6, v0, v1, v2";
    let Some(mut test) = Test::new("cube", WaveSize::W32, text) else { return };
    let cases: [([f32; 3], [f32; 4]); 7] = [
        ([3.0, 1.0, 2.0], [0.0, -2.0, -1.0, 6.0]),
        ([-3.0, 1.0, 2.0], [1.0, 2.0, -1.0, -6.0]),
        ([1.0, 4.0, 2.0], [2.0, 1.0, 2.0, 8.0]),
        ([1.0, -4.0, 2.0], [3.0, 1.0, -2.0, -8.0]),
        ([1.0, 2.0, 5.0], [4.0, 1.0, -2.0, 10.0]),
        ([1.0, 2.0, -5.0], [5.0, -1.0, -2.0, -10.0]),
        ([1.0, -1.0, 1.0], [4.0, 1.0, 1.0, 2.0]),
    ];
    for n in 0..3u8 {
        test.v(n, |lane| cases[lane % 7].0[usize::from(n)].to_bits());
    }
    test.run();
    for (lane, (_, wanted)) in cases.iter().enumerate() {
        assert_eq!([3, 4, 5, 6].map(|n| f(test.vgpr(n, lane))), *wanted, "case {lane}");
    }
}

#[test]
fn parts_of_registers() {
    check("v_cvt_f32_i32_sdwa v3, sext(v0) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2", SHADER, |a, _, _| {
        f32::from((a >> 16) as i8).to_bits()
    });
    check(
        "v_or_b32_sdwa v3, v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_0",
        SHADER,
        |a, b, _| 0xaaaa_0055 | ((a >> 16 | b & 0xff) & 0xff) << 8,
    );
    check(
        "v_add_nc_u32_sdwa v3, v0, v1 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD",
        SHADER,
        |a, b, _| i32::from(a.wrapping_add(b) as i16).cast_unsigned(),
    );
}

#[test]
fn rounding_direction_is_live() {
    let text = "s_round_mode 3\nv_mul_f32 v3, v0, v1\ns_round_mode 0";
    let towards_zero = |a: u32, b: u32, _| {
        let nearest = f(a) * f(b);
        let exact = f64::from(f(a)) * f64::from(f(b));
        let away = f64::from(nearest).abs() > exact.abs();
        if away { nearest.to_bits() - 1 } else { nearest.to_bits() }
    };
    compare(text, KEEP, towards_zero, both_nan);
}
