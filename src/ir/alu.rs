//! Arithmetic: one table of scalar operations, from which names, arities and type rules follow.

use super::types::{Bits, Type};

/// Type rule of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sig {
    /// Every operand and the result have the same type.
    Same,
    /// Two or three operands of one type, a boolean result.
    Compare,
    /// One operand of any width, a result of any width: the instruction's type decides.
    Convert,
    /// A boolean, and two operands of the result's type.
    Select,
    /// First operand of the result's type, the others 32-bit integers.
    FirstSame,
    /// One operand of any width, a 32-bit integer result.
    ToB32,
    /// Every operand and the result 32 bits.
    All32,
    /// Operands of one type, a boolean result (carry, borrow).
    Carry,
}

macro_rules! alu_table {
    ($( $variant:ident $name:literal $arity:literal $sig:ident $float:literal $doc:literal; )*) => {
        /// A scalar arithmetic operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum AluOp {
            $( #[doc = $doc] $variant, )*
        }
        impl AluOp {
            /// Every operation, in table order.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];
            /// Name in the text form.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }
            /// Number of operands.
            pub const fn arity(self) -> usize {
                match self { $( Self::$variant => $arity, )* }
            }
            /// Type rule.
            pub const fn sig(self) -> Sig {
                match self { $( Self::$variant => Sig::$sig, )* }
            }
            /// Whether operands (for conversions: the source) are floats, so that code generators keep them as such.
            pub const fn takes_float(self) -> bool {
                match self { $( Self::$variant => $float, )* }
            }
        }
    };
}

alu_table! {
    IAdd "iadd" 2 Same false "Wrapping sum.";
    ISub "isub" 2 Same false "Wrapping difference.";
    IMul "imul" 2 Same false "Low half of the product.";
    UMulHigh "umul_high" 2 Same false "High half of the unsigned product.";
    SMulHigh "smul_high" 2 Same false "High half of the signed product.";
    UDiv "udiv" 2 Same false "Unsigned quotient; by zero: any value, no trap.";
    SDiv "sdiv" 2 Same false "Signed quotient, towards zero; by zero or overflow: any value, no trap.";
    UMod "umod" 2 Same false "Unsigned remainder; by zero: any value.";
    SRem "srem" 2 Same false "Remainder with the dividend's sign; by zero: any value.";
    SMod "smod" 2 Same false "Remainder with the divisor's sign; by zero: any value.";
    INeg "ineg" 1 Same false "Two's complement negation.";
    IAbs "iabs" 1 Same false "Magnitude; the minimum stays itself.";
    IAnd "iand" 2 Same false "Bitwise and; logical and on b1.";
    IOr "ior" 2 Same false "Bitwise or.";
    IXor "ixor" 2 Same false "Bitwise exclusive or.";
    INot "inot" 1 Same false "Bitwise not.";
    Shl "shl" 2 Same false "Left shift; amounts at or over the width: any value.";
    LShr "lshr" 2 Same false "Logical right shift; amounts at or over the width: any value.";
    AShr "ashr" 2 Same false "Arithmetic right shift; amounts at or over the width: any value.";
    UMin "umin" 2 Same false "Unsigned minimum.";
    UMax "umax" 2 Same false "Unsigned maximum.";
    SMin "smin" 2 Same false "Signed minimum.";
    SMax "smax" 2 Same false "Signed maximum.";
    UAddSat "uadd_sat" 2 Same false "Unsigned saturating sum.";
    SAddSat "sadd_sat" 2 Same false "Signed saturating sum.";
    USubSat "usub_sat" 2 Same false "Unsigned saturating difference.";
    SSubSat "ssub_sat" 2 Same false "Signed saturating difference.";
    UAddCarry "uadd_carry" 2 Carry false "Whether the unsigned sum wraps.";
    USubBorrow "usub_borrow" 2 Carry false "Whether the unsigned difference wraps.";
    BitCount "bit_count" 1 ToB32 false "Number of ones.";
    BitReverse "bit_reverse" 1 Same false "Bits in reverse order.";
    FindILsb "find_ilsb" 1 ToB32 false "Index of the lowest one; none: -1.";
    FindUMsb "find_umsb" 1 ToB32 false "Index of the highest one; none: -1.";
    FindSMsb "find_smsb" 1 ToB32 false "Index of the highest bit that differs from the sign; none: -1.";
    UBitExtract "ubit_extract" 3 FirstSame false "Unsigned field: value, offset, count (0 to the width; at the lower level, less than it).";
    SBitExtract "sbit_extract" 3 FirstSame false "Sign-extended field: value, offset, count (0 to the width; at the lower level, less than it).";
    IEq "ieq" 2 Compare false "Equal bits.";
    INe "ine" 2 Compare false "Different bits.";
    ULt "ult" 2 Compare false "Unsigned less.";
    ULe "ule" 2 Compare false "Unsigned less or equal.";
    UGt "ugt" 2 Compare false "Unsigned greater.";
    UGe "uge" 2 Compare false "Unsigned greater or equal.";
    SLt "slt" 2 Compare false "Signed less.";
    SLe "sle" 2 Compare false "Signed less or equal.";
    SGt "sgt" 2 Compare false "Signed greater.";
    SGe "sge" 2 Compare false "Signed greater or equal.";
    Select "select" 3 Select false "Second operand if the first is true, else third.";
    ZExt "zext" 1 Convert false "Zero extension (from b1 too).";
    SExt "sext" 1 Convert false "Sign extension (b1 true gives -1).";
    Trunc "trunc" 1 Convert false "Low bits (to b1: the lowest bit).";
    F2S "f2s" 1 Convert true "Float to signed, towards zero; out of range: any value, no trap.";
    F2U "f2u" 1 Convert true "Float to unsigned, towards zero; out of range: any value, no trap.";
    S2F "s2f" 1 Convert false "Signed to float, to nearest even.";
    U2F "u2f" 1 Convert false "Unsigned to float, to nearest even.";
    FConv "fconv" 1 Convert true "Float to float of another width, to nearest even.";
    FConvRtz "fconv_rtz" 1 Convert true "Float to narrower float, towards zero.";
    FAdd "fadd" 2 Same true "Sum.";
    FSub "fsub" 2 Same true "Difference.";
    FMul "fmul" 2 Same true "Product.";
    FDiv "fdiv" 2 Same true "Quotient, within 2.5 ulp.";
    FRem "frem" 2 Same true "x - y*trunc(x/y).";
    FMod "fmod" 2 Same true "x - y*floor(x/y).";
    FFma "ffma" 3 Same true "Fused a*b+c.";
    FNeg "fneg" 1 Same true "Sign flipped.";
    FAbs "fabs" 1 Same true "Sign cleared.";
    FSign "fsign" 1 Same true "-1, 0 or 1; zero keeps its sign.";
    FCopySign "fcopysign" 2 Same true "Magnitude of the first, sign of the second.";
    FFloor "ffloor" 1 Same true "Down to an integer.";
    FCeil "fceil" 1 Same true "Up to an integer.";
    FTrunc "ftrunc" 1 Same true "Towards zero to an integer.";
    FRoundEven "fround_even" 1 Same true "To the nearest integer, ties to even.";
    FFract "ffract" 1 Same true "x - floor(x), below one.";
    FMin "fmin" 2 Same true "Minimum; the other operand if one is NaN.";
    FMax "fmax" 2 Same true "Maximum; the other operand if one is NaN.";
    FSqrt "fsqrt" 1 Same true "Square root; lower level, 32 bits: within 1 ulp, denormals flushed.";
    FRsq "frsq" 1 Same true "Reciprocal square root.";
    FRcp "frcp" 1 Same true "Reciprocal, within 1 ulp for 32 bits, denormals flushed.";
    FRcpSeed "frcp_seed" 1 Same true "Reciprocal of 64 bits within 2^-23 of itself, to be refined.";
    FRsqSeed "frsq_seed" 1 Same true "Reciprocal square root of 64 bits within 2^-23 of itself, to be refined.";
    FExp2 "fexp2" 1 Same true "Power of two.";
    FLog2 "flog2" 1 Same true "Logarithm base two.";
    FPow "fpow" 2 Same true "exp2(y*log2(x)).";
    FSin "fsin" 1 Same true "Sine of radians.";
    FCos "fcos" 1 Same true "Cosine of radians.";
    FMulZero "fmul_zero" 2 All32 true "Product of 32-bit floats; zero times anything is zero.";
    FSinTurn "fsin_turn" 1 Same true "Sine of revolutions, of which there are few.";
    FCosTurn "fcos_turn" 1 Same true "Cosine of revolutions, of which there are few.";
    FLdexp "fldexp" 2 FirstSame true "x * 2^n with an integer n.";
    FFrexpMant "ffrexp_mant" 1 Same true "Mantissa in [0.5, 1), or x if zero, Inf, NaN.";
    FFrexpExp "ffrexp_exp" 1 ToB32 true "Exponent to the mantissa of `ffrexp_mant`.";
    FQuantize16 "fquantize16" 1 Same true "Rounded to half precision, half denormals to zero.";
    FOEq "foeq" 2 Compare true "Ordered and equal.";
    FONe "fone" 2 Compare true "Ordered and different.";
    FOLt "folt" 2 Compare true "Ordered and less.";
    FOLe "fole" 2 Compare true "Ordered and less or equal.";
    FOGt "fogt" 2 Compare true "Ordered and greater.";
    FOGe "foge" 2 Compare true "Ordered and greater or equal.";
    FUEq "fueq" 2 Compare true "Unordered or equal.";
    FUNe "fune" 2 Compare true "Unordered or different.";
    FULt "fult" 2 Compare true "Unordered or less.";
    FULe "fule" 2 Compare true "Unordered or less or equal.";
    FUGt "fugt" 2 Compare true "Unordered or greater.";
    FUGe "fuge" 2 Compare true "Unordered or greater or equal.";
    FOrd "ford" 2 Compare true "Neither is NaN.";
    FUno "funo" 2 Compare true "One is NaN.";
    FIsNan "fis_nan" 1 Compare true "NaN.";
    FIsInf "fis_inf" 1 Compare true "Infinite, either sign.";
    PackNorm16 "pack_unorm16" 2 All32 true "Two floats to two unsigned normalised 16-bit fields, first in the low half.";
    PackSnorm16 "pack_snorm16" 2 All32 true "Two floats to two signed normalised 16-bit fields, first in the low half.";
    PackHalfRtz "pack_half_rtz" 2 All32 true "Two floats to two halves, towards zero, first in the low half.";
    SDot4 "sdot4" 3 All32 false "Sum of four signed byte products, plus the third operand, wrapping.";
    UDot4 "udot4" 3 All32 false "Sum of four unsigned byte products, plus the third operand, wrapping.";
    SDot4Sat "sdot4_sat" 3 All32 false "As `sdot4`, the last sum saturating.";
    UDot4Sat "udot4_sat" 3 All32 false "As `udot4`, the last sum saturating.";
}

impl AluOp {
    /// Whether it compares two operands for order or equality.
    pub const fn compares(self) -> bool {
        matches!(self.sig(), Sig::Compare) && self.arity() == 2
    }

    /// The result type for `args`, or `None` if they break the rule. For conversions it is `want`.
    pub fn result_type(self, args: &[Type], want: Type) -> Option<Type> {
        if args.len() == self.arity() && self.has_packed() && args.iter().all(|t| *t == Type::B16X2) {
            return Some(Type::B16X2);
        }
        if args.len() != self.arity() || args.iter().any(|t| !t.is_scalar()) || !want.is_scalar() {
            return None;
        }
        let first = *args.first()?;
        let all = |t: Type| args.iter().all(|&a| a == t);
        match self.sig() {
            Sig::Same => all(first).then_some(first),
            Sig::Compare | Sig::Carry => all(first).then_some(Type::B1),
            Sig::Convert => Some(want),
            Sig::Select => (first == Type::B1 && args[1] == args[2]).then_some(args[1]),
            Sig::FirstSame => args[1..].iter().all(|&a| a == Type::B32).then_some(first),
            Sig::ToB32 => Some(Type::B32),
            Sig::All32 => all(Type::B32).then_some(Type::B32),
        }
    }

    /// Whether the result is a float in `bits`, so that code generators keep it as such.
    pub const fn gives_float(self) -> bool {
        match self {
            Self::S2F | Self::U2F => true,
            Self::F2S | Self::F2U | Self::FFrexpExp | Self::PackNorm16 | Self::PackSnorm16 | Self::PackHalfRtz => false,
            _ => self.takes_float() && !matches!(self.sig(), Sig::Compare),
        }
    }

    /// Whether `lower_arithmetic` leaves the operation to the code generators, by the width of the first operand and of
    /// the result.
    pub const fn has_instruction(self, from: Bits, to: Bits) -> bool {
        use Bits::{B8, B16, B32, B64};
        match self {
            Self::Select | Self::ZExt | Self::SExt | Self::Trunc => true,
            Self::IAnd | Self::IOr | Self::IXor | Self::INot => true,
            // The low bits of the result depend only on the low bits of the operands.
            Self::IAdd | Self::ISub | Self::IMul => true,
            Self::UDiv | Self::SDiv | Self::UMod | Self::SRem | Self::SMod | Self::FindSMsb => false,
            Self::FDiv | Self::FRem | Self::FMod | Self::FSign | Self::FIsNan | Self::FIsInf => false,
            Self::FPow | Self::FSin | Self::FCos | Self::FQuantize16 | Self::FConvRtz => false,
            Self::UMulHigh | Self::SMulHigh | Self::UBitExtract | Self::SBitExtract => matches!(from, B32),
            Self::UAddCarry | Self::USubBorrow | Self::BitCount | Self::BitReverse => matches!(from, B32),
            Self::FindILsb | Self::FindUMsb => matches!(from, B32),
            Self::INeg | Self::IAbs | Self::UMin | Self::UMax | Self::SMin | Self::SMax => matches!(from, B16 | B32),
            Self::UAddSat | Self::SAddSat | Self::USubSat | Self::SSubSat => matches!(from, B16 | B32),
            Self::FSqrt | Self::FRcp | Self::FRsq => matches!(from, B16 | B32),
            Self::FExp2 | Self::FLog2 | Self::FSinTurn | Self::FCosTurn => matches!(from, B16 | B32),
            Self::FRcpSeed | Self::FRsqSeed => matches!(from, B64),
            Self::S2F | Self::U2F | Self::F2S | Self::F2U => {
                matches!((from, to), (B16, B16) | (B32, B32 | B64) | (B64, B32)) && !self.is_wide_integer(from, to)
            }
            Self::FConv => !matches!((from, to), (B16, B64) | (B64, B16)),
            _ => !matches!(from, B8),
        }
    }

    /// Whether the integer of a conversion has 64 bits.
    const fn is_wide_integer(self, from: Bits, to: Bits) -> bool {
        let integer = if matches!(self, Self::S2F | Self::U2F) { from } else { to };
        matches!(integer, Bits::B64)
    }

    /// Whether there is an instruction for two operations on 16 bits at once. Such an operation may have operands and a
    /// result of type [`Type::B16X2`], at the lower level.
    pub const fn has_packed(self) -> bool {
        matches!(
            self,
            Self::IAdd
                | Self::ISub
                | Self::IMul
                | Self::Shl
                | Self::LShr
                | Self::AShr
                | Self::UMin
                | Self::UMax
                | Self::SMin
                | Self::SMax
                | Self::UAddSat
                | Self::SAddSat
                | Self::USubSat
                | Self::SSubSat
                | Self::FAdd
                | Self::FSub
                | Self::FMul
                | Self::FFma
                | Self::FMin
                | Self::FMax
        )
    }

    /// The operation of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }
}

/// Freedoms and limits of a float operation, as in SPIR-V's `FPFastMathMode` and `NoContraction`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FpFlags(pub u8);

impl FpFlags {
    /// No flag: may be contracted.
    pub const NONE: Self = Self(0);
    /// `NoContraction`: not to be fused.
    pub const NO_CONTRACT: Self = Self(1);
    /// No operand or result is NaN.
    pub const NOT_NAN: Self = Self(2);
    /// No operand or result is infinite.
    pub const NOT_INF: Self = Self(4);
    /// The sign of a zero does not matter.
    pub const NO_SIGNED_ZERO: Self = Self(8);
    /// A reciprocal and a multiplication may replace a division.
    pub const ALLOW_RECIPROCAL: Self = Self(16);
    /// Reassociation is allowed.
    pub const REASSOC: Self = Self(32);
    /// The last step of an inverse trigonometric function, for which Vulkan allows an error of 4096 ulp: error bounds
    /// use that value instead of the sum over the steps of the expansion. Code generators ignore it.
    pub const COARSE: Self = Self(64);

    /// Whether all of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Type {
    /// Whether a float of this scalar width exists.
    pub const fn can_be_float(self) -> bool {
        self.is_scalar() && matches!(self.bits(), Bits::B16 | Bits::B32 | Bits::B64)
    }
}
