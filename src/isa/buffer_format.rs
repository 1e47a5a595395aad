//! The unified buffer formats of gfx10: a 7-bit number for layout and number format together (pal-abi 8.3).

use std::fmt;

/// A format number of typed buffer access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferFormat(u8);

/// Layouts in the order of their numbers, with the number formats that each has.
const LAYOUTS: [(&str, &[&str]); 14] = [
    ("8", INTS),
    ("16", ALL),
    ("8_8", INTS),
    ("32", WIDE),
    ("16_16", ALL),
    ("10_11_11", ALL),
    ("11_11_10", ALL),
    ("10_10_10_2", INTS),
    ("2_10_10_10", INTS),
    ("8_8_8_8", INTS),
    ("32_32", WIDE),
    ("16_16_16_16", ALL),
    ("32_32_32", WIDE),
    ("32_32_32_32", WIDE),
];
const ALL: &[&str] = &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"];
const INTS: &[&str] = &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT"];
const WIDE: &[&str] = &["UINT", "SINT", "FLOAT"];

impl BufferFormat {
    /// The format with this number; `None` if it does not fit the field.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 128 { Some(Self(number)) } else { None }
    }

    /// Number of the format.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Layout and number format, in the assembler's spelling: `8_8_8_8`, `UNORM`.
    pub fn names(self) -> Option<(&'static str, &'static str)> {
        let mut index = usize::from(self.0).checked_sub(1)?;
        for (layout, numbers) in LAYOUTS {
            if let Some(number) = numbers.get(index) {
                return Some((layout, number));
            }
            index -= numbers.len();
        }
        None
    }
}

impl fmt::Display for BufferFormat {
    /// Writes the operand in the assembler's spelling.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.names()) {
            (0, _) => f.write_str("format:[BUF_FMT_INVALID]"),
            (_, Some((layout, number))) => write!(f, "format:[BUF_FMT_{layout}_{number}]"),
            (n, None) => write!(f, "format:{n}"),
        }
    }
}
