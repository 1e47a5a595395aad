//! Operands of machine IR: values, physical registers, constants and relocated literals.

use dovetail_ir::SymbolId;
use std::fmt;

/// A value: one 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Val(pub u32);

impl Val {
    /// Index in the table of values.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Register file of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterClass {
    /// One value per wave.
    Scalar,
    /// One value per lane.
    Vector,
}

/// A machine register, by its place among all: a scalar one by its own ([`dovetail_isa::Scalar::index`]), a value of the
/// hardware by its own ([`dovetail_isa::Special::index`]), VGPRs from 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhysReg(pub u16);

impl PhysReg {
    /// Low half of VCC; also the first code that is not an SGPR.
    pub const VCC: Self = Self(106);
    /// High half of VCC.
    pub const VCC_HI: Self = Self(107);
    /// Workgroup ids along y and z, 16 bits each, and along x, where they are in no SGPR.
    pub const WORKGROUP_YZ: Self = Self(115);
    /// See [`Self::WORKGROUP_YZ`].
    pub const WORKGROUP_X: Self = Self(117);
    /// Memory and message operand.
    pub const M0: Self = Self(124);
    /// Reads zero, ignores writes.
    pub const NULL: Self = Self(125);
    /// Low half of EXEC; all of it in wave32 or as a run of two.
    pub const EXEC: Self = Self(126);
    /// High half of EXEC.
    pub const EXEC_HI: Self = Self(127);
    /// Scalar condition code.
    pub const SCC: Self = Self(253);
    /// First of four scalar registers for the descriptor of scratch memory, which emission fills at the start of the
    /// code. No value may be in them if [`super::MachineFunction::scratch_bytes`] is not 0.
    pub const SCRATCH: Self = Self(100);

    /// The first vector register.
    pub const FIRST_VGPR: Self = Self(256);

    /// A scalar register.
    pub const fn sgpr(number: u16) -> Self {
        Self(number)
    }

    /// A vector register.
    pub const fn vgpr(number: u16) -> Self {
        Self::FIRST_VGPR.nth(number)
    }

    /// The number of a vector register; `None` for a scalar one.
    pub const fn as_vgpr(self) -> Option<u16> {
        self.0.checked_sub(Self::FIRST_VGPR.0)
    }

    /// The register `n` positions after this one.
    #[must_use]
    pub const fn nth(self, n: u16) -> Self {
        Self(self.0 + n)
    }
}

/// The content of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandValue {
    /// A value.
    Val(Val),
    /// A constant: the bits of a 32-bit operand; a 64-bit operand is sign-extended from them.
    Const(u32),
    /// A literal dword that the linker fills in.
    Reloc(SymbolId),
    /// A register that holds no value: EXEC, M0, null, and VCC if an encoding requires it. A wave64 lane mask is given
    /// by its first register, as a run of one.
    Fixed(PhysReg),
    /// Any register of the class that the instruction expects; its content does not matter.
    Undef,
}

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Its content.
    pub what: OperandValue,
    /// Number of operands, from this one on, that must be in consecutive registers; 0 if it continues a run. A
    /// constant, relocation or fixed register is always a run of one operand, however wide it is read.
    pub run: u8,
}

impl Operand {
    /// An operand that is a run of its own.
    pub const fn one(what: OperandValue) -> Self {
        Self { what, run: 1 }
    }

    /// A value that is a run of its own.
    pub const fn val(val: Val) -> Self {
        Self::one(OperandValue::Val(val))
    }

    /// A constant.
    pub const fn constant(bits: u32) -> Self {
        Self::one(OperandValue::Const(bits))
    }

    /// A fixed register.
    pub const fn fixed(reg: PhysReg) -> Self {
        Self::one(OperandValue::Fixed(reg))
    }

    /// The bits, if it is a constant.
    pub const fn as_const(self) -> Option<u32> {
        match self.what {
            OperandValue::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// The value, if it is one.
    pub const fn as_val(self) -> Option<Val> {
        match self.what {
            OperandValue::Val(val) => Some(val),
            _ => None,
        }
    }
}

impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl fmt::Display for PhysReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            106 => f.write_str("vcc"),
            107 => f.write_str("vcc_hi"),
            124 => f.write_str("m0"),
            125 => f.write_str("null"),
            126 => f.write_str("exec"),
            127 => f.write_str("exec_hi"),
            253 => f.write_str("scc"),
            n @ 0..256 => write!(f, "s{n}"),
            n => write!(f, "v{}", n - 256),
        }
    }
}
