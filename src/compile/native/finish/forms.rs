//! Shorter forms of instructions, which depend on the registers.
//!
//! The requirements of a form can be checked only after allocation: `v_fmac` adds to its own result; the second source
//! of a short form must be a vector register.

use crate::mir::sources::mirrored;
use dovetail_isa::instruction::{Fields, Modifiers, VectorDst, VectorFields, VectorForm};
use dovetail_isa::{Instruction, Isa, Op, Src};

/// The same instruction in a shorter form.
pub(super) fn shorter(isa: &'static Isa, inst: &Instruction) -> Option<Instruction> {
    let Fields::Vector(f) = &inst.fields else { return None };
    if f.form != VectorForm::Long || f.mods != Modifiers::default() {
        return None;
    }
    let made = match inst.entry.op {
        Op::VFmaF32 => fused(isa, f)?,
        op => {
            let [Some(a), Some(b), None] = f.srcs else { return None };
            Instruction::vector(isa, mirrored(op)?, f.dst, &[b, a])
        }
    };
    let Fields::Vector(new) = &made.fields else { return None };
    (new.form == VectorForm::Short && made.dwords() < inst.dwords()).then_some(made)
}

/// `v_fmac`, `v_fmaak`, `v_fmamk`.
fn fused(isa: &'static Isa, f: &VectorFields) -> Option<Instruction> {
    let [Some(a), Some(b), Some(c)] = f.srcs else { return None };
    let Some(VectorDst::Vgpr(dst)) = f.dst else { return None };
    let is_vector = |src: Src| matches!(src, Src::Vgpr(_));
    let is_literal = |src: Src| matches!(src, Src::Literal(_));
    // The sources of a product may be swapped.
    let (first, second) = if is_vector(b) { (a, b) } else { (b, a) };
    let make = |op: Op, srcs: &[Src]| Some(Instruction::vector(isa, op, VectorDst::Vgpr(dst), srcs));
    if c == Src::Vgpr(dst) && is_vector(second) {
        return make(Op::VFmacF32, &[first, second]);
    }
    if is_literal(c) && is_vector(second) && !is_literal(first) {
        return make(Op::VFmaakF32, &[first, second, c]);
    }
    if is_vector(c) && is_literal(first) != is_literal(second) {
        let (literal, other) = if is_literal(first) { (first, second) } else { (second, first) };
        return make(Op::VFmamkF32, &[other, literal, c]);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::target::Gpu;
    use dovetail_base::target::WaveSize;
    use dovetail_isa::{Sgpr, Vgpr};

    fn text(op: Op, dst: u8, srcs: &[Src]) -> Option<String> {
        let inst = Instruction::vector(Isa::of(Gpu::Gfx1030), op, VectorDst::Vgpr(Vgpr(dst)), srcs);
        Some(shorter(Isa::of(Gpu::Gfx1030), &inst)?.text(Isa::of(Gpu::Gfx1030), WaveSize::W32))
    }

    #[test]
    fn products_and_sums_take_the_form_that_their_registers_allow() {
        let [v0, v1, v2] = [0, 1, 2].map(|n| Src::Vgpr(Vgpr(n)));
        let s0 = Src::from(Sgpr::new(0).expect("an SGPR"));
        let k = Src::Literal(0x4048_f5c3);
        let made = |dst, srcs: &[Src]| text(Op::VFmaF32, dst, srcs);
        assert_eq!(made(2, &[v0, s0, v2]).as_deref(), Some("v_fmac_f32_e32 v2, s0, v0"));
        assert_eq!(made(3, &[v0, v1, k]).as_deref(), Some("v_fmaak_f32 v3, v0, v1, 0x4048f5c3"));
        assert_eq!(made(3, &[v0, k, v2]).as_deref(), Some("v_fmamk_f32 v3, v0, 0x4048f5c3, v2"));
        assert_eq!(made(3, &[v0, v1, v2]), None);
        assert_eq!(made(2, &[s0, s0, v2]), None);
    }

    #[test]
    fn sources_change_places_where_that_is_shorter() {
        let v0 = Src::Vgpr(Vgpr(0));
        let s0 = Src::from(Sgpr::new(0).expect("an SGPR"));
        assert_eq!(text(Op::VSubF32, 1, &[v0, s0]).as_deref(), Some("v_subrev_f32_e32 v1, s0, v0"));
        assert_eq!(text(Op::VSubF32, 1, &[s0, s0]), None);
    }
}
