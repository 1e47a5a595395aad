//! Operand rules: registers, inline constants, literals, modifiers, by form and position.
//!
//! The encoder, which rejects violations, and code that selects operands share these rules. The vector unit reads two
//! scalar values per instruction (a literal counts as one), for some operations one; the same value twice counts once.

use super::instruction::{Modifiers, VectorFields, VectorForm};
use super::{Format, Op, OpcodeRow, OperandKind, Scalar, Src, Traits};
use dovetail_base::target::WaveSize;

/// Kinds of source operands that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// A VGPR.
    pub vector: bool,
    /// A scalar register.
    pub scalar: bool,
    /// A read-only value of the hardware.
    pub special: bool,
    /// An inline constant.
    pub inline: bool,
    /// A literal dword after the instruction.
    pub literal: bool,
}

impl Takes {
    const ALL: Self = Self { vector: true, scalar: true, special: true, inline: true, literal: true };
    const NONE: Self = Self { vector: false, scalar: false, special: false, inline: false, literal: false };
    const VECTOR: Self = Self { vector: true, ..Self::NONE };
    const SCALAR: Self = Self { vector: false, ..Self::ALL };
    const REGISTER: Self = Self { scalar: true, ..Self::NONE };
    const LITERAL: Self = Self { literal: true, ..Self::NONE };

    /// Whether this source is allowed.
    pub fn accepts(self, src: Src) -> bool {
        match src {
            Src::Vgpr(_) => self.vector,
            Src::Scalar(_) => self.scalar,
            Src::Special(_) => self.special,
            Src::Int(_) | Src::Float(_) => self.inline,
            Src::Literal(_) => self.literal,
        }
    }
}

impl OpcodeRow {
    /// Allowed sources of a scalar operation.
    pub fn scalar_source(&self) -> Takes {
        match self.format {
            Format::Sopk if self.op == Op::SSetregImm32B32 => Takes::LITERAL,
            Format::Sopk => Takes::REGISTER,
            _ if self.is(Traits::JUMPS) => Takes::REGISTER,
            _ if matches!(self.op, Op::SMovrelsB32 | Op::SMovrelsB64 | Op::SMovrelsd2B32) => Takes::REGISTER,
            _ => Takes::SCALAR,
        }
    }

    /// Allowed kinds of source `i` of a vector operation in a form.
    pub fn vector_source(&self, form: &VectorForm, i: usize) -> Takes {
        let kind = self.src_kind(i);
        if kind == OperandKind::Mask {
            return Takes::REGISTER;
        }
        let constant = (i == 1 && self.is(Traits::CONSTANT_SECOND)) || (i == 2 && self.is(Traits::CONSTANT_THIRD));
        let takes = match form {
            _ if constant => Takes::LITERAL,
            VectorForm::Short if i > 0 => Takes::VECTOR,
            VectorForm::Dpp16(_) | VectorForm::Dpp8 { .. } => Takes::VECTOR,
            VectorForm::Sdwa(_) => Takes { literal: false, ..Takes::ALL },
            // Operands wider than a pair are VGPRs.
            _ if kind.registers() > 2 => Takes::VECTOR,
            VectorForm::Short | VectorForm::Long => Takes::ALL,
        };
        let (first, lane) = (i == 0, i == 1 && self.is(Traits::LANE_SELECT));
        match () {
            () if first && self.is(Traits::VECTOR_FIRST) => Takes::VECTOR,
            () if first && self.is(Traits::SCALAR_FIRST) => Takes::SCALAR,
            () if !first && self.is(Traits::SCALAR_REST) => Takes { literal: !lane, ..Takes::SCALAR },
            () => takes,
        }
    }

    /// Limit of different scalar values that a vector operation reads.
    pub fn scalar_limit(&self) -> usize {
        if self.is(Traits::ONE_SCALAR) { 1 } else { 2 }
    }

    /// Number of different scalar values that a vector operation reads, including implied VCC and literals. Values of
    /// different width are different, and an implied VCC is different from any operand.
    pub fn scalar_values(&self, f: &VectorFields, wave: WaveSize) -> usize {
        let implied = f.form != VectorForm::Long;
        let width = |kind: OperandKind| match kind {
            OperandKind::Mask if implied || wave == WaveSize::W64 => 2,
            kind => kind.registers(),
        };
        let vcc = (Src::Scalar(Scalar::VccLo), 2);
        let named = (0..).zip(f.srcs).filter_map(|(i, src)| Some((src?, width(self.src_kind(i)))));
        let mut seen = [None; 4];
        let mut count = 0;
        for value in named.chain(self.is(Traits::VCC_IN).then_some(vcc)) {
            let scalar = match value.0 {
                Src::Scalar(s) => s != Scalar::Null,
                Src::Literal(_) | Src::Special(_) => true,
                Src::Vgpr(_) | Src::Int(_) | Src::Float(_) => false,
            };
            if scalar && !seen.contains(&Some(value)) {
                seen.iter_mut().skip(count).take(1).for_each(|place| *place = Some(value));
                count += 1;
            }
        }
        count
    }

    /// Modifiers that a form of this operation takes; a set bit or flag means that it may be set.
    pub fn modifiers(&self, form: &VectorForm) -> Modifiers {
        let each = |wanted: &dyn Fn(OperandKind) -> bool| {
            self.src.iter().enumerate().filter(|(_, kind)| wanted(**kind)).fold(0u8, |set, (i, _)| set | 1 << i)
        };
        let floats = each(&|kind| kind.is_float());
        let all = each(&|_| true);
        let none = Modifiers::default();
        let float_result = self.dst.first().is_some_and(|kind| kind.is_float());
        let compare = self.format == Format::Vopc;
        match form {
            VectorForm::Short => none,
            VectorForm::Dpp16(_) => Modifiers { neg: floats & 3, abs: floats & 3, ..none },
            VectorForm::Dpp8 { .. } => none,
            VectorForm::Sdwa(_) => Modifiers {
                neg: floats & 3,
                abs: floats & 3,
                clamp: !compare,
                omod: if !compare && float_result && self.is(Traits::OMOD) { 3 } else { 0 },
                ..none
            },
            // LLVM's code sets the unused third bit of `op_sel_hi`.
            VectorForm::Long if self.format == Format::Vop3p => {
                let clamp = self.is(Traits::CLAMP);
                Modifiers { neg: all, neg_hi: all, op_sel: all, op_sel_hi: 7, clamp, ..none }
            }
            VectorForm::Long => Modifiers {
                neg: floats,
                // The second result uses the bits of `abs`.
                abs: if self.has_mask_result() { 0 } else { floats },
                clamp: self.is(Traits::CLAMP),
                omod: if self.is(Traits::OMOD) { 3 } else { 0 },
                op_sel: match self.is(Traits::OP_SEL) {
                    true if self.is(Traits::SCALAR_REST) => 3,
                    true => all | 8,
                    false => 0,
                },
                ..none
            },
        }
    }

    /// Whether the operation has this form.
    pub fn has_form(&self, form: &VectorForm) -> bool {
        match form {
            VectorForm::Short => self.format.is_short_vector(),
            VectorForm::Long => !self.is(Traits::NO_LONG),
            VectorForm::Sdwa(_) => self.is(Traits::SDWA),
            VectorForm::Dpp16(_) | VectorForm::Dpp8 { .. } => self.is(Traits::DPP),
        }
    }
}

impl VectorFields {
    /// The first modifier that is set but not allowed, by the assembler's name.
    pub(super) fn refused_modifier(&self, allowed: &Modifiers) -> Option<&'static str> {
        let mods = &self.mods;
        let checks = [
            (mods.abs & !allowed.abs != 0, "abs"),
            (mods.neg & !allowed.neg != 0, "neg"),
            (mods.neg_hi & !allowed.neg_hi != 0, "neg_hi"),
            (mods.op_sel & !allowed.op_sel != 0, "op_sel"),
            (mods.op_sel_hi & !allowed.op_sel_hi != 0, "op_sel_hi"),
            (mods.clamp && !allowed.clamp, "clamp"),
            (mods.omod & !allowed.omod != 0, "omod"),
        ];
        checks.into_iter().find(|(set, _)| *set).map(|(_, name)| name)
    }
}
