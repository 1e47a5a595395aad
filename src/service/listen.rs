//! The listening socket: its path, its owner, the guarantee that only one service listens on it, and the sessions of those
//! who connect.
//!
//! A directory created for the socket has mode 0700, the socket 0600; connections of other users are refused all the
//! same. A lock file next to it, held as long as the service lives, distinguishes a running service from a stale
//! socket, which is replaced. A socket that the parent process passed, such as systemd's, is used as it is.

use super::door::Door;
use super::jobs::ClientId;
use super::locked::lock;
use super::session::{self, Greeting};
use super::wake::Message;
use dovetail_base::error::{Context as _, Error, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::net::sockopt::socket_acceptconn;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Time for which the lock may still be held after a service was killed: a worker that it was starting holds all its
/// file descriptors until it executes the worker's program.
const LEFT_BEHIND: Duration = Duration::from_secs(1);
/// Pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(500);

/// A listening socket.
pub struct Socket {
    /// The listener, non-blocking.
    pub listener: UnixListener,
    /// Path and lock; `None` if the socket was passed.
    own: Option<(PathBuf, File)>,
}

impl Socket {
    /// Uses the socket passed in systemd's way (`$LISTEN_FDS`), or creates one at `path`.
    ///
    /// # Errors
    /// Environment: another service listens there, the passed descriptor does not listen, or the system refuses.
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
        // Whoever can open the lock can keep the service from starting.
        let mut options = File::options();
        options.create(true).truncate(false).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let lock = options.open(PathBuf::from(beside))?;
        lock.set_permissions(Permissions::from_mode(0o600))?;
        let begun = Instant::now();
        while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            if begun.elapsed() >= LEFT_BEHIND {
                return Err(Error::environment("another service listens there"));
            }
            sleep(LEFT_BEHIND / 50);
        }
        match std::fs::symlink_metadata(path) {
            // We hold the lock, so nobody listens.
            Ok(there) if there.file_type().is_socket() => std::fs::remove_file(path)?,
            Ok(_) => return Err(Error::environment("it exists and is not a socket")),
            Err(_) => {}
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, own: Some((path.to_owned(), lock)) })
    }

    /// The socket's place, for people.
    pub fn place(&self) -> String {
        self.own.as_ref().map_or_else(|| "a socket that was passed".into(), |(path, _)| path.display().to_string())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // We still hold the lock, so the path is ours; if removal fails, a stale path does no harm.
        if let Some((path, _)) = &self.own {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether this user may connect: only the service's own user.
pub fn is_welcome(user: u32) -> bool {
    user == rustix::process::geteuid().as_raw()
}

/// Sessions that are open, to end them.
pub(super) type Sessions = Arc<Mutex<BTreeMap<ClientId, tokio::task::AbortHandle>>>;

/// Accepts connections, and starts a session for each.
pub(super) fn accept(
    socket: &Socket,
    greeting: Arc<Greeting>,
    to: mpsc::Sender<Message>,
    sessions: Sessions,
) -> Result<()> {
    let listener = tokio::net::UnixListener::from_std(socket.listener.try_clone()?)?;
    let door = Arc::new(Door::default());
    tokio::spawn(async move {
        let mut last = ClientId::SERVICE;
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Probably out of file descriptors: connections that close free some.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Some(peer) = stream.peer_cred().ok().filter(|peer| is_welcome(peer.uid())) else { continue };
            let place = match door.admit(peer.pid().unwrap_or_default()) {
                Ok(place) => place,
                Err(why) => {
                    session::refuse(&stream, &why);
                    // Sending fails only if the service has ended.
                    let _ = to.send(Message::Refused(why)).await;
                    continue;
                }
            };
            last = ClientId(last.0 + 1);
            // Under the lock, so that a session that ends at once finds its entry and removes it.
            let mut open = lock(&sessions);
            let session = tokio::spawn(session::run(stream, last, place, greeting.clone(), to.clone()));
            open.insert(last, session.abort_handle());
        }
    });
    Ok(())
}
