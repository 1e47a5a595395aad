//! Plots the mini driver's frame times: `minidriver-plot TITLE FILE.csv …` prints an SVG with a panel for each file.
//!
//! One bar per frame on a logarithmic scale; bars of frames that miss their vertical blank have another colour. The
//! colours follow the reader's light or dark theme.

use std::fmt::Write as _;
use std::process::ExitCode;

/// Time of a frame at 60 frames a second, in milliseconds.
const LIMIT: f64 = 1000.0 / 60.0;
/// Range of the y axis, in milliseconds.
const SCALE: (f64, f64) = (2.0, 500.0);
const WIDTH: f64 = 860.0;
/// Horizontal range of the bars.
const BARS: (f64, f64) = (58.0, 850.0);
/// Height of a panel, with the title's line and the upper and lower end of the axis.
const PANEL: f64 = 152.0;
const TITLE: f64 = 16.0;
const AXIS: (f64, f64) = (28.0, 132.0);

const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #24292f } .small { font-size: 11px } .title { font-weight: 600 }
.axis { stroke: #8c959f; stroke-width: 1 } .limit { stroke: #bf8700; stroke-width: 1; stroke-dasharray: 5 4 }
.frame { fill: #2f81c1 } .late { fill: #cf222e }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .axis { stroke: #6e7681 } .limit { stroke: #e3b341 }
.frame { fill: #58a6ff } .late { fill: #ff7b72 } }";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (pairs, rest) = arguments.as_chunks::<2>();
    let runs: Result<Vec<Run>, String> = pairs.iter().map(|[title, path]| Run::read(title, path)).collect();
    match runs {
        Ok(runs) if !runs.is_empty() && rest.is_empty() => {
            print!("{}", svg(&runs));
            ExitCode::SUCCESS
        }
        Ok(_) => fail("minidriver-plot TITLE FILE.csv [TITLE FILE.csv …]"),
        Err(why) => fail(&why),
    }
}

fn fail(why: &str) -> ExitCode {
    eprintln!("minidriver-plot: {why}");
    ExitCode::from(2)
}

/// Frame times of one run, in milliseconds.
struct Run {
    title: String,
    frames: Vec<f64>,
}

impl Run {
    fn read(title: &str, path: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
        let frame = |line: &str| line.split(',').nth(1)?.parse::<f64>().ok().map(|microseconds| microseconds / 1000.0);
        let frames: Option<Vec<f64>> = text.lines().skip(1).map(frame).collect();
        let frames = frames.filter(|frames| !frames.is_empty()).ok_or_else(|| format!("{path}: no frame times"))?;
        Ok(Self { title: title.to_owned(), frames })
    }

    /// Number of frames over the limit, and the longest frame.
    fn late(&self) -> (usize, f64) {
        let late = self.frames.iter().filter(|time| **time > LIMIT).count();
        (late, self.frames.iter().copied().fold(0.0, f64::max))
    }

    fn median(&self) -> f64 {
        let mut sorted = self.frames.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
}

/// The vertical position of a time in a panel.
fn height(milliseconds: f64) -> f64 {
    let (least, most) = SCALE;
    let part = (milliseconds.clamp(least, most) / least).ln() / (most / least).ln();
    AXIS.1 - part * (AXIS.1 - AXIS.0)
}

fn svg(runs: &[Run]) -> String {
    let tall = PANEL * runs.len() as f64 + 22.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {tall}\" width=\"{WIDTH}\" height=\"{tall}\" \
         role=\"img\">\n<title>Frame times</title>\n<style>\n{STYLE}\n</style>\n"
    );
    for (n, run) in runs.iter().enumerate() {
        let _ = writeln!(out, "<g transform=\"translate(0 {})\">", PANEL * n as f64);
        panel(&mut out, run);
        out.push_str("</g>\n");
    }
    let middle = (BARS.0 + BARS.1) / 2.0;
    let _ = writeln!(out, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">frame</text>\n</svg>", tall - 6.0);
    out
}

fn panel(out: &mut String, run: &Run) {
    let (late, longest) = run.late();
    let (left, right) = BARS;
    let _ = writeln!(
        out,
        "<text class=\"title\" x=\"{left}\" y=\"{TITLE}\">{}</text><text x=\"{right}\" y=\"{TITLE}\" \
         text-anchor=\"end\">{late} of {} frames over 16.7 ms; median {:.1}, longest {longest:.1} ms</text>",
        escaped(&run.title),
        run.frames.len(),
        run.median()
    );
    let wide = (right - left) / run.frames.len() as f64;
    for (is_late, class) in [(false, "frame"), (true, "late")] {
        let _ = write!(out, "<path class=\"{class}\" d=\"");
        for (n, time) in run.frames.iter().enumerate().filter(|(_, time)| (**time > LIMIT) == is_late) {
            // A late frame stays visible however many bars there are.
            let width = if is_late { wide.max(1.6) } else { wide };
            let (x, y) = (left + wide * n as f64, height(*time));
            let _ = write!(out, "M{x:.1} {:.1}V{y:.1}h{width:.2}V{:.1}z", AXIS.1, AXIS.1);
        }
        out.push_str("\"/>\n");
    }
    let _ = writeln!(
        out,
        "<text class=\"small\" transform=\"translate(11 {:.1}) rotate(-90)\" text-anchor=\"middle\">logarithmic</text>",
        (AXIS.0 + AXIS.1) / 2.0
    );
    for milliseconds in [10.0, 100.0] {
        let y = height(milliseconds);
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{left} {y:.1}h-5\"/><text class=\"small\" x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{milliseconds} ms</text>",
            left - 8.0,
            y + 4.0
        );
    }
    let limit = height(LIMIT);
    let _ = writeln!(
        out,
        "<path class=\"limit\" d=\"M{left} {limit:.1}H{right}\"/><text class=\"small\" x=\"{right}\" y=\"{:.1}\" \
         text-anchor=\"end\">16.7 ms</text>",
        limit - 4.0
    );
    let _ = writeln!(out, "<path class=\"axis\" fill=\"none\" d=\"M{left} {}V{}H{right}\"/>", AXIS.0, AXIS.1);
    for frame in (0..=run.frames.len()).step_by(100) {
        let x = left + wide * frame as f64;
        let _ = writeln!(
            out,
            "<text class=\"small\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{frame}</text>",
            AXIS.1 + 14.0
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
