//! What is known of values on their way to an output: the same bits on every path, or none at all.
//!
//! Front ends collect outputs in locals, and modules store whole vectors and blocks of which they wrote a part. So both
//! questions look through locals, vectors and block parameters. What nothing gives bits is not written: an epilog that
//! exported it would read a register that holds whatever was left there.

use crate::ir::{BlockCall, BlockId, Inst, LocalId, Op, Shader, Terminator, Value, ValueDef};
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, BTreeSet};

/// What has bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// One lane of a value.
    Lane(Value, u8),
    /// Bytes of a local: the first, and how many.
    Place(LocalId, u64, u64),
}

/// Few holders have more sources than a vector has lanes.
type Holders = SmallVec<[Holder; 4]>;

/// What gives a holder its bits.
enum Origin {
    /// Nothing: it was never made.
    Nothing,
    /// Others, each on some path.
    From(Holders),
    /// Something else.
    Work,
}

/// What is known of the stores to a local.
#[derive(Clone, Default)]
struct Stores {
    /// Bytes of the largest.
    widest: u64,
    /// Some place is not known.
    anywhere: bool,
}

/// What has been found of a holder.
#[derive(Default)]
struct Found {
    /// It has been asked for.
    asked: bool,
    /// Nothing gives it bits.
    undefined: bool,
    /// The first in `takers` of those that come from it, plus one.
    takers: u32,
}

/// Where the values of a shader come from.
pub(super) struct Origins<'a> {
    shader: &'a Shader,
    /// The jumps, by the block that they go to.
    calls: Vec<(BlockId, &'a BlockCall)>,
    /// By local.
    stores: Vec<Stores>,
    /// Local, first byte and value of each store whose place is known, sorted.
    placed: Vec<(LocalId, u64, Value)>,
    /// Places in `found`.
    holders: BTreeMap<Holder, u32>,
    found: Vec<Found>,
    /// A holder by its place, and the next in its list plus one.
    takers: Vec<(u32, u32)>,
    /// The bits of places of locals that were asked for.
    constants: BTreeMap<Holder, Option<u64>>,
}

impl<'a> Origins<'a> {
    /// Those of a shader as it is now.
    pub(super) fn new(shader: &'a Shader) -> Self {
        let calls = shader.blocks.iter().filter_map(|b| b.term.as_ref()).flat_map(Terminator::calls);
        let mut calls: Vec<(BlockId, &BlockCall)> = calls.map(|call| (call.block, call)).collect();
        calls.sort_by_key(|(block, _)| *block);
        let mut stores = vec![Stores::default(); shader.locals.len()];
        let mut placed = Vec::with_capacity(32);
        for inst in shader.live_insts() {
            let (&Op::LocalStore { local, .. }, &[at, value]) = (&inst.op, inst.args.as_slice()) else { continue };
            let Some(all) = stores.get_mut(local.index()) else { continue };
            all.widest = all.widest.max(u64::from(shader.ty(value).bytes()));
            match shader.as_const(at) {
                Some(at) => placed.push((local, at, value)),
                None => all.anywhere = true,
            }
        }
        placed.sort_unstable();
        Self {
            shader,
            calls,
            stores,
            placed,
            holders: BTreeMap::new(),
            found: Vec::with_capacity(64),
            takers: Vec::with_capacity(64),
            constants: BTreeMap::new(),
        }
    }

    /// The bits of a constant, also of one that was kept in a local: if every store that touches the place puts the same bits
    /// there, a load of it has those; what is undefined may be any.
    pub(super) fn constant(&mut self, v: Value) -> Option<u64> {
        if !matches!(self.shader.def(v)?.op, Op::LocalLoad { .. }) {
            return self.shader.as_const(v);
        }
        let place = self.place(v, 0)?;
        if let Some(known) = self.constants.get(&place) {
            return *known;
        }
        let bits = self.stored_at(place).and_then(|stored| self.common(stored));
        self.constants.insert(place, bits);
        bits
    }

    /// The bits that all of these have which have any.
    fn common(&mut self, stored: Holders) -> Option<u64> {
        self.find_undefined(stored.iter().copied().collect());
        let mut bits = None;
        for holder in stored.into_iter().filter(|&holder| !self.is_undefined(holder)) {
            let Holder::Lane(value, lane) = holder else { return None };
            let stored = match self.shader.def(value) {
                Some(Inst { op: Op::Compose, args, .. }) => self.shader.as_const(*args.get(usize::from(lane))?)?,
                _ => self.shader.as_const(value)?,
            };
            if bits.replace(stored).is_some_and(|other| other != stored) {
                return None;
            }
        }
        bits
    }

    /// The values that are stored to outputs and have no bits.
    pub(super) fn undefined_outputs(&mut self) -> BTreeSet<Value> {
        let stores = self.shader.live_insts().filter(|inst| matches!(inst.op, Op::StoreOutput { .. }));
        let stored: SmallVec<[Value; 32]> = stores.filter_map(|store| store.args.first().copied()).collect();
        self.find_undefined(stored.iter().map(|&v| Holder::Lane(v, 0)).collect());
        stored.into_iter().filter(|&v| self.is_undefined(Holder::Lane(v, 0))).collect()
    }

    /// What [`Self::find_undefined`] has found.
    fn is_undefined(&self, holder: Holder) -> bool {
        self.holders.get(&holder).is_some_and(|n| self.found[*n as usize].undefined)
    }

    /// The place of a holder in `found`.
    fn place_of(&mut self, holder: Holder) -> u32 {
        let found = &mut self.found;
        *self.holders.entry(holder).or_insert_with(|| {
            found.push(Found::default());
            found.len() as u32 - 1
        })
    }

    /// Finds out of these, and of all that they come from, whether nothing gives them bits: none were made, or they come from
    /// such by vectors, locals and block parameters. What depends on itself and nothing else has none either. Each is looked
    /// at once, and none by recursion: a module may lead a value through as many blocks as it likes.
    fn find_undefined(&mut self, mut open: SmallVec<[Holder; 32]>) {
        let mut defined: SmallVec<[u32; 32]> = SmallVec::new();
        while let Some(holder) = open.pop() {
            let at = self.place_of(holder);
            let found = &mut self.found[at as usize];
            if std::mem::replace(&mut found.asked, true) {
                continue;
            }
            found.undefined = true;
            match self.origin(holder) {
                Origin::Nothing => {}
                Origin::Work => defined.push(at),
                Origin::From(sources) => {
                    for source in sources {
                        let from = self.place_of(source);
                        let from = &mut self.found[from as usize];
                        if from.asked && !from.undefined {
                            defined.push(at);
                        } else {
                            self.takers.push((at, from.takers));
                            from.takers = self.takers.len() as u32;
                            open.push(source);
                        }
                    }
                }
            }
        }
        while let Some(at) = defined.pop() {
            let found = &mut self.found[at as usize];
            if std::mem::take(&mut found.undefined) {
                let mut next = std::mem::take(&mut found.takers);
                while let Some(&(taker, after)) = next.checked_sub(1).and_then(|n| self.takers.get(n as usize)) {
                    defined.push(taker);
                    next = after;
                }
            }
        }
    }

    fn origin(&self, holder: Holder) -> Origin {
        let (v, lane) = match holder {
            Holder::Lane(v, lane) => (v, lane),
            Holder::Place(..) => return self.stored_at(holder).map_or(Origin::Work, Origin::From),
        };
        let sources = match self.shader.def(v) {
            None => self.passed(v, lane),
            Some(inst) => match inst.op {
                Op::Undef => return Origin::Nothing,
                Op::Compose => inst.args.get(usize::from(lane)).map(|&part| smallvec![Holder::Lane(part, 0)]),
                Op::Extract(which) => inst.args.first().map(|&whole| smallvec![Holder::Lane(whole, which)]),
                Op::Bitcast => inst.args.first().map(|&from| lanes(self.shader, from)),
                Op::LocalLoad { .. } => self.place(v, lane).map(|place| smallvec![place]),
                _ => None,
            },
        };
        sources.map_or(Origin::Work, Origin::From)
    }

    /// What is passed to a block's parameter; none if it comes from outside, as those of the entry do.
    fn passed(&self, v: Value, lane: u8) -> Option<Holders> {
        let ValueDef::Param(block, nth) = self.shader.values.get(v.index())?.def else { return None };
        if block == Shader::ENTRY {
            return None;
        }
        let first = self.calls.partition_point(|(to, _)| *to < block);
        let calls = self.calls[first..].iter().take_while(|(to, _)| *to == block);
        calls.map(|(_, call)| Some(Holder::Lane(*call.args.get(nth as usize)?, lane))).collect()
    }

    /// Where a load reads one of its lanes; none if that is not known.
    fn place(&self, load: Value, lane: u8) -> Option<Holder> {
        let Inst { op: Op::LocalLoad { local, .. }, args, .. } = self.shader.def(load)? else { return None };
        let bytes = u64::from(self.shader.ty(load).element().bytes());
        let offset = self.shader.as_const(*args.first()?)? + u64::from(lane) * bytes;
        Some(Holder::Place(*local, offset, bytes))
    }

    /// The lanes that stores put at a place; none if not all of them are known.
    fn stored_at(&self, place: Holder) -> Option<Holders> {
        let Holder::Place(local, offset, bytes) = place else { return None };
        let Some(stores) = self.stores.get(local.index()) else { return Some(Holders::new()) };
        if stores.anywhere {
            return None;
        }
        let before = |&(l, at, _): &(LocalId, u64, Value)| (l, at.saturating_add(stores.widest)) <= (local, offset);
        let placed = &self.placed[self.placed.partition_point(before)..];
        let mut all = Holders::new();
        for &(_, at, value) in placed.iter().take_while(|&&(l, at, _)| l == local && at < offset + bytes) {
            let (size, each) = (self.shader.ty(value).bytes(), self.shader.ty(value).element().bytes());
            let (size, each) = (u64::from(size), u64::from(each));
            if at.saturating_add(size) <= offset {
                continue;
            }
            if each != bytes || offset < at || !(offset - at).is_multiple_of(each) {
                return None;
            }
            all.push(Holder::Lane(value, u8::try_from((offset - at) / each).ok()?));
        }
        Some(all)
    }
}

fn lanes(shader: &Shader, v: Value) -> Holders {
    (0..).take(shader.ty(v).lanes() as usize).map(|lane| Holder::Lane(v, lane)).collect()
}
