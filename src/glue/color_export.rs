//! The colour epilog: converts the fragment body's outputs to the attachments' formats and exports them.
//!
//! On entry EXEC holds the live pixels, and all values are complete. Depth is exported first; every export has `vm`
//! set, the last has `done`. The hardware reads an exported register some time later, so no exported register is
//! written again. A conversion overwrites its source only if nothing else uses it.

use super::piece::{Attach, GluePiece, Recorder};
use crate::abi::exports::{ColorExport, ColorExportPlan, ExportFormat, MAX_TARGETS, Packing};
use crate::error::{Error, Result};
use crate::isa::{ExpSources, ExpTarget, InlineFloat, Instruction, Op, Src, Vgpr};
use crate::kinds::NumericKind;
use crate::metadata::interface::{ColorOutput, ComponentType, FragmentInterface};
use crate::target::GfxIp;
use serde::{Deserialize, Serialize};

/// All inputs of a colour epilog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColorExportKey {
    /// Depth, stencil and sample mask.
    pub depth: DepthValues,
    /// Colours in export order.
    pub colors: Vec<ColorValue>,
    /// There is one null export, because the shader kills pixels and exports nothing else.
    pub dummy: bool,
}

/// Registers of the values for the depth target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DepthValues {
    /// Depth.
    pub depth: Option<u32>,
    /// Stencil reference.
    pub stencil: Option<u32>,
    /// Sample mask.
    pub sample_mask: Option<u32>,
}

/// One colour.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColorValue {
    /// Hardware target.
    pub target: u8,
    /// Its export format.
    pub format: ExportFormat,
    /// Type of a component.
    pub ty: ComponentType,
    /// Registers of the components sent, in the order of the export's sources.
    pub vgprs: [Option<u32>; 4],
    /// Alpha is 1 instead of a register.
    pub alpha_is_one: bool,
}

/// Index of alpha among the components of a colour.
const ALPHA: u8 = 3;

impl ColorExportKey {
    /// The key of a plan, with the registers in which this fragment body returns its values.
    ///
    /// # Errors
    /// Malformed: the interface says that the body writes depth, stencil or sample mask, but it does not return them.
    pub fn new(fragment: &FragmentInterface, plan: &ColorExportPlan) -> Result<Self> {
        let returned = |written: bool, register: Option<u32>, what: &str| match (written, register) {
            (true, None) => Err(Error::malformed(format!("{what} is written but not returned"))),
            (true, register) => Ok(register),
            (false, _) => Ok(None),
        };
        let depth = DepthValues {
            depth: returned(fragment.writes_depth, fragment.depth, "depth")?,
            stencil: returned(fragment.writes_stencil, fragment.stencil, "the stencil reference")?,
            sample_mask: returned(fragment.writes_sample_mask, fragment.sample_mask, "the sample mask")?,
        };
        let colors = plan.colors.iter().map(|export| {
            let color = fragment.colors.get(export.output);
            ColorValue::new(export, color.ok_or_else(|| Error::bug("the plan is of another shader"))?)
        });
        Ok(Self { depth, colors: colors.collect::<Result<_>>()?, dummy: plan.dummy })
    }

    fn registers(&self) -> impl Iterator<Item = u32> {
        let DepthValues { depth, stencil, sample_mask } = self.depth;
        let colors = self.colors.iter().flat_map(|color| color.vgprs);
        [depth, stencil, sample_mask].into_iter().chain(colors).flatten()
    }
}

impl ColorValue {
    fn new(export: &ColorExport, color: &ColorOutput) -> Result<Self> {
        let mut vgprs = [None; 4];
        for (vgpr, component) in vgprs.iter_mut().zip(export.format.components()) {
            let sent = component.filter(|component| !(export.alpha_is_one && *component == ALPHA));
            let written = sent.filter(|component| color.channels >> component & 1 == 1);
            let Some(component) = written else { continue };
            let returned = color.vgprs.get(usize::from(component)).copied().flatten();
            let missing = || Error::malformed(format!("colour {} component {component} is missing", color.location));
            *vgpr = Some(returned.ok_or_else(missing)?);
        }
        let ColorExport { target, format, alpha_is_one, .. } = *export;
        Ok(Self { target, format, ty: color.ty, vgprs, alpha_is_one })
    }
}

pub(super) fn emit(gfx: GfxIp, key: &ColorExportKey) -> Result<GluePiece> {
    let mut epilog = Epilog::new(gfx, key);
    epilog.depth()?;
    for color in &key.colors {
        epilog.color(color)?;
    }
    if key.dummy {
        let zero = epilog.out.vgpr(0)?;
        epilog.out.mov(zero, Src::Int(0));
        epilog.exports.push((ExpTarget::Mrt(0), ExpSources::Full([Some(zero), None, None, None])));
    }
    epilog.finish()
}

struct Epilog<'a> {
    key: &'a ColorExportKey,
    out: Recorder,
    next_vgpr: u32,
    exports: Vec<(ExpTarget, ExpSources)>,
}

/// 1.0 as a float of the operation's width.
const ONE: Src = Src::Float(InlineFloat::One);

/// A value in a register, and whether the register may be overwritten.
#[derive(Clone, Copy)]
struct Value {
    register: Vgpr,
    ours: bool,
}

impl<'a> Epilog<'a> {
    fn new(gfx: GfxIp, key: &'a ColorExportKey) -> Self {
        let next_vgpr = key.registers().max().map_or(0, |last| last.saturating_add(1));
        Self { key, out: Recorder::new(gfx), next_vgpr, exports: Vec::new() }
    }

    fn depth(&mut self) -> Result<()> {
        let DepthValues { depth, stencil, sample_mask } = self.key.depth;
        let mut values = [None; 4];
        for (value, register) in values.iter_mut().zip([depth, stencil, sample_mask]) {
            *value = register.map(|register| self.out.vgpr(register)).transpose()?;
        }
        if values.iter().any(Option::is_some) {
            self.exports.push((ExpTarget::Mrtz, ExpSources::Full(values)));
        }
        Ok(())
    }

    fn color(&mut self, color: &ColorValue) -> Result<()> {
        if u32::from(color.target) >= MAX_TARGETS {
            return Err(Error::malformed(format!("no colour target {}", color.target)));
        }
        let mut values = [None; 4];
        for (value, register) in values.iter_mut().zip(color.vgprs) {
            *value = register.map(|register| self.value(register)).transpose()?;
        }
        let packing = color.format.packing(color.ty);
        let wide = if packing == Packing::Halves { values } else { self.widen(values, color.ty)? };
        let one = color.alpha_is_one;
        let sources = match packing {
            Packing::Wide => {
                let mut registers = wide.map(|value| value.map(|v| v.register));
                let alpha = color.format.components().into_iter().position(|component| component == Some(ALPHA));
                if let Some(register) = alpha.filter(|_| one).and_then(|at| registers.get_mut(at)) {
                    let alpha = self.fresh()?;
                    self.out.mov(alpha, ONE);
                    *register = Some(alpha);
                }
                ExpSources::Full(registers)
            }
            Packing::Halves => self.pack(Op::VPackB32F16, wide, one)?,
            Packing::RoundedHalves => self.pack(Op::VCvtPkrtzF16F32, wide, one)?,
            Packing::Unorm16 => self.pack(Op::VCvtPknormU16F32, wide, one)?,
            Packing::Snorm16 => self.pack(Op::VCvtPknormI16F32, wide, one)?,
            Packing::Uint16 => self.pack(Op::VCvtPkU16U32, wide, one)?,
            Packing::Sint16 => self.pack(Op::VCvtPkI16I32, wide, one)?,
        };
        self.exports.push((ExpTarget::Mrt(color.target), sources));
        Ok(())
    }

    fn value(&mut self, register: u32) -> Result<Value> {
        let uses = self.key.registers().filter(|other| *other == register).count();
        Ok(Value { register: self.out.vgpr(register)?, ours: uses == 1 })
    }

    /// A register for the result of converting `value`.
    fn target(&mut self, value: Value) -> Result<Value> {
        if value.ours {
            return Ok(value);
        }
        Ok(Value { register: self.fresh()?, ours: true })
    }

    /// A register that was never used.
    fn fresh(&mut self) -> Result<Vgpr> {
        let register = self.out.vgpr(self.next_vgpr)?;
        self.next_vgpr += 1;
        Ok(register)
    }

    /// Widens values of 8 and 16 bits to 32 bits.
    fn widen(&mut self, values: [Option<Value>; 4], ty: ComponentType) -> Result<[Option<Value>; 4]> {
        if ty.bits == 32 {
            return Ok(values);
        }
        let mut wide = [None; 4];
        for (wide, value) in wide.iter_mut().zip(values) {
            let Some(value) = value else { continue };
            let target = self.target(value)?;
            let field = [value.register.into(), Src::Int(0), Src::from_bits(u32::from(ty.bits))];
            match ty.kind {
                NumericKind::Float => self.out.vector(Op::VCvtF32F16, target.register, &[value.register.into()]),
                NumericKind::Sint => self.out.vector(Op::VBfeI32, target.register, &field),
                NumericKind::Uint => self.out.vector(Op::VBfeU32, target.register, &field),
            }
            *wide = Some(target);
        }
        Ok(wide)
    }

    /// Packs pairs of channels to 16 bits each. A missing half of a pair is 0; alpha may be 1 instead.
    fn pack(&mut self, op: Op, [r, g, b, a]: [Option<Value>; 4], alpha_is_one: bool) -> Result<ExpSources> {
        let mut pairs = [None; 2];
        for (pair, (low, high, one)) in pairs.iter_mut().zip([(r, g, false), (b, a, alpha_is_one)]) {
            let target = match low.filter(|low| low.ours).or(high).or(low) {
                Some(any) => self.target(any)?.register,
                None if one => self.fresh()?,
                None => continue,
            };
            let source = |value: Option<Value>| value.map_or(Src::Int(0), |v| v.register.into());
            self.out.vector2(op, target, source(low), if one { ONE } else { source(high) });
            *pair = Some(target);
        }
        Ok(ExpSources::Packed(pairs))
    }

    fn finish(self) -> Result<GluePiece> {
        let Self { mut out, exports, .. } = self;
        let last = exports.len().wrapping_sub(1);
        for (i, (target, sources)) in exports.into_iter().enumerate() {
            out.push(Instruction::export(out.gfx, target, sources, i == last, true)?);
        }
        out.end_program();
        out.finish("color_export_shader", Attach::After)
    }
}
