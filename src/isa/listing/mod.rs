//! Writes an [`Instruction`] as text, in the spelling of LLVM's disassembler: for traces, and to check decoding.

mod cache;
mod delay;
mod memory;
mod registers;
mod vector;

use super::instruction::{Fields, Instruction, ScalarFields, SmemFields, VectorForm};
use super::{Format, InlineFloat, Isa, Op, OperandKind, Scalar, Src, Traits};
use delay::delay;
use dovetail_base::target::WaveSize;
use registers::{Scalars, Vgprs, hex};

impl Instruction {
    /// The assembler's text; the wave size decides the width of lane masks.
    pub fn text(&self, isa: &Isa, wave: WaveSize) -> String {
        self.spelled(isa, wave, isa.names.halves)
    }

    /// The text with or without names for halves of registers.
    pub(super) fn spelled(&self, isa: &Isa, wave: WaveSize, halves: bool) -> String {
        let mut out = Listing { isa, inst: self, wave, halves, operands: Vec::new(), tail: String::new() };
        let mnemonic = out.fill();
        let operands = if out.operands.is_empty() { String::new() } else { format!(" {}", out.operands.join(", ")) };
        format!("{mnemonic}{operands}{}", out.tail)
    }
}

struct Listing<'a> {
    isa: &'a Isa,
    inst: &'a Instruction,
    wave: WaveSize,
    /// Names halves of registers.
    halves: bool,
    operands: Vec<String>,
    tail: String,
}

impl Listing<'_> {
    fn fill(&mut self) -> String {
        let name = self.inst.entry.mnemonic;
        let mut mnemonic = name.to_owned();
        match &self.inst.fields {
            Fields::Scalar(f) => self.scalar(f),
            Fields::Smem(f) => self.smem(f),
            Fields::Vector(f) => {
                let entry = self.inst.entry;
                let suffixed = entry.format.is_short_vector() && !entry.is(Traits::NO_LONG);
                let operands = !(entry.dst.is_empty() && entry.src.is_empty());
                mnemonic += match f.form {
                    // Without operands every form has the same name.
                    _ if !operands => "",
                    VectorForm::Short if suffixed => "_e32",
                    VectorForm::Long if suffixed => "_e64",
                    VectorForm::Sdwa(_) => "_sdwa",
                    // A comparison is named as in its short form.
                    VectorForm::Dpp16(_) | VectorForm::Dpp8 { .. } if entry.format == Format::Vopc => "",
                    VectorForm::Dpp16(_) | VectorForm::Dpp8 { .. } => "_dpp",
                    VectorForm::LongDpp16(_) | VectorForm::LongDpp8 { .. } => "_e64_dpp",
                    _ => "",
                };
                self.vector(f);
            }
            Fields::Dual(f) => self.dual(f),
            Fields::LdsDirect(f) => self.lds_direct(f),
            Fields::Interp(f) => {
                mnemonic += match self.inst.entry.format {
                    Format::Vintrp => "_e32",
                    // Formats that have a short form too.
                    _ if matches!(
                        self.inst.entry.op,
                        Op::VInterpP1F32E64 | Op::VInterpP2F32E64 | Op::VInterpMovF32E64
                    ) =>
                    {
                        "_e64"
                    }
                    _ => "",
                };
                self.interp(f);
            }
            Fields::Ds(f) => self.ds(f),
            Fields::Flat(f) => self.flat(f),
            Fields::Buffer(f) => self.buffer(f),
            Fields::Image(f) => self.image(f),
            Fields::Export(f) => mnemonic = self.export(f, name),
        }
        mnemonic
    }

    fn push(&mut self, text: impl ToString) {
        self.operands.push(text.to_string());
    }

    fn tail(&mut self, flags: &[(bool, &str)]) {
        for (_, text) in flags.iter().filter(|(set, _)| *set) {
            self.tail.push(' ');
            self.tail.push_str(text);
        }
    }

    fn scalar_register(&self, s: Scalar, kind: OperandKind) -> String {
        Scalars(s, kind.registers_in(self.wave)).to_string()
    }

    /// Whether floats of this kind are listed with all digits of a double.
    fn is_wide(&self, kind: OperandKind) -> bool {
        match kind {
            OperandKind::F64 | OperandKind::B64 => true,
            OperandKind::Tile => self.wave == WaveSize::W32 && self.isa.names.wide_sums,
            _ => false,
        }
    }

    /// Whether inline floats of halves are listed as their bits.
    fn spells_bits(&self) -> bool {
        self.inst.entry.format == Format::Sopc || self.inst.entry.op == Op::VCndmaskB16
    }

    fn source(&self, src: Src, kind: OperandKind) -> String {
        match src {
            Src::Scalar(s) => self.scalar_register(s, kind),
            Src::Vgpr(v) => Vgprs(v, kind.registers_in(self.wave)).to_string(),
            Src::Float(InlineFloat::InverseTwoPi) if self.is_wide(kind) => "0.15915494309189532".to_owned(),
            // As a pair it is extended by zeros, or is the high half of a float: most inline forms are other numbers.
            Src::Literal(bits) if kind == OperandKind::F64 || kind == OperandKind::B64 && bits > 64 => {
                format!("{bits:#x}")
            }
            // LLVM prints a literal that has an inline form in that form.
            Src::Literal(bits) if !kind.is_half() => Src::from_bits(bits).to_string(),
            Src::Literal(bits) => format!("{:#x}", bits & 0xffff),
            Src::Float(float) if kind == OperandKind::B16 || kind == OperandKind::F16 && self.spells_bits() => {
                format!("{:#x}", float.half_bits())
            }
            _ => src.to_string(),
        }
    }

    fn scalar(&mut self, f: &ScalarFields) {
        let entry = self.inst.entry;
        let kind = |kinds: &[OperandKind], i: usize| kinds.get(i).copied().unwrap_or(OperandKind::B32);
        if let Some(dst) = f.dst {
            let text = self.scalar_register(dst, kind(entry.dst, 0));
            self.push(text);
        }
        let hardware = matches!(entry.op, Op::SSetregB32 | Op::SSetregImm32B32);
        if hardware {
            self.push(self.hardware_register(f.imm));
        }
        let constant = entry.is(Traits::CONSTANT_SECOND.or(Traits::CONSTANT_THIRD));
        for (i, src) in f.srcs.iter().enumerate() {
            if let Some(src) = src {
                let text = match src {
                    // Their constant has its own dword and is printed as stored.
                    Src::Literal(_) if constant => src.to_string(),
                    _ => self.source(*src, kind(entry.src, i)),
                };
                self.push(text);
            }
        }
        match (entry.format, entry.op) {
            (Format::Sopk, Op::SGetregB32) => self.push(self.hardware_register(f.imm)),
            (Format::Sopk, _) if hardware => {}
            (Format::Sopk | Format::Sopp, _) if entry.is(Traits::BRANCH) => self.push(f.imm),
            (Format::Sopk, Op::SVersion) if f.imm != 0 => self.push(f.imm),
            (Format::Sopk, _) => self.push(format!("{:#x}", f.imm)),
            (_, Op::SWaitcnt) => self.push(self.isa.waits.text(f.imm)),
            (_, Op::SInstPrefetch | Op::SClause | Op::SRoundMode | Op::STtracedataImm | Op::SWaitcntDepctr) => {
                self.push(format!("{:#x}", f.imm));
            }
            (_, Op::SSendmsg | Op::SSendmsghalt) => self.push(message(self.isa.names.messages, f.imm)),
            (Format::Sop1, _) if entry.is(Traits::MESSAGE) => self.push(message(self.isa.names.questions, f.imm)),
            (Format::Sopp, _) if entry.op != Op::SWaitcnt && self.isa.waits.waited(entry.op, 0).is_some() => {
                self.push(format!("{:#x}", f.imm));
            }
            (_, Op::SBarrierWait) => self.push((f.imm as u8).cast_signed()),
            (_, Op::SDelayAlu) => self.push(delay(f.imm)),
            (_, Op::SWaitEvent) => self.push(format!("{:#x}", f.imm)),
            (_, Op::SNop | Op::SSleep | Op::SSetprio | Op::SDenormMode | Op::STrap | Op::SSethalt | Op::SSetkill)
            | (_, Op::SIncperflevel | Op::SDecperflevel) => self.push(small(f.imm)),
            _ => {}
        }
    }

    fn smem(&mut self, f: &SmemFields) {
        let entry = self.inst.entry;
        if entry.is(Traits::INVALIDATES) {
            return;
        }
        match entry.data_registers() {
            0 if entry.is(Traits::NO_DATA) => {}
            0 if entry.is(Traits::PREFETCHES) => {}
            // A probe has a number in place of the data.
            0 => self.push(small(f.data.index().into())),
            count => self.push(Scalars(f.data, count)),
        }
        if entry.is(Traits::PREFETCHES) {
            if !entry.is(Traits::NO_ADDRESS) {
                self.push(Scalars(f.base, if entry.is(Traits::DESCRIPTOR) { 4 } else { 2 }));
            }
            self.push(hex(f.offset));
            self.push(f.soffset.map_or_else(|| "null".to_owned(), |s| s.to_string()));
            self.push(f.data.index());
            return;
        }
        if entry.is(Traits::NO_ADDRESS) {
            return;
        }
        self.push(Scalars(f.base, if entry.is(Traits::DESCRIPTOR) { 4 } else { 2 }));
        match (f.soffset, f.offset) {
            (None, 0) if self.isa.facts().plain_offsets => self.push("0x0"),
            (None, 0) => self.push("null"),
            (None, n) => self.push(hex(n)),
            (Some(s), 0) if !self.isa.facts().plain_offsets => self.push(s),
            (Some(s), n) => self.push(format!("{s} offset:{}", hex(n))),
        }
        self.cache(f.cache);
    }
}

/// A number in the assembler's spelling of constants: decimal if there is an inline constant for it.
fn small(number: u16) -> String {
    if number > 64 { format!("{number:#x}") } else { number.to_string() }
}

impl Listing<'_> {
    fn hardware_register(&self, imm: u16) -> String {
        let (register, offset, bits) = (imm & 63, imm >> 6 & 31, (imm >> 11) + 1);
        let name = self.isa.names.registers.iter().find(|(number, _)| *number == register);
        let name = name.map_or_else(|| register.to_string(), |(_, name)| (*name).to_owned());
        if (offset, bits) == (0, 32) { format!("hwreg({name})") } else { format!("hwreg({name}, {offset}, {bits})") }
    }
}

fn message(names: &[(u16, &str)], imm: u16) -> String {
    match names.iter().find(|(number, _)| *number == imm) {
        Some((_, name)) => format!("sendmsg({name})"),
        None if imm > 127 => format!("sendmsg({imm}, 0, 0)"),
        None => format!("sendmsg({}, {}, {})", imm & 15, imm >> 4 & 7, imm >> 8 & 3),
    }
}
