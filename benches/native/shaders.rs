//! The shaders, each with two requests: compiled in advance, and with everything that RADV knows of a lone stage.

use crate::Args;
use crate::support::{self, Input};
use dovetail::compile::request::{StageRequest, default_wave};
use dovetail::compile::spirv;
use dovetail::isa::{Isa, Op};
use dovetail::state::ResourceLayout;
use dovetail::target::{Gpu, WaveSize};

/// A shader to measure.
pub struct Shader {
    pub set: String,
    pub name: String,
    pub spirv: Vec<u8>,
    /// Request without known state.
    pub early: StageRequest,
    /// Request with known layout and specialization values, but neither vertex input nor attachments, as RADV compiles
    /// a stage's library.
    pub laid_out: StageRequest,
    /// The layout of that request.
    pub layout: ResourceLayout,
    /// Specialization: id, value, bytes.
    pub specialization: Vec<(u32, u64, u8)>,
}

impl Shader {
    fn new(set: &str, mut input: Input, target: Gpu) -> Option<Self> {
        input.request.target = target;
        input.request.wave = wave(&input, target);
        let layout = support::state(&[&input])?.layout;
        let specialization = input.sized_values();
        let laid_out = input.request.laid_out(&input.module, layout.clone());
        let early = StageRequest { specialization: laid_out.specialization.clone(), ..input.request };
        let spirv = input.module.bytes().to_vec();
        Some(Self { set: set.to_owned(), name: input.name, spirv, early, laid_out, layout, specialization })
    }
}

/// As RADV is asked to have it (`support/radv.rs`): 32 lanes where there are dual instructions, which is what is compared there.
fn wave(input: &Input, target: Gpu) -> WaveSize {
    if Isa::of(target).has(Op::VDualMovB32) {
        return WaveSize::W32;
    }
    let uses_subgroups = spirv::reflect(&input.module).is_ok_and(|info| info.uses_subgroups);
    default_wave(target, input.request.stage, uses_subgroups)
}

/// At most `--most` shaders of each requested set.
pub fn all(args: &Args) -> Vec<Shader> {
    let (sets, most, target) = (&args.sets, args.most, args.target);
    let wanted = |set: &str| sets.is_empty() || sets.iter().any(|one| one == set);
    let mut out = Vec::new();
    if wanted("testdata") {
        out.extend(spread(support::testdata(), most).filter_map(|input| Shader::new("testdata", input, target)));
    }
    for set in support::corpus_sets().iter().filter(|set| wanted(set)) {
        out.extend(support::corpus_set(set, most).into_iter().filter_map(|input| Shader::new(set, input, target)));
    }
    out
}

fn spread(inputs: Vec<Input>, most: usize) -> impl Iterator<Item = Input> {
    let step = inputs.len().div_ceil(most.max(1)).max(1);
    inputs.into_iter().step_by(step)
}
