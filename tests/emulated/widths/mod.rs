//! Instructions whose operands may have other widths than 32 bits, in all combinations that SPIR-V permits, against plain
//! functions written from the text of the specifications: on the emulator by every route, and interpreted.
//!
//! `table` has the instructions, `number` the types and halves, `module` writes SPIR-V and runs it; `images` are the operands
//! of image instructions.

mod images;
mod module;
mod number;
mod table;

use module::{Source, check};

fn all(test: &str, source: Source) {
    let mut wrong = Vec::new();
    for rows in table::rows().chunks(48) {
        match check(test, rows, source) {
            Some(found) => wrong.extend(found),
            None => return,
        }
    }
    assert!(wrong.is_empty(), "{} of all:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

#[test]
fn operands_that_differ_between_lanes() {
    all("widths::operands_that_differ_between_lanes", Source::Lanes);
}

#[test]
fn operands_that_all_lanes_share() {
    all("widths::operands_that_all_lanes_share", Source::Workgroups);
}

#[test]
fn a_last_operand_that_is_constant() {
    all("widths::a_last_operand_that_is_constant", Source::LastConstant);
}

#[test]
fn operands_that_are_all_constant() {
    all("widths::operands_that_are_all_constant", Source::AllConstant);
}
