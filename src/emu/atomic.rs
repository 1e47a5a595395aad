//! What atomic operations make of a memory cell, for buffers, images, addresses and LDS alike.

/// A cell and the operands, in the low bits.
#[derive(Clone, Copy)]
pub struct Cell {
    /// What is there.
    pub old: u64,
    /// The operand.
    pub data: u64,
    /// What a compare and swap expects, or the second operand.
    pub compare: u64,
    /// Width.
    pub bits: u32,
}

impl Cell {
    fn signed(self, value: u64) -> i64 {
        (value << (64 - self.bits)).cast_signed() >> (64 - self.bits)
    }

    fn float(self, value: u64) -> f64 {
        if self.bits == 64 { f64::from_bits(value) } else { f64::from(f32::from_bits(value as u32)) }
    }
}

/// The new value; wider than the cell is cut.
pub type Atomic = fn(Cell) -> u64;

/// The operation of a name without prefix, `rtn` and type, such as `add` or `smax`; `ty` as in `u32`.
pub fn resolve(name: &str, ty: &str) -> Option<Atomic> {
    Some(match (name, ty.chars().next()) {
        ("swap" | "wrxchg", _) => |c| c.data,
        ("cmpswap" | "cmpst", None | Some('b')) => |c| if c.old == c.compare { c.data } else { c.old },
        ("fcmpswap", _) | ("cmpst", Some('f')) => |c| if c.float(c.old) == c.float(c.compare) { c.data } else { c.old },
        ("add", Some('f')) => |c| {
            let sum = f32::from_bits(c.old as u32) + f32::from_bits(c.data as u32);
            u64::from(sum.to_bits())
        },
        ("add", _) => |c| c.old.wrapping_add(c.data),
        ("sub", _) => |c| c.old.wrapping_sub(c.data),
        ("csub", _) => |c| c.old.saturating_sub(c.data),
        ("rsub", _) => |c| c.data.wrapping_sub(c.old),
        ("smin", _) | ("min", Some('i')) => |c| if c.signed(c.data) < c.signed(c.old) { c.data } else { c.old },
        ("smax", _) | ("max", Some('i')) => |c| if c.signed(c.data) > c.signed(c.old) { c.data } else { c.old },
        ("umin", _) | ("min", Some('u')) => |c| c.old.min(c.data),
        ("umax", _) | ("max", Some('u')) => |c| c.old.max(c.data),
        ("fmin", _) | ("min", Some('f')) => |c| if c.float(c.data) < c.float(c.old) { c.data } else { c.old },
        ("fmax", _) | ("max", Some('f')) => |c| if c.float(c.data) > c.float(c.old) { c.data } else { c.old },
        ("and", _) => |c| c.old & c.data,
        ("or", _) => |c| c.old | c.data,
        ("xor", _) => |c| c.old ^ c.data,
        ("inc", _) => |c| if c.old >= c.data { 0 } else { c.old + 1 },
        ("dec", _) => |c| if c.old == 0 || c.old > c.data { c.data } else { c.old - 1 },
        ("mskor", _) => |c| c.old & !c.data | c.compare,
        ("wrap", _) => |c| if c.old >= c.data { c.old - c.data } else { c.old.wrapping_add(c.compare) },
        _ => return None,
    })
}

/// The operation of a name such as `global_atomic_smax_x2`, and its width.
pub fn of_memory(mnemonic: &str) -> Option<(Atomic, u32)> {
    let (_, name) = mnemonic.split_once("_atomic_")?;
    let (name, bits) = name.strip_suffix("_x2").map_or((name, 32), |name| (name, 64));
    Some((resolve(name, "")?, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_change_as_described() {
        let new = |name, ty, old, data, compare| {
            resolve(name, ty).expect(name)(Cell { old, data, compare, bits: 32 }) & 0xffff_ffff
        };
        assert_eq!(new("smin", "", 3, 0xffff_ffff, 0), 0xffff_ffff);
        assert_eq!(new("umin", "", 3, 0xffff_ffff, 0), 3);
        assert_eq!(new("max", "i32", 0xffff_fff0, 0xffff_fff5, 0), 0xffff_fff5);
        assert_eq!([new("inc", "", 5, 5, 0), new("inc", "", 4, 5, 0), new("inc", "", 9, 5, 0)], [0, 5, 0]);
        assert_eq!([new("dec", "", 0, 5, 0), new("dec", "", 4, 5, 0), new("dec", "", 9, 5, 0)], [5, 3, 5]);
        assert_eq!([new("cmpswap", "", 7, 1, 7), new("cmpswap", "", 7, 1, 8)], [1, 7]);
        assert_eq!([new("wrap", "b32", 7, 5, 9), new("wrap", "b32", 3, 5, 9)], [2, 12]);
        assert_eq!(new("csub", "", 3, 5, 0), 0);
        assert_eq!(new("mskor", "b32", 0b1111, 0b0110, 0b0010), 0b1011);
        assert_eq!(f32::from_bits(new("fmin", "", 1f32.to_bits().into(), (-2f32).to_bits().into(), 0) as u32), -2.0);
        assert_eq!(f32::from_bits(new("add", "f32", 1f32.to_bits().into(), 2f32.to_bits().into(), 0) as u32), 3.0);
    }
}
