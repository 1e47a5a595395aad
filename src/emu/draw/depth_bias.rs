//! Depth bias: a number that is added to all depths of a triangle (Vulkan, "Depth Bias").

use crate::inputs::{DepthBias, Draw};
use dovetail_state::PrimitiveKind;

/// A corner on the screen: pixels, and the depth.
pub type Corner = [f64; 3];

/// The bias of a draw's primitives, if they are triangles.
pub fn of(command: &Draw) -> Option<DepthBias> {
    command.fixed.depth_bias.filter(|_| command.topology.kind() == PrimitiveKind::Triangles)
}

/// The bias of a triangle, or of the polygon that clipping has left of it. `bits`: width of the integers in the depth
/// attachment; `None` if it holds floats.
pub fn bias(how: &DepthBias, bits: Option<u8>, corners: &[Corner]) -> f64 {
    let farthest = corners.iter().map(|corner| corner[2]).fold(0.0, f64::max);
    let sum = f64::from(how.slope) * slope(corners) + f64::from(how.constant) * step(bits, farthest);
    let clamp = f64::from(how.clamp);
    match clamp {
        _ if clamp > 0.0 => sum.min(clamp),
        _ if clamp < 0.0 => sum.max(clamp),
        _ => sum,
    }
}

/// The unit of the constant bias: the smallest difference between depths that the attachment can hold. For floats it is
/// that of the farthest depth, and smaller near 0. For integers Vulkan lets a driver take twice that difference, and
/// lavapipe does (measured with 16 bits).
pub fn step(bits: Option<u8>, farthest: f64) -> f64 {
    /// Bits of a float's mantissa.
    const MANTISSA: i32 = 23;
    match bits {
        Some(bits) => 2.0 / (2f64.powi(bits.into()) - 1.0),
        None if farthest > f64::from(f32::MIN_POSITIVE) => 2f64.powi(farthest.log2().floor() as i32 - MANTISSA),
        None => 0.0,
    }
}

/// The maximum depth slope: the change of the depth from one pixel to the next, along x or y, whichever is greater.
/// Vulkan allows this in place of the gradient's length.
pub fn slope(corners: &[Corner]) -> f64 {
    // The sum of cross products is a normal of the plane, however many corners it has.
    let mut normal = [0.0; 3];
    for (n, [x, y, z]) in corners.iter().enumerate() {
        let [next_x, next_y, next_z] = corners[(n + 1) % corners.len()];
        normal[0] += (y - next_y) * (z + next_z);
        normal[1] += (z - next_z) * (x + next_x);
        normal[2] += (x - next_x) * (y + next_y);
    }
    let [x, y, z] = normal;
    if z == 0.0 { 0.0 } else { (x / z).abs().max((y / z).abs()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: DepthBias = DepthBias { constant: 2.0, slope: 0.5, clamp: 0.0 };

    #[test]
    fn slopes_and_steps_are_added_up_to_the_clamp() {
        // 1/16 per pixel in x, 1/64 in y; then the same plane as a quadrilateral.
        let corners = [[0.0, 0.0, 0.25], [8.0, 0.0, 0.75], [0.0, 8.0, 0.375]];
        let whole = [corners[0], corners[1], [8.0, 8.0, 0.875], corners[2]];
        assert_eq!((slope(&corners), slope(&whole)), (1.0 / 16.0, 1.0 / 16.0));
        assert_eq!(slope(&[corners[0], corners[2], corners[1]]), 1.0 / 16.0);
        assert_eq!(bias(&HOW, Some(16), &corners), 1.0 / 32.0 + 4.0 / 65535.0);
        // The farthest depth is in [0.5, 1).
        assert_eq!(bias(&HOW, None, &corners), 1.0 / 32.0 + 2f64.powi(-23));
        assert_eq!(bias(&DepthBias { clamp: 0.01, ..HOW }, Some(16), &corners), f64::from(0.01f32));
        let back = DepthBias { constant: 0.0, slope: -1.0, clamp: -0.01 };
        assert_eq!(bias(&back, Some(16), &corners), -f64::from(0.01f32));
        assert_eq!(
            bias(&HOW, None, &[[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [3.0, 3.0, 0.0]]),
            0.0,
            "neither area nor depth"
        );
    }
}
