//! Blending a colour with an attachment: factors, equations, write mask.

use crate::inputs::{Blend, BlendEquation, BlendFactor, BlendOp};

/// A colour: red, green, blue, alpha.
pub type Color = [f32; 4];

/// Result of blending, before the write mask. `second` is the other colour of a dual-source output.
pub fn blend(how: &Blend, [source, second]: [Color; 2], there: Color, constants: Color) -> Color {
    std::array::from_fn(|n| {
        let equation = if n == 3 { &how.alpha } else { &how.color };
        let factor = |f| factor(f, [source, second, constants], there, n);
        let BlendEquation { op, .. } = equation;
        let [s, d] = [source[n] * factor(equation.source), there[n] * factor(equation.destination)];
        match op {
            BlendOp::Add => s + d,
            BlendOp::Subtract => s - d,
            BlendOp::ReverseSubtract => d - s,
            BlendOp::Min => source[n].min(there[n]),
            BlendOp::Max => source[n].max(there[n]),
        }
    })
}

fn factor(factor: BlendFactor, [source, second, constants]: [Color; 3], there: Color, n: usize) -> f32 {
    match factor {
        BlendFactor::Zero => 0.0,
        BlendFactor::One => 1.0,
        BlendFactor::SrcColor => source[n],
        BlendFactor::OneMinusSrcColor => 1.0 - source[n],
        BlendFactor::DstColor => there[n],
        BlendFactor::OneMinusDstColor => 1.0 - there[n],
        BlendFactor::SrcAlpha => source[3],
        BlendFactor::OneMinusSrcAlpha => 1.0 - source[3],
        BlendFactor::DstAlpha => there[3],
        BlendFactor::OneMinusDstAlpha => 1.0 - there[3],
        BlendFactor::Src1Color => second[n],
        BlendFactor::OneMinusSrc1Color => 1.0 - second[n],
        BlendFactor::Src1Alpha => second[3],
        BlendFactor::OneMinusSrc1Alpha => 1.0 - second[3],
        BlendFactor::ConstantColor => constants[n],
        BlendFactor::OneMinusConstantColor => 1.0 - constants[n],
        BlendFactor::ConstantAlpha => constants[3],
        BlendFactor::OneMinusConstantAlpha => 1.0 - constants[3],
        BlendFactor::SrcAlphaSaturate if n == 3 => 1.0,
        BlendFactor::SrcAlphaSaturate => source[3].min(1.0 - there[3]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations() {
        let [source, there, second] = [[0.5, 0.25, 1.0, 0.5], [0.25, 0.5, 0.0, 1.0], [0.25, 1.0, 0.5, 0.75]];
        let with = |source, destination, op| BlendEquation { source, destination, op };
        let over = with(BlendFactor::SrcAlpha, BlendFactor::OneMinusSrcAlpha, BlendOp::Add);
        let constants = [0.75, 0.5, 0.25, 0.125];
        let color = |equation, alpha| blend(&Blend { color: equation, alpha }, [source, second], there, constants);
        let one = with(BlendFactor::One, BlendFactor::OneMinusSrcAlpha, BlendOp::Add);
        assert_eq!(color(over, one), [0.375, 0.375, 0.5, 1.0]);
        let difference = |op| with(BlendFactor::One, BlendFactor::One, op);
        assert_eq!(color(difference(BlendOp::Subtract), over)[..3], [0.25, -0.25, 1.0]);
        assert_eq!(color(difference(BlendOp::ReverseSubtract), over)[..3], [-0.25, 0.25, -1.0]);
        let zeros = |op| with(BlendFactor::Zero, BlendFactor::Zero, op);
        assert_eq!(color(zeros(BlendOp::Min), zeros(BlendOp::Max)), [0.25, 0.25, 0.0, 1.0]);
        let product = with(BlendFactor::DstColor, BlendFactor::Zero, BlendOp::Add);
        assert_eq!(color(product, product), [0.125, 0.125, 0.0, 0.5]);
        let inverse = with(BlendFactor::OneMinusDstColor, BlendFactor::OneMinusSrcColor, BlendOp::Add);
        assert_eq!(
            color(inverse, with(BlendFactor::DstAlpha, BlendFactor::OneMinusDstAlpha, BlendOp::Add)),
            [0.5 * 0.75 + 0.25 * 0.5, 0.25 * 0.5 + 0.5 * 0.75, 1.0, 0.5]
        );
        assert_eq!(blend(&Blend::PRODUCT, [source, second], there, constants), [0.125, 0.25, 0.5, 0.375]);
        let constant = with(BlendFactor::ConstantColor, BlendFactor::OneMinusConstantAlpha, BlendOp::Add);
        assert_eq!(
            color(constant, constant),
            [0.5 * 0.75 + 0.25 * 0.875, 0.25 * 0.5 + 0.5 * 0.875, 0.25, 0.5 * 0.125 + 0.875]
        );
        let saturate = with(BlendFactor::SrcAlphaSaturate, BlendFactor::Zero, BlendOp::Add);
        assert_eq!(color(saturate, saturate), [0.0, 0.0, 0.0, 0.5]);
        let rest = with(BlendFactor::OneMinusSrc1Alpha, BlendFactor::OneMinusSrc1Color, BlendOp::Add);
        assert_eq!(color(rest, rest), [0.5 * 0.25 + 0.25 * 0.75, 0.25 * 0.25, 0.25, 0.5 * 0.25 + 0.25]);
    }
}
