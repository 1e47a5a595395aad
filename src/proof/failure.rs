//! Handles a failed test case: shrinks it, saves it as a bundle, and tells how to run it again.

use super::answer::{ComparedOutput, Replay};
use super::bundle::Bundle;
use super::driver::Outputs;
use super::replay::Runner;
use super::shrink::{Effort, shrink};
use dovetail_base::error::{Error, Result};
use dovetail_compile::Compiler;
use dovetail_emu::inputs::Inputs;
use std::path::{Path, PathBuf};

/// Runs the reference again: returns its outputs for inputs, or why it cannot run them.
pub type RunReference<'a> = &'a mut dyn FnMut(&Inputs) -> std::result::Result<Outputs, String>;

/// A saved failure.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Its folder.
    pub path: PathBuf,
    /// Differences on the saved inputs.
    pub replay: Replay,
    /// Number of runs that shrinking took.
    pub runs: u32,
    /// Whether shrinking finished within its budget.
    pub smallest: bool,
}

impl Bundle {
    /// Shrinks the inputs as long as the same failure remains, and saves the bundle in `parent`.
    ///
    /// # Errors
    /// Errors of the compiler, the reference or files; a case that does not fail here.
    pub fn save_failure(
        mut self,
        parent: &Path,
        runner: &Runner,
        budget: Effort,
        ask: RunReference<'_>,
    ) -> Result<Saved> {
        let mut ask = |inputs: &Inputs| ask(inputs).map_err(|why| Error::environment(format!("the judge: {why}")));
        let first = runner.run(&self.inputs, &ask(&self.inputs)?)?;
        if first.agrees() {
            return Err(Error::environment("every route agrees when the case is run again"));
        }
        // A driver may crash on an invalid address, which smaller inputs may contain.
        let safe = |inputs: &Inputs| inputs.pointers.is_empty() || runner.known(inputs).is_ok();
        let mut fails = |inputs: &Inputs| {
            if !safe(inputs) {
                return false;
            }
            let again = ask(inputs).and_then(|expected| runner.run(inputs, &expected));
            again.is_ok_and(|again| again.same_failure(&first))
        };
        let shrunk = shrink(&self.inputs, budget, &mut fails);
        self.inputs = shrunk.inputs;
        self.manifest.compiler = runner.compiler.clone();
        self.expected = ask(&self.inputs)?;
        let replay = runner.run(&self.inputs, &self.expected)?;
        let failed = || replay.routes.iter().filter(|(_, answer)| *answer != ComparedOutput::Agrees);
        self.manifest.failed = failed().map(|(name, _)| (*name).to_owned()).collect();
        self.manifest.disagreement =
            failed().map(|(name, answer)| format!("{name} {answer}")).collect::<Vec<_>>().join("\n");
        let path = self.save(parent)?;
        Ok(Saved { path, replay, runs: shrunk.runs, smallest: shrunk.smallest })
    }

    /// [`Self::save_failure`] with a small budget; returns a message for a test: the command that runs the bundle, or
    /// why nothing was saved.
    pub fn report_failure(self, parent: &Path, compiler: &dyn Compiler, ask: RunReference<'_>) -> String {
        let saved = Runner::new(&self, compiler).and_then(|r| self.save_failure(parent, &r, Effort::default(), ask));
        match saved {
            Ok(saved) => {
                let least = if saved.smallest { "" } else { ", not to the end" };
                format!(
                    "{}\nshrunk in {} runs{least}: dovetail replay {}",
                    saved.replay.cause,
                    saved.runs,
                    saved.path.display()
                )
            }
            Err(e) => format!("no bundle: {e}"),
        }
    }
}
