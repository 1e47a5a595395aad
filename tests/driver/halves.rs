//! A vertex half, completed with several fragment halves, gives the bytes of the full links.

use crate::alloc::allocations;
use crate::link_support::*;
use crate::prepared::{job, shapes};
use dovetail::abi::layout::ResolvedLayout;
use dovetail::link::{EmitGlue, Job, Object, Placement, Plans, Size, link};
use dovetail::metadata::interface::StageKind;
use dovetail::state::PipelineState;
use dovetail::target::Stage;

#[test]
fn one_vertex_half_is_finished_with_every_fragment_half() {
    let of_stage = |stage: Stage| {
        let all = shapes().into_iter().flat_map(|(parts, _)| parts);
        let mut parts: Vec<Vec<u8>> = all.filter(|part| Object::parse(part).unwrap().stage() == stage).collect();
        parts.sort();
        parts.dedup();
        parts
    };
    let states: Vec<PipelineState> = shapes().into_iter().map(|(_, state)| state).take(2).collect();
    let mut other_attachments = states[0].clone();
    other_attachments.color = states[1].color.clone();
    assert_ne!(other_attachments.color, states[0].color);
    let layout = ResolvedLayout::new(&states[0].layout).unwrap();
    let (vertices, fragments) = (of_stage(Stage::Vertex), of_stage(Stage::Fragment));
    assert!(vertices.len() > 2 && fragments.len() > 2);
    let plans = Plans::default();
    let mut finished = 0;
    for bytes in &vertices {
        let vertex = Object::parse(bytes).unwrap();
        for placement in [Placement::Adjacent, Placement::Chained] {
            for plans in [None, Some(&plans)] {
                let objects = [&vertex];
                let half = Job { placement, ..job(&objects, &states[0], &layout, plans) }.half().unwrap();
                let ends = fragments.iter().map(Some).chain([None]);
                for (fragment, state) in ends.flat_map(|f| [(f, &states[0]), (f, &other_attachments)]) {
                    let parts: Vec<&[u8]> = [bytes].into_iter().chain(fragment).map(Vec::as_slice).collect();
                    let plain = link(&parts, state, placement, &EmitGlue).unwrap();
                    let object = fragment.map(|bytes| Object::parse(bytes).unwrap());
                    assert!(half.finish(object.as_ref(), state).unwrap().elf == plain);
                    let mut out = vec![0; plain.len()];
                    let mut into = || half.finish_into(object.as_ref(), state, &mut out).unwrap();
                    into();
                    let (calls, size) = allocations(into);
                    assert_eq!(size, Size::Written(plain.len()));
                    assert!(plans.is_none() || calls == 0, "{calls} with plans");
                    assert!(out == plain);
                    finished += 1;
                }
            }
        }
    }
    assert!(finished > 100, "{finished}");
}

#[test]
fn a_half_holds_to_the_state_it_was_begun_with() {
    let mut part = vertex();
    part.interface.spec_operands = vec![dovetail::kinds::SpecOperand { id: 3, default: 5, bits: 32 }];
    let StageKind::Vertex(interface) = &mut part.interface.kind else { unreachable!() };
    interface.pre_rasterization.multiview = true;
    let vertex = Object::parse(&part.load_symbol(20, "spec_3_0").build()).unwrap();
    let (state, objects) = (state(), [&vertex]);
    let layout = ResolvedLayout::new(&state.layout).unwrap();
    let half = job(&objects, &state, &layout, None).half().unwrap();
    let of = |stage, id| dovetail::state::SpecializationEntry { stage, id, value: 9 };
    let plain = |state: &PipelineState| job(&objects, state, &layout, None).link().unwrap().elf;
    let mut other = state.clone();
    other.vertex.bindings[0].stride += 4;
    let why = half.finish(None, &other).unwrap_err().to_string();
    assert!(why.contains("`vertex`"), "{why}");
    // Everything else may differ, also what the vertex part takes from the state.
    let with = |entry| PipelineState { specialization: vec![entry], ..state.clone() };
    let others = [
        PipelineState { device_index: 1, ..state.clone() },
        PipelineState { view_mask: 3, ..state.clone() },
        with(of(None, 3)),
        with(of(Some(Stage::Fragment), 3)),
        with(of(None, 4)),
    ];
    for other in &others {
        assert!(half.finish(None, other).unwrap().elf == plain(other));
    }
    assert!(plain(&others[2]) != plain(&others[3]), "the operand is the vertex stage's");
    let fragment = Object::parse(&fragment().build()).unwrap();
    for wrong in [vec![&fragment], vec![&vertex, &fragment], vec![]] {
        assert!(job(&wrong, &state, &layout, None).half().is_err());
    }
}
