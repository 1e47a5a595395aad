//! Divides scratch variables into cells that can become SSA values.
//!
//! A variable is promoted if all of its accesses have constant offsets. Every start and end of an accessed scalar is a
//! boundary, and the bytes between two boundaries are a cell. A scalar that covers several cells is composed from them,
//! which is cheap if they have equal sizes; otherwise the variable stays in memory.

use dovetail_base::workspace::{List, filled};
use dovetail_ir::{Bits, Inst, Shader, Type, Value};

/// Largest variable in bytes that is promoted. A larger one would not be kept in registers anyway.
const MAX_BYTES: u32 = 1 << 14;

/// Flag of a byte at which a cell starts or ends; the other bits are the cell's index plus one.
const BOUNDARY: u32 = 1 << 31;

/// A cell's index.
pub(super) type Cell = u32;

/// The cells of all variables of a shader.
#[derive(Debug)]
pub(super) struct Cells {
    /// By variable, the index of its first byte in `bytes`; `None`: the variable stays in memory.
    start: List<Option<u32>>,
    bytes: List<u32>,
    /// By cell, its width.
    widths: List<Bits>,
}

/// An access to a promoted variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Index of its first byte among the bytes of all variables.
    at: u32,
    /// Type in memory.
    pub ty: Type,
    /// Value stored; `None` for a load.
    pub stored: Option<Value>,
}

impl Cells {
    /// Finds the variables to promote. `None` if there are none.
    pub fn new(shader: &Shader) -> Option<Self> {
        if shader.locals.is_empty() {
            return None;
        }
        let mut size = 0;
        let start = shader.locals.iter().map(|local| {
            let start = size;
            let small = local.bytes <= MAX_BYTES;
            size += if small { local.bytes + 1 } else { 0 };
            small.then_some(start)
        });
        let start: List<Option<u32>> = start.collect();
        let mut this = Self { start, bytes: filled(size as usize, 0), widths: List::default() };
        for inst in shader.live_insts() {
            let Some(local) = inst.op.local() else { continue };
            match this.constant_access(shader, inst) {
                Some(access) => this.add_boundaries(access),
                None => this.start[local.index()] = None,
            }
        }
        for inst in shader.live_insts() {
            let Some(local) = inst.op.local() else { continue };
            if let Some(access) = this.access(shader, inst)
                && !this.add_cells(access)
            {
                this.start[local.index()] = None;
            }
        }
        this.start.iter().any(Option::is_some).then_some(this)
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.widths.len()
    }

    /// Width of a cell.
    pub fn width(&self, cell: Cell) -> Bits {
        self.widths[cell as usize]
    }

    /// The access of an instruction to a promoted variable.
    pub fn access(&self, shader: &Shader, inst: &Inst) -> Option<Access> {
        self.start[inst.op.local()?.index()]?;
        self.constant_access(shader, inst)
    }

    /// The cells of one scalar of an access, lowest first.
    pub fn of(&self, access: Access, lane: u32) -> impl Iterator<Item = Cell> {
        let size = access.ty.bits().bytes();
        let at = (access.at + lane * size) as usize;
        self.bytes[at..at + size as usize].iter().filter_map(|byte| (byte & !BOUNDARY).checked_sub(1))
    }

    fn constant_access(&self, shader: &Shader, inst: &Inst) -> Option<Access> {
        let local = inst.op.local()?;
        let stored = inst.args.get(1).copied();
        let ty = shader.ty(stored.or(inst.result)?);
        let offset = u32::try_from(shader.as_const(*inst.args.first()?)?).ok()?;
        let inside = offset.checked_add(ty.bytes())? <= shader.locals[local.index()].bytes;
        let start = self.start[local.index()]?;
        // Beyond the variable, the sum may be beyond a number too.
        inside.then(|| Access { at: start + offset, ty, stored })
    }

    fn add_boundaries(&mut self, access: Access) {
        let size = access.ty.bits().bytes();
        for lane in 0..=access.ty.lanes() {
            self.bytes[(access.at + lane * size) as usize] |= BOUNDARY;
        }
    }

    /// Adds the cells of an access; returns false if one of its scalars has cells of different sizes.
    fn add_cells(&mut self, access: Access) -> bool {
        let size = access.ty.bits().bytes() as usize;
        for lane in 0..access.ty.lanes() as usize {
            let at = access.at as usize + lane * size;
            let next = (1..=size).find(|n| self.bytes[at + n] & BOUNDARY != 0).unwrap_or(size);
            let Some(width) = Bits::from_count(8 * next as u32) else { return false };
            let regular = (1..size).all(|n| n.is_multiple_of(next) == (self.bytes[at + n] & BOUNDARY != 0));
            if !regular || !size.is_multiple_of(next) {
                return false;
            }
            for byte in self.bytes[at..at + size].iter_mut().step_by(next) {
                if *byte & !BOUNDARY == 0 {
                    self.widths.push(width);
                    *byte |= self.widths.len() as u32;
                }
            }
        }
        true
    }
}
