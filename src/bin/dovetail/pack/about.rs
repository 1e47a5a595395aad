//! What the commands of `dovetail pack` share: where packs are written, whose are accepted, how they are described.

use crate::common::{Output, print_json};
use crate::progress::Progress;
use dovetail::error::{Context, Result};
use dovetail::pack::{Pack, PackMeta, Root};
use dovetail::ship::transport::{self, LEVEL};
use dovetail::ship::trust::Trust;
use std::path::{Path, PathBuf};

/// Where a pack is written.
#[derive(clap::Args)]
pub struct OutArgs {
    /// Output file; compressed if its name ends in `.zst`, and standard output for `-`.
    #[arg(long, short, value_name = "FILE")]
    pub out: Output,
    /// Level of compression, 1 to 22: from 10 on it takes seconds for each 10 MB.
    #[arg(long, default_value_t = LEVEL, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=22))]
    level: i32,
}

impl OutArgs {
    /// Has a pack written, and compresses it if its name says so.
    pub fn write(&self, make: impl FnOnce(&Path) -> Result<About>) -> Result<About> {
        let path = self.out.path();
        if !transport::has_compressed_name(path) {
            return written(&self.out, make);
        }
        let folder = temporary()?;
        let raw = folder.path().join("pack");
        let about = make(&raw)?;
        let progress = Progress::new((about.file_bytes as usize).div_ceil(transport::STEP), "compressing, MiB");
        transport::compress(&raw, path, self.level, &mut || progress.tick())?;
        progress.finish();
        Ok(about)
    }
}

/// Whose packs are accepted.
#[derive(clap::Args)]
pub struct TrustArgs {
    /// Public key (.pub), or folder of keys and of signed withdrawals (.withdrawn.toml); may be repeated. By default the folders
    /// dovetail/trust in $XDG_CONFIG_HOME or ~/.config, and /etc/dovetail/trust.
    #[arg(long, value_name = "PATH")]
    trust: Vec<PathBuf>,
}

impl TrustArgs {
    pub fn read(&self) -> Result<Trust> {
        if self.trust.is_empty() {
            return Trust::standard();
        }
        let (folders, keys): (Vec<PathBuf>, Vec<PathBuf>) = self.trust.iter().cloned().partition(|path| path.is_dir());
        keys.iter().try_fold(Trust::read(&folders)?, |trust, key| trust.with_key(key))
    }
}

/// What a pack is, for people and for other programs.
#[derive(serde::Serialize)]
pub struct About {
    pub name: String,
    pub version: u64,
    pub root: String,
    pub targets: Vec<String>,
    pub compilers: Vec<String>,
    pub keys: u64,
    pub payloads: u64,
    pub payload_bytes: u64,
    pub file_bytes: u64,
}

impl About {
    pub fn of(pack: &Pack) -> Self {
        let (head, meta) = (pack.head(), pack.meta().clone());
        let PackMeta { name, version, targets, compilers } = meta;
        Self {
            name,
            version,
            root: pack.root().to_string(),
            targets,
            compilers,
            keys: head.keys,
            payloads: head.payloads,
            payload_bytes: head.data,
            file_bytes: head.file_bytes(),
        }
    }

    pub fn lines(&self) -> String {
        let list = |list: &[String]| if list.is_empty() { "-".to_owned() } else { list.join(", ") };
        format!(
            "{} {}: {} keys, {} payloads of {} bytes, file {} bytes\n  for {}, by {}\n  root {}",
            self.name,
            self.version,
            self.keys,
            self.payloads,
            self.payload_bytes,
            self.file_bytes,
            list(&self.targets),
            list(&self.compilers),
            self.root
        )
    }

    pub fn print(&self, json: bool) -> Result<()> {
        if json {
            return print_json(self);
        }
        println!("{}", self.lines());
        Ok(())
    }
}

/// Parses a pack's root.
pub fn root(text: &str) -> Result<Root> {
    text.parse()
}

/// Parses a pack's name.
pub fn pack_name(text: &str) -> Result<String> {
    PackMeta { name: text.to_owned(), ..PackMeta::default() }.check()?;
    Ok(text.to_owned())
}

/// Has a file written whose size is not known before: to its place, or to standard output by way of a temporary file.
pub fn written<T>(out: &Output, make: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    out.claim();
    if !out.is_standard() {
        return make(out.path());
    }
    let folder = temporary()?;
    let path = folder.path().join("result");
    let made = make(&path)?;
    out.write(&dovetail::files::read(&path, u64::MAX)?)?;
    Ok(made)
}

fn temporary() -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("dovetail-pack-").tempdir().at(|| "a temporary folder")
}
