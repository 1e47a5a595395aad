//! Encodes final notes as a metadata document of version 2.6: raw registers (pal-abi 3.3, 5).
//!
//! The version comes first, because PAL scans for it. Keys follow in the order of the schema table.
//! [`super::stage_text`] and [`super::final_registers`] encode, once per part, what depends on the part alone. A link
//! copies these bytes and writes numbers of fixed width between them, so that the size is known before anything is
//! written.

use super::finalize::FinalNotes;
use super::msgpack::FIXED_UINT;
use super::ready_notes::StageNotes;
use super::schema::ValueType;
use dovetail_base::fixed::FixedWriter;

/// Major and minor version that this writes.
pub const VERSION: (u32, u32) = (2, 6);

/// From the start of the document to the pipeline's type. The number of the pipeline's keys is set in place.
const START: [u8; 44] = *b"\x82\xaeamdpal.version\x92\x02\x06\xb0amdpal.pipelines\x91\x80\xa5.type";
/// Between the type and the number of shaders. Both halves of the hash are set in place.
const MIDDLE: [u8; 64] =
    *b"\xa4.api\xa6Vulkan\xb7.internal_pipeline_hash\x92\xcf\0\0\0\0\0\0\0\0\xcf\0\0\0\0\0\0\0\0\xa8.shaders";
/// Offset of the number of keys in the first of them, and of the halves of the hash in the second.
const KEYS: usize = 37;
const HASH: [usize; 2] = [38, 47];
/// Keys between the stages' texts and the registers, without the numbers of stages and registers.
const STAGES: [u8; 17] = *b"\xb0.hardware_stages";
const REGISTERS: [u8; 12] = *b"\xaa.registers\xde";
/// Number of the keys that are always present: these, `.type`, `.api` and `.internal_pipeline_hash`.
const STRUCTURED: usize = 6;

/// Size of the document in bytes.
pub fn size(notes: &FinalNotes<'_>) -> usize {
    let head = START.len() + 1 + notes.shape.pal_type.len() + MIDDLE.len() + 1;
    let texts: usize = notes.stages.iter().map(StageNotes::text_size).sum();
    let numbers =
        notes.pipeline.iter().map(|(key, _)| 1 + key.name().len() + if key.ty() == ValueType::Bool { 1 } else { 5 });
    let fixed = head + STAGES.len() + 1 + REGISTERS.len() + 2;
    fixed + texts + notes.registers.bytes().len() + numbers.sum::<usize>()
}

/// Encodes the document.
pub fn write(notes: &FinalNotes<'_>, out: &mut FixedWriter<'_>) {
    head(notes, out);
    notes.stages.iter().for_each(|stage| stage.write_shader(out));
    out.array(&STAGES);
    out.array(&[0x80 | notes.stages.len() as u8]);
    notes.stages.iter().for_each(|stage| stage.write_hardware(out));
    out.array(&REGISTERS);
    out.array(&(notes.registers.len() as u16).to_be_bytes());
    out.put(notes.registers.bytes());
    for (key, value) in notes.pipeline.iter() {
        // All names have less than 32 bytes.
        out.array(&[0xa0 | key.name().len() as u8]);
        out.put(key.name().as_bytes());
        if key.ty() == ValueType::Bool {
            out.array(&[0xc2 | u8::from(value != 0)]);
        } else {
            let [a, b, c, d] = value.to_be_bytes();
            out.array(&[FIXED_UINT, a, b, c, d]);
        }
    }
}

/// Writes everything before the first shader.
fn head(notes: &FinalNotes<'_>, out: &mut FixedWriter<'_>) {
    let mut start = START;
    start[KEYS] = 0x80 | (STRUCTURED + notes.pipeline.len()) as u8;
    out.array(&start);
    // All types have less than 32 bytes.
    out.array(&[0xa0 | notes.shape.pal_type.len() as u8]);
    out.put(notes.shape.pal_type.as_bytes());
    let mut middle = MIDDLE;
    for (at, half) in HASH.into_iter().zip(notes.hash) {
        if let Some(place) = middle[at..].first_chunk_mut() {
            *place = half.to_be_bytes();
        }
    }
    out.array(&middle);
    out.array(&[0x80 | notes.stages.len() as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::Writer;
    use crate::schema::{KeyScope, MetadataKey};
    use dovetail_base::target::Family;

    #[test]
    fn what_is_written_as_bytes_is_what_the_writer_writes() {
        let written = |write: &dyn Fn(&mut Writer)| {
            let mut out = Writer::default();
            write(&mut out);
            out.finish()
        };
        for (family, shape) in
            Family::ALL.into_iter().flat_map(|family| family.shapes().iter().map(move |s| (family, s)))
        {
            let before = |out: &mut Writer| {
                out.map(2);
                out.str("amdpal.version");
                out.array(2);
                out.uint(VERSION.0.into());
                out.uint(VERSION.1.into());
                out.str("amdpal.pipelines");
                out.array(1);
                out.map(0);
                out.str(MetadataKey::Type.name());
                out.str(shape.pal_type);
                out.str(MetadataKey::Api.name());
                out.str("Vulkan");
                out.str(MetadataKey::InternalPipelineHash.name());
                out.array(2);
                (0..2).for_each(|_| out.uint(u64::MAX));
                out.str(MetadataKey::Shaders.name());
                out.map(0);
            };
            let notes = FinalNotes { hash: [u64::MAX; 2], ..FinalNotes::new(family, shape) };
            let mut bytes = [0; 160];
            let mut out = FixedWriter::new(&mut bytes);
            head(&notes, &mut out);
            let mut expect = written(&before);
            expect[KEYS] |= STRUCTURED as u8;
            assert_eq!(bytes[..expect.len()], expect);
            assert!(bytes[expect.len()..].iter().all(|byte| *byte == 0));
        }
        assert_eq!(written(&|out| out.str(MetadataKey::HardwareStages.name())), STAGES);
        let registers = |out: &mut Writer| {
            out.str(MetadataKey::Registers.name());
            out.map(0x100);
        };
        assert_eq!(written(&registers), [&REGISTERS[..], &[1, 0]].concat());
        let names: Vec<&str> =
            MetadataKey::all().filter(|k| k.place() == KeyScope::Pipeline).map(MetadataKey::name).collect();
        assert!(names.len() < 16 && names.iter().all(|name| name.len() < 32), "{names:?}");
    }
}
