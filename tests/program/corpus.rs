//! `dovetail corpus extract` as users run it, on shaders of a real compiler.

use crate::support::{Tool, tool};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const VERTEX: &str = "#version 450
layout(location = 0) in vec4 position;
layout(location = 0) out vec4 color;
void main() { gl_Position = position; color = position.wzyx; }
";
const FRAGMENT: &str = "#version 450
layout(location = 0) in vec4 color;
layout(location = 0) out vec4 target;
void main() { target = color; }
";
const COMPUTE: &str = "#version 450
layout(local_size_x_id = 3) in;
layout(constant_id = 3) const uint SIZE = 256;
layout(binding = 0) buffer B { uint data[]; };
void main() { data[gl_GlobalInvocationID.x] = SIZE; }
";

fn compiled(glslang: &Tool, dir: &Path, stage: &str, source: &str) -> Vec<u8> {
    let out = dir.join(format!("made.{stage}.spv"));
    let arguments = ["--stdin", "-V", "-S", stage, "-o", out.to_str().expect("a plain path")];
    glslang.run(&arguments, source.as_bytes());
    let bytes = fs::read(&out).expect("glslangValidator wrote it");
    fs::remove_file(out).expect("it is ours");
    bytes
}

fn extract(input: &Path, out: &Path) -> String {
    let run =
        Command::new(env!("CARGO_BIN_EXE_dovetail")).args(["corpus", "extract"]).arg(input).arg("-o").arg(out).output();
    let run = run.expect("our own program");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).expect("text")
}

/// The smallest valid module: a capability, a memory model, a name, an empty function.
fn tiny(number: u32) -> Vec<u8> {
    let words: [u32; 27] = [
        0x0723_0203,
        0x0001_0300,
        0,
        8,
        0,
        2 << 16 | 17,
        1,
        3 << 16 | 14,
        0,
        1,
        3 << 16 | 5,
        4,
        number,
        2 << 16 | 19,
        1,
        3 << 16 | 33,
        2,
        1,
        5 << 16 | 54,
        1,
        4,
        0,
        2,
        2 << 16 | 248,
        5,
        1 << 16 | 253,
        1 << 16 | 56,
    ];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn long_names_equal_names_and_folders_of_the_same_files() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("in");
    for folder in ["a", "b"] {
        fs::create_dir_all(input.join(folder)).expect("a folder");
        let mut zip = zip::ZipWriter::new(fs::File::create(input.join(folder).join("pack.zip")).expect("a file"));
        let number = u32::from(folder.as_bytes()[0]);
        zip.start_file(format!("{}.spv", "long".repeat(750)), zip::write::SimpleFileOptions::default()).expect("zip");
        zip.write_all(&tiny(number)).expect("zip");
        zip.finish().expect("zip");
    }
    let many: Vec<u8> = (1000..3000).flat_map(tiny).collect();
    fs::write(input.join("b/many.bin"), many).expect("a file");
    let out = dir.path().join("out");
    assert!(extract(&input, &out).contains(": 2002 modules"));
    let index = fs::read_to_string(out.join("index.json")).expect("written");
    let index: serde_json::Value = serde_json::from_str(&index).expect("JSON");
    let origins: Vec<&str> =
        index.as_array().expect("a list").iter().map(|m| m["origin"].as_str().expect("text")).collect();
    assert!(
        origins[0].starts_with("a/pack.zip!in:longlong") && origins[1].starts_with("b/many.bin!@0x0"),
        "{origins:?}"
    );
    for module in index.as_array().expect("a list") {
        assert!(out.join(module["file"].as_str().expect("text")).is_file(), "{module}");
    }
}

#[test]
fn what_was_not_searched_is_named_and_the_rest_extracted() {
    let dir = tempfile::tempdir().expect("a folder");
    let input = dir.path().join("in");
    fs::create_dir(&input).expect("a folder");
    fs::write(input.join("good.spv"), tiny(1)).expect("a file");
    fs::write(input.join("bomb.zst"), zstd::encode_all(&vec![0; 3 << 20][..], 1).expect("zstd")).expect("a file");
    fs::File::create(input.join("sparse.bin")).expect("a file").set_len(3 << 30).expect("a size");
    let mut run = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    run.args(["corpus", "extract", "--input-memory=2", "-o"]).arg(dir.path().join("out")).arg(&input).arg("missing");
    let run = run.output().expect("our own program");
    let said = String::from_utf8(run.stderr).expect("text");
    assert_eq!(run.status.code(), Some(1), "{said}");
    for line in ["bomb.zst: not searched completely: it needs more than 2 MiB", "sparse.bin: unsupported", "missing: "]
    {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(fs::read(dir.path().join("out/good.spv")).expect("extracted"), tiny(1));
}

#[test]
fn shaders_come_out_of_an_archive_with_names_pairs_and_sizes() {
    let Some(glslang) = tool("shaders_come_out_of_an_archive_with_names_pairs_and_sizes", "glslangValidator") else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    let shaders = [("vert", VERTEX), ("frag", FRAGMENT), ("comp", COMPUTE)];
    let modules = shaders.map(|(stage, source)| (stage, compiled(&glslang, dir.path(), stage, source)));

    let input = dir.path().join("in");
    fs::create_dir(&input).expect("a folder");
    let mut zip = zip::ZipWriter::new(fs::File::create(input.join("game.zip")).expect("a file"));
    for (stage, bytes) in &modules {
        zip.start_file(format!("fx/glow.{stage}.spv"), zip::write::SimpleFileOptions::default()).expect("zip");
        zip.write_all(bytes).expect("zip");
    }
    zip.finish().expect("zip");

    let out = dir.path().join("out");
    extract(&input, &out);
    for (stage, bytes) in &modules {
        assert_eq!(&fs::read(out.join(format!("game.fx_glow.{stage}.spv"))).expect("extracted"), bytes, "{stage}");
    }
    let text = |name: &str| fs::read_to_string(out.join(name)).expect("written");
    assert_eq!(text("pairs.tsv"), "base\tvert\tfrag\ngame.fx_glow\tgame.fx_glow.vert.spv\tgame.fx_glow.frag.spv\n");
    assert_eq!(text("spec.toml"), "[[module]]\nname = \"game.fx_glow.comp\"\nvalues = { 3 = 256 }\n\n");
    let index: serde_json::Value = serde_json::from_str(&text("index.json")).expect("JSON");
    let stages: Vec<_> = index.as_array().expect("a list").iter().map(|m| m["entries"][0]["stage"].clone()).collect();
    assert_eq!(stages, ["vertex", "fragment", "compute"]);
    assert_eq!(index[0]["origin"], "game.zip!in:fx/glow.vert.spv!@0x0");

    let again = dir.path().join("again");
    extract(&input, &again);
    for file in ["index.json", "pairs.tsv", "spec.toml"] {
        assert_eq!(
            text(file),
            fs::read_to_string(again.join(file)).expect("written"),
            "{file} differs from run to run"
        );
    }
}
