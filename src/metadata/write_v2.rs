//! Encodes final notes as a metadata document of version 2.6: raw registers (pal-abi 3.3, 5).
//!
//! The version comes first, because PAL scans for it. Keys follow in the order of the schema table. What a part says by
//! itself is encoded once, in [`StageText`]; a link copies it and writes numbers of fixed width between, so that the
//! size is known before anything is written.

use super::fields::Fields;
use super::finalize::FinalNotes;
use super::msgpack::{FIXED_MAP, FIXED_UINT, FIXED_UINT_16, FIXED_UINT_64, Writer};
use super::registers::{COMPUTE_NUM_THREAD, Registers, compute_num_thread};
use super::schema::{Key, KeyScope, Type};
use crate::fixed::FixedWriter;
use crate::target::Stage;

/// Major and minor version that we write.
pub const VERSION: (u32, u32) = (2, 6);

/// From the start of the document to the number of keys of the pipeline.
const HEAD: &[u8] = b"\x82\xaeamdpal.version\x92\x02\x06\xb0amdpal.pipelines\x91";
/// Keys of the pipeline that are always there, besides those of [`FinalNotes::pipeline`].
const STRUCTURED: [Key; 6] =
    [Key::Type, Key::Api, Key::InternalPipelineHash, Key::Shaders, Key::HardwareStages, Key::Registers];
/// Bytes of a register and its word: 16 and 32 bits, each with its tag.
const REGISTER_BYTES: usize = 8;

/// What a stage's part says in the document, encoded.
#[derive(Clone, Debug, Default)]
pub(super) struct StageText {
    /// Key and value in `.shaders`.
    shader: Vec<u8>,
    /// Key and value in `.hardware_stages`.
    hardware: Vec<u8>,
    /// Where in `hardware` the counts of registers are, which glue may raise.
    sgprs: usize,
    vgprs: usize,
}

/// Registers that a stage has with its glue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `.sgpr_count`.
    pub sgprs: u32,
    /// `.vgpr_count`.
    pub vgprs: u32,
}

impl StageText {
    pub(super) fn new(stage: Stage, fields: &Fields, registers: &Registers, hash: [u64; 2]) -> Self {
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
        for key in Key::all().filter(|k| k.place() == KeyScope::Stage) {
            match key {
                Key::EntryPoint => {
                    own.str(key.name());
                    own.str(stage.entry_symbol());
                }
                // PAL of 2025 asserts that a compute stage has it.
                Key::ThreadgroupDimensions if is_compute => {
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
                        Key::SgprCount => out.sgprs = own.fixed_uint(value),
                        Key::VgprCount => out.vgprs = own.fixed_uint(value),
                        _ if key.ty() == Type::Bool => own.bool(value != 0),
                        _ => own.uint(value.into()),
                    }
                }
            }
        }
        out.hardware = own.finish();
        out
    }

    fn write_hardware(&self, counts: Counts, out: &mut FixedWriter<'_>) {
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

/// Bytes of the document.
pub fn size(notes: &FinalNotes<'_>) -> usize {
    let name = |key: Key| 1 + key.name().len();
    let structured: usize = STRUCTURED.into_iter().map(name).sum();
    let texts: usize = notes.parts.iter().map(|(part, _)| part.text.shader.len() + part.text.hardware.len()).sum();
    let numbers: usize = notes.pipeline.iter().map(|(key, _)| name(key) + number_bytes(key)).sum();
    let fixed = HEAD.len() + 1 + structured + 1 + notes.kind.len() + API.len() + HASH_BYTES + 2 + 3;
    fixed + texts + REGISTER_BYTES * notes.registers.len() + numbers
}

const API: &[u8] = b"\xa6Vulkan";
const HASH_BYTES: usize = 1 + 2 * 9;

fn number_bytes(key: Key) -> usize {
    if key.ty() == Type::Bool { 1 } else { 5 }
}

/// Encodes the document.
pub(crate) fn write(notes: &FinalNotes<'_>, out: &mut FixedWriter<'_>) {
    out.put(HEAD);
    out.put(&[0x80 | (STRUCTURED.len() + notes.pipeline.len()) as u8]);
    text(out, Key::Type.name());
    text(out, notes.kind);
    text(out, Key::Api.name());
    out.put(API);
    text(out, Key::InternalPipelineHash.name());
    out.put(&[0x92]);
    for half in notes.hash {
        out.put(&[FIXED_UINT_64]);
        out.put(&half.to_be_bytes());
    }
    let parts = 0x80 | notes.parts.len() as u8;
    text(out, Key::Shaders.name());
    out.put(&[parts]);
    notes.parts.iter().for_each(|(part, _)| out.put(&part.text.shader));
    text(out, Key::HardwareStages.name());
    out.put(&[parts]);
    notes.parts.iter().for_each(|(part, counts)| part.text.write_hardware(*counts, out));
    text(out, Key::Registers.name());
    let [high, low] = (notes.registers.len() as u16).to_be_bytes();
    out.put(&[FIXED_MAP, high, low]);
    registers(&notes.registers, out);
    for (key, value) in notes.pipeline.iter() {
        text(out, key.name());
        if key.ty() == Type::Bool {
            out.put(&[0xc2 | u8::from(value != 0)]);
        } else {
            out.put(&[FIXED_UINT]);
            out.put(&value.to_be_bytes());
        }
    }
}

fn registers(registers: &Registers, out: &mut FixedWriter<'_>) {
    let (entries, _) = out.take(REGISTER_BYTES * registers.len()).as_chunks_mut::<REGISTER_BYTES>();
    for (entry, (register, word)) in entries.iter_mut().zip(registers.iter()) {
        let key = u64::from(FIXED_UINT_16) << 56 | u64::from(register.0) << 40;
        *entry = (key | u64::from(FIXED_UINT) << 32 | u64::from(word)).to_be_bytes();
    }
}

/// A text of less than 32 bytes, as all of ours are.
fn text(out: &mut FixedWriter<'_>, text: &str) {
    out.put(&[0xa0 | text.len() as u8]);
    out.put(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_as_bytes_is_what_the_writer_writes() {
        let mut head = Writer::default();
        head.map(2);
        head.str("amdpal.version");
        head.array(2);
        head.uint(VERSION.0.into());
        head.uint(VERSION.1.into());
        head.str("amdpal.pipelines");
        head.array(1);
        assert_eq!(head.finish(), HEAD);
        let mut api = Writer::default();
        api.str("Vulkan");
        assert_eq!(api.finish(), API);
        let names: Vec<&str> = Key::all().filter(|k| k.place() == KeyScope::Pipeline).map(Key::name).collect();
        assert!(names.len() < 16 && names.iter().all(|name| name.len() < 32), "{names:?}");
    }
}
