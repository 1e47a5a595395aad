//! Runs a shader both ways and compares the results.

use super::inputs::inputs;
use super::setup::Setup;
use super::{drawn, scene};
use dovetail::check;
use dovetail::compile::backend::Generator;
use dovetail::compile::native::Native;
use dovetail::compile::opt;
use dovetail::compile::passes;
use dovetail::compile::request::{KnownState, ModuleDigest, StageRequest};
use dovetail::compile::unlinked;
use dovetail::emu::inputs::Inputs;
use dovetail::emu::{self, RunLimits};
use dovetail::error::{Context, Error, ErrorKind, Result};
use dovetail::ir::interp::Options;
use dovetail::ir::parse::parse;
use dovetail::ir::verify::verify;
use dovetail::ir::watch::{Made, Watch};
use dovetail::ir::{AmdOp, LaneOp, Op, Shader, Type};
use dovetail::link::{EmitGlue, Placement, link};
use dovetail::metadata::interface::{FragmentInput, FragmentReads, StageInterface, StageKind};
use dovetail::proof::{KnownContents, bytes_of, interpreted};
use dovetail::state::{Known as Item, PipelineState};
use dovetail::target::Stage;
use dovetail::template;

/// Least limit of VGPRs that a request may have. Lower ones test spilling; only whole-wave values of 64 bits, whose
/// registers nothing shares, may need more.
const LEAST_VGPRS: u32 = 24;
/// Limit of instructions per wave in the interpreter.
const INTERPRETED: u64 = 60_000;
/// Limit in the emulator; much higher, because a 64-bit division takes hundreds of instructions.
const EMULATED: u64 = 4_000_000;

/// Runs an input.
///
/// # Errors
/// A bug: the results differ, or an internal check fails. Other errors: the input proves nothing.
pub fn run(bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::malformed("no text"))?;
    judge(&Setup::of(text)?, &parse(text)?)
}

/// Runs a shader.
///
/// # Errors
/// As [`run`].
pub fn judge(setup: &Setup, shader: &Shader) -> Result<()> {
    // A mistake of the shader generator or shrinker is not one of the code generator.
    verify(shader).map_err(|e| Error::malformed(e.to_string()))?;
    let wanted = if setup.scene.is_some() { Stage::Fragment } else { Stage::Compute };
    if shader.stage != wanted {
        return Err(Error::malformed(format!("no {wanted} shader")));
    }
    let inputs = inputs(shader, setup);
    let mut shaders = vec![shader.clone()];
    if setup.scene.is_some() {
        shaders.insert(0, scene::vertex_shader());
    }
    let mut state = template::state(&shaders)?;
    scene::attach(&mut state, setup)?;
    let case = Case { setup, shaders, state, inputs };
    let expected = bytes_of(&case.interpreted(Options::default()).map_err(|e| Error::malformed(e.to_string()))?)?;
    let elf = case.compiled()?;
    let made = case.emulated(&elf)?;
    for (n, (ours, wanted)) in made.iter().zip(&expected).enumerate() {
        // Trailing bytes that cannot be written are not compared.
        let differing = ours.chunks(4).zip(wanted.chunks(4)).position(|(a, b)| a != b);
        if let Some(dword) = differing {
            let word = |bytes: &[u8]| {
                bytes.chunks(4).nth(dword).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap_or([0; 4])))
            };
            let place = match case.inputs.bindings.get(n) {
                Some(binding) => format!("binding {}", binding.binding),
                None => format!("attachment {}", n - case.inputs.bindings.len()),
            };
            case.certain(&expected, &made)?;
            let what = format!("{place} dword {dword} is {:#x}, not {:#x}", word(ours), word(wanted));
            return Err(Error::bug(format!("differs: {what}")));
        }
    }
    let report = check::check(&elf).at(|| "check")?;
    // Where lanes return in a branch, and other lanes reach the same block by a branch of the wave, fewer lanes are
    // active on one path than on the other, correctly. The checker reports that as lost lanes.
    match report.errors().find(|finding| finding.rule != check::CodeRule::Lanes) {
        Some(finding) => Err(Error::bug(format!("check: {finding}"))),
        None => Ok(()),
    }
}

/// A pipeline and its inputs.
pub struct Case<'a> {
    pub setup: &'a Setup,
    /// A compute shader, or a vertex and a fragment shader.
    pub shaders: Vec<Shader>,
    pub state: PipelineState,
    pub inputs: Inputs,
}

impl Case<'_> {
    fn interpreted(&self, options: Options) -> Result<Vec<Option<KnownContents>>> {
        let options = Options { subgroup_size: self.setup.wave.lanes(), limit: INTERPRETED, ..options };
        match &self.shaders[..] {
            [vertex, fragment] => drawn::known([vertex, fragment], &self.state.vertex, &self.inputs, options),
            shaders => interpreted(&shaders[0], &self.inputs, options),
        }
    }

    /// Checks that a difference is meaningful: the result does not depend on the order of lanes, and the differing
    /// values do not depend on uninitialised memory.
    fn certain(&self, expected: &[Vec<u8>], ours: &[Vec<u8>]) -> Result<()> {
        let backwards = bytes_of(&self.interpreted(Options { backwards: true, ..Options::default() })?)?;
        let known = self.interpreted(Options { shadow: true, ..Options::default() })?;
        let differs = known.iter().zip(ours.iter().zip(expected)).any(|(known, (ours, expected))| {
            known.as_ref().is_some_and(|known| !known.judge_between(ours, expected, 0.0).wrong.is_empty())
        });
        if backwards != expected || !differs {
            return Err(Error::malformed("a result that is not defined"));
        }
        Ok(())
    }

    /// What the code leaves: bindings, then attachments.
    pub fn emulated(&self, elf: &[u8]) -> Result<Vec<Vec<u8>>> {
        match emu::run(
            elf,
            &self.state.layout,
            &self.inputs,
            RunLimits { instructions: EMULATED, ..RunLimits::default() },
        ) {
            Ok(outcome) => Ok(drawn::left(outcome)),
            Err(e) => Err(Error::bug(format!("emulator: {e}"))),
        }
    }

    /// The linked pipeline.
    pub fn compiled(&self) -> Result<Vec<u8>> {
        let (mut parts, mut read) = (Vec::new(), Vec::new());
        // The vertex shader is compiled with knowledge of what the fragment shader reads.
        for shader in self.shaders.iter().rev() {
            let known = self.known(shader.stage, std::mem::take(&mut read));
            let (elf, interface) = compiled(self.setup, shader, known)?;
            if let StageKind::Fragment(fragment) = interface.kind {
                read = fragment.inputs;
            }
            parts.push(elf);
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let placement = if self.setup.chained { Placement::Chained } else { Placement::Adjacent };
        link(&parts, &self.state, placement, &EmitGlue).map_err(|e| match e.kind() {
            ErrorKind::Unsupported { .. } | ErrorKind::NeedsFullCompile(_) => e,
            _ => Error::bug(format!("link: {e}")),
        })
    }

    /// The state of the pipeline that is known when a stage is compiled.
    fn known(&self, stage: Stage, read: Vec<FragmentInput>) -> KnownState {
        let layout = if self.setup.known { Item::Known(self.state.layout.clone()) } else { Item::Unknown };
        let known = KnownState { layout, ..KnownState::default() };
        match stage {
            Stage::Vertex if self.setup.whole => KnownState {
                vertex: Item::Known(self.state.vertex.clone()),
                reads: Item::Known(FragmentReads { inputs: read, constants: Vec::new() }),
                multiview: Item::Known(false),
                ..known
            },
            Stage::Fragment if self.setup.whole => {
                KnownState { colors: Item::Known(self.state.color.clone()), ..known }
            }
            _ => known,
        }
    }
}

/// Whether whole-wave code has values of 64 bits.
fn reduces_wide(shader: &Shader) -> bool {
    let whole = shader.has(|op| matches!(op, Op::Target(AmdOp::Lane(LaneOp::SetInactive))));
    whole && shader.values.iter().any(|value| value.ty == Type::B64)
}

/// Runs the generator's verifiers, and prints a phase.
struct Checks {
    /// The phase to print: the variable DOVETAIL_DUMP, as for `dovetail compile`.
    shown: Option<String>,
}

impl Watch for Checks {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        let shown = self.shown.as_deref() == Some(phase);
        match made {
            Made::Check(check) => check()?,
            Made::Shader(shader) | Made::Group(shader) if shown => println!("{shader}"),
            Made::Text(text) if shown => println!("{}", text()?),
            _ => {}
        }
        Ok(())
    }
}

fn compiled(setup: &Setup, shader: &Shader, known: KnownState) -> Result<(Vec<u8>, StageInterface)> {
    let mut shader = shader.clone();
    let options = setup.options();
    let stage = shader.stage;
    if !setup.passes.is_empty() && stage != Stage::Vertex {
        // As in `passes::lower`, before a pass may join a block that leaves a loop to the loop's merge block.
        passes::keep_iterations::run(&mut shader, setup.wave)?;
        opt::run_some(&mut shader, &options, |phase| setup.passes.contains(&phase)).at(|| "passes")?;
    }
    let request = StageRequest {
        target: setup.gpu,
        stage,
        module: ModuleDigest([0; 32]),
        entry_point: "main".to_owned(),
        specialization: vec![],
        wave: setup.wave,
        options,
        known,
    };
    let shown = std::env::var("DOVETAIL_DUMP").ok().filter(|_| stage != Stage::Vertex);
    let mut checks = Checks { shown };
    let passes::Lowered { shader, interface } = passes::lower_watched(shader, &request, &mut checks).at(|| "lower")?;
    let tight = (1..LEAST_VGPRS).contains(&setup.vgprs) && reduces_wide(&shader);
    let code = Native.generate(shader, &interface, &request.options, &mut checks).map_err(|e| match e.kind() {
        ErrorKind::Unsupported { .. } if !tight => Error::bug(format!("refused: {e}")),
        _ => e,
    })?;
    Ok((unlinked::write(code, interface.clone())?.0, interface))
}
