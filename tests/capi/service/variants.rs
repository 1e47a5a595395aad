//! Variants of parts: requested when a pipeline first needs them, and shared by all that do.

use super::*;
use dovetail::compile::variant_of;
use dovetail::metadata::interface::StageKind;

/// The part for any request: vertex shaders without views, fragment shaders that read inputs in the pixel, and the variants
/// of both.
fn part_for(request: &StageRequest) -> PartAnswer {
    let is_variant = is_known(request);
    let mut part = if request.stage == Stage::Vertex { link_support::vertex() } else { link_support::fragment() };
    match &mut part.interface.kind {
        StageKind::Vertex(vertex) => vertex.pre_rasterization.multiview = is_variant,
        StageKind::Fragment(fragment) => (fragment.per_pixel, fragment.per_sample) = (!is_variant, is_variant),
        StageKind::Compute(_) => unreachable!("these tests have none"),
    }
    PartAnswer { key: key(request), elf: Some(Bytes(part.build())) }
}

fn is_known(request: &StageRequest) -> bool {
    Some(&request.known) == variant_of(request.stage).as_ref()
}

fn is_variant(ask: &Ask) -> bool {
    matches!(ask, Ask::Stage(StageAsk { request, .. }) if is_known(request))
}

/// Answers requests for parts, not for variants.
fn parts_only(ask: &Ask) -> Vec<Reply> {
    match ask {
        Ask::Stage(StageAsk { request, .. }) if is_known(request) => vec![],
        Ask::Stage(StageAsk { id, request, .. }) => {
            vec![Reply::Tell(Tell::Stage { id: *id, part: Some(part_for(request)) })]
        }
        ask => silent(ask),
    }
}

/// Both shaders, whose parts are there.
fn both(context: &Context) -> [Shader; 2] {
    let both = [shader(context, Stage::Vertex, 1), shader(context, Stage::Fragment, 2)];
    both.iter().for_each(|shader| assert_eq!(shader.wait(LONG).unwrap(), ShaderStatus::Ready));
    both
}

/// A state that shades every sample, with a write mask to tell states apart.
fn shaded(write_mask: u8) -> PipelineState {
    let mut state = state();
    (state.color.samples, state.color.sample_shading) = (4, true);
    state.color.attachments[0].write_mask = write_mask;
    state
}

#[test]
fn a_missing_variant_is_requested_once_and_linked_when_it_comes() {
    let folder = Folder::new();
    let service = folder.serve(parts_only);
    let context = folder.context();
    let [vs, fs] = both(&context);
    let shaders = [&vs, &fs];
    let forbidden = pipeline_in(&context, &shaders, PipelineFlags::FAIL_ON_COMPILE, &shaded(15));
    assert!(matches!(forbidden.status().unwrap().phase, Phase::NeedsWhole(_)));
    let first = pipeline_in(&context, &shaders, PipelineFlags::NO_OPTIMIZE, &shaded(15));
    let Ask::Stage(StageAsk { id, request, class: Priority::Soon, .. }) = &*service.until(1, is_variant) else {
        panic!("it is not urgent")
    };
    let second = pipeline_in(&context, &shaders, PipelineFlags::NO_OPTIMIZE, &shaded(7));
    for made in [&first, &second] {
        assert_eq!(made.status().unwrap().phase, Phase::Pending(Stage::Fragment));
    }
    assert_eq!(first.wait(1, Duration::from_millis(20)).unwrap().phase, Phase::Pending(Stage::Fragment));
    service.until(1, |ask| matches!(ask, Ask::Class { id: of, class: Priority::Waits } if of == id));
    service.tell(&Tell::Stage { id: *id, part: Some(part_for(request)) });
    for made in [&first, &second] {
        assert_eq!(made.wait(1, LONG).unwrap().phase, Phase::Done(PipelineRoute::Linked));
    }
    // The next one has it, and so has the one that may not request it.
    let third = pipeline_in(&context, &shaders, PipelineFlags::NO_OPTIMIZE, &shaded(3));
    assert_eq!(third.status().unwrap().phase, Phase::Done(PipelineRoute::Linked));
    assert_eq!(forbidden.wait(1, LONG).unwrap().phase, Phase::Done(PipelineRoute::Linked));
    assert_eq!((service.count(is_stage), service.count(is_variant), service.count(is_pipeline)), (3, 1, 0));
    let seen = events_until(&context, |event| event.kind == EventKind::Pipeline);
    let of_shaders = seen.iter().filter(|event| event.kind == EventKind::Shader).count();
    assert_eq!(of_shaders, 2, "the driver has created two shaders: {seen:?}");
}

#[test]
fn a_variant_that_cannot_be_compiled_leaves_the_whole_pipeline_to_be_compiled() {
    let folder = Folder::new();
    let service = folder.serve(|ask| match ask {
        Ask::Stage(StageAsk { id, request, .. }) if is_known(request) => {
            vec![Reply::Tell(Tell::Failed { id: *id, error: Error::unsupported("a variant", "by this test") })]
        }
        ask => parts_only(ask),
    });
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline_in(&context, &[&vs, &fs], PipelineFlags::default(), &shaded(15));
    service.until(1, is_pipeline);
    assert_eq!(service.count(is_variant), 1);
    until("it is compiled whole", || matches!(made.status().unwrap().phase, Phase::CompilingWhole(_)));
}

#[test]
fn a_variant_is_cancelled_with_the_last_pipeline_that_needs_it() {
    let folder = Folder::new();
    let service = folder.serve(parts_only);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline_in(&context, &[&vs, &fs], PipelineFlags::default(), &shaded(15));
    let Ask::Stage(StageAsk { id, .. }) = &*service.until(1, is_variant) else { unreachable!() };
    drop(made);
    service.until(1, |ask| matches!(ask, Ask::Cancel { id: of } if of == id));
    let _again = pipeline_in(&context, &[&vs, &fs], PipelineFlags::default(), &shaded(15));
    service.until(2, is_variant);
}

#[test]
fn variants_of_both_stages_are_requested_together() {
    let folder = Folder::new();
    let service = folder.serve(parts_only);
    let context = folder.context();
    let [vs, fs] = both(&context);
    let state = PipelineState { view_mask: 1, ..shaded(15) };
    let made = pipeline_in(&context, &[&vs, &fs], PipelineFlags::NO_OPTIMIZE, &state);
    for n in [1, 2] {
        service.until(2, is_variant);
        let Ask::Stage(StageAsk { id, request, .. }) = &*service.until(n, is_variant) else { unreachable!() };
        service.tell(&Tell::Stage { id: *id, part: Some(part_for(request)) });
    }
    assert_eq!(made.wait(1, LONG).unwrap().phase, Phase::Done(PipelineRoute::Linked));
}

#[test]
fn a_pipeline_that_may_not_be_compiled_is_linked_when_others_variant_comes() {
    let folder = Folder::new();
    let service = folder.serve(parts_only);
    let context = folder.context();
    let [vs, fs] = both(&context);
    let forbidden = pipeline_in(&context, &[&vs, &fs], PipelineFlags::FAIL_ON_COMPILE, &shaded(15));
    let asking = pipeline_in(&context, &[&vs, &fs], PipelineFlags::NO_OPTIMIZE, &shaded(7));
    let Ask::Stage(StageAsk { id, request, .. }) = &*service.until(1, is_variant) else { unreachable!() };
    service.tell(&Tell::Stage { id: *id, part: Some(part_for(request)) });
    // Nobody calls anything for it.
    until("it is linked", || forbidden.generation() == 1);
    assert_eq!(asking.wait(1, LONG).unwrap().generation, 1);
}

#[test]
fn a_variant_is_as_urgent_as_the_pipelines_that_requested_it() {
    let folder = Folder::new();
    let service = folder.serve(parts_only);
    let context = folder.context();
    let [vs, fs] = both(&context);
    let [made, other] = [15, 7].map(|mask| pipeline_in(&context, &[&vs, &fs], PipelineFlags::default(), &shaded(mask)));
    let Ask::Stage(StageAsk { id, .. }) = *service.until(1, is_variant) else { unreachable!() };
    let class = |of| move |ask: &Ask| matches!(ask, Ask::Class { id: given, class } if (*given, *class) == (id, of));
    let mut waits = 0;
    for pipeline in [&made, &other] {
        // The first waits may end before the pipeline is among those that have requested it.
        while service.count(class(Priority::Waits)) == waits {
            assert_eq!(pipeline.wait(1, Duration::from_millis(5)).unwrap().generation, 0);
        }
        waits = service.count(class(Priority::Waits));
        service.until(waits, class(Priority::Soon));
    }
    made.set_priority(1);
    service.until(waits + 1, class(Priority::Waits));
    drop(made);
    service.until(waits + 1, class(Priority::Soon));
}

#[test]
fn a_variant_that_the_service_could_not_compile_now_is_requested_again_by_the_next_pipeline() {
    let folder = Folder::new();
    let service = folder.serve(|ask| match ask {
        Ask::Stage(StageAsk { id, request, .. }) if is_known(request) => {
            vec![Reply::Tell(Tell::Failed { id: *id, error: Error::environment("no worker starts") })]
        }
        ask => parts_only(ask),
    });
    let context = folder.context();
    let [vs, fs] = both(&context);
    let first = pipeline_in(&context, &[&vs, &fs], PipelineFlags::default(), &shaded(15));
    service.until(1, is_pipeline);
    assert!(matches!(first.status().unwrap().phase, Phase::CompilingWhole(_)));
    let _second = pipeline_in(&context, &[&vs, &fs], PipelineFlags::default(), &shaded(7));
    service.until(2, is_variant);
    service.until(2, is_pipeline);
    assert_eq!(service.count(is_variant), 2);
}

#[test]
fn without_the_disk_a_variant_there_is_pending() {
    let folder = Folder::new();
    let made = cache::full(&folder.cache());
    let of = |known: bool| {
        let mut request = request(Stage::Fragment, module(2));
        request.known = variant_of(Stage::Fragment).filter(|_| known).unwrap_or_default();
        request
    };
    [of(false), of(true)].iter().for_each(|request| made.put_bytes(request, &part_for(request).elf.unwrap().0));
    let service = folder.serve(silent);
    let context = folder.context();
    // The variant concerns the pipeline: what the shader must not compile is its own part.
    let fs = shader_with(&context, Stage::Fragment, 2, |info| info.fail_on_compile = true);
    let vs = shader(&context, Stage::Vertex, 1);
    let flags = PipelineFlags::NO_DISK | PipelineFlags::FAIL_ON_COMPILE;
    let (state, placement) = (shaded(15), Placement::Adjacent);
    let layout = Layout::new(&state.layout).unwrap();
    let shaders = [&vs, &fs];
    let info =
        PipelineInfo { shaders: &shaders, layout: &layout, state: &state, placement, flags, priority: 0, user: 0 };
    assert_eq!(context.link_into(&info, &mut []).unwrap(), Answer::Pending(Stage::Fragment));
    let made = Pipeline::new(&context, &info).unwrap();
    until("the thread finds it", || made.generation() == 1);
    assert_eq!(service.heard().len(), 0);
}
