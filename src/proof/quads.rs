//! The inputs that fixed functions give a quad's pixels, in the interpreter: interpolated inputs with their bounds, and
//! built-in inputs.
//!
//! With several samples, a pixel is shaded once, at its centre, or once per sample, at the sample; then everything
//! interpolated in the pixel is read as `Sample` (`ir/sample_shading.rs`).

use super::corners::{Corner, ROUNDED};
use super::crossing::{narrow_inputs, number};
use super::drawn::{Run, output};
use dovetail_emu::draw::{Primitive, Quad, Spot, depth_bias};
use dovetail_emu::inputs::Draw;
use dovetail_interp::{Invocation, Plane, Shadow, encode};
use dovetail_ir::{Bits, BuiltIn, Interp, InterpPlace, Op, OutputSlot, Shader};

/// The vertices between which a quad's pixels are interpolated.
struct Source<'a> {
    run: &'a Run<'a>,
    quad: &'a Quad,
    corners: [Corner; 3],
    /// Distance in pixels by which vertices may be displaced.
    slack: f64,
    /// Relative error of w.
    w_off: f64,
}

impl<'a> Source<'a> {
    fn new(run: &'a Run<'a>, primitive: &Primitive, quad: &'a Quad) -> Self {
        let corners = primitive.vertices.map(|n| run.corner(n));
        // Outside the screen a primitive may be clipped, which makes new vertices.
        let cut = !primitive.point && corners.iter().any(|c| !c.inside);
        let slack = match primitive.point {
            true => corners[0].square_off(),
            false => corners.iter().map(|c| c.off).fold(if cut { 1.0 / 128.0 } else { 0.0 }, f64::max),
        };
        let w_off = corners.iter().map(|c| c.w_off).fold(if cut { 2f64.powi(-18) } else { 0.0 }, f64::max);
        Self { run, quad, corners, slack, w_off }
    }

    fn spot(&self, lane: usize, place: InterpPlace) -> &Spot {
        let lane = &self.quad.lanes[lane];
        match place {
            InterpPlace::Sample => &lane.sample,
            InterpPlace::Centroid => &lane.centroid,
            InterpPlace::Center | InterpPlace::AtOffset | InterpPlace::AtSample => &lane.centre,
        }
    }

    fn weights(&self, lane: usize, perspective: bool, place: InterpPlace) -> [f64; 3] {
        let spot = self.spot(lane, place);
        let [i, j] = if perspective { spot.perspective } else { spot.linear }.map(f64::from);
        [1.0 - i - j, i, j]
    }

    /// Interpolates a value to the four pixels.
    fn spread(&self, values: [(f64, f64); 3], perspective: bool, place: InterpPlace) -> [(u64, Shadow); 4] {
        // In a partly covered pixel, any covered position may be taken.
        let free = |lane: usize| {
            let whole = self.quad.lanes[lane].covered.count_ones() == self.run.samples();
            if place == InterpPlace::Centroid && self.run.samples() > 1 && !whole { 1.0 } else { 0.0 }
        };
        self.spread_within(values, perspective, place, free)
    }

    /// [`Self::spread`], if each value may be that of a position some pixels away.
    fn spread_within(
        &self,
        values: [(f64, f64); 3],
        perspective: bool,
        place: InterpPlace,
        away: impl Fn(usize) -> f64,
    ) -> [(u64, Shadow); 4] {
        let at = [0, 1, 2, 3].map(|lane| {
            self.weights(lane, perspective, place).iter().zip(values).map(|(w, (v, _))| w * v).sum::<f64>()
        });
        let slope = [(1, 0), (3, 2), (2, 0), (3, 1)].map(|(a, b)| (at[a] - at[b]).abs());
        let slope = slope[0].max(slope[1]) + slope[2].max(slope[3]);
        // In a sliver that reaches behind the eye, a value changes faster here than from pixel to pixel.
        let steepness = |lane: usize| {
            let along = |to: usize| {
                let [here, there, zero] = [lane, to, 0].map(|lane| self.weights(lane, false, place));
                let (mut change, mut sum) = (0.0, 0.0);
                for (n, (corner, (value, _))) in self.corners.iter().zip(values).enumerate() {
                    change += (there[n] - zero[n]) * (value - at[lane]) / corner.w;
                    sum += here[n] / corner.w;
                }
                (change / sum).abs()
            };
            if perspective { slope.max(along(1) + along(2)) } else { slope }
        };
        let largest = values.iter().map(|(v, _)| v.abs()).fold(0.0, f64::max);
        std::array::from_fn(|lane| {
            let weights = self.weights(lane, perspective, place).map(f64::abs);
            let own: f64 = weights.iter().zip(values).map(|(w, (_, off))| w * off).sum();
            let reach: f64 = weights.iter().sum();
            let moved = steepness(lane) * (self.slack + away(lane));
            let bound = own + reach * (moved + largest * (2f64.powi(-20) + 2.0 * self.w_off));
            let shadow = if bound.is_finite() { Shadow { value: at[lane], bound } } else { Shadow::UNCERTAIN };
            (encode(at[lane], Bits::B32), shadow)
        })
    }

    /// The value as a plane around each of the four pixels' centres.
    fn planes(&self, values: [(f64, f64); 3], perspective: bool) -> [Plane; 4] {
        let own = self.spread(values, perspective, InterpPlace::Center);
        let [first, right, below] = [0, 1, 2].map(|lane| self.weights(lane, false, InterpPlace::Center));
        let largest = values.iter().map(|(v, _)| v.abs()).fold(0.0, f64::max);
        std::array::from_fn(|lane| {
            let here = self.weights(lane, false, InterpPlace::Center);
            let (mut above, mut under) = ([0.0; 3], [0.0; 3]);
            for (n, (corner, (value, _))) in self.corners.iter().zip(values).enumerate() {
                let inverse = if perspective { 1.0 / corner.w } else { 1.0 };
                for (k, weight) in [here[n], right[n] - first[n], below[n] - first[n]].into_iter().enumerate() {
                    above[k] += weight * inverse * value;
                    under[k] += weight * inverse;
                }
            }
            let (bits, shadow) = own[lane];
            let bound = number((bits, shadow)).1 * 2.0 + largest * 2f64.powi(-18);
            Plane { above, under, bound: if shadow.is_uncertain() { f64::INFINITY } else { bound } }
        })
    }
}

/// The depth bias of a primitive, and its error bound: drivers compute slopes in single precision, from rounded vertices.
fn bias(command: &Draw, corners: &[Corner; 3]) -> (f64, f64) {
    let Some(how) = depth_bias::of(command) else { return (0.0, 0.0) };
    let at = corners.map(|c| [c.at[0], c.at[1], c.depth.0]);
    let bits = command.fixed.depth_bits;
    let all = depth_bias::bias(&how, bits, &at);
    let sides = [0, 1, 2].map(|n| [0, 1].map(|axis| at[(n + 1) % 3][axis] - at[n][axis]));
    let longest = sides.map(|[x, y]| x.hypot(y)).into_iter().fold(0.0, f64::max);
    let area = (sides[0][0] * sides[1][1] - sides[0][1] * sides[1][0]).abs();
    let farthest = corners.iter().map(|c| c.depth.0).fold(0.0, f64::max);
    let off = corners.iter().map(|c| c.depth.1).fold(0.0, f64::max);
    // A depth near a power of two may have the step of either side, one of which is half the other.
    let [least, most] = [farthest - off, farthest + off].map(|depth| depth_bias::step(bits, depth));
    let of_slope = f64::from(how.slope).abs() * (depth_bias::slope(&at) * ROUNDED + 2.0 * off) * longest / area;
    (all, of_slope + f64::from(how.constant).abs() * (most - least) + all.abs() * 2f64.powi(-12))
}

/// The inputs of a quad's pixels, and the depths to test.
pub(super) fn quad(
    run: &Run<'_>,
    fragment: &Shader,
    primitive: &Primitive,
    quad: &Quad,
) -> ([Invocation; 4], [(u64, Shadow); 4]) {
    let source = Source::new(run, primitive, quad);
    let corners = source.corners;
    let mut out: [Invocation; 4] = Default::default();
    let vertices = primitive.vertices.map(|n| run.vertices.get(n));
    for inst in fragment.live_insts() {
        let Op::LoadInput { location, component, interp, .. } = inst.op else { continue };
        let slot = OutputSlot::Location { location, component, index: 0 };
        let values = vertices.map(|v| v.map_or((0, Shadow::UNCERTAIN), |v| output(v, slot)));
        let at = (location, component);
        let (perspective, place) = match interp {
            Interp::Vertex(_) => {
                out.iter_mut().for_each(|pixel| _ = pixel.vertices.insert(at, values));
                continue;
            }
            Interp::Flat => {
                out.iter_mut().for_each(|pixel| _ = pixel.inputs.insert(at, values[0]));
                continue;
            }
            Interp::At { perspective, place } => (perspective, place),
        };
        // All pixels of a point have the same value, but some drivers divide it by w and multiply it again.
        let (values, perspective) =
            if primitive.point { ([number(values[0]); 3], false) } else { (values.map(number), perspective) };
        match place {
            InterpPlace::AtOffset | InterpPlace::AtSample => {
                for (pixel, plane) in out.iter_mut().zip(source.planes(values, perspective)) {
                    pixel.planes.insert(at, plane);
                }
            }
            _ if !out[0].placed.contains_key(&(place, at)) => {
                for (pixel, value) in out.iter_mut().zip(source.spread(values, perspective, place)) {
                    pixel.placed.insert((place, at), value);
                }
            }
            _ => {}
        }
    }
    let plain = |value: f64| (encode(value, Bits::B32), Shadow::NONE);
    let unit = |n: usize| [0, 1, 2].map(|k| (f64::from(u8::from(k == n)), 0.0));
    let place = if run.per_sample { InterpPlace::Sample } else { InterpPlace::Center };
    // Vulkan ("Points") allows the point coordinate of the centre or of any sample.
    let away = if run.samples() > 1 && !run.per_sample { 0.5 } else { 0.0 };
    let sprite = [1, 2].map(|n| source.spread_within(unit(n), false, place, |_| away));
    let inverse = corners.map(|c| (1.0 / c.w, c.w_off / c.w));
    // Of i and j, each is 1 at one vertex and 0 at the others.
    let over_w = |component: u8| {
        [0, 1, 2].map(|n| if component == 2 || component + 1 == n { inverse[usize::from(n)] } else { (0.0, 0.0) })
    };
    let distances = |slot| vertices.map(|v| number(v.map_or((0, Shadow::UNCERTAIN), |v| output(v, slot))));
    let mut interpolated = Vec::new();
    for inst in fragment.live_insts() {
        let Op::LoadBuiltIn { builtin, component, place, .. } = inst.op else { continue };
        let (values, perspective) = match builtin {
            BuiltIn::ClipDistance => (distances(OutputSlot::ClipDistance(component)), true),
            BuiltIn::CullDistance => (distances(OutputSlot::CullDistance(component)), true),
            // A point is its first vertex all over.
            BuiltIn::BaryCoord | BuiltIn::BaryCoordNoPersp if primitive.point => {
                ([unit(component.into())[0]; 3], false)
            }
            BuiltIn::BaryCoordPullModel if primitive.point => ([over_w(component)[0]; 3], false),
            BuiltIn::BaryCoord => (unit(component.into()), true),
            BuiltIn::BaryCoordNoPersp => (unit(component.into()), false),
            BuiltIn::BaryCoordPullModel => (over_w(component), false),
            _ => continue,
        };
        interpolated.push(((place, builtin, component), source.spread(values, perspective, place)));
    }
    // The depth test uses the depth of a sample: the shaded one, or the first.
    let at_points = |values: [(f64, f64); 3], place| match primitive.point {
        true => source.spread([values[0]; 3], false, place),
        false => source.spread(values, false, place),
    };
    let fourth = at_points(inverse, place);
    let bias = bias(run.command, &corners);
    let depths = corners.map(|c| (c.depth.0 + bias.0, c.depth.1 + bias.1));
    let [depth, tested] = [place, InterpPlace::Sample].map(|place| at_points(depths, place));
    // The provoking vertex gives the shading rate; fragments are at most two pixels wide or high.
    let asked = vertices[0].and_then(|v| v.outputs.get(&OutputSlot::ShadingRate)).map_or(0, |(bits, _)| *bits);
    let rate = u64::from(asked & 12 != 0) << 2 | u64::from(asked & 3 != 0);
    for (n, pixel) in out.iter_mut().enumerate() {
        let spot = source.spot(n, place);
        let at = [0, 1].map(|axis| f64::from(quad.at[axis] + (n as u32 >> axis & 1)) + f64::from(spot.place[axis]));
        for (component, value) in (0..).zip([plain(at[0]), plain(at[1]), depth[n], fourth[n]]) {
            pixel.builtins.insert((BuiltIn::FragCoord, component), value);
        }
        for (component, value) in (0..).zip(sprite) {
            pixel.builtins.insert((BuiltIn::PointCoord, component), value[n]);
        }
        for (component, value) in (0..).zip(spot.place) {
            pixel.builtins.insert((BuiltIn::SamplePosition, component), plain(value.into()));
        }
        for (at, values) in &interpolated {
            pixel.placed_builtins.insert(*at, values[n]);
        }
        let lane = &quad.lanes[n];
        let covered = quad.covered >> n & 1 == 1;
        for (builtin, value) in [
            (BuiltIn::FrontFacing, primitive.front.into()),
            (BuiltIn::SampleId, quad.sample.unwrap_or(0).into()),
            (BuiltIn::FragInvocationCount, if run.per_sample { run.samples().into() } else { 1 }),
            (BuiltIn::ShadingRate, rate),
            (BuiltIn::SampleMaskIn, if covered { lane.live.into() } else { 0 }),
            (BuiltIn::PrimitiveId, primitive.number.into()),
            (BuiltIn::Layer, 0),
            (BuiltIn::ViewportIndex, 0),
        ] {
            pixel.builtins.insert((builtin, 0), (value, Shadow::NONE));
        }
        pixel.helper = !covered;
    }
    narrow_inputs(fragment, &mut out);
    (out, tested)
}
