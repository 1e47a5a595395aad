//! Which instructions become one, and what moves for it.

use super::*;
use crate::code::CodeBlock;
use crate::mir::Term;
use dovetail_base::target::Gpu;
use dovetail_isa::instruction::{DsFields, Fields, VectorDst};
use dovetail_isa::{Instruction, Scalar, Sgpr, Src, Vgpr};

fn paired(insts: &[Instruction]) -> Vec<String> {
    paired_for(isa(), insts)
}

fn paired_for(isa: &'static Isa, insts: &[Instruction]) -> Vec<String> {
    let items: List<Item> = insts.iter().copied().map(Item::new).collect();
    let blocks = vec![CodeBlock { items: 0..items.len(), term: Term::End }].into();
    let mut code = Code { isa, wave: WaveSize::W32, blocks, items };
    pair(&mut code);
    assert_eq!(code.blocks[0].items, 0..code.items.len());
    code.items.iter().map(|item| item.inst.text(code.isa, WaveSize::W32)).collect()
}

fn isa() -> &'static Isa {
    Isa::of(Gpu::Gfx1100)
}

fn two(op: Op, dst: u8, a: u8, b: u8) -> Instruction {
    two_for(isa(), op, dst, a, b)
}

fn two_for(isa: &'static Isa, op: Op, dst: u8, a: u8, b: u8) -> Instruction {
    Instruction::vector(isa, op, VectorDst::Vgpr(Vgpr(dst)), &[a, b].map(|v| Src::Vgpr(Vgpr(v))))
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
    assert_eq!(paired(&[two(add, 4, 0, 1), two(mul, 5, 8, 3)]), turned.map(|text| text.replace("v3, v4", "v3, v8")));
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

#[test]
fn a_second_half_waits_for_no_load_that_the_first_does_not_wait_for() {
    let load = |dst: u8, offset: u8| {
        let data = [Vgpr(0); 2];
        let fields = DsFields { dst: Vgpr(dst), addr: Vgpr(20), data, offsets: [offset, 0], gds: false };
        Instruction::new(isa(), Op::DsReadB32, Fields::Ds(fields))
    };
    let (add, mul) = (Op::VAddF32, Op::VMulF32);
    let count = |insts: &[Instruction]| paired(insts).len() - 2;
    let loads = [load(2, 0), load(3, 4)];
    assert_eq!(count(&[loads[0], loads[1], two(add, 4, 0, 1), two(mul, 5, 2, 6)]), 2);
    // The second load is there when nothing is, and the first one when the second one is.
    assert_eq!(count(&[loads[0], loads[1], two(add, 4, 3, 1), two(mul, 5, 2, 6)]), 1);
    assert_eq!(count(&[loads[0], loads[1], two(add, 4, 2, 1), two(mul, 5, 3, 6)]), 2);
}

#[test]
fn of_two_second_halves_the_one_that_has_its_operands() {
    let (first, sum) = (two(Op::VAddF32, 4, 0, 1), two(Op::VXorB32, 10, 8, 8));
    let (late, early) = (two(Op::VMulF32, 5, 10, 3), two(Op::VMulF32, 7, 2, 6));
    let made = paired(&[sum, first, late, early]);
    assert!(made[1].ends_with("v_dual_mul_f32 v7, v2, v6"), "{made:?}");
}

#[test]
fn where_the_first_half_may_not_overwrite_what_the_second_reads_another_one_is_taken() {
    let list = |isa| {
        // The sum is the second half only, and the first product overwrites one of its sources.
        let insts = [(Op::VAddNcU32, 4, 0, 1), (Op::VMulF32, 1, 2, 3), (Op::VMulF32, 5, 6, 7)];
        paired_for(isa, &insts.map(|(op, dst, a, b)| two_for(isa, op, dst, a, b)))
    };
    let either = ["v_dual_mul_f32 v1, v2, v3 :: v_dual_add_nc_u32 v4, v0, v1", "v_mul_f32_e32 v5, v6, v7"];
    assert_eq!(list(isa()), either);
    let other = ["v_dual_mul_f32 v5, v6, v7 :: v_dual_add_nc_u32 v4, v0, v1", "v_mul_f32_e32 v1, v2, v3"];
    assert_eq!(list(Isa::of(Gpu::Gfx1200)), other);
}

#[test]
fn sources_take_the_port_that_is_free() {
    let moved = |dst: u8, from: u8| {
        Instruction::vector(isa(), Op::VMovB32, VectorDst::Vgpr(Vgpr(dst)), &[Src::Vgpr(Vgpr(from))])
    };
    let sum = ["v_dual_mov_b32 v4, v0 :: v_dual_add_nc_u32 v5, 0, v8"];
    assert_eq!(paired(&[moved(4, 0), moved(5, 8)]), sum);
    let turned = ["v_dual_sub_f32 v4, v0, v2 :: v_dual_subrev_f32 v5, v1, v8"];
    assert_eq!(paired(&[two(Op::VSubF32, 4, 0, 2), two(Op::VSubF32, 5, 8, 1)]), turned);
}

#[test]
fn no_half_reads_a_literal_and_a_register() {
    let literal = Src::Literal(0x1234_5678);
    let scaled =
        |a: Src| Instruction::vector(isa(), Op::VFmaakF32, VectorDst::Vgpr(Vgpr(4)), &[a, Src::Vgpr(Vgpr(1)), literal]);
    let other = two(Op::VMulF32, 5, 2, 3);
    assert_eq!(paired(&[scaled(Src::Vgpr(Vgpr(0))), other]).len(), 1);
    assert_eq!(paired(&[scaled(Src::from(Sgpr::new(4).expect("an SGPR"))), other]).len(), 2);
}
