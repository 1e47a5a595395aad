//! Traits and latency classes: the columns of the opcode table other than operands.
//!
//! Any property of an operation that its operands do not show is a trait of its row, or decided by its
//! [`Op`](super::Op). Mnemonics are only text: no code compares or splits them (enforced by `tests/tidy`).

/// A set of traits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits(u128);

impl Traits {
    /// No trait.
    pub const NONE: Self = Self(0);

    /// The union of both.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any of `others` is in the set.
    pub const fn any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

macro_rules! traits {
    ($($name:ident $what:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "bit numbers of the constants below")]
        enum Bit { $($name,)* }

        impl Traits {
            $(#[doc = $what] pub const $name: Self = Self(1 << Bit::$name as u32);)*

            /// Every trait with its name.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$name, stringify!($name)),)*];
        }
    };
}

traits! {
    // Registers that are used but not named.
    SCC_IN "Reads SCC.";
    SCC_OUT "Writes SCC.";
    VCC_IN "Reads VCC, which is no operand.";
    EXEC_IN "Scalar, and reads EXEC.";
    EXEC_OUT "Writes the EXEC of the wave: `v_cmpx`.";
    EXEC_COMBINED "Reads and writes EXEC, as many bits as the destination has.";
    M0_IN "Reads M0, which is no operand.";
    ANY_LANES "Vector, and does not read EXEC.";

    // Relation between the destination and the sources.
    TIED "The old destination is an operand.";
    PARTIAL "A part of the destination stays as it was: 16-bit results, halves loaded, single lanes.";
    HIGH_HALF "Uses the high half of its data register.";
    EARLY "Writes a result before it has read all sources, none of which can be in its register.";
    SWAPS "Source and destination change places.";
    INDIRECT "M0 moves the number of a register operand.";
    ACTS "Does more than to write registers.";
    NULL_ONLY "Its register can only be NULL.";

    // Control.
    BRANCH "May go to the target that its constant names.";
    CONDITIONAL "May go on with the next instruction.";
    JUMPS "Goes to an address in registers.";
    ENDS "Ends the wave.";
    BARRIER "Waits for the workgroup.";
    WAITS "Waits for a counter.";
    MESSAGE "Sends a message.";

    // Memory.
    LOADS "Reads memory.";
    STORES "Writes memory.";
    ATOMIC "Reads and writes memory; of VMEM instructions those with `glc` return the old value.";
    COMPARES "An atomic with two operands, half of its data each.";
    NEW_FIRST "A compare and swap of LDS whose first data are the new value, not the expected one.";
    FLOAT_ATOMIC "An atomic of VMEM that depends on the denormal mode.";
    INVALIDATES "Invalidates a cache; no operands.";
    PREFETCHES "Asks for cache lines, some number of them from an address on; no result.";
    TIMER "Reads a clock.";
    NO_ADDRESS "Scalar memory without an address.";
    NO_DATA "Scalar memory without a data register.";
    DESCRIPTOR "Scalar memory through a buffer descriptor.";
    OWN_ADDRESS "The lane's number is the address (`addtid`).";
    TWO_OFFSETS "Two accesses, an 8-bit offset each in units of the data.";
    STRIDE_64 "Those units are of 64 elements.";
    STACK "A ray's stack: the address register also gets the new address. Never global.";
    GDS "Global data share or global wave sync: the `gds` bit is always set.";
    NO_MEMORY "A DS instruction that touches no LDS.";
    BYTE "Moves bytes.";
    HALF "Moves 16 bits.";
    SIGNED "A load extends the sign.";

    // Images: the kind, and address operands in the hardware's order.
    SAMPLES "Takes a sampler.";
    EITHER_PATH "gfx11.5 may execute it as a load.";
    FOUR "Four components whatever the mask says.";
    RAY "Ray intersection.";
    SIZE_QUERY "The address is a mip level.";
    RAW "Components are not unpacked.";
    OFFSET "Texels are added.";
    BIAS "A bias of the level.";
    REFERENCE "A reference to compare with.";
    GRADIENTS "Gradients.";
    G16 "Gradients are halves.";
    LEVEL "A level of detail.";
    LEAST_LEVEL "A least level of detail.";
    LEVEL_ZERO "The level is 0; no operand.";

    // Vector forms, and the operands that they take.
    NO_LONG "A short vector instruction without a form in VOP3.";
    SDWA "Has an SDWA form.";
    DPP "The short form has DPP16 and DPP8 forms.";
    LONG_DPP "The long form has DPP16 and DPP8 forms.";
    CLAMP "The long form takes `clamp`.";
    OMOD "The long form takes `mul:2`, `mul:4`, `div:2`.";
    OP_SEL "The VOP3 form takes `op_sel`.";
    HALVES "16-bit operands are halves of registers that any form can choose: a short form by bit 7 of a VGPR's number.";
    PACKED "Packed halves.";
    WHOLE "VOP3P without a choice of halves: `op_sel_hi` is always set.";
    MIX "`v_fma_mix`: `op_sel_hi` says which sources are halves, `neg_hi` is `abs`.";
    ONE_SCALAR "Reads one scalar value at most, where others read two.";
    VECTOR_FIRST "Source 0 is a VGPR.";
    VECTOR_SECOND "Source 1 is a VGPR.";
    SCALAR_FIRST "Source 0 is no VGPR.";
    SCALAR_REST "The sources after the first are no VGPRs.";
    LANE_SELECT "Source 1 is a lane's number: no literal.";
    SCALAR_RESULT "Writes an SGPR.";
    CONSTANT_SECOND "Source 1 is the 32-bit constant that always follows.";
    CONSTANT_THIRD "Source 2 is the 32-bit constant that always follows.";
    BYTE_SEL "The long form selects the byte that it converts.";
    SPARSE "Source 2 has the places of a sparse matrix's elements.";
    SUM_SIGNS "Of a product of bytes that are floats: only the sums take signs.";
    FACTOR_SIGNS "Of a product of integers: only the factors take signs.";
    FREE_BANKS "Two of it in a dual instruction may read registers of one bank.";
    SECOND_HALF "The second half of a dual instruction only.";
}

/// Result of an atomic in the memory cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum MachineAtomic {
    Swap,
    /// The operand, if the cell equals the comparator.
    CompareSwap,
    /// The operand, if the cell equals the comparator as a float.
    FloatCompareSwap,
    Add,
    FloatAdd,
    Sub,
    /// The operand less the cell.
    ReverseSub,
    /// The difference, at least 0.
    SubClamped,
    SignedMin,
    SignedMax,
    UnsignedMin,
    UnsignedMax,
    FloatMin,
    FloatMax,
    And,
    Or,
    Xor,
    /// The increment up to the operand, then 0.
    Inc,
    /// The decrement down to 0, then the operand.
    Dec,
    /// The cell with the bits of the first operand replaced by those of the second.
    MaskedOr,
    /// The difference, if the operand is not greater; else the cell.
    CondSub,
    /// The sums of two halves.
    PackedAddF16,
    /// The sums of two bfloat16.
    PackedAddBf16,
    /// The cell minus the first operand, or plus the second if that would be negative.
    Wrap,
}

/// Latency of a result, by the unit that computes it. The classes are those that LLVM's and Mesa's schedulers
/// distinguish on gfx10; the scheduler assigns the cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Latency {
    /// No result: waits, hints, modes.
    None,
    /// Branches, the program counter, barriers, the program end.
    Control,
    /// Scalar arithmetic.
    Salu,
    /// Scalar memory.
    Smem,
    /// Vector arithmetic at full rate.
    Valu,
    /// 64-bit integers.
    Wide,
    /// 32-bit multiplication with a 64-bit product.
    QuarterRate,
    /// Reciprocals, roots, exponentials, sines and cosines.
    Transcendental,
    /// Doubles.
    Double,
    /// Reciprocals and roots of doubles.
    DoubleTranscendental,
    /// Parameter interpolation.
    Interp,
    /// Local data share.
    Lds,
    /// Buffers, images without sampler, memory by address.
    VectorMemory,
    /// Sampled images.
    Sample,
    /// Exports.
    Export,
    /// Messages.
    Message,
}

#[cfg(test)]
mod tests {
    use super::Traits;

    #[test]
    fn every_trait_has_a_bit_of_its_own() {
        let all = Traits::ALL.iter().fold(Traits::NONE, |all, (one, name)| {
            assert!(!all.any(*one), "{name}");
            all.or(*one)
        });
        assert_eq!(all.0.count_ones() as usize, Traits::ALL.len());
    }
}
