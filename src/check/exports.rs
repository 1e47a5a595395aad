//! Checks the exports of a shader: the registers declare each one, and every path has a last export with `done`.
//!
//! | stage | every path to `s_endpgm` | and |
//! |---|---|---|
//! | vertex | a position with `done`; all declared positions and parameters | after it only parameters |
//! | vertex, as a primitive shader (NGG) | the same, and the primitive with `done`; a wave without vertices ends in the prologue | |
//! | fragment, if the hardware waits for its exports | an export with `done` | nothing after it |
//!
//! The hardware waits for a fragment shader's exports if it declares a colour or depth format, or may kill pixels: the
//! exports then carry the values and the mask of live pixels. Any other fragment shader may end without an export:
//! before gfx10 the hardware needed a null export there, from gfx10 on it does not (pal-abi 7; LLVM and Mesa omit it).

use super::code::{Code, StageCode};
use super::flow::{Graph, Step};
use super::report::{CodeRule, Reporter};
use super::solve::{Flow, forwards};
use dovetail_base::target::{FamilyFacts, ParameterPath, Stage};
use dovetail_isa::Op;
use dovetail_isa::instruction::{ExportFields, Fields, InterpFields, LdsDirectFields};
use dovetail_metadata::registers::{
    RegisterWords, SPI_PS_INPUT_CNTL, db_shader_control, spi_shader_col_format, spi_shader_pos_format,
    spi_shader_z_format, spi_vs_out_config,
};

const MRTZ: u8 = 8;
const NULL: u8 = 9;
const POSITION: u8 = 12;
const PRIMITIVE: u8 = 20;
const DUAL_SOURCE: u8 = 21;
const DUAL_SOURCE_LAST: u8 = 22;
const PARAMETER: u8 = 32;
/// Formats of SPI_SHADER_COL_FORMAT with two 16-bit components per dword.
const PACKED: std::ops::RangeInclusive<u32> = 4..=8;

#[derive(Clone)]
struct Exported {
    /// Targets that every path has exported to.
    surely: u64,
    /// Export with `done` on every path, and on some path.
    done: bool,
    maybe_done: bool,
    stage: Stage,
    /// The hardware waits for an export with `done`.
    waited: bool,
    /// The epilog is also for waves without vertices, which go around everything else.
    shared: bool,
    /// Only such waves come here.
    without: bool,
}

/// Whether the hardware waits for a stage's last export.
fn is_waited_for(stage: Stage, words: &RegisterWords) -> bool {
    match stage {
        Stage::Vertex => true,
        Stage::Fragment => {
            words.field(spi_shader_col_format::ALL) != 0
                || words.field(spi_shader_z_format::Z_EXPORT_FORMAT) != 0
                || words.field(db_shader_control::KILL_ENABLE) == 1
        }
        Stage::Compute => false,
    }
}

impl Exported {
    /// Whether this is an export with `done` that ends the stage's exports.
    fn ends(&self, f: &ExportFields) -> bool {
        f.done && (self.stage.shades_pixels() || (POSITION..=POSITION + 4).contains(&f.target))
    }
}

impl Flow for Exported {
    fn step(&mut self, step: &Step) {
        if let Fields::Export(f) = &step.inst.fields {
            self.without = false;
            self.surely |= 1u64.checked_shl(f.target.into()).unwrap_or(0);
            if self.ends(f) {
                (self.done, self.maybe_done) = (true, true);
            }
        }
    }

    const BRANCHES: bool = true;

    fn branch(&mut self, branch: &Step, taken: bool) {
        let none = self.shared && taken && branch.op() == Op::SCbranchExecz;
        if none && self.surely >> POSITION & 1 == 1 {
            // A wave without primitives goes around their export.
            self.surely |= 1 << PRIMITIVE;
        }
        self.without |= none && self.surely == 0;
    }

    fn join(&mut self, other: &Self) -> bool {
        if other.without {
            return false;
        }
        if self.without {
            self.clone_from(other);
            return true;
        }
        let old = (self.surely, self.done, self.maybe_done);
        self.surely &= other.surely;
        self.done &= other.done;
        self.maybe_done |= other.maybe_done;
        old != (self.surely, self.done, self.maybe_done)
    }
}

/// Reports undeclared exports and attributes, and paths without a last export.
pub(super) fn check(graph: &Graph, code: &Code<'_>, stage: &StageCode, reporter: &mut Reporter<'_>) {
    let words = &code.registers;
    let waited = is_waited_for(stage.stage, words);
    let shared = stage.hardware.runs_primitives() && graph.isa.facts().parameters == ParameterPath::Ring;
    let (surely, done, maybe_done) = (0, false, false);
    let nothing = Exported { surely, done, maybe_done, stage: stage.stage, waited, shared, without: false };
    let attributes = (0..32).take_while(|n| words.get(SPI_PS_INPUT_CNTL.nth(*n)).is_some()).count();
    forwards(graph, nothing, |before, step| match &step.inst.fields {
        Fields::Export(f) => {
            if stage.hardware.runs_primitives() && f.target == PRIMITIVE {
                // Once, by the lanes that have one: the emulator counts them.
                if !f.done {
                    reporter.add(CodeRule::Export, step.at, "a primitive without `done`");
                }
            } else if let Some(why) = objection(stage.stage, f, words, graph.isa.facts()) {
                reporter.add(CodeRule::Export, step.at, why);
            } else if before.maybe_done && (stage.stage.shades_pixels() || f.target < PARAMETER) {
                reporter.add(CodeRule::Export, step.at, "comes after the export with `done`");
            }
        }
        Fields::Interp(InterpFields { attribute, .. }) | Fields::LdsDirect(LdsDirectFields { attribute, .. })
            if step.op() != Op::LdsDirectLoad && usize::from(*attribute) >= attributes =>
        {
            reporter.add(CodeRule::Export, step.at, format!("attribute {attribute} of {attributes}"));
        }
        Fields::Scalar(_) if step.op() == Op::SEndpgm => {
            // A wave of primitives without vertices ends before it comes to the body.
            let early = stage.hardware.runs_primitives()
                && code.part(step.at).is_some_and(|part| code.role(stage, part) == "prolog");
            if let Some(why) = unfinished(before, words, graph.isa.facts()).filter(|_| !early) {
                reporter.add(CodeRule::Export, step.at, why);
            }
        }
        _ => {}
    });
}

/// Parameter slots that the vertex shader exports.
fn slots(words: &RegisterWords, facts: &FamilyFacts) -> u32 {
    if facts.parameters == ParameterPath::Ring {
        return 0;
    }
    match words.field(spi_vs_out_config::NO_PC_EXPORT) {
        1 => 0,
        _ => words.field(spi_vs_out_config::VS_EXPORT_COUNT) + 1,
    }
}

fn position_format(words: &RegisterWords, n: u8) -> u32 {
    words.get(spi_shader_pos_format::POS0.register()).unwrap_or(0).checked_shr(4 * u32::from(n)).unwrap_or(0) & 15
}

fn objection(stage: Stage, f: &ExportFields, words: &RegisterWords, facts: &FamilyFacts) -> Option<String> {
    let says = |ok: bool, why: &str| (!ok).then(|| why.to_owned());
    match (stage, f.target) {
        // Where nothing has no target, this is it.
        (Stage::Fragment, 0 | MRTZ) if f.enabled == 0 && !facts.null_exports => None,
        (Stage::Fragment, n @ (0..MRTZ | DUAL_SOURCE | DUAL_SOURCE_LAST)) => {
            let n = if n < MRTZ { n } else { n - DUAL_SOURCE };
            let format = words.field(spi_shader_col_format::ALL) >> (4 * u32::from(n)) & 15;
            says(format != 0, "SPI_SHADER_COL_FORMAT has no such target").or_else(|| {
                says(is_packed_so(PACKED.contains(&format), f, facts), "SPI_SHADER_COL_FORMAT is packed otherwise")
            })
        }
        (Stage::Fragment, MRTZ) => {
            says(words.field(spi_shader_z_format::Z_EXPORT_FORMAT) != 0, "SPI_SHADER_Z_FORMAT has no such target")
        }
        (Stage::Fragment, NULL) => None,
        (Stage::Vertex, n @ POSITION..=16) => {
            says(position_format(words, n - POSITION) != 0, "SPI_SHADER_POS_FORMAT has no such position")
        }
        (Stage::Vertex, n @ PARAMETER..=63) => {
            says(u32::from(n - PARAMETER) < slots(words, facts), "SPI_VS_OUT_CONFIG has no such parameter")
        }
        (_, n) => Some(format!("a {stage} shader has no export target {n}")),
    }
}

/// Whether an export has its colour where the hardware looks for one of this kind.
const fn is_packed_so(packed: bool, f: &ExportFields, facts: &FamilyFacts) -> bool {
    if facts.compressed_exports { packed == f.compr } else { !packed || f.enabled & 0b1100 == 0 }
}

/// The export that is missing at the end of a path.
fn unfinished(before: &Exported, words: &RegisterWords, facts: &FamilyFacts) -> Option<String> {
    let graphics = !before.stage.is_dispatched();
    // A path with any export needs a last one, whether the hardware waits for it or not.
    if !before.done && (before.waited || graphics && before.surely != 0) {
        return Some("not every path here has an export with `done`".to_owned());
    }
    if !before.stage.feeds_the_rasterizer() {
        return None;
    }
    let has = |target: u8| before.surely >> target & 1 == 1;
    if before.shared && !has(PRIMITIVE) {
        return Some("not every path here exports the primitive".to_owned());
    }
    let position = (0..5).find(|n| position_format(words, *n) != 0 && !has(POSITION + n));
    let parameter = (0..32).find(|n| u32::from(*n) < slots(words, facts) && !has(PARAMETER + n));
    position
        .map(|n| format!("not every path here exports position {n}"))
        .or_else(|| parameter.map(|n| format!("not every path here exports parameter {n}")))
}
