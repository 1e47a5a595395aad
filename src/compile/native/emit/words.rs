//! Register words and counts of a stage, as the hardware wants them before the code runs (pal-abi 6.2).
//!
//! What the link decides (user data, inputs of the pipeline) is not set here. Words of which every bit is 0 are set only
//! where the link has to find them.

use crate::compile::native::mir::MachineFunction;
use crate::compile::request::TuningOptions;
use crate::error::Result;
use crate::ir::Modes;
use crate::metadata::notes::MetadataFields;
use crate::metadata::registers::{
    RegisterWords, SPI_PS_INPUT_ADDR, SPI_PS_INPUT_ENA, StageRegisters, compute_pgm_rsrc1, compute_pgm_rsrc2, rsrc1_ps,
    rsrc1_vs, rsrc2_ps, rsrc2_vs,
};
use crate::metadata::schema::MetadataKey;
use crate::target::{Stage, WaveSize};

/// LDS is allocated in units of this many bytes.
const LDS_UNIT: u32 = 512;
/// Scratch memory of a lane is a multiple of this many bytes.
const SCRATCH_UNIT: u32 = 16;
/// FLOAT_MODE: denormals are kept, as input and as result; of 32-bit floats, of 16 and 64-bit ones.
const KEEP_DENORMALS: [u32; 2] = [3 << 4, 3 << 6];
/// SGPRs are allocated in RSRC1.SGPRS in granules of this many.
const SGPR_GRANULE: u32 = 8;

/// Registers that the code uses, those that it starts with included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Highest SGPR + 1, with VCC if it is used.
    pub sgprs: u32,
    /// Highest VGPR + 1.
    pub vgprs: u32,
}

/// The counts by their metadata keys.
pub(super) fn counts(function: &MachineFunction, used: Used) -> MetadataFields {
    MetadataFields::from([
        (MetadataKey::SgprCount, used.sgprs.max(1)),
        (MetadataKey::VgprCount, used.vgprs.max(1)),
        (MetadataKey::ScratchMemorySize, function.scratch_bytes.next_multiple_of(SCRATCH_UNIT)),
    ])
}

/// The register words.
///
/// # Errors
/// A bug: a value that does not fit its field.
pub(super) fn registers(
    function: &MachineFunction,
    used: Used,
    modes: &Modes,
    options: &TuningOptions,
) -> Result<RegisterWords> {
    let mut out = RegisterWords::default();
    let own = StageRegisters::of(function.stage);
    let kept = modes.keeps_denormals().into_iter().zip(KEEP_DENORMALS);
    let float_mode = kept.filter(|(keep, _)| *keep).fold(0, |mode, (_, bits)| mode | bits);
    out.set_field(own.float_mode, float_mode)?;
    out.set_field(own.vgprs, used.vgprs.max(1).div_ceil(function.wave.vgpr_granule()) - 1)?;
    out.set_field(own.sgprs, used.sgprs.max(1).div_ceil(SGPR_GRANULE) - 1)?;
    out.set_field(own.scratch_en, u32::from(function.scratch_bytes > 0))?;
    if function.wave == WaveSize::W32 {
        out.set_field(own.wave32, 1)?;
    }
    let lds = function.lds_bytes.div_ceil(LDS_UNIT);
    match function.stage {
        Stage::Vertex => {
            out.set_field(rsrc1_vs::DX10_CLAMP, 1)?;
            out.set_field(rsrc1_vs::MEM_ORDERED, 1)?;
            out.set_field(rsrc2_vs::USER_SGPR, 0)?;
        }
        Stage::Fragment => {
            out.set_field(rsrc1_ps::DX10_CLAMP, 1)?;
            out.set_field(rsrc1_ps::MEM_ORDERED, 1)?;
            out.set_field(rsrc2_ps::EXTRA_LDS_SIZE, lds)?;
            out.set(SPI_PS_INPUT_ENA, function.pixel_inputs.into());
            out.set(SPI_PS_INPUT_ADDR, function.pixel_inputs.into());
        }
        Stage::Compute => {
            out.set_field(compute_pgm_rsrc1::DX10_CLAMP, 1)?;
            out.set_field(compute_pgm_rsrc1::MEM_ORDERED, 1)?;
            out.set_field(compute_pgm_rsrc1::WGP_MODE, u32::from(!options.cu_mode))?;
            out.set_field(compute_pgm_rsrc2::LDS_SIZE, lds)?;
        }
    }
    Ok(out)
}
