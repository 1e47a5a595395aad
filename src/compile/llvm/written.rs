//! Finds the VGPRs that LLVM's code may have written, from its instructions.
//!
//! Registers filled at entry count: a value may be returned where it arrived.

use dovetail_base::error::Result;
use dovetail_isa::{Isa, Register, RegisterSet, Vgpr, disassemble};
use dovetail_metadata::interface::{StageInterface, StageKind};
use dovetail_metadata::registers::{RegisterWords, SPI_PS_INPUT_ADDR, SPI_PS_INPUT_ENA};

/// VGPRs of each pixel input, in the order of the bits of SPI_PS_INPUT_ADDR (pal-abi 2.4).
const PIXEL_INPUTS: [u8; 16] = [2, 2, 2, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1];
/// VGPRs in front of the attributes of a vertex shader.
const SYSTEM_VGPRS: u32 = 4;

/// The VGPRs that may have a value after the code of a body with an epilog; `None`: any.
///
/// # Errors
/// A bug: code that is not for this machine.
pub(super) fn vgprs(interface: &StageInterface, code: &[u8], registers: &RegisterWords) -> Result<Option<RegisterSet>> {
    let mut written = match &interface.kind {
        StageKind::Vertex(vertex) => {
            let fetched: u32 = vertex.fetch.inputs.iter().map(|i| u32::from(i.count) * i.ty.dwords()).sum();
            first(SYSTEM_VGPRS + fetched)
        }
        StageKind::Fragment(_) => pixel_inputs(registers),
        StageKind::Compute(_) => return Ok(None),
    };
    let (words, _) = code.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let inst = disassemble(Isa::of(interface.target), rest)?;
        let effects = inst.effects(interface.wave);
        if effects.indirect {
            return Ok(None);
        }
        written = written.union(&effects.writes);
        rest = rest.get(usize::from(inst.dwords())..).unwrap_or_default();
    }
    Ok(Some(written))
}

/// The registers that the hardware fills for a pixel wave.
fn pixel_inputs(registers: &RegisterWords) -> RegisterSet {
    let [places, enabled] = [SPI_PS_INPUT_ADDR, SPI_PS_INPUT_ENA].map(|r| registers.get(r).unwrap_or(0));
    let (mut set, mut next) = (RegisterSet::EMPTY, 0u8);
    for (bit, count) in PIXEL_INPUTS.into_iter().enumerate().filter(|(bit, _)| places >> bit & 1 == 1) {
        if enabled >> bit & 1 == 1 {
            set.vgprs(Vgpr(next), count);
        }
        next = next.saturating_add(count);
    }
    set
}

fn first(count: u32) -> RegisterSet {
    let mut set = RegisterSet::EMPTY;
    (0..count).filter_map(|n| u8::try_from(n).ok()).for_each(|n| set.insert(Register::vgpr(n)));
    set
}
