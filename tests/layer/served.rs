//! The layer with a service: shaders missing from the cache are compiled by the service and found there the next time.

use crate::{Scenery, TRIPLES};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A service, which is killed when it is dropped.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Results of the application's pipelines with the cache `served` and the service `socket`.
fn made(stage: &Scenery) -> Value {
    let given = [
        ("DOVETAIL_LAYER_JSON", "times.json"),
        ("DOVETAIL_LAYER_TIMES", "times.txt"),
        ("DOVETAIL_LAYER_CACHE", "served"),
        ("DOVETAIL_LAYER_SOCKET", "socket"),
        ("DOVETAIL_LAYER_WAIT", "120"),
    ];
    assert_eq!(stage.layered(&given), (TRIPLES(), true));
    let text = std::fs::read(stage.path("times.json")).expect("a report");
    serde_json::from_slice(&text).expect("JSON")
}

#[test]
fn what_is_missing_is_asked_of_a_service() {
    const NAME: &str = "what_is_missing_is_asked_of_a_service";
    let Some(stage) = Scenery::set(NAME) else { return };
    let mut serve = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    serve.args(["serve", "--dedicated", "--socket", "socket", "--cache", "served"]).current_dir(stage.dir.path());
    serve.env_remove("LISTEN_FDS").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let service = Service(serve.spawn().expect("the service"));
    let begun = Instant::now();
    while !(stage.path("socket").exists() && stage.path("served").exists()) {
        assert!(begun.elapsed() < Duration::from_secs(120), "the service does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    let came = |times: &Value, result: &str| -> Vec<Value> {
        let rows = times["made"].as_array().expect("pipelines").iter();
        rows.filter(|row| row["result"] == result).cloned().collect()
    };
    let first = made(&stage);
    assert_eq!((came(&first, "linked").len(), came(&first, "waiting").len()), (3, 1), "{first}");
    assert!(came(&first, "linked").iter().all(|row| row["hits"] == 0), "{first}");
    // One vertex shader, the fragment shader with two specializations, the compute shader with its own; and each linked
    // pipeline is offered for later optimization.
    assert_eq!((&first["asked"], &first["answered"]), (&7.into(), &4.into()), "{first}");
    let table = std::fs::read_to_string(stage.path("times.txt")).expect("a table");
    assert!(table.contains("service: 7 asked, 4 answered"), "{table}");
    // An answer may arrive before the result is in the cache.
    let begun = Instant::now();
    let again = loop {
        let again = made(&stage);
        let at_hand = came(&again, "linked").iter().all(|row| row["hits"] == row["stages"]);
        if at_hand || begun.elapsed() > Duration::from_secs(60) {
            break again;
        }
    };
    assert!(came(&again, "linked").iter().all(|row| row["hits"] == row["stages"]), "{again}");
    drop(service);
    let alone = made(&stage);
    assert_eq!(came(&alone, "linked").len(), 3, "{alone}");
}
