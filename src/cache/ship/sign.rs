//! Makes keys, and signs packs with them.

use dovetail_base::error::{Context, Error, Result};
use dovetail_base::files;
use minisign::{KeyPair, PublicKey, SecretKey, SecretKeyBox};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Largest key that is read, in bytes.
const MAX_TEXT: u64 = 1 << 16;

fn bug(e: minisign::PError) -> Error {
    Error::bug(format!("minisign: {e}"))
}

/// Makes a key without a password, in two new files: the secret key, which only its owner may read, and the public key.
///
/// # Errors
/// Environment: a file exists already, or cannot be written.
pub fn new_key(secret: &Path, public: &Path, comment: &str) -> Result<()> {
    let pair = KeyPair::generate_unencrypted_keypair().map_err(bug)?;
    let boxes = [(secret, 0o600, pair.sk.to_box(Some(comment)).map_err(bug)?.into_string())];
    let public_text = format!("untrusted comment: {comment}\n{}\n", pair.pk.to_base64());
    for (path, mode, text) in boxes.into_iter().chain([(public, 0o644, public_text)]) {
        let place = || path.display().to_string();
        let mut file = File::options().write(true).create_new(true).mode(mode).open(path).at(place)?;
        file.write_all(text.as_bytes()).at(place)?;
        file.sync_data().at(place)?;
    }
    Ok(())
}

/// Reads a secret key. If it has a password and none is given, it is asked for on the terminal.
///
/// # Errors
/// Malformed: it is no key of minisign. Environment: the password is another, or the file cannot be read.
pub fn secret_key(path: &Path, password: Option<String>) -> Result<SecretKey> {
    let text = files::read_text(path, MAX_TEXT)?;
    let place = || path.display().to_string();
    let boxed =
        || SecretKeyBox::from_string(&text).map_err(|_| Error::malformed("not a minisign secret key")).at(place);
    if let Ok(key) = boxed()?.into_unencrypted_secret_key() {
        return Ok(key);
    }
    boxed()?.into_secret_key(password).map_err(|e| Error::environment(format!("the secret key: {e}"))).at(place)
}

/// The signature of a file's bytes, as minisign writes it. The comment is signed too.
///
/// # Errors
/// Environment: the bytes cannot be read. Malformed: a comment with a line break.
pub fn sign(key: &SecretKey, bytes: impl Read, comment: &str) -> Result<String> {
    if comment.contains(['\n', '\r']) {
        return Err(Error::malformed("the comment of a signature is one line"));
    }
    let public = PublicKey::from_secret_key(key).map_err(bug)?;
    let signed = minisign::sign(Some(&public), key, bytes, Some(comment), Some("signature of a dovetail pack"));
    Ok(signed.map_err(|e| Error::environment(format!("signing: {e}")))?.into_string())
}
