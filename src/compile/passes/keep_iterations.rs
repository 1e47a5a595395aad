//! Keeps the blocks that leave a loop in the iteration that they leave, wherever an operation can tell the difference.
//!
//! SPIR-V's structure decides what belongs to an iteration: a block belongs to the loop construct that it stands in until
//! the loop's merge block, also if it only leaves the loop. As a graph such a block is outside of the loop, where code
//! generators let the lanes of all iterations gather.
//!
//! | operation in a block that leaves its loop | result |
//! | --- | --- |
//! | of several lanes, if lanes may leave the loop in different iterations | the block stays in the loop |
//! | by a descriptor whose index may differ between iterations and is not declared non-uniform | the same |
//! | any other | lanes may gather |
//!
//! [`Op::StayInLoop`] after the last such operation of a block says so to every later analysis; the rest of the block is
//! outside. A block from which a way leads back gets one too: once branches are folded, there may be no such way any more.
//! The pass comes first, while the declared structure is what the module says.

use dovetail_base::error::Result;
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::{Kept, List, take};
use dovetail_ir::cfg::{Cfg, DomTree};
use dovetail_ir::uniform::Uniformity;
use dovetail_ir::{BlockId, Graph, Inst, InstArgs, Merge, Op, Shader, Type, Value};

/// The last operation of a block that makes it stay in a loop.
struct Stay {
    block: BlockId,
    /// Index of the operation in the block.
    last: usize,
    /// The innermost of these loops is last.
    loops: List<u32>,
    /// It is outside of one of these loops as a graph.
    leaves: bool,
}

/// Keeps blocks in their iterations.
///
/// # Errors
/// None.
pub fn run(shader: &mut Shader, _wave: WaveSize) -> Result<()> {
    if std::mem::replace(&mut shader.keeps_iterations, true) {
        return Ok(());
    }
    let cfg = shader.cfg();
    if cfg.loops().is_empty() || !cfg.loops().are_all() {
        return Ok(());
    }
    let stays = find(shader, &cfg);
    let mut tokens = List::<(BlockId, Value)>::default();
    for stay in &stays {
        for l in &stay.loops {
            // Whatever becomes of the other blocks, a loop that remains has its header.
            let header = cfg.loops().header(*l);
            let token = match tokens.iter().find(|(at, _)| *at == header) {
                Some((_, token)) => *token,
                None => add_token(shader, header),
            };
            tokens.push((header, token));
        }
    }
    let mut tokens = tokens.iter().map(|(_, token)| *token);
    for stay in &stays {
        mark(shader, stay, tokens.by_ref().take(stay.loops.len()));
    }
    Ok(())
}

/// The blocks that have to stay in loops.
fn find(shader: &Shader, cfg: &Cfg) -> List<Stay> {
    let mut stays = List::default();
    let mut analyses = None;
    for &block in cfg.order.iter() {
        let mut own = Stay { block, last: 0, loops: List::default(), leaves: false };
        for (n, inst) in shader.block(block).insts.iter().map(|id| shader.inst(*id)).enumerate() {
            let lanes = matches!(inst.op, Op::Subgroup(_));
            if !lanes && !indexed(shader, inst).any(|_| true) {
                continue;
            }
            let (structure, uniformity) =
                &*analyses.get_or_insert_with(|| (structural_dominators(shader), Uniformity::of(shader)));
            let apart = |v: Value| !uniformity.is_uniform_in(v, block);
            if !lanes && !indexed(shader, inst).any(apart) {
                continue;
            }
            let apart = |l: &u32| uniformity.leave_apart(*l);
            let mut loops: List<u32> = constructs(shader, cfg, structure, block).filter(apart).collect();
            if !loops.is_empty() {
                loops.sort_unstable();
                own.last = n;
                own.leaves = loops.iter().any(|l| !cfg.loops().around(block).contains(l));
                own.loops = loops;
            }
        }
        if !own.loops.is_empty() {
            stays.push(own);
        }
    }
    stays
}

/// What selects the descriptors that an operation reads or makes, unless this may differ between lanes: an index, or a
/// descriptor that comes from several places.
fn indexed<'a>(shader: &'a Shader, inst: &'a Inst) -> impl Iterator<Item = Value> + 'a {
    let index = |inst: &Inst| match inst.op {
        Op::Descriptor { non_uniform: false, .. } => {
            inst.args.first().copied().filter(|index| shader.as_const(*index).is_none())
        }
        _ => None,
    };
    let own = index(inst);
    let read = inst.args.iter().filter_map(move |v| match shader.def(*v) {
        Some(made) => index(made),
        None => matches!(shader.ty(*v), Type::DESC4 | Type::DESC8).then_some(*v),
    });
    own.into_iter().chain(read)
}

/// Dominators in the graph that the structure adds edges to: from each header to its merge block and continue target. A
/// block is in a construct if the header dominates it in this graph, and the merge block does not.
fn structural_dominators(shader: &Shader) -> Kept<DomTree> {
    let mut succs = take::<Graph>();
    for id in shader.block_ids() {
        let block = shader.block(id);
        succs.push(block.calls().map(|call| call.block).chain(block.merge.blocks()));
    }
    let preds = succs.reversed();
    DomTree::new(&succs, &preds)
}

/// The loops whose construct a block is in, but for the loop that it is the header of.
fn constructs<'a>(
    shader: &'a Shader,
    cfg: &'a Cfg,
    structure: &'a DomTree,
    block: BlockId,
) -> impl Iterator<Item = u32> + 'a {
    let loops = cfg.loops();
    let above = std::iter::successors(structure.parent(block), move |b| structure.parent(*b));
    above.filter_map(move |header| {
        let Merge::Loop { merge, .. } = shader.block(header).merge else { return None };
        let l = loops.around(header).last().copied().filter(|l| loops.header(*l) == header)?;
        (!structure.dominates(merge, block) && cfg.dom.dominates(header, block)).then_some(l)
    })
}

fn add_token(shader: &mut Shader, header: BlockId) -> Value {
    let token = Value(shader.values.len() as u32);
    let id = shader.add_inst(Op::LoopToken, InstArgs::new(), Some(Type::B32));
    shader.block_mut(header).insts.push(id);
    token
}

/// Marks a block, which ends after its last such operation if it leaves a loop; what follows is a block of its own.
fn mark(shader: &mut Shader, stay: &Stay, tokens: impl Iterator<Item = Value>) {
    let end = stay.last + 1;
    if stay.leaves {
        shader.split_block(stay.block, end);
    }
    for (n, token) in tokens.enumerate() {
        let id = shader.add_inst(Op::StayInLoop, InstArgs::from_slice(&[token]), None);
        shader.block_mut(stay.block).insts.insert(end + n, id);
    }
}
