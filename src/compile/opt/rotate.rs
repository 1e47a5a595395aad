//! Moves the test at the top of a loop to its end: the loop is entered past a copy of the test.
//!
//! `while (test) body` becomes `if (test) do body while (test)`. An iteration then has one jump less, and there is a block
//! that runs once, only if the body does: loop-invariant code and code that only the loop uses go there.
//!
//! Each header that ends with the test is copied for the first iteration, so all of its instructions run as often as
//! before. What does not change in the loop moves to the copy instead, and so stays a value of the whole wave if it was one.
//! The header's other values pass to other blocks through scratch variables, which promotion removes.

use super::demote::{self, Use};
use super::purity::{Depends, depends};
use super::{blocks, jumps, number, params, promote};
use dovetail_base::error::Result;
use dovetail_base::workspace::{Kept, List, filled};
use dovetail_compile::request::TuningOptions;
use dovetail_ir::cfg::Cfg;
use dovetail_ir::{BlockId, End, InstId, Merge, Op, Shader, Terminator, Value, structure};
use rustc_hash::FxHashMap;

/// Largest number of instructions of a header that is copied.
const MAX_COPIED: usize = 16;
/// Largest number of loops that change.
const MAX_LOOPS: usize = 256;

/// A loop that changes.
struct Rotated {
    header: BlockId,
    number: u32,
    /// Which of the header's two jumps leads into the loop.
    inside: usize,
}

/// By instruction, whether it is in a header that changes, and its result the same in every iteration.
type Invariant = List<bool>;

/// Moves the tests of loops.
///
/// # Errors
/// None but bugs.
pub(super) fn run(shader: &mut Shader, options: &TuningOptions) -> Result<()> {
    let cfg = shader.cfg();
    if cfg.loops().is_empty() || !cfg.loops().are_all() {
        return Ok(());
    }
    let chosen = choose(shader, &cfg);
    if chosen.is_empty() {
        return Ok(());
    }
    chosen.iter().for_each(|rotated| move_tokens(shader, rotated));
    let invariant = invariants(shader, &chosen);
    let uses = carried(shader, &chosen, &invariant);
    let locals = shader.locals.len();
    demote::run(shader, &uses);
    let mut added = List::<BlockId>::default();
    for rotated in &chosen {
        rotate(shader, &cfg, rotated, &mut added, |shader, id, copied| {
            let inst = shader.inst(id);
            match (&inst.op, invariant.get(id.index())) {
                // Added for a value of another loop's header.
                (Op::LocalLoad { local, .. }, _) if local.index() >= locals => true,
                (_, Some(same)) => *same,
                // Added too: makes a loaded word the boolean that it stands for, or the other way round.
                (_, None) => inst.result.is_some() && !inst.args.iter().any(|v| copied.contains_key(v)),
            }
        });
    }
    structure::drop_untrue(shader);
    promote::run(shader, options)?;
    params::run(shader, options)?;
    number::run(shader, options)?;
    jumps::run(shader, options)?;
    blocks::run(shader, options)
}

/// The loops whose header ends with a test that may leave the loop.
fn choose(shader: &Shader, cfg: &Cfg) -> List<Rotated> {
    let loops = cfg.loops();
    let mut chosen = List::default();
    for number in 0..loops.len() as u32 {
        let header = loops.header(number);
        let block = shader.block(header);
        let Some(Terminator::Branch { then, els, .. }) = block.term() else { continue };
        let stays = [then, els].map(|call| loops.around(call.block).contains(&number));
        // A block that jumps to itself has its test at the end already.
        let itself = [then, els].iter().any(|call| call.block == header);
        // Operations of several lanes keep their form, for which other passes look.
        let plain = |id: &InstId| {
            let inst = shader.inst(*id);
            inst.op == Op::LoopToken
                || inst.result.is_some() && matches!(depends(&inst.op), Depends::Nothing | Depends::Memory(_))
        };
        let small = block.insts.len() <= MAX_COPIED && block.insts.iter().all(plain);
        if stays[0] != stays[1] && !itself && small && chosen.len() < MAX_LOOPS {
            chosen.push(Rotated { header, number, inside: usize::from(stays[1]) });
        }
    }
    chosen
}

/// Moves the names of a loop to the block that becomes its header. It dominates the blocks that stay in the loop, because
/// no way leads to them from what the test leaves to.
fn move_tokens(shader: &mut Shader, rotated: &Rotated) {
    let block = shader.block(rotated.header);
    let is_token = |id: &InstId| shader.inst(*id).op == Op::LoopToken;
    let tokens: List<InstId> = block.insts.iter().copied().filter(is_token).collect();
    let Some(to) = block.calls().nth(rotated.inside).map(|call| call.block) else { return };
    if !tokens.is_empty() {
        shader.block_mut(rotated.header).insts.retain(|id| !tokens.contains(id));
        shader.block_mut(to).insts.splice(0..0, tokens.iter().copied());
    }
}

fn invariants(shader: &Shader, chosen: &[Rotated]) -> Invariant {
    let mut invariant = filled(shader.insts.len(), false);
    let mut changes = filled(shader.values.len(), false);
    for rotated in chosen {
        // Operands are of the header or of blocks before the loop.
        let block = shader.block(rotated.header);
        block.params.iter().for_each(|v| changes[v.index()] = true);
        for id in &block.insts {
            let inst = shader.inst(*id);
            let same = depends(&inst.op) == Depends::Nothing && !inst.args.iter().any(|v| changes[v.index()]);
            invariant[id.index()] = same;
            inst.result.iter().for_each(|v| changes[v.index()] = !same);
        }
        // To other headers they are values from before the loop.
        let results = block.insts.iter().filter_map(|id| shader.inst(*id).result);
        block.params.iter().copied().chain(results).for_each(|v| changes[v.index()] = false);
    }
    invariant
}

/// The uses of the headers' values in other blocks, by block.
fn carried(shader: &Shader, chosen: &[Rotated], invariant: &Invariant) -> List<Use> {
    let mut home = filled(shader.values.len(), BlockId::ENTRY);
    let mut of_header = filled(shader.values.len(), false);
    for rotated in chosen {
        let block = shader.block(rotated.header);
        let changing = block.insts.iter().filter(|id| !invariant[id.index()]);
        for v in block.params.iter().copied().chain(changing.filter_map(|id| shader.inst(*id).result)) {
            home[v.index()] = rotated.header;
            of_header[v.index()] = true;
        }
    }
    let mut uses = List::<Use>::default();
    for id in shader.block_ids() {
        let block = shader.block(id);
        let start = uses.len();
        let mut note = |v: &Value| {
            if of_header[v.index()] && home[v.index()] != id {
                uses.push((id, *v));
            }
        };
        block.insts.iter().flat_map(|id| &shader.inst(*id).args).for_each(&mut note);
        block.end.values().iter().for_each(&mut note);
        uses[start..].sort_unstable();
    }
    uses.dedup();
    uses
}

/// Changes one loop. `added`: for each new block, the header of the loop that it was added before; it is in the loops around
/// that one. `moves`: whether an instruction moves, and is not copied, given the copies of parameters and of instructions
/// before.
fn rotate(
    shader: &mut Shader,
    cfg: &Cfg,
    rotated: &Rotated,
    added: &mut List<BlockId>,
    moves: impl Fn(&Shader, InstId, &FxHashMap<Value, Value>) -> bool,
) {
    let &Rotated { header, number, inside } = rotated;
    let loops = cfg.loops();
    let old = shader.blocks.len() - added.len();
    let first = shader.add_block();
    let before = shader.add_block();
    let mut values = Kept::<FxHashMap<Value, Value>>::default();
    for n in 0..shader.block(header).params.len() {
        let param = shader.block(header).params[n];
        let ty = shader.ty(param);
        values.insert(param, shader.add_param(first, ty));
    }
    let (mut old_insts, mut stay) = (List::<InstId>::default(), List::<InstId>::default());
    old_insts.append(&mut shader.block_mut(header).insts);
    for &old in &old_insts {
        if moves(shader, old, &values) {
            shader.block_mut(first).insts.push(old);
            continue;
        }
        stay.push(old);
        let inst = shader.inst(old);
        let args = inst.args.iter().map(|v| values.get(v).copied().unwrap_or(*v)).collect();
        let (op, result) = (inst.op.clone(), inst.result);
        let ty = result.map(|v| shader.ty(v));
        let id = shader.add_inst(op, args, ty);
        if let (Some(old), Some(new)) = (result, shader.inst(id).result) {
            values.insert(old, new);
        }
        shader.block_mut(first).insts.push(id);
    }
    shader.block_mut(header).insts.append(&mut stay);
    let mut end = End::default();
    end.clone_from(&shader.block(header).end);
    end.values_mut().iter_mut().for_each(|v| *v = values.get(v).copied().unwrap_or(*v));
    // What enters the loop now enters the copy; what continues it stays.
    for id in shader.block_ids().take(old + added.len()) {
        let stays = match id.index().checked_sub(old).map(|n| added[n]) {
            Some(later) => later != header && loops.around(later).contains(&number),
            None => loops.around(id).contains(&number),
        };
        if !stays {
            shader.block_mut(id).end.targets_mut().filter(|to| **to == header).for_each(|to| *to = first);
        }
    }
    shader.block_mut(first).end = end;
    shader.blocks.split_call(first, inside, before);
    shader.block_mut(header).merge = Merge::None;
    added.extend([header, header]);
}
