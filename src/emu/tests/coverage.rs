//! Instructions that the emulator does not execute: every instruction of the disassembler must run, except these.

use super::super::program::Step;
use super::*;
use dovetail_base::target::Gpu;
use dovetail_isa::Isa;
use std::collections::BTreeSet;

/// LLVM selects it only for an intrinsic that no lowering here emits.
const INTRINSIC: &str = "no operation of the IR becomes it";
/// It accesses state shared by all workgroups; the hardware's start order decides the result.
const GLOBAL: &str = "its result depends on other workgroups of the whole GPU";
/// SPIR-V's ray queries are refused.
const RAYS: &str = "there are no ray queries";
/// It is for trap handlers.
const DEBUGGER: &str = "without a trap handler it stops the wave";
/// It marks a place in the code.
const PADDING: &str = "it marks a place where no wave comes";

const NOT_DONE: &[(&str, &str)] = &[
    ("ds_condxchg32_rtn_b64", INTRINSIC),
    ("ds_gws_barrier", GLOBAL),
    ("ds_gws_init", GLOBAL),
    ("ds_gws_sema_br", GLOBAL),
    ("ds_gws_sema_p", GLOBAL),
    ("ds_gws_sema_release_all", GLOBAL),
    ("ds_gws_sema_v", GLOBAL),
    ("ds_ordered_count", GLOBAL),
    ("global_load_dword_addtid", INTRINSIC),
    ("global_store_dword_addtid", INTRINSIC),
    ("image_bvh64_intersect_ray", RAYS),
    ("image_bvh_intersect_ray", RAYS),
    ("image_gather4h", INTRINSIC),
    ("image_load_mip_pck", INTRINSIC),
    ("image_load_mip_pck_sgn", INTRINSIC),
    ("image_load_pck", INTRINSIC),
    ("image_load_pck_sgn", INTRINSIC),
    ("image_store_mip_pck", INTRINSIC),
    ("image_store_pck", INTRINSIC),
    ("s_cbranch_cdbgsys", DEBUGGER),
    ("s_cbranch_cdbgsys_and_user", DEBUGGER),
    ("s_cbranch_cdbgsys_or_user", DEBUGGER),
    ("s_cbranch_cdbguser", DEBUGGER),
    ("s_code_end", PADDING),
    ("s_endpgm_saved", DEBUGGER),
    ("s_rfe_b64", DEBUGGER),
    ("s_sendmsghalt", DEBUGGER),
    ("s_sethalt", DEBUGGER),
    ("s_setkill", DEBUGGER),
    ("s_subvector_loop_begin", INTRINSIC),
    ("s_subvector_loop_end", INTRINSIC),
    ("s_trap", DEBUGGER),
    ("s_version", PADDING),
    ("v_mqsad_pk_u16_u8", INTRINSIC),
    ("v_mqsad_u32_u8", INTRINSIC),
    ("v_msad_u8", INTRINSIC),
    ("v_mullit_f32", INTRINSIC),
    ("v_qsad_pk_u16_u8", INTRINSIC),
    ("v_swaprel_b32", INTRINSIC),
    ("v_trig_preop_f64", INTRINSIC),
];

#[test]
fn what_is_not_done_is_listed() {
    const EXAMPLES: &str = include_str!("../../../testdata/isa/opcodes-gfx1030.tsv");
    let examples = EXAMPLES.lines().skip(1).filter_map(|line| line.split('\t').nth(5));
    let usable = examples.filter(|text| !text.contains("Invalid register")).collect::<Vec<_>>().join("\n");
    let test = "what_is_not_done_is_listed";
    let Some(tool) = dovetail_testing::tool(test, "llvm-mc-19") else { return };
    // The assembler gives another meaning to a few examples; it says so and continues.
    let output = tool.output(&["-arch=amdgcn", "-mcpu=gfx1030", "-show-encoding"], usable.as_bytes());
    let code = encoded(&String::from_utf8(output.stdout).expect("text"));
    let words: Vec<u32> = code.chunks_exact(4).map(|word| access::number(word) as u32).collect();
    let (mut at, mut unknown, mut done) = (0, BTreeSet::new(), 0);
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let step = Step::new(
            Isa::of(Gpu::Gfx1030),
            dovetail_isa::disassemble(Isa::of(Gpu::Gfx1030), rest).expect("of the assembler"),
        );
        at += usize::from(step.dwords);
        if step.is_done() {
            done += 1;
        } else {
            let own = &rest[..usize::from(step.dwords)];
            let stopped = stop(own).expect("nothing is skipped over in silence");
            assert_eq!(stopped, step.inst.entry.mnemonic);
            unknown.insert(step.inst.entry.mnemonic);
        }
    }
    assert!(done > 1300, "{done}");
    assert_eq!(unknown.into_iter().collect::<Vec<_>>(), NOT_DONE.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

/// The feature that the error names when one instruction is run.
fn stop(words: &[u32]) -> Option<String> {
    let code: Vec<u8> = words.iter().chain(&[0xbf81_0000]).flat_map(|word| word.to_le_bytes()).collect();
    let error = Test::of(&code, WaveSize::W32).try_run().err()?;
    match error.kind() {
        dovetail_base::error::ErrorKind::Unsupported { feature, .. } => Some(feature.clone()),
        _ => None,
    }
}
