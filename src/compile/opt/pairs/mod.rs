//! Pairs operations on 16 bits, so that one packed instruction computes both.
//!
//! A pair is two values of the same operation that become the halves of one dword. `find` looks for them in two ways: from
//! vectors that need two values side by side back to what makes these, and from operands that are side by side already
//! forward to their users. Pairs that cost more moves of halves than they save instructions are dropped (`gain`). `order`
//! sorts each block so that both members can be computed at once, and then they become the halves of a new value.
//!
//! No arithmetic changes: both halves are computed as before, with the same rounding, and nothing is fused.

mod find;
mod gain;
mod order;
mod pair;

use super::names::ValueNames;
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::{AluOp, BlockId, FpFlags, InstArgs, InstId, Op, Shader, Type, Value, ValueDef};
use find::{Pairs, operands};
use pair::{Kind, Pair, kind, places};
use rustc_hash::FxHashMap;

/// Pairs 16-bit operations of a lowered shader.
///
/// # Errors
/// Bugs only.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    let joint = |v: Value| kind(shader, v).is_some_and(Kind::is_joint);
    if shader.lower.is_none() || !shader.live_insts().filter_map(|inst| inst.result).any(joint) {
        return Ok(());
    }
    let mut pairs = Pairs::find(shader);
    gain::drop_losses(shader, &mut pairs);
    if pairs.kept().next().is_none() {
        return Ok(());
    }
    let blocks = shader.block_ids();
    let order = order::Order::new(shader, &pairs);
    let whole = filled(pairs.all.len(), None);
    let (params, composed, names) = (List::default(), Kept::default(), ValueNames::default());
    let mut rewrite = Rewrite { shader, pairs, whole, params, composed, names };
    rewrite.params();
    for block in blocks {
        let list = order.of_block(rewrite.shader, &mut rewrite.pairs, block);
        rewrite.block(block, &list)?;
    }
    rewrite.jumps();
    let Rewrite { shader, names, .. } = rewrite;
    names.apply(shader);
    Ok(())
}

/// Makes the pairs.
struct Rewrite<'a> {
    shader: &'a mut Shader,
    pairs: Pairs,
    /// By pair, the dword of both members.
    whole: List<Option<Value>>,
    /// Pairs of parameters with the block and what replaces them, by block.
    params: List<(BlockId, usize, Value)>,
    /// Dwords that the block at hand has composed of two halves.
    composed: Kept<FxHashMap<[Value; 2], Value>>,
    /// Replacements of parameters.
    names: ValueNames,
}

impl Rewrite<'_> {
    /// Adds the parameters that replace two each.
    fn params(&mut self) {
        for (n, pair) in self.pairs.kept().filter(|(_, pair)| pair.kind == Kind::Params) {
            let whole = self.shader.add_param(pair.home, Type::B16X2);
            self.whole[n] = Some(whole);
            self.params.push((pair.home, n, whole));
        }
        self.params.sort_by_key(|(home, ..)| *home);
    }

    /// The pairs of parameters of a block, and what replaces each, in the order of these.
    fn params_of(&self, block: BlockId) -> List<(usize, Value)> {
        let first = self.params.partition_point(|(home, ..)| *home < block);
        let of_block = self.params[first..].iter().take_while(|(home, ..)| *home == block);
        of_block.map(|(_, n, whole)| (*n, *whole)).collect()
    }

    /// A new instruction at the end of a list, and its result.
    fn make(&mut self, list: &mut List<InstId>, op: Op, args: &[Value], ty: Type) -> Value {
        list.push(self.shader.add_inst(op, InstArgs::from_slice(args), Some(ty)));
        Value(self.shader.values.len() as u32 - 1)
    }

    /// The dword of two halves.
    fn joined(&mut self, list: &mut List<InstId>, halves: [Value; 2]) -> Value {
        let both = self.pairs.of(halves[0]).filter(|n| self.pairs.all[*n].members == halves);
        if let Some(whole) = both.and_then(|n| self.whole[n]) {
            return whole;
        }
        if let Some(known) = self.composed.get(&halves) {
            return *known;
        }
        let made = self.make(list, Op::Compose, &halves, Type::B16X2);
        self.composed.insert(halves, made);
        made
    }

    /// Gives a block its instructions in a new order, in which the members of a pair follow each other.
    fn block(&mut self, block: BlockId, order: &[InstId]) -> Result<()> {
        self.composed.clear();
        let mut list = List::<InstId>::default();
        for &(n, whole) in self.params_of(block).iter() {
            // The old parameters are without uses from now on, and go with the dead code.
            for (lane, old) in (0..).zip(self.pairs.all[n].members) {
                let half = self.make(&mut list, Op::Extract(lane), &[whole], Type::B16);
                self.names.set(old, half);
            }
        }
        for &id in order {
            let pair = self.shader.inst(id).result.and_then(|v| self.pairs.of(v));
            match pair.filter(|n| self.pairs.all[*n].kind.is_joint()) {
                Some(n) if self.whole[n].is_none() => self.pair(n, &mut list)?,
                _ => {}
            }
            list.push(id);
        }
        let insts = &mut self.shader.block_mut(block).insts;
        insts.clear();
        insts.extend_from_slice(&list);
        Ok(())
    }

    /// Computes a pair at once. Its members become the halves of the result.
    fn pair(&mut self, n: usize, list: &mut List<InstId>) -> Result<()> {
        let Pair { members, kind, .. } = self.pairs.all[n];
        let first = self.shader.def(members[0]).ok_or_else(|| Error::bug("a pair of no instructions"))?;
        let Op::Alu(op, flags) = first.op else { return Err(Error::bug("a pair of no arithmetic")) };
        let cond = first.args.first().copied().filter(|_| op == AluOp::Select);
        let operands = operands(self.shader, &self.pairs, members);
        let mut args = List::<Value>::default();
        args.extend(cond);
        for both in operands.iter() {
            let joined = self.joined(list, *both);
            args.push(if kind == Kind::Whole { self.make(list, Op::Bitcast, &[joined], Type::B32) } else { joined });
        }
        let mask = match op {
            AluOp::FNeg => Some((AluOp::IXor, 0x8000_8000)),
            AluOp::FAbs => Some((AluOp::IAnd, 0x7fff_7fff)),
            _ => None,
        };
        if let Some((_, mask)) = mask {
            args.push(self.make(list, Op::Const(mask), &[], Type::B32));
        }
        let op = Op::Alu(mask.map_or(op, |(op, _)| op), if mask.is_some() { FpFlags::NONE } else { flags });
        let whole = match kind {
            Kind::Whole => {
                let made = self.make(list, op, &args, Type::B32);
                self.make(list, Op::Bitcast, &[made], Type::B16X2)
            }
            _ => self.make(list, op, &args, Type::B16X2),
        };
        self.whole[n] = Some(whole);
        for (lane, old) in (0..).zip(members) {
            let ValueDef::Inst(id) = self.shader.values[old.index()].def else { continue };
            let half = self.shader.inst_mut(id);
            half.op = Op::Extract(lane);
            half.args = InstArgs::from_slice(&[whole]);
        }
        Ok(())
    }

    /// Passes the parameters that replace two each.
    fn jumps(&mut self) {
        for from in self.shader.block_ids() {
            self.composed.clear();
            for call in 0..self.shader.block(from).calls().count() {
                let Some(to) = self.shader.block(from).calls().nth(call).map(|call| call.block) else { continue };
                let mut list = List::<InstId>::default();
                let mut added = List::<Value>::default();
                for (n, _) in self.params_of(to).iter() {
                    let places = places(self.shader, self.pairs.all[*n].members);
                    let args = self.shader.block(from).calls().nth(call).map(|call| places.map(|n| call.args[n]));
                    added.extend(args.map(|both| self.joined(&mut list, both)));
                }
                let block = self.shader.block_mut(from);
                block.insts.extend_from_slice(&list);
                block.end.add_args(call, added.iter().copied());
            }
        }
    }
}
