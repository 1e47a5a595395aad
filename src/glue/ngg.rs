//! The NGG prologue: makes a wave of a primitive shader look like one of the hardware VS stage, for which the vertex part
//! is compiled, and falls through into its fetch prolog or body (gfx10.3; LLPC, and Mesa's `ac_nir_lower_ngg`).
//!
//! | a wave of NGG has | the prologue |
//! | --- | --- |
//! | s2: vertices and primitives of the group; bits 24 to 27 of s3: the number of the wave in it | the first wave asks for room for their exports |
//! | bits 8 to 15 of s3: number of lanes with a primitive; v0: what to export of it | exports it |
//! | bits 0 to 7 of s3: number of lanes with a vertex; EXEC: anything | EXEC is these lanes; a wave without any ends |
//! | v5: vertex id, v8: instance id | moves them to v0 and v3 |
//! | s8 and up: user data; s5: scratch wave offset | moves the user data to s0 and up, the offset to the register after them |

use super::piece::{Attach, GluePiece, Recorder};
use dovetail_abi::vertex_entry::primitive_wave::WAVE_INFO;
use dovetail_abi::vertex_entry::{VertexEntry, primitive_wave};
use dovetail_base::error::Result;
use dovetail_base::target::{HardwareStage, WaveSize};
use dovetail_isa::{Counter, ExpSources, ExpTarget, Instruction, Isa, Op, Scalar, Sgpr, Src};
use serde::{Deserialize, Serialize};

/// All inputs of an NGG prologue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NggKey {
    /// Lanes of a wave.
    pub wave: WaveSize,
    /// Number of user-data SGPRs.
    pub user_sgprs: u32,
    /// The body or its prolog reads the instance id.
    pub instance: bool,
    /// The body uses scratch memory.
    pub scratch: bool,
}

/// SGPR with the numbers of vertices and primitives of the group.
const GROUP_INFO: u32 = 2;
/// SGPR with the scratch wave offset.
const SCRATCH_OFFSET: u32 = 5;
/// `s_sendmsg`: room for the exports of a group; M0 has its primitives above its vertices.
const GS_ALLOC_REQ: u16 = 9;
const PRIMITIVES_SHIFT: i8 = 12;
/// VGPRs at entry.
const PRIMITIVE: u32 = primitive_wave::PRIMITIVE as u32;
/// VGPRs of the hardware VS stage.
const TO_VERTEX_ID: u32 = VertexEntry::VERTICES.vertex_id as u32;
const TO_INSTANCE_ID: u32 = VertexEntry::VERTICES.instance_id as u32;

/// Bits of a register.
#[derive(Clone, Copy)]
struct Bits {
    low: u32,
    width: u32,
}

const WAVE_NUMBER: Bits = Bits { low: 24, width: 4 };
const GROUP_VERTICES: Bits = Bits { low: 12, width: 9 };
const GROUP_PRIMITIVES: Bits = Bits { low: 22, width: 9 };
const WAVE_PRIMITIVES: Bits = Bits { low: 8, width: 8 };
const WAVE_VERTICES: Bits = Bits { low: 0, width: 8 };

pub(super) fn emit(isa: &'static Isa, key: &NggKey) -> Result<GluePiece> {
    let first = HardwareStage::Gs.first_user_sgpr();
    let mut out = Recorder::new(isa);
    out.sgprs(first, key.user_sgprs)?;
    // Above everything that is read, and above everything that is written last.
    let free = (first + key.user_sgprs).next_multiple_of(2);
    let mut prologue = Prologue { key, mask: out.sgprs(free, 2)?, count: out.sgprs(free + 2, 1)?, out };
    prologue.ask_for_room()?;
    prologue.export_primitives()?;
    prologue.select_vertices()?;
    prologue.move_values(first)?;
    prologue.out.finish(HardwareStage::Gs.entry_symbol(), Attach::Before)
}

struct Prologue<'a> {
    key: &'a NggKey,
    out: Recorder,
    /// The first of two temporary registers.
    mask: Sgpr,
    /// A temporary register.
    count: Sgpr,
}

impl Prologue<'_> {
    fn scalar(&mut self, op: Op, dst: Scalar, srcs: &[Src]) {
        let inst = Instruction::scalar(self.out.isa, op, Some(dst), srcs);
        self.out.push(inst);
    }

    /// Takes bits of a register; SCC is whether they are not 0.
    fn extract(&mut self, dst: Sgpr, from: u32, bits: Bits) -> Result<()> {
        let from = self.out.sgprs(from, 1)?;
        self.scalar(Op::SBfeU32, Scalar::Sgpr(dst), &[from.into(), Src::from_bits(bits.width << 16 | bits.low)]);
        Ok(())
    }

    /// The first wave tells how many vertices and primitives the group exports, before any wave exports one.
    fn ask_for_room(&mut self) -> Result<()> {
        let (count, other) = (self.count, self.mask);
        self.extract(count, WAVE_INFO, WAVE_NUMBER)?;
        let skip = self.out.branch(Op::SCbranchScc1);
        self.extract(count, GROUP_INFO, GROUP_VERTICES)?;
        self.extract(other, GROUP_INFO, GROUP_PRIMITIVES)?;
        self.scalar(Op::SLshlB32, Scalar::Sgpr(other), &[other.into(), Src::Int(PRIMITIVES_SHIFT)]);
        self.scalar(Op::SOrB32, Scalar::M0, &[count.into(), other.into()]);
        self.out.push(Instruction::program(self.out.isa, Op::SSendmsg, GS_ALLOC_REQ));
        self.out.land(skip)
    }

    /// EXEC is as many lanes as some bits of the wave's information say.
    fn set_exec(&mut self, bits: Bits) -> Result<()> {
        let (count, mask) = (self.count, self.mask);
        self.extract(count, WAVE_INFO, bits)?;
        match self.key.wave {
            WaveSize::W32 => {
                // The shift of the 32-bit form cannot make all 32.
                self.scalar(Op::SBfmB64, Scalar::Sgpr(mask), &[count.into(), Src::Int(0)]);
                self.scalar(Op::SMovB32, Scalar::ExecLo, &[mask.into()]);
            }
            WaveSize::W64 => {
                // The width of a bit field is in bits 16 to 22.
                self.scalar(Op::SLshlB32, Scalar::Sgpr(count), &[count.into(), Src::Int(16)]);
                self.scalar(Op::SBfeU64, Scalar::ExecLo, &[Src::Int(-1), count.into()]);
            }
        }
        Ok(())
    }

    fn export_primitives(&mut self) -> Result<()> {
        self.set_exec(WAVE_PRIMITIVES)?;
        let skip = self.out.branch(Op::SCbranchExecz);
        let sources = ExpSources::Full([Some(self.out.vgpr(PRIMITIVE)?), None, None, None]);
        self.out.push(Instruction::export(self.out.isa, ExpTarget::Prim, sources, true, false)?);
        // It reads EXEC and v0 some time after it was issued, and both are written next.
        self.out.wait(Counter::Export);
        self.out.land(skip)
    }

    fn select_vertices(&mut self) -> Result<()> {
        self.set_exec(WAVE_VERTICES)?;
        let skip = self.out.branch(Op::SCbranchExecnz);
        self.out.end_program();
        self.out.land(skip)
    }

    fn move_values(&mut self, first: u32) -> Result<()> {
        let scratch = self.key.scratch.then(|| self.out.sgprs(SCRATCH_OFFSET, 1)).transpose()?;
        if let Some(offset) = scratch {
            let kept = self.count;
            self.out.smov(kept, offset);
        }
        // Upwards: a register is read before it is written.
        for n in (0..self.key.user_sgprs).step_by(2) {
            let (op, count) = if n + 1 < self.key.user_sgprs { (Op::SMovB64, 2) } else { (Op::SMovB32, 1) };
            let (to, from) = (self.out.sgprs(n, count)?, self.out.sgprs(first + n, count)?);
            self.scalar(op, Scalar::Sgpr(to), &[from.into()]);
        }
        if scratch.is_some() {
            let (to, kept) = (self.out.sgprs(self.key.user_sgprs, 1)?, self.count);
            self.out.smov(to, kept);
        }
        let VertexEntry { vertex_id, instance_id, .. } = VertexEntry::of_primitives(self.out.isa.facts());
        let moves = [(true, TO_VERTEX_ID, vertex_id.into()), (self.key.instance, TO_INSTANCE_ID, instance_id.into())];
        for (_, to, from) in moves.into_iter().filter(|(wanted, ..)| *wanted) {
            let (to, from) = (self.out.vgpr(to)?, self.out.vgpr(from)?);
            self.out.mov(to, from);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::instructions;
    use dovetail_base::target::Gpu;

    /// The instructions of a prologue, as the disassembler lists them too.
    fn listing(key: NggKey) -> Vec<String> {
        let isa = Isa::of(Gpu::Gfx1030);
        let piece = emit(isa, &key).expect("a prologue");
        let lines: Vec<String> = instructions(&piece.code).iter().map(|inst| inst.text(isa, WaveSize::W64)).collect();
        if let Some(theirs) = dovetail_testing::disassemble("ngg::tests", 64, &piece.code) {
            assert_eq!(lines, theirs);
        }
        lines
    }

    #[test]
    fn values_are_moved_to_where_the_hardware_vs_stage_has_them() {
        let key = NggKey { wave: WaveSize::W32, user_sgprs: 3, instance: true, scratch: true };
        let lines = listing(key);
        let moves: Vec<&str> =
            lines.iter().skip_while(|line| *line != "s_endpgm").skip(1).map(String::as_str).collect();
        assert_eq!(
            moves,
            [
                "s_mov_b32 s14, s5",
                "s_mov_b64 s[0:1], s[8:9]",
                "s_mov_b32 s2, s10",
                "s_mov_b32 s3, s14",
                "v_mov_b32_e32 v0, v5",
                "v_mov_b32_e32 v3, v8",
            ]
        );
        let least = listing(NggKey { user_sgprs: 0, instance: false, scratch: false, ..key });
        assert_eq!(least.last().map(String::as_str), Some("v_mov_b32_e32 v0, v5"));
        assert_eq!(lines.len(), least.len() + 5);
    }

    #[test]
    fn masks_are_made_for_each_wave_size() {
        let of = |wave| listing(NggKey { wave, user_sgprs: 2, instance: false, scratch: false });
        let (small, large) = (of(WaveSize::W32), of(WaveSize::W64));
        let count = |lines: &[String], what: &str| lines.iter().filter(|line| line.contains(what)).count();
        assert_eq!((count(&small, "s_mov_b32 exec_lo"), count(&small, "s_bfm_b64")), (2, 2));
        assert_eq!((count(&large, "s_bfe_u64 exec, -1"), count(&large, "exec_lo")), (2, 0));
        for lines in [small, large] {
            let at = |what: &str| lines.iter().position(|line| line.contains(what)).expect("an instruction");
            assert!(
                at("s_sendmsg") < at("exp prim")
                    && at("exp prim") < at("expcnt(0)")
                    && at("expcnt(0)") < at("s_endpgm")
            );
        }
    }
}
