//! Groups of registers, and numbers, in the assembler's spelling.

use crate::{Scalar, Vgpr};
use std::fmt::{self, Display, Formatter};

pub(super) fn hex(n: i32) -> String {
    if n < 0 { format!("-{:#x}", n.unsigned_abs()) } else { format!("{n:#x}") }
}

/// A group of consecutive scalar registers.
pub(super) struct Scalars(pub(super) Scalar, pub(super) u8);

impl Display for Scalars {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (reg, 0 | 1) => reg.fmt(f),
            (Scalar::Sgpr(s), n) => write!(f, "s[{}:{}]", s.number(), u32::from(s.number()) + u32::from(n) - 1),
            (Scalar::VccLo, _) => f.write_str("vcc"),
            (Scalar::ExecLo, _) => f.write_str("exec"),
            (reg, _) => reg.fmt(f),
        }
    }
}

/// A group of consecutive vector registers.
pub(super) struct Vgprs(pub(super) Vgpr, pub(super) u8);

impl Display for Vgprs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            0 | 1 => self.0.fmt(f),
            n => write!(f, "v[{}:{}]", self.0.number(), u32::from(self.0.number()) + u32::from(n) - 1),
        }
    }
}
