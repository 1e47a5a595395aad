//! Keeps instructions apart that the hardware does not interlock ([`dovetail_isa::Hazard`]).
//!
//! Runs after the waits, which end most hazards, and before clauses are formed. What may be open flows forwards along the
//! wave's edges to a fixed point; then each instruction gets what it needs in front of it. Nothing is open where the code
//! begins: a prolog ends what it began, but for results in the registers that it fills. Nor is anything about registers open where
//! an epilog follows.

use super::code::{Code, CodeBlock, Item, Open};
use super::mir::Term;
use dovetail_base::workspace::filled;
use dovetail_isa::{HazardWatch, Instruction, Op, RegisterSet, RegisterWatch};

/// Adds what is missing between instructions. A prolog has filled some registers.
pub fn separate(code: &mut Code, filled: &RegisterSet) {
    let watch = HazardWatch::new(code.isa, code.wave);
    if watch.concerns(code.items.iter().map(|item| &item.inst)) {
        follow(code, watch);
    }
    if let Some(mut watch) = RegisterWatch::of_code(code.isa, code.wave, code.items.iter().map(|item| &item.inst)) {
        watch.follows(filled);
        follow(code, watch);
    }
}

/// What may be open at a place.
trait Follow: Clone {
    /// Passes an instruction, which may change, and what has to be put before it, which goes to `out`.
    fn pass(&mut self, inst: &mut Instruction, out: &mut impl FnMut(Instruction));
    /// Ends what an epilog must not find open.
    fn settle(&mut self, out: &mut impl FnMut(Instruction));
    /// Adds what may be open on another way to the same place; returns true if that changed this one.
    fn join(&mut self, other: &Self) -> bool;
}

impl Follow for HazardWatch {
    fn pass(&mut self, inst: &mut Instruction, out: &mut impl FnMut(Instruction)) {
        self.pass(inst, out);
    }

    fn settle(&mut self, _out: &mut impl FnMut(Instruction)) {}

    fn join(&mut self, other: &Self) -> bool {
        self.state.join(&other.state)
    }
}

impl Follow for RegisterWatch {
    fn pass(&mut self, inst: &mut Instruction, out: &mut impl FnMut(Instruction)) {
        self.pass(inst, out);
    }

    fn settle(&mut self, out: &mut impl FnMut(Instruction)) {
        self.settle(out);
    }

    fn join(&mut self, other: &Self) -> bool {
        self.join(other)
    }
}

fn follow(code: &mut Code, watch: impl Follow) {
    let mut before = solve(code, &watch);
    code.rewrite(|code, n, items| {
        let block = &code.blocks[n];
        let mut watch = before[n].take().unwrap_or_else(|| watch.clone());
        for item in code.items_of(block) {
            let mut item = *item;
            pass(&mut watch, &mut item, &mut |remedy| items.push(Item::new(remedy)));
            items.push(item);
        }
        if let Some(mut branch) = branch(code, block) {
            watch.pass(&mut branch, &mut |remedy| items.push(Item::new(remedy)));
        }
        if block.term == Term::Joint {
            watch.settle(&mut |remedy| items.push(Item::new(remedy)));
        }
    });
}

/// Passes an instruction, which ends nothing if the linker may remove it.
fn pass<W: Follow>(watch: &mut W, item: &mut Item, out: &mut impl FnMut(Instruction)) {
    let before = (item.open == Some(Open::ForRootBuffers)).then(|| watch.clone());
    watch.pass(&mut item.inst, out);
    if let Some(before) = before {
        watch.join(&before);
    }
}

/// By block: what may be open before it; `None` where no path leads.
fn solve<W: Follow>(code: &Code, watch: &W) -> Vec<Option<W>> {
    let mut before: Vec<Option<W>> = vec![None; code.blocks.len()];
    let mut changed = filled(code.blocks.len(), false);
    if let (Some(state), Some(changed)) = (before.first_mut(), changed.first_mut()) {
        (*state, *changed) = (Some(watch.clone()), true);
    }
    while changed.contains(&true) {
        for n in 0..code.blocks.len() {
            if !std::mem::take(&mut changed[n]) {
                continue;
            }
            if code.blocks[n].term.targets().next().is_none() {
                continue;
            }
            let Some(state) = before[n].clone() else { continue };
            let after = passed(code, &code.blocks[n], state);
            for to in code.blocks[n].term.targets() {
                let to = to.index();
                let grown = match &mut before[to] {
                    Some(known) => known.join(&after),
                    unknown => {
                        *unknown = Some(after.clone());
                        true
                    }
                };
                changed[to] |= grown;
            }
        }
    }
    before
}

/// What may be open after a block and its branch.
fn passed<W: Follow>(code: &Code, block: &CodeBlock, mut watch: W) -> W {
    for item in code.items_of(block) {
        let mut item = *item;
        pass(&mut watch, &mut item, &mut |_| {});
    }
    if let Some(mut branch) = branch(code, block) {
        watch.pass(&mut branch, &mut |_| {});
    }
    watch
}

/// The branch at the end of a block. Whether one that goes on in one way only has it is not decided yet.
fn branch(code: &Code, block: &CodeBlock) -> Option<Instruction> {
    let op = match block.term {
        Term::Jump(_) => Op::SBranch,
        Term::Branch { when, .. } => when.op(),
        Term::End | Term::Joint => return None,
    };
    Some(Instruction::program(code.isa, op, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::CodeBlock;
    use crate::mir::Term;
    use dovetail_base::target::{Gpu, WaveSize};
    use dovetail_isa::instruction::{CachePolicy, Fields, FlatFields};
    use dovetail_isa::{Isa, Src, Vgpr};

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
            separate(&mut code, &RegisterSet::EMPTY);
            assert_eq!(code.blocks[0].items, 0..code.items.len());
            code.items[1..].iter().map(|item| item.inst.text(isa, WaveSize::W32)).collect::<Vec<_>>()
        };
        assert_eq!(text(Op::GlobalAtomicFmin), ["s_nop 2", "s_denorm_mode 3"]);
        assert_eq!(text(Op::GlobalAtomicAdd), ["s_denorm_mode 3"]);
    }

    #[test]
    fn a_load_of_a_parameter_waits_for_the_vector_instruction_before_it_itself() {
        let isa = Isa::of(Gpu::Gfx1100);
        let overwrite = |v| Instruction::vector(isa, Op::VMovB32, Vgpr(v), &[Src::Int(0)]);
        let load = Instruction::parameter_load(isa, Vgpr(1), 0, 0, 15);
        let items = [overwrite(1), overwrite(2), load].map(Item::new).to_vec();
        let blocks = vec![CodeBlock { items: 0..items.len(), term: Term::End }].into();
        let mut code = Code { isa, wave: WaveSize::W32, blocks, items: items.into() };
        separate(&mut code, &RegisterSet::EMPTY);
        let waits: Vec<u8> = code
            .items
            .iter()
            .filter_map(|item| match item.inst.fields {
                Fields::LdsDirect(f) => Some(f.wait),
                _ => None,
            })
            .collect();
        assert_eq!((code.items.len(), waits), (3, vec![1]));
    }
}
