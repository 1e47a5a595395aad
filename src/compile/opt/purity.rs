//! What an operation's result depends on besides its operands: this decides which instructions are equal, and how long.

use dovetail_ir::{Access, AmdOp, ImageOp, LaneOp, MimgOp, Op};

/// State that may change the result of an operation with unchanged operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depends {
    /// No state.
    Nothing,
    /// Stores to this memory.
    Memory(Memory),
    /// The set of lanes that run it.
    Lanes,
    /// Anything: no two such instructions are equal.
    Anything,
}

/// Kinds of memory: accesses to different kinds do not alias, unless synchronized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Memory {
    /// Buffers, texel buffers, memory by address.
    Buffers,
    /// Images.
    Images,
    /// Workgroup memory.
    Shared,
    /// Scratch variables.
    Locals,
}

impl Memory {
    /// Number of kinds.
    pub const COUNT: usize = 4;
}

/// The state that the result of an operation depends on.
pub(super) fn depends(op: &Op) -> Depends {
    let load = |access: Access, memory| {
        if access.volatile || access.coherent { Depends::Anything } else { Depends::Memory(memory) }
    };
    match *op {
        Op::Const(_) | Op::Undef | Op::Alu(..) | Op::Compose | Op::Extract(_) | Op::Bitcast => Depends::Nothing,
        Op::ConstLoad { .. }
        | Op::Target(AmdOp::TableLoad { .. })
        | Op::Reloc(_)
        | Op::Target(AmdOp::AddressHigh | AmdOp::WorkgroupIds(_)) => Depends::Nothing,
        Op::Descriptor { .. } | Op::PushConstant { .. } | Op::BufferSize => Depends::Nothing,
        Op::LoadInput { .. } | Op::LoadBuiltIn { .. } => Depends::Nothing,
        Op::Target(AmdOp::Interp { .. })
        | Op::Target(AmdOp::InterpMov { .. })
        | Op::Target(AmdOp::TypedLoad { .. }) => Depends::Nothing,
        Op::BufferLoad { kind, access, .. } if access.is_unwritten(kind) && !access.volatile => Depends::Nothing,
        Op::GlobalLoad { access, .. } if access.read_only && !access.volatile => Depends::Nothing,
        Op::BufferLoad { access, .. } | Op::GlobalLoad { access, .. } | Op::Target(AmdOp::TexelLoad { access, .. }) => {
            load(access, Memory::Buffers)
        }
        Op::SharedLoad { access, .. } => load(access, Memory::Shared),
        Op::LocalLoad { .. } => Depends::Memory(Memory::Locals),
        Op::Target(AmdOp::Mimg(image)) => match image.op {
            MimgOp::GetResinfo => Depends::Nothing,
            MimgOp::Sample | MimgOp::Gather4 | MimgOp::GetLod | MimgOp::Load | MimgOp::LoadMip => {
                load(image.access, Memory::Images)
            }
            MimgOp::Store | MimgOp::StoreMip | MimgOp::Atomic(_) => Depends::Anything,
        },
        Op::Image(image) => match image.op {
            ImageOp::QuerySize | ImageOp::QueryLevels | ImageOp::QuerySamples => Depends::Nothing,
            ImageOp::Store | ImageOp::Atomic(_) => Depends::Anything,
            _ => load(image.access, Memory::Images),
        },
        Op::Target(AmdOp::Lane(amd)) => match amd {
            LaneOp::CubeId | LaneOp::CubeS | LaneOp::CubeT | LaneOp::CubeMa | LaneOp::MaskBitCount => Depends::Nothing,
            LaneOp::ReadFirstLane | LaneOp::ReadLane | LaneOp::Ballot | LaneOp::BPermute => Depends::Lanes,
            _ => Depends::Anything,
        },
        _ => Depends::Anything,
    }
}

/// State that an operation changes, for operations without an entry in the table of equal instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    /// Nothing that another operation depends on.
    Nothing,
    /// One kind of memory.
    Memory(Memory),
    /// All memory that other invocations see, and which lanes run.
    Everything,
}

/// The state that an operation changes.
pub(super) fn changes(op: &Op) -> Changes {
    match op {
        Op::LocalStore { .. } => Changes::Memory(Memory::Locals),
        Op::SharedStore { .. } | Op::SharedAtomic(_) => Changes::Memory(Memory::Shared),
        Op::BufferStore { .. } | Op::BufferAtomic { .. } | Op::GlobalStore { .. } | Op::GlobalAtomic { .. } => {
            Changes::Memory(Memory::Buffers)
        }
        Op::Target(AmdOp::TexelStore { .. }) | Op::Target(AmdOp::TexelAtomic { .. }) => {
            Changes::Memory(Memory::Buffers)
        }
        Op::Target(AmdOp::Mimg(image)) => match image.op {
            MimgOp::Store | MimgOp::StoreMip | MimgOp::Atomic(_) => Changes::Memory(Memory::Images),
            _ => Changes::Nothing,
        },
        // At the upper level, a texel buffer is an image.
        Op::Image(image) => match image.op {
            ImageOp::Store | ImageOp::Atomic(_) => Changes::Everything,
            _ => Changes::Nothing,
        },
        Op::Barrier { .. } | Op::Fence { .. } | Op::DemoteIf => Changes::Everything,
        _ => Changes::Nothing,
    }
}

/// Whether two operations give the same result from the same operands; known alignment, and knowledge about uniform
/// operands, do not matter.
pub(super) fn same(a: &Op, b: &Op) -> bool {
    let plain = |access: Access| Access { divergent: false, ..access };
    match (a, b) {
        (Op::BufferLoad { kind, access, .. }, Op::BufferLoad { kind: kind2, access: access2, .. }) => {
            kind == kind2 && plain(*access) == plain(*access2)
        }
        (Op::GlobalLoad { access, .. }, Op::GlobalLoad { access: access2, .. }) => access == access2,
        (Op::SharedLoad { access, .. }, Op::SharedLoad { access: access2, .. }) => access == access2,
        (Op::LocalLoad { local, .. }, Op::LocalLoad { local: local2, .. }) => local == local2,
        (Op::ConstLoad { table, .. }, Op::ConstLoad { table: table2, .. }) => table == table2,
        (Op::Target(AmdOp::TableLoad { .. }), Op::Target(AmdOp::TableLoad { .. })) => true,
        (Op::PushConstant { .. }, Op::PushConstant { .. }) => true,
        _ => a == b,
    }
}
