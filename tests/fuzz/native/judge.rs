//! Runs a shader both ways and compares.

use super::inputs::inputs;
use super::setup::Setup;
use dovetail::check;
use dovetail::compile::backend::Generator;
use dovetail::compile::native::{Native, opt};
use dovetail::compile::passes;
use dovetail::compile::request::{KnownState, ModuleDigest, StageRequest};
use dovetail::compile::unlinked;
use dovetail::compile::watch::{Made, Watch};
use dovetail::emu::inputs::Inputs;
use dovetail::emu::{self, Limits};
use dovetail::error::{Context, Error, ErrorKind, Result};
use dovetail::ir::Shader;
use dovetail::ir::interp::Options;
use dovetail::ir::parse::parse;
use dovetail::ir::verify::verify;
use dovetail::link::{EmitGlue, Placement, link};
use dovetail::proof::{bytes_of, interpreted, judge as judge_bytes};
use dovetail::state::{Known, PipelineState};
use dovetail::target::{GfxIp, Stage};
use dovetail::template;

/// What the generator refuses by design (docs/native.md).
const REFUSED: [&str; 1] = ["native: whole-wave code of 64 bits under divergent control"];
/// Instructions of a wave, in the interpreter.
const INTERPRETED: u64 = 60_000;
/// And in the emulator: a multiple, since 64-bit divisions take hundreds.
const EMULATED: u64 = 4_000_000;

/// Runs an input.
///
/// # Errors
/// A bug: the results differ, or one of our own checks fails. Other errors: it says nothing.
pub fn run(bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::malformed("no text"))?;
    judge(&Setup::of(text)?, &parse(text)?)
}

/// Runs a shader.
///
/// # Errors
/// As [`run`].
pub fn judge(setup: &Setup, shader: &Shader) -> Result<()> {
    // A mistake of what makes or shrinks shaders is none of the generator.
    verify(shader).map_err(|e| Error::malformed(e.to_string()))?;
    let inputs = inputs(shader, setup);
    let options = Options { subgroup_size: setup.wave.lanes(), limit: INTERPRETED, ..Options::default() };
    let expected = bytes_of(&interpreted(shader, &inputs, options).map_err(|e| Error::malformed(e.to_string()))?)?;
    let state = template::state(std::slice::from_ref(shader))?;
    let elf = compiled(setup, shader, &state)?;
    let made = emulated(&elf, &state, &inputs)?;
    for (binding, (ours, wanted)) in inputs.bindings.iter().zip(made.iter().zip(&expected)) {
        // What cannot be written is not known.
        let differing = ours.chunks(4).zip(wanted.chunks(4)).position(|(a, b)| a != b);
        if let Some(dword) = differing {
            let word = |bytes: &[u8]| {
                bytes.chunks(4).nth(dword).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap_or([0; 4])))
            };
            let what =
                format!("binding {} dword {dword} is {:#x}, not {:#x}", binding.binding, word(ours), word(wanted));
            certain(setup, shader, &inputs, &expected, &made)?;
            return Err(Error::bug(format!("differs: {what}")));
        }
    }
    let report = check::check(&elf).at(|| "check")?;
    // Where lanes return in a branch, and others come to the same block by a branch of the wave, fewer lanes are on by one
    // way than by the other, and should be. The checker takes that for lanes that were forgotten.
    match report.errors().find(|finding| finding.rule != check::Rule::Lanes) {
        Some(finding) => Err(Error::bug(format!("check: {finding}"))),
        None => Ok(()),
    }
}

/// Whether a difference says anything: no order of lanes changes the result, and what differs does not depend on memory that
/// nobody wrote.
fn certain(setup: &Setup, shader: &Shader, inputs: &Inputs, expected: &[Vec<u8>], ours: &[Vec<u8>]) -> Result<()> {
    let options = Options { subgroup_size: setup.wave.lanes(), limit: INTERPRETED, ..Options::default() };
    let backwards = bytes_of(&interpreted(shader, inputs, Options { backwards: true, ..options })?)?;
    let known = interpreted(shader, inputs, Options { shadow: true, ..options })?;
    if backwards != expected || judge_bytes(0.0, inputs, &known, ours, expected).is_ok() {
        return Err(Error::malformed("a result that is not defined"));
    }
    Ok(())
}

fn emulated(elf: &[u8], state: &PipelineState, inputs: &Inputs) -> Result<Vec<Vec<u8>>> {
    match emu::run(elf, &state.layout, inputs, Limits { instructions: EMULATED }) {
        Ok(outcome) => Ok(outcome.bindings),
        Err(e) => Err(Error::bug(format!("emulator: {e}"))),
    }
}

/// Runs the generator's checks of its own work, and prints a phase.
struct Checks {
    /// The phase: the variable DOVETAIL_DUMP, as for `dovetail compile`.
    shown: Option<String>,
}

impl Watch for Checks {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        let shown = self.shown.as_deref() == Some(phase);
        match made {
            Made::Check(check) => check()?,
            Made::Shader(shader) if shown => println!("{shader}"),
            Made::Text(text) if shown => println!("{}", text()?),
            _ => {}
        }
        Ok(())
    }
}

fn compiled(setup: &Setup, shader: &Shader, state: &PipelineState) -> Result<Vec<u8>> {
    let mut shader = shader.clone();
    let options = setup.options();
    if !setup.passes.is_empty() {
        opt::run_some(&mut shader, &options, |phase| setup.passes.contains(&phase)).at(|| "passes")?;
    }
    let layout = if setup.known { Known::Known(state.layout.clone()) } else { Known::Unknown };
    let request = StageRequest {
        target: GfxIp::Gfx1030,
        stage: Stage::Compute,
        module: ModuleDigest([0; 32]),
        entry_point: "main".to_owned(),
        specialization: vec![],
        wave: setup.wave,
        options,
        known: KnownState { layout, ..KnownState::default() },
    };
    let mut checks = Checks { shown: std::env::var("DOVETAIL_DUMP").ok() };
    let lowered = passes::lower_watched(shader, &request, &mut checks).at(|| "lower")?;
    let code = Native.generate(&lowered, &request.options, &mut checks).map_err(|e| match e.kind() {
        ErrorKind::Unsupported { feature, .. } if !REFUSED.contains(&feature.as_str()) => {
            Error::bug(format!("refused: {e}"))
        }
        _ => e,
    })?;
    let elf = unlinked::write(code, lowered.interface())?;
    link(&[&elf.0], state, Placement::Adjacent, &EmitGlue).map_err(|e| match e.kind() {
        ErrorKind::Unsupported { .. } | ErrorKind::NeedsFullCompile(_) => e,
        _ => Error::bug(format!("link: {e}")),
    })
}
