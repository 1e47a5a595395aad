//! Draws an allocated function as SVG: its blocks in layout order with their edges, and beside them, row by row, which
//! registers hold a value that is read later.
//!
//! Edges on the left are linear (the wave's), on the right logical (the lanes'). Marks in a block are memory accesses
//! and exports. The title of a block, which viewers show as a tooltip, is its code.

mod live;

use super::mir::{BlockId, Extra, MachineFunction, MachineInst, PhysReg};
use dovetail_isa::Traits;
use std::fmt::Write as _;
use std::ops::Range;

/// Height of the image in pixels, to which rows are shrunk; and the largest height of a row.
const HEIGHT: f64 = 24_000.0;
const ROW: f64 = 7.0;
/// Left and right side of the blocks; the arcs of edges are outside them.
const BLOCKS: (f64, f64) = (120.0, 260.0);
/// Left side of the registers, and the width of one.
const REGISTERS: f64 = 400.0;
const COLUMN: f64 = 6.0;
/// Height of the header, and space at the end of a block.
const HEAD: f64 = 84.0;
const GAP: f64 = 0.35;
/// Baseline of the columns' titles.
const COLUMNS: f64 = HEAD - 8.0;

const STYLE: &str = "\
text { font: 11px ui-monospace, monospace; fill: #24292f } .block { fill: #eaeef2; stroke: #8c959f }
.linear { fill: none; stroke: #bf8700 } .logical { fill: none; stroke: #1a7f37 } .memory { stroke: #cf222e }
.scalar { fill: none; stroke: #bf8700 } .vector { fill: none; stroke: #2f81c1 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .block { fill: #21262d } .vector { stroke: #58a6ff }
.linear, .scalar { stroke: #e3b341 } .logical { stroke: #3fb950 } .memory { stroke: #ff7b72 } }";

/// The legend: a sample's class, its place, and what it stands for.
const LEGEND: [(&str, f64, f64, &str); 6] = [
    ("block", 8.0, 32.0, "block, a row for each instruction; hover to read it"),
    ("memory", 400.0, 32.0, "memory access or export"),
    ("linear", 8.0, 46.0, "edge that the wave takes"),
    ("logical", 200.0, 46.0, "edge that lanes take"),
    ("scalar", 8.0, 60.0, "value in a scalar register"),
    ("vector", 200.0, 60.0, "value in a vector register, until it is last read"),
];
/// Length of a sample.
const SAMPLE: f64 = 16.0;

/// Draws a function whose operands are registers.
pub fn svg(f: &MachineFunction) -> String {
    let (starts, rows) = live::rows(f);
    let picture = Picture { f, starts, row: (HEIGHT / rows.max(1) as f64).min(ROW) };
    let mut body = String::new();
    for id in f.block_ids() {
        picture.block(id, &mut body);
    }
    let width = picture.registers(&mut body);
    let height = HEAD + rows as f64 * picture.row + 8.0;
    let title =
        format!("{}, wave{}, {} instructions in {} blocks", f.stage, f.wave.lanes(), f.insts.len(), f.blocks.len());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\">\n<style>{STYLE}</style>\n\
         <text x=\"8\" y=\"16\">{title}</text>\n{}\
         <text x=\"{}\" y=\"{COLUMNS}\" text-anchor=\"end\">wave</text><text x=\"{}\" y=\"{COLUMNS}\">lanes</text>\n{body}</svg>\n",
        legend(),
        BLOCKS.0 - 8.0,
        BLOCKS.1 + 8.0,
    )
}

fn legend() -> String {
    let one = |(class, x, y, text): (&str, f64, f64, &str)| {
        let middle = y - 4.0;
        let sample = match class {
            "block" => format!("<rect class=\"block\" x=\"{x}\" y=\"{}\" width=\"{SAMPLE}\" height=\"8\"/>", y - 8.0),
            "scalar" | "vector" => format!("<path class=\"{class}\" stroke-width=\"8\" d=\"M{x} {middle}h{SAMPLE}\"/>"),
            _ => format!("<path class=\"{class}\" d=\"M{x} {middle}h{SAMPLE}\"/>"),
        };
        format!("{sample}<text x=\"{}\" y=\"{y}\">{text}</text>\n", x + SAMPLE + 6.0)
    };
    LEGEND.into_iter().map(one).collect()
}

struct Picture<'a> {
    f: &'a MachineFunction,
    starts: Vec<usize>,
    row: f64,
}

impl Picture<'_> {
    fn y(&self, row: usize) -> f64 {
        HEAD + row as f64 * self.row
    }

    /// First row, and the row after the last.
    fn rows(&self, id: BlockId) -> Range<usize> {
        let start = self.starts[id.index()];
        start..start + self.f.block(id).insts.len() + 1
    }

    fn block(&self, id: BlockId, out: &mut String) {
        let (f, rows) = (self.f, self.rows(id));
        let (block, top) = (f.block(id), self.y(rows.start));
        let height = (rows.len() as f64 - GAP) * self.row;
        let (left, right) = BLOCKS;
        let _ = writeln!(
            out,
            "<g><title>{}</title><rect class=\"block\" x=\"{left}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            escaped(&f.block_text(id).to_string()),
            right - left,
        );
        for (row, _) in (rows.start..).zip(f.insts_of(block)).filter(|(_, inst)| is_memory(f, inst)) {
            let y = self.y(row) + self.row / 2.0;
            let _ = writeln!(out, "<path class=\"memory\" d=\"M{:.1} {y:.1}h24\"/>", right - 28.0);
        }
        let loops = if block.depth == 0 { String::new() } else { format!(", in {} loops", block.depth) };
        let text = top + height / 2.0 + 4.0;
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{text:.1}\">b{}{loops}</text></g>", left + 6.0, id.0);
        for to in block.term.targets() {
            self.edge("linear", (left, -1.0), id, to, out);
        }
        for edge in &block.edges {
            self.edge("logical", (right, 1.0), id, edge.to, out);
        }
    }

    /// An arc from the end of a block to the start of another, wider for longer edges; an edge to the next block is a
    /// short line.
    fn edge(&self, class: &str, (x, side): (f64, f64), from: BlockId, to: BlockId, out: &mut String) {
        let (start, end) = (self.y(self.rows(from).end) - self.row / 2.0, self.y(self.rows(to).start) + 1.0);
        let bow = x + side * (10.0 + ((end - start).abs() * 0.2).min(90.0));
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"M{x:.1} {start:.1}C{bow:.1} {start:.1} {bow:.1} {end:.1} {x:.1} {end:.1}\">\
             <title>b{} to b{}</title></path>",
            from.0, to.0
        );
    }

    /// A column for each register up to the last used one of each file. Returns the width of the image.
    fn registers(&self, out: &mut String) -> f64 {
        let live = live::intervals(self.f);
        let mut x = REGISTERS;
        for (class, letter, codes) in
            [("scalar", 's', 0..usize::from(PhysReg::VCC.0)), ("vector", 'v', live::FIRST_VGPR..live::CODES)]
        {
            let count =
                codes.clone().rev().find(|&code| !live[code].is_empty()).map_or(0, |last| last + 1 - codes.start);
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{COLUMNS}\">{letter}0 to {letter}{}</text>",
                count.saturating_sub(1)
            );
            for (number, code) in codes.take(count).enumerate() {
                let middle = x + (number as f64 + 0.5) * COLUMN;
                let mut path = String::new();
                for range in &live[code] {
                    let _ = write!(path, "M{middle:.1} {:.1}V{:.1}", self.y(range.start), self.y(range.end) - 0.5);
                }
                let _ = writeln!(
                    out,
                    "<path class=\"{class}\" stroke-width=\"{:.1}\" d=\"{path}\"><title>{letter}{number}</title></path>",
                    COLUMN - 1.5
                );
            }
            x += (count as f64 * COLUMN).max(90.0) + 24.0;
        }
        x
    }
}

fn is_memory(f: &MachineFunction, inst: &MachineInst) -> bool {
    matches!(inst.extra, Extra::Export { .. }) || inst.is(f.isa, Traits::LOADS.or(Traits::STORES).or(Traits::ATOMIC))
}

/// Escapes text for use between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
