//! The notes that depend on a part alone: registers, counts and keys that follow from its code and its interface, and
//! their encoded text. Computed once per part; [`super::ready_notes`] adds what depends on its layout and its own glue,
//! a link what depends on the other parts and the rest of the state ([`super::finalize`]).

use super::final_registers::PartRegisters;
use super::graphics;
use super::interface::{ComputeInterface, StageInterface, StageKind};
use super::ngg;
use super::notes::Notes;
use super::registers::{COMPUTE_NUM_THREAD, StageRegisters, compute_num_thread, compute_pgm_rsrc2};
use super::schema::MetadataKey;
use super::stage_text::{Counts, StageText};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{HardwareStage, ScratchAccess, WaveSize};
use smallvec::SmallVec;

/// The notes that depend on one part alone.
#[derive(Clone, Debug)]
pub struct PartNotes {
    pub(super) stage: HardwareStage,
    /// Registers that the body uses and the hardware loads.
    pub(super) counts: Counts,
    /// Its fields at pipeline level.
    pub(super) pipeline: Box<[(MetadataKey, u32)]>,
    /// Its registers, and 0 for those that a link sets.
    pub(super) registers: PartRegisters,
    pub(super) text: StageText,
}

impl PartNotes {
    /// Computes the notes of a part from those that its unlinked ELF has. `hash` is the hash of the part.
    ///
    /// # Errors
    /// Malformed: impossible counts or registers.
    pub fn new(notes: Notes, interface: &StageInterface, hash: [u64; 2]) -> Result<Self> {
        Self::on(interface.hardware_stage(), notes, interface, hash)
    }

    /// [`Self::new`] of a part for the hardware VS stage that is to run as a primitive shader (NGG).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_ngg(notes: &Notes, interface: &StageInterface, hash: [u64; 2]) -> Result<Self> {
        let notes = Notes { pipeline: notes.pipeline, stage: notes.stage, registers: ngg::moved(&notes.registers)? };
        Self::on(HardwareStage::Gs, notes, interface, hash)
    }

    fn on(hardware: HardwareStage, mut notes: Notes, interface: &StageInterface, hash: [u64; 2]) -> Result<Self> {
        stage_registers(&mut notes, hardware, interface, hash)?;
        match &interface.kind {
            StageKind::Vertex(vertex) => graphics::vertex_part(&mut notes, hardware, interface, vertex)?,
            StageKind::Fragment(fragment) => graphics::fragment_part(&mut notes, interface, fragment)?,
            StageKind::Compute(compute) => compute_part(&mut notes, interface, compute)?,
        }
        let Notes { pipeline, stage: own, registers } = &notes;
        Ok(Self {
            stage: hardware,
            counts: Counts { sgprs: own[&MetadataKey::SgprCount], vgprs: own[&MetadataKey::VgprCount] },
            pipeline: pipeline.iter().collect::<SmallVec<[_; MetadataKey::COUNT]>>().as_slice().into(),
            registers: PartRegisters::new(registers),
            text: StageText::new(interface, hardware, own, registers, hash),
        })
    }

    /// A value that depends on all groups of fields that a link reads, so that they are in the processor's caches.
    #[inline(always)]
    pub fn touched(&self) -> usize {
        self.pipeline.len() ^ self.text.bytes().len() ^ self.registers.bytes().len() ^ self.counts.sgprs as usize
    }
}

/// Sets what every stage has: counts, limits, the number of user-data SGPRs, wave size, checksum.
fn stage_registers(
    notes: &mut Notes,
    hardware: HardwareStage,
    interface: &StageInterface,
    hash: [u64; 2],
) -> Result<()> {
    let (registers, facts) = (StageRegisters::of(hardware)?, interface.target.facts());
    let words = &mut notes.registers;
    let offset = match facts.scratch {
        ScratchAccess::Descriptor => words.field(registers.scratch_en),
        ScratchAccess::Base => 0,
    };
    let loaded = interface.entry_sgprs.saturating_add(offset + hardware.first_user_sgpr());
    notes.stage.insert(MetadataKey::SgprCount, notes.stage[&MetadataKey::SgprCount].max(loaded).max(1));
    notes.stage.insert(
        MetadataKey::VgprCount,
        notes.stage[&MetadataKey::VgprCount].max(entry_vgprs(hardware, interface)).max(1),
    );
    notes.stage.insert(MetadataKey::SgprLimit, facts.usable_sgprs);
    notes.stage.insert(MetadataKey::VgprLimit, facts.vgprs);
    notes.stage.insert(MetadataKey::WavefrontSize, interface.wave.lanes());
    let scratch = notes.stage[&MetadataKey::ScratchMemorySize];
    notes.stage.insert(MetadataKey::ScratchMemorySize, scratch);
    if (scratch > 0) != (words.field(registers.scratch_en) == 1) {
        return Err(Error::malformed(format!("{scratch} bytes of scratch memory, and SCRATCH_EN says otherwise")));
    }
    words.reserve(registers.vgprs.register())?;
    words.set_field(registers.wave32, u32::from(interface.wave == WaveSize::W32))?;
    let user_sgprs = u32::try_from(interface.user_data.len()).map_err(|_| Error::malformed("user-data SGPRs"))?;
    words.set_field(registers.user_sgpr, user_sgprs % 32)?;
    for (n, _) in (0u32..).zip(&interface.user_data).filter(|(_, what)| what.has_number()) {
        words.reserve(registers.user_data.nth(n))?;
    }
    if let Some(msb) = registers.user_sgpr_msb {
        words.set_field(msb, user_sgprs / 32)?;
    }
    let [low, high] = hash;
    let fold = (low ^ low >> 32 ^ high ^ high >> 32) as u32;
    words.set(registers.checksum, fold)
}

/// The registers of a compute part.
fn compute_part(notes: &mut Notes, interface: &StageInterface, compute: &ComputeInterface) -> Result<()> {
    let words = &mut notes.registers;
    // Entry SGPRs after the user data: the three workgroup ids, and the group's size; or the ids are in registers apart.
    let user = u32::try_from(interface.user_data.len()).unwrap_or(u32::MAX);
    let system = interface.entry_sgprs.saturating_sub(user);
    let apart = interface.target.facts().workgroup_ids_apart;
    if if apart { system != 0 } else { !(3..=4).contains(&system) } {
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
        let word = compute_num_thread::NUM_THREAD_FULL.put(words.family(), 0, size)?;
        words.set(COMPUTE_NUM_THREAD.nth(n), word)?;
    }
    words.set(super::registers::COMPUTE_PGM_RSRC3, 0)?;
    let lds = words.field(compute_pgm_rsrc2::LDS_SIZE) * interface.target.facts().lds_unit;
    notes.stage.insert(MetadataKey::LdsSize, lds);
    Ok(())
}

/// VGPRs that the hardware fills at entry.
fn entry_vgprs(hardware: HardwareStage, interface: &StageInterface) -> u32 {
    match &interface.kind {
        // Those of the primitives, of the vertex id and, with the instance id, those up to it.
        StageKind::Vertex(v) if hardware.runs_primitives() => {
            let entry = interface.target.facts().primitive_entry;
            if ngg::has_instance_id(interface, v) { entry.end() } else { u32::from(entry.vertex_id) + 1 }
        }
        StageKind::Vertex(v) => vgpr_comp_cnt(interface, v.vgpr_comp_cnt).saturating_add(1),
        StageKind::Compute(_) if interface.target.facts().packed_local_ids => 1,
        StageKind::Compute(c) => c.tidig_comp_cnt.saturating_add(1),
        // One pair of barycentrics, without which no pixel wave can start.
        StageKind::Fragment(_) => 2,
    }
}

/// Highest VGPR_COMP_CNT of the hardware VS stage: with the instance id.
const MOST_VGPR_COMP_CNT: u32 = 3;

/// VGPR_COMP_CNT: a prolog may need the instance id even if the body does not.
pub(super) fn vgpr_comp_cnt(interface: &StageInterface, body: u32) -> u32 {
    if interface.prolog { MOST_VGPR_COMP_CNT } else { body.min(MOST_VGPR_COMP_CNT) }
}
