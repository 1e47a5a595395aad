//! Proves that the wave has a lane in every block, so that it cannot go around a loop for ever with EXEC = 0.
//!
//! Two facts are followed along the wave's ways. The first: *homes* are places (EXEC and masks) that together hold all
//! lanes; at the start EXEC alone. When lanes leave EXEC for a mask, the mask becomes their home; when a mask is added
//! to EXEC, EXEC does. The second: which places certainly hold a lane. A block's body needs a lane in EXEC: its landing
//! has just tested EXEC, or put a mask with lanes there, or EXEC is the only home. Nothing here knows how the plan was
//! made.

use super::{Exit, Go, Landing, MaskId, MaskSource, Plan, Position};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};

/// Where lanes may be: EXEC, the saved lanes that did not take a closed branch's first target, and masks, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(usize);

impl Place {
    const EXEC: Self = Self(0);
    /// The saved lanes that did not take the first target. Known only on the way from the branch to the landing that
    /// puts them into EXEC.
    const REST: Self = Self(1);

    const fn mask(mask: MaskId) -> Self {
        Self(2 + mask.0 as usize)
    }
}

/// A set of places, as bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Places(List<u64>);

impl Places {
    fn none(masks: u32) -> Self {
        Self(filled((masks as usize + 2).div_ceil(64), 0))
    }

    fn has(&self, place: Place) -> bool {
        self.0[place.0 / 64] >> (place.0 % 64) & 1 != 0
    }

    fn add(&mut self, place: Place) {
        self.0[place.0 / 64] |= 1 << (place.0 % 64);
    }

    /// Removes a place; returns whether it was there.
    fn remove(&mut self, place: Place) -> bool {
        let had = self.has(place);
        self.0[place.0 / 64] &= !(1 << (place.0 % 64));
        had
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    /// Combines the set with another one; returns whether it changes.
    fn combine(&mut self, other: &Self, how: impl Fn(u64, u64) -> u64) -> bool {
        let both = self.0.iter_mut().zip(other.0.iter());
        both.fold(false, |changed, (own, other)| {
            let new = how(*own, *other);
            std::mem::replace(own, new) != new || changed
        })
    }
}

/// What is certain at one point of the wave's way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    /// Places that together hold all lanes; `None` if no such places are known.
    homes: Option<Places>,
    /// Places that hold at least one lane each.
    some: Places,
}

impl Facts {
    fn entry(masks: u32) -> Self {
        let mut exec = Places::none(masks);
        exec.add(Place::EXEC);
        Self { homes: Some(exec.clone()), some: exec }
    }

    fn has_lanes(&self) -> bool {
        let only_exec = |homes: &Places| homes.0.iter().enumerate().all(|(n, bits)| *bits == u64::from(n == 0));
        self.some.has(Place::EXEC) || self.homes.as_ref().is_some_and(only_exec)
    }

    /// If `from` is a home, its lanes move to the homes `to`; if these are none, nothing is known of the lanes any
    /// more.
    fn moves(&mut self, from: Place, to: &[Place]) {
        let Some(homes) = &mut self.homes else { return };
        if homes.remove(from) {
            to.iter().for_each(|place| homes.add(*place));
            if to.is_empty() {
                self.homes = None;
            }
        }
    }

    /// A place gets unknown lanes, and those that it had are lost.
    fn set(&mut self, place: Place) {
        self.some.remove(place);
        self.moves(place, &[]);
    }

    /// EXEC gets the lanes of a place, besides its own.
    fn join_exec(&mut self, place: Place) {
        self.moves(place, &[Place::EXEC]);
        if self.some.has(place) {
            self.some.add(Place::EXEC);
        }
    }

    /// Notes that a place is empty; returns whether the facts allow that.
    fn is_empty(&mut self, place: Place) -> bool {
        let contradicts = self.some.remove(place);
        let gone = self.homes.as_mut().is_some_and(|homes| homes.remove(place) && homes.is_empty());
        !contradicts && !gone
    }

    /// Keeps the facts that also hold on another way; returns whether any is lost.
    fn meet(&mut self, other: &Self) -> bool {
        let fewer = self.some.combine(&other.some, |own, other| own & other);
        match (&mut self.homes, &other.homes) {
            (Some(own), Some(others)) => own.combine(others, |own, other| own | other) || fewer,
            (homes, _) => homes.take().is_some() || fewer,
        }
    }
}

impl Plan {
    /// Checks that no block is executed, and so no loop continued, without a lane.
    ///
    /// # Errors
    /// A bug: the first block that may be executed without a lane.
    pub fn verify(&self) -> Result<()> {
        let count = self.exits.len();
        let mut proof =
            Proof { plan: self, landings: filled(count, None), back: filled(count, None), lost: false, without: None };
        loop {
            (proof.lost, proof.without) = (false, None);
            proof.pass();
            if !proof.lost {
                break;
            }
        }
        match proof.without {
            Some(n) => Err(Error::bug(format!("native: the wave may come to block {n} of the layout without a lane"))),
            None => Ok(()),
        }
    }
}

struct Proof<'a> {
    plan: &'a Plan,
    /// By position: the facts with which the wave comes to the block's landing, collected in this pass until the
    /// block's turn.
    landings: List<Option<Facts>>,
    /// By position of a loop's header: the facts at the start of its body that hold on all back edges followed so far.
    back: List<Option<Facts>>,
    /// Whether this pass lost a fact about a back edge, so that blocks which relied on it must be looked at again.
    lost: bool,
    /// The first block that may have no lane.
    without: Option<Position>,
}

impl Proof<'_> {
    /// Follows all blocks once.
    fn pass(&mut self) {
        self.landings[0] = Some(Facts::entry(self.plan.masks));
        for n in 0..self.plan.exits.len() as Position {
            let Some(facts) = self.landings[n as usize].take() else { continue };
            let mut facts = self.land(n, facts);
            if let Some(back) = &self.back[n as usize] {
                facts.meet(back);
            }
            if !facts.has_lanes() {
                self.without.get_or_insert(n);
            }
            self.leave(n, facts);
        }
    }

    /// The facts after a landing.
    fn land(&mut self, n: Position, mut facts: Facts) -> Facts {
        let Landing { replace, add, skip } = &self.plan.landings[n as usize];
        if let Some(source) = replace {
            facts.set(Place::EXEC);
            facts.join_exec(match source {
                MaskSource::Mask(mask) => Place::mask(*mask),
                MaskSource::Rest(_) => Place::REST,
            });
        }
        facts.some.remove(Place::REST);
        add.iter().for_each(|mask| facts.join_exec(Place::mask(*mask)));
        if let Some(skip) = *skip {
            let mut skipped = facts.clone();
            if skipped.is_empty(Place::EXEC) {
                self.go(n, skip, skipped);
            }
        }
        if skip.is_some() || facts.has_lanes() {
            facts.some.add(Place::EXEC);
        }
        facts
    }

    fn leave(&mut self, n: Position, mut facts: Facts) {
        let Exit { wait, wait_if, save, go } = &self.plan.exits[n as usize];
        for mask in self.plan.clears.of(n as usize) {
            facts.set(Place::mask(*mask));
        }
        let side = |wanted: bool| wait_if.iter().find(|(_, side)| *side == wanted).map(|(mask, _)| Place::mask(*mask));
        // A back edge leads to the header's body, past the landing, so EXEC stays the home even if a mask gets the
        // lanes too.
        let goes_back = matches!(*go, Go::To(to) if to <= n);
        for mask in wait {
            if !goes_back {
                facts.moves(Place::EXEC, &[Place::mask(*mask)]);
            }
            facts.some.add(Place::mask(*mask));
        }
        match *go {
            Go::To(to) => {
                if let (Some(a), Some(b)) = (side(true), side(false)) {
                    facts.moves(Place::EXEC, &[a, b]);
                }
                self.go(n, to, facts);
            }
            Go::Uniform(then, els) => {
                self.go(n, then, facts.clone());
                self.go(n, els, facts);
            }
            Go::Divergent { inverted, to, empty } => {
                if let Some(save) = *save {
                    facts.set(Place::mask(save));
                    facts.some.add(Place::mask(save));
                    facts.moves(Place::EXEC, &[Place::mask(save)]);
                }
                // Lanes with the condition leave if it is inverted.
                let left = side(inverted);
                match left {
                    Some(mask) => facts.moves(Place::EXEC, &[Place::EXEC, mask]),
                    None => facts.moves(Place::EXEC, &[]),
                }
                let mut none = facts.clone();
                none.some.remove(Place::EXEC);
                if none.is_empty(Place::EXEC) {
                    // All lanes have left.
                    left.iter().for_each(|mask| none.some.add(*mask));
                    if self.plan.landings[empty as usize].replace == Some(MaskSource::Rest(n)) {
                        none.some.add(Place::REST);
                    }
                    self.go(n, empty, none);
                }
                facts.some.add(Place::EXEC);
                // The lanes that continue may also be added to the mask of the block where they do.
                if let Some(mask) = side(!inverted) {
                    facts.moves(Place::EXEC, &[mask]);
                    facts.some.add(mask);
                }
                self.go(n, to, facts);
            }
            Go::End => {}
        }
    }

    /// The wave goes to the landing of a later block, or back to the body of a loop's header.
    fn go(&mut self, from: Position, to: Position, facts: Facts) {
        let is_back = to <= from;
        let at = if is_back { &mut self.back[to as usize] } else { &mut self.landings[to as usize] };
        let fewer = match at {
            Some(known) => known.meet(&facts),
            None => {
                *at = Some(facts);
                true
            }
        };
        self.lost |= is_back && fewer;
    }
}
