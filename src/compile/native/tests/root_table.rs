//! The choice between a set's table and the root table.

use crate::generator;
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_compile::request::{KnownState, ModuleDigest, StageRequest, TuningOptions};
use dovetail_ir::parse::parse;
use dovetail_ir::watch::Unwatched;
use dovetail_passes::entry_facts::EntryFacts;
use dovetail_passes::lower;

const BUFFER_OF_AN_UNKNOWN_LAYOUT: &str = r#"shader upper compute "main"
modes 8 4 1 any any any any rte rte rte
shared 0
push_constants 0
res0 "a" set1 binding0 storage_buffer count1 written
block0:
  v0: b32 = const 0x0
  v1: b32x4 = descriptor[res0 buffer] v0
  v2: b32 = buffer_size v1
  v3: b32 = buffer_atomic[iadd] v1, v0, v2
  return
"#;

/// Optimization may turn the selection of the root table around; the linker knows only one way.
#[test]
fn a_selection_of_the_root_table_turned_around_gives_the_same_code() {
    let request = StageRequest {
        target: Gpu::Gfx1030,
        stage: Stage::Compute,
        module: ModuleDigest([0; 32]),
        entry_point: "main".into(),
        specialization: Default::default(),
        wave: WaveSize::W32,
        options: TuningOptions::default(),
        known: KnownState::default(),
    };
    let lowered = lower(parse(BUFFER_OF_AN_UNKNOWN_LAYOUT).expect("a shader"), &request).expect("lowered");
    let text = lowered.shader.to_string();
    let line = |of: &str| text.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("{of}: {text}"));
    let (asked, selected) = (line("= ine v"), line("= select v"));
    let [head, then, els] = selected.split(", ").collect::<Vec<_>>()[..] else { panic!("{selected}") };
    let turned = format!("{head}, {els}, {then}");
    let code = |text: &str| {
        let shader = parse(text).expect("a shader");
        let facts = EntryFacts::of(&shader, Gpu::Gfx1030).expect("an entry");
        let made = generator::selected(&shader, &facts, &lowered.interface, &request.options, &mut Unwatched)
            .expect("selected");
        generator::physical(made, &request.options, &mut Unwatched).expect("allocated").to_string()
    };
    let direct = code(&text);
    assert_eq!(code(&text.replace(asked, &asked.replace("= ine", "= ieq")).replace(selected, &turned)), direct);
    assert_ne!(code(&text.replace(selected, &turned)), direct);
}
