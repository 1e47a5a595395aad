//! Scheduling order. Uses LLVM, because the native generator would finish before a second client has sent its requests.

use crate::harness::{Client, Service, request};
use crate::smallest::shader;
use dovetail::compile::request::{GeneratorKind, StageRequest, TuningOptions};
use dovetail::wire::{Ask, Priority, Tell};

fn ask(client: &mut Client, entry: &str, class: Priority) -> u64 {
    let options = TuningOptions { generator: GeneratorKind::Llvm, ..TuningOptions::default() };
    client.ask_for(shader(entry), StageRequest { options, ..request(entry) }, class).expect("the service takes it")
}

fn ask_many(client: &mut Client, prefix: &str, count: usize, class: Priority) {
    (0..count).for_each(|n| _ = ask(client, &format!("{prefix}{n}"), class));
}

fn collect(client: &mut Client, count: usize) {
    for _ in 0..count {
        client.stage().expect("a part");
    }
}

#[test]
fn a_greedy_client_does_not_starve_another() {
    let service = Service::start(&["--workers=1"]);
    let (mut greedy, mut modest) = (service.client(), service.client());
    ask_many(&mut greedy, "greedy", 200, Priority::Soon);
    collect(&mut greedy, 1);
    ask_many(&mut modest, "modest", 10, Priority::Soon);
    let greedy_thread = std::thread::spawn(move || collect(&mut greedy, 199));
    collect(&mut modest, 10);
    let status = modest.status();
    greedy_thread.join().expect("the greedy one is served too");
    // In turns, the ten finish after about ten of the other client, whose modules came first; without turns, after all
    // two hundred.
    assert!(status.compiled < 120, "{status:?}");
}

#[test]
fn one_who_waits_overtakes_what_nobody_waits_for() {
    let service = Service::start(&["--workers=1"]);
    let (mut slow, mut waiting) = (service.client(), service.client());
    ask_many(&mut slow, "slow", 150, Priority::Populate);
    collect(&mut slow, 1);
    let slow_thread = std::thread::spawn(move || collect(&mut slow, 149));
    waiting.compile("now", Priority::Waits).expect("a part");
    let status = waiting.status();
    slow_thread.join().expect("the slow one is served too");
    assert!(status.classes[3].queued > 20, "{status:?}");
}

#[test]
fn a_request_can_be_raised_while_it_waits() {
    let service = Service::start(&["--workers=1"]);
    let mut client = service.client();
    let ids: Vec<u64> = (0..100).map(|n| ask(&mut client, &format!("main{n}"), Priority::Populate)).collect();
    client.send(&Ask::Class { id: ids[99], class: Priority::Waits });
    // The answer to this shows that the service has raised the priority.
    client.send(&Ask::Status);
    let (mut before, mut raised) = (0, 0);
    loop {
        match client.next() {
            Tell::Status(_) => raised = before,
            Tell::Stage { id, .. } if id == ids[99] => break,
            Tell::Stage { .. } => before += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(before < 90, "{before} came before what was raised");
    assert!(before - raised < 10, "{} of them after it was", before - raised);
}

#[test]
fn what_nobody_waits_for_any_more_is_not_compiled() {
    let service = Service::start(&["--workers=1"]);
    let mut client = service.client();
    let ids: Vec<u64> = (0..200).map(|n| client.ask(&format!("main{n}"), Priority::Soon)).collect();
    // With this answer the service asks for modules, so most of the other jobs now wait for the worker.
    client.stage().expect("a part");
    ids[1..].iter().for_each(|&id| client.send(&Ask::Cancel { id }));
    let mut watch = service.client();
    let status = watch
        .until("all are answered or cancelled", |status| status.busy == 0 && status.cancelled + status.compiled >= 200);
    assert!(status.compiled < 190, "{status:?}");
    // A disconnecting client cancels all its requests.
    (0..200).for_each(|n| _ = client.ask(&format!("other{n}"), Priority::Soon));
    let before = watch.status().compiled;
    drop(client);
    let status = watch.until("the rest is given up", |status| status.clients == 1 && status.busy == 0);
    assert!(status.compiled < before + 190, "{status:?}");
}

#[test]
fn a_client_with_too_many_requests_is_told_which_limit_it_reached() {
    let service = Service::start(&["--workers=1"]);
    let mut client = service.client();
    // Without modules nothing is compiled meanwhile.
    client.sends_modules = false;
    let limit = client.welcome.limits.requests;
    let mut busy = 0;
    for n in 0..u64::from(limit) + 3 {
        client.ask(&format!("main{n}"), Priority::Soon);
    }
    while busy < 3 {
        if let Tell::Busy { id, retry_ms, limit: named } = client.next() {
            assert!(id > u64::from(limit) && retry_ms > 0 && named.contains("4096 requests"), "{id}: {named}");
            busy += 1;
        }
    }
    // Other clients are served.
    service.client().compile("main", Priority::Soon).expect("a part");
}
