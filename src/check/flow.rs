//! The code that a stage can reach, as basic blocks: decoded from its entry along every branch, across all parts.
//!
//! A branch whose target is unknown is a finding, and ends its path. Padding between parts belongs to the path that
//! runs through it.

use super::code::{Code, StageCode};
use super::report::{CodeRule, Reporter};
use dovetail_isa::instruction::{Fields, Instruction};
use dovetail_isa::{Effects, Format, Isa, Op, Scalar, Src, Traits, disassemble};
use std::collections::{BTreeMap, BTreeSet};

/// A reachable instruction.
pub(super) struct Step {
    /// Its dword offset in `.text`.
    pub at: u32,
    pub inst: Instruction,
    pub effects: Effects,
}

impl Step {
    /// The operation.
    pub(super) fn op(&self) -> Op {
        self.inst.entry.op
    }

    /// Whether the operation has any of these traits.
    pub(super) fn is(&self, traits: Traits) -> bool {
        self.inst.entry.is(traits)
    }

    /// The constant of a scalar instruction that has one.
    pub(super) fn imm(&self) -> u16 {
        match &self.inst.fields {
            Fields::Scalar(f) => f.imm,
            _ => 0,
        }
    }

    fn end(&self) -> u32 {
        self.at.saturating_add(self.inst.dwords().into())
    }
}

/// Index in [`Block::next`] of where a conditional branch that is taken leads.
pub(super) const TAKEN: usize = 1;

/// A basic block.
pub(super) struct Block {
    first: usize,
    last: usize,
    /// Successors. After a conditional branch, if there are two: the one if it is not taken, the one if it is.
    pub next: Vec<usize>,
}

/// Control-flow graph of one stage.
pub(super) struct Graph {
    pub isa: &'static Isa,
    /// Sorted by offset.
    pub steps: Vec<Step>,
    /// Sorted by offset.
    pub blocks: Vec<Block>,
    /// The block of the first instruction.
    pub entry: usize,
}

/// Successors of an instruction.
#[derive(Default)]
struct Exit {
    falls: bool,
    jumps: Option<u32>,
}

/// Most branches in a row that a wave is followed through.
const MOST_IN_A_ROW: usize = 64;

impl Graph {
    /// Follows the code of a stage.
    pub(super) fn new<'a>(code: &Code<'a>, stage: &StageCode, reporter: &mut Reporter<'a>) -> Self {
        let mut walk = Walk { code, stage, reporter, steps: BTreeMap::new(), leaders: BTreeSet::new() };
        walk.run();
        let (steps, leaders) = (walk.steps, walk.leaders);
        Self::blocks(code, steps, &leaders, stage.entry)
    }

    /// The first block to which a wave without active lanes comes from the start of a block, and that does not begin with a
    /// branch that it takes.
    pub(super) fn without_lanes(&self, mut block: usize) -> usize {
        let leads_on = |block: usize| {
            let first = self.steps.get(self.blocks.get(block)?.first)?;
            matches!(first.op(), Op::SBranch | Op::SCbranchExecz).then(|| self.target(first)).flatten()
        };
        // A loop of such branches has no end, and a long chain would be followed from each of its blocks.
        for _ in 0..MOST_IN_A_ROW {
            let Some(next) = leads_on(block) else { break };
            block = next;
        }
        block
    }

    fn blocks(code: &Code<'_>, steps: BTreeMap<u32, Step>, leaders: &BTreeSet<u32>, entry: u32) -> Self {
        let steps: Vec<Step> = steps.into_values().collect();
        let mut blocks: Vec<Block> = Vec::new();
        let mut starts = BTreeMap::new();
        for (index, step) in steps.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|i| steps.get(i));
            let joined = before.is_some_and(|b| b.end() == step.at && exit(code, b).falls_only());
            // The start of a part begins a block, even if execution falls into it.
            let enters = code.parts.iter().any(|p| p.start == step.at);
            if leaders.contains(&step.at) || enters || !joined {
                starts.insert(step.at, blocks.len());
                blocks.push(Block { first: index, last: index, next: Vec::new() });
            } else if let Some(block) = blocks.last_mut() {
                block.last = index;
            }
        }
        for block in &mut blocks {
            let Some(last) = steps.get(block.last) else { continue };
            let exit = exit(code, last);
            let targets = exit.falls.then(|| last.end()).into_iter().chain(exit.jumps);
            block.next = targets.filter_map(|at| starts.get(&at).copied()).collect();
            block.next.dedup();
        }
        Self { isa: code.isa, entry: starts.get(&entry).copied().unwrap_or(0), steps, blocks }
    }

    /// The block that a branch targets.
    pub(super) fn target(&self, step: &Step) -> Option<usize> {
        let at = relative(step)?;
        let start = |block: &Block| self.steps.get(block.first).map(|step| step.at);
        self.blocks.binary_search_by_key(&Some(at), start).ok()
    }

    /// Reachable blocks, each before its successors except along back edges.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::from([self.entry]);
        let mut path = vec![(self.entry, 0)];
        while let Some((index, nth)) = path.last_mut() {
            let next = self.blocks.get(*index).and_then(|block| block.next.get(*nth)).copied();
            *nth += 1;
            match next {
                Some(next) if seen.insert(next) => path.push((next, 0)),
                Some(_) => {}
                None => {
                    order.push(*index);
                    path.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// The instructions of a block.
    pub(super) fn steps_of(&self, block: &Block) -> &[Step] {
        self.steps.get(block.first..=block.last).unwrap_or_default()
    }
}

impl Exit {
    fn falls_only(&self) -> bool {
        self.falls && self.jumps.is_none()
    }
}

/// Target of a relative branch.
fn relative(step: &Step) -> Option<u32> {
    u32::try_from(i64::from(step.end()) + i64::from(step.imm().cast_signed())).ok()
}

/// Successors of an instruction, as far as its encoding determines them.
fn exit(code: &Code<'_>, step: &Step) -> Exit {
    let target = relative(step);
    match step.op() {
        Op::SCodeEnd | Op::SCallB64 => Exit::default(),
        Op::SSetpcB64 => Exit { falls: false, jumps: long_branch(code, step) },
        _ if step.is(Traits::ENDS.or(Traits::JUMPS)) => Exit::default(),
        _ if is_branch(step) => Exit { falls: step.is(Traits::CONDITIONAL), jumps: target },
        _ => Exit { falls: true, jumps: None },
    }
}

/// The target of `s_getpc_b64 d; s_add_u32 d, d, low; s_addc_u32 d+1, d+1, high; s_setpc_b64 d`, LLVM's long branch.
fn long_branch(code: &Code<'_>, step: &Step) -> Option<u32> {
    let Fields::Scalar(last) = &step.inst.fields else { return None };
    let target = last.srcs[0]?;
    let (getpc, low, high) = [4u32, 5].into_iter().find_map(|back| {
        // The high half of the distance is an inline constant or a literal.
        let first = step.at.checked_sub(back)?;
        let read = |at: u32| disassemble(code.isa, code.words.get(at as usize..)?).ok();
        let getpc = read(first)?;
        let add = read(first + 1)?;
        let addc = read(first + 1 + u32::from(add.dwords()))?;
        let whole = u32::from(getpc.dwords() + add.dwords() + addc.dwords()) == back;
        let ops = [getpc, add, addc].map(|inst| inst.entry.op);
        if !whole || ops != [Op::SGetpcB64, Op::SAddU32, Op::SAddcU32] {
            return None;
        }
        let Fields::Scalar(pc) = &getpc.fields else { return None };
        (pc.dst.map(Src::Scalar) == Some(target)).then_some(())?;
        Some((first + 1, constant(&add, pc.dst?)?, constant(&addc, upper(pc.dst?)?)?))
    })?;
    let distance = (i64::from(high) << 32) | i64::from(low);
    u32::try_from(i64::from(getpc) + distance / 4).ok().filter(|_| distance % 4 == 0)
}

fn upper(s: Scalar) -> Option<Scalar> {
    Scalar::at(s.index().checked_add(1)?)
}

/// The constant that an instruction adds to a register.
fn constant(inst: &Instruction, register: Scalar) -> Option<u32> {
    let Fields::Scalar(f) = &inst.fields else { return None };
    match f.srcs {
        [Some(Src::Scalar(s)), Some(Src::Literal(n)), None] if s == register && f.dst == Some(register) => Some(n),
        [Some(Src::Scalar(s)), Some(Src::Int(n)), None] if s == register && f.dst == Some(register) => {
            Some(i32::from(n).cast_unsigned())
        }
        _ => None,
    }
}

struct Walk<'w, 'a> {
    code: &'w Code<'a>,
    stage: &'w StageCode,
    reporter: &'w mut Reporter<'a>,
    steps: BTreeMap<u32, Step>,
    /// Branch targets and fall-through successors.
    leaders: BTreeSet<u32>,
}

impl Walk<'_, '_> {
    fn run(&mut self) {
        let mut work = vec![self.stage.entry];
        self.leaders.insert(self.stage.entry);
        while let Some(start) = work.pop() {
            let mut at = start;
            while !self.steps.contains_key(&at) {
                let Some(step) = self.decode(at) else { break };
                let exit = self.followed(&step);
                let after = step.end();
                self.steps.insert(at, step);
                if let Some(target) = exit.jumps {
                    self.leaders.insert(target);
                    if exit.falls {
                        self.leaders.insert(after);
                    }
                    if !self.steps.contains_key(&target) {
                        work.push(target);
                    }
                }
                if !exit.falls {
                    break;
                }
                at = after;
            }
        }
        self.overlaps();
        // After a branch with an unknown target, no code can be called unreachable.
        if self.reporter.is_clean() {
            self.unreached();
        }
    }

    /// Decodes the instruction at an offset; `None` if there is none.
    fn decode(&mut self, at: u32) -> Option<Step> {
        let rest = self.code.words.get(at as usize..).filter(|rest| !rest.is_empty());
        let (Some(rest), Some(part)) = (rest, self.code.part(at)) else {
            self.reporter.add(CodeRule::End, at, "the path leaves the code");
            return None;
        };
        match disassemble(self.code.isa, rest) {
            Ok(inst) => {
                let padding = at >= part.end;
                let op = inst.entry.op;
                if op == Op::SCodeEnd || padding && op != Op::SNop {
                    self.reporter.add(CodeRule::End, at, "the path runs into what fills the code's end");
                    return None;
                }
                let effects = inst.effects(self.stage.wave);
                Some(Step { at, inst, effects })
            }
            Err(e) => {
                self.reporter.add(CodeRule::Decode, at, e.to_string());
                None
            }
        }
    }

    /// Successors; adds a finding if a target is invalid or unknown.
    fn followed(&mut self, step: &Step) -> Exit {
        let mut exit = exit(self.code, step);
        match step.op() {
            Op::SRfeB64 | Op::SSwappcB64 | Op::SCallB64 | Op::SSetpcB64 if exit.jumps.is_none() => {
                self.reporter.add(CodeRule::Unfollowed, step.at, "leads to an address that is not in the code");
            }
            _ if is_branch(step) => {
                let inside = exit.jumps.filter(|at| {
                    let part = self.code.part(*at);
                    // LLVM's label for "return to the epilog" is the end of the part, where padding may begin.
                    part.is_some_and(|p| (p.start..=p.end).contains(at) && self.is_own(p.symbol))
                });
                if inside.is_none() {
                    self.reporter.add(CodeRule::Branch, step.at, "leads out of the code of its stage");
                }
                exit.jumps = inside;
            }
            _ => {}
        }
        exit
    }

    /// Whether a part can belong to this stage: its symbol is not that of another stage.
    fn is_own(&self, symbol: &str) -> bool {
        let others = self.code.stages.iter().filter(|s| s.stage != self.stage.stage);
        let mut others = others.map(|s| s.hardware);
        !others.any(|s| symbol == s.entry_symbol() || symbol == s.unlinked_symbol())
    }

    /// Reports parts that are reached only partly; padding does not count. A part is reachable as a whole or not at
    /// all.
    fn unreached(&mut self) {
        for part in &self.code.parts {
            let mut at = part.start;
            if self.steps.range(part.start..part.end).next().is_none() {
                continue;
            }
            while at < part.end {
                if let Some(step) = self.steps.get(&at) {
                    at = step.end();
                    continue;
                }
                let rest = self.code.words.get(at as usize..).unwrap_or_default();
                let inst = disassemble(self.code.isa, rest);
                let filling = inst.as_ref().is_ok_and(|i| matches!(i.entry.op, Op::SNop | Op::SCodeEnd));
                if !filling {
                    self.reporter.add(CodeRule::Unreachable, at, "no path leads here");
                    break;
                }
                at += 1;
            }
        }
    }

    /// Reports an instruction that begins inside another.
    fn overlaps(&mut self) {
        let mut before: Option<(u32, u32)> = None;
        for step in self.steps.values() {
            if let Some((at, end)) = before
                && step.at < end
            {
                let branch = self.steps.values().find(|s| exit(self.code, s).jumps == Some(step.at));
                let (at, what) = match branch {
                    Some(branch) => (branch.at, "leads into the middle of an instruction"),
                    None => (at, "another path decodes this otherwise"),
                };
                self.reporter.add(CodeRule::Branch, at, what);
            }
            before = Some((step.at, step.end()));
        }
    }
}

fn is_branch(step: &Step) -> bool {
    step.inst.entry.format == Format::Sopp && step.is(Traits::BRANCH)
}
