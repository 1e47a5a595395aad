//! Scalar loads (isa-gfx10 4.2): from an address, or through a buffer descriptor that bounds them.

use super::buffer::Descriptor;
use super::memory::Memory;
use super::wave::Wave;
use dovetail_base::error::{Error, Result};
use dovetail_isa::instruction::{Instruction, SmemFields};
use dovetail_isa::{Scalar, Traits};

/// Executes one instruction.
pub fn execute(inst: &Instruction, fields: &SmemFields, wave: &mut Wave, memory: &Memory) -> Result<()> {
    let soffset = fields.soffset.map_or(0, |s| u64::from(wave.scalar(s)));
    let offset = soffset.wrapping_add_signed(i64::from(fields.offset));
    let registers = usize::from(inst.entry.data_registers());
    let entry = inst.entry;
    let words = match () {
        // The clock is constant, because results that depend on time could not be compared.
        () if entry.is(Traits::TIMER) => vec![0; registers],
        () if entry.is(Traits::INVALIDATES) => return Ok(()),
        () if entry.is(Traits::LOADS) && !entry.is(Traits::DESCRIPTOR) => {
            let address = wave.scalar64(fields.base).wrapping_add(offset) & !3;
            let bytes = memory.read(address, 4 * registers)?;
            bytes.chunks_exact(4).map(|word| super::access::number(word) as u32).collect()
        }
        () if entry.is(Traits::LOADS) => {
            let descriptor = Descriptor::read(wave, fields.base);
            let first = offset & !3;
            // Dwords beyond the end read 0, each by itself (K).
            let read = |n: usize| {
                let offset = first.wrapping_add(4 * n as u64);
                if offset.saturating_add(4) > descriptor.scalar_limit() {
                    return Ok(0);
                }
                memory.dword(descriptor.base.wrapping_add(offset))
            };
            (0..registers).map(read).collect::<Result<_>>()?
        }
        () => return Err(Error::unsupported("scalar memory instruction", entry.mnemonic)),
    };
    for (n, word) in words.into_iter().enumerate() {
        if fields.data != Scalar::Null {
            wave.set_sgpr(fields.data, n, word);
        }
    }
    Ok(())
}
