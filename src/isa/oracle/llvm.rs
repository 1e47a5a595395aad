//! `llvm-mc` as assembler and disassembler, for thousands of instructions per run.

use super::{Judge, support};
use dovetail_base::target::WaveSize;
use std::collections::BTreeMap;

/// One answer per line of input: the output, or the error.
pub(super) type Answers = Vec<Result<String, String>>;

/// The tool did not end by itself.
#[derive(Debug)]
struct Died;

/// What it said of lines, by their number.
type Complaints = BTreeMap<usize, String>;

fn run(
    judge: &Judge,
    test: &str,
    wave: WaveSize,
    args: &[&str],
    lines: &[String],
) -> Option<Result<(String, Complaints), Died>> {
    let tool = support::tool(test, judge.tool)?;
    let gpu = format!("-mcpu={}", judge.gpu);
    // The only spelling that says which half of a register an operand is.
    let halves = if judge.isa().names.halves { "" } else { ",+real-true16" };
    let attributes = format!("-mattr=+wavefrontsize{},-wavefrontsize{}{halves}", wave.lanes(), 96 - wave.lanes());
    let all: Vec<&str> = ["-arch=amdgcn", &gpu, &attributes].into_iter().chain(args.iter().copied()).collect();
    let output = tool.output(&all, lines.join("\n").as_bytes());
    if output.status.code().is_none() {
        return Some(Err(Died));
    }
    let said = String::from_utf8(output.stderr).expect("text");
    let complaints = said.lines().filter_map(|line| {
        let (number, rest) = line.strip_prefix("<stdin>:")?.split_once(':')?;
        let (_, what) = rest.split_once(": ")?;
        // A remark about an operand that the assembler still accepts is not an error.
        let refused = what.starts_with("error") || what.contains("invalid instruction encoding");
        refused.then(|| Some((number.parse::<usize>().ok()? - 1, what.to_owned())))?
    });
    let complaints = complaints.collect();
    Some(Ok((String::from_utf8(output.stdout).expect("text"), complaints)))
}

/// Assigns outputs in order to the lines without a complaint.
fn answers(count: usize, mut outputs: impl Iterator<Item = String>, complaints: &Complaints) -> Answers {
    let answer = |line: usize| match complaints.get(&line) {
        Some(why) => Err(why.clone()),
        None => outputs.next().ok_or_else(|| "no answer".to_owned()),
    };
    let all = (0..count).map(answer).collect();
    assert_eq!(outputs.next(), None, "more answers than questions");
    all
}

/// The bytes of each line of assembler text, as `[0x..,0x..]`.
pub(super) fn assemble(judge: &Judge, test: &str, wave: WaveSize, texts: &[String]) -> Option<Answers> {
    let (output, complaints) = run(judge, test, wave, &["-show-encoding"], texts)?.expect("the assembler lives");
    let encodings = output.lines().filter_map(|line| line.split("encoding: ").nth(1)).map(str::to_owned);
    Some(answers(texts.len(), encodings, &complaints))
}

/// What is said of a block of bytes of which the disassembler dies.
pub(super) const DIES: &str = "the disassembler dies of it";

/// The text of each block of bytes.
pub(super) fn listings(judge: &Judge, test: &str, wave: WaveSize, blocks: &[String]) -> Option<Answers> {
    // As few of them as are fast are tried again if the tool dies.
    let parts = blocks.chunks(2000).map(|part| listings_of(judge, test, wave, part));
    parts.collect::<Option<Vec<Answers>>>().map(|all| all.concat())
}

fn listings_of(judge: &Judge, test: &str, wave: WaveSize, blocks: &[String]) -> Option<Answers> {
    let (output, complaints) = match run(judge, test, wave, &["--disassemble"], blocks)? {
        Ok(said) => said,
        Err(Died) if blocks.len() < 2 => return Some(blocks.iter().map(|_| Err(DIES.to_owned())).collect()),
        Err(Died) => {
            // The others are answered without it.
            let (first, rest) = blocks.split_at(blocks.len() / 2);
            let mut all = listings_of(judge, test, wave, first)?;
            all.extend(listings_of(judge, test, wave, rest)?);
            return Some(all);
        }
    };
    let lines = output.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('.'));
    // Lists of image addresses come after two blanks.
    let texts = lines.map(|line| line.split(" ;").next().unwrap_or("").trim().replace("  ", " "));
    Some(answers(blocks.len(), texts, &complaints))
}

/// Bytes in the spelling of both tools.
pub(super) fn block(dwords: &[u32]) -> String {
    let bytes = dwords.iter().flat_map(|dword| dword.to_le_bytes()).map(|byte| format!("{byte:#04x}"));
    format!("[{}]", bytes.collect::<Vec<_>>().join(","))
}
