//! The rules of machine IR before allocation.
//!
//! Each pass may rely on these rules, and each pass that makes code must satisfy them:
//!
//! * all indices are in range, runs are complete, and constants are runs of their own;
//! * a value has one definition, which is on every path to a use: along both kinds of edges for a scalar value, along
//!   logical edges for a vector value; a variable is defined on every path of the wave to a use;
//! * dominators come first in the layout;
//! * operands have classes that the instruction supports, and no vector value is defined where no lane is active;
//! * arguments match parameters; nothing is passed on a critical edge; scalar values are passed only if the wave comes
//!   from the same blocks as the lanes;
//! * a return is the last instruction before the tail of the last block.

use super::dominators::Dominators;
use super::preds::Preds;
use super::{
    BlockId, Cond, MachineBlock, MachineFunction, MachineInst, Opcode, Operand, OperandValue, Pseudo, RegisterClass,
    Term, Val, runs,
};
use dovetail_base::error::{Context, Error, Result};

/// Checks all rules.
///
/// # Errors
/// Bug: names the block and instruction that break a rule.
pub fn verify(f: &MachineFunction) -> Result<()> {
    ranges(f)?;
    let (logical, linear) = (Preds::logical(f), Preds::linear(f));
    let doms = [Dominators::logical(f), Dominators::linear(f)];
    let [by_lanes, by_wave] = &doms;
    let it = Verify { f, logical: &logical, linear: &linear, by_lanes, by_wave, sites: sites(f)? };
    for id in f.block_ids() {
        it.block(id).at(|| format!("block {}", id.0))?;
    }
    it.variables()
}

/// Position of a definition: block and instruction; parameters and entry values precede all instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Site {
    block: BlockId,
    inst: Option<u32>,
}

struct Verify<'a> {
    f: &'a MachineFunction,
    logical: &'a Preds,
    linear: &'a Preds,
    by_lanes: &'a Dominators,
    by_wave: &'a Dominators,
    /// The definition of each value that is not a variable.
    sites: Vec<Option<Site>>,
}

fn bug<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::bug(what))
}

fn ranges(f: &MachineFunction) -> Result<()> {
    let within = |range: &std::ops::Range<u32>, len: usize| range.start <= range.end && range.end as usize <= len;
    let mut next = 0;
    for block in &f.blocks {
        let here = within(&block.params, f.params.len()) && within(&block.insts, f.insts.len());
        let tail = block.insts.start <= block.tail && block.tail <= block.insts.end && block.insts.start >= next;
        let edges = block.edges.iter().all(|e| within(&e.args, f.operands.len()) && e.to.index() < f.blocks.len());
        let targets = block.term.targets().all(|to| to.index() < f.blocks.len());
        if !(here && tail && edges && targets && block.edges.len() <= 2) {
            return bug("a block with parts out of range");
        }
        next = block.insts.end;
        let args = block.edges.iter().map(|edge| f.args(edge));
        args.into_iter().try_for_each(|args| operands(f, args))?;
    }
    for inst in &f.insts {
        if inst.operands as usize + usize::from(inst.defs) + usize::from(inst.uses) > f.operands.len() {
            return bug("an instruction with operands out of range");
        }
        operands(f, f.defs(inst)).and(operands(f, f.uses(inst)))?;
    }
    let known = |val: &Val| val.index() < f.values.len();
    if f.params.iter().chain(f.entry.iter().filter_map(|entry| entry.val.as_ref())).all(known) {
        return Ok(());
    }
    bug("a value out of range")
}

fn operands(f: &MachineFunction, operands: &[Operand]) -> Result<()> {
    for run in runs(operands) {
        let [head, rest @ ..] = run else { continue };
        let whole = usize::from(head.run) == run.len() && rest.iter().all(|one| one.run == 0);
        let alone =
            rest.is_empty() || run.iter().all(|one| matches!(one.what, OperandValue::Val(_) | OperandValue::Undef));
        if !whole || !alone {
            return bug("a run that is not whole, or with a constant in it");
        }
        let mut vals = run.iter().filter_map(|one| one.as_val());
        if vals.clone().any(|val| val.index() >= f.values.len()) {
            return bug("a value out of range");
        }
        let class = vals.next().map(|val| f.class(val));
        if vals.any(|val| Some(f.class(val)) != class) {
            return bug("a run of both classes");
        }
    }
    Ok(())
}

/// Finds the definition of each value, and checks that there is only one.
fn sites(f: &MachineFunction) -> Result<Vec<Option<Site>>> {
    let mut sites: Vec<Option<Site>> = vec![None; f.values.len()];
    let mut define = |val: Val, site: Site| {
        let twice = sites[val.index()].replace(site).is_some();
        if twice && !f.values[val.index()].variable { bug(format!("{val} is defined twice")) } else { Ok(()) }
    };
    for entry in &f.entry {
        entry.val.map_or(Ok(()), |val| define(val, Site { block: BlockId(0), inst: None }))?;
    }
    for id in f.block_ids() {
        let block = f.block(id);
        for param in f.params_of(block) {
            if f.values[param.index()].variable {
                return bug(format!("{param} is a parameter and a variable"));
            }
            define(*param, Site { block: id, inst: None })?;
        }
        for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
            for val in f.defs(inst).iter().filter_map(|one| one.as_val()) {
                define(val, Site { block: id, inst: Some(n) })?;
            }
        }
    }
    Ok(sites)
}

impl Verify<'_> {
    fn block(&self, id: BlockId) -> Result<()> {
        let (f, block) = (self.f, self.f.block(id));
        if id.0 == 0 && !(self.logical.of(id).is_empty() && self.linear.of(id).is_empty() && block.params.is_empty()) {
            return bug("the entry has a predecessor or a parameter");
        }
        for dominators in [self.by_lanes, self.by_wave] {
            if dominators.above(id).is_some_and(|above| above >= id) {
                return bug("a dominator follows in the layout");
            }
        }
        for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
            self.instruction(id, n, inst).at(|| format!("instruction {n}"))?;
        }
        self.edges(id, block)?;
        self.end(id, block)
    }

    fn instruction(&self, id: BlockId, n: u32, inst: &MachineInst) -> Result<()> {
        let f = self.f;
        for one in f.uses(inst) {
            self.used(one, id, n)?;
        }
        for (number, run) in runs(f.defs(inst)).enumerate() {
            let wants = f.def_wants(inst, number);
            let vals = run.iter().filter_map(|one| one.as_val());
            if let Some(val) = vals.clone().find(|val| !wants.takes(f.class(*val))) {
                return bug(format!("{val} is of the wrong class for a result"));
            }
            if let Some(val) =
                vals.filter(|_| !self.by_lanes.is_reached(id)).find(|val| f.class(*val) == RegisterClass::Vector)
            {
                return bug(format!("{val} is defined where no lane goes"));
            }
            if run.iter().any(|one| matches!(one.what, OperandValue::Const(_) | OperandValue::Reloc(_))) {
                return bug("a constant is defined");
            }
        }
        for (number, (wants, run)) in f.use_runs(inst).enumerate() {
            if let Some(val) = run.iter().filter_map(|one| one.as_val()).find(|val| !wants.takes(f.class(*val))) {
                return bug(format!("{val} is of the wrong class for source {number}"));
            }
        }
        if inst.op == Opcode::Pseudo(Pseudo::Copy) {
            let single = f.defs(inst).iter().chain(f.uses(inst)).all(|one| one.run == 1);
            if inst.defs != inst.uses || !single {
                return bug("a copy of runs, or without a source for each result");
            }
        }
        if inst.tied && (inst.defs == 0 || inst.uses == 0) {
            return bug("a tied operand without a result");
        }
        let joint = f.block(id).term == Term::Joint && n + 1 == f.block(id).tail;
        if inst.op == Opcode::Pseudo(Pseudo::Return) && !joint {
            return bug("a return that is not the last instruction before the tail of the joint");
        }
        Ok(())
    }

    /// Checks an operand that instruction `n` of a block reads: its definition must come first.
    fn used(&self, operand: &Operand, id: BlockId, n: u32) -> Result<()> {
        let Some(val) = operand.as_val() else { return Ok(()) };
        let data = self.f.values[val.index()];
        if data.variable {
            return Ok(());
        }
        let Some(site) = self.sites[val.index()] else { return bug(format!("{val} is not defined")) };
        if site.block == id {
            let before = site.inst.is_none_or(|at| at < n);
            return if before { Ok(()) } else { bug(format!("{val} is used before it is defined")) };
        }
        let scalar = data.class == RegisterClass::Scalar;
        for (dominators, counts, of) in [(self.by_lanes, true, "lanes"), (self.by_wave, scalar, "the wave")] {
            if counts && dominators.is_reached(id) && !dominators.dominates(site.block, id) {
                let from = site.block.0;
                return bug(format!("{val} of block {from} is not defined on every way of {of} to its use"));
            }
        }
        Ok(())
    }

    fn edges(&self, id: BlockId, block: &MachineBlock) -> Result<()> {
        let f = self.f;
        if let [a, b] = &block.edges[..]
            && a.to == b.to
        {
            return bug("two logical edges to one block");
        }
        for edge in &block.edges {
            let (params, args) = (f.params_of(f.block(edge.to)), f.args(edge));
            if params.len() != args.len() {
                return bug(format!("{} arguments for {} parameters of block {}", args.len(), params.len(), edge.to.0));
            }
            if !params.is_empty() && block.edges.len() > 1 && self.logical.of(edge.to).len() > 1 {
                return bug(format!("arguments on the critical edge to block {}", edge.to.0));
            }
            for (param, arg) in params.iter().zip(args) {
                self.used(arg, id, block.tail)?;
                let vector = arg.as_val().is_some_and(|val| f.class(val) == RegisterClass::Vector);
                if arg.run != 1 || matches!(arg.what, OperandValue::Fixed(_)) {
                    return bug("an argument that is no single value or constant");
                }
                if f.class(*param) == RegisterClass::Scalar && vector {
                    return bug(format!("a vector argument for {param}"));
                }
            }
        }
        let scalar = f.params_of(block).iter().any(|val| f.class(*val) == RegisterClass::Scalar);
        if scalar && !self.same_predecessors(id) {
            return bug("a scalar parameter where the wave and the lanes come from different blocks");
        }
        Ok(())
    }

    fn same_predecessors(&self, id: BlockId) -> bool {
        let (lanes, wave) = (self.logical.of(id), self.linear.of(id));
        lanes.len() == wave.len() && lanes.iter().all(|pred| wave.contains(pred))
    }

    fn end(&self, id: BlockId, block: &MachineBlock) -> Result<()> {
        let f = self.f;
        if block.term == Term::Joint && id.index() + 1 != f.blocks.len() {
            return bug("a joint that is not the last block");
        }
        if let Term::Branch { when: Cond::Scc0 | Cond::Scc1, .. } = block.term {
            let (before, tail) = f.insts_of(block).split_at((block.tail - block.insts.start) as usize);
            if tail.iter().any(|inst| inst.writes_scc(f.isa)) || !before.iter().any(|inst| inst.writes_scc(f.isa)) {
                return bug("a branch on SCC that the block does not set, or sets in its tail");
            }
        }
        Ok(())
    }

    /// Checks that a variable is defined on every path of the wave to a use.
    fn variables(&self) -> Result<()> {
        let f = self.f;
        let mut place = vec![None; f.values.len()];
        let variables = f.values.iter().enumerate().filter(|(_, data)| data.variable);
        let count = variables.enumerate().map(|(n, (val, _))| place[val] = Some(n)).count();
        if count == 0 {
            return Ok(());
        }
        let words = count.div_ceil(64);
        let defined = |operands: &[Operand], row: &mut [u64]| {
            for n in operands.iter().filter_map(|one| place[one.as_val()?.index()]) {
                row[n / 64] |= 1 << (n % 64);
            }
        };
        // Initially all variables count as defined at the end of each unvisited block.
        let mut ends = vec![!0u64; words * f.blocks.len()];
        let start = |id: BlockId, ends: &[u64]| {
            let mut row = vec![if id.0 == 0 { 0 } else { !0u64 }; words];
            for pred in self.linear.of(id) {
                row.iter_mut().zip(&ends[pred.index() * words..]).for_each(|(a, b)| *a &= b);
            }
            if id.0 == 0 {
                let entries: Vec<Operand> = f.entry.iter().filter_map(|entry| entry.val.map(Operand::val)).collect();
                defined(&entries, &mut row);
            }
            row
        };
        let mut changed = true;
        while changed {
            changed = false;
            for id in f.block_ids() {
                let mut row = start(id, &ends);
                f.insts_of(f.block(id)).iter().for_each(|inst| defined(f.defs(inst), &mut row));
                let end = &mut ends[id.index() * words..(id.index() + 1) * words];
                changed |= end != row;
                end.copy_from_slice(&row);
            }
        }
        for id in f.block_ids().filter(|id| self.by_wave.is_reached(*id)) {
            let (mut row, block) = (start(id, &ends), f.block(id));
            let check = |operands: &[Operand], row: &[u64]| {
                let missing = |val: &Val| place[val.index()].is_some_and(|n: usize| row[n / 64] >> (n % 64) & 1 == 0);
                match operands.iter().filter_map(|one| one.as_val()).find(missing) {
                    Some(val) => bug(format!("variable {val} is not defined on every way to block {}", id.0)),
                    None => Ok(()),
                }
            };
            for (n, inst) in (block.insts.start..).zip(f.insts_of(block)) {
                if n == block.tail {
                    block.edges.iter().try_for_each(|edge| check(f.args(edge), &row))?;
                }
                check(f.uses(inst), &row)?;
                defined(f.defs(inst), &mut row);
            }
            if block.tail == block.insts.end {
                block.edges.iter().try_for_each(|edge| check(f.args(edge), &row))?;
            }
        }
        Ok(())
    }
}
