//! `dovetail run`: runs a pipeline ELF on the emulator.

use crate::common::{folder, print_json, read_elf, read_state, write_file};
use crate::trace;
use clap::builder::{OsStringValueParser, TypedValueParser};
use dovetail::emu::inputs::{BindingElement, Bound, Draw, Inputs};
use dovetail::emu::{self, Follow, INSTRUCTION_LIMIT, RunLimits, RunOutcome, RunStats, Trace};
use dovetail::error::{Context, Error, ErrorKind, Result};
use dovetail::proof::read_inputs;
use dovetail::state::{PipelineState, ResourceLayout};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a pipeline ELF on the emulator: dispatch a compute pipeline, or draw with a graphics pipeline.
///
/// The ELF is loaded as a driver would, by its notes, registers and user-data mapping alone. The results go to a
/// folder: the bytes of every buffer and image, and every attachment, raw and as PNG.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  dovetail run mesh.elf --state mesh.toml --bindings inputs.toml --stats -o out")]
pub struct Args {
    /// Pipeline ELF, from `dovetail link`.
    #[arg(value_name = "ELF")]
    pipeline: PathBuf,
    /// The state that it was linked with; its resource layout gives the locations of descriptors. Needed if there are any.
    #[arg(long, value_name = "TOML")]
    state: Option<PathBuf>,
    /// TOML file with the bindings, and the grid or the draw (see docs/run.md).
    #[arg(long, value_name = "TOML")]
    bindings: PathBuf,
    /// Folder for the results; created if missing.
    #[arg(long, short, value_name = "DIR", value_parser = OsStringValueParser::new().try_map(folder))]
    out: Option<PathBuf>,
    /// Stop after this many instructions, with exit code 3; by default 2^32.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Group at most so many vertices and primitives of a primitive shader (NGG), 1 to 256; otherwise as the registers say.
    #[arg(long, value_name = "COUNT")]
    group: Option<usize>,
    /// Print counts of executed instructions by class.
    #[arg(long)]
    stats: bool,
    /// Print the instructions of one invocation and their effects: global:X,Y,Z or local:GX,GY,GZ:X,Y,Z in a dispatch;
    /// pixel:X,Y or pixel:X,Y:PRIMITIVE or vertex:INDEX or vertex:INDEX:INSTANCE in a draw.
    #[arg(long, value_name = "INVOCATION")]
    trace: Option<Follow>,
    /// Print JSON; for a trace, one line per instruction.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let place = || args.pipeline.display().to_string();
    let elf = read_elf(&args.pipeline)?;
    let state: PipelineState = args.state.as_deref().map(read_state).transpose()?.unwrap_or_default();
    let inputs = read_inputs(&args.bindings)?;
    if inputs.draw.is_none() && inputs.grid.contains(&0) {
        let why = "neither a draw nor a grid of workgroups, as `grid = [1, 1, 1]`: nothing would run";
        return Err(Error::malformed(why)).at(|| args.bindings.display().to_string());
    }
    if args.state.is_none() && needs_layout(&inputs) {
        let why =
            "bindings and push constants are found by a layout: give --state, the file that the ELF was linked with";
        return Err(Error::malformed(why)).at(|| args.bindings.display().to_string());
    }
    let mut notices = unmatched(&state.layout, &inputs);
    if let Some(draw) = inputs.draw.as_ref().filter(|_| args.state.is_some()) {
        notices.extend(unmatched_draw(&state, draw));
    }
    notices.iter().for_each(|what| eprintln!("dovetail: {what}"));
    let given = RunLimits { group: args.group, ..RunLimits::default() };
    let limits = args.limit.map_or(given, |instructions| RunLimits { instructions, ..given });
    let mut trace = args.trace.map(|follow| Trace::new(follow, trace::printer(args.json)));
    let outcome = emu::run_traced(&elf, &state.layout, &inputs, limits, trace.as_mut());
    let outcome = outcome.map_err(|e| past_limit(e, limits)).at(place)?;
    if trace.is_some_and(|trace| trace.followed() == 0) {
        return Err(Error::malformed("nothing was run of the invocation to trace"));
    }
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).at(|| folder.display().to_string())?;
        write_results(folder, &inputs, &outcome)?;
    }
    if args.json && (args.stats || args.trace.is_none()) {
        print_json(&counts(&outcome.stats))?;
    } else if args.stats {
        for (what, count) in counts(&outcome.stats) {
            println!("{what:<22}{count:>16}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the inputs have anything that a layout places.
fn needs_layout(inputs: &Inputs) -> bool {
    let described = |one: &BindingElement| !matches!(one.bound, Bound::PhysicalStorageBuffer(_));
    !inputs.push_constants.0.is_empty() || inputs.bindings.iter().any(described)
}

/// Names the option, if a run ended at the limit.
fn past_limit(e: Error, limits: RunLimits) -> Error {
    match e.kind() {
        ErrorKind::Unsupported { feature, .. } if feature == INSTRUCTION_LIMIT => Error::unsupported(
            INSTRUCTION_LIMIT,
            format!("it has run {} instructions and has not ended; --limit raises this", limits.instructions),
        ),
        _ => e,
    }
}

/// What only one of layout and inputs has: valid, but more often a slip.
fn unmatched(layout: &ResourceLayout, inputs: &Inputs) -> Vec<String> {
    let slots = layout.sets.iter().flat_map(|set| set.bindings.iter().map(move |of| ((set.set, of.binding), of)));
    let mut laid_out: BTreeMap<(u32, u32), _> = slots.collect();
    let mut found = Vec::new();
    // What is found by its address needs no descriptor.
    let bound = inputs.bindings.iter().filter(|one| !matches!(one.bound, Bound::PhysicalStorageBuffer(_)));
    let given: BTreeSet<(u32, u32)> = bound.map(|one| (one.set, one.binding)).collect();
    for slot @ (set, binding) in given {
        if laid_out.remove(&slot).is_none() {
            found.push(format!("set {set}, binding {binding} of the inputs is not in the state's layout"));
        }
    }
    for ((set, binding), _) in laid_out.into_iter().filter(|(_, of)| of.samplers.is_empty()) {
        found.push(format!("set {set}, binding {binding} of the layout has no input: its descriptors are null"));
    }
    if inputs.push_constants.0.len() < layout.push_constant_bytes as usize {
        let (given, all) = (inputs.push_constants.0.len(), layout.push_constant_bytes);
        found.push(format!("{given} of {all} bytes of push constants are given: the others are 0"));
    }
    found
}

/// Messages about values that the state and the draw give differently, and about parts of the state that a draw here
/// ignores.
fn unmatched_draw(state: &PipelineState, draw: &Draw) -> Vec<String> {
    let mut found = Vec::new();
    for target in &draw.targets {
        let location = target.location;
        match state.color.attachments.iter().find(|attachment| attachment.location == location) {
            None => found.push(format!("target {location} is no attachment of the state: nothing writes to it")),
            Some(of) if of.format.to_string() != target.format => {
                let formats = format!("{}, the attachment of the state {}", target.format, of.format);
                found.push(format!("target {location} has the format {formats}"));
            }
            Some(_) => {}
        }
    }
    let numbers =
        [("samples", state.color.samples.max(1), draw.samples.max(1)), ("view mask", state.view_mask, draw.view_mask)];
    for (what, of_state, of_draw) in numbers.into_iter().filter(|(_, one, other)| one != other) {
        found.push(format!("{what}: the state has {of_state}, the draw {of_draw}"));
    }
    if state.color.alpha_to_coverage {
        found.push("alpha_to_coverage: alpha does not change the coverage here".to_owned());
    }
    found
}

fn counts(stats: &RunStats) -> BTreeMap<&'static str, u64> {
    let classes = stats.instructions.iter().map(|(class, count)| (class.name(), *count));
    let all = [("instructions", stats.total()), ("lane operations", stats.lane_operations), ("waves", stats.waves)];
    classes.chain(all).collect()
}

fn write_results(folder: &Path, inputs: &Inputs, outcome: &RunOutcome) -> Result<()> {
    for (binding, bytes) in inputs.bindings.iter().zip(&outcome.bindings).filter(|(_, bytes)| !bytes.is_empty()) {
        let name = format!("set{}-binding{}-{}.bin", binding.set, binding.binding, binding.element);
        write_file(&folder.join(name), bytes)?;
    }
    let Some(targets) = &outcome.targets else { return Ok(()) };
    for target in &targets.colors {
        let name = format!("target{}", target.state.location);
        write_file(&folder.join(format!("{name}.bin")), &target.data)?;
        if let Some(pixels) = target.picture() {
            write_png(&folder.join(format!("{name}.png")), target.extent, &pixels)?;
        }
    }
    if let Some(depth) = &targets.depth {
        let bytes: Vec<u8> = depth.data.iter().flat_map(|z| z.to_le_bytes()).collect();
        write_file(&folder.join("depth.bin"), &bytes)?;
    }
    if let Some(stencil) = &targets.stencil {
        write_file(&folder.join("stencil.bin"), &stencil.data)?;
    }
    Ok(())
}

fn write_png(path: &Path, [width, height]: [u32; 2], pixels: &[u8]) -> Result<()> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // Without alpha, which says how to blend the attachment and not how to show it: viewers would put their own ground behind it.
    let colors: Vec<u8> = pixels.as_chunks::<4>().0.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&colors));
    written.map_err(|e| Error::bug(format!("PNG: {e}")))?;
    write_file(path, &file)
}
