//! Services that keep a connection busy without getting on: none holds the context's thread, which the destruction of a
//! context waits for.

use super::*;
use dovetail::frame::{HEAD, body_length, frame};
use dovetail::wire::MAX_FRAME;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

/// The time limit of a message, and some more for a busy machine.
const LIMIT: Duration = Duration::from_secs(5);

/// Reads a message.
fn heard(stream: &mut UnixStream) -> Option<Ask> {
    let mut head = [0; HEAD];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; body_length(head, MAX_FRAME).unwrap()];
    stream.read_exact(&mut body).ok()?;
    Some(dovetail::frame::parse(&body).unwrap())
}

fn framed(tell: &Tell) -> Vec<u8> {
    frame(tell, MAX_FRAME).unwrap()
}

/// A service that does this with each client after its hello, until a read or write fails.
fn serve(folder: &Folder, with: impl Fn(&mut UnixStream) -> Option<()> + Send + 'static) {
    let listener = UnixListener::bind(folder.socket()).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if heard(&mut stream).is_some() {
                while with(&mut stream).is_some() {}
            }
        }
    });
}

fn welcomed(stream: &mut UnixStream) -> Option<()> {
    stream.write_all(&framed(&Tell::Welcome(welcome(compiler())))).ok()
}

#[test]
fn a_welcome_that_drips_has_a_time_limit() {
    let folder = Folder::new();
    serve(&folder, |stream| {
        stream.write_all(&[0, 0, 0, 2]).ok()?;
        loop {
            stream.write_all(&[0]).ok()?;
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let context = folder.context();
    let start = Instant::now();
    assert_eq!(shader(&context, Stage::Vertex, 1).wait(LONG).unwrap(), ShaderStatus::NotCached);
    let Reach::Away(why) = context.reach().unwrap() else { panic!("it is there") };
    assert!(why.to_string().contains("no answer for 2 seconds"), "{why}");
    drop(context);
    assert!(start.elapsed() < 2 * LIMIT, "{:?}", start.elapsed());
}

#[test]
fn messages_without_end_hold_neither_orders_nor_the_closing() {
    let folder = Folder::new();
    let (to, asked) = std::sync::mpsc::channel();
    serve(&folder, move |stream| {
        welcomed(stream)?;
        let (mut reader, to) = (stream.try_clone().ok()?, to.clone());
        std::thread::spawn(move || {
            while let Some(ask) = heard(&mut reader) {
                let _ = to.send(is_stage(&ask));
            }
        });
        let many = framed(&Tell::Pong { token: 0 }).repeat(10_000);
        loop {
            stream.write_all(&many).ok()?;
        }
    });
    let context = folder.context();
    let vs = shader(&context, Stage::Vertex, 1);
    assert_eq!(asked.recv_timeout(LONG), Ok(true));
    std::thread::sleep(Duration::from_millis(100));
    let fs = shader(&context, Stage::Fragment, 2);
    assert_eq!(asked.recv_timeout(LONG), Ok(true), "orders are carried out");
    let start = Instant::now();
    drop((vs, fs, context));
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}

#[test]
fn a_message_that_is_read_in_pieces_has_a_time_limit() {
    let folder = Folder::new();
    // Four MiB that do nothing.
    let code = [module(1), 0x0001_0000u32.to_le_bytes().repeat(1 << 20)].concat();
    let digest = ModuleDigest(*blake3::hash(&code).as_bytes());
    let (to, begun) = std::sync::mpsc::channel();
    serve(&folder, move |stream| {
        welcomed(stream)?;
        heard(stream)?;
        stream.write_all(&framed(&Tell::NeedModule { digest })).ok()?;
        stream.read_exact(&mut [0; HEAD]).ok()?;
        let _ = to.send(());
        loop {
            stream.read_exact(&mut [0; 4096]).ok()?;
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let context = folder.context();
    let vs = Shader::new(&context, &shader_info(Stage::Vertex, &code)).unwrap();
    begun.recv_timeout(LONG).unwrap();
    let start = Instant::now();
    drop((vs, context));
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}
