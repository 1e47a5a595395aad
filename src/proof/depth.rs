//! The depth test with error bounds: it passes or fails, or is uncertain if two depths are so near that correct drivers
//! may differ.

use dovetail_emu::inputs::{Compare, Draw};
use dovetail_interp::Shadow;
use std::collections::BTreeMap;

/// Result of a fragment's tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tested {
    Passes,
    Fails,
    Uncertain,
}

/// The depth attachment of an interpreted draw: numbers with error bounds.
pub(super) struct DepthTest {
    compare: Compare,
    write: bool,
    /// Largest error of rounding to the attachment's format.
    rounded: f64,
    clear: f32,
    width: u32,
    before: Vec<f32>,
    now: BTreeMap<[u32; 2], (f64, f64)>,
}

impl DepthTest {
    /// The depth attachment of a draw; `None` if it has none.
    pub(super) fn of(draw: &Draw) -> Option<Self> {
        let depth = draw.depth?;
        let (words, _) = draw.fixed.before.depth.0.as_chunks::<4>();
        Some(Self {
            compare: depth.compare,
            write: depth.write,
            rounded: rounding(draw),
            clear: depth.clear,
            width: draw.extent[0],
            before: words.iter().map(|word| f32::from_le_bytes(*word)).collect(),
            now: BTreeMap::new(),
        })
    }

    /// Tests a fragment; a fragment that passes may write the depth that the next is compared with.
    pub(super) fn test(&mut self, at: [u32; 2], (depth, off): (f64, f64)) -> Tested {
        let texel = at[1] as usize * self.width as usize + at[0] as usize;
        let before = || (f64::from(self.before.get(texel).copied().unwrap_or(self.clear)), 0.0);
        let there = self.now.get(&at).copied().unwrap_or_else(before);
        let tested = tested(self.compare, depth - there.0, off + there.1 + 2.0 * self.rounded);
        if tested == Tested::Passes && self.write {
            self.now.insert(at, (depth, off));
        }
        tested
    }
}

/// Decides by the difference of two depths with error bound `off`.
fn tested(compare: Compare, difference: f64, off: f64) -> Tested {
    let (less, greater) = (difference < -off, difference > off);
    let holds = |yes: bool, no: bool| match (yes, no) {
        (true, _) => Tested::Passes,
        (_, true) => Tested::Fails,
        _ => Tested::Uncertain,
    };
    // Exactly equal depths, as from the same vertices, compare alike in every driver.
    let same = difference == 0.0 && off == 0.0;
    match compare {
        Compare::Never => Tested::Fails,
        Compare::Always => Tested::Passes,
        Compare::Less => holds(less, greater || same),
        Compare::LessOrEqual => holds(less || same, greater),
        Compare::Greater => holds(greater, less || same),
        Compare::GreaterOrEqual => holds(greater || same, less),
        Compare::Equal => holds(same, less || greater),
        Compare::NotEqual => holds(less || greater, same),
    }
}

/// Largest error of rounding depths to a draw's attachment.
fn rounding(draw: &Draw) -> f64 {
    draw.fixed.depth_bits.map_or(0.0, |bits| 0.5 / f64::from(u32::MAX >> (32 - u32::from(bits.clamp(1, 32)))))
}

/// A depth as the attachment may hold it: two drivers may round it to neighbouring values.
pub(super) fn held(draw: &Draw, (bits, shadow): (u64, Shadow)) -> (u64, Shadow) {
    let rounded = 2.0 * rounding(draw);
    match shadow {
        _ if rounded == 0.0 => (bits, shadow),
        shadow if shadow.is_float() => (bits, Shadow { bound: shadow.bound + rounded, ..shadow }),
        _ => (bits, Shadow { value: f64::from(f32::from_bits(bits as u32)), bound: rounded }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_emu::inputs::{Depth, InputBytes, Topology};

    #[test]
    fn near_depths_are_uncertain_and_the_nearest_stays() {
        let mut draw = Draw::new(Topology::TriangleList, 3, [2, 1]);
        draw.depth = Some(Depth { clear: 1.0, compare: Compare::Less, write: true });
        let mut depth = DepthTest::of(&draw).expect("a test");
        let tests = [(0.5, 1e-6), (0.5, 1e-6), (0.6, 1e-6), (0.4, 1e-6)].map(|one| depth.test([1, 0], one));
        assert_eq!(tests, [Tested::Passes, Tested::Uncertain, Tested::Fails, Tested::Passes]);
        // The contents are multiples of 1/255.
        draw.fixed.before.depth = InputBytes([0.25f32, 0.5].iter().flat_map(|z| z.to_le_bytes()).collect());
        draw.fixed.depth_bits = Some(8);
        let mut depth = DepthTest::of(&draw).expect("a test");
        let tests = [0.246, 0.247, 0.26].map(|z| depth.test([0, 0], (z, 0.0)));
        assert_eq!(tests, [Tested::Passes, Tested::Uncertain, Tested::Fails]);
        let of = |compare| tested(compare, 0.0, 0.0);
        assert_eq!(
            [of(Compare::Equal), of(Compare::NotEqual), of(Compare::Less)].map(|t| t == Tested::Passes),
            [true, false, false]
        );
        assert_eq!(tested(Compare::Equal, 0.0, 1e-9), Tested::Uncertain);
    }
}
