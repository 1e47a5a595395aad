//! Text of `s_delay_alu`: which earlier instructions the next ones depend on.

use std::fmt::Write;

const DEPENDENCIES: [&str; 12] = [
    "NO_DEP",
    "VALU_DEP_1",
    "VALU_DEP_2",
    "VALU_DEP_3",
    "VALU_DEP_4",
    "TRANS32_DEP_1",
    "TRANS32_DEP_2",
    "TRANS32_DEP_3",
    "FMA_ACCUM_CYCLE_1",
    "SALU_CYCLE_1",
    "SALU_CYCLE_2",
    "SALU_CYCLE_3",
];
const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];

/// The constant: the first dependence in bits 0 to 3, how many instructions later the second one applies in bits 4 to 6,
/// and that in bits 7 to 10.
pub(super) fn delay(imm: u16) -> String {
    let mut out = String::new();
    let mut put = |name: &str, names: &[&str], number: u16| {
        if number != 0 {
            let separator = if out.is_empty() { "" } else { " | " };
            let value = names.get(usize::from(number)).copied().unwrap_or("/* invalid */");
            let _ = write!(out, "{separator}{name}({value})");
        }
    };
    put("instid0", &DEPENDENCIES, imm & 15);
    put("instskip", &SKIPS, imm >> 4 & 7);
    put("instid1", &DEPENDENCIES, imm >> 7 & 15);
    if out.is_empty() { "0".to_owned() } else { out }
}
