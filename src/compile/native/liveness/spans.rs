//! Variables that live in one stretch of the code: from one definition, which the wave passes before it comes to any
//! other mention of the variable, to the last block that needs it.
//!
//! Masks of lanes are such variables. Where constructs are nested in each other there are as many in each block as there
//! are constructs around it, so lists by block would grow with the square of the shader; a stretch is two blocks.

use crate::mir::dominators::Dominators;
use crate::mir::{BlockId, MachineFunction, RegisterClass, Val};
use dovetail_base::rows::Rows;
use dovetail_base::workspace::{Kept, List, filled};

/// Scalar variables from which on stretches are looked for: with fewer, lists are short too.
const FEWEST: usize = 64;

/// The first and the last block of a stretch. All of both belongs to it, unless they are one.
pub type Span = [BlockId; 2];

/// By value: its stretch. Empty if there are few scalar variables.
pub(super) fn spans(f: &MachineFunction) -> List<Option<Span>> {
    let is_candidate = |val: Val| f.values[val.index()].variable && f.class(val) == RegisterClass::Scalar;
    if (0..).map(Val).take(f.values.len()).filter(|val| is_candidate(*val)).count() < FEWEST {
        return List::default();
    }
    // By value: the blocks that mention it first and last; `None` also if it is no candidate any more.
    let mut spans: List<Option<Span>> = filled(f.values.len(), None);
    let mut refused: List<bool> = (0..).map(Val).take(f.values.len()).map(|val| !is_candidate(val)).collect();
    f.entry.iter().filter_map(|entry| entry.val).for_each(|val| refused[val.index()] = true);
    let dominators = Dominators::linear(f);
    for id in f.block_ids() {
        let block = f.block(id);
        let mut mention = |val: Val, defines: bool| {
            let (span, refused) = (&mut spans[val.index()], &mut refused[val.index()]);
            match span {
                Some([first, last]) => {
                    *refused |= !dominators.dominates(*first, id);
                    *last = id;
                }
                None => {
                    *refused |= !defines;
                    *span = Some([id, id]);
                }
            }
        };
        let passed = block.edges.iter().flat_map(|edge| f.args(edge)).filter_map(|one| one.as_val());
        for inst in f.insts_of(block) {
            f.uses(inst).iter().filter_map(|one| one.as_val()).for_each(|val| mention(val, false));
            f.defs(inst).iter().filter_map(|one| one.as_val()).for_each(|val| mention(val, true));
        }
        // What is passed may be read before all of this, or in another block.
        passed.chain(f.params_of(block).iter().copied()).for_each(|val| refused[val.index()] = true);
    }
    spans.iter_mut().zip(&refused).filter(|(_, refused)| **refused).for_each(|(span, _)| *span = None);
    extend_over_loops(f, &mut spans);
    spans
}

/// A variable is needed in all of a loop that does not contain its first block but mentions it.
fn extend_over_loops(f: &MachineFunction, spans: &mut [Option<Span>]) {
    // By block that goes back: the first block of its loop, whose blocks are contiguous.
    let mut ends: List<BlockId> = f.block_ids().collect();
    for id in f.block_ids() {
        for to in f.block(id).term.targets().filter(|to| *to <= id) {
            ends[to.index()] = ends[to.index()].max(id);
        }
    }
    let mut last_in = Kept::<Rows<Val>>::default();
    let last = |(val, span): (Val, &Option<Span>)| span.map(|[_, last]| (last.index(), val));
    last_in.group(f.blocks.len(), (0..).map(Val).zip(spans.iter()).filter_map(last));
    // Loops around the block at hand, outer ones first.
    let mut around = List::<Span>::default();
    for id in f.block_ids() {
        while around.last().is_some_and(|[_, end]| *end < id) {
            around.pop();
        }
        let end = ends[id.index()];
        if end > id {
            around.push([id, end]);
        }
        for val in last_in.of(id.index()) {
            let Some([first, last]) = &mut spans[val.index()] else { continue };
            if let Some([_, end]) = around.get(around.partition_point(|[header, _]| *header <= *first)) {
                *last = *end;
            }
        }
    }
}
