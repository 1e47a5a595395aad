//! Runs a program in all ways and compares the words that it leaves.

use super::super::native::judge::Case;
use super::super::native::{drawn, scene};
use super::super::random::Random;
use super::Input;
use super::module;
use super::program::{ELEMENTS, LAST, WORDS};
use super::truth::{self, Memory};
use super::writer::{BUFFERS, DATA, INPUT, OUT, SUMS, TEXTURES};
use dovetail::check;
use dovetail::compile::request::Module;
use dovetail::compile::spirv::translate;
use dovetail::emu::inputs::{BindingElement, Bound, Image, InputBytes, Inputs, ViewShape};
use dovetail::error::{Context, Error, Result};
use dovetail::ir::Shader;
use dovetail::ir::interp::Options;
use dovetail::ir::verify::verify;
use dovetail::proof::{bytes_of, interpreted};
use dovetail::target::Stage;
use dovetail::template;
use std::io::Write;
use std::process::{Command, Stdio};

/// Limit of instructions in the interpreter.
const INTERPRETED: u64 = 2_000_000;

/// Runs an input.
///
/// # Errors
/// A bug: a result is not the true one, or an internal check fails. Other errors: the input proves nothing.
pub fn run(bytes: &[u8]) -> Result<()> {
    let input = Input::parse(bytes)?;
    let fragment = input.form.fragment;
    if !input.program.is_valid(fragment) || fragment != input.setup.scene.is_some() {
        return Err(Error::malformed("no program"));
    }
    let memory = memory(input.setup.seed);
    let (count, lanes) = (input.form.count, input.setup.wave.lanes());
    let true_words = truth::run(&input.program, &memory, count, lanes);
    let (out, sums) = true_words.map_err(|_| Error::malformed("a program without an end"))?;
    let mut bytes = module::module(&input.program, input.form);
    if !input.passes.is_empty() {
        let Some(better) = optimised(&bytes, &input.passes)? else {
            return Err(Error::malformed("spirv-opt is missing"));
        };
        bytes = better;
    }
    let shader = translated(bytes, if fragment { Stage::Fragment } else { Stage::Compute })
        .map_err(|e| Error::bug(format!("front end: {e}")))?;
    let inputs = Inputs {
        grid: [1; 3],
        draw: input.setup.scene.as_ref().map(|scene| scene.draw(&shader, &input.setup)),
        bindings: bindings(&memory, count),
        ..Inputs::default()
    };
    let mut shaders = vec![shader];
    if fragment {
        shaders.insert(0, scene::vertex_shader());
    }
    let state = template::state(&shaders)?;
    let case = Case { setup: &input.setup, shaders, state, inputs };
    let options = Options { subgroup_size: lanes, limit: INTERPRETED, ..Options::default() };
    let known = match &case.shaders[..] {
        [vertex, fragment] => drawn::known([vertex, fragment], &case.state.vertex, &case.inputs, options),
        shaders => interpreted(&shaders[0], &case.inputs, options),
    };
    let known = known.and_then(|known| bytes_of(&known)).map_err(|e| Error::bug(format!("interpreter: {e}")))?;
    same(&known, [&out, &sums]).map_err(|what| Error::bug(format!("interpreter: {what}")))?;
    if !input.code {
        return Ok(());
    }
    let elf = case.compiled()?;
    let report = check::check(&elf).at(|| "check");
    let made = case.emulated(&elf)?;
    same(&made, [&out, &sums]).map_err(|what| Error::bug(format!("code: {what}")))?;
    match report?.errors().next() {
        Some(finding) => Err(Error::bug(format!("check: {finding}"))),
        None => Ok(()),
    }
}

fn translated(bytes: Vec<u8>, stage: Stage) -> Result<Shader> {
    let shader = translate(&Module::new(bytes)?, "main", stage, &[])?;
    verify(&shader)?;
    Ok(shader)
}

/// Compares the digests and the sums with the true ones.
fn same(made: &[Vec<u8>], truth: [&[u32]; 2]) -> std::result::Result<(), String> {
    for ((binding, name), wanted) in [(OUT, "digest"), (SUMS, "sum")].into_iter().zip(truth) {
        let words = made.get(binding as usize).map_or(&[][..], |b| b.as_chunks::<4>().0);
        for (n, (bytes, wanted)) in words.iter().zip(wanted).enumerate() {
            let word = u32::from_le_bytes(*bytes);
            if word != *wanted {
                return Err(format!("{name} {n} is {word:#x}, not {wanted:#x}"));
            }
        }
    }
    Ok(())
}

/// What a program reads; data rises beyond [`LAST`] in time.
fn memory(seed: u64) -> Memory {
    let mut random = Random::new(seed, 0x3e3);
    let mut word = |mask: u32| random.next() as u32 & mask;
    let small = |n: usize| [3, 7, 0x7f, u32::MAX][n % 4];
    Memory {
        input: (0..WORDS as usize).map(|n| word(small(n))).collect(),
        data: (0..WORDS).map(|n| if n < 20 { word(0x7f) } else { LAST + 1 + n }).collect(),
        buffers: (0..ELEMENTS).map(|_| (0..ELEMENTS).map(|_| word(0xffff)).collect()).collect(),
        texels: (0..ELEMENTS).map(|n| (10.0 + n as f32).to_bits()).collect(),
    }
}

fn bindings(memory: &Memory, count: u32) -> Vec<BindingElement> {
    let bytes = |words: &[u32]| InputBytes(words.iter().flat_map(|w| w.to_le_bytes()).collect());
    let buffer = |words: &[u32]| Bound::StorageBuffer(bytes(words));
    let zeros = |count: u32| Bound::StorageBuffer(InputBytes(vec![0; 4 * count as usize]));
    let image = |texel: &u32| {
        Bound::SampledImage(Image {
            format: "R32_SFLOAT".into(),
            shape: ViewShape::D2,
            extent: [1; 3],
            layers: 1,
            arrayed: false,
            levels: 1,
            samples: 1,
            swizzle: Default::default(),
            data: bytes(&[*texel]),
        })
    };
    let single =
        [(OUT, zeros(count)), (INPUT, buffer(&memory.input)), (DATA, buffer(&memory.data)), (SUMS, zeros(WORDS))];
    let single = single.into_iter().map(|(binding, bound)| (binding, 0, bound));
    let buffers = (0..).zip(&memory.buffers).map(|(n, words)| (BUFFERS, n, buffer(words)));
    let images = (0..).zip(&memory.texels).map(|(n, texel)| (TEXTURES, n, image(texel)));
    let all = single.chain(buffers).chain(images);
    all.map(|(binding, element, bound)| BindingElement { set: 0, binding, element, bound }).collect()
}

/// A module after passes of `spirv-opt`; `None` if that is not installed.
fn optimised(module: &[u8], passes: &[String]) -> Result<Option<Vec<u8>>> {
    let malformed = |e: std::io::Error| Error::malformed(e.to_string());
    // It writes warnings to its standard output.
    let made = tempfile::NamedTempFile::new().map_err(malformed)?;
    let mut command = Command::new("spirv-opt");
    command.args(passes).args(["-", "-o"]).arg(made.path());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = match command.spawn() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        started => started.map_err(malformed)?,
    };
    let mut to = child.stdin.take().ok_or_else(|| Error::malformed("no pipe"))?;
    let written = to.write_all(module);
    drop(to);
    let status = child.wait().map_err(malformed)?;
    if written.is_err() || !status.success() {
        return Err(Error::malformed("spirv-opt refuses the module"));
    }
    std::fs::read(made.path()).map(Some).map_err(malformed)
}
