//! GPUs that have things in common: generations, and those that execute the same code.

/// GPUs of one generation: one encoding of instructions, one set of registers, the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// RDNA 1.
    Gfx101,
    /// RDNA 2.
    Gfx103,
    /// RDNA 3 and 3.5.
    Gfx11,
    /// RDNA 4.
    Gfx12,
}

impl Family {
    /// Number of families; tables by family have this length, and `family as usize` is the index.
    pub const COUNT: usize = Self::ALL.len();
    /// Every family, in the order of the variants.
    pub const ALL: [Self; 4] = [Self::Gfx101, Self::Gfx103, Self::Gfx11, Self::Gfx12];

    /// AMD's name of it, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gfx101 => "rdna1",
            Self::Gfx103 => "rdna2",
            Self::Gfx11 => "rdna3",
            Self::Gfx12 => "rdna4",
        }
    }
}

/// GPUs that execute the same code: the operations of their family's encoding that they have, and the registers that their
/// waves share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstructionSet {
    /// gfx1010.
    Gfx1010,
    /// gfx1011 and gfx1012: with dot products.
    Gfx1012,
    /// gfx1013: with ray intersection.
    Gfx1013,
    /// RDNA 2.
    Gfx103,
    /// gfx1100 and gfx1101: with half as many VGPRs more.
    Gfx1100,
    /// gfx1102 and gfx1103.
    Gfx1102,
    /// gfx1150, gfx1152 and gfx1153: with scalar floats.
    Gfx1150,
    /// gfx1151: with them and with half as many VGPRs more.
    Gfx1151,
    /// gfx1200 and gfx1201.
    Gfx1200,
}

impl InstructionSet {
    /// The family of its GPUs.
    pub const fn family(self) -> Family {
        match self {
            Self::Gfx1010 | Self::Gfx1012 | Self::Gfx1013 => Family::Gfx101,
            Self::Gfx103 => Family::Gfx103,
            Self::Gfx1100 | Self::Gfx1102 | Self::Gfx1150 | Self::Gfx1151 => Family::Gfx11,
            Self::Gfx1200 => Family::Gfx12,
        }
    }

    /// Whether it has dot products of bytes and halves (LLVM: `FeatureDot1Insts` and the others).
    pub const fn has_dot_products(self) -> bool {
        match self {
            Self::Gfx1010 | Self::Gfx1013 => false,
            Self::Gfx1012
            | Self::Gfx103
            | Self::Gfx1100
            | Self::Gfx1102
            | Self::Gfx1150
            | Self::Gfx1151
            | Self::Gfx1200 => true,
        }
    }
}
