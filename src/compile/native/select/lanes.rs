//! Selects operations across lanes, such as reads and writes of one lane.

use super::bools::Bool;
use super::{Dwords, Operands, PLAIN, Selector, mask_run, run_of};
use crate::mir::sources::is_literal;
use crate::mir::{Extra, Opcode, Operand, OperandValue};
use dovetail_base::error::Result;
use dovetail_ir::{LaneOp, Type, Value};
use dovetail_isa::Op;
use dovetail_isa::instruction::{Dpp16, Modifiers};

impl Selector<'_> {
    /// A lane or cube primitive.
    pub(super) fn lane_operation(&mut self, op: LaneOp, args: &[Value], result: Value) -> Result<()> {
        match op {
            LaneOp::ReadFirstLane => self.first_lane(args[0], result),
            LaneOp::ReadLane => {
                let (word, lane) = (self.word(args[0])?, self.word(args[1])?);
                // All lanes have the value. A copy to a vector register would be made in the active lanes only, and the
                // lane that is read may be inactive.
                if self.is_scalar_word(word) {
                    let word = if word == OperandValue::Undef { OperandValue::Const(0) } else { word };
                    self.set(result, &[word]);
                    return Ok(());
                }
                let value = self.vector(word);
                let lane = self.scalar(lane);
                let lane = self.no_literal(lane);
                let made = self.scalars(1);
                self.isa(Op::VReadlaneB32, &[Operand::val(made[0])], &[value, lane], Extra::None);
                self.set_val(result, made[0]);
                Ok(())
            }
            LaneOp::WriteLane => {
                let (value, lane, old) = (self.word(args[0])?, self.word(args[1])?, self.word(args[2])?);
                let value = self.scalar(value);
                let value = self.no_literal(value);
                let lane = self.scalar(lane);
                let lane = self.no_literal(lane);
                let old = self.vector(old);
                let made = self.new_vector();
                self.push(
                    Opcode::Isa(Op::VWritelaneB32),
                    &[Operand::val(made)],
                    &[value, lane, old],
                    Extra::None,
                    true,
                );
                self.set_val(result, made);
                Ok(())
            }
            LaneOp::Ballot => {
                let made = self.bool_of(args[0])?;
                let mask = self.mask_from(made);
                // Lanes that are inactive now may have been active where the condition was computed.
                let count = self.dword_count(self.shader.ty(result));
                let vals = self.scalars(count);
                let mut uses: Operands = [Self::exec()].into_iter().collect();
                uses.extend(mask_run(self.wave, mask));
                self.isa(self.lane_op(Op::SAndB32, Op::SAndB64), &run_of(&vals), &uses, Extra::None);
                let words: Dwords = vals.iter().map(|val| OperandValue::Val(*val)).collect();
                self.set(result, &words);
                Ok(())
            }
            LaneOp::MaskBitCount => {
                let words = self.words(args[0])?;
                let mut made = OperandValue::Val(self.v(Op::VMbcntLoU32B32, &[words[0], OperandValue::Const(0)]));
                if let Some(high) = words.get(1) {
                    made = OperandValue::Val(self.v(Op::VMbcntHiU32B32, &[*high, made]));
                }
                self.set(result, &[made]);
                Ok(())
            }
            LaneOp::Dpp { ctrl, row_mask, bank_mask, bound_zero } => {
                let (old, source) = (self.word(args[0])?, self.word(args[1])?);
                let source = self.vector(source);
                let made = self.new_vector();
                let defs = [Operand::val(made)];
                let full = row_mask == 0xf && bank_mask == 0xf;
                let always = old == OperandValue::Undef || self.all_on.is_some() && stays_in_row(ctrl);
                // A lane without a source gets the old value, or 0.
                let or_zero = full && (bound_zero || always || old == OperandValue::Const(0));
                let dpp = Dpp16 { ctrl, fi: false, bound_ctrl: bound_zero || or_zero, bank_mask, row_mask };
                if old == OperandValue::Undef || or_zero {
                    self.isa(Op::VMovB32, &defs, &[source], Extra::Dpp(dpp));
                } else {
                    let old = self.vector(old);
                    self.push(Opcode::Isa(Op::VMovB32), &defs, &[source, old], Extra::Dpp(dpp), true);
                }
                self.set_val(result, made);
                Ok(())
            }
            LaneOp::PermlaneX16 { low, high, fetch_inactive } => {
                let (old, source) = (self.word(args[0])?, self.word(args[1])?);
                let source = self.vector(source);
                let old = self.vector(old);
                let [low, high] = [low, high].map(|bits| self.scalar_or_inline(bits));
                let made = self.new_vector();
                let mods = Modifiers { op_sel: u8::from(fetch_inactive), ..PLAIN };
                let uses = [source, low, high, old];
                self.push(Opcode::Isa(Op::VPermlanex16B32), &[Operand::val(made)], &uses, Extra::Vector(mods), true);
                self.set_val(result, made);
                Ok(())
            }
            LaneOp::BPermute => {
                let (lane, word) = (self.word(args[0])?, self.word(args[1])?);
                let uses = [self.vector(lane), self.vector(word)];
                let vals = self.vectors(1);
                self.isa(Op::DsBpermuteB32, &run_of(&vals), &uses, Extra::Ds { offsets: [0, 0] });
                self.set_val(result, vals[0]);
                Ok(())
            }
            // The whole shader runs in whole quad mode.
            LaneOp::Wqm => {
                let words = self.words(args[0])?;
                self.set(result, &words);
                Ok(())
            }
            LaneOp::LiveMask => {
                let mask = self.live_mask()?;
                self.set_bool(result, Bool::Mask(mask));
                Ok(())
            }
            LaneOp::CubeId | LaneOp::CubeS | LaneOp::CubeT | LaneOp::CubeMa => {
                let words = self.only_words(args)?;
                let op = match op {
                    LaneOp::CubeId => Op::VCubeidF32,
                    LaneOp::CubeS => Op::VCubescF32,
                    LaneOp::CubeT => Op::VCubetcF32,
                    _ => Op::VCubemaF32,
                };
                let val = self.v(op, &words);
                self.set_val(result, val);
                Ok(())
            }
            LaneOp::SetInactive => self.set_inactive(args, result),
            LaneOp::StrictWwm => self.strict_wwm(args, result),
        }
    }

    fn first_lane(&mut self, v: Value, result: Value) -> Result<()> {
        if self.shader.ty(v) == Type::B1 {
            let made = self.bool_of(v)?;
            if made.is_scalar() {
                self.set_bool(result, made);
                return Ok(());
            }
            let lanes = self.as_lanes(made)?;
            let flag = self.scalar_register(OperandValue::Val(lanes));
            self.set_bool(result, Bool::Flag(flag));
            return Ok(());
        }
        let mut out = Dwords::new();
        for word in self.words(v)? {
            out.push(match word {
                OperandValue::Undef => OperandValue::Const(0),
                word => self.scalar(word).what,
            });
        }
        self.set(result, &out);
        Ok(())
    }

    /// A scalar operand that is not a literal.
    fn no_literal(&mut self, operand: Operand) -> Operand {
        match operand.what {
            what if is_literal(what) => Operand::val(self.scalar_register(what)),
            OperandValue::Undef => Operand::constant(0),
            _ => operand,
        }
    }

    fn scalar_or_inline(&mut self, bits: u32) -> Operand {
        self.no_literal(Operand::constant(bits))
    }
}

/// Whether every lane has a source in its row if all lanes are active: `quad_perm`, `row_ror`, `row_mirror`,
/// `row_half_mirror`, `row_share` and `row_xmask` of `dpp_ctrl`.
const fn stays_in_row(ctrl: u16) -> bool {
    matches!(ctrl, 0..=0xff | 0x121..=0x12f | 0x140 | 0x141 | 0x150..=0x16f)
}
