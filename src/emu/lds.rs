//! The local data share (isa-gfx10 6, 3.8): loads, stores, atomics, and the lane permutations through it.
//!
//! Outside the workgroup's allocation, reads give 0 and writes are dropped.

use super::access::{self, Element, number};
use super::atomic::{self, Atomic, Cell};
use super::watch::StoreWatch;
use super::wave::{Wave, ones};
use dovetail_base::error::{Error, Result};
use dovetail_isa::instruction::{DsFields, Instruction};
use dovetail_isa::{MachineAtomic, Op, OpcodeRow, OperandKind, Scalar, Traits};

/// A workgroup's LDS allocation.
#[derive(Clone, Debug, Default)]
pub struct Lds {
    bytes: Vec<u8>,
    /// Checks the data that the waves of a workgroup exchange.
    pub watch: StoreWatch,
}

impl Lds {
    /// An allocation of `bytes` bytes with poisoned contents.
    pub fn new(bytes: usize) -> Self {
        let poison = super::wave::POISON.to_le_bytes();
        Self { bytes: (0..bytes).map(|at| poison[at % 4]).collect(), watch: StoreWatch::default() }
    }

    /// Bytes; 0 outside the allocation.
    ///
    /// # Errors
    /// Malformed: another wave's store may not have completed.
    pub fn read(&self, at: u64, bytes: usize) -> Result<Vec<u8>> {
        self.watch.load(at, bytes)?;
        let byte = |n: u64| usize::try_from(at + n).ok().and_then(|at| self.bytes.get(at)).copied().unwrap_or(0);
        Ok((0..bytes as u64).map(byte).collect())
    }

    /// Writes the bytes that lie inside the allocation.
    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        self.watch.store(at, bytes.len());
        for (n, byte) in bytes.iter().enumerate() {
            if let Some(to) = usize::try_from(at).ok().and_then(|at| self.bytes.get_mut(at + n)) {
                *to = *byte;
            }
        }
    }
}

/// Operation of an instruction per lane.
#[derive(Clone, Copy)]
pub enum Ds {
    /// No effect.
    Nothing,
    /// Load of bytes into registers.
    Load(Element),
    /// Store of bytes from registers.
    Store(Element),
    /// Two loads: bytes per element, and the unit of the offsets in bytes.
    Load2(usize, usize),
    /// Two stores; fields as in `Load2`.
    Store2(usize, usize),
    /// An atomic operation, its width in bits, and whether it returns the old value.
    Atomic(Atomic, u32, bool),
    /// Two exchanges; fields as in `Load2`.
    Exchange2(usize, usize),
    /// Moves values between lanes.
    Permute(Permute),
    /// Loads or stores the lane's own dword after M0.
    Own {
        /// It stores.
        store: bool,
    },
    /// Adds or subtracts the number of active lanes to a counter.
    Count {
        /// It adds.
        append: bool,
    },
}

/// Addressing of a lane permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permute {
    /// Each lane gives its source.
    Pull,
    /// Each lane gives its target.
    Push,
    /// A pattern in the offset.
    Swizzle,
}

/// Operation of an instruction row.
pub fn resolve(entry: &OpcodeRow) -> Option<Ds> {
    let bytes = |kind: OperandKind| 4 * usize::from(kind.registers());
    if let Some((each, unit)) = entry.two_offsets() {
        let (each, unit) = (each as usize, unit as usize);
        return Some(match () {
            () if entry.is(Traits::LOADS) => Ds::Load2(each, unit),
            () if entry.is(Traits::STORES) => Ds::Store2(each, unit),
            () => Ds::Exchange2(each, unit),
        });
    }
    Some(match entry.op {
        Op::DsNop => Ds::Nothing,
        Op::DsBpermuteB32 => Ds::Permute(Permute::Pull),
        Op::DsPermuteB32 => Ds::Permute(Permute::Push),
        Op::DsSwizzleB32 => Ds::Permute(Permute::Swizzle),
        Op::DsAppend => Ds::Count { append: true },
        Op::DsConsume => Ds::Count { append: false },
        _ if entry.is(Traits::OWN_ADDRESS) => Ds::Own { store: entry.is(Traits::STORES) },
        _ if entry.is(Traits::LOADS) => Ds::Load(access::element(entry)),
        _ if entry.is(Traits::STORES) => Ds::Store(access::element(entry)),
        _ => {
            let bits = 8 * bytes(entry.src_kind(1)) as u32;
            Ds::Atomic(atomic::resolve(entry.atomic()?), bits, !entry.dst.is_empty())
        }
    })
}

/// Executes one instruction.
pub fn execute(op: Ds, inst: &Instruction, f: &DsFields, wave: &mut Wave, lds: &mut Lds) -> Result<()> {
    if f.gds {
        return Err(Error::unsupported("global data share", inst.entry.mnemonic));
    }
    let one = u32::from(u16::from_le_bytes(f.offsets));
    let two = |unit: usize| f.offsets.map(|offset| u32::from(offset) * unit as u32);
    let dwords = |bytes| Element { bytes, signed: false, half: None };
    if let Ds::Permute(permute) = op {
        return travel(permute, f, wave);
    }
    if let Ds::Count { append } = op {
        let at = u64::from(wave.scalar(Scalar::M0) & 0xffff) + u64::from(one);
        let old = number(&lds.read(at, 4)?) as u32;
        let count = wave.exec().count_ones();
        let new = if append { old.wrapping_add(count) } else { old.wrapping_sub(count) };
        lds.write(at, &new.to_le_bytes());
        wave.active().for_each(|lane| wave.set_vgpr(f.dst, 0, lane, old));
        return Ok(());
    }
    for lane in wave.active() {
        // The sum wraps at 32 bits: compilers rely on it for a negative base plus an offset.
        let base = wave.vgpr(f.addr, 0, lane);
        let place = |offset: u32| u64::from(base.wrapping_add(offset));
        match op {
            Ds::Nothing | Ds::Permute(_) | Ds::Count { .. } => {}
            Ds::Load(element) => element.put(wave, f.dst, lane, &lds.read(place(one), element.bytes)?),
            Ds::Store(element) => lds.write(place(one), &element.take(wave, f.data[0], lane)),
            Ds::Load2(bytes, unit) => {
                let [first, second] = two(unit).map(|offset| lds.read(place(offset), bytes));
                dwords(2 * bytes).put(wave, f.dst, lane, &[first?, second?].concat());
            }
            Ds::Store2(bytes, unit) => {
                for (data, offset) in f.data.into_iter().zip(two(unit)) {
                    lds.write(place(offset), &dwords(bytes).take(wave, data, lane));
                }
            }
            Ds::Exchange2(bytes, unit) => {
                let mut old = Vec::new();
                for (data, offset) in f.data.into_iter().zip(two(unit)) {
                    old.extend(lds.read(place(offset), bytes)?);
                    lds.write(place(offset), &dwords(bytes).take(wave, data, lane));
                }
                dwords(2 * bytes).put(wave, f.dst, lane, &old);
            }
            Ds::Atomic(atomic, bits, returns) => {
                let width = bits as usize / 8;
                let take = |n: usize| number(&dwords(width).take(wave, f.data[n], lane));
                let first = take(0);
                // `ds_cmpst` has the expected value first; `ds_cmpstore`, as buffer and image instructions, has it second.
                let kind = inst.entry.atomic();
                let swaps = matches!(kind, Some(MachineAtomic::CompareSwap | MachineAtomic::FloatCompareSwap));
                // An absent second operand still has a field with some register number: do not read it.
                let both = swaps || matches!(kind, Some(MachineAtomic::MaskedOr | MachineAtomic::Wrap));
                let second = if both { take(1) } else { 0 };
                let expected_first = swaps && !inst.entry.is(Traits::NEW_FIRST);
                let (data, compare) = if expected_first { (second, first) } else { (first, second) };
                let old = number(&lds.read(place(one), width)?);
                let new = atomic(Cell { old, data, compare, bits }).to_le_bytes();
                lds.write(place(one), &new[..width]);
                if returns {
                    dwords(width).put(wave, f.dst, lane, &old.to_le_bytes()[..width]);
                }
            }
            Ds::Own { store } => {
                let at = u64::from(wave.scalar(Scalar::M0) & 0xffff) + u64::from(one) + 4 * lane as u64;
                if store {
                    lds.write(at, &dwords(4).take(wave, f.data[0], lane));
                } else {
                    dwords(4).put(wave, f.dst, lane, &lds.read(at, 4)?);
                }
            }
        }
    }
    Ok(())
}

/// Each half of a wave64 permutes by itself (K).
fn travel(permute: Permute, f: &DsFields, wave: &mut Wave) -> Result<()> {
    let offset = u16::from_le_bytes(f.offsets);
    let exec = wave.exec();
    let half = |lane: usize| lane & 32;
    let target = |lane: usize| {
        let at = wave.vgpr(f.addr, 0, lane).wrapping_add(u32::from(offset)) / 4;
        half(lane) | at as usize & 31
    };
    let alive = |lane: usize| exec >> lane & 1 == 1;
    let mut result = vec![0; wave.lanes()];
    match permute {
        Permute::Pull => {
            for lane in ones(exec) {
                let from = target(lane);
                result[lane] = if alive(from) { wave.vgpr(f.data[0], 0, from) } else { 0 };
            }
        }
        Permute::Push => {
            // If several lanes push to one, the highest wins.
            for lane in ones(exec) {
                result[target(lane)] = wave.vgpr(f.data[0], 0, lane);
            }
        }
        Permute::Swizzle => {
            for lane in ones(exec) {
                let from = swizzle(offset, lane)?;
                result[lane] = if alive(from) { wave.vgpr(f.addr, 0, from) } else { 0 };
            }
        }
    }
    for lane in ones(exec) {
        wave.set_vgpr(f.dst, 0, lane, result[lane]);
    }
    Ok(())
}

fn swizzle(offset: u16, lane: usize) -> Result<usize> {
    let field = |low: u32| usize::from(offset >> low & 31);
    let (half, at) = (lane & 32, lane & 31);
    let from = match offset {
        0xe000.. => return Err(Error::unsupported("swizzle of local memory", "FFT pattern")),
        0xc000..0xe000 => {
            let (amount, mask) = (field(5), field(0));
            let turned = if offset >> 10 & 1 == 1 { at + 32 - amount } else { at + amount };
            at & mask | turned & 31 & !mask
        }
        0x8000..0xc000 => at & !3 | usize::from(offset >> (2 * (at & 3)) & 3),
        _ => (at & field(0) | field(5)) ^ field(10),
    };
    Ok(half | from)
}
