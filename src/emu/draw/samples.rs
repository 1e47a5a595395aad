//! Sample positions: Vulkan's standard patterns, and the table with which a driver passes them to shaders.

use dovetail_base::error::{Error, Result};

/// Largest sample count of a pixel.
pub const MAX_SAMPLES: usize = 16;
/// Entries per pattern in the driver's table (pal-abi 1.2).
const PATTERN: usize = 16;

/// Sample positions in sixteenths of a pixel from its top left corner, right and down.
const PATTERNS: [&[[u8; 2]]; 5] = [
    &[[8, 8]],
    &[[12, 12], [4, 4]],
    &[[6, 2], [14, 6], [2, 10], [10, 14]],
    &[[9, 5], [7, 11], [13, 9], [5, 3], [3, 13], [1, 7], [11, 15], [15, 1]],
    &[
        [9, 9],
        [7, 5],
        [5, 10],
        [12, 7],
        [3, 6],
        [10, 13],
        [13, 11],
        [11, 3],
        [6, 14],
        [8, 1],
        [4, 2],
        [2, 12],
        [0, 8],
        [15, 4],
        [14, 15],
        [1, 0],
    ],
];

/// Sample positions in pixels from the pixel's top left corner.
///
/// # Errors
/// Malformed: no pattern has this many samples.
pub fn places(samples: u32) -> Result<Vec<[f64; 2]>> {
    let pattern = PATTERNS.iter().find(|p| p.len() == samples as usize);
    let pattern = pattern.ok_or_else(|| Error::malformed(format!("{samples} samples a pixel")))?;
    Ok(pattern.iter().map(|place| place.map(|n| f64::from(n) / 16.0)).collect())
}

/// The driver's table: offsets from the pixel's centre, 16 bytes per sample, pattern after pattern.
pub fn table() -> Vec<u8> {
    let mut words = vec![[0f32; 4]; PATTERN * PATTERNS.len()];
    for (n, pattern) in PATTERNS.iter().enumerate() {
        for (word, place) in words.iter_mut().skip(PATTERN * n).zip(*pattern) {
            (word[0], word[1]) = (f32::from(place[0]) / 16.0 - 0.5, f32::from(place[1]) / 16.0 - 0.5);
        }
    }
    words.iter().flatten().flat_map(|x| x.to_le_bytes()).collect()
}
