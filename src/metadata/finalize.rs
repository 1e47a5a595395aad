//! Makes the notes of the final ELF from merged notes and the pipeline state: user data, resources, every register that PAL
//! reads whether the shader needs it or not (pal-abi 2.8, 6).
//!
//! Invariant: RSRC1 agrees with the register counts, which cover bodies, glue and what the hardware loads at entry. What
//! only graphics pipelines have is in [`super::graphics`].

use super::graphics;
use super::interface::{ExportedFormats, StageInterface, StageKind};
use super::notes::{Fields, Notes};
use super::registers::{COMPUTE_NUM_THREAD, StageRegisters, compute_num_thread, compute_pgm_rsrc2, rsrc1_vs};
use super::schema::Key;
use super::user_data::MAX_ROOT_DWORDS;
use crate::error::{Context, Error, Result};
use crate::state::PipelineState;
use crate::target::{Stage, WaveSize};

/// `.spill_threshold` of a pipeline that spills nothing. PAL keeps 16 bits.
pub const NO_SPILL: u32 = 0xFFFF;
/// SGPRs and VGPRs a wave may have, as LLPC states them.
const SGPR_LIMIT: u32 = 104;
const VGPR_LIMIT: u32 = 256;
/// Bytes of a unit of COMPUTE_PGM_RSRC2.LDS_SIZE.
const LDS_UNIT: u32 = 512;

/// What the link knows of one stage.
#[derive(Clone, Copy, Debug)]
pub struct StageFacts<'a> {
    /// Its interface.
    pub interface: &'a StageInterface,
    /// PAL's number for each of its user-data SGPRs; `None` where there is nothing of meaning.
    pub user_data: &'a [Option<u32>],
    /// SGPRs that its glue uses.
    pub glue_sgprs: u32,
    /// VGPRs that its glue uses.
    pub glue_vgprs: u32,
    /// Hash of the part.
    pub hash: [u64; 2],
}

/// What the link knows of the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// State.
    pub state: &'a PipelineState,
    /// Dwords of its root table.
    pub root_dwords: u32,
    /// Stages in order.
    pub stages: &'a [StageFacts<'a>],
    /// `SPI_PS_INPUT_CNTL` from 0 on; at least one.
    pub controls: &'a [u32],
    /// Attributes of the fragment shader.
    pub attributes: u32,
    /// Parameter slots that the vertex shader exports, the highest + 1.
    pub slots: u32,
    /// How colours and depth are exported.
    pub formats: ExportedFormats,
    /// Lowest root dword that relocations make a shader read through the spill table.
    pub spill_threshold: Option<u32>,
    /// Stable and unique hash of the pipeline.
    pub hash: [u64; 2],
}

/// The notes of a final ELF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalNotes {
    /// All numbers.
    pub notes: Notes,
    /// `.type`.
    pub kind: &'static str,
    /// `.internal_pipeline_hash`.
    pub hash: [u64; 2],
    /// `.shaders`: stages and their hashes.
    pub shaders: Vec<(Stage, [u64; 2])>,
}

/// Fills in all that the parts left to the link.
///
/// # Errors
/// Malformed: user data or counts that no hardware has. Needs a full compile: state that changes code.
pub fn finalize(mut notes: Notes, facts: &Facts<'_>) -> Result<FinalNotes> {
    let mut mapped_end = 0;
    for stage in facts.stages {
        let name = stage.interface.stage.name();
        mapped_end = stage_registers(&mut notes, stage).at(|| name)?.max(mapped_end);
        match &stage.interface.kind {
            StageKind::Vertex(vertex) => graphics::vertex(&mut notes, stage, vertex, facts).at(|| name)?,
            StageKind::Fragment(fragment) => graphics::fragment(&mut notes, stage, fragment, facts).at(|| name)?,
            StageKind::Compute(_) => compute(&mut notes, stage).at(|| name)?,
        }
    }
    user_data_limits(&mut notes, facts, mapped_end)?;
    let is_compute = facts.stages.iter().any(|s| s.interface.stage == Stage::Compute);
    Ok(FinalNotes {
        notes,
        kind: if is_compute { "Cs" } else { "VsPs" },
        hash: facts.hash,
        shaders: facts.stages.iter().map(|s| (s.interface.stage, s.hash)).collect(),
    })
}

/// Counts, user data and wave size; returns the end of the root dwords in SGPRs.
fn stage_registers(notes: &mut Notes, facts: &StageFacts<'_>) -> Result<u32> {
    let interface = facts.interface;
    let registers = StageRegisters::of(interface.stage);
    let fields = notes.stages.entry(interface.stage).or_default();
    let count = |fields: &Fields, key| fields.get(&key).copied().unwrap_or(0);
    let words = &mut notes.registers;
    let loaded = interface.entry_sgprs.saturating_add(words.field(registers.scratch_en));
    let sgprs = count(fields, Key::SgprCount).max(facts.glue_sgprs).max(loaded).max(1);
    let vgprs = count(fields, Key::VgprCount).max(facts.glue_vgprs).max(entry_vgprs(interface)).max(1);
    if vgprs > VGPR_LIMIT {
        return Err(Error::malformed(format!("{vgprs} VGPRs")));
    }
    fields.insert(Key::SgprCount, sgprs);
    fields.insert(Key::VgprCount, vgprs);
    fields.insert(Key::SgprLimit, SGPR_LIMIT);
    fields.insert(Key::VgprLimit, VGPR_LIMIT);
    let scratch = *fields.entry(Key::ScratchMemorySize).or_insert(0);
    fields.insert(Key::WavefrontSize, interface.wave.lanes());
    words.set_field(registers.vgprs, (vgprs - 1) / interface.wave.vgpr_granule())?;
    // Not fitting here means damaged counts, not our mistake.
    let sgpr_granules = (sgprs - 1) / 8;
    if sgpr_granules > registers.sgprs.max() {
        return Err(Error::malformed(format!("{sgprs} SGPRs")));
    }
    words.set_field(registers.sgprs, sgpr_granules)?;
    if (scratch > 0) != (words.field(registers.scratch_en) == 1) {
        return Err(Error::malformed(format!("{scratch} bytes of scratch memory, and SCRATCH_EN says otherwise")));
    }
    words.set_field(registers.wave32, u32::from(interface.wave == WaveSize::W32))?;

    let map = facts.user_data;
    let user_sgprs = u32::try_from(map.len()).map_err(|_| Error::malformed("user-data SGPRs"))?;
    words.set_field(registers.user_sgpr, user_sgprs % 32)?;
    if let Some(msb) = registers.user_sgpr_msb {
        words.set_field(msb, user_sgprs / 32)?;
    }
    for (n, number) in (0u32..).zip(map) {
        if let Some(number) = number {
            words.set(registers.user_data.nth(n), *number);
        }
    }
    let [low, high] = facts.hash;
    let fold = (low ^ low >> 32 ^ high ^ high >> 32) as u32;
    words.set(registers.checksum, fold);
    let root = map.iter().flatten().filter(|n| **n < MAX_ROOT_DWORDS);
    Ok(root.map(|n| n + 1).max().unwrap_or(0))
}

/// VGPRs that the hardware fills at entry.
fn entry_vgprs(interface: &StageInterface) -> u32 {
    match &interface.kind {
        StageKind::Vertex(v) => vgpr_comp_cnt(interface, v.vgpr_comp_cnt).saturating_add(1),
        StageKind::Compute(c) => c.tidig_comp_cnt.saturating_add(1),
        // Two for one pair of barycentrics, without which no pixel wave starts.
        StageKind::Fragment(_) => 2,
    }
}

/// VGPR_COMP_CNT: a prolog may ask for the instance id even where the body does not.
pub(super) fn vgpr_comp_cnt(interface: &StageInterface, body: u32) -> u32 {
    if interface.prolog { rsrc1_vs::VGPR_COMP_CNT.max() } else { body.min(rsrc1_vs::VGPR_COMP_CNT.max()) }
}

fn compute(notes: &mut Notes, facts: &StageFacts<'_>) -> Result<()> {
    let StageKind::Compute(compute) = &facts.interface.kind else { return Ok(()) };
    let words = &mut notes.registers;
    // Entry SGPRs after the user data: the three workgroup ids, and the group's size.
    let user = u32::try_from(facts.interface.user_data.len()).unwrap_or(u32::MAX);
    let system = facts.interface.entry_sgprs.saturating_sub(user);
    if !(3..=4).contains(&system) {
        return Err(Error::malformed(format!("{system} SGPRs after the user data, not three ids and a group size")));
    }
    for field in [compute_pgm_rsrc2::TGID_X_EN, compute_pgm_rsrc2::TGID_Y_EN, compute_pgm_rsrc2::TGID_Z_EN] {
        words.set_field(field, 1)?;
    }
    words.set_field(compute_pgm_rsrc2::TG_SIZE_EN, u32::from(system == 4))?;
    let [x, y, z] = compute.local_size;
    if compute.tidig_comp_cnt > 2 || [x, y, z].iter().any(|n| !(1..=1024).contains(n)) {
        return Err(Error::malformed(format!("workgroups of {x}×{y}×{z}, local id {}", compute.tidig_comp_cnt)));
    }
    words.set_field(compute_pgm_rsrc2::TIDIG_COMP_CNT, compute.tidig_comp_cnt)?;
    for (n, size) in (0u32..).zip(compute.local_size) {
        let word = compute_num_thread::NUM_THREAD_FULL.put(0, size)?;
        words.set(COMPUTE_NUM_THREAD.nth(n), word);
    }
    words.set(super::registers::COMPUTE_PGM_RSRC3, 0);
    let lds = words.field(compute_pgm_rsrc2::LDS_SIZE) * LDS_UNIT;
    notes.stages.entry(Stage::Compute).or_default().insert(Key::LdsSize, lds);
    Ok(())
}

/// How far PAL must keep the root table, and from where on it must write it to memory.
fn user_data_limits(notes: &mut Notes, facts: &Facts<'_>, mapped_end: u32) -> Result<()> {
    let known = facts.stages.iter().filter_map(|s| s.interface.spill_threshold);
    let spill = known.chain(facts.spill_threshold).min();
    let spill = spill.into_iter().chain(notes.pipeline.get(&Key::SpillThreshold).copied()).min();
    let root_dwords = facts.root_dwords;
    let limit = match spill {
        Some(_) => root_dwords.max(mapped_end),
        // PAL dislikes 0 where there is a root table.
        None => mapped_end.max(u32::from(root_dwords > 0)),
    };
    let spill = spill.unwrap_or(NO_SPILL).min(NO_SPILL);
    let limit = limit.max(notes.pipeline.get(&Key::UserDataLimit).copied().unwrap_or(0));
    if spill != NO_SPILL && spill >= limit {
        let reads = format!("a part reads the root table in memory from dword {spill} on");
        return Err(Error::malformed(format!("{reads}, and with this layout it has {limit} dwords")));
    }
    notes.pipeline.insert(Key::SpillThreshold, spill);
    notes.pipeline.insert(Key::UserDataLimit, limit);
    Ok(())
}
