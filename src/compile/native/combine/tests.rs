//! What becomes of a few instructions, and what must not.

use super::*;
use crate::compile::native::dead;
use crate::compile::native::mir::{Class, Val, runs};
use crate::compile::native::tests::writer::Writer;
use crate::isa::instruction::Cache;

const NEGATIVE: u32 = 0x8000_0000;

fn val(val: Val) -> Operand {
    Operand::val(val)
}

fn bits(bits: u32) -> Operand {
    Operand::constant(bits)
}

/// A vector value that nothing is known of.
fn unknown(w: &mut Writer) -> Val {
    let address = w.push(Op::VMovB32, Some(Class::Vector), &[bits(0)], Extra::None);
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
    let text = |inst: &Inst| {
        let mods = if let Extra::Vector(mods) = inst.extra {
            format!(" {} {} {}", mods.neg, mods.abs, mods.clamp)
        } else {
            String::new()
        };
        format!("{}{mods}", inst.isa().map_or("pseudo", |op| op.entry(f.gfx).mnemonic))
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
    // Two literals fit no instruction, and what is used twice has to be made.
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
    // In this order what is no number becomes 1.
    assert_eq!(of(one, zero), ["v_mul_f32", "v_min_f32", "v_max_f32"]);
}

#[test]
fn fields_of_bits_are_read_in_place() {
    let of = |shift: u32, mask: u32, last: Op| {
        combined(move |w, x| {
            let first = w.v(Op::VLshrrevB32, bits(shift), val(x));
            let field = w.v(Op::VAndB32, bits(mask), val(first));
            w.push(last, Some(Class::Vector), &[val(field)], Extra::None)
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
    let base: Vec<Val> = (0..3).map(|n| w.push(Op::SMovB32, Some(Class::Scalar), &[bits(n)], Extra::None)).collect();
    let mut load = |low: Val, offset: i32| {
        let pair = [Operand { run: 2, ..val(low) }, Operand { run: 0, ..val(base[2]) }];
        let extra = Extra::Smem { offset, cache: Cache::default() };
        w.push(Op::SLoadDword, Some(Class::Scalar), &pair, extra)
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
