//! Addresses and values of the texels of a linear image (isa-gfx10 4.4).
//!
//! Rows are padded to 256 bytes. A slice holds its levels one after the other, smallest first. A texel outside the view
//! has no address. In a compressed format rows and columns are those of blocks.

use super::descriptor::{DescriptorShape, ImageDescriptor};
use crate::format::DataFormat;
use crate::memory::Memory;
use dovetail_base::error::{Error, Result};

/// A texel of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TexelPosition {
    /// Level, relative to the view.
    pub level: u32,
    /// Column, row, and layer or depth.
    pub at: [u32; 3],
    /// Sample.
    pub sample: u32,
}

/// A view with a decoded format.
#[derive(Clone, Debug)]
pub struct TextureView {
    /// Its descriptor.
    pub image: ImageDescriptor,
    /// Its format.
    pub format: DataFormat,
}

impl TextureView {
    /// The view that a descriptor describes.
    ///
    /// # Errors
    /// Unsupported: the format.
    pub fn new(image: ImageDescriptor) -> Result<Self> {
        let format = DataFormat::of_image(image.format);
        let format = format.ok_or_else(|| Error::unsupported("image format", image.format.to_string()))?;
        Ok(Self { image, format })
    }

    /// Width, height, and layers or depth of a level of the view.
    pub fn extent(&self, level: u32) -> [u32; 3] {
        let level = (self.image.base_level + level).min(31);
        let base = if self.image.shape.multisampled() { 0 } else { level };
        let [width, height] = self.image.extent.map(|n| (n >> base).max(1));
        let height =
            if matches!(self.image.shape, DescriptorShape::D1 | DescriptorShape::D1Array) { 1 } else { height };
        [width, height, self.image.layers(base)]
    }

    /// Elements per row of a level of the image.
    fn pitch(&self, level: u32) -> u64 {
        let image = &self.image;
        let flat = matches!(image.shape, DescriptorShape::D1 | DescriptorShape::D2 | DescriptorShape::D2Msaa);
        if flat && image.depth != 0 {
            return u64::from(image.depth) + 1;
        }
        let width = self.elements(level)[0];
        // The smallest pitch whose bytes are a multiple of 256.
        let bytes = self.format.bytes().max(1) as u64;
        let unit = (1..=256).find(|n| (n * bytes).is_multiple_of(256)).unwrap_or(256);
        u64::from(width).next_multiple_of(unit)
    }

    /// Elements in a row of a level of the image, and rows of elements.
    fn elements(&self, level: u32) -> [u32; 2] {
        self.format.elements(self.image.extent.map(|n| (n >> level.min(31)).max(1)))
    }

    fn level_bytes(&self, level: u32) -> u64 {
        let one_row = matches!(self.image.shape, DescriptorShape::D1 | DescriptorShape::D1Array);
        let rows = if one_row { 1 } else { self.elements(level)[1] };
        self.pitch(level) * u64::from(rows) * self.format.bytes() as u64
    }

    fn last_mip(&self) -> u32 {
        if self.image.shape.multisampled() { 0 } else { self.image.max_mip.max(self.image.last_level) }
    }

    /// Bytes from one slice to the next.
    pub fn slice_bytes(&self) -> u64 {
        (0..=self.last_mip()).map(|level| self.level_bytes(level)).sum()
    }

    /// The byte address of a texel's element; `None` outside the view.
    pub fn address(&self, place: TexelPosition) -> Option<u64> {
        let image = &self.image;
        let extent = self.extent(place.level);
        let inside = place.at.iter().zip(extent).all(|(at, n)| *at < n);
        if !inside || place.level >= image.levels() || place.sample >= image.samples() {
            return None;
        }
        let level = if image.shape.multisampled() { 0 } else { image.base_level + place.level };
        let smaller: u64 = (level + 1..=self.last_mip()).map(|level| self.level_bytes(level)).sum();
        let first = if image.shape == DescriptorShape::D3 && !image.slices_of_3d { 0 } else { image.base_array };
        let slice = u64::from(first + place.at[2]) * u64::from(image.samples()) + u64::from(place.sample);
        let [across, down] = self.format.block();
        let element = u64::from(place.at[1] / down) * self.pitch(level) + u64::from(place.at[0] / across);
        Some(image.base + smaller + slice * self.slice_bytes() + element * self.format.bytes() as u64)
    }

    /// The components of a texel as stored; `None` outside the view.
    pub fn texel(&self, memory: &Memory, place: TexelPosition) -> Result<Option<[u32; 4]>> {
        let Some(address) = self.address(place) else { return Ok(None) };
        let [across, down] = self.format.block();
        let inner = [place.at[0] % across, place.at[1] % down];
        memory.texel(address, self.format.bytes()).map(|bytes| Some(self.format.decode_at(bytes, inner)))
    }

    /// Swizzles components as the view says.
    pub fn selected(&self, components: [u32; 4]) -> [u32; 4] {
        self.image.selects.map(|select| self.format.select(components, select))
    }

    /// Writes a texel from swizzled components; a texel outside the view is dropped.
    pub fn store(&self, memory: &mut Memory, place: TexelPosition, components: [u32; 4]) -> Result<()> {
        let Some(address) = self.address(place) else { return Ok(()) };
        let stored = [4, 5, 6, 7].map(|wanted| {
            let from = self.image.selects.iter().position(|select| *select == wanted);
            from.and_then(|n| components.get(n)).copied().unwrap_or(0)
        });
        memory.write(address, &self.format.encode(stored)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{texture, view};
    use super::*;

    #[test]
    fn the_smallest_level_comes_first() {
        // 70 texels of 4 bytes: 128 per row; 35 and 17 and 8: 64 per row.
        let t = texture(ImageDescriptor {
            extent: [70, 6],
            max_mip: 2,
            last_level: 2,
            ..view(22, DescriptorShape::D2Array)
        });
        let t = TextureView { image: ImageDescriptor { depth: 3, ..t.image }, ..t };
        assert_eq!(t.slice_bytes(), 4 * (128 * 6 + 64 * 3 + 64));
        let at = |level, at| t.address(TexelPosition { level, at, sample: 0 }).map(|a| a - t.image.base);
        assert_eq!(at(2, [0, 0, 0]), Some(0));
        assert_eq!(at(1, [0, 1, 0]), Some(4 * (64 + 64)));
        assert_eq!(at(0, [3, 1, 2]), Some(4 * (64 + 64 * 3 + 128 + 3) + 2 * t.slice_bytes()));
        assert_eq!([at(0, [70, 0, 0]), at(1, [35, 0, 0]), at(0, [0, 0, 4]), at(3, [0, 0, 0])], [None; 4]);
        let one = TextureView { image: ImageDescriptor { base_level: 1, base_array: 1, ..t.image }, ..t.clone() };
        assert_eq!(one.extent(0), [35, 3, 3]);
        assert_eq!(
            one.address(TexelPosition::default()),
            t.address(TexelPosition { level: 1, at: [0, 0, 1], sample: 0 })
        );
    }

    #[test]
    fn blocks_are_elements() {
        // BC1: 3 blocks of 8 bytes, 32 per row; 2 rows of blocks; then a level of 5 by 2 texels.
        let t =
            texture(ImageDescriptor { extent: [10, 5], max_mip: 1, last_level: 1, ..view(169, DescriptorShape::D2) });
        let at = |level, at| t.address(TexelPosition { level, at, sample: 0 }).map(|a| a - t.image.base);
        assert_eq!(t.slice_bytes(), 8 * 32 * 3);
        assert_eq!([at(1, [4, 1, 0]), at(1, [0, 1, 0])], [Some(8), Some(0)]);
        assert_eq!([at(0, [9, 3, 0]), at(0, [0, 4, 0]), at(0, [10, 0, 0])], [Some(256 + 16), Some(512), None]);
    }

    #[test]
    fn samples_are_slices() {
        let t = texture(ImageDescriptor { extent: [8, 8], last_level: 2, ..view(56, DescriptorShape::D2Msaa) });
        let at = |sample| t.address(TexelPosition { sample, at: [1, 0, 0], level: 0 }).map(|a| a - t.image.base);
        assert_eq!([at(0), at(3), at(4)], [Some(4), Some(4 + 3 * 8 * 256), None]);
    }

    #[test]
    fn stores_and_loads_go_through_the_selection() {
        let mut memory = Memory::default();
        let base = memory.alloc(256).unwrap();
        let t = texture(ImageDescriptor { base, selects: [6, 5, 4, 7], ..view(56, DescriptorShape::D2) });
        let color = [0.0f32, 0.2, 1.0, 0.4].map(f32::to_bits);
        t.store(&mut memory, TexelPosition::default(), color).unwrap();
        assert_eq!(memory.read(base, 4), Ok(&[255, 51, 0, 102][..]));
        let texel = t.texel(&memory, TexelPosition::default()).unwrap().unwrap();
        assert_eq!(t.selected(texel), color);
    }
}
