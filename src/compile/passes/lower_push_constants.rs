//! Push constants: SGPRs if the offset is constant and the plan has an SGPR for it, otherwise loads from the spill
//! table.
//!
//! | layout | in SGPRs | else |
//! |---|---|---|
//! | unknown | `UserData::PushConstant(dword)` | spill table + `pushconst`, at offset |
//! | known | `UserData::Root(dword)` | spill table, at constant + offset |

use super::address;
use super::context::{PassContext, push_dwords, push_place};
use super::entry_values::Entry;
use super::prelude::Prelude;
use dovetail_base::error::{Error, Result};
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{Align, AluOp, Bits, Builder, FpFlags, Inst, Op, Shader, Type, Value};
use dovetail_metadata::interface::UserData;
use dovetail_reloc::symbol::LinkSymbol;
use smallvec::SmallVec;

/// Lowers `PushConstant`.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    let mut prelude = Prelude::default();
    rewrite(shader, |b, inst| {
        let Op::PushConstant { align } = inst.op else { return Ok(Rewrite::Keep) };
        let &[offset] = inst.args.as_slice() else { return Err(Error::bug("push constant without an offset")) };
        if let Some(v) = from_registers(b, &cx.entry, inst) {
            return Ok(Rewrite::Value(v));
        }
        let ty = inst.result.map_or(Type::B32, |v| b.ty(v));
        let (table, at) = match &cx.layout {
            // The unknown start is added to the address, so that offsets stay constant and adjacent loads can be
            // merged.
            None => (start(&mut prelude, b.shader, &cx.entry)?, offset),
            Some(layout) => {
                let root = push_place(layout)?.root;
                cx.spilled_from(root);
                let start = b.c32(root.saturating_mul(4));
                (address::table(&mut prelude, b.shader, &cx.entry, UserData::SpillTable)?, b.iadd(start, offset))
            }
        };
        // The block starts at a root dword, so only dword alignment is guaranteed.
        Ok(Rewrite::Value(address::load(b, table, at, ty, align.min(Align::A4))))
    })?;
    prelude.place(shader);
    Ok(())
}

/// Address of the push constants, with a known or unknown layout.
fn start(p: &mut Prelude, shader: &mut Shader, entry: &Entry) -> Result<Value> {
    let low = entry.user(UserData::SpillTable)?;
    let symbol = shader.symbol(&LinkSymbol::PushConstants);
    let start = p.value(shader, Op::Reloc(symbol), &[], Type::B32);
    let low = p.value(shader, Op::Alu(AluOp::IAdd, FpFlags::NONE), &[low, start], Type::B32);
    let high = address::high(p, shader);
    Ok(address::join(p, shader, low, high))
}

fn from_registers(b: &mut Builder<'_>, entry: &Entry, inst: &Inst) -> Option<Value> {
    let (first, count) = push_dwords(b.shader, inst)?;
    let regs: Option<SmallVec<[Value; 8]>> =
        (first..first.checked_add(count)?).map(|d| entry.find_user(UserData::PushConstant(d))).collect();
    let regs = regs?;
    let offset = u32::try_from(b.shader.as_const(*inst.args.first()?)?).ok()?;
    let ty = b.ty(inst.result?);
    let bytes = ty.bits().bytes();
    let mut lanes: SmallVec<[Value; 4]> = SmallVec::new();
    for lane in 0..ty.lanes() {
        let at = offset + lane * bytes;
        let dword = regs.get((at / 4 - first) as usize).copied()?;
        lanes.push(match ty.bits() {
            Bits::B64 => {
                let high = regs.get((at / 4 - first) as usize + 1).copied()?;
                let pair = b.compose(&[dword, high]);
                b.bitcast(pair, Type::B64)
            }
            Bits::B32 => dword,
            _ => {
                let shift = b.c32(at % 4 * 8);
                let down = if at.is_multiple_of(4) { dword } else { b.alu(AluOp::LShr, &[dword, shift]) };
                b.convert(AluOp::Trunc, down, ty.element())
            }
        });
    }
    Some(b.compose(&lanes))
}
