//! The local id of an invocation, and its index in the order in which waves are filled.
//!
//! The hardware numbers invocations along x, then y, then z, and assigns lanes in that order. If quads of the grid are
//! quads of lanes (`DerivativeGroupQuads`), four consecutive numbers belong to two by two invocations, and the quads
//! follow along x, then y, then z. In linear groups, four consecutive invocations are already a quad of lanes.

use super::entry_values::{Entry, System};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, Builder, BuiltIn, DerivativeGroup, Modes, Op, Type, Value};

/// Bits of each id in a register that has all three; above them it is zero (LLVM, `AMDGPUUsage`, "Initial VGPR state").
const PACKED_BITS: u32 = 10;

/// The local id registers for a workgroup of this size.
pub(super) struct LocalId<'a> {
    entry: &'a Entry,
    size: [u32; 3],
    quads: bool,
}

impl<'a> LocalId<'a> {
    pub(super) fn new(entry: &'a Entry, modes: &Modes) -> Self {
        Self { entry, size: modes.local_size, quads: modes.derivatives == DerivativeGroup::Quads }
    }

    /// A component of the local id.
    pub(super) fn component(&self, b: &mut Builder<'_>, n: usize) -> Result<Value> {
        if !self.quads || self.size.get(n).is_none_or(|size| *size <= 1) {
            return self.register(b, n);
        }
        let [sx, sy, _] = self.size;
        let number = self.number(b)?;
        if n == 2 {
            let layer = b.c32(sx.saturating_mul(sy));
            return Ok(b.alu(AluOp::UDiv, &[number, layer]));
        }
        let (wide, two, high) = (b.c32(sx / 2), b.c32(2), b.c32(sy / 2));
        let quad = b.alu(AluOp::LShr, &[number, two]);
        let (place, low) = if n == 0 {
            (b.alu(AluOp::UMod, &[quad, wide]), number)
        } else {
            let row = b.alu(AluOp::UDiv, &[quad, wide]);
            let one = b.c32(1);
            (b.alu(AluOp::UMod, &[row, high]), b.alu(AluOp::LShr, &[number, one]))
        };
        let one = b.c32(1);
        let (low, place) = (b.alu(AluOp::IAnd, &[low, one]), b.imul_const(place, 2));
        Ok(b.iadd(place, low))
    }

    /// The linear index of the local id.
    pub(super) fn index(&self, b: &mut Builder<'_>) -> Result<Value> {
        let (x, y, z) = (self.component(b, 0)?, self.component(b, 1)?, self.component(b, 2)?);
        Ok(self.linear(b, [x, y, z]))
    }

    /// The highest register on which a component, or the index, depends.
    pub(super) fn highest(modes: &Modes, component: Option<u8>) -> u32 {
        let has = |n: u32| modes.local_size[n as usize] > 1;
        match component.map(|n| u32::from(n.min(2))) {
            Some(n) if modes.derivatives != DerivativeGroup::Quads => {
                if has(n) {
                    n
                } else {
                    0
                }
            }
            _ => (0..3).rev().find(|n| has(*n)).unwrap_or(0),
        }
    }

    /// The invocation's index in lane order.
    fn number(&self, b: &mut Builder<'_>) -> Result<Value> {
        let (x, y, z) = (self.register(b, 0)?, self.register(b, 1)?, self.register(b, 2)?);
        Ok(self.linear(b, [x, y, z]))
    }

    fn linear(&self, b: &mut Builder<'_>, [x, y, z]: [Value; 3]) -> Value {
        let [sx, sy, _] = self.size.map(u64::from);
        let y = b.imul_const(y, sx);
        let z = b.imul_const(z, sx.saturating_mul(sy));
        let xy = b.iadd(x, y);
        b.iadd(xy, z)
    }

    /// A register's value; 0 in a dimension of size one, so that the register need not be loaded.
    fn register(&self, b: &mut Builder<'_>, n: usize) -> Result<Value> {
        if self.size[n] <= 1 {
            return Ok(b.c32(0));
        }
        let Some(ids) = self.entry.find_system(System::LocalIds) else {
            return self.entry.system([System::LocalX, System::LocalY, System::LocalZ][n]);
        };
        let last = self.size.iter().skip(n + 1).all(|size| *size <= 1);
        let (first, bits) = (b.c32(n as u32 * PACKED_BITS), b.c32(PACKED_BITS));
        Ok(match (n, last) {
            (0, true) => ids,
            (_, true) => b.alu(AluOp::LShr, &[ids, first]),
            _ => b.alu(AluOp::UBitExtract, &[ids, first, bits]),
        })
    }
}

/// The invocation's index in lane order, computed from upper-level built-ins.
pub(super) fn lane_order(b: &mut Builder<'_>) -> Value {
    let load = |b: &mut Builder<'_>, builtin, component| b.value(Op::load_builtin(builtin, component), &[], Type::B32);
    let modes = &b.shader.modes;
    let [sx, sy, _] = modes.local_size.map(u64::from);
    if modes.derivatives != DerivativeGroup::Quads {
        return load(b, BuiltIn::LocalInvocationIndex, 0);
    }
    let [x, y, z] = [0, 1, 2].map(|component| load(b, BuiltIn::LocalInvocationId, component));
    let one = b.c32(1);
    let (right, column) = (b.alu(AluOp::IAnd, &[x, one]), b.alu(AluOp::LShr, &[x, one]));
    let (below, row) = (b.alu(AluOp::IAnd, &[y, one]), b.alu(AluOp::LShr, &[y, one]));
    // Quads along x, y, z, then the index in the quad.
    let layer = b.imul_const(z, sy / 2);
    let rows = b.iadd(layer, row);
    let rows = b.imul_const(rows, sx / 2);
    let quad = b.iadd(rows, column);
    let (quad, below) = (b.imul_const(quad, 4), b.imul_const(below, 2));
    let number = b.iadd(quad, below);
    b.iadd(number, right)
}
