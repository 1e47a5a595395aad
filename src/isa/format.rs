//! The encoding formats of all families, with their names as in the instruction set document.

use std::fmt;

macro_rules! formats {
    ($($format:ident $name:literal $dwords:literal $what:literal;)*) => {
        /// An encoding format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Format { $(#[doc = $what] $format,)* }

        impl Format {
            /// All formats.
            pub const ALL: &'static [Self] = &[$(Self::$format,)*];

            /// Its name in the opcode tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$format => $name,)* }
            }

            /// Length in dwords without literal, DPP or SDWA dword and without extra image addresses.
            pub const fn dwords(self) -> u8 {
                match self { $(Self::$format => $dwords,)* }
            }
        }
    };
}

formats! {
    Sop2 "SOP2" 1 "Scalar, two sources.";
    Sopk "SOPK" 1 "Scalar, 16-bit constant.";
    Sop1 "SOP1" 1 "Scalar, one source.";
    Sopc "SOPC" 1 "Scalar compare.";
    Sopp "SOPP" 1 "Scalar, program control, 16-bit immediate.";
    Smem "SMEM" 2 "Scalar memory.";
    Vop2 "VOP2" 1 "Vector, two sources, the second a VGPR; with other operands it takes the long form in VOP3.";
    Vop1 "VOP1" 1 "Vector, one source.";
    Vopc "VOPC" 1 "Vector compare.";
    Vop3 "VOP3" 2 "Vector, up to three sources of any kind.";
    Vop3p "VOP3P" 2 "Vector, packed halves.";
    Vintrp "VINTRP" 1 "Parameter interpolation.";
    Vinterp "VINTERP" 2 "Parameter interpolation, from registers.";
    Ldsdir "LDSDIR" 1 "Parameters and other data of LDS to registers.";
    Vopd "VOPD" 2 "Two vector operations.";
    Ds "DS" 2 "Local data share.";
    Flat "FLAT" 2 "Memory by a flat address.";
    Scratch "SCRATCH" 2 "A lane's own memory.";
    Global "GLOBAL" 2 "Memory by a global address.";
    Mubuf "MUBUF" 2 "Untyped buffer access.";
    Mtbuf "MTBUF" 2 "Typed buffer access.";
    Mimg "MIMG" 2 "Image access.";
    Vsample "VSAMPLE" 3 "Image access with a sampler, where it has a format of its own.";
    Exp "EXP" 2 "Export.";
}

impl Format {
    /// [`Self::dwords`] in an encoding where an access of vector memory has this number of them.
    pub(super) const fn dwords_with(self, memory: u8) -> u8 {
        match self {
            Self::Flat | Self::Scratch | Self::Global | Self::Mubuf | Self::Mtbuf | Self::Mimg | Self::Vsample => {
                memory
            }
            _ => self.dwords(),
        }
    }

    /// VOP1, VOP2, VOPC: one dword, with a long form in VOP3.
    pub const fn is_short_vector(self) -> bool {
        matches!(self, Self::Vop1 | Self::Vop2 | Self::Vopc)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
