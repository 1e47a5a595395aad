//! A field of an instruction: some of its bits, which hold a number.

/// A field of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeField {
    /// Its lowest bit.
    low: u8,
    /// Number of adjacent bits.
    width: u8,
    /// Place of further bits, the highest of the value, and their number.
    top: u8,
    top_width: u8,
    /// The value has a sign.
    signed: bool,
}

impl CodeField {
    /// A field that the encoding lacks.
    pub(crate) const NONE: Self = bits(0, 0);

    /// Number of bits of its value.
    pub(crate) const fn width(self) -> u32 {
        (self.width + self.top_width) as u32
    }

    /// Its largest value.
    pub(crate) const fn largest(self) -> u32 {
        mask(self.width() as u8) >> self.signed as u32
    }

    /// Its value in an instruction, its sign not extended.
    pub(crate) const fn get(self, word: u128) -> u32 {
        let low = (word >> self.low) as u32 & mask(self.width);
        let top = (word >> self.top) as u32 & mask(self.top_width);
        low | if self.top_width == 0 { 0 } else { top << self.width }
    }

    /// Its value in an instruction as a number, with its sign if it has one.
    pub(crate) const fn number(self, word: u128) -> i32 {
        let value = self.get(word);
        if self.width() == 0 || !self.signed {
            return value.cast_signed();
        }
        let unused = 32 - self.width();
        (value << unused).cast_signed() >> unused
    }

    /// A value of at most eight bits.
    pub(crate) const fn small(self, word: u128) -> u8 {
        self.get(word) as u8
    }

    /// Whether a field of one bit is set.
    pub(crate) const fn is_set(self, word: u128) -> bool {
        self.get(word) != 0
    }

    /// Its bits in an instruction.
    pub(crate) const fn mask(self) -> u128 {
        let top = (mask(self.top_width) as u128) << self.top;
        (mask(self.width) as u128) << self.low | top
    }

    /// An instruction without its value.
    pub(crate) const fn clear(self, word: u128) -> u128 {
        word & !self.mask()
    }

    /// The bits of an instruction that hold this value; `None` if it does not fit.
    pub(crate) const fn put(self, value: u32) -> Option<u128> {
        if self.width() < 32 && value >> self.width() != 0 {
            return None;
        }
        let low = ((value & mask(self.width)) as u128) << self.low;
        let top = if self.top_width == 0 { 0 } else { value >> self.width };
        Some(low | (top as u128) << self.top)
    }

    /// The bits of an instruction that hold this number; `None` if it does not fit.
    pub(crate) const fn put_number(self, number: i32) -> Option<u128> {
        let word = number.cast_unsigned() & mask(self.width() as u8);
        match self.put(word) {
            Some(bits) if self.number(bits) == number => Some(bits),
            _ => None,
        }
    }
}

const fn mask(width: u8) -> u32 {
    if width >= 32 { u32::MAX } else { (1 << width) - 1 }
}

/// Bits `high` to `low`, as the documents write them.
pub(super) const fn field(high: u8, low: u8) -> CodeField {
    bits(low, high - low + 1)
}

pub(super) const fn bits(low: u8, width: u8) -> CodeField {
    CodeField::parts(low, width, 0, 0)
}

pub(super) const fn bit(at: u8) -> CodeField {
    bits(at, 1)
}

impl CodeField {
    /// A number of bits from `low` on, and above them `top_width` bits from `top` on.
    pub(crate) const fn parts(low: u8, width: u8, top: u8, top_width: u8) -> Self {
        Self { low, width, top, top_width, signed: false }
    }

    /// The same with one more bit, the highest of the value, elsewhere.
    pub(super) const fn and(self, top: u8) -> Self {
        Self { top, top_width: 1, ..self }
    }

    pub(super) const fn with_sign(self) -> Self {
        Self { signed: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_gives_back_what_it_takes_and_refuses_what_does_not_fit() {
        let split = bits(16, 3).and(53);
        assert_eq!((split.width(), split.put(0b1010)), (4, Some(1 << 53 | 0b010 << 16)));
        assert_eq!((split.get(1 << 53 | 0b010 << 16), split.put(16)), (0b1010, None));
        let offset = field(52, 32).with_sign();
        for number in [-(1 << 20), -1, 0, (1 << 20) - 1] {
            assert_eq!(offset.put_number(number).map(|word| offset.number(word)), Some(number));
        }
        assert_eq!((offset.put_number(1 << 20), offset.put_number(-(1 << 20) - 1)), (None, None));
        let unsigned = field(10, 0);
        assert_eq!((unsigned.put_number(-1), unsigned.put_number(2047)), (None, Some(2047)));
        assert_eq!(
            (CodeField::NONE.put(0), CodeField::NONE.put(1), CodeField::NONE.get(u128::MAX)),
            (Some(0), None, 0)
        );
    }
}
