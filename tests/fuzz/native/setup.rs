//! How a shader is compiled and run: the first line of an input.

use super::super::random::Random;
use super::scene::Scene;
use dovetail::compile::opt;
use dovetail::compile::phases::{Phase, Phases};
use dovetail::compile::request::{GeneratorKind, NativeOptions, Scheduling, TuningOptions};
use dovetail::error::{Error, Result};
use dovetail::target::{Gpu, WaveSize};

/// Prefix of the setup line.
const MARK: &str = "; fuzz";

/// How a shader is compiled and run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The GPU.
    pub gpu: Gpu,
    /// Lanes per wave.
    pub wave: WaveSize,
    /// Limit of VGPRs, 0 for none.
    pub vgprs: u32,
    /// Workgroups.
    pub groups: u32,
    /// Seed of the buffers' contents; odd seeds also randomise instruction order, if scheduling is on.
    pub seed: u64,
    /// Whether the layout is known at compile time.
    pub known: bool,
    /// Disabled phases of the generator.
    pub without: Phases,
    /// Middle-end passes to run on the upper level, in this order, instead of all on the lower level.
    pub passes: Vec<Phase>,
    /// For a fragment shader: the scene drawn.
    pub scene: Option<Scene>,
    /// For a draw: attachments, attributes and the other stage are known too.
    pub whole: bool,
    /// For a draw: the parts are linked by branches (chained).
    pub chained: bool,
}

impl Setup {
    /// A random setup.
    pub fn new(random: &mut Random) -> Self {
        let wave = if random.once_in(2) { WaveSize::W32 } else { WaveSize::W64 };
        let vgprs = *random.pick(&[0, 0, 0, 0, 64, 40, 32, 24, 20, 16]);
        let mut without: Phases = Phase::ALL.iter().copied().filter(|_| random.once_in(8)).collect();
        let mut passes = Vec::new();
        if random.once_in(4) {
            let some = opt::PASSES.iter().filter(|_| !random.once_in(3));
            passes = some.map(|(phase, _)| *phase).collect();
            passes.dedup();
            without = Phase::ALL.iter().copied().filter(|phase| phase.is_middle() || without.has(*phase)).collect();
        }
        let groups = 1 + u32::from(random.once_in(8));
        let (seed, known) = (random.next() & 0xff, random.once_in(2));
        let scene = random.once_in(2).then(|| Scene::new(random));
        let whole = scene.is_some() && known && random.once_in(2);
        let chained = scene.is_some() && random.once_in(4);
        // Four colours of four channels need registers at the same time.
        let vgprs = if scene.is_some() && vgprs > 0 { vgprs.max(24) } else { vgprs };
        let gpu = *random.pick(&[Gpu::Gfx1030, Gpu::Gfx1030, Gpu::Gfx1010, Gpu::Gfx1100, Gpu::Gfx1150, Gpu::Gfx1200]);
        Self { gpu, wave, vgprs, groups, seed, known, without, passes, scene, whole, chained }
    }

    /// Draws one triangle over a screen of as many pixels as a wave has lanes.
    pub fn cover(&mut self) {
        let extent = [8, self.wave.lanes() / 8];
        self.scene = Some(Scene::covering(extent));
        self.vgprs = if self.vgprs > 0 { self.vgprs.max(24) } else { 0 };
    }

    /// Encodes the setup as a line.
    pub fn line(&self) -> String {
        let Self { gpu, wave, vgprs, groups, seed, known, without, passes, scene, whole, chained } = self;
        let list = |phases: Vec<Phase>| phases.iter().map(|phase| phase.name()).collect::<Vec<_>>().join(",");
        let drawn = scene.as_ref().map_or(String::new(), |scene| {
            format!(" draw={} whole={} chained={}", scene.text(), u8::from(*whole), u8::from(*chained))
        });
        format!(
            "{MARK} gpu={gpu} wave={} vgprs={vgprs} groups={groups} seed={seed} known={} without={} passes={}{drawn}",
            wave.lanes(),
            u8::from(*known),
            list(without.iter().collect()),
            list(passes.clone())
        )
    }

    /// Decodes the setup line of an input.
    ///
    /// # Errors
    /// Malformed: the input has none.
    pub fn of(text: &str) -> Result<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix(MARK));
        let line = line.ok_or_else(|| Error::malformed("no line that says how to compile"))?;
        let get = |name: &str| {
            let word = line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            word.ok_or_else(|| Error::malformed(format!("no `{name}`")))
        };
        let number =
            |name: &str| get(name)?.parse::<u64>().map_err(|_| Error::malformed(format!("`{name}` is no number")));
        let list = |name: &str| -> Result<Vec<Phases>> {
            get(name)?.split(',').filter(|word| !word.is_empty()).map(str::parse).collect()
        };
        // Old inputs are for one GPU. Inputs of compute shaders lack the others.
        let gpu = get("gpu").map_or(Ok(Gpu::Gfx1030), str::parse)?;
        let scene = get("draw").ok().map(Scene::parse).transpose()?;
        let flag = |name: &str| -> Result<bool> { Ok(scene.is_some() && number(name)? != 0) };
        let (whole, chained) = (flag("whole")?, flag("chained")?);
        Ok(Self {
            gpu,
            wave: if number("wave")? == 32 { WaveSize::W32 } else { WaveSize::W64 },
            vgprs: number("vgprs")? as u32,
            groups: number("groups")?.clamp(1, 4) as u32,
            seed: number("seed")?,
            known: number("known")? != 0,
            without: list("without")?.into_iter().flat_map(Phases::iter).collect(),
            passes: list("passes")?.into_iter().flat_map(Phases::iter).collect(),
            scene,
            whole,
            chained,
        })
    }

    /// Options for compiling.
    pub fn options(&self) -> TuningOptions {
        TuningOptions {
            generator: GeneratorKind::Native,
            vgpr_limit: self.vgprs,
            native: NativeOptions {
                without: self.without,
                schedule: if self.seed.is_multiple_of(2) { Scheduling::Cycles } else { Scheduling::Random(self.seed) },
            },
            ..TuningOptions::default()
        }
    }
}
