//! Compares schedules with an oracle for orders that must not change, and measures the cost of scheduling.

use super::*;
use crate::allocate::allocate;
use crate::allocate::tests::generate::{Shape, generate};
use crate::check_alloc::check;
use crate::mir::verify::verify;
use crate::mir::{Cond, Extra, MachineBlock, MachineInst, Operand, OperandValue, PhysReg, RegisterClass, Term};
use crate::tests::writer::Writer;
use dovetail_base::target::{Gpu, WaveSize};
use dovetail_isa::instruction::CachePolicy;
use dovetail_isa::{Format, Isa, Op, Traits};

fn limits() -> RegisterLimits {
    RegisterLimits::new(Isa::of(Gpu::Gfx1030), 256)
}

/// The registers and memory that an instruction reads and writes, except values that are defined once.
fn touched(f: &MachineFunction, inst: &MachineInst) -> (Vec<String>, Vec<String>) {
    let named = |operands: &[Operand]| -> Vec<String> {
        let each = operands.iter().filter_map(|one| match one.what {
            OperandValue::Val(val) if f.values[val.index()].variable => Some(val.to_string()),
            OperandValue::Fixed(reg) if reg != PhysReg::NULL => Some(reg.to_string()),
            _ => None,
        });
        each.collect()
    };
    let (mut reads, mut writes) = (named(f.uses(inst)), named(f.defs(inst)));
    let Some(row) = inst.isa().map(|op| f.isa.row(op)) else { return (reads, writes) };
    let vector =
        !matches!(row.format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem);
    if vector && !row.is(Traits::ANY_LANES) || row.is(Traits::EXEC_IN.or(Traits::EXEC_COMBINED)) {
        reads.push("exec".to_owned());
    }
    if row.is(Traits::EXEC_OUT.or(Traits::EXEC_COMBINED)) {
        writes.push("exec".to_owned());
    }
    if row.is(Traits::SCC_IN) {
        reads.push("scc".to_owned());
    }
    if row.is(Traits::M0_IN) {
        reads.push("m0".to_owned());
    }
    if row.is(Traits::VCC_IN) {
        reads.push("vcc".to_owned());
    }
    let memory = match row.format {
        Format::Ds => Some("lds"),
        Format::Mimg | Format::Vsample => Some("images"),
        Format::Mubuf | Format::Mtbuf | Format::Global | Format::Flat => Some("buffers"),
        Format::Exp => Some("exports"),
        _ => None,
    };
    if let Some(memory) = memory.map(str::to_owned) {
        let stores = row.is(Traits::STORES.or(Traits::ATOMIC)) || row.format == Format::Exp;
        if stores { writes.push(memory) } else { reads.push(memory) }
    }
    (reads, writes)
}

/// For each instruction of a block that reads SCC, the instruction that wrote it.
fn scc_sources(f: &MachineFunction, block: &MachineBlock) -> Vec<(u32, Option<u32>)> {
    let mut writer = None;
    let mut out = Vec::new();
    for inst in f.insts_of(block) {
        if touched(f, inst).0.iter().any(|one| one == "scc") {
            out.push((inst.operands, writer));
        }
        if inst.writes_scc(f.isa) {
            writer = Some(inst.operands);
        }
    }
    if matches!(block.term, Term::Branch { when: Cond::Scc0 | Cond::Scc1, .. }) {
        out.push((u32::MAX, writer));
    }
    out.sort_unstable();
    out
}

/// Whether two instructions may not be swapped. Stores to different known places could be, but the generator makes
/// none.
fn conflict(f: &MachineFunction, a: &MachineInst, b: &MachineInst) -> bool {
    let ((reads_a, writes_a), (reads_b, writes_b)) = (touched(f, a), touched(f, b));
    let meet = |x: &[String], y: &[String]| x.iter().any(|one| one != "scc" && y.contains(one));
    meet(&writes_a, &reads_b) || meet(&reads_a, &writes_b) || meet(&writes_a, &writes_b)
}

/// Checks that a block has the same instructions, and those that conflict are in their old order.
fn keeps_order(before: &MachineFunction, after: &MachineFunction) {
    for (old, new) in before.blocks.iter().zip(&after.blocks) {
        let place = |n: &MachineInst| after.insts_of(new).iter().position(|inst| inst.operands == n.operands);
        let insts = before.insts_of(old);
        let places: Vec<usize> = insts.iter().map(|inst| place(inst).expect("nothing goes")).collect();
        for a in 0..insts.len() {
            for b in a + 1..insts.len() {
                let swapped = places[a] > places[b];
                assert!(
                    !(swapped && conflict(before, &insts[a], &insts[b])),
                    "{} and {}",
                    before.text_of(&insts[a]),
                    before.text_of(&insts[b])
                );
            }
        }
        assert_eq!(scc_sources(before, old), scc_sources(after, new));
    }
}

/// Schedules all blocks without spare registers.
fn scheduled(f: &mut MachineFunction, how: Scheduling) -> ScheduleStats {
    let spare = vec![Some(0); f.blocks.len()];
    Scheduler::new(f, how, limits()).run(f, &spare)
}

#[test]
fn any_order_keeps_what_depends_on_each_other_and_can_be_allocated() {
    let mut changed = 0;
    for seed in 1..=40u64 {
        for wave in [WaveSize::W32, WaveSize::W64] {
            let shape = Shape { seed: seed.wrapping_mul(0x5851_f42d_4c95_7f2d), wave, size: 80, live: 4 };
            let before = generate(shape);
            for how in [Scheduling::Cycles, Scheduling::Random(seed)] {
                let mut after = before.clone();
                changed += scheduled(&mut after, how).changed;
                verify(&after).unwrap_or_else(|error| panic!("{shape:?} {how:?}: {error}\n{after}"));
                keeps_order(&before, &after);
                let allocated = allocate(&after, limits()).expect("fits");
                check(&after, &allocated, limits()).unwrap_or_else(|error| panic!("{shape:?}: {error}"));
            }
        }
    }
    assert!(changed > 200, "{changed} blocks in another order");
}

fn ops(f: &MachineFunction) -> Vec<Op> {
    f.insts.iter().filter_map(MachineInst::isa).collect()
}

#[test]
fn loads_come_first_and_only_past_stores_that_are_elsewhere() {
    let order = |offset: u8| {
        let mut w = Writer::new();
        let address = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[Operand::constant(0)], Extra::None);
        let a = w.load(address, 0);
        let sum = w.add(a, a);
        w.store(address, sum, 4);
        let b = w.load(address, offset);
        let sum = w.add(b, b);
        w.store(address, sum, 12);
        let mut f = w.done();
        scheduled(&mut f, Scheduling::Cycles);
        ops(&f)
    };
    assert_eq!(order(8)[1..3], [Op::DsReadB32, Op::DsReadB32]);
    assert_eq!(order(4)[1..4], [Op::DsReadB32, Op::VAddNcU32, Op::DsWriteB32]);
    assert_eq!(order(6)[1..4], [Op::DsReadB32, Op::VAddNcU32, Op::DsWriteB32]);
}

#[test]
fn occupancy_stays() {
    // Many loads, each used at once: with all loads early the code would be faster, but its registers would allow only
    // a few waves.
    let mut w = Writer::new();
    let address = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[Operand::constant(0)], Extra::None);
    for n in 0..200u8 {
        let value = w.load(address, n);
        let sum = w.add(value, value);
        let cache = CachePolicy::default();
        let extra = Extra::Buffer { offset: 4 * u32::from(n), idxen: false, offen: false, format: None, cache };
        let uses = [Operand::fixed(PhysReg::SCRATCH), Operand::constant(0), Operand::val(sum)];
        w.push(Op::BufferStoreDword, None, &uses, extra);
    }
    let mut f = w.done();
    let stats = scheduled(&mut f, Scheduling::Cycles);
    assert_eq!((stats.changed, stats.waves), (1, 16));
    let live = Liveness::new(&f);
    let mut pressure = Pressure::new(&f);
    let all = AllUnits::new(&f);
    let all = all.of(BlockId(0));
    pressure.begin(&f, &live, BlockId(0), all);
    let peak = pressure.walk(all.len());
    assert!((20..=64).contains(&peak.vectors), "{peak:?}");
}

#[test]
fn only_blocks_with_another_number_of_spare_registers_are_ordered_again() {
    let shape = Shape { seed: 0x5851_f42d_4c95_7f2d, wave: WaveSize::W32, size: 80, live: 4 };
    let source = generate(shape);
    let mut f = source.clone();
    let mut scheduler = Scheduler::new(&f, Scheduling::Cycles, limits());
    let mut spare = vec![Some(0); f.blocks.len()];
    let first = scheduler.run(&mut f, &spare);
    let once = f.insts.clone();
    let again = scheduler.run(&mut f, &spare);
    assert!(first.steps > 0 && first.changed > 1, "{first:?}");
    assert_eq!((again, &f.insts[..]), (ScheduleStats { steps: 0, ..first }, &once[..]));
    // One block goes back to the source order, the others stay.
    let block = (0..f.blocks.len()).find(|n| {
        let insts = f.blocks[*n].insts.start as usize..f.blocks[*n].insts.end as usize;
        once[insts.clone()] != source.insts[insts]
    });
    let block = block.expect("a block with another order");
    spare[block] = None;
    let back = scheduler.run(&mut f, &spare);
    assert_eq!((back.steps, back.changed), (0, first.changed - 1));
    let insts = f.blocks[block].insts.start as usize..f.blocks[block].insts.end as usize;
    assert_eq!(f.insts[insts.clone()], source.insts[insts.clone()]);
    assert_eq!((&f.insts[..insts.start], &f.insts[insts.end..]), (&once[..insts.start], &once[insts.end..]));
}

#[test]
fn the_cost_is_linear() {
    let steps = |count: u32| {
        let mut w = Writer::new();
        let address = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[Operand::constant(0)], Extra::None);
        let mut sum = address;
        for n in 0..count {
            let value = w.load(address, n as u8);
            sum = w.add(sum, value);
            if n % 7 == 0 {
                w.store(address, sum, n as u8);
            }
        }
        let mut f = w.done();
        let total = f.insts.len() as u64;
        (scheduled(&mut f, Scheduling::Cycles).steps, total)
    };
    let [(few, _), (many, total)] = [steps(1_000), steps(10_000)];
    assert!(total > 20_000 && many < 100 * total, "{many} steps for {total} instructions");
    assert!(many < 11 * few, "{many} steps instead of {few} for ten times as much");
}
