//! Y'CBCR conversion as one weighted sum per channel: range expansion and colour model, computed in 64 bits at compile
//! time (Vulkan, "Sampler Y'CBCR Range Expansion" and "Sampler Y'CBCR Model Conversion").

use dovetail_state::{Planes, YcbcrConversion, YcbcrModel, YcbcrRange};

/// Red, green, blue of the result: the weights of red (CR), green (Y') and blue (CB) after the swizzle, and a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Matrix {
    pub(super) weights: [[f64; 3]; 3],
    pub(super) added: [f64; 3],
}

impl Matrix {
    /// The matrix of a conversion; `None` if it leaves colours unchanged.
    pub(super) fn new(conversion: &YcbcrConversion, planes: &Planes) -> Option<Self> {
        if conversion.model == YcbcrModel::RgbIdentity {
            return None;
        }
        let model = model(conversion.model);
        let (scale, offset) = range(conversion.range, planes.bits);
        let weights = model.map(|row| [0, 1, 2].map(|n| row[n] * scale[n]));
        let added = model.map(|row| row.iter().zip(offset).map(|(weight, offset)| weight * offset).sum());
        Some(Self { weights, added })
    }
}

/// The factor for a value that was read: below a channel's bits there may be padding bits, which are 0.
pub(super) fn unpadded(planes: &Planes) -> f64 {
    let most = |bits: u32| f64::from(bits).exp2() - 1.0;
    most(planes.bits + planes.padding) / (f64::from(planes.padding).exp2() * most(planes.bits))
}

/// Factor and constant that give CR, Y', CB from values between 0 and 1.
fn range(range: YcbcrRange, bits: u32) -> ([f64; 3], [f64; 3]) {
    let most = f64::from(bits).exp2() - 1.0;
    let step = (f64::from(bits) - 8.0).exp2();
    match range {
        YcbcrRange::Full => {
            let middle = -128.0 * step / most;
            ([1.0; 3], [middle, 0.0, middle])
        }
        YcbcrRange::Narrow => {
            let (chroma, luma) = (224.0 * step, 219.0 * step);
            ([most / chroma, most / luma, most / chroma], [-128.0 / 224.0, -16.0 / 219.0, -128.0 / 224.0])
        }
    }
}

/// Red, green, blue from CR, Y', CB.
fn model(model: YcbcrModel) -> [[f64; 3]; 3] {
    let (red, blue) = match model {
        YcbcrModel::RgbIdentity | YcbcrModel::YcbcrIdentity => {
            return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        }
        YcbcrModel::Ycbcr709 => (0.2126, 0.0722),
        YcbcrModel::Ycbcr601 => (0.299, 0.114),
        YcbcrModel::Ycbcr2020 => (0.2627, 0.0593),
    };
    // Y' is the sum of the three colours with these weights; CR and CB are the differences from it, scaled to one half.
    let (of_red, of_blue) = (2.0 * (1.0 - red), 2.0 * (1.0 - blue));
    let green = 1.0 - red - blue;
    [[of_red, 1.0, 0.0], [-of_red * red / green, 1.0, -of_blue * blue / green], [0.0, 1.0, of_blue]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_state::{ChromaFilter, ChromaLocation, Swizzle, VkFormat};

    fn matrix(format: &str, model: YcbcrModel, range: YcbcrRange) -> (Option<Matrix>, f64) {
        let format = VkFormat::named(format).unwrap();
        let conversion = YcbcrConversion {
            format,
            model,
            range,
            components: [Swizzle::Identity; 4],
            x_chroma_offset: ChromaLocation::Midpoint,
            y_chroma_offset: ChromaLocation::Midpoint,
            chroma_filter: ChromaFilter::Linear,
            explicit_reconstruction: false,
        };
        let planes = Planes::of(format).unwrap();
        (Matrix::new(&conversion, &planes), unpadded(&planes))
    }

    fn apply(matrix: &Matrix, v: [f64; 3]) -> [f64; 3] {
        let row = |n: usize| matrix.weights[n].iter().zip(v).map(|(w, v)| w * v).sum::<f64>() + matrix.added[n];
        [row(0), row(1), row(2)]
    }

    fn near(got: [f64; 3], wanted: [f64; 3]) {
        assert!(got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?}, not {wanted:?}");
    }

    /// The factors as the specification prints them.
    #[test]
    fn models_have_the_printed_factors() {
        for (model, red, [cr, cb], blue) in [
            (YcbcrModel::Ycbcr709, 1.5748, [0.33480248, 0.13397432].map(|x| x / 0.7152), 1.8556),
            (YcbcrModel::Ycbcr601, 1.402, [0.419198, 0.202008].map(|x| x / 0.587), 1.772),
            (YcbcrModel::Ycbcr2020, 1.4746, [0.38737742, 0.11156702].map(|x| x / 0.678), 1.8814),
        ] {
            let (found, _) = matrix("G8_B8R8_2PLANE_420_UNORM", model, YcbcrRange::Full);
            let [r, g, b] = found.unwrap().weights;
            near(r, [red, 1.0, 0.0]);
            near(g, [-cr, 1.0, -cb]);
            near(b, [0.0, 1.0, blue]);
        }
    }

    #[test]
    fn black_and_white_are_where_the_range_says() {
        for (format, bits) in [("G8_B8R8_2PLANE_420_UNORM", 8), ("G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16", 10)] {
            let most = f64::from((1u32 << bits) - 1);
            let value = |n: u32| f64::from(n << (bits - 8)) / most;
            let (narrow, _) = matrix(format, YcbcrModel::Ycbcr601, YcbcrRange::Narrow);
            near(apply(&narrow.unwrap(), [value(128), value(16), value(128)]), [0.0; 3]);
            near(apply(&narrow.unwrap(), [value(128), value(235), value(128)]), [1.0; 3]);
            let (full, _) = matrix(format, YcbcrModel::Ycbcr2020, YcbcrRange::Full);
            near(apply(&full.unwrap(), [value(128), 1.0, value(128)]), [1.0; 3]);
        }
    }

    #[test]
    fn padding_is_taken_out() {
        let of = |format| matrix(format, YcbcrModel::RgbIdentity, YcbcrRange::Narrow);
        assert_eq!(of("G8_B8R8_2PLANE_420_UNORM"), (None, 1.0));
        let (_, factor) = of("G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16");
        let read = f64::from(0xabc0u16) / 65535.0;
        assert!((read * factor - f64::from(0xabc) / 4095.0).abs() < 1e-12);
    }
}
