//! Operands of memory accesses and exports, and their numbers of registers.

use crate::{Op, OpcodeRow, OperandKind, Scalar, Src, Traits, Vgpr};

/// Cache policy bits of a memory access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CachePolicy {
    /// Globally coherent.
    pub glc: bool,
    /// System level coherent.
    pub slc: bool,
    /// Device level coherent.
    pub dlc: bool,
}

/// Local data share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsFields {
    /// First register returned.
    pub dst: Vgpr,
    /// Byte address register.
    pub addr: Vgpr,
    /// First registers of the data.
    pub data: [Vgpr; 2],
    /// Offsets: two 8-bit ones, or one 16-bit one in the first.
    pub offsets: [u8; 2],
    /// Global data share.
    pub gds: bool,
}

/// Access to memory by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatFields {
    /// First register returned.
    pub dst: Vgpr,
    /// Address, or offset.
    pub addr: Vgpr,
    /// First register of the data.
    pub data: Vgpr,
    /// Scalar address.
    pub saddr: Option<Scalar>,
    /// No vector address (scratch only).
    pub no_vaddr: bool,
    /// Byte offset.
    pub offset: i32,
    /// Direct to LDS.
    pub lds: bool,
    /// Cache policy; `glc` makes an atomic return.
    pub cache: CachePolicy,
}

/// Buffer access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferFields {
    /// First register of the data.
    pub data: Vgpr,
    /// First register of index and offset.
    pub vaddr: Vgpr,
    /// `vaddr` has an index.
    pub idxen: bool,
    /// `vaddr` has an offset.
    pub offen: bool,
    /// First register of the descriptor.
    pub resource: Scalar,
    /// Scalar offset.
    pub soffset: Src,
    /// Constant offset.
    pub offset: u16,
    /// Format number of a typed access.
    pub format: Option<u8>,
    /// Direct to LDS.
    pub lds: bool,
    /// A status dword follows the data.
    pub tfe: bool,
    /// Cache policy; `glc` makes an atomic return.
    pub cache: CachePolicy,
}

/// Image access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageFields {
    /// First register of the data.
    pub data: Vgpr,
    /// Address registers: the first of a group, or (`nsa`) each of them.
    pub addresses: Addresses,
    /// Addresses are single registers.
    pub nsa: bool,
    /// First register of the image descriptor.
    pub resource: Scalar,
    /// First register of the sampler descriptor.
    pub sampler: Scalar,
    /// Dimension: 0 1D, 1 2D, 2 3D, 3 cube, 4 1D array, 5 2D array, 6 multisampled, 7 multisampled array.
    pub dim: u8,
    /// Component mask.
    pub dmask: u8,
    /// Coordinates are in texels.
    pub unorm: bool,
    /// The descriptor has four dwords.
    pub r128: bool,
    /// Addresses are 16-bit.
    pub a16: bool,
    /// Data are 16-bit.
    pub d16: bool,
    /// A status dword follows the data.
    pub tfe: bool,
    /// LOD warning enable.
    pub lwe: bool,
    /// Cache policy; `glc` makes an atomic return.
    pub cache: CachePolicy,
}

/// An export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportFields {
    /// Target number.
    pub target: u8,
    /// Component mask.
    pub enabled: u8,
    /// Registers.
    pub data: [Vgpr; 4],
    /// Data are two registers of two 16-bit components.
    pub compr: bool,
    /// Last of its kind.
    pub done: bool,
    /// EXEC is the mask of valid pixels.
    pub vm: bool,
}

impl DsFields {
    /// Registers that it reads, each with its kind.
    pub fn sources(&self, entry: &OpcodeRow) -> impl Iterator<Item = (Vgpr, OperandKind)> + use<> {
        let [first, second] = self.data;
        let own = entry.is(Traits::OWN_ADDRESS);
        let registers = if own { [first, first, second] } else { [self.addr, first, second] };
        registers.into_iter().zip(entry.src.iter().copied())
    }
}

impl BufferFields {
    /// Number of index and offset registers.
    pub fn address_registers(&self) -> u8 {
        u8::from(self.idxen) + u8::from(self.offen)
    }
}

/// Address registers of an image access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    list: [Vgpr; Self::MOST],
    count: u8,
}

impl Addresses {
    /// Limit of the longest encoding: one register, and four for each of three more dwords.
    pub const MOST: usize = 13;

    /// An address of these registers; those beyond [`Addresses::MOST`] are dropped.
    pub fn new(registers: &[Vgpr]) -> Self {
        let mut list = [Vgpr(0); Self::MOST];
        list.iter_mut().zip(registers).for_each(|(to, from)| *to = *from);
        Self { list, count: registers.len().min(Self::MOST) as u8 }
    }

    /// The registers.
    pub fn as_slice(&self) -> &[Vgpr] {
        self.list.get(..usize::from(self.count)).unwrap_or(&self.list)
    }
}

impl ImageFields {
    /// The register of address dword `n`.
    pub fn address(&self, n: usize) -> Option<Vgpr> {
        let addresses = self.addresses.as_slice();
        if self.nsa {
            return addresses.get(n).copied();
        }
        addresses.first()?.0.checked_add(u8::try_from(n).ok()?).map(Vgpr)
    }

    /// Number of dwords after the first two, with four addresses each.
    pub fn nsa_dwords(&self) -> u8 {
        let more = self.addresses.count.saturating_sub(1);
        if self.nsa { more.div_ceil(4) } else { 0 }
    }

    /// Number of data registers, without the status dword.
    pub fn data_registers(&self, entry: &OpcodeRow) -> u8 {
        let components =
            if entry.is(Traits::FOUR) { 4 } else { u8::try_from(self.dmask.count_ones().max(1)).unwrap_or(1) };
        if self.d16 { components.div_ceil(2) } else { components }
    }

    /// Number of status registers after the data.
    pub fn status_registers(&self) -> u8 {
        u8::from(self.tfe || self.lwe)
    }

    /// Number of registers of the image descriptor.
    pub fn resource_registers(&self, entry: &OpcodeRow) -> u8 {
        if self.r128 || entry.is(Traits::RAY) { 4 } else { 8 }
    }

    /// Number of address dwords.
    pub fn address_registers(&self, entry: &OpcodeRow) -> u8 {
        let count = |traits: &[Traits]| traits.iter().map(|one| u8::from(entry.is(*one))).sum::<u8>();
        if entry.is(Traits::SIZE_QUERY) {
            return 1;
        }
        if entry.is(Traits::RAY) {
            // Node (of one or two dwords) and extent; origin, direction and its inverse.
            let wide = u8::from(entry.op == Op::ImageBvh64IntersectRay);
            return 2 + wide + if self.a16 { 6 } else { 9 };
        }
        // Coordinates that have gradients, and the others: layer or face, sample.
        let (axes, others): (u8, u8) = match self.dim {
            0 => (1, 0),
            2 => (3, 0),
            3 | 5 | 6 => (2, 1),
            4 => (1, 1),
            7 => (2, 2),
            _ => (2, 0),
        };
        let alone = count(&[Traits::OFFSET, Traits::BIAS, Traits::REFERENCE]);
        let direction = if entry.is(Traits::G16) { axes.div_ceil(2) } else { axes };
        let gradients = if entry.is(Traits::GRADIENTS) { 2 * direction } else { 0 };
        let coordinates = axes + others + count(&[Traits::LEVEL, Traits::LEAST_LEVEL]);
        alone + gradients + if self.a16 { coordinates.div_ceil(2) } else { coordinates }
    }
}
