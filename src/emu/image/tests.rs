//! Sampling compared with simple formulas.

use super::*;
use crate::mode::Mode;
use dovetail_base::target::{Gpu, WaveSize};
use dovetail_isa::instruction::Fields;
use dovetail_isa::{Isa, Vgpr, disassemble};

/// A view of one small level.
pub fn view(format: u16, shape: DescriptorShape) -> ImageDescriptor {
    ImageDescriptor {
        base: 0x7f12_0000_1000,
        format,
        extent: [4, 4],
        shape,
        depth: 0,
        base_array: 0,
        slices_of_3d: false,
        base_level: 0,
        last_level: 0,
        max_mip: 0,
        min_lod: 0.0,
        selects: ImageDescriptor::IDENTITY,
    }
}

pub fn texture(image: ImageDescriptor) -> TextureView {
    TextureView::new(image).expect("a format")
}

fn sampler() -> SamplerDescriptor {
    SamplerDescriptor {
        clamp: [Clamp::LastTexel; 3],
        compare: CompareFunction(0),
        unnormalized: false,
        no_cube_wrap: false,
        lod: [0.0, 15.0],
        bias: 0.0,
        mag_linear: true,
        min_linear: true,
        mip: 2,
        anisotropy: 0,
        border: 0,
        palette: 0,
    }
}

/// R32_SFLOAT: it can hold any value.
const FLOAT: u16 = 22;

/// Memory with an image whose texels are a function of their position.
fn filled(image: ImageDescriptor, value: impl Fn(TexelPosition) -> f32) -> (Memory, TextureView) {
    let mut memory = Memory::default();
    let mut t = texture(image);
    let bytes = t.slice_bytes() * u64::from(t.image.layers(0)) * u64::from(t.image.samples());
    t.image.base = memory.alloc(bytes as usize).expect("room");
    for level in 0..t.image.levels() {
        let [width, height, layers] = t.extent(level);
        for n in 0..width * height * layers {
            let at = [n % width, n / width % height, n / width / height];
            let place = TexelPosition { level, at, sample: 0 };
            t.store(&mut memory, place, [value(place).to_bits(); 4]).expect("stores");
        }
    }
    (memory, t)
}

fn at(at: [f32; 3]) -> Coordinates {
    Coordinates { at, ..Coordinates::default() }
}

fn red(sampled: &Sampled<'_>, at: &Coordinates, lod: f32) -> f32 {
    f32::from_bits(sampled.sample(at, lod).expect("samples")[0])
}

#[test]
fn linear_filtering_of_a_slope_is_the_slope() {
    // Each texel holds the value of a plane at its centre.
    let plane = |x: f32, y: f32, z: f32| 3.0 * x + 7.0 * y - 2.0 * z;
    let image = ImageDescriptor { extent: [8, 4], depth: 3, ..view(FLOAT, DescriptorShape::D3) };
    let (memory, texture) = filled(image, |p| {
        let [x, y, z] = p.at.map(|i| i as f32 + 0.5);
        plane(x, y, z)
    });
    let sampler = sampler();
    let sampled = Sampled { memory: &memory, texture: &texture, sampler: &sampler, reference: None };
    for [x, y, z] in [[1.0, 1.0, 1.0], [2.25, 3.125, 0.75], [7.0, 0.5, 3.5]] {
        let found = red(&sampled, &at([x / 8.0, y / 4.0, z / 4.0]), 0.0);
        assert!((found - plane(x, y, z)).abs() < 1e-5, "{x} {y} {z}: {found}");
    }
    // Beyond the centre of the last texel, that texel is repeated.
    assert_eq!(red(&sampled, &at([2.0, 0.125, 0.125]), 0.0), plane(7.5, 0.5, 0.5));
    let moved = Coordinates { offset: [1, -1, 0], ..at([2.5 / 8.0, 2.5 / 4.0, 0.125]) };
    assert_eq!(red(&sampled, &moved, 0.0), plane(3.5, 1.5, 0.5));
}

#[test]
fn levels_are_chosen_and_mixed() {
    let image = ImageDescriptor { extent: [16, 16], last_level: 3, max_mip: 3, ..view(FLOAT, DescriptorShape::D2) };
    let (memory, texture) = filled(image, |p| p.level as f32);
    let with = |mip, lod: f32| {
        let sampler = SamplerDescriptor { mip, ..sampler() };
        let sampled = Sampled { memory: &memory, texture: &texture, sampler: &sampler, reference: None };
        red(&sampled, &at([0.5; 3]), sampled.clamped(lod, 0.0))
    };
    assert_eq!([with(2, -1.0), with(2, 1.25), with(2, 2.5), with(2, 9.0)], [0.0, 1.25, 2.5, 3.0]);
    assert_eq!([with(1, 0.5), with(1, 0.6), with(1, 1.5), with(1, 2.75)], [0.0, 1.0, 1.0, 3.0]);
    assert_eq!([with(0, 2.0), with(2, f32::NAN)], [0.0, 0.0]);
    let narrow = SamplerDescriptor { lod: [1.0, 2.0], bias: 0.5, ..sampler() };
    let sampled = Sampled { memory: &memory, texture: &texture, sampler: &narrow, reference: None };
    assert_eq!([-3.0, 1.0, 7.0].map(|lod| sampled.clamped(lod, 0.0)), [1.0, 1.5, 2.0]);
    // A step of 4 texels of a 16-texel image selects level 2.
    assert_eq!(sampled.level_of([0.25, 0.0, 0.0], [0.0, 0.125, 0.0], false), 2.0);
    assert_eq!(sampled.level_of([3.0, 4.0, 0.0], [0.0, 0.0, 0.0], true), 5f32.log2());
}

#[test]
fn nearest_borders_and_gather() {
    let (memory, texture) = filled(view(FLOAT, DescriptorShape::D2), |p| (10 * p.at[1] + p.at[0]) as f32);
    let sampler = SamplerDescriptor {
        clamp: [Clamp::Wrap, Clamp::Border, Clamp::Wrap],
        mag_linear: false,
        border: 2,
        ..sampler()
    };
    let sampled = Sampled { memory: &memory, texture: &texture, sampler: &sampler, reference: None };
    assert_eq!(red(&sampled, &at([0.74, 0.26, 0.0]), 0.0), 12.0);
    assert_eq!(red(&sampled, &at([-0.1, 0.9, 0.0]), 0.0), 33.0);
    assert_eq!(red(&sampled, &at([0.5, 1.01, 0.0]), 0.0), 1.0);
    let four = sampled.gather(&at([0.5, 0.5, 0.0]), 0.0, 0).unwrap().map(f32::from_bits);
    assert_eq!(four, [21.0, 22.0, 12.0, 11.0]);
}

#[test]
fn comparisons_are_filtered_after_they_are_made() {
    let (memory, texture) = filled(view(FLOAT, DescriptorShape::D2), |p| p.at[0] as f32 / 4.0);
    // Reference < texel.
    let sampler = SamplerDescriptor { compare: CompareFunction(1), ..sampler() };
    let sampled = Sampled { memory: &memory, texture: &texture, sampler: &sampler, reference: Some(0.4) };
    assert_eq!(red(&sampled, &at([0.5, 0.5, 0.0]), 0.0), 0.5);
    assert_eq!(red(&sampled, &at([0.625, 0.5, 0.0]), 0.0), 1.0);
    assert_eq!(red(&sampled, &at([0.4375, 0.5, 0.0]), 0.0), 0.25);
}

#[test]
fn a_cube_beyond_the_last_keeps_its_face() {
    // Two cubes; `joined` is 8 * cube + face.
    for (cube, there) in [(-3.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (2.0, 1.0), (100.0, 1.0)] {
        for face in [0.0, 2.0, 5.0] {
            assert_eq!(cube_layer(cube * 8.0 + face, 12), there * 6.0 + face, "cube {cube}, face {face}");
        }
    }
}

#[test]
fn a_cube_has_no_seams() {
    // Each texel holds the x of its direction, so both sides of an edge give the same filtered value.
    let image = ImageDescriptor { depth: 5, ..view(FLOAT, DescriptorShape::Cube) };
    let (memory, texture) = filled(image, |p| {
        let place = [p.at[0], p.at[1]].map(|i| (2.0 * f64::from(i) + 1.0) / 4.0 - 1.0);
        cube::direction(p.at[2], place)[0] as f32
    });
    let sampler = sampler();
    let sampled = Sampled { memory: &memory, texture: &texture, sampler: &sampler, reference: None };
    let face = |layer, s, t| Coordinates { layer, cube: true, ..at([s, t, 0.0]) };
    // The right edge of +Z is the left edge of +X.
    let [right, left] = [red(&sampled, &face(4.0, 1.0, 0.4), 0.0), red(&sampled, &face(0.0, 0.0, 0.4), 0.0)];
    assert!((right - left).abs() < 1e-6 && right > 0.8, "{right} {left}");
    // A corner gives the mean of three texels.
    let corners = [face(4.0, 1.0, 0.0), face(0.0, 0.0, 0.0), face(2.0, 1.0, 1.0)].map(|at| red(&sampled, &at, 0.0));
    assert!(corners.iter().all(|c| (c - (1.0 + 0.75 + 0.75) / 3.0).abs() < 1e-6), "{corners:?}");
}

/// Numbers of the opcodes used here.
const LOAD: u32 = 0;
const STORE: u32 = 8;
const RESINFO: u32 = 14;
const ATOMIC_CMPSWAP: u32 = 16;
const ATOMIC_ADD: u32 = 17;
const SAMPLE: u32 = 32;
const SAMPLE_L_O: u32 = 52;
const GET_LOD: u32 = 96;
const GLC: u32 = 1 << 13;
const TFE: u32 = 1 << 16;
const D16: u32 = 1 << 31;
const A16: u32 = 1 << 30;

/// Runs an instruction on a wave of four lanes: T# in s0, S# in s8, addresses from v0 on, data from v20 on.
fn run(
    words: [u32; 2],
    t: &TextureView,
    memory: &mut Memory,
    exec: u64,
    registers: &[(u8, [u32; 4])],
) -> impl Fn(usize) -> [u32; 4] + use<> {
    let encoded = [0b11_1100 << 26 | words[0], 20 << 8 | 2 << 21 | words[1]];
    let inst = disassemble(Isa::of(Gpu::Gfx1030), &encoded).expect("an instruction");
    let Fields::Image(fields) = &inst.fields else { panic!("an image instruction") };
    let mut wave = Wave::new(Isa::of(Gpu::Gfx1030), WaveSize::W32, 0, Mode(0xf0), exec);
    for (n, word) in t.image.dwords().into_iter().chain(sampler().dwords()).enumerate() {
        wave.set_sgpr(fields.resource, n, word);
    }
    for (register, row) in registers {
        for (lane, value) in row.iter().enumerate() {
            wave.set_vgpr(Vgpr(*register), 0, lane, *value);
        }
    }
    execute(resolve(inst.entry).expect("known"), &inst, fields, &mut wave, memory).expect("executes");
    move |n| [0, 1, 2, 3].map(|lane| wave.vgpr(Vgpr(20), n, lane))
}

const fn op(number: u32, dim: u32, dmask: u32) -> u32 {
    number << 18 | dim << 3 | dmask << 8
}

#[test]
fn loads_and_stores_by_lane() {
    let (mut memory, t) = filled(view(FLOAT, DescriptorShape::D2), |p| (10 * p.at[1] + p.at[0]) as f32);
    let x = (0, [1, 2, 4, 3]);
    let y = (1, [0, 3, 0, u32::MAX]);
    let load = run([op(LOAD, 1, 0b1001) | TFE, 0], &t, &mut memory, 0b1111, &[x, y, (22, [9; 4])]);
    assert_eq!(load(0).map(f32::from_bits), [1.0, 32.0, 0.0, 0.0]);
    // Missing components are 0, 0, 1; outside the image all are 0. Then the residency code.
    assert_eq!(load(1).map(f32::from_bits), [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(load(2), [0; 4]);

    let data = (20, [5.0f32, 6.0, 7.0, 8.0].map(f32::to_bits));
    let _ = run([op(STORE, 1, 1), 0], &t, &mut memory, 0b0110, &[x, y, data]);
    let texel = |at: [u32; 3]| t.texel(&memory, TexelPosition { at, ..TexelPosition::default() }).unwrap().unwrap()[0];
    assert_eq!([texel([1, 0, 0]), texel([2, 3, 0])].map(f32::from_bits), [1.0, 6.0]);
}

#[test]
fn halves_are_packed() {
    // R8G8B8A8_UINT.
    let (mut memory, t) = filled(view(60, DescriptorShape::D2), |p| f32::from_bits(p.at[0] + 16 * p.at[1]));
    let load = run([op(LOAD, 1, 15), D16 | A16], &t, &mut memory, 1, &[(0, [2 << 16 | 1, 0, 0, 0])]);
    assert_eq!([load(0)[0], load(1)[0]], [0x21 << 16 | 0x21; 2]);
    assert_eq!(load(2)[0], crate::wave::POISON);
}

#[test]
fn atomics_take_their_turns() {
    // R32_UINT; every lane adds to the same texel.
    let (mut memory, t) = filled(view(20, DescriptorShape::D2), |_| 0.0);
    let zero = [(0, [0; 4]), (1, [0; 4])];
    let add = run([op(ATOMIC_ADD, 1, 1) | GLC, 0], &t, &mut memory, 0b1011, &[zero[0], zero[1], (20, [1, 2, 4, 8])]);
    assert_eq!(add(0), [0, 1, 4, 3]);
    let data = [(20, [7, 8, 9, 9]), (21, [11, 7, 7, 7])];
    let words = [op(ATOMIC_CMPSWAP, 1, 3) | GLC, 0];
    let swap = run(words, &t, &mut memory, 0b0111, &[zero[0], zero[1], data[0], data[1]]);
    assert_eq!(swap(0)[..3], [11, 7, 8]);
    assert_eq!(memory.dword(t.image.base), Ok(8));
}

#[test]
fn queries() {
    let image =
        ImageDescriptor { extent: [16, 8], last_level: 2, max_mip: 2, depth: 11, ..view(FLOAT, DescriptorShape::Cube) };
    let (mut memory, t) = filled(image, |_| 0.0);
    let info = run([op(RESINFO, 3, 15), 0], &t, &mut memory, 0b11, &[(0, [1, 7, 0, 0])]);
    assert_eq!([0, 1, 2, 3].map(|n| info(n)[0]), [8, 4, 12, 3]);
    assert_eq!([0, 1, 2, 3].map(|n| info(n)[1]), [0, 0, 0, 3]);
    // A step of 4 texels per pixel; lanes 1 to 3 are inactive, but their coordinates enter the derivatives.
    let (mut memory, t) = filled(ImageDescriptor { shape: DescriptorShape::D2, depth: 0, ..image }, |_| 0.0);
    let st = [(0, [0.0, 0.25, 0.0, 0.25].map(f32::to_bits)), (1, [0.0, 0.0, 0.125, 0.125].map(f32::to_bits))];
    let lod = run([op(GET_LOD, 1, 3), 0], &t, &mut memory, 1, &st);
    assert_eq!([lod(0)[0], lod(1)[0]].map(f32::from_bits), [2.0, 2.0]);
}

#[test]
fn implicit_and_given_levels() {
    let image = ImageDescriptor { extent: [16, 16], last_level: 4, max_mip: 4, ..view(FLOAT, DescriptorShape::D2) };
    let (mut memory, t) = filled(image, |p| p.level as f32);
    let st = [(0, [0.0, 0.25, 0.0, 0.25].map(f32::to_bits)), (1, [0.0, 0.0, 0.25, 0.25].map(f32::to_bits))];
    let sampled = run([op(SAMPLE, 1, 1), 0], &t, &mut memory, 0b1111, &st);
    assert_eq!(sampled(0).map(f32::from_bits), [2.0; 4]);
    let level = [1.0, 2.5, 3.0, 9.0].map(f32::to_bits);
    let operands = [(0, [0x3f01; 4]), (1, st[0].1), (2, st[1].1), (3, level)];
    let sampled = run([op(SAMPLE_L_O, 1, 1), 0], &t, &mut memory, 0b1111, &operands);
    assert_eq!(sampled(0).map(f32::from_bits), [1.0, 2.5, 3.0, 4.0]);
}

#[test]
fn without_seams_a_cube_filters_over_its_edges() {
    let image = ImageDescriptor { depth: 5, ..view(FLOAT, DescriptorShape::Cube) };
    let (memory, texture) = filled(image, |p| p.at[2] as f32);
    let found = |no_cube_wrap| {
        let sampler = SamplerDescriptor { no_cube_wrap, ..sampler() };
        let sampled = Sampled { memory: &memory, texture: &texture, sampler: &sampler, reference: None };
        red(&sampled, &Coordinates { cube: true, layer: 4.0, ..at([0.0, 0.5, 0.0]) }, 0.0)
    };
    // Left of the front face is that to the left, number 1; with seams the edge's texel is repeated.
    assert_eq!([found(false), found(true)], [2.5, 4.0]);
}

#[test]
fn a_footprint_is_sampled_along_its_longer_side() {
    let image = ImageDescriptor { extent: [16, 16], ..view(FLOAT, DescriptorShape::D2) };
    let (memory, texture) = filled(image, |p| p.at[0] as f32 + 100.0 * p.at[1] as f32);
    let of = |anisotropy, dx, dy| {
        let sampler = SamplerDescriptor { anisotropy, ..sampler() };
        let sampled = Sampled { memory: &memory, texture: &texture, sampler: &sampler, reference: None };
        let footprint = sampled.footprint(dx, dy, false);
        let found = sampled.sample_along(&at([0.5; 3]), &footprint, 0.0).expect("samples");
        // The mean of a slope is that of its middle.
        assert!((f32::from_bits(found[0]) - 757.5).abs() < 1e-3, "{found:?}");
        (footprint.samples, footprint.level)
    };
    let (long, short, none) = ([4.0 / 16.0, 0.0, 0.0], [0.0, 1.0 / 16.0, 0.0], [0.0; 3]);
    assert_eq!(of(4, long, short), (4, 0.0));
    assert_eq!(of(1, long, short), (2, 1.0));
    assert_eq!(of(0, long, short), (1, 2.0));
    assert_eq!(of(4, short, long), (4, 0.0));
    assert_eq!((of(4, short, none).0, of(4, none, none).0), (16, 1));
}
