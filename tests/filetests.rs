//! IR cases in files: `testdata/ir/<area>/<claim>.dir`.
//!
//! A file opens with directives, then has the input, then a line `; EXPECT` and what must come out:
//!
//! ```text
//! ; RUN: verify            `ok`, or the error
//! ; RUN: between           likewise, by the rules that hold between two passes
//! ; RUN: parse             the text printed again, or the error
//! ; RUN: uniform           each value that is the same in every lane
//! ; RUN: pass NAME wave32  the shader after a pass (or wave64); several such lines run one after another
//! ; EXPECT
//! ```
//!
//! What a pass makes is verified, and every text printed is parsed and printed again. `DOVETAIL_BLESS=1` rewrites what is expected.

use dovetail::compile::passes::PASSES;
use dovetail::error::{Error, Result};
use dovetail::ir::parse::parse;
use dovetail::ir::uniform::Uniformity;
use dovetail::ir::verify::{verify, verify_between};
use dovetail::ir::{Shader, Value};
use dovetail::target::WaveSize;
use std::fs;
use std::path::{Path, PathBuf};

fn printed(shader: &Shader) -> Result<String> {
    let text = shader.to_string();
    let again = parse(&text)?.to_string();
    if again == text { Ok(text) } else { Err(Error::bug(format!("printed text reads back as\n{again}"))) }
}

fn uniform_values(shader: &Shader) -> String {
    let uniformity = Uniformity::new(shader);
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

fn run_one(directive: &str, shader: &mut Shader) -> Result<String> {
    let words: Vec<&str> = directive.split_whitespace().collect();
    match words[..] {
        ["verify"] => verify(shader).map(|()| "ok\n".into()),
        ["between"] => verify_between(shader).map(|()| "ok\n".into()),
        ["parse"] => printed(shader),
        ["uniform"] => Ok(uniform_values(shader)),
        ["pass", name, wave] => {
            let (_, pass) =
                PASSES.iter().find(|(n, _)| *n == name).ok_or_else(|| Error::bug(format!("no pass {name}")))?;
            verify_between(shader)?;
            pass(shader, if wave == "wave64" { WaveSize::W64 } else { WaveSize::W32 })?;
            verify_between(shader)?;
            printed(shader)
        }
        _ => Err(Error::bug(format!("directive `{directive}`"))),
    }
}

fn outcome(case: &str) -> String {
    let mut result = parse(case).map(|shader| (shader, String::new()));
    for directive in case.lines().filter_map(|l| l.strip_prefix("; RUN: ")) {
        result = result.and_then(|(mut shader, _)| {
            let out = run_one(directive, &mut shader)?;
            Ok((shader, out))
        });
    }
    result.map_or_else(|e| format!("{e}\n"), |(_, out)| out)
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
        let got = outcome(case);
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
