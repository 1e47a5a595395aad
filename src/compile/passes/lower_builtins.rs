//! Built-in inputs: entry registers, and arithmetic on them.
//!
//! `lower_inputs` lowers built-ins that the rasterizer interpolates as attributes (point coordinate, layer, viewport,
//! primitive id, clip and cull distances) and barycentric coordinates; `lower_subgroup` has already lowered those of
//! subgroups. Values unknown at compile time become relocations: device index, number of samples, sample pattern.

use super::address;
use super::context::PassContext;
use super::entry_values::{Entry, System};
use super::local_id::LocalId;
use super::lower_descriptors::reloc;
use super::prelude::Prelude;
use dovetail_base::error::{Error, Result};
use dovetail_ir::rewrite::{Rewrite, rewrite};
use dovetail_ir::{
    Access, Align, AluOp, AmdOp, BufferKind, Builder, BuiltIn, LaneOp, Modes, Op, Shader, Type, Value, WorkgroupWord,
};
use dovetail_metadata::interface::{StageKind, UserData};
use dovetail_reloc::symbol::LinkSymbol;

/// Byte offset of the sample positions' buffer descriptor in the global table (pal-abi 4).
const SAMPLE_POSITIONS: u64 = 48 * 4;

/// Lowers `LoadBuiltIn`.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    let mut prelude = Prelude::default();
    let modes = shader.modes.clone();
    if reads(shader, BuiltIn::FullyCovered) && reads(shader, BuiltIn::SampleMaskIn) {
        let why = "a wave has one coverage, of what is touched or of what is covered fully";
        return Err(Error::unsupported("FullyCoveredEXT beside SampleMask", why));
    }
    rewrite(shader, |b, inst| {
        let Op::LoadBuiltIn { builtin, component, .. } = inst.op else { return Ok(Rewrite::Keep) };
        let local = LocalId::new(&cx.entry, &modes);
        let mut at = BuiltInReader { b, p: &mut prelude, entry: &cx.entry, local, per_sample: modes.per_sample };
        let value = at.load(builtin, component)?;
        note(cx, builtin, component, &modes);
        Ok(value.map_or(Rewrite::Keep, Rewrite::Value))
    })?;
    prelude.place(shader);
    Ok(())
}

/// Whether the first component of a built-in is read.
fn reads(shader: &Shader, which: BuiltIn) -> bool {
    shader.has(|op| matches!(*op, Op::LoadBuiltIn { builtin, component: 0, .. } if builtin == which))
}

/// Sets the interface's fields for the use of a built-in.
fn note(cx: &mut PassContext<'_>, builtin: BuiltIn, component: u8, modes: &Modes) {
    match (&mut cx.interface.kind, builtin) {
        (StageKind::Vertex(v), BuiltIn::InstanceIndex) => v.vgpr_comp_cnt = v.vgpr_comp_cnt.max(3),
        (StageKind::Fragment(f), BuiltIn::FullyCovered) => f.fully_covered = true,
        (StageKind::Compute(c), BuiltIn::LocalInvocationId | BuiltIn::LocalInvocationIndex) => {
            let component = Some(component).filter(|_| builtin == BuiltIn::LocalInvocationId);
            c.tidig_comp_cnt = c.tidig_comp_cnt.max(LocalId::highest(modes, component));
        }
        _ => {}
    }
}

struct BuiltInReader<'a, 'b> {
    b: &'a mut Builder<'b>,
    p: &'a mut Prelude,
    entry: &'a Entry,
    local: LocalId<'a>,
    per_sample: bool,
}

impl BuiltInReader<'_, '_> {
    /// The value; `None` if another pass lowers it.
    fn load(&mut self, builtin: BuiltIn, component: u8) -> Result<Option<Value>> {
        use BuiltIn as B;
        let n = usize::from(component);
        Ok(Some(match builtin {
            B::VertexIndex => self.sum(System::VertexId, UserData::BaseVertex)?,
            B::InstanceIndex => self.sum(System::InstanceId, UserData::BaseInstance)?,
            B::BaseVertex => self.entry.user(UserData::BaseVertex)?,
            B::BaseInstance => self.entry.user(UserData::BaseInstance)?,
            B::DrawIndex => self.entry.user(UserData::DrawIndex)?,
            B::ViewIndex => self.entry.user(UserData::ViewId)?,
            B::DeviceIndex => reloc(self.b, &LinkSymbol::DeviceIndex),

            B::FragCoord => match component {
                0 => self.entry.system(System::PosX)?,
                1 => self.entry.system(System::PosY)?,
                2 => self.entry.system(System::PosZ)?,
                _ => {
                    let w = self.entry.system(System::PosW)?;
                    self.b.alu(AluOp::FRcp, &[w])
                }
            },
            B::FrontFacing => {
                let face = self.entry.system(System::FrontFace)?;
                let zero = self.b.c32(0);
                self.b.alu(AluOp::INe, &[face, zero])
            }
            B::SampleId => sample_id(self.b, self.entry)?,
            B::SamplePosition => {
                let sample = sample_id(self.b, self.entry)?;
                let offset = sample_offset(self.b, self.p, self.entry, sample)?;
                let half = self.b.fconst(Type::B32, 0.5);
                self.b.alu(AluOp::FAdd, &[offset[n.min(1)], half])
            }
            B::SampleMaskIn if component > 0 => self.b.c32(0),
            B::SampleMaskIn => {
                let coverage = self.entry.system(System::SampleCoverage)?;
                if !self.per_sample {
                    return Ok(Some(coverage));
                }
                let sample = sample_id(self.b, self.entry)?;
                let one = self.b.c32(1);
                let bit = self.b.alu(AluOp::Shl, &[one, sample]);
                self.b.alu(AluOp::IAnd, &[coverage, bit])
            }
            B::ShadingRate => self.shading_rate()?,
            B::FragInvocationCount if self.per_sample => reloc(self.b, &LinkSymbol::NumSamples),
            B::FragInvocationCount => self.b.c32(1),
            B::FullyCovered => {
                let coverage = self.entry.system(System::SampleCoverage)?;
                let zero = self.b.c32(0);
                self.b.alu(AluOp::INe, &[coverage, zero])
            }
            B::HelperInvocation => {
                // Read at entry, so that later demotes do not count.
                let live = self.p.value(self.b.shader, Op::Target(AmdOp::Lane(LaneOp::LiveMask)), &[], Type::B1);
                self.b.alu(AluOp::INot, &[live])
            }

            B::WorkgroupId => {
                let ids = [System::WorkgroupX, System::WorkgroupY, System::WorkgroupZ];
                match ids.get(n).and_then(|id| self.entry.find_system(*id)) {
                    Some(id) => id,
                    None => self.workgroup_id(n),
                }
            }
            B::NumWorkgroups => {
                let low = self.entry.user(UserData::WorkgroupCountLow)?;
                let high = self.entry.user(UserData::WorkgroupCountHigh)?;
                let table = address::join(self.p, self.b.shader, low, high);
                let offset = self.b.c32(4 * u32::from(component));
                address::load(self.b, table, offset, Type::B32, Align::A4)
            }
            B::LocalInvocationId => self.local.component(self.b, n.min(2))?,
            B::LocalInvocationIndex => self.local.index(self.b)?,
            B::SubgroupSize
            | B::SubgroupId
            | B::NumSubgroups
            | B::SubgroupLocalInvocationId
            | B::SubgroupEqMask
            | B::SubgroupGeMask
            | B::SubgroupGtMask
            | B::SubgroupLeMask
            | B::SubgroupLtMask => return Ok(None),
            B::PointCoord
            | B::PrimitiveId
            | B::Layer
            | B::ViewportIndex
            | B::ClipDistance
            | B::CullDistance
            | B::BaryCoord
            | B::BaryCoordNoPersp
            | B::BaryCoordPullModel => {
                let stage = self.b.shader.stage;
                if stage.shades_pixels() {
                    return Ok(None);
                }
                return Err(Error::unsupported(
                    format!("BuiltIn {builtin:?}"),
                    format!("as an input of a {stage} shader"),
                ));
            }
        }))
    }

    /// A workgroup's id along an axis, from the words that have all three.
    fn workgroup_id(&mut self, n: usize) -> Value {
        let word = if n == 0 { WorkgroupWord::X } else { WorkgroupWord::Yz };
        let ids = self.b.value(Op::Target(AmdOp::WorkgroupIds(word)), &[], Type::B32);
        match n {
            0 => ids,
            1 => {
                let low = self.b.c32(0xffff);
                self.b.alu(AluOp::IAnd, &[ids, low])
            }
            _ => {
                let high = self.b.c32(16);
                self.b.alu(AluOp::LShr, &[ids, high])
            }
        }
    }

    fn sum(&mut self, id: System, base: UserData) -> Result<Value> {
        let id = self.entry.system(id)?;
        let base = self.entry.user(base)?;
        Ok(self.b.iadd(id, base))
    }

    /// log2 of the fragment's width and height, as in Vulkan's flags: width in bits 2 and 3, height in 0 and 1.
    fn shading_rate(&mut self) -> Result<Value> {
        let ancillary = self.entry.system(System::Ancillary)?;
        let (two, four) = (self.b.c32(2), self.b.c32(4));
        let x = self.b.alu(AluOp::UBitExtract, &[ancillary, two, two]);
        let y = self.b.alu(AluOp::UBitExtract, &[ancillary, four, two]);
        let x = self.b.alu(AluOp::Shl, &[x, two]);
        Ok(self.b.alu(AluOp::IOr, &[x, y]))
    }
}

fn sample_id(b: &mut Builder<'_>, entry: &Entry) -> Result<Value> {
    let ancillary = entry.system(System::Ancillary)?;
    let (first, count) = (b.c32(8), b.c32(4));
    Ok(b.alu(AluOp::UBitExtract, &[ancillary, first, count]))
}

/// Offset of a sample from the centre of its pixel, x and y.
///
/// The driver's buffer has 16 bytes per sample, pattern after pattern; an index out of range reads entry 0.
pub(super) fn sample_offset(b: &mut Builder<'_>, p: &mut Prelude, entry: &Entry, sample: Value) -> Result<[Value; 2]> {
    let table = address::table(p, b.shader, entry, UserData::GlobalTable)?;
    let at = p.value(b.shader, Op::Const(SAMPLE_POSITIONS), &[], Type::B32);
    let desc = p.value(b.shader, Op::Target(AmdOp::TableLoad { align: Align::A16 }), &[table, at], Type::DESC4);
    let pattern = reloc(b, &LinkSymbol::SamplePattern);
    let samples = reloc(b, &LinkSymbol::NumSamples);
    let entry_number = b.alu(AluOp::IAdd, &[pattern, sample]);
    let exists = b.alu(AluOp::UGt, &[samples, sample]);
    let zero = b.c32(0);
    let entry_number = b.select(exists, entry_number, zero);
    let four = b.c32(4);
    let offset = b.alu(AluOp::Shl, &[entry_number, four]);
    let access = Access { read_only: true, ..Access::default() };
    let op = Op::BufferLoad { kind: BufferKind::Uniform, align: Align::A16, access };
    let xy = b.value(op, &[desc, offset], address::PAIR);
    Ok([b.extract(xy, 0), b.extract(xy, 1)])
}
