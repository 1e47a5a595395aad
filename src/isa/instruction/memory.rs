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
    /// gfx12: the caches that the access passes by. 0: none; 1: those of a compute unit, 2: of a shader engine, 3: all of the
    /// device's.
    pub scope: u8,
    /// gfx12: what its data are kept for (temporal hint), numbered by kind of access. Of an atomic bit 0 is set if it returns
    /// the old value.
    pub hint: u8,
}

impl CachePolicy {
    /// Whether a load with this policy sees what waves elsewhere have stored.
    pub const fn sees_others(self) -> bool {
        self.glc || self.scope > 1
    }

    /// Whether an atomic with this policy returns the old value.
    pub const fn returns(self) -> bool {
        self.glc || self.hint & 1 == 1
    }
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

/// Parameters or other data of LDS, to registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdsDirectFields {
    /// Result. A parameter's three values are in the first lanes of each quad.
    pub dst: Vgpr,
    /// Attribute number.
    pub attribute: u8,
    /// Its channel.
    pub channel: u8,
    /// Vector operations that may be outstanding.
    pub wait: u8,
    /// gfx12: vector memory may still read its registers.
    pub memory: bool,
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
    /// Cache policy; [`CachePolicy::returns`] of an atomic.
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
    pub offset: u32,
    /// Format number of a typed access.
    pub format: Option<u8>,
    /// Direct to LDS.
    pub lds: bool,
    /// A status dword follows the data.
    pub tfe: bool,
    /// Cache policy; [`CachePolicy::returns`] of an atomic.
    pub cache: CachePolicy,
}

/// Image access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageFields {
    /// First register of the data.
    pub data: Vgpr,
    /// Address registers: the first of a group, or (`nsa`) each of them.
    pub addresses: Addresses,
    /// Addresses are single registers, or groups of them.
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
    /// Cache policy; [`CachePolicy::returns`] of an atomic.
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
    /// M0 has the row of a mesh shader's output.
    pub row: bool,
}

impl DsFields {
    /// Registers that it reads, each with its kind.
    pub fn sources(&self, entry: &OpcodeRow) -> impl Iterator<Item = (Vgpr, OperandKind)> + use<> {
        let [first, second] = self.data;
        let none = entry.is(Traits::OWN_ADDRESS.or(Traits::NO_ADDRESS));
        let registers = if none { [first, first, second] } else { [self.addr, first, second] };
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
    /// Registers that the encoding names; each of the others follows the one before it.
    named: u8,
}

impl Addresses {
    /// Limit of the longest encoding: one register, and four for each of three more dwords.
    pub const MOST: usize = 13;

    /// An address of these registers, each named; those beyond [`Addresses::MOST`] are dropped.
    pub fn new(registers: &[Vgpr]) -> Self {
        let mut list = [Vgpr(0); Self::MOST];
        list.iter_mut().zip(registers).for_each(|(to, from)| *to = *from);
        let count = registers.len().min(Self::MOST) as u8;
        Self { list, count, named: count }
    }

    /// An address of groups of registers, each by its first register and its length; registers beyond
    /// [`Addresses::MOST`] or the register file are dropped.
    pub fn grouped(groups: &[(Vgpr, u8)]) -> Self {
        let mut out = Self { list: [Vgpr(0); Self::MOST], count: 0, named: groups.len() as u8 };
        let all = groups.iter().flat_map(|(first, count)| (0..*count).filter_map(|n| first.0.checked_add(n)));
        for (to, v) in out.list.iter_mut().zip(all) {
            *to = Vgpr(v);
            out.count += 1;
        }
        out
    }

    /// Number of registers that the encoding names.
    pub const fn named(&self) -> u8 {
        self.named
    }

    /// The registers.
    pub fn as_slice(&self) -> &[Vgpr] {
        self.list.get(..usize::from(self.count)).unwrap_or(&self.list)
    }
}

/// Lengths of groups of address registers.
pub(crate) struct Groups {
    lengths: [u8; Addresses::MOST],
    count: u8,
}

impl Groups {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, u8> {
        self.lengths.get(..usize::from(self.count)).unwrap_or(&self.lengths).iter()
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

    /// Lengths of the groups that separate addresses are named by, if the encoding has such: a ray's vectors, or single
    /// addresses, of which the last one that there is room for (`most`) begins a run with the rest. `None`: addresses are
    /// not separate, or each is named.
    pub(crate) fn address_groups(&self, entry: &OpcodeRow, groups: bool, most: usize) -> Option<Groups> {
        if !self.nsa || !groups {
            return None;
        }
        let count = self.address_registers(entry);
        let mut groups = Groups { lengths: [1; Addresses::MOST], count };
        match () {
            () if entry.is(Traits::RAY) => {
                // Node and extent; origin, direction and its inverse, of which halves share registers. Of trees of eight:
                // the tree's address, extent and mask of instances, origin, direction, one or two nodes.
                groups.count = if self.a16 { 4 } else { 5 };
                let lengths: [u8; 5] = match entry.op {
                    Op::ImageBvhDualIntersectRay => [2, 2, 3, 3, 2],
                    Op::ImageBvh8IntersectRay => [2, 2, 3, 3, 1],
                    Op::ImageBvh64IntersectRay => [2, 1, 3, 3, 3],
                    _ => [1, 1, 3, 3, 3],
                };
                groups.lengths.iter_mut().zip(lengths).for_each(|(to, length)| *to = length);
            }
            () if usize::from(count) > most => {
                let last = (most as u8).saturating_sub(1);
                *groups.lengths.get_mut(usize::from(last))? = count - last;
                groups.count = most as u8;
            }
            () => return None,
        }
        Some(groups)
    }

    /// Number of dwords after the first two, with four addresses each. A format of three has fields for them.
    pub fn nsa_dwords(&self, entry: &OpcodeRow) -> u8 {
        let more = self.addresses.named.saturating_sub(1);
        if self.nsa && entry.dwords == 2 { more.div_ceil(4) } else { 0 }
    }

    /// Number of data registers, without the status dword.
    pub fn data_registers(&self, entry: &OpcodeRow) -> u8 {
        if let Op::ImageBvhDualIntersectRay | Op::ImageBvh8IntersectRay = entry.op {
            return 10;
        }
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
            if let Op::ImageBvhDualIntersectRay | Op::ImageBvh8IntersectRay = entry.op {
                return if entry.op == Op::ImageBvh8IntersectRay { 11 } else { 12 };
            }
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
