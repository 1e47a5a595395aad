//! The output of `dovetail run --trace`: the invocation, then each instruction followed by its effects; or one JSON
//! line for each.

use dovetail::emu::{Change, Executed, TraceEvent};
use dovetail::error::{Error, Result};
use std::fmt::Write as _;

/// Prints trace events.
pub fn printer(json: bool) -> impl FnMut(TraceEvent) -> Result<()> + 'static {
    move |event| {
        let text = match (json, &event) {
            (true, _) => format!("{}\n", serde_json::to_string(&event).map_err(|e| Error::bug(format!("JSON: {e}")))?),
            (false, TraceEvent::Invocation { name, lane, lanes }) => format!("{name}: lane {lane} of {lanes}\n"),
            (false, TraceEvent::Instruction(executed)) => lines(executed),
        };
        crate::out::try_say(&text)
    }
}

fn lines(executed: &Executed) -> String {
    let Executed { offset, part, text, active, changes, .. } = executed;
    let mark = if *active { ' ' } else { '-' };
    let mut out = format!("{offset:#06x} {part:<6} {mark} {text}\n");
    for Change { register, old, new } in changes {
        let vector = register.strip_prefix('v').is_some_and(|n| n.parse::<u8>().is_ok());
        let floats = if vector { format!("  {} -> {}", float(*old), float(*new)) } else { String::new() };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "                 {register:<7} {old:08x} -> {new:08x}{floats}");
    }
    out
}

/// The float with these bits, in as few digits as needed.
fn float(bits: u64) -> String {
    let x = f32::from_bits(u32::try_from(bits).unwrap_or_default());
    if x == 0.0 || (1e-4..1e7).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}
