//! Finds values that can be halves of one dword.

use super::super::matching::commutes;
use super::pair::{Kind, Pair, kind, places};
use dovetail_base::workspace::{List, filled};
use dovetail_ir::cfg::Cfg;
use dovetail_ir::uniform::Uniformity;
use dovetail_ir::{AluOp, Bits, BlockId, Inst, Op, Shader, Type, Value, ValueDef};
use std::sync::Arc;

/// Most values without a partner that a value is compared with.
const MOST_COMPARED: usize = 48;

/// Pairs of values; no value is in two.
pub(super) struct Pairs {
    pub all: List<Pair>,
    /// By value.
    of: List<Option<u32>>,
    /// By pair.
    dropped: List<bool>,
}

/// Where the bits of a 16-bit value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In a dword of a vector.
    Vector(Value, u8),
    /// In the dword of a pair.
    Pair(u32),
    /// Alone.
    Own(Value),
}

impl Pairs {
    /// The pair that a value is in.
    pub fn of(&self, v: Value) -> Option<usize> {
        let n = (*self.of.get(v.index())?)? as usize;
        (!self.dropped[n]).then_some(n)
    }

    pub fn kept(&self) -> impl Iterator<Item = (usize, &Pair)> {
        self.all.iter().enumerate().filter(|(n, _)| !self.dropped[*n])
    }

    pub fn drop(&mut self, n: usize) {
        self.dropped[n] = true;
    }

    fn add(&mut self, pair: Pair) {
        let n = self.all.len() as u32;
        pair.members.iter().for_each(|v| self.of[v.index()] = Some(n));
        self.all.push(pair);
        self.dropped.push(false);
    }

    /// The place of a value and the half of its dword that it is.
    fn place(&self, shader: &Shader, v: Value) -> (Place, u8) {
        if let Some(n) = self.of(v) {
            return (Place::Pair(n as u32), u8::from(self.all[n].members[1] == v));
        }
        match shader.def(v) {
            Some(Inst { op: Op::Extract(lane), args, .. }) => (Place::Vector(args[0], lane / 2), lane % 2),
            _ => (Place::Own(v), 0),
        }
    }

    /// Whether a packed operation can read two values without an instruction that puts them together.
    pub fn side_by_side(&self, shader: &Shader, [a, b]: [Value; 2]) -> bool {
        let known = |v: Value| matches!(shader.def(v).map(|inst| &inst.op), Some(Op::Const(_) | Op::Undef));
        known(a) && known(b) || self.place(shader, a).0 == self.place(shader, b).0
    }

    pub fn find(shader: &Shader) -> Self {
        let mut home = filled(shader.values.len(), None);
        for id in shader.block_ids() {
            let block = shader.block(id);
            let results = block.insts.iter().filter_map(|i| shader.inst(*i).result);
            results.chain(block.params.iter().copied()).for_each(|v| home[v.index()] = Some(id));
        }
        let of = filled(shader.values.len(), None);
        let pairs = Self { all: List::default(), of, dropped: List::default() };
        let (cfg, uniformity) = (shader.cfg(), Uniformity::of(shader));
        let mut finder = Finder { shader, uniformity, cfg, home, pairs, todo: List::default() };
        finder.backward();
        finder.forward();
        finder.pairs
    }
}

/// Operands of the members of a pair that are side by side in the operand of the packed operation.
///
/// Commutative operations may take those of the second member in reverse order.
pub(super) fn operands(shader: &Shader, pairs: &Pairs, [a, b]: [Value; 2]) -> List<[Value; 2]> {
    let mut out = List::default();
    let (Some(first), Some(second)) = (shader.def(a), shader.def(b)) else { return out };
    let Op::Alu(op, _) = first.op else { return out };
    let from = usize::from(op == AluOp::Select);
    out.extend(first.args.iter().zip(&second.args).skip(from).map(|(a, b)| [*a, *b]));
    if (commutes(op) || op == AluOp::FFma) && out.len() >= 2 {
        let ([a, b], [c, d]) = (out[0], out[1]);
        let apart = |list: [[Value; 2]; 2]| {
            let bare = list.map(|[a, b]| [unsigned(shader, op, a), unsigned(shader, op, b)]);
            bare.iter().filter(|both| !pairs.side_by_side(shader, **both)).count()
        };
        if apart([[a, d], [c, b]]) < apart([[a, b], [c, d]]) {
            (out[0], out[1]) = ([a, d], [c, b]);
        }
    }
    out
}

/// The operand of a sign change whose result a float operation uses: packed operations change signs themselves.
pub(super) fn unsigned(shader: &Shader, op: AluOp, v: Value) -> Value {
    match shader.def(v) {
        Some(Inst { op: Op::Alu(AluOp::FNeg, _), args, .. }) if op.takes_float() && op.has_packed() => args[0],
        _ => v,
    }
}

struct Finder<'a> {
    shader: &'a Shader,
    uniformity: Arc<Uniformity>,
    cfg: Arc<Cfg>,
    /// By value, the block that makes it.
    home: List<Option<BlockId>>,
    pairs: Pairs,
    /// Values that would best be a pair.
    todo: List<[Value; 2]>,
}

impl Finder<'_> {
    /// From vectors to what makes their lanes.
    fn backward(&mut self) {
        let shader = self.shader;
        for inst in shader.live_insts().filter(|inst| inst.op == Op::Compose) {
            if inst.result.is_some_and(|v| shader.ty(v).bits() == Bits::B16) {
                let wanted = inst.args.chunks_exact(2).map(|both| [both[0], both[1]]);
                self.todo.extend(wanted);
                self.follow();
            }
        }
    }

    /// From operands that are side by side to their users.
    fn forward(&mut self) {
        let shader = self.shader;
        let cfg = Arc::clone(&self.cfg);
        let mut open = List::<Value>::default();
        for id in cfg.order.iter() {
            open.clear();
            for v in shader.block(*id).insts.iter().filter_map(|i| shader.inst(*i).result) {
                let candidate = kind(shader, v).is_some_and(Kind::is_joint) && self.pairs.of(v).is_none();
                if !candidate {
                    continue;
                }
                open.retain(|other| self.pairs.of(*other).is_none());
                let partner = open.iter().copied().find(|other| self.is_free([*other, v]));
                match partner {
                    Some(other) => {
                        let members = self.oriented([other, v]);
                        self.todo.push(members);
                        self.follow();
                    }
                    None => {
                        let first = open.len().saturating_sub(MOST_COMPARED - 1);
                        open.drain(..first);
                        open.push(v);
                    }
                }
            }
        }
    }

    /// The order of two values that agrees with that of their operands.
    fn oriented(&self, [a, b]: [Value; 2]) -> [Value; 2] {
        for &[x, y] in operands(self.shader, &self.pairs, [a, b]).iter() {
            let (x, y) = (self.pairs.place(self.shader, x), self.pairs.place(self.shader, y));
            if x.0 == y.0 && x.1 != y.1 {
                return if x.1 == 0 { [a, b] } else { [b, a] };
            }
        }
        [a, b]
    }

    /// Whether two values can be a pair and no operands have to be put together for it.
    fn is_free(&self, members: [Value; 2]) -> bool {
        if !self.possible(members).is_some_and(|(kind, _)| kind.is_joint()) {
            return false;
        }
        let Some(Inst { op: Op::Alu(op, _), .. }) = self.shader.def(members[0]) else { return false };
        let free = |both: &[Value; 2]| {
            let bare = both.map(|v| unsigned(self.shader, *op, v));
            let apart = || self.possible(bare).is_some_and(|(kind, _)| matches!(kind, Kind::Apart | Kind::Params));
            self.pairs.side_by_side(self.shader, bare) || apart()
        };
        operands(self.shader, &self.pairs, members).iter().all(free)
    }

    /// The kind of pair that two values can be, and its block.
    fn possible(&self, [a, b]: [Value; 2]) -> Option<(Kind, BlockId)> {
        let (shader, home) = (self.shader, self.home[a.index()]?);
        if a == b || self.home[b.index()] != Some(home) || self.pairs.of(a).or(self.pairs.of(b)).is_some() {
            return None;
        }
        if let (ValueDef::Param(..), ValueDef::Param(..)) = (shader.values[a.index()].def, shader.values[b.index()].def)
        {
            let halves = shader.ty(a) == Type::B16 && shader.ty(b) == Type::B16 && home != Shader::ENTRY;
            return halves.then_some((Kind::Params, home));
        }
        let (first, second) = (shader.def(a)?, shader.def(b)?);
        let made = kind(shader, a).filter(|made| kind(shader, b) == Some(*made))?;
        let (Op::Alu(op, _), Op::Alu(other, _)) = (&first.op, &second.op) else { return None };
        let chosen_apart = *op == AluOp::Select && first.args[0] != second.args[0];
        // Scalar registers hold integers that are the same for all lanes.
        let scalar = |v: Value| !op.takes_float() && self.uniformity.is_uniform(v);
        let depends = second.args.contains(&a) || first.args.contains(&b);
        (op == other && !chosen_apart && !scalar(a) && !scalar(b) && !depends).then_some((made, home))
    }

    /// Makes the wanted pairs that are possible, and wants the same of their operands.
    fn follow(&mut self) {
        while let Some(members) = self.todo.pop() {
            let Some((kind, home)) = self.possible(members) else { continue };
            self.pairs.add(Pair { members, kind, home });
            if kind == Kind::Params {
                self.passed(members, home);
                continue;
            }
            let Some(Inst { op: Op::Alu(op, _), .. }) = self.shader.def(members[0]) else { continue };
            let wanted = operands(self.shader, &self.pairs, members);
            self.todo.extend(wanted.iter().map(|both| both.map(|v| unsigned(self.shader, *op, v))));
        }
    }

    /// Wants what jumps pass for two parameters.
    fn passed(&mut self, members: [Value; 2], home: BlockId) {
        let places = places(self.shader, members);
        for from in self.cfg.preds(home) {
            for call in self.shader.block(*from).calls().filter(|call| call.block == home) {
                self.todo.push(places.map(|n| call.args[n]));
            }
        }
    }
}
