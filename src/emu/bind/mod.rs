//! Bound resources to memory and descriptors, as a driver lays them out, and back to bytes after the run (isa-gfx10 4).
//!
//! Where descriptors stand is the resource layout's business; what the code reads of it is decided by registers alone. A
//! descriptor that nothing was bound to is null.

mod image;

use super::dispatch::Tables;
use super::image::{ImageDescriptor, Texture};
use super::inputs::{Binding, Bound, Draw, Inputs, Texels};
use super::machine::Machine;
use super::memory::Memory;
use super::named_format::NamedFormat;
use crate::abi::layout::{COMBINED_SAMPLER_OFFSET, ResolvedLayout};
use crate::error::{Context, Error, Result};
use crate::metadata::user_data::pal;
use crate::state::ResourceLayout;

/// Resources in memory.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Root dwords.
    pub root: Vec<u32>,
    /// Where each binding's contents are, in the order of the inputs.
    contents: Vec<Contents>,
}

#[derive(Clone, Debug)]
enum Contents {
    /// A sampler has none.
    Nothing,
    Bytes(u64, usize),
    Texels(Box<Texture>),
}

/// Address rule: what is beyond the records.
#[derive(Clone, Copy)]
enum Range {
    Records = 1,
    Bytes = 3,
}

/// Raw dwords of 32_UINT.
const RAW: u32 = 20;
const IDENTITY: [u8; 4] = ImageDescriptor::IDENTITY;

/// A buffer descriptor.
fn buffer(address: u64, stride: u32, records: u32, selects: [u8; 4], format: u32, range: Range) -> [u32; 4] {
    let selects = selects.iter().rev().fold(0, |all, select| all << 3 | u32::from(*select));
    let word3 = selects | format << 12 | 1 << 24 | (range as u32) << 28;
    [address as u32, (address >> 32) as u32 & 0xffff | stride << 16, records, word3]
}

impl Bindings {
    /// Puts what is bound into memory, with the tables of descriptors.
    ///
    /// # Errors
    /// Malformed: a binding that the layout does not have, contents that do not fit.
    pub fn new(machine: &mut Machine, inputs: &Inputs, layout: &ResourceLayout) -> Result<Self> {
        let resolved = ResolvedLayout::new(layout)?;
        let mut out = Self { root: vec![0; resolved.root_dwords() as usize], contents: Vec::new() };
        let mut tables = Vec::new();
        for set in &layout.sets {
            let ends = set.bindings.iter().filter(|b| !b.dynamic).filter_map(|b| {
                let place = resolved.binding(set.set, b.binding)?;
                Some(place.offset as usize + place.stride as usize * place.count.max(1) as usize)
            });
            let table = machine.alloc(ends.max().unwrap_or(0).max(16))?;
            tables.push((set.set, table));
            if let Some(pointer) = resolved.set_pointer(set.set) {
                out.set_root(pointer, &[table as u32])?;
            }
        }
        for binding in &inputs.bindings {
            let name = || format!("set {} binding {}", binding.set, binding.binding);
            let (contents, words) = bind(machine, &binding.bound).at(name)?;
            out.contents.push(contents);
            out.place(machine, &resolved, &tables, binding, &words).at(name)?;
        }
        if let Some(place) = resolved.push_constants() {
            let words: Vec<u32> = inputs.push_constants.0.chunks(4).map(|c| super::access::number(c) as u32).collect();
            let words = words.get(..words.len().min(place.dwords as usize)).unwrap_or_default();
            out.set_root(place.root, words)?;
        }
        Ok(out)
    }

    fn set_root(&mut self, first: u32, words: &[u32]) -> Result<()> {
        let first = first as usize;
        let to = self.root.get_mut(first..first + words.len());
        to.ok_or_else(|| Error::malformed("the root table has no such place"))?.copy_from_slice(words);
        Ok(())
    }

    /// Writes descriptors, by their byte in the place of a binding.
    fn place(
        &mut self,
        machine: &mut Machine,
        layout: &ResolvedLayout,
        tables: &[(u32, u64)],
        binding: &Binding,
        parts: &[(u32, Vec<u32>)],
    ) -> Result<()> {
        let place = layout.binding(binding.set, binding.binding);
        let place = place.ok_or_else(|| Error::malformed("the pipeline state's layout does not have it"))?;
        let table = tables.iter().find(|(set, _)| *set == binding.set).map(|(_, table)| *table);
        if binding.element >= place.count.max(1) {
            return Err(Error::malformed(format!("element {} of {}", binding.element, place.count)));
        }
        let offset = place.offset + place.stride * binding.element;
        for (part, words) in parts {
            if part + 4 * words.len() as u32 > place.stride {
                return Err(Error::malformed(format!("the layout has a {:?} here", place.kind)));
            }
            if place.in_root {
                self.set_root((offset + part) / 4, words)?;
            } else if let Some(table) = table {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                machine.write(table + u64::from(offset + part), &bytes)?;
            }
        }
        Ok(())
    }

    /// The contents of every binding after the run, in the order of the inputs; empty for samplers.
    pub fn contents(&self, machine: &Machine) -> Result<Vec<Vec<u8>>> {
        let read = |contents: &Contents| match contents {
            Contents::Nothing => Ok(Vec::new()),
            Contents::Bytes(address, bytes) => machine.read(*address, *bytes).map(<[u8]>::to_vec),
            Contents::Texels(texture) => image::download(machine, texture),
        };
        self.contents.iter().map(read).collect()
    }
}

/// Descriptors by their byte in a binding's place.
type Descriptors = Vec<(u32, Vec<u32>)>;

/// One resource: its contents, and its descriptors.
fn bind(machine: &mut Machine, bound: &Bound) -> Result<(Contents, Descriptors)> {
    let image = |machine: &mut Machine, image: &super::inputs::Image| {
        let texture = image::upload(machine, image)?;
        let words = texture.image.dwords().to_vec();
        Ok::<_, Error>((Contents::Texels(Box::new(texture)), words))
    };
    let sampler = |sampler| image::sampler(sampler).dwords().to_vec();
    Ok(match bound {
        Bound::UniformBuffer(bytes) | Bound::StorageBuffer(bytes) => {
            let address = machine.alloc_with(&bytes.0)?;
            let words = buffer(address, 0, bytes.0.len() as u32, IDENTITY, RAW, Range::Bytes);
            (Contents::Bytes(address, bytes.0.len()), vec![(0, words.to_vec())])
        }
        Bound::UniformTexelBuffer(texels) | Bound::StorageTexelBuffer(texels) => {
            let Texels { format, data } = texels;
            let format = NamedFormat::new(format)?;
            let stride = format.format.bytes() as u32;
            let address = machine.alloc_with(&data.0)?;
            let records = data.0.len() as u32 / stride.max(1);
            let words = buffer(address, stride, records, format.selects, u32::from(format.number), Range::Records);
            (Contents::Bytes(address, data.0.len()), vec![(0, words.to_vec())])
        }
        Bound::SampledImage(view) | Bound::StorageImage(view) => {
            let (contents, words) = image(machine, view)?;
            (contents, vec![(0, words)])
        }
        Bound::Sampler(state) => (Contents::Nothing, vec![(0, sampler(state))]),
        Bound::CombinedImageSampler(view, state) => {
            let (contents, words) = image(machine, view)?;
            (contents, vec![(0, words), (COMBINED_SAMPLER_OFFSET, sampler(state))])
        }
    })
}

/// Adds the table of vertex buffers, and what else a draw's user data may hold.
pub fn draw_tables(machine: &mut Machine, draw: &Draw, tables: &mut Tables) -> Result<()> {
    let entries = draw.vertex_buffers.iter().map(|b| b.binding as usize + 1).max().unwrap_or(0);
    if entries > 64 {
        return Err(Error::malformed(format!("{entries} vertex buffers")));
    }
    let table = machine.alloc(16 * entries.max(1))?;
    for b in &draw.vertex_buffers {
        if b.stride > 0x3fff {
            return Err(Error::malformed(format!("vertex buffer {}: a stride of {} bytes", b.binding, b.stride)));
        }
        // The last element may end before its stride does; what an attribute reads of it must be there.
        let records = b.data.0.len().div_ceil(b.stride.max(1) as usize);
        let mut data = b.data.0.clone();
        data.resize(data.len().max(records * b.stride.max(1) as usize), 0);
        let address = machine.alloc_with(&data)?;
        let range = if b.stride <= 1 { Range::Bytes } else { Range::Records };
        let words = buffer(address, b.stride, records as u32, IDENTITY, RAW, range);
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        machine.write(table + 16 * u64::from(b.binding), &bytes)?;
    }
    debug_assert_eq!((table >> 32) as u32, Memory::HIGH);
    tables.others.extend([
        (pal::VERTEX_BUFFER_TABLE, table as u32),
        (pal::BASE_VERTEX, draw.first_vertex),
        (pal::BASE_INSTANCE, draw.first_instance),
        (pal::DRAW_INDEX, 0),
        (pal::VIEW_ID, 0),
    ]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::image::SamplerDescriptor;
    use super::super::inputs::{Bytes, Image, Sampler, Shape};
    use super::*;
    use crate::ir::ResourceKind as K;
    use crate::state::{BindingLayout, SetLayout};
    use crate::target::GfxIp;

    #[test]
    fn descriptors_stand_where_the_layout_says() {
        let binding = |binding, kind, count| BindingLayout { binding, kind, count, dynamic: false, offset: None };
        let bindings = vec![binding(0, K::StorageBuffer, 2), binding(1, K::CombinedImageSampler, 1)];
        let dynamic = BindingLayout { dynamic: true, ..binding(2, K::UniformBuffer, 1) };
        let set = SetLayout { set: 3, root: Some(1), bindings: [bindings, vec![dynamic]].concat() };
        let layout = ResourceLayout { sets: vec![set], push_constant_bytes: 8, push_constant_root: None };
        let image = Image {
            format: "R8_UNORM".to_owned(),
            shape: Shape::D2,
            extent: [3, 2, 1],
            layers: 1,
            arrayed: false,
            levels: 1,
            data: Bytes(vec![1, 2, 3, 4, 5, 6]),
        };
        let at = |binding, element, bound| Binding { set: 3, binding, element, bound };
        let inputs = Inputs {
            bindings: vec![
                at(0, 1, Bound::StorageBuffer(Bytes(vec![9; 12]))),
                at(1, 0, Bound::CombinedImageSampler(image, Sampler::default())),
                at(2, 0, Bound::UniformBuffer(Bytes(vec![7; 4]))),
            ],
            push_constants: Bytes(vec![1, 0, 0, 0, 2, 0, 0, 0]),
            ..Inputs::default()
        };
        let mut machine = Machine::new(GfxIp::Gfx1030);
        let bound = Bindings::new(&mut machine, &inputs, &layout).unwrap();
        let resolved = ResolvedLayout::new(&layout).unwrap();
        let push = resolved.push_constants().unwrap().root as usize;
        assert_eq!(bound.root[push..push + 2], [1, 2]);
        let table = u64::from(Memory::HIGH) << 32 | u64::from(bound.root[1]);
        let words = |at: u64, n: usize| -> Vec<u32> {
            machine.read(table + at, 4 * n).unwrap().chunks(4).map(|c| super::super::access::number(c) as u32).collect()
        };
        // The first element was not bound.
        assert_eq!(words(0, 4), [0; 4]);
        assert_eq!(words(16, 4)[2..], [12, 0x3101_4fac]);
        let image = ImageDescriptor::new(words(32, 8).try_into().unwrap()).unwrap().unwrap();
        assert_eq!((image.extent, image.format), ([3, 2], 1));
        assert!(SamplerDescriptor::new(words(64, 4).try_into().unwrap()).is_ok());
        let root = resolved.binding(3, 2).unwrap().offset as usize / 4;
        assert_eq!(bound.root[root + 2..root + 4], [4, 0x3101_4fac]);
        assert_eq!(bound.contents(&machine).unwrap(), [vec![9; 12], vec![1, 2, 3, 4, 5, 6], vec![7; 4]]);
        assert!(Bindings::new(&mut machine, &inputs, &ResourceLayout::default()).is_err());
    }
}
