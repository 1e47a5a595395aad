//! Ratios between two versions of the code of each shader in a folder.

use super::{Side, compiled};
use crate::common::{print_json, read_found_module};
use dovetail::compile::request::Module;
use dovetail::error::Result;
use rayon::prelude::*;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// One shader.
#[derive(Serialize)]
struct Row {
    name: String,
    sides: [Side; 2],
}

/// A figure of a version.
type Measure = fn(&Side) -> u64;

/// The measures by which two versions are compared.
const MEASURES: [(&str, Measure); 5] = [
    ("instructions", |side| side.total as u64),
    ("bytes", |side| side.bytes as u64),
    ("VGPRs", |side| side.vgprs.into()),
    ("waves", |side| side.waves.into()),
    ("cycles", |side| side.cycles),
];

/// Compares all modules of a folder, or an evenly spread sample.
pub fn run(args: &super::Args, folder: &Path) -> Result<()> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|e| e == "spv"));
    files.sort();
    let step = args.sample.map_or(1, |n: NonZeroUsize| files.len().div_ceil(n.get())).max(1);
    let chosen: Vec<PathBuf> = files.into_iter().step_by(step).collect();
    let made: Vec<Result<Row>> = chosen.par_iter().map(|file| row(args, file)).collect();
    let failed = made.iter().filter(|row| row.is_err()).count();
    let rows: Vec<Row> = made.into_iter().flatten().collect();
    if args.json {
        return print_json(&rows);
    }
    if args.each {
        rows.iter().for_each(print_row);
    }
    let name = |n: usize| rows.first().map_or("", |row| row.sides[n].name.as_str());
    println!("{} shaders, {failed} without two codes", rows.len());
    println!("{:<15} {:>10} {:>10} {:>8} {:>8} {:>8}", "", name(0), name(1), "sum", "geomean", "worst");
    for (what, measure) in MEASURES {
        let [a, b] = [0, 1].map(|n| rows.iter().map(|row| measure(&row.sides[n])).sum::<u64>());
        let ratios = rows.iter().map(|row| ratio(measure(&row.sides[0]), measure(&row.sides[1])));
        let geomean = (ratios.clone().map(f64::ln).sum::<f64>() / rows.len().max(1) as f64).exp();
        let worst = ratios.fold(0.0, f64::max);
        println!("{what:<15} {a:>10} {b:>10} {:>8.3} {geomean:>8.3} {worst:>8.3}", ratio(a, b));
    }
    for class in super::CLASSES {
        let [a, b] = [0, 1].map(|n| rows.iter().filter_map(|row| row.sides[n].counts.get(class)).sum::<usize>() as u64);
        println!("{class:<15} {a:>10} {b:>10} {:>8.3}", ratio(a, b));
    }
    Ok(())
}

fn row(args: &super::Args, file: &Path) -> Result<Row> {
    let module: Module = read_found_module(file)?;
    let name = file.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok(Row { name, sides: compiled(args, &module)? })
}

fn print_row(row: &Row) {
    let text: Vec<String> = MEASURES
        .iter()
        .map(|(what, measure)| {
            let [a, b] = [0, 1].map(|n| measure(&row.sides[n]));
            format!("{what} {a}/{b} {:.3}", ratio(a, b))
        })
        .collect();
    println!("{:<60} {}", row.name, text.join("  "));
}

fn ratio(a: u64, b: u64) -> f64 {
    a.max(1) as f64 / b.max(1) as f64
}
