//! The encoding's rules for the sources of a vector instruction, applied before registers are known; and the operation
//! that takes them in reverse order.

use super::{MachineFunction, Operand, OperandValue, RegisterClass, Val};
use dovetail_isa::instruction::{Modifiers, VectorFields, VectorForm};
use dovetail_isa::{Op, Scalar, Src, Vgpr};
use smallvec::SmallVec;

/// No modifiers.
pub const PLAIN: Modifiers = Modifiers { abs: 0, neg: 0, neg_hi: 0, op_sel: 0, op_sel_hi: 0, clamp: false, omod: 0 };

impl MachineFunction {
    /// A source of the same kind as an operand, for looking up the tables.
    pub fn example(&self, operand: Operand) -> Src {
        match operand.what {
            OperandValue::Val(val) if self.class(val) == RegisterClass::Vector => Src::Vgpr(Vgpr(0)),
            OperandValue::Val(val) => Src::Scalar(scalar_example(val.0)),
            OperandValue::Const(bits) => Src::from_bits(bits),
            OperandValue::Reloc(_) => Src::Literal(0xdead_beef),
            OperandValue::Fixed(_) => Src::Scalar(Scalar::M0),
            OperandValue::Undef => Src::Vgpr(Vgpr(0)),
        }
    }

    /// The fields of an instruction with these sources; different values become different registers.
    pub fn example_fields(&self, uses: &[Operand]) -> VectorFields {
        let mut srcs = [None; 3];
        let mut seen: SmallVec<[Val; 4]> = SmallVec::new();
        let runs: SmallVec<[Operand; 4]> = uses.iter().copied().filter(|o| o.run > 0).collect();
        for (slot, operand) in srcs.iter_mut().zip(runs) {
            *slot = Some(match operand.what {
                OperandValue::Val(val) if self.class(val) == RegisterClass::Scalar => {
                    let n = seen.iter().position(|v| *v == val).unwrap_or_else(|| {
                        seen.push(val);
                        seen.len() - 1
                    });
                    Src::Scalar(scalar_example(2 * n as u32))
                }
                _ => self.example(operand),
            });
        }
        VectorFields { dst: None, mask: None, srcs, mods: PLAIN, form: VectorForm::Long }
    }

    /// Whether the long form of a vector operation supports these operands, each a single one.
    pub fn takes(&self, op: Op, uses: &[Operand]) -> bool {
        let entry = self.isa.row(op);
        let each = uses.iter().enumerate();
        each.clone().all(|(i, one)| entry.vector_source(&VectorForm::Long, i).accepts(self.example(*one)))
            && entry.has_form(&VectorForm::Long)
            && one_literal(uses)
            && entry.scalar_values(&self.example_fields(uses), self.wave) <= entry.scalar_limit()
    }
}

/// The operation with the same result that takes its sources in reverse order.
pub fn mirrored(op: Op) -> Option<Op> {
    use Op::*;
    macro_rules! table {
        ($($same:ident)*; $($a:ident $b:ident,)*) => {
            match op {
                $($same => $same,)*
                $($a => $b, $b => $a,)*
                _ => return None,
            }
        };
    }
    Some(table! {
        VAddF32 VMulF32 VMinF32 VMaxF32 VAddF16 VMulF16 VMinF16 VMaxF16 VMulLegacyF32
        VAddNcU32 VAndB32 VOrB32 VXorB32 VMinU32 VMaxU32 VMinI32 VMaxI32
        VCmpEqF32 VCmpLgF32 VCmpNeqF32 VCmpNlgF32 VCmpOF32 VCmpUF32 VCmpEqF16 VCmpLgF16 VCmpNeqF16 VCmpNlgF16 VCmpOF16
        VCmpUF16 VCmpEqU32 VCmpNeU32 VCmpEqI32 VCmpNeI32 VCmpEqU16 VCmpNeU16 VCmpEqI16 VCmpNeI16;
        VSubF32 VSubrevF32, VSubF16 VSubrevF16, VSubNcU32 VSubrevNcU32,
        VCmpLtF32 VCmpGtF32, VCmpLeF32 VCmpGeF32, VCmpNgeF32 VCmpNleF32, VCmpNgtF32 VCmpNltF32,
        VCmpLtF16 VCmpGtF16, VCmpLeF16 VCmpGeF16, VCmpNgeF16 VCmpNleF16, VCmpNgtF16 VCmpNltF16,
        VCmpLtU32 VCmpGtU32, VCmpLeU32 VCmpGeU32, VCmpLtI32 VCmpGtI32, VCmpLeI32 VCmpGeI32,
        VCmpLtU16 VCmpGtU16, VCmpLeU16 VCmpGeU16, VCmpLtI16 VCmpGtI16, VCmpLeI16 VCmpGeI16,
    })
}

/// Whether an instruction has at most one literal.
pub fn one_literal(uses: &[Operand]) -> bool {
    let mut literals = uses.iter().map(|one| one.what).filter(|what| is_literal(*what));
    let Some(first) = literals.next() else { return true };
    literals.all(|what| what == first && !matches!(what, OperandValue::Reloc(_)))
}

/// Whether an operand needs a literal dword.
pub fn is_literal(what: OperandValue) -> bool {
    match what {
        OperandValue::Const(bits) => matches!(Src::from_bits(bits), Src::Literal(_)),
        OperandValue::Reloc(_) => true,
        _ => false,
    }
}

fn scalar_example(number: u32) -> Scalar {
    dovetail_isa::Sgpr::new((number % 100) as u8).map_or(Scalar::M0, Scalar::Sgpr)
}
