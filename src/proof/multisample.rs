//! Draws a pair with four samples per pixel: a scene that proved something with one sample is drawn again, shaded once
//! per pixel, and once per sample. The resolved samples are compared.

use super::compute::{Divergence, Tools};
use super::draw::{Failed, Pair};
use super::drawn::shades_samples;
use super::driver::Absent;
use super::judge::{certain, too_vague};
use super::report::{Fate, Report};
use dovetail_base::error::Result;
use dovetail_emu::inputs::Inputs;
use dovetail_ir::sample_shading::{FragmentRead, SampleEffect};

/// Samples of a pixel.
const SAMPLES: u32 = 4;
/// Lavapipe 22.3 evaluates inputs without a decoration at the pixel's centre.
const AT_THE_CENTRE: &str = "the driver does not interpolate at samples";

impl Pair<'_> {
    /// Draws the first scene with several samples, and if that proves nothing the second, and reports the result. A
    /// difference counts as the pair's.
    pub(super) fn multisample(&self, scenes: [(&Inputs, u64); 2], tools: &Tools<'_>, report: &mut Report) {
        // The instruction counts of routes are those with one sample.
        let executed = report.executed.clone();
        for (name, shading) in [("pixel", false), ("sample", true)] {
            let mut became = (Fate::ProvesNothing, String::new());
            for (scene, seed) in scenes {
                became = self
                    .draw_samples(scene, shading, seed, tools, report)
                    .unwrap_or_else(|why| (Fate::ProvesNothing, why.to_string()));
                if became.0 != Fate::ProvesNothing {
                    break;
                }
            }
            if matches!(became.0, Fate::Differs | Fate::NotRun) {
                report.fate = became.0;
                report.reason = format!("{SAMPLES} samples, shaded by {name}: {}", became.1);
            }
            report.samples.insert(name.to_owned(), became);
        }
        report.executed = executed;
    }

    fn draw_samples(
        &self,
        scene: &Inputs,
        shading: bool,
        seed: u64,
        tools: &Tools<'_>,
        report: &mut Report,
    ) -> Result<(Fate, String)> {
        let mut state = self.state_of(true)?;
        (state.color.samples, state.color.sample_shading) = (SAMPLES, shading);
        let pipelines = self.pipelines(state, tools)?;
        let mut inputs = scene.clone();
        let mut moved = false;
        let fragment = &self.parts[1].ir;
        if let Some(draw) = &mut inputs.draw {
            (draw.samples, draw.sample_shading, draw.stencil) = (SAMPLES, shading, None);
            let code = |read: FragmentRead| read.effect() == SampleEffect::Code;
            moved = shades_samples(fragment, draw)
                && fragment.live_insts().filter_map(|inst| FragmentRead::of(&inst.op)).any(code);
        }
        // A driver may run an unreported feature with one sample, and abort with several.
        let lacks = self.sources.iter().find_map(|source| tools.judge.lacks(source));
        let silent = lacks.or_else(|| moved.then(|| AT_THE_CENTRE.to_owned()));
        let absent = silent.map(|why| Absent { why, lanes: tools.judge.subgroup_size() });
        let judge = absent.as_ref().map_or(tools.judge, |absent| absent);
        let tools = &Tools { judge, ..*tools };
        Ok(match self.draw(&pipelines, &inputs, seed, tools, report) {
            Ok(shown) => match (too_vague(&shown.verdict), shown.without_driver) {
                (Some(why), None) if too_vague(&certain(&shown.verdict)).is_none() => {
                    match shown.alike.agreement(&why) {
                        Some(why) => (Fate::Agreed, why),
                        None => (Fate::ProvesNothing, why),
                    }
                }
                (Some(why), _) => (Fate::ProvesNothing, why),
                (None, Some(why)) => (Fate::AgreedWithInterpreter, why),
                (None, None) => (Fate::Agreed, String::new()),
            },
            Err(Failed { fate, why, dispute }) => {
                if let Some(dispute) = dispute.filter(|_| fate == Fate::Differs) {
                    (tools.on_difference)(&Divergence {
                        inputs: &dispute.inputs,
                        state: &pipelines.state,
                        wave: self.fragment_wave(tools),
                        seed,
                        route: dispute.route,
                        expected: &dispute.expected,
                        what: &dispute.what,
                    });
                }
                (fate, why)
            }
        })
    }
}
