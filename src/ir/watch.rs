//! Observes a compile: gets the result of each phase, for dumps, for checks between passes, and for timers.

use super::Shader;
use dovetail_base::error::Result;
use std::time::{Duration, Instant};

/// The result of a phase.
pub enum Made<'a> {
    /// A shader.
    Shader(&'a Shader),
    /// The last phase's shader again, under the name of a group of phases that it completes; takes no time of its own.
    Group(&'a Shader),
    /// A code generator's own text form, for people; made only on demand.
    Text(&'a dyn Fn() -> Result<String>),
    /// A code generator's check of its own work, for observers that ask for it. Debug builds have already run it.
    Check(&'a dyn Fn() -> Result<()>),
    /// A diagram of a code generator's work, as SVG; made only on demand.
    Picture(&'a dyn Fn() -> String),
    /// Bytes of a file, or nothing to show.
    Bytes,
}

/// Observer of a compile.
pub trait Watch {
    /// Called when a phase has ended. The time of this call belongs to no phase.
    ///
    /// # Errors
    /// Errors of the observer's own checks; they end the compile.
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()>;
}

/// No observer.
pub struct Unwatched;

impl Watch for Unwatched {
    fn done(&mut self, _: &'static str, _: Made<'_>) -> Result<()> {
        Ok(())
    }
}

/// A timer for each phase, around another observer.
pub struct Timings<W> {
    /// Phases in the order in which they ended, with their durations.
    pub phases: Vec<(&'static str, Duration)>,
    clock: fn() -> Duration,
    last: Duration,
    inner: W,
}

impl<W: Watch> Timings<W> {
    /// Starts with this clock, which returns the time since any fixed moment.
    pub fn new(clock: fn() -> Duration, inner: W) -> Self {
        Self { phases: Vec::new(), clock, last: clock(), inner }
    }

    /// The other observer.
    pub fn inner(&self) -> &W {
        &self.inner
    }
}

impl<W: Watch> Watch for Timings<W> {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        if !matches!(made, Made::Group(_)) {
            self.phases.push((phase, (self.clock)().saturating_sub(self.last)));
        }
        self.inner.done(phase, made)?;
        self.last = (self.clock)();
        Ok(())
    }
}

/// Wall time since the first call.
pub fn wall_clock() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
