//! Encodes final notes as a metadata document of version 2.6: raw registers (pal-abi 3.3, 5).
//!
//! The version comes first, because PAL scans for it. Keys follow in the order of the schema table.
//! [`super::stage_text`] and [`super::final_registers`] encode, once per part, what depends on the part alone. A link
//! copies these bytes and writes numbers of fixed width between them, so that the size is known before anything is
//! written.

use super::finalize::FinalNotes;
use super::msgpack::{FIXED_UINT, FIXED_UINT_64};
use super::schema::ValueType;
use crate::fixed::FixedWriter;

/// Major and minor version that this writes.
pub const VERSION: (u32, u32) = (2, 6);

/// From the start of the document to the number of the pipeline's keys.
const HEAD: &[u8] = b"\x82\xaeamdpal.version\x92\x02\x06\xb0amdpal.pipelines\x91";
/// The keys that are always present follow, each with the constant part of its value.
const TYPE: &[u8] = b"\xa5.type";
const API_AND_HASH: &[u8] = b"\xa4.api\xa6Vulkan\xb7.internal_pipeline_hash\x92";
const SHADERS: &[u8] = b"\xa8.shaders";
const STAGES: &[u8] = b"\xb0.hardware_stages";
const REGISTERS: &[u8] = b"\xaa.registers\xde";
/// Number of these keys.
const STRUCTURED: usize = 6;

/// Size of the document in bytes.
pub fn size(notes: &FinalNotes<'_>) -> usize {
    let fixed = HEAD.len() + TYPE.len() + API_AND_HASH.len() + SHADERS.len() + STAGES.len() + REGISTERS.len();
    // Lengths of maps, and the tag of the text.
    let lengths = 1 + 1 + 1 + 1 + 2;
    let texts: usize = notes.parts.iter().map(|(part, _)| part.text.len()).sum();
    let numbers =
        notes.pipeline.iter().map(|(key, _)| 1 + key.name().len() + if key.ty() == ValueType::Bool { 1 } else { 5 });
    fixed + lengths + notes.kind.len() + HASH_BYTES + texts + notes.registers.bytes().len() + numbers.sum::<usize>()
}

/// Two numbers of 64 bits.
const HASH_BYTES: usize = 2 * 9;

/// Encodes the document.
pub(crate) fn write(notes: &FinalNotes<'_>, out: &mut FixedWriter<'_>) {
    out.put(HEAD);
    out.put(&[0x80 | (STRUCTURED + notes.pipeline.len()) as u8]);
    out.put(TYPE);
    text(out, notes.kind);
    out.put(API_AND_HASH);
    for half in notes.hash {
        let [a, b, c, d, e, f, g, h] = half.to_be_bytes();
        out.put(&[FIXED_UINT_64, a, b, c, d, e, f, g, h]);
    }
    let parts = 0x80 | notes.parts.len() as u8;
    out.put(SHADERS);
    out.put(&[parts]);
    notes.parts.iter().for_each(|(part, _)| part.text.write_shader(out));
    out.put(STAGES);
    out.put(&[parts]);
    notes.parts.iter().for_each(|(part, counts)| part.text.write_hardware(*counts, out));
    out.put(REGISTERS);
    out.put(&(notes.registers.len() as u16).to_be_bytes());
    out.put(notes.registers.bytes());
    for (key, value) in notes.pipeline.iter() {
        text(out, key.name());
        if key.ty() == ValueType::Bool {
            out.put(&[0xc2 | u8::from(value != 0)]);
        } else {
            let [a, b, c, d] = value.to_be_bytes();
            out.put(&[FIXED_UINT, a, b, c, d]);
        }
    }
}

/// Writes a text of less than 32 bytes, as all of ours are.
fn text(out: &mut FixedWriter<'_>, text: &str) {
    out.put(&[0xa0 | text.len() as u8]);
    out.put(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::msgpack::Writer;
    use crate::metadata::schema::{KeyScope, MetadataKey};

    #[test]
    fn what_is_written_as_bytes_is_what_the_writer_writes() {
        let written = |write: &dyn Fn(&mut Writer)| {
            let mut out = Writer::default();
            write(&mut out);
            out.finish()
        };
        let head = |out: &mut Writer| {
            out.map(2);
            out.str("amdpal.version");
            out.array(2);
            out.uint(VERSION.0.into());
            out.uint(VERSION.1.into());
            out.str("amdpal.pipelines");
            out.array(1);
        };
        assert_eq!(written(&head), HEAD);
        assert_eq!(written(&|out| out.str(MetadataKey::Type.name())), TYPE);
        let api_and_hash = |out: &mut Writer| {
            out.str(MetadataKey::Api.name());
            out.str("Vulkan");
            out.str(MetadataKey::InternalPipelineHash.name());
            out.array(2);
        };
        assert_eq!(written(&api_and_hash), API_AND_HASH);
        assert_eq!(written(&|out| out.str(MetadataKey::Shaders.name())), SHADERS);
        assert_eq!(written(&|out| out.str(MetadataKey::HardwareStages.name())), STAGES);
        let registers = |out: &mut Writer| {
            out.str(MetadataKey::Registers.name());
            out.map(0x100);
        };
        assert_eq!(written(&registers), [REGISTERS, &[1, 0]].concat());
        let names: Vec<&str> =
            MetadataKey::all().filter(|k| k.place() == KeyScope::Pipeline).map(MetadataKey::name).collect();
        assert!(names.len() < 16 && names.iter().all(|name| name.len() < 32), "{names:?}");
    }
}
