//! The grammar of symbols that an unlinked ELF leaves for the linker (pal-abi 1.2).
//!
//! A name is what the object file contains; [`LinkSymbol`] is its meaning. Unknown names belong to the caller
//! ([`LinkSymbol::Opaque`]). To add one: a variant, its line in `Display` and in `parse`, a value in `link/bound` if the
//! layout has it, in `link/resolve` if the state has.

use std::fmt;

/// A value that the linker must supply.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkSymbol {
    /// `doff_S_B_T`: byte offset of the binding's descriptor in its set's table (dynamic buffers: in the root table).
    DescriptorOffset {
        /// Set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Type of descriptor.
        part: PartLetter,
    },
    /// `dstride_S_B`: stride in bytes between the descriptors of array elements.
    DescriptorStride {
        /// Set.
        set: u32,
        /// Binding.
        binding: u32,
    },
    /// `dusespill_S_B`: 1 if the buffer's descriptor is in the root table, otherwise 0.
    UsesSpill {
        /// Set.
        set: u32,
        /// Binding.
        binding: u32,
    },
    /// `dusespill`: 1 if a buffer whose `dusespill_S_B` the part asks for is in the root table.
    RootBuffers,
    /// `descset_S`: byte offset in the root table of the pointer to the set's table.
    SetPointer(u32),
    /// `pushconst`: byte offset in the root table of the push constants.
    PushConstants,
    /// `$numsamples`.
    NumSamples,
    /// `$samplePatternIdx`.
    SamplePattern,
    /// `$deviceIdx`.
    DeviceIndex,
    /// `dovetail.primitive`: `state::PrimitiveKind::number`.
    Primitive,
    /// `spec_I_D`: a dword of a specialization constant's value, 0 the low one.
    SpecConstant {
        /// `SpecId`.
        id: u32,
        /// 0, or 1 for the high half of 64 bits.
        dword: u32,
    },
    /// `dovetail.next`: the part where execution continues after the body (a branch target, not a value).
    Next,
    /// `doff_S_B_f`, `$shadowenabled`, `$shadowdesctable`: FMASK descriptors and their table, which the linker refuses.
    ShadowTable(String),
    /// A symbol of the caller.
    Opaque(String),
}

/// Type letter of a descriptor offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartLetter {
    /// `b`: buffer.
    Buffer,
    /// `r`: image.
    Image,
    /// `s`: sampler; the second half of a combined descriptor.
    Sampler,
    /// `t`: texel buffer.
    TexelBuffer,
}

/// Type letter of an FMASK descriptor.
const FMASK: &str = "f";

impl PartLetter {
    const ALL: [(Self, char); 4] =
        [(Self::Buffer, 'b'), (Self::Image, 'r'), (Self::Sampler, 's'), (Self::TexelBuffer, 't')];

    fn letter(self) -> char {
        Self::ALL.iter().find(|(p, _)| *p == self).map_or('?', |(_, c)| *c)
    }
}

impl fmt::Display for LinkSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DescriptorOffset { set, binding, part } => write!(f, "doff_{set}_{binding}_{}", part.letter()),
            Self::DescriptorStride { set, binding } => write!(f, "dstride_{set}_{binding}"),
            Self::UsesSpill { set, binding } => write!(f, "dusespill_{set}_{binding}"),
            Self::RootBuffers => f.write_str("dusespill"),
            Self::SetPointer(set) => write!(f, "descset_{set}"),
            Self::PushConstants => f.write_str("pushconst"),
            Self::NumSamples => f.write_str("$numsamples"),
            Self::SamplePattern => f.write_str("$samplePatternIdx"),
            Self::DeviceIndex => f.write_str("$deviceIdx"),
            Self::Primitive => f.write_str("dovetail.primitive"),
            Self::SpecConstant { id, dword } => write!(f, "spec_{id}_{dword}"),
            Self::Next => f.write_str("dovetail.next"),
            Self::ShadowTable(name) | Self::Opaque(name) => f.write_str(name),
        }
    }
}

impl LinkSymbol {
    /// The meaning of a name; unknown names are opaque.
    pub fn parse(name: &str) -> Self {
        Self::known(name).unwrap_or_else(|| Self::Opaque(name.to_owned()))
    }

    fn known(name: &str) -> Option<Self> {
        let pair = |rest: &str| -> Option<(u32, u32)> {
            let (s, b) = rest.split_once('_')?;
            Some((number(s)?, number(b)?))
        };
        Some(match name {
            "pushconst" => Self::PushConstants,
            "dusespill" => Self::RootBuffers,
            "$numsamples" => Self::NumSamples,
            "$samplePatternIdx" => Self::SamplePattern,
            "$deviceIdx" => Self::DeviceIndex,
            "dovetail.primitive" => Self::Primitive,
            "dovetail.next" => Self::Next,
            "$shadowenabled" | "$shadowdesctable" => Self::ShadowTable(name.to_owned()),
            _ => {
                if let Some(rest) = name.strip_prefix("doff_") {
                    let (place, letter) = rest.rsplit_once('_')?;
                    let (set, binding) = pair(place)?;
                    if letter == FMASK {
                        return Some(Self::ShadowTable(name.to_owned()));
                    }
                    let part = PartLetter::ALL.iter().find(|(_, c)| letter.chars().eq([*c]))?.0;
                    Self::DescriptorOffset { set, binding, part }
                } else if let Some(rest) = name.strip_prefix("dstride_") {
                    let (set, binding) = pair(rest)?;
                    Self::DescriptorStride { set, binding }
                } else if let Some(rest) = name.strip_prefix("dusespill_") {
                    let (set, binding) = pair(rest)?;
                    Self::UsesSpill { set, binding }
                } else if let Some(rest) = name.strip_prefix("spec_") {
                    let (id, dword) = pair(rest).filter(|(_, dword)| *dword < 2)?;
                    Self::SpecConstant { id, dword }
                } else {
                    Self::SetPointer(number(name.strip_prefix("descset_")?)?)
                }
            }
        })
    }
}

/// A decimal number in its shortest form, so that names and meanings correspond one to one.
fn number(s: &str) -> Option<u32> {
    let shortest = s == "0" || s.starts_with(|first: char| first.is_ascii_digit() && first != '0');
    s.parse().ok().filter(|_| shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_strangers_stay_opaque() {
        for name in [
            "doff_0_3_b",
            "doff_1_12_s",
            "dstride_2_0",
            "dusespill_0_1",
            "dusespill",
            "descset_7",
            "pushconst",
            "$numsamples",
            "spec_4_1",
            "doff_0_3_f",
            "$shadowenabled",
            "$shadowdesctable",
        ] {
            let symbol = LinkSymbol::parse(name);
            assert!(!matches!(symbol, LinkSymbol::Opaque(_)), "{name}");
            assert_eq!(symbol.to_string(), name);
        }
        for name in [
            "doff_0_3_q",
            "doff_00_3_b",
            "doff_0_3",
            "descset_",
            "descset_+1",
            "spec_4",
            "spec_4_2",
            "descset_01",
            "my_symbol",
            "",
        ] {
            assert_eq!(LinkSymbol::parse(name), LinkSymbol::Opaque(name.to_owned()));
        }
    }
}
