//! Scratch memory: variables with run-time indices.
//!
//! The hardware interleaves the lanes' dwords, so each access moves a dword or a part of one.

use super::shared::unit_of;
use super::{Dwords, Operands, Selector};
use crate::mir::{Extra, Operand, OperandValue, PhysReg};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Align, LocalId, Value};
use dovetail_isa::Op;
use dovetail_isa::instruction::CachePolicy;
use smallvec::SmallVec;

impl Selector<'_> {
    /// Offset of each variable.
    pub(super) fn place_locals(&mut self) {
        let mut at = 0u32;
        for local in &self.shader.locals {
            at = at.next_multiple_of(local.align.bytes().max(4));
            self.locals.push(at);
            at = at.saturating_add(local.bytes);
        }
        self.locals_bytes = at.next_multiple_of(4);
    }

    /// Address registers and constant offset of an access.
    fn local_address(&mut self, local: LocalId, offset: Value, bytes: u32) -> Result<(Option<Operand>, u32)> {
        self.f.scratch_bytes = self.locals_bytes;
        let base = *self.locals.get(local.index()).ok_or_else(|| Error::bug(format!("native: there is no {local}")))?;
        let (register, constant) = self.base_and_offset(offset)?;
        // A constant index may be out of bounds, or negative.
        let constant = constant.wrapping_add(base);
        let most = self.isa.limits.buffer_offset;
        if constant <= most && constant + bytes <= most + 1 {
            let register = if register == OperandValue::Const(0) { None } else { Some(self.vector(register)) };
            return Ok((register, constant));
        }
        let sum = self.integer_of(dovetail_ir::AluOp::IAdd, &[OperandValue::Const(constant), register])?;
        Ok((Some(self.vector(sum)), 0))
    }

    fn local_extra(offset: u32, offen: bool) -> Extra {
        Extra::Buffer { offset, idxen: false, offen, format: None, cache: CachePolicy::default() }
    }

    fn local_uses(register: Option<Operand>) -> Operands {
        let mut uses: Operands = register.into_iter().collect();
        uses.extend([Operand::fixed(PhysReg::SCRATCH), Operand::constant(0)]);
        uses
    }

    /// Loads a value.
    pub(super) fn local_load(&mut self, local: LocalId, align: Align, offset: Value, result: Value) -> Result<()> {
        let ty = self.shader.ty(result);
        let (register, constant) = self.local_address(local, offset, ty.bytes())?;
        let unit = unit_of(ty.bytes(), align);
        let op = [Op::BufferLoadUbyte, Op::BufferLoadUshort, Op::BufferLoadDword][(unit / 2) as usize];
        let mut pieces: SmallVec<[(u32, OperandValue); 16]> = SmallVec::new();
        for at in (0..ty.bytes()).step_by(unit as usize) {
            let val = self.vectors(1)[0];
            let uses = Self::local_uses(register);
            self.isa(op, &[Operand::val(val)], &uses, Self::local_extra(constant + at, register.is_some()));
            pieces.push((at, OperandValue::Val(val)));
        }
        let words = self.gather(&pieces, ty, align)?;
        self.set(result, &words);
        Ok(())
    }

    /// Stores a value.
    pub(super) fn local_store(&mut self, local: LocalId, align: Align, offset: Value, value: Value) -> Result<()> {
        let ty = self.shader.ty(value);
        let (register, constant) = self.local_address(local, offset, ty.bytes())?;
        let unit = unit_of(ty.bytes(), align);
        let op = [Op::BufferStoreByte, Op::BufferStoreShort, Op::BufferStoreDword][(unit / 2) as usize];
        let words: Dwords = self.words(value)?;
        for at in (0..ty.bytes()).step_by(unit as usize) {
            let word = self.shifted_down(words[(at / 4) as usize], at % 4)?;
            let mut uses = Self::local_uses(register);
            uses.push(self.vector(word));
            self.isa(op, &[], &uses, Self::local_extra(constant + at, register.is_some()));
        }
        Ok(())
    }
}
