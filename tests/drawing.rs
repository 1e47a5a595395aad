//! Draws under test: the interpreter runs vertices and quads, lavapipe draws the same, and the attachments agree.
//!
//! One triangle covers the screen, so that every quad is whole and the interpreter needs no rasterizer, only the barycentric
//! coordinates of each pixel. A case counts as in `interpreter`.

#[path = "support/cases.rs"]
mod cases;
mod support;
#[path = "support/vulkan.rs"]
mod vulkan;

use cases::Case;
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::{Bound, Draw, Inputs, Target};
use dovetail::ir::interp::{Invocation, Memory, Options, Shadow, Verdict, decode, encode, invoke};
use dovetail::ir::{Bits, BuiltIn, Interp, Op, OutputSlot, Shader};
use dovetail::proof::world;
use dovetail::state::VertexInputState;
use dovetail::target::Stage;
use support::{glsl, root};
use vulkan::Lavapipe;

const SIZE: u32 = 16;

fn shader(module: &[u8], stage: Stage) -> Shader {
    let module = Module::new(module.to_vec()).expect("a module");
    let ir = translate(&module, "main", stage, &[]).expect("a shader that is translated");
    dovetail::ir::verify::verify(&ir).expect("sound IR");
    ir
}

/// Runs the triangle's vertices.
fn vertices(vs: &Shader, inputs: &Inputs, options: Options) -> Vec<Invocation> {
    let mut all: Vec<Invocation> = (0..3)
        .map(|n| {
            let builtins =
                [((BuiltIn::VertexIndex, 0), (n, Shadow::NONE)), ((BuiltIn::InstanceIndex, 0), (0, Shadow::NONE))];
            Invocation { builtins: builtins.into(), ..Default::default() }
        })
        .collect();
    invoke(vs, &mut world(inputs).expect("a world"), &mut all, options).expect("vertices run");
    all
}

/// A pixel's inputs. The triangle is (-1, -1), (3, -1), (-1, 3), so barycentric coordinates follow from the place alone.
fn fragment(fs: &Shader, vertices: &[Invocation], x: u32, y: u32) -> Invocation {
    let at = [x, y].map(|n| f64::from(n) + 0.5);
    let [u, v] = at.map(|n| n / f64::from(SIZE) / 2.0);
    let plain = [1.0 - u - v, u, v];
    let number = |i: usize, slot| decode(vertices[i].outputs[&slot].0, Bits::B32);
    let w = [0, 1, 2].map(|i| number(i, OutputSlot::Position(3)));
    let sum: f64 = (0..3).map(|i| plain[i] / w[i]).sum();
    let perspective: [f64; 3] = std::array::from_fn(|i| plain[i] / w[i] / sum);
    let mut out = Invocation::default();
    for inst in &fs.insts {
        let Op::LoadInput { location, component, interp, .. } = inst.op else { continue };
        let slot = OutputSlot::Location { location, component, index: 0 };
        let weights = match interp {
            Interp::At { perspective: true, .. } => perspective,
            Interp::At { .. } => plain,
            _ => {
                out.inputs.insert((location, component), vertices[0].outputs[&slot]);
                continue;
            }
        };
        let value: f64 = (0..3).map(|i| number(i, slot) * weights[i]).sum();
        let largest = (0..3).map(|i| number(i, slot).abs()).fold(0.0, f64::max);
        let shadow = Shadow { value, bound: largest * 2f64.powi(-20) };
        out.inputs.insert((location, component), (encode(value, Bits::B32), shadow));
    }
    let coord = [at[0], at[1], 0.25, sum];
    for (n, x) in coord.into_iter().enumerate() {
        out.builtins.insert((BuiltIn::FragCoord, n as u8), (encode(x, Bits::B32), Shadow::NONE));
    }
    // It goes round the way that Vulkan calls the back, by default.
    out.builtins.insert((BuiltIn::FrontFacing, 0), (0, Shadow::NONE));
    out
}

/// Runs every pixel and gives the attachments.
fn attachments(case: &Case, fs: &Shader, vertices: &[Invocation], inputs: &Inputs, options: Options) -> Drawn {
    let quads = (0..SIZE / 2).flat_map(|y| (0..SIZE / 2).map(move |x| (x * 2, y * 2)));
    let places: Vec<(u32, u32)> = quads.flat_map(|(x, y)| [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)]).collect();
    let mut pixels: Vec<Invocation> = places.iter().map(|&(x, y)| fragment(fs, vertices, x, y)).collect();
    let mut bound = world(inputs).expect("a world");
    invoke(fs, &mut bound, &mut pixels, options).expect("fragments run");
    let mut targets = vec![Memory::new(vec![0; (SIZE * SIZE * 16) as usize]); case.targets.len()];
    for ((x, y), pixel) in places.iter().zip(&pixels).filter(|(_, p)| !p.helper) {
        for (slot, (bits, shadow)) in &pixel.outputs {
            if let OutputSlot::Location { location, component, .. } = *slot {
                let at = u64::from((y * SIZE + x) * 16 + u32::from(component) * 4);
                targets[location as usize].store(at, Bits::B32, *bits, *shadow);
            }
        }
    }
    let buffers = inputs.bindings.iter().map(|b| bound.buffers.get(&(b.set, b.binding, b.element)).cloned());
    Drawn { targets, buffers: buffers.collect() }
}

struct Drawn {
    targets: Vec<Memory>,
    buffers: Vec<Option<Memory>>,
}

fn run(vulkan: &Lavapipe, case: &Case, vertex: &[u8], module: &[u8]) -> Result<String, String> {
    let (vs, fs) = (shader(vertex, Stage::Vertex), shader(module, Stage::Fragment));
    let mut results = Vec::new();
    let mut sum = Verdict::default();
    for seed in [1, 2] {
        let mut inputs = case.inputs(seed);
        let target = |(location, format): (usize, &String)| Target {
            location: location as u32,
            format: format.clone(),
            clear: [0.0; 4],
            write_mask: 15,
            blend: None,
        };
        inputs.draw = Some(Draw {
            topology: Default::default(),
            vertices: 3,
            instances: 1,
            first_vertex: 0,
            first_instance: 0,
            indices: Vec::new(),
            vertex_buffers: Vec::new(),
            extent: [SIZE, SIZE],
            targets: case.targets.iter().enumerate().map(target).collect(),
            depth: None,
        });
        let one = |module| vulkan::Shader { module, entry: "main", spec: &[] };
        let theirs = vulkan.draw(one(vertex), Some(one(module)), &VertexInputState::default(), &inputs);
        for lanes in [vulkan.subgroup_size, 32, 64] {
            let options = Options { subgroup_size: lanes, shadow: true, ..Default::default() };
            let ours = attachments(case, &fs, &vertices(&vs, &inputs, options), &inputs, options);
            let written = inputs.bindings.iter().map(|b| matches!(b.bound, Bound::StorageBuffer(_)));
            let buffers = ours.buffers.iter().zip(&theirs.bindings).zip(written).filter(|(_, w)| *w);
            let buffers = buffers.filter_map(|((ours, theirs), _)| Some((ours.as_ref()?, theirs)));
            for (n, (ours, theirs)) in ours.targets.iter().zip(&theirs.targets).chain(buffers).enumerate() {
                let verdict = ours.judge(theirs, case.floor);
                if !verdict.wrong.is_empty() {
                    let some: Vec<_> = verdict.wrong.iter().take(6).collect();
                    let count = verdict.wrong.len();
                    return Err(format!("seed {seed}, {lanes} lanes, output {n}: {count} differ: {some:#?}"));
                }
                sum.add(&verdict);
            }
        }
        results.push(theirs.targets);
    }
    let Verdict { exact, floats, loose, uncertain, not_finite, written, .. } = sum;
    let summary = format!(
        "{written} values written; {exact} words exact, {floats} floats ({loose} loose), {uncertain} uncertain, {not_finite} not finite"
    );
    if written == 0 || results[0] == results[1] {
        return Err("writes nothing, or two seeds give the same".into());
    }
    if not_finite * 20 > written || (uncertain + loose) * 10 > written {
        return Err(format!("proves too little: {summary}"));
    }
    Ok(summary)
}

#[test]
fn fragments_agree() {
    let test = "drawing::fragments_agree";
    let vulkan = match Lavapipe::get() {
        Ok(vulkan) => vulkan,
        Err(why) => return support::skip(test, &why),
    };
    let dir = root().join("testdata/draw");
    let Some(vertex) = glsl(test, &dir.join("screen.vert"), "vulkan1.1") else { return };
    let mut failed = Vec::new();
    for name in ["inputs", "derivatives", "discards", "sampling", "control"] {
        let path = dir.join(name).with_extension("frag");
        let case = Case::new(name, &std::fs::read_to_string(&path).expect("a case"));
        let Some(module) = glsl(test, &path, &case.target) else { return };
        match run(vulkan, &case, &vertex, &module) {
            Ok(summary) => eprintln!("{name}: {summary}"),
            Err(why) => failed.push(format!("{name}: {why}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
