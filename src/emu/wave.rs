//! The state of one wave, and access to its operands.
//!
//! Unwritten registers hold [`POISON`], so that code which depends on them fails. EXEC, VCC and M0 are in the scalar
//! file under their operand codes.

use super::fixed_function::{Export, Parameters, WaveMessage};
use super::mode::{Mode, Round, to_f16};
use super::stale::StaleScalars;
use super::waits::{TrackedRegister, Waits};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_isa::{Isa, OperandKind, Scalar, Special, Src, Vgpr};
use std::cell::Cell;
use std::sync::Arc;

/// Largest wave size.
pub const LANES: usize = 64;
/// One value per lane.
pub type Lanes = [u64; LANES];
/// Value of unwritten registers: a signalling NaN as f32, and as f16 in the high half.
pub const POISON: u32 = 0x7dad_beef;

/// High halves of the LDS and scratch aperture addresses in a flat access.
pub const SHARED_APERTURE: u32 = 0x0001_0000;
/// See [`SHARED_APERTURE`].
pub const PRIVATE_APERTURE: u32 = 0x0002_0000;

/// Execution state of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaveState {
    /// Can run.
    Running,
    /// Waits for the other waves of its workgroup.
    Barrier,
    /// Ended.
    Ended,
}

/// One wave.
#[derive(Clone, Debug)]
pub struct Wave {
    /// Instruction set.
    pub isa: &'static Isa,
    /// Wave size.
    pub size: WaveSize,
    /// Address of the next instruction.
    pub pc: u64,
    /// SCC.
    pub scc: bool,
    /// Rounding and denormals.
    pub mode: Mode,
    /// Execution state.
    pub state: WaveState,
    /// It has come to a barrier, for which it will wait.
    pub signalled: bool,
    /// FLAT_SCRATCH.
    pub flat_scratch: u64,
    /// Exports so far, in order.
    pub exports: Vec<Export>,
    /// Messages so far, in order.
    pub messages: Vec<WaveMessage>,
    /// Parameters to interpolate.
    pub parameters: Option<Arc<Parameters>>,
    sgprs: Box<[u32; 128]>,
    vgprs: Box<[[u32; LANES]]>,
    /// Operations issued and not waited for.
    pub waits: Waits,
    /// Scalar registers that read as before for a while, on GPUs that have such.
    pub stale: Option<Box<StaleScalars>>,
    /// Where the last branch back went, if it had no active lane.
    pub idle: Option<u64>,
    /// Register error of the current instruction.
    fault: Cell<Option<Fault>>,
}

/// A register access error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The vector register does not exist.
    Beyond(usize),
    /// An outstanding operation still needs the register.
    Early { register: TrackedRegister, written: bool },
}

impl Wave {
    /// A wave with these active lanes that starts at `pc`.
    pub fn new(isa: &'static Isa, size: WaveSize, pc: u64, mode: Mode, exec: u64) -> Self {
        let mut wave = Self {
            isa,
            size,
            pc,
            scc: false,
            mode,
            state: WaveState::Running,
            signalled: false,
            flat_scratch: 0,
            exports: Vec::new(),
            messages: Vec::new(),
            parameters: None,
            sgprs: Box::new([POISON; 128]),
            vgprs: vec![[POISON; LANES]; 256].into_boxed_slice(),
            waits: Waits::new(isa.waits),
            stale: StaleScalars::new(isa),
            idle: None,
            fault: Cell::new(None),
        };
        wave.set_exec(exec);
        wave
    }

    /// Removes the vector registers from `count` up.
    pub fn limit_vgprs(&mut self, count: usize) {
        let mut rows = std::mem::take(&mut self.vgprs).into_vec();
        rows.truncate(count);
        self.vgprs = rows.into_boxed_slice();
    }

    /// Number of lanes.
    pub fn lanes(&self) -> usize {
        self.size.lanes() as usize
    }

    /// Mask of all lanes.
    pub fn all(&self) -> u64 {
        match self.size {
            WaveSize::W32 => u64::from(u32::MAX),
            WaveSize::W64 => u64::MAX,
        }
    }

    /// Active lanes.
    pub fn exec(&self) -> u64 {
        self.mask(Scalar::ExecLo)
    }

    /// Sets the active lanes.
    pub fn set_exec(&mut self, mask: u64) {
        self.set_mask(Scalar::ExecLo, mask);
    }

    /// The numbers of active lanes.
    pub fn active(&self) -> impl Iterator<Item = usize> + use<> {
        ones(self.exec())
    }

    /// A scalar register.
    pub fn scalar(&self, s: Scalar) -> u32 {
        self.sgpr(s, 0)
    }

    /// Register `n` of the group that begins with `s`.
    pub fn sgpr(&self, s: Scalar, n: usize) -> u32 {
        if s == Scalar::Null {
            return 0;
        }
        let code = usize::from(s.index()) + n;
        if self.waits.unreadable().has_scalar(code) {
            self.early(TrackedRegister::Scalar(code), false);
        }
        let value = self.sgprs.get(code).copied().unwrap_or(0);
        self.stale.as_ref().map_or(value, |stale| stale.read(code, value))
    }

    /// Sets register `n` of the group that begins with `s`.
    pub fn set_sgpr(&mut self, s: Scalar, n: usize, value: u32) {
        let code = usize::from(s.index()) + n;
        if self.waits.unwritable().has_scalar(code) {
            self.early(TrackedRegister::Scalar(code), true);
        }
        if s != Scalar::Null
            && let Some(register) = self.sgprs.get_mut(code)
        {
            if let Some(stale) = &mut self.stale {
                stale.write(code, *register);
            }
            *register = value;
        }
    }

    /// Sets a scalar register.
    pub fn set_scalar(&mut self, s: Scalar, value: u32) {
        self.set_sgpr(s, 0, value);
    }

    /// A pair of scalar registers.
    pub fn scalar64(&self, s: Scalar) -> u64 {
        u64::from(self.sgpr(s, 0)) | u64::from(self.sgpr(s, 1)) << 32
    }

    /// Sets a pair of scalar registers.
    pub fn set_scalar64(&mut self, s: Scalar, value: u64) {
        self.set_sgpr(s, 0, value as u32);
        self.set_sgpr(s, 1, (value >> 32) as u32);
    }

    /// A lane mask: the next register is not read in wave32 (K).
    pub fn mask(&self, s: Scalar) -> u64 {
        match self.size {
            WaveSize::W32 => u64::from(self.scalar(s)),
            WaveSize::W64 => self.scalar64(s),
        }
    }

    /// Sets a lane mask.
    pub fn set_mask(&mut self, s: Scalar, mask: u64) {
        match self.size {
            WaveSize::W32 => self.set_scalar(s, mask as u32),
            WaveSize::W64 => self.set_scalar64(s, mask),
        }
    }

    /// Whether VCC as a mask is zero.
    pub fn vccz(&self) -> bool {
        self.mask(Scalar::VccLo) == 0
    }

    /// A vector register of a lane.
    pub fn vgpr(&self, v: Vgpr, n: usize, lane: usize) -> u32 {
        let register = usize::from(v.0) + n;
        if self.waits.unreadable().has_vector(register) {
            self.early(TrackedRegister::Vector(register), false);
        }
        self.vgprs.get(register).and_then(|row| row.get(lane)).copied().unwrap_or_else(|| {
            self.fault.set(Some(Fault::Beyond(register)));
            0
        })
    }

    /// A vector register in all lanes.
    pub fn row(&self, v: Vgpr, n: usize) -> Result<&[u32; LANES]> {
        let register = usize::from(v.0) + n;
        if self.waits.unreadable().has_vector(register) {
            self.early(TrackedRegister::Vector(register), false);
        }
        self.vgprs.get(register).ok_or_else(|| no_register(register))
    }

    /// A vector register in all lanes, mutable.
    pub fn row_mut(&mut self, v: Vgpr, n: usize) -> Result<&mut [u32; LANES]> {
        let register = usize::from(v.0) + n;
        if self.waits.unwritable().has_vector(register) {
            self.early(TrackedRegister::Vector(register), true);
        }
        self.vgprs.get_mut(register).ok_or_else(|| no_register(register))
    }

    /// Sets a vector register of a lane.
    pub fn set_vgpr(&mut self, v: Vgpr, n: usize, lane: usize, value: u32) {
        let number = usize::from(v.0) + n;
        if self.waits.unwritable().has_vector(number) {
            self.early(TrackedRegister::Vector(number), true);
        }
        if let Some(register) = self.vgprs.get_mut(number).and_then(|row| row.get_mut(lane)) {
            *register = value;
        } else {
            self.fault.set(Some(Fault::Beyond(number)));
        }
    }

    /// All scalar registers, without checks.
    pub fn scalars(&self) -> &[u32; 128] {
        &self.sgprs
    }

    /// All vector registers of a lane, without checks.
    pub fn column(&self, lane: usize) -> impl Iterator<Item = u32> {
        self.vgprs.iter().map(move |row| row.get(lane).copied().unwrap_or(0))
    }

    /// Records the first register access that came too early.
    #[cold]
    fn early(&self, register: TrackedRegister, written: bool) {
        if self.fault.get().is_none() {
            self.fault.set(Some(Fault::Early { register, written }));
        }
    }

    /// Clears the record of register errors.
    pub fn begin(&mut self) {
        self.fault.set(None);
    }

    /// Checks whether the instruction accessed a register that is missing or outstanding.
    ///
    /// # Errors
    /// Malformed: it did.
    pub fn check_registers(&self) -> Result<()> {
        match self.fault.take() {
            None => Ok(()),
            Some(Fault::Beyond(register)) => Err(no_register(register)),
            Some(Fault::Early { register, written }) => Err(Error::malformed(self.waits.reason(register, written))),
        }
    }

    /// The value of a uniform operand.
    ///
    /// # Errors
    /// Malformed: a vector register. Unsupported: a value that this emulator lacks.
    pub fn uniform(&self, src: Src, kind: OperandKind) -> Result<u64> {
        Ok(match src {
            Src::Scalar(s) => match kind {
                OperandKind::B64 | OperandKind::F64 => self.scalar64(s),
                OperandKind::Mask => self.mask(s),
                _ => u64::from(self.scalar(s)),
            },
            Src::Vgpr(v) => return Err(Error::malformed(format!("{v} where a scalar is read"))),
            Src::Special(special) => match (special, kind) {
                (Special::Vccz, _) => u64::from(self.vccz()),
                (Special::Execz, _) => u64::from(self.exec() == 0),
                (Special::Scc, _) => u64::from(self.scc),
                (Special::SharedBase, OperandKind::B64) => u64::from(SHARED_APERTURE) << 32,
                (Special::PrivateBase, OperandKind::B64) => u64::from(PRIVATE_APERTURE) << 32,
                // As a 32-bit operand it gives the high half (K).
                (Special::SharedBase, _) => u64::from(SHARED_APERTURE),
                (Special::PrivateBase, _) => u64::from(PRIVATE_APERTURE),
                _ => return Err(Error::unsupported("scalar operand", src.to_string())),
            },
            Src::Int(i) => {
                let value = i64::from(i).cast_unsigned();
                match kind {
                    OperandKind::B64 | OperandKind::F64 | OperandKind::Mask => value,
                    // For f16 the high half holds the sign extension, which packed operations read.
                    _ => value & 0xffff_ffff,
                }
            }
            Src::Float(x) => {
                let single = f32::from_bits(x.bits());
                match kind {
                    // f64 has more digits of 1/(2π).
                    OperandKind::F64 | OperandKind::B64 if x == dovetail_isa::InlineFloat::InverseTwoPi => {
                        0x3fc4_5f30_6dc9_c882
                    }
                    OperandKind::F64 | OperandKind::B64 => f64::from(single).to_bits(),
                    OperandKind::F16 | OperandKind::B16 | OperandKind::PF16 | OperandKind::P16 => {
                        u64::from(to_f16(f64::from(single), Round::Nearest))
                    }
                    _ => u64::from(x.bits()),
                }
            }
            Src::Literal(word) => match kind {
                OperandKind::F64 => u64::from(word) << 32,
                _ => u64::from(word),
            },
        })
    }

    /// The values of an operand per lane, inactive lanes included.
    pub fn gather(&self, src: Src, kind: OperandKind, out: &mut Lanes) -> Result<()> {
        match src {
            Src::Vgpr(v) => {
                let low = self.row(v, 0)?;
                if kind.registers() == 2 {
                    let high = self.row(v, 1)?;
                    for (out, (low, high)) in out.iter_mut().zip(low.iter().zip(high)) {
                        *out = u64::from(*low) | u64::from(*high) << 32;
                    }
                } else {
                    for (out, low) in out.iter_mut().zip(low) {
                        *out = u64::from(*low);
                    }
                }
            }
            Src::Scalar(s) if kind == OperandKind::Mask => {
                let mask = self.mask(s);
                for (lane, out) in out.iter_mut().enumerate() {
                    *out = mask >> lane & 1;
                }
            }
            _ => out.fill(self.uniform(src, kind)?),
        }
        Ok(())
    }

    /// Writes 32 or 64 bits to the lanes of `mask`.
    pub fn scatter(&mut self, v: Vgpr, kind: OperandKind, values: &Lanes, mask: u64) -> Result<()> {
        let all = mask == self.all() && self.size == WaveSize::W64;
        let low = self.row_mut(v, 0)?;
        if all {
            for (to, value) in low.iter_mut().zip(values) {
                *to = *value as u32;
            }
        } else {
            for lane in ones(mask) {
                low[lane] = values[lane] as u32;
            }
        }
        if kind.registers() == 2 {
            let high = self.row_mut(v, 1)?;
            for lane in ones(mask) {
                high[lane] = (values[lane] >> 32) as u32;
            }
        }
        Ok(())
    }
}

fn no_register(number: usize) -> Error {
    Error::malformed(format!("v{number} is beyond the registers that the wave has"))
}

/// The positions of the bits set.
pub fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(lane)
    })
}
