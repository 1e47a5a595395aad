//! What is known of a compute pipeline: its shader, and the resources that it uses.

use super::reason::Reason;
use dovetail::capture::{Hash, StageUse, Translated};
use dovetail::compile::request::{Module, default_wave};
use dovetail::compile::spirv::{reflect, translate};
use dovetail::error::Result;
use dovetail::ir::Resource;
use dovetail::proof::StageEntry;
use dovetail::state::PipelineState;
use dovetail::target::Stage;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A pipeline as the application made it; its shader is looked into when it is dispatched first.
pub struct Known {
    pub name: Hash,
    given: std::result::Result<(Translated, Arc<[u8]>), Reason>,
    program: OnceLock<std::result::Result<Program, Reason>>,
    dispatched: AtomicU64,
    taken: AtomicU64,
}

/// A shader that can be followed.
pub struct Program {
    pub module: Module,
    pub entry: StageEntry,
    pub state: PipelineState,
    /// Each binding once, in their order.
    pub resources: Vec<Resource>,
}

impl Known {
    pub fn new(name: Hash, translated: &Result<Translated>, module: impl FnOnce(Hash) -> Option<Arc<[u8]>>) -> Self {
        let given = match translated {
            Ok(translated) => {
                let code = translated.stages.first().and_then(|stage| module(stage.module));
                code.map(|code| (translated.clone(), code)).ok_or(Reason::Pipeline)
            }
            Err(e) => Err(Reason::Unsupported(e.to_string())),
        };
        Self { name, given, program: OnceLock::new(), dispatched: AtomicU64::new(0), taken: AtomicU64::new(0) }
    }

    /// Counts a dispatch; whether it is to be looked at.
    pub fn is_turn(&self, most: u64) -> bool {
        let number = self.dispatched.fetch_add(1, Ordering::Relaxed) + 1;
        number.is_power_of_two() && self.taken.load(Ordering::Relaxed) < most
    }

    /// Counts a dispatch that is copied; its number.
    pub fn take(&self) -> u64 {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.dispatched.load(Ordering::Relaxed)
    }

    /// The shader. The driver's subgroups have so many lanes.
    pub fn program(&self, lanes: u32) -> std::result::Result<&Program, Reason> {
        let look = || {
            let (translated, code) = self.given.as_ref().map_err(Clone::clone)?;
            let stage = translated.stages.first().filter(|stage| stage.stage == Stage::Compute);
            Program::new(stage.ok_or(Reason::Pipeline)?, &translated.state, code, lanes)
        };
        self.program.get_or_init(look).as_ref().map_err(Clone::clone)
    }
}

impl Program {
    fn new(used: &StageUse, state: &PipelineState, code: &[u8], lanes: u32) -> std::result::Result<Self, Reason> {
        let unsupported = |e: dovetail::error::Error| Reason::Unsupported(e.to_string());
        let module = Module::new(code.to_vec()).map_err(unsupported)?;
        let info = reflect(&module).map_err(unsupported)?;
        if info.capabilities.iter().any(|name| name.starts_with("PhysicalStorageBufferAddresses")) {
            return Err(Reason::Addresses);
        }
        let wave = used.wave.unwrap_or_else(|| default_wave(Stage::Compute, info.uses_subgroups));
        let wave = if info.uses_subgroups {
            let same = lanes.try_into().ok().filter(|same| used.wave.is_none_or(|asked| asked == *same));
            same.ok_or(Reason::Subgroups)?
        } else {
            wave
        };
        let known = |id: &u32| info.spec_constants.iter().any(|constant| constant.id == *id);
        let values: Vec<(u32, u64)> = used.specialization.iter().copied().filter(|(id, _)| known(id)).collect();
        let shader = translate(&module, &used.entry_point, Stage::Compute, &values).map_err(unsupported)?;
        let mut resources: Vec<Resource> = Vec::new();
        for one in shader.resources {
            match resources.iter_mut().find(|there| (there.set, there.binding) == (one.set, one.binding)) {
                Some(there) => {
                    there.written |= one.written;
                    there.count = there.count.zip(one.count).map(|(a, b)| a.max(b));
                }
                None => resources.push(one),
            }
        }
        resources.sort_by_key(|one| (one.set, one.binding));
        let entry = StageEntry { stage: Stage::Compute, entry_point: used.entry_point.clone(), wave };
        Ok(Self { module, entry, state: state.clone(), resources })
    }
}
