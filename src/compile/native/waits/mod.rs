//! Waits for memory and exports, exactly where a register or an order needs them.
//!
//! Facts flow forwards along the wave's edges to a fixed point; then each instruction gets the wait that it needs in
//! front of it. Waits requested by the code (fences) are kept only for operations that may be outstanding, and
//! consecutive waits are merged. This is written independently of the machine code checker, which verifies the result.

mod counter;
mod state;

use super::code::{Code, CodeBlock, Item};
use super::mir::Term;
use counter::Pending;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};
use dovetail_isa::{Counter, Effects, Instruction, Isa, RegisterSet, WaitCounts};
use state::{RESULTS, SavedState, State};

/// Adds the waits. The code begins while loads of the registers `awaited` may be outstanding.
///
/// # Errors
/// A bug: a branch to a block that does not exist.
pub fn insert(code: &mut Code, awaited: &RegisterSet) -> Result<()> {
    let effects: List<Effects> = code.items.iter().map(|item| item.inst.effects(code.wave)).collect();
    let before = solve(code, &effects, awaited)?;
    let mut state = State::after_loads(code.isa, awaited);
    code.rewrite(|code, n, items| match &before.points[n] {
        Some(point) => {
            state.load(point, &before.pending);
            walk(code, &effects, &code.blocks[n], &mut state, |wait, item| {
                let Some(item) = item else { return push(code.isa, wait, items) };
                let mut item = *item;
                push(code.isa, by_itself(&mut item.inst, wait), items);
                items.push(item);
            });
        }
        // No path leads here.
        None => items.extend_from_slice(code.items_of(&code.blocks[n])),
    });
    Ok(())
}

/// The operations that may be outstanding before each block.
struct Before {
    /// By block: the state before it; `None` where no path leads.
    points: List<Option<SavedState>>,
    /// The operations of all saved states, and of states that have been replaced since.
    pending: List<Pending>,
}

fn solve(code: &Code, effects: &[Effects], awaited: &RegisterSet) -> Result<Before> {
    let mut before = Before { points: filled(code.blocks.len(), None), pending: List::default() };
    let mut changed = filled(code.blocks.len(), false);
    let [mut state, mut known] = [(); 2].map(|()| State::after_loads(code.isa, awaited));
    if let (Some(point), Some(changed)) = (before.points.first_mut(), changed.first_mut()) {
        (*point, *changed) = (Some(state.save(&mut before.pending)), true);
    }
    while changed.contains(&true) {
        for n in 0..code.blocks.len() {
            if !std::mem::take(&mut changed[n]) {
                continue;
            }
            let Some(point) = &before.points[n] else { continue };
            state.load(point, &before.pending);
            walk(code, effects, &code.blocks[n], &mut state, |_, _| {});
            for to in code.blocks[n].term.targets() {
                let to = to.index();
                let point = before.points.get_mut(to).ok_or_else(|| Error::bug(format!("b{n} goes to b{to}")))?;
                let new = match point {
                    Some(point) => {
                        known.load(point, &before.pending);
                        known.join(&state).then_some(&known)
                    }
                    None => Some(&state),
                };
                if let Some(new) = new {
                    *point = Some(new.save(&mut before.pending));
                    changed[to] = true;
                }
            }
        }
    }
    Ok(before)
}

/// Walks a block: each instruction with the wait before it, and possibly a wait at the end.
fn walk(
    code: &Code,
    effects: &[Effects],
    block: &CodeBlock,
    state: &mut State,
    mut visit: impl FnMut(WaitCounts, Option<&Item>),
) {
    let mut asked = WaitCounts::ANY;
    for n in block.items.clone() {
        let (item, effects) = (&code.items[n], &effects[n]);
        if let Some(wait) = code.isa.waited(&item.inst) {
            asked = asked.and(wait);
            continue;
        }
        let wait = state.useful(asked.and(state.needed(&item.inst, effects)));
        asked = WaitCounts::ANY;
        state.wait(wait);
        visit(wait, Some(item));
        state.issue(effects);
    }
    if block.term == Term::Joint {
        asked = asked.and(RESULTS);
    }
    let wait = state.useful(asked);
    state.wait(wait);
    visit(wait, None);
}

/// Lets an instruction that can wait for exports and parameter loads do so; returns the other waits.
fn by_itself(inst: &mut Instruction, wait: WaitCounts) -> WaitCounts {
    let Some(own) = inst.export_wait() else { return wait };
    *inst = inst.with_export_wait(own.min(wait.get(Counter::Export)));
    let others = Counter::ALL.into_iter().filter(|counter| *counter != Counter::Export);
    others.fold(WaitCounts::ANY, |all, counter| all.at_most(counter, wait.get(counter)))
}

fn push(isa: &'static Isa, wait: WaitCounts, items: &mut List<Item>) {
    items.extend(isa.wait(wait).map(Item::new));
}
