//! Steps that need the whole shader: unreachable blocks are dropped, unwritten bindings found.
//!
//! Blocks that a reachable header declares stay, empty and unreachable, to keep the structure complete.

use dovetail_base::workspace::{filled, take};
use dovetail_ir::{BlockId, ImageOp, Merge, Op, PerBlock, Shader, ValueDef};

/// Drops unreachable blocks except `exit`.
pub fn drop_unreachable(shader: &mut Shader, exit: BlockId) {
    let count = shader.blocks.len();
    let mut reached: PerBlock<bool> = filled(count, false);
    let mut stack = filled(1, Shader::ENTRY);
    while let Some(b) = stack.pop() {
        if std::mem::replace(&mut reached[b.index()], true) {
            continue;
        }
        stack.extend(shader.block(b).calls().map(|call| call.block));
    }
    let mut kept = reached.clone();
    kept[exit.index()] = true;
    for (block, _) in shader.blocks.iter().zip(&reached).filter(|(_, reached)| **reached) {
        block.merge.blocks().for_each(|b| kept[b.index()] = true);
    }
    let mut renumbered = take::<Vec<BlockId>>();
    let mut next = 0;
    for (n, block) in shader.blocks.iter_mut().enumerate() {
        renumbered.push(BlockId(next));
        next += u32::from(kept[n]);
        if !reached[n] && BlockId(n as u32) != exit {
            block.make_unreachable();
        }
    }
    let mut n = 0;
    shader.blocks.retain(|_| {
        n += 1;
        kept[n - 1]
    });
    for block in &mut shader.blocks {
        match &mut block.merge {
            Merge::None => {}
            Merge::Selection(merge) => *merge = renumbered[merge.index()],
            Merge::Loop { merge, continue_to } => {
                *merge = renumbered[merge.index()];
                *continue_to = renumbered[continue_to.index()];
            }
        }
        block.end.targets_mut().for_each(|to| *to = renumbered[to.index()]);
    }
    for value in &mut shader.values {
        if let ValueDef::Param(block, _) = &mut value.def {
            *block = renumbered[block.index()];
        }
    }
}

/// Clears `written` of bindings that no store or atomic uses.
pub fn note_written(shader: &mut Shader) {
    let mut written = filled(shader.resources.len(), false);
    for &id in shader.blocks.iter().flat_map(|b| &b.insts) {
        let inst = shader.inst(id);
        let writes = match &inst.op {
            Op::BufferStore { .. } | Op::BufferAtomic { .. } => true,
            Op::Image(image) => matches!(image.op, ImageOp::Store | ImageOp::Atomic(_)),
            _ => false,
        };
        if !writes {
            continue;
        }
        match inst.args.first().and_then(|d| shader.def(*d)).map(|d| &d.op) {
            Some(Op::Descriptor { resource, .. }) => written[resource.index()] = true,
            // The descriptor is selected at run time, so any binding may be written.
            _ => return,
        }
    }
    for (resource, written) in shader.resources.iter_mut().zip(&written) {
        resource.written &= written;
    }
}
