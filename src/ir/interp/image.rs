//! Image instructions: samples, loads, stores, atomics and queries, lane by lane.

use super::atomic;
use super::cube::face;
use super::lod::LEVEL_STEP;
use super::machine::{Machine, unsupported};
use super::residency::Touched;
use super::shadow::Shadow;
use super::texture::{Coords, Filter, InterpretedSampler, ShadowedTexel};
use super::wave::{Wave, lanes};
use dovetail_base::error::Result;
use dovetail_ir::number::{decode, encode};
use dovetail_ir::{Bits, Dim, ImageInst, ImageOp, ImageOperand, Inst, LodMode};

/// Operands of one lane by kind.
pub(super) struct Operands<'a> {
    pub image: &'a ImageInst,
    pub meaning: &'a [ImageOperand],
    values: Vec<(u64, Shadow)>,
}

impl Operands<'_> {
    fn get(&self, what: ImageOperand) -> Option<(u64, Shadow)> {
        let n = self.meaning.iter().position(|m| *m == what)?;
        self.values.get(n).copied()
    }

    fn int(&self, what: ImageOperand) -> i64 {
        self.get(what).map_or(0, |(bits, _)| i64::from(bits as u32 as i32))
    }

    pub fn float(&self, what: ImageOperand) -> Option<(f64, f64)> {
        let (bits, shadow) = self.get(what)?;
        Some((decode(bits, Bits::B32), shadow.bound.max(0.0)))
    }

    /// Coordinates to sample at; the layer is clamped to the existing ones.
    fn coords(&self, layers: u32) -> Coords {
        let count = self.image.dim.coords();
        let mut at = [0.0; 3];
        let mut error = [0.0; 3];
        for n in 0..count {
            (at[n], error[n]) = self.float(ImageOperand::Coord(n as u8)).unwrap_or_default();
        }
        let offset = [0, 1, 2].map(|n| self.int(ImageOperand::Offset(n)) as f64);
        let last = i64::from(if self.image.dim == Dim::Cube { layers / 6 } else { layers }).max(1) - 1;
        let layer = self.float(ImageOperand::Layer).map_or(0, |(x, _)| (x.round_ties_even() as i64).clamp(0, last));
        if self.image.dim != Dim::Cube {
            return Coords { at, error, offset, count, layer, cube: false };
        }
        let (face, s, t) = face(at);
        let error = error.iter().sum::<f64>() / at.iter().fold(1e-30, |m, x| x.abs().max(m)) + 1e-6;
        let (at, error) = ([s, t, 0.0], [error, error, 0.0]);
        Coords { at, error, offset, count: 2, layer: layer * 6 + face, cube: true }
    }
}

impl Machine<'_> {
    pub(super) fn image(&mut self, wave: &mut Wave, inst: &Inst, image: &ImageInst, mask: u64) -> Result<()> {
        let meaning = image.operands();
        for lane in lanes(mask) {
            let values = inst.args.iter().map(|&v| self.arg(wave, v, lane)).collect();
            let operands = Operands { image, meaning: &meaning, values };
            let mut touched = Touched::default();
            let mut results = self.image_lane(wave, inst, &operands, (lane, mask), &mut touched)?;
            let Some(result) = inst.result else { continue };
            if image.sparse {
                let absent = inst.args.first().map_or(0, |v| self.absent_levels(wave, *v, lane));
                results.resize(self.registers_of(result).len().saturating_sub(1), (0, Shadow::NONE));
                results.push(touched.code(absent));
            }
            let doubtful = !operands.values.iter().all(|v| !v.1.is_uncertain());
            for (register, (bits, shadow)) in self.registers_of(result).zip(results) {
                let shadow = if doubtful { Shadow::UNCERTAIN } else { shadow };
                wave.set(register, lane, bits, if self.options.shadow { shadow } else { Shadow::NONE });
            }
        }
        Ok(())
    }

    fn image_lane(
        &mut self,
        wave: &mut Wave,
        inst: &Inst,
        operands: &Operands<'_>,
        (lane, mask): (usize, u64),
        touched: &mut Touched,
    ) -> Result<Vec<(u64, Shadow)>> {
        use ImageOperand as O;
        let image = operands.image;
        let Some(&descriptor) = inst.args.first() else { return Ok(Vec::new()) };
        // Without a whole quad, or across faces of a cube, any level may be read.
        let known_lod = self.level_of_detail(wave, inst, operands, lane, mask);
        let lod = known_lod.unwrap_or_default();
        let sampler = inst.args.get(1).and_then(|&v| self.sampler(wave, v, lane));
        let footprint =
            sampler.as_ref().and_then(|sampler| self.footprint(wave, inst, operands, (lane, mask), sampler));
        let data = operands.meaning.iter().position(|m| *m == O::Data);
        let components = data.map(|n| self.values(wave, inst, n, lane)).unwrap_or_default();
        let helper = wave.helpers >> lane & 1 != 0;
        // A texel of 64 bits is two words.
        let of_result = inst.result.map(|v| self.shader.ty(v).bits());
        let wide = components.first().map(|one| one.2).or(of_result) == Some(Bits::B64);
        let Some(texture) = self.texture(wave, descriptor, lane) else {
            return Ok(vec![(0, Shadow::NONE); 4]);
        };
        let integer = texture.integer;
        let mut at = [0; 3];
        for (n, slot) in at.iter_mut().enumerate().take(image.dim.coords()) {
            *slot = operands.int(O::Coord(n as u8)) + operands.int(O::Offset(n as u8));
        }
        let mut layer = operands.int(O::Layer);
        if image.dim == Dim::Cube {
            (layer, at[2]) = (at[2], 0);
        }
        layer = layer * i64::from(texture.samples) + operands.int(O::SampleIndex);
        let level = if image.lod == LodMode::Explicit { operands.int(O::Lod).max(0) as usize } else { 0 };
        Ok(match image.op {
            ImageOp::Fetch | ImageOp::Load => {
                *touched = Touched::exactly(texture.place(level, at, layer).map_or(0, |(level, _)| 1 << level));
                let (texel, shadows) = texture.texel(level, at, layer);
                if wide {
                    let zero = (0, Shadow::NONE);
                    return Ok(vec![whole((texel, shadows)), zero, zero, (1, Shadow::NONE)]);
                }
                texel.iter().zip(shadows).map(|(x, s)| (u64::from(*x), s)).collect()
            }
            ImageOp::Store => {
                let place = texture.place(level, at, layer).filter(|_| !helper);
                if let Some(texel) = place.and_then(|(level, n)| texture.levels.get_mut(level)?.get_mut(n)) {
                    match components.first() {
                        Some((bits, shadow, Bits::B64)) => set_whole(texel, (*bits, *shadow)),
                        _ => components.into_iter().take(4).enumerate().for_each(|(n, (bits, shadow, _))| {
                            (texel.0[n], texel.1[n]) = (bits as u32, shadow);
                        }),
                    }
                }
                Vec::new()
            }
            ImageOp::Atomic(op) => {
                let place = texture.place(level, at, layer).filter(|_| !helper);
                let Some(texel) = place.and_then(|(level, n)| texture.levels.get_mut(level)?.get_mut(n)) else {
                    return Ok(vec![(0, Shadow::NONE)]);
                };
                let operand = |what| operands.get(what).unwrap_or((0, Shadow::NONE));
                let (data, comparator) = (operand(O::Data), operand(O::AtomicCompare));
                let old = if wide { whole(*texel) } else { (u64::from(texel.0[0]), texel.1[0]) };
                let width = if wide { Bits::B64 } else { Bits::B32 };
                match atomic::updated(op, width, old, [data, comparator]) {
                    Some(new) if wide => set_whole(texel, new),
                    Some((new, shadow)) => (texel.0[0], texel.1[0]) = (new as u32, shadow),
                    None => {}
                }
                vec![old]
            }
            ImageOp::QuerySize => {
                let [x, y, z] = texture.size(level);
                let layers = i64::from(texture.layers / texture.samples.max(1));
                let last = if image.dim == Dim::Cube { layers / 6 } else { layers };
                let size = match (image.dim, image.arrayed) {
                    // Layers are third, even if the second is unused.
                    (Dim::D1 | Dim::D2 | Dim::Cube, true) => [x, y, last, 0],
                    _ => [x, y, z, 0],
                };
                // Vulkan leaves the size of a level that the image lacks undefined.
                let there =
                    image.lod != LodMode::Explicit || (0..texture.levels.len() as i64).contains(&operands.int(O::Lod));
                let shadow = if there { Shadow::NONE } else { Shadow::UNCERTAIN };
                size.map(|n| (n as u64, shadow)).to_vec()
            }
            ImageOp::QueryLevels => vec![(texture.levels.len() as u64, Shadow::NONE)],
            ImageOp::QuerySamples => vec![(texture.samples.into(), Shadow::NONE)],
            ImageOp::Sample => {
                let given = sampler.unwrap_or_default();
                let least = operands.float(O::MinLod);
                let sampler = least.map_or(given, |(least, _)| with_least_level(given, least));
                *touched = Touched::sampled(image, &sampler, known_lod, texture.levels.len());
                let coords = operands.coords(texture.layers);
                let reference = operands.float(O::Compare);
                if let Some(footprint) = footprint {
                    *touched = Touched::unknown();
                    let result = footprint.map(|footprint| texture.within(&sampler, &coords, &footprint, reference));
                    let result = result.unwrap_or([(0.0, f64::INFINITY); 4]);
                    return Ok(result.iter().map(|one| sampled(integer, *one)).collect());
                }
                let mut result = texture.sample_between(&sampler, &coords, lod, reference);
                // A least level between two is as coarse as any level of detail.
                let inexact = least.filter(|(least, off)| *off > 0.0 || least.fract() != 0.0);
                let ends = inexact.map(|(least, off)| [least - off - LEVEL_STEP, least + off + LEVEL_STEP]);
                for end in ends.into_iter().flatten() {
                    let moved = texture.sample_between(&with_least_level(given, end), &coords, lod, reference);
                    for (result, other) in result.iter_mut().zip(moved) {
                        result.1 = result.1.max(other.1 + (result.0 - other.0).abs());
                    }
                }
                let bound = |bound: f64| if known_lod.is_some() { bound } else { f64::INFINITY };
                result.iter().map(|s| sampled(integer, (s.0, bound(s.1)))).collect()
            }
            ImageOp::Gather(component) if image.dim == Dim::D2 => {
                let sampler = sampler.unwrap_or_default();
                *touched = Touched::sampled(image, &sampler, known_lod, texture.levels.len());
                let coords = operands.coords(texture.layers);
                let (level, unsure) = match image.lod {
                    LodMode::Zero => (0, false),
                    _ => known_lod.map_or((0, true), |lod| texture.gathered_level(&sampler, lod)),
                };
                let size = texture.size(level);
                let reference = operands.float(O::Compare);
                let base: [f64; 2] = std::array::from_fn(|n| {
                    (coords.at[n] * size[n] as f64 - 0.5).floor() + operands.int(O::Offset(n as u8)) as f64
                });
                let close = unsure
                    || (0..2).any(|n| {
                        let x = coords.at[n] * size[n] as f64 - 0.5;
                        let e = coords.error[n] * size[n] as f64 + 1.0 / 256.0;
                        (x - e).floor() != (x + e).floor()
                    });
                let point = InterpretedSampler { mag: Filter::Nearest, min: Filter::Nearest, ..sampler };
                let corners = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]];
                let one = corners.map(|[dx, dy]| {
                    let at = [(base[0] + dx + 0.5) / size[0] as f64, (base[1] + dy + 0.5) / size[1] as f64, 0.0];
                    let [error, offset] = [[0.0; 3]; 2];
                    let at = Coords { at, error, offset, count: 2, layer: coords.layer, cube: false };
                    let mut result =
                        texture.level(&point, Filter::Nearest, level, &at, reference)[usize::from(component & 3)];
                    if close {
                        result.1 = f64::INFINITY;
                    }
                    sampled(integer, result)
                });
                one.to_vec()
            }
            _ => return Err(unsupported(&inst.op)),
        })
    }
}

/// A sampler that reads no level of detail below this one.
fn with_least_level(mut sampler: InterpretedSampler, least: f64) -> InterpretedSampler {
    sampler.lod[0] = sampler.lod[0].max(least);
    sampler
}

fn sampled(integer: bool, (value, bound): (f64, f64)) -> (u64, Shadow) {
    match integer {
        // With a bound, one of several texels may be read.
        true => (value as u64, if bound == 0.0 { Shadow::NONE } else { Shadow::UNCERTAIN }),
        false => (encode(value, Bits::B32), Shadow { value, bound }),
    }
}

/// The value of a texel of 64 bits.
fn whole((words, shadows): ShadowedTexel) -> (u64, Shadow) {
    (u64::from(words[0]) | u64::from(words[1]) << 32, Shadow::of_bits(&shadows[..2]))
}

fn set_whole(texel: &mut ShadowedTexel, (bits, shadow): (u64, Shadow)) {
    (texel.0[0], texel.0[1]) = (bits as u32, (bits >> 32) as u32);
    (texel.1[0], texel.1[1]) = (shadow, shadow);
}
