//! Links unlinked ELFs and a pipeline state into the final pipeline ELF, in microseconds and without a compiler.
//!
//! ```text
//! bytes ── input ──> Object      code, open symbols, constant data, notes: checked, made once
//! objects + state + glue
//!   ── attach ──> Unit           fence: parts and their order are fixed
//!   ── layout ──> Layout         fence: offsets are fixed
//!   ── resolve ─> values         fence: every open symbol has a value
//!   ── metadata::{merge, finalize, write_v2} ──> note
//!   ── write ───> bytes          consumes the layout exactly
//! ```
//!
//! A link either gives the right ELF, or a typed error: [`crate::error::ErrorKind::NeedsFullCompile`] where a compile of
//! the whole pipeline can do what these parts cannot. Same input, same bytes. [`verify()`] reads a final ELF again by the
//! rules of PAL's loader, and shares nothing with the writer but the reading of ELF.

mod attach;
mod input;
mod layout;
mod resolve;
mod user_data;
pub mod verify;
mod write;

pub use attach::{EmitGlue, GlueSource};
pub use input::Object;
pub use layout::Placement;
pub use verify::{VerifyReport, verify};

use crate::abi::layout::ResolvedLayout;
use crate::error::{Context, Error, Result};
use crate::fixed::FixedWriter;
use crate::metadata::finalize::{Facts, StageFacts, finalize};
use crate::metadata::write_v2::Counts;
use crate::metadata::{note, write_v2};
use crate::state::PipelineState;
use attach::{Unit, UnitStage, attach};
use input::halves;
use layout::Layout;
use resolve::{Resolved, Values};
use write::Output;

/// Links unlinked ELFs in any order.
///
/// # Errors
/// See [`Object::parse`] and [`link_objects`].
pub fn link(parts: &[&[u8]], state: &PipelineState, placement: Placement, glue: &dyn GlueSource) -> Result<Vec<u8>> {
    let objects = parts.iter().map(|bytes| Object::parse(bytes)).collect::<Result<Vec<_>>>()?;
    link_objects(&objects.iter().collect::<Vec<_>>(), state, placement, glue)
}

/// Links parts that have been read before, in any order.
///
/// # Errors
/// Malformed: the parts make no pipeline, or the state lacks what they use. Needs a full compile: these parts cannot do
/// what the state asks for.
pub fn link_objects(
    objects: &[&Object],
    state: &PipelineState,
    placement: Placement,
    glue: &dyn GlueSource,
) -> Result<Vec<u8>> {
    link_placed(objects, state, placement, glue).map(|linked| linked.elf)
}

/// A final ELF and how its parts came to stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The ELF.
    pub elf: Vec<u8>,
    /// As asked; or adjacent, where a branch from part to part would not have reached.
    pub placement: Placement,
}

/// As [`link_objects`], and says how the parts were placed.
///
/// # Errors
/// As [`link_objects`].
pub fn link_placed(
    objects: &[&Object],
    state: &PipelineState,
    placement: Placement,
    glue: &dyn GlueSource,
) -> Result<Linked> {
    let layout = ResolvedLayout::new(&state.layout).at(|| "resource layout")?;
    link_in_layout(objects, state, &layout, placement, glue)
}

/// As [`link_placed`], in a layout that was resolved before; the state's own is not looked at.
///
/// # Errors
/// As [`link_objects`].
pub fn link_in_layout(
    objects: &[&Object],
    state: &PipelineState,
    layout: &ResolvedLayout,
    placement: Placement,
    glue: &dyn GlueSource,
) -> Result<Linked> {
    let unit = attach(objects, state, glue)?;
    let places = Layout::new(&unit, placement)?;
    let values = Values { state, layout };
    let named = |s: &UnitStage<'_>| format!("{} stage `{}`", s.stage(), s.object.interface().entry_point);
    let resolved: Vec<Resolved> =
        unit.stages.iter().map(|s| values.resolve(&s.object).at(|| named(s))).collect::<Result<_>>()?;
    let first = unit.stages.first().ok_or_else(|| Error::bug("a pipeline without stages"))?;
    let target = first.object.interface().target;
    let document = document(&unit, state, layout, &resolved)?;
    let note = note::write_section(target, &document);
    let elf = Output { target, unit: &unit, layout: &places, resolved: &resolved, note: &note }.write()?;
    Ok(Linked { elf, placement: places.placement })
}

/// The metadata of the final ELF.
fn document(unit: &Unit<'_>, state: &PipelineState, layout: &ResolvedLayout, resolved: &[Resolved]) -> Result<Vec<u8>> {
    let named = |s: &UnitStage<'_>| s.stage().name();
    let user_data: Vec<Vec<Option<u32>>> = unit
        .stages
        .iter()
        .map(|s| user_data::map(s.object.interface(), layout).at(|| named(s)))
        .collect::<Result<_>>()?;
    let stages: Vec<StageFacts<'_>> = unit.stages.iter().zip(&user_data).map(stage_facts).collect();
    let controls = unit.plan.params.control_words();
    let facts = Facts {
        state,
        root_dwords: layout.root_dwords(),
        stages: &stages,
        controls: &controls,
        attributes: u32::try_from(unit.plan.params.attributes.len()).unwrap_or(u32::MAX),
        slots: unit.plan.params.slots,
        formats: unit.plan.colors.formats,
        spill_threshold: resolved.iter().filter_map(|r| r.spilled).min(),
    };
    let mut last = finalize(&facts)?;
    // The registers too decide what the pipeline is; they follow from all the state there is.
    // Hashed in one go: BLAKE3 takes longer for many small pieces than for the bytes in them.
    let mut decides = Vec::with_capacity(16 + 8 * last.registers.len());
    let [stable, unique] = pipeline_hash(unit, resolved);
    [stable, unique].iter().for_each(|half| decides.extend(half.to_le_bytes()));
    for (register, word) in last.registers.iter() {
        decides.extend(register.0.to_le_bytes());
        decides.extend(word.to_le_bytes());
    }
    let [unique, _] = halves(blake3::hash(&decides).as_bytes());
    last.hash = [stable, unique];
    let mut out = vec![0; write_v2::size(&last)];
    let mut writer = FixedWriter::new(&mut out);
    write_v2::write(&last, &mut writer);
    writer.finish("metadata")?;
    Ok(out)
}

fn stage_facts<'u>((stage, user_data): (&'u UnitStage<'_>, &'u Vec<Option<u32>>)) -> StageFacts<'u> {
    let glue = || stage.prolog.iter().chain(&stage.epilog);
    let counts =
        Counts { sgprs: glue().map(|g| g.sgprs).max().unwrap_or(0), vgprs: glue().map(|g| g.vgprs).max().unwrap_or(0) };
    StageFacts { interface: stage.object.interface(), part: &stage.object.notes, user_data, glue: counts }
}

/// The stable hash, of the shaders alone, and the unique one, of all the code with its values.
fn pipeline_hash(unit: &Unit<'_>, resolved: &[Resolved]) -> [u64; 2] {
    let mut stable = Vec::with_capacity(64);
    let mut unique = Vec::with_capacity(1024);
    for (stage, values) in unit.stages.iter().zip(resolved) {
        stable.extend_from_slice(&stage.object.digest);
        unique.extend_from_slice(&stage.object.digest);
        for piece in stage.prolog.iter().chain(&stage.epilog) {
            // Framed by its length, so that no two lists of pieces and values look alike.
            unique.extend_from_slice(&(piece.code.len() as u64).to_le_bytes());
            unique.extend_from_slice(&piece.code);
        }
        unique.extend_from_slice(&(values.values.len() as u64).to_le_bytes());
        values.values.iter().for_each(|value| unique.extend_from_slice(&value.to_le_bytes()));
    }
    let [stable, _] = halves(blake3::hash(&stable).as_bytes());
    let [unique, _] = halves(blake3::hash(&unique).as_bytes());
    [stable, unique]
}
