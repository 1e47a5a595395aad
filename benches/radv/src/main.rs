//! Compiles single shaders with RADV for `benches/native.rs`, and links pipeline libraries for `benches/link.rs`.
//!
//! Reads one JSON request per line from stdin and answers each with a line of JSON. It is a separate process because a
//! driver may crash, and because its environment (which driver, which GPU) is read when it is loaded. RADV needs no
//! GPU: `RADV_FORCE_FAMILY` selects one.

mod device;
mod layout;
mod links;
mod listing;
mod pipeline;
mod protocol;

use device::Device;
use protocol::{Answer, Request};
use std::io::{BufRead, Write};

fn main() {
    let device = Device::open();
    let mut out = std::io::stdout().lock();
    let mut say = |answer: &Answer| {
        let text = serde_json::to_string(answer).expect("plain data");
        writeln!(out, "{text}").and_then(|()| out.flush()).expect("the reader is there");
    };
    let device = match device {
        Ok(device) => device,
        Err(e) => return say(&Answer::Error(e)),
    };
    say(&Answer::Driver(device.driver.clone()));
    let mut pairs = links::Pairs::new(&device);
    for line in std::io::stdin().lock().lines() {
        let answer = line
            .map_err(|e| e.to_string())
            .and_then(|line| serde_json::from_str::<Request>(&line).map_err(|e| e.to_string()))
            .and_then(|request| match request {
                Request::Stage(stage) => pipeline::compile(&device, &stage),
                Request::Pair(pair) => pairs.keep(pair).map(|()| Answer::Kept {}),
                Request::Links(range) => pairs.links(range).map(Answer::Times),
                Request::CachedLinks(range) => pairs.cached_links(range).map(Answer::Times),
            });
        say(&answer.unwrap_or_else(Answer::Error));
    }
}
