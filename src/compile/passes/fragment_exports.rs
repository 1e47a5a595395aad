//! Exports colours and depth of a fragment shader with known attachments: the epilog's work, by the same plan.
//!
//! | format | a component becomes |
//! |---|---|
//! | 32 bits | unchanged, widened |
//! | f16 | rounded towards zero; f16 values are unchanged |
//! | normalised | packed by the hardware's conversion |
//! | 16-bit integers | clamped to their range |
//!
//! Depth is exported first; the last export has `done` set. A missing half of a packed pair is exported as 0.

use super::outputs::{BySlot, Outputs, stored};
use dovetail_abi::exports::{ColorExport, ColorExportPlan, Packing};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::Gpu;
use dovetail_ir::{AluOp, AmdOp, Bits, Builder, ExportTarget, NumericKind, Op, OutputSlot, Shader, Type, Value};
use dovetail_metadata::interface::{ColorOutput, FragmentInterface};
use dovetail_state::ColorState;

/// Component number of alpha.
const ALPHA: u8 = 3;

/// One export: target, enabled channels, whether its values are pairs of 16 bits, and the values.
struct Export {
    target: ExportTarget,
    enable: u8,
    compressed: bool,
    values: [Value; 4],
}

/// Exports all outputs at every return of the shader.
pub(super) fn run(
    shader: &mut Shader,
    interface: &mut FragmentInterface,
    outputs: &Outputs,
    gfx: Gpu,
    state: &ColorState,
) -> Result<()> {
    let plan = ColorExportPlan::new(gfx, interface, state).at(|| "known colour state")?;
    for (block, stores) in outputs.ends.iter() {
        let mut b = Builder::new(shader, *block);
        let mut end = End { b: &mut b, stores, exports: Vec::new() };
        if plan.mrtz {
            end.depth(outputs);
        }
        for export in &plan.colors {
            let color = interface.colors.get(export.output);
            end.color(export, color.ok_or_else(|| Error::bug("a plan for another shader"))?)?;
        }
        if plan.dummy {
            let zero = end.b.c32(0);
            end.exports.push(Export { target: ExportTarget::Mrt(0), enable: 1, compressed: false, values: [zero; 4] });
        }
        let last = end.exports.len().wrapping_sub(1);
        for (n, e) in end.exports.into_iter().enumerate() {
            let (target, enable, compressed) = (e.target, e.enable, e.compressed);
            let op = Op::Target(AmdOp::Export { target, enable, compressed, done: n == last, valid_mask: true });
            b.effect(op, &e.values);
        }
    }
    interface.exported = Some(plan.formats);
    if let Some(info) = &mut shader.lower {
        info.color_export = !plan.colors.is_empty() || plan.dummy;
        info.depth_export = plan.mrtz;
    }
    Ok(())
}

struct End<'a, 'b> {
    b: &'a mut Builder<'b>,
    stores: &'a BySlot<Value>,
    exports: Vec<Export>,
}

impl End<'_, '_> {
    fn depth(&mut self, outputs: &Outputs) {
        let undef = self.b.undef(Type::B32);
        let mut values = [undef; 4];
        let mut enable = 0;
        let slots = [OutputSlot::FragDepth, OutputSlot::FragStencilRef, OutputSlot::SampleMask];
        for (n, (slot, value)) in slots.into_iter().zip(&mut values).enumerate() {
            if outputs.has(slot) {
                *value = stored(self.b, self.stores, slot, Type::B32);
                enable |= 1 << n;
            }
        }
        self.exports.push(Export { target: ExportTarget::MrtZ, enable, compressed: false, values });
    }

    fn color(&mut self, export: &ColorExport, color: &ColorOutput) -> Result<()> {
        let packing = export.format.packing(color.ty);
        let mut sent = [None; 4];
        for (value, component) in sent.iter_mut().zip(export.format.components()) {
            if export.alpha_is_one && component == Some(ALPHA) {
                let bits = if packing == Packing::Halves { Bits::B16 } else { Bits::B32 };
                *value = Some(self.b.fconst(Type::scalar(bits), 1.0));
                continue;
            }
            let Some(component) = component.filter(|c| color.channels >> c & 1 == 1) else { continue };
            let slot = OutputSlot::Location { location: color.location, component, index: color.index };
            let bits = Bits::from_count(u32::from(color.ty.bits)).ok_or_else(|| Error::bug("a colour of no width"))?;
            let v = stored(self.b, self.stores, slot, Type::scalar(bits));
            *value = Some(if packing == Packing::Halves { v } else { self.widen(v, color) });
        }
        let undef = self.b.undef(Type::B32);
        let mut values = [undef; 4];
        let mut enable = 0;
        let compressed = packing != Packing::Wide;
        if compressed {
            for (n, pair) in sent.chunks_exact(2).enumerate() {
                if let &[low, high] = pair
                    && let Some(any) = low.or(high)
                {
                    let zero = Type::scalar(self.b.ty(any).bits());
                    let [low, high] = [low, high].map(|v| v.unwrap_or_else(|| self.b.iconst(zero, 0)));
                    values[n] = self.pack(packing, low, high);
                    enable |= 3 << (2 * n);
                }
            }
        } else {
            for (n, v) in sent.into_iter().enumerate() {
                if let Some(v) = v {
                    values[n] = v;
                    enable |= 1 << n;
                }
            }
        }
        self.exports.push(Export { target: ExportTarget::Mrt(export.target), enable, compressed, values });
        Ok(())
    }

    /// Widens 8 and 16 bits to 32 bits.
    fn widen(&mut self, v: Value, color: &ColorOutput) -> Value {
        let op = match color.ty.kind {
            NumericKind::Float => AluOp::FConv,
            NumericKind::Sint => AluOp::SExt,
            NumericKind::Uint => AluOp::ZExt,
        };
        self.b.convert(op, v, Type::B32)
    }

    /// Packs two channels into one register.
    fn pack(&mut self, packing: Packing, low: Value, high: Value) -> Value {
        match packing {
            Packing::Unorm16 => self.b.alu(AluOp::PackNorm16, &[low, high]),
            Packing::Snorm16 => self.b.alu(AluOp::PackSnorm16, &[low, high]),
            Packing::Uint16 | Packing::Sint16 => {
                let halves = [low, high].map(|v| {
                    let clamped = if packing == Packing::Uint16 {
                        let most = self.b.c32(u32::from(u16::MAX));
                        self.b.alu(AluOp::UMin, &[v, most])
                    } else {
                        let (least, most) = (self.b.c32(i16::MIN as i32 as u32), self.b.c32(i16::MAX as u32));
                        let v = self.b.alu(AluOp::SMax, &[v, least]);
                        self.b.alu(AluOp::SMin, &[v, most])
                    };
                    self.b.convert(AluOp::Trunc, clamped, Type::B16)
                });
                self.join(halves)
            }
            Packing::RoundedHalves => self.b.alu(AluOp::PackHalfRtz, &[low, high]),
            Packing::Halves | Packing::Wide => self.join([low, high]),
        }
    }

    fn join(&mut self, halves: [Value; 2]) -> Value {
        let pair = self.b.compose(&halves);
        self.b.bitcast(pair, Type::B32)
    }
}
