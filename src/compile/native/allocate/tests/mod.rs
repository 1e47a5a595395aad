//! Runs random functions through verifier, allocator and checker.

pub(crate) mod generate;

use super::{Allocated, MaskPlaces, RegSet, RegisterLimits, allocate};
use crate::check_alloc::check;
use crate::mir::verify::verify;
use crate::mir::{Extra, MachineFunction, MachineInst, Operand, OperandValue, RegisterClass, Val, run_of};
use crate::tests::writer::Writer;
use dovetail_base::error::ErrorKind;
use dovetail_base::target::{Gpu, WaveSize};
use dovetail_isa::Isa;
use dovetail_isa::Op;
use generate::{Shape, generate};
use std::collections::BTreeSet;

/// Verifies, allocates and checks a function; `None` if there are too few registers.
fn allocated(f: &MachineFunction, limits: RegisterLimits, what: &str) -> Option<Allocated> {
    verify(f).unwrap_or_else(|error| panic!("{what}: the function itself: {error}\n{f}"));
    match allocate(f, limits) {
        Ok(after) => {
            check(f, &after, limits).unwrap_or_else(|error| panic!("{what}: {error}\n{f}\n=>\n{}", after.function));
            Some(after)
        }
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported { .. }) => None,
        Err(error) => panic!("{what}: {error}\n{f}"),
    }
}

fn shapes(count: u64, size: u32, live: u32) -> impl Iterator<Item = Shape> {
    (1..=count).flat_map(move |seed| {
        [WaveSize::W32, WaveSize::W64].map(|wave| Shape {
            seed: seed.wrapping_mul(0x5851_f42d_4c95_7f2d),
            wave,
            size,
            live,
        })
    })
}

#[test]
fn random_functions_keep_their_meaning() {
    let limits = RegisterLimits::new(Isa::of(Gpu::Gfx1030), 256);
    let mut refused = 0;
    for shape in shapes(60, 60, 4) {
        refused += u32::from(allocated(&generate(shape), limits, &format!("{shape:?}")).is_none());
    }
    assert!(refused == 0, "{refused} of 120 do not fit");
}

#[test]
fn random_functions_keep_their_meaning_where_instructions_are_dual() {
    let isa = Isa::of(Gpu::Gfx1100);
    for (limits, live) in [(RegisterLimits::new(isa, 256), 4), (RegisterLimits::new(isa, 24), 12)] {
        for shape in shapes(30, 60, live) {
            let f = MachineFunction { isa, ..generate(shape) };
            allocated(&f, limits, &format!("{shape:?}"));
        }
    }
}

#[test]
fn neighbours_get_registers_with_which_they_are_one_instruction() {
    let products = |gpu: Gpu| {
        let mut w = Writer::new();
        w.0.isa = Isa::of(gpu);
        let address = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[Operand::constant(0)], Extra::None);
        let loaded = [0, 4, 8, 12, 16].map(|offset| w.load(address, offset));
        let mut product = |a: usize, b: usize| w.v(Op::VMulF32, Operand::val(loaded[a]), Operand::val(loaded[b]));
        let products = [product(0, 1), product(4, 2)];
        products.iter().chain([&loaded[3]]).for_each(|val| w.store(address, *val, 0));
        let f = w.done();
        let made = allocated(&f, RegisterLimits::new(f.isa, 256), "products").expect("there are registers").function;
        let numbers = |inst: &MachineInst| -> Vec<u16> {
            let vgpr = |one: &Operand| if let OperandValue::Fixed(reg) = one.what { reg.as_vgpr() } else { None };
            made.defs(inst).iter().chain(made.uses(inst)).filter_map(vgpr).collect()
        };
        made.insts.iter().filter(|inst| inst.isa() == Some(Op::VMulF32)).map(numbers).collect::<Vec<_>>()
    };
    let fit = |made: &[Vec<u16>]| {
        let differ = |n: usize, mask: u16| made[0][n] & mask != made[1][n] & mask;
        differ(0, 1) && differ(1, 3) && differ(2, 3)
    };
    let (dual, plain) = (products(Gpu::Gfx1100), products(Gpu::Gfx1030));
    assert!(fit(&dual), "{dual:?}");
    assert!(!fit(&plain), "{plain:?}: the lowest registers fit too");
}

#[test]
fn few_registers_make_values_leave() {
    let [all, few] = [104, 40];
    let cases = [(8, all, 2), (12, all, 4), (16, few, 8), (24, all, 8), (32, few, 20), (64, all, 50)];
    for (vgprs, sgprs, live) in cases {
        let mut refused = 0;
        for shape in shapes(10, 60, live) {
            let limits = RegisterLimits { sgprs, ..RegisterLimits::new(Isa::of(Gpu::Gfx1030), vgprs) };
            refused += u32::from(allocated(&generate(shape), limits, &format!("{limits:?} of {shape:?}")).is_none());
        }
        // Eight registers are too few for address and data of an image access.
        assert!(refused == 0 || vgprs == 8, "{vgprs} {sgprs}: {refused} of 20 refused");
    }
}

#[test]
fn masks_leave_for_lanes_and_for_memory() {
    for masks in [MaskPlaces::Lanes, MaskPlaces::Scratch] {
        let (mut refused, mut accesses) = (0, 0);
        for shape in shapes(20, 100, 6) {
            for [sgprs, vgprs] in [[104, 256], [28, 24]] {
                let limits = RegisterLimits { sgprs, vgprs, masks, kept: RegSet::default() };
                let Some(after) = allocated(&generate(shape), limits, &format!("{limits:?} of {shape:?}")) else {
                    refused += 1;
                    continue;
                };
                let one_lane = |inst: &&MachineInst| {
                    after.function.writes_exec(inst) && after.function.uses(inst) == [Operand::constant(1)]
                };
                let lanes = |inst: &&MachineInst| inst.isa() == Some(Op::VWritelaneB32);
                accesses += match masks {
                    MaskPlaces::Scratch => after.function.insts.iter().filter(one_lane).count(),
                    _ => after.function.insts.iter().filter(lanes).count(),
                };
            }
        }
        assert!(refused == 0 && accesses > 500, "{masks:?}: {refused} of 80 refused, {accesses} accesses");
    }
}

/// `cargo nextest run --lib --run-ignored only many_random_functions`
#[test]
#[ignore = "takes a minute"]
fn many_random_functions() {
    for (vgprs, sgprs, size, live) in [(256, 104, 60, 4), (256, 104, 300, 20), (20, 64, 80, 10), (12, 48, 40, 3)] {
        for shape in shapes(400, size, live).skip(200) {
            let limits = RegisterLimits { sgprs, ..RegisterLimits::new(Isa::of(Gpu::Gfx1030), vgprs) };
            let after = allocated(&generate(shape), limits, &format!("{limits:?} of {shape:?}"));
            assert!(after.is_some() || vgprs < 256, "{limits:?} of {shape:?} refused");
        }
    }
}

#[test]
fn values_that_do_not_live_at_the_same_time_share_a_place() {
    const AT_ONCE: u8 = 60;
    for (class, limits) in
        [(RegisterClass::Vector, [104, 16]), (RegisterClass::Scalar, [20, 64])].map(|(class, [sgprs, vgprs])| {
            (class, RegisterLimits { sgprs, ..RegisterLimits::new(Isa::of(Gpu::Gfx1030), vgprs) })
        })
    {
        let mut w = Writer::new();
        let address = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[Operand::constant(0)], Extra::None);
        for _ in 0..5 {
            let values: Vec<Val> = match class {
                RegisterClass::Vector => (0..AT_ONCE).map(|n| w.load(address, n)).collect(),
                RegisterClass::Scalar => (0..AT_ONCE)
                    .map(|n| {
                        let loaded = w.load(address, n);
                        w.push(Op::VReadfirstlaneB32, Some(class), &[Operand::val(loaded)], Extra::None)
                    })
                    .collect(),
            };
            for (value, n) in values.into_iter().zip(0..AT_ONCE).rev() {
                let value = match class {
                    RegisterClass::Vector => value,
                    RegisterClass::Scalar => {
                        w.push(Op::VMovB32, Some(RegisterClass::Vector), &[Operand::val(value)], Extra::None)
                    }
                };
                w.store(address, value, n);
            }
        }
        let after = allocated(&w.done(), limits, "five times as many values").expect("places for them");
        let places = match class {
            RegisterClass::Vector => after.function.scratch_bytes / 4,
            RegisterClass::Scalar => {
                let lanes = after.function.insts.iter().filter(|inst| inst.isa() == Some(Op::VWritelaneB32));
                let lane = |inst| after.function.uses(inst)[1].what;
                let lanes: BTreeSet<String> = lanes.map(|inst| format!("{:?}", lane(inst))).collect();
                lanes.len() as u32
            }
        };
        assert!((30..=u32::from(AT_ONCE)).contains(&places), "{class:?}: {places} places");
    }
}

/// Replaces every register of an original instruction, and every register of an inserted one, in turn with its
/// neighbour.
#[test]
fn the_checker_finds_wrong_registers_and_missing_moves() {
    let (mut planted, mut missed, mut nth) = (0u32, 0u32, 0u32);
    use MaskPlaces::{Lanes, Scalars, Scratch};
    let cases = [(256, Scalars), (16, Scalars), (256, Lanes), (24, Scratch)];
    for (vgprs, masks, shape) in cases.into_iter().flat_map(|(n, masks)| shapes(2, 20, 2).map(move |s| (n, masks, s))) {
        let limits = RegisterLimits { masks, ..RegisterLimits::new(Isa::of(Gpu::Gfx1030), vgprs) };
        let f = generate(shape);
        let Some(good) = allocated(&f, limits, "the unharmed one") else { continue };
        let mut plant = |bad: &dyn Fn() -> Allocated| {
            // Tries only some, since the checker visits the whole function each time.
            nth += 1;
            if nth.is_multiple_of(11) {
                planted += 1;
                missed += u32::from(check(&f, &bad(), limits).is_ok());
            }
        };
        for (n, inst) in good.function.insts.iter().enumerate() {
            let first = inst.operands as usize;
            for at in first..first + usize::from(inst.defs + inst.uses) {
                let OperandValue::Fixed(reg) = good.function.operands[at].what else { continue };
                let undefined = good.origin[n].is_some_and(|original| {
                    let old = &f.insts[original as usize];
                    f.operands[old.operands as usize + at - first].what == OperandValue::Undef
                });
                if !undefined {
                    plant(&|| {
                        let mut bad = good.clone();
                        bad.function.operands[at].what = OperandValue::Fixed(reg.nth(1));
                        bad
                    });
                }
            }
            if good.origin[n].is_none() {
                plant(&|| without(&good, n));
                let lane = good.function.uses(inst).get(1).and_then(|one| one.as_const());
                if let (Some(Op::VReadlaneB32 | Op::VWritelaneB32), Some(lane)) = (inst.isa(), lane) {
                    plant(&|| {
                        let mut bad = good.clone();
                        bad.function.operands[first + usize::from(inst.defs) + 1] = Operand::constant(lane ^ 1);
                        bad
                    });
                }
            }
        }
    }
    assert!(planted > 100 && missed * 20 < planted, "{missed} of {planted} planted mistakes were not found");
}

/// The linker may replace a merged load with several, the first of which then must leave the table's address alone.
#[test]
fn the_checker_finds_merged_loads_that_overwrite_their_address() {
    for (count, wrong) in [(1, false), (2, true)] {
        let mut w = Writer::new();
        let table = w.push_run(Op::SMovB64, RegisterClass::Scalar, 2, &[Operand::constant(0)], Extra::None);
        let uses: Vec<Operand> = run_of(table.iter().map(|val| OperandValue::Val(*val))).collect();
        let extra = Extra::Descriptors { first: 0, count };
        let loaded = w.push_run(Op::SLoadDwordx8, RegisterClass::Scalar, 8, &uses, extra);
        let x = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[Operand::val(loaded[5])], Extra::None);
        w.store(x, x, 0);
        let f = w.done();
        let limits = RegisterLimits::new(Isa::of(Gpu::Gfx1030), 64);
        let good = allocated(&f, limits, "the unharmed one").expect("few registers");
        let scalars = |f: &MachineFunction, at: usize| match f.operands[at].what {
            OperandValue::Fixed(reg) if reg.as_vgpr().is_none() => Some(reg),
            _ => None,
        };
        let load = good.function.insts.iter().find(|inst| matches!(inst.extra, Extra::Descriptors { .. }));
        let at = load.expect("the load").operands as usize;
        let [result, table] = [at, at + 8].map(|at| scalars(&good.function, at).expect("a scalar register"));
        // The results begin where the address is: right for a single load, which has read it by then.
        let mut bad = good.clone();
        for at in at..bad.function.operands.len() {
            let nth = scalars(&bad.function, at).and_then(|reg| reg.0.checked_sub(result.0)).filter(|n| *n < 8);
            if let Some(n) = nth {
                bad.function.operands[at].what = OperandValue::Fixed(table.nth(n));
            }
        }
        assert_eq!(check(&f, &bad, limits).is_err(), wrong, "{}", bad.function);
    }
}

/// The code without one instruction.
fn without(good: &Allocated, n: usize) -> Allocated {
    let mut bad = good.clone();
    bad.function.insts.remove(n);
    bad.origin.remove(n);
    for block in &mut bad.function.blocks {
        let shift = |at: &mut u32| *at -= u32::from(*at > n as u32);
        shift(&mut block.insts.start);
        shift(&mut block.insts.end);
        shift(&mut block.tail);
    }
    bad
}

#[test]
fn the_same_input_gives_the_same_output() {
    let limits = RegisterLimits::new(Isa::of(Gpu::Gfx1030), 64);
    for shape in shapes(10, 80, 6) {
        let [a, b] = [0, 1].map(|_| allocate(&generate(shape), limits).map(|after| after.function.to_string()));
        assert_eq!(a, b);
    }
}
