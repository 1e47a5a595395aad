//! The metadata that a link writes for pipelines of every kind, as a tree, compared with `testdata/link` independently
//! of its encoding. `DOVETAIL_BLESS=1` rewrites the files.

use crate::prepared::shapes;
use dovetail::link::{EmitGlue, Placement, link, verify};
use dovetail::metadata::document::Document;
use dovetail::metadata::note;
use rmpv::Value;
use std::fmt::Write;
use std::path::Path;

/// The bytes of `.note`, located without the linker's own reader.
fn note_section(elf: &[u8]) -> &[u8] {
    let word = |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().unwrap()) as usize;
    let header = 64 + 64 * 4;
    &elf[word(header + 24)..word(header + 24) + word(header + 32)]
}

/// One entry per line; maps and arrays of anything but numbers are indented.
fn show(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Map(map) => {
            for (key, value) in map {
                let _ = write!(out, "\n{:1$}{key}:", "", 2 * depth);
                show(value, depth + 1, out);
            }
        }
        other => drop(write!(out, " {other}")),
    }
}

#[test]
fn trees_are_as_written_down() {
    let mut trees = String::new();
    for (number, (parts, state)) in shapes().iter().enumerate() {
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let elf = link(&parts, state, Placement::Adjacent, &EmitGlue).unwrap();
        assert!(verify(&elf).unwrap().is_ok(), "{:?}", verify(&elf).unwrap().violations);
        let mut document = Document::parse(note::metadata(note_section(&elf)).unwrap()).unwrap();
        // Hashes of pipelines, which other tests cover.
        document.pipeline.retain(|(key, _)| key.as_str() != Some(".internal_pipeline_hash"));
        let _ = write!(trees, "shape {number}, version {:?}", document.version.unwrap());
        show(&Value::Map(document.pipeline), 1, &mut trees);
        trees.push_str("\n\n");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/link/metadata.txt");
    if std::env::var_os("DOVETAIL_BLESS").is_some() {
        std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
        std::fs::write(&golden, &trees).unwrap();
    }
    let expect = std::fs::read_to_string(&golden).unwrap_or_default();
    let line = trees.lines().zip(expect.lines()).position(|(a, b)| a != b);
    assert!(trees == expect, "the trees differ from line {line:?} (from 0) on: DOVETAIL_BLESS=1 writes them down");
}
