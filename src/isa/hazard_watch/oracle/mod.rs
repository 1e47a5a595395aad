//! The rows against LLVM's hazard recogniser: short sequences, in which both must put the same instruction at the same
//! place.

mod pairs;

use super::{HazardWatch, RegisterWatch};
use crate::instruction::Fields;
use crate::{Instruction, Isa, Op, disassemble};
use dovetail_base::target::{Gpu, WaveSize};
use dovetail_testing as support;
use std::fmt::Write;

/// An instruction as LLVM's machine IR and as assembler text. `BRANCH` leaves the block.
type Line = (&'static str, &'static str);

const LOAD: Line = (
    "$vgpr1 = BUFFER_LOAD_DWORD_OFFEN $vgpr0, $sgpr0_sgpr1_sgpr2_sgpr3, $sgpr4, 0, 0, 0, implicit $exec",
    "buffer_load_dword v1, v0, s[0:3], s4 offen",
);
const STORE: Line = (
    "BUFFER_STORE_DWORD_OFFEN_exact $vgpr1, $vgpr0, $sgpr0_sgpr1_sgpr2_sgpr3, $sgpr4, 0, 0, 0, implicit $exec",
    "buffer_store_dword v1, v0, s[0:3], s4 offen",
);
const LDS: Line = ("$vgpr1 = DS_READ_B32 $vgpr0, 0, 0, implicit $m0, implicit $exec", "ds_read_b32 v1, v0");
const MOVE: Line = ("$sgpr0 = S_MOV_B32 0", "s_mov_b32 s0, 0");
const OTHER_MOVE: Line = ("$sgpr20 = S_MOV_B32 0", "s_mov_b32 s20, 0");
const MOVE_M0: Line = ("$m0 = S_MOV_B32 0", "s_mov_b32 m0, 0");
const MOVE_EXEC: Line = ("$exec = S_MOV_B64 7", "s_mov_b64 exec, 7");
const VECTOR: Line = ("$vgpr2 = V_ADD_U32_e32 $vgpr2, $vgpr2, implicit $exec", "v_add_nc_u32 v2, v2, v2");
const IDLE: Line = ("V_NOP_e32 implicit $exec", "v_nop");
const WAIT_ALL: Line = ("S_WAITCNT 0", "s_waitcnt 0");
const WAIT_STORES: Line = ("S_WAITCNT_VSCNT undef $sgpr_null, 0", "s_waitcnt_vscnt null, 0x0");
const SCALAR_LOAD: Line = ("$sgpr10 = S_LOAD_DWORD_IMM $sgpr2_sgpr3, 0, 0", "s_load_dword s10, s[2:3], null");
const SCALAR_LOAD_OVER: Line = ("$sgpr0 = S_LOAD_DWORD_IMM $sgpr12_sgpr13, 0, 0", "s_load_dword s0, s[12:13], null");
const READ_LANE: Line = ("$sgpr2 = V_READFIRSTLANE_B32 $vgpr0, implicit $exec", "v_readfirstlane_b32 s2, v0");
const COMPARE_EXEC: Line = (
    "V_CMPX_EQ_F32_nosdst_e32 $vgpr0, $vgpr1, implicit-def $exec, implicit $mode, implicit $exec",
    "v_cmpx_eq_f32 v0, v1",
);
const COMPARE: Line = ("$sgpr6_sgpr7 = V_CMP_EQ_U32_e64 $vgpr0, $vgpr1, implicit $exec", "v_cmp_eq_u32 s[6:7], v0, v1");
const PERMLANE: Line = (
    "$vgpr1 = V_PERMLANE16_B32_e64 0, $vgpr1, 0, $sgpr0, 0, $sgpr1, $vgpr1, 0, implicit $exec",
    "v_permlane16_b32 v1, v1, s0, s1",
);
const SAVE_EXEC: Line = ("$sgpr8_sgpr9 = S_MOV_B64 $exec", "s_mov_b64 s[8:9], exec");
const SOURCES_READ: Line = ("S_WAITCNT_DEPCTR 65507", "s_waitcnt_depctr 0xffe3");
const NOP: Line = ("S_NOP 0", "s_nop 0");
const BRANCH: Line = ("BRANCH", "s_branch 0");
const ATOMIC: Line = (
    "GLOBAL_ATOMIC_FMIN_SADDR $vgpr0, $vgpr1, $sgpr2_sgpr3, 0, 0, implicit $exec",
    "global_atomic_fmin v0, v1, s[2:3]",
);
const DENORM: Line = ("S_DENORM_MODE 3, implicit-def $mode, implicit $mode", "s_denorm_mode 3");

const CASES: &[&[Line]] = &[
    &[LOAD, MOVE],
    &[LOAD, MOVE_M0],
    &[LOAD, MOVE_EXEC],
    &[LOAD, OTHER_MOVE],
    &[LOAD, SCALAR_LOAD_OVER],
    &[LOAD, VECTOR, MOVE],
    &[LOAD, WAIT_ALL, MOVE],
    &[LOAD, SOURCES_READ, MOVE],
    &[LOAD, NOP, MOVE],
    &[LOAD, BRANCH, MOVE],
    &[STORE, MOVE],
    &[STORE, VECTOR, MOVE],
    &[LDS, MOVE_EXEC],
    &[LDS, MOVE],
    &[SCALAR_LOAD, READ_LANE],
    &[SCALAR_LOAD, OTHER_MOVE, READ_LANE],
    &[SCALAR_LOAD, NOP, READ_LANE],
    &[SCALAR_LOAD, WAIT_ALL, READ_LANE],
    &[SCALAR_LOAD, WAIT_STORES, READ_LANE],
    &[SCALAR_LOAD, VECTOR, READ_LANE],
    &[SCALAR_LOAD, COMPARE],
    &[COMPARE_EXEC, PERMLANE],
    &[COMPARE_EXEC, IDLE, PERMLANE],
    &[COMPARE_EXEC, VECTOR, PERMLANE],
    &[COMPARE_EXEC, NOP, PERMLANE],
    &[SAVE_EXEC, COMPARE_EXEC],
    &[SAVE_EXEC, VECTOR, COMPARE_EXEC],
    &[SAVE_EXEC, COMPARE, COMPARE_EXEC],
    &[LOAD, COMPARE_EXEC],
    &[LOAD, BRANCH, LDS],
    &[LDS, BRANCH, LOAD],
    &[LOAD, LDS],
    &[LOAD, BRANCH, WAIT_STORES, LDS],
    &[LOAD, WAIT_STORES, BRANCH, LDS],
    &[LOAD, VECTOR, BRANCH, VECTOR, LDS],
    &[ATOMIC, DENORM],
    &[ATOMIC, VECTOR, DENORM],
    &[ATOMIC, OTHER_MOVE, OTHER_MOVE, DENORM],
    &[ATOMIC, OTHER_MOVE, OTHER_MOVE, OTHER_MOVE, DENORM],
];

const RCP: Line = ("$vgpr1 = V_RCP_F32_e32 $vgpr0, implicit $mode, implicit $exec", "v_rcp_f32 v1, v0");
const OTHER_RCP: Line = ("$vgpr5 = V_RCP_F32_e32 $vgpr6, implicit $mode, implicit $exec", "v_rcp_f32 v5, v6");
const OVERWRITE: Line = ("$vgpr1 = V_MOV_B32_e32 0, implicit $exec", "v_mov_b32 v1, 0");
const SECOND: Line = ("$vgpr2 = V_MOV_B32_e32 0, implicit $exec", "v_mov_b32 v2, 0");
const UNRELATED: Line = ("$vgpr9 = V_MOV_B32_e32 0, implicit $exec", "v_mov_b32 v9, 0");
const READ: Line = ("$vgpr3 = V_ADD_U32_e32 $vgpr1, $vgpr1, implicit $exec", "v_add_nc_u32 v3, v1, v1");
const READ_BOTH: Line = ("$vgpr3 = V_ADD_U32_e32 $vgpr1, $vgpr2, implicit $exec", "v_add_nc_u32 v3, v1, v2");
const READ_LDS: Line = ("$vgpr9 = DS_READ_B32_gfx9 $vgpr8, 0, 0, implicit $exec", "ds_load_b32 v9, v8");
const RESULTS_WRITTEN: Line = ("S_WAITCNT_DEPCTR 4095", "s_waitcnt_depctr 0xfff");
const SCALARS_WRITTEN: Line = ("S_WAITCNT_DEPCTR 65534", "s_waitcnt_depctr 0xfffe");
const SELECT: Line = (
    "$vgpr1 = V_CNDMASK_B32_e64 0, $vgpr0, 0, $vgpr2, $sgpr6_sgpr7, implicit $exec",
    "v_cndmask_b32 v1, v0, v2, s[6:7]",
);
const SELECT_BY_VCC: Line =
    ("$vgpr1 = V_CNDMASK_B32_e32 $vgpr0, $vgpr2, implicit $vcc, implicit $exec", "v_cndmask_b32 v1, v0, v2, vcc");
const COMPARE_TO_VCC: Line =
    ("V_CMP_EQ_U32_e32 $vgpr8, $vgpr9, implicit-def $vcc, implicit $exec", "v_cmp_eq_u32 vcc, v8, v9");
const WRITE_MASK: Line = ("$sgpr6 = S_MOV_B32 0", "s_mov_b32 s6, 0");
const READ_MASK: Line = ("$sgpr20 = S_MOV_B32 $sgpr6", "s_mov_b32 s20, s6");
const VECTOR_READS_OTHER: Line = ("$vgpr9 = V_MOV_B32_e32 $sgpr20, implicit $exec", "v_mov_b32 v9, s20");
const VECTOR_READS_MASK: Line = ("$vgpr9 = V_MOV_B32_e32 $sgpr6, implicit $exec", "v_mov_b32 v9, s6");

/// Of gfx11. The later read of a mask follows its write at once: LLVM waits after the write, whatever comes.
const CASES_OF_REGISTERS: &[&[Line]] = &[
    &[COMPARE_EXEC, PERMLANE],
    &[COMPARE_EXEC, IDLE, PERMLANE],
    &[RCP, READ],
    &[RCP, UNRELATED, UNRELATED, UNRELATED, UNRELATED, UNRELATED, READ],
    &[RCP, UNRELATED, UNRELATED, UNRELATED, UNRELATED, UNRELATED, UNRELATED, READ],
    &[RCP, OTHER_RCP, READ],
    &[RCP, OTHER_RCP, OTHER_RCP, READ],
    &[RCP, OVERWRITE, READ],
    &[RCP, READ_LDS, READ],
    &[RCP, OTHER_MOVE, READ],
    &[RCP, RESULTS_WRITTEN, READ],
    &[RCP, SCALARS_WRITTEN, READ],
    &[RCP, BRANCH, READ],
    &[OVERWRITE, MOVE_EXEC, SECOND, READ_BOTH],
    &[OVERWRITE, SECOND, READ_BOTH],
    &[MOVE_EXEC, OVERWRITE, SECOND, READ_BOTH],
    &[OVERWRITE, SECOND, MOVE_EXEC, READ_BOTH],
    &[OVERWRITE, MOVE_EXEC, SECOND, MOVE_EXEC, READ_BOTH],
    &[OVERWRITE, UNRELATED, UNRELATED, MOVE_EXEC, SECOND, READ_BOTH],
    &[OVERWRITE, MOVE_EXEC, SECOND, UNRELATED, UNRELATED, UNRELATED, UNRELATED, READ_BOTH],
    &[OVERWRITE, MOVE_EXEC, SECOND, UNRELATED, UNRELATED, UNRELATED, UNRELATED, UNRELATED, READ_BOTH],
    &[OVERWRITE, MOVE_EXEC, SECOND, READ_LDS, READ_BOTH],
    &[OVERWRITE, MOVE_EXEC, SECOND, RESULTS_WRITTEN, READ_BOTH],
    &[OVERWRITE, MOVE_EXEC, BRANCH, SECOND, READ_BOTH],
    &[SELECT, WRITE_MASK, READ_MASK],
    &[SELECT, WRITE_MASK, VECTOR_READS_MASK],
    &[SELECT, COMPARE, READ_MASK],
    &[SELECT_BY_VCC, COMPARE_TO_VCC, SELECT_BY_VCC],
    &[SELECT, VECTOR_READS_OTHER, WRITE_MASK, READ_MASK],
    &[SELECT, VECTOR_READS_MASK, WRITE_MASK, READ_MASK],
    &[SELECT, BRANCH, WRITE_MASK, READ_MASK],
    &[WRITE_MASK, READ_MASK],
];

const LOAD_PARAMETER: Line =
    ("$vgpr1 = LDS_PARAM_LOAD 0, 0, 15, implicit $m0, implicit $exec", "lds_param_load v1, attr0.x wait_vdst:15");
const LOAD_OTHER_PARAMETER: Line =
    ("$vgpr7 = LDS_PARAM_LOAD 0, 0, 15, implicit $m0, implicit $exec", "lds_param_load v7, attr0.x wait_vdst:15");
const INTERPOLATE: Line = (
    "$vgpr8 = V_INTERP_P10_F32_inreg 0, $vgpr1, 0, $vgpr0, 0, $vgpr1, 0, 7, implicit $m0, implicit $exec, implicit $mode",
    "v_interp_p10_f32 v8, v1, v0, v1 wait_exp:7",
);
const LOAD_FROM_LDS: Line = ("$vgpr1 = DS_READ_B32_gfx9 $vgpr0, 0, 0, implicit $exec", "ds_load_b32 v1, v0");
const LOAD_BY_PARAMETER: Line = ("$vgpr9 = DS_READ_B32_gfx9 $vgpr1, 0, 0, implicit $exec", "ds_load_b32 v9, v1");
const LOAD_FROM_BUFFER: Line = (LOAD.0, "buffer_load_b32 v1, v0, s[0:3], s4 offen");
const STORE_IN_MEMORY: Line =
    ("GLOBAL_STORE_DWORD_SADDR $vgpr0, $vgpr1, $sgpr2_sgpr3, 0, 0, implicit $exec", "global_store_b32 v0, v1, s[2:3]");
const WAIT_FOR_LDS: Line = ("S_WAITCNT 64519", "s_waitcnt 0xfc07");
const EXPORT: Line =
    ("EXP 0, $vgpr2, undef $vgpr0, undef $vgpr0, undef $vgpr0, 0, 0, 1, implicit $exec", "exp mrt0 v2, off, off, off");
const DUAL: Line = (
    "$vgpr2, $vgpr1 = V_DUAL_MOV_B32_e32_X_MOV_B32_e32_gfx11 $vgpr4, $vgpr5, implicit $exec, implicit $exec",
    "v_dual_mov_b32 v2, v4 :: v_dual_mov_b32 v1, v5",
);

/// Of gfx11, for both wave sizes. Left out is where the rows differ on purpose: a transcendental near a load of a parameter whose
/// register nothing touches, and stores before an `s_waitcnt 0`.
const CASES_OF_PARAMETERS: &[&[Line]] = &[
    &[OVERWRITE, LOAD_PARAMETER],
    &[READ, LOAD_PARAMETER],
    &[INTERPOLATE, LOAD_PARAMETER],
    &[OVERWRITE, LOAD_OTHER_PARAMETER],
    &[OVERWRITE, UNRELATED, UNRELATED, LOAD_PARAMETER],
    &[OVERWRITE, UNRELATED, OTHER_MOVE, NOP, LOAD_PARAMETER],
    &[OVERWRITE, UNRELATED, READ, UNRELATED, LOAD_PARAMETER],
    &[OVERWRITE, BRANCH, UNRELATED, LOAD_PARAMETER],
    &[OVERWRITE, UNRELATED, LOAD_PARAMETER, UNRELATED, LOAD_PARAMETER],
    &[RCP, LOAD_PARAMETER],
    &[RCP, UNRELATED, UNRELATED, LOAD_PARAMETER],
    &[OVERWRITE, OTHER_RCP, UNRELATED, LOAD_PARAMETER],
    &[OVERWRITE, RESULTS_WRITTEN, UNRELATED, LOAD_PARAMETER],
    &[OVERWRITE, READ_LDS, UNRELATED, LOAD_PARAMETER],
    &[
        OVERWRITE,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        LOAD_PARAMETER,
    ],
    &[
        OVERWRITE,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        SECOND,
        LOAD_PARAMETER,
    ],
    &[LOAD_FROM_LDS, LOAD_PARAMETER],
    &[LOAD_BY_PARAMETER, LOAD_PARAMETER],
    &[LOAD_FROM_BUFFER, LOAD_PARAMETER],
    &[STORE_IN_MEMORY, LOAD_PARAMETER],
    &[STORE_IN_MEMORY, LOAD_OTHER_PARAMETER, LOAD_PARAMETER, LOAD_PARAMETER],
    &[LOAD_FROM_LDS, BRANCH, LOAD_PARAMETER],
    &[LOAD_FROM_LDS, UNRELATED, LOAD_PARAMETER],
    &[LOAD_FROM_LDS, IDLE, LOAD_PARAMETER],
    &[LOAD_FROM_LDS, OTHER_MOVE, LOAD_PARAMETER],
    &[LOAD_FROM_LDS, WAIT_ALL, LOAD_PARAMETER],
    &[LOAD_FROM_LDS, WAIT_FOR_LDS, LOAD_PARAMETER],
    &[STORE_IN_MEMORY, WAIT_STORES, LOAD_PARAMETER],
    &[LOAD_FROM_LDS, SOURCES_READ, LOAD_PARAMETER],
    &[LOAD_FROM_LDS, RESULTS_WRITTEN, LOAD_PARAMETER],
    &[OVERWRITE, LOAD_FROM_LDS, LOAD_PARAMETER],
];

/// The same, where there are exports without a change of the priority; and with dual instructions.
const CASES_OF_EXPORTS: &[&[Line]] = &[
    &[LOAD_FROM_LDS, EXPORT, LOAD_PARAMETER],
    &[OVERWRITE, EXPORT, UNRELATED, LOAD_PARAMETER],
    &[DUAL, LOAD_PARAMETER],
    &[OVERWRITE, DUAL, UNRELATED, LOAD_PARAMETER],
    &[LOAD_FROM_LDS, DUAL, LOAD_PARAMETER],
];

/// What is put before the n-th instruction, and what changes in it.
type Added = Vec<(usize, String)>;

fn machine_ir(cases: &[&[Line]]) -> String {
    // Of entry points, because nothing is known of what other functions follow.
    let mut text = "--- |\n".to_owned();
    for n in 0..cases.len() {
        let _ = writeln!(text, "  define amdgpu_cs void @c{n}() {{ ret void }}");
    }
    text.push_str("...\n");
    for (n, case) in cases.iter().enumerate() {
        let _ = write!(text, "---\nname: c{n}\nbody: |\n  bb.0:\n");
        if case.contains(&BRANCH) {
            text.push_str("    successors: %bb.1\n");
        }
        for (ir, _) in *case {
            let _ = match *ir {
                "BRANCH" => writeln!(text, "    S_BRANCH %bb.1\n  bb.1:"),
                line => writeln!(text, "    {line}"),
            };
        }
        text.push_str("    S_ENDPGM 0\n...\n");
    }
    text
}

/// What LLVM adds to each case.
fn theirs(output: &str, all: &[&[Line]]) -> Vec<Added> {
    let body = |case: &str| {
        let lines = case.split("body:").nth(1).unwrap_or_default().lines().skip(1).map(str::trim);
        lines
            .filter(|line| !line.is_empty() && !line.starts_with("bb.") && !line.starts_with("successors"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let cases = output.split("\nname:").skip(1).map(body);
    let added = |(lines, case): (Vec<String>, &&[Line])| {
        let (mut added, mut n) = (Added::new(), 0);
        for line in lines {
            let expected = case.get(n).map(|line| line.0.replace("BRANCH", "S_BRANCH %bb.1"));
            let (line, wait) = without_wait(&line);
            added.extend(wait.map(|wait| (n, wait)));
            if expected.is_some_and(|expected| spelled(&expected) == spelled(&line)) {
                n += 1;
            } else if !line.starts_with("S_ENDPGM") && line != "..." && line != "---" {
                added.push((n, short(&line)));
            }
        }
        assert_eq!(n, case.len(), "{case:?}");
        added
    };
    cases.zip(all).map(added).collect()
}

/// A line with the wait that all cases have, and the wait that it has instead.
fn without_wait(line: &str) -> (String, Option<String>) {
    const LOAD: &str = " = LDS_PARAM_LOAD 0, 0, ";
    let parts = line.split_once(LOAD).and_then(|(dst, rest)| Some((dst, rest.split_once(',')?)));
    match parts {
        Some((dst, (wait, rest))) if wait != "15" => (format!("{dst}{LOAD}15,{rest}"), Some(format!("wait {wait}"))),
        _ => (line.to_owned(), None),
    }
}

/// Without what LLVM adds when it prints.
fn spelled(line: &str) -> String {
    line.replace("undef ", "").replace("implicit-def $mode, implicit $mode", "").replace(" ", "")
}

/// Bits of the constant of `s_waitcnt_depctr` without a field: LLVM 22 sets them to 0, where LLVM 19 sets them to 1.
const UNUSED: u16 = 0x60;

/// An added instruction by its kind and constant.
fn short(line: &str) -> String {
    match line {
        line if line.contains("S_MOV_B32") && line.contains("sgpr_null") => "s_mov null".to_owned(),
        line if line.contains("V_MOV_B32") => "v_mov".to_owned(),
        line if line.starts_with("S_WAITCNT_VSCNT") => "vscnt".to_owned(),
        line => match line.strip_prefix("S_WAITCNT_DEPCTR ").and_then(|constant| constant.parse::<u16>().ok()) {
            Some(constant) => format!("depctr {}", constant | UNUSED),
            None => line.replace("S_NOP", "nop"),
        },
    }
}

fn ours(isa: &'static Isa, wave: WaveSize, code: &[Instruction]) -> Added {
    let mut watch = HazardWatch::new(isa, wave);
    let mut registers = RegisterWatch::new(isa, wave);
    let mut added = Added::new();
    for (n, inst) in code.iter().enumerate() {
        let mut add = |remedy: Instruction| added.push((n, named(&remedy)));
        watch.pass(inst, &mut add);
        let mut changed = *inst;
        registers.iter_mut().for_each(|registers| registers.pass(&mut changed, &mut add));
        if let (Fields::LdsDirect(f), true) = (changed.fields, changed != *inst) {
            added.push((n, format!("wait {}", f.wait)));
        }
    }
    added
}

fn named(remedy: &Instruction) -> String {
    let constant = match &remedy.fields {
        Fields::Scalar(f) => f.imm,
        _ => 0,
    };
    match remedy.entry.op {
        Op::SWaitcntDepctr => format!("depctr {}", constant | UNUSED),
        Op::SNop => format!("nop {constant}"),
        Op::SMovB32 => "s_mov null".to_owned(),
        Op::VMovB32 => "v_mov".to_owned(),
        Op::SWaitcntVscnt => "vscnt".to_owned(),
        op => format!("{op:?}"),
    }
}

const RECOGNIZER: &str = "post-RA-hazard-rec";

/// What both put before instructions, LLVM by this pass, over all cases and GPUs.
fn compared(
    test: &str,
    tools: [&'static str; 2],
    pass: &str,
    gpus: &[Gpu],
    wave: WaveSize,
    cases: &[&[Line]],
) -> Option<usize> {
    let [Some(llc), Some(mc)] = tools.map(|tool| support::tool(test, tool)) else { return None };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cases.mir");
    std::fs::write(&path, machine_ir(cases)).expect("written");
    let path = path.to_str().expect("a name");
    let mut some = 0;
    for &gpu in gpus {
        let (isa, cpu) = (Isa::of(gpu), format!("-mcpu={gpu}"));
        let mattr = match wave {
            WaveSize::W32 => "-mattr=+wavefrontsize32,-wavefrontsize64",
            WaveSize::W64 => "-mattr=-wavefrontsize32,+wavefrontsize64",
        };
        let args = ["-mtriple=amdgcn", &cpu, mattr, "-run-pass", pass, "-o", "-", path];
        let output = llc.output(&args, b"");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let theirs = theirs(&String::from_utf8(output.stdout).expect("text"), cases);
        assert_eq!(theirs.len(), cases.len());
        for (case, theirs) in cases.iter().zip(theirs) {
            let text: Vec<&str> = case.iter().map(|line| line.1).collect();
            let args = ["-arch=amdgcn", &cpu, mattr, "-show-encoding"];
            let listing = String::from_utf8(mc.output(&args, text.join("\n").as_bytes()).stdout).expect("text");
            let code: Vec<Instruction> = listing.lines().filter_map(encoding).map(|words| read(isa, &words)).collect();
            assert_eq!(code.len(), case.len(), "{text:?}\n{listing}");
            let ours = ours(isa, wave, &code);
            assert_eq!(ours, theirs, "{gpu}: {text:?}");
            some += ours.len();
        }
    }
    Some(some)
}

#[test]
fn llvm_keeps_the_same_instructions_apart() {
    let test = "hazard_watch::oracle::llvm_keeps_the_same_instructions_apart";
    let gpus = [Gpu::Gfx1010, Gpu::Gfx1012, Gpu::Gfx1013, Gpu::Gfx1030];
    let some = compared(test, ["llc-19", "llvm-mc-19"], RECOGNIZER, &gpus, WaveSize::W64, CASES);
    assert!(some.is_none_or(|some| some > 40), "{some:?}");
}

#[test]
fn llvm_keeps_the_same_instructions_of_gfx11_apart() {
    let test = "hazard_watch::oracle::llvm_keeps_the_same_instructions_of_gfx11_apart";
    let gpus = ["gfx1100", "gfx1102", "gfx1150"].map(|name| name.parse().expect("a GPU"));
    let some = compared(test, ["llc-22", "llvm-mc-22"], RECOGNIZER, &gpus, WaveSize::W64, CASES_OF_REGISTERS);
    assert!(some.is_none_or(|some| some > 40), "{some:?}");
}

#[test]
fn llvm_has_loads_of_parameters_wait_for_the_same() {
    let test = "hazard_watch::oracle::llvm_has_loads_of_parameters_wait_for_the_same";
    let tools = ["llc-22", "llvm-mc-22"];
    let gpus = ["gfx1100", "gfx1150"].map(|name| name.parse().expect("a GPU"));
    for wave in [WaveSize::W32, WaveSize::W64] {
        let some = compared(test, tools, RECOGNIZER, &gpus, wave, CASES_OF_PARAMETERS);
        assert!(some.is_none_or(|some| some > 40), "{some:?}");
    }
    let some = compared(test, tools, RECOGNIZER, &gpus[..1], WaveSize::W32, CASES_OF_EXPORTS);
    assert!(some.is_none_or(|some| some >= 3), "{some:?}");
}

fn read(isa: &'static Isa, words: &[u32]) -> Instruction {
    disassemble(isa, words).expect("of the assembler")
}

/// The dwords after `encoding: [`.
fn encoding(line: &str) -> Option<Vec<u32>> {
    let bytes = line.split_once("encoding: [")?.1.split(']').next()?;
    let byte = |text: &str| u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok();
    let bytes: Option<Vec<u32>> = bytes.split(',').map(byte).collect();
    Some(bytes?.chunks(4).map(|four| four.iter().rev().fold(0, |word, byte| word << 8 | byte)).collect())
}
