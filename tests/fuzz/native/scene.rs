//! Draws for fragment shaders: triangles whose coverage and interpolation are exact.
//!
//! Each triangle has two axis-aligned legs, a power of two of pixels long, from a corner a quarter of a pixel off the
//! grid. So no pixel centre is near an edge, weights have few bits, and interpolated values are integers. Triangles do
//! not overlap, because the order of fragments in a pixel would affect the result.

use super::super::random::Random;
use super::setup::Setup;
use dovetail::emu::inputs::{Compare, Depth, Draw, InputBytes, Stencil, TargetAttachment, Topology, VertexBuffer};
use dovetail::error::{Error, Result};
use dovetail::ir::{InstArgs, Interp, NumericKind, Op, OutputSlot, Shader, Terminator, Type};
use dovetail::state::{PipelineState, VkFormat};
use dovetail::target::Stage;

/// Location of the flat inputs: the number of the triangle and three words.
pub const FLAT: u32 = 0;
/// Location of the interpolated inputs, integers at every pixel.
pub const SMOOTH: u32 = 1;
/// Bits of the interpolated inputs, without the sign.
pub const SMOOTH_BITS: u8 = 10;
/// Depth of all vertices.
const DEPTH: f32 = 0.25;

/// A triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// Length of its legs, a power of two.
    leg: u32,
    /// Corner of the square of which it is one half, in pixels, minus a quarter pixel.
    at: [i32; 2],
    /// Whether it is the lower right half.
    lower: bool,
}

impl Triangle {
    /// Its corners in pixels, the one between the legs first.
    fn corners(&self) -> [[f32; 2]; 3] {
        let [x, y] = self.at.map(|n| n as f32 + 0.25);
        let leg = self.leg as f32;
        let (corner, along) = if self.lower { ([x + leg, y + leg], -leg) } else { ([x, y], leg) };
        [corner, [corner[0] + along, corner[1]], [corner[0], corner[1] + along]]
    }
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Width and height.
    pub extent: [u32; 2],
    /// The triangles.
    pub triangles: Vec<Triangle>,
}

impl Scene {
    /// A random scene.
    pub fn new(random: &mut Random) -> Self {
        if random.once_in(4) {
            // One triangle that covers the screen: no helpers.
            return Self::covering([0, 1].map(|_| 2 * (2 + random.below(4) as u32)));
        }
        let extent = [0, 1].map(|_| 4 + random.below(8) as u32);
        let leg = *random.pick(&[2, 4, 4, 8]);
        let [x, y] = [0, 1].map(|_| random.below(5) as i32 - 2);
        let mut triangles = Vec::new();
        for n in 0..1 + random.below(2) as i32 {
            let at = [x + n * leg as i32, y];
            let which = random.below(3);
            let halves = [false, true].into_iter().filter(|lower| which == 2 || *lower == (which == 1));
            triangles.extend(halves.map(|lower| Triangle { leg, at, lower }));
        }
        Self { extent, triangles }
    }

    /// One triangle over a screen of at most 30 pixels of width and height together.
    pub fn covering(extent: [u32; 2]) -> Self {
        Self { extent, triangles: vec![Triangle { leg: 32, at: [-1; 2], lower: false }] }
    }

    /// Whether no quad has helpers.
    pub fn whole_quads(&self) -> bool {
        let covers = |t: &Triangle| !t.lower && t.at == [-1; 2] && self.extent[0] + self.extent[1] < t.leg;
        self.extent.iter().all(|n| n % 2 == 0) && self.triangles.len() == 1 && covers(&self.triangles[0])
    }

    /// Pixels per row and column, including those of quads at the border.
    pub fn pitch(&self) -> [u32; 2] {
        self.extent.map(|n| n.next_multiple_of(2))
    }

    /// Upper bound of fragments, including helpers: each pixel for each triangle.
    pub fn fragments(&self) -> u32 {
        let [x, y] = self.pitch();
        x * y * self.triangles.len() as u32
    }

    /// Removes the first or the last triangle, if others remain.
    pub fn leave_out(&mut self, first: bool) {
        if self.triangles.len() > 1 {
            self.triangles.remove(if first { 0 } else { self.triangles.len() - 1 });
        }
    }

    /// Encodes the scene as a word.
    pub fn text(&self) -> String {
        let mut out = format!("{}x{}", self.extent[0], self.extent[1]);
        for Triangle { leg, at: [x, y], lower } in &self.triangles {
            out += &format!("/{leg},{x},{y},{}", u8::from(*lower));
        }
        out
    }

    /// Decodes that word.
    pub fn parse(text: &str) -> Result<Self> {
        let malformed = || Error::malformed(format!("`{text}` is no draw"));
        let mut words = text.split('/');
        let (width, height) = words.next().and_then(|w| w.split_once('x')).ok_or_else(malformed)?;
        let side = |n: &str| n.parse::<u32>().ok().filter(|n| (1..=64).contains(n)).ok_or_else(malformed);
        let extent = [side(width)?, side(height)?];
        let mut triangles = Vec::new();
        for word in words {
            let numbers: Vec<i32> = word.split(',').filter_map(|n| n.parse().ok()).collect();
            let [leg @ 1..=64, x @ -64..=64, y @ -64..=64, lower] = numbers[..] else { return Err(malformed()) };
            triangles.push(Triangle { leg: leg as u32, at: [x, y], lower: lower != 0 });
        }
        Ok(Self { extent, triangles })
    }

    /// The draw of a shader, with the vertex attributes by location: position, flat, smooth.
    pub fn draw(&self, shader: &Shader, setup: &Setup) -> Draw {
        let mut draw = Draw::new(Topology::TriangleList, 3 * self.triangles.len() as u32, self.extent);
        let mut random = Random::new(setup.seed, 0x5ce0e);
        let mut attributes: [Vec<u32>; 3] = Default::default();
        for (n, triangle) in (0..).zip(&self.triangles) {
            let words = [0; 3].map(|_| random.next() as u32 & *random.pick(&[1, 7, 0xff, u32::MAX]));
            // Change of a value along a leg: four times its length, because weights are in quarters of a pixel.
            let slopes = [0; 4].map(|_| [8, 3, 3].map(|most: usize| random.below(2 * most + 1) as f32 - most as f32));
            for (k, corner) in triangle.corners().into_iter().enumerate() {
                let [x, y] = [0, 1].map(|axis| 2.0 * corner[axis] / self.extent[axis] as f32 - 1.0);
                attributes[0].extend([x, y, DEPTH, 1.0].map(f32::to_bits));
                attributes[1].extend([n, words[0], words[1], words[2]]);
                let value = |s: [f32; 3]| s[0] + if k == 0 { 0.0 } else { s[k] * 4.0 * triangle.leg as f32 };
                attributes[2].extend(slopes.map(|s| value(s).to_bits()));
            }
        }
        for (binding, words) in (0..).zip(attributes) {
            let data = InputBytes(words.into_iter().flat_map(u32::to_le_bytes).collect());
            draw.vertex_buffers.push(VertexBuffer { binding, stride: 16, data });
        }
        for location in locations(shader) {
            if let Some(format) = Format::of(setup.seed, location).attached() {
                draw.targets.push(TargetAttachment::new(location, format));
            }
        }
        let stores = |wanted| shader.has(|op| matches!(op, Op::StoreOutput { slot, .. } if *slot == wanted));
        // The interpreter has no depth that is written before the shader.
        let early = shader.modes.early_fragment_tests;
        if stores(OutputSlot::FragDepth) || !early && setup.seed.is_multiple_of(3) {
            draw.depth = Some(Depth { clear: 0.5, compare: Compare::Always, write: true });
        }
        if stores(OutputSlot::FragStencilRef) {
            draw.stencil = Some(Stencil { clear: 3, reference: 5 });
        }
        draw
    }
}

/// Locations that a shader writes.
fn locations(shader: &Shader) -> Vec<u32> {
    let location = |op: &Op| match op {
        Op::StoreOutput { slot: OutputSlot::Location { location, .. }, .. } => Some(*location),
        _ => None,
    };
    let mut all: Vec<u32> = shader.live_insts().filter_map(|inst| location(&inst.op)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Format of an attachment.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    name: &'static str,
    pub kind: NumericKind,
    pub channels: u8,
    /// Integers within this mask are represented exactly.
    pub mask: u32,
    attached: bool,
}

impl Format {
    /// The depth attachment: 0 and 1.
    pub const DEPTH: Self = Self { name: "", kind: NumericKind::Float, channels: 1, mask: 1, attached: true };
    /// The stencil attachment, and a sample mask.
    pub const STENCIL: Self = Self { name: "", kind: NumericKind::Sint, channels: 1, mask: 0xff, attached: true };
}

const FORMATS: [(&str, NumericKind, u8, u32); 17] = [
    ("R32_UINT", NumericKind::Uint, 1, u32::MAX),
    ("R32G32_UINT", NumericKind::Uint, 2, u32::MAX),
    ("R32G32B32A32_UINT", NumericKind::Uint, 4, u32::MAX),
    ("R32G32B32A32_UINT", NumericKind::Uint, 4, u32::MAX),
    ("R16G16_UINT", NumericKind::Uint, 2, 0xffff),
    ("R16G16B16A16_UINT", NumericKind::Uint, 4, 0xffff),
    ("R8G8B8A8_UINT", NumericKind::Uint, 4, 0xff),
    ("R32_SINT", NumericKind::Sint, 1, u32::MAX),
    ("R32G32B32A32_SINT", NumericKind::Sint, 4, u32::MAX),
    ("R16G16B16A16_SINT", NumericKind::Sint, 4, 0x7fff),
    ("R8G8B8A8_SINT", NumericKind::Sint, 4, 0x7f),
    ("R32_SFLOAT", NumericKind::Float, 1, 0xffff),
    ("R32G32B32A32_SFLOAT", NumericKind::Float, 4, 0xffff),
    ("R16G16_SFLOAT", NumericKind::Float, 2, 0x3ff),
    ("R16G16B16A16_SFLOAT", NumericKind::Float, 4, 0x3ff),
    ("R8G8B8A8_UNORM", NumericKind::Float, 4, 1),
    ("R16G16B16A16_UNORM", NumericKind::Float, 4, 1),
];

impl Format {
    /// The format of a location, for which the shader is generated.
    pub fn of(seed: u64, location: u32) -> Self {
        let mut random = Random::new(seed, 0xf0 + u64::from(location));
        let (name, kind, channels, mask) = *random.pick(&FORMATS);
        Self { name, kind, channels, mask, attached: !random.once_in(8) }
    }

    fn attached(&self) -> Option<&'static str> {
        self.attached.then_some(self.name)
    }
}

/// Adds the draw's attachments to the pipeline state.
pub fn attach(state: &mut PipelineState, setup: &Setup) -> Result<()> {
    state.color.attachments.retain(|a| Format::of(setup.seed, a.location).attached);
    for attachment in &mut state.color.attachments {
        attachment.format = VkFormat::named(Format::of(setup.seed, attachment.location).name)?;
    }
    Ok(())
}

/// A vertex shader that passes its attributes to the fragment shader.
pub fn vertex_shader() -> Shader {
    let mut shader = Shader::new("main", Stage::Vertex);
    for location in 0..3 {
        let kind = if location == 1 { NumericKind::Uint } else { NumericKind::Float };
        for component in 0..4 {
            let op = Op::LoadInput { location, component, kind, interp: Interp::Flat };
            let load = shader.add_inst(op, InstArgs::new(), Some(Type::B32));
            let value = shader.inst(load).result.into_iter().collect();
            let slot = match location {
                0 => OutputSlot::Position(component),
                _ => OutputSlot::Location { location: [FLAT, SMOOTH][location as usize - 1], component, index: 0 },
            };
            let store = shader.add_inst(Op::StoreOutput { slot, kind }, value, None);
            shader.block_mut(Shader::ENTRY).insts.extend([load, store]);
        }
    }
    shader.block_mut(Shader::ENTRY).end.set(Terminator::Return(&[]));
    shader
}
