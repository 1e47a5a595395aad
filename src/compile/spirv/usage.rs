//! Finds what the entry point reaches: functions, global variables, and variables that only ever hold one constant.
//!
//! It is one pass over the reachable functions before translation. A variable whose only write is a constant, and which
//! is dynamically indexed, becomes a constant table: a load before the write would be undefined anyway.

use super::constants::{ConstantLeaves, Constants};
use super::cx::{Cx, Def};
use super::instruction::SpirvInst;
use super::parse::{EntryPoint, Parsed, SpirvFunction};
use dovetail_base::error::{Error, Result};
use dovetail_base::workspace::{List, filled};
use dovetail_ir::ConstTableId;
use rspirv::dr::Operand;
use spirv::Op;

/// Limit of call nesting.
const MAX_CALL_DEPTH: usize = 96;

#[derive(Clone, Copy, Debug, Default)]
struct Variable {
    /// The id of the only value stored to the whole variable, 0 if none.
    stored: u32,
    /// Whether it is written in another way, or used by an instruction that is not handled here.
    escapes: bool,
    /// Whether it is indexed by a value that is not constant.
    dynamic: bool,
}

/// Ids that the entry point reaches.
#[derive(Debug)]
pub struct Usage {
    /// By id, the number of mentions, up to 2.
    used: List<u8>,
    /// By id of a pointer: the variable that it points into; 0 if that is unknown.
    roots: List<u32>,
    variables: List<Variable>,
    /// Initialized workgroup variables that the entry point lists.
    initialized: List<u32>,
}

impl Usage {
    /// Whether reachable code mentions an id.
    pub fn is_used(&self, id: u32) -> bool {
        self.used.get(id as usize).is_some_and(|n| *n > 0)
    }

    /// Whether reachable code mentions an id at one place only.
    pub fn is_used_once(&self, id: u32) -> bool {
        self.used.get(id as usize) == Some(&1)
    }

    /// Whether an id is a workgroup variable that the entry point lists and that has an initial value, though perhaps
    /// no instruction mentions it: the same memory may have another name.
    pub fn is_initialized(&self, id: u32) -> bool {
        self.initialized.contains(&id)
    }

    /// Analyses everything that a function reaches.
    ///
    /// # Errors
    /// Malformed: recursion, or a call of something that is not a function.
    pub fn of(module: &Parsed<'_>, entry: &EntryPoint<'_>) -> Result<Self> {
        let bound = module.bound as usize;
        let variables = filled(bound, Variable::default());
        let initialized = List::default();
        let mut usage = Self { used: filled(bound, 0), roots: filled(bound, 0), variables, initialized };
        let mut interface: List<u32> = entry.interface().collect::<Result<_>>()?;
        interface.sort_unstable();
        for inst in module.globals().filter(|i| i.op() == Op::Variable) {
            usage.variable(&inst);
            if inst.len() < 2 || inst.result_id.is_none_or(|id| interface.binary_search(&id).is_err()) {
                continue;
            }
            match inst.operand(0)? {
                // An initialized output counts as written though no instruction uses it.
                Operand::StorageClass(spirv::StorageClass::Output) => usage.mark(inst.result()?),
                Operand::StorageClass(spirv::StorageClass::Workgroup) => usage.initialized.push(inst.result()?),
                _ => {}
            }
        }
        let mut functions = filled(bound, 0u32);
        for (n, f) in module.functions().enumerate() {
            if let Some(slot) = functions.get_mut(f.def.result()? as usize) {
                *slot = n as u32 + 1;
            }
        }
        let find = |id: u32| {
            let n = functions.get(id as usize).copied().unwrap_or(0) as usize;
            n.checked_sub(1).ok_or_else(|| Error::malformed(format!("%{id} is not a function")))
        };
        usage.walk(module, find(entry.function)?, &find)?;
        Ok(usage)
    }

    /// Walks the call graph depth-first with an explicit stack of functions and their calls not yet followed.
    fn walk(&mut self, module: &Parsed<'_>, entry: usize, find: &dyn Fn(u32) -> Result<usize>) -> Result<()> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            No,
            Open,
            Done,
        }
        let mut seen = filled(module.functions().count(), Seen::No);
        // Functions, each with where its calls begin in `calls`.
        let mut stack = List::<(usize, usize)>::default();
        let mut calls = List::<u32>::default();
        let mut next = Some(entry);
        loop {
            if let Some(n) = next.take()
                && let Some(f) = module.function(n)
            {
                match seen[n] {
                    Seen::Done => {}
                    Seen::Open => return Err(f.def.malformed("the function calls itself")),
                    Seen::No if stack.len() >= MAX_CALL_DEPTH => {
                        return Err(Error::unsupported("call depth", format!("over {MAX_CALL_DEPTH}")));
                    }
                    Seen::No => {
                        seen[n] = Seen::Open;
                        stack.push((n, calls.len()));
                        self.function(&f, &mut calls)?;
                    }
                }
            }
            let Some(&(n, first)) = stack.last() else { return Ok(()) };
            match if calls.len() > first { calls.pop() } else { None } {
                Some(callee) => next = Some(find(callee)?),
                None => {
                    seen[n] = Seen::Done;
                    stack.pop();
                }
            }
        }
    }

    fn mark(&mut self, id: u32) {
        if let Some(n) = self.used.get_mut(id as usize) {
            *n = (*n + 1).min(2);
        }
    }

    fn root(&self, id: u32) -> u32 {
        self.roots.get(id as usize).copied().unwrap_or(0)
    }

    fn set_root(&mut self, id: u32, root: u32) {
        if let Some(r) = self.roots.get_mut(id as usize) {
            *r = root;
        }
    }

    fn escape(&mut self, id: u32) {
        let root = self.root(id) as usize;
        if root != 0
            && let Some(v) = self.variables.get_mut(root)
        {
            v.escapes = true;
        }
    }

    fn variable(&mut self, inst: &SpirvInst<'_>) {
        if let Some(id) = inst.result_id {
            self.set_root(id, id);
            if let (Some(v), Ok(Some(init))) = (self.variables.get_mut(id as usize), inst.opt_id(1)) {
                v.stored = init;
            }
        }
    }

    /// Records the ids that a function uses, and adds the functions that it calls.
    fn function(&mut self, f: &SpirvFunction<'_>, calls: &mut Vec<u32>) -> Result<()> {
        for inst in f.insts() {
            let inst = &inst;
            for operand in inst.operands {
                if let Operand::IdRef(id) = operand {
                    self.mark(*id);
                }
            }
            match inst.op() {
                Op::Variable => self.variable(inst),
                Op::AccessChain | Op::InBoundsAccessChain => {
                    let root = self.root(inst.id(0)?);
                    self.set_root(inst.result()?, root);
                    // Any computed index counts as dynamic.
                    let mut dynamic = false;
                    for id in inst.ids_from(1) {
                        dynamic |= self.is_computed(id?);
                    }
                    if let Some(v) = self.variables.get_mut(root as usize) {
                        v.dynamic |= dynamic;
                    }
                }
                Op::Load => {}
                Op::Store => {
                    let (to, value) = (inst.id(0)?, inst.id(1)?);
                    self.escape(value);
                    let root = self.root(to);
                    match self.variables.get_mut(root as usize) {
                        Some(v) if root == to && (v.stored == 0 || v.stored == value) => v.stored = value,
                        Some(v) => v.escapes = true,
                        None => {}
                    }
                }
                Op::CopyMemory => self.escape(inst.id(0)?),
                Op::FunctionCall => {
                    calls.push(inst.id(0)?);
                    self.escape_all(inst);
                }
                _ => self.escape_all(inst),
            }
            if inst.op() != Op::Variable {
                self.computed(inst);
            }
        }
        f.params.iter().for_each(|p| self.computed(&p));
        Ok(())
    }

    fn computed(&mut self, inst: &SpirvInst<'_>) {
        if let Some(v) = inst.result_id.and_then(|id| self.variables.get_mut(id as usize)) {
            v.dynamic = true;
        }
    }

    fn escape_all(&mut self, inst: &SpirvInst<'_>) {
        for operand in inst.operands {
            if let Operand::IdRef(id) = operand {
                self.escape(*id);
            }
        }
    }

    /// Whether an instruction of a function defines this id: such an id's own entry has `dynamic`.
    fn is_computed(&self, id: u32) -> bool {
        self.root(id) == 0 && self.variables.get(id as usize).is_some_and(|v| v.dynamic)
    }

    /// Whether only one value is ever stored to a variable, and only to the whole of it.
    pub fn is_stored_once(&self, id: u32) -> bool {
        self.variables.get(id as usize).is_some_and(|v| !v.escapes && v.stored != 0)
    }

    /// The table for a variable that only ever holds one constant and is dynamically indexed.
    ///
    /// # Errors
    /// The constant is too large.
    pub fn constant_table(&self, cx: &mut Cx<'_>, id: u32) -> Result<Option<ConstTableId>> {
        let v = self.variables.get(id as usize).copied().unwrap_or_default();
        if v.escapes || !v.dynamic || v.stored == 0 {
            return Ok(None);
        }
        match cx.known(v.stored) {
            Some(Def::Constant(c)) => {
                let c = *c;
                let known = |constants: &Constants| {
                    constants.get(c).is_some_and(|c| matches!(c.leaves, ConstantLeaves::Bits(_)) && c.late.is_none())
                };
                if known(&cx.constants) { cx.constant_table(c).map(Some) } else { Ok(None) }
            }
            _ => Ok(None),
        }
    }
}
