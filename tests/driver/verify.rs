//! Each rule of `link::verify`, on a final ELF that violates only this rule.

use crate::link_support::*;
use dovetail::abi::layout::ResolvedLayout;
use dovetail::link::verify::ElfRule;
use dovetail::link::{EmitGlue, Job, MetadataVersion, Object, Placement, link, verify};
use dovetail::metadata::document::{Document, Map, get, set};
use dovetail::metadata::note;
use dovetail::state::PipelineState;
use rmpv::Value;

fn graphics() -> Vec<u8> {
    let mut ps = fragment();
    ps.code.extend([s_mov_literal(8), 0]);
    ps.relocations.push((24, ABS32_LO, Against::Section(".rodata".into())));
    ps.data.push((".rodata".into(), 4, vec![1; 8]));
    link(&[&vertex().build(), &ps.build()], &state(), Placement::Adjacent, &EmitGlue).unwrap()
}

fn compute_elf() -> Vec<u8> {
    link(&[&compute().build()], &state(), Placement::Adjacent, &EmitGlue).unwrap()
}

/// Offset of a section's header.
fn header(index: usize) -> usize {
    64 + 64 * index
}

fn word(elf: &[u8], at: usize) -> usize {
    u64::from_le_bytes(elf[at..at + 8].try_into().unwrap()) as usize
}

/// Offset and size of a section's bytes.
fn content(elf: &[u8], index: usize) -> (usize, usize) {
    (word(elf, header(index) + 24), word(elf, header(index) + 32))
}

const SYMTAB: usize = 2;
const TEXT: usize = 3;
const NOTE: usize = 4;
const REL_TEXT: usize = 5;
const RODATA: usize = 6;

/// Replaces a section's bytes by others at the end of the file.
fn replace(elf: &mut Vec<u8>, index: usize, bytes: &[u8]) {
    elf.resize(elf.len().next_multiple_of(256), 0);
    let at = elf.len() as u64;
    elf[header(index) + 24..header(index) + 32].copy_from_slice(&at.to_le_bytes());
    elf[header(index) + 32..header(index) + 40].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    elf.extend(bytes);
}

/// Modifies the metadata.
fn with_document(mut elf: Vec<u8>, change: impl FnOnce(&mut Document)) -> Vec<u8> {
    let (at, len) = content(&elf, NOTE);
    let mut document = Document::parse(note::metadata(&elf[at..at + len]).unwrap()).unwrap();
    change(&mut document);
    let section = note::write_section(dovetail::target::Gpu::Gfx1030, &document.to_bytes());
    replace(&mut elf, NOTE, &section);
    elf
}

fn with_map(elf: Vec<u8>, change: impl FnOnce(&mut Map)) -> Vec<u8> {
    with_document(elf, |d| change(&mut d.pipeline))
}

fn within<'a>(map: &'a mut Map, path: &[&str]) -> &'a mut Map {
    path.iter().fold(map, |map, key| {
        let found = map.iter_mut().find(|(k, _)| k.as_str() == Some(key));
        match found {
            Some((_, Value::Map(inner))) => inner,
            _ => panic!("no map {key}"),
        }
    })
}

fn set_register(map: &mut Map, register: u32, change: impl Fn(u32) -> Option<u32>) {
    let words = within(map, &[".registers"]);
    let at = words.iter().position(|(k, _)| k.as_u64() == Some(register.into()));
    let old = at.map_or(0, |i| words[i].1.as_u64().unwrap() as u32);
    let old_at = at.unwrap_or(words.len());
    match change(old) {
        Some(new) if at.is_some() => words[old_at].1 = new.into(),
        Some(new) => words.push((register.into(), new.into())),
        None => drop(words.remove(old_at)),
    }
}

fn drop_key(map: &mut Map, key: &str) {
    let before = map.len();
    map.retain(|(k, _)| k.as_str() != Some(key));
    assert_eq!(map.len() + 1, before, "{key}");
}

/// The rules that an ELF violates.
fn broken(elf: &[u8]) -> Vec<ElfRule> {
    let mut rules: Vec<ElfRule> = verify(elf).unwrap().violations.iter().map(|v| v.rule).collect();
    rules.dedup();
    rules
}

#[track_caller]
fn breaks(rule: ElfRule, elf: &[u8]) {
    let report = verify(elf).unwrap();
    assert_eq!(broken(elf), [rule], "{:#?}", report.violations);
}

fn patch(mut elf: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    elf[at..at + bytes.len()].copy_from_slice(bytes);
    elf
}

#[test]
fn what_the_linker_writes_breaks_none() {
    assert!(broken(&graphics()).is_empty());
    assert!(broken(&compute_elf()).is_empty());
    // The mutation itself violates none.
    assert!(broken(&with_document(graphics(), |_| {})).is_empty());
}

#[test]
fn identification() {
    breaks(ElfRule::Identification, &patch(graphics(), 7, &[64]));
    breaks(ElfRule::Identification, &patch(graphics(), 8, &[1]));
    breaks(ElfRule::Identification, &patch(graphics(), 16, &[3]));
    breaks(ElfRule::Identification, &patch(graphics(), 18, &[62]));
    // gfx900.
    breaks(ElfRule::Identification, &patch(graphics(), 48, &[0x2c]));
}

#[test]
fn sections() {
    // Not executable; linked to no names; writable constant data.
    breaks(ElfRule::Sections, &patch(graphics(), header(TEXT) + 8, &[2]));
    breaks(ElfRule::Sections, &patch(graphics(), header(TEXT) + 48, &[64, 0]));
    breaks(ElfRule::Sections, &patch(graphics(), header(RODATA) + 8, &[3]));
    assert!(verify(&patch(graphics(), header(SYMTAB) + 40, &[0])).is_err_and(|e| e.to_string().contains("ELF")));
}

#[test]
fn nothing_is_left_to_link() {
    let elf = graphics();
    let (symbols, _) = content(&elf, SYMTAB);
    // The first local symbol, that of the constant data, becomes undefined.
    let undefined = patch(elf.clone(), symbols + 24 + 6, &[0, 0]);
    assert_eq!(broken(&undefined), [ElfRule::Linked, ElfRule::Relocations]);
    breaks(ElfRule::Linked, &with_map(elf.clone(), |m| set(m, ".dovetail.generation", 1.into())));
    breaks(ElfRule::Linked, &with_map(elf.clone(), |m| set(m, ".vertexInputs", Value::Array(vec![]))));
    breaks(ElfRule::Linked, &with_map(elf, |m| set_register(m, 0x2C4E, |_| Some(0x8000_0001))));
    let mut named = graphics();
    let (strings, len) = content(&named, 1);
    let mut table = named[strings..strings + len].to_vec();
    let at = table.len() as u32;
    table.extend(b"doff_0_0_b\0");
    replace(&mut named, 1, &table);
    breaks(ElfRule::Linked, &patch(named, symbols + 24, &at.to_le_bytes()));
}

#[test]
fn notes_and_version() {
    let mut elf = graphics();
    let (at, len) = content(&elf, NOTE);
    // Only the instruction set's note, and only the metadata's.
    let section = elf[at..at + len].to_vec();
    let (isa, metadata) = section.split_at(note::section_size(dovetail::target::Gpu::Gfx1030, 0) - 20);
    replace(&mut elf, NOTE, metadata);
    breaks(ElfRule::Notes, &elf);
    replace(&mut elf, NOTE, isa);
    breaks(ElfRule::Notes, &elf);
    breaks(ElfRule::Notes, &patch(graphics(), at, &[0xff, 0xff, 0xff, 0xff]));
    breaks(ElfRule::Notes, &patch(graphics(), header(NOTE) + 4, &[1]));
    breaks(ElfRule::Version, &with_document(graphics(), |d| d.version = None));
    breaks(ElfRule::Version, &with_document(graphics(), |d| d.version = Some((1, 0))));
}

#[test]
fn metadata_keys() {
    let change = |change: fn(&mut Map)| breaks(ElfRule::Metadata, &with_map(graphics(), change));
    change(|m| set(m, ".type", "Ngg".into()));
    change(|m| drop_key(m, ".api"));
    change(|m| drop_key(m, ".internal_pipeline_hash"));
    change(|m| set(m, ".user_data_limit", 129.into()));
    change(|m| set(m, ".ps_sample_mask", true.into()));
    change(|m| set(m, ".spill_threshold", 100.into()));
    change(|m| drop_key(within(m, &[".shaders", ".pixel"]), ".api_shader_hash"));
    change(|m| set(within(m, &[".shaders", ".vertex"]), ".hardware_mapping", Value::Array(vec![".gs".into()])));
    change(|m| set(within(m, &[".hardware_stages", ".vs"]), ".entry_point", "_amdgpu_vs_main_fetchless".into()));
    change(|m| drop_key(within(m, &[".hardware_stages", ".ps"]), ".wavefront_size"));
    change(|m| drop_key(within(m, &[".hardware_stages", ".ps"]), ".vgpr_count"));
    let change = |change: fn(&mut Map)| breaks(ElfRule::Metadata, &with_map(compute_elf(), change));
    change(|m| drop_key(within(m, &[".hardware_stages", ".cs"]), ".threadgroup_dimensions"));
    change(|m| {
        set(within(m, &[".hardware_stages", ".cs"]), ".threadgroup_dimensions", Value::Array(vec![1.into(); 3]))
    });
    change(|m| set(within(m, &[".hardware_stages", ".cs"]), ".lds_size", 77.into()));
}

/// PAL passes it to the driver, which then shades each pixel once.
#[test]
fn sample_masks_are_told_of() {
    let said = |fragment: Unlinked| {
        let elf = link(&[&vertex().build(), &fragment.build()], &state(), Placement::Adjacent, &EmitGlue).unwrap();
        assert!(broken(&elf).is_empty(), "{:?}", broken(&elf));
        let (at, len) = content(&elf, NOTE);
        let document = Document::parse(note::metadata(&elf[at..at + len]).unwrap()).unwrap();
        get(&document.pipeline, ".ps_sample_mask").and_then(Value::as_bool)
    };
    assert_eq!(said(fragment()), None);
    let mut reads = fragment();
    for register in [0xA1B3, 0xA1B4] {
        let at = reads.registers.iter().position(|(n, _)| *n == register).unwrap();
        reads.registers[at].1 |= 1 << 14;
    }
    assert_eq!(said(reads), Some(true));
}

#[test]
fn mandatory_registers() {
    for register in
        [0xA210, 0xA204, 0xA206, 0xA2F9, 0xA293, 0xA2AD, 0xA203, 0xA1B8, 0xA2A1, 0xA310, 0xA2F8, 0x2C4A, 0x2C0B]
    {
        let elf = with_map(graphics(), |m| set_register(m, register, |_| None));
        assert!(broken(&elf).contains(&ElfRule::MandatoryRegisters), "{register:#x}: {:?}", broken(&elf));
    }
    for register in [0xA1B6, 0xA1B4, 0xA1B3, 0xA191, 0xA2D5] {
        let elf = with_map(graphics(), |m| set_register(m, register, |_| None));
        assert!(broken(&elf).contains(&ElfRule::MandatoryRegisters), "{register:#x}: {:?}", broken(&elf));
    }
    breaks(ElfRule::MandatoryRegisters, &with_map(compute_elf(), |m| set_register(m, 0x2E08, |_| None)));
}

#[test]
fn register_words() {
    let change = |register, change: fn(u32) -> Option<u32>| {
        breaks(ElfRule::Registers, &with_map(graphics(), |m| set_register(m, register, change)));
    };
    change(0x2C4A, |w| Some(w ^ 1));
    change(0x2C4A, |w| Some(w ^ 1 << 6));
    change(0xA1B6, |w| Some(w ^ 1 << 15));
    change(0xA1B6, |w| Some(w | 5));
    change(0x2C0B, |w| Some(w | 1));
    change(0x2C0B, |w| Some(w | 1 << 27));
    change(0xA191, |w| Some(w | 7));
    change(0xA193, |_| Some(0));
    change(0xA1B3, |_| Some(4));
    change(0xA1C3, |_| Some(0));
    change(0xA1C4, |_| Some(1));
    change(0xA1B1, |_| Some(1 << 7));
    breaks(ElfRule::Registers, &with_map(graphics(), |m| set_register(m, 0x1234, |_| Some(0))));
}

#[test]
fn user_data() {
    let change = |register, change: fn(u32) -> Option<u32>| {
        breaks(ElfRule::UserData, &with_map(graphics(), |m| set_register(m, register, change)));
    };
    change(0x2C4C, |_| None);
    change(0x2C4E, |_| Some(0x1000_0000));
    change(0x2C4E, |_| Some(0x1000_0004));
    change(0x2C4E, |_| Some(128));
    change(0x2C4E, |_| Some(0x1234_5678));
    change(0x2C4C + 9, |_| Some(0));
}

#[test]
fn entries() {
    let elf = graphics();
    let (symbols, len) = content(&elf, SYMTAB);
    // The fragment stage's entry is the last symbol.
    let last = symbols + len - 24;
    breaks(ElfRule::Entry, &patch(elf.clone(), last + 16, &[0; 8]));
    breaks(ElfRule::Entry, &patch(elf.clone(), last + 8, &[64]));
    breaks(ElfRule::Entry, &patch(elf.clone(), last + 16, &[0xff, 0xff]));
    breaks(ElfRule::Entry, &patch(elf.clone(), last + 4, &[0x02]));
    let vertex_name = elf[last - 24..last - 20].to_vec();
    breaks(ElfRule::Entry, &patch(elf.clone(), last, &vertex_name));
    // A stage symbol that does not cover its last part.
    breaks(ElfRule::Entry, &patch(elf, last + 16, &[4, 0]));
}

#[test]
fn relocations() {
    let elf = graphics();
    let (rels, _) = content(&elf, REL_TEXT);
    breaks(ElfRule::Relocations, &patch(elf.clone(), rels + 8, &[7]));
    breaks(ElfRule::Relocations, &patch(elf.clone(), rels, &[0xff, 0xff]));
    breaks(ElfRule::Relocations, &patch(elf.clone(), rels + 12, &[99]));
    breaks(ElfRule::Relocations, &patch(elf.clone(), header(REL_TEXT) + 44, &[4]));
    breaks(ElfRule::Relocations, &patch(elf.clone(), header(REL_TEXT) + 32, &[15]));
    breaks(ElfRule::Relocations, &patch(elf, header(REL_TEXT) + 4, &[4]));
}

#[test]
fn padding() {
    let elf = graphics();
    let (text, len) = content(&elf, TEXT);
    breaks(ElfRule::Padding, &patch(elf, text + len - 4, &S_NOP.to_le_bytes()));
    let mut short = graphics();
    let bytes = short[text..text + len - 64].to_vec();
    replace(&mut short, TEXT, &bytes);
    breaks(ElfRule::Padding, &short);
}

#[test]
fn unlinked_elfs_are_not_final() {
    let rules = broken(&vertex().build());
    assert!(rules.contains(&ElfRule::Linked) && rules.contains(&ElfRule::Version), "{rules:?}");
    assert!(get(&Map::new(), ".type").is_none());
}

#[test]
fn primitive_shaders() {
    let (vs, ps) = (vertex().build(), fragment().build());
    let linked = |ngg| {
        let state = PipelineState { ngg, ..state() };
        link(&[&vs, &ps], &state, Placement::Chained, &EmitGlue).unwrap()
    };
    let elf = linked(true);
    assert_eq!(broken(&elf), []);
    assert_ne!(elf, linked(false));
    for register in [0xA290, 0xA291, 0xA29B, 0xA2AB, 0xA2CE, 0xA2D3, 0xA2E4, 0xA1C2, 0xA1FF, 0x2C8A, 0x2C8B] {
        let without = with_map(elf.clone(), |m| set_register(m, register, |_| None));
        assert!(broken(&without).contains(&ElfRule::MandatoryRegisters), "{register:#x}: {:?}", broken(&without));
    }
    for (register, change) in [(0xA2D5, 1 << 13), (0xA2D5, 2 << 3), (0xA2D5, 1 << 6), (0xA291, 0x1ff), (0xA291, 128)] {
        let other = with_map(elf.clone(), |m| set_register(m, register, |w| Some(w ^ change)));
        breaks(ElfRule::Registers, &other);
    }
    // The types of the two kinds of pipelines, with the stages of the other.
    for (elf, kind) in [(elf, "VsPs"), (linked(false), "Ngg")] {
        let rules = broken(&with_map(elf, |m| set(m, ".type", kind.into())));
        assert!(rules.contains(&ElfRule::Metadata), "{kind}: {rules:?}");
    }
    for stage in [1, 1 << 2, 2 << 3, 1 << 5, 1 << 13] {
        let other = with_map(linked(false), |m| set_register(m, 0xA2D5, |w| Some(w | stage)));
        breaks(ElfRule::Registers, &other);
    }
}

/// PAL's loader reads as many attributes as `.num_interpolants` says, and divides by nothing else.
#[test]
fn attributes_by_name_are_counted() {
    let elfs = [vertex().build(), fragment().build()];
    let objects: Vec<Object> = elfs.iter().map(|part| Object::parse(part).unwrap()).collect();
    let objects: Vec<&Object> = objects.iter().collect();
    let state = state();
    let job = Job {
        objects: &objects,
        state: &state,
        layout: &ResolvedLayout::new(&state.layout).unwrap(),
        placement: Placement::Adjacent,
        glue: &EmitGlue,
        metadata: MetadataVersion::Named,
        plans: None,
    };
    let elf = job.link().unwrap().elf;
    assert_eq!(broken(&elf), []);
    let provokes = ["graphics_registers", "pa_cl_clip_cntl"].map(|key| format!(".{key}"));
    with_map(elf.clone(), |m| {
        let clip = within(m, &provokes.each_ref().map(String::as_str));
        assert!(get(clip, ".vte_vport_provoke_disable").is_some(), "{clip:?}");
    });
    breaks(ElfRule::Metadata, &with_map(elf.clone(), |m| drop_key(m, ".num_interpolants")));
    breaks(ElfRule::Metadata, &with_map(elf, |m| set(m, ".num_interpolants", 0.into())));
}
