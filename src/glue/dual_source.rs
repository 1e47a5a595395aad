//! The two colours of a blend where neighbouring lanes swap them: the first target has those of the even pixels, the second
//! those of the odd ones, each the first colour in the even and the second in the odd lane (PAL's colour exports; Mesa,
//! `p_dual_src_export_gfx11`).

use super::piece::Recorder;
use dovetail_base::error::Result;
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::{Dpp16, Fields, Modifiers, VectorDst, VectorFields, VectorForm};
use dovetail_isa::{Instruction, Isa, Op, Scalar, Sgpr, Src, Vgpr};

/// A bit for each even lane.
const EVEN_LANES: u32 = 0x5555_5555;
/// DPP control: the lane whose number differs in the lowest bit (`row_xmask:1`).
const NEIGHBOUR: u16 = 0x161;
/// SGPRs of EXEC and of the odd lanes. Nothing is needed any more at the end of a shader.
const EXEC: u32 = 0;
const ODD: u32 = 2;

/// Swaps between neighbouring lanes with whole quads on. A pair: the two colours' values of a channel, and the registers of both
/// targets for it, which nothing else is in.
pub(super) fn swap(out: &mut Recorder, wave: WaveSize, pairs: &[([Vgpr; 2], [Vgpr; 2])]) -> Result<()> {
    let isa = out.isa;
    let wide = wave == WaveSize::W64;
    let op = |narrow, whole| if wide { whole } else { narrow };
    let (exec, odd) = (out.sgprs(EXEC, 2)?, out.sgprs(ODD, 2)?);
    let lanes = Src::Scalar(Scalar::ExecLo);
    let mut scalar = |op, dst, src: Src| out.push(Instruction::scalar(isa, op, Some(dst), &[src]));
    scalar(op(Op::SMovB32, Op::SMovB64), Scalar::Sgpr(exec), lanes);
    scalar(op(Op::SWqmB32, Op::SWqmB64), Scalar::ExecLo, lanes);
    scalar(Op::SMovB32, Scalar::VccLo, Src::Literal(EVEN_LANES));
    if wide {
        scalar(Op::SMovB32, Scalar::VccHi, Src::Literal(EVEN_LANES));
    }
    scalar(op(Op::SNotB32, Op::SNotB64), Scalar::Sgpr(odd), Src::Scalar(Scalar::VccLo));
    for ([first, second], [even, odd_pixel]) in pairs {
        out.push(chosen(out.isa, *even, [*second, *first], None));
        out.push(chosen(out.isa, *odd_pixel, [*first, *second], Some(odd)));
    }
    out.push(Instruction::scalar(isa, op(Op::SMovB32, Op::SMovB64), Some(Scalar::ExecLo), &[exec.into()]));
    Ok(())
}

/// The own second value in the lanes of a mask, VCC if none is given; the neighbour's first one in others.
fn chosen(isa: &'static Isa, dst: Vgpr, [other, own]: [Vgpr; 2], mask: Option<Sgpr>) -> Instruction {
    let dpp = Dpp16 { ctrl: NEIGHBOUR, fi: false, bound_ctrl: false, bank_mask: 0xf, row_mask: 0xf };
    let (mask, form) = match mask {
        None => (Scalar::VccLo, VectorForm::Dpp16(dpp)),
        Some(mask) => (Scalar::Sgpr(mask), VectorForm::LongDpp16(dpp)),
    };
    let srcs = [Some(other.into()), Some(own.into()), Some(Src::Scalar(mask))];
    let fields = VectorFields { dst: Some(VectorDst::Vgpr(dst)), mask: None, srcs, mods: Modifiers::default(), form };
    Instruction::new(isa, Op::VCndmaskB32, Fields::Vector(fields))
}

#[cfg(test)]
mod tests {
    use crate::tests::instructions_of;
    use crate::{ColorExportKey, ColorValue, GlueKey, PieceKey, emit};
    use dovetail_abi::exports::ExportFormat;
    use dovetail_base::target::{Gpu, WaveSize};
    use dovetail_isa::Isa;
    use dovetail_metadata::interface::{ComponentType, ResultSource};

    fn color(target: u8, first: u32) -> ColorValue {
        let values = [0, 1].map(|n| Some(ResultSource::Vgpr(first + n)));
        let ty = ComponentType::F32;
        ColorValue { target, format: ExportFormat::Gr32, ty, values: [values[0], values[1], None, None] }
    }

    #[test]
    fn lanes_swap_with_whole_quads_on() {
        let target = Gpu::Gfx1100;
        let listing = |wave| {
            let colors = vec![color(0, 0), color(1, 4)];
            let key = ColorExportKey { colors, swap: Some(wave), ..ColorExportKey::default() };
            let piece = emit(&GlueKey { target, piece: PieceKey::ColorExport(key) }).expect("an epilog");
            let isa = Isa::of(target);
            instructions_of(isa, &piece.code).iter().map(|inst| inst.text(isa, wave)).collect::<Vec<_>>()
        };
        assert_eq!(
            listing(WaveSize::W32),
            [
                "s_mov_b32 s0, exec_lo",
                "s_wqm_b32 exec_lo, exec_lo",
                "s_mov_b32 vcc_lo, 0x55555555",
                "s_not_b32 s2, vcc_lo",
                "v_cndmask_b32_dpp v2, v4, v0, vcc_lo row_xmask:1 row_mask:0xf bank_mask:0xf",
                "v_cndmask_b32_e64_dpp v3, v0, v4, s2 row_xmask:1 row_mask:0xf bank_mask:0xf",
                "v_cndmask_b32_dpp v6, v5, v1, vcc_lo row_xmask:1 row_mask:0xf bank_mask:0xf",
                "v_cndmask_b32_e64_dpp v7, v1, v5, s2 row_xmask:1 row_mask:0xf bank_mask:0xf",
                "s_mov_b32 exec_lo, s0",
                "exp dual_src_blend0 v2, v6, off, off",
                "exp dual_src_blend1 v3, v7, off, off done",
                "s_endpgm",
            ]
        );
        let large = listing(WaveSize::W64);
        assert_eq!(large.len(), 13);
        assert!(large[4].starts_with("s_not_b64 s[2:3], vcc") && large[9] == "s_mov_b64 exec, s[0:1]", "{large:?}");
    }
}
