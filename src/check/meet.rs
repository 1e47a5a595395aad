//! Lanes that diverge at a branch must reconverge where its paths join. If nested sets of lanes join, EXEC must be
//! restored before any instruction depends on it.

use super::code::StageCode;
use super::flow::{Block, Graph, Step};
use super::masks::{Exec, Lanes};
use super::names::{Kind, Name, Names};
use super::report::{CodeRule, Reporter};
use dovetail_base::target::WaveSize;
use dovetail_isa::{Op, Register, RegisterSet};
use std::collections::BTreeMap;

/// Reports uses of EXEC before its lanes have reconverged.
pub(super) fn check(graph: &Graph, stage: &StageCode, reporter: &mut Reporter<'_>) {
    let mut paths = Paths::new(graph, stage.wave);
    // The masks at a loop's header are assumed first, then compared with those on its back edges; an assumption is
    // corrected at most twice.
    let mut mixed = paths.round();
    while paths.correct() {
        mixed = paths.round();
    }
    for at in mixed {
        reporter.add(CodeRule::Lanes, at, "other lanes are on by one way here than by another");
    }
}

/// Lanes on the back edges of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Back {
    /// All lanes that entered the loop.
    All,
    /// A subset of them.
    Fewer,
    Unknown,
}

/// Blocks in an order in which each follows its predecessors, except along back edges.
struct Paths<'g> {
    blocks: Vec<Ordered<'g>>,
    wave: WaveSize,
    names: Names,
    /// Lane facts at the end of each block reached so far.
    after: Vec<Option<Lanes>>,
}

struct Ordered<'g> {
    steps: &'g [Step],
    /// Predecessors before this block.
    forward: Vec<usize>,
    /// Predecessors after this block, which is then the header of a loop.
    backward: Vec<usize>,
    back: Back,
    /// Registers that the loop writes.
    writes: RegisterSet,
}

impl<'g> Paths<'g> {
    fn new(graph: &'g Graph, wave: WaveSize) -> Self {
        let order = graph.order();
        let places: BTreeMap<usize, usize> = order.iter().enumerate().map(|(place, index)| (*index, place)).collect();
        let block = |index: &usize| {
            let steps = graph.blocks.get(*index).map_or(&[][..], |block| graph.steps_of(block));
            let (forward, backward) = (Vec::new(), Vec::new());
            Ordered { steps, forward, backward, back: Back::All, writes: RegisterSet::EMPTY }
        };
        let mut blocks: Vec<Ordered<'_>> = order.iter().map(block).collect();
        for (from, index) in order.iter().enumerate() {
            for next in graph.blocks.get(*index).into_iter().flat_map(|block| &block.next) {
                let Some((to, block)) = places.get(next).and_then(|to| Some((*to, blocks.get_mut(*to)?))) else {
                    continue;
                };
                if from < to { block.forward.push(from) } else { block.backward.push(from) }
            }
        }
        let writes = written_in_loops(&blocks);
        for (block, writes) in blocks.iter_mut().zip(writes) {
            block.back = if writes.contains(Register::EXEC) { Back::Fewer } else { Back::All };
            block.writes = writes;
        }
        let names = Names::new(graph.blocks.iter().filter_map(|block| ending(graph, block)).collect());
        Self { after: vec![None; blocks.len()], blocks, wave, names }
    }

    /// Visits all blocks; returns the instructions that use EXEC before its lanes have reconverged.
    fn round(&mut self) -> Vec<u32> {
        let mut found = Vec::new();
        for place in 0..self.blocks.len() {
            let (Some(mut lanes), Some(block)) = (self.start(place), self.blocks.get(place)) else { continue };
            for step in block.steps {
                if lanes.step(step, &mut self.names) {
                    found.push(step.at);
                }
            }
            if let Some(after) = self.after.get_mut(place) {
                *after = Some(lanes);
            }
        }
        found
    }

    /// Compares the assumption for each loop with its back edges; returns true if any was wrong.
    fn correct(&mut self) -> bool {
        let mut wrong = false;
        for place in 0..self.blocks.len() {
            if self.blocks.get(place).is_none_or(|block| block.backward.is_empty()) {
                continue;
            }
            let Some(exec) = self.start(place).map(|lanes| lanes.exec) else { continue };
            let Some(block) = self.blocks.get_mut(place) else { continue };
            let comes: Vec<&Exec> =
                block.backward.iter().filter_map(|b| Some(&self.after.get(*b)?.as_ref()?.exec)).collect();
            let all = comes.iter().all(|other| **other == exec);
            let part = |name: &Name| exec.first().is_some_and(|first| self.names.is_part(*name, *first));
            let fewer = comes.iter().all(|other| !other.is_empty() && other.iter().all(part));
            let back = match block.back {
                Back::Fewer if all => Back::All,
                Back::Fewer if fewer => Back::Fewer,
                Back::All if all => Back::All,
                _ => Back::Unknown,
            };
            wrong |= back != block.back;
            block.back = back;
        }
        wrong
    }

    /// Lane facts at the start of a block.
    fn start(&mut self, place: usize) -> Option<Lanes> {
        let block = self.blocks.get(place)?;
        let entry = (place == 0).then(|| Lanes::entry(self.wave));
        let ahead = block.forward.iter().filter_map(|way| self.after.get(*way)?.clone());
        let mut all = entry.into_iter().chain(ahead);
        let mut lanes = all.next()?;
        all.for_each(|other| lanes.meet(&other));
        lanes.without_gone(&self.names);
        if !block.backward.is_empty() {
            lanes.forget(&block.writes);
            match (block.back, lanes.name(), block.steps.first()) {
                (Back::All, ..) => {}
                (Back::Fewer, Some(name), Some(step)) => {
                    lanes.exec = [self.names.part(step.at, name, Kind::Loop)].into();
                }
                _ => lanes.exec.clear(),
            }
        }
        Some(lanes)
    }
}

/// The instruction of a block that deactivates lanes whose invocations have ended: if no others are left, the wave ends
/// at once. Lanes that have something left to do are restored where such a branch leads.
fn ending(graph: &Graph, block: &Block) -> Option<u32> {
    let steps = graph.steps_of(block);
    let branch = steps.last().filter(|step| step.op() == Op::SCbranchExecz)?;
    let target = graph.blocks.get(graph.target(branch)?)?;
    let ends = graph.steps_of(target).iter().all(|step| matches!(step.op(), Op::SNop | Op::SEndpgm));
    let writes = steps.iter().rfind(|step| step.effects.writes.contains(Register::EXEC))?;
    ends.then_some(writes.at)
}

/// By block: the registers that its loop writes, if it is the header of one.
fn written_in_loops(blocks: &[Ordered<'_>]) -> Vec<RegisterSet> {
    let written = |block: &Ordered<'_>| {
        block.steps.iter().fold(RegisterSet::EMPTY, |writes, step| writes.union(&step.effects.writes))
    };
    let mut found = Loops {
        writes: blocks.iter().map(written).collect(),
        ways_in: blocks.iter().map(|block| block.forward.clone()).collect(),
        header: (0..blocks.len()).collect(),
    };
    // Inner loops come first; to outer ones, each is one block.
    for (header, block) in blocks.iter().enumerate().rev().filter(|(_, block)| !block.backward.is_empty()) {
        found.add(header, block.backward.clone());
    }
    let is_loop = blocks.iter().map(|block| !block.backward.is_empty());
    is_loop.zip(found.writes).map(|(is_loop, writes)| if is_loop { writes } else { RegisterSet::EMPTY }).collect()
}

/// Loops found so far. Each list is by block; that of a loop's header is of the whole loop.
struct Loops {
    writes: Vec<RegisterSet>,
    /// Predecessors outside.
    ways_in: Vec<Vec<usize>>,
    /// The header of a loop around the block that was the outermost at some time; the block itself if there was none.
    header: Vec<usize>,
}

impl Loops {
    /// Joins the blocks from which a header is reached without passing a block before it.
    fn add(&mut self, header: usize, mut work: Vec<usize>) {
        let mut outside = std::mem::take(&mut self.ways_in[header]);
        while let Some(place) = work.pop() {
            let place = self.outermost(place);
            if place == header {
                continue;
            }
            self.header[place] = header;
            self.writes[header] = self.writes[header].union(&self.writes[place]);
            for from in std::mem::take(&mut self.ways_in[place]) {
                if from >= header { work.push(from) } else { outside.push(from) }
            }
        }
        self.ways_in[header] = outside;
    }

    /// The header of the outermost loop around a block.
    fn outermost(&mut self, place: usize) -> usize {
        let mut top = place;
        while self.header[top] != top {
            top = self.header[top];
        }
        let mut at = place;
        while at != top {
            at = std::mem::replace(&mut self.header[at], top);
        }
        top
    }
}
