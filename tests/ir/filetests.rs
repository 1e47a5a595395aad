//! IR cases in files: `testdata/ir/<area>/<claim>.dir`.
//!
//! A file has directives, then the input, optionally the state of a pipeline, then the expected output:
//!
//! ```text
//! ; RUN: verify                    `ok`, or the error
//! ; RUN: between                   likewise, by the rules that hold between two passes
//! ; RUN: parse                     the text printed again, or the error
//! ; RUN: uniform                   each value that is the same in every lane
//! ; RUN: pass NAME wave32          the shader after a pass (or wave64); several such lines run one after another
//! ; RUN: pass NAME wave32 unknown  likewise, a pass that asks what is known of the pipeline: nothing
//! ; RUN: pass NAME wave32 known    likewise: what the state says
//! ; RUN: optimise NAME,NAME        the shader after these passes of our own code generator's middle end; `all`
//! ; RUN: machine PHASE wave32      what the native generator has after this phase (`select`, `allocate`, `waits`, …)
//! shader ...
//! ; STATE
//! [layout]                         known: the tables of a state file that stand here (docs/state.md), and
//! [[fragment_reads.inputs]]        what the fragment stage takes, for a vertex shader
//! [[vertex_constants]]             constants that the vertex shader writes, for a fragment shader
//! ; EXPECT
//! ```
//!
//! The output of a pass is verified, and every printed text is parsed and printed again. After the shader come the
//! notes of the passes for the linker, if any: the changed fields of the `StageInterface`. `DOVETAIL_BLESS=1` rewrites
//! the expected output.

use dovetail::compile::backend::Generator;
use dovetail::compile::native::Native;
use dovetail::compile::opt;
use dovetail::compile::passes::{PASSES, Pass, PassContext, lower};
use dovetail::compile::phases::Phase;
use dovetail::compile::request::{KnownState, ModuleDigest, StageRequest, TuningOptions};
use dovetail::error::{Error, Result};
use dovetail::ir::parse::parse;
use dovetail::ir::uniform::Uniformity;
use dovetail::ir::verify::{verify, verify_between};
use dovetail::ir::watch::{Made, Watch};
use dovetail::ir::{Shader, Value};
use dovetail::metadata::interface::{FragmentReads, StageInterface};
use dovetail::state::{Known, PipelineState};
use dovetail::target::{Gpu, WaveSize};
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};

fn printed(shader: &Shader) -> Result<String> {
    let text = shader.to_string();
    let again = parse(&text)?.to_string();
    if again == text { Ok(text) } else { Err(Error::bug(format!("printed text reads back as\n{again}"))) }
}

fn uniform_values(shader: &Shader) -> String {
    let uniformity = Uniformity::of(shader);
    let mut out = String::new();
    for id in shader.block_ids() {
        let block = shader.block(id);
        let results = block.insts.iter().filter_map(|&i| shader.inst(i).result);
        let values = block.params.iter().copied().chain(results);
        let uniform: Vec<String> =
            values.filter(|&v: &Value| uniformity.is_uniform(v)).map(|v| v.to_string()).collect();
        out += &format!("{id}: {}\n", uniform.join(" "));
    }
    out
}

/// The known state in the state section: tables that are present are known.
fn known(state: &str) -> Result<KnownState> {
    fn some<T>(known: bool, what: T) -> Known<T> {
        if known { Known::Known(what) } else { Known::Unknown }
    }
    let wrong = |e: toml::de::Error| Error::malformed(format!("state: {e}"));
    let mut tables: toml::Table = state.parse().map_err(wrong)?;
    let reads: Option<toml::Table> =
        tables.remove("fragment_reads").map(toml::Value::try_into).transpose().map_err(wrong)?;
    let reads = reads.map(|mut reads| {
        for list in ["inputs", "constants"] {
            reads.entry(list).or_insert_with(|| toml::Value::Array(Vec::new()));
        }
        reads.try_into::<FragmentReads>()
    });
    let reads = reads.transpose().map_err(wrong)?;
    let constants = tables.remove("vertex_constants").map(toml::Value::try_into).transpose().map_err(wrong)?;
    let [layout, vertex, colors, views] =
        ["layout", "vertex", "color", "view_mask"].map(|key| tables.contains_key(key));
    let state: PipelineState = tables.try_into().map_err(wrong)?;
    Ok(KnownState {
        operands: Known::Unknown,
        layout: some(layout, state.layout),
        vertex: some(vertex, state.vertex),
        reads: some(reads.is_some(), reads.unwrap_or_default()),
        constants: some(constants.is_some(), constants.unwrap_or_default()),
        multiview: some(views, state.view_mask != 0),
        sample_shading: Known::Unknown,
        colors: some(colors, state.color),
    })
}

/// The request for the passes of a file, from its directives: one wave size, and either known or unknown state.
fn request(directives: &[Vec<&str>], shader: &Shader, state: &str) -> Result<StageRequest> {
    let one = |n: usize| {
        let mut words: Vec<&str> = directives.iter().filter_map(|d| d.get(n).copied()).collect();
        words.sort_unstable();
        words.dedup();
        if words.len() > 1 {
            Err(Error::bug(format!("one file says {}", words.join(" and "))))
        } else {
            Ok(words.pop())
        }
    };
    let known = match one(3)? {
        Some("known") => known(state)?,
        None | Some("unknown") if state.is_empty() => KnownState::default(),
        given => return Err(Error::bug(format!("a state, and {given:?}"))),
    };
    Ok(StageRequest {
        target: Gpu::Gfx1030,
        stage: shader.stage,
        module: ModuleDigest([0; 32]),
        entry_point: shader.name.to_string(),
        specialization: Vec::new(),
        wave: match one(2)? {
            Some("wave64") => WaveSize::W64,
            Some("wave32") | None => WaveSize::W32,
            Some(other) => return Err(Error::bug(format!("wave size `{other}`"))),
        },
        options: TuningOptions::default(),
        known,
    })
}

/// Prints a value on one line: variants and fields by name.
fn compact(value: &Json) -> String {
    let all = |items: Vec<String>| items.join(", ");
    match value {
        Json::Null => "-".into(),
        Json::String(s) => s.clone(),
        Json::Array(items) => format!("[{}]", all(items.iter().map(compact).collect())),
        Json::Object(fields) if fields.len() == 1 => {
            fields.iter().map(|(name, v)| format!("{name} {}", compact(v))).collect()
        }
        Json::Object(fields) => {
            format!("{{{}}}", all(fields.iter().map(|(name, v)| format!("{name}: {}", compact(v))).collect()))
        }
        other => other.to_string(),
    }
}

/// The changed fields; lists have one item per line.
fn changes(before: &Json, after: &Json, indent: &str) -> String {
    let (Json::Object(before), Json::Object(after)) = (before, after) else { return String::new() };
    let mut out = String::new();
    for (name, new) in after {
        match (before.get(name), new) {
            (Some(old), new) if old == new => {}
            (_, Json::Array(items)) if items.iter().any(|i| i.is_object() || i.is_string()) => {
                out += &format!("{indent}{name}\n");
                items.iter().for_each(|i| out += &format!("{indent}  {}\n", compact(i)));
            }
            (Some(old @ Json::Object(_)), Json::Object(_)) => out += &changes(old, new, indent),
            (_, new) => out += &format!("{indent}{name} {}\n", compact(new)),
        }
    }
    out
}

fn json(interface: &StageInterface) -> Result<Json> {
    serde_json::to_value(interface).map_err(|e| Error::bug(format!("interface: {e}")))
}

fn run_pass(words: &[&str], shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<String> {
    let before = json(cx.interface())?;
    let find = |name| PASSES.iter().find(|(n, _)| *n == name).map(|(_, pass)| *pass);
    let pass = match *words {
        ["pass", name, _] => find(name).filter(|pass| !matches!(pass, Pass::Known(_))),
        ["pass", name, _, _] => find(name).filter(|pass| matches!(pass, Pass::Known(_))),
        _ => None,
    };
    let pass = pass.ok_or_else(|| Error::bug(format!("directive `{}`", words.join(" "))))?;
    verify_between(shader)?;
    pass.run(shader, cx)?;
    verify_between(shader)?;
    Ok(changes(&before, &json(cx.interface())?, "  "))
}

/// Keeps the text of one phase.
struct OfPhase<'a> {
    phase: &'a str,
    text: Option<String>,
}

impl Watch for OfPhase<'_> {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        if let (true, Made::Text(text)) = (phase == self.phase, made) {
            self.text = Some(text()?);
        }
        Ok(())
    }
}

/// What the native generator has after a phase.
fn machine(phase: &str, shader: Shader, request: &StageRequest) -> Result<String> {
    let lowered = lower(shader, request)?;
    let mut watch = OfPhase { phase, text: None };
    Native.generate(lowered.shader, &lowered.interface, &request.options, &mut watch)?;
    watch.text.ok_or_else(|| Error::bug(format!("the native generator has no text of a phase `{phase}`")))
}

fn run(case: &str, state: &str) -> Result<String> {
    let mut shader = parse(case)?;
    let directives = case.lines().filter_map(|l| l.strip_prefix("; RUN: "));
    let directives: Vec<Vec<&str>> = directives.map(|d| d.split_whitespace().collect()).collect();
    let request = request(&directives, &shader, state)?;
    let mut cx = PassContext::new(&request)?;
    let mut out = String::new();
    for words in &directives {
        out = match words[..] {
            ["verify"] => verify(&shader).map(|()| "ok\n".into())?,
            ["between"] => verify_between(&shader).map(|()| "ok\n".into())?,
            ["parse"] => printed(&shader)?,
            ["uniform"] => uniform_values(&shader),
            ["machine", phase, _] => machine(phase, shader.clone(), &request)?,
            ["optimise", names] => {
                let wanted = |phase: Phase| names == "all" || names.split(',').any(|n| n == phase.name());
                verify_between(&shader)?;
                opt::run_some(&mut shader, &TuningOptions::default(), wanted)?;
                printed(&shader)?
            }
            _ => {
                let noted = run_pass(words, &mut shader, &mut cx)?;
                let head = if noted.is_empty() { "" } else { "interface\n" };
                printed(&shader)? + head + &noted
            }
        };
    }
    Ok(out)
}

fn cases(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("the test data folder").map(|e| e.expect("an entry").path()) {
        if entry.is_dir() {
            found.append(&mut cases(&entry));
        } else if entry.extension().is_some_and(|e| e == "dir") {
            found.push(entry);
        }
    }
    found.sort();
    found
}

#[test]
fn every_file_gives_what_it_expects() {
    let bless = std::env::var_os("DOVETAIL_BLESS").is_some();
    let mut failures = Vec::new();
    let files = cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/ir"));
    assert!(!files.is_empty(), "no cases found");
    for file in files {
        let text = fs::read_to_string(&file).expect("a readable case");
        let (case, expected) = text.split_once("; EXPECT\n").unwrap_or((&text, ""));
        assert!(case.contains("; RUN: "), "{} runs nothing", file.display());
        let (shader, state) = case.split_once("; STATE\n").unwrap_or((case, ""));
        let got = run(shader, state).unwrap_or_else(|e| format!("{e}\n"));
        if got == expected {
            continue;
        }
        if bless {
            fs::write(&file, format!("{case}; EXPECT\n{got}")).expect("a writable case");
        } else {
            failures.push(format!("{}\nexpected:\n{expected}\ngot:\n{got}", file.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
