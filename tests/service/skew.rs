//! A client of another version: its hello names another form of requests.

use crate::harness::{PATIENCE, Service, request};
use crate::smallest::shader;
use dovetail::compile::request::StageRequest;
use dovetail::error::{Error, ErrorKind};
use dovetail::frame::{self, Bytes, HEAD};
use dovetail::link::{Object, Placement};
use dovetail::wire::{Ask, Hello, MAX_FRAME, PROTOCOLS, PartAnswer, PipelineAsk, Priority, Tell};
use rmpv::Value;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// A connection of a client whose requests have another form.
struct Other(UnixStream);

impl Other {
    fn connect(service: &Service) -> Self {
        service.client();
        let stream = UnixStream::connect(service.socket()).expect("a service");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let mut other = Self(stream);
        let schema = "of another version".to_owned();
        other.send(&Ask::Hello(Hello { protocols: PROTOCOLS, schema, app: "test".into(), cache: None }));
        let Some(Tell::Welcome(welcome)) = other.next() else { panic!("no welcome") };
        assert!(welcome.inline_because.is_some_and(|why| why.contains("different versions")));
        other
    }

    fn send(&mut self, message: &impl Serialize) {
        self.0.write_all(&frame::frame(message, MAX_FRAME).expect("a frame")).expect("a service");
    }

    /// The next message; `None` at the end of the connection.
    fn next(&mut self) -> Option<Tell> {
        let mut head = [0; HEAD];
        self.0.read_exact(&mut head).ok()?;
        let mut body = vec![0; frame::body_length(head, MAX_FRAME).expect("a frame")];
        self.0.read_exact(&mut body).expect("a message");
        Some(frame::parse(&body).expect("a message"))
    }

    /// Asks, sends the module if it is requested, and returns the answer.
    fn compile(&mut self, ask: &impl Serialize, module: &[u8]) -> Result<PartAnswer, Error> {
        self.send(ask);
        loop {
            match self.next().expect("the connection lives") {
                Tell::NeedModule { .. } => self.send(&Ask::Module { module: Bytes(module.to_vec()) }),
                Tell::Stage { part, .. } => return Ok(part.expect("a part")),
                Tell::Failed { error, .. } => return Err(error),
                _ => {}
            }
        }
    }
}

/// A request as another version writes it: `known` has facts of its own.
#[derive(Serialize)]
enum OtherAsk {
    Stage(OtherStage),
}

#[derive(Serialize)]
struct OtherStage {
    id: u64,
    request: OtherRequest,
    class: Priority,
    inline: bool,
    cached_only: bool,
}

#[derive(Serialize)]
struct OtherRequest {
    #[serde(flatten)]
    plain: BTreeMap<&'static str, Value>,
    known: BTreeMap<&'static str, bool>,
}

fn ask(id: u64, request: &StageRequest, known: &[(&'static str, bool)]) -> OtherAsk {
    let value = |value: &dyn Fn() -> Vec<u8>| rmpv::decode::read_value(&mut &value()[..]).expect("a value");
    let named = |bytes: Result<Vec<u8>, rmp_serde::encode::Error>| bytes.expect("a value");
    let StageRequest { target, stage, module, entry_point, specialization, wave, .. } = request;
    let plain = BTreeMap::from([
        ("target", value(&|| named(rmp_serde::to_vec_named(target)))),
        ("stage", value(&|| named(rmp_serde::to_vec_named(stage)))),
        ("module", value(&|| named(rmp_serde::to_vec_named(module)))),
        ("entry_point", value(&|| named(rmp_serde::to_vec_named(entry_point)))),
        ("specialization", value(&|| named(rmp_serde::to_vec_named(specialization)))),
        ("wave", value(&|| named(rmp_serde::to_vec_named(wave)))),
    ]);
    let request = OtherRequest { plain, known: known.iter().copied().collect() };
    OtherAsk::Stage(OtherStage { id, request, class: Priority::Soon, inline: true, cached_only: false })
}

#[test]
fn a_request_without_facts_is_served_and_one_with_unknown_facts_fails_alone() {
    let service = Service::start(&["--workers=1"]);
    let mut other = Other::connect(&service);
    let (module, request) = (shader("main"), request("main"));
    let part = other.compile(&ask(1, &request, &[]), &module).expect("it is understood");
    Object::parse(&part.elf.expect("it is sent").0).expect("a part");
    let failure = other.compile(&ask(2, &request, &[("a_fact_of_the_future", true)]), &module).expect_err("a fact");
    assert!(matches!(failure.kind(), ErrorKind::Unsupported { .. }), "{failure}");
    let said = failure.to_string();
    assert!(said.contains("client and service differ") && said.contains("a_fact_of_the_future"), "{said}");
    // The connection goes on.
    other.compile(&ask(3, &request, &[]), &module).expect("it is understood");
    // What has no number ends it.
    other.send(&"a message of the future");
    assert!(matches!(other.next(), Some(Tell::Refused(_))));
}

/// The fields that every version knows, of an offer in which nothing has another value than its default. A service refuses
/// a request with a field that it does not know, so this list never grows: a new field gets a default, and
/// `skip_serializing_if` that leaves it out.
const KNOWN_TO_ALL: &str = "
offer: class id inline placement stages state uses
offer.stages: entry_point known module specialization stage target wave
offer.state: color device_index layout raster specialization symbols vertex view_mask
offer.state.color: alpha_to_coverage alpha_to_one attachments dual_source sample_shading samples
offer.state.color.attachments: blend blend_source_alpha format location write_mask
offer.state.layout: push_constant_bytes push_constant_root sets
offer.state.layout.sets: bindings root set
offer.state.layout.sets.bindings: binding count dynamic kind offset samplers
offer.state.layout.sets.bindings.samplers: conversion words
offer.state.layout.sets.bindings.samplers.conversion: chroma_filter components explicit_reconstruction format model range \
x_chroma_offset y_chroma_offset
offer.state.raster: clip_plane_mask discard inner_coverage
offer.state.specialization: id stage value
offer.state.vertex: attributes bindings
offer.state.vertex.attributes: binding format location offset
offer.state.vertex.bindings: binding divisor rate stride
";

/// Adds the names of a value's fields, by path; elements of a list share a path.
fn add_fields(value: &Value, path: &str, fields: &mut BTreeMap<String, BTreeSet<String>>) {
    for (name, value) in value.as_map().into_iter().flatten() {
        let name = name.as_str().expect("a name");
        add_fields(value, &format!("{path}.{name}"), fields);
        fields.entry(path.to_owned()).or_default().insert(name.to_owned());
    }
    value.as_array().into_iter().flatten().for_each(|element| add_fields(element, path, fields));
}

/// A field of a map.
fn field<'v>(value: &'v mut Value, name: &str) -> &'v mut Value {
    let Value::Map(fields) = value else { panic!("{value} is no map") };
    fields.iter_mut().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value).expect("the field")
}

fn value_of(message: &impl Serialize) -> Value {
    let bytes = rmp_serde::to_vec_named(message).expect("a message");
    rmpv::decode::read_value(&mut &bytes[..]).expect("a value")
}

fn offer(state: &str, class: Priority) -> PipelineAsk {
    PipelineAsk {
        id: 1,
        stages: vec![request("main")],
        state: toml::from_str(state).expect("a state"),
        placement: Placement::Adjacent,
        class,
        uses: 0,
        inline: true,
    }
}

#[test]
fn an_offer_has_no_field_with_its_default_that_an_older_service_does_not_know() {
    // An element of each list, with the fields that it must have.
    let state = "
        [[layout.sets]]
        set = 0
        [[layout.sets.bindings]]
        binding = 0
        kind = \"combined_image_sampler\"
        [[layout.sets.bindings.samplers]]
        words = [0, 0, 0, 0]
        conversion.format = \"G8_B8R8_2PLANE_420_UNORM\"
        [[vertex.bindings]]
        binding = 0
        stride = 16
        [[vertex.attributes]]
        location = 0
        binding = 0
        format = \"R32_SFLOAT\"
        [[color.attachments]]
        location = 0
        format = \"R8G8B8A8_UNORM\"
        [[specialization]]
        id = 0
        value = 1";
    let mut fields = BTreeMap::new();
    add_fields(&value_of(&offer(state, Priority::Optimize)), "offer", &mut fields);
    let lines = fields.iter().map(|(path, names)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("{path}: {}", names.join(" "))
    });
    assert_eq!(lines.collect::<Vec<_>>().join("\n"), KNOWN_TO_ALL.trim());
}

#[test]
fn a_pipeline_with_a_field_that_is_not_known_fails_alone() {
    let service = Service::start(&["--workers=1"]);
    let mut other = Other::connect(&service);
    for unknown in [Some("a_field_of_the_future"), None] {
        let mut ask = value_of(&Ask::Pipeline(offer("", Priority::Waits)));
        let state = field(field(&mut ask, "Pipeline"), "state");
        if let (Some(name), Value::Map(fields)) = (unknown, state) {
            fields.push((name.into(), 1.into()));
        }
        other.send(&ask);
        let answer = loop {
            match other.next().expect("the connection lives") {
                Tell::NeedModule { .. } => other.send(&Ask::Module { module: Bytes(shader("main")) }),
                Tell::Queued { .. } => {}
                answer => break answer,
            }
        };
        match (unknown, answer) {
            (Some(name), Tell::Failed { error, .. }) => {
                let said = error.to_string();
                assert!(said.contains("client and service differ") && said.contains(name), "{said}");
            }
            (None, Tell::Pipeline { parts, .. }) => assert_eq!(parts.len(), 1),
            (unknown, answer) => panic!("{unknown:?}: {answer:?}"),
        }
    }
}
