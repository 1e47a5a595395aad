//! The geometric and matrix functions of GLSL.std.450, over lists of components.
//!
//! A matrix is its columns in sequence. Both operands of a function have equally many components; the front end has
//! checked that.

use super::super::cx::LeafValues;
use super::super::float::FloatOps;
use super::math;
use dovetail_ir::{AluOp, Builder, Value};

/// Sum of the products of the components.
pub fn dot(b: &mut Builder<'_>, x: &[Value], y: &[Value]) -> Option<Value> {
    let mut sum = None;
    for (&x, &y) in x.iter().zip(y) {
        let product = b.fmul(x, y);
        sum = Some(match sum {
            Some(sum) => b.fadd(sum, product),
            None => product,
        });
    }
    sum
}

/// Euclidean length.
pub fn length(b: &mut Builder<'_>, x: &[Value]) -> Option<Value> {
    if let [one] = x {
        return Some(b.f1(AluOp::FAbs, *one));
    }
    let square = dot(b, x, x)?;
    Some(b.f1(AluOp::FSqrt, square))
}

/// Componentwise x - y.
pub fn difference(b: &mut Builder<'_>, x: &[Value], y: &[Value]) -> LeafValues {
    x.iter().zip(y).map(|(&x, &y)| b.fsub(x, y)).collect()
}

/// Vector of length one in the same direction; zero for a zero vector.
pub fn normalize(b: &mut Builder<'_>, x: &[Value]) -> Option<LeafValues> {
    if let [one] = x {
        return Some(LeafValues::from_slice(&[b.f1(AluOp::FSign, *one)]));
    }
    let square = dot(b, x, x)?;
    let inverse = math::rsq(b, square);
    let zero = b.fk(square, 0.0);
    let is_zero = b.alu(AluOp::FOEq, &[square, zero]);
    let inverse = b.select(is_zero, zero, inverse);
    Some(x.iter().map(|&x| b.fmul(x, inverse)).collect())
}

/// Cross product.
pub fn cross(b: &mut Builder<'_>, x: [Value; 3], y: [Value; 3]) -> LeafValues {
    [(1, 2), (2, 0), (0, 1)].iter().map(|&(i, j)| minor(b, [x[i], x[j], y[i], y[j]])).collect()
}

/// a d - b c.
fn minor(bu: &mut Builder<'_>, [a, b, c, d]: [Value; 4]) -> Value {
    let ad = bu.fmul(a, d);
    let bc = bu.fmul(b, c);
    bu.fsub(ad, bc)
}

/// n, oriented against the incident vector.
pub fn face_forward(b: &mut Builder<'_>, n: &[Value], incident: &[Value], reference: &[Value]) -> Option<LeafValues> {
    let d = dot(b, reference, incident)?;
    let zero = b.fk(d, 0.0);
    let keep = b.alu(AluOp::FOLt, &[d, zero]);
    let turned = |b: &mut Builder<'_>, &x: &Value| {
        let opposite = b.f1(AluOp::FNeg, x);
        b.select(keep, x, opposite)
    };
    Some(n.iter().map(|x| turned(b, x)).collect())
}

/// i - 2 (n · i) n.
pub fn reflect(b: &mut Builder<'_>, incident: &[Value], n: &[Value]) -> Option<LeafValues> {
    let d = dot(b, n, incident)?;
    let twice = b.fadd(d, d);
    Some(
        incident
            .iter()
            .zip(n)
            .map(|(&i, &n)| {
                let t = b.fmul(twice, n);
                b.fsub(i, t)
            })
            .collect(),
    )
}

/// Refraction with the ratio `eta`; zero if reflection is total.
pub fn refract(b: &mut Builder<'_>, incident: &[Value], n: &[Value], eta: Value) -> Option<LeafValues> {
    let d = dot(b, n, incident)?;
    let ty = b.ty(d);
    let eta = b.convert(AluOp::FConv, eta, ty);
    let one = b.fk(d, 1.0);
    let zero = b.fk(d, 0.0);
    let square = b.fmul(d, d);
    let rest = b.fsub(one, square);
    let eta_square = b.fmul(eta, eta);
    let t = b.fmul(eta_square, rest);
    let k = b.fsub(one, t);
    let total = b.alu(AluOp::FOLt, &[k, zero]);
    let root = b.f1(AluOp::FSqrt, k);
    let along = b.fmul(eta, d);
    let factor = b.fadd(along, root);
    Some(
        incident
            .iter()
            .zip(n)
            .map(|(&i, &n)| {
                let bent = b.fmul(eta, i);
                let normal = b.fmul(factor, n);
                let r = b.fsub(bent, normal);
                b.select(total, zero, r)
            })
            .collect(),
    )
}

/// Determinant of a square matrix of 2, 3 or 4 columns, by steps in the width of its elements, as the conformance suite computes
/// it. Vulkan states no precision, and the suite allows halves only the results of some orders of these steps: for one matrix of
/// three columns 5136 to 5144, where the exact value is 5150.1 and this gives 5152, the half nearest to it.
pub fn determinant(b: &mut Builder<'_>, m: &[Value]) -> Option<Value> {
    match *m {
        [a0, a1, b0, b1] => Some(minor(b, [a0, a1, b0, b1])),
        [a0, a1, a2, b0, b1, b2, c0, c1, c2] => {
            let n = cross(b, [b0, b1, b2], [c0, c1, c2]);
            dot(b, &[a0, a1, a2], &n)
        }
        _ => {
            let m: &[Value; 16] = m.try_into().ok()?;
            let (low, high) = pair_minors(b, m);
            Some(laplace(b, &low, &high))
        }
    }
}

/// Inverse of a square matrix of 2, 3 or 4 columns: the adjugate over the determinant.
pub fn inverse(b: &mut Builder<'_>, m: &[Value]) -> Option<LeafValues> {
    let (adjugate, det) = match *m {
        [a0, a1, b0, b1] => {
            let (na, nb) = (b.f1(AluOp::FNeg, a1), b.f1(AluOp::FNeg, b0));
            (LeafValues::from_slice(&[b1, na, nb, a0]), minor(b, [a0, a1, b0, b1]))
        }
        [a0, a1, a2, b0, b1, b2, c0, c1, c2] => {
            let (x, y, z) = ([a0, a1, a2], [b0, b1, b2], [c0, c1, c2]);
            // The rows of the inverse are the cross products of the columns.
            let rows = [cross(b, y, z), cross(b, z, x), cross(b, x, y)];
            let det = dot(b, &x, &rows[0])?;
            ((0..9).map(|i| rows[i % 3][i / 3]).collect(), det)
        }
        _ => {
            let m: &[Value; 16] = m.try_into().ok()?;
            let (low, high) = pair_minors(b, m);
            (adjugate4(b, m, &low, &high), laplace(b, &low, &high))
        }
    };
    let one = b.fk(det, 1.0);
    let scale = b.fdiv(one, det);
    Some(adjugate.into_iter().map(|x| b.fmul(x, scale)).collect())
}

/// The two rows of each minor of two columns, in the order of [`pair_minors`].
const PAIRS: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

/// The 2×2 minors of the first two columns, and of the last two, by their pair of rows.
fn pair_minors(b: &mut Builder<'_>, m: &[Value; 16]) -> ([Value; 6], [Value; 6]) {
    let mut of = |column: usize| {
        PAIRS.map(|(i, j)| {
            minor(b, [m[column * 4 + i], m[column * 4 + j], m[column * 4 + 4 + i], m[column * 4 + 4 + j]])
        })
    };
    (of(0), of(2))
}

/// Determinant from the minors of both halves: each times that of the two other rows, signed.
fn laplace(b: &mut Builder<'_>, low: &[Value; 6], high: &[Value; 6]) -> Value {
    let mut sum = b.fmul(low[0], high[5]);
    for (i, negative) in [(1, true), (2, false), (3, false), (4, true), (5, false)] {
        let t = b.fmul(low[i], high[5 - i]);
        sum = if negative { b.fsub(sum, t) } else { b.fadd(sum, t) };
    }
    sum
}

/// Adjugate of a 4×4 matrix. Its element in column r, row c is the cofactor of element (column c, row r): three rows
/// of the neighbour column within the same half, each with a minor of the other half.
fn adjugate4(b: &mut Builder<'_>, m: &[Value; 16], low: &[Value; 6], high: &[Value; 6]) -> LeafValues {
    let mut out = LeafValues::with_capacity(16);
    for r in 0..4 {
        for c in 0..4 {
            let (minors, neighbour) = if c < 2 { (high, 1 - c) } else { (low, 5 - c) };
            let rows: [usize; 3] = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]][r];
            let mut sum = None;
            for (k, &row) in rows.iter().enumerate() {
                let (i, j) = ([rows[1], rows[0], rows[0]][k], [rows[2], rows[2], rows[1]][k]);
                let pair = PAIRS.iter().position(|&p| p == (i, j)).unwrap_or(0);
                let t = b.fmul(m[neighbour * 4 + row], minors[pair]);
                sum = Some(match (sum, k) {
                    (None, _) => t,
                    (Some(s), 1) => b.fsub(s, t),
                    (Some(s), _) => b.fadd(s, t),
                });
            }
            let Some(cofactor) = sum else { continue };
            out.push(if (r + c) % 2 == 1 { b.f1(AluOp::FNeg, cofactor) } else { cofactor });
        }
    }
    out
}
