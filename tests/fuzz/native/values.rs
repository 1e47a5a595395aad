//! Arithmetic with exactly defined results.

use super::generate::{Gen, Kind, Same};
use dovetail::ir::{AluOp, Bits, FpFlags, Op, Type, Value};

const INTEGERS: [Type; 4] = [Type::B8, Type::B16, Type::B32, Type::B64];
/// Bits of an integer that a float of each width represents exactly.
const EXACT: [(Bits, u8); 3] = [(Bits::B16, 11), (Bits::B32, 24), (Bits::B64, 52)];
/// Bits of a float variable: leaves room for some operations.
const FEW: u8 = 5;

use AluOp as A;
const BINARY: &[A] = &[
    A::IAdd,
    A::IAdd,
    A::ISub,
    A::IMul,
    A::IAnd,
    A::IOr,
    A::IXor,
    A::UMin,
    A::UMax,
    A::SMin,
    A::SMax,
    A::UAddSat,
    A::SAddSat,
    A::USubSat,
    A::SSubSat,
    A::UMulHigh,
    A::SMulHigh,
];
const SHIFTS: &[A] = &[A::Shl, A::LShr, A::AShr];
const DIVISIONS: &[A] = &[A::UDiv, A::SDiv, A::UMod, A::SRem, A::SMod];
const UNARY: &[A] = &[A::INeg, A::IAbs, A::INot, A::BitReverse];
const COUNTS: &[A] = &[A::BitCount, A::FindILsb, A::FindUMsb, A::FindSMsb];
const COMPARE: &[A] =
    &[A::IEq, A::INe, A::ULt, A::ULe, A::UGt, A::UGe, A::SLt, A::SLe, A::SGt, A::SGe, A::UAddCarry, A::USubBorrow];
const FLOAT_COMPARE: &[A] = &[
    A::FOEq,
    A::FONe,
    A::FOLt,
    A::FOLe,
    A::FOGt,
    A::FOGe,
    A::FUEq,
    A::FUNe,
    A::FULt,
    A::FULe,
    A::FUGt,
    A::FUGe,
    A::FOrd,
    A::FUno,
];

impl Gen<'_> {
    fn integer(&mut self) -> Type {
        if self.random.once_in(2) { Type::B32 } else { *self.random.pick(&INTEGERS) }
    }

    fn vector(&mut self) -> Type {
        let (bits, lanes) = *self.random.pick(&[
            (Bits::B32, 2),
            (Bits::B32, 3),
            (Bits::B32, 4),
            (Bits::B16, 2),
            (Bits::B8, 4),
            (Bits::B64, 2),
        ]);
        Type::vector(bits, lanes).unwrap_or(Type::B32)
    }

    fn float(&mut self) -> (Bits, u8) {
        if self.random.once_in(2) { EXACT[1] } else { *self.random.pick(&EXACT) }
    }

    /// A random kind for a variable.
    pub fn any_kind(&mut self) -> Kind {
        match self.random.below(8) {
            0..=2 => Kind::INT,
            3 => Kind::TRUTH,
            4 | 5 => Kind::Bits(self.integer()),
            6 => Kind::Bits(self.vector()),
            7 if self.random.once_in(4) => Kind::Own,
            _ => Kind::Float(self.float().0, FEW),
        }
    }

    /// Random uniformity for a new value.
    fn wanted(&mut self) -> Same {
        let same = *self.random.pick(&[Same::Lane, Same::Lane, Same::Lane, Same::Lane, Same::Wave, Same::Group]);
        self.or_quad(same)
    }

    /// Generates a new value.
    pub fn expression(&mut self) {
        let same = self.wanted();
        match self.random.below(26) {
            24 => self.integer_lanes(same),
            25 => self.float_lanes(same),
            0..=8 => self.integers(same),
            9 | 10 => self.comparison(same),
            11 => self.truths(same),
            12 | 13 => self.chosen(same),
            14 | 15 => self.widened(same),
            16 | 17 => self.vectors(same),
            18..=21 => self.floats(same),
            22 => self.special(same),
            _ => self.load_something(),
        }
    }

    /// Applies an operation to operands of one kind, and adds the result to the scope.
    fn apply(&mut self, op: AluOp, args: &[Value], kind: Kind, same: Same) {
        let value = self.push(Op::Alu(op, FpFlags::NONE), args, kind.ty());
        self.see(value, kind, same);
    }

    fn pair(&mut self, kind: Kind, same: Same) -> [Value; 2] {
        [self.operand_of(kind, same), self.operand_of(kind, same)]
    }

    fn integers(&mut self, same: Same) {
        let ty = self.integer();
        let kind = Kind::Bits(ty);
        let [x, y] = self.pair(kind, same);
        match self.random.below(12) {
            0..=6 => {
                let op = *self.random.pick(BINARY);
                self.apply(op, &[x, y], kind, same);
            }
            7 | 8 => {
                let op = *self.random.pick(SHIFTS);
                let most = self.constant(ty, u64::from(ty.bits().count() - 1));
                let amount = self.alu(A::IAnd, &[y, most]);
                self.apply(op, &[x, amount], kind, same);
            }
            9 => {
                // Avoids division by zero and overflow.
                let op = *self.random.pick(DIVISIONS);
                let [mask, one] = [0x7e, 1].map(|n| self.constant(ty, n));
                let even = self.alu(A::IAnd, &[y, mask]);
                let divisor = self.alu(A::IOr, &[even, one]);
                self.apply(op, &[x, divisor], kind, same);
            }
            10 => {
                let op = *self.random.pick(UNARY);
                self.apply(op, &[x], kind, same);
            }
            _ => {
                let op = *self.random.pick(COUNTS);
                self.apply(op, &[x], Kind::INT, same);
            }
        }
    }

    fn comparison(&mut self, same: Same) {
        let (op, args) = if self.random.once_in(4) {
            let (bits, most) = self.float();
            (*self.random.pick(FLOAT_COMPARE), self.pair(Kind::Float(bits, most), same))
        } else {
            let kind = Kind::Bits(self.integer());
            (*self.random.pick(COMPARE), self.pair(kind, same))
        };
        self.apply(op, &args, Kind::TRUTH, same);
    }

    fn truths(&mut self, same: Same) {
        let [x, y] = self.pair(Kind::TRUTH, same);
        match self.random.below(6) {
            0 => self.apply(A::INot, &[x], Kind::TRUTH, same),
            n => {
                let op = [A::IAnd, A::IOr, A::IXor, A::IEq, A::INe][n - 1];
                self.apply(op, &[x, y], Kind::TRUTH, same);
            }
        }
    }

    fn chosen(&mut self, same: Same) {
        let kind = match self.random.below(5) {
            0 => Kind::TRUTH,
            1 => Kind::Bits(Type::B64),
            2 => {
                let (bits, most) = self.float();
                Kind::Float(bits, most)
            }
            _ => Kind::Bits(self.integer()),
        };
        let cond = self.operand_of(Kind::TRUTH, same);
        let [x, y] = self.pair(kind, same);
        self.apply(A::Select, &[cond, x, y], kind, same);
    }

    fn widened(&mut self, same: Same) {
        let (from, to) = (self.integer(), self.integer());
        if self.random.once_in(4) {
            let cond = self.operand_of(Kind::TRUTH, same);
            let op = if self.random.once_in(2) { A::ZExt } else { A::SExt };
            return self.apply(op, &[cond], Kind::Bits(to), same);
        }
        let x = self.operand_of(Kind::Bits(from), same);
        if from.bits() < to.bits() {
            let op = if self.random.once_in(2) { A::ZExt } else { A::SExt };
            self.apply(op, &[x], Kind::Bits(to), same);
        } else {
            let to = if from == to { Type::B1 } else { to };
            self.apply(A::Trunc, &[x], Kind::Bits(to), same);
        }
    }

    fn vectors(&mut self, same: Same) {
        let ty = self.vector();
        match self.random.below(3) {
            0 => {
                let parts: Vec<Value> =
                    (0..ty.lanes()).map(|_| self.operand_of(Kind::Bits(ty.element()), same)).collect();
                let value = self.push(Op::Compose, &parts, ty);
                self.see(value, Kind::Bits(ty), same);
            }
            1 => {
                let known = self.known_of(Kind::Bits(ty), same);
                let lane = self.random.below(ty.lanes() as usize) as u8;
                let value = self.push(Op::Extract(lane), &[known.value], ty.element());
                self.see(value, Kind::Bits(ty.element()), same.min(known.same));
            }
            _ => {
                let pairs = [
                    (Type::B64, Type::vector(Bits::B32, 2)),
                    (Type::B32, Type::vector(Bits::B16, 2)),
                    (Type::B32, Type::vector(Bits::B8, 4)),
                    (Type::DESC4, Type::vector(Bits::B64, 2)),
                ];
                let (one, Some(other)) = *self.random.pick(&pairs) else { return };
                let (from, to) = if self.random.once_in(2) { (one, other) } else { (other, one) };
                let known = self.known_of(Kind::Bits(from), same);
                let value = self.push(Op::Bitcast, &[known.value], to);
                self.see(value, Kind::Bits(to), same.min(known.same));
            }
        }
    }

    /// Float operations. Values are integers that the width represents, so no result is rounded.
    fn floats(&mut self, same: Same) {
        let (bits, most) = self.float();
        let ty = Type::scalar(bits);
        let kind = Kind::Float(bits, most);
        let known = |it: &mut Self| it.known_of(kind, same);
        let size = |kind: Kind| if let Kind::Float(_, n) = kind { n } else { most };
        match self.random.below(10) {
            0 | 1 => {
                // From an integer.
                let keep = 1 + self.random.below(usize::from(FEW)) as u8;
                let x = self.operand_of(Kind::INT, same);
                let mask = self.c32((1 << keep) - 1);
                let x = self.alu(A::IAnd, &[x, mask]);
                let op = if self.random.once_in(2) { A::S2F } else { A::U2F };
                let value = self.push(Op::Alu(op, FpFlags::NONE), &[x], ty);
                self.see(value, Kind::Float(bits, keep), same);
            }
            2 | 3 => {
                // To an integer.
                let x = known(self).value;
                let to = *self.random.pick(&[Type::B32, Type::B32, Type::B64]);
                let value = if bits == Bits::B64 && most > 31 {
                    self.push(Op::Alu(A::F2S, FpFlags::NONE), &[x], Type::B64)
                } else {
                    self.push(Op::Alu(A::F2S, FpFlags::NONE), &[x], to)
                };
                let kind = Kind::Bits(self.shader.ty(value));
                self.see(value, kind, same);
            }
            4 => {
                let (x, y) = (known(self), known(self));
                let sum = size(x.kind).max(size(y.kind)) + 1;
                if sum <= most {
                    let op = if self.random.once_in(2) { A::FAdd } else { A::FSub };
                    self.apply(op, &[x.value, y.value], Kind::Float(bits, sum), same);
                }
            }
            5 => {
                let (x, y, z) = (known(self), known(self), known(self));
                let product = size(x.kind) + size(y.kind);
                if product <= most {
                    self.apply(A::FMul, &[x.value, y.value], Kind::Float(bits, product), same);
                }
                let sum = product.max(size(z.kind)) + 1;
                if sum <= most && self.random.once_in(2) {
                    self.apply(A::FFma, &[x.value, y.value, z.value], Kind::Float(bits, sum), same);
                }
            }
            6 => {
                let x = known(self);
                let op =
                    *self.random.pick(&[A::FNeg, A::FAbs, A::FFloor, A::FCeil, A::FTrunc, A::FRoundEven, A::FSign]);
                self.apply(op, &[x.value], x.kind, same);
            }
            7 => {
                let (x, y) = (known(self), known(self));
                let op = if self.random.once_in(2) { A::FMin } else { A::FMax };
                self.apply(op, &[x.value, y.value], Kind::Float(bits, size(x.kind).max(size(y.kind))), same);
            }
            8 => {
                let (to, room) = *self.random.pick(&EXACT);
                let x = known(self);
                if to != bits && size(x.kind) <= room {
                    self.apply(A::FConv, &[x.value], Kind::Float(to, size(x.kind)), same);
                }
            }
            _ => {
                let x = known(self);
                let n = self.random.below(3) as u8;
                if size(x.kind) + n <= most {
                    let n32 = self.c32(n.into());
                    self.apply(A::FLdexp, &[x.value, n32], Kind::Float(bits, size(x.kind) + n), same);
                }
            }
        }
    }

    /// Lanes of small vectors of 16 bits in any order: halves of dwords, or values of their own.
    fn lanes(&mut self, count: usize, kind: Kind, same: Same) -> Vec<Value> {
        if self.random.once_in(3) || matches!(kind, Kind::Float(..)) {
            return (0..count).map(|_| self.operand_of(kind, same)).collect();
        }
        let ty = Type::vector(Bits::B16, 2).unwrap_or(Type::B32);
        let vectors = [0; 2].map(|_| self.operand_of(Kind::Bits(ty), same));
        let turn = self.random.below(2);
        let lane = |n: usize| (vectors[n / 2], Op::Extract(((n + turn) % 2) as u8));
        (0..count).map(lane).map(|(v, op)| self.push(op, &[v], Type::B16)).collect()
    }

    /// Adds lanes to the scope, alone and as a vector.
    fn see_lanes(&mut self, lanes: &[Value], kind: Kind, same: Same) {
        lanes.iter().for_each(|v| self.see(*v, kind, same));
        let ty = Type::vector(Bits::B16, 2).unwrap_or(Type::B32);
        let both = if self.random.once_in(4) { [lanes[1], lanes[0]] } else { [lanes[0], lanes[1]] };
        let value = self.push(Op::Compose, &both, ty);
        self.see(value, Kind::Bits(ty), same);
    }

    /// Integer operations on each lane of vectors of 16 bits.
    fn integer_lanes(&mut self, same: Same) {
        let kind = Kind::Bits(Type::B16);
        let count = 2 + self.random.below(3);
        let mut x = self.lanes(count, kind, same);
        for _ in 0..1 + self.random.below(3) {
            let y = if self.random.once_in(4) {
                vec![self.operand_of(kind, same); count]
            } else {
                self.lanes(count, kind, same)
            };
            let shift = self.random.once_in(4);
            let op = if shift { *self.random.pick(SHIFTS) } else { BINARY[self.random.below(BINARY.len() - 2)] };
            let cond = self.random.once_in(6).then(|| self.operand_of(Kind::TRUTH, same));
            x = (0..count)
                .map(|n| match cond {
                    Some(cond) => self.alu(A::Select, &[cond, x[n], y[n]]),
                    None if shift => {
                        let most = self.constant(Type::B16, 15);
                        let amount = self.alu(A::IAnd, &[y[n], most]);
                        self.alu(op, &[x[n], amount])
                    }
                    None => self.alu(op, &[x[n], y[n]]),
                })
                .collect();
        }
        self.see_lanes(&x, kind, same);
    }

    /// Float operations on each lane of vectors of 16 bits.
    fn float_lanes(&mut self, same: Same) {
        let count = 2 + self.random.below(3);
        let few = Kind::Float(Bits::B16, 2);
        let (mut x, mut size) = (self.lanes(count, few, same), 2);
        for _ in 0..1 + self.random.below(4) {
            let y = if self.random.once_in(4) {
                vec![self.operand_of(few, same); count]
            } else {
                self.lanes(count, few, same)
            };
            let z = self.lanes(count, few, same);
            let (op, bits) = *self.random.pick(&[
                (A::FAdd, size + 1),
                (A::FSub, size + 1),
                (A::FMul, size + 2),
                (A::FFma, size + 3),
                (A::FMin, size),
                (A::FMax, size),
                (A::FNeg, size),
                (A::FAbs, size),
                (A::FFloor, size),
            ]);
            if bits > EXACT[0].1 {
                break;
            }
            let only = self.random.below(4);
            size = bits;
            x = (0..count)
                .map(|n| match op {
                    A::FFma => self.alu(op, &[x[n], y[n], z[n]]),
                    // Signs of all lanes, or of one.
                    A::FNeg | A::FAbs if only != 0 && only != n => x[n],
                    A::FNeg | A::FAbs | A::FFloor => self.alu(op, &[x[n]]),
                    _ => self.alu(op, &[x[n], y[n]]),
                })
                .collect();
        }
        self.see_lanes(&x, Kind::Float(Bits::B16, size), same);
    }

    fn special(&mut self, same: Same) {
        let [x, y] = self.pair(Kind::INT, same);
        let z = self.operand_of(Kind::INT, same);
        match self.random.below(3) {
            0 => {
                let op = *self.random.pick(&[A::SDot4, A::UDot4, A::SDot4Sat, A::UDot4Sat]);
                self.apply(op, &[x, y, z], Kind::INT, same);
            }
            _ => {
                let op = if self.random.once_in(2) { A::UBitExtract } else { A::SBitExtract };
                let fifteen = self.c32(15);
                let [y, z] = [y, z].map(|v| self.alu(A::IAnd, &[v, fifteen]));
                self.apply(op, &[x, y, z], Kind::INT, same);
            }
        }
    }

    // ---- what is shown

    /// A dword in which each bit of a value counts.
    pub fn word(&mut self, value: Value, kind: Kind) -> Value {
        let ty = kind.ty();
        if kind != Kind::Own && !ty.is_scalar() {
            let mut sum = self.c32(0);
            for n in 0..ty.lanes() {
                let part = self.push(Op::Extract(n as u8), &[value], ty.element());
                let word = self.word(part, Kind::Bits(ty.element()));
                let three = self.c32(3);
                let more = self.alu(A::IMul, &[sum, three]);
                sum = self.alu(A::IXor, &[more, word]);
            }
            return sum;
        }
        match kind {
            // The sign of a zero may be either.
            Kind::Float(Bits::B64, most) if most > 31 => {
                let whole = self.push(Op::Alu(A::F2S, FpFlags::NONE), &[value], Type::B64);
                self.word(whole, Kind::Bits(Type::B64))
            }
            Kind::Float(..) => self.push(Op::Alu(A::F2S, FpFlags::NONE), &[value], Type::B32),
            Kind::Bits(Type::B32) => value,
            Kind::Bits(Type::B64) => {
                let low = self.convert(A::Trunc, value, Type::B32);
                let amount = self.constant(Type::B64, 32);
                let high = self.alu(A::LShr, &[value, amount]);
                let high = self.convert(A::Trunc, high, Type::B32);
                let five = self.c32(5);
                let high = self.alu(A::IMul, &[high, five]);
                self.alu(A::IXor, &[low, high])
            }
            Kind::Bits(_) => self.convert(A::ZExt, value, Type::B32),
            Kind::Own => self.c32(0),
        }
    }

    /// Makes variable 0 depend on a value.
    pub fn mix(&mut self, value: Value, kind: Kind) {
        let word = self.word(value, kind);
        let now = self.vars[0].now;
        let prime = self.c32(0x0100_0193);
        let product = self.alu(A::IMul, &[now, prime]);
        self.vars[0].now = self.alu(A::IXor, &[product, word]);
    }
}
