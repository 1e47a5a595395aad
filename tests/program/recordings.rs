//! Archives of an application's pipelines as inputs of `populate`.

use crate::smallest::shader;
use dovetail::capture::foz::{ArchiveWriter, EntryKind, payload};
use dovetail::capture::{ComputePipeline, Definition, Hash, PipelineLayout, ShaderStage};
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::{Command, Output};

const LAYOUT: Hash = Hash(1);
const MODULE: Hash = Hash(2);
/// Number of the first pipeline.
const PIPELINE: u64 = 3;

/// An archive with this many pipelines of one compute module.
fn archive(pipelines: u64, entry_point: &str) -> Vec<u8> {
    let stage = ShaderStage { stage: 32, module: MODULE, name: entry_point.into(), ..ShaderStage::default() };
    let pipeline = ComputePipeline { layout: LAYOUT, stage, ..ComputePipeline::default() };
    let (layout, code) = (PipelineLayout::default(), shader("main"));
    let mut out = ArchiveWriter::new(Cursor::new(Vec::new())).expect("to memory");
    let mut put = |kind, hash, what: Definition<'_>| {
        out.put(kind, hash, &payload::of(hash, &what).expect("JSON")).expect("to memory");
    };
    put(EntryKind::PipelineLayout, LAYOUT, Definition::PipelineLayout(&layout));
    put(EntryKind::ShaderModule, MODULE, Definition::Module(&code));
    for n in 0..pipelines {
        put(EntryKind::ComputePipeline, Hash(PIPELINE + n), Definition::Compute(&pipeline));
    }
    out.into_inner().into_inner()
}

fn populate(dir: &Path, archive: &[u8]) -> (Output, serde_json::Value) {
    fs::write(dir.join("game.foz"), archive).expect("a file");
    let mut run = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    run.args(["populate", "--json", "--cache"]).arg(dir.join("cache")).arg(dir.join("game.foz"));
    let run = run.output().expect("our own program");
    let summary = serde_json::from_slice(&run.stdout).expect("JSON");
    (run, summary)
}

#[test]
fn every_pipeline_of_an_archive_is_linked() {
    let dir = tempfile::tempdir().expect("a folder");
    let (run, summary) = populate(dir.path(), &archive(20, "main"));
    assert_eq!(run.status.code(), Some(0), "{summary}");
    assert_eq!(summary["pipelines"]["linked"], 20, "{summary}");
}

#[test]
fn an_archive_that_was_cut_off_gives_what_is_whole_and_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut bytes = archive(20, "main");
    bytes.truncate(bytes.len() - 5);
    let (run, summary) = populate(dir.path(), &bytes);
    assert_eq!(run.status.code(), Some(1), "{summary}");
    assert_eq!(summary["pipelines"]["linked"], 19, "{summary}");
    assert!(summary.to_string().contains("truncated after byte"), "{summary}");
}

#[test]
fn a_name_of_an_entry_point_has_a_limit() {
    let dir = tempfile::tempdir().expect("a folder");
    let (run, summary) = populate(dir.path(), &archive(2, &"m".repeat(5000)));
    assert_eq!(run.status.code(), Some(1), "{summary}");
    assert_eq!(summary["pipelines"]["unsupported"]["name of an entry point of this length"], 2, "{summary}");
}
