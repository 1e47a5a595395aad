//! Uses of registers and memory beyond those declared, and operands that the hardware does not accept (isa-gfx10 1.1,
//! 1.2).

use super::code::StageCode;
use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::{Fields, VectorFields, VectorForm};
use dovetail_isa::{BufferFormat, Format, OperandKind, Register, Scalar, Src, Traits};

/// Reports uses beyond the declarations, and invalid operands.
pub(super) fn check(graph: &Graph, stage: &StageCode, reporter: &mut Reporter<'_>) {
    for step in &graph.steps {
        registers(stage, step, reporter);
        memory(stage, step, reporter);
        if let Some(why) = operands(stage.wave, step) {
            reporter.add(CodeRule::Operands, step.at, why);
        }
    }
}

fn registers(stage: &StageCode, step: &Step, reporter: &mut Reporter<'_>) {
    let [given, counted] = stage.vgprs;
    let used = step.effects.reads.union(&step.effects.writes);
    for register in used.iter() {
        if let Some(v) = register.as_vgpr().map(u32::from) {
            if v >= given {
                reporter.register(
                    CodeRule::Registers,
                    step,
                    register,
                    format!("where RSRC1 gives a wave {given} VGPRs"),
                );
            } else if v >= counted {
                reporter.register(CodeRule::Registers, step, register, format!("where .vgpr_count is {counted}"));
            }
        } else if register.as_sgpr().is_some_and(|s| u32::from(s) >= stage.sgprs) {
            let count = stage.sgprs;
            reporter.register(CodeRule::Registers, step, register, format!("where .sgpr_count is {count}"));
        }
    }
    if stage.wave == WaveSize::W32 && step.effects.writes.contains(Register::EXEC_HI) {
        reporter.register(CodeRule::Operands, step, Register::EXEC_HI, "has no lanes in wave32");
    }
}

fn memory(stage: &StageCode, step: &Step, reporter: &mut Reporter<'_>) {
    match &step.inst.fields {
        Fields::Ds(f) if !f.gds && !step.is(Traits::NO_MEMORY) => {
            if stage.lds == 0 {
                reporter.add(CodeRule::Memory, step.at, "LDS is used and none is declared");
            } else if last_byte(step, f.offsets) > stage.lds {
                reporter.add(CodeRule::Beyond, step.at, format!("the offset is beyond the {} bytes of LDS", stage.lds));
            }
        }
        Fields::Flat(_) if step.inst.entry.format == Format::Scratch && !stage.scratch => {
            reporter.add(CodeRule::Memory, step.at, "scratch is used and none is declared");
        }
        _ => {}
    }
}

/// Exclusive end, in bytes, of an access with address 0.
fn last_byte(step: &Step, offsets: [u8; 2]) -> u32 {
    let entry = step.inst.entry;
    let width = entry.dst.first().or(entry.src.get(1)).map_or(0, |kind| 4 * u32::from(kind.registers()));
    if let Some((each, unit)) = entry.two_offsets() {
        return offsets.iter().map(|offset| u32::from(*offset) * unit + each).max().unwrap_or(0);
    }
    let width = match () {
        () if step.is(Traits::BYTE) => 1,
        () if step.is(Traits::HALF) => 2,
        () => width,
    };
    u32::from(u16::from_le_bytes(offsets)) + width
}

/// Description of an invalid operand; `None` if all are valid.
fn operands(wave: WaveSize, step: &Step) -> Option<String> {
    match &step.inst.fields {
        Fields::Vector(f) => constant_bus(wave, step, f).or_else(|| vector_groups(wave, step, f)),
        Fields::Scalar(f) => {
            let srcs = f.srcs.iter().zip(step.inst.entry.src).filter_map(|(src, kind)| match src {
                Some(Src::Scalar(s)) => Some((*s, kind.registers())),
                _ => None,
            });
            let dst = f.dst.zip(step.inst.entry.dst.first()).map(|(s, kind)| (s, kind.registers()));
            srcs.chain(dst).find_map(misaligned)
        }
        Fields::Smem(f) => {
            let base = if step.is(Traits::DESCRIPTOR) { 4 } else { 2 };
            let data = step.inst.entry.dst.first().map(|kind| (f.data, kind.registers()));
            data.into_iter().chain([(f.base, base)]).find_map(misaligned)
        }
        Fields::Buffer(f) => {
            let format = f.format.filter(|n| BufferFormat::new(*n).is_none());
            format.map(|n| format!("no buffer format {n}"))
        }
        Fields::Image(f) => {
            (f.dmask == 0 && !step.is(Traits::FOUR)).then(|| "an image access without components".to_owned())
        }
        _ => None,
    }
}

/// A group of scalar registers must begin at a multiple of two, or of four.
fn misaligned((first, count): (Scalar, u8)) -> Option<String> {
    let Scalar::Sgpr(s) = first else { return None };
    let align = count.min(4);
    (align > 1 && s.number() % align != 0).then(|| format!("a group of {count} scalar registers begins at {first}"))
}

fn vector_groups(wave: WaveSize, step: &Step, f: &VectorFields) -> Option<String> {
    let wide = |kind: &OperandKind| match kind {
        OperandKind::Mask if wave == WaveSize::W32 => 1,
        OperandKind::Mask => 2,
        kind => kind.registers(),
    };
    let srcs = f.srcs.iter().zip(step.inst.entry.src).filter_map(|(src, kind)| match src {
        Some(Src::Scalar(s)) => Some((*s, wide(kind))),
        _ => None,
    });
    let mask = f.mask.map(|s| (s, wide(&OperandKind::Mask)));
    srcs.chain(mask).find_map(misaligned)
}

/// A vector instruction reads at most two scalar values, a 64-bit shift at most one.
fn constant_bus(wave: WaveSize, step: &Step, f: &VectorFields) -> Option<String> {
    let entry = step.inst.entry;
    let (values, most) = (entry.scalar_values(f, wave), entry.scalar_limit());
    if values > most {
        return Some(format!("{values} scalar values are read, {most} can be"));
    }
    let mut literals = f.srcs.iter().flatten().filter(|src| matches!(src, Src::Literal(_)));
    let first = literals.next();
    let parts = matches!(f.form, VectorForm::Sdwa(_) | VectorForm::Dpp16(_) | VectorForm::Dpp8 { .. });
    let more = literals.any(|other| Some(other) != first);
    (more || parts && first.is_some()).then(|| "a literal where there can be none".to_owned())
}
