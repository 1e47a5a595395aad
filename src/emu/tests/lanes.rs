//! Values from other lanes.

use super::*;

/// v1 of each lane after `text` on v0 = 100 + lane, v1 = 7, with the lanes of `exec` active.
fn row(size: WaveSize, text: &str, exec: u64) -> Option<Vec<u32>> {
    let mut test = Test::new("lanes", size, text)?;
    test.v(0, |lane| 100 + lane as u32);
    test.v(1, |_| 7);
    test.wave.set_exec(exec);
    test.run();
    Some(test.row(1))
}

fn each(lanes: usize, formula: impl Fn(usize) -> u32) -> Option<Vec<u32>> {
    Some((0..lanes).map(formula).collect())
}

#[test]
fn data_parallel_primitives() {
    let check = |ctrl: &str, formula: &dyn Fn(usize) -> u32| {
        for size in [WaveSize::W32, WaveSize::W64] {
            let Some(got) = row(size, &format!("v_mov_b32_dpp v1, v0 {ctrl}"), u64::MAX) else { return };
            assert_eq!(Some(got), each(size.lanes() as usize, formula), "{ctrl}");
        }
    };
    let lane = |from: usize| 100 + from as u32;
    check("quad_perm:[3,0,1,1] row_mask:0xf bank_mask:0xf", &|i| lane(i & !3 | [3, 0, 1, 1][i & 3]));
    check("row_shr:3 row_mask:0xf bank_mask:0xf", &|i| if i & 15 < 3 { 7 } else { lane(i - 3) });
    check("row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:1", &|i| if i & 15 < 3 { 0 } else { lane(i - 3) });
    check("row_shl:1 row_mask:0xf bank_mask:0x3", &|i| if i & 15 < 8 { lane(i + 1) } else { 7 });
    check("row_ror:5 row_mask:0x1 bank_mask:0xf", &|i| if i < 16 { lane((i + 11) & 15) } else { 7 });
    check("row_mirror row_mask:0xf bank_mask:0xf", &|i| lane(i ^ 15));
    check("row_half_mirror row_mask:0xf bank_mask:0xf", &|i| lane(i ^ 7));
    check("row_share:9 row_mask:0xf bank_mask:0xf", &|i| lane(i & !15 | 9));
    check("row_xmask:6 row_mask:0xf bank_mask:0xf", &|i| lane(i ^ 6));
    check("dpp8:[7,6,5,4,3,2,1,0]", &|i| lane(i ^ 7));
}

#[test]
fn inactive_lanes_are_no_sources() {
    let exec = 0x5555_5555;
    let odd = |i: usize| i % 2 == 1;
    let run = |text: &str| row(WaveSize::W32, text, exec);
    let Some(plain) = run("v_mov_b32_dpp v1, v0 row_xmask:1 row_mask:0xf bank_mask:0xf") else { return };
    assert_eq!(Some(plain), each(32, |_| 7));
    let zero = run("v_mov_b32_dpp v1, v0 row_xmask:1 row_mask:0xf bank_mask:0xf bound_ctrl:1");
    assert_eq!(zero, each(32, |i| if odd(i) { 7 } else { 0 }));
    let fetched = run("v_mov_b32_dpp v1, v0 row_xmask:1 row_mask:0xf bank_mask:0xf fi:1");
    assert_eq!(fetched, each(32, |i| if odd(i) { 7 } else { 101 + i as u32 }));
    let swizzled = run("ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,1)");
    assert_eq!(swizzled, each(32, |i| if odd(i) { 7 } else { 0 }));
}

#[test]
fn permutations() {
    let run = |text: &str| row(WaveSize::W32, text, u64::MAX);
    let from = |formula: fn(usize) -> usize| each(32, |i| 100 + formula(i) as u32);
    let Some(got) = run("s_mov_b32 s0, 0x76543210\ns_mov_b32 s1, 0x01234567\nv_permlane16_b32 v1, v0, s0, s1") else {
        return;
    };
    let nibble = |i: usize| [0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1, 0][i & 15];
    assert_eq!(Some(got), each(32, |i| 100 + (i & 16 | nibble(i)) as u32));
    let across = run("s_mov_b32 s0, 0x76543210\ns_mov_b32 s1, 0xfedcba98\nv_permlanex16_b32 v1, v0, s0, s1");
    assert_eq!(across, from(|i| i ^ 16));
    assert_eq!(run("ds_swizzle_b32 v1, v0 offset:swizzle(REVERSE,8)"), from(|i| i ^ 7));
    assert_eq!(run("ds_swizzle_b32 v1, v0 offset:swizzle(BROADCAST,4,2)"), from(|i| i & !3 | 2));
    assert_eq!(run("ds_swizzle_b32 v1, v0 offset:swizzle(QUAD_PERM,1,2,3,0)"), from(|i| i & !3 | (i + 1) & 3));
    let pulled = "v_sub_nc_u32 v2, 131, v0\nv_lshlrev_b32 v2, 2, v2\nds_bpermute_b32 v1, v2, v0";
    assert_eq!(run(&pulled.replace("131", "0x83")), from(|i| 31 - i));
    let pushed =
        "v_add_nc_u32 v2, 1, v0\nv_sub_nc_u32 v2, v2, 0x64\nv_lshlrev_b32 v2, 2, v2\nds_permute_b32 v1, v2, v0";
    let pushed = pushed.replace("v_sub_nc_u32 v2, v2, 0x64", "v_subrev_nc_u32 v2, 0x64, v2");
    assert_eq!(run(&pushed), from(|i| (i + 31) & 31));
}

#[test]
fn lanes_by_number() {
    let text = "v_readlane_b32 s0, v0, 5
        v_readfirstlane_b32 s1, v0
        s_mov_b32 exec_lo, 0xf0
        v_readfirstlane_b32 s2, v0
        s_mov_b32 exec_lo, 0
        v_readfirstlane_b32 s3, v0
        v_writelane_b32 v1, s2, 9
        s_mov_b32 exec_lo, -1
        v_mbcnt_lo_u32_b32 v2, -1, 0
        v_mbcnt_hi_u32_b32 v2, -1, v2";
    let Some(mut test) = Test::new("lanes_by_number", WaveSize::W32, text) else { return };
    test.v(0, |lane| 100 + lane as u32);
    test.run();
    assert_eq!([0, 1, 2, 3].map(|n| test.sgpr(n)), [105, 100, 104, 100]);
    assert_eq!(test.vgpr(1, 9), 104);
    assert_eq!(Some(test.row(2)), each(32, |i| i as u32));
    let wide = "v_mbcnt_lo_u32_b32 v1, s0, 0\nv_mbcnt_hi_u32_b32 v1, s1, v1";
    let Some(mut test) = Test::new("lanes_by_number", WaveSize::W64, wide) else { return };
    let mask = 0xf0f0_1234_8765_4321u64;
    test.s(0, mask as u32);
    test.s(1, (mask >> 32) as u32);
    test.run();
    assert_eq!(Some(test.row(1)), each(64, |i| (mask & ((1 << i) - 1)).count_ones()));
}
