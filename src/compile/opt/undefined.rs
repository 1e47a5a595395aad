//! Removes stores of undefined values: memory may keep what it has.

use dovetail_base::error::Result;
use dovetail_base::workspace::filled;
use dovetail_compile::request::TuningOptions;
use dovetail_ir::{Inst, Op, Shader, Value};

/// Removes the stores.
///
/// # Errors
/// None.
pub(super) fn run(shader: &mut Shader, _options: &TuningOptions) -> Result<()> {
    let mut gone = filled(shader.insts.len(), false);
    let mut any = false;
    for block in &shader.blocks {
        for id in &block.insts {
            if stored(shader.inst(*id)).is_some_and(|v| is_undefined(shader, v)) {
                (gone[id.index()], any) = (true, true);
            }
        }
    }
    if any {
        shader.blocks.iter_mut().for_each(|block| block.insts.retain(|id| !gone[id.index()]));
    }
    Ok(())
}

/// What an instruction writes to memory and nothing else.
fn stored(inst: &Inst) -> Option<Value> {
    let n = match &inst.op {
        Op::LocalStore { .. } => 1,
        Op::SharedStore { access, .. } | Op::GlobalStore { access, .. } if !access.volatile => 1,
        Op::BufferStore { access, .. } if !access.volatile => 2,
        _ => return None,
    };
    inst.args.get(n).copied()
}

/// Whether every lane of a value is undefined.
fn is_undefined(shader: &Shader, v: Value) -> bool {
    let undefined = |v: &Value| shader.def(*v).is_some_and(|inst| inst.op == Op::Undef);
    match shader.def(v) {
        Some(Inst { op: Op::Compose, args, .. }) => args.iter().all(undefined),
        _ => undefined(&v),
    }
}
