//! One stage's section of the final metadata document, encoded once per part. A link copies it and fills in the two
//! counts that glue may raise.

use super::fields::MetadataFields;
use super::interface::StageInterface;
use super::msgpack::Writer;
use super::registers::{RegisterWords, compute_num_thread};
use super::schema::{KeyScope, MetadataKey, ValueType};
use dovetail_base::fixed::FixedWriter;
use dovetail_base::target::HardwareStage;

/// The encoded text of a stage in the document.
#[derive(Clone, Debug, Default)]
pub(super) struct StageText {
    /// The text of the stage's key and value in `.shaders`, then that of those in `.hardware_stages`.
    bytes: Box<[u8]>,
    /// Bytes of the text for `.shaders`.
    shader: usize,
    /// Byte offsets of the register counts in the text for `.hardware_stages`. Glue may raise these counts.
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

impl Counts {
    /// The larger count of each kind of registers.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { sgprs: self.sgprs.max(other.sgprs), vgprs: self.vgprs.max(other.vgprs) }
    }
}

impl StageText {
    pub(super) fn new(
        interface: &StageInterface,
        hardware: HardwareStage,
        fields: &MetadataFields,
        registers: &RegisterWords,
        hash: [u64; 2],
    ) -> Self {
        let mut own = Writer::with_capacity(384);
        own.str(interface.stage.api_key());
        own.map(2);
        own.str(".api_shader_hash");
        own.array(2);
        hash.into_iter().for_each(|half| own.uint(half));
        own.str(".hardware_mapping");
        own.array(1);
        own.str(hardware.key());

        let mut out = Self { shader: own.len(), ..Self::default() };
        let is_compute = interface.stage.is_dispatched();
        own.str(hardware.key());
        own.map(fields.len() + if is_compute { 2 } else { 1 });
        for key in MetadataKey::all().filter(|k| k.place() == KeyScope::Stage) {
            match key {
                MetadataKey::EntryPoint => {
                    own.str(key.name());
                    own.str(hardware.entry_symbol());
                }
                // PAL of 2025 asserts that compute stages have it.
                MetadataKey::ThreadgroupDimensions if is_compute => {
                    own.str(key.name());
                    own.array(3);
                    for n in 0..3 {
                        own.uint(registers.field(compute_num_thread::NUM_THREAD_FULL.nth(n)).into());
                    }
                }
                _ => {
                    let Some(value) = fields.get(key) else { continue };
                    own.str(key.name());
                    match key {
                        MetadataKey::SgprCount => out.sgprs = own.fixed_uint(value) - out.shader,
                        MetadataKey::VgprCount => out.vgprs = own.fixed_uint(value) - out.shader,
                        _ if key.ty() == ValueType::Bool => own.bool(value != 0),
                        _ => own.uint(value.into()),
                    }
                }
            }
        }
        out.bytes = own.finish().into_boxed_slice();
        out
    }

    /// Both texts, one after the other.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes key and value in `.shaders`. `bytes` is a copy of [`Self::bytes`].
    pub(super) fn write_shader(&self, bytes: &[u8], out: &mut FixedWriter<'_>) {
        out.put(bytes.get(..self.shader).unwrap_or_default());
    }

    /// Writes key and value in `.hardware_stages`, with the final counts. `bytes` is a copy of [`Self::bytes`].
    pub(super) fn write_hardware(&self, bytes: &[u8], counts: Counts, out: &mut FixedWriter<'_>) {
        let text = bytes.get(self.shader..).unwrap_or_default();
        let own = out.take(text.len());
        if own.len() == text.len() {
            own.copy_from_slice(text);
        }
        for (place, count) in [(self.sgprs, counts.sgprs), (self.vgprs, counts.vgprs)] {
            if let Some(number) = own.get_mut(place..place + 4) {
                number.copy_from_slice(&count.to_be_bytes());
            }
        }
    }
}
