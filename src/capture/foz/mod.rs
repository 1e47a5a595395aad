//! Fossilize's stream archive, version 6: a header, then entries without gaps to the end of the file.
//!
//! | bytes of an entry | |
//! | --- | --- |
//! | 0..40 | name: 24 hexadecimal digits of the kind, of which the first 8 are ignored, then 16 of the hash |
//! | 40..44 | size in bytes of the stored payload; all numbers are little-endian |
//! | 44..48 | 1: stored as it is, 2: as a zlib stream |
//! | 48..52 | CRC-32 of the stored payload; 0: not checked |
//! | 52..56 | size in bytes of the unpacked payload |
//! | 56.. | payload |
//!
//! An entry that is cut off at the end of the file was torn by a crash and is ignored. Of two entries with the same
//! name the first is used. Unknown kinds are skipped. Source: `fossilize_db.cpp` of ValveSoftware/Fossilize.

pub mod payload;
mod read;
mod write;

pub use read::{Archive, FozEntry};
pub use write::ArchiveWriter;

use super::model::Hash;

/// The first bytes of the file, without the version.
pub const MAGIC: [u8; 15] = *b"\x81FOSSILIZEDB\0\0\0";
const VERSION: u8 = 6;
const OLDEST_VERSION: u8 = 5;
const HEADER_BYTES: usize = MAGIC.len() + 1;
const HEAD_BYTES: usize = 56;

const RAW: u32 = 1;
const ZLIB: u32 = 2;

/// The kind of an entry, with the format's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are Vulkan's own")]
pub enum EntryKind {
    Application = 0,
    Sampler = 1,
    SetLayout = 2,
    PipelineLayout = 3,
    ShaderModule = 4,
    RenderPass = 5,
    GraphicsPipeline = 6,
    ComputePipeline = 7,
    ApplicationLink = 8,
    RayTracingPipeline = 9,
}

impl EntryKind {
    const ALL: [Self; 10] = [
        Self::Application,
        Self::Sampler,
        Self::SetLayout,
        Self::PipelineLayout,
        Self::ShaderModule,
        Self::RenderPass,
        Self::GraphicsPipeline,
        Self::ComputePipeline,
        Self::ApplicationLink,
        Self::RayTracingPipeline,
    ];

    fn of(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u64 == number)
    }
}

/// The header of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    /// `None`: an unknown kind.
    kind: Option<EntryKind>,
    hash: Hash,
    stored: u32,
    form: u32,
    crc: u32,
    raw: u32,
}

impl Head {
    /// `None`: not a valid name, so no later entry can be found either.
    fn parse(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let digits = |range: std::ops::Range<usize>| {
            let text = std::str::from_utf8(bytes.get(range)?).ok()?;
            // `from_str_radix` also accepts a sign, which is not a digit.
            text.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u64::from_str_radix(text, 16).ok())?
        };
        let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(Self {
            kind: EntryKind::of(digits(8..24)?),
            hash: Hash(digits(24..40)?),
            stored: word(40)?,
            form: word(44)?,
            crc: word(48)?,
            raw: word(52)?,
        })
    }

    fn to_bytes(kind: EntryKind, hash: Hash, sizes: [u32; 4]) -> Vec<u8> {
        let mut head = format!("{:024x}{hash}", kind as u64).into_bytes();
        sizes.iter().for_each(|word| head.extend_from_slice(&word.to_le_bytes()));
        head
    }
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
