//! A pipeline in the shadow: its shaders, and the resources that they use.

use super::reason::Reason;
use dovetail_base::error::Result;
use dovetail_base::target::Gpu;
use dovetail_capture::{FixedState, Hash, StageUse, Translated};
use dovetail_compile::request::{Module, default_wave};
use dovetail_ir::{AmdOp, BuiltIn, Interp, Op, Resource, SubgroupOp};
use dovetail_opt::dce;
use dovetail_proof::StageEntry;
use dovetail_spirv::{reflect, translate};
use dovetail_state::PipelineState;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A pipeline as the application created it; its shaders are translated at its first use.
pub struct Known {
    pub name: Hash,
    /// The fixed-function state of a graphics pipeline.
    pub fixed: Option<FixedState>,
    given: std::result::Result<Given, Reason>,
    program: OnceLock<std::result::Result<Program, Reason>>,
    used: AtomicU64,
    taken: AtomicU64,
}

/// A pipeline's state, and the code of each of its stages.
type Given = (Translated, Vec<Arc<[u8]>>);

/// Shaders that can be followed.
pub struct Program {
    pub stages: Vec<(StageEntry, Module)>,
    pub state: PipelineState,
    /// Each binding once, in order.
    pub resources: Vec<Resource>,
    pub reads: Reads,
}

/// What the shaders read of the draw and the primitive.
#[derive(Clone, Copy, Default)]
pub struct Reads {
    /// The number of the draw in its call.
    pub draw_index: bool,
    /// Values of the provoking vertex.
    pub flat: bool,
    /// Values of each vertex, or weights of them.
    pub per_vertex: bool,
    /// The depth.
    pub depth: bool,
    /// The coordinate in a point.
    pub point: bool,
}

impl Reads {
    fn note(&mut self, op: &Op) {
        match op {
            Op::LoadInput { interp: Interp::Flat, .. } => self.flat = true,
            Op::LoadInput { interp: Interp::Vertex(_), .. }
            | Op::LoadBuiltIn {
                builtin: BuiltIn::BaryCoord | BuiltIn::BaryCoordNoPersp | BuiltIn::BaryCoordPullModel,
                ..
            } => self.per_vertex = true,
            Op::LoadBuiltIn { builtin: BuiltIn::FragCoord, component: 2, .. } => self.depth = true,
            Op::LoadBuiltIn { builtin: BuiltIn::PointCoord, .. } => self.point = true,
            _ => {}
        }
    }
}

/// Whether an operation reads the number of the draw in its call.
fn is_draw_index(op: &Op) -> bool {
    matches!(op, Op::LoadBuiltIn { builtin: BuiltIn::DrawIndex, .. })
}

impl Known {
    pub fn new(
        name: Hash,
        translated: &Result<Translated>,
        fixed: Option<FixedState>,
        module: impl Fn(Hash) -> Option<Arc<[u8]>>,
    ) -> Self {
        let given = match translated {
            Ok(translated) => {
                let code = translated.stages.iter().map(|stage| module(stage.module)).collect::<Option<Vec<_>>>();
                code.map(|code| (translated.clone(), code)).ok_or(Reason::Pipeline)
            }
            Err(e) => Err(Reason::Unsupported(e.to_string())),
        };
        Self { name, fixed, given, program: OnceLock::new(), used: AtomicU64::new(0), taken: AtomicU64::new(0) }
    }

    /// Counts a dispatch or a draw; whether it is to be looked at.
    pub fn is_turn(&self, most: u64) -> bool {
        let number = self.used.fetch_add(1, Ordering::Relaxed) + 1;
        number.is_power_of_two() && self.taken.load(Ordering::Relaxed) < most
    }

    /// Whether one of the next dispatches or draws will be sampled.
    pub fn has_turn(&self, count: u64, most: u64) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        (used + 1).next_power_of_two() <= used + count && self.taken.load(Ordering::Relaxed) < most
    }

    /// Counts one that is copied; its number.
    pub fn take(&self) -> u64 {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.used.load(Ordering::Relaxed)
    }

    /// The shaders, for subgroups of `lanes` lanes, as the driver has.
    pub fn program(&self, lanes: u32) -> std::result::Result<&Program, Reason> {
        let look = || {
            let (translated, code) = self.given.as_ref().map_err(Clone::clone)?;
            let mut program = Program {
                stages: Vec::new(),
                state: translated.state.clone(),
                resources: Vec::new(),
                reads: Reads::default(),
            };
            for (stage, code) in translated.stages.iter().zip(code) {
                program.add(stage, code, lanes)?;
            }
            program.resources.sort_by_key(|one| (one.set, one.binding));
            Ok(program)
        };
        self.program.get_or_init(look).as_ref().map_err(Clone::clone)
    }
}

impl Program {
    fn add(&mut self, used: &StageUse, code: &[u8], lanes: u32) -> std::result::Result<(), Reason> {
        let unsupported = |e: dovetail_base::error::Error| Reason::Unsupported(e.to_string());
        let module = Module::new(code.to_vec()).map_err(unsupported)?;
        let info = reflect(&module).map_err(unsupported)?;
        if info.capabilities.iter().any(|name| name.starts_with("PhysicalStorageBufferAddresses")) {
            return Err(Reason::Addresses);
        }
        let known = |id: &u32| info.spec_constants.iter().any(|constant| constant.id == *id);
        let values: Vec<(u32, u64)> = used.specialization.iter().copied().filter(|(id, _)| known(id)).collect();
        let mut shader = translate(&module, &used.entry_point, used.stage, &values).map_err(unsupported)?;
        // Generators declare subgroups and pass on their size where nothing depends on it, and a shader that uses x and y
        // of its position loads the depth too.
        dce::run(&mut shader, default_wave(Gpu::default(), used.stage, info.uses_subgroups)).map_err(unsupported)?;
        let wave = if info.uses_subgroups && shader.has(depends_on_subgroups) {
            let same = used.lanes.is_none_or(|asked| asked == lanes);
            lanes.try_into().ok().filter(|_| same).ok_or(Reason::Subgroups)?
        } else {
            let asked = used.wave(false).map_err(unsupported)?;
            asked.unwrap_or_else(|| default_wave(Gpu::default(), used.stage, false))
        };
        self.reads.draw_index |= shader.has(is_draw_index);
        if used.stage.shades_pixels() {
            shader.live_insts().for_each(|inst| self.reads.note(&inst.op));
        }
        for one in &*shader.resources {
            match self.resources.iter_mut().find(|there| (there.set, there.binding) == (one.set, one.binding)) {
                Some(there) => {
                    there.written |= one.written;
                    there.count = there.count.zip(one.count).map(|(a, b)| a.max(b));
                }
                None => self.resources.push(one.clone()),
            }
        }
        let entry = StageEntry { stage: used.stage, entry_point: used.entry_point.clone(), wave };
        self.stages.push((entry, module));
        Ok(())
    }
}

/// Whether an operation can give something else if the subgroups have another size. Quads are parts of any subgroup.
fn depends_on_subgroups(op: &Op) -> bool {
    match op {
        Op::Subgroup(SubgroupOp::QuadBroadcast | SubgroupOp::QuadSwap(_)) => false,
        Op::Subgroup(_) | Op::Target(AmdOp::Lane(_)) => true,
        Op::LoadBuiltIn { builtin, .. } => builtin.is_of_subgroup(),
        _ => false,
    }
}
