//! What is known of values on their way to an output: the same bits on every path, or none at all.
//!
//! Front ends collect outputs in locals, and modules store whole vectors and blocks of which they wrote a part. So both
//! questions look through locals, vectors and block parameters. What nothing gives bits is not written: an epilog that
//! exported it would read a register that holds whatever was left there.

use crate::ir::{BlockCall, BlockId, Inst, LocalId, Op, Shader, Terminator, Value, ValueDef};
use std::collections::{BTreeMap, BTreeSet};

/// What has bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// One lane of a value.
    Lane(Value, u8),
    /// Bytes of a local: the first, and how many.
    Place(LocalId, u64, u64),
}

/// What gives a holder its bits.
enum Origin {
    /// Nothing: it was never made.
    Nothing,
    /// Others, each on some path.
    From(Vec<Holder>),
    /// Something else.
    Work,
}

/// The stores to a local.
#[derive(Default)]
struct Stores {
    /// First byte and value, sorted; of those whose place is known.
    placed: Vec<(u64, Value)>,
    /// Bytes of the largest.
    widest: u64,
    /// Some place is not known.
    anywhere: bool,
}

/// Where the values of a shader come from.
pub(super) struct Origins<'a> {
    shader: &'a Shader,
    /// The jumps to each block.
    calls: BTreeMap<BlockId, Vec<&'a BlockCall>>,
    stores: BTreeMap<LocalId, Stores>,
    /// What was asked for, and whether nothing gives it bits.
    undefined: BTreeMap<Holder, bool>,
    /// The bits of places of locals that were asked for.
    constants: BTreeMap<Holder, Option<u64>>,
}

impl<'a> Origins<'a> {
    /// Those of a shader as it is now.
    pub(super) fn new(shader: &'a Shader) -> Self {
        let mut calls: BTreeMap<BlockId, Vec<&BlockCall>> = BTreeMap::new();
        for call in shader.blocks.iter().filter_map(|b| b.term.as_ref()).flat_map(Terminator::calls) {
            calls.entry(call.block).or_default().push(call);
        }
        let mut stores: BTreeMap<LocalId, Stores> = BTreeMap::new();
        for inst in shader.live_insts() {
            let (&Op::LocalStore { local, .. }, &[at, value]) = (&inst.op, inst.args.as_slice()) else { continue };
            let all = stores.entry(local).or_default();
            all.widest = all.widest.max(u64::from(shader.ty(value).bytes()));
            match shader.as_const(at) {
                Some(at) => all.placed.push((at, value)),
                None => all.anywhere = true,
            }
        }
        stores.values_mut().for_each(|all| all.placed.sort_unstable());
        Self { shader, calls, stores, undefined: BTreeMap::new(), constants: BTreeMap::new() }
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
    fn common(&mut self, stored: Vec<Holder>) -> Option<u64> {
        self.find_undefined(stored.clone());
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
        let stored: Vec<Value> = stores.filter_map(|store| store.args.first().copied()).collect();
        self.find_undefined(stored.iter().map(|&v| Holder::Lane(v, 0)).collect());
        stored.into_iter().filter(|&v| self.is_undefined(Holder::Lane(v, 0))).collect()
    }

    /// What [`Self::find_undefined`] has found.
    fn is_undefined(&self, holder: Holder) -> bool {
        self.undefined.get(&holder).copied().unwrap_or(false)
    }

    /// Finds out of these, and of all that they come from, whether nothing gives them bits: none were made, or they come from
    /// such by vectors, locals and block parameters. What depends on itself and nothing else has none either. Each is looked
    /// at once, and none by recursion: a module may lead a value through as many blocks as it likes.
    fn find_undefined(&mut self, mut open: Vec<Holder>) {
        let mut takers: BTreeMap<Holder, Vec<Holder>> = BTreeMap::new();
        let mut defined = Vec::new();
        while let Some(holder) = open.pop() {
            if self.undefined.contains_key(&holder) {
                continue;
            }
            self.undefined.insert(holder, true);
            match self.origin(holder) {
                Origin::Nothing => {}
                Origin::Work => defined.push(holder),
                Origin::From(sources) => {
                    for source in sources {
                        if self.undefined.get(&source) == Some(&false) {
                            defined.push(holder);
                        } else {
                            takers.entry(source).or_default().push(holder);
                            open.push(source);
                        }
                    }
                }
            }
        }
        while let Some(holder) = defined.pop() {
            if self.undefined.insert(holder, false) == Some(true) {
                defined.extend(takers.remove(&holder).unwrap_or_default());
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
                Op::Compose => inst.args.get(usize::from(lane)).map(|&part| vec![Holder::Lane(part, 0)]),
                Op::Extract(which) => inst.args.first().map(|&whole| vec![Holder::Lane(whole, which)]),
                Op::Bitcast => inst.args.first().map(|&from| lanes(self.shader, from)),
                Op::LocalLoad { .. } => self.place(v, lane).map(|place| vec![place]),
                _ => None,
            },
        };
        sources.map_or(Origin::Work, Origin::From)
    }

    /// What is passed to a block's parameter; none if it comes from outside, as those of the entry do.
    fn passed(&self, v: Value, lane: u8) -> Option<Vec<Holder>> {
        let ValueDef::Param(block, nth) = self.shader.values.get(v.index())?.def else { return None };
        if block == Shader::ENTRY {
            return None;
        }
        let calls = self.calls.get(&block).into_iter().flatten();
        calls.map(|call| Some(Holder::Lane(*call.args.get(nth as usize)?, lane))).collect()
    }

    /// Where a load reads one of its lanes; none if that is not known.
    fn place(&self, load: Value, lane: u8) -> Option<Holder> {
        let Inst { op: Op::LocalLoad { local, .. }, args, .. } = self.shader.def(load)? else { return None };
        let bytes = u64::from(self.shader.ty(load).element().bytes());
        let offset = self.shader.as_const(*args.first()?)? + u64::from(lane) * bytes;
        Some(Holder::Place(*local, offset, bytes))
    }

    /// The lanes that stores put at a place; none if not all of them are known.
    fn stored_at(&self, place: Holder) -> Option<Vec<Holder>> {
        let Holder::Place(local, offset, bytes) = place else { return None };
        let Some(stores) = self.stores.get(&local) else { return Some(Vec::new()) };
        if stores.anywhere {
            return None;
        }
        let first = stores.placed.partition_point(|&(at, _)| at.saturating_add(stores.widest) <= offset);
        let mut all = Vec::new();
        for &(at, value) in stores.placed[first..].iter().take_while(|&&(at, _)| at < offset + bytes) {
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

fn lanes(shader: &Shader, v: Value) -> Vec<Holder> {
    (0..).take(shader.ty(v).lanes() as usize).map(|lane| Holder::Lane(v, lane)).collect()
}
