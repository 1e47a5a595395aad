//! The register files in which an operand of an instruction may be.
//!
//! The verifier, the allocator and its checker use this. A vector source may be in either file; how many sources may be
//! scalar is the encoding's rule, which is not checked here.

use super::{Extra, MachineFunction, MachineInst, Opcode, Operand, OperandValue, PhysReg, Pseudo, RegisterClass, runs};
use dovetail_isa::{Format, OpcodeRow, OperandKind, Traits};

/// Register files that an operand may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// SGPRs only.
    Scalar,
    /// VGPRs only.
    Vector,
    /// Either.
    Any,
}

impl Wants {
    /// Whether a register of this class is allowed.
    pub fn takes(self, class: RegisterClass) -> bool {
        match self {
            Self::Scalar => class == RegisterClass::Scalar,
            Self::Vector => class == RegisterClass::Vector,
            Self::Any => true,
        }
    }

    /// The class of a register whose content does not matter.
    pub fn of_undefined(self) -> RegisterClass {
        if self == Self::Scalar { RegisterClass::Scalar } else { RegisterClass::Vector }
    }
}

/// Whether the format has scalar operands only.
pub const fn is_scalar(format: Format) -> bool {
    matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem)
}

impl MachineFunction {
    /// Whether an instruction reads SCC.
    pub fn reads_scc(&self, inst: &MachineInst) -> bool {
        inst.is(self.isa, Traits::SCC_IN)
            || self.uses(inst).iter().any(|one| one.what == OperandValue::Fixed(PhysReg::SCC))
    }

    /// Whether an instruction may change the set of active lanes.
    pub fn writes_exec(&self, inst: &MachineInst) -> bool {
        let named = |one: &Operand| matches!(one.what, OperandValue::Fixed(PhysReg(126 | 127)));
        inst.is(self.isa, Traits::EXEC_OUT.or(Traits::EXEC_COMBINED)) || self.defs(inst).iter().any(named)
    }

    /// The register class of definition run `n` of an instruction; a [`Pseudo::Copy`] may define any class.
    pub fn def_wants(&self, inst: &MachineInst, n: usize) -> Wants {
        match inst.op {
            Opcode::Pseudo(Pseudo::Copy) => Wants::Any,
            Opcode::Pseudo(_) => Wants::Scalar,
            Opcode::Isa(op) => {
                let row = self.isa.row(op);
                let mask = row.dst_kind(n) == OperandKind::Mask || n > 0 || row.is(Traits::SCALAR_RESULT);
                let vector_arithmetic = row.format.is_short_vector() || row.format == Format::Vop3;
                if is_scalar(row.format) || (vector_arithmetic && mask) { Wants::Scalar } else { Wants::Vector }
            }
        }
    }

    /// The register class of use run `n` of `count` of an instruction.
    pub fn use_wants(&self, inst: &MachineInst, n: usize, count: usize) -> Wants {
        match inst.op {
            Opcode::Pseudo(Pseudo::Copy) => match self.defs(inst).get(n).map(|def| def.what) {
                Some(OperandValue::Val(val)) if self.class(val) == RegisterClass::Scalar => Wants::Scalar,
                Some(OperandValue::Fixed(reg)) if reg.as_vgpr().is_none() => Wants::Scalar,
                _ => Wants::Any,
            },
            Opcode::Pseudo(Pseudo::Choose) => Wants::Scalar,
            Opcode::Pseudo(Pseudo::Return) => Wants::Vector,
            Opcode::Pseudo(_) => Wants::Any,
            Opcode::Isa(op) => {
                let row = self.isa.row(op);
                // A tied operand may be copied to the result's register, whatever its class.
                if inst.tied && n + 1 == count {
                    return if self.def_wants(inst, 0) == Wants::Scalar { Wants::Scalar } else { Wants::Any };
                }
                let from_end = count - 1 - n - usize::from(inst.tied);
                source_wants(row, inst, n, from_end)
            }
        }
    }

    /// The use runs with the classes that they may have.
    pub fn use_runs<'a>(&'a self, inst: &'a MachineInst) -> impl Iterator<Item = (Wants, &'a [super::Operand])> {
        let count = runs(self.uses(inst)).count();
        runs(self.uses(inst)).enumerate().map(move |(n, run)| (self.use_wants(inst, n, count), run))
    }
}

/// The register class of source run `n` of an instruction; `from_end` counts from the last run, excluding the tied one.
fn source_wants(row: &OpcodeRow, inst: &MachineInst, n: usize, from_end: usize) -> Wants {
    match row.format {
        format if is_scalar(format) => Wants::Scalar,
        Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p | Format::Vopc => {
            let scalar = row.src_kind(n) == OperandKind::Mask
                || (n == 0 && row.is(Traits::SCALAR_FIRST))
                || (n > 0 && row.is(Traits::SCALAR_REST));
            if scalar { Wants::Scalar } else { Wants::Any }
        }
        // M0.
        Format::Ldsdir => Wants::Scalar,
        // The coordinate; M0 is the last operand.
        Format::Vintrp => {
            if from_end == 0 {
                Wants::Scalar
            } else {
                Wants::Vector
            }
        }
        Format::Flat | Format::Global | Format::Scratch => {
            let saddr = matches!(inst.extra, Extra::Flat { saddr: true, .. });
            if saddr && from_end == 0 { Wants::Scalar } else { Wants::Vector }
        }
        Format::Mubuf | Format::Mtbuf => {
            let address = match inst.extra {
                Extra::Buffer { idxen, offen, .. } => idxen || offen,
                Extra::SparseTexel { .. } => true,
                _ => false,
            };
            let first = usize::from(address);
            if n == first || n == first + 1 { Wants::Scalar } else { Wants::Vector }
        }
        Format::Mimg | Format::Vsample => {
            // Data that are not a result follow the descriptors; an atomic's data are tied if it returns a result.
            let data = row.is(Traits::STORES) || (row.is(Traits::ATOMIC) && !inst.tied);
            let first = usize::from(data);
            let descriptors = if row.is(Traits::SAMPLES) { 2 } else { 1 };
            if (first..first + descriptors).contains(&from_end) { Wants::Scalar } else { Wants::Vector }
        }
        _ => Wants::Vector,
    }
}

/// Alignment of a run of registers: scalar runs at their size, up to four; vector runs anywhere.
pub const fn alignment(class: RegisterClass, count: usize) -> u16 {
    match (class, count) {
        (RegisterClass::Vector, _) | (_, 0 | 1) => 1,
        (RegisterClass::Scalar, 2) => 2,
        (RegisterClass::Scalar, _) => 4,
    }
}
