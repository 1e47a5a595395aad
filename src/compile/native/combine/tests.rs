//! Combinations of a few instructions, and combinations that must not happen.

use super::loads::REACH;
use super::*;
use crate::dead;
use crate::mir::{LinkedDescriptor, PhysReg, RegisterClass, Val, runs};
use crate::tests::writer::Writer;
use dovetail_ir::SymbolId;
use dovetail_isa::instruction::{CachePolicy, Dpp16};
use dovetail_reloc::symbol::PartLetter;

const NEGATIVE: u32 = 0x8000_0000;

fn val(val: Val) -> Operand {
    Operand::val(val)
}

fn bits(bits: u32) -> Operand {
    Operand::constant(bits)
}

/// A vector value about which nothing is known.
fn unknown(w: &mut Writer) -> Val {
    let address = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[bits(0)], Extra::None);
    w.load(address, 0)
}

/// The instructions between the first two and the store of the result, combined.
fn combined(write: impl FnOnce(&mut Writer, Val) -> Val) -> Vec<String> {
    let mut w = Writer::new();
    let x = unknown(&mut w);
    let result = write(&mut w, x);
    w.store(x, result, 0);
    let mut f = w.done();
    run(&mut f);
    dead::run(&mut f);
    let insts = &f.insts[2..f.insts.len() - 1];
    let text = |inst: &MachineInst| {
        let mods = if let Extra::Vector(mods) = inst.extra {
            format!(" {} {} {}", mods.neg, mods.abs, mods.clamp)
        } else {
            String::new()
        };
        format!("{}{mods}", inst.isa().map_or("pseudo", |op| f.isa.row(op).mnemonic))
    };
    insts.iter().map(text).collect()
}

#[test]
fn sums_and_logic_of_three_are_one_instruction() {
    let of = |inner: Op, outer: Op| {
        combined(move |w, x| {
            let first = w.v(inner, bits(3), val(x));
            w.v(outer, val(x), val(first))
        })
    };
    assert_eq!(of(Op::VAddNcU32, Op::VAddNcU32), ["v_add3_u32"]);
    assert_eq!(of(Op::VLshlrevB32, Op::VAddNcU32), ["v_lshl_add_u32"]);
    assert_eq!(of(Op::VXorB32, Op::VAddNcU32), ["v_xad_u32"]);
    assert_eq!(of(Op::VAndB32, Op::VOrB32), ["v_and_or_b32"]);
    assert_eq!(of(Op::VAndB32, Op::VAddNcU32), ["v_and_b32", "v_add_nc_u32"]);
    // No instruction takes two literals, and a value used twice must be computed.
    let literals = combined(|w, x| {
        let first = w.v(Op::VAddNcU32, bits(1000), val(x));
        w.v(Op::VAddNcU32, bits(2000), val(first))
    });
    assert_eq!(literals, ["v_add_nc_u32", "v_add_nc_u32"]);
    let twice = combined(|w, x| {
        let first = w.v(Op::VAddNcU32, bits(3), val(x));
        let sum = w.v(Op::VAddNcU32, val(x), val(first));
        w.v(Op::VMulLoU32, val(sum), val(first))
    });
    assert_eq!(twice, ["v_add_nc_u32", "v_add_nc_u32", "v_mul_lo_u32"]);
}

#[test]
fn signs_are_modifiers_and_ranges_are_clamped() {
    let of = |inner: Op, constant: u32| {
        combined(move |w, x| {
            let first = w.v(inner, bits(constant), val(x));
            w.v(Op::VMulF32, val(x), val(first))
        })
    };
    assert_eq!(of(Op::VXorB32, NEGATIVE), ["v_mul_f32 2 0 false"]);
    assert_eq!(of(Op::VAndB32, NEGATIVE - 1), ["v_mul_f32 0 2 false"]);
    assert_eq!(of(Op::VAndB32, NEGATIVE), ["v_and_b32", "v_mul_f32"]);
    let of = |first: (Op, u32), second: (Op, u32)| {
        combined(move |w, x| {
            let product = w.v(Op::VMulF32, val(x), val(x));
            let one = w.v(first.0, bits(first.1), val(product));
            w.v(second.0, bits(second.1), val(one))
        })
    };
    let (zero, one) = ((Op::VMaxF32, 0), (Op::VMinF32, 0x3f80_0000));
    assert_eq!(of(zero, one), ["v_mul_f32 0 0 true"]);
    // In this order NaN becomes 1.
    assert_eq!(of(one, zero), ["v_mul_f32", "v_min_f32", "v_max_f32"]);
}

#[test]
fn fields_of_bits_are_read_in_place() {
    let of = |shift: u32, mask: u32, last: Op| {
        combined(move |w, x| {
            let first = w.v(Op::VLshrrevB32, bits(shift), val(x));
            let field = w.v(Op::VAndB32, bits(mask), val(first));
            w.push(last, Some(RegisterClass::Vector), &[val(field)], Extra::None)
        })
    };
    assert_eq!(of(5, 0x3f, Op::VNotB32), ["v_bfe_u32", "v_not_b32"]);
    assert_eq!(of(5, 0x3e, Op::VNotB32), ["v_lshrrev_b32", "v_and_b32", "v_not_b32"]);
    assert_eq!(of(16, 0xff, Op::VCvtF32U32), ["v_cvt_f32_ubyte2"]);
    assert_eq!(of(24, 0xff, Op::VNotB32), ["v_lshrrev_b32", "v_not_b32"]);
    assert_eq!(of(28, 0xff, Op::VNotB32), ["v_lshrrev_b32", "v_not_b32"]);
}

#[test]
fn neighbouring_scalar_loads_are_one_and_shared_halves_of_addresses_are_copied_once() {
    let mut w = Writer::new();
    let base: Vec<Val> =
        (0..3).map(|n| w.push(Op::SMovB32, Some(RegisterClass::Scalar), &[bits(n)], Extra::None)).collect();
    let mut load = |low: Val, offset: i32| {
        let pair = [Operand { run: 2, ..val(low) }, Operand { run: 0, ..val(base[2]) }];
        let extra = Extra::Smem { offset, cache: CachePolicy::default() };
        w.push(Op::SLoadDword, Some(RegisterClass::Scalar), &pair, extra)
    };
    let mut loaded: Vec<Val> = [8, 0, 4, 32, 12, 36].map(|offset| load(base[0], offset)).to_vec();
    loaded.extend([0, 64].map(|offset| load(base[1], offset)));
    let x = unknown(&mut w);
    for loaded in loaded {
        let sum = w.v(Op::VAddNcU32, val(loaded), val(x));
        w.store(x, sum, 0);
    }
    let mut f = w.done();
    run(&mut f);
    let loads = f.insts.iter().filter(|inst| matches!(inst.extra, Extra::Smem { .. }));
    let made: Vec<(usize, usize)> = loads.map(|inst| (f.defs(inst).len(), runs(f.uses(inst)).count())).collect();
    assert_eq!(made, [(4, 1), (2, 1), (1, 1), (1, 1)]);
    assert_eq!(f.insts.iter().filter(|inst| inst.isa() == Some(Op::SMovB32)).count(), 3 + 1);
}

#[test]
fn halves_are_converted_by_the_operation_that_takes_or_makes_them() {
    let cvt = |w: &mut Writer, op: Op, x: Val| w.push(op, Some(RegisterClass::Vector), &[val(x)], Extra::None);
    let of = |op: Op| {
        combined(move |w, x| {
            let float = cvt(w, Op::VCvtF32F16, x);
            w.v(op, val(float), val(x))
        })
    };
    // Adding -0 keeps the sign of a zero product.
    assert_eq!(of(Op::VMulF32), ["v_fma_mix_f32 4 0 false"]);
    assert_eq!(of(Op::VAddF32), ["v_fma_mix_f32 0 0 false"]);
    assert_eq!(of(Op::VSubF32), ["v_fma_mix_f32 4 0 false"]);
    assert_eq!(of(Op::VSubrevF32), ["v_fma_mix_f32 4 0 false"]);
    assert_eq!(of(Op::VMaxF32), ["v_cvt_f32_f16", "v_max_f32"]);
    let narrowed = combined(|w, x| {
        let product = w.v(Op::VMulF32, val(x), val(x));
        cvt(w, Op::VCvtF16F32, product)
    });
    assert_eq!(narrowed, ["v_fma_mixlo_f16 4 0 false"]);
    let twice = combined(|w, x| {
        let float = cvt(w, Op::VCvtF32F16, x);
        w.v(Op::VMulF32, val(float), val(float))
    });
    assert_eq!(twice, ["v_fma_mix_f32 4 0 false"]);
    // A use that needs the conversion keeps it for all.
    let kept = combined(|w, x| {
        let float = cvt(w, Op::VCvtF32F16, x);
        let product = w.v(Op::VMulF32, val(float), val(x));
        w.v(Op::VMaxF32, val(product), val(float))
    });
    assert_eq!(kept, ["v_cvt_f32_f16", "v_mul_f32", "v_max_f32"]);
}

#[test]
fn dwords_of_workgroup_memory_are_accessed_in_pairs() {
    let extra = |offset: u16| Extra::Ds { offsets: offset.to_le_bytes() };
    let load =
        |w: &mut Writer, x: Val, at: u16| w.push(Op::DsReadB32, Some(RegisterClass::Vector), &[val(x)], extra(at));
    let two = |first: u16, second: u16, between: Option<Op>| {
        combined(move |w, x| {
            let a = load(w, x, first);
            if let Some(op) = between {
                w.push(op, None, &[val(x), val(x)], extra(0));
            }
            let b = load(w, x, second);
            w.v(Op::VMulLoU32, val(a), val(b))
        })
    };
    assert_eq!(two(4, 1020, None), ["ds_read2_b32", "v_mul_lo_u32"]);
    assert_eq!(two(256, 0x4000, None), ["ds_read2st64_b32", "v_mul_lo_u32"]);
    assert_eq!(two(4, 1024, None), ["ds_read_b32", "ds_read_b32", "v_mul_lo_u32"]);
    assert_eq!(two(2, 4, None), ["ds_read_b32", "ds_read_b32", "v_mul_lo_u32"]);
    assert_eq!(two(4, 8, Some(Op::DsWriteB8)), ["ds_read_b32", "ds_write_b8", "ds_read_b32", "v_mul_lo_u32"]);
    let stored = |between: bool| {
        combined(move |w, x| {
            let address = w.v(Op::VMulLoU32, val(x), val(x));
            w.push(Op::DsWriteB32, None, &[val(address), val(x)], extra(4));
            let read = if between { load(w, x, 8) } else { x };
            w.push(Op::DsWriteB32, None, &[val(address), val(x)], extra(12));
            w.v(Op::VMulLoU32, val(read), val(x))
        })
    };
    assert_eq!(stored(false), ["v_mul_lo_u32", "ds_write2_b32", "v_mul_lo_u32"]);
    let kept = ["v_mul_lo_u32", "ds_write_b32", "ds_read_b32", "ds_write_b32", "v_mul_lo_u32"];
    assert_eq!(stored(true), kept);
}

#[test]
fn a_constant_is_moved_to_a_vector_register_once() {
    let moved = |n: u32, set_lanes: bool| {
        combined(move |w, x| {
            let a = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[bits(7)], Extra::None);
            if set_lanes {
                let operands = w.0.operands.len() as u32;
                w.0.operands.extend([Operand::one(OperandValue::Fixed(PhysReg::EXEC)), bits(1)]);
                let op = Opcode::Isa(Op::SMovB32);
                w.0.insts.push(MachineInst { op, operands, defs: 1, uses: 1, tied: false, extra: Extra::None });
            }
            let b = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[bits(n)], Extra::None);
            let sum = w.v(Op::VMulLoU32, val(a), val(x));
            w.v(Op::VMulLoU32, val(sum), val(b))
        })
    };
    assert_eq!(moved(7, false), ["v_mov_b32", "v_mul_lo_u32", "v_mul_lo_u32"]);
    assert_eq!(moved(8, false), ["v_mov_b32", "v_mov_b32", "v_mul_lo_u32", "v_mul_lo_u32"]);
    // Other lanes do not have it.
    assert_eq!(moved(7, true), ["v_mov_b32", "s_mov_b32", "v_mov_b32", "v_mul_lo_u32", "v_mul_lo_u32"]);
}

#[test]
fn what_comes_from_another_lane_is_taken_by_the_operation() {
    let of = |bound_ctrl: bool, row_mask: u8, op: Op, first: bool| {
        combined(move |w, x| {
            let dpp = Dpp16 { ctrl: 0x161, fi: false, bound_ctrl, bank_mask: 0xf, row_mask };
            let moved = w.push(Op::VMovB32, Some(RegisterClass::Vector), &[val(x)], Extra::Dpp(dpp));
            if first { w.v(op, val(moved), val(x)) } else { w.v(op, val(x), val(moved)) }
        })
    };
    assert_eq!(of(true, 0xf, Op::VAddF32, true), ["v_add_f32"]);
    assert_eq!(of(true, 0xf, Op::VSubF32, true), ["v_sub_f32"]);
    assert_eq!(of(true, 0xf, Op::VSubF32, false), ["v_subrev_f32"]);
    assert_eq!(of(true, 0xf, Op::VMulLoU32, true), ["v_mov_b32", "v_mul_lo_u32"]);
    // Lanes that the move does not write keep their old values.
    assert_eq!(of(false, 0xf, Op::VAddF32, true), ["v_mov_b32", "v_add_f32"]);
    assert_eq!(of(true, 0xa, Op::VAddF32, true), ["v_mov_b32", "v_add_f32"]);
}

#[test]
fn descriptors_that_follow_each_other_are_loaded_at_once_and_reads_give_what_is_used() {
    let mut w = Writer::new();
    let base: Vec<Val> =
        (0..2).map(|n| w.push(Op::SMovB32, Some(RegisterClass::Scalar), &[bits(n)], Extra::None)).collect();
    let x = unknown(&mut w);
    let descriptor = |w: &mut Writer, op: Op, count: u8, offset: i32| {
        let pair = [Operand { run: 2, ..val(base[0]) }, Operand { run: 0, ..val(base[1]) }];
        w.push_run(op, RegisterClass::Scalar, count, &pair, Extra::Smem { offset, cache: CachePolicy::default() })
    };
    let buffer = descriptor(&mut w, Op::SLoadDwordx4, 4, 0x30);
    let image = descriptor(&mut w, Op::SLoadDwordx8, 8, 0x10);
    let other = descriptor(&mut w, Op::SLoadDwordx4, 4, 0);
    let far = descriptor(&mut w, Op::SLoadDwordx4, 4, 0x80);
    for (n, buffer) in [buffer, other, far].into_iter().enumerate() {
        let mut uses = vec![val(x)];
        uses.extend((0..4).map(|k| Operand { run: if k == 0 { 4 } else { 0 }, ..val(buffer[k]) }));
        uses.push(bits(0));
        let extra = Extra::Buffer { offset: 0, idxen: false, offen: true, format: None, cache: CachePolicy::default() };
        let loaded = w.push_run(Op::BufferLoadDwordx4, RegisterClass::Vector, 4, &uses, extra);
        w.store(x, loaded[n], 0);
    }
    let mut uses = vec![val(x)];
    uses.extend((0..8).map(|k| Operand { run: if k == 0 { 8 } else { 0 }, ..val(image[k]) }));
    let extra = Extra::Image {
        dim: 0,
        dmask: 0b1011,
        unorm: true,
        tfe: false,
        d16: false,
        nsa: false,
        cache: CachePolicy::default(),
    };
    let texel = w.push_run(Op::ImageLoad, RegisterClass::Vector, 3, &uses, extra);
    w.store(x, texel[0], 0);
    w.store(x, texel[2], 0);
    let mut f = w.done();
    run(&mut f);
    let made = |op: Op| f.insts.iter().filter(|inst| inst.isa() == Some(op)).count();
    assert_eq!([Op::SLoadDwordx16, Op::SLoadDwordx8, Op::SLoadDwordx4].map(made), [1, 0, 1]);
    assert_eq!([Op::BufferLoadDword, Op::BufferLoadDwordx2, Op::BufferLoadDwordx3].map(made), [1, 1, 1]);
    let image = f.insts.iter().find(|inst| inst.isa() == Some(Op::ImageLoad)).expect("the read");
    assert!(matches!(image.extra, Extra::Image { dmask: 0b1001, .. }) && image.defs == 2, "{:?}", image.extra);
}

#[test]
fn a_comparison_whose_result_is_still_there_is_not_made_again() {
    let mut w = Writer::new();
    let s: Vec<Val> =
        (0..2).map(|n| w.push(Op::SMovB32, Some(RegisterClass::Scalar), &[bits(n)], Extra::None)).collect();
    let x = unknown(&mut w);
    let select = |w: &mut Writer| {
        w.push(Op::SCmpLgU32, None, &[val(s[0]), bits(7)], Extra::None);
        let selected = w.push(Op::SCselectB32, Some(RegisterClass::Scalar), &[val(s[1]), bits(3)], Extra::None);
        let sum = w.v(Op::VAddNcU32, val(selected), val(x));
        w.store(x, sum, 0);
    };
    select(&mut w);
    select(&mut w);
    // This sum writes SCC.
    let sum = w.push(Op::SAddU32, Some(RegisterClass::Scalar), &[val(s[0]), val(s[1])], Extra::None);
    let product = w.v(Op::VMulLoU32, val(sum), val(x));
    w.store(x, product, 0);
    select(&mut w);
    let mut f = w.done();
    run(&mut f);
    assert_eq!(f.insts.iter().filter(|inst| inst.isa() == Some(Op::SCmpLgU32)).count(), 2);
}

/// A load of a descriptor whose place the linker decides, as a value whose dwords are stored.
fn linked(w: &mut Writer, x: Val, tables: &[[Val; 2]], dwords: u8, order: (u32, u32, PartLetter)) {
    let first = w.0.descriptors.len() as u32;
    let in_root = (tables.len() > 1).then_some(SymbolId(1));
    w.0.descriptors.push(LinkedDescriptor { order, offset: SymbolId(0), in_root, dwords });
    let pair = |pair: &[Val; 2]| [Operand { run: 2, ..val(pair[0]) }, Operand { run: 0, ..val(pair[1]) }];
    let uses: Vec<Operand> = tables.iter().flat_map(pair).collect();
    let op = if dwords == 4 { Op::SLoadDwordx4 } else { Op::SLoadDwordx8 };
    for loaded in w.push_run(op, RegisterClass::Scalar, dwords, &uses, Extra::Descriptors { first, count: 1 }) {
        let sum = w.v(Op::VAddNcU32, val(loaded), val(x));
        w.store(x, sum, 0);
    }
}

#[test]
fn descriptors_that_layouts_place_side_by_side_are_loaded_together_and_the_root_table_has_moves_of_its_own() {
    use PartLetter::{Buffer, Image, Sampler};
    let mut w = Writer::new();
    let base: Vec<Val> =
        (0..3).map(|n| w.push(Op::SMovB32, Some(RegisterClass::Scalar), &[bits(n)], Extra::None)).collect();
    let x = unknown(&mut w);
    let (own, root) = ([base[0], base[2]], [base[1], base[2]]);
    linked(&mut w, x, &[own], 4, (0, 1, Sampler));
    linked(&mut w, x, &[own, root], 4, (0, 0, Buffer));
    linked(&mut w, x, &[own], 8, (0, 1, Image));
    linked(&mut w, x, &[own], 8, (0, 4, Image));
    let mut f = w.done();
    run(&mut f);
    let loads: Vec<_> = f.insts.iter().filter(|inst| matches!(inst.extra, Extra::Descriptors { .. })).collect();
    let made: Vec<(usize, usize)> = loads.iter().map(|inst| (f.defs(inst).len(), runs(f.uses(inst)).count())).collect();
    assert_eq!(made, [(16, 2), (8, 1)]);
    let Extra::Descriptors { first, count: 3 } = loads[0].extra else { panic!("{:?}", loads[0].extra) };
    let order: Vec<_> = f.descriptors[first as usize..][..3].iter().map(|one| (one.order.1, one.order.2)).collect();
    assert_eq!(order, [(0, Buffer), (1, Image), (1, Sampler)]);
    assert_eq!(f.insts.iter().filter(|inst| inst.extra == Extra::ForRootBuffers).count(), 2);
}

#[test]
fn descriptors_of_two_tables_are_loaded_apart() {
    let loads_of = |second: usize, roots: [Option<usize>; 2], between: u32| {
        let mut w = Writer::new();
        let base: Vec<Val> =
            (0..4).map(|n| w.push(Op::SMovB32, Some(RegisterClass::Scalar), &[bits(n)], Extra::None)).collect();
        let x = unknown(&mut w);
        let tables = |table: usize, root: Option<usize>| -> Vec<[Val; 2]> {
            [Some(table), root].into_iter().flatten().map(|low| [base[low], base[3]]).collect()
        };
        linked(&mut w, x, &tables(0, roots[0]), 4, (0, 0, PartLetter::Buffer));
        for _ in 0..between {
            let sum = w.v(Op::VAddNcU32, val(x), val(x));
            w.store(x, sum, 0);
        }
        linked(&mut w, x, &tables(second, roots[1]), 4, (0, 1, PartLetter::Buffer));
        let mut f = w.done();
        run(&mut f);
        f.insts.iter().filter(|inst| matches!(inst.extra, Extra::Descriptors { .. })).count()
    };
    assert_eq!(loads_of(0, [None, None], 0), 1);
    assert_eq!(loads_of(0, [None, Some(2)], 0), 1);
    assert_eq!(loads_of(0, [Some(2), Some(2)], 0), 1);
    assert_eq!(loads_of(1, [None, None], 0), 2, "two tables");
    assert_eq!(loads_of(0, [Some(1), Some(2)], 0), 2, "two root tables");
    assert_eq!(loads_of(0, [None, None], REACH), 2, "registers would be occupied for long");
}
