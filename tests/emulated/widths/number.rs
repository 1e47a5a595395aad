//! Types of numbers, and halves.

/// Widths of integers.
pub const WIDTHS: [u32; 4] = [8, 16, 32, 64];
/// Widths of floats.
pub const FLOATS: [u32; 3] = [16, 32, 64];

/// A type of numbers, with its width in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Num {
    /// Unsigned.
    U(u32),
    /// Signed.
    S(u32),
    /// Float.
    F(u32),
}

impl Num {
    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::U(bits) | Self::S(bits) | Self::F(bits) => bits,
        }
    }

    /// Its id in a module.
    pub fn id(self) -> String {
        match self {
            Self::U(bits) => format!("%u{bits}"),
            Self::S(bits) => format!("%i{bits}"),
            Self::F(bits) => format!("%f{bits}"),
        }
    }

    /// Its bits of a word.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// The number that some bits mean as a signed one.
pub fn signed(x: u64, bits: u32) -> i64 {
    (x << (64 - bits)) as i64 >> (64 - bits)
}

/// The number of a float's bits.
pub fn decode(x: u64, bits: u32) -> f64 {
    match bits {
        64 => f64::from_bits(x),
        32 => f32::from_bits(x as u32).into(),
        _ => {
            let (sign, exponent, fraction) = (x >> 15 & 1, (x >> 10 & 31) as i32, (x & 1023) as f64);
            let size = match exponent {
                0 => fraction * 2f64.powi(-24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
            };
            if sign == 1 { -size } else { size }
        }
    }
}

/// The bits of a float, rounded to nearest even. Halves: of numbers that are normal as halves, and zeros.
pub fn encode(x: f64, bits: u32) -> u64 {
    match bits {
        64 => x.to_bits(),
        32 => u64::from((x as f32).to_bits()),
        _ => {
            let sign = u64::from(x.is_sign_negative()) << 15;
            if x == 0.0 {
                return sign;
            }
            let exponent = ((x.abs().to_bits() >> 52) as i32) - 1023;
            let fraction = (x.abs() * 2f64.powi(10 - exponent)).round_ties_even() as u64;
            // A fraction that rounds up to 2048 carries into the exponent.
            sign | ((((exponent + 14) as u64) << 10) + fraction)
        }
    }
}
