//! The state file: TOML, with the values checked that its types do not restrict and no later step would notice.

use dovetail_base::error::{Error, Result};
use dovetail_state::{PipelineState, VertexRate};
use std::fmt::Display;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value that is not allowed: its place in the file, as `["color", "samples"]`, and the reason.
struct Fault {
    path: Vec<String>,
    why: String,
}

/// Reads the text of a state file.
///
/// # Errors
/// Malformed, with the line: no TOML, an unknown key, or a value that is not allowed.
pub fn parse(text: &str) -> Result<PipelineState> {
    let malformed = |e: toml::de::Error| Error::malformed(e.to_string());
    let state: PipelineState = toml::from_str(text).map_err(malformed)?;
    let Some(Fault { path, why }) = faults(&state).into_iter().next() else { return Ok(state) };
    let table = DeTable::parse(text).map_err(malformed)?;
    let line = line(text, &DeValue::Table(table.into_inner()), &path);
    Err(Error::malformed(format!("line {line}, {}: {why}", path.last().map_or("", String::as_str))))
}

/// Every value that is not allowed.
fn faults(state: &PipelineState) -> Vec<Fault> {
    let mut found = Vec::new();
    let mut check = |fine: bool, path: &[&dyn Display], why: String| {
        if !fine {
            found.push(Fault { path: path.iter().map(ToString::to_string).collect(), why });
        }
    };
    let bytes = state.layout.push_constant_bytes;
    let why = format!("{bytes} bytes of push constants: a multiple of 4");
    check(bytes.is_multiple_of(4), &[&"layout", &"push_constant_bytes"], why);
    for (n, binding) in state.vertex.bindings.iter().enumerate() {
        let divisor = binding.divisor;
        let fine = binding.rate == VertexRate::Instance || divisor == 1;
        let why = format!("{divisor} in a binding that is read per vertex: only with `rate = \"instance\"`");
        check(fine, &[&"vertex", &"bindings", &n, &"divisor"], why);
    }
    for (n, attachment) in state.color.attachments.iter().enumerate() {
        let mask = attachment.write_mask;
        let why = format!("{mask} has a bit beyond the four channels, r=1 g=2 b=4 a=8");
        check(mask <= 15, &[&"color", &"attachments", &n, &"write_mask"], why);
    }
    if let Err(e) = state.color.sample_count() {
        check(false, &[&"color", &"samples"], e.to_string());
    }
    let mask = state.raster.clip_plane_mask;
    let why = format!("{mask} has a bit beyond the six planes");
    check(mask < 1 << 6, &[&"raster", &"clip_plane_mask"], why);
    found
}

/// The line of a value, from 1; of what contains it if it is not in the text.
fn line(text: &str, table: &DeValue<'_>, path: &[String]) -> usize {
    let (mut value, mut at) = (table, 0);
    for step in path {
        let next: Option<&Spanned<DeValue<'_>>> = match value {
            DeValue::Array(_) => step.parse::<usize>().ok().and_then(|n| value.get(n)),
            _ => value.get(step.as_str()),
        };
        let Some(next) = next else { break };
        (value, at) = (next.get_ref(), next.span().start);
    }
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value that was read before, though Vulkan forbids it, with its line and the reason.
    #[test]
    fn a_value_that_is_not_allowed_is_refused_with_its_line() {
        let binding = "[[vertex.bindings]]\nbinding = 0\nstride = 4\n";
        for (text, line, why) in [
            ("\n[layout]\npush_constant_bytes = 6\n".to_owned(), 3, "a multiple of 4"),
            (format!("{binding}{binding}divisor = 2\n"), 7, "only with `rate = \"instance\"`"),
            (format!("{binding}rate = \"vertex\"\ndivisor = 0\n"), 5, "per vertex"),
            (
                "color.attachments = [\n{ location = 0, format = \"R8_UNORM\" },\n{ location = 1, format = \"R8_UNORM\", write_mask = 16 }]".into(),
                3,
                "r=1 g=2 b=4 a=8",
            ),
            ("color.samples = 3".to_owned(), 1, "1, 2, 4, 8 or 16"),
            ("[raster]\nclip_plane_mask = 64".to_owned(), 2, "six planes"),
        ] {
            let said = parse(&text).expect_err(&text).to_string();
            assert!(said.contains(&format!("line {line}, ")) && said.contains(why), "{text}\n{said}");
        }
        let allowed = format!("{binding}rate = \"instance\"\ndivisor = 0\n[layout]\npush_constant_bytes = 8\n");
        assert_eq!(parse(&allowed).unwrap().vertex.bindings[0].divisor, 0);
        assert!(parse("nonsense = 1").unwrap_err().to_string().contains("line 1"));
    }
}
