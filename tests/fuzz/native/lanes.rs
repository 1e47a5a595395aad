//! Subgroup operations. Reading an inactive lane has no defined result, so each read is guarded by a check.

use super::generate::{Gen, Kind, Same};
use dovetail::ir::{AluOp, Bits, BuiltIn, Op, QuadSwap, ReduceOp, SubgroupOp, Type, Value};

const REDUCE: [ReduceOp; 9] = [
    ReduceOp::IAdd,
    ReduceOp::IMul,
    ReduceOp::SMin,
    ReduceOp::UMin,
    ReduceOp::SMax,
    ReduceOp::UMax,
    ReduceOp::And,
    ReduceOp::Or,
    ReduceOp::Xor,
];

impl Gen<'_> {
    pub fn subgroup(&mut self, op: SubgroupOp, args: &[Value], ty: Type) -> Value {
        self.push(Op::Subgroup(op), args, ty)
    }

    /// Uniformity of a value that is equal in a wave's active lanes: it stays so only if no more lanes become active
    /// later.
    fn wave(&self) -> Same {
        if self.same >= Same::Wave { Same::Wave } else { Same::Lane }
    }

    /// Generates a subgroup operation.
    pub fn across_lanes(&mut self) {
        // Helper participation is implementation-defined.
        if !self.all_live() {
            return self.of_fragments();
        }
        let wave = self.wave();
        match self.random.below(14) {
            0 => {
                let value = self.subgroup(SubgroupOp::Elect, &[], Type::B1);
                self.see(value, Kind::TRUTH, Same::Lane);
            }
            1 | 2 => {
                let cond = self.operand(Kind::TRUTH);
                let value = self.subgroup(SubgroupOp::Ballot, &[cond], Type::B64);
                self.see(value, Kind::Bits(Type::B64), wave);
            }
            3 => {
                let cond = self.operand(Kind::TRUTH);
                let op = if self.random.once_in(2) { SubgroupOp::All } else { SubgroupOp::Any };
                let value = self.subgroup(op, &[cond], Type::B1);
                self.see(value, Kind::TRUTH, wave);
            }
            4 => {
                let ty = *self.random.pick(&[Type::B32, Type::B64, Type::B16]);
                let value = self.operand(Kind::Bits(ty));
                let value = self.subgroup(SubgroupOp::AllEqual, &[value], Type::B1);
                self.see(value, Kind::TRUTH, wave);
            }
            5 | 6 => {
                let ty = *self.random.pick(&[Type::B32, Type::B32, Type::B64, Type::B16, Type::B8]);
                let value = self.operand(Kind::Bits(ty));
                let value = self.subgroup(SubgroupOp::BroadcastFirst, &[value], ty);
                self.see(value, Kind::Bits(ty), wave);
            }
            7..=9 => self.shuffle(),
            10..=12 => self.reduce(),
            _ => {
                let value = self.push(Op::load_builtin(BuiltIn::SubgroupLocalInvocationId, 0), &[], Type::B32);
                self.see(value, Kind::INT, Same::Lane);
            }
        }
    }

    fn shuffle(&mut self) {
        let ty = *self.random.pick(&[Type::B32, Type::B32, Type::B64, Type::B16, Type::B8]);
        let value = self.operand(Kind::Bits(ty));
        let lane = self.push(Op::load_builtin(BuiltIn::SubgroupLocalInvocationId, 0), &[], Type::B32);
        let last = self.c32(self.wave_lanes - 1);
        let which = self.random.below(8);
        let uniform = which == 1 || which == 5 && self.random.once_in(2);
        let n = self.operand_of(Kind::INT, if uniform { Same::Group } else { Same::Lane });
        let n = self.alu(AluOp::IAnd, &[n, last]);
        let (op, source) = match which {
            0 => (SubgroupOp::Shuffle, n),
            1 => (SubgroupOp::Broadcast, n),
            2 => (SubgroupOp::ShuffleXor, self.alu(AluOp::IXor, &[lane, n])),
            3 => (SubgroupOp::ShuffleUp, self.alu(AluOp::ISub, &[lane, n])),
            4 => (SubgroupOp::ShuffleDown, self.alu(AluOp::IAdd, &[lane, n])),
            5 => {
                let cluster = *self.random.pick(&[0, 4, 8, 16]);
                let size = if cluster == 0 { self.wave_lanes } else { cluster };
                let inside = self.c32(size - 1);
                let sum = self.alu(AluOp::IAdd, &[lane, n]);
                let low = self.alu(AluOp::IAnd, &[sum, inside]);
                let outside = self.c32(!(size - 1));
                let high = self.alu(AluOp::IAnd, &[lane, outside]);
                (SubgroupOp::Rotate(cluster as u8), self.alu(AluOp::IOr, &[low, high]))
            }
            6 => {
                let inside = self.random.below(4) as u32;
                let quad = self.c32(!3);
                let base = self.alu(AluOp::IAnd, &[lane, quad]);
                let c = self.c32(inside);
                (SubgroupOp::QuadBroadcast, self.alu(AluOp::IOr, &[base, c]))
            }
            _ => {
                let (swap, bits) =
                    *self.random.pick(&[(QuadSwap::Horizontal, 1), (QuadSwap::Vertical, 2), (QuadSwap::Diagonal, 3)]);
                let c = self.c32(bits);
                (SubgroupOp::QuadSwap(swap), self.alu(AluOp::IXor, &[lane, c]))
            }
        };
        let other = match op {
            SubgroupOp::QuadBroadcast => {
                let three = self.c32(3);
                Some(self.alu(AluOp::IAnd, &[source, three]))
            }
            SubgroupOp::QuadSwap(_) => None,
            _ => Some(n),
        };
        let args: Vec<Value> = std::iter::once(value).chain(other).collect();
        let got = self.subgroup(op, &args, ty);
        // Lanes may be inactive or not exist.
        let yes = self.constant(Type::B1, 1);
        let active = self.subgroup(SubgroupOp::Ballot, &[yes], Type::B64);
        let inside = self.alu(AluOp::IAnd, &[source, last]);
        let wide = self.convert(AluOp::ZExt, inside, Type::B64);
        let bit = self.alu(AluOp::LShr, &[active, wide]);
        let on = self.convert(AluOp::Trunc, bit, Type::B1);
        let there = self.alu(AluOp::IEq, &[source, inside]);
        let on = self.alu(AluOp::IAnd, &[on, there]);
        let zero = self.constant(ty, 0);
        let safe = self.alu(AluOp::Select, &[on, got, zero]);
        self.see(safe, Kind::Bits(ty), Same::Lane);
    }

    /// Reductions and scans; fewer in divergent code.
    fn reduce(&mut self) {
        if self.same == Same::Lane && !self.random.once_in(2) {
            return self.shuffle();
        }
        let float = self.random.once_in(5);
        let (op, kind, result) = if float {
            let op = *self.random.pick(&[ReduceOp::FAdd, ReduceOp::FMin, ReduceOp::FMax]);
            let (bits, most) = *self.random.pick(&[(Bits::B16, 5), (Bits::B32, 18), (Bits::B64, 24)]);
            let more = if op == ReduceOp::FAdd { 6 } else { 0 };
            (op, Kind::Float(bits, most), Kind::Float(bits, most + more))
        } else {
            let ty = *self.random.pick(&[Type::B32, Type::B32, Type::B32, Type::B64, Type::B16, Type::B8]);
            (*self.random.pick(&REDUCE), Kind::Bits(ty), Kind::Bits(ty))
        };
        let value = self.operand(kind);
        let ty = kind.ty();
        let (op, same) = match self.random.below(4) {
            0 | 1 => {
                let cluster = *self.random.pick(&[0, 0, 0, 2, 4, 8, 16, 32]);
                let same = if cluster == 0 { self.wave() } else { Same::Lane };
                (SubgroupOp::Reduce(op, cluster), same)
            }
            // An exclusive scan would return infinity, the identity of minimum and maximum.
            2 => (SubgroupOp::InclusiveScan(op), Same::Lane),
            _ if float && op != ReduceOp::FAdd => (SubgroupOp::InclusiveScan(op), Same::Lane),
            _ => (SubgroupOp::ExclusiveScan(op), Same::Lane),
        };
        let value = self.subgroup(op, &[value], ty);
        self.see(value, result, same);
    }
}
