//! The priority around exports, on GPUs that ask for it ([`dovetail_isa::export_priority`]).

use super::code::{Code, Item};
use super::mir::Term;
use dovetail_isa::export_priority::{ExportRuns, Next};
use dovetail_isa::{Instruction, Op};

/// Lowers the priority after each run of exports. The code that `begins` the program raises it first, whether the exports are in
/// it or in an epilog; else a prolog did.
pub fn keep_priority(code: &mut Code, begins: bool) {
    let Some(runs) = ExportRuns::new(code.isa) else { return };
    code.rewrite(|code, n, items| {
        let block = &code.blocks[n];
        let mut runs = runs.clone();
        if n == 0 && begins {
            items.push(Item::new(runs.first()));
        }
        for item in code.items_of(block) {
            runs.pass(Next::Instruction(&item.inst), &mut |between| items.push(Item::new(between)));
            items.push(*item);
        }
        let end = Instruction::program(code.isa, Op::SEndpgm, 0);
        let next = if block.term == Term::End { Next::Instruction(&end) } else { Next::Unknown };
        runs.pass(next, &mut |between| items.push(Item::new(between)));
    });
}
