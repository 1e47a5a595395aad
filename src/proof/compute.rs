//! Checks one compute shader of a corpus: compiles it by every route, runs it on inputs made from its declarations, and
//! compares.
//!
//! Candidates of inputs are tried until one proves something: as they are, then with indices kept within the shader's
//! arrays ([`super::indices`]), then with inputs of the first seed changed so that comparisons give the other result
//! ([`super::comparisons`]). The emulator runs first, because it is fast and has
//! to finish in any case; the interpreter then gives the bounds of the results. If a driver differs from the emulator,
//! the interpreter runs again at the driver's subgroup size. If that explains the difference, the result depends on the
//! order or number of invocations that run together, and the interpreter is the reference.

use super::comparisons::{self, Compare};
use super::constant::{changes_memory, constant};
use super::contents::Choice;
use super::declared::{Declared, instructions, opcode};
use super::driver::{Judge, Spirv};
use super::float_words::FloatWords;
use super::indices::Limited;
use super::judge::{alike, bytes_of, certain, interpreted_where, judge, proves_nothing, too_vague};
use super::patience::CpuStart;
use super::pipelines::Pipelines;
use super::plain::Alike;
use super::report::{Fate, Report, unfinished};
use super::world::{KnownContents, world};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_compile::Compiler;
use dovetail_compile::request::{Module, TuningOptions, default_wave};
use dovetail_emu::RunLimits;
use dovetail_emu::inputs::{BindingElement, Inputs};
use dovetail_interp::{Compared, MemoryVerdict, Options, World, dispatch};
use dovetail_ir::{Op as IrOp, Shader};
use dovetail_pipeline::ShaderRef;
use dovetail_spirv::{reflect, translate_judged};
use dovetail_state::{PipelineState, SpecializationEntry};
use rspirv::spirv::Op;
use std::cell::RefCell;
use std::fmt;
use std::time::{Duration, Instant};

/// Seeds of the inputs.
pub const SEEDS: [u64; 2] = [1, 2];
/// Ulps by which any float may differ in addition to its bound.
pub const FLOOR: f64 = 4.0;
/// CPU time after which no further candidate is started; a third of it once one agrees by a plain bound.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest constant table, in elements, that Mesa compiles in reasonable time.
const LONGEST_TABLE: usize = 512;

/// A shader and its inputs.
pub struct Case<'a> {
    /// SPIR-V.
    pub module: &'a Module,
    /// Entry point.
    pub entry: &'a str,
    /// Specialization; ids that the module does not have are ignored.
    pub spec: &'a [(u32, u64)],
    /// Candidates of inputs, the most promising first.
    pub choices: &'a [Choice],
}

/// Limits of runs.
#[derive(Clone, Copy, Debug)]
pub struct RunBudget {
    /// Instructions that the interpreter may execute, each counted once per wave.
    pub interpreted: u64,
    /// Instructions that the emulator may execute, each counted once per wave.
    pub emulated: u64,
}

impl Default for RunBudget {
    fn default() -> Self {
        Self { interpreted: 2_000_000, emulated: 5_000_000 }
    }
}

/// The implementations and settings of a run.
pub struct Tools<'a> {
    /// Compiler.
    pub compiler: &'a dyn Compiler,
    /// GPU of the code.
    pub target: Gpu,
    /// Tuning, including the code generator.
    pub options: &'a TuningOptions,
    /// Reference that runs SPIR-V.
    pub judge: &'a dyn Judge,
    /// Limits of runs.
    pub budget: RunBudget,
    /// Called on a disagreement.
    pub on_difference: &'a dyn Fn(&Divergence<'_>),
}

/// A disagreement, passed to the caller.
#[derive(Debug)]
pub struct Divergence<'a> {
    /// Inputs.
    pub inputs: &'a Inputs,
    /// Pipeline state.
    pub state: &'a PipelineState,
    /// Wave size.
    pub wave: WaveSize,
    /// The seed.
    pub seed: u64,
    /// Route of the pipeline.
    pub route: &'a str,
    /// Expected output.
    pub expected: &'a [Vec<u8>],
    /// Description of the difference.
    pub what: &'a str,
}

/// Checks a compute shader.
pub fn compute(case: &Case<'_>, tools: &Tools<'_>) -> Report {
    let began = Instant::now();
    let subject = Subject::new(case, tools);
    let compiled = began.elapsed().as_millis() as u64;
    let mut report = match subject {
        Ok(subject) => subject.report(),
        Err(e) => Report::new(Fate::NotCompiled, e.to_string()),
    };
    report.spent[0] = compiled;
    report
}

/// Runs a step and adds its time to that of its kind.
fn timed<T>(report: &mut Report, kind: usize, run: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let out = run();
    report.spent[kind] += began.elapsed().as_millis() as u64;
    out
}

/// A compiled shader.
struct Subject<'a> {
    case: &'a Case<'a>,
    tools: &'a Tools<'a>,
    ir: Shader,
    declared: Declared,
    words: FloatWords,
    spec: Vec<(u32, u64, usize)>,
    wave: WaveSize,
    pipelines: Pipelines,
    /// Why the driver could not run the shader; it is not asked again.
    refused: RefCell<Option<String>>,
}

/// How inputs are made from a candidate: changed to meet comparisons, and with which indices limited.
#[derive(Clone, Copy)]
struct Way {
    met: Option<Compare>,
    limited: Limited,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.limited == Limited::All { " limited" } else { "" })?;
        f.write_str(if self.met.is_some() { " met" } else { "" })
    }
}

/// Comparison of one seed's outputs.
struct Judged {
    verdict: MemoryVerdict,
    /// Why the driver was not used, if it was not.
    without_driver: Option<String>,
    alike: Alike,
}

/// Output of every pipeline for one seed.
struct Ran {
    inputs: Inputs,
    /// By route: the bytes of each binding after the run.
    results: Vec<Vec<Vec<u8>>>,
    /// Instruction count of the last route.
    instructions: u64,
}

impl<'a> Subject<'a> {
    fn new(case: &'a Case<'a>, tools: &'a Tools<'a>) -> Result<Self> {
        let info = reflect(case.module)?;
        let values = info.specialization(case.spec);
        let ir = translate_judged(case.module, case.entry, Stage::Compute, &values)?;
        let wave = default_wave(tools.target, Stage::Compute, info.uses_subgroups);
        let bytes = |id| info.spec_constants.iter().find(|c| c.id == id).map_or(4, |c| (c.bits as usize / 8).max(4));
        let shader = ShaderRef::new(case.module, case.entry, Stage::Compute, wave);
        let shader = shader.with_spec_ids(values.iter().map(|v| v.0));
        let entry = |&(id, value): &(u32, u64)| SpecializationEntry { stage: None, id, value };
        let state = crate::template::state(std::slice::from_ref(&ir))?;
        let state = PipelineState { specialization: values.iter().map(entry).collect(), ..state };
        Ok(Self {
            declared: Declared::new(case.module.bytes())?,
            words: FloatWords::of(&ir),
            pipelines: Pipelines::tuned(vec![shader], state, tools.target, tools.options.clone(), tools.compiler)?,
            spec: values.iter().map(|&(id, value)| (id, value, bytes(id))).collect(),
            case,
            tools,
            ir,
            wave,
            refused: RefCell::new(long_table(case.module.bytes())),
        })
    }

    fn interpret(&self, inputs: &Inputs, options: Options) -> Result<Vec<Option<KnownContents>>> {
        interpreted_where(&self.ir, inputs, &self.declared.restricted(), options)
    }

    fn report(&self) -> Report {
        let mut report = Report::new(Fate::ProvesNothing, "no candidate of inputs");
        let (mut said, mut plain) = (Vec::new(), None);
        let began = CpuStart::now();
        // One workgroup, where more of them leave arrays; larger numbers, where small ones vanish in a division.
        let single = Choice { grid: [1; 3], ..Choice::default() };
        let unspecific = [Choice::default(), single.clone(), Choice { below: 1 << 20, ..single }];
        let choices = if self.case.choices.is_empty() { &unspecific } else { self.case.choices };
        let own_arrays = self.ir.has(|op| matches!(op, IrOp::Within(_)));
        let limits = [Limited::Descriptors, Limited::All].into_iter().take(if own_arrays { 2 } else { 1 });
        let met = [None, Some(Compare::All), Some(Compare::Equality)].into_iter();
        let ways = met.flat_map(|met| limits.clone().map(move |limited| Way { met, limited }));
        for (way, (n, choice)) in ways.flat_map(|way| choices.iter().enumerate().map(move |choice| (way, choice))) {
            let patience = if plain.is_some() { PATIENCE / 3 } else { PATIENCE };
            if began.elapsed() > patience {
                said.push("and no time for more".into());
                break;
            }
            match self.try_choice(choice, way, &mut report, &mut plain) {
                Ok(()) => return report,
                // The comparisons do not depend on the inputs.
                Err((Fate::ProvesNothing, why)) if why.is_empty() => {}
                Err((fate, why)) => {
                    // A shader that reached the limit with one candidate but ran with another counts as run.
                    if fate == Fate::Differs || fate == Fate::NotRun {
                        (report.fate, report.reason) = (fate, why);
                        return report;
                    }
                    if !report.ran || fate != Fate::Cut {
                        report.fate = fate;
                    }
                    said.push(format!("{n}{way}: {why}"));
                }
            }
        }
        match plain.filter(|_| report.fate == Fate::ProvesNothing) {
            Some(why) => (report.fate, report.reason) = (Fate::Agreed, why),
            None => report.reason = said.join("; "),
        }
        report
    }

    /// The inputs of the first seed, changed so that comparisons give the other result, if possible.
    fn met(&self, mut inputs: Inputs, what: Compare, limited: Limited) -> Result<Option<Inputs>> {
        let mut any = false;
        for round in 0..comparisons::ROUNDS {
            let mut world = World { compared: Some(Compared::new()), ..world(&inputs)? };
            let options = Options { limit: comparisons::WATCHED, ..self.options(self.wave.lanes()) };
            dispatch(&self.ir, &mut world, inputs.grid, options)?;
            if !comparisons::meet(&self.ir, &world.compared.unwrap_or_default(), &mut inputs, what, round) {
                break;
            }
            any = true;
            // A changed number may also be a descriptor index.
            self.declared.limit_indices(&self.ir, limited, &mut inputs);
        }
        Ok(any.then_some(inputs))
    }

    /// Runs one candidate by every route. `plain` becomes what to report if every candidate's bounds are too wide, and
    /// the driver's values agree by a plain bound.
    fn try_choice(
        &self,
        choice: &Choice,
        way: Way,
        report: &mut Report,
        plain: &mut Option<String>,
    ) -> Result<(), (Fate, String)> {
        let nothing = |e: Error| (Fate::ProvesNothing, e.to_string());
        let mut runs = Vec::new();
        report.executed.clear();
        for seed in SEEDS {
            let mut inputs = self.declared.inputs(&self.ir, &self.words, seed, choice, way.limited).map_err(nothing)?;
            if let Some(what) = way.met.filter(|_| seed == SEEDS[0]) {
                // Errors of the interpreter have already been reported without changed inputs.
                let Ok(Some(met)) = self.met(inputs, what, way.limited) else {
                    return Err((Fate::ProvesNothing, String::new()));
                };
                inputs = met;
            }
            runs.push(self.emulate(inputs, report)?);
        }
        report.ran = true;
        let unit = if self.ir.has(changes_memory) { 4 } else { 1 };
        let results: Vec<_> = runs.iter().filter_map(|r| Some(changes(&r.inputs, r.results.first()?, unit))).collect();
        let constant = constant(&self.ir);
        if constant.is_none() && results.iter().all(|r| r.iter().all(Vec::is_empty)) {
            return Err((Fate::ProvesNothing, "writes nothing".into()));
        }
        let same = results.windows(2).all(|pair| pair[0] == pair[1]);
        if same && constant.is_none() {
            return Err((Fate::ProvesNothing, "two seeds give the same".into()));
        }
        // The interpreter needs about as many instructions, and each takes a hundred times as long.
        let most = runs.iter().map(|r| r.instructions).max().unwrap_or(0);
        if most > self.tools.budget.interpreted {
            return Err((Fate::ProvesNothing, format!("too long for the interpreter: {most} instructions")));
        }
        let mut sum = MemoryVerdict::default();
        let (mut by_interpreter, mut alike) = (None, Alike::default());
        for (seed, ran) in SEEDS.iter().zip(&runs) {
            let judged = self.judge(*seed, ran, report)?;
            sum.add(&judged.verdict);
            by_interpreter = by_interpreter.or(judged.without_driver);
            alike = alike + judged.alike;
        }
        if let Some(why) = constant.filter(|_| same && too_vague(&sum).is_none()) {
            (report.fate, report.reason) = (Fate::Constant, why.to_owned());
            return Ok(());
        }
        if let Some(why) = proves_nothing(&sum, &results) {
            if by_interpreter.is_none() && proves_nothing(&certain(&sum), &results).is_none() {
                *plain = plain.take().or_else(|| alike.agreement(&why));
            }
            return Err((Fate::ProvesNothing, why));
        }
        (report.exact, report.floats) = (sum.exact, sum.floats);
        report.fate = if by_interpreter.is_some() { Fate::AgreedWithInterpreter } else { Fate::Agreed };
        report.reason = by_interpreter.unwrap_or_default();
        if let (true, Some(why)) = (report.reason.is_empty(), &self.pipelines.not_linked) {
            report.reason = format!("whole only: {why}");
        }
        Ok(())
    }

    fn emulate(&self, inputs: Inputs, report: &mut Report) -> Result<Ran, (Fate, String)> {
        let limits = RunLimits { instructions: self.tools.budget.emulated, ..RunLimits::default() };
        let (mut results, mut executed) = (Vec::new(), Vec::new());
        for (route, elf) in &self.pipelines.elfs {
            let strict = Options { strict: true, ..self.options(self.wave.lanes()) };
            let interpret = || self.interpret(&inputs, strict);
            let ran = timed(report, 1, || self.pipelines.run(elf, &inputs, limits));
            let ran = ran.map_err(|why| unfinished(route, &why, interpret))?;
            executed.push((*route, ran.stats.total()));
            results.push(ran.bindings);
        }
        report.add_executed(&executed);
        let instructions = executed.last().map_or(0, |(_, count)| *count);
        report.instructions = report.instructions.max(instructions);
        Ok(Ran { inputs, results, instructions })
    }

    fn options(&self, lanes: u32) -> Options {
        Options { subgroup_size: lanes, limit: self.tools.budget.interpreted, ..Options::default() }
    }

    /// Compares the pipelines' outputs.
    fn judge(&self, seed: u64, ran: &Ran, report: &mut Report) -> Result<Judged, (Fate, String)> {
        let nothing = |e: Error| (Fate::ProvesNothing, e.to_string());
        let Ran { inputs, results, .. } = ran;
        let options = Options { shadow: true, ..self.options(self.wave.lanes()) };
        let known = timed(report, 2, || self.interpret(inputs, options)).map_err(nothing)?;
        let Some(whole) = results.last() else { return Err((Fate::NotRun, "no pipeline".into())) };
        let own = bytes_of(&known).map_err(nothing)?;
        if results.len() > 1 {
            let bytes = results.iter().all(|r| r == whole);
            let same = bytes || results.iter().all(|r| judge(FLOOR, inputs, &known, r, whole).is_ok());
            report.same_bytes = Some(bytes && report.same_bytes != Some(false));
            report.same_as_whole = Some(same && report.same_as_whole != Some(false));
        }
        let (theirs, mut why) = match timed(report, 3, || self.driver(inputs)) {
            Ok(theirs) => (theirs, None),
            Err(why) => (own.clone(), Some(why)),
        };
        let mut expected = &theirs;
        if why.is_none() && judge(FLOOR, inputs, &known, whole, &theirs).is_err() {
            let left: Vec<_> = known.iter().map(|k| k.as_ref().map(KnownContents::without_strays)).collect();
            if judge(FLOOR, inputs, &left, whole, &theirs).is_ok() {
                return Err((Fate::ProvesNothing, "stores at addresses that are not certain".into()));
            }
            let lanes = self.wave.lanes();
            let other = self.again(Options { backwards: true, ..self.options(lanes) }, inputs, report)?;
            if judge(FLOOR, inputs, &known, &bytes_of(&other).map_err(nothing)?, &own).is_err() {
                return Err((Fate::ProvesNothing, "depends on the order of invocations".into()));
            }
            let options = Options { shadow: true, ..self.options(self.tools.judge.subgroup_size()) };
            let other = self.again(options, inputs, report)?;
            let left = bytes_of(&other).map_err(nothing)?;
            // At the driver's subgroup size the shader may read uninitialized memory.
            let doubts = |known: &[_], left: &[_]| judge(FLOOR, inputs, known, left, left).map_or(0, |v| v.uncertain);
            if judge(FLOOR, inputs, &known, &left, &own).is_err() || doubts(&other, &left) > doubts(&known, &own) {
                why = Some("depends on which invocations run together".into());
            }
            why = why.or_else(|| self.tools.judge.lacks(&self.spirv()));
            if why.is_some() {
                expected = &own;
            }
        }
        let mut verdict = MemoryVerdict::default();
        for ((route, _), ours) in self.pipelines.elfs.iter().zip(results) {
            verdict = judge(FLOOR, inputs, &known, ours, expected).map_err(|e| {
                let what = format!("seed {seed}, {route}: {e}");
                (self.tools.on_difference)(&Divergence {
                    inputs,
                    state: &self.pipelines.state,
                    wave: self.wave,
                    seed,
                    route,
                    expected,
                    what: &what,
                });
                let interpreter = match judge(FLOOR, inputs, &known, &own, expected) {
                    Ok(_) => "the interpreter gives the expected output".to_owned(),
                    Err(e) => match judge(FLOOR, inputs, &known, ours, &own) {
                        Ok(_) => "the interpreter agrees with the emulator".to_owned(),
                        Err(_) => format!("the interpreter agrees with neither: {e}"),
                    },
                };
                (Fate::Differs, format!("{what}; {interpreter}"))
            })?;
        }
        Ok(Judged { verdict, without_driver: why, alike: alike(&known, whole, expected) })
    }

    /// Runs the interpreter once more, with other options.
    fn again(
        &self,
        options: Options,
        inputs: &Inputs,
        report: &mut Report,
    ) -> Result<Vec<Option<KnownContents>>, (Fate, String)> {
        timed(report, 2, || self.interpret(inputs, options)).map_err(|e| (Fate::ProvesNothing, e.to_string()))
    }

    /// Output of the driver, or why it was not asked.
    fn driver(&self, inputs: &Inputs) -> Result<Vec<Vec<u8>>, String> {
        if let Some(why) = self.refused.borrow().as_ref() {
            return Err(why.clone());
        }
        let asked = self.tools.judge.compute(&self.spirv(), inputs).map(|out| out.bindings);
        *self.refused.borrow_mut() = asked.as_ref().err().cloned();
        asked
    }

    fn spirv(&self) -> Spirv<'_> {
        Spirv { module: self.case.module.bytes(), entry: self.case.entry, spec: &self.spec }
    }
}

/// The bytes that a run changed, in units of `unit` bytes. Part of the sum that an atomic leaves may be equal by
/// chance.
fn changes(inputs: &Inputs, results: &[Vec<u8>], unit: usize) -> Vec<Vec<u8>> {
    let changed = |before: &[u8], after: &[u8]| -> Vec<u8> {
        let both = after.chunks(unit).zip(before.chunks(unit));
        both.filter(|(after, before)| after != before).flat_map(|(after, _)| after).copied().collect()
    };
    let of = |(binding, after): (&BindingElement, &Vec<u8>)| {
        binding.bound.writable().map_or(Vec::new(), |before| changed(&before.0, after))
    };
    inputs.bindings.iter().zip(results).map(of).collect()
}

/// Why the driver is skipped for a module: a constant table that is too long.
fn long_table(module: &[u8]) -> Option<String> {
    let declared = instructions(module).take_while(|words| opcode(words) != Op::Function as u32);
    let constants = declared.filter(|words| opcode(words) == Op::ConstantComposite as u32);
    let longest = constants.map(|words| words.len().saturating_sub(3)).max().unwrap_or(0);
    let too_long = longest > LONGEST_TABLE;
    too_long.then(|| format!("a constant of {longest} elements, which the driver takes minutes for"))
}
