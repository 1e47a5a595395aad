//! The colour epilog: converts the fragment body's outputs to the attachments' formats and exports them.
//!
//! On entry EXEC holds the live pixels, and all values are complete. Depth is exported first; every export has `vm`
//! set, the last has `done`. The hardware reads an exported register some time later, so no exported register is
//! written again. A conversion overwrites its source only if nothing else uses it. GPUs without these bits take the pixels of
//! the last export, and two colours of a blend in another way (`dual_source.rs`).

use super::dual_source;
use super::piece::{Attach, GluePiece, Recorder};
use dovetail_abi::exports::{ColorExport, ColorExportPlan, ExportFormat, MAX_TARGETS, Packing};
use dovetail_base::error::{Error, Result};
use dovetail_base::kinds::NumericKind;
use dovetail_base::target::WaveSize;
use dovetail_isa::{ExpSources, ExpTarget, Instruction, Isa, Op, OperandKind, Src, Vgpr};
use dovetail_metadata::interface::{ColorOutput, ComponentType, FragmentInterface, ResultSource};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Symbol of a colour epilog.
pub const COLOR_EXPORT_SYMBOL: &str = "color_export_shader";

/// All inputs of a colour epilog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColorExportKey {
    /// Depth, stencil and sample mask.
    pub depth: DepthValues,
    /// Colours in export order.
    pub colors: Vec<ColorValue>,
    /// The last two colours are those of a blend, which lanes of a wave of this size swap.
    pub swap: Option<WaveSize>,
    /// There is one null export, because the shader kills pixels and exports nothing else.
    pub dummy: bool,
}

/// Sources of the values for the depth target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DepthValues {
    /// Depth.
    pub depth: Option<ResultSource>,
    /// Stencil reference.
    pub stencil: Option<ResultSource>,
    /// Sample mask.
    pub sample_mask: Option<ResultSource>,
    /// Alpha, from which the hardware makes coverage, with its type.
    pub alpha: Option<(ResultSource, ComponentType)>,
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
    /// The components sent, in the order of the export's sources.
    pub values: [Option<ResultSource>; 4],
}

/// Index of alpha among the components of a colour.
const ALPHA: u8 = 3;

impl ColorExportKey {
    /// The key of a plan, with the values that this fragment body returns.
    ///
    /// # Errors
    /// Malformed: the interface says that the body writes depth, stencil or sample mask, but it does not return them.
    pub fn new(fragment: &FragmentInterface, wave: WaveSize, plan: &ColorExportPlan) -> Result<Self> {
        let returned = |written: bool, value: Option<ResultSource>, what: &str| match (written, value) {
            (true, None) => Err(Error::malformed(format!("{what} is written but not returned"))),
            (true, value) => Ok(value),
            (false, _) => Ok(None),
        };
        let depth = DepthValues {
            depth: returned(fragment.writes_depth, fragment.depth, "depth")?,
            stencil: returned(fragment.writes_stencil, fragment.stencil, "the stencil reference")?,
            sample_mask: returned(fragment.writes_sample_mask, fragment.sample_mask, "the sample mask")?,
            alpha: plan.coverage.and_then(|output| {
                let color = fragment.colors.get(output)?;
                Some((color.values[usize::from(ALPHA)]?, color.ty))
            }),
        };
        let colors = plan.colors.iter().map(|export| {
            let color = fragment.colors.get(export.output);
            ColorValue::new(export, color.ok_or_else(|| Error::bug("the plan is of another shader"))?)
        });
        let swap = plan.swapped.then_some(wave);
        Ok(Self { depth, colors: colors.collect::<Result<_>>()?, swap, dummy: plan.dummy })
    }

    fn registers(&self) -> impl Iterator<Item = u32> {
        let DepthValues { depth, stencil, sample_mask, alpha } = self.depth;
        let alpha = alpha.map(|(source, _)| source);
        let colors = self.colors.iter().flat_map(|color| color.values);
        [depth, stencil, sample_mask, alpha].into_iter().chain(colors).flatten().filter_map(|value| match value {
            ResultSource::Vgpr(register) => Some(register),
            ResultSource::Constant(_) => None,
        })
    }
}

impl ColorValue {
    fn new(export: &ColorExport, color: &ColorOutput) -> Result<Self> {
        let mut values = [None; 4];
        for (value, component) in values.iter_mut().zip(export.format.components()) {
            if export.alpha_is_one && component == Some(ALPHA) {
                *value = Some(ResultSource::Constant(if color.ty.bits == 16 { HALF_ONE } else { ONE }));
                continue;
            }
            let Some(component) = component.filter(|component| color.channels >> component & 1 == 1) else { continue };
            let returned = color.values.get(usize::from(component)).copied().flatten();
            let missing = || Error::malformed(format!("colour {} component {component} is missing", color.location));
            *value = Some(returned.ok_or_else(missing)?);
        }
        let ColorExport { target, format, .. } = *export;
        Ok(Self { target, format, ty: color.ty, values })
    }
}

pub(super) fn emit(isa: &'static Isa, key: &ColorExportKey) -> Result<GluePiece> {
    let mut epilog = Epilog::new(isa, key);
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

/// 1.0 in 32 bits.
const ONE: u32 = 1f32.to_bits();
/// 1.0 in 16 bits.
const HALF_ONE: u32 = 0x3c00;

/// A value to export.
#[derive(Clone, Copy)]
enum Value {
    /// In a register, which may be overwritten or not.
    Register { register: Vgpr, ours: bool },
    /// A constant.
    Constant(u32),
}

impl Value {
    /// The operand of an operation on halves, or on dwords.
    fn operand(self, halves: bool) -> Src {
        match self {
            Self::Register { register, .. } => register.into(),
            Self::Constant(bits) if halves => {
                Src::constant(OperandKind::F16, u64::from(bits & 0xffff)).unwrap_or(Src::Literal(bits))
            }
            Self::Constant(bits) => Src::from_bits(bits),
        }
    }
}

impl<'a> Epilog<'a> {
    fn new(isa: &'static Isa, key: &'a ColorExportKey) -> Self {
        Self { key, out: Recorder::new(isa), next_vgpr: 0, exports: Vec::new() }
    }

    fn depth(&mut self) -> Result<()> {
        let DepthValues { depth, stencil, sample_mask, alpha } = self.key.depth;
        let mut values = [None; 4];
        for (register, source) in values.iter_mut().zip([depth, stencil, sample_mask]) {
            let value = source.map(|source| self.value(source)).transpose()?;
            *register = value.map(|value| self.register(value)).transpose()?;
        }
        if let Some((alpha, ty)) = alpha {
            let value = self.value(alpha)?;
            let [wide, ..] = self.widen([Some(value), None, None, None], ty)?;
            values[3] = wide.map(|value| self.register(value)).transpose()?;
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
        for (value, source) in values.iter_mut().zip(color.values) {
            *value = source.map(|source| self.value(source)).transpose()?;
        }
        let packing = color.format.packing(color.ty);
        let wide = if packing == Packing::Halves { values } else { self.widen(values, color.ty)? };
        let sources = match packing {
            Packing::Wide => {
                let mut registers = [None; 4];
                for (register, value) in registers.iter_mut().zip(wide) {
                    *register = value.map(|value| self.register(value)).transpose()?;
                }
                ExpSources::Full(registers)
            }
            Packing::Halves => self.pack(Op::VPackB32F16, wide)?,
            Packing::RoundedHalves => self.pack(Op::VCvtPkrtzF16F32, wide)?,
            Packing::Unorm16 => self.pack(Op::VCvtPknormU16F32, wide)?,
            Packing::Snorm16 => self.pack(Op::VCvtPknormI16F32, wide)?,
            Packing::Uint16 => self.pack(Op::VCvtPkU16U32, wide)?,
            Packing::Sint16 => self.pack(Op::VCvtPkI16I32, wide)?,
        };
        self.exports.push((ExpTarget::Mrt(color.target), sources));
        Ok(())
    }

    fn value(&mut self, source: ResultSource) -> Result<Value> {
        let register = match source {
            ResultSource::Constant(bits) => return Ok(Value::Constant(bits)),
            ResultSource::Vgpr(register) => register,
        };
        let uses = self.key.registers().filter(|other| *other == register).count();
        Ok(Value::Register { register: self.out.vgpr(register)?, ours: uses == 1 })
    }

    /// A register with the value.
    fn register(&mut self, value: Value) -> Result<Vgpr> {
        match value {
            Value::Register { register, .. } => Ok(register),
            Value::Constant(bits) => {
                let register = self.fresh()?;
                self.out.mov(register, Src::from_bits(bits));
                Ok(register)
            }
        }
    }

    /// A register for the result of converting `value`.
    fn target(&mut self, value: Value) -> Result<Vgpr> {
        match value {
            Value::Register { register, ours: true } => Ok(register),
            _ => self.fresh(),
        }
    }

    /// The next register that no value is in.
    fn fresh(&mut self) -> Result<Vgpr> {
        while self.key.registers().any(|register| register == self.next_vgpr) {
            self.next_vgpr += 1;
        }
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
            let from = self.register(value)?;
            let target = match value {
                Value::Constant(_) => from,
                Value::Register { .. } => self.target(value)?,
            };
            let field = [from.into(), Src::Int(0), Src::from_bits(u32::from(ty.bits))];
            match ty.kind {
                NumericKind::Float => self.out.vector(Op::VCvtF32F16, target, &[from.into()]),
                NumericKind::Sint => self.out.vector(Op::VBfeI32, target, &field),
                NumericKind::Uint => self.out.vector(Op::VBfeU32, target, &field),
            }
            *wide = Some(Value::Register { register: target, ours: true });
        }
        Ok(wide)
    }

    /// Packs pairs of channels to 16 bits each. A missing half of a pair is 0.
    fn pack(&mut self, op: Op, [r, g, b, a]: [Option<Value>; 4]) -> Result<ExpSources> {
        let mut pairs = [None; 2];
        for (pair, (low, high)) in pairs.iter_mut().zip([(r, g), (b, a)]) {
            let is_ours = |value: &Value| matches!(value, Value::Register { ours: true, .. });
            let Some(any) = low.filter(is_ours).or(high).or(low) else { continue };
            let target = self.target(any)?;
            let [mut low, high] =
                [low, high].map(|value| value.map_or(Src::Int(0), |value| value.operand(op == Op::VPackB32F16)));
            if let (Src::Literal(bits), Src::Literal(_)) = (low, high) {
                // An instruction takes one literal.
                self.out.mov(target, Src::from_bits(bits));
                low = target.into();
            }
            self.out.vector2(op, target, low, high);
            *pair = Some(target);
        }
        Ok(ExpSources::Packed(pairs))
    }

    /// Swaps the last two colours between lanes.
    fn swap(&mut self, wave: WaveSize) -> Result<()> {
        let (Some((ExpTarget::Mrt(1), second)), Some((ExpTarget::Mrt(0), first))) =
            (self.exports.pop(), self.exports.pop())
        else {
            return Err(Error::malformed("lanes swap two colours, and there are none"));
        };
        let [first, second] = [first, second].map(ExpSources::registers);
        let mut sources = [[None; 4]; 2];
        let mut pairs = SmallVec::<[_; 4]>::new();
        for (channel, own) in first.into_iter().zip(second).enumerate() {
            // Both targets send the same channels.
            let own = match own {
                (None, None) => continue,
                (Some(only), None) | (None, Some(only)) => [only; 2],
                (Some(first), Some(second)) => [first, second],
            };
            let targets = [self.fresh()?, self.fresh()?];
            sources[0][channel] = Some(targets[0]);
            sources[1][channel] = Some(targets[1]);
            pairs.push((own, targets));
        }
        dual_source::swap(&mut self.out, wave, &pairs)?;
        let targets = (0..).map(ExpTarget::DualSource).zip(sources.map(ExpSources::Full));
        self.exports.extend(targets);
        Ok(())
    }

    fn finish(mut self) -> Result<GluePiece> {
        if let Some(wave) = self.key.swap {
            self.swap(wave)?;
        }
        let Self { mut out, exports, .. } = self;
        let last = exports.len().wrapping_sub(1);
        for (i, (target, sources)) in exports.into_iter().enumerate() {
            out.push(Instruction::export(out.isa, target, sources, i == last, true)?);
        }
        out.end_program();
        out.finish(COLOR_EXPORT_SYMBOL, Attach::After)
    }
}
