//! Instructions: an operation of the target's table, or one of the few pseudo operations that become several
//! instructions or none.

use dovetail_ir::SymbolId;
use dovetail_isa::instruction::{CachePolicy, Dpp16, Modifiers, Sdwa};
use dovetail_isa::{Isa, Op, Traits};
use dovetail_reloc::symbol::PartLetter;
use std::ops::Range;

/// An instruction. Its operands are in [`super::MachineFunction::operands`], definitions first. Order of uses by
/// format:
///
/// | format | uses |
/// | --- | --- |
/// | scalar, vector | the sources of the table's row; a carry or select mask is the last one |
/// | SMEM | base (run of 2, descriptor: 4), offset register (run of 1, only if there is one) |
/// | SMEM with [`Extra::Descriptors`] | address of the set's table, address of the root table (a run of 2 each, the second only if a descriptor may be there) |
/// | DS | address, data 0, data 1 (as many as the row has) |
/// | FLAT | vector address (run of 1 with a scalar address, else 2), data (if any), scalar address (run of 2, if any) |
/// | MUBUF, MTBUF | index and offset (run of 0 to 2), descriptor (run of 4), scalar offset, data (if any) |
/// | MIMG | address (a run, or single registers: `nsa`), descriptor (run of 8), sampler (run of 4, if any), data (if any) |
/// | EXP | four registers, undefined where not enabled |
/// | interpolation | coordinate (p1 and p2 only), then M0 as a fixed register |
///
/// An instruction that keeps a part of its old destination (or an accumulator, or an atomic's data that become its
/// result) has the old destination as its last run, tied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineInst {
    /// Operation.
    pub op: Opcode,
    /// Index of the first operand.
    pub operands: u32,
    /// Number of operands defined.
    pub defs: u8,
    /// Number of operands used.
    pub uses: u8,
    /// The last run of uses is in the same registers as the first run of definitions. If the encoding has no such
    /// operand (`v_fmac`, DPP with an old value), the run exists only to be tied.
    pub tied: bool,
    /// Fields of the encoding that are not registers.
    pub extra: Extra,
}

/// Operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// An instruction of the target.
    Isa(Op),
    /// A pseudo operation.
    Pseudo(Pseudo),
}

/// Operations that are not a single instruction of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pseudo {
    /// Defines each definition from the use with the same index, all at once: scalar from scalar or constant; vector
    /// from anything, constant or relocation. Each operand is a run of its own. Becomes moves that do not change SCC.
    Copy,
    /// The results of a body with an epilog, each in any VGPR, a constant or undefined. The last instruction before the tail
    /// of the block that ends in [`super::Term::Joint`]. No code.
    Return,
    /// The address of a constant table: defines a pair. Becomes `s_getpc` and an addition; writes SCC.
    TableAddress,
    /// Gives the first of two scalar values if the symbol of [`Extra::Choice`] is not 0, otherwise the second. The
    /// linker makes it a move of one of them; it does not use SCC.
    Choose,
    /// A barrier for the scheduler: nothing moves across it. No code.
    Fence,
}

/// Fields that are not registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extra {
    /// None.
    None,
    /// Constant of SOPK and SOPP.
    Imm(u16),
    /// Vector arithmetic.
    Vector(Modifiers),
    /// Vector arithmetic with source 0 from other lanes.
    Dpp(Dpp16),
    /// Vector arithmetic on parts of registers.
    Sdwa(Sdwa, Modifiers),
    /// SMEM.
    Smem {
        /// Byte offset.
        offset: i32,
        /// Cache policy.
        cache: CachePolicy,
    },
    /// DS.
    Ds {
        /// Offsets as in the encoding.
        offsets: [u8; 2],
    },
    /// FLAT, GLOBAL, SCRATCH.
    Flat {
        /// Byte offset.
        offset: i32,
        /// The last run of uses before the tied one is a scalar address.
        saddr: bool,
        /// Cache policy.
        cache: CachePolicy,
    },
    /// MUBUF, MTBUF.
    Buffer {
        /// Constant offset.
        offset: u32,
        /// The address has an index.
        idxen: bool,
        /// The address has an offset.
        offen: bool,
        /// Format number of a typed access.
        format: Option<u8>,
        /// Cache policy.
        cache: CachePolicy,
    },
    /// MUBUF: a texel by its index, with a status dword after it.
    SparseTexel {
        /// Cache policy.
        cache: CachePolicy,
    },
    /// MIMG.
    Image {
        /// Dimension, as in the encoding.
        dim: u8,
        /// Channels.
        dmask: u8,
        /// Coordinates in texels.
        unorm: bool,
        /// A status dword follows the data.
        tfe: bool,
        /// Data are 16-bit.
        d16: bool,
        /// Addresses are single registers.
        nsa: bool,
        /// Cache policy.
        cache: CachePolicy,
    },
    /// EXP.
    Export {
        /// Target number.
        target: u8,
        /// Channels.
        enabled: u8,
        /// Pairs of 16 bits.
        compr: bool,
        /// Last of its kind.
        done: bool,
        /// EXEC is the mask of valid pixels.
        vm: bool,
    },
    /// Interpolation.
    Interp {
        /// Attribute.
        attr: u8,
        /// Channel.
        channel: u8,
        /// Selector of `v_interp_mov`: 0 P10, 1 P20, 2 P0.
        vertex: u8,
    },
    /// Number of the table, for [`Pseudo::TableAddress`].
    Table(u32),
    /// The symbol whose value [`Pseudo::Choose`] selects by.
    Choice(SymbolId),
    /// Descriptors whose places the linker decides: a range of [`super::MachineFunction::descriptors`]. They are
    /// loaded one by one, unless the linker finds neighbours.
    Descriptors {
        /// First of them.
        first: u32,
        /// Their number.
        count: u8,
    },
    /// An `s_mov_b32` that the linker removes unless a buffer is in the root table.
    ForRootBuffers,
}

/// A descriptor whose place the linker decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkedDescriptor {
    /// Set, binding and part, the order in which layouts usually place descriptors.
    pub order: (u32, u32, PartLetter),
    /// The symbol of its offset.
    pub offset: SymbolId,
    /// The symbol that says whether it is in the root table.
    pub in_root: Option<SymbolId>,
    /// Its size.
    pub dwords: u8,
}

impl MachineInst {
    /// The places among all operands of those that it uses.
    pub fn use_places(&self) -> Range<usize> {
        let start = self.operands as usize + usize::from(self.defs);
        start..start + usize::from(self.uses)
    }

    /// The target's operation.
    pub const fn isa(&self) -> Option<Op> {
        match self.op {
            Opcode::Isa(op) => Some(op),
            Opcode::Pseudo(_) => None,
        }
    }

    /// Whether its row in the table has any of these traits.
    pub fn is(&self, isa: &'static Isa, traits: Traits) -> bool {
        self.isa().is_some_and(|op| isa.row(op).is(traits))
    }

    /// Whether it writes a result before it has read all sources.
    pub fn writes_early(&self, isa: &'static Isa) -> bool {
        self.is(isa, Traits::EARLY) || matches!(self.extra, Extra::Descriptors { count: 2.., .. })
    }

    /// Whether it begins code that all lanes run, including lanes that wait elsewhere.
    pub fn turns_all_lanes_on(&self) -> bool {
        matches!(self.isa(), Some(Op::SOrSaveexecB32 | Op::SOrSaveexecB64))
    }

    /// Whether it changes SCC.
    pub fn writes_scc(&self, isa: &'static Isa) -> bool {
        self.op == Opcode::Pseudo(Pseudo::TableAddress) || self.is(isa, Traits::SCC_OUT)
    }
}
