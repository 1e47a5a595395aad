//! What local variables hold at the current place, as far as that is known from what was stored or loaded before: a load of
//! it gives the value itself.
//!
//! Compilers keep every variable in memory, so without this much of what the passes go through would be loads, and vectors
//! that are put together and taken apart. The stores stay, because others may load what they store; `dce` removes those
//! that nothing loads.
//!
//! A note is valid where its place dominates the current one, and nothing else may have been stored there since. Blocks are
//! translated in reverse postorder, so what runs between two places is translated between them, except for what comes around
//! a loop: everything is forgotten at the start of a block that is jumped back to.

use crate::ir::{LocalId, Value};
use crate::workspace::{Kept, List, filled, take};
use rustc_hash::FxHashMap;

/// A stretch of straight-line code, by its index in [`Contents::places`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place(u32);

/// What is known of a place: those that dominate it.
#[derive(Clone, Copy, Debug, Default)]
struct Dominators {
    parent: Place,
    /// One further up, so that few steps lead to any of them.
    jump: Place,
    depth: u32,
}

/// A leaf of a variable.
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
    /// By variable and byte offset.
    notes: Kept<FxHashMap<(LocalId, u32), Note>>,
    places: List<Dominators>,
    here: Place,
    /// A place that dominates the shader's exit, once something has jumped there.
    exit: Option<Place>,
    /// By variable, the time from which on notes are valid.
    valid: List<u32>,
    /// The time from which on any note is valid.
    start: u32,
    /// How often something was forgotten so far.
    now: u32,
}

impl Contents {
    /// Nothing is known, at the start of the shader.
    pub(super) fn new() -> Self {
        let places = filled(1, Dominators::default());
        let here = Place::default();
        Self { notes: take(), places, here, exit: None, valid: List::default(), start: 0, now: 0 }
    }

    /// The current place.
    pub(super) fn here(&self) -> Place {
        self.here
    }

    /// Goes to the start of a block, which is only reached from the end of a place. `again`: it is jumped back to.
    pub(super) fn enter(&mut self, parent: Place, again: bool) {
        let above = self.above(parent);
        let further = self.above(above.jump);
        let next = self.above(further.jump);
        // Two jumps of one length are followed by one over both.
        let jump = if above.depth - further.depth == further.depth - next.depth { further.jump } else { parent };
        self.here = Place(self.places.len() as u32);
        self.places.push(Dominators { parent, jump, depth: above.depth + 1 });
        if again {
            self.now += 1;
            self.start = self.now;
        }
    }

    /// The current place ends with a jump to the shader's exit.
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

    /// The same of a variable that is stored only at one place; what it holds stays known in loops.
    pub(super) fn only(&self, local: LocalId, offset: u32) -> Option<Value> {
        let note = self.notes.get(&(local, offset))?;
        self.is_passed(note.place).then_some(note.value)
    }

    /// Notes the value of a variable's leaf.
    pub(super) fn note(&mut self, local: LocalId, offset: u32, value: Value) {
        self.notes.insert((local, offset), Note { value, place: self.here, time: self.now });
    }

    /// Nothing is known of a variable any more.
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
