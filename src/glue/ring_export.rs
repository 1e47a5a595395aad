//! The epilog of a primitive shader on a GPU with an attribute ring: stores the parameters that the fragment shader reads to the
//! ring, exports the positions once they are there, and then the primitives (LLPC, `NggPrimShader`; Mesa,
//! `ac_nir_lower_ngg`, whose order this is).
//!
//! | address of | is |
//! | --- | --- |
//! | the ring | the descriptor in the global table, with the size of a vertex's parameters as its stride |
//! | a group of waves | the ring's base in an SGPR |
//! | a vertex | its index in the group: the wave's number and the lane |
//! | a parameter | its slot |
//!
//! gfx12 takes the positions first, and needs no wait. Lanes without a vertex have come here without running the body. Those with a primitive are others. The primitive id is
//! a parameter of the primitive: its place is that of a vertex with the primitive's index, in a slot after those of vertices.

use super::param_export::PARAM_EXPORT_SYMBOL;
use super::piece::{Attach, GluePiece, Recorder};
use super::primitive_lanes::{WAVE_PRIMITIVES, WAVE_VERTICES, set_exec, set_exec_to};
use dovetail_abi::params::{MAX_ATTRIBUTES, ParamExport};
use dovetail_abi::vertex_entry::primitive_wave;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_isa::instruction::{BufferFields, Fields};
use dovetail_isa::{Counter, ExpSources, ExpTarget, Instruction, Isa, Op, Scalar, Sgpr, Src, Vgpr};
use dovetail_metadata::interface::ParamSource;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// All inputs of such an epilog.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RingExportKey {
    /// Lanes of a wave.
    pub wave: WaveSize,
    /// Position vectors in order; a component without a source may have any value.
    pub positions: Vec<[Option<ParamSource>; 4]>,
    /// Parameters, each with its slot.
    pub params: Vec<ParamExport>,
    /// Slot of the primitive id, if it is read.
    pub primitive_id: Option<u8>,
    /// The body writes memory, which has to be done before the last position is exported (Mesa, `ac_nir_export_position`).
    pub writes_memory: bool,
}

/// Byte offset of the ring's descriptor in the global table (PAL: entry 11).
const RING_DESCRIPTOR: i32 = 0xb0;
/// Bits of the ring's base, and its unit in bytes as a shift.
const BASE_MASK: u32 = 0x7fff;
const BASE_SHIFT: i8 = 9;
/// Bits of a wave's number in the wave's information: 4 from bit 24.
const WAVE_NUMBER: u32 = 4 << 16 | 24;
/// Bits of the number of lanes with a primitive: 8 from bit 8.
const WAVE_PRIMITIVE_COUNT: u32 = 8 << 16 | 8;
/// Vertices, or primitives, that the ring has side by side.
const RING_LANES: i8 = 8;
/// Second dword of a buffer descriptor: all bits but those of the stride, and the first of these.
const NO_STRIDE: u32 = 0xc000_ffff;
const STRIDE_SHIFT: u32 = 16;
/// Bytes of a slot.
const SLOT: u32 = 16;

/// SGPRs that nothing needs any more: numbers, the address of the global table, the descriptor.
const NUMBER: u32 = 4;
const TABLE: u32 = 10;
const DESCRIPTOR: u32 = 12;

/// Stores of one to four dwords.
const STORES: [Op; 4] = [Op::BufferStoreDword, Op::BufferStoreDwordx2, Op::BufferStoreDwordx3, Op::BufferStoreDwordx4];

impl RingExportKey {
    /// Registers of returned values.
    fn returned(&self) -> impl Iterator<Item = u32> {
        let sources = self.positions.iter().chain(self.params.iter().map(|param| &param.channels)).flatten();
        sources.filter_map(|source| match source {
            Some(ParamSource::Vgpr(register)) => Some(*register),
            _ => None,
        })
    }
}

pub(super) fn emit(isa: &'static Isa, key: &RingExportKey) -> Result<GluePiece> {
    let kept = [primitive_wave::PRIMITIVE, isa.facts().primitive_entry.primitive_id].map(u32::from);
    let mut epilog = Epilog { key, out: Recorder::new(isa), taken: key.returned().chain(kept).collect() };
    let by_primitive = key.primitive_id.map(|slot| epilog.primitive_id(slot)).transpose()?;
    let no_vertices = epilog.out.branch(Op::SCbranchExecz);
    let ring = match by_primitive {
        Some(ring) => Some(ring),
        None if key.params.is_empty() => None,
        None => Some(epilog.ring()?),
    };
    let positions: Vec<_> = key.positions.iter().map(|vector| epilog.position(vector)).collect::<Result<_>>()?;
    let first = isa.facts().parameters_first;
    let stores = !key.params.is_empty() || by_primitive.is_some();
    if let Some(ring) = ring.filter(|_| first) {
        epilog.store(ring, by_primitive.is_some())?;
    }
    if stores && first || key.writes_memory {
        epilog.out.wait(Counter::Store);
    }
    for (n, vector) in (0u8..).zip(&positions) {
        let done = usize::from(n) + 1 == positions.len();
        epilog.export(ExpTarget::Pos(n), *vector, done)?;
    }
    if let Some(ring) = ring.filter(|_| !first) {
        epilog.store(ring, by_primitive.is_some())?;
    }
    epilog.out.land(no_vertices)?;
    if by_primitive.is_some() && first {
        // A wave without vertices has not waited.
        epilog.out.wait(Counter::Store);
    }
    // Exports read EXEC until they are done.
    epilog.out.wait(Counter::Export);
    set_exec(&mut epilog.out, key.wave, WAVE_PRIMITIVES)?;
    let no_primitives = epilog.out.branch(Op::SCbranchExecz);
    let primitive = epilog.out.vgpr(primitive_wave::PRIMITIVE.into())?;
    epilog.export(ExpTarget::Prim, [Some(primitive), None, None, None], true)?;
    epilog.out.land(no_primitives)?;
    epilog.out.end_program();
    epilog.out.finish(PARAM_EXPORT_SYMBOL, Attach::After)
}

/// Where the parameters of a wave's vertices are.
#[derive(Clone, Copy)]
struct Ring {
    descriptor: Sgpr,
    /// Byte offset of the group.
    group: Sgpr,
    /// Index of each lane's vertex.
    vertex: Vgpr,
}

struct Epilog<'a> {
    key: &'a RingExportKey,
    out: Recorder,
    /// VGPRs with values that are still read.
    taken: SmallVec<[u32; 64]>,
}

impl Epilog<'_> {
    fn scalar(&mut self, op: Op, dst: Sgpr, srcs: &[Src]) {
        let inst = Instruction::scalar(self.out.isa, op, Some(Scalar::Sgpr(dst)), srcs);
        self.out.push(inst);
    }

    /// Free consecutive VGPRs.
    fn fresh(&mut self, count: u32) -> Result<Vgpr> {
        let free = |first: &u32| (*first..first + count).all(|register| !self.taken.contains(&register));
        let first = (0..=256).find(free).unwrap_or(u32::MAX - count);
        self.taken.extend(first..first + count);
        self.out.vgpr(first + count - 1)?;
        self.out.vgpr(first)
    }

    /// Loads the ring's descriptor, and computes meanwhile where the vertices are.
    fn ring(&mut self) -> Result<Ring> {
        let (table, descriptor) = (self.out.sgprs(TABLE, 2)?, self.out.sgprs(DESCRIPTOR, 4)?);
        let pc = Instruction::scalar(self.out.isa, Op::SGetpcB64, Some(Scalar::Sgpr(table)), &[]);
        self.out.push(pc);
        // Driver memory shares the high half of its addresses with the code.
        let low = self.out.sgprs(primitive_wave::GLOBAL_TABLE, 1)?;
        self.out.smov(table, low);
        let load = Instruction::scalar_load(self.out.isa, Op::SLoadDwordx4, descriptor, table, RING_DESCRIPTOR);
        self.out.push(load);
        let (number, info) = (self.out.sgprs(NUMBER, 1)?, self.out.sgprs(primitive_wave::WAVE_INFO, 1)?);
        self.scalar(Op::SBfeU32, number, &[info.into(), Src::from_bits(WAVE_NUMBER)]);
        let lanes = self.key.wave.lanes().trailing_zeros() as i8;
        self.scalar(Op::SLshlB32, number, &[number.into(), Src::Int(lanes)]);
        let vertex = self.fresh(1)?;
        self.out.vector2(Op::VMbcntLoU32B32, vertex, Src::Int(-1), number);
        if self.key.wave == WaveSize::W64 {
            self.out.vector2(Op::VMbcntHiU32B32, vertex, Src::Int(-1), vertex);
        }
        let group = self.out.sgprs(primitive_wave::RING_BASE, 1)?;
        self.scalar(Op::SAndB32, group, &[group.into(), Src::from_bits(BASE_MASK)]);
        self.scalar(Op::SLshlB32, group, &[group.into(), Src::Int(BASE_SHIFT)]);
        Ok(Ring { descriptor, group, vertex })
    }

    /// The registers of a position vector, with constants loaded. Vectors are exported as a whole: a component that the hardware
    /// ignores is another one again.
    fn position(&mut self, vector: &[Option<ParamSource>; 4]) -> Result<[Option<Vgpr>; 4]> {
        let mut registers = [None; 4];
        for (register, source) in registers.iter_mut().zip(vector) {
            *register = match source {
                Some(ParamSource::Vgpr(number)) => Some(self.out.vgpr(*number)?),
                Some(ParamSource::Constant(bits)) => Some(self.constant(*bits)?),
                Some(ParamSource::Exported) => return Err(Error::malformed("exported by the body already")),
                None => None,
            };
        }
        let any = registers.iter().flatten().next().copied();
        let any = any.map_or_else(|| self.out.vgpr(primitive_wave::PRIMITIVE.into()), Ok)?;
        Ok(registers.map(|register| register.or(Some(any))))
    }

    fn constant(&mut self, bits: u32) -> Result<Vgpr> {
        let register = self.fresh(1)?;
        self.out.mov(register, Src::from_bits(bits));
        Ok(register)
    }

    /// Stores the ids of the primitives, and leaves the lanes with a vertex on. Lanes are rounded up to 8, those that the ring has
    /// side by side (Mesa, `ac_nir_lower_ngg`).
    fn primitive_id(&mut self, slot: u8) -> Result<Ring> {
        let op = if self.key.wave == WaveSize::W32 { Op::SMovB32 } else { Op::SMovB64 };
        let all = Instruction::scalar(self.out.isa, op, Some(Scalar::ExecLo), &[Src::Int(-1)]);
        self.out.push(all);
        let ring = self.ring()?;
        self.describe(ring)?;
        let (count, info) = (self.out.sgprs(NUMBER, 1)?, self.out.sgprs(primitive_wave::WAVE_INFO, 1)?);
        self.scalar(Op::SBfeU32, count, &[info.into(), Src::from_bits(WAVE_PRIMITIVE_COUNT)]);
        self.scalar(Op::SAddU32, count, &[count.into(), Src::Int(RING_LANES - 1)]);
        self.scalar(Op::SAndB32, count, &[count.into(), Src::Int(-RING_LANES)]);
        set_exec_to(&mut self.out, self.key.wave, count);
        let id = self.out.vgpr(self.out.isa.facts().primitive_entry.primitive_id.into())?;
        self.push_store(ring, id, 1, SLOT * u32::from(slot))?;
        set_exec(&mut self.out, self.key.wave, WAVE_VERTICES)?;
        Ok(ring)
    }

    /// Waits for the ring's descriptor, and gives it its stride.
    fn describe(&mut self, ring: Ring) -> Result<()> {
        self.out.wait(Counter::Scalar);
        let stride = self.out.sgprs(u32::from(ring.descriptor.number()) + 1, 1)?;
        self.scalar(Op::SAndB32, stride, &[stride.into(), Src::from_bits(NO_STRIDE)]);
        let slots = self.key.primitive_id.map_or(self.key.params.len() as u32, |slot| u32::from(slot) + 1);
        self.scalar(Op::SOrB32, stride, &[stride.into(), Src::from_bits((SLOT * slots) << STRIDE_SHIFT)]);
        Ok(())
    }

    fn push_store(&mut self, ring: Ring, data: Vgpr, dwords: usize, offset: u32) -> Result<()> {
        let fields = BufferFields {
            data,
            vaddr: ring.vertex,
            idxen: true,
            offen: false,
            resource: Scalar::Sgpr(ring.descriptor),
            soffset: ring.group.into(),
            offset,
            format: None,
            lds: false,
            tfe: false,
            // Other processors than this one read them.
            cache: self.out.isa.ring_policy(),
        };
        let op = STORES.get(dwords - 1).copied().ok_or_else(|| Error::bug("a vector of five"))?;
        self.out.push(Instruction::new(self.out.isa, op, Fields::Buffer(fields)));
        Ok(())
    }

    /// Stores the parameters of the vertices; `described`: the ring's descriptor is complete.
    fn store(&mut self, ring: Ring, described: bool) -> Result<()> {
        let key = self.key;
        // Values that are not where a store wants them are moved while the descriptor is on its way.
        let mut stores = SmallVec::<[(Vgpr, usize, u32); 32]>::new();
        for param in &key.params {
            let slot = Some(u32::from(param.slot)).filter(|slot| *slot < MAX_ATTRIBUTES as u32);
            let slot = slot.ok_or_else(|| Error::malformed(format!("no parameter slot {}", param.slot)))?;
            let mut from = 0;
            while from < param.channels.len() {
                let run = param.channels[from..].iter().take_while(|source| source.is_some()).count();
                if run > 0 {
                    let first = self.in_a_row(&param.channels[from..from + run])?;
                    stores.push((first, run, SLOT * slot + 4 * from as u32));
                }
                from += run.max(1);
            }
        }
        if !described {
            self.describe(ring)?;
        }
        for (data, dwords, offset) in stores {
            self.push_store(ring, data, dwords, offset)?;
        }
        Ok(())
    }

    /// The first of consecutive registers with these values.
    fn in_a_row(&mut self, sources: &[Option<ParamSource>]) -> Result<Vgpr> {
        let number = |source: &Option<ParamSource>| match source {
            Some(ParamSource::Vgpr(register)) => Some(*register),
            _ => None,
        };
        if let Some(first) = sources.first().and_then(number)
            && (0..).zip(sources).all(|(n, source)| first.checked_add(n).is_some_and(|v| number(source) == Some(v)))
        {
            self.out.vgpr(first + sources.len() as u32 - 1)?;
            return self.out.vgpr(first);
        }
        let first = self.fresh(sources.len() as u32)?;
        for (to, source) in (u32::from(first.number())..).zip(sources) {
            let to = self.out.vgpr(to)?;
            match source {
                Some(ParamSource::Vgpr(register)) => {
                    let from = self.out.vgpr(*register)?;
                    self.out.mov(to, from);
                }
                Some(ParamSource::Constant(bits)) => self.out.mov(to, Src::from_bits(*bits)),
                Some(ParamSource::Exported) | None => return Err(Error::malformed("exported by the body already")),
            }
        }
        Ok(first)
    }

    fn export(&mut self, target: ExpTarget, sources: [Option<Vgpr>; 4], done: bool) -> Result<()> {
        let inst = Instruction::export(self.out.isa, target, ExpSources::Full(sources), done, false)?;
        self.out.push(inst);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::instructions_of;
    use dovetail_base::target::Gpu;

    fn listing(key: &RingExportKey) -> Vec<String> {
        let isa = Isa::of(Gpu::Gfx1100);
        let piece = emit(isa, key).expect("an epilog");
        let list = instructions_of(isa, &piece.code);
        assert_eq!(list.iter().filter(|inst| inst.entry.op == Op::SEndpgm).count(), 1);
        list.iter().map(|inst| inst.text(isa, key.wave)).collect()
    }

    fn vgprs(first: u32) -> [Option<ParamSource>; 4] {
        [0, 1, 2, 3].map(|n| Some(ParamSource::Vgpr(first + n)))
    }

    fn key(wave: WaveSize) -> RingExportKey {
        RingExportKey {
            wave,
            positions: vec![vgprs(16)],
            params: vec![
                ParamExport { slot: 0, channels: vgprs(20) },
                ParamExport {
                    slot: 1,
                    channels: [None, Some(ParamSource::Vgpr(24)), Some(ParamSource::Constant(7)), None],
                },
            ],
            primitive_id: None,
            writes_memory: false,
        }
    }

    #[test]
    fn everything_is_stored_before_the_position_and_primitives_come_last() {
        let wanted = [
            "s_cbranch_execz 25",
            "s_getpc_b64 s[10:11]",
            "s_mov_b32 s10, s8",
            "s_load_b128 s[12:15], s[10:11], 0xb0",
            "s_bfe_u32 s4, s3, 0x40018",
            "s_lshl_b32 s4, s4, 5",
            "v_mbcnt_lo_u32_b32 v1, -1, s4",
            "s_and_b32 s5, s5, 0x7fff",
            "s_lshl_b32 s5, s5, 9",
            // Two channels, of which one is constant, side by side.
            "v_mov_b32_e32 v3, v24",
            "v_mov_b32_e32 v4, 7",
            "s_waitcnt lgkmcnt(0)",
            "s_and_b32 s13, s13, 0xc000ffff",
            "s_or_b32 s13, s13, 0x200000",
            "buffer_store_b128 v[20:23], v1, s[12:15], s5 idxen glc",
            "buffer_store_b64 v[3:4], v1, s[12:15], s5 idxen offset:20 glc",
            "s_waitcnt_vscnt null, 0x0",
            "exp pos0 v16, v17, v18, v19 done",
            "s_waitcnt expcnt(0)",
            "s_lshl_b32 vcc_lo, s3, 8",
            "s_bfe_u32 exec_lo, -1, vcc_lo",
            "s_cbranch_execz 2",
            "exp prim v0, off, off, off done",
            "s_endpgm",
        ];
        assert_eq!(listing(&key(WaveSize::W32))[1..], wanted[1..]);
        let large = listing(&key(WaveSize::W64));
        assert!(large.contains(&"v_mbcnt_hi_u32_b32 v1, -1, v1".to_owned()), "{large:?}");
        assert!(large.contains(&"s_bfe_u64 exec, -1, vcc_lo".to_owned()), "{large:?}");
        assert_eq!(large.len(), wanted.len() + 1);
    }

    #[test]
    fn without_parameters_only_memory_is_waited_for() {
        let bare = RingExportKey { params: Vec::new(), ..key(WaveSize::W32) };
        let count = |lines: &[String], what: &str| lines.iter().filter(|line| line.contains(what)).count();
        let lines = listing(&bare);
        assert_eq!((count(&lines, "s_load"), count(&lines, "vscnt"), count(&lines, "buffer_store")), (0, 0, 0));
        let lines = listing(&RingExportKey { writes_memory: true, ..bare });
        assert_eq!((count(&lines, "s_load"), count(&lines, "vscnt")), (0, 1));
    }

    #[test]
    fn a_primitive_id_is_stored_by_the_lanes_with_primitives() {
        let lines = listing(&RingExportKey { params: Vec::new(), primitive_id: Some(1), ..key(WaveSize::W32) });
        let at = |what: &str| lines.iter().position(|line| line.contains(what)).expect("an instruction");
        // Room for a vertex's parameter remains.
        assert!(at("s_or_b32 s13, s13, 0x200000") < at("buffer_store_b32 v2, v1, s[12:15], s5 idxen offset:16 glc"));
        assert!(at("buffer_store_b32") < at("s_bfm_b64 vcc, s3, 0") && at("s_bfm_b64 vcc") < at("s_cbranch_execz"));
        assert!(at("vscnt") < at("exp pos0"));
    }
}
