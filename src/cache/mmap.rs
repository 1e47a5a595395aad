//! Memory maps that cannot end the process when their file is truncated.

use super::checked::Checked;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Replaces LMDB's map of its file by private memory that contains the checked pages and nothing else of the file.
/// After that, changes to the file by other programs do not reach LMDB. In a debug build the rest is inaccessible, so
/// that every test verifies that nothing else is read; otherwise it is zeros.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::NotFound`] if `/proc/self/maps` does not show exactly one such map.
///
/// # Safety
/// `length` is the size of the map that LMDB has made of `file`, and only LMDB has references into it, which writes by
/// `pwrite` only.
pub unsafe fn replace(file: &Path, length: usize, checked: &Checked) -> io::Result<()> {
    let base = find(file, length)?;
    let rest = if cfg!(debug_assertions) { libc::PROT_NONE } else { libc::PROT_READ };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let base = base as *mut libc::c_void;
    // SAFETY: the range is one map of LMDB's, by the caller's promise; it stays mapped, and LMDB unmaps it as a whole.
    if unsafe { libc::mmap(base, length, rest, flags, -1, 0) } == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let system_page = system_page()?;
    for (number, bytes) in &checked.read {
        let start = usize::try_from(*number).ok().and_then(|n| n.checked_mul(checked.page_size));
        let start = start.filter(|start| start.checked_add(bytes.len()).is_some_and(|end| end <= length));
        let start = start.ok_or_else(|| io::Error::other("a page is outside of the map"))?;
        let first = start & !(system_page - 1);
        let end = (start + bytes.len()).next_multiple_of(system_page).min(length);
        // SAFETY: within the map that was just made, which is private and has no references into it.
        unsafe {
            let at = base.cast::<u8>();
            if libc::mprotect(at.add(first).cast(), end - first, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return Err(io::Error::last_os_error());
            }
            at.add(start).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }
    Ok(())
}

fn system_page() -> io::Result<usize> {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(io::Error::other)
}

/// The address of the only read-only shared map of a file from offset 0 with this length.
fn find(file: &Path, length: usize) -> io::Result<usize> {
    // Names are compared as bytes because they need not be UTF-8. The kernel escapes only line ends in names.
    let path = file.as_os_str().as_bytes().split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\\012"[..]);
    let maps = std::fs::read("/proc/self/maps")?;
    let mut found = maps.split(|byte| *byte == b'\n').filter_map(|line| {
        // The name comes last, after spaces, and everything before it is ASCII.
        let at = line.len().checked_sub(path.len())?;
        let (line, name) = line.split_at_checked(at)?;
        let (range, rest) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        let begins = rest.strip_prefix("r--s 00000000 ")?;
        // Device, inode and spaces come in between; layered file systems give other values here than `stat` does.
        let between = begins.ends_with(' ') && begins.split_whitespace().count() == 2;
        (end - start == length && between && name == path).then_some(start)
    });
    match (found.next(), found.next()) {
        (Some(base), None) => Ok(base),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "LMDB's map is not in /proc/self/maps")),
    }
}

/// Turns the limit on the size of files (`ulimit -f`) into an error of the write that reaches it. By default it ends
/// the process. For programs: the disposition of `SIGXFSZ` belongs to the whole process.
pub fn file_size_limit_is_an_error() {
    // SAFETY: no handler is installed; ignoring a signal has no precondition.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
