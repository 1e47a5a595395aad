//! The [`StoredPointer`]s of one run's inputs: writes addresses before the run, and removes them from the output.

use super::inputs::{Bound, Inputs, Slot, StoredPointer};
use dovetail_base::error::{Context, Error, Result};

/// Addresses, and where each is stored.
#[derive(Clone, Debug, Default)]
pub struct StoredAddresses(Vec<Standing>);

#[derive(Clone, Copy, Debug)]
struct Standing {
    /// Index of the binding; `None`: the push constants.
    within: Option<usize>,
    byte: usize,
    address: u64,
}

impl StoredAddresses {
    /// Resolves all addresses; `of` gives the address of a binding's first byte by its index.
    ///
    /// # Errors
    /// Malformed: a pointer to something that is not a storage buffer, or that is stored outside the buffer or the push
    /// constants.
    pub fn new(inputs: &Inputs, of: impl Fn(usize) -> u64) -> Result<Self> {
        let stand = |pointer: &StoredPointer| {
            let (to, bound) = find(inputs, pointer.to)?;
            if bound.storage_buffer().is_none() {
                return Err(
                    Error::malformed("a pointer to something that is not a storage buffer").at(name(pointer.to))
                );
            }
            let place = || pointer.within.map_or_else(|| "push constants".to_owned(), name);
            let (within, contents) = match pointer.within {
                None => (None, Some(&inputs.push_constants)),
                Some(slot) => find(inputs, slot).map(|(n, bound)| (Some(n), bound.buffer()))?,
            };
            let contents = contents
                .ok_or_else(|| Error::malformed("a pointer inside something that is not a buffer"))
                .at(place)?;
            let (byte, bytes) = (pointer.byte as usize, contents.0.len());
            if byte + 8 > bytes {
                return Err(Error::malformed(format!("a pointer at byte {byte} of {bytes}")).at(place()));
            }
            Ok(Standing { within, byte, address: of(to).wrapping_add(pointer.offset.into()) })
        };
        inputs.pointers.iter().map(stand).collect::<Result<_>>().map(Self).at(|| "pointers")
    }

    /// Writes the addresses to the contents of a binding, or to the push constants.
    pub fn write(&self, within: Option<usize>, contents: &mut [u8]) {
        for standing in self.0.iter().filter(|s| s.within == within) {
            if let Some(to) = standing.place(contents) {
                *to = standing.address.to_le_bytes();
            }
        }
    }

    /// Replaces each address that the run left unchanged with the input's bytes at that offset.
    pub fn restore(&self, inputs: &Inputs, binding: usize, left: &mut [u8]) {
        let before = inputs.bindings.get(binding).and_then(|b| b.bound.buffer());
        for standing in self.0.iter().filter(|s| s.within == Some(binding)) {
            let before = before.and_then(|data| data.0.get(standing.byte..)?.first_chunk());
            if let (Some(to), Some(before)) = (standing.place(left), before)
                && *to == standing.address.to_le_bytes()
            {
                *to = *before;
            }
        }
    }
}

impl Standing {
    fn place(self, contents: &mut [u8]) -> Option<&mut [u8; 8]> {
        contents.get_mut(self.byte..)?.first_chunk_mut()
    }
}

fn find(inputs: &Inputs, slot: Slot) -> Result<(usize, &Bound)> {
    let found = inputs.bindings.iter().enumerate().find(|(_, b)| b.slot() == slot);
    found
        .map(|(n, b)| (n, &b.bound))
        .ok_or_else(|| Error::malformed("a pointer, and nothing is bound"))
        .at(|| name(slot))
}

fn name(slot: Slot) -> String {
    format!("set {} binding {} element {}", slot.set, slot.binding, slot.element)
}

#[cfg(test)]
mod tests {
    use super::super::inputs::{BindingElement, InputBytes, Sampler};
    use super::*;

    const fn slot(binding: u32) -> Slot {
        Slot { set: 0, binding, element: 0 }
    }

    fn inputs(pointers: Vec<StoredPointer>) -> Inputs {
        let bound = [
            Bound::StorageBuffer(InputBytes(vec![1; 16])),
            Bound::PhysicalStorageBuffer(InputBytes(vec![2; 8])),
            Bound::UniformBuffer(InputBytes(vec![3; 8])),
            Bound::Sampler(Sampler::default()),
        ];
        let bind = |(n, bound)| BindingElement { set: 0, binding: n as u32, element: 0, bound };
        let bindings = bound.into_iter().enumerate().map(bind).collect();
        Inputs { bindings, push_constants: InputBytes(vec![0; 12]), pointers, ..Default::default() }
    }

    #[test]
    fn addresses_come_and_go_and_what_was_stored_over_them_stays() {
        let at = |within, byte, to, offset| StoredPointer { within, byte, to: slot(to), offset };
        let inputs = inputs(vec![at(None, 4, 1, 0), at(Some(slot(0)), 8, 0, 5)]);
        let addresses = StoredAddresses::new(&inputs, |n| 0x1000 * (n as u64 + 1)).unwrap();
        let (mut push, mut buffer) = (vec![0; 12], vec![1; 16]);
        addresses.write(None, &mut push);
        addresses.write(Some(0), &mut buffer);
        assert_eq!(push, [0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0]);
        assert_eq!(buffer, [1, 1, 1, 1, 1, 1, 1, 1, 5, 0x10, 0, 0, 0, 0, 0, 0]);
        let mut stored = buffer.clone();
        addresses.restore(&inputs, 0, &mut buffer);
        assert_eq!(buffer, [1; 16]);
        stored[15] = 9;
        addresses.restore(&inputs, 0, &mut stored);
        assert_eq!(stored[8..], [5, 0x10, 0, 0, 0, 0, 0, 9]);
    }

    #[test]
    fn pointers_that_cannot_stand_are_refused_by_their_place() {
        let at =
            |within: Option<u32>, byte, to| StoredPointer { within: within.map(slot), byte, to: slot(to), offset: 0 };
        let refused = [
            (at(None, 5, 0), "push constants"),
            (at(Some(1), 1, 0), "binding 1"),
            (at(Some(3), 0, 0), "binding 3"),
            (at(Some(9), 0, 0), "binding 9"),
            (at(None, 0, 2), "binding 2"),
            (at(None, 0, 9), "binding 9"),
        ];
        for (pointer, place) in refused {
            let why = StoredAddresses::new(&inputs(vec![pointer]), |_| 0).unwrap_err().to_string();
            assert!(why.contains(place), "{pointer:?}: {why}");
        }
        assert!(StoredAddresses::new(&inputs(vec![at(Some(2), 0, 1)]), |_| 0).is_ok());
    }
}
