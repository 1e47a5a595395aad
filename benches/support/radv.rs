//! RADV in a process of its own (`benches/radv`), which is started again if it dies.
//!
//! `DOVETAIL_RADV` names the program, `DOVETAIL_RADV_ICD` the driver's manifest if it is not the system's, and
//! `DOVETAIL_RADV_LIBRARIES` a folder of libraries that it needs. `./dev bench --bench native` and `--bench link` set them.

#![allow(dead_code, reason = "each benchmark uses its part")]

#[path = "one_core.rs"]
mod one_core;

use dovetail::state::{BindingKind, ResourceLayout};
use one_core::OneCore;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// No GPU; nothing cached on disk; no NGG and 32 lanes for vertices, as our code has it.
const ENVIRONMENT: [(&str, &str); 3] =
    [("RADV_FORCE_FAMILY", "navi21"), ("RADV_PERFTEST", "gewave32,gpl"), ("MESA_SHADER_CACHE_DISABLE", "true")];

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
    /// Starts it, if there is one.
    pub fn start(keeps: Keeps) -> Option<Self> {
        let program = std::env::var_os("DOVETAIL_RADV")?;
        match Self::run(program, keeps, OneCore::bound()) {
            Ok(radv) => Some(radv),
            Err(e) => {
                eprintln!("NO RADV: {e}");
                None
            }
        }
    }

    fn run(program: OsString, keeps: Keeps, core: Option<OneCore>) -> Result<Self, String> {
        let mut command = Command::new(&program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        for (name, value) in ENVIRONMENT {
            command.env(name, value);
        }
        command.env("RADV_DEBUG", if keeps == Keeps::Nothing { "nocache,nongg" } else { "nongg" });
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
        let mut out = Self { program, keeps, child, to, from: BufReader::new(from), driver: String::new(), core };
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
            *self = Self::run(self.program.clone(), self.keeps, self.core.take())?;
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
