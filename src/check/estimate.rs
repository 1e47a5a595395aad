//! A rough model of execution time: one wave alone, executing the code in order.
//!
//! An instruction waits until its operands are available, then takes its issue cycles. A result of arithmetic is
//! available after the latency of its class, a result of memory after a wait for it. Code counts eightfold for each
//! loop around it. Branches are not taken. The model ignores occupancy and other waves, so it can compare two
//! compilations of one shader, but not different shaders.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::Fields;
use dovetail_isa::{
    CountedAccess, Counter, Instruction, Isa, Latency, RegisterSet, Traits, VectorPath, WaitCounts, WaitLayout,
    disassemble, is_padding, loop_weight,
};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// An instruction with its position.
pub struct Placed {
    /// Position in dwords.
    pub at: usize,
    /// The instruction.
    pub inst: Instruction,
}

/// The words of an ELF's `.text`.
///
/// # Errors
/// Malformed: not an ELF with code.
pub fn text(elf: &[u8]) -> Result<Vec<u32>> {
    let file = ElfFile64::<LittleEndian>::parse(elf).map_err(|e| Error::malformed(format!("no ELF: {e}")))?;
    let text = file.section_by_name(".text").ok_or_else(|| Error::malformed("no .text"))?;
    let text = text.data().map_err(|e| Error::malformed(format!(".text: {e}")))?;
    Ok(text.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// The instructions of code, without padding.
///
/// # Errors
/// Malformed: words that are not an instruction.
pub fn instructions(words: &[u32], isa: &'static Isa) -> Result<Vec<Placed>> {
    let mut code = Vec::new();
    let mut at = 0;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let inst = disassemble(isa, rest)?;
        let dwords = usize::from(inst.dwords());
        if !is_padding(inst.entry.op) {
            code.push(Placed { at, inst });
        }
        at += dwords;
    }
    Ok(code)
}

/// Number of vector registers: the highest used + 1.
pub fn vgprs(code: &[Placed], wave: WaveSize) -> u32 {
    let named = code.iter().map(|placed| placed.inst.effects(wave)).map(|effects| effects.reads.union(&effects.writes));
    let last = named.filter_map(|named| named.iter().filter_map(|register| register.as_vgpr()).max()).max();
    last.map_or(0, |last| u32::from(last) + 1)
}

/// Cycles of one wave, weighted by loops.
pub fn cycles(isa: &Isa, code: &[Placed], wave: WaveSize) -> u64 {
    let depths = depths(code);
    let mut it = State { now: 0, ready: vec![0; 512], queues: Default::default(), layout: isa.waits };
    let mut sum = 0;
    for (placed, depth) in code.iter().zip(depths) {
        let before = it.now;
        it.step(isa, &placed.inst, wave);
        sum += (it.now - before) * loop_weight(depth);
    }
    sum
}

/// The loops of code as index ranges: from a branch target to the last branch back to it.
pub fn loops(code: &[Placed]) -> Vec<Range<usize>> {
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    for (n, placed) in code.iter().enumerate().filter(|(_, placed)| placed.inst.entry.is(Traits::BRANCH)) {
        let first =
            target(placed).map_or(code.len(), |target| code.partition_point(|other| (other.at as i64) < target));
        if first <= n {
            let end = ends.entry(first).or_default();
            *end = (*end).max(n + 1);
        }
    }
    ends.into_iter().map(|(start, end)| start..end).collect()
}

/// The number of loops around each instruction.
fn depths(code: &[Placed]) -> Vec<u32> {
    let mut change = vec![0i32; code.len() + 1];
    for around in loops(code) {
        change[around.start] += 1;
        change[around.end] -= 1;
    }
    let sums = change.iter().scan(0i32, |depth, change| {
        *depth += change;
        Some(depth.cast_unsigned())
    });
    sums.take(code.len()).collect()
}

/// Target of a branch, in dwords.
fn target(placed: &Placed) -> Option<i64> {
    let Fields::Scalar(fields) = &placed.inst.fields else { return None };
    Some(placed.at as i64 + 1 + i64::from(fields.imm.cast_signed()))
}

struct State {
    now: u64,
    /// By register code: the cycle at which the value is available.
    ready: Vec<u64>,
    /// Cycles at which outstanding operations complete, oldest first.
    queues: [VecDeque<u64>; Counter::ALL.len()],
    layout: &'static WaitLayout,
}

impl State {
    fn step(&mut self, isa: &Isa, inst: &Instruction, wave: WaveSize) {
        let effects = inst.effects(wave);
        let latency = inst.entry.latency;
        if let Some(wait) = isa.waited(inst) {
            self.wait(wait);
        }
        let sources = effects.reads.iter().map(|reg| self.ready[usize::from(reg.index())]).max();
        self.now = self.now.max(sources.unwrap_or(0)) + u64::from(latency.issue(wave));
        let done = self.now + u64::from(latency.result());
        match effects.access {
            CountedAccess::None | CountedAccess::Export(_) | CountedAccess::VectorStore | CountedAccess::FlatStore => {
                self.finish(&effects.writes, self.now + u64::from(result(latency)));
            }
            CountedAccess::LdsDirect => self.finish(&effects.writes, done),
            CountedAccess::VectorLoad(VectorPath::Sampler) => self.memory(Counter::Sample, true, done),
            CountedAccess::VectorLoad(VectorPath::Ray) => self.memory(Counter::Ray, true, done),
            CountedAccess::VectorLoad(_) => self.memory(Counter::Vector, true, done),
            CountedAccess::FlatLoad => self.memory(Counter::Vector, false, done),
            CountedAccess::Lds | CountedAccess::Gds => self.memory(Counter::Lds, true, done),
            CountedAccess::Message => self.memory(Counter::Scalar, true, done),
            CountedAccess::ScalarMemory => self.memory(Counter::Scalar, false, done),
        }
    }

    fn memory(&mut self, counter: Counter, in_order: bool, done: u64) {
        let queue = &mut self.queues[self.layout.of(counter) as usize];
        let last = queue.back().copied().filter(|_| in_order).unwrap_or(0);
        queue.push_back(done.max(last));
    }

    fn finish(&mut self, writes: &RegisterSet, at: u64) {
        writes.iter().for_each(|reg| self.ready[usize::from(reg.index())] = at);
    }

    fn wait(&mut self, wait: WaitCounts) {
        for (queue, counter) in self.queues.iter_mut().zip(Counter::ALL) {
            while queue.len() > usize::from(wait.get(counter)) {
                self.now = self.now.max(queue.pop_front().unwrap_or(0));
            }
        }
    }
}

/// Cycles until the result is available; 1 for loads, whose results need a wait.
fn result(latency: Latency) -> u32 {
    match latency {
        Latency::VectorMemory | Latency::Sample | Latency::Lds | Latency::Smem => 1,
        other => other.result(),
    }
}
