//! A complete test case in a folder that `dovetail replay` can run anywhere.
//!
//! ```text
//! bundle.toml                     reference, difference, seed, bounds, stages, tuning, versions         ([`Manifest`])
//! compute.spv, vertex.spv, …      SPIR-V of each stage
//! state.toml                      the pipeline's state, with specialization
//! inputs.toml, inputs/N.bin bound resources, and the grid or the draw; long contents are in separate files
//! expected/setS-bindingB-E.bin    the reference's bytes of each binding that can be written
//! expected/targetN.bin, depth.bin the reference's bytes of each attachment
//! ```
//!
//! A folder is either complete or absent. To add a field to [`Manifest`], give it a default; to change the meaning of a
//! field, increase [`FORMAT`].

use super::driver::Outputs;
use super::inputs_file::{self, MAX_FILE};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files;
use dovetail_base::files::MAX_TEXT;
use dovetail_base::target::{Gpu, Stage, WaveSize};
use dovetail_compile::request::{CompilerId, Module, TuningOptions};
use dovetail_emu::NamedFormat;
use dovetail_emu::inputs::{BindingElement, Bound, Inputs, TargetAttachment};
use dovetail_state::PipelineState;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Version of the folder's format.
pub const FORMAT: u32 = 1;

/// Contents of `bundle.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// The case.
    pub name: String,
    /// Seed of its inputs.
    pub seed: u64,
    /// Reference that gave the expected output: `lavapipe`, `interpreter`, or the driver that recorded the application.
    pub judge: String,
    /// Ulps by which any float may differ in addition to its bound.
    #[serde(default)]
    pub floor: f64,
    /// In draws: how many pixels may differ, since both implementations round vertices to a fraction of a pixel.
    #[serde(default)]
    pub edges: usize,
    /// Routes whose output differed when the bundle was saved.
    #[serde(default)]
    pub failed: Vec<String>,
    /// Description of that difference.
    #[serde(default)]
    pub disagreement: String,
    /// Version of Dovetail that saved it.
    pub dovetail: String,
    /// Compiler that made the failing code.
    pub compiler: CompilerId,
    /// GPU.
    pub target: Gpu,
    /// Tuning.
    #[serde(default)]
    pub options: TuningOptions,
    /// Stages.
    pub stages: Vec<StageEntry>,
}

/// One stage of a bundle; its SPIR-V is in `STAGE.spv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageEntry {
    /// Stage.
    pub stage: Stage,
    /// Entry point.
    pub entry_point: String,
    /// Wave size.
    pub wave: WaveSize,
}

/// A case with all its data.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Its description.
    pub manifest: Manifest,
    /// SPIR-V of each stage, in the manifest's order.
    pub modules: Vec<Module>,
    /// State of its pipeline.
    pub state: PipelineState,
    /// Its inputs.
    pub inputs: Inputs,
    /// Its expected outputs.
    pub expected: Outputs,
}

impl Bundle {
    /// A case and its reference, still without state, inputs and expected outputs.
    pub fn new(name: &str, seed: u64, judge: &str, stages: Vec<(StageEntry, Module)>) -> Self {
        let (stages, modules) = stages.into_iter().unzip();
        let manifest = Manifest {
            format: FORMAT,
            name: name.to_owned(),
            seed,
            judge: judge.to_owned(),
            floor: 0.0,
            edges: 0,
            failed: Vec::new(),
            disagreement: String::new(),
            dovetail: env!("CARGO_PKG_VERSION").to_owned(),
            compiler: CompilerId { sources: String::new(), backend: String::new() },
            target: Gpu::default(),
            options: Default::default(),
            stages,
        };
        let (state, inputs) = (PipelineState::default(), Inputs::default());
        Self { manifest, modules, state, inputs, expected: Outputs::default() }
    }

    /// Writes the folder `NAME-SEED` in `parent`, replacing an older one; returns its path.
    ///
    /// # Errors
    /// Environment: a file cannot be written. Malformed: a number that TOML cannot hold.
    pub fn save(&self, parent: &Path) -> Result<PathBuf> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
        let name: String = self.manifest.name.chars().map(plain).collect();
        let name = format!("{}-{}", name.trim_start_matches('.'), self.manifest.seed);
        let folder = parent.join(&name);
        let place = || folder.display().to_string();
        let partial = parent.join(format!(".{name}.{}", std::process::id()));
        remove(&partial).at(place)?;
        if let Err(e) = self.write(&partial) {
            // An incomplete bundle is useless, and a full disk has no room for it.
            let _ = remove(&partial);
            return Err(e.at(place()));
        }
        remove(&folder).at(place)?;
        fs::rename(&partial, &folder).at(place)?;
        Ok(folder)
    }

    fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder.join("expected"))?;
        write_toml(&folder.join("bundle.toml"), &self.manifest)?;
        write_toml(&folder.join("state.toml"), &self.state)?;
        inputs_file::write(&folder.join("inputs.toml"), &self.inputs)?;
        for (entry, module) in self.manifest.stages.iter().zip(&self.modules) {
            fs::write(folder.join(module_file(entry)), module.bytes())?;
        }
        let expected = |name: String, bytes: &[u8]| fs::write(folder.join("expected").join(name), bytes);
        for (binding, bytes) in self.inputs.bindings.iter().zip(&self.expected.bindings) {
            if written_bytes(&binding.bound).is_some() {
                expected(binding_file(binding), bytes)?;
            }
        }
        if let Some(draw) = &self.inputs.draw {
            for (target, bytes) in draw.targets.iter().zip(&self.expected.targets) {
                expected(format!("target{}.bin", target.location), bytes)?;
            }
            if draw.depth.is_some() {
                expected("depth.bin".into(), &self.expected.depth)?;
            }
            if draw.stencil.is_some() {
                expected("stencil.bin".into(), &self.expected.stencil)?;
            }
        }
        Ok(())
    }

    /// Reads a folder.
    ///
    /// # Errors
    /// Malformed, with the file's name: invalid contents. Unsupported: a newer format. Environment: a missing file.
    pub fn load(folder: &Path) -> Result<Self> {
        let manifest: Manifest = read_toml(&folder.join("bundle.toml"))?;
        if manifest.format != FORMAT {
            return Err(Error::unsupported(
                format!("bundle format {}", manifest.format),
                format!("this reads {FORMAT}"),
            ));
        }
        let modules = manifest.stages.iter().map(|entry| {
            let path = folder.join(module_file(entry));
            let place = || path.display().to_string();
            Module::new(files::read(&path, MAX_FILE)?).at(place)
        });
        let modules = modules.collect::<Result<Vec<_>>>()?;
        let state = read_toml(&folder.join("state.toml"))?;
        let inputs = inputs_file::read(&folder.join("inputs.toml"))?;
        let compute = manifest.stages.iter().any(|entry| entry.stage.is_dispatched());
        if manifest.stages.is_empty() || compute != inputs.draw.is_none() {
            let what = "the stages are one compute shader with a grid, or a vertex shader with a draw";
            return Err(Error::malformed(what).at(folder.join("bundle.toml").display().to_string()));
        }
        let expected = expected(&folder.join("expected"), &inputs)?;
        Ok(Self { manifest, modules, state, inputs, expected })
    }
}

fn module_file(entry: &StageEntry) -> String {
    format!("{}.spv", entry.stage.name())
}

fn binding_file(b: &BindingElement) -> String {
    format!("set{}-binding{}-{}.bin", b.set, b.binding, b.element)
}

/// Bytes of a resource that a shader may write; `None` if it cannot.
pub(super) fn written_bytes(bound: &Bound) -> Option<usize> {
    bound.writable().map(|data| data.0.len())
}

fn expected(folder: &Path, inputs: &Inputs) -> Result<Outputs> {
    let read = |name: String, bytes: usize| {
        let path = folder.join(name);
        let place = || path.display().to_string();
        let data = files::read(&path, MAX_FILE)?;
        if data.len() == bytes {
            return Ok(data);
        }
        Err(Error::malformed(format!("{} bytes, by the inputs they are {bytes}", data.len())).at(place()))
    };
    let binding = |b: &BindingElement| match written_bytes(&b.bound) {
        Some(bytes) => read(binding_file(b), bytes),
        None => Ok(Vec::new()),
    };
    let bindings = inputs.bindings.iter().map(binding).collect::<Result<_>>()?;
    let Some(draw) = &inputs.draw else { return Ok(Outputs { bindings, ..Default::default() }) };
    let pixels = draw.extent.iter().map(|n| *n as usize).fold(1, usize::saturating_mul);
    let target = |t: &TargetAttachment| {
        let texel = NamedFormat::new(&t.format)?.format.bytes();
        read(format!("target{}.bin", t.location), pixels.saturating_mul(texel))
    };
    let targets = draw.targets.iter().map(target).collect::<Result<_>>()?;
    let depth = draw.depth.map(|_| read("depth.bin".into(), pixels.saturating_mul(4))).transpose()?;
    let stencil = draw.stencil.map(|_| read("stencil.bin".into(), pixels)).transpose()?;
    Ok(Outputs { bindings, targets, depth: depth.unwrap_or_default(), stencil: stencil.unwrap_or_default() })
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
        _ => Ok(()),
    }
}

fn write_toml<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let place = || path.display().to_string();
    let text = toml::to_string_pretty(value).map_err(|e| Error::malformed(e.to_string())).at(place)?;
    fs::write(path, text).at(place)
}

fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let place = || path.display().to_string();
    let text = files::read_text(path, MAX_TEXT)?;
    toml::from_str(&text).map_err(|e| Error::malformed(e.to_string())).at(place)
}
