//! Follows the wave through the layout and records where lanes wait.

use super::waiting::{Set, Sets};
use super::{Exit, Go, Landing, MaskId, MaskSource, Plan, Position};
use super::{clear, closed};
use crate::layout::BlockLayout;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_ir::{Shader, Terminator};
use smallvec::SmallVec;

/// Most trees of all sets of blocks where lanes wait.
const MOST_WAITS: usize = 4 << 20;

/// Result of the walk.
pub(super) enum Walked {
    /// A plan.
    Plan(Plan),
    /// Uniform branches that have to change EXEC.
    Demoted(List<Position>),
}

/// The way by which the wave comes to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Arrival {
    /// EXEC has the lanes that continue at the block.
    Lanes,
    /// EXEC still has lanes that wait elsewhere.
    Stale,
    /// EXEC is empty.
    Empty,
}

struct Walk<'a> {
    shader: &'a Shader,
    layout: &'a BlockLayout,
    divergent: &'a [bool],
    /// By position: the meeting point of a closed branch.
    meeting: List<Option<Position>>,
    /// By position: the first closed branch whose paths meet there. Of nested ones it is the outermost.
    outermost: List<Option<Position>>,
    /// By position: blocks after it where lanes may wait.
    waiting: List<Set>,
    sets: Sets,
    exits: List<Exit>,
    /// Arrivals of the wave: the block that it comes to, the block that it comes from, and the state of EXEC.
    arrivals: List<(Position, Position, Arrival)>,
    /// By position: the closed branch whose second side begins here.
    rest_of: List<Option<Position>>,
    /// By position: the mask of lanes that wait there.
    mask_of: List<Option<MaskId>>,
    /// By position of a closed branch: the mask that it saves.
    save_of: List<Option<MaskId>>,
    masks: u32,
    demoted: List<Position>,
    changed: bool,
}

/// Follows the wave.
///
/// # Errors
/// Unsupported: lanes that wait in a way that is not handled, or in too many places.
pub(super) fn walk(shader: &Shader, layout: &BlockLayout, divergent: &[bool]) -> Result<Walked> {
    let count = layout.order.len();
    let meeting = closed::meeting_points(shader, layout, divergent);
    let mut outermost = filled(count, None);
    for (n, meeting) in (0..).zip(&meeting) {
        if let Some(meeting) = *meeting {
            outermost[meeting as usize].get_or_insert(n);
        }
    }
    let mut walk = Walk {
        shader,
        layout,
        divergent,
        meeting,
        outermost,
        waiting: filled(count, Set::default()),
        sets: Sets::new(count),
        exits: List::default(),
        arrivals: List::default(),
        rest_of: filled(count, None),
        mask_of: filled(count, None),
        save_of: filled(count, None),
        masks: 0,
        demoted: List::default(),
        changed: true,
    };
    // Lanes that wait outside of a loop do so in every iteration, so the walk is repeated until it adds no waiting
    // place.
    while walk.changed {
        walk.changed = false;
        walk.exits.clear();
        walk.arrivals.clear();
        for n in 0..count as Position {
            let exit = walk.exit(n)?;
            walk.exits.push(exit);
            if walk.sets.trees() > MOST_WAITS {
                return Err(Error::unsupported("native: this many blocks where lanes wait", format!("at block {n}")));
            }
        }
    }
    if !walk.demoted.is_empty() {
        return Ok(Walked::Demoted(walk.demoted));
    }
    walk.finish()
}

impl Walk<'_> {
    fn exit(&mut self, n: Position) -> Result<Exit> {
        // A block where lanes wait may turn out to have none: the wave then continues as if the block did not exist.
        let at = n as usize;
        let may_be_empty = self.mask_of[at].is_some() || self.rest_of[at].is_some() || self.outermost[at].is_some();
        if let Some(next) = self.first_waiting(n).filter(|_| may_be_empty) {
            self.arrive(n, next, Arrival::Empty, &[]);
        }
        let shader = self.shader;
        let at = |b: dovetail_ir::BlockId| self.layout.position[b.index()];
        let mut exit = Exit { wait: SmallVec::new(), wait_if: SmallVec::new(), save: None, go: Go::End };
        match shader.block(self.layout.order[n as usize]).term() {
            Some(Terminator::Jump(call)) => self.jump(n, at(call.block), &mut exit),
            Some(Terminator::Branch { then, els, .. }) => {
                let (then, els) = (at(then.block), at(els.block));
                if self.divergent[n as usize] {
                    self.branch(n, then, els, &mut exit)?
                } else {
                    self.uniform(n, then, els, &mut exit)
                }
            }
            Some(Terminator::Return(_)) => {}
            other => return Err(Error::bug(format!("native: {other:?} after shaping"))),
        }
        Ok(exit)
    }

    fn jump(&mut self, n: Position, to: Position, exit: &mut Exit) {
        let first = self.first_waiting(n);
        if first.is_none_or(|first| first >= to) {
            exit.go = Go::To(to);
            return self.arrive(n, to, Arrival::Lanes, &[]);
        }
        let next = first.unwrap_or(to);
        if !self.is_restored(n, to) {
            exit.wait.push(self.mask(to));
        }
        exit.go = Go::To(next);
        self.arrive(n, next, Arrival::Stale, &[to]);
    }

    fn uniform(&mut self, n: Position, then: Position, els: Position, exit: &mut Exit) {
        let first = self.first_waiting(n);
        if [then, els].into_iter().any(|to| first.is_some_and(|first| first < to)) {
            self.demoted.push(n);
        }
        exit.go = Go::Uniform(then, els);
        self.arrive(n, then, Arrival::Lanes, &[]);
        self.arrive(n, els, Arrival::Lanes, &[]);
    }

    fn branch(&mut self, n: Position, then: Position, els: Position, exit: &mut Exit) -> Result<()> {
        let inverted = els < then;
        let (to, other) = if inverted { (els, then) } else { (then, els) };
        if to <= n {
            return Err(Error::bug("native: a divergent branch back"));
        }
        if let Some(meeting) = self.meeting[n as usize] {
            exit.save = Some(self.save(n));
            exit.go = Go::Divergent { inverted, to, empty: other };
            if other == meeting {
                self.arrive(n, to, Arrival::Lanes, &[meeting]);
            } else {
                self.rest_of[other as usize] = Some(n);
                if self.shader.cfg().preds(self.layout.order[other as usize]).len() > 1 {
                    // Lanes of the first side may continue there too.
                    self.mask(other);
                }
                self.arrive(n, to, Arrival::Lanes, &[other, meeting]);
            }
            self.arrive(n, other, Arrival::Empty, &[meeting]);
            return Ok(());
        }
        let first = self.first_waiting(n);
        if first.is_some_and(|first| first <= to) {
            // Other lanes wait before the nearer target, or at it.
            for (target, wanted) in [(then, true), (els, false)] {
                if !self.is_restored(n, target) {
                    exit.wait_if.push((self.mask(target), wanted));
                }
            }
            let next = first.unwrap_or(to);
            exit.go = Go::To(next);
            self.arrive(n, next, Arrival::Stale, &[then, els]);
            return Ok(());
        }
        if !self.is_restored(n, other) {
            exit.wait_if.push((self.mask(other), other == then));
        }
        let empty = first.map_or(other, |first| first.min(other));
        exit.go = Go::Divergent { inverted, to, empty };
        self.arrive(n, to, Arrival::Lanes, &[other]);
        self.arrive(n, empty, Arrival::Empty, &[other]);
        Ok(())
    }

    /// Whether a closed branch brings back all lanes at the end of this edge.
    fn is_restored(&self, from: Position, to: Position) -> bool {
        self.outermost[to as usize].is_some_and(|n| n <= from && from < to)
    }

    fn first_waiting(&self, n: Position) -> Option<Position> {
        self.sets.first(self.waiting[n as usize])
    }

    /// Records that the wave goes from one block to another while lanes wait at the blocks in `more` too.
    fn arrive(&mut self, from: Position, to: Position, how: Arrival, more: &[Position]) {
        self.arrivals.push((to, from, how));
        let more = more.iter().fold(self.waiting[from as usize], |all, at| self.sets.with(all, *at));
        let more = self.sets.after(more, to);
        let known = &mut self.waiting[to as usize];
        let all = self.sets.both(*known, more);
        self.changed |= std::mem::replace(known, all) != all;
    }

    fn new_mask(&mut self) -> MaskId {
        self.changed = true;
        self.masks += 1;
        MaskId(self.masks - 1)
    }

    fn mask(&mut self, to: Position) -> MaskId {
        if let Some(mask) = self.mask_of[to as usize] {
            return mask;
        }
        let mask = self.new_mask();
        self.mask_of[to as usize] = Some(mask);
        mask
    }

    fn save(&mut self, n: Position) -> MaskId {
        if let Some(mask) = self.save_of[n as usize] {
            return mask;
        }
        let mask = self.new_mask();
        self.save_of[n as usize] = Some(mask);
        mask
    }

    /// Decides how each block begins, and adds what its landing needs to the exits of the blocks before it.
    fn finish(mut self) -> Result<Walked> {
        self.arrivals.sort_unstable();
        self.arrivals.dedup();
        let arrivals = std::mem::take(&mut self.arrivals);
        let mut rest = &arrivals[..];
        let mut landings = filled(self.layout.order.len(), Landing::default());
        for (n, landing) in landings.iter_mut().enumerate() {
            let (arrivals, others) = rest.split_at(rest.partition_point(|(to, ..)| *to as usize == n));
            rest = others;
            let stale = arrivals.iter().any(|(.., how)| *how == Arrival::Stale);
            if let Some(branch) = self.rest_of[n] {
                landing.replace = Some(MaskSource::Rest(branch));
                landing.add.extend(self.mask_of[n]);
            } else if stale && self.mask_of[n].is_none() && self.outermost[n].is_none() {
                return Err(Error::unsupported("native: lanes that wait nowhere", ""));
            } else if stale && self.mask_of[n].is_some() {
                landing.replace = self.mask_of[n].map(MaskSource::Mask);
            } else {
                landing.add.extend(self.mask_of[n]);
            }
            // Of nested branches that meet here the outermost has saved all lanes.
            if let Some(save) = self.outermost[n].and_then(|branch| self.save_of[branch as usize]) {
                landing.add.push(save);
            } else if landing.replace.is_some() || !landing.add.is_empty() {
                landing.skip = self.first_waiting(n as Position);
            }
            if landing.replace.is_some() {
                self.register(n as Position, arrivals)?;
            }
        }
        if !self.demoted.is_empty() {
            return Ok(Walked::Demoted(self.demoted));
        }
        let mut plan = Plan {
            landings,
            exits: std::mem::take(&mut self.exits),
            masks: self.masks,
            clears: Kept::default(),
            waits: self.waiting.iter().map(|set| *set != Set::default()).collect(),
        };
        self.skip_where_branches_are_bypassed(&mut plan);
        clear::place(&mut plan, self.shader, self.layout, &self.mask_of, &self.save_of, &self.meeting)?;
        Ok(Walked::Plan(plan))
    }

    /// A closed branch saves lanes, so there are some where its paths meet; but only if the wave has come through the
    /// branch. If it can pass the branch by, because no lane was there, there may be none at the meeting point either.
    fn skip_where_branches_are_bypassed(&self, plan: &mut Plan) {
        let mut changed = true;
        while changed {
            changed = false;
            // Each skip is another way of the wave, by which it may pass other branches.
            let passed = clear::Passed::new(plan);
            for (n, branch) in (0..).zip(&self.outermost) {
                let landing = &mut plan.landings[n as usize];
                let Some(branch) = branch.filter(|branch| !passed.before(*branch, n)) else { continue };
                if landing.skip.is_none() && self.save_of[branch as usize].is_some() {
                    landing.skip = self.first_waiting(n);
                    changed |= landing.skip.is_some();
                }
            }
        }
    }

    /// The landing of a block replaces EXEC, so each block that brings lanes for it has to add them to its mask.
    fn register(&mut self, to: Position, arrivals: &[(Position, Position, Arrival)]) -> Result<()> {
        for n in arrivals.iter().filter(|(.., how)| *how == Arrival::Lanes).map(|(_, from, _)| *from) {
            if self.rest_of[to as usize] == Some(n) || self.is_restored(n, to) {
                continue;
            }
            let mask = match self.mask_of[to as usize] {
                Some(mask) => mask,
                None => return Err(Error::bug("native: lanes that join others where none wait")),
            };
            let exit = &mut self.exits[n as usize];
            match exit.go {
                Go::To(_) if !exit.wait.contains(&mask) => exit.wait.push(mask),
                Go::Divergent { inverted, to: target, .. } if target == to => exit.wait_if.push((mask, !inverted)),
                Go::Uniform(..) => {
                    self.demoted.push(n);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
