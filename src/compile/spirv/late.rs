//! Specialization constants whose values are not known at compile time: relocations, and code for expressions of them.

use super::constants::Late;
use super::cx::{Cx, Def, LeafValues};
use super::inst;
use super::instruction::SpirvInst;
use dovetail_base::error::{Error, FullCompile, Result};
use dovetail_ir::{AluOp, Op, SpecOperand, Type, Value};
use dovetail_reloc::symbol::LinkSymbol;
use rspirv::dr::Operand;
use smallvec::smallvec;

impl Cx<'_> {
    /// Whether an operand of an instruction is a late constant.
    pub(super) fn any_late(&self, inst: &SpirvInst<'_>) -> bool {
        inst.operands.iter().any(|operand| matches!(operand, Operand::IdRef(id) if self.is_late(*id)))
    }

    /// Whether an id is a late constant.
    pub(super) fn is_late(&self, id: u32) -> bool {
        matches!(self.known(id), Some(Def::Constant(c)) if self.constants.is_late(*c))
    }

    /// The error for a late constant whose bits are needed. `compile::operands` leaves no such constant late, so this
    /// is a use that it does not know; the whole-pipeline compile has the value.
    pub(super) fn needs_known(&self, index: u32) -> Error {
        let id = match self.constants.get(index).and_then(|c| c.late) {
            Some(Late::Relocated(operand)) => operand.id,
            _ => self.constants.operands.first().map_or(0, |operand| operand.id),
        };
        Error::needs_full(FullCompile::Specialization { id })
    }

    /// The values of a late constant, in the current block.
    pub(super) fn late_values(&mut self, late: Late) -> Result<LeafValues> {
        let at = match late {
            Late::Relocated(operand) => return Ok(smallvec![self.relocated(operand)]),
            Late::Computed(at) => at,
        };
        let module = self.module;
        let Some(inst) = module.global_at(at) else { return Err(Error::bug("constant out of range")) };
        if inst.op() == spirv::Op::SpecConstantComposite {
            let mut all = LeafValues::new();
            for id in inst.ids_from(0) {
                all.extend(self.values(id?)?);
            }
            return Ok(all);
        }
        // The instruction is translated like one of a function, at the place where its result is used.
        let (id, constant, fp) = (inst.result()?, *self.def(inst.result()?)?, self.b.fp);
        inst::translate(self, &inst)?;
        let values = self.values(id);
        self.define(id, constant);
        self.b.fp = fp;
        values
    }

    fn relocated(&mut self, operand: SpecOperand) -> Value {
        self.constants.use_operand(operand);
        let SpecOperand { id, bits, .. } = operand;
        let mut dword = |dword| {
            let symbol = self.b.shader.symbol(&LinkSymbol::SpecConstant { id, dword });
            self.b.value(Op::Reloc(symbol), &[], Type::B32)
        };
        let low = dword(0);
        match bits {
            1 => {
                let zero = self.b.c32(0);
                self.b.alu(AluOp::INe, &[low, zero])
            }
            8 => self.b.convert(AluOp::Trunc, low, Type::B8),
            16 => self.b.convert(AluOp::Trunc, low, Type::B16),
            64 => {
                let high = dword(1);
                let both = self.b.compose(&[low, high]);
                self.b.bitcast(both, Type::B64)
            }
            _ => low,
        }
    }
}
