//! Interpolation: in one step of the hardware, or from parameters that are loaded into registers.
//!
//! A loaded parameter has P0, P10 and P20 in the first three lanes of each quad, and the load writes all four lanes of a quad
//! with any active lane (LLVM, `SIWholeQuadMode`; review D127977). So its register must be one that no value of an inactive
//! lane is in, and must not be copied, since a copy would leave inactive lanes behind: it is a variable, with a register of its
//! own. The instructions that read it read other lanes of the quad, whether these are active or not.

use super::Selector;
use crate::mir::{Extra, Opcode, Operand, PhysReg, Val};
use dovetail_base::error::{Error, Result};
use dovetail_ir::Value;
use dovetail_isa::Op;
use dovetail_isa::instruction::Dpp16;

/// Lanes of a quad with P0, P10, P20, by the selector of `v_interp_mov`: 0 P10, 1 P20, 2 P0.
const LANES: [u16; 3] = [1, 2, 0];

impl Selector<'_> {
    /// Interpolates one channel of an attribute.
    pub(super) fn interpolate(&mut self, attr: u32, channel: u8, args: &[Value], result: Value) -> Result<()> {
        let extra = attribute(attr, channel, 0)?;
        let (i, j) = (self.word(args[0])?, self.word(args[1])?);
        let (i, j) = (self.vector(i), self.vector(j));
        self.set_m0(args[2])?;
        let m0 = Operand::fixed(PhysReg::M0);
        let (first, second) = (self.new_vector(), self.new_vector());
        if self.isa.has(Op::LdsParamLoad) {
            let parameter = Operand::val(self.parameter(extra));
            self.isa(Op::VInterpP10F32, &[Operand::val(first)], &[parameter, i, parameter], Extra::None);
            let uses = [parameter, j, Operand::val(first)];
            self.isa(Op::VInterpP2InregF32, &[Operand::val(second)], &uses, Extra::None);
        } else {
            self.isa(Op::VInterpP1F32, &[Operand::val(first)], &[i, m0], extra);
            let uses = [j, m0, Operand::val(first)];
            self.push(Opcode::Isa(Op::VInterpP2F32), &[Operand::val(second)], &uses, extra, true);
        }
        self.set_val(result, second);
        Ok(())
    }

    /// A channel of an attribute at one vertex.
    pub(super) fn flat(&mut self, attr: u32, channel: u8, vertex: u8, args: &[Value], result: Value) -> Result<()> {
        let extra = attribute(attr, channel, vertex)?;
        self.set_m0(args[0])?;
        let val = self.new_vector();
        if self.isa.has(Op::LdsParamLoad) {
            let parameter = Operand::val(self.parameter(extra));
            let lane = LANES.get(usize::from(vertex)).copied();
            let lane = lane.ok_or_else(|| Error::bug(format!("native: vertex {vertex} of a parameter")))?;
            // The same lane for all four of a quad.
            let ctrl = lane | lane << 2 | lane << 4 | lane << 6;
            let dpp = Dpp16 { ctrl, fi: true, bound_ctrl: true, bank_mask: 0xf, row_mask: 0xf };
            self.isa(Op::VMovB32, &[Operand::val(val)], &[parameter], Extra::Dpp(dpp));
        } else {
            self.isa(Op::VInterpMovF32, &[Operand::val(val)], &[Operand::fixed(PhysReg::M0)], extra);
        }
        self.set_val(result, val);
        Ok(())
    }

    /// Loads a parameter; M0 is set.
    fn parameter(&mut self, extra: Extra) -> Val {
        let val = self.new_vector();
        self.f.values[val.index()].variable = true;
        self.isa(Op::LdsParamLoad, &[Operand::val(val)], &[Operand::fixed(PhysReg::M0)], extra);
        val
    }

    fn set_m0(&mut self, v: Value) -> Result<()> {
        let word = self.word(v)?;
        let mask = self.scalar(word);
        self.isa(Op::SMovB32, &[Operand::fixed(PhysReg::M0)], &[mask], Extra::None);
        Ok(())
    }
}

fn attribute(attr: u32, channel: u8, vertex: u8) -> Result<Extra> {
    let attr = u8::try_from(attr).map_err(|_| Error::bug(format!("native: attribute {attr}")))?;
    Ok(Extra::Interp { attr, channel, vertex })
}
