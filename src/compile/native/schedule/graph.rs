//! The dependency graph of a block: units ordered by values, registers and memory.
//!
//! Values are in SSA form, so only definitions must precede uses. Registers without a value (EXEC, VCC, M0) and
//! variables have several definitions: a write must follow all earlier reads and writes. Dependencies point forward in
//! source order, and each operand has at most a few.

use super::memory::{AccessRange, Kind, Ordering, ordering};
use super::units::{Units, latency};
use crate::mir::classes::is_scalar;
use crate::mir::{MachineFunction, MachineInst, Opcode, OperandValue, PhysReg, Pseudo, Val};
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List};
use dovetail_isa::Traits;

/// Most stores, and loads, of one kind of memory that are told apart by address. A store beyond them follows them all,
/// and later accesses follow it.
const MOST_STORES: usize = 16;
const MOST_LOADS: usize = 64;

/// An edge: one unit must come before another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The unit at the other end: the earlier one in `before`, the later one in `after`.
    pub(super) unit: u32,
    /// Cycles between their issues; 0 where only the order counts.
    pub(super) latency: u32,
}

/// The dependencies of a block.
#[derive(Debug, Default)]
pub(super) struct Graph {
    after: Kept<Rows<Edge>>,
    before: Kept<Rows<Edge>>,
}

impl Graph {
    /// Finds the dependencies of a block.
    pub(super) fn find(&mut self, f: &MachineFunction, units: Units<'_>, past: &mut Past) {
        self.before.clear();
        past.begin(f);
        let Past { resources, order } = past;
        let mut it = Builder { f, edges: &mut self.before, resources, unit: 0 };
        for unit in 0..units.len() {
            it.unit = unit as u32;
            for n in units.range(unit) {
                it.registers_of(&f.insts[n as usize]);
                it.order(&f.insts[n as usize], order);
            }
            if units.get(unit).last {
                it.after_all(order);
            }
            it.edges.end();
        }
        let edges = (0..units.len()).flat_map(|to| {
            let turned = move |edge: &Edge| (edge.unit as usize, Edge { unit: to as u32, ..*edge });
            self.before.of(to).iter().map(turned)
        });
        self.after.group(units.len(), edges);
    }

    /// Number of units.
    pub(super) fn len(&self) -> usize {
        self.before.len()
    }

    /// Number of dependencies.
    pub(super) fn edges(&self) -> usize {
        self.before.items().len()
    }

    /// The units that depend on a unit.
    pub(super) fn after(&self, unit: usize) -> &[Edge] {
        self.after.of(unit)
    }

    /// The units on which a unit depends.
    pub(super) fn before(&self, unit: usize) -> &[Edge] {
        self.before.of(unit)
    }
}

/// A resource with several definitions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Register(u16),
    Variable(Val),
}

/// What the units so far have done with a resource.
#[derive(Clone, Copy)]
struct Uses {
    held: Held,
    /// The unit of the last write, and the latency of the write in cycles.
    write: Option<(u32, u32)>,
    /// The last read since that write: index in [`Resources::reads`].
    read: Option<u32>,
}

/// What the units so far have done in the block at hand. It is used for all blocks in turn, to keep its memory.
#[derive(Default)]
pub(super) struct Past {
    resources: Resources,
    order: Order,
}

impl Past {
    fn begin(&mut self, f: &MachineFunction) {
        let Self { resources, order } = self;
        // A new number for each block, so that nothing needs to be cleared.
        resources.block += 1;
        resources.made.resize(f.values.len(), (0, 0, 0));
        resources.held.clear();
        resources.reads.clear();
        (order.last_all, order.accesses) = (None, None);
        for of in &mut order.kinds {
            of.loads.clear();
            of.stores.clear();
        }
    }
}

/// Values and registers.
#[derive(Default)]
struct Resources {
    /// By value: the number of the block in which it was last made, the unit that made it, and the latency in cycles.
    made: List<(u32, u32, u32)>,
    /// Number of the block at hand.
    block: u32,
    /// Resources with several definitions: few.
    held: List<Uses>,
    /// Reads of these resources: the unit, and the index of the read of the same resource before it.
    reads: List<(u32, Option<u32>)>,
}

impl Resources {
    fn uses(&mut self, held: Held) -> &mut Uses {
        let place = self.held.iter().position(|uses| uses.held == held).unwrap_or_else(|| {
            self.held.push(Uses { held, write: None, read: None });
            self.held.len() - 1
        });
        &mut self.held[place]
    }
}

struct Builder<'a> {
    f: &'a MachineFunction,
    /// The dependencies of each unit; the list of the one at hand is open.
    edges: &'a mut Rows<Edge>,
    resources: &'a mut Resources,
    /// The unit at hand.
    unit: u32,
}

/// The units so far after which later units must come.
#[derive(Default)]
struct Order {
    /// The last unit that keeps its order with all units.
    last_all: Option<u32>,
    /// The last unit that keeps its order with all accesses.
    accesses: Option<u32>,
    kinds: [Accesses; Kind::COUNT],
}

#[derive(Default)]
struct Accesses {
    loads: List<(u32, AccessRange)>,
    stores: List<(u32, AccessRange)>,
}

impl Builder<'_> {
    /// Adds a dependency of the unit at hand on another one. Within one unit the instructions keep their order anyway.
    fn edge(&mut self, from: u32, latency: u32) {
        if from != self.unit {
            self.edges.add(Edge { unit: from, latency });
        }
    }

    fn registers_of(&mut self, inst: &MachineInst) {
        let f = self.f;
        let cycles = latency(f, inst).result();
        for one in f.uses(inst) {
            match one.what {
                OperandValue::Val(val) if f.values[val.index()].variable => self.read(Held::Variable(val)),
                OperandValue::Val(val) => {
                    let (block, from, cycles) = self.resources.made[val.index()];
                    if block == self.resources.block {
                        self.edge(from, cycles);
                    }
                }
                OperandValue::Fixed(reg) => self.read(whole(reg)),
                _ => {}
            }
        }
        for reg in implied_reads(f, inst) {
            self.read(whole(reg));
        }
        for one in f.defs(inst) {
            match one.what {
                OperandValue::Val(val) if f.values[val.index()].variable => self.write(Held::Variable(val), cycles),
                OperandValue::Val(val) => self.resources.made[val.index()] = (self.resources.block, self.unit, cycles),
                OperandValue::Fixed(reg) => self.write(whole(reg), cycles),
                _ => {}
            }
        }
        if inst.is(f.isa, Traits::EXEC_OUT.or(Traits::EXEC_COMBINED)) {
            self.write(whole(PhysReg::EXEC), cycles);
        }
    }

    fn read(&mut self, place: Held) {
        if is_ordered(place) {
            let (unit, read) = (self.unit, self.resources.reads.len() as u32);
            let uses = self.resources.uses(place);
            let (before, write) = (uses.read.replace(read), uses.write);
            self.resources.reads.push((unit, before));
            if let Some((from, cycles)) = write {
                self.edge(from, cycles);
            }
        }
    }

    fn write(&mut self, place: Held, cycles: u32) {
        if is_ordered(place) {
            let unit = self.unit;
            let uses = self.resources.uses(place);
            let (mut read, last) = (uses.read.take(), uses.write.replace((unit, cycles)));
            if let Some((from, _)) = last {
                self.edge(from, 0);
            }
            while let Some(n) = read {
                let (from, before) = self.resources.reads[n as usize];
                self.edge(from, 0);
                read = before;
            }
        }
    }

    fn order(&mut self, inst: &MachineInst, order: &mut Order) {
        if let Some(from) = order.last_all {
            self.edge(from, 0);
        }
        match ordering(self.f, inst) {
            Ordering::Free => {}
            Ordering::Load(kind, place) => {
                self.after_accesses(order);
                let of = &mut order.kinds[kind as usize];
                of.stores.iter().filter(|(_, other)| !place.is_apart(other)).for_each(|(from, _)| self.edge(*from, 0));
                of.loads.push((self.unit, place));
            }
            Ordering::Store(kind, place) => {
                self.after_accesses(order);
                let of = &mut order.kinds[kind as usize];
                let full = of.stores.len() >= MOST_STORES || of.loads.len() > MOST_LOADS;
                let before = of.stores.iter().chain(&of.loads).filter(|(_, other)| full || !place.is_apart(other));
                before.for_each(|(from, _)| self.edge(*from, 0));
                if full {
                    of.stores.clear();
                    of.loads.clear();
                }
                of.stores.push((self.unit, if full { AccessRange::default() } else { place }));
                if kind == Kind::Exports {
                    // Other stages and the host must see stores and exports in the order of the code.
                    self.after_stores(order);
                }
            }
            Ordering::Accesses => {
                self.after_accesses(order);
                for of in &mut order.kinds {
                    of.loads.drain(..).chain(of.stores.drain(..)).for_each(|(from, _)| self.edge(from, 0));
                }
                order.accesses = Some(self.unit);
            }
            Ordering::All => self.after_all(order),
        }
    }

    fn after_accesses(&mut self, order: &Order) {
        if let Some(from) = order.accesses {
            self.edge(from, 0);
        }
    }

    /// An export comes after the stores before it.
    fn after_stores(&mut self, order: &Order) {
        for kind in [Kind::Buffers, Kind::Images] {
            if let Some((from, _)) = order.kinds[kind as usize].stores.last() {
                self.edge(*from, 0);
            }
        }
    }

    /// Puts the unit at hand after all earlier units, and before all later ones.
    fn after_all(&mut self, order: &mut Order) {
        (order.last_all.unwrap_or(0)..self.unit).for_each(|from| self.edge(from, 0));
        order.last_all = Some(self.unit);
    }
}

/// Whether accesses to a resource must keep their order.
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
            let row = f.isa.row(op);
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
    let m0 = inst.is(f.isa, Traits::M0_IN).then_some(PhysReg::M0);
    let vcc = inst.is(f.isa, Traits::VCC_IN).then_some(PhysReg::VCC);
    lanes.into_iter().chain(m0).chain(vcc)
}
