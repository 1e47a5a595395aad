//! Register allocation: assigns registers to values.
//!
//! ```text
//! Function ──Liveness──> exclusive ──> walk (hints, place) ──copies──> Function in physical form
//! ```
//!
//! In physical form every operand is a register, a constant or a relocation, edges pass nothing, and blocks have no
//! parameters. [`super::check_alloc`] checks the result independently.

mod copies;
mod edges;
mod exclusive;
mod hints;
mod masks;
mod output;
mod place;
mod pressure;
mod registers;
mod rivals;
mod room;
mod slots;
mod spill;
mod walk;

#[cfg(test)]
pub(crate) mod tests;

pub use registers::{MaskPlaces, RegSet, RegisterLimits, class_of};

use super::liveness::Liveness;
use super::mir::{MachineBlock, MachineFunction, Operand, OperandValue, PhysReg, RegisterClass};
use dovetail_base::error::{Error, ErrorKind, Result};
use dovetail_base::workspace::{List, filled};
use masks::{Fewer, MaskRoom};
use output::Output;
use pressure::Goal;
use room::Stop;
use spill::{Spilled, spill};

/// SGPRs of the descriptor of scratch memory.
const SCRATCH_REGISTERS: u16 = 4;
/// SGPRs by which the first spilling of scalar values lowers their goal: the descriptor of scratch memory may take
/// them.
const SCRATCH_SGPRS: u32 = 4;
/// The function is refused after so many rounds of spilling.
const MOST_ATTEMPTS: u32 = 10;

/// A function in physical form.
#[derive(Clone, Debug)]
pub struct Allocated {
    /// The code.
    pub function: MachineFunction,
    /// For each of its instructions the index of the original one that it stands for; `None` if it was inserted.
    pub origin: List<Option<u32>>,
    /// Whether values were spilled to scratch memory or to lanes of vector registers.
    pub spilled: bool,
    /// Whether lane masks left their registers: there are more of them than any order of the code could keep.
    pub masks_left: bool,
}

/// The registers that values of a function may have: without those of its scratch descriptor.
pub fn open_registers(f: &MachineFunction, limits: RegisterLimits) -> RegSet {
    let mut all = limits.registers();
    if f.scratch_bytes > 0 {
        all.remove_run(PhysReg::SCRATCH, SCRATCH_REGISTERS);
    }
    all
}

/// Gives every value of a verified function a register. If they do not suffice, values leave for scratch memory and for
/// lanes of vector registers; if that does not suffice either, so do lane masks.
///
/// # Errors
/// Unsupported, by name: not enough registers even so. Bugs.
pub fn allocate(f: &MachineFunction, limits: RegisterLimits) -> Result<Allocated> {
    few_params(f, limits)?;
    let scalars = open_registers(f, limits).count(RegisterClass::Scalar);
    let room = |scalars: u32, vectors: u16| Some(MaskRoom { scalars, vectors });
    // At first masks take as many registers as they need (`None`), then fewer SGPRs, and at last no VGPRs either.
    let half = limits.vgprs / 2;
    let steps = [None, room(scalars / 2, half), room(scalars / 4, half), room(0, half), room(0, 0)];
    let (mut refused, mut live) = (None, Some(Liveness::new(f)));
    let first = match limits.masks {
        MaskPlaces::Scalars => 0,
        MaskPlaces::Lanes => 3,
        MaskPlaces::Scratch => 4,
    };
    for step in &steps[first..] {
        let made = match *step {
            None => with_masks(f, &mut live, limits),
            Some(room) => {
                let known = live.take().unwrap_or_else(|| Liveness::new(f));
                match masks::leave(f, &known, room, limits) {
                    Some(fewer) => {
                        drop(known);
                        with_fewer(&fewer, limits)
                    }
                    None if refused.is_none() => with_masks(f, &mut Some(known), limits),
                    None => continue,
                }
            }
        };
        match made {
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported { .. }) => refused = Some(error),
            made => return made,
        }
    }
    Err(refused.unwrap_or_else(|| Error::bug("no allocation was tried")))
}

/// Allocates a function some of whose masks have left their registers.
fn with_fewer(fewer: &Fewer, limits: RegisterLimits) -> Result<Allocated> {
    let lower = RegisterLimits { vgprs: limits.vgprs.saturating_sub(fewer.vectors), ..limits };
    let mut made = with_masks(&fewer.function, &mut None, lower)?;
    lower_lanes(&mut made.function, fewer.vectors, limits);
    trace_back(&mut made.origin, &fewer.origin);
    made.masks_left = true;
    Ok(made)
}

/// Allocates a function whose masks stay in registers. `known` is its liveness, which is kept unless values are
/// spilled.
fn with_masks(f: &MachineFunction, known: &mut Option<Liveness>, limits: RegisterLimits) -> Result<Allocated> {
    let live = known.get_or_insert_with(|| Liveness::new(f));
    let (mut class, mut least) = match once(f, live, limits)? {
        Once::Done(done) => return Ok(finish(f, done, None, limits)),
        Once::Starved(class, stop) => (class, stop),
    };
    let exclusive = exclusive::is_exclusive(f, live);
    let [own_scalars, own_vectors] = exclusive::assigned(f, live, limits)?;
    let scalars = open_registers(f, limits).count(RegisterClass::Scalar) - own_scalars;
    // The first goal is the number of registers that there are; after each attempt that fails, the goal of the class
    // that lacked registers is lowered.
    let mut goal = Goal { scalars, vectors: u32::from(limits.vgprs).saturating_sub(own_vectors) };
    for attempt in 0..MOST_ATTEMPTS {
        let air = if attempt == 0 { 0 } else { 1 + attempt };
        match class {
            RegisterClass::Scalar => {
                goal.scalars = goal.scalars.saturating_sub(if attempt == 0 { SCRATCH_SGPRS } else { air })
            }
            RegisterClass::Vector => goal.vectors = goal.vectors.saturating_sub(air),
        }
        // The liveness is dropped before that of the new code is computed: for large functions it is a large part of
        // all memory.
        let live = known.take().unwrap_or_else(|| Liveness::new(f));
        let spilled = spill(f, &live, &exclusive, goal, limits);
        drop(live);
        let lower = RegisterLimits { vgprs: limits.vgprs.saturating_sub(spilled.lane_registers), ..limits };
        let again = Liveness::new(&spilled.function);
        match once(&spilled.function, &again, lower)? {
            Once::Done(done) => {
                return Ok(finish(&spilled.function, done, Some(&spilled), limits));
            }
            Once::Starved(starved, stop) => (class, least) = (starved, stop),
        }
    }
    Err(least.into_error())
}

/// Rejects functions that spilling cannot help: the parameters of a block are all in registers at once.
fn few_params(f: &MachineFunction, limits: RegisterLimits) -> Result<()> {
    let open = open_registers(f, limits);
    for block in &f.blocks {
        for class in [RegisterClass::Scalar, RegisterClass::Vector] {
            let count = f.params_of(block).iter().filter(|val| f.class(**val) == class).count();
            if count > open.count(class) as usize {
                return Err(Error::unsupported(
                    "native: more values that meet in a block than registers",
                    format!("{count}"),
                ));
            }
        }
    }
    Ok(())
}

/// The outcome of one attempt to allocate.
enum Once {
    Done((List<MachineBlock>, Output)),
    /// The class whose registers did not suffice, and what was missing.
    Starved(RegisterClass, Stop),
}

fn once(f: &MachineFunction, live: &Liveness, limits: RegisterLimits) -> Result<Once> {
    let mut loc = filled(f.values.len(), None);
    let all = open_registers(f, limits);
    let exclusive = exclusive::assign(f, live, &all, &mut loc)?;
    let mut walk = walk::Walk::new(f, live, all.without(&exclusive), loc);
    match walk.run() {
        Ok(blocks) => Ok(Once::Done((blocks, walk.out))),
        Err(stop) => match walk.starved.filter(|_| stop.lacks_registers()) {
            Some(class) => Ok(Once::Starved(class, stop)),
            None => Err(stop.into_error()),
        },
    }
}

/// The function in physical form. `spilled` is what spilling made of the original function, if it did: it knows the
/// original index of each instruction.
fn finish(
    f: &MachineFunction,
    (blocks, output): (List<MachineBlock>, Output),
    spilled: Option<&Spilled>,
    limits: RegisterLimits,
) -> Allocated {
    let mut function = MachineFunction { blocks, insts: output.insts, operands: output.operands, ..f.without_code() };
    let mut origin = output.origin;
    if let Some(spilled) = spilled {
        lower_lanes(&mut function, spilled.lane_registers, limits);
        trace_back(&mut origin, &spilled.origin);
    }
    Allocated { function, origin, spilled: spilled.is_some(), masks_left: false }
}

/// Replaces the indices in `origin`, which are of a rewritten function, with those of the original: `before` has the
/// original index of each rewritten instruction.
fn trace_back(origin: &mut [Option<u32>], before: &[Option<u32>]) {
    origin.iter_mut().for_each(|n| *n = n.and_then(|n| before.get(n as usize).copied().flatten()));
}

/// Moves the vector registers that hold scalar values in their lanes from the top of the limit to right after the
/// highest other one: fewer registers may mean more waves.
fn lower_lanes(f: &mut MachineFunction, count: u16, limits: RegisterLimits) {
    let first = PhysReg::vgpr(limits.vgprs.saturating_sub(count));
    let fixed = |one: &Operand| if let OperandValue::Fixed(reg) = one.what { Some(reg) } else { None };
    let named = f.operands.iter().filter_map(fixed).chain(f.entry.iter().map(|entry| entry.reg));
    let used = named.filter(|reg| *reg < first).filter_map(PhysReg::as_vgpr).max().map_or(0, |most| most + 1);
    for one in &mut f.operands {
        if let OperandValue::Fixed(reg) = one.what
            && reg >= first
            && reg.0 < first.0 + count
        {
            one.what = OperandValue::Fixed(PhysReg::vgpr(used + reg.0 - first.0));
        }
    }
}
