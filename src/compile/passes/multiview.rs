//! Multiview: a vertex shader draws to the layer with the view's index.
//!
//! | views | a vertex shader |
//! |---|---|
//! | unknown, or known to be none | draws to the layer that it writes, or to the first |
//! | known to exist | draws to the layer with its view's index; it must not write the layer itself |
//!
//! The driver draws each view with the view's index in the user data of both stages, so the fragment shader is the
//! same.

use super::context::PassContext;
use dovetail_base::error::{Error, Result};
use dovetail_ir::{BlockId, Builder, BuiltIn, NumericKind, Op, OutputSlot, Shader, Terminator, Type};

/// Stores the view as the layer at every return.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    let Some(interface) = cx.interface.kind.pre_rasterization_mut() else { return Ok(()) };
    if cx.request.known.multiview.get() != Some(&true) {
        return Ok(());
    }
    interface.multiview = true;
    let says = |inst: &dovetail_ir::Inst| matches!(inst.op, Op::StoreOutput { slot: OutputSlot::Layer, .. });
    if shader.live_insts().any(says) {
        return Err(Error::malformed("the shader writes Layer, and the state has a view mask, which decides it"));
    }
    let returns = |b: &BlockId| matches!(shader.block(*b).term(), Some(Terminator::Return(_)));
    let ends: Vec<BlockId> = shader.block_ids().filter(returns).collect();
    for block in ends {
        let mut b = Builder::new(shader, block);
        let view = b.value(Op::load_builtin(BuiltIn::ViewIndex, 0), &[], Type::B32);
        b.effect(Op::StoreOutput { slot: OutputSlot::Layer, kind: NumericKind::Uint }, &[view]);
    }
    Ok(())
}
