//! The instruction: its row of the opcode table, and every field of its encoding.
//!
//! This is the only model: `disassemble` returns it, `encode` takes it, code writers create it (`build.rs`). Operands
//! that an encoding leaves implicit (VCC as carry, the constant of `v_fmaak`) are included, so a reader of operands
//! need not know the encoding. A value may have a combination of fields that no encoding has; `encode` reports it.

mod dual;
mod memory;
mod vector;

use super::table::OpcodeRow;
use super::{Scalar, Src, Traits};
pub use dual::{DualFields, Half, half_of};
pub use memory::{
    Addresses, BufferFields, CachePolicy, DsFields, ExportFields, FlatFields, ImageFields, LdsDirectFields,
};
pub use vector::{Dpp16, InterpFields, Modifiers, Sdwa, VectorDst, VectorFields, VectorForm};

/// One machine instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Row of its operation.
    pub entry: &'static OpcodeRow,
    /// Its operands.
    pub fields: Fields,
}

/// Operands, by kind of encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// SOP1, SOP2, SOPC, SOPK, SOPP.
    Scalar(ScalarFields),
    /// SMEM.
    Smem(SmemFields),
    /// VOP1, VOP2, VOPC, VOP3, VOP3P, VINTERP.
    Vector(VectorFields),
    /// VOPD.
    Dual(DualFields),
    /// VINTRP, and the interpolation instructions in VOP3.
    Interp(InterpFields),
    /// DS.
    Ds(DsFields),
    /// LDSDIR.
    LdsDirect(LdsDirectFields),
    /// FLAT, GLOBAL, SCRATCH.
    Flat(FlatFields),
    /// MUBUF, MTBUF.
    Buffer(BufferFields),
    /// MIMG.
    Image(ImageFields),
    /// EXP.
    Export(ExportFields),
}

/// A scalar operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarFields {
    /// First register written.
    pub dst: Option<Scalar>,
    /// Values read.
    pub srcs: [Option<Src>; 3],
    /// The 16-bit constant of SOPK and SOPP, or the message that is sent.
    pub imm: u16,
}

/// A scalar load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmemFields {
    /// First register loaded.
    pub data: Scalar,
    /// First register of the address or descriptor.
    pub base: Scalar,
    /// Byte offset, signed.
    pub offset: i32,
    /// Offset register.
    pub soffset: Option<Scalar>,
    /// Cache policy.
    pub cache: CachePolicy,
}

impl Instruction {
    /// Its length in dwords.
    pub fn dwords(&self) -> u8 {
        let is_literal = |srcs: &[Option<Src>]| srcs.iter().any(|src| matches!(src, Some(Src::Literal(_))));
        match &self.fields {
            Fields::Scalar(f) => self.entry.dwords + u8::from(is_literal(&f.srcs)),
            Fields::Dual(f) => self.entry.dwords + u8::from(f.constant.is_some() || is_literal(&f.src0.map(Some))),
            Fields::Vector(f) => match f.form {
                VectorForm::Short => {
                    let constant = self.entry.is(Traits::CONSTANT_SECOND.or(Traits::CONSTANT_THIRD));
                    1 + u8::from(constant || is_literal(&f.srcs))
                }
                VectorForm::Long => 2 + u8::from(is_literal(&f.srcs)),
                VectorForm::Sdwa(_) | VectorForm::Dpp16(_) | VectorForm::Dpp8 { .. } | VectorForm::Interp { .. } => 2,
                VectorForm::LongDpp16(_) | VectorForm::LongDpp8 { .. } => 3,
            },
            Fields::Image(f) => self.entry.dwords + f.nsa_dwords(self.entry),
            _ => self.entry.dwords,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Instruction;

    #[test]
    fn an_instruction_is_copied_as_a_cache_line() {
        fn copied<T: Copy>() -> usize {
            size_of::<T>()
        }
        assert!(copied::<Instruction>() <= 64, "{}", size_of::<Instruction>());
    }
}
