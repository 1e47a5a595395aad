//! Logic operations in the interpreter: the bits that a channel of an attachment may hold.
//!
//! One step of a number may change all of its bits, so no bound on the result is of use: it would allow nearly
//! everything, or refuse what is right. A channel must instead hold one of the allowed results, bit for bit: the
//! operation of each integer to which the source may be converted (Vulkan, "Conversion From Floating-Point to
//! Normalized Fixed-Point": either of the two nearest) with each that may be there. Beyond [`MOST`] results, the channel
//! is not compared.

use super::crossing::number;
use dovetail_base::error::Result;
use dovetail_emu::NamedFormat;
use dovetail_emu::inputs::LogicOp;
use dovetail_interp::ShadowedTexel;

/// Most results of a channel that are told apart.
const MOST: usize = 16;

/// The stored bits that each channel may have; `None`: any.
pub(super) type Allowed = [Option<Vec<u32>>; 4];

/// The stored bits that each channel of a colour may have, before an operation.
///
/// # Errors
/// A format that cannot be written.
pub(super) fn allowed(format: &NamedFormat, (bits, shadows): &ShadowedTexel) -> Result<Allowed> {
    let mut out = Allowed::default();
    for channel in format.channels() {
        let (bits, shadow) = (bits[channel], shadows[channel]);
        if shadow.is_uncertain() {
            continue;
        }
        let stored = format.stored(channel, bits)?;
        let held = format.format.is_integer() || format.value(channel, stored) == bits;
        out[channel] = if shadow.is_exact() && held {
            Some(vec![stored])
        } else {
            let (value, off) = number((bits.into(), shadow));
            format.conversions(channel, [value - off, value + off], MOST)
        };
    }
    Ok(out)
}

/// The stored bits that each channel may have after an operation.
pub(super) fn after(op: LogicOp, format: &NamedFormat, source: &Allowed, there: &Allowed) -> Allowed {
    let ignored = Some(vec![0]);
    let mut out = Allowed::default();
    for channel in format.channels() {
        let mask = format.mask(channel);
        let source = if needs_source(op) { &source[channel] } else { &ignored };
        let there = if needs_destination(op) { &there[channel] } else { &ignored };
        let (Some(source), Some(there)) = (source, there) else { continue };
        let mut all: Vec<u32> = source.iter().flat_map(|s| there.iter().map(|d| op.of(*s, *d) & mask)).collect();
        all.sort_unstable();
        all.dedup();
        out[channel] = Some(all).filter(|all| all.len() <= MOST);
    }
    out
}

fn needs_source(op: LogicOp) -> bool {
    [0, u32::MAX].iter().any(|d| op.of(0, *d) != op.of(u32::MAX, *d))
}

fn needs_destination(op: LogicOp) -> bool {
    [0, u32::MAX].iter().any(|s| op.of(*s, 0) != op.of(*s, u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_interp::Shadow;

    #[test]
    fn results_are_those_of_the_integers_nearby() {
        let format = NamedFormat::new("R8G8B8A8_UNORM").unwrap();
        let near = |value: f64, bound| Shadow { value, bound };
        let source = (
            [0.5f32, 1.0, 0.2, 0.25].map(f32::to_bits),
            [near(0.5, 1e-4), Shadow::NONE, Shadow::UNCERTAIN, near(0.25, 0.2)],
        );
        let source = allowed(&format, &source).unwrap();
        assert_eq!(source, [Some(vec![127, 128]), Some(vec![255]), None, None]);
        let there = [Some(vec![0x0f]), Some(vec![1, 2]), Some(vec![7]), Some(vec![9])];
        let of = |op| after(op, &format, &source, &there);
        assert_eq!(of(LogicOp::Xor), [Some(vec![0x70, 0x8f]), Some(vec![253, 254]), None, None]);
        assert_eq!(of(LogicOp::And)[0], Some(vec![0, 0x0f]));
        assert_eq!(of(LogicOp::Invert)[2..], [Some(vec![0xf8]), Some(vec![0xf6])], "whatever the source is");
        let unknown = Allowed::default();
        assert_eq!(after(LogicOp::CopyInverted, &format, &source, &unknown)[1], Some(vec![0]));
        assert_eq!(after(LogicOp::Set, &format, &unknown, &unknown), [(); 4].map(|()| Some(vec![255])));
    }

    #[test]
    fn integers_are_exact() {
        let format = NamedFormat::new("R16G16_SINT").unwrap();
        let source = allowed(&format, &([5, u32::MAX, 0, 0], [Shadow::NONE; 4])).unwrap();
        assert_eq!(source[..2], [Some(vec![5]), Some(vec![0xffff])]);
        let there = [Some(vec![3]), Some(vec![0x8000]), None, None];
        assert_eq!(after(LogicOp::Xor, &format, &source, &there)[..2], [Some(vec![6]), Some(vec![0x7fff])]);
    }
}
