//! The shaders, each with two requests: compiled in advance, and with everything that RADV knows of a lone stage.

use crate::support::{self, Input};
use dovetail::compile::request::StageRequest;
use dovetail::state::ResourceLayout;

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
    fn new(set: &str, input: Input) -> Option<Self> {
        let layout = support::state(&[&input])?.layout;
        let specialization = input.sized_values();
        let laid_out = input.request.laid_out(&input.module, layout.clone());
        let early = StageRequest { specialization: laid_out.specialization.clone(), ..input.request };
        let spirv = input.module.bytes().to_vec();
        Some(Self { set: set.to_owned(), name: input.name, spirv, early, laid_out, layout, specialization })
    }
}

/// At most `most` shaders of each requested set.
pub fn all(sets: &[String], most: usize) -> Vec<Shader> {
    let wanted = |set: &str| sets.is_empty() || sets.iter().any(|one| one == set);
    let mut out = Vec::new();
    if wanted("testdata") {
        out.extend(spread(support::testdata(), most).filter_map(|input| Shader::new("testdata", input)));
    }
    for set in support::corpus_sets().iter().filter(|set| wanted(set)) {
        out.extend(support::corpus_set(set, most).into_iter().filter_map(|input| Shader::new(set, input)));
    }
    out
}

fn spread(inputs: Vec<Input>, most: usize) -> impl Iterator<Item = Input> {
    let step = inputs.len().div_ceil(most.max(1)).max(1);
    inputs.into_iter().step_by(step)
}
