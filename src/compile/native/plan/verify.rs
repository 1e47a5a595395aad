//! Proves that the wave has a lane in every block, so that it cannot go around a loop for ever with EXEC = 0.
//!
//! Two facts are followed along the wave's ways. *Homes* are places, EXEC and masks, that together hold all lanes: EXEC
//! at first. When lanes leave EXEC for a mask, the mask becomes their home; when a mask is added to EXEC, EXEC does. And
//! places that hold a lane for certain. A block's body needs a lane in EXEC: its landing has just tested EXEC, or put a
//! mask with lanes there, or EXEC is the only home. Nothing here knows how the plan was made.

use super::{Exit, Go, Landing, MaskId, MaskSource, Plan, Position};
use crate::error::{Error, Result};
use crate::workspace::{List, filled};

/// Where lanes may be: EXEC, a mask, or the part of a closed branch's saved lanes that did not take its first target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Exec,
    Mask(MaskId),
    Rest(Position),
}

/// Places in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Places(List<Place>);

impl Places {
    fn has(&self, place: Place) -> bool {
        self.0.binary_search(&place).is_ok()
    }

    fn add(&mut self, place: Place) {
        if let Err(at) = self.0.binary_search(&place) {
            self.0.insert(at, place);
        }
    }

    /// Removes a place; whether it was there.
    fn remove(&mut self, place: Place) -> bool {
        self.0.binary_search(&place).is_ok_and(|at| {
            self.0.remove(at);
            true
        })
    }
}

/// What is certain at one point of the wave's way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    /// These hold all lanes; `None` if nothing is known to.
    homes: Option<Places>,
    /// Each of these holds a lane.
    some: Places,
}

impl Facts {
    fn entry() -> Self {
        let mut exec = Places::default();
        exec.add(Place::Exec);
        Self { homes: Some(exec.clone()), some: exec }
    }

    fn has_lanes(&self) -> bool {
        self.some.has(Place::Exec) || self.homes.as_ref().is_some_and(|homes| *homes.0 == [Place::Exec])
    }

    /// The lanes whose home is `from` have these homes now; with none, nobody knows where they are.
    fn moves(&mut self, from: Place, to: &[Place]) {
        let Some(homes) = &mut self.homes else { return };
        if homes.remove(from) {
            to.iter().for_each(|place| homes.add(*place));
            if to.is_empty() {
                self.homes = None;
            }
        }
    }

    /// A place gets other lanes; those that it had are lost.
    fn set(&mut self, place: Place) {
        self.some.remove(place);
        self.moves(place, &[]);
    }

    /// EXEC gets the lanes of a place, besides its own.
    fn join_exec(&mut self, place: Place) {
        self.moves(place, &[Place::Exec]);
        if self.some.has(place) {
            self.some.add(Place::Exec);
        }
    }

    /// A place turns out to be empty; whether this can be.
    fn is_empty(&mut self, place: Place) -> bool {
        let contradicts = self.some.remove(place);
        let homes = self.homes.as_mut();
        let gone = homes.is_some_and(|homes| homes.remove(place) && homes.0.is_empty());
        !contradicts && !gone
    }

    /// Keeps what also holds on another way; whether that is less.
    fn meet(&mut self, other: &Self) -> bool {
        let before = (self.some.0.len(), self.homes.as_ref().map(|homes| homes.0.len()));
        self.some.0.retain(|place| other.some.has(*place));
        match (&mut self.homes, &other.homes) {
            (Some(own), Some(others)) => others.0.iter().for_each(|place| own.add(*place)),
            _ => self.homes = None,
        }
        before != (self.some.0.len(), self.homes.as_ref().map(|homes| homes.0.len()))
    }
}

impl Plan {
    /// Checks that no block is executed, and so no loop continued, without a lane.
    ///
    /// # Errors
    /// A bug: the block that may have none.
    pub fn verify(&self) -> Result<()> {
        let count = self.exits.len();
        let mut proof = Proof { plan: self, landings: filled(count, None), bodies: filled(count, None) };
        proof.landings[0] = Some(Facts::entry());
        // Facts come down the layout in one pass, and around loops in the next.
        while proof.pass() {}
        match (0..).zip(&proof.bodies).find(|(_, body)| body.as_ref().is_some_and(|facts| !facts.has_lanes())) {
            Some((n, _)) => {
                Err(Error::bug(format!("native: the wave may come to block {n} of the layout without a lane")))
            }
            None => Ok(()),
        }
    }
}

struct Proof<'a> {
    plan: &'a Plan,
    /// By position: the facts where the wave comes to its landing, if it does.
    landings: List<Option<Facts>>,
    /// By position: the facts at the beginning of its body.
    bodies: List<Option<Facts>>,
}

impl Proof<'_> {
    /// Follows all blocks once; whether a fact was lost on a way back.
    fn pass(&mut self) -> bool {
        let mut again = false;
        for n in 0..self.plan.exits.len() as Position {
            if let Some(facts) = self.landings[n as usize].clone() {
                self.land(n, facts);
            }
            if let Some(facts) = self.bodies[n as usize].clone() {
                again |= self.leave(n, facts);
            }
        }
        again
    }

    fn land(&mut self, n: Position, mut facts: Facts) {
        let Landing { replace, add, skip } = &self.plan.landings[n as usize];
        if let Some(source) = replace {
            facts.set(Place::Exec);
            facts.join_exec(match source {
                MaskSource::Mask(mask) => Place::Mask(*mask),
                MaskSource::Rest(branch) => Place::Rest(*branch),
            });
        }
        add.iter().for_each(|mask| facts.join_exec(Place::Mask(*mask)));
        if let Some(skip) = *skip {
            let mut skipped = facts.clone();
            if skipped.is_empty(Place::Exec) {
                come(&mut self.landings[skip as usize], skipped);
            }
            facts.some.add(Place::Exec);
        } else if facts.has_lanes() {
            facts.some.add(Place::Exec);
        }
        come(&mut self.bodies[n as usize], facts);
    }

    fn leave(&mut self, n: Position, mut facts: Facts) -> bool {
        let Exit { wait, wait_if, save, go } = &self.plan.exits[n as usize];
        for mask in self.plan.clears.of(n as usize) {
            facts.set(Place::Mask(*mask));
        }
        let side = |wanted: bool| wait_if.iter().find(|(_, side)| *side == wanted).map(|(mask, _)| Place::Mask(*mask));
        for mask in wait {
            facts.moves(Place::Exec, &[Place::Mask(*mask)]);
            facts.some.add(Place::Mask(*mask));
        }
        match *go {
            Go::To(to) => {
                if let (Some(a), Some(b)) = (side(true), side(false)) {
                    facts.moves(Place::Exec, &[a, b]);
                }
                self.go(n, to, facts)
            }
            Go::Uniform(then, els) => {
                let first = self.go(n, then, facts.clone());
                self.go(n, els, facts) || first
            }
            Go::Divergent { inverted, to, empty } => {
                if let Some(save) = *save {
                    facts.set(Place::Mask(save));
                    facts.some.add(Place::Mask(save));
                    facts.some.remove(Place::Rest(n));
                    facts.moves(Place::Exec, &[Place::Mask(save)]);
                }
                // Lanes with the condition leave if it is inverted.
                let left = side(inverted);
                match left {
                    Some(mask) => facts.moves(Place::Exec, &[Place::Exec, mask]),
                    None => facts.moves(Place::Exec, &[]),
                }
                facts.some.remove(Place::Exec);
                let mut none = facts.clone();
                let possible = none.is_empty(Place::Exec);
                // All lanes have left.
                left.iter().for_each(|mask| none.some.add(*mask));
                none.some.add(Place::Rest(n));
                let back = possible && self.go(n, empty, none);
                facts.some.add(Place::Exec);
                // Lanes that continue may also wait where they continue.
                if let Some(mask) = side(!inverted) {
                    facts.moves(Place::Exec, &[mask]);
                    facts.some.add(mask);
                }
                self.go(n, to, facts) || back
            }
            Go::End => false,
        }
    }

    /// The wave goes to the landing of a later block, or back to the body of a loop's header.
    fn go(&mut self, from: Position, to: Position, facts: Facts) -> bool {
        if to > from {
            come(&mut self.landings[to as usize], facts);
            return false;
        }
        come(&mut self.bodies[to as usize], facts)
    }
}

/// Another way to a point; whether fewer facts hold there now.
fn come(at: &mut Option<Facts>, facts: Facts) -> bool {
    match at {
        Some(known) => known.meet(&facts),
        None => {
            *at = Some(facts);
            true
        }
    }
}
