//! The text form of records and operations, defined once for both printing and parsing.
//!
//! A [`Codec`] either writes a field or reads it; [`payload`] visits the fields of an operation in order, so that the
//! printer and the parser cannot disagree. To add an operation: its mnemonic in [`OPS`], its fields in [`payload`].

use super::alu::{AluOp, FpFlags};
use super::amd::{AmdOp, WorkgroupWord};
use super::image::{Dim, ImageInst, ImageOp, LodMode, MimgDim, MimgInst, MimgOp};
use super::interface::{BuiltIn, ExportTarget, Interp, OutputSlot};
use super::lanes::{DerivativeKind, LaneOp, QuadSwap, ReduceOp, SubgroupOp};
use super::memory::{Access, AtomicOp, BufferKind, DescriptorPart, FenceOrder, MemoryClasses, Scope};
use super::name::Name;
use super::op::Op;
use super::shader::{
    ArgRole, ConstTableId, DerivativeGroup, EntryArg, Local, LocalId, Modes, Resource, ResourceId, SymbolId,
};
use super::types::{Align, Type};
use super::words::Word;
use dovetail_base::kinds::NumericKind;
use std::mem::discriminant;

/// Result of reading; an error is a message to which the parser adds the line.
pub(super) type Text = Result<(), String>;

/// One direction of the text form.
pub(super) trait Codec {
    /// A named variant.
    fn word<T: Word>(&mut self, x: &mut T) -> Text;
    /// A word that is present if the flag is set.
    fn flag(&mut self, name: &'static str, x: &mut bool) -> Text;
    /// A decimal number that follows a prefix without a space.
    fn number<T: Copy + TryFrom<u64> + Into<u64>>(&mut self, prefix: &'static str, x: &mut T) -> Text;
    /// A hexadecimal number.
    fn hex<T: Copy + TryFrom<u64> + Into<u64>>(&mut self, x: &mut T) -> Text;
    /// A quoted string.
    fn string(&mut self, x: &mut Name) -> Text;

    /// An alignment.
    fn align(&mut self, x: &mut Align) -> Text {
        let mut bytes = x.bytes();
        self.number("align", &mut bytes)?;
        *x = Align::from_bytes(bytes).ok_or_else(|| format!("alignment {bytes} is no power of two up to 256"))?;
        Ok(())
    }

    /// A type.
    fn ty(&mut self, x: &mut Type) -> Text;
}

const ACCESS: Access = Access::PLAIN;
const CLASSES: MemoryClasses = MemoryClasses { buffer: false, image: false, shared: false };
const IMAGE: ImageInst = ImageInst {
    op: ImageOp::Sample,
    dim: Dim::D2,
    arrayed: false,
    multisampled: false,
    lod: LodMode::Implicit,
    compare: false,
    offset: false,
    min_lod: false,
    sparse: false,
    access: ACCESS,
};
const MIMG: MimgInst = MimgInst {
    op: MimgOp::Sample,
    dim: MimgDim::D2,
    dmask: 0,
    unnormalized: false,
    compare: false,
    lod: LodMode::Implicit,
    clamp: false,
    offset: false,
    tfe: false,
    access: ACCESS,
};

/// Mnemonic and prototype of every operation that is not arithmetic or a constant.
const OPS: &[(&str, Op)] = &[
    ("undef", Op::Undef),
    ("compose", Op::Compose),
    ("extract", Op::Extract(0)),
    ("bitcast", Op::Bitcast),
    ("local_load", Op::LocalLoad { local: LocalId(0), align: Align::A1 }),
    ("local_store", Op::LocalStore { local: LocalId(0), align: Align::A1 }),
    ("const_load", Op::ConstLoad { table: ConstTableId(0), align: Align::A1 }),
    ("shared_load", Op::SharedLoad { align: Align::A1, access: ACCESS }),
    ("shared_store", Op::SharedStore { align: Align::A1, access: ACCESS }),
    ("shared_atomic", Op::SharedAtomic(AtomicOp::Load)),
    ("buffer_load", Op::BufferLoad { kind: BufferKind::Uniform, align: Align::A1, access: ACCESS }),
    ("buffer_store", Op::BufferStore { align: Align::A1, access: ACCESS }),
    ("buffer_atomic", Op::BufferAtomic { op: AtomicOp::Load, access: ACCESS }),
    ("buffer_size", Op::BufferSize),
    ("global_load", Op::GlobalLoad { align: Align::A1, access: ACCESS }),
    ("global_store", Op::GlobalStore { align: Align::A1, access: ACCESS }),
    ("global_atomic", Op::GlobalAtomic { op: AtomicOp::Load, access: ACCESS }),
    ("descriptor", Op::Descriptor { resource: ResourceId(0), part: DescriptorPart::Buffer, non_uniform: false }),
    ("push_constant", Op::PushConstant { align: Align::A1 }),
    ("load_input", Op::LoadInput { location: 0, component: 0, kind: NumericKind::Float, interp: Interp::Flat }),
    ("load_builtin", Op::load_builtin(BuiltIn::VertexIndex, 0)),
    ("store_output", Op::StoreOutput { slot: OutputSlot::Layer, kind: NumericKind::Float }),
    ("image", Op::Image(IMAGE)),
    ("subgroup_elect", Op::Subgroup(SubgroupOp::Elect)),
    ("subgroup_ballot", Op::Subgroup(SubgroupOp::Ballot)),
    ("subgroup_all", Op::Subgroup(SubgroupOp::All)),
    ("subgroup_any", Op::Subgroup(SubgroupOp::Any)),
    ("subgroup_all_equal", Op::Subgroup(SubgroupOp::AllEqual)),
    ("subgroup_broadcast", Op::Subgroup(SubgroupOp::Broadcast)),
    ("subgroup_broadcast_first", Op::Subgroup(SubgroupOp::BroadcastFirst)),
    ("subgroup_shuffle", Op::Subgroup(SubgroupOp::Shuffle)),
    ("subgroup_shuffle_xor", Op::Subgroup(SubgroupOp::ShuffleXor)),
    ("subgroup_shuffle_up", Op::Subgroup(SubgroupOp::ShuffleUp)),
    ("subgroup_shuffle_down", Op::Subgroup(SubgroupOp::ShuffleDown)),
    ("subgroup_rotate", Op::Subgroup(SubgroupOp::Rotate(0))),
    ("subgroup_reduce", Op::Subgroup(SubgroupOp::Reduce(ReduceOp::IAdd, 0))),
    ("subgroup_inclusive_scan", Op::Subgroup(SubgroupOp::InclusiveScan(ReduceOp::IAdd))),
    ("subgroup_exclusive_scan", Op::Subgroup(SubgroupOp::ExclusiveScan(ReduceOp::IAdd))),
    ("subgroup_quad_broadcast", Op::Subgroup(SubgroupOp::QuadBroadcast)),
    ("subgroup_quad_swap", Op::Subgroup(SubgroupOp::QuadSwap(QuadSwap::Horizontal))),
    ("derivative", Op::Derivative(DerivativeKind { vertical: false, fine: false })),
    (
        "barrier",
        Op::Barrier { exec: Scope::Workgroup, memory: Scope::Workgroup, order: FenceOrder::None, classes: CLASSES },
    ),
    ("fence", Op::Fence { scope: Scope::Workgroup, order: FenceOrder::None, classes: CLASSES }),
    ("demote_if", Op::DemoteIf),
    ("end_if_dead", Op::EndIfDead),
    ("is_helper", Op::IsHelper),
    ("within", Op::Within(0)),
    ("loop_token", Op::LoopToken),
    ("stay_in_loop", Op::StayInLoop),
    ("read_clock", Op::ReadClock(Scope::Device)),
    ("reloc", Op::Reloc(SymbolId(0))),
    ("opaque", Op::Opaque),
    ("address_high", Op::Target(AmdOp::AddressHigh)),
    ("workgroup_ids", Op::Target(AmdOp::WorkgroupIds(WorkgroupWord::X))),
    ("table_load", Op::Target(AmdOp::TableLoad { align: Align::A1 })),
    ("mimg", Op::Target(AmdOp::Mimg(MIMG))),
    ("texel_load", Op::Target(AmdOp::TexelLoad { sparse: false, access: ACCESS })),
    ("texel_store", Op::Target(AmdOp::TexelStore { access: ACCESS })),
    ("texel_atomic", Op::Target(AmdOp::TexelAtomic { op: AtomicOp::Load, access: ACCESS })),
    ("typed_load", Op::Target(AmdOp::TypedLoad { format: 0, offset: 0 })),
    ("interp", Op::Target(AmdOp::Interp { attr: 0, channel: 0 })),
    ("interp_mov", Op::Target(AmdOp::InterpMov { attr: 0, channel: 0, vertex: 0 })),
    (
        "export",
        Op::Target(AmdOp::Export {
            target: ExportTarget::Null,
            enable: 0,
            compressed: false,
            done: false,
            valid_mask: false,
        }),
    ),
    ("readfirstlane", Op::Target(AmdOp::Lane(LaneOp::ReadFirstLane))),
    ("readlane", Op::Target(AmdOp::Lane(LaneOp::ReadLane))),
    ("writelane", Op::Target(AmdOp::Lane(LaneOp::WriteLane))),
    ("ballot", Op::Target(AmdOp::Lane(LaneOp::Ballot))),
    ("mask_bit_count", Op::Target(AmdOp::Lane(LaneOp::MaskBitCount))),
    ("dpp", Op::Target(AmdOp::Lane(LaneOp::Dpp { ctrl: 0, row_mask: 0, bank_mask: 0, bound_zero: false }))),
    ("permlanex16", Op::Target(AmdOp::Lane(LaneOp::PermlaneX16 { low: 0, high: 0, fetch_inactive: false }))),
    ("bpermute", Op::Target(AmdOp::Lane(LaneOp::BPermute))),
    ("set_inactive", Op::Target(AmdOp::Lane(LaneOp::SetInactive))),
    ("strict_wwm", Op::Target(AmdOp::Lane(LaneOp::StrictWwm))),
    ("wqm", Op::Target(AmdOp::Lane(LaneOp::Wqm))),
    ("live_mask", Op::Target(AmdOp::Lane(LaneOp::LiveMask))),
    ("cube_id", Op::Target(AmdOp::Lane(LaneOp::CubeId))),
    ("cube_s", Op::Target(AmdOp::Lane(LaneOp::CubeS))),
    ("cube_t", Op::Target(AmdOp::Lane(LaneOp::CubeT))),
    ("cube_ma", Op::Target(AmdOp::Lane(LaneOp::CubeMa))),
];

/// Flags of float arithmetic, written `!name` after the operands.
pub(super) const FP_FLAGS: &[(&str, FpFlags)] = &[
    ("nocontract", FpFlags::NO_CONTRACT),
    ("nnan", FpFlags::NOT_NAN),
    ("ninf", FpFlags::NOT_INF),
    ("nsz", FpFlags::NO_SIGNED_ZERO),
    ("arcp", FpFlags::ALLOW_RECIPROCAL),
    ("reassoc", FpFlags::REASSOC),
    ("coarse", FpFlags::COARSE),
];

fn same_kind(a: &Op, b: &Op) -> bool {
    match (a, b) {
        (Op::Subgroup(a), Op::Subgroup(b)) => discriminant(a) == discriminant(b),
        (Op::Target(AmdOp::Lane(a)), Op::Target(AmdOp::Lane(b))) => discriminant(a) == discriminant(b),
        (Op::Target(a), Op::Target(b)) => discriminant(a) == discriminant(b),
        _ => discriminant(a) == discriminant(b),
    }
}

/// The mnemonic of an operation.
pub(super) fn mnemonic(op: &Op) -> &'static str {
    match op {
        Op::Const(_) => "const",
        Op::Alu(alu, _) => alu.name(),
        _ => OPS.iter().find(|(_, p)| same_kind(p, op)).map_or("?", |(n, _)| n),
    }
}

/// The prototype of a mnemonic.
pub(super) fn prototype(name: &str) -> Option<Op> {
    match name {
        "const" => Some(Op::Const(0)),
        _ => match AluOp::from_name(name) {
            Some(alu) => Some(Op::Alu(alu, FpFlags::NONE)),
            None => OPS.iter().find(|(n, _)| *n == name).map(|(_, p)| p.clone()),
        },
    }
}

/// Visits an operation's fields.
pub(super) fn payload<C: Codec>(op: &mut Op, c: &mut C) -> Text {
    match op {
        Op::Const(bits) => c.hex(bits),
        Op::Undef | Op::Alu(..) | Op::Compose | Op::Bitcast | Op::BufferSize => Ok(()),
        Op::DemoteIf | Op::EndIfDead | Op::IsHelper | Op::Opaque => Ok(()),
        Op::Target(AmdOp::AddressHigh) => Ok(()),
        Op::Target(AmdOp::WorkgroupIds(word)) => c.word(word),
        Op::LoopToken | Op::StayInLoop => Ok(()),
        Op::Extract(lane) => c.number("", lane),
        Op::Within(bound) => c.number("", bound),
        Op::LocalLoad { local, align } | Op::LocalStore { local, align } => {
            c.number("local", &mut local.0)?;
            c.align(align)
        }
        Op::ConstLoad { table, align } => {
            c.number("table", &mut table.0)?;
            c.align(align)
        }
        Op::SharedLoad { align, access: a }
        | Op::SharedStore { align, access: a }
        | Op::BufferStore { align, access: a }
        | Op::GlobalLoad { align, access: a }
        | Op::GlobalStore { align, access: a } => {
            c.align(align)?;
            access(a, c)
        }
        Op::BufferLoad { kind, align, access: a } => {
            c.word(kind)?;
            c.align(align)?;
            access(a, c)
        }
        Op::SharedAtomic(op) => c.word(op),
        Op::BufferAtomic { op, access: a }
        | Op::GlobalAtomic { op, access: a }
        | Op::Target(AmdOp::TexelAtomic { op, access: a }) => {
            c.word(op)?;
            access(a, c)
        }
        Op::Descriptor { resource, part, non_uniform } => {
            c.number("res", &mut resource.0)?;
            c.word(part)?;
            c.flag("non_uniform", non_uniform)
        }
        Op::PushConstant { align } | Op::Target(AmdOp::TableLoad { align }) => c.align(align),
        Op::LoadInput { location, component, kind, interp } => {
            c.number("location", location)?;
            c.number("component", component)?;
            c.word(kind)?;
            c.word(interp)?;
            match interp {
                Interp::Flat => Ok(()),
                Interp::At { perspective, place } => {
                    c.flag("perspective", perspective)?;
                    c.word(place)
                }
                Interp::Vertex(n) => c.number("", n),
            }
        }
        Op::LoadBuiltIn { builtin, component, place } => {
            c.word(builtin)?;
            c.number("component", component)?;
            if builtin.is_interpolated() { c.word(place) } else { Ok(()) }
        }
        Op::StoreOutput { slot, kind } => {
            c.word(slot)?;
            match slot {
                OutputSlot::Location { location, component, index } => {
                    c.number("", location)?;
                    c.number("component", component)?;
                    c.number("index", index)?;
                }
                OutputSlot::Position(n) | OutputSlot::ClipDistance(n) | OutputSlot::CullDistance(n) => {
                    c.number("", n)?;
                }
                _ => {}
            }
            c.word(kind)
        }
        Op::Image(inst) => image(inst, c),
        Op::Subgroup(op) => match op {
            SubgroupOp::Rotate(cluster) => c.number("cluster", cluster),
            SubgroupOp::Reduce(reduce, cluster) => {
                c.word(reduce)?;
                c.number("cluster", cluster)
            }
            SubgroupOp::InclusiveScan(reduce) | SubgroupOp::ExclusiveScan(reduce) => c.word(reduce),
            SubgroupOp::QuadSwap(swap) => c.word(swap),
            _ => Ok(()),
        },
        Op::Derivative(kind) => {
            c.flag("vertical", &mut kind.vertical)?;
            c.flag("fine", &mut kind.fine)
        }
        Op::Barrier { exec, memory, order, classes: m } => {
            c.word(exec)?;
            c.word(memory)?;
            c.word(order)?;
            classes(m, c)
        }
        Op::Fence { scope, order, classes: m } => {
            c.word(scope)?;
            c.word(order)?;
            classes(m, c)
        }
        Op::ReadClock(scope) => c.word(scope),
        Op::Reloc(symbol) => c.number("sym", &mut symbol.0),
        Op::Target(AmdOp::Mimg(inst)) => mimg(inst, c),
        Op::Target(AmdOp::TexelLoad { sparse, access: a }) => {
            c.flag("sparse", sparse)?;
            access(a, c)
        }
        Op::Target(AmdOp::TexelStore { access: a }) => access(a, c),
        Op::Target(AmdOp::TypedLoad { format, offset }) => {
            c.number("format", format)?;
            c.number("offset", offset)
        }
        Op::Target(AmdOp::Interp { attr, channel }) => {
            c.number("attr", attr)?;
            c.number("channel", channel)
        }
        Op::Target(AmdOp::InterpMov { attr, channel, vertex }) => {
            c.number("attr", attr)?;
            c.number("channel", channel)?;
            c.number("vertex", vertex)
        }
        Op::Target(AmdOp::Export { target, enable, compressed, done, valid_mask }) => {
            c.word(target)?;
            if let ExportTarget::Mrt(n) | ExportTarget::Pos(n) | ExportTarget::Param(n) = target {
                c.number("", n)?;
            }
            c.hex(enable)?;
            c.flag("compressed", compressed)?;
            c.flag("done", done)?;
            c.flag("vm", valid_mask)
        }
        Op::Target(AmdOp::Lane(op)) => match op {
            LaneOp::Dpp { ctrl, row_mask, bank_mask, bound_zero } => {
                c.hex(ctrl)?;
                c.hex(row_mask)?;
                c.hex(bank_mask)?;
                c.flag("bound_zero", bound_zero)
            }
            LaneOp::PermlaneX16 { low, high, fetch_inactive } => {
                c.hex(low)?;
                c.hex(high)?;
                c.flag("fetch_inactive", fetch_inactive)
            }
            _ => Ok(()),
        },
    }
}

fn access<C: Codec>(a: &mut Access, c: &mut C) -> Text {
    c.flag("coherent", &mut a.coherent)?;
    c.flag("volatile", &mut a.volatile)?;
    c.flag("nontemporal", &mut a.nontemporal)?;
    c.flag("non_uniform", &mut a.non_uniform)?;
    c.flag("divergent", &mut a.divergent)?;
    c.flag("read_only", &mut a.read_only)?;
    c.flag("live_only", &mut a.live_only)
}

fn classes<C: Codec>(m: &mut MemoryClasses, c: &mut C) -> Text {
    c.flag("buffer", &mut m.buffer)?;
    c.flag("image", &mut m.image)?;
    c.flag("shared", &mut m.shared)
}

fn image<C: Codec>(i: &mut ImageInst, c: &mut C) -> Text {
    c.word(&mut i.op)?;
    match &mut i.op {
        ImageOp::Gather(component) => c.number("", component)?,
        ImageOp::Atomic(op) => c.word(op)?,
        _ => {}
    }
    c.word(&mut i.dim)?;
    c.flag("arrayed", &mut i.arrayed)?;
    c.flag("ms", &mut i.multisampled)?;
    c.word(&mut i.lod)?;
    c.flag("compare", &mut i.compare)?;
    c.flag("offset", &mut i.offset)?;
    c.flag("min_lod", &mut i.min_lod)?;
    c.flag("sparse", &mut i.sparse)?;
    access(&mut i.access, c)
}

fn mimg<C: Codec>(i: &mut MimgInst, c: &mut C) -> Text {
    c.word(&mut i.op)?;
    if let MimgOp::Atomic(op) = &mut i.op {
        c.word(op)?;
    }
    c.word(&mut i.dim)?;
    c.hex(&mut i.dmask)?;
    c.word(&mut i.lod)?;
    c.flag("unnormalized", &mut i.unnormalized)?;
    c.flag("compare", &mut i.compare)?;
    c.flag("clamp", &mut i.clamp)?;
    c.flag("offset", &mut i.offset)?;
    c.flag("tfe", &mut i.tfe)?;
    access(&mut i.access, c)
}

/// Execution modes except the specialization values, which have lines of their own.
pub(super) fn modes<C: Codec>(m: &mut Modes, c: &mut C) -> Text {
    for n in &mut m.local_size {
        c.number("", n)?;
    }
    c.flag("early_fragment_tests", &mut m.early_fragment_tests)?;
    c.word(&mut m.depth)?;
    c.flag("pixel_center_integer", &mut m.pixel_center_integer)?;
    for d in &mut m.denorm {
        c.word(d)?;
    }
    for r in &mut m.round {
        c.word(r)?;
    }
    c.flag("per_sample", &mut m.per_sample)?;
    c.flag("post_depth_coverage", &mut m.post_depth_coverage)?;
    let [mut quads, mut linear] = [DerivativeGroup::Quads, DerivativeGroup::Linear].map(|group| m.derivatives == group);
    c.flag("quads", &mut quads)?;
    c.flag("linear_quads", &mut linear)?;
    m.derivatives = match (quads, linear) {
        (true, _) => DerivativeGroup::Quads,
        (_, true) => DerivativeGroup::Linear,
        _ => DerivativeGroup::None,
    };
    Ok(())
}

/// A scratch variable.
pub(super) fn local<C: Codec>(l: &mut Local, c: &mut C) -> Text {
    c.string(&mut l.name)?;
    c.number("", &mut l.bytes)?;
    c.align(&mut l.align)
}

/// A resource binding.
pub(super) fn resource<C: Codec>(r: &mut Resource, c: &mut C) -> Text {
    c.string(&mut r.name)?;
    c.number("set", &mut r.set)?;
    c.number("binding", &mut r.binding)?;
    c.word(&mut r.kind)?;
    let mut unbounded = r.count.is_none();
    c.flag("unbounded", &mut unbounded)?;
    if unbounded {
        r.count = None;
    } else {
        let mut count = r.count.unwrap_or(1);
        c.number("count", &mut count)?;
        r.count = Some(count);
    }
    c.flag("written", &mut r.written)
}

/// An entry argument.
pub(super) fn entry_arg<C: Codec>(a: &mut EntryArg, c: &mut C) -> Text {
    c.word(&mut a.class)?;
    c.ty(&mut a.ty)?;
    c.word(&mut a.role)?;
    match &mut a.role {
        ArgRole::UserData(name) => c.string(name),
        ArgRole::System(name) => {
            let mut text = Name::from(*name);
            c.string(&mut text)?;
            // Only parsed text has another name; such shaders occur in tests and tools, and the names are few.
            if *text != **name {
                *name = text.to_string().leak();
            }
            Ok(())
        }
        ArgRole::VertexInput { location, component } => {
            c.number("location", location)?;
            c.number("component", component)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics_are_unique_and_lead_back() {
        for (name, op) in OPS {
            assert_eq!(mnemonic(op), *name);
            assert_eq!(prototype(name).as_ref(), Some(op));
        }
        for &alu in AluOp::ALL {
            assert_eq!(prototype(alu.name()), Some(Op::Alu(alu, FpFlags::NONE)));
        }
    }
}
