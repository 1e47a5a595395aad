//! Expands sums of four byte products where the GPU has no instruction for them: bytes are extended, products added.

use super::context::PassContext;
use dovetail_base::error::Result;
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{AluOp, Builder, Op, Shader, Value};

/// Bits of a byte.
const BYTE: u32 = 8;

/// Lowers `sdot4` and the like.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    if cx.request.target.instructions().has_dot_products() {
        return Ok(());
    }
    rewrite(shader, |b, inst| {
        let (Op::Alu(op, _), &[x, y, sum]) = (&inst.op, &inst.args[..]) else { return Ok(Rewrite::Keep) };
        let made = match op {
            AluOp::SDot4 => sum_of_products(b, AluOp::SBitExtract, [x, y], Some(sum)),
            AluOp::UDot4 => sum_of_products(b, AluOp::UBitExtract, [x, y], Some(sum)),
            // Four products never overflow, so that the only sum that may is the last.
            AluOp::SDot4Sat => {
                let products = sum_of_products(b, AluOp::SBitExtract, [x, y], None);
                b.alu(AluOp::SAddSat, &[products, sum])
            }
            AluOp::UDot4Sat => {
                let products = sum_of_products(b, AluOp::UBitExtract, [x, y], None);
                b.alu(AluOp::UAddSat, &[products, sum])
            }
            _ => return Ok(Rewrite::Keep),
        };
        Ok(Rewrite::Value(made))
    })
}

fn sum_of_products(b: &mut Builder<'_>, extract: AluOp, factors: [Value; 2], sum: Option<Value>) -> Value {
    let bits = b.c32(BYTE);
    (0..4u32)
        .fold(sum, |sum, n| {
            let from = b.c32(n * BYTE);
            let [x, y] = factors.map(|all| b.alu(extract, &[all, from, bits]));
            let product = b.alu(AluOp::IMul, &[x, y]);
            Some(match sum {
                Some(sum) => b.alu(AluOp::IAdd, &[product, sum]),
                None => product,
            })
        })
        .unwrap_or_else(|| b.c32(0))
}
