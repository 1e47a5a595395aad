//! One stage's text in the final metadata document, encoded once per part: a link copies it and fills in the two counts
//! that glue may raise.

use super::fields::MetadataFields;
use super::msgpack::Writer;
use super::registers::{COMPUTE_NUM_THREAD, RegisterWords, compute_num_thread};
use super::schema::{KeyScope, MetadataKey, ValueType};
use crate::fixed::FixedWriter;
use crate::target::Stage;

/// The encoded text of a stage in the document.
#[derive(Clone, Debug, Default)]
pub(super) struct StageText {
    /// Key and value in `.shaders`.
    pub(super) shader: Vec<u8>,
    /// Key and value in `.hardware_stages`.
    pub(super) hardware: Vec<u8>,
    /// Offsets in `hardware` of the register counts, which glue may raise.
    sgprs: usize,
    vgprs: usize,
}

/// Register counts of a stage with its glue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `.sgpr_count`.
    pub sgprs: u32,
    /// `.vgpr_count`.
    pub vgprs: u32,
}

impl StageText {
    pub(super) fn new(stage: Stage, fields: &MetadataFields, registers: &RegisterWords, hash: [u64; 2]) -> Self {
        let mut out = Self::default();
        let mut shader = Writer::with_capacity(96);
        shader.str(stage.api_key());
        shader.map(2);
        shader.str(".api_shader_hash");
        shader.array(2);
        hash.into_iter().for_each(|half| shader.uint(half));
        shader.str(".hardware_mapping");
        shader.array(1);
        shader.str(stage.hardware_name());
        out.shader = shader.finish();

        let mut own = Writer::with_capacity(256);
        let is_compute = stage == Stage::Compute;
        own.str(stage.hardware_name());
        own.map(fields.len() + if is_compute { 2 } else { 1 });
        for key in MetadataKey::all().filter(|k| k.place() == KeyScope::Stage) {
            match key {
                MetadataKey::EntryPoint => {
                    own.str(key.name());
                    own.str(stage.entry_symbol());
                }
                // PAL of 2025 asserts that compute stages have it.
                MetadataKey::ThreadgroupDimensions if is_compute => {
                    own.str(key.name());
                    own.array(3);
                    for n in 0..3 {
                        let word = registers.get(COMPUTE_NUM_THREAD.nth(n)).unwrap_or(0);
                        own.uint(compute_num_thread::NUM_THREAD_FULL.of(word).into());
                    }
                }
                _ => {
                    let Some(value) = fields.get(key) else { continue };
                    own.str(key.name());
                    match key {
                        MetadataKey::SgprCount => out.sgprs = own.fixed_uint(value),
                        MetadataKey::VgprCount => out.vgprs = own.fixed_uint(value),
                        _ if key.ty() == ValueType::Bool => own.bool(value != 0),
                        _ => own.uint(value.into()),
                    }
                }
            }
        }
        out.hardware = own.finish();
        out
    }

    pub(super) fn write_hardware(&self, counts: Counts, out: &mut FixedWriter<'_>) {
        let own = out.take(self.hardware.len());
        if own.len() == self.hardware.len() {
            own.copy_from_slice(&self.hardware);
        }
        for (place, count) in [(self.sgprs, counts.sgprs), (self.vgprs, counts.vgprs)] {
            if let Some(number) = own.get_mut(place..place + 4) {
                number.copy_from_slice(&count.to_be_bytes());
            }
        }
    }
}
