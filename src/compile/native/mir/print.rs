//! The text form of machine IR, for `--dump` and for tests.

use super::{Block, Cond, Edge, Extra, Function, Inst, Opcode, Operand, Term, What, runs};
use std::fmt;

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} wave{} scratch {} lds {}", self.stage, self.wave.lanes(), self.scratch_bytes, self.lds_bytes)?;
        for entry in self.entry.iter() {
            match entry.val {
                Some(val) => writeln!(f, "entry {val} in {}", entry.reg)?,
                None => writeln!(f, "entry _ in {}", entry.reg)?,
            }
        }
        if !self.results.is_empty() {
            let list: Vec<String> = self.results.iter().map(ToString::to_string).collect();
            writeln!(f, "results {}", list.join(" "))?;
        }
        self.block_ids().try_for_each(|id| self.print_block(f, id.0, self.block(id)))
    }
}

impl Function {
    fn print_block(&self, f: &mut fmt::Formatter<'_>, id: u32, block: &Block) -> fmt::Result {
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
            write!(f, "  ")?;
            self.print_inst(f, inst)?;
        }
        for edge in &block.edges {
            write!(f, "  edge ")?;
            self.print_edge(f, edge)?;
        }
        match block.term {
            Term::Jump(to) => writeln!(f, "  jump b{}", to.0),
            Term::Branch { when, then, els } => {
                let when = match when {
                    Cond::Scc1 => "scc1",
                    Cond::Scc0 => "scc0",
                    Cond::Execz => "execz",
                    Cond::Execnz => "execnz",
                };
                writeln!(f, "  branch {when} b{}, b{}", then.0, els.0)
            }
            Term::End => writeln!(f, "  end"),
            Term::Joint => writeln!(f, "  joint"),
        }
    }

    fn print_edge(&self, f: &mut fmt::Formatter<'_>, edge: &Edge) -> fmt::Result {
        write!(f, "b{}", edge.to.0)?;
        let args: Vec<String> = self.args(edge).iter().map(|arg| self.text(arg)).collect();
        if args.is_empty() { writeln!(f) } else { writeln!(f, "({})", args.join(", ")) }
    }

    fn print_inst(&self, f: &mut fmt::Formatter<'_>, inst: &Inst) -> fmt::Result {
        let defs = self.list(self.defs(inst));
        if !defs.is_empty() {
            write!(f, "{} = ", defs.join(", "))?;
        }
        match inst.op {
            Opcode::Isa(op) => write!(f, "{}", op.entry(self.gfx).mnemonic)?,
            Opcode::Pseudo(pseudo) => write!(f, "{}", format!("{pseudo:?}").to_lowercase())?,
        }
        let uses = self.list(self.uses(inst));
        if !uses.is_empty() {
            write!(f, " {}", uses.join(", "))?;
        }
        if inst.tied {
            write!(f, " tied")?;
        }
        match inst.extra {
            Extra::None => writeln!(f),
            extra => writeln!(f, " {extra:?}"),
        }
    }

    /// Each run as one text; of several registers in brackets.
    fn list(&self, operands: &[Operand]) -> Vec<String> {
        let text = |run: &[Operand]| {
            let parts: Vec<String> = run.iter().map(|one| self.text(one)).collect();
            if let [one] = &parts[..] { one.clone() } else { format!("[{}]", parts.join(" ")) }
        };
        runs(operands).map(text).collect()
    }

    fn text(&self, operand: &Operand) -> String {
        match operand.what {
            What::Val(val) => format!("{val}{}", self.suffix(val)),
            What::Const(bits) => format!("{:#x}", bits),
            What::Reloc(symbol) => format!("reloc[{symbol}]"),
            What::Fixed(reg) => reg.to_string(),
            What::Undef => "undef".to_owned(),
        }
    }

    fn suffix(&self, val: super::Val) -> &'static str {
        let data = self.values[val.index()];
        match (data.class, data.variable) {
            (super::Class::Scalar, false) => "s",
            (super::Class::Scalar, true) => "m",
            (super::Class::Vector, _) => "v",
        }
    }
}
