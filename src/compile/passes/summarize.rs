//! Interface facts about the whole shader, from its code and modes; the last step of lowering.

use super::context::PassContext;
use dovetail_base::error::Result;
use dovetail_ir::{AmdOp, AtomicOp, Inst, MimgOp, Op, Resource, Shader, ShaderLevel};
use dovetail_metadata::interface::{ResourceUse, StageKind};

/// Sets facts that no single pass knows. Runs on lower-level code.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    let interface = &mut cx.interface;
    interface.resources = resources(&shader.resources);
    interface.push_constant_bytes = shader.push_constant_bytes;
    interface.specialization.clone_from(&shader.modes.spec);
    interface.spec_operands.clone_from(&shader.modes.spec_operands);
    interface.writes_memory = shader.live_insts().any(writes_memory);
    match &mut interface.kind {
        StageKind::Vertex(_) => {}
        StageKind::Fragment(f) => {
            f.early_fragment_tests = shader.modes.early_fragment_tests;
            // Without early tests the mask cannot be the one after them.
            f.post_depth_coverage = shader.modes.post_depth_coverage && shader.modes.early_fragment_tests;
            f.depth_mode = shader.modes.depth;
            f.pixel_center_integer = shader.modes.pixel_center_integer;
        }
        StageKind::Compute(c) => {
            c.local_size = shader.modes.local_size;
            c.lds_bytes = shader.shared_bytes;
        }
    }
    shader.level = ShaderLevel::Lower;
    Ok(())
}

/// Resources by set and binding; two variables of one binding count once.
fn resources(list: &[Resource]) -> Vec<ResourceUse> {
    let mut out: Vec<ResourceUse> =
        list.iter().map(|r| ResourceUse { set: r.set, binding: r.binding, kind: r.kind, count: r.count }).collect();
    out.sort();
    out.dedup();
    out
}

/// Whether an instruction changes memory that is visible outside the shader.
fn writes_memory(inst: &Inst) -> bool {
    let atomic = |op: AtomicOp| op != AtomicOp::Load;
    match inst.op {
        Op::BufferStore { .. } | Op::GlobalStore { .. } | Op::Target(AmdOp::TexelStore { .. }) => true,
        Op::BufferAtomic { op, .. } | Op::Target(AmdOp::TexelAtomic { op, .. }) | Op::GlobalAtomic { op, .. } => {
            atomic(op)
        }
        Op::Target(AmdOp::Mimg(m)) => match m.op {
            MimgOp::Store | MimgOp::StoreMip => true,
            MimgOp::Atomic(op) => atomic(op),
            _ => false,
        },
        _ => false,
    }
}
