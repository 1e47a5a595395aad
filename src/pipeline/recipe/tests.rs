//! What a recipe needs, in order, with parts that are interfaces only.

use super::*;
use Stage::{Compute, Fragment, Vertex};
use VariantOrder::{AfterParts, WithParts};
use dovetail_base::error::{ErrorKind, FullCompile};
use dovetail_base::target::{Gpu, WaveSize};
use dovetail_metadata::interface::{
    ComponentType, ComputeInterface, FragmentInput, FragmentInterface, ParamSource, Semantic, StageKind,
    VertexInterface, VertexParam,
};

/// A part; its entry point is its name.
struct Part(StageInterface);

impl AsRef<StageInterface> for Part {
    fn as_ref(&self) -> &StageInterface {
        &self.0
    }
}

fn part(stage: Stage, name: String) -> Part {
    let kind = match stage {
        Vertex => StageKind::Vertex(VertexInterface::default()),
        // A body that a state with per-sample shading cannot use, unless it is the variant.
        Fragment => StageKind::Fragment(FragmentInterface {
            per_pixel: !name.starts_with("variant"),
            inputs: vec![FragmentInput {
                semantic: Semantic::Location(3),
                channels: 0b1,
                flat: false,
                per_vertex: false,
                ty: ComponentType::F32,
            }],
            ..FragmentInterface::default()
        }),
        Compute => StageKind::Compute(ComputeInterface { local_size: [1, 1, 1], tidig_comp_cnt: 0, lds_bytes: 0 }),
    };
    Part(StageInterface::new(Gpu::Gfx1030, stage, WaveSize::W32, name, kind))
}

/// A vertex part with a constant in channel 0 of this location.
fn with_constant(location: u32) -> Part {
    let mut part = part(Vertex, "early Vertex".into());
    if let StageKind::Vertex(vertex) = &mut part.0.kind {
        let (semantic, source) = (Semantic::Location(location), ParamSource::Constant(9));
        vertex.pre_rasterization.params.push(VertexParam { semantic, component: 0, ty: ComponentType::F32, source });
    }
    part
}

/// A driver that writes down what it is asked for, and the known state of whole-pipeline compiles.
#[derive(Default)]
struct Notebook {
    needs: Vec<String>,
    known: Vec<KnownState>,
    /// Needs that are answered with nothing.
    lacks: Vec<&'static str>,
    /// Whether links are refused.
    refuses: bool,
    /// Whether the vertex part has a constant that the fragment part reads.
    constant: bool,
    has_pair: bool,
}

type Shaders = Recipe<'static, Stage, Part>;

fn names(parts: &[Part]) -> String {
    parts.iter().map(|part| part.0.entry_point.as_str()).collect::<Vec<_>>().join(" + ")
}

fn needs_whole() -> Error {
    Error::needs_full(FullCompile::State { item: "x".into() })
}

impl Notebook {
    /// Follows a recipe to the end; the stage without which it cannot go on, or the error of its last link.
    fn follow(&mut self, recipe: &mut Shaders) -> std::result::Result<(), (Stage, Option<Error>)> {
        loop {
            let (what, stage) = match recipe.next() {
                Need::Part(stage) => (format!("early {stage:?}"), *stage),
                Need::Constants(stage) => (format!("constants {stage:?}"), *stage),
                Need::Variant(stage, known) => {
                    assert_eq!(known.multiview, if *stage == Vertex { Known::Known(true) } else { Known::Unknown });
                    (format!("variant {stage:?}"), *stage)
                }
                Need::Whole(stage, known) => {
                    self.known.push(known);
                    (format!("whole {stage:?}"), *stage)
                }
                Need::Pair { shaders, parts } => {
                    assert_eq!(shaders, [&Vertex, &Fragment]);
                    self.needs.push(format!("pair of {} + {}", parts[0].0.entry_point, parts[1].0.entry_point));
                    let pair = [Vertex, Fragment].map(|stage| part(stage, format!("paired {stage:?}")));
                    recipe.give_pair(self.has_pair.then_some(pair));
                    continue;
                }
                Need::Link(parts) => {
                    self.needs.push(format!("link {}", names(parts)));
                    if !self.refuses {
                        return Ok(());
                    }
                    recipe.refuse(needs_whole()).map_err(|e| (Vertex, Some(e)))?;
                    continue;
                }
                Need::LinkWhole(parts) => {
                    self.needs.push(format!("link {}", names(parts)));
                    return Ok(());
                }
            };
            let lacks = self.lacks.contains(&what.as_str());
            let constant = self.constant && stage == Vertex && !what.starts_with("variant");
            let found = if constant { with_constant(3) } else { part(stage, what.clone()) };
            self.needs.push(what);
            if !recipe.give((!lacks).then_some(found)) {
                return Err((stage, None));
            }
        }
    }

    fn needs_of(mut self, mut recipe: Shaders) -> Vec<String> {
        self.follow(&mut recipe).unwrap();
        self.needs
    }
}

fn linked(stages: &[Stage], state: PipelineState, variants: VariantOrder) -> Shaders {
    Recipe::linked(stages.iter().map(|stage| (*stage, *stage)), Cow::Owned(state), None, variants)
}

fn whole(stages: &[Stage]) -> Shaders {
    Recipe::whole(stages.iter().map(|stage| (*stage, *stage)), Cow::Owned(PipelineState::default()), None)
}

/// A state that asks both stages for variants.
fn demanding() -> PipelineState {
    let mut state = PipelineState { view_mask: 0b11, ..PipelineState::default() };
    (state.color.samples, state.color.sample_shading) = (4, true);
    state
}

#[test]
fn parts_are_needed_in_the_order_of_the_shaders_then_their_pair() {
    for (order, names) in [
        ([Vertex, Fragment], ["early Vertex", "early Fragment"]),
        ([Fragment, Vertex], ["early Fragment", "early Vertex"]),
    ] {
        for variants in [WithParts, AfterParts] {
            let recipe = || linked(&order, PipelineState::default(), variants);
            let pair = "pair of early Vertex + early Fragment";
            let link = format!("link {}", names.join(" + "));
            assert_eq!(Notebook::default().needs_of(recipe()), [names[0], names[1], pair, &link]);
            let paired = Notebook { has_pair: true, ..Notebook::default() }.needs_of(recipe());
            assert_eq!(paired, [names[0], names[1], pair, &link.replace("early", "paired")]);
        }
    }
}

#[test]
fn what_is_no_vertex_and_fragment_shader_has_no_pair() {
    let needs = |stages: &[Stage]| Notebook::default().needs_of(linked(stages, PipelineState::default(), WithParts));
    assert_eq!(needs(&[Compute]), ["early Compute", "link early Compute"]);
    assert_eq!(needs(&[Vertex]), ["early Vertex", "link early Vertex"]);
    // The link refuses these.
    assert_eq!(needs(&[Vertex, Vertex]), ["early Vertex", "early Vertex", "link early Vertex + early Vertex"]);
    assert_eq!(needs(&[Compute, Fragment])[2], "link early Compute + early Fragment");
    assert_eq!(needs(&[]), ["link "]);
}

#[test]
fn variants_replace_their_parts_and_have_no_pair() {
    let needs = |variants| Notebook::default().needs_of(linked(&[Fragment, Vertex], demanding(), variants));
    let link = "link variant Fragment + variant Vertex";
    assert_eq!(needs(WithParts), ["early Fragment", "variant Fragment", "early Vertex", "variant Vertex", link]);
    assert_eq!(needs(AfterParts), ["early Fragment", "early Vertex", "variant Vertex", "variant Fragment", link]);
    // One is enough.
    let views = PipelineState { view_mask: 1, ..PipelineState::default() };
    for variants in [WithParts, AfterParts] {
        let needs = Notebook::default().needs_of(linked(&[Vertex, Fragment], views.clone(), variants));
        assert_eq!(needs.last().unwrap(), "link variant Vertex + early Fragment");
        assert_eq!(needs.len(), 4, "{needs:?}");
    }
}

#[test]
fn without_its_variant_a_part_stays_and_has_no_pair() {
    for variants in [WithParts, AfterParts] {
        let lacks = vec!["variant Fragment", "variant Vertex"];
        let needs =
            Notebook { lacks, ..Notebook::default() }.needs_of(linked(&[Vertex, Fragment], demanding(), variants));
        assert_eq!(needs.len(), 5, "{needs:?}");
        assert_eq!(needs[4], "link early Vertex + early Fragment");
    }
}

#[test]
fn a_part_is_indispensable_and_remains_needed() {
    let mut notes = Notebook { lacks: vec!["early Fragment"], ..Notebook::default() };
    let mut recipe = linked(&[Vertex, Fragment], PipelineState::default(), WithParts);
    for _ in 0..2 {
        assert_eq!(notes.follow(&mut recipe), Err((Fragment, None)));
    }
    assert_eq!(notes.needs, ["early Vertex", "early Fragment", "early Fragment"]);
    notes.lacks = vec!["whole Vertex"];
    assert_eq!(notes.follow(&mut whole(&[Vertex, Fragment])), Err((Vertex, None)));
}

#[test]
fn a_refused_link_becomes_a_whole_pipeline_compile_with_its_reason() {
    for (order, early) in [
        (
            [Vertex, Fragment],
            [
                "early Vertex",
                "early Fragment",
                "pair of early Vertex + early Fragment",
                "link early Vertex + early Fragment",
            ],
        ),
        (
            [Fragment, Vertex],
            [
                "early Fragment",
                "early Vertex",
                "pair of early Vertex + early Fragment",
                "link early Fragment + early Vertex",
            ],
        ),
    ] {
        let mut recipe = linked(&order, PipelineState::default(), WithParts);
        assert!(recipe.refusal().is_none());
        let mut notes = Notebook { refuses: true, ..Notebook::default() };
        notes.follow(&mut recipe).unwrap();
        let rest = ["constants Vertex", "whole Fragment", "whole Vertex", "link whole Fragment + whole Vertex"];
        assert_eq!(notes.needs, [early, rest].concat());
        assert_eq!(recipe.refusal(), Some(&needs_whole()));
        assert_eq!(recipe.into_refusal(), Some(needs_whole()));
    }
    let compute = Notebook { refuses: true, ..Notebook::default() };
    let needs = compute.needs_of(linked(&[Compute], PipelineState::default(), AfterParts));
    assert_eq!(needs, ["early Compute", "link early Compute", "whole Compute", "link whole Compute"]);
}

#[test]
fn the_error_of_a_part_decides_as_that_of_a_link_does() {
    let mut recipe = linked(&[Vertex, Fragment], PipelineState::default(), AfterParts);
    assert_eq!(recipe.refuse(Error::malformed("x")), Err(Error::malformed("x")));
    assert!(matches!(recipe.next(), Need::Part(Vertex)), "nothing has changed");
    assert_eq!(recipe.refuse(needs_whole()), Ok(()));
    assert!(matches!(recipe.next(), Need::Constants(Vertex)));
}

#[test]
fn a_whole_pipeline_compile_never_asks_for_another() {
    let mut recipe = whole(&[Vertex, Fragment]);
    for _ in 0..5 {
        let error = recipe.refuse(needs_whole()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }), "{error}");
        let stage = match recipe.next() {
            Need::Constants(stage) | Need::Whole(stage, _) => *stage,
            _ => break,
        };
        recipe.give(Some(part(stage, String::new())));
    }
    assert!(matches!(recipe.next(), Need::LinkWhole([_, _])));
    assert!(recipe.into_refusal().is_none(), "no link was refused");
}

#[test]
fn constants_are_looked_for_as_far_as_there_can_be_any() {
    let needs = |constant, lacks: &[&'static str]| {
        let notes = Notebook { constant, lacks: lacks.to_vec(), ..Notebook::default() };
        let mut needs = notes.needs_of(whole(&[Vertex, Fragment]));
        // The rest is always the same.
        assert_eq!(needs.split_off(needs.len() - 3)[..2], ["whole Fragment", "whole Vertex"]);
        needs
    };
    assert_eq!(needs(false, &[]), ["constants Vertex"]);
    assert_eq!(needs(true, &[]), ["constants Vertex", "constants Fragment"]);
    assert_eq!(needs(true, &["constants Vertex"]), ["constants Vertex"]);
    assert_eq!(needs(true, &["constants Fragment"]), ["constants Vertex", "constants Fragment"]);
    assert_eq!(Notebook::default().needs_of(whole(&[Compute])), ["whole Compute", "link whole Compute"]);
    assert_eq!(Notebook::default().needs_of(whole(&[Vertex])), ["whole Vertex", "link whole Vertex"]);
}

#[test]
fn the_fragment_stage_knows_constants_and_the_vertex_stage_what_is_read() {
    let known = |constant, lacks: &[&'static str]| {
        let mut notes = Notebook { constant, lacks: lacks.to_vec(), ..Notebook::default() };
        notes.follow(&mut whole(&[Vertex, Fragment])).unwrap();
        <[KnownState; 2]>::try_from(notes.known).unwrap()
    };
    let [fragment, vertex] = known(true, &[]);
    assert_eq!(fragment.constants.get().unwrap()[0].bits, 9);
    assert!(fragment.reads.get().unwrap().inputs.is_empty(), "nothing was compiled before");
    assert_eq!(vertex.reads.get().unwrap().inputs[0].semantic, Semantic::Location(3));
    for [fragment, _] in [known(false, &[]), known(true, &["constants Vertex"]), known(true, &["constants Fragment"])] {
        assert!(fragment.constants.is_unknown());
    }
}

#[test]
fn a_layout_in_place_of_the_states_is_what_is_known() {
    let given = ResourceLayout { push_constant_bytes: 64, ..ResourceLayout::default() };
    let state = PipelineState::default();
    for (layout, bytes) in [(None, 0), (Some(&given), 64)] {
        let recipe = Recipe::<Stage, Part>::whole([(Compute, Compute)], Cow::Borrowed(&state), layout);
        let Need::Whole(Compute, known) = recipe.next() else { panic!("{:?}", recipe.step) };
        assert_eq!(known.layout.get().unwrap().push_constant_bytes, bytes);
    }
}
