//! A client of another version: its hello names another form of requests.

use crate::harness::{PATIENCE, Service, request};
use crate::smallest::shader;
use dovetail::compile::request::StageRequest;
use dovetail::error::{Error, ErrorKind};
use dovetail::frame::{self, Bytes, HEAD};
use dovetail::link::Object;
use dovetail::wire::{Ask, Hello, MAX_FRAME, PROTOCOLS, PartAnswer, Priority, Tell};
use serde::Serialize;
use std::collections::BTreeMap;
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
    plain: BTreeMap<&'static str, rmpv::Value>,
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

#[test]
fn what_a_client_of_this_version_writes_without_facts_has_none() {
    let bytes = rmp_serde::to_vec_named(&request("main")).expect("a request");
    let value = rmpv::decode::read_value(&mut &bytes[..]).expect("a value");
    let entries: BTreeMap<String, usize> = value
        .as_map()
        .expect("a map")
        .iter()
        .map(|(name, value)| (name.as_str().expect("a name").to_owned(), value.as_map().map_or(0, Vec::len)))
        .collect();
    assert_eq!(entries.get("known"), Some(&0), "{entries:?}");
    assert!(!entries.contains_key("options"), "{entries:?}");
}
