//! Buffer access through a V# (isa-gfx10 4.1, 4.2): addresses, range rules, formats.
//!
//! Every dword is checked on its own, so a wide access may be half in range (K). If the descriptor's rule says that an
//! access is out of range, a read gives 0 and a store does nothing; an access in range must be inside an allocation.

use super::access::{self, Element};
use super::atomic::{self, Cell, MemoryAtomic};
use super::format::DataFormat;
use super::memory::Memory;
use super::wave::Wave;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::FamilyFacts;
use dovetail_isa::instruction::{BufferFields, Instruction};
use dovetail_isa::{BufferFormat, Isa, Op, OpcodeRow, OperandKind, Scalar, Traits, Vgpr};

/// A buffer descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Byte address, 48 bits.
    pub base: u64,
    /// Bytes per record.
    pub stride: u64,
    /// Records, or bytes.
    pub records: u64,
    /// Bytes of an element, if it is swizzled.
    element: Option<u64>,
    word3: u32,
}

impl Descriptor {
    /// Reads the descriptor from four scalar registers.
    pub fn read(wave: &Wave, first: Scalar) -> Self {
        Self::new(wave.isa.facts(), [0, 1, 2, 3].map(|n| wave.sgpr(first, n)))
    }

    /// Decodes four dwords.
    pub fn new(facts: &FamilyFacts, [d0, d1, d2, d3]: [u32; 4]) -> Self {
        let element = facts.swizzled_elements[d1 as usize >> 30];
        Self {
            base: u64::from(d0) | u64::from(d1 & 0xffff) << 32,
            stride: u64::from(d1 >> 16 & 0x3fff),
            records: u64::from(d2),
            element: (element != 0).then_some(u64::from(element)),
            word3: d3,
        }
    }

    /// Number of bytes that scalar loads may read.
    pub fn scalar_limit(&self) -> u64 {
        if self.stride == 0 { self.records } else { self.records * self.stride }
    }

    fn field(&self, high: u32, low: u32) -> u32 {
        self.word3 << (31 - high) >> (31 - high + low)
    }

    /// Source of each component of a formatted access.
    fn selects(&self) -> [u8; 4] {
        [0, 3, 6, 9].map(|low| self.field(low + 2, low) as u8)
    }

    fn adds_thread(&self) -> bool {
        self.field(23, 23) == 1
    }

    /// Address of a byte of a record; `None` if out of range.
    pub fn address(&self, index: u64, offset: u64, soffset: u64) -> Option<u64> {
        let place = match self.element {
            Some(element) => {
                let lanes = 8 << self.field(22, 21);
                let (block, within) = (index / lanes, index % lanes);
                (block * self.stride + offset / element * element) * lanes + within * element + offset % element
            }
            None => index * self.stride + offset,
        };
        let out = match self.field(29, 28) {
            0 => index >= self.records || offset >= self.stride,
            1 => index >= self.records,
            2 => self.records == 0,
            // The range check of a raw buffer includes the scalar offset (K).
            _ if self.element.is_some() => place >= self.records,
            _ => place + soffset >= self.records,
        };
        (!out).then(|| (self.base + soffset + place) & 0xffff_ffff_ffff)
    }
}

/// Operation of a buffer instruction per lane.
#[derive(Clone, Copy)]
pub enum Buffer {
    /// Cache control: no effect.
    Nothing,
    /// Load of bytes into registers.
    Load(Element),
    /// Store of bytes from registers.
    Store(Element),
    /// A formatted load.
    LoadFormat(Typed),
    /// A formatted store.
    StoreFormat(Typed),
    /// An atomic operation.
    Atomic(MemoryAtomic),
}

/// A formatted access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Typed {
    components: usize,
    d16: bool,
    high: bool,
}

/// Operation of an instruction row.
pub fn resolve(entry: &OpcodeRow) -> Option<Buffer> {
    if entry.is(Traits::INVALIDATES) {
        return Some(Buffer::Nothing);
    }
    if let Some(atomic) = atomic::of_memory(entry) {
        return Some(Buffer::Atomic(atomic));
    }
    let load = entry.is(Traits::LOADS);
    Some(match typed(entry.op) {
        Some(typed) if load => Buffer::LoadFormat(typed),
        Some(typed) => Buffer::StoreFormat(typed),
        None if load => Buffer::Load(access::element(entry)),
        None => Buffer::Store(access::element(entry)),
    })
}

/// Component count of a formatted access, and whether the components are f16.
fn typed(op: Op) -> Option<Typed> {
    use Op::*;
    let (components, d16) = match op {
        BufferLoadFormatX | BufferStoreFormatX | TbufferLoadFormatX | TbufferStoreFormatX => (1, false),
        BufferLoadFormatXy | BufferStoreFormatXy | TbufferLoadFormatXy | TbufferStoreFormatXy => (2, false),
        BufferLoadFormatXyz | BufferStoreFormatXyz | TbufferLoadFormatXyz | TbufferStoreFormatXyz => (3, false),
        BufferLoadFormatXyzw | BufferStoreFormatXyzw | TbufferLoadFormatXyzw | TbufferStoreFormatXyzw => (4, false),
        BufferLoadFormatD16X | BufferStoreFormatD16X | TbufferLoadFormatD16X | TbufferStoreFormatD16X => (1, true),
        BufferLoadFormatD16HiX | BufferStoreFormatD16HiX => (1, true),
        BufferLoadFormatD16Xy | BufferStoreFormatD16Xy | TbufferLoadFormatD16Xy | TbufferStoreFormatD16Xy => (2, true),
        BufferLoadFormatD16Xyz | BufferStoreFormatD16Xyz => (3, true),
        TbufferLoadFormatD16Xyz | TbufferStoreFormatD16Xyz => (3, true),
        BufferLoadFormatD16Xyzw | BufferStoreFormatD16Xyzw => (4, true),
        TbufferLoadFormatD16Xyzw | TbufferStoreFormatD16Xyzw => (4, true),
        _ => return None,
    };
    Some(Typed { components, d16, high: matches!(op, BufferLoadFormatD16HiX | BufferStoreFormatD16HiX) })
}

/// Address of one lane's access.
struct BufferAddress {
    descriptor: Descriptor,
    index: u64,
    offset: u64,
    soffset: u64,
}

impl BufferAddress {
    fn address(&self, bytes: u64) -> Option<u64> {
        self.descriptor.address(self.index, self.offset + bytes, self.soffset)
    }
}

/// Executes one instruction.
pub fn execute(op: Buffer, inst: &Instruction, f: &BufferFields, wave: &mut Wave, memory: &mut Memory) -> Result<()> {
    if matches!(op, Buffer::Nothing) {
        return Ok(());
    }
    if f.lds {
        return Err(Error::unsupported("buffer access", "directly to LDS"));
    }
    let descriptor = Descriptor::read(wave, f.resource);
    if descriptor.word3 >> 30 != 0 {
        return Err(Error::malformed(format!("{:?} is not a buffer descriptor", f.resource)));
    }
    let soffset = wave.uniform(f.soffset, OperandKind::B32)?;
    let status = usize::from(inst.entry.data_registers());
    for lane in wave.active() {
        let address = |n: usize| u64::from(wave.vgpr(f.vaddr, n, lane));
        let index = if f.idxen { address(0) } else { 0 };
        let thread = if descriptor.adds_thread() { lane as u64 } else { 0 };
        // The sum wraps at 32 bits: compilers fold any constant into the instruction's offset.
        let offset = if f.offen { wave.vgpr(f.vaddr, usize::from(f.idxen), lane) } else { 0 };
        let offset = u64::from(offset.wrapping_add(f.offset));
        let place = BufferAddress { descriptor, index: index + thread, offset, soffset };
        match op {
            Buffer::Nothing => {}
            Buffer::Load(element) => {
                let mut bytes = Vec::with_capacity(16);
                for at in (0..element.bytes).step_by(4) {
                    let part = (element.bytes - at).min(4);
                    match place.address(at as u64) {
                        Some(address) => bytes.extend(memory.read(address, part)?),
                        None => bytes.extend(&[0; 4][..part]),
                    }
                }
                element.put(wave, f.data, lane, &bytes);
            }
            Buffer::Store(element) => {
                for (n, part) in element.take(wave, f.data, lane).chunks(4).enumerate() {
                    if let Some(address) = place.address(4 * n as u64) {
                        memory.write(address, part)?;
                    }
                }
            }
            Buffer::LoadFormat(typed) => {
                let format = format(f, &descriptor, wave.isa)?;
                let texel = read_texel(&place, &format, memory)?;
                put_components(wave, f.data, lane, typed, texel, &format);
            }
            Buffer::StoreFormat(typed) => {
                let format = format(f, &descriptor, wave.isa)?;
                let components = take_components(wave, f.data, lane, typed, &format);
                for (n, part) in format.encode(components)?.chunks(4).enumerate() {
                    if let Some(address) = place.address(4 * n as u64) {
                        memory.write(address, part)?;
                    }
                }
            }
            Buffer::Atomic(MemoryAtomic { apply, bits, compares }) => {
                let width = bits as usize / 32;
                let pair = |first: usize| {
                    (0..width).rev().fold(0, |all, n| all << 32 | u64::from(wave.vgpr(f.data, first + n, lane)))
                };
                let (data, compare) = (pair(0), if compares { pair(width) } else { 0 });
                let mut old = 0;
                if let Some(address) = place.address(0) {
                    let cell = memory.slice_mut(address, 4 * width)?;
                    old = access::number(cell);
                    let new = apply(Cell { old, data, compare, bits }).to_le_bytes();
                    cell.copy_from_slice(&new[..4 * width]);
                }
                if f.cache.returns() {
                    for n in 0..width {
                        wave.set_vgpr(f.data, n, lane, (old >> (32 * n)) as u32);
                    }
                }
            }
        }
        if f.tfe {
            wave.set_vgpr(f.data, status, lane, 0);
        }
    }
    Ok(())
}

fn format(f: &BufferFields, descriptor: &Descriptor, isa: &Isa) -> Result<DataFormat> {
    let number = f.format.map_or(descriptor.field(18, 12), u32::from);
    let known = u8::try_from(number).ok().and_then(BufferFormat::new).and_then(|number| match f.format {
        Some(_) => DataFormat::of_instruction(number, isa.facts().buffer_layouts),
        None => DataFormat::of_buffer(number),
    });
    known.ok_or_else(|| Error::malformed(format!("no buffer format {number}")))
}

/// Components after the descriptor's selection; all are 0 if out of range (K).
fn read_texel(place: &BufferAddress, format: &DataFormat, memory: &Memory) -> Result<[u32; 4]> {
    let mut bytes = Vec::with_capacity(16);
    let mut inside = true;
    for at in (0..format.bytes()).step_by(4) {
        let part = (format.bytes() - at).min(4);
        match place.address(at as u64) {
            Some(address) => bytes.extend(memory.read(address, part)?),
            None => inside = false,
        }
    }
    if !inside {
        return Ok([0; 4]);
    }
    let texel = format.decode(&bytes);
    Ok(place.descriptor.selects().map(|select| format.select(texel, select)))
}

fn put_components(wave: &mut Wave, data: Vgpr, lane: usize, typed: Typed, texel: [u32; 4], format: &DataFormat) {
    for (n, value) in texel.into_iter().take(typed.components).enumerate() {
        if !typed.d16 {
            wave.set_vgpr(data, n, lane, value);
            continue;
        }
        let half = format.narrow(value);
        let high = typed.high || n % 2 == 1;
        let old = wave.vgpr(data, n / 2, lane);
        let merged = if high { old & 0xffff | half << 16 } else { old & 0xffff_0000 | half };
        wave.set_vgpr(data, n / 2, lane, merged);
    }
}

fn take_components(wave: &Wave, data: Vgpr, lane: usize, typed: Typed, format: &DataFormat) -> [u32; 4] {
    let mut components = [0; 4];
    for (n, component) in components.iter_mut().take(typed.components).enumerate() {
        *component = if typed.d16 {
            let word = wave.vgpr(data, n / 2, lane);
            format.widen(if typed.high || n % 2 == 1 { word >> 16 } else { word & 0xffff })
        } else {
            wave.vgpr(data, n, lane)
        };
    }
    components
}
