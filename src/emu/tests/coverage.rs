//! Which instructions the emulator does not execute: all that the disassembler knows, but these.

use super::super::program::Step;
use super::*;
use std::collections::BTreeSet;

const NOT_DONE: &[&str] = &[
    "ds_condxchg32_rtn_b64",
    "ds_gws_barrier",
    "ds_gws_init",
    "ds_gws_sema_br",
    "ds_gws_sema_p",
    "ds_gws_sema_release_all",
    "ds_gws_sema_v",
    "ds_ordered_count",
    "global_load_dword_addtid",
    "global_store_dword_addtid",
    "image_bvh64_intersect_ray",
    "image_bvh_intersect_ray",
    "image_gather4h",
    "image_load_mip_pck",
    "image_load_mip_pck_sgn",
    "image_load_pck",
    "image_load_pck_sgn",
    "image_store_mip_pck",
    "image_store_pck",
    "s_cbranch_cdbgsys",
    "s_cbranch_cdbgsys_and_user",
    "s_cbranch_cdbgsys_or_user",
    "s_cbranch_cdbguser",
    "s_code_end",
    "s_endpgm_saved",
    "s_rfe_b64",
    "s_sendmsghalt",
    "s_sethalt",
    "s_setkill",
    "s_subvector_loop_begin",
    "s_subvector_loop_end",
    "s_trap",
    "s_version",
    "v_mqsad_pk_u16_u8",
    "v_mqsad_u32_u8",
    "v_msad_u8",
    "v_mullit_f32",
    "v_qsad_pk_u16_u8",
    "v_swaprel_b32",
    "v_trig_preop_f64",
];

#[test]
fn what_is_not_done_is_listed() {
    const EXAMPLES: &str = include_str!("../../../testdata/isa/opcodes-gfx1030.tsv");
    let examples = EXAMPLES.lines().skip(1).filter_map(|line| line.split('\t').nth(5));
    let usable = examples.filter(|text| !text.contains("Invalid register")).collect::<Vec<_>>().join("\n");
    let test = "what_is_not_done_is_listed";
    let Some(tool) = crate::isa::oracle::support::tool(test, "llvm-mc-19") else { return };
    // A few examples mean something else to the assembler, which says so and goes on.
    let output = tool.output(&["-arch=amdgcn", "-mcpu=gfx1030", "-show-encoding"], usable.as_bytes());
    let code = encoded(&String::from_utf8(output.stdout).expect("text"));
    let words: Vec<u32> = code.chunks_exact(4).map(|word| access::number(word) as u32).collect();
    let (mut at, mut unknown, mut done) = (0, BTreeSet::new(), 0);
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let step = Step::new(crate::isa::disassemble(GfxIp::Gfx1030, rest).expect("of the assembler"));
        at += usize::from(step.inst.dwords);
        if step.is_done() {
            done += 1;
        } else {
            unknown.insert(step.inst.entry.mnemonic);
        }
    }
    assert!(done > 1300, "{done}");
    assert_eq!(unknown.into_iter().collect::<Vec<_>>(), NOT_DONE);
}
