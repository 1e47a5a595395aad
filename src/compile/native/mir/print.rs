//! The text form of machine IR, for `--dump` and for tests.

use super::{
    BlockId, Cond, Edge, Extra, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue, Term, runs,
};
use std::fmt;

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Jump(to) => write!(f, "jump b{}", to.0),
            Term::Branch { when, then, els } => {
                let when = match when {
                    Cond::Scc1 => "scc1",
                    Cond::Scc0 => "scc0",
                    Cond::Execz => "execz",
                    Cond::Execnz => "execnz",
                    Cond::Vccz => "vccz",
                    Cond::Vccnz => "vccnz",
                };
                write!(f, "branch {when} b{}, b{}", then.0, els.0)
            }
            Term::End => f.write_str("end"),
            Term::Joint => f.write_str("joint"),
        }
    }
}

impl fmt::Display for MachineFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} wave{} scratch {}", self.stage, self.wave.lanes(), self.scratch_bytes)?;
        for entry in self.entry.iter() {
            match entry.val {
                Some(val) => writeln!(f, "entry {val} in {}", entry.reg)?,
                None => writeln!(f, "entry _ in {}", entry.reg)?,
            }
        }
        self.block_ids().try_for_each(|id| self.print_block(f, id.0, self.block(id)))
    }
}

/// The text of one block.
struct BlockText<'a>(&'a MachineFunction, BlockId);

impl fmt::Display for BlockText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.print_block(f, self.1.0, self.0.block(self.1))
    }
}

impl MachineFunction {
    /// The text of one block.
    pub fn block_text(&self, id: BlockId) -> impl fmt::Display {
        BlockText(self, id)
    }

    fn print_block(&self, f: &mut fmt::Formatter<'_>, id: u32, block: &MachineBlock) -> fmt::Result {
        write!(f, "b{id}")?;
        let params: Vec<String> = self.params_of(block).iter().map(|p| format!("{p}{}", self.suffix(*p))).collect();
        if !params.is_empty() {
            write!(f, "({})", params.join(", "))?;
        }
        writeln!(f, ": depth {}", block.depth)?;
        for (n, inst) in (block.insts.start..).zip(self.insts_of(block)) {
            if n == block.tail {
                writeln!(f, "  tail")?;
            }
            writeln!(f, "  {}", self.text_of(inst))?;
        }
        for edge in &block.edges {
            write!(f, "  edge ")?;
            self.print_edge(f, edge)?;
        }
        writeln!(f, "  {}", block.term)
    }

    fn print_edge(&self, f: &mut fmt::Formatter<'_>, edge: &Edge) -> fmt::Result {
        write!(f, "b{}", edge.to.0)?;
        let args: Vec<String> = self.args(edge).iter().map(|arg| self.text(arg)).collect();
        if args.is_empty() { writeln!(f) } else { writeln!(f, "({})", args.join(", ")) }
    }

    /// One instruction.
    pub fn text_of(&self, inst: &MachineInst) -> String {
        let mut text = self.list(self.defs(inst)).join(", ");
        if !text.is_empty() {
            text.push_str(" = ");
        }
        match inst.op {
            Opcode::Isa(op) => text.push_str(self.isa.row(op).mnemonic),
            Opcode::Pseudo(pseudo) => text.push_str(&format!("{pseudo:?}").to_lowercase()),
        }
        let uses = self.list(self.uses(inst));
        if !uses.is_empty() {
            text.push(' ');
            text.push_str(&uses.join(", "));
        }
        if inst.tied {
            text.push_str(" tied");
        }
        if inst.extra != Extra::None {
            text.push_str(&format!(" {:?}", inst.extra));
        }
        text
    }

    /// Each run as one text; several registers are in brackets.
    fn list(&self, operands: &[Operand]) -> Vec<String> {
        let text = |run: &[Operand]| {
            let parts: Vec<String> = run.iter().map(|one| self.text(one)).collect();
            if let [one] = &parts[..] { one.clone() } else { format!("[{}]", parts.join(" ")) }
        };
        runs(operands).map(text).collect()
    }

    fn text(&self, operand: &Operand) -> String {
        match operand.what {
            OperandValue::Val(val) => format!("{val}{}", self.suffix(val)),
            OperandValue::Const(bits) => format!("{:#x}", bits),
            OperandValue::Reloc(symbol) => format!("reloc[{symbol}]"),
            OperandValue::Fixed(reg) => reg.to_string(),
            OperandValue::Undef => "undef".to_owned(),
        }
    }

    fn suffix(&self, val: super::Val) -> &'static str {
        match self.values.get(val.index()).map(|data| (data.class, data.variable)) {
            Some((super::RegisterClass::Scalar, false)) => "s",
            Some((super::RegisterClass::Scalar, true)) => "m",
            Some((super::RegisterClass::Vector, _)) => "v",
            None => "?",
        }
    }
}
