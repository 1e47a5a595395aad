//! The machine: memory, programs, and waves that run in turn.
//!
//! The waves of a workgroup run one after the other, each until it ends or reaches a barrier. Shared memory changes in
//! that order, so equal input gives equal bytes. An error names the instruction and its address.

use super::control;
use super::lds::{self, Lds};
use super::memory::Memory;
use super::program::{Class, Program, Run, Step};
use super::trace::Trace;
use super::wave::{Wave, WaveState};
use super::{buffer, export, global, image, interp, salu, smem, valu};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Gpu;
use dovetail_isa::Isa;
use dovetail_isa::instruction::Fields;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Instructions of all waves in total.
    pub instructions: u64,
    /// The most vertices, and primitives, of a group of a primitive shader; `None`: as many as the registers say.
    pub group: Option<usize>,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { instructions: 1 << 32, group: None }
    }
}

/// Execution statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    /// Instructions by class.
    pub instructions: BTreeMap<Class, u64>,
    /// Active lanes, summed over vector instructions.
    pub lane_operations: u64,
    /// Waves.
    pub waves: u64,
}

impl RunStats {
    /// Count of all instructions.
    pub fn total(&self) -> u64 {
        self.instructions.values().sum()
    }
}

/// The feature that the error names when a run reaches the limit.
pub const INSTRUCTION_LIMIT: &str = "instruction limit";

/// An emulated GPU.
pub struct Machine {
    gpu: Gpu,
    isa: &'static Isa,
    memory: Memory,
    programs: Vec<Program>,
}

impl Machine {
    /// A machine with empty memory.
    pub fn new(gpu: Gpu) -> Self {
        Self { gpu, isa: Isa::of(gpu), memory: Memory::default(), programs: Vec::new() }
    }

    /// Its instruction set.
    pub fn isa(&self) -> &'static Isa {
        self.isa
    }

    /// The GPU.
    pub fn gpu(&self) -> Gpu {
        self.gpu
    }

    /// Allocates `bytes` zeroed bytes; returns their address, a multiple of 256.
    pub fn alloc(&mut self, bytes: usize) -> Result<u64> {
        self.memory.alloc(bytes)
    }

    /// Adds a border colour; returns its number.
    ///
    /// # Errors
    /// As [`Memory::add_border`].
    pub fn add_border(&mut self, color: [u32; 4]) -> Result<u32> {
        self.memory.add_border(color)
    }

    /// Reads memory.
    pub fn read(&self, address: u64, bytes: usize) -> Result<&[u8]> {
        self.memory.read(address, bytes)
    }

    /// Writes memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.memory.write(address, bytes)
    }

    /// Takes the memory away from a range that holds zeros; see [`Memory::set_absent`].
    pub fn set_absent(&mut self, address: u64, bytes: usize) {
        self.memory.set_absent(address, bytes);
    }

    /// Allocates memory that holds these bytes.
    pub fn alloc_with(&mut self, bytes: &[u8]) -> Result<u64> {
        let address = self.alloc(bytes.len())?;
        self.write(address, bytes)?;
        Ok(address)
    }

    /// Allocates memory that holds this code, for waves to run.
    pub fn load_code(&mut self, code: &[u8]) -> Result<u64> {
        let address = self.alloc_with(code)?;
        self.mark_code(address, code);
        Ok(address)
    }

    /// Marks the bytes at an address as code that waves may run.
    pub(super) fn mark_code(&mut self, address: u64, code: &[u8]) {
        self.programs.push(Program::new(self.isa, address, code));
    }

    /// Runs the waves of one workgroup until all have ended.
    pub fn run_group(
        &mut self,
        waves: &mut [Wave],
        lds_bytes: usize,
        limits: RunLimits,
        stats: &mut RunStats,
    ) -> Result<()> {
        self.run_group_traced(waves, lds_bytes, limits, stats, None)
    }

    /// [`Self::run_group`] with an invocation traced.
    pub fn run_group_traced(
        &mut self,
        waves: &mut [Wave],
        lds_bytes: usize,
        limits: RunLimits,
        stats: &mut RunStats,
        mut trace: Option<&mut Trace>,
    ) -> Result<()> {
        let mut lds = Lds::new(lds_bytes);
        let mut counts = [0u64; Class::ALL.len()];
        let mut left = limits.instructions.saturating_sub(stats.total());
        stats.waves += waves.len() as u64;
        let mut result = Ok(());
        let several = waves.len() > 1;
        lds.watch.set(several);
        self.memory.watch.set(several);
        while result.is_ok() && waves.iter().any(|wave| wave.state != WaveState::Ended) {
            for (number, wave) in waves.iter_mut().enumerate() {
                lds.watch.turn(number);
                self.memory.watch.turn(number);
                while result.is_ok() && wave.state == WaveState::Running {
                    if left == 0 {
                        result = Err(Error::unsupported(INSTRUCTION_LIMIT, limits.instructions.to_string()));
                        break;
                    }
                    left -= 1;
                    result = self.step((wave, number), &mut lds, &mut counts, stats, trace.as_deref_mut());
                }
            }
            if several {
                self.meet(waves, &mut lds);
            }
            // A wave that has ended counts as arrived at the barrier.
            waves
                .iter_mut()
                .filter(|wave| wave.state == WaveState::Barrier)
                .for_each(|wave| wave.state = WaveState::Running);
        }
        self.memory.watch.set(false);
        for (class, count) in Class::ALL.iter().zip(counts).filter(|(_, count)| *count != 0) {
            *stats.instructions.entry(*class).or_default() += count;
        }
        result
    }

    /// Records the stores that the waves at a barrier have not waited for.
    fn meet(&mut self, waves: &[Wave], lds: &mut Lds) {
        self.memory.watch.settle();
        lds.watch.settle();
        for (number, wave) in waves.iter().enumerate().filter(|(_, wave)| wave.state == WaveState::Barrier) {
            for (counter, outstanding) in wave.waits.outstanding() {
                let counter = self.isa.waits.name(counter);
                let [memory, shared] = &outstanding.stored;
                self.memory.watch.bring(number, counter, outstanding, memory);
                lds.watch.bring(number, counter, outstanding, shared);
            }
        }
    }

    fn step(
        &mut self,
        (wave, number): (&mut Wave, usize),
        lds: &mut Lds,
        counts: &mut [u64; Class::ALL.len()],
        stats: &mut RunStats,
        mut trace: Option<&mut Trace>,
    ) -> Result<()> {
        let address = wave.pc;
        let step = self.fetch(address).map_err(|e| e.at(format!("address {address:#x}")))?;
        if let Some(trace) = trace.as_deref_mut() {
            trace.before(wave, number);
        }
        counts[step.class as usize] += 1;
        if step.class > Class::Smem {
            stats.lane_operations += u64::from(wave.exec().count_ones());
        }
        wave.pc = address.wrapping_add(4 * u64::from(step.dwords));
        wave.begin();
        if let Some(issue) = &step.issue {
            wave.waits.begin(issue);
        }
        if let Some(stale) = &mut wave.stale {
            stale.begin(&step.inst);
        }
        let done = self.execute(&step, wave, lds).and_then(|()| wave.check_registers());
        if let Some(stale) = &mut wave.stale {
            stale.end();
        }
        if let Some(issue) = &step.issue {
            let stored = [self.memory.watch.take(), lds.watch.take()];
            wave.waits.issue(issue, step.inst.entry.mnemonic, address, stored);
        }
        done.map_err(|e| e.at(format!("{} at {address:#x}", step.inst.entry.mnemonic)))?;
        trace.map_or(Ok(()), |trace| trace.after(wave, address, &step))
    }

    fn fetch(&mut self, address: u64) -> Result<Arc<Step>> {
        let program = self.programs.iter_mut().rev().find(|program| program.contains(address));
        program.ok_or_else(|| Error::malformed("no code is here"))?.step(address)
    }

    fn execute(&mut self, step: &Step, wave: &mut Wave, lds: &mut Lds) -> Result<()> {
        let inst = &step.inst;
        let memory = &mut self.memory;
        match (&step.run, &inst.fields) {
            (Run::Control(op), Fields::Scalar(fields)) => control::execute(*op, fields, wave),
            (Run::Salu(op), Fields::Scalar(fields)) => salu::execute(*op, inst.entry, fields, wave),
            (Run::Valu(op), Fields::Vector(fields)) => valu::execute(*op, inst, fields, wave),
            (Run::Dual(halves), Fields::Dual(_)) => valu::execute_both(halves, wave),
            (Run::Buffer(op), Fields::Buffer(fields)) => buffer::execute(*op, inst, fields, wave, memory),
            (Run::Global(op), Fields::Flat(fields)) => global::execute(*op, inst, fields, wave, memory, lds),
            (Run::Ds(op), Fields::Ds(fields)) => lds::execute(*op, inst, fields, wave, lds),
            (Run::Image(op), Fields::Image(fields)) => image::execute(*op, inst, fields, wave, memory),
            (Run::Only, Fields::Smem(fields)) => smem::execute(inst, fields, wave, memory),
            (Run::Only, Fields::Interp(fields)) => interp::execute(inst, fields, wave),
            (Run::Only, Fields::LdsDirect(fields)) => interp::load(fields, wave),
            (Run::Only, Fields::Export(fields)) => export::execute(fields, wave),
            _ => Err(Error::unsupported(inst.entry.mnemonic, "the emulator does not execute this instruction")),
        }
    }
}
