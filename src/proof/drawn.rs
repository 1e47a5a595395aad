//! Draws by the interpreter: the expected contents of each pixel, and the error bounds of correct drivers.
//!
//! The interpreter runs vertices and quads; the fixed functions between them are those of [`draw`], which the emulator
//! uses too. Drivers may or may not round vertices to a fraction of a pixel, so an interpolated value is uncertain by
//! its change over that fraction. A pixel whose centre is that near to an edge may be covered or not: it is an *edge*
//! and is not compared, nor is a pixel with an uncertain depth test. Blending and write masks are in `blended`. Draws
//! with some tests are not supported ([`tested`]); for these only the edges are known ([`edges`]).

use super::blended::Attachment;
use super::corners::{Corner, contains, near};
use super::crossing::{narrow_inputs, number, texel, widen_outputs};
use super::depth::{DepthTest, Tested, held};
use super::quads;
use super::shaded::{Shaded, average, depth, shade};
use super::stencil::StencilTest;
use super::world::{KnownContents, known, world};
use dovetail_base::error::{Error, Result};
use dovetail_emu::NamedFormat;
use dovetail_emu::draw;
use dovetail_emu::draw::{Pixel, Primitive, Quad, Shaders, Targets, Vertex, VertexId};
use dovetail_emu::inputs::{Compare, Draw, Inputs, PolygonMode, Topology};
use dovetail_interp::{Compared, Invocation, Options, Shadow, ShadowedTexel, World, invoke};
use dovetail_ir::sample_shading::{FragmentRead, SampleEffect, move_to_sample};
use dovetail_ir::{BuiltIn, Inst, OutputSlot, Shader};
use dovetail_state::{VertexInputState, VertexRate};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The interpreter's result of a draw.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Colour attachments, in the order of the draw's targets.
    pub targets: Vec<KnownContents>,
    /// The depth attachment.
    pub depth: Option<KnownContents>,
    /// The stencil attachment.
    pub stencil: Option<KnownContents>,
    /// Bindings that shaders may write.
    pub bindings: Vec<Option<KnownContents>>,
    /// Number of pixels that a primitive covers.
    pub pixels: usize,
    /// Number of pixels with uncertain contents: at an edge, or where a shader's branch is uncertain.
    pub edges: usize,
    /// Number of vertices of primitives that are outside the screen.
    pub outside: usize,
    /// Number of undefined vertex outputs.
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
    interpreted_pixels([Some(vertex), fragment], attributes, inputs, (options, None))
}

/// [`interpreted_draw`] of only the given pixels; all others keep their previous contents.
///
/// # Errors
/// As [`interpreted_draw`].
pub(super) fn interpreted_pixels(
    [vertex, fragment]: [Option<&Shader>; 2],
    attributes: &VertexInputState,
    inputs: &Inputs,
    (options, only): (Options, Option<&BTreeSet<[u32; 2]>>),
) -> Result<Drawn> {
    let vertex = vertex.ok_or_else(|| Error::malformed("a draw without a vertex shader"))?;
    let mut run = Run::new(vertex, fragment, attributes, inputs, options)?;
    run.only = only;
    let command = run.command;
    tested(command, fragment)?;
    draw::draw(&mut run, command, &mut Targets::new(command)?)?;
    run.drawn(inputs)
}

/// What a draw's vertex shader and fragment shader compared.
///
/// # Errors
/// As [`interpreted_draw`].
pub(super) fn compared_in_draw(
    [vertex, fragment]: [&Shader; 2],
    attributes: &VertexInputState,
    inputs: &Inputs,
    options: Options,
) -> Result<[Compared; 2]> {
    let mut run = Run::new(vertex, Some(fragment), attributes, inputs, options)?;
    run.world.compared = Some(Compared::new());
    let command = run.command;
    tested(command, Some(fragment))?;
    draw::draw(&mut run, command, &mut Targets::new(command)?)?;
    Ok([run.compared, run.world.compared.unwrap_or_default()])
}

/// The pixels, in any draw, so near to an edge of a primitive that drivers may cover them or not.
///
/// # Errors
/// As [`interpreted_draw`], for the vertex shader.
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
/// Unsupported: whether a fragment passes depends on tests that are not implemented here.
fn tested(command: &Draw, fragment: Option<&Shader>) -> Result<()> {
    let fixed = &command.fixed;
    // Early tests apply also to fragments that the shader discards.
    let early = fragment.is_some_and(|fragment| fragment.modes.early_fragment_tests);
    let depth = command.depth.is_some_and(|d| d.compare != Compare::Always);
    let several = command.samples > 1;
    let stencil = fixed.stencil.is_some();
    let tested = (early || several) && (depth || stencil) || stencil && fragment.is_none();
    let kept = several && !fixed.before.targets.is_empty();
    if tested || kept || fixed.depth_clamp {
        return Err(Error::unsupported("interpreting a draw", "tests of fragments against the previous contents"));
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
    /// Number of clip or cull distances that cut off something.
    pub cut: usize,
    /// Number of undefined outputs.
    pub vague: usize,
}

pub(super) struct Run<'a> {
    vertex: &'a Shader,
    fragment: Option<Cow<'a, Shader>>,
    /// Whether every sample is shaded on its own.
    pub(super) per_sample: bool,
    /// Sample positions in a pixel.
    places: Vec<[f64; 2]>,
    attributes: &'a VertexInputState,
    pub(super) command: &'a Draw,
    attachments: Vec<Attachment<'a>>,
    options: Options,
    world: World,
    pub(super) vertices: Vec<Invocation>,
    /// By pixel and sample: what is known of it after the fragments so far.
    pixels: BTreeMap<([u32; 2], u32), Shaded>,
    edges: BTreeSet<[u32; 2]>,
    /// The pixels to shade; `None`: all.
    only: Option<&'a BTreeSet<[u32; 2]>>,
    depth: Option<DepthTest>,
    stencil: Option<StencilTest>,
    outside: usize,
    vague: usize,
    /// The operands that the vertex shader compared.
    compared: Compared,
}

/// Whether every sample is shaded on its own, as the draw or the shader requests.
pub(super) fn shades_samples(fragment: &Shader, draw: &Draw) -> bool {
    let asks = |inst: &Inst| FragmentRead::of(&inst.op).is_some_and(|read| read.effect() == SampleEffect::Asks);
    draw.samples > 1 && (draw.sample_shading || fragment.live_insts().any(asks))
}

/// An output of a vertex.
pub(super) fn output(vertex: &Invocation, slot: OutputSlot) -> (u64, Shadow) {
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
        let per_sample = fragment.is_some_and(|fragment| shades_samples(fragment, command));
        let mut fragment = fragment.map(Cow::Borrowed);
        if per_sample && let Some(fragment) = &mut fragment {
            fragment.to_mut().insts.iter_mut().for_each(|inst| move_to_sample(&mut inst.op));
        }
        let places = draw::sample_places(command.samples)?;
        Ok(Self {
            vertex,
            fragment,
            per_sample,
            attributes,
            command,
            attachments: Attachment::of(command)?,
            options,
            world: World { sample_places: places.clone(), ..world(inputs)? },
            places,
            vertices: Vec::new(),
            pixels: BTreeMap::new(),
            edges: BTreeSet::new(),
            only: None,
            depth: DepthTest::of(command),
            stencil: StencilTest::of(command),
            outside: 0,
            vague: 0,
            compared: Compared::new(),
        })
    }

    /// Whether a quad has a pixel to shade.
    fn wants(&self, quad: &Quad) -> bool {
        self.only.is_none_or(|only| (0..4).any(|n| only.contains(&place(quad, n))))
    }

    /// Samples of a pixel.
    pub(super) fn samples(&self) -> u32 {
        self.command.samples
    }

    fn run_vertices(&mut self) -> Result<()> {
        invoke(self.vertex, &mut self.world, &mut self.vertices, self.options).map_err(|e| e.at("vertex"))?;
        if let Some(compared) = &mut self.world.compared {
            self.compared.append(compared);
        }
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
            // The state does not hold a dynamic stride.
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

    /// The screen-space form of a vertex.
    pub(super) fn corner(&self, n: usize) -> Corner {
        let Some(vertex) = self.vertices.get(n) else { return Corner::default() };
        let of = |n| number(output(vertex, OutputSlot::Position(n)));
        let size = vertex.outputs.get(&OutputSlot::PointSize).map_or((1.0, 0.0), |s| number(*s));
        let ([x, y], (z, z_off), (w, w_off)) = ([of(0), of(1)], of(2), of(3));
        let opengl = self.command.fixed.negative_one_to_one;
        let depth = if opengl { ((z + w) / 2.0, (z_off + w_off) / 2.0) } else { (z, z_off) };
        Corner::new([x, y, depth, (w, w_off)], size, &self.command.viewport())
    }

    /// Tests a fragment.
    fn test(
        &mut self,
        at: [u32; 2],
        front: bool,
        reference: Option<(u64, Shadow)>,
        depth: Option<(u64, Shadow)>,
    ) -> Tested {
        let depths = &mut self.depth;
        let mut in_depth = || match depths {
            Some(test) => test.test(at, super::crossing::number(depth.unwrap_or((0, Shadow::UNCERTAIN)))),
            None => Tested::Passes,
        };
        match &mut self.stencil {
            Some(stencil) => stencil.test(at, front, reference, in_depth),
            None => in_depth(),
        }
    }

    /// The outlines of what a primitive covers.
    fn outlines(&self, corners: &[Corner; 3]) -> Vec<Vec<[f64; 2]>> {
        let line = |from: &Corner, to: &Corner| {
            let [a, b, c, d] =
                draw::line_places([from.at, to.at], self.command.fixed.width(), self.command.fixed.bresenham);
            vec![a, b, d, c]
        };
        let square = |corner: &Corner| corner.square().to_vec();
        match (self.command.topology, self.command.fixed.polygon_mode) {
            (Topology::PointList, _) => vec![square(&corners[0])],
            (Topology::LineList | Topology::LineStrip, _) => vec![line(&corners[0], &corners[1])],
            (_, PolygonMode::Fill) => vec![corners.iter().map(|corner| corner.at).collect()],
            (_, PolygonMode::Line) => (0..3).map(|n| line(&corners[n], &corners[(n + 1) % 3])).collect(),
            (_, PolygonMode::Point) => corners.iter().map(square).collect(),
        }
    }

    /// The ends of the lines that a primitive is drawn as.
    fn line_ends(&self, corners: &[Corner; 3]) -> Vec<[f64; 2]> {
        match (self.command.topology, self.command.fixed.polygon_mode) {
            (Topology::LineList | Topology::LineStrip, _) => corners[..2].iter().map(|corner| corner.at).collect(),
            (_, PolygonMode::Line) => corners.iter().map(|corner| corner.at).collect(),
            _ => Vec::new(),
        }
    }

    /// Marks the pixels at a primitive's edges as uncertain.
    fn outline(&mut self, primitive: &Primitive) {
        let corners = primitive.vertices.map(|n| self.corner(n));
        let mode = if primitive.point { PolygonMode::Fill } else { self.command.fixed.polygon_mode };
        self.outside += corners.iter().filter(|c| !c.inside && !primitive.point).count();
        let outlines = self.outlines(&corners);
        let cut = corners.iter().any(|c| !c.inside);
        // Clipping a primitive adds vertices, between which its edges are drawn.
        let least = if !primitive.point && cut { 1.0 / 16.0 } else { 1.0 / 128.0 };
        let dots = primitive.point || mode == PolygonMode::Point;
        let enlarged = if dots { corners.iter().map(|c| c.size_off).fold(0.0, f64::max) } else { 0.0 };
        // Of polygons that are not filled, drivers may draw the edges that clipping adds, and enlarge small points.
        let open =
            mode != PolygonMode::Fill && cut || mode == PolygonMode::Point && corners.iter().any(|c| c.size < 1.0);
        let slack = corners.iter().map(|c| c.off * 2.0).fold(least, f64::max) + enlarged;
        // An edge whose ends are on both sides of the eye continues beyond them.
        let behind = !primitive.point && corners.iter().any(|c| c.w <= 0.0);
        let part = self.command.scissor();
        let places = || outlines.iter().flatten();
        let known = places().flatten().all(|at| at.is_finite()) && slack.is_finite() && !behind;
        let range = |axis: usize| {
            let (first, end) = (part.from[axis], part.from[axis].saturating_add(part.extent[axis]));
            let least = places().map(|place| place[axis]).fold(f64::INFINITY, f64::min) - slack - 1.0;
            let most = places().map(|place| place[axis]).fold(f64::NEG_INFINITY, f64::max) + slack + 1.0;
            if known { (first.max(least as u32), end.min(most as u32)) } else { (first, end) }
        };
        let ((left, right), (top, bottom)) = (range(0), range(1));
        // By Bresenham's rule the pixel at an end is covered if the line leaves a diamond in it.
        let ends = if self.command.fixed.bresenham { self.line_ends(&corners) } else { Vec::new() };
        let end_covers = |end: [f64; 2], at: [f64; 2]| (0..2).all(|n| (end[n] - at[n]).abs() <= 1.0 + slack);
        for y in top..bottom {
            for x in left..right {
                let near = |place: &[f64; 2]| {
                    let place = [f64::from(x) + place[0], f64::from(y) + place[1]];
                    let edges = |outline: &[[f64; 2]]| {
                        let mut edges = outline.iter().zip(outline.iter().cycle().skip(1));
                        edges.any(|(a, b)| near(place, [*a, *b], slack, behind))
                    };
                    // The order of the lines or points of a polygon is the driver's choice ("Primitive Order").
                    let several = outlines.iter().filter(|outline| contains(outline, place)).nth(1).is_some();
                    several
                        || ends.iter().any(|end| end_covers(*end, place))
                        || outlines.iter().any(|outline| edges(outline))
                };
                if open || self.places.iter().any(near) {
                    self.edges.insert([x, y]);
                }
            }
        }
    }

    /// Marks the pixels of points that Vulkan lets drivers draw or not: points whose centre is outside the view volume,
    /// and points smaller than a pixel, which some drivers enlarge to one (`pointSizeRange`).
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

    /// Marks everything if a vertex may be anywhere: its primitives then cover any pixels, also where those of the
    /// interpreter's position are clipped away.
    fn strays(&mut self) {
        let astray = |vertex: &Invocation| {
            let clips = |slot: &OutputSlot| matches!(slot, OutputSlot::ClipDistance(_) | OutputSlot::CullDistance(_));
            let clipped = vertex.outputs.iter().filter(|(slot, _)| clips(slot)).map(|(_, (_, shadow))| *shadow);
            let place = (0..4).map(|n| output(vertex, OutputSlot::Position(n)).1);
            place.chain(clipped).any(Shadow::is_uncertain)
        };
        if self.vertices.iter().any(astray) {
            let part = self.command.scissor();
            let pixels = |axis: usize| part.from[axis]..part.from[axis].saturating_add(part.extent[axis]);
            self.edges.extend(pixels(1).flat_map(|y| pixels(0).map(move |x| [x, y])));
        }
    }

    fn drawn(self, inputs: &Inputs) -> Result<Drawn> {
        let [width, height] = self.command.extent;
        let places: Vec<[u32; 2]> = (0..height).flat_map(|y| (0..width).map(move |x| [x, y])).collect();
        // Resolving several samples keeps the average, or the first (see `emu::draw::target`).
        let resolved = |one: &dyn Fn(&Shaded) -> Option<ShadowedTexel>,
                        averaged: Option<[u32; 4]>|
         -> Vec<Option<ShadowedTexel>> {
            let of = |at: &[u32; 2], sample| self.pixels.get(&(*at, sample)).and_then(one);
            let each = places.iter().map(|at| match (self.edges.contains(at), averaged) {
                (true, _) => Some(([0; 4], [Shadow::UNCERTAIN; 4])),
                (false, Some(clear)) if self.samples() > 1 => {
                    let all: Vec<Option<ShadowedTexel>> = (0..self.samples()).map(|sample| of(at, sample)).collect();
                    let clear = (clear, [Shadow::NONE; 4]);
                    all.iter()
                        .any(Option::is_some)
                        .then(|| average(all.iter().map(|one| one.unwrap_or(clear)).collect()))
                }
                (false, _) => of(at, 0),
            });
            each.collect()
        };
        let texels = |one: &dyn Fn(&Shaded) -> Option<ShadowedTexel>| resolved(one, None);
        let targets = self.attachments.iter().map(|attachment| {
            let content = |pixel: &'_ Shaded| pixel.colors.get(&attachment.state.location).cloned();
            let color = |pixel: &Shaded| content(pixel).map(|content| content.texel);
            let averaged = !attachment.format.format.is_integer();
            let mut texels = resolved(&color, averaged.then_some(attachment.clear));
            for (texel, at) in texels.iter_mut().zip(&places) {
                *texel = texel.or_else(|| attachment.before(*at));
            }
            let known = KnownContents::attachment(attachment.format.clone(), attachment.clear, &texels);
            let certain = places.iter().enumerate().filter(|(_, at)| self.samples() == 1 && !self.edges.contains(*at));
            let chosen = certain.filter_map(|(n, at)| Some((n, content(self.pixels.get(&(*at, 0))?)?.allowed)));
            known.with_allowed(chosen)
        });
        let depth: Option<Result<KnownContents>> = self.command.depth.map(|depth| {
            let wide = |(bits, shadow)| ([bits as u32, 0, 0, 0], [shadow, Shadow::NONE, Shadow::NONE, Shadow::NONE]);
            let format = NamedFormat::new("R32_SFLOAT")?;
            let written = |pixel: &Shaded| pixel.depth.filter(|_| depth.write).map(|z| wide(held(self.command, z)));
            let mut texels = texels(&written);
            let before = self.command.fixed.before.depth.0.as_chunks::<4>().0.iter();
            for (texel, old) in texels.iter_mut().zip(before.map(|word| u32::from_le_bytes(*word))) {
                texel.get_or_insert(wide((old.into(), Shadow::NONE)));
            }
            Ok(KnownContents::attachment(format, [depth.clear.to_bits(), 0, 0, 0], &texels))
        });
        let stencil: Option<Result<KnownContents>> = self.command.stencil.map(|stencil| {
            let texel =
                |(bits, shadow)| ([bits as u32 & 0xff, 0, 0, 0], [shadow, Shadow::NONE, Shadow::NONE, Shadow::NONE]);
            let given = (u64::from(stencil.reference), Shadow::NONE);
            let tested = self.stencil.as_ref();
            let replaced = |pixel: &Shaded| pixel.passed && tested.is_none();
            let mut texels = texels(&|pixel| replaced(pixel).then(|| texel(pixel.stencil.unwrap_or(given))));
            for (there, at) in texels.iter_mut().zip(&places).filter(|_| tested.is_some()) {
                there.get_or_insert(texel((tested.map_or(0, |test| test.value(*at)).into(), Shadow::NONE)));
            }
            for (there, old) in texels.iter_mut().zip(&self.command.fixed.before.stencil.0) {
                there.get_or_insert(texel((u64::from(*old), Shadow::NONE)));
            }
            Ok(KnownContents::attachment(NamedFormat::new("R8_UINT")?, [stencil.clear.into(), 0, 0, 0], &texels))
        });
        Ok(Drawn {
            targets: targets.collect(),
            depth: depth.transpose()?,
            stencil: stencil.transpose()?,
            bindings: known(inputs, &self.world)?,
            pixels: self.pixels.keys().map(|(at, _)| at).collect::<BTreeSet<_>>().len(),
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
        self.strays();
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
        let answer = vec![Default::default(); quads.len()];
        let quads: Vec<&Quad> = quads.iter().filter(|quad| self.wants(quad)).collect();
        let (mut pixels, mut depths): (Vec<Invocation>, Vec<(u64, Shadow)>) = Default::default();
        if let Some(fragment) = self.fragment.as_deref() {
            let writes = fragment.resources.iter().any(|r| r.written);
            for quad in quads.iter().copied() {
                let primitive = primitives.get(quad.primitive).ok_or_else(|| Error::bug("a quad of no primitive"))?;
                let (mut four, tested) = quads::quad(self, fragment, primitive, quad);
                for (n, pixel) in four.iter_mut().enumerate() {
                    // Its memory writes may happen or not.
                    pixel.doubtful = writes && !pixel.helper && self.edges.contains(&place(quad, n));
                }
                pixels.extend(four);
                depths.extend(tested);
            }
            invoke(fragment, &mut self.world, &mut pixels, self.options).map_err(|e| e.at("fragment"))?;
            widen_outputs(fragment, &mut pixels);
        }
        for (number, (quad, n)) in quads.into_iter().flat_map(|quad| (0..4).map(move |n| (quad, n))).enumerate() {
            if quad.covered >> n & 1 == 0 {
                continue;
            }
            let of = |sample| (place(quad, n), sample);
            let live = (0..self.command.samples).filter(|sample| quad.lanes[n].live >> sample & 1 == 1);
            let Some(pixel) = pixels.get(number) else {
                // Without a fragment shader every sample passes.
                live.for_each(|sample| self.pixels.entry(of(sample)).or_default().passed = true);
                continue;
            };
            let all = (u32::MAX.into(), Shadow::NONE);
            let (mask, behind) = pixel.outputs.get(&OutputSlot::SampleMask).copied().unwrap_or(all);
            if pixel.doubtful || !pixel.helper && !behind.is_exact() {
                self.edges.insert(place(quad, n));
            }
            let early = self.fragment.as_deref().is_some_and(|fragment| fragment.modes.early_fragment_tests);
            let depth = depth(pixel, depths.get(number).copied(), early);
            for sample in live {
                self.pixels.entry(of(sample)).or_default();
                let written = !pixel.doubtful && !pixel.helper && behind.is_exact();
                if !written || mask >> sample & 1 == 0 {
                    continue;
                }
                let front = primitives.get(quad.primitive).is_none_or(|primitive| primitive.front);
                let reference = pixel.outputs.get(&OutputSlot::FragStencilRef).copied();
                match self.test(place(quad, n), front, reference, depth) {
                    Tested::Fails => {}
                    Tested::Uncertain => _ = self.edges.insert(place(quad, n)),
                    Tested::Passes => {
                        let shaded = self.pixels.entry(of(sample)).or_default();
                        shade(&self.attachments, place(quad, n), shaded, (pixel, depth))?;
                    }
                }
            }
        }
        Ok(answer)
    }

    fn per_sample(&self) -> bool {
        self.per_sample
    }
}

fn place(quad: &Quad, n: usize) -> [u32; 2] {
    [quad.at[0] + (n as u32 & 1), quad.at[1] + (n as u32 >> 1)]
}
