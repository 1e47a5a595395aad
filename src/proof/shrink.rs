//! Shrinks failing inputs to smaller inputs that still fail.
//!
//! The failure is a closure, so shrinking needs no knowledge of shaders. An attempt changes a copy of the best inputs
//! so far, and keeps the change if the copy still fails. First whole items are removed (workgroups, vertices, pointers,
//! the ends of buffers). Then contents become zero, by halves, and dwords that cannot be zero become simpler. This
//! repeats until nothing changes. The order is fixed, so the same failure gives the same inputs, unless the time runs
//! out. Only inputs shrink, not the SPIR-V. To shrink something new, add a variant of [`Number`] or of [`Contents`].

use dovetail_emu::NamedFormat;
use dovetail_emu::inputs::{Bound, Image, Inputs};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Budget for shrinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Number of attempts.
    pub runs: u32,
    /// Time after which no attempt starts.
    pub time: Duration,
}

impl Default for Effort {
    /// Budget for shrinking the inputs of a failed test.
    fn default() -> Self {
        Self { runs: 60, time: Duration::from_secs(20) }
    }
}

/// Result of shrinking.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// The smallest inputs that failed.
    pub inputs: Inputs,
    /// Attempts made.
    pub runs: u32,
    /// Whether no known attempt makes them smaller; if not, the budget ran out.
    pub smallest: bool,
}

/// Makes failing inputs smaller while they still fail.
pub fn shrink(inputs: &Inputs, budget: Effort, fails: &mut dyn FnMut(&Inputs) -> bool) -> Shrunk {
    let end = Instant::now().checked_add(budget.time);
    let mut search = Search { best: inputs.clone(), runs: 0, budget: budget.runs, end, out: false, fails };
    loop {
        let before = search.best.clone();
        search.round();
        if search.out || search.best == before {
            return Shrunk { inputs: search.best, runs: search.runs, smallest: !search.out };
        }
    }
}

/// A number in the inputs.
#[derive(Clone, Copy)]
enum Number {
    Groups(usize),
    Instances,
    Vertices,
    FirstInstance,
    FirstVertex,
    Extent(usize),
}

impl Number {
    fn of(self, inputs: &mut Inputs) -> Option<&mut u32> {
        match (self, &mut inputs.draw) {
            (Self::Groups(n), None) => inputs.grid.get_mut(n),
            (Self::Instances, Some(draw)) => Some(&mut draw.instances),
            (Self::Vertices, Some(draw)) => Some(&mut draw.vertices),
            (Self::FirstInstance, Some(draw)) => Some(&mut draw.first_instance),
            (Self::FirstVertex, Some(draw)) => Some(&mut draw.first_vertex),
            (Self::Extent(n), Some(draw)) => draw.extent.get_mut(n),
            _ => None,
        }
    }
}

/// Every number, with its smallest value.
const NUMBERS: [(Number, u32); 9] = [
    (Number::Groups(2), 1),
    (Number::Groups(1), 1),
    (Number::Groups(0), 1),
    (Number::Instances, 1),
    (Number::Vertices, 1),
    (Number::FirstInstance, 0),
    (Number::FirstVertex, 0),
    (Number::Extent(1), 1),
    (Number::Extent(0), 1),
];

/// Bytes in the inputs.
#[derive(Clone, Copy)]
enum Contents {
    PushConstants,
    Binding(usize),
    VertexBuffer(usize),
}

impl Contents {
    fn of(self, inputs: &mut Inputs) -> Option<&mut Vec<u8>> {
        let bytes = match self {
            Self::PushConstants => &mut inputs.push_constants,
            Self::Binding(n) => match &mut inputs.bindings.get_mut(n)?.bound {
                Bound::UniformBuffer(data) | Bound::StorageBuffer(data) | Bound::PhysicalStorageBuffer(data) => data,
                Bound::UniformTexelBuffer(texels) | Bound::StorageTexelBuffer(texels) => &mut texels.data,
                Bound::SampledImage(image)
                | Bound::InputAttachment(image)
                | Bound::StorageImage(image)
                | Bound::CombinedImageSampler(image, _) => &mut image.data,
                Bound::Sampler(_) => return None,
            },
            Self::VertexBuffer(n) => &mut inputs.draw.as_mut()?.vertex_buffers.get_mut(n)?.data,
        };
        Some(&mut bytes.0)
    }
}

struct Search<'a> {
    best: Inputs,
    runs: u32,
    budget: u32,
    end: Option<Instant>,
    /// Whether the budget ran out before all attempts were made.
    out: bool,
    fails: &'a mut dyn FnMut(&Inputs) -> bool,
}

impl Search<'_> {
    fn round(&mut self) {
        for (number, least) in NUMBERS {
            let Some(now) = number.of(&mut self.best).copied() else { continue };
            self.least(now, least, |inputs, n| {
                *number.of(inputs)? = n;
                Some(())
            });
        }
        for n in (0..self.best.pointers.len()).rev() {
            self.attempt(|inputs| (n < inputs.pointers.len()).then(|| _ = inputs.pointers.remove(n)));
        }
        let contents = contents(&self.best);
        for n in 0..self.best.bindings.len() {
            self.image(n);
            self.truncate(n);
        }
        let words = self.zero(&contents);
        for (place, word) in words {
            self.plainer(place, word);
        }
    }

    /// Makes a change, and keeps it if the result still fails.
    fn attempt(&mut self, change: impl FnOnce(&mut Inputs) -> Option<()>) -> bool {
        let mut smaller = self.best.clone();
        if change(&mut smaller).is_none() || smaller == self.best {
            return false;
        }
        if self.runs >= self.budget || self.end.is_some_and(|end| Instant::now() >= end) {
            self.out = true;
            return false;
        }
        self.runs += 1;
        let fails = (self.fails)(&smaller);
        if fails {
            self.best = smaller;
        }
        fails
    }

    /// Bisects for the smallest number that fails, if all numbers from there to `now` do.
    fn least(&mut self, now: u32, least: u32, set: impl Fn(&mut Inputs, u32) -> Option<()>) {
        let (mut low, mut high) = (least, now);
        let mut middle = low;
        while low < high {
            if self.attempt(|inputs| set(inputs, middle)) {
                high = middle;
            } else if self.out {
                break;
            } else {
                low = middle + 1;
            }
            middle = low + (high.saturating_sub(low)) / 2;
        }
    }

    /// Shortens a buffer, by elements.
    fn truncate(&mut self, binding: usize) {
        let element = match self.best.bindings.get(binding).map(|b| &b.bound) {
            Some(bound) if bound.buffer().is_some() => 4,
            Some(Bound::UniformTexelBuffer(t) | Bound::StorageTexelBuffer(t)) => {
                NamedFormat::new(&t.format).map_or(0, |format| format.format.bytes())
            }
            _ => 0,
        };
        let place = Contents::Binding(binding);
        let Some(bytes) = place.of(&mut self.best).map(|data| data.len()).filter(|_| element != 0) else { return };
        self.least(u32::try_from(bytes / element).unwrap_or(0), 1, |inputs, count| {
            place.of(inputs)?.truncate(count as usize * element);
            Some(())
        });
    }

    /// Makes an image one colour, then smaller.
    fn image(&mut self, binding: usize) {
        fn image(inputs: &mut Inputs, binding: usize) -> Option<&mut Image> {
            match &mut inputs.bindings.get_mut(binding)?.bound {
                Bound::SampledImage(image)
                | Bound::InputAttachment(image)
                | Bound::StorageImage(image)
                | Bound::CombinedImageSampler(image, _) => Some(image),
                _ => None,
            }
        }
        let Some(now) = image(&mut self.best, binding).cloned() else { return };
        let Ok(format) = NamedFormat::new(&now.format).map(|named| named.format) else { return };
        let bytes = format.bytes();
        let Some(texel) = now.data.0.get(..bytes).filter(|_| bytes != 0).map(<[u8]>::to_vec) else { return };
        self.attempt(|inputs| {
            let data = &mut image(inputs, binding)?.data.0;
            *data = texel.repeat(data.len() / bytes);
            Some(())
        });
        let one_colour = |image: &Image| image.data.0.chunks(bytes).all(|other| other == texel);
        let edges = image(&mut self.best, binding).filter(|image| one_colour(image)).map(|image| image.extent);
        for (axis, edge) in edges.into_iter().flatten().enumerate() {
            self.least(edge, 1, |inputs, edge| {
                let image = image(inputs, binding)?;
                *image.extent.get_mut(axis)? = edge;
                // As many texels as the levels then have, at least one.
                let level = |l| {
                    let [width, height, depth] = image.extent.map(|x| x.checked_shr(l).unwrap_or(0).max(1));
                    let [across, down] = format.elements([width, height]);
                    [across, down, depth].iter().map(|n| *n as usize).product::<usize>()
                };
                let longest = image.extent.iter().max()?.ilog2();
                let texels = (image.levels <= longest + 1).then(|| (0..image.levels).map(level).sum::<usize>())?;
                image.data.0 = texel.repeat(texels * image.layers as usize * image.samples as usize);
                Some(())
            });
        }
    }

    /// Makes contents zero by halves, the largest first. Returns the dwords that cannot be zero.
    fn zero(&mut self, contents: &[Contents]) -> Vec<(Contents, usize)> {
        let mut ranges: VecDeque<(Contents, Range<usize>)> = VecDeque::new();
        for place in contents {
            let bytes = place.of(&mut self.best).map_or(0, |data| data.len());
            ranges.push_back((*place, 0..bytes.div_ceil(4)));
        }
        let mut left = Vec::new();
        while let Some((place, range)) = ranges.pop_front() {
            let bytes = |inputs: &mut Inputs| {
                let data = place.of(inputs)?;
                let end = (range.end * 4).min(data.len());
                data.get(range.start * 4..end).map(|bytes| bytes.iter().any(|b| *b != 0))
            };
            if bytes(&mut self.best) != Some(true) {
                continue;
            }
            let gone = self.attempt(|inputs| {
                let data = place.of(inputs)?;
                let end = (range.end * 4).min(data.len());
                data.get_mut(range.start * 4..end)?.fill(0);
                Some(())
            });
            if gone {
                continue;
            }
            if range.len() <= 1 {
                left.push((place, range.start));
                continue;
            }
            let middle = range.start + range.len() / 2;
            ranges.push_back((place, range.start..middle));
            ranges.push_back((place, middle..range.end));
        }
        left
    }

    /// Makes a dword simpler: 1, negated, 16 bits, 1.0, no sign or fraction; then the smallest integer that fails.
    fn plainer(&mut self, place: Contents, word: usize) {
        let mut now = || Some(u32::from_le_bytes(*place.of(&mut self.best)?.get(word * 4..)?.first_chunk()?));
        let Some(first) = now() else { return };
        let set = |inputs: &mut Inputs, value: u32| {
            place.of(inputs)?.get_mut(word * 4..)?.first_chunk_mut().map(|to| *to = value.to_le_bytes())
        };
        let mut value = first;
        let ways: [fn(u32) -> u32; 6] = [
            |_| 1,
            |word| if word > SMALL.wrapping_neg() { word.wrapping_neg() } else { word },
            |word| word & 0xffff,
            |word| if word < SMALL { word } else { ONE },
            |word| word & !SIGN,
            |word| f32::from_bits(word).trunc().to_bits(),
        ];
        for way in ways {
            let plain = way(value);
            if plainness(plain) < plainness(value) && self.attempt(|inputs| set(inputs, plain)) {
                value = plain;
            }
        }
        if value < SMALL {
            self.least(value, 1, set);
        }
    }
}

/// 1.0 as bits, the sign of a float, and the bound below which a dword counts as an integer.
const ONE: u32 = 0x3f80_0000;
const SIGN: u32 = 1 << 31;
const SMALL: u32 = 1 << 24;

/// Order of simplicity of dwords; every step decreases it, so shrinking ends.
fn plainness(word: u32) -> u64 {
    match word {
        0 | 1 => u64::from(word),
        ONE => 2,
        _ => 3 + u64::from(word),
    }
}

fn contents(inputs: &Inputs) -> Vec<Contents> {
    let bindings = (0..inputs.bindings.len()).map(Contents::Binding);
    let vertices = inputs.draw.iter().flat_map(|draw| (0..draw.vertex_buffers.len()).map(Contents::VertexBuffer));
    bindings.chain(vertices).chain([Contents::PushConstants]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_emu::inputs::{BindingElement, Draw, InputBytes, Slot, StoredPointer, VertexBuffer, ViewShape};

    const ENOUGH: Effort = Effort { runs: 2000, time: Duration::from_secs(3600) };

    fn words(words: &[u32]) -> InputBytes {
        InputBytes(words.iter().flat_map(|w| w.to_le_bytes()).collect())
    }

    fn word(inputs: &Inputs, binding: usize, at: usize) -> u32 {
        let Some(Bound::StorageBuffer(data)) = inputs.bindings.get(binding).map(|b| &b.bound) else { return 0 };
        data.0.get(at * 4..at * 4 + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn buffers(contents: &[&[u32]]) -> Inputs {
        let binding = |(n, c): (usize, &&[u32])| BindingElement {
            set: 0,
            binding: n as u32,
            element: 0,
            bound: Bound::StorageBuffer(words(c)),
        };
        let bindings = contents.iter().enumerate().map(binding).collect();
        Inputs { bindings, push_constants: words(&[7, 0x4048_f5c3]), grid: [5, 6, 7], ..Default::default() }
    }

    #[test]
    fn what_is_left_is_what_makes_it_fail_and_no_more() {
        let noise: Vec<u32> = (0..64u32).map(|n| n.wrapping_mul(0x9e37_79b9) | 1).collect();
        let inputs = buffers(&[&noise, &noise]);
        let mut fails = |i: &Inputs| i.grid[1] >= 3 && word(i, 1, 41) >= 37 && word(i, 0, 3) != 0;
        let shrunk = shrink(&inputs, ENOUGH, &mut fails);
        let mut second = vec![0; 42];
        second[41] = 37;
        let mut expected = buffers(&[&[0, 0, 0, 1], &second]);
        expected.grid = [1, 3, 1];
        expected.push_constants = words(&[0, 0]);
        assert_eq!(shrunk.inputs, expected);
        assert!(shrunk.smallest && shrunk.runs < 150, "{}", shrunk.runs);
        assert_eq!(shrink(&inputs, ENOUGH, &mut fails), shrunk, "the same again");
    }

    #[test]
    fn pointers_go_where_nothing_needs_them() {
        let mut inputs = buffers(&[&[5; 8], &[6; 8]]);
        let slot = |binding| Slot { set: 0, binding, element: 0 };
        let at = |byte, to| StoredPointer { within: Some(slot(0)), byte, to: slot(to), offset: 0 };
        inputs.pointers = vec![at(0, 0), at(8, 1), at(16, 1)];
        let shrunk = shrink(&inputs, ENOUGH, &mut |i: &Inputs| i.pointers.iter().any(|p| p.byte == 8));
        assert_eq!(shrunk.inputs.pointers, [at(8, 1)]);
    }

    #[test]
    fn numbers_end_at_the_least_that_fails() {
        let inputs = buffers(&[&[0, 9000, (-3i32).cast_unsigned(), 0xc048_f5c3]]);
        let mut fails =
            |i: &Inputs| word(i, 0, 1) >= 4321 && word(i, 0, 2) % 5 == 3 && f32::from_bits(word(i, 0, 3)).abs() > 2.0;
        let shrunk = shrink(&inputs, ENOUGH, &mut fails);
        // 3.14 loses its sign and its fraction.
        let least = words(&[0, 4321, 3, 3f32.to_bits()]);
        assert_eq!(shrunk.inputs.bindings[0].bound, Bound::StorageBuffer(least));
    }

    #[test]
    fn draws_and_images_become_small_and_stay_whole() {
        let texels = InputBytes((0..16 * 8 * 4 + 8 * 4 * 4u32).map(|n| n as u8).collect());
        let image = Image {
            format: "R8G8B8A8_UNORM".into(),
            shape: ViewShape::D2,
            extent: [16, 8, 1],
            layers: 1,
            arrayed: false,
            levels: 2,
            samples: 1,
            swizzle: Default::default(),
            data: texels,
        };
        let bound = Bound::CombinedImageSampler(image, Default::default());
        let mut inputs = buffers(&[]);
        inputs.bindings = vec![BindingElement { set: 0, binding: 0, element: 0, bound }];
        inputs.draw = Some(Draw {
            instances: 4,
            first_vertex: 2,
            first_instance: 1,
            vertex_buffers: vec![VertexBuffer { binding: 0, stride: 4, data: words(&[5; 32]) }],
            ..Draw::new(Default::default(), 30, [64, 48])
        });
        let mut fails = |i: &Inputs| {
            let (Some(draw), Bound::CombinedImageSampler(image, _)) = (&i.draw, &i.bindings[0].bound) else {
                return false;
            };
            let level = |l: u32| (image.extent[0] >> l).max(1) * (image.extent[1] >> l).max(1) * 4;
            assert_eq!(image.data.0.len() as u32, (0..image.levels).map(level).sum::<u32>(), "an image is whole");
            draw.vertices >= 3 && draw.extent[0] >= 9 && image.data.0.iter().any(|b| *b != 0)
        };
        let shrunk = shrink(&inputs, ENOUGH, &mut fails).inputs;
        let draw = shrunk.draw.as_ref().expect("a draw");
        assert_eq!((draw.vertices, draw.instances, draw.first_vertex, draw.extent), (3, 1, 0, [9, 1]));
        assert!(draw.vertex_buffers[0].data.0.iter().all(|b| *b == 0));
        let Bound::CombinedImageSampler(image, _) = &shrunk.bindings[0].bound else { panic!("{shrunk:?}") };
        assert_eq!((image.extent, image.levels), ([1, 2, 1], 2));
    }

    #[test]
    fn a_budget_is_kept() {
        let inputs = buffers(&[&[3; 100]]);
        let mut runs = 0;
        let mut fails = |i: &Inputs| {
            runs += 1;
            word(i, 0, 99) == 3
        };
        let shrunk = shrink(&inputs, Effort { runs: 12, ..ENOUGH }, &mut fails);
        assert!(!shrunk.smallest);
        assert_eq!((shrunk.runs, runs), (12, 12));
        let none = shrink(&inputs, Effort { time: Duration::ZERO, ..ENOUGH }, &mut |_| true);
        assert_eq!((none.inputs, none.runs, none.smallest), (inputs, 0, false));
    }
}
