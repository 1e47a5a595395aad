//! A plan as text: a line for each landing and each exit.

use super::{Go, Landing, MaskId, MaskSource, Plan};
use crate::layout::BlockLayout;
use std::fmt::{self, Display, Formatter};

/// A plan with the blocks that it is for.
pub struct PlanText<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The blocks.
    pub layout: &'a BlockLayout,
}

impl Display for PlanText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { plan, layout } = self;
        let masks = |f: &mut Formatter<'_>, label: &str, masks: &[MaskId]| {
            masks.iter().try_for_each(|mask| write!(f, " {label} m{}", mask.0))
        };
        for (n, (block, (landing, exit))) in layout.order.iter().zip(plan.landings.iter().zip(&plan.exits)).enumerate()
        {
            write!(f, "{n} {block}:")?;
            let Landing { replace, add, skip } = landing;
            match replace {
                Some(MaskSource::Mask(mask)) => write!(f, " exec = m{}", mask.0)?,
                Some(MaskSource::Rest(branch)) => write!(f, " exec = rest of {branch}")?,
                None => {}
            }
            masks(f, "exec |=", add)?;
            skip.iter().try_for_each(|skip| write!(f, ", without lanes to {skip}"))?;
            write!(f, " ...")?;
            masks(f, "clear", plan.clears.of(n))?;
            masks(f, "wait in", &exit.wait)?;
            for (mask, wanted) in &exit.wait_if {
                write!(f, " {} wait in m{}", if *wanted { "true" } else { "false" }, mask.0)?;
            }
            masks(f, "save", exit.save.as_slice())?;
            match exit.go {
                Go::To(to) => writeln!(f, " to {to}")?,
                Go::Uniform(then, els) => writeln!(f, " uniform to {then} or {els}")?,
                Go::Divergent { inverted, to, empty } => {
                    writeln!(f, " {} to {to}, without lanes to {empty}", if inverted { "false" } else { "true" })?;
                }
                Go::End => writeln!(f, " end")?,
            }
        }
        Ok(())
    }
}
