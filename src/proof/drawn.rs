//! A draw by the interpreter: expected contents of each pixel of the attachments, and error bounds of correct drivers.
//!
//! Vertices and quads are the interpreter's; the stages between them are [`draw`]'s, the same as the emulator's.
//! Vertices may be rounded to a fraction of a pixel or not, so an interpolated value is uncertain by its change over
//! that fraction, and a pixel whose centre is that near to an edge is an *edge*: it may be covered or not, and is not
//! compared; nor is one where a depth test is uncertain. Only draws whose fragments replace what was there or leave it: no
//! stencil test, and no blending but [`Blend::PRODUCT`]. Of all other draws the edges are known ([`edges`]).

use super::corners::{Corner, near};
use super::crossing::{narrow_inputs, number, product, texel, widen_outputs};
use super::depth::{DepthTest, Tested, held};
use super::world::{Known, known, world};
use crate::emu::NamedFormat;
use crate::emu::draw::{self, Pixel, Primitive, Quad, Shaders, Targets, Vertex, VertexId};
use crate::emu::inputs::{Blend, Compare, Draw, Inputs, Topology};
use crate::error::{Error, Result};
use crate::ir::interp::{Invocation, Options, Shadow, Texel, World, encode, invoke};
use crate::ir::{Bits, BuiltIn, Interp, Op, OutputSlot, Shader};
use crate::state::{VertexInputState, VertexRate};
use std::collections::{BTreeMap, BTreeSet};

/// The interpreter's result of a draw.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Colour attachments, in the order of the draw's targets.
    pub targets: Vec<Known>,
    /// The depth attachment.
    pub depth: Option<Known>,
    /// The stencil attachment.
    pub stencil: Option<Known>,
    /// Bindings that can be written.
    pub bindings: Vec<Option<Known>>,
    /// Pixels that a primitive covers.
    pub pixels: usize,
    /// Pixels with uncertain contents: at an edge, or where a shader's branch is uncertain.
    pub edges: usize,
    /// Vertices of primitives outside the screen.
    pub outside: usize,
    /// Undefined outputs of vertices.
    pub vague: usize,
}

/// Interprets a draw; without a fragment shader only coverage is known.
///
/// # Errors
/// A feature that the interpreter lacks, its instruction limit, or invalid inputs.
pub fn interpreted_draw(
    vertex: &Shader,
    fragment: Option<&Shader>,
    attributes: &VertexInputState,
    inputs: &Inputs,
    options: Options,
) -> Result<Drawn> {
    let mut run = Run::new(vertex, fragment, attributes, inputs, options)?;
    let command = run.command;
    replaces(command, fragment)?;
    draw::draw(&mut run, command, &mut Targets::new(command)?)?;
    run.drawn(inputs)
}

/// The pixels of any draw that are so near to an edge of a primitive that drivers may cover them or not.
///
/// # Errors
/// As [`interpreted_draw`], of the vertex shader.
pub(super) fn edges(
    vertex: &Shader,
    attributes: &VertexInputState,
    inputs: &Inputs,
    options: Options,
) -> Result<BTreeSet<[u32; 2]>> {
    let mut run = Run::new(vertex, None, attributes, inputs, options)?;
    let command = run.command;
    draw::draw(&mut run, command, &mut Targets::new(command)?)?;
    Ok(run.edges)
}

/// # Errors
/// Unsupported: what becomes of a fragment depends on what was there before.
fn replaces(command: &Draw, fragment: Option<&Shader>) -> Result<()> {
    let fixed = &command.fixed;
    // Tests before the shader also count for what it discards.
    let early = fragment.is_some_and(|fragment| fragment.modes.early_fragment_tests);
    let tested = fixed.stencil.is_some() || early && command.depth.is_some_and(|d| d.compare != Compare::Always);
    let blended = command.targets.iter().any(|t| t.blend.is_some_and(|blend| blend != Blend::PRODUCT));
    if tested || blended || fixed.depth_clamp {
        return Err(Error::unsupported("interpreting a draw", "fragments that do not replace what was there"));
    }
    for target in &command.targets {
        let whole = NamedFormat::new(&target.format)?.channels().all(|channel| target.write_mask >> channel & 1 == 1);
        if !whole && !fixed.before.targets.is_empty() {
            return Err(Error::unsupported("interpreting a draw", "channels that stay"));
        }
    }
    Ok(())
}

/// The interpreter's vertices of one instance of a non-indexed draw.
///
/// # Errors
/// As [`interpreted_draw`].
pub(super) fn interpreted_corners(
    vertex: &Shader,
    attributes: &VertexInputState,
    inputs: &Inputs,
    options: Options,
) -> Result<Corners> {
    let mut run = Run::new(vertex, None, attributes, inputs, options)?;
    let ids = (0..run.command.vertices).map(|vertex| VertexId { vertex, instance: 0, primitive: 0 });
    run.vertices = ids.map(|id| run.fetch(&id)).collect::<Result<_>>()?;
    run.run_vertices()?;
    let distances = run.vertices.iter().flat_map(|v| &v.outputs).filter_map(|(slot, value)| match slot {
        OutputSlot::ClipDistance(_) | OutputSlot::CullDistance(_) => Some(number(*value)),
        _ => None,
    });
    let cut = distances.filter(|(distance, off)| distance.is_nan() || distance <= off).count();
    Ok(Corners { all: (0..run.vertices.len()).map(|n| run.corner(n)).collect(), cut, vague: run.vague })
}

/// The screen-space vertices of a draw.
#[derive(Debug)]
pub(super) struct Corners {
    /// All vertices.
    pub all: Vec<Corner>,
    /// Number of clip or cull distances that cut something off.
    pub cut: usize,
    /// Number of undefined outputs.
    pub vague: usize,
}

/// Known contents of a pixel.
#[derive(Clone, Debug, Default)]
struct Shaded {
    /// A fragment came through: it was not killed, and its sample mask has its sample.
    passed: bool,
    colors: BTreeMap<u32, Texel>,
    /// The second colours of dual-source outputs.
    seconds: BTreeMap<u32, Texel>,
    depth: Option<(u64, Shadow)>,
    stencil: Option<(u64, Shadow)>,
}

struct Run<'a> {
    vertex: &'a Shader,
    fragment: Option<&'a Shader>,
    attributes: &'a VertexInputState,
    command: &'a Draw,
    options: Options,
    world: World,
    vertices: Vec<Invocation>,
    pixels: BTreeMap<[u32; 2], Shaded>,
    edges: BTreeSet<[u32; 2]>,
    depth: Option<DepthTest>,
    outside: usize,
    vague: usize,
}

/// An output of a vertex.
fn output(vertex: &Invocation, slot: OutputSlot) -> (u64, Shadow) {
    vertex.outputs.get(&slot).copied().unwrap_or((0, Shadow::UNCERTAIN))
}

impl<'a> Run<'a> {
    fn new(
        vertex: &'a Shader,
        fragment: Option<&'a Shader>,
        attributes: &'a VertexInputState,
        inputs: &'a Inputs,
        options: Options,
    ) -> Result<Self> {
        let command = inputs.draw.as_ref().ok_or_else(|| Error::malformed("no draw"))?;
        Ok(Self {
            vertex,
            fragment,
            attributes,
            command,
            options,
            world: world(inputs)?,
            vertices: Vec::new(),
            pixels: BTreeMap::new(),
            edges: BTreeSet::new(),
            depth: DepthTest::of(command),
            outside: 0,
            vague: 0,
        })
    }

    fn run_vertices(&mut self) -> Result<()> {
        invoke(self.vertex, &mut self.world, &mut self.vertices, self.options).map_err(|e| e.at("vertex"))?;
        widen_outputs(self.vertex, &mut self.vertices);
        let outputs = self.vertices.iter().flat_map(|vertex| vertex.outputs.values());
        self.vague += outputs.filter(|(_, shadow)| shadow.is_uncertain()).count();
        Ok(())
    }

    /// Inputs that the fixed function loads for a vertex.
    fn fetch(&self, id: &VertexId) -> Result<Invocation> {
        let mut out = Invocation::default();
        let index = u64::from(self.command.first_vertex.wrapping_add(id.vertex));
        let instance = u64::from(self.command.first_instance.wrapping_add(id.instance));
        for (builtin, value) in [
            (BuiltIn::VertexIndex, index),
            (BuiltIn::InstanceIndex, instance),
            (BuiltIn::BaseVertex, self.command.first_vertex.into()),
            (BuiltIn::BaseInstance, self.command.first_instance.into()),
            (BuiltIn::DrawIndex, 0),
        ] {
            out.builtins.insert((builtin, 0), (value, Shadow::NONE));
        }
        for attribute in &self.attributes.attributes {
            let find = self.attributes.bindings.iter().find(|b| b.binding == attribute.binding);
            let buffer = self.command.vertex_buffers.iter().find(|b| b.binding == attribute.binding);
            let (Some(binding), Some(buffer)) = (find, buffer) else {
                return Err(Error::malformed(format!("location {} is not bound", attribute.location)));
            };
            // A stride that is dynamic is not in the state.
            let stride = if binding.stride == 0 { buffer.stride } else { binding.stride };
            let n = match binding.rate {
                VertexRate::Vertex => index,
                VertexRate::Instance => {
                    u64::from(self.command.first_instance) + u64::from(id.instance / binding.divisor.max(1))
                }
            };
            let at = n.saturating_mul(stride.into()).saturating_add(attribute.offset.into());
            let data = buffer.data.0.get(usize::try_from(at).unwrap_or(usize::MAX)..).unwrap_or_default();
            for (component, bits) in (0..).zip(texel(attribute.format.name().unwrap_or_default(), data)?) {
                out.inputs.insert((attribute.location, component), (bits, Shadow::NONE));
            }
        }
        narrow_inputs(self.vertex, std::slice::from_mut(&mut out));
        Ok(out)
    }

    /// A vertex on the screen.
    fn corner(&self, n: usize) -> Corner {
        let Some(vertex) = self.vertices.get(n) else { return Corner::default() };
        let of = |n| number(output(vertex, OutputSlot::Position(n)));
        let size = vertex.outputs.get(&OutputSlot::PointSize).map_or((1.0, 0.0), |s| number(*s));
        Corner::new([of(0), of(1), of(2), of(3)], size, &self.command.viewport())
    }

    /// The inputs of a quad's pixels.
    fn quad(&self, fragment: &Shader, primitive: &Primitive, quad: &Quad) -> [Invocation; 4] {
        let corners = primitive.vertices.map(|n| self.corner(n));
        // Beyond the screen a primitive may be clipped, which makes new vertices.
        let cut = !primitive.point && corners.iter().any(|c| !c.inside);
        let slack = match primitive.point {
            true => corners[0].square_off(),
            false => corners.iter().map(|c| c.off).fold(if cut { 1.0 / 128.0 } else { 0.0 }, f64::max),
        };
        let w_off = corners.iter().map(|c| c.w_off).fold(if cut { 2f64.powi(-18) } else { 0.0 }, f64::max);
        let weights = |lane: usize, perspective: bool| {
            let lane = &quad.lanes[lane];
            let [i, j] = if perspective { lane.centre.perspective } else { lane.centre.linear }.map(f64::from);
            [1.0 - i - j, i, j]
        };
        let mut out: [Invocation; 4] = Default::default();
        // A value at four pixels, from those at the vertices.
        let spread = |values: [(f64, f64); 3], perspective: bool| -> [(u64, Shadow); 4] {
            let at = [0, 1, 2, 3]
                .map(|lane| weights(lane, perspective).iter().zip(values).map(|(w, (v, _))| w * v).sum::<f64>());
            let slope = [(1, 0), (3, 2), (2, 0), (3, 1)].map(|(a, b)| (at[a] - at[b]).abs());
            let slope = slope[0].max(slope[1]) + slope[2].max(slope[3]);
            // In a sliver that goes behind the eye, a value changes more here than from pixel to pixel.
            let steepness = |lane: usize| {
                let along = |to: usize| {
                    let [here, there, zero] = [lane, to, 0].map(|lane| weights(lane, false));
                    let (mut change, mut sum) = (0.0, 0.0);
                    for (n, (corner, (value, _))) in corners.iter().zip(values).enumerate() {
                        change += (there[n] - zero[n]) * (value - at[lane]) / corner.w;
                        sum += here[n] / corner.w;
                    }
                    (change / sum).abs()
                };
                if perspective { slope.max(along(1) + along(2)) } else { slope }
            };
            let largest = values.iter().map(|(v, _)| v.abs()).fold(0.0, f64::max);
            std::array::from_fn(|lane| {
                let weights = weights(lane, perspective).map(f64::abs);
                let own: f64 = weights.iter().zip(values).map(|(w, (_, off))| w * off).sum();
                let reach: f64 = weights.iter().sum();
                let bound = own + reach * (steepness(lane) * slack + largest * (2f64.powi(-20) + 2.0 * w_off));
                let shadow = if bound.is_finite() { Shadow { value: at[lane], bound } } else { Shadow::UNCERTAIN };
                (encode(at[lane], Bits::B32), shadow)
            })
        };
        let vertices = primitive.vertices.map(|n| self.vertices.get(n));
        for inst in fragment.live_insts() {
            let Op::LoadInput { location, component, interp, .. } = inst.op else { continue };
            let slot = OutputSlot::Location { location, component, index: 0 };
            let values = vertices.map(|v| v.map_or((0, Shadow::UNCERTAIN), |v| output(v, slot)));
            if let Interp::Vertex(_) = interp {
                out.iter_mut().for_each(|pixel| _ = pixel.vertices.insert((location, component), values));
                continue;
            }
            if out[0].inputs.contains_key(&(location, component)) {
                continue;
            }
            let values = match interp {
                // Equal at each pixel, but some drivers divide by w and multiply by it again.
                Interp::At { .. } if primitive.point => spread([number(values[0]); 3], false),
                Interp::At { perspective, .. } => spread(values.map(number), perspective),
                Interp::Flat | Interp::Vertex(_) => [values[0]; 4],
            };
            for (pixel, value) in out.iter_mut().zip(values) {
                pixel.inputs.insert((location, component), value);
            }
        }
        let plain = |value: f64| (encode(value, Bits::B32), Shadow::NONE);
        let unit = |n: usize| [0, 1, 2].map(|k| (f64::from(u8::from(k == n)), 0.0));
        let sprite = [spread(unit(1), false), spread(unit(2), false)];
        let distances = |slot| vertices.map(|v| number(v.map_or((0, Shadow::UNCERTAIN), |v| output(v, slot))));
        let mut interpolated = Vec::new();
        for inst in fragment.live_insts() {
            let Op::LoadBuiltIn { builtin, component, .. } = inst.op else { continue };
            let (values, perspective) = match builtin {
                BuiltIn::ClipDistance => (distances(OutputSlot::ClipDistance(component)), true),
                BuiltIn::CullDistance => (distances(OutputSlot::CullDistance(component)), true),
                BuiltIn::BaryCoord if !primitive.point => (unit(component.into()), true),
                BuiltIn::BaryCoordNoPersp if !primitive.point => (unit(component.into()), false),
                _ => continue,
            };
            interpolated.push((builtin, component, spread(values, perspective)));
        }
        let inverse = corners.map(|c| (1.0 / c.w, c.w_off / c.w));
        let fourth = spread(inverse, false);
        let depth = spread(corners.map(|c| c.depth), false);
        // From the provoking vertex; fragments are at most two pixels wide or high.
        let asked = vertices[0].and_then(|v| v.outputs.get(&OutputSlot::ShadingRate)).map_or(0, |(bits, _)| *bits);
        let rate = u64::from(asked & 12 != 0) << 2 | u64::from(asked & 3 != 0);
        for (n, pixel) in out.iter_mut().enumerate() {
            let at = [0, 1].map(|axis| f64::from(quad.at[axis] + (n as u32 >> axis & 1)) + 0.5);
            let (z, w) = if primitive.point {
                (spread([corners[0].depth; 3], false)[n], spread([inverse[0]; 3], false)[n])
            } else {
                (depth[n], fourth[n])
            };
            for (component, value) in (0..).zip([plain(at[0]), plain(at[1]), z, w]) {
                pixel.builtins.insert((BuiltIn::FragCoord, component), value);
            }
            for (component, value) in (0..).zip(sprite) {
                pixel.builtins.insert((BuiltIn::PointCoord, component), value[n]);
            }
            for (builtin, component, values) in &interpolated {
                pixel.builtins.insert((*builtin, *component), values[n]);
            }
            let covered = u64::from(quad.covered >> n & 1);
            for (builtin, value) in [
                (BuiltIn::FrontFacing, primitive.front.into()),
                (BuiltIn::SampleId, 0),
                (BuiltIn::FragInvocationCount, 1),
                (BuiltIn::ShadingRate, rate),
                (BuiltIn::SampleMaskIn, covered),
                (BuiltIn::Layer, 0),
            ] {
                pixel.builtins.insert((builtin, 0), (value, Shadow::NONE));
            }
            pixel.helper = covered == 0;
        }
        narrow_inputs(fragment, &mut out);
        out
    }

    /// Marks the pixels at a primitive's edges.
    fn outline(&mut self, primitive: &Primitive) {
        let corners = primitive.vertices.map(|n| self.corner(n));
        self.outside += corners.iter().filter(|c| !c.inside && !primitive.point).count();
        let places: Vec<[f64; 2]> = match primitive.point {
            true => corners[0].square().to_vec(),
            false => corners.iter().map(|c| c.at).collect(),
        };
        // The edges of a clipped primitive are drawn between new vertices.
        let least = if !primitive.point && corners.iter().any(|c| !c.inside) { 1.0 / 16.0 } else { 1.0 / 128.0 };
        let enlarged = if primitive.point { corners[0].size_off } else { 0.0 };
        let slack = corners.iter().map(|c| c.off * 2.0).fold(least, f64::max) + enlarged;
        // If its ends are on both sides of the eye, an edge continues beyond them.
        let behind = !primitive.point && corners.iter().any(|c| c.w <= 0.0);
        let part = self.command.scissor();
        let known = places.iter().flatten().all(|at| at.is_finite()) && slack.is_finite() && !behind;
        let range = |axis: usize| {
            let (first, end) = (part.from[axis], part.from[axis].saturating_add(part.extent[axis]));
            let least = places.iter().map(|place| place[axis]).fold(f64::INFINITY, f64::min) - slack - 1.0;
            let most = places.iter().map(|place| place[axis]).fold(f64::NEG_INFINITY, f64::max) + slack + 1.0;
            if known { (first.max(least as u32), end.min(most as u32)) } else { (first, end) }
        };
        let ((left, right), (top, bottom)) = (range(0), range(1));
        for y in top..bottom {
            for x in left..right {
                let centre = [x, y].map(|n| f64::from(n) + 0.5);
                let mut edges = places.iter().zip(places.iter().cycle().skip(1));
                if edges.any(|(a, b)| near(centre, [*a, *b], slack, behind)) {
                    self.edges.insert([x, y]);
                }
            }
        }
    }

    /// Marks pixels of points that Vulkan lets drivers draw or not: those with the centre outside, and those smaller
    /// than a pixel, which some drivers enlarge to one (`pointSizeRange`).
    fn outer_points(&mut self) {
        let open = |c: &Corner| !c.inside || c.size < 1.0;
        let corners: Vec<Corner> = (0..self.vertices.len()).map(|n| self.corner(n)).filter(open).collect();
        self.outside += corners.len();
        let [width, height] = self.command.extent;
        for corner in corners {
            let rows = (0..height).filter(|y| corner.may_cover(*y, 1));
            self.edges.extend(rows.flat_map(|y| (0..width).filter(|x| corner.may_cover(*x, 0)).map(move |x| [x, y])));
        }
    }

    fn drawn(self, inputs: &Inputs) -> Result<Drawn> {
        let [width, height] = self.command.extent;
        let places: Vec<[u32; 2]> = (0..height).flat_map(|y| (0..width).map(move |x| [x, y])).collect();
        let texels = |one: &dyn Fn(&Shaded) -> Option<Texel>| -> Vec<Option<Texel>> {
            let each = places.iter().map(|at| match self.edges.contains(at) {
                true => Some(([0; 4], [Shadow::UNCERTAIN; 4])),
                false => self.pixels.get(at).and_then(one),
            });
            each.collect()
        };
        let targets = self.command.targets.iter().enumerate().map(|(n, target)| {
            let format = NamedFormat::new(&target.format)?;
            let integer = format.format.is_integer();
            let clear = target.clear.map(|x| if integer { x as u32 } else { x.to_bits() });
            let color = |pixel: &Shaded| {
                let mut first = pixel.colors.get(&target.location).copied()?;
                if let ([.., alpha], [.., shadow]) = (&mut first.0, &mut first.1)
                    && self.command.alpha_to_one
                    && !integer
                {
                    (*alpha, *shadow) = (1f32.to_bits(), Shadow::NONE);
                }
                let Some(Blend::PRODUCT) = target.blend else { return Some(first) };
                let unknown = ([0; 4], [Shadow::UNCERTAIN; 4]);
                Some(product(&format, [first, pixel.seconds.get(&target.location).copied().unwrap_or(unknown)]))
            };
            let mut texels = texels(&color);
            if let Some(before) = self.command.fixed.before.targets.get(n) {
                let before = before.0.chunks_exact(format.format.bytes().max(1)).map(|texel| format.decode(texel));
                let stay = |(texel, old): (&mut Option<Texel>, _)| _ = texel.get_or_insert((old, [Shadow::NONE; 4]));
                texels.iter_mut().zip(before).for_each(stay);
            }
            Ok(Known::attachment(format, clear, &texels))
        });
        let depth: Option<Result<Known>> = self.command.depth.map(|depth| {
            let wide = |(bits, shadow)| ([bits as u32, 0, 0, 0], [shadow, Shadow::NONE, Shadow::NONE, Shadow::NONE]);
            let format = NamedFormat::new("R32_SFLOAT")?;
            let written = |pixel: &Shaded| pixel.depth.filter(|_| depth.write).map(|z| wide(held(self.command, z)));
            let mut texels = texels(&written);
            let before = self.command.fixed.before.depth.0.as_chunks::<4>().0.iter();
            for (texel, old) in texels.iter_mut().zip(before.map(|word| u32::from_le_bytes(*word))) {
                texel.get_or_insert(wide((old.into(), Shadow::NONE)));
            }
            Ok(Known::attachment(format, [depth.clear.to_bits(), 0, 0, 0], &texels))
        });
        let stencil: Option<Result<Known>> = self.command.stencil.map(|stencil| {
            let texel =
                |(bits, shadow)| ([bits as u32 & 0xff, 0, 0, 0], [shadow, Shadow::NONE, Shadow::NONE, Shadow::NONE]);
            let given = (u64::from(stencil.reference), Shadow::NONE);
            let mut texels = texels(&|pixel| pixel.passed.then(|| texel(pixel.stencil.unwrap_or(given))));
            for (there, old) in texels.iter_mut().zip(&self.command.fixed.before.stencil.0) {
                there.get_or_insert(texel((u64::from(*old), Shadow::NONE)));
            }
            Ok(Known::attachment(NamedFormat::new("R8_UINT")?, [stencil.clear.into(), 0, 0, 0], &texels))
        });
        Ok(Drawn {
            targets: targets.collect::<Result<_>>()?,
            depth: depth.transpose()?,
            stencil: stencil.transpose()?,
            bindings: known(inputs, &self.world)?,
            pixels: self.pixels.len(),
            edges: self.edges.len(),
            outside: self.outside,
            vague: self.vague,
        })
    }
}

impl Shaders for Run<'_> {
    fn vertices(&mut self, ids: &[VertexId]) -> Result<Vec<Vertex>> {
        self.vertices = ids.iter().map(|id| self.fetch(id)).collect::<Result<_>>()?;
        self.run_vertices()?;
        if self.command.topology == Topology::PointList {
            self.outer_points();
        }
        let vertices = self.vertices.iter().map(|vertex| {
            let of = |slot| vertex.outputs.get(&slot).map(|(bits, _)| f32::from_bits(*bits as u32));
            let row = |slot: fn(u8) -> OutputSlot| (0..8).map_while(|n| of(slot(n))).collect();
            Vertex {
                position: [0, 1, 2, 3].map(|n| of(OutputSlot::Position(n)).unwrap_or(0.0)),
                point_size: of(OutputSlot::PointSize),
                clip: row(OutputSlot::ClipDistance),
                cull: row(OutputSlot::CullDistance),
                ..Vertex::default()
            }
        });
        Ok(vertices.collect())
    }

    fn fragments(&mut self, _: &[Vertex], primitives: &[Primitive], quads: &[Quad]) -> Result<Vec<[Pixel; 4]>> {
        primitives.iter().for_each(|primitive| self.outline(primitive));
        let mut pixels: Vec<Invocation> = Vec::new();
        if let Some(fragment) = self.fragment {
            let writes = fragment.resources.iter().any(|r| r.written);
            for quad in quads {
                let primitive = primitives.get(quad.primitive).ok_or_else(|| Error::bug("a quad of no primitive"))?;
                let mut four = self.quad(fragment, primitive, quad);
                for (n, pixel) in four.iter_mut().enumerate() {
                    // Its writes to memory may happen or not.
                    pixel.doubtful = writes && !pixel.helper && self.edges.contains(&place(quad, n));
                }
                pixels.extend(four);
            }
            invoke(fragment, &mut self.world, &mut pixels, self.options).map_err(|e| e.at("fragment"))?;
            widen_outputs(fragment, &mut pixels);
        }
        for (quad, n) in quads.iter().flat_map(|quad| (0..4).map(move |n| (quad, n))).enumerate().filter_map(
            |(number, (quad, n))| {
                let covered = quad.covered >> n & 1 == 1;
                covered.then_some((quad, (number, n)))
            },
        ) {
            let (number, n) = n;
            let shaded = self.pixels.entry(place(quad, n)).or_default();
            let Some(pixel) = pixels.get(number) else {
                // Without a fragment shader all come through.
                shaded.passed = true;
                continue;
            };
            // There is one sample.
            let (mask, behind) = pixel.outputs.get(&OutputSlot::SampleMask).copied().unwrap_or((1, Shadow::NONE));
            if pixel.doubtful || !pixel.helper && !behind.is_exact() {
                self.edges.insert(place(quad, n));
            } else if !pixel.helper && mask & 1 != 0 {
                let depth = super::crossing::number(depth(pixel).unwrap_or((0, Shadow::UNCERTAIN)));
                match self.depth.as_mut().map(|test| test.test(place(quad, n), depth)) {
                    Some(Tested::Fails) => {}
                    Some(Tested::Uncertain) => _ = self.edges.insert(place(quad, n)),
                    Some(Tested::Passes) | None => shade(shaded, pixel),
                }
            }
        }
        Ok(vec![Default::default(); quads.len()])
    }
}

fn place(quad: &Quad, n: usize) -> [u32; 2] {
    [quad.at[0] + (n as u32 & 1), quad.at[1] + (n as u32 >> 1)]
}

/// The depth of a fragment: what its shader says, or what its place is.
fn depth(pixel: &Invocation) -> Option<(u64, Shadow)> {
    let own = pixel.outputs.get(&OutputSlot::FragDepth);
    own.or_else(|| pixel.builtins.get(&(BuiltIn::FragCoord, 2))).copied()
}

/// Merges the outputs of a fragment shader into a pixel.
fn shade(shaded: &mut Shaded, pixel: &Invocation) {
    shaded.passed = true;
    shaded.depth = depth(pixel);
    let (mut fresh, mut seconds): (BTreeMap<u32, Texel>, BTreeMap<u32, Texel>) = Default::default();
    for (slot, (bits, shadow)) in &pixel.outputs {
        match *slot {
            OutputSlot::Location { location, component, index } => {
                // Channels that are not written are undefined.
                let colors = if index == 0 { &mut fresh } else { &mut seconds };
                let texel = colors.entry(location).or_insert(([0; 4], [Shadow::UNCERTAIN; 4]));
                if let (Some(to), Some(behind)) =
                    (texel.0.get_mut(usize::from(component)), texel.1.get_mut(usize::from(component)))
                {
                    (*to, *behind) = (*bits as u32, *shadow);
                }
            }
            OutputSlot::FragStencilRef => shaded.stencil = Some((*bits, *shadow)),
            _ => {}
        }
    }
    shaded.colors.extend(fresh);
    shaded.seconds.extend(seconds);
}
