//! Removes the instructions of a body that a layout makes superfluous: loads of neighbouring descriptors are merged,
//! and moves that only buffers in the root table need are removed. Branches across removed instructions become shorter.
//!
//! [`Shape`] lists the instructions that may be removed; it is read and checked once per part. [`Fit`] lists those that
//! are removed for one layout.

use super::places::{DWORD, LoadReloc, Patch, Patched};
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::fallible;
use dovetail_isa::{Isa, LinkWords, ScalarLoad};
use dovetail_reloc::kind::RelocKind;
use smallvec::SmallVec;
use std::ops::Range;

/// Size of a scalar load in bytes.
const LOAD: u32 = 8;
/// Sizes in dwords of the loads that neighbours may become.
const MERGED: [u32; 2] = [8, 16];

/// Offsets of the relocations about removed instructions that need no value.
#[derive(Clone, Debug, Default)]
pub(super) struct Removals {
    /// Of loads that may be merged with the one before.
    pub joins: Vec<u32>,
    /// Of branches.
    pub distances: Vec<u32>,
    /// Of moves that only buffers in the root table need.
    pub optional: Vec<u32>,
}

/// The instructions that a body may do without.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    words: &'static LinkWords,
    /// In order of their offsets, disjoint.
    groups: Vec<Group>,
    loads: Vec<Load>,
    branches: Vec<Branch>,
}

#[derive(Clone, Debug)]
struct Group {
    at: u32,
    kind: GroupKind,
}

#[derive(Clone, Debug)]
enum GroupKind {
    /// A move that only buffers in the root table need.
    Optional,
    /// Loads in a row, of which neighbours are merged: a range of [`Shape::loads`].
    Loads(Range<usize>),
}

/// A load of a descriptor.
#[derive(Clone, Debug)]
struct Load {
    words: ScalarLoad,
    /// The patch with the descriptor's offset.
    place: usize,
    /// The patch that says whether it is in the root table.
    in_root: Option<usize>,
}

/// A branch across something that may be removed.
#[derive(Clone, Debug)]
struct Branch {
    at: u32,
    to: u32,
}

impl Group {
    fn end(&self) -> u32 {
        let size = match &self.kind {
            GroupKind::Optional => DWORD,
            GroupKind::Loads(range) => LOAD.saturating_mul(range.len() as u32),
        };
        self.at.saturating_add(size)
    }
}

impl Shape {
    /// That of a body of which nothing may be removed.
    pub(super) fn whole(isa: &'static Isa) -> Self {
        Self { words: &isa.words, groups: Vec::new(), loads: Vec::new(), branches: Vec::new() }
    }

    /// Reads what may be removed; the patches are in order of their offsets.
    ///
    /// # Errors
    /// Malformed: other instructions than these relocations are for, or a relocation for the loader among them.
    pub(super) fn new(
        words: &'static LinkWords,
        code: &[u8],
        patches: &[Patch],
        mut removals: Removals,
        loader: &[LoadReloc],
    ) -> Result<Self> {
        removals.joins.sort_unstable();
        let mut shape = Self {
            words,
            groups: Vec::with_capacity(removals.joins.len() + removals.optional.len()),
            loads: Vec::with_capacity(2 * removals.joins.len()),
            branches: Vec::with_capacity(removals.distances.len()),
        };
        for at in removals.joins {
            shape.join(code, patches, at).at(|| format!("{} at {at:#x}", RelocKind::Join))?;
        }
        for at in removals.optional {
            if !word(code, at).is_some_and(|word| words.is_move(word)) {
                return Err(Error::malformed(format!("{} at {at:#x}: no s_mov_b32", RelocKind::Optional)));
            }
            shape.groups.push(Group { at, kind: GroupKind::Optional });
        }
        shape.groups.sort_by_key(|group| group.at);
        if shape.groups.windows(2).any(|pair| matches!(pair, [a, b] if b.at < a.end())) {
            return Err(Error::malformed("instructions that may be removed overlap"));
        }
        for at in removals.distances {
            let branch = Branch::new(words, code, at);
            shape.branches.push(branch.ok_or_else(|| {
                Error::malformed(format!("{} at {at:#x}: no branch within the body", RelocKind::Distance))
            })?);
        }
        let inside = |load: &&LoadReloc| {
            let hit =
                |group: &Group| load.offset < group.end() && load.offset.saturating_add(load.kind.bytes()) > group.at;
            load.patched == Patched::Code && shape.groups.iter().any(hit)
        };
        match loader.iter().find(inside) {
            Some(load) => Err(Error::malformed(format!("an address at {:#x}, which may be removed", load.offset))),
            None => Ok(shape),
        }
    }

    /// A load that may be merged with the one before.
    fn join(&mut self, code: &[u8], patches: &[Patch], at: u32) -> Result<()> {
        let load = load(self.words, code, patches, at)?;
        let begun = self.groups.last().is_some_and(|group| group.end() == at);
        if !begun {
            let first = at.checked_sub(LOAD).ok_or_else(|| Error::malformed("nothing before it"))?;
            self.loads.push(self::load(self.words, code, patches, first)?);
            let last = self.loads.len();
            self.groups.push(Group { at: first, kind: GroupKind::Loads(last - 1..last) });
        }
        let follows = self.loads.last().is_some_and(|before| {
            before.words.base == load.words.base && before.words.data + before.words.dwords == load.words.data
        });
        if !follows {
            return Err(Error::malformed("the load before it is of other registers"));
        }
        self.loads.push(load);
        if let Some(Group { kind: GroupKind::Loads(range), .. }) = self.groups.last_mut() {
            range.end = self.loads.len();
        }
        Ok(())
    }

    /// Adds to an empty result what is removed where the patches have these values, and a buffer is in the root table
    /// or none is. A patch without a value takes the state's; loads with such a patch are not merged.
    pub(super) fn fit(&self, values: &[Option<u32>], root_buffers: bool, fit: &mut Fit) {
        let value = |patch: usize| values.get(patch).copied().flatten();
        for group in &self.groups {
            match &group.kind {
                GroupKind::Optional if root_buffers => {}
                GroupKind::Optional => fit.remove(group.at, DWORD),
                GroupKind::Loads(range) => {
                    let loads = self.loads.get(range.clone()).unwrap_or_default();
                    fit.merge(self.words, group.at, loads, value);
                }
            }
        }
        // Everything that may be removed may also stay.
        if let Some(bad) = self.words.bad_distance
            && self.branches.iter().any(|branch| fit.distance(branch) == i64::from(bad))
        {
            *fit = Fit::default();
        }
    }
}

impl Branch {
    fn new(words: &LinkWords, code: &[u8], at: u32) -> Option<Self> {
        let distance = words.branch_distance(word(code, at)?)?;
        let to = (i64::from(at) + 4 + 4 * i64::from(distance)).try_into().ok()?;
        (to as usize <= code.len()).then_some(Self { at, to })
    }
}

fn load(known: &LinkWords, code: &[u8], patches: &[Patch], at: u32) -> Result<Load> {
    let words = code.get(at as usize..).and_then(|rest| rest.first_chunk());
    let words = words.and_then(|words| known.load(u64::from_le_bytes(*words))).filter(|load| load.offset == 0);
    let words = words.ok_or_else(|| Error::malformed("no scalar load by address"))?;
    let find = |kind: RelocKind, offset: u32| {
        let first = patches.partition_point(|patch| patch.offset < offset);
        let mut here = patches.iter().enumerate().skip(first).take_while(|(_, patch)| patch.offset == offset);
        here.find(|(_, patch)| patch.kind == kind).map(|(n, _)| n)
    };
    let place = find(RelocKind::SmemOffset, at.saturating_add(DWORD));
    let place = place.ok_or_else(|| Error::malformed("a load without an offset from the linker"))?;
    Ok(Load { words, place, in_root: find(RelocKind::Table, at) })
}

fn word(code: &[u8], at: u32) -> Option<u32> {
    code.get(at as usize..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

/// What is removed from a body.
#[derive(Clone, Debug, Default)]
pub(super) struct Fit {
    /// In order of their offsets.
    cuts: SmallVec<[Cut; 8]>,
    /// Loads that also load what comes after: offset, and first dword of the instruction.
    wide: SmallVec<[(u32, u32); 4]>,
}

/// Bytes that are removed.
#[derive(Clone, Debug)]
struct Cut {
    at: u32,
    bytes: u32,
    /// Bytes removed before it.
    before: u32,
}

impl Cut {
    fn removed(&self) -> u32 {
        self.before.saturating_add(self.bytes)
    }

    fn end(&self) -> u32 {
        self.at.saturating_add(self.bytes)
    }
}

impl Fit {
    fn remove(&mut self, at: u32, bytes: u32) {
        let before = self.removed();
        self.cuts.push(Cut { at, bytes, before });
    }

    /// Merges loads in a row, as many as possible with one instruction.
    fn merge(&mut self, words: &LinkWords, mut at: u32, mut loads: &[Load], value: impl Fn(usize) -> Option<u32>) {
        while let [first, others @ ..] = loads {
            let in_root = |load: &Load| load.in_root.map_or(Some(false), |patch| value(patch).map(|root| root != 0));
            let (mut dwords, mut count, mut merged) = (first.words.dwords, 1, 0);
            for (n, load) in others.iter().enumerate() {
                let end = value(first.place).and_then(|place| place.checked_add(DWORD * dwords));
                let neighbour = end.is_some() && end == value(load.place);
                let same_table = in_root(first).is_some() && in_root(load) == in_root(first);
                if !neighbour || !same_table {
                    break;
                }
                dwords += load.words.dwords;
                if MERGED.contains(&dwords) {
                    (count, merged) = (n + 2, dwords);
                }
            }
            let bytes = LOAD.saturating_mul(count as u32);
            if count > 1 {
                self.wide.push((at, words.widened(&first.words, merged)));
                self.remove(at.saturating_add(LOAD), bytes.saturating_sub(LOAD));
            }
            at = at.saturating_add(bytes);
            loads = loads.get(count..).unwrap_or_default();
        }
    }

    /// Number of bytes removed.
    fn removed(&self) -> u32 {
        self.cuts.last().map_or(0, Cut::removed)
    }

    /// New offset of an instruction; `None` if it is removed.
    pub(super) fn moved(&self, offset: u32) -> Option<u32> {
        self.walk().moved(offset)
    }

    /// New offsets of instructions in order.
    pub(super) fn walk(&self) -> FitWalk<'_> {
        FitWalk { cuts: &self.cuts, removed: 0 }
    }

    /// New offset of a branch's target: the next instruction that is left.
    fn moved_target(&self, offset: u32) -> u32 {
        let count = self.cuts.partition_point(|cut| cut.at < offset);
        let before = self.cuts.get(..count).and_then(<[Cut]>::last).map_or(0, Cut::removed);
        offset.saturating_sub(before)
    }

    /// Dwords from the instruction after a branch to its target, in what is left.
    fn distance(&self, branch: &Branch) -> i64 {
        let (at, target) = (self.moved_target(branch.at), self.moved_target(branch.to));
        (i64::from(target) - i64::from(at) - 4) / 4
    }

    /// Copies what is left of a body.
    ///
    /// # Errors
    /// Bug: something is removed that is not in the body.
    pub(super) fn copy(&self, shape: &Shape, code: &[u8]) -> Result<Vec<u8>> {
        if self.cuts.is_empty() {
            return fallible::copy(code);
        }
        let (mut to, mut from) = (fallible::room(code.len())?, 0);
        let ends = self.cuts.iter().map(|cut| (cut.at as usize, cut.end() as usize)).chain([(code.len(), code.len())]);
        for (end, next) in ends {
            to.extend_from_slice(code.get(from..end).ok_or_else(misfit)?);
            from = next;
        }
        for &(at, word) in &self.wide {
            put(&mut to, self.moved(at), word)?;
        }
        for branch in &shape.branches {
            let (at, distance) = (self.moved_target(branch.at), self.distance(branch));
            let old = word(&to, at).ok_or_else(misfit)?;
            put(&mut to, Some(at), old & 0xffff_0000 | u32::from(distance as u16))?;
        }
        Ok(to)
    }
}

/// Goes through a body once.
pub(super) struct FitWalk<'a> {
    /// Not passed yet.
    cuts: &'a [Cut],
    removed: u32,
}

impl FitWalk<'_> {
    /// New offset of an instruction at or after the one before; `None` if it is removed.
    pub(super) fn moved(&mut self, offset: u32) -> Option<u32> {
        while let [cut, rest @ ..] = self.cuts
            && cut.end() <= offset
        {
            (self.removed, self.cuts) = (cut.removed(), rest);
        }
        match self.cuts.first() {
            Some(cut) if cut.at <= offset => None,
            _ => offset.checked_sub(self.removed),
        }
    }
}

fn put(to: &mut [u8], at: Option<u32>, word: u32) -> Result<()> {
    let place = at.and_then(|at| to.get_mut(at as usize..)?.first_chunk_mut());
    *place.ok_or_else(misfit)? = word.to_le_bytes();
    Ok(())
}

fn misfit() -> Error {
    Error::bug("what is removed from a body is not in it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_base::target::{Gpu, WaveSize};
    use dovetail_isa::{Instruction, Isa, Op, Scalar, Sgpr, Src, disassemble, encode_all};
    use dovetail_reloc::symbol::{LinkSymbol, PartLetter};

    const GFX: &Isa = Isa::of(Gpu::Gfx1030);

    fn s(n: u8) -> Sgpr {
        Sgpr::new(n).expect("in range")
    }

    fn encoded(insts: &[Instruction]) -> Vec<u8> {
        encode_all(GFX, WaveSize::W32, insts).expect("encodes")
    }

    fn text(code: &[u8]) -> Vec<String> {
        let dwords: Vec<u32> = code.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let (mut at, mut out) = (0, Vec::new());
        while at < dwords.len() {
            let inst = disassemble(GFX, &dwords[at..]).expect("ours");
            at += usize::from(inst.dwords());
            out.push(inst.text(GFX, WaveSize::W32));
        }
        out
    }

    fn patch(offset: u32, kind: RelocKind) -> Patch {
        let symbol = LinkSymbol::DescriptorOffset { set: 0, binding: 0, part: PartLetter::Buffer };
        Patch { offset, kind, symbol }
    }

    /// A branch over an optional move and three loads, of 4, 8 and 4 dwords, and one back over them.
    fn body() -> (Vec<u8>, Vec<Patch>) {
        let branch = |op, imm: i16| Instruction::program(GFX, op, imm.cast_unsigned());
        let load = |op, data| Instruction::scalar_load(GFX, op, s(data), s(4), 0);
        let code = encoded(&[
            branch(Op::SCbranchScc0, 7),
            Instruction::scalar(GFX, Op::SMovB32, Some(Scalar::Sgpr(s(7))), &[Src::Scalar(Scalar::Sgpr(s(1)))]),
            load(Op::SLoadDwordx4, 8),
            load(Op::SLoadDwordx8, 12),
            load(Op::SLoadDwordx4, 20),
            branch(Op::SBranch, -9),
        ]);
        let patches = [
            patch(8, RelocKind::Table),
            patch(12, RelocKind::SmemOffset),
            patch(20, RelocKind::SmemOffset),
            patch(24, RelocKind::Table),
            patch(28, RelocKind::SmemOffset),
        ];
        (code, patches.to_vec())
    }

    fn fitted(root: bool, values: [u32; 5]) -> Vec<String> {
        let (code, patches) = body();
        let removals = Removals { joins: vec![24, 16], distances: vec![0, 32], optional: vec![4] };
        let shape = Shape::new(&GFX.words, &code, &patches, removals, &[]).expect("as it should be");
        let mut fit = Fit::default();
        shape.fit(&values.map(Some), root, &mut fit);
        let out = fit.copy(&shape, &code).expect("fits");
        // A patch moves with its instruction.
        for patch in patches.iter().filter(|patch| patch.kind == RelocKind::SmemOffset) {
            let before = text(&code[patch.offset as usize - 4..][..8]);
            let after = fit.moved(patch.offset).map(|at| text(&out[at as usize - 4..][..8]));
            assert!(after.is_none_or(|after| after[0].contains("x16") || after == before));
        }
        text(&out)
    }

    #[test]
    fn neighbours_are_loaded_at_once_and_branches_get_shorter() {
        let [x4, x8] = ["s_load_dwordx4 s[8:11], s[4:5], null", "s_load_dwordx8 s[12:19], s[4:5], null"];
        let last = "s_load_dwordx4 s[20:23], s[4:5], null";
        let moved = "s_mov_b32 s7, s1";
        assert_eq!(
            fitted(false, [0, 0x40, 0x50, 0, 0x70]),
            ["s_cbranch_scc0 2", "s_load_dwordx16 s[8:23], s[4:5], null", "s_branch 65532"]
        );
        // 12 dwords are no load, and what is in another table is no neighbour.
        assert_eq!(fitted(false, [0, 0x40, 0x50, 0, 0x80]), ["s_cbranch_scc0 6", x4, x8, last, "s_branch 65528"]);
        assert_eq!(fitted(true, [1, 0x40, 0x50, 0, 0x70]), ["s_cbranch_scc0 7", moved, x4, x8, last, "s_branch 65527"]);
        assert_eq!(fitted(true, [0, 0x40, 0x50, 1, 0x70]), ["s_cbranch_scc0 7", moved, x4, x8, last, "s_branch 65527"]);
    }

    #[test]
    fn loads_whose_place_the_state_gives_stay_apart() {
        let (code, patches) = body();
        let removals = Removals { joins: vec![24, 16], distances: vec![0, 32], optional: vec![4] };
        let shape = Shape::new(&GFX.words, &code, &patches, removals, &[]).expect("as it should be");
        let all = [Some(0), Some(0x40), Some(0x50), Some(0), Some(0x70)];
        for unknown in 0..all.len() {
            let (mut values, mut fit) = (all, Fit::default());
            values[unknown] = None;
            shape.fit(&values, false, &mut fit);
            let out = text(&fit.copy(&shape, &code).expect("fits"));
            assert!(out.iter().all(|line| !line.contains("x16")), "{unknown}: {out:?}");
        }
    }

    #[test]
    fn other_instructions_are_refused() {
        let (code, patches) = body();
        let refused = |patches: &[Patch], [joins, distances, optional]: [&[u32]; 3]| {
            let removals =
                Removals { joins: joins.to_vec(), distances: distances.to_vec(), optional: optional.to_vec() };
            Shape::new(&GFX.words, &code, patches, removals, &[]).expect_err("malformed").to_string()
        };
        assert!(refused(&patches, [&[8], &[], &[]]).contains("no scalar load"));
        assert!(refused(&patches, [&[0], &[], &[]]).contains("no scalar load"));
        assert!(refused(&patches[..4], [&[24], &[], &[]]).contains("without an offset"));
        assert!(refused(&patches, [&[24], &[4], &[]]).contains("no branch"));
        assert!(refused(&patches, [&[], &[400], &[]]).contains("no branch"));
        assert!(refused(&patches, [&[], &[], &[8]]).contains("no s_mov_b32"));
        assert!(refused(&patches, [&[], &[], &[4, 4]]).contains("overlap"));
        let removals = Removals { optional: vec![4], ..Removals::default() };
        let load = |offset| LoadReloc { patched: Patched::Code, offset, kind: RelocKind::Abs32Lo, target: 0 };
        assert!(Shape::new(&GFX.words, &code, &patches, removals.clone(), &[load(4)]).is_err());
        assert!(Shape::new(&GFX.words, &code, &patches, removals, &[load(0), load(8)]).is_ok());
    }
}
