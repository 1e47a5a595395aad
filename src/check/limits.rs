//! What is used against what is declared, and operands that no hardware takes (isa-gfx10 1.1, 1.2).

use super::code::StageCode;
use super::flow::{Graph, Step};
use super::report::{Reporter, Rule};
use crate::isa::instruction::{Fields, VectorFields, VectorForm};
use crate::isa::{BufferFormat, Format, Kind, Register, Scalar, Src};
use crate::target::WaveSize;

/// LDS instructions that use no LDS.
const NO_LDS: [&str; 4] = ["ds_swizzle_b32", "ds_permute_b32", "ds_bpermute_b32", "ds_nop"];

/// Reports both.
pub(super) fn check(graph: &Graph, stage: &StageCode, reporter: &mut Reporter<'_>) {
    for step in &graph.steps {
        registers(stage, step, reporter);
        memory(stage, step, reporter);
        if let Some(why) = operands(stage.wave, step) {
            reporter.add(Rule::Operands, step.at, why);
        }
    }
}

fn registers(stage: &StageCode, step: &Step, reporter: &mut Reporter<'_>) {
    let [given, counted] = stage.vgprs;
    let used = step.effects.reads.union(&step.effects.writes);
    for register in used.iter() {
        if let Some(v) = register.as_vgpr().map(u32::from) {
            if v >= given {
                reporter.register(Rule::Registers, step, register, format!("where RSRC1 gives a wave {given} VGPRs"));
            } else if v >= counted {
                reporter.register(Rule::Registers, step, register, format!("where .vgpr_count is {counted}"));
            }
        } else if register.as_sgpr().is_some_and(|s| u32::from(s) >= stage.sgprs) {
            let count = stage.sgprs;
            reporter.register(Rule::Registers, step, register, format!("where .sgpr_count is {count}"));
        }
    }
    if stage.wave == WaveSize::W32 && step.effects.writes.contains(Register::EXEC_HI) {
        reporter.register(Rule::Operands, step, Register::EXEC_HI, "has no lanes in wave32");
    }
}

fn memory(stage: &StageCode, step: &Step, reporter: &mut Reporter<'_>) {
    match &step.inst.fields {
        Fields::Ds(f) if !f.gds && !NO_LDS.contains(&step.name()) => {
            if stage.lds == 0 {
                reporter.add(Rule::Memory, step.at, "LDS is used and none is declared");
            } else if last_byte(step, f.offsets) > stage.lds {
                reporter.add(Rule::Memory, step.at, format!("beyond the {} bytes of LDS", stage.lds));
            }
        }
        Fields::Flat(_) if step.inst.entry.format == Format::Scratch && !stage.scratch => {
            reporter.add(Rule::Memory, step.at, "scratch is used and none is declared");
        }
        _ => {}
    }
}

/// The byte behind the last one that an access at address 0 touches.
fn last_byte(step: &Step, offsets: [u8; 2]) -> u32 {
    let entry = step.inst.entry;
    let width = entry.dst.first().or(entry.src.get(1)).map_or(0, |kind| 4 * u32::from(kind.registers()));
    let name = step.name();
    if ["read2", "write2", "wrxchg2"].iter().any(|part| name.contains(part)) {
        let each = if name.ends_with("b64") { 8 } else { 4 };
        let stride = if name.contains("st64") { 64 * each } else { each };
        return offsets.iter().map(|offset| u32::from(*offset) * stride + each).max().unwrap_or(0);
    }
    // Bytes and halves are moved by instructions whose names say so.
    let narrow = ["_b8", "_u8", "_i8"].iter().any(|part| name.contains(part));
    let half = ["_b16", "_u16", "_i16"].iter().any(|part| name.contains(part));
    let width = if narrow {
        1
    } else if half {
        2
    } else {
        width
    };
    u32::from(u16::from_le_bytes(offsets)) + width
}

/// What is wrong with the operands, if anything is.
fn operands(wave: WaveSize, step: &Step) -> Option<String> {
    match &step.inst.fields {
        Fields::Vector(f) => constant_bus(step, f).or_else(|| vector_groups(wave, step, f)),
        Fields::Scalar(f) => {
            let srcs = f.srcs.iter().zip(step.inst.entry.src).filter_map(|(src, kind)| match src {
                Some(Src::Scalar(s)) => Some((*s, kind.registers())),
                _ => None,
            });
            let dst = f.dst.zip(step.inst.entry.dst.first()).map(|(s, kind)| (s, kind.registers()));
            srcs.chain(dst).find_map(misaligned)
        }
        Fields::Smem(f) => {
            let base = if step.name().contains("buffer") { 4 } else { 2 };
            let data = step.inst.entry.dst.first().map(|kind| (f.data, kind.registers()));
            data.into_iter().chain([(f.base, base)]).find_map(misaligned)
        }
        Fields::Buffer(f) => {
            let format = f.format.filter(|n| BufferFormat::new(*n).is_none());
            format.map(|n| format!("no buffer format {n}"))
        }
        Fields::Image(f) => {
            (f.dmask == 0 && !step.name().contains("gather")).then(|| "an image access without components".to_owned())
        }
        _ => None,
    }
}

/// Groups of scalar registers begin at multiples of two, or of four.
fn misaligned((first, count): (Scalar, u8)) -> Option<String> {
    let Scalar::Sgpr(s) = first else { return None };
    let align = count.min(4);
    (align > 1 && s.number() % align != 0).then(|| format!("a group of {count} scalar registers begins at {first}"))
}

fn vector_groups(wave: WaveSize, step: &Step, f: &VectorFields) -> Option<String> {
    let wide = |kind: &Kind| match kind {
        Kind::Mask if wave == WaveSize::W32 => 1,
        Kind::Mask => 2,
        kind => kind.registers(),
    };
    let srcs = f.srcs.iter().zip(step.inst.entry.src).filter_map(|(src, kind)| match src {
        Some(Src::Scalar(s)) => Some((*s, wide(kind))),
        _ => None,
    });
    let mask = f.mask.map(|s| (s, wide(&Kind::Mask)));
    srcs.chain(mask).find_map(misaligned)
}

/// A vector instruction reads at most two scalar values, and 64-bit shifts one.
fn constant_bus(step: &Step, f: &VectorFields) -> Option<String> {
    let name = step.name();
    if matches!(name, "v_readlane_b32" | "v_writelane_b32") || name.starts_with("v_permlane") {
        return None;
    }
    let mut values: Vec<Src> = Vec::with_capacity(3);
    for src in f.srcs.iter().flatten() {
        let scalar = matches!(src, Src::Scalar(s) if *s != Scalar::Null) || matches!(src, Src::Literal(_));
        if scalar && !values.contains(src) {
            values.push(*src);
        }
    }
    if name.starts_with("v_div_fmas") && !values.contains(&Src::Scalar(Scalar::VccLo)) {
        values.push(Src::Scalar(Scalar::VccLo));
    }
    let shift = matches!(name, "v_lshlrev_b64" | "v_lshrrev_b64" | "v_ashrrev_i64");
    let most = if shift { 1 } else { 2 };
    let literals = values.iter().filter(|v| matches!(v, Src::Literal(_))).count();
    let parts = matches!(f.form, VectorForm::Sdwa(_) | VectorForm::Dpp16(_) | VectorForm::Dpp8 { .. });
    if values.len() > most {
        return Some(format!("{} scalar values are read, {most} can be", values.len()));
    }
    (literals > 1 || parts && literals > 0).then(|| "a literal where there can be none".to_owned())
}
