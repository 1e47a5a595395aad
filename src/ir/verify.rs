//! Checks that a shader obeys the rules of its level; every pass may rely on them.
//!
//! This file checks that blocks end and pass the required arguments, definitions dominate uses, and header and body
//! agree. `rules.rs` has the operand and result types of each operation, and its level. A broken shader gives a bug
//! error that names the block and the instruction, never a panic: the verifier guards the code generator against our
//! own mistakes.

use super::block::{BlockCall, Terminator};
use super::cfg::Cfg;
use super::interface::OutputSlot;
use super::op::Op;
use super::shader::{BlockId, EntryArg, Inst, InstId, Shader, ShaderLevel, Value, ValueDef};
use super::types::Type;
use super::wave_wide::WaveWide;
use super::{rules, structure};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};
use smallvec::SmallVec;
use std::sync::Arc;

/// Checks every rule of the shader's level.
///
/// # Errors
/// A bug: the first broken rule, with its location.
pub fn verify(shader: &Shader) -> Result<()> {
    Verifier::new(shader).run(false)
}

/// Checks every rule except those of the level: the invariant between two lowering passes.
///
/// # Errors
/// As [`verify`].
pub fn verify_between(shader: &Shader) -> Result<()> {
    Verifier::new(shader).run(true)
}

/// Checks the types of the instructions from index `before` on, for a front end whose input determines them.
///
/// # Errors
/// The first instruction that breaks the rule of its operation, and how.
pub fn check_types(shader: &Shader, before: usize) -> std::result::Result<(), String> {
    let made = shader.insts.get(before..).unwrap_or_default();
    made.iter().try_for_each(|inst| rules::check(shader, inst, false))
}

/// Where a value is defined: block and position in it; parameters come before position 1.
#[derive(Clone, Copy)]
struct Definition {
    block: BlockId,
    position: usize,
}

struct Verifier<'a> {
    shader: &'a Shader,
    /// By value; `None`: defined in no block.
    places: List<Option<Definition>>,
    cfg: Arc<Cfg>,
}

type Check = Result<(), String>;

impl<'a> Verifier<'a> {
    fn new(shader: &'a Shader) -> Self {
        Self { shader, places: filled(shader.values.len(), None), cfg: shader.cfg() }
    }

    fn run(mut self, either_level: bool) -> Result<()> {
        let bug = |what: String| Error::bug(format!("shader `{}`: {what}", self.shader.name));
        self.header().map_err(bug)?;
        self.place_values().map_err(bug)?;
        let mut outputs = List::default();
        let scalars = !either_level && self.shader.level == ShaderLevel::Lower;
        let wide = (scalars && self.shader.has(takes_scalars)).then(|| WaveWide::new(self.shader));
        for id in self.shader.block_ids() {
            outputs.clear();
            for (i, &inst_id) in self.shader.block(id).insts.iter().enumerate() {
                let inst = self.shader.inst(inst_id);
                self.uses(&inst.args, id, i + 1)
                    .and_then(|()| rules::check(self.shader, inst, either_level))
                    .and_then(|()| self.output(id, &inst.op, &mut outputs))
                    .and_then(|()| self.scalars(id, inst, wide.as_ref()))
                    .and_then(|()| self.token(inst))
                    .map_err(|what| bug(format!("{id}: `{}`: {what}", self.shader.inst_text(inst))))?;
            }
            self.end(id).map_err(|what| {
                let term = self.shader.block(id).term().map_or("no terminator".into(), |term| term.to_string());
                bug(format!("{id}: `{term}`: {what}"))
            })?;
        }
        Ok(())
    }

    /// A block stays in the loop that a token names, and in no other.
    fn token(&self, inst: &Inst) -> Check {
        let of_token = || inst.args.iter().all(|v| self.shader.def(*v).is_some_and(|def| def.op == Op::LoopToken));
        if inst.op != Op::StayInLoop || of_token() { Ok(()) } else { Err("the operand is no loop's token".into()) }
    }

    fn header(&self) -> Check {
        let s = self.shader;
        if s.blocks.is_empty() {
            return Err("no entry block".into());
        }
        if let Some(pred) = self.cfg.preds(Shader::ENTRY).first() {
            return Err(format!("the entry block has a predecessor, {pred}"));
        }
        let params = &s.block(Shader::ENTRY).params;
        match (&s.lower, s.level) {
            (None, ShaderLevel::Upper) if params.is_empty() => Ok(()),
            (None, ShaderLevel::Upper) => Err("an upper-level entry block has parameters".into()),
            (None, ShaderLevel::Lower) => Err("a lower-level shader without its entry arguments".into()),
            (Some(lower), _) => {
                let args = &lower.args;
                let differ = |(a, p): (&EntryArg, &Value)| s.values.get(p.index()).is_none_or(|d| d.ty != a.ty);
                match args.iter().zip(params).position(differ) {
                    Some(i) => Err(format!("entry argument {i} and its parameter differ in type")),
                    None if args.len() != params.len() => {
                        Err(format!("{} entry arguments, {} parameters", args.len(), params.len()))
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// Finds each definition; there must be only one, where the value says.
    fn place_values(&mut self) -> Check {
        let s = self.shader;
        let mut listed = filled(s.insts.len(), false);
        for id in s.block_ids() {
            let block = s.block(id);
            for (i, &v) in block.params.iter().enumerate() {
                let def = ValueDef::Param(id, i as u32);
                self.place(v, def, Definition { block: id, position: 0 }).map_err(|what| format!("{id}: {what}"))?;
            }
            for (i, &inst_id) in block.insts.iter().enumerate() {
                let InstId(n) = inst_id;
                match listed.get_mut(n as usize) {
                    Some(seen) if !*seen => *seen = true,
                    Some(_) => return Err(format!("{id}: {inst_id} is listed twice")),
                    None => return Err(format!("{id}: {inst_id} does not exist")),
                }
                if let Some(v) = s.inst(inst_id).result {
                    let place = Definition { block: id, position: i + 1 };
                    self.place(v, ValueDef::Inst(inst_id), place).map_err(|what| format!("{id}: {what}"))?;
                }
            }
        }
        Ok(())
    }

    fn place(&mut self, v: Value, def: ValueDef, place: Definition) -> Check {
        match self.shader.values.get(v.index()) {
            None => Err(format!("{v} does not exist")),
            Some(data) if data.def != def => Err(format!("{v} says that it is made elsewhere")),
            Some(_) => {
                self.places[v.index()] = Some(place);
                Ok(())
            }
        }
    }

    /// Checks that each value is defined before `position` of `block`, on every path.
    fn uses(&self, values: &[Value], block: BlockId, position: usize) -> Check {
        for &v in values {
            let Some(def) = self.places.get(v.index()).copied().flatten() else {
                return Err(format!("{v} is made in no block"));
            };
            // In unreachable code any order is valid.
            let before = !self.cfg.reachable(block)
                || if def.block == block { def.position < position } else { self.cfg.dom.dominates(def.block, block) };
            if !before {
                return Err(format!("{v} is made in {}, which does not come before", def.block));
            }
        }
        Ok(())
    }

    fn output(&self, id: BlockId, op: &Op, seen: &mut Vec<OutputSlot>) -> Check {
        let Op::StoreOutput { slot, .. } = *op else { return Ok(()) };
        if !matches!(self.shader.block(id).term(), Some(Terminator::Return(_))) {
            return Err("an output is stored only in a block that returns".into());
        }
        if seen.contains(&slot) {
            return Err("this output is stored already".into());
        }
        seen.push(slot);
        Ok(())
    }

    /// Checks the operands that the hardware takes only from scalar registers.
    fn scalars(&self, id: BlockId, inst: &Inst, wide: Option<&WaveWide>) -> Check {
        let number = |v: &&Value| inst.op == Op::Opaque && self.shader.ty(**v) != Type::B1;
        let Some(wide) = wide.filter(|_| self.cfg.reachable(id)) else { return Ok(()) };
        let (descriptors, others) = inst.args.split_at(inst.op.descriptors().min(inst.args.len()));
        match descriptors.iter().chain(others.iter().filter(number)).find(|v| !wide.holds(**v, id)) {
            Some(v) => Err(format!("{v} may differ between the lanes that are here together")),
            None => Ok(()),
        }
    }

    fn end(&self, id: BlockId) -> Check {
        let s = self.shader;
        let block = s.block(id);
        let Some(term) = block.term() else { return Err("the block does not end".into()) };
        let after = usize::MAX;
        for call in block.calls() {
            self.call(call, id)?;
        }
        block.merge.blocks().try_for_each(|b| self.exists(b))?;
        structure::is_true(&self.cfg, id, block.merge)?;
        match term {
            Terminator::Jump(_) | Terminator::Unreachable => Ok(()),
            Terminator::Branch { cond, .. } => {
                self.uses(&[cond], id, after)?;
                if s.ty(cond) == Type::B1 { Ok(()) } else { Err("the condition is no truth value".into()) }
            }
            Terminator::Switch { value, cases, .. } => {
                self.uses(&[value], id, after)?;
                let ty = s.ty(value);
                if !ty.is_scalar() {
                    return Err("the selector is no scalar".into());
                }
                let mut literals: SmallVec<[u64; 16]> = cases.iter().map(|(n, _)| n).collect();
                literals.sort_unstable();
                if literals.windows(2).any(|w| w[0] == w[1]) {
                    return Err("a case stands twice".into());
                }
                match literals.last() {
                    Some(&n) if n & !ty.bits().mask() != 0 => Err(format!("case {n} does not fit {ty}")),
                    _ => Ok(()),
                }
            }
            Terminator::Return(values) => {
                self.uses(values, id, after)?;
                let wanted = s.lower.as_ref().map_or(0, |l| l.returns.len());
                if values.len() != wanted {
                    return Err(format!("{wanted} values expected, {} returned", values.len()));
                }
                if wanted > 0 && !s.lower.as_ref().is_some_and(|l| l.epilog) {
                    return Err("values are returned, and there is no epilog".into());
                }
                match values.iter().find(|v| s.ty(**v).bits() == super::types::Bits::B1) {
                    Some(v) => Err(format!("{v} is a truth value, which no register holds")),
                    None => Ok(()),
                }
            }
        }
    }

    fn exists(&self, b: BlockId) -> Check {
        if b.index() < self.shader.blocks.len() { Ok(()) } else { Err(format!("{b} does not exist")) }
    }

    fn call(&self, call: BlockCall<'_>, from: BlockId) -> Check {
        self.exists(call.block)?;
        self.uses(call.args, from, usize::MAX)?;
        let params = &self.shader.block(call.block).params;
        if params.len() != call.args.len() {
            return Err(format!("{} takes {} values, {} are passed", call.block, params.len(), call.args.len()));
        }
        for (&p, &a) in params.iter().zip(call.args) {
            let (want, is) = (self.shader.ty(p), self.shader.ty(a));
            if want != is {
                return Err(format!("{a} is {is}, {p} of {} is {want}", call.block));
            }
        }
        Ok(())
    }
}

/// Whether an operation has operands that must be uniform for the wave.
fn takes_scalars(op: &Op) -> bool {
    op.descriptors() > 0 || *op == Op::Opaque
}
