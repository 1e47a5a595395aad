//! Keeps instructions apart that the hardware does not interlock ([`dovetail_isa::Hazard`]).
//!
//! Runs after the waits, which end most hazards, and before clauses are formed. A hazard is rare: where its first
//! instruction is anywhere in the code, each of its second ones gets all wait states.

use super::code::{Code, Item};
use dovetail_base::workspace::List;
use dovetail_isa::{Hazard, Instruction, Op};
use std::ops::Range;

/// Adds the wait states.
pub fn separate(code: &mut Code) {
    for hazard in code.isa.hazards {
        let has = |matches: &dyn Fn(&Instruction) -> bool| code.items.iter().any(|item| matches(&item.inst));
        if has(&|inst| inst.entry.is(hazard.first)) && has(&|inst| inst.entry.op == hazard.second) {
            delay(code, hazard);
        }
    }
}

fn delay(code: &mut Code, hazard: &Hazard) {
    let states = u16::from(hazard.states.saturating_sub(1));
    let mut items = List::default();
    let mut ranges = List::<Range<usize>>::default();
    for block in &code.blocks {
        let first = items.len();
        for item in code.items_of(block) {
            if item.inst.entry.op == hazard.second {
                items.push(Item::new(Instruction::program(code.isa, Op::SNop, states)));
            }
            items.push(*item);
        }
        ranges.push(first..items.len());
    }
    code.blocks.iter_mut().zip(ranges.drain(..)).for_each(|(block, range)| block.items = range);
    code.items = items;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::CodeBlock;
    use crate::mir::Term;
    use dovetail_base::target::{Gpu, WaveSize};
    use dovetail_isa::instruction::{CachePolicy, Fields, FlatFields};
    use dovetail_isa::{Isa, Vgpr};

    #[test]
    fn a_change_of_the_denormal_mode_waits_for_float_atomics_and_for_nothing_else() {
        let isa = Isa::of(Gpu::Gfx1030);
        let [dst, addr, data] = [Vgpr(2), Vgpr(0), Vgpr(2)];
        let cache = CachePolicy::default();
        let fields = FlatFields { dst, addr, data, saddr: None, no_vaddr: false, offset: 0, lds: false, cache };
        let text = |atomic: Op| {
            let atomic = Instruction::new(isa, atomic, Fields::Flat(fields));
            let items = [atomic, Instruction::program(isa, Op::SDenormMode, 3)].map(Item::new).to_vec();
            let blocks = vec![CodeBlock { items: 0..items.len(), term: Term::End }].into();
            let mut code = Code { isa, wave: WaveSize::W32, blocks, items: items.into() };
            separate(&mut code);
            assert_eq!(code.blocks[0].items, 0..code.items.len());
            code.items[1..].iter().map(|item| item.inst.text(isa, WaveSize::W32)).collect::<Vec<_>>()
        };
        assert_eq!(text(Op::GlobalAtomicFmin), ["s_nop 2", "s_denorm_mode 3"]);
        assert_eq!(text(Op::GlobalAtomicAdd), ["s_denorm_mode 3"]);
    }
}
