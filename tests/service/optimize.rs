//! Generation 2: linked pipelines are compiled as a whole when they are used, and replaced only by better code.

use crate::harness::{Client, PATIENCE, Service, request};
use crate::shaders;
use crate::smallest::shader;
use dovetail::cache::Key;
use dovetail::compile::request::{Module, StageRequest, default_wave};
use dovetail::emu::{self, RunLimits};
use dovetail::error::ErrorKind;
use dovetail::frame::Bytes;
use dovetail::link::{EmitGlue, Placement, link};
use dovetail::proof::read_inputs;
use dovetail::service::journal::Row;
use dovetail::service::journal_dir;
use dovetail::service::records::Records;
use dovetail::state::PipelineState;
use dovetail::target::{Gpu, Stage};
use dovetail::wire::{Ask, PartAnswer, PipelineAsk, Priority, StageAsk, Tell, Verdict};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Shaders of `testdata/shaders` with a matching state.
struct Pipeline {
    modules: Vec<Vec<u8>>,
    stages: Vec<StageRequest>,
    state: PipelineState,
}

impl Pipeline {
    /// `None` if glslangValidator is missing; the skip is recorded.
    fn new(test: &str, dir: &Path, names: &[(&str, Stage)]) -> Option<Self> {
        let mut paths = Vec::new();
        for (name, _) in names {
            paths.push(shaders::spirv(test, dir, name)?);
        }
        let state = dir.join("state.toml");
        let mut template = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        let made = template.args(["state", "template"]).args(&paths).arg("-o").arg(&state).status();
        assert!(made.expect("the program").success());
        let state = toml::from_str(&std::fs::read_to_string(state).expect("a state")).expect("a state");
        let modules: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).expect("a module")).collect();
        let request = |(module, (_, stage)): (&Vec<u8>, &(&str, Stage))| StageRequest {
            target: Gpu::Gfx1030,
            stage: *stage,
            module: Module::new(module.clone()).expect("a module").digest(),
            entry_point: "main".into(),
            specialization: Vec::new(),
            wave: default_wave(Gpu::default(), *stage, false),
            options: Default::default(),
            known: Default::default(),
        };
        let stages = modules.iter().zip(names).map(request).collect();
        Some(Self { modules, stages, state })
    }

    /// Its parts, in the order of its stages.
    fn parts(&self, client: &mut Client) -> Vec<Vec<u8>> {
        let mut parts = BTreeMap::new();
        let mut asked = BTreeMap::new();
        for (module, request) in self.modules.iter().zip(&self.stages) {
            client.give(module);
            let id = client.next_id();
            asked.insert(id, request.stage);
            let (request, class) = (request.clone(), Priority::Waits);
            client.send(&Ask::Stage(StageAsk { id, request, class, inline: true, cached_only: false }));
        }
        while parts.len() < self.stages.len() {
            let Tell::Stage { id, part: Some(PartAnswer { elf: Some(Bytes(elf)), .. }) } = client.next() else {
                continue;
            };
            parts.insert(asked[&id], elf);
        }
        parts.into_values().collect()
    }

    fn offer(&self, client: &mut Client, class: Priority, uses: u64) -> u64 {
        self.modules.iter().for_each(|module| client.give(module));
        let id = client.next_id();
        client.send(&Ask::Pipeline(PipelineAsk {
            id,
            stages: self.stages.clone(),
            state: self.state.clone(),
            placement: Placement::Adjacent,
            class,
            uses,
            inline: true,
        }));
        id
    }

    fn link(&self, parts: &[Vec<u8>]) -> Vec<u8> {
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        link(&parts, &self.state, Placement::Adjacent, &EmitGlue).expect("they fit")
    }
}

fn verdict(client: &mut Client) -> (Verdict, Vec<Vec<u8>>) {
    let (verdict, parts) = verdict_and_parts(client);
    (verdict, parts.into_iter().map(|(_, elf)| elf).collect())
}

fn verdict_and_parts(client: &mut Client) -> (Verdict, Vec<(Key, Vec<u8>)>) {
    match client.next() {
        Tell::Pipeline { verdict, parts, .. } => {
            let parts = parts.into_iter().map(|part| (part.key, part.elf.expect("it was to be sent").0));
            (verdict, parts.collect())
        }
        other => panic!("no verdict: {other:?}"),
    }
}

/// Waits until the journal's file has a verdict: it is sent before it is written.
fn until_remembered(service: &Service) {
    let decided = || {
        let records = Records::read(&journal_dir(&service.cache_dir()));
        records.all().any(|(_, bytes)| Row::parse(&bytes).is_some_and(|row| row.decided.is_some()))
    };
    let begun = Instant::now();
    while !decided() {
        assert!(begun.elapsed() < PATIENCE, "the verdict is not written");
        std::thread::yield_now();
    }
}

/// A pipeline whose attachment takes red only: the whole compile does without the other channels.
fn ui(test: &str, dir: &Path) -> Option<Pipeline> {
    let mut ui = Pipeline::new(test, dir, &[("ui.vert", Stage::Vertex), ("ui.frag", Stage::Fragment)])?;
    ui.state.color.attachments.iter_mut().for_each(|one| one.format = "R32_SFLOAT".parse().expect("a format"));
    Some(ui)
}

#[test]
fn a_used_pipeline_becomes_better_once_and_draws_the_same() {
    let test = "optimize::a_used_pipeline_becomes_better_once_and_draws_the_same";
    let mut service = Service::start(&["--workers=2"]);
    let Some(ui) = ui(test, service.dir.path()) else { return };
    let mut client = service.client();
    let linked = ui.link(&ui.parts(&mut client));
    ui.offer(&mut client, Priority::Optimize, 1000);
    let (first, parts) = verdict_and_parts(&mut client);
    // It is sent before it is stored.
    let cache = service.cache();
    while parts.iter().any(|(key, _)| cache.get(key).is_none()) {
        std::thread::yield_now();
    }
    let parts: Vec<Vec<u8>> = parts.into_iter().map(|(_, elf)| elf).collect();
    assert!(matches!(&first, Verdict::Take(why) if why.contains("linked")), "{first:?}");
    let whole = ui.link(&parts);
    assert_ne!(linked, whole);

    // Run both generations on the emulator.
    let inputs = service.dir.path().join("inputs.toml");
    let target = |format: &str| format!("targets = [{{ location = 0, format = \"{format}\" }}]");
    let text = shaders::UI_INPUTS.replace(&target("R8G8B8A8_UNORM"), &target("R32_SFLOAT"));
    assert!(text.contains(&target("R32_SFLOAT")));
    std::fs::write(&inputs, text).expect("a file");
    let inputs = read_inputs(&inputs).expect("inputs");
    let run = |elf: &[u8]| emu::run(elf, &ui.state.layout, &inputs, RunLimits::default()).expect("it runs");
    let [before, after] = [&linked, &whole].map(|elf| run(elf));
    let pixels = |of: &emu::RunOutcome| format!("{:?}", of.targets);
    assert_eq!(pixels(&before), pixels(&after));
    assert!(pixels(&before).len() > 100, "something was drawn");
    assert!(after.stats.total() < before.stats.total(), "and it takes less");

    let status = client.status();
    assert_eq!((status.optimized, status.kept_linked), (1, 0), "{status:?}");
    // After a kill the verdict and the parts are available at once, and nothing is compiled.
    until_remembered(&service);
    service.kill();
    service.start_again();
    let mut client = service.client();
    ui.offer(&mut client, Priority::Optimize, 1);
    assert_eq!(verdict(&mut client), (first.clone(), parts));
    let status = client.status();
    assert_eq!((status.compiled, status.optimized), (0, 0), "{status:?}");

    // `service why` explains it.
    let why = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        let out = command.args(["service", "why", "--cache"]).arg(service.cache_dir()).args(arguments).output();
        let out = out.expect("the program");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        assert_eq!(out.status.code(), Some(i32::from(out.stdout.is_empty())));
        if out.stdout.is_empty() { text(out.stderr) } else { text(out.stdout) }
    };
    let Verdict::Take(reason) = first else { unreachable!() };
    assert!(why(&[]).contains(&format!("compiled whole, which is better: {reason}")), "{}", why(&[]));
    let listed: serde_json::Value = serde_json::from_str(&why(&["--json"])).expect("JSON");
    assert_eq!(listed[0]["uses"], 1000, "what a kill loses is the last few seconds' draws");
    let key = listed[0]["key"].as_str().expect("a key").to_owned();
    assert!(why(&[&key[..8]]).contains(&key));
    let unknown = why(&["no such key"]);
    assert!(unknown.contains("No pipeline with key no such key…"), "{unknown}");
}

#[test]
fn what_is_as_good_linked_is_kept_and_stays_so() {
    let mut service = Service::start(&["--workers=1"]);
    // Nothing in it depends on the state.
    let empty =
        Pipeline { modules: vec![shader("main")], stages: vec![request("main")], state: PipelineState::default() };
    let mut client = service.client();
    empty.parts(&mut client);
    empty.offer(&mut client, Priority::Optimize, 1000);
    let (first, parts) = verdict(&mut client);
    assert!(matches!(first, Verdict::Keep(_)) && parts.is_empty(), "{first:?}");
    assert_eq!(client.status().kept_linked, 1);
    until_remembered(&service);
    service.kill();
    service.start_again();
    let mut client = service.client();
    empty.offer(&mut client, Priority::Optimize, 1000);
    assert_eq!(verdict(&mut client), (first, Vec::new()));
    assert_eq!(client.status().compiled, 0);
}

#[test]
fn one_that_is_linked_from_a_variant_is_compared() {
    let test = "optimize::one_that_is_linked_from_a_variant_is_compared";
    let service = Service::start(&["--workers=1"]);
    let Some(mut ui) = ui(test, service.dir.path()) else { return };
    (ui.state.color.samples, ui.state.color.sample_shading) = (4, true);
    let mut client = service.client();
    ui.offer(&mut client, Priority::Optimize, 1000);
    verdict(&mut client);
    // Two stages compiled whole, and the parts of the link: two, and the variant of the fragment part.
    assert_eq!(client.status().compiled, 5);
}

#[test]
fn one_whose_modules_nobody_has_fails() {
    let service = Service::start(&["--workers=1"]);
    let mut client = service.client();
    let id = client.next_id();
    client.send(&Ask::Pipeline(PipelineAsk {
        id,
        stages: vec![request("main")],
        state: PipelineState::default(),
        placement: Placement::Adjacent,
        class: Priority::Optimize,
        uses: 1000,
        inline: true,
    }));
    let Tell::Failed { id: of, error } = client.next() else { panic!("it is not answered") };
    assert!(of == id && matches!(error.kind(), ErrorKind::Environment(_)), "{error}");
}

#[test]
fn what_is_not_used_waits_until_loading_is_over() {
    let test = "optimize::what_is_not_used_waits_until_loading_is_over";
    let service = Service::start(&["--workers=1"]);
    let Some(ui) = ui(test, service.dir.path()) else { return };
    let mut client = service.client();
    let begun = Instant::now();
    ui.offer(&mut client, Priority::Optimize, 1);
    // A second client joins: there is one compile, and both clients are told.
    let mut other = service.client();
    ui.offer(&mut other, Priority::Optimize, 1);
    let (first, _) = verdict(&mut client);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(verdict(&mut other).0, first);
    assert_eq!(client.status().optimized, 1);
}

#[test]
fn what_cannot_be_linked_is_compiled_whole_for_those_who_wait() {
    let test = "optimize::what_cannot_be_linked_is_compiled_whole_for_those_who_wait";
    let service = Service::start(&["--workers=1"]);
    let Some(ui) = ui(test, service.dir.path()) else { return };
    let mut client = service.client();
    ui.offer(&mut client, Priority::Waits, 0);
    let (verdict, parts) = verdict(&mut client);
    assert!(matches!(verdict, Verdict::Take(_)));
    ui.link(&parts);
    // And the vertex part that is compiled in advance, which lists the constants.
    assert_eq!(client.status().compiled, 3);
    // A pipeline without shaders is reported as invalid.
    let id = client.next_id();
    client.send(&Ask::Pipeline(PipelineAsk {
        id,
        stages: Vec::new(),
        state: PipelineState::default(),
        placement: Placement::Adjacent,
        class: Priority::Waits,
        uses: 0,
        inline: true,
    }));
    assert!(matches!(client.next(), Tell::Failed { id: of, .. } if of == id));
}
