//! Memory by address: GLOBAL, FLAT, SCRATCH (isa-gfx10 2.2, 6).

use super::access::{self, Element, RegisterHalf};
use super::atomic::{self, Cell, MemoryAtomic};
use super::lds::Lds;
use super::memory::Memory;
use super::wave::{PRIVATE_APERTURE, SHARED_APERTURE, Wave};
use dovetail_base::error::{Error, Result};
use dovetail_isa::instruction::{FlatFields, Instruction};
use dovetail_isa::{Format, OpcodeRow, Traits};

/// Operation of an instruction per lane.
#[derive(Clone, Copy)]
pub enum Global {
    /// Load of bytes into registers.
    Load(Element),
    /// Store of bytes from registers.
    Store(Element),
    /// An atomic operation of this width.
    Atomic(MemoryAtomic),
}

/// Operation of an instruction row.
pub fn resolve(entry: &OpcodeRow) -> Option<Global> {
    let own = entry.is(Traits::OWN_ADDRESS);
    match atomic::of_memory(entry) {
        _ if own => None,
        Some(atomic) => Some(Global::Atomic(atomic)),
        None if entry.is(Traits::LOADS) => Some(Global::Load(access::element(entry))),
        None => Some(Global::Store(access::element(entry))),
    }
}

/// Address of a lane's access.
#[derive(Clone, Copy)]
enum LaneAddress {
    Memory(u64),
    Lds(u64),
    /// Byte offset in the lane's own scratch.
    Scratch(u64),
}

impl LaneAddress {
    /// The address `bytes` further on.
    fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Memory(at) => Self::Memory(at.wrapping_add(bytes)),
            Self::Lds(at) => Self::Lds(at + bytes),
            Self::Scratch(at) => Self::Scratch(at + bytes),
        }
    }

    /// The memory address; `None` for an LDS address. Scratch interleaves the lanes of a wave by dword.
    fn address(self, wave: &Wave, lane: usize) -> Option<u64> {
        match self {
            Self::Memory(at) => Some(at),
            Self::Lds(_) => None,
            Self::Scratch(at) => {
                let row = at / 4 * (4 * wave.lanes() as u64);
                Some(wave.flat_scratch.wrapping_add(row + 4 * lane as u64 + at % 4))
            }
        }
    }
}

/// Executes one instruction.
pub fn execute(
    op: Global,
    inst: &Instruction,
    f: &FlatFields,
    wave: &mut Wave,
    memory: &mut Memory,
    lds: &mut Lds,
) -> Result<()> {
    if f.lds {
        return Err(Error::unsupported("memory access", "directly to LDS"));
    }
    for lane in wave.active() {
        let place = place(inst.entry.format, f, wave, lane);
        match op {
            Global::Load(element) => {
                let mut bytes = Vec::with_capacity(16);
                for at in (0..element.bytes).step_by(4) {
                    let part = (element.bytes - at).min(4);
                    let place = place.plus(at as u64);
                    match (place.address(wave, lane), place) {
                        (Some(address), _) => bytes.extend(memory.read(address, part)?),
                        (None, LaneAddress::Lds(at)) => bytes.extend(lds.read(at, part)?),
                        (None, _) => {}
                    }
                }
                element.put(wave, f.dst, lane, &bytes);
            }
            Global::Store(element) => {
                debug_assert!(element.half != Some(RegisterHalf::Low));
                for (n, part) in element.take(wave, f.data, lane).chunks(4).enumerate() {
                    let place = place.plus(4 * n as u64);
                    match (place.address(wave, lane), place) {
                        (Some(address), _) => memory.write(address, part)?,
                        (None, LaneAddress::Lds(at)) => lds.write(at, part),
                        (None, _) => {}
                    }
                }
            }
            Global::Atomic(MemoryAtomic { apply, bits, compares }) => {
                let Some(address) = place.address(wave, lane) else {
                    return Err(Error::unsupported("flat access", "an atomic on LDS"));
                };
                let width = bits as usize / 32;
                let word = |n: usize| u64::from(wave.vgpr(f.data, n, lane));
                let pair = |first: usize| (0..width).rev().fold(0, |all, n| all << 32 | word(first + n));
                let cell = memory.slice_mut(address, 4 * width)?;
                let old = access::number(cell);
                let compare = if compares { pair(width) } else { 0 };
                let new = apply(Cell { old, data: pair(0), compare, bits }).to_le_bytes();
                cell.copy_from_slice(&new[..4 * width]);
                if f.cache.returns() {
                    for n in 0..width {
                        wave.set_vgpr(f.dst, n, lane, (old >> (32 * n)) as u32);
                    }
                }
            }
        }
    }
    Ok(())
}

fn place(format: Format, f: &FlatFields, wave: &Wave, lane: usize) -> LaneAddress {
    let low = if f.no_vaddr { 0 } else { u64::from(wave.vgpr(f.addr, 0, lane)) };
    let offset = i64::from(f.offset);
    if format == Format::Scratch {
        let scalar = f.saddr.map_or(0, |s| u64::from(wave.scalar(s)));
        return LaneAddress::Scratch((low + scalar).wrapping_add_signed(offset) & 0xffff_ffff);
    }
    let address = match f.saddr {
        Some(s) => wave.scalar64(s).wrapping_add(low),
        None => low | u64::from(wave.vgpr(f.addr, 1, lane)) << 32,
    };
    let address = address.wrapping_add_signed(offset);
    match (format, (address >> 32) as u32) {
        (Format::Flat, SHARED_APERTURE) => LaneAddress::Lds(address & 0xffff_ffff),
        (Format::Flat, PRIVATE_APERTURE) => LaneAddress::Scratch(address & 0xffff_ffff),
        _ => LaneAddress::Memory(address),
    }
}
