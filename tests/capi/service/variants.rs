//! Variants of parts: requested when a pipeline first needs them, and shared by all that do.

use super::*;
use dovetail::compile::variant_of;
use dovetail::metadata::interface::StageKind;

/// A fragment part that reads inputs in the pixel, or its variant that reads them at the sample.
fn fragment_of(request: &StageRequest) -> PartAnswer {
    let mut part = link_support::fragment();
    let StageKind::Fragment(fragment) = &mut part.interface.kind else { unreachable!() };
    let is_variant = is_known(request);
    (fragment.per_pixel, fragment.per_sample) = (!is_variant, is_variant);
    PartAnswer { key: key(request), elf: Some(Bytes(part.build())) }
}

fn is_known(request: &StageRequest) -> bool {
    Some(&request.known) == variant_of(Stage::Fragment).as_ref()
}

fn is_variant(ask: &Ask) -> bool {
    matches!(ask, Ask::Stage(StageAsk { request, .. }) if is_known(request))
}

/// Answers requests for parts, not for variants.
fn parts_only(ask: &Ask) -> Vec<Reply> {
    match ask {
        Ask::Stage(StageAsk { request, .. }) if is_known(request) => vec![],
        Ask::Stage(StageAsk { id, request, .. }) if request.stage == Stage::Fragment => {
            vec![Reply::Tell(Tell::Stage { id: *id, part: Some(fragment_of(request)) })]
        }
        ask => honest(ask),
    }
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
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    assert_eq!((vs.wait(LONG).unwrap(), fs.wait(LONG).unwrap()), (ShaderStatus::Ready, ShaderStatus::Ready));
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
    service.tell(&Tell::Stage { id: *id, part: Some(fragment_of(request)) });
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
fn a_variant_that_nobody_needs_any_more_is_cancelled() {
    let folder = Folder::new();
    let service = folder.serve(parts_only);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline_in(&context, &[&vs, &fs], PipelineFlags::default(), &shaded(15));
    let Ask::Stage(StageAsk { id, .. }) = &*service.until(1, is_variant) else { unreachable!() };
    drop((vs, fs, made));
    service.until(1, |ask| matches!(ask, Ask::Cancel { id: of } if of == id));
}
