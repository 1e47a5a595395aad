//! A wave with EXEC = 0 must not go around a loop: no lane changes what the loop's branches test, so it never ends.
//!
//! Paths are followed with what is known of EXEC and of the masks in scalar registers: which are empty, and *covers*, sets
//! of which at least one is not. Lanes that leave EXEC for a mask keep such a set covered, so a path on which all lanes
//! would have to be nowhere is not followed. Only a path that surely arrives at a back edge with EXEC = 0 is reported: a
//! mask that this analysis does not understand may hold lanes.

use super::flow::{Graph, Step};
use super::mask_op::{MaskForm, MaskOp, mask_op};
use super::report::{CodeRule, Reporter};
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::{Fields, ScalarFields};
use dovetail_isa::{Op, Register, RegisterSet, Scalar, Src};
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, BTreeSet};

/// Limits of what is followed: states of one block, steps in all, and covers of a state, of which the latest are kept.
const MOST_STATES: usize = 32;
const MOST_STEPS: usize = 1 << 20;
const MOST_COVERS: usize = 64;

/// A scalar register with a mask, by the code of its first half.
type Place = u8;
const EXEC: Place = 126;

/// Places of which at least one holds a lane, in order.
type Cover = SmallVec<[Place; 4]>;

/// Reports back edges that a wave takes with EXEC = 0.
pub(super) fn check(graph: &Graph, wave: WaveSize, reporter: &mut Reporter<'_>) {
    let order = graph.order();
    let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(n, block)| (*block, n)).collect();
    let is_back = |from: usize, to: usize| place.get(&from) >= place.get(&to);
    let edges =
        order.iter().flat_map(|from| graph.blocks.get(*from).into_iter().flat_map(|b| &b.next).map(|to| (*from, *to)));
    if !edges.clone().any(|(from, to)| is_back(from, to)) {
        return;
    }
    let mut seen: BTreeMap<usize, BTreeSet<State>> = BTreeMap::new();
    let mut todo = vec![(graph.entry, State::entry())];
    let mut found = BTreeSet::new();
    let mut left = MOST_STEPS;
    while let Some((index, state)) = todo.pop() {
        let Some(block) = graph.blocks.get(index) else { continue };
        let known = seen.entry(index).or_default();
        if known.len() == MOST_STATES || !known.insert(state.clone()) {
            continue;
        }
        let steps = graph.steps_of(block);
        let Some(rest) = left.checked_sub(steps.len()) else { break };
        left = rest;
        let mut way = Way {
            state,
            wave,
            parked: Vec::new(),
            some: BTreeMap::new(),
            contents: BTreeMap::new(),
            conditions: 0,
            in_exec: Vec::new(),
        };
        steps.iter().for_each(|step| way.step(step));
        let Some(branch) = steps.last() else { continue };
        let target = graph.target(branch);
        for &next in &block.next {
            let Some(state) = way.edge(branch, target == Some(next)) else { continue };
            if is_back(index, next) && state.empty.contains(&EXEC) {
                found.insert(branch.at);
            } else {
                todo.push((next, state));
            }
        }
    }
    for at in found {
        reporter.add(CodeRule::EmptyLoop, at, "goes around a loop with EXEC = 0 by some way");
    }
}

/// What is known on a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    empty: BTreeSet<Place>,
    /// The latest last.
    covers: Vec<Cover>,
}

impl State {
    fn entry() -> Self {
        Self { empty: BTreeSet::new(), covers: vec![smallvec![EXEC]] }
    }

    fn add(&mut self, cover: Cover) {
        let within = |a: &Cover, b: &Cover| a.iter().all(|place| b.contains(place));
        if self.covers.iter().any(|known| within(known, &cover)) {
            return;
        }
        self.covers.retain(|known| !within(&cover, known));
        if self.covers.len() == MOST_COVERS {
            self.covers.remove(0);
        }
        self.covers.push(cover);
    }

    /// The covers with a place, each with others in place of it.
    fn moved(&self, from: Place, to: &[Place]) -> Vec<Cover> {
        let with = self.covers.iter().filter(|cover| cover.contains(&from));
        with.map(|cover| {
            let mut new: Cover = cover.iter().filter(|place| **place != from).chain(to).copied().collect();
            new.sort_unstable();
            new.dedup();
            new
        })
        .collect()
    }

    /// The lanes of `from` are now also in these places.
    fn also(&mut self, from: Place, to: &[Place]) {
        self.moved(from, to).into_iter().for_each(|cover| self.add(cover));
    }

    /// A place gets other lanes.
    fn forget(&mut self, place: Place) {
        self.covers.retain(|cover| !cover.contains(&place));
        self.empty.remove(&place);
    }

    /// A place turns out to be empty; `false` if this cannot be.
    fn is_empty(&mut self, place: Place) -> bool {
        let rest = self.moved(place, &[]);
        self.covers.retain(|cover| !cover.contains(&place));
        let possible = rest.iter().all(|cover| !cover.is_empty());
        rest.into_iter().for_each(|cover| self.add(cover));
        self.empty.insert(place);
        possible
    }
}

/// Contents of a register in this block, by number: the register may be written again while they still matter.
type Contents = u32;

/// Active lanes that are in the mask of a condition, or those that are not, and the mask to which they were added.
#[derive(Clone, Copy)]
struct Parked {
    condition: Contents,
    wanted: bool,
    mask: Place,
}

/// A path through one block.
struct Way {
    state: State,
    wave: WaveSize,
    parked: Vec<Parked>,
    /// By register: it holds the active lanes that are in the mask of a condition, or those that are not.
    some: BTreeMap<Place, (Contents, bool)>,
    /// By register, its contents, if a condition was read from it; and the number of those.
    contents: BTreeMap<Place, Contents>,
    conditions: Contents,
    /// Masks that EXEC contains.
    in_exec: Vec<Place>,
}

impl Way {
    fn step(&mut self, step: &Step) {
        let none = self.state.empty.contains(&EXEC);
        match (&step.inst.fields, mask_op(step.op())) {
            (Fields::Scalar(f), Some((form, op))) if form != MaskForm::Write => {
                self.mask(f, form, op, &step.effects.writes)
            }
            _ => {
                self.written(&step.effects.writes);
                // Comparisons into EXEC turn no lane on.
                if none
                    && step.effects.writes.contains(Register::EXEC)
                    && !matches!(step.inst.fields, Fields::Scalar(_))
                {
                    self.state.empty.insert(EXEC);
                }
            }
        }
    }

    /// Registers get unknown contents.
    fn written(&mut self, writes: &RegisterSet) {
        let wide = self.wave == WaveSize::W64;
        let lost = |place: Place| match place {
            EXEC => writes.contains(Register::EXEC),
            code => writes.contains(Register::sgpr(code)) || wide && writes.contains(Register::sgpr(code + 1)),
        };
        let known = self.state.covers.iter().flatten().chain(&self.state.empty).copied();
        let gone: BTreeSet<Place> = known.filter(|place| lost(*place)).collect();
        gone.into_iter().for_each(|place| self.state.forget(place));
        self.some.retain(|place, _| !lost(*place));
        self.contents.retain(|place, _| !lost(*place));
        self.parked.retain(|parked| !lost(parked.mask));
        self.in_exec.retain(|place| !lost(*place));
        if writes.contains(Register::EXEC) {
            self.some.clear();
            self.parked.clear();
            self.in_exec.clear();
        }
    }

    fn mask(&mut self, f: &ScalarFields, form: MaskForm, op: MaskOp, writes: &RegisterSet) {
        let place = |src: Option<Src>| match src {
            Some(Src::Scalar(Scalar::ExecLo)) => Some(EXEC),
            Some(Src::Scalar(register)) => Some(register.index()),
            _ => None,
        };
        let (Some(dst), [a, b, ..]) = (f.dst, f.srcs) else { return self.written(writes) };
        let dst = if dst == Scalar::ExecLo { EXEC } else { dst.index() };
        let zero = |src: Option<Src>| src == Some(Src::Int(0));
        let before = self.state.clone();
        let is_empty = |src: Option<Src>| zero(src) || place(src).is_some_and(|place| before.empty.contains(&place));
        if form == MaskForm::Save {
            let (none, other) = (before.empty.contains(&EXEC), place(a).filter(|other| *other != dst));
            let reduced = self.reduced(op, a, None);
            self.written(writes);
            reduced.into_iter().for_each(|cover| self.state.add(cover));
            before.moved(EXEC, &[dst]).into_iter().for_each(|cover| self.state.add(cover));
            if none {
                self.state.empty.insert(dst);
            }
            match op {
                MaskOp::And | MaskOp::Andn1 if none => drop(self.state.empty.insert(EXEC)),
                MaskOp::Or => [Some(dst), other].into_iter().flatten().for_each(|from| self.state.also(from, &[EXEC])),
                _ => {}
            }
            return;
        }
        let empty = match op {
            MaskOp::Mov | MaskOp::Wqm => is_empty(a),
            MaskOp::Or | MaskOp::Xor | MaskOp::Select => is_empty(a) && is_empty(b),
            MaskOp::And => is_empty(a) || is_empty(b),
            MaskOp::Andn2 => is_empty(a),
            MaskOp::Andn1 => is_empty(b),
        };
        let (a_place, b_place) = (place(a), place(b));
        let with_exec = a_place == Some(EXEC) || b_place == Some(EXEC);
        let other = if a_place == Some(EXEC) { b } else { a };
        let some = match op {
            MaskOp::And if with_exec && dst != EXEC => place(other).map(|condition| (self.contents(condition), true)),
            MaskOp::Andn2 if a_place == Some(EXEC) && dst != EXEC => {
                place(other).map(|condition| (self.contents(condition), false))
            }
            _ => None,
        };
        match op {
            // A mask grows: what it covered it still does.
            MaskOp::Or if [a_place, b_place].contains(&Some(dst)) => {
                let added = if a_place == Some(dst) { b_place } else { a_place };
                if !empty {
                    self.state.empty.remove(&dst);
                }
                if let Some(added) = added {
                    self.grow(dst, added);
                }
            }
            MaskOp::And | MaskOp::Andn2 if dst == EXEC && with_exec => {
                let covers = self.reduced(op, other, Some(a_place == Some(EXEC)));
                self.written(writes);
                covers.into_iter().for_each(|cover| self.state.add(cover));
            }
            _ => {
                self.written(writes);
                let sources = match op {
                    MaskOp::Mov | MaskOp::Wqm => [a_place, None],
                    MaskOp::Or => [a_place, b_place],
                    _ => [None, None],
                };
                for source in sources.into_iter().flatten() {
                    before.moved(source, &[dst]).into_iter().for_each(|cover| self.state.add(cover));
                    if dst == EXEC {
                        self.in_exec.push(source);
                    }
                }
            }
        }
        if empty {
            self.state.forget(dst);
            self.state.empty.insert(dst);
        }
        if let Some(some) = some {
            self.some.insert(dst, some);
        }
    }

    /// A mask gets the lanes of another register too.
    fn grow(&mut self, mask: Place, added: Place) {
        self.state.also(added, &[mask]);
        if mask == EXEC {
            // EXEC is another set now.
            self.some.clear();
            self.parked.clear();
            self.in_exec.push(added);
            return;
        }
        let Some(&(condition, wanted)) = self.some.get(&added) else { return };
        let others: Vec<Place> =
            self.parked.iter().filter(|p| p.condition == condition && p.wanted != wanted).map(|p| p.mask).collect();
        for other in others {
            let mut both = [mask, other];
            both.sort_unstable();
            self.state.also(EXEC, &both);
        }
        self.parked.push(Parked { condition, wanted, mask });
    }

    /// The covers of what remains in EXEC and of the masks that have the other lanes. `first`: EXEC is the first operand of
    /// an instruction that is not of the saving form.
    fn reduced(&self, op: MaskOp, condition: Option<Src>, first: Option<bool>) -> Vec<Cover> {
        let leaves = match (op, first) {
            (MaskOp::And, _) => false,
            (MaskOp::Andn2, Some(true)) | (MaskOp::Andn1, None) => true,
            _ => return Vec::new(),
        };
        let Some(Src::Scalar(condition)) = condition else { return Vec::new() };
        let Some(condition) = self.contents.get(&condition.index()) else { return Vec::new() };
        let left = self.parked.iter().filter(|p| p.condition == *condition && p.wanted == leaves);
        left.flat_map(|parked| self.state.moved(EXEC, &[EXEC, parked.mask])).collect()
    }

    /// The number of a register's contents.
    fn contents(&mut self, place: Place) -> Contents {
        self.conditions += 1;
        *self.contents.entry(place).or_insert(self.conditions)
    }

    /// What is known after a branch, or `None` if it cannot go this way.
    fn edge(&self, branch: &Step, taken: bool) -> Option<State> {
        let mut state = self.state.clone();
        let empty = match branch.op() {
            Op::SCbranchExecz => taken,
            Op::SCbranchExecnz => !taken,
            _ => return Some(state),
        };
        if !empty {
            let possible = !state.empty.contains(&EXEC);
            state.add(smallvec![EXEC]);
            return possible.then_some(state);
        }
        let mut places = std::iter::once(EXEC).chain(self.in_exec.iter().copied());
        places.all(|place| state.is_empty(place)).then_some(state)
    }
}
