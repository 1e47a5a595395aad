//! What the linker does not support is refused by name, each at one place of a file that is otherwise right.

use crate::link_support::*;
use dovetail::abi::layout::ResolvedLayout;
use dovetail::error::{Error, ErrorKind};
use dovetail::link::{EmitGlue, Job, MetadataVersion, Object, Placement, link};
use dovetail::metadata::interface::StageKind;
use dovetail::state::PipelineState;

fn feature(refused: Error) -> String {
    match refused.kind() {
        ErrorKind::Unsupported { feature, .. } => feature.clone(),
        _ => panic!("{refused}"),
    }
}

/// Place of the first section header of a type, and of the section.
fn section(elf: &[u8], kind: u32) -> (usize, usize) {
    let table = word(elf, 40) as usize;
    let mut headers = (table..elf.len()).step_by(64);
    let header = headers.find(|header| word(elf, header + 4) == kind).expect("a section");
    (header, word(elf, header + 24) as usize)
}

/// A compute part with a relocation for an undefined symbol, the last of the table.
fn part() -> Vec<u8> {
    compute().load_symbol(20, "descset_0").build()
}

fn parsed(elf: &[u8]) -> String {
    Object::parse(&part()).expect("it is right without the change");
    feature(Object::parse(elf).map(|_| ()).expect_err("refused"))
}

#[test]
fn relocations_with_addends() {
    let mut elf = part();
    let (header, _) = section(&elf, 9);
    elf[header + 4] = 4;
    assert_eq!(parsed(&elf), "relocations with addends");
}

#[test]
fn symbols_in_reserved_sections_and_in_code() {
    for (home, says) in [(0xfff1u16, "symbol section 0xfff1"), (2, "relocation against code that is no function")] {
        let mut elf = part();
        let (header, symbols) = section(&elf, 2);
        let last = symbols + word(&elf, header + 32) as usize - 24;
        elf[last + 6..last + 8].copy_from_slice(&home.to_le_bytes());
        assert_eq!(parsed(&elf), says);
    }
}

#[test]
fn link_time_values_in_constant_data() {
    let mut part = compute();
    part.data.push((".rodata".into(), 16, vec![0; 16]));
    part.data_relocations.push((4, ABS32_LO, Against::Open("descset_0".into())));
    assert_eq!(parsed(&part.build()), "link-time value in constant data");
}

#[test]
fn sections_that_are_not_constant_data() {
    let mut part = compute();
    part.data.push((".data".into(), 16, vec![0; 16]));
    assert_eq!(parsed(&part.build()), "section .data");
}

#[test]
fn registers_that_the_table_does_not_have() {
    let mut part = compute();
    part.registers.push((0x2E16, 1));
    assert_eq!(parsed(&part.build()), "register 0x2e16");
}

#[test]
fn alpha_to_one_after_alpha_to_coverage() {
    let pair = [vertex().build(), fragment().build()];
    let linked = |change: fn(&mut PipelineState)| {
        let mut state = state();
        change(&mut state);
        link(&[&pair[0], &pair[1]], &state, Placement::Adjacent, &EmitGlue)
    };
    assert!(linked(|state| state.color.alpha_to_one = true).is_ok());
    assert!(linked(|state| state.color.alpha_to_coverage = true).is_ok());
    let both = linked(|state| (state.color.alpha_to_one, state.color.alpha_to_coverage) = (true, true));
    assert_eq!(feature(both.expect_err("refused")), "alpha_to_one with alpha_to_coverage");
}

#[test]
fn pixel_centres_at_integers_in_metadata_with_names() {
    let mut part = fragment();
    let StageKind::Fragment(fragment) = &mut part.interface.kind else { unreachable!() };
    fragment.pixel_center_integer = true;
    let objects = [vertex(), part].map(|part| Object::parse(&part.build()).expect("a part"));
    let (state, objects) = (state(), [&objects[0], &objects[1]]);
    let layout = &ResolvedLayout::new(&state.layout).expect("a layout");
    let (placement, glue, metadata) = (Placement::Adjacent, &EmitGlue, MetadataVersion::Registers);
    let job = Job { objects: &objects, state: &state, layout, placement, glue, metadata, plans: None };
    assert!(job.link().is_ok());
    let named = Job { metadata: MetadataVersion::Named, ..job }.link();
    assert_eq!(feature(named.map(|_| ()).expect_err("refused")), "pixel centres at integers");
}
