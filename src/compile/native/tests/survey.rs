//! Counts the unsupported features of real shaders, by reason.

use crate::Native;
use dovetail_base::error::{ErrorKind, Result};
use dovetail_base::target::Gpu;
use dovetail_compile::request::{KnownState, Module, StageRequest, TuningOptions, default_wave};
use dovetail_ir::watch::{Made, Watch};
use dovetail_passes as passes;
use dovetail_passes::backend::Generator;
use dovetail_spirv::{reflect, translate};
use std::collections::BTreeMap;
use std::path::Path;

/// Keeps the result of selection.
#[derive(Default)]
struct Selected(String);

impl Watch for Selected {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        if let (Ok(wanted), Made::Text(text)) = (std::env::var("DOVETAIL_SHOW"), made)
            && wanted == phase
        {
            self.0 = text()?;
        }
        Ok(())
    }
}

/// Compiles all entry points of a module; returns the error of each that is not supported.
fn compile(file: &Path) -> Result<Vec<Result<()>>> {
    let module = Module::new(std::fs::read(file)?)?;
    let info = reflect(&module)?;
    let mut out = Vec::new();
    for entry in &info.entry_points {
        let Some(stage) = entry.stage else { continue };
        let specialization = info.specialization(&[]);
        let shader = translate(&module, &entry.name, stage, &specialization)?;
        let request = StageRequest {
            target: Gpu::Gfx1030,
            stage,
            module: module.digest(),
            entry_point: entry.name.clone(),
            specialization,
            wave: default_wave(Gpu::default(), stage, info.uses_subgroups),
            options: TuningOptions::default(),
            known: KnownState::default(),
        };
        let passes::Lowered { shader, interface } = passes::lower(shader, &request)?;
        let mut last = Selected::default();
        let made = Native.generate(shader, &interface, &request.options, &mut last).map(|_| ());
        if made.as_ref().is_err_and(|e| matches!(e.kind(), ErrorKind::Bug(_)))
            && std::env::var_os("DOVETAIL_SHOW").is_some()
        {
            println!("{}", last.0);
        }
        out.push(made);
    }
    Ok(out)
}

/// `DOVETAIL_SURVEY=FOLDER cargo test … survey -- --ignored --nocapture`
#[test]
#[ignore = "a tool: prints a table"]
fn survey() {
    let Ok(folder) = std::env::var("DOVETAIL_SURVEY") else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("a folder").filter_map(|e| Some(e.ok()?.path())).collect();
    files.sort();
    let mut reasons: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "spv")) {
        let Ok(results) = compile(file) else { continue };
        for result in results {
            let reason = match result {
                Ok(()) => "compiled".to_owned(),
                Err(e) if matches!(e.kind(), ErrorKind::Bug(_)) => format!("BUG {e}"),
                Err(e) => e.to_string().rsplit_once("unsupported: ").map_or(e.to_string(), |(_, why)| why.to_owned()),
            };
            let entry = reasons.entry(reason).or_default();
            entry.0 += 1;
            if entry.1.is_empty() {
                entry.1 = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            }
        }
    }
    let mut list: Vec<_> = reasons.into_iter().collect();
    list.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (reason, (count, example)) in list {
        println!("{count:6} {reason}   [{example}]");
    }
}
