//! The service's state under arbitrary client input: frames of two clients in turns, and a cache and workers that
//! answer its requests. No client may be told about something it did not request, and nothing may be left when both are
//! gone.

use super::link_support::vertex;
use super::seeds::{compiler, stage_request};
use dovetail::cache::Key;
use dovetail::compile::StageElf;
use dovetail::compile::request::Module;
use dovetail::error::{Death, Error, Result};
use dovetail::frame::{self, Bytes};
use dovetail::link::Placement;
use dovetail::service::ClientId;
use dovetail::service::broker::Broker;
use dovetail::service::events::{BrokerConfig, BrokerEvent, Compiled, Effect, HostMachine, Lookup};
use dovetail::service::journal::Journal;
use dovetail::service::poison::Poison;
use dovetail::service::session::Frames;
use dovetail::state::PipelineState;
use dovetail::target::Stage;
use dovetail::wire::{Ask, MAX_FRAME, PipelineAsk, Priority, ServiceStatus, StageAsk, Tell};
use std::collections::{BTreeSet, VecDeque};
use std::sync::LazyLock;
use std::time::Duration;

/// Conversations: a stage with its module, a pipeline, an offer with draws, a cancelled request.
pub fn seeds() -> Vec<Vec<u8>> {
    let module = [0x0723_0203u32, 0x0001_0300, 0, 5, 0].map(u32::to_le_bytes).concat();
    let digest = Module::new(module.clone()).expect("a module").digest();
    let request = |stage| {
        let mut request = stage_request(stage);
        request.module = digest;
        request
    };
    let stage = |id, class| {
        let (inline, cached_only) = (false, false);
        Ask::Stage(StageAsk { id, request: request(Stage::Vertex), class, inline, cached_only })
    };
    let pipeline = |id, class| {
        let stages = vec![request(Stage::Vertex), request(Stage::Fragment)];
        let (state, placement) = (PipelineState::default(), Placement::Adjacent);
        Ask::Pipeline(PipelineAsk { id, stages, state, placement, class, uses: 300, inline: true })
    };
    let given = || Ask::Module { module: Bytes(module.clone()) };
    let talks = [
        vec![stage(1, Priority::Soon), stage(1, Priority::Waits), given(), Ask::Status, stage(2, Priority::Populate)],
        vec![pipeline(1, Priority::Waits), given(), Ask::NoModule { digest }, Ask::Cancel { id: 1 }],
        vec![
            pipeline(1, Priority::Optimize),
            pipeline(1, Priority::Optimize),
            given(),
            Ask::Used { draws: vec![(1, 500)] },
        ],
        vec![
            stage(1, Priority::Populate),
            Ask::Class { id: 1, class: Priority::Waits },
            Ask::Cancel { id: 1 },
            Ask::Bye,
        ],
    ];
    let framed = |talk: &Vec<Ask>| talk.iter().flat_map(|ask| frame::frame(ask, MAX_FRAME).expect("a frame")).collect();
    talks.iter().map(framed).collect()
}

/// Simulates the environment: a cache that has some entries, and workers that fail in every way.
fn world(effect: Effect, asked: &BTreeSet<(ClientId, u64)>) -> Result<Option<BrokerEvent>> {
    static PART: LazyLock<Vec<u8>> = LazyLock::new(|| vertex().build());
    let part = || StageElf(PART.clone());
    let pick = |key: &Key| key.0[0] % 8;
    Ok(match effect {
        Effect::Tell(client, Tell::Stage { id, .. } | Tell::Pipeline { id, .. } | Tell::Queued { id, .. })
            if !asked.contains(&(client, id)) =>
        {
            return Err(Error::bug(format!("request {id} was answered, and nobody asked it")));
        }
        Effect::Condemn(key, _) => Some(BrokerEvent::Condemned(key, pick(&key) % 2 == 0)),
        Effect::Recheck(key) => Some(BrokerEvent::Rechecked(key, key.0[1] % 2 == 0)),
        // A disk that does not answer: the next tick says so.
        Effect::Look(key, _) if pick(&key) == 5 => None,
        Effect::Look(key, _) if pick(&key) == 0 => Some(BrokerEvent::Looked(key, Lookup::Part(part()))),
        Effect::Look(key, _) => Some(BrokerEvent::Looked(key, Lookup::Nothing)),
        Effect::Compile { key, .. } => {
            let result = match pick(&key) {
                1 => Err(Error::malformed("the shader")),
                2 => Err(Error::quarantined(Death::OutOfMemory, "a fault")),
                3 => Err(Error::environment("no worker")),
                _ => Ok(part()),
            };
            Some(BrokerEvent::Compiled(key, Compiled { result, cost: Duration::from_millis(10), deaths: 1 }))
        }
        Effect::Keep(key, _) => Some(BrokerEvent::Kept(vec![key], pick(&key) != 4)),
        Effect::Compare(comparison) => {
            let (name, verdict) = comparison.run();
            Some(BrokerEvent::Compared(name, verdict))
        }
        _ => None,
    })
}

/// A moment in which the disk does not answer.
fn tick() -> BrokerEvent {
    BrokerEvent::Tick(HostMachine { not_read_because: Some("a fault".into()), ..HostMachine::default() })
}

/// Feeds frames to two clients in turns.
pub fn converse(bytes: &[u8]) -> Result<()> {
    let facts = BrokerConfig { compiler: compiler(), workers: 2, status: ServiceStatus::default() };
    let poison = Poison::new([], compiler());
    let mut broker = Broker::new(facts, poison, Journal::default());
    let clients = [ClientId(1), ClientId(2)];
    let mut events: VecDeque<BrokerEvent> = clients.map(|client| BrokerEvent::Joined(client, false)).into();
    let (mut now, mut asked) = (Duration::ZERO, BTreeSet::new());
    let mut frames = Frames::default();
    let mut pieces = bytes.chunks(997);
    let mut messages = 0;
    loop {
        while let Some(event) = events.pop_front() {
            now += Duration::from_millis(30);
            for effect in broker.handle(event, now) {
                events.extend(world(effect, &asked)?);
            }
        }
        let Some(body) = frames.next(MAX_FRAME)? else {
            let Some(piece) = pieces.next() else { break };
            frames.room().expect("memory").extend_from_slice(piece);
            continue;
        };
        let client = clients[messages % 2];
        messages += 1;
        match frame::parse::<Ask>(body) {
            Ok(Ask::Module { module }) => events.push_back(BrokerEvent::Module(client, Module::new(module.0))),
            Ok(ask) => {
                if let Ask::Stage(StageAsk { id, .. }) | Ask::Pipeline(PipelineAsk { id, .. }) = &ask {
                    asked.insert((client, *id));
                }
                events.push_back(BrokerEvent::Asked(client, Box::new(ask)));
            }
            Err(_) => events.push_back(BrokerEvent::Left(client)),
        }
        events.push_back(tick());
    }
    events.extend(clients.map(BrokerEvent::Left));
    // Each tick takes 10 s: long enough for everything that is retried later, and for what a lack of memory pauses.
    for _ in 0..16 {
        events.push_back(tick());
        while let Some(event) = events.pop_front() {
            now += Duration::from_secs(10);
            for effect in broker.handle(event, now) {
                events.extend(world(effect, &asked)?);
            }
        }
    }
    if broker.is_idle() { Ok(()) } else { Err(Error::bug("something is left of clients that are gone")) }
}
