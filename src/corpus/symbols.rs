//! Symbol names of an ELF file, by file offset.
//!
//! Programs that embed shaders as arrays often keep the arrays' symbols, which name the shaders. A file that is no
//! readable ELF, or is stripped, has no names; that is not an error.

use object::read::elf::{ElfFile32, ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSegment, ObjectSymbol, ReadRef, SymbolKind};
use std::collections::BTreeMap;

/// Segment limit: linkers write about ten, an ELF file with more was made to be slow.
const MAX_SEGMENTS: usize = 256;

/// Symbol names by file offset.
pub fn by_offset(bytes: &[u8]) -> BTreeMap<usize, &str> {
    if let Ok(elf) = ElfFile64::<Endianness>::parse(bytes) {
        return names(&elf, bytes.len());
    }
    ElfFile32::<Endianness>::parse(bytes).map(|elf| names(&elf, bytes.len())).unwrap_or_default()
}

/// Names of at most so many bytes: symbols may share one long string, and each is searched for its end.
fn names<'data, H, R>(elf: &object::read::elf::ElfFile<'data, H, R>, mut bytes: usize) -> BTreeMap<usize, &'data str>
where
    H: FileHeader,
    R: ReadRef<'data>,
{
    let segments: Vec<_> = elf.segments().take(MAX_SEGMENTS).map(|s| (s.address(), s.file_range())).collect();
    let offset_of = |address: u64| {
        segments.iter().find_map(|(start, (offset, size))| {
            let within = address.checked_sub(*start).filter(|within| within < size)?;
            usize::try_from(offset.checked_add(within)?).ok()
        })
    };
    let objects = elf.symbols().chain(elf.dynamic_symbols()).filter(|s| s.kind() == SymbolKind::Data);
    let placed = objects.filter_map(|s| Some((offset_of(s.address())?, s)));
    placed
        .map_while(|(at, symbol)| {
            let name = symbol.name().ok()?;
            bytes = bytes.checked_sub(name.len())?;
            Some((at, name))
        })
        .collect()
}
