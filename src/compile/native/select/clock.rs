//! Clocks: of the wave, and of the device.

use super::bools::Bool;
use super::{Selector, run_of};
use crate::mir::{Extra, Operand, OperandValue};
use dovetail_base::error::Result;
use dovetail_ir::{Scope, Value};
use dovetail_isa::instruction::CachePolicy;
use dovetail_isa::{ASKS_REAL_TIME, Op, SHADER_CYCLES};

/// This many of the lowest bits of a hardware register, as `s_getreg_b32` names them.
const fn bits_of(register: u16, bits: u16) -> u16 {
    register | (bits - 1) << 11
}

/// Bits of the clock where it is one register. Mesa reads these.
const CYCLE_BITS: u16 = 20;

impl Selector<'_> {
    /// The wave's clock, by hardware registers.
    fn cycles(&mut self, result: Value) {
        let Some(high) = self.isa.limits.cycles_high else {
            let low = self.hardware_register(SHADER_CYCLES, CYCLE_BITS);
            return self.set(result, &[low, OperandValue::Const(0)]);
        };
        // If the high half has changed, the low one was 0 in between (Mesa, `read_clock`).
        let [before, low, after] = [high, SHADER_CYCLES, high].map(|register| self.hardware_register(register, 32));
        self.put_in_scc(Bool::Compare(Op::SCmpEqU32, before, after));
        let low = OperandValue::Val(self.s(Op::SCselectB32, &[low, OperandValue::Const(0)]));
        self.set(result, &[low, after]);
    }

    fn hardware_register(&mut self, register: u16, bits: u16) -> OperandValue {
        let val = self.scalars(1)[0];
        self.isa(Op::SGetregB32, &[Operand::val(val)], &[], Extra::Imm(bits_of(register, bits)));
        OperandValue::Val(val)
    }

    pub(super) fn clock(&mut self, scope: Scope, result: Value) -> Result<()> {
        let device = matches!(scope, Scope::Device | Scope::System);
        let op = if device { Op::SMemrealtime } else { Op::SMemtime };
        if self.isa.has(op) {
            let vals = self.scalars(2);
            self.isa(op, &run_of(&vals), &[], Extra::Smem { offset: 0, cache: CachePolicy::default() });
            self.set_vals(result, &vals);
        } else if device {
            let vals = self.scalars(2);
            self.isa(Op::SSendmsgRtnB64, &run_of(&vals), &[], Extra::Imm(ASKS_REAL_TIME));
            self.set_vals(result, &vals);
        } else {
            self.cycles(result);
        }
        Ok(())
    }
}
