//! Cache keys: a source that is hashed must not use one that is not.

use crate::resolve::Crates;
use crate::sources::{self, Sources};
use crate::support::root;
use crate::tree::{assert_none, texts};

#[test]
fn keys_know_every_source() {
    let texts = texts();
    let library = Crates::in_folder("src/", &texts);
    let uses = library.uses();
    let mut broken = Vec::new();
    for (what, sources) in [("stage", sources::COMPILER), ("glue", sources::GLUE), ("request", sources::REQUEST)] {
        let Sources { hashed, left_out, harmless, crates: _ } = sources;
        for path in hashed.iter().chain(left_out).chain(harmless) {
            if !root().join("src").join(path).exists() {
                broken.push(format!("{what}: {path} is not there"));
            }
        }
        for one in &uses {
            let [from, to] = [one.from, one.to].map(|file| file.trim_start_matches("src/"));
            let known = sources.contains(to) || harmless.iter().any(|h| to == *h || to.starts_with(&format!("{h}/")));
            // A re-export through a folder counts as an import of the original file.
            if sources.contains(from)
                && !known
                && !(one.passed_on && (from.ends_with("mod.rs") || from.ends_with("lib.rs")))
            {
                broken.push(format!("{what}: {}:{} takes `{}` from {}", one.from, one.line, one.path, one.to));
            }
        }
    }
    assert_none(&broken, "build/sources.rs does not hash what decides");
}
