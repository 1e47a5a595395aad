//! Lifts machine code into a physical function of the machine IR, the reverse of emission, so that LLVM's code can go
//! through the native emitter.

use dovetail::compile::backend::MachineCode;
use dovetail::compile::native::mir::{
    BlockId, Cond, Extra, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue, PhysReg, Term,
};
use dovetail::ir::SymbolId;
use dovetail::isa::instruction::{Fields, Instruction, Modifiers, VectorDst, VectorForm};
use dovetail::isa::{Format, Op, OpcodeRow, OperandKind, Scalar, Src, Traits, Vgpr, disassemble};
use dovetail::target::WaveSize;
use std::collections::{BTreeMap, BTreeSet};

/// Name of something that the machine IR cannot express.
pub type Unliftable = &'static str;

/// An instruction with its position in dwords.
struct Step {
    at: usize,
    inst: Instruction,
    relocated: bool,
}

/// Operands of an instruction under construction.
#[derive(Default)]
struct Lifted {
    defs: Vec<Operand>,
    uses: Vec<Operand>,
}

/// Fills a function with code. `keep` selects the instructions; `symbol` stands for every relocated value.
pub fn lift(
    function: &mut MachineFunction,
    code: &MachineCode,
    symbol: SymbolId,
    keep: impl Fn(&Instruction) -> bool,
) -> Result<(), Unliftable> {
    let steps = decode(function, code)?;
    let end = code.code.len() / 4;
    let mut leaders = BTreeSet::from([0]);
    for step in &steps {
        if step.inst.entry.is(Traits::JUMPS) || step.inst.entry.op == Op::SCallB64 {
            return Err("a jump to an address");
        }
        let next = step.at + usize::from(step.inst.dwords());
        if let Some(to) = target(step) {
            leaders.extend([to, next]);
        } else if step.inst.entry.is(Traits::ENDS) {
            leaders.insert(next);
        }
    }
    // What follows the code is the joint, or nothing.
    let starts: Vec<usize> = leaders.into_iter().filter(|at| *at <= end).collect();
    let ids: BTreeMap<usize, BlockId> = starts.iter().copied().zip((0..).map(BlockId)).collect();
    for (n, start) in starts.iter().enumerate() {
        let stop = starts.get(n + 1).copied().unwrap_or(end);
        let first = function.insts.len() as u32;
        let mut term = match ids.get(&stop) {
            Some(next) if *start < stop => Term::Jump(*next),
            _ => Term::Joint,
        };
        for step in steps.iter().filter(|step| (*start..stop).contains(&step.at)) {
            match target(step) {
                Some(to) => {
                    let to = *ids.get(&to).ok_or("a branch out of the code")?;
                    term = branch(function, step.inst.entry.op, to, term)?;
                }
                None if step.inst.entry.is(Traits::ENDS) => term = Term::End,
                None if keep(&step.inst) => push(function, step, symbol)?,
                None => {}
            }
        }
        let insts = first..function.insts.len() as u32;
        function.blocks.push(MachineBlock {
            params: 0..0,
            tail: insts.end,
            insts,
            edges: Default::default(),
            term,
            depth: 0,
        });
    }
    Ok(())
}

fn decode(function: &MachineFunction, code: &MachineCode) -> Result<Vec<Step>, Unliftable> {
    let words: Vec<u32> = code.code.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
    let patched: BTreeSet<usize> = code.patches.iter().map(|patch| patch.offset as usize / 4).collect();
    let mut steps = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let inst = disassemble(function.isa, &words[at..]).map_err(|_| "no instruction")?;
        let next = at + usize::from(inst.dwords());
        let relocated = patched.range(at..next).next().is_some();
        steps.push(Step { at, inst, relocated });
        at = next;
    }
    Ok(steps)
}

fn target(step: &Step) -> Option<usize> {
    let Fields::Scalar(f) = &step.inst.fields else { return None };
    let is = step.inst.entry.is(Traits::BRANCH) && step.inst.entry.format == Format::Sopp;
    let to = step.at as i64 + 1 + i64::from(f.imm.cast_signed());
    is.then(|| usize::try_from(to).unwrap_or(usize::MAX))
}

/// Converts a conditional branch before a terminator. A branch on VCC becomes one on SCC.
fn branch(function: &mut MachineFunction, op: Op, to: BlockId, otherwise: Term) -> Result<Term, Unliftable> {
    let when = match op {
        Op::SBranch => return Ok(Term::Jump(to)),
        Op::SCbranchScc0 => Cond::Scc0,
        Op::SCbranchScc1 => Cond::Scc1,
        Op::SCbranchExecz => Cond::Execz,
        Op::SCbranchExecnz => Cond::Execnz,
        Op::SCbranchVccz | Op::SCbranchVccnz => {
            let compare = match function.wave {
                WaveSize::W32 => Op::SCmpLgU32,
                WaveSize::W64 => Op::SCmpLgU64,
            };
            let uses = vec![Operand::fixed(PhysReg::VCC), Operand::constant(0)];
            add(function, compare, Lifted { defs: Vec::new(), uses }, Extra::None);
            if op == Op::SCbranchVccz { Cond::Scc0 } else { Cond::Scc1 }
        }
        _ => return Err("a branch of another kind"),
    };
    match otherwise {
        Term::Jump(els) => Ok(Term::Branch { when, then: to, els }),
        _ => Err("a branch at the end"),
    }
}

fn add(function: &mut MachineFunction, op: Op, operands: Lifted, extra: Extra) {
    let first = function.operands.len() as u32;
    let (defs, uses) = (operands.defs.len() as u8, operands.uses.len() as u8);
    function.operands.extend(operands.defs.into_iter().chain(operands.uses));
    function.insts.push(MachineInst { op: Opcode::Isa(op), operands: first, defs, uses, tied: false, extra });
}

fn push(function: &mut MachineFunction, step: &Step, symbol: SymbolId) -> Result<(), Unliftable> {
    let mut out = Lifted::default();
    let open = step.relocated.then_some(symbol);
    let extra = out.fields(&step.inst, open)?;
    add(function, step.inst.entry.op, out, extra);
    Ok(())
}

fn vgpr(v: Vgpr) -> Operand {
    Operand::fixed(PhysReg::vgpr(v.0.into()))
}

fn scalar(s: Scalar) -> Operand {
    Operand::fixed(PhysReg(s.index().into()))
}

impl Lifted {
    fn fields(&mut self, inst: &Instruction, open: Option<SymbolId>) -> Result<Extra, Unliftable> {
        let entry = inst.entry;
        Ok(match &inst.fields {
            Fields::Scalar(f) => {
                self.defs.extend(f.dst.map(scalar));
                self.sources(entry, &f.srcs, open)?;
                let constant = matches!(entry.format, Format::Sopk | Format::Sopp);
                if constant { Extra::Imm(f.imm) } else { Extra::None }
            }
            Fields::Vector(f) => {
                self.defs.extend(f.dst.map(|dst| match dst {
                    VectorDst::Vgpr(v) => vgpr(v),
                    VectorDst::Scalar(s) => scalar(s),
                }));
                self.defs.extend(f.mask.map(scalar));
                self.sources(entry, &f.srcs, open)?;
                let plain = f.mods == Modifiers::default();
                match f.form {
                    VectorForm::Short | VectorForm::Long => Extra::Vector(f.mods),
                    VectorForm::Dpp16(dpp) if plain => Extra::Dpp(dpp),
                    VectorForm::Sdwa(sdwa) => Extra::Sdwa(sdwa, f.mods),
                    VectorForm::Dpp8 { .. } => return Err("DPP8"),
                    VectorForm::Dpp16(_) => return Err("modifiers of DPP"),
                    VectorForm::LongDpp16(_) | VectorForm::LongDpp8 { .. } => return Err("DPP of a long form"),
                    VectorForm::Interp { .. } => return Err("interpolation of gfx11"),
                }
            }
            Fields::Dual(_) => return Err("a dual instruction"),
            Fields::LdsDirect(_) => return Err("a direct load from LDS"),
            Fields::Interp(f) => {
                self.defs.push(vgpr(f.dst));
                let vertex = match f.src {
                    Src::Vgpr(v) => {
                        self.uses.push(vgpr(v));
                        0
                    }
                    Src::Int(n) => n.unsigned_abs(),
                    _ => return Err("another coordinate"),
                };
                self.uses.push(Operand::fixed(PhysReg::M0));
                Extra::Interp { attr: f.attribute, channel: f.channel, vertex }
            }
            Fields::Smem(f) => {
                self.defs.extend((!entry.dst.is_empty()).then(|| scalar(f.data)));
                if !entry.is(Traits::INVALIDATES.or(Traits::TIMER)) {
                    self.uses.push(scalar(f.base));
                    self.uses.extend(f.soffset.map(scalar));
                }
                Extra::Smem { offset: f.offset, cache: f.cache }
            }
            Fields::Ds(f) => {
                self.defs.extend((!entry.dst.is_empty()).then(|| vgpr(f.dst)));
                self.uses.extend(f.sources(entry).map(|(v, _)| vgpr(v)));
                Extra::Ds { offsets: f.offsets }
            }
            Fields::Flat(f) => {
                let stores = entry.is(Traits::STORES);
                let (atomic, data) = (entry.is(Traits::ATOMIC), stores || entry.is(Traits::ATOMIC));
                self.defs.extend((if atomic { f.cache.glc } else { !stores }).then(|| vgpr(f.dst)));
                self.uses.extend((!f.no_vaddr).then(|| vgpr(f.addr)));
                self.uses.extend(data.then(|| vgpr(f.data)));
                self.uses.extend(f.saddr.map(scalar));
                Extra::Flat { offset: f.offset, saddr: f.saddr.is_some(), cache: f.cache }
            }
            Fields::Buffer(_) if entry.is(Traits::INVALIDATES) => Extra::None,
            Fields::Buffer(f) => {
                if f.tfe || f.lds {
                    return Err("a buffer access with status, or to LDS");
                }
                let data = self.result(entry, f.data, f.cache.glc);
                self.uses.extend((f.idxen || f.offen).then(|| vgpr(f.vaddr)));
                self.uses.push(scalar(f.resource));
                self.uses.push(source(OperandKind::B32, f.soffset, None)?);
                self.uses.extend(data);
                Extra::Buffer { offset: f.offset, idxen: f.idxen, offen: f.offen, format: f.format, cache: f.cache }
            }
            Fields::Image(f) => {
                if f.r128 || f.a16 || f.lwe {
                    return Err("an image access of another kind");
                }
                let data = self.result(entry, f.data, f.cache.glc);
                self.uses.extend(f.addresses.as_slice().iter().map(|v| vgpr(*v)));
                self.uses.push(scalar(f.resource));
                self.uses.extend(entry.is(Traits::SAMPLES).then(|| scalar(f.sampler)));
                self.uses.extend(data);
                let (dim, dmask, unorm) = (f.dim, f.dmask, f.unorm);
                Extra::Image { dim, dmask, unorm, tfe: f.tfe, d16: f.d16, nsa: f.nsa, cache: f.cache }
            }
            Fields::Export(f) => {
                self.uses.extend(f.data.iter().map(|v| vgpr(*v)));
                Extra::Export { target: f.target, enabled: f.enabled, compr: f.compr, done: f.done, vm: f.vm }
            }
        })
    }

    /// The data of a buffer or image access: a definition if there is a result, and a use if something is stored.
    fn result(&mut self, entry: &OpcodeRow, data: Vgpr, glc: bool) -> Option<Operand> {
        let (stores, atomic) = (entry.is(Traits::STORES), entry.is(Traits::ATOMIC));
        self.defs.extend((if atomic { glc } else { !stores }).then(|| vgpr(data)));
        (stores || atomic).then(|| vgpr(data))
    }

    fn sources(&mut self, entry: &OpcodeRow, srcs: &[Option<Src>], open: Option<SymbolId>) -> Result<(), Unliftable> {
        for (i, src) in srcs.iter().enumerate() {
            let Some(src) = src else { continue };
            self.uses.push(source(entry.src_kind(i), *src, open)?);
        }
        Ok(())
    }
}

fn source(kind: OperandKind, src: Src, open: Option<SymbolId>) -> Result<Operand, Unliftable> {
    let wide = kind == OperandKind::F64;
    Ok(match src {
        Src::Scalar(s) => scalar(s),
        Src::Vgpr(v) => vgpr(v),
        Src::Special(s) => Operand::fixed(PhysReg(s.index())),
        Src::Int(n) => Operand::constant(i32::from(n).cast_unsigned()),
        Src::Float(_) if matches!(kind, OperandKind::F64 | OperandKind::B64) => return Err("a 64-bit float constant"),
        Src::Float(f) if kind.is_half() || matches!(kind, OperandKind::P16 | OperandKind::PF16) => {
            Operand::constant(f.half_bits().into())
        }
        Src::Float(f) => Operand::constant(f.bits()),
        Src::Literal(bits) => match open {
            Some(symbol) => Operand::one(OperandValue::Reloc(symbol)),
            None if wide || kind == OperandKind::B64 && bits > 0x7fff_ffff => return Err("a 64-bit constant"),
            None => Operand::constant(bits),
        },
    })
}
