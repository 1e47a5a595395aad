//! The fragment stage of a pipeline without a fragment shader: a piece of glue as an [`Object`].

use super::input::Object;
use dovetail_abi::user_data::{self, UserSgprs};
use dovetail_base::error::Result;
use dovetail_base::target::{Gpu, HardwareStage, Stage, WaveSize};
use dovetail_glue::GluePiece;
use dovetail_metadata::interface::{ExportedFormats, FragmentInterface, StageInterface, StageKind, UserData};
use dovetail_metadata::notes::{MetadataFields, Notes};
use dovetail_metadata::registers::{SPI_PS_INPUT_ADDR, SPI_PS_INPUT_ENA, SPI_SHADER_PGM_RSRC2_PS, rsrc1_ps};
use dovetail_metadata::schema::MetadataKey;

/// The object of a fragment shader that ends immediately.
pub(super) fn null_fragment(target: Gpu, wave: WaveSize, piece: &GluePiece) -> Result<Object> {
    let mut notes = Notes::new(target.family());
    let counts = MetadataFields::from([(MetadataKey::SgprCount, piece.sgprs), (MetadataKey::VgprCount, piece.vgprs)]);
    notes.stage = counts;
    let words = &mut notes.registers;
    words.set_known_field(rsrc1_ps::DX10_CLAMP, 1)?;
    words.set_field(rsrc1_ps::MEM_ORDERED, 1)?;
    words.set(SPI_SHADER_PGM_RSRC2_PS, 0)?;
    // One pair of barycentrics: without one the hardware starts no pixel wave.
    words.set(SPI_PS_INPUT_ENA, 1)?;
    words.set(SPI_PS_INPUT_ADDR, 1)?;
    let mut user_data = UserSgprs::from_slice(&[UserData::GlobalTable]);
    user_data::pad(&mut user_data, target.facts().least_user_sgprs(HardwareStage::Ps, wave));
    let interface = StageInterface {
        target,
        stage: Stage::Fragment,
        wave,
        entry_point: String::new(),
        prolog: false,
        epilog: false,
        // The user data, and the primitive mask.
        entry_sgprs: user_data.len() as u32 + 1,
        user_data: user_data.to_vec(),
        resources: Vec::new(),
        push_constant_bytes: 0,
        spill_threshold: None,
        specialization: Vec::new(),
        spec_operands: Vec::new(),
        writes_memory: false,
        // No state changes what it exports: nothing.
        kind: StageKind::Fragment(FragmentInterface {
            exported: Some(ExportedFormats::default()),
            ..FragmentInterface::default()
        }),
    };
    Object::made(interface, notes, piece.code.to_vec())
}
