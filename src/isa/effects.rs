//! What an instruction reads and writes: registers, those that its name implies too, and which counter it keeps busy.
//!
//! [`Instruction::effects`] is the one model of it, for whoever follows values through code. Explicit operands come from the
//! fields and the row's kinds; what a name implies (VCC, EXEC, SCC, M0, a destination that is read) is in the functions at the
//! end, a line for each rule. Invariant: every register that the disassembler prints is read or written here; a test holds it
//! for every opcode.

use super::instruction::*;
use super::register_set::{Register, RegisterSet};
use super::table::Kind;
use super::{Format, Scalar, Special, Src, Vgpr};
use crate::target::WaveSize;

/// Registers of an instruction, and how it uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Values that it depends on.
    pub reads: RegisterSet,
    /// Registers that change, at once or when the memory answers. A vector register counts even where EXEC or a partial
    /// write leaves some of it.
    pub writes: RegisterSet,
    /// Which counter it keeps busy.
    pub access: Access,
    /// It does nothing but write registers.
    pub pure: bool,
    /// It reads or writes a register whose number depends on M0 or a constant that is not here.
    pub indirect: bool,
}

/// What an instruction leaves outstanding, by the counter that says when it is done (isa-gfx10 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    None,
    /// lgkmcnt, in no order.
    ScalarMemory,
    /// vmcnt: what it writes arrives later.
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
}

/// Which way a load's answer takes: answers of different ways may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VectorPath {
    /// Loads and atomics.
    Plain,
    /// Sampled images.
    Sampler,
    /// Ray intersection.
    Ray,
}

/// Exports are in order within a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExportKind {
    /// Colours, depth, none, primitives.
    Pixel,
    /// Positions.
    Position,
    /// Parameters.
    Parameter,
}

impl Instruction {
    /// What it reads and writes in a wave of this size.
    pub fn effects(&self, wave: WaveSize) -> Effects {
        let none = RegisterSet::EMPTY;
        let effects = Effects { reads: none, writes: none, access: Access::None, pure: false, indirect: false };
        let mut out = Collector { inst: self, wave, name: self.entry.mnemonic, out: effects };
        match &self.fields {
            Fields::Scalar(f) => out.scalar(f),
            Fields::Smem(f) => out.smem(f),
            Fields::Vector(f) => out.vector(f),
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

struct Collector<'a> {
    inst: &'a Instruction,
    wave: WaveSize,
    name: &'static str,
    out: Effects,
}

impl Collector<'_> {
    fn registers(&self, kind: Kind) -> u8 {
        if kind == Kind::Mask && self.wave == WaveSize::W64 { 2 } else { kind.registers() }
    }

    fn read(&mut self, src: Src, kind: Kind) {
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

    fn kind(kinds: &[Kind], i: usize) -> Kind {
        kinds.get(i).copied().unwrap_or(Kind::B32)
    }

    fn read_exec(&mut self) {
        self.out.reads.mask(Register::EXEC, self.wave);
    }

    fn scalar(&mut self, f: &ScalarFields) {
        let entry = self.inst.entry;
        for (i, src) in f.srcs.iter().enumerate() {
            if let Some(src) = src {
                self.read(*src, Self::kind(entry.src, i));
            }
        }
        if let Some(dst) = f.dst {
            let count = self.registers(Self::kind(entry.dst, 0));
            self.out.writes.scalars(dst, count);
            if reads_destination(self.name) {
                self.out.reads.scalars(dst, count);
            }
        }
        if writes_scc(entry.format, self.name) {
            self.out.writes.insert(Register::SCC);
        }
        if reads_scc(self.name) {
            self.out.reads.insert(Register::SCC);
        }
        // The name says how many bits of EXEC, whatever the wave size.
        if self.name.contains("saveexec") || self.name.contains("wrexec") {
            let count = if self.name.ends_with("b64") { 2 } else { 1 };
            self.out.reads.scalars(Scalar::ExecLo, count);
            self.out.writes.scalars(Scalar::ExecLo, count);
        }
        match self.name {
            "s_cbranch_vccz" | "s_cbranch_vccnz" => self.out.reads.mask(Register::VCC, self.wave),
            "s_cbranch_execz" | "s_cbranch_execnz" => self.read_exec(),
            "s_sendmsg" | "s_sendmsghalt" => {
                self.out.reads.insert(Register::M0);
                self.out.access = Access::Message;
            }
            "s_ttracedata" => self.out.reads.insert(Register::M0),
            _ => {}
        }
        if self.name.starts_with("s_movrel") {
            self.out.reads.insert(Register::M0);
            self.out.indirect = true;
        }
        let acts = ["s_setpc", "s_swappc", "s_rfe", "s_call", "s_getreg", "s_subvector"];
        let acts = acts.iter().any(|name| self.name.starts_with(name));
        self.out.pure = !acts && !self.out.writes.is_empty() && entry.format != Format::Sopp;
    }

    fn smem(&mut self, f: &SmemFields) {
        let entry = self.inst.entry;
        let timer = self.name.contains("time");
        if self.name.ends_with("_inv") {
            return;
        }
        if !timer {
            self.out.reads.scalars(f.base, if self.name.contains("buffer") { 4 } else { 2 });
            if let Some(soffset) = f.soffset {
                self.out.reads.scalars(soffset, 1);
            }
        }
        self.out.writes.scalars(f.data, entry.dst.first().map_or(0, |kind| kind.registers()));
        self.out.access = Access::ScalarMemory;
    }

    fn vector(&mut self, f: &VectorFields) {
        let entry = self.inst.entry;
        for (i, src) in f.srcs.iter().enumerate() {
            if let Some(src) = src {
                self.read(*src, Self::kind(entry.src, i));
            }
        }
        let count = self.registers(Self::kind(entry.dst, 0));
        match f.dst {
            Some(VectorDst::Vgpr(v)) => {
                self.out.writes.vgprs(v, count);
                if reads_destination(self.name) {
                    self.out.reads.vgprs(v, count);
                }
            }
            Some(VectorDst::Scalar(s)) => self.out.writes.scalars(s, count),
            None => {}
        }
        if let Some(mask) = f.mask {
            self.out.writes.scalars(mask, self.registers(Kind::Mask));
        }
        if !matches!(self.name, "v_readlane_b32" | "v_writelane_b32" | "v_nop") {
            self.read_exec();
        }
        if self.name.starts_with("v_cmpx") {
            self.out.writes.mask(Register::EXEC, self.wave);
        }
        if self.name.starts_with("v_div_fmas") {
            self.out.reads.mask(Register::VCC, self.wave);
        }
        if self.name.starts_with("v_swap")
            && let (Some(VectorDst::Vgpr(dst)), Some(Src::Vgpr(src))) = (f.dst, f.srcs[0])
        {
            self.out.reads.vgprs(dst, 1);
            self.out.writes.vgprs(src, 1);
        }
        if self.name.starts_with("v_movrel") || self.name == "v_swaprel_b32" {
            self.out.reads.insert(Register::M0);
            self.out.indirect = true;
        }
        self.out.pure = !self.out.writes.is_empty();
    }

    fn interp(&mut self, f: &InterpFields) {
        self.read(f.src, Kind::F32);
        if let Some(addend) = f.addend {
            self.read(addend, Kind::F32);
        }
        self.out.writes.vgprs(f.dst, 1);
        if reads_destination(self.name) {
            self.out.reads.vgprs(f.dst, 1);
        }
        self.out.reads.insert(Register::M0);
        self.read_exec();
        self.out.pure = true;
    }

    fn ds(&mut self, f: &DsFields) {
        let entry = self.inst.entry;
        if let Some(kind) = entry.dst.first() {
            self.out.writes.vgprs(f.dst, kind.registers());
        }
        let own = self.name.contains("addtid");
        let registers = if own { [f.data[0], f.data[0], f.data[1]] } else { [f.addr, f.data[0], f.data[1]] };
        for (register, kind) in registers.into_iter().zip(entry.src) {
            self.out.reads.vgprs(register, kind.registers());
        }
        let by_m0 = ["addtid", "append", "consume", "gws", "ordered"];
        if f.gds || by_m0.iter().any(|part| self.name.contains(part)) {
            self.out.reads.insert(Register::M0);
        }
        self.read_exec();
        self.out.access = match self.name {
            "ds_nop" => Access::None,
            _ if f.gds || self.name.contains("gws") => Access::Gds,
            _ => Access::Lds,
        };
    }

    fn flat(&mut self, f: &FlatFields) {
        let entry = self.inst.entry;
        let own = self.name.contains("addtid");
        if !own && !f.no_vaddr {
            let wide = f.saddr.is_none() && entry.format != Format::Scratch;
            self.out.reads.vgprs(f.addr, if wide { 2 } else { 1 });
        }
        if let Some(saddr) = f.saddr {
            self.out.reads.scalars(saddr, if entry.format == Format::Scratch { 1 } else { 2 });
        }
        let returns = self.data(f.data, f.dst, f.cache.glc, entry.data_registers());
        self.read_exec();
        self.out.access = match (returns || f.lds, entry.format) {
            (true, Format::Flat) => Access::FlatLoad,
            (false, Format::Flat) => Access::FlatStore,
            (true, _) => Access::VectorLoad(VectorPath::Plain),
            (false, _) => Access::VectorStore,
        };
    }

    /// The data of a memory access; whether something comes back.
    fn data(&mut self, data: Vgpr, dst: Vgpr, glc: bool, count: u8) -> bool {
        if self.name.contains("_atomic_") {
            self.out.reads.vgprs(data, count);
            if glc {
                // What a compare and swap expects is not returned.
                let returned = if self.name.contains("cmpswap") { count / 2 } else { count };
                self.out.writes.vgprs(dst, returned);
            }
            return glc;
        }
        if self.name.contains("_store_") || self.name.ends_with("_store") {
            self.out.reads.vgprs(data, count);
            return false;
        }
        self.out.writes.vgprs(dst, count);
        true
    }

    fn buffer(&mut self, f: &BufferFields) {
        let entry = self.inst.entry;
        if entry.dst.is_empty() && entry.src.is_empty() {
            // Invalidation of a cache.
            return;
        }
        self.out.reads.scalars(f.resource, 4);
        self.read(f.soffset, Kind::B32);
        self.out.reads.vgprs(f.vaddr, u8::from(f.idxen) + u8::from(f.offen));
        let returns = if f.lds {
            self.out.reads.insert(Register::M0);
            true
        } else {
            let status = u8::from(f.tfe && !entry.dst.is_empty());
            self.data(f.data, f.data, f.cache.glc, entry.data_registers() + status)
        };
        self.read_exec();
        self.out.access = if returns { Access::VectorLoad(VectorPath::Plain) } else { Access::VectorStore };
    }

    fn image(&mut self, f: &ImageFields) {
        self.out.reads.scalars(f.resource, if f.r128 || self.name.contains("bvh") { 4 } else { 8 });
        let sampled = ["sample", "gather", "get_lod"].iter().any(|part| self.name.contains(part));
        if sampled {
            self.out.reads.scalars(f.sampler, 4);
        }
        for n in 0..usize::from(f.address_registers(self.name)) {
            if let Some(v) = f.address(n) {
                self.out.reads.vgprs(v, 1);
            }
        }
        let status = u8::from(f.tfe || f.lwe);
        let returns = self.data(f.data, f.data, f.cache.glc, f.data_registers(self.name) + status);
        self.read_exec();
        let path = match () {
            () if sampled => VectorPath::Sampler,
            () if self.name.contains("bvh") => VectorPath::Ray,
            () => VectorPath::Plain,
        };
        self.out.access = if returns { Access::VectorLoad(path) } else { Access::VectorStore };
    }

    fn export(&mut self, f: &ExportFields) {
        for (i, v) in f.data.iter().enumerate() {
            let channels = if f.compr { 3u8.checked_shl(2 * i as u32).unwrap_or(0) } else { 1 << i };
            if f.enabled & channels & 15 != 0 {
                self.out.reads.vgprs(*v, 1);
            }
        }
        self.read_exec();
        self.out.access = Access::Export(match f.target {
            12..=16 => ExportKind::Position,
            32..=63 => ExportKind::Parameter,
            _ => ExportKind::Pixel,
        });
    }
}

/// Operations that change their destination rather than replace it.
fn reads_destination(name: &str) -> bool {
    let changed = ["v_fmac", "v_pk_fmac", "v_dot2c", "v_dot4c", "s_bitset", "s_cmov"];
    changed.iter().any(|start| name.starts_with(start))
        || matches!(name, "v_interp_p2_f32" | "s_addk_i32" | "s_mulk_i32" | "v_swap_b32" | "v_swaprel_b32")
}

fn writes_scc(format: Format, name: &str) -> bool {
    let keeps = match format {
        Format::Sop2 => &["s_cselect", "s_mul", "s_bfm", "s_pack"][..],
        Format::Sopc => &[],
        Format::Sopk => return name.starts_with("s_cmpk") || name == "s_addk_i32",
        Format::Sop1 => {
            let sets = ["s_not", "s_wqm", "s_bcnt", "s_quadmask", "s_abs"];
            let masks = name.contains("saveexec") || name.contains("wrexec");
            return masks || sets.iter().any(|start| name.starts_with(start));
        }
        _ => return false,
    };
    !keeps.iter().any(|start| name.starts_with(start))
}

fn reads_scc(name: &str) -> bool {
    let start = ["s_cselect", "s_cmov", "s_cbranch_scc"].iter().any(|start| name.starts_with(start));
    start || matches!(name, "s_addc_u32" | "s_subb_u32")
}
