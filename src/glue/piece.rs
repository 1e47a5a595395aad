//! A piece of machine code, and the recorder that emits its instructions and tracks its registers.

use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_isa as isa;
use dovetail_isa::export_priority::{ExportRuns, Next};
use dovetail_isa::{
    Counter, HazardState, HazardWatch, Instruction, Isa, Op, RegisterHazard, RegisterWatch, Scalar, Sgpr, Src, Vgpr,
    WaitCounts,
};
use serde::{Deserialize, Deserializer, Serialize};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Position of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attach {
    /// It precedes its body and falls through into it.
    Before,
    /// It follows its body and ends the program.
    After,
    /// It is the whole stage.
    Alone,
}

/// Dwords of code that most pieces have at most.
const DWORDS: usize = 48;

/// Most pieces fit, so that a piece and its code lie together in memory.
pub type GlueCode = SmallVec<[u8; 4 * DWORDS]>;

/// A prolog or epilog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GluePiece {
    /// Machine code, whole dwords.
    #[serde(deserialize_with = "code")]
    pub code: GlueCode,
    /// Symbol of its first instruction.
    pub symbol: Cow<'static, str>,
    /// Its position.
    pub attach: Attach,
    /// SGPRs used: the highest + 1.
    pub sgprs: u32,
    /// VGPRs used: the highest + 1.
    pub vgprs: u32,
}

/// Reads code through a `Vec`: `SmallVec` would reserve as much memory as the length says, before any byte is read.
fn code<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<GlueCode, D::Error> {
    Vec::deserialize(from).map(|code| GlueCode::from_slice(&code))
}

/// A branch over the instructions that are recorded next.
#[must_use]
pub(super) struct Skip {
    op: Op,
    /// Number of dwords up to its end.
    end: usize,
    /// What it takes to its target.
    open: HazardState,
    registers: Option<Box<RegisterWatch>>,
}

/// What glue has to look for in scalar registers: any may have been read by vector arithmetic before. Nothing else of what
/// depends on registers can happen in it.
fn watch_of_scalars(isa: &'static Isa) -> Option<Box<RegisterWatch>> {
    if !isa.register_hazards.contains(&RegisterHazard::PairWrite) {
        return None;
    }
    // Glue uses no lane masks, the only operands that depend on the wave size.
    let mut watch = RegisterWatch::new(isa, WaveSize::W64)?;
    watch.follows_code();
    Some(Box::new(watch))
}

/// Records the instructions of a piece.
pub(super) struct Recorder {
    pub(super) isa: &'static Isa,
    dwords: Vec<u32>,
    hazards: HazardWatch,
    /// Of scalar registers, for GPUs where those of vector arithmetic depend on what comes before.
    registers: Option<Box<RegisterWatch>>,
    /// For GPUs where exports need it.
    exports: Option<ExportRuns>,
    /// Why the first instruction without an encoding has none.
    failed: Option<Error>,
    sgprs: u32,
    vgprs: u32,
}

impl Recorder {
    pub(super) fn new(isa: &'static Isa) -> Self {
        // Glue uses no lane masks, the only operands that depend on the wave size.
        let hazards = HazardWatch::new(isa, WaveSize::W64);
        Self {
            isa,
            dwords: Vec::with_capacity(DWORDS),
            hazards,
            registers: watch_of_scalars(isa),
            exports: ExportRuns::new(isa),
            failed: None,
            sgprs: 0,
            vgprs: 0,
        }
    }

    pub(super) fn push(&mut self, inst: Instruction) {
        let Self { isa, dwords, hazards, registers, exports, failed, .. } = self;
        let mut write = |inst: &Instruction| {
            let encoded = isa::encode(isa, WaveSize::W64, inst, dwords);
            *failed = failed.take().or(encoded.err());
        };
        if let Some(exports) = exports {
            exports.pass(Next::Instruction(&inst), &mut |between| write(&between));
        }
        hazards.pass(&inst, &mut |remedy| write(&remedy));
        let mut inst = inst;
        if let Some(registers) = registers {
            registers.pass(&mut inst, &mut |remedy| write(&remedy));
        }
        write(&inst);
    }

    /// Begins a program that exports.
    pub(super) fn begin_exports(&mut self) {
        if let Some(exports) = &self.exports {
            let first = exports.first();
            self.push(first);
        }
    }

    /// The register with this number; records its use.
    pub(super) fn vgpr(&mut self, number: u32) -> Result<Vgpr> {
        let register = u8::try_from(number).map_err(|_| Error::malformed(format!("no VGPR {number}")))?;
        self.vgprs = self.vgprs.max(number + 1);
        Ok(Vgpr(register))
    }

    /// The first of `count` registers; records their use.
    pub(super) fn sgprs(&mut self, first: u32, count: u32) -> Result<Sgpr> {
        let register = u8::try_from(first).ok().and_then(Sgpr::new);
        let register = register.ok_or_else(|| Error::malformed(format!("no SGPR {first}")))?;
        self.sgprs = self.sgprs.max(first + count);
        Ok(register)
    }

    pub(super) fn mov(&mut self, dst: Vgpr, src: impl Into<Src>) {
        self.vector(Op::VMovB32, dst, &[src.into()]);
    }

    pub(super) fn smov(&mut self, dst: Sgpr, src: impl Into<Src>) {
        self.push(Instruction::scalar(self.isa, Op::SMovB32, Some(Scalar::Sgpr(dst)), &[src.into()]));
    }

    pub(super) fn vector(&mut self, op: Op, dst: Vgpr, srcs: &[Src]) {
        self.push(Instruction::vector(self.isa, op, dst, srcs));
    }

    /// Emits a vector operation with two sources.
    pub(super) fn vector2(&mut self, op: Op, dst: Vgpr, a: impl Into<Src>, b: impl Into<Src>) {
        self.vector(op, dst, &[a.into(), b.into()]);
    }

    /// Begins a branch, to where [`Self::land`] is called.
    pub(super) fn branch(&mut self, op: Op) -> Skip {
        self.push(Instruction::program(self.isa, op, 0));
        Skip { op, end: self.dwords.len(), open: self.hazards.state, registers: self.registers.clone() }
    }

    /// The target of a branch is here.
    pub(super) fn land(&mut self, skip: Skip) -> Result<()> {
        let Skip { op, end, open, registers } = skip;
        self.hazards.state.join(&open);
        if let (Some(own), Some(other)) = (&mut self.registers, registers) {
            own.join(&other);
        }
        let distance = u16::try_from(self.dwords.len().saturating_sub(end)).map_err(|_| Error::bug("a long branch"))?;
        let mut word = Vec::with_capacity(1);
        isa::encode(self.isa, WaveSize::W64, &Instruction::program(self.isa, op, distance), &mut word)?;
        match (self.dwords.get_mut(end.wrapping_sub(1)), &word[..]) {
            (Some(branch), [word]) => *branch = *word,
            _ => return Err(Error::bug("a branch of several dwords")),
        }
        Ok(())
    }

    /// Waits for all operations of a counter.
    pub(super) fn wait(&mut self, counter: Counter) {
        self.isa.wait(WaitCounts::all(counter)).for_each(|inst| self.push(inst));
    }

    pub(super) fn end_program(&mut self) {
        self.push(Instruction::program(self.isa, Op::SEndpgm, 0));
    }

    pub(super) fn finish(mut self, symbol: &'static str, attach: Attach) -> Result<GluePiece> {
        match attach {
            // A body assumes that nothing is open where it begins.
            Attach::Before => {
                let mut open = SmallVec::<[Instruction; 4]>::new();
                self.hazards.settle(&mut |remedy| open.push(remedy));
                if let Some(registers) = &mut self.registers {
                    registers.settle(&mut |remedy| open.push(remedy));
                }
                open.into_iter().for_each(|inst| self.push(inst));
            }
            Attach::After | Attach::Alone => {}
        }
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut code = GlueCode::with_capacity(4 * self.dwords.len());
        self.dwords.iter().for_each(|dword| code.extend_from_slice(&dword.to_le_bytes()));
        Ok(GluePiece { code, symbol: Cow::Borrowed(symbol), attach, sgprs: self.sgprs, vgprs: self.vgprs })
    }
}
