//! Drawing: turns vertices into primitives and pixels, as the fixed functions between and after the shaders do.
//!
//! The shaders are a trait: [`waves::MachineShaders`] runs machine code, tests pass closures. Each sample has its own plane of an
//! attachment, per layer. Defaults of what a draw's [`inputs::FixedFunction`] leaves unset: the viewport is as large as
//! the attachments, depth goes from 0 to 1, nothing is culled, counter-clockwise triangles face front.

mod assembly;
mod blend;
mod clip;
pub mod depth_bias;
mod ngg;
mod per_fragment;
mod quads;
mod raster;
mod ring;
mod samples;
mod shape;
mod target;
pub mod user_data;
pub mod waves;

pub use blend::blend;
pub use per_fragment::{stencil_passes, stencil_result};
pub use quads::{Quad, QuadPixel, Spot};
pub use raster::line as line_places;
pub use samples::places as sample_places;
pub use target::{ColorTarget, DepthTarget, StencilTarget};

use super::inputs;
use clip::CORNERS;
use dovetail_base::error::{Context, Error, Result};
use dovetail_state::PrimitiveKind;
use quads::{Corner, quad};
use raster::{PIXELS, Point};
use samples::MAX_SAMPLES;
use std::collections::BTreeMap;

/// Largest point size in pixels: PA_SU_POINT_SIZE holds half of it as 12.4 fixed.
const LARGEST_POINT: f32 = 8191.875;

/// Identity of a vertex shader invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VertexId {
    /// Number or index of the vertex, without the base.
    pub vertex: u32,
    /// Instance, without the base.
    pub instance: u32,
    /// Primitive in the instance; 0 if primitives share vertices.
    pub primitive: u32,
}

/// Outputs of a vertex shader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vertex {
    /// Position in clip space.
    pub position: [f32; 4],
    /// Width of a point in pixels.
    pub point_size: Option<f32>,
    /// Target layer.
    pub layer: u32,
    /// Fragment size as in the hardware's register: log2 of width and height in bits 2 to 5.
    pub rate: u32,
    /// Clip distances.
    pub clip: Vec<f32>,
    /// Cull distances.
    pub cull: Vec<f32>,
    /// Exported parameters, as bits.
    pub parameters: BTreeMap<u8, [u32; 4]>,
}

/// A primitive that covers pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Primitive {
    /// Its number in the instance.
    pub number: u32,
    /// Its vertices, the provoking one first.
    pub vertices: [usize; 3],
    /// Whether it is front-facing.
    pub front: bool,
    /// Whether it is a point: then i and j are point coordinates.
    pub point: bool,
    /// Target layer.
    pub layer: u32,
    /// Fragment size; see [`Vertex::rate`].
    pub rate: u32,
}

/// Outputs of a fragment shader for a pixel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pixel {
    /// Whether it was not killed.
    pub alive: bool,
    /// Depth, if exported.
    pub depth: Option<f32>,
    /// Stencil reference, if exported.
    pub stencil: Option<u8>,
    /// Sample mask; `None`: all.
    pub mask: Option<u32>,
    /// Colours: location, 32-bit components, channels sent.
    pub colors: Vec<(u32, [u32; 4], u8)>,
}

/// Vertices, and the primitives of them: each with its number and its vertices, the provoking one first.
pub type AssembledPrimitives = (Vec<Vertex>, Vec<(u32, [usize; 3])>);

/// The two shaders of a pipeline.
pub trait Shaders {
    /// Runs the vertex shader.
    fn vertices(&mut self, ids: &[VertexId]) -> Result<Vec<Vertex>>;
    /// Runs the vertex shader as a primitive shader, which makes the vertices and the primitives of them; `None`: it is none.
    fn primitives(
        &mut self,
        _ids: &[VertexId],
        _corners: &[[usize; 3]],
        _kind: PrimitiveKind,
    ) -> Result<Option<AssembledPrimitives>> {
        Ok(None)
    }
    /// Runs the fragment shader, for every quad.
    fn fragments(&mut self, vertices: &[Vertex], primitives: &[Primitive], quads: &[Quad]) -> Result<Vec<[Pixel; 4]>>;
    /// Whether depth is always tested before the fragment shader.
    fn early_depth(&self) -> bool {
        false
    }
    /// Whether the vertex shader reads the primitive id, so that primitives share no vertices.
    fn numbers_primitives(&self) -> bool {
        false
    }
    /// Whether nothing is rasterized.
    fn discards(&self) -> bool {
        false
    }
    /// Whether every sample is shaded on its own.
    fn per_sample(&self) -> bool {
        false
    }
    /// Selects the view for the following draws.
    fn view(&mut self, _number: u32) {}
}

/// Attachments.
#[derive(Clone, Debug)]
pub struct Targets {
    /// Colour attachments.
    pub colors: Vec<ColorTarget>,
    /// Depth attachment.
    pub depth: Option<DepthTarget>,
    /// Stencil attachment.
    pub stencil: Option<StencilTarget>,
    /// Stencil tests of front and back faces.
    stencil_faces: Option<[inputs::StencilFace; 2]>,
}

impl Targets {
    /// The attachments of a draw, cleared.
    ///
    /// # Errors
    /// Malformed: formats, sizes, a location given twice.
    pub fn new(draw: &inputs::Draw) -> Result<Self> {
        samples::places(draw.samples)?;
        let mut locations: Vec<u32> = draw.targets.iter().map(|target| target.location).collect();
        locations.sort_unstable();
        if let Some([location, _]) = locations.array_windows().find(|[one, next]| one == next) {
            return Err(Error::malformed(format!("two targets of location {location}")));
        }
        let planes = draw.samples.checked_mul(draw.layers());
        let height = planes.and_then(|planes| draw.extent[1].checked_mul(planes));
        let extent = [draw.extent[0], height.ok_or_else(|| Error::malformed("attachments of too many planes"))?];
        let colors = draw.targets.iter().map(|t| ColorTarget::new(t, extent).at(|| format!("target {}", t.location)));
        let mut colors = colors.collect::<Result<Vec<_>>>()?;
        let mut depth = draw.depth.map(|depth| DepthTarget::new(depth, extent));
        let mut stencil = draw.stencil.map(|stencil| StencilTarget::new(stencil, extent));
        let fixed = &draw.fixed;
        for color in &mut colors {
            (color.constants, color.logic_op) = (fixed.blend_constants, fixed.logic_op);
        }
        if let Some(depth) = &mut depth {
            depth.bits = fixed.depth_bits;
            let [near, far] = draw.viewport().depth;
            depth.range = if fixed.depth_clamp { [near.min(far), near.max(far)] } else { [0.0, 1.0] };
        }
        for (color, before) in colors.iter_mut().zip(&fixed.before.targets) {
            put(&mut color.data, &before.0).at(|| format!("target {}", color.state.location))?;
        }
        if let Some(depth) = &mut depth {
            let (words, rest) = fixed.before.depth.0.as_chunks::<4>();
            let before: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
            put(&mut depth.data, if rest.is_empty() { &before } else { &[0.0] }).at(|| "depth")?;
        }
        if let Some(stencil) = &mut stencil {
            put(&mut stencil.data, &fixed.before.stencil.0).at(|| "stencil")?;
        }
        Ok(Self { colors, depth, stencil, stencil_faces: fixed.stencil })
    }
}

/// Replaces the clear value by the contents `before`; if empty, the clear value stays.
fn put<T: Copy>(to: &mut [T], before: &[T]) -> Result<()> {
    match before.len() {
        0 => {}
        all if all == to.len() => to.copy_from_slice(before),
        all => return Err(Error::malformed(format!("{all} values of previous contents instead of {}", to.len()))),
    }
    Ok(())
}

/// Texel of a sample in an attachment: layers are stacked in y, each with one plane per sample.
fn plane(command: &inputs::Draw, [x, y]: [u32; 2], layer: u32, sample: u32) -> [u32; 2] {
    let layer = layer.min(command.layers() - 1);
    [x, y + command.extent[1] * (layer * command.samples + sample)]
}

/// The most vertices of a draw; they are kept until all primitives of an instance are drawn.
const MAX_VERTICES: u32 = 1 << 20;
/// The most vertices of all instances together.
const MAX_OF_INSTANCES: u64 = 1 << 24;
/// Quads per run of the fragment shader.
const BATCH: usize = 1024;
/// Guard band of triangles and lines, in screen sizes.
const GUARD: f64 = 16.0;

/// Executes a draw.
///
/// # Errors
/// Errors of the shaders. Malformed: an extent of no pixels. Unsupported: too many vertices.
pub fn draw(shaders: &mut dyn Shaders, command: &inputs::Draw, targets: &mut Targets) -> Result<()> {
    if command.extent.contains(&0) {
        return Err(Error::malformed(format!("a draw to {:?} pixels", command.extent)));
    }
    if command.vertices > MAX_VERTICES {
        let why = format!("{} in one draw, of which the emulator takes at most {MAX_VERTICES}", command.vertices);
        return Err(Error::unsupported("vertices", why));
    }
    // Without vertices, each instance still takes time.
    if u64::from(command.vertices.max(1)) * u64::from(command.instances) > MAX_OF_INSTANCES {
        let why = format!("{} vertices of {} instances", command.vertices, command.instances);
        return Err(Error::unsupported("instances", format!("{why}: at most {MAX_OF_INSTANCES} in all")));
    }
    for view in command.views() {
        shaders.view(view);
        draw_view(shaders, command, targets)?;
    }
    for color in &mut targets.colors {
        color.resolve(command.samples, command.extent[1])?;
    }
    if let Some(depth) = &mut targets.depth {
        depth.resolve(command.samples, command.extent[1]);
    }
    if let Some(stencil) = &mut targets.stencil {
        stencil.resolve(command.samples, command.extent[1]);
    }
    Ok(())
}

fn draw_view(shaders: &mut dyn Shaders, command: &inputs::Draw, targets: &mut Targets) -> Result<()> {
    for instance in 0..command.instances {
        // Equal indices share one vertex.
        let wanted: Vec<u32> = match command.indices.is_empty() {
            true => (0..command.vertices).collect(),
            false => command.indices.iter().take(command.vertices as usize).copied().collect(),
        };
        let mut corners = assembly::primitives(command.topology, wanted.len(), command.fixed.last_provoking);
        let ids: Vec<VertexId> = if shaders.numbers_primitives() {
            let ids = (0..)
                .zip(&corners)
                .flat_map(|(primitive, corners)| corners.map(|n| VertexId { vertex: wanted[n], instance, primitive }));
            let ids = ids.collect();
            corners.iter_mut().enumerate().for_each(|(n, corners)| *corners = [3 * n, 3 * n + 1, 3 * n + 2]);
            ids
        } else {
            let mut known = wanted.clone();
            known.sort_unstable();
            known.dedup();
            for corner in corners.iter_mut().flatten() {
                *corner = known.binary_search(&wanted[*corner]).unwrap_or(0);
            }
            known.into_iter().map(|vertex| VertexId { vertex, instance, primitive: 0 }).collect()
        };
        let (vertices, primitives) = match shaders.primitives(&ids, &corners, command.topology.kind())? {
            Some(made) => made,
            None => {
                let vertices = shaders.vertices(&ids)?;
                if vertices.len() != ids.len() {
                    return Err(Error::bug(format!("{} vertices for {}", vertices.len(), ids.len())));
                }
                (vertices, (0..).zip(corners).collect())
            }
        };
        if shaders.discards() {
            continue;
        }
        let mut batch = Batch {
            kind: command.topology.kind(),
            command,
            samples: samples::places(command.samples)?,
            per_sample: shaders.per_sample(),
            vertices,
            primitives: vec![],
            quads: vec![],
        };
        // Each instance counts its primitives from 0.
        for (number, corners) in primitives {
            batch.rasterize(number, corners);
            if batch.quads.len() >= BATCH {
                batch.shade(shaders, targets)?;
            }
        }
        batch.shade(shaders, targets)?;
    }
    Ok(())
}

/// Quads queued for the fragment shader.
struct Batch<'a> {
    kind: PrimitiveKind,
    command: &'a inputs::Draw,
    samples: Vec<Point>,
    per_sample: bool,
    vertices: Vec<Vertex>,
    primitives: Vec<Primitive>,
    quads: Vec<Quad>,
}

impl Batch<'_> {
    fn rasterize(&mut self, number: u32, vertices: [usize; 3]) {
        let corners = vertices.map(|n| &self.vertices[n]);
        let culls = corners.iter().map(|v| v.cull.len()).max().unwrap_or(0);
        let behind = |n: usize| corners.iter().all(|v| v.cull.get(n).is_some_and(|d| *d < 0.0));
        if (0..culls).any(behind) {
            return;
        }
        let of = |n: usize| corners.map(|v| f64::from(v.position[n]));
        let [x, y, mut z, w] = [of(0), of(1), of(2), of(3)];
        if self.command.fixed.negative_one_to_one {
            z = [0, 1, 2].map(|n| (z[n] + w[n]) / 2.0);
        }
        let guard = if self.kind == PrimitiveKind::Points { 1.0 } else { GUARD };
        let plane = |f: &dyn Fn(usize) -> f64| [f(0), f(1), f(2)];
        let mut planes = vec![
            plane(&|n| w[n] - f64::MIN_POSITIVE),
            plane(&|n| guard * w[n] - x[n]),
            plane(&|n| guard * w[n] + x[n]),
            plane(&|n| guard * w[n] - y[n]),
            plane(&|n| guard * w[n] + y[n]),
        ];
        if !self.command.fixed.depth_clamp {
            planes.extend([z, plane(&|n| w[n] - z[n])]);
        }
        let clips = corners.iter().map(|v| v.clip.len()).max().unwrap_or(0);
        planes.extend((0..clips).map(|n| corners.map(|v| v.clip.get(n).copied().map_or(0.0, f64::from))));
        let outline = match self.kind {
            PrimitiveKind::Points => CORNERS[..1].to_vec(),
            PrimitiveKind::Lines => CORNERS[..2].to_vec(),
            PrimitiveKind::Triangles => CORNERS.to_vec(),
        };
        let outline = clip::clip(outline, self.kind == PrimitiveKind::Triangles, &planes);
        let viewport = self.command.viewport();
        let [left, top, width, height] = [viewport.x, viewport.y, viewport.width, viewport.height].map(f64::from);
        let [near, far] = viewport.depth.map(f64::from);
        let outline: Vec<Corner> = outline
            .into_iter()
            .map(|weights| {
                let [x, y, z, own_w] = [x, y, z, w].map(|values| clip::at(&weights, &values));
                Corner {
                    at: [left + (x / own_w + 1.0) / 2.0 * width, top + (y / own_w + 1.0) / 2.0 * height],
                    depth: near + z / own_w * (far - near),
                    inverse_w: 1.0 / own_w,
                    perspective: weights,
                    linear: std::array::from_fn(|n| if weights[n] == 0.0 { 0.0 } else { weights[n] * w[n] / own_w }),
                }
            })
            .collect();
        // A point of negative or NaN size covers nothing.
        let sizes = corners.map(|corner| corner.point_size.unwrap_or(1.0));
        let sizes = sizes.map(|size| if size > 0.0 { f64::from(size.min(LARGEST_POINT)) } else { 0.0 });
        self.cover((number, vertices), &outline, sizes);
    }

    fn cover(&mut self, (number, vertices): (u32, [usize; 3]), outline: &[Corner], sizes: [f64; 3]) {
        let primitive = self.primitives.len();
        let fixed = &self.command.fixed;
        let mut front = true;
        let triangles = match (self.kind, outline) {
            (PrimitiveKind::Points, [corner]) => shape::point(corner, sizes[0]),
            (PrimitiveKind::Lines, [from, to]) => shape::line([from, to], fixed),
            (PrimitiveKind::Triangles, [first, rest @ ..]) => {
                let areas = rest.windows(2).map(|pair| raster::area(&[first.at, pair[0].at, pair[1].at]));
                front = (areas.sum::<f64>() < 0.0) != fixed.clockwise;
                if fixed.cull.takes(front) {
                    return;
                }
                let bias = self.bias(outline);
                let biased = |corner: &Corner| Corner { depth: corner.depth + bias, ..*corner };
                let outline: Vec<Corner> = outline.iter().map(biased).collect();
                shape::polygon(&outline, fixed, sizes)
            }
            _ => return,
        };
        let part = self.part();
        for corners in &triangles {
            raster::triangle(&corners.map(|c| c.at), part, &self.samples, |coverage| {
                let quad = |sample| quad(primitive, corners, &coverage, &self.samples, sample);
                if self.per_sample {
                    self.quads.extend((0..self.command.samples).map(|n| quad(Some(n))).filter(|q| q.covered != 0));
                } else {
                    self.quads.push(quad(None));
                }
            });
        }
        let Vertex { layer, rate, .. } = self.vertices[vertices[0]];
        self.primitives.push(Primitive {
            number,
            vertices,
            front,
            point: self.kind == PrimitiveKind::Points,
            layer,
            rate,
        });
    }

    fn bias(&self, outline: &[Corner]) -> f64 {
        depth_bias::of(self.command).map_or(0.0, |how| {
            let corners: Vec<depth_bias::Corner> = outline.iter().map(|c| [c.at[0], c.at[1], c.depth]).collect();
            depth_bias::bias(&how, self.command.fixed.depth_bits, &corners)
        })
    }

    /// The pixels that a primitive may cover. Triangles end at the viewport, however they are drawn; points and lines may
    /// reach beyond it.
    fn part(&self) -> inputs::Scissor {
        let scissor = self.command.scissor();
        let Some(view) = self.command.fixed.viewport.filter(|_| self.kind == PrimitiveKind::Triangles) else {
            return scissor;
        };
        let ends = |at: f32, size: f32| {
            // Rounds up to the first pixel whose centre is at or after the coordinate.
            let pixel = |x: f32| (x - 0.5).ceil().max(0.0) as u32;
            let [from, to] = [at.min(at + size), at.max(at + size)].map(pixel);
            (from, to - from)
        };
        let ((x, width), (y, height)) = (ends(view.x, view.width), ends(view.y, view.height));
        scissor.and(inputs::Scissor { from: [x, y], extent: [width, height] })
    }

    /// Shades the queued quads, and merges the results in order.
    fn shade(&mut self, shaders: &mut dyn Shaders, targets: &mut Targets) -> Result<()> {
        let early = shaders.early_depth();
        let command = self.command;
        let layer = |primitives: &[Primitive], quad: &Quad| primitives.get(quad.primitive).map_or(0, |p| p.layer);
        let front = |primitives: &[Primitive], quad: &Quad| primitives.get(quad.primitive).is_none_or(|p| p.front);
        if early {
            for quad in &mut self.quads {
                let (layer, front) = (layer(&self.primitives, quad), front(&self.primitives, quad));
                for n in ones(quad.covered.into()) {
                    let at = pixel(quad, n);
                    let lane = &mut quad.lanes[n];
                    for sample in ones(lane.live) {
                        let at = plane(command, at, layer, sample as u32);
                        if !per_fragment::test(targets, at, front, lane.depths[sample], None) {
                            lane.live &= !(1 << sample);
                        }
                    }
                    if lane.live == 0 {
                        quad.covered &= !(1 << n);
                    }
                }
            }
        }
        self.quads.retain(|quad| quad.covered != 0);
        let shaded = match self.quads.is_empty() {
            true => Vec::new(),
            false => shaders.fragments(&self.vertices, &self.primitives, &self.quads)?,
        };
        for (quad, pixels) in self.quads.iter().zip(shaded) {
            for (n, shaded) in pixels.iter().enumerate().filter(|(n, p)| quad.covered >> n & 1 == 1 && p.alive) {
                let lane = &quad.lanes[n];
                for sample in ones(lane.live & shaded.mask.unwrap_or(u32::MAX)) {
                    let at = plane(command, pixel(quad, n), layer(&self.primitives, quad), sample as u32);
                    let depth = shaded.depth.unwrap_or(lane.depths[sample]);
                    let front = front(&self.primitives, quad);
                    if !early && !per_fragment::test(targets, at, front, depth, shaded.stencil) {
                        continue;
                    }
                    per_fragment::replace(targets, at, shaded.stencil);
                    // The second colour of a dual-source output is exported as the next location.
                    let second = shaded.colors.iter().find(|c| c.0 == 1).map_or([0; 4], |c| c.1);
                    for (location, color, channels) in &shaded.colors {
                        if let Some(target) = targets.colors.iter_mut().find(|t| t.state.location == *location) {
                            target.write(at, [*color, second], *channels)?;
                        }
                    }
                }
            }
        }
        self.quads.clear();
        self.primitives.clear();
        Ok(())
    }
}

fn ones(mask: u32) -> impl Iterator<Item = usize> {
    (0..MAX_SAMPLES).filter(move |n| mask >> n & 1 == 1)
}

fn pixel(quad: &Quad, n: usize) -> [u32; 2] {
    [quad.at[0] + PIXELS[n][0], quad.at[1] + PIXELS[n][1]]
}

#[cfg(test)]
mod tests;
