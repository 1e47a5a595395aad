//! Registers that an instruction reads and writes, implied ones included, and the counter that it uses.
//!
//! [`Instruction::effects`] is the only model of this, for every analysis of code. Explicit operands come from the
//! fields and the row's kinds; implied ones (VCC, EXEC, SCC, M0, a destination that is read) are traits of its row.
//! Invariant: every register that the disassembler prints is read or written here; a test checks it for every opcode.

use super::hazards::depctr;
use super::instruction::*;
use super::register_set::{Register, RegisterSet};
use super::table::OperandKind;
use super::{Format, Op, OpcodeRow, Scalar, Special, Src, Traits, Vgpr};
use dovetail_base::target::WaveSize;

/// Registers of an instruction, and how it uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Values that it depends on.
    pub reads: RegisterSet,
    /// Registers that change, at once or when the memory answers. A vector register counts even if EXEC or a partial
    /// write preserves some of it.
    pub writes: RegisterSet,
    /// Counter that it uses.
    pub access: CountedAccess,
    /// Its only effect is to write registers.
    pub pure: bool,
    /// It accesses a register whose number depends on M0 or on an unknown constant.
    pub indirect: bool,
}

/// Outstanding operations of an instruction, by the counter that tracks them (isa-gfx10 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedAccess {
    /// Nothing.
    None,
    /// lgkmcnt, unordered.
    ScalarMemory,
    /// vmcnt: its result arrives later.
    VectorLoad(VectorPath),
    /// vscnt.
    VectorStore,
    /// vmcnt and lgkmcnt: a flat load.
    FlatLoad,
    /// vscnt and lgkmcnt: a flat store.
    FlatStore,
    /// lgkmcnt, in order.
    Lds,
    /// lgkmcnt, and expcnt until its sources are read.
    Gds,
    /// lgkmcnt.
    Message,
    /// expcnt until its sources are read.
    Export(ExportKind),
    /// expcnt, in order: a parameter or other data of LDS to a register.
    LdsDirect,
}

/// Path of a load: results of different paths may arrive out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VectorPath {
    /// Loads and atomics.
    Plain,
    /// Sampled images.
    Sampler,
    /// Images that are sampled at a level, or in quads: gfx11.5 executes some of them as loads (Mesa: `get_vmem_type`), and which
    /// is not known.
    Either,
    /// Ray intersection.
    Ray,
}

/// Kind of export; exports of one kind are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExportKind {
    /// Colours, depth, null, primitives.
    Pixel,
    /// Positions.
    Position,
    /// Parameters.
    Parameter,
}

impl Instruction {
    /// Whether it is vector arithmetic.
    pub const fn is_vector(&self) -> bool {
        matches!(self.fields, Fields::Vector(_) | Fields::Interp(_) | Fields::Dual(_))
    }

    /// Whether it waits for what a field of `s_waitcnt_depctr` names ([`depctr`]). Memory and exports wait for vector results.
    pub fn clears(&self, field: u16) -> bool {
        match &self.fields {
            Fields::Scalar(f) => self.entry.op == Op::SWaitcntDepctr && f.imm & field == 0,
            Fields::Buffer(_) | Fields::Image(_) | Fields::Flat(_) | Fields::Ds(_) | Fields::Export(_) => {
                field == depctr::VECTOR_RESULTS
            }
            _ => false,
        }
    }

    /// The scalar registers that vector arithmetic reads as masks of the lanes of a wave of this size.
    pub fn masks(&self, wave: WaveSize) -> RegisterSet {
        let mut out = RegisterSet::EMPTY;
        if self.entry.is(Traits::VCC_IN) {
            out.mask(Register::VCC, wave);
        }
        if let Fields::Vector(f) = &self.fields {
            for (kind, src) in self.entry.src.iter().zip(f.srcs) {
                if let (OperandKind::Mask, Some(Src::Scalar(first))) = (kind, src) {
                    out.scalars(first, kind.registers_in(wave));
                }
            }
        }
        out
    }
}

impl Instruction {
    /// Registers that it reads and writes in a wave of this size.
    pub fn effects(&self, wave: WaveSize) -> Effects {
        let none = RegisterSet::EMPTY;
        let effects = Effects { reads: none, writes: none, access: CountedAccess::None, pure: false, indirect: false };
        let mut out = Collector { entry: self.entry, wave, out: effects };
        match &self.fields {
            Fields::Scalar(f) => out.scalar(f),
            Fields::Smem(f) => out.smem(f),
            Fields::Vector(f) => out.vector(f),
            Fields::Dual(f) => out.dual(f),
            Fields::LdsDirect(f) => out.lds_direct(f),
            Fields::Interp(f) => out.interp(f),
            Fields::Ds(f) => out.ds(f),
            Fields::Flat(f) => out.flat(f),
            Fields::Buffer(f) => out.buffer(f),
            Fields::Image(f) => out.image(f),
            Fields::Export(f) => out.export(f),
        }
        out.out
    }
}

struct Collector {
    entry: &'static OpcodeRow,
    wave: WaveSize,
    out: Effects,
}

impl Collector {
    fn is(&self, traits: Traits) -> bool {
        self.entry.is(traits)
    }

    fn registers(&self, kind: OperandKind) -> u8 {
        kind.registers_in(self.wave)
    }

    fn read(&mut self, src: Src, kind: OperandKind) {
        let count = self.registers(kind);
        match src {
            Src::Scalar(s) => self.out.reads.scalars(s, count),
            Src::Vgpr(v) => self.out.reads.vgprs(v, count),
            Src::Special(Special::Scc) => self.out.reads.insert(Register::SCC),
            Src::Special(Special::Vccz) => self.out.reads.mask(Register::VCC, self.wave),
            Src::Special(Special::Execz) => self.out.reads.mask(Register::EXEC, self.wave),
            Src::Special(_) | Src::Int(_) | Src::Float(_) | Src::Literal(_) => {}
        }
    }

    fn read_exec(&mut self) {
        self.out.reads.mask(Register::EXEC, self.wave);
    }

    /// Adds registers that are not operands.
    fn implied(&mut self) {
        if self.is(Traits::SCC_IN) {
            self.out.reads.insert(Register::SCC);
        }
        if self.is(Traits::SCC_OUT) {
            self.out.writes.insert(Register::SCC);
        }
        if self.is(Traits::M0_IN) {
            self.out.reads.insert(Register::M0);
        }
        if self.is(Traits::VCC_IN) {
            self.out.reads.mask(Register::VCC, self.wave);
        }
        if self.is(Traits::EXEC_IN) {
            self.read_exec();
        }
        if self.is(Traits::EXEC_OUT) {
            self.out.writes.mask(Register::EXEC, self.wave);
        }
        self.out.indirect = self.is(Traits::INDIRECT);
    }

    fn scalar(&mut self, f: &ScalarFields) {
        self.implied();
        for (i, src) in f.srcs.iter().enumerate() {
            if let Some(src) = src {
                self.read(*src, self.entry.src_kind(i));
            }
        }
        // A mask operation on EXEC reads as many bits as it writes, whatever the wave size.
        let count = self.registers(self.entry.dst_kind(0));
        if let Some(dst) = f.dst {
            self.out.writes.scalars(dst, count);
            if self.is(Traits::TIED) {
                self.out.reads.scalars(dst, count);
            }
        }
        if self.is(Traits::EXEC_COMBINED) {
            self.out.reads.scalars(Scalar::ExecLo, count);
            self.out.writes.scalars(Scalar::ExecLo, count);
        }
        if self.is(Traits::MESSAGE) {
            self.out.access = CountedAccess::Message;
        }
        let arithmetic = self.entry.format != Format::Sopp && !self.is(Traits::ACTS);
        self.out.pure = arithmetic && !self.out.writes.is_empty();
    }

    fn smem(&mut self, f: &SmemFields) {
        if self.is(Traits::INVALIDATES) {
            return;
        }
        if !self.is(Traits::NO_ADDRESS) {
            self.out.reads.scalars(f.base, if self.is(Traits::DESCRIPTOR) { 4 } else { 2 });
            if let Some(soffset) = f.soffset {
                self.out.reads.scalars(soffset, 1);
            }
        }
        let registers = |kinds: &[OperandKind]| kinds.first().map_or(0, |kind| kind.registers());
        self.out.writes.scalars(f.data, registers(self.entry.dst));
        self.out.reads.scalars(f.data, registers(self.entry.src));
        if self.is(Traits::ATOMIC) && f.cache.returns() {
            // The comparator of a compare-and-swap is not returned.
            let halved = if self.is(Traits::COMPARES) { 2 } else { 1 };
            self.out.writes.scalars(f.data, registers(self.entry.src) / halved);
        }
        self.out.access = CountedAccess::ScalarMemory;
    }

    fn vector(&mut self, f: &VectorFields) {
        self.implied();
        for (i, src) in f.srcs.iter().enumerate() {
            if let Some(src) = src {
                self.read(*src, self.entry.src_kind(i));
            }
        }
        let count = self.registers(self.entry.dst_kind(0));
        match f.dst {
            Some(VectorDst::Vgpr(v)) => {
                self.out.writes.vgprs(v, count);
                if self.is(Traits::TIED) {
                    self.out.reads.vgprs(v, count);
                }
            }
            Some(VectorDst::Scalar(s)) => self.out.writes.scalars(s, count),
            None => {}
        }
        if let Some(mask) = f.mask {
            self.out.writes.scalars(mask, self.registers(OperandKind::Mask));
        }
        if !self.is(Traits::ANY_LANES) {
            self.read_exec();
        }
        if self.is(Traits::SWAPS)
            && let Some(Src::Vgpr(src)) = f.srcs[0]
        {
            self.out.writes.vgprs(src, 1);
        }
        self.out.pure = !self.out.writes.is_empty();
    }

    fn dual(&mut self, f: &DualFields) {
        // Both halves read before either writes.
        for half in f.halves(self.entry) {
            for (src, kind) in half.srcs.iter().zip(half.entry.src) {
                if let Some(src) = src {
                    self.read(*src, *kind);
                }
            }
            if half.entry.is(Traits::TIED) {
                self.out.reads.vgprs(half.dst, 1);
            }
            self.out.writes.vgprs(half.dst, 1);
        }
        self.read_exec();
        self.out.pure = true;
    }

    fn lds_direct(&mut self, f: &LdsDirectFields) {
        self.implied();
        self.out.writes.vgprs(f.dst, 1);
        self.read_exec();
        self.out.access = CountedAccess::LdsDirect;
    }

    fn interp(&mut self, f: &InterpFields) {
        self.implied();
        self.read(f.src, OperandKind::F32);
        if let Some(addend) = f.addend {
            self.read(addend, OperandKind::F32);
        }
        self.out.writes.vgprs(f.dst, 1);
        if self.is(Traits::TIED) {
            self.out.reads.vgprs(f.dst, 1);
        }
        self.read_exec();
        self.out.pure = true;
    }

    fn ds(&mut self, f: &DsFields) {
        self.implied();
        if let Some(kind) = self.entry.dst.first() {
            self.out.writes.vgprs(f.dst, kind.registers());
        }
        for (register, kind) in f.sources(self.entry) {
            self.out.reads.vgprs(register, kind.registers());
        }
        if self.is(Traits::STACK) {
            self.out.writes.vgprs(f.addr, 1);
        }
        let global = f.gds || self.is(Traits::GDS);
        if global {
            self.out.reads.insert(Register::M0);
        }
        self.read_exec();
        self.out.access = match self.entry.op {
            Op::DsNop => CountedAccess::None,
            _ if global => CountedAccess::Gds,
            _ => CountedAccess::Lds,
        };
    }

    fn flat(&mut self, f: &FlatFields) {
        if self.is(Traits::INVALIDATES) {
            return;
        }
        let scratch = self.entry.format == Format::Scratch;
        if !self.is(Traits::OWN_ADDRESS) && !f.no_vaddr {
            let wide = f.saddr.is_none() && !scratch;
            self.out.reads.vgprs(f.addr, if wide { 2 } else { 1 });
        }
        if let Some(saddr) = f.saddr {
            self.out.reads.scalars(saddr, if scratch { 1 } else { 2 });
        }
        let returns = self.data(f.data, f.dst, f.cache.returns(), self.entry.data_registers_in(self.wave));
        self.read_exec();
        self.out.access = match (returns || f.lds, self.entry.format) {
            (true, Format::Flat) => CountedAccess::FlatLoad,
            (false, Format::Flat) => CountedAccess::FlatStore,
            (true, _) => CountedAccess::VectorLoad(VectorPath::Plain),
            (false, _) => CountedAccess::VectorStore,
        };
    }

    /// Adds the data of a memory access; returns whether there is a result.
    fn data(&mut self, data: Vgpr, dst: Vgpr, returns: bool, count: u8) -> bool {
        if self.is(Traits::ATOMIC) {
            self.out.reads.vgprs(data, count);
            if returns {
                // The comparator of a compare-and-swap is not returned.
                self.out.writes.vgprs(dst, if self.is(Traits::COMPARES) { count / 2 } else { count });
            }
            return returns;
        }
        if self.is(Traits::STORES) {
            self.out.reads.vgprs(data, count);
            return false;
        }
        self.out.writes.vgprs(dst, count);
        true
    }

    fn buffer(&mut self, f: &BufferFields) {
        if self.is(Traits::INVALIDATES) {
            return;
        }
        self.out.reads.scalars(f.resource, 4);
        self.read(f.soffset, OperandKind::B32);
        self.out.reads.vgprs(f.vaddr, f.address_registers());
        let returns = if f.lds {
            self.out.reads.insert(Register::M0);
            true
        } else {
            let status = u8::from(f.tfe && self.is(Traits::LOADS));
            self.data(f.data, f.data, f.cache.returns(), self.entry.data_registers() + status)
        };
        self.read_exec();
        self.out.access =
            if returns { CountedAccess::VectorLoad(VectorPath::Plain) } else { CountedAccess::VectorStore };
    }

    fn image(&mut self, f: &ImageFields) {
        self.out.reads.scalars(f.resource, f.resource_registers(self.entry));
        if self.is(Traits::SAMPLES) {
            self.out.reads.scalars(f.sampler, 4);
        }
        for n in 0..usize::from(f.address_registers(self.entry)) {
            if let Some(v) = f.address(n) {
                self.out.reads.vgprs(v, 1);
            }
        }
        let returns = self.data(f.data, f.data, f.cache.returns(), f.data_registers(self.entry) + f.status_registers());
        self.read_exec();
        let path = match () {
            () if self.is(Traits::EITHER_PATH) => VectorPath::Either,
            // Where images with a sampler have a format of their own, all of that format.
            () if self.is(Traits::SAMPLES) || self.entry.format == Format::Vsample => VectorPath::Sampler,
            () if self.is(Traits::RAY) => VectorPath::Ray,
            () => VectorPath::Plain,
        };
        self.out.access = if returns { CountedAccess::VectorLoad(path) } else { CountedAccess::VectorStore };
    }

    fn export(&mut self, f: &ExportFields) {
        for (i, v) in f.data.iter().enumerate() {
            let channels = if f.compr { 3u8.checked_shl(2 * i as u32).unwrap_or(0) } else { 1 << i };
            if f.enabled & channels & 15 != 0 {
                self.out.reads.vgprs(*v, 1);
            }
        }
        self.read_exec();
        self.out.access = CountedAccess::Export(match f.target {
            12..=16 => ExportKind::Position,
            32..=63 => ExportKind::Parameter,
            _ => ExportKind::Pixel,
        });
    }
}
