//! Finds the phase of the native generator that breaks a shader.

use dovetail_base::error::Result;
use dovetail_compile::phases::{Phase, Phases};

/// What breaks a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Nothing breaks it: the outputs agree.
    Nothing,
    /// The outputs agree with the phases before this one, and differ once it is added.
    Phase {
        /// The phase.
        phase: Phase,
        /// Whether leaving out only this phase makes the outputs agree. If not, another phase breaks the shader too, or
        /// depends on this one.
        mended_alone: bool,
        /// The difference that appears with this phase.
        why: String,
    },
    /// No optional phase: the outputs differ even without any of them, as described.
    NoPhase(String),
}

/// Finds the phase by bisection: each step leaves out all phases from some point on. `fails` compiles without the given
/// phases, runs, and describes the difference, if there is one.
///
/// # Errors
/// Errors of `fails`.
pub fn blame(fails: &mut dyn FnMut(Phases) -> Result<Option<String>>) -> Result<Blame> {
    let from = |first: usize| Phase::ALL[first..].iter().copied().collect::<Phases>();
    let Some(mut why) = fails(from(Phase::ALL.len()))? else { return Ok(Blame::Nothing) };
    if let Some(why) = fails(from(0))? {
        return Ok(Blame::NoPhase(why));
    }
    // Invariant: the outputs agree with the first `good` phases and differ with the first `bad`.
    let (mut good, mut bad) = (0, Phase::ALL.len());
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        match fails(from(middle))? {
            None => good = middle,
            Some(what) => (bad, why) = (middle, what),
        }
    }
    let phase = Phase::ALL[good];
    let mended_alone = fails(Phases::default().with(phase))?.is_none();
    Ok(Blame::Phase { phase, mended_alone, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bisects a shader that differs whenever all phases of an element of `broken` run.
    fn blamed(broken: &[&[Phase]]) -> (Blame, usize) {
        let mut asked = 0;
        let blame = blame(&mut |without| {
            asked += 1;
            let fails = broken.iter().any(|all| all.iter().all(|phase| !without.has(*phase)));
            Ok(fails.then(|| "differs".to_owned()))
        });
        (blame.expect("no error"), asked)
    }

    #[test]
    fn each_phase_is_found_in_few_questions() {
        // One question for each halving, and three around the search.
        let most = 3 + Phase::ALL.len().next_power_of_two().ilog2() as usize;
        for &phase in Phase::ALL {
            let (blame, asked) = blamed(&[&[phase]]);
            assert_eq!(blame, Blame::Phase { phase, mended_alone: true, why: "differs".into() });
            assert!(asked <= most, "{phase}: {asked}");
        }
    }

    #[test]
    fn what_needs_two_phases_is_blamed_on_the_later_one() {
        let (blame, _) = blamed(&[&[Phase::Promote, Phase::Unroll]]);
        assert_eq!(blame, Blame::Phase { phase: Phase::Unroll, mended_alone: true, why: "differs".into() });
    }

    #[test]
    fn of_two_broken_phases_the_first_is_found_and_mends_nothing_alone() {
        let (blame, _) = blamed(&[&[Phase::Ifs], &[Phase::Clauses]]);
        assert_eq!(blame, Blame::Phase { phase: Phase::Ifs, mended_alone: false, why: "differs".into() });
    }

    #[test]
    fn right_code_and_code_that_no_phase_breaks_are_told_apart() {
        assert_eq!(blamed(&[]).0, Blame::Nothing);
        assert_eq!(blamed(&[&[]]).0, Blame::NoPhase("differs".into()));
    }
}
