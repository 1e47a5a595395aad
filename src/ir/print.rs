//! Prints a shader: a header of records, then blocks, one instruction per line. `parse.rs` reads exactly this.
//!
//! Values keep their numbers, so that a pass's output can be compared with its input. Numbers need not be dense.

use super::block::{BasicBlock, BlockCall, Merge, Terminator};
use super::name::Name;
use super::op::Op;
use super::shader::{Inst, InstId, Shader, Value};
use super::text::{self, Codec, FP_FLAGS, Text};
use super::types::Type;
use super::words::Word;
use dovetail_base::kinds::{SpecOperand, SpecValue};
use std::fmt::{self, Write as _};

/// Writes words, one space before each.
#[derive(Default)]
struct Writer(String);

impl Writer {
    fn put(&mut self, word: impl fmt::Display) -> Text {
        // Writing to a string does not fail.
        let _ = write!(self.0, " {word}");
        Ok(())
    }
}

impl Codec for Writer {
    fn word<T: Word>(&mut self, x: &mut T) -> Text {
        self.put(x.name())
    }
    fn flag(&mut self, name: &'static str, x: &mut bool) -> Text {
        if *x { self.put(name) } else { Ok(()) }
    }
    fn number<T: Copy + TryFrom<u64> + Into<u64>>(&mut self, prefix: &'static str, x: &mut T) -> Text {
        let n: u64 = (*x).into();
        self.put(format_args!("{prefix}{n}"))
    }
    fn hex<T: Copy + TryFrom<u64> + Into<u64>>(&mut self, x: &mut T) -> Text {
        let n: u64 = (*x).into();
        self.put(format_args!("{n:#x}"))
    }
    fn string(&mut self, x: &mut Name) -> Text {
        self.put(quoted(x))
    }
    fn ty(&mut self, x: &mut Type) -> Text {
        self.put(x)
    }
}

fn quoted(s: &str) -> String {
    format!("\"{}\"", s.escape_default())
}

/// The words of one record, each preceded by a space.
fn record<T: Clone>(x: &T, visit: impl Fn(&mut T, &mut Writer) -> Text) -> String {
    let mut w = Writer::default();
    // The writer never fails; its codec only shares its signature with the reader.
    let _ = visit(&mut x.clone(), &mut w);
    w.0
}

struct List<'a>(&'a [Value]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, v) in self.0.iter().enumerate() {
            write!(f, "{}{v}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for BlockCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.block)?;
        if self.args.is_empty() { Ok(()) } else { write!(f, "({})", List(self.args)) }
    }
}

impl fmt::Display for Terminator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jump(call) => write!(f, "jump {call}"),
            Self::Branch { cond, then, els } => write!(f, "branch {cond}, {then}, {els}"),
            Self::Switch { value, cases, default } => {
                write!(f, "switch {value}")?;
                for (literal, call) in cases.iter() {
                    write!(f, ", {literal}: {call}")?;
                }
                write!(f, ", default: {default}")
            }
            Self::Return([]) => f.write_str("return"),
            Self::Return(values) => write!(f, "return {}", List(values)),
            Self::Unreachable => f.write_str("unreachable"),
        }
    }
}

impl Shader {
    fn typed(&self, v: Value) -> String {
        match self.values.get(v.index()) {
            Some(data) => format!("{v}: {}", data.ty),
            None => format!("{v}: ?"),
        }
    }

    /// The text of one instruction, which may be a broken one.
    pub fn inst_text(&self, inst: &Inst) -> String {
        let mut out = match inst.result {
            Some(v) => format!("{} = ", self.typed(v)),
            None => String::new(),
        };
        out += text::mnemonic(&inst.op);
        let words = record(&inst.op, text::payload);
        match &inst.op {
            Op::Const(_) => out += &words,
            _ if words.is_empty() => {}
            _ => out = format!("{out}[{}]", words.trim_start()),
        }
        if !inst.args.is_empty() {
            out = format!("{out} {}", List(&inst.args));
        }
        if let Op::Alu(_, flags) = inst.op {
            for (name, _) in FP_FLAGS.iter().filter(|(_, flag)| flags.has(*flag)) {
                out = format!("{out} !{name}");
            }
        }
        out
    }

    fn inst_line(&self, id: InstId) -> String {
        self.insts.get(id.index()).map_or_else(|| format!("{id}?"), |inst| self.inst_text(inst))
    }

    fn fmt_header(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "shader {} {} {}", self.level.name(), self.stage.name(), quoted(&self.name))?;
        writeln!(f, "modes{}", record(&self.modes, text::modes))?;
        for SpecValue { id, value, default } in &self.modes.spec {
            writeln!(f, "spec {id} {value:#x} {default:#x}")?;
        }
        for SpecOperand { id, default, bits } in &self.modes.spec_operands {
            writeln!(f, "spec_operand {id} {default:#x} {bits}")?;
        }
        if self.shared_bytes != 0 {
            writeln!(f, "shared {}", self.shared_bytes)?;
        }
        if self.push_constant_bytes != 0 {
            writeln!(f, "push_constants {}", self.push_constant_bytes)?;
        }
        for (i, local) in self.locals.iter().enumerate() {
            writeln!(f, "local{i}{}", record(local, text::local))?;
        }
        for (i, table) in self.tables.iter().enumerate() {
            write!(f, "table{i}{} \"", record(&table.align, |a, w| w.align(a)))?;
            for byte in &table.bytes {
                write!(f, "{byte:02x}")?;
            }
            writeln!(f, "\"")?;
        }
        for (i, resource) in self.resources.iter().enumerate() {
            writeln!(f, "res{i}{}", record(resource, text::resource))?;
        }
        for (i, symbol) in self.symbols.iter().enumerate() {
            writeln!(f, "sym{i} {}", quoted(symbol))?;
        }
        let Some(lower) = &self.lower else { return Ok(()) };
        write!(f, "lower {} {}", lower.wave.name(), quoted(&lower.symbol))?;
        for (name, set) in
            [(" color_export", lower.color_export), (" depth_export", lower.depth_export), (" epilog", lower.epilog)]
        {
            f.write_str(if set { name } else { "" })?;
        }
        writeln!(f)?;
        for arg in &lower.args {
            writeln!(f, "arg{}", record(arg, text::entry_arg))?;
        }
        for class in &lower.returns {
            writeln!(f, "return {}", class.name())?;
        }
        Ok(())
    }

    fn fmt_block(&self, i: usize, block: &BasicBlock, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block{i}")?;
        if !block.params.is_empty() {
            let params: Vec<_> = block.params.iter().map(|&v| self.typed(v)).collect();
            write!(f, "({})", params.join(", "))?;
        }
        match block.merge {
            Merge::None => writeln!(f, ":")?,
            Merge::Selection(merge) => writeln!(f, ": merge {merge}")?,
            Merge::Loop { merge, continue_to } => writeln!(f, ": merge {merge} continue {continue_to}")?,
        }
        for &id in &block.insts {
            writeln!(f, "  {}", self.inst_line(id))?;
        }
        match block.term() {
            Some(term) => writeln!(f, "  {term}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Shader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_header(f)?;
        self.blocks.iter().enumerate().try_for_each(|(i, block)| self.fmt_block(i, block, f))
    }
}
