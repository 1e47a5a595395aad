//! Allocations that fail with an error instead of ending the process: those whose size comes from a caller or from a file.

use crate::error::{Error, Result};

/// Makes room for so many more items.
///
/// # Errors
/// Memory: there is none.
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    let bytes = more.saturating_mul(size_of::<T>());
    list.try_reserve_exact(more).map_err(|_| Error::memory(format!("{bytes} bytes")))
}

/// An empty list with room for so many items.
///
/// # Errors
/// As [`reserve`].
pub fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    reserve(&mut list, count)?;
    Ok(list)
}

/// A copy of these bytes.
///
/// # Errors
/// As [`reserve`].
pub fn copy(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = room(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// So many zeros.
///
/// # Errors
/// As [`reserve`].
pub fn zeros(count: usize) -> Result<Vec<u8>> {
    let mut bytes = room(count)?;
    bytes.resize(count, 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert_eq!(copy(b"abc").unwrap(), b"abc");
        assert_eq!(zeros(3).unwrap(), [0; 3]);
        for size in [usize::MAX, isize::MAX as usize] {
            assert!(matches!(zeros(size).unwrap_err().kind(), ErrorKind::Memory(_)));
        }
    }
}
