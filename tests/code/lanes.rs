//! The checker's rules on lanes: where EXEC turns them off, they come back before they work, and a wave without lanes ends.

use crate::by_hand::{breaks, keeps};
use crate::link_support::compute;
use dovetail::check::CodeRule;

#[test]
fn lanes_come_back_before_they_work() {
    let test = "rules::lanes_come_back_before_they_work";
    let code = |mark: &str, [early, right]: [&str; 2]| {
        format!(
            "v_cmp_gt_u32 vcc_lo, 5, v0
            s_and_saveexec_b32 s12, vcc_lo
            {mark} s_cbranch_execz over
            v_add_nc_u32 v2, v0, v1
            {early}
            global_store_dword v2, v1, s[2:3]
            {right}
            s_or_b32 exec_lo, exec_lo, s12
            global_store_dword v1, v0, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &code("", ["", "over:"]));
    breaks(test, compute, CodeRule::Idle, &code(">", ["over:", ""]));
    // Iterates until no lane is left, and continues after that.
    let rounds = |mark: &str, after: &str| {
        format!(
            "s_mov_b32 s12, exec_lo
            round:
            v_readfirstlane_b32 s13, v0
            v_cmp_ne_u32 vcc_lo, s13, v0
            global_store_dword v1, v0, s[2:3]
            s_and_b32 exec_lo, exec_lo, vcc_lo
            {mark} s_cbranch_execnz round
            {after}
            global_store_dword v0, v1, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &rounds("", "s_mov_b32 exec_lo, s12"));
    breaks(test, compute, CodeRule::Idle, &rounds(">", "s_mov_b32 s13, s12"));
    // Overwritten in the same lanes, or in others.
    let replaced = |mark: &str, between: &str| {
        format!(
            "s_mov_b32 s12, exec_lo
            {mark} v_add_nc_u32 v2, v0, v1
            {between}
            v_sub_nc_u32 v2, v0, v1
            s_mov_b32 exec_lo, s12
            global_store_dword v0, v2, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &replaced("", "v_cmpx_gt_u32 5, v0"));
    breaks(test, compute, CodeRule::DeadResult, &replaced(">", ""));
}

#[test]
fn lanes_are_the_same_by_every_way() {
    let test = "rules::lanes_are_the_same_by_every_way";
    let store = "global_store_dword v0, v1, s[2:3]";
    // Depends on EXEC, and uses the result.
    let after = format!(
        "s_mov_b32 s12, exec_lo
        s_and_b32 s13, s12, 1
        s_cmp_eq_u32 s13, 1
        s_cbranch_scc1 end
        {store}
        end: s_endpgm"
    );
    // Some of the lanes take another path, and return at `over` or do not.
    let some = |restored: &str, over: &str| {
        format!(
            "s_mov_b32 s12, exec_lo
            v_cmpx_gt_u32 5, v0
            s_cbranch_execz over
            {store}
            {restored}
            {over} {after}"
        )
    };
    let restored = "s_or_b32 exec_lo, exec_lo, s12";
    keeps(test, compute, &some(&format!("over: {restored}"), ""));
    breaks(test, compute, CodeRule::Lanes, &some(restored, "over:\n>"));
    // One path, the other, and then all lanes.
    let both = |other: &str, joined: &str| {
        format!(
            "v_cmp_gt_u32 vcc_lo, 5, v0
            s_and_saveexec_b32 s12, vcc_lo
            s_xor_b32 s12, exec_lo, s12
            {store}
            {other}
            s_cbranch_execz joined
            {store}
            {joined}
            {after}"
        )
    };
    let others = ["s_andn2_saveexec_b32 s12, s12", "s_or_saveexec_b32 s12, s12\ns_xor_b32 exec_lo, exec_lo, s12"];
    for other in others {
        keeps(test, compute, &both(other, &format!("joined: {restored}")));
        breaks(test, compute, CodeRule::Lanes, &both(other, &format!("{restored}\njoined:\n>")));
    }
    // Lanes leave a loop one by one, and all are active after it.
    let rounds = |leave: &str| {
        format!(
            "s_mov_b32 s12, exec_lo
            v_cmpx_gt_u32 5, v0
            s_cbranch_execz over
            s_mov_b32 s14, 0
            v_mov_b32 v2, 0
            again:
            v_add_nc_u32 v2, v2, v0
            v_cmp_lt_u32 vcc_lo, 9, v2
            s_or_b32 s14, vcc_lo, s14
            s_andn2_b32 exec_lo, exec_lo, s14
            s_cbranch_execnz again
            s_or_b32 exec_lo, exec_lo, s14
            {store}
            {leave}
            {after}"
        )
    };
    keeps(test, compute, &rounds(&format!("over: {restored}")));
    breaks(test, compute, CodeRule::Lanes, &rounds(&format!("{restored}\nover:\n>")));
    // On one of two paths some lanes return: without others the wave would end. Or it would not, and they are missing.
    let returned = |branch: &str, mark: &str| {
        format!(
            "s_cmp_eq_u32 s2, 0
            s_cbranch_scc1 joined
            v_cmp_gt_u32 vcc_lo, 5, v0
            s_andn2_b32 exec_lo, exec_lo, vcc_lo
            {branch}
            {store}
            joined:
            {mark} v_add_nc_u32 v1, v0, v0
            {store}
            ended: s_endpgm"
        )
    };
    keeps(test, compute, &returned("s_cbranch_execz ended", ""));
    breaks(test, compute, CodeRule::Lanes, &returned("s_nop 0", ">"));
}

/// Lanes that wait in a mask for code further on are missing by design.
#[test]
fn lanes_may_wait_for_code_further_on() {
    let test = "rules::lanes_may_wait_for_code_further_on";
    let store = "global_store_dword v0, v1, s[2:3]";
    let waits = |condition: &str, wait: &str, mark: &str| {
        format!(
            "s_mov_b32 s14, 0
            s_cmp_eq_u32 s2, 0
            s_cbranch_scc1 joined
            {condition}
            s_andn2_b32 s13, exec_lo, s15
            {wait}
            s_and_b32 exec_lo, exec_lo, s15
            s_cbranch_execz late
            {store}
            joined:
            {mark} v_add_nc_u32 v1, v0, v0
            {store}
            late: s_or_b32 exec_lo, exec_lo, s14
            {store}
            s_endpgm"
        )
    };
    let some = "v_cmp_gt_u32 s15, 5, v0";
    keeps(test, compute, &waits(some, "s_or_b32 s14, s14, s13", ""));
    breaks(test, compute, CodeRule::Lanes, &waits(some, "s_mov_b32 s12, s13", ">"));
    // The mask in which they wait is kept in a lane of a vector register.
    keeps(
        test,
        compute,
        &format!(
            "s_mov_b32 s14, 0
            v_writelane_b32 v2, s14, 0
            s_cmp_eq_u32 s2, 0
            s_cbranch_scc1 joined
            {some}
            s_andn2_b32 s13, exec_lo, s15
            v_readlane_b32 s12, v2, 0
            s_or_b32 s13, s12, s13
            v_writelane_b32 v2, s13, 0
            s_and_b32 exec_lo, exec_lo, s15
            s_cbranch_execz late
            {store}
            joined: v_add_nc_u32 v1, v0, v0
            {store}
            late: v_readlane_b32 s14, v2, 0
            s_or_b32 exec_lo, exec_lo, s14
            {store}
            s_endpgm"
        ),
    );
    // All lanes or none leave.
    keeps(test, compute, &waits("s_cmp_eq_u32 s2, 2\ns_cselect_b32 s15, exec_lo, 0", "s_mov_b32 s12, s13", ""));
}

/// By the first branch no lane may be left, and the one whose lanes the latch restores is bypassed.
#[test]
fn a_wave_without_lanes_leaves_the_loop() {
    let test = "rules::a_wave_without_lanes_leaves_the_loop";
    let rounds = |cleared: &str, tested: &str, mark: &str| {
        format!(
            "s_mov_b32 s13, 0
            {cleared}
            again:
            s_cmp_eq_u32 s2, 0
            s_cbranch_scc1 out
            s_mov_b32 s12, 0
            v_add_nc_u32 v2, v0, v0
            v_cmp_gt_u32 vcc_lo, v2, v0
            s_and_b32 s14, exec_lo, vcc_lo
            s_or_b32 s13, s13, s14
            s_andn2_b32 exec_lo, exec_lo, vcc_lo
            s_cbranch_execz latch
            v_cmp_gt_u32 vcc_lo, 9, v0
            s_and_saveexec_b32 s12, vcc_lo
            s_cbranch_execz latch
            global_store_dword v0, v0, s[2:3]
            latch: s_or_b32 exec_lo, exec_lo, s12
            {tested}
            s_add_u32 s2, s2, 1
            {mark} s_branch again
            out: s_or_b32 exec_lo, exec_lo, s13
            global_store_dword v0, v0, s[2:3]
            s_endpgm"
        )
    };
    keeps(test, compute, &rounds("", "s_cbranch_execz out", ""));
    breaks(test, compute, CodeRule::EmptyLoop, &rounds("", "", ">"));
    // What waits is where the wave goes: it is not empty.
    keeps(test, compute, &rounds("", "s_or_b32 exec_lo, exec_lo, s13", ""));
}
