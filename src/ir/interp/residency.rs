//! The levels of an image that a read touches, and the residency code that it returns.

use super::shadow::Shadow;
use super::texture::{Filter, InterpretedSampler};
use dovetail_ir::{ImageInst, ImageOp, LodMode};

/// Levels as bit masks: those that are certainly read, and those that may be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Touched {
    certain: u32,
    possible: u32,
}

impl Touched {
    /// Exactly these levels.
    pub fn exactly(levels: u32) -> Self {
        Self { certain: levels, possible: levels }
    }

    /// Levels that a sample or gather from an image with `levels` touches, for a level of detail in the range `lod`.
    pub fn sampled(image: &ImageInst, sampler: &InterpretedSampler, lod: Option<[f64; 3]>, levels: usize) -> Self {
        let last = levels.saturating_sub(1) as f64;
        if matches!(image.op, ImageOp::Gather(_)) && image.lod == LodMode::Zero {
            return Self::exactly(1);
        }
        let Some([low, _, high]) = lod else { return Self::unknown() };
        let limit = |lod: f64| sampler.limited(lod).clamp(0.0, last);
        // The first and the last level that a level of detail reads.
        let read = |lod: f64| match sampler.mip {
            Filter::Nearest => [((lod + 0.5).ceil() - 1.0).max(0.0); 2],
            Filter::Linear => [lod.floor(), lod.ceil()],
        };
        let (low, high) = (read(limit(low)), read(limit(high)));
        let range =
            |from: f64, to: f64| (from as u32..=to as u32).fold(0, |all, n| all | 1u32.checked_shl(n).unwrap_or(0));
        let possible = range(low[0], high[1]);
        Self { certain: if low == high { possible } else { 0 }, possible }
    }

    /// Any level may be read.
    pub fn unknown() -> Self {
        Self { certain: 0, possible: u32::MAX }
    }

    /// The residency code of a read, given the absent levels: 0 if it touches none of them.
    pub fn code(self, absent: u32) -> (u64, Shadow) {
        match (self.certain & absent, self.possible & absent) {
            (0, 0) => (0, Shadow::NONE),
            (0, _) => (0, Shadow::UNCERTAIN),
            _ => (1, Shadow::NONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_ir::{Dim, LodMode};

    #[test]
    fn between_two_levels_both_are_read() {
        let image = ImageInst {
            op: ImageOp::Sample,
            dim: Dim::D2,
            arrayed: false,
            multisampled: false,
            lod: LodMode::Explicit,
            compare: false,
            offset: false,
            min_lod: false,
            sparse: true,
            access: Default::default(),
        };
        let touched = |mip, lod: f64, off: f64| {
            let sampler = InterpretedSampler { mip, lod: [0.0, 9.0, 0.0], ..InterpretedSampler::default() };
            Touched::sampled(&image, &sampler, Some([lod - off, lod, lod + off]), 4)
        };
        assert_eq!(touched(Filter::Linear, 1.5, 0.1), Touched::exactly(0b110));
        assert_eq!(touched(Filter::Linear, 2.0, 0.0), Touched::exactly(0b100));
        assert_eq!(touched(Filter::Linear, 2.0, 0.1), Touched { certain: 0, possible: 0b1110 });
        assert_eq!(touched(Filter::Nearest, 1.4, 0.05), Touched::exactly(0b010));
        assert_eq!(touched(Filter::Linear, 7.0, 0.1), Touched::exactly(0b1000));
        let codes = [0b1000, 0b0100, 0b0001].map(|absent| Touched { certain: 0b100, possible: 0b1100 }.code(absent));
        assert_eq!(codes, [(0, Shadow::UNCERTAIN), (1, Shadow::NONE), (0, Shadow::NONE)]);
    }
}
