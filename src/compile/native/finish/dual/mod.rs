//! Pairs of vector instructions in one (VOPD), where the instruction set has it, in waves of 32 lanes.
//!
//! Both read before either writes. The second half moves up to the first one, if it depends on nothing between, and nothing
//! between on what it overwrites. It does not move up where it would be the first to wait for a load, since that wait would
//! move too.

mod half;
mod loads;
mod needs;
#[cfg(test)]
mod tests;

use crate::code::{Code, Item};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::List;
use dovetail_isa::{Effects, Format, Isa, Op, Traits};
use half::Half;
use loads::Loads;
use needs::{Finder, Needs};

/// Instructions from the first one that is left, among which both halves are.
const WINDOW: usize = 24;

/// Pairs instructions.
pub(super) fn pair(code: &mut Code) {
    if code.wave != WaveSize::W32 || !code.isa.has(Op::VDualMovB32) {
        return;
    }
    let (mut tables, mut finder) = (Tables::default(), Finder::new());
    code.rewrite(|code, n, out| {
        let items = code.items_of(&code.blocks[n]);
        tables.halves.clear();
        tables.halves.extend(items.iter().map(|item| Half::of(code.isa, &item.inst).filter(|_| item.open.is_none())));
        if tables.halves.iter().flatten().nth(1).is_none() {
            out.extend_from_slice(items);
            return;
        }
        tables.effects.clear();
        tables.effects.extend(items.iter().map(|item| item.inst.effects(code.wave)));
        finder.block(&tables.effects, &mut tables.needs);
        tables.done.clear();
        tables.done.resize(items.len(), 0);
        tables.loads.clear();
        Block { isa: code.isa, items, tables: &mut tables, first: 0, left: !0, barrier: 0, now: 0 }.run(out);
    });
}

/// What is known of the instructions of a block. It is used for all blocks in turn, to keep its memory.
#[derive(Default)]
struct Tables {
    halves: List<Option<Half>>,
    effects: List<Effects>,
    needs: List<Needs>,
    /// The cycle in which the result is there, but for loads.
    done: List<u32>,
    /// Loads that nothing has waited for.
    loads: Loads,
}

/// A block, and how far it is done.
struct Block<'a> {
    isa: &'static Isa,
    items: &'a [Item],
    tables: &'a mut Tables,
    /// The first instruction that is left.
    first: usize,
    /// The instructions that are left from `first` on, as bits.
    left: u64,
    /// The instruction that nothing may move over, from `first` on, or the end.
    barrier: usize,
    /// The cycle at hand, of this wave alone.
    now: u32,
}

impl Block<'_> {
    fn run(&mut self, out: &mut List<Item>) {
        while self.first < self.items.len() {
            if self.left & 1 == 0 {
                (self.first, self.left) = (self.first + 1, self.left >> 1 | 1 << 63);
                continue;
            }
            if self.barrier <= self.first {
                let rest = self.first..self.items.len();
                let barrier = rest.into_iter().find(|n| is_barrier(&self.items[*n], &self.tables.effects[*n]));
                self.barrier = barrier.unwrap_or(self.items.len());
                if self.barrier == self.first {
                    self.take(&[0], self.items[self.first], out);
                    continue;
                }
            }
            match self.partner() {
                Some((other, both)) => self.take(&[0, other], both, out),
                None => self.take(&[0], self.items[self.first], out),
            }
        }
    }

    /// Ends the instructions at these distances from the first one, which `item` is or has.
    fn take(&mut self, offsets: &[usize], item: Item, out: &mut List<Item>) {
        out.push(item);
        let start = offsets.iter().map(|offset| self.start(self.first + offset)).max().unwrap_or(self.now);
        self.now = start + 1;
        for offset in offsets {
            let n = self.first + offset;
            let loads = loads::is_load(&self.tables.effects[n]);
            self.tables.done[n] = start + if loads { 0 } else { self.items[n].inst.entry.latency.result() };
            self.left &= !(1 << offset);
            self.tables.loads.pass(&self.tables.effects[n]);
        }
    }

    /// The cycle in which an instruction has its operands, if it waits for no load.
    fn start(&self, n: usize) -> u32 {
        let made_by = |bit: u32| self.tables.done[n + bit as usize - needs::REACH];
        bits(self.tables.needs[n].results).map(made_by).max().unwrap_or(0).max(self.now)
    }

    /// The distance of the second half for the first instruction, and both in one: the nearest that has its operands, or
    /// else the nearest.
    fn partner(&self) -> Option<(usize, Item)> {
        let half = self.tables.halves[self.first].as_ref()?;
        let reads = &self.tables.effects[self.first].reads;
        let (loaded, start) = (self.tables.loads.after(reads), self.start(self.first));
        let mut late = None;
        for offset in (1..WINDOW.min(self.barrier - self.first)).filter(|offset| self.left >> offset & 1 == 1) {
            let m = self.first + offset;
            let Some(other) = &self.tables.halves[m] else { continue };
            let (results, reads) = self.tables.needs[m].from(offset);
            // It may overwrite what the first half reads.
            let open = (results | reads & !1) & self.left;
            if open != 0 || !half.fits(other, self.isa) || self.tables.effects[m].reads.meets(&loaded) {
                continue;
            }
            if self.start(m) <= start {
                late = Some(offset);
                break;
            }
            late = late.or(Some(offset));
        }
        let offset = late?;
        let [n, m] = [self.first, self.first + offset];
        let both = half.with(self.tables.halves[m].as_ref()?, self.isa, [n, m].map(|at| &self.items[at].inst))?;
        Some((offset, Item::new(both)))
    }
}

/// The numbers of the bits of a set.
fn bits(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = set.checked_ilog2().map(|_| set.trailing_zeros())?;
        set &= set - 1;
        Some(bit)
    })
}

/// Whether nothing may move over an instruction.
fn is_barrier(item: &Item, effects: &Effects) -> bool {
    let entry = item.inst.entry;
    effects.indirect || entry.format == Format::Sopp || entry.is(Traits::ACTS.or(Traits::JUMPS))
}
