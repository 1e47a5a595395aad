//! Pipelines compiled by the service: as a whole if they cannot be linked, and for better code if they can.

use super::*;

/// Parts compiled with everything known, as a service sends them.
fn whole_parts(state: &PipelineState) -> Vec<PartAnswer> {
    let (vertex, fragment) = cache::whole(state);
    [vertex, fragment].map(|(request, part)| PartAnswer { key: key(&request), elf: Some(Bytes(part.build())) }).into()
}

#[test]
fn what_cannot_be_linked_is_compiled_whole() {
    let folder = Folder::new();
    let made = cache::full(&folder.cache());
    cache::put_unlinkable(&made);
    let service = folder.serve(silent);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    let reason = FullCompile::Specialization { id: 7 };
    let Phase::CompilingWhole(why) = made.status().unwrap().phase else { panic!("it is not asked for") };
    assert_eq!(why.full_compile(), Some(&reason));
    let asked = service.until(1, is_pipeline);
    let Ask::Pipeline(PipelineAsk { id, stages, state: asked_state, class, .. }) = &*asked else { unreachable!() };
    assert_eq!((asked_state, *class), (&state(), Priority::Soon));
    let expect = [request(Stage::Vertex, module(1)), request(Stage::Fragment, module(2))];
    assert_eq!(stages[..], expect);
    service.tell(&Tell::Pipeline { id: *id, verdict: Verdict::Take("needed".into()), parts: whole_parts(&state()) });
    assert_eq!(made.wait(1, LONG).unwrap().phase, Phase::Done(PipelineRoute::Whole(Some(reason))));
    // The parts in memory are for the first state.
    let mut other = state();
    other.color.attachments[0].write_mask = 7;
    let failing = pipeline_in(&context, &[&vs, &fs], PipelineFlags::LINK_TIME_OPTIMIZATION, &other);
    let asked = service.until(2, is_pipeline);
    let Ask::Pipeline(PipelineAsk { id, .. }) = &*asked else { unreachable!() };
    service.tell(&Tell::Failed { id: *id, error: Error::malformed("stage") });
    assert!(matches!(failing.wait(1, LONG).unwrap().phase, Phase::Failed(_)));
    // Without a service, the caller must compile.
    let left = pipeline_in(&context, &[&vs, &fs], PipelineFlags::default(), &other);
    drop(service);
    let PipelineStatus { phase, .. } = left.wait(1, LONG).unwrap();
    assert!(matches!(phase, Phase::NeedsWhole(_)), "{phase:?}");
}

#[test]
fn a_better_pipeline_replaces_a_linked_one() {
    let folder = Folder::new();
    drop(cache::full(&folder.cache()));
    let service = folder.serve(silent);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    assert_eq!((made.generation(), made.status().unwrap().optimization), (1, Optimization::Offered));
    let linked = bytes(&made);
    let asked = service.until(1, is_pipeline);
    let Ask::Pipeline(PipelineAsk { id, class: Priority::Optimize, .. }) = *asked else { panic!() };
    made.used(7);
    made.used(1);
    let mut draws = 0;
    for n in 1.. {
        let Ask::Used { draws: said } = &*service.until(n, |ask| matches!(ask, Ask::Used { .. })) else { panic!() };
        assert!(said.iter().all(|(of, _)| *of == id));
        draws += said.iter().map(|(_, n)| n).sum::<u64>();
        if draws == 8 {
            break;
        }
    }
    // Concurrent readers during the replacement see one ELF or the other, and the generation only grows.
    let parts = whole_parts(&state());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut out, mut last) = (vec![0; 1 << 16], 1);
            while last < 2 {
                let seen = made.generation();
                let (size, generation) = made.read(&mut out).unwrap().expect("an ELF");
                assert!(generation >= seen && generation >= last, "{last} {seen} {generation}");
                let dovetail::runtime::Size::Written(size) = size else { panic!("64 KiB are enough") };
                assert_eq!(out[..size] == linked, generation == 1);
                last = generation;
            }
        });
        service.tell(&Tell::Pipeline { id, verdict: Verdict::Take("2 waves more".into()), parts });
        reader.join().unwrap();
    });
    let status = made.wait(2, LONG).unwrap();
    assert_eq!((status.generation, status.optimization), (2, Optimization::Taken));
    assert_eq!(status.phase, Phase::Done(PipelineRoute::Optimized("2 waves more".into())));
    assert_eq!(context.stats().unwrap().optimized, 1);
    // The service keeps counting uses, for a later compiler.
    made.used(5);
    service.until(1, |ask| matches!(ask, Ask::Used { draws } if *draws == [(id, 5)]));
    let told = events_until(&context, |event| event.kind == EventKind::Pipeline);
    assert_eq!(told.last().unwrap().generation, 2);
}

#[test]
fn a_linked_pipeline_that_is_as_good_is_kept() {
    let folder = Folder::new();
    drop(cache::full(&folder.cache()));
    let service = folder.serve(silent);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let ask = |n: usize| match &*service.until(n, is_pipeline) {
        Ask::Pipeline(PipelineAsk { id, .. }) => *id,
        _ => unreachable!(),
    };
    let kept = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    let parts = vec![];
    service.tell(&Tell::Pipeline { id: ask(1), verdict: Verdict::Keep("0.3 %".into()), parts });
    let status = kept.wait(2, LONG).unwrap();
    assert_eq!((status.generation, status.optimization), (1, Optimization::Kept("0.3 %".into())));
    let broken = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    // Parts that do not form a pipeline: the existing ELF stays.
    let parts = vec![part_of(&request(Stage::Compute, module(3)))];
    service.tell(&Tell::Pipeline { id: ask(2), verdict: Verdict::Take("all better".into()), parts });
    let status = broken.wait(2, LONG).unwrap();
    assert!(matches!(status.optimization, Optimization::Failed(_)), "{status:?}");
    assert_eq!((status.generation, status.phase), (1, Phase::Done(PipelineRoute::Linked)));
    drop((kept, broken));
    let gone = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    let id = ask(3);
    drop(gone);
    service.until(1, |ask| matches!(ask, Ask::Cancel { id: given } if *given == id));
}

#[test]
fn a_link_without_a_handle_says_that_it_is_coming() {
    let folder = Folder::new();
    let service = folder.serve(silent);
    let context = folder.context();
    let vs = shader(&context, Stage::Vertex, 1);
    service.until(1, is_stage);
    let state = state();
    let layout = Layout::new(&state.layout).unwrap();
    let (shaders, flags, placement) = ([&vs], PipelineFlags::default(), Placement::Adjacent);
    let info =
        PipelineInfo { shaders: &shaders, layout: &layout, state: &state, placement, flags, priority: 0, user: 0 };
    assert_eq!(context.link_into(&info, &mut []).unwrap(), Answer::Pending(Stage::Vertex));
    drop(service);
    until("it is away", || matches!(context.reach().unwrap(), Reach::Away(_)));
    assert_eq!(context.link_into(&info, &mut []).unwrap(), Answer::NotCached(Stage::Vertex));
}

#[test]
fn what_nobody_will_compile_is_not_cached_at_once() {
    let folder = Folder::new();
    let service = folder.serve(silent);
    let context = folder.context();
    let asked = shader(&context, Stage::Vertex, 1);
    service.until(1, is_stage);
    let forbidden = |stage, number| shader_with(&context, stage, number, |info| info.fail_on_compile = true);
    let [vs, fs] = [forbidden(Stage::Vertex, 4), forbidden(Stage::Fragment, 5)];
    for _ in 0..100 {
        for shaders in [[&vs, &fs], [&asked, &fs]] {
            let made = pipeline(&context, &shaders, PipelineFlags::FAIL_ON_COMPILE);
            assert!(matches!(made.status().unwrap().phase, Phase::NotCached(_)));
        }
    }
    let whole = PipelineFlags::FAIL_ON_COMPILE | PipelineFlags::LINK_TIME_OPTIMIZATION;
    assert!(matches!(pipeline(&context, &[&asked, &fs], whole).status().unwrap().phase, Phase::NotCached(_)));
    assert_eq!(context.next_event().unwrap().map(|event| event.kind), Some(EventKind::Service));
    assert_eq!(context.next_event().unwrap(), None);
}

#[test]
fn what_was_pending_and_will_not_come_is_told() {
    let folder = Folder::new();
    drop(cache::full(&folder.cache()));
    let _service = folder.serve(silent);
    let context = folder.context();
    let cold = |stage, number| {
        shader_with(&context, stage, number, |info| (info.no_disk, info.fail_on_compile) = (true, true))
    };
    // One that is in the cache.
    let there = cold(Stage::Vertex, 1);
    let told = events_until(&context, |event| event.kind == EventKind::Shader);
    assert_eq!((told.last().unwrap().not_cached, there.status().unwrap()), (false, ShaderStatus::Ready));
    let missing = cold(Stage::Fragment, 9);
    let told = events_until(&context, |event| event.kind == EventKind::Shader);
    assert_eq!((told.last().unwrap().not_cached, missing.status().unwrap()), (true, ShaderStatus::NotCached));
    let made = pipeline(&context, &[&there, &missing], PipelineFlags::FAIL_ON_COMPILE | PipelineFlags::NO_DISK);
    let told = events_until(&context, |event| event.kind == EventKind::Pipeline);
    assert!(told.last().unwrap().not_cached);
    assert_eq!(made.status().unwrap().phase, Phase::NotCached(Stage::Fragment));
    assert_eq!(context.reach().unwrap(), Reach::Idle, "the service is not asked");
}

#[test]
fn parts_that_come_and_cannot_be_linked_are_told() {
    let folder = Folder::new();
    let service = folder.serve(silent);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::FAIL_ON_COMPILE);
    assert!(matches!(made.status().unwrap().phase, Phase::Pending(_)));
    service.until(2, is_stage);
    for ask in service.heard() {
        let Ask::Stage(StageAsk { id, request, .. }) = &*ask else { continue };
        let mut part = part_of(request);
        if request.stage == Stage::Vertex {
            let mut other = link_support::vertex();
            other.interface.specialization = vec![dovetail::kinds::SpecValue { id: 7, value: 2, default: 1 }];
            part.elf = Some(Bytes(other.build()));
        }
        service.tell(&Tell::Stage { id: *id, part: Some(part) });
    }
    let told = events_until(&context, |event| event.kind == EventKind::Pipeline);
    let why = told.last().unwrap().failure.as_ref().and_then(|why| why.full_compile());
    assert_eq!(why, Some(&FullCompile::Specialization { id: 7 }));
    assert!(matches!(made.status().unwrap().phase, Phase::NeedsWhole(_)));
}

#[test]
fn only_what_can_come_is_waited_for() {
    let folder = Folder::new();
    drop(cache::full(&folder.cache()));
    let service = folder.serve(silent);
    let context = folder.context();
    let [vs, fs, missing] =
        [(Stage::Vertex, 1), (Stage::Fragment, 2), (Stage::Vertex, 4)].map(|(stage, n)| shader(&context, stage, n));
    let linked = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    let pending = pipeline(&context, &[&missing, &fs], PipelineFlags::default());
    let at_most_one = pipeline(&context, &[&missing, &fs], PipelineFlags::NO_OPTIMIZE);
    let start = Instant::now();
    let coming = |pipeline: &Pipeline, generation| pipeline.wait(generation, LONG).unwrap().coming;
    assert_eq!((coming(&linked, 0), coming(&linked, 1), coming(&linked, 3)), (2, 2, 2));
    assert_eq!((coming(&pending, 0), coming(&pending, 3), coming(&at_most_one, 2)), (2, 2, 1));
    assert!(start.elapsed() < LONG / 2, "none of these waits");
    assert_eq!(linked.wait(2, Duration::from_millis(50)).unwrap().generation, 1);
    service.until(1, is_pipeline);
    drop(service);
    until("it is away", || matches!(context.reach().unwrap(), Reach::Away(_)));
    assert_eq!((coming(&linked, 2), coming(&pending, 1)), (1, 0));
    assert!(start.elapsed() < LONG / 2, "the waits end with the service");
}

#[test]
fn the_service_forgets_answered_offers_of_dropped_pipelines() {
    let folder = Folder::new();
    drop(cache::full(&folder.cache()));
    let service = folder.serve(silent);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    let Ask::Pipeline(PipelineAsk { id, .. }) = *service.until(1, is_pipeline) else { unreachable!() };
    service.tell(&Tell::Pipeline { id, verdict: Verdict::Keep("as good".into()), parts: vec![] });
    assert!(matches!(made.wait(2, LONG).unwrap().optimization, Optimization::Kept(_)));
    drop(made);
    service.until(1, |ask| matches!(ask, Ask::Cancel { id: given } if *given == id));
}
