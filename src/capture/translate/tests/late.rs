//! State that commands set completes a pipeline.

use super::*;

#[test]
fn what_commands_set_completes_a_pipeline_that_waits_for_it() {
    let mut whole = plain();
    let late = LateState {
        vertex_input: whole.vertex_input_state.take(),
        rasterizer_discard: Some(0),
        ..LateState::default()
    };
    let wanted = graphics(&plain(), &given()).unwrap();
    assert!(!waits(&plain(), &given()));
    dynamic(&mut whole, dynamic::VERTEX_INPUT);
    whole.dynamic_state.iter_mut().for_each(|states| states.dynamic_state.push(dynamic::RASTERIZER_DISCARD));
    assert!(waits(&whole, &given()));
    let completed = complete(&whole, &late, &given(), &mut |_| unreachable!()).unwrap();
    assert_eq!(graphics(&completed, &given()).unwrap(), wanted);
    let discarding = LateState { rasterizer_discard: Some(1), ..late.clone() };
    let discarding = complete(&whole, &discarding, &given(), &mut |_| unreachable!()).unwrap();
    let mut same = plain();
    same.rasterization_state.as_mut().unwrap().rasterizer_discard_enable = 1;
    assert_eq!(graphics(&discarding, &given()).unwrap(), graphics(&same, &given()).unwrap());
    for unset in
        [LateState { vertex_input: None, ..late.clone() }, LateState { rasterizer_discard: None, ..late.clone() }]
    {
        assert_eq!(complete(&whole, &unset, &given(), &mut |_| unreachable!()), None);
    }

    // The same from libraries, one of which is made of libraries: only those with the vertex input become others.
    let mut given = given();
    let of = |names: &[u64]| {
        let libraries = Some(names.iter().copied().map(Hash).collect());
        Next { libraries, ..Next::new(s_type::LIBRARIES) }
    };
    given.libraries.insert(Hash(100), library(3, &whole));
    given.libraries.insert(Hash(101), library(12, &plain()));
    given
        .libraries
        .insert(Hash(102), GraphicsPipeline { flags: 0x800, p_next: vec![of(&[100])], ..Default::default() });
    let linked = GraphicsPipeline { p_next: vec![of(&[102, 101])], ..Default::default() };
    assert!(waits(&linked, &given) && graphics(&linked, &given).is_err());
    let mut new = Vec::new();
    let define = &mut |library| {
        new.push(library);
        Hash(200 + new.len() as u64)
    };
    let completed = complete(&linked, &late, &given, define).unwrap();
    given.libraries.extend((201..).map(Hash).zip(new));
    assert_eq!(completed.p_next[0].libraries, Some(vec![Hash(202), Hash(101)]));
    assert_eq!(graphics(&completed, &given).unwrap(), wanted);
    // Unknown ones, and more than one may read.
    given.libraries.remove(&Hash(101));
    assert_eq!(complete(&linked, &late, &given, &mut |_| Hash(1)), None);
    given.libraries.insert(Hash(102), GraphicsPipeline { p_next: vec![of(&[102, 102])], ..whole });
    assert_eq!(complete(&linked, &late, &given, &mut |_| Hash(1)), None);
}

#[test]
fn samples_and_blending_that_commands_set_are_like_those_of_a_pipeline() {
    let mut same = plain();
    let multisample = same.multisample_state.as_mut().unwrap();
    (multisample.alpha_to_coverage_enable, multisample.alpha_to_one_enable) = (1, 1);
    let equations = same.color_blend_state.as_mut().unwrap().attachments.iter_mut().enumerate().map(|(n, one)| {
        // Source alpha, a second source, and constants.
        (one.blend_enable, one.src_color_blend_factor) = (1, [6, 15, 10][n]);
        BlendAttachment { blend_enable: 9, color_write_mask: 9, ..one.clone() }
    });
    let late = LateState {
        samples: Some(4),
        alpha_to_coverage: Some(1),
        alpha_to_one: Some(1),
        blend_equations: (0..).zip(equations).collect(),
        line_mode: Some(1),
        ..LateState::default()
    };
    let mut waiting = same.clone();
    waiting.multisample_state = None;
    for one in &mut waiting.color_blend_state.as_mut().unwrap().attachments {
        *one = BlendAttachment { blend_enable: 1, color_write_mask: one.color_write_mask, ..Default::default() };
    }
    let states = [
        dynamic::SAMPLES,
        dynamic::ALPHA_TO_COVERAGE,
        dynamic::ALPHA_TO_ONE,
        dynamic::BLEND_EQUATION,
        dynamic::LINE_MODE,
    ];
    waiting.dynamic_state = Some(DynamicState { flags: 0, dynamic_state: states.to_vec() });
    let completed = |late: &LateState| complete(&waiting, late, &given(), &mut |_| unreachable!());
    assert_eq!(graphics(&completed(&late).unwrap(), &given()).unwrap(), graphics(&same, &given()).unwrap());
    let smooth = completed(&LateState { line_mode: Some(3), ..late.clone() }).unwrap();
    assert!(graphics(&smooth, &given()).unwrap_err().to_string().contains("smooth lines"));
    for unset in [
        LateState { samples: None, ..late.clone() },
        LateState { alpha_to_coverage: None, ..late.clone() },
        LateState { alpha_to_one: None, ..late.clone() },
        LateState { blend_equations: late.blend_equations.clone().into_iter().take(2).collect(), ..late.clone() },
        LateState { line_mode: None, ..late.clone() },
    ] {
        assert_eq!(completed(&unset), None);
    }
}

#[test]
fn states_that_are_dynamic_as_a_whole_may_be_missing() {
    let mut waiting = plain();
    let blends = waiting.color_blend_state.as_ref().unwrap().attachments.clone();
    let equations: BTreeMap<u32, BlendAttachment> = (0..).zip(blends.iter().cloned()).collect();
    let states = [
        dynamic::RASTERIZER_DISCARD,
        dynamic::STREAM,
        dynamic::CONSERVATIVE,
        dynamic::BLEND_ENABLE,
        dynamic::BLEND_EQUATION,
        dynamic::WRITE_MASK,
    ];
    waiting.dynamic_state = Some(DynamicState { flags: 0, dynamic_state: states.to_vec() });
    (waiting.rasterization_state, waiting.color_blend_state) = (None, None);
    let late = LateState {
        rasterizer_discard: Some(0),
        stream: Some(0),
        conservative: Some(0),
        blend_equations: equations,
        ..LateState::default()
    };
    let completed = |late: &LateState| complete(&waiting, late, &given(), &mut |_| unreachable!());
    let state = graphics(&completed(&late).unwrap(), &given()).unwrap().state;
    assert_eq!(state.color.attachments.len(), graphics(&plain(), &given()).unwrap().state.color.attachments.len());
    assert!(state.color.attachments.iter().all(|one| one.blend && one.write_mask == 15));
    assert!(!state.raster.inner_coverage);
    let inner = graphics(&completed(&LateState { conservative: Some(2), ..late.clone() }).unwrap(), &given()).unwrap();
    assert!(inner.state.raster.inner_coverage);
    let streamed = completed(&LateState { stream: Some(1), ..late.clone() }).unwrap();
    assert!(graphics(&streamed, &given()).unwrap_err().to_string().contains("rasterizationStream"));
    for unset in [LateState { stream: None, ..late.clone() }, LateState { conservative: None, ..late.clone() }] {
        assert_eq!(completed(&unset), None);
    }
    // A library without the part gets none of it.
    let part = complete(&library(1, &waiting), &late, &given(), &mut |_| unreachable!()).unwrap();
    assert_eq!((part.rasterization_state, part.color_blend_state), (None, None));
}
