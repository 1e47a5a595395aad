//! The report at exit: a table for people, and JSON.

use crate::complain::complain;
use crate::guard::aside;
use crate::session::Session;
use crate::times::{Came, Summary};
use dovetail_base::error::printable;
use dovetail_base::files::write_unsynced;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

impl Came {
    fn name(&self) -> &'static str {
        match self {
            Self::Linked => "linked",
            Self::Whole(_) => "whole",
            Self::Waiting => "waiting",
            Self::Unsupported(..) => "unsupported",
            Self::NotCached(_) => "not cached",
            Self::NeedsWhole(_) => "needs whole",
            Self::Pending(_) => "pending",
            Self::Failed(_) => "failed",
        }
    }

    fn why(&self) -> &str {
        match self {
            Self::Linked | Self::Waiting => "",
            Self::Unsupported(_, why) | Self::Whole(why) | Self::NotCached(why) => why,
            Self::NeedsWhole(why) | Self::Pending(why) | Self::Failed(why) => why,
        }
    }
}

/// From now on, writes the JSON every second if it has changed, because many applications are killed in the end.
pub fn keep_json(session: &'static Session) {
    if session.config.json.is_none() {
        return;
    }
    let thread = std::thread::Builder::new().name("dvt-report".to_owned());
    let keep = move || {
        let mut last = 0;
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = session.times.as_ref().map_or(0, |times| times.created());
            if now != last {
                write_json(session);
            }
            last = now;
        }
    };
    if let Err(e) = thread.spawn(move || aside(keep)) {
        complain(&format!("no JSON but at the end: {e}"));
    }
}

/// Writes the JSON, if configured.
pub fn write_json(session: &Session) {
    let Some(path) = &session.config.json else { return };
    let text = format!("{:#}\n", document(session));
    // A reader sees a complete file even while the application runs.
    if let Err(e) = write_unsynced(path, text.as_bytes()) {
        complain(&e.to_string());
    }
}

fn document(session: &Session) -> Value {
    let (modules, pipelines, untranslated) = session.counts();
    let made = session.times.as_ref().map(|times| times.summaries()).unwrap_or_default();
    let stats = session.times.as_ref().map(|times| times.stats()).unwrap_or_default();
    let row = |made: &Summary| {
        json!({
            "name": made.name.to_string(), "kind": made.kind, "stages": made.stages, "created": made.created,
            "driver_us": microseconds(made.driver), "shaders_us": microseconds(made.shaders),
            "link_us": microseconds(made.link), "hits": made.hits, "bytes": made.bytes,
            "result": made.came.name(), "why": made.came.why(),
            "feature": match &made.came { Came::Unsupported(feature, _) => Some(feature), _ => None },
        })
    };
    json!({
        "modules": modules, "pipelines": pipelines, "untranslated": untranslated,
        "recorded": session.recorder.as_ref().map(|recorder| recorder.path().display().to_string()),
        "failure": session.recorder.as_ref().and_then(|recorder| recorder.failure()).map(|e| e.to_string()),
        "made": made.iter().map(row).collect::<Vec<_>>(),
        "memory_hits": stats.memory_hits, "disk_hits": stats.disk_hits, "misses": stats.misses,
        "asked": stats.asked, "answered": stats.answered,
    })
}

/// Prints the table, if configured, and the failures.
pub fn print(session: &Session) {
    if let Some(e) = session.recorder.as_ref().and_then(|recorder| recorder.failure()) {
        complain(&format!("the recording is not complete: {e}"));
    }
    let Some(path) = &session.config.times else { return };
    let text = table(session);
    if path == Path::new("-") {
        let _ = std::io::stderr().write_all(text.as_bytes());
    } else if let Err(e) = write_unsynced(path, text.as_bytes()) {
        complain(&e.to_string());
    }
}

fn table(session: &Session) -> String {
    let Some(times) = &session.times else { return String::new() };
    let made = times.summaries();
    let mut text =
        String::from("pipeline          kind      times   driver µs  shaders µs     link µs  parts   bytes  came\n");
    for row in &made {
        text += &format!(
            "{}  {:<8} {:>6} {:>11.1} {:>11.1} {:>11.1}  {:>2}/{:<2} {:>7}  {} {}\n",
            row.name,
            row.kind,
            row.created,
            microseconds(row.driver),
            microseconds(row.shaders),
            microseconds(row.link),
            row.hits,
            row.stages,
            row.bytes,
            row.came.name(),
            printable(row.came.why()),
        );
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    made.iter().for_each(|row| *counts.entry(row.came.name()).or_default() += 1);
    let counts: Vec<String> = counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
    let (modules, pipelines, _) = session.counts();
    let stats = times.stats();
    text += &format!("{modules} modules, {pipelines} pipelines: {}\n", counts.join(", "));
    text += &format!(
        "parts: {} from memory, {} from disk, {} missed; service: {} asked, {} answered\n",
        stats.memory_hits, stats.disk_hits, stats.misses, stats.asked, stats.answered
    );
    text
}
