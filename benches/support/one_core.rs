//! Two programs on one core. The cores of a shared machine differ in speed, by up to two and for minutes, so that programs
//! which work in turn on a core each would be compared with the difference.

use std::process::{Command, Stdio};

/// While it exists, the main thread of this process runs on one core.
pub struct OneCore {
    core: String,
    before: String,
}

impl OneCore {
    /// Binds the main thread to the first core that it may use. Without `taskset` it says so, and nothing is bound.
    pub fn bound() -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let before = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned();
        let core = before.split([',', '-']).next()?.to_owned();
        if !bind(std::process::id(), &core) {
            eprintln!("NO taskset: both programs run on any core, and their ratio is less certain");
            return None;
        }
        Some(Self { core, before })
    }

    /// Binds another process to the same core.
    pub fn share(&self, process: u32) {
        bind(process, &self.core);
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        bind(std::process::id(), &self.before);
    }
}

fn bind(process: u32, cores: &str) -> bool {
    let mut command = Command::new("taskset");
    command.args(["-cp", cores, &process.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
