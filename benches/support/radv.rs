//! RADV in a process of its own (`benches/radv`), which is started again if it dies.
//!
//! `DOVETAIL_RADV` names the program, `DOVETAIL_RADV_ICD` the driver's manifest if it is not the system's, and
//! `DOVETAIL_RADV_LIBRARIES` a folder of libraries that it needs. `./dev bench --bench native` and `--bench link` set them.

#![allow(dead_code, reason = "each benchmark uses its part")]

#[path = "one_core.rs"]
mod one_core;

use dovetail::state::{BindingKind, ResourceLayout};
use dovetail::target::Gpu;
use one_core::OneCore;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// How RADV is asked for the code of a GPU.
#[derive(Clone, Copy)]
struct Peer {
    gpu: Gpu,
    /// Mesa's name of the chip, which its null device takes.
    family: &'static str,
    /// `RADV_PERFTEST`: lanes as in our code.
    options: &'static str,
    /// `RADV_DEBUG`: hardware stages as in our code.
    debug: &'static str,
}

/// 64 lanes for fragments, no NGG.
const OLDER: (&str, &str) = ("gewave32,gpl", "nongg");
/// 32 lanes everywhere, because dual instructions are for them only; NGG, which does not cull, since ours does not.
const DUAL: (&str, &str) = ("cswave32,pswave32,gewave32,gpl", "nonggc");

/// GPUs that have a peer. Mesa 25.0.7's null device gives gfx1150 and later ones the instructions of gfx1100, so they have none.
const PEERS: [Peer; 13] = {
    const fn peer(gpu: Gpu, family: &'static str, (options, debug): (&'static str, &'static str)) -> Peer {
        Peer { gpu, family, options, debug }
    }
    [
        peer(Gpu::Gfx1010, "navi10", OLDER),
        peer(Gpu::Gfx1011, "navi12", OLDER),
        peer(Gpu::Gfx1012, "navi14", OLDER),
        peer(Gpu::Gfx1030, "navi21", OLDER),
        peer(Gpu::Gfx1031, "navi22", OLDER),
        peer(Gpu::Gfx1032, "navi23", OLDER),
        peer(Gpu::Gfx1033, "vangogh", OLDER),
        peer(Gpu::Gfx1034, "navi24", OLDER),
        peer(Gpu::Gfx1035, "rembrandt", OLDER),
        peer(Gpu::Gfx1036, "raphael_mendocino", OLDER),
        peer(Gpu::Gfx1100, "navi31", DUAL),
        peer(Gpu::Gfx1101, "navi32", DUAL),
        peer(Gpu::Gfx1102, "navi33", DUAL),
    ]
};

/// What RADV caches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// Nothing.
    Nothing,
    /// Shaders in a `VkPipelineCache`.
    PipelineCache,
}

/// Why there is no answer of a process that is gone.
pub const ENDED: &str = "RADV ended";

/// The program, running.
pub struct Radv {
    program: OsString,
    keeps: Keeps,
    peer: Peer,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The driver's name and version.
    pub driver: String,
    core: Option<OneCore>,
}

impl Drop for Radv {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Radv {
    /// Starts it for a GPU, if there is one and it can make that GPU's code.
    pub fn start(keeps: Keeps, gpu: Gpu) -> Option<Self> {
        let program = std::env::var_os("DOVETAIL_RADV")?;
        let Some(peer) = PEERS.iter().find(|peer| peer.gpu == gpu) else {
            eprintln!("NO RADV: without a GPU, Mesa makes no code for {gpu}");
            return None;
        };
        match Self::run(program, keeps, *peer, OneCore::bound()) {
            Ok(radv) => Some(radv),
            Err(e) => {
                eprintln!("NO RADV: {e}");
                None
            }
        }
    }

    fn run(program: OsString, keeps: Keeps, peer: Peer, core: Option<OneCore>) -> Result<Self, String> {
        let mut command = Command::new(&program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let debug = if keeps == Keeps::Nothing { format!("nocache,{}", peer.debug) } else { peer.debug.to_owned() };
        command.env("RADV_FORCE_FAMILY", peer.family).env("RADV_PERFTEST", peer.options).env("RADV_DEBUG", debug);
        command.env("MESA_SHADER_CACHE_DISABLE", "true");
        match std::env::var_os("DOVETAIL_RADV_ICD") {
            Some(icd) => command.env("VK_DRIVER_FILES", &icd).env("VK_ICD_FILENAMES", icd),
            None => command.env("VK_LOADER_DRIVERS_SELECT", "*radeon*"),
        };
        if let Some(libraries) = std::env::var_os("DOVETAIL_RADV_LIBRARIES") {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        let (to, from) = (child.stdin.take().ok_or("no stdin")?, child.stdout.take().ok_or("no stdout")?);
        core.iter().for_each(|core| core.share(child.id()));
        let mut out = Self { program, keeps, peer, child, to, from: BufReader::new(from), driver: String::new(), core };
        out.driver = out.answer()?["Driver"].as_str().unwrap_or_default().to_owned();
        Ok(out)
    }

    /// The next line, without what a driver prints.
    fn answer(&mut self) -> Result<Value, String> {
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
                return Err(ENDED.to_owned());
            }
            if let Ok(Value::Object(answer)) = serde_json::from_str(&line) {
                return match answer.get("Error") {
                    Some(e) => Err(e.as_str().unwrap_or_default().to_owned()),
                    None => Ok(Value::Object(answer)),
                };
            }
        }
    }

    /// Sends a request. A process that ends is restarted, without what it kept.
    pub fn ask(&mut self, request: &Value) -> Result<Value, String> {
        let asked = writeln!(self.to, "{request}").and_then(|()| self.to.flush());
        let answer = asked.map_err(|e| e.to_string()).and_then(|()| self.answer());
        if answer.as_ref().is_err_and(|e| e == ENDED) {
            let _ = self.child.wait();
        }
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            *self = Self::run(self.program.clone(), self.keeps, self.peer, self.core.take())?;
        }
        answer
    }

    /// CPU nanoseconds of a compile.
    pub fn time(&mut self, request: &mut Value) -> Result<u64, String> {
        request["Stage"]["listing"] = json!(false);
        self.ask(request)?["Nanoseconds"].as_u64().ok_or_else(|| "no time".to_owned())
    }

    /// Words of the machine code.
    pub fn code(&mut self, request: &mut Value) -> Result<Vec<u32>, String> {
        request["Stage"]["listing"] = json!(true);
        serde_json::from_value(self.ask(request)?["Code"].take()).map_err(|e| e.to_string())
    }
}

/// A layout as the program expects it.
pub fn layout(layout: &ResourceLayout) -> Result<Value, String> {
    let mut bindings = Vec::new();
    for set in &layout.sets {
        for binding in &set.bindings {
            let BindingKind::One(kind) = &binding.kind else { return Err("a binding of several kinds".to_owned()) };
            bindings.push(json!([set.set, binding.binding, kind, binding.count]));
        }
    }
    Ok(json!({ "bindings": bindings, "push": layout.push_constant_bytes }))
}
