//! Parses the text that `print.rs` writes, line by line; lines that start with `;` are comments.
//!
//! Only the syntax is checked here; `verify` checks the rest. Values keep their numbers, so uses may precede
//! definitions; using an undefined number is an error.

use super::args::InstArgs;
use super::block::{BlockCall, End, Merge, Terminator};
use super::name::Name;
use super::op::Op;
use super::shader::{
    ArgRole, BlockId, ConstTable, EntryArg, Inst, InstId, Local, LowerInfo, RegClass, Resource, Shader, Value,
    ValueData, ValueDef,
};
use super::text::{self, Codec, FP_FLAGS, Text};
use super::types::{Align, Bits, Type};
use super::words::Word;
use dovetail_base::error::{Error, Result};
use dovetail_base::kinds::ResourceKind;
use dovetail_base::target::{Stage, WaveSize};
use dovetail_base::workspace::Reusable as _;

/// Reads the text form.
///
/// # Errors
/// Malformed text, with its line.
pub fn parse(source: &str) -> Result<Shader> {
    let mut p = Parser { shader: Shader::new("", Stage::Compute), defined: Vec::new(), used: Vec::new(), line: 0 };
    p.shader.blocks.clear();
    for (i, line) in source.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        p.line = i + 1;
        p.read_line(line).map_err(|what| Error::malformed(what).at(format!("line {}", i + 1)))?;
    }
    if p.shader.blocks.is_empty() {
        return Err(Error::malformed("no block"));
    }
    let undefined = p.used.iter().find(|(v, _)| !p.defined.get(v.index()).copied().unwrap_or(false));
    match undefined {
        Some((v, line)) => Err(Error::malformed(format!("{v} is not defined")).at(format!("line {line}"))),
        None => Ok(p.shader),
    }
}

/// A jump that is read.
struct Call {
    block: BlockId,
    args: Vec<Value>,
}

impl Call {
    fn get(&self) -> BlockCall<'_> {
        BlockCall { block: self.block, args: &self.args }
    }
}

/// Limit of value numbers: higher ones would only enlarge the arena.
const MAX_VALUE: u32 = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Quoted(String),
    Sign(char),
}

fn tokens(line: &str) -> Result<Vec<Token<'_>>, String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if c.is_whitespace() {
            rest = rest.trim_start();
        } else if c == '"' {
            let (text, after) = unquote(&rest[1..])?;
            out.push(Token::Quoted(text));
            rest = after;
        } else if is_word(c) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            out.push(Token::Word(&rest[..end]));
            rest = &rest[end..];
        } else {
            out.push(Token::Sign(c));
            rest = &rest[c.len_utf8()..];
        }
    }
    Ok(out)
}

/// The string up to the next unescaped quote, and the rest.
fn unquote(source: &str) -> Result<(String, &str), String> {
    let mut out = String::new();
    let mut chars = source.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Ok((out, &source[i + 1..])),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some(c @ ('\\' | '"' | '\'')) => out.push(c),
                Some('u') => {
                    let hex: String =
                        chars.by_ref().map(|(_, c)| c).skip_while(|&c| c == '{').take_while(|&c| c != '}').collect();
                    let c = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
                    out.push(c.ok_or_else(|| format!("no character \\u{{{hex}}}"))?);
                }
                _ => return Err("unknown escape in a string".into()),
            },
            _ => out.push(c),
        }
    }
    Err("a string without an end".into())
}

/// Reads the tokens of one line.
struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Reader<'a> {
    fn new(line: &'a str) -> Result<Self, String> {
        Ok(Self { tokens: tokens(line)?, next: 0 })
    }

    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.next)
    }

    fn at_sign(&mut self, sign: char) -> bool {
        let here = self.peek() == Some(&Token::Sign(sign));
        self.next += usize::from(here);
        here
    }

    fn at_word(&mut self, word: &str) -> bool {
        let here = self.peek() == Some(&Token::Word(word));
        self.next += usize::from(here);
        here
    }

    fn sign(&mut self, sign: char) -> Text {
        if self.at_sign(sign) { Ok(()) } else { Err(format!("`{sign}` expected{}", self.found())) }
    }

    fn next_word(&mut self, what: &str) -> Result<&'a str, String> {
        match self.peek() {
            Some(&Token::Word(w)) => {
                self.next += 1;
                Ok(w)
            }
            _ => Err(format!("{what} expected{}", self.found())),
        }
    }

    fn found(&self) -> String {
        match self.peek() {
            Some(Token::Word(w)) => format!(", found `{w}`"),
            Some(Token::Quoted(s)) => format!(", found \"{s}\""),
            Some(Token::Sign(c)) => format!(", found `{c}`"),
            None => " at the end of the line".into(),
        }
    }

    /// The number that follows this prefix without a space.
    fn id(&mut self, prefix: &str) -> Result<u32, String> {
        let mut n = 0;
        self.glued(prefix, &mut n)?;
        Ok(n)
    }

    fn glued<T: TryFrom<u64>>(&mut self, prefix: &str, x: &mut T) -> Text {
        let what = if prefix.is_empty() { "number" } else { prefix };
        let word = self.next_word(what)?;
        let digits = word.strip_prefix(prefix).ok_or_else(|| format!("{what} expected, found `{word}`"))?;
        *x = number(digits).and_then(|n| T::try_from(n).ok()).ok_or_else(|| format!("`{word}` is no {what}"))?;
        Ok(())
    }

    fn end(&self) -> Text {
        if self.next == self.tokens.len() { Ok(()) } else { Err(format!("end of line expected{}", self.found())) }
    }

    fn type_word(&mut self) -> Result<Type, String> {
        let word = self.next_word("type")?;
        parse_type(word).ok_or_else(|| format!("`{word}` is no type"))
    }
}

fn number(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok(),
        None => None,
    }
}

fn parse_type(word: &str) -> Option<Type> {
    let rest = word.strip_prefix('b')?;
    let (bits, lanes) = rest.split_once('x').unwrap_or((rest, "1"));
    Type::vector(Bits::from_count(bits.parse().ok()?)?, lanes.parse().ok()?)
}

impl Codec for Reader<'_> {
    fn word<T: Word>(&mut self, x: &mut T) -> Text {
        let word = self.next_word(T::WHAT)?;
        *x = T::from_name(word).ok_or_else(|| format!("`{word}` is no {}", T::WHAT))?;
        Ok(())
    }
    fn flag(&mut self, name: &'static str, x: &mut bool) -> Text {
        *x = self.at_word(name);
        Ok(())
    }
    fn number<T: Copy + TryFrom<u64> + Into<u64>>(&mut self, prefix: &'static str, x: &mut T) -> Text {
        self.glued(prefix, x)
    }
    fn hex<T: Copy + TryFrom<u64> + Into<u64>>(&mut self, x: &mut T) -> Text {
        self.glued("", x)
    }
    fn string(&mut self, x: &mut Name) -> Text {
        let Some(Token::Quoted(s)) = self.peek() else { return Err(format!("string expected{}", self.found())) };
        *x = s.as_str().into();
        self.next += 1;
        Ok(())
    }
    fn ty(&mut self, x: &mut Type) -> Text {
        *x = self.type_word()?;
        Ok(())
    }
}

struct Parser {
    shader: Shader,
    /// By number, whether it is defined.
    defined: Vec<bool>,
    /// Used values with their lines, for messages.
    used: Vec<(Value, usize)>,
    line: usize,
}

impl Parser {
    fn read_line(&mut self, line: &str) -> Text {
        let mut r = Reader::new(line)?;
        if let Some(Token::Word(word)) = r.peek()
            && word.strip_prefix("block").is_some_and(|n| number(n).is_some())
        {
            self.block_header(&mut r)?;
        } else if self.shader.blocks.is_empty() {
            self.header_line(&mut r)?;
        } else {
            self.body_line(&mut r)?;
        }
        r.end()
    }

    fn header_line(&mut self, r: &mut Reader<'_>) -> Text {
        let s = &mut self.shader;
        let word = r.next_word("header")?;
        match word {
            "shader" => {
                r.word(&mut s.level)?;
                r.word(&mut s.stage)?;
                return r.string(&mut s.name);
            }
            "modes" => return text::modes(&mut s.modes, r),
            "spec" => {
                let (mut id, mut value, mut default) = (0, 0, 0);
                r.glued("", &mut id)?;
                r.glued("", &mut value)?;
                r.glued("", &mut default)?;
                s.modes.spec.push(super::SpecValue { id, value, default });
                return Ok(());
            }
            "spec_operand" => {
                let (mut id, mut default, mut bits) = (0, 0, 0);
                r.glued("", &mut id)?;
                r.glued("", &mut default)?;
                r.glued("", &mut bits)?;
                s.modes.spec_operands.push(super::SpecOperand { id, default, bits });
                return Ok(());
            }
            "shared" => return r.glued("", &mut s.shared_bytes),
            "push_constants" => return r.glued("", &mut s.push_constant_bytes),
            "lower" => {
                let mut lower = LowerInfo {
                    wave: WaveSize::W32,
                    args: Default::default(),
                    returns: Default::default(),
                    epilog: false,
                    symbol: Name::EMPTY,
                    color_export: false,
                    depth_export: false,
                };
                r.word(&mut lower.wave)?;
                r.string(&mut lower.symbol)?;
                r.flag("color_export", &mut lower.color_export)?;
                r.flag("depth_export", &mut lower.depth_export)?;
                r.flag("epilog", &mut lower.epilog)?;
                s.lower = Some(lower);
                return Ok(());
            }
            "arg" => {
                let mut arg = EntryArg { class: RegClass::Sgpr, ty: Type::B32, role: ArgRole::System("") };
                text::entry_arg(&mut arg, r)?;
                s.lower.as_mut().ok_or("`arg` before `lower`")?.args.push(arg);
                return Ok(());
            }
            "return" => {
                let mut class = RegClass::Sgpr;
                r.word(&mut class)?;
                s.lower.as_mut().ok_or("`return` before `lower`")?.returns.push(class);
                return Ok(());
            }
            _ => {}
        }
        let split = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
        let (kind, digits) = word.split_at(split);
        let in_turn = |len: usize| match number(digits) {
            Some(n) if n == len as u64 => Ok(()),
            _ => Err(format!("{kind}{len} expected, found `{word}`")),
        };
        match kind {
            "local" => {
                in_turn(s.locals.len())?;
                let mut local = Local { name: Name::default(), bytes: 0, align: Align::A1 };
                text::local(&mut local, r)?;
                s.locals.push(local);
            }
            "table" => {
                in_turn(s.tables.len())?;
                let (mut align, mut digits) = (Align::A1, Name::default());
                r.align(&mut align)?;
                r.string(&mut digits)?;
                s.tables.push(ConstTable {
                    bytes: unhex(&digits).ok_or("table bytes are pairs of hex digits")?.into(),
                    align,
                });
            }
            "res" => {
                in_turn(s.resources.len())?;
                let kind = ResourceKind::UniformBuffer;
                let mut res =
                    Resource { name: Name::default(), set: 0, binding: 0, kind, count: Some(1), written: false };
                text::resource(&mut res, r)?;
                s.resources.push(res);
            }
            "sym" => {
                in_turn(s.symbols.len())?;
                let mut name = Name::default();
                r.string(&mut name)?;
                if s.symbols.intern(&name).index() + 1 != s.symbols.len() {
                    return Err(format!("symbol `{name}` stands twice"));
                }
            }
            _ => return Err(format!("unknown header `{word}`")),
        }
        Ok(())
    }

    fn block_header(&mut self, r: &mut Reader<'_>) -> Text {
        let n = r.id("block")?;
        if n as usize != self.shader.blocks.len() {
            return Err(format!("block{} expected, found block{n}", self.shader.blocks.len()));
        }
        let id = BlockId(n);
        self.shader.add_block();
        if r.at_sign('(') {
            loop {
                let (v, ty) = Self::typed(r)?;
                let position = self.shader.block(id).params.len() as u32;
                self.define(v, ty, ValueDef::Param(id, position))?;
                self.shader.block_mut(id).params.push(v);
                if !r.at_sign(',') {
                    break;
                }
            }
            r.sign(')')?;
        }
        r.sign(':')?;
        if r.at_word("merge") {
            let merge = BlockId(r.id("block")?);
            let header = if r.at_word("continue") {
                Merge::Loop { merge, continue_to: BlockId(r.id("block")?) }
            } else {
                Merge::Selection(merge)
            };
            self.shader.block_mut(id).merge = header;
        }
        Ok(())
    }

    fn body_line(&mut self, r: &mut Reader<'_>) -> Text {
        let block = BlockId(self.shader.blocks.len() as u32 - 1);
        if self.shader.block(block).term().is_some() {
            return Err(format!("{block} has ended already"));
        }
        if let Some(end) = self.end(r)? {
            self.shader.block_mut(block).end = end;
            return Ok(());
        }
        let result = match r.tokens.get(r.next + 1) {
            Some(Token::Sign(':')) => {
                let typed = Self::typed(r)?;
                r.sign('=')?;
                Some(typed)
            }
            _ => None,
        };
        let mut op = Self::operation(r)?;
        let mut args = InstArgs::new();
        if matches!(r.peek(), Some(Token::Word(_))) {
            loop {
                args.push(self.operand(r)?);
                if !r.at_sign(',') {
                    break;
                }
            }
        }
        while r.at_sign('!') {
            let name = r.next_word("flag")?;
            let flag = FP_FLAGS.iter().find(|(n, _)| *n == name).ok_or_else(|| format!("`{name}` is no flag"))?.1;
            let Op::Alu(_, flags) = &mut op else { return Err("only arithmetic has flags".into()) };
            *flags = flags.with(flag);
        }
        let id = InstId(self.shader.insts.len() as u32);
        self.shader.insts.push(Inst { op, args, result: result.map(|(v, _)| v) });
        self.shader.block_mut(block).insts.push(id);
        match result {
            Some((v, ty)) => self.define(v, ty, ValueDef::Inst(id)),
            None => Ok(()),
        }
    }

    fn operation(r: &mut Reader<'_>) -> Result<Op, String> {
        let name = r.next_word("operation")?;
        let mut op = text::prototype(name).ok_or_else(|| format!("`{name}` is no operation"))?;
        if matches!(op, Op::Const(_)) {
            text::payload(&mut op, r)?;
        } else if r.at_sign('[') {
            text::payload(&mut op, r)?;
            r.sign(']')?;
        } else {
            // Only operations without fields lack brackets.
            text::payload(&mut op, &mut Reader { tokens: Vec::new(), next: 0 })?;
        }
        Ok(op)
    }

    fn end(&mut self, r: &mut Reader<'_>) -> Result<Option<End>, String> {
        let mut end = End::default();
        if r.at_word("jump") {
            end.set(Terminator::Jump(self.call(r)?.get()));
        } else if r.at_word("branch") {
            let cond = self.operand(r)?;
            r.sign(',')?;
            let then = self.call(r)?;
            r.sign(',')?;
            let els = self.call(r)?;
            end.set(Terminator::Branch { cond, then: then.get(), els: els.get() });
        } else if r.at_word("switch") {
            let value = self.operand(r)?;
            let mut cases = Vec::new();
            loop {
                r.sign(',')?;
                if r.at_word("default") {
                    break;
                }
                let mut literal = 0;
                r.glued("", &mut literal)?;
                r.sign(':')?;
                cases.push((literal, self.call(r)?));
            }
            r.sign(':')?;
            let default = self.call(r)?;
            end.set_switch(value, cases.iter().map(|(literal, call)| (*literal, call.get())), default.get());
        } else if r.at_word("return") {
            let mut values = Vec::new();
            while r.peek().is_some() {
                if !values.is_empty() {
                    r.sign(',')?;
                }
                values.push(self.operand(r)?);
            }
            end.set(Terminator::Return(&values));
        } else if r.at_word("unreachable") {
            end.set(Terminator::Unreachable);
        } else {
            return Ok(None);
        }
        Ok(Some(end))
    }

    fn call(&mut self, r: &mut Reader<'_>) -> Result<Call, String> {
        let mut call = Call { block: BlockId(r.id("block")?), args: Vec::new() };
        if r.at_sign('(') {
            loop {
                call.args.push(self.operand(r)?);
                if !r.at_sign(',') {
                    break;
                }
            }
            r.sign(')')?;
        }
        Ok(call)
    }

    fn operand(&mut self, r: &mut Reader<'_>) -> Result<Value, String> {
        let v = Value(r.id("v")?);
        self.used.push((v, self.line));
        Ok(v)
    }

    fn typed(r: &mut Reader<'_>) -> Result<(Value, Type), String> {
        let v = Value(r.id("v")?);
        r.sign(':')?;
        Ok((v, r.type_word()?))
    }

    fn define(&mut self, v: Value, ty: Type, def: ValueDef) -> Text {
        if v.0 > MAX_VALUE {
            return Err(format!("{v} is too large a number"));
        }
        if self.defined.get(v.index()).copied().unwrap_or(false) {
            return Err(format!("{v} is defined twice"));
        }
        if self.defined.len() <= v.index() {
            // An undefined number cannot be used, so any filler definition will do.
            self.defined.resize(v.index() + 1, false);
            let filler = ValueData { ty: Type::B1, def: ValueDef::Param(BlockId(u32::MAX), 0) };
            self.shader.values.resize(v.index() + 1, filler);
        }
        self.defined[v.index()] = true;
        self.shader.values[v.index()] = ValueData { ty, def };
        Ok(())
    }
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) || !digits.len().is_multiple_of(2) {
        return None;
    }
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).ok()).collect()
}
