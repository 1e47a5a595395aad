//! Overhead of the service, compared within one run with its components: a ping with an echo of the same bytes, many
//! clients with one, processor time of compiles with that of the worker pool alone.

#[path = "../tests/service/harness.rs"]
mod harness;
#[path = "../tests/support/smallest.rs"]
mod smallest;
#[path = "support/mod.rs"]
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use dovetail::cache::{Cache, StoreKind};
use dovetail::compile::request::{Module, StageRequest, TuningOptions};
use dovetail::compile::worker::{WorkerConfig, WorkerPool};
use dovetail::frame::frame;
use dovetail::toolchain::Toolchain;
use dovetail::wire::{Ask, MAX_FRAME, Priority, Tell};
use harness::Service;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use support::times::{Times, head, measuring};

const RUNS: usize = 20_000;

/// Sends bytes to a thread that sends them back.
fn echo(bytes: Vec<u8>) -> impl FnMut() -> u8 {
    let (mut near, mut far) = UnixStream::pair().expect("sockets");
    let length = bytes.len();
    std::thread::spawn(move || {
        let mut buffer = vec![0; length];
        while far.read_exact(&mut buffer).and_then(|()| far.write_all(&buffer)).is_ok() {}
    });
    let mut buffer = bytes;
    move || {
        near.write_all(&buffer).expect("the other end");
        near.read_exact(&mut buffer).expect("the other end");
        buffer[0]
    }
}

fn pings(c: &mut Criterion) {
    let service = Service::start(&["--workers=1"]);
    let mut client = service.client();
    let mut echo = echo(frame(&Ask::Ping { token: 7 }, MAX_FRAME).expect("a frame"));
    let mut ping = || {
        client.send(&Ask::Ping { token: 7 });
        matches!(client.next(), Tell::Pong { token: 7 })
    };
    c.bench_function("service/echo", |b| b.iter(&mut echo));
    c.bench_function("service/ping", |b| b.iter(&mut ping));
    head("a round trip");
    Times::of(RUNS, &mut echo).row("echo of the same bytes over a socket pair");
    Times::of(RUNS, &mut ping).row("ping");
    Times::of(RUNS, &mut echo).row("echo again");
}

/// Cached parts sent to one client and to 64.
fn fetches(_: &mut Criterion) {
    if !measuring() {
        return;
    }
    let service = Service::start(&["--workers=1"]);
    let (_, elf) = service.distant_client().compile("main", Priority::Waits).expect("a part");
    let bytes = elf.expect("it is sent").len();
    let fetch = |clients: usize| {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..clients {
                scope.spawn(|| {
                    let mut client = service.distant_client();
                    (0..RUNS / clients).for_each(|_| _ = client.compile("main", Priority::Waits).expect("a part"));
                });
            }
        });
        (RUNS / clients * clients) as f64 / begun.elapsed().as_secs_f64()
    };
    println!("\nparts of {bytes} bytes from the cache, a second\n");
    println!("| one client | 64 clients | 64 / one |\n| ---: | ---: | ---: |");
    // Alternating and repeated, to show the noise of the machine.
    for _ in 0..5 {
        let (one, many) = (fetch(1), fetch(64));
        println!("| {one:.0} | {many:.0} | {:.2} |", many / one);
    }
}

/// Processor time of this process and of all children that it has waited for (proc(5): `stat`).
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("proc");
    let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace().skip(11).take(4);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
}

fn compiles(_: &mut Criterion) {
    let inputs = support::testdata();
    if !measuring() || inputs.is_empty() {
        return;
    }
    let rounds = 25;
    // Each shader many times: an unreachable limit with a different value makes each a distinct request.
    let request = |input: &support::Input, n: u32| StageRequest {
        options: TuningOptions { vgpr_limit: 200 + n, ..TuningOptions::default() },
        ..input.request.clone()
    };
    // The same code in a module of its own: the third word names the program that wrote it.
    let renamed = |input: &support::Input, n: u32| {
        let mut bytes = input.module.bytes().to_vec();
        bytes.iter_mut().skip(8).zip(n.to_le_bytes()).for_each(|(byte, new)| *byte = new);
        Module::new(bytes).expect("a module")
    };
    let renamed: Vec<Vec<Module>> = (0..rounds).map(|n| inputs.iter().map(|i| renamed(i, n)).collect()).collect();
    let pool = || {
        let dir = tempfile::tempdir().expect("a folder");
        let before = processor_time();
        {
            let cache = Cache::open(dir.path(), StoreKind::Lmdb).expect("a cache");
            let config = WorkerConfig {
                program: env!("CARGO_BIN_EXE_dovetail").into(),
                args: vec!["worker".into()],
                memory_mib: 512,
                deadline: Duration::from_secs(60),
            };
            let pool = WorkerPool::start(config, 1).expect("workers");
            let tools = Toolchain::new(&cache, Some(&pool)).expect("tools");
            for n in 0..rounds {
                inputs.iter().for_each(|input| _ = tools.stage(&input.module, &request(input, n)).expect("a part"));
            }
        }
        processor_time() - before
    };
    let served = |each_module_once: bool| {
        let before = processor_time();
        {
            let mut service = Service::start(&["--workers=1"]);
            let mut client = service.client();
            for n in 0..rounds {
                for (input, renamed) in inputs.iter().zip(&renamed[n as usize]) {
                    let module = if each_module_once { renamed } else { &input.module };
                    let request = StageRequest { module: module.digest(), ..request(input, n) };
                    client.ask_for(module.bytes().to_vec(), request, Priority::Soon).expect("a service");
                    client.stage().expect("a part");
                }
            }
            drop(client);
            service.terminate();
            service.wait();
        }
        processor_time() - before
    };
    let shaders = inputs.len() as u32 * rounds;
    println!("\nprocessor time of {shaders} compiles, client and processes included\n");
    println!("| pool | service | service / pool | each module once | / pool |\n| ---: | ---: | ---: | ---: | ---: |");
    for _ in 0..7 {
        let [pool, served, once] = [pool(), served(false), served(true)].map(|time| time.as_secs_f64());
        println!("| {pool:.2} s | {served:.2} s | {:.3} | {once:.2} s | {:.3} |", served / pool, once / pool);
    }
}

criterion_group!(benches, pings, fetches, compiles);
criterion_main!(benches);
