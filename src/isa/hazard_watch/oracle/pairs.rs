//! Pairs of scalar registers of gfx12, in waves of 64 lanes, whose masks are pairs. Left out is where the rows are stricter on
//! purpose: LLVM ends what is open by memory accesses. It also adds to a wait that is already there.

use super::*;

const READ_ODD: Line = ("$vgpr9 = V_MOV_B32_e32 $sgpr7, implicit $exec", "v_mov_b32 v9, s7");
const WRITE_ODD: Line = ("$sgpr7 = S_MOV_B32 0", "s_mov_b32 s7, 0");
const WRITE_BY_VECTOR: Line = ("$sgpr6 = V_READFIRSTLANE_B32 $vgpr0, implicit $exec", "v_readfirstlane_b32 s6, v0");
const WRITE_VCC: Line = ("$vcc = S_MOV_B64 7", "s_mov_b64 vcc, 7");
const READ_VCC: Line = ("$sgpr20 = S_MOV_B32 $vcc_lo", "s_mov_b32 s20, vcc_lo");
const BUFFER_READS: Line = (
    "$vgpr1 = BUFFER_LOAD_DWORD_VBUFFER_OFFEN $vgpr0, $sgpr0_sgpr1_sgpr2_sgpr3, $sgpr6, 0, 0, 0, implicit $exec",
    "buffer_load_b32 v1, v0, s[0:3], s6 offen",
);

const CASES: &[&[Line]] = &[
    &[VECTOR_READS_MASK, WRITE_MASK, READ_MASK],
    &[VECTOR_READS_MASK, WRITE_MASK, VECTOR_READS_MASK],
    &[VECTOR_READS_MASK, WRITE_MASK, READ_MASK, READ_MASK, VECTOR_READS_MASK],
    &[VECTOR_READS_OTHER, WRITE_MASK, READ_MASK],
    &[READ_ODD, WRITE_MASK, READ_MASK],
    &[VECTOR_READS_MASK, WRITE_ODD, READ_MASK],
    &[VECTOR_READS_MASK, WRITE_ODD, READ_ODD],
    &[WRITE_MASK, VECTOR_READS_MASK],
    &[WRITE_MASK, READ_MASK],
    &[VECTOR_READS_MASK, WRITE_BY_VECTOR, VECTOR_READS_MASK],
    &[VECTOR_READS_MASK, WRITE_BY_VECTOR, READ_MASK],
    &[VECTOR_READS_MASK, WRITE_BY_VECTOR, READ_MASK, VECTOR_READS_MASK],
    &[VECTOR_READS_MASK, WRITE_BY_VECTOR, WRITE_MASK, VECTOR_READS_MASK],
    &[VECTOR_READS_MASK, WRITE_MASK, WRITE_BY_VECTOR, VECTOR_READS_MASK],
    &[VECTOR_READS_MASK, WRITE_BY_VECTOR, WRITE_BY_VECTOR, VECTOR_READS_MASK],
    &[SELECT, COMPARE, SELECT],
    &[SELECT, COMPARE, READ_MASK],
    &[SELECT, WRITE_ODD, SELECT],
    &[SELECT_BY_VCC, COMPARE_TO_VCC, SELECT_BY_VCC],
    &[SELECT_BY_VCC, COMPARE_TO_VCC, READ_VCC],
    &[SELECT_BY_VCC, WRITE_VCC, SELECT_BY_VCC],
    &[SELECT_BY_VCC, WRITE_VCC, READ_VCC],
    &[SELECT, COMPARE, SELECT_BY_VCC, COMPARE_TO_VCC, SELECT, SELECT_BY_VCC],
    &[VECTOR_READS_MASK, WRITE_MASK, SCALARS_WRITTEN, READ_MASK],
    &[VECTOR_READS_MASK, WRITE_MASK, VECTOR, VECTOR, NOP, READ_MASK],
    &[VECTOR_READS_MASK, BRANCH, WRITE_MASK, READ_MASK],
    &[VECTOR_READS_MASK, WRITE_MASK, BRANCH, READ_MASK],
    &[VECTOR_READS_MASK, WRITE_MASK, BUFFER_READS],
    &[VECTOR_READS_MASK, MOVE_M0, MOVE_EXEC, VECTOR],
];

#[test]
fn llvm_waits_for_the_same_pairs() {
    let test = "hazard_watch::oracle::pairs::llvm_waits_for_the_same_pairs";
    let gpus = ["gfx1200", "gfx1201"].map(|name| name.parse().expect("a GPU"));
    let some = compared(test, ["llc-22", "llvm-mc-22"], "amdgpu-wait-sgpr-hazards", &gpus, WaveSize::W64, CASES);
    assert!(some.is_none_or(|some| some > 20), "{some:?}");
}
