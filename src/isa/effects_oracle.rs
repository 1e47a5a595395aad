//! Checks the model of effects against the disassembler: exactly the printed and the implied registers are read or
//! written.

use super::oracle::{self, JUDGES, Judge};
use super::{CountedAccess, Effects, Register, RegisterSet, Scalar, Vgpr, disassemble};
use crate::instruction::{Fields, Instruction};
use dovetail_base::target::WaveSize;

/// Instructions whose printed operands are not registers that they use.
const BY_NAME: [&str; 4] = ["s_subvector_loop_begin", "s_subvector_loop_end", "s_atc_probe", "s_atc_probe_buffer"];

/// Replacements for examples in the table that the assembler rejects, and examples of forms without one.
const MORE: &[&str] = &[
    "v_cndmask_b32_e64 v0, v1, v2, s4",
    "v_add_co_ci_u32_e64 v0, s4, v1, v2, s6",
    "v_sub_co_ci_u32_e64 v0, s4, v1, v2, s6",
    "v_subrev_co_ci_u32_e64 v0, s4, v1, v2, s6",
    "v_interp_p1_f32_e64 v0, v1, attr0.x",
    "v_interp_p2_f32_e64 v0, v1, attr0.x",
    "v_permlane16_b32 v0, v1, s2, s3",
    "v_permlanex16_b32 v0, v1, s2, s3",
    "v_readlane_b32 s0, v1, s2",
    "v_writelane_b32 v1, s0, s2",
    "v_readlane_b32 vcc_lo, v1, m0",
    "buffer_atomic_swap v1, v3, s[4:7], 0 offen glc",
    "global_atomic_add v1, v2, v3, s[4:5] glc",
    "image_sample_d v[0:3], [v5, v9, v11, v13, v15, v17], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D",
    "image_load v[0:1], v[2:3], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D d16",
    "image_load v[0:4], v[5:6], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D unorm tfe",
    "image_atomic_add v0, v[1:2], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm glc",
    "exp mrt0 v1, off, v3, off done vm",
    "exp mrt0 v1, v1, v2, v2 done compr vm",
    "v_add_f32_dpp v1, v2, v3 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf",
    "v_add_f32_sdwa v1, v2, s3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD",
    "v_cmp_lt_f32_sdwa s4, v2, v3 src0_sel:WORD_1 src1_sel:DWORD",
];

/// The same for gfx11.
const MORE_GFX11: &[&str] = &[
    "v_cndmask_b32_e64 v0, v1, v2, s4",
    "v_permlane16_b32 v0, v1, s2, s3",
    "v_readlane_b32 s0, v1, s2",
    "v_writelane_b32 v1, s0, s2",
    "v_readlane_b32 vcc_lo, v1, m0",
    "buffer_atomic_swap_b32 v1, v3, s[4:7], 0 offen glc",
    "global_atomic_add_u32 v1, v2, v3, s[4:5] glc",
    "scratch_load_b32 v1, v2, s3",
    "image_sample_d v[0:3], [v5, v9, v11, v13, v[15:16]], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D",
    "image_bvh64_intersect_ray v[4:7], [v[9:10], v12, v[14:16], v[20:22], v[30:32]], s[4:7]",
    "image_load v[0:4], v[5:6], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D unorm tfe",
    "exp mrt0 v1, off, v3, off done",
    "v_add_f16 v1.h, v2.l, v3.h",
    "v_add_f32_e64_dpp v1, v2, v3 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf",
    "v_dual_fmac_f32 v0, v1, v2 :: v_dual_cndmask_b32 v3, s4, v5",
    "v_dual_fmamk_f32 v0, s1, 0x1234, v2 :: v_dual_dot2acc_f32_f16 v5, v6, v7",
    "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0",
    "v_dual_lshlrev_b32 v0, v1, v2 :: v_dual_lshlrev_b32 v1, v4, v5",
];

/// One instruction per row, as the assembler encodes the disassembler's own example.
fn examples(judge: &Judge, test: &str) -> Option<Vec<Instruction>> {
    let isa = judge.isa();
    let examples = oracle::encoded_examples(judge, test, if judge.gpu == "gfx1030" { MORE } else { MORE_GFX11 })?;
    Some(examples.iter().map(|(text, words)| disassemble(isa, words).expect(text)).collect())
}

/// The registers that an operand names.
fn named(operand: &str, wave: WaveSize) -> RegisterSet {
    let mut set = RegisterSet::EMPTY;
    let words = operand.split(|c: char| !(c.is_ascii_alphanumeric() || "_[]:".contains(c)));
    for word in words {
        // A list of registers is also in brackets.
        let word = word.trim_start_matches('[');
        match word {
            "vcc" => set.mask(Register::VCC, WaveSize::W64),
            "vcc_lo" => set.insert(Register::VCC),
            "vcc_hi" => set.scalars(Scalar::VccHi, 1),
            "exec" => set.mask(Register::EXEC, WaveSize::W64),
            "exec_lo" => set.insert(Register::EXEC),
            "exec_hi" => set.insert(Register::EXEC_HI),
            "m0" => set.insert(Register::M0),
            "src_scc" => set.insert(Register::SCC),
            "src_vccz" => set.mask(Register::VCC, wave),
            "src_execz" => set.mask(Register::EXEC, wave),
            _ => {
                let Some(range) = word.strip_prefix(['v', 's']) else { continue };
                let range = range.trim_start_matches('[').trim_end_matches(']');
                let (first, last) = range.split_once(':').unwrap_or((range, range));
                let (Ok(first), Ok(last)) = (first.parse::<u8>(), last.parse::<u8>()) else { continue };
                if word.starts_with('v') {
                    set.vgprs(Vgpr(first), last - first + 1);
                } else {
                    (first..=last).for_each(|s| set.insert(Register::sgpr(s)));
                }
            }
        }
    }
    set
}

/// Registers that an instruction may use without naming them.
fn implied(inst: &Instruction) -> RegisterSet {
    let mut set = RegisterSet::EMPTY;
    set.mask(Register::EXEC, WaveSize::W64);
    set.insert(Register::SCC);
    set.insert(Register::M0);
    let name = inst.entry.mnemonic;
    if name.starts_with("v_div_fmas") || name.starts_with("s_cbranch_vcc") || name.starts_with("v_dual_fmac") {
        set.mask(Register::VCC, WaveSize::W64);
    }
    set
}

/// Operands; groups and lists stay whole.
fn operands(text: &str) -> Vec<&str> {
    let rest = text.split_once(' ').map_or("", |(_, rest)| rest);
    let (mut depth, mut start, mut out) = (0, 0, Vec::new());
    for (at, c) in rest.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                out.push(&rest[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(&rest[start..]);
    out
}

/// Errors in the model of an instruction.
fn wrong(judge: &Judge, inst: &Instruction, wave: WaveSize) -> Vec<String> {
    let text = inst.text(judge.isa(), wave);
    let Effects { reads, writes, access, .. } = inst.effects(wave);
    // The halves of a dual instruction are written after both were read.
    let halves: Vec<Vec<&str>> = text.split(" :: ").map(operands).collect();
    let dual = matches!(inst.fields, Fields::Dual(_));
    let results_first = halves.iter().map(|half| &half[0]).chain(halves.iter().flat_map(|half| &half[1..])).copied();
    let list: Vec<&str> = if dual { results_first.collect() } else { operands(&text) };
    let all = list.iter().fold(RegisterSet::EMPTY, |all, operand| all.union(&named(operand, wave)));
    let used = reads.union(&writes);
    let mut wrong = Vec::new();
    let mut none = |set: RegisterSet, what: &str| {
        if !set.is_empty() {
            wrong.push(format!("{text}: {set:?} {what}"));
        }
    };
    none(all.without(&used), "has no effect");
    none(used.without(&all).without(&implied(inst)), "is not named");
    let name = inst.entry.mnemonic;
    let results = match &inst.fields {
        Fields::Image(_) | Fields::Buffer(_) | Fields::Flat(_) => {
            usize::from(matches!(access, CountedAccess::VectorLoad(_) | CountedAccess::FlatLoad))
        }
        Fields::Dual(_) => 2,
        _ => inst.entry.dst.len(),
    };
    let (first, rest) = list.split_at(results.min(list.len()));
    let set = |list: &[&str]| list.iter().fold(RegisterSet::EMPTY, |all, one| all.union(&named(one, wave)));
    none(set(first).without(&writes), "is a result and not written");
    if !["v_swap", "v_cmpx"].iter().any(|start| name.starts_with(start)) {
        none(set(rest).without(&reads), "is a source and not read");
        none(writes.without(&set(first)).without(&implied(inst)), "is written beside the results");
    }
    wrong
}

#[test]
fn what_is_printed_has_an_effect_and_nothing_else_has() {
    for judge in &JUDGES {
        let examples = examples(judge, "what_is_printed_has_an_effect_and_nothing_else_has");
        let Some(examples) = examples else { continue };
        let judged: Vec<&Instruction> = examples.iter().filter(|i| !BY_NAME.contains(&i.entry.mnemonic)).collect();
        assert!(judged.len() > judge.usable, "{}", judged.len());
        let of = |wave: WaveSize| judged.iter().flat_map(move |inst| wrong(judge, inst, wave));
        let wrong: Vec<String> = of(WaveSize::W32).chain(of(WaveSize::W64)).collect();
        assert!(wrong.is_empty(), "{} {}:\n{}", judge.gpu, wrong.len(), wrong.join("\n"));
    }
}

/// Implied registers in the words of the instruction set: mnemonic, read, written.
#[test]
fn names_imply_what_the_instruction_set_says() {
    let Some(examples) = examples(&JUDGES[0], "names_imply_what_the_instruction_set_says") else { return };
    let find = |name: &str| {
        let inst = examples.iter().find(|inst| inst.entry.mnemonic == name);
        inst.unwrap_or_else(|| panic!("no example of {name}")).effects(WaveSize::W64)
    };
    let has = |set: &RegisterSet, names: &[&str]| {
        let text: Vec<String> = set.iter().map(|r| r.to_string()).collect();
        names.iter().all(|name| text.iter().any(|t| t == name))
    };
    let rows: [(&str, &[&str], &[&str]); 14] = [
        ("s_add_u32", &[], &["scc"]),
        ("s_addc_u32", &["scc"], &["scc"]),
        ("s_cselect_b32", &["scc"], &[]),
        ("s_and_saveexec_b64", &["exec_lo", "exec_hi"], &["exec_lo", "exec_hi", "scc"]),
        ("s_and_saveexec_b32", &["exec_lo"], &["exec_lo", "scc"]),
        ("s_cbranch_scc1", &["scc"], &[]),
        ("s_cbranch_vccz", &["vcc_lo", "vcc_hi"], &[]),
        ("s_cmp_eq_u32", &[], &["scc"]),
        ("v_cmpx_lt_f32", &["exec_lo"], &["exec_lo", "exec_hi"]),
        ("v_cndmask_b32", &["vcc_lo", "exec_lo"], &[]),
        ("v_div_fmas_f32", &["vcc_lo", "vcc_hi"], &[]),
        ("v_interp_p1_f32", &["m0", "exec_lo"], &[]),
        ("s_sendmsg", &["m0"], &[]),
        ("v_add_f32", &["exec_lo"], &[]),
    ];
    for (name, read, written) in rows {
        let effects = find(name);
        assert!(has(&effects.reads, read), "{name} reads {:?}", effects.reads);
        assert!(has(&effects.writes, written), "{name} writes {:?}", effects.writes);
    }
    let keeps_scc =
        ["s_mov_b32", "s_cselect_b32", "s_mul_i32", "s_bfm_b32", "s_pack_ll_b32_b16", "s_ff1_i32_b32", "s_brev_b32"];
    for name in keeps_scc {
        assert!(!find(name).writes.contains(Register::SCC), "{name}");
    }
    for name in ["v_fmac_f32", "v_interp_p2_f32", "s_bitset1_b32", "s_addk_i32", "s_cmov_b32", "v_dot2c_f32_f16"] {
        let effects = find(name);
        let both = effects.reads.intersection(&effects.writes);
        assert!(!both.is_empty(), "{name} changes its destination");
    }
    assert!(!find("v_readlane_b32").reads.contains(Register::EXEC));
    let accesses = [
        ("s_load_dword", CountedAccess::ScalarMemory),
        ("buffer_store_dword", CountedAccess::VectorStore),
        ("image_sample", CountedAccess::VectorLoad(super::VectorPath::Sampler)),
        ("image_load", CountedAccess::VectorLoad(super::VectorPath::Plain)),
        ("global_load_dword", CountedAccess::VectorLoad(super::VectorPath::Plain)),
        ("flat_load_dword", CountedAccess::FlatLoad),
        ("flat_store_dword", CountedAccess::FlatStore),
        ("ds_read_b32", CountedAccess::Lds),
        ("s_sendmsg", CountedAccess::Message),
        ("buffer_gl0_inv", CountedAccess::None),
    ];
    for (name, access) in accesses {
        assert_eq!(find(name).access, access, "{name}");
    }
}
