//! The beginning of the shader, and the ends of blocks: arguments, results, branches, EXEC.

use super::bools::Bool;
use super::{Made, Operands, Selector, mask_run};
use crate::entry;
use crate::mir::{BlockId, Cond, Edge, EntryValue, Extra, Operand, OperandValue, Pseudo, RegisterClass, Term};
use crate::plan::{Go, MaskId, MaskSource};
use dovetail_base::error::{Error, Result};
use dovetail_base::target::Stage;
use dovetail_base::workspace::List;
use dovetail_ir::{AmdOp, LowerInfo, Op as IrOp, Shader, Terminator, Type, Value};
use dovetail_isa::Op;
use dovetail_passes::entry_facts::EntryFacts;
use smallvec::SmallVec;

impl Selector<'_> {
    /// Values of the entry registers.
    pub(super) fn entry(&mut self, info: &LowerInfo, facts: &EntryFacts) {
        let made = entry::enter(&mut self.f, facts, &info.args, &facts.used);
        for (n, &param) in self.shader.block(Shader::ENTRY).params.iter().enumerate() {
            let words: super::Dwords = made.of(n).iter().copied().map(OperandValue::Val).collect();
            self.set(param, &words);
        }
        if self.prolog && self.shader.has(|op| matches!(op, IrOp::Target(AmdOp::AddressHigh))) {
            let high = self.f.value(RegisterClass::Scalar);
            self.f.entry.push(EntryValue { val: Some(high), reg: entry::address_high(facts) });
            self.f.address_high = Some(high);
        }
    }

    /// Emits the landing of a block, if it has one.
    pub(super) fn landing(&mut self, position: u32) {
        let landing = &self.plan.landings[position as usize];
        let [first, body] = self.blocks[position as usize];
        if first == body {
            return;
        }
        let start = self.open();
        let exec = [Self::exec()];
        match landing.replace {
            Some(MaskSource::Mask(mask)) => {
                let mask = self.plan_mask(mask);
                self.isa(self.lane_op(Op::SMovB32, Op::SMovB64), &exec, &mask, Extra::None);
            }
            Some(MaskSource::Rest(branch)) => self.rest_of(branch),
            None => {}
        }
        for mask in &landing.add {
            let mut uses: Operands = exec.into_iter().collect();
            uses.extend(self.plan_mask(*mask));
            self.isa(self.lane_op(Op::SOrB32, Op::SOrB64), &exec, &uses, Extra::None);
        }
        let term = match landing.skip {
            Some(next) => Term::Branch { when: Cond::Execz, then: self.blocks[next as usize][0], els: body },
            None => Term::Jump(body),
        };
        let params = self.f.params.len() as u32;
        self.close(start, start, params..params, SmallVec::new(), term);
    }

    /// The lanes that a closed branch saved and that did not go to its first target.
    fn rest_of(&mut self, branch: u32) {
        let exit = &self.plan.exits[branch as usize];
        let (Some(save), Some(cond)) = (exit.save, self.conditions[branch as usize]) else { return };
        let inverted = matches!(exit.go, Go::Divergent { inverted: true, .. });
        let mut uses = self.plan_mask(save);
        uses.extend(mask_run(self.wave, cond));
        let op = match inverted {
            true => self.lane_op(Op::SAndB32, Op::SAndB64),
            false => self.lane_op(Op::SAndn2B32, Op::SAndn2B64),
        };
        self.isa(op, &[Self::exec()], &uses, Extra::None);
    }

    fn plan_mask(&self, mask: MaskId) -> Operands {
        mask_run(self.wave, self.mask_of(mask))
    }

    /// The block to which the wave goes for a position.
    fn target(&self, from: u32, to: u32) -> BlockId {
        // A loop is entered again after its landing.
        self.blocks[to as usize][usize::from(to <= from)]
    }

    /// Ends the block at a position.
    pub(super) fn end(&mut self, position: u32, start: u32, params: std::ops::Range<u32>) -> Result<()> {
        let (shader, plan) = (self.shader, self.plan);
        let exit = &plan.exits[position as usize];
        let term = shader.block(self.layout.order[position as usize]).term();
        let mut edges = SmallVec::new();
        match term {
            Some(Terminator::Jump(call)) => edges.push(self.edge(call.block, call.args)?),
            Some(Terminator::Branch { then, els, .. }) => {
                edges.push(self.edge(then.block, then.args)?);
                edges.push(self.edge(els.block, els.args)?);
            }
            Some(Terminator::Return(values)) => self.results(values)?,
            other => return Err(Error::bug(format!("native: {other:?} after shaping"))),
        }
        let mut cond = None;
        let mut uniform = None;
        let mut when = Cond::Scc1;
        if let Some(Terminator::Branch { cond: value, .. }) = term {
            let made = self.bool_of(value)?;
            if matches!(exit.go, Go::Uniform(..)) {
                when = self.put_in_scc(made);
            } else if made.is_scalar() && exit.save.is_none() && exit.wait_if.is_empty() {
                uniform = Some(made);
            } else {
                let mask = self.mask_from(made);
                self.conditions[position as usize] = Some(mask);
                cond = Some(mask_run(self.wave, mask));
            }
        }
        let early = if self.ends_early(position) { Some(self.any_live(start)?) } else { None };
        let tail = self.open();
        if matches!(term, Some(Terminator::Return(_))) && shader.lower.as_ref().is_some_and(|l| l.epilog) {
            // The epilog exports what survives.
            self.exact_to_the_end();
        }
        for &mask in plan.clears.of(position as usize) {
            let mask = self.plan_mask(mask);
            self.isa(self.lane_op(Op::SMovB32, Op::SMovB64), &mask, &[Operand::constant(0)], Extra::None);
        }
        self.tail(exit, cond.as_deref());
        if let (Some(made), Go::Divergent { inverted, .. }) = (uniform, exit.go) {
            self.all_or_none(made, inverted);
        }
        let goes = |to: u32| self.target(position, to);
        let term = match exit.go {
            Go::To(to) => match early {
                // The next block is the one in which the wave ends.
                Some(when) => Term::Branch { when, then: goes(to), els: BlockId(self.f.blocks.len() as u32 + 1) },
                None => Term::Jump(goes(to)),
            },
            Go::Uniform(then, els) => Term::Branch { when, then: goes(then), els: goes(els) },
            Go::Divergent { to, empty, .. } => Term::Branch { when: Cond::Execz, then: goes(empty), els: goes(to) },
            Go::End if shader.lower.as_ref().is_some_and(|l| l.epilog) => Term::Joint,
            Go::End => Term::End,
        };
        self.close(start, tail, params, edges, term);
        Ok(())
    }

    /// Lanes that wait, and EXEC for the successors.
    fn tail(&mut self, exit: &crate::plan::Exit, cond: Option<&[Operand]>) {
        let exec = Self::exec();
        for &mask in &exit.wait {
            let mask = self.plan_mask(mask);
            let mut uses = mask.clone();
            uses.push(exec);
            self.isa(self.lane_op(Op::SOrB32, Op::SOrB64), &mask, &uses, Extra::None);
        }
        let Some(cond) = cond else { return };
        for &(mask, wanted) in &exit.wait_if {
            let some = self.new_mask();
            let some = mask_run(self.wave, some);
            let op = match wanted {
                true => self.lane_op(Op::SAndB32, Op::SAndB64),
                false => self.lane_op(Op::SAndn2B32, Op::SAndn2B64),
            };
            let mut uses: Operands = [exec].into_iter().collect();
            uses.extend_from_slice(cond);
            self.isa(op, &some, &uses, Extra::None);
            let mask = self.plan_mask(mask);
            let mut uses = mask.clone();
            uses.extend(some);
            self.isa(self.lane_op(Op::SOrB32, Op::SOrB64), &mask, &uses, Extra::None);
        }
        let Go::Divergent { inverted, .. } = exit.go else { return };
        if let Some(save) = exit.save {
            let op = match inverted {
                true => self.lane_op(Op::SAndn1SaveexecB32, Op::SAndn1SaveexecB64),
                false => self.lane_op(Op::SAndSaveexecB32, Op::SAndSaveexecB64),
            };
            let save = self.plan_mask(save);
            return self.isa(op, &save, cond, Extra::None);
        }
        let op = match inverted {
            true => self.lane_op(Op::SAndn2B32, Op::SAndn2B64),
            false => self.lane_op(Op::SAndB32, Op::SAndB64),
        };
        let mut uses: Operands = [exec].into_iter().collect();
        uses.extend_from_slice(cond);
        self.isa(op, &[exec], &uses, Extra::None);
    }

    /// EXEC stays or becomes empty, by a uniform condition.
    fn all_or_none(&mut self, made: Bool, inverted: bool) {
        self.put_in_scc(made);
        let (exec, none) = (Self::exec(), Operand::constant(0));
        let uses = if inverted { [none, exec] } else { [exec, none] };
        self.isa(self.lane_op(Op::SCselectB32, Op::SCselectB64), &[exec], &uses, Extra::None);
    }

    /// A logical edge with its arguments; the arguments for a block with one predecessor replace its parameters.
    fn edge(&mut self, to: dovetail_ir::BlockId, args: &[Value]) -> Result<Edge> {
        let shader = self.shader;
        let params = &shader.block(to).params;
        let position = self.layout.position[to.index()];
        let body = BlockId(self.blocks[position as usize][1].0);
        if super::is_alias(&self.cfg, to) {
            for (&param, &arg) in params.iter().zip(args) {
                self.made[param.index()] = self.made[arg.index()];
            }
            let none = self.f.operands.len() as u32;
            return Ok(Edge { to: body, args: none..none });
        }
        let mut words = List::<OperandValue>::default();
        for (&param, &arg) in params.iter().zip(args) {
            let scalar = self.is_scalar_param(param);
            if shader.ty(param) == Type::B1 {
                let made = self.bool_of(arg)?;
                words.push(if scalar { self.flag_from(made) } else { self.lanes_argument(made)? });
                continue;
            }
            for word in self.words(arg)? {
                // A scalar parameter accepts no vector value.
                words.push(if scalar && !self.is_scalar_word(word) { self.scalar(word).what } else { word });
            }
        }
        let start = self.f.operands.len() as u32;
        self.f.operands.extend(words.iter().map(|word| Operand::one(*word)));
        Ok(Edge { to: body, args: start..self.f.operands.len() as u32 })
    }

    fn lanes_argument(&mut self, made: Bool) -> Result<OperandValue> {
        match made {
            Bool::Const(value) => Ok(OperandValue::Const(u32::from(value))),
            Bool::Flag(flag) => Ok(OperandValue::Val(flag)),
            _ => self.as_lanes(made).map(OperandValue::Val),
        }
    }

    /// The results of a body with an epilog, dword by dword. A fragment shader may return constants, which the epilog exports;
    /// constant parameters of a vertex shader are in its metadata before this, because fragment shaders may rely on them.
    fn results(&mut self, values: &[Value]) -> Result<()> {
        if !self.shader.lower.as_ref().is_some_and(|lower| lower.epilog) {
            return Ok(());
        }
        let constants = self.shader.stage == Stage::Fragment;
        let mut uses = Operands::new();
        for &value in values {
            let words = match self.made[value.index()] {
                Made::Bool(made) => {
                    let lanes = self.as_lanes(made)?;
                    [OperandValue::Val(lanes)].into_iter().collect()
                }
                _ => self.words(value)?,
            };
            for word in words {
                uses.push(match word {
                    OperandValue::Const(_) if constants => Operand::one(word),
                    _ => self.vector(word),
                });
            }
        }
        if uses.len() > usize::from(u8::MAX) {
            return Err(Error::bug(format!("native: {} results", uses.len())));
        }
        self.pseudo(Pseudo::Return, &[], &uses, Extra::None);
        Ok(())
    }
}
