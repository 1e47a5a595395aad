//! Decodes machine code into steps: each instruction once, with its operation already resolved.
//!
//! An instruction that no class knows is a step too; executing it is an error.

use super::issue::issued;
use super::waits::Issue;
use super::{buffer, control, global, image, lds, salu, valu};
use dovetail_base::error::{Error, Result};
use dovetail_isa::disassemble;
use dovetail_isa::instruction::{DualFields, Fields, Instruction};
use dovetail_isa::{Isa, Op};
use std::sync::Arc;

/// An instruction, ready for execution.
pub struct Step {
    /// The decoded instruction.
    pub inst: Instruction,
    /// Its length in dwords.
    pub dwords: u8,
    /// Its operation.
    pub run: Run,
    /// Class for statistics.
    pub class: Class,
    /// Its outstanding work, if any.
    pub issue: Option<Issue>,
}

/// Operation of an instruction, by class.
pub enum Run {
    /// Program control.
    Control(control::Control),
    /// Scalar arithmetic.
    Salu(salu::Salu),
    /// Vector arithmetic.
    Valu(valu::Valu),
    /// Two operations of vector arithmetic, each as an instruction of its own.
    Dual(Box<[(valu::Valu, Instruction); 2]>),
    /// Buffer access.
    Buffer(buffer::Buffer),
    /// Memory by address.
    Global(global::Global),
    /// Local data share.
    Ds(lds::Ds),
    /// Image access.
    Image(image::ImageOperation),
    /// Scalar load, interpolation, parameter load, export: dispatched by encoding.
    Only,
    /// Not implemented.
    Unknown,
}

macro_rules! classes {
    ($($class:ident $name:literal;)*) => {
        /// Classes of instructions, for statistics.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each has its name")]
        pub enum Class { $($class,)* }

        impl Class {
            /// Every class.
            pub const ALL: &'static [Self] = &[$(Self::$class,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$class => $name,)* }
            }
        }
    };
}

classes! {
    Control "control";
    Salu "scalar";
    Smem "scalar memory";
    Valu "vector";
    Interp "interpolation";
    Ds "local data share";
    Flat "memory by address";
    Buffer "buffer";
    Image "image";
    Export "export";
}

impl Class {
    fn of(inst: &Instruction) -> Self {
        match inst.fields {
            Fields::Scalar(_) if control::resolve(inst.entry.op).is_some() => Self::Control,
            Fields::Scalar(_) => Self::Salu,
            Fields::Smem(_) => Self::Smem,
            Fields::Interp(_) | Fields::LdsDirect(_) => Self::Interp,
            Fields::Vector(_) if inst.export_wait().is_some() => Self::Interp,
            Fields::Vector(_) | Fields::Dual(_) => Self::Valu,
            Fields::Ds(_) => Self::Ds,
            Fields::Flat(_) => Self::Flat,
            Fields::Buffer(_) => Self::Buffer,
            Fields::Image(_) => Self::Image,
            Fields::Export(_) => Self::Export,
        }
    }
}

impl Step {
    /// The operation of an instruction.
    pub(super) fn new(isa: &'static Isa, inst: Instruction) -> Self {
        let op = inst.entry.op;
        let run = match &inst.fields {
            Fields::Scalar(_) => {
                control::resolve(op).map(Run::Control).or_else(|| salu::resolve(inst.entry).map(Run::Salu))
            }
            Fields::Vector(fields) => valu::resolve(&inst, fields).map(Run::Valu),
            Fields::Buffer(_) => buffer::resolve(inst.entry).map(Run::Buffer),
            Fields::Flat(_) => global::resolve(inst.entry).map(Run::Global),
            Fields::Ds(_) => lds::resolve(inst.entry).map(Run::Ds),
            Fields::Image(_) => image::resolve(inst.entry).map(Run::Image),
            Fields::Smem(_) | Fields::Interp(_) | Fields::Export(_) => Some(Run::Only),
            Fields::Dual(fields) => dual(isa, &inst, fields).map(Run::Dual),
            Fields::LdsDirect(_) => (op == Op::LdsParamLoad).then_some(Run::Only),
        };
        let class = Class::of(&inst);
        let run = run.unwrap_or(Run::Unknown);
        let issue = issued(&inst, &run);
        Self { inst, dwords: inst.dwords(), run, class, issue }
    }

    /// Whether the emulator implements the instruction.
    pub fn is_done(&self) -> bool {
        !matches!(self.run, Run::Unknown)
    }
}

/// Both halves of a dual instruction; `None` also for those that the GPU does not execute together.
fn dual(isa: &'static Isa, inst: &Instruction, fields: &DualFields) -> Option<Box<[(valu::Valu, Instruction); 2]>> {
    if !isa.limits.first_half_overwrites && fields.first_overwrites_second(inst.entry) {
        return None;
    }
    let [first, second] = fields.halves(inst.entry).map(|half| {
        let alone = half.alone(isa)?;
        let Fields::Vector(fields) = &alone.fields else { return None };
        Some((valu::resolve(&alone, fields)?, alone))
    });
    Some(Box::new([first?, second?]))
}

/// Code in memory, and the steps decoded so far.
pub struct Program {
    isa: &'static Isa,
    base: u64,
    words: Vec<u32>,
    steps: Vec<Option<Arc<Step>>>,
}

impl Program {
    /// The code at an address.
    pub fn new(isa: &'static Isa, base: u64, code: &[u8]) -> Self {
        let words: Vec<u32> = code.chunks_exact(4).map(|word| super::access::number(word) as u32).collect();
        Self { isa, base, steps: vec![None; words.len()], words }
    }

    /// Whether an address is in the code.
    pub fn contains(&self, address: u64) -> bool {
        (self.base..self.base + 4 * self.words.len() as u64).contains(&address)
    }

    /// The step at an address in the code.
    pub fn step(&mut self, address: u64) -> Result<Arc<Step>> {
        let offset = address.wrapping_sub(self.base);
        let index = usize::try_from(offset / 4).unwrap_or(usize::MAX);
        let rest = self.words.get(index..).filter(|_| offset.is_multiple_of(4));
        let (Some(rest), Some(known)) = (rest, self.steps.get_mut(index)) else {
            return Err(Error::malformed("no instruction can begin here"));
        };
        if let Some(step) = known {
            return Ok(step.clone());
        }
        let step = Arc::new(Step::new(self.isa, disassemble(self.isa, rest)?));
        *known = Some(step.clone());
        Ok(step)
    }
}
