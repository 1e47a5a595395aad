//! Follows the wave through the layout and records where lanes wait.

use super::closed;
use super::{Exit, Go, Landing, MaskId, MaskSource, Plan, Position};
use crate::compile::native::layout::BlockLayout;
use crate::error::{Error, Result};
use crate::ir::{Shader, Terminator};
use std::collections::BTreeSet;

/// Notes of where lanes may wait, over all blocks. A shader with as many ways out of its loops as this square root is no
/// shader that anybody wrote.
const MOST_WAITS: usize = 4 << 20;

/// Result of the walk.
pub(super) enum Walked {
    /// A plan.
    Plan(Plan),
    /// Uniform branches that have to change EXEC.
    Demoted(Vec<Position>),
}

/// The way by which the wave comes to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Arrival {
    /// EXEC has lanes that go on here.
    Lanes,
    /// EXEC contains lanes that wait elsewhere.
    Stale,
    /// EXEC is empty.
    Empty,
}

struct Walk<'a> {
    shader: &'a Shader,
    layout: &'a BlockLayout,
    divergent: &'a [bool],
    /// By position: the meeting point of a closed branch.
    meeting: Vec<Option<Position>>,
    /// By position: the first closed branch whose paths meet there. Of nested ones it is the outermost.
    outermost: Vec<Option<Position>>,
    /// By position: blocks after it where lanes may wait.
    waiting: Vec<BTreeSet<Position>>,
    exits: Vec<Exit>,
    arrivals: Vec<BTreeSet<(Position, Arrival)>>,
    /// By position: the closed branch whose other lanes start here.
    rest_of: Vec<Option<Position>>,
    /// By position: the mask of lanes that wait there.
    mask_of: Vec<Option<MaskId>>,
    /// By position of a closed branch: the mask that it saves.
    save_of: Vec<Option<MaskId>>,
    masks: u32,
    demoted: BTreeSet<Position>,
    changed: bool,
    /// Entries of `waiting`.
    waits: usize,
}

/// Follows the wave.
///
/// # Errors
/// Unsupported: lanes that wait in a way that is not handled, or in too many places.
pub(super) fn walk(shader: &Shader, layout: &BlockLayout, divergent: &[bool]) -> Result<Walked> {
    let count = layout.order.len();
    let meeting = closed::meeting_points(shader, layout, divergent);
    let mut outermost = vec![None; count];
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
        waiting: vec![BTreeSet::new(); count],
        exits: Vec::new(),
        arrivals: vec![BTreeSet::new(); count],
        rest_of: vec![None; count],
        mask_of: vec![None; count],
        save_of: vec![None; count],
        masks: 0,
        demoted: BTreeSet::new(),
        changed: true,
        waits: 0,
    };
    // Lanes that wait outside of a loop do so in every iteration: again until nothing is added.
    while walk.changed {
        walk.changed = false;
        walk.exits.clear();
        walk.arrivals.iter_mut().for_each(BTreeSet::clear);
        for n in 0..count as Position {
            let exit = walk.exit(n)?;
            walk.exits.push(exit);
            if walk.waits > MOST_WAITS {
                return Err(Error::unsupported("native: this many blocks where lanes wait", format!("at block {n}")));
            }
        }
    }
    if !walk.demoted.is_empty() {
        return Ok(Walked::Demoted(walk.demoted.into_iter().collect()));
    }
    walk.finish()
}

impl Walk<'_> {
    fn exit(&mut self, n: Position) -> Result<Exit> {
        // A block where lanes wait may turn out to have none: the wave then continues as if the block did not exist.
        let may_be_empty = self.mask_of[n as usize].is_some() || self.rest_of[n as usize].is_some();
        if let Some(next) = self.first_waiting(n).filter(|_| may_be_empty) {
            self.arrive(n, next, Arrival::Empty, &[]);
        }
        let shader = self.shader;
        let at = |b: crate::ir::BlockId| self.layout.position[b.index()];
        let mut exit = Exit { clear: Vec::new(), wait: Vec::new(), wait_if: Vec::new(), save: None, go: Go::End };
        match &shader.block(self.layout.order[n as usize]).term {
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
            self.demoted.insert(n);
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
        self.waiting[n as usize].first().copied()
    }

    /// The wave goes from one block to another; lanes wait also at these.
    fn arrive(&mut self, from: Position, to: Position, how: Arrival, more: &[Position]) {
        self.arrivals[to as usize].insert((from, how));
        let add: Vec<Position> = self.waiting[from as usize].iter().chain(more).copied().filter(|p| *p > to).collect();
        for p in add {
            let new = self.waiting[to as usize].insert(p);
            self.changed |= new;
            self.waits += usize::from(new);
        }
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

    /// Decides how each block begins, and adds what that demands of the ends before it.
    fn finish(mut self) -> Result<Walked> {
        let mut landings = vec![Landing::default(); self.layout.order.len()];
        for (n, landing) in landings.iter_mut().enumerate() {
            let stale = self.arrivals[n].iter().any(|(_, how)| *how == Arrival::Stale);
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
                landing.skip = self.waiting[n].first().copied();
            }
            if landing.replace.is_some() {
                self.register(n as Position)?;
            }
        }
        if !self.demoted.is_empty() {
            return Ok(Walked::Demoted(self.demoted.into_iter().collect()));
        }
        let mut plan = Plan {
            landings,
            exits: self.exits,
            masks: self.masks,
            waits: self.waiting.iter().map(|waiting| !waiting.is_empty()).collect(),
        };
        super::clear::place(&mut plan, self.shader, self.layout, &self.mask_of, &self.save_of, &self.meeting)?;
        Ok(Walked::Plan(plan))
    }

    /// The landing of a block replaces EXEC: who comes with lanes for it adds them to its mask.
    fn register(&mut self, to: Position) -> Result<()> {
        let from: Vec<Position> = self.arrivals[to as usize]
            .iter()
            .filter(|(_, how)| *how == Arrival::Lanes)
            .map(|(from, _)| *from)
            .collect();
        for n in from {
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
                    self.demoted.insert(n);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
