//! Finds loads of parameters that overwrite a vector register which an earlier instruction may still use
//! ([`RegisterHazard`](dovetail_isa::RegisterHazard)), by walking back from each load along every path until the first
//! instruction that uses the register, or that ends the search.

use super::flow::{Graph, Step};
use dovetail_isa::instruction::{Fields, LdsDirectFields};
use dovetail_isa::{CountedAccess, Counter, Isa, Register, RegisterHazard as Hazard, depctr};
use std::collections::BTreeSet;

/// What a step back leads to.
enum Look {
    Further,
    /// What is before it does not matter.
    End,
    Found,
}

/// By place of a load: the vector instruction that its field does not wait for, though it uses the register.
pub(super) fn after_vector(graph: &Graph) -> impl Iterator<Item = (u32, u32)> {
    backwards(graph, (0, false), |load, (valus, transcendental), step| {
        if step.inst.clears(depctr::VECTOR_RESULTS) || *valus >= Hazard::VALUS_BEFORE_LDS_DIRECT {
            return Look::End;
        }
        if !step.inst.is_vector() {
            return Look::Further;
        }
        *transcendental |= step.inst.entry.latency.is_transcendental();
        if uses(step, load) {
            let most = if *transcendental { 0 } else { *valus };
            return if load.wait > most { Look::Found } else { Look::End };
        }
        *valus += 1;
        Look::Further
    })
}

/// By place of a load: the memory access that may still use the register.
pub(super) fn after_memory(graph: &Graph) -> impl Iterator<Item = (u32, u32)> {
    let isa = graph.isa;
    backwards(graph, false, move |load, loads_done, step| match &step.inst.fields {
        Fields::Vector(_) | Fields::Interp(_) | Fields::Dual(_) | Fields::Export(_) => Look::End,
        Fields::Scalar(_) if step.inst.clears(depctr::MEMORY_SOURCES) => Look::End,
        Fields::Scalar(_) => {
            *loads_done |= waits_for_all(isa, step);
            Look::Further
        }
        Fields::Buffer(_) | Fields::Image(_) | Fields::Flat(_) | Fields::Ds(_) if uses(step, load) => {
            let stores = matches!(step.effects.access, CountedAccess::VectorStore | CountedAccess::FlatStore);
            if stores || !*loads_done { Look::Found } else { Look::Further }
        }
        _ => Look::Further,
    })
}

/// Whether it waits for all counters but that of stores.
fn waits_for_all(isa: &Isa, step: &Step) -> bool {
    let all = [Counter::Vector, Counter::Scalar, Counter::Export];
    isa.waited(&step.inst).is_some_and(|counts| all.iter().all(|one| counts.get(*one) == 0))
}

fn uses(step: &Step, load: &LdsDirectFields) -> bool {
    let v = Register::vgpr(load.dst.0);
    step.effects.reads.contains(v) || step.effects.writes.contains(v)
}

/// Whether it is a load to the same register: what comes before is its own matter.
fn is_alike(step: &Step, load: &LdsDirectFields) -> bool {
    matches!(&step.inst.fields, Fields::LdsDirect(other) if other.dst == load.dst)
}

/// From each load back, with what `look` remembers of the way; the places of the load and of what was found.
fn backwards<S: Copy + Ord>(
    graph: &Graph,
    start: S,
    look: impl Fn(&LdsDirectFields, &mut S, &Step) -> Look,
) -> impl Iterator<Item = (u32, u32)> {
    let loads = graph.blocks.iter().enumerate().flat_map(|(index, block)| {
        let steps = graph.steps_of(block).iter().enumerate();
        steps.filter_map(move |(n, step)| match &step.inst.fields {
            Fields::LdsDirect(load) => Some((index, n, step.at, *load)),
            _ => None,
        })
    });
    let loads: Vec<_> = loads.collect();
    let mut before = vec![Vec::new(); if loads.is_empty() { 0 } else { graph.blocks.len() }];
    for (index, block) in graph.blocks.iter().enumerate() {
        block.next.iter().for_each(|next| before.get_mut(*next).into_iter().for_each(|all| all.push(index)));
    }
    loads.into_iter().filter_map(move |(index, n, at, load)| {
        let mut seen = BTreeSet::new();
        let mut work = vec![(index, n, start)];
        'paths: while let Some((index, n, mut state)) = work.pop() {
            let Some(block) = graph.blocks.get(index) else { continue };
            for step in graph.steps_of(block).iter().take(n).rev() {
                if is_alike(step, &load) {
                    continue 'paths;
                }
                match look(&load, &mut state, step) {
                    Look::Further => {}
                    Look::End => continue 'paths,
                    Look::Found => return Some((at, step.at)),
                }
            }
            for &index in before.get(index).into_iter().flatten() {
                if seen.insert((index, state)) {
                    work.push((index, usize::MAX, state));
                }
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::super::register_hazards::check;
    use crate::by_hand::{gfx11, places};
    use dovetail_base::target::WaveSize;
    use dovetail_isa::instruction::{DsFields, Fields, Instruction};
    use dovetail_isa::{Counter, ExpSources, ExpTarget, Op, Scalar, Src, Vgpr, WaitCounts};

    fn load(wait: u8) -> Instruction {
        Instruction::parameter_load(gfx11(), Vgpr(1), 0, 0, wait)
    }

    fn vector(op: Op, dst: u8, src: u8) -> Instruction {
        Instruction::vector(gfx11(), op, Vgpr(dst), &[Src::Vgpr(Vgpr(src))])
    }

    /// Whether the last instruction is one that comes too early, and no other is.
    fn early(code: &[Instruction]) -> bool {
        let found = [WaveSize::W32, WaveSize::W64]
            .map(|wave| places(gfx11(), wave, code, |graph, reporter| check(graph, wave, reporter)));
        assert_eq!(found[0], found[1]);
        assert!(found[0].iter().all(|n| n + 1 == code.len()), "{found:?}");
        !found[0].is_empty()
    }

    #[test]
    fn a_load_waits_for_vector_instructions_that_use_its_register() {
        let [write, read, other] = [(1, 3), (3, 1), (8, 9)].map(|(dst, src)| vector(Op::VMovB32, dst, src));
        let [rcp, rcp_other] = [(1, 3), (8, 9)].map(|(dst, src)| vector(Op::VRcpF32, dst, src));
        for first in [write, read] {
            assert_eq!([0, 1].map(|wait| early(&[first, load(wait)])), [false, true]);
            assert_eq!([0, 2, 3].map(|wait| early(&[first, other, other, load(wait)])), [false, false, true]);
        }
        assert!(!early(&[other, load(15)]));
        // Not counted before the register is used, nor after 15 others.
        assert_eq!([1, 2].map(|wait| early(&[other, write, other, load(wait)])), [false, true]);
        let many = |count: usize| [vec![write], vec![other; count], vec![load(15)]].concat();
        assert_eq!([14, 15].map(|count| early(&many(count))), [true, false]);
        // Among transcendentals the number says nothing.
        assert_eq!([0, 1].map(|wait| early(&[rcp, other, load(wait)])), [false, true]);
        assert_eq!([0, 1].map(|wait| early(&[write, rcp_other, load(wait)])), [false, true]);
        assert_eq!([1, 2].map(|wait| early(&[rcp_other, write, other, load(wait)])), [false, true]);
        // Waits for all vector results.
        let wait = |constant| Instruction::program(gfx11(), Op::SWaitcntDepctr, constant);
        assert_eq!([0xfff, 0xfffe].map(|constant| early(&[write, wait(constant), load(15)])), [false, true]);
        assert!(!early(&[write, from_lds(9), load(15)]));
        // Another load does not wait for the rest.
        assert!(early(&[write, Instruction::parameter_load(gfx11(), Vgpr(7), 0, 0, 0), load(15)]));
    }

    #[test]
    fn every_way_to_a_load_counts() {
        let [write, other] = [(1, 3), (8, 9)].map(|(dst, src)| vector(Op::VMovB32, dst, src));
        let over = |distance| Instruction::program(gfx11(), Op::SCbranchScc0, distance);
        // One instruction between, or two.
        assert_eq!([1, 2].map(|wait| early(&[write, over(1), other, other, load(wait)])), [false, true]);
        // The way around a loop: from the load's block to itself, without the move before it.
        let compare = Instruction::scalar(gfx11(), Op::SCmpEqU32, None, &[Src::Scalar(Scalar::M0), Src::Int(0)]);
        let code = |wait| [load(wait), other, write, compare, over(0u16.wrapping_sub(5))];
        let found = |wait| places(gfx11(), WaveSize::W32, &code(wait), |graph, r| check(graph, WaveSize::W32, r));
        assert_eq!((found(0), found(1)), (vec![], vec![0]));
    }

    fn from_lds(dst: u8) -> Instruction {
        let fields = DsFields { dst: Vgpr(dst), addr: Vgpr(2), data: [Vgpr(0); 2], offsets: [0; 2], gds: false };
        Instruction::new(gfx11(), Op::DsReadB32, Fields::Ds(fields))
    }

    #[test]
    fn a_load_comes_after_memory_that_uses_its_register() {
        let isa = gfx11();
        let counts = |counts: WaitCounts| isa.wait(counts).next().expect("a wait");
        let all = WaitCounts::all(Counter::Vector).at_most(Counter::Scalar, 0).at_most(Counter::Export, 0);
        let sources = ExpSources::Full([Some(Vgpr(3)), None, None, None]);
        let export = Instruction::export(isa, ExpTarget::Mrt(0), sources, false, false).expect("a target");
        let read = Instruction::program(isa, Op::SWaitcntDepctr, !dovetail_isa::depctr::MEMORY_SOURCES);
        assert!(early(&[from_lds(1), load(0)]));
        assert!(!early(&[from_lds(9), load(0)]));
        for between in [read, vector(Op::VMovB32, 8, 9), export, counts(all)] {
            assert!(!early(&[from_lds(1), between, load(0)]));
        }
        for between in [counts(WaitCounts::all(Counter::Scalar)), Instruction::program(isa, Op::SNop, 7)] {
            assert!(early(&[from_lds(1), between, load(0)]));
        }
    }
}
