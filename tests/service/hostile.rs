//! Clients that violate the protocol are disconnected, and others are not affected.

use crate::harness::{Client, PATIENCE, Service, request};
use crate::smallest::shader;
use dovetail::frame::{Bytes, frame};
use dovetail::wire::{Ask, Hello, MAX_FRAME, PROTOCOLS, Priority, REQUEST_SCHEMA, Tell};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
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
