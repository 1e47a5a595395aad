//! Short names for the float arithmetic that library code is written in.
//!
//! Every method is one [`AluOp`] in the width of its operands; constants take the width of the other operand. Formulas
//! are in `glsl`.

use dovetail_ir::{AluOp, Builder, Type, Value};

/// Float arithmetic on scalars of one width.
pub trait FloatOps {
    /// x + y.
    fn fadd(&mut self, x: Value, y: Value) -> Value;
    /// x - y.
    fn fsub(&mut self, x: Value, y: Value) -> Value;
    /// x * y.
    fn fmul(&mut self, x: Value, y: Value) -> Value;
    /// x / y.
    fn fdiv(&mut self, x: Value, y: Value) -> Value;
    /// x * y + z, rounded once.
    fn ffma(&mut self, x: Value, y: Value, z: Value) -> Value;
    /// A unary operation whose result has the operand's type.
    fn f1(&mut self, op: AluOp, x: Value) -> Value;
    /// The constant `k` in the width of `like`.
    fn fk(&mut self, like: Value, k: f64) -> Value;
    /// x * k.
    fn fscale(&mut self, x: Value, k: f64) -> Value;
    /// x between two constants; NaN becomes the lower.
    fn fclamp(&mut self, x: Value, low: f64, high: f64) -> Value;
    /// `f` of x computed in 32 bits, rounded back.
    fn wide(&mut self, x: Value, f: impl FnOnce(&mut Self, Value) -> Value) -> Value;
}

impl FloatOps for Builder<'_> {
    fn fadd(&mut self, x: Value, y: Value) -> Value {
        self.alu(AluOp::FAdd, &[x, y])
    }

    fn fsub(&mut self, x: Value, y: Value) -> Value {
        self.alu(AluOp::FSub, &[x, y])
    }

    fn fmul(&mut self, x: Value, y: Value) -> Value {
        self.alu(AluOp::FMul, &[x, y])
    }

    fn fdiv(&mut self, x: Value, y: Value) -> Value {
        self.alu(AluOp::FDiv, &[x, y])
    }

    fn ffma(&mut self, x: Value, y: Value, z: Value) -> Value {
        self.alu(AluOp::FFma, &[x, y, z])
    }

    fn f1(&mut self, op: AluOp, x: Value) -> Value {
        self.alu(op, &[x])
    }

    fn fk(&mut self, like: Value, k: f64) -> Value {
        let ty = self.ty(like);
        self.fconst(ty, k)
    }

    fn fscale(&mut self, x: Value, k: f64) -> Value {
        let k = self.fk(x, k);
        self.fmul(x, k)
    }

    fn fclamp(&mut self, x: Value, low: f64, high: f64) -> Value {
        let low = self.fk(x, low);
        let high = self.fk(x, high);
        let x = self.alu(AluOp::FMax, &[x, low]);
        self.alu(AluOp::FMin, &[x, high])
    }

    fn wide(&mut self, x: Value, f: impl FnOnce(&mut Self, Value) -> Value) -> Value {
        let ty = self.ty(x);
        if ty != Type::B16 {
            return f(self, x);
        }
        let x = self.convert(AluOp::FConv, x, Type::B32);
        let y = f(self, x);
        self.convert(AluOp::FConv, y, ty)
    }
}
