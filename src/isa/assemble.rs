//! Assembles code: instructions, branches to labels, and literals that the linker fills in.

use super::encode::encode;
use super::instruction::{Fields, Instruction};
use super::{Op, Src, Traits};
use crate::Isa;
use dovetail_base::error::{Context, Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_base::workspace::List;

/// A position in the code, valid for the assembler that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// A literal whose value the linker supplies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation<S> {
    /// Byte offset of the literal in the code.
    pub offset: u32,
    /// Symbol whose value it is.
    pub symbol: S,
}

/// Finished code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled<S: 'static> {
    /// Machine code.
    pub dwords: List<u32>,
    /// Sorted by offset.
    pub relocations: List<Relocation<S>>,
    /// Branches in order: byte offset, and that of the target.
    pub branches: List<[u32; 2]>,
}

/// Writes instructions in sequence; `S` is the symbol type.
pub struct Assembler<S: 'static> {
    isa: &'static Isa,
    wave: WaveSize,
    dwords: List<u32>,
    /// Position of each label, in dwords.
    labels: List<Option<usize>>,
    /// Branches: position, and target label.
    branches: List<(usize, Label)>,
    relocations: List<Relocation<S>>,
}

impl<S: 'static> Assembler<S> {
    /// An assembler without code.
    pub fn new(isa: &'static Isa, wave: WaveSize) -> Self {
        let (dwords, labels, branches, relocations) = Default::default();
        Self { isa, wave, dwords, labels, branches, relocations }
    }

    /// Appends an instruction.
    ///
    /// # Errors
    /// As [`encode`].
    pub fn push(&mut self, inst: &Instruction) -> Result<()> {
        encode(self.isa, self.wave, inst, &mut self.dwords)
    }

    /// Appends an instruction whose last dword gets the value of `symbol`. That is its only literal (whose value here
    /// is the addend, and which is never turned into an inline constant or shared by two operands), the offset of a
    /// scalar load, or the whole of a scalar instruction of one dword: an `s_cselect_b32` or `s_mov_b32` without a
    /// literal.
    ///
    /// # Errors
    /// As [`encode`]; a bug of the caller: two operands share the literal, or the instruction is none of these.
    pub fn push_relocated(&mut self, inst: &Instruction, symbol: S) -> Result<()> {
        let srcs: &[Option<Src>] = match &inst.fields {
            Fields::Scalar(f) => &f.srcs,
            Fields::Vector(f) => &f.srcs,
            _ => &[],
        };
        let literals = srcs.iter().filter(|src| matches!(src, Some(Src::Literal(_)))).count();
        let fits = match inst.entry.op {
            // The whole instruction, or the literal.
            Op::SCselectB32 => literals <= 1,
            Op::SMovB32 => literals == 1 || matches!(srcs.first(), Some(Some(Src::Scalar(_)))),
            _ => literals == usize::from(!matches!(inst.fields, Fields::Smem(_))),
        };
        if !fits {
            let why = Error::bug(format!("{literals} literals where the linker fills in one"));
            return Err(why).at(|| inst.text(self.isa, self.wave));
        }
        self.push(inst)?;
        // A literal is the last dword of its instruction.
        let offset = byte_offset(self.dwords.len() - 1)?;
        self.relocations.push(Relocation { offset, symbol });
        Ok(())
    }

    /// A new label, to be placed by [`Assembler::place`].
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places the label at the next instruction.
    ///
    /// # Errors
    /// A bug of the caller: it is placed already, or belongs to another assembler.
    pub fn place(&mut self, label: Label) -> Result<()> {
        let here = self.dwords.len();
        match self.labels.get_mut(label.0) {
            Some(place @ None) => {
                *place = Some(here);
                Ok(())
            }
            Some(Some(_)) => Err(Error::bug("a label with two places")),
            None => Err(Error::bug("a label of another assembler")),
        }
    }

    /// Appends a branch to a label, which may be placed later.
    ///
    /// # Errors
    /// As [`encode`]; a bug of the caller: the instruction is not a branch.
    pub fn branch(&mut self, inst: &Instruction, target: Label) -> Result<()> {
        if !inst.entry.is(Traits::BRANCH) {
            return Err(Error::bug("no branch")).at(|| inst.text(self.isa, self.wave));
        }
        self.branches.push((self.dwords.len(), target));
        self.push(inst)
    }

    /// Returns the code, with all branch distances filled in.
    ///
    /// # Errors
    /// Unsupported: a branch over more than 32,767 dwords. A bug of the caller: a label that is not placed.
    pub fn finish(mut self) -> Result<Assembled<S>> {
        while let Some(at) = self.astray() {
            self.lengthen(at);
        }
        let mut branches = List::default();
        for (at, label) in &self.branches {
            let place = self.labels.get(label.0).copied().flatten();
            let place = place.ok_or_else(|| Error::bug(format!("the branch at dword {at} goes to no place")))?;
            // Counted from the next instruction; a branch is one dword.
            let distance = place as i64 - (*at as i64 + 1);
            let near = i16::try_from(distance).map_err(|_| {
                Error::unsupported("branch distance", format!("{distance} dwords from dword {at}: 16 bits"))
            })?;
            if let Some(word) = self.dwords.get_mut(*at) {
                *word = *word & 0xffff_0000 | u32::from(near.cast_unsigned());
            }
            branches.push([byte_offset(*at)?, byte_offset(place)?]);
        }
        Ok(Assembled { dwords: self.dwords, relocations: self.relocations, branches })
    }

    /// A branch with the distance that the hardware takes for another.
    fn astray(&self) -> Option<usize> {
        let bad = usize::from(self.isa.words.bad_distance?);
        let place = |label: &Label| self.labels.get(label.0).copied().flatten();
        let wrong = |(at, label): &&(usize, Label)| place(label) == Some(at + 1 + bad);
        self.branches.iter().find(wrong).map(|(at, _)| *at)
    }

    /// Puts an `s_nop` after a branch. Only code after it moves, so that the branch gets longer.
    fn lengthen(&mut self, at: usize) {
        let after = at + 1;
        self.dwords.insert(after, self.isa.words.nop);
        self.labels.iter_mut().flatten().filter(|place| **place >= after).for_each(|place| *place += 1);
        self.branches.iter_mut().filter(|(place, _)| *place >= after).for_each(|(place, _)| *place += 1);
        let begin = 4 * after as u32;
        self.relocations.iter_mut().filter(|reloc| reloc.offset >= begin).for_each(|reloc| reloc.offset += 4);
    }
}

fn byte_offset(dword: usize) -> Result<u32> {
    u32::try_from(4 * dword as u64).map_err(|_| Error::unsupported("code size", "4 GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InlineFloat, Op, Scalar, Vgpr, disassemble};
    use dovetail_base::target::Gpu;

    const GFX: &Isa = Isa::of(Gpu::Gfx1030);

    fn branch(op: Op) -> Instruction {
        Instruction::program(GFX, op, 0)
    }

    #[test]
    fn branches_reach_their_labels_in_both_directions() {
        let mut code = Assembler::<()>::new(GFX, WaveSize::W32);
        let (top, end) = (code.label(), code.label());
        code.place(top).expect("free");
        code.push(&branch(Op::SNop)).expect("encodes");
        code.branch(&branch(Op::SCbranchScc1), end).expect("encodes");
        code.branch(&branch(Op::SBranch), top).expect("encodes");
        code.place(end).expect("free");
        assert!(code.place(end).is_err());
        assert!(code.branch(&branch(Op::SNop), end).is_err());
        let Assembled { dwords, branches, .. } = code.finish().expect("placed");
        assert_eq!(branches[..], [[4, 12], [8, 0]]);
        let text: Vec<String> =
            (0..3).map(|at| disassemble(GFX, &dwords[at..]).expect("ours").text(GFX, WaveSize::W32)).collect();
        assert_eq!(text, ["s_nop 0", "s_cbranch_scc1 1", "s_branch 65533"]);
    }

    #[test]
    fn a_branch_too_far_and_a_label_nowhere_are_errors() {
        let mut code = Assembler::<()>::new(GFX, WaveSize::W32);
        let label = code.label();
        code.branch(&branch(Op::SBranch), label).expect("encodes");
        for _ in 0..0x7fff {
            code.push(&branch(Op::SNop)).expect("encodes");
        }
        code.place(label).expect("free");
        let far = code.label();
        code.push(&branch(Op::SNop)).expect("encodes");
        code.place(far).expect("free");
        code.branches[0].1 = far;
        assert!(code.finish().expect_err("too far").to_string().contains("32768 dwords"));
        let mut code = Assembler::<()>::new(GFX, WaveSize::W32);
        let label = code.label();
        code.branch(&branch(Op::SBranch), label).expect("encodes");
        assert!(code.finish().expect_err("nowhere").to_string().contains("no place"));
    }

    #[test]
    fn relocations_name_the_byte_of_their_literal() {
        let mut code = Assembler::new(GFX, WaveSize::W64);
        let srcs = [Src::Literal(0), Src::Scalar(Scalar::M0), Vgpr(1).into()];
        let three = Instruction::vector(GFX, Op::VAdd3U32, Vgpr(0), &srcs);
        code.push_relocated(&three, "a").expect("one literal");
        let scalar = Instruction::scalar(GFX, Op::SMovB32, Some(Scalar::M0), &[Src::Literal(4)]);
        code.push_relocated(&scalar, "b").expect("one literal");
        let twice = Instruction::scalar(GFX, Op::SAddU32, Some(Scalar::M0), &[Src::Literal(0), Src::Literal(0)]);
        assert!(code.push_relocated(&twice, "c").expect_err("shared").to_string().contains("2 literals"));
        let inline = Instruction::scalar(GFX, Op::SMovB32, Some(Scalar::M0), &[Src::Float(InlineFloat::One)]);
        assert!(code.push_relocated(&inline, "d").is_err());
        let moved = Instruction::scalar(GFX, Op::SMovB32, Some(Scalar::M0), &[Src::Scalar(Scalar::VccLo)]);
        code.push_relocated(&moved, "e").expect("a register");
        let select = |src| Instruction::scalar(GFX, Op::SCselectB32, Some(Scalar::M0), &[src, Src::Scalar(Scalar::M0)]);
        code.push_relocated(&select(Src::Int(0)), "f").expect("the whole instruction");
        code.push_relocated(&select(Src::Literal(5)), "g").expect("one literal");
        let Assembled { dwords, relocations, .. } = code.finish().expect("no branches");
        let places: Vec<(u32, &str)> = relocations.iter().map(|r| (r.offset, r.symbol)).collect();
        assert_eq!(places, [(8, "a"), (16, "b"), (20, "e"), (24, "f"), (32, "g")]);
        assert_eq!((dwords[2], dwords[4]), (0, 4));
    }
}
