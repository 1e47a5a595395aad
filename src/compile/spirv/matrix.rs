//! Linear algebra on columns of leaves: products, transposes, dot products.

use super::bfloat;
use super::cx::{Cx, LeafValues, SpirvInst, Ty};
use dovetail_base::error::Result;
use dovetail_ir::{AluOp, Type, Value};
use spirv::Op;

/// Translates a linear-algebra instruction; false if it is not one.
///
/// # Errors
/// Malformed operands.
pub fn translate(cx: &mut Cx<'_>, inst: &SpirvInst<'_>) -> Result<bool> {
    let values = match inst.op() {
        Op::VectorTimesScalar | Op::MatrixTimesScalar => {
            let (v, s) = (cx.values(inst.id(0)?)?, cx.value(inst.id(1)?)?);
            same(cx, inst, &[&v, &[s]])?;
            v.into_iter().map(|x| cx.b.alu(AluOp::FMul, &[x, s])).collect()
        }
        Op::Dot => {
            let (mut a, mut b) = (cx.values(inst.id(0)?)?, cx.values(inst.id(1)?)?);
            same(cx, inst, &[&a, &b])?;
            let is_bfloat = cx.types.is_bfloat(cx.result_type(inst)?);
            if is_bfloat {
                a.iter_mut().chain(&mut b).for_each(|x| *x = bfloat::widen(&mut cx.b, *x));
            }
            let mut sum = dot(cx, inst, &a, &b)?;
            if is_bfloat {
                let toward_zero = bfloat::rounds_toward_zero(cx, inst)?;
                sum = bfloat::narrow(&mut cx.b, sum, toward_zero);
            }
            LeafValues::from_slice(&[sum])
        }
        Op::MatrixTimesVector => {
            let (m, v) = (Matrix::of(cx, inst, 0)?, cx.values(inst.id(1)?)?);
            same(cx, inst, &[&m.leaves, &v])?;
            m.times(cx, inst, &v)?
        }
        Op::VectorTimesMatrix => {
            let (v, m) = (cx.values(inst.id(0)?)?, Matrix::of(cx, inst, 1)?);
            same(cx, inst, &[&m.leaves, &v])?;
            let mut out = LeafValues::new();
            for column in m.leaves.chunks(m.rows) {
                out.push(dot(cx, inst, &v, column)?);
            }
            out
        }
        Op::MatrixTimesMatrix => {
            let (a, b) = (Matrix::of(cx, inst, 0)?, Matrix::of(cx, inst, 1)?);
            same(cx, inst, &[&a.leaves, &b.leaves])?;
            let mut out = LeafValues::new();
            for column in b.leaves.chunks(b.rows) {
                out.extend(a.times(cx, inst, column)?);
            }
            out
        }
        Op::OuterProduct => {
            let (a, b) = (cx.values(inst.id(0)?)?, cx.values(inst.id(1)?)?);
            same(cx, inst, &[&a, &b])?;
            let mut out = LeafValues::new();
            for &y in &b {
                out.extend(a.iter().map(|&x| cx.b.alu(AluOp::FMul, &[x, y])));
            }
            out
        }
        Op::Transpose => Matrix::of(cx, inst, 0)?.transposed(),
        // Matrices have no other operations; they are compared and added as vectors are.
        _ => return Ok(false),
    };
    let types = cx.types.leaf_types(cx.result_type(inst)?)?;
    super::join::check(cx, &values, &types)?;
    cx.set(inst.result()?, values);
    Ok(true)
}

/// Checks that all leaves of all operands are floats of one width.
fn same(cx: &Cx<'_>, inst: &SpirvInst<'_>, operands: &[&[Value]]) -> Result<()> {
    let mut types = operands.iter().flat_map(|o| o.iter()).map(|v| cx.b.ty(*v));
    let first = types.next().unwrap_or(Type::B32);
    if first.is_scalar() && first != Type::B1 && types.all(|t| t == first) {
        Ok(())
    } else {
        Err(inst.malformed("operands of different types"))
    }
}

fn dot(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, a: &[Value], b: &[Value]) -> Result<Value> {
    if a.len() != b.len() {
        return Err(inst.malformed("operands of different sizes"));
    }
    let products: LeafValues = a.iter().zip(b).map(|(&x, &y)| cx.b.alu(AluOp::FMul, &[x, y])).collect();
    let sum = products.into_iter().reduce(|x, y| cx.b.alu(AluOp::FAdd, &[x, y]));
    sum.ok_or_else(|| inst.malformed("of nothing"))
}

/// A matrix's leaves in columns.
struct Matrix {
    rows: usize,
    leaves: LeafValues,
}

impl Matrix {
    fn of(cx: &mut Cx<'_>, inst: &SpirvInst<'_>, operand: usize) -> Result<Self> {
        let id = inst.id(operand)?;
        let Ty::Matrix { column, .. } = *cx.types.get(cx.type_id(id)?) else {
            return Err(inst.malformed(format!("%{id} is not a matrix")));
        };
        let rows = cx.types.leaf_count(column)?.max(1);
        Ok(Self { rows, leaves: cx.values(id)? })
    }

    /// The sum of the columns, each multiplied by a component.
    fn times(&self, cx: &mut Cx<'_>, inst: &SpirvInst<'_>, v: &[Value]) -> Result<LeafValues> {
        if self.leaves.len() != self.rows * v.len() {
            return Err(inst.malformed("operands of different sizes"));
        }
        let mut out = LeafValues::new();
        for r in 0..self.rows {
            let row: LeafValues = self.leaves.iter().skip(r).step_by(self.rows).copied().collect();
            out.push(dot(cx, inst, &row, v)?);
        }
        Ok(out)
    }

    fn transposed(&self) -> LeafValues {
        (0..self.rows).flat_map(|r| self.leaves.iter().skip(r).step_by(self.rows).copied()).collect()
    }
}
