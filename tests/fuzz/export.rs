//! Exports of a context, mutated: as they are, and with length and digest corrected, so that the data they guard is
//! parsed too. Whatever is imported must be exportable and importable again.

use super::link_support::{compute, fragment, vertex};
use super::seeds::compiler;
use dovetail::compile::request::CompilerId;
use dovetail::error::{Error, Result};
use dovetail::frame::{self, HEAD};
use dovetail::runtime::{Context, ContextInfo, Size};
use dovetail::target::Gpu;
use dovetail::wire::REQUEST_SCHEMA;

const DIGEST: usize = 32;

#[derive(serde::Serialize)]
struct Identity {
    target: Gpu,
    schema: &'static str,
    compiler: Option<CompilerId>,
}

/// An export without parts, and one for each stage.
pub fn seeds() -> Vec<Vec<u8>> {
    let parts = [vertex(), fragment(), compute()].map(|part| part.build());
    let export = |compiler, parts: &[Vec<u8>]| {
        let identity = Identity { target: Gpu::Gfx1030, schema: REQUEST_SCHEMA, compiler };
        let identity = frame::frame(&identity, 1 << 16).expect("a frame").split_off(HEAD);
        let mut out = [&b"DVX\x01"[..], &(identity.len() as u32).to_le_bytes(), &[0; 8], &identity].concat();
        for (n, elf) in parts.iter().enumerate() {
            out.extend([n as u8; 32]);
            out.extend((elf.len() as u32).to_le_bytes());
            out.extend(elf);
        }
        out.extend([0; DIGEST]);
        sealed(out)
    };
    vec![export(None, &[]), export(Some(compiler()), &parts)]
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    if let Some(said) = bytes.get_mut(8..16) {
        said.copy_from_slice(&length);
    }
    if let Some((body, digest)) = bytes.split_last_chunk_mut::<DIGEST>() {
        *digest = *blake3::hash(body).as_bytes();
    }
    bytes
}

fn context() -> Result<Context> {
    let (target, max_memory) = (Gpu::Gfx1030, 64 << 20);
    Context::new(&ContextInfo { max_memory, exports: true, ..ContextInfo::new(target) })
}

/// Imports the bytes.
///
/// # Errors
/// Those of the input; a bug: the imported parts cannot be exported, or the export not imported.
pub fn read(bytes: &[u8]) -> Result<()> {
    // Most mutated exports are damaged.
    let _ = context()?.import(bytes);
    let first = context()?;
    let imported = first.import(&sealed(bytes.to_vec()))?;
    let Size::Incomplete(size) = first.export(&mut [])? else { return Err(Error::bug("an export of no bytes")) };
    let mut out = vec![0; size];
    first.export(&mut out)?;
    match context()?.import(&out) {
        Ok(again) if again == imported => Ok(()),
        other => Err(Error::bug(format!("{imported:?} exported and taken again: {other:?}"))),
    }
}
