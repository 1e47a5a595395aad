//! Unified buffer formats: a 7-bit number for layout and number format together (pal-abi 8.3).

use dovetail_base::target::BufferLayout;

/// A format number of typed buffer access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferFormat(u8);

/// Number formats, by their places in [`BufferLayout::formats`].
const NUMBERS: [&str; 7] = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"];

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
    pub fn names(self, layouts: &[BufferLayout]) -> Option<(String, &'static str)> {
        let find = |layout: &BufferLayout| {
            let place = (0..8).find(|place| layout.number(*place) == Some(self.0))?;
            // The assembler names the highest channel first.
            let widths: Vec<String> = layout.widths.iter().rev().map(u8::to_string).collect();
            Some((widths.join("_"), *NUMBERS.get(usize::from(place))?))
        };
        layouts.iter().find_map(find)
    }

    /// The operand in the assembler's spelling.
    pub(super) fn text(self, layouts: &[BufferLayout]) -> String {
        match (self.0, self.names(layouts)) {
            (0, _) => "format:[BUF_FMT_INVALID]".to_owned(),
            (_, Some((layout, number))) => format!("format:[BUF_FMT_{layout}_{number}]"),
            (n, None) => format!("format:{n}"),
        }
    }
}
