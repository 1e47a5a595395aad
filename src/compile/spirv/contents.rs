//! What local variables are known to hold at the current place, by earlier stores and loads: a load of a known leaf
//! gives its value and needs no code.
//!
//! Compilers keep every variable in memory, so without this much of the code that the passes go through would be loads,
//! and vectors that are put together and taken apart. The stores stay, because other loads may read what they store;
//! `dce` removes the stores that no load reads.
//!
//! A note of a leaf's value is valid if its place dominates the current one and nothing else may have been stored there
//! since. Blocks are translated in reverse postorder, so code that runs between two places is translated between them,
//! except for code that runs on the way around a loop: at the start of a block that is jumped back to, everything is
//! forgotten.

use dovetail_base::workspace::{Kept, List, filled, take};
use dovetail_ir::{LocalId, Value};
use rustc_hash::FxHashMap;

/// A stretch of straight-line code, by its index in [`Contents::places`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place(u32);

/// The places that dominate a place.
#[derive(Clone, Copy, Debug, Default)]
struct Dominators {
    parent: Place,
    /// A dominator further up, so that few steps lead to any of them.
    jump: Place,
    depth: u32,
}

/// The value of a variable's leaf, with the place and the time of the store or load that made it known.
#[derive(Clone, Copy, Debug)]
struct Note {
    value: Value,
    place: Place,
    time: u32,
}

/// The known leaves of local variables. A variable's type says where its leaves are, whichever pointer reaches them, so no
/// two of them overlap.
#[derive(Debug)]
pub(super) struct Contents {
    /// By variable and byte offset: the last note about the leaf.
    notes: Kept<FxHashMap<(LocalId, u32), Note>>,
    places: List<Dominators>,
    here: Place,
    /// A place that dominates the shader's exit, once something has jumped there.
    exit: Option<Place>,
    /// By variable: the time from which on its notes are valid.
    valid: List<u32>,
    /// The time from which on notes about any variable are valid.
    start: u32,
    /// The current time: how often something was forgotten so far.
    now: u32,
}

impl Contents {
    /// The state at the start of the shader, where nothing is known.
    pub(super) fn new() -> Self {
        let places = filled(1, Dominators::default());
        let here = Place::default();
        Self { notes: take(), places, here, exit: None, valid: List::default(), start: 0, now: 0 }
    }

    /// The current place.
    pub(super) fn here(&self) -> Place {
        self.here
    }

    /// Goes to the start of a block that is reached only by way of the end of `parent`. `again`: whether a later block
    /// jumps back to it.
    pub(super) fn enter(&mut self, parent: Place, again: bool) {
        let above = self.above(parent);
        let further = self.above(above.jump);
        let next = self.above(further.jump);
        // After two jumps of equal length, the new place gets a jump over both.
        let jump = if above.depth - further.depth == further.depth - next.depth { further.jump } else { parent };
        self.here = Place(self.places.len() as u32);
        self.places.push(Dominators { parent, jump, depth: above.depth + 1 });
        if again {
            self.now += 1;
            self.start = self.now;
        }
    }

    /// Records that the current place ends with a jump to the shader's exit.
    pub(super) fn leave(&mut self) {
        self.exit = Some(if self.exit.is_none() { self.here } else { Place::default() });
    }

    /// Goes to the shader's exit.
    pub(super) fn enter_exit(&mut self) {
        self.enter(self.exit.unwrap_or_default(), false);
    }

    fn above(&self, place: Place) -> Dominators {
        self.places.get(place.0 as usize).copied().unwrap_or_default()
    }

    /// Whether a place dominates the current one.
    fn is_passed(&self, place: Place) -> bool {
        let depth = self.above(place).depth;
        let mut at = self.here;
        while self.above(at).depth > depth {
            let Dominators { parent, jump, .. } = self.above(at);
            at = if self.above(jump).depth >= depth { jump } else { parent };
        }
        at == place
    }

    /// The value that a variable's leaf has here.
    pub(super) fn leaf(&self, local: LocalId, offset: u32) -> Option<Value> {
        let note = self.notes.get(&(local, offset))?;
        let from = self.valid.get(local.index()).map_or(0, |from| *from).max(self.start);
        (note.time >= from && self.is_passed(note.place)).then_some(note.value)
    }

    /// As [`Self::leaf`], for a variable of which only one value is ever stored: it stays known in loops.
    pub(super) fn only(&self, local: LocalId, offset: u32) -> Option<Value> {
        let note = self.notes.get(&(local, offset))?;
        self.is_passed(note.place).then_some(note.value)
    }

    /// Notes the value of a variable's leaf.
    pub(super) fn note(&mut self, local: LocalId, offset: u32, value: Value) {
        self.notes.insert((local, offset), Note { value, place: self.here, time: self.now });
    }

    /// Forgets what a variable holds.
    pub(super) fn forget(&mut self, local: LocalId) {
        self.now += 1;
        if self.valid.len() <= local.index() {
            self.valid.resize(local.index() + 1, 0);
        }
        if let Some(valid) = self.valid.get_mut(local.index()) {
            *valid = self.now;
        }
    }
}
