//! Shapes of pipelines: which hardware stages run which API stages. The table is by family; the first shape that has an
//! API stage is the one that a stage is compiled for. To add a shape: a row here. A choice between shapes of the same API
//! stages, as between NGG and the hardware VS stage, is a parameter of [`PipelineShape::of`].

use super::family::Family;
use super::stage::{HardwareStage, Stage, StageSet};

/// A hardware stage of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeStage {
    /// The stage.
    pub hardware: HardwareStage,
    /// The API stages that it runs, in order.
    pub api: &'static [Stage],
}

/// The stages of a kind of pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineShape {
    /// PAL's name: `.type` of the metadata (`Util::Abi::PipelineType`).
    pub pal_type: &'static str,
    /// Its hardware stages, in the order in which data passes them.
    pub stages: &'static [ShapeStage],
    /// The API stages of all of them.
    pub api: StageSet,
    /// Those that a link cannot add ([`Stage::can_be_absent`]).
    needed: StageSet,
}

const fn stage(hardware: HardwareStage, api: &'static [Stage]) -> ShapeStage {
    ShapeStage { hardware, api }
}

const fn shape(pal_type: &'static str, stages: &'static [ShapeStage]) -> PipelineShape {
    let (mut api, mut needed) = (StageSet::NONE, StageSet::NONE);
    let mut n = 0;
    while n < stages.len() {
        let mut k = 0;
        while k < stages[n].api.len() {
            let stage = stages[n].api[k];
            api = api.with(stage);
            needed = if stage.can_be_absent() { needed } else { needed.with(stage) };
            k += 1;
        }
        n += 1;
    }
    PipelineShape { pal_type, stages, api, needed }
}

/// Without primitive shaders, which gfx10.1 has: one of its GPUs draws wrong with them (Mesa: not used on Navi 14), and
/// nothing needs them.
const GFX101: &[PipelineShape] = &[
    shape("VsPs", &[stage(HardwareStage::Vs, &[Stage::Vertex]), stage(HardwareStage::Ps, &[Stage::Fragment])]),
    shape("Cs", &[stage(HardwareStage::Cs, &[Stage::Compute])]),
];
const GFX103: &[PipelineShape] = &[
    shape("VsPs", &[stage(HardwareStage::Vs, &[Stage::Vertex]), stage(HardwareStage::Ps, &[Stage::Fragment])]),
    shape("Ngg", &[stage(HardwareStage::Gs, &[Stage::Vertex]), stage(HardwareStage::Ps, &[Stage::Fragment])]),
    shape("Cs", &[stage(HardwareStage::Cs, &[Stage::Compute])]),
];
/// There is no hardware VS stage.
const GFX11: &[PipelineShape] = &[
    shape("Ngg", &[stage(HardwareStage::Gs, &[Stage::Vertex]), stage(HardwareStage::Ps, &[Stage::Fragment])]),
    shape("Cs", &[stage(HardwareStage::Cs, &[Stage::Compute])]),
];

/// The most hardware stages that a pipeline has.
pub const MOST_HARDWARE_STAGES: usize = {
    let (mut most, mut family) = (0, 0);
    while family < Family::COUNT {
        let shapes = Family::ALL[family].shapes();
        let mut n = 0;
        while n < shapes.len() {
            if shapes[n].stages.len() > most {
                most = shapes[n].stages.len();
            }
            n += 1;
        }
        family += 1;
    }
    most
};

/// By family and API stage: the hardware stage that runs it.
const RUN_BY: [[HardwareStage; Stage::COUNT]; Family::COUNT] = {
    let mut table = [[HardwareStage::Cs; Stage::COUNT]; Family::COUNT];
    let mut family = 0;
    while family < Family::COUNT {
        let mut api = 0;
        while api < Stage::COUNT {
            table[family][api] = Family::ALL[family].find(Stage::ALL[api]).hardware;
            api += 1;
        }
        family += 1;
    }
    table
};

impl Family {
    /// The shapes of its pipelines.
    pub const fn shapes(self) -> &'static [PipelineShape] {
        match self {
            Self::Gfx101 => GFX101,
            Self::Gfx103 => GFX103,
            Self::Gfx11 | Self::Gfx12 => GFX11,
        }
    }

    /// The hardware stages that its pipelines have, each once.
    pub fn hardware_stages(self) -> impl Iterator<Item = ShapeStage> {
        let stages = move || self.shapes().iter().flat_map(|shape| shape.stages).copied();
        stages()
            .enumerate()
            .filter_map(move |(n, stage)| (!stages().take(n).any(|other| other == stage)).then_some(stage))
    }

    /// [`Self::hardware_stages`], each with the first API stage that it runs.
    pub fn api_stages(self) -> impl Iterator<Item = (Stage, HardwareStage)> {
        self.hardware_stages().filter_map(|stage| Some((*stage.api.first()?, stage.hardware)))
    }

    /// The first stage of the table that runs an API stage. This does not compile if no shape has one.
    const fn find(self, api: Stage) -> ShapeStage {
        let shapes = self.shapes();
        let (mut shape, mut stage, mut n) = (0, 0, 0);
        while shapes[shape].stages[stage].api[n] as usize != api as usize {
            n += 1;
            if n == shapes[shape].stages[stage].api.len() {
                (stage, n) = (stage + 1, 0);
            }
            if stage == shapes[shape].stages.len() {
                (shape, stage) = (shape + 1, 0);
            }
        }
        shapes[shape].stages[stage]
    }

    /// The hardware stage that runs an API stage.
    pub const fn hardware_stage(self, api: Stage) -> HardwareStage {
        RUN_BY[self as usize][api as usize]
    }
}

impl PipelineShape {
    /// The shape of a pipeline with these API stages. One that a link can add may be absent
    /// ([`Stage::can_be_absent`]). `ngg`: as primitive shaders, where the family has a choice.
    pub fn of(family: Family, given: StageSet, ngg: bool) -> Option<&'static Self> {
        let mut all = family.shapes().iter().filter(|s| s.api.contains(given) && given.contains(s.needed));
        let first = all.next()?;
        if first.is_ngg() == ngg { Some(first) } else { all.find(|other| other.is_ngg() == ngg).or(Some(first)) }
    }

    /// Whether primitive shaders (NGG) run what comes before the rasterizer.
    pub fn is_ngg(&self) -> bool {
        self.stages.iter().any(|stage| stage.hardware.runs_primitives())
    }

    /// The shape with PAL's name.
    pub fn of_type(family: Family, pal_type: &str) -> Option<&'static Self> {
        family.shapes().iter().find(|shape| shape.pal_type == pal_type)
    }

    /// Whether it has a rasterizer.
    pub fn draws(&self) -> bool {
        Stage::ALL.into_iter().any(|stage| stage.feeds_the_rasterizer() && self.api.has(stage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_found_by_its_stages_and_by_its_name() {
        let of = |stages: &[Stage], ngg| PipelineShape::of(Family::Gfx103, stages.iter().copied().collect(), ngg);
        let name = |stages: &[Stage]| of(stages, false).map(|shape| shape.pal_type);
        assert_eq!(of(&[Stage::Vertex], true).map(|shape| (shape.pal_type, shape.is_ngg())), Some(("Ngg", true)));
        assert_eq!(of(&[Stage::Compute], true).map(|shape| shape.pal_type), Some("Cs"));
        assert_eq!(name(&[Stage::Vertex, Stage::Fragment]), Some("VsPs"));
        assert_eq!(name(&[Stage::Vertex]), Some("VsPs"));
        assert_eq!(name(&[Stage::Compute]), Some("Cs"));
        for none in [&[][..], &[Stage::Fragment], &[Stage::Vertex, Stage::Compute], &Stage::ALL] {
            assert_eq!(name(none), None, "{none:?}");
        }
        for family in Family::ALL {
            for shape in family.shapes() {
                assert_eq!(PipelineShape::of_type(family, shape.pal_type), Some(shape));
                assert!(shape.stages.len() <= MOST_HARDWARE_STAGES);
            }
        }
    }

    #[test]
    fn each_api_stage_runs_on_the_hardware_stage_of_its_shape() {
        let keys = Stage::ALL.map(|stage| Family::Gfx103.hardware_stage(stage).key());
        assert_eq!(keys, [".vs", ".ps", ".cs"]);
        let all: Vec<_> = Family::Gfx103.hardware_stages().map(|stage| stage.hardware).collect();
        assert_eq!(all, [HardwareStage::Vs, HardwareStage::Ps, HardwareStage::Gs, HardwareStage::Cs]);
    }
}
