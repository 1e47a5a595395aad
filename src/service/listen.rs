//! The socket: where it is, whose it is, and that there is one service behind it.
//!
//! A folder that is made for it belongs to this user alone (0700), as does the socket (0600); who connects has to be this user
//! all the same. A lock file beside it, held as long as the service lives, tells a service that runs from a socket that was left
//! behind, which is replaced. A socket that was passed by whoever started the service, such as systemd, is taken as it is.

use crate::error::{Context as _, Error, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::net::sockopt::socket_acceptconn;
use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time that the lock may still be held after a service was killed: a worker that it was about to start has all of its
/// files until it runs the worker's program.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

/// A socket that is listened on.
pub struct Socket {
    /// The listener, not blocking.
    pub listener: UnixListener,
    /// Its path, and the lock; none if it was passed.
    own: Option<(PathBuf, File)>,
}

impl Socket {
    /// Takes the socket that is passed as systemd does it (`$LISTEN_FDS`), or makes one at `path`.
    ///
    /// # Errors
    /// Environment: another service listens there, what was passed does not listen, or the system refuses.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let inherited = listenfd::ListenFd::from_env().take_unix_listener(0).map_err(Error::from);
        if let Some(listener) = inherited.at(|| "socket passed by $LISTEN_FDS")? {
            if !socket_acceptconn(&listener).map_err(std::io::Error::from)? {
                return Err(Error::environment("socket passed by $LISTEN_FDS: it does not listen"));
            }
            listener.set_nonblocking(true)?;
            return Ok(Self { listener, own: None });
        }
        let path = path.ok_or_else(|| {
            Error::environment("this session has no folder for sockets ($XDG_RUNTIME_DIR): name one with --socket")
        })?;
        Self::bind(path).at(|| format!("socket {}", path.display()))
    }

    fn bind(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(".lock");
        let lock = File::options().create(true).truncate(false).write(true).open(PathBuf::from(beside))?;
        let begun = Instant::now();
        while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            if begun.elapsed() >= LEFT_BEHIND {
                return Err(Error::environment("another service listens there"));
            }
            sleep(LEFT_BEHIND / 50);
        }
        match std::fs::symlink_metadata(path) {
            // Nobody holds the lock, so nobody listens.
            Ok(there) if there.file_type().is_socket() => std::fs::remove_file(path)?,
            Ok(_) => return Err(Error::environment("it exists and is not a socket")),
            Err(_) => {}
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, own: Some((path.to_owned(), lock)) })
    }

    /// Where it is, for people.
    pub fn place(&self) -> String {
        self.own.as_ref().map_or_else(|| "a socket that was passed".into(), |(path, _)| path.display().to_string())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Under the lock still, so it is ours; and a path that is left behind does no harm.
        if let Some((path, _)) = &self.own {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether this user may ask for anything: it is the service's own.
pub fn is_welcome(user: u32) -> bool {
    user == rustix::process::geteuid().as_raw()
}
