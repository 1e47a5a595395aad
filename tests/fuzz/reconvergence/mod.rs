//! Finds lanes that run apart or together where SPV_KHR_maximal_reconvergence says otherwise: runs random structured
//! programs full of subgroup operations, and of descriptors that are the same only in their tangle.
//!
//! ```text
//! random ── generate ──> program (a tree) ─┬─ truth: walks the tree with lane masks ────────────────┬─ equal words
//!                                          └─ SPIR-V ── translate ─┬─ interpreter ────────────────────┤
//!                                             (spirv-opt)          └─ lower, generate, link, emulator ┘
//! ```
//!
//! The truth comes from no compiler and not from the upper IR. An input is text: how the program is written, compiled and
//! run, the program as pseudo-code to read, and the tree. A switch's tangles, which the extension leaves open, are what
//! the interpreter and the code generator promise: one for each case, with the lanes that fall into it.
#![allow(dead_code, reason = "each test binary uses its part")]

mod blocks;
mod generate;
mod judge;
mod module;
mod program;
mod pseudo;
mod shrink;
mod truth;
mod values;
mod writer;

pub use judge::run;
pub use shrink::shrink;

use super::native::setup::Setup;
use super::random::Random;
use dovetail::compile::phases::Phases;
use dovetail::error::{Error, Result};
use dovetail::target::WaveSize;
use program::Program;
use writer::Form;

/// Prefix of the line after that of [`Setup`].
const MARK: &str = "; form";

/// Passes of `spirv-opt` that keep what is declared. Those that join blocks move operations out of the constructs that
/// they are in: the new module promises something else.
const PASSES: [&str; 13] = [
    "--merge-return",
    "--inline-entry-points-exhaustive",
    "--ssa-rewrite",
    "--eliminate-local-single-block",
    "--eliminate-local-single-store",
    "--eliminate-dead-branches",
    "--eliminate-dead-code-aggressive",
    "--simplify-instructions",
    "--redundancy-elimination",
    "--local-redundancy-elimination",
    "--private-to-local",
    "--ccp",
    "--wrap-opkill",
];

/// An input.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub setup: Setup,
    pub form: Form,
    /// Passes of `spirv-opt`, if it is installed.
    pub passes: Vec<String>,
    /// Whether it is compiled, or only interpreted.
    pub code: bool,
    pub program: Program,
}

impl Input {
    /// What makes a case simpler, each on its own.
    pub const SIMPLER: [fn(&mut Self); 10] = [
        |i| i.passes.clear(),
        |i| i.form.order = 0,
        |i| i.form.rewritten = 0,
        |i| i.form.maximal = false,
        |i| i.form.read_only = false,
        |i| (i.setup.whole, i.setup.known) = (false, false),
        |i| i.setup.chained = false,
        |i| i.setup.without = Phases::default(),
        |i| i.setup.passes.clear(),
        |i| i.setup.vgprs = 0,
    ];

    fn random(random: &mut Random) -> Self {
        let fragment = random.once_in(4);
        let wave = if random.once_in(2) { WaveSize::W32 } else { WaveSize::W64 };
        let lanes = wave.lanes();
        let mut setup = Setup { wave, groups: 1, scene: None, ..Setup::new(random) };
        let count = match fragment {
            true => lanes,
            false => *random.pick(&[32, 64, 64, 64, 48, 40, 20]),
        };
        setup.whole &= fragment;
        setup.chained &= fragment;
        if fragment {
            setup.cover();
        }
        let order = if random.once_in(2) { 0 } else { 1 + (random.next() & 0xffff) };
        let rewritten = if random.once_in(2) { 0 } else { 1 + (random.next() & 0xffff) };
        let (maximal, read_only) = (random.once_in(2), random.once_in(2));
        let passes: Vec<String> = match random.once_in(32) {
            true => PASSES.iter().filter(|_| random.once_in(3)).map(|p| (*p).to_owned()).collect(),
            false => Vec::new(),
        };
        // Debian's spirv-opt does not know the execution mode.
        let form = Form { fragment, count, maximal: maximal && passes.is_empty(), read_only, order, rewritten };
        let code = !random.once_in(4);
        Self { setup, form, passes, code, program: generate::program(random, fragment) }
    }

    /// The input as text.
    pub fn bytes(&self) -> Vec<u8> {
        let Form { fragment, count, maximal, read_only, order, rewritten } = self.form;
        let flags = [("fragment", fragment), ("maximal", maximal), ("read_only", read_only), ("code", self.code)];
        let flags: String = flags.iter().map(|(name, on)| format!(" {name}={}", u8::from(*on))).collect();
        let program = serde_json::to_string(&self.program).expect("text");
        let (setup, passes) = (self.setup.line(), self.passes.join(","));
        let pseudo = pseudo::code(&self.program);
        format!("{setup}\n{MARK} count={count} order={order} rewritten={rewritten}{flags} passes={passes}\n{pseudo}{program}\n").into_bytes()
    }

    /// Reads it.
    ///
    /// # Errors
    /// Malformed: it is not one.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let malformed = || Error::malformed("no program");
        let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
        let line = text.lines().find_map(|line| line.strip_prefix(MARK)).ok_or_else(malformed)?;
        let get = |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let number = |name: &str| get(name).and_then(|n| n.parse::<u64>().ok()).ok_or_else(malformed);
        let flag = |name: &str| Ok::<_, Error>(number(name)? != 0);
        let tree = text.lines().find(|line| line.starts_with('{')).ok_or_else(malformed)?;
        let form = Form {
            fragment: flag("fragment")?,
            count: number("count")?.clamp(1, 64) as u32,
            maximal: flag("maximal")?,
            read_only: flag("read_only")?,
            order: number("order")?,
            rewritten: number("rewritten")?,
        };
        let passes = get("passes").unwrap_or_default().split(',').filter(|p| p.starts_with("--"));
        Ok(Self {
            setup: Setup::of(text)?,
            form,
            passes: passes.map(str::to_owned).collect(),
            code: flag("code")?,
            program: serde_json::from_str(tree).map_err(|e| Error::malformed(e.to_string()))?,
        })
    }
}

/// The module of an input, as tools read it that are older than the execution mode.
///
/// # Errors
/// As [`Input::parse`].
pub fn module_of(bytes: &[u8]) -> Result<Vec<u8>> {
    let input = Input::parse(bytes)?;
    Ok(module::module(&input.program, Form { maximal: false, ..input.form }))
}

/// Sample programs. Inputs are generated, not mutated, so these seeds only test the path.
pub fn seeds() -> Vec<Vec<u8>> {
    (0..4).map(|n| change(&mut Random::new(0, n), &[])).collect()
}

/// Generates another program.
pub fn change(random: &mut Random, _seeds: &[Vec<u8>]) -> Vec<u8> {
    Input::random(random).bytes()
}
