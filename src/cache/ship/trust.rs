//! Whose packs are accepted: public keys in trusted folders, and what their owners have withdrawn.
//!
//! Keys and signatures are minisign's, over a pack's bytes, so its own program makes and checks them too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files;
use dovetail_cache::refuse_open_to_all;
use dovetail_pack::Root;
use minisign_verify::{PublicKey, Signature};
use serde::Deserialize;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Largest key, signature or list that is read, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// The number that a key's owner gave it, as minisign prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId([u8; 8]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", u64::from_le_bytes(self.0))
    }
}

impl KeyId {
    /// That of a key or signature: after two bytes that name the algorithm.
    fn of(base64: &str) -> Option<Self> {
        STANDARD.decode(base64.trim()).ok()?.get(2..)?.first_chunk().map(|id| Self(*id))
    }
}

/// A key whose packs are accepted.
#[derive(Clone, Debug)]
pub struct TrustedKey {
    /// Its id.
    pub id: KeyId,
    /// Its file.
    pub path: PathBuf,
    key: PublicKey,
}

/// What the owner of a key has withdrawn.
#[derive(Clone, Debug)]
struct Withdrawal {
    by: KeyId,
    path: PathBuf,
    /// Whether the key itself is withdrawn.
    key: bool,
    roots: Vec<Root>,
}

/// A file `*.withdrawn.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithdrawalFile {
    /// Whether no pack of the key that signed this file is accepted any longer.
    #[serde(default)]
    key: bool,
    /// Roots of packs.
    #[serde(default)]
    roots: Vec<String>,
}

/// Keys, and what their owners have withdrawn.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// The keys.
    pub keys: Vec<TrustedKey>,
    withdrawn: Vec<Withdrawal>,
    folders: Vec<PathBuf>,
}

/// A signature that is valid, by a trusted key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The key.
    pub by: KeyId,
    /// What the signer says about it, which is signed too.
    pub comment: String,
}

/// The folders of trusted keys: the user's and the machine's.
pub fn standard_folders() -> Vec<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    let own = own.map(|own| own.join("dovetail/trust"));
    own.into_iter().chain([PathBuf::from("/etc/dovetail/trust")]).collect()
}

/// The name of the signature of a file.
pub fn signature_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".minisig");
    name.into()
}

impl Trust {
    /// Reads keys (`*.pub`) and signed withdrawals (`*.withdrawn.toml`) from folders; one that does not exist has none.
    ///
    /// # Errors
    /// Malformed: a key or a withdrawal, or its signature is not valid. Environment: a file cannot be read, or every user may write
    /// a folder.
    pub fn read(folders: &[PathBuf]) -> Result<Self> {
        let mut trust = Self { folders: folders.to_vec(), ..Self::default() };
        let mut lists = Vec::new();
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            let place = || folder.display().to_string();
            refuse_open_to_all(folder)?;
            let found = std::fs::read_dir(folder).at(place)?;
            let mut paths = found.map(|found| Ok(found?.path())).collect::<io::Result<Vec<_>>>().at(place)?;
            paths.sort();
            for path in paths {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if name.ends_with(".pub") {
                    trust.keys.push(read_key(&path)?);
                } else if name.ends_with(".withdrawn.toml") {
                    lists.push(path);
                }
            }
        }
        for path in lists {
            // Of an owner that is not trusted any longer: it says nothing about other owners' packs.
            let signature = read_signature(&signature_path(&path))?;
            if trust.key(signature.1).is_none() {
                continue;
            }
            trust.withdrawn.push(trust.read_withdrawal(&path, &signature).at(|| path.display().to_string())?);
        }
        Ok(trust)
    }

    /// The keys in the standard folders.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn standard() -> Result<Self> {
        Self::read(&standard_folders())
    }

    /// The same, with one key more.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn with_key(mut self, path: &Path) -> Result<Self> {
        self.keys.push(read_key(path)?);
        Ok(self)
    }

    fn key(&self, id: KeyId) -> Option<&TrustedKey> {
        self.keys.iter().find(|key| key.id == id)
    }

    fn read_withdrawal(&self, path: &Path, signature: &(Signature, KeyId)) -> Result<Withdrawal> {
        let bytes = files::read(path, MAX_TEXT)?;
        self.check_bytes(signature, |sink| sink.write_all(&bytes))?;
        let text = String::from_utf8(bytes).map_err(|e| Error::malformed(format!("no UTF-8 text: {e}")))?;
        let list: WithdrawalFile = toml::from_str(&text).map_err(|e| Error::malformed(e.to_string()))?;
        let roots = list.roots.iter().map(|root| root.parse()).collect::<Result<_>>()?;
        Ok(Withdrawal { by: signature.1, path: path.to_owned(), key: list.key, roots })
    }

    /// Checks the signature of a file; `done` is told of each MiB.
    ///
    /// # Errors
    /// Malformed: the signature is not that of these bytes, or no signature. Environment: its key is not trusted or withdrawn, or a
    /// file cannot be read.
    pub fn check(&self, file: &Path, signature: &Path, done: &mut dyn FnMut()) -> Result<Signed> {
        let (mut from, _) = files::open(file)?;
        let signature_of = read_signature(signature)?;
        self.check_bytes(&signature_of, |mut sink| crate::transport::copy(&mut from, &mut sink, done).map(drop))
            .at(|| signature.display().to_string())
    }

    fn check_bytes(
        &self,
        (signature, id): &(Signature, KeyId),
        read: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Signed> {
        let key = self.key(*id).ok_or_else(|| {
            let folders: Vec<String> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
            let which = if folders.is_empty() { "a trusted folder".to_owned() } else { folders.join(" or ") };
            Error::environment(format!(
                "signed by the key {id}, which is not trusted: if you trust its owner, put the public key (*.pub) into {which}"
            ))
        })?;
        if let Some(list) = self.withdrawn.iter().find(|list| list.by == *id && list.key) {
            let list = list.path.display();
            return Err(Error::environment(format!("signed by the key {id}, which its owner has withdrawn ({list})")));
        }
        let wrong =
            |e: minisign_verify::Error| Error::malformed(format!("not the signature of this file by {id}: {e}"));
        let mut verifier = key.key.verify_stream(signature).map_err(wrong)?;
        struct Sink<'a, 'b>(&'a mut minisign_verify::StreamVerifier<'b>);
        impl Write for Sink<'_, '_> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.update(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        read(&mut Sink(&mut verifier)).map_err(Error::from)?;
        verifier.finalize().map_err(wrong)?;
        Ok(Signed { by: *id, comment: signature.trusted_comment().to_owned() })
    }

    /// Why a pack is withdrawn; `None` if it is not. `signer` is the key that signed it.
    pub fn withdrawn(&self, root: Root, signer: Option<&str>) -> Option<String> {
        let theirs = |list: &&Withdrawal| signer == Some(list.by.to_string().as_str());
        let list = self.withdrawn.iter().filter(theirs).find(|list| list.key || list.roots.contains(&root))?;
        let what = if list.key { "its signer has withdrawn the key" } else { "its signer has withdrawn it" };
        Some(format!("{what} ({})", list.path.display()))
    }
}

fn read_key(path: &Path) -> Result<TrustedKey> {
    let place = || path.display().to_string();
    let text = files::read_text(path, MAX_TEXT)?;
    // A comment and the key, or the key alone.
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let parsed = PublicKey::from_base64(line.trim()).ok().zip(KeyId::of(line));
    let (key, id) = parsed.ok_or_else(|| Error::malformed("not a minisign public key")).at(place)?;
    Ok(TrustedKey { id, path: path.to_owned(), key })
}

fn read_signature(path: &Path) -> Result<(Signature, KeyId)> {
    let text = files::read_text(path, MAX_TEXT)?;
    let wrong = || Error::malformed("not a minisign signature").at(path.display().to_string());
    let id = text.lines().nth(1).and_then(KeyId::of).ok_or_else(wrong)?;
    Signature::decode(&text).map(|signature| (signature, id)).map_err(|_| wrong())
}
