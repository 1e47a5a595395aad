//! Metadata 2.6 and 3.0 of the same links have the same contents, by number and by name.

use crate::prepared::shapes;
use dovetail::abi::layout::ResolvedLayout;
use dovetail::link::{EmitGlue, Job, MetadataVersion, Object, Placement, verify};
use dovetail::metadata::document::{Document, get};
use dovetail::metadata::named::{named_bits, registers};
use dovetail::metadata::note;
use dovetail::metadata::registers::*;
use dovetail::target::Gpu;
use object::{Object as _, ObjectSection as _};
use std::collections::BTreeSet;

fn section<'a>(elf: &'a [u8], name: &str) -> &'a [u8] {
    let file = object::read::elf::ElfFile64::<object::LittleEndian>::parse(elf).expect("an ELF");
    file.section_by_name(name).expect("a section").data().expect("its bytes")
}

fn document(elf: &[u8]) -> Document {
    Document::parse(note::metadata(section(elf, ".note")).expect("a note")).expect("a document")
}

#[test]
fn both_versions_say_the_same() {
    let mut compared = 0;
    let mut lost = BTreeSet::new();
    for (parts, state) in shapes() {
        let objects: Vec<Object> = parts.iter().map(|part| Object::parse(part).unwrap()).collect();
        let objects: Vec<&Object> = objects.iter().collect();
        let layout = &ResolvedLayout::new(&state.layout).unwrap();
        let job = Job {
            objects: &objects,
            state: &state,
            layout,
            placement: Placement::Adjacent,
            glue: &EmitGlue,
            metadata: MetadataVersion::Registers,
            plans: None,
        };
        let by_number = job.link().unwrap().elf;
        let by_name = Job { metadata: MetadataVersion::Named, ..job }.link().unwrap().elf;
        for elf in [&by_number, &by_name] {
            assert_eq!(verify(elf).unwrap().violations, []);
        }
        assert!(section(&by_number, ".text") == section(&by_name, ".text"));
        let (numbers, names) = (document(&by_number), document(&by_name));
        assert_eq!((numbers.version, names.version), (Some((2, 6)), Some((3, 0))));
        assert!(get(&names.pipeline, ".registers").is_none());
        for (key, value) in numbers.pipeline.iter().filter(|(key, _)| key.as_str() != Some(".registers")) {
            if key.as_str() != Some(".hardware_stages") {
                assert_eq!(get(&names.pipeline, key.as_str().unwrap()), Some(value), "{key}");
            }
        }
        let (words, again) = (registers(&numbers, Gpu::Gfx1030).unwrap(), registers(&names, Gpu::Gfx1030).unwrap());
        for info in TABLE {
            for register in (0..info.count).map(|n| info.first.nth(n)) {
                let bits = named_bits(register, Gpu::default());
                let word = |words: &RegisterWords| words.get(register).unwrap_or(0);
                assert_eq!(word(&again), word(&words) & bits, "{}", register.name());
                compared += u32::from(word(&words) & bits != 0);
                if word(&words) & !bits != 0 {
                    lost.insert(info.name);
                }
            }
        }
    }
    assert!(compared > 200, "{compared}");
    // Values without a name in 3.0, which drivers of that version set themselves: DX10_CLAMP, walk orders, the stereo
    // mode.
    let known = [
        "COMPUTE_PGM_RSRC1",
        "PA_SC_MODE_CNTL_1",
        "PA_STEREO_CNTL",
        "SPI_SHADER_PGM_RSRC1_PS",
        "SPI_SHADER_PGM_RSRC1_VS",
    ];
    assert_eq!(lost.into_iter().collect::<Vec<_>>(), known);
}
