//! Proves that the wave has a lane in every block, so that it cannot go around a loop for ever with EXEC = 0.
//!
//! The facts are *covers*: sets of EXEC and masks of which at least one holds a lane. The shader starts with the cover
//! `{EXEC}`. When lanes leave EXEC for masks, the cover that held EXEC holds these masks instead; when a mask is added to
//! EXEC, EXEC replaces it. A block's body needs the cover `{EXEC}`: its landing has just tested EXEC, or no other place
//! is left where the lanes of a cover could be. Nothing here knows how the plan was made.

use super::{Exit, Go, Landing, MaskId, MaskSource, Plan, Position};
use crate::error::{Error, Result};
use crate::workspace::{List, filled};
use smallvec::{SmallVec, smallvec};

/// Where lanes may be: EXEC, a mask, or the part of a closed branch's saved lanes that did not take its first target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Exec,
    Mask(MaskId),
    Rest(Position),
}

/// Places in order, at least one of which holds a lane.
type Cover = SmallVec<[Place; 6]>;

/// Covers that hold at one point of the wave's way, in order; none contains another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Covers(List<Cover>);

/// Covers that two ways do not share are combined only up to this number of pairs; the others are forgotten.
const MOST_PAIRS: usize = 64;

impl Covers {
    fn entry() -> Self {
        let mut it = Self::default();
        it.some_in_exec();
        it
    }

    fn some_in_exec(&mut self) {
        self.add(smallvec![Place::Exec]);
    }

    fn has_lanes(&self) -> bool {
        self.holds(&[Place::Exec])
    }

    fn holds(&self, cover: &[Place]) -> bool {
        self.0.binary_search_by(|known| known[..].cmp(cover)).is_ok()
    }

    fn add(&mut self, cover: Cover) {
        let within = |a: &Cover, b: &Cover| a.iter().all(|place| b.contains(place));
        // Covers of one place, of which there is one for each enclosing branch, are found without a search.
        if cover.iter().any(|place| self.holds(&[*place])) || self.0.iter().any(|known| within(known, &cover)) {
            return;
        }
        self.0.retain(|known| !within(&cover, known));
        let at = self.0.partition_point(|known| *known < cover);
        self.0.insert(at, cover);
    }

    /// The covers with a place, each with others in place of it.
    fn moved(&self, from: Place, to: &[Place]) -> List<Cover> {
        self.0.iter().filter(|cover| cover.contains(&from)).map(|cover| moved(cover, from, to)).collect()
    }

    fn add_all(&mut self, covers: &[Cover]) {
        covers.iter().for_each(|cover| self.add(cover.clone()));
    }

    /// The lanes of `from` are now also in these places.
    fn also(&mut self, from: Place, to: &[Place]) {
        let copies = self.moved(from, to);
        self.add_all(&copies);
    }

    /// A place gets other lanes.
    fn forget(&mut self, place: Place) {
        self.0.retain(|cover| !cover.contains(&place));
    }

    /// A place is empty; `false` if this cannot be.
    fn empty(&mut self, place: Place) -> bool {
        let rest = self.moved(place, &[]);
        self.forget(place);
        self.add_all(&rest);
        !self.0.iter().any(SmallVec::is_empty)
    }

    /// Keeps what also holds on another way; whether that is less.
    fn meet(&mut self, other: &Self) -> bool {
        let [mut own, mut others] = [&*self, other].map(|_| List::<Cover>::default());
        own.extend(self.0.iter().filter(|cover| !other.holds(cover)).cloned());
        if own.is_empty() {
            return false;
        }
        others.extend(other.0.iter().filter(|cover| !self.holds(cover)).cloned());
        let before = self.clone();
        self.0.retain(|cover| other.holds(cover));
        for (a, b) in own.iter().flat_map(|a| others.iter().map(move |b| (a, b))).take(MOST_PAIRS) {
            let mut both: Cover = a.iter().chain(b).copied().collect();
            both.sort_unstable();
            both.dedup();
            self.add(both);
        }
        *self != before
    }
}

/// A cover with one place replaced by others.
fn moved(cover: &Cover, from: Place, to: &[Place]) -> Cover {
    let mut new: Cover = cover.iter().filter(|place| **place != from).chain(to).copied().collect();
    new.sort_unstable();
    new.dedup();
    new
}

impl Plan {
    /// Checks that no block is executed, and so no loop continued, without a lane.
    ///
    /// # Errors
    /// A bug: the block that may have none.
    pub fn verify(&self) -> Result<()> {
        let mut proof =
            Proof { plan: self, landings: filled(self.exits.len(), None), bodies: filled(self.exits.len(), None) };
        proof.landings[0] = Some(Covers::entry());
        // Facts come down the layout in one pass, and around loops in the next.
        while proof.pass() {}
        for (n, body) in (0..).zip(&proof.bodies) {
            if body.as_ref().is_some_and(|covers| !covers.has_lanes()) {
                return Err(Error::bug(format!("native: the wave may come to block {n} of the layout without a lane")));
            }
        }
        Ok(())
    }
}

struct Proof<'a> {
    plan: &'a Plan,
    /// By position: the covers where the wave comes to its landing, if it does.
    landings: List<Option<Covers>>,
    /// By position: the covers at the beginning of its body.
    bodies: List<Option<Covers>>,
}

impl Proof<'_> {
    /// Follows all blocks once; whether a fact was lost on a way back.
    fn pass(&mut self) -> bool {
        let mut again = false;
        for n in 0..self.plan.exits.len() as Position {
            if let Some(covers) = self.landings[n as usize].clone() {
                self.land(n, covers);
            }
            if let Some(covers) = self.bodies[n as usize].clone() {
                again |= self.leave(n, covers);
            }
        }
        again
    }

    fn land(&mut self, n: Position, mut covers: Covers) {
        let Landing { replace, add, skip } = &self.plan.landings[n as usize];
        if let Some(source) = replace {
            covers.forget(Place::Exec);
            let source = match source {
                MaskSource::Mask(mask) => Place::Mask(*mask),
                MaskSource::Rest(branch) => Place::Rest(*branch),
            };
            covers.also(source, &[Place::Exec]);
        }
        for mask in add {
            covers.also(Place::Mask(*mask), &[Place::Exec]);
        }
        if let Some(skip) = *skip {
            let mut skipped = covers.clone();
            let none = std::iter::once(Place::Exec).chain(add.iter().map(|mask| Place::Mask(*mask)));
            if none.fold(true, |may, place| skipped.empty(place) && may) {
                come(&mut self.landings[skip as usize], skipped);
            }
            covers.some_in_exec();
        }
        come(&mut self.bodies[n as usize], covers);
    }

    fn leave(&mut self, n: Position, mut covers: Covers) -> bool {
        let Exit { wait, wait_if, save, go } = &self.plan.exits[n as usize];
        for mask in self.plan.clears.of(n as usize) {
            covers.forget(Place::Mask(*mask));
        }
        for mask in wait {
            covers.also(Place::Exec, &[Place::Mask(*mask)]);
        }
        let sides =
            |wanted: bool| wait_if.iter().filter(move |(_, side)| *side == wanted).map(|(mask, _)| Place::Mask(*mask));
        for (a, b) in sides(true).flat_map(|a| sides(false).map(move |b| (a, b))) {
            covers.also(Place::Exec, &[a, b]);
        }
        if let Go::Divergent { inverted, to, empty } = *go {
            let mut parts = List::<Cover>::default();
            if let Some(save) = *save {
                covers.forget(Place::Mask(save));
                covers.forget(Place::Rest(n));
                parts.extend_from_slice(&covers.moved(Place::Exec, &[Place::Mask(save)]));
                parts.extend_from_slice(&covers.moved(Place::Exec, &[Place::Exec, Place::Rest(n)]));
            }
            // The lanes that leave are those with the condition if it is inverted.
            for mask in sides(inverted) {
                parts.extend_from_slice(&covers.moved(Place::Exec, &[Place::Exec, mask]));
            }
            covers.forget(Place::Exec);
            covers.add_all(&parts);
            let mut none = covers.clone();
            let back = none.empty(Place::Exec) && self.go(n, empty, none);
            covers.some_in_exec();
            // Lanes that continue may also wait where they continue.
            for mask in sides(!inverted) {
                covers.also(Place::Exec, &[mask]);
            }
            return self.go(n, to, covers) || back;
        }
        match *go {
            Go::To(to) => self.go(n, to, covers),
            Go::Uniform(then, els) => {
                let first = self.go(n, then, covers.clone());
                self.go(n, els, covers) || first
            }
            Go::Divergent { .. } | Go::End => false,
        }
    }

    /// The wave goes to the landing of a later block, or back to the body of a loop's header.
    fn go(&mut self, from: Position, to: Position, covers: Covers) -> bool {
        if to > from {
            come(&mut self.landings[to as usize], covers);
            return false;
        }
        come(&mut self.bodies[to as usize], covers)
    }
}

/// Another way to a point; whether fewer facts hold there now.
fn come(at: &mut Option<Covers>, covers: Covers) -> bool {
    match at {
        Some(known) => known.meet(&covers),
        None => {
            *at = Some(covers);
            true
        }
    }
}
