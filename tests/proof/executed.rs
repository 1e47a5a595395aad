//! Numbers of instructions executed by waves: linked against whole, and this run's code against that of an earlier run.
//!
//! Both sides of a ratio ran on the same inputs, so the ratio measures the cost of execution, not the size of the code.

use crate::Line;
use std::collections::BTreeMap;
use std::fmt::Write;

const LINKED: &str = "linked";
const PAIRED: &str = "paired";
const WHOLE: &str = "whole";
/// Number of worst items listed.
const WORST: usize = 10;

/// Ratios of one measure.
#[derive(Default)]
struct Ratios<'a> {
    all: Vec<(f64, &'a Line)>,
}

impl<'a> Ratios<'a> {
    fn of(lines: &'a [Line], ratio: impl Fn(&'a Line) -> Option<f64>) -> Self {
        Self { all: lines.iter().filter_map(|line| Some((ratio(line)?, line))).collect() }
    }

    /// Rows by source and kind: items, geometric mean, 95th percentile.
    fn rows(&self) -> String {
        let mut by: BTreeMap<(bool, &str), Vec<f64>> = BTreeMap::new();
        for (ratio, line) in &self.all {
            by.entry((line.item.is_pair(), &line.item.source)).or_default().push(*ratio);
        }
        let mut out = String::new();
        for ((pair, source), ratios) in by {
            out += &row(&format!("{source}, {}", if pair { "pairs" } else { "compute" }), ratios);
        }
        out + &row("all", self.all.iter().map(|(ratio, _)| *ratio).collect())
    }

    fn worst(mut self) -> String {
        self.all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let one = |(ratio, line): &(f64, &Line)| format!("- {ratio:.3} `{}/{}`\n", line.item.source, line.item.name);
        self.all.iter().take(WORST).map(one).collect()
    }
}

fn row(name: &str, mut ratios: Vec<f64>) -> String {
    ratios.sort_by(f64::total_cmp);
    let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let at = |share: f64| ratios.get(((ratios.len() - 1) as f64 * share).round() as usize).copied().unwrap_or(0.0);
    format!("| {name} | {} | {mean:.3} | {:.3} | {:.3} |\n", ratios.len(), at(0.5), at(0.95))
}

/// Instructions executed by a route, if it ran.
fn by(line: &Line, route: &str) -> Option<f64> {
    line.report.executed.get(route).filter(|count| **count > 0).map(|count| *count as f64)
}

/// The tables. `earlier` has the lines of another run: of the other generator, or of the code before a change.
pub fn text(lines: &[Line], earlier: &[Line]) -> String {
    let mut out = String::new();
    let mut table = |what: &str, ratios: Ratios<'_>| {
        if !ratios.all.is_empty() {
            let head = "| corpus | items | geomean | median | 95 % |\n| --- | ---: | ---: | ---: | ---: |\n";
            let _ = write!(out, "\nExecuted instructions, {what}:\n\n{head}{}\nMost:\n\n", ratios.rows());
            out += &ratios.worst();
        }
    };
    table("linked / whole", Ratios::of(lines, |line| Some(by(line, LINKED)? / by(line, WHOLE)?)));
    table("paired / whole", Ratios::of(lines, |line| Some(by(line, PAIRED)? / by(line, WHOLE)?)));
    let before: BTreeMap<_, &Line> = earlier.iter().map(|line| (line.item.key(), line)).collect();
    for route in [LINKED, PAIRED, WHOLE] {
        let ratio = |line: &Line| Some(by(line, route)? / by(before.get(&line.item.key())?, route)?);
        table(&format!("{route}: this run / the run of --against"), Ratios::of(lines, ratio));
    }
    out
}
