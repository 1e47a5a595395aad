//! Links unlinked ELFs and a pipeline state into the final pipeline ELF, in a microsecond and without a compiler.
//!
//! ```text
//! bytes ── input ──> Object      code, open symbols, constant data, notes: read and checked once per part
//! objects + state + glue (or plans of earlier links)
//!   ── touch                     what earlier links left is read ahead
//!   ── attach ──> Unit           the parts and their order
//!        ├ matched               what the fragment part reads of the vertex part, kept by the vertex part's object
//!        └ ready                 each part with the layout's values (bound) and its own glue, kept by its object
//!   ── resolve ─> values         those of the state
//!   ── layout ──> Layout         all offsets
//!   ── metadata::finalize ──> FinalNotes
//!   ── write ───> bytes          first the size, then every byte in its place: in new memory, or in the caller's
//! ```
//!
//! Each step is final: later steps do not change its result. A link gives either the right ELF or a typed error. The
//! error is [`dovetail_base::error::ErrorKind::NeedsFullCompile`] if a whole-pipeline compile can implement what these parts
//! cannot. Equal input gives equal bytes. [`verify()`] reads a final ELF by the rules of PAL's loader; it shares only
//! the ELF reader with the writer.
//!
//! Every link is a [`Job`]; [`VertexHalf`] keeps the vertex half of one, to be completed with several fragment parts.
//! If objects, layout and [`Plans`] are at hand, a link allocates only the memory of the ELF.

mod attach;
mod bound;
mod calls;
mod fit;
mod functions;
mod glue_source;
mod half;
mod head;
mod held;
mod input;
mod layout;
mod matched;
mod null_fragment;
mod pipeline_hash;
mod places;
mod plans;
mod ready;
mod resolve;
mod touch;
mod user_data;
pub mod verify;
mod write;

pub use glue_source::{EmitGlue, GlueSource, SharedGlue};
pub use half::VertexHalf;
pub use input::Object;
pub use layout::Placement;
pub use plans::Plans;
pub use verify::{VerifyReport, verify};

use attach::Unit;
use dovetail_abi::layout::ResolvedLayout;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::fallible;
use dovetail_base::target::MOST_HARDWARE_STAGES;
use dovetail_metadata::facts::{PipelineFacts, StageFacts};
use dovetail_metadata::finalize::{FinalNotes, finalize};
pub use dovetail_metadata::named::MetadataVersion;
use dovetail_state::PipelineState;
use held::Held;
use layout::Layout;
use pipeline_hash::pipeline_hash;
use plans::Joints;
use ready::{Ready, counts};
use resolve::{Resolved, StateValues};
use smallvec::SmallVec;
use write::{Contents, Output};

/// Links unlinked ELFs in any order.
///
/// # Errors
/// See [`Object::parse`] and [`Job::link`].
pub fn link(parts: &[&[u8]], state: &PipelineState, placement: Placement, glue: &dyn GlueSource) -> Result<Vec<u8>> {
    let mut objects = Vec::with_capacity(parts.len());
    for bytes in parts {
        objects.push(Object::parse(bytes)?);
    }
    link_objects(&objects.iter().collect::<Vec<_>>(), state, placement, glue).map(|linked| linked.elf)
}

/// Links parts that have already been parsed, in any order.
///
/// # Errors
/// Malformed: the state's layout. Otherwise as [`Job::link`].
pub fn link_objects(
    objects: &[&Object],
    state: &PipelineState,
    placement: Placement,
    glue: &dyn GlueSource,
) -> Result<Linked> {
    let layout = &ResolvedLayout::new(&state.layout).at(|| "resource layout")?;
    Job { objects, state, layout, placement, glue, metadata: MetadataVersion::default(), plans: None }.link()
}

/// A final ELF, and the placement of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The ELF.
    pub elf: Vec<u8>,
    /// The placement asked for, or adjacent if a branch between parts would not have reached.
    pub placement: Placement,
}

/// Result of writing bytes to the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The number of bytes written.
    Written(usize),
    /// The number of bytes needed; nothing was written.
    Incomplete(usize),
}

/// The input of a link.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// Parts in any order.
    pub objects: &'a [&'a Object],
    /// The state; its layout is ignored.
    pub state: &'a PipelineState,
    /// Offsets of descriptors and push constants.
    pub layout: &'a ResolvedLayout,
    /// Placement of the parts' code.
    pub placement: Placement,
    /// Makes the pieces of glue that no plan holds.
    pub glue: &'a dyn GlueSource,
    /// Version of the metadata to write.
    pub metadata: MetadataVersion,
    /// Plans of earlier links, to which this link adds its own. All their pieces must come from the same source.
    pub plans: Option<&'a Plans>,
}

impl Job<'_> {
    /// Links into newly allocated memory.
    ///
    /// # Errors
    /// Malformed: the parts do not form a pipeline, or the state lacks something that they use. Needs a full compile:
    /// these parts cannot do what the state asks for.
    pub fn link(&self) -> Result<Linked> {
        self.link_begun(None)
    }

    fn link_begun(&self, begun: Option<&Held<'_, Ready>>) -> Result<Linked> {
        self.output(begun, |output, placement| {
            let mut elf = fallible::zeros(output.size())?;
            output.write(&mut elf)?;
            Ok(Linked { elf, placement })
        })
    }

    /// Links into the caller's memory if that is large enough. Bytes after the ELF are unchanged; after an error the
    /// contents of `out` are undefined.
    ///
    /// # Errors
    /// As [`Self::link`].
    pub fn link_into(&self, out: &mut [u8]) -> Result<Size> {
        self.link_begun_into(None, out)
    }

    fn link_begun_into(&self, begun: Option<&Held<'_, Ready>>, out: &mut [u8]) -> Result<Size> {
        self.output(begun, |output, _| match out.get_mut(..output.size()) {
            Some(out) => output.write(out).map(|()| Size::Written(output.size())),
            None => Ok(Size::Incomplete(output.size())),
        })
    }

    /// Links up to the file with all places assigned, and passes it to `done`, which writes it.
    fn output<T>(
        &self,
        begun: Option<&Held<'_, Ready>>,
        done: impl FnOnce(&Output<'_, '_>, Placement) -> Result<T>,
    ) -> Result<T> {
        let Self { objects, state, layout, placement, glue: source, metadata, plans } = *self;
        let joints = Joints { source, plans };
        joints.touch(objects, state, layout);
        let mut unit = Unit::default();
        unit.attach(objects, state, layout, joints, begun)?;
        let mut resolved: [Resolved; MOST_HARDWARE_STAGES] = Default::default();
        for (stage, resolved) in unit.stages().zip(&mut resolved) {
            StateValues(state).resolve(&stage.object, &stage.ready, resolved).at(|| stage.object.named())?;
        }
        let mut layout_of_code = Layout::default();
        layout_of_code.fill(&unit, placement)?;
        let first = unit.stage(0).ok_or_else(|| Error::bug("a pipeline without stages"))?;
        let target = first.object.interface().target;
        let mut notes = FinalNotes::new(target.family(), unit.shape()?);
        self.fill_notes(&unit, &resolved, &mut notes)?;
        let (unit, layout) = (&unit, &layout_of_code);
        let mut output = Output::new(Contents { target, unit, layout, resolved: &resolved, notes: &notes, metadata });
        output.arrange()?;
        done(&output, layout.placement)
    }

    /// The metadata of the final ELF.
    fn fill_notes<'u>(&self, unit: &'u Unit<'u>, resolved: &[Resolved], notes: &mut FinalNotes<'u>) -> Result<()> {
        let mut stages: SmallVec<[StageFacts<'_>; MOST_HARDWARE_STAGES]> = SmallVec::new();
        for stage in unit.stages() {
            stages.push(StageFacts { interface: stage.object.interface(), glue: counts(stage.epilog()) });
            notes.stages.push(stage.ready.notes(&stage.object)?);
        }
        let matched = unit.matched();
        let facts = PipelineFacts {
            state: self.state,
            root_dwords: self.layout.root_dwords(),
            stages: &stages,
            controls: matched.map(|matched| &matched.controls),
            slots: matched.map_or(0, |matched| matched.slots),
            primitive_slots: matched.map_or(0, |matched| matched.primitive_slots),
            spill_threshold: unit.stages().filter_map(|stage| stage.ready.spilled).min(),
        };
        finalize(&facts, notes)?;
        notes.hash = pipeline_hash(unit, resolved, notes);
        Ok(())
    }
}
