//! Data between a wave and fixed-function hardware: parameters to interpolate, exports.

use super::wave::LANES;

/// P0, P10, P20 of a channel, as bits.
pub type InterpolationPlane = [u32; 3];

/// Parameters by primitive of the wave, then attribute, then channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// The planes.
    pub primitives: Vec<Vec<[InterpolationPlane; 4]>>,
}

/// One message that a wave has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaveMessage {
    /// The constant of the instruction.
    pub number: u16,
    /// M0.
    pub value: u32,
    /// Number of exports that the wave had made.
    pub after: usize,
}

/// One executed export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Target number: 0–7 colours, 8 depth, 9 null, 12–16 positions, 20 primitive, 32–63 parameters.
    pub target: u8,
    /// Components sent, one bit per component.
    pub enabled: u8,
    /// Two registers of two 16-bit values each.
    pub compr: bool,
    /// Last of its kind.
    pub done: bool,
    /// `exec` is the mask of live pixels.
    pub vm: bool,
    /// Lanes that export.
    pub exec: u64,
    /// The registers, per lane; a compressed export uses the first two.
    pub values: Box<[[u32; LANES]; 4]>,
}
