//! Counts the results of items by source and kind, and checks the required shares.

use crate::Line;
use dovetail::corpus::spec::matches;
use dovetail::proof::Fate;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Share of the compiled items that must run to the end.
const RAN: f64 = 0.95;
/// Share of the compared items that must agree.
const AGREED: f64 = 0.98;
/// Share of the items that may prove nothing. It says nothing of a few items ([`MANY`]).
const NOTHING: f64 = 0.08;
const MANY: usize = 50;
const BEGIN: &str = "<!-- proof: begin -->";
const END: &str = "<!-- proof: end -->";

/// Known disagreements by name, with reasons.
#[derive(Deserialize)]
struct KnownFile {
    #[serde(default)]
    difference: Vec<KnownDifference>,
}

#[derive(Deserialize)]
struct KnownDifference {
    name: String,
    reason: String,
}

/// Results of all items.
pub struct Summary<'a> {
    lines: &'a [Line],
    /// Disagreements, with their reason if it is known.
    differences: Vec<(&'a Line, Option<String>)>,
    /// Reasons for items that no longer differ.
    stale: Vec<String>,
}

/// The counts of a row.
#[derive(Clone, Copy, Default)]
struct Counts {
    all: usize,
    compiled: usize,
    ran: usize,
    agreed: usize,
    by_interpreter: usize,
    constant: usize,
    differ: usize,
    nothing: usize,
    failed: usize,
    linked: usize,
    same: usize,
    same_bytes: usize,
}

impl Counts {
    fn add(&mut self, Line { report, .. }: &Line) {
        let compiled = report.fate != Fate::NotCompiled;
        self.all += 1;
        self.compiled += usize::from(compiled);
        self.ran += usize::from(report.ran);
        self.agreed += usize::from(report.fate == Fate::Agreed);
        self.by_interpreter += usize::from(report.fate == Fate::AgreedWithInterpreter);
        self.constant += usize::from(report.fate == Fate::Constant);
        self.differ += usize::from(report.fate == Fate::Differs);
        self.nothing += usize::from(matches!(report.fate, Fate::ProvesNothing | Fate::Cut));
        self.failed += usize::from(matches!(report.fate, Fate::JudgeFailed | Fate::NotRun));
        self.linked += usize::from(report.same_as_whole.is_some());
        self.same += usize::from(report.same_as_whole == Some(true));
        self.same_bytes += usize::from(report.same_bytes == Some(true));
    }

    fn row(&self, name: &str) -> String {
        let Self { all, compiled, ran, agreed, by_interpreter, constant, .. } = self;
        let Self { differ, nothing, failed, linked, same, same_bytes, .. } = self;
        format!(
            "| {name} | {all} | {compiled} | {ran} | {agreed} | {by_interpreter} | {constant} | {differ} | {nothing} | {failed} | \
             {same} of {linked} ({same_bytes}) |\n"
        )
    }
}

impl<'a> Summary<'a> {
    /// Counts the results. `known` is the file of known disagreements.
    pub fn new(lines: &'a [Line], known: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(known).map_err(|e| format!("{}: {e}", known.display()))?;
        let known: KnownFile = toml::from_str(&text).map_err(|e| format!("{}: {e}", known.display()))?;
        let fits = |k: &KnownDifference, line: &Line| matches(k.name.as_bytes(), line.item.name.as_bytes());
        let differ = || lines.iter().filter(|l| l.report.fate == Fate::Differs);
        let reason = |line| known.difference.iter().find(|k| fits(k, line)).map(|k| k.reason.clone());
        let ran = |k: &&KnownDifference| lines.iter().any(|l| fits(k, l)) && !differ().any(|l| fits(k, l));
        Ok(Self {
            lines,
            differences: differ().map(|l| (l, reason(l))).collect(),
            stale: known.difference.iter().filter(ran).map(|k| k.name.clone()).collect(),
        })
    }

    /// Whether the shares are reached and every disagreement has a reason.
    pub fn is_met(&self) -> bool {
        let sum = self.sum();
        let share = |part: usize, of: usize, least: f64| part as f64 >= of as f64 * least;
        let compared = sum.agreed + sum.differ;
        share(sum.ran, sum.compiled, RAN)
            && share(sum.agreed, compared, AGREED)
            && (sum.all < MANY || sum.nothing as f64 <= sum.all as f64 * NOTHING)
            && sum.same == sum.linked
            && self.differences.iter().all(|(_, reason)| reason.is_some())
    }

    fn sum(&self) -> Counts {
        self.lines.iter().fold(Counts::default(), |mut sum, line| {
            sum.add(line);
            sum
        })
    }

    /// The tables.
    pub fn text(&self) -> String {
        let mut rows: BTreeMap<(bool, &str), Counts> = BTreeMap::new();
        for line in self.lines {
            rows.entry((line.item.is_pair(), &line.item.source)).or_default().add(line);
        }
        let mut out = String::from(
            "| corpus | all | compiled | ran to the end | agreed with lavapipe | with the interpreter | constant | differ | \
             prove nothing | failed | linked = whole (same bytes) |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        );
        for ((pair, source), counts) in &rows {
            out += &counts.row(&format!("{source}, {}", if *pair { "pairs" } else { "compute" }));
        }
        let sum = self.sum();
        out += &sum.row("all");
        let percent = |part: usize, of: usize| part as f64 * 100.0 / of.max(1) as f64;
        let _ = write!(
            out,
            "\n{:.1} % of what compiles ran to the end (at least {:.0} % must); of what was compared with lavapipe {:.1} % \
             agreed (at least {:.0} % must); {:.1} % of all prove nothing (of {MANY} or more, at most {:.0} % may).\n",
            percent(sum.ran, sum.compiled),
            RAN * 100.0,
            percent(sum.agreed, sum.agreed + sum.differ),
            AGREED * 100.0,
            percent(sum.nothing, sum.all),
            NOTHING * 100.0
        );
        out += &self.samples();
        for fate in [Fate::Differs, Fate::NotRun, Fate::JudgeFailed, Fate::Cut] {
            self.list(&mut out, fate);
        }
        for fate in [Fate::NotCompiled, Fate::AgreedWithInterpreter, Fate::Constant, Fate::ProvesNothing] {
            self.count_reasons(&mut out, fate);
        }
        if !self.stale.is_empty() {
            let _ = write!(out, "\nNo longer differ, and have a reason still: {}.\n", self.stale.join(", "));
        }
        out
    }

    /// Results of pairs with several samples per pixel.
    fn samples(&self) -> String {
        let mut counts: BTreeMap<&str, BTreeMap<Fate, Vec<&str>>> = BTreeMap::new();
        for line in self.lines {
            for (shaded, (fate, _)) in &line.report.samples {
                counts.entry(shaded).or_default().entry(*fate).or_default().push(&line.item.name);
            }
        }
        let row = |(shaded, fates): (&str, BTreeMap<Fate, Vec<&str>>)| {
            let named =
                |names: &[&str]| names.iter().take(3).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let each = fates.iter().map(|(fate, names)| match fate {
                Fate::Agreed | Fate::AgreedWithInterpreter => format!("{} {fate}", names.len()),
                _ => format!("{} {fate} ({}, …)", names.len(), named(names)),
            });
            format!("\nWith several samples, shaded by {shaded}: {}.\n", each.collect::<Vec<_>>().join(", "))
        };
        counts.into_iter().map(row).collect()
    }

    /// Lists every item with a result by name.
    fn list(&self, out: &mut String, fate: Fate) {
        let lines: Vec<&Line> = self.lines.iter().filter(|l| l.report.fate == fate).collect();
        if lines.is_empty() {
            return;
        }
        let _ = write!(out, "\n{} {fate}:\n\n", lines.len());
        for line in lines {
            let known = self.differences.iter().find(|(l, _)| std::ptr::eq(*l, line)).and_then(|(_, k)| k.as_ref());
            let reason: String = known.unwrap_or(&line.report.reason).chars().take(300).collect();
            let _ = writeln!(out, "- `{}/{}`: {reason}", line.item.source, line.item.name);
        }
    }

    /// Counts the items with a result by reason, ignoring numbers in the reason.
    fn count_reasons(&self, out: &mut String, fate: Fate) {
        let mut reasons: BTreeMap<String, Vec<&Line>> = BTreeMap::new();
        for line in self.lines.iter().filter(|l| l.report.fate == fate) {
            // The last candidate is the most general one, and its reason is the most informative.
            let last = line.report.reason.rsplit("; ").next().unwrap_or_default();
            reasons.entry(without_numbers(last).chars().take(100).collect()).or_default().push(line);
        }
        if reasons.is_empty() {
            return;
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.len()));
        let _ = write!(out, "\n{} {fate}:\n\n", reasons.iter().map(|(_, l)| l.len()).sum::<usize>());
        for (reason, lines) in reasons {
            let some: Vec<_> = lines.iter().take(3).map(|l| format!("`{}`", l.item.name)).collect();
            let more = if lines.len() > some.len() { ", …" } else { "" };
            let _ = writeln!(out, "- {}: {} ({}{more})", lines.len(), reason.trim(), some.join(", "));
        }
    }

    /// Rewrites the text between the markers of a page.
    pub fn write(&self, page: &Path) -> Result<(), String> {
        let text = std::fs::read_to_string(page).map_err(|e| format!("{}: {e}", page.display()))?;
        let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
        let (before, after) = parts.ok_or_else(|| format!("{}: no markers", page.display()))?;
        let text = format!("{before}{BEGIN}\n\n{}\n{END}{after}", self.text());
        dovetail::files::write(page, text.as_bytes()).map_err(|e| e.to_string())
    }
}

/// Replaces each number by N.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().map(|c| if c.is_ascii_digit() { 'N' } else { c }) {
        if c != 'N' || !out.ends_with('N') {
            out.push(c);
        }
    }
    out
}
