//! Searches for contents that bring a picture into view: evaluates the position, and changes its sources until every
//! vertex is in front of the eye, away from w = 0, exact enough for stable edges, and the primitives cover enough of
//! the screen.
//!
//! Nothing tells the meaning of a position's source bytes: matrices by columns or rows, alone or as members of other
//! structures, quaternions, angles, vertices in buffers. So steps that help many of them are tried, each at any place,
//! and kept if the picture is no worse ([`Framing::frame`]). Steps that led to one picture are tried first for the
//! next.

use super::corners::Corner;
use super::drawn::{Corners, interpreted_corners};
use super::random::Random;
use dovetail_emu::inputs::{Bound, Inputs, Slot, Topology};
use dovetail_interp::Options;
use dovetail_ir::Shader;
use dovetail_state::VertexInputState;

/// Largest number of steps for one scene, and for all scenes of a pair and a seed.
const STEPS: usize = 120;
const ALL_STEPS: usize = 1600;
/// Probe points per screen axis that test coverage, and how many points of the grid must be covered.
const PLACES: u32 = 8;
const COVERED: f64 = 14.0;
/// Number of good points that is enough.
const POINTS: f64 = 8.0;
/// Largest error of a vertex in pixels.
const STEADY: f64 = 1.0 / 48.0;
/// Smallest w.
const NEAREST: f64 = 0.1;
/// Largest distance of a vertex from the centre, in half screens.
const FARTHEST: f64 = 6.0;

/// Where numbers are in the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InputPlace {
    /// In the push constants.
    Push,
    /// In a buffer.
    Bound(Slot),
    /// In a vertex buffer, by its index.
    Vertices(usize),
}

/// The floats of a block that a position depends on, in declaration order.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The block's place.
    pub place: InputPlace,
    /// Byte offsets of the floats.
    pub floats: Vec<usize>,
}

/// A float attribute that a position depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    /// Index of its vertex buffer.
    pub buffer: usize,
    /// Floats per vertex.
    pub wide: usize,
}

/// The inputs that can be changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Knobs {
    pub blocks: Vec<Block>,
    pub attributes: Vec<Attribute>,
}

/// A number to write to the inputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    to: InputPlace,
    byte: usize,
    value: f32,
}

/// An evaluated scene.
#[derive(Clone, Debug)]
pub(super) struct Framed {
    /// Distance from a usable picture; 0: usable.
    pub flaw: f64,
    /// Share of the screen that is covered.
    pub covered: f64,
    /// Number of undefined outputs.
    pub vague: usize,
    /// Its changes of the inputs.
    pub writes: Vec<Write>,
}

/// A change that may bring a scene's picture into view. Offsets in a block count its floats.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Rows or columns of an identity matrix, once or repeated to the end of the block.
    Identity { block: usize, from: usize, wide: usize, high: usize, repeat: bool },
    /// Nearly equal numbers.
    Numbers { block: usize, from: usize, count: usize, value: f64 },
    /// Vertices in a block, `apart` floats from one to the next.
    Corners { block: usize, from: usize, apart: usize },
    /// An attribute gets the corners of a square.
    Square { attribute: usize, reach: f64 },
    /// An attribute is constant: one component is 1, or all are 0.
    Constant { attribute: usize, one: usize },
}

/// Searches for pictures of one shader.
pub(super) struct Framing<'a> {
    pub vertex: &'a Shader,
    pub attributes: &'a VertexInputState,
    pub limit: u64,
    recipe: Vec<Step>,
    spent: usize,
}

impl<'a> Framing<'a> {
    pub fn new(vertex: &'a Shader, attributes: &'a VertexInputState, limit: u64) -> Self {
        Self { vertex, attributes, limit, recipe: Vec::new(), spent: 0 }
    }

    /// Improves a scene.
    ///
    /// # Errors
    /// The interpreter's.
    pub fn frame(
        &mut self,
        inputs: &Inputs,
        knobs: &Knobs,
        noise: f64,
        seed: u64,
    ) -> dovetail_base::error::Result<Framed> {
        let mut best = self.evaluate(inputs.clone(), Vec::new())?;
        let mut random = Random::new(seed);
        let mut changed = |framing: &Self, from: &[Write], steps: &[Step]| {
            let mut writes = from.to_vec();
            steps.iter().for_each(|step| writes.extend(step.writes(knobs, inputs, noise, &mut random)));
            let mut inputs = inputs.clone();
            apply(&mut inputs, &writes);
            framing.evaluate(inputs, writes).ok()
        };
        if best.flaw == 0.0 || knobs.blocks.is_empty() && knobs.attributes.is_empty() {
            return Ok(best);
        }
        let mut recipe = Vec::new();
        if !self.recipe.is_empty()
            && let Some(found) = changed(self, &[], &self.recipe)
            && found.flaw <= best.flaw
        {
            (best, recipe) = (found, self.recipe.clone());
        }
        let mut choices = Random::new(!seed);
        for _ in 0..STEPS {
            if best.flaw == 0.0 || self.spent >= ALL_STEPS {
                break;
            }
            self.spent += 1;
            let Some(step) = Step::any(knobs, &mut choices) else { break };
            if let Some(found) = changed(self, &best.writes, &[step])
                && found.flaw <= best.flaw
            {
                best = found;
                recipe.push(step);
            }
        }
        if best.flaw == 0.0 {
            self.recipe = recipe;
        }
        Ok(best)
    }

    fn evaluate(&self, inputs: Inputs, writes: Vec<Write>) -> dovetail_base::error::Result<Framed> {
        let options = Options { subgroup_size: 4, limit: self.limit, shadow: true, ..Default::default() };
        let corners = interpreted_corners(self.vertex, self.attributes, &inputs, options)?;
        let points = inputs.draw.as_ref().is_some_and(|draw| draw.topology == Topology::PointList);
        let extent = inputs.draw.as_ref().map_or([1; 2], |draw| draw.extent);
        let (flaw, covered) = if points { points_flaw(&corners) } else { strip_flaw(&corners, extent) };
        Ok(Framed { flaw, covered, vague: corners.vague, writes })
    }
}

/// Writes numbers into the inputs.
pub(super) fn apply(inputs: &mut Inputs, writes: &[Write]) {
    for write in writes {
        let bytes = match write.to {
            InputPlace::Push => Some(&mut inputs.push_constants.0),
            InputPlace::Vertices(n) => {
                inputs.draw.as_mut().and_then(|draw| draw.vertex_buffers.get_mut(n)).map(|b| &mut b.data.0)
            }
            InputPlace::Bound(slot) => {
                let found = inputs.bindings.iter_mut().find(|b| b.slot() == slot);
                found.and_then(|b| match &mut b.bound {
                    Bound::UniformBuffer(b) | Bound::StorageBuffer(b) | Bound::PhysicalStorageBuffer(b) => {
                        Some(&mut b.0)
                    }
                    _ => None,
                })
            }
        };
        if let Some(to) = bytes.and_then(|bytes| bytes.get_mut(write.byte..)?.first_chunk_mut()) {
            *to = write.value.to_le_bytes();
        }
    }
}

impl Step {
    /// A random step for the tunable inputs.
    fn any(knobs: &Knobs, random: &mut Random) -> Option<Self> {
        let mut one_of = |n: usize| (random.bits() % n.max(1) as u64) as usize;
        let of_block = !knobs.blocks.is_empty() && (knobs.attributes.is_empty() || one_of(5) < 4);
        if !of_block {
            let attribute = one_of(knobs.attributes.len());
            let wide = knobs.attributes.get(attribute)?.wide;
            return Some(match one_of(2) {
                0 => Self::Square { attribute, reach: [0.4, 0.8, 2.0][one_of(3)] },
                _ => Self::Constant { attribute, one: one_of(wide + 1) },
            });
        }
        let block = one_of(knobs.blocks.len());
        let length = knobs.blocks.get(block)?.floats.len();
        // Matrices usually begin at a multiple of their width.
        let wide = [4, 4, 4, 3][one_of(4)];
        let aligned = one_of(length.div_ceil(wide)) * wide;
        Some(match one_of(16) {
            0..4 => Self::Identity { block, from: 0, wide, high: [4, 3][one_of(4) / 3], repeat: true },
            4..8 => {
                let from = if one_of(2) == 0 { aligned } else { one_of(length) };
                Self::Identity { block, from, wide, high: [4, 3][one_of(4) / 3], repeat: one_of(3) == 0 }
            }
            8..14 => {
                let value = [0.0, 1.0, -1.0, 0.5, 2.0, -0.4, 0.15, 6.0][one_of(8)];
                Self::Numbers { block, from: one_of(length), count: [1, 1, 1, 2, 3, 4][one_of(6)], value }
            }
            _ => Self::Corners { block, from: one_of(length.min(12)), apart: 2 + one_of(length.min(31)) },
        })
    }

    /// The writes of a step.
    fn writes(self, knobs: &Knobs, inputs: &Inputs, noise: f64, random: &mut Random) -> Vec<Write> {
        let mut out = Vec::new();
        let mut put = |block: usize, n: usize, value: f64| {
            let Some((block, byte)) = knobs.blocks.get(block).and_then(|b| Some((b, *b.floats.get(n)?))) else {
                return false;
            };
            out.push(Write { to: block.place, byte, value: value as f32 });
            true
        };
        let corner = |vertex: usize, axis: usize| if vertex >> axis & 1 == 1 { 1.0 } else { -1.0 };
        match self {
            Self::Identity { block, from, wide, high, repeat } => {
                let length = knobs.blocks.get(block).map_or(0, |b| b.floats.len());
                let last = if repeat { length } else { from + wide * high };
                for n in from..last.min(length) {
                    let (row, column) = ((n - from) / wide % high, (n - from) % wide);
                    let one = f64::from(u8::from(row == column));
                    put(block, n, one + random.between(-noise, noise));
                }
            }
            Self::Numbers { block, from, count, value } => {
                for n in from..from + count {
                    put(block, n, value * random.between(0.95, 1.05));
                }
            }
            Self::Corners { block, from, apart } => {
                for vertex in 0.. {
                    let at = from + vertex * apart;
                    // Strips use the first four vertices, points all of them.
                    let mut side =
                        |axis| if vertex < 4 { 0.8 * corner(vertex, axis) } else { random.between(-0.9, 0.9) };
                    let place = [side(0), side(1), 0.3];
                    if !place.iter().zip(at..).fold(true, |inside, (value, n)| put(block, n, *value) && inside) {
                        break;
                    }
                }
            }
            Self::Square { attribute, reach } => {
                return attribute_writes(knobs, inputs, attribute, |vertex, component| match component {
                    0 | 1 if vertex < 4 => reach * (corner(vertex, component) + random.between(-0.06, 0.06)),
                    0 | 1 => reach * random.between(-1.0, 1.0),
                    2 => random.between(0.2, 0.4),
                    _ => 1.0,
                });
            }
            Self::Constant { attribute, one } => {
                return attribute_writes(knobs, inputs, attribute, |_, component| {
                    f64::from(u8::from(component == one)) + random.between(-noise, noise)
                });
            }
        }
        out
    }
}

fn attribute_writes(
    knobs: &Knobs,
    inputs: &Inputs,
    attribute: usize,
    mut value: impl FnMut(usize, usize) -> f64,
) -> Vec<Write> {
    let Some(Attribute { buffer, wide }) = knobs.attributes.get(attribute).copied() else { return Vec::new() };
    let buffers = inputs.draw.as_ref().and_then(|draw| draw.vertex_buffers.get(buffer));
    let count = buffers.map_or(0, |b| b.data.0.len() / 4);
    let each = (0..count).map(|n| {
        // Positions that rounding does not change, unless a matrix does.
        let value = (value(n / wide.max(1), n % wide.max(1)) * 64.0).round() / 64.0;
        Write { to: InputPlace::Vertices(buffer), byte: n * 4, value: value as f32 }
    });
    each.collect()
}

/// How far a vertex is from one whose edges all drivers draw alike; 0 for such a vertex.
fn corner_flaw(c: &Corner) -> f64 {
    let numbers = [c.at[0], c.at[1], c.depth.0, c.w];
    if numbers.iter().any(|n| !n.is_finite()) {
        return 32.0;
    }
    if c.w < NEAREST {
        return 8.0 + (NEAREST - c.w).min(8.0);
    }
    let (z, off) = c.depth;
    let beyond = |n: f64| if n > 0.0 { 1.0 + n.min(4.0) } else { 0.0 };
    // A vertex exactly on a plane is not clipped.
    let near = if z == 0.0 { 0.0 } else { beyond(2.0 * off - z) };
    let far = if z == 1.0 { 0.0 } else { beyond(z + 2.0 * off - 1.0) };
    let unsteady = if c.off > STEADY || c.w_off > 1e-3 { 1.0 + c.off.min(1.0) } else { 0.0 };
    near + far + unsteady
}

/// How far a triangle strip is from a usable picture (0: it is one), and its share of the screen.
fn strip_flaw(Corners { all, cut, .. }: &Corners, extent: [u32; 2]) -> (f64, f64) {
    let [width, height] = extent.map(f64::from);
    let away = |c: &Corner| [c.at[0] / width, c.at[1] / height].map(|n| (n - 0.5).abs() * 2.0);
    let mut flaw: f64 = all.iter().map(corner_flaw).sum();
    flaw += all.iter().flat_map(away).map(|n| (n - FARTHEST).clamp(0.0, 8.0)).sum::<f64>() + *cut as f64;
    let places = (0..PLACES * PLACES).map(|n| {
        [n % PLACES, n / PLACES].map(|n| (f64::from(n) + 0.5) / f64::from(PLACES)).map(|n| [n * width, n * height])
    });
    let places = places.map(|[x, y]| [x[0], y[1]]);
    let covered = places.filter(|at| all.windows(3).any(|three| inside(three, *at))).count() as f64;
    if covered < COVERED {
        let outer: f64 = all.iter().flat_map(away).map(|n| (n - 1.0).clamp(0.0, 8.0)).sum();
        flaw += 1.0 - covered / COVERED + 0.1 * outer;
    }
    (flaw, covered / f64::from(PLACES * PLACES))
}

/// How far points are from a usable picture (0: they are one), and the share of good points.
fn points_flaw(Corners { all, cut, .. }: &Corners) -> (f64, f64) {
    let flaws: Vec<f64> = all
        .iter()
        .map(|c| {
            let small = if c.size - c.size_off < 1.0 || !c.size.is_finite() {
                1.0 + (1.0 - c.size).clamp(0.0, 4.0)
            } else {
                0.0
            };
            let outside = if c.inside { 0.0 } else { 1.0 };
            let large = if c.size > 64.0 { 1.0 } else { 0.0 };
            corner_flaw(c) + small + outside + large + if c.size_off > 0.01 { 1.0 } else { 0.0 }
        })
        .collect();
    let good = flaws.iter().filter(|flaw| **flaw == 0.0).count() as f64;
    let sum: f64 = flaws.iter().sum();
    let missing = (POINTS.min(all.len() as f64) - good).max(0.0);
    let flaw = if missing > 0.0 { missing / POINTS + sum / all.len().max(1) as f64 } else { 0.0 };
    (flaw + *cut as f64, good / all.len().max(1) as f64)
}

/// Whether a position is inside a triangle.
fn inside(three: &[Corner], at: [f64; 2]) -> bool {
    let [a, b, c] = three else { return false };
    let side =
        |a: &Corner, b: &Corner| (b.at[0] - a.at[0]) * (at[1] - a.at[1]) - (b.at[1] - a.at[1]) * (at[0] - a.at[0]);
    let sides = [side(a, b), side(b, c), side(c, a)];
    sides.iter().all(|s| *s > 0.0) || sides.iter().all(|s| *s < 0.0)
}
