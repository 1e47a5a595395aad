//! Clients that violate the protocol are disconnected, and others are not affected.

use crate::harness::{Client, PATIENCE, Service, request};
use crate::smallest::shader;
use dovetail::frame::{Bytes, frame};
use dovetail::wire::{Ask, Hello, MAX_FRAME, PROTOCOLS, Priority, REQUEST_SCHEMA, Tell};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn stream(service: &Service) -> UnixStream {
    let stream = UnixStream::connect(service.socket()).expect("a service");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream
}

/// Everything that the service sends until it closes the connection.
fn until_closed(mut stream: UnixStream) -> String {
    let mut said = Vec::new();
    // A reset is a close too.
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

fn hello() -> Hello {
    Hello { protocols: PROTOCOLS, schema: REQUEST_SCHEMA.into(), app: "test".into(), cache: None }
}

/// Checks that another client can work during and after `attack`.
fn others_unaffected(service: &Service, attack: impl FnOnce()) {
    let mut client = service.client();
    client.compile("before", Priority::Waits).expect("a part");
    attack();
    client.compile("after", Priority::Waits).expect("a part");
    client.until("only this client is left", |status| status.clients == 1);
}

#[test]
fn frames_that_are_none_end_their_own_connection() {
    let service = Service::start(&["--workers=1"]);
    others_unaffected(&service, || {
        let framed = |ask: &Ask| frame(ask, MAX_FRAME).expect("a frame");
        let welcome = framed(&Ask::Hello(hello()));
        let unknown = {
            let mut body = rmp_serde::to_vec_named(&[("Unheard", 7)]).expect("a message");
            body.splice(0..0, (body.len() as u32).to_le_bytes());
            body
        };
        let cases: [(&str, Vec<u8>); 7] = [
            ("garbage", vec![0xff; 100]),
            ("a huge length before the hello", [&(1u32 << 20).to_le_bytes()[..], &[0; 64]].concat()),
            ("a huge length after it", [&welcome[..], &u32::MAX.to_le_bytes()[..]].concat()),
            ("no MessagePack", [&welcome[..], &4u32.to_le_bytes()[..], &[0xc1; 4]].concat()),
            ("a message that nobody knows", [&welcome[..], &unknown[..]].concat()),
            ("two hellos", [&welcome[..], &welcome[..]].concat()),
            ("something before the hello", framed(&Ask::Status)),
        ];
        for (what, bytes) in cases {
            let mut stream = stream(&service);
            stream.write_all(&bytes).expect("a service that listens");
            let said = until_closed(stream);
            assert!(said.contains("Refused"), "{what}: {said}");
        }
    });
}

#[test]
fn a_hello_has_its_time_and_its_version() {
    let service = Service::start(&["--workers=1"]);
    others_unaffected(&service, || {
        let begun = Instant::now();
        let said = until_closed(stream(&service));
        assert!(said.contains("no hello") && begun.elapsed() >= Duration::from_secs(2), "{said}");

        let mut stream = stream(&service);
        let newer = Hello { protocols: (PROTOCOLS.1 + 1, PROTOCOLS.1 + 1), ..hello() };
        stream.write_all(&frame(&Ask::Hello(newer), MAX_FRAME).expect("a frame")).expect("a service");
        let said = until_closed(stream);
        assert!(said.contains("the service speaks 1 to 1"), "{said}");
    });
}

#[test]
fn a_lie_about_a_module_is_found_out() {
    let service = Service::start(&["--workers=1"]);
    others_unaffected(&service, || {
        let mut liar = service.client();
        liar.sends_modules = false;
        // Another client waits for the same shader, and has the real module.
        liar.ask("main", Priority::Soon);
        assert!(matches!(liar.next(), Tell::NeedModule { .. }));
        let mut honest = service.client();
        honest.ask("main", Priority::Soon);
        liar.send(&Ask::Module { module: Bytes(shader("another")) });
        honest.stage().expect("a part");
        assert!(is_cut_off(liar));
        // The key of the request maps to the requested code.
        let kept = honest.compile("main", Priority::Soon).expect("a part");
        assert_eq!(kept.0, crate::harness::key("main"));
    });
}

#[test]
fn what_a_client_may_not_say_ends_it() {
    let service = Service::start(&["--workers=1"]);
    others_unaffected(&service, || {
        let unasked = [
            Ask::Module { module: Bytes(shader("main")) },
            Ask::Module { module: Bytes(b"no module".to_vec()) },
            Ask::NoModule { digest: request("main").module },
        ];
        for ask in unasked {
            let mut client = service.client();
            client.send(&ask);
            assert!(is_cut_off(client), "{ask:?}");
        }
        let mut client = service.client();
        client.sends_modules = false;
        client.ask("main", Priority::Soon);
        let again = Ask::Stage(dovetail::wire::StageAsk {
            id: 1,
            request: request("other"),
            class: Priority::Soon,
            inline: false,
            cached_only: false,
        });
        client.send(&again);
        assert!(is_cut_off(client), "a number that is used twice");
    });
}

fn is_cut_off(mut client: Client) -> bool {
    let mut refused = false;
    while let Some(tell) = client.try_next() {
        refused |= matches!(tell, Tell::Refused(_));
    }
    refused
}

#[test]
fn one_who_does_not_listen_is_cut_off() {
    let service = Service::start(&["--workers=1"]);
    others_unaffected(&service, || {
        let mut deaf = stream(&service);
        deaf.set_write_timeout(Some(PATIENCE)).expect("a socket");
        deaf.write_all(&frame(&Ask::Hello(hello()), MAX_FRAME).expect("a frame")).expect("a service");
        // Each status is some hundred bytes, and nothing is read. At 8 MiB the service closes the connection.
        let many: Vec<u8> = frame(&Ask::Status, MAX_FRAME).expect("a frame").repeat(1000);
        let begun = Instant::now();
        while deaf.write_all(&many).is_ok() {
            assert!(begun.elapsed() < PATIENCE, "the service takes it for ever");
        }
    });
}

#[test]
fn a_hundred_thousand_connections_leave_nothing_behind() {
    let service = Service::start(&["--workers=1"]);
    others_unaffected(&service, || {
        let open = || std::fs::read_dir(format!("/proc/{}/fd", service.process.id())).expect("a process").count();
        let before = open();
        let hello = frame(&Ask::Hello(hello()), MAX_FRAME).expect("a frame");
        for n in 0..100_000 {
            let mut stream = stream(&service);
            // Nothing, half of a length, or all but the last byte of a hello. The service may have closed it already.
            let _ = stream.write_all(&hello[..[0, 2, hello.len() - 1][n % 3]]);
        }
        let begun = Instant::now();
        while open() > before {
            assert!(begun.elapsed() < PATIENCE, "{} of {before} files are open", open());
            std::thread::sleep(Duration::from_millis(10));
        }
    });
}

/// Connects as often as it is let, with a hello each.
fn idle_connections(socket: &std::path::Path) -> Vec<UnixStream> {
    let hello = frame(&Ask::Hello(hello()), MAX_FRAME).expect("a frame");
    let connect = || {
        let mut stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(&hello).ok()?;
        let mut said = [0; 64];
        let length = stream.read(&mut said).ok()?;
        String::from_utf8_lossy(&said[..length]).contains("Welcome").then_some(stream)
    };
    std::iter::repeat_with(connect).take(1000).map_while(|open| open).collect()
}

fn program(service: &Service, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    let out = command.args(arguments).current_dir(service.dir.path()).output().expect("the program");
    (out.status.success(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
}

#[test]
fn idle_connections_of_one_process_lock_nobody_out() {
    let service = Service::start(&["--workers=1"]);
    service.status();
    let idle = idle_connections(&service.socket());
    assert!((32..256).contains(&idle.len()), "{}", idle.len());
    assert!(until_closed(stream(&service)).contains("Refused"));
    std::fs::write(service.dir.path().join("a.spv"), shader("main")).expect("a file");
    let (done, said) = program(&service, &["populate", "a.spv", "--service=socket"]);
    assert!(done, "{said}");
    assert!(service.log().contains("a connection was refused: process"), "{}", service.log());
    drop(idle);
    service.status();
}

/// Not a test: the process that [`a_full_service_still_tells_its_status`] starts.
#[test]
#[ignore = "another test starts it"]
fn holds_connections() {
    let Some(socket) = std::env::var_os("DOVETAIL_HOLD") else { return };
    let idle = idle_connections(std::path::Path::new(&socket));
    println!("it holds {}!", idle.len());
    // Until the test ends.
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn a_full_service_still_tells_its_status() {
    let service = Service::start(&["--workers=1"]);
    service.status();
    let hold = || -> Child {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "hostile::holds_connections", "--ignored", "--nocapture"]);
        command.env("DOVETAIL_HOLD", service.socket()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this program again");
        let (mut said, mut byte) = (Vec::new(), [0]);
        let output = child.stdout.as_mut().expect("its output");
        while !said.ends_with(b"!") && output.read(&mut byte).expect("its output") > 0 {
            said.extend(byte);
        }
        child
    };
    let mut holders: Vec<Child> = (0..5).map(|_| hold()).collect();
    std::fs::write(service.dir.path().join("a.spv"), shader("main")).expect("a file");
    let (served, said) = program(&service, &["populate", "a.spv", "--service=socket"]);
    assert!(!served && said.contains("connections"), "it is full: {said}");
    let (told, said) = program(&service, &["service", "status", "--socket=socket"]);
    assert!(told && said.contains("clients"), "{said}");
    for holder in &mut holders {
        holder.kill().and_then(|()| holder.wait()).expect("a process");
    }
    let (served, said) = program(&service, &["populate", "a.spv", "--service=socket"]);
    assert!(served, "{said}");
}

#[test]
fn a_message_that_trickles_has_an_end() {
    let service = Service::start(&["--workers=1"]);
    others_unaffected(&service, || {
        let mut slow = stream(&service);
        let begun = Instant::now();
        let hello = frame(&Ask::Hello(hello()), MAX_FRAME).expect("a frame");
        slow.write_all(&[&hello[..], &(1u32 << 20).to_le_bytes()].concat()).expect("a service");
        while slow.write_all(&[0]).is_ok() {
            assert!(begun.elapsed() < PATIENCE, "it may send for ever");
            std::thread::sleep(Duration::from_millis(100));
        }
        let said = until_closed(slow);
        assert!(said.contains("not complete") && begun.elapsed() >= Duration::from_secs(5), "{said}");
    });
}

#[test]
fn unfinished_messages_take_a_limited_amount_of_memory() {
    let service = Service::start(&["--workers=1"]);
    others_unaffected(&service, || {
        let hello = frame(&Ask::Hello(hello()), MAX_FRAME).expect("a frame");
        let (head, body) = (MAX_FRAME.to_le_bytes(), vec![0; MAX_FRAME as usize - 1]);
        let unfinished: Vec<_> = (0..20)
            .map(|_| {
                let mut stream = stream(&service);
                stream.set_write_timeout(Some(Duration::from_secs(5))).expect("a socket");
                stream.write_all(&[&hello[..], &head].concat()).expect("a service");
                // The service may refuse the rest.
                let _ = stream.write_all(&body);
                stream
            })
            .collect();
        let status = std::fs::read_to_string(format!("/proc/{}/status", service.process.id())).expect("a process");
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a field of proc(5)");
        let most: u64 = most.trim().trim_end_matches(" kB").parse().expect("a number");
        assert!(most < 400 << 10, "{most} KiB");
        drop(unfinished);
    });
}
