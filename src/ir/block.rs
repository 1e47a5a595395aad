//! Blocks: their parameters, instructions and ends.
//!
//! Everything about a block is in flat lists that it keeps. An end that is changed, and a block that is removed, leaves
//! its memory to the next one. Contents that move to another block are copied: memory that moved with them would be
//! where the next compile of the same shader needs less, and so it would allocate again.

use super::ids::{BlockId, InstId, Value};
use dovetail_base::workspace::Reusable;
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

/// A basic block.
#[derive(Debug, Default)]
pub struct BasicBlock {
    /// Values passed by predecessors.
    pub params: Vec<Value>,
    /// Instructions in order.
    pub insts: Vec<InstId>,
    /// How the block ends.
    pub end: End,
    /// SPIR-V's structure, if this block is a header.
    pub merge: Merge,
}

impl BasicBlock {
    /// How the block ends; `None` only while the block is built.
    pub fn term(&self) -> Option<Terminator<'_>> {
        self.end.get()
    }

    /// Every jump to another block.
    pub fn calls(&self) -> impl Iterator<Item = BlockCall<'_>> {
        self.end.calls()
    }

    /// Removes everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.params.clear();
        self.insts.clear();
        self.end.clear();
        self.merge = Merge::None;
    }

    /// Makes it a block that nothing reaches.
    pub fn make_unreachable(&mut self) {
        self.clear();
        self.end.set(Terminator::Unreachable);
    }
}

impl Clone for BasicBlock {
    fn clone(&self) -> Self {
        let mut new = Self::default();
        new.clone_from(self);
        new
    }

    fn clone_from(&mut self, from: &Self) {
        refill(&mut self.params, &from.params);
        refill(&mut self.insts, &from.insts);
        self.end.clone_from(&from.end);
        self.merge = from.merge;
    }
}

/// SPIR-V's structured control flow: declaration of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merge {
    /// Not a header.
    #[default]
    None,
    /// A selection that ends at this block.
    Selection(BlockId),
    /// A loop that ends at `merge`, with this continue target.
    Loop {
        /// Merge block.
        merge: BlockId,
        /// Continue target.
        continue_to: BlockId,
    },
}

impl Merge {
    /// The merge block, and the continue target of a loop.
    pub fn blocks(self) -> impl Iterator<Item = BlockId> {
        let (merge, continue_to) = match self {
            Self::None => (None, None),
            Self::Selection(merge) => (Some(merge), None),
            Self::Loop { merge, continue_to } => (Some(merge), Some(continue_to)),
        };
        merge.into_iter().chain(continue_to)
    }

    /// The same blocks by other numbers.
    #[must_use]
    pub fn renamed(self, new: impl Fn(BlockId) -> BlockId) -> Self {
        match self {
            Self::None => Self::None,
            Self::Selection(merge) => Self::Selection(new(merge)),
            Self::Loop { merge, continue_to } => Self::Loop { merge: new(merge), continue_to: new(continue_to) },
        }
    }
}

/// A jump to a block with values for its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCall<'a> {
    /// Target.
    pub block: BlockId,
    /// One value per parameter.
    pub args: &'a [Value],
}

impl BlockCall<'_> {
    /// A jump without values.
    pub const fn to(block: BlockId) -> Self {
        Self { block, args: &[] }
    }
}

/// How a block ends, to look at or to copy from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Terminator<'a> {
    /// Unconditional jump.
    Jump(BlockCall<'a>),
    /// Conditional branch.
    Branch {
        /// b1.
        cond: Value,
        /// If true.
        then: BlockCall<'a>,
        /// If false.
        els: BlockCall<'a>,
    },
    /// Switch on an integer.
    Switch {
        /// Any scalar integer.
        value: Value,
        /// Literal and target of each case.
        cases: Cases<'a>,
        /// Default target.
        default: BlockCall<'a>,
    },
    /// End of the invocation. Upper level: no values. Lower level: one value for each of [`super::LowerInfo::returns`];
    /// [`super::LowerInfo::epilog`] says whether the program ends here or falls through.
    Return(&'a [Value]),
    /// Never reached.
    Unreachable,
}

/// The cases of a switch.
#[derive(Clone, Copy, Debug)]
pub struct Cases<'a>(&'a End);

impl<'a> Cases<'a> {
    /// Literal and target of each case.
    pub fn iter(self) -> impl Iterator<Item = (u64, BlockCall<'a>)> {
        self.0.literals.iter().copied().zip(self.0.calls())
    }

    /// Number of cases.
    pub fn len(self) -> usize {
        self.0.literals.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.literals.is_empty()
    }
}

impl PartialEq for Cases<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    None,
    Jump,
    Branch,
    Switch,
    Return,
    Unreachable,
}

/// Items for which a list has room when it gets any memory: it is used again and again, for blocks of every size.
const ROOM: usize = 16;

/// Makes room for more items in a list that is kept.
pub(super) fn reserve<T>(list: &mut Vec<T>, more: usize) {
    if list.len() + more > list.capacity() {
        list.reserve(more.max(ROOM));
    }
}

/// Makes a list that is kept equal to another one.
fn refill<T: Copy>(list: &mut Vec<T>, from: &[T]) {
    list.clear();
    reserve(list, from.len());
    list.extend_from_slice(from);
}

/// How a block ends: what it decides by or returns, and its jumps.
#[derive(Debug, Default)]
pub struct End {
    kind: Kind,
    /// The values that it uses itself (a condition, or what is returned), then the arguments of each jump.
    values: SmallVec<[Value; 6]>,
    /// Target of each jump, and where its arguments end in `values`. A switch has its default last.
    jumps: SmallVec<[(BlockId, u32); 2]>,
    /// Literals of a switch: of all jumps but the last.
    literals: Vec<u64>,
}

impl End {
    /// The end; `None` only while the block is built.
    pub fn get(&self) -> Option<Terminator<'_>> {
        Some(match (self.kind, &self.jumps[..]) {
            (Kind::Jump, [_]) => Terminator::Jump(self.call(0)),
            (Kind::Branch, [_, _]) => {
                Terminator::Branch { cond: *self.values.first()?, then: self.call(0), els: self.call(1) }
            }
            (Kind::Switch, [cases @ .., _]) => {
                let (value, default) = (*self.values.first()?, self.call(cases.len()));
                Terminator::Switch { value, cases: Cases(self), default }
            }
            (Kind::Return, _) => Terminator::Return(&self.values),
            (Kind::Unreachable, _) => Terminator::Unreachable,
            _ => return None,
        })
    }

    /// Makes it this end, which is another block's or new.
    pub fn set(&mut self, new: Terminator<'_>) {
        self.clear();
        match new {
            Terminator::Jump(call) => {
                self.kind = Kind::Jump;
                self.push(call);
            }
            Terminator::Branch { cond, then, els } => {
                self.kind = Kind::Branch;
                self.values.push(cond);
                self.push(then);
                self.push(els);
            }
            Terminator::Switch { value, cases, default } => self.set_switch(value, cases.iter(), default),
            Terminator::Return(values) => {
                self.kind = Kind::Return;
                self.values.extend_from_slice(values);
            }
            Terminator::Unreachable => self.kind = Kind::Unreachable,
        }
    }

    /// Makes it a switch.
    pub fn set_switch<'a>(
        &mut self,
        value: Value,
        cases: impl Iterator<Item = (u64, BlockCall<'a>)>,
        default: BlockCall<'_>,
    ) {
        self.clear();
        self.kind = Kind::Switch;
        self.values.push(value);
        for (literal, call) in cases {
            self.literals.push(literal);
            self.push(call);
        }
        self.push(default);
    }

    /// Makes it none.
    pub fn clear(&mut self) {
        self.kind = Kind::None;
        self.values.clear();
        self.jumps.clear();
        self.literals.clear();
    }

    /// Makes it a jump: the one of this number among its own.
    pub fn keep_call(&mut self, n: usize) {
        let (args, to) = (self.range(n), self.jumps[n].0);
        self.values.truncate(args.end);
        self.values.drain(..args.start);
        self.jumps.clear();
        self.literals.clear();
        self.jumps.push((to, self.values.len() as u32));
        self.kind = Kind::Jump;
    }

    /// Makes it a branch on another condition with its two jumps in reverse order.
    pub fn turn(&mut self, cond: Value) {
        let [then, els] = [0, 1].map(|n| self.range(n));
        self.values[0] = cond;
        self.values[1..].rotate_left(then.len());
        self.jumps.swap(0, 1);
        self.jumps[0].1 = 1 + els.len() as u32;
        self.jumps[1].1 = self.values.len() as u32;
    }

    /// Replaces a jump by another one.
    pub fn set_call(&mut self, n: usize, call: BlockCall<'_>) {
        let old = self.range(n);
        let (start, end, new) = (old.start, old.end, call.args.len());
        self.values.drain(old);
        self.values.insert_from_slice(start, call.args);
        self.jumps[n].0 = call.block;
        self.jumps[n..].iter_mut().for_each(|(_, at)| *at = (*at as usize - (end - start) + new) as u32);
    }

    fn push(&mut self, call: BlockCall<'_>) {
        self.values.extend_from_slice(call.args);
        self.jumps.push((call.block, self.values.len() as u32));
    }

    /// Every jump.
    pub fn calls(&self) -> impl Iterator<Item = BlockCall<'_>> {
        (0..self.jumps.len()).map(|n| self.call(n))
    }

    fn call(&self, n: usize) -> BlockCall<'_> {
        BlockCall { block: self.jumps[n].0, args: &self.values[self.range(n)] }
    }

    /// The arguments of a jump, as a range of `values`.
    fn range(&self, n: usize) -> std::ops::Range<usize> {
        let start = n.checked_sub(1).map_or(self.own(), |n| self.jumps[n].1 as usize);
        start..self.jumps[n].1 as usize
    }

    /// Number of values that it uses itself.
    fn own(&self) -> usize {
        match self.kind {
            Kind::Branch | Kind::Switch => 1,
            Kind::Return => self.values.len(),
            Kind::None | Kind::Jump | Kind::Unreachable => 0,
        }
    }

    /// The values that it uses itself: conditions and returned ones.
    pub fn own_values(&self) -> &[Value] {
        &self.values[..self.own()]
    }

    /// The values that it uses itself, then the arguments of its jumps.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The values that it uses itself, then the arguments of its jumps, to change.
    pub fn values_mut(&mut self) -> &mut [Value] {
        &mut self.values
    }

    /// The target of every jump, to change.
    pub fn targets_mut(&mut self) -> impl Iterator<Item = &mut BlockId> {
        self.jumps.iter_mut().map(|(to, _)| to)
    }

    /// Removes all arguments of the jumps to a block.
    pub fn drop_args(&mut self, to: BlockId) {
        self.retain_args(|block, _| block != to);
    }

    /// Keeps the arguments for which this is true, given the target of their jump and their position.
    pub fn retain_args(&mut self, keep: impl Fn(BlockId, usize) -> bool) {
        let (mut from, mut kept) = (self.own(), self.own());
        for (to, end) in &mut self.jumps {
            let start = from;
            while from < *end as usize {
                if keep(*to, from - start) {
                    self.values[kept] = self.values[from];
                    kept += 1;
                }
                from += 1;
            }
            *end = kept as u32;
        }
        if !self.jumps.is_empty() {
            self.values.truncate(kept);
        }
    }

    /// Adds arguments to a jump, after those that it has.
    pub fn add_args(&mut self, n: usize, args: impl Iterator<Item = Value>) {
        let (end, before) = (self.jumps[n].1 as usize, self.values.len());
        for value in args {
            if self.values.len() == self.values.capacity() {
                self.values.reserve(ROOM);
            }
            self.values.push(value);
        }
        let count = self.values.len() - before;
        self.values[end..].rotate_right(count);
        self.jumps[n..].iter_mut().for_each(|(_, end)| *end += count as u32);
    }
}

impl Clone for End {
    fn clone(&self) -> Self {
        let mut new = Self::default();
        new.clone_from(self);
        new
    }

    fn clone_from(&mut self, from: &Self) {
        self.kind = from.kind;
        self.values.clone_from(&from.values);
        self.jumps.clone_from(&from.jumps);
        self.literals.clone_from(&from.literals);
    }
}

/// The blocks of a shader. One that is removed leaves its memory to the next one that is added.
#[derive(Debug, Default)]
pub struct Blocks {
    /// Those in use, and then those that are not.
    list: Vec<BasicBlock>,
    count: usize,
}

impl Blocks {
    /// Adds an empty block.
    pub fn add(&mut self) -> &mut BasicBlock {
        if self.count == self.list.len() {
            self.list.push(BasicBlock::default());
        }
        self.count += 1;
        let block = &mut self.list[self.count - 1];
        block.clear();
        block
    }

    /// Adds a block.
    pub fn push(&mut self, block: BasicBlock) {
        *self.add() = block;
    }

    /// Puts a new block into a jump: the jump goes there, and the block goes on as the jump did.
    pub fn split_call(&mut self, block: BlockId, n: usize, edge: BlockId) {
        let Ok([block, edge_block]) = self.get_disjoint_mut([block.index(), edge.index()]) else { return };
        edge_block.end.set(Terminator::Jump(block.end.call(n)));
        block.end.set_call(n, BlockCall::to(edge));
    }

    /// Puts a block after another one that only jumps to it. What remains is a block that nothing reaches.
    pub fn append(&mut self, first: BlockId, next: BlockId) {
        let Ok([block, taken]) = self.get_disjoint_mut([first.index(), next.index()]) else { return };
        reserve(&mut block.insts, taken.insts.len());
        block.insts.append(&mut taken.insts);
        block.end.clone_from(&taken.end);
        if block.merge == Merge::None {
            block.merge = taken.merge;
        }
        taken.make_unreachable();
    }

    /// Keeps the blocks for which this is true, in their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&BasicBlock) -> bool) {
        let mut kept = 0;
        for n in 0..self.count {
            if keep(&self.list[n]) {
                if kept < n {
                    let (before, from) = self.list.split_at_mut(n);
                    before[kept].clone_from(&from[0]);
                }
                kept += 1;
            }
        }
        self.count = kept;
    }
}

impl Reusable for End {
    fn clear(&mut self) {
        self.clear();
    }
}

impl Reusable for Blocks {
    /// Removes all blocks.
    fn clear(&mut self) {
        self.count = 0;
    }
}

impl Deref for Blocks {
    type Target = [BasicBlock];
    fn deref(&self) -> &[BasicBlock] {
        &self.list[..self.count]
    }
}

impl DerefMut for Blocks {
    fn deref_mut(&mut self) -> &mut [BasicBlock] {
        &mut self.list[..self.count]
    }
}

impl Clone for Blocks {
    fn clone(&self) -> Self {
        let mut new = Self::default();
        new.clone_from(self);
        new
    }

    fn clone_from(&mut self, from: &Self) {
        self.clear();
        from.iter().for_each(|block| self.add().clone_from(block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch() -> End {
        let mut end = End::default();
        let then = BlockCall { block: BlockId(1), args: &[Value(5), Value(6)] };
        let els = BlockCall { block: BlockId(2), args: &[Value(7), Value(8)] };
        end.set(Terminator::Branch { cond: Value(4), then, els });
        end
    }

    #[test]
    fn arguments_are_added_to_and_removed_from_their_own_jump() {
        let mut end = branch();
        end.add_args(0, [Value(9)].into_iter());
        let lists =
            |end: &End| end.calls().map(|call| call.args.iter().map(|v| v.0).collect::<Vec<_>>()).collect::<Vec<_>>();
        assert_eq!(lists(&end), [vec![5, 6, 9], vec![7, 8]]);
        end.retain_args(|to, n| to != BlockId(1) || n != 1);
        assert_eq!((lists(&end), end.own_values()), (vec![vec![5, 9], vec![7, 8]], &[Value(4)][..]));
        end.drop_args(BlockId(1));
        assert_eq!(lists(&end), [vec![], vec![7, 8]]);
        end.turn(Value(3));
        assert_eq!((lists(&end), end.own_values()), (vec![vec![7, 8], vec![]], &[Value(3)][..]));
        end.set_call(1, BlockCall { block: BlockId(9), args: &[Value(1)] });
        end.set_call(0, BlockCall::to(BlockId(8)));
        assert_eq!(lists(&end), [vec![], vec![1]]);
        let mut end = branch();
        end.keep_call(1);
        assert_eq!(end.get(), Some(Terminator::Jump(BlockCall { block: BlockId(2), args: &[Value(7), Value(8)] })));
    }

    #[test]
    fn removed_blocks_leave_their_memory_and_nothing_else() {
        let mut blocks = Blocks::default();
        for n in 0..3 {
            blocks.add().params.push(Value(n));
        }
        blocks.retain(|block| block.params[0] != Value(1));
        assert_eq!(blocks.iter().map(|block| block.params[0].0).collect::<Vec<_>>(), [0, 2]);
        let new = blocks.add();
        assert!(new.params.is_empty() && new.params.capacity() > 0 && new.term().is_none());
        assert_eq!(blocks.len(), 3);
    }
}
