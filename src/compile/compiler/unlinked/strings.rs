//! A string table of an ELF file, with each string once, in the order in which they are added.

use dovetail_base::workspace::tables;
use std::fmt;
use std::fmt::Write as _;

/// A string table.
#[derive(Debug, Default)]
pub(super) struct Strings {
    /// The strings, each followed by a null byte.
    text: String,
    /// Where each begins.
    starts: Vec<usize>,
}

tables!(Strings { text, starts });

impl Strings {
    /// Adds a string, if the table does not have it, and returns its offset. The table begins with the empty string.
    pub(super) fn add(&mut self, name: impl fmt::Display) -> u32 {
        let start = self.text.len();
        _ = write!(self.text, "{name}\0");
        let (before, added) = self.text.split_at(start);
        let same = |known: &usize| before.get(*known..).is_some_and(|known| known.starts_with(added));
        // The null byte of the one before is the empty string's.
        let offset = if added.len() == 1 { Some(0) } else { self.starts.iter().copied().find(same).map(|at| at + 1) };
        if let Some(offset) = offset {
            self.text.truncate(start);
            return offset as u32;
        }
        self.starts.push(start);
        start as u32 + 1
    }

    /// Whether a string has a null byte, which the table cannot hold.
    pub(super) fn has_null(&self) -> bool {
        self.text.bytes().filter(|byte| *byte == 0).count() != self.starts.len()
    }

    /// Size in bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len() + 1
    }

    /// Appends the table.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        to.push(0);
        to.extend_from_slice(self.text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use crate::unlinked::strings::Strings;

    #[test]
    fn a_string_is_in_the_table_once() {
        let mut strings = Strings::default();
        let names = [".text", "", ".rel.text", "foo", ".text", "foo"];
        assert_eq!(names.map(|name| strings.add(name)), [1, 0, 7, 17, 1, 17]);
        let mut table = Vec::new();
        strings.write(&mut table);
        assert_eq!(table, b"\0.text\0.rel.text\0foo\0");
        assert_eq!(table.len(), strings.len());
        assert!(!strings.has_null());
        strings.add("a\0b");
        assert!(strings.has_null());
    }
}
