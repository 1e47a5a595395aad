//! Which lanes run together, on shaders small enough to work out by hand from SPV_KHR_maximal_reconvergence.

use super::run;

/// Code that stores a word of this lane.
fn store(word: &str, n: u32) -> String {
    format!(
        "v{n}0: b32 = const 0x0\n v{n}1: b32 = const 0x4\n v{n}2: b32 = imul v1, v{n}1\n\
         v{n}3: b32x4 = descriptor[res0 buffer] v{n}0\n buffer_store[align4] v{n}3, v{n}2, {word}\n"
    )
}

/// `v3`: the lowest two bits of the index, so the same in every fourth lane. `v4`: 0, `v5`: 1, `v6`: true.
const START: &str =
    "v2: b32 = const 0x3\n v3: b32 = iand v1, v2\n v4: b32 = const 0x0\n v5: b32 = const 0x1\n v6: b1 = const 1\n";

/// The words of a workgroup at each subgroup size, with that size.
fn at_each_size(body: &str) -> Vec<(u32, Vec<u32>)> {
    [4, 8, 32, 64].map(|lanes| (lanes, run(&format!("{START}{body}"), lanes).unwrap())).to_vec()
}

#[test]
fn a_block_that_breaks_runs_in_its_iteration() {
    // for (k = 0;; k++) if (k == i % 4) { n = count(ballot(true)); break; }
    let body = "jump block1(v4)\nblock1(v7: b32): merge block4 continue block3\n\
         v8: b1 = ieq v7, v3\n branch v8, block2, block3\n\
         block2:\n v10: b64 = subgroup_ballot v6\n v11: b32 = bit_count v10\n jump block4(v11)\n\
         block3:\n v12: b32 = iadd v7, v5\n jump block1(v12)\n\
         block4(v9: b32):";
    for (lanes, counts) in at_each_size(body) {
        assert_eq!(counts, [lanes / 4; 64]);
    }
}

#[test]
fn a_block_that_returns_runs_in_its_iteration() {
    // for (k = 0; k < 3; k++) if (k == i % 4) { out = count(ballot(true)); return; }   out = count(ballot(true)) + 256;
    let body = format!(
        "v13: b32 = const 0x100\n jump block1(v4)\nblock1(v7: b32): merge block5 continue block4\n\
         v14: b1 = ult v7, v2\n branch v14, block2, block5\n\
         block2:\n v8: b1 = ieq v7, v3\n branch v8, block3, block4\n\
         block3:\n v10: b64 = subgroup_ballot v6\n v11: b32 = bit_count v10\n {} return\n\
         block4:\n v12: b32 = iadd v7, v5\n jump block1(v12)\n\
         block5:\n v15: b64 = subgroup_ballot v6\n v16: b32 = bit_count v15\n v9: b32 = iadd v16, v13",
        store("v11", 7)
    );
    for (lanes, counts) in at_each_size(&body) {
        assert!((0..64).all(|i| counts[i] == lanes / 4 + if i % 4 == 3 { 256 } else { 0 }), "{counts:?}");
    }
}

#[test]
fn an_inner_loop_that_returns_leaves_the_outer_iteration_to_the_others() {
    // for (k = 0; k < 2; k++) for (j = 0; j < 2; j++) if (2 * k + j == i % 4 && i % 4 != 3) { out = count; return; }
    // The three quarters leave one by one, the last lanes reach the end.
    let body = format!(
        "v17: b32 = const 0x2\n jump block1(v4)\n\
         block1(v7: b32): merge block9 continue block8\n v14: b1 = ult v7, v17\n branch v14, block2, block9\n\
         block2:\n jump block3(v4)\n\
         block3(v20: b32): merge block7 continue block6\n v21: b1 = ult v20, v17\n branch v21, block4, block7\n\
         block4:\n v22: b32 = iadd v7, v7\n v23: b32 = iadd v22, v20\n v24: b1 = ieq v23, v3\n v25: b1 = ult v23, v2\n\
         v26: b1 = iand v24, v25\n branch v26, block5, block6\n\
         block5:\n v10: b64 = subgroup_ballot v6\n v11: b32 = bit_count v10\n {} return\n\
         block6:\n v27: b32 = iadd v20, v5\n jump block3(v27)\n\
         block7:\n jump block8\n\
         block8:\n v12: b32 = iadd v7, v5\n jump block1(v12)\n\
         block9:\n v15: b64 = subgroup_ballot v6\n v9: b32 = bit_count v15",
        store("v11", 7)
    );
    for (lanes, counts) in at_each_size(&body) {
        assert_eq!(counts, [lanes / 4; 64]);
    }
}

#[test]
fn a_switch_in_a_loop_is_left_in_three_ways() {
    // for (k = 0;; k++) {
    //   switch (i % 4 + k) { case 0: continue; case 1: break; case 2: out = count(ballot(true)); return; default: break; }
    //   n = count(ballot(true)); if (i % 4 + k != 1) break;
    // }
    // out = n + 16 * count(ballot(true));
    // k = 0: a quarter each: 0 continues; 2 returns, alone; 1 and 3 meet behind the switch as two quarters, and 3 leaves.
    // k = 1: 0 is at case 1 and alone behind the switch; 1 is at case 2 and returns, alone.
    // k = 2: 0 returns, alone. Behind the loop is only 3, which was with 1.
    let body = format!(
        "v13: b32 = const 0x10\n jump block1(v4)\n\
         block1(v7: b32): merge block7 continue block6\n jump block2\n\
         block2: merge block5\n v14: b32 = iadd v3, v7\n\
         switch v14, 0: block6, 1: block3, 2: block4, default: block5\n\
         block3:\n jump block5\n\
         block4:\n v10: b64 = subgroup_ballot v6\n v11: b32 = bit_count v10\n {} return\n\
         block5:\n v15: b64 = subgroup_ballot v6\n v16: b32 = bit_count v15\n v17: b1 = ieq v14, v5\n\
         branch v17, block6, block7(v16)\n\
         block6:\n v12: b32 = iadd v7, v5\n jump block1(v12)\n\
         block7(v18: b32):\n v19: b64 = subgroup_ballot v6\n v20: b32 = bit_count v19\n v21: b32 = imul v20, v13\n\
         v9: b32 = iadd v21, v18",
        store("v11", 7)
    );
    for (lanes, counts) in at_each_size(&body) {
        let quarter = lanes / 4;
        let wanted = |i: usize| if i % 4 == 3 { 2 * quarter + 16 * quarter } else { quarter };
        assert!((0..64).all(|i| counts[i] == wanted(i)), "{counts:?}");
    }
}

#[test]
fn lanes_wait_for_those_that_fall_into_their_case() {
    // switch (i % 4) { case 0: case 1: fall through; case 2: n = count(ballot(true)); default: }
    let body = "jump block1\nblock1: merge block4\n switch v3, 0: block2, 1: block2, 2: block3, default: block4(v4)\n\
         block2:\n v7: b64 = subgroup_ballot v6\n v8: b32 = bit_count v7\n jump block3\n\
         block3:\n v10: b64 = subgroup_ballot v6\n v11: b32 = bit_count v10\n jump block4(v11)\n\
         block4(v9: b32):";
    for (lanes, counts) in at_each_size(body) {
        assert!((0..64).all(|i| counts[i] == if i % 4 == 3 { 0 } else { 3 * lanes / 4 }), "{counts:?}");
    }
}

#[test]
fn iterations_are_apart_where_nothing_is_behind_the_loop() {
    // for (k = 0;; k++) if (k == i % 4) { out = count(ballot(true)); return; }
    let body = format!(
        "jump block1(v4)\nblock1(v7: b32): merge block4 continue block3\n\
         v8: b1 = ieq v7, v3\n branch v8, block2, block3\n\
         block2:\n v10: b64 = subgroup_ballot v6\n v11: b32 = bit_count v10\n {} return\n\
         block3:\n v12: b32 = iadd v7, v5\n jump block1(v12)\n\
         block4:\n v9: b32 = const 0x0",
        store("v11", 7)
    );
    for (lanes, counts) in at_each_size(&body) {
        assert_eq!(counts, [lanes / 4; 64]);
    }
}

#[test]
fn lanes_of_an_iteration_wait_for_each_other_where_it_continues() {
    // for (k = 0; k < 4; k++) { if (k == i % 4) continue; if (k == 3) continue;  fall out of the body }   count where it
    // continues: all of them, four times.
    let body = "v13: b32 = const 0x4\n jump block1(v4, v4)\n\
         block1(v7: b32, v8: b32): merge block6 continue block5\n v14: b1 = ult v7, v13\n branch v14, block2, block6\n\
         block2:\n v15: b1 = ieq v7, v3\n branch v15, block5, block3\n\
         block3:\n v16: b1 = ieq v7, v2\n branch v16, block5, block4\n\
         block4:\n jump block5\n\
         block5:\n v10: b64 = subgroup_ballot v6\n v11: b32 = bit_count v10\n v12: b32 = iadd v7, v5\n\
         v17: b32 = iadd v8, v11\n jump block1(v12, v17)\n\
         block6:\n v9: b32 = iadd v8, v4";
    for (lanes, counts) in at_each_size(body) {
        assert_eq!(counts, [4 * lanes; 64]);
    }
}

#[test]
fn each_key_of_a_histogram_is_counted_once_by_its_own_lanes() {
    // for (;;) { s = broadcastFirst(i % 4); if (s == i % 4) { n = count(ballot(true)); if (elect()) add n to word s; break; } }
    // Then every lane reads word i % 4, and stores it after the words that were counted.
    let body = "v13: b32 = const 0x4\n v30: b32x4 = descriptor[res0 buffer] v4\n jump block1\n\
         block1: merge block6 continue block5\n v7: b32 = subgroup_broadcast_first v3\n v8: b1 = ieq v7, v3\n\
         branch v8, block2, block5\n\
         block2: merge block4\n v10: b64 = subgroup_ballot v6\n v11: b32 = bit_count v10\n v12: b1 = subgroup_elect\n\
         branch v12, block3, block4\n\
         block3:\n v14: b32 = imul v7, v13\n v15: b32 = buffer_atomic[iadd] v30, v14, v11\n jump block4\n\
         block4:\n jump block6\n\
         block5:\n jump block1\n\
         block6:\n v16: b32 = imul v3, v13\n v9: b32 = buffer_load[storage align4] v30, v16";
    // The last subgroup reads what all have added, but for what was overwritten by results before it.
    assert_eq!(run(&format!("{START}{body}"), 64).unwrap(), [16; 64]);
}
