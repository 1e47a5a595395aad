//! Finds the cube face that a direction hits and the coordinates on it, and projects gradients onto that face.
//!
//! The face's `s` and `t` run from 1 to 2, as the instruction requires. Faces 0 to 5 are +X -X +Y -Y +Z -Z;
//! [`Face::gradient`] lists the axes of each.

use dovetail_ir::{AluOp, AmdOp, Builder, LaneOp, Op, Type, Value};

/// A direction projected onto the face that it hits.
pub struct Face {
    id: Value,
    /// Coordinates on the face, not yet divided.
    s: Value,
    t: Value,
    /// The reciprocal of twice the magnitude of the major axis.
    scale: Value,
}

/// Projects a direction onto its face.
pub fn project(b: &mut Builder<'_>, direction: [Value; 3]) -> Face {
    let mut cube = |op| b.value(Op::Target(AmdOp::Lane(op)), &direction, Type::B32);
    let (id, s, t, ma) = (cube(LaneOp::CubeId), cube(LaneOp::CubeS), cube(LaneOp::CubeT), cube(LaneOp::CubeMa));
    let magnitude = b.alu(AluOp::FAbs, &[ma]);
    let scale = b.alu(AluOp::FRcp, &[magnitude]);
    Face { id, s, t, scale }
}

impl Face {
    /// `s`, `t`, face; in a cube array eight faces are counted per (rounded) layer.
    pub fn coords(&self, b: &mut Builder<'_>, layer: Option<Value>) -> [Value; 3] {
        let middle = b.fconst(Type::B32, 1.5);
        let s = b.alu(AluOp::FFma, &[self.s, self.scale, middle]);
        let t = b.alu(AluOp::FFma, &[self.t, self.scale, middle]);
        let face = match layer {
            Some(layer) => {
                let eight = b.fconst(Type::B32, 8.0);
                b.alu(AluOp::FFma, &[layer, eight, self.id])
            }
            None => self.id,
        };
        [s, t, face]
    }

    /// The change of `s` and `t` if the direction changes by `d`.
    ///
    /// With `s = sc / 2m` the quotient rule gives `(dsc·m − sc·dm) / 2m²`; with `scale = 1/2m` that is `scale · (dsc −
    /// sc · 2·scale·dm)`. Axes by face: sc −Z +Z +X +X +X −X, tc −Y −Y +Z −Z −Y −Y, m the major axis.
    pub fn gradient(&self, b: &mut Builder<'_>, d: [Value; 3]) -> [Value; 2] {
        let [dx, dy, dz] = d;
        let face = b.convert(AluOp::F2U, self.id, Type::B32);
        let (two, four, last_bit) = (b.c32(2), b.c32(4), b.c32(31));
        let on_x = b.alu(AluOp::ULt, &[face, two]);
        let on_z = b.alu(AluOp::UGe, &[face, four]);
        // The sign bit is set for negative faces, which have odd numbers.
        let sign = b.alu(AluOp::Shl, &[face, last_bit]);
        let signed = |b: &mut Builder<'_>, v: Value| b.alu(AluOp::IXor, &[v, sign]);
        let pick = |b: &mut Builder<'_>, x: Value, y: Value, z: Value| {
            let rest = b.select(on_z, z, y);
            b.select(on_x, x, rest)
        };
        let (minus_dy, dz_signed, dx_signed) = (b.alu(AluOp::FNeg, &[dy]), signed(b, dz), signed(b, dx));
        let minus_dz_signed = b.alu(AluOp::FNeg, &[dz_signed]);
        let major = pick(b, dx, dy, dz);
        let dm = signed(b, major);
        let dsc = pick(b, minus_dz_signed, dx, dx_signed);
        let dtc = pick(b, minus_dy, dz_signed, minus_dy);
        let scaled = b.alu(AluOp::FMul, &[self.scale, dm]);
        let k = b.alu(AluOp::FAdd, &[scaled, scaled]);
        let minus_k = b.alu(AluOp::FNeg, &[k]);
        [(self.s, dsc), (self.t, dtc)].map(|(c, dc)| {
            let inner = b.alu(AluOp::FFma, &[c, minus_k, dc]);
            b.alu(AluOp::FMul, &[self.scale, inner])
        })
    }
}
