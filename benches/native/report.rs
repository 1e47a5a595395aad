//! Tables in Markdown: for each stage and measure the ratio to another compiler, and the names of the worst shaders.

use crate::code::Code;
use crate::measure::{Measured, Side};
use std::collections::BTreeMap;

/// Number of worst shaders listed per measure.
const WORST: usize = 20;

/// A measure: its name, and its value for a shader by a compiler.
type Measure = (&'static str, fn(&Side) -> Option<f64>);

/// Selects another compiler's figures.
type Other = fn(&Measured) -> &Side;

fn of(side: &Side, value: impl Fn(&Code) -> f64) -> Option<f64> {
    side.code.as_ref().map(value)
}

const MEASURES: [Measure; 12] = [
    ("CPU time", |side| side.nanoseconds.map(|ns| ns as f64 / 1e6)),
    ("instructions", |side| of(side, |code| code.instructions as f64)),
    ("SALU", |side| of(side, |code| code.salu as f64)),
    ("VALU", |side| of(side, |code| code.valu as f64)),
    ("vector operations", |side| of(side, |code| (code.vector + code.dual) as f64)),
    ("memory", |side| of(side, |code| code.memory as f64)),
    ("waits", |side| of(side, |code| code.waits as f64)),
    ("moves", |side| of(side, |code| code.moves as f64)),
    ("bytes", |side| of(side, |code| code.bytes as f64)),
    ("VGPRs", |side| of(side, |code| f64::from(code.vgprs.max(1)))),
    ("estimated cycles", |side| of(side, |code| code.cycles as f64)),
    ("instructions, early part", |side| side.early.as_ref().map(|code| code.instructions as f64)),
];
/// Measures whose worst shaders are listed.
const NAMED: [&str; 5] = ["CPU time", "instructions", "bytes", "VGPRs", "estimated cycles"];

/// A measure's values with the native generator and with another compiler.
struct Pair<'a> {
    of: &'a Measured,
    ours: f64,
    theirs: f64,
}

impl Pair<'_> {
    /// Counts can be 0, so the ratio is of both values plus one.
    fn ratio(&self) -> f64 {
        if self.ours == 0.0 || self.theirs == 0.0 {
            (self.ours + 1.0) / (self.theirs + 1.0)
        } else {
            self.ours / self.theirs
        }
    }
}

/// Prints everything.
pub fn print(all: &[Measured], radv: Option<&str>) {
    missing(all);
    let others: [(&str, Other); 2] = [("LLVM", |m| &m.llvm), ("RADV", |m| &m.radv)];
    for (name, side) in others {
        let name = if name == "RADV" { radv.unwrap_or(name) } else { name };
        // A different number of loops means different unrolling, which makes counts incomparable.
        let alike = |m: &&Measured| match (&m.native.code, &side(m).code) {
            (Some(a), Some(b)) => a.loops == b.loops,
            _ => true,
        };
        if all.iter().any(|m| side(m).code.is_some()) {
            let same: Vec<&Measured> = all.iter().filter(alike).collect();
            compare(&same, &format!("{name}, as many loops"), side, true);
            let other: Vec<&Measured> = all.iter().filter(|m| !alike(m)).collect();
            compare(&other, &format!("{name}, other numbers of loops"), side, false);
            by_set(all, name, side);
        }
    }
    absolute(all);
}

fn missing(all: &[Measured]) {
    for (name, side) in [("native", (|m| &m.native) as Other), ("LLVM", |m| &m.llvm), ("RADV", |m| &m.radv)] {
        let mut why: BTreeMap<&str, usize> = BTreeMap::new();
        all.iter().filter_map(|m| side(m).error.as_deref()).for_each(|e| *why.entry(e).or_default() += 1);
        why.iter().for_each(|(e, n)| println!("{name} lacks {n}: {e}"));
    }
}

fn pairs<'a>(all: &[&'a Measured], measure: &Measure, side: Other) -> Vec<Pair<'a>> {
    let pair = |m: &&'a Measured| Some(Pair { of: m, ours: measure.1(&m.native)?, theirs: measure.1(side(m))? });
    let mut pairs: Vec<Pair<'_>> = all.iter().filter_map(pair).collect();
    pairs.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    pairs
}

fn geomean(pairs: &[Pair<'_>]) -> f64 {
    (pairs.iter().map(|pair| pair.ratio().ln()).sum::<f64>() / pairs.len().max(1) as f64).exp()
}

fn row(what: &str, pairs: &[Pair<'_>]) {
    let Some(worst) = pairs.last() else { return };
    let [ours, theirs] =
        [|pair: &Pair<'_>| pair.ours, |pair: &Pair<'_>| pair.theirs].map(|f| pairs.iter().map(f).sum::<f64>());
    let p95 = pairs[(pairs.len() - 1) * 95 / 100].ratio();
    println!(
        "| {what} | {} | {:.3} | {:.3} | {ours:.1} / {theirs:.1} | {p95:.2} | {:.2} |",
        pairs.len(),
        geomean(pairs),
        ours / theirs.max(1e-9),
        worst.ratio()
    );
}

fn compare(all: &[&Measured], name: &str, side: Other, worst: bool) {
    if all.is_empty() {
        return;
    }
    println!("\n## Native / {name}\n");
    for stage in ["compute", "vertex", "fragment"] {
        let stage: Vec<&Measured> = all.iter().filter(|m| m.stage == stage).copied().collect();
        let Some(first) = stage.first() else { continue };
        println!(
            "| {} | shaders | geomean | of sums | sums | p95 | worst |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            first.stage
        );
        MEASURES.iter().for_each(|measure| row(measure.0, &pairs(&stage, measure, side)));
        let waves = stage.iter().filter_map(|m| Some((m.native.code?.waves, side(m).code?.waves)));
        let (mut fewer, mut of) = (0, 0);
        waves.for_each(|(ours, theirs)| (fewer, of) = (fewer + usize::from(ours < theirs), of + 1));
        println!("\nfewer waves: {fewer} of {of}");
        dual(&stage, side);
    }
    if worst {
        for measure in MEASURES.iter().filter(|measure| NAMED.contains(&measure.0)) {
            println!("worst in {}, native / {name}:", measure.0);
            for pair in pairs(all, measure, side).iter().rev().take(WORST) {
                let Pair { of, ours, theirs } = pair;
                let why = if measure.0 == "CPU time" { slowest(of) } else { surplus(of, side(of)) };
                println!("  {:.2}  {ours} / {theirs}  {}/{}: {why}", pair.ratio(), of.set, of.name);
            }
        }
    }
}

/// The vector instructions that have two operations, of all vector instructions.
fn dual(stage: &[&Measured], side: Other) {
    let both: Vec<[Code; 2]> = stage.iter().filter_map(|m| Some([m.native.code?, side(m).code?])).collect();
    let sum = |n: usize, value: fn(&Code) -> usize| both.iter().map(|codes| value(&codes[n])).sum::<usize>();
    let shares = [0, 1].map(|n| {
        let (dual, vector) = (sum(n, |code| code.dual), sum(n, |code| code.vector));
        format!("{dual} of {vector} ({:.1} %)", 100.0 * dual as f64 / vector.max(1) as f64)
    });
    if sum(0, |code| code.dual) + sum(1, |code| code.dual) > 0 {
        println!("vector instructions with two operations: {}; the other has {}", shares[0], shares[1]);
    }
    println!();
}

/// The phases that take most of a compile.
fn slowest(of: &Measured) -> String {
    let all = of.phases.iter().map(|(_, took)| took).sum::<u64>().max(1);
    let mut phases = of.phases.clone();
    phases.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    let share = |(phase, took): &(&str, u64)| format!("{phase} {} %", took * 100 / all);
    phases.iter().take(3).map(share).collect::<Vec<_>>().join(", ")
}

/// The kinds of instructions that the native code has more of, and its waves if they are fewer.
fn surplus(of: &Measured, other: &Side) -> String {
    let (Some(ours), Some(theirs)) = (&of.native.code, &other.code) else { return String::new() };
    let kinds = [
        ("SALU", ours.salu, theirs.salu),
        ("VALU", ours.valu, theirs.valu),
        ("memory", ours.memory, theirs.memory),
        ("waits", ours.waits, theirs.waits),
        ("moves", ours.moves, theirs.moves),
        ("branches", ours.branches, theirs.branches),
    ];
    let more = kinds.map(|(name, ours, theirs)| (name, ours as i64 - theirs as i64));
    let mut more: Vec<_> = more.into_iter().filter(|(_, more)| *more > 0).collect();
    more.sort_by_key(|(_, more)| -more);
    let mut out: Vec<String> = more.iter().take(3).map(|(name, more)| format!("{more} {name} more")).collect();
    if ours.waves < theirs.waves {
        out.push(format!("{} waves instead of {}", ours.waves, theirs.waves));
    }
    if out.is_empty() { "no kind of instruction is more".to_owned() } else { out.join(", ") }
}

fn by_set(all: &[Measured], name: &str, side: Other) {
    let mut sets: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
    all.iter().for_each(|m| sets.entry(&m.set).or_default().push(m));
    println!(
        "\n| native / {name}, geomeans by set | shaders | CPU time | instructions | bytes | VGPRs | estimated cycles |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (set, of) in sets {
        let means = MEASURES.iter().filter(|measure| NAMED.contains(&measure.0));
        let means: Vec<String> = means.map(|measure| format!("{:.3}", geomean(&pairs(&of, measure, side)))).collect();
        println!("| {set} | {} | {} |", of.len(), means.join(" | "));
    }
}

/// Prints the figures with absolute limits.
fn absolute(all: &[Measured]) {
    let done: Vec<&Measured> = all.iter().filter(|m| m.native.nanoseconds.is_some()).collect();
    let Some(most) = done.iter().max_by_key(|m| m.allocations) else { return };
    println!("\n| native | shaders | least ms | median ms | p95 ms | µs an instruction | median allocations | most |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for stage in ["compute", "vertex", "fragment"] {
        let of: Vec<&&Measured> = done.iter().filter(|m| m.stage == stage).collect();
        if of.is_empty() {
            continue;
        }
        let sorted = |value: fn(&Measured) -> u64| {
            let mut values: Vec<u64> = of.iter().map(|m| value(m)).collect();
            values.sort_unstable();
            values
        };
        let (times, asked) = (sorted(|m| m.native.nanoseconds.unwrap_or(0)), sorted(|m| m.allocations));
        let made: usize = of.iter().filter_map(|m| m.native.early).map(|code| code.instructions).sum();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100] as f64 / 1e6;
        println!(
            "| {stage} | {} | {:.3} | {:.3} | {:.3} | {:.2} | {} | {} |",
            of.len(),
            at(0),
            at(50),
            at(95),
            times.iter().sum::<u64>() as f64 / 1e3 / made as f64,
            asked[asked.len() / 2],
            asked[asked.len() - 1]
        );
    }
    phases(&done);
    println!("\nmost allocations: {} by {}/{}", most.allocations, most.set, most.name);
}

/// Prints the time of each phase, over all shaders.
fn phases(done: &[&Measured]) {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for (phase, took) in done.iter().flat_map(|m| &m.phases) {
        match sums.iter_mut().find(|(name, _)| name == phase) {
            Some((_, sum)) => *sum += took,
            None => sums.push((phase, *took)),
        }
    }
    let all: u64 = sums.iter().map(|(_, took)| took).sum();
    println!("\n| phase | CPU ms | share |\n| --- | ---: | ---: |");
    for (phase, took) in sums {
        println!("| {phase} | {:.2} | {:.1} % |", took as f64 / 1e6, 100.0 * took as f64 / all as f64);
    }
}
