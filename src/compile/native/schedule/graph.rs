//! The dependency graph of a block: units ordered by values, registers and memory.
//!
//! Values are in SSA form, so only definitions must precede uses. Registers without a value (EXEC, VCC, M0) and
//! variables have several definitions: a write must follow all earlier reads and writes. Dependencies point forward in
//! source order, and each operand has at most a few.

use super::memory::{AccessRange, Kind, Ordering, ordering};
use super::units::{Units, latency};
use crate::compile::native::mir::classes::is_scalar;
use crate::compile::native::mir::{MachineFunction, MachineInst, Opcode, OperandValue, PhysReg, Pseudo, Val};
use crate::isa::Traits;
use rustc_hash::FxHashMap;

/// Accesses of one kind that are told apart before they are taken as one.
const MOST_STORES: usize = 16;
const MOST_LOADS: usize = 64;

/// An edge: one unit must come before another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Cycles between their issues; 0 where only the order counts.
    pub(super) latency: u32,
}

/// The dependencies of a block.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    by_from: Vec<Edge>,
    by_to: Vec<Edge>,
    from_starts: Vec<u32>,
    to_starts: Vec<u32>,
}

impl Graph {
    /// Finds them.
    pub(super) fn new(f: &MachineFunction, units: &Units) -> Self {
        let mut it =
            Builder { f, units, edges: Vec::new(), made: FxHashMap::default(), registers: FxHashMap::default() };
        let mut order = Order { last_all: None, accesses: None, kinds: Default::default() };
        for unit in 0..units.len() {
            for n in units.range(unit) {
                it.registers_of(unit as u32, &f.insts[n as usize]);
                it.order(unit as u32, &f.insts[n as usize], &mut order);
            }
            if units.get(unit).last {
                it.after_all(unit as u32, &mut order);
            }
        }
        // A unit of several instructions keeps their order by itself.
        let edges: Vec<Edge> = it.edges.into_iter().filter(|edge| edge.from != edge.to).collect();
        let (from_starts, by_from) = sorted(&edges, units.len(), |edge| edge.from);
        let (to_starts, by_to) = sorted(&edges, units.len(), |edge| edge.to);
        Self { by_from, by_to, from_starts, to_starts }
    }

    /// Number of units.
    pub(super) fn len(&self) -> usize {
        self.from_starts.len() - 1
    }

    /// Number of dependencies.
    pub(super) fn edges(&self) -> usize {
        self.by_from.len()
    }

    /// Dependencies on a unit.
    pub(super) fn after(&self, unit: usize) -> &[Edge] {
        &self.by_from[self.from_starts[unit] as usize..self.from_starts[unit + 1] as usize]
    }

    /// Dependencies of a unit.
    pub(super) fn before(&self, unit: usize) -> &[Edge] {
        &self.by_to[self.to_starts[unit] as usize..self.to_starts[unit + 1] as usize]
    }
}

fn sorted(edges: &[Edge], count: usize, key: impl Fn(&Edge) -> u32) -> (Vec<u32>, Vec<Edge>) {
    let mut starts = vec![0u32; count + 1];
    edges.iter().for_each(|edge| starts[key(edge) as usize + 1] += 1);
    for n in 1..starts.len() {
        starts[n] += starts[n - 1];
    }
    let mut next = starts.clone();
    let mut out = vec![Edge { from: 0, to: 0, latency: 0 }; edges.len()];
    for edge in edges {
        let at = &mut next[key(edge) as usize];
        out[*at as usize] = *edge;
        *at += 1;
    }
    (starts, out)
}

/// Resources with several definitions.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Held {
    Register(u16),
    Variable(Val),
}

#[derive(Default)]
struct Uses {
    /// The last write, with its latency.
    write: Option<(u32, u32)>,
    reads: Vec<u32>,
}

struct Builder<'a> {
    f: &'a MachineFunction,
    units: &'a Units,
    edges: Vec<Edge>,
    /// The unit that makes a value, and when it is there.
    made: FxHashMap<Val, (u32, u32)>,
    registers: FxHashMap<Held, Uses>,
}

/// The order of accesses so far.
struct Order {
    /// The last unit that is in order with all.
    last_all: Option<u32>,
    /// The last one that is in order with all accesses.
    accesses: Option<u32>,
    kinds: [Accesses; Kind::COUNT],
}

#[derive(Default)]
struct Accesses {
    loads: Vec<(u32, AccessRange)>,
    stores: Vec<(u32, AccessRange)>,
}

impl Builder<'_> {
    fn edge(&mut self, from: u32, to: u32, latency: u32) {
        self.edges.push(Edge { from, to, latency });
    }

    fn registers_of(&mut self, unit: u32, inst: &MachineInst) {
        let f = self.f;
        let cycles = latency(f, inst).result();
        for one in f.uses(inst) {
            match one.what {
                OperandValue::Val(val) if f.values[val.index()].variable => self.read(unit, Held::Variable(val)),
                OperandValue::Val(val) => {
                    if let Some(&(from, cycles)) = self.made.get(&val) {
                        self.edge(from, unit, cycles);
                    }
                }
                OperandValue::Fixed(reg) => self.read(unit, whole(reg)),
                _ => {}
            }
        }
        for reg in implied_reads(f, inst) {
            self.read(unit, whole(reg));
        }
        for one in f.defs(inst) {
            match one.what {
                OperandValue::Val(val) if f.values[val.index()].variable => {
                    self.write(unit, Held::Variable(val), cycles)
                }
                OperandValue::Val(val) => {
                    self.made.insert(val, (unit, cycles));
                }
                OperandValue::Fixed(reg) => self.write(unit, whole(reg), cycles),
                _ => {}
            }
        }
        if inst.is(f.gfx, Traits::EXEC_OUT.or(Traits::EXEC_COMBINED)) {
            self.write(unit, whole(PhysReg::EXEC), cycles);
        }
    }

    fn read(&mut self, unit: u32, place: Held) {
        if is_ordered(place) {
            let uses = self.registers.entry(place).or_default();
            uses.reads.push(unit);
            if let Some((from, cycles)) = uses.write {
                self.edge(from, unit, cycles);
            }
        }
    }

    fn write(&mut self, unit: u32, place: Held, cycles: u32) {
        if is_ordered(place) {
            let uses = self.registers.entry(place).or_default();
            let before = std::mem::take(&mut uses.reads);
            let last = uses.write.replace((unit, cycles));
            last.into_iter().map(|(from, _)| from).chain(before).for_each(|from| self.edge(from, unit, 0));
        }
    }

    fn order(&mut self, unit: u32, inst: &MachineInst, order: &mut Order) {
        if let Some(from) = order.last_all {
            self.edge(from, unit, 0);
        }
        match ordering(self.f, inst) {
            Ordering::Free => {}
            Ordering::Load(kind, place) => {
                self.after_accesses(unit, order);
                let of = &mut order.kinds[kind as usize];
                of.stores.iter().filter(|(_, other)| !place.is_apart(other)).for_each(|(from, _)| {
                    self.edges.push(Edge { from: *from, to: unit, latency: 0 });
                });
                of.loads.push((unit, place));
            }
            Ordering::Store(kind, place) => {
                self.after_accesses(unit, order);
                let of = &mut order.kinds[kind as usize];
                let full = of.stores.len() >= MOST_STORES || of.loads.len() > MOST_LOADS;
                let before = of.stores.iter().chain(&of.loads).filter(|(_, other)| full || !place.is_apart(other));
                before.for_each(|(from, _)| self.edges.push(Edge { from: *from, to: unit, latency: 0 }));
                if full {
                    of.stores.clear();
                    of.loads.clear();
                }
                of.stores.push((unit, if full { AccessRange::default() } else { place }));
                if kind == Kind::Exports {
                    // What other stages or the host see is in the order of the code.
                    self.after_stores(unit, order);
                }
            }
            Ordering::Accesses => {
                self.after_accesses(unit, order);
                for of in &mut order.kinds {
                    for (from, _) in of.loads.drain(..).chain(of.stores.drain(..)) {
                        self.edges.push(Edge { from, to: unit, latency: 0 });
                    }
                }
                order.accesses = Some(unit);
            }
            Ordering::All => self.after_all(unit, order),
        }
    }

    fn after_accesses(&mut self, unit: u32, order: &Order) {
        if let Some(from) = order.accesses {
            self.edge(from, unit, 0);
        }
    }

    /// An export comes after the stores before it.
    fn after_stores(&mut self, unit: u32, order: &Order) {
        for kind in [Kind::Buffers, Kind::Images] {
            if let Some((from, _)) = order.kinds[kind as usize].stores.last() {
                self.edge(*from, unit, 0);
            }
        }
    }

    /// The unit comes after all before it, and all later ones after it.
    fn after_all(&mut self, unit: u32, order: &mut Order) {
        for from in order.last_all.unwrap_or(0)..unit {
            self.edge(from, unit, 0);
        }
        order.last_all = Some(unit);
        debug_assert!((unit as usize) < self.units.len());
    }
}

/// Whether the order of writes counts.
fn is_ordered(place: Held) -> bool {
    match place {
        Held::Register(n) => {
            let free = n == PhysReg::NULL.0 || n == PhysReg::SCC.0;
            // The scratch descriptor is written before the first instruction.
            !free && !(PhysReg::SCRATCH.0..PhysReg::SCRATCH.0 + 4).contains(&n)
        }
        Held::Variable(_) => true,
    }
}

/// Treats the halves of a mask as one.
const fn whole(reg: PhysReg) -> Held {
    Held::Register(match reg {
        PhysReg::VCC_HI => PhysReg::VCC.0,
        PhysReg::EXEC_HI => PhysReg::EXEC.0,
        other => other.0,
    })
}

/// Registers that are read without being operands.
fn implied_reads(f: &MachineFunction, inst: &MachineInst) -> impl Iterator<Item = PhysReg> + use<> {
    let lanes = match inst.op {
        Opcode::Isa(op) => {
            let row = op.entry(f.gfx);
            let reads = if is_scalar(row.format) {
                row.is(Traits::EXEC_IN.or(Traits::EXEC_COMBINED))
            } else {
                !row.is(Traits::ANY_LANES)
            };
            reads.then_some(PhysReg::EXEC)
        }
        // A copy may copy vectors.
        Opcode::Pseudo(Pseudo::Copy) => Some(PhysReg::EXEC),
        Opcode::Pseudo(_) => None,
    };
    let m0 = inst.is(f.gfx, Traits::M0_IN).then_some(PhysReg::M0);
    let vcc = inst.is(f.gfx, Traits::VCC_IN).then_some(PhysReg::VCC);
    lanes.into_iter().chain(m0).chain(vcc)
}
