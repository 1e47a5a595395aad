//! What a cache lacks for a pipeline that is to be linked without a compiler, and the command that adds it.

use super::Given;
use crate::common::print_json;
use crate::populate::variant_name;
use dovetail::cache::Cache;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::KnownState;
use dovetail::compile::{Compiler, variant};
use dovetail::error::{Error, Result, printable};
use dovetail::pipeline::{PipelineRequest, ShaderRef};
use dovetail::target::{Gpu, Stage};
use dovetail::toolchain::Toolchain;
use serde::Serialize;
use std::fmt::Display;
use std::process::ExitCode;

/// Exit code of a link that lacks something.
const MISSING: u8 = 4;

/// A part that the cache lacks.
#[derive(Serialize)]
struct Missing {
    stage: Stage,
    file: String,
    /// Specialization values that are part of its key, as `constant 3 (SIZE) = 7`.
    specialization: Vec<String>,
    /// The state that only a variant of the part can serve.
    variant: Option<&'static str>,
}

impl Missing {
    fn describe(&self) -> String {
        let mut text = format!("the {} shader ({})", self.stage, self.file);
        if !self.specialization.is_empty() {
            text += &format!(" with specialization {}", self.specialization.join(", "));
        }
        match self.variant {
            Some(state) => format!("the variant for `{state}` of {text}"),
            None => text,
        }
    }
}

/// Reports what a link lacks: parts, or the whole pipeline if the parts are there and `refused` says why they do not
/// serve. Without a toolchain nothing is there.
pub fn report(
    args: &super::Args,
    shaders: &[(&Given<'_>, ShaderRef<'_>)],
    request: &PipelineRequest<'_>,
    cache: &Cache,
    tools: Option<&Toolchain<'_>>,
    refused: Option<&Error>,
) -> Result<ExitCode> {
    let mut missing = Vec::new();
    for (given, shader) in shaders {
        missing.extend(part(given, shader, request, tools)?);
    }
    let dir = args.build.cache.dir()?;
    let dir = dir.display();
    if cache.stats().bad > 0 {
        eprintln!("dovetail: the cache {dir} is damaged: what cannot be read counts as missing");
    } else if tools.is_none() {
        eprintln!("dovetail: the cache {dir} holds no parts");
    }
    for part in &missing {
        eprintln!("dovetail: the cache {dir} lacks {}", part.describe());
    }
    let whole = missing.is_empty().then(|| refused.map_or_else(|| "as asked for".to_owned(), ToString::to_string));
    if let Some(why) = &whole {
        eprintln!("dovetail: the cache {dir} lacks this pipeline compiled as a whole: {why}");
    }
    if let Some(other) = tools.map(Toolchain::compiler_id).filter(|id| ***id != *BuiltInCompiler::new().id()) {
        eprintln!(
            "dovetail: it was filled last by another build of dovetail ({}), whose parts are looked for",
            other.backend
        );
    }
    let command = command(args, &missing, &dir);
    eprintln!("dovetail: {command}");
    if args.json {
        print_json(&serde_json::json!({ "missing": missing, "whole": whole, "next": command }))?;
    }
    Ok(ExitCode::from(MISSING))
}

/// What is missing of a shader: the part, or the variant of it that the state needs.
fn part(
    given: &Given<'_>,
    shader: &ShaderRef<'_>,
    request: &PipelineRequest<'_>,
    tools: Option<&Toolchain<'_>>,
) -> Result<Option<Missing>> {
    let early = request.stage(shader, KnownState::default());
    let found = tools.map(|tools| tools.part(shader.module(), &early)).transpose()?.flatten();
    let wanted = found.as_ref().and_then(|part| variant(request.state, part.object.interface()));
    let there = match (&wanted, tools) {
        (Some(known), Some(tools)) => tools.part(shader.module(), &request.stage(shader, known.clone()))?.is_some(),
        _ => found.is_some(),
    };
    let named = |(id, value): &(u32, u64)| {
        let name = given.info.spec_constants.iter().find(|constant| constant.id == *id && !constant.name.is_empty());
        let name = name.map_or(String::new(), |constant| format!(" ({})", printable(&constant.name)));
        format!("constant {id}{name} = {value}")
    };
    Ok((!there).then(|| Missing {
        stage: shader.stage(),
        file: given.path.display().to_string(),
        specialization: early.specialization.iter().map(named).collect(),
        variant: wanted.map(|_| variant_name(shader.stage())),
    }))
}

/// The command that adds what is missing, as far as one command does.
fn command(args: &super::Args, missing: &[Missing], cache: &impl Display) -> String {
    let tuned = if args.build.tuning.options().is_default() { "" } else { ", and this command's tuning options" };
    if missing.is_empty() {
        return "the same command without --no-compile adds it".to_owned();
    }
    let mut files: Vec<&str> = missing.iter().map(|part| part.file.as_str()).collect();
    files.dedup();
    let wave = args.wave.map_or(String::new(), |wave| format!(" --wave {}", wave.lanes()));
    let target = if args.target == Gpu::default() { String::new() } else { format!(" --target {}", args.target) };
    let variants = if missing.iter().any(|part| part.variant.is_some()) { " --variants" } else { "" };
    let special = missing.iter().any(|part| !part.specialization.is_empty());
    let special = if special { " --spec VALUES.toml (docs/corpus.md)" } else { "" };
    format!("`dovetail populate {} --cache {cache}{target}{wave}{variants}{special}`{tuned} adds it", files.join(" "))
}
