//! Pairs of vector instructions in one (VOPD), where the instruction set has it, in waves of 32 lanes.
//!
//! Both read before either writes. So the later one moves up to the earlier one, if nothing between depends on it and it
//! on nothing between. It does not move up over the first use of loaded values, because the wait for them would move too.

use crate::code::{Code, Item};
use crate::mir::sources::mirrored;
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::List;
use dovetail_isa::instruction::{Fields, Modifiers, VectorDst, VectorForm, half_of};
use dovetail_isa::{CountedAccess, Effects, Format, Instruction, Isa, Op, RegisterSet, Src, Traits, Vgpr};
use smallvec::SmallVec;

/// Instructions after the first half among which the second is looked for.
const WINDOW: usize = 12;

/// An instruction that can be a half.
#[derive(Clone, Copy)]
struct Candidate {
    dst: Vgpr,
    /// Only as the second half.
    second: bool,
}

/// Pairs instructions.
pub(super) fn pair(code: &mut Code) {
    if code.wave != WaveSize::W32 || !code.isa.has(Op::VDualMovB32) {
        return;
    }
    code.rewrite(|code, n, items| pair_in(code.isa, code.wave, code.items_of(&code.blocks[n]), items));
}

fn pair_in(isa: &'static Isa, wave: WaveSize, items: &[Item], out: &mut List<Item>) {
    let mut block = Block {
        isa,
        items,
        effects: items.iter().map(|item| item.inst.effects(wave)).collect(),
        candidates: items.iter().map(|item| candidate(isa, item)).collect(),
        taken: vec![false; items.len()],
        loaded: RegisterSet::EMPTY,
    };
    for (n, item) in items.iter().enumerate() {
        if block.taken[n] {
            continue;
        }
        let own = block.effects[n];
        let mut passed = own.reads;
        match block.candidates[n].and_then(|candidate| block.second_half(n, candidate)) {
            Some((m, both)) => {
                block.taken[m] = true;
                passed = passed.union(&block.effects[m].reads);
                out.push(Item::new(both));
            }
            None => out.push(*item),
        }
        block.loaded = block.loaded.without(&passed);
        if !matches!(own.access, CountedAccess::None | CountedAccess::VectorStore) {
            block.loaded = block.loaded.union(&own.writes);
        }
    }
}

/// What is known of a block.
struct Block<'a> {
    isa: &'static Isa,
    items: &'a [Item],
    effects: Vec<Effects>,
    candidates: Vec<Option<Candidate>>,
    /// Second halves, which have moved.
    taken: Vec<bool>,
    /// Results of loads that nothing has waited for.
    loaded: RegisterSet,
}

impl Block<'_> {
    /// The instruction that goes with another one, and both in one.
    fn second_half(&self, n: usize, own: Candidate) -> Option<(usize, Instruction)> {
        let (mut written, mut read) = (self.effects[n].writes, RegisterSet::EMPTY);
        for m in (n + 1..self.items.len()).filter(|m| !self.taken[*m]).take(WINDOW) {
            let here = &self.effects[m];
            if let Some(other) = self.candidates[m] {
                let free = !here.reads.meets(&written) && !here.writes.meets(&written) && !here.writes.meets(&read);
                let waits = here.reads.intersection(&self.loaded).without(&self.effects[n].reads);
                let apart = own.dst.0 & 1 != other.dst.0 & 1 && !(own.second && other.second);
                if free
                    && apart
                    && waits.is_empty()
                    && let Some(both) = both(self.isa, [n, m].map(|at| &self.items[at].inst), [own, other])
                {
                    return Some((m, both));
                }
            }
            if is_barrier(&self.items[m], here) {
                return None;
            }
            written = written.union(&here.writes);
            read = read.union(&here.reads);
        }
        None
    }
}

/// Both instructions in one, in either order, with the sources of either in either order.
fn both(isa: &'static Isa, alone: [&Instruction; 2], which: [Candidate; 2]) -> Option<Instruction> {
    let [a, b] = alone.map(|inst| forms(isa, inst));
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    pairs.filter(|(a, b)| banks_differ(a, b)).find_map(|(a, b)| {
        let [first, second] = if which[0].second { [b, a] } else { [a, b] };
        let made = |x, y| Instruction::dual(isa, x, y).ok();
        made(first, second).or_else(|| if which[1].second { None } else { made(second, first) })
    })
}

/// An instruction, and the same with its sources in the other order.
fn forms(isa: &'static Isa, inst: &Instruction) -> SmallVec<[Instruction; 2]> {
    let mut out: SmallVec<[Instruction; 2]> = [*inst].into_iter().collect();
    let Fields::Vector(f) = &inst.fields else { return out };
    let op = match inst.entry.op {
        // The factors of a product.
        op @ Op::VFmacF32 => Some(op),
        op => mirrored(op),
    };
    if let (Some(op), [Some(a @ Src::Vgpr(_)), Some(b), None]) = (op, f.srcs)
        && half_of(op).is_some()
    {
        out.push(Instruction::vector(isa, op, f.dst, &[b, a]));
    }
    out
}

/// Whether the first sources are in different banks of registers, and the second ones too: most pairs fail here, so it
/// is looked at first.
fn banks_differ(a: &Instruction, b: &Instruction) -> bool {
    let (Fields::Vector(a), Fields::Vector(b)) = (&a.fields, &b.fields) else { return false };
    a.srcs.iter().zip(&b.srcs).take(2).all(|pair| match pair {
        (Some(Src::Vgpr(a)), Some(Src::Vgpr(b))) => a.0 & 3 != b.0 & 3,
        _ => true,
    })
}

fn candidate(isa: &'static Isa, item: &Item) -> Option<Candidate> {
    let Fields::Vector(f) = &item.inst.fields else { return None };
    let Some(VectorDst::Vgpr(dst)) = f.dst.filter(|_| item.open.is_none()) else { return None };
    if f.form != VectorForm::Short || f.mods != Modifiers::default() {
        return None;
    }
    let half = isa.row(half_of(item.inst.entry.op)?);
    Some(Candidate { dst, second: half.is(Traits::SECOND_HALF) })
}

/// Whether nothing may move over an instruction.
fn is_barrier(item: &Item, effects: &Effects) -> bool {
    let entry = item.inst.entry;
    item.open.is_some() || effects.indirect || entry.format == Format::Sopp || entry.is(Traits::ACTS.or(Traits::JUMPS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::CodeBlock;
    use crate::mir::Term;
    use dovetail_base::target::Gpu;
    use dovetail_isa::{Scalar, Sgpr};

    fn paired(insts: &[Instruction]) -> Vec<String> {
        let items: List<Item> = insts.iter().copied().map(Item::new).collect();
        let blocks = vec![CodeBlock { items: 0..items.len(), term: Term::End }].into();
        let mut code = Code { isa: isa(), wave: WaveSize::W32, blocks, items };
        pair(&mut code);
        assert_eq!(code.blocks[0].items, 0..code.items.len());
        code.items.iter().map(|item| item.inst.text(code.isa, WaveSize::W32)).collect()
    }

    fn isa() -> &'static Isa {
        Isa::of(Gpu::Gfx1100)
    }

    fn two(op: Op, dst: u8, a: u8, b: u8) -> Instruction {
        Instruction::vector(isa(), op, VectorDst::Vgpr(Vgpr(dst)), &[a, b].map(|v| Src::Vgpr(Vgpr(v))))
    }

    #[test]
    fn what_does_not_depend_on_each_other_is_one_instruction() {
        let (add, mul, int) = (Op::VAddF32, Op::VMulF32, Op::VAddNcU32);
        let both = ["v_dual_add_f32 v4, v0, v1 :: v_dual_mul_f32 v5, v2, v3"];
        assert_eq!(paired(&[two(add, 4, 0, 1), two(mul, 5, 2, 3)]), both);
        // An integer sum is the second half only; sources change places where banks would meet.
        let second = ["v_dual_mul_f32 v5, v2, v3 :: v_dual_add_nc_u32 v4, v0, v1"];
        assert_eq!(paired(&[two(int, 4, 0, 1), two(mul, 5, 2, 3)]), second);
        let turned = ["v_dual_add_f32 v4, v0, v1 :: v_dual_mul_f32 v5, v3, v4"];
        assert_eq!(
            paired(&[two(add, 4, 0, 1), two(mul, 5, 8, 3)]),
            turned.map(|text| text.replace("v3, v4", "v3, v8"))
        );
        let alone = |insts: &[Instruction]| assert_eq!(paired(insts).len(), insts.len(), "{:?}", paired(insts));
        alone(&[two(add, 4, 0, 1), two(mul, 5, 4, 3)]);
        alone(&[two(add, 4, 0, 1), two(mul, 6, 2, 3)]);
        alone(&[two(int, 4, 0, 1), two(int, 5, 2, 3)]);
        alone(&[two(add, 4, 0, 0), two(mul, 5, 8, 8)]);
    }

    #[test]
    fn the_second_half_moves_over_what_it_has_nothing_to_do_with() {
        let (add, mul) = (Op::VAddF32, Op::VMulF32);
        let (first, second) = (two(add, 4, 0, 1), two(mul, 5, 2, 3));
        let other = two(Op::VXorB32, 9, 8, 8);
        assert_eq!(paired(&[first, other, second]).len(), 2);
        let scalar = |to: Scalar| Instruction::scalar(isa(), Op::SMovB32, Some(to), &[Src::Int(1)]);
        let sgpr = Scalar::Sgpr(Sgpr::new(4).expect("an SGPR"));
        assert_eq!(paired(&[first, scalar(sgpr), second]).len(), 2);
        let kept = |between: Instruction| assert_eq!(paired(&[first, between, second]).len(), 3, "{between:?}");
        kept(scalar(Scalar::ExecLo));
        kept(two(Op::VXorB32, 2, 8, 8));
        kept(two(Op::VXorB32, 9, 5, 8));
        kept(two(Op::VXorB32, 5, 8, 8));
        kept(Instruction::program(isa(), Op::SRoundMode, 3));
    }
}
