//! The metadata document of an unlinked ELF: the counts and registers of its code, and the stage's interface.
//!
//! [`super::notes`] and [`super::interface_io`] read it. It has no version: PAL never sees it.

use super::interface::StageInterface;
use super::interface_io;
use super::msgpack::Writer;
use super::notes::MetadataFields;
use super::registers::RegisterWords;
use super::schema::MetadataKey;
use dovetail_base::error::Result;
use smallvec::SmallVec;

/// Encodes the document. `symbol` is the name of the stage's body; `remarks` are texts under keys that are not part of
/// the interface.
///
/// # Errors
/// A bug: a field of the interface has no msgpack form.
pub fn document(
    symbol: &str,
    counts: &MetadataFields,
    registers: &RegisterWords,
    interface: &StageInterface,
    remarks: &[(&'static str, &str)],
) -> Result<Vec<u8>> {
    let mut out = Writer::with_capacity(2048);
    out.map(1);
    out.str("amdpal.pipelines");
    out.array(1);
    let pipeline = out.open_map();
    interface_io::write_generation(&mut out);
    out.str(MetadataKey::HardwareStages.name());
    out.map(1);
    out.str(interface.hardware_stage().key());
    // Sorted by name, as LLVM writes them.
    let mut counts: SmallVec<[_; 8]> = counts.iter().map(|(key, value)| (key.name(), value)).collect();
    counts.sort_unstable();
    out.map(1 + counts.len());
    out.str(MetadataKey::EntryPoint.name());
    out.str(symbol);
    for (name, value) in counts {
        out.str(name);
        out.uint(value.into());
    }
    out.str(MetadataKey::Registers.name());
    out.map(registers.len());
    for (number, word) in registers.numbered() {
        out.uint(number.into());
        out.uint(word.into());
    }
    let fields = interface_io::write(&mut out, interface)?;
    for (key, text) in remarks {
        out.str(key);
        out.str(text);
    }
    out.close_map(pipeline, 3 + fields + remarks.len());
    Ok(out.finish())
}
