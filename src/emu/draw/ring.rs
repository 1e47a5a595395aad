//! The attribute ring: memory to which primitive shaders store the parameters of their vertices, where the GPU has no exports
//! for them (gfx11; Mesa, `ac_nir_lower_ngg`). Fragment waves get them from there.

use crate::buffer::Descriptor;
use crate::dispatch::Tables;
use crate::machine::Machine;
use crate::wave::POISON;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::ParameterPath;

/// Bytes of a unit of a group's place, and the most of a group: 256 vertices with 32 parameters of 16 bytes.
const UNIT: usize = 512;
const GROUP: usize = 256 * 32 * 16;
/// Bits of an SGPR with a group's place that have other meanings.
const OTHER_BITS: u32 = 0xa5a5_8000;
/// Bits of the stride in a descriptor's second dword, and the first of them.
const STRIDE: u32 = 0x3fff << 16;
const STRIDE_SHIFT: u32 = 16;
/// Bytes of a parameter.
const SLOT: u32 = 16;

/// The ring of a draw.
#[derive(Clone, Copy)]
pub(super) struct AttributeRing {
    address: u64,
    descriptor: [u32; 4],
    /// The place of the group that is worked on, in units.
    base: u32,
}

impl AttributeRing {
    /// The ring, with its descriptor in the tables; `None` if the GPU exports parameters.
    pub(super) fn new(machine: &mut Machine, tables: &Tables) -> Result<Option<Self>> {
        if machine.isa().facts().parameters == ParameterPath::Exports {
            return Ok(None);
        }
        // Two groups have different places, neither the first of the ring.
        let address = machine.alloc(GROUP + 4 * UNIT)?;
        Ok(Some(Self { address, descriptor: tables.set_attribute_ring(machine, address)?, base: 1 }))
    }

    /// Begins a group: nothing is in its place. Returns what an SGPR of its waves says about that.
    pub(super) fn begin(&mut self, machine: &mut Machine) -> Result<u32> {
        self.base = 4 - self.base;
        let poison: Vec<u8> = POISON.to_le_bytes().repeat(GROUP / 4);
        machine.write(self.address + self.offset(), &poison)?;
        Ok(self.base | OTHER_BITS)
    }

    fn offset(&self) -> u64 {
        u64::from(self.base) * UNIT as u64
    }

    /// A parameter of a vertex by its index in the group, of so many parameters.
    pub(super) fn parameter(&self, machine: &Machine, vertex: usize, slot: u32, slots: u32) -> Result<[u32; 4]> {
        let mut words = self.descriptor;
        words[1] = words[1] & !STRIDE | (SLOT * slots) << STRIDE_SHIFT;
        let descriptor = Descriptor::new(machine.isa().facts(), words);
        let place = descriptor.address(vertex as u64, u64::from(SLOT * slot), self.offset());
        let place = place.ok_or_else(|| Error::bug("a vertex beyond the attribute ring"))?;
        let bytes = machine.read(place, SLOT as usize)?;
        let mut parameter = [POISON; 4];
        for (word, bytes) in parameter.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(parameter)
    }
}
