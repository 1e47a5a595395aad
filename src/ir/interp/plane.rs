//! Inputs evaluated at a position in the pixel that the shader computes.

use super::shadow::Shadow;
use dovetail_ir::Bits;
use dovetail_ir::number::encode;

/// A value as a function of screen position near a pixel's centre: a quotient of two linear functions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Plane {
    /// The dividend at the centre, and its change per pixel to the right and down.
    pub above: [f64; 3],
    /// The divisor, in the same form.
    pub under: [f64; 3],
    /// Error bound of the value.
    pub bound: f64,
}

impl Plane {
    /// The value at an offset from the centre in pixels; `off` is the uncertainty of the offset.
    pub(super) fn at(&self, [x, y]: [f64; 2], off: f64, bits: Bits) -> (u64, Shadow) {
        let sum = |[base, right, below]: [f64; 3], x: f64, y: f64| base + x * right + y * below;
        let at = |x, y| sum(self.above, x, y) / sum(self.under, x, y);
        let value = at(x, y);
        let moved = [(off, off), (-off, off), (off, -off), (-off, -off)];
        let moved = moved.into_iter().map(|(dx, dy)| (at(x + dx, y + dy) - value).abs()).fold(0.0, f64::max);
        let step = if bits < Bits::B32 { value.abs().max(2f64.powi(-14)) * 2f64.powi(-10) } else { 0.0 };
        let bound = self.bound + moved + step;
        let shadow = if bound.is_finite() { Shadow { value, bound } } else { Shadow::UNCERTAIN };
        (encode(value, bits), shadow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_quotient_of_planes() {
        let plane = Plane { above: [1.0, 2.0, 0.0], under: [1.0, 0.0, 1.0], bound: 0.5 };
        let (bits, shadow) = plane.at([0.25, 0.5], 0.0, Bits::B32);
        assert_eq!((f32::from_bits(bits as u32), shadow.value, shadow.bound), (1.0, 1.0, 0.5));
        assert!(plane.at([0.25, 0.5], 0.1, Bits::B32).1.bound > 0.6);
        assert!(Plane { bound: f64::INFINITY, ..plane }.at([0.0; 2], 0.0, Bits::B32).1.is_uncertain());
    }
}
