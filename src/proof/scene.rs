//! Inputs for a draw without given ones: blocks, textures, vertices and attachments from the declarations of a pair of
//! shaders.
//!
//! Shaders do not say what makes a picture: which attribute is the position, which matrix projects it. So scenes are
//! guessed ([`Style`]), the interpreter runs their few vertices, and the sources of the position are changed until the
//! picture is usable ([`framing`](super::framing)). Scenes that cover most of the screen come first.

use super::declared::Declared;
use super::float_words::{FloatWords, WordUse};
use super::framing::{Attribute, Block, Framed, Framing, InputPlace, Knobs, apply};
use super::indices::Limited;
use super::kinds::Descriptors;
use super::leaves::Leaf;
use super::random::Random;
use super::reads::Reads;
use super::textures;
use dovetail_base::error::{Error, Result};
use dovetail_emu::inputs::{
    BindingElement, Blend, Bound, Compare, Depth, Draw, InputBytes, Inputs, Stencil, TargetAttachment, Topology,
    VertexBuffer,
};
use dovetail_interp::encode;
use dovetail_ir::{Bits, BuiltIn, Op, OutputSlot, Resource, ResourceKind, Shader};
use dovetail_state::{PipelineState, VkFormat};

/// Edge length of the screen in pixels.
const EDGE: u32 = 32;
/// Vertices of a strip of two triangles, and of a list of points.
const CORNERS: u32 = 4;
const POINTS: u32 = 32;
/// Size in bytes of a buffer without a length.
const OPEN: usize = 4096;
/// Largest block in bytes.
const LARGEST: usize = 1 << 16;
/// Largest number of scenes guessed (`GUESSES`) and kept (`KEPT`).
const GUESSES: u64 = 240;
const KEPT: usize = 24;
/// Share of the screen that is enough for a picture.
const ENOUGH: f64 = 0.4;
/// Number of elements of a descriptor array that a position may depend on.
const ELEMENTS: u32 = 4;

/// One shader of a pair.
pub(super) struct SceneShader {
    /// The shader.
    pub ir: Shader,
    /// Its module's declarations.
    pub declared: Declared,
    /// How it uses the words of its blocks, whatever it declares them to be.
    words: FloatWords,
}

impl SceneShader {
    pub(super) fn new(ir: Shader, declared: Declared) -> Self {
        let words = FloatWords::of(&ir);
        Self { ir, declared, words }
    }

    /// The channels of an attachment that the shader ever gives a value: the others stay as they are.
    pub(super) fn written_channels(&self, attachment: u32) -> u8 {
        let stored = self.ir.live_insts().filter_map(|inst| match inst.op {
            Op::StoreOutput { slot: OutputSlot::Location { location, component, .. }, .. }
                if location == attachment =>
            {
                Some(component)
            }
            _ => None,
        });
        stored.fold(0, |mask, component| mask | 1 << component)
    }
}

/// Style of guesses: the first, and the fallback if the first proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// High-contrast textures, attributes of any values.
    Plain,
    /// Textures so close to grey that powers of their texels have narrow bounds, and usually barycentric coordinates.
    Calm,
}

/// A guess at what makes a picture.
#[derive(Clone, Copy, Debug)]
struct Style {
    /// The index of the position attribute.
    position: usize,
    /// Half the edge of the square of positions, and its middle.
    reach: f64,
    middle: f64,
    /// Range of floats in blocks.
    floats: [f64; 2],
    /// Exclusive bound of integers in blocks.
    below: u64,
    /// Largest difference of matrix elements from the identity.
    noise: f64,
    /// Whether some attributes are nearly constant over all vertices.
    shared: bool,
    /// Whether the floats of a block are in ascending order.
    ascending: bool,
    /// Whether vectors of four are the rows of a matrix, in turn, and so are texels that the position depends on.
    basis: bool,
    /// Whether vectors of three are barycentric coordinates.
    barycentric: bool,
    /// Contrast of textures.
    contrast: f64,
    /// Vertices of a strip; shaders that make a picture of one triangle have tables of three.
    vertices: u32,
}

impl Style {
    /// A guess; `attributes` are the sources of the position.
    fn guess(random: &mut Random, attributes: &[usize], manner: Manner) -> Self {
        let mut one_of = |n: usize| (random.bits() % n as u64) as usize;
        // The position is usually the first attribute.
        let position = if one_of(2) == 0 { 0 } else { one_of(attributes.len().max(1)) };
        Self {
            position: attributes.get(position).copied().unwrap_or(0),
            reach: [0.8, 0.8, 0.5, 0.4, 2.0, 8.0][one_of(6)],
            middle: [0.0, 0.0, 0.5][one_of(3)],
            floats: [[0.25, 1.0], [0.25, 1.0], [0.0, 0.4], [0.5, 4.0], [-1.0, 1.0]][one_of(5)],
            below: [2, 4, 16, 1][one_of(4)],
            noise: [0.1, 0.03, 0.0][one_of(3)],
            shared: one_of(2) == 0,
            ascending: one_of(2) == 0,
            basis: one_of(3) == 0,
            barycentric: manner == Manner::Calm && one_of(3) > 0,
            contrast: if manner == Manner::Calm { 1.0 / 32.0 } else { 1.0 },
            vertices: [CORNERS, CORNERS, CORNERS, 3][one_of(4)],
        }
    }
}

/// A pair of shaders that needs inputs.
pub(super) struct Scene<'a> {
    pub vertex: &'a SceneShader,
    pub fragment: &'a SceneShader,
    pub state: &'a PipelineState,
}

/// Inputs that may make a picture.
#[derive(Clone)]
pub(super) struct Candidate {
    pub inputs: Inputs,
    /// Whether every vertex is in front of the eye and the edges are stable: then all drivers draw the same pixels.
    pub steady: bool,
    /// Share of the screen that is covered.
    pub covered: f64,
}

impl Scene<'_> {
    /// Inputs for one seed, the most promising first.
    ///
    /// # Errors
    /// Unsupported: a kind of resource without contents.
    pub fn candidates(&self, seed: u64, manner: Manner, limit: u64) -> Result<Vec<Candidate>> {
        let reads = Reads::of_position(&self.vertex.ir);
        let mut framing = Framing::new(&self.vertex.ir, &self.state.vertex, limit);
        let mut ranked: Vec<(f64, u64, Framed)> = Vec::new();
        let mut failure = None;
        for guess in 0..GUESSES {
            let seed = seed.wrapping_mul(1 << 32).wrapping_add(guess);
            let (inputs, style) = self.inputs(seed, manner, &reads, &[self.vertex])?;
            let knobs = self.knobs(&inputs, &reads);
            match framing.frame(&inputs, &knobs, style.noise, seed) {
                Ok(framed) => {
                    // Fragment values that come from unwritten outputs prove nothing.
                    let known = if framed.vague > 0 { framed.covered / 16.0 } else { framed.covered };
                    ranked.push((if framed.flaw == 0.0 { known } else { -framed.flaw }, seed, framed));
                }
                Err(why) => failure = Some(why),
            }
            if ranked.iter().filter(|(score, ..)| *score > ENOUGH).count() >= KEPT {
                break;
            }
        }
        if let (true, Some(why)) = (ranked.is_empty(), failure) {
            return Err(why);
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let both = [self.vertex, self.fragment];
        let candidate = |(_, seed, framed): (f64, u64, Framed)| {
            let (mut inputs, _) = self.inputs(seed, manner, &reads, &both)?;
            apply(&mut inputs, &framed.writes);
            Ok(Candidate { inputs, steady: framed.flaw == 0.0, covered: framed.covered })
        };
        ranked.into_iter().take(KEPT).map(candidate).collect()
    }

    /// The floats that the position depends on.
    fn knobs(&self, inputs: &Inputs, reads: &Reads) -> Knobs {
        let mut knobs = Knobs::default();
        let SceneShader { ir, declared, .. } = self.vertex;
        let mut add = |place: InputPlace, floats: Vec<usize>| {
            if !floats.is_empty() {
                knobs.blocks.push(Block { place, floats });
            }
        };
        let floats = |ty: u32, bytes: usize, place: Option<(u32, u32)>| {
            let leaves = declared.leaves(ty, bytes).into_iter();
            let float = move |leaf: &Leaf| leaf.float || self.holds_float(place, leaf.at);
            leaves.filter(move |leaf| leaf.bits == Bits::B32 && float(leaf)).map(|leaf| leaf.at)
        };
        if let Some(block) = declared.push_constants() {
            let all = floats(block, inputs.push_constants.0.len(), None);
            add(InputPlace::Push, all.filter(|at| reads.push_constants.has(*at)).collect());
        }
        for binding in &inputs.bindings {
            let Some(data) = binding.bound.buffer() else { continue };
            if let Bound::PhysicalStorageBuffer(_) = binding.bound {
                let words = data.0.as_chunks::<4>().0.iter().enumerate().filter(|_| reads.addresses);
                let float = |word: &[u8; 4]| (1e-4..1e4).contains(&f32::from_le_bytes(*word).abs());
                let found = words.filter(|(_, word)| float(word)).map(|(n, _)| n * 4);
                add(InputPlace::Bound(binding.slot()), found.collect());
                continue;
            }
            let here = |r: &&Resource| (r.set, r.binding) == (binding.set, binding.binding);
            let read = reads.buffers.get(&(binding.set, binding.binding)).filter(|_| binding.element < ELEMENTS);
            let (Some(read), Some(resource)) = (read, ir.resources.iter().find(here)) else { continue };
            let types = declared.bound_at(resource);
            let Some(ty) = types.into_iter().max_by_key(|ty| declared.bytes(*ty, LARGEST)) else { continue };
            let all = floats(ty, data.0.len(), Some((binding.set, binding.binding)));
            add(InputPlace::Bound(binding.slot()), all.filter(|at| read.has(*at)).collect());
        }
        let attributes = self.position_attributes(reads).into_iter();
        knobs.attributes = attributes.map(|n| Attribute { buffer: n, wide: self.wide(n) }).collect();
        knobs
    }

    /// Whether the shaders use a word of the push constants, or of a buffer, as a float and as nothing else.
    fn holds_float(&self, place: Option<(u32, u32)>, at: usize) -> bool {
        let used = [self.vertex, self.fragment].map(|part| match place {
            Some(place) => part.words.uniform(place, at),
            None => part.words.push_constant(at),
        });
        let mut used = used.into_iter().flatten().peekable();
        used.peek().is_some() && used.all(|word| word == WordUse::Float)
    }

    /// Attributes of 32-bit floats that the position depends on; all if none.
    fn position_attributes(&self, reads: &Reads) -> Vec<usize> {
        let all = || self.state.vertex.attributes.iter().enumerate();
        let float = |n: &usize| name(self.state.vertex.attributes[*n].format).ends_with("SFLOAT") && self.wide(*n) > 0;
        let read = all().filter(|(_, a)| reads.attributes.contains(&a.location)).map(|(n, _)| n).filter(float);
        let read: Vec<usize> = read.collect();
        if read.is_empty() { all().map(|(n, _)| n).filter(float).collect() } else { read }
    }

    /// Number of 32-bit components of an attribute.
    fn wide(&self, n: usize) -> usize {
        let format = self.state.vertex.attributes.get(n).map_or("", |a| name(a.format));
        format.split('_').next().unwrap_or_default().matches("32").count()
    }

    /// Inputs from a seed, with the buffers of both shaders and the images of the shaders in `of`.
    fn inputs(&self, seed: u64, manner: Manner, reads: &Reads, of: &[&SceneShader]) -> Result<(Inputs, Style)> {
        let mut random = Random::new(seed);
        let style = Style::guess(&mut random, &self.position_attributes(reads), manner);
        let mut inputs = Inputs { draw: Some(self.draw(style, &mut random)), ..Default::default() };
        let all = Descriptors::all(&[&self.vertex.ir, &self.fragment.ir]);
        for set in &self.state.layout.sets {
            for binding in &set.bindings {
                let here = |r: &Resource| (r.set, r.binding) == (set.set, binding.binding);
                let is_buffer = |kind| matches!(kind, ResourceKind::UniformBuffer | ResourceKind::StorageBuffer);
                let buffer = binding.kind.kinds().all(is_buffer);
                if !buffer && !of.iter().any(|part| part.ir.resources.iter().any(here)) {
                    continue;
                }
                let Some(descriptors) = all.iter().find(|some| here(&some.element(0))) else { continue };
                // The binding gets the same contents whatever else is bound.
                let mut random = Random::new(seed ^ u64::from(set.set) << 40 ^ u64::from(binding.binding) << 20);
                for element in 0..binding.count {
                    let basis = style.basis && reads.images.contains(&(set.set, binding.binding));
                    let style = Style { basis, ..style };
                    let bound = self.bound(&descriptors.element(element), style, &mut random)?;
                    inputs.bindings.push(BindingElement { set: set.set, binding: binding.binding, element, bound });
                }
            }
        }
        let mut bytes = vec![0; self.state.layout.push_constant_bytes as usize];
        // The vertex shader's declaration has priority over the fragment shader's.
        for part in [self.fragment, self.vertex] {
            if let Some(block) = part.declared.push_constants() {
                fill(&part.declared, block, |at| self.holds_float(None, at), style, &mut random, &mut bytes);
            }
        }
        inputs.push_constants = InputBytes(bytes);
        for part in [self.vertex, self.fragment] {
            part.declared.limit_indices(&part.ir, Limited::All, &mut inputs);
        }
        for part in [self.vertex, self.fragment] {
            let mut random = Random::new(!seed);
            part.declared.add_references(&part.ir, &mut inputs, OPEN, |ty, to| {
                fill(&part.declared, ty, |_| false, style, &mut random, to);
            });
        }
        Ok((inputs, style))
    }

    fn bound(&self, resource: &Resource, style: Style, random: &mut Random) -> Result<Bound> {
        let parts = [self.vertex, self.fragment].into_iter();
        let declared = parts.filter_map(|part| {
            let same = |r: &Resource| (r.set, r.binding) == (resource.set, resource.binding);
            part.ir.resources.iter().any(same).then(|| (part, part.declared.made_as(resource)))
        });
        // If both declare a block, the longer one; of a sampler and an image, the image.
        let found = declared.max_by_key(|(part, types)| {
            let image = types.iter().any(|ty| part.declared.image(*ty).is_some());
            (image, types.iter().map(|ty| part.declared.bytes(*ty, LARGEST)).max().unwrap_or(0))
        });
        let (part, types) = found.ok_or_else(|| Error::bug("a binding that no shader declares"))?;
        let block = || {
            let widest = types.iter().max_by_key(|ty| part.declared.bytes(**ty, LARGEST)).copied().unwrap_or(0);
            let length = part.declared.bytes(widest, LARGEST);
            let length = if length >= LARGEST - 256 { OPEN } else { length.next_multiple_of(16).max(16) };
            (widest, vec![0; length])
        };
        Ok(match resource.kind {
            ResourceKind::UniformBuffer | ResourceKind::StorageBuffer => {
                let (ty, mut bytes) = block();
                let float = |at| self.holds_float(Some((resource.set, resource.binding)), at);
                fill(&part.declared, ty, float, style, random, &mut bytes);
                match resource.kind {
                    ResourceKind::UniformBuffer => Bound::UniformBuffer(InputBytes(bytes)),
                    _ => Bound::StorageBuffer(InputBytes(bytes)),
                }
            }
            kind => {
                let compared = [self.vertex, self.fragment].into_iter().any(|p| compares(&p.ir, resource));
                let fill = textures::Fill { below: style.below, contrast: style.contrast, rows: style.basis };
                textures::bound(&part.declared, kind, &types, compared, fill, random)?
            }
        })
    }

    fn draw(&self, style: Style, random: &mut Random) -> Draw {
        let attributes = self.state.vertex.attributes.iter().zip(&self.state.vertex.bindings).enumerate();
        let points = self.is_of_points();
        let count = if points { POINTS } else { style.vertices };
        let vertex_buffers = attributes.map(|(n, (attribute, binding))| {
            let channels = name(attribute.format).split('_').next().unwrap_or_default();
            let bits = if channels.contains("64") { Bits::B64 } else { Bits::B32 };
            let wide = channels.matches(&bits.count().to_string()).count();
            let float = name(attribute.format).ends_with("SFLOAT");
            let mut data = Vec::new();
            let shared = style.shared && n != style.position && random.bits() & 1 == 0;
            let base: [f64; 4] = std::array::from_fn(|_| random.between(0.05, 0.9));
            for vertex in 0..count {
                for (component, base) in base.iter().enumerate().take(wide) {
                    let value = match float {
                        true if shared && !(style.barycentric && wide == 3) => {
                            encode(base + random.between(0.0, 0.05), bits)
                        }
                        true => encode(element(style, n, vertex, component, wide, random).into(), bits),
                        false => random.bits() % style.below.max(1),
                    };
                    data.extend(value.to_le_bytes().into_iter().take(bits.bytes() as usize));
                }
            }
            let data = InputBytes(data);
            VertexBuffer { binding: binding.binding, stride: binding.stride, data }
        });
        let vertex_buffers = vertex_buffers.collect();
        let targets = self.state.color.attachments.iter().map(|attachment| {
            let integer = Some(name(attachment.format)).filter(|name| name.ends_with("INT"));
            // Blending that shows both colours, but not the old one.
            let blend = (self.state.color.dual_source && integer.is_none()).then_some(Blend::PRODUCT);
            TargetAttachment {
                blend,
                write_mask: attachment.write_mask,
                ..TargetAttachment::new(attachment.location, integer.unwrap_or(target_format(true)))
            }
        });
        Draw {
            vertex_buffers,
            targets: targets.collect(),
            depth: Some(Depth { clear: 0.5, compare: Compare::Always, write: true }),
            stencil: self.gives_stencil().then_some(Stencil { clear: 0, reference: 0 }),
            ..Draw::new(if points { Topology::PointList } else { Topology::TriangleStrip }, count, [EDGE, EDGE])
        }
    }

    fn gives_stencil(&self) -> bool {
        let gives = |op: &Op| matches!(op, Op::StoreOutput { slot: OutputSlot::FragStencilRef, .. });
        self.fragment.ir.insts.iter().any(|inst| gives(&inst.op))
    }

    fn is_of_points(&self) -> bool {
        let points = |op: &Op| matches!(op, Op::LoadBuiltIn { builtin: BuiltIn::PointCoord, .. });
        self.fragment.ir.insts.iter().any(|inst| points(&inst.op))
    }
}

/// The format of float attachments.
pub(super) fn target_format(precise: bool) -> &'static str {
    if precise { "R32G32B32A32_SFLOAT" } else { "R8G8B8A8_UNORM" }
}

/// A component of an attribute.
fn element(style: Style, attribute: usize, vertex: u32, component: usize, wide: usize, random: &mut Random) -> f32 {
    let near = random.between(-0.06, 0.06);
    let side = |axis: usize, random: &mut Random| match vertex {
        0..CORNERS if vertex >> axis & 1 == 1 => 1.0,
        0..CORNERS => -1.0,
        _ => random.between(-1.0, 1.0),
    };
    (match component {
        // Positions that rounding does not change, unless a matrix does.
        n @ 0..2 if attribute == style.position => {
            ((style.middle + style.reach * (side(n, random) + near)) * 64.0).round() / 64.0
        }
        2 if attribute == style.position => random.between(0.2, 0.4),
        3 if attribute == style.position => 1.0,
        n if style.barycentric && wide == 3 => f64::from(u8::from(vertex as usize % 3 == n)),
        n if style.basis && wide == 4 => {
            near + if (attribute + 3 - style.position.min(3)) % 4 == n { 1.0 } else { 0.0 }
        }
        _ => random.between(0.05, 0.95),
    }) as f32
}

/// Fills a block; `float` tells which words of integers hold floats.
fn fill(declared: &Declared, ty: u32, float: impl Fn(usize) -> bool, style: Style, random: &mut Random, to: &mut [u8]) {
    let leaves = declared.leaves(ty, to.len());
    let [low, high] = style.floats;
    for (n, leaf) in leaves.iter().enumerate() {
        let part = |low: f64| low + (high - low) * n as f64 / leaves.len() as f64;
        let value = match (leaf.float || leaf.bits == Bits::B32 && float(leaf.at), leaf.element) {
            (true, Some([column, row])) => {
                let one = if column == row { 1.0 } else { 0.0 };
                // Moves the picture in front of the near plane.
                let ahead = if [column, row] == [3, 2] { 2.0 * style.noise } else { 0.0 };
                encode(one + ahead + random.between(-style.noise, style.noise), leaf.bits)
            }
            (true, None) if style.ascending => encode(random.between(part(low), part(low + 0.02)), leaf.bits),
            (true, None) => encode(random.between(low, high), leaf.bits),
            (false, _) if leaf.bits < Bits::B32 => random.bits() & leaf.bits.mask(),
            (false, _) => random.bits() % style.below.max(1),
        };
        let bytes = value.to_le_bytes();
        to.iter_mut().skip(leaf.at).zip(bytes).take(leaf.bits.bytes() as usize).for_each(|(to, from)| *to = from);
    }
}

/// The name of a format; empty if it has none.
fn name(format: VkFormat) -> &'static str {
    format.name().unwrap_or_default()
}

/// Whether a shader samples a binding with a depth comparison.
fn compares(shader: &Shader, of: &Resource) -> bool {
    let here = |v: dovetail_ir::Value| {
        let dovetail_ir::ValueDef::Inst(id) = shader.values.get(v.index()).map(|v| v.def)? else { return None };
        let Op::Descriptor { resource, .. } = shader.inst(id).op else { return None };
        shader.resources.get(resource.index()).filter(|r| (r.set, r.binding) == (of.set, of.binding))
    };
    shader.insts.iter().any(|inst| match inst.op {
        Op::Image(image) if image.compare => inst.args.iter().take(2).any(|v| here(*v).is_some()),
        _ => false,
    })
}
