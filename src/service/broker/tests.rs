//! Tests of the broker, event by event: situations that from outside would need many clients, a busy machine or much
//! time.

use super::super::dispatch::HUNGER_PAUSE;
use super::super::events::{Compiled, Lookup};
use super::super::journal::{Decided, Row};
use super::*;
use dovetail_base::error::{Death, Result};
use dovetail_base::target::{Gpu, Stage as ShaderStage, WaveSize};
use dovetail_compile::request::{CompilerId, KnownState, Module, StageRequest, TuningOptions};
use dovetail_link::Placement;
use dovetail_state::PipelineState;
use std::time::Duration;

const ONE: ClientId = ClientId(1);
const TWO: ClientId = ClientId(2);

/// A broker with an empty cache, whose clients send each module that it requests and that is not stored.
struct World {
    broker: Broker,
    now: Time,
    compiling: Vec<(Key, Priority)>,
    stopped: Vec<Key>,
    told: Vec<(ClientId, Tell)>,
    stored: Vec<Module>,
    module_words: usize,
    /// Whether records can be written, and those that are there.
    writes: bool,
    records: Vec<Key>,
    /// Whether the disk does not answer, and the lookups that it owes.
    held_up: bool,
    looking: Vec<Key>,
}

impl World {
    fn new(workers: usize) -> Self {
        let compiler = CompilerId { sources: String::new(), backend: String::new() };
        let poison = Poison::new([], compiler.clone());
        let facts = BrokerConfig { compiler, workers, status: ServiceStatus::default() };
        let mut world = Self {
            broker: Broker::new(facts, poison, Journal::default()),
            now: Time::ZERO,
            compiling: Vec::new(),
            stopped: Vec::new(),
            told: Vec::new(),
            stored: Vec::new(),
            module_words: 5,
            writes: false,
            records: Vec::new(),
            held_up: false,
            looking: Vec::new(),
        };
        [ONE, TWO].into_iter().for_each(|client| world.happens(BrokerEvent::Joined(client, false)));
        world
    }

    /// The module with a number; its size in words is that of a real module.
    fn module(&self, n: u32) -> Module {
        let mut words = vec![0x0723_0203u32, n];
        words.resize(self.module_words, 0);
        Module::new(words.into_iter().flat_map(u32::to_le_bytes).collect()).unwrap()
    }

    fn request(&self, n: u32) -> StageRequest {
        StageRequest {
            target: Gpu::Gfx1030,
            stage: ShaderStage::Compute,
            module: self.module(n).digest(),
            entry_point: "main".into(),
            specialization: Vec::new(),
            wave: WaveSize::W32,
            options: TuningOptions::default(),
            known: KnownState::default(),
        }
    }

    fn ask(&mut self, client: ClientId, n: u32, class: Priority) -> Key {
        let request = self.request(n);
        let key = dovetail_pipeline::keys::stage(&request, &self.broker.facts.compiler).unwrap();
        let (id, inline, cached_only) = (n.into(), false, false);
        let ask = StageAsk { id, request, class, inline, cached_only };
        self.happens(BrokerEvent::Asked(client, Box::new(Ask::Stage(ask))));
        // The modules requested are among the first numbers.
        let wanted = |told: &(ClientId, Tell)| matches!(told.1, Tell::NeedModule { .. });
        while let Some(at) = self.told.iter().position(wanted) {
            let (client, _) = self.told.remove(at);
            let module = self.module(n);
            self.happens(BrokerEvent::Module(client, Ok(module)));
        }
        key
    }

    fn happens(&mut self, event: BrokerEvent) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.broker.handle(event, self.now) {
                match effect {
                    Effect::Tell(client, tell) => self.told.push((client, tell)),
                    Effect::Condemn(key, _) => events.push(BrokerEvent::Condemned(key, self.writes)),
                    Effect::Recheck(key) => events.push(BrokerEvent::Rechecked(key, self.records.contains(&key))),
                    // A disk that is held up answers later.
                    Effect::Look(key, _) if self.held_up => self.looking.push(key),
                    Effect::Look(key, digest) => {
                        let stored = self.stored.iter().find(|module| Some(module.digest()) == digest).cloned();
                        events.push(BrokerEvent::Looked(key, stored.map_or(Lookup::Nothing, Lookup::Module)));
                    }
                    Effect::Compile { key, class, .. } => self.compiling.push((key, class)),
                    Effect::Stop(key) => {
                        self.stopped.push(key);
                        self.compiling.retain(|(running, _)| *running != key);
                    }
                    _ => {}
                }
            }
        }
    }

    fn done(&mut self, key: Key, result: Result<StageElf>) {
        self.compiling.retain(|(running, _)| *running != key);
        let compiled = Compiled { result, cost: Duration::from_millis(10), deaths: 0 };
        self.happens(BrokerEvent::Compiled(key, compiled));
    }

    /// The number of failures told since the last call.
    fn failures(&mut self) -> usize {
        let told = self.told.len();
        self.told.retain(|(_, tell)| !matches!(tell, Tell::Failed { .. }));
        told - self.told.len()
    }

    fn tick(&mut self, pressure: &[&str]) {
        let pressure = pressure.iter().map(|&reason| reason.to_owned()).collect();
        self.happens(BrokerEvent::Tick(HostMachine { pressure, ..HostMachine::default() }));
    }
}

#[test]
fn of_several_workers_one_is_left_for_what_somebody_waits_for() {
    let mut world = World::new(3);
    (0..5).for_each(|n| _ = world.ask(ONE, n, Priority::Populate));
    assert_eq!(world.compiling.len(), 2);
    let waits = world.ask(TWO, 9, Priority::Waits);
    assert_eq!(world.compiling.last(), Some(&(waits, Priority::Waits)));
    world.ask(TWO, 10, Priority::Soon);
    assert_eq!(world.compiling.len(), 3);
}

#[test]
fn the_only_worker_leaves_a_young_compile_that_nobody_waits_for() {
    let mut world = World::new(1);
    let idle = world.ask(ONE, 1, Priority::Populate);
    world.now = Duration::from_millis(40);
    let waits = world.ask(TWO, 2, Priority::Waits);
    assert_eq!((&world.stopped[..], &world.compiling[..]), (&[idle][..], &[(waits, Priority::Waits)][..]));
    // The abandoned job runs again; once it is old enough, it is not abandoned.
    world.done(waits, Ok(StageElf(Vec::new())));
    assert_eq!(world.compiling, [(idle, Priority::Populate)]);
    world.now += Duration::from_millis(60);
    world.ask(TWO, 3, Priority::Waits);
    assert_eq!(world.compiling, [(idle, Priority::Populate)]);
    // A *soon* job is never abandoned.
    let mut world = World::new(1);
    let soon = world.ask(ONE, 1, Priority::Soon);
    world.ask(TWO, 2, Priority::Waits);
    assert_eq!(world.compiling, [(soon, Priority::Soon)]);
}

#[test]
fn a_busy_machine_holds_back_what_nobody_waits_for_and_says_why() {
    let mut world = World::new(2);
    world.tick(&["on battery"]);
    let idle = world.ask(ONE, 1, Priority::Populate);
    let soon = world.ask(ONE, 2, Priority::Soon);
    assert_eq!(world.compiling, [(soon, Priority::Soon)]);
    assert_eq!(world.broker.status().paused_because, ["on battery"]);
    world.tick(&[]);
    assert_eq!(world.compiling, [(soon, Priority::Soon), (idle, Priority::Populate)]);
    assert!(world.broker.status().paused_because.is_empty());
}

#[test]
fn a_worker_that_ran_out_of_memory_holds_it_back_for_a_minute() {
    let mut world = World::new(2);
    let hungry = world.ask(ONE, 1, Priority::Soon);
    world.done(hungry, Err(Error::quarantined(Death::OutOfMemory, "too much")));
    let idle = world.ask(ONE, 2, Priority::Populate);
    assert!(world.compiling.is_empty());
    assert!(world.broker.status().paused_because[0].contains("ran out of memory: for 6"));
    world.now += HUNGER_PAUSE;
    world.tick(&[]);
    // It has waited for a minute, and moved up a class.
    assert_eq!(world.compiling, [(idle, Priority::Optimize)]);
}

#[test]
fn modules_of_one_client_have_a_limit_and_those_of_answered_requests_do_not_count() {
    let mut world = World::new(1);
    world.module_words = 4 << 20;
    // Each module has 16 MiB: sixteen are allowed.
    let keys: Vec<Key> = (0..17).map(|n| world.ask(ONE, n, Priority::Soon)).collect();
    let busy = |world: &World| {
        let told = world.told.iter().filter_map(|(_, tell)| match tell {
            Tell::Busy { id, limit, .. } => Some((*id, limit.contains("bytes of modules"))),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(busy(&world), [(16, true)]);
    // Another client has its own limit, and an answered request frees memory.
    world.ask(TWO, 16, Priority::Soon);
    world.done(keys[0], Err(Error::malformed("whatever")));
    world.ask(ONE, 17, Priority::Soon);
    assert_eq!(busy(&world).len(), 1);
}

#[test]
fn an_answer_goes_to_all_and_once() {
    let mut world = World::new(1);
    let key = world.ask(ONE, 1, Priority::Soon);
    world.ask(TWO, 1, Priority::Waits);
    world.done(key, Ok(StageElf(vec![7])));
    let answered = |world: &World| world.told.iter().filter(|(_, tell)| matches!(tell, Tell::Stage { .. })).count();
    assert_eq!(answered(&world), 2);
    // Until the result is in the cache, later requests are answered from memory.
    world.ask(TWO, 1, Priority::Waits);
    assert_eq!((answered(&world), world.compiling.len()), (3, 0));
    world.happens(BrokerEvent::Kept(vec![key], true));
    world.ask(TWO, 1, Priority::Waits);
    assert_eq!((answered(&world), world.compiling.len()), (3, 1));
    let status = world.broker.status();
    assert_eq!((status.requests, status.compiled, status.coalesced), (4, 1, 2));
}

#[test]
fn verdicts_of_an_older_compiler_are_made_again_in_order_of_use() {
    let mut world = World::new(3);
    let offer = |world: &World, n: u32| PipelineAsk {
        id: 1,
        stages: vec![world.request(n)],
        state: PipelineState::default(),
        placement: Placement::Adjacent,
        class: Priority::Optimize,
        uses: 0,
        inline: false,
    };
    let older = CompilerId { sources: "older".into(), backend: String::new() };
    let rows = [(1, 300), (2, 500), (3, 10), (4, 400)].map(|(n, uses)| {
        world.stored.push(world.module(n));
        let ask = offer(&world, n);
        let decided = Some(Decided { compiler: older.clone(), verdict: Ok(Verdict::Keep(String::new())) });
        let (name, stages, state) = (Row::name(&ask).unwrap(), ask.stages, ask.state);
        let row = Row { stages, state, placement: ask.placement, uses, last_use: 0, decided };
        (name, rmp_serde::to_vec_named(&row).unwrap())
    });
    world.broker.journal = Journal::new(rows.into_iter());
    let mut order: Vec<u64> = Vec::new();
    let mut redo = |world: &mut World| {
        // Three workers are free, but one pipeline is compiled at a time.
        while let &[(key, Priority::Optimize)] = &world.compiling[..] {
            world.done(key, Err(Error::malformed("whatever")));
            let compiler = &world.broker.facts.compiler;
            let made = world.broker.journal.rows().filter(|(_, row)| row.verdict(compiler).is_some());
            let fresh: Vec<u64> = made.map(|(_, row)| row.uses).filter(|uses| !order.contains(uses)).collect();
            order.extend(fresh);
        }
        assert!(world.compiling.is_empty());
        order.clone()
    };
    world.now = Duration::from_secs(10);
    world.tick(&["on battery"]);
    assert!(redo(&mut world).is_empty());
    world.tick(&[]);
    assert_eq!(redo(&mut world), [500, 400, 300]);
    // A rarely used pipeline is recompiled when a client offers it; the old verdict is no answer.
    let ask = offer(&world, 3);
    world.happens(BrokerEvent::Asked(ONE, Box::new(Ask::Pipeline(ask))));
    assert!(redo(&mut world).len() == 3 && world.told.is_empty());
    world.now += Duration::from_secs(3);
    world.tick(&[]);
    assert_eq!(redo(&mut world), [500, 400, 300, 10]);
    assert!(matches!(world.told[..], [(ONE, Tell::Failed { id: 1, .. })]));
    // Its draws count until the client has dropped it.
    assert_eq!(world.broker.clients[&ONE].offered.len(), 1);
    world.happens(BrokerEvent::Asked(ONE, Box::new(Ask::Cancel { id: 1 })));
    assert!(world.broker.clients[&ONE].offered.is_empty());
}

#[test]
fn what_kills_workers_is_refused_as_long_as_its_record_is_there() {
    let mut world = World::new(1);
    let death = || Err(Error::quarantined(Death::Crashed, "signal 6"));
    // A record that cannot be written: it is tried again.
    let key = world.ask(ONE, 1, Priority::Soon);
    world.done(key, death());
    assert_eq!((world.failures(), world.broker.status().poisoned), (1, 0));
    world.writes = true;
    world.ask(ONE, 1, Priority::Soon);
    world.done(key, death());
    assert_eq!((world.failures(), world.broker.status().poisoned), (1, 1));
    world.records.push(key);
    world.ask(ONE, 1, Priority::Soon);
    assert_eq!((world.failures(), world.compiling.len()), (1, 0));
    // Somebody deletes it.
    world.records.clear();
    world.ask(ONE, 1, Priority::Soon);
    assert_eq!((world.failures(), world.broker.status().poisoned), (0, 0));
    assert_eq!(world.compiling, [(key, Priority::Soon)]);
}

#[test]
fn while_the_disk_is_held_up_lookups_are_misses_and_their_late_results_are_ignored() {
    let mut world = World::new(1);
    world.held_up = true;
    let key = world.ask(ONE, 1, Priority::Soon);
    assert!(world.compiling.is_empty());
    let held = || Some("a read has not returned".to_owned());
    world.happens(BrokerEvent::Tick(HostMachine { not_read_because: held(), ..HostMachine::default() }));
    assert!(world.told.iter().any(|(_, tell)| matches!(tell, Tell::NeedModule { .. })));
    world.happens(BrokerEvent::Module(ONE, Ok(world.module(1))));
    assert_eq!(world.compiling, [(key, Priority::Soon)]);
    assert_eq!((world.broker.status().not_read_because, &world.looking[..]), (held(), &[key][..]));
    let late = StageElf(b"late".to_vec());
    world.happens(BrokerEvent::Looked(key, Lookup::Part(late)));
    assert_eq!((world.compiling.len(), world.broker.status().hits), (1, 0));
    world.done(key, Ok(StageElf(b"ELF".to_vec())));
    let parts = world.told.iter().filter(|(_, tell)| matches!(tell, Tell::Stage { part: Some(_), .. }));
    assert_eq!(parts.count(), 1);
}
