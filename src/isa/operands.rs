//! Operand rules: registers, inline constants, literals, modifiers, by form and position.
//!
//! The encoder, which rejects violations, and code that selects operands share these rules. The vector unit reads two
//! scalar values per instruction (a literal counts as one), for some operations one; the same value twice counts once.

use super::instruction::{Modifiers, VectorFields, VectorForm};
use super::{Format, Op, OpcodeRow, OperandKind, Scalar, Src, Traits, Vgpr};
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
    /// Of VGPRs only v0 to v127: the highest bit of the number chooses a half of the register.
    pub low_vgprs: bool,
}

impl Takes {
    const ALL: Self = Self { vector: true, scalar: true, special: true, inline: true, literal: true, low_vgprs: false };
    const NONE: Self =
        Self { vector: false, scalar: false, special: false, inline: false, literal: false, low_vgprs: false };
    const VECTOR: Self = Self { vector: true, ..Self::NONE };
    const SCALAR: Self = Self { vector: false, ..Self::ALL };
    const REGISTER: Self = Self { scalar: true, ..Self::NONE };
    const LITERAL: Self = Self { literal: true, ..Self::NONE };

    /// Whether this source is allowed.
    pub fn accepts(self, src: Src) -> bool {
        match src {
            Src::Vgpr(v) => self.vector && !(self.low_vgprs && v.number() >= Vgpr::HALVED),
            Src::Scalar(_) => self.scalar,
            Src::Special(_) => self.special,
            Src::Int(_) | Src::Float(_) => self.inline,
            Src::Literal(_) => self.literal,
        }
    }
}

impl OpcodeRow {
    /// Allowed sources `i` of a scalar operation.
    pub fn scalar_source(&self, i: usize) -> Takes {
        match self.format {
            _ if self.is_constant(i) => Takes::LITERAL,
            Format::Sopk if self.op == Op::SSetregImm32B32 => Takes::LITERAL,
            Format::Sopk => Takes::REGISTER,
            _ if self.is(Traits::JUMPS) => Takes::REGISTER,
            Format::Sop1 if self.is(Traits::BARRIER) => Takes { inline: true, ..Takes::NONE },
            _ if matches!(self.op, Op::SMovrelsB32 | Op::SMovrelsB64 | Op::SMovrelsd2B32) => Takes::REGISTER,
            _ => Takes::SCALAR,
        }
    }

    /// Allowed kinds of source `i` of a vector operation in a form.
    pub fn vector_source(&self, form: &VectorForm, i: usize) -> Takes {
        let kind = self.src_kind(i);
        Takes { low_vgprs: self.is_halved(form, kind), ..self.source_of_kind(form, i, kind) }
    }

    /// Whether the highest bit of a VGPR's number chooses a half of it.
    pub(super) fn is_halved(&self, form: &VectorForm, kind: OperandKind) -> bool {
        self.is(Traits::HALVES) && kind.is_half() && !form.is_long()
    }

    /// Whether a source is the constant that always follows.
    fn is_constant(&self, i: usize) -> bool {
        (i == 1 && self.is(Traits::CONSTANT_SECOND)) || (i == 2 && self.is(Traits::CONSTANT_THIRD))
    }

    fn source_of_kind(&self, form: &VectorForm, i: usize, kind: OperandKind) -> Takes {
        if kind == OperandKind::Mask {
            return Takes::REGISTER;
        }
        let takes = match form {
            _ if self.is_constant(i) => Takes::LITERAL,
            VectorForm::Short if i > 0 => Takes::VECTOR,
            VectorForm::Dpp16(_) | VectorForm::Dpp8 { .. } | VectorForm::Interp { .. } => Takes::VECTOR,
            VectorForm::LongDpp16(_) | VectorForm::LongDpp8 { .. } => match i {
                0 => Takes::VECTOR,
                // Instruction sets without scalar registers here are the encoder's matter.
                1 => Takes { vector: true, ..Takes::REGISTER },
                _ if self.is(Traits::SUM_SIGNS) => Takes::VECTOR,
                _ => Takes { literal: false, ..Takes::ALL },
            },
            VectorForm::Sdwa(_) => Takes { literal: false, ..Takes::ALL },
            // Of a matrix product the sums may begin as a constant.
            _ if self.dst_kind(0).is_matrix() && i == 2 && !self.is(Traits::SPARSE) => {
                Takes { inline: true, ..Takes::VECTOR }
            }
            _ if self.dst_kind(0).is_matrix() => Takes::VECTOR,
            // Operands wider than a pair are VGPRs.
            _ if kind.registers() > 2 => Takes::VECTOR,
            VectorForm::Short | VectorForm::Long => Takes::ALL,
        };
        let (first, lane) = (i == 0, i == 1 && self.is(Traits::LANE_SELECT));
        match () {
            () if first && self.is(Traits::VECTOR_FIRST) => Takes::VECTOR,
            () if i == 1 && self.is(Traits::VECTOR_SECOND) => Takes::VECTOR,
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
        let implied = !f.form.is_long();
        let width = |kind: OperandKind| match kind {
            OperandKind::Mask if implied => 2,
            kind => kind.registers_in(wave),
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
        let halves = match self.is(Traits::HALVES) {
            true => each(&OperandKind::is_half) | u8::from(self.dst_kind(0).is_half()) << 3,
            false => 0,
        };
        match form {
            VectorForm::Short | VectorForm::Dpp8 { .. } => Modifiers { op_sel: halves, ..none },
            VectorForm::Dpp16(_) => Modifiers { neg: floats & 3, abs: floats & 3, op_sel: halves, ..none },
            VectorForm::Interp { .. } => Modifiers { neg: all, op_sel: halves, clamp: self.is(Traits::CLAMP), ..none },
            VectorForm::Sdwa(_) => Modifiers {
                neg: floats & 3,
                abs: floats & 3,
                clamp: !compare,
                omod: if !compare && float_result && self.is(Traits::OMOD) { 3 } else { 0 },
                ..none
            },
            // LLVM's code sets the unused third bit of `op_sel_hi`.
            _ if self.format == Format::Vop3p => {
                let clamp = self.is(Traits::CLAMP);
                let op_sel = match self.is(Traits::WHOLE) {
                    true if self.is(Traits::SPARSE) => self.index_keys(),
                    true => 0,
                    false => all,
                };
                let sparse = self.is(Traits::SPARSE);
                let (neg, neg_hi) = match self.is(Traits::SUM_SIGNS) {
                    true if sparse => (0, 0),
                    true => (4, 4),
                    false if self.is(Traits::FACTOR_SIGNS) => (3, 0),
                    // The sums are the destination, and take no sign.
                    false if sparse => (3, 3),
                    false => (all, all),
                };
                Modifiers { neg, neg_hi, op_sel, op_sel_hi: 7, clamp, ..none }
            }
            VectorForm::Long | VectorForm::LongDpp16(_) | VectorForm::LongDpp8 { .. } => Modifiers {
                neg: floats,
                // The second result uses the bits of `abs`.
                abs: if self.has_mask_result() { 0 } else { floats },
                clamp: self.is(Traits::CLAMP),
                omod: if self.is(Traits::OMOD) { 3 } else { 0 },
                op_sel: match self.is(Traits::OP_SEL) {
                    _ if self.is(Traits::BYTE_SEL) => {
                        if self.is(Traits::PARTIAL) {
                            12
                        } else {
                            3
                        }
                    }
                    true if self.is(Traits::SCALAR_REST.or(Traits::VECTOR_SECOND)) => 3,
                    true => all | 8,
                    false => halves,
                },
                ..none
            },
        }
    }

    /// Bits of `op_sel` that choose a part of a sparse matrix's places.
    fn index_keys(&self) -> u8 {
        if self.op == Op::VSwmmacI3216x16x64Iu4 { 0 } else { 1 }
    }

    /// Whether the operation has this form.
    pub fn has_form(&self, form: &VectorForm) -> bool {
        match form {
            VectorForm::Short => self.format.is_short_vector(),
            VectorForm::Long => !self.is(Traits::NO_LONG) && self.format != Format::Vinterp,
            VectorForm::Interp { .. } => self.format == Format::Vinterp,
            VectorForm::LongDpp16(_) | VectorForm::LongDpp8 { .. } => self.is(Traits::LONG_DPP),
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
