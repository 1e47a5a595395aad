//! The compressed form of a pack: one zstd frame of the whole file, so that `zstd -d` restores it too.
//!
//! One frame, because similar shaders lie far apart: an object alone takes half of its size, with a dictionary a third, all together
//! a quarter. It is never read in place.

use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files::{self, unfinished};
use dovetail_pack::Pack;
use dovetail_pack::format::{HEAD, Head};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::ops::Deref;
use std::path::Path;
use tempfile::TempPath;

/// Level of compression by default: sending takes longer than compressing once.
pub const LEVEL: i32 = 19;
/// Logarithm of the window in bytes: 128 MiB, which a reader must have in memory.
const WINDOW_LOG: u32 = 27;
/// Bytes that one byte may unpack to. Packs have no payload twice, and unpack to some five.
const MOST_RATIO: u64 = 256;
/// Bytes after which progress is told.
pub const STEP: usize = 1 << 20;

/// Whether a file's name says that it is compressed.
pub fn has_compressed_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// Copies everything; `done` is told of each MiB.
pub(crate) fn copy(from: &mut impl Read, to: &mut impl Write, done: &mut dyn FnMut()) -> io::Result<u64> {
    let (mut buffer, mut copied, mut told) = (vec![0; 64 << 10], 0u64, 0u64);
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        to.write_all(buffer.get(..read).unwrap_or_default())?;
        copied += read as u64;
        while told + STEP as u64 <= copied {
            told += STEP as u64;
            done();
        }
    }
}

/// An encoder of one frame.
///
/// # Errors
/// Environment: zstd refuses the parameters.
pub(crate) fn encoder<W: Write>(to: W, level: i32) -> io::Result<zstd::Encoder<'static, W>> {
    let mut encoder = zstd::Encoder::new(to, level)?;
    encoder.long_distance_matching(true)?;
    encoder.window_log(WINDOW_LOG)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

/// A decoder of one frame.
///
/// # Errors
/// As [`encoder`].
pub(crate) fn decoder<R: Read>(from: R) -> io::Result<impl Read> {
    let mut decoder = zstd::Decoder::new(from)?.single_frame();
    decoder.window_log_max(WINDOW_LOG)?;
    Ok(decoder)
}

/// A decoder's error: zstd's own are about the data.
pub(crate) fn undecodable(e: &io::Error) -> Error {
    match e.raw_os_error() {
        Some(_) => Error::environment(e.to_string()),
        None => Error::malformed(format!("damaged or truncated (zstd: {e})")),
    }
}

/// Whether a file begins as zstd's do.
fn is_compressed(file: &mut File) -> io::Result<bool> {
    let mut magic = Vec::new();
    file.take(4).read_to_end(&mut magic)?;
    Ok(magic == [0x28, 0xb5, 0x2f, 0xfd])
}

/// Writes a new file under a temporary name and renames it if `write` succeeds.
///
/// # Errors
/// Environment: the file cannot be written; those of `write`.
pub(crate) fn write_new(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let place = || path.display().to_string();
    let part = unfinished(path);
    let written = File::create_new(&part).at(place).and_then(|mut file| {
        write(&mut file)?;
        file.sync_data().at(place)
    });
    let renamed = written.and_then(|()| std::fs::rename(&part, path).at(place));
    if renamed.is_err() {
        // Fails if it could not be created.
        let _ = std::fs::remove_file(&part);
    }
    renamed
}

/// Compresses a pack; `done` is told of each MiB read.
///
/// # Errors
/// Environment: a file cannot be read or written.
pub fn compress(pack: &Path, to: &Path, level: i32, done: &mut dyn FnMut()) -> Result<()> {
    let (mut from, _) = files::open(pack)?;
    write_new(to, |file| {
        let mut encoder = encoder(file, level).at(|| to.display().to_string())?;
        copy(&mut from, &mut encoder, done).at(|| pack.display().to_string())?;
        encoder.finish().map(drop).at(|| to.display().to_string())
    })
}

/// Writes the pack of a file, compressed or not, to a new file; `done` is told of each MiB written. No more is written than the
/// pack's head says that it has.
///
/// # Errors
/// Malformed: it is damaged, or no pack. Unsupported: it unpacks to much more than packs do. Environment: a file cannot be read
/// or written.
pub fn unpack(from: &Path, to: &Path, done: &mut dyn FnMut()) -> Result<()> {
    let place = || from.display().to_string();
    let (mut file, length) = files::open(from)?;
    let compressed = is_compressed(&mut file).at(place)?;
    let (file, _) = files::open(from)?;
    let mut source: Box<dyn Read> = match compressed {
        true => Box::new(decoder(BufReader::new(file)).at(place)?),
        false => Box::new(file),
    };
    let mut head = [0; HEAD as usize];
    source.read_exact(&mut head).map_err(|e| undecodable(&e)).at(place)?;
    let bytes = Head::decode(&head).at(place)?.0.file_bytes();
    if compressed && bytes / MOST_RATIO > length {
        let why = format!("{length} bytes would become {bytes}: unpack it yourself (`zstd -d`) if you trust it");
        return Err(Error::unsupported("pack that unpacks to so much", why).at(place()));
    }
    write_new(to, |to| {
        to.write_all(&head).at(place)?;
        // One more than it should have, which opening it then refuses.
        let mut rest = source.take(bytes.saturating_sub(HEAD).saturating_add(1));
        copy(&mut rest, to, done).map_err(|e| undecodable(&e)).at(place).map(drop)
    })
}

/// An open pack, of a file that may be compressed.
pub struct Unpacked {
    pack: Pack,
    /// Its temporary file, if it is compressed.
    _file: Option<TempPath>,
}

impl Deref for Unpacked {
    type Target = Pack;
    fn deref(&self) -> &Pack {
        &self.pack
    }
}

/// Opens a pack; a compressed one is unpacked to a temporary file.
///
/// # Errors
/// As [`unpack`] and [`Pack::open`].
pub fn open(path: &Path) -> Result<Unpacked> {
    let (mut file, _) = files::open(path)?;
    if !is_compressed(&mut file).at(|| path.display().to_string())? {
        return Ok(Unpacked { pack: Pack::open(path)?, _file: None });
    }
    let dir = std::env::temp_dir();
    let to = tempfile::Builder::new().prefix("dovetail-pack-").tempfile_in(&dir).at(|| dir.display().to_string())?;
    let to = to.into_temp_path();
    unpack(path, &to, &mut || {})?;
    let pack = Pack::open(&to).map_err(|e| Error::malformed(e.to_string()).at(path.display().to_string()))?;
    Ok(Unpacked { pack, _file: Some(to) })
}
