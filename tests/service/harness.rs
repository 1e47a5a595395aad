//! A service in its own folder, and clients that speak the runtime's protocol.

#![allow(dead_code, reason = "the benchmark uses its part")]

use crate::smallest::shader;
use dovetail::cache::{Cache, Key, StoreKind};
use dovetail::compile::Compiler;
use dovetail::compile::generators::BuiltInCompiler;
use dovetail::compile::request::{Module, ModuleDigest, StageRequest, default_wave};
use dovetail::frame::Bytes;
use dovetail::keys;
use dovetail::link::Placement;
use dovetail::runtime::{Answer, Context, Layout, ModuleRef, PipelineFlags, PipelineInfo, Shader, ShaderInfo, Size};
use dovetail::state::PipelineState;
use dovetail::target::{Gpu, Stage};
use dovetail::wire::{
    Ask, Cached, Connection, Hello, PROTOCOLS, Priority, REQUEST_SCHEMA, ServiceStatus, StageAsk, Tell, Welcome,
};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Timeout longer than anything here takes, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running service. Dropping it kills it.
pub struct Service {
    pub dir: tempfile::TempDir,
    arguments: Vec<String>,
    pub process: Child,
}

impl Service {
    /// Starts a service with these arguments, in addition to its paths. It runs as `--dedicated`, because the test
    /// machine may be busy.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, |_, _| {})
    }

    /// The same, after `set` has changed its command; `set` gets its folder too.
    pub fn start_with(arguments: &[&str], set: impl FnOnce(&mut Command, &Path)) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let mut command = command(dir.path(), &arguments);
        set(&mut command, dir.path());
        let process = command.spawn().expect("the program");
        Self { dir, arguments, process }
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    pub fn cache_dir(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    pub fn cache(&self) -> Cache {
        Cache::open(&self.cache_dir(), StoreKind::Lmdb).expect("a cache")
    }

    /// Process ids of its workers.
    pub fn children(&self) -> Vec<i32> {
        let pid = self.process.id();
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Its output on standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Starts another service at the same paths.
    pub fn start_again(&mut self) {
        self.process = run(self.dir.path(), &self.arguments);
    }

    /// Kills it by kill -9, and waits for its end.
    pub fn kill(&mut self) {
        self.process.kill().expect("a process");
        self.process.wait().expect("a process");
    }

    pub fn terminate(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a process");
    }

    pub fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("a process") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the service does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A client that reads the service's cache.
    pub fn client(&self) -> Client {
        let begun = Instant::now();
        while !self.cache_dir().exists() {
            assert!(begun.elapsed() < PATIENCE, "the service makes no cache");
            std::thread::sleep(Duration::from_millis(5));
        }
        Client::connect(&self.socket(), cached(&self.cache_dir()))
    }

    /// A client that must be sent all results.
    pub fn distant_client(&self) -> Client {
        Client::connect(&self.socket(), None)
    }

    pub fn status(&self) -> ServiceStatus {
        self.client().status()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn command(dir: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    command.arg("serve").arg("--socket").arg(dir.join("socket")).arg("--cache").arg(dir.join("cache"));
    command.arg("--dedicated").args(arguments).env_remove("LISTEN_FDS").stdin(Stdio::null());
    let log = std::fs::File::options().create(true).append(true).open(dir.join("log")).expect("a log");
    command.stderr(log).stdout(Stdio::null());
    command
}

fn run(dir: &Path, arguments: &[String]) -> Child {
    command(dir, arguments).spawn().expect("the program")
}

/// Identity of the cache that a client reads.
pub fn cached(dir: &Path) -> Option<Cached> {
    let data = std::fs::metadata(dir).ok()?;
    Some(Cached { device: data.dev(), inode: data.ino() })
}

/// A client that has all modules of its requests.
pub struct Client {
    pub welcome: Welcome,
    sender: dovetail::wire::Sender,
    receiver: dovetail::wire::Receiver,
    modules: BTreeMap<ModuleDigest, Vec<u8>>,
    last: u64,
    /// Whether it sends modules when asked.
    pub sends_modules: bool,
}

impl Client {
    pub fn connect(socket: &Path, cache: Option<Cached>) -> Self {
        let begun = Instant::now();
        loop {
            match Self::try_connect(socket, cache) {
                Some(client) => return client,
                None => assert!(begun.elapsed() < PATIENCE, "nobody answers at {}", socket.display()),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// `None` while there is no service.
    pub fn try_connect(socket: &Path, cache: Option<Cached>) -> Option<Self> {
        let hello = Hello { protocols: PROTOCOLS, schema: REQUEST_SCHEMA.into(), app: "test".into(), cache };
        let Connection { welcome, sender, receiver } = Connection::open(socket, &hello, PATIENCE).ok()?;
        receiver.stream().set_read_timeout(Some(PATIENCE)).expect("a socket");
        Some(Self { welcome, sender, receiver, modules: BTreeMap::new(), last: 0, sends_modules: true })
    }

    pub fn send(&mut self, ask: &Ask) {
        self.sender.send(ask).expect("the service takes it");
    }

    /// Requests the smallest shader with this entry point; returns the request's number.
    pub fn ask(&mut self, entry: &str, class: Priority) -> u64 {
        self.try_ask(entry, class).expect("the service takes it")
    }

    pub fn try_ask(&mut self, entry: &str, class: Priority) -> dovetail::error::Result<u64> {
        let (bytes, request) = (shader(entry), request(entry));
        self.ask_for(bytes, request, class)
    }

    pub fn ask_for(&mut self, module: Vec<u8>, request: StageRequest, class: Priority) -> dovetail::error::Result<u64> {
        self.modules.insert(request.module, module);
        self.last += 1;
        let (id, inline, cached_only) = (self.last, false, false);
        self.sender.send(&Ask::Stage(StageAsk { id, request, class, inline, cached_only }))?;
        Ok(id)
    }

    /// A number for a request that the test sends itself.
    pub fn next_id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Adds a module that the client can send.
    pub fn give(&mut self, module: &[u8]) {
        let digest = ModuleDigest(*blake3::hash(module).as_bytes());
        self.modules.insert(digest, module.to_vec());
    }

    /// The next message that is an answer; sends requested modules meanwhile. `None` once the connection is closed.
    pub fn try_next(&mut self) -> Option<Tell> {
        loop {
            match self.receiver.receive().ok()?? {
                Tell::NeedModule { digest } if self.sends_modules => {
                    let ask = match self.modules.get(&digest) {
                        Some(module) => Ask::Module { module: Bytes(module.clone()) },
                        None => Ask::NoModule { digest },
                    };
                    self.sender.send(&ask).ok()?;
                }
                Tell::Queued { .. } => {}
                other => return Some(other),
            }
        }
    }

    pub fn next(&mut self) -> Tell {
        self.try_next().expect("the connection holds")
    }

    /// The answer to the only outstanding request: the part's ELF, or the error.
    pub fn stage(&mut self) -> Result<(Key, Option<Vec<u8>>), dovetail::error::Error> {
        match self.next() {
            Tell::Stage { part: Some(part), .. } => Ok((part.key, part.elf.map(|Bytes(elf)| elf))),
            Tell::Failed { error, .. } => Err(error),
            other => panic!("no answer to a request for a stage: {other:?}"),
        }
    }

    pub fn compile(&mut self, entry: &str, class: Priority) -> Result<(Key, Option<Vec<u8>>), dovetail::error::Error> {
        self.ask(entry, class);
        self.stage()
    }

    pub fn status(&mut self) -> ServiceStatus {
        self.send(&Ask::Status);
        loop {
            if let Tell::Status(status) = self.next() {
                return *status;
            }
        }
    }

    /// Polls the status until it satisfies `is`.
    pub fn until(&mut self, what: &str, is: impl Fn(&ServiceStatus) -> bool) -> ServiceStatus {
        let begun = Instant::now();
        loop {
            let status = self.status();
            if is(&status) {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "never: {what}: {status:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

pub fn request(entry: &str) -> StageRequest {
    StageRequest {
        target: Gpu::Gfx1030,
        stage: Stage::Compute,
        module: Module::new(shader(entry)).expect("a module").digest(),
        entry_point: entry.into(),
        specialization: Vec::new(),
        wave: default_wave(Gpu::default(), Stage::Compute, false),
        options: Default::default(),
        known: Default::default(),
    }
}

pub fn key(entry: &str) -> Key {
    keys::stage(&request(entry), BuiltInCompiler::new().id()).expect("a key")
}

/// Info of a compute shader for the runtime.
pub fn compute_shader<'a>(module: &'a [u8], name: &'a str) -> ShaderInfo<'a> {
    ShaderInfo {
        module: ModuleRef::Code(module),
        entry_point: name,
        stage: Stage::Compute,
        wave: None,
        specialization: &[],
        no_disk: false,
        fail_on_compile: false,
        priority: 1,
        user: 0,
    }
}

/// Links a ready compute shader; returns the ELF.
pub fn link_compute(context: &Context, shader: &Shader) -> Vec<u8> {
    let state = PipelineState::default();
    let layout = Layout::new(&state.layout).expect("a layout");
    let info = PipelineInfo {
        shaders: &[shader],
        layout: &layout,
        state: &state,
        placement: Placement::Adjacent,
        flags: PipelineFlags::NO_OPTIMIZE,
        priority: 0,
        user: 0,
    };
    let mut out = vec![0; 1 << 16];
    let linked = context.link_into(&info, &mut out).expect("a link");
    let Answer::Ready((Size::Written(size), _)) = linked else { panic!("{linked:?}") };
    out.truncate(size);
    out
}
