//! Dwords of values, and moves between the two register files.

use super::{Dwords, Made, Operands, Selector, run_of};
use crate::mir::sources::{is_literal, one_literal};
use crate::mir::{Extra, Operand, OperandValue, PhysReg, RegisterClass, Val};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_ir::{Bits, Type, Value};
use dovetail_isa::Op;
use dovetail_isa::instruction::VectorForm;
use smallvec::SmallVec;

impl Selector<'_> {
    /// Records the dwords of a value.
    pub(super) fn set(&mut self, v: Value, words: &[OperandValue]) {
        let start = self.dwords.len() as u32;
        self.dwords.extend_from_slice(words);
        self.made[v.index()] = Made::Dwords(start, words.len() as u32);
    }

    pub(super) fn set_val(&mut self, v: Value, val: Val) {
        self.set(v, &[OperandValue::Val(val)]);
    }

    pub(super) fn constant(&mut self, v: Value, bits: u64, ty: Type) {
        match ty.bits() {
            Bits::B1 => self.made[v.index()] = Made::Bool(super::Bool::Const(bits & 1 == 1)),
            Bits::B64 => self.set(v, &[OperandValue::Const(bits as u32), OperandValue::Const((bits >> 32) as u32)]),
            _ => self.set(v, &[OperandValue::Const(bits as u32)]),
        }
    }

    /// The dwords of a value that is no condition.
    pub(super) fn words(&self, v: Value) -> Result<Dwords> {
        self.dwords_of(v).map(Dwords::from_slice)
    }

    fn dwords_of(&self, v: Value) -> Result<&[OperandValue]> {
        match self.made[v.index()] {
            Made::Dwords(start, count) => Ok(&self.dwords[start as usize..(start + count) as usize]),
            Made::Bool(_) => Err(Error::bug(format!("native: the condition {v} as a number"))),
            Made::None => Err(Error::bug(format!("native: {v} is used before it is made"))),
        }
    }

    /// The only dword of a value.
    pub(super) fn word(&self, v: Value) -> Result<OperandValue> {
        match self.dwords_of(v)? {
            [word] => Ok(*word),
            _ => Err(Error::bug(format!("native: {v} is not one dword"))),
        }
    }

    /// The constant that a value is.
    pub(super) fn known(&self, v: Value) -> Option<u32> {
        match self.made[v.index()] {
            Made::Dwords(start, 1) => match self.dwords[start as usize] {
                OperandValue::Const(bits) => Some(bits),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a value can be had in scalar registers without an instruction.
    pub(super) fn is_scalar(&self, v: Value) -> bool {
        match self.made[v.index()] {
            Made::Dwords(start, count) => {
                self.dwords[start as usize..(start + count) as usize].iter().all(|word| self.is_scalar_word(*word))
            }
            Made::Bool(made) => made.is_scalar(),
            Made::None => false,
        }
    }

    pub(super) fn is_scalar_word(&self, word: OperandValue) -> bool {
        match word {
            OperandValue::Val(val) => self.f.class(val) == RegisterClass::Scalar,
            _ => true,
        }
    }

    /// New scalar values.
    pub(super) fn scalars(&mut self, count: usize) -> SmallVec<[Val; 16]> {
        (0..count).map(|_| self.f.value(RegisterClass::Scalar)).collect()
    }

    /// New vector values.
    pub(super) fn vectors(&mut self, count: usize) -> SmallVec<[Val; 16]> {
        (0..count).map(|_| self.new_vector()).collect()
    }

    /// A new vector value.
    pub(super) fn new_vector(&mut self) -> Val {
        let val = self.f.value(RegisterClass::Vector);
        self.f.values[val.index()].variable = self.is_reserved();
        val
    }

    /// A new lane mask; only wave64 uses the second value.
    pub(super) fn new_mask(&mut self) -> [Val; 2] {
        let first = self.f.value(RegisterClass::Scalar);
        match self.wave {
            WaveSize::W32 => [first, first],
            WaveSize::W64 => [first, self.f.value(RegisterClass::Scalar)],
        }
    }

    /// The operation for masks: the 32-bit or the 64-bit one.
    pub(super) fn lane_op(&self, narrow: Op, wide: Op) -> Op {
        match self.wave {
            WaveSize::W32 => narrow,
            WaveSize::W64 => wide,
        }
    }

    pub(super) fn exec() -> Operand {
        Operand::fixed(PhysReg::EXEC)
    }

    /// Records that two values are equal in this block.
    fn pair(&mut self, a: Val, b: Val) {
        let most = a.index().max(b.index());
        if self.other.len() <= most {
            self.other.resize(most + 1, None);
        }
        self.other[a.index()] = Some((b, self.here));
    }

    fn known_pair(&self, val: Val) -> Option<Val> {
        let (other, block) = (*self.other.get(val.index())?)?;
        (block == self.here).then_some(other)
    }

    /// A dword as an operand of a vector instruction that accepts any kind.
    pub(super) fn any(word: OperandValue) -> Operand {
        Operand::one(word)
    }

    /// A dword in a vector register.
    pub(super) fn vector(&mut self, word: OperandValue) -> Operand {
        match word {
            OperandValue::Val(val) if self.f.class(val) == RegisterClass::Vector => Operand::val(val),
            OperandValue::Val(val) => match self.known_pair(val) {
                Some(other) => Operand::val(other),
                None => {
                    let made = self.copy_to_vector(word);
                    self.pair(val, made);
                    Operand::val(made)
                }
            },
            OperandValue::Undef => Operand::one(OperandValue::Undef),
            _ => Operand::val(self.copy_to_vector(word)),
        }
    }

    /// Dwords as vector sources that need not be consecutive: equal ones share a register.
    pub(super) fn vectors_apart(&mut self, words: &[OperandValue]) -> Operands {
        let mut out = Operands::new();
        for (n, word) in words.iter().enumerate() {
            let same = words[..n].iter().position(|before| before == word);
            out.push(match same {
                Some(n) => out[n],
                None => self.vector(*word),
            });
        }
        out
    }

    pub(super) fn copy_to_vector(&mut self, word: OperandValue) -> Val {
        let made = self.new_vector();
        self.isa(Op::VMovB32, &[Operand::val(made)], &[Operand::one(word)], Extra::None);
        made
    }

    /// A dword as a scalar source: register, constant or relocation.
    pub(super) fn scalar(&mut self, word: OperandValue) -> Operand {
        match word {
            OperandValue::Val(val) if self.f.class(val) == RegisterClass::Vector => {
                if let Some(other) = self.known_pair(val) {
                    return Operand::val(other);
                }
                let made = self.f.value(RegisterClass::Scalar);
                self.isa(Op::VReadfirstlaneB32, &[Operand::val(made)], &[Operand::val(val)], Extra::None);
                self.pair(val, made);
                Operand::val(made)
            }
            _ => Operand::one(word),
        }
    }

    /// A dword in a scalar register.
    pub(super) fn scalar_register(&mut self, word: OperandValue) -> Val {
        let operand = self.scalar(word);
        match operand.what {
            OperandValue::Val(val) => val,
            // Even an undefined value needs a register.
            OperandValue::Undef => self.move_scalar(OperandValue::Const(0)),
            other => self.move_scalar(other),
        }
    }

    /// A literal in a scalar register, shared by its uses in a block.
    pub(super) fn literal(&mut self, word: OperandValue) -> Val {
        if let Some((_, val)) = self.literals.iter().find(|(what, _)| *what == word) {
            return *val;
        }
        let val = self.move_scalar(word);
        self.literals.push((word, val));
        val
    }

    fn move_scalar(&mut self, word: OperandValue) -> Val {
        let made = self.f.value(RegisterClass::Scalar);
        self.isa(Op::SMovB32, &[Operand::val(made)], &[Operand::one(word)], Extra::None);
        made
    }

    /// Dwords as a run of scalar registers.
    pub(super) fn scalar_run(&mut self, words: &[OperandValue]) -> Operands {
        let vals: SmallVec<[Val; 8]> = words.iter().map(|word| self.scalar_register(*word)).collect();
        self.distinct(run_of(&vals), RegisterClass::Scalar)
    }

    /// Dwords as a run of vector registers; undefined ones stay undefined. Variables are copied: a variable has one place
    /// and so can be in one run only, and where they share no registers the allocator may not copy them itself.
    pub(super) fn vector_run(&mut self, words: &[OperandValue]) -> Operands {
        if self.is_reserved() {
            let known = |word: &OperandValue| if *word == OperandValue::Undef { OperandValue::Const(0) } else { *word };
            let vals: SmallVec<[Val; 8]> = words.iter().map(|word| self.copy_to_vector(known(word))).collect();
            return run_of(&vals);
        }
        let mut out: Operands = words.iter().map(|word| self.vector(*word)).collect();
        out.iter_mut().for_each(|operand| operand.run = 0);
        if let Some(first) = out.first_mut() {
            first.run = words.len() as u8;
        }
        self.distinct(out, RegisterClass::Vector)
    }

    /// A value may be in a run only once: copies repeated ones.
    fn distinct(&mut self, mut run: Operands, class: RegisterClass) -> Operands {
        for n in 1..run.len() {
            let Some(val) = run[n].as_val() else { continue };
            if run[..n].iter().any(|before| before.as_val() == Some(val)) {
                let made = self.f.value(class);
                let op = if class == RegisterClass::Scalar { Op::SMovB32 } else { Op::VMovB32 };
                self.isa(op, &[Operand::val(made)], &[Operand::val(val)], Extra::None);
                run[n].what = OperandValue::Val(made);
            }
        }
        run
    }

    /// A scalar instruction with one result.
    pub(super) fn s(&mut self, op: Op, srcs: &[OperandValue]) -> Val {
        let uses: Operands = srcs.iter().map(|src| self.scalar(*src)).collect();
        let uses = self.one_literal(uses);
        let made = self.f.value(RegisterClass::Scalar);
        self.isa(op, &[Operand::val(made)], &uses, Extra::None);
        made
    }

    /// A scalar instruction has at most one literal.
    pub(super) fn one_literal(&mut self, mut uses: Operands) -> Operands {
        let mut seen: Option<OperandValue> = None;
        for operand in &mut uses {
            if !is_literal(operand.what) {
                continue;
            }
            match seen {
                Some(what) if what != operand.what || matches!(what, OperandValue::Reloc(_)) => {
                    *operand = Operand::val(self.move_scalar(operand.what));
                }
                _ => seen = Some(operand.what),
            }
        }
        uses
    }

    /// A vector instruction with one result in a vector register.
    pub(super) fn v(&mut self, op: Op, srcs: &[OperandValue]) -> Val {
        self.v_with(op, srcs, Extra::None)
    }

    pub(super) fn v_with(&mut self, op: Op, srcs: &[OperandValue], extra: Extra) -> Val {
        let made = self.new_vector();
        let uses = self.fit(op, srcs.iter().map(|src| Self::any(*src)).collect());
        self.isa(op, &[Operand::val(made)], &uses, extra);
        made
    }

    /// Adapts operands to a vector instruction: at most as many scalar values as it reads, one literal, vector
    /// registers where required.
    pub(super) fn fit(&mut self, op: Op, mut uses: Operands) -> Operands {
        let entry = self.isa.row(op);
        let long = !entry.has_form(&VectorForm::Long);
        for (i, operand) in uses.iter_mut().enumerate() {
            let form = if long { VectorForm::Short } else { VectorForm::Long };
            let takes = entry.vector_source(&form, i);
            let src = self.f.example(*operand);
            if !takes.accepts(src) {
                *operand = if takes.vector { self.vector(operand.what) } else { self.scalar(operand.what) };
                if !takes.literal && is_literal(operand.what) {
                    *operand = Operand::val(self.move_scalar(operand.what));
                }
            }
        }
        // Moves scalar values beyond the limit to vector registers, from the last operand on.
        loop {
            let fields = self.f.example_fields(&uses);
            if one_literal(&uses) && entry.scalar_values(&fields, self.wave) <= entry.scalar_limit() {
                return uses;
            }
            let is_mask = |i: usize| entry.src_kind(i) == dovetail_isa::OperandKind::Mask;
            let movable = (0..uses.len()).rev().find(|&i| {
                let scalar = match uses[i].what {
                    OperandValue::Val(val) => self.f.class(val) == RegisterClass::Scalar,
                    OperandValue::Const(_) | OperandValue::Reloc(_) => is_literal(uses[i].what),
                    _ => false,
                };
                scalar && uses[i].run == 1 && !is_mask(i)
            });
            match movable {
                // One of two literals may be in a scalar register.
                Some(i) if !one_literal(&uses) && entry.scalar_limit() > 1 && is_literal(uses[i].what) => {
                    uses[i] = Operand::val(self.literal(uses[i].what));
                }
                Some(i) => uses[i] = self.vector(uses[i].what),
                None => return uses,
            }
        }
    }
}
