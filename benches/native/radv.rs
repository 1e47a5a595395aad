//! RADV in a separate process (`benches/radv`), which is restarted if it crashes.
//!
//! `DOVETAIL_RADV` names the program, `DOVETAIL_RADV_ICD` the driver's manifest unless it is the system's, and
//! `DOVETAIL_RADV_LIBRARIES` a folder with libraries that it needs. `./dev bench --bench native` sets them.

use crate::shaders::Shader;
use dovetail::state::BindingKind;
use dovetail::target::WaveSize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// No GPU; no disk cache; no NGG and wave32 for vertex shaders, as in our code.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("RADV_FORCE_FAMILY", "navi21"),
    ("RADV_DEBUG", "nocache,nongg"),
    ("RADV_PERFTEST", "gewave32,gpl"),
    ("MESA_SHADER_CACHE_DISABLE", "true"),
];

/// Error after the process has ended.
const ENDED: &str = "RADV ended";

/// The running program.
pub struct Radv {
    program: OsString,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The driver's name and version.
    pub driver: String,
}

impl Drop for Radv {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Radv {
    /// Starts it, if it is available.
    pub fn start() -> Option<Self> {
        let program = std::env::var_os("DOVETAIL_RADV")?;
        match Self::run(program) {
            Ok(radv) => Some(radv),
            Err(e) => {
                eprintln!("NO RADV: {e}");
                None
            }
        }
    }

    fn run(program: OsString) -> Result<Self, String> {
        let mut command = Command::new(&program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        for (name, value) in ENVIRONMENT {
            command.env(name, value);
        }
        match std::env::var_os("DOVETAIL_RADV_ICD") {
            Some(icd) => command.env("VK_DRIVER_FILES", &icd).env("VK_ICD_FILENAMES", icd),
            None => command.env("VK_LOADER_DRIVERS_SELECT", "*radeon*"),
        };
        if let Some(libraries) = std::env::var_os("DOVETAIL_RADV_LIBRARIES") {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        let (to, from) = (child.stdin.take().ok_or("no stdin")?, child.stdout.take().ok_or("no stdout")?);
        let mut out = Self { program, child, to, from: BufReader::new(from), driver: String::new() };
        out.driver = out.answer()?["Driver"].as_str().unwrap_or_default().to_owned();
        Ok(out)
    }

    /// The next line of JSON, skipping the driver's own output.
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

    fn ask(&mut self, request: &Value) -> Result<Value, String> {
        let asked = writeln!(self.to, "{request}").and_then(|()| self.to.flush());
        let answer = asked.map_err(|e| e.to_string()).and_then(|()| self.answer());
        if answer.as_ref().is_err_and(|e| e == ENDED) {
            let _ = self.child.wait();
        }
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            *self = Self::run(self.program.clone())?;
        }
        answer
    }

    /// CPU time of a compile, in nanoseconds.
    pub fn time(&mut self, request: &mut Value) -> Result<u64, String> {
        request["code"] = json!(false);
        self.ask(request)?["Nanoseconds"].as_u64().ok_or_else(|| "no time".to_owned())
    }

    /// Words of the machine code.
    pub fn code(&mut self, request: &mut Value) -> Result<Vec<u32>, String> {
        request["code"] = json!(true);
        serde_json::from_value(self.ask(request)?["Code"].take()).map_err(|e| e.to_string())
    }
}

/// The program's request for a shader, whose module is in `file`.
pub fn request(shader: &Shader, file: &std::path::Path) -> Result<Value, String> {
    let mut bindings = Vec::new();
    for set in &shader.layout.sets {
        for binding in &set.bindings {
            let BindingKind::One(kind) = &binding.kind else { return Err("a binding of several kinds".to_owned()) };
            bindings.push(json!([set.set, binding.binding, kind, binding.count]));
        }
    }
    Ok(json!({
        "spirv": file, "stage": shader.early.stage.to_string(), "entry": shader.early.entry_point,
        "wave": if shader.early.wave == WaveSize::W64 { 64 } else { 32 },
        "specialization": shader.specialization, "bindings": bindings, "push": shader.layout.push_constant_bytes, "code": false,
    }))
}
