//! Which of the values that a body returns its code really makes.
//!
//! LLVM knows more than the passes of what is undefined: an index out of bounds, a branch that cannot be. It then leaves the
//! register of that value as it was, and an epilog would export whatever is there. Such a component is not written, and the
//! interface says so. What was in the register at the entry counts as made: a value may be returned where it came.

use crate::error::Result;
use crate::isa::{Register, RegisterSet, Vgpr, disassemble};
use crate::metadata::document::{Map, submap};
use crate::metadata::interface::{FragmentInterface, ParamSource, StageInterface, StageKind};
use crate::metadata::registers::{SPI_PS_INPUT_ADDR, SPI_PS_INPUT_ENA};
use crate::metadata::schema::Key;

/// VGPRs of each pixel input, in the order of the bits of SPI_PS_INPUT_ADDR (pal-abi 2.4).
const PIXEL_INPUTS: [u8; 16] = [2, 2, 2, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1];
/// VGPRs before the attributes of a vertex shader.
const SYSTEM_VGPRS: u32 = 4;

/// The interface without the values that nothing makes, of a body with an epilog.
///
/// # Errors
/// Malformed: metadata without a list of registers. A bug: code that is not this machine's.
pub(super) fn without_unmade(interface: &StageInterface, code: &[u8], pipeline: &Map) -> Result<StageInterface> {
    let mut out = interface.clone();
    let mut made = match &interface.kind {
        StageKind::Vertex(vertex) => {
            let fetched: u32 = vertex.inputs.iter().map(|i| u32::from(i.count) * i.ty.dwords()).sum();
            first(SYSTEM_VGPRS + fetched)
        }
        StageKind::Fragment(_) => pixel_inputs(pipeline)?,
        StageKind::Compute(_) => return Ok(out),
    };
    let (words, _) = code.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let inst = disassemble(interface.target, rest)?;
        let effects = inst.effects(interface.wave);
        if effects.indirect {
            return Ok(out);
        }
        made = made.union(&effects.writes);
        rest = rest.get(usize::from(inst.dwords())..).unwrap_or_default();
    }
    let is_made = |n: u32| u8::try_from(n).is_ok_and(|n| made.contains(Register::vgpr(n)));
    match &mut out.kind {
        StageKind::Vertex(vertex) => {
            vertex.params.retain(|param| !matches!(param.source, ParamSource::Vgpr(n) if !is_made(n)));
        }
        StageKind::Fragment(fragment) => drop_unmade(fragment, is_made),
        StageKind::Compute(_) => {}
    }
    Ok(out)
}

fn drop_unmade(fragment: &mut FragmentInterface, is_made: impl Fn(u32) -> bool) {
    for color in &mut fragment.colors {
        for (component, place) in color.vgprs.iter_mut().enumerate() {
            if place.take_if(|n| !is_made(*n)).is_some() {
                color.channels &= !(1 << component);
            }
        }
    }
    fragment.colors.retain(|color| color.channels != 0);
    for (written, place) in [
        (&mut fragment.writes_depth, &mut fragment.depth),
        (&mut fragment.writes_stencil, &mut fragment.stencil),
        (&mut fragment.writes_sample_mask, &mut fragment.sample_mask),
    ] {
        *written &= place.take_if(|n| !is_made(*n)).is_none();
    }
}

/// The registers that the hardware fills for a pixel wave.
fn pixel_inputs(pipeline: &Map) -> Result<RegisterSet> {
    let words = submap(pipeline, Key::Registers.name())?;
    let word = |number: u32| {
        let found = words.into_iter().flatten().find(|(key, _)| key.as_u64() == Some(number.into()));
        found.and_then(|(_, value)| value.as_u64()).unwrap_or(0)
    };
    let [places, enabled] = [word(SPI_PS_INPUT_ADDR.0), word(SPI_PS_INPUT_ENA.0)];
    let (mut set, mut next) = (RegisterSet::EMPTY, 0u8);
    for (bit, count) in PIXEL_INPUTS.into_iter().enumerate().filter(|(bit, _)| places >> bit & 1 == 1) {
        if enabled >> bit & 1 == 1 {
            set.vgprs(Vgpr(next), count);
        }
        next = next.saturating_add(count);
    }
    Ok(set)
}

fn first(count: u32) -> RegisterSet {
    let mut set = RegisterSet::EMPTY;
    (0..count).filter_map(|n| u8::try_from(n).ok()).for_each(|n| set.insert(Register::vgpr(n)));
    set
}
