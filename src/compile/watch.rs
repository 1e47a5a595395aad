//! Looking on while a stage is compiled: what each phase made, for dumps, for checks between passes, and for timers.

use crate::error::Result;
use crate::ir::Shader;
use std::time::{Duration, Instant};

/// What a phase made.
pub enum Made<'a> {
    /// A shader.
    Shader(&'a Shader),
    /// Something of a code generator's own, as text for people. It is made only if asked for.
    Text(&'a dyn Fn() -> Result<String>),
    /// Bytes of a file, or nothing to look at.
    Bytes,
}

/// Someone who looks on.
pub trait Watch {
    /// A phase ended. What the call itself takes belongs to no phase.
    ///
    /// # Errors
    /// Those of the watcher's own checks; the compile ends with them.
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()>;
}

/// Nobody looks on.
pub struct Unwatched;

impl Watch for Unwatched {
    fn done(&mut self, _: &'static str, _: Made<'_>) -> Result<()> {
        Ok(())
    }
}

/// A clock for each phase, around another watcher.
pub struct Timings<W> {
    /// Phases in the order in which they ended, and what each took.
    pub phases: Vec<(&'static str, Duration)>,
    clock: fn() -> Duration,
    last: Duration,
    inner: W,
}

impl<W: Watch> Timings<W> {
    /// Starts the clock, which gives the time since any fixed moment.
    pub fn new(clock: fn() -> Duration, inner: W) -> Self {
        Self { phases: Vec::new(), clock, last: clock(), inner }
    }
}

impl<W: Watch> Watch for Timings<W> {
    fn done(&mut self, phase: &'static str, made: Made<'_>) -> Result<()> {
        self.phases.push((phase, (self.clock)().saturating_sub(self.last)));
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
