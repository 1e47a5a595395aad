//! Links with plans into the caller's memory: the same bytes as the plain link, without allocations.

use crate::alloc::allocations;
use crate::link_support::*;
use dovetail::abi::layout::ResolvedLayout;
use dovetail::error::Result;
use dovetail::glue::{self, GlueKey};
use dovetail::link::{EmitGlue, GlueSource, Job, Object, Placement, Plans, Size, link};
use dovetail::metadata::interface::{FragmentInput, ParamSource, Semantic, StageKind};
use dovetail::state::PipelineState;
use std::cell::Cell;
use std::sync::Arc;
use std::thread;

/// Pipelines of every kind: their parts and a state.
pub fn shapes() -> Vec<(Vec<Vec<u8>>, PipelineState)> {
    let pair = |vs: Unlinked, fs: Unlinked| vec![vs.build(), fs.build()];
    let mut constant = vertex();
    let StageKind::Vertex(v) = &mut constant.interface.kind else { unreachable!() };
    v.pre_rasterization.params.iter_mut().for_each(|p| p.source = ParamSource::Constant(7));
    let mut sprite = fragment();
    let StageKind::Fragment(f) = &mut sprite.interface.kind else { unreachable!() };
    f.inputs.push(f.inputs[0].clone());
    f.inputs[1].semantic = Semantic::PointCoord;
    let mut data = fragment().load_symbol(9, "descset_0").load_symbol(10, "doff_0_1_r");
    let at = 4 * data.code.len() as u32;
    data.code.extend([s_mov_literal(8), 0]);
    data.relocations.push((at + 4, ABS32_LO, Against::Section(".rodata".into())));
    data.data.push((".rodata".into(), 16, (0..40).collect()));
    data.data.push((".rodata.cst4".into(), 4, vec![3; 4]));
    data.data_relocations.push((8, ABS32_LO, Against::Section(".rodata.cst4".into())));
    let mut whole = vertex();
    (whole.interface.prolog, whole.interface.epilog, whole.joint) = (false, false, false);
    whole.symbol = whole.interface.hardware_stage().entry_symbol().into();
    let mut blended = state();
    blended.color.attachments[0].format = "R16G16B16A16_SFLOAT".parse().unwrap();
    blended.color.attachments[0].blend = true;
    blended.vertex.attributes[0].format = "R8G8B8A8_UNORM".parse().unwrap();
    let parts = vec![
        pair(vertex(), fragment()),
        pair(constant, sprite),
        pair(vertex().load_symbol(20, "pushconst"), data),
        pair(whole, fragment()),
        vec![vertex().build()],
        vec![compute().load_symbol(20, "descset_0").build()],
        vec![(20..40).fold(compute(), |part, sgpr| part.load_symbol(sgpr, "$deviceIdx")).build()],
        pair(with_table(vertex(), 16), fragment()),
        pair(with_table(vertex(), 4), with_table(fragment(), 64)),
        pair(vertex(), with_table(fragment(), 16)),
        pair(vertex(), with_table(fragment(), 64)),
        vec![with_table(compute(), 16).build()],
    ];
    parts.into_iter().flat_map(|parts| [(parts.clone(), state()), (parts, blended.clone())]).collect()
}

/// A part with constant data, whose address the code takes.
fn with_table(mut part: Unlinked, align: u64) -> Unlinked {
    let at = 4 * part.code.len() as u32;
    part.code.extend([s_mov_literal(8), 0]);
    part.relocations.push((at + 4, ABS32_LO, Against::Section(".rodata".into())));
    part.data.push((".rodata".into(), align, (0..28).collect()));
    part
}

/// A link job, placed adjacent.
pub fn job<'a>(
    objects: &'a [&'a Object],
    state: &'a PipelineState,
    layout: &'a ResolvedLayout,
    plans: Option<&'a Plans>,
) -> Job<'a> {
    Job { objects, state, layout, placement: Placement::Adjacent, glue: &EmitGlue, metadata: Default::default(), plans }
}

/// Calls `run` with each pipeline in each placement, prepared.
fn each(plans: Option<&Plans>, glue: &dyn GlueSource, mut run: impl FnMut(&Job<'_>, &[u8])) {
    for (parts, state) in &shapes() {
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let objects: Vec<Object> = parts.iter().map(|part| Object::parse(part).unwrap()).collect();
        let objects: Vec<&Object> = objects.iter().collect();
        let layout = &ResolvedLayout::new(&state.layout).unwrap();
        for placement in [Placement::Adjacent, Placement::Chained] {
            let plain = link(&parts, state, placement, &EmitGlue).unwrap();
            run(&Job { placement, glue, ..job(&objects, state, layout, plans) }, &plain);
        }
    }
}

#[test]
fn plans_change_no_byte() {
    let plans = Plans::default();
    for _ in 0..2 {
        each(Some(&plans), &EmitGlue, |job, plain| assert!(job.link().unwrap().elf == plain));
    }
}

#[test]
fn glue_is_asked_for_once() {
    let asked = Cell::new(0);
    let counted = |key: &GlueKey| -> Result<_> {
        asked.set(asked.get() + 1);
        glue::emit(key).map(Arc::new)
    };
    let plans = Plans::default();
    each(Some(&plans), &counted, |job, _| drop(job.link().unwrap()));
    let first = asked.get();
    assert!(first > 5, "{first}");
    each(Some(&plans), &counted, |job, _| drop(job.link().unwrap()));
    assert_eq!(asked.get(), first);
    each(None, &counted, |job, _| drop(job.link().unwrap()));
    assert!(asked.get() > 2 * first, "without plans every link asks");
}

#[test]
fn a_head_that_is_kept_is_the_one_that_would_be_made() {
    // Heads are kept for our names of glue only, so other names of the same length show what is made anew.
    let other = |name: &str| name.chars().rev().collect::<String>();
    let names = ["color_export_shader", "dovetail_param_export"];
    let renamed = |key: &GlueKey| -> Result<_> {
        let mut piece = glue::emit(key)?;
        if names.contains(&&*piece.symbol) {
            piece.symbol = other(&piece.symbol).into();
        }
        Ok(Arc::new(piece))
    };
    let mut found = [0, 0];
    each(None, &renamed, |job, plain| {
        let mut elf = job.link().unwrap().elf;
        for (name, found) in names.iter().zip(&mut found) {
            let name_there = other(name);
            while let Some(at) = elf.windows(name.len()).position(|bytes| bytes == name_there.as_bytes()) {
                elf[at..at + name.len()].copy_from_slice(name.as_bytes());
                *found += 1;
            }
        }
        assert!(elf == plain, "{} parts, {:?}", job.objects.len(), job.placement);
    });
    assert!(found.iter().all(|found| *found > 5), "{found:?}");
}

#[test]
fn a_link_into_memory_fills_it_or_leaves_it() {
    each(None, &EmitGlue, |job, plain| {
        let mut out = vec![0xee; plain.len() + 5];
        assert_eq!(job.link_into(&mut out).unwrap(), Size::Written(plain.len()));
        assert!(out[..plain.len()] == *plain && out[plain.len()..] == [0xee; 5]);
        out.fill(0xaa);
        for room in [0, 1, 64, plain.len() - 1] {
            assert_eq!(job.link_into(&mut out[..room]).unwrap(), Size::Incomplete(plain.len()));
            assert!(out.iter().all(|byte| *byte == 0xaa), "nothing is half written");
        }
    });
}

#[test]
fn a_prepared_link_asks_for_no_memory() {
    let plans = Plans::default();
    let mut out = vec![0; 1 << 16];
    each(Some(&plans), &EmitGlue, |job, _| {
        job.link_into(&mut out).unwrap();
        let (calls, linked) = allocations(|| job.link_into(&mut out));
        linked.unwrap();
        assert_eq!(calls, 0, "{:?}", job.objects.iter().map(|o| o.interface()).collect::<Vec<_>>());
    });
}

#[test]
fn an_object_is_linked_with_many_layouts_and_states() {
    let plans = Plans::default();
    let (parts, mut state) = shapes().swap_remove(4);
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let objects: Vec<Object> = parts.iter().map(|part| Object::parse(part).unwrap()).collect();
    let objects: Vec<&Object> = objects.iter().collect();
    let mut seen = std::collections::BTreeSet::new();
    let formats = ["R8G8B8A8_UNORM", "R32_SFLOAT", "R32G32B32A32_SFLOAT"];
    let each = formats.into_iter().flat_map(|format| (12..104).map(move |dword| (format, dword)));
    for (format, dword) in each.clone().chain(each) {
        state.color.attachments[0].format = format.parse().unwrap();
        state.layout.push_constant_root = Some(dword);
        let layout = &ResolvedLayout::new(&state.layout).unwrap();
        let elf = job(&objects, &state, layout, Some(&plans)).link().unwrap().elf;
        let plain = link(&parts, &state, Placement::Adjacent, &EmitGlue).unwrap();
        assert!(elf == plain, "push constants at {dword}, {format}");
        seen.insert(elf);
    }
    // More than an object keeps.
    assert_eq!(seen.len(), 3 * 92, "each gives another pipeline");
}

#[test]
fn a_vertex_part_is_matched_with_many_fragment_parts() {
    let plans = Plans::default();
    let other = |change: &dyn Fn(&mut FragmentInput)| {
        let mut part = fragment();
        let StageKind::Fragment(f) = &mut part.interface.kind else { unreachable!() };
        change(&mut f.inputs[0]);
        part.build()
    };
    let mut parts: Vec<Vec<u8>> = (0..16).map(|channels| other(&|input| input.channels = channels)).collect();
    parts.extend((0..150).map(|location| other(&|input| input.semantic = Semantic::Location(location))));
    parts.push(other(&|input| input.flat = true));
    parts.push(other(&|input| input.per_vertex = true));
    parts.push(other(&|input| input.semantic = Semantic::PointCoord));
    let vertex = vertex().build();
    let of_vertex = Object::parse(&vertex).unwrap();
    let fragments: Vec<Object> = parts.iter().map(|part| Object::parse(part).unwrap()).collect();
    let state = state();
    let layout = &ResolvedLayout::new(&state.layout).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for (object, part) in fragments.iter().zip(&parts).chain(fragments.iter().zip(&parts)) {
        let elf = job(&[&of_vertex, object], &state, layout, Some(&plans)).link().unwrap().elf;
        assert!(elf == link(&[&vertex, part], &state, Placement::Adjacent, &EmitGlue).unwrap());
        seen.insert(elf);
    }
    // Location 0 is there twice. More than a part keeps.
    assert_eq!(seen.len(), parts.len() - 1);
    let alone = job(&[&of_vertex], &state, layout, Some(&plans)).link().unwrap().elf;
    assert!(alone == link(&[&vertex], &state, Placement::Adjacent, &EmitGlue).unwrap());
}

#[test]
fn plans_of_two_sources_do_not_mix_their_glue() {
    let padded = |key: &GlueKey| -> Result<_> {
        let mut piece = glue::emit(key)?;
        piece.code.insert_many(0, S_NOP.to_le_bytes());
        Ok(Arc::new(piece))
    };
    let sources: [&dyn GlueSource; 2] = [&EmitGlue, &padded];
    let both = [Plans::default(), Plans::default()];
    for (parts, state) in &shapes() {
        let objects: Vec<Object> = parts.iter().map(|part| Object::parse(part).unwrap()).collect();
        let objects: Vec<&Object> = objects.iter().collect();
        let layout = &ResolvedLayout::new(&state.layout).unwrap();
        for _ in 0..2 {
            for (glue, plans) in sources.into_iter().zip(&both) {
                let plain = Job { glue, ..job(&objects, state, layout, None) }.link().unwrap();
                let planned = Job { glue, ..job(&objects, state, layout, Some(plans)) }.link().unwrap();
                assert!(planned == plain);
            }
        }
    }
}

#[test]
fn threads_share_plans_and_give_the_same_bytes() {
    let plans = Plans::default();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| each(Some(&plans), &EmitGlue, |job, plain| assert!(job.link().unwrap().elf == plain)));
        }
    });
}
