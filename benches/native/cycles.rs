//! An estimate of one wave's time: instructions issue in order, wait for registers that arithmetic writes, and for memory where an
//! `s_waitcnt` says so. The figures are round, in the manner of published measurements of RDNA; they serve to compare codes with each
//! other, not to predict a GPU.

use dovetail::isa::instruction::Fields;
use dovetail::isa::{Access, Instruction, Latency, Op, Waitcnt};
use dovetail::target::WaveSize;
use std::collections::VecDeque;

/// How often the body of a loop is assumed to run, for each level.
const TRIPS: f64 = 8.0;
/// Registers of a `RegisterSet` by their codes.
const REGISTERS: usize = 1024;

/// Cycles until the next instruction can issue, and until the result is there.
fn costs(inst: &Instruction, wave: WaveSize) -> (f64, f64) {
    let passes = if wave == WaveSize::W64 { 2.0 } else { 1.0 };
    match inst.entry.latency {
        Latency::None | Latency::Message => (1.0, 1.0),
        Latency::Control => (4.0, 4.0),
        Latency::Salu => (1.0, 2.0),
        Latency::Smem => (1.0, 200.0),
        Latency::Valu | Latency::Interp => (passes, passes + 4.0),
        Latency::Wide | Latency::QuarterRate | Latency::Transcendental => (4.0 * passes, 4.0 * passes + 4.0),
        Latency::Double | Latency::DoubleTranscendental => (16.0 * passes, 16.0 * passes + 6.0),
        Latency::Lds => (1.0, 30.0),
        Latency::VectorMemory | Latency::Sample => (passes, 320.0),
        Latency::Export => (passes, 16.0),
    }
}

/// The wave's state.
struct Clock {
    now: f64,
    /// When what arithmetic writes is there.
    ready: Vec<f64>,
    /// When outstanding operations end, oldest first: vector loads; scalar loads and LDS; exports.
    outstanding: [VecDeque<f64>; 3],
}

/// Cycles of the code, with `loops` as words from and to.
pub fn cycles(code: &[(usize, Instruction)], loops: &[(usize, usize)], wave: WaveSize) -> f64 {
    let mut clock = Clock { now: 0.0, ready: vec![0.0; REGISTERS], outstanding: Default::default() };
    let mut sum = 0.0;
    for (at, inst) in code {
        let before = clock.now;
        clock.issue(inst, wave);
        let depth = loops.iter().filter(|(from, to)| (from..=to).contains(&at)).count();
        sum += (clock.now - before) * TRIPS.powi(depth.try_into().unwrap_or(0));
    }
    sum
}

impl Clock {
    fn issue(&mut self, inst: &Instruction, wave: WaveSize) {
        let (issue, latency) = costs(inst, wave);
        let effects = inst.effects(wave);
        let index = |code: u16| usize::from(code) % REGISTERS;
        for register in effects.reads.iter() {
            self.now = self.now.max(self.ready[index(register.code())]);
        }
        if let (Op::SWaitcnt, Fields::Scalar(fields)) = (inst.entry.op, &inst.fields) {
            let wait = Waitcnt::from_imm(fields.imm);
            for (queue, most) in self.outstanding.iter_mut().zip([wait.vm, wait.lgkm, wait.exp]) {
                while queue.len() > usize::from(most) {
                    self.now = self.now.max(queue.pop_front().unwrap_or(0.0));
                }
            }
        }
        let done = self.now + latency;
        self.now += issue;
        let queue = match effects.access {
            Access::None | Access::VectorStore => None,
            Access::VectorLoad(_) | Access::FlatLoad => Some(0),
            Access::ScalarMemory | Access::FlatStore | Access::Lds | Access::Gds | Access::Message => Some(1),
            Access::Export(_) => Some(2),
        };
        match queue {
            Some(queue) => self.outstanding[queue].push_back(done),
            None => {
                for register in effects.writes.iter() {
                    self.ready[index(register.code())] = done;
                }
            }
        }
    }
}
