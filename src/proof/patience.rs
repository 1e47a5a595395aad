//! The time for which further inputs are tried. It is CPU time of the process, with that of the driver's threads, so
//! that no less is proved on a busy machine.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The start of a measurement: the CPU time that the process had used by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuStart(Duration);

impl CpuStart {
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        Self(Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32))
    }

    /// CPU time that the process has used since the start.
    pub fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}
