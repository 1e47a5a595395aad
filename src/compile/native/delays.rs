//! `s_delay_alu`: tells the hardware which earlier results an instruction reads, so that other waves run until they are
//! there (LLVM: `AMDGPUInsertDelayAlu.cpp`). Where instruction sets lack it, waves switch by themselves.
//!
//! Runs last, since it counts instructions. It looks at a block alone: results of other blocks are rarely that young.

use super::code::{Code, Item};
use dovetail_base::workspace::List;
use dovetail_isa::instruction::Fields;
use dovetail_isa::{AluDependence, Effects, Instruction, Latency, Op, Register, depctr};
use smallvec::SmallVec;

/// Instructions after the one that a delay is for, of which one may share the delay.
const MOST_LATER: u8 = 5;
/// Vector results, transcendental results and cycles of scalar ones that a delay can name.
const MOST_VECTOR: u8 = 4;
/// See [`MOST_VECTOR`].
const MOST_TRANSCENDENTAL: u8 = 3;
/// See [`MOST_VECTOR`].
const MOST_CYCLES: u8 = 3;

/// The unit that makes a result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Vector,
    Transcendental,
    Scalar,
}

/// A result that is not there yet.
struct Young {
    register: Register,
    unit: Unit,
    /// Instructions of the same unit since, that which made it included.
    since: u8,
    /// Cycles until it is there.
    cycles: u32,
}

/// Puts delays in front of instructions that read young results.
pub fn insert(code: &mut Code) {
    if !code.isa.has(Op::SDelayAlu) {
        return;
    }
    code.rewrite(|code, n, items| {
        let mut young = SmallVec::<[Young; 16]>::new();
        // The last delay with room for another instruction.
        let mut open: Option<(usize, AluDependence)> = None;
        for item in code.items_of(&code.blocks[n]) {
            let effects = item.inst.effects(code.wave);
            let unit = unit(&item.inst);
            if unit.is_some() {
                delay(code, &mut young, &effects, &mut open, items);
            } else if item.inst.clears(depctr::VECTOR_RESULTS) {
                young.clear();
            }
            let latency = item.inst.entry.latency;
            if let Some(unit) = unit {
                young.retain(|one| !effects.writes.contains(one.register));
                let made = effects.writes.iter();
                young.extend(made.map(|register| Young { register, unit, since: 0, cycles: latency.result() }));
            }
            let passed = latency.issue(code.wave);
            for one in &mut young {
                one.since += u8::from(Some(one.unit) == unit);
                one.cycles = one.cycles.saturating_sub(passed);
            }
            young.retain(|one| one.cycles > 0 && named(one).is_some());
            items.push(*item);
        }
    });
}

/// What a delay says of a result; `None` if it is too far back.
fn named(one: &Young) -> Option<AluDependence> {
    match one.unit {
        Unit::Vector => (one.since <= MOST_VECTOR).then_some(AluDependence::Vector(one.since)),
        Unit::Transcendental => (one.since <= MOST_TRANSCENDENTAL).then_some(AluDependence::Transcendental(one.since)),
        Unit::Scalar => {
            let cycles = u8::try_from(one.cycles).unwrap_or(u8::MAX);
            Some(AluDependence::Scalar(cycles.min(MOST_CYCLES)))
        }
    }
}

/// Puts the delay of an instruction with these effects in front of it, or into the one before.
fn delay(
    code: &Code,
    young: &mut SmallVec<[Young; 16]>,
    effects: &Effects,
    open: &mut Option<(usize, AluDependence)>,
    items: &mut List<Item>,
) {
    let read = |unit: Unit| {
        let all = young.iter().filter(move |one| one.unit == unit && effects.reads.contains(one.register));
        // The last one of a unit is there after all others, and for scalars the one that takes longest.
        all.min_by_key(|one| (one.since, u32::MAX - one.cycles)).and_then(named)
    };
    let needs: SmallVec<[AluDependence; 3]> =
        [Unit::Transcendental, Unit::Vector, Unit::Scalar].into_iter().filter_map(read).collect();
    // After the wait it is there for all.
    young.retain(|one| !effects.reads.contains(one.register));
    let Some(&first) = needs.first() else { return };
    if let (Some((at, before)), 1) = (*open, needs.len())
        && let Some(later) = u8::try_from(items.len() - at - 1).ok().filter(|later| *later <= MOST_LATER)
        && let Ok(both) = Instruction::delay(code.isa, before, Some((later, first)))
        && let Some(delay) = items.get_mut(at)
    {
        (delay.inst, *open) = (both, None);
        return;
    }
    let second = needs.get(1).map(|second| (0, *second));
    if let Ok(inst) = Instruction::delay(code.isa, first, second) {
        *open = second.is_none().then_some((items.len(), first));
        items.push(Item::new(inst));
    }
}

/// The unit that executes an instruction, if it is arithmetic.
fn unit(inst: &Instruction) -> Option<Unit> {
    match (&inst.fields, inst.entry.latency) {
        (_, Latency::Transcendental) => Some(Unit::Transcendental),
        _ if inst.is_vector() => Some(Unit::Vector),
        (Fields::Scalar(_), Latency::Salu) => Some(Unit::Scalar),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::CodeBlock;
    use crate::mir::Term;
    use dovetail_base::target::{Gpu, WaveSize};
    use dovetail_isa::{Isa, Sgpr, Src, Vgpr};

    fn delayed(gpu: Gpu, insts: &[Instruction]) -> Vec<String> {
        let items: List<Item> = insts.iter().copied().map(Item::new).collect();
        let blocks = vec![CodeBlock { items: 0..items.len(), term: Term::End }].into();
        let mut code = Code { isa: Isa::of(gpu), wave: WaveSize::W32, blocks, items };
        insert(&mut code);
        assert_eq!(code.blocks[0].items, 0..code.items.len());
        code.items.iter().map(|item| item.inst.text(code.isa, WaveSize::W32)).collect()
    }

    fn delays(insts: &[Instruction]) -> Vec<(usize, String)> {
        let text = delayed(Gpu::Gfx1100, insts);
        text.into_iter().enumerate().filter(|(_, text)| text.starts_with("s_delay_alu")).collect()
    }

    fn vector(op: Op, to: u8, from: u8) -> Instruction {
        Instruction::vector(Isa::of(Gpu::Gfx1100), op, Vgpr(to), &[Src::Vgpr(Vgpr(from))])
    }

    fn scalar(to: u8, from: u8) -> Instruction {
        let [to, from] = [to, from].map(|n| Sgpr::new(n).expect("an SGPR"));
        Instruction::scalar(Isa::of(Gpu::Gfx1100), Op::SMovB32, Some(dovetail_isa::Scalar::Sgpr(to)), &[from.into()])
    }

    #[test]
    fn what_reads_a_young_result_says_which() {
        let (mov, rcp) = (Op::VMovB32, Op::VRcpF32);
        let one = |place, what: &str| vec![(place, format!("s_delay_alu {what}"))];
        assert_eq!(delays(&[vector(mov, 1, 0), vector(mov, 2, 1)]), one(1, "instid0(VALU_DEP_1)"));
        let apart = [vector(mov, 1, 0), vector(mov, 5, 0), vector(mov, 6, 0), vector(mov, 2, 1)];
        assert_eq!(delays(&apart), one(3, "instid0(VALU_DEP_3)"));
        let far = [1, 5, 6, 7, 8].map(|to| vector(mov, to, 0));
        assert_eq!(delays(&[&far[..], &[vector(mov, 2, 1)]].concat()), []);
        assert_eq!(delays(&[vector(rcp, 1, 0), vector(mov, 2, 1)]), one(1, "instid0(TRANS32_DEP_1)"));
        assert_eq!(delays(&[scalar(4, 0), scalar(5, 4)]), one(1, "instid0(SALU_CYCLE_1)"));
        // Two instructions share a delay; what was waited for once is there.
        let two = [vector(mov, 1, 0), vector(mov, 2, 1), vector(mov, 3, 2), vector(mov, 4, 2)];
        let shared = "instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)";
        assert_eq!(delays(&two), one(1, shared));
        assert!(delayed(Gpu::Gfx1030, &two).iter().all(|text| !text.starts_with("s_delay")), "no such instruction");
    }
}
