//! The machine's load, which decides whether background work may start: the kernel's pressure figures, and batteries.

use std::fs;
use std::path::{Path, PathBuf};

/// Limits on the share of the last ten seconds, in percent, in which some task waited for a resource: above them the
/// machine is busy with its user's work.
const LIMITS: [(&str, f64); 3] = [("cpu", 20.0), ("io", 10.0), ("memory", 5.0)];

/// The files to read.
pub struct Pressure {
    proc: PathBuf,
    supplies: PathBuf,
}

impl Default for Pressure {
    fn default() -> Self {
        Self { proc: "/proc/pressure".into(), supplies: "/sys/class/power_supply".into() }
    }
}

impl Pressure {
    /// Why no background work should start. A system without these files gives no reason.
    pub fn reasons(&self) -> Vec<String> {
        let busy = LIMITS.iter().filter_map(|(resource, limit)| {
            let now = some_avg10(&fs::read_to_string(self.proc.join(resource)).ok()?)?;
            (now > *limit).then(|| format!("{resource} pressure is {now:.0} %, at most {limit:.0} %"))
        });
        busy.chain(self.on_battery().then(|| "on battery".to_owned())).collect()
    }

    fn on_battery(&self) -> bool {
        let supplies = fs::read_dir(&self.supplies).into_iter().flatten().flatten();
        supplies.map(|supply| supply.path()).any(|supply| {
            let says = |file: &str, word: &str| read(&supply.join(file)).is_some_and(|text| text == word);
            // The battery of a mouse or a headset says nothing about the machine.
            says("type", "Battery") && says("status", "Discharging") && !says("scope", "Device")
        })
    }
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The figure `avg10` in the line `some avg10=0.12 avg60=…` of a file of the kernel's accounting/psi.
fn some_avg10(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_whitespace().find_map(|field| field.strip_prefix("avg10="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_named_with_its_figure() {
        let dir = tempfile::tempdir().unwrap();
        let (proc, supplies) = (dir.path().join("proc"), dir.path().join("supplies"));
        for folder in [proc.clone(), supplies.join("BAT0"), supplies.join("mouse")] {
            fs::create_dir_all(folder).unwrap();
        }
        let pressure = Pressure { proc: proc.clone(), supplies: supplies.clone() };
        assert!(pressure.reasons().is_empty(), "a system that does not tell");
        let psi = |value: f64| format!("some avg10={value:.2} avg60=99.00 avg300=99.00 total=1\nfull avg10=0.00\n");
        fs::write(proc.join("cpu"), psi(19.9)).unwrap();
        fs::write(proc.join("io"), psi(10.5)).unwrap();
        fs::write(proc.join("memory"), "what is this").unwrap();
        let battery = |name: &str, files: &[(&str, &str)]| {
            files
                .iter()
                .for_each(|(file, text)| fs::write(supplies.join(name).join(file), format!("{text}\n")).unwrap());
        };
        battery("mouse", &[("type", "Battery"), ("status", "Discharging"), ("scope", "Device")]);
        assert_eq!(pressure.reasons(), ["io pressure is 10 %, at most 10 %"]);
        fs::write(proc.join("io"), psi(0.0)).unwrap();
        battery("BAT0", &[("type", "Battery"), ("status", "Discharging")]);
        assert_eq!(pressure.reasons(), ["on battery"]);
        battery("BAT0", &[("status", "Charging")]);
        assert!(pressure.reasons().is_empty());
    }
}
