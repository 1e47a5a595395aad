//! Compares outputs for which the interpreter gives no bounds: the bound depends on the format only.

use dovetail_base::error::Result;
use dovetail_emu::NamedFormat;
use std::iter::Sum;
use std::ops::Add;

/// Share of values that must agree if the interpreter's bounds are too wide.
const ALIKE: f64 = 0.97;

/// Number of written values that agree by a plain bound, whatever the interpreter's bounds, and of all written values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alike {
    pub alike: usize,
    pub all: usize,
}

impl Alike {
    /// The reason to report if enough values agree, where the bounds were too wide because of `why`.
    pub fn agreement(self, why: &str) -> Option<String> {
        let Self { alike, all } = self;
        (alike as f64 > ALIKE * all as f64)
            .then(|| format!("by a plain bound, {alike} of {all} values: the interpreter's {why}"))
    }
}

impl Add for Alike {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { alike: self.alike + other.alike, all: self.all + other.all }
    }
}

impl Sum for Alike {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::add)
    }
}

/// A texel, or a word, that differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// Index of the texel or word.
    pub at: usize,
    /// Our red, green, blue and alpha, or our word; integers unscaled.
    pub ours: [f64; 4],
    /// The other implementation's values.
    pub theirs: [f64; 4],
}

/// Allowed difference of colours up to 1, by format: drivers round vertices to a fraction of a pixel before or after
/// interpolation.
fn step(format: &str) -> f32 {
    match format {
        name if name.contains("UNORM") || name.contains("SRGB") => 2.1 / 255.0,
        name if name.contains("16_SFLOAT") => 1.6e-3,
        _ => FLOAT,
    }
}

/// Allowed difference of 32-bit floats.
const FLOAT: f32 = 5e-4;

fn close(ours: u32, theirs: u32, step: f32) -> bool {
    let [x, y] = [ours, theirs].map(f32::from_bits);
    ours == theirs || (x - y).abs() <= step * y.abs().max(1.0)
}

/// Texels of an attachment or image that differ by more than `bound` for values up to 1, or without `bound` by more
/// than the format's. sRGB texels are compared as encoded, since one step of the encoding is not the same difference
/// everywhere.
///
/// # Errors
/// An unknown format.
pub fn texels_apart(format: &str, ours: &[u8], theirs: &[u8], bound: Option<f32>) -> Result<Vec<Apart>> {
    let (named, step) = (NamedFormat::new(&format.replace("SRGB", "UNORM"))?, bound.unwrap_or_else(|| step(format)));
    let integer = named.format.is_integer();
    let number = |bits: u32| if integer { f64::from(bits) } else { f64::from(f32::from_bits(bits)) };
    let bytes = named.format.bytes().max(1);
    let texel = |(at, (ours, theirs)): (usize, (&[u8], &[u8]))| {
        let [ours, theirs] = [ours, theirs].map(|texel| named.decode(texel));
        let same = |(x, y): (u32, u32)| x == y || !integer && close(x, y, step);
        let all = ours.into_iter().zip(theirs).all(same);
        (!all).then(|| Apart { at, ours: ours.map(number), theirs: theirs.map(number) })
    };
    Ok(ours.chunks(bytes).zip(theirs.chunks(bytes)).enumerate().filter_map(texel).collect())
}

/// Words of a buffer that differ, except two normal floats that are close.
pub fn words_apart(ours: &[u8], theirs: &[u8]) -> Vec<Apart> {
    let [ours, theirs] = [ours, theirs].map(|bytes| bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)));
    let word = |(at, (x, y)): (usize, (u32, u32))| {
        let floats = [x, y].map(f32::from_bits);
        let same = x == y || floats.iter().all(|x| x.is_normal()) && close(x, y, FLOAT);
        let shown = |bits: u32| [f64::from(bits), 0.0, 0.0, 0.0];
        (!same).then(|| Apart { at, ours: shown(x), theirs: shown(y) })
    };
    ours.zip(theirs).enumerate().filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_close_and_integers_are_the_same() {
        let apart = texels_apart("R8G8B8A8_UNORM", &[10, 20, 30, 40, 1, 2, 3, 4], &[12, 20, 28, 40, 4, 2, 3, 4], None);
        assert_eq!(apart.map(|a| a.iter().map(|a| a.at).collect::<Vec<_>>()), Ok(vec![1]));
        let apart = texels_apart("R8G8B8A8_SRGB", &[2, 250, 0, 9, 6, 0, 0, 0], &[2, 252, 0, 9, 9, 0, 0, 0], None);
        assert_eq!(apart.map(|a| a.iter().map(|a| a.at).collect::<Vec<_>>()), Ok(vec![1]));
        let apart = texels_apart("R32_UINT", &[1, 0, 0, 0], &[2, 0, 0, 0], None).expect("a format");
        assert_eq!(apart.iter().map(|a| (a.ours[0], a.theirs[0])).collect::<Vec<_>>(), [(1.0, 2.0)]);
        let float = |x: f32| x.to_le_bytes();
        assert_eq!(words_apart(&float(2.0), &float(2.0005)), []);
        assert_eq!(words_apart(&float(2.0), &float(2.002)).len(), 1);
        assert_eq!(words_apart(&[1, 0, 0, 0], &[2, 0, 0, 0]).len(), 1);
        assert_eq!(words_apart(&float(f32::NAN), &float(1.0)).len(), 1);
        assert_eq!(texels_apart("R32_SFLOAT", &float(f32::NAN), &float(1.0), None).map(|a| a.len()), Ok(1));
    }
}
