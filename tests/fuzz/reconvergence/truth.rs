//! What a program leaves, by SPV_KHR_maximal_reconvergence: walks the tree with the set of lanes that are together.
//!
//! A statement runs for a tangle and gives the lanes that go on with the next one. Lanes that break, continue, return or
//! end wait where that construct gathers them. Where the extension leaves the tangles of a switch open, a case is one
//! tangle, also with lanes that fall into it.

use super::program::{Cond, DEPTH, ELEMENTS, Expr, Index, LoopKind, Math, Program, Stmt, Tangled, VARS, WORDS};

/// Statements and iterations after which a program counts as endless.
const FUEL: u32 = 6_000;

/// What a program reads.
#[derive(Clone, Debug)]
pub struct Memory {
    pub input: Vec<u32>,
    /// Data of loops.
    pub data: Vec<u32>,
    /// One list for each element.
    pub buffers: Vec<Vec<u32>>,
    pub texels: Vec<u32>,
}

/// A subgroup.
struct Wave<'a> {
    program: &'a Program,
    memory: &'a Memory,
    /// Index of its first lane.
    first: u32,
    digests: [u32; 64],
    out: &'a mut [u32],
    sums: &'a mut [u32],
    fuel: u32,
}

type Words = [u32; 64];

/// A function's variables, and the lanes that have left something.
struct Frame {
    vars: [Words; VARS],
    counts: [u32; DEPTH],
    data: [Words; DEPTH],
    depth: usize,
    /// Lanes that have left the innermost loop or switch, or continue the innermost loop.
    broken: u64,
    continued: u64,
    returned: u64,
    results: Words,
    main: bool,
}

/// The program does not end.
#[derive(Debug)]
pub struct Endless;

/// Runs a workgroup in subgroups of some size; returns the digests and the sums.
pub fn run(program: &Program, memory: &Memory, count: u32, size: u32) -> Result<(Vec<u32>, Vec<u32>), Endless> {
    let (mut out, mut sums) = (vec![0; count as usize], vec![0; WORDS as usize]);
    let mut fuel = FUEL;
    for first in (0..count).step_by(size as usize) {
        let lanes = size.min(count - first);
        let (out, sums) = (&mut out, &mut sums);
        let mut wave = Wave { program, memory, first, digests: [0; 64], out, sums, fuel };
        let all = u64::MAX >> (64 - lanes);
        let index = std::array::from_fn(|lane| first + lane as u32);
        let mut frame = Frame::new(index, true);
        let ended = wave.list(&mut frame, &program.main, all)?;
        wave.leave(ended);
        fuel = wave.fuel;
    }
    Ok((out, sums))
}

impl Frame {
    fn new(first: Words, main: bool) -> Self {
        let mut vars = [[0; 64]; VARS];
        vars[0] = first;
        Self {
            vars,
            counts: [0; DEPTH],
            data: [[0; 64]; DEPTH],
            depth: 0,
            broken: 0,
            continued: 0,
            returned: 0,
            results: [0; 64],
            main,
        }
    }
}

fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| mask >> lane & 1 != 0)
}

impl Wave<'_> {
    fn burn(&mut self) -> Result<(), Endless> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Endless)?;
        Ok(())
    }

    /// Stores the digests.
    fn leave(&mut self, mask: u64) {
        for lane in lanes(mask) {
            self.out[self.first as usize + lane] = self.digests[lane];
        }
    }

    fn expr(&self, frame: &Frame, e: &Expr, lane: usize) -> u32 {
        match e {
            Expr::Lane => self.first + lane as u32,
            Expr::Const(n) => *n,
            Expr::Var(v) => frame.vars[usize::from(*v) % VARS][lane],
            Expr::Count(d) => {
                if usize::from(*d) < frame.depth {
                    frame.counts[usize::from(*d)]
                } else {
                    0
                }
            }
            Expr::Data(d) => {
                if usize::from(*d) < frame.depth {
                    frame.data[usize::from(*d)][lane]
                } else {
                    0
                }
            }
            Expr::In(e) => self.memory.input[(self.expr(frame, e, lane) % WORDS) as usize],
            Expr::Two(math, a, b) => {
                let (a, b) = (self.expr(frame, a, lane), self.expr(frame, b, lane));
                match math {
                    Math::Add => a.wrapping_add(b),
                    Math::Mul => a.wrapping_mul(b),
                    Math::And => a & b,
                    Math::Xor => a ^ b,
                    Math::Shr => a >> (b & 31),
                }
            }
        }
    }

    /// The lanes of a tangle for which a condition is true.
    fn cond(&self, frame: &Frame, c: &Cond, mask: u64) -> u64 {
        let each = |f: &dyn Fn(usize) -> bool| lanes(mask).filter(|lane| f(*lane)).fold(0, |all, lane| all | 1 << lane);
        let whole = |yes: bool| if yes { mask } else { 0 };
        match c {
            Cond::Less(a, b) => each(&|lane| self.expr(frame, a, lane) < self.expr(frame, b, lane)),
            Cond::Same(a, b) => each(&|lane| self.expr(frame, a, lane) == self.expr(frame, b, lane)),
            Cond::Odd(e) => each(&|lane| self.expr(frame, e, lane) & 1 != 0),
            Cond::Not(c) => mask & !self.cond(frame, c, mask),
            Cond::Both(a, b) => self.cond(frame, a, mask) & self.cond(frame, b, mask),
            Cond::Elect => mask & mask.wrapping_neg(),
            Cond::Any(c) => whole(self.cond(frame, c, mask) != 0),
            Cond::All(c) => whole(self.cond(frame, c, mask) == mask),
        }
    }

    fn tangled(&self, frame: &Frame, op: &Tangled, mask: u64) -> Words {
        let values = |e: &Expr| lanes(mask).map(|lane| self.expr(frame, e, lane)).collect::<Vec<_>>();
        let all = |n: u32| [n; 64];
        let before = |lane: usize| mask & ((1 << lane) - 1);
        match op {
            Tangled::Ballot(c) => {
                let ballot = self.cond(frame, c, mask);
                all(ballot as u32 ^ ((ballot >> 32) as u32).wrapping_mul(0x9e37_79b9))
            }
            Tangled::BallotCount(c) => all(self.cond(frame, c, mask).count_ones()),
            Tangled::BallotRank(c) => {
                let ballot = self.cond(frame, c, mask);
                std::array::from_fn(|lane| (ballot & before(lane)).count_ones())
            }
            Tangled::Vote(c) => {
                let ballot = self.cond(frame, c, mask);
                std::array::from_fn(|lane| (ballot >> lane & 1) as u32)
            }
            Tangled::AllEqual(e) => {
                let values = values(e);
                all(u32::from(values.iter().all(|v| *v == values[0])))
            }
            Tangled::Sum(e) => all(values(e).into_iter().fold(0, u32::wrapping_add)),
            Tangled::Min(e) => all(values(e).into_iter().min().unwrap_or(0)),
            Tangled::Max(e) => all(values(e).into_iter().max().unwrap_or(0)),
            Tangled::Before(e) => std::array::from_fn(|lane| {
                lanes(before(lane)).map(|lane| self.expr(frame, e, lane)).fold(0, u32::wrapping_add)
            }),
            Tangled::First(e) => all(values(e)[0]),
        }
    }

    fn index(&self, frame: &Frame, index: &Index, mask: u64) -> usize {
        let n = match index {
            Index::Count(d) => self.expr(frame, &Expr::Count(*d), 0),
            Index::First(e) => self.expr(frame, e, mask.trailing_zeros() as usize),
        };
        (n % ELEMENTS) as usize
    }

    /// Sets a variable, and adds it to the digest.
    fn note(&mut self, frame: &mut Frame, var: u8, words: &Words, mask: u64) {
        for lane in lanes(mask) {
            frame.vars[usize::from(var)][lane] = words[lane];
            self.digests[lane] = self.digests[lane].wrapping_mul(31).wrapping_add(words[lane]);
        }
    }

    fn list(&mut self, frame: &mut Frame, list: &[Stmt], mut mask: u64) -> Result<u64, Endless> {
        for stmt in list {
            if mask == 0 {
                break;
            }
            self.burn()?;
            mask = self.stmt(frame, stmt, mask)?;
        }
        Ok(mask)
    }

    fn stmt(&mut self, frame: &mut Frame, stmt: &Stmt, mask: u64) -> Result<u64, Endless> {
        match stmt {
            Stmt::Set(v, e) => {
                for lane in lanes(mask) {
                    frame.vars[usize::from(*v)][lane] = self.expr(frame, e, lane);
                }
            }
            Stmt::Tangled(v, op) => {
                let words = self.tangled(frame, op, mask);
                self.note(frame, *v, &words, mask);
            }
            Stmt::Read(v, index, at) => {
                let buffer = &self.memory.buffers[self.index(frame, index, mask)];
                let words = std::array::from_fn(|lane| buffer[(self.expr(frame, at, lane) % ELEMENTS) as usize]);
                self.note(frame, *v, &words, mask);
            }
            Stmt::Fetch(v, index) => {
                let texel = self.memory.texels[self.index(frame, index, mask)];
                self.note(frame, *v, &[texel; 64], mask);
            }
            Stmt::Add(at, addend) => {
                for lane in lanes(mask) {
                    let at = (self.expr(frame, at, lane) % WORDS) as usize;
                    self.sums[at] = self.sums[at].wrapping_add(self.expr(frame, addend, lane));
                }
            }
            Stmt::If { cond, then, els, .. } => {
                let yes = self.cond(frame, cond, mask);
                return Ok(self.list(frame, then, yes)? | self.list(frame, els, mask & !yes)?);
            }
            Stmt::Loop { kind, body, next } => return self.repeat(frame, (kind, body, next), mask),
            Stmt::Switch { on, cases } => {
                let outer = std::mem::take(&mut frame.broken);
                let mut left = mask;
                let chosen = |wave: &Self, frame: &Frame, lane: usize| {
                    let on = wave.expr(frame, on, lane) % 8;
                    let case = cases.iter().position(|c| c.labels.contains(&on));
                    case.or_else(|| cases.iter().position(|c| c.default))
                };
                let cases_of: Vec<_> =
                    (0..64).map(|lane| if mask >> lane & 1 != 0 { chosen(self, frame, lane) } else { None }).collect();
                let (mut fallen, mut behind) = (0, 0);
                for (n, case) in cases.iter().enumerate() {
                    let here =
                        lanes(mask).filter(|lane| cases_of[*lane] == Some(n)).fold(0, |all, lane| all | 1 << lane);
                    left &= !here;
                    let ended = self.list(frame, &case.body, here | fallen)?;
                    fallen = 0;
                    if case.falls && n + 1 < cases.len() { fallen = ended } else { behind |= ended }
                }
                return Ok(behind | left | std::mem::replace(&mut frame.broken, outer));
            }
            Stmt::Break => {
                frame.broken |= mask;
                return Ok(0);
            }
            Stmt::Continue => {
                frame.continued |= mask;
                return Ok(0);
            }
            Stmt::Return(e) => {
                if frame.main {
                    self.leave(mask);
                } else {
                    lanes(mask).for_each(|lane| frame.results[lane] = self.expr(frame, e, lane));
                    frame.returned |= mask;
                }
                return Ok(0);
            }
            Stmt::Kill { .. } | Stmt::Demote => {
                self.leave(mask);
                return Ok(0);
            }
            Stmt::Call(v, f, e) => {
                let arg = std::array::from_fn(|lane| if mask >> lane & 1 != 0 { self.expr(frame, e, lane) } else { 0 });
                let function = &self.program.functions[usize::from(*f)];
                let mut inner = Frame::new(arg, false);
                let ended = self.list(&mut inner, &function.body, mask)?;
                for lane in lanes(ended) {
                    inner.results[lane] = self.expr(&inner, &function.result, lane);
                }
                let back = ended | inner.returned;
                lanes(back).for_each(|lane| frame.vars[usize::from(*v)][lane] = inner.results[lane]);
                return Ok(back);
            }
        }
        Ok(mask)
    }

    fn repeat(
        &mut self,
        frame: &mut Frame,
        (kind, body, next): (&LoopKind, &[Stmt], &[Stmt]),
        mask: u64,
    ) -> Result<u64, Endless> {
        let depth = frame.depth;
        let (broken, continued) = (std::mem::take(&mut frame.broken), std::mem::take(&mut frame.continued));
        let outer = (frame.counts[depth], frame.data[depth]);
        (frame.counts[depth], frame.data[depth]) = (0, [0; 64]);
        frame.depth += 1;
        let goes_on = |wave: &Self, frame: &Frame, limit: &Expr, mask: u64| {
            let below = |lane: &usize| frame.counts[depth] < wave.expr(frame, limit, *lane) % 8;
            lanes(mask).filter(below).fold(0, |all, lane| all | 1u64 << lane)
        };
        let (mut here, mut behind) = (mask, 0);
        while here != 0 {
            self.burn()?;
            match kind {
                LoopKind::Head { limit, .. } => {
                    let on = goes_on(self, frame, limit, here);
                    behind |= here & !on;
                    here = on;
                }
                LoopKind::Data { from } => {
                    for lane in lanes(here) {
                        let at = self.expr(frame, from, lane) % 16 + frame.counts[depth];
                        frame.data[depth][lane] = self.memory.data[(at % WORDS) as usize];
                    }
                }
                LoopKind::Tail { .. } => {}
            }
            here = self.list(frame, body, here)?;
            here |= std::mem::take(&mut frame.continued);
            behind |= std::mem::take(&mut frame.broken);
            here = self.list(frame, next, here)?;
            frame.counts[depth] += 1;
            if let LoopKind::Tail { limit } = kind {
                let on = goes_on(self, frame, limit, here);
                behind |= here & !on;
                here = on;
            }
        }
        frame.depth = depth;
        (frame.broken, frame.continued) = (broken, continued);
        (frame.counts[depth], frame.data[depth]) = outer;
        Ok(behind)
    }
}
