//! Facts about values stored to outputs: constant on every path, or undefined.
//!
//! Front ends collect outputs in locals, and modules store whole vectors and blocks of which they wrote a part. So both
//! analyses look through locals, vectors and block parameters. An undefined value counts as unwritten: an epilog that
//! exported it would read old register contents.

use dovetail_base::workspace::{Kept, List, filled};
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{Inst, LocalId, Op, Shader, Value, ValueDef};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A lane of a value, or bytes of a local.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Holder {
    /// One lane of a value.
    Lane(Value, u8),
    /// Bytes of a local: offset and size.
    Place(LocalId, u64, u64),
}

/// Origin of a holder's bits.
enum Origin {
    /// None: the bits are undefined.
    Nothing,
    /// Other holders, each on some path.
    Sources,
    /// Any other operation.
    Work,
}

/// Facts about the stores to a local.
#[derive(Clone, Default)]
struct Stores {
    /// Size of the widest store in bytes.
    widest: u64,
    /// A store has an unknown offset.
    anywhere: bool,
}

/// State of a holder in the search.
#[derive(Default)]
struct Found {
    /// It has been visited.
    asked: bool,
    /// It is undefined.
    undefined: bool,
    /// Index in `takers` of the first holder that takes bits from it, plus one.
    takers: u32,
}

/// Sources of the values of a shader.
pub(super) struct Origins<'a> {
    shader: &'a Shader,
    cfg: Arc<Cfg>,
    /// Stores by local.
    stores: List<Stores>,
    /// Local, offset and value of each store with a known offset, sorted.
    placed: List<(LocalId, u64, Value)>,
    /// Index in `found` by holder.
    holders: Kept<FxHashMap<Holder, u32>>,
    found: List<Found>,
    /// A holder's index in `found`, and the next entry of its list plus one.
    takers: List<(u32, u32)>,
    /// The constants found in locals so far.
    constants: Kept<FxHashMap<Holder, Option<u64>>>,
}

impl<'a> Origins<'a> {
    /// The sources in the shader in its current state.
    pub(super) fn new(shader: &'a Shader) -> Self {
        let mut stores = filled(shader.locals.len(), Stores::default());
        let mut placed = List::default();
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
            cfg: shader.cfg(),
            stores,
            placed,
            holders: Kept::default(),
            found: List::default(),
            takers: List::default(),
            constants: Kept::default(),
        }
    }

    /// The bits of a constant, including a constant kept in a local: if every store to its bytes stores the same bits,
    /// a load returns these; undefined bits may be any.
    pub(super) fn constant(&mut self, v: Value) -> Option<u64> {
        if !matches!(self.shader.def(v)?.op, Op::LocalLoad { .. }) {
            return self.shader.as_const(v);
        }
        let place = self.place(v, 0)?;
        if let Some(known) = self.constants.get(&place) {
            return *known;
        }
        let mut stored = List::default();
        let bits = self.stored_at(place, &mut stored).and_then(|()| self.common(&stored));
        self.constants.insert(place, bits);
        bits
    }

    /// The bits that all of these holders have in common, ignoring undefined ones; `None` if they differ.
    fn common(&mut self, stored: &[Holder]) -> Option<u64> {
        self.find_undefined(stored.iter().copied().collect());
        let mut bits = None;
        for &holder in stored.iter().filter(|&&holder| !self.is_undefined(holder)) {
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

    /// The undefined values that are stored to outputs.
    pub(super) fn undefined_outputs(&mut self) -> BTreeSet<Value> {
        let stores = self.shader.live_insts().filter(|inst| matches!(inst.op, Op::StoreOutput { .. }));
        let stored: List<Value> = stores.filter_map(|store| store.args.first().copied()).collect();
        self.find_undefined(stored.iter().map(|&v| Holder::Lane(v, 0)).collect());
        stored.iter().copied().filter(|&v| self.is_undefined(Holder::Lane(v, 0))).collect()
    }

    /// Whether [`Self::find_undefined`] found the holder undefined.
    fn is_undefined(&self, holder: Holder) -> bool {
        self.holders.get(&holder).is_some_and(|n| self.found[*n as usize].undefined)
    }

    /// The index of a holder in `found`.
    fn place_of(&mut self, holder: Holder) -> u32 {
        let found = &mut self.found;
        *self.holders.entry(holder).or_insert_with(|| {
            found.push(Found::default());
            found.len() as u32 - 1
        })
    }

    /// Finds which of these holders, and of their sources, are undefined: `undef` itself, or made only of undefined
    /// values by vectors, locals and block parameters. A cycle without a defined source is undefined too. Each holder
    /// is visited once, without recursion, because a module may pass a value through any number of blocks.
    fn find_undefined(&mut self, mut open: List<Holder>) {
        let mut defined = List::default();
        let mut sources = List::default();
        while let Some(holder) = open.pop() {
            let at = self.place_of(holder);
            let found = &mut self.found[at as usize];
            if std::mem::replace(&mut found.asked, true) {
                continue;
            }
            found.undefined = true;
            sources.clear();
            match self.origin(holder, &mut sources) {
                Origin::Nothing => {}
                Origin::Work => defined.push(at),
                Origin::Sources => {
                    for &source in &sources {
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

    /// Appends a holder's sources.
    fn origin(&self, holder: Holder, out: &mut Vec<Holder>) -> Origin {
        let found = match holder {
            Holder::Place(..) => self.stored_at(holder, out),
            Holder::Lane(v, lane) => match self.shader.def(v) {
                None => self.passed(v, lane, out),
                Some(inst) => match inst.op {
                    Op::Undef => return Origin::Nothing,
                    Op::Compose => inst.args.get(usize::from(lane)).map(|&part| out.push(Holder::Lane(part, 0))),
                    Op::Extract(which) => inst.args.first().map(|&whole| out.push(Holder::Lane(whole, which))),
                    Op::Bitcast => inst.args.first().map(|&from| out.extend(lanes(self.shader, from))),
                    Op::LocalLoad { .. } => self.place(v, lane).map(|place| out.push(place)),
                    _ => None,
                },
            },
        };
        found.map_or(Origin::Work, |()| Origin::Sources)
    }

    /// Appends the holders passed to a block parameter; `None` if it is not a block parameter, or is one of the entry's.
    fn passed(&self, v: Value, lane: u8, out: &mut Vec<Holder>) -> Option<()> {
        let ValueDef::Param(block, nth) = self.shader.values.get(v.index())?.def else { return None };
        if block == Shader::ENTRY {
            return None;
        }
        // A block that jumps here twice is there twice.
        let callers = self.cfg.preds(block).chunk_by(|a, b| a == b).filter_map(|same| same.first());
        for call in callers.flat_map(|from| self.shader.block(*from).calls().filter(|call| call.block == block)) {
            out.push(Holder::Lane(*call.args.get(nth as usize)?, lane));
        }
        Some(())
    }

    /// The bytes from which a load reads one of its lanes; `None` if the offset is not known.
    fn place(&self, load: Value, lane: u8) -> Option<Holder> {
        let Inst { op: Op::LocalLoad { local, .. }, args, .. } = self.shader.def(load)? else { return None };
        let bytes = u64::from(self.shader.ty(load).element().bytes());
        let offset = self.shader.as_const(*args.first()?)? + u64::from(lane) * bytes;
        Some(Holder::Place(*local, offset, bytes))
    }

    /// Appends the lanes that stores put in these bytes; `None` if not all are known.
    fn stored_at(&self, place: Holder, out: &mut Vec<Holder>) -> Option<()> {
        let Holder::Place(local, offset, bytes) = place else { return None };
        let Some(stores) = self.stores.get(local.index()) else { return Some(()) };
        if stores.anywhere {
            return None;
        }
        let before = |&(l, at, _): &(LocalId, u64, Value)| (l, at.saturating_add(stores.widest)) <= (local, offset);
        let placed = &self.placed[self.placed.partition_point(before)..];
        for &(_, at, value) in placed.iter().take_while(|&&(l, at, _)| l == local && at < offset + bytes) {
            let (size, each) = (self.shader.ty(value).bytes(), self.shader.ty(value).element().bytes());
            let (size, each) = (u64::from(size), u64::from(each));
            if at.saturating_add(size) <= offset {
                continue;
            }
            if each != bytes || offset < at || !(offset - at).is_multiple_of(each) {
                return None;
            }
            out.push(Holder::Lane(value, u8::try_from((offset - at) / each).ok()?));
        }
        Some(())
    }
}

fn lanes(shader: &Shader, v: Value) -> impl Iterator<Item = Holder> {
    (0..).take(shader.ty(v).lanes() as usize).map(move |lane| Holder::Lane(v, lane))
}
