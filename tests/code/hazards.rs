//! Sequences that the hardware does not interlock: handwritten code in which the checker finds each, and none where
//! something ends it.

use crate::by_hand::{breaks, found, keeps};
use crate::link_support::{Unlinked, compute};
use dovetail::check::CodeRule;
use dovetail::target::{Gpu, WaveSize};

fn compute_of_gfx10_1() -> Unlinked {
    compute().on(Gpu::Gfx1010)
}

#[test]
fn the_hazards_of_gfx10_3() {
    let test = "hazards::the_hazards_of_gfx10_3";
    let atomic = |between: &str, mark: &str| {
        format!("global_atomic_fmin v0, v1, s[2:3]\n{between}\n{mark} s_denorm_mode 3\ns_endpgm")
    };
    breaks(test, compute, CodeRule::Hazard, &atomic("", ">"));
    breaks(test, compute, CodeRule::Hazard, &atomic("s_nop 1", ">"));
    keeps(test, compute, &atomic("s_nop 2", ""));
    keeps(test, compute, &atomic("v_nop", ""));
    let clause = |mark: &str, between: &str| {
        format!(
            "{mark} s_clause 0x1
            global_load_dword v2, v0, s[2:3]
            {between}
            global_load_dword v3, v0, s[2:3] offset:4
            s_waitcnt vmcnt(0)
            global_store_dwordx2 v0, v[2:3], s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &clause("", ""));
    breaks(test, compute, CodeRule::Clause, &clause(">", "s_waitcnt vmcnt(0)"));
}

/// Checks that hazards and clauses are found where the text says, and nowhere else. What is remarked besides, such as results
/// that nothing reads, does not matter.
#[track_caller]
fn only_hazards(test: &str, text: &str) {
    only_hazards_of(test, compute_of_gfx10_1, text);
}

#[track_caller]
fn only_hazards_of(test: &str, part: fn() -> Unlinked, text: &str) {
    let Some((found, bad)) = found(test, part, text) else { return };
    let hazards = found.iter().filter(|f| matches!(f.rule, CodeRule::Hazard | CodeRule::Clause));
    let places: Vec<u32> = hazards.map(|f| f.place.offset).collect();
    assert_eq!(places, Vec::from_iter(bad), "{text}");
}

/// Each row of gfx10.1, with and without what ends it. `@` marks where that goes, and the line that must be found.
#[test]
fn the_hazards_of_gfx10_1() {
    let test = "hazards::the_hazards_of_gfx10_1";
    let cases: &[(&str, &[&str], &[&str])] = &[
        // Code, what ends the hazard, what does not.
        (
            "global_load_dword v2, v0, s[2:3]
            @ s_mov_b32 s2, 0
            s_waitcnt vmcnt(0)
            s_endpgm",
            &["v_nop", "s_waitcnt vmcnt(0)", "s_waitcnt_depctr 0xffe3"],
            &["", "s_nop 7", "s_waitcnt lgkmcnt(0)", "s_waitcnt_vscnt null, 0x0"],
        ),
        (
            "global_store_dword v0, v0, s[2:3]
            @ s_load_dword s2, s[4:5], null
            s_waitcnt lgkmcnt(0)
            s_endpgm",
            &["v_nop", "s_waitcnt_vscnt null, 0x0", "s_waitcnt_depctr 0xffe3"],
            &["", "s_waitcnt vmcnt(0)"],
        ),
        (
            "ds_write_b32 v0, v0
            @ s_mov_b32 exec_lo, 1
            s_endpgm",
            &["v_nop", "s_waitcnt lgkmcnt(0)"],
            &["", "s_waitcnt vmcnt(0)"],
        ),
        (
            "s_load_dword s12, s[2:3], null
            @ v_readfirstlane_b32 s2, v0
            s_waitcnt lgkmcnt(0)
            s_endpgm",
            &["s_mov_b32 null, 0", "s_mov_b32 s13, 0", "s_waitcnt lgkmcnt(0)"],
            &["", "s_nop 0", "v_nop", "s_waitcnt vmcnt(0)"],
        ),
        (
            "v_mov_b32 v1, 0
            v_cmpx_eq_u32 v0, v1
            @ v_permlane16_b32 v1, v1, s2, s3
            s_endpgm",
            &["v_mov_b32 v1, v1"],
            &["", "v_nop", "s_nop 0"],
        ),
        (
            "s_mov_b32 s12, exec_lo
            @ v_cmpx_eq_u32 v0, v0
            s_endpgm",
            &["v_cmp_eq_u32 s13, v0, v0", "s_waitcnt_depctr 0xfffe"],
            &["", "v_nop"],
        ),
        (
            "global_load_dword v2, v0, s[2:3]
            s_branch next
            next:
            @ ds_write_b32 v0, v0
            s_waitcnt vmcnt(0)
            s_endpgm",
            &["s_waitcnt_vscnt null, 0x0"],
            &["", "v_nop", "s_waitcnt vmcnt(0)"],
        ),
        (
            "ds_write_b32 v0, v0
            s_branch next
            next:
            @ global_store_dword v0, v0, s[2:3]
            s_endpgm",
            &["s_waitcnt_vscnt null, 0x0"],
            &["", "s_waitcnt lgkmcnt(0)"],
        ),
        (
            "v_mov_b32 v1, 0
            v_writelane_b32 v1, s2, 0
            @ image_load v2, [v0, v1], s[4:11] dmask:0x1 dim:SQ_RSRC_IMG_2D
            s_waitcnt vmcnt(0)
            s_endpgm",
            &["s_nop 0"],
            &[""],
        ),
        // Nine addresses apart: an instruction of four dwords.
        (
            "image_sample_d v2, [v0, v1, v2, v3, v4, v5, v6, v7, v8], s[4:11], s[12:15] dmask:0x1 dim:SQ_RSRC_IMG_3D
            @ buffer_load_dword v3, off, s[4:7], 0 offset:4
            s_waitcnt vmcnt(0)
            s_endpgm",
            &["s_nop 0", "v_nop"],
            &[""],
        ),
    ];
    for (code, ends, does_not) in cases {
        let with = |between: &str, mark: &str| code.replacen('@', &format!("{between}\n{mark}"), 1);
        for between in *ends {
            only_hazards(test, &with(between, ""));
        }
        for between in *does_not {
            only_hazards(test, &with(between, ">"));
        }
    }
    // `s_cbranch_scc0` over so many instructions: the assembler itself would make it longer.
    let branch = |mark: &str, count: u32| {
        let word = 0xbf84_0000 | count;
        format!("s_cmp_eq_u32 s2, s3\n{mark} .long {word:#x}\n{}s_endpgm", "v_nop\n".repeat(count as usize))
    };
    only_hazards(test, &branch(">", 0x3f));
    only_hazards(test, &branch("", 0x40));
    keeps(test, compute, &branch("", 0x3f));
    let clause = |mark: &str| {
        format!(
            "v_mov_b32 v1, 0
            {mark} s_clause 0x1
            image_load v2, [v0, v1], s[4:11] dmask:0x1 dim:SQ_RSRC_IMG_2D
            image_load v3, [v0, v1], s[4:11] dmask:0x1 dim:SQ_RSRC_IMG_2D
            s_waitcnt vmcnt(0)
            s_endpgm"
        )
    };
    only_hazards(test, &clause(">"));
}

fn compute_of_gfx11() -> Unlinked {
    compute().on(Gpu::Gfx1100)
}

fn compute_of_gfx11_in_64() -> Unlinked {
    let mut part = compute_of_gfx11();
    part.interface.wave = WaveSize::W64;
    part
}

/// Each kind of gfx11, with and without what ends it, as above.
#[test]
fn the_hazards_of_gfx11() {
    let test = "hazards::the_hazards_of_gfx11";
    // Code, what ends the hazard, what does not, whether waves of 32 lanes have it.
    let cases: &[(&str, &[&str], &[&str], bool)] = &[
        (
            "v_rcp_f32 v1, v0
            @ v_add_f32 v2, v1, v0
            s_endpgm",
            &[
                "s_waitcnt_depctr 0xfff",
                "v_rcp_f32 v3, v0\nv_rcp_f32 v4, v0",
                "v_mov_b32 v3, 0\nv_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v3, 0\nv_mov_b32 v4, 0\nv_mov_b32 v5, 0",
                "ds_store_b32 v0, v0",
            ],
            &["", "s_nop 7", "v_rcp_f32 v3, v0", "s_waitcnt_depctr 0xfffe", "v_mov_b32 v3, 0\nv_mov_b32 v4, 0"],
            true,
        ),
        (
            "v_rcp_f32 v1, v0
            s_cmp_eq_u32 s2, s3
            s_cbranch_scc0 next
            v_mov_b32 v3, 0
            v_mov_b32 v4, 0
            v_mov_b32 v5, 0
            v_mov_b32 v6, 0
            v_mov_b32 v7, 0
            v_mov_b32 v8, 0
            next:
            @ v_add_f32 v2, v1, v0
            s_endpgm",
            &["s_waitcnt_depctr 0xfff"],
            &["", "s_nop 0"],
            true,
        ),
        (
            "v_mov_b32 v1, 0
            s_mov_b64 exec, 7
            v_mov_b32 v2, 0
            @ v_add_f32 v3, v1, v2
            s_endpgm",
            &[
                "s_waitcnt_depctr 0xfff",
                "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\nv_mov_b32 v8, 0",
            ],
            &["", "s_nop 7", "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0"],
            false,
        ),
        (
            "v_cndmask_b32 v1, v0, v0, s[2:3]
            s_mov_b32 s2, 0
            @ s_mov_b32 s12, s2
            s_endpgm",
            &["s_waitcnt_depctr 0xfffe"],
            &["", "s_nop 7", "s_waitcnt_depctr 0xfffd", "v_mov_b32 v4, s4"],
            false,
        ),
        (
            "v_cndmask_b32 v1, v0, v0, s[2:3]
            v_readfirstlane_b32 s3, v0
            @ v_mov_b32 v3, s3
            s_endpgm",
            &["s_waitcnt_depctr 0xf1ff"],
            &["", "s_waitcnt_depctr 0xfffe"],
            false,
        ),
        (
            "v_cmp_eq_u32 vcc, v0, v0
            v_cndmask_b32 v1, v0, v0, vcc
            v_cmp_ne_u32 vcc, v0, v0
            @ v_cndmask_b32 v2, v0, v0, vcc
            s_endpgm",
            &["s_waitcnt_depctr 0xfffd"],
            &["", "s_waitcnt_depctr 0xfffe", "s_waitcnt_depctr 0xf1ff"],
            false,
        ),
        // What a load of a parameter waits for itself: all vector instructions but one.
        (
            "v_mov_b32 v1, 0
            @ lds_param_load v1, attr0.x wait_vdst:1
            s_waitcnt expcnt(0)
            s_endpgm",
            &["v_mov_b32 v3, 0", "v_mov_b32 v3, 0\nv_mov_b32 v4, 0", "s_waitcnt_depctr 0xfff", "ds_store_b32 v0, v0"],
            &["", "s_nop 7", "v_rcp_f32 v3, v0", "s_waitcnt_depctr 0xffe3"],
            true,
        ),
        (
            "ds_store_b32 v0, v1
            @ lds_param_load v1, attr0.x wait_vdst:0
            s_waitcnt expcnt(0)
            s_endpgm",
            &["v_mov_b32 v3, 0", "s_waitcnt_depctr 0xffe3", "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"],
            &["", "s_nop 7", "s_waitcnt lgkmcnt(0)", "s_waitcnt_depctr 0xfff"],
            true,
        ),
    ];
    for (code, ends, does_not, narrow) in cases {
        let with = |between: &str, mark: &str| code.replacen('@', &format!("{between}\n{mark}"), 1);
        for between in *ends {
            only_hazards_of(test, compute_of_gfx11_in_64, &with(between, ""));
        }
        for between in *does_not {
            only_hazards_of(test, compute_of_gfx11_in_64, &with(between, ">"));
        }
        let one = if *narrow { ">" } else { "" };
        let narrowed = with("", one).replace("s_mov_b64 exec", "s_mov_b32 exec_lo").replace("s[2:3]", "s2");
        only_hazards_of(test, compute_of_gfx11, &narrowed.replace("vcc", "vcc_lo"));
    }
}
