//! Present and missing waits: per counter, for results in order and out of order.

use super::*;

/// Returns the error of a program's run; `s[0:1]` and `s[4:7]` point to memory, `s[8:15]` is a sampled image,
/// `s[16:19]` its sampler.
fn refused(text: &str) -> Option<Option<String>> {
    let mut test = Test::new("waits", WaveSize::W32, text)?;
    let at = test.machine.alloc(1024).unwrap();
    for first in [0, 4] {
        test.s(first, at as u32);
        test.s(first + 1, (at >> 32) as u32);
    }
    test.s(6, 1024);
    test.s(7, 0x3101_4fac);
    for n in 8..20 {
        test.s(n, 0);
    }
    test.v(0, |_| 0);
    Some(test.try_run().err().map(|e| e.to_string()))
}

/// `before` then `after` fails at `after`'s last mnemonic with `reason`; with `wait` between, it runs.
fn check(before: &str, wait: &str, after: &str, reason: &str) {
    let Some(bad) = refused(&format!("{before}\n{after}")) else { return };
    let bad = bad.unwrap_or_else(|| panic!("{before}\n{after}: nothing was noticed"));
    let place = format!("{} at ", after.lines().last().and_then(|line| line.split_whitespace().next()).unwrap_or(""));
    assert!(bad.contains(reason) && bad.contains(place.trim_end_matches("_e32")), "{before}\n{after}: {bad}");
    let good = refused(&format!("{before}\n{wait}\n{after}"));
    assert_eq!(good, Some(None), "{before}\n{wait}\n{after}");
}

#[test]
fn vector_loads() {
    let load = "buffer_load_dwordx2 v[2:3], v0, s[4:7], 0 offen";
    let wait = "s_waitcnt vmcnt(0)";
    check(load, wait, "v_mov_b32 v9, v3", "v3 is read before buffer_load_dwordx2 at");
    check(load, wait, "v_mov_b32 v2, 0", "v2 is overwritten before buffer_load_dwordx2 at");
    check(load, wait, "v_readfirstlane_b32 s9, v3", "v3 is read before");
    check(load, wait, "buffer_store_dword v2, v0, s[4:7], 0 offen", "v2 is read before");
    check(load, wait, "ds_read_b32 v2, v0", "v2 is overwritten before");
    check("global_load_dword v2, v0, s[0:1]", wait, "v_add_f32 v3, v2, v2", "(vmcnt)");
    check("global_atomic_add v2, v0, v0, s[0:1] glc", wait, "v_mov_b32 v2, v2", "v2 is read before global_atomic_add");
    check("image_load v2, v0, s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_1D", wait, "v_mov_b32 v1, v2", "(vmcnt)");
    // The status dword comes after the data.
    check("buffer_load_dword v[2:3], v0, s[4:7], 0 offen tfe", wait, "v_mov_b32 v9, v3", "v3 is read");
}

#[test]
fn vector_loads_arrive_in_order() {
    let two = "buffer_load_dword v2, v0, s[4:7], 0 offen
        global_load_dword v3, v0, s[0:1]";
    check(two, "s_waitcnt vmcnt(1)", "v_mov_b32 v9, v2", "v2 is read before buffer_load_dword");
    check(
        &format!("{two}\ns_waitcnt vmcnt(1)"),
        "s_waitcnt vmcnt(0)",
        "v_mov_b32 v9, v3",
        "v3 is read before global_load",
    );
    // More loads than the counter can count, so the first has completed.
    let many = "buffer_load_dword v2, v0, s[4:7], 0 offen\n".to_owned()
        + &"buffer_load_dword v3, v0, s[4:7], 0 offen\n".repeat(62);
    check(&many, "s_waitcnt vmcnt(62)", "v_mov_b32 v9, v2", "v2 is read before");
    let more = format!("{many}\nbuffer_load_dword v3, v0, s[4:7], 0 offen\nv_mov_b32 v9, v2");
    assert_eq!(refused(&more).unwrap_or(None), None);
}

#[test]
fn loads_of_one_kind_may_share_a_destination() {
    let load = "buffer_load_dword v2, v0, s[4:7], 0 offen";
    assert_eq!(refused(&format!("{load}\n{load}")).unwrap_or(None), None);
    let sample = "image_sample_lz v2, v0, s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_1D";
    assert_eq!(refused(&format!("{sample}\n{sample}")).unwrap_or(None), None);
    check(load, "s_waitcnt vmcnt(0)", sample, "v2 is overwritten before buffer_load_dword");
    check(sample, "s_waitcnt vmcnt(0)", load, "v2 is overwritten before image_sample_lz");
    // The load's address register is still read.
    check(load, "s_waitcnt vmcnt(0)", "buffer_load_dword v2, v2, s[4:7], 0 offen", "v2 is read before");
}

#[test]
fn scalar_loads_arrive_in_any_order() {
    let two = "s_load_dword s20, s[0:1], 0x0
        s_load_dwordx2 s[22:23], s[0:1], 0x8";
    for after in ["s_mov_b32 s30, s20", "s_mov_b32 s23, 0", "v_mov_b32 v1, s22", "s_load_dword s20, s[0:1], 0x4"] {
        check(two, "s_waitcnt lgkmcnt(0)", after, "(lgkmcnt)");
        check(&format!("{two}\ns_waitcnt lgkmcnt(1)"), "s_waitcnt lgkmcnt(0)", after, "(lgkmcnt)");
    }
    check(
        "s_buffer_load_dword vcc_lo, s[4:7], 0x0",
        "s_waitcnt lgkmcnt(0)",
        "s_cbranch_vccz 0",
        "vcc_lo is read before",
    );
}

#[test]
fn lds_answers_in_order_but_not_with_others() {
    let two = "ds_read_b32 v2, v0\nds_read_b32 v3, v0 offset:4";
    check(two, "s_waitcnt lgkmcnt(1)", "v_mov_b32 v9, v2", "v2 is read before ds_read_b32");
    check(two, "s_waitcnt lgkmcnt(0)", "v_mov_b32 v9, v3", "v3 is read before ds_read_b32");
    check("ds_swizzle_b32 v2, v0 offset:0x401f", "s_waitcnt lgkmcnt(0)", "v_mov_b32 v9, v2", "ds_swizzle_b32");
    let mixed = "ds_read_b32 v2, v0\ns_load_dword s20, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)";
    check(mixed, "s_waitcnt lgkmcnt(0)", "v_mov_b32 v9, v2", "v2 is read before ds_read_b32");
    let message = "ds_read_b32 v2, v0\ns_sendmsg sendmsg(MSG_INTERRUPT)\ns_waitcnt lgkmcnt(1)";
    check(message, "s_waitcnt lgkmcnt(0)", "v_mov_b32 v9, v2", "v2 is read before ds_read_b32");
    // The constant is added to the register's value.
    check(two, "s_waitcnt_lgkmcnt null, 0x1", "v_mov_b32 v9, v2", "v2 is read");
    check("s_mov_b32 s20, 1\nds_read_b32 v2, v0", "s_waitcnt_lgkmcnt null, 0x0", "v_mov_b32 v9, v2", "v2 is read");
}

#[test]
fn a_flat_access_takes_both_waits() {
    let load = "v_mov_b32 v4, s0\nv_mov_b32 v5, s1\nflat_load_dword v2, v[4:5]";
    for half in ["s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)"] {
        let load = format!("{load}\n{half}");
        check(&load, "s_waitcnt vmcnt(0) lgkmcnt(0)", "v_mov_b32 v9, v2", "v2 is read before flat_load_dword");
    }
}

#[test]
fn exports_read_their_registers_late() {
    let export = "exp mrt0 v2, off, v4, off vm";
    check(export, "s_waitcnt expcnt(0)", "v_mov_b32 v4, 0", "v4 is overwritten before exp at");
    check(export, "s_waitcnt expcnt(0)", "s_mov_b32 exec_lo, 1", "exec_lo is overwritten before exp at");
    check(export, "s_waitcnt expcnt(0)", "v_cmpx_eq_u32 v0, v0", "exec_lo is overwritten");
    check("exp mrt0 v2, v2, v4, v4 compr", "s_waitcnt expcnt(0)", "v_mov_b32 v4, 0", "v4 is overwritten before exp at");
    // Registers that are not exported may change, and all may be read.
    assert_eq!(refused(&format!("{export}\nv_mov_b32 v3, v4\nv_mov_b32 v5, v2")).unwrap_or(None), None);
    let two = "exp param0 v2, off, off, off\nexp param1 v3, off, off, off";
    check(two, "s_waitcnt expcnt(1)", "v_mov_b32 v2, 0", "v2 is overwritten");
    let mixed = "exp param0 v2, off, off, off\nexp pos0 v3, off, off, off\ns_waitcnt expcnt(1)";
    check(mixed, "s_waitcnt expcnt(0)", "v_mov_b32 v2, 0", "v2 is overwritten");
}

#[test]
fn stores_have_read_their_registers() {
    let text = "buffer_store_dword v2, v0, s[4:7], 0 offen\nds_write_b32 v0, v3
        v_mov_b32 v2, 0\nv_mov_b32 v0, 0\nv_mov_b32 v3, 0\ns_mov_b32 s4, 0";
    assert_eq!(refused(text).unwrap_or(None), None);
}

/// Two waves: each stores, waits at the barrier, loads the other's bytes. `stores` writes v3 to byte v1, `loads` from
/// v2.
fn exchange(stores: &str, wait: &str, loads: &str) -> Option<Option<String>> {
    let text = format!("{stores}\n{wait}\ns_barrier\n{loads}");
    let mut test = Test::new("waits", WaveSize::W32, &text)?;
    let at = test.machine.alloc(1024).unwrap();
    test.s(0, at as u32);
    test.s(1, (at >> 32) as u32);
    let mut waves = vec![test.wave.clone(), test.wave.clone()];
    for (n, wave) in waves.iter_mut().enumerate() {
        for lane in 0..32u32 {
            wave.set_vgpr(Vgpr(1), 0, lane as usize, 128 * n as u32 + 4 * lane);
            wave.set_vgpr(Vgpr(2), 0, lane as usize, 128 * (1 - n as u32) + 4 * lane);
        }
    }
    let ran = test.machine.run_group(&mut waves, 1024, RunLimits::default(), &mut test.stats);
    Some(ran.err().map(|e| e.to_string()))
}

#[test]
fn what_waves_tell_each_other_is_waited_for() {
    let lds = ["ds_write_b32 v1, v3", "s_waitcnt lgkmcnt(0)", "ds_read_b32 v4, v2"];
    let memory = ["global_store_dword v1, v3, s[0:1]", "s_waitcnt_vscnt null, 0x0", "global_load_dword v4, v2, s[0:1]"];
    for ([stores, wait, loads], reason) in [(lds, "ds_write_b32 at"), (memory, "global_store_dword at")] {
        let Some(bad) = exchange(stores, "", loads) else { return };
        let bad = bad.unwrap_or_else(|| panic!("{stores}: nothing was noticed"));
        assert!(bad.contains(reason) && bad.contains("came to the barrier before"), "{bad}");
        assert_eq!(exchange(stores, wait, loads), Some(None));
        // A wave may load its own bytes, and after the next barrier with a wait also those of other waves.
        assert_eq!(exchange(stores, "", &loads.replace("v2", "v1")), Some(None));
        assert_eq!(exchange(stores, "", &format!("{wait}\ns_barrier\n{loads}")), Some(None));
    }
    let [stores, _, loads] = memory;
    assert!(exchange(stores, "s_waitcnt vmcnt(0) lgkmcnt(0) expcnt(0)", loads).flatten().is_some());
}
