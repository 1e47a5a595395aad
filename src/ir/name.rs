//! Debug names and symbol names. Short ones are stored inline, so that a list of names is one allocation; the memory of
//! long ones is the thread's.

use dovetail_base::workspace::Kept;
use std::fmt;
use std::ops::Deref;

/// Longest name stored inline, in bytes.
const SHORT: usize = 23;

/// A name.
#[derive(Clone)]
pub struct Name(Text);

#[derive(Clone)]
enum Text {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Kept<String>),
}

impl Name {
    /// No name.
    pub const EMPTY: Self = Self(Text::Short { len: 0, bytes: [0; SHORT] });

    /// The text of a value.
    pub fn of(value: impl fmt::Display) -> Self {
        let mut name = Self::EMPTY;
        // Formatting into memory cannot fail; a value whose `Display` fails is truncated there.
        _ = fmt::Write::write_fmt(&mut name, format_args!("{value}"));
        name
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            // Only whole strings are written, so this is valid UTF-8.
            Text::Short { len, bytes } => std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default(),
            Text::Long(text) => text,
        }
    }
}

impl fmt::Write for Name {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        match &mut self.0 {
            Text::Long(text) => text.push_str(s),
            Text::Short { len, bytes } => match bytes.get_mut(usize::from(*len)..usize::from(*len) + s.len()) {
                Some(place) => {
                    place.copy_from_slice(s.as_bytes());
                    *len += s.len() as u8;
                }
                None => {
                    let mut text = Kept::<String>::default();
                    text.push_str(self);
                    text.push_str(s);
                    self.0 = Text::Long(text);
                }
            },
        }
        Ok(())
    }
}

impl Default for Name {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self::of(name)
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        if name.len() > SHORT { Self(Text::Long(name.into())) } else { Self::of(name) }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_text_however_long() {
        for len in [0, 1, SHORT - 1, SHORT, SHORT + 1, 200] {
            let text = "ä".repeat(len / 2) + &"b".repeat(len % 2);
            assert_eq!(&*Name::from(text.as_str()), text);
            assert_eq!(Name::from(text.clone()), Name::of(&text));
            assert_eq!(&*Name::of(format_args!("{text}{text}.")), format!("{text}{text}."));
        }
    }
}
