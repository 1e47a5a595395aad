//! How long further inputs are tried. CPU time of the process, the driver's threads included, so that no less is proved
//! on a busy machine.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A time from which CPU time is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuStart(Duration);

impl CpuStart {
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        Self(Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32))
    }

    /// CPU time since then.
    pub fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}
