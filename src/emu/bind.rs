//! Writes [`Inputs`] to the machine's memory as a driver lays them out for a [`ResourceLayout`]: buffers, images,
//! descriptor tables and root dwords. After the run it reads their bytes back.
//!
//! An input whose binding is not in the layout is written to memory, but gets no descriptor. A descriptor without an
//! input is null.

use super::inputs::{BindingElement, Bound, Inputs, Texels};
use super::machine::Machine;
use super::named_format::NamedFormat;
use super::placed::{Home, sampler, texels};
use super::planes;
use super::pointers::StoredAddresses;
use dovetail_abi::layout::{DescriptorPlace, ResolvedLayout};
use dovetail_base::error::{Context, Error, Result};
use dovetail_reloc::symbol::PartLetter;
use dovetail_state::ResourceLayout;
use std::collections::BTreeSet;

/// Dword 3 of a raw buffer: 32_UINT, all components, range checked in bytes.
const RAW: u32 = 0x3101_4fac;
/// Dword 3 of a typed buffer, without format and selects: resource level 1, range checked in elements.
const TYPED: u32 = 1 << 24 | 1 << 28;

/// Inputs in the machine's memory.
#[derive(Debug)]
pub struct Bindings {
    /// The root table.
    pub root: Vec<u32>,
    homes: Vec<Home>,
    addresses: StoredAddresses,
}

impl Bindings {
    /// Writes the inputs to memory.
    ///
    /// # Errors
    /// Malformed: the layout, or an input that does not fit its binding. Unsupported: a format.
    pub fn new(machine: &mut Machine, layout: &ResourceLayout, inputs: &Inputs) -> Result<Self> {
        let places = ResolvedLayout::new(layout)?;
        let mut root = vec![0; places.root_dwords() as usize];
        for set in &layout.sets {
            let bytes = set.bindings.iter().filter_map(|b| places.binding(set.set, b.binding)).filter(|p| !p.in_root);
            let bytes = bytes.map(|p| p.offset as usize + p.stride as usize * p.count.max(1) as usize).max();
            let table = machine.alloc(bytes.unwrap_or(0))?;
            if let Some(pointer) = places.set_pointer(set.set).and_then(|at| root.get_mut(at as usize)) {
                *pointer = table as u32;
            }
        }
        for absent in &inputs.absent {
            absent.check(inputs)?;
        }
        let (mut homes, mut slots) = (Vec::new(), BTreeSet::new());
        for binding in &inputs.bindings {
            let absent = inputs.absent.iter().filter(|absent| absent.image == binding.slot());
            let absent: Vec<u32> = absent.map(|absent| absent.level).collect();
            let at = || format!("set {} binding {} element {}", binding.set, binding.binding, binding.element);
            if !slots.insert(binding.slot()) {
                return Err(Error::malformed("bound twice")).at(at);
            }
            let (home, parts) = place(machine, &binding.bound, &absent).at(at)?;
            homes.push(home);
            if let Some(to) = places.binding(binding.set, binding.binding) {
                if !binding.bound.kind().is_some_and(|kind| to.kind.serves(kind)) {
                    return Err(Error::malformed(format!("the layout has a {} here", to.kind))).at(at);
                }
                let table = places.set_pointer(binding.set).and_then(|at| root.get(at as usize)).copied();
                let table = u64::from(super::Memory::HIGH) << 32 | u64::from(table.unwrap_or(0));
                parts.iter().try_for_each(|part| write(machine, &mut root, table, to, binding, part)).at(at)?;
            }
        }
        let addresses = StoredAddresses::new(inputs, |n| homes.get(n).map_or(0, Home::address))?;
        for (n, binding) in inputs.bindings.iter().enumerate() {
            let (Some(Home::Bytes(address, _)), Some(data)) = (homes.get(n), binding.bound.buffer()) else {
                continue;
            };
            let mut bytes = data.0.clone();
            addresses.write(Some(n), &mut bytes);
            machine.write(*address, &bytes)?;
        }
        if let Some(push) = places.push_constants() {
            let mut bytes = inputs.push_constants.0.clone();
            addresses.write(None, &mut bytes);
            bytes.resize(push.dwords as usize * 4, 0);
            let words = bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b));
            root.iter_mut().skip(push.root as usize).zip(words).for_each(|(to, word)| *to = word);
        }
        Ok(Self { root, homes, addresses })
    }

    /// The current bytes of each binding of the inputs; empty for samplers.
    ///
    /// # Errors
    /// None that inputs could cause.
    pub fn read(&self, machine: &Machine, inputs: &Inputs) -> Result<Vec<Vec<u8>>> {
        let read = |home: &Home| match home {
            Home::Bytes(address, bytes) => machine.read(*address, *bytes).map(<[u8]>::to_vec),
            Home::Rows(rows) => {
                let rows = rows.iter().map(|(address, bytes)| machine.read(*address, *bytes));
                Ok(rows.collect::<Result<Vec<_>>>()?.concat())
            }
            Home::Nothing => Ok(Vec::new()),
        };
        let mut left = self.homes.iter().map(read).collect::<Result<Vec<_>>>()?;
        left.iter_mut().enumerate().for_each(|(n, left)| self.addresses.restore(inputs, n, left));
        Ok(left)
    }
}

/// Part of a descriptor.
type DescriptorWords = (PartLetter, Vec<u32>);

fn place(machine: &mut Machine, bound: &Bound, absent: &[u32]) -> Result<(Home, Vec<DescriptorWords>)> {
    Ok(match bound {
        Bound::UniformBuffer(data) | Bound::StorageBuffer(data) => {
            let address = machine.alloc_with(&data.0)?;
            let words = vec![address as u32, (address >> 32) as u32, data.0.len() as u32, RAW];
            (Home::Bytes(address, data.0.len()), vec![(PartLetter::Buffer, words)])
        }
        Bound::PhysicalStorageBuffer(data) => (Home::Bytes(machine.alloc_with(&data.0)?, data.0.len()), Vec::new()),
        Bound::UniformTexelBuffer(texels) | Bound::StorageTexelBuffer(texels) => typed(machine, texels)?,
        Bound::SampledImage(image) | Bound::InputAttachment(image) | Bound::StorageImage(image) => {
            if !matches!(bound, Bound::SampledImage(_)) {
                image.check_identity()?;
            }
            let (home, words) = texels(machine, image, absent)?;
            (home, vec![(PartLetter::Image, words)])
        }
        Bound::Sampler(given) => (Home::Nothing, vec![(PartLetter::Sampler, sampler(machine, given)?)]),
        Bound::CombinedImageSampler(image, given) => {
            let (home, words) = match planes::of(image) {
                Some(planes) => planes::texels(machine, image, &planes)?,
                None => texels(machine, image, absent)?,
            };
            (home, vec![(PartLetter::Image, words), (PartLetter::Sampler, sampler(machine, given)?)])
        }
    })
}

fn typed(machine: &mut Machine, texels: &Texels) -> Result<(Home, Vec<DescriptorWords>)> {
    let format = NamedFormat::new(&texels.format)?;
    let address = machine.alloc_with(&texels.data.0)?;
    let stride = format.format.bytes();
    let words = vec![
        address as u32,
        (address >> 32) as u32 | (stride as u32) << 16,
        (texels.data.0.len() / stride.max(1)) as u32,
        selects(format.selects) | u32::from(format.number) << 12 | TYPED,
    ];
    Ok((Home::Bytes(address, texels.data.0.len()), vec![(PartLetter::TexelBuffer, words)]))
}

fn selects(selects: [u8; 4]) -> u32 {
    (0..).step_by(3).zip(selects).map(|(low, select)| u32::from(select) << low).sum()
}

/// Writes part of a descriptor into the set's table or the root table.
fn write(
    machine: &mut Machine,
    root: &mut [u32],
    table: u64,
    to: &DescriptorPlace,
    binding: &BindingElement,
    (part, words): &DescriptorWords,
) -> Result<()> {
    let first = to.part_offset(*part).ok_or_else(|| Error::malformed(format!("the layout has a {} here", to.kind)))?;
    if *part == PartLetter::Image && words.len() as u32 > 8 * to.images {
        return Err(Error::malformed(format!("the layout has {} image descriptors", to.images)));
    }
    if binding.element >= to.count.max(1) {
        return Err(Error::malformed(format!("the layout has {} elements", to.count)));
    }
    let offset = first + binding.element * to.stride;
    if to.in_root {
        root.iter_mut().skip(offset as usize / 4).zip(words).for_each(|(to, word)| *to = *word);
        return Ok(());
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    machine.write(table + u64::from(offset), &bytes)
}

#[cfg(test)]
mod tests {
    use super::super::inputs::{Image, InputBytes, Sampler, Slot, StoredPointer, ViewShape};
    use super::super::placed::sampler_words;
    use super::*;
    use dovetail_base::kinds::ResourceKind;
    use dovetail_base::target::Gpu;
    use dovetail_state::{BindingKind, BindingLayout, SetLayout};

    fn layout(kind: ResourceKind, dynamic: bool) -> ResourceLayout {
        let binding =
            BindingLayout { binding: 3, kind: kind.into(), count: 2, dynamic, offset: None, samplers: Vec::new() };
        ResourceLayout {
            sets: vec![SetLayout { set: 1, root: None, bindings: vec![binding] }],
            push_constant_bytes: 8,
            push_constant_root: None,
        }
    }

    fn bound(bound: Bound) -> Inputs {
        Inputs {
            bindings: vec![BindingElement { set: 1, binding: 3, element: 1, bound }],
            push_constants: InputBytes(vec![1, 0, 0, 0, 2]),
            ..Default::default()
        }
    }

    #[test]
    fn buffers_stand_in_tables_or_in_the_root() {
        let inputs = bound(Bound::StorageBuffer(InputBytes(vec![7; 12])));
        let mut machine = Machine::new(Gpu::Gfx1030);
        let there = Bindings::new(&mut machine, &layout(ResourceKind::StorageBuffer, false), &inputs).unwrap();
        assert_eq!(there.root[1..], [1, 2]);
        let table = u64::from(super::super::Memory::HIGH) << 32 | u64::from(there.root[0]);
        let words = machine.read(table, 32).unwrap().to_vec();
        assert!(words[..16].iter().all(|b| *b == 0), "nothing is bound to element 0");
        assert_eq!(words[24..32], [12, 0, 0, 0, 0xac, 0x4f, 0x01, 0x31]);
        assert_eq!(there.read(&machine, &inputs).unwrap(), [vec![7; 12]]);

        let there = Bindings::new(&mut machine, &layout(ResourceKind::StorageBuffer, true), &inputs).unwrap();
        assert_eq!((there.root.len(), there.root[7], there.root[8], there.root[9]), (11, 12, RAW, 1));
    }

    #[test]
    fn elements_of_a_mutable_binding_are_of_the_kind_that_is_bound() {
        let with = |kinds: &[ResourceKind]| {
            let mut layout = layout(ResourceKind::Sampler, false);
            layout.sets[0].bindings[0].kind = BindingKind::Mutable(kinds.iter().copied().collect());
            layout
        };
        let table = |layout: &ResourceLayout, bytes: usize, bounds: [Bound; 2]| {
            let one = |(element, bound): (u32, Bound)| BindingElement { set: 1, binding: 3, element, bound };
            let inputs = Inputs { bindings: (0..).zip(bounds).map(one).collect(), ..Default::default() };
            let mut machine = Machine::new(Gpu::Gfx1030);
            let there = Bindings::new(&mut machine, layout, &inputs)?;
            let table = u64::from(super::super::Memory::HIGH) << 32 | u64::from(there.root[0]);
            machine.read(table, bytes).map(<[u8]>::to_vec)
        };
        let (buffer, sampler) = (Bound::StorageBuffer(InputBytes(vec![7; 12])), Bound::Sampler(Sampler::default()));
        let words: Vec<u8> = sampler_words(&Sampler::default()).iter().flat_map(|word| word.to_le_bytes()).collect();
        let heap = with(&[ResourceKind::StorageBuffer, ResourceKind::CombinedImageSampler]);
        let bytes = table(&heap, 96, [buffer.clone(), sampler.clone()]).unwrap();
        assert_eq!(
            (bytes[8], &bytes[48 + 32..][..16]),
            (12, &words[..]),
            "elements of 48 bytes, samplers after images"
        );
        let heap = with(&[ResourceKind::StorageBuffer, ResourceKind::Sampler]);
        let bytes = table(&heap, 32, [sampler.clone(), buffer.clone()]).unwrap();
        assert_eq!((&bytes[..16], bytes[24]), (&words[..], 12));
        let uniform = with(&[ResourceKind::UniformBuffer, ResourceKind::Sampler]);
        let why = table(&uniform, 32, [sampler, buffer]).unwrap_err();
        assert!(
            why.to_string().contains("element 1: malformed input: the layout has a mutable descriptor of"),
            "{why}"
        );
    }

    #[test]
    fn a_place_is_bound_once() {
        let mut inputs = bound(Bound::Sampler(Sampler::default()));
        inputs.bindings.push(inputs.bindings[0].clone());
        let layout = layout(ResourceKind::CombinedImageSampler, false);
        let why = Bindings::new(&mut Machine::new(Gpu::Gfx1030), &layout, &inputs).unwrap_err();
        assert!(why.to_string().contains("set 1 binding 3 element 1: malformed input: bound twice"), "{why}");
    }

    #[test]
    fn addresses_stand_where_pointers_are_and_are_no_result() {
        let slot = |set, binding, element| Slot { set, binding, element };
        let physical = Bound::PhysicalStorageBuffer(InputBytes(vec![9; 16]));
        let mut inputs = bound(Bound::StorageBuffer(InputBytes(vec![7; 12])));
        inputs.push_constants = InputBytes(vec![0; 8]);
        inputs.bindings.push(BindingElement { set: 9, binding: 0, element: 0, bound: physical.clone() });
        let to = slot(9, 0, 0);
        inputs.pointers = vec![
            StoredPointer { within: None, byte: 0, to, offset: 4 },
            StoredPointer { within: Some(slot(1, 3, 1)), byte: 4, to, offset: 0 },
        ];
        let mut machine = Machine::new(Gpu::Gfx1030);
        let layout = layout(ResourceKind::StorageBuffer, false);
        let there = Bindings::new(&mut machine, &layout, &inputs).unwrap();
        let address = u64::from(there.root[2]) << 32 | u64::from(there.root[1]);
        assert_eq!(machine.read(address - 4, 16).unwrap(), [9; 16]);
        let Home::Bytes(holder, _) = there.homes[0] else { panic!("{there:?}") };
        assert_eq!(machine.read(holder + 4, 8).unwrap(), (address - 4).to_le_bytes());
        machine.write(address, &[1]).unwrap();
        let mut written = vec![9; 16];
        written[4] = 1;
        assert_eq!(there.read(&machine, &inputs).unwrap(), [vec![7; 12], written]);

        let inputs = bound(physical);
        assert!(Bindings::new(&mut machine, &layout, &inputs).is_err(), "the layout has a descriptor there");
    }

    #[test]
    fn images_of_several_samples_keep_each() {
        let image = |samples: u32, layers: u32| Image {
            format: "R32_SFLOAT".into(),
            shape: ViewShape::D2,
            extent: [3, 2, 1],
            layers,
            arrayed: layers > 1,
            levels: 1,
            samples,
            swizzle: Default::default(),
            data: InputBytes((0..6 * 4 * samples * layers).map(|n| n as u8).collect()),
        };
        let layout = layout(ResourceKind::SampledImage, false);
        for (samples, layers) in [(2, 1), (4, 1), (4, 3), (8, 2)] {
            let mut machine = Machine::new(Gpu::Gfx1030);
            let inputs = bound(Bound::SampledImage(image(samples, layers)));
            let there = Bindings::new(&mut machine, &layout, &inputs).unwrap();
            assert_eq!(there.read(&machine, &inputs).unwrap(), [image(samples, layers).data.0]);
        }
        let inputs = bound(Bound::SampledImage(Image { levels: 2, ..image(4, 1) }));
        assert!(Bindings::new(&mut Machine::new(Gpu::Gfx1030), &layout, &inputs).is_err());
    }

    #[test]
    fn images_keep_their_texels_and_know_their_number() {
        let image = |texels: usize| Image {
            format: "R8G8B8A8_UNORM".into(),
            shape: ViewShape::D3,
            extent: [5, 3, 2],
            layers: 1,
            arrayed: false,
            levels: 2,
            samples: 1,
            swizzle: Default::default(),
            data: InputBytes((0..texels * 4).map(|n| n as u8).collect()),
        };
        let mut machine = Machine::new(Gpu::Gfx1030);
        let layout = layout(ResourceKind::SampledImage, false);
        let all = image(30 + 2);
        let inputs = bound(Bound::SampledImage(all.clone()));
        let there = Bindings::new(&mut machine, &layout, &inputs).unwrap();
        assert_eq!(there.read(&machine, &inputs).unwrap(), [all.data.0]);
        for texels in [31, 33] {
            let inputs = bound(Bound::SampledImage(image(texels)));
            assert!(Bindings::new(&mut machine, &layout, &inputs).is_err());
        }
        let inputs = bound(Bound::StorageBuffer(InputBytes(vec![0; 4])));
        assert!(Bindings::new(&mut machine, &layout, &inputs).is_err(), "a buffer where images stand");
    }
}
